import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../src/errors.ts";
import { fakeClock, memoryFiles, type Script, type ScriptedAnswer, scriptedModel } from "../src/testing.ts";
import type { CompletionRequest } from "../src/types.ts";
import { type ContractReply, testModel } from "./contracts/model.ts";
import { createWaymark } from "../src/waymark.ts";
import { codeFile, sourceFile, spyContext } from "./summary/files.ts";

const REQUEST: CompletionRequest = {
  system: "abcd",
  messages: [{ role: "user", content: "efghij" }],
  maxTokens: 10,
  signal: new AbortController().signal,
};

testModel("scripted", (replies) => {
  const play = (reply: ContractReply): ScriptedAnswer | Promise<ScriptedAnswer> => {
    if (reply === "hang") return new Promise(() => {});
    return "status" in reply ? Object.assign(new Error(reply.words), { status: reply.status }) : reply;
  };
  const model = scriptedModel((_request, index) => play(replies[index]!));
  return Promise.resolve({
    model,
    requests: () =>
      model.calls.map(({ system, messages, maxTokens, ...rest }) => ({
        system,
        messages,
        maxTokens,
        tools: "tools" in rest,
      })),
  });
});

describe("a scripted model", () => {
  it("answers from a list, in order, and then fails", async () => {
    const model = scriptedModel(["one", { text: "two", stopReason: "max_tokens" }, new Error("three")]);
    assertEquals((await model.complete(REQUEST)).text, "one");
    assertEquals((await model.complete(REQUEST)).stopReason, "max_tokens");
    await assertRejects(() => model.complete(REQUEST), Error, "three");
    await assertRejects(() => model.complete(REQUEST), WaymarkError, "its script has only 3 answers");
  });

  it("answers from a function, with the request and its number", async () => {
    const seen: [CompletionRequest, number][] = [];
    const script: Script = (request, index) => {
      seen.push([request, index]);
      return `answer ${index}`;
    };
    const model = scriptedModel(script);
    await model.complete(REQUEST);
    assertEquals((await model.complete(REQUEST)).text, "answer 1");
    assertEquals(seen, [[REQUEST, 0], [REQUEST, 1]]);
  });

  it("remembers every request, also those that failed", async () => {
    const model = scriptedModel([new Error("no")]);
    await assertRejects(() => model.complete(REQUEST));
    assertEquals(model.calls, [REQUEST]);
  });

  it("counts tokens by length, unless it is told", async () => {
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const model = scriptedModel(["12345", { text: "x", usage }]);
    assertEquals((await model.complete(REQUEST)).usage, { input: 3, output: 2, cacheRead: 0, cacheWrite: 0 });
    assertEquals((await model.complete(REQUEST)).usage, usage);
  });

  it("makes true maps without a script: the first line of a region holds its name", async () => {
    const file = codeFile(300);
    const summary = await scriptedModel().summarizer.summarize(file, spyContext());
    const lines = file.text.split("\n");
    assertEquals(summary?.regions.length, 30);
    for (const { start, name, kind } of summary!.regions) {
      assertStringIncludes(lines[start - 1]!, name);
      assertEquals(kind, "function");
    }
    assertEquals(summary?.regions.at(-1)?.end, 300);
  });

  it("makes true maps of files without declarations, and of very many", async () => {
    const text = Array.from({ length: 120 }, (_, index) => `  step ${index};`).join("\n");
    const plain = await scriptedModel().summarizer.summarize(sourceFile(text), spyContext());
    assertEquals(plain?.regions.map(({ start, end }) => [start, end]), [[1, 50], [51, 100], [101, 120]]);
    const many = Array.from({ length: 1000 }, (_, index) => `const c${index} = ${index};`).join("\n");
    const map = await scriptedModel().summarizer.summarize(sourceFile(many), spyContext());
    assert(map!.regions.length <= 400 && map!.regions.length > 300);
    for (const { start, name } of map!.regions) assertEquals(name, `c${start - 1}`);
  });
});

describe("files in memory", () => {
  it("are read as bytes, and every read is remembered", () => {
    const files = memoryFiles({ "a.ts": "é\n", "b.bin": new Uint8Array([0, 255]) });
    assertEquals(files.read("a.ts"), new TextEncoder().encode("é\n"));
    assertEquals(files.read("b.bin"), new Uint8Array([0, 255]));
    assertEquals(files.read("c.ts"), undefined);
    assertEquals(files.reads, ["a.ts", "b.bin", "c.ts"]);
  });

  it("serve a guarded tool that is asked for a relative name", async () => {
    const { text } = codeFile(300), waymark = createWaymark({ cache: false, source: memoryFiles({ "in/a.ts": text }) });
    const read = waymark.wrap(({ limit = Infinity }: { path: string; limit?: number }) =>
      text.split("\n").slice(0, limit).join("\n")
    );
    assertStringIncludes(await read({ path: "in/a.ts" }), "PARTIAL, lines 1-200 of 300");
    assertEquals((await read({ path: "a.ts" })).includes("[waymark"), false);
  });

  it("can be changed and removed", () => {
    const files = memoryFiles();
    files.set("a.ts", "one");
    files.set("a.ts", "two");
    assertEquals(new TextDecoder().decode(files.read("a.ts")), "two");
    assertEquals([files.delete("a.ts"), files.delete("a.ts")], [true, false]);
    assertEquals(files.read("a.ts"), undefined);
  });

  it("cannot be changed through the bytes that were given or got", () => {
    const bytes = new Uint8Array([1]);
    const files = memoryFiles({ a: bytes });
    bytes[0] = 2;
    files.read("a")![0] = 3;
    assertEquals(files.read("a"), new Uint8Array([1]));
  });
});

describe("a clock that stands still", () => {
  it("moves when it is told to, and starts where it is told to", () => {
    const clock = fakeClock(1000);
    assertEquals(clock.now(), 1000);
    clock.advance(250);
    assertEquals(clock.now(), 1250);
    assert(fakeClock().now() > 1e12);
  });

  it("wakes sleepers when their time has come, in its order", async () => {
    const clock = fakeClock(0), woken: string[] = [];
    const sleeps = [["late", 300], ["soon", 100], ["later", 900]].map(([who, ms]) =>
      clock.sleep(ms as number).then(() => woken.push(who as string))
    );
    clock.advance(99);
    await Promise.resolve();
    assertEquals(woken, []);
    clock.advance(201);
    await Promise.all(sleeps.slice(0, 2));
    assertEquals(woken, ["soon", "late"]);
    clock.advance(600);
    await sleeps[2];
    assertEquals(woken, ["soon", "late", "later"]);
  });

  it("does not sleep for no time", async () => {
    await fakeClock().sleep(0);
  });

  it("wakes a sleeper with its signal's reason", async () => {
    const clock = fakeClock(), controller = new AbortController(), reason = new Error("enough");
    const slept = assertRejects(() => clock.sleep(100, controller.signal), Error, "enough");
    controller.abort(reason);
    await slept;
    await assertRejects(() => clock.sleep(100, controller.signal), Error, "enough");
    clock.advance(1000);
  });

  it("forgets the signal of a sleeper that has slept", async () => {
    const clock = fakeClock(0), controller = new AbortController();
    const slept = clock.sleep(100, controller.signal);
    clock.advance(100);
    await slept;
    controller.abort();
  });
});
