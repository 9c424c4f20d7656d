/**
 * Any completion function as a model: for providers that have no entry of their own, gateways and local models.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { withSummarizer } from "../summary/model.ts";
import type { Completion, CompletionRequest, Model } from "../types.ts";

/** A model of your own. */
export interface CompletionModelOptions {
  /** The model's name, one line; stored with every map it makes. */
  readonly name: string;
  /**
   * Asks once, without retries of its own, and hands `request.signal` to whatever it waits for. A rejection becomes a
   * failure with its message, and its `status` where it has one.
   */
  readonly complete: (request: CompletionRequest) => Promise<Completion>;
  /** Most tokens the model can answer with, reasoning included. Default 16,384. */
  readonly maxOutputTokens?: number;
}

/**
 * A model that `createWaymark({ model })` takes, from one function.
 *
 * @throws {WaymarkError} with code `invalid-option` where the name is not one line, `complete` is no function or the limit is not
 * positive.
 *
 * @example A model behind an HTTP endpoint of one's own
 * ```ts
 * import { completionModel } from "@waymark/waymark/providers/custom";
 * import { assertEquals } from "@std/assert";
 *
 * const model = completionModel({
 *   name: "house-model",
 *   async complete({ system, messages, maxTokens, signal }) {
 *     const response = await fetch("https://models.example/complete", {
 *       method: "POST",
 *       body: JSON.stringify({ system, messages, maxTokens }),
 *       signal,
 *     });
 *     const { text } = await response.json();
 *     return { text, stopReason: "end", usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
 *   },
 * });
 * assertEquals(model.summarizer.maker, "model:house-model");
 * ```
 */
export function completionModel(options: CompletionModelOptions): Model {
  const { name, maxOutputTokens } = options;
  if (typeof options.complete !== "function") {
    throw new WaymarkError("invalid-option", `Cannot use ${name} as a model: give it a function complete`);
  }
  const complete = (request: CompletionRequest): Promise<Completion> => options.complete(request);
  return withSummarizer({ name, complete }, maxOutputTokens === undefined ? {} : { maxOutputTokens });
}
