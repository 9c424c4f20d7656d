/**
 * Deno's permissions, taken away one by one, on a terminal where there is one to be had: each degrades one thing, said once,
 * and nothing ever prompts. The README has the same table.
 *
 * @module
 */

import { describe, it } from "node:test";
import { existsSync, realpathSync } from "node:fs";
import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { join } from "@std/path/posix/join";
import { root } from "./modules.ts";
import { programCommand } from "./programs.ts";
import { run } from "./publishing.ts";
import { code, inFolder, put } from "./support.ts";

const onDeno = "Deno" in globalThis && existsSync("/usr/bin/script") ? false : "Deno's alone, and wants a terminal";

/** Reads a long file twice, each time with a new instance, and prints what came of it as the last line. */
const program = `
import { createWaymark } from ${JSON.stringify(join(root, "mod.ts"))};
import { outline } from ${JSON.stringify(join(root, "src/outline.ts"))};
import { anthropic } from ${JSON.stringify(join(root, "src/providers/anthropic.ts"))};

const { model: wanted, ...options } = JSON.parse(Deno.args[0]);
const notices = [], reads = [];
let model, stats;
try {
  model = wanted && anthropic(wanted);
} catch (error) {
  notices.push(error.code + ": " + error.message);
}
for (let time = 0; time < 2; time++) {
  const waymark = createWaymark({ ...options, model, outline: outline(), onNotice: ({ message }) => notices.push(message) });
  const read = waymark.wrap(({ path, offset = 1, limit = Infinity }) => {
    const lines = Deno.readTextFileSync(path).split("\\n");
    return Promise.resolve({ lines: lines.slice(offset - 1, offset - 1 + limit).length, content: lines.slice(offset - 1, offset - 1 + limit).join("\\n") });
  });
  const first = await read({ path: "functions.ts" });
  await read({ path: "functions.ts" });
  stats = waymark.stats();
  reads.push([first.lines, first.annotation?.maker ?? first.annotation?.kind, stats.hits]);
  await waymark.close();
}
console.log("\\n" + JSON.stringify({ reads, notices }));
`;

interface Result {
  /** Lines, the map's maker or the annotation's kind, and hits, of each instance. */
  readonly reads: readonly [lines: number, maker: string, hits: number][];
  readonly notices: readonly string[];
}

/** Reads a file in a conversation, and again after a small change; prints the kinds of both results as the last line. */
const changing = `
import { createSession, createWaymark } from ${JSON.stringify(join(root, "mod.ts"))};
let text = Deno.readTextFileSync("functions.ts");
const source = { read: () => new TextEncoder().encode(text) };
const waymark = createWaymark({ source, cache: false, session: createSession(), rereadGuard: { onChange: "diff" } });
const read = waymark.wrap(() => text), reads = [];
for (const name of ["f1", "g1"]) {
  text = text.replace("f1(", name + "(");
  const result = await read({ path: "/functions.ts", limit: 200 });
  reads.push(result === text ? "lines" : result.split(":")[0]);
}
console.log("\\n" + JSON.stringify({ reads, notices: [] }));
`;

/** Runs the program on a terminal with these permissions only. */
function withPermissions(
  flags: (folder: string) => readonly string[],
  options: Record<string, unknown>,
  check: (result: Result, folder: string) => void,
  { source = program, lines = 300 } = {},
): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    put(folder, "functions.ts", code(lines));
    const script = put(folder, "program.js", source), [deno, ...rest] = programCommand("mod.ts");
    const config = rest.slice(rest.indexOf("--config"), rest.indexOf("--config") + 2);
    const args = [deno, "run", "--no-check", "--no-lock", ...config, ...flags(folder), script, JSON.stringify(options)];
    const command = args.map((argument) => `'${argument.replaceAll("'", `'\\''`)}'`).join(" ");
    const { stdout } = await run("script", ["-qec", command, "/dev/null"], { cwd: folder, timeoutMs: 60_000 });
    assertNotMatch(stdout, /requests .* access|Allow\?/);
    check(JSON.parse(stdout.trim().split("\n").at(-1)!), folder);
  });
}

const packages = realpathSync(join(root, "node_modules"));
const project = (folder: string) => `--allow-read=${folder},${root},${packages}`;
const keep = (folder: string) => `--allow-write=${folder}/.summaries`;
/** A read that was shortened by the outline's map, and one that finds that map on disk. */
const whole = [[200, "outline", 1], [200, "outline", 2]] as const;

describe("permissions on Deno", { skip: onDeno }, () => {
  it("to read the project and the packages and to write .summaries are all the main job needs", () =>
    withPermissions((folder) => [project(folder), keep(folder)], {}, ({ reads, notices }) => {
      assertEquals({ reads, notices }, { reads: whole.map((read) => [...read]), notices: [] });
    }));

  it("without leave to write .summaries keep maps in memory, said once for each instance", () =>
    withPermissions((folder) => [project(folder)], {}, ({ reads, notices }, folder) => {
      assertEquals(reads, [[200, "outline", 1], [200, "outline", 1]]);
      assertEquals(notices.length, 2);
      for (const notice of notices) assertMatch(notice, /--allow-write .*\.summaries\. Maps are kept in memory$/);
      assert(!existsSync(join(folder, ".summaries")));
    }));

  it("without leave to read the packages have the line scanner make the maps", () =>
    withPermissions((folder) => [`--allow-read=${folder}`, keep(folder)], {}, ({ reads, notices }) => {
      assertEquals(reads.map(([lines, maker]) => [lines, maker]), [[200, "scanner"], [200, "scanner"]]);
      assertEquals(notices, []);
    }));

  it("without leave to read anything but the file shorten it all the same", () =>
    withPermissions((folder) => [`--allow-read=${folder}/functions.ts`], {}, ({ reads }) => {
      assertEquals(reads.map(([lines, maker]) => [lines, maker]), [[200, "scanner"], [200, "scanner"]]);
    }));

  it("without leave for a model's host run reads as asked, and name what is missing", () =>
    withPermissions(
      (folder) => [project(folder), keep(folder)],
      { model: { apiKey: "key", baseURL: "https://models.example" } },
      ({ reads, notices }) => {
        assertEquals(reads, [[300, "notice", 0], [300, "notice", 0]]);
        assertEquals(notices.length, 2);
        for (const notice of notices) {
          assertMatch(notice, /--allow-env=ANTHROPIC_CUSTOM_HEADERS --allow-net=models\.example$/);
        }
      },
    ));

  it("without leave to see the key have the model say so when it is made", () =>
    withPermissions((folder) => [project(folder), keep(folder)], { model: {} }, ({ reads, notices }) => {
      assertEquals(notices.length, 1);
      assertMatch(notices[0]!, /^no-key: .*ANTHROPIC_API_KEY.*--allow-env/);
      assertEquals(reads, whole.map((read) => [...read]));
    }));

  it("without leave for foreign functions keep maps with node:sqlite, also where @db/sqlite was asked for", () =>
    withPermissions((folder) => [project(folder), keep(folder)], { sqlite: "@db/sqlite" }, ({ reads, notices }) => {
      assertEquals(reads, whole.map((read) => [...read]));
      for (const notice of notices) {
        assertMatch(notice, /@db\/sqlite.*node:sqlite is used$/);
      }
    }));

  it("without leave to read the package give a changed file's lines, where with it they tell what changed", async () => {
    for (const [flags, second] of [[[], "lines"], [[root], "[waymark diff"]] as const) {
      await withPermissions(
        (folder) => [`--allow-read=${[folder, ...flags].join(",")}`],
        {},
        ({ reads }) => assertEquals(reads as unknown, ["lines", second]),
        { source: changing, lines: 100 },
      );
    }
  });

  it("without any leave serve the reads of a conversation as asked", async () => {
    const source = `
      import { createSession, createWaymark } from ${JSON.stringify(join(root, "mod.ts"))};
      const notices = [], reads = [], session = createSession();
      const waymark = createWaymark({ session, onNotice: ({ message }) => notices.push(message) });
      const read = waymark.wrap(({ path }) => "text of " + path);
      for (const path of ["functions.ts", "functions.ts", "/etc/passwd", "functions.ts"]) reads.push(await read({ path }));
      console.log("\\n" + JSON.stringify({ reads, notices, given: session.toJSON().given, seen: session.coverage("functions.ts") }));
    `;
    const text = "text of functions.ts", reads = [text, text, "text of /etc/passwd", text];
    await withPermissions(
      () => [],
      {},
      (result) => assertEquals(result as unknown, { reads, notices: [], given: [] }),
      { source },
    );
  });
});
