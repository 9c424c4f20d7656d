/**
 * The ledger of a session: one line for what became of each tool result, kept beyond this process, and beside it a place for
 * every call that any process of the session makes.
 *
 * Promised: nothing ever throws or rejects, and nothing waits for the disk; every row is one write, rows of any number of
 * processes never run into each other; the folder and the file are this user's alone, and nothing is made before the first
 * row or call. Absent: reading it (that is `load.ts`), and any change of a row that is there.
 *
 * @module
 */

import { prepareFolder } from "../cache/folder.ts";
import { quiet, WaymarkError } from "../errors.ts";
import type { FileFacts } from "../disk_types.ts";
import { disk, diskFault } from "../files.ts";
import { appendLine } from "./append_line.ts";
import { takePlace } from "./call_places.ts";
import { ledgerPath, LEDGERS, placesPath } from "./ledger_path.ts";
import { lineOf, MAX_LINE_BYTES } from "./rows.ts";
import { sweepLedgers } from "./sweep.ts";
import type { DigestRow, Ledger } from "./types.ts";

/** Options of {@linkcode openLedger}. */
export interface LedgerOptions {
  /** The project. `undefined`: there is none, and nothing is kept. */
  readonly root: string | undefined;
  /** The host's id of the conversation. */
  readonly session: string;
  /** Days after which the ledger of another session is removed at the start, since its last row. 0: nothing is kept. */
  readonly retentionDays: number;
  /** The time, milliseconds since the epoch. Default: the clock of this machine. */
  readonly now?: (() => number) | undefined;
  /** Told once of each reason why rows are not kept. Default: nobody is. */
  readonly onError?: ((error: WaymarkError) => void) | undefined;
}

/** The ledger of a session. It is made with the first row; older ones of other sessions are removed soon. Never throws. */
export function openLedger({ root, session, retentionDays, now = Date.now, onError }: LedgerOptions): Ledger {
  const isKept = root !== undefined && root !== "" && retentionDays > 0;
  const told = new Set<string>(), tell = quiet(onError);
  const ready = new Map<Which, string>();
  let errors = 0;

  const failed = (cause: unknown): void => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    if (told.size > 20 || told.has(reason)) return; // a host's disk can fail in many words
    told.add(reason);
    tell(new WaymarkError("cache", `Cannot keep digests in the ledger: ${reason}`, { cause }));
  };

  const lost = (cause: unknown): void => {
    errors++;
    failed(cause);
  };

  /** Does something with a file of the session: the ledger, or the one beside it. */
  const on = async <Value>(which: Which, act: (path: string) => Promise<Value>): Promise<Value> => {
    const path = ready.get(which);
    try {
      return await act(path !== undefined && isFile(path) ? path : await make(which));
    } catch (error) {
      if (path === undefined || diskFault(error) !== "absent") throw error;
      return await act(await make(which)); // the folder was removed meanwhile
    }
  };
  const make = async (which: Which): Promise<string> => {
    const path = await prepare(root!, { session, which });
    ready.set(which, path);
    return path;
  };

  let last = isKept ? sweepLedgers({ root, session, before: now() - retentionDays * 86_400_000 }) : Promise.resolve();
  return {
    append(row: DigestRow) {
      if (!isKept) return;
      try {
        const line = new TextEncoder().encode(lineOf(row));
        if (line.length > MAX_LINE_BYTES) throw new Error(`a row has ${line.length} bytes`);
        last = last.then(() => on("rows", (path) => appendLine(path, line))).catch(lost);
      } catch (error) {
        lost(error);
      }
    },
    async take() {
      if (!isKept) return undefined;
      try {
        return await on("calls", (path) => takePlace(path));
      } catch (error) {
        failed(error);
        return undefined;
      }
    },
    get errors() {
      return errors;
    },
    settled: () => last,
  };
}

/** Whether what is there is still a file: a pipe that took its place would take rows, or the whole process, for good. */
function isFile(path: string): boolean {
  try {
    const { isFile, isSymlink } = disk().lstat(path);
    return isFile && !isSymlink;
  } catch {
    return false;
  }
}

/** A file of the session's. */
type Which = "rows" | "calls";

/** The path of such a file, its folder made and private. Throws why not. */
async function prepare(root: string, { session, which }: { session: string; which: Which }): Promise<string> {
  const above = prepareFolder(root).replace(/[\\/][^\\/]*$/, ""), folder = `${above}/${LEDGERS}`;
  if (!disk().mayRead(folder) || !disk().mayWrite(folder)) {
    refuse(`Deno was started without --allow-read and --allow-write for ${folder}`);
  }
  if (!disk().exists(folder)) disk().mkdir(folder, 0o700);
  const facts = disk().lstat(folder);
  if (!facts.isDirectory || facts.isSymlink) refuse(`${folder} is not a folder`);
  makeOwn(folder, facts, 0o700);
  const ledger = await ledgerPath(above.replace(/[\\/]\.summaries$/, ""), session);
  const file = which === "rows" ? ledger : placesPath(ledger);
  if (disk().exists(file)) {
    const facts = disk().lstat(file);
    if (!facts.isFile || facts.isSymlink) refuse(`${file} is not a regular file`);
    makeOwn(file, facts, 0o600);
  }
  return file;
}

/** Takes everybody else's access to what is this user's. Throws where it is another's. */
function makeOwn(path: string, { uid, mode }: FileFacts, wanted: number): void {
  const user = disk().userId();
  if (user !== undefined && uid !== user) refuse(`${path} belongs to another user`);
  if (!(mode & 0o077)) return;
  try {
    disk().chmod(path, mode & wanted);
  } catch (error) {
    if (diskFault(error) === "denied") refuse(`${path} belongs to another user`);
    // on a disk without modes
  }
}

function refuse(reason: string): never {
  throw new WaymarkError("cache", reason);
}
