/**
 * The command line as its users start it: from a registry on Deno, and from an installed package on Node and Bun.
 *
 * @module
 */

import { after, before, describe, it } from "node:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/posix/join";
import { root } from "./modules.ts";
import { packTarballs, type Ran, run, runtimeCommand } from "./publishing.ts";
import { startRegistry } from "./registry.ts";
import { code } from "./support.ts";

const skip = "Deno" in globalThis ? false : "started on Deno, for all three runtimes";

/** A project with a long file, where a map by tree-sitter is printed, then found again. */
async function check(project: string, start: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const waymark = (...args: string[]): Promise<Ran> => {
    const [program = "", ...rest] = [...start, ...args];
    return run(program, rest, { cwd: project, env: { ANTHROPIC_API_KEY: "", ...env } });
  };
  const read = await waymark("read", "functions.ts");
  assertEquals(read.code, 0, read.stderr);
  assertMatch(read.stdout, /PARTIAL, lines 1-200 of 300/);
  const map = await waymark("map", "functions.ts", "--json");
  const { hit, maker, lines } = JSON.parse(map.stdout);
  assertEquals({ hit, maker, lines }, { hit: true, maker: "outline", lines: 300 });
  assertEquals((await waymark("read")).code, 2);
}

function prepare(folder: string, manifest: Record<string, unknown>): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "functions.ts"), code(300));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", ...manifest }));
  return folder;
}

describe("the installed command line", { skip }, () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(`${tmpdir()}/waymark-`);
  });
  after(() => rmSync(folder, { recursive: true }));

  it("runs as jsr:@waymark/waymark/cli on Deno", async () => {
    const standins = ["db_sqlite", "std_crypto", "std_path", "std_streams"].map((name) =>
      join(root, "tests/standins", name)
    );
    const registry = await startRegistry([root, ...standins]);
    try {
      const cache = join(folder, "deno"), project = prepare(join(folder, "on-deno"), {});
      rmSync(join(project, "package.json"));
      writeFileSync(join(project, "deno.json"), "{}");
      mkdirSync(cache);
      const { stdout } = await run(process.execPath, ["info", "--json"], { cwd: folder });
      const npm = join(JSON.parse(stdout).denoDir ?? "", "npm");
      if (existsSync(npm)) symlinkSync(npm, join(cache, "npm"));
      const start = [process.execPath, "run", "-A", "--no-lock", "jsr:@waymark/waymark@^0.1.0/cli"];
      await check(project, start, { JSR_URL: registry.url, DENO_DIR: cache });
    } finally {
      await registry.close();
    }
  });

  it("runs from node_modules on Node and on Bun", async () => {
    const tarballs = await packTarballs(join(folder, "tarballs"));
    const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]));
    const project = prepare(join(folder, "on-node"), { dependencies, overrides: dependencies });
    const installed = await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: project });
    assertEquals(installed.code, 0, installed.stderr);
    for (const runtime of ["node", "bun"] as const) {
      rmSync(join(project, ".summaries"), { recursive: true, force: true });
      await check(project, [...runtimeCommand(runtime), "node_modules/@waymark/waymark/src/cli.js"]);
    }
  });
});
