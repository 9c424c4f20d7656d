/**
 * A SQLite driver that fails as it is told: the words and the moments are those of real engines, the database behind it is
 * a real one.
 *
 * @module
 */

import { nodeSqlite } from "../../src/drivers/node_sqlite.ts";
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from "../../src/types.ts";

/** What SQLite says for its error codes. */
export const sqliteErrors: Readonly<Record<number, string>> = {
  5: "database is locked",
  6: "database table is locked",
  8: "attempt to write a readonly database",
  10: "disk I/O error",
  11: "database disk image is malformed",
  13: "database or disk is full",
  14: "unable to open database file",
  15: "locking protocol",
  26: "file is not a database",
};

/** When it fails. */
export type Moment = "open" | "pragma" | "select" | "insert" | "commit" | "close";

const statements: Readonly<Record<Moment, RegExp>> = {
  open: /^$/,
  pragma: /^\s*pragma journal_mode/i,
  select: /^\s*select id, path/i,
  insert: /^\s*insert into entries/i,
  commit: /^\s*commit/i,
  close: /^$/,
};

/** Makes it. `failing` may be switched off; `opened` counts the databases opened, the lock's own left out. */
export async function faultyDriver(
  moment: Moment,
  fail: () => void,
): Promise<SqliteDriver & { failing: boolean; opened: number }> {
  const inner = await nodeSqlite();
  const driver = {
    name: "faulty",
    failing: true,
    opened: 0,
    open(path: string): SqliteDatabase {
      if (!path.endsWith(".lock")) driver.opened++;
      const raise = (when: boolean): void => {
        if (when && driver.failing) fail();
      };
      raise(moment === "open");
      const database = inner.open(path);
      const wrap = (sql: string, statement: SqliteStatement): SqliteStatement => {
        const before = <Result>(action: () => Result): Result => (raise(statements[moment].test(sql)), action());
        return {
          run: (...values) => before(() => statement.run(...values)),
          get: (...values) => before(() => statement.get(...values)),
          all: (...values) => before(() => statement.all(...values)),
        };
      };
      return {
        exec: (sql) => (raise(statements[moment].test(sql)), database.exec(sql)),
        prepare: (sql) => wrap(sql, database.prepare(sql)),
        close() {
          database.close();
          raise(moment === "close");
        },
      };
    },
  };
  return driver;
}
