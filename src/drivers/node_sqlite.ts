/**
 * SQLite through the runtime's own `node:sqlite`: Deno, Bun and Node alike, nothing to install, no FFI.
 *
 * Absent: pragmas, retries, permissions: the cache sees to those.
 *
 * @example
 * ```ts
 * import { nodeSqlite } from "@waymark/waymark/drivers/node-sqlite";
 * import { assertEquals } from "@std/assert";
 *
 * const driver = await nodeSqlite(); // createWaymark({ sqlite: driver })
 * const database = driver.open(":memory:");
 * assertEquals(database.prepare("select 2 + ? as sum").get(2)?.sum, 4);
 * database.close();
 * ```
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { SqliteDriver, SqliteStatement } from "../types.ts";

/**
 * Loads the driver. Rejects with a {@linkcode WaymarkError} of code `cache` where the runtime has no `node:sqlite`.
 */
export async function nodeSqlite(): Promise<SqliteDriver> {
  const { DatabaseSync } = await import("node:sqlite").catch((cause) => {
    throw new WaymarkError("cache", "Cannot load node:sqlite: it needs Deno 2.3, Bun 1.4 or Node 22.13", { cause });
  });
  return {
    name: "node:sqlite",
    open(path) {
      const database = new DatabaseSync(path);
      let open = true;
      return {
        exec: (sql) => database.exec(sql),
        prepare(sql) {
          try {
            return database.prepare(sql) as unknown as SqliteStatement;
          } catch (error) {
            database.exec(`explain ${sql}`); // says why: Deno 2.3 only says that it failed
            throw error;
          }
        },
        close() {
          if (open) database.close();
          open = false;
        },
      };
    },
  };
}
