/**
 * What stands in a conversation: the texts of the tool results in messages, and how much of a file a text holds to the
 * letter. Pure.
 *
 * Promised: a line counts only where all of it is there. Absent: formats of a single host beyond the message shapes of
 * Anthropic, OpenAI, the AI SDK, Gemini and Genkit, and of whoever uses the same names.
 *
 * @module
 */

import { textUnder } from "./arguments.ts";
import { withoutGutter } from "./codecs.ts";
import { countLines } from "./lines.ts";
import type { ToolResults } from "./session_types.ts";

/** Most lines a host's own banner has. */
const BANNER = 5;

/**
 * How many of the lines of `window` a text holds, from the first one. A host's banner of a few lines may stand before them
 * where all are there, and anything behind; where fewer are shown, those up to the first that differs count. Line endings and
 * a byte order mark do not.
 *
 * @param name The file's name. A banner tells it, or is a tag, a rule or a range: any other line before them, an empty one too,
 * may be the file's own, of a version whose lines have other numbers.
 */
export function exactLines(text: string, window: string, name: string): number {
  if (text === window || (window.endsWith("\n") && text.startsWith(window))) return countLines(window); // as a rule
  const expected = linesOf(window), shown = linesOf(text);
  let same = 0;
  while (same < expected.length && same < shown.length && shown[same] === expected[same]) same++;
  if (same === expected.length) return same;
  const before = linesOf(linesBefore(framed(text), plain(window).replace(/\n$/, "")) ?? "");
  const isBanner = before.length > 0 && before.length <= BANNER;
  return isBanner && before.every((line) => isOfHost(line, name)) ? expected.length : same;
}

/** A tag that hosts put around a file, a rule, or where the lines are. */
const HOST =
  /^\s*(?:<(?:file|path|type|source|document|content)[\w-]*(?:\s[^>]*)?>|\W?lines? \d|([-=_~`])\1\1+(?!\1)\w*\s*$)/i;
const COMMENT = /^\s*(?:\/[/*]|[*#;%]|--(?!-)|<!)/;

function isOfHost(line: string, name: string): boolean {
  return HOST.test(line) || (name !== "" && line.includes(name) && !COMMENT.test(line));
}

/** What is before lines in a text that holds them one after another; `undefined` where it does not. */
function linesBefore(framed: string, whole: string): string | undefined {
  const at = framed.indexOf(`\n${whole}\n`);
  return at < 0 ? undefined : framed.slice(1, at + 1);
}

/** A text of which every line, the first and the last too, stands between two line endings. */
function framed(text: string): string {
  return `\n${plain(text)}\n`;
}

function linesOf(text: string): string[] {
  const lines = plain(text).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function plain(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r(?=\n|$)/g, "");
}

type Sought = Parameters<ToolResults["holds"]>[0];

/** Names of a call's id beside its result, in the shapes of several hosts. */
const IDS = ["tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId"];
/** Names of what a call asks, and of what a result holds. */
const INPUTS = ["input", "arguments", "args"], CONTENTS = ["content", "output", "result", "response"];
/** A call and a result within a part of a message, as Gemini and Genkit name them, and their ids. */
const WITHIN = ["functionCall", "toolRequest"], RESULTS = ["functionResponse", "toolResponse"], REFS = ["id", "ref"];
/** A summary of the API's own, which shows the model nothing of what is before it. */
const COMPACTION = /(?:^|[,.])compaction(?:_summary)?(?:,|$)/;
/** So deep messages and results nest, and so many objects are looked at. */
const DEPTH = 8, MOST = 1 << 20;

/** Finds every tool result in messages, whatever shape they have. Never throws. */
export function toolResults(messages: readonly unknown[]): ToolResults {
  const byCall = new Map<string, Result>(), asked = new Map<string, string>(), seen = new Set<object>();
  const byPath = new Map<string, Result>();
  const keep = (callId: string | undefined, result: object): void => {
    const texts = CONTENTS.flatMap((name) => textsIn((result as Record<string, unknown>)[name], DEPTH));
    if (callId !== undefined && texts.length) {
      byCall.set(callId, new Result([...byCall.get(callId)?.texts ?? [], ...texts]));
    }
  };
  const look = (value: object, depth: number): void => {
    if (Array.isArray(value)) return value.forEach((item) => visit(item, depth - 1));
    const object = value as Record<string, unknown>, { type, kind, content, providerOptions } = object;
    const own = Object.values(Object(providerOptions)).map((it) => Object(it).type);
    const types = content === null ? [] : [type, kind, ...own]; // null: it failed
    if (COMPACTION.test(types.join())) byCall.clear(), asked.clear();
    const callId = textUnder(object, IDS), asks = callId ?? textUnder(object, REFS);
    const call = { ...object, ...object["function"] as object } as Record<string, unknown>;
    const input = INPUTS.map((name) => call[name]).find((value) => value !== undefined && value !== null);
    if (asks && input) asked.set(asks, typeof input === "string" ? input : JSON.stringify(input));
    for (const name of RESULTS) if (object[name]) keep(textUnder(object[name], REFS), object[name]);
    if (callId === undefined) {
      return [...CONTENTS, "parts", "tool_calls", ...WITHIN].forEach((name) => visit(object[name], depth - 1));
    }
    keep(callId, object);
  };
  const visit = (value: unknown, depth: number): void => {
    if (depth < 0 || typeof value !== "object" || value === null || seen.has(value) || seen.size > MOST) return;
    seen.add(value);
    try {
      look(value, depth);
    } catch {
      // A getter or a proxy: what cannot be looked at holds nothing.
    }
  };
  visit(messages, DEPTH);
  /** The results of calls that named a file, or named nobody knows what. */
  const ofPath = (path: string): Result => {
    const named = JSON.stringify(path).slice(1, -1);
    const isOf = (input = ""): boolean => !/:\s*"/.test(input) || input.includes(named);
    const texts = [...byCall].flatMap(([id, { texts }]) => isOf(asked.get(id)) ? texts : []);
    const result = new Result(texts);
    byPath.set(path, result);
    return result;
  };
  return {
    holds: (given) =>
      given.callId === undefined
        ? (byPath.get(given.path) ?? ofPath(given.path)).holds(given)
        : byCall.get(given.callId)?.holds(given) ?? false,
  };
}

/** One tool result, or all. Most hold a text as it was given; only else are gutters and JSON looked through. */
class Result {
  readonly texts: readonly string[];
  #plain: Texts | undefined;
  #hidden: Texts | undefined;

  constructor(texts: readonly string[]) {
    this.texts = texts;
  }

  holds(given: Sought): boolean {
    this.#plain ??= new Texts(this.texts);
    if (this.#plain.hold(given)) return true;
    if (!this.#hidden) {
      const inJson = this.texts.flatMap((shown) => textsIn(parsed(shown), DEPTH));
      this.#hidden = new Texts([...inJson, ...[...this.texts, ...inJson].map((shown) => withoutGutter(shown, 0))]);
    }
    return this.#hidden.hold(given);
  }
}

/** Texts to be looked through. */
class Texts {
  readonly #framed: readonly string[];
  #byHead: Map<string, string[]> | undefined;

  constructor(texts: readonly string[]) {
    this.#framed = texts.map(framed);
  }

  /** Whether one of them holds lines one after another: those of a file behind a banner at most, a map behind anything. */
  hold({ kind, text, path, callId }: Sought): boolean {
    const sought = framed(text), [head] = headsOf(sought, 1);
    if (head === undefined) return this.#framed.includes(sought); // all are empty
    const whole = sought.slice(1, -1).replace(/\n$/, "");
    const among = kind === "map" || this.#framed.length < 9 ? this.#framed : this.#beginningWith(head);
    // Of another result, which has no id to tell it, lines before them may be the file's own: then these have other numbers.
    const fits = (line: string): boolean => callId !== undefined || isOfHost(line, path.replace(/^.*[/\\]/, ""));
    return among.some((shown) => {
      const before = linesBefore(shown, whole);
      return before !== undefined && (kind === "map" || countLines(before) <= BANNER && linesOf(before).every(fits));
    });
  }

  /** Those with a line among their first ones: there a file's stands, whatever banner is before it. */
  #beginningWith(head: string): readonly string[] {
    if (!this.#byHead) {
      this.#byHead = new Map();
      for (const shown of this.#framed) {
        for (const line of new Set(headsOf(shown, BANNER + 1))) {
          const same = this.#byHead.get(line);
          if (same) same.push(shown);
          else this.#byHead.set(line, [shown]);
        }
      }
    }
    return this.#byHead.get(head) ?? [];
  }
}

/** The first lines of a framed text that are not empty. */
function headsOf(framed: string, most: number): string[] {
  const heads: string[] = [];
  for (let at = 1, end; heads.length < most && (end = framed.indexOf("\n", at)) >= 0; at = end + 1) {
    const line = framed.slice(at, end);
    if (line.trim() !== "") heads.push(line);
  }
  return heads;
}

/** Every text in a value. Bytes hold none, and are many. */
function textsIn(value: unknown, depth: number, seen: Set<object> = new Set()): string[] {
  if (typeof value === "string") return [value];
  if (ArrayBuffer.isView(value)) return [];
  if (depth < 0 || typeof value !== "object" || value === null || seen.has(value) || seen.size > MOST) return [];
  seen.add(value);
  return Object.values(value).flatMap((part) => textsIn(part, depth - 1, seen));
}

/** What a text is, or begins with, as JSON; `undefined` where it is none. */
function parsed(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return undefined;
  for (const end of [text.length, jsonEnd(text)]) {
    try {
      return JSON.parse(text.slice(0, end));
    } catch {
      // Text that a host appended stands behind it.
    }
  }
  return undefined;
}

/** Where the first JSON value of a text ends. */
function jsonEnd(text: string): number {
  let depth = 0, inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (inString && character === "\\") at++;
    else if (character === '"') inString = !inString;
    else if (!inString && /[[{]/.test(character)) depth++;
    else if (!inString && /[\]}]/.test(character)) depth--;
    else continue;
    if (depth === 0 && !inString) return at + 1;
  }
  return 0;
}
