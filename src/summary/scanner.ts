/**
 * The built-in line scanner: a map of any text file with no parser, permission, download or model.
 *
 * Promised: every region lies in the file, sorted by start; time grows with the file's size whatever is in it; no value of
 * the file gets into a name or a note. Absent: certainty. It goes by the words and the indentation of lines, so it can
 * miss declarations, and says so.
 *
 * @module
 */

import type { Region, RegionKind, SourceFile, Summarizer, Summary } from "../types.ts";
import { cutName, extensionOf, limitOutline, MAX_NOTE, outlineProse } from "./outline_rules.ts";
import { type Found, LONGEST, type Scope, styleOf } from "./scanner_rules.ts";

/** Version of the rules. */
const VERSION = 1;
/** A function inside another is listed where the outer one has more lines than this. */
const LONG_FUNCTION = 60;

const CLOSER = /^(?:[\])}>]|end\b|fi\b|esac\b|done\b|<\/)/;
const CONTINUES =
  /^(?:[{:.|?]|&&|[-=]>|(?:else|elsif|elif|catch|finally|rescue|ensure|except|where|throws|implements|extends|with)\b)/;

/** A region whose end is not known yet. */
interface Open {
  readonly found: Found;
  readonly start: number;
  readonly indent: number;
  readonly note: string;
  readonly depth: number;
  end: number;
  name: string;
}

/** The declarations of a text, by its file's extension: sorted by start, inner ones after the outer. Never throws. */
export function scan(text: string, extension: string): Region[] {
  const lines = text.split("\n"), style = styleOf(extension), all: Open[] = [], open: Open[] = [];
  let until = "", string = false;
  if (lines.at(-1) === "") lines.pop();

  const close = (): void => {
    const { end } = open.pop()!, outer = open.at(-1);
    if (outer) outer.end = Math.max(outer.end, end);
  };

  for (let row = 0; row < lines.length; row++) {
    const raw = lines[row]!, line = raw.trim();
    if (until) {
      if (string && open.length) open.at(-1)!.end = row;
      if (raw.length <= LONGEST && (style.ends(line, until) || (until === "`" && style.resumes(raw)))) until = "";
      continue;
    }
    if (!line) continue;
    const indent = style.indent(raw, line), isComment = style.comment.test(line);
    if (raw.length <= LONGEST) [until, string] = style.opens(line, isComment);
    if (isComment) continue;

    while (open.length) {
      const inner = open.at(-1)!;
      if (indent > inner.indent) break;
      if (indent === inner.indent && (CLOSER.test(line) || CONTINUES.test(line))) {
        inner.end = row;
        inner.name ||= /^\}\s*([\w$]+)/.exec(line)?.[1] ?? "";
        break;
      }
      if (indent === inner.indent && style.label.test(line)) break;
      close();
    }
    const parent = open.at(-1);
    if (parent) parent.end = row;
    if (raw.length > LONGEST) continue;

    const scope: Scope = {
      indent,
      depth: open.length,
      parent: parent?.found,
      peek: (distance) => lines[row + distance]?.slice(0, LONGEST).trim() ?? "",
    };
    const found = style.read(line.slice(0, 240), scope);
    if (!found) continue;
    const start = row + (found.offset ?? 0);
    all.push({ found, start, end: row, indent, note: signature(line, found), depth: open.length, name: found.name });
    open.push(all.at(-1)!);
    if (style.closes(line, found)) close();
  }
  while (open.length) close();
  return regionsOf(all);
}

/** The built-in parser as a summarizer. Costs no call; a file in which it finds nothing gets no map. */
export function scanner(): Summarizer {
  return { maker: "scanner", version: VERSION, summarize: (file) => Promise.resolve(summarize(file)) };
}

/** What {@linkcode scanner} makes of a file; for parsers that fall back to it. */
export function summarize(file: SourceFile): Summary | undefined {
  const extension = extensionOf(file.path, file.text);
  const { regions, omitted } = limitOutline(scan(file.text, extension).filter(({ start }) => start <= file.lines));
  if (!regions.length) return undefined;
  return {
    prose: outlineProse(regions, { extension, lines: file.lines, maker: "scanner" }),
    regions,
    usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
    ...(omitted ? { omitted } : {}),
  };
}

/** The regions worth listing: named, no short constants, functions in functions only where the outer one is long. */
function regionsOf(all: readonly Open[]): Region[] {
  const kept: Open[] = [], outer: Open[] = [];
  for (const item of all) {
    while (outer.length && outer.at(-1)!.depth >= item.depth) outer.pop();
    const { kind, atLeast = 1 } = item.found, length = item.end - item.start + 1;
    const holder = outer.at(-1);
    outer.push(item);
    if (!item.name || length < atLeast) continue;
    const isNested = isFunction(kind) && holder && isFunction(holder.found.kind);
    if (isNested && holder.end - holder.start < LONG_FUNCTION) continue;
    kept.push(item);
  }
  return kept.map(({ start, end, note, name, found: { kind } }) => ({
    start: start + 1,
    end: end + 1,
    kind,
    name: cutName(name),
    note,
  })).sort((a, b) => a.start - b.start || b.end - a.end);
}

function isFunction(kind: RegionKind): boolean {
  return kind === "function" || kind === "method";
}

/** The first line of a declaration up to where a value, a body or a comment could begin. */
function signature(line: string, { kind, name }: Found): string {
  if (kind === "config" || kind === "test" || kind === "constant" || kind === "other") return "";
  const head = cutName(/^(?:(?!\/\/|\/\*|--)[^{="'`#;])*/.exec(line.slice(0, LONGEST))![0], MAX_NOTE);
  return head.length > name.length + kind.length + 3 ? head : "";
}
