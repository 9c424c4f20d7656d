/**
 * Any language model of the AI SDK as a model for maps. Nothing of that SDK is imported: the model is used by its shape,
 * that of the specification's versions 2, 3 and 4 (`ai` 5, 6 and 7).
 *
 * Promised: one request a call, since the SDK's retries live above `doGenerate`; the abort is passed on. Absent: model names
 * as strings, which only the SDK's own gateway can resolve.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { requestFailure } from "../summary/failure.ts";
import { withSummarizer } from "../summary/model.ts";
import type { Completion, CompletionRequest, Model } from "../types.ts";

/** As much of an AI SDK language model as is used. */
export interface AiSdkLanguageModel {
  /** The provider's name for the model. */
  readonly modelId: string;
  /** One request. */
  doGenerate(options: AiSdkCall): PromiseLike<AiSdkResult>;
}

/** What the model is called with. */
export interface AiSdkCall {
  /** The turns, the system prompt first. */
  prompt: (
    | { role: "system"; content: string }
    | { role: "user"; content: { type: "text"; text: string }[] }
    | { role: "assistant"; content: { type: "text"; text: string }[] }
  )[];
  /** Most tokens of the answer. */
  maxOutputTokens?: number;
  /** Reaches the request. */
  abortSignal?: AbortSignal;
}

/** As much of the answer as is used. */
export interface AiSdkResult {
  /** The parts of the answer; those of type `text` count. */
  readonly content: readonly { readonly type: string }[];
  /** Which text to read where it is not all of it (version 4). */
  readonly structuredOutputText?: string;
  /** A word (version 2), or an object with it under `unified`. */
  readonly finishReason: string | { readonly unified: string };
  /** Tokens: plain numbers (version 2), or objects. */
  readonly usage: {
    readonly inputTokens?: unknown;
    readonly outputTokens?: unknown;
    readonly cachedInputTokens?: unknown;
  };
}

/** Options of {@linkcode aiSdk}. */
export interface AiSdkOptions {
  /** The name stored with every map. Default: the model's own id. */
  readonly name?: string;
  /** Most tokens the model can answer with, reasoning included. Default 16,384. */
  readonly maxOutputTokens?: number;
}

type StopReason = Completion["stopReason"];

const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map<string, StopReason>([
  ["stop", "end"],
  ["length", "max_tokens"],
  ["content-filter", "refusal"],
  ["tool-calls", "tool"],
]);

/**
 * A model that `createWaymark({ model })` takes, from an AI SDK language model such as `openai("…")` or `google("…")`.
 *
 * @throws {WaymarkError} with code `invalid-option` where it is not a language model.
 *
 * @example
 * ```ts
 * import { aiSdk } from "@waymark/waymark/providers/ai-sdk";
 * import { assertEquals } from "@std/assert";
 *
 * // In place of this stand-in: any model object of an `@ai-sdk/…` package.
 * const languageModel = {
 *   modelId: "some-model",
 *   doGenerate: () =>
 *     Promise.resolve({ content: [{ type: "text", text: "Hello." }], finishReason: "stop", usage: { outputTokens: 2 } }),
 * };
 * const model = aiSdk(languageModel);
 * assertEquals(model.name, "some-model");
 * ```
 */
export function aiSdk(languageModel: AiSdkLanguageModel, options: AiSdkOptions = {}): Model {
  if (typeof languageModel?.doGenerate !== "function") {
    const given = typeof languageModel === "string" ? JSON.stringify(languageModel) : typeof languageModel;
    throw new WaymarkError(
      "invalid-option",
      `Cannot use ${given} as a model of the AI SDK: give a model object, as a provider package makes it`,
    );
  }
  const { name = languageModel.modelId, maxOutputTokens } = options;
  const complete = async ({ system, messages, maxTokens, signal }: CompletionRequest): Promise<Completion> => {
    const prompt: AiSdkCall["prompt"] = messages.map(({ role, content }) => ({
      role,
      content: [{ type: "text", text: content }],
    }));
    if (system) prompt.unshift({ role: "system", content: system });
    const result = await languageModel.doGenerate({ prompt, maxOutputTokens: maxTokens, abortSignal: signal });
    return readResult(name, result);
  };
  return withSummarizer({ name, complete }, maxOutputTokens === undefined ? {} : { maxOutputTokens });
}

function readResult(name: string, { content, structuredOutputText, finishReason, usage }: AiSdkResult): Completion {
  const reason = typeof finishReason === "string" ? finishReason : finishReason?.unified;
  if (reason === "error" || reason === "interrupted") throw requestFailure(name, `the answer ended with "${reason}"`);
  const texts = (content ?? []).flatMap((part) => "text" in part && part.type === "text" ? [String(part.text)] : []);
  return {
    text: structuredOutputText ?? texts.join(""),
    stopReason: STOP_REASONS.get(reason) ?? "other",
    usage: readUsage(usage),
  };
}

function readUsage(usage: AiSdkResult["usage"] | undefined): Completion["usage"] {
  const input = asCounts(usage?.inputTokens), output = asCounts(usage?.outputTokens);
  const cacheRead = input.cacheRead ?? asNumber(usage?.cachedInputTokens) ?? 0, cacheWrite = input.cacheWrite ?? 0;
  const fresh = input.noCache ?? Math.max(0, (input.total ?? 0) - cacheRead - cacheWrite);
  return { input: fresh, output: output.total ?? 0, cacheRead, cacheWrite };
}

/** A plain number is a total. */
function asCounts(value: unknown): Partial<Record<"total" | "noCache" | "cacheRead" | "cacheWrite", number>> {
  const counts = typeof value === "object" && value !== null ? value as Record<string, unknown> : { total: value };
  const known = ["total", "noCache", "cacheRead", "cacheWrite"].map((name) => [name, asNumber(counts[name])] as const);
  return Object.fromEntries(known.filter(([, count]) => count !== undefined));
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
