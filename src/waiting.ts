/**
 * Waiting that can be broken off: for a promise, and for one's turn among a few.
 *
 * @module
 */

/** Waits under way. Deno 2.3 forgets a joined signal, and Node 22 a part of it, that nobody else holds: it never fires. */
const waits = new Set<{ readonly signal: AbortSignal; readonly parts: readonly AbortSignal[] }>();

/**
 * Settles with the promise, or rejects when the signal aborts first. Its late rejection is handled.
 *
 * @param parts Those of a joined signal nobody else holds.
 */
export async function withSignal<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  parts: readonly AbortSignal[] = [],
): Promise<Value> {
  if (!signal) return await promise;
  const aborted = Promise.withResolvers<never>(), wait = { signal, parts };
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
