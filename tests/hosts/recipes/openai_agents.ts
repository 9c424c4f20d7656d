/**
 * OpenAI Agents: a read tool that is guarded, and the filter by which Waymark sees the requests that are sent.
 * The session is that of one conversation: each conversation, and each sub-agent, has guards of its own.
 */

import { type CallModelInputFilter, tool } from "@openai/agents";
import type { Session, Waymark } from "@waymark/waymark";

/** For `new Agent({ tools: [guard.tool({ name: "read_file", … })] })` and `new Runner({ callModelInputFilter: guard.filter })`. */
export function guardReads(waymark: Waymark, session: Session) {
  // deno-lint-ignore no-explicit-any -- the host's own details of a call
  const facts = (_: unknown, call: any) => ({ callId: call?.toolCall?.callId, signal: call?.signal, session });
  const make: typeof tool = (options) =>
    tool({ ...options, execute: waymark.wrap(options.execute, { name: options.name ?? "", facts }) });
  const filter: CallModelInputFilter = ({ modelData }) => (
    session.nextTurn(), session.reconcile(modelData.input), modelData
  );
  return { tool: make, filter };
}
