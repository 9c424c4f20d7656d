/**
 * What a call tells: ranges, read without guessing and written back in the caller's own style, and whose it is. Pure.
 *
 * @module
 */

import type { DialectOptions, ZeroLine } from "./dialect_types.ts";
import type { Dialect, ReadSpan } from "./types.ts";

/** A host's arguments. */
export type Args = Record<string, unknown>;

/** A read without its path. */
export type Range = Omit<ReadSpan, "path">;

/** A dialect of its three parts; the path, the shape of the arguments and the copy are the same for all. */
export function dialect(options: DialectOptions, parts: {
  read: (args: Args) => Range | undefined;
  write: (copy: Args, span: ReadSpan, asked: ReadSpan | undefined) => void;
  describe: (start: number, count: number) => string;
}): Dialect {
  const { tools = [], path = "path", skip } = options;
  const parse = (given: unknown): ReadSpan | undefined => {
    if (typeof given !== "object" || given === null) return undefined;
    const args = given as Args, named = args[path], file = named instanceof URL ? named.href : named;
    if (typeof file !== "string" || file === "" || skip?.(args)) return undefined;
    const span = parts.read(args);
    return span && { path: file, ...span };
  };
  return {
    tools,
    parse,
    apply(args, span) {
      const asked = parse(args);
      if (asked && isSameRange(asked, span)) return args;
      const copy = Object.assign(Object.create(Object.getPrototypeOf(args)), args);
      parts.write(copy, span, asked);
      return copy;
    },
    describe: parts.describe,
  };
}

const IDS = "toolCallId tool_call_id toolUseId toolUseID tool_use_id callId call_id".split(" ");
const AGENTS = "agentId agent_id parentToolUseId parent_tool_use_id".split(" ");

/** Whose call it is, by usual names beside the arguments. */
export function usualIds(given: readonly unknown[]): { callId?: string; topLevel?: boolean } {
  let callId: string | undefined, topLevel: boolean | undefined;
  for (const facts of given as readonly Args[]) {
    try {
      callId ??= textUnder(facts, IDS);
      for (const name of ["toolUse", "toolCall", "call"]) callId ??= textUnder(facts[name], ["callId", "id"]);
      if (typeof facts["topLevel"] === "boolean") topLevel ??= facts["topLevel"];
      if (textUnder(facts, AGENTS) !== undefined || facts["programmatic"] === true) topLevel = false;
    } catch { /* traps, or no object */ }
  }
  return { ...callId !== undefined && { callId }, ...topLevel !== undefined && { topLevel } };
}

/** The first text under one of these names. */
export function textUnder(value: unknown, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text: unknown = Object(value)[name];
    if (typeof text === "string") return text;
  }
  return undefined;
}

/** Whether two reads ask for the same lines. */
export function isSameRange(one: Range | undefined, other: Range | undefined): boolean {
  return one?.start === other?.start && one?.count === other?.count;
}

/** A whole number, or digits; `undefined` where absent, NaN for everything else. */
export function whole(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number as number : NaN;
}

/** The first line, 1-based, of an argument that may be absent; NaN where it cannot be read. */
export function first(value: unknown, base: 0 | 1, zero: ZeroLine): number {
  const number = whole(value);
  if (number === undefined) return 1;
  return number === 0 && base === 1 && zero !== "refuse" ? 1 : number + 1 - base;
}

/** A range where there is one: neither NaN nor anything below 1 is. */
export function range(start: number, count: number | undefined): Range | undefined {
  if (!(start >= 1)) return undefined;
  return count === undefined ? { start } : count >= 1 ? { start, count } : undefined;
}

/** Writes a number in the caller's own style: as digits where it wrote this or the other bound as digits. */
export function put(copy: Args, value: number, key: string, sibling: string): void {
  copy[key] = typeof (copy[key] ?? copy[sibling]) === "string" ? String(value) : value;
}
