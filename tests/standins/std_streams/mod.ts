/**
 * Stand-in for `@std/streams`.
 *
 * @module
 */

export { TextLineStream, type TextLineStreamOptions } from "./text_line_stream.ts";
export { toArrayBuffer } from "./to_array_buffer.ts";
export { toBytes } from "./to_bytes.ts";
export { toText } from "./to_text.ts";
