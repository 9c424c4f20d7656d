/**
 * What was really sent: the last request of the conversation, kept as it was, and what the provider said of it.
 *
 * Promised: never throws; what the host does to its objects afterwards changes nothing here; no history, estimate or meter is
 * touched. Made only where a fork is wanted at all.
 *
 * @module
 */

import { isPlain, listField } from "./prefix.ts";
import type { HostMessage, SentRequest, SentUsage } from "./types.ts";

/** A request as it was sent. */
export interface Recorded {
  /** A copy of it, of the same bytes. Nobody changes it. */
  readonly request: SentRequest;
  /** When it was noted, milliseconds since the epoch. */
  readonly at: number;
  /** What the provider reported of it, where the host told. */
  readonly usage?: SentUsage;
}

/** What was known of requests when a summary was begun. */
export interface ForkSnapshot {
  /** Which conversation this was: counts the times everything was dropped. */
  readonly generation: number;
  /** The last request that was noted, with or without its messages. */
  readonly latest: Recorded | undefined;
  /** The last one that was noted with its messages. */
  readonly recorded: Recorded | undefined;
  /** The view the summary was begun at. */
  readonly view: readonly HostMessage[];
}

/** Notes requests. */
export interface Recorder {
  /** Counts the times everything was dropped. */
  generation(): number;
  /** A request was sent. */
  note(request: SentRequest): void;
  /** The provider reported on the last one. */
  noteUsage(usage: SentUsage): void;
  /** What is known now. */
  snapshot(view: readonly HostMessage[]): ForkSnapshot;
  /** Drops everything. */
  reset(): void;
}

/** A recorder without anything in it. */
export function createRecorder(now: () => number): Recorder {
  let generation = 0;
  let latest: Recorded | undefined, recorded: Recorded | undefined;
  return {
    generation: () => generation,
    note(request) {
      const entry = { request: copyOf(request), at: now() };
      if (listField(entry.request) !== undefined) recorded = entry;
      latest = entry;
    },
    noteUsage(usage) {
      if (!latest) return;
      const reported = { ...latest, usage };
      if (recorded === latest) recorded = reported;
      latest = reported;
    },
    snapshot: (view) => ({ generation, latest, recorded, view: [...view] }),
    reset() {
      generation++;
      latest = recorded = undefined;
    },
  };
}

/** What is known of a request that cannot be looked at: that it was sent. */
const UNKNOWN: SentRequest = { tools: null };

/** A copy of all lists and plain objects. Bytes, addresses, functions and the like are kept as they are. */
export function copyOf(request: SentRequest): SentRequest {
  try {
    const copied = copy(request, []) as SentRequest | null | undefined;
    return typeof copied === "object" && copied !== null ? copied : UNKNOWN;
  } catch {
    return UNKNOWN; // a getter of the host's that throws, or objects without end
  }
}

function copy(value: unknown, above: readonly unknown[]): unknown {
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value) || above.includes(value)) return value;
  const trail = [...above, value];
  if (isList) return value.map((item) => copy(item, trail));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copy(inner, trail)]));
}
