/**
 * The command line: guarded reads, maps, and what the cache holds. `--help` says how.
 *
 * Promised: exit code 0; 1 for a failure, told in one line on stderr; 2 for a call that is not understood. A read whose map
 * could not be made is exit code 0. Never a stack trace; a reader that goes away (`| head`) ends it quietly. Grammars and SDK
 * are loaded only when a map is made. Absent: whatever a program does better through the module itself.
 *
 * @module
 */

import process from "node:process";
import { Command } from "commander";
import {
  at,
  type Call,
  digests,
  forget,
  locateRoot,
  map,
  type Options,
  type Output,
  prune,
  read,
  stats,
} from "./cli/actions.ts";
import { type CommandIo, isBrokenPipe, processIo } from "./cli/command_io.ts";
import { isProgram, runCommand, toComplaint, toWhole, VERSION } from "./cli/program.ts";
import { openSession } from "./cli/session_file.ts";
import { outline } from "./outline.ts";
import type { WaymarkOptions } from "./options.ts";
import { createWaymark } from "./waymark.ts";

export type { CommandIo };

const HELP = `
Maps are made by a parser, with no network and no key. With ANTHROPIC_API_KEY in the environment, or with --model, a
model of Anthropic makes them; --no-model rules that out. They are kept in .summaries/ at the project's root: the nearest
folder from the working directory upwards with .git, failing that with deno.json or package.json.

Exit codes: 0 done, and also a read whose map could not be made; 1 failed; 2 not understood.`;

/**
 * Runs one command: the exit code.
 *
 * @example
 * ```ts
 * import { main } from "@waymark/waymark/cli";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * let output = "";
 * const io = { write: (text: string | Uint8Array) => void (output += text), complain() {}, environment: () => undefined };
 * assertEquals(await main(["--help"], io), 0);
 * assertStringIncludes(output, "at [options] <path> <line>");
 * ```
 */
export async function main(argv: readonly string[], io: CommandIo = processIo()): Promise<number> {
  try {
    return await runCommand(createCommands(io), argv, io) ?? 0;
  } catch (error) {
    if (isBrokenPipe(error)) return 0;
    io.complain(toComplaint(error));
    return 1;
  }
}

function createCommands(io: CommandIo): Command {
  const program = new Command("waymark")
    .description("Reads files for coding agents: 200 lines and a map of the whole file in place of thousands of lines.")
    .version(VERSION)
    .option("--root <dir>", "the project's root (default: found from the working directory)")
    .option("--model <name>", "a model of Anthropic makes the maps")
    .option("--no-model", "a parser makes the maps, whatever the environment holds")
    .option("--max-lines <count>", "lines a read may return before it is shortened (default: 200)", toWhole)
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true });

  const add = (usage: string, description: string, action: (call: Call) => Promise<Output>): Command =>
    program.command(usage).description(description).action(async (...given: unknown[]) => {
      const command = given.at(-1) as Command, [path = "", line = 0] = command.processedArgs as [string?, number?];
      const options = command.optsWithGlobals<Options>();
      const tell = (problem: unknown): void => io.complain(toComplaint(problem));
      let hit = false;
      const kept = options.session === undefined ? undefined : openSession(options.session, tell);
      const waymark = createWaymark({
        ...locateRoot(options),
        ...(action === read || action === map ? await chooseModel(options, io) : {}),
        outline: outline(),
        maxLines: options.maxLines,
        session: kept?.session,
        onNotice: tell,
        onEvent: ({ type }) => void (hit ||= type === "hit"),
      });
      try {
        for (const part of await action({ options, path, line, waymark, tell, isHit: () => hit })) await io.write(part);
        kept?.save();
      } finally {
        await waymark.close();
      }
    });

  add("read <path>", "print lines as a guarded read tool gives them, then what it says beside them", read)
    .option("--offset <line>", "the first line, from 1", toWhole)
    .option("--limit <count>", "how many lines", toWhole)
    .option(
      "--session <file>",
      "keep there what these reads have shown, and do not show it again while it is unchanged",
    )
    .option("--json", "print {content, annotation} on one line; annotation is null where nothing is said");
  add("map <path>", "print the map of a file, kept or made", map)
    .option("--refresh", "make a new one")
    .option("--json", "print its rows and facts on one line");
  add("at <path>", "say what is at a line, from the kept map alone", at)
    .argument("<line>", "the line, from 1", toWhole)
    .option(
      "--json",
      "print {status, region?, omitted?} on one line; status is found, between, prose-only, stale or absent",
    );
  add("stats", "say what the cache holds", stats).option("--json", "print it on one line");
  add("digests <session>", "print what the ledger of a session holds of its tool results", digests)
    .option("--json", "print {session, rows, unread} on one line");
  add("forget <path>", "drop the maps of a file", forget);
  add("prune", "drop the maps of files that are gone", prune);
  return program;
}

/** The model, where one is wanted. One that cannot be used fails by name when a map is asked of it. */
async function chooseModel(
  { model }: Options,
  io: CommandIo,
): Promise<Pick<WaymarkOptions, "model" | "summarizer">> {
  if (model === false || (model === undefined && !io.environment("ANTHROPIC_API_KEY"))) return {};
  const { anthropic, DEFAULT_MODEL } = await import("./providers/anthropic.ts");
  const name = typeof model === "string" ? model : DEFAULT_MODEL;
  try {
    return { model: anthropic({ model: name }) };
  } catch (error) {
    return { summarizer: { maker: `model:${name}`, version: 0, summarize: () => Promise.reject(error) } };
  }
}

if (isProgram(import.meta)) void main(process.argv.slice(2)).then((code) => process.exitCode = code);
