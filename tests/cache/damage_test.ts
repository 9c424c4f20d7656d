/** Databases that cannot be used as they are: damaged, of another application, of another release. */

import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SummaryCache } from "../../src/cache/types.ts";
import { inFolder, put } from "../support.ts";
import { databaseOf, filesIn, kindsOf, scribble, withCache } from "./opening.ts";
import { hashOf, regionsOf, sampleMap, soon } from "./samples.ts";

/** A root whose cache holds so many maps. */
async function withMaps(root: string, count: number): Promise<void> {
  await withCache(root, (cache) => {
    for (let file = 0; file < count; file++) {
      cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file), lines: 300, regions: regionsOf(25) }));
    }
  });
}

/** Reads a file as often as given; how many maps had to be made. */
async function readTimes(cache: SummaryCache, times: number, seed = 0): Promise<number> {
  let made = 0;
  for (let time = 0; time < times; time++) {
    const request = { path: `${seed}.ts`, hash: hashOf(seed), wanted: 2, signal: soon() };
    const { map } = await cache.once(request, () => {
      made++;
      return Promise.resolve(sampleMap({ hash: hashOf(seed) }));
    });
    assertEquals(map.hash, hashOf(seed));
  }
  return made;
}

describe("a damaged database", () => {
  const noise = crypto.getRandomValues(new Uint8Array(20_000));
  const damages: Record<string, (root: string) => void> = {
    "of random bytes": (root) => writeFileSync(databaseOf(root), noise),
    "of text": (root) => writeFileSync(databaseOf(root), "this is not a database\n".repeat(500)),
    "of a few bytes": (root) => writeFileSync(databaseOf(root), "SQLite"),
    "with a good header and nothing but noise after it": (root) => scribble(databaseOf(root), 100),
    "with a good first page and nothing but noise after it": (root) => scribble(databaseOf(root), 4096),
    "cut to half": (root) => truncateSync(databaseOf(root), statSync(databaseOf(root)).size / 2),
    "cut to its first page": (root) => truncateSync(databaseOf(root), 4096),
    "without one of its tables": (root) => {
      const database = new DatabaseSync(databaseOf(root));
      database.exec("drop table regions");
      database.close();
    },
    "without one of its columns": (root) => {
      const database = new DatabaseSync(databaseOf(root));
      database.exec("alter table entries drop column facts");
      database.close();
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    it(`${what} is moved aside and begun anew: ten reads make one map, and it is said once`, () =>
      inFolder(async (root) => {
        await withMaps(root, 200);
        damage(root);
        await withCache(root, async (cache, events) => {
          assertEquals(cache.kind, "disk");
          assertEquals(await readTimes(cache, 10, 150), 1);
          assertEquals(kindsOf(events).filter((kind) => kind !== "opened"), ["set-aside"]);
        });
        assertEquals(filesIn(root), ["summaries.db", "summaries.db.corrupt-1"]);
        await withCache(root, async (cache, events) => {
          assertEquals(await readTimes(cache, 3, 150), 0);
          assertEquals(kindsOf(events), ["opened"]);
        });
      }));
  }

  it("of random bytes keeps them under its new name", () =>
    inFolder(async (root) => {
      await withMaps(root, 1);
      writeFileSync(databaseOf(root), noise);
      await withCache(root, () => {});
      assertEquals(new Uint8Array(readFileSync(`${databaseOf(root)}.corrupt-1`)), noise);
    }));

  it("that is empty is simply begun", () =>
    inFolder(async (root) => {
      put(root, ".summaries/summaries.db", "");
      await withCache(root, async (cache, events) => {
        assertEquals([await readTimes(cache, 2), kindsOf(events)], [1, ["opened"]]);
      });
      assertEquals(filesIn(root), ["summaries.db"]);
    }));

  it("whose rows make no sense gives no map, and takes the new one", () =>
    inFolder(async (root) => {
      await withMaps(root, 4);
      const database = new DatabaseSync(databaseOf(root));
      database.exec("update regions set end_line = 301 where entry_id = 1 and ordinal = 3");
      database.exec("update regions set start_line = 90 where entry_id = 2 and ordinal = 3");
      database.exec("update entries set facts = 'not JSON' where id = 3");
      database.exec("delete from regions where entry_id = 4 and ordinal = 7");
      database.close();
      await withCache(root, async (cache, events) => {
        for (const file of [0, 1, 2, 3]) {
          assertEquals(cache.get(`${file}.ts`, hashOf(file)), undefined);
          assertEquals(await readTimes(cache, 5, file), 1);
        }
        assertEquals(kindsOf(events), ["opened"]);
      });
    }));

  for (
    const [what, use] of Object.entries<(cache: SummaryCache) => unknown>({
      "a look-up": (cache) => cache.get("150.ts", hashOf(150)),
      "a look-up of a line": (cache) => cache.at("150.ts", hashOf(150), 20),
      "a look-up of sizes": (cache) => cache.sizes("150.ts"),
      "a write": (cache) => cache.put("new.ts", sampleMap({ hash: hashOf("new") })),
      "a removal": (cache) => cache.forget("150.ts"),
      "a clean-up": (cache) => cache.prune(() => false),
      "a count": (cache) => cache.count(),
    })
  ) {
    it(`found out in the middle by ${what} is replaced there and then`, () =>
      inFolder(async (root) => {
        await withMaps(root, 400);
        scribble(databaseOf(root), 8 * 4096);
        await withCache(root, async (cache, events) => {
          use(cache);
          assertEquals(await readTimes(cache, 10, 150), 1);
          assert(!kindsOf(events).includes("memory"), JSON.stringify(events));
          assert(cache.put("other.ts", sampleMap({ hash: hashOf("other") })));
        });
        await withCache(root, (cache) => assert(cache.get("other.ts", hashOf("other"))));
      }));
  }

  it("that another cache of the same process replaced is replaced once", () =>
    inFolder(async (root) => {
      await withMaps(root, 400);
      scribble(databaseOf(root), 4096);
      await withCache(root, (one, first) =>
        withCache(root, async (two, second) => {
          one.get("1.ts", hashOf(1));
          two.get("1.ts", hashOf(1));
          assert(one.put("a.ts", sampleMap()));
          assertEquals(two.get("a.ts", hashOf(1)), sampleMap());
          assertEquals(await readTimes(two, 3, 9), 1);
          assertEquals([...kindsOf(first), ...kindsOf(second)].filter((kind) => kind === "set-aside").length, 1);
        }));
      assertEquals(filesIn(root), ["summaries.db", "summaries.db.corrupt-1"]);
    }));
});

describe("another application's database", () => {
  const contents = (file: string): unknown => {
    const database = new DatabaseSync(file);
    try {
      return database.prepare("select a from notes").all().map((row) => row["a"]);
    } finally {
      database.close();
    }
  };
  for (
    const [what, sql] of Object.entries({
      "with a mark of its own":
        "pragma application_id = 252006673; create table notes(a); insert into notes values('mine')",
      "with no mark, but tables": "create table notes(a); insert into notes values('mine')",
      "with tables named as ours":
        "create table entries(path); create table notes(a); insert into notes values('mine')",
    })
  ) {
    it(`${what} is moved aside with all that is in it`, () =>
      inFolder(async (root) => {
        put(root, ".summaries/summaries.db", "");
        const database = new DatabaseSync(databaseOf(root));
        database.exec(sql);
        database.close();
        await withCache(root, async (cache, events) => {
          assertEquals([await readTimes(cache, 2), kindsOf(events)], [1, ["set-aside", "opened"]]);
          assertStringIncludes(events[0]!.message, "another application");
        });
        assertEquals(contents(`${databaseOf(root)}.other-1`), ["mine"]);
      }));
  }
});

describe("a database of another release", () => {
  it("that is newer is left alone, to the byte, and maps are kept in memory", () =>
    inFolder(async (root) => {
      await withMaps(root, 3);
      const database = new DatabaseSync(databaseOf(root));
      database.exec("alter table entries add column tomorrow text; pragma user_version = 99");
      database.close();
      const before = readFileSync(databaseOf(root));
      await withCache(root, async (cache, events) => {
        assertEquals([cache.kind, kindsOf(events), await readTimes(cache, 3)], ["memory", ["memory"], 1]);
        assertStringIncludes(events[0]!.message, "newer release");
      });
      assertEquals(readFileSync(databaseOf(root)), before);
      assertEquals(filesIn(root), ["summaries.db"]);
    }));

  it("that is newer only by what another process has just written is left alone too", () =>
    inFolder(async (root) => {
      await withMaps(root, 3);
      const database = new DatabaseSync(databaseOf(root));
      database.exec("pragma user_version = 99"); // in the log, not yet in the file
      await withCache(root, (cache, events) => {
        assertEquals([cache.kind, kindsOf(events)], ["memory", ["memory"]]);
        assertStringIncludes(events[0]!.message, "newer release");
      });
      database.close();
    }));

  it("that is older and unmarked is moved aside, not stumbled over", () =>
    inFolder(async (root) => {
      put(root, ".summaries/summaries.db", "");
      const database = new DatabaseSync(databaseOf(root));
      database.exec(
        "create table entries(id integer primary key, path text, hash text); insert into entries values(1, 'a.ts', 'x')",
      );
      database.close();
      await withCache(root, async (cache, events) => {
        assertEquals([await readTimes(cache, 3), kindsOf(events)], [1, ["set-aside", "opened"]]);
      });
    }));

  it("that is ours and has no tables yet is brought up to date", () =>
    inFolder(async (root) => {
      await withMaps(root, 1);
      const database = new DatabaseSync(databaseOf(root));
      database.exec(
        "drop table entries; drop table regions; drop table leases; drop table meta; pragma user_version = 0",
      );
      database.close();
      await withCache(root, async (cache, events) => {
        assertEquals([await readTimes(cache, 3), kindsOf(events)], [1, ["opened"]]);
      });
      assertEquals(filesIn(root), ["summaries.db"]);
    }));

  it("that is ours, says it is old, but has today's tables, is begun anew", () =>
    inFolder(async (root) => {
      await withMaps(root, 1);
      const database = new DatabaseSync(databaseOf(root));
      database.exec("pragma user_version = 0");
      database.close();
      await withCache(root, async (cache, events) => {
        assertEquals([await readTimes(cache, 3), kindsOf(events)], [1, ["set-aside", "opened"]]);
      });
    }));

  it("that has no mark and no tables, but a version, is brought up to date", () =>
    inFolder(async (root) => {
      put(root, ".summaries/summaries.db", "");
      const database = new DatabaseSync(databaseOf(root));
      database.exec("pragma user_version = 5");
      database.close();
      await withCache(root, async (cache, events) => {
        assertEquals([await readTimes(cache, 3), kindsOf(events)], [1, ["opened"]]);
      });
    }));
});
