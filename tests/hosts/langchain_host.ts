import { describe } from "node:test";
import { readFileSync } from "node:fs";
import { assert, assertEquals, assertFalse, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { RemoveMessage } from "@langchain/core/messages";
import { Command, GraphInterrupt, interrupt, MemorySaver } from "@langchain/langgraph";
import {
  createAgent,
  createMiddleware,
  HumanMessage,
  summarizationMiddleware,
  tool,
  toolErrorMiddleware,
  ToolMessage,
  toolRetryMiddleware,
} from "langchain";
import { createWaymark, dialects, offsetLimit } from "@waymark/waymark";
import { langchainMiddleware, type LangchainOptions } from "@waymark/waymark/adapters/langchain";
import { conformance } from "@waymark/waymark/conformance";
import { scriptedModel } from "@waymark/waymark/testing";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import { code, inFolder, put } from "../support.ts";
import { it, results, scripted, type ScriptedCall, ScriptedModel, test, textOf } from "./langchain_agents.ts";

const host = { createMiddleware, ToolMessage };
const anything = { type: "object", properties: {}, additionalProperties: true } as const;

/** A tool of the host's own making that takes anything. */
// deno-lint-ignore no-explicit-any -- the host's own types of tools
function make(name: string, run: (args: any, config: any) => any, more: object = {}): any {
  return tool(run, { name, description: name, schema: anything, ...more });
}

/** Reads a file of this machine. */
function read({ path, offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }): string {
  return readFileSync(path, "utf8").split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
}

const readFile = make("read_file", read);

function call(id: string, args: Record<string, unknown>, name = "read_file"): ScriptedCall {
  return { id, name, args };
}

interface Setup {
  // deno-lint-ignore no-explicit-any -- the host's own types of tools
  readonly tools?: any[];
  readonly options?: LangchainOptions;
  // deno-lint-ignore no-explicit-any -- the host's own types of middleware
  readonly before?: any[];
  readonly waymark?: ReturnType<typeof createWaymark>;
  readonly checkpointer?: MemorySaver;
}

/** An agent with the guards, and the model it asks. */
function guarded(
  model: ScriptedModel,
  { tools = [readFile], options, before = [], waymark, checkpointer }: Setup = {},
) {
  const guard = langchainMiddleware(host, waymark ?? createWaymark({ cache: false, onNotice: () => {} }), options);
  return createAgent({ model, tools, middleware: [...before, guard], ...checkpointer && { checkpointer } });
}

const go = { messages: [new HumanMessage("go")] };
const thread = (id: string) => ({ configurable: { thread_id: id } });

conformance(test, {
  name: "langchain 1.5.14",
  dialect: dialects.plain,
  open({ waymark, tool: given, session }) {
    const turns: (readonly ScriptedCall[])[] = [];
    const model = new ScriptedModel(() => turns.shift() ?? "done");
    const tools = [make("read_file", (args, { signal }) => given(args, { signal }))];
    const checkpointer = new MemorySaver(), options = { session: session ?? false };
    const agent = waymark
      ? guarded(model, { tools, waymark, options, checkpointer })
      : createAgent({ model, tools, checkpointer });
    return Promise.resolve({
      async turn(calls, { signal } = {}) {
        turns.push(calls.map(({ args, callId }) => call(callId, args)));
        await agent.invoke(go, { ...thread("T"), ...signal && { signal } });
        const all = results(model);
        return calls.map(({ callId }) => {
          const message = all.get(callId), blocks = Array.isArray(message?.content) ? message.content : [];
          const images = blocks.flatMap((block) => block.type === "image" ? [block.data as string] : []);
          return { text: textOf(message), failed: message?.status === "error", images };
        });
      },
      close: () => Promise.resolve(),
    });
  },
});

describe("an agent of LangChain", () => {
  it("sees 200 lines of a long file and its map, and how to go on in its own arguments", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const model = scripted([call("a", { path })], [call("b", { path, offset: 201, limit: 200 })]);
      await guarded(model).invoke(go);
      const all = results(model), text = textOf(all.get("a"));
      assertStringIncludes(text, "PARTIAL, lines 1-200 of 300");
      assertStringIncludes(text, "Next lines: offset: 201, limit: 100.");
      assertStringIncludes(text, "f200");
      assertFalse(/function f201\(/.test(text.split("[waymark")[0]!));
      assertStringIncludes(textOf(all.get("b")), "f300");
      assertEquals([...all].map(([id, { name, status }]) => [id, name, status]), [
        ["a", "read_file", "success"],
        ["b", "read_file", "success"],
      ]);
    }));

  it("gets each of its parallel calls its own file and map, and its own id", () =>
    inFolder(async (folder) => {
      const paths = [210, 220, 230].map((lines) => put(folder, `f${lines}.ts`, code(lines)));
      const model = scripted(paths.map((path, at) => call(`c${at}`, { path })));
      await guarded(model).invoke(go);
      const all = results(model);
      [210, 220, 230].forEach((lines, at) =>
        assertStringIncludes(textOf(all.get(`c${at}`)), `lines 1-200 of ${lines}`)
      );
    }));

  it("keeps everything else of a message that gets a map: id, artifact, status, metadata and the rest", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const artifact = { raw: true }, lines = code(300).split("\n");
      const marked = make("read_file", ({ limit }, { toolCall }) =>
        new ToolMessage({
          content: lines.slice(0, limit).join("\n"),
          tool_call_id: toolCall.id,
          name: "read_file",
          id: "own-id",
          artifact,
          metadata: { m: 1 },
          status: "success",
          additional_kwargs: { a: 1 },
          response_metadata: { r: 1 },
        }));
      const { messages } = await guarded(scripted([call("a", { path })]), { tools: [marked] }).invoke(go);
      const message = messages.find((one) => ToolMessage.isInstance(one)) as ToolMessage;
      assertStringIncludes(message.content as string, "PARTIAL");
      assertEquals(
        [message.id, message.tool_call_id, message.name, message.status, message.metadata, message.additional_kwargs],
        ["own-id", "a", "read_file", "success", { m: 1 }, { a: 1 }],
      );
      assertEquals([message.artifact, message.response_metadata], [artifact, { r: 1 }]);
    }));
});

describe("a tool of LangChain that throws", () => {
  class Odd {
    toString() {
      return "odd";
    }
  }
  const thrown: readonly [what: string, error: unknown][] = [
    ["an Error", new Error("no such file")],
    ["a TypeError", new TypeError("boom")],
    ["an error named AbortError, of its own", Object.assign(new Error("gave up"), { name: "AbortError" })],
    ["a string", "just words"],
    ["an object", new Odd()],
    ["an error with a cause", new Error("outer", { cause: new Error("inner") })],
  ];
  for (const [what, error] of thrown) {
    it(`${what} is shown to the model as without any middleware, by read tools and others`, () =>
      inFolder(async (folder) => {
        const path = put(folder, "long.ts", code(300));
        const fail = () => {
          throw error;
        };
        const tools = [make("read_file", fail), make("bash", fail)];
        const calls = [call("r", { path }), call("b", { command: "x" }, "bash"), call("n", {}, "nobody")];
        const bare = scripted(calls), model = scripted(calls);
        await createAgent({ model: bare, tools }).invoke(go);
        await guarded(model, { tools }).invoke(go);
        const shown = (of: ScriptedModel) => [...results(of)].map(([id, { id: _, ...message }]) => [id, message]);
        assertEquals(shown(model), shown(bare));
        assertEquals(shown(model).length, 3);
      }));
  }

  it("for arguments its schema refuses is told in LangChain's words, and a range of ours is never the reason", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const schema = {
        type: "object",
        properties: { path: { type: "string" }, limit: { type: "number" } },
        required: ["path"],
      } as const;
      const strict = tool(({ path }: { path: string }) => readFileSync(path, "utf8"), {
        name: "read_file",
        description: "reads",
        schema: { ...schema, additionalProperties: false, properties: { path: { type: "string" } } },
      });
      const typed = make("bash", () => "done", { schema: { ...schema, required: ["path", "limit"] } });
      const calls = [call("r", { path }), call("b", { path: 7 }, "bash")], tools = [strict, typed];
      const bare = scripted(calls), model = scripted(calls);
      await createAgent({ model: bare, tools }).invoke(go);
      await guarded(model, { tools }).invoke(go);
      const first = (of: ScriptedModel, id: string) => textOf(results(of).get(id)).split("\n    at ")[0]!;
      assertStringIncludes(first(bare, "b"), "Error invoking tool 'bash'");
      assertEquals(first(model, "b"), first(bare, "b"));
      assertStringIncludes(textOf(results(model).get("r")), "function f300(");
    }));

  it("ends the run where there is another middleware alone, and is left to it where the options say so", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      let tries = 0;
      const flaky = make("read_file", () => {
        if (++tries < 3) throw new Error("busy");
        return "at last";
      });
      const bystander = createMiddleware({ name: "bystander", wrapToolCall: (request, next) => next(request) });
      const fails = createAgent({ model: scripted([call("a", { path })]), tools: [flaky], middleware: [bystander] });
      await assertRejects(() => fails.invoke(go), Error, "busy"); // the host itself

      tries = 0;
      const retry = toolRetryMiddleware({ maxRetries: 5, initialDelayMs: 1, jitter: false });
      const model = scripted([call("a", { path, limit: 5 })]);
      await guarded(model, { tools: [flaky], before: [retry], options: { toolErrors: "throw" } }).invoke(go);
      assertEquals([textOf(results(model).get("a")), tries], ["at last", 3]);

      const told = toolErrorMiddleware({ onError: (error) => `Told: ${(error as Error).constructor.name}` });
      const other = scripted([call("a", { path })]),
        fail = make("read_file", () => {
          throw new RangeError("x");
        });
      await guarded(other, { tools: [fail], before: [told], options: { toolErrors: "throw" } }).invoke(go);
      assertEquals(textOf(results(other).get("a")), "Told: RangeError");
    }));
});

describe("a run of LangChain", () => {
  it("is interrupted by a tool, once, and goes on where it was resumed, the result guarded", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      let asked = 0;
      const careful = make("read_file", (args) => {
        asked++;
        const answer = interrupt({ may: args.path });
        return answer === "yes" ? read(args) : "refused";
      });
      const model = scripted([call("a", { path })]);
      const agent = guarded(model, { tools: [careful], checkpointer: new MemorySaver() });
      const stopped = await agent.invoke(go, thread("T")) as unknown as { __interrupt__?: { value: unknown }[] };
      assertEquals(stopped.__interrupt__?.map(({ value }) => value), [{ may: path }]);
      assertEquals([asked, model.requests.length], [1, 1]);
      await agent.invoke(new Command({ resume: "yes" }), thread("T"));
      assertStringIncludes(textOf(results(model).get("a")), "PARTIAL, lines 1-200 of 300");
    }));

  it("is left by a tool that leads out of it, and by one that is no read tool", async () => {
    const model = scripted([call("b", {}, "bash")]);
    const stop = make("bash", () => {
      throw new GraphInterrupt([{ value: "stop" }]);
    });
    await guarded(model, { tools: [stop], checkpointer: new MemorySaver() }).invoke(go, thread("T"));
    assertEquals(model.requests.length, 1);
  });

  it("goes on where an agent that a tool runs has failed: to the one outside that is a tool that throws", async () => {
    const inner = guarded(new ScriptedModel(() => new Error("no such model")));
    const ask = make("ask", (_, config) => inner.invoke(go, config));
    const model = scripted([call("t", {}, "ask")]);
    await guarded(model, { tools: [ask] }).invoke(go);
    const { status } = results(model).get("t")!;
    assertEquals([status, textOf(results(model).get("t"))], [
      "error",
      "Error: no such model\n Please fix your mistakes.",
    ]);
  });

  it("ends with its caller's abort, which the tool sees", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), abort = new AbortController();
      let seen = 0;
      const slow = make("read_file", (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => (seen++, reject(signal.reason)), { once: true });
          setTimeout(() => abort.abort(), 10);
        }));
      const model = scripted([call("a", { path })], [call("b", { path })]);
      await assertRejects(() => guarded(model, { tools: [slow] }).invoke(go, { signal: abort.signal }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      assertEquals([seen, model.requests.length], [1, 1]);
    }));

  it("takes a command that a tool gives as it is", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const command = (name: string) =>
        make(name, ({ limit }, { toolCall }) =>
          new Command({
            update: { messages: [new ToolMessage({ content: `of ${limit}`, tool_call_id: toolCall.id, name })] },
          }));
      const model = scripted([call("a", { path }), call("b", { limit: 7 }, "bash")]);
      await guarded(model, { tools: [command("read_file"), command("bash")] }).invoke(go);
      assertEquals([...results(model)].map(([id, message]) => [id, textOf(message)]), [
        ["a", "of undefined"],
        ["b", "of 7"],
      ]);
    }));
});

describe("an agent of LangChain without a read tool", () => {
  const open = make("open_file", read), shell = make("bash", () => "done");
  const NO_READ =
    "Cannot find a read tool to wrap: none of the tools is called read, read_file, readFile, Read; give names";

  /** A Waymark, and what it says. */
  function noting() {
    const said: string[] = [];
    return { said, waymark: createWaymark({ cache: false, onNotice: ({ message }) => said.push(message) }) };
  }

  it("is told of once, however long it runs, and is shown what it is shown without the guards", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(390)), { said, waymark } = noting();
      const turns = [[call("a", { path }, "open_file")], [call("b", { path }, "open_file")]] as const;
      const bare = scripted(...turns), model = scripted(...turns), tools = [open, shell];
      await createAgent({ model: bare, tools }).invoke(go);
      const agent = guarded(model, { tools, waymark });
      await agent.invoke(go);
      assertEquals(said, [NO_READ]);
      await agent.invoke(go);
      assertEquals([said, textOf(results(bare).get("a"))], [[NO_READ], code(390)]);
      const ids = (of: ScriptedModel) => of.requests[2]!.map(({ id: _, ...message }) => message);
      assertEquals(ids(model), ids(bare));
    }));

  it("is told of by the first tool it calls, whether that reads or not, and not by one that calls none", async () => {
    const { said, waymark } = noting(), model = scripted([], [call("b", {}, "bash")]);
    const agent = guarded(model, { tools: [open, shell], waymark });
    await agent.invoke(go);
    assertEquals(said, []);
    await agent.invoke(go);
    assertEquals(said, [NO_READ]);
  });

  it("is not told of where it has one: left out of a request, named, or a sub-agent's", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), { said, waymark } = noting();
      const select = createMiddleware({
        name: "select",
        wrapModelCall: (request, next) =>
          next({ ...request, tools: request.tools.filter((tool) => (tool as { name?: unknown }).name === "bash") }),
      });
      const twice = () => scripted([call("a", {}, "bash")], [call("b", {}, "bash")]);
      await guarded(twice(), { tools: [readFile, shell], before: [select], waymark }).invoke(go);
      await guarded(twice(), { tools: [readFile, shell], waymark }).invoke(go);

      const named = scripted([call("a", { path }, "open_file")]);
      await guarded(named, { tools: [open], waymark, options: { names: ["open_file"] } }).invoke(go);
      assertStringIncludes(textOf(results(named).get("a")), "PARTIAL, lines 1-200 of 300");

      const guard = langchainMiddleware(host, waymark);
      const inner = createAgent({ model: scripted([call("i", { path })]), tools: [readFile], middleware: [guard] });
      const ask = make("ask", async (_, config) => (await inner.invoke(go, config), "asked"));
      const model = scripted([call("t", {}, "ask")], [call("u", {}, "ask")]);
      await createAgent({ model, tools: [ask], middleware: [guard] }).invoke(go);
      assertEquals(said, []);
    }));
});

describe("what an agent was shown", () => {
  const again = (path: string) => [[call("a", { path })], [call("b", { path })]] as const;

  it("comes back as one line in a later turn, in a message of its own call, and whole when asked again", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      const model = scripted(...again(path), [call("c", { path })]);
      await guarded(model).invoke(go);
      const all = results(model), [reference] = [textOf(all.get("b"))];
      assertMatch(
        reference,
        /^\[waymark reference: .*short\.ts lines 1-60 of 60 are unchanged since turn 1, shown then\]$/,
      );
      const { name, status, tool_call_id } = all.get("b")!;
      assertEquals([name, status, tool_call_id], ["read_file", "success", "b"]);
      assertStringIncludes(textOf(all.get("c")), "function f60(");
    }));

  it("is shown again where it has left the request, by LangChain's summary of the conversation", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      const summarizer = new ScriptedModel(() => "It read a file.");
      const summary = summarizationMiddleware({ model: summarizer, trigger: { messages: 4 }, keep: { messages: 1 } });
      const model = scripted([call("a", { path })], [call("x", { path, limit: 5, offset: 90 })], [call("b", { path })]);
      await guarded(model, { before: [summary], checkpointer: new MemorySaver() }).invoke(go, thread("T"));
      assert(summarizer.requests.length > 0);
      assertStringIncludes(textOf(results(model).get("b")), "function f60(");
    }));

  it("is shown again where other middleware clears it from the request alone", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      const clear = createMiddleware({
        name: "clear",
        wrapModelCall: (request, next) =>
          next({
            ...request,
            messages: request.messages.map((one) =>
              ToolMessage.isInstance(one) && one.tool_call_id === "a"
                ? new ToolMessage({ content: "[cleared]", tool_call_id: "a", name: "read_file" })
                : one
            ),
          }),
      });
      const model = scripted(...again(path));
      await guarded(model, { before: [clear] }).invoke(go);
      assertStringIncludes(textOf(results(model).get("b")), "function f60(");
    }));

  it("is shown again where other middleware removes it between the model's answer and the call", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60)), long = put(folder, "long.ts", code(300));
      const trim = createMiddleware({
        name: "trim",
        afterModel: ({ messages }) => ({
          messages: messages.filter((one) => ToolMessage.isInstance(one)).slice(0, -1)
            .map(({ id }) => new RemoveMessage({ id: id! })),
        }),
      });
      const model = scripted([call("a", { path })], [call("x", { path: long, limit: 5 })], [
        call("b", { path }),
        call("y", { path: long, limit: 5 }),
      ]);
      await guarded(model, { before: [trim] }).invoke(go);
      const all = model.requests[3]!;
      assertFalse(all.some(({ tool_call_id }) => tool_call_id === "a"));
      assertStringIncludes(textOf(results(model).get("b")), "function f60(");
      assertMatch(textOf(results(model).get("y")), /^\[waymark reference: /);
    }));

  it("is shown again by a model whose API is asked to take results out of the conversation", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60)), [first, second] = again(path);
      const turns: (readonly ScriptedCall[])[] = [first, second], requests: ScriptedModel["requests"] = [];
      // As ChatAnthropic has it.
      class Clearing extends ScriptedModel {
        readonly contextManagement = { edits: [{ type: "clear_tool_uses_20250919" }] };
        constructor() {
          super(() => turns.shift() ?? "done", requests);
        }
      }
      const model = new Clearing();
      await guarded(model).invoke(go);
      assertStringIncludes(textOf(results(model).get("b")), "function f60(");
    }));

  it("is known in its thread alone, and there in a later run too", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60)), checkpointer = new MemorySaver();
      const turns = ["a", undefined, "b", undefined, "c"].map((id) => id === undefined ? "done" : [call(id, { path })]);
      const model = new ScriptedModel(() => turns.shift() ?? "done");
      const agent = guarded(model, { checkpointer });
      await agent.invoke(go, thread("one"));
      await agent.invoke(go, thread("one"));
      assertStringIncludes(textOf(results(model).get("b")), "[waymark reference: ");
      await agent.invoke(go, thread("two"));
      assertStringIncludes(textOf(results(model).get("c")), "function f60(");
    }));

  it("is not known to another run where there are no threads, also not at once", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      const reads = (messages: readonly { type: string }[]) =>
        messages.some(({ type }) => type === "tool") ? "done" : [call("a", { path })];
      const model = new ScriptedModel(reads), agent = guarded(model);
      await Promise.all([1, 2, 3].map(() => agent.invoke({ messages: [new HumanMessage("go")] })));
      const last = model.requests.filter((request) => request.some(({ type }) => type === "tool"));
      assertEquals(last.length, 3);
      for (const request of last) assertStringIncludes(textOf(request.find(({ type }) => type === "tool")), "f60(");
    }));

  it("is not kept where the options say so", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60)), model = scripted(...again(path));
      await guarded(model, { options: { session: false } }).invoke(go);
      assertStringIncludes(textOf(results(model).get("b")), "function f60(");
    }));

  it("is counted in turns by requests that were answered, not by those that failed and were made again", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      let fails = 2;
      const turns = [...again(path)] as (readonly ScriptedCall[])[];
      const model = new ScriptedModel(() =>
        turns.length === 1 && fails-- > 0 ? new Error("503") : turns.shift() ?? "done"
      );
      const retry = createMiddleware({
        name: "retry",
        async wrapModelCall(request, next) {
          for (;;) {
            try {
              return await next(request);
            } catch { /* again */ }
          }
        },
      });
      const noted: unknown[] = [];
      const compactor = { noteRequestSent: (request: { messages?: unknown }) => noted.push(request.messages) };
      await guarded(model, { before: [retry], options: { compactor } }).invoke(go);
      assertStringIncludes(textOf(results(model).get("b")), "since turn 1");
      assertEquals(noted.length, model.requests.length);
    }));
});

describe("beside reads", () => {
  it("large results of other tools are digested by the id of their call, a sub-agent's are not its own", () =>
    inFolder(async () => {
      const toolUse = toolUseSummary({ model: scriptedModel(["Three tests failed.", "Again."]), session: "s" });
      const waymark = createWaymark({ cache: false, toolUse });
      const bash = make("bash", () => "FAIL tests/a.ts\n".repeat(500));
      const inner = guarded(scripted([call("inner", {}, "bash")]), { tools: [bash], waymark });
      const ask = make("ask", async (_, config) => {
        await inner.invoke(go, config);
        return "FAIL again\n".repeat(500);
      });
      const model = scripted([call("outer", {}, "bash"), call("task", {}, "ask")]);
      await guarded(model, { tools: [bash, ask], waymark }).invoke(go);
      await toolUse.settled();
      assertEquals([...toolUse.summaries().keys()].sort(), ["outer", "task"]);
      assertEquals(textOf(results(model).get("outer")), "FAIL tests/a.ts\n".repeat(500));
      await toolUse.close();
    }));

  it("a sub-agent that a tool runs has a conversation of its own", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60));
      const waymark = createWaymark({ cache: false });
      const guard = langchainMiddleware(host, waymark);
      const innerModel = scripted([call("i", { path })]);
      const inner = createAgent({ model: innerModel, tools: [readFile], middleware: [guard] });
      const ask = make("ask", async (_, config) => {
        await inner.invoke(go, config);
        return "asked";
      });
      const model = scripted([call("a", { path })], [call("t", {}, "ask")], [call("b", { path })]);
      const agent = createAgent({
        model,
        tools: [readFile, ask],
        middleware: [guard],
        checkpointer: new MemorySaver(),
      });
      await agent.invoke(go, thread("T"));
      assertStringIncludes(textOf(results(innerModel).get("i")), "function f60(");
      assertStringIncludes(textOf(results(model).get("b")), "[waymark reference: ");
    }));

  it("the tool summarize_file is the agent's, made by LangChain's own constructor", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const guard = langchainMiddleware({ ...host, tool }, createWaymark({ cache: false }));
      const model = scripted([
        call("s", { path }, "summarize_file"),
        call("m", { path: `${path}x` }, "summarize_file"),
      ]);
      await createAgent({ model, tools: [readFile], middleware: [guard] }).invoke(go);
      const all = results(model);
      assertStringIncludes(textOf(all.get("s")), "[waymark map: 300 lines");
      assertStringIncludes(textOf(all.get("m")), "Cannot");
      assertEquals(all.get("m")?.status, "error");
    }));

  it("the read tool may have any name and dialect, and its results may be blocks", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300));
      const open = make("open", ({ file, skip = 0, take = 1000 }) => [
        { type: "text", text: readFileSync(file, "utf8").split(/(?<=\n)/).slice(skip, skip + take).join("") },
      ]);
      const dialect = offsetLimit({ path: "file", offset: "skip", limit: "take", base: 0 });
      const model = scripted([call("a", { file: path }, "open")], [call("b", { file: path, take: 50 }, "open")]);
      await guarded(model, { tools: [open], options: { dialect, names: ["open"] } }).invoke(go);
      const [first, second] = (results(model).get("a")?.content ?? []) as { type: string; text: string }[];
      assertEquals(first?.text.split("\n").length, 201);
      assertStringIncludes(second?.text ?? "", "skip: 200, take: 100");
      const [reference] = (results(model).get("b")?.content ?? []) as { type: string; text: string }[];
      assertMatch(reference?.text ?? "", /^\[waymark reference: /);
    }));
});
