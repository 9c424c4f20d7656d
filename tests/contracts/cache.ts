/**
 * What every summary cache must do, on disk or in memory. Each implementation runs it in its own test file.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { SummaryCache } from "../../src/cache/types.ts";
import type { FileMap, RegionKind } from "../../src/types.ts";
import { hashOf, regionsOf, sampleMap, soon } from "../cache/samples.ts";

/** Declares the suite. `use` gives each test an empty cache and closes it. */
export function testSummaryCache(
  name: string,
  use: (action: (cache: SummaryCache) => Promise<void> | void) => Promise<void>,
): void {
  const test = (title: string, action: (cache: SummaryCache) => Promise<void> | void): void =>
    void it(title, () => use(action));

  describe(`the summary cache ${name}`, () => {
    describe("keeps", () => {
      test("a map whole, every fact of it", (cache) => {
        const maps: FileMap[] = [
          sampleMap(),
          sampleMap({ hash: hashOf(2), dropped: 3, omitted: 12, audit: { verified: 4, moved: 1, dropped: 2 } }),
          sampleMap({ hash: hashOf(3), regions: [], prose: "" }),
          sampleMap({
            hash: hashOf(4),
            size: 2 ** 41,
            createdAt: 2 ** 41 + 5,
            lines: 100_000,
            regions: regionsOf(400),
          }),
        ];
        for (const map of maps) assert(cache.put("src/a.ts", map));
        for (const map of maps) assertEquals(cache.get("src/a.ts", map.hash), map);
      });

      test("nothing under a hash or a path it was not given", (cache) => {
        cache.put("src/a.ts", sampleMap());
        assertEquals(cache.get("src/a.ts", hashOf(2)), undefined);
        assertEquals(cache.get("src/b.rs", hashOf(1)), undefined);
        assertEquals(cache.sizes("src/b.rs"), []);
        assertEquals(cache.at("src/b.rs", hashOf(1), 50), undefined);
      });

      test("the newer of two maps of one content", (cache) => {
        cache.put("a.ts", sampleMap({ regions: regionsOf(20) }));
        const newer = sampleMap({ prose: "Newer.", regions: regionsOf(2) });
        assert(cache.put("a.ts", newer));
        assertEquals(cache.get("a.ts", newer.hash), newer);
        assertEquals(cache.count(), 1);
      });

      test("the four newest versions of a path, and their sizes", (cache) => {
        for (let version = 1; version <= 6; version++) {
          cache.put("a.ts", sampleMap({ hash: hashOf(version), size: version * 100 }));
        }
        assertEquals([1, 2, 3, 4, 5, 6].filter((version) => cache.get("a.ts", hashOf(version))), [3, 4, 5, 6]);
        assertEquals([...cache.sizes("a.ts")].sort(), [300, 400, 500, 600]);
        assertEquals(cache.count(), 4);
      });

      test("how many maps each maker made", (cache) => {
        cache.put("a.ts", sampleMap({ hash: hashOf(1), maker: "scanner" }));
        cache.put("b.ts", sampleMap({ hash: hashOf(2), maker: "model:m" }));
        cache.put("c.ts", sampleMap({ hash: hashOf(3), maker: "model:m" }));
        assertEquals(cache.makers(), { "model:m": 2, scanner: 1 });
      });

      test("a version that is stored again as its newest", (cache) => {
        for (const version of [1, 2, 3, 4, 1, 5]) cache.put("a.ts", sampleMap({ hash: hashOf(version) }));
        assertEquals([1, 2, 3, 4, 5].filter((version) => cache.get("a.ts", hashOf(version))), [1, 3, 4, 5]);
      });

      test("a size once, however many versions have it", (cache) => {
        cache.put("a.ts", sampleMap({ hash: hashOf(1), size: 7 }));
        cache.put("a.ts", sampleMap({ hash: hashOf(2), size: 7 }));
        assertEquals(cache.sizes("a.ts"), [7]);
      });

      test("text of any language, with control characters and half characters taken out", (cache) => {
        const region = { start: 1, end: 2, kind: "other" as const, name: "名\0前\u0007", note: "a\r\nb\u2028c\u009bd" };
        cache.put("dir ü/ファイル.ts", sampleMap({ prose: "日本\0語 🙂 \ud83d end\n2", regions: [region] }));
        const map = cache.get("dir ü/ファイル.ts", hashOf(1));
        assertEquals(map?.prose, "日本 語 🙂 \ufffd end 2");
        assertEquals(map?.regions, [{ start: 1, end: 2, kind: "other", name: "名 前 ", note: "a b c d" }]);
      });

      test("paths apart that differ in case, spaces or dots", (cache) => {
        const paths = ["a.ts", "A.ts", "a .ts", "./a.ts", "x/a.ts", "a.ts/a.ts", "%.ts", "_.ts"];
        paths.forEach((path, index) => cache.put(path, sampleMap({ hash: hashOf(index + 10), size: index })));
        paths.forEach((path, index) => assertEquals(cache.sizes(path), [index]));
      });

      test("no map that makes no sense, whoever made it, and comes to no harm", async (cache) => {
        const [region] = regionsOf(1),
          wrong: Record<string, unknown>[] = [
            { size: NaN },
            { size: "9000" },
            { lines: -1 },
            { lines: 1.5 },
            { prose: undefined },
            { prose: 7 },
            { maker: null },
            { promptVersion: undefined },
            { createdAt: Infinity },
            { usage: undefined },
            { usage: { calls: 1n } },
            { regions: undefined },
            { regions: "none" },
            { regions: [{ ...region, end: 301 }] },
            { regions: [{ ...region, start: 0 }] },
            { regions: [{ ...region, start: 9, end: 8 }] },
            { regions: [{ ...region, note: undefined }] },
            { regions: [{ ...region, name: { toString: () => "f" } }] },
            { regions: [region, null] },
          ];
        for (const facts of wrong) {
          const map = sampleMap(facts as Partial<FileMap>), { hash } = map;
          assertEquals(cache.put("a.ts", map, { force: true }), false, Object.keys(facts).join());
          const made = await cache.once({ path: "a.ts", hash, wanted: 2, signal: soon() }, () => Promise.resolve(map));
          assert(made.map === map && made.mine);
          assertEquals([cache.get("a.ts", hash), cache.count()], [undefined, 0]);
        }
        assert(cache.put("a.ts", sampleMap()));
        assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
      });

      test("whatever map it is given", (cache) => {
        const word = fc.stringMatching(/^[\p{L}\p{N} .,:;"'{}\[\]\\]{0,30}$/u);
        const kinds: RegionKind[] = ["import", "class", "method", "other"];
        const regions = fc.array(
          fc.record({
            start: fc.integer({ min: 1, max: 500 }),
            size: fc.nat(400),
            kind: fc.constantFrom(...kinds),
            name: word,
            note: word,
          }),
          { maxLength: 12 },
        ).map((list) => list.map(({ start, size, ...rest }) => ({ start, end: start + size, ...rest })));
        let seed = 0;
        fc.assert(
          fc.property(
            regions,
            word,
            fc.nat(2 ** 40),
            fc.option(fc.nat(9), { nil: undefined }),
            (regions, prose, size, dropped) => {
              const map = sampleMap({
                hash: hashOf(`p${seed++}`),
                lines: 1_000,
                regions,
                prose,
                size,
                ...(dropped === undefined ? {} : { dropped }),
              });
              cache.put("p.ts", map);
              assertEquals(cache.get("p.ts", map.hash), map);
              for (const line of [1, 250, 900]) {
                const around = regions.filter((region) => region.start <= line && region.end >= line);
                const found = cache.at("p.ts", map.hash, line);
                assertEquals(found === undefined, around.length === 0);
                if (found) {
                  assertEquals(
                    found.end - found.start,
                    Math.min(...around.map(({ start, end }) => end - start)),
                  );
                }
              }
            },
          ),
          { numRuns: 60 },
        );
      });
    });

    describe("answers what is at a line", () => {
      const nested = sampleMap({
        regions: [
          { start: 1, end: 300, kind: "class", name: "Outer", note: "" },
          { start: 20, end: 80, kind: "class", name: "Inner", note: "" },
          { start: 30, end: 40, kind: "method", name: "deep", note: "called by all" },
          { start: 30, end: 40, kind: "method", name: "deepest", note: "" },
        ],
      });

      test("with the innermost region, its first and last line included", (cache) => {
        cache.put("a.ts", nested);
        const names = [1, 19, 20, 29, 30, 40, 41, 80, 81, 300].map((line) => cache.at("a.ts", nested.hash, line)?.name);
        assertEquals(names, [
          "Outer",
          "Outer",
          "Inner",
          "Inner",
          "deepest",
          "deepest",
          "Inner",
          "Inner",
          "Outer",
          "Outer",
        ]);
        assertEquals(cache.at("a.ts", nested.hash, 35), {
          start: 30,
          end: 40,
          kind: "method",
          name: "deepest",
          note: "",
        });
      });

      test("with nothing in a gap, outside the file, or at another hash", (cache) => {
        cache.put("a.ts", sampleMap());
        assertEquals([9, 150, 0, -1, 301].map((line) => cache.at("a.ts", hashOf(1), line)), Array(5).fill(undefined));
        assertEquals(cache.at("a.ts", hashOf(2), 50), undefined);
      });

      test("from the same map that a read would get", (cache) => {
        cache.put("old.ts", nested);
        assertEquals(cache.at("new.ts", nested.hash, 35)?.name, "deepest");
      });
    });

    describe("with content under another name", () => {
      test("uses the map and keeps it under the new name too", (cache) => {
        cache.put("old/name.ts", sampleMap());
        assertEquals(cache.get("new/name.ts", hashOf(1)), sampleMap());
        cache.forget("old/name.ts");
        assertEquals(cache.get("new/name.ts", hashOf(1)), sampleMap());
        assertEquals(cache.sizes("new/name.ts"), [9_000]);
      });

      test("does not where the extension differs", (cache) => {
        cache.put("a.ts", sampleMap());
        for (const path of ["a.js", "a.d.tsx", "ats", "a", ".ts", "a.TS"]) {
          assertEquals(cache.get(path, hashOf(1)), undefined, path);
        }
        cache.put("Makefile", sampleMap({ hash: hashOf(2) }));
        assertEquals(cache.get("x/Makefile.ts", hashOf(2)), undefined);
        assertEquals(cache.get("x/Rakefile", hashOf(2)), sampleMap({ hash: hashOf(2) }));
      });

      test("prefers its own map to an equal one, and a better one to its own", (cache) => {
        cache.put("own.ts", sampleMap({ prose: "Own.", maker: "outline" }));
        cache.put("other.ts", sampleMap({ prose: "Other.", maker: "outline" }));
        assertEquals(cache.get("own.ts", hashOf(1))?.prose, "Own.");
        cache.put("better.ts", sampleMap({ prose: "Better.", maker: "model:x" }));
        assertEquals(cache.get("own.ts", hashOf(1))?.prose, "Better.");
        cache.forget("better.ts");
        assertEquals(cache.get("own.ts", hashOf(1))?.prose, "Better.");
      });
    });

    describe("with two makers of one map", () => {
      test("replaces a scanner's by an outline's by a model's, never the other way round", (cache) => {
        const makers = ["scanner", "outline", "model:a"];
        for (const before of makers) {
          for (const after of makers) {
            const path = `${before}/${after}.ts`, hash = hashOf(path);
            cache.put(path, sampleMap({ hash, maker: before }));
            const better = makers.indexOf(after) >= makers.indexOf(before);
            assertEquals(cache.put(path, sampleMap({ hash, maker: after })), better, path);
            assertEquals(cache.get(path, hash)?.maker, better ? after : before, path);
          }
        }
      });

      test("replaces one model's by another's", (cache) => {
        cache.put("a.ts", sampleMap({ maker: "model:a" }));
        assert(cache.put("a.ts", sampleMap({ maker: "model:b" })));
        assertEquals(cache.get("a.ts", hashOf(1))?.maker, "model:b");
      });

      test("does as it is told by force", (cache) => {
        cache.put("a.ts", sampleMap());
        assert(cache.put("a.ts", sampleMap({ maker: "scanner", prose: "Forced." }), { force: true }));
        assertEquals(cache.get("a.ts", hashOf(1))?.prose, "Forced.");
      });
    });

    describe("removes", () => {
      test("all versions of a path, and says how many", (cache) => {
        for (const version of [1, 2, 3]) cache.put("a.ts", sampleMap({ hash: hashOf(version) }));
        cache.put("b.ts", sampleMap({ hash: hashOf(9) }));
        assertEquals(cache.forget("a.ts"), 3);
        assertEquals(cache.forget("a.ts"), 0);
        assertEquals(cache.get("a.ts", hashOf(1)), undefined);
        assertEquals(cache.at("a.ts", hashOf(1), 50), undefined);
        assertEquals(cache.count(), 1);
      });

      test("what is not to be kept, and says of how many files", (cache) => {
        for (let file = 0; file < 250; file++) {
          cache.put(`src/${file}.ts`, sampleMap({ hash: hashOf(file) }));
          cache.put(`src/${file}.ts`, sampleMap({ hash: hashOf(`${file}b`) }));
        }
        const asked = new Set<string>();
        assertEquals(cache.prune((path) => (asked.add(path), path.endsWith("0.ts"))), 225);
        assertEquals(asked.size, 250);
        assertEquals(cache.count(), 50);
        assert(cache.get("src/10.ts", hashOf("10b")));
        assertEquals(cache.get("src/11.ts", hashOf(11)), undefined);
        assertEquals(cache.prune(() => true), 0);
      });
    });

    describe("makes a map once", () => {
      const request = (overrides: { path?: string; hash?: string; wanted?: number; signal?: AbortSignal } = {}) => ({
        path: "a.ts",
        hash: hashOf(1),
        wanted: 2,
        signal: soon(),
        ...overrides,
      });

      test("for all who ask for it at the same time", async (cache) => {
        let runs = 0;
        const run = async (): Promise<FileMap> => {
          runs++;
          await new Promise((resolve) => setTimeout(resolve, 60));
          return sampleMap();
        };
        const all = await Promise.all(Array.from({ length: 10 }, () => cache.once(request(), run)));
        assertEquals(runs, 1);
        assertEquals(all.filter((result) => result.mine).length, 1);
        for (const { map } of all) assertEquals(map, sampleMap());
        assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
      });

      test("under any name of the same kind", async (cache) => {
        let runs = 0;
        const run = async (): Promise<FileMap> => {
          runs++;
          await new Promise((resolve) => setTimeout(resolve, 40));
          return sampleMap();
        };
        await Promise.all(["a.ts", "b.ts", "c.ts"].map((path) => cache.once(request({ path }), run)));
        assertEquals(runs, 1);
      });

      test("and not at all where it is there", async (cache) => {
        cache.put("a.ts", sampleMap());
        const result = await cache.once(request(), () => Promise.reject(new Error("must not run")));
        assertEquals(result, { map: sampleMap(), mine: false });
      });

      test("again where a better maker is at hand", async (cache) => {
        cache.put("a.ts", sampleMap({ maker: "outline" }));
        const { map, mine } = await cache.once(request(), () => Promise.resolve(sampleMap()));
        assertEquals([map.maker, mine], ["model:test", true]);
        assertEquals(cache.get("a.ts", hashOf(1))?.maker, "model:test");
      });

      test("and rejects with what the run rejects with, and lets the next try", async (cache) => {
        const failure = new Error("no answer");
        const error = await assertRejects(() => cache.once(request(), () => Promise.reject(failure)));
        assert(error === failure);
        assertEquals(cache.count(), 0);
        assertEquals((await cache.once(request(), () => Promise.resolve(sampleMap()))).mine, true);
      });

      test("and a waiter takes over from a run that failed", async (cache) => {
        let runs = 0;
        const run = async (): Promise<FileMap> => {
          const first = ++runs === 1;
          await new Promise((resolve) => setTimeout(resolve, 30));
          if (first) throw new Error("no answer");
          return sampleMap();
        };
        const results = await Promise.allSettled([cache.once(request(), run), cache.once(request(), run)]);
        assertEquals(results.map((result) => result.status).sort(), ["fulfilled", "rejected"]); // whichever was first
        assertEquals(runs, 2);
      });

      test("and a waiter that is aborted goes at once, while the run goes on", async (cache) => {
        const gate = Promise.withResolvers<FileMap>(), controller = new AbortController(), reason = new Error("enough");
        const first = cache.once(request(), () => gate.promise);
        const second = cache.once(
          request({ signal: controller.signal }),
          () => Promise.reject(new Error("must not run")),
        );
        setTimeout(() => controller.abort(reason), 30);
        assert(await assertRejects(() => second) === reason);
        gate.resolve(sampleMap());
        assertEquals((await first).mine, true);
      });

      test("and hands the caller's signal to the run", async (cache) => {
        const signal = soon();
        let given: AbortSignal | undefined;
        await cache.once(request({ signal }), (signal) => (given = signal, Promise.resolve(sampleMap())));
        assert(given === signal);
      });

      test("and does nothing for a signal that is aborted already", async (cache) => {
        const reason = new Error("too late");
        const error = await assertRejects(() =>
          cache.once(request({ signal: AbortSignal.abort(reason) }), () => Promise.reject(new Error("must not run")))
        );
        assert(error === reason);
      });
    });

    test("can be closed twice, and asked afterwards", (cache) => {
      cache.put("a.ts", sampleMap());
      cache.close();
      cache.close();
      assertEquals(cache.get("a.ts", hashOf(1)), undefined);
      assertEquals(cache.at("a.ts", hashOf(1), 50), undefined);
      assertEquals(cache.sizes("a.ts"), []);
      assertEquals([cache.count(), cache.forget("a.ts"), cache.prune(() => false)], [0, 0, 0]);
    });
  });
}
