/** Many processes on one database, on every runtime at hand. */

import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { databaseOf, filesIn, withCache } from "../cache/opening.ts";
import { hashOf, sampleMap } from "../cache/samples.ts";
import { inFolder } from "../support.ts";
import { isWhole, type Job, type Report } from "./cache_child.ts";
import { runProgram, runtimeAt, runtimes } from "./processes.ts";

const child = "tests/faults/cache_child.ts";
const isDeno = "Deno" in globalThis;

/** Whether SQLite itself finds nothing wrong, and every entry has exactly its regions. */
function assertSound(root: string): void {
  const database = new DatabaseSync(databaseOf(root));
  try {
    assertEquals({ ...database.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
    const wrong = database.prepare(
      "select count(*) as n from entries where regions <> (select count(*) from regions where entry_id = entries.id)",
    ).get();
    const orphans = database.prepare("select count(*) as n from regions where entry_id not in (select id from entries)")
      .get();
    assertEquals([wrong?.["n"], orphans?.["n"]], [0, 0]);
  } finally {
    database.close();
  }
}

/** The databases in the folder: processes that close at the same moment may leave the log to the next. */
function databasesIn(root: string): string[] {
  return filesIn(root).filter((name) => !/-(wal|shm)$/.test(name));
}

/** So many processes at the same moment. */
async function together(count: number, job: (index: number) => Job): Promise<Report[]> {
  const at = Date.now() + 250 + count * 60;
  return await Promise.all(
    Array.from({ length: count }, (_, index) => runProgram<Report>(runtimeAt(index), child, { at, ...job(index) })),
  );
}

describe(`processes that share a cache (${runtimes.map((runtime) => runtime.name).join(", ")})`, () => {
  for (let round = 1; round <= 3; round++) {
    it(`lose no map: eight on a new database, fifty each, round ${round}`, () =>
      inFolder(async (root) => {
        const reports = await together(8, (index) => ({ action: "put", root, name: `p${index}`, count: 50 }));
        const skipped = reports.flatMap((report) => report.events).filter((what) => what === "write-skipped").length;
        assertEquals(reports.map((report) => report.kind), Array(8).fill("disk"));
        assertEquals(reports.reduce((sum, report) => sum + report.stored, 0) + skipped, 400);
        assertEquals(reports.flatMap((report) => report.messages.filter((text) => /memory|Moved/.test(text))), []);
        assertSound(root);
        await withCache(root, (cache) => {
          assertEquals(cache.count(), 400 - skipped);
          let whole = 0;
          for (let index = 0; index < 8; index++) {
            for (let file = 0; file < 50; file++) {
              const map = cache.get(`p${index}/${file}.ts`, hashOf(`p${index}-${file}`));
              if (map && isWhole(map)) whole++;
            }
          }
          assertEquals(whole, 400 - skipped);
        });
        assertEquals(databasesIn(root), ["summaries.db"]);
      }));
  }

  for (let round = 1; round <= 4; round++) {
    it(`all get on: sixteen start where there is no folder yet, round ${round}`, () =>
      inFolder(async (root) => {
        const reports = await together(16, (index) => ({ action: "put", root, name: `p${index}`, count: 2 }));
        assertEquals(reports.map((report) => report.kind), Array(16).fill("disk"));
        assertSound(root);
        await withCache(root, (cache) => {
          const skipped = reports.flatMap((report) => report.events).filter((what) => what === "write-skipped").length;
          assertEquals(cache.count(), 32 - skipped);
        });
      }));
  }

  for (let round = 1; round <= 3; round++) {
    it(`set a foreign database aside once: sixteen on a fresh clone, round ${round}`, () =>
      inFolder(async (folder) => {
        mkdirSync(`${folder}/theirs`);
        await withCache(`${folder}/theirs`, (cache) => void cache.put("a.ts", sampleMap()));
        const root = `${folder}/ours`;
        cpSync(`${folder}/theirs`, root, { recursive: true });
        const reports = await together(16, (index) => ({ action: "put", root, name: `p${index}`, count: 3 }));
        assertEquals(reports.map((report) => report.kind), Array(16).fill("disk"));
        assertEquals(reports.flatMap((report) => report.events).filter((what) => what === "set-aside").length, 1);
        assertEquals(databasesIn(root), ["summaries.db", "summaries.db.foreign-1"]);
        assertSound(root);
        await withCache(root, (cache) => {
          assertEquals(cache.get("a.ts", hashOf(1)), undefined);
          assertEquals(cache.count(), 48);
        });
      }));
  }

  it("replace a damaged database once: eight find it", () =>
    inFolder(async (root) => {
      mkdirSync(`${root}/.summaries`);
      writeFileSync(databaseOf(root), "no database\n".repeat(999));
      const reports = await together(8, (index) => ({ action: "put", root, name: `p${index}`, count: 3 }));
      assertEquals(reports.map((report) => report.kind), Array(8).fill("disk"));
      assertEquals(databasesIn(root), ["summaries.db", "summaries.db.corrupt-1"]);
      assertSound(root);
      await withCache(root, (cache) => assertEquals(cache.count(), 24));
    }));

  it("each read what another runtime stored", () =>
    inFolder(async (root) => {
      for (const runtime of runtimes) {
        await runProgram<Report>(runtime, child, { action: "put", root, name: runtime.name, count: 5 });
      }
      for (const reader of runtimes) {
        for (const writer of runtimes) {
          const { found } = await runProgram<Report>(reader, child, {
            action: "read",
            root,
            name: writer.name,
            count: 5,
          });
          assertEquals(found, 5, `${reader.name} reads what ${writer.name} stored`);
        }
      }
    }));

  it(
    "each read what the other driver stored",
    { skip: isDeno ? false : "@db/sqlite is there on Deno only" },
    () =>
      inFolder(async (root) => {
        const drivers = ["node:sqlite", "@db/sqlite"] as const, runtime = runtimes[0]!;
        for (const sqlite of drivers) {
          const report = await runProgram<Report>(runtime, child, {
            action: "put",
            root,
            sqlite,
            name: sqlite,
            count: 5,
          });
          assertEquals([report.driver, report.stored], [sqlite, 5]);
        }
        for (const sqlite of drivers) {
          for (const name of drivers) {
            const { found } = await runProgram<Report>(runtime, child, {
              action: "read",
              root,
              sqlite,
              name,
              count: 5,
            });
            assertEquals(found, 5, `${sqlite} reads what ${name} stored`);
          }
        }
      }),
  );

  it(
    "lose no map with both drivers at once",
    { skip: isDeno ? false : "@db/sqlite is there on Deno only" },
    () =>
      inFolder(async (root) => {
        const at = Date.now() + 700;
        const reports = await Promise.all([0, 1, 2, 3, 4, 5].map((index) =>
          runProgram<Report>(runtimes[0]!, child, {
            action: "put",
            root,
            at,
            name: `p${index}`,
            count: 40,
            sqlite: index % 2 ? "@db/sqlite" : "node:sqlite",
          })
        ));
        assertEquals(new Set(reports.map((report) => report.driver)), new Set(["node:sqlite", "@db/sqlite"]));
        const skipped = reports.flatMap((report) => report.events).filter((what) => what === "write-skipped").length;
        assertSound(root);
        await withCache(root, (cache) => assertEquals(cache.count(), 240 - skipped));
      }),
  );

  it("wait for one that holds the database, but not for ever: reads go on, a write is given up and counted", () =>
    inFolder(async (root) => {
      await withCache({ root, busyTimeoutMs: 200 }, async (cache, events) => {
        cache.put("a.ts", sampleMap());
        const holder = new DatabaseSync(databaseOf(root));
        holder.exec("begin immediate");
        assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
        const start = performance.now();
        assertEquals(cache.put("b.ts", sampleMap({ hash: hashOf(2) })), false);
        assert(performance.now() - start < 5_000);
        assertEquals(cache.get("b.ts", hashOf(2)), sampleMap({ hash: hashOf(2) })); // known to this process all the same
        const { map, mine } = await cache.once(
          { path: "c.ts", hash: hashOf(3), wanted: 2, signal: AbortSignal.timeout(10_000) },
          () => Promise.resolve(sampleMap({ hash: hashOf(3) })),
        );
        assertEquals([map.hash, mine], [hashOf(3), true]);
        holder.exec("rollback");
        holder.close();
        assert(cache.put("d.ts", sampleMap({ hash: hashOf(4) })));
        assert(events.every((event) => ["opened", "write-skipped"].includes(event.what)), JSON.stringify(events));
        assert(events.some((event) => event.what === "write-skipped"));
      });
      await withCache(root, (cache) => assert(cache.get("d.ts", hashOf(4))));
    }));

  it("wait for one that never lets go no longer than two writes would, however many come, and later as long as ever", () =>
    inFolder((root) =>
      withCache({ root, busyTimeoutMs: 300 }, (cache) => {
        assert(cache.put("a.ts", sampleMap()));
        const holder = new DatabaseSync(databaseOf(root));
        const put = (file: number): boolean => cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) }));
        const time = (work: () => void): number => {
          const start = performance.now();
          work();
          return performance.now() - start;
        };
        holder.exec("begin immediate");
        const all = time(() => {
          for (let file = 0; file < 60; file++) assertEquals(put(file), false);
        });
        assert(all < 6_000, `${all} ms`);
        holder.exec("rollback");
        assert(put(60));
        holder.exec("begin immediate");
        const one = time(() => assertEquals(put(61), false));
        assert(one > 250, `${one} ms`);
        holder.exec("rollback");
        holder.close();
      })
    ));

  it("leave no folder behind that nobody asked for", () =>
    inFolder(async (root) => {
      assertEquals(existsSync(`${root}/.summaries`), false);
      await withCache({ root: undefined }, () => {});
      assertEquals(existsSync(`${root}/.summaries`), false);
    }));
});
