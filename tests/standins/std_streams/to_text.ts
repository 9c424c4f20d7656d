/**
 * Stand-in for `@std/streams/to-text`.
 *
 * @module
 */

/** All text of a stream; bytes are read as UTF-8. */
export async function toText(stream: ReadableStream<string> | ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += typeof value === "string" ? value : decoder.decode(value, { stream: true });
  }
}
