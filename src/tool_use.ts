/**
 * Tool-use summaries: beside the run, a cheap model makes a digest of every large tool result, for the day the result has to
 * leave the conversation.
 *
 * ```ts
 * import { toolUseSummary, upgradePlaceholders } from "@waymark/waymark/tool-use";
 * import { scriptedModel } from "@waymark/waymark/testing";
 *
 * const digests = toolUseSummary({ model: scriptedModel(["3 tests failed."]), session: "s-1", topLevel: true });
 * digests.accept({ callId: "call_1", tool: "bash", result: "FAIL tests/a.ts\n".repeat(500) });
 * await digests.settled();
 * const messages = [{ role: "tool", tool_call_id: "call_1", content: "[Old tool result content cleared]" }];
 * console.log(upgradePlaceholders(messages, digests.summaries()));
 * await digests.close();
 * ```
 *
 * Promised: a tool's result goes to the host at once and untouched; nothing here throws into a run or rejects; no more calls
 * than the session's budget, one for a result at most; secrets are masked in what is sent and in what is kept. Nothing is opened before
 * the first result. Absent: any rewriting of a conversation on its own.
 *
 * @module
 */

import { checkNumbers, quiet, WaymarkError } from "./errors.ts";
import type { DigestEvent } from "./events.ts";
import { toDiskPath } from "./paths.ts";
import { timeOf } from "./tool_use/digest_runs.ts";
import { createDigester, type Pressure } from "./tool_use/digester.ts";
import { openLedger } from "./tool_use/ledger.ts";
import { loadSession } from "./tool_use/load.ts";
import { type DigestOptions, substituteSummaries, upgradePlaceholders } from "./tool_use/placeholders.ts";
import { createTally, type DigestSums } from "./tool_use/tally.ts";
import type { AcceptedResult, Summaries } from "./tool_use/types.ts";
import { watch, type WatchOptions } from "./tool_use/watch.ts";
import type { Clock, CompletionModel, Middleware } from "./types.ts";
import type { ToolFunction } from "./wrap_types.ts";

/** Options of {@linkcode toolUseSummary}. */
export interface ToolUseOptions {
  /** The host's id of the conversation. */
  readonly session: string;
  /** The cheap model that makes the digests, say `anthropic()`, a Haiku. Default: `parentModel`; without either none is asked. */
  readonly model?: CompletionModel | undefined;
  /** The agent's own model, in place of a cheap one: its rows say `inheritedRoute`. Default: none. */
  readonly parentModel?: CompletionModel | undefined;
  /** The project's root; the ledger is `.summaries/tool-use/<session>.jsonl` in it. Default: none, digests are kept in memory only. */
  readonly root?: string | undefined;
  /** Whether digests are made. Default true. */
  readonly enabled?: boolean | undefined;
  /** Only of the main agent's own results, not of a sub-agent's. Default true. */
  readonly topLevelOnly?: boolean | undefined;
  /** Whether a result is the main agent's own, where the call does not say. Default: unknown, which means not. */
  readonly topLevel?: boolean | undefined;
  /** Results with fewer bytes of text, as UTF-8, get none. Default 4096. */
  readonly minResultBytes?: number | undefined;
  /** Most digests held in memory; the one unused for longest makes room. Default 200. */
  readonly maxSummariesPerSession?: number | undefined;
  /** Most calls to the model by all processes of the session together; of each alone where there is no ledger. Default 200. */
  readonly maxCallsPerSession?: number | undefined;
  /** Most calls at once; the rest wait in order. Default 4. */
  readonly maxConcurrentCalls?: number | undefined;
  /** Most tokens of an answer. Default 256. */
  readonly maxTokens?: number | undefined;
  /** How long one call may take, in milliseconds. Default 5000. */
  readonly timeoutMs?: number | undefined;
  /** Tools whose results get none, by name. Default `["structured_output"]`. */
  readonly excludeTools?: readonly string[] | undefined;
  /** Days a ledger is kept after its last row. 0: digests are kept in memory only. Default 7. */
  readonly retentionDays?: number | undefined;
  /** `"always"`: at once. `"pressure"`: held until {@linkcode ToolUseSummary.relieve} is told that the window fills up. Default `"always"`. */
  readonly when?: "always" | "pressure" | undefined;
  /** The share of the window from which on held results are digested. Default 0.6. */
  readonly pressure?: number | undefined;
  /** Whether {@linkcode ToolUseSummary.upgrade} upgrades. Default true. */
  readonly upgradePlaceholders?: boolean | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Told of every digest made, used, failed and skipped. */
  readonly onEvent?: ((event: DigestEvent) => void) | undefined;
  /** Told once of each reason why rows, or the count of calls, are not kept. Default: nobody is. */
  readonly onError?: ((error: WaymarkError) => void) | undefined;
}

/** Sums of everything that happened, and what goes on. */
export interface ToolUseStats extends DigestSums {
  /** Digests under way, those that wait for their turn among them. */
  readonly underWay: number;
  /** Results held until the window fills up. */
  readonly held: number;
  /** Rows that could not be kept in the ledger. */
  readonly ledgerErrors: number;
}

/** The digests of one session. Nothing of it throws or rejects. */
export interface ToolUseSummary extends AsyncDisposable {
  /** For a read tool's onion: the innermost layer, so that it sees what the tool really returned. The outcome is the very same. */
  readonly middleware: Middleware;
  /** Any tool, its results seen: the same function, the same results. A generator is the very same object. */
  wrap<Tool extends ToolFunction>(tool: Tool, options?: WatchOptions): Tool;
  /** Takes a result, for hosts with hooks. Without a call id there is no digest: nothing could refer to it. */
  accept(result: AcceptedResult): void;
  /** The latest digests by call id; a copy. After the first result also those of earlier processes of the session. */
  summaries(): Summaries;
  /**
   * Tells how full the window is and what is in it. With `when: "pressure"` it begins digests of the results that are still in
   * the conversation, oldest first, once the share is reached: how many. What has left the conversation is no longer held.
   */
  relieve(pressure: Pressure): number;
  /** {@linkcode upgradePlaceholders} with the digests at hand, counted as used. */
  upgrade<Messages>(messages: Messages, options?: DigestOptions): Messages;
  /** {@linkcode substituteSummaries} with the digests at hand, counted as used. */
  substitute<Input>(input: Input, options?: DigestOptions): Input;
  /** Resolves when everything accepted so far has its row, and every row is in the ledger or given up. */
  settled(): Promise<void>;
  /** Sums of everything that happened. */
  stats(): ToolUseStats;
  /** Ends what is under way, without rows. Tools go on, unseen. */
  close(): Promise<void>;
}

/**
 * Makes digests of a session's tool results.
 *
 * @throws {WaymarkError} with code `invalid-option` where a limit is no number or there is no session.
 *
 * @example
 * ```ts
 * import { toolUseSummary } from "@waymark/waymark/tool-use";
 * import { scriptedModel } from "@waymark/waymark/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const digests = toolUseSummary({ model: scriptedModel(["3 of 120 tests failed."]), session: "s-1", topLevel: true });
 * const bash = digests.wrap((_: { command: string }, _info: { toolCallId: string }) => "FAIL tests/a.ts\n".repeat(500));
 * bash({ command: "npm test" }, { toolCallId: "call_1" });
 * await digests.settled();
 * assertEquals(digests.summaries().get("call_1")?.summary, "3 of 120 tests failed.");
 * await digests.close();
 * ```
 */
export function toolUseSummary(options: ToolUseOptions): ToolUseSummary {
  const { session, root, clock, when = "always", pressure = 0.6 } = options;
  const model = options.model ?? options.parentModel ?? undefined;
  const { minResultBytes = 4096, retentionDays = 7, maxSummariesPerSession = 200, maxCallsPerSession = 200 } = options;
  const { maxConcurrentCalls = 4, maxTokens = 256, timeoutMs = 5000, excludeTools = ["structured_output"] } = options;
  checkNumbers({ minResultBytes, retentionDays, maxCallsPerSession }, 0);
  checkNumbers({ maxSummariesPerSession, maxConcurrentCalls, maxTokens, timeoutMs }, 1);
  refuseUnless(typeof session === "string" && session !== "", "session", "give the id of the conversation");
  refuseUnless(when === "always" || when === "pressure", "when", 'give "always" or "pressure"');
  refuseUnless(pressure > 0 && pressure <= 1, "pressure", "give a share between 0 and 1");
  refuseUnless(Array.isArray(excludeTools), "excludeTools", "give a list of names");

  const tally = createTally(), pass = quiet(options.onEvent);
  const emit = (event: DigestEvent): void => {
    tally.add(event);
    pass(event);
  };
  const open = async () => {
    const ledger = openLedger({
      root,
      session,
      retentionDays,
      onError: options.onError,
      ...clock && { now: timeOf(clock) },
    });
    const { summaries, failed } = await loadSession(root, session);
    return { ledger, rows: summaries, failed };
  };
  const digester = createDigester({
    enabled: options.enabled ?? true,
    topLevelOnly: options.topLevelOnly ?? true,
    topLevel: options.topLevel,
    minResultBytes,
    excludeTools,
    maxSummariesPerSession,
    maxCallsPerSession,
    maxConcurrentCalls,
    maxTokens,
    timeoutMs,
    when,
    pressure,
    model,
    isInherited: !options.model,
  }, { open: root && retentionDays ? open : undefined, emit, clock });

  const accept = (result: AcceptedResult, replaces = false): void => {
    try {
      digester.accept(result, replaces);
    } catch { /* a result or a name with traps of its own */ }
  };
  const counted = (given: DigestOptions = {}): DigestOptions => ({
    ...given,
    onUsed(use) {
      const { callId, tool, resultBytes } = use.row;
      digester.store.touch(callId);
      emit({ type: "digest", what: "used", callId, tool, resultBytes, tokensSaved: Math.round((use.saved ?? 0) / 4) });
      return given.onUsed?.(use);
    },
  });

  return {
    async middleware(call, next) {
      const outcome = await next(call);
      if (outcome && ("result" in outcome || call.fresh)) { // where a read made again fails, the first is void all the same
        const { callId, programmatic, fresh } = call, tool = call.tool || "read";
        const path = toDiskPath(call.path, call.cwd) ?? call.path, topLevel = programmatic ? false : call.topLevel;
        accept({ callId, tool, result: outcome.result, path, topLevel }, fresh);
      }
      return outcome;
    },
    wrap: (tool, watched) => watch(tool, accept, watched),
    accept: (result) => accept(result),
    summaries: () => digester.store.summaries(),
    relieve(state) {
      try {
        return digester.relieve(state);
      } catch {
        return 0; // a host's own way to tell that throws
      }
    },
    upgrade: (messages, given) =>
      options.upgradePlaceholders === false
        ? messages
        : upgradePlaceholders(messages, digester.store.summaries(), counted(given)),
    substitute: (input, given) => substituteSummaries(input, digester.store.summaries(), counted(given)),
    settled: () => digester.settled(),
    stats: () => ({
      ...tally.sums(),
      underWay: digester.underWay,
      held: digester.held,
      ledgerErrors: digester.ledgerErrors,
    }),
    close: () => digester.close(),
    [Symbol.asyncDispose]: () => digester.close(),
  };
}

function refuseUnless(isFine: boolean, name: string, advice: string): void {
  if (!isFine) throw new WaymarkError("invalid-option", `Cannot use ${name} as it is: ${advice}`);
}

export type { DigestEvent } from "./events.ts";
export type { Pressure } from "./tool_use/digester.ts";
export { isFramedDigest, isLocatorStub, isPlaceholder, PLACEHOLDERS, renderDigest } from "./tool_use/frame.ts";
export { loadSummaries } from "./tool_use/load.ts";
export { createStubs, type DigestOptions, type Stubs } from "./tool_use/placeholders.ts";
export { substituteSummaries, upgradePlaceholders } from "./tool_use/placeholders.ts";
export type { DigestSums } from "./tool_use/tally.ts";
export type { AcceptedResult, DigestRow, SkipReason, Summaries } from "./tool_use/types.ts";
export type { CallFacts, WatchOptions } from "./tool_use/watch.ts";
