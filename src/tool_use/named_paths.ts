/**
 * The paths a tool was called with, as far as its arguments name them. Pure.
 *
 * @module
 */

/** Names hosts give to paths, and to commands that hold some. */
const PATHS = /(?:path|file|file_?name|uri|url)s?$|^(?:target|source|src|location|resource|include|glob)$/i;
const COMMANDS = /^(?:(?:shell_?)?commands?|command_?line|cmd|bash|script|code|args|argv)$/i;

/** No path is longer, and no longer command is looked into, in UTF-16 code units; nor more arguments than so many, nor deeper. */
const LONGEST_PATH = 10_000, LONGEST = 100_000, MOST = 10_000, DEEPEST = 100;

/** What ends a word of a command. */
const SEPARATORS = /[\s"'`;|&<>()=:,]+/;
/** Words that look like a file of settings and are an expression. */
const EXPRESSION = /^(?:process|import\.meta|[Dd]eno|[Bb]un|os)\.env/;

/** What a tool call names. */
export interface NamedPaths {
  readonly paths: readonly string[];
  /** There is more than was looked at, which may name anything. */
  readonly isCut: boolean;
}

/** Every path in the arguments of a tool call, and every word of its command. Never throws. */
export function pathsIn(args: unknown): NamedPaths {
  const found: Found = { paths: [], left: MOST, depth: 0, isCut: false };
  try {
    const isCommand = typeof args === "string" || Array.isArray(args);
    if (typeof args === "string" && args.length <= LONGEST_PATH) found.paths.push(args); // its blanks may be those of a name
    collect(args, isCommand ? "args" : "", found);
  } catch { /* what throws when it is looked at tells nothing */ }
  return found;
}

interface Found {
  readonly paths: string[];
  left: number;
  depth: number;
  isCut: boolean;
}

/** Collects from a value under a name; what a list holds goes by the name of the list. */
function collect(value: unknown, name: string, found: Found): void {
  found.isCut ||= --found.left < 0;
  if (found.isCut) return;
  if (typeof value === "string") {
    const isPath = PATHS.test(name);
    if (!isPath && !COMMANDS.test(name)) return;
    if (value.length > (isPath ? LONGEST_PATH : LONGEST)) found.isCut = true;
    else found.paths.push(...isPath ? [value] : wordsOf(value));
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    if (++found.depth > DEEPEST) found.isCut = true;
    else if (Array.isArray(value)) { for (const item of value) if (!found.isCut) collect(item, name, found); }
    else for (const key of Object.keys(value)) if (!found.isCut) collect(value[key as keyof typeof value], key, found);
    found.depth--;
  }
}

function wordsOf(command: string): string[] {
  return command.split(SEPARATORS).filter((word) => word && word.length <= LONGEST_PATH && !EXPRESSION.test(word));
}
