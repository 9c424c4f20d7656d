/**
 * Types of the Anthropic adapter against those of the real SDK: everything it gives is taken without a cast.
 *
 * @module
 */

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import type { BetaRunnableTool } from "@anthropic-ai/sdk/lib/tools/BetaRunnableTool";
import type { BetaToolRunner } from "@anthropic-ai/sdk/lib/tools/BetaToolRunner";
import { betaAgentToolset20260401, betaReadTool } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { createSession, createWaymark, dialects } from "@waymark/waymark";
import {
  anthropicSummarizeFile,
  anthropicTool,
  anthropicTools,
  followRunner,
  noteRequest,
} from "@waymark/waymark/adapters/anthropic";
import { createCompactor } from "@waymark/waymark/compaction";
import { z } from "zod";

const client = new Anthropic({ apiKey: "none" }), workdir = ".";
const session = createSession(), waymark = createWaymark({ session });
const compactor = createCompactor({ budget: 1000 });

const one: BetaRunnableTool = anthropicTool(betaReadTool({ workdir }), waymark, { workdir, session });
const summarize: BetaRunnableTool = anthropicSummarizeFile(waymark, { workdir });
const zod = betaZodTool({
  name: "open",
  description: "",
  inputSchema: z.object({ path: z.string() }),
  run: ({ path }) => path,
});
const typed: typeof zod = anthropicTool(zod, waymark, { dialect: dialects.plain });
const list: BetaRunnableTool[] = anthropicTools(betaAgentToolset20260401({ workdir }), waymark, { workdir });
const memory: BetaRunnableTool = anthropicTool(betaMemoryTool(new BetaLocalFilesystemMemoryTool()), waymark);
const mixed = anthropicTools(
  [one, typed, { type: "web_search_20250305" as const, name: "web_search" as const }, summarize, memory, ...list],
  waymark,
);

const params = { model: "claude-opus-5-5", max_tokens: 9, messages: [{ role: "user" as const, content: "?" }] };
const runner: BetaToolRunner<boolean> = followRunner(
  client.beta.messages.toolRunner({ ...params, tools: mixed }),
  { session, compactor },
);
const streaming: BetaToolRunner<true> = followRunner(
  client.beta.messages.toolRunner({ ...params, stream: true, tools: mixed }),
  { session },
);
const overThread = followRunner(
  client.beta.messages.thread({ ...params, tools: mixed }).toolRunner({ max_iterations: 3 }),
  { session },
);
noteRequest(runner.params, { session, compactor });
noteRequest(params, { session });
const own: Anthropic.MessageCreateParams = { ...params, tools: [{ name: "read", input_schema: { type: "object" } }] };
noteRequest(own, { session, compactor });

export { overThread, streaming };
