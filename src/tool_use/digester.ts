/**
 * From an accepted result to a row: taken at once, looked at in a later turn of the event loop, held or digested.
 *
 * Promised: nothing here throws to the host or rejects; on the calling path only references are taken; an answer that comes
 * after the disposal leaves no row. Absent: any try again, and any copy of a long result.
 *
 * @module
 */

import { disk } from "../files.ts";
import { toDiskPath } from "../paths.ts";
import { isSecretPath } from "../probe.ts";
import { decide } from "./decide.ts";
import { createDigestRuns, type RunParts, type RunSettings, timeOf, type Wanted } from "./digest_runs.ts";
import { byteLength, excerpt } from "./excerpt.ts";
import { pathsIn } from "./named_paths.ts";
import { capture, textOf } from "./result_text.ts";
import { createStore, type DigestStore } from "./store.ts";
import type { AcceptedResult, DigestRow, Ledger, SkipReason, Summaries } from "./types.ts";

/** What is settled once for all results. */
export interface DigestSettings extends RunSettings {
  readonly enabled: boolean;
  readonly topLevelOnly: boolean;
  /** Whose a result is where it does not say. */
  readonly topLevel: boolean | undefined;
  readonly minResultBytes: number;
  readonly excludeTools: readonly string[];
  readonly maxSummariesPerSession: number;
  readonly maxCallsPerSession: number;
  readonly when: "always" | "pressure";
  readonly pressure: number;
}

/** What a digester works with. */
export interface DigesterParts extends Omit<RunParts, "store" | "keep" | "take" | "skip"> {
  /** Opens the ledger at the first result, and reads what it holds of this session. `undefined`: nothing is kept. */
  readonly open:
    | (() => Promise<{ readonly ledger: Ledger; readonly rows: Summaries; readonly failed?: number }>)
    | undefined;
  /** Runs a task in a later turn of the event loop. Default: a timer. */
  readonly later?: ((task: () => void) => void) | undefined;
}

/** How full the window is, and what is in it. */
export interface Pressure {
  /** The share of the window that is used, 0 to 1. */
  readonly share: number;
  /** The ids of the calls whose results the conversation still holds, or how to tell. Default: all of them. */
  readonly inContext?: Iterable<string> | ((callId: string) => boolean) | undefined;
}

/** Makes the digests of one session. */
export interface Digester {
  /** Takes a result. One that `replaces` makes the earlier one of the same call void, which the host never gave to the model. */
  accept(result: AcceptedResult, replaces?: boolean): void;
  /** Begins digests of what is held; how many. */
  relieve(pressure: Pressure): number;
  readonly store: Pick<DigestStore, "summaries" | "touch">;
  /** Results held for the day the window fills up. */
  readonly held: number;
  /** Digests under way, those that wait for their turn among them. */
  readonly underWay: number;
  /** Rows that could not be kept. */
  readonly ledgerErrors: number;
  /** Resolves when everything accepted so far has its row, and every row is kept or given up. */
  settled(): Promise<void>;
  /** Ends what is under way, without rows. */
  close(): Promise<void>;
}

/** A result as it was taken. */
interface Taken extends Pick<AcceptedResult, "callId" | "topLevel" | "path" | "args"> {
  readonly tool: string;
  readonly captured: unknown;
  readonly replaces: boolean;
}

/** Most results held. As many small ones are more than any window has room for: what is dropped has left it. */
export const MAX_HELD = 1_000;
/** UTF-16 code units of a tool's name: an endless one would leave no room for its row. */
const MAX_TOOL = 1_000;
/** Bytes of results that are looked at in one turn of the event loop; to look at a name takes as long as so many. */
const BYTES_A_TURN = 1_000_000, BYTES_A_NAME = 500;

/** Whether one of the names is that of a file with secrets, by itself or by what it leads to. */
function leadToSecrets(names: readonly string[]): boolean {
  const leads = (path: string): boolean => {
    try {
      return isSecretPath(disk().realPath(toDiskPath(path, disk().cwd()) ?? ""));
    } catch {
      return false; // there is nothing
    }
  };
  return names.some(isSecretPath) || names.some(leads);
}

/** The digester of one session. */
export function createDigester(settings: DigestSettings, parts: DigesterParts): Digester {
  const { model, topLevel, when, maxCallsPerSession: maxCalls } = settings;
  const { emit, later = (task) => void setTimeout(task, 0) } = parts;
  const excluded = new Set(settings.excludeTools), store = createStore(settings.maxSummariesPerSession);
  const now = timeOf(parts.clock), queue: Taken[] = [], held = new Map<string, Wanted>();
  let ledger: Ledger | undefined, draining: Promise<void> | undefined, isOpen = false, isClosed = false;
  /** No call is left, whoever made them. */
  let isSpent = false, taking: Promise<boolean> = Promise.resolve(true);

  const keep = (row: DigestRow): void => {
    store.keep(row);
    ledger?.append(row);
  };
  const skip = ({ callId, tool, bytes }: { callId: string; tool: string; bytes: number }, reason: SkipReason): void => {
    keep({ callId, tool, resultBytes: bytes, status: "skipped", skipReason: reason, durationMs: 0, at: now() });
    emit({ type: "digest", what: "skipped", callId, tool, resultBytes: bytes, reason });
  };

  /** The budget is the session's: each call takes a place among those of all its processes, one after the other here. */
  const take = (signal: AbortSignal): Promise<boolean> =>
    taking = taking.then(async () => {
      if (isSpent || signal.aborted) return false;
      const place = maxCalls === Infinity ? undefined : await ledger?.take();
      if (place !== undefined) store.heard(place);
      return !(isSpent = place !== undefined && place > maxCalls);
    }).catch(() => true);
  const runs = createDigestRuns(settings, { ...parts, store, keep, take, skip });

  const open = async (): Promise<void> => {
    isOpen = true;
    const opened = await parts.open?.().catch(() => undefined);
    ledger = opened?.ledger;
    if (opened) store.adopt(opened.rows, opened.failed);
  };

  /** Looks at what was taken, a little in each turn of the event loop. */
  const drain = async (): Promise<void> => {
    const turn = (): Promise<void> => new Promise((resolve) => later(resolve));
    await turn();
    if (!isOpen && !isClosed) await open();
    for (let taken, bytes = 0; !isClosed && (taken = queue.shift());) {
      bytes += judge(taken);
      if (bytes < BYTES_A_TURN) continue;
      bytes = 0;
      await turn();
    }
  };

  const wake = (): void => {
    draining ??= drain().catch(() => {}).finally(() => {
      draining = undefined;
      if (queue.length) wake(); // came in after the last look
    });
  };

  /** Puts a result through the gates; what that cost, in bytes. */
  const judge = ({ callId, tool, captured, replaces, ...taken }: Taken): number => {
    const { text, facts } = textOf(captured), bytes = byteLength(text);
    if (!callId) {
      emit({ type: "digest", what: "skipped", tool, resultBytes: bytes, reason: "no-call-id" });
      return bytes;
    }
    let looked = 0;
    const reason = decide({
      enabled: settings.enabled,
      topLevelOnly: settings.topLevelOnly,
      topLevel: taken.topLevel ?? topLevel,
      bytes,
      minResultBytes: settings.minResultBytes,
      isExcluded: excluded.has(tool),
      get isSecret() {
        const { paths, isCut, units } = pathsIn(taken.args);
        looked = units + paths.size * BYTES_A_NAME;
        return isCut || leadToSecrets([taken.path ?? "", ...paths]);
      },
      isKnown: !replaces && (store.isKnown(callId) || held.has(callId)),
      hasModel: model !== undefined,
      calls: store.calls,
      maxCalls,
    });
    if (replaces && reason !== "not-top-level") {
      store.underWay(callId)?.controller.abort();
      store.forget(callId); // a quick model has its digest by now
      held.delete(callId);
    }
    if (reason) skip({ callId, tool, bytes }, reason);
    else if (when === "always") runs.start({ callId, tool, bytes, facts, text: excerpt(text) });
    else hold({ callId, tool, bytes, facts, text: excerpt(text) });
    return bytes + looked;
  };

  const hold = (wanted: Wanted): void => {
    held.set(wanted.callId, wanted);
    if (held.size > MAX_HELD) held.delete(held.keys().next().value!);
  };

  const settled = async (): Promise<void> => {
    while (draining || runs.size) await Promise.all([draining, runs.ended()]);
    await ledger?.settled();
  };

  return {
    store,
    accept({ callId, tool, result, ...taken }, replaces = false) {
      if (isClosed) return;
      queue.push({ ...taken, callId, tool: String(tool).slice(0, MAX_TOOL), captured: capture(result), replaces });
      wake();
    },
    relieve({ share, inContext }) {
      if (isClosed) return 0;
      const ids = typeof inContext === "object" && inContext !== null ? new Set(inContext) : undefined;
      const isIn = typeof inContext === "function" ? inContext : (id: string) => !ids || ids.has(id);
      for (const id of [...held.keys()]) if (!isIn(id)) held.delete(id);
      if (!(share >= settings.pressure)) return 0;
      const wanted = [...held.values()], before = runs.size;
      held.clear();
      for (const one of wanted) {
        if (store.calls < maxCalls) runs.start(one);
        else skip(one, "budget");
      }
      return runs.size - before;
    },
    get held() {
      return held.size;
    },
    get underWay() {
      return runs.size;
    },
    get ledgerErrors() {
      return ledger?.errors ?? 0;
    },
    settled,
    close() {
      isClosed = true;
      queue.length = 0;
      held.clear();
      for (const { controller } of store.runs) controller.abort();
      return settled();
    },
  };
}
