/**
 * A deadline on a clock, joined with an abort.
 *
 * @module
 */

import type { Clock } from "./types.ts";

/** The longest a timer can be set to: beyond, runtimes fire at once or throw. */
const LONGEST_MS = 2 ** 31 - 1;

/** A signal that fires when the time is over, or when another one fires. */
export interface Deadline {
  /** Its reason is a `TimeoutError` where the time was over, else the other signal's. */
  readonly signal: AbortSignal;
  /** The time no longer matters. */
  end(): void;
}

/** A deadline from now on. Without a clock, the machine's; it keeps no process alive. */
export function createDeadline(
  ms: number,
  { clock, signal }: { clock?: Clock | undefined; signal: AbortSignal },
): Deadline {
  const most = Math.min(Math.max(ms, 0), LONGEST_MS);
  if (!clock) return { signal: AbortSignal.any([signal, AbortSignal.timeout(most)]), end: () => {} };
  const late = new AbortController(), ended = new AbortController();
  clock.sleep(most, ended.signal).then(
    () => late.abort(new DOMException("The time is over", "TimeoutError")),
    () => {}, // ended before its time
  );
  return { signal: AbortSignal.any([signal, late.signal]), end: () => ended.abort() };
}
