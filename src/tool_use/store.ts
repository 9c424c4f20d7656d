/**
 * What is known of a session's digests in this process: the latest ones, the calls that are done or under way, and the budget.
 *
 * Promised: only rows of status `ok` are held; a call has one run at a time; what had a digest once is never paid for twice,
 * also after it had to make room. Absent: what other processes do at this moment, but what is told of it.
 *
 * @module
 */

import type { DigestRow, Summaries } from "./types.ts";

/** A run that is under way. */
export interface Run {
  /** Ends it without a row. */
  readonly controller: AbortController;
}

/** What is known of one session. */
export interface DigestStore {
  /** The latest digests, the one used or made last at the end; a copy. */
  summaries(): Summaries;
  /** Keeps a digest, and drops the one unused for longest where there are too many. */
  keep(row: DigestRow): void;
  /** A result went nowhere: its digest is none of what stands under the call's id now. */
  forget(callId: string): void;
  /** A digest was used: it is the last to make room. */
  touch(callId: string): void;
  /** Whether a call's result has had a digest, or is about to have one. */
  isKnown(callId: string): boolean;
  /** Whether a call's result has had a digest. */
  isDone(callId: string): boolean;
  /** Calls made, and those that are certain to be made. */
  readonly calls: number;
  /** Begins the run of a call and takes a call from the budget; how to end it, and give back what was not spent. */
  begin(callId: string, run: Run): (spent: boolean) => void;
  /** The run of a call. */
  underWay(callId: string): Run | undefined;
  /** All runs under way. */
  readonly runs: Iterable<Run>;
  /** So many calls the session has made, those of other processes that are alive among them. */
  heard(calls: number): void;
  /** Takes over what another process of the same session has made, and how many of its calls failed. */
  adopt(rows: Summaries, failed?: number): void;
}

/** Most ids of calls that are remembered as done, so that a session without a budget has an end too. */
const MAX_DONE = 100_000;

/** The store of one session. */
export function createStore(maxSummaries: number): DigestStore {
  const rows = new Map<string, DigestRow>(), done = new Set<string>(), runs = new Map<string, Run>();
  let calls = 0;
  const keep = (row: DigestRow): void => {
    if (row.status !== "ok") return;
    rows.delete(row.callId);
    rows.set(row.callId, row);
    if (rows.size > maxSummaries) rows.delete(rows.keys().next().value!);
    done.add(row.callId);
    if (done.size > MAX_DONE) done.delete(done.values().next().value!);
  };
  return {
    keep,
    summaries: () => new Map(rows),
    forget(callId) {
      rows.delete(callId);
      done.delete(callId);
    },
    touch(callId) {
      const row = rows.get(callId);
      if (row && rows.delete(callId)) rows.set(callId, row);
    },
    isKnown: (callId) => done.has(callId) || runs.has(callId),
    isDone: (callId) => done.has(callId),
    get calls() {
      return calls;
    },
    begin(callId, run) {
      calls++;
      runs.set(callId, run);
      return (spent) => {
        if (!spent) calls--;
        if (runs.get(callId) === run) runs.delete(callId);
      };
    },
    underWay: (callId) => runs.get(callId),
    get runs() {
      return runs.values();
    },
    heard(made) {
      calls = Math.max(calls, made);
    },
    adopt(others, failed = 0) {
      calls += failed;
      for (const row of others.values()) {
        if (done.has(row.callId)) continue;
        calls++;
        keep(row);
      }
    },
  };
}
