/**
 * Leaves what failed alone for a while, so that a broken provider is not billed once for every read.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import type { Clock } from "./types.ts";

/** Which contents, or all of them, are left alone and until when. */
export interface Pauses {
  /** Throws while a content is left alone: what failed, and when it is tried again. */
  check(hash: string): void;
  /** Takes note of a failure. An abort, a used-up budget, this pause and a file that cannot be read are none. */
  remember(hash: string, error: WaymarkError): void;
  /** A success: nothing is left alone any more but contents of their own. */
  clear(hash: string): void;
}

interface Failure {
  readonly until: number;
  readonly error: WaymarkError;
}

/** Faults in a row, over all contents, after which every content is left alone for a while. */
const STRIKES = 3;
/** Statuses that mean the next content would fail just the same. */
const HOPELESS = new Set([401, 403, 404]);
/** Codes that are the provider's fault, not the content's. */
const PROVIDERS: ReadonlySet<string> = new Set(["provider-error", "timeout", "no-key"]);
/** Codes that are nobody's fault, or the file's at that moment. */
const NOBODYS: ReadonlySet<string> = new Set(
  ["aborted", "budget", "backing-off", "not-found", "not-allowed", "not-text", "too-large"],
);
/** Most failures remembered. */
const MAX_FAILURES = 1000;

/** Makes the memory of failures; each counts for `forMs`, but that a parser found nothing for ever. */
export function createPauses(
  { forMs, isParser, clock }: { forMs: number; isParser: boolean; clock: Pick<Clock, "now"> },
): Pauses {
  const failures = new Map<string, Failure>();
  let strikes = 0, down: Failure | undefined;
  return {
    check(hash) {
      const now = clock.now();
      const failure = [failures.get(hash), down].find((known) => known && known.until > now);
      if (!failure) return;
      const { error, until } = failure;
      if (until === Infinity) throw error;
      const seconds = Math.ceil((until - now) / 1000);
      throw new WaymarkError("backing-off", `${error.message}; the next try is in ${seconds} s`, { cause: error });
    },
    remember(hash, error) {
      if (NOBODYS.has(error.code)) return;
      const until = isParser && error.code === "no-declarations" ? Infinity : clock.now() + forMs,
        failure = { until, error };
      if (failures.size >= MAX_FAILURES) failures.delete(failures.keys().next().value!);
      failures.set(hash, failure);
      const faulty = PROVIDERS.has(error.code);
      strikes = faulty ? strikes + 1 : 0;
      if (faulty && (strikes >= STRIKES || HOPELESS.has(error.status ?? 0))) down = failure;
    },
    clear(hash) {
      strikes = 0;
      down = undefined;
      failures.delete(hash);
    },
  };
}
