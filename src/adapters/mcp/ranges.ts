/**
 * Ranges of lines over a tool that only reads from the top.
 *
 * Promised: the lines asked for and no others, or a failure that says why. Every range is read from the top by the other
 * server: its cost grows with the last line, not with the number of lines.
 *
 * @module
 */

import { whole } from "../../arguments.ts";
import { behindLines, countLines } from "../../lines.ts";
import type { McpFailure } from "./types.ts";

/** A file and the lines wanted of it. */
export interface RangeArguments {
  /** The file. */
  readonly path: string;
  /** The first line, from 1. Default 1. */
  readonly offset?: number | undefined;
  /** How many lines. Default: to the end. */
  readonly limit?: number | undefined;
}

/**
 * A handler that takes `{path, offset?, limit?}`, over a tool that takes `{path, head?}`, as that of the filesystem server: it
 * asks for the lines from the top to the last one wanted, and takes those wanted out of the text, in `structuredContent` too.
 *
 * @param read Calls the other tool.
 *
 * @example
 * ```ts
 * import { mcpRanges } from "@waymark/waymark/adapters/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * const lines = ["one", "two", "three", "four"];
 * const foreign = ({ head = 9 }: { path?: unknown; head?: number }) =>
 *   Promise.resolve({ content: [{ type: "text", text: lines.slice(0, head).join("\n") }] });
 *
 * const read = mcpRanges(foreign);
 * assertEquals(await read({ path: "a.txt", offset: 2, limit: 2 }, {}), { content: [{ type: "text", text: "two\nthree" }] });
 * ```
 */
export function mcpRanges<Extra, Result>(
  read: (args: { path: string; head?: number }, extra: Extra) => Result | Promise<Result>,
): (args: RangeArguments, extra: Extra) => Promise<Result | McpFailure> {
  return async ({ path, offset, limit }, extra) => {
    const start = whole(offset) ?? 1, most = whole(limit), count = most ?? Infinity;
    if (!(start >= 1 && count >= 1)) {
      return failure(`Cannot read ${path}: offset and limit are whole numbers from 1`);
    }
    const result = await read(most === undefined ? { path } : { path, head: start + count - 1 }, extra);
    if (start === 1) return result;
    const { content, structuredContent, isError } = (result ?? {}) as Record<string, unknown>;
    if (isError === true || !Array.isArray(content)) return result;
    const texts = content.filter((block) => typeof block?.text === "string");
    if (!texts.length) return result;
    if (texts.length > 1) {
      return failure(`Cannot take lines out of ${path}: its text came in pieces; read it without offset`);
    }
    const given: string = texts[0].text, total = countLines(given);
    // Of lines that were cut off, the ending of the last may be left out: then an empty one is not seen.
    const isOpen = most !== undefined && given.endsWith("\n");
    if (total + (isOpen ? 1 : 0) < start) {
      return failure(`Cannot read ${path} from line ${start}: it has ${isOpen ? "fewer" : total} lines`);
    }
    const from = behindLines(given, start - 1), part = given.slice(from, behindLines(given, count, from));
    const blocks = content.map((block) => block === texts[0] ? { ...block, text: part } : block);
    if (typeof structuredContent !== "object" || structuredContent === null) return { ...result, content: blocks };
    const structured = Object.entries(structuredContent).map(([key, value]) => [key, value === given ? part : value]);
    return { ...result, content: blocks, structuredContent: Object.fromEntries(structured) };
  };
}

function failure(text: string): McpFailure {
  return { content: [{ type: "text", text }], isError: true };
}
