/**
 * What the adapter gives, assigned to the types of the real AI SDK, 6 and 7: checked, never run.
 *
 * @module
 */

import * as ai7 from "ai";
import * as ai6 from "ai-6";
import { z } from "zod";
import { aiPrepareStep, aiRequests, aiSummarizeFile, aiTool, aiTools } from "@waymark/waymark/adapters/ai";
import { createCompactor } from "@waymark/waymark/compaction";
import { createSession, createWaymark, dialects } from "@waymark/waymark";

const session = createSession(), waymark = createWaymark({ session });
const compactor = createCompactor({ budget: 100_000, shape: "ai-sdk", session });
const middleware = aiRequests({ session, compactor });
const prepareStep = aiPrepareStep(compactor);
const summarize_file = aiSummarizeFile(waymark);

export async function seven(model: Parameters<typeof ai7.wrapLanguageModel>[0]["model"]): Promise<void> {
  const read = ai7.tool({
    inputSchema: z.object({ path: z.string(), offset: z.number().optional(), limit: z.number().optional() }),
    execute: ({ path }) => ({ content: path }),
    toModelOutput: ({ output }) => ({ type: "text", value: output.content }),
  });
  const shell = ai7.tool({ inputSchema: ai7.jsonSchema<{ command: string }>({}), execute: ({ command }) => command });
  const tools = { ...aiTools({ read, shell }, waymark, { dialect: dialects.plain, session }), summarize_file };
  const set: ai7.ToolSet = tools, given: ai7.LanguageModelMiddleware = middleware;
  const one: ai7.Tool<{ path: string; offset?: number | undefined }, { content: string }> = aiTool(read, waymark, {
    dialect: dialects.plain,
  });
  const guarded = ai7.wrapLanguageModel({ model, middleware: [middleware] });
  const result = await ai7.generateText({ model: guarded, tools, prepareStep, prompt: "Go." });
  const output: { content: string } | string | undefined = result.staticToolResults[0]?.output;
  ai7.streamText({
    model: guarded,
    tools,
    prepareStep: ({ messages, steps }) => prepareStep({ messages, steps }),
    prompt: "",
  });
  new ai7.ToolLoopAgent({ model: guarded, tools, prepareStep });
  void [set, given, one, output];
}

export async function six(model: Parameters<typeof ai6.wrapLanguageModel>[0]["model"]): Promise<void> {
  const read = ai6.tool({
    inputSchema: z.object({ path: z.string(), offset: z.number().optional(), limit: z.number().optional() }),
    execute: ({ path }) => ({ content: path }),
    toModelOutput: ({ output }) => ({ type: "text", value: output.content }),
  });
  const shell = ai6.tool({ inputSchema: ai6.jsonSchema<{ command: string }>({}), execute: ({ command }) => command });
  const tools = { ...aiTools({ read, shell }, waymark, { dialect: dialects.plain, session }), summarize_file };
  const set: ai6.ToolSet = tools, given: ai6.LanguageModelMiddleware = middleware;
  const guarded = ai6.wrapLanguageModel({ model, middleware: [middleware] });
  const result = await ai6.generateText({ model: guarded, tools, prepareStep, prompt: "Go." });
  const output: { content: string } | string | undefined = result.staticToolResults[0]?.output;
  ai6.streamText({
    model: guarded,
    tools,
    prepareStep: ({ messages, steps }) => prepareStep({ messages, steps }),
    prompt: "",
  });
  new ai6.ToolLoopAgent({ model: guarded, tools, prepareStep });
  void [set, given, output];
}
