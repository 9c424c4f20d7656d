/**
 * Sums of what became of tool results. Pure.
 *
 * @module
 */

import type { DigestEvent } from "../events.ts";
import type { SkipReason } from "./types.ts";

/** Sums since the instance was made. */
export interface DigestSums {
  /** Digests made. */
  readonly made: number;
  /** Digests that `upgrade` and `substitute` put in the place of a result or a placeholder, each time anew; not a compactor's. */
  readonly used: number;
  /** Results of which none could be made. */
  readonly failed: number;
  /** Results of which none was wanted, by reason; a reason that did not occur is not there. */
  readonly skipped: Readonly<Partial<Record<SkipReason | "no-call-id", number>>>;
  /** Requests that reached a model, but for those of digests broken off. */
  readonly modelCalls: number;
  /** Tokens spent on them, input and output, cache reads and writes included. */
  readonly tokensSpent: number;
  /** Estimated tokens that conversations became shorter by; negative where placeholders became longer. */
  readonly tokensSaved: number;
}

/** Adds events up. */
export function createTally(): { add(event: DigestEvent): void; sums(): DigestSums } {
  const sums = { made: 0, used: 0, failed: 0, modelCalls: 0, tokensSpent: 0, tokensSaved: 0 };
  const skipped: Partial<Record<SkipReason | "no-call-id", number>> = {};
  return {
    sums: () => ({ ...sums, skipped: { ...skipped } }),
    add(event) {
      if (event.what === "skipped") {
        skipped[event.reason] = (skipped[event.reason] ?? 0) + 1;
        return;
      }
      sums[event.what]++;
      if (event.what === "used") {
        sums.tokensSaved += event.tokensSaved;
        return;
      }
      const { calls, input, output, cacheRead, cacheWrite } = event.usage;
      sums.modelCalls += calls;
      sums.tokensSpent += input + output + cacheRead + cacheWrite;
    },
  };
}
