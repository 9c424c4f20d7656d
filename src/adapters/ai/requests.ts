/**
 * Requests of the AI SDK: what is sent is told to the session and the compactor, and steps are kept within a budget.
 *
 * Promised: a request goes out as it is given, and nothing here throws into a run. Absent: the compactor's own model, which
 * must not be the one that is noted.
 *
 * @module
 */

import type { Compactor } from "../../compaction/compactor_types.ts";
import { attempting, quiet } from "../../errors.ts";
import { isEditedByApi } from "../../edited_by_api.ts";
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
  /** What its provider is told beside them. */
  readonly providerOptions?: object | undefined;
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
 * sees what is really sent; and only around the model of that conversation. A request that is tried again is one request. Where
 * the provider is told to take results out by itself (`contextManagement`, `truncation`), nothing is referred to.
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
  const tell = attempting(quiet(onError));
  let latest: readonly object[] | undefined;
  return {
    specificationVersion: "v3",
    transformParams({ params, model }) {
      const { prompt, providerOptions } = params;
      const isRetry = prompt.length === latest?.length && beginsWith(prompt, latest);
      latest = prompt;
      if (!isRetry) tell(() => session?.nextTurn());
      tell(() =>
        Object.values(providerOptions ?? {}).some(isEditedByApi) ? session?.reset() : session?.reconcile(prompt)
      );
      tell(() => compactor?.noteRequestSent({ ...params, tools: params.tools ?? null, model: model.modelId }));
      return Promise.resolve(params);
    },
  };
}

/** The messages that a conversation was told of last. */
const told = new WeakMap<Session, readonly unknown[]>();

/**
 * Tells a conversation of the messages that come with a call. They may be fewer than those of the last request: a call that was
 * approved runs before there is one, and not everybody tells of requests.
 */
export function tellMessages(session: Session | undefined, info: unknown): void {
  const { messages } = (info ?? {}) as { readonly messages?: readonly unknown[] };
  if (!session || !Array.isArray(messages) || told.get(session) === messages) return;
  told.set(session, messages);
  try {
    session.reconcile(messages);
  } catch { /* a session of somebody else's: the call goes on */ }
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
 * conversation: messages that go on from those of earlier calls are added to it, and other ones begin it anew. A step that it
 * fails at goes out as it is.
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
  const noteUsage = (usage: AiUsage | undefined): void => {
    if (!usage?.inputTokens) return;
    const { cacheReadTokens: cacheRead = 0, cacheWriteTokens: cacheWrite = 0 } = usage.inputTokenDetails ?? {};
    const input = Math.max(0, usage.inputTokens - cacheRead - cacheWrite);
    compactor.noteUsage({ input, cacheRead, cacheWrite, output: usage.outputTokens ?? 0 });
  };
  return <Message extends { readonly role: string }>({ messages, steps }: AiStep<Message>) => {
    try {
      noteUsage(steps.at(-1)?.usage);
      const history = compactor.history();
      // AI SDK 7 goes on from the view it was given, 6 from all messages, as each new call of either does.
      const isView = shown.length > 0 && shown.every((message, at) => message === messages[at]);
      if (isView) compactor.append(...messages.slice(shown.length));
      else if (beginsWith(messages, history)) compactor.append(...messages.slice(history.length));
      else compactor.setMessages(messages);
      const view = compactor.view<Message>();
      shown = view;
      return { messages: [...view] };
    } catch {
      return { messages }; // what is no message of the shape
    }
  };
}

/** Whether a list of messages begins with those of another. */
function beginsWith(messages: readonly object[], others: readonly object[]): boolean {
  return others.every((message, at) => saysSame(message, messages[at]));
}

/** Whether two messages say the same: one that was stored, or is sent again, is another object. */
function saysSame(one: unknown, other: unknown): boolean {
  try {
    return isSame(one, other);
  } catch {
    return false; // a circle, or a getter that throws
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const bytes = bytesOf(one), others = bytesOf(other);
  if (bytes && others) return bytes.length === others.length && bytes.every((byte, at) => byte === others[at]);
  if (one instanceof URL || other instanceof URL) return String(one) === String(other); // an address has no fields
  const fields = one as Record<string, unknown>, otherFields = other as Record<string, unknown>;
  return Array.isArray(one) === Array.isArray(other) &&
    Object.keys({ ...one, ...other }).every((name) => isSame(fields[name], otherFields[name]));
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined;
}
