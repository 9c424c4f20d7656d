/**
 * One run for one content among all processes that share a database: a lease row, renewed while the run lasts.
 *
 * Promised: a waiter sees the result within a poll, takes over a lease that ran out, and heeds its signal at once; an owner
 * that lost its lease does not store.
 *
 * @module
 */

import type { FileMap, SqliteStatement } from "../types.ts";
import { SQL } from "./schema.ts";

/** Polls of a waiter: the first and the longest pause, in milliseconds. */
const FIRST_POLL_MS = 20, LAST_POLL_MS = 200;

/** What a lease needs of the store. `read` and `write` give `undefined` where the database could not do it. */
export interface LeaseStore {
  query(sql: string): SqliteStatement;
  read<Result>(work: () => Result): Result | undefined;
  write<Result>(work: () => Result): Result | undefined;
  /** The result, if it is there; `bare` where it is asked for within a transaction. */
  find(bare?: boolean): FileMap | undefined;
  /** Stores a result, within the transaction that gives the lease up. */
  store(map: FileMap): void;
  /** Stores a result without a lease. */
  put(map: FileMap): void;
  /** Keeps a result for this process alone. */
  keep(map: FileMap): void;
  now(): number;
}

/** What is leased, and how. */
export interface LeaseRequest {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly ttlMs: number;
}

/** The stored result, or the run's own. Rejects with what the run or the signal rejects with. */
export async function runOnce(
  store: LeaseStore,
  request: LeaseRequest,
  run: (signal: AbortSignal) => Promise<FileMap>,
): Promise<{ map: FileMap; mine: boolean }> {
  const { query, read, write, now } = store, { key, signal, ttlMs } = request, owner = crypto.randomUUID();
  const isFree = (): boolean => {
    const end = query(SQL.lease).get(key)?.["expires_at"] as number | undefined, time = now();
    return end === undefined || end <= time || end > time + 10 * ttlMs; // so far off: a clock was wrong
  };
  /** `undefined`: there are no leases to be had, the run goes on without. */
  const take = (): boolean | undefined => {
    if (read(isFree) === false) return false;
    return write(() => {
      if (store.find(true) || !isFree()) return false;
      query(SQL.takeLease).run(key, owner, now() + ttlMs);
      return true;
    });
  };
  let leased: boolean | undefined;
  for (let wait = FIRST_POLL_MS;; wait = Math.min(wait * 1.5, LAST_POLL_MS)) {
    signal.throwIfAborted();
    const map = store.find();
    if (map) return { map, mine: false };
    if ((leased = take()) !== false) break;
    await pause(wait, signal);
  }
  const beat = leased &&
    setInterval(() => write(() => query(SQL.renewLease).run(now() + ttlMs, key, owner)), ttlMs / 3);
  if (beat) letExit(beat);
  const drop = (): unknown => query(SQL.dropLease).get(key, owner);
  try {
    const map = await run(signal);
    if (!leased) store.put(map);
    else if (!write(() => drop() && (store.store(map), true))) store.keep(map);
    return { map, mine: true };
  } catch (error) {
    if (leased) write(drop);
    throw error;
  } finally {
    if (beat) clearInterval(beat);
  }
}

/** Waits, and keeps the process alive meanwhile: nothing else does while another process runs. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { withSignal } = await import("../waiting.ts"), { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await withSignal(promise, signal).finally(() => clearTimeout(timer));
}

/** A timer that does not keep the process alive. */
function letExit(timer: unknown): void {
  if (typeof timer === "number") (globalThis as { Deno?: typeof Deno }).Deno?.unrefTimer(timer);
  else (timer as { unref(): void }).unref();
}
