/**
 * The standalone request: standing words, and the span as text in one message of the user's.
 *
 * Promised: the same bytes for the same span, but for the random code of the delimiters; no tools; the text is well-formed
 * whatever the messages hold. Digests of tool results stand in for them here, and here alone.
 *
 * @module
 */

import { freshToken } from "../summary/token.ts";
import { renderDigest } from "../tool_use/frame.ts";
import { substituteSummaries } from "../tool_use/placeholders.ts";
import type { Summaries } from "../tool_use/types.ts";
import type { CompletionRequest } from "../types.ts";
import { standaloneWords } from "./prompt.ts";
import type { HostMessage, MessageShape } from "./types.ts";

/** Most tokens a summary may have. */
export const SUMMARY_MAX_TOKENS = 8_192;

/** What a standalone request is made of. */
export interface StandaloneInput {
  /** The span, to the letter. */
  readonly messages: readonly HostMessage[];
  /** The shape of its messages. */
  readonly shape: MessageShape;
  /** Digests of tool results. Default: none. */
  readonly summaries?: Summaries | undefined;
}

/** A request, and the code of its delimiters. */
export interface StandaloneRequest {
  /** What the model is asked. */
  readonly request: Omit<CompletionRequest, "signal">;
  /** The random code. */
  readonly token: string;
}

/** The request that asks for a summary of a span. */
export function standaloneRequest({ messages, shape, summaries }: StandaloneInput): StandaloneRequest {
  const span = summaries?.size ? withDigests(messages, { shape, summaries }) : messages;
  const transcript = span.map((message) => shape.transcript(message)).join("\n\n").toWellFormed();
  const token = freshToken(transcript);
  const words = standaloneWords(transcript, { token, messages: messages.length });
  return { request: { ...words, maxTokens: SUMMARY_MAX_TOKENS }, token };
}

/** Shapes whose results the tool-use part can find, and can tell a compressor's locator among. */
const KNOWN: ReadonlySet<string> = new Set(["anthropic", "openai", "ai-sdk"]);

/** The span with the results that have a digest replaced by it. The very same messages where there is none. */
function withDigests(
  messages: readonly HostMessage[],
  { shape, summaries }: { readonly shape: MessageShape; readonly summaries: Summaries },
): readonly HostMessage[] {
  if (KNOWN.has(shape.name)) return substituteSummaries(messages, summaries);
  const rows = [...summaries].filter(([, row]) => row.status === "ok" && row.summary);
  const texts = new Map(rows.map(([callId, row]) => [callId, renderDigest(row)]));
  return messages.map((message) => shape.withResults(message, texts));
}
