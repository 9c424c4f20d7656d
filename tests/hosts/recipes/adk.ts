/**
 * Google ADK: a read tool that is guarded, and the callback by which Waymark sees the requests that are sent.
 * The session is that of one conversation: each conversation, and each sub-agent, has guards of its own.
 */

import { FunctionTool, type SingleBeforeModelCallback } from "@google/adk";
import type { Session, Waymark } from "@waymark/waymark";

/** For `new LlmAgent({ tools: [guard.tool({ name: "read_file", … })], beforeModelCallback: guard.see })`. */
export function guardReads(waymark: Waymark, session: Session) {
  // deno-lint-ignore no-explicit-any -- the host's own context of a call
  const facts = (call: any) => ({ callId: call?.functionCallId, signal: call?.abortSignal, session });
  const tool = (options: ConstructorParameters<typeof FunctionTool>[0]) =>
    new FunctionTool({ ...options, execute: waymark.wrap(options.execute, { name: options.name ?? "", facts }) });
  const see: SingleBeforeModelCallback = ({ request }) =>
    void (session.nextTurn(), session.reconcile(request.contents));
  return { tool, see };
}
