/**
 * The Anthropic SDK's own tool runner, over a Messages API on loopback that holds threads: what the model is shown in the
 * request after a read.
 *
 * @module
 */

import { describe, it, test } from "node:test";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEquals, assertMatch, assertNotMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import type { BetaToolRunner } from "@anthropic-ai/sdk/lib/tools/BetaToolRunner";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";
import { betaReadTool } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import {
  createSession,
  createWaymark,
  dialects,
  type Session,
  type Waymark,
  type WaymarkEvent,
} from "@waymark/waymark";
import {
  anthropicSummarizeFile,
  anthropicTool,
  anthropicTools,
  followRunner,
} from "@waymark/waymark/adapters/anthropic";
import { createCompactor, type SentRequest } from "@waymark/waymark/compaction";
import { conformance, type ConformanceHost, type ToolResult } from "@waymark/waymark/conformance";
import { scriptedModel } from "@waymark/waymark/testing";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import { z } from "zod";
import {
  calling,
  script,
  shownOf,
  startThreads,
  type Threads,
  type ThreadsOptions,
  type WholeRequest,
} from "../message_threads.ts";
import { message } from "../messages_api.ts";

type Tools = Parameters<Anthropic["beta"]["messages"]["toolRunner"]>[0]["tools"];
type Extra = { thread?: false; stream?: boolean; runToolsEagerly?: boolean; system?: string; max_iterations?: number };

const code = (lines: number): string =>
  Array.from({ length: lines }, (_, index) => `export function f${index + 1}() {}\n`).join("");

/** A project, a server and a client in it; everything is gone afterwards. */
interface Scene {
  readonly root: string;
  readonly api: Threads;
  readonly client: Anthropic;
  readonly session: Session;
  readonly waymark: Waymark;
  readonly events: WaymarkEvent[];
  /** The SDK's own read tool, guarded. */
  readonly read: ReturnType<typeof betaReadTool>;
  put(name: string, content: string): Promise<string>;
  /** A runner over these tools, followed. */
  runner(tools: Tools, extra?: Extra, signal?: AbortSignal): BetaToolRunner<false>;
}

type Setup = Omit<ThreadsOptions, "reply"> & { waymark?: Parameters<typeof createWaymark>[0] };

async function inScene(reply: ThreadsOptions["reply"], run: (scene: Scene) => Promise<void>, setup: Setup = {}) {
  const { waymark: options, ...server } = setup;
  const root = await realpath(await mkdtemp(join(tmpdir(), "waymark-"))), events: WaymarkEvent[] = [];
  const api = await startThreads({ reply, ...server }), session = createSession();
  const onEvent = (event: WaymarkEvent) => void events.push(event);
  const waymark = createWaymark({ root, session, roots: [root], onEvent, onNotice: () => {}, ...options });
  const client = new Anthropic(api.client);
  try {
    await writeFile(join(root, "package.json"), "{}");
    await run({
      root,
      api,
      client,
      session,
      waymark,
      events,
      read: anthropicTool(betaReadTool({ workdir: root }), waymark, { workdir: root }),
      async put(name, content) {
        await writeFile(join(root, name), content);
        return join(root, name);
      },
      runner(tools, extra = {}, signal) {
        const messages = [{ role: "user" as const, content: "What is in long.ts?" }];
        const params = { model: "claude-opus-5-5", max_tokens: 1000, messages, tools, ...extra };
        return followRunner(client.beta.messages.toolRunner(params, { signal }) as BetaToolRunner<false>, { session });
      },
    });
  } finally {
    await waymark.close();
    await api.close();
    await rm(root, { recursive: true, force: true });
  }
}

const read = (id: string, file: string, range?: [number, number]): readonly [string, string, unknown] => [
  "read",
  id,
  range ? { file_path: file, view_range: range } : { file_path: file },
];

const modes: readonly (readonly [name: string, extra: Extra])[] = [
  ["a message thread", {}],
  ["no thread", { thread: false }],
  ["a stream", { stream: true }],
  ["a stream without a thread", { stream: true, thread: false }],
  ["a stream whose tools start early", { stream: true, runToolsEagerly: true }],
];

describe("the tool runner with the SDK's own read tool", () => {
  for (const [name, extra] of modes) {
    it(`shows 200 lines and the map, and then refers back, over ${name}`, () =>
      inScene(
        script(calling(read("call_1", "long.ts")), calling(read("call_2", "long.ts", [1, 50]))),
        async ({ api, put, runner, read, session }) => {
          await put("long.ts", code(300));
          await runner([read], extra);
          const { text, failed } = shownOf(api.requests[1], "call_1");
          assert(!failed && text.startsWith(code(200)), text);
          assertMatch(text, /\[waymark map: PARTIAL, lines 1-200 of 300 [^]*Next lines: view_range: \[201, 300\]/);
          assertMatch(
            shownOf(api.requests[2], "call_2").text,
            /^\[waymark reference: long\.ts lines 1-50 of 300 .* shown then\]$/,
          );
          assertEquals([api.requests.length, session.turn], [3, 3]);
          const isThread = extra.thread !== false;
          assertEquals(
            api.wire.map(({ messages }) => (messages as unknown[]).length),
            isThread ? [1, 1, 1] : [1, 3, 5],
          );
        },
      ));
  }

  it("goes on where the server has no threads", () =>
    inScene(
      script(calling(read("call_1", "long.ts")), calling(read("call_2", "long.ts", [1, 50]))),
      async ({ api, put, runner, read }) => {
        await put("long.ts", code(300));
        await runner([read]);
        assertMatch(shownOf(api.requests[1], "call_1").text, /\[waymark map/);
        assertMatch(shownOf(api.requests[2], "call_2").text, /^\[waymark reference/);
      },
      { threads: false },
    ));

  it("has each of several calls at once answered by its own id, none by another of the same turn", () =>
    inScene(
      script(
        calling(read("call_1", "a.ts"), read("call_2", "b.ts"), read("call_3", "a.ts"), read("call_4", "gone.ts")),
      ),
      async ({ api, put, runner, read }) => {
        await put("a.ts", code(300));
        await put("b.ts", code(400));
        await runner([read]);
        const shown = ["call_1", "call_2", "call_3", "call_4"].map((id) => shownOf(api.requests[1], id));
        assertEquals(shown.map(({ failed }) => failed), [false, false, false, true]);
        assertMatch(shown[0]!.text, /^export function f1\(\)[^]*\[waymark map: PARTIAL, lines 1-200 of 300 /);
        assertMatch(shown[1]!.text, /^export function f1\(\)[^]*\[waymark map: PARTIAL, lines 1-200 of 400 /);
        assertMatch(shown[2]!.text, /^export function f1\(\)/);
      },
    ));

  it("reads to the end from a line on, and gives a short read as it is", () =>
    inScene(
      script(calling(read("call_1", "long.ts", [101, -1]), read("call_2", "long.ts", [299, -1]))),
      async ({ api, put, runner, read }) => {
        const lines = code(500).split("\n");
        await put("long.ts", code(500));
        await runner([read]);
        const long = shownOf(api.requests[1], "call_1").text;
        assert(long.startsWith(`${lines.slice(100, 300).join("\n")}\n`));
        assertStringIncludes(long, "view_range: [301, 500]");
        const { text } = shownOf(api.requests[1], "call_2");
        assert(text.startsWith(`${lines.slice(298, 498).join("\n")}\n`));
      },
    ));

  it("starts a read while the reply still streams, and the reference after it is as exact", () => {
    let started: () => void, isOver = false;
    const begun = new Promise<void>((resolve) => started = resolve);
    return inScene(
      script(
        calling(read("call_1", "long.ts", [1, 100]), read("call_2", "b.ts")),
        calling(read("call_3", "long.ts", [1, 100])),
      ),
      async ({ api, put, runner, root, waymark }) => {
        await put("long.ts", code(300));
        await put("b.ts", "one\n");
        const own = betaReadTool({ workdir: root });
        const spied = { ...own, run: (...given: Parameters<typeof own.run>) => (started(), own.run(...given)) };
        const tool = anthropicTool(spied, waymark, { workdir: root });
        await runner([tool], { stream: true, runToolsEagerly: true });
        assert(isOver);
        assertEquals(shownOf(api.requests[1], "call_1").text, code(100).trimEnd());
        assertMatch(shownOf(api.requests[2], "call_3").text, /^\[waymark reference/);
      },
      { pause: (index) => index === 0 ? begun.then(() => isOver = true) : Promise.resolve() },
    );
  });

  it("gives a script that calls it all of the file, and keeps nothing of it in the conversation", () => {
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
    const call = { type: "tool_use", id: "call_1", name: "read", input: { file_path: "long.ts" }, caller };
    return inScene(script(message([call], "tool_use")), async ({ api, put, runner, read, session }) => {
      await put("long.ts", code(300));
      await runner([read]);
      assertEquals(shownOf(api.requests[1], "call_1").text, code(300));
      assertEquals(session.toJSON().given, []);
    });
  });

  it("refuses what is outside of the folder in its own words, and nothing of it is looked at", () =>
    inScene(script(calling(read("call_1", "../outside.ts"))), async ({ api, root, runner, read, events }) => {
      const outside = join(root, "..", "outside.ts");
      await writeFile(outside, code(300));
      try {
        await runner([read]);
        const { text, failed } = shownOf(api.requests[1], "call_1");
        assertMatch(text, /^path "\.\.\/outside\.ts" is outside/);
        assert(failed);
        assertNotMatch(text, /waymark/);
        assertEquals(events, []);
      } finally {
        await rm(outside);
      }
    }));
});

describe("tools of the caller's own", () => {
  const dialect = dialects.plain, names = ["open"];

  it("get parsed arguments, and a call that does not parse never reaches the guards", () =>
    inScene(
      script(calling(["open", "call_1", { path: "long.ts", limit: "300" }], ["open", "call_2", { path: 7 }])),
      async ({ api, put, root, runner, waymark }) => {
        await put("long.ts", code(300));
        const limits: unknown[] = [];
        const open = betaZodTool({
          name: "open",
          description: "Opens a file.",
          inputSchema: z.object({ path: z.string(), limit: z.coerce.number().optional() }),
          run: ({ path, limit }) => {
            limits.push([path, limit]);
            return code(300).split("\n").slice(0, limit).join("\n");
          },
        });
        await runner(anthropicTools([open], waymark, { dialect, names, workdir: root }));
        assertEquals(limits, [["long.ts", 200]]);
        assertMatch(
          shownOf(api.requests[1], "call_1").text,
          /\[waymark map: PARTIAL[^]*Next lines: offset: 201, limit: 100/,
        );
        assert(shownOf(api.requests[1], "call_2").failed);
        assertEquals(api.requests[0]!.tools, [{
          type: "custom",
          name: "open",
          input_schema: (open as { input_schema?: unknown }).input_schema,
          description: "Opens a file.",
        }]);
      },
    ));

  it("show blocks and images as they are, and their own errors with all that is in them", () => {
    const image = {
      type: "image" as const,
      source: { type: "base64" as const, media_type: "image/png" as const, data: "iVBO" },
    };
    const blocks = [image, { type: "text" as const, text: "a picture" }];
    const given: Record<string, () => string | typeof blocks> = {
      "image.png": () => blocks,
      "broken.ts": () => {
        throw new ToolError(blocks);
      },
      "worse.ts": () => {
        throw new TypeError("no such thing");
      },
      "long.ts": () => code(300),
    };
    return inScene(
      script(calling(...Object.keys(given).map((path, index) => ["open", `call_${index}`, { path }] as const))),
      async ({ api, put, root, runner, waymark }) => {
        for (const name of Object.keys(given)) await put(name, code(300));
        const open = betaTool({
          name: "open",
          description: "Opens a file.",
          inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
          run: ({ path }) => given[path]!(),
        });
        await runner([anthropicTool(open, waymark, { dialect, workdir: root })]);
        const shown = [0, 1, 2].map((index) => shownOf(api.requests[1], `call_${index}`));
        assertEquals(shown.map(({ content }) => content), [blocks, blocks, "Error: no such thing"]);
        assertEquals(shown.map(({ failed }) => failed), [false, true, true]);
      },
    );
  });

  it("are given the abort of the runner, and a runner that is aborted ends as without the guards", () =>
    inScene(script(calling(["open", "call_1", { path: "long.ts" }])), async ({ put, root, runner, waymark }) => {
      await put("long.ts", code(300));
      const abort = new AbortController(), seen: unknown[] = [];
      const open = betaTool({
        name: "open",
        description: "Opens a file.",
        inputSchema: { type: "object", properties: { path: { type: "string" } } },
        run: (_, context) => {
          seen.push(context!.toolUse.id, context!.signal === abort.signal);
          abort.abort();
          return code(300);
        },
      });
      const tools = [anthropicTool(open, waymark, { dialect, workdir: root })];
      await assertRejects(async () => await runner(tools, {}, abort.signal), Anthropic.APIUserAbortError);
      assertEquals(seen.slice(0, 2), ["call_1", true]);
    }));

  it("do not wait for a map when the runner is aborted", () => {
    const abort = new AbortController(), seen: unknown[] = [];
    const summarizer = {
      maker: "model:slow",
      version: 1,
      summarize: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<undefined>((_, reject) => {
          signal.addEventListener("abort", () => reject(seen.push(String(signal.reason)) && signal.reason), {
            once: true,
          });
          abort.abort();
        }),
    };
    return inScene(
      script(calling(["open", "call_1", { path: "long.ts" }])),
      async ({ put, root, runner, waymark }) => {
        await put("long.ts", code(300));
        const open = { name: "open", input_schema: { type: "object" as const }, parse: (input: unknown) => input };
        const run = () => (seen.push("the tool"), code(300));
        const tools = [anthropicTool({ ...open, run }, waymark, { dialect, workdir: root })];
        await assertRejects(async () => await runner(tools, {}, abort.signal), Anthropic.APIUserAbortError);
        assertEquals(seen[0], String(abort.signal.reason)); // and not the deadline's
      },
      { waymark: { summarizer, limits: { timeoutMs: 20_000 } } },
    );
  });
});

describe("the text editor and the memory tool", () => {
  /** A text editor as callers have it: the disk, with line numbers. */
  const editor = (root: string, seen: unknown[] = []) => ({
    type: "text_editor_20250728" as const,
    name: "str_replace_based_edit_tool" as const,
    parse: (input: unknown) => input as { command: string; path: string; view_range?: [number, number] },
    run(args: { command: string; path: string; view_range?: [number, number] }) {
      seen.push(args);
      if (args.command !== "view") return "done";
      if (args.path === root) return `${root}\n${root}/long.ts`;
      const [start, end] = args.view_range ?? [1, -1], lines = code(500).split("\n").slice(0, 500);
      return lines.map((line, at) => `${at + 1}\t${line}`).slice(start - 1, end < 0 ? undefined : end).join("\n");
    },
  });

  it("shorten a view and nothing else", async () => {
    const seen: unknown[] = [];
    await inScene(
      (_, index) => {
        const view = (id: string, input: unknown) => ["str_replace_based_edit_tool", id, input] as const;
        return script(calling(
          view("call_1", { command: "view", path: `${root}/long.ts` }),
          view("call_2", { command: "view", path: root }),
          view("call_3", { command: "view", path: `${root}/long.ts`, view_range: [301, -1] }),
          view("call_4", { command: "str_replace", path: `${root}/long.ts`, old_str: "a", new_str: "b" }),
        ))(undefined as unknown as WholeRequest, index);
      },
      async (scene) => {
        root = scene.root;
        await scene.put("long.ts", code(500));
        await scene.runner(anthropicTools([editor(root, seen)], scene.waymark));
        const shown = ["call_1", "call_2", "call_3", "call_4"].map((id) => shownOf(scene.api.requests[1], id).text);
        assertMatch(
          shown[0]!,
          /^1\texport[^]*\n200\texport function f200\(\) \{\}\n\n\[waymark map[^]*view_range: \[201, 400\]/,
        );
        assertEquals(shown[1], `${root}\n${root}/long.ts`);
        assert(shown[2]!.startsWith("301\texport") && shown[2]!.includes("\n500\texport"));
        assertEquals(shown[3], "done");
        assertEquals(seen.length, 4);
      },
    );
  });
  let root = "";

  const memory = async (root: string) => {
    const handlers = await BetaLocalFilesystemMemoryTool.init(join(root, "memory"));
    await mkdir(join(root, "memory", "memories"), { recursive: true });
    await writeFile(join(root, "memory", "memories", "notes.ts"), code(300));
    return betaMemoryTool(handlers);
  };
  const views = calling(
    ["memory", "call_1", { command: "view", path: "/memories/notes.ts" }],
    ["memory", "call_2", { command: "view", path: "/memories" }],
    ["memory", "call_3", { command: "view", path: "/memories/../../secret.ts" }],
  );

  it("leave the memory alone where its folder is not known", () =>
    inScene(script(views), async ({ api, root, runner, waymark, events }) => {
      const tool = await memory(root);
      assertEquals(anthropicTools([tool], waymark)[0], tool);
      assert(anthropicTool(tool, waymark) === tool);
      await runner(anthropicTools([tool], waymark));
      assertNotMatch(shownOf(api.requests[1], "call_1").text, /waymark/);
      assertStringIncludes(shownOf(api.requests[1], "call_1").text, "   300\texport function f300");
      assertEquals(events, []);
    }));

  it("map a memory from the folder it is in, under no path of this machine", () =>
    inScene(script(views), async ({ api, root, runner, waymark, events, put }) => {
      await put("secret.ts", code(300));
      await runner(anthropicTools([await memory(root)], waymark, { memory: join(root, "memory") }));
      const [notes, folder, outside] = ["call_1", "call_2", "call_3"].map((id) => shownOf(api.requests[1], id));
      assertMatch(
        notes!.text,
        /^Here's the content[^]*\n +200\texport function f200\(\) \{\}\n\n\[waymark map: PARTIAL, lines 1-200 of 300 /,
      );
      assertNotMatch(notes!.text, new RegExp(root));
      assertNotMatch(folder!.text, /waymark/);
      assertMatch(outside!.text, /would escape/);
      assertEquals(
        events.flatMap((event) => "path" in event ? [event.path] : []).filter((path) => /secret/.test(path ?? "")),
        [],
      );
    }));
});

describe("requests told from a runner", () => {
  const again = () =>
    script(calling(read("call_1", "long.ts", [1, 100])), calling(read("call_2", "long.ts", [1, 100])));

  it("let nothing refer to a result that the loop body took out of the messages", () =>
    inScene(again(), async ({ api, put, runner, read }) => {
      await put("long.ts", code(300));
      const run = runner([read]);
      for await (const message of run) {
        if (!JSON.stringify(message).includes("call_2")) continue;
        run.setMessagesParams((params) => ({
          ...params,
          messages: [{ role: "user", content: "Begin anew." }, { role: "assistant", content: message.content }],
        }));
      }
      assertEquals(api.requests.length, 3);
      assertEquals(shownOf(api.requests[2], "call_2").text, code(100).trimEnd());
    }));

  it("let nothing refer to a result that the loop body cleared in its place", () =>
    inScene(again(), async ({ api, put, runner, read }) => {
      await put("long.ts", code(300));
      const run = runner([read], { thread: false });
      for await (const message of run) {
        if (!JSON.stringify(message).includes("call_2")) continue;
        for (const block of run.params.messages.flatMap(({ content }) => Array.isArray(content) ? content : [])) {
          if (block.type === "tool_result") block.content = "[cleared]";
        }
      }
      assertEquals(shownOf(api.requests[2], "call_1").text, "[cleared]");
      assertEquals(shownOf(api.requests[2], "call_2").text, code(100).trimEnd());
    }));

  for (const [type, isShown] of [["clear_tool_uses_20250919", true], ["clear_thinking_20251015", false]] as const) {
    it(`let ${isShown ? "nothing" : "a read"} refer back where the API is asked for ${type}`, () =>
      inScene(again(), async ({ api, put, read, session }) => {
        await put("long.ts", code(300));
        const known: typeof fetch = (address, init) => { // the server on loopback knows no such field
          const { context_management, ...body } = JSON.parse(String(init!.body));
          assertEquals(context_management, { edits: [{ type }] });
          return fetch(address, { ...init, body: JSON.stringify(body) });
        };
        await followRunner(
          new Anthropic({ ...api.client, fetch: known }).beta.messages.toolRunner({
            model: "claude-opus-5-5",
            max_tokens: 99,
            messages: [{ role: "user", content: "Read it." }],
            tools: [read],
            thread: false,
            context_management: { edits: [{ type }] },
          }),
          { session },
        );
        const { text } = shownOf(api.requests[2], "call_2");
        if (isShown) assertEquals(text, code(100).trimEnd());
        else assertMatch(text, /^\[waymark reference/);
      }));
  }

  it("let a result that stays in changed messages be referred to", () =>
    inScene(again(), async ({ api, put, runner, read }) => {
      await put("long.ts", code(300));
      const run = runner([read]);
      for await (const message of run) {
        if (!JSON.stringify(message).includes("call_2")) continue;
        run.setMessagesParams((params) => ({
          ...params,
          max_tokens: 500,
          messages: [...params.messages, { role: "assistant", content: message.content }],
        }));
      }
      assertMatch(shownOf(api.requests[2], "call_2").text, /^\[waymark reference/);
    }));

  it("follow a compaction of the runner's own", () =>
    inScene(again(), async ({ api, put, runner, read, session }) => {
      await put("long.ts", code(300));
      const run = runner([read]);
      for await (const message of run) {
        if (JSON.stringify(message).includes("call_1")) run.compactBeforeNextTurn();
      }
      assertMatch(JSON.stringify(api.requests[2]!.messages[0]), /compaction/);
      assertEquals(shownOf(api.requests[3], "call_2").text, code(100).trimEnd());
      assertEquals([api.requests.length, session.turn], [4, 4]);
    }));

  it("are told before a body that runs the tools itself", () =>
    inScene(again(), async ({ api, put, runner, read }) => {
      await put("long.ts", code(300));
      const run = runner([read]);
      for await (const _ of run) await run.generateToolResponse();
      assertMatch(shownOf(api.requests[2], "call_2").text, /^\[waymark reference/);
    }));

  it("are no more than the runner makes, whether the body breaks off or the API fails", () =>
    inScene(again(), async ({ api, client, put, runner, read, session }) => {
      await put("long.ts", code(300));
      for await (const _ of runner([read])) break;
      assertEquals([session.turn, api.requests.length], [1, 1]);
      await runner([read], { max_iterations: 1 });
      assertEquals(session.turn, 2);
      const params = {
        model: "no-such-model",
        max_tokens: 9,
        messages: [{ role: "user" as const, content: "?" }],
        tools: [],
      };
      const lost = followRunner(client.beta.messages.toolRunner(params), { session });
      await assertRejects(async () => await lost, Anthropic.NotFoundError);
      assertEquals(session.turn, 2);
    }));

  it("keep two conversations over one Waymark apart", () =>
    inScene((request) => {
      const answered = request.messages.filter(({ role }) => role === "assistant").length;
      return script(...["a", "b"].map((id) => calling(read(`call_${id}`, "long.ts", [1, 100]))))(request, answered);
    }, async ({ api, client, put, root, waymark }) => {
      await put("long.ts", code(300));
      for (const session of [createSession(), createSession()]) {
        const tools = anthropicTools([betaReadTool({ workdir: root })], waymark, { workdir: root, session });
        const messages = [{ role: "user" as const, content: "Read it." }];
        const params = { model: "claude-opus-5-5", max_tokens: 99, messages, tools };
        await followRunner(client.beta.messages.toolRunner(params), { session });
        assertEquals(shownOf(api.requests.at(-1), "call_a").text, code(100).trimEnd());
        assertMatch(shownOf(api.requests.at(-1), "call_b").text, /^\[waymark reference: .* since turn 1, /);
      }
    }));

  it("are noted for forks as they are on the wire", () =>
    inScene(again(), async ({ api, client, put, read, waymark, root }) => {
      await put("long.ts", code(300));
      const noted: unknown[] = [],
        compactor = { noteRequestSent: (request: object) => void noted.push({ ...request }) };
      const tools = [read, anthropicSummarizeFile(waymark, { workdir: root })];
      const messages = [{ role: "user" as const, content: "Read it." }];
      const params = {
        model: "claude-opus-5-5",
        max_tokens: 99,
        system: "Be brief.",
        messages,
        tools,
        max_iterations: 9,
      };
      await followRunner(client.beta.messages.toolRunner({ ...params, thread: false }), { compactor });
      const sent = api.wire.map(({ stream: _, ...body }) => body);
      assertEquals(noted, sent);
      assertEquals(
        JSON.stringify(noted.map((request) => (request as { tools: unknown }).tools)),
        JSON.stringify(sent.map(({ tools }) => tools)),
      );
      noted.length = 0;
      await followRunner(
        client.beta.messages.toolRunner({ ...params, messages: [{ role: "user", content: "Once more." }] }),
        { compactor },
      );
      const whole = api.requests.slice(-noted.length).map(({ stream: _, ...body }) => body);
      assertEquals(noted, whole);
    }));
});

describe("a compactor in a runner's loop", () => {
  it("keeps every request within the budget, its fork asks with the last request, and no read refers to what left", () =>
    inScene(
      (_, index) =>
        script(...Array.from({ length: 12 }, (_, at) => calling(read(`call_${at}`, `file${at % 3}.ts`, [1, 150]))))(
          undefined as unknown as WholeRequest,
          index,
        ),
      async ({ api, client, put, root, waymark, session }) => {
        for (let at = 0; at < 3; at++) await put(`file${at}.ts`, code(150).replaceAll("f", `g${at}_`));
        const forks: SentRequest[] = [];
        const compactor = createCompactor({
          budget: 4_000,
          callMode: "fork",
          session,
          model: scriptedModel(() => "All so far was read.", { name: "claude-opus-5-5" }),
          sender: {
            send(request) {
              forks.push(request);
              return Promise.resolve({
                text: "All so far was read.",
                stopReason: "end",
                usage: { input: 1, output: 9, cacheRead: 4000, cacheWrite: 0 },
              });
            },
          },
        });
        const tools = anthropicTools([betaReadTool({ workdir: root })], waymark, { workdir: root });
        const messages = [{ role: "user" as const, content: "Read them all." }];
        const cache_control = { type: "ephemeral" as const };
        const params = { model: "claude-opus-5-5", max_tokens: 99, messages, tools, cache_control };
        const runner = followRunner(client.beta.messages.toolRunner(params), { session, compactor });
        let known = 0, view = compactor.view<(typeof runner.params.messages)[number]>();
        for await (const message of runner) {
          const { messages } = runner.params, before = view;
          compactor.append(...messages.slice(known), { role: "assistant", content: message.content });
          view = compactor.view();
          known = messages.length + 1;
          if (message.stop_reason === "tool_use" && !before.every((old, index) => old === view[index])) {
            runner.setMessagesParams((params) => ({ ...params, messages: view }));
            known = view.length;
          }
          await compactor.settled();
        }
        assertEquals(api.requests.length, 13);
        const sizes = api.requests.map(({ messages }) => JSON.stringify(messages).length);
        assert(Math.max(...sizes) < 20_000, `${sizes}`); // all of it is more than 50,000
        const { forks: forked, swapped, missed } = compactor.stats();
        assertEquals([forked, forks.length, missed], [swapped, swapped, 0]);
        assert(swapped > 1, `${swapped}`);
        for (const [at, request] of api.requests.entries()) {
          if (at === 0) continue;
          const { text } = shownOf(request, `call_${at - 1}`);
          if (!text.startsWith("[waymark reference")) continue;
          const file = `g${(at - 1) % 3}_unction`;
          assertStringIncludes(JSON.stringify(request.messages), file, "what is referred to is in the request");
        }
        for (const { messages, tools } of forks) {
          assertEquals(JSON.stringify(tools), JSON.stringify(api.requests[0]!.tools));
          const whole = api.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -1));
          assert(
            whole.some((sent) => JSON.stringify(messages).startsWith(sent)),
            "a fork is a request that was sent, and one message",
          );
        }
        await compactor[Symbol.asyncDispose]();
      },
    ));
});

describe("the other tools of a runner", () => {
  it("have their results digested by the ids of their calls, and shown as they are", () => {
    const digests = toolUseSummary({ model: scriptedModel(["3 tests failed."]), session: "s-1", topLevel: true });
    return inScene(
      script(calling(["bash", "call_1", { command: "npm test" }])),
      async ({ api, runner, waymark }) => {
        const output = "FAIL tests/a.ts\n".repeat(500);
        const bash = betaTool({
          name: "bash",
          description: "Runs a command.",
          inputSchema: { type: "object", properties: { command: { type: "string" } } },
          run: () => output,
        });
        await runner(anthropicTools([bash], waymark, { names: [] }));
        await digests.settled();
        assertEquals(digests.summaries().get("call_1")?.summary, "3 tests failed.");
        assertEquals(shownOf(api.requests[1], "call_1").text, output);
        await digests.close();
      },
      { waymark: { toolUse: digests } },
    );
  });

  it("offer summarize_file, which gives the map or says what to do instead", () =>
    inScene(
      script(
        calling(["summarize_file", "call_1", { path: "long.ts" }], ["summarize_file", "call_2", { path: "gone.ts" }]),
        calling(["summarize_file", "call_3", { path: "long.ts", action: "lookup", line: 7 }]),
      ),
      async ({ api, put, root, runner, waymark }) => {
        await put("long.ts", code(300));
        await runner([anthropicSummarizeFile(waymark, { workdir: root })]);
        assertMatch(shownOf(api.requests[1], "call_1").text, /^\[waymark map: 300 lines, none are shown here/);
        const { text, failed } = shownOf(api.requests[1], "call_2");
        assert(failed);
        assertMatch(text, /^Error: Cannot .*gone\.ts/);
        assertMatch(shownOf(api.requests[2], "call_3").text, /^line 7 is in 7-7 /);
      },
    ));
});

/** The runner as a host of the suite: each turn is a run that goes on with the conversation before it. */
function host(
  name: string,
  dialect: ConformanceHost["dialect"],
  definition: object,
  extra: Extra = {},
): ConformanceHost {
  return {
    name: `@anthropic-ai/sdk 1.14.0 ${name}`,
    dialect,
    async open({ waymark, tool, root, session }) {
      let calls: (readonly [name: string, id: string, args: unknown])[] = [], asked = 0;
      const api = await startThreads({ reply: (_, index) => script(calling(...calls))(_, index - asked) });
      const client = new Anthropic(api.client);
      const own = {
        ...definition,
        parse: (input: unknown) => input as Record<string, unknown>,
        async run(args: Record<string, unknown>, context?: { signal?: AbortSignal | null | undefined }) {
          const result: ToolResult = await tool(args, { signal: context?.signal ?? undefined });
          return typeof result === "string" ? result : result.map((block) =>
            block.type === "text" ? block : {
              type: "image" as const,
              source: { type: "base64" as const, media_type: block.mimeType as "image/png", data: block.data },
            }
          );
        },
      } as ReturnType<typeof betaReadTool>;
      const tools = [waymark ? anthropicTool(own, waymark, { dialect, workdir: root }) : own];
      let messages: { role: "user" | "assistant"; content: string }[] = [];
      return {
        async turn(given, { signal } = {}) {
          calls = given.map(({ args, callId }) => [own.name, callId, args] as const);
          asked = api.requests.length;
          messages = [...messages, { role: "user", content: "Go on." }];
          const params = { model: "claude-opus-5-5", max_tokens: 1000, messages, tools, ...extra };
          const runner = client.beta.messages.toolRunner(params, { signal });
          const last = await (session ? followRunner(runner, { session }) : runner);
          const sent = api.requests.at(-1)!;
          messages = [...sent.messages, { role: "assistant", content: last.content }] as unknown as typeof messages;
          return given.map(({ callId }) => {
            const { text, failed, content } = shownOf(sent, callId);
            const blocks = Array.isArray(content) ? content as { source?: { data: string } }[] : [];
            return { text, failed, images: blocks.flatMap(({ source }) => source ? [source.data] : []) };
          });
        },
        close: () => api.close(),
      };
    },
  };
}

const { run: _, parse: _parse, ...definition } = betaReadTool({ workdir: "." });
conformance(test, host("runner", dialects.anthropicRead, definition));
conformance(
  test,
  host("text editor", dialects.textEditor, { type: "text_editor_20250728", name: "str_replace_based_edit_tool" }, {
    stream: true,
    runToolsEagerly: true,
  }),
);
