/**
 * Which SQLite driver is used. Nothing is loaded to find out that a driver cannot be had.
 *
 * @module
 */

import type { WaymarkEvent } from "../events.ts";
import type { SqliteDriver } from "../types.ts";
import type { WantedDriver } from "./types.ts";

/** The driver; `node:sqlite` for one that cannot be had, which is told. Rejects where there is none. */
export async function chooseDriver(wanted: WantedDriver, emit: (event: WaymarkEvent) => void): Promise<SqliteDriver> {
  if (typeof wanted === "object") return wanted;
  if (wanted === "@db/sqlite" || wanted === "auto" && isLibraryNamed()) {
    const { dbSqlite, isDbSqliteAtHand } = await import("../drivers/db_sqlite.ts");
    try {
      if (wanted === "@db/sqlite" || await isDbSqliteAtHand()) return await dbSqlite();
    } catch (error) {
      emit({ type: "cache", what: "driver", message: `${(error as Error).message}. node:sqlite is used` });
    }
  }
  return await (await import("../drivers/node_sqlite.ts")).nodeSqlite();
}

/** Whether the environment names a SQLite library, as it must for `@db/sqlite` to load without a download. */
function isLibraryNamed(): boolean {
  const { Deno: deno } = globalThis as unknown as { Deno?: typeof Deno };
  const variable = "DENO_SQLITE_PATH";
  return deno?.permissions?.querySync({ name: "env", variable }).state === "granted" && Boolean(deno.env.get(variable));
}
