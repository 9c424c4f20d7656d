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

/**
 * Deadlines that matter, with the signal of their time. Deno 2.3 forgets a joined signal that only its own listeners hold, and
 * Node 22 a deadline that only a joined signal knows: neither would ever fire.
 */
const held = new Map<AbortSignal, AbortSignal>();

/** A deadline from now on. Without a clock, the machine's; it keeps no process alive. */
export function createDeadline(
  ms: number,
  { clock, signal }: { clock?: Clock | undefined; signal: AbortSignal },
): Deadline {
  const most = Math.min(Math.max(ms, 0), LONGEST_MS);
  if (!clock) return hold(signal, AbortSignal.timeout(most));
  const late = new AbortController(), ended = new AbortController();
  clock.sleep(most, ended.signal).then(
    () => late.abort(new DOMException("The time is over", "TimeoutError")),
    () => {}, // ended before its time
  );
  return hold(signal, late.signal, () => ended.abort());
}

/** Joins two signals, and holds them until one fires or neither matters any more. */
function hold(given: AbortSignal, late: AbortSignal, end = (): void => {}): Deadline {
  const signal = AbortSignal.any([given, late]), letGo = (): void => void held.delete(signal);
  if (!signal.aborted) held.set(signal, late);
  signal.addEventListener("abort", letGo, { once: true });
  return {
    signal,
    end() {
      letGo();
      signal.removeEventListener("abort", letGo); // on Deno, a listener to a time keeps the process alive until it is over
      end();
    },
  };
}
