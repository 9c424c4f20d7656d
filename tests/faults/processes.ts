/**
 * Starts programs of this project in processes of their own, on every runtime that is at hand, for tests in which
 * processes meet or die.
 *
 * @module
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter } from "node:path";
import process from "node:process";
import { root } from "../modules.ts";
import { denoConfig } from "../programs.ts";

/** A runtime and how it runs one of our files. */
export interface Runtime {
  readonly name: "deno" | "bun" | "node";
  readonly command: string;
  readonly args: readonly string[];
}

/** A running program. */
export interface Program {
  readonly runtime: string;
  readonly pid: number;
  /** Resolves with the next line it prints; rejects when it ends without. */
  line(): Promise<string>;
  /** Resolves with what it printed last, as JSON; rejects when it failed. */
  result<Result>(): Promise<Result>;
  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

/** The runtime this test runs on, then the others at hand that are new enough. */
export const runtimes: readonly Runtime[] = findRuntimes();

/** One runtime after another, over and over. */
export function runtimeAt(index: number): Runtime {
  return runtimes[index % runtimes.length]!;
}

/** A program that is not done by then is killed, so that a hang is a failure. */
const PATIENCE_MS = 60_000;

/** Runs a file of the project. `input` reaches it as JSON in its last argument. */
export function start(
  runtime: Runtime,
  file: string,
  input: unknown,
  { args = runtime.args, env = {} }: { args?: readonly string[]; env?: Record<string, string> } = {},
): Program {
  const child: ChildProcess = spawn(runtime.command, [...args, `${root}${file}`, JSON.stringify(input)], {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [], waiting: ((line: string | undefined) => void)[] = [];
  let rest = "", said = "", code: number | null | undefined, last = "";
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    for (const line of parts) {
      last = line;
      const next = waiting.shift();
      if (next) next(line);
      else lines.push(line);
    }
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => said += text);
  const patience = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const ended = new Promise<void>((resolve) =>
    child.on("close", (status) => {
      clearTimeout(patience);
      code = status;
      for (const next of waiting.splice(0)) next(undefined);
      resolve();
    })
  );
  const failure = (): Error => new Error(`${runtime.name} ended with ${code}: ${said}`);
  return {
    runtime: runtime.name,
    pid: child.pid!,
    ended,
    async line() {
      if (lines.length) return lines.shift()!;
      const line = code === undefined
        ? await new Promise<string | undefined>((resolve) => waiting.push(resolve))
        : undefined;
      if (line === undefined) throw failure();
      return line;
    },
    async result<Result>() {
      await ended;
      if (code !== 0) throw failure();
      return JSON.parse(last) as Result;
    },
    signal: (name) => void process.kill(child.pid!, name), // a child's own `kill` works once only on Deno
  };
}

/** Runs a file to its end; what it printed last. */
export async function runProgram<Result>(...parameters: Parameters<typeof start>): Promise<Result> {
  return await start(...parameters).result<Result>();
}

function findRuntimes(): Runtime[] {
  const own = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";
  const names = [own, ...(["deno", "bun", "node"] as const).filter((name) => name !== own)] as const;
  return names.flatMap((name) => {
    for (const place of name === own ? [process.execPath] : candidates(name)) {
      const runtime = examine(name, place);
      if (runtime) return [runtime];
    }
    return [];
  });
}

/** Where the gate puts runtimes, then the path. */
function candidates(name: string): string[] {
  const cache = `${root}.cache`;
  const kept = existsSync(cache)
    ? readdirSync(cache).filter((folder) => folder.startsWith(`${name}-`)).sort().reverse()
    : [];
  const folders = [
    ...kept.map((folder) => `${cache}/${folder}/node_modules/.bin`),
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders.map((folder) => `${folder}/${name}`).filter((path) => existsSync(path));
}

/** A runtime at a place; `undefined` where it is too old for `node:sqlite`. */
function examine(name: "deno" | "bun" | "node", place: string): Runtime | undefined {
  const ask = name === "deno"
    ? ["eval", "--no-config", "console.log(Deno.version.deno, Deno.execPath())"]
    : ["-e", "console.log(process.versions.bun ?? process.versions.node, process.execPath)"];
  let command: string, version: string;
  try {
    const answer = execFileSync(place, ask, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, NO_COLOR: "1" },
    });
    // Its own word for where it is: what npm puts on the path may be a program that starts the real one, and dies alone.
    [version = "", command = ""] = answer.trim().split(" ") as [string?, string?];
  } catch {
    return undefined;
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const since = (wanted: number, minorWanted: number) => major > wanted || major === wanted && minor >= minorWanted;
  const hooks = ["--disable-warning=ExperimentalWarning", "--import", `${root}tests/node_hooks.mjs`];
  if (name === "deno") {
    return since(2, 3)
      ? { name, command, args: ["run", "-A", "--no-check", "--config", denoConfig(version)] }
      : undefined;
  }
  if (name === "bun") return since(1, 4) ? { name, command, args: ["run"] } : undefined;
  if (!since(22, 13)) return undefined;
  return { name, command, args: since(23, 6) ? hooks : ["--experimental-strip-types", ...hooks] };
}
