/**
 * When a fork is cheaper than a standalone call. Pure.
 *
 * A fork pays for the whole prefix, most of it at the price of reading the cache; a standalone call pays for the span alone, at
 * the summarizer's price. Their instructions and their answers are about the same, and left out.
 *
 * @module
 */

import type { SentUsage } from "./types.ts";

/** What the two kinds of call cost each token. */
export interface CallRates {
  /** Share of the prefix that is read from the cache, 0 to 1. */
  readonly hitShare: number;
  /** What reading a cached token costs, over a plain input token. */
  readonly read: number;
  /** Input price of the main model over that of the summarizer; 1 where they are the same. */
  readonly priceRatio: number;
}

/** Tokens of the two kinds of call. */
export interface CallSizes {
  /** Tokens of the span. */
  readonly spanTokens: number;
  /** Tokens of the prefix, tools and system prompt included. */
  readonly prefixTokens: number;
}

/** The share of the prefix that a span must have for both kinds of call to cost the same. */
export function breakEven({ hitShare, read, priceRatio }: CallRates): number {
  return (hitShare * read + 1 - hitShare) * priceRatio;
}

/** Whether a fork costs no more than a standalone call. */
export function isForkWorthIt({ spanTokens, prefixTokens }: CallSizes, rates: CallRates): boolean {
  return spanTokens >= prefixTokens * breakEven(rates);
}

/** What the input of the two kinds of call costs, in plain input tokens of the main model. */
export function callCosts(
  { spanTokens, prefixTokens }: CallSizes,
  { hitShare, read, priceRatio }: CallRates,
): { readonly fork: number; readonly standalone: number } {
  return {
    fork: prefixTokens * (hitShare * read + 1 - hitShare),
    standalone: spanTokens / priceRatio,
  };
}

/** How many of the latest requests the observed share is taken over. */
const WINDOW = 8;

/** The share of input that is read from the cache, as usage reports it. */
export interface HitShare {
  /** Takes in what one request reported. */
  note(usage: Pick<SentUsage, "input" | "cacheRead" | "cacheWrite">): void;
  /** The share over the latest requests, weighed by their tokens; `undefined` as long as nothing was reported. */
  value(): number | undefined;
  /** Forgets everything. */
  reset(): void;
}

/** Observes the share of input that is read from the cache. */
export function createHitShare(): HitShare {
  const latest: { readonly read: number; readonly total: number }[] = [];
  return {
    note({ input, cacheRead, cacheWrite }) {
      const total = input + cacheRead + cacheWrite;
      if (!(total > 0) || total === Infinity || Math.min(input, cacheRead, cacheWrite) < 0) return;
      latest.push({ read: cacheRead, total });
      if (latest.length > WINDOW) latest.shift();
    },
    value() {
      const total = latest.reduce((sum, one) => sum + one.total, 0);
      return total ? latest.reduce((sum, one) => sum + one.read, 0) / total : undefined;
    },
    reset: () => void latest.splice(0),
  };
}
