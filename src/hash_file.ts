/**
 * SHA-256 of a file in flat memory, for when the bytes themselves are not needed.
 *
 * @module
 */

import type { FileFacts } from "./disk_types.ts";
import { WaymarkError } from "./errors.ts";
import { disk, hashNow, readSource, sha256 } from "./files.ts";

/** Up to here a file is read whole; beyond, in pieces of this size between other work. */
const CHUNK = 1 << 20;

/**
 * The hash and size of a regular file, read in fixed pieces: memory does not grow with the file. `undefined` for anything
 * but a regular file, which is never opened. Throws what the disk throws, and the signal's reason.
 */
export async function hashFile(
  path: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<{ hash: string; size: number } | undefined> {
  const facts = disk().stat(path);
  if (!facts.isFile) return undefined;
  if (facts.size <= CHUNK) {
    const source = await readSource(path, { maxBytes: Infinity, signal });
    return source && { hash: await sha256(source.bytes), size: source.size };
  }
  const { createHash } = await import("node:crypto");
  const hash = createHash("sha256"), buffer = new Uint8Array(CHUNK), file = disk().open(path);
  try {
    for (let size = 0;;) {
      signal?.throwIfAborted();
      const read = await file.readSoon(buffer);
      if (read === 0) return { hash: hash.digest("hex"), size };
      hash.update(buffer.subarray(0, read));
      size += read;
    }
  } finally {
    file.close();
  }
}

let scratch = new Uint8Array(0), looks = 0;

/** A small file at one moment. */
export interface Look {
  /** SHA-256 of the bytes, lower-case hex. */
  readonly hash: string;
  /** How many bytes. */
  readonly size: number;
  /** A copy of the bytes. Throws a {@linkcode WaymarkError} of code `changed` where they are neither at hand nor in the file now. */
  readonly bytes: () => Uint8Array<ArrayBuffer>;
}

/**
 * Reads and hashes a small regular file in memory that is used again: for who wants the hash alone, new memory for the bytes
 * would cost as much as to read them. `undefined` where that cannot be done at once. Throws what the disk throws.
 */
export function lookAt(path: string, { isFile, size: expected }: FileFacts): Look | undefined {
  if (!hashNow || !isFile || expected === 0 || expected > CHUNK) return undefined;
  if (scratch.length <= expected) scratch = new Uint8Array(2 * expected);
  const look = ++looks, file = disk().open(path);
  let size = 0;
  try {
    // As many bytes as the disk said, where there was room for more, are all.
    for (let read; size !== expected && (read = file.read(scratch.subarray(size))) > 0;) {
      if ((size += read) === scratch.length) return undefined; // it grew
    }
  } finally {
    file.close();
  }
  const own = scratch.subarray(0, size), hash = hashNow(own);
  const again = (): Uint8Array<ArrayBuffer> => {
    const now = lookAt(path, disk().stat(path));
    if (now?.hash === hash) return now.bytes();
    throw new WaymarkError("changed", `Cannot read ${path} as it was: it has changed meanwhile; read it again`);
  };
  let kept: Uint8Array<ArrayBuffer> | undefined;
  return { hash, size, bytes: () => kept ??= look === looks ? own.slice() : again() };
}
