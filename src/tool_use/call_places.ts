/**
 * Places for the calls of a session, which all its processes take from one file: the first call has place 1, and no two have
 * the same.
 *
 * Promised: a place is one write with append semantics, and what stands before it says which one it is, so that nobody waits
 * for anybody and nothing is locked. Absent: giving a place back. Who is killed between its place and its call has used it.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { freshToken } from "../summary/token.ts";
import { openAppend, outliveSizeLimit } from "./append_line.ts";

/** Bytes of a place: a random code that nobody else has written, and the end of its line. */
const BYTES = 17;

/** Takes the next place in a file that is made where there is none. Rejects where it could not be had. */
export async function takePlace(path: string, open = openAppend): Promise<number> {
  const file = await open(path), own = `${freshToken("")}\n`;
  try {
    const before = await file.size();
    if (before % BYTES) outliveSizeLimit();
    const written = await file.write(new TextEncoder().encode(own));
    if (written < BYTES) {
      throw new WaymarkError("cache", `Cannot append to ${path}: the disk took ${written} of ${BYTES} bytes`);
    }
    const size = await file.size(), bytes = new Uint8Array(Math.max(0, size - before));
    for (let at = 0, read; at < bytes.length; at += read) {
      if ((read = await file.read(bytes.subarray(at), before + at)) === 0) break;
    }
    const at = new TextDecoder("latin1").decode(bytes).indexOf(own);
    // A torn place before it counts as one; where its own is not to be seen, it is taken to be the last.
    return Math.ceil((at < 0 ? size - BYTES : before + at) / BYTES) + 1;
  } finally {
    file.close();
  }
}
