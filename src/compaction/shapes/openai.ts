/**
 * Messages of OpenAI: those of chat completions, and the items of the Responses API and of the Agents SDK. Pure.
 *
 * @module
 */

import { plainJson } from "../binary.ts";
import { NO_RESULT, renderLateResult } from "../own_text.ts";
import { approvalText, type Fields, fieldsOf, isMedia, type Piece, type Reading, shapeOf, textOf } from "../pieces.ts";
import type { MessageShape } from "../types.ts";

/** The shape `openai`. */
export const openaiShape: MessageShape = shapeOf({
  name: "openai",
  read: (message) => message.role === undefined ? readItem(message) : readMessage(message),
  user: (text) => ({ role: "user", content: text }),
  withResults(message, texts) {
    const place = placeOf(message), text = place && texts.get(place.id);
    if (!place || text === undefined) return message;
    const before = message[place.field], isTyped = typeof before === "object" && !Array.isArray(before);
    const after = isTyped ? { type: "text", text } : text;
    return before === text || (isTyped && fieldsOf(before).text === text)
      ? message
      : { ...message, [place.field]: after };
  },
  retell(message, calls) {
    const place = placeOf(message);
    if (!place || !calls.has(place.id)) return [message];
    return [{ role: "user", content: renderLateResult(place.id, textOf(message[place.field])) }];
  },
  giveUp(message, calls) {
    if (message["role"] === undefined) return giveUpItem(message);
    const { function_call } = message,
      results = readCalls(message).flatMap((piece): Fields[] => {
        if (piece.kind !== "call" || !calls.has(piece.id)) return [];
        const isOld = function_call !== undefined && piece.id === functionId(piece.name);
        return [
          isOld
            ? { role: "function", name: piece.name, content: NO_RESULT }
            : { role: "tool", tool_call_id: piece.id, content: NO_RESULT },
        ];
      });
    return results;
  },
});

/** The result of an item that is a call; `undefined` where it must be something else than words. */
function giveUpItem(item: Fields): readonly Fields[] | undefined {
  const { type, call_id, callId, name, id } = item;
  if (type === "mcp_approval_request") {
    return [{ type: "mcp_approval_response", approval_request_id: id, approve: false, reason: NO_RESULT }];
  }
  if (type !== "function_call" && type !== "custom_tool_call") return undefined;
  if (call_id !== undefined) return [{ type: `${type}_output`, call_id, output: NO_RESULT }];
  return [{ type: `${type}_result`, name, callId, status: "incomplete", output: { type: "text", text: NO_RESULT } }];
}

/** Where a message holds the result of a tool as words: none where it must be something else, a screenshot or the like. */
function placeOf(message: Fields): { id: string; field: string } | undefined {
  const { role, type, tool_call_id, name } = message;
  if (role === "tool" && typeof tool_call_id === "string") return { id: tool_call_id, field: "content" };
  if (role === "function" && typeof name === "string") return { id: functionId(name), field: "content" };
  const id = callId(message), isPlain = /^(function|custom_tool)_call_(output|result)$/.test(String(type));
  return id !== undefined && isPlain ? { id, field: "output" } : undefined;
}

/** A call of the time before calls had ids is known by its function's name. */
function functionId(name: string): string {
  return `function:${name}`;
}

function callId({ call_id, callId }: Fields): string | undefined {
  return [call_id, callId].find((id) => typeof id === "string") as string | undefined;
}

function readMessage(message: Fields): Reading | undefined {
  const { role, content, name } = message;
  const words = typeof content === "string" ? [content] : Array.isArray(content) ? content : [];
  const pieces = words.map(readPart);
  if (role === "system" || role === "developer") return { role: "system", pieces };
  if (role === "user") return { role, pieces };
  if (role === "assistant") return { role, pieces: [...pieces, ...readCalls(message)] };
  const place = placeOf(message);
  if (place) return { role: "tool", pieces: [{ kind: "result", id: place.id, text: textOf(content) }] };
  return role === "function" || role === "tool" ? { role: "tool", pieces: [...pieces, ...named(name)] } : undefined;
}

function named(name: unknown): Piece[] {
  return typeof name === "string" ? [{ kind: "other", text: name }] : [];
}

function readPart(part: unknown): Piece {
  if (typeof part === "string") return { kind: "words", text: part };
  const { type, text, refusal } = fieldsOf(part);
  if (typeof text === "string" || typeof refusal === "string") return { kind: "words", text: textOf(text ?? refusal) };
  return { kind: "other", text: isMedia(type) ? `[${type}]` : plainJson(part) };
}

function readCalls({ tool_calls, function_call }: Fields): Piece[] {
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).map((call): Piece => {
    const { id, function: made, custom } = fieldsOf(call), { name, arguments: args, input } = fieldsOf(made ?? custom);
    return { kind: "call", id: String(id), name: String(name), text: textOf(args ?? input) };
  });
  if (!function_call) return calls;
  const { name, arguments: args } = fieldsOf(function_call);
  return [...calls, { kind: "call", id: functionId(String(name)), name: String(name), text: textOf(args) }];
}

/** An item that is no message. What an answer is made of is the assistant's, whatever it is. */
function readItem(item: Fields): Reading | undefined {
  const { type, name, arguments: args, input, output, result, id, approval_request_id } = item, call = callId(item);
  if (typeof type !== "string") return undefined;
  if (call !== undefined && /_(output|result)$/.test(type)) {
    return { role: "tool", pieces: [{ kind: "result", id: call, text: textOf(output ?? result) }] };
  }
  if (typeof approval_request_id === "string") {
    const text = approvalText(`approve: ${item["approve"]}`, item["reason"]);
    return { role: "tool", pieces: [{ kind: "result", id: approval_request_id, text }] };
  }
  const calls = call ?? (type === "mcp_approval_request" && typeof id === "string" ? id : undefined);
  if (calls !== undefined) {
    const text = textOf(args ?? input) || plainJson(item["action"] ?? item["operation"] ?? {});
    const label = typeof name === "string" ? name : type.replace(/_call$/, "");
    return { role: "assistant", pieces: [{ kind: "call", id: calls, name: label, text }] };
  }
  if (type === "reasoning") {
    return { role: "assistant", pieces: [{ kind: "thought", text: textOf(item["summary"] ?? item["content"]) }] };
  }
  return { role: "assistant", pieces: [{ kind: "other", text: plainJson(item) }] };
}
