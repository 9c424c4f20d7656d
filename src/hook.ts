/**
 * A hook that guards the reads of Claude Code, for anybody, with no code: `settings` prints what belongs into
 * `.claude/settings.json`.
 *
 * ```sh
 * deno run --no-lock --allow-read jsr:@waymark/waymark/hook settings
 * npx jsr add @waymark/waymark && node node_modules/@waymark/waymark/src/hook.js settings
 * bunx jsr add @waymark/waymark && bun node_modules/@waymark/waymark/src/hook.js settings
 * ```
 *
 * One process runs before a `Read` and another after it. It reads the event on standard input and answers on standard output.
 *
 * Promised: exit code 0 whatever happens, and never a decision about permissions, so that no read is ever blocked; nothing on
 * standard error but with `--verbose`; no map is made for longer than 10 seconds, or 60 where a model makes it, and 5 seconds
 * later all is over. A read that is not too long starts nothing and writes nothing. Claude Code runs hooks before it asks a person
 * for leave: until a read is made, its file is looked at here and nowhere else. No model is asked but with `--model`, then only of
 * files of the project, and only after Claude Code has read them; so a file in which a parser finds nothing to name is not
 * shortened, whoever makes the maps.
 *
 * What is kept lies in the project, in `.summaries/`, which git does not see: maps, and for a week the middle of notes that are too
 * long for Claude Code to hand on. Nothing is shortened where that folder cannot be written, nor in the home directory itself.
 * Absent: references to lines shown before, since no process sees the conversation.
 *
 * @module
 */

import { oneLine } from "./errors.ts";
import type { HookSetup } from "./hook/answer.ts";
import type { Runtime } from "./hook/settings.ts";
import { exit, exitOnFault, type HookIo, isProgram, keepQuiet, processIo, programArguments } from "./hook/process.ts";

export type { HookIo };

/** What the arguments say. */
interface Arguments extends Omit<HookSetup, "signal" | "tell" | "timeoutMs"> {
  readonly verbose: boolean;
  readonly deadlineMs: number;
  readonly runtime: Runtime | undefined;
  readonly isSettings: boolean;
}

const HELP = `Usage: hook [options] < event.json
       hook settings [options] [--for deno|bun|node]

  --root <dir>         the project's root (default: the nearest one above the folder of the event)
  --max-lines <count>  lines a Read may return before it is shortened (default: 200)
  --outline            tree-sitter makes the maps (default: a line scanner)
  --model <name>       a model of Anthropic makes the maps of what was read, with ANTHROPIC_API_KEY (default: none)
  --timeout <seconds>  how long it may take (default: 10, and 60 with a model)
  --verbose            say on standard error what went wrong
`;

/**
 * Runs the hook once: always 0.
 *
 * @example
 * ```ts
 * import { main } from "@waymark/waymark/hook";
 * import { assertEquals } from "@std/assert";
 *
 * let output = "";
 * const io = { read: () => Promise.resolve("no JSON at all"), write: (text: string) => void (output += text), complain() {} };
 * assertEquals([await main([], io), output], [0, ""]);
 * ```
 */
export async function main(argv: readonly string[], io: HookIo = processIo()): Promise<number> {
  const { verbose, runtime, isSettings, deadlineMs, ...setup } = readArguments(argv);
  const tell = (words: string): void => {
    if (verbose) io.complain(`waymark: ${oneLine(words)}`);
  };
  try {
    if (argv.includes("--help")) await io.write(HELP);
    else if (isSettings) await io.write(await printSettings(argv, { ...setup, runtime, deadlineMs }));
    else {
      const signal = AbortSignal.timeout(deadlineMs), end = AbortSignal.timeout(deadlineMs + LATE_MS);
      await Promise.race([ended(end), answerEvent(io, { ...setup, signal, tell, timeoutMs: deadlineMs * 0.9 })]);
    }
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  }
  return 0;
}

/** How long what is late may still say that a read was cut. Claude Code waits twice as much longer. */
const LATE_MS = 5000;

async function answerEvent(io: HookIo, setup: HookSetup): Promise<void> {
  const text = await Promise.race([io.read(), ended(setup.signal)]);
  if (text === undefined) return;
  const event: unknown = JSON.parse(text);
  if (typeof event !== "object" || event === null) return;
  const { answer } = await import("./hook/answer.ts"), output = await answer(event, setup);
  if (output) await io.write(JSON.stringify(output));
}

async function printSettings(
  argv: readonly string[],
  facts: Pick<Arguments, "model" | "runtime"> & { readonly deadlineMs: number },
): Promise<string> {
  const [{ programOf, settingsOf }, { disk }] = await Promise.all([import("./hook/settings.ts"), import("./files.ts")]);
  const here = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node", runtime = facts.runtime ?? here;
  const folder = disk().cwd(), program = programOf(import.meta.url, { runtime, isOther: runtime !== here, folder });
  const options = argv.filter((word, at) =>
    word !== "settings" && ![word, argv[at - 1]].some((name) => name === "--for" || name === "--root")
  );
  return settingsOf({ ...facts, runtime, program, folder, options });
}

/** What is not to be understood is left out: a hook that complains about its arguments would be no hook. */
function readArguments(argv: readonly string[]): Arguments {
  const value = (name: string): string | undefined => {
    const at = argv.indexOf(name);
    return at >= 0 ? argv[at + 1] : undefined;
  };
  const count = (name: string): number | undefined => {
    const number = Number(value(name));
    return Number.isSafeInteger(number) && number >= 1 ? number : undefined;
  };
  const runtimes: readonly Runtime[] = ["deno", "bun", "node"], model = value("--model") || undefined;
  return {
    root: value("--root") || undefined,
    maxLines: count("--max-lines"),
    model,
    deadlineMs: 1000 * (count("--timeout") ?? (model === undefined ? 10 : 60)),
    outline: argv.includes("--outline"),
    verbose: argv.includes("--verbose"),
    runtime: runtimes.find((runtime) => runtime === value("--for")),
    isSettings: argv[0] === "settings",
  };
}

/** Resolves when the time is over, and never before. */
function ended(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}

if (isProgram(import.meta)) {
  exitOnFault();
  if (!programArguments().includes("--verbose")) keepQuiet();
  void main(programArguments()).then(exit);
}
