/** The whole guard with many readers at once, in one process and in many, some of which are killed. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { completionModel } from "../../src/providers/custom.ts";
import { trueMap } from "../../src/testing.ts";
import type { CompletionRequest } from "../../mod.ts";
import {
  apiError,
  message,
  type MessagesApi,
  type ReceivedRequest,
  type Reply,
  startMessagesApi,
} from "../messages_api.ts";
import { code, inFolder, put } from "../support.ts";
import {
  answerOf,
  asking,
  assertCapped,
  contentOf,
  entriesIn,
  guarding,
  guardingIn,
  LIMIT,
  LONG,
  prelude,
  ROOT,
  rowsOf,
  run,
} from "./field.ts";

const good = ({ body }: ReceivedRequest): Reply => message(trueMap(body as never));
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The beginning of a script whose model is Claude, as the given server plays it. */
const withClaude = (api: MessagesApi, options = ""): string => `
  import { anthropic } from ${JSON.stringify(`${ROOT}/src/providers/anthropic.ts`)};
  ${prelude(`model: anthropic({ apiKey: "test-key", baseURL: ${JSON.stringify(api.url)} }), ${options}`)}`;

/** Which files the requests were about: by their number of lines. */
const asked = (api: MessagesApi): number[] =>
  api.requests.map(({ body }) => Number(/The file has (\d+) lines/.exec(JSON.stringify(body))?.[1])).sort((a, b) =>
    a - b
  );

function assertSound(folder: string): void {
  const database = new DatabaseSync(join(folder, ".summaries/summaries.db"));
  try {
    assertEquals(database.prepare("pragma integrity_check").get(), { integrity_check: "ok" });
    const torn =
      "select count(*) as n from entries e where regions != (select count(*) from regions r where r.entry_id = e.id)";
    assertEquals(database.prepare(torn).get()?.["n"], 0);
    const orphans = "select count(*) as n from regions where entry_id not in (select id from entries)";
    assertEquals(database.prepare(orphans).get()?.["n"], 0);
  } finally {
    database.close();
  }
}

describe("many reads at once in one process", () => {
  for (const readers of [10, 200]) {
    it(
      `of one cold file, ${readers} of them, are one request and one map`,
      LIMIT,
      () =>
        asking((request) => good(request), async ({ folder, read, api, waymark }) => {
          put(folder, "a.ts", code(300));
          const results = await Promise.all(Array.from({ length: readers }, () => read({ path: "a.ts" })));
          assertEquals([new Set(results).size, api.requests.length, waymark.stats().modelCalls], [1, 1, 1]);
          assertCapped(results[0]!, code(300));
        }),
    );
  }

  it(
    "of one file under two names and many ranges are one request",
    LIMIT,
    () =>
      asking((request) => good(request), async ({ folder, read, api }) => {
        for (const name of ["a.ts", "b.ts"]) put(folder, name, code(900));
        await Promise.all(Array.from({ length: 40 }, async (_, index) => {
          const offset = index * 15 + 1;
          assertCapped(await read({ path: index % 2 ? "a.ts" : "b.ts", offset }), code(900), offset);
        }));
        assertEquals(api.requests.length, 1);
      }),
  );

  it("of 300 files never have more than four requests under way, and each gets its own map", LIMIT, () => {
    let active = 0, most = 0, all = 0;
    const model = completionModel({
      name: "counted",
      async complete(request: CompletionRequest) {
        all++;
        most = Math.max(most, ++active);
        await pause(2);
        active--;
        return { text: trueMap(request), stopReason: "end", usage };
      },
    });
    return guarding(async ({ folder, read }) => {
      const texts = Array.from({ length: 300 }, (_, index) => code(201 + index));
      for (const [index, text] of texts.entries()) put(folder, `f${index}.ts`, text);
      const results = await Promise.all(texts.map((_, index) => read({ path: `f${index}.ts` })));
      for (const [index, text] of texts.entries()) assertCapped(results[index]!, text);
      assertEquals([all, most], [300, 4]);
    }, { model });
  });

  it("of 300 files are each bounded in time though nothing ever answers", LIMIT, () => {
    let all = 0;
    const model = completionModel({ name: "mute", complete: () => (all++, new Promise<never>(() => {})) });
    return guarding(async ({ folder, read, notices }) => {
      for (let index = 0; index < 300; index++) put(folder, `f${index}.ts`, code(201 + index));
      const results = await Promise.all(Array.from({ length: 300 }, (_, index) => read({ path: `f${index}.ts` })));
      for (const [index, result] of results.entries()) {
        assertEquals([contentOf(result) === code(201 + index), rowsOf(result)], [true, []]);
        assertMatch(result, /no (answer within 3|turn within 1.5) s/);
      }
      assert(all <= 8, `${all} requests`);
      assertEquals(notices.length, 2);
    }, { model, limits: { timeoutMs: 3_000 } });
  });

  it(
    "of 100 files ask a provider that fails a handful of times, not once for each",
    LIMIT,
    () =>
      asking([apiError(400, "invalid_request_error", "something is wrong")], async ({ folder, read, api, notices }) => {
        for (let index = 0; index < 100; index++) put(folder, `f${index}.ts`, code(201 + index));
        const results = await Promise.all(Array.from({ length: 100 }, (_, index) => read({ path: `f${index}.ts` })));
        for (const [index, result] of results.entries()) {
          assertEquals([contentOf(result) === code(201 + index), rowsOf(result)], [true, []]);
          assertStringIncludes(result, "400 something is wrong");
        }
        assert(api.requests.length <= 8, `${api.requests.length} requests`);
        assertEquals(notices.length, 1);
      }),
  );

  it("go on while the instance is closed under them", LIMIT, () =>
    guarding(async ({ folder, read, waymark }) => {
      for (let index = 0; index < 20; index++) put(folder, `f${index}.ts`, code(300 + index));
      const reading = Array.from({ length: 20 }, (_, index) => read({ path: `f${index}.ts` }));
      await pause(3);
      const closing = waymark.close();
      for (const [index, result] of (await Promise.all(reading)).entries()) {
        if (rowsOf(result).length) assertCapped(result, code(300 + index));
        else assertEquals([contentOf(result), /closed meanwhile/.test(result)], [code(300 + index), true]);
      }
      await closing;
      assertCapped(await read({ path: "f0.ts" }), code(300));
    }));

  it(
    "over two instances of one root keep one database, each to its own close",
    LIMIT,
    () =>
      inFolder((folder) =>
        guardingIn(folder, async (one) => {
          put(folder, "a.ts", code(300));
          await guardingIn(folder, async (two) => {
            const results = await Promise.all([one.read({ path: "a.ts" }), two.read({ path: "a.ts" })]);
            for (const result of results) assertCapped(result, code(300));
            assertEquals(one.model.calls.length + two.model.calls.length, 1);
          });
          put(folder, "b.ts", code(301));
          assertCapped(await one.read({ path: "b.ts" }), code(301));
          assertEquals(one.notices, []);
        })
      ),
  );
});

describe("many processes at once", () => {
  it("on one new database, eight of them, ask once for each of the files they share", LONG, async () => {
    const api = await startMessagesApi({ replies: (request) => good(request) });
    try {
      await inFolder(async (folder) => {
        for (let index = 0; index < 5; index++) put(folder, `f${index}.ts`, code(300 + index));
        const script = put(
          folder,
          "script.mjs",
          `${withClaude(api)}
          const results = await Promise.all([0, 1, 2, 3, 4].map((index) => read({ path: "f" + index + ".ts" })));
          await waymark.close();
          tell({ capped: results.map((result, index) => result.includes("lines 1-200 of " + (300 + index))), notices, faults });`,
        );
        const ended = await Promise.all(
          Array.from({ length: 8 }, () => run(script, { args: [folder], killAfterMs: 120_000 })),
        );
        for (const each of ended) {
          assertEquals(answerOf(each), { capped: [true, true, true, true, true], notices: [], faults: [] });
        }
        assertEquals(asked(api), [300, 301, 302, 303, 304]);
        assertSound(folder);
        assertEquals(entriesIn(folder).length, 5);
      });
    } finally {
      await api.close();
    }
  });

  it("do not wait for ever for one that was killed while its model was at it", LONG, async () => {
    const api = await startMessagesApi({ replies: (request, index) => index === 0 ? { kind: "hang" } : good(request) });
    try {
      await inFolder(async (folder) => {
        put(folder, "a.ts", code(300));
        const script = put(
          folder,
          "script.mjs",
          `${withClaude(api)}
          const result = await read({ path: "a.ts" });
          await waymark.close();
          tell({ capped: result.includes("lines 1-200 of 300"), notices, faults });`,
        );
        let kill = (): void => {};
        const first = run(script, { args: [folder], onStart: (stop) => (kill = stop) });
        for (let waits = 0; !api.requests.length && waits < 6000; waits++) await pause(10);
        const second = run(script, { args: [folder] });
        await pause(300);
        kill();
        assertEquals((await first).signal, "SIGKILL");
        assertEquals(answerOf(await second), { capped: true, notices: [], faults: [] });
        assertEquals(asked(api), [300, 300]);
        assertEquals(entriesIn(folder).length, 1);
      });
    } finally {
      await api.close();
    }
  });

  it("killed in the middle of storing lose what they were storing and no more", LONG, () =>
    inFolder(async (folder) => {
      for (let index = 0; index < 120; index++) put(folder, `f${index}.ts`, `${code(600)}\n// ${index}`);
      const script = put(
        folder,
        "script.mjs",
        `${prelude("model: undefined")}
        console.log("begun");
        for (let index = 0; ; index = (index + 1) % 120) {
          await read({ path: "f" + index + ".ts" });
          if (index % 10 === 9) console.log("stored " + index);
          await waymark.forget(folder + "/f" + ((index + 60) % 120) + ".ts");
        }`,
      );
      for (let round = 0; round < 12; round++) {
        const lines = 1 + round % 4;
        let killing = false;
        const { signal } = await run(script, {
          args: [folder],
          onOutput: (text, kill) => {
            if (killing || text.split("\n").length <= lines) return;
            killing = true;
            setTimeout(kill, round * 3 % 17);
          },
        });
        assertEquals(signal, "SIGKILL");
        await guardingIn(folder, async ({ read, notices }) => {
          for (const index of [0, 5, round, 60 + round]) {
            assertCapped(await read({ path: `f${index}.ts` }), `${code(600)}\n// ${index}`);
          }
          assertEquals(notices, []);
        }, { model: undefined });
        assertSound(folder);
      }
      assertEquals(readdirSync(join(folder, ".summaries")).filter((name) => /corrupt|foreign|other/.test(name)), []);
      assert(entriesIn(folder).length > 10);
    }));
});
