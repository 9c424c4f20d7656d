/**
 * Mastra: a read tool that is guarded, and the processor by which Waymark sees the requests that are sent.
 * The session is that of one conversation: each conversation, and each sub-agent, has guards of its own.
 */

import type { Processor } from "@mastra/core/processors";
import { createTool } from "@mastra/core/tools";
import type { Session, Waymark } from "@waymark/waymark";

/** For `new Agent({ tools: { read: guard.tool({ id: "read_file", … }) }, inputProcessors: [guard.requests] })`. */
export function guardReads(waymark: Waymark, session: Session) {
  // deno-lint-ignore no-explicit-any -- the host's own context of a call
  const facts = (call: any) => ({ callId: call?.agent?.toolCallId, signal: call?.abortSignal, session });
  const make: typeof createTool = (options) =>
    createTool({ ...options, execute: waymark.wrap(options.execute!, { name: options.id, facts }) });
  const see: Processor["processLLMRequest"] = ({ prompt }) => (session.nextTurn(), session.reconcile(prompt));
  return { tool: make, requests: { id: "waymark", processLLMRequest: see } satisfies Processor };
}
