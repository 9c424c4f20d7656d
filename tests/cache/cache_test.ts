/** The cache on disk: the suite of all caches on each driver, and what only a cache on disk does. */

import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import process from "node:process";
import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { openCache } from "../../src/cache/cache.ts";
import { nodeSqlite } from "../../src/drivers/node_sqlite.ts";
import type { FileMap, SqliteDriver } from "../../src/types.ts";
import { testSummaryCache } from "../contracts/cache.ts";
import { inFolder } from "../support.ts";
import { closesAtOnce, databaseOf, filesIn, kindsOf, withCache } from "./opening.ts";
import { hashOf, regionsOf, sampleMap, soon } from "./samples.ts";

const drivers = "Deno" in globalThis ? ["node:sqlite", "@db/sqlite"] as const : ["node:sqlite"] as const;

for (const sqlite of drivers) {
  testSummaryCache(`on disk with ${sqlite}`, (action) =>
    inFolder((root) =>
      withCache({ root, sqlite }, (cache) => {
        assertEquals([cache.kind, cache.driver, cache.file], ["disk", sqlite, databaseOf(root)]);
        return action(cache);
      })
    ));
}

describe("the cache on disk", () => {
  it("keeps maps for the next process", () =>
    inFolder(async (root) => {
      const map = sampleMap({ regions: regionsOf(25) });
      await withCache(root, (cache) => void cache.put("src/a.ts", map));
      await withCache(root, (cache) => assertEquals(cache.get("src/a.ts", map.hash), map));
    }));

  it("opens itself with a driver that is handed in", () =>
    inFolder(async (root) => {
      const inner = await nodeSqlite(), driver: SqliteDriver = { name: "mine", open: (path) => inner.open(path) };
      await withCache({ root, sqlite: driver }, (cache) => assertEquals([cache.kind, cache.driver], ["disk", "mine"]));
    }));

  it("chooses a driver by itself", () =>
    inFolder(async (root) => {
      const cache = await openCache({ root });
      assertEquals(cache.kind, "disk");
      cache.close();
    }));

  it("says that it was opened, where and with what", () =>
    inFolder((root) =>
      withCache(root, (_, events) => {
        assertEquals(events.map((event) => event.message), [`Opened ${databaseOf(root)} with node:sqlite`]);
      })
    ));

  it("shows a cache of the same process what another stored, replaced and removed, at once", () =>
    inFolder((root) =>
      withCache(root, (one) =>
        withCache(root, (two) => {
          one.put("a.ts", sampleMap());
          assertEquals(two.get("a.ts", hashOf(1))?.prose, sampleMap().prose);
          one.put("a.ts", sampleMap({ prose: "Newer." }), { force: true });
          assertEquals(two.get("a.ts", hashOf(1))?.prose, "Newer.");
          one.forget("a.ts");
          assertEquals(two.get("a.ts", hashOf(1)), undefined);
        }))
    ));

  it("shows what another connection stored, replaced and removed, at once", () =>
    inFolder((root) =>
      withCache(root, (cache) => {
        cache.put("a.ts", sampleMap());
        assert(cache.get("a.ts", hashOf(1)));
        const other = new DatabaseSync(databaseOf(root));
        other.exec("update entries set prose = 'Newer.'");
        assertEquals(cache.get("a.ts", hashOf(1))?.prose, "Newer.");
        other.exec("delete from entries");
        assertEquals(cache.get("a.ts", hashOf(1)), undefined);
        other.close();
      })
    ));

  it("stores the rows and not the rendered text, with times and numbers that SQL can read", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => void cache.put("src/a.ts", sampleMap({ size: 2 ** 40 })));
      const database = new DatabaseSync(databaseOf(root));
      const { id: _, ...entry } = database.prepare("select * from entries").get() as Record<string, unknown>;
      assertEquals(entry, {
        path: "src/a.ts",
        extension: ".ts",
        hash: hashOf(1),
        size: 2 ** 40,
        lines: 300,
        prose: "Parses dates and prints them.",
        regions: 3,
        maker: "model:test",
        rank: 2,
        prompt_version: 1,
        facts: JSON.stringify({ usage: sampleMap().usage }),
        created_at: 1_790_000_000_123,
      });
      assertEquals(
        database.prepare("select start_line, end_line, kind, name from regions order by ordinal").all().map((row) => ({
          ...row,
        })),
        [
          { start_line: 1, end_line: 8, kind: "import", name: "imports" },
          { start_line: 10, end_line: 120, kind: "class", name: "Parser" },
          { start_line: 200, end_line: 290, kind: "function", name: "print" },
        ],
      );
      assertEquals(database.prepare("pragma journal_mode").get()?.["journal_mode"], "wal");
      database.close();
    }));

  it("stays on disk when it is given what cannot be kept, and keeps no more of a map than there is to it", () =>
    inFolder((root) =>
      withCache(root, (cache, events) => {
        assertEquals(cache.put("a.ts", { ...sampleMap(), lines: NaN }), false);
        assert(cache.put("a.ts", { ...sampleMap(), extra: 1n, more: () => {} } as FileMap));
        assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
        assertEquals(kindsOf(events), ["opened"]);
      })
    ));

  it("lets the oldest go past its most entries", () =>
    inFolder(async (root) => {
      await withCache({ root, maxEntries: 100 }, (cache) => {
        for (let file = 0; file < 600; file++) cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) }));
        assert(cache.count() <= 100 + 256, `${cache.count()}`);
        assert(cache.get("599.ts", hashOf(599)));
        assertEquals(cache.get("0.ts", hashOf(0)), undefined);
      });
      await withCache({ root, maxEntries: 100 }, (cache) => { // the first write of a process looks
        cache.put("last.ts", sampleMap({ hash: hashOf("last") }));
        assertEquals(cache.count(), 95);
      });
    }));

  it("stays of a size while the same files change over and over, and its log is cut back on closing", () =>
    inFolder((root) =>
      withCache(root, async (other) => {
        assertEquals(other.count(), 0); // open all the while, and reading
        await withCache(root, (cache) => {
          const sizes: number[] = [];
          for (let round = 0; round < 40; round++) {
            for (let file = 0; file < 25; file++) {
              cache.put(`${file}.ts`, sampleMap({ hash: hashOf(`${file} ${round}`), regions: regionsOf(25) }));
            }
            other.get("1.ts", hashOf(`1 ${round}`));
            sizes.push(filesIn(root).reduce((sum, name) => sum + statSync(`${root}/.summaries/${name}`).size, 0));
          }
          assertEquals(cache.count(), 100);
          assert(Math.max(...sizes) < 12 << 20, `${Math.max(...sizes)} bytes`);
        });
      }).then(() => {
        assertEquals(filesIn(root), ["summaries.db"]);
        assert(statSync(databaseOf(root)).size < 2 << 20);
      })
    ));

  it("can be opened, used, closed and removed a hundred times", () =>
    inFolder(async (folder) => {
      const root = `${folder}/project`;
      for (let round = 0; round < 100; round++) {
        mkdirSync(root);
        await withCache(root, (cache, events) => {
          assert(cache.put("a.ts", sampleMap()));
          assert(cache.get("a.ts", hashOf(1)));
          assertEquals(kindsOf(events), ["opened"]);
        });
        const database = new DatabaseSync(databaseOf(root)); // nobody else holds a lock
        database.exec("drop table regions");
        database.close();
        rmSync(root, { recursive: true });
      }
      assertEquals(readdirSync(folder), []);
    }));

  it(
    "leaves no open file behind",
    {
      skip: process.platform !== "linux"
        ? "only Linux tells"
        : closesAtOnce
        ? false
        : "this runtime closes files later",
    },
    () =>
      inFolder(async (root) => {
        const open = (): number => readdirSync("/proc/self/fd").length;
        await withCache(root, (cache) => void cache.put("a.ts", sampleMap()));
        const before = open();
        for (let round = 0; round < 20; round++) {
          await withCache(root, async (cache) => {
            cache.get("a.ts", hashOf(1));
            await cache.once(
              { path: "b.ts", hash: hashOf(2), wanted: 2, signal: soon() },
              () => Promise.resolve(sampleMap({ hash: hashOf(2) })),
            );
          });
        }
        assert(open() <= before + 1, `${before} files were open, now ${open()}`);
      }),
  );

  it("answers from memory when it was closed, and does not open again", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => {
        cache.put("a.ts", sampleMap());
        cache.close();
        assert(cache.put("b.ts", sampleMap({ hash: hashOf(2) })));
        assert(cache.get("b.ts", hashOf(2)));
        assertEquals(cache.get("a.ts", hashOf(1)), undefined);
      });
      await withCache(root, (cache) => assertEquals(cache.count(), 1));
    }));

  it("goes on for others of the process when one is closed, closed twice even", () =>
    inFolder((root) =>
      withCache(root, (one) =>
        withCache(root, (two) => {
          one.close();
          one.close();
          assert(two.put("a.ts", sampleMap()));
          assert(two.get("a.ts", hashOf(1)));
        }))
    ));

  it("never rejects, whatever the driver is", () =>
    inFolder(async (root) => {
      const odd = [
        {
          name: "throws",
          open: () => {
            throw new TypeError("no");
          },
        },
        { name: "nothing", open: () => undefined },
        { name: "no methods", open: () => ({}) },
      ] as unknown as SqliteDriver[];
      for (const sqlite of odd) {
        await withCache({ root, sqlite }, (cache, events) => {
          assertEquals([cache.kind, kindsOf(events)], ["memory", ["memory"]]);
          assert(cache.put("a.ts", sampleMap()));
        });
      }
    }));
});
