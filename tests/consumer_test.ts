/**
 * The package as its users get it: `jsr:@waymark/waymark` from a registry on Deno, and a packed tarball on Node and Bun.
 * Real installs in fresh folders, a real file guarded in each. Deno starts them all, since it alone packs.
 *
 * @module
 */

import { after, before, describe, it } from "node:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/posix/join";
import { type Registry, startRegistry } from "./registry.ts";
import { packTarballs, type Ran, run, runtimeCommand } from "./publishing.ts";
import { root } from "./modules.ts";

const skip = "Deno" in globalThis ? false : "started on Deno, for all three runtimes";

/** Guards a read of a 400-line file twice, in the folder it is run in, and says what came of it. */
const guardRead = (specifier: string) => `
import { readFile } from "node:fs/promises";
import { createWaymark } from "${specifier}";

const waymark = createWaymark({ root: ".", onNotice: (notice) => console.error(notice.message) });
const read = waymark.wrap(async function read({ path, offset = 1, limit }) {
  const lines = (await readFile(path, "utf8")).split("\\n");
  return { content: lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit).join("\\n") };
});
const { content, annotation } = await read({ path: "functions.ts" });
const short = await read({ path: "functions.ts", offset: 5, limit: 2 });
const { hits, misses, summaries, modelCalls, caps } = waymark.stats();
console.log(JSON.stringify({
  lines: content.split("\\n").length,
  kind: annotation?.kind,
  mapped: annotation?.text.includes("f399"),
  short,
  hits, misses, summaries, modelCalls, caps,
}));
await waymark.close();
`;

/** Asks an MCP server, started by a command line, for a 400-line file, and says what came of it. */
const askServer = `
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "consumer", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore", env: process.env }));
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: "read_file", arguments: { path: "functions.ts" } });
const shown = content.map(({ text }) => text).join("\\n").includes("PARTIAL, lines 1-200 of 400");
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), shown }));
await client.close();
`;

/** What the server has to say. */
const served = { tools: ["read_file", "summarize_file"], shown: true };

/** What the first read of a file and the next process have to say. */
const first = {
  lines: 200,
  kind: "map",
  mapped: true,
  short: { content: "export function f5() {}\nexport function f6() {}" },
  hits: 0,
  misses: 1,
  summaries: 1,
  modelCalls: 0,
  caps: 1,
};
const second = { ...first, hits: 1, misses: 0, summaries: 0 };

/** Has a hook, started by a command line, guard a read: the event before it comes back with a shorter range. */
async function assertHook(start: readonly string[], project: string, env: Record<string, string> = {}): Promise<void> {
  const input = { file_path: join(project, "functions.ts") };
  const event = { session_id: "s", cwd: project, hook_event_name: "PreToolUse", tool_name: "Read", tool_input: input };
  writeFileSync(join(project, "event.json"), JSON.stringify({ ...event, tool_use_id: "toolu_1" }));
  const ran = await run("sh", ["-c", '"$@" < event.json', "sh", ...start], { cwd: project, env });
  const { hookSpecificOutput: { updatedInput } } = said(ran) as { hookSpecificOutput: { updatedInput: unknown } };
  assertEquals(updatedInput, { ...input, limit: 200 });
}

function prepare(folder: string, specifier: string, manifest: Record<string, unknown>): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "main.mjs"), guardRead(specifier));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", ...manifest }));
  const lines = Array.from({ length: 400 }, (_, at) => `export function f${at + 1}() {}\n`);
  writeFileSync(join(folder, "functions.ts"), lines.join(""));
  return folder;
}

function said(ran: Ran): unknown {
  assertEquals(ran.code, 0, ran.stderr);
  return JSON.parse(ran.stdout);
}

describe("a consumer", { skip }, () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(`${tmpdir()}/waymark-`);
  });
  after(() => rmSync(folder, { recursive: true }));

  describe("of jsr:@waymark/waymark on Deno", { skip }, () => {
    let registry: Registry;
    let env: Record<string, string> = {};
    before(async () => {
      const standins = ["db_sqlite", "std_crypto", "std_path", "std_streams"].map((name) =>
        join(root, "tests/standins", name)
      );
      registry = await startRegistry([root, ...standins]);
      // A cache of its own for what comes from this registry; what comes from npm is shared with the machine's.
      const cache = join(folder, "deno");
      mkdirSync(cache);
      const info = await run(process.execPath, ["info", "--json"], { cwd: folder });
      const npm = join(JSON.parse(info.stdout).denoDir ?? "", "npm");
      if (existsSync(npm)) symlinkSync(npm, join(cache, "npm"));
      env = { JSR_URL: registry.url, DENO_DIR: cache };
    });
    after(() => registry.close());

    it("guards a real file, keeps the map for the next process, and fetched only what that takes", async () => {
      const project = prepare(join(folder, "on-deno"), "jsr:@waymark/waymark@^0.1.0", {});
      rmSync(join(project, "package.json"));
      const args = [
        "run",
        "--no-prompt",
        "--no-lock",
        "--no-config",
        "--allow-read=.",
        "--allow-write=.summaries",
        "main.mjs",
      ];
      assertEquals(said(await run(process.execPath, args, { cwd: project, env })), first);
      assert(existsSync(join(project, ".summaries/summaries.db")));
      const asked = registry.requests.filter((path) => path.startsWith("/@waymark/") && path.endsWith(".ts"));
      assertEquals(asked.filter((path) => /providers|outline\.ts|testing|cli/.test(path)), []);
      assertEquals(registry.requests.filter((path) => /^\/@(db|std\/(crypto|streams))/.test(path)), []);
      const before = registry.requests.length;
      assertEquals(said(await run(process.execPath, args, { cwd: project, env })), second);
      assertEquals(registry.requests.slice(before), [], "a second start asks the registry for nothing");
    });

    it("serves MCP and guards Claude Code's reads from the registry, by its address alone", async () => {
      const project = prepare(join(folder, "programs"), "jsr:@waymark/waymark@^0.1.0", {});
      writeFileSync(join(project, "deno.json"), "{}"); // with a package.json beside it, as projects have
      const alone = ["run", "-A", "--no-config", "--no-lock"];
      const start = (entry: string) => [process.execPath, ...alone, `jsr:@waymark/waymark@^0.1.0/${entry}`];
      await assertHook(start("hook"), project, env);
      writeFileSync(join(project, "ask.mjs"), askServer.replaceAll('"@model', '"npm:@model'));
      const ask = [...alone, "ask.mjs", ...start("mcp"), "--root", "."];
      assertEquals(said(await run(process.execPath, ask, { cwd: project, env })), served);
    });

    it("imports every entry, types included", async () => {
      const project = prepare(join(folder, "entries"), "jsr:@waymark/waymark@^0.1.0", {});
      rmSync(join(project, "package.json"));
      const { exports } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
      const imports = Object.keys(exports).filter((subpath) => subpath !== "./cli").map((subpath, at) =>
        `import * as entry${at} from "jsr:@waymark/waymark@^0.1.0${
          subpath.slice(1)
        }";\nconsole.log(Object.keys(entry${at}).length > 0);`
      );
      writeFileSync(join(project, "entries.ts"), imports.join("\n"));
      const ran = await run(process.execPath, ["run", "-A", "--check", "--no-lock", "--no-config", "entries.ts"], {
        cwd: project,
        env,
      });
      assertEquals(ran.code, 0, ran.stderr);
      assertEquals(ran.stdout.trim().split("\n"), imports.map(() => "true"));
    });
  });

  describe("of the packed tarball", { skip }, () => {
    let tarballs: Record<string, string> = {};
    before(async () => {
      tarballs = await packTarballs(join(folder, "tarballs"));
    });

    for (const runtime of ["node", "bun"] as const) {
      it(`guards a real file on ${runtime}, keeps the map for the next process, serves MCP and runs the hook`, async () => {
        const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]));
        const project = prepare(join(folder, `on-${runtime}`), "@waymark/waymark", {
          dependencies,
          overrides: dependencies,
        });
        const [program, ...args] = runtimeCommand(runtime);
        const installed = runtime === "bun"
          ? await run(program, [...args, "install", "--no-progress"], { cwd: project })
          : await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: project });
        assertEquals(installed.code, 0, installed.stderr + installed.stdout);
        assertEquals(said(await run(program, [...args, "main.mjs"], { cwd: project })), first);
        assertEquals(said(await run(program, [...args, "main.mjs"], { cwd: project })), second);

        const entry = (name: string): string => `node_modules/@waymark/waymark/src/${name}.js`;
        writeFileSync(join(project, "ask.mjs"), askServer);
        const server = [program, ...args, entry("mcp"), "--root", "."];
        assertEquals(said(await run(program, [...args, "ask.mjs", ...server], { cwd: project })), served);
        await assertHook([program, ...args, entry("hook")], project);
      });
    }
  });
});
