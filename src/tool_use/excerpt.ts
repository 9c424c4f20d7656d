/**
 * What of a text is sent to a model: without binary content and what steers a terminal, and of a long one its two ends. Pure.
 *
 * What shows nothing between plain characters is still there, each run as one character, so that whoever masks secrets knows a
 * key that it splits from a key that it divides from another word; {@linkcode shownText} takes it out.
 *
 * @module
 */

import { withoutUnseen } from "../summary/text.ts";

const encoder = new TextEncoder(), buffer = new Uint8Array(1 << 16);
/** Code units that fit into the buffer whatever they are. */
const STEP = 21_000;

/** How many bytes a text has as UTF-8. A lone surrogate counts as the character that stands in for it. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    const end = wholeEnd(text, at + STEP);
    bytes += encoder.encodeInto(text.slice(at, end), buffer).written;
    at = end;
  }
  return bytes;
}

/** Most code units of a text that are sent; of a longer one its beginning and its end. */
export const MAX_SENT = 40_000;
/** How the room is shared. */
const HEAD = 26_000, TAIL = MAX_SENT - HEAD;
/**
 * What is looked at for secrets beyond a cut, and then dropped: half a secret would not be known for one. The longest that the
 * patterns know are private keys of 10,000 characters.
 */
export const MARGIN = 12_000;
/** How much of each end of a long text is looked at. */
const WINDOW = 1_000_000;

/** What is sent of a text. */
export interface Excerpt {
  /** The text, or its two ends, each {@linkcode MARGIN} longer than what is sent. */
  readonly parts: readonly string[];
  /** About how many code units are between the two ends. */
  readonly omitted: number;
}

/** The text without binary content and colours, and only its two ends where it is long. Holds nothing of a long text. */
export function excerpt(text: string): Excerpt {
  const windows = text.length > 2 * WINDOW
    ? [text.slice(0, wholeEnd(text, WINDOW)), text.slice(wholeEnd(text, text.length - WINDOW))]
    : [text];
  const plain = windows.map(plainText);
  const [first = "", last = first] = plain;
  if (plain.length === 1 && first.length <= MAX_SENT) return { parts: [detach(first)], omitted: 0 };
  const head = first.slice(0, HEAD + MARGIN), tail = last.slice(-(TAIL + MARGIN));
  return { parts: [detach(head), detach(tail)], omitted: Math.max(1, text.length - MAX_SENT) };
}

/** Runs of base64 that long are no text. */
const BASE64 = /(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{400,}={0,2}/g;
/** Stands for what shows nothing and is no control. */
const HIDDEN = "\u200b";
/** Colours and cursor movements of a terminal, its title and links, its sets of characters. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const ANSI = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|[\]PX^_][^\n\u0007\u001b\u009c]*(?:[\u0007\u009c]|\u001b\\)|[ -/]+[0-~])/g;
/** Controls, but tabs and what breaks a line. */
const CONTROLS = /(?:(?![\t\n\r])\p{Cc})+/gu;

function plainText(text: string): string {
  const plain = withoutUnseen(text.replace(ANSI, HIDDEN), (run) => /\p{Cc}/u.test(run) ? "\0" : HIDDEN);
  return withoutBase64(plain.replace(CONTROLS, (run) => run === "\0" ? run : " "));
}

/** The text without what shows nothing between plain characters, and with a space for every run of controls. */
export function shownText(text: string): string {
  return withoutUnseen(text.replaceAll(HIDDEN, "").replace(CONTROLS, " "));
}

/** The text without long runs of base64. */
export function withoutBase64(text: string): string {
  return text.replace(BASE64, (run) => {
    const isMixed = /[0-9+/]/.test(run) && /[A-Z]/.test(run) && /[a-z]/.test(run);
    return isMixed ? `[${run.length} characters of base64]` : run;
  });
}

/** A copy that does not keep the text alive that it was cut out of. Well-formed. */
function detach(part: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(encoder.encode(part));
}

/** Where a cut at `end` may be, so that no code point is split. */
export function wholeEnd(text: string, end: number): number {
  return end < text.length && (text.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : Math.min(end, text.length);
}
