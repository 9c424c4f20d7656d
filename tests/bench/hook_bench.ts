/**
 * What the hook for Claude Code costs a read: whole processes, the event on standard input, beside an empty program.
 *
 * `deno task bench hook`. On Deno through the loopback registry (cached, as a user's second start), on Bun and Node from the
 * packed tarball. Starts are interleaved, at least 21 of each; medians are printed.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "@std/path/posix/join";
import { root } from "../modules.ts";
import { packTarballs, run, runtimeCommand } from "../publishing.ts";
import { startRegistry } from "../registry.ts";
import { code, put } from "../support.ts";
import { median } from "./measure.ts";

const rounds = Math.max(21, Number(process.env["WAYMARK_BENCH_ROUNDS"] ?? 31));

/** A program, and what stands on its standard input. */
interface Start {
  readonly command: readonly string[];
  readonly input: string;
}

/** Starts each in turn, round after round, and prints the medians, and what each costs over the first one. */
function compare(label: string, cwd: string, starts: Record<string, Start>, env: Record<string, string> = {}): void {
  const times: Record<string, number[]> = {};
  for (let round = -3; round < rounds; round++) {
    for (const [name, { command: [program, ...args], input }] of Object.entries(starts)) {
      const from = performance.now();
      const { status, stderr } = spawnSync(program!, args, {
        cwd,
        input,
        encoding: "utf8",
        env: { ...process.env, ...env },
      });
      if (status !== 0 || stderr) throw new Error(`${name}: ${stderr}`);
      if (round >= 0) (times[name] ??= []).push(performance.now() - from);
    }
  }
  const base = median(times[Object.keys(starts)[0]!]!);
  console.log(
    `${label} (median of ${rounds} interleaved starts; bar for a read that is not touched: <= 60 ms on Deno)`,
  );
  for (const [name, values] of Object.entries(times)) {
    const middle = median(values), extra = `+${(middle - base).toFixed(1)} ms`.padStart(10);
    console.log(`  ${name.padEnd(44)} ${middle.toFixed(1).padStart(7)} ms ${extra}  ${(middle / base).toFixed(2)}x`);
  }
}

/** The hook's starts, for what happens before and after reads in a project. */
function startsOf(project: string, empty: readonly string[], hook: readonly string[]): Record<string, Start> {
  const short = put(project, "short.ts", code(150)), long = put(project, "long.ts", code(900));
  const event = (hook_event_name: string, tool_input: { file_path: string; limit?: number }, rest = {}): string =>
    JSON.stringify({
      hook_event_name,
      session_id: "s",
      cwd: project,
      tool_name: "Read",
      tool_use_id: "t",
      tool_input,
      ...rest,
    });
  const response = (content: string) => ({ tool_response: { type: "text", file: { filePath: long, content } } });
  const before = (tool_input: { file_path: string; limit?: number }): Start => ({
    command: hook,
    input: event("PreToolUse", tool_input),
  });
  const after = event("PostToolUse", { file_path: short }, response(code(150)));
  const shown = event("PostToolUse", { file_path: long, limit: 200 }, response(code(900).split("\n", 200).join("\n")));
  return {
    "empty program": { command: empty, input: "" },
    "before a read of a short file": before({ file_path: short }),
    "before a short read of a long file": before({ file_path: long, limit: 200 }),
    "after a read that was not touched": { command: hook, input: after },
    "before a long read, its map kept": before({ file_path: long }),
    "after a long read": { command: hook, input: shown },
  };
}

async function onDeno(folder: string): Promise<void> {
  const packages = ["path", "crypto", "streams"].map((name) => join(root, `tests/standins/std_${name}`));
  const registry = await startRegistry([root, ...packages]), project = join(folder, "project");
  put(project, "package.json", "{}");
  put(folder, "empty.ts", "export {};\n");
  const env = { JSR_URL: registry.url, DENO_DIR: join(folder, "cache"), DENO_NO_UPDATE_CHECK: "1" };
  const deno = [process.execPath, "run", "--no-prompt", "--no-config"];
  const hook = [
    ...deno,
    "--allow-read",
    `--allow-write=${project}/.summaries`,
    "--allow-env=HOME",
    "--allow-sys=uid",
    "jsr:@waymark/waymark/hook",
    "--root",
    project,
  ];
  const warm = await run(hook[0]!, hook.slice(1), { cwd: project, env });
  if (warm.code !== 0) throw new Error(`Cannot start the hook on Deno: ${warm.stderr}`);
  await registry.close();
  compare(`Deno ${Deno.version.deno}`, project, startsOf(project, [...deno, join(folder, "empty.ts")], hook), env);
}

async function onOthers(folder: string): Promise<void> {
  const tarballs = await packTarballs(join(folder, "tarballs")), project = join(folder, "project");
  const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]));
  put(
    project,
    "package.json",
    JSON.stringify({ private: true, type: "module", dependencies, overrides: dependencies }),
  );
  put(project, "empty.mjs", "export {};\n");
  const installed = await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: project });
  if (installed.code !== 0) throw new Error(`Cannot install the tarball: ${installed.stderr}`);
  for (const name of ["bun", "node"] as const) {
    const [starter, ...args] = runtimeCommand(name);
    const where = await run(starter, [...args, "-p", "process.execPath"], { cwd: project }),
      program = where.stdout.trim();
    const version = (await run(program, ["--version"], { cwd: project })).stdout.trim();
    const hook = [program, join(project, "node_modules/@waymark/waymark/src/hook.js"), "--root", project];
    compare(`${name} ${version}, the packed tarball`, project, startsOf(project, [program, "empty.mjs"], hook));
  }
}

const folder = realpathSync(mkdtempSync(`${tmpdir()}/waymark-`));
try {
  await onDeno(join(folder, "deno"));
  await onOthers(join(folder, "npm"));
} finally {
  rmSync(folder, { recursive: true });
}
