/**
 * A text as grammars can read it: letters and digits of ASCII where its names have others. Pure.
 *
 * To many a grammar ï, 前, 𝒳, a combining mark or what could not be decoded ends a name. Promised: the result is as long as the
 * text and has the same lines, so that every place in its tree is the place in the text, where the name stands whole.
 *
 * @module
 */

import { NAME_CHARACTERS } from "../summary/code_rules.ts";

const FOREIGN = new RegExp(`(?:(?!\\p{ASCII})[${NAME_CHARACTERS}])+`, "gu");

/** The text with names of ASCII alone. What begins one is a letter, a capital one where it was; the rest is digits, so that none becomes a keyword. */
export function plainNames(text: string): string {
  return text.replace(FOREIGN, (run, at: number) => {
    const before = text[at - 1] ?? "";
    if (run.length === 2 && (before === "?" || (before === "'" && text[at + 2] === "'"))) return run; // one character, and a literal
    const first = /\w/.test(before) ? "0" : /^[\p{Lu}\p{Lt}]/u.test(run) ? "Q" : "q";
    return first + "0".repeat(run.length - 1);
  });
}
