/**
 * The map of a file: from the cache where it is there, else made. The one place that spends model calls, so every rule
 * about them is here: one run per content, a ceiling, a limit at once, a deadline, and a pause after a failure.
 *
 * @module
 */

import type { SummaryCache } from "./cache/types.ts";
import { quiet, WaymarkError } from "./errors.ts";
import type { WaymarkEvent } from "./events.ts";
import { rank } from "./file_map.ts";
import { countLines } from "./lines.ts";
import { createPauses } from "./pauses.ts";
import type { Clock, FailureReason, FileMap, OutlineParser, SourceFile, Summarizer } from "./types.ts";
import { createTurns, withSignal } from "./waiting.ts";

/** Limits on what maps may cost. */
export interface MapLimits {
  /** Deadline of a whole run, repairs and waiting included, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Most requests to a model in the life of the instance. Default: no limit. */
  readonly maxModelCalls?: number;
  /** Most model runs at once. Default 4. */
  readonly maxConcurrentCalls?: number;
  /** How long a failed file is left alone, in milliseconds. Default 60,000. */
  readonly retryAfterMs?: number;
}

/** What {@linkcode createMaps} works with. */
export interface MapsOptions {
  /** Makes the maps. */
  readonly summarizer: Summarizer;
  /** Checks what a model made. */
  readonly audit?: OutlineParser | undefined;
  /** Limits on cost. */
  readonly limits?: MapLimits | undefined;
  /** Time. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** A file that was read once: bytes, and the place where its map is kept. */
export interface LoadedFile {
  /** The path as the caller gave it. */
  readonly path: string;
  /** The bytes everything about this file is made from. */
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, lower-case hex. */
  readonly hash: string;
  /** The key it is kept under. */
  readonly key: string;
  /** Where it is kept. */
  readonly cache: SummaryCache;
}

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
  const { timeoutMs = 60_000, maxModelCalls = Infinity, maxConcurrentCalls = 4, retryAfterMs = 60_000 } =
    options.limits ?? {};
  const byModel = rank(summarizer.maker) === rank("model:");
  const turns = createTurns(byModel ? maxConcurrentCalls : Infinity);
  // A parser says the same of the same bytes for ever; a model may do better after a while.
  const pauses = createPauses({ forMs: byModel ? retryAfterMs : Infinity, clock });
  const runs = new Map<string, Run>();
  let calls = 0;

  const find = (file: LoadedFile): FileMap | undefined => {
    const map = file.cache.get(file.key, file.hash);
    return map && rank(map.maker) >= rank(summarizer.maker) ? map : undefined;
  };

  const make = async (file: LoadedFile, signal: AbortSignal): Promise<FileMap> => {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(file.bytes);
    const source: SourceFile = {
      path: file.path,
      text,
      lines: countLines(file.bytes),
      hash: file.hash,
      size: file.bytes.length,
    };
    const release = await turns.take(signal);
    try {
      let attempt = 0;
      const started = clock.now();
      const spend = (problems?: readonly string[]): void => {
        signal.throwIfAborted();
        if (calls >= maxModelCalls) {
          throw new WaymarkError(
            "budget",
            `Cannot summarize ${file.path}: the limit of ${maxModelCalls} model calls is used up`,
          );
        }
        calls++;
        emit({ type: "call", path: file.path, maker: summarizer.maker, attempt: ++attempt });
        if (problems) emit({ type: "repair", path: file.path, attempt, problems });
      };
      let summary = await withSignal(summarizer.summarize(source, { signal, spend }), signal);
      if (!summary) {
        throw new WaymarkError("no-declarations", `Cannot map ${file.path}: no declarations were found in it`);
      }
      if (byModel && audit && summary.regions.length) {
        const checked = await audit.audit(source, summary.regions).catch(() => undefined);
        if (checked) summary = { ...summary, ...checked };
      }
      const { hash, size, lines } = source;
      const maker = summary.maker ?? summarizer.maker;
      const map: FileMap = {
        ...summary,
        hash,
        size,
        lines,
        maker,
        promptVersion: summarizer.version,
        createdAt: started,
      };
      const { usage, regions } = map;
      emit({
        type: "summary",
        path: file.path,
        maker,
        usage,
        regions: regions.length,
        ...(map.audit ? { audit: map.audit } : {}),
      });
      return map;
    } finally {
      release();
    }
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
