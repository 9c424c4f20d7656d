/**
 * The call that makes a summary: a fork where one is wanted, proven to fit and worth it, else a standalone call.
 *
 * Promised: whatever keeps a fork from being made or used, the standalone call follows at once, under the same deadline; in the
 * mode `standalone` nothing of a fork exists or is recorded. Absent: which messages are summarized, and what becomes of the
 * summary.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { ask } from "../summary/ask.ts";
import { abortFailure } from "../summary/failure.ts";
import { readSummary } from "./answer.ts";
import { readMode } from "./call_mode.ts";
import { type CallRecord, createCallRecord } from "./call_record.ts";
import { createDeadline } from "../waiting.ts";
import { estimateBy } from "./estimate.ts";
import { createForking } from "./forking.ts";
import type { ForkSnapshot } from "./recorder.ts";
import { digestsOf } from "./clearing.ts";
import { standaloneRequest } from "./standalone.ts";
import { createTelling } from "./telling.ts";
import type { CompactorOptions, HostMessage, MessageShape, SentRequest, SentUsage, SummaryCall } from "./types.ts";

/** What is to be summarized. */
export interface SummaryInput {
  /** The span, to the letter. */
  readonly messages: readonly HostMessage[];
  /** Its estimated tokens. */
  readonly spanTokens: number;
  /** What {@linkcode Summarizing.snapshot} gave when the summary was begun. */
  readonly snapshot: unknown;
  /** The caller's abort. */
  readonly signal: AbortSignal;
  /** Digests of tool results, none of an id that several calls have. Default: those of the options. */
  readonly summaries?: CompactorOptions["summaries"];
}

/** How often each thing happened. */
export interface SummarizingStats {
  /** Summaries made by a fork. */
  readonly forks: number;
  /** Forks that were wanted and could not be made or used. */
  readonly fallbacks: number;
  /** Forks that could have been made and were not worth it. */
  readonly declines: number;
  /** Summaries made by a standalone call. */
  readonly standalone: number;
  /** Forks sent that read under 90 % of their prefix from the cache. */
  readonly missed: number;
}

/** Makes summaries. */
export interface Summarizing {
  /** A request of the conversation was sent. Does nothing unless the mode is `fork` or `auto`. Never throws. */
  noteRequestSent(request: SentRequest): void;
  /** The provider reported on it. Does nothing unless the mode is `fork` or `auto`. Never throws. */
  noteUsage(usage: SentUsage): void;
  /** What is known of requests now, for a summary that begins now. `undefined` unless the mode is `fork` or `auto`. */
  snapshot(view: readonly HostMessage[]): unknown;
  /** One summary, never empty. Rejects with a `WaymarkError` where there is none; `lastCall` then says why. */
  summarize(input: SummaryInput): Promise<{ readonly text: string; readonly call: SummaryCall }>;
  /** Drops everything known of requests. */
  reset(): void;
  /** What the last summary's call was. */
  readonly lastCall: SummaryCall | undefined;
  /** How often each thing happened. */
  stats(): SummarizingStats;
}

/** What a summary that was cut off by its limit ends in. */
const CUT = "\n\n(The summary was cut off here by its length limit.)";

/** Makes what makes the summaries of one conversation. */
export function createSummarizing(options: CompactorOptions, shape: MessageShape): Summarizing {
  const { timeoutMs = 30_000, clock } = options, estimate = estimateBy(options.estimate);
  const now = (): number => clock?.now() ?? Date.now();
  const telling = createTelling(options);
  const mode = readMode(options.callMode) ?? "standalone";
  if (readMode(options.callMode) === undefined) {
    const name = JSON.stringify(options.callMode);
    telling.notice("unknown-call-mode", `There is no call mode ${name}: summaries are made by calls of their own`);
  }
  const forking = mode === "standalone"
    ? undefined
    : createForking({ ...options, mode, shape, estimate, timeoutMs, telling, now });
  const model = options.summarizationModel ?? options.model;
  let lastCall: SummaryCall | undefined;
  let standalone = 0;

  const askStandalone = async (
    { messages, summaries = options.summaries }: SummaryInput,
    signal: AbortSignal,
    record: CallRecord,
  ) => {
    if (!model) throw new WaymarkError("invalid-option", "Cannot summarize the conversation: there is no model to ask");
    const { request, token } = standaloneRequest({ messages, shape, summaries: digestsOf({ summaries }) });
    telling.before({ messages: messages.length, mode: "standalone" });
    record.sent();
    const answer = await ask(model, { ...request, signal });
    record.spent(answer.usage);
    const { text, isCut } = readSummary(answer, { model: model.name, token });
    const whole = isCut ? text + CUT : text;
    standalone++;
    record.note({ modeUsed: "standalone" });
    telling.after({ length: whole.length, mode: "standalone" });
    return whole;
  };

  return {
    noteRequestSent: (request) => forking?.note(request),
    noteUsage: (usage) => forking?.noteUsage(usage),
    snapshot: (view) => forking?.snapshot(view),
    reset: () => forking?.reset(),
    get lastCall() {
      return lastCall;
    },
    stats: () => ({ forks: 0, fallbacks: 0, declines: 0, missed: 0, ...forking?.counts, standalone }),
    async summarize(input) {
      const { messages, spanTokens, snapshot, signal } = input, began = now();
      const record = createCallRecord(options.callMode === "inline" ? "inline" : mode, spanTokens);
      const deadline = createDeadline(timeoutMs, { clock, signals: [signal] });
      const about = {
        messages,
        spanTokens,
        snapshot: snapshot as ForkSnapshot | undefined,
        signal: deadline.signal,
        record,
      };
      try {
        deadline.signal.throwIfAborted();
        const text = await forking?.summarize(about) ?? await askStandalone(input, deadline.signal, record);
        lastCall = record.done(now() - began);
        return { text, call: lastCall };
      } catch (cause) {
        const isOver = deadline.signal.aborted;
        const error = isOver ? abortFailure(model?.name ?? "the model", deadline.signal) : asFailure(cause);
        record.note({ modeUsed: "none", reason: signal.aborted ? "stale" : isOver ? "timeout" : "failed" });
        lastCall = record.done(now() - began);
        throw error;
      } finally {
        deadline.end();
      }
    },
  };
}

/** An error as one of ours. */
function asFailure(cause: unknown): WaymarkError {
  if (cause instanceof WaymarkError) return cause;
  const words = cause instanceof Error ? cause.message : String(cause);
  return new WaymarkError("internal", `Cannot summarize the conversation: ${words}`, { cause });
}
