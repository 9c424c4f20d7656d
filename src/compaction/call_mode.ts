/**
 * How a summary's call is made: the mode that was asked for, and the words for why another was used. Pure.
 *
 * @module
 */

import type { CallMode, ForkRefusal } from "./types.ts";

/** A mode without its aliases. */
export type PlainMode = Exclude<CallMode, "inline">;

/** The mode meant; `undefined` where there is no such mode. Nothing given means `standalone`. */
export function readMode(mode: unknown): PlainMode | undefined {
  if (mode === undefined || mode === "inline") return "standalone";
  return mode === "standalone" || mode === "fork" || mode === "auto" ? mode : undefined;
}

/** Why a fork was not made, for a person. */
export const REFUSALS: Readonly<Record<ForkRefusal, string>> = {
  "never-noted": "no request was noted; call noteRequestSent after each one",
  "tools-not-given": "the tools of the last request are not known; note them, even as null or []",
  "different-model": "another model is set to summarize; use callMode auto to have the cheaper one chosen",
  "nothing-recorded": "no request was noted with its messages yet",
  "later-request": "a later request was sent whose messages were not noted",
  "unanswered-calls": "the last request ends on tool calls that are not answered",
  "span-not-in-prefix": "the messages to summarize do not stand in the last request as they are, in one run",
  "cache-cold": "the provider's cache holds nothing of the last request",
  "build-failed": "the request could not be built",
  "bad-answer": "the answer was no summary",
};
