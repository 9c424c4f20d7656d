/**
 * Whether a database is ours and may be believed: what it says goes into a model's context.
 *
 * @module
 */

import { attempting, WaymarkError } from "../errors.ts";
import { disk } from "../files.ts";
import type { SqliteDatabase } from "../types.ts";
import type { Connection } from "./connection.ts";
import { gitTracks, identityOf } from "./folder.ts";
import { schemaState } from "./schema.ts";

/** Why a database is moved aside. */
export type Label = "corrupt" | "foreign" | "other";
/** Fine to use, to be looked at once more or otherwise, or to be moved aside for a reason. */
export type Verdict = "fine" | "again" | readonly [Label, string];

/** What to think of the database, from its file alone, as far as that can tell. */
export function glance(connection: Connection): Verdict {
  const address = addressOf(connection.file);
  if (!disk().mayRead(address) || !disk().mayWrite(address)) return "again";
  let database: SqliteDatabase | undefined;
  try {
    const verdict = judge(connection, database = connection.driver.open(address));
    return verdict === "fine" && hasLog(connection.file) ? "again" : verdict; // the log may say more
  } catch (error) {
    if (error instanceof WaymarkError) throw error;
    return "again";
  } finally {
    closeQuietly(database);
  }
}

/** Closes what may be broken. */
export function closeQuietly(database: SqliteDatabase | undefined): void {
  attempting()(() => database?.close());
}

/** Whether a database is ours and may be believed. Throws where it is to be left alone. */
export function judge(connection: Connection, database: SqliteDatabase): Verdict {
  const state = schemaState(database);
  if (state === "newer") {
    throw new WaymarkError(
      "cache",
      `Cannot use ${connection.file}: a newer release of Waymark made it; it is left alone`,
    );
  }
  if (state === "behind") return "again";
  if (state === "other") return ["other", "another application made it"];
  const why = connection.trustForeignCache ? undefined : distrust(connection, database);
  return why === undefined ? "fine" : ["foreign", why];
}

/** Why what a database says may not be shown to a model; `undefined` where it may. */
export function distrust({ identity, root }: Connection, database: SqliteDatabase): string | undefined {
  if (recall(database, "identity") !== identity) return "it is a copy from elsewhere (see trustForeignCache)";
  // Where git tracked the path before this file was made, the tracked one is the one that was moved aside.
  if (recall(database, "tracked") !== "true" && gitTracks(root)) return "git tracks it (see trustForeignCache)";
  return undefined;
}

/** A fact the database keeps of itself. */
export function recall(database: SqliteDatabase, key: string): unknown {
  return database.prepare("select value from meta where key = ?").get(key)?.["value"];
}

/** What there is, opened for reading alone; `undefined` where that cannot be, or may not be believed. */
export function openReadable(connection: Connection): SqliteDatabase | undefined {
  const { file, driver } = connection;
  let database: SqliteDatabase | undefined;
  try {
    // SQLite reads a WAL database beside which it can make no files only when told that nobody writes.
    const address = hasLog(file) ? file : addressOf(file);
    connection.identity = identityOf(file) ?? "";
    if (!connection.identity || !disk().mayRead(address) || !disk().mayWrite(address)) return undefined;
    database = driver.open(address);
    if (judge(connection, database) === "fine") return database;
  } catch { /* it cannot be read either */ }
  closeQuietly(database);
  return undefined;
}

/** Whether there are writes that are not yet in the file itself. */
function hasLog(file: string): boolean {
  return disk().exists(`${file}-wal`) && disk().stat(`${file}-wal`).size > 0;
}

/** The file's address for SQLite, which is told to take no locks and make no files. */
function addressOf(file: string): string {
  return `file:${encodeURI(file).replace(/[?#]/g, encodeURIComponent)}?immutable=1`;
}
