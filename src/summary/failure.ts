/**
 * What is said when a model could not be asked: one error for every provider, the provider's own words in it. Pure.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { Completion, WaymarkErrorCode, WaymarkErrorOptions } from "../types.ts";
import { cleanLine } from "./text.ts";

/** Most of a provider's own words that an error repeats. */
const REASON_MAX = 300;

/** More about a failed request. */
export interface RequestFailureOptions extends WaymarkErrorOptions {
  /** Default `provider-error`. */
  readonly code?: WaymarkErrorCode;
}

/** Codes of requests that were answered. */
const ABOUT_ANSWERS: ReadonlySet<WaymarkErrorCode> = new Set<WaymarkErrorCode>([
  "refused",
  "empty-answer",
  "bad-answer",
]);

/** The error of a request that failed, for a reason in whatever words. */
export function requestFailure(model: string, reason: string, options: RequestFailureOptions = {}): WaymarkError {
  const { code = "provider-error", ...rest } = options;
  const action = ABOUT_ANSWERS.has(code) ? "use the answer of" : "ask";
  return new WaymarkError(code, `Cannot ${action} ${model}: ${cleanLine(reason, REASON_MAX).replace(/\.$/, "")}`, rest);
}

/** Throws where an answer is none: the model refused, in words that hold no secret, or called a tool. */
export function refuseNone(model: string, stopReason: Completion["stopReason"], said: string): void {
  if (stopReason === "refusal") {
    throw requestFailure(model, said.trim() ? `it refused: ${said}` : "it refused", { code: "refused" });
  }
  if (stopReason === "tool") {
    throw requestFailure(model, "it called a tool although it was given none", { code: "bad-answer" });
  }
}

/** The error of a request whose signal fired: the deadline's or the caller's, or the signal's own where it has one. */
export function abortFailure(model: string, signal: AbortSignal): WaymarkError {
  const cause: unknown = signal.reason;
  if (cause instanceof WaymarkError) return cause;
  const late = cause instanceof Error && cause.name === "TimeoutError";
  return requestFailure(model, late ? "no answer within the time limit" : "the request was aborted", {
    code: late ? "timeout" : "aborted",
    cause,
  });
}

/** Any rejection as one of ours: kept where it is one, else in its own words, with its status where it has one. */
export function asRequestFailure(model: string, error: unknown): WaymarkError {
  if (error instanceof WaymarkError) return error;
  const fields = typeof error === "object" && error !== null ? error as Record<string, unknown> : {};
  const status = [fields.status, fields.statusCode].find((value) => typeof value === "number") as number | undefined;
  const words = error instanceof Error ? error.message || error.name : String(error);
  const said = status === undefined || words.startsWith(String(status)) ? words : `${status} ${words}`;
  return requestFailure(model, said, {
    ...(status === undefined ? {} : { status }),
    // An error with fields may hold the whole request, and so the file: failures are remembered, files must not be.
    ...(error instanceof Error && !Object.keys(error).length ? { cause: error } : {}),
  });
}
