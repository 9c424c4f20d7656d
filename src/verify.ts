/**
 * How many lines of a file a tool's result really shows: what a map beside it may speak of. Pure.
 *
 * @module
 */

import { withoutGutter } from "./codecs.ts";
import { stripAnnotations } from "./file_map.ts";
import { countLines } from "./lines.ts";

/**
 * How many lines of the file a result shows, from the first expected one; 0 where it shows others. Lines that begin with
 * numbers of their own may have been taken for a host's gutter, and a guard within this one may have had its say.
 */
export function shownLines(text: string, window: string, rest: (lines: number) => string): number {
  const shown = verifiedLines(text, window, rest) || numberedLines(text, window);
  if (shown) return shown;
  const bare = stripAnnotations(text);
  return bare === text ? 0 : verifiedLines(bare, window, rest);
}

/** Long lines may be cut by the host: so many characters alike are enough. */
const ALIKE = 500;

/** Stands for bytes that are no UTF-8: a host that knows the encoding shows something else there. */
const UNDECODED = "\ufffd";

/** A host's own last words: in brackets or after dots, and about being cut. */
const FOOTER = /^\s*(?=[[(<]|\.\.\.).*\b(?:more|lines?|truncated|limit|offset|showing|continue|cut|bytes|end)\b/i;

/** A tag, and a line that is the end of one. */
const TAG = /<([\w-]+)/g, END = /^\s*<\/([\w-]+)>\s*$/;

/** Most lines a host's own banner has. */
const BANNER = 5;

/**
 * How many lines of the file a result shows, from the first expected one; 0 where one of them differs.
 *
 * A host may return fewer (its own limit in bytes): then its last line may be cut, and its own words in brackets may follow.
 * It may return more: a banner before, a footer behind, or, where it knows no limit, lines of `rest`, what follows in the
 * file; those count, unless something stands before: that may be lines the file does not have, and all numbers would be off.
 * Line endings and a byte order mark do not count, and of a line with bytes that are no UTF-8 only what comes before them.
 */
export function verifiedLines(text: string, window: string, rest: (lines: number) => string = () => ""): number {
  const expected = linesOf(window), whole = window.replace(/\n$/, "");
  // A text that ends in an empty line may end in one newline or, as some hosts join lines, in two.
  const first = text.startsWith(whole) && (text[whole.length] ?? "\n") === "\n"; // as a rule, and costs no copy
  const at = first ? 0 : `\n${text.replace(/\n$/, "")}\n`.indexOf(`\n${whole}\n`);
  if (at >= 0) {
    const before = countLines(text.slice(0, at)), behind = text.slice(at + whole.length + 1);
    const more = continued(behind, rest);
    if (before === 0) return expected.length + more;
    if (before > BANNER || more > 1) return 0;
    // Else it may be what goes on in a file with more lines above than this one, changed or not.
    let opened: Set<string> | undefined;
    const isLast = (line: string): boolean => {
      const tag = END.exec(line)?.[1];
      if (tag === undefined) return !line.trim() || FOOTER.test(line);
      opened ??= new Set(Array.from(text.slice(0, at).matchAll(TAG), ([, tag]) => tag!));
      return opened.has(tag);
    };
    const many = more === 0 && linesOf(behind).every(isLast) ? 0 : 2 * countLines(behind);
    const left = countLines(rest(many + 1));
    return left > 0 && left <= many ? 0 : expected.length;
  }
  const lines = linesOf(text), same = alikeLines(lines, expected);
  if (same === expected.length) return same + continued(lines.slice(same).map((line) => `${line}\n`).join(""), rest);
  if (same === lines.length) return same;
  const left = lines.slice(same).map(plain), cutLine = plain(expected[same]!).startsWith(left[0]!) ? 1 : 0;
  const footer = left.slice(cutLine).filter((line) => line.trim() !== "");
  return footer.length <= 2 && footer.every((line) => FOOTER.test(line)) && (footer.length || cutLine) ? same : 0;
}

/** The same for lines that all begin with rising numbers of their own, which were taken for the host's gutter. */
function numberedLines(text: string, window: string): number {
  const bare = withoutGutter(window);
  return bare !== window && countLines(bare) === countLines(window) ? verifiedLines(text, bare) : 0;
}

/** How many lines of the file go on behind those expected. Mostly all do, to the letter, which takes no look at each. */
function continued(shown: string, rest: (lines: number) => string): number {
  const lines = linesOf(shown), more = lines.length ? rest(lines.length) : "";
  return more === shown ? lines.length : alikeLines(lines, linesOf(more));
}

/** How many lines two texts have alike from their starts. */
function alikeLines(shown: readonly string[], lines: readonly string[]): number {
  const most = Math.min(shown.length, lines.length);
  let same = 0;
  while (same < most && alike(shown[same]!, lines[same]!)) same++;
  return same;
}

/** The lines of a text; a final newline does not make one more. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function alike(shown: string, line: string): boolean {
  if (shown === line) return true;
  const is = plain(shown), want = plain(line), bad = want.indexOf(UNDECODED);
  if (is === want) return true;
  return bad >= 0 ? is.startsWith(want.slice(0, bad)) : want.length > ALIKE && is.startsWith(want.slice(0, ALIKE));
}

function plain(line: string): string {
  return line.replace(/^\ufeff/, "").replace(/\r$/, "");
}
