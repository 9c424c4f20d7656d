/**
 * Publishing without a registry, for tests and for the gate: a copy of the package as publishing sees it, and what to run
 * on it.
 *
 * The publish check refuses linked modules that lie inside the package but are not published, so it runs on a copy whose
 * links lead out of it; packing writes import-map names that Node cannot resolve, so it runs on a copy that names packages
 * in full.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "@std/path/posix/dirname";
import { join } from "@std/path/posix/join";
import { packageConfig, publishedFile, publishedFiles } from "./registry.ts";
import { root } from "./modules.ts";

/** What a program said. */
export interface Ran {
  /** Its exit code; -1 where it could not be started or was killed. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error, without colours. */
  readonly stderr: string;
}

/** How a program is run. */
export interface RunOptions {
  /** Its working directory. */
  readonly cwd: string;
  /** Added to the environment. */
  readonly env?: Record<string, string>;
  /** Anti-hang limit in milliseconds. Default: 300,000. */
  readonly timeoutMs?: number;
}

/** Runs a program to its end, without standard input. */
export function run(program: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, NO_COLOR: "1", RUST_BACKTRACE: "0", ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.timeoutMs ?? 300_000,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => stdout += text);
    child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
    child.on("error", (error) => done({ code: -1, stdout, stderr: stderr + error.message }));
    child.on("close", (code) => done({ code: code ?? -1, stdout, stderr }));
  });
}

/** Copies what the package publishes into a folder, with its names unfurled if wanted and links to the stand-ins here. */
export function copyPackage(to: string, { unfurled = false } = {}): void {
  const { imports = {} } = packageConfig(root);
  for (const file of publishedFiles(root)) {
    mkdirSync(join(to, dirname(file)), { recursive: true });
    const bytes = unfurled ? publishedFile(root, file, imports) : readFileSync(join(root, file));
    writeFileSync(join(to, file), bytes);
  }
  const offline = JSON.parse(readFileSync(join(root, "deno.offline.json"), "utf8"));
  const links = offline.links.map((link: string) => join(root, link));
  const config = { ...offline, links, nodeModulesDir: "none", tasks: {} };
  writeFileSync(join(to, "deno.json"), JSON.stringify(config, null, 2));
}

/** The version of a runtime that the tasks use, as in `bun@1.4.5`. */
export function runtimeVersion(name: "bun" | "node"): string {
  const { tasks } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8"));
  return new RegExp(`\\b${name}@([\\d.]+)`).exec(tasks[`test:${name}`])?.[1] ?? "latest";
}

/** How to start a runtime: the gate's own copy where there is one, else from npm. */
export function runtimeCommand(name: "bun" | "node"): [program: string, ...args: string[]] {
  const spec = `${name}@${runtimeVersion(name)}`;
  const local = join(root, `.cache/${spec.replace("@", "-")}/node_modules/.bin/${name}`);
  return existsSync(local) ? [local] : ["npx", "-y", spec];
}

/**
 * Packs this package and the stand-ins it depends on as npm tarballs, under the names that JSR's bridge to npm gives them.
 * Returns the tarballs by name. For Deno only: packing is its command.
 */
export async function packTarballs(folder: string): Promise<Record<string, string>> {
  const tarballs: Record<string, string> = {};
  const pack = async (source: string, name: string, as: string) => {
    const file = `${as.replace("@", "").replace("/", "-")}.tgz`;
    const result = await run(process.execPath, ["pack", "--allow-dirty", "--output", file], { cwd: source });
    if (result.code !== 0) throw new Error(`Cannot pack ${name}: ${result.stderr}`);
    tarballs[as] = join(source, file);
  };
  const offline = JSON.parse(readFileSync(join(root, "deno.offline.json"), "utf8"));
  for (const link of offline.links) {
    const { name } = packageConfig(join(root, link));
    const as = `@jsr/${name.slice(1).replace("/", "__")}`;
    const copy = join(folder, "standins", name);
    cpSync(join(root, link), copy, { recursive: true });
    const config = JSON.parse(readFileSync(join(copy, "deno.json"), "utf8"));
    writeFileSync(join(copy, "deno.json"), JSON.stringify({ ...config, name: as, license: "MIT" }));
    await pack(copy, name, as);
  }
  const copy = join(folder, "package");
  copyPackage(copy, { unfurled: true });
  await pack(copy, "@waymark/waymark", "@waymark/waymark");
  return tarballs;
}
