/**
 * The plain read tool of the command line, which the read guard goes around: a range of lines of any regular file, byte for
 * byte. Reads no further than asked, and refuses to hold more than a bounded number of bytes.
 *
 * @module
 */

import { autoCodec } from "../codecs.ts";
import { WaymarkError } from "../errors.ts";
import type { OpenFile } from "../disk_types.ts";
import { disk, diskFault } from "../files.ts";
import { lineWindow } from "../lines.ts";
import { toDiskPath } from "../paths.ts";
import type { Annotation, Codec } from "../types.ts";

/** Most bytes one read gives: as much as the read guard looks at. */
const MAX_BYTES = 32 << 20;

/** What is read. */
export interface ReadLines {
  /** The file, relative to the working directory. */
  readonly path: string;
  /** The first line, from 1. Default 1. */
  readonly offset?: number | undefined;
  /** How many lines. Default: to the end. */
  readonly limit?: number | undefined;
}

/** What a read gives. */
export interface LinesRead {
  /** The lines as text; bytes that are no UTF-8 are replaced. */
  readonly content: string;
  /** The lines as they are. */
  readonly bytes: Uint8Array;
  /** What the read guard says beside them. */
  readonly annotation?: Annotation;
}

/** How they carry what is said beside them, and what is said alone. */
export const linesCodec: Codec<LinesRead> = {
  text: ({ content }) => content,
  annotate: (result, annotations) => autoCodec.annotate(result, annotations) as LinesRead,
  answer: (annotation) => ({ content: "", bytes: new Uint8Array(), annotation }),
};

/** Reads lines. Rejects with a {@linkcode WaymarkError} that names the file and the reason. */
// deno-lint-ignore require-await -- a tool that is to be wrapped returns a promise
export async function readLines({ path, offset = 1, limit = Infinity }: ReadLines): Promise<LinesRead> {
  const file = open(path);
  try {
    const { bytes, lines, cut, total } = lineWindow(file, offset, limit, { maxBytes: MAX_BYTES });
    if (cut) refuse(path, `these lines hold over ${MAX_BYTES >> 20} MiB; ask for fewer with --limit`);
    if (lines === 0 && offset > 1) refuse(path, `there is no line ${offset}, the file has ${total}`);
    return { content: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), bytes };
  } finally {
    file.close();
  }
}

function open(path: string): OpenFile {
  const file = toDiskPath(path, disk().cwd()) ?? refuse(path, "it is not a path on this machine");
  let facts;
  try {
    facts = disk().stat(file);
    if (facts.isFile) return disk().open(file);
  } catch (error) {
    if (error instanceof WaymarkError) throw error; // Deno was started without the permission
    const fault = diskFault(error);
    refuse(path, fault === "absent" ? "there is no such file" : fault === "denied" ? "permission denied" : error);
  }
  return refuse(path, facts?.isDirectory ? "it is a folder; name a file in it" : "it is not a regular file");
}

function refuse(path: string, reason: unknown): never {
  const why = reason instanceof Error ? reason.message : reason;
  throw new WaymarkError("not-found", `Cannot read ${path}: ${why}`, reason instanceof Error ? { cause: reason } : {});
}
