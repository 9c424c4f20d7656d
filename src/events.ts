/**
 * Everything that happens, as typed events for one `onEvent` hook. Types only.
 *
 * Other systems (digests, forks) add their own members here.
 *
 * @module
 */

import type { SkipReason } from "./tool_use/types.ts";
import type { Audit, FailureReason, Usage } from "./types.ts";

/** One thing that happened. `path` is as the caller gave it. */
export type WaymarkEvent =
  | { readonly type: "hit"; readonly path: string; readonly maker: string }
  | { readonly type: "miss"; readonly path: string; readonly why: "absent" | "stale" | "better-maker" | "refresh" }
  | { readonly type: "call"; readonly path: string; readonly maker: string; readonly attempt: number }
  | { readonly type: "repair"; readonly path: string; readonly attempt: number; readonly problems: readonly string[] }
  | {
    readonly type: "tokens";
    readonly path: string;
    readonly maker: string;
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  }
  | {
    readonly type: "summary";
    readonly path: string;
    readonly maker: string;
    readonly usage: Usage;
    readonly regions: number;
    readonly audit?: Audit;
  }
  | {
    readonly type: "cap";
    readonly path: string;
    readonly asked: number;
    readonly shown: number;
    readonly tokensSaved: number;
  }
  | {
    readonly type: "reference" | "diff";
    readonly path: string;
    readonly start: number;
    readonly end: number;
    readonly tokensSaved: number;
  }
  | {
    readonly type: "failure";
    readonly path: string;
    readonly reason: FailureReason;
    readonly message: string;
  }
  | {
    readonly type: "cache";
    readonly what: "opened" | "driver" | "memory" | "set-aside" | "write-skipped" | "pruned";
    readonly message: string;
  }
  | DigestEvent;

/** What became of the digest of a tool result. */
export type DigestEvent =
  | {
    readonly type: "digest";
    readonly what: "made";
    readonly callId: string;
    readonly tool: string;
    readonly resultBytes: number;
    /** The model's name. */
    readonly model: string;
    /** What it cost. */
    readonly usage: Usage;
    /** No cheap model was given: the parent's made it. */
    readonly inheritedRoute?: true;
  }
  | {
    readonly type: "digest";
    readonly what: "used";
    readonly callId: string;
    readonly tool: string;
    readonly resultBytes: number;
    /** Tokens that the conversation became shorter by, estimated; negative where a placeholder became longer. */
    readonly tokensSaved: number;
  }
  | {
    readonly type: "digest";
    readonly what: "failed";
    readonly callId: string;
    readonly tool: string;
    readonly resultBytes: number;
    /** The model's name. */
    readonly model: string;
    readonly reason: FailureReason;
    /** For a person, in one line. */
    readonly message: string;
    /** What it cost all the same; no call where the model was never asked. */
    readonly usage: Usage;
    readonly inheritedRoute?: true;
  }
  | {
    readonly type: "digest";
    readonly what: "skipped";
    /** Absent: the host gave none, so that no row is kept either. */
    readonly callId?: string;
    readonly tool: string;
    readonly resultBytes: number;
    readonly reason: SkipReason | "no-call-id";
  };

/** Sums of all events since the instance was made, and what is kept. */
export interface WaymarkStats {
  /** Maps taken from the cache: for reads, and where one was asked for. A lookup counts for none. */
  readonly hits: number;
  /** Times a map was not in the cache, or not at this hash. */
  readonly misses: number;
  /** Requests that reached a model. */
  readonly modelCalls: number;
  /** How many of them were repairs. */
  readonly repairs: number;
  /** Summaries made, by a model or a parser. */
  readonly summaries: number;
  /** Reads that were shortened, also those whose result was taken back: it could not carry the map. */
  readonly caps: number;
  /** Reads that were answered by a reference to lines already in the conversation. */
  readonly references: number;
  /** Reads that were answered by what changed since the lines were shown. */
  readonly diffs: number;
  /** Long reads of which no map could be made or vouched for: they went on as asked, or with the parser of `fallback`. */
  readonly failures: number;
  /** Cache writes that could not have their turn and were given up. */
  readonly writesSkipped: number;
  /** Tokens spent on model calls, input and output, cache reads and writes included. */
  readonly tokensSpent: number;
  /** Estimated tokens kept out of the conversation, net of the annotations put in; may be negative. What was taken back counts. */
  readonly tokensSaved: number;
}
