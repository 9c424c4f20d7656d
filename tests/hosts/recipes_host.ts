import { describe, it } from "node:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { BaseLlm, type Event, InMemoryRunner, LlmAgent } from "@google/adk";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { Agent as OpenaiAgent, Runner, Usage } from "@openai/agents";
import { createSession, createWaymark, type Session, type Waymark } from "@waymark/waymark";
import { genkit, z as genkitZ } from "genkit";
import { z } from "zod";
import { code, inFolder, put } from "../support.ts";
import { guardReads as guardAdk } from "./recipes/adk.ts";
import { guardReads as guardGenkit } from "./recipes/genkit.ts";
import { guardReads as guardMastra } from "./recipes/mastra.ts";
import { guardReads as guardOpenai } from "./recipes/openai_agents.ts";

interface Call {
  readonly id: string;
  readonly args: Record<string, unknown>;
}

interface ReadArgs {
  readonly path: string;
  readonly offset?: number | null;
  readonly limit?: number | null;
}

/** What a host's loop is given: the guards, the turns of the model, and the read tool. */
interface Setup {
  readonly waymark: Waymark;
  readonly session: Session;
  readonly turns: readonly (readonly Call[])[];
  readonly read: (args: ReadArgs, signal?: AbortSignal) => unknown;
  readonly signal?: AbortSignal;
}

/** What the model was shown of each call, by the call's id, in each of its requests. */
type Requests = readonly ReadonlyMap<string, string>[];

/** The host's own loop over a scripted model. */
type Loop = (setup: Setup) => Promise<Requests>;

/** Reads a file of this machine. */
function readFile({ path, offset, limit }: ReadArgs): string {
  const from = (offset ?? 1) - 1;
  return readFileSync(path, "utf8").split(/(?<=\n)/).slice(from, from + (limit ?? Infinity)).join("");
}

const PARAMETERS = { path: "string", offset: "number", limit: "number" };

/** A JSON schema of the read tool. */
const SCHEMA = {
  type: "object",
  properties: Object.fromEntries(Object.entries(PARAMETERS).map(([name, type]) => [name, { type }])),
  required: ["path"],
  additionalProperties: true,
};

const openaiAgents: Loop = async ({ waymark, session, turns, read, signal }) => {
  const left = [...turns], requests: Map<string, string>[] = [], guard = guardOpenai(waymark, session);
  // deno-lint-ignore no-explicit-any -- items of the host's own
  const shownIn = (items: any[]) =>
    new Map<string, string>(
      items.filter(({ type }) => type === "function_call_result").map(({ callId, output }) => [callId, output.text]),
    );
  const model = {
    // deno-lint-ignore no-explicit-any -- a request of the host's own
    getResponse({ input }: any) {
      requests.push(shownIn(input));
      const calls = left.shift() ?? [];
      const done = {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "done" }],
      };
      const output = calls.map(({ id, args }) => ({
        type: "function_call",
        callId: id,
        name: "read_file",
        status: "completed",
        arguments: JSON.stringify(args),
      }));
      return Promise.resolve({ usage: new Usage(), output: output.length ? output : [done] });
    },
    getStreamedResponse() {
      throw new Error("no streams here");
    },
  };
  const tool = guard.tool({
    name: "read_file",
    description: "Reads a file",
    strict: false,
    parameters: SCHEMA as never,
    execute: (args: unknown, _: unknown, details?: { signal?: AbortSignal }) => read(args as ReadArgs, details?.signal),
  });
  const agent = new OpenaiAgent({ name: "agent", model: model as never, tools: [tool] });
  const runner = new Runner({ tracingDisabled: true, callModelInputFilter: guard.filter });
  await runner.run(agent, "go", signal ? { signal } : {});
  return requests;
};

const mastra: Loop = async ({ waymark, session, turns, read, signal }) => {
  const left = [...turns], requests: Map<string, string>[] = [], guard = guardMastra(waymark, session);
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const model = {
    specificationVersion: "v2",
    provider: "none",
    modelId: "scripted",
    supportedUrls: {},
    // deno-lint-ignore no-explicit-any -- a request of the host's own
    doGenerate({ prompt }: any) {
      // deno-lint-ignore no-explicit-any -- parts of the host's own
      const parts: any[] = prompt.flatMap(({ content }: { content: unknown }) => Array.isArray(content) ? content : []);
      const results = parts.filter(({ type }) => type === "tool-result");
      requests.push(new Map(results.map(({ toolCallId, output }) => [toolCallId, output.value])));
      const calls = left.shift() ?? [];
      const content = calls.map(({ id, args }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: "read_file",
        input: JSON.stringify(args),
      }));
      return Promise.resolve({
        content: content.length ? content : [{ type: "text", text: "done" }],
        finishReason: content.length ? "tool-calls" : "stop",
        usage,
        warnings: [],
      });
    },
    doStream() {
      throw new Error("no streams here");
    },
  };
  const tool = guard.tool({
    id: "read_file",
    description: "Reads a file",
    inputSchema: z.object({ path: z.string(), offset: z.number().optional(), limit: z.number().optional() }),
    // deno-lint-ignore no-explicit-any -- arguments of the host's own
    execute: (args: any, context: any) => Promise.resolve(read(args, context?.abortSignal)),
  });
  const agent = new MastraAgent({
    id: "agent",
    name: "agent",
    instructions: "Read.",
    model: model as never,
    tools: { read_file: tool },
    inputProcessors: [guard.requests],
  });
  await agent.generate("go", { maxSteps: 10, ...signal && { abortSignal: signal } });
  return requests;
};

const genkitLoop: Loop = async ({ waymark, session, turns, read }) => {
  const left = [...turns], requests: Map<string, string>[] = [], ai = genkit({}), guard = guardGenkit(waymark, session);
  // deno-lint-ignore no-explicit-any -- a request of the host's own
  ai.defineModel({ name: "scripted", supports: { tools: true } }, ({ messages }: any) => {
    // deno-lint-ignore no-explicit-any -- parts of the host's own
    const parts: any[] = messages.flatMap(({ content }: { content: unknown[] }) => content);
    const results = parts.flatMap(({ toolResponse }) => toolResponse ? [toolResponse] : []);
    requests.push(new Map(results.map(({ ref, output }) => [ref, output])));
    const calls = left.shift() ?? [];
    const content = calls.map(({ id, args }) => ({ toolRequest: { name: "read_file", ref: id, input: args } }));
    const message = { role: "model" as const, content: content.length ? content : [{ text: "done" }] };
    return Promise.resolve({ message, finishReason: "stop" as const });
  });
  const schema = { inputSchema: genkitZ.any(), outputSchema: genkitZ.any() };
  const definition = { name: "read_file", description: "Reads a file", ...schema };
  const tool = ai.defineTool(definition, guard.read((args: ReadArgs) => Promise.resolve(read(args))));
  await ai.generate({
    model: "scripted",
    prompt: "go",
    tools: [tool],
    use: [guard.requests()],
    maxTurns: 10,
  });
  return requests;
};

const adkLoop = (hasIds: boolean): Loop => async ({ waymark, session, turns, read, signal }) => {
  const left = [...turns], requests: Map<string, string>[] = [], guard = guardAdk(waymark, session);
  const ids = turns.flat().map(({ id }) => id);
  class Scripted extends BaseLlm {
    // deno-lint-ignore no-explicit-any -- a request of the host's own
    override async *generateContentAsync({ contents }: any): AsyncGenerator<any, void> {
      // deno-lint-ignore no-explicit-any -- parts of the host's own
      const parts: any[] = contents.flatMap(({ parts }: { parts: unknown[] }) => parts);
      const results = parts.flatMap(({ functionResponse }) => functionResponse ? [functionResponse] : []);
      requests.push(
        new Map(results.map(({ id, response }, at) => [id ?? ids[at], response.result ?? response.error])),
      );
      const calls = left.shift() ?? [];
      const called = calls.map(({ id, args }) => ({ functionCall: { ...hasIds && { id }, name: "read_file", args } }));
      yield await Promise.resolve({ content: { role: "model", parts: called.length ? called : [{ text: "done" }] } });
    }
    override connect(): never {
      throw new Error("no live connections here");
    }
  }
  const tool = guard.tool({
    name: "read_file",
    description: "Reads a file",
    // deno-lint-ignore no-explicit-any -- a schema of the host's own
    parameters: { type: "OBJECT", properties: { path: { type: "STRING" } } } as any,
    execute: (args: unknown, context?: { abortSignal?: AbortSignal }) => read(args as ReadArgs, context?.abortSignal),
  });
  const agent = new LlmAgent({
    name: "agent",
    model: new Scripted({ model: "scripted" }),
    tools: [tool],
    beforeModelCallback: guard.see,
  });
  const events: Event[] = [], runner = new InMemoryRunner({ agent }), { appName } = runner;
  const { id: sessionId } = await runner.sessionService.createSession({ appName, userId: "u" });
  const asked = { userId: "u", sessionId, newMessage: { role: "user", parts: [{ text: "go" }] } };
  for await (const event of runner.runAsync({ ...asked, ...signal && { abortSignal: signal } })) events.push(event);
  assert(events.length > 0);
  return requests;
};

/** Each host's loop, and how it tells the model of a missing file; one in which a tool that throws ends the run does not. */
const hosts: readonly [name: string, loop: Loop, error: RegExp | undefined][] = [
  ["OpenAI Agents 0.20.0", openaiAgents, /^An error occurred while running the tool\. Please try again\.$/],
  ["Mastra 1.71.0", mastra, /^ENOENT: no such file/],
  ["Genkit 1.42.0", genkitLoop, undefined],
  ["Google ADK 2.0.0", adkLoop(true), /^Error in tool 'read_file': ENOENT: no such file/],
];

const call = (id: string, args: ReadArgs): Call => ({ id, args: { ...args } });

for (const [name, loop, error] of hosts) {
  describe(`the recipe for ${name}`, () => {
    const run = (turns: Setup["turns"], more: Partial<Setup> = {}) =>
      loop({
        waymark: createWaymark({ cache: false, onNotice: () => {} }),
        session: createSession(),
        turns,
        read: readFile,
        ...more,
      });

    it("shows the model 200 lines of a long file and its map, in the host's own arguments", () =>
      inFolder(async (folder) => {
        const path = put(folder, "long.ts", code(300));
        const requests = await run([[call("a", { path })], [call("b", { path, offset: 201, limit: 100 })]]);
        const shown = requests[1]!.get("a")!;
        assertStringIncludes(shown, "function f200(");
        assertFalse(/function f201\(/.test(shown.split("[waymark map")[0]!));
        assertStringIncludes(shown, "PARTIAL, lines 1-200 of 300");
        assertStringIncludes(shown, "Next lines: offset: 201, limit: 100.");
        assertStringIncludes(requests[2]!.get("b")!, "function f300(");
      }));

    it("shows each of several calls at once its own file", () =>
      inFolder(async (folder) => {
        const lengths = [210, 220, 230], paths = lengths.map((lines) => put(folder, `f${lines}.ts`, code(lines)));
        const requests = await run([paths.map((path, at) => call(`c${at}`, { path }))]);
        lengths.forEach((lines, at) =>
          assertStringIncludes(requests[1]!.get(`c${at}`)!, `PARTIAL, lines 1-200 of ${lines}`)
        );
      }));

    it("refers back to what the request still holds, and shows it again to who asks again", () =>
      inFolder(async (folder) => {
        const path = put(folder, "short.ts", code(60));
        const turns = ["a", "b", "c"].map((id) => [call(id, { path })]);
        const requests = await run(turns);
        assertStringIncludes(requests[1]!.get("a")!, "function f60(");
        assertMatch(
          requests[2]!.get("b")!,
          /^\[waymark reference: .*short\.ts lines 1-60 of 60 are unchanged since turn 1/,
        );
        assertStringIncludes(requests[3]!.get("c")!, "function f60(");
      }));

    it("shows a changed file again", () =>
      inFolder(async (folder) => {
        const path = put(folder, "short.ts", code(60));
        let reads = 0;
        const requests = await run(["a", "b"].map((id) => [call(id, { path })]), {
          read(args) {
            const text = readFile(args);
            if (++reads === 1) writeFileSync(path, `${text}\n// edited`);
            return text;
          },
        });
        assertStringIncludes(requests[2]!.get("b")!, "// edited");
      }));

    it("leaves a read of 200 lines, and what is no text of a file's, as they are", () =>
      inFolder(async (folder) => {
        const path = put(folder, "a.ts", code(200));
        const requests = await run([[call("a", { path }), call("b", { path, limit: 5, offset: 3 })]]);
        assertEquals(requests[1]!.get("a"), code(200));
        assertEquals(requests[1]!.get("b"), readFile({ path, limit: 5, offset: 3 }));
      }));

    const skip = loop === genkitLoop ? "Genkit gives its tools no signal" : false, why = skip ? ` (${skip})` : "";
    it(`passes the caller's abort on to the tool, and ends${why}`, { skip }, () =>
      inFolder(async (folder) => {
        const path = put(folder, "long.ts", code(300)), abort = new AbortController(), seen: unknown[] = [];
        const read: Setup["read"] = (_, signal) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener("abort", () => (seen.push("aborted"), reject(signal.reason)), { once: true });
            setTimeout(() => abort.abort(), 10);
            setTimeout(reject, 2_000, new Error("nobody aborted")).unref?.();
          });
        await run([[call("a", { path })], [call("b", { path })]], { read, signal: abort.signal }).catch(() => {});
        assertEquals(seen, ["aborted"]);
      }));

    it("leaves the tool's own error to the host", () =>
      inFolder(async (folder) => {
        const calls = [[call("a", { path: `${folder}/missing.ts` })]];
        const settled = await run(calls).catch((thrown) => thrown);
        if (error) assertMatch((settled as Requests)[1]!.get("a")!, error);
        else assertStringIncludes(String((settled as Error).message ?? settled), "ENOENT");
      }));
  });
}

describe("the recipe for Google ADK", () => {
  it("refers to nothing where the model gives its calls no ids, for the host takes off those it made itself", () =>
    inFolder(async (folder) => {
      const path = put(folder, "short.ts", code(60)), long = put(folder, "long.ts", code(300));
      const requests = await adkLoop(false)({
        waymark: createWaymark({ cache: false }),
        session: createSession(),
        turns: [[call("a", { path })], [call("b", { path })], [call("c", { path: long })]],
        read: readFile,
      });
      assertEquals(requests[2]!.get("b"), code(60));
      assertStringIncludes(requests[3]!.get("c")!, "PARTIAL, lines 1-200 of 300");
    }));
});

describe("the recipe for Genkit", () => {
  it("keeps what a tool gives beside the text of a file", () =>
    inFolder(async (folder) => {
      const path = put(folder, "long.ts", code(300)), ai = genkit({});
      const guard = guardGenkit(createWaymark({ cache: false }), createSession());
      const media = { media: { url: "data:image/png;base64,AAAA", contentType: "image/png" } };
      // deno-lint-ignore no-explicit-any -- messages of the host's own
      const requests: any[][] = [];
      // deno-lint-ignore no-explicit-any -- a request of the host's own
      ai.defineModel({ name: "scripted", supports: { tools: true } }, ({ messages }: any) => {
        requests.push(messages);
        const input = { path }, part = { toolRequest: { name: "read_file", ref: "a", input } };
        const content = requests.length === 1 ? [part] : [{ text: "done" }];
        return Promise.resolve({ message: { role: "model" as const, content }, finishReason: "stop" as const });
      });
      const schema = { inputSchema: genkitZ.any(), outputSchema: genkitZ.any(), multipart: true } as const;
      const run = (args: ReadArgs) => Promise.resolve({ output: readFile(args), content: [media] });
      const tool = ai.defineTool({ name: "read_file", description: "Reads a file", ...schema }, guard.read(run));
      await ai.generate({ model: "scripted", prompt: "go", tools: [tool], use: [guard.requests()] });
      const { toolResponse } = requests[1]!.at(-1).content[0];
      assertEquals(toolResponse.content, [media]);
      assertStringIncludes(toolResponse.output, "function f300(");
    }));
});

describe("every recipe", () => {
  it("has at most ten lines", () => {
    const folder = new URL("recipes/", import.meta.url), files = readdirSync(folder).sort();
    assertEquals(files, ["adk.ts", "genkit.ts", "mastra.ts", "openai_agents.ts"]);
    for (const file of files) {
      const text = readFileSync(new URL(file, folder), "utf8");
      const [recipe = ""] = /^export function guardReads[^]*?^}$/m.exec(text) ?? [];
      const lines = recipe.split("\n").filter((line) => !/^\s*\/\//.test(line));
      assert(lines.length >= 5 && lines.length <= 10, `${file} has ${lines.length} lines`);
    }
  });
});
