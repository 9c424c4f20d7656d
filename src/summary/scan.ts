/**
 * The line scanner: a map of any text file without a parser.
 *
 * Promised: regions lie in the file, sorted by start; time grows with its size; no value or key is in a name or note.
 * Absent: certainty. It goes by words and indentation, and says so.
 *
 * @module
 */

import type { Region, RegionKind, SourceFile, Summary } from "../types.ts";
import { contentsOf, cutName, extensionOf, limitOutline, MAX_NOTE, outlineProse } from "./outline_rules.ts";
import { type Found, isFunction, named } from "./code_rules.ts";
import { ends, type Style, styleOf } from "./scanner_rules.ts";

/** Longer lines are data. */
const LONGEST = 2000;
/** So much is read. */
const READ = 240;
/** Lines, or regions, in a step. */
const STEP = 500;
/** Functions are listed inside longer ones. */
const LONG_FUNCTION = 60;

/** Certainly code. */
const CODE = /^(?:export|import|function|class|interface|type|const|async|describe|func)\b/;

const TYPEDEF = named(/^\}\s*([\w]+)/);

/** A region that goes on. */
interface Open {
  readonly found: Found;
  readonly start: number;
  readonly indent: number;
  readonly note: string;
  readonly depth: number;
  end: number;
  name: string;
  /** The indentation of its first line. */
  inner?: number;
  /** A bracket closed it. */
  isClosed?: boolean;
}

/** The declarations of a text, in steps: sorted by start, the outer first. */
export function* scan(text: string, extension: string): Generator<void, Region[]> {
  const lines = text.split("\n"), style = styleOf(extension), all: Open[] = [], open: Open[] = [];
  if (lines.at(-1) === "") lines.pop();
  const peek = (row: number): string => lines[row]?.slice(0, LONGEST).trim() ?? "";
  let until = "", isString = false;

  const close = (): void => {
    const { end } = open.pop()!, outer = open.at(-1);
    if (outer) outer.end = Math.max(outer.end, end);
  };

  for (let row = 0; row < lines.length; row++) {
    if (row % STEP === 0) yield;
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
  return yield* regionsOf(all, style.merges);
}

/** Whether a line no further in is part of it. */
function goesOn(inner: Open, line: string, style: Style): boolean {
  if (inner.isClosed && line.startsWith("}")) return false;
  inner.isClosed ||= /^[\])}]+[;,]*(?:\s*\/\/.*)?$/.test(line);
  inner.name ||= TYPEDEF.exec(line)?.[1] ?? "";
  return style.goesOn.test(line) || style.label.test(line) || (style.clauses && line.startsWith(`${inner.name} `));
}

/** The map of a file, if anything is found; in steps. */
export function* summarizeLines(file: SourceFile): Generator<void, Summary | undefined> {
  const extension = extensionOf(file.path, file.text);
  const found = yield* scan(file.text, extension), { regions, omitted } = limitOutline(found);
  if (!regions.length) return undefined;
  return {
    prose: outlineProse(contentsOf(found), { extension, lines: file.lines, maker: "scanner" }),
    regions,
    usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
    ...(omitted ? { omitted } : {}),
  };
}

/** Those worth listing: named, long enough. */
function* regionsOf(all: readonly Open[], merges: boolean): Generator<void, Region[]> {
  const kept: Open[] = [], outer: Open[] = [];
  for (const [at, item] of all.entries()) {
    if (at % STEP === 0) yield;
    while (outer.length && outer.at(-1)!.depth >= item.depth) outer.pop();
    const { kind, name, atLeast = 1 } = item.found, holder = outer.at(-1), last = kept.at(-1);
    outer.push(item);
    item.name = told(item.name, kind);
    if (!item.name || item.end - item.start + 1 < atLeast) continue;
    const isCalled = isFunction(item.found);
    if (isCalled && holder && isFunction(holder.found) && holder.end - holder.start < LONG_FUNCTION) continue;
    if (merges && isCalled && last?.found.name === name && last.depth === item.depth) last.end = item.end;
    else kept.push(item);
  }
  return kept.map(({ start, end, note, name, found: { kind } }) => ({
    start: start + 1,
    end: end + 1,
    kind,
    name,
    note,
  })).sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Whether a name is text, not a word of code. */
function isText(kind: RegionKind): boolean {
  return kind === "config" || kind === "test" || kind === "other";
}

/** A password or hook's end in an address; long words. */
const HELD = /(?<=:\/\/[^\s/:@]*:)[^\s/@]+(?=@)|(?<=hooks\.slack\.com\/services\/)\S+/g, RUNS = /[\w+=.-]{20,}/g;
const KNOWN = /xox[a-z]-\d|A[KS]IA[A-Z\d]{16}|hf_[A-Za-z]{34}/, WORDS = /(?:IP)?[vV]?\d+|[A-Z]?[a-z]+|[A-Z]+/g;

/** A name or note without what could be a key; empty where nothing is left. */
function told(text: string, kind: RegionKind, max?: number): string {
  const plain = cutName(text.replace(/(?!\s)\p{Cc}/gu, ""), text.length);
  return cutName(plain.replace(HELD, "…").replace(RUNS, (run) => isKey(run, isText(kind)) ? "…" : run), max);
}

/** Letters and digits that make no words; in text, three digits. */
function isKey(run: string, isText: boolean): boolean {
  if (KNOWN.test(run)) return true;
  if (isText && run.match(/[\w+=]{20,}/g)?.some((part) => /(?:\d\D*){3}/.test(part))) return true;
  return run.split(/[^A-Za-z\d]/).some((part) =>
    part.length > 19 && /\d/.test(part) && part.replace(WORDS, " ").length * 2.7 > part.length
  );
}

/** Up to a value, body or comment; quotes begin lifetimes in Rust. */
const HEAD = /^(?:(?!\/\/|\/\*|--|, do:)[^{="'`#;])*/, RUST_HEAD = /^(?:(?!\/\/|\/\*)[^{="#;])*/;

/** What a line says beside kind and name. */
function signature(line: string, { kind, name }: Found, extension: string): string {
  if (isText(kind) || kind === "constant") return "";
  const start = (extension === "rs" ? RUST_HEAD : HEAD).exec(line.slice(0, LONGEST))![0];
  const head = told(start, kind, MAX_NOTE).replace(/\s*(?:\(|:| do| where)$/, "");
  return head.length > name.length + kind.length + 3 ? head : "";
}
