/**
 * Reads the ledger of a session. It changes nothing, whatever it finds.
 *
 * Promised: never rejects, whatever bytes are there; one bad line costs that line alone; memory is bounded whatever the file's
 * size and the length of its lines; only a regular file of this user's own is opened, and no link is followed to it.
 *
 * @module
 */

import { TextLineStream } from "@std/streams/text-line-stream";
import { disk } from "../files.ts";
import { ledgerPath, LEDGERS } from "./ledger_path.ts";
import { MAX_LINE_BYTES, parseRow } from "./rows.ts";
import type { DigestRow, Summaries } from "./types.ts";

/** Most digests that are held; the oldest go first. */
const MAX_ROWS = 10_000;
const CHUNK = 1 << 16, LF = 10;

/**
 * The digests of a session, by call id, as its ledger has them: a digest once made is not undone by a later row. Empty where
 * there is no ledger. Never rejects.
 *
 * @param root The project; `undefined` where there is none.
 * @param sessionId The host's id of the conversation.
 *
 * @example
 * ```ts
 * import { loadSummaries } from "@waymark/waymark/tool-use";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals((await loadSummaries(undefined, "a session")).size, 0);
 * ```
 */
export async function loadSummaries(root: string | undefined, sessionId: string): Promise<Summaries> {
  return (await loadSession(root, sessionId)).summaries;
}

/** What the next process of a session goes on from. Never rejects. */
export async function loadSession(
  root: string | undefined,
  sessionId: string,
): Promise<{ readonly summaries: Summaries; readonly failed: number }> {
  const summaries = new Map<string, DigestRow>();
  let failed = 0;
  for await (const row of readLedger(root, sessionId)) {
    if (row?.status === "failed") failed++;
    if (row?.status !== "ok") continue;
    summaries.delete(row.callId);
    summaries.set(row.callId, row);
    if (summaries.size > MAX_ROWS) summaries.delete(summaries.keys().next().value!);
  }
  return { summaries, failed };
}

/**
 * All rows of a ledger, in the order they were written; `undefined` for each line that cannot be read, so that a gap can be
 * told of. None where there is no ledger. Never throws.
 */
export async function* readLedger(
  root: string | undefined,
  sessionId: string,
): AsyncGenerator<DigestRow | undefined, void, void> {
  if (root === undefined || root === "") return;
  try {
    const lines = bytesOf(await ownFile(root, sessionId)).pipeThrough(shortLines())
      .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
      .pipeThrough(new TextLineStream());
    for await (const line of lines) if (line.trim() !== "") yield parseRow(line);
  } catch { /* there is none, it may not be had, or the disk failed: what was read is what there is */ }
}

/** The ledger's file; throws where it is not plainly this user's own. */
async function ownFile(root: string, session: string): Promise<string> {
  const file = await ledgerPath(root, session), folder = file.slice(0, file.lastIndexOf("/"));
  for (const path of [folder.slice(0, -LEDGERS.length - 1), folder]) {
    const { isDirectory, isSymlink } = disk().lstat(path);
    if (!isDirectory || isSymlink) throw new Error("no folder");
  }
  const { isFile, isSymlink, uid } = disk().lstat(file), user = disk().userId();
  if (!isFile || isSymlink || (user !== undefined && uid !== user)) throw new Error("not a file of this user's");
  return file;
}

/** The bytes of a file; it is closed when they are read, or no longer wanted. */
function bytesOf(path: string): ReadableStream<Uint8Array> {
  const file = disk().open(path);
  let isReading = false, isUnwanted = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = new Uint8Array(CHUNK);
      isReading = true;
      try {
        const size = await file.readSoon(chunk);
        if (size > 0 && !isUnwanted) return controller.enqueue(chunk.subarray(0, size));
        if (!isUnwanted) controller.close();
      } catch (error) {
        controller.error(error);
      } finally {
        isReading = false;
      }
      file.close();
    },
    cancel() {
      isUnwanted = true;
      if (!isReading) file.close(); // what is being read is closed afterwards: its number may be another file's by then
    },
  });
}

/** What no JSON can hold: it makes what is left of a long line a bad one. */
const NUL: Uint8Array = Uint8Array.of(0);

/** Lines of at most {@linkcode MAX_LINE_BYTES}: of a longer one the rest goes past, and is not held. */
function shortLines(): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      let from = 0; // what is passed on begins here
      for (let at = 0; at < chunk.length;) {
        const found = chunk.indexOf(LF, at), end = found < 0 ? chunk.length : found;
        if (length + end - at > MAX_LINE_BYTES) {
          if (length <= MAX_LINE_BYTES) {
            controller.enqueue(chunk.subarray(from, at + MAX_LINE_BYTES - length));
            controller.enqueue(NUL);
          }
          from = end;
        }
        length = found < 0 ? length + end - at : 0;
        at = end + 1;
      }
      if (from < chunk.length) controller.enqueue(chunk.subarray(from));
    },
  });
}
