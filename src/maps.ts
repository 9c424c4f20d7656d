/**
 * The map of a file: from the cache where it is there, else made.
 *
 * @module
 */

import { checkNumbers, quiet, WaymarkError } from "./errors.ts";
import { rank } from "./file_map.ts";
import type { LoadedFile, Maps, MapsOptions } from "./map_types.ts";
import type { Runs } from "./runs.ts";
import type { FailureReason, FileMap } from "./types.ts";

/** Makes the map-maker of one instance. `by` names the maker where it can make none. */
export function createMaps(options: MapsOptions, by = "summarizer"): Maps {
  const { summarizer } = options, { maxConcurrentCalls, ...others } = options.limits ?? {};
  const emit = quiet(options.onEvent);
  if (typeof summarizer?.summarize !== "function") {
    const why = by.startsWith("model") ? "it makes none; see completionModel()" : "it has no summarize()";
    throw new WaymarkError("invalid-option", `Cannot make maps with ${by}: ${why}`);
  }
  checkNumbers({ maxConcurrentCalls }, 1);
  checkNumbers(others, 0);
  /** Contents of which the summarizer left the map to a lesser maker: to ask again would change nothing. */
  const settled = new Set<string>();
  let runs: Promise<Runs> | undefined; // loaded at the first miss: a hit needs none of it

  const find = (file: LoadedFile): FileMap | undefined => {
    const map = file.cache.get(file.key, file.hash);
    return map && (rank(map.maker) >= rank(summarizer.maker) || settled.has(file.hash)) ? map : undefined;
  };

  return {
    find,
    async get(file, request = {}) {
      const { refresh = false } = request;
      const found = refresh ? undefined : find(file);
      if (found) {
        emit({ type: "hit", path: file.path, maker: found.maker });
        return { map: found, hit: true };
      }
      emit({ type: "miss", path: file.path, why: missed(file, refresh) });
      const { run } = await (runs ??= import("./runs.ts").then(({ createRuns }) => createRuns(options)));
      const map = await run(file, request);
      if (rank(map.maker) < rank(summarizer.maker)) {
        if (settled.size >= MAX_SETTLED) settled.clear();
        settled.add(map.hash);
      }
      return { map, hit: false };
    },
  };
}

/** Most contents remembered as settled. */
const MAX_SETTLED = 1000;

function missed(file: LoadedFile, refresh: boolean): "absent" | "stale" | "better-maker" | "refresh" {
  if (refresh) return "refresh";
  if (file.cache.get(file.key, file.hash)) return "better-maker";
  return file.cache.sizes(file.key).length ? "stale" : "absent";
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
