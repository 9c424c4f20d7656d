/**
 * One run for one content among all who share a store, by a lease that is renewed while the run lasts.
 *
 * Promised: a waiter sees the result within a poll, takes over a lease that ran out, and heeds its signal at once; an owner
 * that lost its lease does not store. Timers live only while a run or a wait does.
 *
 * @module
 */

/** How long a lease lasts without a heartbeat, in milliseconds. A process that hangs for longer is taken for dead. */
export const LEASE_TTL_MS = 3000;
/** Polls of a waiter: the first and the longest pause, in milliseconds. */
const FIRST_POLL_MS = 20, LAST_POLL_MS = 200;

/** What a store does for one content and one would-be owner. No method throws. */
export interface Lease<Value> {
  /** The result, if it is there. */
  find(): Value | undefined;
  /** Takes the lease: `taken`, `held` by somebody else, or `none` where there are no leases to be had. */
  take(): "taken" | "held" | "none";
  /** Makes it last. */
  renew(): void;
  /** Stores the result and gives the lease up, at once; stores nothing if it was lost. */
  finish(value: Value): void;
  /** Gives it up after a failure. */
  drop(): void;
}

/** How {@linkcode runOnce} is bounded. */
export interface RunOnceOptions {
  readonly signal: AbortSignal;
  readonly ttlMs: number;
}

/** The stored result, or the run's own. Rejects with what the run or the signal rejects with. */
export async function runOnce<Value>(
  lease: Lease<Value>,
  run: (signal: AbortSignal) => Promise<Value>,
  { signal, ttlMs }: RunOnceOptions,
): Promise<{ value: Value; mine: boolean }> {
  for (let wait = FIRST_POLL_MS;; wait = Math.min(wait * 1.5, LAST_POLL_MS)) {
    signal.throwIfAborted();
    const value = lease.find();
    if (value !== undefined) return { value, mine: false };
    if (lease.take() !== "held") break;
    await pause(wait, signal);
  }
  const beat = setInterval(lease.renew, ttlMs / 3);
  letExit(beat);
  try {
    const value = await run(signal);
    lease.finish(value);
    return { value, mine: true };
  } catch (error) {
    lease.drop();
    throw error;
  } finally {
    clearInterval(beat);
  }
}

/** Waits, and keeps the process alive meanwhile: nothing else does while another process runs. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms), abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** A timer that does not keep the process alive. */
function letExit(timer: unknown): void {
  if (typeof timer === "number") (globalThis as { Deno?: typeof Deno }).Deno?.unrefTimer(timer);
  else (timer as { unref(): void }).unref();
}
