/**
 * Waiting that can be broken off: for a promise, until a deadline, and for one's turn among a few.
 *
 * @module
 */

import type { Clock } from "./types.ts";

/** Waits under way. Deno 2.3 forgets a joined signal that only its listeners hold: it never fires. */
const waits = new Set<{ readonly signal: AbortSignal }>();

/** Settles with the promise, or rejects when the signal, if it is one, aborts first. Its late rejection is handled. */
export async function withSignal<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!(signal instanceof AbortSignal)) return await promise;
  const aborted = Promise.withResolvers<never>(), wait = { signal };
  const abort = (): void => aborted.reject(signal.reason);
  promise.catch(() => {});
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  waits.add(wait);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    waits.delete(wait);
    signal.removeEventListener("abort", abort);
  }
}

/** Beyond it timers fire at once or throw. */
const LONGEST_MS = 2 ** 31 - 1;

/** Fires when the time is over (a `TimeoutError`), or with another signal. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The time no longer matters: until then it keeps the process. */
  end(): void;
}

/**
 * A deadline from now on. With `AbortSignal.timeout` a listener left behind would keep a process on Deno, and on Node not even
 * somebody who waits would.
 */
export function createDeadline(
  ms: number,
  { signals, clock }: { signals: readonly (AbortSignal | undefined)[]; clock?: Clock | undefined },
): Deadline {
  const own = new AbortController(), ended = new AbortController(), most = Math.min(Math.max(ms, 0), LONGEST_MS);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    ended.abort();
    clearTimeout(timer);
    for (const { signal, abort } of others) signal.removeEventListener("abort", abort);
  };
  const fire = (reason: unknown): void => {
    if (!ended.signal.aborted) own.abort(reason);
    end();
  };
  const others = signals.filter((signal) => signal instanceof AbortSignal) // whatever a host took for one
    .map((signal) => ({ signal, abort: () => fire(signal.reason) }));
  const late = (): void => fire(new DOMException("The time is over", "TimeoutError"));
  if (clock) clock.sleep(most, ended.signal).then(late, () => {}); // ended before its time
  else timer = setTimeout(late, most);
  for (const { signal, abort } of others) signal.addEventListener("abort", abort, { once: true });
  others.find(({ signal }) => signal.aborted)?.abort();
  return { signal: own.signal, end };
}

/** Lets so many in at once; the rest wait in order, as long as their signal lets them. */
export function createTurns(most: number): { take(signal: AbortSignal): Promise<() => void> } {
  const queue: (() => void)[] = [];
  let active = 0;
  const release = (): void => {
    const next = queue.shift();
    if (next) next(); // the place changes hands without ever being free
    else active--;
  };
  return {
    async take(signal) {
      if (active < most) {
        active++;
        return release;
      }
      const turn = Promise.withResolvers<void>();
      queue.push(turn.resolve);
      try {
        await withSignal(turn.promise, signal);
      } catch (error) {
        const index = queue.indexOf(turn.resolve);
        if (index >= 0) queue.splice(index, 1);
        else release();
        throw error;
      }
      return release;
    },
  };
}

/** What work in steps gives in the end; every 50 ms other work has its turn, and the signal is asked. */
export async function inTurns<Value>(steps: Generator<void, Value>, signal?: AbortSignal): Promise<Value> {
  for (let until = performance.now() + 50;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    until = performance.now() + 50;
  }
}
