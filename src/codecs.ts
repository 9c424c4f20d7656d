/**
 * How hosts' results carry file text, failure and annotations.
 *
 * Promised: a result that cannot carry an annotation comes back as the very same object; content, order, images and extra
 * properties are never touched. `text` gives the file's own text, free of line-number gutters; where that cannot be told it
 * gives nothing. Pure.
 *
 * @module
 */

import type { Annotation, Codec } from "./types.ts";

/** A string gets a block after a blank line, an array of content blocks one more text block; all else is left alone. */
export const stringOrBlocks: Codec = {
  text: (result) => isString(result) ? textOf(result) : blocksText(result),
  failed: () => false,
  annotate(result, annotations) {
    if (isString(result)) return isEnvelope(result) ? result : appended(result, annotations);
    return Array.isArray(result) ? withBlock(result, annotations) : result;
  },
  answer(annotation, like = "") {
    if (isString(like)) return isEnvelope(like) ? undefined : annotation.text;
    return Array.isArray(like) ? blockAnswer(annotation, like) : undefined;
  },
};

/** An MCP `CallToolResult`: one more text block, and the same in `structuredContent` where that repeats the text. */
export const mcpCodec: Codec = {
  text: (result) => blocksText(fields(result)?.["content"]),
  failed: (result) => fields(result)?.["isError"] === true,
  annotate(result, annotations) {
    const given = fields(result), content = given?.["content"];
    if (!given || !Array.isArray(content)) return result;
    const blocks = withBlock(content, annotations), structured = fields(given["structuredContent"]);
    if (blocks === content) return result;
    if (!structured) return withField(given, "content", blocks);
    // Hosts show the model the structured form alone: a note beside it would never be seen.
    const text = content.find((block) => isString(block?.text)).text;
    const keys = Object.keys(structured);
    const key = keys.find((key) => structured[key] === text) ??
      keys.find((key) => holdsText(key, structured[key], text));
    if (key === undefined) return result;
    const noted = withField(structured, key, appended(structured[key] as string, annotations));
    return withField(withField(given, "content", blocks), "structuredContent", noted);
  },
  answer(annotation, like = { content: [{ type: "text", text: "" }] }) {
    const { content, structuredContent, ...rest } = fields(like) ?? {};
    if (!Array.isArray(content) || structuredContent !== undefined || !isSubset(rest, ["isError", "_meta"])) {
      return undefined;
    }
    const blocks = blockAnswer(annotation, content);
    return blocks && { content: blocks };
  },
};

/**
 * The default: strings, content blocks, MCP results, and any other plain object of more than a few words, which gets a field
 * `annotation`.
 *
 * @example
 * ```ts
 * import { autoCodec } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const note = { kind: "notice", text: "[a block]" } as const;
 * assertEquals(autoCodec.annotate("text", [note]), "text\n\n[a block]");
 * assertEquals(autoCodec.annotate({ content: "text" }, [note]), { content: "text", annotation: note });
 * ```
 */
export const autoCodec: Codec = {
  text(result) {
    if (typeof result !== "object" || result === null || Array.isArray(result)) return stringOrBlocks.text(result);
    const given = result as Fields;
    if (Array.isArray(given["content"])) return mcpCodec.text(given);
    const text = textsOf(given).find(isString);
    return text === undefined ? undefined : textOf(text);
  },
  failed: (result) => mcpCodec.failed!(result),
  annotate(result, annotations) {
    const given = fields(result);
    if (!given) return stringOrBlocks.annotate(result, annotations);
    const texts = textsOf(given);
    if (Array.isArray(texts[0])) return mcpCodec.annotate(given, annotations);
    return texts.some(isString) || holdsLines(given) ? withAnnotation(given, annotations) : result;
  },
  answer(annotation, like) {
    const given = fields(like);
    if (!given) return stringOrBlocks.answer!(annotation, like);
    if (Array.isArray(given["content"])) return mcpCodec.answer!(annotation, given);
    const key = TEXTS.find((name) => isString(given[name]));
    return key !== undefined && isSubset(given, [key, "annotation"]) ? { [key]: "", annotation } : undefined;
  },
};

/**
 * As {@linkcode autoCodec}, but a string becomes `{content, annotation}` where there is something to say.
 *
 * @example
 * ```ts
 * import { fieldsCodec } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const note = { kind: "notice", text: "[a block]" } as const;
 * assertEquals(fieldsCodec.annotate("text", [note]), { content: "text", annotation: note });
 * ```
 */
export const fieldsCodec: Codec = {
  ...autoCodec,
  annotate: (result, annotations) =>
    isString(result) ? { content: result, annotation: merged(annotations) } : autoCodec.annotate(result, annotations),
  answer: (annotation, like = "") => isString(like) ? { content: "", annotation } : autoCodec.answer!(annotation, like),
};

type Fields = Record<string, unknown>;

/** Names hosts give to the text of a file in a result. */
const TEXTS = ["content", "text", "output", "llmContent", "stdout"];

function textsOf(given: Fields): unknown[] {
  return [...TEXTS.map((name) => given[name]), fields(given["file"])?.["content"]];
}

/** Whether it holds more than a few words, as a tool's refusal does not. */
function holdsLines(given: Fields): boolean {
  return Object.values(given).some((value) =>
    isString(value) ? value.includes("\n") : typeof value === "object" && value
  );
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** A plain object: an instance of a class may keep what a copy would lose. */
function fields(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null ? value as Fields : undefined;
}

/** A copy with one field set; getters, symbols and the prototype are kept. */
function withField(object: Fields, key: string, value: unknown): Fields {
  const own = { ...Object.getOwnPropertyDescriptors(object) };
  own[key] = { value, enumerable: true, configurable: true, writable: true };
  return Object.create(Object.getPrototypeOf(object), own);
}

/** Words in the type of what is no text. */
const MEDIA = /image|audio|video|media|pdf|notebook|binary|\bfile-/i;

function withAnnotation(object: Fields, annotations: readonly Annotation[]): Fields {
  const media = MEDIA.test([object["type"], object["mimeType"], object["mediaType"]].join(" "));
  const before = object["annotation"] as Annotation | undefined;
  if (media || (before !== undefined && typeof before?.text !== "string")) return object;
  return withField(object, "annotation", merged(before ? [before, ...annotations] : annotations));
}

/** Several annotations as one: all the texts, the facts of the first. */
export function merged(annotations: readonly Annotation[]): Annotation {
  return { ...annotations[0]!, text: annotations.map(({ text }) => text).join("\n\n") };
}

function appended(text: string, annotations: readonly Annotation[]): string {
  return `${text}\n\n${merged(annotations).text}`;
}

/** One more block of the same kind as the last text block; the same array where there is none. */
function withBlock(blocks: readonly unknown[], annotations: readonly Annotation[]): readonly unknown[] {
  const like = blocks.findLast((block) => isString(fields(block)?.["text"])) as Fields | undefined;
  if (!like) return blocks;
  const { text } = merged(annotations);
  return [...blocks, "type" in like ? { type: like["type"], text } : { text }];
}

/** An annotation alone, in blocks of the same kind; `undefined` where they were not all text. */
function blockAnswer({ text }: Annotation, like: readonly unknown[]): unknown[] | undefined {
  const blocks = like.map(fields);
  const isText = (block: Fields | undefined): boolean =>
    isString(block?.["text"]) && isSubset(block, ["type", "text", "annotations"]);
  if (!blocks.length || !blocks.every(isText)) return undefined;
  const type = blocks[0]!["type"];
  return [type === undefined ? { text } : { type, text }];
}

/** Whether a value is a text or the most of it, or stands for it by its name. */
function holdsText(key: string, value: unknown, text: string): boolean {
  return isString(value) && value.length * 2 > text.length && (key === "content" || text.includes(value));
}

/** Whether an object has no other names. */
function isSubset(object: Fields, names: readonly string[]): boolean {
  return Reflect.ownKeys(object).every((key) => names.includes(key as string));
}

/** The text of the one text block; of several it cannot be told how they make a file. */
function blocksText(blocks: unknown): string | undefined {
  if (!Array.isArray(blocks)) return undefined;
  const texts = blocks.map((block) => fields(block)?.["text"]).filter(isString);
  return texts.length === 1 ? textOf(texts[0]!) : undefined;
}

/** Content blocks as JSON text: anything after them would break them. */
function isEnvelope(text: string): boolean {
  return /^\s*\[\s*\{\s*"(?:type|text)"\s*:\s*"/.test(text);
}

const GUTTER = /^\s*(?:L\s?)?(\d+)(?:\t|: ?|→| *[|│] ?)/;

/** The text in a host's string, free of its gutter; nothing where it is no file's text. */
function textOf(text: string): string | undefined {
  return isEnvelope(text) ? undefined : withoutGutter(text);
}

/**
 * The text without a gutter of rising line numbers, and the host's own lines around those. Numbers before
 * less than a share of the lines, by default half, are the file's own.
 */
export function withoutGutter(text: string, least = 0.5): string {
  const lines = text.split("\n", 20), number = (line = "") => Number(GUTTER.exec(line)?.[1] ?? NaN);
  const start = lines.findIndex((line, index) => number(line) + 1 === number(lines[index + 1]));
  if (start < 0) return text;
  const from = number(lines[start]), numbered = text.split("\n").slice(start);
  const end = numbered.findIndex((line, index) => number(line) !== from + index);
  const kept = numbered.slice(0, end < 0 ? undefined : end);
  if (kept.length < least * (start + numbered.length)) return text;
  const bare = kept.map((line) => line.replace(GUTTER, "")).join("\n");
  return /\n\r?$/.test(bare) ? `${bare}\n` : bare; // a last line that is empty is a line
}
