/** What many tests share: folders that go away, files with known lines, and a plain read tool. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { hashNow, sha256 } from "../src/files.ts";

/** Runs an action in a fresh folder that is removed afterwards. */
export async function inFolder<Value>(action: (folder: string) => Promise<Value> | Value): Promise<Value> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "waymark-")));
  try {
    return await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes a file in a folder, with the folders above it; its path. */
export function put(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** So many lines of code, line n declaring `f<n>`; without a final newline. */
export function code(lines: number): string {
  return Array.from(
    { length: lines },
    (_, index) => `export function f${index + 1}(a: number) { return a + ${index + 1}; }`,
  ).join("\n");
}

/** What the plain read tool takes. */
export interface PlainArguments {
  path: string;
  offset?: number | string | null | undefined;
  limit?: number | string | null | undefined;
}

/** A plain read tool as hosts have them: raw text, 1-based, no limit of its own. Its calls are kept. */
export function plainTool(
  folder: string,
): { read: (args: PlainArguments, info?: unknown) => string; calls: PlainArguments[] } {
  const calls: PlainArguments[] = [];
  return {
    calls,
    read(args) {
      calls.push(args);
      const text = readFileSync(resolve(folder, args.path), "utf8");
      const offset = Number(args.offset ?? 1), limit = Number(args.limit ?? Infinity);
      if (offset === 1 && limit === Infinity) return text;
      return text.split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
    },
  };
}

/** Runs git in a folder, as nobody in particular and with no settings of the machine's; what it printed. */
export function git(cwd: string, ...args: string[]): string {
  return execFileSync(
    "git",
    ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", ...args],
    {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    },
  );
}

/** Waits for something to become true. */
export async function until(isSo: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error("it never came to be so");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Resolves when files are hashed at once: what does it is loaded beside the fourth hash, however long that takes. */
export async function hashingAtOnce(): Promise<void> {
  for (let at = 0; at < 4; at++) await sha256(new Uint8Array(at));
  for (let tries = 0; !hashNow && tries < 3000; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
}
