/**
 * The vocabulary of compaction, the part a host holds in its hand: the compactor and its sums. Types only.
 *
 * @module
 */

import type { HostMessage, SentRequest, SentUsage, SummaryCall } from "./types.ts";

/** A message as it is given: of whatever type the host or its SDK has for it, but no list. */
export type GivenMessage = HostMessage | {
  readonly role?: unknown;
  readonly type?: unknown;
  readonly length?: never;
};

/** A request as it is noted: of whatever type the host or its SDK has for it. */
export type GivenRequest = SentRequest | {
  readonly tools?: unknown;
  readonly model?: unknown;
  readonly system?: unknown;
  readonly messages?: unknown;
};

/** A conversation whose requests stay within a budget. Its history is never edited; what a request gets is a view of it. */
export interface Compactor {
  /**
   * New messages, in the order they came. Kept as they are, with a number that never changes. A host that is handed all of
   * its messages each time appends those behind `history().length`.
   */
  append(...messages: readonly GivenMessage[]): void;
  /**
   * Another conversation: what was before is forgotten, a summary on its way too. A view kept by a host that ended may be
   * handed in: the summaries in it are known as such.
   */
  setMessages(messages: readonly GivenMessage[]): void;
  /** The conversation begins anew, empty. */
  clear(): void;
  /** Every message given since the conversation began, the very objects, in order. */
  history(): readonly HostMessage[];
  /**
   * The messages of the next request. Never waits. Within the budget, unless what cannot be left out is larger alone: system
   * messages, what a person wrote last, tool calls without an answer yet, and the newest round. Between compactions a view
   * only grows at its end.
   *
   * @typeParam Message The type of messages your SDK has: what was given has it, and what compaction puts in has its form.
   */
  view<Message extends object = HostMessage>(): Message[];
  /** A request was sent, as it was sent. Used by forks only; nothing else changes by it. */
  noteRequestSent(request: GivenRequest): void;
  /** What the provider reported of the request made from the last view: from then on its count is what the budget means. */
  noteUsage(usage: SentUsage): void;
  /** What the last summary call was. */
  readonly lastCall: SummaryCall | undefined;
  /** Sums since the compactor was made. */
  stats(): CompactorStats;
  /** Resolves when no summary is on its way. Never rejects. */
  settled(): Promise<void>;
  /** Ends a summary on its way; no other is begun. Views go on. */
  close(): void;
  /** {@linkcode Compactor.close}, and waits for what was on its way. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Sums since a compactor was made. */
export interface CompactorStats {
  /** Summaries begun. */
  readonly begun: number;
  /** Summaries that took the place of their span. */
  readonly swapped: number;
  /** Summaries that could not be made: the model failed, or was too slow. */
  readonly failed: number;
  /** Summaries that were made and not used: not smaller than their span, or the span was gone. */
  readonly refused: number;
  /** Times the ladder changed the view. */
  readonly ladders: number;
  /** Messages whose tool results it cleared. */
  readonly cleared: number;
  /** Messages it left out. */
  readonly dropped: number;
  /** Floors found: times what cannot be left out was over its mark. */
  readonly floors: number;
  /** Summaries made by a fork. */
  readonly forks: number;
  /** Forks that were wanted and could not be. */
  readonly fallbacks: number;
  /** Forks that could be and were not worth it. */
  readonly declines: number;
  /** Summaries made by a call of their own. */
  readonly standalone: number;
  /** Forks that read less than 90 % of their prefix from the cache. */
  readonly missed: number;
  /** Estimated tokens of the view now. */
  readonly viewTokens: number;
}
