/**
 * What the rest asks of a summary cache, and how one is opened. Types only. Two implementations: SQLite on disk (`cache.ts`), and a plain map in
 * memory (`memory.ts`) for files outside the root and for every place where a database cannot be had.
 *
 * Paths are keys: relative to the root, `/` between segments, links resolved. No method ever throws or rejects for want of
 * the disk; what cannot be done is left undone and reported as a `cache` event.
 *
 * @module
 */

import type { WaymarkEvent } from "../events.ts";
import type { Clock, FileMap, Region, SqliteDriver } from "../types.ts";

/** A store of file maps. */
export interface SummaryCache {
  /** Where it is kept. */
  readonly kind: "disk" | "memory";
  /** The driver in use, on disk. */
  readonly driver?: string;
  /** The database file, on disk. */
  readonly file?: string;
  /**
   * The best map of this content: stored under this path, or under another name with the same extension (a rename costs
   * no call; the entry is then adopted under this path too). Valid by hash alone.
   */
  get(path: string, hash: string): FileMap | undefined;
  /** Sizes of the versions kept for a path; empty: none kept. A size not among them means stale, without reading the file. */
  sizes(path: string): readonly number[];
  /** The innermost region at a line, from the rows of the entry at this hash. */
  at(path: string, hash: string, line: number): Region | undefined;
  /**
   * Stores a map in one transaction. False where it was not stored: a better maker's entry is there (unless `force`), or
   * the write could not have its turn within a second.
   */
  put(path: string, map: FileMap, options?: { force?: boolean }): boolean;
  /**
   * One run for this content among all processes that share the cache: waits for the run of another, takes over one that
   * died, and stores what `run` makes unless the lease was lost meanwhile. Rejects only with what `run` or `signal` rejects with.
   * `wanted` is the rank of the maker at hand: an entry of a lower rank does not count.
   */
  once(
    request: { path: string; hash: string; wanted: number; signal: AbortSignal },
    run: (signal: AbortSignal) => Promise<FileMap>,
  ): Promise<{ map: FileMap; mine: boolean }>;
  /** Drops all versions of a path; how many. */
  forget(path: string): number;
  /** Drops every path for which `keep` says no; how many paths. */
  prune(keep: (path: string) => boolean): number;
  /** How many entries are kept. */
  count(): number;
  /** How many entries each maker made. */
  makers(): Record<string, number>;
  /** Releases everything. A second call does nothing. */
  close(): void;
}

/** A driver, or the name of one. `"auto"`: `@db/sqlite` where it loads with no prompt and no download, else `node:sqlite`. */
export type WantedDriver = "auto" | "@db/sqlite" | "node:sqlite" | SqliteDriver;

/** How a cache is opened. */
export interface OpenCacheOptions {
  /** The project's root. `undefined`: memory only. */
  readonly root: string | undefined;
  /**
   * The SQLite driver. One asked for by name may fetch its library; `node:sqlite` stands in where it cannot be had. Default
   * `"auto"`: `@db/sqlite` where it loads with no prompt and no download.
   */
  readonly sqlite?: WantedDriver | undefined;
  /** Use a database that came by clone or copy: its words are somebody else's. Default false. */
  readonly trustForeignCache?: boolean | undefined;
  /** Told what happens to the cache. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
  /** Time. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** How long a process may hang over a map before another makes it, in milliseconds. Default 3,000. */
  readonly leaseTtlMs?: number | undefined;
  /** How long a write waits for its turn before it is given up, in milliseconds. Default 1,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Most entries kept, 1.5 to 4 KiB each; past it the oldest go. Default 50,000. */
  readonly maxEntries?: number | undefined;
}
