/**
 * Finds the answer in what a model wrote: prose and a list of rows, or what is wrong. Pure.
 *
 * Forgiven, at no cost: Markdown fences and words around the object, reasoning before it with drafts in it, a wrapper
 * around it, other common key names, a list given as a JSON string or as a single object, and what `json.ts` forgives.
 * Rows are not looked into here; what is wrong with a row is never a reason to ask again.
 *
 * @module
 */

import { readJson } from "./json.ts";
import { MAX_REGIONS } from "./prompt.ts";

/** An answer of the right shape. */
export interface Answer {
  /** What the file does, as the model wrote it. */
  readonly prose: string;
  /** The rows, as the model wrote them. */
  readonly rows: readonly unknown[];
}

/** Why an answer cannot be used. */
export interface Malformed {
  /** There is nothing to repair: no text, or only reasoning. */
  readonly empty: boolean;
  /** What is wrong, for the repair turn. */
  readonly problems: readonly string[];
  /** The prose, where at least that much could be read. */
  readonly prose?: string;
}

/** Longest answer that is looked into, in UTF-16 code units; about fifteen times the longest map. */
export const MAX_ANSWER = 1_000_000;

/** Most places where an object may begin that are tried. */
const MAX_STARTS = 1000;

/** Deepest wrapper around an answer that is opened. */
const MAX_WRAPPERS = 2;

const PROSE_KEYS = ["prose", "overview", "summary", "description", "purpose", "about"];
const REGION_KEYS = ["regions", "sections", "map", "outline", "symbols", "entries", "items", "ranges"];
/** Keys that only a row has. */
const ROW_KEYS = ["start", "startline", "linestart", "end", "endline", "lineend", "line", "lines", "range"];

const REASONING_END = /<\/(?:think|thinking|thought|reasoning|reflection)\s*>/gi;
const REASONING = /<(think|thinking|thought|reasoning|reflection)\b[^<>]*>[^]*?(?:<\/\1\s*>|$)/gi;

/** The answer in a text, or what is wrong with it. */
export function parseAnswer(text: string): Answer | Malformed {
  if (text.length > MAX_ANSWER) return malformed("it is far too long: use coarser regions and shorter notes");
  const { objects, torn } = findObjects(text);
  const shaped = objects.flatMap(({ value, start }) => {
    const shape = findShape(value);
    return shape ? [{ shape, start }] : [];
  });
  const whole = shaped.findLast(({ shape }) => shape.prose !== undefined && shape.rows);
  if (torn && (!whole || whole.start < torn.start)) {
    return malformed("the JSON ends before it is complete", torn.shape.prose ?? whole?.shape.prose);
  }
  if (whole) return judge(whole.shape.prose!, whole.shape.rows!);

  const part = shaped.at(-1)?.shape;
  if (part?.prose !== undefined) return malformed('"regions" is missing or not a list', part.prose);
  if (part) return malformed('"prose" is missing or not a string');
  if (objects.length) return malformed('the JSON has neither "prose" nor "regions"');
  return isBlank(text) ? { empty: true, problems: ["it is empty"] } : malformed("it is not a JSON object");
}

function judge(prose: string, rows: readonly unknown[]): Answer | Malformed {
  if (rows.length > MAX_REGIONS) {
    return malformed(`it has ${rows.length} regions, at most ${MAX_REGIONS} are allowed: use coarser ones`, prose);
  }
  if (!rows.length && !prose.trim()) return malformed('"prose" is empty and there are no regions');
  return { prose, rows };
}

function malformed(problem: string, prose?: string): Malformed {
  return { empty: false, problems: [problem], ...(prose?.trim() ? { prose } : {}) };
}

/** Whether an answer says nothing: no text at all, or only reasoning. */
function isBlank(text: string): boolean {
  const rest = text.replace(REASONING, "");
  const orphan = [...rest.matchAll(REASONING_END)].at(-1);
  return rest.slice(orphan ? orphan.index + orphan[0].length : 0).trim() === "";
}

interface Found {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
}

/** All whole objects of a text but for drafts in reasoning, outermost ones only, and the last answer the text ends in. */
function findObjects(text: string): { objects: Found[]; torn?: { shape: Shape; start: number } } {
  const objects: Found[] = [];
  let torn: { shape: Shape; start: number } | undefined;
  let start = text.indexOf("{");
  for (let tries = 0; start >= 0 && tries < MAX_STARTS; tries++) {
    const read = readJson(text, start);
    if (read && !read.torn) objects.push({ value: read.value, start, end: read.end });
    const shape = read?.torn ? findShape(read.value) : undefined;
    if (shape) torn = { shape, start };
    start = text.indexOf("{", read && !read.torn ? read.end : start + 1);
  }
  // A closing tag inside an object is part of what the object says; one outside ends the reasoning.
  const ends = [...text.matchAll(REASONING_END)].map((match) => match.index);
  const reasoned = ends.findLast((at) => !objects.some((object) => object.start < at && at < object.end)) ?? -1;
  return { objects: objects.filter((object) => object.end > reasoned), ...(torn ? { torn } : {}) };
}

/** What an object holds of an answer. */
interface Shape {
  readonly prose?: string;
  readonly rows?: readonly unknown[];
}

/** Prose and rows of a value, under whatever names; in a wrapper, those of the answer in it. */
function findShape(value: unknown, depth = 0): Shape | undefined {
  if (!isObject(value)) return undefined;
  const members = readMembers(value);
  const prose = pick(members, PROSE_KEYS).find((candidate) => typeof candidate === "string");
  const rows = pick(members, REGION_KEYS).map(asRows).find((candidate) => candidate);
  if (prose !== undefined && rows) return { prose, rows };
  for (const inner of depth < MAX_WRAPPERS ? members.values() : []) {
    const shape = findShape(inner, depth + 1);
    if (shape?.prose !== undefined && shape.rows) return shape;
  }
  if (rows) return { rows };
  return prose !== undefined && !isRow(members) ? { prose } : undefined;
}

/** A list of rows, also where it came as a JSON string or as one row alone. */
function asRows(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") {
    const start = value.search(/[[{]/);
    const read = start < 0 ? undefined : readJson(value, start);
    return read && !read.torn ? asRows(read.value) : undefined;
  }
  return isObject(value) && isRow(readMembers(value)) ? [value] : undefined;
}

function isRow(members: ReadonlyMap<string, unknown>): boolean {
  return ROW_KEYS.some((key) => members.has(key));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object under plain names: `start_line`, `startLine` and `Start Line` are one. */
export function readMembers(value: Record<string, unknown>): Map<string, unknown> {
  const members = new Map<string, unknown>();
  for (const [key, member] of Object.entries(value)) {
    const name = key.toLowerCase().replace(/[^a-z0-9]/g, "");
    if (!members.has(name)) members.set(name, member);
  }
  return members;
}

/** The members that are there, in the order of the names. */
export function pick(members: ReadonlyMap<string, unknown>, names: readonly string[]): unknown[] {
  return names.filter((name) => members.has(name)).map((name) => members.get(name));
}
