/** Processes that die or stop in the middle of their work on the cache. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { databaseOf, withCache } from "../cache/opening.ts";
import { hashOf, sampleMap } from "../cache/samples.ts";
import { inFolder } from "../support.ts";
import { isWhole, type Report } from "./cache_child.ts";
import { type Program, runtimeAt, runtimes, start } from "./processes.ts";

const child = "tests/faults/cache_child.ts";
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const runsIn = (log: string): string[] => existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];

/** Starts so many processes that want one map, and waits for the one that makes it. */
async function contenders(count: number, job: { root: string; log: string; takes: number }) {
  const programs = Array.from(
    { length: count },
    (_, index) => start(runtimeAt(index), child, { action: "once", name: `p${index}`, ...job }),
  );
  const owner = await Promise.any(programs.map(async (program) => {
    if (await program.line() !== "running") throw new Error("not the owner");
    return program;
  }));
  return { programs, owner, others: programs.filter((program) => program !== owner) };
}

async function reportsOf(programs: readonly Program[]): Promise<Report[]> {
  return await Promise.all(programs.map((program) => program.result<Report>()));
}

describe("a process killed while it stores", () => {
  for (const runtime of runtimes) {
    it(`leaves a sound database and no torn map (${runtime.name}, ten kills)`, () =>
      inFolder(async (root) => {
        for (let round = 0; round < 10; round++) {
          const program = start(runtime, child, { action: "loop", root, name: `r${round}`, count: 8 });
          assertEquals(await program.line(), "ready");
          await sleep(5 + (round * 37) % 60);
          program.signal("SIGKILL");
          await program.ended;
          await withCache(root, (cache, events) => {
            assertEquals(events.map((event) => event.what), ["opened"]);
            for (let file = 0; file < 8; file++) {
              const map = cache.get(`${file}.ts`, hashOf(file));
              assert(map && isWhole(map), JSON.stringify(map));
            }
          });
          const database = new DatabaseSync(databaseOf(root));
          assertEquals({ ...database.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
          database.close();
        }
      }));
  }

  it("loses nothing another had stored before", () =>
    inFolder(async (root) => {
      await withCache(root, async (cache) => {
        const program = start(runtimeAt(1), child, { action: "loop", root, name: "x", count: 3 });
        await program.line();
        for (let file = 100; file < 140; file++) {
          assert(cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) })));
        }
        program.signal("SIGKILL");
        await program.ended;
      });
      await withCache(root, (cache) => {
        for (let file = 100; file < 140; file++) assert(cache.get(`${file}.ts`, hashOf(file)), `${file}`);
      });
    }));
});

describe("one map wanted by many processes", () => {
  for (const takes of [5, 400]) {
    it(`is made once (a run of ${takes} ms, eight processes)`, () =>
      inFolder(async (root) => {
        for (let round = 0; round < 3; round++) {
          const job = { action: "once", root: `${root}/r${round}`, log: `${root}/log${round}`, takes };
          mkdirSync(job.root);
          const at = Date.now() + 700;
          const reports = await reportsOf(
            Array.from({ length: 8 }, (_, index) => start(runtimeAt(index), child, { ...job, at, name: `p${index}` })),
          );
          assertEquals(runsIn(job.log).length, 1, `round ${round}`);
          assertEquals(reports.filter((report) => report.mine).length, 1);
          assertEquals(new Set(reports.map((report) => report.prose)).size, 1);
        }
      }));
  }

  it("is made by one more, no more, when its maker is killed", () =>
    inFolder(async (root) => {
      const log = `${root}/log`;
      const { owner, others } = await contenders(5, { root, log, takes: 4_000 });
      await sleep(200);
      owner.signal("SIGKILL");
      await owner.ended;
      const reports = await reportsOf(others);
      assertEquals(runsIn(log).length, 2);
      assertEquals(reports.filter((report) => report.mine).length, 1);
      assertEquals(new Set(reports.map((report) => report.prose)).size, 1);
    }));

  it("is not made again while its maker takes longer than a lease lasts", () =>
    inFolder(async (root) => {
      const log = `${root}/log`;
      const { programs } = await contenders(4, { root, log, takes: 5_000 });
      const reports = await reportsOf(programs);
      assertEquals(runsIn(log).length, 1);
      assertEquals(reports.filter((report) => report.mine).length, 1);
    }));

  it("is not stored by a maker that slept through its lease", () =>
    inFolder(async (root) => {
      const log = `${root}/log`;
      const { owner, others } = await contenders(3, { root, log, takes: 4_000 });
      owner.signal("SIGSTOP");
      const reports = await reportsOf(others);
      const second = reports.find((report) => report.mine)?.prose;
      assertEquals(runsIn(log).length, 2);
      owner.signal("SIGCONT");
      const late = await owner.result<Report>();
      assertEquals([late.mine, late.prose === second], [true, false]); // it has its own map all the same
      await withCache(root, (cache) => assertEquals(cache.get("a.ts", hashOf(1))?.prose, second));
    }));

  it("is made at once where the lease of a dead process is in the way and out of date", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => void cache.count());
      const leased = (expires: number): void => {
        const database = new DatabaseSync(databaseOf(root));
        database.prepare("insert or replace into leases values(?, 'gone', ?)").run(`2 ${hashOf(1)}.ts`, expires);
        database.close();
      };
      for (const expires of [Date.now() - 1, Date.now() + 365 * 86_400_000]) { // or set by a clock that was far ahead
        leased(expires);
        await withCache(root, async (cache) => {
          const request = { path: "a.ts", hash: hashOf(1), wanted: 2, signal: AbortSignal.timeout(2_000) };
          const { mine } = await cache.once(request, () => Promise.resolve(sampleMap()));
          assert(mine);
          cache.forget("a.ts");
        });
      }
    }));
});

describe("a process that is done", () => {
  const program = (root: string, body: string): string =>
    `import { openCache } from ${JSON.stringify(new URL("../../src/cache/cache.ts", import.meta.url).href)};
     import { sampleMap, hashOf } from ${JSON.stringify(new URL("../cache/samples.ts", import.meta.url).href)};
     const cache = await openCache({ root: ${JSON.stringify(root)}, sqlite: "node:sqlite" });
     ${body}
     console.log(JSON.stringify("done"));`;
  for (
    const [what, body] of Object.entries({
      "has not closed its cache": "cache.put('a.ts', sampleMap());",
      "left a run that never ends":
        "void cache.once({ path: 'b.ts', hash: hashOf(2), wanted: 2, signal: new AbortController().signal }, () => new Promise(() => {})).catch(() => {});",
    })
  ) {
    it(`ends by itself although it ${what}`, () =>
      inFolder((root) => {
        for (const runtime of runtimes) {
          const file = `${root}/${runtime.name}.ts`;
          writeFileSync(file, program(root, body));
          const said = execFileSync(runtime.command, [...runtime.args, file], { encoding: "utf8", timeout: 20_000 });
          assertEquals(said.trim(), '"done"', runtime.name);
        }
      }));
  }
});
