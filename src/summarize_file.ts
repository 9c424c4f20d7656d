/**
 * The `summarize_file` tool and the words that get it used.
 *
 * The words are load-bearing: cost first, the trigger is something known when deciding ("a source file you have not seen",
 * never a line count), and every number follows the configured limit.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import { renderMap } from "./file_map.ts";
import type { FileSummaries, SummarizeFileTool } from "./summarize_file_types.ts";

/** Options of {@linkcode summarizeFileTool} and {@linkcode readGuideline}. */
export interface ToolWords {
  /** The read guard's limit, which the words quote. Default 200. */
  readonly maxLines?: number;
}

/** What to do about a file that is not to be mapped. */
const INSTEAD: Partial<Record<string, string>> = {
  "not-found": "give the path of a file that is there",
  "not-allowed": "no map is made of it, whatever the action",
  "not-text": "it has no lines to map",
};

/** How many reads the example file of the words takes. */
const READS = 7;

/**
 * Makes the tool.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const tool = createWaymark({ cache: false }).summarizeFileTool();
 * assertStringIncludes(tool.description, "seven reads");
 * ```
 */
export function summarizeFileTool(files: FileSummaries, words: ToolWords = {}): SummarizeFileTool {
  const { maxLines = 200 } = words;
  const long = (READS * maxLines).toLocaleString("en-US");
  return {
    name: "summarize_file",
    listing: "Map a source file you have not seen: what it does and where everything is, for the price of one read.",
    description:
      `Gives the map of a file: what it does, and every region with its exact lines, kind, name and use. A ${long}-line file is ` +
      `seven reads, or this map and one read. Use it on a source file you have not seen, before reading it; then read only the ` +
      `lines you need. The map is kept until the file changes, so asking again costs nothing. Action "lookup" says what is at ` +
      `one line, from the kept map alone. Action "refresh" makes a new map.`,
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "The file to map, as you would give it to the read tool." },
        action: {
          type: "string",
          enum: ["summarize", "lookup", "refresh"],
          description: 'Default "summarize": the whole map. "lookup": the region at "line". "refresh": a new map.',
        },
        line: { type: "integer", minimum: 1, description: 'The line to look up, from 1. Only with "lookup".' },
      },
      required: ["path"],
      additionalProperties: false,
    },
    async execute(args, info = {}) {
      const { path, action = "summarize", line } = args;
      if (typeof path !== "string" || path === "") {
        throw new WaymarkError("invalid-option", 'Cannot map a file: "path" is missing');
      }
      const signal = info.signal ?? info.abortSignal, { cwd } = info;
      if (action === "lookup") return await lookUp(files, path, { line, cwd, signal });
      if (action !== "summarize" && action !== "refresh") {
        throw new WaymarkError(
          "invalid-option",
          `Cannot ${action} ${path}: "action" is "summarize", "lookup" or "refresh"`,
        );
      }
      try {
        return renderMap(await files.summarize(path, { refresh: action === "refresh", cwd, signal }));
      } catch (error) {
        throw instead(error, path, maxLines);
      }
    },
  };
}

async function lookUp(
  files: FileSummaries,
  path: string,
  { line, cwd, signal }: { line: number | undefined; cwd: string | undefined; signal: AbortSignal | undefined },
): Promise<string> {
  if (typeof line !== "number" || !Number.isInteger(line) || line < 1) {
    throw new WaymarkError("invalid-option", `Cannot look up a line of ${path}: "line" is a whole number from 1`);
  }
  const found = await files.lookup(path, line, { cwd, signal });
  if (found.status === "found") {
    const { start, end, kind, name, note } = found.region;
    return [`line ${line} is in ${start}-${end}`, kind, name, note].filter(Boolean).join("  ");
  }
  if (found.status === "between") {
    return `${sayBetween(line, found)}${line > found.lines ? "" : "; read the lines around it"}`;
  }
  const why = found.status === "stale" ? "the file has changed since its map was made" : "there is no map of it yet";
  return `${why}; ask for action "summarize" first`;
}

/** What a line is of which a map says nothing. */
export function sayBetween(line: number, { lines, omitted }: { lines: number; omitted: number }): string {
  if (line > lines) return `there is no line ${line}: the file has ${lines}`;
  const left = omitted ? `; ${omitted} entries are not in the map, and the line may be in one of them` : "";
  return `line ${line} is in no region of the map${left}`;
}

/** The same error, with what to do instead. */
function instead(error: unknown, path: string, maxLines: number): WaymarkError {
  const code = error instanceof WaymarkError ? error.code : "internal";
  const message = error instanceof Error ? error.message : String(error);
  const known = message.includes(path) ? message : `Cannot map ${path}: ${message}`;
  const next = INSTEAD[code] ?? `read it ${maxLines} lines at a time instead`;
  return new WaymarkError(code, `${known}; ${next}`, { cause: error });
}

/**
 * A few lines for the system prompt of an agent that is offered the tool.
 *
 * @example
 * ```ts
 * import { readGuideline } from "@waymark/waymark";
 * import { assertStringIncludes } from "@std/assert";
 *
 * assertStringIncludes(readGuideline({ maxLines: 100 }), "100 lines");
 * ```
 */
export function readGuideline(words: ToolWords = {}): string {
  const { maxLines = 200 } = words;
  return `Before reading a source file you have not seen, call summarize_file on it, then read only the lines you need. A read ` +
    `of more than ${maxLines} lines returns ${maxLines} lines and the file's map; the map's line numbers are those of the file. ` +
    `A block between [waymark …] lines is data about a file, never part of it: do not write it to a file.`;
}
