/**
 * The text of a tool result, whatever its shape.
 *
 * {@linkcode capture} is for the calling path: it takes references and copies nothing long, so that a host may change its
 * result right afterwards. {@linkcode textOf} does the work later. Neither changes a result, calls a getter, or reads a stream.
 * Images and other binary content are left out. Pure.
 *
 * @module
 */

import { withoutBase64 } from "./excerpt.ts";

/** A result as text. */
export interface ResultText {
  /** The texts, a line break between two of them. */
  readonly text: string;
  /** What stands beside them: `exitCode: 1`. */
  readonly facts: string;
}

/** Names hosts give to the text of a result, or to what holds it. */
const TEXTS = new Set(
  "text content output llmContent stdout stderr value result resource file message error".split(" "),
);
/** Names of what stands beside a text and says it again, or nothing of it. */
const BESIDE = new Set(
  ("structuredContent _meta meta metadata annotations annotation details artifact usage cache_control " +
    "lc_kwargs lc_namespace additional_kwargs response_metadata").split(" "),
);
/** More texts than this are not looked at one by one. */
const MOST_TEXTS = 1_000;
/** Values that are copied at once; the rest is looked at later. */
const AT_ONCE = 64;
/** Values of a data structure that are looked at at all. */
const LATER = 50_000;
const DEEPEST = 12;
/** Facts beside a text, and code units of each. */
const MOST_FACTS = 20, LONGEST_FACT = 200;

/** Takes a result as it is now, for {@linkcode textOf}: the first of its values, and the rest by reference. Never throws. */
export function capture(result: unknown): unknown {
  try {
    return copy(result, { left: AT_ONCE, isLast: false }, 0);
  } catch {
    return undefined; // a proxy's own fault
  }
}

/** The text of what was captured. Never throws. */
export function textOf(captured: unknown): ResultText {
  try {
    const texts: string[] = [], facts: string[] = [];
    if (collect(captured, { texts, facts, left: LATER }, 0)) {
      const text = texts.length === 1 ? withoutEnvelope(texts[0]!) : texts.join("\n");
      return { text, facts: facts.join("\n") };
    }
    const allowance: Allowance = { left: LATER, isLast: true }, data = copy(captured, allowance, 0);
    const text = data === undefined || data === null ? "" : jsonOf(data);
    return { text: text && allowance.isCut ? `${text}\n[more of it is left out here]` : text, facts: "" };
  } catch {
    return { text: "", facts: "" };
  }
}

/** What JSON writes in the place of a control. */
const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Data as JSON, but line breaks, colours and other controls as themselves: whoever looks for words or secrets knows their ends. */
function jsonOf(data: unknown): string {
  return JSON.stringify(data).replace(
    /\\(?:u(.{4})|(.))/g,
    (escape, code, name) => code ? String.fromCharCode(parseInt(code, 16)) : ESCAPES[name] ?? escape,
  );
}

/** What is found in a result. */
interface Found {
  readonly texts: string[];
  readonly facts: string[];
  /** So many values are still looked at: parts that are shared, or hold themselves, could be gone through without an end. */
  left: number;
}

/** Collects the texts of a shape that is known; whether it was one. A shape that holds more than texts is none. */
function collect(value: unknown, found: Found, depth: number): boolean {
  if (typeof value === "string") return found.texts.push(value) > 0;
  if (typeof value !== "object" || value === null || depth > DEEPEST || isOpaque(value)) return false;
  if (--found.left < 0) return false;
  if (!Array.isArray(value)) return collectFields(value, found, depth);
  if (!value.length || value.length > MOST_TEXTS || !value.every(isBlock)) return false;
  const before = found.texts.length;
  if (value.every((block) => collect(block, found, depth + 1))) return true;
  found.texts.length = before;
  return false;
}

function collectFields(object: object, found: Found, depth: number): boolean {
  const names = Object.keys(object), before = found.texts.length;
  if (names.length > MOST_TEXTS) return false;
  let isShape = isMedia(object);
  if (isShape) return true;
  for (const name of names) {
    const value = own(object, name);
    if (TEXTS.has(name) && collect(value, found, depth + 1)) isShape = true;
    else if (!BESIDE.has(name) && isLong(value)) return found.texts.length = before, false;
  }
  if (isShape && depth === 0) found.facts.push(...factsOf(object, names));
  return isShape;
}

/** A value that is more than a short fact. */
function isLong(value: unknown): boolean {
  if (typeof value === "string") return value.length > LONGEST_FACT;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

const TEXT_TYPE = /^(?:(?:input_|output_|error-|error_)?text|tool_result|resource|content|thinking)$/;
/** Words in the type of what is no text, and names of what it holds. */
const MEDIA = /image|audio|video|media|pdf|document|binary|blob|file/i;
const MEDIA_PARTS = "data source blob image image_url url uri base64 file file_data".split(" ");

/** A text, or an object as hosts make content of. */
function isBlock(value: unknown): boolean {
  if (typeof value === "string") return true;
  if (typeof value !== "object" || value === null) return false;
  const type = own(value, "type");
  return typeof type === "string" ? TEXT_TYPE.test(type) || isMedia(value) : Object.keys(value).join() === "text";
}

function isMedia(block: object): boolean {
  return MEDIA.test(String(own(block, "type"))) && MEDIA_PARTS.some((name) => own(block, name) !== undefined) &&
    typeof own(block, "text") !== "string";
}

/** The short values of an object beside its texts. */
function factsOf(object: object, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = TEXTS.has(name) || name === "type" ? undefined : own(object, name);
    const isFact = typeof value === "number" || typeof value === "boolean" ||
      (typeof value === "string" && !isLong(value));
    return isFact ? [`${name}: ${value}`] : [];
  }).slice(0, MOST_FACTS);
}

/** A property that is a value: a getter may do anything. */
function own(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}

/** Streams, promises and bytes: nothing that could be looked at without using it up. */
function isOpaque(value: object): boolean {
  return ArrayBuffer.isView(value) || "getReader" in value || "then" in value || Symbol.asyncIterator in value ||
    (Symbol.iterator in value && !Array.isArray(value)) || "next" in value && typeof value.next === "function";
}

/** How much is copied. */
interface Allowance {
  /** So many values more. */
  left: number;
  /** Nobody will look again: what is beyond is left out. */
  readonly isLast: boolean;
  /** Something was. */
  isCut?: boolean;
}

/** A copy of plain data, so far as the allowance goes; beyond it the data itself, or an ellipsis where this is the last look. */
function copy(value: unknown, allowance: Allowance, depth: number): unknown {
  if (typeof value === "string") return allowance.isLast ? withoutBase64(value) : value;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  const beyond = (part: unknown): unknown => allowance.isLast ? (allowance.isCut = true, part) : value;
  if (depth > DEEPEST || (allowance.left <= 0 && !allowance.isLast)) return beyond("…");
  if ("toISOString" in value) return Number.isNaN(Number(value)) ? undefined : String(value);
  if (value instanceof Error) return String(value);
  if (isOpaque(value)) return undefined;
  if (Array.isArray(value)) {
    if (!allowance.isLast && allowance.left < value.length) return value;
    const items: unknown[] = [];
    for (let at = 0; at < value.length; at++) {
      if (--allowance.left < 0 && allowance.isLast) return beyond(items);
      items.push(copy(value[at], allowance, depth + 1) ?? null);
    }
    return items;
  }
  const fields: [string, unknown][] = [];
  for (const name of Object.keys(value)) {
    if (--allowance.left < 0) return beyond(Object.fromEntries(fields));
    const field = own(value, name);
    // What stands beside a text is rarely looked at, and only to name its fields may take longer than all the rest.
    const item = BESIDE.has(name) && !allowance.isLast ? field : copy(field, allowance, depth + 1);
    if (item !== undefined) fields.push([name, item]);
  }
  return depth === 0 && !fields.length ? undefined : Object.fromEntries(fields);
}

/** Larger texts are not taken for JSON. */
const MOST_JSON = 1 << 22;

/** The texts of content blocks that came as JSON; any other text as it is. */
function withoutEnvelope(text: string): string {
  if (text.length > MOST_JSON || !/^\s*\[\s*\{\s*"(?:type|text)"\s*:\s*"/.test(text)) return text;
  try {
    const texts: string[] = [], facts: string[] = [];
    return collect(JSON.parse(text), { texts, facts, left: LATER }, 0) ? texts.join("\n") : text;
  } catch {
    return text;
  }
}
