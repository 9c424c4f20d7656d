/**
 * The line scanner: a map of any text file with no parser, permission, download or model.
 *
 * Promised: every region lies in the file, sorted by start; time grows with the file's size whatever is in it; no value of
 * the file gets into a name or a note. Absent: certainty. It goes by the words and the indentation of lines, so it can
 * miss declarations, and says so.
 *
 * @module
 */

import type { Region, RegionKind, SourceFile, Summary } from "../types.ts";
import { contentsOf, cutName, extensionOf, limitOutline, MAX_NOTE, outlineProse } from "./outline_rules.ts";
import type { Found } from "./code_rules.ts";
import { ends, type Style, styleOf } from "./scanner_rules.ts";

/** Lines longer than this are data: never looked at. */
const LONGEST = 2000;
/** So much of a line is read. */
const READ = 240;
/** A function inside another is listed where the outer one has more lines than this. */
const LONG_FUNCTION = 60;

/** A line that can only be code: text that seemed to go on until here does not. */
const CODE = /^(?:export|import|function|class|interface|type|const|async|describe|func)\b/;

/** A region whose end is not known yet. */
interface Open {
  readonly found: Found;
  readonly start: number;
  readonly indent: number;
  readonly note: string;
  readonly depth: number;
  end: number;
  name: string;
  /** How far the first line in it is indented. */
  inner?: number;
  /** A bracket no further in has closed it. */
  isClosed?: boolean;
}

/** The declarations of a text, by its file's extension: sorted by start, inner ones after the outer. Never throws. */
export function scan(text: string, extension: string): Region[] {
  const lines = text.split("\n"), style = styleOf(extension), all: Open[] = [], open: Open[] = [];
  if (lines.at(-1) === "") lines.pop();
  const peek = (row: number): string => lines[row]?.slice(0, LONGEST).trim() ?? "";
  let until = "", isString = false;

  const close = (): void => {
    const { end } = open.pop()!, outer = open.at(-1);
    if (outer) outer.end = Math.max(outer.end, end);
  };

  for (let row = 0; row < lines.length; row++) {
    const raw = lines[row]!, line = raw.trim(), isLong = raw.length > LONGEST;
    if (until) {
      const resumes = until === "`" && CODE.test(raw);
      if (resumes || (!isLong && ends(line, until))) until = "";
      if (!resumes) {
        if (isString && open.length) open.at(-1)!.end = row;
        continue;
      }
    }
    if (!line) continue;
    const indent = style.indent(raw, line), isComment = style.comment.test(line);
    if (!isLong) [until, isString] = style.opens(line, isComment);
    if (isComment) continue;

    while (open.length) {
      const inner = open.at(-1)!;
      const { closer } = inner.found;
      if (indent > inner.indent) break;
      if (indent === inner.indent && (closer ? !line.startsWith(closer) : goesOn(inner, line, style))) break;
      if (indent === inner.indent && closer) inner.end = row;
      close();
    }
    const parent = open.at(-1);
    if (parent) {
      parent.end = row;
      if (indent > parent.indent && !style.label.test(line)) parent.inner ??= indent;
    }
    if (isLong) continue;

    const isMember = parent?.inner === indent || (parent?.indent === indent && parent.found.closer !== undefined);
    const found = style.read(line.slice(0, READ), {
      indent,
      depth: open.length,
      parent: parent?.found,
      isMember,
      peek: (distance) => peek(row + distance),
    });
    if (!found) continue;
    const start = row + (found.offset ?? 0);
    const item: Open = {
      found,
      start,
      end: row,
      indent,
      note: signature(line, found, extension),
      depth: open.length,
      name: found.name,
    };
    all.push(item);
    open.push(item);
    if (style.closes(line, found)) close();
  }
  while (open.length) close();
  return regionsOf(all, style.merges);
}

/** Whether a line as far out as a region is part of it. */
function goesOn(inner: Open, line: string, style: Style): boolean {
  if (inner.isClosed && line.startsWith("}")) return false; // what it is in closes
  inner.isClosed ||= /^[\])}]+[;,]*(?:\s*\/\/.*)?$/.test(line);
  inner.name ||= /^\}\s*([\w$\u0080-\uffff]+)/.exec(line)?.[1] ?? "";
  return style.goesOn.test(line) || style.label.test(line) || (style.clauses && line.startsWith(`${inner.name} `));
}

/** The map of a file as the line scanner sees it; `undefined` where it finds nothing. Costs no call. */
export function summarizeLines(file: SourceFile): Summary | undefined {
  const extension = extensionOf(file.path, file.text);
  const found = scan(file.text, extension), { regions, omitted } = limitOutline(found);
  if (!regions.length) return undefined;
  return {
    prose: outlineProse(contentsOf(found), { extension, lines: file.lines, maker: "scanner" }),
    regions,
    usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
    ...(omitted ? { omitted } : {}),
  };
}

/** The regions worth listing: named, long enough, functions in functions only where the outer one is long. */
function regionsOf(all: readonly Open[], merges: boolean): Region[] {
  const kept: Open[] = [], outer: Open[] = [];
  for (const item of all) {
    while (outer.length && outer.at(-1)!.depth >= item.depth) outer.pop();
    const { kind, atLeast = 1 } = item.found, holder = outer.at(-1), last = kept.at(-1);
    outer.push(item);
    if (!nameOf(item.found.kind, item.name) || item.end - item.start + 1 < atLeast) continue;
    const isNested = isFunction(kind) && holder && isFunction(holder.found.kind);
    if (isNested && holder.end - holder.start < LONG_FUNCTION) continue;
    if (merges && isFunction(kind) && last?.name === item.name && last.depth === item.depth) last.end = item.end;
    else kept.push(item);
  }
  return kept.map(({ start, end, note, name, found: { kind } }) => ({
    start: start + 1,
    end: end + 1,
    kind,
    name: nameOf(kind, name),
    note,
  })).sort((a, b) => a.start - b.start || b.end - a.end);
}

/** A name as it is told: empty where nothing of it may be. */
function nameOf(kind: RegionKind, name: string): string {
  return cutName(isText(kind) ? hideTokens(cutName(name, name.length)) : name);
}

/** Whether a name is text of the file rather than a word of its code. */
function isText(kind: RegionKind): boolean {
  return kind === "config" || kind === "test" || kind === "other";
}

/** Without what could be a key or a password: long runs of letters with digits among them. */
function hideTokens(text: string): string {
  return text.replace(/[\w+=]{20,}/g, (run) => (run.match(/\d/g)?.length ?? 0) < 3 ? run : "…");
}

function isFunction(kind: RegionKind): boolean {
  return kind === "function" || kind === "method";
}

/** A declaration up to where a value, a body or a comment can begin. In Rust a quote begins a lifetime. */
const HEAD = /^(?:(?!\/\/|\/\*|--|, do:)[^{="'`#;])*/, RUST_HEAD = /^(?:(?!\/\/|\/\*)[^{="#;])*/;

/** What the first line of a declaration says beside its kind and name. */
function signature(line: string, { kind, name }: Found, extension: string): string {
  if (isText(kind) || kind === "constant") return "";
  const start = (extension === "rs" ? RUST_HEAD : HEAD).exec(line.slice(0, LONGEST))![0];
  const head = cutName(start, MAX_NOTE).replace(/\s*(?:\(|:| do| where)$/, "");
  return head.length > name.length + kind.length + 3 ? head : "";
}
