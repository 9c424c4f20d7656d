/**
 * The tool `read_file`: lines of a text file as they are, without numbers, so that what is read can be searched for and edited
 * to the letter.
 *
 * Promised: no more than a bounded number of bytes, whatever is asked for; what is said beside the lines stands in a block of
 * its own. It reads what it is asked for: secrets in the folders are read too, only never mapped and never sent to a model.
 *
 * @module
 */

import { mcpCodec } from "../codecs.ts";
import { offsetLimit } from "../dialects.ts";
import { WaymarkError } from "../errors.ts";
import { frame } from "../file_map.ts";
import { looksBinary } from "../probe.ts";
import type { Codec, Dialect, ReadSpan } from "../types.ts";
import type { Folder } from "./folders.ts";
import { withInside } from "./open_file.ts";
import { readWindow, type Window } from "./window.ts";
import { shortened } from "./words.ts";

/** Most bytes one read gives. */
const MAX_BYTES = 64 << 10;

/** A result: the lines, and after them what is to be known of them. */
export interface ReadResult {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
}

const range = offsetLimit({ tools: ["read_file"] });

/** How the arguments say a read. */
export const readFileDialect: Dialect = {
  ...range,
  parse(args) {
    const span = range.parse(args);
    const { fresh } = args as { fresh?: unknown };
    return span && (fresh === true || fresh === "true") ? { ...span, fresh: true } : span;
  },
};

/** The lines of the results of this tool, which need no guessing. */
const lines = new WeakMap<object, string>();

/** How its results carry what the guards say. */
export const readFileCodec: Codec = { ...mcpCodec, text: (result) => lines.get(result as object) };

/** What the model reads of the tool before it is called. */
export function readFileWords(maxLines: number): { title: string; description: string; inputSchema: object } {
  return {
    title: "Read file",
    description:
      `Reads a text file, or some lines of it. Of a source file with more than ${maxLines} lines it gives ${maxLines} and a ` +
      `map of the whole file, with the exact lines of everything in it: go on with the lines you need. Blocks between ` +
      `[waymark …] lines are about the file, not part of it.`,
    inputSchema: {
      type: "object",
      properties: {
        path: { type: "string", description: "The file: absolute, or relative to the first folder that may be read." },
        offset: { type: "integer", minimum: 1, description: "The first line, from 1. Default 1." },
        limit: { type: "integer", minimum: 1, description: "How many lines. Default: to the end." },
        fresh: {
          type: "boolean",
          description:
            "True: all lines asked for, though they are many or were given before, and no map. Default false.",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
  };
}

/** The read in the arguments of a call. Throws a {@linkcode WaymarkError} that says what to give. */
export function readOf(args: Readonly<Record<string, unknown>>): ReadSpan {
  const { path } = args;
  if (typeof path !== "string" || path === "") {
    throw new WaymarkError("invalid-option", 'Cannot read a file: give its "path" as text');
  }
  const span = readFileDialect.parse(args);
  if (!span) {
    const reason = '"offset" and "limit" are whole numbers from 1';
    throw new WaymarkError("invalid-option", `Cannot read ${shortened(path)}: ${reason}`);
  }
  return span;
}

/** How {@linkcode readFile} reads. */
export interface ReadFileOptions {
  /** Where files may be read. */
  readonly folders: readonly Folder[];
  /** The file as the model names it, for the words. */
  readonly named: string;
  /** Ends it; the promise rejects with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

/** Reads lines of a file in one of the folders. Rejects with a {@linkcode WaymarkError} that says what to do instead. */
export async function readFile(
  args: Readonly<Record<string, unknown>>,
  { folders, named, signal }: ReadFileOptions,
): Promise<ReadResult> {
  const { path, start, count = Infinity } = readOf(args);
  const window = await withInside(
    path,
    folders,
    (file) => readWindow(file, { start, count, maxBytes: MAX_BYTES, signal, refuses: looksBinary }),
  );
  const { bytes, total = 0 } = window;
  if (looksBinary(window.head)) {
    throw new WaymarkError("not-text", `Cannot read ${named}: it is no text; this tool reads text only`);
  }
  if (!window.lines && total > 0 && start > total + 1) {
    const reason = `it has ${counted(total)}; the last is offset: ${total}`;
    throw new WaymarkError("not-found", `Cannot read ${named} from line ${start}: ${reason}`);
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), notes = notesOn(window, start, bytes, text);
  const blocks = [...text ? [text] : [], ...notes.length ? [notes.join("\n\n")] : []];
  const result: ReadResult = { content: blocks.map((text) => ({ type: "text", text })) };
  if (text) lines.set(result, text);
  return result;
}

/** What is to be known of the lines that cannot be seen in them. */
function notesOn({ lines, cut, total }: Window, start: number, bytes: Uint8Array, text: string): string[] {
  if (total === 0) return [frame("notice", "the file is empty", [])];
  if (!lines) return [frame("notice", `there is nothing from line ${start} on, the file has ${counted(total!)}`, [])];
  const notes: string[] = [], last = start + lines - 1, most = `${MAX_BYTES >> 10} KiB`;
  if (cut === "line") {
    const next = `One read gives at most ${most}, and none the rest of this line. Lines after it, if any: offset: ${
      start + 1
    }, limit: 1.`;
    notes.push(frame("notice", `PARTIAL, of line ${start} only the first ${most} are shown`, [next]));
  } else if (cut) {
    const next = `One read gives at most ${most}. Next lines: ${range.describe(last + 1, lines)}.`;
    notes.push(frame("notice", `PARTIAL, lines ${start}-${last} are shown, the file goes on`, [next]));
  }
  if (text.includes("\ufffd") && !isText(bytes)) {
    notes.push(frame("notice", "bytes that are no UTF-8 are shown as \ufffd", []));
  }
  return notes;
}

function counted(lines: number): string {
  return lines === 1 ? "1 line" : `${lines} lines`;
}

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
