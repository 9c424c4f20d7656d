/**
 * What the programs that take a command line have alike: the release, how arguments are read, and when a file is the program.
 *
 * @module
 */

import process from "node:process";
import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { oneLine } from "../errors.ts";
import { disk } from "../files.ts";
import type { CommandIo } from "./command_io.ts";

/** The release; `deno.json` says the same. */
export const VERSION = "0.1.0";

/**
 * Has a command read its arguments, and do what they say: the exit code where that is the end of it, as of `--help` and of what
 * is not understood. What an action throws goes through.
 */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  io: Pick<CommandIo, "write" | "complain">,
): Promise<0 | 2 | undefined> {
  let said = "";
  const say = (text: string): void => void (said += text);
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({
      writeOut: say,
      writeErr: say,
      getOutHelpWidth: () => 120,
      getErrHelpWidth: () => 120,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  }
  try {
    await command.parseAsync(argv, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) await io.write(said); // what was asked for: help or the version
    else io.complain(said.trimEnd());
    return error.exitCode === 0 ? 0 : 2;
  }
}

/** A whole number from 1, as an argument. */
export function toWhole(value: string): number {
  if (!/^0*[1-9]\d*$/.test(value)) throw new InvalidArgumentError("It is not a whole number from 1.");
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

/** The line that tells a person what went wrong, or is to be known. */
export function toComplaint(problem: unknown): string {
  return `waymark: ${oneLine(problem)}`;
}

/** Whether a file is the program, by its `import.meta`. Node before 24.2 does not say so. */
export function isProgram({ main, filename }: { main?: boolean; filename?: string }): boolean {
  if (main !== undefined) return main;
  try {
    return disk().realPath(process.argv[1] ?? "") === filename;
  } catch {
    return false; // no script, or one that Node found under another name
  }
}
