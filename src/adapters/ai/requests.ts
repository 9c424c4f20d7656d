/**
 * Requests of the AI SDK: what is sent is told to the session and the compactor, and steps are kept within a budget.
 *
 * Promised: a request goes out as it is given, and nothing here throws into a run. Absent: the compactor's own model, which
 * must not be the one that is noted.
 *
 * @module
 */

import type { Compactor } from "../../compaction/compactor_types.ts";
import { quiet } from "../../errors.ts";
import type { Session } from "../../session_types.ts";

/** Who is told of requests. */
export interface AiRequestsOptions {
  /** The conversation: a turn begins, and what is no longer in the request is no longer referred to. */
  readonly session?: Session | undefined;
  /** The compactor of the conversation, which needs it for forks alone. */
  readonly compactor?: Pick<Compactor, "noteRequestSent"> | undefined;
  /** Told what they threw. Default: nobody. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** As much of a request as is looked at. */
export interface AiRequest {
  /** Its messages, the system prompt first. */
  readonly prompt: readonly object[];
  /** Its tools. */
  readonly tools?: readonly object[] | undefined;
}

/** A middleware of `wrapLanguageModel`, of AI SDK 6 and 7. */
export interface AiRequests {
  /** The version of the specification, which AI SDK 7 takes too. */
  readonly specificationVersion: "v3";
  /** Tells of the request, and gives back the very same. */
  transformParams<Request extends AiRequest>(
    given: { readonly params: Request; readonly model: { readonly modelId: string } },
  ): Promise<Request>;
}

/**
 * Tells a session, and a compactor that forks, of every request of one conversation. Put it innermost, that is last, so that it
 * sees what is really sent; and only around the model of that conversation. A request that is tried again is one request.
 *
 * @example
 * ```ts
 * import { createSession } from "@waymark/waymark";
 * import { aiRequests } from "@waymark/waymark/adapters/ai";
 * import { assertEquals } from "@std/assert";
 *
 * const session = createSession(), middleware = aiRequests({ session });
 * // `wrapLanguageModel({ model, middleware })` calls it so before each request.
 * const params = { prompt: [{ role: "user", content: [{ type: "text", text: "Hello." }] }] };
 * assertEquals(await middleware.transformParams({ params, model: { modelId: "m" } }), params);
 * assertEquals(session.turn, 1);
 * ```
 */
export function aiRequests({ session, compactor, onError }: AiRequestsOptions): AiRequests {
  const report = quiet(onError);
  let latest: readonly object[] | undefined;
  const tell = (action: () => void): void => {
    try {
      action();
    } catch (error) {
      report(error);
    }
  };
  return {
    specificationVersion: "v3",
    transformParams({ params, model }) {
      const { prompt } = params;
      tell(() => {
        const isRetry = prompt.length === latest?.length && prompt.every((message, at) => isSame(message, latest![at]));
        latest = prompt;
        if (!isRetry) session?.nextTurn();
        session?.reconcile(prompt);
      });
      tell(() => compactor?.noteRequestSent({ ...params, tools: params.tools ?? null, model: model.modelId }));
      return Promise.resolve(params);
    },
  };
}

/** As much of a step as is looked at. */
export interface AiStep<Message extends object> {
  /** The messages of the next request. */
  readonly messages: Message[];
  /** The steps before. */
  readonly steps: readonly { readonly usage: AiUsage }[];
}

/** What a request took, as the SDK reports it. */
export interface AiUsage {
  /** All tokens of the request. */
  readonly inputTokens: number | undefined;
  /** Where they came from. */
  readonly inputTokenDetails?: {
    /** Those read from the cache. */
    readonly cacheReadTokens: number | undefined;
    /** Those written to it. */
    readonly cacheWriteTokens: number | undefined;
  };
  /** Tokens of the answer. */
  readonly outputTokens: number | undefined;
}

/**
 * A `prepareStep` that sends a compactor's view of the messages. The compactor is one of `shape: "ai-sdk"`, for one
 * conversation: what was given in earlier calls is known by its place, and other messages begin it anew.
 *
 * @example
 * ```ts
 * import { aiPrepareStep } from "@waymark/waymark/adapters/ai";
 * import { createCompactor } from "@waymark/waymark/compaction";
 * import { assertEquals } from "@std/assert";
 *
 * const compactor = createCompactor({ budget: 100_000, shape: "ai-sdk", strategy: "prune" });
 * // `generateText({ prepareStep: aiPrepareStep(compactor), … })` calls it so before each step.
 * const messages = [{ role: "user" as const, content: "Hello." }];
 * assertEquals(aiPrepareStep(compactor)({ messages, steps: [] }), { messages });
 * ```
 */
export function aiPrepareStep(
  compactor: Pick<Compactor, "append" | "setMessages" | "history" | "view" | "noteUsage">,
): <Message extends { readonly role: string }>(step: AiStep<Message>) => { messages: Message[] } {
  let shown: readonly object[] = [];
  return <Message extends { readonly role: string }>({ messages, steps }: AiStep<Message>) => {
    const usage = steps.at(-1)?.usage, { length } = compactor.history();
    if (usage?.inputTokens) {
      const { cacheReadTokens: cacheRead = 0, cacheWriteTokens: cacheWrite = 0 } = usage.inputTokenDetails ?? {};
      const input = Math.max(0, usage.inputTokens - cacheRead - cacheWrite);
      compactor.noteUsage({ input, cacheRead, cacheWrite, output: usage.outputTokens ?? 0 });
    }
    // AI SDK 7 goes on from the view it was given, 6 from all messages, as each new call of either does.
    const isView = shown.length > 0 && messages[shown.length - 1] === shown.at(-1);
    if (isView || isSame(messages[length - 1], compactor.history().at(-1))) {
      compactor.append(...messages.slice(isView ? shown.length : length));
    } else compactor.setMessages(messages);
    const view = compactor.view<Message>();
    shown = view;
    return { messages: [...view] };
  };
}

/** Whether two messages say the same: one that was stored, or is sent again, is another object. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    return one.length === other.length && one.every((byte, at) => byte === other[at]);
  }
  const fields = { ...one } as Record<string, unknown>, others = { ...other } as Record<string, unknown>;
  const isPlain = Object.keys({ ...fields, ...others }).every((name) => isSame(fields[name], others[name]));
  return isPlain && String(one) === String(other); // an address has no fields
}
