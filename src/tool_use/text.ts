/**
 * What a digest may look like: one line of at most 800 code points in which nothing is a tag, a frame or a delimiter.
 *
 * Promised for any input: well-formed text, no control or hidden character, no code point and no visible character cut in
 * two; doing it again changes nothing. Pure.
 *
 * @module
 */

import { clean } from "../file_map.ts";
import { withoutUnseen } from "../summary/text.ts";

/** Most code points of a digest that are kept, the ellipsis of a cut one included. */
export const MAX_DIGEST = 800;
/** What a digest ends in that is not whole. */
export const ELLIPSIS = "…";

/** How far back a cut looks for the end of a word, in code points: half an identifier is another identifier. */
const WORD = 80;

/** What begins a tag, or one of the marks that chat templates are made of. */
const TAG = /<(?=[\s\p{M}\p{DI}]*[/!?|\p{L}])/gu;
/** Whether a text shows nothing at all. */
export function isUnseen(text: string): boolean {
  return /^[\s\p{Cc}\p{DI}\p{Cf}…]*$/u.test(text);
}

/** One line in which nothing begins a tag or one of our own frames. What looked like a tag begins with `‹`. */
export function neutralLine(text: string): string {
  return clean(withoutUnseen(clean(withoutUnseen(text)))).replace(TAG, "‹");
}

/** A digest as it is kept. */
export interface DigestText {
  /** One line, at most {@linkcode MAX_DIGEST} code points; may be empty. */
  readonly text: string;
  /** It was longer. */
  readonly isCut: boolean;
}

/** A digest out of whatever a model or a file says: {@linkcode neutralLine}, then at most {@linkcode MAX_DIGEST} code points. */
export function digestText(text: string, { isCut = false } = {}): DigestText {
  const line = neutralLine(text);
  if (!isCut || !line) return clampText(line);
  return { text: clampText(line.endsWith(ELLIPSIS) ? line : line + ELLIPSIS).text, isCut };
}

/** At most so many code points, cut between words where one ends near, and never inside a character. */
export function clampText(text: string, max: number = MAX_DIGEST): DigestText {
  if (text.length <= max) return { text, isCut: false };
  const points = [...text];
  if (points.length <= max) return { text, isCut: false };
  const kept = wholeCharacters(points.slice(0, max + 1).join(""), max - 1);
  const space = kept.lastIndexOf(" "), isNear = space > 0 && kept.length - space <= WORD;
  const isWhole = text[kept.length] === " ";
  return { text: (isWhole || !isNear ? kept : kept.slice(0, space)).trimEnd() + ELLIPSIS, isCut: true };
}

/** As many whole characters as a reader sees them as fit into so many code points; of one endless character, its beginning. */
function wholeCharacters(text: string, most: number): string {
  let count = 0;
  for (const { segment, index } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    count += [...segment].length;
    if (count > most) return index > 0 ? text.slice(0, index) : [...text].slice(0, most).join("");
  }
  return text;
}
