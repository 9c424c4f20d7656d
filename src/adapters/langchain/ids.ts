/**
 * Which conversation a call of LangChain's or a request belongs to, and what is to be thought of requests and errors, told by
 * what the run knows of itself. Pure.
 *
 * @module
 */

import { isEditedByApi } from "../../edited_by_api.ts";
import type { LangchainModelRequest, LangchainRun } from "./types.ts";

/** A conversation. */
export interface ConversationFacts {
  /** Its id; `undefined` where nothing tells it from others. */
  readonly id: string | undefined;
  /** It is the agent's own, not that of an agent which one of its tools runs. */
  readonly isMain: boolean;
}

/**
 * The conversation of a run: its thread, or else its first message, and where in the graph its agent runs. The names of the
 * steps of a graph stand in `checkpoint_ns`, one within the other, each with an id of its own; the last is the step itself.
 */
export function conversationOf({ runtime, state }: LangchainRun): ConversationFacts {
  const { thread_id: thread, checkpoint_ns: steps } = runtime?.configurable ?? {};
  const around = typeof steps === "string" ? steps.split("|").slice(0, -1) : [];
  const [first] = state?.messages ?? [], name = thread ?? (first as { id?: unknown } | undefined)?.id;
  return {
    id: typeof name === "string"
      ? JSON.stringify([thread === undefined ? "first" : "thread", name, ...around])
      : undefined,
    isMain: !around.some((step) => /^tools(?::|$)/.test(step)),
  };
}

/** Messages that were there once. They are told from others, and not kept. */
export interface Remembered {
  /** The last of them is the last of these, if only by its id. */
  endsLike(messages: readonly unknown[]): boolean;
  /** They are these very messages. */
  are(messages: readonly unknown[]): boolean;
}

/** Remembers messages. */
export function remember(messages: readonly unknown[] = []): Remembered {
  const isObject = (one: unknown): one is object => typeof one === "object" && one !== null;
  const count = messages.length, seen = new WeakSet(messages.filter(isObject)), last = lastOf(messages);
  return {
    endsLike: (others) => lastOf(others) === last,
    are: (others) => others.length === count && others.every((one) => isObject(one) && seen.has(one)),
  };
}

function lastOf(messages: readonly unknown[]): unknown {
  const last = messages.at(-1);
  return (last as { id?: unknown } | undefined)?.id ?? last;
}

/** Where the message is that made a call; -1 where it is not there. */
export function callerIn(messages: readonly unknown[], callId: string): number {
  return messages.findLastIndex((message) => {
    const { tool_calls: calls } = (message ?? {}) as { tool_calls?: readonly { id?: unknown }[] };
    return Array.isArray(calls) && calls.some(({ id }) => id === callId);
  });
}

/** Whether the model is not shown the messages of a request as they are, for its API is asked to take something out. */
export function isEdited({ model, modelSettings }: LangchainModelRequest): boolean {
  const { modelKwargs, invocationKwargs } = Object(model) as Record<string, unknown>;
  return [model, modelKwargs, invocationKwargs, modelSettings].some(isEditedByApi);
}

/**
 * Whether an error is one that LangChain's own code is to see: what interrupts a run or leads out of it, and arguments that
 * are not those of the tool's schema, which LangChain has words for.
 */
export function isOfHost(error: unknown): boolean {
  const { "~brand": brand } = (error ?? {}) as { "~brand"?: unknown };
  return isWayOut(error) || brand === "ToolInvocationError";
}

/** Whether an error interrupts a run or leads out of it: no tool has failed. */
export function isWayOut(error: unknown): boolean {
  const { name, is_bubble_up: isUp } = (error ?? {}) as { name?: unknown; is_bubble_up?: unknown };
  return isUp === true || ["GraphInterrupt", "NodeInterrupt", "ParentCommand"].includes(name as string);
}
