/**
 * Makes clean regions out of a model's rows: arithmetic, order, no overlap, caps. Pure, and never a reason to ask again.
 *
 * Promised for any input: `1 <= start <= end <= lines`, sorted, flat, one region a start, every string one clean line within
 * its cap; normalizing the result changes nothing. Absent: whether a region is true; the audit looks into that.
 *
 * @module
 */

import type { Region, RegionKind } from "../types.ts";
import { pick, readMembers } from "./parse.ts";
import { NAME_MAX, NOTE_MAX } from "./prompt.ts";
import { cleanText, cutText } from "./text.ts";

/** A row as far as it could be read. Strings are clean lines, not yet cut. */
export interface Row {
  /** First line, a whole number; absent where none was given. */
  readonly start?: number;
  /** Last line, inclusive, a whole number; absent where none was given. */
  readonly end?: number;
  /** What it is. */
  readonly kind: RegionKind;
  /** Its name, as one line. */
  readonly name: string;
  /** How it is used, as one line. */
  readonly note: string;
}

/** Regions, and how many rows gave none. */
export interface Arranged {
  /** Sorted and flat. */
  readonly regions: Region[];
  /** Rows that could not be used. */
  readonly dropped: number;
}

/** A string longer than this is cut before it is looked at; whatever is kept of it ends long before. */
const LONGEST = 8192;

/** Most lines of a list that are looked at. */
const MOST = 10_000;

/** What of a name can be seen. */
const SHOWN = /[^\p{DI}\p{Cc}\p{Cf}\s]/u;

const KINDS: ReadonlySet<string> = new Set<RegionKind>([
  "import",
  "type",
  "interface",
  "class",
  "function",
  "method",
  "constant",
  "config",
  "test",
  "comment",
  "other",
]);
/** Words models use for one of the kinds. */
const SYNONYMS: ReadonlyMap<string, RegionKind> = new Map<string, RegionKind>([
  ["classes", "class"],
  ["configuration", "config"],
  ["const", "constant"],
  ["constructor", "method"],
]);

const START_KEYS = ["start", "startline", "linestart", "firstline", "first", "from", "begin", "beginline"];
const END_KEYS = ["end", "endline", "lineend", "lastline", "last", "to", "finish"];
const RANGE_KEYS = ["range", "lines", "linerange", "span", "line", "location", "loc"];
const KIND_KEYS = ["kind", "type", "category"];
const NAME_KEYS = ["name", "title", "label", "symbol", "identifier"];
const NOTE_KEYS = ["note", "notes", "usage", "description", "summary", "purpose", "comment", "detail", "details"];

/** What can be read of a row, under whatever names. */
export function readRow(value: unknown): Row {
  const members = readMembers(typeof value === "object" && value !== null ? value as Record<string, unknown> : {});
  const [start, end] = readRange(members);
  return {
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    kind: readKind(pick(members, KIND_KEYS)),
    name: readLine(pick(members, NAME_KEYS)),
    note: readLine(pick(members, NOTE_KEYS)),
  };
}

/** Regions out of rows, in a file of so many lines. */
export function arrange(rows: readonly Row[], lines: number): Arranged {
  const byStart = new Map<number, Region>();
  let dropped = 0;
  for (const row of rows) {
    const region = place(row, lines);
    if (!region) {
      dropped++;
      continue;
    }
    const known = byStart.get(region.start);
    if (known && !isSame(known, region)) dropped++;
    byStart.set(region.start, region);
  }
  const sorted = [...byStart.values()].sort((a, b) => a.start - b.start);
  const regions = sorted.map((region, index) => {
    const next = sorted[index + 1];
    return next && next.start <= region.end ? { ...region, end: next.start - 1 } : region;
  });
  return { regions, dropped };
}

/** A row inside the file; `undefined` where it has no numbers or lies wholly outside. */
function place({ start, end = start, kind, name, note }: Row, lines: number): Region | undefined {
  if (start === undefined || end === undefined || Math.max(start, end) < 0) return undefined;
  const first = Math.max(start, 1);
  if (first > lines) return undefined;
  const line = cutText(cleanText(name), NAME_MAX);
  return {
    start: first,
    end: Math.max(first, Math.min(end, lines)),
    kind,
    name: SHOWN.test(line) ? line : "(unnamed)",
    note: cutText(cleanText(note), NOTE_MAX),
  };
}

function isSame(a: Region, b: Region): boolean {
  return a.end === b.end && a.name === b.name;
}

/** First and last line, wherever a row has them. */
function readRange(members: ReadonlyMap<string, unknown>): readonly (number | undefined)[] {
  const read = (keys: readonly string[], isOne: boolean): number[] =>
    pick(members, keys).map((value) => readNumbers(value, isOne)).find((numbers) => numbers.length) ?? [];
  const starts = read(START_KEYS, true), ends = read(END_KEYS, true), range = read(RANGE_KEYS, false);
  const start = starts[0] ?? range[0] ?? ends[0],
    end = ends.at(-1) ?? starts[1] ?? range[Number.isNaN(range[0]) ? 0 : 1];
  return [start, end].some(Number.isNaN) ? [] : [start, end];
}

/** Digits in groups, or an exponent: "1,204" is one number or two, and "1,204-1,300" is not four. */
const GROUPED = /\d(?:[,._'\u2019 \u00a0\u202f]\d{3}(?!\d)|e\+?\d)/i;

/** The numbers in a value, two at most: 12, "12", "L12", "12-40", [12, 40], {"start": 12, "end": 40}; NaN where it could be others. */
function readNumbers(value: unknown, isOne: boolean): number[] {
  if (typeof value === "number") return Number.isFinite(value) ? [Math.trunc(value)] : [];
  if (typeof value === "string") {
    const text = value.slice(0, LONGEST), found = text.match(/(?<![\d.])-?\d+(?:\.\d+)?/g) ?? [];
    if ((isOne || found.length > 2) && GROUPED.test(text)) return [NaN];
    return found.slice(0, 2).map((digits) => Math.trunc(Number(digits)));
  }
  if (Array.isArray(value)) {
    const items = value.slice(0, MOST).filter((item) => !Array.isArray(item));
    const numbers = items.flatMap((item) => readNumbers(item, true).slice(0, 1));
    const isEach = numbers.length === items.length &&
      numbers.every((line, at) => at === 0 || line === numbers[at - 1]! + 1);
    return isEach && numbers.length > 2 ? [numbers[0]!, numbers.at(-1)!] : numbers.slice(0, 2); // each line by itself
  }
  if (typeof value !== "object" || value === null) return [];
  const members = readMembers(value as Record<string, unknown>);
  return [START_KEYS, END_KEYS, ["line"]].flatMap((keys) =>
    pick(members, keys).filter((item) => typeof item !== "object").flatMap((item) => readNumbers(item, true)).slice(
      0,
      1,
    )
  );
}

function readKind(values: readonly unknown[]): RegionKind {
  const word = values.find((value) => typeof value === "string")?.slice(0, LONGEST).trim().toLowerCase() ?? "";
  const known = [word, word.replace(/s$/, "")].find((candidate) => KINDS.has(candidate));
  return known ? known as RegionKind : SYNONYMS.get(word) ?? "other";
}

function readLine(values: readonly unknown[]): string {
  const value = values.find((candidate) => typeof candidate === "string" || typeof candidate === "number");
  return value === undefined ? "" : cleanText(String(value).slice(0, LONGEST));
}
