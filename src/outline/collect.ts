/**
 * The declarations of a syntax tree, nested as the file has them. Pure: the tree comes in, regions go out.
 *
 * Promised: every region lies in the tree, outer before inner, starts in order; names and notes are not yet cleaned or masked.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import type { Region, RegionKind } from "../types.ts";
import type { Entry } from "./entries.ts";
import type { Grammar } from "./grammars.ts";
import { commentAbove, docString, signature } from "./notes.ts";
import { readBlock } from "./blocks.ts";
import { readNode } from "./readers.ts";

/** A region, and the line that has its name. */
export interface Declaration extends Region {
  /** 1-based. */
  readonly line: number;
}

/** A function inside another is listed where the outer one has more lines than this. */
export const LONG_FUNCTION = 60;
/** And itself at least so many. */
const INNER_FUNCTION = 5;
/** What a damaged tree can take for a name. */
const NOT_NAMES = /^(?:function|if|for|while|switch|return|catch|else|throw|await|case)$/;

const TESTS = /(?<![\w.$])(?:describe|it|test|suite|context|specify)(?:\.\w+)*(?:\s*\(|\s+["'])/;
const TEST_START = /^\s*(?:describe|it|test|suite|context|specify|bench)\b/;

/** The declarations of a tree. Gives way after every step, for whoever has something else to do or enough of it. */
export function* collect(
  root: Node,
  grammar: Grammar,
  source: string,
  { isHeader }: { isHeader: boolean },
): Generator<void, Declaration[]> {
  const entries = (yield* readAll(root, grammar, source)).sort((a, b) => a.start - b.start || b.end - a.end);
  const noteOf = notesOf(source, grammar), declarations: Declaration[] = [];
  for (const entry of merge(nest(entries), grammar, isHeader)) {
    const { start, end, kind, name, line } = entry;
    declarations.push({ start: start + 1, end: end + 1, kind, name, note: noteOf(entry), line: line + 1 });
    yield;
  }
  return declarations;
}

function* readAll(root: Node, grammar: Grammar, source: string): Generator<void, Entry[]> {
  const kinds = new Map<string, RegionKind>();
  for (const [kind, types] of Object.entries(grammar.nodes)) {
    for (const type of types.split(" ")) kinds.set(type, kind as RegionKind);
  }
  for (const type of grammar.values?.split(" ") ?? []) kinds.set(type, "function");
  const entries: Entry[] = [];
  for (const node of root.descendantsOfType([...kinds.keys()])) {
    yield;
    const entry = node?.isNamed ? readNode(node, kinds.get(node.type)!, grammar) : undefined;
    if (!entry || NOT_NAMES.test(entry.name)) continue;
    if (!(entry.isBare && node.parent?.type === "ERROR")) entries.push(entry);
  }
  const taken = new Set(entries.map(({ start, end }) => `${start} ${end}`));
  const blocks = new Set(grammar.blocks?.split(" "));
  for (const node of blocks.size ? root.namedChildren : []) {
    yield;
    if (!node || !blocks.has(node.type)) continue;
    const entry = readBlock(node, source);
    if (entry && !taken.has(`${entry.start} ${entry.end}`)) entries.push(entry);
  }
  return blocks.size && TESTS.test(source) ? entries.concat(yield* readInnerTests(root, source)) : entries;
}

/** Tests inside other tests. */
function* readInnerTests(root: Node, source: string): Generator<void, Entry[]> {
  const entries: Entry[] = [];
  for (const node of root.descendantsOfType(["expression_statement", "call"])) {
    yield;
    if (!node || !TEST_START.test(source.slice(node.startIndex, node.startIndex + 40)) || node.parent?.id === root.id) {
      continue;
    }
    const entry = readBlock(node, source);
    if (entry?.kind === "test") entries.push(entry);
  }
  return entries;
}

/** An entry that knows what it lies in. */
interface Nested extends Entry {
  readonly holder: Nested | undefined;
  isBare: boolean;
}

/** Puts entries inside each other and leaves out what is too small to be worth a row. */
function nest(sorted: readonly Entry[]): Nested[] {
  const kept: Nested[] = [], open: Nested[] = [];
  for (const entry of sorted) {
    while (open.length && open[open.length - 1]!.end < entry.start) open.pop();
    let holder = open[open.length - 1];
    while (holder && holder.end < entry.end) holder = holder.holder; // a tree never does this; a damaged one may
    if (entry.end - entry.start + 1 < entry.atLeast) continue;
    if (holder && (entry.kind === "import" || isSmall(entry, holder))) continue;
    const kind = entry.kind === "function" && holder?.hasMembers ? "method" : entry.kind;
    const nested: Nested = { ...entry, kind, holder };
    kept.push(nested);
    open.push(nested);
  }
  return kept;
}

function isSmall(entry: Entry, holder: Nested): boolean {
  if (entry.start === holder.start && entry.end === holder.end) return true;
  if (!isFunction(entry) || !isFunction(holder)) return false;
  return holder.end - holder.start < LONG_FUNCTION || entry.end - entry.start + 1 < INNER_FUNCTION;
}

function isFunction({ kind }: Entry): boolean {
  return kind === "function" || kind === "method";
}

/** Makes one of the overloads of a function, of the clauses of a definition, and of imports that follow each other. */
function merge(entries: readonly Nested[], grammar: Grammar, isHeader: boolean): Nested[] {
  const last = new Map<Nested | undefined, Nested>();
  const merged = entries.filter((entry) => {
    const before = last.get(entry.holder);
    if (!before || !isContinued(before, entry, grammar)) return last.set(entry.holder, entry);
    before.end = Math.max(before.end, entry.end);
    before.isBare = entry.isBare;
    return false;
  });
  const isC = grammar.grammar === "c" || grammar.grammar === "cpp";
  return isC && !isHeader ? merged.filter(({ isBare }) => !isBare) : merged;
}

function isContinued(before: Nested, entry: Nested, { clauses }: Grammar): boolean {
  if (entry.kind === "import") return before.kind === "import" && entry.start - before.end <= 2;
  return before.name === entry.name && isFunction(entry) && isFunction(before) && (before.isBare || clauses === true);
}

/** How entries are used: what their documentation says first, or their signature. */
function notesOf(source: string, { grammar, comment }: Grammar): (entry: Nested) => string {
  const lines = source.split("\n"), isPython = grammar === "python", isElixir = grammar === "elixir";
  const above = remembered((row) => commentAbove(lines, row, comment) || (isElixir ? elixirDoc(lines, row) : ""));
  const inside = remembered((row) => docString(lines, row));
  return (entry) => {
    if (entry.kind === "import") return "";
    const documented = above(entry.start) || (isPython ? inside(bodyRow(source, entry)) : "");
    if (documented || /^(?:test|config|constant|other)$/.test(entry.kind)) return documented;
    const head = signature(source.slice(entry.from, Math.min(entry.body, entry.from + 2000)), {
      isFunction: isFunction(entry),
      hasLifetimes: grammar === "rust",
    });
    return isTelling(head, entry) ? head : "";
  };
}

/** Many declarations can stand on one row: what is said of it is looked up once. */
function remembered(look: (row: number) => string): (row: number) => string {
  const known = new Map<number, string>();
  return (row) => {
    const found = known.get(row) ?? look(row);
    known.set(row, found);
    return found;
  };
}

/** What the `@doc` above a row of Elixir says. */
function elixirDoc(lines: readonly string[], row: number): string {
  if (!/^\s*(?:@spec|@doc|"""|.*"""$)/.test(lines[row - 1] ?? "")) return "";
  const first = Math.max(0, row - 60), from = lines.slice(first, row).findLastIndex((line) => /^\s*@doc\b/.test(line));
  return from < 0 ? "" : docString(lines, first + from);
}

/** Whether a signature says more than keywords, the name and that there are no parameters. */
function isTelling(head: string, { name, kind }: Entry): boolean {
  const last = name.split(/\.|::|:/).at(-1)!, at = head.indexOf(last);
  return at < 0
    ? kind === "function" || kind === "method"
    : !/^(?:<[^<>]*>)?(?:\s*\(\s*\))?$/.test(head.slice(at + last.length));
}

/** The row of an entry's body. */
function bodyRow(source: string, entry: Nested): number {
  let row = entry.line;
  for (let at = source.indexOf("\n", entry.from); at >= 0 && at < entry.body; at = source.indexOf("\n", at + 1)) row++;
  return row;
}
