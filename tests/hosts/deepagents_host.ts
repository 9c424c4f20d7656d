import { describe, it as nodeIt } from "node:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import {
  CompositeBackend,
  createDeepAgent,
  createSummarizationMiddleware,
  FilesystemBackend,
  GENERAL_PURPOSE_SUBAGENT,
  LocalShellBackend,
  StateBackend,
  StoreBackend,
} from "deepagents";
import { createMiddleware, HumanMessage, tool, ToolMessage } from "langchain";
import { createWaymark, dialects } from "@waymark/waymark";
import { backendSource, deepagentsMiddleware, type DeepagentsOptions } from "@waymark/waymark/adapters/langchain";
import { conformance } from "@waymark/waymark/conformance";
import { scriptedModel } from "@waymark/waymark/testing";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import { code, inFolder, put } from "../support.ts";
import { it, results, scripted, type ScriptedCall, ScriptedModel, test, textOf } from "./langchain_agents.ts";

const host = { createMiddleware, ToolMessage };
const go = { messages: [new HumanMessage("go")] };
const thread = (id: string) => ({ configurable: { thread_id: id } });

function call(id: string, args: Record<string, unknown>, name = "read_file"): ScriptedCall {
  return { id, name, args };
}

/** A file as the state keeps it. */
function kept(content: string) {
  return { content, mimeType: "text/plain", created_at: "2026-01-01T00:00:00Z", modified_at: "2026-01-01T00:00:00Z" };
}

interface Setup {
  // deno-lint-ignore no-explicit-any -- any of the host's backends
  readonly backend: any;
  readonly options?: DeepagentsOptions;
  readonly waymark?: ReturnType<typeof createWaymark>;
  // deno-lint-ignore no-explicit-any -- whatever else the host takes
  readonly more?: any;
}

/** A deep agent with the guards over its own backend. */
function guarded(model: ScriptedModel, { backend, options = {}, waymark, more = {} }: Setup) {
  const source = backendSource(backend);
  const guard = deepagentsMiddleware(
    host,
    waymark ?? createWaymark({ cache: false, source, onNotice: () => {} }),
    options,
  );
  const { middleware = [], ...rest } = more;
  return createDeepAgent({ model, backend, middleware: [...middleware, guard], ...rest });
}

conformance(test, {
  name: "deepagents 1.14.1",
  dialect: dialects.deepagents,
  cannot: {
    "an image is shown as it is, alone or beside long text": "deepagents makes the blocks; a backend gives one file",
    "text in several blocks keeps its order and every block": "deepagents makes the blocks; a backend gives one text",
    "a short read is the tool's text, and nothing besides": "deepagents puts a line of its own before the text",
    "blanks and empty lines at the ends: shown as they are, in a short read and in a long one":
      "deepagents drops the line end behind the last line",
    "the abort of a turn reaches the tool, which is not asked again": "deepagents gives a backend no signal",
  },
  open({ waymark, root, session, tool: read }) {
    const turns: (readonly ScriptedCall[])[] = [];
    const model = new ScriptedModel(() => turns.shift() ?? "done");
    const options = { files: "disk", session: session ?? false } as const;
    const more = { checkpointer: new MemorySaver() };
    // The tool is deepagents' own; what it reads is a backend's, which is anybody's.
    const backend = Object.assign(new FilesystemBackend({ rootDir: root }), {
      async read(file_path: string, offset: number, limit: number) {
        try {
          return { content: await read({ file_path, offset, limit }, {}), mimeType: "text/plain" };
        } catch (error) {
          return { error: String(error) };
        }
      },
    });
    const agent = waymark
      ? guarded(model, { backend, options, waymark, more })
      : createDeepAgent({ model, backend, ...more });
    return Promise.resolve({
      async turn(calls, { signal } = {}) {
        turns.push(calls.map(({ args, callId }) => call(callId, args)));
        await agent.invoke(go, { ...thread("T"), ...signal && { signal } });
        const all = results(model);
        return calls.map(({ callId }) => {
          // deepagents shows the model the stack of what it refuses itself, with whoever called it.
          const message = all.get(callId), text = textOf(message).replace(/^ {4}at .*\n/gm, "");
          return { text, failed: message?.status === "error" || text.startsWith("Error:") };
        });
      },
      close: () => Promise.resolve(),
    });
  },
});

describe("a deep agent", () => {
  it("sees 200 lines of a longer read and the map, beside deepagents' own header", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), backend = new FilesystemBackend({ rootDir: folder });
      const model = scripted([call("a", { file_path: path, limit: 1000 })], [
        call("b", { file_path: path, offset: 200, limit: 200 }),
      ]);
      await guarded(model, { backend }).invoke(go);
      const [text, map] = (results(model).get("a")?.content ?? []) as { type: string; text: string }[];
      assertMatch(text?.text ?? "", /^@@ lines 1-200 of 300 \| next offset 200 @@\n/);
      assertEquals(text?.text.split("\n").length, 201);
      assertStringIncludes(map?.text ?? "", "PARTIAL, lines 1-200 of 300");
      assertStringIncludes(map?.text ?? "", "offset: 200, limit: 100");
      assertMatch(textOf(results(model).get("b")), /^@@ lines 201-300 of 300 @@\n/);
    }));

  it("sees what deepagents gives where it asks for no more: 100 lines where no limit is given, and pictures", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), backend = new FilesystemBackend({ rootDir: folder });
      const picture = put(folder, "dot.png", new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]));
      const calls = [
        call("a", { file_path: path }),
        call("p", { file_path: picture, limit: 1000 }),
        call("m", { file_path: `${path}x`, limit: 1000 }),
        call("e", { file_path: put(folder, "empty.ts", ""), limit: 1000 }),
        call("o", { file_path: path, offset: 900, limit: 1000 }),
        call("n", { file_path: path, offset: -3, limit: 150 }),
      ];
      const bare = scripted(calls), model = scripted(calls);
      await createDeepAgent({ model: bare, backend }).invoke(go);
      await guarded(model, { backend }).invoke(go);
      const shown = (of: ScriptedModel) => [...results(of)].map(([id, { content, status }]) => [id, content, status]);
      assertEquals(shown(model), shown(bare));
      assertMatch(textOf(results(model).get("m")), /^Error:/);
      assertEquals(shown(model).length, calls.length);
    }));

  it("has a read tool of deepagents' own: nothing is said, whatever other tools it has", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), backend = new FilesystemBackend({ rootDir: folder });
      const said: string[] = [];
      const source = backendSource(backend), onNotice = ({ message }: { message: string }) => said.push(message);
      const open = tool(() => code(300), {
        name: "open_file",
        description: "opens",
        schema: { type: "object", properties: {}, additionalProperties: true },
      });
      const turns = ["a", "b"].map((id) => [call(id, { file_path: path }, "open_file")]);
      const waymark = createWaymark({ cache: false, source, onNotice });
      await guarded(scripted(...turns), { backend, waymark, more: { tools: [open] } }).invoke(go);
      assertEquals(said, []);
    }));

  it("is told of lines it has in one line, in blocks like those of the tool", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(80)), backend = new FilesystemBackend({ rootDir: folder });
      const model = scripted([call("a", { file_path: path })], [call("b", { file_path: path })], [
        call("c", { file_path: path }),
      ]);
      await guarded(model, { backend }).invoke(go);
      const all = results(model), blocks = all.get("b")?.content as { type: string; text: string }[];
      assertEquals(blocks.map(({ type }) => type), ["text"]);
      assertMatch(blocks[0]!.text, /^\[waymark reference: .*short\.ts lines 1-80 of 80 are unchanged since turn 1/);
      assertEquals([all.get("b")?.name, all.get("b")?.tool_call_id], ["read_file", "b"]);
      assertMatch(textOf(all.get("c")), /^@@ lines 1-80 of 80 @@\n/);
    }));

  it("lives with a tool of its own that throws, which ends the run of any deep agent", async () => {
    const fail = tool(() => {
      throw new TypeError("boom");
    }, { name: "fetch", description: "fetches", schema: { type: "object", properties: {} } });
    const calls = [call("a", {}, "fetch")], backend = new StateBackend(), more = { tools: [fail] };
    const bare = createDeepAgent({ model: scripted(calls), backend, ...more });
    await assertRejects(() => bare.invoke(go), Error, "boom");
    const model = scripted(calls);
    await guarded(model, { backend, more }).invoke(go);
    const { content, status } = results(model).get("a")!;
    assertEquals([content, status], ["TypeError: boom\n Please fix your mistakes.", "error"]);
    const strict = guarded(scripted(calls), { backend, more, options: { toolErrors: "throw" } });
    await assertRejects(() => strict.invoke(go), Error, "boom");
  });
});

describe("the files of a deep agent", () => {
  it("are not looked for on this disk unless that is said", () => {
    const waymark = createWaymark({ cache: false });
    const error = assertThrows(() => deepagentsMiddleware(host, waymark), Error, "backendSource(backend)");
    assertEquals((error as { code?: string }).code, "invalid-option");
    deepagentsMiddleware(host, waymark, { files: "disk" });
  });

  it("get no map of an unrelated file that is on this disk under the same path, even where that was said", () =>
    inFolder(async (folder) => {
      const other = code(400).replaceAll("function f", "function other");
      const path = put(folder, "x.ts", other), own = code(300);
      const waymark = createWaymark({ cache: false, onNotice: () => {} });
      const model = scripted([call("a", { file_path: path, limit: 1000 })]);
      const setup = { backend: new StateBackend(), waymark, options: { files: "disk" } } as const;
      await guarded(model, setup).invoke({ ...go, files: { [path]: kept(own) } });
      const text = textOf(results(model).get("a"));
      assertMatch(text, /^@@ lines 1-300 of 300 @@\n/);
      assertStringIncludes(text, "function f300(");
      assertFalse(/other|waymark (?:map|reference)/.test(text));
    }));

  it("are mapped and remembered as they are in the state, whatever this disk has, and edits there are seen", () =>
    inFolder(async (folder) => {
      const path = put(folder, "x.ts", code(300)), own = code(260).replaceAll("function f", "function own");
      const edit = { file_path: path, old_string: "function own7(", new_string: "function renamed(" };
      const model = scripted(
        [call("a", { file_path: path, limit: 1000 })],
        [call("b", { file_path: path, limit: 150 })],
        [call("w", edit, "edit_file")],
        [call("c", { file_path: path, limit: 150 })],
        [call("d", { file_path: path, limit: 1000 })],
      );
      await guarded(model, { backend: new StateBackend() }).invoke({ ...go, files: { [path]: kept(own) } });
      const all = results(model), map = textOf(all.get("a"));
      assertStringIncludes(map, "PARTIAL, lines 1-200 of 260");
      assertStringIncludes(map, "own260");
      assertMatch(textOf(all.get("b")), /^\[waymark reference: /);
      assertStringIncludes(textOf(all.get("c")), "function renamed(");
      assertStringIncludes(textOf(all.get("d")), "PARTIAL, lines 1-200 of 260");
      assertEquals(readFileSync(path, "utf8"), code(300));
    }));

  it("are not called unchanged where a sandbox changes its copy of what is on this disk", () =>
    inFolder(async (folder) => {
      const path = put(folder, "x.ts", code(60));
      const model = scripted(
        [call("a", { file_path: path })],
        [call("w", { file_path: path, old_string: "return a + 7;", new_string: "return 7;" }, "edit_file")],
        [call("b", { file_path: path })],
      );
      await guarded(model, { backend: new StateBackend() }).invoke({ ...go, files: { [path]: kept(code(60)) } });
      assertStringIncludes(textOf(results(model).get("b")), "return 7;");
    }));

  it("are never called unchanged by a relative name, though the working directory has such a file too", () =>
    inFolder(async (folder) => {
      const before = process.cwd(),
        here = put(folder, "here/a.ts", code(60)),
        there = put(folder, "there/a.ts", code(60));
      const edit = { file_path: "a.ts", old_string: "return a + 7;", new_string: "return 7;" };
      const turns = ["a", "b"].map((id) => [call(id, { file_path: "a.ts" })]);
      const model = scripted(turns[0]!, [call("w", edit, "edit_file")], turns[1]!);
      process.chdir(dirname(here));
      try {
        await guarded(model, { backend: new FilesystemBackend({ rootDir: dirname(there) }) }).invoke(go);
      } finally {
        process.chdir(before);
      }
      assertStringIncludes(readFileSync(there, "utf8"), "return 7;");
      assertStringIncludes(textOf(results(model).get("b")), "return 7;");
    }));

  const skip = process.platform === "win32" ? "Windows has no such files" : false;
  nodeIt(
    "that are pipes are refused at once, as deepagents refuses them, and nobody waits for a writer",
    { skip },
    () =>
      inFolder(async (folder) => {
        execFileSync("mkfifo", [join(folder, "pipe.ts")]);
        const backend = new FilesystemBackend({ rootDir: folder, virtualMode: true }), late = new AbortController();
        const model = scripted([call("a", { file_path: "/pipe.ts", limit: 400 })]);
        const done = guarded(model, { backend }).invoke(go, { signal: AbortSignal.any([late.signal]) });
        const timer = setTimeout(() => late.abort(new Error("a pipe was opened")), 20_000);
        await done.finally(() => clearTimeout(timer));
        assertEquals(textOf(results(model).get("a")), "Error: File '/pipe.ts' not found");
      }),
  );

  // deno-lint-ignore no-explicit-any -- any of the host's backends
  const backends: readonly [what: string, make: (folder: string) => { backend: any; path: string; more?: object }][] = [
    [
      "a folder of this disk",
      (folder) => ({ backend: new FilesystemBackend({ rootDir: folder }), path: put(folder, "a.ts", TEXT) }),
    ],
    ["a folder under other paths", (folder) => {
      put(folder, "a.ts", TEXT);
      return { backend: new FilesystemBackend({ rootDir: folder, virtualMode: true }), path: "/a.ts" };
    }],
    ["a shell", (folder) => ({ backend: new LocalShellBackend({ rootDir: folder }), path: put(folder, "a.ts", TEXT) })],
    ["a store", () => {
      const store = new InMemoryStore();
      store.put(["files"], "/a.ts", kept(TEXT));
      return { backend: new StoreBackend({ namespace: ["files"], store }), path: "/a.ts", more: { store } };
    }],
    ["a folder mounted into another backend", (folder) => {
      put(folder, "a.ts", TEXT);
      const mounted = new FilesystemBackend({ rootDir: folder, virtualMode: true });
      return { backend: new CompositeBackend(new StateBackend(), { "/src/": mounted }), path: "/src/a.ts" };
    }],
    ["a backend of somebody's own, which gives bytes alone", (folder) => {
      put(folder, "a.ts", TEXT);
      const inner = new FilesystemBackend({ rootDir: folder, virtualMode: true });
      const own = Object.create(inner, { readRaw: { value: undefined } });
      return { backend: own, path: "/a.ts" };
    }],
  ];
  const TEXT = code(300);
  for (const [what, makeBackend] of backends) {
    it(`are read from ${what}: the map fits, and what was shown is known`, () =>
      inFolder(async (folder) => {
        const { backend, path, more } = makeBackend(folder);
        const model = scripted([call("a", { file_path: path, limit: 400 })], [
          call("b", { file_path: path, limit: 120 }),
        ]);
        await guarded(model, { backend, more }).invoke(go);
        const all = results(model);
        assertStringIncludes(textOf(all.get("a")), "PARTIAL, lines 1-200 of 300");
        assertMatch(textOf(all.get("b")), /^\[waymark reference: /);
      }));
  }

  it("are mapped by summarize_file from where they are", async () => {
    const backend = new StateBackend(), waymark = createWaymark({ cache: false, source: backendSource(backend) });
    const guard = deepagentsMiddleware({ ...host, tool }, waymark);
    const model = scripted([call("s", { path: "/only/here.ts" }, "summarize_file")]);
    await createDeepAgent({ model, backend, middleware: [guard] })
      .invoke({ ...go, files: { "/only/here.ts": kept(code(300)) } });
    assertStringIncludes(textOf(results(model).get("s")), "[waymark map: 300 lines");
  });
});

describe("a sub-agent of a deep agent", () => {
  const task = (id: string, description: string, subagent_type = "general-purpose") =>
    call(id, { description, subagent_type }, "task");

  /** A main agent with these turns, and sub-agents that read a file and are done. */
  function team(path: string, ...main: (readonly ScriptedCall[])[]): ScriptedModel {
    return new ScriptedModel((messages) => {
      const last = messages.filter(({ type }) => type === "human").at(-1), words = String(last?.content);
      if (!words.includes("read as")) return main.shift() ?? "done";
      const [, id = ""] = /read as (\w+)/.exec(words) ?? [];
      const isRead = messages.some(({ type, tool_call_id }) => type === "tool" && tool_call_id === id);
      return isRead ? `read ${id}` : [call(id, { file_path: path })];
    });
  }
  /** What a sub-agent was shown of its call. */
  const shownTo = ({ requests }: ScriptedModel, id: string) =>
    textOf(requests.flat().find(({ tool_call_id }) => tool_call_id === id));

  for (const mode of ["with threads", "without"]) {
    it(`has a conversation of its own, also beside another at once, ${mode}`, () =>
      inFolder(async (folder) => {
        const path = put(folder, "a.ts", code(60)), backend = new FilesystemBackend({ rootDir: folder });
        const waymark = createWaymark({ cache: false, source: backendSource(backend) });
        const guard = deepagentsMiddleware(host, waymark);
        const model = team(
          path,
          [call("a", { file_path: path })],
          [task("t1", "read as s1"), task("t2", "read as s2")],
          [
            call("b", { file_path: path }),
          ],
        );
        const threaded = mode === "with threads";
        const agent = createDeepAgent({
          model,
          backend,
          middleware: [guard],
          subagents: [{ ...GENERAL_PURPOSE_SUBAGENT, middleware: [guard] }],
          ...threaded && { checkpointer: new MemorySaver() },
        });
        await agent.invoke(go, threaded ? thread("T") : {});
        assertStringIncludes(shownTo(model, "s1"), "function f60(");
        assertStringIncludes(shownTo(model, "s2"), "function f60(");
        assertMatch(shownTo(model, "b"), /^\[waymark reference: .* since turn 1/);
      }));
  }

  it("that goes on with the whole conversation begins with nothing known, and leaves its parent's alone", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(60)), backend = new FilesystemBackend({ rootDir: folder });
      const model = team(path, [call("a", { file_path: path })], [task("t1", "read as s1", "twin")], [
        call("b", { file_path: path }),
      ]);
      const twin = { name: "twin", description: "A twin.", mode: "fork" };
      await guarded(model, { backend, more: { subagents: [twin] } }).invoke(go);
      assertStringIncludes(shownTo(model, "s1"), "function f60(");
      assertMatch(shownTo(model, "b"), /^\[waymark reference: /);
    }));

  it("is guarded where the middleware stands in its own list", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(60)), backend = new FilesystemBackend({ rootDir: folder });
      const waymark = createWaymark({ cache: false, source: backendSource(backend) });
      const twice = new ScriptedModel((messages) => {
        if (!messages.some(({ content }) => content === "read twice")) {
          return messages.some(({ type }) => type === "tool") ? "done" : [task("t", "read twice", "reader")];
        }
        const reads = messages.filter(({ type }) => type === "tool").length;
        return reads === 2 ? "read" : [call(`r${reads}`, { file_path: path })];
      });
      const reader = {
        name: "reader",
        description: "Reads.",
        systemPrompt: "Read.",
        middleware: [deepagentsMiddleware(host, waymark)],
      };
      await createDeepAgent({ model: twice, backend, subagents: [reader] }).invoke(go);
      assertStringIncludes(shownTo(twice, "r0"), "function f60(");
      assertMatch(shownTo(twice, "r1"), /^\[waymark reference: /);
    }));
});

describe("what deepagents does to its own conversation", () => {
  it("is seen: what its summary took away is shown again", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(60)), backend = new FilesystemBackend({ rootDir: folder });
      const turns = [
        [call("a", { file_path: path })],
        [call("x", { file_path: path, offset: 50, limit: 1 })],
        [call("b", { file_path: path })],
      ];
      // The host asks the agent's own model for the summary.
      const isSummary = (content: unknown) => /extract|summar/i.test(JSON.stringify(content));
      const model = new ScriptedModel((messages) =>
        messages.length === 1 && isSummary(messages[0]?.content) ? "It read a file." : turns.shift() ?? "done"
      );
      const summary = createSummarizationMiddleware({
        model,
        backend,
        trigger: { type: "messages", value: 5 },
        keep: { type: "messages", value: 2 },
      });
      const more = { middleware: [summary], checkpointer: new MemorySaver() };
      await guarded(model, { backend, more }).invoke(go, thread("T"));
      const third = model.requests.find((request) =>
        request.some(({ content }) => JSON.stringify(content)?.includes("It read a file."))
      );
      assert(third, "a summary was made");
      assertFalse(third.some(({ tool_call_id }) => tool_call_id === "a"));
      const shown = model.requests.flat().find(({ tool_call_id }) => tool_call_id === "b");
      assertStringIncludes(textOf(shown), "function f60(");
    }));

  it("is not in the way of digests: large results are seen before deepagents puts them into a file", () =>
    inFolder(async (folder) => {
      const backend = new FilesystemBackend({ rootDir: folder, virtualMode: true });
      const seen: string[] = [], made = scriptedModel(["A long log."]);
      const model = {
        ...made,
        complete: (request: Parameters<typeof made.complete>[0]) => {
          seen.push(JSON.stringify(request.messages));
          return made.complete(request);
        },
      };
      const toolUse = toolUseSummary({ model, session: "s" });
      const waymark = createWaymark({ cache: false, source: backendSource(backend), toolUse });
      const log = tool(() => "FAIL tests/a.ts\n".repeat(10_000), {
        name: "log",
        description: "logs",
        schema: { type: "object", properties: {} },
      });
      const agent = scripted([call("l", {}, "log")], [call("w", { file_path: "/n.ts", content: "1" }, "write_file")]);
      await guarded(agent, { backend, waymark, more: { tools: [log] } }).invoke(go);
      await toolUse.settled();
      assertStringIncludes(textOf(results(agent).get("l")), "/large_tool_results/");
      assertEquals([...toolUse.summaries().keys()], ["l"]);
      assert(seen.some((sent) => sent.includes("FAIL tests/a.ts") && !sent.includes("large_tool_results")));
      assertEquals(textOf(results(agent).get("w")), "Successfully wrote to '/n.ts'");
      await toolUse.close();
    }));
});
