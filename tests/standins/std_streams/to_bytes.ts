/**
 * Stand-in for `@std/streams/to-bytes`.
 *
 * @module
 */

import { toArrayBuffer } from "./to_array_buffer.ts";

/** All bytes of a stream. */
export async function toBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await toArrayBuffer(stream));
}
