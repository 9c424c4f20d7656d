/**
 * The paths a tool was called with, as far as its arguments name them. Pure.
 *
 * @module
 */

import { attempting } from "../errors.ts";

const attempt = attempting();

/** Names hosts give to paths, and to commands that hold some. */
const PATHS = /(?:path|file|file_?name|uri|url)s?$|^(?:target|source|src|location|resource|include|glob)s?$/i;
const COMMANDS = /^(?:(?:shell_?)?commands?|command_?line|cmd|bash|script|code|args|argv)$/i;

/** No path is longer, in UTF-16 code units. */
const LONGEST_PATH = 10_000;
/** No more is looked into of what a call names: commands, in UTF-16 code units; names; values; and how deep they stand. */
const MOST_UNITS = 100_000, MOST_NAMES = 2000, MOST_VALUES = 10_000, DEEPEST = 100;

/** What ends a word of a command. */
const SEPARATORS = /[\s"'`;|&<>()=:,]+/;
/** Words that look like a file of settings and are an expression. */
const EXPRESSION = /^(?:process|import\.meta|[Dd]eno|[Bb]un|os)\.env/;

/** What a tool call names. */
export interface NamedPaths {
  readonly paths: ReadonlySet<string>;
  /** There is more than was looked at, which may name anything. */
  readonly isCut: boolean;
  /** So much of commands was looked into, in UTF-16 code units. */
  readonly units: number;
}

/** Every path in the arguments of a tool call, and every word of its command. Never throws. */
export function pathsIn(args: unknown): NamedPaths {
  const found: Found = { paths: new Set(), within: new Set(), isCut: false, units: 0, values: 0 };
  const isCommand = typeof args === "string" || Array.isArray(args);
  if (typeof args === "string" && args.length <= LONGEST_PATH) found.paths.add(args); // its blanks may be those of a name
  collect(args, isCommand ? "args" : "", found, 0);
  return found;
}

interface Found {
  readonly paths: Set<string>;
  /** What holds the value at hand. */
  readonly within: Set<object>;
  isCut: boolean;
  units: number;
  values: number;
}

/** Collects from a value under a name; what a list holds goes by the name of the list. What throws tells nothing. */
function collect(value: unknown, name: string, found: Found, depth: number): void {
  found.isCut ||= ++found.values > MOST_VALUES || depth > DEEPEST;
  if (found.isCut) return;
  try {
    if (typeof value === "string") collectText(value, name, found);
    else if (value instanceof URL) found.paths.add(value.href);
    else if (value instanceof Map || value instanceof Set) found.isCut = true;
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      if (found.within.has(value)) return;
      found.within.add(value);
      const isList = Array.isArray(value);
      for (const key of isList ? value.keys() : Object.keys(value)) {
        const item: unknown = attempt(() => value[key as never]);
        collect(item, isList ? name : `${key}`, found, depth + 1);
        if (found.isCut) return;
      }
      found.within.delete(value);
    }
  } catch { /* it cannot be looked into */ }
}

/** What is longer than a path is taken for several. */
function collectText(text: string, name: string, found: Found): void {
  const isPath = PATHS.test(name);
  if (!isPath && !COMMANDS.test(name)) return;
  if (isPath && text.length <= LONGEST_PATH) found.paths.add(text);
  else if ((found.units += text.length) > MOST_UNITS) found.isCut = true;
  else for (const word of wordsOf(text)) found.paths.add(word);
  found.isCut ||= found.paths.size > MOST_NAMES;
}

function wordsOf(command: string): string[] {
  return command.split(SEPARATORS).filter((word) => word && word.length <= LONGEST_PATH && !EXPRESSION.test(word));
}
