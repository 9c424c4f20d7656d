/** What a host keeps of a conversation and would send next, as plain data; and what of it a model can still read. */

import { linesIn, type ToolKind } from "./world.ts";

/** The shapes messages come in. */
export const SHAPES = ["anthropic", "openai", "responses", "ai-sdk", "ui"] as const;
export type Shape = typeof SHAPES[number];

/** A map as it was given: of which bytes. */
export interface GivenMap {
  readonly file: string;
  readonly hash: string;
  readonly text: string;
}

/** Lines a tool gave. */
export interface Shown {
  readonly file: string;
  /** As the call named it. */
  readonly path: string;
  readonly start: number;
  readonly lines: readonly string[];
  /** What the disk had as the tool began, and how many of the lines were those, from the first one. */
  readonly hash: string;
  readonly verified: number;
}

/** One tool result in a conversation. */
export interface Entry {
  readonly id: string;
  readonly turn: number;
  readonly kind: ToolKind;
  /** What the host puts into the message: text, text parts, or plain JSON. */
  readonly payload: unknown;
  /** The lines of a file in it, as the tool gave them. */
  readonly shown?: Shown | undefined;
  readonly maps: readonly GivenMap[];
}

type Part = { type: string; text: string };

/** What a host of this shape makes of a tool's result. */
export function payloadOf(shape: Shape, result: unknown): unknown {
  if (typeof result === "string") return result;
  const content = Array.isArray(result) ? result : (result as { content: unknown }).content;
  if (Array.isArray(content)) return structuredClone(content);
  return shape === "ai-sdk" || shape === "ui" ? structuredClone(result) : JSON.stringify(result);
}

/** The messages of the next request. */
export function messagesOf(shape: Shape, entries: readonly Entry[]): unknown[] {
  const messages: unknown[] = [{ role: "user", content: "Fix the bug." }];
  for (const { id, payload } of entries) {
    if (shape === "anthropic") {
      messages.push(
        { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: payload }] },
      );
    } else if (shape === "openai") {
      const call = { id, type: "function", function: { name: "read", arguments: "{}" } };
      messages.push({ role: "assistant", content: null, tool_calls: [call] });
      messages.push({ role: "tool", tool_call_id: id, content: payload });
    } else if (shape === "responses") {
      messages.push({ type: "function_call", call_id: id, name: "read", arguments: "{}" });
      messages.push({ type: "function_call_output", call_id: id, output: payload });
    } else if (shape === "ai-sdk") {
      const type = typeof payload === "string" ? "text" : Array.isArray(payload) ? "content" : "json";
      const output = { type, value: payload };
      messages.push({
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: {} }],
      });
      messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "read", output }] });
    } else {
      const part = { type: "tool-read", toolCallId: id, state: "output-available", input: {}, output: payload };
      messages.push({ role: "assistant", parts: [{ type: "step-start" }, part] });
    }
  }
  return messages;
}

/** All a model can read of a result: what stands for the file first. */
export function textsOf({ kind, payload }: Pick<Entry, "kind" | "payload">): string[] {
  if (Array.isArray(payload)) return (payload as Part[]).map(({ text }) => text);
  const value = typeof payload === "string" && kind === "object" ? jsonIn(payload) : payload;
  if (typeof value === "string") return [value];
  const { content, annotation } = value as { content: string; annotation?: { text: string } };
  return [content, ...annotation ? [annotation.text] : []];
}

/** The JSON a text begins with, on one line; the text itself where it is none. What a host appends is no part of it. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.split("\n", 1)[0]!);
  } catch {
    return text;
  }
}

/** How many of the lines that a result gave stand in it, from the first one. */
export function standingLines(entry: Entry): number {
  const { shown, kind } = entry, [body = ""] = textsOf(entry);
  if (!shown) return 0;
  const lines = linesIn(kind, body);
  let same = 0;
  while (same < shown.lines.length && lines[same] === shown.lines[same]) same++;
  return same;
}

/** Whether a map stands whole in a result. */
export function holdsMap(entry: Entry, text: string): boolean {
  return textsOf(entry).some((given) => `\n${given}\n`.includes(`\n${text}\n`));
}

/** What hosts do to results that stay. */
export const CHANGES = ["blank", "head", "middle", "append"] as const;
export type Change = typeof CHANGES[number];

const PLACEHOLDER = "[Old tool result content cleared]";
const REMINDER = "\n\n<system-reminder>Mind the tests.</system-reminder>";

/** A result as a host changed it. */
export function changed(entry: Entry, how: Change, share: number): Entry {
  const { payload } = entry;
  if (how === "blank") {
    return { ...entry, payload: Array.isArray(payload) ? [{ type: "text", text: PLACEHOLDER }] : PLACEHOLDER };
  }
  if (Array.isArray(payload)) {
    const [first, ...rest] = payload as Part[];
    if (how === "append") return { ...entry, payload: [...payload, { type: "text", text: REMINDER.trim() }] };
    return { ...entry, payload: [{ ...first!, text: shortened(first!.text, how, share) }, ...rest] };
  }
  if (typeof payload === "string") {
    return { ...entry, payload: how === "append" ? payload + REMINDER : shortened(payload, how, share) };
  }
  const value = payload as { content: string };
  return how === "append" ? entry : { ...entry, payload: { ...value, content: shortened(value.content, how, share) } };
}

function shortened(text: string, how: "head" | "middle", share: number): string {
  const lines = text.split("\n"), keep = Math.floor(lines.length * share);
  if (lines.length < 3) return `${text.slice(0, Math.floor(text.length * share))}[...]`;
  const tail = how === "middle" ? lines.slice(-Math.max(1, keep >> 1)) : [];
  return [...lines.slice(0, Math.min(keep, lines.length - tail.length - 1)), "[... cut by the host]", ...tail].join(
    "\n",
  );
}
