/**
 * Whether an answer is a summary, and its text made fit to stand in a conversation. Pure.
 *
 * Promised: what comes out is never empty, well-formed, without control or hidden characters but line breaks and tabs. A tool
 * call, a refusal, an error in place of text, and an answer of nothing but reasoning are no summary.
 *
 * @module
 */

import { requestFailure } from "../summary/failure.ts";
import { isUnseen } from "../tool_use/text.ts";
import { withoutUnseen } from "../summary/text.ts";
import type { Completion } from "../types.ts";

/** A summary as it came back. */
export interface SummaryText {
  /** The text. */
  readonly text: string;
  /** The limit of tokens cut it off. */
  readonly isCut: boolean;
}

/** A longer text is no refusal, whatever it begins with. */
const REFUSAL_MAX = 400;

/** How models begin when they decline in fine prose, with a stop reason like any other. */
const REFUSAL =
  /^(?:(?:i['’]?m|i am) (?:very |so |really )?(?:sorry|afraid|unable|not able)|sorry\b|(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|am unable|must decline)\b|as an ai\b|unfortunately,? i\b)/i;

/** Reasoning that some models put before their answer, closed or left open. */
const REASONING = /^\s*(?:<(think|thinking|reasoning)>[^]*?<\/\1>\s*)+/i;
const OPEN_REASONING = /^\s*<(think|thinking|reasoning)>/i;

/** Control and hidden characters, but for line breaks, tabs and joiners. */
const HIDDEN = /(?![\n\t])\p{Cc}|(?![\u200c\u200d])\p{Cf}/gu;

/**
 * The summary in an answer. Throws a `WaymarkError` where there is none: `refused`, `empty-answer`, or `bad-answer` for a tool
 * call and for an error in place of a text.
 *
 * @param token The random code of this request's delimiters: they are taken out.
 */
export function readSummary(
  { text: given, stopReason }: Pick<Completion, "text" | "stopReason">,
  { model, token }: { readonly model: string; readonly token: string },
): SummaryText {
  if (stopReason === "tool") {
    throw requestFailure(model, "it called a tool where a summary was asked for", { code: "bad-answer" });
  }
  if (stopReason === "refusal") {
    throw requestFailure(model, given.trim() || "it refused to answer", { code: "refused" });
  }
  const text = cleanSummary(given, token);
  if (!text) throw requestFailure(model, "the summary is empty", { code: "empty-answer" });
  if (text.length <= REFUSAL_MAX && REFUSAL.test(text)) throw requestFailure(model, text, { code: "refused" });
  const error = errorIn(text);
  if (error !== undefined) {
    throw requestFailure(model, `an error came in place of a summary: ${error}`, { code: "bad-answer" });
  }
  return { text, isCut: stopReason === "max_tokens" };
}

/** The text without reasoning, without the delimiters of its request, and without what does not show. */
export function cleanSummary(text: string, token: string): string {
  const lines = text.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(HIDDEN, "");
  const answer = withoutUnseen(lines).replace(REASONING, "");
  if (OPEN_REASONING.test(answer)) return "";
  const delimiters = new RegExp(`</?(?:conversation|excerpt)-${token}>|${token}`, "g");
  const summary = answer.replaceAll(delimiters, "").trim();
  return isUnseen(summary) ? "" : summary;
}

/** What a JSON object with an `error` says, where the whole text is one. */
function errorIn(text: string): string | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return error === undefined ? undefined : typeof error === "string" ? error : JSON.stringify(error);
  } catch {
    return undefined;
  }
}
