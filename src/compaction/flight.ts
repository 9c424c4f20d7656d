/**
 * A summary on its way, and one that waits for the next view: one of either, never more.
 *
 * Promised: beginning one takes no time of the request that is about to go out, and nothing of it ever rejects; one that was
 * stopped is never heard of again.
 *
 * @module
 */

import type { WaymarkError } from "../errors.ts";
import type { Summarizing } from "./summarize.ts";
import type { CompactorOptions, HostMessage, Span, SummaryCall } from "./types.ts";

/** A summary that was made of a span. */
export interface Ready {
  readonly span: Span;
  readonly text: string;
  readonly call: SummaryCall;
}

/** Who is told how it ended. */
export interface FlightEnds {
  readonly onMade: (made: Ready) => void;
  readonly onFailed: (reason: string, about: { readonly call: SummaryCall | undefined; readonly why: string }) => void;
}

/** What is to be summarized. */
export interface FlightPlan {
  readonly span: Span;
  /** The messages of the span, as they are shown. */
  readonly messages: readonly HostMessage[];
  /** The view that is about to be sent. */
  readonly view: readonly HostMessage[];
  /** Digests of tool results. */
  readonly summaries?: CompactorOptions["summaries"];
}

/** Summaries, one at a time. */
export interface Flights {
  /** One is on its way, or waits. */
  readonly isBusy: boolean;
  /** The span of the one that is on its way. */
  readonly span: Span | undefined;
  /** Begins one. The state of requests that a fork rests on is that of this moment. */
  begin(plan: FlightPlan): void;
  /** The one that waits, if one does. It waits no more. */
  take(): Ready | undefined;
  /** Ends whatever is on its way or waits; resolves when what was asked has let go. */
  stop(): Promise<void>;
  /** Resolves when none is on its way. */
  settled(): Promise<void>;
}

/** Summaries by one model. */
export function createFlights(model: Summarizing, { onMade, onFailed }: FlightEnds): Flights {
  let abort: AbortController | undefined, done: Promise<void> = Promise.resolve();
  let ready: Ready | undefined, begun: Span | undefined;

  const run = async (plan: FlightPlan, snapshot: unknown, own: AbortController): Promise<void> => {
    try {
      const { span, messages, summaries } = plan, { signal } = own;
      const { text, call } = await model.summarize({ messages, spanTokens: span.tokens, snapshot, signal, summaries });
      if (abort !== own) return;
      ready = { span, text, call };
      abort = undefined;
      onMade(ready);
    } catch (error) {
      if (abort !== own) return;
      abort = undefined;
      const call = model.lastCall, { code = "failed", message: why = code } = (error ?? {}) as Partial<WaymarkError>;
      onFailed(call?.reason ?? code, { call, why });
    }
  };
  return {
    get isBusy() {
      return abort !== undefined || ready !== undefined;
    },
    get span() {
      return abort && begun;
    },
    begin(plan) {
      begun = plan.span;
      const own = abort = new AbortController(), snapshot = model.snapshot(plan.view);
      done = Promise.resolve().then(() => run(plan, snapshot, own)); // the view is handed out before anything is asked
    },
    take() {
      const made = ready;
      ready = undefined;
      return made;
    },
    async stop() {
      abort?.abort();
      abort = ready = undefined;
      await done;
    },
    async settled() {
      while (abort) await done;
    },
  };
}
