/**
 * One request to a model, whatever it does with the signal and whatever it gives back.
 *
 * @module
 */

import type { Completion, CompletionModel, CompletionRequest } from "../types.ts";

/** The answer to one request, or the abort, whichever comes first: a model may not heed the signal. */
export async function settle(model: CompletionModel, request: CompletionRequest): Promise<Completion> {
  const { signal } = request;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    const asked = Promise.resolve(model.complete(request));
    asked.catch(() => {}); // one that comes after the abort is nobody's
    return asCompletion(await Promise.race([asked, aborted.promise]));
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A completion with nothing missing, whatever a hand-written model gave. */
function asCompletion(value: Partial<Completion> | null | undefined): Completion {
  const { text, stopReason = "other", usage } = value ?? {};
  const count = (tokens: unknown): number =>
    typeof tokens === "number" && tokens > 0 && Number.isFinite(tokens) ? tokens : 0;
  return {
    text: typeof text === "string" ? text : "",
    stopReason,
    usage: {
      input: count(usage?.input),
      output: count(usage?.output),
      cacheRead: count(usage?.cacheRead),
      cacheWrite: count(usage?.cacheWrite),
    },
  };
}
