/**
 * Model messages of the AI SDK. Pure.
 *
 * @module
 */

import { plainJson } from "../binary.ts";
import { NO_RESULT, renderLateResult } from "../own_text.ts";
import { approvalText, type Fields, fieldsOf, isMedia, type Piece, type Reading, shapeOf, textOf } from "../pieces.ts";
import type { HostMessage, MessageShape } from "../types.ts";

/** The shape `ai-sdk`. */
export const aiSdkShape: MessageShape = shapeOf({
  name: "ai-sdk",
  read({ role, content }): Reading | undefined {
    if (typeof content !== "string" && !Array.isArray(content)) return undefined;
    const parts: unknown[] = typeof content === "string" ? [content] : content;
    const isKnown = role === "system" || role === "user" || role === "assistant" || role === "tool";
    return isKnown ? { role, pieces: parts.map(readPart) } : undefined;
  },
  user: (text) => ({ role: "user", content: text }),
  withResults: (message, texts) =>
    mapResults(message, (part, id) => {
      const text = texts.get(id);
      if (text === undefined || text === resultText(part)) return part;
      if (!("output" in part)) return { ...part, result: text };
      const { type, providerOptions } = fieldsOf(part.output);
      const isError = typeof type === "string" && type.startsWith("error");
      const kept = providerOptions === undefined ? {} : { providerOptions };
      return { ...part, output: { type: isError ? "error-text" : "text", value: text, ...kept } };
    }),
  retell(message, calls) {
    const late: string[] = [];
    const kept = mapResults(message, (part, id) => {
      if (!calls.has(id)) return part;
      late.push(renderLateResult(id, resultText(part)));
      return undefined;
    });
    if (kept === message) return [message];
    // A tool's message holds nothing but results: the words come in one of their own, behind those that have their call.
    const words = { role: "user", content: late.join("\n\n") };
    return (kept["content"] as unknown[]).length ? [kept, words] : [words];
  },
  giveUp({ content }, calls) {
    const all = (Array.isArray(content) ? content : []).map(fieldsOf);
    const isTheirs = ({ type, toolCallId, providerExecuted }: Fields): boolean =>
      type === "tool-call" && providerExecuted === true && calls.has(String(toolCallId));
    if (all.some(isTheirs)) return undefined; // a tool of the provider's side
    const parts = all.flatMap(({ type, toolCallId, toolName, approvalId }): Fields[] => {
      const isApproval = type === "tool-approval-request";
      if (isApproval && calls.has(approvalName(approvalId))) {
        return [{ type: "tool-approval-response", approvalId, approved: false, reason: NO_RESULT }];
      }
      if (type !== "tool-call" || !calls.has(String(toolCallId))) return [];
      return [{ type: "tool-result", toolCallId, toolName, output: { type: "error-text", value: NO_RESULT } }];
    });
    return [{ role: "tool", content: parts }];
  },
});

function readPart(part: unknown): Piece {
  if (typeof part === "string") return { kind: "words", text: part };
  const { type, text, toolCallId, toolName, input, args, approvalId, approved, reason } = fieldsOf(part);
  switch (type) {
    case "text":
      return { kind: "words", text: textOf(text) };
    case "reasoning":
      return { kind: "thought", text: textOf(text) };
    case "tool-call":
      return { kind: "call", id: String(toolCallId), name: String(toolName), text: plainJson(input ?? args) };
    case "tool-result":
      return { kind: "result", id: String(toolCallId), text: resultText(fieldsOf(part)) };
    case "tool-approval-request":
      return { kind: "call", id: approvalName(approvalId), name: "approval", text: String(toolCallId) };
    case "tool-approval-response":
      return { kind: "result", id: approvalName(approvalId), text: approvalText(`approved: ${approved}`, reason) };
    default:
      return { kind: "other", text: isMedia(type) ? `[${type}]` : plainJson(part) };
  }
}

/** Approvals are pairs like calls and results, and have ids of their own. */
function approvalName(id: unknown): string {
  return `approval:${id}`;
}

/** The text of a result: typed output, or what the versions before it had. */
function resultText({ output, result }: Fields): string {
  const { type, value, reason } = fieldsOf(output);
  if (type === "execution-denied") return textOf(reason ?? "denied");
  return textOf(value ?? output ?? result);
}

/** The message with its tools' results changed, or left out; itself where none is. */
function mapResults(message: HostMessage, change: (part: Fields, id: string) => Fields | undefined): HostMessage {
  const { content, role } = message;
  if (role !== "tool" || !Array.isArray(content)) return message;
  const parts = content.map((part) => {
    const { type, toolCallId } = fieldsOf(part);
    return type === "tool-result" ? change(part, String(toolCallId)) : part;
  });
  if (parts.every((part, index) => part === content[index])) return message;
  return { ...message, content: parts.filter((part) => part !== undefined) };
}
