/**
 * What one summary's call was, put together while it goes on.
 *
 * @module
 */

import type { Usage } from "../types.ts";
import type { CallMode, SummaryCall } from "./types.ts";

/** The record of one summary. */
export interface CallRecord {
  /** One more request was sent. */
  sent(): void;
  /** What an answered request cost. */
  spent(usage: Omit<Usage, "calls" | "ms">): void;
  /** What else is known now. */
  note(facts: Partial<Omit<SummaryCall, "usage">>): void;
  /** The call as it was; `ms` is how long all of it took. */
  done(ms: number): SummaryCall;
}

/** A record of a summary of which nothing has happened yet. */
export function createCallRecord(modeRequested: CallMode, spanTokens: number): CallRecord {
  let call: Omit<SummaryCall, "usage"> = {
    modeRequested,
    modeUsed: "none",
    prefixMessages: 0,
    spanTokens,
    prefixTokens: 0,
  };
  const usage = { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return {
    sent: () => void usage.calls++,
    spent({ input, output, cacheRead, cacheWrite }) {
      usage.input += input;
      usage.output += output;
      usage.cacheRead += cacheRead;
      usage.cacheWrite += cacheWrite;
    },
    note: (facts) => void (call = { ...call, ...facts }),
    done: (ms) => ({ ...call, usage: { ...usage, ms } }),
  };
}
