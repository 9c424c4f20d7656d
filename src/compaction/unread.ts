/**
 * Whether a message holds the result of a tool in a form that its shape does not read: the sign of a shape that does not fit,
 * where the message itself could be read. Pure.
 *
 * @module
 */

import type { Fields, Reading } from "./pieces.ts";

/** Names of a call's id beside its result, and of what the result holds, in the shapes of several hosts. */
const IDS = ["tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId", "toolUseId"];
const CONTENTS = ["content", "output", "result", "response"];
/** Names of lists of parts in a message, and of a result within a part. */
const LISTS = ["content", "parts", "toolInvocations"];
const WITHIN = ["functionResponse", "toolResponse", "toolResult", "toolInvocation"];

/** Whether a result of the message is missing among what was read of it. */
export function hasUnread(message: Fields, { role, pieces }: Reading): boolean {
  const read = new Set(pieces.flatMap((piece) => piece.kind === "result" || piece.kind === "call" ? [piece.id] : []));
  if (role === "tool" && pieces.every(({ kind }) => kind !== "result")) {
    return !isEmpty(message["content"]);
  }
  const parts = LISTS.flatMap((name) => Array.isArray(message[name]) ? message[name] as unknown[] : []);
  const isUnread = (value: unknown): boolean => {
    const part = fields(value), id = IDS.map((name) => part[name]).find((id) => typeof id === "string");
    return id !== undefined && !read.has(id as string) && holdsSomething(part);
  };
  return [message, ...parts].some((part) =>
    isUnread(part) || WITHIN.map((name) => fields(part)[name]).some((inner) => isUnread(inner) || isNameless(inner))
  );
}

/** A result that names its tool alone. */
function isNameless(value: unknown): boolean {
  return IDS.every((name) => fields(value)[name] === undefined) && holdsSomething(fields(value));
}

function holdsSomething(part: Fields): boolean {
  return CONTENTS.some((name) => part[name] !== undefined && part[name] !== null);
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

function isEmpty(content: unknown): boolean {
  return Array.isArray(content) && content.length === 0;
}
