/**
 * The database's tables and queries, how its rows become a map, and what an engine's error means. Pure.
 *
 * Migrations are append-only: a release adds one, none is ever edited. Times are REAL, which every driver reads whole.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { isRegion } from "../file_map.ts";
import type { FileMap, Region, SqliteDatabase } from "../types.ts";

/** Marks a database as Waymark's, in its header. */
const APPLICATION_ID = 0x57594d4b;

/** The one at index n brings a database of version n to n + 1. `autoincrement`: no id ever names two entries. */
const MIGRATIONS: readonly string[] = [
  `create table meta(key text primary key, value text not null) strict, without rowid;
  create table entries(id integer primary key autoincrement, path text not null, extension text not null,
    hash text not null, size integer not null, lines integer not null, prose text not null, regions integer not null,
    maker text not null, rank integer not null, prompt_version integer not null, facts text not null,
    created_at real not null, unique(path, hash)) strict;
  create index entries_by_content on entries(hash, extension);
  create table regions(entry_id integer not null, ordinal integer not null, start_line integer not null,
    end_line integer not null, kind text not null, name text not null, note text not null,
    primary key(entry_id, ordinal)) strict, without rowid;
  create table leases(key text primary key, owner text not null, expires_at real not null) strict, without rowid;`,
];

/** The best entry of a content: of equal makers this path's own, else the newest. */
const BEST = "from entries where hash = ? and extension = ? order by rank desc, path = ? desc, id desc limit 1";
const REGION = "select start_line, end_line, kind, name, note from regions where entry_id =";

/** Every query of the cache. */
export const SQL = {
  /** Changes when another connection has written. */
  changes: "pragma data_version",
  find: `select id, path, hash, size, lines, prose, regions, maker, prompt_version, facts, created_at ${BEST}`,
  regions: `${REGION} ? order by ordinal`,
  innermost: `${REGION} (select id ${BEST}) and start_line <= ? and end_line >= ?
    order by end_line - start_line, ordinal desc limit 1`,
  sizes: "select distinct size from entries where path = ?",
  paths: "select distinct path from entries",
  count: "select count(*) as n from entries",
  makers: "select maker, count(*) as n from entries group by maker order by max(rank) desc, maker",
  version: "select id, rank from entries where path = ? and hash = ?",
  versions: "select id from entries where path = ? order by id desc limit -1 offset ?",
  oldest: "select id from entries order by id limit ?",
  addEntry: `insert into entries(path, extension, hash, size, lines, prose, regions, maker, rank, prompt_version, facts,
    created_at) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
  addRegion: "insert into regions values(?, ?, ?, ?, ?, ?, ?)",
  dropEntry: "delete from entries where id = ?",
  dropRegions: "delete from regions where entry_id = ?",
  lease: "select expires_at from leases where key = ?",
  takeLease: "insert or replace into leases values(?, ?, ?)",
  renewLease: "update leases set expires_at = ? where key = ? and owner = ?",
  dropLease: "delete from leases where key = ? and owner = ? returning 1 as dropped",
  dropLeases: "delete from leases where expires_at < ?",
} as const;

/** What a database says it is. One statement, so one moment: another process may be making the tables. */
function inspect(database: SqliteDatabase): { application: number; version: number; tables: number } {
  return database.prepare(
    `select (select application_id from pragma_application_id) as application,
      (select user_version from pragma_user_version) as version, (select count(*) from sqlite_master) as tables`,
  ).get() as { application: number; version: number; tables: number };
}

/** Whether a database is ours and current, to be brought up to date (or empty), of a newer release, or another application's. */
export function schemaState(database: SqliteDatabase): "current" | "behind" | "newer" | "other" {
  const { application, version, tables } = inspect(database);
  if (application !== APPLICATION_ID) return application === 0 && tables === 0 ? "behind" : "other";
  if (version === MIGRATIONS.length) return "current";
  return version > MIGRATIONS.length ? "newer" : "behind";
}

/** Brings a database up to date, within the caller's transaction. */
export function migrate(database: SqliteDatabase): void {
  const { application, version } = inspect(database);
  for (const step of MIGRATIONS.slice(application ? version : 0)) database.exec(step);
  database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${MIGRATIONS.length}`);
}

interface EntryRow extends Pick<FileMap, "hash" | "size" | "lines" | "prose" | "maker"> {
  readonly path: string;
  readonly prompt_version: number;
  readonly facts: string;
  readonly created_at: number;
}

/** A map and its path from rows; `undefined` where they make no sense, as after damage that the engine does not see. */
export function toMap(row: Record<string, unknown>, rows: Record<string, unknown>[]): [FileMap, string] | undefined {
  const { path, hash, size, lines, prose, maker, prompt_version, facts, created_at } = row as unknown as EntryRow;
  const regions = rows.map(toRegion);
  if (!regions.every((region) => isRegion(region, lines))) return undefined;
  try {
    const rest = JSON.parse(facts) as Pick<FileMap, "usage" | "dropped" | "omitted" | "audit">;
    const whole = { prose, regions, hash, size, lines, maker, promptVersion: prompt_version, createdAt: created_at };
    return [{ ...rest, ...whole }, path];
  } catch {
    return undefined;
  }
}

/** A region from its row. */
export function toRegion({ start_line, end_line, kind, name, note }: Record<string, unknown>): Region {
  return { start: start_line, end: end_line, kind, name, note } as Region;
}

/**
 * What an engine's error means, by its text, which all drivers share: somebody else's turn, a database that cannot be
 * trusted any more, or a place where it does not work.
 */
export function faultOf(error: unknown): "busy" | "damaged" | "refused" {
  if (error instanceof WaymarkError) return "refused";
  const text = error instanceof Error ? error.message : String(error);
  if (/\b(database|table|schema) is locked/.test(text)) return "busy";
  const damaged = /malformed|not a database|no such (table|column)|has no column|already exists|constraint failed/;
  return damaged.test(text) ? "damaged" : "refused";
}
