/**
 * Stand-in for `@std/streams/to-array-buffer`.
 *
 * @module
 */

/** All bytes of a stream. */
export function toArrayBuffer(stream: ReadableStream<Uint8Array>): Promise<ArrayBuffer> {
  return new Response(stream as BodyInit).arrayBuffer();
}
