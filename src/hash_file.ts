/**
 * SHA-256 of a file of any size in flat memory, for when the bytes themselves are not needed.
 *
 * Nothing on the way of a first read needs it (there the bytes are read once and hashed from the same buffer), so the root
 * entry does not reach it.
 *
 * @module
 */

import { disk, readSource, sha256 } from "./files.ts";

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
