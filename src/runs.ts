/**
 * When a map is made: one run for a content, whoever asks, a deadline, and a pause after a failure.
 *
 * @module
 */

import { quiet, WaymarkError } from "./errors.ts";
import { rank } from "./file_map.ts";
import { createMapMaker } from "./map_maker.ts";
import type { LoadedFile, MapRequest, MapsOptions } from "./map_types.ts";
import { createPauses } from "./pauses.ts";
import type { FileMap, WaymarkErrorCode } from "./types.ts";
import { createDeadline, createTurns, withSignal } from "./waiting.ts";

/** Makes maps. */
export interface Runs {
  /** A new map. Rejects with a {@linkcode WaymarkError}. */
  run(file: LoadedFile, request: MapRequest): Promise<FileMap>;
}

/** What may change while a run waits for its turn. */
interface RunState {
  /** Who may give it up. */
  readonly stop?: AbortSignal | undefined;
  /** Somebody who waits for it insists. */
  insist: boolean;
}

/** A run that many may wait for. */
interface Run {
  readonly promise: Promise<FileMap>;
  readonly state: RunState;
  readonly controller: AbortController;
  /** Where its map is kept. */
  readonly cache: LoadedFile["cache"];
  waiting: number;
}

/** Makes the runs of one instance. */
export function createRuns(options: MapsOptions): Runs {
  const { summarizer, clock = Date } = options;
  const { timeoutMs = 60_000, retryAfterMs = 60_000, maxConcurrentCalls = 4 } = options.limits ?? {};
  const make = createMapMaker({ ...options, clock, onEvent: quiet(options.onEvent) });
  const byModel = rank(summarizer.maker) === rank("model:");
  const pauses = createPauses({ forMs: retryAfterMs, isParser: !byModel, clock });
  const turns = createTurns(byModel ? maxConcurrentCalls : Infinity);
  const runs = new Map<string, Run>();

  /** One run; a failure is remembered before the next has its turn. */
  const start = (file: LoadedFile, state: RunState, refresh = false): Promise<FileMap> =>
    file.hold(async (closed) => {
      const { signal, end } = createDeadline(timeoutMs, { signals: [state.stop, closed] });
      let release: (() => void) | undefined;
      // Half of the time may go by before its turn: with less than the other half a request may be paid for in vain.
      const half = byModel ? performance.now() + timeoutMs / 2 : Infinity;
      const late = (cause?: unknown) => failureOf(file, cause, "timeout", `no turn within ${timeoutMs / 2000} s`);
      const makeInTurn = async (inner: AbortSignal): Promise<FileMap> => {
        const wait = createDeadline(half - performance.now(), { signals: [inner] });
        const leave = await turns.take(wait.signal).finally(wait.end).catch((cause) => {
          throw inner.aborted ? cause : late(cause);
        });
        if (performance.now() > half) throw leave(), late(); // behind another process
        release = leave;
        if (!state.insist) pauses.check(file.hash); // those before may have found it of no use
        return await make(file, inner);
      };
      try {
        if (refresh || !byModel) {
          const map = await makeInTurn(signal);
          file.cache.put(file.key, map, { force: refresh });
          return map;
        }
        const wanted = rank(summarizer.maker);
        return (await file.cache.once({ path: file.key, hash: file.hash, wanted, signal }, makeInTurn)).map;
      } catch (cause) {
        const error = state.stop?.aborted
          ? failureOf(file, cause, "aborted", ABORTED)
          : closed.aborted
          ? failureOf(file, cause, "aborted", "it was closed meanwhile")
          : signal.aborted
          ? failureOf(file, cause, "timeout", `${release ? "no answer" : "no turn"} within ${timeoutMs / 1000} s`)
          : cause instanceof WaymarkError
          ? cause
          : failureOf(file, cause, "internal", cause instanceof Error ? cause.message : String(cause));
        if (release) pauses.remember(file.hash, error); // without a turn nobody was asked
        throw error;
      } finally {
        end();
        release?.();
      }
    });

  /** Joins the run for the same content, or starts it. The run ends when its last waiter has gone. */
  const join = async (file: LoadedFile, request: MapRequest): Promise<FileMap> => {
    const { signal, insist = false } = request;
    const key = `${file.hash} ${file.key.slice(file.key.lastIndexOf(".") + 1)}`;
    let shared = runs.get(key);
    if (!shared || shared.controller.signal.aborted) {
      const controller = new AbortController(), state = { stop: controller.signal, insist };
      shared = { promise: start(file, state), state, controller, cache: file.cache, waiting: 0 };
      const own = shared;
      const forget = (): void => void (runs.get(key) === own && runs.delete(key));
      own.promise.then(forget, forget);
      runs.set(key, own);
    }
    shared.waiting++;
    shared.state.insist ||= insist;
    try {
      const map = await withSignal(shared.promise, signal);
      if (shared.cache !== file.cache) file.cache.put(file.key, map); // one in the project, one outside
      return map;
    } catch (error) {
      throw signal?.aborted ? failureOf(file, error, "aborted", ABORTED) : error;
    } finally {
      if (--shared.waiting === 0 && runs.get(key) === shared) shared.controller.abort();
    }
  };

  return {
    async run(file, request) {
      const { signal, insist = false } = request;
      if (!request.refresh && !insist) pauses.check(file.hash);
      const map = await (request.refresh ? start(file, { stop: signal, insist: true }, true) : join(file, request));
      pauses.clear(file.hash);
      return map;
    },
  };
}

const ABORTED = "the read was aborted";

function failureOf({ path }: LoadedFile, cause: unknown, code: WaymarkErrorCode, words: string): WaymarkError {
  return new WaymarkError(code, `Cannot summarize ${path}: ${words}`, { cause });
}
