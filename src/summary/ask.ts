/**
 * One request to a model, whatever the model does with the signal and whatever it gives back.
 *
 * Promised: a {@linkcode Completion} with nothing missing, or a rejection with a {@linkcode WaymarkError} that names the
 * model; an abort ends the wait at once; nothing is asked once the signal has fired.
 *
 * @module
 */

import type { Completion, CompletionModel, CompletionRequest } from "../types.ts";
import { abortFailure, asRequestFailure } from "./failure.ts";

/** Asks once. */
export async function ask(model: CompletionModel, request: CompletionRequest): Promise<Completion> {
  const { signal } = request;
  if (signal.aborted) throw abortFailure(model.name, signal);
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  aborted.promise.catch(() => {}); // nobody waits for it where the model throws at once
  signal.addEventListener("abort", abort, { once: true });
  try {
    return asCompletion(await Promise.race([model.complete(request), aborted.promise]));
  } catch (error) {
    throw signal.aborted ? abortFailure(model.name, signal) : asRequestFailure(model.name, error);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Words of providers for why an answer ended, of which there are many, by ours. */
const STOPS: readonly (readonly [Completion["stopReason"], RegExp])[] = [
  ["max_tokens", /^(?:max.*tokens|length)$/i],
  ["refusal", /^(?:refusal|content[_-]?filter(?:ed)?|safety)$/i],
  ["tool", /^(?:tool([_-]?(?:calls?|use))?|function[_-]?call)$/i],
  ["end", /^(?:end([_-]?turn)?|stop([_-]?sequence)?|completed?|finish(?:ed)?|done|eos(?:[_-]?token)?)$/i],
];

/** A completion with nothing missing, whatever a hand-written model gave. */
function asCompletion(value: Partial<Completion> | null | undefined): Completion {
  const { text, stopReason, usage } = value ?? {};
  const count = (tokens: unknown): number =>
    typeof tokens === "number" && tokens > 0 && Number.isFinite(tokens) ? tokens : 0;
  return {
    text: typeof text === "string" ? text : "",
    stopReason: STOPS.find(([, words]) => words.test(`${stopReason}`))?.[0] ?? "other",
    usage: {
      input: count(usage?.input),
      output: count(usage?.output),
      cacheRead: count(usage?.cacheRead),
      cacheWrite: count(usage?.cacheWrite),
    },
  };
}
