/**
 * The summary cache on disk: `.summaries/summaries.db` under the project's root, shared by any number of processes.
 *
 * Promised: nothing here throws for want of the disk, a permission or a driver; what cannot be kept there is kept in memory
 * and said once. A map comes back whole or not at all. Absent: any judgement by time; a map is valid by its content's hash.
 *
 * @module
 */

import { dbSqlite, isDbSqliteAtHand } from "../drivers/db_sqlite.ts";
import { nodeSqlite } from "../drivers/node_sqlite.ts";
import { WaymarkError } from "../errors.ts";
import type { WaymarkEvent } from "../events.ts";
import { rank } from "../file_map.ts";
import type { Clock, FileMap, Region, SqliteDriver, SqliteStatement } from "../types.ts";
import { ask, connect, type Connection, followFile, release, replaceDamaged, transact } from "./connection.ts";
import { LEASE_TTL_MS, runOnce } from "./lease.ts";
import { cleanMap, contentKey, extensionOf, innermost, memoryCache, VERSIONS_KEPT } from "./memory.ts";
import { faultOf } from "./schema.ts";
import type { SummaryCache } from "./types.ts";

/** How a cache is opened. */
export interface OpenCacheOptions {
  /** The project's root. `undefined`: memory only. */
  readonly root: string | undefined;
  /**
   * The SQLite driver. `"auto"` takes `@db/sqlite` where it loads with no prompt and no download, else `node:sqlite`. By
   * name it is loaded as it can be, and `node:sqlite` stands in where it cannot. Default `"auto"`.
   */
  readonly sqlite?: "auto" | "@db/sqlite" | "node:sqlite" | SqliteDriver | undefined;
  /** Use a database that came by clone or copy: its words are somebody else's. Default false. */
  readonly trustForeignCache?: boolean | undefined;
  /** Told what happens to the cache. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
  /** Time. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** How long a process that makes a map may hang before another makes it, in milliseconds. Default 3,000. */
  readonly leaseTtlMs?: number | undefined;
  /** How long a write waits for its turn before it is given up, in milliseconds. Default 1,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Most entries kept; past it the oldest go. About 4 KiB each with 25 regions. Default 50,000. */
  readonly maxEntries?: number | undefined;
}

/** Opens the cache of a root, or one in memory where there can be none. Never rejects. */
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
    emit({ type: "cache", what: "memory", message: `${(error as Error).message}. Maps are kept in memory` });
    return memory;
  }
}

async function chooseDriver(
  sqlite: NonNullable<OpenCacheOptions["sqlite"]>,
  emit: (event: WaymarkEvent) => void,
): Promise<SqliteDriver> {
  if (typeof sqlite === "object") return sqlite;
  if (sqlite === "@db/sqlite" || sqlite === "auto" && await isDbSqliteAtHand()) {
    try {
      return await dbSqlite();
    } catch (error) {
      emit({ type: "cache", what: "driver", message: `${(error as Error).message}. node:sqlite is used` });
    }
  }
  return await nodeSqlite();
}

/** The best map of a content: of equal makers this path's own, else the newest. */
const FIND = `select id, path, hash, size, lines, prose, regions, maker, prompt_version, facts, created_at from entries
  where hash = ? and extension = ? order by rank desc, path = ? desc, id desc limit 1`;
const REGIONS = "select start_line, end_line, kind, name, note from regions where entry_id = ? order by ordinal";
const INNERMOST = `select start_line, end_line, kind, name, note from regions where entry_id = (
    select id from entries where hash = ? and extension = ? order by rank desc, path = ? desc, id desc limit 1
  ) and start_line <= ? and end_line >= ? order by end_line - start_line, ordinal desc limit 1`;
const ADD_ENTRY =
  `insert into entries(path, extension, hash, size, lines, prose, regions, maker, rank, prompt_version, facts,
  created_at) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`;
const ADD_REGION = "insert into regions values(?, ?, ?, ?, ?, ?, ?)";
const LEASE = "select expires_at from leases where key = ?";
const RENEW = "update leases set expires_at = ? where key = ? and owner = ?";
const DROP = "delete from leases where key = ? and owner = ? returning 1 as dropped";
/** A lease that ran out so long ago that nobody waits for it any more. */
const DEAD_LEASE_MS = 3_600_000;
/** Between two looks at the number of entries. */
const WRITES_PER_COUNT = 256;

type Emit = (event: WaymarkEvent) => void;

function diskCache(
  connection: Connection,
  { memory, emit, clock = Date, leaseTtlMs = LEASE_TTL_MS, maxEntries = 50_000 }: OpenCacheOptions & {
    memory: SummaryCache;
    emit: Emit;
  },
): SummaryCache {
  let state: "open" | "readable" | "off" = "open";
  let writes = 0, closed = false;

  const query = (sql: string): SqliteStatement => ask(connection, sql);

  const degrade = (to: "readable" | "off", error: unknown): void => {
    if (state === "off" || state === to) return;
    state = to;
    const what = to === "off" ? "Maps" : "New maps";
    emit({ type: "cache", what: "memory", message: `${(error as Error).message}. ${what} are kept in memory` });
  };
  if (connection.readOnly) degrade("readable", new Error(`Cannot write ${connection.file}: the disk is read-only`));

  /** Does work on the database, once more after a repair. `undefined`: it could not be done. */
  const attempt = <Result>(
    work: () => Result,
    whenRefused: "readable" | "off",
    repaired = false,
  ): Result | undefined => {
    try {
      return work();
    } catch (error) {
      const fault = error instanceof WaymarkError ? "refused" : faultOf(error);
      if (fault === "busy") {
        if (whenRefused === "readable") {
          emit({ type: "cache", what: "write-skipped", message: `${connection.file} is busy` });
        }
      } else if (fault === "refused") {
        degrade(
          connection.database ? whenRefused : "off",
          new Error(`Cannot use ${connection.file}: ${(error as Error).message}`),
        );
      } else if (!repaired) {
        try {
          replaceDamaged(connection, (error as Error).message, emit);
          return attempt(work, whenRefused, true);
        } catch (failure) {
          degrade("off", failure);
        }
      } else degrade("off", error);
      return undefined;
    }
  };
  const read = <Result>(work: () => Result): Result | undefined => state === "off" ? undefined : attempt(work, "off");
  const write = <Result>(work: () => Result): Result | undefined => {
    if (state !== "open") return undefined;
    return attempt(() => {
      followFile(connection, emit);
      return transact(connection, work);
    }, "readable");
  };

  const find = (path: string, hash: string): { map: FileMap; path: string } | undefined => {
    for (let tries = 0; tries < 3; tries++) {
      const row = query(FIND).get(hash, extensionOf(path), path);
      if (!row) return undefined;
      const regions = row["regions"] ? query(REGIONS).all(row["id"] as number) : [];
      // Another process replaced the entry between the two queries: ids are never used again, so the count tells.
      if (regions.length === row["regions"]) return toMap(row, regions);
    }
    return undefined;
  };

  const remove = (id: unknown): void => {
    query("delete from regions where entry_id = ?").run(id as number);
    query("delete from entries where id = ?").run(id as number);
  };

  const removeAll = (sql: string, ...values: (string | number)[]): number => {
    const rows = query(sql).all(...values);
    for (const { id } of rows) remove(id);
    return rows.length;
  };

  /** Within a transaction: replaces an entry and its regions, unless a better maker's is there. */
  const store = (path: string, map: FileMap, force: boolean): boolean => {
    const present = query("select id, rank from entries where path = ? and hash = ?").get(path, map.hash);
    if (present && !force && (present["rank"] as number) > rank(map.maker)) return false;
    if (present) remove(present["id"]);
    const { hash, size, lines, prose, regions, maker, promptVersion, createdAt, ...facts } = cleanMap(map);
    const entry = query(ADD_ENTRY).get(
      path,
      extensionOf(path),
      hash,
      size,
      lines,
      prose,
      regions.length,
      maker,
      rank(maker),
      promptVersion,
      JSON.stringify(facts),
      createdAt,
    );
    regions.forEach(({ start, end, kind, name, note }, ordinal) =>
      query(ADD_REGION).run(entry!["id"] as number, ordinal, start, end, kind, name, note)
    );
    removeAll("select id from entries where path = ? order by id desc limit -1 offset ?", path, VERSIONS_KEPT);
    if (writes++ % WRITES_PER_COUNT === 0) {
      const { n } = query("select count(*) as n from entries").get() as { n: number };
      if (n > maxEntries) removeAll("select id from entries order by id limit ?", n - Math.trunc(maxEntries * 0.95));
    }
    return true;
  };

  const cache: SummaryCache = {
    kind: "disk",
    driver: connection.driver.name,
    file: connection.file,
    get(path, hash) {
      const found = read(() => find(path, hash)), spare = memory.count() ? memory.get(path, hash) : undefined;
      if (!found || spare && rank(spare.maker) > rank(found.map.maker)) return spare;
      if (found.path !== path) write(() => store(path, found.map, false));
      return found.map;
    },
    sizes(path) {
      const rows = read(() => query("select distinct size from entries where path = ?").all(path)) ?? [];
      return [...new Set([...rows.map((row) => row["size"] as number), ...memory.sizes(path)])];
    },
    at(path, hash, line) {
      if (memory.count()) return innermost(cache.get(path, hash)?.regions ?? [], line);
      const row = read(() => query(INNERMOST).get(hash, extensionOf(path), path, line, line));
      return row ? toRegion(row) : undefined;
    },
    put(path, map, { force = false } = {}) {
      const stored = write(() => store(path, map, force));
      if (stored !== undefined) return stored;
      return memory.put(path, map, { force }) && state !== "open";
    },
    async once({ path, hash, wanted, signal }, run) {
      const good = (map: FileMap | undefined): FileMap | undefined =>
        map && rank(map.maker) >= wanted ? map : undefined;
      if (state !== "open") {
        const map = good(cache.get(path, hash));
        return map ? { map, mine: false } : await memory.once({ path, hash, wanted, signal }, run);
      }
      const key = `${wanted} ${contentKey(path, hash)}`, owner = crypto.randomUUID();
      let leased = false;
      const due = (row: Record<string, unknown> | null | undefined, now: number): boolean =>
        !row || (row["expires_at"] as number) <= now || (row["expires_at"] as number) > now + 10 * leaseTtlMs;
      const { value: map, mine } = await runOnce<FileMap>(
        {
          find: () => good(cache.get(path, hash)),
          take() {
            const now = clock.now();
            if (!due(read(() => query(LEASE).get(key)), now)) return "held";
            const taken = write(() => {
              if (good(find(path, hash)?.map) || !due(query(LEASE).get(key), now)) return false;
              query("insert or replace into leases values(?, ?, ?)").run(key, owner, now + leaseTtlMs);
              return true;
            });
            leased = taken === true;
            return taken === undefined ? "none" : taken ? "taken" : "held";
          },
          renew() {
            if (leased) write(() => query(RENEW).run(clock.now() + leaseTtlMs, key, owner));
          },
          finish(map) {
            if (!leased) return void cache.put(path, map);
            const stored = write(() => query(DROP).get(key, owner) ? store(path, map, false) : false);
            if (stored === undefined) memory.put(path, map);
          },
          drop() {
            if (leased) write(() => query(DROP).get(key, owner));
          },
        },
        run,
        { signal, ttlMs: leaseTtlMs },
      );
      return { map, mine };
    },
    forget(path) {
      const count = write(() => removeAll("select id from entries where path = ?", path)) ?? 0;
      return Math.max(count, memory.forget(path));
    },
    prune(keep) {
      const paths = read(() => query("select distinct path from entries").all()) ?? [];
      const gone = paths.map((row) => row["path"] as string).filter((path) => !keep(path));
      let count = 0;
      while (gone.length) { // a few at a time: others must have their turn
        const some = gone.splice(-100);
        for (const path of some) memory.forget(path);
        count += write(() => (some.forEach((path) =>
          removeAll("select id from entries where path = ?", path)
        ),
          some.length)
        ) ?? 0;
      }
      write(() => query("delete from leases where expires_at < ?").run(clock.now() - DEAD_LEASE_MS));
      count += memory.prune(keep);
      emit({ type: "cache", what: "pruned", message: `Dropped the maps of ${count} files` });
      return count;
    },
    count: () => (read(() => query("select count(*) as n from entries").get()?.["n"] as number) ?? 0) + memory.count(),
    close() {
      if (closed) return;
      closed = true;
      state = "off";
      release(connection);
      memory.close();
    },
  };
  return cache;
}

/** A map from its rows; `undefined` where they make no sense, as after damage that SQLite does not see. */
function toMap(
  row: Record<string, unknown>,
  rows: Record<string, unknown>[],
): { map: FileMap; path: string } | undefined {
  const { path, hash, size, lines, prose, maker, prompt_version, facts, created_at } = row as unknown as EntryRow;
  const regions = rows.map(toRegion);
  if (!regions.every(({ start, end }) => start >= 1 && end >= start && end <= lines)) return undefined;
  try {
    const rest = JSON.parse(facts) as Pick<FileMap, "usage" | "dropped" | "omitted" | "audit">;
    const map = {
      ...rest,
      prose,
      regions,
      hash,
      size,
      lines,
      maker,
      promptVersion: prompt_version,
      createdAt: created_at,
    };
    return { map, path };
  } catch {
    return undefined;
  }
}

interface EntryRow extends Pick<FileMap, "hash" | "size" | "lines" | "prose" | "maker"> {
  readonly path: string;
  readonly prompt_version: number;
  readonly facts: string;
  readonly created_at: number;
}

function toRegion({ start_line, end_line, kind, name, note }: Record<string, unknown>): Region {
  return { start: start_line, end: end_line, kind, name, note } as Region;
}
