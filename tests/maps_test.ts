import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { memoryCache } from "../src/cache/memory.ts";
import type { SummaryCache } from "../src/cache/types.ts";
import { WaymarkError } from "../src/errors.ts";
import type { WaymarkEvent } from "../src/events.ts";
import { sha256 } from "../src/files.ts";
import type { LoadedFile, Maps, MapsOptions } from "../src/map_types.ts";
import { createMaps, failureReason } from "../src/maps.ts";
import type { Audit, OutlineParser, Region, SourceFile, Summarizer, SummarizerContext, Summary } from "../src/types.ts";
import { code, until } from "./support.ts";

const usage = { calls: 1, input: 10, output: 5, cacheRead: 0, cacheWrite: 0, ms: 1 };
const region: Region = { start: 1, end: 1, kind: "function", name: "f1", note: "" };
const summary: Summary = { prose: "Functions.", regions: [region], usage };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A summarizer from a function, that counts its runs. */
function summarizer(
  summarize: (file: SourceFile, context: SummarizerContext) => Summary | undefined | Promise<Summary | undefined> =
    () => summary,
  maker = "model:test",
): Summarizer & { runs: number } {
  const made = {
    maker,
    version: 3,
    runs: 0,
    summarize: async (file: SourceFile, context: SummarizerContext) => {
      made.runs++;
      context.spend();
      return await summarize(file, context);
    },
  };
  return made;
}

async function load(text: string, path = "a.ts", cache: SummaryCache = memoryCache()): Promise<LoadedFile> {
  const bytes = new TextEncoder().encode(text);
  const hash = await sha256(bytes);
  const { signal } = new AbortController();
  return {
    path,
    hash,
    content: () => Promise.resolve({ bytes, hash }),
    key: path,
    cache,
    hold: (work) => work(signal),
  };
}

function setUp(options: Partial<MapsOptions> & { summarizer: Summarizer }) {
  const events: WaymarkEvent[] = [];
  let now = 1_700_000_000_000;
  const maps = createMaps({ clock: { now: () => now }, onEvent: (event) => events.push(event), ...options });
  const advance = (ms: number): void => void (now += ms), types = () => events.map((event) => event.type);
  /** Resolves when so many reads have found no map. Where one has begun a run before, all of them are in one by then. */
  const missed = (reads: number) => until(() => types().filter((type) => type === "miss").length === reads);
  return { maps, events, advance, types, missed };
}

/** Waits until the signal aborts, like a request that hangs. */
const hang = (_: SourceFile, { signal }: SummarizerContext): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

describe("createMaps()", () => {
  it("spends one run on a miss and none on a hit", async () => {
    const model = summarizer();
    const { maps, types } = setUp({ summarizer: model });
    const file = await load(code(300));
    const first = await maps.get(file), second = await maps.get(file);
    assertEquals([first.hit, second.hit, model.runs], [false, true, 1]);
    assertEquals(second.map, first.map);
    assertEquals(types(), ["miss", "call", "tokens", "summary", "hit"]);
  });

  it("hands the summarizer the text, the count of lines and the hash of the very same bytes", async () => {
    let seen: SourceFile | undefined;
    const { maps } = setUp({ summarizer: summarizer((file) => (seen = file, summary)) });
    const file = await load("\ufeffone\r\ntwo\n");
    const { map } = await maps.get(file);
    assertEquals([seen?.text, seen?.lines, seen?.size], ["\ufeffone\r\ntwo\n", 2, 12]);
    assertEquals([seen?.hash, map.hash], [file.hash, file.hash]);
    assertEquals([map.maker, map.promptVersion, map.createdAt, map.size], ["model:test", 3, 1_700_000_000_000, 12]);
  });

  it("shares one run between all that ask for one content at once", async () => {
    const model = summarizer(async () => (await sleep(5), summary));
    const { maps } = setUp({ summarizer: model });
    const file = await load(code(300));
    const got = await Promise.all(Array.from({ length: 200 }, () => maps.get(file)));
    assertEquals([model.runs, got.length], [1, 200]);
  });

  it("does not share a run between contents", async () => {
    const model = summarizer(async () => (await sleep(2), summary));
    const { maps } = setUp({ summarizer: model });
    await Promise.all([maps.get(await load("a\n")), maps.get(await load("b\n"))]);
    assertEquals(model.runs, 2);
  });

  it("lets one waiter go without ending the run the others wait for, and ends it with the last", async () => {
    let ended = false;
    const model = summarizer((_, { signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => (ended = true, reject(signal.reason)), { once: true });
        setTimeout(() => resolve(summary), 30);
      })
    );
    const { maps } = setUp({ summarizer: model });
    const file = await load(code(300));
    const leaving = new AbortController();
    const left = maps.get(file, { signal: leaving.signal }), stays = maps.get(file);
    leaving.abort();
    assertEquals((await assertRejects(() => left, WaymarkError)).code, "aborted");
    assertEquals([(await stays).map.prose, ended, model.runs], ["Functions.", false, 1]);

    const other = await load("other"), last = new AbortController();
    const alone = maps.get(other, { signal: last.signal });
    await until(() => model.runs === 2);
    last.abort();
    await assertRejects(() => alone, WaymarkError);
    await until(() => ended);
  });

  it("starts a new run for a reader that comes after the last waiter of an aborted one has gone", async () => {
    let runs = 0;
    const { maps } = setUp({ summarizer: summarizer((file, context) => ++runs === 1 ? hang(file, context) : summary) });
    const file = await load(code(300)), leaving = new AbortController();
    const left = maps.get(file, { signal: leaving.signal });
    await until(() => runs === 1);
    leaving.abort();
    await assertRejects(() => left, WaymarkError);
    assertEquals((await maps.get(file)).map.prose, "Functions.");
  });

  it("ends a run at its deadline, also where the summarizer does not listen, and says so", async () => {
    for (const summarize of [hang, () => new Promise<never>(() => {})]) {
      const { maps } = setUp({ summarizer: summarizer(summarize), limits: { timeoutMs: 500 } });
      const file = await load(code(300));
      const error = await assertRejects(() => maps.get(file), WaymarkError);
      assertEquals(error.code, "timeout");
      assertStringIncludes(error.message, "Cannot summarize a.ts: no answer within 0.5 s");
    }
  });

  it("leaves a failed content alone for a while, then tries again, and says when", async () => {
    let failing = true;
    const model = summarizer(() => {
      if (failing) throw new WaymarkError("bad-answer", "Cannot summarize a.ts: three bad answers");
      return summary;
    });
    const { maps, advance } = setUp({ summarizer: model });
    const file = await load(code(300));
    await assertRejects(() => maps.get(file), WaymarkError);
    advance(30_000);
    const error = await assertRejects(() => maps.get(file), WaymarkError);
    assertEquals(error.code, "backing-off");
    assertStringIncludes(error.message, "three bad answers; the next try is in 30 s");
    assertEquals(model.runs, 1);
    advance(30_000);
    failing = false;
    assertEquals((await maps.get(file)).hit, false);
    assertEquals(model.runs, 2);
  });

  it("remembers a failure by content: the same bytes under another name wait too, other bytes do not", async () => {
    const model = summarizer((file) => {
      if (file.text.startsWith("bad")) throw new WaymarkError("bad-answer", "Cannot summarize it");
      return summary;
    });
    const { maps } = setUp({ summarizer: model });
    await assertRejects(async () => await maps.get(await load("bad\n")), WaymarkError);
    assertEquals(
      (await assertRejects(async () => await maps.get(await load("bad\n", "b.ts")), WaymarkError)).code,
      "backing-off",
    );
    assertEquals((await maps.get(await load("good\n"))).hit, false);
    assertEquals(model.runs, 2);
  });

  it("always tries an explicit request", async () => {
    const model = summarizer(() => {
      throw new WaymarkError("bad-answer", "Cannot summarize a.ts");
    });
    const { maps } = setUp({ summarizer: model });
    const file = await load(code(300));
    for (const request of [{}, { insist: true }, { refresh: true }]) {
      assertEquals((await assertRejects(() => maps.get(file, request), WaymarkError)).code, "bad-answer");
    }
    assertEquals(model.runs, 3);
  });

  it("makes a new map on refresh, which neither joins a run nor is joined", async () => {
    let runs = 0;
    const model = summarizer(async () => (await sleep(5), { ...summary, prose: `Run ${++runs}.` }));
    const { maps } = setUp({ summarizer: model });
    const file = await load(code(300));
    const [one, two, three] = await Promise.all([
      maps.get(file),
      maps.get(file, { refresh: true }),
      maps.get(file, { refresh: true }),
    ]);
    assertEquals([one.hit, two.hit, three.hit, model.runs], [false, false, false, 3]);
    const kept = await maps.get(file);
    assert(kept.hit && kept.map.prose !== "Run 1.");
  });

  it("ends a refresh with its caller's abort, also one that came before", async () => {
    const model = summarizer(hang), { maps } = setUp({ summarizer: model });
    const file = await load(code(300)), controller = new AbortController();
    const refreshed = maps.get(file, { refresh: true, signal: controller.signal });
    await until(() => model.runs === 1);
    controller.abort();
    assertEquals((await assertRejects(() => refreshed, WaymarkError)).code, "aborted");
    assertEquals(
      (await assertRejects(() => maps.get(file, { refresh: true, signal: AbortSignal.abort() }), WaymarkError)).code,
      "aborted",
    );
  });

  it("does not count an abort as a failure", async () => {
    let runs = 0;
    const { maps } = setUp({ summarizer: summarizer((file, context) => ++runs === 1 ? hang(file, context) : summary) });
    const file = await load(code(300)), controller = new AbortController();
    const got = maps.get(file, { signal: controller.signal });
    await until(() => runs === 1);
    controller.abort();
    await assertRejects(() => got, WaymarkError);
    assertEquals((await maps.get(file)).hit, false);
  });

  it("lets no request pass the ceiling of model calls, repairs included", async () => {
    const model = summarizer((_, { spend }) => (spend(["no prose"]), summary));
    const { maps, events } = setUp({ summarizer: model, limits: { maxModelCalls: 3 } });
    await maps.get(await load("one"));
    const error = await assertRejects(async () => await maps.get(await load("two")), WaymarkError);
    assertEquals(error.code, "budget");
    assertStringIncludes(error.message, "the limit of 3 model calls is used up");
    assertEquals(events.filter((event) => event.type === "call").length, 3);
    assertEquals(events.filter((event) => event.type === "repair").length, 1);
  });

  it("lets no map cost more than three requests, whoever makes them", async () => {
    const model = summarizer((_, { spend }) => {
      for (let request = 0; request < 5; request++) spend();
      return summary;
    });
    const { maps, events } = setUp({ summarizer: model });
    const error = await assertRejects(async () => await maps.get(await load("one")), WaymarkError);
    assertEquals([error.code, events.filter((event) => event.type === "call").length], ["budget", 3]);
  });

  it("counts the tokens of each answered request, also of a run that fails, and none twice", async () => {
    const tokens = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };
    const model = summarizer((file, { used }) => {
      used?.(tokens);
      used?.(tokens);
      if (file.text === "bad") throw new WaymarkError("bad-answer", "Cannot summarize it");
      return summary;
    });
    const { maps, events } = setUp({ summarizer: model });
    await maps.get(await load("good"));
    await assertRejects(async () => await maps.get(await load("bad")), WaymarkError);
    const counted = events.filter((event) => event.type === "tokens");
    assertEquals(counted.map((event) => event.input), [10, 10, 10, 10]);
  });

  it("runs so many models at once and no more, and the rest in order", async () => {
    let active = 0, most = 0;
    const model = summarizer(async () => {
      most = Math.max(most, ++active);
      await sleep(2);
      active--;
      return summary;
    });
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 3 } });
    await Promise.all(Array.from({ length: 30 }, async (_, index) => await maps.get(await load(`file ${index}`))));
    assertEquals([most, active, model.runs], [3, 0, 30]);
  });

  it("lets a reader that waits for its turn go when it is aborted, and hands the turn on", async () => {
    const gate = Promise.withResolvers<void>();
    const model = summarizer(async () => (await gate.promise, summary));
    const { maps, missed } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1 } });
    const leaving = new AbortController();
    const slow = load("slow").then((file) => maps.get(file));
    await until(() => model.runs === 1);
    const left = load("left").then((file) => maps.get(file, { signal: leaving.signal }));
    const stays = load("stays").then((file) => maps.get(file));
    await missed(3);
    leaving.abort();
    assertEquals((await assertRejects(() => left, WaymarkError)).code, "aborted");
    gate.resolve();
    assertEquals([(await slow).hit, (await stays).hit, model.runs], [false, false, 2]);
  });

  it("ends a run at its deadline also while it waits for its turn", async () => {
    const { maps } = setUp({ summarizer: summarizer(hang), limits: { maxConcurrentCalls: 1, timeoutMs: 20 } });
    const reads = ["one", "two", "three"].map(async (text) =>
      await maps.get(await load(text)).then(() => "map", failureReason)
    );
    assertEquals(await Promise.all(reads), ["timeout", "timeout", "timeout"]);
  });

  it("does not take a crowd for a broken provider: what had no turn in time is tried again at once", async () => {
    const gate = Promise.withResolvers<void>();
    const model = summarizer(async () => (await gate.promise, summary));
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1, timeoutMs: 4000 } });
    const files = await Promise.all(Array.from({ length: 6 }, (_, index) => load(`file ${index}`)));
    const [first, ...others] = files.map((file) => maps.get(file).then(() => "map", ({ message }) => message));
    assertEquals(await Promise.all(others), Array(5).fill("Cannot summarize a.ts: no turn within 2 s"));
    gate.resolve();
    assertEquals(await first, "map");
    assertEquals((await maps.get(files[1]!)).map.regions, [region]);
    assertEquals((await maps.get(files[5]!)).map.regions, [region]);
  });

  it("makes no request where a turn comes with no time left: a provider that hangs is not asked for every file that waits", async () => {
    const model = summarizer(hang);
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1, timeoutMs: 1000 } });
    const files = await Promise.all(Array.from({ length: 9 }, (_, index) => load(`file ${index}`)));
    await Promise.all(files.map((file) => assertRejects(() => maps.get(file), WaymarkError)));
    assertEquals(model.runs, 1);
  });

  /** Reads one file after another, until one of them has a map, or the words that are waited for. */
  const keepReading = async (maps: Maps, everyMs: number, words: string): Promise<readonly string[]> => {
    const said: string[] = [], reads: Promise<unknown>[] = [];
    while (reads.length < 100 && !said.some((what) => what.includes(words))) {
      const text = `file ${reads.length}`, read = load(text).then((file) => maps.get(file));
      reads.push(read.then(() => said.push("map"), ({ message }) => said.push(message)));
      await sleep(everyMs);
    }
    await Promise.all(reads);
    return said;
  };

  it("leaves the turns to files that have time left, where a provider that hung answers again and files keep coming", async () => {
    let asked = 0;
    const model = summarizer((...given) => asked++ === 0 ? hang(...given) : Promise.resolve(summary));
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1, timeoutMs: 1500 } });
    assert((await keepReading(maps, 50, "map")).includes("map"));
  });

  it("leaves a provider that hangs alone after three strikes, however many files wait and keep coming", async () => {
    const model = summarizer(hang);
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1, timeoutMs: 400 } });
    const said = await keepReading(maps, 20, "the next try is in");
    assert(said.some((what) => what.endsWith("no answer within 0.4 s; the next try is in 60 s")), said.join("\n"));
    assertEquals(model.runs, 3);
  });

  it("gives every request half of the time at least: a crowd before a slow provider has none broken off", async () => {
    let answered = 0;
    const model = summarizer(async () => (await sleep(200), answered++, summary));
    const { maps } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1, timeoutMs: 1800 } });
    const reads = Array.from({ length: 20 }, (_, file) => load(`file ${file}`).then((loaded) => maps.get(loaded)));
    const mapped = (await Promise.allSettled(reads)).filter(({ status }) => status === "fulfilled").length;
    assert(mapped < 20, "not all had a turn");
    assertEquals([mapped, answered], [model.runs, model.runs]);
  });

  it("leaves a broken provider alone for all files: at once where the next must fail too, else after three strikes", async () => {
    for (const [status, expected] of [[401, 1], [403, 1], [404, 1], [500, 3], [529, 3], [400, 3]] as const) {
      const model = summarizer(() => {
        throw new WaymarkError("provider-error", `Cannot summarize: status ${status}`, { status });
      });
      const { maps, advance } = setUp({ summarizer: model });
      for (let file = 0; file < 50; file++) {
        await assertRejects(async () => await maps.get(await load(`${file}`)), WaymarkError);
      }
      assertEquals(model.runs, expected, `status ${status}`);
      advance(60_000);
      await assertRejects(async () => await maps.get(await load("later")), WaymarkError);
      assertEquals(model.runs, expected + 1, `status ${status}, later`);
    }
  });

  it("tries an explicit request also where it joins a run that waits for its turn", async () => {
    const gate = Promise.withResolvers<void>();
    const model = summarizer(async ({ path }) => {
      await gate.promise;
      if (path === "a.ts") throw new WaymarkError("provider-error", "Cannot ask test: 401", { status: 401 });
      return summary;
    });
    const { maps, missed } = setUp({ summarizer: model, limits: { maxConcurrentCalls: 1 } });
    const [first, second] = [await load(code(300)), await load(code(301), "b.ts")];
    const failing = maps.get(first).catch(failureReason), queued = maps.get(second);
    const insisting = maps.get(second, { insist: true });
    await missed(3);
    gate.resolve();
    assertEquals((await insisting).map.regions, [region]);
    assertEquals([await failing, (await queued).map.regions, model.runs], ["provider-error", [region], 2]);
  });

  it("ends the pause with a success", async () => {
    let failing = true;
    const model = summarizer(() => {
      if (failing) throw new WaymarkError("provider-error", "Cannot summarize: status 401", { status: 401 });
      return summary;
    });
    const { maps } = setUp({ summarizer: model });
    await assertRejects(async () => await maps.get(await load("one")), WaymarkError);
    failing = false;
    await maps.get(await load("two"), { insist: true });
    assertEquals((await maps.get(await load("three"))).hit, false);
  });

  it("gives no map, at once and for ever, where a parser finds nothing in these bytes", async () => {
    const parser = { ...summarizer(() => undefined, "scanner") };
    const { maps, advance } = setUp({ summarizer: parser });
    const file = await load("nothing");
    assertEquals((await assertRejects(() => maps.get(file), WaymarkError)).code, "no-declarations");
    advance(10 ** 9);
    const error = await assertRejects(() => maps.get(file), WaymarkError);
    assertEquals(error.code, "no-declarations");
    assertStringIncludes(error.message, "no declarations were found");
  });

  it("tries again at once where it was the file that could not be read, and after a while where a parser broke", async () => {
    let broken = true;
    const parser = summarizer(() => {
      if (broken) throw new Error("out of memory");
      return summary;
    }, "outline");
    for (const code of ["not-found", "not-text", "too-large"] as const) {
      const { maps } = setUp({ summarizer: summarizer(() => summary, "scanner") }), file = await load(`${code}\n`);
      const gone = { ...file, content: () => Promise.reject(new WaymarkError(code, "Cannot read a.ts")) };
      assertEquals((await assertRejects(() => maps.get(gone), WaymarkError)).code, code);
      assertEquals((await maps.get(file)).map.regions, [region]);
    }
    const { maps, advance } = setUp({ summarizer: parser }), file = await load(code(300));
    assertEquals(await maps.get(file).catch(failureReason), "internal");
    broken = false;
    assertEquals(await maps.get(file).catch(failureReason), "backing-off");
    advance(60_000);
    assertEquals((await maps.get(file)).map.regions, [region]);
  });

  it("counts an entry of a lesser maker as a miss and replaces it, never the other way round", async () => {
    const cache = memoryCache(), file = await load(code(300), "a.ts", cache);
    const makers = ["scanner", "outline", "model:test"];
    for (const maker of makers) {
      const { maps, events } = setUp({ summarizer: summarizer(() => ({ ...summary, prose: maker }), maker) });
      assertEquals((await maps.get(file)).map.prose, maker);
      assertEquals(events[0], { type: "miss", path: "a.ts", why: maker === "scanner" ? "absent" : "better-maker" });
    }
    for (const maker of makers) {
      const { maps } = setUp({ summarizer: summarizer(() => ({ ...summary, prose: "worse" }), maker) });
      const { map, hit } = await maps.get(file);
      assertEquals([hit, map.prose], [true, "model:test"]);
    }
  });

  it("says of a miss whether another version of the file is kept", async () => {
    const cache = memoryCache();
    const { maps, events } = setUp({ summarizer: summarizer() });
    await maps.get(await load("one", "a.ts", cache));
    await maps.get(await load("two", "a.ts", cache));
    await maps.get(await load("two", "a.ts", cache), { refresh: true });
    assertEquals(events.filter((event) => event.type === "miss").map((event) => event.why), [
      "absent",
      "stale",
      "refresh",
    ]);
  });

  it("records who really made a map where a parser fell back to another", async () => {
    const { maps } = setUp({ summarizer: summarizer(() => ({ ...summary, maker: "scanner" }), "outline") });
    assertEquals((await maps.get(await load("one"))).map.maker, "scanner");
  });

  it("does not ask again where the summarizer itself left the content to a lesser maker, until it is told to", async () => {
    const outline = summarizer(() => ({ ...summary, maker: "scanner" }), "outline");
    const { maps } = setUp({ summarizer: outline });
    const file = await load("one");
    for (const hit of [false, true, true]) assertEquals((await maps.get(file)).hit, hit);
    assertEquals((await maps.get(file, { refresh: true })).hit, false);
    assertEquals([(await maps.get(await load("two"))).hit, outline.runs], [false, 3]);
  });

  it("audits what a model made, at no call, and lives with an audit that fails", async () => {
    const found: Audit = { verified: 1, moved: 2, dropped: 3 };
    const parser = (audit: OutlineParser["audit"]): OutlineParser => ({ ...summarizer(undefined, "outline"), audit });
    const audited = setUp({
      summarizer: summarizer(),
      audit: parser(() => Promise.resolve({ regions: [{ ...region, start: 2, end: 2 }], audit: found })),
    });
    const { map } = await audited.maps.get(await load("one\ntwo"));
    assertEquals([map.regions[0]?.start, map.audit], [2, found]);
    assertEquals(audited.events.filter((event) => event.type === "call").length, 1);
    const fails: OutlineParser["audit"][] = [
      () => Promise.reject(new Error("broken")),
      () => Promise.resolve(undefined),
      () => {
        throw new Error("broken at once");
      },
      () => Promise.resolve({ regions: "rows" as unknown as Region[], audit: found }),
      () => new Promise(() => {}),
    ];
    for (const audit of fails) {
      const { maps } = setUp({ summarizer: summarizer(), audit: parser(audit), limits: { timeoutMs: 500 } });
      assertEquals((await maps.get(await load("one\ntwo"))).map.regions, [region]);
    }
  });

  it("does not audit what a parser made", async () => {
    let audits = 0;
    const audit = () => (audits++, Promise.resolve(undefined));
    const { maps } = setUp({
      summarizer: summarizer(undefined, "outline"),
      audit: { ...summarizer(undefined, "outline"), audit },
    });
    await maps.get(await load("one"));
    assertEquals(audits, 0);
  });

  it("drops and counts what lies outside the file, whichever summarizer or audit gave it", async () => {
    const odd = [region, { ...region, start: 900, end: 950 }, { ...region, start: -1 }, { ...region, end: NaN }, null];
    const given = { ...summary, regions: odd as Region[] };
    const { maps } = setUp({ summarizer: summarizer(() => given) });
    const { map } = await maps.get(await load(code(300)));
    assertEquals([map.regions, map.dropped], [[region], 4]);

    const audit = (): Promise<{ regions: Region[]; audit: Audit }> =>
      Promise.resolve({ regions: odd as Region[], audit: { verified: 1, moved: 0, dropped: 0 } });
    const checking = setUp({ summarizer: summarizer(), audit: { ...summarizer(), audit } });
    assertEquals((await checking.maps.get(await load(code(300)))).map.regions, [region]);
  });

  it("takes a summary that is no promise, and none that is no summary", async () => {
    const plain = { ...summarizer(), summarize: () => summary } as unknown as Summarizer;
    assertEquals((await setUp({ summarizer: plain }).maps.get(await load(code(300)))).map.regions, [region]);
    for (
      const broken of ["text", { ...summary, prose: 7 }, { ...summary, regions: "rows" }, { prose: "", regions: [] }]
    ) {
      const { maps } = setUp({ summarizer: summarizer(() => broken as unknown as Summary) });
      assertEquals(failureReason(await assertRejects(async () => await maps.get(await load(code(300))))), "bad-answer");
    }
  });

  it("reports a fault that is not an error of ours as internal, with its own words", async () => {
    for (const thrown of [new TypeError("x is not a function"), "x is not a function"]) {
      const { maps } = setUp({
        summarizer: summarizer(() => {
          throw thrown;
        }),
      });
      const error = await assertRejects(async () => await maps.get(await load("one")), WaymarkError);
      assertEquals([error.code, error.message], ["internal", "Cannot summarize a.ts: x is not a function"]);
      assertStrictEquals(error.cause, thrown);
    }
  });

  it("keeps a prose-only summary: the next read of the file spends nothing", async () => {
    const model = summarizer(() => ({ ...summary, regions: [] }));
    const { maps } = setUp({ summarizer: model });
    const file = await load("one");
    await maps.get(file);
    assertEquals([(await maps.get(file)).hit, model.runs], [true, 1]);
  });
});

describe("failureReason()", () => {
  it("is the error's own code where that is a reason, else internal", () => {
    assertEquals(failureReason(new WaymarkError("timeout", "x")), "timeout");
    for (const other of [new WaymarkError("cache", "x"), new Error("x"), "x", undefined]) {
      assertEquals(failureReason(other), "internal");
    }
  });
});
