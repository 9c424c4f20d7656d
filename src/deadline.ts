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

/** Deadlines that matter. Deno 2.3 forgets a joined signal that only its own listeners hold, and it then never fires. */
const held = new Set<AbortSignal>();

/** A deadline from now on. Without a clock, the machine's; it keeps no process alive. */
export function createDeadline(
  ms: number,
  { clock, signal }: { clock?: Clock | undefined; signal: AbortSignal },
): Deadline {
  const most = Math.min(Math.max(ms, 0), LONGEST_MS);
  if (!clock) return hold(AbortSignal.any([signal, AbortSignal.timeout(most)]));
  const late = new AbortController(), ended = new AbortController();
  clock.sleep(most, ended.signal).then(
    () => late.abort(new DOMException("The time is over", "TimeoutError")),
    () => {}, // ended before its time
  );
  return hold(AbortSignal.any([signal, late.signal]), () => ended.abort());
}

/** Holds a signal until it fires or no longer matters. */
function hold(signal: AbortSignal, end = (): void => {}): Deadline {
  const letGo = (): void => void held.delete(signal);
  if (!signal.aborted) held.add(signal);
  signal.addEventListener("abort", letGo, { once: true });
  return { signal, end: () => (letGo(), end()) };
}
