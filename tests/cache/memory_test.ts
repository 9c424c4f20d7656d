import { describe, it } from "node:test";
import { assertEquals } from "@std/assert";
import { memoryCache } from "../../src/cache/memory.ts";
import { testSummaryCache } from "../contracts/cache.ts";
import { hashOf, sampleMap } from "./samples.ts";

testSummaryCache("in memory", async (action) => {
  const cache = memoryCache();
  await action(cache);
  cache.close();
});

describe("the memory cache", () => {
  it("keeps so many paths, and lets the one go that was stored longest ago", () => {
    const cache = memoryCache({ maxPaths: 3 });
    for (const path of ["a.ts", "b.ts", "c.ts", "a.ts", "d.ts"]) cache.put(path, sampleMap({ hash: hashOf(path) }));
    assertEquals(["a.ts", "b.ts", "c.ts", "d.ts"].filter((path) => cache.sizes(path).length), ["a.ts", "c.ts", "d.ts"]);
  });

  it("keeps 512 paths unless told otherwise", () => {
    const cache = memoryCache();
    for (let file = 0; file < 600; file++) cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) }));
    assertEquals(cache.count(), 512);
    assertEquals(cache.sizes("87.ts"), []);
    assertEquals(cache.sizes("88.ts"), [9_000]);
  });

  it("keeps nothing where it may keep nothing", () => {
    const cache = memoryCache({ maxPaths: 0 });
    cache.put("a.ts", sampleMap());
    assertEquals([cache.count(), cache.get("a.ts", hashOf(1))], [0, undefined]);
  });

  it("says that it is one", () => {
    const { kind, driver, file } = memoryCache();
    assertEquals({ kind, driver, file }, { kind: "memory", driver: undefined, file: undefined });
  });
});
