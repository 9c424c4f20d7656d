/**
 * The paths a tool was called with, as far as its arguments name them. Pure.
 *
 * @module
 */

/** Names hosts give to paths, and to commands that hold some. */
const PATHS = /(?:path|file|file_?name|uri|url)s?$|^(?:target|source|src|location|resource|include|glob)$/i;
const COMMANDS = /^(?:(?:shell_?)?commands?|command_?line|cmd|bash|script|code|args|argv)$/i;

/** Longer commands are not looked into beyond this, in UTF-16 code units; and no more arguments than so many, nor deeper. */
const LONGEST = 10_000, MOST = 256, DEEPEST = 5;

/** What ends a word of a command. */
const SEPARATORS = /[\s"'`;|&<>()=:,]+/;
/** Words that look like a file of settings and are an expression. */
const EXPRESSION = /^(?:process|import\.meta|[Dd]eno|[Bb]un|os)\.env/;

/** Every path in the arguments of a tool call, and every word of its command. Never throws. */
export function pathsIn(args: unknown): string[] {
  try {
    if (typeof args !== "object" || args === null) return typeof args === "string" ? [args.slice(0, LONGEST)] : [];
    const paths: string[] = [];
    collect(args, Array.isArray(args) ? "args" : "", { paths, left: MOST, depth: 0 });
    return paths;
  } catch {
    return [];
  }
}

/** Collects from a value under a name; what a list holds goes by the name of the list. */
function collect(value: unknown, name: string, found: { readonly paths: string[]; left: number; depth: number }): void {
  if (--found.left < 0) return;
  if (typeof value === "string") {
    const text = value.slice(0, LONGEST);
    if (PATHS.test(name)) found.paths.push(text);
    else if (COMMANDS.test(name)) found.paths.push(...wordsOf(text));
  } else if (typeof value === "object" && value !== null && found.depth < DEEPEST) {
    found.depth++;
    if (Array.isArray(value)) { for (const item of value.slice(0, MOST)) collect(item, name, found); }
    else for (const [key, item] of Object.entries(value).slice(0, MOST)) collect(item, key, found);
    found.depth--;
  }
}

function wordsOf(command: string): string[] {
  return command.split(SEPARATORS).filter((word) => word && !EXPRESSION.test(word));
}
