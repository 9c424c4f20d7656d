/**
 * A registry whose every tool is wrapped: its read tools for the guards, the others for digests, in the shapes hosts have.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { viewRange } from "../src/dialects.ts";
import { scriptedModel } from "../src/testing.ts";
import { toolUseSummary } from "../src/tool_use.ts";
import type { Middleware } from "../src/types.ts";
import { createWaymark } from "../src/waymark.ts";
import { wrapTools } from "../src/wrap_tools.ts";
import type { ToolFunction, WatchedTool } from "../src/wrap_types.ts";

interface Args {
  readonly path: string;
  readonly limit?: number;
}

interface Seen extends WatchedTool {
  readonly result: unknown;
}

/** Sees results and remembers them, as the digests do, without a model. */
function watcher() {
  const seen: Seen[] = [];
  const wrap = <Tool extends ToolFunction>(tool: Tool, told: WatchedTool = {}): Tool =>
    new Proxy(tool, {
      apply(target, self, given) {
        const result: unknown = Reflect.apply(target, self, given);
        seen.push({ ...told, result });
        return result;
      },
    });
  return { wrap, seen, names: () => seen.map(({ name }) => name) };
}

const short: Middleware = (call, next) => next({ ...call, count: 200 });
const shell = { name: "shell", description: "Runs", execute: (_: unknown) => "done" };
const read = { name: "read", description: "Reads", execute: (args: Args) => args.limit ?? "all" };

describe("wrapTools() with digests", () => {
  it("wraps every other tool too, in an array, a record and a Map", async () => {
    for (
      const registry of [
        [read, shell],
        { read, shell },
        new Map<string, typeof read | typeof shell>([["read", read], ["shell", shell]]),
      ]
    ) {
      const digests = watcher();
      const wrapped = wrapTools(registry, short, { digests });
      const at = (index: number, name: "read" | "shell") =>
        Array.isArray(wrapped) ? wrapped[index] : wrapped instanceof Map ? wrapped.get(name) : wrapped[name];
      assertEquals(at(1, "shell")!.execute({ path: "" }), "done");
      assertEquals(await at(0, "read")!.execute({ path: "a.ts" }), 200);
      assertEquals(digests.seen, [{ name: "shell", facts: undefined, result: "done" }]);
    }
  });

  it("leaves every other tool the very same object where there are none", () => {
    const tools = {
      read,
      shell,
      odd: 7,
      get lazy() {
        return shell;
      },
    };
    for (const options of [{}, { digests: undefined }]) {
      const wrapped = wrapTools(tools, short, options);
      assertStrictEquals(wrapped.shell, shell);
      assertStrictEquals(wrapped.lazy, shell);
    }
  });

  it("finds the function by the property a host calls, and takes a bare function as it is", () => {
    for (const method of ["execute", "run", "invoke", "handler", "call", "func", "doIt"]) {
      const digests = watcher(), tool = { [method]: (_: unknown, info: unknown) => [method, info] };
      const options = method === "doIt" ? { names: [], digests, method } : { names: [], digests };
      assertEquals(wrapTools({ tool }, short, options).tool[method]!({}, 7), [method, 7]);
      assertEquals(digests.names(), ["tool"]);
    }
    const digests = watcher();
    const bare = Object.assign((text: string) => text.length, { schema: { type: "object" } });
    const { count } = wrapTools({ count: bare }, short, { names: [], digests });
    assertEquals([count("four"), count.schema === bare.schema, count.name], [4, true, bare.name]);
    assertEquals(digests.names(), ["count"]);
  });

  it("names the tools of an array by their own names, and one without is named by its function", () => {
    const digests = watcher();
    const tools = [shell, { execute: () => 1 }, function grep() {
      return 2;
    }] as const;
    const [one, two, three] = wrapTools(tools, short, { names: [], digests });
    one.execute({}), two.execute(), three();
    assertEquals(digests.names(), ["shell", undefined, "grep"]);
  });

  it("gives the very promise, stream, value and error that the tool gave", async () => {
    const promise = Promise.resolve("later"), fault = new RangeError("no"), lost = Promise.reject(fault);
    const stream = new ReadableStream(), blocks = [{ type: "image", data: "" }];
    const given: Record<string, unknown> = { promise, stream, blocks, lost };
    const tools = {
      give: { execute: (name: string) => given[name] },
      fail: {
        execute(): never {
          throw fault;
        },
      },
    };
    const digests = toolUseSummary({ session: "s-1", topLevel: true });
    const wrapped = wrapTools(tools, short, { names: [], digests });
    for (const name of Object.keys(given)) assertStrictEquals(wrapped.give.execute(name), given[name]);
    assertStrictEquals(assertThrows(() => wrapped.fail.execute()), fault);
    assertStrictEquals(await assertRejects(() => lost), fault);
    await digests.close();
  });

  it("keeps private fields, getters, symbols and the prototype of a class's tool", () => {
    const key = Symbol("meta"), digests = watcher();
    class Tool {
      #runs = 0;
      inputSchema = { type: "object" };
      [key] = "symbol";
      get runs() {
        return this.#runs;
      }
      execute(_: unknown) {
        return ++this.#runs;
      }
    }
    const tool = new Tool();
    const { other } = wrapTools({ other: tool }, short, { names: [], digests });
    assertEquals([other.execute({}), other.execute({}), other.runs, tool.runs], [1, 2, 2, 2]);
    assert(other instanceof Tool);
    assertStrictEquals(other.inputSchema, tool.inputSchema);
    assertEquals([other[key], Reflect.ownKeys(other)], ["symbol", Reflect.ownKeys(tool)]);
    const spread = { ...wrapTools({ shell }, short, { names: [], digests }).shell };
    assertEquals([spread.execute({}), spread.description], ["done", "Runs"]);
    assertEquals(digests.names(), ["other", "other", "shell"]);
  });

  it("leaves a tool it cannot see the very same object", async () => {
    const digests = toolUseSummary({ session: "s-1", topLevel: true });
    const tools = {
      async *stream() {
        yield 1;
      },
      object: {
        *execute() {
          yield 1;
        },
      },
      bare: { description: "run by the provider" },
      nothing: null,
      text: "text",
    };
    assertEquals(Object.values(wrapTools(tools, short, { names: [], digests })), Object.values(tools));
    for (const key of ["stream", "object", "bare"] as const) {
      assertStrictEquals(wrapTools(tools, short, { names: [], digests })[key], tools[key]);
    }
    await digests.close();
  });

  it("does not ask for a tool before the host does, and wraps what it then gets", () => {
    const digests = watcher();
    let asked = 0;
    const registry = {
      name: "fs",
      get lazy() {
        asked++;
        return { execute: () => this.name };
      },
    };
    const wrapped = wrapTools(registry, short, { names: [], digests });
    assertEquals(asked, 0);
    assertEquals([wrapped.lazy.execute(), asked, digests.names()], ["fs", 1, ["lazy"]]);
  });

  it("tells of a tool that may not be looked at, and leaves it alone", () => {
    const errors: unknown[] = [], { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const wrapped = wrapTools({ proxy, shell }, short, {
      names: [],
      digests: watcher(),
      onError: (error) => errors.push(error),
    });
    assert(Object.is(wrapped.proxy, proxy));
    assertEquals([wrapped.shell.execute({}), errors.length], ["done", 1]);
  });

  it("passes the host's own facts on, for the ids of calls", () => {
    const digests = watcher(), facts = () => ({ callId: "call_1" });
    wrapTools({ shell }, short, { names: [], digests, facts }).shell.execute({});
    assertStrictEquals(digests.seen[0]!.facts, facts);
  });

  it("says nothing of read tools where it is told that there are none", () => {
    const errors: unknown[] = [];
    wrapTools({ shell }, short, { names: [], digests: watcher(), onError: (error) => errors.push(error) });
    assertEquals(errors, []);
    wrapTools({ shell }, short, { names: ["open"], digests: watcher(), onError: (error) => errors.push(error) });
    assertEquals(errors.length, 1);
  });

  it("changes neither the registry nor its tools", () => {
    const registry = Object.freeze({ shell: Object.freeze({ ...shell }) }), digests = watcher();
    const wrapped = wrapTools(registry, short, { names: [], digests });
    assertEquals([wrapped.shell.execute({}), registry.shell.execute({}), digests.seen.length], ["done", "done", 1]);
    assert(wrapped !== registry && wrapped.shell !== registry.shell);
  });
});

describe("Waymark.wrapTools() with toolUse", () => {
  const lines = "a line of output\n".repeat(400);
  const dialect = viewRange({ tools: ["view"], path: "path", range: "view_range" });
  const tools = {
    view: { run: (_: { path: string }, _info: { toolUse: { id: string } }) => lines },
    bash: { run: (_: { command: string }, _info: { toolUse: { id: string } }) => Promise.resolve(lines) },
  };

  it("makes one digest of each large result, of read tools and of others", async () => {
    const model = scriptedModel(["A digest.", "A digest."]);
    const digests = toolUseSummary({ model, session: "s-1", topLevel: true });
    const waymark = createWaymark({ cache: false, toolUse: digests });
    const wrapped = waymark.wrapTools(tools, { dialect });
    await wrapped.view.run({ path: "nowhere.ts" }, { toolUse: { id: "call_1" } });
    assertEquals(await wrapped.bash.run({ command: "ls" }, { toolUse: { id: "call_2" } }), lines);
    await digests.settled();
    assertEquals(
      [...digests.summaries()].map(([id, { tool, summary }]) => [id, tool, summary]),
      [["call_1", "view", "A digest."], ["call_2", "bash", "A digest."]],
    );
    assertEquals([digests.stats().made, digests.stats().modelCalls], [2, 2]);
    await Promise.all([waymark.close(), digests.close()]);
  });

  it("leaves the others alone where it is told so, and where what was given has only a middleware", async () => {
    const digests = toolUseSummary({ session: "s-1", topLevel: true });
    const one = createWaymark({ cache: false, toolUse: digests });
    assertStrictEquals(one.wrapTools(tools, { dialect, digests: undefined }).bash, tools.bash);
    const two = createWaymark({ cache: false, toolUse: { middleware: digests.middleware } });
    assertStrictEquals(two.wrapTools(tools, { dialect }).bash, tools.bash);
    const three = createWaymark({ cache: false });
    assertStrictEquals(three.wrapTools(tools, { dialect }).bash, tools.bash);
    await Promise.all([one.close(), two.close(), three.close(), digests.close()]);
  });
});
