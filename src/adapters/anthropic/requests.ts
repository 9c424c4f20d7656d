/**
 * The requests of a loop over the Messages API, told to a session and a compactor.
 *
 * Promised: told once each, with all that was sent, in time for the tools of its reply; never throws into the loop. Absent:
 * any look at what is on the wire, where a message thread has only what is new.
 *
 * @module
 */

import type { Compactor } from "../../compaction/compactor_types.ts";
import { isEditedByApi } from "../../edited_by_api.ts";
import { attempting, quiet } from "../../errors.ts";
import type { Session } from "../../session_types.ts";

/** Who is told of requests. */
export interface AnthropicRequestOptions {
  /** The conversation: each request begins a turn of it, and what stands in none of its messages is no longer there. */
  readonly session?: Session | undefined;
  /** The compactor, which needs the requests for forks only. */
  readonly compactor?: Pick<Compactor, "noteRequestSent"> | undefined;
  /** Told what a session or compactor threw. Default: nobody. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A request of the Messages API, or the params of a runner. */
export interface AnthropicRequest {
  /** The whole conversation, as it goes out. */
  readonly messages: readonly unknown[];
  /** The tools. */
  readonly tools?: readonly unknown[] | undefined;
  /** What the API is to clear or compact by itself: nothing is then referred to, as nobody tells what it left in. */
  readonly context_management?: unknown;
}

/**
 * Tells of a request that was sent, before the tools of its reply run. In a loop of your own these are the params of
 * `messages.create()`; of a runner they are its `params` in the loop body, which is what {@linkcode followRunner} does. Never
 * what is on the wire: over a message thread that is only what is new. Never throws.
 *
 * @example
 * ```ts
 * import { createSession } from "@waymark/waymark";
 * import { noteRequest } from "@waymark/waymark/adapters/anthropic";
 * import { assertEquals } from "@std/assert";
 *
 * const session = createSession();
 * noteRequest({ messages: [{ role: "user", content: "What is in src/parser.ts?" }] }, { session });
 * assertEquals(session.turn, 1);
 * ```
 */
export function noteRequest(params: AnthropicRequest, options: AnthropicRequestOptions): void {
  const { session, compactor, onError } = options, attempt = attempting(quiet(onError));
  attempt(() => session?.nextTurn());
  attempt(() => reconcile(params, session));
  attempt(() => compactor?.noteRequestSent(asSent(params)));
}

/** Tells of the messages that the model is shown: the API leaves out what stands before a compaction. */
function reconcile(params: AnthropicRequest, session: Session | undefined): void {
  if (isEditedByApi(params)) return session?.reset();
  const { messages } = params,
    isCompaction = (block: unknown) => Object(block).type === "compaction" && Object(block).content;
  const from = messages.findLastIndex((message) => {
    const { content } = Object(message);
    return Array.isArray(content) && content.some(isCompaction);
  });
  session?.reconcile(messages.slice(Math.max(0, from)));
}

/** A runner, as far as it matters here. */
export interface AnthropicRunner {
  /** What the next request is made of; in the loop body, what the request was made of. */
  readonly params: AnthropicRequest;
  /** Runs the loop. */
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
}

/**
 * Tells of every request of a runner, however it is run: by `for await`, or by `await runner`. To be called before it is run.
 * A request is told before the loop body sees its reply, and so before any tool of the reply runs; what the body makes of the
 * messages, by `setMessagesParams` and the like, is told before the tools that run after it.
 *
 * @returns The same runner.
 *
 * @example
 * ```ts
 * import { createSession } from "@waymark/waymark";
 * import { followRunner } from "@waymark/waymark/adapters/anthropic";
 * import Anthropic from "@anthropic-ai/sdk";
 * import { assertEquals } from "@std/assert";
 *
 * const client = new Anthropic({ apiKey: "a key of yours" }), session = createSession();
 * const messages = [{ role: "user" as const, content: "Hello" }];
 * const params = { model: "claude-opus-5-5", max_tokens: 1024, messages, tools: [] };
 * const runner = followRunner(client.beta.messages.toolRunner(params), { session });
 * assertEquals(runner.params.messages.length, 1);
 * ```
 *
 * @example A compactor's view goes in by `setMessagesParams`, the reply at its end: a runner whose messages were changed leaves it out
 * ```ts
 * import { createSession } from "@waymark/waymark";
 * import { followRunner } from "@waymark/waymark/adapters/anthropic";
 * import { createCompactor } from "@waymark/waymark/compaction";
 * import type Anthropic from "@anthropic-ai/sdk";
 *
 * type Params = Parameters<Anthropic["beta"]["messages"]["toolRunner"]>[0] & { stream?: false };
 *
 * export async function converse(client: Anthropic, params: Params): Promise<void> {
 *   const session = createSession(), compactor = createCompactor({ budget: 100_000, session });
 *   const runner = followRunner(client.beta.messages.toolRunner(params), { session, compactor });
 *   let known = 0, view = compactor.view<Params["messages"][number]>();
 *   for await (const message of runner) {
 *     const { messages } = runner.params, before = view;
 *     compactor.append(...messages.slice(known), { role: "assistant", content: message.content });
 *     view = compactor.view();
 *     known = messages.length + 1;
 *     if (message.stop_reason !== "tool_use" || before.every((old, index) => old === view[index])) continue;
 *     runner.setMessagesParams((params) => ({ ...params, messages: view })); // compacted: anything else only grows
 *     known = view.length;
 *   }
 * }
 * ```
 */
export function followRunner<Runner extends AnthropicRunner>(runner: Runner, options: AnthropicRequestOptions): Runner {
  const iterate = runner[Symbol.asyncIterator];
  const follow = async function* (): AsyncGenerator<unknown, void, undefined> {
    const items = { [Symbol.asyncIterator]: () => Reflect.apply(iterate, runner, []) };
    for await (const item of items) {
      const { params } = runner;
      noteRequest(params, options);
      const before = leavesOf(params.messages);
      yield item;
      const after = runner.params, leaves = leavesOf(after.messages);
      const isSame = leaves.length === before.length && leaves.every((leaf, index) => leaf === before[index]);
      if (!isSame) attempting(quiet(options.onError))(() => reconcile(after, options.session));
    }
  };
  Object.defineProperty(runner, Symbol.asyncIterator, { configurable: true, writable: true, value: follow });
  return runner;
}

/** Everything that messages are made of, but for objects: those may be changed where they are. */
function leavesOf(value: unknown, depth = 16): unknown[] {
  if (typeof value !== "object" || value === null || depth === 0) return [value];
  return Object.values(value).flatMap((inner) => leavesOf(inner, depth - 1));
}

/** The request of a runner's params: without the runner's own settings and the functions of its tools, as it is sent. */
function asSent(params: AnthropicRequest): AnthropicRequest {
  const { max_iterations: _1, runToolsEagerly: _2, thread: _3, unsupportedRequestBehavior: _4, ...sent } = params as
    & AnthropicRequest
    & Record<string, unknown>;
  return sent.tools ? { ...sent, tools: sent.tools.map(asDefinition) } : sent;
}

function asDefinition(tool: unknown): unknown {
  if (typeof tool !== "object" || tool === null) return tool;
  const fields: object = "toJSON" in tool && typeof tool.toJSON === "function" ? tool.toJSON() : tool;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== "function"));
}
