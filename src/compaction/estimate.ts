/**
 * The default estimate of tokens: one for every four bytes of UTF-8 of a value's JSON. Pure.
 *
 * @module
 */

import { byteLength } from "../tool_use/excerpt.ts";
import { jsonWithout } from "./binary.ts";
import type { HostMessage } from "./types.ts";

/** Bytes of JSON taken for one token. */
const BYTES_PER_TOKEN = 4;

/** Most tokens that bytes count for, an image's or a document's, however many they are: they are no text. */
const MOST_OF_BYTES = 1_600;

/** Fields whose strings a model reads as words, whatever they look like: a tool that prints base64 is paid for by the letter. */
const WORDS: ReadonlySet<string> = new Set(
  ["text", "content", "output", "value", "arguments", "input", "result", "thinking", "reasoning", "refusal"],
);

/** About how many tokens a message, or any part of a request, takes. Never throws; what has no JSON takes none. */
export function estimateTokens(value: unknown): number {
  let ofBytes = 0;
  try {
    const json = jsonWithout(value, (length, name) => {
      if (WORDS.has(name ?? "")) return undefined;
      ofBytes += Math.min(MOST_OF_BYTES, Math.ceil(length / BYTES_PER_TOKEN));
      return "";
    });
    return Math.ceil(byteLength(json) / BYTES_PER_TOKEN) + ofBytes;
  } catch {
    return 0;
  }
}

/** A host's own estimate, and ours where that fails or is no number of tokens. */
export function estimateBy(own: (value: HostMessage) => number = estimateTokens): (value: HostMessage) => number {
  return (value) => {
    try {
      const tokens = own(value);
      if (Number.isFinite(tokens) && tokens >= 0) return tokens;
    } catch { /* it is none */ }
    return estimateTokens(value);
  };
}
