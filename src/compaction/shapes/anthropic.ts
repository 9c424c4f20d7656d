/**
 * Messages of Anthropic's Messages API. Pure.
 *
 * @module
 */

import { NO_RESULT, renderLateResult } from "../own_text.ts";
import { type Fields, fieldsOf, isMedia, type Piece, type Reading, shapeOf, textOf } from "../pieces.ts";
import { plainJson } from "../binary.ts";
import type { HostMessage, MessageShape } from "../types.ts";

/** The shape `anthropic`. */
export const anthropicShape: MessageShape = shapeOf({
  name: "anthropic",
  read(message): Reading | undefined {
    const { role, content } = message;
    if (typeof content !== "string" && !Array.isArray(content)) return undefined;
    const blocks: unknown[] = typeof content === "string" ? [content] : content;
    if (role === "assistant" || role === "user") return { role, pieces: blocks.map(readBlock) };
    return role === "system" || role === "developer" ? { role: "system", pieces: blocks.map(readBlock) } : undefined;
  },
  user: (text) => ({ role: "user", content: text }),
  withResults: (message, texts) =>
    mapBlocks(message, (block) => {
      const text = texts.get(String(block.tool_use_id));
      return text === undefined || text === block.content ? block : { ...block, content: text };
    }),
  retell(message, calls) {
    const told = mapBlocks(message, (block) => {
      const id = String(block.tool_use_id);
      return calls.has(id) ? { type: "text", text: renderLateResult(id, textOf(block.content)) } : block;
    });
    if (told === message) return [message];
    // What is still a result stays before all words.
    const blocks = told["content"] as Fields[];
    const results = blocks.filter(isResult), rest = blocks.filter((block) => !isResult(block));
    return [{ ...told, content: [...results, ...rest] }];
  },
  giveUp({ content }, calls) {
    const blocks = (Array.isArray(content) ? content : []).map(fieldsOf).filter(({ id }) => calls.has(String(id)));
    if (blocks.some(({ type }) => type !== "tool_use")) return undefined; // a tool of the provider's side
    const results = blocks.map(({ id }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: NO_RESULT,
      is_error: true,
    }));
    return [{ role: "user", content: results }];
  },
});

function readBlock(block: unknown): Piece {
  if (typeof block === "string") return { kind: "words", text: block };
  const { type, id, name, text, input, thinking, tool_use_id, content, source } = fieldsOf(block);
  if (type === "text") return { kind: "words", text: textOf(text) };
  if (type === "thinking" || type === "redacted_thinking") return { kind: "thought", text: textOf(thinking) };
  // Tools that run on the provider's side have their result in the same message, or in the next answer.
  if (typeof type === "string" && type.endsWith("tool_use") && typeof id === "string") {
    return { kind: "call", id, name: String(name), text: plainJson(input) };
  }
  if (typeof tool_use_id === "string") return { kind: "result", id: tool_use_id, text: textOf(content) };
  if (fieldsOf(source).type === "text") return { kind: "other", text: textOf(fieldsOf(source).data) };
  return { kind: "other", text: isMedia(type) ? `[${type}]` : plainJson(block) };
}

function isResult(block: unknown): boolean {
  return fieldsOf(block).type === "tool_result";
}

/** The message with its own tools' results changed; itself where none is. */
function mapBlocks(message: HostMessage, change: (result: Fields) => Fields): HostMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const blocks = content.map((block) => isResult(block) ? change(block) : block);
  return blocks.some((block, index) => block !== content[index]) ? { ...message, content: blocks } : message;
}
