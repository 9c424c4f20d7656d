/**
 * Making summaries by forks: what was sent is recorded, a fork is planned, priced, sent and judged.
 *
 * Promised: nothing here ever costs the summary: whatever goes wrong is an answer of `undefined`, told once for each reason and
 * counted every time. What could be made but is not worth it is counted apart.
 *
 * @module
 */

import { ask } from "../summary/ask.ts";
import { requestFailure } from "../summary/failure.ts";
import { readSummary } from "./answer.ts";
import { createHitShare, isForkWorthIt } from "./auto.ts";
import { REFUSALS } from "./call_mode.ts";
import type { CallRecord } from "./call_record.ts";
import { createDeadline } from "../waiting.ts";
import { type ForkPlan, planFork, totalOf } from "./fork.ts";
import { priceRatio } from "./prices.ts";
import { createRecorder, type ForkSnapshot, type Recorder } from "./recorder.ts";
import { freshToken } from "../summary/token.ts";
import type { Telling } from "./telling.ts";
import type {
  CompactorOptions,
  ForkRefusal,
  HostMessage,
  MessageShape,
  RequestSender,
  SentAnswer,
  SentUsage,
} from "./types.ts";

/** Share of the deadline that a fork has: one that hangs must not cost the summary. */
const FORK_SHARE = 0.5;

/** A fork that read a smaller share of its prefix from the cache missed. */
const HIT_LEAST = 0.9;

/** What a fork is to summarize. */
export interface ForkRequest {
  readonly messages: readonly HostMessage[];
  readonly spanTokens: number;
  /** What the recorder gave when the summary was begun. Default: what is known now. */
  readonly snapshot: ForkSnapshot | undefined;
  /** The deadline of the whole summary, and the caller's abort. */
  readonly signal: AbortSignal;
  /** Is told what happens. */
  readonly record: CallRecord;
}

/** Makes summaries by forks. */
export interface Forking extends Pick<Recorder, "note" | "noteUsage" | "snapshot" | "reset"> {
  /** The summary; `undefined` where it is to be made standalone. Rejects only where the signal has fired. */
  summarize(request: ForkRequest): Promise<string | undefined>;
  /** How often each thing happened. */
  readonly counts: {
    readonly forks: number;
    readonly fallbacks: number;
    readonly declines: number;
    readonly missed: number;
  };
}

/** What forks are made with. */
export interface ForkingOptions extends Pick<CompactorOptions, "sender" | "summarizationModel" | "prices" | "clock"> {
  readonly mode: "fork" | "auto";
  readonly shape: MessageShape;
  readonly estimate: (message: HostMessage) => number;
  readonly timeoutMs: number;
  readonly telling: Telling;
  readonly now: () => number;
}

/** Makes what makes forks of one conversation. */
export function createForking(options: ForkingOptions): Forking {
  const { sender, prices, mode, shape, estimate, timeoutMs, telling, now } = options;
  const summarizer = options.summarizationModel?.name;
  const recorder = createRecorder(now), hits = createHitShare();
  const counts = { forks: 0, fallbacks: 0, declines: 0, missed: 0 };

  const fallBack = (record: CallRecord, reason: ForkRefusal, detail = ""): undefined => {
    counts.fallbacks++;
    record.note({ reason });
    const words = `The summary is made standalone, not by a fork: ${REFUSALS[reason]}`;
    telling.notice(`fork-${reason}`, detail ? `${words} (${detail})` : words);
    telling.event({ type: "compaction", what: "fallback", reason });
  };

  /** Whether a fork that could be made costs no more. What is not known is not claimed. */
  const isWorthIt = ({ model: main, facts, prefixTokens }: ForkPlan, spanTokens: number): boolean => {
    const ratio = priceRatio({ main, summarizer, prefixTokens, spanTokens }, prices);
    if (ratio === undefined || facts.read === undefined) {
      telling.notice(
        "prices-unknown",
        `No fork is made: what ${main ?? "the main model"} costs is not known${
          summarizer === undefined ? "" : `, or what ${summarizer} costs`
        }; give prices`,
      );
      return false;
    }
    const hitShare = hits.value() ?? facts.hitShare;
    return isForkWorthIt({ spanTokens, prefixTokens }, { hitShare, read: facts.read, priceRatio: ratio });
  };

  const judge = (plan: ForkPlan, answer: Sent): void => {
    hits.note(answer.usage);
    if (!isMissed(plan, answer.usage)) return;
    counts.missed++;
    const why = answer.cacheMiss ? `: ${answer.cacheMiss}, the provider says` : "";
    telling.notice("fork-missed", `A fork read less than 90 % of its prefix from the cache${why}`);
  };

  return {
    ...recorder,
    counts,
    noteUsage(reported) {
      if (!reported) return;
      const usage = asUsage(reported);
      recorder.noteUsage(usage);
      hits.note(usage);
    },
    reset() {
      recorder.reset();
      hits.reset();
    },
    async summarize({ messages, spanTokens, snapshot, signal, record }) {
      let token = "";
      const plan = planFork({
        snapshot: snapshot ?? recorder.snapshot([]),
        generation: recorder.generation(),
        span: messages,
        shape,
        estimate,
        summarizer,
        isAuto: mode === "auto",
        prices,
        now: now(),
        tokenFor: (text) => token = freshToken(text),
      });
      if ("refusal" in plan) return fallBack(record, plan.refusal, plan.detail);
      if (!sender) return fallBack(record, "build-failed", "no sender was given");
      if (mode === "auto" && !isWorthIt(plan, spanTokens)) {
        counts.declines++;
        record.note({ reason: "not-worth-it" });
        telling.event({ type: "compaction", what: "declined", reason: "not-worth-it" });
        return undefined;
      }

      telling.before({ messages: messages.length, mode: "fork" });
      const { prefixMessages, prefixTokens, prefixSource } = plan;
      const slice = createDeadline(timeoutMs * FORK_SHARE, { clock: options.clock, signals: [signal] });
      try {
        record.sent();
        const answer = await send(sender, plan, slice.signal);
        record.spent(answer.usage);
        judge(plan, answer);
        const { cacheMiss } = answer;
        record.note({
          ...(isMissed(plan, answer.usage) ? { missed: true } : {}),
          ...(cacheMiss === undefined ? {} : { cacheMiss }),
        });
        const model = plan.model ?? "the model of the conversation";
        const { text, isCut } = readSummary(answer, { model, token });
        if (isCut) throw requestFailure(model, "its answer was cut off by its limit", { code: "bad-answer" });
        // A tool of the provider's own paused it, perhaps: what the sender does not say to be whole is none.
        if (answer.isOpen) {
          throw requestFailure(model, "its answer did not end", { code: "bad-answer" });
        }
        counts.forks++;
        record.note({ modeUsed: "fork", prefixMessages, prefixTokens, prefixSource });
        telling.after({ length: text.length, mode: "fork" });
        return text;
      } catch (error) {
        signal.throwIfAborted();
        return fallBack(record, "bad-answer", error instanceof Error ? error.message : String(error));
      } finally {
        slice.end();
      }
    },
  };
}

/** A report without gaps: a provider that does not cache reports null, or nothing. */
function asUsage({ input, cacheRead, cacheWrite, output, id }: SentUsage): SentUsage {
  const [plain = 0, read = 0, written = 0, said = 0] = [input, cacheRead, cacheWrite, output].map((tokens) =>
    Number.isFinite(tokens) ? tokens : 0
  );
  return {
    input: plain,
    cacheRead: read,
    cacheWrite: written,
    output: said,
    ...(typeof id === "string" ? { id } : {}),
  };
}

/** A fork's answer with nothing missing, whatever the sender gave. */
type Sent = Pick<SentAnswer, "text" | "stopReason" | "usage" | "cacheMiss"> & { readonly isOpen: boolean };

/** Sends a fork once. Rejects with a `WaymarkError` that names the model. */
async function send(sender: RequestSender, { request, model, usage }: ForkPlan, signal: AbortSignal): Promise<Sent> {
  let cacheMiss: unknown, isSaid = false;
  const previousId = usage?.id === undefined ? {} : { previousId: usage.id };
  const asModel = {
    name: model ?? "the model of the conversation",
    async complete() {
      const answer = await sender.send(request, { signal, ...previousId });
      const said: Partial<SentAnswer> | null | undefined = answer;
      cacheMiss = said?.cacheMiss;
      isSaid = typeof said?.stopReason === "string"; // one that says nothing of it has no such tools, as a rule
      return answer;
    },
  };
  const answer = await ask(asModel, { system: "", messages: [], maxTokens: 0, signal });
  const isOpen = isSaid && answer.stopReason === "other";
  return { ...answer, isOpen, ...(typeof cacheMiss === "string" ? { cacheMiss } : {}) };
}

/**
 * By the provider's own figures alone: the parent's, where they were told, else the fork's without what was appended. Of a fork
 * that nothing was reported of nothing is known.
 */
function isMissed(plan: ForkPlan, usage: Sent["usage"]): boolean {
  const total = totalOf(usage);
  if (total === 0) return false;
  const parent = plan.usage && plan.prefixSource === "wire-record" ? totalOf(plan.usage) : 0;
  return usage.cacheRead < (parent || total - plan.appendedTokens) * HIT_LEAST;
}
