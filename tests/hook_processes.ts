/**
 * The hook for Claude Code as a process: events as Claude Code writes them, and what the hook did with them.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { programCommand } from "./programs.ts";
import { code, inFolder, put } from "./support.ts";

/** What a process of the hook did. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The answer; `undefined` where it gave none. */
  readonly answer: { hookSpecificOutput: Record<string, unknown> } | undefined;
}

/** Runs the hook as its own process. An input that is `null` is never ended. */
export async function hook(
  input: unknown,
  args: readonly string[] = [],
  { env = {}, command = programCommand("src/hook.ts") }: {
    env?: Record<string, string>;
    command?: readonly string[];
  } = {},
): Promise<Ran> {
  const [program, ...before] = command;
  const child = spawn(program!, [...before, ...args], { env: { ...process.env, ...env } });
  let stdout = "", stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
  child.stdin.on("error", () => {});
  if (input !== null) child.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  child.stdin.destroy();
  // What Deno says of a checkout's folder of packages when several begin at once; a user's has none.
  stderr = stderr.replace(/^Blocking waiting for file lock .*\n/gm, "");
  return { code, stdout, stderr, answer: stdout === "" ? undefined : JSON.parse(stdout) };
}

/** An event about a read, as Claude Code writes it. */
export function event(name: string, root: string, rest: Record<string, unknown>): Record<string, unknown> {
  return {
    session_id: "5a0e1f38-44c2-4582-86ba-f31055567972",
    transcript_path: "/nowhere/transcript.jsonl",
    cwd: root,
    permission_mode: "default",
    effort: { level: "medium" },
    hook_event_name: name,
    tool_name: "Read",
    tool_use_id: "toolu_1",
    ...rest,
  };
}

export interface ReadArguments {
  file_path: string;
  offset?: number;
  limit?: number;
}

export const before = (root: string, tool_input: ReadArguments, rest = {}) =>
  event("PreToolUse", root, { tool_input, ...rest });

/** What the tool gave of a file, as Claude Code has it. */
export function after(root: string, tool_input: ReadArguments, rest = {}): Record<string, unknown> {
  const { file_path, offset = 1, limit = Infinity } = tool_input;
  const lines = readFileSync(file_path, "utf8").split("\n"), shown = lines.slice(offset - 1, offset - 1 + limit);
  const file = {
    filePath: file_path,
    content: shown.join("\n"),
    numLines: shown.length,
    startLine: offset,
    totalLines: lines.length,
  };
  return event("PostToolUse", root, { tool_input, tool_response: { type: "text", file }, duration_ms: 3, ...rest });
}

/** A project with a long file and a short one. */
export async function inProject(
  run: (project: { root: string; long: string; short: string }) => Promise<void>,
): Promise<void> {
  await inFolder(async (root) => {
    put(root, "package.json", "{}");
    await run({ root, long: put(root, "long.ts", `${code(390)}\n`), short: put(root, "short.ts", `${code(150)}\n`) });
  });
}

/** The input the hook changed a call to. */
export function changed({ answer }: Ran): ReadArguments | undefined {
  return answer?.hookSpecificOutput["updatedInput"] as ReadArguments | undefined;
}

/** What the hook has to say. */
export function said({ answer }: Ran): string | undefined {
  return answer?.hookSpecificOutput["additionalContext"] as string | undefined;
}

/** What lies in the hook's folder. */
export function left(root: string): string[] {
  return existsSync(join(root, ".summaries/hook")) ? readdirSync(join(root, ".summaries/hook")) : [];
}

/** A whole read: what the process before it and the one after it did. */
export async function read(
  root: string,
  args: ReadArguments,
  rest = {},
  flags: readonly string[] = [],
): Promise<[Ran, Ran]> {
  const first = await hook(before(root, args, rest), flags);
  return [first, await hook(after(root, changed(first) ?? args, rest), flags)];
}
