/**
 * What estimates come to in the provider's own count: so much for what is in every request beside the messages, and so much
 * for each token estimated. Pure.
 *
 * Promised: without a report the estimate itself; with reports, exactly what was reported for what it was reported of. Absent:
 * trust in figures that cannot be: what is in every request is at most nine tenths of the budget, and a token estimated is between a
 * half and three.
 *
 * @module
 */

import type { SentUsage } from "./types.ts";

/** Bounds of what one estimated token can come to. */
const LEAST = 0.5, MOST = 3;
/** Two reports must be of views this far apart to tell what a token comes to, as a share of the budget. */
const APART = 0.01;
/** Most of the budget that is taken to be in every request. */
const MOST_FIXED = 0.9;

/** What a person is told of more than that. */
export const TOO_MUCH =
  "What is in every request beside the messages leaves them under a tenth of the budget: raise it";

/** Translates estimates to the provider's count and back. */
export interface Meter {
  /** What so many estimated tokens come to. */
  used(estimated: number): number;
  /** How many estimated tokens come to so many; at least 0. */
  room(tokens: number): number;
  /**
   * A request with so many estimated tokens came to this; nothing is learnt where nothing was reported. Whether more is in
   * every request than can be reckoned with.
   */
  report(estimated: number, usage: SentUsage | null | undefined): boolean;
  /** Nothing was reported. */
  reset(): void;
}

/** A meter for a budget. */
export function createMeter(budget: number): Meter {
  let fixed = 0, each = 1;
  let last: { readonly estimated: number; readonly total: number } | undefined;
  return {
    used: (estimated) => fixed + each * estimated,
    room: (tokens) => Math.max(0, (tokens - fixed) / each),
    report(estimated, usage) {
      const total = [usage?.input, usage?.cacheRead, usage?.cacheWrite].reduce<number>(
        (sum, tokens = 0) => sum + (Number.isFinite(tokens) && tokens > 0 ? tokens : 0),
        0,
      );
      if (total === 0 || estimated <= 0) return false;
      if (last && Math.abs(estimated - last.estimated) >= APART * budget) {
        const found = (total - last.total) / (estimated - last.estimated);
        each = (each + Math.min(MOST, Math.max(LEAST, found))) / 2; // one report may be of an odd message
      }
      fixed = total - each * estimated;
      if (fixed < 0) [fixed, each] = [0, Math.max(LEAST, total / estimated)];
      last = { estimated, total };
      const isTooMuch = fixed > MOST_FIXED * budget;
      fixed = Math.min(fixed, MOST_FIXED * budget);
      return isTooMuch;
    },
    reset() {
      [fixed, each, last] = [0, 1, undefined];
    },
  };
}
