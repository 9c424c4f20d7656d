import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { describe, it } from "node:test";
import { autoCodec, fieldsCodec } from "../src/codecs.ts";
import { viewRange } from "../src/dialects.ts";
import { conversationOf, createSession } from "../src/session.ts";
import type { AcceptedResult } from "../src/tool_use/types.ts";
import { watch } from "../src/tool_use/watch.ts";
import type { Annotation, Codec, Middleware, ReadCall } from "../src/types.ts";
import { wrap } from "../src/wrap.ts";
import { wrapTools } from "../src/wrap_tools.ts";

const map: Annotation = { kind: "map", text: "[waymark map: test]\n[end of waymark map]" };
const pass: Middleware = (call, next) => next(call);
/** Shortens to 200 lines and annotates. */
const cap: Middleware = async (call, next) => {
  if (call.fresh) return await next(call);
  const outcome = await next({ ...call, count: 200 });
  return outcome.failed ? outcome : { ...outcome, annotations: [...outcome.annotations, map] };
};
interface Args {
  path: string;
  offset?: number;
  limit?: number;
}

describe("wrap()", () => {
  it("gives the tool the very same arguments where nothing changed", async () => {
    const args = { path: "a.ts", extra: {} };
    const read = wrap((given: Args) => given, pass);
    assertStrictEquals(await read(args), args);
  });

  it("gives the tool a copy with only the range changed, and never touches the caller's arguments", async () => {
    const args = Object.freeze({ path: "a.ts", extra: 1 });
    const read = wrap((given: Args) => ({ given, text: "" }), cap);
    const { given } = await read(args);
    assertEquals(given, { path: "a.ts", extra: 1, limit: 200 } as Args);
    assertEquals(args, { path: "a.ts", extra: 1 });
  });

  it("puts the annotation after a string, and beside the fields of an object", async () => {
    assertEquals(await wrap((_: Args) => "text", cap)({ path: "a.ts" }), `text\n\n${map.text}`);
    const result = await wrap((_: Args): unknown => ({ content: "text", more: 1 }), cap)({ path: "a.ts" });
    assertEquals(result, { content: "text", more: 1, annotation: map });
  });

  it("goes straight to the tool with arguments it cannot read, and keeps its kind of result", () => {
    const read = wrap((args: unknown) => args, cap);
    for (const args of [undefined, null, "a.ts", 7, [], { path: 7 }, { file: "a.ts" }, { path: "a.ts", limit: {} }]) {
      assertStrictEquals(read(args), args);
    }
  });

  it("throws the tool's own error, whatever it is", async () => {
    for (const thrown of [new TypeError("EISDIR"), "a string", undefined, null, { code: 7 }]) {
      const read = wrap((_: Args) => {
        throw thrown;
      }, cap);
      const caught = await Promise.resolve(read({ path: "a.ts" })).then(() => "nothing", (error: unknown) => [error]);
      assertStrictEquals((caught as unknown[])[0], thrown);
    }
  });

  it("keeps the tool's name, length, properties and prototype", () => {
    const tool = Object.assign(function readFile(_: Args, __?: unknown) {}, { schema: { a: 1 } });
    const wrapped = wrap(tool, cap);
    assertEquals([wrapped.name, wrapped.length], ["readFile", 2]);
    assertStrictEquals(wrapped.schema, tool.schema);
    assertStrictEquals(Object.getPrototypeOf(wrapped), Function.prototype);
  });

  it("keeps `this` and passes on whatever else the host passes", async () => {
    const host = {
      root: "/project",
      read: wrap(function (this: { root: string }, args: Args, ...rest: unknown[]) {
        return [this.root, args.path, ...rest];
      }, pass),
    };
    assertEquals(await host.read({ path: "a.ts" }, { toolCallId: "1" }, "more"), ["/project", "a.ts", {
      toolCallId: "1",
    }, "more"]);
  });

  it("takes the facts of the call from what the host passes, under the usual names", async () => {
    const calls: ReadCall[] = [];
    const read = wrap((_: Args, __?: unknown) => "", (call, next) => (calls.push(call), next(call)), { name: "read" });
    const { signal } = new AbortController();
    await read({ path: "a.ts" }, {
      toolCallId: "1",
      abortSignal: signal,
      sessionId: "s",
      cwd: "/x",
      programmatic: true,
      fresh: true,
    });
    await read({ path: "a.ts" }, { toolUse: { id: "2" }, signal });
    await read({ path: "a.ts" }, { toolCallId: 7, signal: "no", sessionId: null });
    await read({ path: "a.ts" }, null);
    const [one, two, three] = calls;
    assertEquals([one?.callId, one?.sessionId, one?.cwd, one?.programmatic, one?.fresh, one?.tool], [
      "1",
      "s",
      "/x",
      true,
      true,
      "read",
    ]);
    assertStrictEquals(one?.signal, signal);
    assertEquals([two?.callId, two?.signal === signal], ["2", true]);
    assertEquals([three?.callId, three?.signal, three?.sessionId, calls.length], [undefined, undefined, undefined, 4]);
  });

  it("knows a call by every name that a tool's results are known by, whatever stands beside its arguments", async () => {
    const calls: ReadCall[] = [], layer: Middleware = (call, next) => (calls.push(call), next(call));
    const seen: AcceptedResult[] = [], accept = (result: AcceptedResult) => void seen.push(result);
    const tool = (_: Args, ..._rest: unknown[]) => "";
    const read = wrap(tool, layer), bash = watch(tool, accept);
    const ids = ["toolCallId", "tool_call_id", "toolUseId", "toolUseID", "tool_use_id", "callId", "call_id"];
    const told: readonly (readonly unknown[])[] = [
      ...ids.map((name) => [{ [name]: "c1" }]),
      ...["toolUse", "toolCall", "call"].flatMap((
        name,
      ) => [[{ [name]: { id: "c1" } }], [{ [name]: { callId: "c1" } }]]),
      [{ toolCall: { id: "item_1", callId: "c1" } }],
      ["x", { toolCallId: "c1" }],
      [{ toolCallId: "c1" }, { agentId: "sub" }],
      [null, { toolCallId: "c1", topLevel: true }],
    ];
    for (const rest of told) {
      await read({ path: "a.ts" }, ...rest);
      bash({ path: "a.ts" }, ...rest);
      const [call, result] = [calls.at(-1), seen.at(-1)];
      assertEquals([call?.callId, call?.topLevel], ["c1", result?.topLevel], JSON.stringify(rest));
      assertEquals(result?.callId, "c1", JSON.stringify(rest));
    }
    assertEquals([calls.at(-2)?.topLevel, calls.at(-1)?.topLevel], [false, true]);
  });

  it("loses no fact of the host's to what else it passes: a value that will not be looked into is passed over", async () => {
    const calls: ReadCall[] = [],
      { proxy: revoked, revoke } = Proxy.revocable({}, {}),
      { signal } = new AbortController();
    revoke();
    const read = wrap((_: Args, ..._rest: unknown[]) => "", (call, next) => (calls.push(call), next(call)));
    const getter = {
      get agentId(): string {
        throw new Error("not now");
      },
    };
    const facts = { toolCallId: "c1", signal, cwd: "/x", programmatic: true, fresh: true };
    for (const other of [revoked, getter, null, 7, "x"]) {
      for (const rest of [[facts, other], [other, facts]]) {
        if (other === revoked && rest[0] === other) continue; // the first object is asked for all else
        await read({ path: "a.ts" }, ...rest);
        const { callId, topLevel } = calls.at(-1)!;
        assertEquals([callId, topLevel], ["c1", false]);
        if (rest[0] === facts) assertEquals([calls.at(-1)?.cwd, calls.at(-1)?.signal === signal], ["/x", true]);
      }
    }
  });

  it("takes the facts from the host's own place where that is given, and lives with a fault there", async () => {
    const calls: ReadCall[] = [];
    const layer: Middleware = (call, next) => (calls.push(call), next(call));
    await wrap((_: Args, __: unknown, ___: unknown) => "", layer, { facts: (_, third) => ({ callId: String(third) }) })(
      { path: "a.ts" },
      0,
      "x",
    );
    await wrap((_: Args) => "", layer, {
      facts: () => {
        throw new Error("no");
      },
    })({ path: "a.ts" });
    assertEquals(calls.map((call) => call.callId), ["x", undefined]);
  });

  it("makes the read as asked where a layer throws, once if it had not begun", async () => {
    let calls = 0;
    const errors: unknown[] = [];
    const read = wrap((args: Args) => (calls++, args.limit ?? "all"), () => {
      throw new Error("broken layer");
    }, { onError: (error) => errors.push(error) });
    assertEquals(await read({ path: "a.ts" }), "all");
    assertEquals([calls, errors.length], [1, 1]);
  });

  it("does not call the tool again where a layer throws after an unchanged read", async () => {
    let calls = 0;
    const read = wrap((_: Args) => ++calls, async (call, next) => {
      await next(call);
      throw new Error("broken layer");
    });
    assertEquals(await read({ path: "a.ts" }), 1);
    assertEquals(calls, 1);
  });

  it("makes the read anew, as asked, where a layer throws after it had shortened it", async () => {
    const limits: unknown[] = [];
    const read = wrap((args: Args) => (limits.push(args.limit), "text"), async (call, next) => {
      await next({ ...call, count: 200 });
      throw new Error("broken layer");
    });
    assertEquals(await read({ path: "a.ts" }), "text");
    assertEquals(limits, [200, undefined]);
  });

  it("makes the read again, fresh and as asked, where a layer says its result must not stand", async () => {
    const seen: unknown[] = [];
    const note: Annotation = { kind: "notice", text: "[waymark notice: x]\n[end of waymark notice]" };
    const read = wrap((args: Args) => (seen.push(args.limit), "text"), async (call, next) => {
      seen.push(call.fresh);
      if (call.fresh) return await next(call);
      return { ...await next({ ...call, count: 200 }), annotations: [note], again: true };
    });
    assertEquals(await read({ path: "a.ts" }), `text\n\n${note.text}`);
    assertEquals(seen, [undefined, 200, true, undefined]);
  });

  it("gives the second read's own error where that fails", async () => {
    let calls = 0;
    const read = wrap((_: Args) => {
      if (++calls === 2) throw new Error("second");
      return "text";
    }, async (call, next) => call.fresh ? await next(call) : { ...await next({ ...call, count: 200 }), again: true });
    await assertRejects(() => Promise.resolve(read({ path: "a.ts" })), Error, "second");
  });

  it("never leaves a shortened result without its map: what cannot carry one is read again as asked", async () => {
    for (const result of [undefined, null, 42, NaN, true, new ReadableStream()]) {
      const limits: unknown[] = [];
      const read = wrap((args: Args) => (limits.push(args.limit), result), cap);
      assertStrictEquals(await read({ path: "a.ts" }), result);
      assertEquals(limits, [200, undefined]);
    }
  });

  it("survives a codec and a dialect that throw", async () => {
    const codec = {
      text: () => {
        throw new Error("text");
      },
      failed: () => {
        throw new Error("failed");
      },
      annotate: () => {
        throw new Error("annotate");
      },
    } as Codec;
    assertEquals(await wrap((args: Args) => args.limit ?? "all", cap, { codec })({ path: "a.ts" }), "all");
    const dialect = {
      tools: [],
      parse: () => {
        throw new Error("parse");
      },
      apply: (args: Args) => args,
      describe: () => "",
    };
    assertEquals(wrap((_: Args) => "sync", cap, { dialect })({ path: "a.ts" }) as unknown, "sync");
    const cannotApply = {
      tools: [],
      parse: () => ({ path: "a.ts", start: 1 }),
      apply: () => {
        throw new Error("apply");
      },
      describe: () => "",
    };
    assertEquals(await wrap((_: Args) => "text", pass, { dialect: cannotApply })({ path: "a.ts" }), "text");
  });

  it("forwards what an async generator yields, in order, and annotates the last value", async () => {
    const read = wrap(async function* (args: Args) {
      yield { status: "reading" };
      yield `${args.limit} lines`;
    }, cap);
    const values: unknown[] = [];
    for await (const value of read({ path: "a.ts" })) values.push(value);
    assertEquals(values, [{ status: "reading" }, `200 lines\n\n${map.text}`]);
  });

  it("still looks like an async generator function to a host that asks", () => {
    const wrapped = wrap(async function* (_: Args) {}, cap);
    assertEquals(wrapped.constructor.name, "AsyncGeneratorFunction");
    const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor;
    assert(wrapped instanceof AsyncGeneratorFunction);
    assert(Symbol.asyncIterator in wrapped({ path: "a.ts" }));
  });

  it("throws out of an async generator what the tool's generator throws", async () => {
    const read = wrap(async function* (_: Args) {
      yield "one";
      throw new Error("torn");
    }, cap);
    const values: unknown[] = [];
    await assertRejects(
      async () => {
        for await (const value of read({ path: "a.ts" })) values.push(value);
      },
      Error,
      "torn",
    );
    assertEquals(values, ["one"]); // held back until it is known to be the last, and given when that is known
  });

  it("gives an async iterable for an async iterable, its last value annotated", async () => {
    const read = wrap((_: Args) => ({
      async *[Symbol.asyncIterator]() {
        yield "one";
        yield "two";
      },
    }), cap);
    const values: unknown[] = [];
    for await (const value of await read({ path: "a.ts" })) values.push(value);
    assertEquals(values, ["one", `two\n\n${map.text}`]);
  });

  it("gives it at once where the host says that the function streams", async () => {
    const tool = (args: Args): AsyncIterable<string> => ({
      async *[Symbol.asyncIterator]() {
        yield `${args.limit} lines`;
      },
    });
    const stream = wrap(tool, cap, { streams: true })({ path: "a.ts" }) as unknown as AsyncIterable<string>;
    assert(Symbol.asyncIterator in stream);
    const values: string[] = [];
    for await (const value of stream) values.push(value);
    assertEquals(values, [`200 lines\n\n${map.text}`]);
  });

  it("gives what is no stream this time in one piece where the host says that the function streams", async () => {
    for (const [given, wanted] of [["text", `text\n\n${map.text}`], [["a", "b"], ["a", "b"]], [undefined, undefined]]) {
      const read = wrap((_: Args): unknown => given, cap, { streams: true });
      const values: unknown[] = [];
      for await (const value of read({ path: "a.ts" }) as unknown as AsyncIterable<unknown>) values.push(value);
      assertEquals(values, [wanted]);
    }
  });

  it("never fails for a result that will not be looked into, nor takes it for a stream", async () => {
    const shy = (trap: string) =>
      new Proxy({}, {
        [trap]: () => {
          throw new Error(trap);
        },
      });
    const streams = [{ [Symbol.asyncIterator]: undefined }, {
      get [Symbol.asyncIterator]() {
        throw new Error("none");
      },
    }];
    for (const given of [shy("has"), shy("getPrototypeOf"), ...streams]) {
      const result = await wrap((_: Args): unknown => given, cap)({ path: "a.ts" });
      assertEquals(typeof (result as AsyncGenerator).next, "undefined");
    }
  });

  it("hands on an empty async iterable as an empty one", async () => {
    const read = wrap((_: Args) => ({ async *[Symbol.asyncIterator]() {} }), cap);
    for await (const _ of await read({ path: "a.ts" })) assert(false, "nothing is yielded");
  });

  it("makes a streamed read again as asked where none of its values can carry the map", async () => {
    const limits: unknown[] = [], encoder = new TextEncoder();
    const read = wrap(async function* (args: Args) {
      limits.push(args.limit);
      yield encoder.encode("one");
      yield encoder.encode(`${args.limit} lines`);
    }, cap);
    const values: unknown[] = [];
    for await (const value of read({ path: "a.ts" })) values.push(new TextDecoder().decode(value));
    assertEquals([values, limits], [["one", "undefined lines"], [200, undefined]]);
  });

  it("makes a streamed read again as asked where the shortened one throws before it has given anything", async () => {
    const read = wrap(async function* (args: Args) {
      if (args.limit !== undefined) throw new Error("no limits here");
      yield "all";
    }, cap);
    const values: unknown[] = [];
    for await (const value of read({ path: "a.ts" })) values.push(value);
    assertEquals(values, ["all"]);
  });

  it("keeps what an async generator returns, and annotates that where it can carry the map", async () => {
    const returns = async (last: unknown): Promise<unknown[]> => {
      const stream = wrap(async function* (_: Args) {
        yield "half";
        return last;
      }, cap)({ path: "a.ts" });
      const values: unknown[] = [];
      for (let done = false; !done;) {
        const step = await stream.next();
        values.push(step.value);
        done = step.done === true;
      }
      return values;
    };
    assertEquals(await returns("whole"), ["half", `whole\n\n${map.text}`]);
    assertEquals(await returns(7), [`half\n\n${map.text}`, 7]);
  });

  it("closes the tool's stream where the host stops early", async () => {
    let closed = 0;
    const read = wrap(async function* (_: Args) {
      try {
        yield "one";
        yield "two";
        yield "three";
      } finally {
        closed++;
      }
    }, cap);
    for await (const _ of read({ path: "a.ts" })) break;
    assertEquals(closed, 1);
  });

  it("leaves a synchronous generator function alone", () => {
    const read = wrap(function* (args: Args) {
      yield args.limit ?? "all";
    }, cap);
    assertEquals([...read({ path: "a.ts" })], ["all"]);
  });

  it("leaves a failed result's own flag and text as they are", async () => {
    const failed = { isError: true, content: [{ type: "text", text: "ENOENT" }] };
    const read = wrap((_: Args) => failed, cap);
    assertStrictEquals(await read({ path: "a.ts" }), failed);
  });

  it("speaks the host's own dialect both ways", async () => {
    const dialect = viewRange({ tools: ["view"], path: "file_path", range: "view_range" });
    const read = wrap((args: unknown) => ({ args, text: "" }), cap, { dialect });
    const { args } = await read({ file_path: "a.ts", view_range: [11, -1] }) as { args: unknown };
    assertEquals(args, { file_path: "a.ts", view_range: [11, 210] });
  });
});

describe("wrapTools()", () => {
  const read = { name: "read", description: "Reads", execute: (args: Args) => args.limit ?? "all" };
  const shell = { name: "shell", execute: () => "done" };
  const options = { names: ["read"] };
  const short: Middleware = (call, next) => next({ ...call, count: 200 });

  it("takes an array, a record and a Map, and leaves every other tool the very same object", async () => {
    const array = wrapTools([read, shell], short, options);
    const record = wrapTools({ read, shell }, short, options);
    const mapped = wrapTools(
      new Map<string, typeof read | typeof shell>([["read", read], ["shell", shell]]),
      short,
      options,
    );
    for (
      const [wrapped, other] of [[array[0], array[1]], [record.read, record.shell], [
        mapped.get("read"),
        mapped.get("shell"),
      ]]
    ) {
      assertEquals(await (wrapped as typeof read).execute({ path: "a.ts" }), 200);
      assertStrictEquals(other, shell);
    }
    assert(Array.isArray(array) && mapped instanceof Map);
  });

  it("changes neither the registry nor its tools", async () => {
    const registry = Object.freeze({ read: Object.freeze({ ...read }), shell });
    const wrapped = wrapTools(registry, short, options);
    assertEquals(await wrapped.read.execute({ path: "a.ts" }), 200);
    assertEquals(registry.read.execute({ path: "a.ts" }), "all");
    assertNotStrictEquals(wrapped, registry);
  });

  it("wraps functions as well as objects, by the property that is called", async () => {
    const tools = { read: (args: Args) => args.limit ?? "all" };
    assertEquals(await wrapTools(tools, short, options).read({ path: "a.ts" }), 200);
    for (const method of ["execute", "run", "invoke", "handler", "call", "func", "doIt"]) {
      const tool = { [method]: (args: Args) => args.limit ?? "all" };
      const wrapped = wrapTools({ read: tool }, short, method === "doIt" ? { ...options, method } : options);
      assertEquals(await wrapped.read[method]!({ path: "a.ts" }), 200);
    }
  });

  it("keeps a tool's getters, symbols, schema, keys and prototype", () => {
    const key = Symbol("meta");
    class Tool {
      #secret = 7;
      inputSchema = { type: "object" };
      [key] = "symbol";
      get doubled() {
        return this.#secret * 2;
      }
      reveal() {
        return this.#secret;
      }
      execute(args: Args) {
        return [this.#secret, args.limit];
      }
    }
    const tool = new Tool();
    const { read: wrapped } = wrapTools({ read: tool }, short, options);
    assert(wrapped instanceof Tool);
    assertStrictEquals(wrapped.inputSchema, tool.inputSchema);
    assertEquals([wrapped.doubled, wrapped.reveal(), wrapped[key]], [14, 7, "symbol"]);
    assertEquals(Reflect.ownKeys(wrapped), Reflect.ownKeys(tool));
    assert("execute" in wrapped && "inputSchema" in wrapped);
  });

  it("gives a class's method its own `this`, private fields and all", async () => {
    class Tool {
      #lines = 3;
      execute(args: Args) {
        return this.#lines + (args.limit ?? 0);
      }
    }
    assertEquals(await wrapTools({ read: new Tool() }, short, options).read.execute({ path: "a.ts" }), 203);
  });

  it("stays wrapped when a host spreads the tool", async () => {
    const spread = { ...wrapTools({ read }, short, options).read };
    assertEquals([await spread.execute({ path: "a.ts" }), spread.description], [200, "Reads"]);
  });

  it("finds the read tools by the dialect's names where none are given", async () => {
    const dialect = viewRange({ tools: ["view"], path: "path", range: "range" });
    const view = { execute: (args: unknown) => args };
    const wrapped = wrapTools({ view, read }, short, { dialect });
    assertEquals(await wrapped.view.execute({ path: "a.ts", range: [1, -1] }), { path: "a.ts", range: [1, 200] });
    assertStrictEquals(wrapped.read, read);
  });

  it("says where it finds no tool to wrap, and by which names it looked", () => {
    const errors: unknown[] = [], onError = (error: unknown) => errors.push(error);
    for (const registry of [[shell], { shell }, new Map([["shell", shell]])]) {
      wrapTools(registry, short, { names: ["open"], onError });
    }
    assertEquals(
      errors.map((error) => (error as Error).message),
      Array(3).fill("Cannot find a read tool to wrap: none of the tools is called open; give names"),
    );
    wrapTools({ read, shell }, short, { ...options, onError });
    assertEquals(errors.length, 3);
  });

  it("leaves what is no tool as it is", () => {
    for (const thing of [null, undefined, 7, "text", {}, { execute: 7 }]) {
      assertStrictEquals(wrapTools({ read: thing }, short, options).read, thing);
    }
    assertEquals(wrapTools([null, undefined, 7], short, options), [null, undefined, 7]);
  });

  it("lets the host set a property of a wrapped tool", () => {
    const tool = { ...read, enabled: true };
    const wrapped = wrapTools({ read: tool }, short, options).read;
    wrapped.enabled = false;
    assertEquals([wrapped.enabled, tool.enabled], [false, false]);
  });

  it("takes another wrapper around the wrapped method, and leaves the tool's own alone", async () => {
    const tool = { ...read }, wrapped = wrapTools({ read: tool }, short, options).read;
    const inner = wrapped.execute, calls: Args[] = [];
    wrapped.execute = (args: Args) => {
      calls.push(args);
      return inner(args);
    };
    assertEquals([await wrapped.execute({ path: "a.ts" }), calls.length], [200, 1]);
    assertStrictEquals(tool.execute, read.execute);
  });

  it("can be frozen and have properties defined, like any tool", async () => {
    for (const tool of [{ ...read }, Object.freeze({ ...read })]) {
      const wrapped = wrapTools({ read: tool }, short, options).read;
      Object.defineProperty(wrapped, "id", { value: 7, enumerable: true });
      assertEquals(Object.keys(wrapped).sort(), ["description", "execute", "id", "name"]);
      Object.freeze(wrapped);
      assert(Object.isFrozen(wrapped));
      assertEquals([wrapped.name, { ...wrapped }.description, "id" in tool], ["read", "Reads", false]);
      assertEquals(await wrapped.execute({ path: "a.ts" }), 200);
      assertThrows(() => Object.assign(wrapped, { name: "other" }), TypeError);
    }
  });

  it("does not ask for a tool that is made when it is asked for", () => {
    const registry = {
      read,
      get lazy(): unknown {
        throw new Error("asked for");
      },
    };
    assert("lazy" in wrapTools(registry, short, options));
  });

  it("throws for what is no registry", () => {
    assertThrows(() => wrapTools(null as unknown as object, short), TypeError);
  });
});

describe("wrap(): a layer that answers without the tool", () => {
  const reference: Annotation = {
    kind: "reference",
    text: "[waymark reference: a.ts line 1 of 1 is unchanged and shown earlier]",
  };
  const other: Annotation = { kind: "reference", text: "[waymark reference: another one]" };
  /** Answers every call that can be answered. */
  const answer: Middleware = async (call, next) =>
    call.answerable && !call.fresh ? { annotations: [reference] } : await next(call);

  it("gives the host a result in the shape of the latest one with text, and does not call the tool", async () => {
    let calls = 0, result: unknown = "text";
    const read = wrap((_: Args): unknown => (calls++, result), answer) as (args: Args) => Promise<unknown>;
    assertEquals([await read({ path: "a.ts" }), calls], ["text", 1]);
    assertEquals([await read({ path: "a.ts" }), calls], [reference.text, 1]);
    const fresh = wrap(
      (_: Args): unknown => result,
      (call, next) => answer({ ...call, fresh: result !== "text" }, next),
    );
    for (result of [[{ type: "text", text: "a" }], { content: "a" }]) await fresh({ path: "a.ts" });
    result = "text";
    assertEquals(await fresh({ path: "a.ts" }), { content: "", annotation: reference }, "the object was the latest");
  });

  it("may do so only once the tool has given text that did not fail: no result before tells its shape", async () => {
    const answerable: unknown[] = [],
      results: unknown[] = [
        null,
        7,
        { isError: true, content: [{ type: "text", text: "no" }] },
        [{ type: "image", data: "" }],
        "text",
        undefined,
        "more",
      ];
    const given = results.values();
    const read = wrap(
      (_: Args): unknown => given.next().value,
      (call, next) => (answerable.push(call.answerable), next(call)),
    );
    for (const _ of results) await read({ path: "a.ts" });
    assertEquals(answerable, [false, false, false, false, false, true, true]);
  });

  it("may do so from the start where the host names its codec, if that can answer", async () => {
    const answerable = async (codec: Codec | undefined): Promise<boolean | undefined> => {
      let seen: boolean | undefined;
      await wrap((_: Args) => "", (call, next) => (seen = call.answerable, next(call)), codec ? { codec } : {})({
        path: "a.ts",
      });
      return seen;
    };
    const { answer: _, ...silent } = autoCodec;
    const broken: Codec = {
      ...autoCodec,
      answer: () => {
        throw new Error("no");
      },
    };
    const codecs = [undefined, autoCodec, fieldsCodec, silent, { ...autoCodec, answer: () => undefined }, broken];
    assertEquals(await Promise.all(codecs.map(answerable)), [false, true, true, false, false, false]);
  });

  it("may not where the tool's results have a shape that cannot be made up: the call says so", async () => {
    for (
      const result of [{ content: "a", lines: 7 }, [{ type: "text", text: "a" }, { type: "image" }], {
        content: [{ type: "text", text: "a" }],
        structuredContent: {},
      }]
    ) {
      const seen: unknown[] = [];
      const read = wrap((_: Args): unknown => result, (call, next) => (seen.push(call.answerable), next(call)));
      for (let at = 0; at < 2; at++) assertStrictEquals(await read({ path: "a.ts" }), result);
      assertEquals(seen, [false, false]);
    }
  });

  it("may not where the tool streams, generator or not", async () => {
    const seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push(call.answerable), next(call));
    const generator = wrap(
      async function* (_: Args) {
        yield "a";
      },
      layer,
      { codec: autoCodec },
    );
    const plain = wrap((args: Args) => generator(args), layer, { streams: true, codec: autoCodec });
    for (const read of [generator, plain]) for await (const value of read({ path: "a.ts" })) assertEquals(value, "a");
    assertEquals(seen, [false, false, false]);
  });

  it("is answered once by several annotations, all their texts in one", async () => {
    const read = wrap(
      (_: Args) => "a",
      (call, next) => call.answerable ? Promise.resolve({ annotations: [reference, other] }) : next(call),
    );
    await read({ path: "a.ts" });
    assertEquals(await read({ path: "a.ts" }), `${reference.text}\n\n${other.text}`);
  });

  it("has the tool called as asked, fresh, where its answer cannot be given after all", async () => {
    for (const annotations of [[], [reference]]) {
      const calls: Args[] = [], fresh: unknown[] = [];
      let works = true;
      const codec: Codec = { ...autoCodec, answer: () => works ? "answer" : undefined };
      const read = wrap((args: Args) => (calls.push(args), "text"), (call, next) => {
        fresh.push(call.fresh);
        works = false;
        return call.fresh ? next(call) : Promise.resolve({ annotations });
      }, { codec });
      const args = { path: "a.ts" };
      assertEquals(await read(args), "text");
      assertStrictEquals(calls[0], args);
      assertEquals([calls.length, fresh], [1, [undefined, true]]);
    }
  });
});

describe("wrap(): what layers noted", () => {
  it("is taken back of a result that is thrown away, before the read is made again", async () => {
    const log: string[] = [];
    const noting: Middleware = async (call, next) => {
      const outcome = await next(call);
      log.push(call.fresh ? "second" : "first");
      return { ...outcome, discard: () => log.push(call.fresh ? "second gone" : "first gone") };
    };
    const again: Middleware = async (call, next) => ({ ...await noting(call, next), again: !call.fresh });
    assertEquals(await wrap((_: Args) => "text", again)({ path: "a.ts" }), "text");
    assertEquals(log, ["first", "first gone", "second"]);
  });

  it("is taken back where the result cannot carry what belongs to it", async () => {
    for (const kind of ["map", "reference"] as const) {
      let discards = 0;
      const read = wrap((_: Args) => 42, async (call, next) => {
        const outcome = await next(call);
        return call.fresh ? outcome : { ...outcome, annotations: [{ ...map, kind }], discard: () => void discards++ };
      });
      assertEquals([await read({ path: "a.ts" }), discards], [42, 1]);
    }
  });

  it("stands where the result does, and a fault in taking it back is nobody's", async () => {
    let discards = 0;
    const errors: unknown[] = [];
    const stands = wrap(
      (_: Args) => "text",
      async (call, next) => ({ ...await next(call), discard: () => void discards++ }),
    );
    assertEquals([await stands({ path: "a.ts" }), discards], ["text", 0]);
    const faulty = wrap((_: Args) => "text", async (call, next) => ({
      ...await next(call),
      again: !call.fresh,
      discard: () => {
        throw new Error("no");
      },
    }), { onError: (error) => errors.push(error) });
    assertEquals([await faulty({ path: "a.ts" }), errors.length], ["text", 1]);
  });
});

describe("wrap(): the conversation of a call", () => {
  it("is the tool's own where it has one, else what the host says of the call", async () => {
    const [own, given] = [createSession({ id: "own" }), createSession({ id: "given" })], seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push(call.session?.id), next(call));
    const facts = (info: unknown) => info as object;
    await wrap((_: Args) => "", layer)({ path: "a.ts" });
    await wrap((_: Args) => "", layer, { session: own })({ path: "a.ts" });
    const read = wrap((_: Args, __?: unknown) => "", layer, { session: own, facts });
    await read({ path: "a.ts" }, { session: given });
    await read({ path: "a.ts" }, {});
    assertEquals(seen, [undefined, "own", "given", "own"]);
  });

  it("is the one the host passes beside the arguments under the usual name, and no other object of that name", async () => {
    const [own, given] = [createSession(), createSession()], seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push(conversationOf(call, own)), next(call));
    const read = wrap((_: Args, __?: unknown) => "", layer);
    for (const session of [given, undefined, null, "s", { id: "the host's own" }]) {
      await read({ path: "a.ts" }, { session });
    }
    assertEquals(seen.map((session) => session === given ? "given" : session === own ? "own" : "?"), [
      "given",
      "own",
      "own",
      "own",
      "own",
    ]);
  });

  it("stays the tool's own where the host calls something else a session", async () => {
    const [own, main] = [createSession(), createSession()], seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push(conversationOf(call, main)), next(call));
    const hostile = new Proxy({}, {
      get() {
        throw new Error("not yours");
      },
    });
    for (const facts of [undefined, (info: unknown) => info as object]) {
      const read = wrap((_: Args, __?: unknown) => "", layer, { session: own, ...facts && { facts } });
      for (const session of [{ id: "the host's own" }, hostile]) await read({ path: "a.ts" }, { session });
    }
    assertEquals(seen.map((session) => session === own), [true, true, true, true]);
  });

  it("is that of a registry's tools too", async () => {
    const session = createSession({ id: "own" }), seen: unknown[] = [];
    const layer: Middleware = (call, next) => (seen.push(call.session), next(call));
    await wrapTools({ read: { execute: (_: Args) => "" } }, layer, { session }).read.execute({ path: "a.ts" });
    assertStrictEquals(seen[0], session);
  });
});
