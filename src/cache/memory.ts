/**
 * The summary cache in memory: for files outside the root, and wherever a database cannot be had. Bounded, oldest out.
 *
 * @module
 */

import { isCount, isRegion, rank } from "../file_map.ts";
import type { FileMap, Region } from "../types.ts";
import type { SummaryCache } from "./types.ts";

/** Versions of one path that are kept, here and on disk. */
export const VERSIONS_KEPT = 4;

/** Bounds of {@linkcode memoryCache}. */
export interface MemoryCacheOptions {
  /** Most paths kept. Default 512. */
  readonly maxPaths?: number;
}

/** Makes an empty cache that lives as long as the object. */
export function memoryCache({ maxPaths = 512 }: MemoryCacheOptions = {}): SummaryCache {
  /** Path to its maps by hash, each oldest first. */
  const paths = new Map<string, Map<string, FileMap>>();
  const runs = new Map<string, Promise<unknown>>();

  const keep = (path: string, map: FileMap): void => {
    const versions = paths.get(path) ?? new Map<string, FileMap>();
    paths.delete(path);
    versions.delete(map.hash);
    paths.set(path, versions.set(map.hash, map));
    if (versions.size > VERSIONS_KEPT) versions.delete(versions.keys().next().value!);
    if (paths.size > maxPaths) paths.delete(paths.keys().next().value!);
  };

  const cache: SummaryCache = {
    kind: "memory",
    get(path, hash) {
      const own = paths.get(path)?.get(hash);
      let best = own;
      for (const [other, versions] of paths) {
        const map = versions.get(hash);
        if (map && extensionOf(other) === extensionOf(path) && (!best || rank(map.maker) > rank(best.maker))) {
          best = map;
        }
      }
      if (best && best !== own) keep(path, best);
      return best;
    },
    sizes: (path) => [...new Set([...paths.get(path)?.values() ?? []].map((map) => map.size))],
    at: (path, hash, line) => innermost(cache.get(path, hash)?.regions ?? [], line),
    put(path, map, { force = false } = {}) {
      const present = paths.get(path)?.get(map.hash);
      if (present && !force && rank(present.maker) > rank(map.maker)) return false;
      const clean = cleanMap(map);
      if (clean) keep(path, clean);
      return clean !== undefined;
    },
    async once({ path, hash, wanted, signal }, run) {
      const key = `${wanted} ${hash}${extensionOf(path)}`;
      for (;;) {
        signal.throwIfAborted();
        const map = cache.get(path, hash);
        if (map && rank(map.maker) >= wanted) return { map, mine: false };
        const other = runs.get(key);
        if (!other) break;
        const { withSignal } = await import("../waiting.ts");
        await withSignal(other.catch(() => {}), signal);
      }
      const own = run(signal);
      runs.set(key, own);
      try {
        const map = await own;
        cache.put(path, map);
        return { map, mine: true };
      } finally {
        runs.delete(key);
      }
    },
    forget(path) {
      const count = paths.get(path)?.size ?? 0;
      paths.delete(path);
      return count;
    },
    prune: (wanted) => [...paths.keys()].filter((path) => !wanted(path) && paths.delete(path)).length,
    count: () => [...paths.values()].reduce((sum, versions) => sum + versions.size, 0),
    makers() {
      const made: Record<string, number> = {};
      for (const versions of paths.values()) {
        for (const { maker } of versions.values()) made[maker] = (made[maker] ?? 0) + 1;
      }
      return made;
    },
    close: () => paths.clear(),
  };
  return cache;
}

/** What a path's name ends in, dot included: content is shared between files of one kind. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1), dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot) : "";
}

/** One line of well-formed text without controls: a NUL would end it in some drivers. */
function cleanText(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** The map as both caches keep it; `undefined` for one that cannot be kept, whoever made it. */
export function cleanMap(map: FileMap): FileMap | undefined {
  const { hash, prose, maker, size, lines, promptVersion, createdAt, regions, usage } = map;
  const isWhole = [hash, prose, maker].every((text) => typeof text === "string") &&
    [size, lines, promptVersion].every(isCount) &&
    [createdAt, ...Object.values(usage ?? [NaN])].every(Number.isFinite) &&
    Array.isArray(regions) && regions.every((region) => isRegion(region, lines));
  if (!isWhole) return undefined;
  const clean = ({ start, end, kind, name, note }: Region): Region => ({
    start,
    end,
    kind: cleanText(kind) as Region["kind"],
    name: cleanText(name),
    note: cleanText(note),
  });
  return { ...map, prose: cleanText(prose), maker: cleanText(maker), regions: regions.map(clean) };
}

/** The smallest of the regions at a line. */
export function innermost(regions: readonly Region[], line: number): Region | undefined {
  let found: Region | undefined;
  for (const region of regions) {
    if (region.start > line || region.end < line) continue;
    if (!found || region.end - region.start <= found.end - found.start) found = region;
  }
  return found;
}
