import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { watch } from "../../src/tool_use/watch.ts";
import type { AcceptedResult } from "../../src/tool_use/types.ts";
import { refuseUnseenRejections } from "./support.ts";

refuseUnseenRejections();

/** A list of what was seen, and what puts it there. */
function watching(): { seen: AcceptedResult[]; accept: (result: AcceptedResult) => void } {
  const seen: AcceptedResult[] = [];
  return { seen, accept: (result) => seen.push(result) };
}

describe("a watched tool", () => {
  it("gives the very value, promise and stream that the tool gave", async () => {
    const { seen, accept } = watching();
    const values = [
      { a: 1 },
      "text",
      null,
      undefined,
      [1],
      Promise.resolve("later"),
      new ReadableStream(),
      (function* () {})(),
    ];
    for (const value of values) assertStrictEquals(watch(() => value, accept)(), value);
    await Promise.resolve();
    assertEquals(seen.length, values.length);
    assert(seen.some(({ result }) => result === "later"));
    assert(!seen.some(({ result }) => result instanceof Promise));
  });

  it("throws what the tool throws, at once or later, and has seen nothing then", async () => {
    const { seen, accept } = watching(), error = new Error("boom"), value = { not: "an error" };
    assertStrictEquals(
      assertThrows(() =>
        watch(() => {
          throw error;
        }, accept)()
      ),
      error,
    );
    assertStrictEquals(await assertRejects(() => watch(() => Promise.reject(error), accept)()), error);
    let caught: unknown;
    await watch(() => Promise.reject(value), accept)().catch((reason) => caught = reason);
    assertStrictEquals(caught, value);
    assertEquals(seen, []);
  });

  it("keeps this, the arguments, the name, the length, properties, symbols and the prototype", () => {
    const { accept } = watching(), mark = Symbol("mark");
    class Shelf {
      books = 3;
      count(this: Shelf, more: number, _info?: unknown): number {
        return this.books + more;
      }
    }
    const tool = Object.assign(Shelf.prototype.count, {
      description: "counts",
      [mark]: 1,
      inputSchema: { type: "object" },
    });
    const watched = watch(tool, accept), shelf = new Shelf();
    assertEquals(watched.call(shelf, 4), 7);
    assertEquals([watched.name, watched.length, watched.description, watched[mark]], [
      tool.name,
      tool.length,
      "counts",
      1,
    ]);
    assertStrictEquals(watched.inputSchema, tool.inputSchema);
    assertStrictEquals(Object.getPrototypeOf(watched), Object.getPrototypeOf(tool));
  });

  it("is the very same object where it is a generator of any kind", () => {
    const { accept } = watching();
    const generator = function* () {}, asyncGenerator = async function* () {};
    assertStrictEquals(watch(generator, accept), generator);
    assertStrictEquals(watch(asyncGenerator, accept), asyncGenerator);
  });

  it("leaves a promise alone that begins its work when it is asked", async () => {
    const { seen, accept } = watching();
    let asked = 0;
    class Lazy<Value> extends Promise<Value> {
      // deno-lint-ignore no-explicit-any -- the signature of then() is long, and of no matter here
      override then(...parameters: any[]): any {
        asked++;
        return super.then(...parameters);
      }
    }
    const lazy = new Lazy((resolve) => resolve("text"));
    const thenable = { then: (resolve: (value: string) => void) => (asked++, resolve("text")) };
    assertStrictEquals(watch(() => lazy, accept)(), lazy);
    assertStrictEquals(watch(() => thenable, accept)(), thenable);
    await Promise.resolve();
    assertEquals(asked, 0);
    assertEquals(seen.map(({ result }) => result === thenable), [true]);
  });

  it("gives back what may not even be asked what it is", () => {
    const { accept } = watching(), { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const trap = (): never => {
      throw new Error("trap");
    };
    const results = [
      proxy,
      new Proxy({}, { getPrototypeOf: trap }),
      Object.defineProperty(Promise.resolve("text"), "then", { get: trap }),
      Object.defineProperty(Promise.resolve("text"), "constructor", { get: trap }),
    ];
    for (const result of results) assert(watch(() => result, accept)() === result);
  });

  it("goes on where what is told throws", async () => {
    const angry = () => {
      throw new Error("facts");
    };
    assertEquals(watch(() => "text", angry)(), "text");
    assertEquals(watch(() => "text", () => {}, { facts: angry })(), "text");
    assertEquals(await watch(() => Promise.resolve("text"), angry)(), "text");
  });
});

describe("the facts of a call", () => {
  const factsOf = (...rest: unknown[]): Pick<AcceptedResult, "callId" | "topLevel"> => {
    const { seen, accept } = watching();
    // deno-lint-ignore no-explicit-any -- whatever a host passes
    watch((..._: any[]) => "text", accept)({}, ...rest);
    const { callId, topLevel } = seen[0]!;
    return { callId, topLevel };
  };

  it("are found under the names most hosts use, wherever they stand", () => {
    for (
      const info of [
        { toolCallId: "c1" },
        { tool_call_id: "c1" },
        { toolUseID: "c1" },
        { tool_use_id: "c1" },
        { callId: "c1" },
        { call_id: "c1" },
        { toolUse: { id: "c1" } },
        { toolCall: { id: "c1" } },
        { toolCall: { callId: "c1" } },
      ]
    ) {
      assertEquals(factsOf(info), { callId: "c1", topLevel: undefined }, JSON.stringify(info));
      assertEquals(factsOf(undefined, { other: 1 }, info).callId, "c1");
    }
  });

  it("say a sub-agent where a host names one", () => {
    assertEquals(factsOf({ callId: "c1", agentId: "explorer" }).topLevel, false);
    assertEquals(factsOf({ callId: "c1", topLevel: true, parent_tool_use_id: "p" }).topLevel, false);
    assertEquals(factsOf({ callId: "c1", topLevel: true }).topLevel, true);
    assertEquals(factsOf({ callId: "c1", topLevel: "yes" }).topLevel, undefined);
    assertEquals(factsOf({ callId: "c1", topLevel: true, programmatic: true }).topLevel, false, "a script calls it");
  });

  it("are nothing where there is none: no id is made up", () => {
    for (const info of [undefined, null, 7, {}, { toolCallId: 7 }, { toolCall: null }]) {
      assertEquals(factsOf(info), { callId: undefined, topLevel: undefined });
    }
  });

  it("come with the arguments, the name, and what a host says itself", () => {
    const { seen, accept } = watching();
    const facts = (context: unknown) => ({ callId: String(context), topLevel: true, path: "a.ts" });
    const read = (_args: { file: string }, _context: string) => "text";
    watch(read, accept, { name: "Read", facts })({ file: "a.ts" }, "c9");
    watch(read, accept)({ file: "a.ts" }, "c9");
    assertEquals(seen, [
      { callId: "c9", topLevel: true, path: "a.ts", tool: "Read", result: "text", args: { file: "a.ts" } },
      { callId: undefined, topLevel: undefined, path: undefined, tool: "read", result: "text", args: { file: "a.ts" } },
    ]);
  });

  it("say that a script makes the call, whatever else they say: its result is none of the agent's own", () => {
    const { seen, accept } = watching();
    const facts = () => ({ callId: "c9", topLevel: true, programmatic: true });
    watch(() => "text", accept, { name: "Read", facts })();
    assertEquals(seen.map(({ topLevel }) => topLevel), [false]);
  });

  it("come with a name though the tool has none", () => {
    const { seen, accept } = watching();
    watch(() => "text", accept)();
    assertEquals(seen.map(({ tool }) => tool), ["tool"]);
  });
});
