/**
 * What `adapters/langchain` gives is what LangChain and deepagents take, by their own types.
 *
 * @module
 */

import { createWaymark } from "@waymark/waymark";
import { backendSource, deepagentsMiddleware, langchainMiddleware } from "@waymark/waymark/adapters/langchain";
import { createCompactor } from "@waymark/waymark/compaction";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import { CompositeBackend, createDeepAgent, FilesystemBackend, StateBackend, StoreBackend } from "deepagents";
import { type AgentMiddleware, createAgent, createMiddleware, tool, ToolMessage } from "langchain";
import { ScriptedModel } from "./langchain_agents.ts";

const host = { createMiddleware, ToolMessage, tool };
const waymark = createWaymark({ cache: false }), model = new ScriptedModel(() => "done");
const digests = toolUseSummary({ session: "s-1" }), compactor = createCompactor({ budget: 100_000 });

/** The middleware, with every option. */
export const guard: AgentMiddleware = langchainMiddleware(host, waymark, { digests, compactor, toolErrors: "throw" });

/** An agent with it, none of its types lost. */
export const agent = createAgent({ model, tools: [], middleware: [langchainMiddleware(host, waymark)] as const });
/** What it answers is typed as without. */
export const answer: Promise<string> = agent.invoke({ messages: [] }).then(({ messages }) => messages.at(-1)!.text);
// @ts-expect-error -- a state that no middleware has
export const nothing: unknown = agent.invoke({ messages: [] }).then(({ nothing }) => nothing);

/** Every backend is a source. */
export const sources = [
  new StateBackend(),
  new StoreBackend(),
  new FilesystemBackend({ rootDir: ".", virtualMode: true }),
  new CompositeBackend(new StateBackend(), {}),
].map((backend) => backendSource(backend));

/** A deep agent with the middleware, with it in a sub-agent too. */
export const deep = createDeepAgent({
  model,
  middleware: [deepagentsMiddleware({ createMiddleware, ToolMessage }, waymark, { files: "disk" })],
  subagents: [{
    name: "reader",
    description: "Reads.",
    systemPrompt: "Read.",
    middleware: [deepagentsMiddleware(host, waymark, { files: "disk" })],
  }],
});
