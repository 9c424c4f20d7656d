/**
 * What in a message is no text: bytes, and text that stands for bytes. Pure.
 *
 * @module
 */

/** Shorter texts are never taken for bytes, in UTF-16 code units. */
const SHORTEST = 1_024;

const BASE64 = /^[\w+/-]+={0,2}$/, DATA_URL = /^data:[^,\s]{0,100};base64,/;

/** How long a value is that is bytes, or base64 of them; `undefined` where it is neither. */
export function binaryLength(value: unknown): number | undefined {
  if (typeof value === "string") {
    const isBytes = value.length >= SHORTEST && (DATA_URL.test(value) || BASE64.test(value));
    return isBytes ? value.length : undefined;
  }
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? value.byteLength : undefined;
}

/**
 * A value as JSON in which whatever is bytes is told of by `replace`, and left out; it stays where that gives `undefined`. Of a
 * text that stands for bytes the name of its field is told, too.
 */
export function jsonWithout(value: unknown, replace: (length: number, name?: string) => string | undefined): string {
  // The value before its own `toJSON`: some make a list of numbers of bytes.
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name, made: unknown) {
    const given = this[name], length = binaryLength(given);
    return length === undefined ? made : replace(length, typeof given === "string" ? name : undefined) ?? made;
  });
  return text ?? "";
}

/** A value as text for a reader: JSON, without bytes. Never throws. */
export function plainJson(value: unknown): string {
  try {
    return jsonWithout(value, () => "[binary]");
  } catch {
    return "[unreadable]";
  }
}
