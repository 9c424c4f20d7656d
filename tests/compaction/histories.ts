/** Random conversations in every shape, and what must hold of any view of one, found out without the code under test. */

import fc from "fast-check";
import type { HostMessage, MessageShape } from "../../src/compaction/types.ts";
import { aiSdkShape, anthropicShape, openaiShape } from "../../src/compaction/shapes.ts";

/** A message of no host: what the shapes below are made from. */
export interface Plain {
  readonly role: "system" | "user" | "assistant";
  readonly words?: string;
  readonly thought?: string;
  readonly calls?: readonly string[];
  readonly results?: readonly (readonly [id: string, text: string])[];
}

/** One thing that happens in a conversation. */
export interface Step {
  readonly what: "human" | "answer" | "round";
  readonly size: number;
  readonly calls: number;
  /** After so many other steps the results come; never. */
  readonly delay: number | "never";
  readonly thinks: boolean;
  /** Words stand beside the results. */
  readonly isMixed: boolean;
}

/** Steps of conversations; most results come at once. */
export function steps(maxLength: number, { late = true } = {}): fc.Arbitrary<Step[]> {
  const delay = late
    ? fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(4), fc.constant("never" as const))
    : fc.constant(0);
  const step = fc.record({
    what: fc.constantFrom("human", "answer", "round", "round", "round" as const),
    size: fc.oneof(fc.nat(40), fc.nat(600)),
    calls: fc.integer({ min: 1, max: 3 }),
    delay,
    thinks: fc.boolean(),
    isMixed: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
  });
  return fc.array(step, { minLength: 1, maxLength, size: "max" });
}

/** What is said in a conversation, step by step: one list of messages for each step. */
export function play(all: readonly Step[]): Plain[][] {
  const due: { at: number; id: string; size: number; isMixed: boolean }[] = [];
  return all.map(({ what, size, calls, delay, thinks, isMixed }, at) => {
    const said: Plain[] = [];
    const flush = (): void => {
      const now = due.filter((result) => result.at <= at);
      for (const result of now) due.splice(due.indexOf(result), 1);
      if (!now.length) return;
      const results = now.map(({ id, size }) => [id, `result of ${id} ${"r".repeat(size)}`] as const);
      said.push({ role: "user", results, ...(now.some((result) => result.isMixed) ? { words: `aside ${at}` } : {}) });
    };
    if (what === "human") said.push({ role: "user", words: `request ${at} ${"h".repeat(size)}` });
    const thought = thinks ? { thought: `thought ${at}` } : {};
    if (what === "answer") said.push({ role: "assistant", words: `answer ${at} ${"a".repeat(size)}`, ...thought });
    if (what === "round") {
      const ids = Array.from({ length: calls }, (_, index) => `call_${at}_${index}`);
      said.push({ role: "assistant", calls: ids, ...thought });
      ids.forEach((id, index) => {
        // Of parallel calls the first may be answered before the others.
        if (delay !== "never") due.push({ at: at + (index ? delay : Math.min(delay, 1)), id, size, isMixed });
      });
    }
    flush();
    return said;
  });
}

/** A host's shape of messages, and how a plain one is said in it. */
export interface Host {
  readonly name: string;
  readonly shape: MessageShape;
  say(plain: Plain): HostMessage[];
}

const anthropic: Host = {
  name: "anthropic",
  shape: anthropicShape,
  say({ role, words, thought, calls = [], results = [] }) {
    const blocks = [
      ...(thought ? [{ type: "thinking", thinking: thought, signature: "c2ln" }] : []),
      ...results.map(([id, text]) => ({ type: "tool_result", tool_use_id: id, content: text })),
      ...(words ? [{ type: "text", text: words }] : []),
      ...calls.map((id) => ({ type: "tool_use", id, name: "read", input: { path: `${id}.ts` } })),
    ];
    return [{ role, content: blocks.length === 1 && words ? words : blocks }];
  },
};

const chat: Host = {
  name: "openai chat",
  shape: openaiShape,
  say({ role, words, calls = [], results = [] }) {
    const made = calls.map((id) => ({
      id,
      type: "function",
      function: { name: "read", arguments: `{"path":"${id}"}` },
    }));
    return [
      ...results.map(([id, text]) => ({ role: "tool", tool_call_id: id, content: text })),
      ...(words || calls.length
        ? [{ role, content: words ?? null, ...(calls.length ? { tool_calls: made } : {}) }]
        : []),
    ];
  },
};

const responses: Host = {
  name: "openai responses",
  shape: openaiShape,
  say({ role, words, thought, calls = [], results = [] }) {
    const type = role === "assistant" ? "output_text" : "input_text";
    return [
      ...(thought ? [{ type: "reasoning", id: thought, summary: [{ type: "summary_text", text: thought }] }] : []),
      ...results.map(([id, output]) => ({ type: "function_call_output", call_id: id, output })),
      ...(words ? [{ type: "message", role, content: [{ type, text: words }] }] : []),
      ...calls.map((id) => ({ type: "function_call", call_id: id, name: "read", arguments: `{"path":"${id}"}` })),
    ];
  },
};

const aiSdk: Host = {
  name: "ai-sdk",
  shape: aiSdkShape,
  say({ role, words, thought, calls = [], results = [] }) {
    const parts = [
      ...(thought ? [{ type: "reasoning", text: thought }] : []),
      ...(words && role === "assistant" ? [{ type: "text", text: words }] : []),
      ...calls.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "read", input: { path: toolCallId } })),
    ];
    const told = results.map(([toolCallId, value]) => ({
      type: "tool-result",
      toolCallId,
      toolName: "read",
      output: { type: "text", value },
    }));
    return [
      ...(told.length ? [{ role: "tool", content: told }] : []),
      ...(parts.length ? [{ role, content: parts }] : []),
      ...(words && role !== "assistant" ? [{ role, content: words }] : []),
    ];
  },
};

/** All of them. */
export const HOSTS: readonly Host[] = [anthropic, chat, responses, aiSdk];

/** Calls and results of a message, found without the shapes: in whatever object has their names. */
function idsIn(value: unknown): { calls: string[]; results: string[] } {
  const found = { calls: [] as string[], results: [] as string[] };
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) return value.forEach(visit);
    const { type, id, tool_use_id, tool_call_id, call_id, toolCallId, function: made } = value as Record<
      string,
      unknown
    >;
    if (type === "tool_use" || (type === "function" && made)) found.calls.push(String(id));
    if (type === "function_call") found.calls.push(String(call_id));
    if (type === "tool-call") found.calls.push(String(toolCallId));
    if (type === "tool-result") found.results.push(String(toolCallId));
    if (type === "function_call_output") found.results.push(String(call_id));
    const result = tool_use_id ?? tool_call_id;
    if (result !== undefined) found.results.push(String(result));
    Object.values(value).forEach(visit);
  };
  visit(value);
  return found;
}

const textOf = (message: HostMessage): string => JSON.stringify(message);
const isSummary = (message: HostMessage): boolean => /\[waymark summary of /.test(textOf(message));

/** Whether words of a person stand in a message, found without the shapes. */
function isSaid({ role, content }: HostMessage): boolean {
  if (role !== "user") return false;
  if (typeof content === "string") return !content.startsWith("[waymark ");
  return (content as HostMessage[]).some(({ text }) => typeof text === "string" && !text.startsWith("[waymark "));
}

/** Calls of a view that nobody answered or will answer, and results of no call: whatever messages it is made of. */
export function orphans(view: readonly HostMessage[]): string[] {
  const ids = view.map(idsIn), wrong: string[] = [];
  ids.forEach(({ calls, results }, at) => {
    const before = new Set(ids.slice(0, at).flatMap(({ calls }) => calls));
    for (const id of results) if (!before.has(id)) wrong.push(`the result of ${id} has no call before it`);
    for (const id of calls) {
      // A call that uses an id again speaks for the one before.
      const speaks = ids.slice(at + 1).some((other) => other.results.includes(id) || other.calls.includes(id));
      if (!speaks && view.slice(at + 1).filter(isSaid).length >= GIVEN_UP) wrong.push(`nobody waits for ${id}`);
      if (!speaks && view.slice(at + 1).some(isSummary)) wrong.push(`${id} has no result, and stands before a summary`);
    }
  });
  return wrong;
}

/** How many calls of a view were given up. */
export function givenUp(view: readonly HostMessage[]): number {
  return view.map(textOf).join("\n").split("[waymark note: no result of this tool call came]").length - 1;
}

/** After so many messages of people nobody waits for the result of a call any more. */
const GIVEN_UP = 2;

/**
 * What is wrong with a view: orphans, summaries in the middle of a pair, answers torn apart. Nothing, where it is in order.
 * A result whose call has left may be told in words; a call that stands there has its result, or still waits for it.
 */
export function faults(view: readonly HostMessage[], history: readonly HostMessage[]): string[] {
  const wrong: string[] = [], ids = view.map(idsIn);
  const given = new Set(history.flatMap((message) => idsIn(message).results));
  const callAt = new Map<string, number>(), resultAt = new Map<string, number>();
  ids.forEach(({ calls }, index) => calls.forEach((id) => callAt.set(id, index)));
  ids.forEach(({ results }, index) => results.forEach((id) => resultAt.set(id, index)));
  for (const [id, at] of resultAt) {
    const call = callAt.get(id);
    if (call === undefined || call > at) wrong.push(`the result of ${id} has no call before it`);
    else if (view.slice(call, at).some(isSummary)) wrong.push(`a summary stands between ${id} and its result`);
  }
  for (const [id, at] of callAt) {
    if (resultAt.has(id)) continue;
    if (given.has(id)) wrong.push(`the call ${id} has lost its result`);
    const since = view.slice(at + 1);
    if (since.filter(isSaid).length >= GIVEN_UP) wrong.push(`the call ${id} has no result, and nobody waits for it`);
    if (since.some(isSummary)) wrong.push(`the call ${id} has no result, and stands before a summary`);
  }
  // The parts of one answer, reasoning among them, stay together.
  const shown = new Set(view);
  history.forEach((message, index) => {
    const next = history[index + 1];
    // A chat's message with calls ends an answer: results stand right behind it.
    if (!next || !isAnswer(message) || !isAnswer(next) || message["tool_calls"]) return;
    if (shown.has(message) !== shown.has(next)) wrong.push(`an answer is torn at message ${index}`);
  });
  return wrong;
}

function isAnswer({ role, type }: HostMessage): boolean {
  return role === "assistant" || type === "function_call" || type === "reasoning";
}
