/**
 * What an onion cut in two is. Types only: importing them costs nothing.
 *
 * @module
 */

import type { ReadCall, ReadOutcome } from "./types.ts";

/** What {@linkcode Halves.begin} found out. */
export interface Begun {
  /** The key for `finish` and `drop`: the call's id, or one made up. */
  readonly id: string;
  /** The call to make: the very object given where no layer changed it. */
  readonly call: ReadCall;
  /** The outcome, where a layer answered without the tool. `finish` hands it out too. */
  readonly answer?: ReadOutcome;
}

/** An onion cut in two, for hosts that have a hook before a tool and one after it. Neither half ever rejects. */
export interface Halves extends Disposable {
  /** Runs the onion down to the tool. */
  begin(call: ReadCall): Promise<Begun>;
  /** Runs it back up. For an unknown or dropped id, the outcome itself. A failed tool beats an answer. */
  finish(id: string, outcome: ReadOutcome): Promise<ReadOutcome>;
  /** Forgets a call the host did not make (blocked, cancelled). */
  drop(id: string): void;
  /** How many calls have begun and not finished. */
  readonly pending: number;
}

/** How an onion is cut in two. */
export interface SplitOptions {
  /** Most calls pending at once; the oldest is dropped for a new one. Default 256. */
  readonly max?: number;
  /** Told what a layer threw. What it throws itself is ignored. */
  readonly onError?: (error: unknown) => void;
}
