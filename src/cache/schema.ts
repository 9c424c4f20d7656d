/**
 * The database's tables, how an older database becomes a present one, and what an engine's error means.
 *
 * Migrations are append-only: a new release adds one, none is ever edited. Times are REAL, which every driver reads whole.
 *
 * @module
 */

import type { SqliteDatabase } from "../types.ts";

/** Marks a database as Waymark's, in its header. */
const APPLICATION_ID = 0x57594d4b;

/** The one at index n brings a database of version n to version n + 1. `autoincrement`: an id must never name two entries. */
const MIGRATIONS: readonly string[] = [
  `create table meta(key text primary key, value text not null) strict, without rowid;
  create table entries(
    id integer primary key autoincrement, path text not null, extension text not null, hash text not null,
    size integer not null, lines integer not null, prose text not null, regions integer not null, maker text not null,
    rank integer not null, prompt_version integer not null, facts text not null, created_at real not null,
    unique(path, hash)
  ) strict;
  create index entries_by_content on entries(hash, extension);
  create table regions(
    entry_id integer not null, ordinal integer not null, start_line integer not null, end_line integer not null,
    kind text not null, name text not null, note text not null, primary key(entry_id, ordinal)
  ) strict, without rowid;
  create table leases(key text primary key, owner text not null, expires_at real not null) strict, without rowid;`,
];

/** What a database is: ours and current, to be brought up to date, of a newer release, or another application's. */
export type SchemaState = "current" | "behind" | "newer" | "other";

/** Looks at a database without changing it; an empty one is `behind`. One statement, so one moment. */
export function schemaState(database: SqliteDatabase): SchemaState {
  const { application, version, tables } = database.prepare(
    `select (select application_id from pragma_application_id) as application,
      (select user_version from pragma_user_version) as version, (select count(*) from sqlite_master) as tables`,
  ).get() as { application: number; version: number; tables: number };
  if (application !== APPLICATION_ID) return application === 0 && tables === 0 ? "behind" : "other";
  if (version === MIGRATIONS.length) return "current";
  return version > MIGRATIONS.length ? "newer" : "behind";
}

/** Brings a database up to date, within the caller's transaction. */
export function migrate(database: SqliteDatabase): void {
  const { version } = database.prepare("select user_version as version from pragma_user_version").get() as {
    version: number;
  };
  for (const step of MIGRATIONS.slice(version)) database.exec(step);
  database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${MIGRATIONS.length}`);
}

/**
 * What an engine's error means, by its text, the one thing all drivers share: somebody else's turn, a database that cannot
 * be trusted any more, or a place where it does not work.
 */
export function faultOf(error: unknown): "busy" | "damaged" | "refused" {
  const text = error instanceof Error ? error.message : String(error);
  if (/\b(database|table|schema) is locked/.test(text)) return "busy";
  return /malformed|not a database|no such (table|column)|has no column|already exists|constraint failed/.test(text)
    ? "damaged"
    : "refused";
}
