/**
 * The Anthropic adapter without a loop: which tools it takes, what it keeps of them, and what it tells of requests. The loop
 * itself is in `tests/hosts/anthropic_host.ts`.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertMatch, assertRejects, assertStrictEquals } from "@std/assert";
import { join } from "@std/path/posix/join";
import { betaReadTool } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import {
  anthropicSummarizeFile,
  anthropicTool,
  type AnthropicToolOptions,
  anthropicTools,
  followRunner,
  noteRequest,
} from "../../src/adapters/anthropic.ts";
import { dialects } from "../../src/dialects.ts";
import { createSession } from "../../src/session.ts";
import type { ReadCall } from "../../src/types.ts";
import { createWaymark } from "../../src/waymark.ts";
import { wrapTools } from "../../src/wrap_tools.ts";
import { code, inFolder, put } from "../support.ts";

/** Wraps as a Waymark does, in a middleware that remembers the calls it sees. */
function spy() {
  const calls: ReadCall[] = [], notices: string[] = [];
  const onError = (error: unknown): void => void notices.push((error as Error).message);
  const waymark: Parameters<typeof anthropicTools>[1] = {
    wrapTools: (registry, options) =>
      wrapTools(registry, (call, next) => {
        calls.push(call);
        return next(call);
      }, { onError, ...options }),
  };
  return { waymark, calls, notices };
}

const schema = (...names: string[]) => ({
  type: "object" as const,
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});
const run = (_args: Record<string, unknown>, _context?: unknown): unknown => "text";
const own = { name: "read", input_schema: schema("file_path", "view_range"), run };
const editor = { type: "text_editor_20250728", name: "str_replace_based_edit_tool", run };
const memory = { type: "memory_20250818", name: "memory", run };

describe("anthropicTools()", () => {
  const paths = async (
    tool: typeof own | typeof editor,
    args: Record<string, unknown>,
    options?: AnthropicToolOptions,
  ) => {
    const { waymark, calls } = spy();
    await anthropicTools([tool], waymark, options)[0]!.run(args);
    return calls.map(({ path, start, count, cwd }) => ({ path, start, count, cwd }));
  };

  it("knows the SDK's own tools, by more than their names", async () => {
    const asked = { path: "a.ts", start: 3, count: 7, cwd: undefined };
    assertEquals(await paths(own, { file_path: "a.ts", view_range: [3, 9] }), [asked]);
    assertEquals(await paths(betaReadTool({ workdir: "." }) as typeof own, { file_path: "deno.json" }), [
      { path: "deno.json", start: 1, count: undefined, cwd: undefined },
    ]);
    assertEquals(await paths(editor, { command: "view", path: "a.ts", view_range: [3, 9] }), [asked]);
    assertEquals(
      await paths({ ...editor, type: "text_editor_20250124", name: "str_replace_editor" }, {
        command: "view",
        path: "a.ts",
        view_range: [3, 9],
      }),
      [asked],
    );
    assertEquals(await paths({ ...own, input_schema: schema("path") }, { file_path: "a.ts" }), []);
    for (const field of ["file_path", "view_range"]) {
      assertEquals(await paths({ ...own, input_schema: schema(field) }, { file_path: "a.ts" }), []);
    }
    assertEquals(await paths({ ...own, name: "write" }, { file_path: "a.ts" }), []);
  });

  it("takes a tool of the caller's own by a dialect, before what is known of its name", async () => {
    const { waymark, calls } = spy();
    const tools = [{ ...own, name: "open" }, own, { name: "grep", run }];
    const [open, read, grep] = anthropicTools(tools, waymark, { dialect: dialects.plain, names: ["open"] });
    await open!.run({ path: "a.ts", limit: 9 });
    await read!.run({ file_path: "b.ts", view_range: [1, 5] });
    assertEquals(calls.map(({ tool, path, count }) => [tool, path, count]), [["open", "a.ts", 9], ["read", "b.ts", 5]]);
    assertStrictEquals(grep, tools[2]);
    const [named] = anthropicTools([own], waymark, { dialect: dialects.plain });
    await named!.run({ path: "c.ts" });
    assertEquals(calls.at(-1)!.path, "c.ts");
  });

  it("leaves what the API runs, toolsets and tools of every other kind the very same objects", () => {
    const { waymark } = spy();
    const others = [
      { type: "web_search_20250305", name: "web_search" },
      { type: "computer_toolset_20260801", run: () => [] },
      { type: "mcp_toolset", mcp_server_name: "files" },
      { name: "bash", run },
      memory,
    ];
    const [first, ...rest] = anthropicTools([own, ...others], waymark);
    assert(first !== own);
    for (const [index, tool] of rest.entries()) assertStrictEquals(tool, others[index]);
  });

  it("keeps all that is the tool's: fields, symbols, and methods that need their own object", async () => {
    const { waymark, calls } = spy(), mark = Symbol("helper");
    class Read {
      readonly name = "read";
      readonly input_schema = schema("file_path", "view_range");
      readonly [mark] = "betaZodTool";
      #runs = 0;
      parse(input: unknown) {
        return [input, this.#runs];
      }
      run(_: Record<string, unknown>) {
        return `run ${++this.#runs}`;
      }
    }
    const tool = new Read(), [guarded] = anthropicTools([tool], waymark);
    assertEquals([await guarded!.run({ file_path: "a.ts" }), guarded!.parse(1), guarded![mark]], [
      "run 1",
      [1, 1],
      "betaZodTool",
    ]);
    assertStrictEquals(guarded!.input_schema, tool.input_schema);
    assert("run" in guarded! && guarded instanceof Read);
    const { ...spread } = anthropicTools([own], waymark)[0]!;
    assertEquals([await spread.run({ file_path: "a.ts" }), spread.name, calls.length], ["text", "read", 2]);
  });

  it("says that there is no read tool, and by which names it looked, unless it is told that there is none", () => {
    const { waymark, notices } = spy(), bash = { name: "bash", run };
    anthropicTools([bash], waymark);
    anthropicTools([bash], waymark, { dialect: dialects.mcpFilesystem });
    anthropicTools([bash], waymark, { names: [] });
    anthropicTools([bash, own], waymark);
    assertEquals(notices, [
      "Cannot find a read tool to wrap: none of the tools is called read, str_replace_based_edit_tool; give names",
      "Cannot find a read tool to wrap: none of the tools is called read_text_file, read_file, read, str_replace_based_edit_tool; give names",
    ]);
  });
});

describe("anthropicTool()", () => {
  it("takes one that is not known to be called as most are", async () => {
    const { waymark, calls } = spy(), open = { name: "open", run };
    await anthropicTool(open, waymark).run({ path: "a.ts", offset: 5, limit: 9 });
    await anthropicTool(open, waymark, { dialect: dialects.claudeCode }).run({ file_path: "b.ts" });
    assertEquals(calls.map(({ path, start, count }) => [path, start, count]), [["a.ts", 5, 9], ["b.ts", 1, undefined]]);
  });

  it("tells the call's id, its abort and the folder, and nothing of what a host may leave out", async () => {
    const { waymark, calls } = spy(), abort = new AbortController(), session = createSession();
    const read = anthropicTool(own, waymark, { workdir: "/var/dir", session });
    const args = { file_path: "a.ts" }, { signal } = abort;
    for (
      const context of [
        { toolUse: { id: "toolu_1" }, toolUseBlock: { id: "toolu_1" }, signal },
        { toolUse: { id: "toolu_2" }, signal: null },
        { toolUse: {} },
        null,
        undefined,
      ]
    ) await read.run(args, context);
    assertEquals(calls.map(({ callId, signal, cwd }) => [callId, signal !== undefined, cwd]), [
      ["toolu_1", true, "/var/dir"],
      ["toolu_2", false, "/var/dir"],
      [undefined, false, "/var/dir"],
      [undefined, false, "/var/dir"],
      [undefined, false, "/var/dir"],
    ]);
    assertStrictEquals(calls[0]!.signal, signal);
    assert(calls.every((call) => call.session === session));
  });

  it("gives a script that calls it what it asks for", async () => {
    const { waymark, calls } = spy(), read = anthropicTool(own, waymark), args = { file_path: "a.ts" };
    for (
      const caller of [{ type: "code_execution_20250825", tool_id: "srv" }, { type: "direct" }, null, undefined]
    ) await read.run(args, { toolUse: { id: "toolu_1", caller } });
    assertEquals(calls.map(({ programmatic = false }) => programmatic), [true, false, false, false]);
  });

  it("passes the context on as it is, and throws the tool's own error", async () => {
    const { waymark } = spy(),
      seen: unknown[] = [],
      fault = Object.assign(new Error("no"), { content: [{ type: "image" }] });
    const read = anthropicTool({
      ...own,
      run(...given: [Record<string, unknown>, unknown?]) {
        seen.push(...given);
        throw fault;
      },
    }, waymark);
    const args = { file_path: "a.ts" }, context = { toolUse: { id: "toolu_1" } };
    assertStrictEquals(await assertRejects(async () => await read.run(args, context)), fault);
    assertStrictEquals(seen[0], args);
    assertStrictEquals(seen[1], context);
  });

  it("leaves the memory alone where nobody says in which folder it is, and what is not in it always", async () => {
    const { waymark, calls } = spy();
    assertStrictEquals(anthropicTool(memory, waymark), memory);
    const guarded = anthropicTool(memory, waymark, { memory: "/var/agent", workdir: "/elsewhere" });
    for (
      const path of [
        "/memories/notes.md",
        "/memories/a/../../../etc/passwd",
        "/memories/..\\secret",
        "/memories",
        "/memories/",
        "/memoriesque/a.md",
        "/etc/passwd",
        "memories/a.md",
      ]
    ) await guarded.run({ command: "view", path, view_range: [2, -1] });
    await guarded.run({ command: "create", path: "/memories/b.md", file_text: "" });
    assertEquals(calls.map(({ path, cwd, start, count }) => [path, cwd, start, count]), [
      ["memories/notes.md", "/var/agent", 2, undefined],
    ]);
  });

  it("shortens a view of the memory in the model's own path and words", () =>
    inFolder(async (folder) => {
      put(folder, "memories/notes.ts", code(300));
      const waymark = createWaymark({ root: folder, cache: false }), seen: unknown[] = [];
      const tool = {
        ...memory,
        run(args: Record<string, unknown>) {
          seen.push(args);
          return code(300).split("\n").slice(0, 200).join("\n");
        },
      };
      const text = await anthropicTool(tool, waymark, { memory: folder }).run({
        command: "view",
        path: "/memories/notes.ts",
      });
      assertEquals(seen, [{ command: "view", path: "/memories/notes.ts", view_range: [1, 200] }]);
      assertMatch(String(text), /\[waymark map: PARTIAL, lines 1-200 of 300 [^]*Next lines: view_range: \[201, 300\]/);
      await waymark.close();
    }));
});

describe("anthropicSummarizeFile()", () => {
  it("is a tool the runner can send and run", () =>
    inFolder(async (folder) => {
      put(folder, "long.ts", code(300));
      const waymark = createWaymark({ root: folder, cache: false });
      const tool = anthropicSummarizeFile(waymark, { workdir: folder });
      const { name, description, parameters } = waymark.summarizeFileTool();
      assertEquals(JSON.parse(JSON.stringify(tool)), { type: "custom", name, description, input_schema: parameters });
      const args = tool.parse({ path: "long.ts" });
      assertMatch(await tool.run(args, { signal: null }), /^\[waymark map: 300 lines/);
      assertMatch(await tool.run({ path: join(folder, "long.ts") }), /^\[waymark map: 300 lines/);
      const { message } = await assertRejects(() => tool.run({ path: "gone.ts" }), Error);
      assertMatch(message, /^Cannot .*gone\.ts/);
      const { signal } = new AbortController();
      await assertRejects(() => tool.run(args, { signal: AbortSignal.abort() }));
      assertMatch(await tool.run(args, { signal }), /^\[waymark map/);
      await waymark.close();
    }));
});

describe("noteRequest()", () => {
  const message = { role: "user", content: "?" };

  it("begins a turn, and gives the compactor what goes out: no functions, no settings of a runner", () => {
    const session = createSession(), noted: unknown[] = [];
    const compactor = { noteRequestSent: (request: object) => void noted.push({ ...request }) };
    class Tool {
      name = "odd";
      secret = 1;
      run = run;
      toJSON() {
        return { name: this.name };
      }
    }
    const params = {
      model: "claude-opus-5-5",
      max_tokens: 9,
      stream: true,
      messages: [message],
      tools: [{ ...own, parse: (input: unknown) => input, close() {} }, new Tool(), null],
      max_iterations: 3,
      runToolsEagerly: true,
      thread: false,
    };
    noteRequest(params, { session, compactor });
    noteRequest({ messages: [message] }, { compactor });
    noteRequest({ messages: [message] }, {});
    const { name, input_schema } = own;
    assertEquals(noted, [
      {
        model: "claude-opus-5-5",
        max_tokens: 9,
        stream: true,
        messages: [message],
        tools: [{ name, input_schema }, { name: "odd" }, null],
      },
      { messages: [message] },
    ]);
    assertEquals(session.turn, 1);
  });

  it("tells of what the model is shown: nothing from before a compaction, or that the API may take out by itself", () => {
    const told: unknown[] = [],
      session = {
        ...createSession(),
        nextTurn: () => 1,
        reconcile: (messages: unknown) => void told.push(messages),
        reset: () => void told.push("reset"),
      };
    const compaction = (content: string | null) => ({ role: "assistant", content: [{ type: "compaction", content }] });
    const failed = [message, compaction(null), message], [, ...after] = [message, compaction("All."), message];
    noteRequest({ messages: failed }, { session });
    noteRequest({ messages: [message, ...after] }, { session });
    noteRequest({ messages: [compaction("Older."), message, ...after] }, { session });
    noteRequest({ messages: [null, "odd"] }, { session });
    noteRequest({ messages: failed, context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }, {
      session,
    });
    assertEquals(told, [failed, after, after, [null, "odd"], "reset"]);
  });

  it("throws nothing of a session's, a compactor's or a tool's, and tells each", () => {
    const errors: unknown[] = [],
      fault = (name: string) => () => {
        throw new Error(name);
      };
    const session = { ...createSession(), nextTurn: fault("turn"), reconcile: fault("messages") };
    const compactor = { noteRequestSent: fault("request") };
    const onError = (error: unknown) => {
      errors.push((error as Error).message);
      throw error;
    };
    noteRequest({ messages: [] }, { session, compactor, onError });
    noteRequest({ messages: [], tools: [{ toJSON: fault("tool") }] }, { compactor, onError });
    noteRequest({ messages: [] }, { session, compactor });
    assertEquals(errors, ["turn", "messages", "request", "tool"]);
  });
});

describe("results in several messages of a request", () => {
  it("are all there, none of them taken for a compaction", () =>
    inFolder(async (folder) => {
      const session = createSession(), waymark = createWaymark({ cache: false, session });
      const read = { name: "read", run: (_: { path: string; offset: number; limit: number }, _context: unknown) => "" };
      const path = put(folder, "a.ts", `${code(20)}\n`), lines = `${code(20)}\n`.split(/(?<=\n)/);
      read.run = ({ offset, limit }) => lines.slice(offset - 1, offset - 1 + limit).join("");
      const guarded = anthropicTool(read, waymark), messages: object[] = [{ role: "user", content: "Go." }];
      for (const [id, offset] of [["t1", 1], ["t2", 11]] as const) {
        noteRequest({ messages }, { session });
        const content = await guarded.run({ path, offset, limit: 10 }, { toolUse: { id } });
        messages.push(
          { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: { path } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
        );
      }
      noteRequest({ messages }, { session });
      assertEquals(session.coverage(path)?.seen, [{ start: 1, end: 20 }]);
      await waymark.close();
    }));
});

describe("followRunner()", () => {
  /** A runner of three requests, whose loop body may change the messages of the next. */
  class Runner {
    #messages: unknown[] = [{ role: "user", content: "?" }];
    fails = false;
    readonly ended: string[] = [];
    get params() {
      return { messages: [...this.#messages], tools: [] };
    }
    replace(...messages: unknown[]) {
      this.#messages = messages;
    }
    async *[Symbol.asyncIterator](): AsyncGenerator<string, string, undefined> {
      try {
        for (const reply of ["one", "two", "three"]) {
          yield reply;
          if (this.fails) throw new Error("the API failed");
          this.#messages.push({ role: "assistant", content: reply });
        }
        return "done";
      } finally {
        this.ended.push("ended");
      }
    }
  }
  const spied = () => {
    const seen: string[] = [], session = createSession();
    const reconcile = (messages: readonly unknown[]): void => {
      seen.push(`${messages.length} messages`);
      session.reconcile(messages);
    };
    const nextTurn = (): number => (seen.push("turn"), session.nextTurn());
    return { seen, session: { ...session, nextTurn, reconcile } };
  };

  it("tells of each request before its reply is seen, and gives the same replies and the same runner", async () => {
    const { seen, session } = spied(), runner = new Runner();
    assertStrictEquals(followRunner(runner, { session }), runner);
    for await (const reply of runner) seen.push(reply);
    assertEquals(seen, ["turn", "1 messages", "one", "turn", "2 messages", "two", "turn", "3 messages", "three"]);
    assertEquals(Object.keys(runner), ["fails", "ended"]);
  });

  it("tells again what the body made of the messages, before the runner goes on", async () => {
    const { seen, session } = spied(), runner = followRunner(new Runner(), { session });
    for await (const reply of runner) {
      seen.push(reply);
      if (reply === "one") runner.replace({ role: "user", content: "!" }, { role: "assistant", content: "one" });
      if (reply === "two") runner.replace(...runner.params.messages.slice(0, 2), { role: "user", content: "!" });
    }
    assertEquals(
      seen,
      "turn|1 messages|one|2 messages|turn|3 messages|two|3 messages|turn|4 messages|three".split("|"),
    );
  });

  it("tells again where the body changed a message in its place, and not where it left all as they are", async () => {
    const { seen, session } = spied(), block = { type: "tool_result", tool_use_id: "toolu_1", content: "lines" };
    const runner = followRunner(new Runner(), { session });
    runner.replace({ role: "user", content: [block, { type: "image" }] });
    for await (const reply of runner) {
      if (reply === "two") block.content = "[cleared]";
    }
    assertEquals(seen, "turn|1 messages|turn|2 messages|2 messages|turn|3 messages".split("|"));
  });

  it("ends a loop as the runner does: broken off, failed, or run again", async () => {
    const { seen, session } = spied(), runner = followRunner(new Runner(), { session });
    for await (const _ of runner) break;
    assertEquals([seen.filter((what) => what === "turn").length, runner.ended], [1, ["ended"]]);
    runner.fails = true;
    await assertRejects(
      async () => {
        for await (const _ of runner);
      },
      Error,
      "the API failed",
    );
    assertEquals([seen.filter((what) => what === "turn").length, runner.ended.length], [2, 2]);
    runner.fails = false;
    const replies: unknown[] = [];
    for await (const reply of runner) replies.push(reply);
    assertEquals(replies, ["one", "two", "three"]);
  });
});
