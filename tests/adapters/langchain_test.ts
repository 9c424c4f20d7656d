import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  backendSource,
  deepagentsMiddleware,
  type LangchainHooks,
  langchainMiddleware,
  type LangchainOptions,
} from "../../src/adapters/langchain.ts";
import { readFileCodec, readFileDialect } from "../../src/adapters/langchain/deepagents.ts";
import { conversationOf, isOfHost, isWayOut } from "../../src/adapters/langchain/ids.ts";
import { dialects } from "../../src/dialects.ts";
import type { WaymarkOptions } from "../../src/options.ts";
import { createSession } from "../../src/session.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import { scriptedModel } from "../../src/testing.ts";
import { createWaymark } from "../../src/waymark.ts";
import { code, inFolder, put } from "../support.ts";

/** LangChain's class, as far as the adapter and these tests use it. */
class ToolMessage {
  readonly content!: unknown;
  readonly tool_call_id!: string;
  readonly name?: string;
  readonly status?: string;
  static isInstance(value: unknown): value is ToolMessage {
    return value instanceof ToolMessage;
  }
  constructor(fields: object) {
    Object.assign(this, fields);
  }
}

const made: object[] = [];
const host = {
  createMiddleware: (hooks: LangchainHooks) => hooks,
  ToolMessage,
  tool: (run: unknown, fields: object) => (made.push({ run, ...fields }), fields),
};
const FILES: Record<string, string> = { "/long.ts": code(300), "/short.ts": code(60) };
const source = { read: (path: string) => path in FILES ? new TextEncoder().encode(FILES[path]) : undefined };

// deno-lint-ignore no-explicit-any -- requests of the host's own
type Request = any;

/** What a read tool gives for the arguments of a request. */
function read({ toolCall: { id, name, args } }: Request): ToolMessage {
  const { path, offset = 1, limit = Infinity } = args;
  const content = FILES[path]!.split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
  return new ToolMessage({ content, tool_call_id: id, name, status: "success" });
}

function guarded(options: LangchainOptions = {}, more: WaymarkOptions = {}): LangchainHooks {
  const waymark = createWaymark({ cache: false, source, onNotice: () => {}, ...more });
  return langchainMiddleware({ ...host, tool: undefined }, waymark, options);
}

/** A conversation of a host that keeps its messages: one call and the next request, again and again. */
function talk(hooks: LangchainHooks, run: object = {}) {
  const messages: unknown[] = [{ type: "human", id: "first", content: "go" }];
  let serial = 0;
  return {
    messages,
    /** The model is asked, and calls a tool. */
    async turn(args: object, tool: (request: Request) => unknown = read, name = "read_file"): Promise<ToolMessage> {
      const facts = { state: { messages }, ...run }, id = `c${++serial}`;
      await hooks.wrapModelCall({ ...facts, messages: [...messages] }, () => "asked");
      messages.push({ type: "ai", content: "", tool_calls: [{ id, name, args }] });
      const message = await hooks.wrapToolCall({ ...facts, toolCall: { id, name, args: { ...args } } }, tool);
      messages.push(message);
      return message;
    },
  };
}

const call = (args: object, more: object = {}): Request => ({
  toolCall: { id: "c", name: "read_file", args },
  ...more,
});
const inThread = (thread: string, steps?: string) => ({
  runtime: { configurable: { thread_id: thread, ...steps !== undefined && { checkpoint_ns: steps } } },
});

describe("a call that LangChain's middleware is put around", () => {
  it("is shortened where it asks for more than 200 lines, in a request that is otherwise the host's own", async () => {
    const seen: Request[] = [], request = call({ path: "/long.ts", more: 1 }, { tool: {}, state: { messages: [] } });
    const message = await guarded().wrapToolCall(request, (inner) => (seen.push(inner), read(inner)));
    assertStringIncludes(message.content, "PARTIAL, lines 1-200 of 300");
    assertEquals(seen, [{
      ...request,
      toolCall: { ...request.toolCall, args: { path: "/long.ts", more: 1, limit: 200 } },
    }]);
    assertEquals(request.toolCall.args, { path: "/long.ts", more: 1 });
  });

  it("of 200 lines is the very same request, and its message the very same object", async () => {
    const request = call({ path: "/long.ts", limit: 200 }), seen: Request[] = [];
    let given: unknown;
    const message = await guarded().wrapToolCall(request, (inner) => (seen.push(inner), given = read(inner)));
    assertStrictEquals(seen[0], request);
    assertStrictEquals(message, given);
  });

  it("of any other tool is the very same request and result, whatever its arguments look like", async () => {
    const request = { toolCall: { id: "c", name: "write_file", args: { path: "/long.ts" } } }, result = { any: 1 };
    const seen: Request[] = [];
    assertStrictEquals(await guarded().wrapToolCall(request, (inner) => (seen.push(inner), result)), result);
    assertStrictEquals(seen[0], request);
  });

  it("keeps everything of a message that gets a map, and pictures as they are", async () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const fields = {
      tool_call_id: "c",
      name: "read_file",
      id: "m",
      status: "success",
      artifact: { raw: 1 },
      metadata: { m: 1 },
      additional_kwargs: { a: 1 },
      response_metadata: { r: 1 },
    };
    const message = await guarded().wrapToolCall(call({ path: "/long.ts" }), (inner) => {
      const text = read(inner).content;
      return new ToolMessage({ ...fields, content: [{ type: "text", text }, image] });
    });
    const { content, ...rest } = message;
    assertEquals(rest, fields);
    assertEquals(content.map(({ type }: { type: string }) => type), ["text", "image", "text"]);
    assertStrictEquals(content[1], image);
    assertStringIncludes(content[2].text, "PARTIAL");
  });

  it("that reads a picture alone is the very same message", async () => {
    const image = new ToolMessage({ content: [{ type: "image", data: "AAAA" }], tool_call_id: "c" });
    assertStrictEquals(await guarded().wrapToolCall(call({ path: "/long.ts" }), () => image), image);
  });

  it("that failed by its own words is not touched, and nothing of it is remembered", async () => {
    const hooks = guarded(), { turn } = talk(hooks);
    const failure = new ToolMessage({ content: "Error: locked", tool_call_id: "c1", status: "error" });
    assertStrictEquals(await turn({ path: "/long.ts" }, () => failure), failure);
    assertStringIncludes((await turn({ path: "/short.ts" })).content as string, "function f60(");
  });

  it("that gives a command gets that very command", async () => {
    const command = { lg_name: "Command", update: { messages: [] } };
    assertStrictEquals(await guarded().wrapToolCall(call({ path: "/long.ts" }), () => command), command);
    assertStrictEquals(await guarded().wrapToolCall(call({ path: "/short.ts" }), () => command), command);
  });

  it("may have another name, dialect and codec", async () => {
    const hooks = guarded({
      dialect: dialects.geminiCli,
      names: ["open"],
      codec: {
        text: ({ body }) => body,
        annotate: (content, [annotation]) => ({ ...content, note: annotation?.text }),
      },
    });
    const seen: Request[] = [];
    const tool = (request: Request) => {
      seen.push(request.toolCall.args);
      return new ToolMessage({ content: { body: FILES["/long.ts"]!.split("\n").slice(0, 200).join("\n") } });
    };
    const toolCall = { name: "open", args: { file_path: "/long.ts" } };
    const { content } = await hooks.wrapToolCall({ toolCall }, tool);
    assertEquals(seen, [{ file_path: "/long.ts", start_line: 1, end_line: 200 }]);
    assertStringIncludes(content.note, "start_line: 201");
    assertStrictEquals(await hooks.wrapToolCall(call({ path: "/long.ts" }), () => "as it is"), "as it is");
  });
});

describe("a tool that throws", () => {
  const thrown: readonly [what: string, error: unknown, words: string][] = [
    ["an error", new TypeError("boom"), "TypeError: boom"],
    ["a string", "words", "words"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["a number", 7, "7"],
  ];
  for (const [what, error, words] of thrown) {
    for (const name of ["read_file", "bash"]) {
      it(`${what} from ${name} is told to the model in LangChain's own words`, async () => {
        const request = { toolCall: { id: "c", name, args: { path: "/long.ts" } } };
        const message = await guarded().wrapToolCall(request, () => {
          throw error;
        });
        assert(ToolMessage.isInstance(message));
        assertEquals({ ...message }, {
          content: `${words}\n Please fix your mistakes.`,
          tool_call_id: "c",
          name,
          status: "error",
        });
      });
    }
  }

  it("is left to other middleware where the options say so, the very same error", async () => {
    const error = new Error("busy");
    const hooks = guarded({ toolErrors: "throw" });
    for (const name of ["read_file", "bash"]) {
      const request = { toolCall: { name, args: { path: "/short.ts" } } };
      assertStrictEquals(
        await hooks.wrapToolCall(request, () => Promise.reject(error)).catch((thrown) => thrown),
        error,
      );
    }
  });

  it("is asked again as the model asked where only the shortened read failed", async () => {
    const asked: unknown[] = [];
    const message = await guarded().wrapToolCall(call({ path: "/long.ts" }), (request) => {
      asked.push(request.toolCall.args);
      if (request.toolCall.args.limit === 200) throw new Error("no ranges here");
      return read(request);
    });
    assertEquals(asked, [{ path: "/long.ts", limit: 200 }, { path: "/long.ts" }]);
    assertStringIncludes(message.content, "function f300(");
  });

  const ways: readonly [what: string, error: object][] = [
    ["a graph interrupt", Object.assign(new Error("[]"), { name: "GraphInterrupt" })],
    ["a node interrupt", Object.assign(new Error("[]"), { name: "NodeInterrupt" })],
    ["a command for the parent graph", Object.assign(new Error(""), { name: "ParentCommand" })],
    ["whatever else bubbles up", Object.assign(new Error("x"), { is_bubble_up: true })],
  ];
  for (const [what, error] of ways) {
    it(`${what} goes on as it is, and the tool is not called again`, async () => {
      for (const name of ["read_file", "bash"]) {
        let calls = 0;
        const request = { toolCall: { id: "c", name, args: { path: "/long.ts" } } };
        const caught = await guarded().wrapToolCall(request, () => {
          calls++;
          throw error;
        }).catch((thrown) => thrown);
        assertStrictEquals(caught, error);
        assertEquals(calls, 1);
      }
      assert(isWayOut(error) && isOfHost(error));
    });
  }

  it("for arguments that are not its schema's goes on as it is: LangChain has words for that", async () => {
    const error = Object.assign(new Error("schema"), { "~brand": "ToolInvocationError" });
    const hooks = guarded(),
      caught = await hooks.wrapToolCall(call({ path: 7 }), () => {
        throw error;
      }).catch((thrown) => thrown);
    assertStrictEquals(caught, error);
    assert(isOfHost(error) && !isWayOut(error));
    // But not where the arguments are ours: then the call is made as the model made it.
    const message = await hooks.wrapToolCall(call({ path: "/long.ts" }), (request) => {
      if ("limit" in request.toolCall.args) throw error;
      return read(request);
    });
    assertStringIncludes(message.content, "function f300(");
  });

  it("goes on as it is where the caller has aborted", async () => {
    const abort = new AbortController(), error = new Error("stopped");
    for (const name of ["read_file", "bash"]) {
      const request = { toolCall: { name, args: { path: "/long.ts" } }, runtime: { signal: abort.signal } };
      let calls = 0;
      const caught = await guarded().wrapToolCall(request, () => {
        calls++;
        abort.abort();
        throw error;
      }).catch((thrown) => thrown);
      assertStrictEquals(caught, error);
      assertEquals(calls, 1);
    }
  });

  it("is no reason to think of it as LangChain's where it is not", () => {
    for (const error of [undefined, null, "GraphInterrupt", 7, new Error("GraphInterrupt"), { is_bubble_up: "yes" }]) {
      assertFalse(isWayOut(error) || isOfHost(error));
    }
  });
});

describe("what a conversation was shown", () => {
  it("comes back as one line, as the result of its own call, and whole where that is asked again", async () => {
    const { turn } = talk(guarded());
    await turn({ path: "/short.ts" });
    const { content, ...rest } = await turn({ path: "/short.ts" });
    assertMatch(content as string, /^\[waymark reference: \/short\.ts lines 1-60 of 60 are unchanged since turn 1/);
    assertEquals(rest, { tool_call_id: "c2", name: "read_file", status: "success" });
    assertStringIncludes((await turn({ path: "/short.ts" })).content as string, "function f60(");
  });

  it("comes back in blocks where the tool gives blocks", async () => {
    const { turn } = talk(guarded());
    const blocks = (request: Request) =>
      new ToolMessage({ ...read(request), content: [{ type: "text", text: read(request).content }] });
    await turn({ path: "/short.ts" }, blocks);
    const { content } = await turn({ path: "/short.ts" }, blocks);
    const [{ type, text } = { type: "", text: "" }, ...more] = content as { type: string; text: string }[];
    assertEquals([type, more.length], ["text", 0]);
    assertMatch(text, /^\[waymark reference: /);
  });

  it("is given again by a tool whose messages carry more than content, which nobody can make up", async () => {
    for (const [artifact, isReferred] of [[{ raw: 1 }, false], [[1], false], [[], true], [undefined, true]] as const) {
      const { turn } = talk(guarded()), tool = (request: Request) => new ToolMessage({ ...read(request), artifact });
      await turn({ path: "/short.ts" }, tool);
      const { content } = await turn({ path: "/short.ts" }, tool);
      assertEquals(/^\[waymark reference: /.test(content as string), isReferred, JSON.stringify(artifact));
    }
  });

  it("is shown again once it has left the messages, or stands there changed", async () => {
    const { turn, messages } = talk(guarded());
    await turn({ path: "/short.ts" });
    const at = messages.findIndex((one) => ToolMessage.isInstance(one));
    messages[at] = new ToolMessage({ ...messages[at] as object, content: "[cleared]" });
    assertStringIncludes((await turn({ path: "/short.ts" })).content as string, "function f60(");
  });

  it("is shown again once it has left the state behind the request that was sent, or stands there changed", async () => {
    const gone = (messages: unknown[], at: number) => messages.splice(at, 1);
    const changed = (messages: unknown[], at: number) =>
      messages[at] = new ToolMessage({ ...messages[at] as object, content: "[by a person]" });
    for (const happens of [gone, changed]) {
      const hooks = guarded(), { turn, messages } = talk(hooks), args = { path: "/short.ts" };
      await turn(args);
      await turn({ path: "/long.ts", limit: 5 });
      const other = { name: "read_file", args: { path: "/long.ts", limit: 5 } };
      await hooks.wrapModelCall({ state: { messages }, messages: [...messages] }, () => "asked");
      messages.push({ tool_calls: [{ id: "c3", name: "read_file", args }, { id: "c4", ...other }] });
      happens(messages, messages.findIndex((one) => ToolMessage.isInstance(one)));
      const calls = [{ id: "c3", name: "read_file", args }, { id: "c4", ...other }];
      const [own, rest] = await Promise.all(
        calls.map((toolCall) => hooks.wrapToolCall({ state: { messages: [...messages] }, toolCall }, read)),
      );
      assertStringIncludes(own.content, "function f60(");
      assertMatch(rest.content, /^\[waymark reference: /); // that one is there still
      messages.push(own, rest);
      const { content } = await turn({ path: "/short.ts" });
      assertMatch(content as string, /^\[waymark reference: .* since turn 3/); // what parallel calls gave is kept
    }
  });

  it("is not referred to where the model's API is asked to take results out of the conversation", async () => {
    const management = { edits: [{ type: "clear_tool_uses_20250919" }] }, args = { path: "/short.ts" };
    const requests = [
      { model: { contextManagement: management } },
      { model: { invocationKwargs: { context_management: management } } },
      { model: { modelKwargs: { truncation: "auto" } } },
      { modelSettings: { truncation: "auto" } },
    ];
    for (const request of requests) {
      const { turn } = talk(guarded(), request);
      await turn(args);
      assertStringIncludes((await turn(args)).content as string, "function f60(");
    }
    const { turn } = talk(guarded(), { model: { modelKwargs: { truncation: "disabled" } }, modelSettings: {} });
    await turn(args);
    assertMatch((await turn(args)).content as string, /^\[waymark reference: /);
  });

  it("is of the file that the tool reads, where its relative paths start from another folder than the process", () =>
    inFolder(async (folder) => {
      const [own, other] = ["own", "other"].map((name) => put(folder, `${name}/a.ts`, code(60)));
      const tool = ({ toolCall: { id } }: Request) =>
        new ToolMessage({ content: readFileSync(own!, "utf8"), tool_call_id: id });
      const { turn } = talk(guarded({ cwd: dirname(own!) }, { source: undefined })), args = { path: "a.ts" };
      await turn(args, tool);
      assertMatch((await turn(args, tool)).content as string, /^\[waymark reference: a\.ts lines 1-60/);
      await turn(args, tool);
      put(folder, "own/a.ts", code(61));
      assertStringIncludes((await turn(args, tool)).content as string, "function f61(");
      assertEquals(readFileSync(other!, "utf8"), code(60));
    }));

  it("is kept apart by threads, and by sub-agents in one thread", async () => {
    const hooks = guarded(), args = { path: "/short.ts" };
    await talk(hooks, inThread("one")).turn(args);
    for (
      const run of [
        inThread("two"),
        inThread("one", "tools:a|model_request:b"),
        inThread("one", "tools:c|model_request:d"),
        {},
      ]
    ) {
      assertStringIncludes((await talk(hooks, run).turn(args)).content as string, "function f60(");
    }
    const own = talk(hooks, inThread("three", "model_request:x"));
    await own.turn(args);
    assertMatch((await own.turn(args)).content as string, /^\[waymark reference: /);
  });

  it("is kept nowhere where nothing tells a conversation from others, or the options say so", async () => {
    for (const [options, first] of [[{}, {}], [{ session: false }, { id: "first" }]] as const) {
      const hooks = guarded(options), state = { messages: [{ type: "human", content: "go", ...first }] };
      for (const id of ["c1", "c2"]) {
        await hooks.wrapModelCall({ messages: [], state }, () => "asked");
        const toolCall = { id, name: "read_file", args: { path: "/short.ts" } };
        assertStringIncludes((await hooks.wrapToolCall({ toolCall, state }, read)).content, "function f60(");
      }
    }
  });

  it("is given again, though it stands in every request, where no conversation is to be kept or told", async () => {
    const off = talk(guarded({ session: false }), inThread("one")), nameless = talk(guarded());
    nameless.messages[0] = { type: "human", content: "go" };
    for (const own of [off, nameless]) {
      for (let turn = 0; turn < 3; turn++) {
        assertStringIncludes((await own.turn({ path: "/short.ts" })).content as string, "function f60(");
      }
    }
  });

  it("goes into the session that is given, and what a sub-agent was shown does not", async () => {
    const session = createSession(), hooks = guarded({ session });
    await talk(hooks, inThread("one", "tools:a|model_request:b")).turn({ path: "/long.ts" });
    assertEquals([session.turn, session.coverage("/long.ts")], [0, undefined]);
    await talk(hooks, inThread("one")).turn({ path: "/short.ts" });
    assertEquals([session.turn, session.coverage("/short.ts")?.whole], [1, true]);
  });

  it("is counted in turns by requests that were answered: one that failed is made again in the same turn", async () => {
    const session = createSession(), hooks = guarded({ session }), request = { messages: [] };
    await hooks.wrapModelCall(request, () => "asked");
    for (const _ of [1, 2]) {
      await assertRejects(() => hooks.wrapModelCall(request, () => Promise.reject(new Error("503"))), Error, "503");
    }
    assertEquals(await hooks.wrapModelCall(request, () => "asked"), "asked");
    assertEquals(session.turn, 2);
  });

  it("is not taken from another run that passes for the same conversation at the same time", async () => {
    for (const run of [{}, inThread("T")]) {
      const hooks = guarded(), first = { type: "human", id: "first", content: "go" };
      const [one, other] = [talk(hooks, run), talk(hooks, run)], args = { path: "/short.ts" };
      for (const { messages } of [one, other]) messages[0] = first;
      let shown: unknown;
      await other.turn({}, async () => {
        // While this tool runs the other conversation goes on: it reads, and is asked again.
        await one.turn(args);
        await one.turn({ path: "/long.ts", limit: 5 });
        const toolCall = { id: "c1", name: "read_file", args };
        shown = (await hooks.wrapToolCall({ ...run, state: { messages: other.messages }, toolCall }, read)).content;
        return new ToolMessage({ content: "done", tool_call_id: "c1" });
      }, "bash");
      assertStringIncludes(shown as string, "function f60(");
    }
  });

  it("is not taken from it by a later call of one message either, nor by one that stands in no message", async () => {
    const hooks = guarded(), run = inThread("T"), args = { path: "/short.ts" };
    const first = { type: "human", id: "first", content: "go" };
    const [one, other] = [talk(hooks, run), talk(hooks, run)];
    for (const { messages } of [one, other]) messages[0] = first;
    const shown: unknown[] = [];
    await other.turn({}, async () => {
      const reading = async (id: string, args: object) => {
        const toolCall = { id, name: "read_file", args: { ...args } };
        return (await hooks.wrapToolCall({ ...run, state: { messages: other.messages }, toolCall }, read)).content;
      };
      other.messages.unshift({ id: "zero" }); // put in since the request: the state is looked at
      await reading("c1", { path: "/long.ts", limit: 5 });
      await one.turn(args);
      await one.turn({ path: "/long.ts", limit: 5 });
      for (const id of ["elsewhere", "c1"]) shown.push(await reading(id, args));
      return new ToolMessage({ content: "done", tool_call_id: "c1" });
    }, "bash");
    for (const text of shown) assertStringIncludes(text as string, "function f60(");
  });

  it("by several calls of one message is all held: none takes the others for gone", async () => {
    const session = createSession(),
      hooks = guarded({ session }),
      asks = [1, 11].map((offset) => ({
        id: `c${offset}`,
        name: "read_file",
        args: { path: "/short.ts", offset, limit: 10 },
      }));
    const messages: unknown[] = [{ id: "first" }], state = { messages };
    await hooks.wrapModelCall({ messages: [...messages], state }, () => "asked");
    messages.unshift({ id: "zero" }); // put in since the request: the state is looked at
    messages.push({ type: "ai", content: "", tool_calls: asks });
    for (const toolCall of asks) await hooks.wrapToolCall({ toolCall, state }, read);
    assertEquals(session.coverage("/short.ts")?.seen, [{ start: 1, end: 20 }]);
  });

  it("of two equal calls at once is no reason for a reference", async () => {
    const hooks = guarded(), state = { messages: [{ id: "first" }] };
    await hooks.wrapModelCall({ messages: [], state }, () => "asked");
    const both = await Promise.all(
      ["c1", "c2"].map((id) =>
        hooks.wrapToolCall({ toolCall: { id, name: "read_file", args: { path: "/short.ts" } }, state }, read)
      ),
    );
    for (const { content } of both) assertStringIncludes(content, "function f60(");
  });
});

describe("an agent of which no tool is a read tool", () => {
  const NO_READ =
    "Cannot find a read tool to wrap: none of the tools is called read, read_file, readFile, Read; give names";

  /** Hooks, and what is said. */
  function noting(options: LangchainOptions = {}) {
    const said: string[] = [];
    return { said, hooks: guarded(options, { onNotice: ({ message }) => void said.push(message) }) };
  }
  const tools = (...names: string[]) => names.map((name) => ({ name }));
  const ask = (hooks: LangchainHooks, tools: unknown) => hooks.wrapModelCall({ messages: [], tools }, () => "asked");
  const run = (hooks: LangchainHooks, name: string, args: object = {}, content = "done") => {
    const message = new ToolMessage({ content, tool_call_id: "c" });
    return hooks.wrapToolCall({ toolCall: { id: "c", name, args: { ...args } } }, () => message)
      .then((given) => assertStrictEquals(given, message));
  };

  it("is told of once, by which names it was looked for and what to give, when it has called a tool", async () => {
    const { hooks, said } = noting(), own = tools("open_file", "bash");
    await ask(hooks, own);
    assertEquals(said, []);
    for (let at = 0; at < 2; at++) {
      await run(hooks, "open_file");
      assertEquals(await ask(hooks, own), "asked");
      assertEquals(said, [NO_READ]);
    }
  });

  it("is told of where another tool has read a long file, though its list of tools is another every time", async () => {
    const { hooks, said } = noting(), args = { path: "/long.ts" };
    for (let at = 0; at < 2; at++) {
      await ask(hooks, tools("open_file"));
      await run(hooks, "open_file", args, at ? code(300) : code(200));
      await run(hooks, "open_file", { file: "/long.ts" }, code(300));
      assertEquals(said, at ? [NO_READ] : []);
    }
    await run(hooks, "open_file", args, code(300));
    assertEquals(said, [NO_READ]);
  });

  it("is not told of where a read tool is there: among others, in a provider's words, called, or named", async () => {
    const open = tools("open_file"), provided = [{ type: "function", function: { name: "Read" } }, ...open];
    for (const own of [tools("bash", "readFile"), provided]) {
      const { hooks, said } = noting();
      for (let at = 0; at < 2; at++) {
        await ask(hooks, own);
        await run(hooks, "open_file", { path: "/a.ts" }, code(300));
      }
      assertEquals(said, []);
    }
    const called = noting(), named = noting({ names: ["open_file"] }), none = noting({ names: [] });
    await run(called.hooks, "read_file");
    for (const { hooks, said } of [called, named, none]) {
      for (let at = 0; at < 2; at++) {
        await ask(hooks, open);
        await run(hooks, "bash", { path: "/a.ts" }, code(300));
      }
      assertEquals(said.filter((message) => message.includes("read tool")), []);
    }
  });

  it("is not told of for what other middleware leaves out of a request, also where that is made again", async () => {
    const { hooks, said } = noting(), own = tools("bash", "read_file");
    for (let turn = 0; turn < 3; turn++) {
      const selected = own.filter(({ name }) => name === "bash");
      for (let attempt = 0; attempt < 2; attempt++) await ask(hooks, selected);
      await run(hooks, "bash");
      await ask(hooks, []);
      await ask(hooks, undefined);
    }
    await ask(hooks, own);
    assertEquals(said, []);
  });

  it("has its requests answered, whatever its tools are, and whoever is told", async () => {
    const fail = (): never => {
      throw new Error("boom");
    };
    const odd = [null, 7, "bash", Object.defineProperty({}, "name", { get: fail })];
    const hooks = guarded({}, { onNotice: fail });
    for (const own of [odd, tools("bash"), 7, "tools"]) {
      for (let at = 0; at < 2; at++) {
        assertEquals(await ask(hooks, own), "asked");
        await run(hooks, "bash");
      }
    }
  });

  it("is told of by deepagents too, whose names of read tools may be others", async () => {
    for (const [names, expected] of [[undefined, 1], [["open_file"], 0], [[], 0]] as const) {
      const said: string[] = [], own = tools("open_file");
      const waymark = createWaymark({ cache: false, source, onNotice: ({ message }) => void said.push(message) });
      const hooks = deepagentsMiddleware({ ...host, tool: undefined }, waymark, { names });
      for (let at = 0; at < 2; at++) {
        await ask(hooks, own);
        await run(hooks, "open_file");
      }
      const NONE = "Cannot find a read tool to wrap: none of the tools is called read_file; give names";
      assertEquals(said, Array(expected).fill(NONE));
    }
  });
});

describe("the conversation of a run", () => {
  const facts: readonly [what: string, run: object, id: string | undefined, isMain: boolean][] = [
    ["with a thread", inThread("T"), '["thread","T"]', true],
    ["at the top of a graph", inThread("T", "model_request:1"), '["thread","T"]', true],
    ["in a tool", inThread("T", "tools:1|tools:2"), '["thread","T","tools:1"]', false],
    ["in a tool of a sub-agent", inThread("T", "tools:1|tools:2|tools:3"), '["thread","T","tools:1","tools:2"]', false],
    ["in a node of somebody's own graph", inThread("T", "agent:1|tools:2"), '["thread","T","agent:1"]', true],
    [
      "in a tool of an agent in a graph",
      inThread("T", "agent:1|tools:2|x:3"),
      '["thread","T","agent:1","tools:2"]',
      false,
    ],
    ["without a thread", { state: { messages: [{ id: "m" }, { id: "n" }] } }, '["first","m"]', true],
    ["with neither", { state: { messages: [{}] } }, undefined, true],
    ["with nothing", {}, undefined, true],
    ["with a thread that is no text", { runtime: { configurable: { thread_id: 7 } } }, undefined, true],
  ];
  for (const [what, run, id, isMain] of facts) {
    it(`${what} is told by the thread or the first message, and by the steps around it`, () =>
      assertEquals(conversationOf(run), { id, isMain }));
  }
});

describe("a request to the model", () => {
  it("is told to the compactor as it is sent, those of sub-agents are not, and its faults are its own", async () => {
    const noted: unknown[] = [];
    const compactor = {
      noteRequestSent(request: unknown) {
        noted.push(request);
        throw new Error("a fault");
      },
    };
    const hooks = guarded({ compactor }), messages = [{ id: "first" }], tools = [{}], model = {}, systemMessage = {};
    const request = { messages, tools, model, systemMessage, ...inThread("T"), state: { messages } };
    const seen: unknown[] = [];
    assertEquals(await hooks.wrapModelCall(request, (inner) => (seen.push(inner), "answer")), "answer");
    assertStrictEquals(seen[0], request);
    assertEquals(noted, [{ messages, tools, model, system: systemMessage }]);
    await hooks.wrapModelCall({ ...request, ...inThread("T", "tools:1|model_request:2") }, () => "answer");
    assertEquals(noted.length, 1);
  });
});

describe("digests", () => {
  const LONG = "FAIL tests/a.ts\n".repeat(500);
  const digesting = (answers: number) =>
    toolUseSummary({ model: scriptedModel(Array(answers).fill("A digest.")), session: "s" });

  it("are made of what other tools show the model, a command's messages among it, by the ids of the calls", async () => {
    const toolUse = digesting(3), hooks = guarded({}, { toolUse }), other = digesting(1);
    const bash = (id: string, result: unknown) =>
      hooks.wrapToolCall({ toolCall: { id, name: "bash", args: {} }, ...inThread("T") }, () => result);
    const message = (id: string) => new ToolMessage({ content: LONG, tool_call_id: id });
    await bash("a", message("a"));
    await bash("b", { update: { messages: [message("x"), message("b"), "none"] } });
    await bash("c", { update: {} });
    await bash("d", undefined);
    await hooks.wrapToolCall(
      { toolCall: { id: "s", name: "bash", args: {} }, ...inThread("T", "tools:1|tools:2") },
      () => message("s"),
    );
    await toolUse.settled();
    assertEquals([...toolUse.summaries().keys()], ["a", "b"]);
    assertEquals(toolUse.summaries().get("b")?.resultBytes, LONG.length);

    const own = guarded({ digests: other }, { toolUse });
    await own.wrapToolCall({ toolCall: { id: "o", name: "bash", args: {} } }, () => message("o"));
    await other.settled();
    assertEquals([...other.summaries().keys()], ["o"]);
    await Promise.all([toolUse.close(), other.close()]);
  });

  it("are made of reads too, and of none of a sub-agent's", async () => {
    const toolUse = digesting(2), hooks = guarded({}, { toolUse });
    const read = (id: string, steps?: string) =>
      hooks.wrapToolCall(
        { toolCall: { id, name: "read_file", args: { path: "a.md" } }, ...inThread("T", steps) },
        () => new ToolMessage({ content: LONG, tool_call_id: id }),
      );
    await read("own");
    await read("inner", "tools:1|tools:2");
    await toolUse.settled();
    assertEquals([...toolUse.summaries().keys()], ["own"]);
    await toolUse.close();
  });

  it("cannot fail a call", async () => {
    const digests = {
      wrap(): never {
        throw new Error("a fault");
      },
    };
    const result = new ToolMessage({ content: "done", tool_call_id: "c" });
    const request = { toolCall: { id: "c", name: "bash", args: {} } };
    assertStrictEquals(await guarded({ digests }).wrapToolCall(request, () => result), result);
  });
});

describe("the tool summarize_file", () => {
  it("is made by the host's own constructor, where that is handed in", async () => {
    made.length = 0;
    const hooks = langchainMiddleware(host, createWaymark({ cache: false, source }));
    const [tool] = made as {
      run: (args: object) => Promise<string>;
      name: string;
      schema: object;
      description: string;
    }[];
    assertEquals([hooks.tools.length, hooks.tools[0].name, tool!.name], [1, "summarize_file", "summarize_file"]);
    assertStringIncludes(await tool!.run({ path: "/long.ts" }), "[waymark map: 300 lines");
    assertEquals(guarded().tools, undefined);
  });

  it("finds a relative path where the read tools find it, and hears the caller's abort", async () => {
    made.length = 0;
    langchainMiddleware(host, createWaymark({ cache: false, source }), { cwd: "/" });
    const [{ run }] = made as [{ run: (args: object, config?: object) => Promise<string> }];
    assertStringIncludes(await run({ path: "long.ts" }), "[waymark map: 300 lines");
    const signal = AbortSignal.abort(new Error("given up"));
    await assertRejects(() => run({ path: "long.ts", action: "refresh" }, { signal }), Error, "was aborted");
  });

  it("takes nothing for the caller's abort that is no signal", async () => {
    made.length = 0;
    langchainMiddleware(host, createWaymark({ cache: false }));
    const [{ run }] = made as [{ run: (args: object, config?: object) => Promise<string> }];
    const path = fileURLToPath(import.meta.url);
    assertStringIncludes(await run({ path }, { signal: { aborted: true } }), "[waymark map: ");
    assertStringIncludes(await run({ path, action: "refresh" }, { signal: "stop" }), "[waymark map: ");
  });

  it("of a deep agent refuses a path that is not absolute: only the backend knows where it leads", async () => {
    made.length = 0;
    deepagentsMiddleware(host, createWaymark({ cache: false, source: { read: () => new TextEncoder().encode("x") } }));
    const [{ run }] = made as [{ run: (args: object) => Promise<string> }];
    await assertRejects(() => run({ path: "a.ts" }), Error, "Cannot map a.ts: the path is not absolute");
    await assertRejects(() => run({}), Error, '"path" is missing');
    await assertRejects(() => run({ path: "/a.ts" }), Error, "no declarations");
  });
});

describe("the middleware for deepagents", () => {
  const blocks = (text: string) => [{ type: "text", text }];

  it("wants to know where the files are before it guards anything", () => {
    const error = assertThrows(() => deepagentsMiddleware(host, createWaymark()), Error, "backendSource(backend)");
    assertEquals((error as { code?: string }).code, "invalid-option");
    for (const [waymark, options] of [[createWaymark(), { files: "disk" }], [createWaymark({ source }), {}]] as const) {
      assertEquals(deepagentsMiddleware(host, waymark, options).name, "waymark");
    }
  });

  it("shortens a read in its own dialect, and reads what stands behind the header", async () => {
    const waymark = createWaymark({ cache: false, source, onNotice: () => {} });
    const hooks = deepagentsMiddleware({ ...host, tool: undefined }, waymark, { session: createSession() });
    const seen: unknown[] = [];
    const tool = ({ toolCall: { args, ...toolCall } }: Request) => {
      seen.push(args);
      const { file_path: path, offset = 0, limit } = args;
      const { content } = read({ toolCall: { ...toolCall, args: { path, offset: offset + 1, limit } } });
      return new ToolMessage({ content: blocks(`@@ lines ${offset + 1}-${offset + limit} of 300 @@\n${content}`) });
    };
    const { content } = await hooks.wrapToolCall(call({ file_path: "/long.ts", offset: 50, limit: 240 }), tool);
    assertEquals(seen, [{ file_path: "/long.ts", offset: 50, limit: 200 }]);
    assertStringIncludes(content[1].text, "PARTIAL, lines 51-250 of 300");
    assertStringIncludes(content[1].text, "offset: 250, limit: 50");
  });

  it("leaves a read alone whose path is not absolute, and looks at no file for it", async () => {
    const asked: string[] = [];
    const source = { read: (path: string) => (asked.push(path), new TextEncoder().encode(code(300))) };
    const hooks = deepagentsMiddleware({ ...host, tool: undefined }, createWaymark({ cache: false, source }));
    const given = new ToolMessage({ content: blocks(`@@ lines 1-300 of 300 @@\n${code(300)}`), tool_call_id: "c" });
    for (const file_path of ["a.ts", "./a.ts", "~/a.ts", "file:///a.ts", "", 7, null]) {
      assertStrictEquals(await hooks.wrapToolCall(call({ file_path, limit: 999 }, inThread("T")), () => given), given);
    }
    assertEquals(asked, []);
    for (const file_path of ["/a.ts", "C:\\a.ts", "C:/a.ts"]) {
      assertEquals(readFileDialect().parse({ file_path, limit: 5 }), { path: file_path, start: 1, count: 5 });
    }
  });

  const texts: readonly [content: unknown, text: string | undefined, failed: boolean][] = [
    [blocks("@@ lines 1-2 of 2 @@\na\nb"), "a\nb", false],
    [blocks("[Requested offset -3 is before the start.]\n@@ lines 1-1 of 2 | next offset 1 @@\na"), "a", false],
    [blocks("@@  @@\na"), "a", false],
    [blocks("@@ lines 1-1 of 1 @@\n@@ -1,2 +1,2 @@"), "@@ -1,2 +1,2 @@", false],
    [blocks("@@ lines 1-2 of 2 @@\nError: in the file\nb"), "Error: in the file\nb", false],
    ["@@ lines 1-1 of 1 @@\na", "a", false],
    [blocks("Error: File '/a.ts' not found"), undefined, true],
    ["Error: no", undefined, true],
    [blocks("System reminder: File exists but has empty contents"), undefined, false],
    [[{ type: "image", mimeType: "image/png", data: "AAAA" }], undefined, false],
    [[...blocks("@@ lines 1-1 of 1 @@\na"), ...blocks("b")], undefined, false],
    [[null], undefined, false],
    [[], undefined, false],
    [undefined, undefined, false],
    [{ text: "a" }, undefined, false],
  ];
  it("finds the lines of a file behind deepagents' header, and none where there is no header", () => {
    for (const [content, text, failed] of texts) {
      const found = [readFileCodec.text(content), readFileCodec.failed!(content)];
      assertEquals(found, [text, failed], JSON.stringify(content));
    }
  });

  it("answers in blocks, and annotates with one more", () => {
    const annotation = { kind: "reference", text: "[a line]" } as const;
    assertEquals(readFileCodec.answer!(annotation), blocks("[a line]"));
    assertEquals(readFileCodec.annotate(blocks("a"), [annotation]), [...blocks("a"), ...blocks("[a line]")]);
  });
});

describe("the files of a backend", () => {
  const bytes = new TextEncoder().encode("one\ntwo\n");
  const backends: readonly [what: string, backend: object, text: string | undefined][] = [
    ["that gives bytes", { downloadFiles: () => [{ path: "/a", content: bytes, error: null }] }, "one\ntwo\n"],
    ["that promises them", { downloadFiles: () => Promise.resolve([{ content: bytes }]) }, "one\ntwo\n"],
    ["that says why it gives none", { downloadFiles: () => [{ content: null, error: "file_not_found" }] }, undefined],
    ["that gives a part and says so", { downloadFiles: () => [{ content: bytes, error: "too_large" }] }, undefined],
    ["that gives nothing", { downloadFiles: () => [] }, undefined],
    ["that keeps text", { readRaw: () => ({ data: { content: "one\ntwo\n" } }) }, "one\ntwo\n"],
    ["that keeps lines", { readRaw: () => ({ data: { content: ["one", "two", ""] } }) }, "one\ntwo\n"],
    ["of the older kind", { readRaw: () => Promise.resolve({ content: ["one", "two", ""] }) }, "one\ntwo\n"],
    ["that keeps bytes", { readRaw: () => ({ data: { content: bytes } }) }, "one\ntwo\n"],
    ["that keeps text and gives bytes too", {
      readRaw: () => ({ data: { content: "one\ntwo\n" } }),
      downloadFiles: () => new Promise(() => {}), // a pipe
    }, "one\ntwo\n"],
    ["without that file", { readRaw: () => ({ error: "not found" }) }, undefined],
    ["that can give none at all", {}, undefined],
  ];
  for (const [what, backend, text] of backends) {
    it(`${what} are read as the agent's own tool reads them`, async () => {
      const found = await backendSource(backend).read("/a");
      assertEquals(found && new TextDecoder().decode(found), text);
    });
  }

  it("that cannot be read leave a read as it is", async () => {
    const source = backendSource({ downloadFiles: () => Promise.reject(new Error("gone")) });
    const result = new ToolMessage({ content: [{ type: "text", text: "@@ lines 1-1 of 1 @@\na" }], tool_call_id: "c" });
    const hooks = deepagentsMiddleware(host, createWaymark({ cache: false, source, onNotice: () => {} }));
    const request = call({ file_path: "/a.ts", limit: 500 }, inThread("T"));
    assertStrictEquals(await hooks.wrapToolCall(request, () => result), result);
  });
});
