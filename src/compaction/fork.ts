/**
 * The fork: the last request once more, with one message of the user's after it, or why there is none. Pure.
 *
 * Promised: nothing of the recorded request is changed, left out or added but that one message, so that all that was cached of
 * it is read again; a mark for the cache on the whole of it stands on its last block instead, where it was taken to be, so that
 * nothing of the fork is written; a span that is not in it to the letter is a refusal, never a guess; the first refusal that applies, in the
 * order of {@linkcode ForkRefusal}, is the reason. Absent: a system message, a schema, a mark for the cache; where the recorded
 * request has a schema or forces a tool call, neither can be dropped without losing the cache, so there is no fork.
 *
 * @module
 */

import { estimateTokens } from "./estimate.ts";
import { fieldsOf } from "./pieces.ts";
import { cacheMarks, endsInThinking, findRun, isPlain, listField, withPinnedMark } from "./prefix.ts";
import { type CacheFacts, cacheFacts } from "./prices.ts";
import { forkWords } from "./prompt.ts";
import type { ForkSnapshot, Recorded } from "./recorder.ts";
import type { CachePrices, ForkRefusal, HostMessage, MessageShape, SentRequest, SentUsage } from "./types.ts";

/** What a fork is judged by. */
export interface ForkInput {
  /** What was known of requests when the summary was begun. */
  readonly snapshot: ForkSnapshot;
  /** How often everything has been dropped by now. */
  readonly generation: number;
  /** The messages to summarize. */
  readonly span: readonly HostMessage[];
  /** The shape of messages. */
  readonly shape: MessageShape;
  /** Estimates the tokens of a part of a request. */
  readonly estimate: (value: HostMessage) => number;
  /** The model that standalone summaries are made by, where it was named. */
  readonly summarizer: string | undefined;
  /** A different summarizer is a matter of price, not a refusal. */
  readonly isAuto: boolean;
  /** The host's own figures. */
  readonly prices: Partial<CachePrices> | undefined;
  /** The time, milliseconds since the epoch. */
  readonly now: number;
  /** A random code for delimiters that does not occur in a text. */
  readonly tokenFor: (text: string) => string;
}

/** A fork that can be sent. */
export interface ForkPlan {
  /** The whole request. */
  readonly request: SentRequest;
  /** The main model. */
  readonly model: string | undefined;
  /** How many messages the prefix has. */
  readonly prefixMessages: number;
  /** Estimated tokens of the prefix, tools and system prompt included. */
  readonly prefixTokens: number;
  /** Estimated tokens of the message that was put after it. */
  readonly appendedTokens: number;
  /** Where the prefix came from. */
  readonly prefixSource: "wire-record" | "own-view";
  /** What the model caches. */
  readonly facts: CacheFacts;
  /** What the provider reported of the request that is the prefix. */
  readonly usage: SentUsage | undefined;
}

/** Why a fork cannot be made. */
export interface Refused {
  /** The first reason that applies. */
  readonly refusal: ForkRefusal;
  /** More about it, for a person; may be empty. */
  readonly detail: string;
}

/** The request to send, or why there is none. Never throws. */
export function planFork(input: ForkInput): ForkPlan | Refused {
  try {
    return plan(input);
  } catch (error) {
    return refuse("build-failed", error instanceof Error ? error.message : String(error));
  }
}

function plan(input: ForkInput): ForkPlan | Refused {
  const { snapshot, span, shape, estimate, summarizer } = input;
  const { latest, recorded } = snapshot;
  if (!latest || snapshot.generation !== input.generation) return refuse("never-noted");
  if (latest.request.tools === undefined) return refuse("tools-not-given");
  const model = nameOf(latest.request.model);
  if (!input.isAuto && summarizer !== undefined && summarizer !== model) {
    return refuse("different-model", `${summarizer} is to summarize, and ${model ?? "another model"} has the cache`);
  }

  const isLong = cacheMarks((recorded ?? latest).request).isLong;
  const facts = cacheFacts(model, { prices: input.prices, isLong });
  const isOwn = !recorded && !facts.needsSuperset && snapshot.view.length > 0;
  if (!recorded && !isOwn) return refuse("nothing-recorded");
  if (recorded && recorded !== latest) return refuse("later-request");
  const source: Recorded = recorded ?? { ...latest, request: { ...latest.request, messages: snapshot.view } };
  const { request } = source, list = listField(request)!;
  const prefix = request[list] as readonly HostMessage[];

  const told = prefix.map((message) => shape.facts(message));
  const lastCalls = told.findLast(({ calls }) => calls.length > 0)?.calls ?? [];
  const answered = new Set(told.flatMap(({ answers }) => answers));
  if (lastCalls.some((call) => !answered.has(call))) return refuse("unanswered-calls");
  const start = findRun(prefix, span);
  if (start < 0) return refuse("span-not-in-prefix");

  const { [list]: _messages, ...rest } = request;
  const prefixTokens = prefix.reduce((sum, message) => sum + estimate(message), estimateTokens(rest));
  const lastHuman = told.findLastIndex(({ isHuman }) => isHuman);
  const cold = whyCold(source, {
    facts,
    prefixTokens,
    now: input.now,
    isOwn,
    hasThinking: endsInThinking(prefix, lastHuman),
  });
  if (cold) return refuse("cache-cold", cold);

  const unfit = whyUnfit(request);
  if (unfit) return refuse("build-failed", unfit);
  // The words of OpenAI are read by gateways, each of which has a mark of its own.
  const pinned = shape.name === "openai" ? request : withPinnedMark(request);
  if (!pinned) return refuse("build-failed", "its mark for the cache, on the whole of it, can stand on no block");
  const first = told[start]!, last = told[start + span.length - 1]!;
  const words = forkWords({
    first,
    last,
    from: start - told.slice(0, start).filter(({ role }) => role === "system").length,
    count: span.length,
    total: told.filter(({ role }) => role !== "system").length,
  }, input.tokenFor(first.text + last.text));
  const appended = shape.user(words);
  return {
    request: { ...pinned, [list]: [...pinned[list] as readonly HostMessage[], appended] },
    model,
    prefixMessages: prefix.length,
    prefixTokens,
    appendedTokens: estimate(appended),
    prefixSource: isOwn ? "own-view" : "wire-record",
    facts,
    usage: source.usage,
  };
}

/** What is looked at to tell whether anything of a request is still cached. */
interface Warmth {
  readonly facts: CacheFacts;
  readonly prefixTokens: number;
  readonly now: number;
  readonly isOwn: boolean;
  readonly hasThinking: boolean;
}

/** Why the cache certainly holds nothing of a request's messages; `undefined` where it may. */
function whyCold({ request, at, usage }: Recorded, warmth: Warmth): string | undefined {
  const { facts, now } = warmth, { ttlMs, minimumTokens } = facts;
  if (facts.needsMarks && !cacheMarks(request).areMessagesMarked) return "no message is marked for the cache";
  if (ttlMs !== undefined && now - at > ttlMs) {
    return `the last request was ${Math.round((now - at) / 1000)} s ago, and the cache is kept for ${ttlMs / 1000} s`;
  }
  const tokens = usage && !warmth.isOwn ? totalOf(usage) || warmth.prefixTokens : warmth.prefixTokens;
  if (minimumTokens !== undefined && tokens < minimumTokens) {
    return `${tokens} tokens are below the ${minimumTokens} from which on anything is cached`;
  }
  return facts.stripsThinking && warmth.hasThinking
    ? "this model drops its latest reasoning when a user's message follows"
    : undefined;
}

/** Choices that leave it to the model whether a tool is called; any other one is by a tool's name or kind. */
const FREE: ReadonlySet<unknown> = new Set([undefined, null, "auto", "none", "allowed_tools"]);

/** Why no text can come back of a request, whose fields must all stay as they are; `undefined` where one can. */
function whyUnfit(request: SentRequest): string | undefined {
  const { output_config, output_format, response_format, responseFormat, text, tool_choice, toolChoice } = request;
  const formats = [
    fieldsOf(output_config)["format"],
    output_format,
    response_format,
    responseFormat,
    fieldsOf(text)["format"],
  ];
  if (formats.some((format) => isPlain(format) && format["type"] !== "text")) {
    return "the last request asks for output of a fixed structure";
  }
  const isForced = (choice: unknown): boolean => {
    const given = fieldsOf(choice), { type, mode = fieldsOf(given["allowed_tools"])["mode"] } = given;
    const kind = isPlain(choice) ? type ?? given["mode"] ?? Object.keys(given)[0] : choice;
    return mode === "required" || !FREE.has(typeof kind === "string" ? kind.toLowerCase() : kind);
  };
  return [tool_choice, toolChoice].some(isForced) ? "the last request forces a tool call" : undefined;
}

/** All input tokens of a request, as the provider counted them. */
export function totalOf({ input, cacheRead, cacheWrite }: Omit<SentUsage, "id" | "output">): number {
  return input + cacheRead + cacheWrite;
}

/** The name of a model, which some hosts give as an object. */
function nameOf(model: unknown): string | undefined {
  if (typeof model === "string") return model || undefined;
  const id = (model as { modelId?: unknown } | null | undefined)?.modelId;
  return typeof id === "string" && id ? id : undefined;
}

function refuse(refusal: ForkRefusal, detail = ""): Refused {
  return { refusal, detail };
}
