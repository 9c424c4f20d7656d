/**
 * The `summarize_file` tool and the words that get it used.
 *
 * The words are load-bearing: cost first, the trigger is something known when deciding ("a source file you have not seen",
 * never a line count), and every number follows the configured limit.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import { clean, renderMap } from "./file_map.ts";
import type { FileSummaries, Lookup, SummarizeFileTool, ToolWords } from "./summarize_file_types.ts";

/** What to do about a file that is not to be mapped. */
const INSTEAD: Partial<Record<string, string>> = {
  "not-found": "give the path of a file that is there",
  "not-allowed": "no map is made of it, whatever the action",
  "not-text": "it has no lines to map",
};

const ACTIONS = ["summarize", "lookup", "refresh"];

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
          enum: [...ACTIONS],
          description: 'Default "summarize": the whole map. "lookup": the region at "line". "refresh": a new map.',
        },
        line: { type: "integer", minimum: 1, description: 'The line to look up, from 1. Only with "lookup".' },
      },
      required: ["path"],
      additionalProperties: false,
    },
    async execute(args, { signal, abortSignal, cwd } = {}) {
      const { path, line = 0, action: wanted } = args ?? {} as typeof args,
        given = signal ?? abortSignal,
        action = wanted ?? "summarize",
        asked = { cwd, signal: given instanceof AbortSignal ? given : undefined };
      const wrong = typeof path !== "string" || path === ""
        ? 'map a file: "path" is missing'
        : !ACTIONS.includes(action)
        ? `map ${path}: "action" is "summarize", "lookup" or "refresh"`
        : action === "lookup" && !(Number.isInteger(line) && line > 0)
        ? `look up a line of ${path}: "line" is a whole number from 1`
        : undefined;
      if (wrong) throw new WaymarkError("invalid-option", `Cannot ${wrong}`);
      try {
        if (action === "lookup") return answer(line, await files.lookup(path, line, asked));
        return renderMap(await files.summarize(path, { refresh: action === "refresh", ...asked }));
      } catch (error) {
        throw instead(error, path, maxLines);
      }
    },
  };
}

/** What the model is told of a line, with what to do where that is little. */
function answer(line: number, found: Lookup): string {
  const said = sayLookup(line, found);
  if (found.status === "found") return `line ${line} is in ${said}`;
  if ("lines" in found) return line > found.lines ? said : `${said}; read the lines around it`;
  const isKept = found.status === "stale" || found.kept !== "nowhere";
  return `${said}; ${isKept ? 'ask for action "summarize" first' : 'action "summarize" gives the whole one'}`;
}

/** What is known of a line, in words. */
export function sayLookup(line: number, found: Lookup): string {
  const { status } = found;
  if (status === "stale") return "the file has changed since it was summarized";
  if (status === "absent") return found.kept === "nowhere" ? "no map is ever kept here" : "no map of it is kept";
  if (status !== "found" && line > found.lines) return `there is no line ${line}: the file has ${found.lines}`;
  if (status === "prose-only") return "no map could be made, only a summary";
  const left = found.omitted ? `${found.omitted} entries are not in the map, and the line may be in one of them` : "";
  if (status === "between") return [`line ${line} is in no region of the map`, left].filter(Boolean).join("; ");
  const { start, end, kind, name, note } = found.region;
  return [`${start}-${end}`, ...[kind, name, note].map(clean), left && `(${left})`].filter(Boolean).join("  ");
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
