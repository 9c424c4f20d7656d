import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { claudeCodec } from "../../src/claude_code.ts";
import { dialects } from "../../src/dialects.ts";
import { foresee, replay } from "../../src/replay.ts";
import type { Middleware } from "../../src/types.ts";
import { createWaymark } from "../../src/waymark.ts";
import { code, inFolder, put } from "../support.ts";

const options = { dialect: dialects.claudeCode, codec: claudeCodec } as const, facts = { callId: "t1" };
const answerOf = (content: string) => ({ result: { type: "text", file: { filePath: "/a.ts", content } } });
const shorten: Middleware = async (call, next) => {
  const outcome = await next({ ...call, count: 2 });
  return { ...outcome, annotations: [{ kind: "map", text: `${outcome.text?.length} characters` }] };
};
const args = { file_path: "/a.ts" }, made = { file_path: "/a.ts", limit: 2 };

describe("a call that is replayed", () => {
  it("is the same in both processes, and the second has what the tool gave", async () => {
    const seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push([call.path, call.count]), shorten(call, next));
    assertEquals(await foresee(layer, { args, facts }, options), made);
    const { verdict, owed } = await replay(layer, { args, made, facts, result: answerOf("a\nb") }, options);
    assertEquals([verdict?.text, owed], ["3 characters", false]);
    assertEquals(seen, [["/a.ts", undefined], ["/a.ts", undefined]]);
  });

  it("keeps its very arguments where nothing changes", async () => {
    assert(await foresee((call, next) => next(call), { args, facts }, options) === args);
    assert(await foresee(() => Promise.reject(new Error("a fault")), { args, facts }, options) === args);
  });

  it("that was made as it was asked has nothing said of it", async () => {
    assertEquals(await replay(shorten, { args, made: args, facts, result: answerOf("a\nb\nc") }, options), {
      owed: false,
    });
    assertEquals(await replay(shorten, { args: 7, made, facts, result: answerOf("a") }, options), { owed: false });
    const traps = {
      get file_path(): string {
        throw new Error("a trap");
      },
    };
    assertEquals(await replay(shorten, { args: traps, made, facts, result: answerOf("a") }, options), { owed: false });
  });

  it("whose path is spelt in another way is the same", async () => {
    const { verdict } = await replay(shorten, {
      args,
      made: { file_path: "a.ts", limit: 2 },
      facts,
      result: answerOf("a\nb"),
    }, options);
    assertEquals(verdict?.text, "3 characters");
  });

  it("and comes to another call says what was not given, and is owed", async () => {
    for (
      const layer of [(call, next) => next(call), (call, next) => next({ ...call, count: 9 })] satisfies Middleware[]
    ) {
      const { verdict, owed } = await replay(layer, { args, made, facts, result: answerOf("a\nb") }, options);
      assert(owed);
      assertStringIncludes(verdict!.text, "at most lines 1-2 were read, the file may go on");
      assertStringIncludes(verdict!.text, "the same call once more reads all it asks for");
    }
  });

  it("and fails says so and is owed; the next one goes on as asked where that is said", async () => {
    await inFolder(async (root) => {
      const path = put(root, "a.ts", code(300)), waymark = createWaymark({ root, cache: false });
      const args = { file_path: path }, made = await foresee(waymark.middleware, { args, facts }, options);
      assertEquals(made, { file_path: path, limit: 200 } as typeof args);
      const { verdict, owed } = await replay(waymark.middleware, {
        args,
        made,
        facts,
        result: { error: "too large", failed: true },
      }, options);
      assert(owed);
      assertStringIncludes(verdict!.text, "once more reads all it asks for");
      assert(await foresee(waymark.middleware, { args, facts: { ...facts, fresh: true } }, options) === args);
      await waymark.close();
    });
  });

  it("and was aborted by then is told of as cut", async () => {
    const signal = AbortSignal.abort();
    const { verdict, owed } = await replay(shorten, {
      args,
      made,
      facts: { ...facts, signal },
      result: answerOf("a\nb"),
    }, options);
    assert(owed && verdict !== undefined);
  });
});
