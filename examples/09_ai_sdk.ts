/**
 * The AI SDK's own loop with guarded tools: a long read comes back as 200 lines and the map, what the map names is read by its
 * lines, and what the conversation holds already comes back as one line. The model here is a script, so that no key is needed;
 * any other one of the SDK takes its place.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { generateText, isStepCount, jsonSchema, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createSession, createWaymark, dialects, readGuideline } from "@waymark/waymark";
import { aiRequests, aiSummarizeFile, aiTools } from "@waymark/waymark/adapters/ai";

const project = await mkdtemp(join(tmpdir(), "waymark-example-")), path = join(project, "routes.ts");
await writeFile(
  path,
  Array.from({ length: 400 }, (_, index) => `export function route${index}() { return "/${index}"; }\n`).join(""),
);

// The tools as they were.
const read_file = tool({
  description: "Reads a file, or `limit` lines of it from line `offset` on.",
  inputSchema: jsonSchema<{ path: string; offset?: number; limit?: number }>({
    type: "object",
    properties: { path: { type: "string" }, offset: { type: "integer" }, limit: { type: "integer" } },
    required: ["path"],
  }),
  async execute({ path, offset = 1, limit = Infinity }) {
    return (await readFile(path, "utf8")).split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
  },
});

// What the script has the model do: it reads all, then what it looks for by the lines of the map, then that once more.
const script = [{ path }, { path, offset: 350, limit: 5 }, { path, offset: 350, limit: 5 }];
const results: string[] = [];
const scripted = new MockLanguageModelV4({
  doGenerate({ prompt }) {
    const last = prompt.at(-1)!, part = last.role === "tool" ? last.content[0] : undefined;
    if (part?.type === "tool-result" && part.output.type === "text") results.push(part.output.value);
    const input = script.shift(), id = `call_${script.length}`;
    return Promise.resolve({
      content: input
        ? [{ type: "tool-call", toolCallId: id, toolName: "read_file", input: JSON.stringify(input) }]
        : [{ type: "text", text: "route349 returns /349." }],
      finishReason: { unified: input ? "tool-calls" : "stop", raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    });
  },
});

// One conversation: its session, its tools, its model.
const waymark = createWaymark({ root: project }), session = createSession();
const tools = {
  ...aiTools({ read_file }, waymark, { dialect: dialects.plain, session }),
  summarize_file: aiSummarizeFile(waymark),
};
const model = wrapLanguageModel({ model: scripted, middleware: aiRequests({ session }) }); // behind any other middleware
const { text, steps } = await generateText({
  model,
  tools,
  instructions: readGuideline(),
  prompt: "What does route349 return?",
  stopWhen: isStepCount(10),
});

const [whole, part, again] = results as [string, string, string];
assertStringIncludes(whole, "PARTIAL, lines 1-200 of 400");
assertEquals(whole.includes('"/349"'), false);
assert(part.includes('route349() { return "/349"; }'));
assertStringIncludes(again, "lines 350-354 of 400 are unchanged since turn 2");
assertEquals([steps.length, text, session.turn], [4, "route349 returns /349.", 4]);

console.log(`1. ${whole.split("\n").find((line) => line.startsWith("[waymark map"))}`);
console.log(`2. ${part.split("\n")[0]}\n3. ${again}\n${text}`);
await waymark.close();
await rm(project, { recursive: true });
