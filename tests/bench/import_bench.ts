/**
 * What importing the root entry costs a program at its start, against an empty module: on Deno through the loopback
 * registry (cached and locked, as a user's second start), on Bun and Node from the packed tarball.
 *
 * `deno task bench import [<folder of std>]`: with a checkout of `denoland/std` the real `@std` is measured, else the
 * stand-ins, which are lighter. Starts are interleaved, at least 21 of each; medians and their ratio are printed.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "@std/path/posix/join";
import { graphOf, root } from "../modules.ts";
import { packTarballs, run, runtimeCommand } from "../publishing.ts";
import { startRegistry } from "../registry.ts";

const rounds = Math.max(21, Number(process.env["WAYMARK_BENCH_ROUNDS"] ?? 31));
const std = process.argv.slice(2).find((argument) => existsSync(join(argument, "path/deno.json")));

type Command = readonly [program: string, ...args: string[]];

function median(values: number[]): number {
  values.sort((one, other) => one - other);
  const middle = values.length >> 1;
  return values.length % 2 ? values[middle] ?? 0 : ((values[middle - 1] ?? 0) + (values[middle] ?? 0)) / 2;
}

/** Starts every command in turn, round after round, and prints the median of each beside the first. */
function compare(
  label: string,
  cwd: string,
  commands: Record<string, Command>,
  env: Record<string, string> = {},
): void {
  const times: Record<string, number[]> = {};
  const start = ([program, ...args]: Command) =>
    execFileSync(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] });
  for (const command of Object.values(commands)) for (let at = 0; at < 3; at++) start(command);
  for (let round = 0; round < rounds; round++) {
    for (const [name, command] of Object.entries(commands)) {
      const from = performance.now();
      start(command);
      (times[name] ??= []).push(performance.now() - from);
    }
  }
  const base = median(times[Object.keys(commands)[0] ?? ""] ?? []);
  console.log(`${label} (median of ${rounds} interleaved starts)`);
  for (const [name, values] of Object.entries(times)) {
    const middle = median(values);
    const extra = `+${(middle - base).toFixed(1)} ms`.padStart(10);
    console.log(`  ${name.padEnd(34)} ${middle.toFixed(1).padStart(7)} ms ${extra}  ${(middle / base).toFixed(3)}x`);
  }
}

function write(folder: string, files: Record<string, string>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function onDeno(folder: string): Promise<void> {
  const packages = std ? ["path", "internal", "crypto", "streams", "bytes"].map((name) => join(std, name)) : [
    join(root, "tests/standins/std_path"),
    join(root, "tests/standins/std_crypto"),
    join(root, "tests/standins/std_streams"),
  ];
  const registry = await startRegistry([root, ...packages]);
  const project = write(folder, {
    "deno.json": JSON.stringify({ imports: { "@waymark/waymark": "jsr:@waymark/waymark@^0.1.0" } }),
    "empty.ts": "export {};\n",
    "import.ts": 'import "@waymark/waymark";\n',
    "posix.ts": 'import "jsr:@std/path@1/posix/join";\n',
  });
  const env = { JSR_URL: registry.url, DENO_DIR: join(folder, "cache"), DENO_NO_UPDATE_CHECK: "1" };
  for (const file of ["empty.ts", "import.ts", "posix.ts"]) {
    const warm = await run(process.execPath, ["run", "-A", file], { cwd: project, env });
    if (warm.code !== 0) throw new Error(`Cannot import on Deno: ${warm.stderr}`);
  }
  await registry.close();
  const deno = (file: string): Command => [process.execPath, "run", "-A", file];
  compare(
    `Deno ${Deno.version.deno}, ${std ? "real @std" : "stand-ins for @std: the real ones cost more"}`,
    project,
    {
      "empty module": deno("empty.ts"),
      "@std/path/posix/join alone": deno("posix.ts"),
      "@waymark/waymark": deno("import.ts"),
    },
    env,
  );
}

async function onOthers(folder: string): Promise<void> {
  const tarballs = await packTarballs(join(folder, "tarballs"));
  const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]));
  const project = write(join(folder, "project"), {
    "package.json": JSON.stringify({ private: true, type: "module", dependencies, overrides: dependencies }),
    "empty.mjs": "export {};\n",
    "import.mjs": 'import "@waymark/waymark";\n',
  });
  const installed = await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: project });
  if (installed.code !== 0) throw new Error(`Cannot install the tarball: ${installed.stderr}`);
  for (const name of ["bun", "node"] as const) {
    const [starter, ...args] = runtimeCommand(name);
    const where = await run(starter, [...args, "-p", "process.execPath"], { cwd: project });
    const program = where.stdout.trim();
    const version = (await run(program, ["--version"], { cwd: project })).stdout.trim();
    compare(`${name} ${version}, the packed tarball`, project, {
      "empty module": [program, "empty.mjs"],
      "@waymark/waymark": [program, "import.mjs"],
    });
  }
}

const { files } = graphOf("mod.ts");
const bytes = [...files].reduce((sum, file) => sum + readFileSync(join(root, file)).length, 0);
console.log(`mod.ts reaches ${files.size} files, ${bytes} bytes`);
const folder = mkdtempSync(`${tmpdir()}/waymark-`);
try {
  await onDeno(join(folder, "deno"));
  await onOthers(join(folder, "npm"));
} finally {
  rmSync(folder, { recursive: true });
}
