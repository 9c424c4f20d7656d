/**
 * One line of plain text out of whatever a model wrote: cleaned, and cut at a word.
 *
 * Promised: the result is well-formed Unicode, holds no line break, control or hidden character, and is never longer than
 * asked; cleaning or cutting it again changes nothing. Imports nothing.
 *
 * @module
 */

const ELLIPSIS = "…";

/** Line breaks, control characters and every kind of white space, in runs. */
const SPACES = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;

/** Characters that show nothing or reorder text. Joiners stay, for emoji and the scripts that need them. */
const HIDDEN = /(?![\u200c\u200d])\p{Cf}/gu;

/** What shows nothing, controls among it, where no script and no emoji needs it. */
const UNSEEN = /(?<=[\t\n\r -~])(?:[\p{DI}\p{Cf}]|(?![\t\n\r])\p{Cc})+(?=[\t\n\r -~])/gu;

/** The text as one line: no line breaks, no control or hidden characters, no lone surrogates, single spaces. */
export function cleanText(text: string): string {
  const spaced = withoutUnseen(text.toWellFormed().replace(HIDDEN, "")).replace(SPACES, " ");
  return withoutUnseen(spaced).replace(/ +/g, " ").trim(); // what stands beside a space is between plain letters now
}

/**
 * The text without what shows nothing between plain characters: it would hide a frame or a secret from whoever looks for one.
 * Tabs and line breaks show.
 */
export function withoutUnseen(text: string, instead: (run: string) => string = () => ""): string {
  return text.replace(UNSEEN, instead);
}

/** At most `max` UTF-16 code units, cut at a word with an ellipsis; inside a word only where there is no space near. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  if (max < 1) return "";
  let end = max - ELLIPSIS.length;
  const space = text.lastIndexOf(" ", end);
  if (space > max / 2) end = space;
  else if (isPair(text, end - 1)) end--;
  return text.slice(0, end).replace(/[\s\u200c\u200d]+$/, "") + ELLIPSIS;
}

/** {@linkcode cleanText}, then {@linkcode cutText}. */
export function cleanLine(text: string, max: number): string {
  return cutText(cleanText(text), max);
}

/** Whether the two code units at `index` are the halves of one character. */
function isPair(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
