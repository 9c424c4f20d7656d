import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { WaymarkError } from "../src/errors.ts";
import type { WaymarkEvent } from "../src/events.ts";
import { disk } from "../src/files.ts";
import { stripAnnotations } from "../src/file_map.ts";
import type { Model, OutlineParser, Region, Summarizer, Summary } from "../src/types.ts";
import type { Notice, Waymark, WaymarkOptions } from "../src/options.ts";
import { createSession } from "../src/session.ts";
import { scriptedModel } from "../src/testing.ts";
import { toolUseSummary } from "../src/tool_use.ts";
import { createTeller, createWaymark } from "../src/waymark.ts";
import { code, inFolder, type PlainArguments, plainTool, put, until } from "./support.ts";

const usage = { calls: 1, input: 1000, output: 200, cacheRead: 30, cacheWrite: 4, ms: 1 };

/** A summarizer whose map names the first function of the very text it was given. */
function model(change: Partial<Summary> = {}): Summarizer & { runs: number } {
  const made: Summarizer & { runs: number } = {
    maker: "model:test",
    version: 1,
    runs: 0,
    summarize(file, { spend }) {
      made.runs++;
      spend();
      const regions: Region[] = file.text.split("\n").flatMap((line, index): Region[] => {
        const name = /function (\w+)/.exec(line)?.[1];
        return name ? [{ start: index + 1, end: index + 1, kind: "function", name, note: "" }] : [];
      });
      return Promise.resolve({
        prose: `Has ${regions.length} functions.`,
        regions: regions.slice(0, 400),
        usage,
        ...change,
      });
    },
  };
  return made;
}

/** One instance over one folder, closed when the action is done. */
async function withWaymark<Value>(
  folder: string,
  options: WaymarkOptions,
  action: (
    parts: { waymark: Waymark; read: (args: unknown) => Promise<string>; events: WaymarkEvent[]; notices: Notice[] },
  ) => Promise<Value>,
): Promise<Value> {
  const events: WaymarkEvent[] = [], notices: Notice[] = [];
  const waymark = createWaymark({
    root: folder,
    onEvent: (event) => events.push(event),
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  try {
    const read = waymark.wrap(plainTool(folder).read, { facts: () => ({ cwd: folder }) }) as unknown as (
      args: unknown,
    ) => Promise<string>;
    return await action({ waymark, read, events, notices });
  } finally {
    await waymark.close();
  }
}

describe("createWaymark(): a read of a long file", () => {
  it("costs one run, then nothing, and the map follows an edit", () =>
    inFolder(async (folder) => {
      put(folder, "src/a.ts", code(300));
      const summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ read, waymark }) => {
        assertStringIncludes(await read({ path: "src/a.ts" }), "Has 300 functions.");
        assertStringIncludes(await read({ path: "src/a.ts" }), "250-250  function  f250");
        assertEquals([summarizer.runs, waymark.stats().modelCalls, waymark.stats().hits], [1, 1, 1]);
        writeFileSync(join(folder, "src/a.ts"), `// new first line\n${code(300)}`);
        assertStringIncludes(await read({ path: "src/a.ts" }), "251-251  function  f250");
        assertEquals(summarizer.runs, 2);
      });
    }));

  it("costs nothing in the next process: the map is kept in .summaries/ of the project", () =>
    inFolder(async (folder) => {
      put(folder, "src/a.ts", code(300));
      await withWaymark(folder, { summarizer: model() }, ({ read }) => read({ path: "src/a.ts" }));
      assert(existsSync(join(folder, ".summaries/summaries.db")));
      assertEquals(readFileSync(join(folder, ".summaries/.gitignore"), "utf8").trim(), "*");
      const again = model();
      await withWaymark(folder, { summarizer: again }, async ({ read }) => {
        assertStringIncludes(await read({ path: "src/a.ts" }), "[waymark map");
        assertEquals(again.runs, 0);
      });
    }));

  it("trusts the hash alone: the same size and time with other bytes is another file, a touch is not", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300)), summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ read }) => {
        await read({ path: "a.ts" });
        const { atime, mtime } = statSync(path);
        writeFileSync(path, code(300).replace("f250", "g250"));
        utimesSync(path, atime, mtime);
        assertStringIncludes(await read({ path: "a.ts" }), "function  g250");
        assertEquals(summarizer.runs, 2);
        for (const time of [0, 4_000_000_000]) {
          utimesSync(path, time, time);
          await read({ path: "a.ts" });
        }
        assertEquals(summarizer.runs, 2);
      });
    }));

  it("costs nothing after a rename, or when a branch is switched back and forth", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300)), summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ read }) => {
        await read({ path: "a.ts" });
        renameSync(path, join(folder, "b.ts"));
        await read({ path: "b.ts" });
        assertEquals(summarizer.runs, 1);
        for (const text of [code(301), code(300), code(301), code(300)]) {
          put(folder, "b.ts", text);
          await read({ path: "b.ts" });
        }
        assertEquals(summarizer.runs, 2);
      });
    }));

  it("shares one run between two hundred reads at once", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ read }) => {
        const texts = await Promise.all(Array.from({ length: 200 }, () => read({ path: "a.ts" })));
        assertEquals([summarizer.runs, new Set(texts).size], [1, 1]);
      });
    }));

  it("needs no model, key or network: the built-in scanner makes the map and says so", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      await withWaymark(folder, {}, async ({ read, waymark }) => {
        const text = await read({ path: "a.ts" });
        assertStringIncludes(text, "250-250  function  f250");
        assertStringIncludes(text, "it can miss declarations");
        assertEquals(waymark.stats().modelCalls, 0);
      });
    }));
});

describe("createWaymark(): beside another that makes the same maps", () => {
  it("asks nobody with little time left behind another's run that hung, and blames nobody for it", () =>
    inFolder(async (folder) => {
      const names = ["a.ts", "b.ts", "c.ts"], leaving = new AbortController(), { signal } = leaving;
      for (const [index, name] of [...names, "d.ts"].entries()) put(folder, name, code(300 + index));
      let begun = 0, asked = 0, answered = 0;
      const hung: Summarizer = { ...model(), summarize: () => (begun++, new Promise(() => {})) };
      const slow: Summarizer = {
        ...model(),
        async summarize(...given) {
          asked++;
          await new Promise((resolve) => setTimeout(resolve, 100));
          answered++;
          return await model().summarize(...given);
        },
      };
      await withWaymark(
        folder,
        { summarizer: hung },
        ({ waymark: other }) =>
          withWaymark(folder, { summarizer: slow, limits: { timeoutMs: 4000 } }, async ({ waymark, events }) => {
            const left = Promise.allSettled(names.map((name) => other.summarize(join(folder, name), { signal })));
            await until(() => begun === names.length);
            const waits = names.map((name) =>
              waymark.summarize(join(folder, name)).then(() => "a map", ({ message }) => message)
            );
            await until(() => events.filter(({ type }) => type === "miss").length === names.length);
            await new Promise((resolve) => setTimeout(resolve, 3000)); // over half of the time
            leaving.abort();
            for (const words of await Promise.all(waits)) assertStringIncludes(words, "no turn within");
            assertEquals([asked, answered], [0, 0]);
            assertEquals((await waymark.summarize(join(folder, "d.ts"))).lines, 303);
            assertEquals([asked, answered], [1, 1]);
            await left;
          }),
      );
    }));
});

describe("createWaymark(): where maps are kept", () => {
  it("keeps files outside the root in memory only, also those a link leads to", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const path = put(outside, "secret_name.ts", code(300)), summarizer = model({ prose: "Outside words." });
        symlinkSync(path, join(folder, "link.ts"));
        await withWaymark(folder, { summarizer }, async ({ read }) => {
          for (const named of [path, "link.ts", path]) {
            assertStringIncludes(await read({ path: named }), "[waymark map");
          }
          assertEquals(summarizer.runs, 1);
        });
        assertEquals(existsSync(join(outside, ".summaries")), false);
        if (existsSync(join(folder, ".summaries"))) {
          for (const name of ["summaries.db", "summaries.db-wal"]) {
            const file = join(folder, ".summaries", name);
            if (existsSync(file)) assert(!readFileSync(file, "latin1").includes("Outside words."));
          }
        }
      })
    ));

  it("makes one map of the same bytes in the project and outside, read at once, and keeps it for both", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const maker = model(), paths = [folder, outside].map((place) => put(place, "a.ts", code(300)));
        const both = Promise.withResolvers<void>(), missed = new Set<string>();
        const onEvent = (event: WaymarkEvent): void => {
          if (event.type === "miss" && missed.add(event.path).size === 2) setTimeout(both.resolve, 10);
        };
        const summarize: Summarizer["summarize"] = (...given) => both.promise.then(() => maker.summarize(...given));
        await withWaymark(folder, { summarizer: { ...maker, summarize }, onEvent }, async ({ read }) => {
          for (let time = 0; time < 2; time++) {
            for (const text of await Promise.all(paths.map((path) => read({ path })))) {
              assertStringIncludes(text, "[waymark map");
            }
          }
          assertEquals(maker.runs, 1);
        });
      })
    ));

  it("summarizes nothing outside the folders the host allows", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const path = put(outside, "a.ts", code(300)), summarizer = model();
        await withWaymark(folder, { summarizer, roots: [folder] }, async ({ read, waymark }) => {
          assertEquals(await read({ path }), code(300));
          const error = await assertRejects(() => waymark.summarize(path), WaymarkError);
          assertEquals([error.code, summarizer.runs], ["not-allowed", 0]);
        });
      })
    ));

  it("summarizes nothing where a folder the host allows cannot be told, and takes a source's folders as they are named", () =>
    inFolder(async (folder) => {
      const path = put(folder, "real/a.ts", code(300)), gone = join(folder, "gone"), before = process.cwd();
      mkdirSync(gone);
      process.chdir(gone);
      try {
        rmSync(gone, { recursive: true });
        await withWaymark(folder, { roots: ["."] }, async ({ waymark }) => {
          assertEquals((await assertRejects(() => waymark.summarize(path), WaymarkError)).code, "not-allowed");
        });
      } finally {
        process.chdir(before);
      }
      symlinkSync(join(folder, "real"), join(folder, "link"));
      const source = { read: () => new TextEncoder().encode(code(300)) }, roots = [join(folder, "link")];
      await withWaymark(folder, { source, roots }, async ({ waymark }) => {
        assertEquals((await waymark.summarize(join(folder, "link/a.ts"))).lines, 300);
        assertEquals((await assertRejects(() => waymark.summarize(path), WaymarkError)).code, "not-allowed");
      });
    }));

  it("summarizes what lies in an allowed folder by whatever link the folder or the file is named, and nothing else", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const project = join(folder, "project"), link = join(folder, "link");
        mkdirSync(project);
        symlinkSync(project, link);
        const own = put(project, "a.ts", code(300)), other = put(outside, "b.ts", code(300));
        symlinkSync(other, join(project, "out.ts"));
        symlinkSync(put(outside, ".env", "KEY=1\n"), join(outside, "notes"));
        for (const root of [project, link]) {
          const waymark = createWaymark({ root: project, cache: false, roots: [root], onNotice() {} });
          const read = waymark.wrap(({ path }: PlainArguments) => readFileSync(path, "utf8"));
          for (const path of [own, join(link, "a.ts")]) {
            assertStringIncludes(await read({ path }), "[waymark map", `${root} ${path}`);
          }
          for (
            const path of [other, join(link, "out.ts"), join(link, "..", "link", "out.ts"), join(project, "out.ts")]
          ) {
            assertEquals(await read({ path }), code(300), `${root} ${path}`);
          }
          const say = (path: string) => waymark.summarize(path).catch(({ message }) => message.replace(path, ""));
          const outsider = await say(other);
          assertStringIncludes(outsider, "does not lie in the folders");
          for (const name of ["none.ts", ".", "..", "b.ts/c", "notes"]) {
            assertEquals(await say(join(outside, name)), outsider);
          }
          assertStringIncludes(await say(join(root, "none.ts")), "Cannot read");
          await waymark.close();
        }
      })
    ));

  it("tells nothing of what lies outside the folders the host allows, wherever a link in them leads, and of what is missing in them that it is missing", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const project = join(folder, "project"), link = join(folder, "link");
        mkdirSync(project);
        symlinkSync(project, link);
        put(outside, "there.ts", code(300));
        symlinkSync("self", join(outside, "self"));
        symlinkSync(outside, join(project, "out"));
        symlinkSync(join(outside, "there.ts"), join(project, "there.ts"));
        symlinkSync(join(outside, "none.ts"), join(project, "dangling.ts"));
        const waymark = createWaymark({ root: project, cache: false, roots: [project], onNotice() {} });
        const say = (path: string) => waymark.summarize(path).catch(({ message }) => message.replace(path, ""));
        const outsider = await say(join(outside, "there.ts"));
        assertStringIncludes(outsider, "does not lie in the folders");
        for (
          const name of [
            "out/there.ts",
            "out/none.ts",
            "out/there.ts/x",
            "out/self",
            "there.ts",
            "dangling.ts",
          ]
        ) {
          assertEquals(await say(`${project}/${name}`), outsider, name);
        }
        for (
          const path of [
            `${project}/none.ts`,
            `${link}/none.ts`,
            `${project}/none/deep.ts`,
            `${link}/../project/none.ts`,
            `${project}/${"a/".repeat(50_000)}b.ts`,
          ]
        ) {
          assertStringIncludes(await say(path), "Cannot read", path.slice(0, 100));
        }
        await waymark.close();
      })
    ));

  it("opens and creates nothing before the first long read", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(100));
      await withWaymark(folder, {}, async ({ read, waymark }) => {
        await read({ path: "a.ts" });
        await read({ path: "a.ts", limit: 10 });
        waymark.stats();
        assertEquals(existsSync(join(folder, ".summaries")), false);
      });
    }));

  it("keeps nothing anywhere with cache: false", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const summarizer = model();
      await withWaymark(folder, { summarizer, cache: false }, async ({ read }) => {
        await read({ path: "a.ts" });
        await read({ path: "a.ts" });
        assertEquals([summarizer.runs, existsSync(join(folder, ".summaries"))], [2, false]);
      });
    }));

  it("ends what is under way at whatever moment it is closed, and leaves no lease that others would wait for", () =>
    inFolder(async (folder) => {
      const asked: AbortSignal[] = [];
      const summarize: Summarizer["summarize"] = (_, { signal, spend }) => {
        spend();
        asked.push(signal);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      };
      const summarizer = { maker: "model:mute", version: 1, summarize }, limits = { timeoutMs: 100 };
      await withWaymark(folder, {}, async ({ waymark }) => {
        assertEquals((await waymark.lookup(put(folder, "a.ts", code(300)), 1)).status, "absent");
        for (let moments = 0; moments < 80; moments++) {
          const path = put(folder, `${moments}.ts`, code(300 + moments));
          await withWaymark(folder, { summarizer, limits }, async ({ read, waymark }) => {
            const reading = read({ path });
            for (let moment = 0; moment < moments; moment++) await Promise.resolve();
            if (moments > 40) await new Promise((resolve) => setTimeout(resolve, 1));
            await waymark.close();
            const late = asked.filter(({ aborted }) => !aborted).length;
            assertStringIncludes(await reading, code(300 + moments));
            assertEquals(late, 0, `after ${moments} moments`);
          });
        }
      });
      const database = new DatabaseSync(join(folder, ".summaries/summaries.db"));
      assertEquals({ ...database.prepare("select count(*) as left from leases").get() }, { left: 0 });
      database.close();
    }));

  it("serves at once what was being read when it was closed, however far the read had come", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300));
      for (const isTracked of [false, true]) {
        for (let steps = 0; steps < 12; steps++) {
          const summarizer = { ...model(), summarize: () => new Promise<never>(() => {}) };
          const session = isTracked ? createSession() : undefined;
          const waymark = createWaymark({ root: folder, cache: false, summarizer, session, onNotice() {} });
          const reading = waymark.wrap(plainTool(folder).read)({ path });
          for (let step = 0; step < steps; step++) await new Promise((resolve) => setTimeout(resolve, 0));
          await waymark.close();
          let timer: ReturnType<typeof setTimeout> | undefined;
          const late = new Promise((resolve) => timer = setTimeout(resolve, 20_000, "it waits for the model"));
          assertStringIncludes(String(await Promise.race([reading, late])), "it was closed meanwhile");
          clearTimeout(timer);
        }
      }
    }));

  it("reads on after close, in memory, and closes twice without harm", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      await withWaymark(folder, {}, async ({ read, waymark }) => {
        await read({ path: "a.ts" });
        await waymark.close();
        assertStringIncludes(await read({ path: "a.ts" }), "[waymark map");
        await waymark[Symbol.asyncDispose]();
      });
    }));

  it("does not hold the project open: the folder can go and come back, a hundred times", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (let round = 0; round < 100; round++) {
        await withWaymark(
          folder,
          { onNotice: () => assert(false, "nothing to notice") },
          ({ read }) => read({ path: "a.ts" }),
        );
        rmSync(join(folder, ".summaries"), { recursive: true });
      }
    }));
});

describe("createWaymark(): failures", () => {
  const broken = (): Summarizer => ({
    maker: "model:broken",
    version: 1,
    summarize: () => Promise.reject(new WaymarkError("provider-error", "Cannot summarize: status 400")),
  });

  it("never break a read, are told to the model every time and to the person once", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      put(folder, "b.ts", code(301));
      await withWaymark(folder, { summarizer: broken() }, async ({ read, notices, waymark }) => {
        for (const [path, lines] of [["a.ts", 300], ["b.ts", 301], ["a.ts", 300]] as const) {
          const text = await read({ path });
          assertEquals(stripAnnotations(text), code(lines));
          assertStringIncludes(text, "status 400");
        }
        assertEquals(notices.map((notice) => notice.reason), ["provider-error"]);
        assertEquals(waymark.stats().failures, 3);
      });
    }));

  it("give a parser's map as well where the fallback is asked for", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      await withWaymark(folder, { summarizer: broken(), fallback: "outline" }, async ({ read }) => {
        const text = await read({ path: "a.ts" });
        assertEquals(stripAnnotations(text).trimEnd(), code(200));
        assertStringIncludes(text, "status 400");
        assertStringIncludes(text, "250-250  function  f250");
      });
    }));

  it("never reach the host's code: hooks that throw are on their own", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const hook = () => {
        throw new Error("hook");
      };
      const lateHook = () => Promise.reject(new Error("hook")); // unhandled, it would end the process
      for (const [onEvent, onNotice] of [[hook, hook], [lateHook, lateHook]] as const) {
        await withWaymark(folder, { summarizer: broken(), onEvent, onNotice }, async ({ read }) => {
          assertEquals(stripAnnotations(await read({ path: "a.ts" })), code(300));
        });
      }
    }));

  it("are refused where they mean nothing: a limit that is no number would be none", () => {
    const wrong: WaymarkOptions[] = [
      ...[0, -1, 1.5, NaN, "200" as unknown as number, null as unknown as number].map((maxLines) => ({ maxLines })),
      ...[NaN, -1].flatMap((number) => [
        { maxFileBytes: number },
        { limits: { maxModelCalls: number } },
        { limits: { retryAfterMs: number } },
        { limits: { timeoutMs: number } },
      ]),
      ...[0, NaN].map((maxConcurrentCalls) => ({ limits: { maxConcurrentCalls } })),
      { model: { name: "makes-no-maps", complete: () => Promise.reject(new Error()) } as unknown as Model },
      { summarizer: {} as Summarizer },
      { fallback: "scanner" as "outline" },
      ...[[""], "src", [5], null].map((roots) => ({ roots: roots as unknown as string[] })),
      ...[["[z-a].ts"], "*.ts" as unknown as string[]].flatMap((globs) => [{ include: globs }, { exclude: globs }]),
    ];
    for (const options of wrong) {
      assertEquals(assertThrows(() => createWaymark(options), WaymarkError).code, "invalid-option");
    }
  });

  it("name the model, or the option, that makes no maps", () => {
    const broken = { name: "broken-model", complete: () => Promise.reject(new Error()) } as unknown as Model;
    for (
      const [options, words] of [
        [{ model: broken }, "model broken-model: it makes none; see completionModel()"],
        [{ model: {} as Model }, "model (unnamed): it makes none; see completionModel()"],
        [{ summarizer: {} as Summarizer, model: broken }, "summarizer: it has no summarize()"],
        [{ outline: {} as OutlineParser }, "outline: it has no summarize()"],
        [{ outline: {} as OutlineParser, summarizer: model(), fallback: "outline" }, "outline: it has no summarize()"],
      ] as const
    ) {
      const { message } = assertThrows(() => createWaymark(options), WaymarkError);
      assertEquals(message, `Cannot make maps with ${words}`);
    }
  });

  it("may be without end", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (const timeoutMs of [Infinity, 2 ** 40]) {
        const limits = { timeoutMs, maxModelCalls: Infinity, maxConcurrentCalls: Infinity, retryAfterMs: Infinity };
        const options = { summarizer: model(), limits, maxFileBytes: Infinity, cache: false };
        await withWaymark(folder, options, async ({ read }) => {
          assertStringIncludes(await read({ path: "a.ts" }), "PARTIAL, lines 1-200 of 300");
        });
        await withWaymark(folder, { ...options, maxLines: Infinity }, async ({ read }) => {
          assertEquals(await read({ path: "a.ts" }), code(300));
        });
      }
    }));
});

describe("createWaymark(): summarize and lookup", () => {
  it("summarizes any text file, and again on refresh", () =>
    inFolder(async (folder) => {
      put(folder, "short.ts", "function one() {}\n");
      const summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ waymark }) => {
        const map = await waymark.summarize("short.ts", { cwd: folder });
        assertEquals([map.lines, map.regions.length, map.maker], [1, 1, "model:test"]);
        await waymark.summarize("short.ts", { cwd: folder });
        await waymark.summarize("short.ts", { cwd: folder, refresh: true });
        assertEquals(summarizer.runs, 2);
      });
    }));

  it("rejects with an error of ours that names the file, whatever a disk, a source or an abort rejects with", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(90_000));
      const fail = async (options: WaymarkOptions, signal?: AbortSignal): Promise<void> =>
        await withWaymark(folder, options, async ({ waymark }) => {
          for (const ask of [() => waymark.summarize(path, { signal }), () => waymark.lookup(path, 1, { signal })]) {
            const error = await assertRejects(ask, WaymarkError);
            assertStringIncludes(error.message, `Cannot read ${path}: `);
            codes.push(error.code);
          }
        });
      const codes: string[] = [], mute = { read: () => new Promise<never>(() => {}) };
      await fail({}, AbortSignal.abort());
      await fail({}, AbortSignal.abort("enough"));
      await fail({ source: mute, limits: { timeoutMs: 20 } });
      await fail({ source: { read: () => Promise.reject(new Error("the container is gone")) } });
      await fail({ source: { read: () => Promise.resolve(undefined) } });
      const each = ["aborted", "aborted", "timeout", "not-found", "not-found"];
      assertEquals(codes, each.flatMap((code) => [code, code]));
    }));

  it("looks up a line from the kept map alone: found, between, stale, absent", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", `${code(3)}\n// nothing\n`), summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ waymark }) => {
        assertEquals(await waymark.lookup(path, 2), { status: "absent", kept: "disk" });
        await waymark.summarize(path);
        assertEquals(await waymark.lookup(path, 2), {
          status: "found",
          region: { start: 2, end: 2, kind: "function", name: "f2", note: "" },
          omitted: 0,
        });
        assertEquals(await waymark.lookup(path, 4), { status: "between", lines: 4, omitted: 0 });
        writeFileSync(path, `${code(3)}\n// other!!\n`);
        assertEquals(await waymark.lookup(path, 2), { status: "stale" });
        writeFileSync(path, "short");
        assertEquals(await waymark.lookup(path, 1), { status: "stale" });
        assertEquals(summarizer.runs, 1);
        await assertRejects(() => waymark.lookup("missing.ts", 1), WaymarkError);
      });
    }));

  it("says of a line that there is no map, only a summary, where the model gave no usable region", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300)), summarizer = model({ regions: [] });
      await withWaymark(folder, { summarizer }, async ({ waymark }) => {
        await waymark.summarize(path);
        for (const line of [5, 500]) {
          assertEquals(await waymark.lookup(path, line), { status: "prose-only", lines: 300 });
        }
        const tool = waymark.summarizeFileTool();
        assertEquals(
          await tool.execute({ path, action: "lookup", line: 5 }),
          "no map could be made, only a summary; read the lines around it",
        );
        assertMatch(await tool.execute({ path }), /^\[waymark notice: no map\]\nReason: .*only a summary\.\n/);
        writeFileSync(path, code(301));
        assertEquals([await waymark.lookup(path, 5), summarizer.runs], [{ status: "stale" }, 1]);
      });
    }));

  it("says of a line's region how many entries the map leaves out: the innermost may be among them", () =>
    inFolder(async (folder) => {
      const methods = Array.from({ length: 600 }, (_, index) => `  method${index}() {\n    return ${index};\n  }\n`);
      const path = put(folder, "a.ts", `export class Big {\n${methods.join("")}}\n`);
      await withWaymark(folder, {}, async ({ waymark }) => {
        const { omitted = 0 } = await waymark.summarize(path), tool = waymark.summarizeFileTool();
        assert(omitted > 100);
        let outer = 0;
        for (let line = 2; line <= 50; line++) {
          const found = await waymark.lookup(path, line);
          assert(found.status === "found");
          assertEquals(found.omitted, omitted);
          if (found.region.name !== "Big") continue;
          outer++;
          const said = await tool.execute({ path, action: "lookup", line });
          assertStringIncludes(said, `(${omitted} entries are not in the map, and the line may be in one of them)`);
        }
        assert(outer > 0);
      });
    }));

  it("says where a map that is not there would be kept: in memory outside the root, nowhere with cache: false", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const path = put(folder, "a.ts", code(3)), other = put(outside, "a.ts", code(4));
        await withWaymark(folder, { summarizer: model() }, async ({ waymark }) => {
          assertEquals(await waymark.lookup(other, 2), { status: "absent", kept: "memory" });
          await waymark.summarize(other);
          assertEquals((await waymark.lookup(other, 2)).status, "found");
        });
        await withWaymark(folder, { summarizer: model(), cache: false }, async ({ waymark }) => {
          for (const file of [path, other]) {
            for (let times = 0; times < 2; times++) {
              assertEquals(await waymark.lookup(file, 2), { status: "absent", kept: "nowhere" });
              await waymark.summarize(file);
            }
          }
          assertEquals(
            await waymark.summarizeFileTool().execute({ path, action: "lookup", line: 2 }),
            'no map is ever kept here; action "summarize" gives the whole one',
          );
        });
      })
    ));

  it("forgets a file, also one that is gone, and prunes the files that are gone", () =>
    inFolder(async (folder) => {
      const paths = ["a.ts", "b.ts", "c.ts"].map((name, index) => put(folder, name, code(300 + index))),
        summarizer = model();
      await withWaymark(folder, { summarizer }, async ({ waymark }) => {
        for (const path of paths) await waymark.summarize(path);
        assertEquals(await waymark.forget(paths[0]!), 1);
        assertEquals(await waymark.lookup(paths[0]!, 1), { status: "absent", kept: "disk" });
        rmSync(paths[1]!);
        assertEquals(await waymark.forget(paths[1]!), 1);
        assertEquals(await waymark.prune(), 0);
        rmSync(paths[2]!);
        assertEquals([await waymark.prune(), summarizer.runs], [1, 3]);
      });
    }));

  it("forgets a file that is gone by the name it had behind a link", () =>
    inFolder(async (folder) => {
      const project = join(folder, "project"), link = join(folder, "link");
      const path = put(project, "a.ts", code(300));
      symlinkSync(project, link);
      await withWaymark(link, { summarizer: model() }, async ({ waymark }) => {
        await waymark.summarize(path);
        rmSync(path);
        assertEquals(await waymark.forget(join(link, "a.ts")), 1);
      });
    }));

  it("prunes no file that may not be looked at", () =>
    inFolder(async (folder) => {
      const path = put(folder, "in/a.ts", code(300));
      await withWaymark(folder, { summarizer: model() }, async ({ waymark }) => {
        await waymark.summarize(path);
        const { lstat } = disk();
        disk().lstat = (file) => {
          if (file === path) throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
          return lstat(file);
        };
        try {
          assertEquals(await waymark.prune(), 0);
        } finally {
          disk().lstat = lstat;
        }
      });
    }));
});

describe("createTeller()", () => {
  const telling = () => {
    const notices: Notice[] = [];
    return { notices, tell: createTeller((notice) => notices.push(notice)) };
  };
  const failure = (message: string, reason = "provider-error", path = "a.ts") =>
    ({ type: "failure", reason, message, path }) as WaymarkEvent;

  it("tells of one reason once, whatever ids, times and counts a provider puts into its words", () => {
    const { notices, tell } = telling();
    for (let index = 0; index < 50; index++) {
      const id = `req_${(index + 7).toString(36)}CSHo${index}QS`, file = `src/f${index}.ts`;
      tell(failure(`Cannot summarize ${file}: 529 Overloaded (request_id: ${id})`, "provider-error", file));
      tell(failure(`Cannot ask m: 429 {"type":"error","request_id":"${id}","message":"used ${index},123 tokens"}`));
      tell(failure(`Cannot ask m: 500 error ${index}f14e45f-ceea-467f-a0e6-1b2c3d4e5f60 at 12:0${index % 9}:59.5Z`));
      tell(failure(`Cannot ask m: try again in ${index * 7} s`));
    }
    assertEquals(notices.map(({ message }) => /\b(529|429|500|again)\b/.exec(message)?.[0]), [
      "529",
      "429",
      "500",
      "again",
    ]);
    assertStringIncludes(notices[0]!.message, "(request_id: req_7CSHo0QS)"); // told in the provider's own words
  });

  it("tells of whatever a host's code throws: an error, a text, a number, an object that says something or nothing", () => {
    const { notices, tell } = telling();
    for (const problem of [new Error("one"), "two", 3, { message: "four" }, { code: 5 }, undefined]) tell(problem);
    assertEquals(notices.map(({ message }) => message), ["one", "two", "3", "four", "[object Object]", "undefined"]);
  });

  it("tells of what differs: the code, the status, the words, a folder", () => {
    const { notices, tell } = telling();
    const problems = [
      failure("Cannot ask m: 400 prompt is too long"),
      failure("Cannot ask m: 400 the balance is too low"),
      failure("Cannot ask m: 401 the balance is too low"),
      failure("Cannot ask m: 401 the balance is too low", "refused"),
      new Error("Cannot read in /home/me/app1: there is no such folder"),
      new Error("Cannot read in /home/me/app2: there is no such folder"),
      new WaymarkError("not-found", "Cannot read in /home/me/app2: there is no such folder"),
      { type: "cache", what: "memory", message: "Cannot keep maps on disk: the disk is full" } as WaymarkEvent,
      { reason: "untracked", message: "The re-read guard is off" },
      "thrown words",
      null,
    ];
    for (let times = 0; times < 3; times++) problems.forEach(tell);
    assertEquals(notices.map(({ reason }) => reason), [
      "provider-error",
      "provider-error",
      "provider-error",
      "refused",
      "internal",
      "internal",
      "not-found",
      "memory",
      "untracked",
      "internal",
      "internal",
    ]);
  });

  it("tells nothing of a pause, nor of what only happens", () => {
    const { notices, tell } = telling();
    tell(failure("Cannot ask m: left alone for 40 s", "backing-off"));
    tell({ type: "cache", what: "opened", message: "" } as unknown as WaymarkEvent);
    tell({ type: "hit", path: "a.ts", maker: "scanner" });
    assertEquals(notices, []);
  });

  it("remembers a thousand reasons: then each new code is told of once, and nothing else", () => {
    const { notices, tell } = telling();
    const word = (index: number): string => index.toString(2).replaceAll("0", "a").replaceAll("1", "b");
    for (let index = 0; index < 5000; index++) tell(failure(`Cannot ask m: ${word(index)}`));
    const told = notices.length;
    assert(told >= 900 && told <= 1000, `${told}`);
    for (let times = 0; times < 3; times++) {
      for (let index = 0; index < 5000; index += 100) {
        tell(failure(`Cannot ask m: ${word(index)}`, "timeout"));
        tell(failure(`Cannot ask m: ${word(index)}`));
      }
    }
    assertEquals(notices.slice(told).map(({ reason }) => reason), ["timeout"]);
  });
});

describe("createWaymark(): a source", () => {
  it("that never answers leaves the read alone in time", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const source = { read: () => new Promise<Uint8Array>(() => {}) };
      await withWaymark(folder, { source, limits: { timeoutMs: 20 } }, async ({ read }) => {
        assertEquals(await read({ path: "a.ts" }), code(300));
      });
    }));
});

describe("createWaymark(): events and sums", () => {
  it("tells of every miss, call, summary, cap and hit, and sums them, tokens spent and saved included", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(3000));
      await withWaymark(folder, {
        summarizer: model({ regions: [{ start: 1, end: 9, kind: "other", name: "all", note: "" }] }),
      }, async ({ read, events, waymark }) => {
        await read({ path: "a.ts" });
        await read({ path: "a.ts" });
        assertEquals(events.map((event) => event.type).filter((type) => type !== "cache"), [
          "miss",
          "call",
          "tokens",
          "summary",
          "cap",
          "hit",
          "cap",
        ]);
        const sums = waymark.stats();
        assertEquals([sums.misses, sums.hits, sums.modelCalls, sums.summaries, sums.caps, sums.failures], [
          1,
          1,
          1,
          1,
          2,
          0,
        ]);
        assertEquals(sums.tokensSpent, 1234);
        const left = code(3000).length - code(200).length;
        assert(sums.tokensSaved > 2 * left / 4 * 0.9 && sums.tokensSaved < 2 * left / 4 * 1.1);
      });
    }));

  it("shows a net loss as one: a map longer than what it keeps out of the conversation", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(201));
      await withWaymark(folder, { summarizer: model() }, async ({ read, waymark }) => {
        await read({ path: "a.ts" });
        assert(waymark.stats().tokensSaved < 0);
      });
    }));

  it("gives sums that the caller may keep", () =>
    inFolder(async (folder) => {
      await withWaymark(folder, {}, ({ waymark }) => {
        const sums = waymark.stats();
        (sums as { hits: number }).hits = 99;
        assertEquals(waymark.stats().hits, 0);
        return Promise.resolve();
      });
    }));
});

describe("createWaymark(): registries", () => {
  it("tells a person, once, of a registry without a tool to wrap, and of a layer's fault", () =>
    inFolder((folder) =>
      withWaymark(folder, {}, async ({ waymark, notices }) => {
        for (let time = 0; time < 2; time++) waymark.wrapTools({ shell: { execute: () => "done" } });
        const codec = {
          text: () => undefined,
          annotate: () => {
            throw new Error("broken codec");
          },
        };
        put(folder, "a.ts", code(300));
        await waymark.wrap(plainTool(folder).read, { codec, facts: () => ({ cwd: folder }) })({ path: "a.ts" });
        assertEquals(notices.map((notice) => notice.reason), ["invalid-option", "internal"]);
        assertStringIncludes(notices[0]!.message, "none of the tools is called read,");
      })
    ));

  it("wraps the read tools of a registry and leaves the others the very same objects", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      await withWaymark(folder, {}, async ({ waymark }) => {
        const shell = { execute: () => "done" };
        const tools = waymark.wrapTools({ read_file: { execute: plainTool(folder).read }, shell }, {
          facts: () => ({ cwd: folder }),
        });
        assertStringIncludes(await tools.read_file.execute({ path: "a.ts" }), "[waymark map");
        assertStrictEquals(tools.shell, shell);
      });
    }));
});

describe("createWaymark(): a session", () => {
  const isReference = (result: string): boolean => result.startsWith("[waymark reference: ");
  /** A read tool of an instance, in a folder with a short and a long file. */
  const within = (
    options: WaymarkOptions,
    action: (
      parts: {
        folder: string;
        waymark: Waymark;
        read: (args: PlainArguments, info?: object) => Promise<string>;
        events: WaymarkEvent[];
        notices: Notice[];
      },
    ) => Promise<void>,
  ): Promise<void> =>
    inFolder((folder) => {
      put(folder, "short.ts", code(50));
      put(folder, "long.ts", code(900));
      put(folder, "AGENTS.md", code(50));
      return withWaymark(folder, { cache: false, ...options }, ({ waymark, events, notices }) => {
        const read = waymark.wrap(plainTool(folder).read, { facts: (info) => ({ cwd: folder, ...info as object }) });
        return action({ folder, waymark, read: read as never, events, notices });
      });
    });

  it("has both guards: lines shown come back as one line, and a map is given once", () =>
    within({ session: createSession() }, async ({ read, waymark, events }) => {
      assertEquals(await read({ path: "short.ts" }), code(50));
      assert(isReference(await read({ path: "short.ts" })));
      assertStringIncludes(await read({ path: "long.ts" }), "[waymark map: ");
      assertStringIncludes(await read({ path: "long.ts", offset: 201 }), "the whole map was given earlier");
      const both = await read({ path: "long.ts" });
      assertEquals(both.match(/^\[waymark reference: /gm)?.length, 2);
      assertEquals([waymark.stats().references, waymark.stats().caps, waymark.stats().diffs], [2, 3, 0]);
      const told = events.filter(({ type }) => type === "reference") as { path: string; start: number; end: number }[];
      assertEquals(told.map(({ path, start, end }) => [path, start, end]), [["short.ts", 1, 50], ["long.ts", 1, 200]]);
    }));

  it("sums what its references and differences keep out of the conversation", () =>
    within(
      { session: createSession(), rereadGuard: { onChange: "diff" } },
      async ({ folder, read, waymark, events }) => {
        await read({ path: "short.ts" });
        await read({ path: "short.ts" });
        put(folder, "short.ts", code(50).replace("f9(", "g9("));
        assertStringIncludes(
          await read({ path: "short.ts", limit: 49 }),
          "[waymark diff: short.ts lines 1-49 of 50 have changed",
        );
        const { references, diffs, tokensSaved } = waymark.stats();
        assertEquals([references, diffs], [1, 1]);
        const sum = events.reduce((sum, event) => sum + ("tokensSaved" in event ? event.tokensSaved : 0), 0);
        assertEquals([tokensSaved, events.map(({ type }) => type)], [sum, ["reference", "diff"]]);
        assert(tokensSaved > 700);
      },
    ));

  it("gives a table whose rows begin with numbers of their own its map, and refers to its lines", () =>
    inFolder(async (folder) => {
      const rows = (bar: string) =>
        Array.from({ length: 400 }, (_, index) => `${index + 1}${bar}name ${index}\n`).join("");
      const tables = {
        "tabs.sql": `id\tname\n${rows("\t")}`,
        "result.sql": ` id  | name\n-----+------\n${rows(" | ")}(400 rows)\n`,
        "titled.yaml": `# Names\n\n${rows(": ")}`,
      };
      const session = createSession(), rest = { kind: "other", name: "rows", note: "" } as const;
      const summarizer = model({ regions: [{ start: 3, end: 400, ...rest }] });
      await withWaymark(folder, { cache: false, session, summarizer }, async ({ waymark, notices }) => {
        const { read: plain, calls } = plainTool(folder), read = waymark.wrap(plain);
        for (const [name, text] of Object.entries(tables)) {
          put(folder, name, text);
          session.nextTurn();
          const shown = await read({ path: name }, { callId: name, cwd: folder });
          assertStringIncludes(shown, "[waymark map: PARTIAL, lines 1-200 of 40", name);
          assert(shown.startsWith(text.split(/(?<=\n)/).slice(0, 200).join("")), name);
          assertEquals(calls.splice(0), [{ path: name, limit: 200 }]);
          session.nextTurn();
          assertMatch(
            await read({ path: name, limit: 150 }, { callId: `${name} again`, cwd: folder }),
            /^\[waymark reference: /,
          );
          session.reconcile([{ role: "tool", tool_call_id: name, content: shown }]);
          session.nextTurn();
          assertMatch(
            await read({ path: name, limit: 120 }, { callId: `${name} later`, cwd: folder }),
            /^\[waymark reference: /,
          );
          assertEquals(calls.splice(0), []);
        }
        assertEquals(notices, []);
      });
    }));

  it("records of a shortened read the 200 lines that were shown, not the file", () => {
    const session = createSession();
    return within({ session }, async ({ folder, read }) => {
      await read({ path: "long.ts" });
      const lines = session.toJSON().given.filter(({ kind }) => kind === "lines");
      assertEquals(lines.map(({ start, end, lines }) => [start, end, lines]), [[1, 200, 900]]);
      assertEquals(session.coverage(join(folder, "long.ts")), {
        hash: lines[0]!.hash,
        lines: 900,
        seen: [{ start: 1, end: 200 }],
        whole: false,
      });
      assertEquals(
        await read({ path: "long.ts", offset: 200, limit: 2 }),
        code(900).split(/(?<=\n)/).slice(199, 201).join(""),
      );
    });
  });

  it("does without the re-read guard where that is switched off, and gives each map once all the same", () => {
    const session = createSession();
    return within({ session, rereadGuard: false }, async ({ read, notices }) => {
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "short.ts" }), code(50));
      await read({ path: "long.ts" });
      assertStringIncludes(await read({ path: "long.ts" }), "the whole map was given earlier");
      assertEquals([session.toJSON().given.map(({ kind }) => kind), notices], [["map"], []]);
    });
  });

  it("takes rules of its own: what is exempt, and what a change is answered with", () =>
    within({ session: createSession(), rereadGuard: { exempt: ["short.*"] } }, async ({ read }) => {
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "short.ts" }), code(50));
      await read({ path: "AGENTS.md" });
      assert(isReference(await read({ path: "AGENTS.md" })));
    }));

  it("leaves files that instruct an agent alone by default", () =>
    within({ session: createSession() }, async ({ read }) => {
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "AGENTS.md" }), code(50));
    }));

  it("is off where nobody can say what leaves the conversation, and that is said once", () => {
    const session = createSession({ untracked: true });
    return within({ session }, async ({ read, notices }) => {
      for (let at = 0; at < 3; at++) {
        assertEquals(await read({ path: "short.ts" }), code(50));
        assertStringIncludes(await read({ path: "long.ts" }), "[waymark map: ");
      }
      assertEquals(session.toJSON().given, []);
      assertEquals(notices.map(({ reason }) => reason), ["untracked"]);
      assertStringIncludes(notices[0]!.message, "The re-read guard is off");
    });
  });

  it("is off there without a word where it was turned off", () =>
    within({ session: createSession({ untracked: true }), rereadGuard: false }, async ({ read, notices }) => {
      for (let at = 0; at < 2; at++) assertEquals(await read({ path: "short.ts" }), code(50));
      assertEquals(notices, []);
    }));

  it("is on there too where it is asked for by name", async () => {
    for (const rereadGuard of [true, {}]) {
      await within({ session: createSession({ untracked: true }), rereadGuard }, async ({ read, notices }) => {
        await read({ path: "short.ts" });
        assert(isReference(await read({ path: "short.ts" })));
        assertEquals(notices, []);
      });
    }
  });

  it("never says there that something is above: lines are of an earlier read, and a map is given each time", () =>
    within({ session: createSession({ untracked: true }), rereadGuard: { onChange: "diff" } }, async (
      { folder, read },
    ) => {
      await read({ path: "short.ts" });
      assertEquals(
        await read({ path: "short.ts" }),
        "[waymark reference: short.ts lines 1-50 of 50 are unchanged since an earlier read; if you no longer have it, make the same call again]",
      );
      assertEquals(await read({ path: "short.ts" }), code(50)); // the way out that it names
      const changed = code(50).replace("f7(", "g7(");
      put(folder, "short.ts", changed);
      assertEquals(await read({ path: "short.ts" }), changed); // no diff against what may be gone
      for (let at = 0; at < 2; at++) assertStringIncludes(await read({ path: "long.ts" }), "\nRegions:\n");
    }));

  it("is the call's own before the tool's, and the tool's before the instance's", () =>
    within({ session: createSession() }, async ({ folder, waymark, read }) => {
      const [ofTool, ofCall] = [createSession(), createSession()];
      const tool = waymark.wrap(plainTool(folder).read, {
        session: ofTool,
        facts: (info) => ({ cwd: folder, ...info as object }),
      }) as (args: PlainArguments, info?: object) => Promise<string>;
      assertEquals(await read({ path: "short.ts" }), code(50));
      assertEquals(await tool({ path: "short.ts" }), code(50));
      assertEquals(await tool({ path: "short.ts" }, { session: ofCall }), code(50));
      for (const info of [{}, { session: ofCall }]) assert(isReference(await tool({ path: "short.ts" }, info)));
      assert(isReference(await read({ path: "short.ts" })));
    }));

  it("is none where none is given: every read stands alone", () =>
    within({}, async ({ read, waymark }) => {
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "short.ts" }), code(50));
      for (let at = 0; at < 2; at++) assertStringIncludes(await read({ path: "long.ts" }), "[waymark map: ");
      assertEquals(waymark.stats().references, 0);
    }));

  it("passes to a registry's tools", () =>
    within({ session: createSession() }, async ({ folder, waymark }) => {
      const { read } = waymark.wrapTools({ read: { execute: plainTool(folder).read } }, {
        facts: () => ({ cwd: folder }),
      });
      await read.execute({ path: "short.ts" });
      assert(isReference(await read.execute({ path: "short.ts" })));
    }));

  it("has its globs refused at once where they are none", () => {
    const error = assertThrows(() => createWaymark({ rereadGuard: { exempt: ["a[z-a].md"] } }), WaymarkError);
    assertEquals(error.code, "invalid-option");
  });

  it("goes on after the instance was closed", () => {
    const session = createSession();
    return within({ session }, async ({ read, waymark }) => {
      await read({ path: "short.ts" });
      await waymark.close();
      assert(isReference(await read({ path: "short.ts" })));
    });
  });

  it("records nothing of two equal reads at once, also where one of them had to be made again", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300)), { read: plain } = plainTool(folder), session = createSession();
      const waymark = createWaymark({ root: folder, cache: false, session });
      const first = Promise.withResolvers<void>();
      let calls = 0;
      const read = waymark.wrap(async (args: PlainArguments) => {
        const isSecond = ++calls === 2;
        if (isSecond) await first.promise; // it fails when the other one is done
        if (isSecond) throw new Error("once");
        return plain(args);
      });
      await Promise.all([read({ path }).then(() => first.resolve()), read({ path })]);
      assertEquals([calls, session.toJSON().given], [3, []]);
      await read({ path });
      assertEquals(session.coverage(path)?.seen, [{ start: 1, end: 200 }]);
      await waymark.close();
    }));
});

describe("createWaymark(): digests of tool results", () => {
  it("are made of what the tool really returned, inside both guards, and the result is the same with and without", async () => {
    await inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300)), { read } = plainTool(folder);
      const digests = toolUseSummary({ model: scriptedModel(["Adds numbers."]), session: "s-1", topLevel: true });
      const session = createSession(), plain = createWaymark({ root: folder, cache: false, session: createSession() });
      const waymark = createWaymark({ root: folder, cache: false, session, toolUse: digests });
      const digested = waymark.wrap(read), alike = plain.wrap(read);
      assertEquals(await digested({ path }, { toolCallId: "call_1" }), await alike({ path }, { toolCallId: "call_1" }));
      await digests.settled();
      const row = digests.summaries().get("call_1");
      assertEquals(row?.summary, "Adds numbers.");
      assertEquals(
        row?.resultBytes,
        new TextEncoder().encode(`${code(300).split("\n").slice(0, 200).join("\n")}\n`).length,
      );

      session.nextTurn();
      assertMatch(await digested({ path }, { toolCallId: "call_2" }), /^\[waymark reference/);
      await digests.settled();
      assertEquals([...digests.summaries().keys()], ["call_1"]); // the tool was not called
      await Promise.all([waymark.close(), plain.close(), digests.close()]);
    });
  });

  it("are made of no read of a file outside the folders the host allows", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const own = put(folder, "a.ts", code(300)),
          other = put(outside, "b.ts", code(300)),
          link = join(folder, "c.ts");
        symlinkSync(other, link);
        const asked = scriptedModel(() => "Adds numbers.");
        const digests = toolUseSummary({ model: asked, session: "s-1", topLevel: true });
        const waymark = createWaymark({ root: folder, cache: false, roots: [folder], toolUse: digests, onNotice() {} });
        const read = waymark.wrap(plainTool(folder).read);
        const secret = put(folder, ".env", code(300)),
          named = [other, link, `/${other}`, `./../${basename(outside)}/b.ts`];
        for (const [index, path] of [...named, secret].entries()) {
          assertEquals(await read({ path }, { toolCallId: `call_${index}` }), code(300));
        }
        const elsewhere = waymark.wrap((_: PlainArguments, __: unknown) => code(300), { name: "read" });
        const url = pathToFileURL(other).href, folders = url.replace("/b.ts", "/.ssh/../b.ts");
        for (const named of [url.replace("file:///", "file:////"), url, `${url}#/.env`, `${url}?x.env`, folders]) {
          await elsewhere({ path: named }, { toolCallId: named });
        }
        await digests.settled();
        assertEquals([digests.summaries().size, asked.calls.length], [0, 0]);
        assertEquals(digests.stats().skipped, {});
        await read({ path: own }, { toolCallId: "own" });
        await digests.settled();
        assertEquals([[...digests.summaries().keys()], asked.calls.length], [["own"], 1]);
        await Promise.all([waymark.close(), digests.close()]);
      })
    ));
});
