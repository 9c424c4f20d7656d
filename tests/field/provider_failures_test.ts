/** The whole guard with Claude over real HTTP, and everything that can go wrong on the way there and back. */

import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { describe, it } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { anthropic } from "../../src/providers/anthropic.ts";
import { completionModel } from "../../src/providers/custom.ts";
import { fakeClock, trueMap } from "../../src/testing.ts";
import { createWaymark, WaymarkError } from "../../mod.ts";
import { apiError, message, type ReceivedRequest, type Reply, startMessagesApi } from "../messages_api.ts";
import { code, inFolder, plainTool, put } from "../support.ts";
import {
  answerOf,
  asking,
  askingIn,
  assertCapped,
  contentOf,
  entriesIn,
  guarding,
  guardingIn,
  LIMIT,
  prelude,
  rowsOf,
  run,
} from "./field.ts";

/** A true answer to the request that came. */
const good = ({ body }: ReceivedRequest): Reply => message(trueMap(body as never));
const invalid = apiError(400, "invalid_request_error", "messages: something is wrong");
const files = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => (put(folder, `f${index}.ts`, code(300 + index)), `f${index}.ts`));

/** That a result is the file as it is, with a notice and no map. */
function assertWhole(result: string, text: string, reason: string): void {
  assertEquals([contentOf(result) === text, rowsOf(result)], [true, []]);
  assertStringIncludes(result, "[waymark notice: no map, the read was not shortened]");
  assertStringIncludes(result, reason);
}

describe("a provider that fails every time", () => {
  it("is asked once a minute for one file, told of once, and every read is as it was", LIMIT, () => {
    const clock = fakeClock();
    return asking([invalid], async ({ folder, read, api, notices, waymark }) => {
      put(folder, "a.ts", code(300));
      for (let times = 0; times < 50; times++) {
        assertWhole(await read({ path: "a.ts" }), code(300), "400 messages: something is wrong");
      }
      assertEquals([api.requests.length, notices.length, waymark.stats().failures], [1, 1, 50]);
      assertStringIncludes(await read({ path: "a.ts" }), "the next try is in 60 s");
      clock.advance(59_999);
      await read({ path: "a.ts" });
      assertEquals(api.requests.length, 1);
      clock.advance(2);
      await read({ path: "a.ts" });
      assertEquals([api.requests.length, notices.length], [2, 1]);
    }, { clock });
  });

  it("is asked three times for fifty files, and then once a minute for all of them", LIMIT, () => {
    const clock = fakeClock();
    return asking([invalid], async ({ folder, read, api, notices }) => {
      const names = files(folder, 50);
      for (const [index, path] of names.entries()) {
        assertWhole(await read({ path }), code(300 + index), "something is wrong");
      }
      assertEquals([api.requests.length, notices.length], [3, 1]);
      for (let minutes = 1; minutes <= 3; minutes++) {
        clock.advance(60_001);
        for (const path of names) await read({ path });
        assertEquals([api.requests.length, notices.length], [3 + minutes, 1]);
      }
    }, { clock });
  });

  for (
    const [status, type, words] of [[401, "authentication_error", "invalid x-api-key"], [
      403,
      "permission_error",
      "Not for you",
    ], [404, "not_found_error", "model: claude-none"]] as const
  ) {
    it(
      `with ${status}, which the next file would meet as well, is asked once for all files`,
      LIMIT,
      () =>
        asking([apiError(status, type, words)], async ({ folder, read, api, notices }) => {
          for (const [index, path] of files(folder, 10).entries()) {
            assertWhole(await read({ path }), code(300 + index), `${status} ${words}`);
          }
          assertEquals([api.requests.length, notices.length], [1, 1]);
          assertStringIncludes(notices[0]!.message, `${status} ${words}`);
        }),
    );
  }

  it(
    "can always be asked by name",
    LIMIT,
    () =>
      asking([invalid], async ({ folder, read, waymark, api }) => {
        put(folder, "a.ts", code(300));
        await read({ path: "a.ts" });
        const error = await assertRejects(() => waymark.summarize(join(folder, "a.ts")), WaymarkError);
        assertEquals([error.code, error.status, api.requests.length], ["provider-error", 400, 2]);
      }),
  );
});

describe("a provider that is busy", () => {
  it("is not waited for: no map now, a map once it can", LIMIT, () => {
    const clock = fakeClock(),
      replies = [
        apiError(429, "rate_limit_error", "Slow down", { "retry-after": "30" }),
        apiError(529, "overloaded_error", "Overloaded"),
        apiError(503, "api_error", "Unavailable"),
      ];
    return asking((request, index) => replies[index] ?? good(request), async ({ folder, read, api, waymark }) => {
      put(folder, "a.ts", code(300));
      for (
        const [index, words] of ["429 Slow down; it asks to wait 30 s", "529 Overloaded", "503 Unavailable"].entries()
      ) {
        for (let times = 0; times < 3; times++) assertWhole(await read({ path: "a.ts" }), code(300), words);
        assertEquals(api.requests.length, index + 1);
        clock.advance(60_001);
      }
      for (let times = 0; times < 3; times++) assertCapped(await read({ path: "a.ts" }), code(300));
      assertEquals([api.requests.length, waymark.stats().modelCalls], [4, 4]);
    }, { clock });
  });
});

describe("a provider that does not answer in time", () => {
  const slow: Record<string, Reply> = {
    "says nothing": { kind: "hang" },
    "says it byte by byte": { kind: "drip", everyMs: 50 },
  };
  for (const [what, reply] of Object.entries(slow)) {
    it(
      `because it ${what}, is hung up on at the deadline, and the read goes on`,
      LIMIT,
      () =>
        asking([reply], async ({ folder, read, api }) => {
          put(folder, "a.ts", code(300));
          assertWhole(await read({ path: "a.ts" }), code(300), "no answer within 2 s");
          assertEquals(await api.requests[0]!.cutShort, true);
          assertWhole(await read({ path: "a.ts" }), code(300), "the next try is in");
          assertEquals(api.requests.length, 1);
        }, { limits: { timeoutMs: 2_000 } }),
    );
  }

  it("and answers afterwards, well or badly, hurts nobody", LIMIT, async () => {
    const gates: PromiseWithResolvers<never>[] = [];
    const model = completionModel({
      name: "late",
      complete: () => (gates.push(Promise.withResolvers()), gates.at(-1)!.promise),
    }); // heeds no signal
    await guarding(async ({ folder, read }) => {
      put(folder, "a.ts", code(300));
      put(folder, "b.ts", code(301));
      assertWhole(await read({ path: "a.ts" }), code(300), "no answer within 1 s");
      assertWhole(await read({ path: "b.ts" }), code(301), "no answer within 1 s");
      gates[0]!.resolve({ text: trueMap({ messages: [] } as never), stopReason: "end" } as never);
      gates[1]!.reject(new Error("too late"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      assertWhole(await read({ path: "a.ts" }), code(300), "the next try is in");
    }, { model, limits: { timeoutMs: 1_000 } });
  });

  it("keeps no process alive", LIMIT, async () => {
    const api = await startMessagesApi({ replies: [{ kind: "hang" }] });
    try {
      await inFolder(async (folder) => {
        put(folder, "a.ts", code(300));
        const script = put(
          folder,
          "script.mjs",
          `
          import { anthropic } from ${
            JSON.stringify(`${join(import.meta.dirname!, "../..")}/src/providers/anthropic.ts`)
          };
          ${
            prelude(
              `model: anthropic({ apiKey: "test-key", baseURL: ${
                JSON.stringify(api.url)
              } }), limits: { timeoutMs: 2_000 }`,
            )
          }
          const text = await read({ path: "a.ts" });
          tell({ notice: text.includes("no answer within 2 s"), faults });`,
        );
        assertEquals(answerOf(await run(script, { args: [folder], killAfterMs: 30_000 })), {
          notice: true,
          faults: [],
        });
      });
    } finally {
      await api.close();
    }
  });
});

describe("a key", () => {
  it("that is not there is found when the model is made, by name, and before anything is sent", LIMIT, () => {
    const before = process.env["ANTHROPIC_API_KEY"];
    delete process.env["ANTHROPIC_API_KEY"];
    try {
      for (const apiKey of ["", "  "]) {
        const error = assertThrows(() => anthropic({ apiKey }), WaymarkError);
        assertEquals(error.code, "no-key");
        assertMatch(error.message, /ANTHROPIC_API_KEY/);
      }
      assertThrows(() => anthropic(), WaymarkError, "there is no API key");
    } finally {
      if (before !== undefined) process.env["ANTHROPIC_API_KEY"] = before;
    }
  });

  it(
    "that is wrong, or taken back in between, breaks no read, and is in nothing that is said or kept",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const key = "sk-dummy-DUMMY_0001-not-a-key",
          api = await startMessagesApi({ replies: (request) => good(request), key: "another" });
        try {
          await guardingIn(folder, async ({ read, notices, events }) => {
            for (const [index, path] of files(folder, 3).entries()) {
              assertWhole(await read({ path }), code(300 + index), "401 invalid x-api-key");
            }
            const said = JSON.stringify([notices, events, await read({ path: "f0.ts" })]);
            assert(!said.includes("DUMMY_0001"), said);
            assertEquals(api.requests.length, 1);
          }, { model: anthropic({ apiKey: key, baseURL: api.url }) });
        } finally {
          await api.close();
        }
        const replies = (request: ReceivedRequest, index: number) =>
          index === 0 ? good(request) : apiError(401, "authentication_error", "key revoked");
        await askingIn(folder, replies, async ({ read, notices }) => {
          assertCapped(await read({ path: "f0.ts" }), code(300));
          assertWhole(await read({ path: "f1.ts" }), code(301), "401 key revoked");
          assertCapped(await read({ path: "f0.ts" }), code(300)); // what is known stays known
          assertEquals(notices.length, 1);
        });
      }),
  );
});

describe("the reader's own stop", () => {
  /** A tool that gives up when it is told to, as hosts' tools do. */
  const stoppable = (folder: string) => {
    const { read } = plainTool(folder);
    return (args: { path: string }, info?: { signal?: AbortSignal }): Promise<string> => {
      info?.signal?.throwIfAborted();
      return Promise.resolve(read(args));
    };
  };
  const leasesIn = (folder: string): number => {
    const database = new DatabaseSync(join(folder, ".summaries/summaries.db"), { readOnly: true });
    try {
      return Number(database.prepare("select count(*) as n from leases").get()?.["n"]);
    } finally {
      database.close();
    }
  };

  it(
    "before the read sends nothing, and is the host's own error",
    LIMIT,
    () =>
      asking([invalid], async ({ folder, wrap, api, notices }) => {
        put(folder, "a.ts", code(300));
        const reason = new DOMException("stopped by the user", "AbortError");
        const error = await assertRejects(() =>
          wrap(stoppable(folder))({ path: "a.ts" }, { signal: AbortSignal.abort(reason) })
        );
        assertEquals([error === reason, api.requests.length, notices], [true, 0, []]);
      }),
  );

  it(
    "in the middle reaches the request, and is the host's own error at once; nothing is kept, nothing held against the file",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        put(folder, "a.ts", code(300));
        const controller = new AbortController(), reason = new DOMException("stopped by the user", "AbortError");
        const replies = (request: ReceivedRequest, index: number): Reply => {
          if (index > 0) return good(request);
          setTimeout(() => controller.abort(reason), 20);
          return { kind: "hang" };
        };
        await askingIn(folder, replies, async ({ wrap, api, notices }) => {
          const read = wrap(stoppable(folder));
          const error = await assertRejects(() => read({ path: "a.ts" }, { signal: controller.signal }));
          assertEquals([error === reason, await api.requests[0]!.cutShort, notices], [true, true, []]);
          assertEquals([entriesIn(folder).length, leasesIn(folder)], [0, 0]);
          assertCapped(await read({ path: "a.ts" }, {}), code(300)); // and without a signal at all
          assertEquals(api.requests.length, 2);
        });
      }),
  );

  it("in the middle leaves a tool that does not heed it its whole answer, and the other readers theirs", LIMIT, () => {
    const controller = new AbortController(), gate = Promise.withResolvers<void>();
    const model = completionModel({
      name: "gated",
      async complete(request) {
        setTimeout(() => controller.abort(), 20);
        await gate.promise;
        request.signal.throwIfAborted();
        return {
          text: trueMap(request),
          stopReason: "end",
          usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
        };
      },
    });
    return guarding(async ({ folder, read }) => {
      put(folder, "a.ts", code(300));
      const other = read({ path: "a.ts" }, {});
      assertEquals(await read({ path: "a.ts" }, { signal: controller.signal }), code(300));
      gate.resolve();
      assertCapped(await other, code(300));
    }, { model });
  });

  it("afterwards changes nothing", LIMIT, () =>
    asking((request) => good(request), async ({ folder, wrap, api }) => {
      put(folder, "a.ts", code(300));
      const controller = new AbortController(), read = wrap(stoppable(folder));
      assertCapped(await read({ path: "a.ts" }, { signal: controller.signal }), code(300));
      controller.abort();
      assertCapped(await read({ path: "a.ts" }, {}), code(300));
      assertEquals(api.requests.length, 1);
    }));
});

describe("the true cause", () => {
  const replies: Record<string, readonly [Reply, RegExp]> = {
    "a page in place of a message": [{
      kind: "page",
      status: 200,
      html: "<html><body>Log in to the proxy</body></html>",
    }, /not a message of the Messages API: <html>/],
    "a gateway's page": [{ kind: "page", status: 502, html: "<html><body>Bad gateway</body></html>" }, /502/],
    "a server error": [apiError(500, "api_error", "Internal server error"), /500 Internal server error/],
    "a connection that broke": [{ kind: "drop" }, /127\.0\.0\.1:\d+|socket|terminated|closed|end of/i],
    "an error in no known form": [{ kind: "error", status: 418, body: { teapot: true } }, /418/],
  };
  for (const [what, [reply, words]] of Object.entries(replies)) {
    it(
      `is said to the model and to the person: ${what}`,
      LIMIT,
      () =>
        asking([reply], async ({ folder, read, notices, api }) => {
          put(folder, "a.ts", code(300));
          const result = await read({ path: "a.ts" });
          assertWhole(result, code(300), "Reason: Cannot summarize a.ts: ");
          assertMatch(result.slice(code(300).length), words);
          assertMatch(notices[0]!.message, words);
          assert(!/size limit|too large/.test(result));
          assertEquals([notices.length, api.requests.length], [1, 1]);
        }),
    );
  }

  it(
    "is said where nobody is there: a port that is closed, a name that is unknown, a server without TLS",
    LIMIT,
    async () => {
      const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as AddressInfo, closed = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => closed.once("listening", resolve));
      const { port: unused } = closed.address() as AddressInfo;
      await new Promise((resolve) => closed.close(resolve));
      try {
        for (
          const baseURL of [`http://127.0.0.1:${unused}`, "http://no-such-host.invalid", `https://127.0.0.1:${port}`]
        ) {
          await guarding(async ({ folder, read, notices }) => {
            put(folder, "a.ts", code(300));
            assertWhole(await read({ path: "a.ts" }), code(300), `answer from ${new URL(baseURL).host}`);
            assertStringIncludes(notices[0]!.message, new URL(baseURL).host);
          }, { model: anthropic({ apiKey: "test-key", baseURL }) });
        }
      } finally {
        server.close();
      }
    },
  );

  it(
    "is said once on stderr where nobody listens, in one line, and the read is as it was",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        put(folder, "a.ts", code(300));
        const api = await startMessagesApi({ replies: [invalid] }), said: unknown[][] = [], before = console.error;
        console.error = (...words: unknown[]) => void said.push(words);
        try {
          const waymark = createWaymark({ root: folder, model: anthropic({ apiKey: api.key, baseURL: api.url }) });
          const read = waymark.wrap(plainTool(folder).read, { facts: () => ({ cwd: folder }) }) as unknown as (
            args: unknown,
          ) => Promise<string>;
          for (let times = 0; times < 5; times++) {
            assertWhole(await read({ path: "a.ts" }), code(300), "something is wrong");
          }
          await waymark.close();
        } finally {
          console.error = before;
          await api.close();
        }
        assertEquals(said.length, 1);
        assertMatch(
          String(said[0]![0]),
          /^waymark: Cannot summarize a\.ts: [^\n]*400 messages: something is wrong[^\n]*$/,
        );
      }),
  );
});

describe("a ceiling", () => {
  it(
    "of model calls, once reached, is a reason like any other; what is known costs nothing",
    LIMIT,
    () =>
      asking((request) => good(request), async ({ folder, read, api }) => {
        const names = files(folder, 5);
        for (let times = 0; times < 2; times++) {
          for (const [index, path] of names.entries()) {
            const result = await read({ path });
            if (index < 2) assertCapped(result, code(300 + index));
            else assertWhole(result, code(300 + index), "the limit of 2 model calls is used up");
          }
        }
        assertEquals(api.requests.length, 2);
      }, { limits: { maxModelCalls: 2 } }),
  );
});
