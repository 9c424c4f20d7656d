import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { type OpencodeHooks, opencodeHooks, piExtension, type PiOptions } from "@waymark/waymark/adapters/hooks";
import { createSession, createWaymark, dialects, type Middleware, type WaymarkOptions } from "@waymark/waymark";
import { describe, it } from "node:test";
import { keep, rewrite } from "../../src/adapters/hooks/host_reads.ts";

// deno-lint-ignore no-explicit-any -- events and arguments of hosts
type Json = any;

function code(lines: number, from = 1): string {
  return Array.from({ length: lines }, (_, at) => `export function f${from + at}() {}\n`).join("");
}

const FILES: Record<string, string> = { "/project/long.ts": code(300), "/project/short.ts": code(120) };

/** A Waymark over files that are nowhere but here. */
function over(files: Record<string, string> = FILES, options: WaymarkOptions = {}) {
  const source = {
    read: (path: string) => files[path] === undefined ? undefined : new TextEncoder().encode(files[path]),
  };
  return createWaymark({ cache: false, source, onNotice: () => {}, ...options });
}

/** The lines of a file that a call asks for. */
function lines(path: string, { offset = 1, limit = 2000 }: Json): string {
  return FILES[path]!.split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
}

describe("what hosts with hooks have in common", () => {
  it("makes arguments what they became in place, without what is no longer among them", () => {
    const args = { path: "a.ts", start: 1, end: 900 };
    rewrite(args, { path: "a.ts", end: 200 });
    assertEquals(args, { path: "a.ts", end: 200 } as Json);
  });

  it("knows so many calls and conversations at once, the latest", () => {
    const known = new Map<string, number>();
    for (const [at, key] of ["a", "b", "a", "c", "d"].entries()) keep(known, [key, at], 3);
    assertEquals([...known], [["a", 2], ["c", 3], ["d", 4]]);
  });
});

describe("piExtension()", () => {
  /** pi's events, as it calls them, and what it would hand to the tool. */
  function pi(waymark: Json, options: PiOptions = {}, id = "one") {
    const handlers = new Map<string, (event: Json, context: Json) => Json>(), tools: Json[] = [];
    const api = {
      on: (name: string, handler: Json) => void handlers.set(name, handler),
      registerTool: (tool: Json) => void tools.push(tool),
    };
    piExtension(waymark, options)(api);
    const emit = (name: string, event: Json, context: Json = {}) =>
      handlers.get(name)!(event, {
        cwd: "/project",
        signal: undefined,
        sessionManager: { getSessionId: () => id },
        ...context,
      });
    let serial = 0;
    return {
      tools,
      handlers,
      emit,
      /** A request, with these results in it. */
      request: (...results: Json[]) => emit("context_with_system", { messages: [{ role: "system" }, ...results] }),
      /** A call from its start to its end: what the tool got, and what the model gets. */
      async read(input: Json, given: Json = {}) {
        const toolCallId = given.toolCallId ?? `call_${++serial}`, toolName = given.toolName ?? "read";
        await emit("tool_call", { toolName, input, ...given, toolCallId }, given.context);
        const text = given.content ?? [{ type: "text", text: lines("/project/" + input.path, input) }];
        const result = { toolName, input, isError: false, ...given, toolCallId, content: text };
        const changed = await emit("tool_result", result, given.context);
        emit("tool_execution_end", { toolCallId });
        return { toolCallId, input, changed, content: changed?.content ?? text };
      },
    };
  }

  it("changes the very input, and puts the map in a block of its own", async () => {
    const { read } = pi(over()), input = { path: "long.ts" };
    const { content, changed } = await read(input, { structuredContent: "as it is" });
    assertEquals(input, { path: "long.ts", limit: 200 } as Json);
    assertEquals(content[0], { type: "text", text: code(200).trimEnd() });
    assertMatch(content[1].text, /^\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
    assertStringIncludes(content[1].text, "Next lines: offset: 201, limit: 100.");
    assertEquals([content.length, changed.structuredContent], [2, "as it is"]);
  });

  it("leaves short reads, other tools and the calls of scripts as they are", async () => {
    const { read } = pi(over());
    for (
      const [input, given] of [
        [{ path: "long.ts", limit: 200 }, {}],
        [{ path: "long.ts" }, { toolName: "cat" }],
        [{ path: "long.ts" }, { toolCallId: "call_1/1", parentToolCallId: "call_1" }],
        [{ path: "long.ts", limit: [1] }, {}],
      ] as Json[]
    ) {
      const before = { ...input },
        { changed } = await read(input, { content: [{ type: "text", text: "x" }], ...given });
      assertEquals([input, changed], [before, undefined]);
    }
  });

  it("takes the reads of other tools where it is told their names and dialect", async () => {
    const { read } = pi(over(), { tools: ["view"], dialect: dialects.geminiCli }), input = { file_path: "long.ts" };
    const content = [{ type: "text", text: code(200) }];
    const { changed } = await read(input, { toolName: "view", content });
    assertEquals(input, { file_path: "long.ts", start_line: 1, end_line: 200 } as Json);
    assertStringIncludes(changed.content[1].text, "Next lines: start_line: 201, end_line: 300.");
  });

  it("takes pi's own last words for none of the file's", async () => {
    const files = { "/project/a.ts": code(200) + "\n" + code(99, 202) }, { read } = pi(over(files));
    for (
      const words of [
        "[101 more lines in file. Use offset=201 to continue.]",
        "[Showing lines 1-200 of 301. Use offset=201 to continue.]",
        "[Showing lines 1-200 of 301 (50.0KB limit). Use offset=201 to continue.]",
      ]
    ) {
      const content = [{ type: "text", text: `${code(200).trimEnd()}\n\n${words}` }];
      assertMatch((await read({ path: "a.ts" }, { content })).content[1].text, /lines 1-200 of 300 are shown/);
    }
  });

  it("says that nothing was checked where pi shows no line", async () => {
    const text = "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' long.ts | head -c 51200]";
    const { content } = await pi(over()).read({ path: "long.ts" }, { content: [{ type: "text", text }] });
    assertMatch(content[1].text, /lines 1-200 of 300 were asked for, what came back was not checked\]/);
  });

  it("leaves an image alone, and keeps one beside text", async () => {
    const image = { type: "image", data: "", mimeType: "image/png" }, { read } = pi(over());
    assertEquals((await read({ path: "long.ts" }, { content: [image] })).changed, undefined);
    const other = pi(over()), text = { type: "text", text: code(200) };
    const { content } = await other.read({ path: "long.ts" }, { content: [text, image] });
    assertEquals(content.slice(0, 2), [text, image]);
    assertMatch(content[2].text, /^\[waymark map/);
  });

  it("keeps the tool's own error, and says what a shortened read is not", async () => {
    const failure = { isError: true, content: [{ type: "text", text: "EACCES" }] };
    const { content, changed } = await pi(over()).read({ path: "long.ts" }, failure);
    assertEquals(content[0], { type: "text", text: "EACCES" });
    assertMatch(
      content[1].text,
      /shortened to lines 1-200 and failed; the same call \(offset: 1, limit: 2000\) once more/,
    );
    assertEquals("isError" in changed, false);
    assertEquals((await pi(over()).read({ path: "gone.ts", limit: 5 }, failure)).changed, undefined);
  });

  it("refers to nothing before it has seen a request, nor to what is in none", async () => {
    const { read, request } = pi(over());
    await read({ path: "short.ts" }); // before any request: it may be nowhere
    await request();
    assertEquals((await read({ path: "short.ts" })).changed, undefined);
    await request();
    const shown = ({ toolCallId, content }: Json) => ({ role: "toolResult", toolCallId, content });
    const first = await read({ path: "short.ts" });
    await request(shown(first));
    const second = await read({ path: "short.ts" }, { structuredContent: "s" });
    assertMatch(second.content[0].text, /^\[waymark reference: short\.ts lines 1-120 of 120 are unchanged/);
    assertEquals(second.changed, { content: [second.content[0]], structuredContent: "s" });
    await request(shown(second));
    assertEquals((await read({ path: "short.ts" })).changed, undefined);
  });

  it("keeps no conversation where none is wanted, and the one it is given", async () => {
    const none = pi(over(), { session: false }), session = createSession(), given = pi(over(), { session });
    for (const { read, request } of [none, given]) {
      await request();
      const { toolCallId, content } = await read({ path: "short.ts" });
      await request({ role: "toolResult", toolCallId, content });
      await read({ path: "short.ts" });
    }
    assertEquals([session.turn, session.coverage("/project/short.ts")?.whole], [2, true]);
    assertEquals((await none.read({ path: "short.ts" })).changed, undefined);
    assertMatch((await given.read({ path: "short.ts", limit: 100 })).content[0].text, /^\[waymark reference/);
  });

  it("keeps conversations apart, and lets one that forks begin with what was there", async () => {
    const { read, emit } = pi(over()), of = (id: string) => ({ sessionManager: { getSessionId: () => id } });
    await emit("context_with_system", { messages: [] }, of("one"));
    const { toolCallId, content } = await read({ path: "short.ts" }, { context: of("one") });
    const messages = [{ role: "toolResult", toolCallId, content }];
    await emit("session_before_fork", {}, of("one"));
    await emit("session_start", { reason: "fork" }, of("two"));
    await emit("session_before_fork", {}, of("one")); // and no fork came of it
    await emit("session_start", { reason: "new" }, of("three"));
    await emit("session_start", { reason: "fork" }, of("four")); // of what is not known
    const read2 = async (id: string) => {
      await emit("context_with_system", { messages }, of(id));
      return (await read({ path: "short.ts" }, { context: of(id) })).content[0].text.slice(0, 18);
    };
    const seen = await Promise.all(["one", "two", "three", "four"].map(read2));
    assertEquals(seen.map((text) => text === "[waymark reference"), [true, true, false, false]);
  });

  it("passes on the caller's abort and folder, and drops what has no result", async () => {
    const { signal } = new AbortController(), calls: Json[] = [];
    let open = 0;
    const middleware: Middleware = async (call, next) => {
      calls.push(call), open++;
      return await next(call).finally(() => open--);
    };
    const { emit } = pi({ middleware });
    await emit("tool_call", { toolName: "read", toolCallId: "1", input: { path: "a.ts" } }, { signal });
    assertEquals([calls[0].signal === signal, calls[0].cwd, calls[0].tool, open], [true, "/project", "read", 1]);
    emit("tool_execution_end", { toolCallId: "1" });
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(open, 0);
  });

  it("never throws into pi, whatever is broken", async () => {
    const errors: unknown[] = [],
      broken = (): never => {
        throw new Error("broken");
      };
    const options = {
      onError: (error: unknown) => errors.push(error),
      digests: broken,
      compactor: { noteRequestSent: broken },
    };
    const { read, request, emit } = pi({ middleware: broken }, options);
    assertEquals((await read({ path: "short.ts" })).changed, undefined);
    await request(...[new Proxy({}, { ownKeys: broken, get: broken })]);
    await emit("before_provider_request", { payload: {} });
    const context = { sessionManager: { getSessionId: broken } };
    assertEquals((await read({ path: "short.ts" }, { context })).changed, undefined);
    await emit("session_before_fork", {}, context);
    await emit("session_start", { reason: "fork" }, context);
    await emit("context_with_system", { messages: [] }, context);
    assert(errors.length >= 6);
  });

  it("gives the map all the same where who takes results for digests is broken", async () => {
    const digests = {
      accept: () => {
        throw new Error("broken");
      },
    };
    assertMatch((await pi(over(), { digests }).read({ path: "long.ts" })).content[1].text, /^\[waymark map/);
  });

  it("hands on every result that the model sees as it came, by its conversation", async () => {
    const taken: Json[] = [], asked: string[] = [];
    const digests = (id: string) => (asked.push(id), { accept: (result: Json) => void taken.push(result) });
    const { read, request } = pi(over(), { digests });
    await request();
    const first = await read({ path: "short.ts" });
    await read({ command: "ls" }, { toolName: "bash", content: [{ type: "text", text: "a" }] });
    await read({ path: "short.ts" }, { toolCallId: "x/1", parentToolCallId: "x" });
    await request({ role: "toolResult", toolCallId: first.toolCallId, content: first.content });
    await read({ path: "short.ts" }); // a reference
    assertEquals(taken.map(({ tool, topLevel, callId }) => [tool, topLevel, callId]), [
      ["read", true, "call_1"],
      ["bash", true, "call_2"],
    ]);
    assertEquals([taken[0].result, taken[0].args, asked], [first.content, { path: "short.ts" }, ["one", "one"]]);
  });

  it("tells digests of the Waymark's own that a read is the agent's", async () => {
    const levels: unknown[] = [];
    const middleware: Middleware = (call, next) => (levels.push(call.topLevel), next(call));
    await pi(over(FILES, { toolUse: { middleware } })).read({ path: "short.ts" });
    assertEquals(levels, [true]);
  });

  it("notes requests only where a compactor is given", async () => {
    const noted: Json[] = [], payload = { model: "m", tools: [], messages: [] };
    const { emit } = pi(over(), { compactor: { noteRequestSent: (request) => void noted.push(request) } });
    await emit("before_provider_request", { payload });
    assertEquals(noted, [payload]);
    assertEquals(pi(over()).handlers.has("before_provider_request"), false);
  });

  it("offers summarize_file, unless it is not wanted or not there", async () => {
    const { tools: [tool, ...rest] } = pi(over());
    assertEquals([tool.name, tool.label, rest.length], ["summarize_file", "summarize_file", 0]);
    assertEquals(tool.parameters.required, ["path"]);
    const { content } = await tool.execute("1", { path: "long.ts" }, undefined, undefined, { cwd: "/project" });
    assertMatch(content[0].text, /^\[waymark map: 300 lines, none are shown here\]/);
    await assertRejects(
      () => tool.execute("1", { path: "gone.ts" }, undefined, undefined, { cwd: "/project" }),
      Error,
      "gone.ts",
    );
    assertEquals(pi(over(), { summarizeFile: false }).tools, []);
    assertEquals(pi({ middleware: over().middleware }).tools, []);
  });
});

describe("opencodeHooks()", () => {
  const SESSION = "ses_1";

  /** opencode's frame around the lines of a file. */
  function framed(
    path: string,
    args: Json,
    last = "(Showing lines 1-200 of 300. Use offset=201 to continue.)",
  ): string {
    const { offset = 1 } = args, text = lines(path, args).replace(/\n$/, "");
    const numbered = text.split("\n").map((line, at) => `${offset + at}: ${line}`);
    return `<path>${path}</path>\n<type>file</type>\n<content>\n${numbered.join("\n")}\n\n${last}\n</content>`;
  }

  /** A call from its hook to its hook: the arguments the tool got, and the output the model gets. */
  async function read(hooks: OpencodeHooks, args: Json, given: Json = {}) {
    const call = { tool: "read", sessionID: SESSION, callID: "call_1", ...given.call };
    await hooks["tool.execute.before"](call, { args });
    const output = given.output ??
      { title: "t", output: framed(args.filePath, args), metadata: { kept: 1 } };
    await hooks["tool.execute.after"]({ ...call, args }, output);
    return output;
  }

  function request(hooks: OpencodeHooks, ...parts: Json[]) {
    const messages = [{ info: { sessionID: SESSION, role: "assistant" }, parts }];
    return hooks["experimental.chat.messages.transform"]({}, { messages });
  }

  const done = (callID: string, output: string, time: Json = {}): Json => ({
    type: "tool",
    callID,
    tool: "read",
    state: { status: "completed", input: { filePath: "/project/short.ts" }, output, time },
  });

  it("changes the very arguments and the very output, and nothing else of it", async () => {
    const args = { filePath: "/project/long.ts" }, output = await read(opencodeHooks(over()), args);
    assertEquals(args, { filePath: "/project/long.ts", limit: 200 } as Json);
    const frame = framed("/project/long.ts", { limit: 200 });
    assert(output.output.startsWith(`${frame}\n\n[waymark map: PARTIAL, lines 1-200 of 300 are shown`));
    assertEquals([output.title, output.metadata], ["t", { kept: 1 }]);
  });

  it("leaves short reads, other tools and the calls of scripts as they are", async () => {
    const hooks = opencodeHooks(over());
    for (
      const [args, call] of [[{ filePath: "/project/long.ts", limit: 20 }, {}], [{ filePath: "/project/long.ts" }, {
        tool: "x",
      }]]
    ) {
      const before = { ...args }, { output } = await read(hooks, args, { call });
      assertEquals([args, output], [before, framed("/project/long.ts", before)]);
    }
    const args = { filePath: "/project/long.ts" };
    await read(hooks, args, { call: { callID: "call_1/2" } });
    assertEquals(args, { filePath: "/project/long.ts" });
  });

  it("finds relative paths in the folder it is given", async () => {
    const output = { title: "", output: framed("/project/long.ts", { limit: 200 }), metadata: {} };
    await read(opencodeHooks(over(), { directory: "/project" }), { filePath: "long.ts" }, { output });
    assertMatch(output.output, /lines 1-200 of 300 are shown/);
  });

  it("takes only the lines of the file for such, whatever stands behind them", async () => {
    const session = createSession(), hooks = opencodeHooks(over(), { session });
    await request(hooks);
    const reminder = `\n\n<system-reminder>\n${"201: no line\n".repeat(500)}</system-reminder>`;
    const output = { title: "", output: framed("/project/long.ts", { limit: 200 }) + reminder, metadata: {} };
    await read(hooks, { filePath: "/project/long.ts" }, { output });
    assertMatch(output.output, /<\/system-reminder>\n\n\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
    assertEquals(session.coverage("/project/long.ts")?.seen, [{ start: 1, end: 200 }]);
  });

  it("takes a text without opencode's frame as a read tool of a plugin gives it", async () => {
    for (
      const text of [
        code(200),
        code(200).split("\n").slice(0, 200).map((line, at) => `${at + 1}\t${line}`).join("\n"),
      ]
    ) {
      const output = { title: "", output: text, metadata: {} };
      await read(opencodeHooks(over()), { filePath: "/project/long.ts" }, { output });
      assertMatch(output.output, /lines 1-200 of 300 are shown/);
    }
  });

  it("says what is not known where opencode shows no line", async () => {
    const output = { title: "", output: framed("/project/long.ts", { offset: 9999 }, "(End of file)"), metadata: {} };
    await read(opencodeHooks(over()), { filePath: "/project/long.ts" }, { output });
    assertMatch(output.output, /\[waymark notice: no map, at most lines 1-200 were read|was not checked\]/);
  });

  it("leaves attachments without a text alone", async () => {
    const output = {
      title: "",
      output: "",
      metadata: {},
      attachments: [{ type: "file", mime: "image/png", url: "data:" }],
    };
    await read(opencodeHooks(over()), { filePath: "/project/long.ts" }, { output });
    assertEquals(output.output, "");
  });

  describe("with a tool that comes by MCP", () => {
    const options = { dialect: dialects.mcpFilesystem, tools: ["files_read_text_file"] };
    const call = { tool: "files_read_text_file" };

    it("puts the map into its content, and into what repeats it", async () => {
      const text = code(200), image = { type: "image", data: "", mimeType: "image/png" };
      const output: Json = { content: [{ type: "text", text }, image], structuredContent: { content: text } };
      await read(opencodeHooks(over(), options), { path: "/project/long.ts" }, { output, call });
      assertEquals(output.content.slice(0, 2), [{ type: "text", text }, image]);
      assertMatch(output.content[2].text, /^\[waymark map: PARTIAL, lines 1-200 of 300/);
      assertMatch(output.structuredContent.content, /\[waymark map: PARTIAL/);
    });

    it("leaves an image alone, and an error its own", async () => {
      const image: Json = { content: [{ type: "image", data: "", mimeType: "image/png" }] };
      await read(opencodeHooks(over(), options), { path: "/project/long.ts" }, { output: image, call });
      assertEquals(image.content.length, 1);
      const failed: Json = { isError: true, content: [{ type: "text", text: "denied" }] };
      await read(opencodeHooks(over(), options), { path: "/project/long.ts" }, { output: failed, call });
      assertEquals([failed.isError, failed.content[0].text], [true, "denied"]);
      assertMatch(failed.content[1].text, /was shortened to lines 1-200 and failed/);
    });

    it("puts a reference in the place of its content", async () => {
      const hooks = opencodeHooks(over(), options),
        result = (): Json => ({ content: [{ type: "text", text: code(120) }] });
      const output = result();
      await request(hooks);
      await read(hooks, { path: "/project/short.ts" }, { output, call });
      await request(hooks, done("call_1", code(120)));
      const again = result();
      await read(hooks, { path: "/project/short.ts" }, { output: again, call: { ...call, callID: "call_2" } });
      assertEquals(again.content.length, 1);
      assertMatch(again.content[0].text, /^\[waymark reference/);
    });
  });

  it("refers to lines only while a request has them whole", async () => {
    const second = async (...parts: Json[]) => {
      const hooks = opencodeHooks(over());
      await request(hooks);
      const { output } = await read(hooks, { filePath: "/project/short.ts" });
      await request(hooks, ...parts.map((part) => typeof part === "function" ? part(output) : part));
      const again = await read(hooks, { filePath: "/project/short.ts" }, { call: { callID: "call_2" } });
      return again.output.slice(0, 18) === "[waymark reference";
    };
    assertEquals(await second((output: string) => done("call_1", output)), true);
    assertEquals(await second(), false);
    assertEquals(await second((output: string) => done("call_1", output, { compacted: 1 })), false);
    assertEquals(await second((output: string) => done("call_1", output.slice(0, 500))), false);
    assertEquals(await second((output: string) => ({ ...done("call_1", output), type: "text" })), false);
    assertEquals(await second((output: string) => done("call_9", output)), false);
  });

  it("refers to nothing that a plugin behind it takes out of the request", async () => {
    const args = { filePath: "/project/short.ts" }, blank = (part: Json) => part.state.output = "[pruned]";
    const broken = (part: Json) => Object.defineProperty(part, "state", { get: () => assert(false, "broken") });
    for (const change of [blank, broken]) {
      const hooks = opencodeHooks(over()), { output } = (await request(hooks), await read(hooks, { ...args }));
      const part = done("call_1", output);
      await request(hooks, part);
      change(part);
      const again = await read(hooks, { ...args }, { call: { callID: "call_2" } });
      assertEquals(again.output, output);
      await request(hooks, done("call_2", output));
      const last = await read(hooks, { ...args }, { call: { callID: "call_3" } });
      assertMatch(last.output, /^\[waymark reference/);
    }
  });

  it("refers to nothing of a message that is left out of requests", async () => {
    for (const [name, isThere] of [["APIError", false], ["MessageAbortedError", true]] as const) {
      const hooks = opencodeHooks(over());
      await request(hooks);
      const { output } = await read(hooks, { filePath: "/project/short.ts" });
      const info = { sessionID: SESSION, error: { name } };
      await hooks["experimental.chat.messages.transform"]({}, {
        messages: [{ info, parts: [done("call_1", output)] }, { info: { sessionID: SESSION }, parts: [] }],
      });
      const again = await read(hooks, { filePath: "/project/short.ts" }, { call: { callID: "call_2" } });
      assertEquals(again.output.startsWith("[waymark reference"), isThere);
    }
  });

  it("keeps conversations apart, and forgets one that is gone", async () => {
    const hooks = opencodeHooks(over());
    await request(hooks);
    const { output } = await read(hooks, { filePath: "/project/short.ts" });
    await request(hooks, done("call_1", output));
    const elsewhere = { sessionID: "ses_2", callID: "call_2" };
    assertEquals((await read(hooks, { filePath: "/project/short.ts" }, { call: elsewhere })).output, output);
    await hooks.event({ event: { type: "session.deleted", properties: { info: { id: SESSION } } } });
    await request(hooks, done("call_1", output));
    const again = await read(hooks, { filePath: "/project/short.ts" }, { call: { callID: "call_3" } });
    assertEquals(again.output, output);
  });

  describe("after a call that failed", () => {
    const failed = (error: string): Json => ({
      type: "tool",
      callID: "call_1",
      tool: "read",
      state: { status: "error", error },
    });

    /** A shortened read that failed so, and the request that follows: its words there. */
    async function told(hooks: OpencodeHooks, error: string): Promise<string> {
      await hooks["tool.execute.before"]({ tool: "read", sessionID: SESSION, callID: "call_1" }, {
        args: { filePath: "/project/long.ts" },
      });
      const part = failed(error);
      await request(hooks, part);
      return part.state.error;
    }

    it("says so in every request that follows, and makes the same read as asked", async () => {
      const hooks = opencodeHooks(over()), text = await told(hooks, "EIO");
      assertMatch(text, /^EIO\n\n\[waymark notice: no map, at most lines 1-200 were read/);
      const part = failed("EIO");
      for (let again = 0; again < 2; again++) await request(hooks, part); // the very message, or one made anew
      assertEquals(part.state.error, text);
      const args = { filePath: "/project/long.ts" };
      await read(hooks, args, { call: { callID: "call_2" } });
      assertEquals(args, { filePath: "/project/long.ts" });
    });

    it("takes the failure for no fault of its own", async () => {
      const errors: unknown[] = [], hooks = opencodeHooks(over(), { onError: (error) => void errors.push(error) });
      assertMatch(await told(hooks, "File not found"), /\[waymark notice/);
      assertEquals(errors, []);
    });

    it("says nothing where the call was not made", async () => {
      for (
        const words of [
          "The user rejected permission to use this specific tool call.",
          "The user has specified a rule which prevents you from using this specific tool call.",
          "Tool execution aborted",
          "The call was cancelled",
          "Tool execution was interrupted",
        ]
      ) assertEquals(await told(opencodeHooks(over()), words), words);
    });

    it("says nothing of a call of another conversation, nor of one that is nowhere", async () => {
      const hooks = opencodeHooks(over()), call = { tool: "read", sessionID: "ses_2", callID: "call_1" };
      await hooks["tool.execute.before"](call, { args: { filePath: "/project/long.ts" } });
      const part = failed("EIO");
      await request(hooks, part);
      assertEquals(part.state.error, "EIO");
      await hooks["experimental.chat.messages.transform"]({}, {
        messages: [{ info: { sessionID: "ses_2" }, parts: [] }],
      });
      const output = { title: "", output: "late", metadata: {} };
      await hooks["tool.execute.after"]({ ...call, args: {} }, output);
      assertEquals(output.output, "late");
    });
  });

  it("lets a read go on as asked when its conversation is at rest", async () => {
    const signals: AbortSignal[] = [];
    const middleware: Middleware = (call) => (signals.push(call.signal!), new Promise(() => {}));
    const hooks = opencodeHooks({ middleware }), args = { filePath: "/project/long.ts" };
    const begun = hooks["tool.execute.before"]({ tool: "read", sessionID: SESSION, callID: "call_1" }, { args });
    await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } });
    assertEquals(signals.map(({ aborted }) => aborted), [false]);
    await hooks.event({ event: { type: "session.idle", properties: { sessionID: SESSION } } });
    await begun;
    assertEquals([args, signals[0]!.aborted], [{ filePath: "/project/long.ts" }, true]);
  });

  it("hands on results for digests, and says whose they are as far as it is known", async () => {
    const taken: Json[] = [], digests = { accept: (result: Json) => void taken.push(result) };
    const hooks = opencodeHooks(over(), { digests });
    const tell = (type: string, info: Json) => hooks.event({ event: { type, properties: { info } } });
    await tell("session.created", { id: "main" });
    await tell("session.updated", { id: "sub", parentID: "main" });
    await tell("message.updated", { id: "other", sessionID: "other" });
    for (const sessionID of ["main", "sub", "other"]) {
      const output = { title: "", output: sessionID, metadata: {} };
      await read(hooks, { command: "ls" }, { call: { tool: "bash", sessionID }, output });
    }
    await tell("session.deleted", { id: "main" });
    await read(hooks, {}, { call: { tool: "bash", sessionID: "main" }, output: { content: [] } });
    assertEquals(taken.map(({ result, topLevel }) => [result, topLevel]), [
      ["main", true],
      ["sub", false],
      ["other", undefined],
      [[], undefined],
    ]);
    assertEquals(taken[0].args, { command: "ls" });
    const nested = { tool: "bash", sessionID: "main", callID: "call_1/2" };
    await read(hooks, {}, { call: nested, output: { title: "", output: "of a script", metadata: {} } });
    assertEquals(taken.length, 4, "what a script is given the model does not see");
  });

  it("tells digests of the Waymark's own whose a read is, as far as it is known", async () => {
    const levels: unknown[] = [];
    const middleware: Middleware = (call, next) => (levels.push(call.topLevel), next(call));
    const hooks = opencodeHooks(over(FILES, { toolUse: { middleware } }));
    for (const info of [{ id: "main" }, { id: "sub", parentID: "main" }]) {
      await hooks.event({ event: { type: "session.created", properties: { info } } });
    }
    for (const sessionID of ["main", "sub", "other"]) {
      await read(hooks, { filePath: "/project/short.ts" }, { call: { sessionID } });
    }
    assertEquals(levels, [true, false, undefined]);
  });

  it("remembers a bounded number of calls, words and conversations", async () => {
    const hooks = opencodeHooks(over(), { session: false });
    for (let at = 0; at < 3000; at++) {
      await hooks.event({ event: { type: "session.created", properties: { info: { id: `ses_${at}` } } } });
      await hooks["tool.execute.before"]({ tool: "read", sessionID: SESSION, callID: `call_${at}` }, {
        args: { filePath: "/project/short.ts" },
      });
    }
    const late = await read(hooks, { filePath: "/project/long.ts" }, { call: { callID: "call_x" } });
    assertMatch(late.output, /\[waymark map/);
  });

  it("never throws into opencode, whatever is broken", async () => {
    const errors: unknown[] = [],
      broken = (): never => {
        throw new Error("broken");
      };
    const hooks = opencodeHooks({ middleware: broken }, { onError: (error) => errors.push(error), digests: broken });
    const trap = new Proxy({}, { get: broken, ownKeys: broken }) as Json;
    await hooks["tool.execute.before"]({ tool: "read", sessionID: "s", callID: "1" }, { args: trap });
    await hooks["tool.execute.before"]({ tool: "read", sessionID: "s", callID: "1" }, { args: undefined });
    await hooks["tool.execute.after"]({ tool: "read", sessionID: "s", callID: "1", args: {} }, trap);
    await hooks["tool.execute.after"]({ tool: "read", sessionID: "s", callID: "1", args: {} }, undefined!);
    await request(hooks, trap, null);
    await hooks["experimental.chat.messages.transform"]({}, { messages: [] });
    await hooks.event({ event: { type: "session.created" } });
    await hooks.event({ event: trap });
    assert(errors.length >= 4);
  });

  describe("summarize_file", () => {
    const field = (kind: string): Json => ({
      kind,
      describe: (text: string) => ({ ...field(kind), text, optional: () => ({ kind, text, isOptional: true }) }),
      optional: () => ({ kind, isOptional: true }),
    });
    const schema = {
      string: () => field("string"),
      number: () => field("number"),
      enum: (of: string[]) => field(of.join("|")),
    };

    it("is offered where opencode's schema is given, with its words", () => {
      const { tool } = opencodeHooks(over(), { schema }),
        { summarize_file: { args, description } = {} as Json } = tool!;
      assertStringIncludes(description, "seven reads");
      assertMatch(args.path.text, /as you would give it to the read tool/);
      assertEquals([args.path.kind, args.action.kind, args.line.kind], [
        "string",
        "summarize|lookup|refresh",
        "number",
      ]);
      assertEquals([args.action.isOptional, args.line.isOptional], [true, true]);
      assertEquals("tool" in opencodeHooks(over()), false);
      assertEquals("tool" in opencodeHooks({ middleware: over().middleware }, { schema }), false);
    });

    /** What it asks leave for. */
    async function asks(path: string, context: Json = {}) {
      const asked: Json[] = [],
        tool = opencodeHooks(over({ ...FILES, "/else/a.ts": code(9), "/project/../else/a.ts": code(9) }), { schema })
          .tool!;
      const { signal: abort } = new AbortController();
      const text = await tool["summarize_file"]!.execute({ path }, {
        abort,
        directory: "/project",
        worktree: "/project",
        ask: (permission: Json) => Promise.resolve(void asked.push(permission)),
        ...context,
      });
      return { text, asked: asked.map(({ permission, patterns }) => [permission, ...patterns]) };
    }

    it("maps a file in the session's folder, with the leave to read it", async () => {
      const { text, asked } = await asks("long.ts");
      assertMatch(text, /^\[waymark map: 300 lines/);
      assertEquals(asked, [["read", "long.ts"]]);
    });

    it("asks leave for a folder outside as well", async () => {
      const outside = [["external_directory", "/else/*"], ["read", "/else/a.ts"]];
      assertEquals((await asks("/else/a.ts")).asked, outside);
      assertEquals((await asks("../else/a.ts")).asked, outside);
      const everywhere = await asks("/else/a.ts", { worktree: "/" }); // a folder that is no project's
      assertEquals(everywhere.asked, [["external_directory", "/else/*"], ["read", "else/a.ts"]]);
    });

    it("maps nothing where leave is refused, and fails as opencode would", async () => {
      const ask = () => Promise.reject(new Error("The user rejected permission"));
      await assertRejects(() => asks("long.ts", { ask }), Error, "rejected permission");
      await assertRejects(() => asks("gone.ts"), Error, "gone.ts");
    });
  });
});
