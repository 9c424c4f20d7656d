/**
 * The vocabulary of compaction: requests, spans of messages, the calls that summarize them, and what they cost. Types only.
 *
 * @module
 */

import type { Session } from "../session_types.ts";
import type { Summaries } from "../tool_use/types.ts";
import type { Clock, Completion, CompletionModel, Usage } from "../types.ts";
import type { HostMessage, MessageShape } from "./shape_types.ts";

export type { HostMessage, MessageFacts, MessageShape } from "./shape_types.ts";

/** Something a person should know. */
export interface Notice {
  /** A stable code. */
  readonly reason: string;
  /** One line. */
  readonly message: string;
}

/** How the call that makes a summary is made. `inline` is another name of `standalone`. */
export type CallMode = "standalone" | "inline" | "fork" | "auto";

/** A request as it was sent, in the provider's own words. Its messages stand under `messages` (or `input`, or `prompt`). */
export interface SentRequest extends Readonly<Record<string, unknown>> {
  /** The tools sent; absent: unknown, which is not the same as none. */
  readonly tools?: unknown;
  /** The model's name. */
  readonly model?: unknown;
  /** The system prompt. */
  readonly system?: unknown;
  /** The messages. */
  readonly messages?: readonly HostMessage[];
}

/** Port: sends one whole request to the main model, byte for byte as it is given. No retries of its own. */
export interface RequestSender {
  /** Sends it. Rejects with a `WaymarkError` that has the provider's own message. */
  send(request: SentRequest, options: SendOptions): Promise<SentAnswer>;
}

/** What a request is sent with. */
export interface SendOptions {
  /** Reaches the HTTP request. */
  readonly signal: AbortSignal;
  /** The provider's id of the answer to the request that this one begins with, where it is known: for cache diagnostics. */
  readonly previousId?: string;
}

/** What came back of a whole request. A fork's is no summary where its `stopReason` is `other`: it may go on. */
export interface SentAnswer extends Completion {
  /** The provider's id of the answer, for cache diagnostics of the next one. */
  readonly id?: string;
  /** Why the provider says its cache was missed, where it says so. */
  readonly cacheMiss?: string;
}

/** What the provider reports of one answered request of the host's own. */
export interface SentUsage {
  /** Input tokens that were neither read from the cache nor written to it. */
  readonly input: number;
  /** Input tokens read from the provider's cache. */
  readonly cacheRead: number;
  /** Input tokens written to the provider's cache. */
  readonly cacheWrite: number;
  /** Output tokens. */
  readonly output?: number;
  /** The provider's id of the answer, for cache diagnostics of a fork. */
  readonly id?: string;
}

/** Why a fork was not made although it was wanted. In this order. */
export type ForkRefusal =
  | "never-noted"
  | "tools-not-given"
  | "different-model"
  | "nothing-recorded"
  | "later-request"
  | "unanswered-calls"
  | "span-not-in-prefix"
  | "cache-cold"
  | "build-failed"
  | "bad-answer";

/** A run of messages to be summarized, as indexes into the history. */
export interface Span {
  /** Permanent numbers of the messages, oldest first. */
  readonly sequence: readonly number[];
  /** Estimated tokens. */
  readonly tokens: number;
}

/** What the last summary call was. */
export interface SummaryCall {
  /** What was asked for. */
  readonly modeRequested: CallMode;
  /** What it was; `none` where there was no summary. */
  readonly modeUsed: "standalone" | "fork" | "none";
  /** Why the mode used is not the one requested, or why there was none. */
  readonly reason?: ForkRefusal | "not-worth-it" | "failed" | "timeout" | "not-smaller" | "stale";
  /** Messages of the prefix a fork read; 0 for a standalone call. */
  readonly prefixMessages: number;
  /** Where the prefix came from. */
  readonly prefixSource?: "wire-record" | "own-view";
  /** Estimated tokens of the span. */
  readonly spanTokens: number;
  /** Estimated tokens of the whole request a fork began with, tools and system prompt included; 0 for a standalone call. */
  readonly prefixTokens: number;
  /** What all requests for this summary cost together: at most a fork and a standalone call. */
  readonly usage: Usage;
  /** A fork whose cache read was under 90 % of its prefix. */
  readonly missed?: true;
  /** What the provider said of it. */
  readonly cacheMiss?: string;
}

/** What one model costs and caches. Every figure has its date and source in the table it comes from. */
export interface CachePrices {
  /** Input price of the main model over that of the summarizer; 1 where they are the same. */
  readonly priceRatio: number;
  /** What reading a cached token costs, over a plain input token. */
  readonly read: number;
  /** What writing one costs. */
  readonly write: number;
  /** Fewest tokens that are cached at all. */
  readonly minimumTokens: number;
  /** How long an unused prefix stays, milliseconds. */
  readonly ttlMs: number;
  /** The cache is read only by a request that begins with the whole of one sent before. Default true. */
  readonly needsSuperset?: boolean;
  /** Share of a prefix that is expected to be read from the cache as long as no usage was reported. Default 0.857. */
  readonly hitShare?: number;
}

/** One thing compaction tells of. */
export interface CompactionEvent {
  /** Always `compaction`. */
  readonly type: "compaction";
  /** A summary was begun, made, refused or swapped in; a fork fell back or was declined; the ladder ran; a floor was found. */
  readonly what: "begun" | "made" | "refused" | "swapped" | "fallback" | "declined" | "ladder" | "floor" | "stopped";
  /** Why, or how much: a code where a program should know it. */
  readonly reason?: string;
  /** The summary's call, where there was one. */
  readonly call?: SummaryCall;
}

/** Options of `createCompactor`. */
export interface CompactorOptions {
  /** Tokens the messages of a request may have. */
  readonly budget: number;
  /** Answers standalone calls where there is no `summarizationModel`. */
  readonly model?: CompletionModel | undefined;
  /** Answers standalone calls. Default: `model`. */
  readonly summarizationModel?: CompletionModel | undefined;
  /** Sends forks. Without one a fork is refused. */
  readonly sender?: RequestSender | undefined;
  /** `summary`: a model makes the summary; `prune`: the ladder alone. Default `summary` where there is a model. */
  readonly strategy?: "summary" | "prune" | undefined;
  /** How the summary's call is made. Default `standalone`; an unknown one is told once and is `standalone`. */
  readonly callMode?: CallMode | undefined;
  /**
   * The shape of the messages. Default: `anthropic`. One that does not fit is told once: calls are parted from results, and
   * what such results held is given again once anything has left. UI messages of the AI SDK are of no shape.
   */
  readonly shape?: "anthropic" | "openai" | "ai-sdk" | MessageShape | undefined;
  /** Share of the budget at which a summary is begun. Default 0.6. */
  readonly summaryTrigger?: number | undefined;
  /** Share of the budget that a compaction aims at. Default 0.5. */
  readonly target?: number | undefined;
  /** Share of the messages' tokens, the newest, that is never summarized; what stays anyway is not counted. Default 0.3. */
  readonly protectedRecent?: number | undefined;
  /** Share of the budget that summaries may take together; at a swap the oldest beyond it are left out. Default 0.2. */
  readonly summaryShare?: number | undefined;
  /** Summaries beyond `summaryShare` are summarized with the next span instead: rather vaguer than gone. Default false. */
  readonly foldSummaries?: boolean | undefined;
  /** Turns (views) after a swap in which no other summary is begun. Default 5. */
  readonly cooldownTurns?: number | undefined;
  /** Smallest span worth a call, as a share of the budget. Default 0.1. */
  readonly minSpan?: number | undefined;
  /** After a swap usage must have been below `summaryTrigger` by this share, or grown by it, before another. Default 0.05. */
  readonly hysteresis?: number | undefined;
  /** Failures in a row after which no more summaries are tried until `clear` or a success by other means. Default 3. */
  readonly strikes?: number | undefined;
  /** Deadline of one summary, fork and standalone together. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Estimates the tokens of a message. Default: one for every four bytes of UTF-8 of its JSON; an image or a document in it
   * counts 1,600 at most.
   */
  readonly estimate?: ((message: HostMessage) => number) | undefined;
  /** What the main model caches and costs, for `auto`. Default: by the name in the request, from the table. */
  readonly prices?: Partial<CachePrices> | undefined;
  /** The session of the re-read guard: it is told what leaves the conversation. */
  readonly session?: Session | undefined;
  /**
   * Digests of tool results, which stand in for them where they are cleared, and in standalone input. One of an id that several
   * calls of the conversation have stands in for none.
   */
  readonly summaries?: (() => Summaries) | undefined;
  /** Maps and seen ranges of files in play are put after a summary, in at most so many tokens. Default: not. */
  readonly reattachMaps?: false | { readonly tokens: number } | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Called before a summary is asked for. What it throws is told and ignored. */
  readonly onBeforeSummarize?:
    | ((about: { readonly messages: number; readonly mode: "standalone" | "fork" }) => unknown)
    | undefined;
  /** Called after, with the mode that was really used. */
  readonly onAfterSummarize?:
    | ((about: { readonly length: number; readonly mode: "standalone" | "fork" }) => unknown)
    | undefined;
  /** Told what a person should know, once for each distinct reason. Default of `createCompactor`: one line on stderr. */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: CompactionEvent) => void) | undefined;
}
