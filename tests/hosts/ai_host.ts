/**
 * The AI SDK, 6 and 7, in its own loops with a scripted model: what the model is shown of guarded tools, in `generateText` and in
 * `streamText`.
 */

import * as ai7 from "ai";
import * as ai6 from "ai-6";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it, test } from "node:test";
import { aiPrepareStep, aiRequests, aiSummarizeFile, aiTool, aiTools } from "../../src/adapters/ai.ts";
import { createCompactor } from "../../src/compaction.ts";
import { conformance, type ToolBlock } from "../../src/conformance.ts";
import { dialects } from "../../src/dialects.ts";
import { createSession } from "../../src/session.ts";
import { scriptedModel } from "../../src/testing.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import type { Waymark, WaymarkOptions } from "../../src/options.ts";
import { createWaymark } from "../../src/waymark.ts";
import { code, inFolder, put } from "../support.ts";
import { type Ai, type Call, converse, scripted, type Sdk, shownIn } from "./ai_loop.ts";

const AIS: readonly Ai[] = [["ai 7.0.173", ai7, "v4"], ["ai 6.0.326", ai6, "v3"]].flatMap((
  [name, sdk, specification],
) =>
  (["generateText", "streamText"] as const).map((loop) =>
    ({ name: `${name}, ${loop}`, sdk, specification, loop }) as Ai
  )
);

/** The input of the read tool of these tests. */
interface Input {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

const SCHEMA = {
  type: "object",
  properties: { path: { type: "string" }, offset: { type: "integer" }, limit: { type: "integer" } },
  required: ["path"],
};

/** The lines asked for. */
function linesOf(folder: string, { path, offset = 1, limit = Infinity }: Input): string {
  const text = readFileSync(resolve(folder, path), "utf8");
  return offset === 1 && limit === Infinity
    ? text
    : text.split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
}

/** The real `tool()` over the files of a folder. */
function readTool({ sdk }: Ai, folder: string, more: Record<string, unknown> = {}): Sdk {
  return sdk.tool({
    description: "Reads a file.",
    inputSchema: sdk.jsonSchema(SCHEMA),
    execute: (input: Input) => linesOf(folder, input),
    ...more,
  });
}

/** Content blocks for the model, as the SDK's own MCP client makes them. */
function blocksToModel({ specification }: Ai) {
  return ({ output }: { output: string | readonly ToolBlock[] }) =>
    typeof output === "string" ? { type: "text", value: output } : {
      type: "content",
      value: output.map((block) => {
        if (block.type === "text") return block;
        const { mimeType: mediaType, data } = block;
        return specification === "v3"
          ? { type: "image-data", mediaType, data }
          : { type: "file", mediaType, data: { type: "data", data } };
      }),
    };
}

/** A project with a guard over it. */
function guarding(
  action: (folder: string, waymark: Waymark) => Promise<void>,
  options: WaymarkOptions = {},
): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    const waymark = createWaymark({ root: folder, onNotice: () => {}, ...options });
    try {
      await action(folder, waymark);
    } finally {
      await waymark.close();
    }
  });
}

const MAP = /\[waymark map: [^\n]*PARTIAL, lines 1-200 of 300/;
const REFERENCE = /^\[waymark reference: [^\n]*unchanged since turn \d+[^\n]*\]$/;
const FIRST = "return a + 200; }", LATER = "return a + 201; }";
const read = (id: string, input: object): Call => ({ id, input: { ...input } });
const user = (content: string) => ({ role: "user", content });
const plain = { dialect: dialects.plain } as const;

for (const ai of AIS) {
  const { sdk } = ai;
  /** One turn of calls with these tools: what the model is shown of each, and all that came of it. */
  const ask = async (tools: object, calls: readonly Call[], more: Record<string, unknown> = {}) => {
    const { model, requests } = scripted(ai, [calls]);
    const { messages, parts } = await converse(ai, { model, tools, prompt: "Go.", ...more });
    const shown = requests[1] ? shownIn(requests[1]) : new Map();
    return { shown, first: shown.get(calls[0]!.id)!, messages, parts, requests };
  };

  describe(`a read tool in ${ai.name}`, () => {
    it("shows the model 200 lines and the map behind them, in the tool's own result", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300));
        const { first } = await ask(aiTools({ read: readTool(ai, folder) }, waymark, plain), [read("c1", { path })]);
        assertEquals([first.type, first.failed], ["text", false]);
        assertMatch(first.text, MAP);
        assert(first.text.startsWith(code(200)));
        assertStringIncludes(first.text, "offset: 201, limit: 100");
        assertEquals(first.text.includes(LATER), false);
      }));

    it("gets the very input, its own `this` and no signal that nobody gave, where a read is short", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "short.ts", code(20)), seen: unknown[] = [];
        const tool = readTool(ai, folder, {
          execute(this: unknown, input: Input, options: { toolCallId: string; abortSignal?: AbortSignal }) {
            seen.push(this, input, options.toolCallId, options.abortSignal);
            return linesOf(folder, input);
          },
        });
        const { first } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path, limit: 10 })]);
        assertStrictEquals(seen[0], tool);
        assertEquals(seen.slice(1), [{ path, limit: 10 }, "c1", undefined]);
        assertEquals(first.text, code(20).split("\n").slice(0, 10).join("\n") + "\n");
      }));

    it("keeps the calls of one turn apart", () =>
      guarding(async (folder, waymark) => {
        const calls = [1, 2, 3].map((at) => {
          const path = put(folder, `f${at}.ts`, code(300).replaceAll("return a", `return ${at} * a`));
          return read(`c${at}`, { path });
        });
        const { shown } = await ask(aiTools({ read: readTool(ai, folder) }, waymark, plain), calls);
        for (const at of [1, 2, 3]) {
          const { text } = shown.get(`c${at}`)!;
          assertStringIncludes(text, `return ${at} * a + 200`);
          assertMatch(text, MAP);
        }
      }));

    it("that throws is shown as it is without the guards", () =>
      guarding(async (folder, waymark) => {
        class Refused extends Error {}
        const execute = () => {
          throw new Refused("the disk is on fire");
        };
        const tool = readTool(ai, folder, { execute }), call = read("c1", { path: put(folder, "a.ts", code(300)) });
        const bare = await ask({ read: tool }, [call]),
          guarded = await ask(aiTools({ read: tool }, waymark, plain), [call]);
        assertEquals(guarded.first, bare.first);
        assertEquals([guarded.first.type, guarded.first.failed], ["error-text", true]);
        assertStringIncludes(guarded.first.text, "the disk is on fire");
      }));

    it("that tells of its failure keeps how it tells it", () =>
      guarding(async (folder, waymark) => {
        const tool = readTool(ai, folder, {
          execute: () => ({ isError: true, problem: "no such file" }),
          toModelOutput: ({ output }: { output: { problem: string } }) => ({
            type: "error-text",
            value: output.problem,
          }),
        });
        const tools = aiTools({ read: tool }, waymark, plain);
        const { first } = await ask(tools, [read("c1", { path: put(folder, "a.ts", code(300)) })]);
        assertEquals(first.output, { type: "error-text", value: "no such file" });
      }));

    it("that is aborted ends the run, and its own signal is the caller's", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(300)),
          abort = new AbortController(),
          seen: (AbortSignal | undefined)[] = [];
        const tool = readTool(ai, folder, {
          execute: (_: Input, { abortSignal }: { abortSignal?: AbortSignal }) =>
            new Promise((_resolve, reject) => {
              seen.push(abortSignal);
              abortSignal?.addEventListener("abort", () => reject(abortSignal.reason), { once: true });
              setTimeout(() => abort.abort(), 10);
            }),
        });
        const tools = aiTools({ read: tool }, waymark, plain);
        const failure = await ask(tools, [read("c1", { path })], { abortSignal: abort.signal }).then(
          () => {},
          (error) => error,
        );
        assertEquals((failure as Error | undefined)?.name, "AbortError");
        assertEquals([seen.length >= 1, seen.every((signal) => signal?.aborted)], [true, true]);
      }));
  });

  describe(`an output of a read tool in ${ai.name}`, () => {
    const contentOf = (folder: string) => (input: Input) => ({ path: input.path, content: linesOf(folder, input) });

    it("that is an object is shown as JSON with the map in a field of it", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300)), tool = readTool(ai, folder, { execute: contentOf(folder) });
        const { first } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path })]);
        assertEquals(first.type, "json");
        const { content, annotation, ...rest } = JSON.parse(first.text);
        assertEquals([rest, annotation.kind, content], [{ path }, "map", `${code(200)}\n`]);
        assertMatch(annotation.text, MAP);
      }));

    const forms: Record<string, (output: { content: string }) => unknown> = {
      "content parts": ({ content }) => ({ type: "content", value: [{ type: "text", text: content }] }),
      "text": ({ content }) => ({ type: "text", value: content }),
      "JSON of its own": ({ content }) => ({ type: "json", value: { lines: content.split("\n") } }),
      "JSON that is no object": ({ content }) => ({ type: "json", value: content.split("\n") }),
      "all of itself": (output) => ({ type: "json", value: output }),
      "text with itself in it": (output) => ({ type: "text", value: JSON.stringify(output) }),
      "a promise": ({ content }) => Promise.resolve({ type: "text", value: content }),
    };
    for (const [what, toModelOutput] of Object.entries(forms)) {
      it(`with a toModelOutput that makes ${what} of it is shown with the map, once, and again from a stored history`, () =>
        guarding(async (folder, waymark) => {
          const path = put(folder, "long.ts", code(300));
          const tool = readTool(ai, folder, {
            execute: contentOf(folder),
            toModelOutput: ({ output }: { output: { content: string } }) => toModelOutput(output),
          });
          const { first, messages } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path })]);
          assertStringIncludes(first.text, FIRST);
          assertEquals(first.text.includes(LATER), false);
          assertEquals(first.text.split("[end of waymark map]").length, 2);
          // A chat keeps the output in its own messages, and makes the model's of it anew: with tools wrapped in another process.
          const output = {
            path,
            content: code(200),
            annotation: { kind: "map", text: "[waymark map: a]\nb\n[end of waymark map]" },
          };
          const stored = [{
            id: "m1",
            role: "assistant",
            parts: [{ type: "tool-read", toolCallId: "c1", state: "output-available", input: { path }, output }],
          }];
          const tools = aiTools({ read: tool }, waymark, plain);
          const again = JSON.stringify(await sdk.convertToModelMessages(JSON.parse(JSON.stringify(stored)), { tools }));
          assertEquals(again.split("[end of waymark map]").length, 2);
          assert(messages.length >= 2);
        }));
    }

    it("that is text is handed to a toModelOutput with the map, which is put back where it is lost", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300)), handed: string[] = [];
        const tool = readTool(ai, folder, {
          toModelOutput({ output }: { output: string }) {
            handed.push(output);
            return { type: "content", value: [{ type: "text", text: output.slice(0, 100) }] };
          },
        });
        const { first } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path })]);
        assertMatch(handed[0]!, MAP);
        const { value } = first.output as { value: { text: string }[] };
        assertEquals([value.length, value[0]!.text], [2, code(300).slice(0, 100)]);
        assertMatch(value[1]!.text, MAP);
      }));

    it("that a toModelOutput takes apart is told of beside what it makes, and ends no run", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300)), rows = code(300).split("\n");
        const tool = readTool(ai, folder, {
          execute: () => JSON.stringify({ rows }),
          toModelOutput: ({ output }: { output: string }) => ({ type: "json", value: JSON.parse(output) }),
        });
        const { first } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path })]);
        const [made, note] = (first.output as { value: { text: string }[] }).value;
        assertEquals(JSON.parse(made!.text), { rows });
        assertMatch(note!.text, /^\[waymark notice: /);
      }));

    it("with an image in it is shown as without the guards", () =>
      guarding(async (folder, waymark) => {
        const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
        const tool = readTool(ai, folder, { execute: () => [image], toModelOutput: blocksToModel(ai) });
        const call = read("c1", { path: put(folder, "long.ts", code(300)) });
        const bare = await ask({ read: tool }, [call]),
          guarded = await ask(aiTools({ read: tool }, waymark, plain), [call]);
        assertEquals(guarded.first, bare.first);
        assertEquals(guarded.first.images, [image.data]);
      }));

    it("stays one that the tool's own schema takes, and is whole where a map would not fit in", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300));
        const isFine = (value: object) => Object.keys(value).every((key) => key === "path" || key === "content");
        const outputSchema = sdk.jsonSchema({ type: "object" }, {
          validate: (value: object) =>
            isFine(value) ? { success: true, value } : { success: false, error: new Error("too much in it") },
        });
        const tool = readTool(ai, folder, { execute: contentOf(folder), outputSchema });
        const { first } = await ask(aiTools({ read: tool }, waymark, plain), [read("c1", { path })]);
        assertEquals(JSON.parse(first.text), { path, content: code(300) });
      }));

    it("that comes in a stream is forwarded as it comes, and its last value has the map", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300));
        async function* execute(input: Input) {
          yield "looking";
          yield linesOf(folder, input);
        }
        const { first, parts } = await ask(aiTools({ read: readTool(ai, folder, { execute }) }, waymark, plain), [
          read("c1", { path }),
        ]);
        assertMatch(first.text, MAP);
        const told = parts.filter(({ type }) => type === "tool-result").map((
          { preliminary, output },
        ) => [preliminary, output]);
        if (ai.loop === "generateText") return;
        assertEquals(told.map(([preliminary]) => preliminary), [true, true, undefined]);
        assertEquals(told[0], [true, "looking"]);
        assertEquals([told[1]![1], told[2]![1]], [first.text, first.text]);
      }));

    for (const streams of [false, true]) {
      it(`of a plain function that returns a stream is its last value${streams ? ", and with streams all are forwarded" : ""}`, () =>
        guarding(async (folder, waymark) => {
          const path = put(folder, "long.ts", code(300));
          const tool = readTool(ai, folder, {
            execute: (input: Input) =>
              (async function* () {
                yield "looking";
                yield linesOf(folder, input);
              })(),
          });
          const tools = aiTools({ read: tool }, waymark, { ...plain, streams });
          const { first, parts } = await ask(tools, [read("c1", { path })]);
          assertMatch(first.text, MAP);
          if (ai.loop === "generateText") return;
          const told = parts.filter(({ type, preliminary }) => type === "tool-result" && preliminary);
          assertEquals(told.map(({ output }) => (output as string).slice(0, 7)), streams ? ["looking", "export "] : []);
        }));
    }

    it("that is no stream this time is shown whole where the tool may stream", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300)),
          tools = aiTools({ read: readTool(ai, folder) }, waymark, {
            ...plain,
            streams: true,
          });
        const { first } = await ask(tools, [read("c1", { path })]);
        assertMatch(first.text, MAP);
        assert(first.text.startsWith(code(200)));
      }));
  });

  describe(`a conversation in ${ai.name}`, () => {
    it("refers to what the requests still hold, and to nothing else", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), session = createSession();
        const tools = aiTools({ read: readTool(ai, folder) }, waymark, { ...plain, session });
        const turns = [[read("c1", { path })], [read("c2", { path })], [], [read("c3", { path })], [
          read("c4", { path }),
        ]];
        const { model: inner, requests } = scripted(ai, turns);
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
        const messages: object[] = [user("Go.")];
        messages.push(...(await converse(ai, { model, tools, messages })).messages);
        assertEquals(session.turn, 3);
        assertEquals(shownIn(requests[2]!).get("c1")!.text, code(60));
        assertMatch(shownIn(requests[2]!).get("c2")!.text, REFERENCE);
        // The host starts anew: nothing of what was shown is in its messages any more.
        await converse(ai, { model, tools, messages: [user("Go on.")] });
        assertEquals(shownIn(requests[4]!).get("c3")!.text, code(60));
        assertMatch(shownIn(requests[5]!).get("c4")!.text, REFERENCE);
      }));

    it("is one to a server that wraps its tools and its model for each request", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), session = createSession(), tool = readTool(ai, folder);
        const { model: inner, requests } = scripted(ai, [[read("c1", { path })], [], [read("c2", { path })]]);
        const messages: object[] = [];
        for (const prompt of ["Go.", "Go on."]) {
          messages.push(user(prompt));
          const tools = aiTools({ read: tool }, waymark, { ...plain, session });
          const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
          messages.push(...(await converse(ai, { model, tools, messages })).messages);
        }
        assertMatch(shownIn(requests.at(-1)!).get("c2")!.text, REFERENCE);
      }));

    it("that was cut before a call of it is approved is shown again what the call asks for", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), session = createSession();
        const needsApproval = (_: unknown, { toolCallId }: { toolCallId: string }) => toolCallId === "c2";
        const tools = aiTools({ read: readTool(ai, folder, { needsApproval }) }, waymark, { ...plain, session });
        const { model: inner, requests } = scripted(ai, [[read("c1", { path })], [read("c2", { path })]]);
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
        const asking = (await converse(ai, { model, tools, messages: [user("Go.")] })).messages.at(-1) as {
          content: { type: string; approvalId: string }[];
        };
        const { approvalId } = asking.content.find(({ type }) => type === "tool-approval-request")!;
        const approval = { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] };
        await converse(ai, { model, tools, messages: [user("Go."), asking, approval] }); // without the first read
        assertEquals(shownIn(requests.at(-1)!).get("c2")!.text, code(60));
      }));

    it("of objects refers in their own shape, and a toModelOutput shows it", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), session = createSession(), given: string[] = [];
        const tool = readTool(ai, folder, {
          execute: (input: Input) => ({ content: linesOf(folder, input) }),
          toModelOutput({ output }: { output: { content: string } }) {
            given.push(output.content);
            return { type: "text", value: output.content };
          },
        });
        const tools = aiTools({ read: tool }, waymark, { ...plain, session });
        const { model: inner, requests } = scripted(ai, [[read("c1", { path })], [read("c2", { path })]]);
        await converse(ai, {
          model: sdk.wrapLanguageModel({ model: inner, middleware: [aiRequests({ session })] }),
          tools,
          prompt: "Go.",
        });
        assertEquals(shownIn(requests[2]!).get("c1")!.text, code(60));
        assertMatch(shownIn(requests[2]!).get("c2")!.text.trim(), REFERENCE);
        assert(given.includes(""), "no field holds what is no file content");
      }));

    it("of objects that are shown as JSON refers in a field of them", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), session = createSession();
        const tool = readTool(ai, folder, { execute: (input: Input) => ({ content: linesOf(folder, input) }) });
        const tools = aiTools({ read: tool }, waymark, { ...plain, session });
        const { model: inner, requests } = scripted(ai, [[read("c1", { path })], [read("c2", { path })]]);
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
        await converse(ai, { model, tools, prompt: "Go." });
        const { content, annotation } = JSON.parse(shownIn(requests[2]!).get("c2")!.text);
        assertEquals(content, "");
        assertMatch(annotation.text, REFERENCE);
      }));

    it("counts a request that is tried again once", () =>
      guarding(async (folder, waymark) => {
        const session = createSession(),
          tools = aiTools({ read: readTool(ai, folder) }, waymark, { ...plain, session });
        const path = put(folder, "a.ts", code(60));
        const { model: inner, requests } = scripted(ai, [[read("c1", { path })]], (_, at) => {
          if (at !== 1) return;
          throw new sdk.APICallError({
            message: "overloaded",
            url: "",
            requestBodyValues: {},
            statusCode: 529,
            isRetryable: true,
            responseHeaders: { "retry-after-ms": "1" },
          });
        });
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
        await converse(ai, { model, tools, prompt: "Go." });
        assertEquals([requests.length, session.turn], [3, 2]);
      }));

    it("whose messages are compacted is shown again what left it, and what did not is referred to", () =>
      guarding(async (folder, waymark) => {
        const paths = Array.from({ length: 12 }, (_, at) => put(folder, `f${at}.ts`, code(50 + at)));
        const session = createSession(),
          tools = aiTools({ read: readTool(ai, folder) }, waymark, { ...plain, session });
        const compactor = createCompactor({
          budget: 8_000,
          shape: "ai-sdk",
          session,
          model: scriptedModel(() => "All files so far were read; they hold nothing of note."),
          onNotice: () => {},
        });
        const turns = [...paths.map((path, at) => [read(`c${at}`, { path })]), [read("old", { path: paths[0]! })], [
          read("new", { path: paths[11]! }),
        ]];
        const { model: inner, requests } = scripted(ai, turns);
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session }) });
        const compact = aiPrepareStep(compactor);
        const prepareStep = async (step: Parameters<typeof compact>[0]) => {
          const prepared = compact(step);
          await compactor.settled(); // a summary is in the next view
          return prepared;
        };
        const messages: object[] = [user("Read all of them.")];
        messages.push(...(await converse(ai, { model, tools, messages, prepareStep })).messages);
        assert(compactor.stats().swapped >= 1);
        const last = shownIn(requests.at(-1)!), sent = JSON.stringify(requests.at(-1)!.prompt);
        assertStringIncludes(sent, "they hold nothing of note");
        assertEquals(last.has("c0"), false);
        assertEquals(last.get("old")!.text, code(50));
        assertMatch(last.get("new")!.text, REFERENCE);
        assertEquals(compactor.history().length, messages.length - 1); // all but the answer to the last request
        // A further call of the host begins with all messages; the view goes on where it was.
        const before = compactor.stats().swapped;
        messages.push(user("Thanks."));
        await converse(ai, { model, tools, messages, prepareStep });
        assertEquals(compactor.history().length, messages.length);
        assertStringIncludes(JSON.stringify(requests.at(-1)!.prompt), "they hold nothing of note");
        assert(compactor.stats().swapped >= before);
        // Other messages are another conversation.
        await converse(ai, { model, tools, messages: [user("Hello."), user("Anybody there?")], prepareStep });
        assertEquals(compactor.history().length, 2);
      }));

    it("can be summarized by a fork: the request that was noted, sent once more with one message after it", () =>
      guarding(async (folder, waymark) => {
        const paths = Array.from({ length: 12 }, (_, at) => put(folder, `f${at}.ts`, code(50 + at)));
        const turns = paths.map((path, at) => [read(`c${at}`, { path })]),
          { model: inner, requests } = scripted(ai, turns);
        const forked: { prompt: unknown[] }[] = [];
        const compactor = createCompactor({
          budget: 8_000,
          shape: "ai-sdk",
          callMode: "fork",
          prices: { priceRatio: 1, read: 0.1, write: 1.25, minimumTokens: 0, ttlMs: 300_000 },
          sender: {
            send: (request) => {
              forked.push(request as never);
              const usage = { input: 50, cacheRead: 1_000, cacheWrite: 0, output: 40 };
              return Promise.resolve({ text: "All of them were read.", stopReason: "end", usage });
            },
          },
          onNotice: () => {},
        });
        const model = sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ compactor }) });
        const compact = aiPrepareStep(compactor);
        const prepareStep = async (step: Parameters<typeof compact>[0]) => {
          const prepared = compact(step);
          await compactor.settled();
          return prepared;
        };
        const tools = aiTools({ read: readTool(ai, folder) }, waymark, plain);
        await converse(ai, { model, tools, prompt: "Read all of them.", prepareStep });
        const { forks, fallbacks } = compactor.stats();
        assertEquals([forks >= 1, fallbacks], [true, 0]);
        const { prompt, ...rest } = forked[0]!,
          parent = requests.find(({ prompt: sent }) => sent.length === prompt.length - 1)!;
        assertEquals(JSON.stringify(prompt.slice(0, -1)), JSON.stringify(parent.prompt));
        assertEquals((rest as unknown as { tools: unknown }).tools, parent.tools);
      }));

    it("of a sub-agent is its own", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "a.ts", code(60)), sessions = [createSession(), createSession()];
        const tool = readTool(ai, folder), seen: string[] = [];
        const modelOf = (turns: Call[][], at: number) => {
          const { model: inner, requests } = scripted(ai, turns);
          return {
            requests,
            model: sdk.wrapLanguageModel({ model: inner, middleware: aiRequests({ session: sessions[at] }) }),
          };
        };
        const tools = sessions.map((session) => aiTools({ read: tool }, waymark, { ...plain, session }));
        const agent = sdk.tool({
          inputSchema: sdk.jsonSchema({ type: "object" }),
          async execute() {
            const { model, requests } = modelOf([[read("s1", { path })], [read("s2", { path })]], 1);
            await converse({ ...ai, loop: "generateText" }, { model, tools: tools[1], prompt: "Look." });
            seen.push(shownIn(requests[2]!).get("s1")!.text, shownIn(requests[2]!).get("s2")!.text);
            return "Looked.";
          },
        });
        const { model, requests } = modelOf([[read("c1", { path })], [{ tool: "agent", id: "c2", input: {} }], [
          read("c3", { path }),
        ]], 0);
        await converse(ai, { model, tools: { ...tools[0], agent }, prompt: "Go." });
        assertEquals(seen[0], code(60));
        assertMatch(seen[1]!, REFERENCE);
        assertMatch(shownIn(requests[3]!).get("c3")!.text, REFERENCE);
      }));
  });

  describe(`other tools in ${ai.name}`, () => {
    const bash = (folder: string, more: object = {}) =>
      readTool(ai, folder, {
        inputSchema: sdk.jsonSchema({ type: "object" }),
        execute: () => "FAIL tests/a.ts\n".repeat(500),
        ...more,
      });

    it("are the very same objects", () =>
      guarding((folder, waymark) => {
        const tools = { read: readTool(ai, folder), bash: bash(folder), search: bash(folder, { execute: undefined }) };
        const wrapped = aiTools(tools, waymark, plain);
        assertStrictEquals(wrapped.bash, tools.bash);
        assertStrictEquals(wrapped.search, tools.search);
        assert(wrapped.read !== tools.read);
        return Promise.resolve();
      }));

    it("are digested by the ids of their calls where that is asked for, and so are reads", () =>
      inFolder(async (folder) => {
        const digests = toolUseSummary({
          model: scriptedModel(() => "All tests failed."),
          session: "s-1",
          topLevel: true,
        });
        const waymark = createWaymark({ root: folder, toolUse: digests, onNotice: () => {} });
        const path = put(folder, "long.ts", code(300)), search = bash(folder, { execute: undefined });
        const given = { read: readTool(ai, folder), bash: bash(folder), search },
          tools = aiTools(given, waymark, plain);
        assertStrictEquals(tools.search, search);
        const { shown } = await ask(tools, [read("c1", { path }), {
          tool: "bash",
          id: "c2",
          input: { command: "npm test" },
        }]);
        await digests.settled();
        assertEquals(shown.get("c2")!.text, "FAIL tests/a.ts\n".repeat(500));
        assertEquals([...digests.summaries()].map(([id, { tool }]) => [id, tool]).sort(), [["c1", "read"], [
          "c2",
          "bash",
        ]]);
        await digests.close();
        await waymark.close();
      }));

    it("of a provider's own kind are guarded where this side runs them", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300));
        const editor = {
          type: ai.specification === "v3" ? "provider" : "provider",
          id: "anthropic.text_editor_20250728",
          name: "str_replace_based_edit_tool",
          args: {},
          inputSchema: sdk.jsonSchema({ type: "object" }),
          execute: ({ path, view_range: [start, end] = [1, -1] }: { path: string; view_range?: number[] }) =>
            linesOf(folder, { path, offset: start!, ...end! > 0 && { limit: end! - start! + 1 } }),
        };
        const name = "str_replace_based_edit_tool";
        const tools = { [name]: aiTool(editor, waymark, { dialect: dialects.textEditor }) };
        const { first } = await ask(tools, [{ tool: name, id: "c1", input: { command: "view", path } }]);
        assertMatch(first.text, MAP);
        assertStringIncludes(first.text, "view_range: [201, 300]");
      }));

    it("may be summarize_file, with its schema and its own words for what is wrong", () =>
      guarding(async (folder, waymark) => {
        const path = put(folder, "long.ts", code(300)), tools = { summarize_file: aiSummarizeFile(waymark) };
        const calls = [{ path }, { path: join(folder, "none.ts") }, {}].map((input, at) => ({
          tool: "summarize_file",
          id: `c${at}`,
          input,
        }));
        const { shown, requests } = await ask(tools, calls);
        const [{ name, description, inputSchema }] = requests[0]!.tools as never;
        assertEquals([name, description], ["summarize_file", waymark.summarizeFileTool().description]);
        assertEquals(inputSchema, waymark.summarizeFileTool().parameters);
        assertStringIncludes(shown.get("c0")!.text, "300-300  function  f300");
        assertEquals([shown.get("c1")!.failed, shown.get("c2")!.failed], [true, true]);
        assertStringIncludes(shown.get("c1")!.text, "none.ts");
        assertStringIncludes(shown.get("c2")!.text, '"path" is missing');
      }));
  });

  /** Blocks for the model: what the SDK's own MCP client makes of them. */
  conformance(test, {
    name: ai.name,
    dialect: dialects.plain,
    open({ waymark, root, tool, session }) {
      const execute = (input: Record<string, unknown>, { abortSignal }: { abortSignal?: AbortSignal }) =>
        tool(input, { signal: abortSignal });
      const inner = sdk.tool({
        inputSchema: sdk.jsonSchema({ type: "object" }),
        execute,
        toModelOutput: blocksToModel(ai),
      });
      const facts = (info: unknown) => {
        const { toolCallId, abortSignal } = info as { toolCallId: string; abortSignal?: AbortSignal };
        return { callId: toolCallId, cwd: root, ...abortSignal && { signal: abortSignal } };
      };
      const bare = { read: inner }, tools = waymark ? aiTools(bare, waymark, { ...plain, session, facts }) : bare;
      const messages: object[] = [];
      return Promise.resolve({
        async turn(calls, { signal } = {}) {
          const { model: scriptedOne, requests } = scripted(ai, [calls.map(({ args, callId }) => read(callId, args))]);
          const model = waymark
            ? sdk.wrapLanguageModel({ model: scriptedOne, middleware: aiRequests({ session }) })
            : scriptedOne;
          messages.push(user("Go on."));
          const made = await converse(ai, { model, tools, messages, ...signal && { abortSignal: signal } });
          messages.push(...made.messages);
          const shown = shownIn(requests[1]!);
          return calls.map(({ callId }) => shown.get(callId)!);
        },
        close: () => Promise.resolve(),
      });
    },
  });
}
