/**
 * What the re-read guard is told when messages leave a conversation, or no longer are what they were, and what of all it was
 * given leaves with them.
 *
 * Promised: afterwards the session counts on nothing but results that are known to stand in the line as they came. What was
 * given to a call that no message of the line is known to answer may have left with any of them: with one of no known shape,
 * with a result that was told in words, or under another id. A session forgets by ids alone; where a host uses an id again,
 * what each result holds tells which of them left.
 *
 * @module
 */

import { attempting } from "../errors.ts";
import { toolResults } from "../residency.ts";
import type { Given, Session } from "../session_types.ts";
import type { ShownItem } from "./history.ts";

/** A line, parted: what leaves it, or is no longer shown as it was, and what stays. */
export interface Parting {
  readonly left: readonly ShownItem[];
  readonly stay: readonly ShownItem[];
}

/** Parts a line. */
export function part(line: readonly ShownItem[], leaves: (item: ShownItem, index: number) => boolean): Parting {
  return { left: line.filter(leaves), stay: line.filter((item, index) => !leaves(item, index)) };
}

/** What a session was given, and which of it leaves. */
export interface Taken {
  /** Oldest first. */
  readonly given: readonly Given[];
  /** Whether it leaves, and stands in no result that stays. */
  readonly leaves: (given: Given) => boolean;
}

/** Keeps a session true to a line. */
export interface Leaving {
  /** What a parting takes. Asked before the session is told of it. */
  taken(parting: Parting): Taken;
  /** Tells the session what it can no longer count on. */
  evict(parting: Parting): void;
  /** Results of these calls are told in words. */
  retold(ids: readonly string[]): void;
  /** Begins anew with a history that was handed in, or with none. */
  begin(messages?: readonly object[]): void;
}

/** Keeps a session true to a line; with `recalls` so that it can be said what a parting takes. */
export function createLeaving(session: Session, { recalls }: { readonly recalls: boolean }): Leaving {
  /** What the session had to forget, and a result holds all the same, or may: its id left with another, or it came later. */
  let forgotten: readonly Given[] = [];
  const attempt = attempting(); // a session of the host's own making may throw, and keep no record
  const record = (): readonly Given[] => attempt(() => session.toJSON().given) ?? [];
  const forget = (ids: ReadonlySet<string>): void => {
    if (recalls) forgotten = distinct([...forgotten, ...record().filter(({ callId = "" }) => ids.has(callId))]);
    attempt(() => session.evict(ids));
  };
  return {
    taken({ left, stay }) {
      const ids = answersOf(left), others = idsOf(stay), leaving = resultsOf(left), staying = resultsOf(stay);
      const unsure = new Set(forgotten);
      return {
        given: [...forgotten, ...record()].sort((one, other) => one.turn - other.turn),
        leaves(given) {
          const { callId } = given;
          if (callId === undefined || !ids.has(callId)) return false;
          if (!others.has(callId) && !unsure.has(given)) return true;
          return leaving().holds(given) && !staying().holds(given);
        },
      };
    },
    evict({ left, stay }) {
      if (!left.length) return;
      const gone = answersOf(left), there = answersOf(stay), staying = resultsOf(stay);
      const isLost = ({ callId }: Given): boolean => callId === undefined || !gone.has(callId) && !there.has(callId);
      const lost = record().filter(isLost).map(({ callId = "" }) => callId); // what has no id goes with any eviction
      const ids = new Set([...gone, ...lost]), waiting = waitingOf(stay);
      if (ids.size) forget(ids);
      const stands = (given: Given): boolean => there.has(given.callId!) && staying().holds(given);
      forgotten = forgotten.filter((given) => waiting.has(given.callId!) || stands(given));
    },
    retold: (ids) => forget(new Set(ids)),
    begin(messages) {
      const held = forgotten.length ? toolResults(messages ?? []) : undefined;
      forgotten = forgotten.filter((given) => held!.holds(given));
      attempt(() => messages ? session.reconcile(messages) : session.reset());
    },
  };
}

function answersOf(items: readonly ShownItem[]): ReadonlySet<string> {
  return new Set(items.flatMap(({ facts }) => facts.answers));
}

/** Of calls and of results. */
function idsOf(items: readonly ShownItem[]): ReadonlySet<string> {
  return new Set(items.flatMap(({ facts }) => [...facts.calls, ...facts.answers]));
}

/** Of calls that are more than their results. */
function waitingOf(items: readonly ShownItem[]): ReadonlySet<string> {
  const open = new Map<string, number>(), add = (id: string, more: number) => open.set(id, (open.get(id) ?? 0) + more);
  for (const { facts } of items) {
    for (const id of facts.calls) add(id, 1);
    for (const id of facts.answers) add(id, -1);
  }
  return new Set([...open].flatMap(([id, more]) => more > 0 ? [id] : []));
}

/** What the results of these items hold, looked at where it is asked. */
function resultsOf(items: readonly ShownItem[]): () => ReturnType<typeof toolResults> {
  let results: ReturnType<typeof toolResults> | undefined;
  return () => results ??= toolResults(items.map(({ message }) => message));
}

/** The latest of each that say the same. */
function distinct(given: readonly Given[]): Given[] {
  const keyOf = ({ kind, file, hash, start, end, callId }: Given) => [kind, file, hash, start, end, callId].join("\0");
  return [...new Map(given.map((one) => [keyOf(one), one])).values()];
}
