/**
 * The settings that make Claude Code run the hook, to paste into `.claude/settings.json`.
 *
 * @module
 */

import { toDiskPath } from "../paths.ts";

/** What runs the hook. */
export type Runtime = "deno" | "bun" | "node";

/**
 * Where the hook is: for the runtime at hand where it is now, which for Deno may be an address with its version; for another one
 * where it is put by `deno run`, or by `npx jsr add` and `bunx jsr add` in the folder.
 */
export function programOf(
  url: string,
  { runtime, isOther, folder = "." }: { runtime: Runtime; isOther: boolean; folder: string | undefined },
): string {
  const [, version] = /@waymark\/waymark\/(\d[^/]*)\//.exec(url) ?? [];
  const address = `jsr:@waymark/waymark${version === undefined ? "" : `@${version}`}/hook`;
  if (isOther) return runtime === "deno" ? address : `${folder}/node_modules/@waymark/waymark/src/hook.js`;
  return (url.startsWith("file:") ? toDiskPath(url) : undefined) ?? address;
}

/** What the command line of the hook is made of. */
export interface CommandFacts {
  /** Where the program is: an address, or a path. */
  readonly program: string;
  /** What runs it. */
  readonly runtime: Runtime;
  /** The folder the settings are made in. Default: unknown. */
  readonly folder?: string | undefined;
  /** A model of Anthropic makes the maps. */
  readonly model?: string | undefined;
  /** Other options, as they were given. */
  readonly options: readonly string[];
  /** How long the hook waits at most, milliseconds. */
  readonly deadlineMs: number;
}

/** The project as Claude Code names it to its hooks. */
const PROJECT = "$CLAUDE_PROJECT_DIR";

/** How much longer than the hook itself Claude Code waits for it, seconds. */
const GRACE_S = 10;

/** Bun would run what a project's `bunfig.toml` names, and take variables from its `.env`: the host that keys are sent to among them. */
const STARTS = { bun: "bun --no-env-file --config=/dev/null", node: "node" } as const;

/** The command that runs the hook. On Deno with the permissions it needs and no other. */
export function commandOf({ program, runtime, folder, model, options }: CommandFacts): string {
  const isInside = folder !== undefined && program.startsWith(`${folder.replaceAll("\\", "/")}/`);
  const path = isInside ? `${PROJECT}${program.slice(folder.length)}` : program;
  const rest = ["--root", quote(PROJECT), ...options.map(quote)];
  if (runtime !== "deno") return [STARTS[runtime], quote(path), ...rest].join(" ");
  const variables = [
    "HOME",
    ...model === undefined ? [] : ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"],
  ];
  return [
    "deno run --quiet --no-prompt --no-config --allow-read",
    `--allow-write=${quote(`${PROJECT}/.summaries`)}`,
    `--allow-env=${variables} --allow-sys=uid`,
    ...model === undefined ? [] : ["--allow-net=api.anthropic.com"],
    quote(path),
    ...rest,
  ].join(" ");
}

/** The settings, as JSON. */
export function settingsOf(facts: CommandFacts): string {
  const hook = { type: "command", command: commandOf(facts), timeout: Math.ceil(facts.deadlineMs / 1000) + GRACE_S };
  const forReads = [{ matcher: "Read", hooks: [hook] }], forAll = [{ hooks: [hook] }];
  const hooks = {
    PreToolUse: forReads,
    PostToolUse: forReads,
    PostToolUseFailure: forReads,
    PreCompact: forAll,
    SessionEnd: forAll,
  };
  return `${JSON.stringify({ hooks }, null, 2)}\n`;
}

/** A word of a shell's, in which a variable is still one. */
function quote(word: string): string {
  return /^[\w@%+=:,./^~-]+$/.test(word) ? word : `"${word.replace(/["\\`]|\$(?!CLAUDE_PROJECT_DIR\b)/g, "\\$&")}"`;
}
