/**
 * The note of an entry: the first sentence of the comment above it, else its signature without any value. Pure, on text.
 *
 * @module
 */

/** Most lines of a comment that are looked at. */
const MAX_COMMENT = 200;
/** Most lines of attributes between a comment and what it is about. */
const MAX_ATTRIBUTES = 12;
/** As much text as a note can need. */
const ENOUGH = 240;

const ATTRIBUTE = /^(?:#!?\[|@[A-Za-z]|\[[A-Z]|template\b|export\s*$)/;
const DIRECTIVE =
  /^(?:eslint|@ts-|prettier|istanbul|c8 |v8 |deno-|biome|noqa|pylint|type:|pragma|nolint|go:|\+build|swiftlint|rubocop|shellcheck|NOLINT|MARK|TODO|FIXME|\$|!|@[a-z]|#region|region|Copyright|SPDX|Licensed)/;

/** Where the list of parameters begins, in one of the many ways. */
const PARAMETERS = /^(?:[-*] |:param|(?:Args|Arguments|Parameters|Params|Returns|Raises|Examples?|Usage)\b:?$)/;

/**
 * The first sentence of the comment right above a line (rows count from 0); empty where there is none. A comment belongs to one
 * line: none is looked for above a comment, or behind the end of another.
 */
export function commentAbove(lines: readonly string[], row: number, marker: string): string {
  let at = row - 1;
  for (let steps = 0; at >= 0 && steps < MAX_ATTRIBUTES && ATTRIBUTE.test(lines[at]!.trim()); steps++) at--;
  if (at < 0 || isComment(lines[row] ?? "", marker)) return "";
  const first = Math.max(0, at - MAX_COMMENT), last = at;
  if (isEnd(lines[at]!)) {
    while (!lines[at]!.includes("/*")) if (--at < first || isEnd(lines[at]!)) return "";
  } else {
    while (at >= first && isComment(lines[at]!, marker)) at--;
    at++;
  }
  return firstSentence(lines.slice(at, last + 1).map((line) => stripMarkers(line)));
}

function isEnd(line: string): boolean {
  return line.trimEnd().endsWith("*/");
}

function isComment(line: string, marker: string): boolean {
  const text = line.trimStart();
  return text.startsWith(marker) && (marker !== "#" || !/^#(?:!|include|define|if|endif|pragma)/.test(text));
}

/** A line of a comment without what makes it one. */
function stripMarkers(line: string): string {
  return line.trim().replace(/^(?:\/\*+!?|\*+\/?|\/\/[\/!]?|--+\s?\|?|#+|;+)/, "").replace(/\*+\/$/, "").trim();
}

/** The first sentence of some lines of documentation, on one line; empty where there is nothing to read in them. */
export function firstSentence(lines: readonly string[]): string {
  let sentence = "";
  for (const line of lines) {
    const text = line.replace(/<\/?[a-z][^<>]*>/gi, "").replace(/\{@\w+\s+([^{}]*)\}/g, "$1").trim();
    if (sentence && PARAMETERS.test(text)) break;
    const isText = /[\p{L}]{2}/u.test(text) && !DIRECTIVE.test(text);
    if (!isText) {
      if (sentence) break;
      continue;
    }
    sentence += (sentence && " ") + text;
    const end = /^.*?[.!?](?=\s|$)(?!\s+[a-z])/.exec(sentence)?.[0];
    if (end && !/\b(?:e\.g|i\.e|etc|vs)\.$/.test(end)) return end;
    if (sentence.length > ENOUGH) break;
  }
  return sentence;
}

/** The first sentence of a documentation string that opens a body, in Python or Elixir's `@doc` above the line. */
export function docString(lines: readonly string[], row: number): string {
  const text = lines.slice(row, row + 12).join("\n");
  const match = /^\s*(?:@\w*doc\s+)?[rRuUbB~sS]*("""|'''|"|')([^]*?)(?:\1|$)/.exec(text);
  return match ? firstSentence(match[2]!.split("\n")) : "";
}

/** What {@linkcode signature} is told about a declaration. */
export interface SignatureOptions {
  /** What it is assigned with is part of it. */
  readonly isFunction: boolean;
  /** A quote can begin a lifetime of Rust. Default false. */
  readonly hasLifetimes?: boolean;
}

/**
 * A declaration's head on one line, without bodies, comments or values: `= …` inside parentheses becomes `=…`, and a quote
 * ends it, so that nothing secret gets into a note.
 */
export function signature(head: string, { isFunction, hasLifetimes = false }: SignatureOptions): string {
  let depth = 0, text = "";
  const annotations = /^(?:\s*(?:@[\w.:]+(?:\([^()]*\))?|\[[^\[\]]*\])\s)*/.exec(head)![0];
  for (let at = annotations.length; at < head.length && text.length < ENOUGH; at++) {
    const character = head[at]!, next = head[at + 1] ?? "";
    if ("\"'`".includes(character) || (character === ";" && depth === 0)) {
      if (!hasLifetimes || character !== "'" || !/^[a-z_]\w*\b(?!')/.test(head.slice(at + 1, at + 40))) {
        if (depth > 0) text += " …";
        break;
      }
      text += character;
      continue;
    }
    if ((character === "/" && (next === "/" || next === "*")) || (character === "#" && depth === 0 && text)) {
      const end = next === "*" ? head.indexOf("*/", at) + 1 : head.indexOf("\n", at);
      if (end <= 0) break;
      at = end;
      text += " ";
      continue;
    }
    if ("([{<".includes(character)) {
      if (character === "{" && depth === 0) break;
      if (character !== "<") depth++;
    } else if (")]}".includes(character)) depth--;
    if (depth <= 0 && ((character === "=" && next === ">") || head.startsWith(", do:", at))) break;
    const isAssign = character === "=" && next !== "=" && next !== ">" && !"=<>!:+-*/".includes(head[at - 1] ?? "");
    if (isAssign && depth <= 0) {
      if (!isFunction || !/^=\s*(?:async\b|function\b|class\b|\(|<|[\w$]+\s*=>)/.test(head.slice(at, at + 80))) break;
    } else if (isAssign) {
      at = skipValue(head, at);
      text = `${text.trimEnd()}=…`;
      continue;
    }
    text += character;
  }
  return text.replace(/\s+/g, " ").replace(/\s*(?:=>|=|->|:|do|where)?\s*$/, "").trim();
}

/** The place before the comma or bracket that ends a value. */
function skipValue(head: string, from: number): number {
  let depth = 0, quote = "";
  for (let at = from; at < head.length; at++) {
    const character = head[at]!;
    if (quote) {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if ("\"'`".includes(character)) quote = character;
    else if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) {
      if (depth === 0) return at - 1;
      depth--;
    } else if (character === "," && depth === 0) return at - 1;
  }
  return head.length;
}
