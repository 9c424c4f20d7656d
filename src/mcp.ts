/**
 * An MCP server that reads files for any client: long ones come as 200 lines and a map, and nothing outside of its folders.
 *
 * ```sh
 * deno run --no-config --allow-read=. --allow-write=.summaries jsr:@waymark/waymark/mcp --root .
 * ```
 *
 * On Deno it needs no more than that, and leave to read the npm packages for the outline's grammars (without it the line
 * scanner makes the maps; `deno info` names their folder); with `--model`, `--allow-env` for `ANTHROPIC_API_KEY`,
 * `ANTHROPIC_BASE_URL` and `ANTHROPIC_CUSTOM_HEADERS`, and `--allow-net` for the host. The first start downloads its packages, or
 * `deno cache --no-config jsr:@waymark/waymark/mcp` beforehand. Without `--no-config` Deno looks for them in the `node_modules` of
 * the project it is started in, where that has a `package.json`, and fails. Where the package is installed, Node and Bun run the
 * same file: `node node_modules/@waymark/waymark/src/mcp.js --root .`
 *
 * Tools: `read_file {path, offset?, limit?, fresh?}` and `summarize_file {path, action?, line?}`. Speaks the protocol on
 * standard input and output, and nothing else there; ends with its input, once what came in is answered, or by a signal.
 * `--root` is the outer bound, and a client that names folders narrows it to them. It reads every text file in its folders,
 * secrets too, which are never mapped or sent to a model: give it folders that the model may see. Nothing is searched, watched
 * or written but the maps, in `.summaries/` of each folder; no network and no key, unless `--model` names a model.
 *
 * Lines are given again however often they are asked for, unless `--references` asks otherwise: MCP has neither the messages
 * nor word of what has left them, and sub-agents share a connection, so that what it refers to may be gone. With the
 * flag a repeated read is answered by what is true all the same: the lines are unchanged since an earlier read, whoever's that
 * was. `fresh` gives them; so does the same call once more, where no other conversation makes it in between.
 *
 * @module
 */

import process from "node:process";
import { Command } from "commander";
import { type CommandIo, isBrokenPipe, processIo } from "./cli/command_io.ts";
import { isProgram, runCommand, toComplaint, toWhole, VERSION } from "./cli/program.ts";
import type { McpServerOptions } from "./mcp/options.ts";
import { serveMcp } from "./mcp/server.ts";
import { serveStdio } from "./mcp/stdio.ts";

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
nor that several conversations (its sub-agents, its windows) share the connection. The model then asks a second time, by the
same call, or with "fresh": true, which gives the lines whatever the others asked for meanwhile.

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
  const command = createCommand(), tell = (line: string): void => io.complain(toComplaint(line));
  try {
    const ended = await runCommand(command, argv, io);
    if (ended !== undefined) return ended;
    const options = await optionsOf(command.opts(), tell), { roots = [], references } = options;
    const where = roots.length ? roots.join(", ") : "the folders that the client names";
    const repeated = references ? "may be answered by one line" : "are given again";
    return await serveStdio(options, () => tell(`reading files in ${where}; repeated reads ${repeated}`)) ? 0 : 1;
  } catch (error) {
    if (isBrokenPipe(error)) return 0;
    io.complain(toComplaint(error));
    return 1;
  }
}

interface Flags {
  readonly root?: readonly string[];
  readonly model?: string;
  readonly maxLines?: number;
  readonly references?: true;
}

function createCommand(): Command {
  const add = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  return new Command("waymark-mcp")
    .description(
      "An MCP server that reads files: 200 lines and a map of the whole file in place of thousands of lines.",
    )
    .version(VERSION)
    .option(
      "--root <dir>",
      "a folder whose files may be read; may be given again (default: what the client names)",
      add,
    )
    .option("--model <name>", "a model of Anthropic makes the maps")
    .option("--max-lines <count>", "lines a read may return before it is shortened (default: 200)", toWhole)
    .option("--references", "lines that were given before come back as one line")
    .allowExcessArguments(false)
    .addHelpText("after", HELP);
}

async function optionsOf(
  { root = [], model, ...rest }: Flags,
  onNotice: (line: string) => void,
): Promise<McpServerOptions> {
  if (model === undefined) return { roots: root, ...rest, onNotice };
  const { anthropic } = await import("./providers/anthropic.ts");
  return { roots: root, model: anthropic({ model }), ...rest, onNotice };
}

// Whatever still waits for input would keep the process: all that matters is closed and written by then.
if (isProgram(import.meta)) void main(process.argv.slice(2)).then((code) => process.exit(code));
