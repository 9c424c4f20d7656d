/**
 * The runs of a session's digests: so many at once, each under its deadline, each with a row in the end.
 *
 * Promised: no run rejects; a run that is broken off leaves no row, one that is late or fails leaves a failed one.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { DigestEvent } from "../events.ts";
import { type Masker, secrets } from "../summary/secrets.ts";
import { cutText } from "../summary/text.ts";
import type { Clock, Completion, CompletionModel, FailureReason } from "../types.ts";
import { createDeadline, createTurns, type Deadline } from "../waiting.ts";
import { type DigestQuestion, makeDigest } from "./digest.ts";
import type { DigestStore } from "./store.ts";
import { neutralLine } from "./text.ts";
import type { DigestRow } from "./types.ts";

/** What every run goes by. */
export interface RunSettings {
  /** Whom to ask. Absent: no run is ever started. */
  readonly model: CompletionModel | undefined;
  /** The model is the parent's. */
  readonly isInherited: boolean;
  readonly maxConcurrentCalls: number;
  readonly maxTokens: number;
  readonly timeoutMs: number;
}

/** What runs work with. */
export interface RunParts {
  readonly store: Pick<DigestStore, "begin">;
  readonly keep: (row: DigestRow) => void;
  /** A call is about to be made: whether the session still has one. Never rejects; takes none once the signal has fired. */
  readonly take: (signal: AbortSignal) => Promise<boolean>;
  /** The session has none any more. */
  readonly skip: (wanted: Wanted, reason: "budget") => void;
  readonly emit: (event: DigestEvent) => void;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Default: the patterns secretlint maintains. */
  readonly masker?: Masker | undefined;
}

/** A result worth a digest. */
export interface Wanted extends DigestQuestion {
  readonly callId: string;
  readonly bytes: number;
}

/** Makes digests. */
export interface DigestRuns {
  /** Begins one; it waits for its turn. */
  start(wanted: Wanted): void;
  /** How many have begun and not ended. */
  readonly size: number;
  /** Resolves when all that have begun so far have ended. */
  ended(): Promise<unknown>;
}

/** So many UTF-16 code units of an error's own words are looked at. */
const MAX_WORDS = 4_096;

/** The time by a host's clock; by the machine's where there is none, or it throws. */
export function timeOf(clock: Pick<Clock, "now"> | undefined): () => number {
  return () => {
    try {
      return (clock ?? Date).now();
    } catch {
      return Date.now();
    }
  };
}

function nameOf(model: CompletionModel): string {
  try {
    return String(model.name);
  } catch {
    return "the model";
  }
}

/** The runs of one session. */
export function createDigestRuns(settings: RunSettings, parts: RunParts): DigestRuns {
  const { isInherited, maxTokens } = settings, { store, keep, take, emit, clock, masker = secrets } = parts;
  const turns = createTurns(settings.maxConcurrentCalls), running = new Set<Promise<void>>();
  const now = timeOf(clock);

  const digest = async (wanted: Wanted, signal: AbortSignal, end: (isSpent: boolean) => void): Promise<void> => {
    const { callId, tool, bytes } = wanted, model = settings.model!;
    const modelName = nameOf(model);
    let started = now(), calls = 0, isOver = false, release: (() => void) | undefined, deadline: Deadline | undefined;
    let tokens: Completion["usage"] = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    /** What a row and an event have in common. */
    const facts = () => {
      const at = now(), ms = Math.max(0, Math.round(at - started));
      const common = { callId, tool, resultBytes: bytes, ...isInherited && { inheritedRoute: true as const } };
      return {
        row: { ...common, durationMs: ms, at },
        event: { ...common, type: "digest" as const, model: modelName, usage: { ...tokens, calls, ms } },
      };
    };
    try {
      release = await turns.take(signal);
      started = now();
      const { text: summary, isCut } = await makeDigest(wanted, {
        model,
        maxTokens,
        signal,
        masker,
        async begin() {
          isOver = !await take(signal);
          signal.throwIfAborted();
          if (isOver) throw new WaymarkError("budget", "Cannot make a digest: the session has no call left");
          calls++;
          deadline = createDeadline(settings.timeoutMs, { clock, signals: [signal] });
          return deadline.signal;
        },
        used: (usage) => tokens = usage,
      });
      if (signal.aborted) return;
      const { row, event } = facts();
      keep({ ...row, status: "ok", summary, ...isCut && { cut: true } });
      emit({ ...event, what: "made" });
    } catch (error) {
      const message = await withoutSecrets(error);
      if (signal.aborted) return;
      if (isOver) return parts.skip(wanted, "budget");
      const { row, event } = facts();
      keep({ ...row, status: "failed", reason: message });
      emit({
        ...event,
        what: "failed",
        reason: error instanceof WaymarkError ? error.code as FailureReason : "internal",
        message,
      });
    } finally {
      deadline?.end();
      release?.();
      end(calls > 0);
    }
  };

  /** What went wrong, in one line as a ledger is read: a provider's words may hold the key it refuses. Never rejects. */
  const withoutSecrets = async (error: unknown): Promise<string> => {
    const words = (fault: unknown) =>
      neutralLine((fault instanceof Error ? fault.message : String(fault)).slice(0, MAX_WORDS));
    try {
      const [masked = ""] = await masker.mask([words(error)]);
      return cutText(masked, 300);
    } catch (fault) {
      return cutText(words(fault), 300); // why the patterns could not be had: our own words
    }
  };

  return {
    start(wanted) {
      const controller = new AbortController(), end = store.begin(wanted.callId, { controller });
      const promise = digest(wanted, controller.signal, end).catch(() => {}).finally(() => running.delete(promise));
      running.add(promise);
    },
    get size() {
      return running.size;
    },
    ended: () => Promise.all(running),
  };
}
