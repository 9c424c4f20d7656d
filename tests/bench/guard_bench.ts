/**
 * What the read guard costs: a short read over the bare tool, a warm hit over the bare read, a hit in a new process.
 *
 * Run it with each runtime: `deno task bench guard`, or this file itself. With the checkouts that `tests/real_sources.ts`
 * takes (`deno task bench guard <std> <sqlite3> <plug>`, `DENO_SQLITE_PATH` set) it also measures a hit in a new process
 * through the real `@db/sqlite`.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWaymark } from "../../mod.ts";
import type { ReadCall, Summarizer } from "../../src/types.ts";
import { code, inFolder, put } from "../support.ts";
import { line, measure, median, runtime } from "./measure.ts";

const summarizer: Summarizer = {
  maker: "model:bench",
  version: 1,
  summarize: () =>
    Promise.resolve({
      prose: "Adds numbers to numbers, one function for each.",
      regions: Array.from({ length: 25 }, (_, index) => ({
        start: index * 30 + 1,
        end: index * 30 + 30,
        kind: "function" as const,
        name: `f${index * 30 + 1}`,
        note: "adds a number to the number it is given",
      })),
      usage: { calls: 1, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
    }),
};

const host = globalThis as unknown as {
  Deno?: { readTextFile(path: string): Promise<string> };
  Bun?: { file(path: string): { text(): Promise<string> } };
};
/** How a tool of this runtime reads a file as text. */
const bareRead = (path: string): Promise<string> =>
  host.Deno ? host.Deno.readTextFile(path) : host.Bun ? host.Bun.file(path).text() : readFile(path, "utf8");

const root = fileURLToPath(new URL("../../", import.meta.url));

console.log(`# ${runtime()}`);
await inFolder(async (folder) => {
  const text = code(1000).slice(0, 50_000), path = put(folder, "a.ts", text);
  const literal = JSON.stringify(path);
  const bareScript = host.Deno
    ? `console.log((await Deno.readTextFile(${literal})).length);`
    : `console.log((await Bun.file(${literal}).text()).length);`;
  const promisesScript =
    `import { readFile } from "node:fs/promises"; console.log((await readFile(${literal}, "utf8")).length);`;
  const waymark = createWaymark({ root: folder, summarizer });
  try {
    await shortRead();
    await warmHit();
  } finally {
    await waymark.close();
  }
  coldHit();
  if (host.Deno) await coldHitThroughFfi();

  async function shortRead(): Promise<void> {
    const tool = (args: { path: string; limit: number }): Promise<string> => Promise.resolve(args.path);
    const guarded = waymark.wrap(tool), args = { path, limit: 200 };
    const [bare, short] = await measure([{ name: "bare tool", run: () => tool(args) }, {
      name: "guarded, limit 200",
      run: () => guarded(args),
    }], { repeats: 5000 });
    console.log(
      `\nA read of 200 lines, over the bare tool (bar: adds <= 5 us)\n${line(bare!)}\n${line(short!)}\nadds ${
        (short!.micros - bare!.micros).toFixed(2)
      } us`,
    );
  }

  async function warmHit(): Promise<void> {
    const call: ReadCall = { path, start: 1, cwd: folder };
    const hit = (): Promise<unknown> =>
      waymark.middleware(call, () => Promise.resolve({ result: "", annotations: [] }));
    await hit();
    const timings = await measure([
      { name: "bare read as text, async", run: () => bareRead(path) },
      { name: "bare read as text, node:fs/promises", run: () => readFile(path, "utf8") },
      { name: "read + SHA-256", run: () => createHash("sha256").update(readFileSync(path)).digest("hex") },
      { name: "hit: stat, read, hash, look up, render", run: hit },
    ], { rounds: 61, repeats: 50, warmUp: 15 });
    console.log(`\nA warm hit on ${text.length} bytes (bars: <= 2.5x the bare async read, <= 2x read + SHA-256)`);
    for (const timing of timings) console.log(line(timing));
    const [bare, promises, hashed, hitTime] = timings.map((timing) => timing.micros) as [
      number,
      number,
      number,
      number,
    ];
    console.log(
      `hit over bare async read ${(hitTime / bare).toFixed(2)}x, over node:fs/promises ${
        (hitTime / promises).toFixed(2)
      }x, over read + SHA-256 ${(hitTime / hashed).toFixed(2)}x`,
    );
  }

  /** Whole processes: the module imported, one read, the end. */
  function coldHit(): void {
    if (!host.Deno && !host.Bun) {
      return console.log(
        "\nA cold hit on Node is measured on packed JavaScript: its type stripping costs more than all else",
      );
    }
    const scripts = {
      "bare read": bareScript,
      "bare read, node:fs/promises": promisesScript,
      "hit": hitScript(),
    };
    const title = `A hit in a new process, over a bare read in one (bar: ${host.Deno ? "<= 1.5x" : "<= 2.3x"})`;
    compareStarts(title, scripts, ["--config", join(root, "deno.offline.json")]);
    if (host.Deno) compareStarts("The same in a program that has no configuration", scripts, ["--no-config"]);
  }

  /** The same through the native library, loaded from checkouts of the real packages. */
  async function coldHitThroughFfi(): Promise<void> {
    const { linkCheckouts } = await import("../real_links.ts");
    const { links } = linkCheckouts(process.argv.slice(2), folder);
    if (links.length !== 3 || !process.env["DENO_SQLITE_PATH"]) {
      return console.log("\nA hit through @db/sqlite is not measured: see the top of this file");
    }
    const config = put(folder, "real.json", JSON.stringify({ links }));
    compareStarts("A hit in a new process through @db/sqlite, over a bare read in one (bar: <= 3x)", {
      "bare read": bareScript,
      "hit, node:sqlite": hitScript("node:sqlite"),
      "hit, @db/sqlite": hitScript("@db/sqlite"),
    }, ["--config", config]);
  }

  /** A program that reads a file with its map, kept already; it fails where the map or the driver is another. */
  function hitScript(sqlite = "node:sqlite"): string {
    const read = host.Deno ? "Deno.readTextFile(path)" : "Bun.file(path).text()";
    const onEvent = "({ what, message }) => { if (what === 'opened') opened = message; }";
    return `import { createWaymark } from ${JSON.stringify(join(root, "mod.ts"))};
      let opened = "";
      const read = ({ path }) => ${read};
      const waymark = createWaymark({ root: ${JSON.stringify(folder)}, sqlite: "${sqlite}", onEvent: ${onEvent} });
      const text = await waymark.wrap(read)({ path: ${JSON.stringify(path)} });
      if (!text.includes("[waymark map")) throw new Error("no hit");
      if (!opened.endsWith("${sqlite}")) throw new Error("another driver");
      await waymark.close();`;
  }

  function compareStarts(title: string, scripts: Record<string, string>, config: readonly string[]): void {
    const files = Object.entries(scripts).map(([name, script], index) => ({
      name,
      file: put(folder, `cold${index}.mjs`, script),
    }));
    const command = (file: string): string[] =>
      host.Deno ? ["run", "-A", "--no-check", ...config, file] : ["run", file];
    const times = files.map((): number[] => []);
    for (let round = -3; round < 25; round++) {
      for (const [index, { file, name }] of files.entries()) {
        const start = performance.now();
        const { status, stderr } = spawnSync(process.execPath, command(file), { cwd: root });
        if (status !== 0) throw new Error(`${name}: ${stderr}`);
        if (round >= 0) times[index]!.push(performance.now() - start);
      }
    }
    console.log(`\n${title}`);
    for (const [index, { name }] of files.entries()) {
      const ratio = median(times[index]!.map((time, round) => time / times[0]![round]!));
      console.log(
        `${name.padEnd(44)} ${median(times[index]!).toFixed(1).padStart(10)} ms  ${ratio.toFixed(2).padStart(6)}x`,
      );
    }
  }
});
