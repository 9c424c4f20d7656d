/**
 * The map of a file: from the cache where it is there, else made. When one is made is decided here: one run for a content,
 * a deadline for the run, and a pause after a failure.
 *
 * @module
 */

import { quiet, WaymarkError } from "./errors.ts";
import { rank } from "./file_map.ts";
import { createMapMaker, type LoadedFile, type MapsOptions } from "./map_maker.ts";
import { createPauses } from "./pauses.ts";
import type { FailureReason, FileMap } from "./types.ts";
import { withSignal } from "./waiting.ts";

/** How a map is asked for. */
export interface MapRequest {
  /** The caller's abort. */
  readonly signal?: AbortSignal | undefined;
  /** Make a new one whatever the cache holds. Neither joins another run nor is joined. Default false. */
  readonly refresh?: boolean;
  /** Try even where a failure is recent. Default false. */
  readonly insist?: boolean;
}

/** Gets and makes maps. */
export interface Maps {
  /** The kept map of this content, if its maker is as good as the one at hand. A pure cache read. */
  find(file: LoadedFile): FileMap | undefined;
  /** The map, kept or made. Rejects with a {@linkcode WaymarkError} whose code is a {@linkcode FailureReason}. */
  get(file: LoadedFile, request?: MapRequest): Promise<{ map: FileMap; hit: boolean }>;
}

interface Run {
  readonly promise: Promise<FileMap>;
  readonly controller: AbortController;
  waiting: number;
}

/** Makes the map-maker of one instance. */
export function createMaps(options: MapsOptions): Maps {
  const { summarizer, audit, clock = Date } = options;
  const emit = quiet(options.onEvent);
  const { timeoutMs = 60_000, retryAfterMs = 60_000 } = options.limits ?? {};
  const make = createMapMaker({ ...options, clock, onEvent: emit });
  const byModel = rank(summarizer.maker) === rank("model:");
  // A parser says the same of the same bytes for ever; a model may do better after a while.
  const pauses = createPauses({ forMs: byModel ? retryAfterMs : Infinity, clock });
  const runs = new Map<string, Run>();

  const find = (file: LoadedFile): FileMap | undefined => {
    const map = file.cache.get(file.key, file.hash);
    return map && rank(map.maker) >= rank(summarizer.maker) ? map : undefined;
  };

  /** One run under one deadline; a failure is remembered. */
  const run = async (file: LoadedFile, controller: AbortController, refresh: boolean): Promise<FileMap> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([controller.signal, deadline]);
    try {
      if (refresh || !byModel) {
        const map = await make(file, signal);
        file.cache.put(file.key, map, { force: refresh });
        return map;
      }
      const wanted = rank(summarizer.maker);
      return (await file.cache.once({ path: file.key, hash: file.hash, wanted, signal }, (inner) => make(file, inner)))
        .map;
    } catch (cause) {
      const error = controller.signal.aborted
        ? new WaymarkError("aborted", `Cannot summarize ${file.path}: the read was aborted`, { cause })
        : deadline.aborted
        ? new WaymarkError("timeout", `Cannot summarize ${file.path}: no answer within ${timeoutMs / 1000} s`, {
          cause,
        })
        : asFailure(file.path, cause);
      pauses.remember(file.hash, error);
      throw error;
    }
  };

  /** Joins the run for the same content, or starts it. The run ends when its last waiter has gone. */
  const join = async (file: LoadedFile, signal: AbortSignal | undefined): Promise<FileMap> => {
    const key = `${file.hash} ${file.key.slice(file.key.lastIndexOf(".") + 1)}`;
    let shared = runs.get(key);
    if (!shared || shared.controller.signal.aborted) {
      const controller = new AbortController();
      shared = { promise: run(file, controller, false), controller, waiting: 0 };
      const own = shared;
      const forget = (): void => void (runs.get(key) === own && runs.delete(key));
      own.promise.then(forget, forget);
      runs.set(key, own);
    }
    shared.waiting++;
    try {
      return await withSignal(shared.promise, signal);
    } catch (error) {
      throw signal?.aborted
        ? new WaymarkError("aborted", `Cannot summarize ${file.path}: the read was aborted`, { cause: error })
        : error;
    } finally {
      if (--shared.waiting === 0 && runs.get(key) === shared) shared.controller.abort();
    }
  };

  return {
    find,
    async get(file, request = {}) {
      const { signal, refresh = false, insist = false } = request;
      const found = refresh ? undefined : find(file);
      if (found) {
        emit({ type: "hit", path: file.path, maker: found.maker });
        return { map: found, hit: true };
      }
      emit({ type: "miss", path: file.path, why: missed(file, refresh) });
      if (!refresh && !insist) pauses.check(file.hash);
      let map: FileMap;
      if (refresh) {
        const controller = new AbortController();
        const abort = (): void => controller.abort();
        if (signal?.aborted) abort();
        signal?.addEventListener("abort", abort, { once: true });
        map = await run(file, controller, true).finally(() => signal?.removeEventListener("abort", abort));
      } else {
        map = await join(file, signal);
      }
      pauses.clear(file.hash);
      return { map, hit: false };
    },
  };
}

function missed(file: LoadedFile, refresh: boolean): "absent" | "stale" | "better-maker" | "refresh" {
  if (refresh) return "refresh";
  if (file.cache.get(file.key, file.hash)) return "better-maker";
  return file.cache.sizes(file.key).length ? "stale" : "absent";
}

function asFailure(path: string, cause: unknown): WaymarkError {
  if (cause instanceof WaymarkError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new WaymarkError("internal", `Cannot summarize ${path}: ${message}`, { cause });
}

/** A reason for a notice from what {@linkcode Maps.get} rejected with. */
export function failureReason(error: unknown): FailureReason {
  const code = error instanceof WaymarkError ? error.code : "internal";
  return FAILURES.has(code) ? code as FailureReason : "internal";
}

const FAILURES: ReadonlySet<string> = new Set<FailureReason>([
  "prose-only",
  "no-declarations",
  "no-key",
  "refused",
  "empty-answer",
  "bad-answer",
  "provider-error",
  "timeout",
  "aborted",
  "budget",
  "backing-off",
  "changed",
  "internal",
]);
