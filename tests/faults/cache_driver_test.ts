/** Engines that fail in every way they have, at every moment. What a caller gets is the same as without a cache. */

import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SummaryCache } from "../../src/cache/types.ts";
import { databaseOf, filesIn, kindsOf, scribble, withCache } from "../cache/opening.ts";
import { hashOf, regionsOf, sampleMap, soon } from "../cache/samples.ts";
import { inFolder } from "../support.ts";
import { faultyDriver, type Moment, sqliteErrors } from "./faulty_driver.ts";

/** Everything that can be asked of a cache, three times over; how many maps had to be made for one file. */
async function useAll(cache: SummaryCache): Promise<number> {
  let made = 0;
  for (let time = 0; time < 3; time++) {
    const request = { path: "a.ts", hash: hashOf(1), wanted: 2, signal: soon() };
    const { map } = await cache.once(request, () => {
      made++;
      return Promise.resolve(sampleMap());
    });
    assertEquals(map, sampleMap());
    assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
    assertEquals(cache.at("a.ts", hashOf(1), 50)?.name, "Parser");
    assertEquals(cache.sizes("a.ts"), [9_000]);
    cache.put("b.ts", sampleMap({ hash: hashOf(2) }));
    assertEquals(cache.get("b.ts", hashOf(2)), sampleMap({ hash: hashOf(2) }));
    assert(cache.count() >= 2);
    assertEquals(cache.forget("b.ts") >= 1, true);
    assertEquals(cache.prune((path) => path === "a.ts"), 0);
  }
  return made;
}

for (const moment of ["open", "pragma", "select", "insert", "commit", "close"] satisfies Moment[]) {
  describe(`a cache whose engine fails at ${moment}`, () => {
    for (const [code, words] of Object.entries(sqliteErrors)) {
      it(`with "${words}" (${code}) goes on, makes a map once, and says why once`, () =>
        inFolder(async (root) => {
          const driver = await faultyDriver(moment, () => {
            throw new Error(words);
          });
          await withCache({ root, sqlite: driver, busyTimeoutMs: 50 }, async (cache, events) => {
            assertEquals(await useAll(cache), 1);
            const kinds = kindsOf(events);
            const reasons = events.filter((event) => event.what === "memory");
            assert(reasons.length <= 1, JSON.stringify(events));
            if (moment === "close") assertEquals(kinds.filter((kind) => kind !== "pruned"), ["opened"]);
            else if (!kinds.includes("write-skipped")) {
              assertEquals(reasons.length, 1, JSON.stringify(events));
              assertStringIncludes(reasons[0]!.message, words);
            }
          });
        }));
    }
  });
}

describe("a cache whose engine fails for a while", () => {
  it("on closing is whole all the same, the next time too", () =>
    inFolder(async (root) => {
      for (const words of Object.values(sqliteErrors)) {
        const driver = await faultyDriver("close", () => {
          throw new Error(words);
        });
        for (let time = 0; time < 2; time++) {
          await withCache({ root, sqlite: driver }, (cache, events) => {
            cache.put("a.ts", sampleMap());
            assertEquals([cache.get("a.ts", hashOf(1)), kindsOf(events)], [sampleMap(), ["opened"]], words);
          });
        }
      }
      assertEquals(filesIn(root), ["summaries.db"]);
    }));

  it("because others write uses the disk again afterwards", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("insert", () => {
        throw new Error("database is locked");
      });
      await withCache({ root, sqlite: driver }, (cache, events) => {
        assertEquals(cache.put("a.ts", sampleMap()), false);
        driver.failing = false;
        assert(cache.put("a.ts", sampleMap()));
        assertEquals(kindsOf(events), ["opened", "write-skipped"]);
      });
      await withCache(root, (cache) => assertEquals(cache.get("a.ts", hashOf(1)), sampleMap()));
    }));

  it("because the disk is full keeps new maps in memory, reads the old, and tries no write again", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => void cache.put("old.ts", sampleMap({ hash: hashOf("old") })));
      let tries = 0;
      const driver = await faultyDriver("insert", () => {
        tries++;
        throw new Error("database or disk is full");
      });
      await withCache({ root, sqlite: driver }, (cache, events) => {
        for (let file = 0; file < 5; file++) {
          assert(cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) })));
          assert(cache.get(`${file}.ts`, hashOf(file)));
          assert(cache.get("old.ts", hashOf("old")));
        }
        assertEquals([tries, kindsOf(events)], [1, ["opened", "memory"]]);
      });
    }));

  it("because it is damaged, twice, then gives up on the disk for good", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("select", () => {
        throw new Error("database disk image is malformed");
      });
      await withCache({ root, sqlite: driver }, async (cache, events) => {
        assertEquals(await useAll(cache), 1);
        const kinds = kindsOf(events).filter((kind) => kind !== "pruned");
        assertEquals(kinds.at(-1), "memory");
        assert(driver.opened < 10, `${driver.opened}`);
        const opened = driver.opened;
        await useAll(cache);
        assertEquals(driver.opened, opened);
      });
    }));
});

describe("a cache on a disk that is slow to open", () => {
  it("is given up after one call, and not tried again in this process", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("open", () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
      });
      for (let round = 0; round < 3; round++) {
        const start = performance.now();
        await withCache({ root, sqlite: driver }, async (cache, events) => {
          assert(performance.now() - start < 6_000);
          assertEquals([cache.kind, kindsOf(events)], ["memory", ["memory"]]);
          assertStringIncludes(events[0]!.message, "takes over 2 s to open");
          assertEquals(await useAll(cache), 1);
        });
      }
      assertEquals(driver.opened, 1);
    }));

  it("is told from one that is merely busy, which is tried again", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("pragma", () => {
        throw new Error("database is locked");
      });
      await withCache({ root, sqlite: driver }, (cache) => assertEquals(cache.kind, "memory"));
      driver.failing = false;
      await withCache({ root, sqlite: driver }, (cache) => assertEquals(cache.kind, "disk"));
    }));
});

describe("caches of one process on one database", () => {
  it("go on in memory when a damaged one cannot be begun anew, and the next to open it tries again", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("open", () => {
        throw new Error("unable to open database file");
      });
      driver.failing = false;
      await withCache({ root, sqlite: driver }, (cache) => {
        for (let file = 0; file < 400; file++) {
          cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file), regions: regionsOf(25) }));
        }
      });
      scribble(databaseOf(root), 8 * 4096);
      await withCache(
        { root, sqlite: driver },
        (broken, events) =>
          withCache({ root, sqlite: driver }, async (bystander, said) => {
            driver.failing = true;
            assertEquals(await useAll(broken), 1);
            assertEquals(await useAll(bystander), 1);
            for (const one of [events, said]) assertEquals(kindsOf(one).filter((kind) => kind === "memory").length, 1);
            driver.failing = false;
            await withCache({ root, sqlite: driver }, (fresh) => {
              assertEquals(fresh.kind, "disk");
              assert(fresh.put("c.ts", sampleMap({ hash: hashOf(3) })));
            });
          }),
      );
      await withCache(root, (cache) => assert(cache.get("c.ts", hashOf(3))));
    }));

  it("share one connection, whatever driver the second asks for", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("open", () => {});
      await withCache({ root, sqlite: driver }, (one) =>
        withCache({ root, sqlite: "node:sqlite" }, (two) => {
          assertEquals([one.driver, two.driver], ["faulty", "faulty"]);
          one.put("a.ts", sampleMap());
          assertEquals(two.get("a.ts", hashOf(1)), sampleMap());
          const { opened } = driver;
          one.close();
          assertEquals(two.get("a.ts", hashOf(1)), sampleMap());
          assertEquals(driver.opened, opened);
        }));
      await withCache({ root, sqlite: "node:sqlite" }, (cache) => assertEquals(cache.driver, "node:sqlite"));
    }));

  it("come back to the disk with the next one to open it, after it broke for good", () =>
    inFolder(async (root) => {
      const driver = await faultyDriver("select", () => {
        throw new Error("database disk image is malformed");
      });
      await withCache({ root, sqlite: driver }, async (broken) => {
        assertEquals(await useAll(broken), 1);
        driver.failing = false;
        await withCache({ root, sqlite: driver }, (fresh) => {
          assertEquals(fresh.kind, "disk");
          assert(fresh.put("c.ts", sampleMap({ hash: hashOf(3) })));
          assert(fresh.get("c.ts", hashOf(3)));
        });
        assertEquals(broken.get("a.ts", hashOf(1)), sampleMap());
      });
    }));
});
