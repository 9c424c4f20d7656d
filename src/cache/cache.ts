/**
 * The summary cache on disk: `.summaries/summaries.db` under the project's root, shared by any number of processes.
 *
 * Promised: nothing here throws for want of the disk, a permission or a driver; what cannot be kept there is kept in memory
 * and said once. A map comes back whole or not at all. Absent: any judgement by time.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { WaymarkEvent } from "../events.ts";
import { rank } from "../file_map.ts";
import type { FileMap, SqliteStatement } from "../types.ts";
import { chooseDriver } from "./choose_driver.ts";
import { ask, connect, type Connection, followFile, release, replaceDamaged, transact } from "./connection.ts";
import { runOnce } from "./lease.ts";
import { cleanMap, extensionOf, innermost, memoryCache, VERSIONS_KEPT } from "./memory.ts";
import { faultOf, SQL, toMap, toRegion } from "./schema.ts";
import type { OpenCacheOptions, SummaryCache } from "./types.ts";

type Emit = (event: WaymarkEvent) => void;

/** Entries are counted once in so many writes; so many maps are kept as they were read. */
const WRITES_PER_COUNT = 256, MOST_SEEN = 64;
/** Paths pruned in one transaction: others must have their turn. A lease that ran out so long ago has no owner any more. */
const PRUNED_AT_ONCE = 100, DEAD_LEASE_MS = 3_600_000;

/** Opens the cache of a root, else one in memory. Never rejects. */
export async function openCache(options: OpenCacheOptions): Promise<SummaryCache> {
  const { root, sqlite = "auto", trustForeignCache = false, busyTimeoutMs = 1000, onEvent: emit = () => {} } = options;
  const memory = memoryCache();
  try {
    if (root === undefined) throw new WaymarkError("cache", "Cannot keep maps on disk: no project root was found");
    const driver = await chooseDriver(sqlite, emit);
    const connection = connect({ root, driver, trustForeignCache, busyTimeoutMs }, emit);
    emit({ type: "cache", what: "opened", message: `Opened ${connection.file} with ${connection.driver.name}` });
    return diskCache(connection, { ...options, memory, emit });
  } catch (error) {
    const { message } = error as Error;
    const reason = error instanceof WaymarkError ? message : `Cannot keep maps in ${root}/.summaries: ${message}`;
    emit({ type: "cache", what: "memory", message: `${reason}. Maps are kept in memory` });
    return memory;
  }
}

function diskCache(
  connection: Connection,
  options: OpenCacheOptions & { memory: SummaryCache; emit: Emit },
): SummaryCache {
  const { memory, emit, clock = Date, leaseTtlMs = 3000, maxEntries = 50_000 } = options;
  let state: "open" | "readable" | "off" = "open", writes = 0, closed = false;
  const query = (sql: string): SqliteStatement => ask(connection, sql);

  const degrade = (to: "readable" | "off", reason: string): void => {
    if (state === "off" || state === to) return;
    state = to;
    const what = to === "off" ? "Maps" : "New maps";
    emit({ type: "cache", what: "memory", message: `${reason}. ${what} are kept in memory` });
  };

  /** Does work on the database, once more after a repair. `undefined`: it could not be done. */
  const attempt = <Result>(work: () => Result, writes: boolean, repaired = false): Result | undefined => {
    try {
      return work();
    } catch (error) {
      const reason = `Cannot use ${connection.file}: ${(error as Error).message}`, fault = faultOf(error);
      if (fault === "busy" && writes) {
        emit({ type: "cache", what: "write-skipped", message: reason });
      } else if (fault !== "damaged" || repaired) {
        degrade(writes && connection.database && !repaired ? "readable" : "off", reason);
      } else {
        try {
          replaceDamaged(connection, (error as Error).message, emit);
        } catch (failure) {
          return degrade("off", (failure as Error).message) as undefined;
        }
        return attempt(work, writes, true);
      }
      return undefined;
    }
  };
  const read = <Result>(work: () => Result): Result | undefined => state === "off" ? undefined : attempt(work, false);
  const write = <Result>(work: () => Result): Result | undefined => {
    if (state !== "open") return undefined;
    return attempt(() => {
      followFile(connection, emit);
      return transact(connection, work);
    }, true);
  };

  let seenAt = "";
  /** Maps as they were read, good until somebody writes to this database. */
  const seen = new Map<string, [FileMap, string]>();
  const recall = (path: string, hash: string): [FileMap, string] | undefined => {
    // The engine tells of the writes of other connections, not of one's own.
    const at = `${query(SQL.changes).get()?.["data_version"]} ${connection.writes}`;
    if (seenAt !== at || seen.size >= MOST_SEEN) seen.clear();
    seenAt = at;
    const key = `${hash} ${path}`, found = seen.get(key) ?? find(path, hash);
    if (found) seen.set(key, found);
    return found;
  };

  const find = (path: string, hash: string): [FileMap, string] | undefined => {
    for (let tries = 0; tries < 3; tries++) {
      const row = query(SQL.find).get(hash, extensionOf(path), path);
      if (!row) return undefined;
      const regions = row["regions"] ? query(SQL.regions).all(row["id"] as number) : [];
      // Another process may have replaced the entry between the queries: then its old id has no regions left.
      if (regions.length === row["regions"]) return toMap(row, regions);
    }
    return undefined;
  };

  const remove = (sql: string, ...values: (string | number)[]): number => {
    const rows = query(sql).all(...values);
    for (const { id } of rows) {
      query(SQL.dropRegions).run(id as number);
      query(SQL.dropEntry).run(id as number);
    }
    return rows.length;
  };

  /** In a transaction: replaces an entry and its regions, unless a better maker's is there or this is none. */
  const store = (path: string, map: FileMap, force = false): boolean => {
    const clean = cleanMap(map), present = query(SQL.version).get(path, map.hash);
    if (!clean || present && !force && (present["rank"] as number) > rank(map.maker)) return false;
    if (present) remove(SQL.version, path, map.hash);
    const { hash, size, lines, prose, regions, maker, promptVersion, createdAt, usage, dropped, omitted, audit } =
      clean;
    const facts = JSON.stringify({ usage, dropped, omitted, audit });
    const start = [path, extensionOf(path), hash, size, lines, prose, regions.length, maker, rank(maker)];
    const { id } = query(SQL.addEntry).get(...start, promptVersion, facts, createdAt) as { id: number };
    regions.forEach(({ start, end, kind, name, note }, ordinal) =>
      query(SQL.addRegion).run(id, ordinal, start, end, kind, name, note)
    );
    remove(SQL.versions, path, VERSIONS_KEPT);
    if (writes++ % WRITES_PER_COUNT === 0) {
      const { n } = query(SQL.count).get() as { n: number };
      if (n > maxEntries) remove(SQL.oldest, n - Math.trunc(maxEntries * 0.95));
    }
    return true;
  };

  if (connection.readOnly) degrade("readable", `Cannot write ${connection.file}: the disk is read-only`);

  const cache: SummaryCache = {
    kind: "disk",
    driver: connection.driver.name,
    file: connection.file,
    get(path, hash) {
      const spare = memory.count() ? memory.get(path, hash) : undefined;
      const [map, from] = read(() => recall(path, hash)) ?? [];
      if (!map || spare && rank(spare.maker) > rank(map.maker)) return spare;
      if (from !== path) write(() => store(path, map));
      return map;
    },
    sizes(path) {
      const rows = read(() => query(SQL.sizes).all(path)) ?? [];
      return [...new Set([...rows.map((row) => row["size"] as number), ...memory.sizes(path)])];
    },
    at(path, hash, line) {
      if (memory.count()) return innermost(cache.get(path, hash)?.regions ?? [], line);
      const row = read(() => query(SQL.innermost).get(hash, extensionOf(path), path, line, line));
      return row ? toRegion(row) : undefined;
    },
    put(path, map, { force = false } = {}) {
      const stored = write(() => store(path, map, force));
      if (stored !== undefined) return stored;
      return memory.put(path, map, { force }) && state !== "open";
    },
    async once(request, run) {
      const { path, hash, wanted, signal } = request;
      const good = (map: FileMap | undefined) => map && rank(map.maker) >= wanted ? map : undefined;
      const found = good(cache.get(path, hash));
      if (found) return { map: found, mine: false };
      if (state !== "open") return await memory.once(request, run);
      return await runOnce(
        {
          query,
          read,
          write,
          find: (bare) => good(bare ? find(path, hash)?.[0] : cache.get(path, hash)),
          store: (map) => store(path, map),
          put: (map) => cache.put(path, map),
          keep: (map) => memory.put(path, map),
          now: () => clock.now(),
        },
        { key: `${wanted} ${hash}${extensionOf(path)}`, signal, ttlMs: leaseTtlMs },
        run,
      );
    },
    forget(path) {
      const count = write(() => remove(SQL.versions, path, 0)) ?? 0;
      return Math.max(count, memory.forget(path));
    },
    prune(keep) {
      const paths = (read(() => query(SQL.paths).all()) ?? []).map((row) => row["path"] as string);
      const gone = paths.filter((path) => !keep(path));
      let count = 0;
      for (let at = 0; at < gone.length; at += PRUNED_AT_ONCE) {
        const some = gone.slice(at, at + PRUNED_AT_ONCE);
        count += write(() => some.filter((path) => remove(SQL.versions, path, 0)).length) ?? 0;
        for (const path of some) memory.forget(path);
      }
      write(() => query(SQL.dropLeases).run(clock.now() - DEAD_LEASE_MS));
      count += memory.prune(keep);
      emit({ type: "cache", what: "pruned", message: `Dropped the maps of ${count} files` });
      return count;
    },
    count: () => (read(() => query(SQL.count).get()?.["n"] as number) ?? 0) + memory.count(),
    makers() {
      const made = memory.makers();
      for (const { maker, n } of read(() => query(SQL.makers).all()) ?? []) {
        made[maker as string] = (made[maker as string] ?? 0) + (n as number);
      }
      return made;
    },
    close() {
      if (!closed) release(connection);
      closed = true;
      state = "off";
      memory.close();
    },
  };
  return cache;
}
