/**
 * A request as a prefix: where a span stands in it, and what of it is marked for the provider's cache. Pure.
 *
 * Promised: a span is found only as one contiguous run, message for message. Marks for the cache, the order of keys, and a
 * text given as a string or as one block of text make no difference; everything else does.
 *
 * @module
 */

import type { HostMessage, SentRequest } from "./types.ts";

/** The fields a request can have its messages in. */
const LISTS = ["messages", "input", "prompt"] as const;

/** The name of the field that holds the messages; `undefined` where there is no list of them. */
export function listField(request: SentRequest): (typeof LISTS)[number] | undefined {
  return LISTS.find((name) => Array.isArray(request[name]));
}

/** Where a span begins in a prefix, as one contiguous run; -1 where it is not in it so. */
export function findRun(prefix: readonly HostMessage[], span: readonly HostMessage[]): number {
  if (!span.length || span.length > prefix.length) return -1;
  const there = prefix.map(canonical), wanted = span.map(canonical);
  for (let from = 0; from + wanted.length <= there.length; from++) {
    if (wanted.every((text, index) => text === there[from + index])) return from;
  }
  return -1;
}

const MARKS: ReadonlySet<string> = new Set(["cache_control", "cacheControl"]);

/** What is left of an object that held nothing but a mark. */
const GONE: unique symbol = Symbol("gone");

/** A message as a text that is equal for equal messages. */
export function canonical(message: HostMessage): string {
  const value = withoutMarks(message);
  return JSON.stringify(value === GONE ? {} : value);
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks).filter((item) => item !== GONE);
  if (!isPlain(value)) return value;
  const entries: [string, unknown][] = [];
  let isMarked = false;
  for (const name of Object.keys(value).sort()) {
    if (value[name] === undefined) continue;
    const inner = MARKS.has(name) ? GONE : withoutMarks(asBlocks(name, value[name]));
    if (inner === GONE) isMarked = true;
    else entries.push([name, inner]);
  }
  return isMarked && !entries.length ? GONE : Object.fromEntries(entries);
}

/** Content given as a string as the one block of text that it means. */
function asBlocks(name: string, value: unknown): unknown {
  return name === "content" && typeof value === "string" ? [{ type: "text", text: value }] : value;
}

/** Whether a value is an object or list made of fields, not one of a class: bytes and addresses are values. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What a request asks the provider's cache to keep. */
export interface CacheMarks {
  /** Its messages are marked, or the whole request is. */
  readonly areMessagesMarked: boolean;
  /** The last mark asks for the long time. */
  readonly isLong: boolean;
}

/** What of a request is marked for the provider's cache. */
export function cacheMarks(request: SentRequest): CacheMarks {
  const list = listField(request);
  const mark = ownMark(request) ?? lastMark(list && request[list]);
  return { areMessagesMarked: isPlain(mark), isLong: isLong(mark) || request["prompt_cache_retention"] === "24h" };
}

type Fields = Readonly<Record<string, unknown>>;

/** The mark that an object has itself, in the provider's words or the AI SDK's. */
function ownMark(value: Fields): Fields | undefined {
  const { cache_control: mark, providerOptions: options } = value;
  if (isPlain(mark)) return mark;
  const own = isPlain(options) && isPlain(options["anthropic"]) ? options["anthropic"]["cacheControl"] : undefined;
  return isPlain(own) ? own : undefined;
}

/** An object with this mark, in the words that `like` has its own in, or without one. */
function marked(value: Fields, like: Fields, mark: Fields | undefined): Fields {
  const isPlainMark = isPlain(like["cache_control"]);
  const { cache_control: _mark, ...rest } = value;
  if (isPlainMark) return mark ? { ...rest, cache_control: mark } : rest;
  const options = isPlain(value["providerOptions"]) ? value["providerOptions"] : {};
  const { cacheControl: _own, ...own } = isPlain(options["anthropic"]) ? options["anthropic"] : {};
  return { ...value, providerOptions: { ...options, anthropic: mark ? { ...own, cacheControl: mark } : own } };
}

/** Most marks a request may have. */
const MOST_MARKS = 4;

/**
 * A request whose mark for the whole of it stands where the provider takes that to be, on the last block of its messages that
 * can have one: there it stays when a message is put behind it. The very same request where it has none; `undefined` where the
 * mark can stand on no block, or not beside the others.
 */
export function withPinnedMark(request: SentRequest): SentRequest | undefined {
  const mark = ownMark(request), list = listField(request);
  if (!mark || !list) return request;
  const messages = request[list] as readonly HostMessage[], rest = marked(request, request, undefined);
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!, isText = typeof message["content"] === "string";
    const blocks: unknown = asBlocks("content", message["content"]);
    const last = Array.isArray(blocks) ? blocks.findLastIndex(canBeMarked) : -1;
    if (last < 0) continue;
    const all = blocks as readonly Fields[], block = all[last]!;
    const before = ownMark(block) ?? (last === all.length - 1 ? ownMark(message) : undefined);
    if (before) return isLong(before) === isLong(mark) ? rest : undefined;
    const isOnMessage = isText && !isPlain(request["cache_control"]); // a text that must stay one
    const other = isOnMessage
      ? marked(message, request, mark)
      : { ...message, content: all.map((one, index) => index === last ? marked(one, request, mark) : one) };
    const pinned = { ...rest, [list]: messages.map((one, index) => index === at ? other : one) };
    return countMarks(pinned) > MOST_MARKS ? undefined : pinned;
  }
  return undefined;
}

/** Whether a block can have a mark: reasoning and empty texts cannot. */
function canBeMarked(block: unknown): boolean {
  return isPlain(block) && !isThinking(block) && !(block["type"] === "text" && block["text"] === "");
}

function isLong(mark: unknown): boolean {
  return isPlain(mark) && mark["ttl"] === "1h";
}

function countMarks(value: unknown): number {
  if (!Array.isArray(value) && !isPlain(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [name, inner]) => sum + (MARKS.has(name) && isPlain(inner) ? 1 : countMarks(inner)),
    0,
  );
}

/** The last mark in a value, in the order of its text. */
function lastMark(value: unknown): unknown {
  if (!Array.isArray(value) && !isPlain(value)) return undefined;
  for (const [name, inner] of Object.entries(value).reverse()) {
    const mark = MARKS.has(name) && isPlain(inner) ? inner : lastMark(inner);
    if (mark !== undefined) return mark;
  }
  return undefined;
}

/** Whether reasoning stands after the last words of a person: some models drop it as soon as a person writes again. */
export function endsInThinking(messages: readonly HostMessage[], lastHuman: number): boolean {
  return messages.slice(lastHuman + 1).some(({ content }) =>
    Array.isArray(content) &&
    content.some((block) => isPlain(block) && isThinking(block))
  );
}

function isThinking(block: Fields): boolean {
  return /^(?:redacted_)?thinking$|^reasoning$/.test(String(block["type"]));
}
