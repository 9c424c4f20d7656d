/**
 * A message taken apart, the same for every host's shape: what is said, what is called, what came back. Facts and transcripts
 * are made from that. Pure.
 *
 * @module
 */

import { plainJson } from "./binary.ts";
import { isOwnText } from "./own_text.ts";
import type { HostMessage, MessageFacts, MessageShape } from "./types.ts";
import { hasUnread } from "./unread.ts";

/** One part of a message. */
export type Piece =
  | { readonly kind: "words" | "thought" | "other"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly text: string }
  | { readonly kind: "result"; readonly id: string; readonly text: string };

/** A message taken apart. */
export interface Reading {
  /** Who says it, before it is asked whether it is a tool's. */
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly pieces: readonly Piece[];
  /** It could not be taken apart, or a result in it could not. */
  readonly isUnknown?: true;
}

/** What a shape says of itself: everything but what follows from a reading. */
export interface ShapeParts extends Omit<MessageShape, "facts" | "transcript"> {
  /** Takes a message apart; `undefined` where it does not know it. */
  read(message: Fields): Reading | undefined;
}

/** An object of the host's. */
export type Fields = Readonly<Record<string, unknown>>;

/** A shape from what it says of itself. */
export function shapeOf({ read, ...rest }: ShapeParts): MessageShape {
  const reading = (message: HostMessage): Reading => {
    try {
      const known = read(message);
      if (known) return hasUnread(message, known) ? { ...known, isUnknown: true } : known;
    } catch { /* a getter of the host's that throws */ }
    return { role: "user", pieces: [{ kind: "other", text: plainJson(message) }], isUnknown: true };
  };
  return {
    ...rest,
    facts: (message) => factsOf(reading(message)),
    transcript: (message) => transcriptOf(reading(message)),
  };
}

function factsOf({ role, pieces, isUnknown }: Reading): MessageFacts {
  const results = pieces.filter((piece) => piece.kind === "result");
  const text = pieces.map((piece) => piece.text).filter(Boolean).join("\n");
  const isSaid = pieces.some(({ kind, text }) =>
    (kind === "words" || kind === "other") && text.trim() !== "" && !isOwnText(text)
  );
  return {
    role: role === "user" && results.length ? "tool" : role,
    calls: pieces.flatMap((piece) => piece.kind === "call" ? [piece.id] : []),
    answers: results.map(({ id }) => id),
    results: results.map(({ text }) => text),
    isHuman: role === "user" && isSaid,
    text,
    ...(isUnknown ? { isUnknown } : {}),
  };
}

/** Lines that could be taken for a label of a transcript. */
const LABEL = /^(?=[^\S\n\r\u2028\u2029]*\[(?:system|user|assistant|tool_call|tool_result)\b)/gim;

/** What is thought is not told. */
function transcriptOf({ role, pieces }: Reading): string {
  const said = role === "tool" ? "user" : role;
  const lines = pieces.flatMap((piece) => {
    if (piece.kind === "thought" || piece.text === "" && piece.kind !== "call" && piece.kind !== "result") return [];
    const text = piece.text.toWellFormed().replace(LABEL, "  ");
    if (piece.kind === "call") return [`[tool_call ${name(piece.name)} ${name(piece.id)}]: ${text}`];
    return [piece.kind === "result" ? `[tool_result ${name(piece.id)}]: ${text}` : `[${said}]: ${text}`];
  });
  return lines.join("\n");
}

/** A name that cannot end the label it stands in. */
function name(text: string): string {
  return text.toWellFormed().replace(/[\p{C}\p{Z}[\]]+/gu, "_").slice(0, 200);
}

/** An object; an empty one where the value is none. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

/** The text of what a tool gave: a string, blocks, or anything else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (!Array.isArray(value)) return textOfBlock(value);
  return value.map(textOfBlock).filter(Boolean).join("\n");
}

function textOfBlock(block: unknown): string {
  if (typeof block === "string") return block;
  const { type, text } = fieldsOf(block);
  if (typeof text === "string") return text;
  return isMedia(type) ? `[${type}]` : plainJson(block);
}

/** What a person decided about a call, and why. */
export function approvalText(decision: string, reason: unknown): string {
  return [decision, textOf(reason)].filter(Boolean).join(", ");
}

/** Whether a block of this type is a picture, a sound or a file: nothing of it is told. */
export function isMedia(type: unknown): type is string {
  return typeof type === "string" && /image|audio|video|file|document|screenshot|media/.test(type) &&
    !/search|_call/.test(type);
}
