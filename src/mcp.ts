/**
 * An MCP server that reads files for any client: long ones come as 200 lines and a map, and nothing outside of its folders.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=.summaries jsr:@waymark/waymark/mcp --root .
 * ```
 *
 * On Deno it needs no more than that, and leave to read the npm packages for the outline's grammars (without it the line
 * scanner makes the maps); with `--model`, `--allow-env` for `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and
 * `ANTHROPIC_CUSTOM_HEADERS`, and `--allow-net` for the host. Where the package is installed, Node and Bun run the same file:
 * `node node_modules/@waymark/waymark/src/mcp.js --root .`
 *
 * Tools: `read_file {path, offset?, limit?, fresh?}` and `summarize_file {path, action?, line?}`. Speaks the protocol on
 * standard input and output, and nothing else there; ends with its input, or by a signal. `--root` is the outer bound, and a
 * client that names folders narrows it to them. It reads every text file in its folders, secrets too, which are never mapped or
 * sent to a model: give it folders that the model may see. Nothing is searched, watched or written but the maps, in
 * `.summaries/` of each folder; no network and no key, unless `--model` names a model.
 *
 * Lines are given again however often they are asked for, unless `--references` asks otherwise: MCP has neither the messages
 * nor word of what has left them, and sub-agents share a connection, so that what it refers to may be gone. With the
 * flag a repeated read is answered by what is true all the same: the lines are unchanged since an earlier read, and the same
 * call once more, or `fresh`, gives them.
 *
 * @module
 */

import process from "node:process";
// @ts-types="npm:@modelcontextprotocol/sdk@^1.32.2/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { type CommandIo, isBrokenPipe, processIo } from "./cli/command_io.ts";
import { disk } from "./files.ts";
import { type McpServerOptions, VERSION } from "./mcp/options.ts";
import { serveMcp } from "./mcp/server.ts";

export type { McpServerOptions, McpServing, McpTransport } from "./mcp/options.ts";
export { serveMcp };
export type { CommandIo };

const HELP = `
It reads files in its folders only. --root is the outer bound; a client that names folders narrows it to them, and without
--root they are all there is. A relative path starts at the first folder. Files that hold secrets are read like any other,
but never mapped and never sent to a model.

Maps are made by a parser, with no network and no key. --model needs ANTHROPIC_API_KEY, and sends each file that is mapped to
Anthropic. They are kept in .summaries/ of each folder.

--references makes repeated reads cheap: lines that were given and are unchanged come back as one line, which says so and how
to have them. It is off by default because no client says when such lines have left its conversation (when that is compacted),
nor that several conversations (its sub-agents, its windows) share the connection. The model then asks a second time.

Exit codes: 0 ended by the client or a signal; 1 failed; 2 not understood.`;

/**
 * Serves on standard input and output until the client ends it: the exit code.
 *
 * @example
 * ```ts
 * import { main } from "@waymark/waymark/mcp";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * let output = "";
 * const io = { write: (text: string | Uint8Array) => void (output += text), complain() {}, environment: () => undefined };
 * assertEquals(await main(["--help"], io), 0);
 * assertStringIncludes(output, "--root <dir>");
 * ```
 */
export async function main(argv: readonly string[], io: CommandIo = processIo()): Promise<number> {
  let said = "";
  const program = createCommand((text) => said += text);
  try {
    program.parse(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) await io.write(said); // what was asked for: help or the version
    else io.complain(said.trimEnd());
    return error.exitCode === 0 ? 0 : 2;
  }
  const tell = (line: string): void => io.complain(`waymark: ${line}`);
  try {
    await serveStdio(await optionsOf(program.opts(), tell), tell);
    return 0;
  } catch (error) {
    if (isBrokenPipe(error)) return 0;
    tell(String((error as Error)?.message ?? error).trim().replace(/\s*[\r\n]+\s*/g, " "));
    return 1;
  }
}

interface Flags {
  readonly root: readonly string[];
  readonly model?: string;
  readonly maxLines?: number;
  readonly references?: true;
}

function createCommand(say: (text: string) => void): Command {
  const add = (value: string, before: readonly string[]): readonly string[] => [...before, value];
  return new Command("waymark-mcp")
    .description(
      "An MCP server that reads files: 200 lines and a map of the whole file in place of thousands of lines.",
    )
    .version(VERSION)
    .option(
      "--root <dir>",
      "a folder whose files may be read; may be given again (default: what the client names)",
      add,
      [],
    )
    .option("--model <name>", "a model of Anthropic makes the maps")
    .option("--max-lines <count>", "lines a read may return before it is shortened (default: 200)", toWhole)
    .option("--references", "lines that were given before come back as one line")
    .allowExcessArguments(false)
    .addHelpText("after", HELP)
    .configureOutput({
      writeOut: say,
      writeErr: say,
      getOutHelpWidth: () => 120,
      getErrHelpWidth: () => 120,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .exitOverride();
}

async function optionsOf({ root, model, ...rest }: Flags, onNotice: (line: string) => void): Promise<McpServerOptions> {
  if (model === undefined) return { roots: root, ...rest, onNotice };
  const { anthropic } = await import("./providers/anthropic.ts");
  return { roots: root, model: anthropic({ model }), ...rest, onNotice };
}

/** Serves until the input ends, the output breaks or a signal comes. */
async function serveStdio(options: McpServerOptions, tell: (line: string) => void): Promise<void> {
  const stop = Promise.withResolvers<void>(), end = (): void => stop.resolve(), { roots = [], references } = options;
  process.stdin.once("end", end).once("close", end);
  process.stdout.on("error", end);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  const serving = await serveMcp(new StdioServerTransport(), options);
  void stop.promise.then(() => serving.close());
  const where = roots.length ? roots.join(", ") : "the folders that the client names";
  tell(`reading files in ${where}; repeated reads ${references ? "may be answered by one line" : "are given again"}`);
  await serving.closed;
}

function toWhole(value: string): number {
  if (!/^0*[1-9]\d*$/.test(value)) throw new InvalidArgumentError("It is not a whole number from 1.");
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

/** Whether this file is the program. Node before 24.2 has no `import.meta.main`. */
function isProgram(): boolean {
  const { main: isMain, filename } = import.meta as { main?: boolean; filename?: string };
  if (isMain !== undefined) return isMain;
  try {
    return disk().realPath(process.argv[1] ?? "") === filename;
  } catch {
    return false; // no script, or one that Node found under another name
  }
}

// Whatever still waits for input would keep the process: all that matters is closed and written by then.
if (isProgram()) void main(process.argv.slice(2)).then((code) => process.exit(code));
