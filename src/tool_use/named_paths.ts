/**
 * The paths a tool was called with, as far as its arguments name them. Pure.
 *
 * @module
 */

/** Names hosts give to paths, and to commands that hold some. */
const PATHS = /^(?:(?:file|absolute|target|relative|notebook|source)?_?(?:path|file|filename|uri|url)s?)$/i;
const COMMANDS = /^(?:command|cmd|script|args|argv)$/i;

/** Longer commands are not looked into beyond this, in UTF-16 code units; and no more arguments than so many. */
const LONGEST = 10_000, MOST = 64;

/** What ends a word of a command. */
const SEPARATORS = /[\s"'`;|&<>()=:,]+/;
/** Words that look like a file of settings and are an expression. */
const EXPRESSION = /^(?:process|import\.meta|[Dd]eno|[Bb]un|os)\.env/;

/** Every path in the arguments of a tool call, and every word of its command. Never throws. */
export function pathsIn(args: unknown): string[] {
  try {
    if (typeof args !== "object" || args === null) return typeof args === "string" ? [args.slice(0, LONGEST)] : [];
    return Object.entries(args).slice(0, MOST).flatMap(([name, value]) => {
      const texts = [value].flat().slice(0, MOST).filter((text) => typeof text === "string");
      if (PATHS.test(name)) return texts.map((text) => text.slice(0, LONGEST));
      return COMMANDS.test(name) ? texts.flatMap((text) => wordsOf(text.slice(0, LONGEST))) : [];
    });
  } catch {
    return [];
  }
}

function wordsOf(command: string): string[] {
  return command.split(SEPARATORS).filter((word) => word && !EXPRESSION.test(word));
}
