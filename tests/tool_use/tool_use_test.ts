import { describe, it } from "node:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { WaymarkError } from "../../src/errors.ts";
import { fakeClock, scriptedModel } from "../../src/testing.ts";
import { loadSummaries, type ToolUseOptions, toolUseSummary } from "../../src/tool_use.ts";
import { parseRow } from "../../src/tool_use/rows.ts";
import type { DigestRow, SkipReason } from "../../src/tool_use/types.ts";
import type { ReadCall, ReadOutcome } from "../../src/types.ts";
import { createWaymark } from "../../src/waymark.ts";
import { wrap } from "../../src/wrap.ts";
import { inFolder, until } from "../support.ts";
import { output, refuseUnseenRejections, sent, slowModel, withDigests } from "./support.ts";

refuseUnseenRejections();

/** The rows of a session's ledger. */
function rowsOf(root: string, session = "session-1"): DigestRow[] {
  const file = join(root, ".summaries", "tool-use", `${session}.jsonl`);
  return readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Everybody answers alike. */
const always = () => "A digest.";
const large = output();

describe("toolUseSummary()", () => {
  it("has the defaults that are written: 4096 bytes, 200 calls, 200 digests, 4 calls at once", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      for (let call = 1; call <= 201; call++) {
        digests.accept({ callId: `c${call}`, tool: "bash", result: "x".repeat(4096) });
      }
      digests.accept({ callId: "small", tool: "bash", result: "x".repeat(4095) });
      digests.accept({ callId: "excluded", tool: "structured_output", result: large });
      await digests.settled();
      assertEquals([model.calls.length, digests.summaries().size], [200, 200]);
      assertEquals(digests.stats().skipped, { budget: 1, small: 1, excluded: 1 });
    });
    await withDigests(always, { maxCallsPerSession: Infinity }, async ({ digests, model }) => {
      for (let call = 1; call <= 201; call++) digests.accept({ callId: `c${call}`, tool: "bash", result: large });
      await digests.settled();
      assertEquals([model.calls.length, digests.summaries().size, digests.summaries().has("c1")], [201, 200, false]);
    });
    const model = slowModel();
    await withDigests([], { model }, async ({ digests }) => {
      for (let call = 1; call <= 6; call++) digests.accept({ callId: `c${call}`, tool: "bash", result: large });
      await until(() => model.calls.length >= 4);
      await new Promise((resolve) => setTimeout(resolve, 0));
      assertEquals([model.calls.length, digests.stats().underWay], [4, 6]);
    });
  });

  it("digests a large result once, beside the run, and tells of it", async () => {
    await withDigests(["3 tests fail in src/a.ts."], {}, async ({ digests, model, events }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      assertEquals([digests.summaries().size, model.calls.length], [0, 0], "nothing on the calling path");
      await digests.settled();
      const { at: _at, durationMs: _ms, ...row } = digests.summaries().get("c1")!;
      assertEquals(row, {
        callId: "c1",
        tool: "bash",
        resultBytes: large.length,
        status: "ok",
        summary: "3 tests fail in src/a.ts.",
      });
      const { system, maxTokens } = model.calls[0]!;
      assertEquals([model.calls.length, maxTokens, Object.keys(model.calls[0]!).sort()], [1, 256, [
        "maxTokens",
        "messages",
        "signal",
        "system",
      ]]);
      assertMatch(system, /150 words/);
      assertStringIncludes(sent(model.calls[0]), large);
      assertEquals(events.map(({ what }) => what), ["made"]);
      const { made, modelCalls, tokensSpent } = digests.stats();
      assertEquals([made, modelCalls, tokensSpent > 1000], [1, 1, true]);
    });
  });

  it("looks at a result in a later turn of the event loop, however many came before", async () => {
    await withDigests(always, {}, async ({ digests, events }) => {
      for (const callId of ["c1", "c2"]) {
        digests.accept({ callId, tool: "bash", result: large });
        digests.accept({ callId: `small ${callId}`, tool: "bash", result: "x" });
        const before = [digests.stats().underWay, events.length];
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        assertEquals([digests.stats().underWay, events.length], before);
        assertEquals(before, callId === "c1" ? [0, 0] : [0, 2]);
        await digests.settled();
      }
    });
  });

  it("gives way to other work between results that name many files, each of which is followed to where it leads", async () => {
    await withDigests(always, { model: undefined }, async ({ digests, events }) => {
      const command = Array.from({ length: 1900 }, (_, index) => `word${index}`).join(" "), seen = new Set<number>();
      for (let index = 0; index < 12; index++) {
        digests.accept({ callId: `${index}`, tool: "bash", result: large, args: { command } });
      }
      const settled = digests.settled().then(() => true);
      const turn = (): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false)));
      while (!await Promise.race([settled, turn()])) seen.add(events.length);
      assertEquals(events.length, 12);
      assert(seen.size > 3, [...seen].join(" "));
    });
  });

  it("opens and starts nothing before the first result", async () => {
    await inFolder(async (root) => {
      await withDigests(always, { root }, async ({ digests }) => {
        await digests.settled();
        digests.stats();
        digests.relieve({ share: 1 });
        assertEquals(existsSync(join(root, ".summaries")), false);
      });
    });
  });

  it("names each gate that is shut, in the ledger as in the events", async () => {
    await inFolder(async (root) => {
      const gates: readonly (readonly [SkipReason, Partial<ToolUseOptions>])[] = [
        ["disabled", { enabled: false }],
        ["not-top-level", { topLevel: undefined }],
        ["not-top-level", { topLevel: false }],
        ["small", { minResultBytes: large.length + 1 }],
        ["excluded", { excludeTools: ["bash"] }],
        ["no-model", { model: undefined }],
        ["budget", { maxCallsPerSession: 0 }],
      ];
      for (const [index, [reason, options]] of gates.entries()) {
        const session = `s${index}`;
        await withDigests(always, { root, session, ...options }, async ({ digests, model, events }) => {
          digests.accept({ callId: "c1", tool: "bash", result: large });
          await digests.settled();
          const rows = rowsOf(root, session);
          assertEquals(rows.map(({ status, skipReason, resultBytes }) => [status, skipReason, resultBytes]), [
            ["skipped", reason, large.length],
          ]);
          assertEquals(events.map((event) => event.what === "skipped" && event.reason), [reason]);
          assertEquals([digests.summaries().size, model.calls.length, digests.stats().skipped], [0, 0, {
            [reason]: 1,
          }]);
        });
      }
    });
  });

  it("takes the least size in bytes of UTF-8: 4,096 is enough, 4,095 is not", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      digests.accept({ callId: "small", tool: "bash", result: "é".repeat(2047) + "x" });
      digests.accept({ callId: "large", tool: "bash", result: "é".repeat(2048) });
      digests.accept({ callId: "structured", tool: "structured_output", result: large });
      await digests.settled();
      assertEquals([[...digests.summaries().keys()], model.calls.length], [["large"], 1]);
      assertEquals(digests.stats().skipped, { small: 1, excluded: 1 });
    });
  });

  it("never sends the result of a file with secrets, however it was read, and keeps nothing of it", async () => {
    await inFolder(async (root) => {
      const secret = `PASSWORD=hunter2-${"x".repeat(20)}\n`.repeat(250);
      await withDigests(always, { root }, async ({ digests, model }) => {
        for (const name of [".env", ".env.local", "id_rsa", "creds.pem", "secrets.json"]) {
          digests.accept({ callId: `path ${name}`, tool: "read", result: secret, path: `config/${name}` });
          digests.accept({ callId: `args ${name}`, tool: "Read", result: secret, args: { file_path: `/p/${name}` } });
          digests.accept({
            callId: `cat ${name}`,
            tool: "bash",
            result: secret,
            args: { command: `cat ${name} | head` },
          });
        }
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [0, { secret: 15 }]);
        assert(!readFileSync(join(root, ".summaries/tool-use/session-1.jsonl"), "utf8").includes("hunter2"));
      });
    });
  });

  it("never sends the result of a file with secrets that a link leads to, from wherever it is named", async () => {
    await inFolder(async (root) => {
      const secret = `PASSWORD=hunter2-${"x".repeat(20)}\n`.repeat(250), link = join(root, "plain.txt");
      writeFileSync(join(root, ".env"), secret);
      symlinkSync(join(root, ".env"), link);
      await withDigests(always, {}, async ({ digests, model }) => {
        const given = { tool: "bash", result: secret };
        digests.accept({ ...given, callId: "1", path: link });
        digests.accept({ ...given, callId: "2", args: { file_path: pathToFileURL(link).href } });
        digests.accept({ ...given, callId: "3", args: { command: `cat '${link}' | head` } });
        digests.accept({ ...given, callId: "4", args: [relative(process.cwd(), link)] });
        const call: ReadCall = { path: "plain.txt", cwd: root, start: 1, callId: "5" };
        await digests.middleware(call, () => Promise.resolve({ result: secret, annotations: [] }));
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [0, { secret: 5 }]);
        const words = Array.from({ length: 500 }, (_, index) => `word${index}`), command = words.join(" ");
        digests.accept({ ...given, callId: "6", args: { command: `${command} ${link}` } });
        digests.accept({ ...given, callId: "7", args: { command, file_path: link } });
        digests.accept({ ...given, callId: "8", args: { paths: [...words.slice(0, 220), link] } });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [0, { secret: 8 }]);
        digests.accept({ ...given, callId: "9", args: { path: join(root, "nothing.txt") } });
        await digests.settled();
        assertEquals(model.calls.length, 1);
      });
    });
  });

  it("sends nothing of a call that names more than is looked at", async () => {
    await inFolder(async (root) => {
      const result = `PASSWORD=hunter2-${"x".repeat(20)}\n`.repeat(250), env = join(root, ".env");
      const link = join(root, "plain.txt");
      writeFileSync(env, result);
      symlinkSync(env, link);
      const words = (count: number): string[] => Array.from({ length: count }, (_, index) => `word${index}`);
      const long = `cat > a <<X\n${"x".repeat(120_000)}\nX\n`;
      let nested: unknown = { path: env };
      for (let depth = 0; depth < 200; depth++) nested = { inner: nested };
      await withDigests(always, {}, async ({ digests, model }) => {
        const calls: readonly unknown[] = [
          { paths: [...words(260), env] },
          { paths: [...words(2500), link] },
          ["cat", ...words(300), env],
          { command: `${words(1300).join(" ")} ${env}` },
          { command: `${words(1300).join(" ")} ${link}` },
          { command: `${long}cat ${env}` },
          { edits: words(260), file_path: link },
          { edits: words(20_000), file_path: link },
          { paths: `${words(1300).join(" ")} ${"x".repeat(9000)} ${env}` },
          { commands: Array(50).fill(`${words(1000).join(" ")} ${env}`) },
          { path: new URL(`file://${env}`) },
          { options: new Map([["path", env]]) },
          {
            get context() {
              throw new Error("trap");
            },
            path: env,
          },
          `cat ${link}`,
          "cat .env",
          nested,
        ];
        for (const [index, args] of calls.entries()) digests.accept({ callId: `${index}`, tool: "bash", result, args });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [0, { secret: calls.length }]);
        const args = {
          rows: new Uint8Array(100_000),
          url: `data:image/png;base64,${"x".repeat(50_000)}`,
          path: "a.ts",
          text: "x".repeat(200_000),
          command: words(1300).join(" "),
        };
        digests.accept({ callId: "plain", tool: "bash", result, args: Object.assign(args, { self: args }) });
        await digests.settled();
        assertEquals(model.calls.length, 1);
      });
    });
  });

  it("leaves no key in the ledger that a result or an answer holds", async () => {
    await inFolder(async (root) => {
      const key = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
      await withDigests(
        [`The key is ${key}.`, { text: `No: ${key}`, stopReason: "refusal" }],
        { root },
        async ({ digests, model }) => {
          digests.accept({ callId: "c1", tool: "bash", result: `${large}\nconst key = "${key}";` });
          digests.accept({ callId: "c2", tool: "bash", result: `${large}\nconst key = "${key}";` });
          await digests.settled();
          assert(!sent(model.calls[0]).includes(key) && !sent(model.calls[1]).includes(key));
          assertEquals(rowsOf(root).map(({ status }) => status).sort(), ["failed", "ok"]);
          const file = join(root, ".summaries/tool-use/session-1.jsonl");
          assert(!readFileSync(file, "utf8").includes("a1B2c3D4"));
          if (process.platform !== "win32") assertEquals(statSync(file).mode & 0o777, 0o600);
        },
      );
    });
  });

  it("makes one call for one call id, under way or done, and no duplicate displaces the digest", async () => {
    await inFolder(async (root) => {
      const model = slowModel();
      await withDigests([], { root, model }, async ({ digests }) => {
        for (let time = 0; time < 3; time++) digests.accept({ callId: "c1", tool: "bash", result: large });
        await until(() => model.calls.length === 1 && digests.stats().skipped.duplicate === 2);
        model.answer("The digest.");
        await digests.settled();
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [1, { duplicate: 3 }]);
        assertEquals(digests.summaries().get("c1")?.summary, "The digest.");
      });
      assertEquals((await loadSummaries(root, "session-1")).get("c1")?.summary, "The digest.");
      assertEquals(rowsOf(root).map(({ status }) => status), ["skipped", "skipped", "ok", "skipped"]);
    });
  });

  it("tries a result again that failed before, when the host gives it again", async () => {
    await withDigests([new Error("529"), "The digest."], {}, async ({ digests }) => {
      for (let time = 0; time < 2; time++) {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
      }
      assertEquals([digests.summaries().get("c1")?.summary, digests.stats().failed], ["The digest.", 1]);
    });
  });

  it("does not pay twice for a digest that had to make room, and neither small nor failed results push one out", async () => {
    const answers = (_: unknown, index: number) => index < 2 ? `Digest ${index}.` : new Error("500");
    await withDigests(answers, { maxSummariesPerSession: 1 }, async ({ digests, model }) => {
      for (const callId of ["a", "b"]) {
        digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
      }
      for (let index = 0; index < 20; index++) digests.accept({ callId: `small ${index}`, tool: "bash", result: "x" });
      for (const callId of ["a", "c"]) digests.accept({ callId, tool: "bash", result: large });
      await digests.settled();
      assertEquals([...digests.summaries().keys()], ["b"]);
      assertEquals([model.calls.length, digests.stats().skipped], [3, { small: 20, duplicate: 1 }]);
    });
  });

  it("makes no more calls than its budget, failed ones counted, however many come at once", async () => {
    await withDigests(
      (_, index) => index % 2 ? "A digest." : new Error("500"),
      { maxCallsPerSession: 5 },
      async ({ digests, model }) => {
        for (let index = 0; index < 12; index++) digests.accept({ callId: `c${index}`, tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped, digests.stats().modelCalls], [5, { budget: 7 }, 5]);
      },
    );
  });

  it("makes so many calls at once and no more, in order, and a wait for a turn is not counted as time", async () => {
    const model = slowModel(), clock = fakeClock();
    await withDigests([], { model, clock, maxConcurrentCalls: 2 }, async ({ digests }) => {
      for (let index = 0; index < 5; index++) {
        digests.accept({ callId: `c${index}`, tool: "bash", result: `${index} ${large}` });
      }
      for (let done = 0; done < 5; done += 2) {
        await until(() => model.calls.length === Math.min(5, done + 2));
        assertEquals(digests.stats().underWay, 5 - done);
        clock.advance(4000);
        model.answer();
      }
      await digests.settled();
      assertEquals([digests.stats().made, digests.stats().failed], [5, 0]);
      assertEquals(model.calls.map((call) => /\n(\d) line/.exec(sent(call))?.[1]), ["0", "1", "2", "3", "4"]);
      assertEquals([...digests.summaries().values()].map(({ durationMs }) => durationMs), Array(5).fill(4000));
    });
  });

  it("fails a call that takes too long, and keeps nothing of an answer that comes later", async () => {
    const model = slowModel(), clock = fakeClock();
    await withDigests([], { model, clock }, async ({ digests, events }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await until(() => model.calls.length === 1);
      clock.advance(4999);
      await new Promise((resolve) => setTimeout(resolve, 5));
      assertEquals(digests.stats().underWay, 1);
      clock.advance(1);
      await digests.settled();
      model.answer();
      await digests.settled();
      assertEquals([digests.summaries().size, model.calls[0]?.signal.aborted], [0, true]);
      assertEquals(events.map((event) => event.what === "failed" && [event.reason, event.message]), [
        ["timeout", "Cannot ask slow: no answer within the time limit"],
      ]);
    });
  });

  it("leaves no row of what is under way, queued or held when it is closed, and takes nothing afterwards", async () => {
    await inFolder(async (root) => {
      const model = slowModel();
      await withDigests([], { root, model, maxConcurrentCalls: 1 }, async ({ digests, events }) => {
        for (const callId of ["c1", "c2"]) digests.accept({ callId, tool: "bash", result: large });
        await until(() => model.calls.length === 1);
        digests.accept({ callId: "c3", tool: "bash", result: large });
        await digests.close();
        model.answer();
        digests.accept({ callId: "c4", tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, model.calls[0]?.signal.aborted, events.length], [1, true, 0]);
        assertEquals([digests.summaries().size, digests.stats().underWay], [0, 0]);
        // What is left is the place of the one call that was made.
        assertEquals(readdirSync(join(root, ".summaries", "tool-use")), ["session-1.calls"]);
        assertEquals(readFileSync(join(root, ".summaries", "tool-use", "session-1.calls")).length, 17);
      });
    });
  });

  it("never hears the tool's own signal", async () => {
    const model = slowModel();
    await withDigests([], { model }, async ({ digests }) => {
      const controller = new AbortController();
      const tool = digests.wrap((_: unknown, _info: unknown) => large, { name: "bash" });
      tool({}, { toolCallId: "c1", abortSignal: controller.signal });
      controller.abort();
      await until(() => model.calls.length === 1);
      assertEquals(model.calls[0]?.signal.aborted, false);
      model.answer();
      await digests.settled();
      assertEquals(digests.summaries().size, 1);
    });
  });

  it("asks the parent's model where there is no cheap one, and the row says so", async () => {
    await inFolder(async (root) => {
      const parentModel = scriptedModel(["By the parent.", new Error("500")], { name: "parent" });
      await withDigests([], { root, model: undefined, parentModel }, async ({ digests, events }) => {
        for (const callId of ["c1", "c2"]) {
          digests.accept({ callId, tool: "bash", result: large });
          await digests.settled();
        }
        assertEquals(rowsOf(root).map(({ status, inheritedRoute }) => [status, inheritedRoute]), [["ok", true], [
          "failed",
          true,
        ]]);
        assertEquals(events.map((event) => event.what === "made" && [event.model, event.inheritedRoute]), [[
          "parent",
          true,
        ], false]);
      });
      await withDigests(["By the cheap one."], { parentModel }, async ({ digests, events }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        assertEquals([parentModel.calls.length, "inheritedRoute" in events[0]!], [2, false]);
      });
    });
  });

  it("makes no digest of a result without a call id, keeps no row of it, and says so", async () => {
    await inFolder(async (root) => {
      await withDigests(always, { root }, async ({ digests, model, events }) => {
        for (const callId of [undefined, ""]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [0, { "no-call-id": 2 }]);
        assertEquals(events.map((event) => "callId" in event), [false, false]);
        assertEquals(existsSync(join(root, ".summaries/tool-use/session-1.jsonl")), false);
      });
    });
  });

  it("goes on where the host's hooks, clock and results throw, and throws nothing into the run", async () => {
    const trap = new Proxy({}, {
      get: () => {
        throw new Error("trap");
      },
      ownKeys: () => {
        throw new Error("trap");
      },
    });
    const onEvent = () => Promise.reject(new Error("hook"));
    await withDigests(always, { onEvent }, async ({ digests }) => {
      digests.accept(trap as never);
      digests.accept({ callId: "c0", tool: trap as never, result: large });
      digests.accept({ callId: "c1", tool: "bash", result: trap });
      digests.accept({ callId: "c2", tool: "bash", result: large, args: trap });
      assertEquals(digests.relieve(trap as never), 0);
      await digests.settled();
      assertEquals([...digests.summaries().keys()], ["c2"]);
    });
  });

  for (const reads of [0, 1, 2, 3]) {
    it(`makes rows though the host's clock throws after ${reads} readings`, async () => {
      let left = reads;
      const clock = {
        now: () => {
          if (left-- > 0) return 1;
          throw new Error("clock");
        },
        sleep: () => new Promise<void>(() => {}),
      };
      await withDigests(always, { clock }, async ({ digests }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        digests.accept({ callId: "c2", tool: "bash", result: "x" });
        await digests.settled();
        assertEquals([digests.summaries().size, digests.stats().skipped], [1, { small: 1 }]);
      });
    });
  }

  it("takes a model that is null for none, and one whose name cannot be read for one that fails", async () => {
    await withDigests(always, { model: null as never }, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await digests.settled();
      assertEquals(digests.stats().skipped, { "no-model": 1 });
    });
    const nameless = {
      get name(): string {
        throw new Error("name");
      },
      complete: () => Promise.reject(new Error("no answer")),
    };
    await withDigests(always, { model: nameless }, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await digests.settled();
      assertEquals([digests.stats().failed, digests.stats().underWay], [1, 0]);
    });
  });

  it("sees nobody reject for a host's own hook of what is used", async () => {
    await withDigests(always, {}, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await digests.settled();
      const onUsed = (): void => Promise.reject(new Error("hook")) as unknown as void;
      const messages = [{ role: "tool", tool_call_id: "c1", content: "[cleared]" }];
      assertStringIncludes(digests.upgrade(messages, { onUsed })[0]!.content, "A digest.");
    });
  });

  it("keeps no secret of an error's words that characters which show nothing split, and shows none when it is read", async () => {
    const key = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
    for (const unseen of ["\u034f", "\u200b", "\u200d", "\u3164", "\ufe0f"]) {
      const words = `Incorrect API key provided: ${key.slice(0, 9)}${unseen}${key.slice(9)}`;
      for (const answer of [new Error(words), { text: words, stopReason: "refusal" } as const]) {
        await inFolder(async (root) => {
          await withDigests([answer], { root }, async ({ digests, events }) => {
            digests.accept({ callId: "c1", tool: "bash", result: large });
            await digests.settled();
            const [row] = rowsOf(root), read = parseRow(JSON.stringify(row));
            for (const { reason } of [row!, read!]) assertMatch(reason!, /Incorrect API key provided: \[masked\]/);
            const told = JSON.stringify([row, read, events]).replaceAll(/[\p{DI}\p{Cf}]/gu, "");
            assertEquals(told.includes(key), false);
          });
        });
      }
    }
  });

  it("keeps no secret of an error's words", async () => {
    const key = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
    await inFolder(async (root) => {
      const script = () => {
        throw new Error(`Incorrect API key provided: ${key}`);
      };
      await withDigests(script, { root }, async ({ digests, events }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        const [row] = rowsOf(root);
        assertMatch(row!.reason!, /Incorrect API key provided: \[masked\]/);
        assertEquals(JSON.stringify([row, events]).includes(key), false);
      });
    });
  });

  it("says of an error at most 300 characters, in its row and in its event", async () => {
    const script = () => {
      throw new Error("over and over ".repeat(100));
    };
    await inFolder(async (root) => {
      await withDigests(script, { root }, async ({ digests, events }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        const [event] = events, told = event?.what === "failed" ? event.message : "";
        assertEquals([rowsOf(root)[0]?.reason, told.length > 200 && told.length <= 300], [told, true]);
      });
    });
  });

  it("sends halves of characters as what stands in for them, also beside the text", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      digests.accept({ callId: "c1", tool: "bash", result: { stdout: `${large}\ud83d`, note: "half \ud83d" } });
      await digests.settled();
      assertStringIncludes(sent(model.calls[0]), "note: half \ufffd");
      assert(sent(model.calls[0]).isWellFormed());
    });
  });

  it("refuses options that mean nothing, by name", () => {
    for (
      const [name, value] of [
        ["session", ""],
        ["minResultBytes", -1],
        ["maxTokens", 0],
        ["timeoutMs", NaN],
        ["maxConcurrentCalls", 0],
        ["maxSummariesPerSession", 0],
        ["retentionDays", -1],
        ["when", "never"],
        ["pressure", 60],
        ["excludeTools", "bash"],
      ] as const
    ) {
      const error = assertThrows(
        () => toolUseSummary({ session: "s", ...{ [name]: value } } as ToolUseOptions),
        WaymarkError,
        name,
      );
      assertEquals(error.code, "invalid-option");
    }
  });
});

describe("the ledger of a session", () => {
  it("is read by the next process of the session: nothing is paid for twice, and the budget goes on", async () => {
    await inFolder(async (root) => {
      await withDigests(always, { root }, async ({ digests }) => {
        for (const callId of ["c1", "c2"]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
      });
      await withDigests(always, { root, maxCallsPerSession: 3 }, async ({ digests, model }) => {
        for (const callId of ["c1", "c2", "c3", "c4"]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [1, { duplicate: 2, budget: 1 }]);
        assertEquals([...digests.summaries().keys()], ["c1", "c2", "c3"]);
      });
    });
  });

  it("is read by the next process of the session: its failed calls count for the budget", async () => {
    await inFolder(async (root) => {
      const failing = () => {
        throw new Error("503");
      };
      await withDigests(failing, { root }, async ({ digests }) => {
        for (const callId of ["c1", "c2"]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
      });
      rmSync(join(root, ".summaries/tool-use/session-1.calls")); // the places of its calls: the ledger says it too
      await withDigests(always, { root, maxCallsPerSession: 3 }, async ({ digests, model }) => {
        for (const callId of ["c1", "c2"]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [1, { budget: 1 }]);
      });
    });
  });

  it("holds the row of a tool with an endless name, and gives back digests under long ids", async () => {
    await inFolder(async (root) => {
      const id = `call_1__signature__${"A".repeat(9_000)}`;
      await withDigests(always, { root }, async ({ digests }) => {
        digests.accept({ callId: id, tool: "t".repeat(2_000_000), result: large });
        await digests.settled();
        assertEquals(digests.stats().ledgerErrors, 0);
      });
      assertEquals([...(await loadSummaries(root, "session-1")).keys()], [id]);
    });
  });

  it("is not made where nothing is to be kept, or there is no root", async () => {
    await inFolder(async (root) => {
      for (const options of [{ root, retentionDays: 0 }, {}]) {
        await withDigests(always, options, async ({ digests }) => {
          digests.accept({ callId: "c1", tool: "bash", result: large });
          await digests.settled();
          assertEquals(digests.summaries().size, 1);
        });
      }
      assertEquals(existsSync(join(root, ".summaries")), false);
      await withDigests(always, { root }, async ({ digests }) => {
        digests.accept({ callId: "kept", tool: "bash", result: large });
        await digests.settled();
      });
      await withDigests(always, { root, retentionDays: 0 }, async ({ digests }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        assertEquals([...digests.summaries().keys()], ["c1"], "nor is one that is there read");
      });
      assertEquals(rowsOf(root).map(({ callId }) => callId), ["kept"]);
    });
  });

  it("counts the calls of all that are alive at once: one sees what another has spent, and says so in its rows", async () => {
    await inFolder(async (root) => {
      const maxCallsPerSession = 3, options = { root, maxCallsPerSession };
      await withDigests(always, options, async (first) => {
        await withDigests(always, options, async (second) => {
          const accept = async ({ digests }: typeof first, ...ids: string[]): Promise<void> => {
            for (const callId of ids) digests.accept({ callId, tool: "bash", result: large });
            await digests.settled();
          };
          await accept(first, "a1");
          await accept(second, "b1"); // reads what the first one made
          await accept(first, "a2");
          await accept(second, "b2", "b3");
          await accept(first, "a3");
          assertEquals([first.model.calls.length, second.model.calls.length], [2, 1]);
          assertEquals([first.digests.stats().skipped, second.digests.stats().skipped], [{ budget: 1 }, { budget: 2 }]);
          assertEquals(second.digests.stats().modelCalls, 1);
        });
      });
      const rows = rowsOf(root).map(({ callId, status, skipReason }) => [callId, skipReason ?? status].join(" "));
      assertEquals(rows.sort(), ["a1 ok", "a2 ok", "a3 budget", "b1 ok", "b2 budget", "b3 budget"]);
    });
  });

  it("spends by its own count where no place for a call can be had, and without a limit takes none", async () => {
    await inFolder(async (root) => {
      mkdirSync(join(root, ".summaries", "tool-use", "session-1.calls"), { recursive: true });
      const errors: string[] = [], onError = (error: Error) => errors.push(error.message);
      await withDigests(always, { root, onError, maxCallsPerSession: 2 }, async ({ digests, model }) => {
        for (const callId of ["c1", "c2", "c3"]) digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
        assertEquals([model.calls.length, digests.stats().skipped], [2, { budget: 1 }]);
        assertEquals([rowsOf(root).length, digests.stats().ledgerErrors], [3, 0], "rows are kept all the same");
      });
      assertEquals(errors.length, 1);
      assertMatch(errors[0]!, /session-1\.calls is not a regular file/);
      await withDigests(always, { root, session: "free", maxCallsPerSession: Infinity }, async ({ digests }) => {
        digests.accept({ callId: "c1", tool: "bash", result: large });
        await digests.settled();
        assertEquals(digests.stats().made, 1);
      });
      assertEquals(readdirSync(join(root, ".summaries", "tool-use")).filter((name) => name.startsWith("free")), [
        "free.jsonl",
      ]);
    });
  });

  it("that cannot be kept costs no digest, and is counted", async () => {
    const errors: string[] = [];
    const options = { root: "/nowhere/at all", onError: (error: Error) => errors.push(error.message) };
    await withDigests(always, options, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      digests.accept({ callId: "c2", tool: "bash", result: large });
      await digests.settled();
      assertEquals([digests.summaries().size, digests.stats().ledgerErrors, errors.length], [2, 2, 1]);
    });
  });
});

describe("when: pressure", () => {
  const pressure = { when: "pressure", pressure: 0.6 } as const;
  /** Ids of the calls that were asked about, in their order. */
  const asked = (model: { calls: readonly Parameters<typeof sent>[0][] }): string[] =>
    model.calls.map((call) => /tool: (\S+)/.exec(sent(call))![1]!);

  it("is at 0.6 of the window where nobody says another share", async () => {
    await withDigests(always, { when: "pressure" }, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await digests.settled();
      assertEquals([0.599, 0.6].map((share) => digests.relieve({ share })), [0, 1]);
    });
  });

  it("makes no call before the window fills up, then digests what is still in it, oldest first", async () => {
    await withDigests(always, { ...pressure, maxConcurrentCalls: 1 }, async ({ digests, model }) => {
      for (const callId of ["a", "b", "c", "d"]) digests.accept({ callId, tool: callId, result: large });
      await digests.settled();
      assertEquals([model.calls.length, digests.stats().held], [0, 4]);
      assertEquals([digests.relieve({ share: 0.59 }), digests.stats().held], [0, 4], "nobody says what is still there");
      assertEquals([digests.relieve({ share: 0.59, inContext: null as never }), digests.stats().held], [0, 4]);
      assertEquals(digests.relieve({ share: 0.59, inContext: ["a", "c", "d"] }), 0);
      assertEquals(digests.stats().held, 3, "what has left is no longer held");
      assertEquals(digests.relieve({ share: 0.6, inContext: (id) => id !== "d" }), 2);
      await digests.settled();
      assertEquals([asked(model), [...digests.summaries().keys()]], [["a", "c"], ["a", "c"]]);
      assertEquals([digests.relieve({ share: 1 }), digests.stats().held], [0, 0]);
    });
  });

  it("keeps gates and budget: a held call is a duplicate, and what is over the budget is skipped", async () => {
    await withDigests(always, { ...pressure, maxCallsPerSession: 2 }, async ({ digests, model }) => {
      for (const callId of ["a", "a", "b", "c"]) digests.accept({ callId, tool: callId, result: large });
      digests.accept({ callId: "s", tool: "s", result: "small" });
      await digests.settled();
      assertEquals([digests.stats().skipped, digests.stats().held], [{ duplicate: 1, small: 1 }, 3]);
      assertEquals(digests.relieve({ share: 0.9 }), 2);
      await digests.settled();
      assertEquals([asked(model), digests.stats().skipped.budget], [["a", "b"], 1]);
    });
  });

  it("holds what is sent and no more of a result, and no more results than a window has room for", async () => {
    await withDigests(always, { ...pressure, maxCallsPerSession: Infinity }, async ({ digests, model }) => {
      for (let index = 0; index < 1010; index++) {
        digests.accept({ callId: `c${index}`, tool: `c${index}`, result: large });
      }
      await digests.settled();
      assertEquals(digests.stats().held, 1000);
      assertEquals(digests.relieve({ share: 0.7 }), 1000);
      await digests.settled();
      assertEquals([asked(model)[0], model.calls.length], ["c10", 1000]);
    });
  });

  it("does nothing where digests are always made, nor after it is closed", async () => {
    await withDigests(always, {}, async ({ digests }) => {
      digests.accept({ callId: "a", tool: "a", result: large });
      assertEquals(digests.relieve({ share: 1 }), 0);
      await digests.settled();
    });
    await withDigests(always, pressure, async ({ digests, model }) => {
      digests.accept({ callId: "a", tool: "a", result: large });
      await digests.settled();
      await digests.close();
      assertEquals([digests.relieve({ share: 1 }), model.calls.length], [0, 0]);
    });
  });
});

describe("the middleware", () => {
  const call: ReadCall = { path: "src/a.ts", start: 1, tool: "read", callId: "c1" };

  it("gives the very outcome of the tool, and digests its result", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      const outcome: ReadOutcome = { result: { content: [{ type: "text", text: large }] }, annotations: [] };
      const before = JSON.stringify(outcome);
      assertStrictEquals(await digests.middleware(call, () => Promise.resolve(outcome)), outcome);
      assertEquals(JSON.stringify(outcome), before);
      await digests.settled();
      assertEquals([model.calls.length, digests.summaries().get("c1")?.tool], [1, "read"]);
    });
  });

  it("sees what the tool returned and nothing of the layers around it", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      const read = wrap((_: { path: string }, _info: unknown) => large, async (call, next) => {
        const outcome = await digests.middleware(call, next);
        return { ...outcome, annotations: [{ kind: "notice", text: "[waymark notice: no map]" }] };
      });
      const given = await read({ path: "a.ts" }, { toolCallId: "c1" });
      assertStringIncludes(given, "[waymark notice: no map]");
      await digests.settled();
      assert(!sent(model.calls[0]).includes("waymark notice"));
    });
  });

  it("hands on what fails, an answer without the tool and a script's read, and digests none of them", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      const failed: ReadOutcome = { failed: true, error: new Error("no"), annotations: [] };
      const answer: ReadOutcome = { annotations: [{ kind: "reference", text: "above" }] };
      for (const outcome of [failed, answer]) {
        assertStrictEquals(await digests.middleware(call, () => Promise.resolve(outcome)), outcome);
      }
      const read = { result: large, annotations: [] };
      await digests.middleware({ ...call, programmatic: true }, () => Promise.resolve(read));
      await digests.middleware({ path: ".env", start: 1, callId: "c2" }, () => Promise.resolve(read));
      await digests.settled();
      assertEquals([model.calls.length, digests.stats().skipped], [0, { "not-top-level": 1, secret: 1 }]);
    });
  });

  it("knows a sub-agent's read by what its host says beside it, and pays for none", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      const waymark = createWaymark({ cache: false, toolUse: digests });
      const read = waymark.wrap((_: { path: string }, _info: unknown) => large, { name: "read" });
      const bash = digests.wrap((_: { path: string }, _info: unknown) => large, { name: "bash" });
      const levels = [{ agentId: "a" }, { agent_id: "a" }, { parentToolUseId: "t" }, { parent_tool_use_id: "t" }];
      for (const [at, level] of [...levels, { topLevel: false }, { topLevel: true }, {}].entries()) {
        await read({ path: "a.md" }, { toolCallId: `read-${at}`, ...level });
        bash({ path: "a.md" }, { toolCallId: `bash-${at}`, ...level });
      }
      const facts = () => ({ callId: "own-facts", topLevel: false });
      await waymark.wrap((_: { path: string }) => large, { name: "read", facts })({ path: "a.md" });
      await digests.settled();
      assertEquals([...digests.summaries().keys()].sort(), ["bash-5", "bash-6", "read-5", "read-6"]);
      assertEquals([model.calls.length, digests.stats().skipped], [4, { "not-top-level": 11 }]);
      await waymark.close();
    });
  });

  it("digests the read that stands where one was made again: the one before ends without a row", async () => {
    const model = slowModel();
    await inFolder(async (root) => {
      await withDigests([], { root, model }, async ({ digests }) => {
        const first = { result: `shortened\n${large}`, annotations: [] },
          second = { result: `whole\n${large}`, annotations: [] };
        await digests.middleware(call, () => Promise.resolve(first));
        await until(() => model.calls.length === 1);
        await digests.middleware({ ...call, fresh: true }, () => Promise.resolve(second));
        await until(() => model.calls.length === 2);
        model.answer("Of the whole.");
        await digests.settled();
        assertEquals(model.calls[0]?.signal.aborted, true);
        assertStringIncludes(sent(model.calls[1]), "whole\n");
        assertEquals(rowsOf(root).map(({ status, summary }) => [status, summary]), [["ok", "Of the whole."]]);
      });
    });
  });
});

describe("a read made again after the digest of the one before was made", () => {
  const call: ReadCall = { path: "src/a.ts", start: 1, tool: "read", callId: "c1" }, again = { ...call, fresh: true };
  const first = { result: `shortened\n${large}`, annotations: [] };

  it("has a digest of its own: the one before is none of what stands", async () => {
    await inFolder(async (root) => {
      const model = slowModel();
      await withDigests([], { root, model }, async ({ digests }) => {
        await digests.middleware(call, () => Promise.resolve(first));
        await until(() => model.calls.length === 1);
        model.answer("Of what was thrown away.");
        await digests.settled();
        await digests.middleware(again, () => Promise.resolve({ result: `whole\n${large}`, annotations: [] }));
        await until(() => model.calls.length === 2);
        assertEquals(digests.summaries().size, 0);
        model.answer("Of the whole.");
        await digests.settled();
        assertEquals(digests.summaries().get("c1")?.summary, "Of the whole.");
      });
      assertEquals((await loadSummaries(root, "session-1")).get("c1")?.summary, "Of the whole.");
    });
  });

  it("has none where none is made of it", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      await digests.middleware(call, () => Promise.resolve(first));
      await digests.settled();
      await digests.middleware(again, () => Promise.resolve({ result: "short", annotations: [] }));
      await digests.settled();
      assertEquals([digests.summaries().size, model.calls.length], [0, 1]);
    });
  });

  it("has none where it fails: the host has an error, and not what was thrown away", async () => {
    await withDigests(always, {}, async ({ digests, model }) => {
      await digests.middleware(call, () => Promise.resolve(first));
      await digests.settled();
      assertEquals(digests.summaries().size, 1);
      const failed: ReadOutcome = { failed: true, error: new Error("EIO"), annotations: [] };
      assertStrictEquals(await digests.middleware(again, () => Promise.resolve(failed)), failed);
      await digests.settled();
      assertEquals([digests.summaries().size, model.calls.length], [0, 1]);
    });
  });
});

describe("a read that was made again", () => {
  it("leaves nothing held of the one before, though it is itself not worth a digest", async () => {
    await withDigests(always, { when: "pressure" }, async ({ digests, model }) => {
      const call = { path: "a.ts", start: 1, tool: "read", callId: "c1" };
      await digests.middleware(call, () => Promise.resolve({ result: large, annotations: [] }));
      await digests.settled();
      assertEquals(digests.stats().held, 1);
      await digests.middleware({ ...call, fresh: true }, () => Promise.resolve({ result: "short", annotations: [] }));
      await digests.settled();
      assertEquals([digests.stats().held, digests.relieve({ share: 1 }), model.calls.length], [0, 0, 0]);
    });
  });
});

describe("consumers at hand", () => {
  const cleared = [{ role: "tool", tool_call_id: "c1", content: "[Old tool result content cleared]" }];

  it("put digests in and count them as used, which are then the last to make room", async () => {
    await withDigests((_, index) => `Digest ${index}.`, { maxSummariesPerSession: 2 }, async ({ digests, events }) => {
      for (const callId of ["c1", "c2"]) {
        digests.accept({ callId, tool: "bash", result: large });
        await digests.settled();
      }
      const seen: string[] = [];
      const upgraded = digests.upgrade(cleared, { onUsed: ({ row }) => seen.push(row.callId) });
      assertStringIncludes(upgraded[0]!.content, "Digest 0.");
      const input = [{ role: "tool", tool_call_id: "c1", content: large }];
      assertStringIncludes(digests.substitute(input)[0]!.content, "Digest 0.");
      const { used, tokensSaved } = digests.stats();
      const characters = cleared[0]!.content.length + large.length - 2 * upgraded[0]!.content.length;
      assertEquals([seen, used, Math.abs(tokensSaved - characters / 4) <= 1], [["c1"], 2, true]);
      assertEquals(events.map(({ what }) => what), ["made", "made", "used", "used"]);
      digests.accept({ callId: "c3", tool: "bash", result: large });
      await digests.settled();
      assertEquals([...digests.summaries().keys()], ["c1", "c3"]);
    });
  });

  it("give the very same messages where there is no digest, or placeholders are not to be upgraded", async () => {
    await withDigests(always, {}, ({ digests }) => assertStrictEquals(digests.upgrade(cleared), cleared));
    await withDigests(always, { upgradePlaceholders: false }, async ({ digests }) => {
      digests.accept({ callId: "c1", tool: "bash", result: large });
      await digests.settled();
      assertStrictEquals(digests.upgrade(cleared), cleared);
      assertEquals(digests.stats().used, 0);
    });
  });
});
