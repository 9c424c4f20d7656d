/**
 * What every SQLite driver must do for the cache. Each driver runs it in its own test file.
 *
 * @module
 */

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { SqliteDatabase, SqliteDriver } from "../../src/types.ts";
import { closesAtOnce } from "../cache/opening.ts";
import { inFolder } from "../support.ts";

/** Declares the suite for one driver. */
export function testSqliteDriver(name: string, load: () => Promise<SqliteDriver>): void {
  const withDatabase = (
    action: (database: SqliteDatabase, file: string, driver: SqliteDriver) => void,
  ): Promise<void> =>
    inFolder(async (folder) => {
      const driver = await load(), file = `${folder}/a.db`, database = driver.open(file);
      try {
        action(database, file, driver);
      } finally {
        database.close();
      }
    });

  describe(`the SQLite driver ${name}`, () => {
    it("says its name", async () => {
      assertEquals((await load()).name, name);
    });

    it("reads integers beyond 32 bits whole", () =>
      withDatabase((database) => {
        database.exec("create table t(n integer) strict");
        for (const n of [2 ** 41, 1_700_000_000_123, -(2 ** 40) - 1, Number.MAX_SAFE_INTEGER, 0]) {
          database.prepare("insert into t values(?)").run(n);
        }
        assertEquals(database.prepare("select n from t order by rowid").all().map((row) => row["n"]), [
          2 ** 41,
          1_700_000_000_123,
          -(2 ** 40) - 1,
          Number.MAX_SAFE_INTEGER,
          0,
        ]);
      }));

    it("reads times kept as REAL whole", () =>
      withDatabase((database) => {
        database.exec("create table t(at real not null) strict");
        database.prepare("insert into t values(?)").run(1_790_000_000_123);
        assertEquals(
          database.prepare("select at from t where at = ?").get(1_790_000_000_123)?.["at"],
          1_790_000_000_123,
        );
      }));

    it("leaves text that looks like JSON as it is", () =>
      withDatabase((database) => {
        database.exec("create table t(a text, b text) strict");
        database.prepare("insert into t values(?, ?)").run('{"calls":1}', "[1, 2]");
        const row = database.prepare("select a, b, json_array(1, 2) as c from t").get();
        assertEquals({ ...row }, { a: '{"calls":1}', b: "[1, 2]", c: "[1,2]" });
      }));

    it("keeps text of any language, and the empty text", () =>
      withDatabase((database) => {
        const texts = ["", "a", "日本語 🙂 é", "line\nbreak", "x".repeat(100_000)];
        database.exec("create table t(a text not null) strict");
        for (const text of texts) database.prepare("insert into t values(?)").run(text);
        assertEquals(database.prepare("select a from t order by rowid").all().map((row) => row["a"]), texts);
      }));

    it("keeps null", () =>
      withDatabase((database) => {
        database.exec("create table t(a text)");
        database.prepare("insert into t values(?)").run(null);
        assertEquals(database.prepare("select a from t").get()?.["a"], null);
      }));

    it("gives nothing for a row that is not there, and no rows for none", () =>
      withDatabase((database) => {
        database.exec("create table t(a text)");
        assertEquals(database.prepare("select a from t").get() ?? undefined, undefined);
        assertEquals(database.prepare("select a from t where a = ?").get("x") ?? undefined, undefined);
        assertEquals([...database.prepare("select a from t").all()], []);
      }));

    it("enforces the types of a strict table", () =>
      withDatabase((database) => {
        database.exec("create table t(n integer) strict");
        assertThrows(() => database.prepare("insert into t values(?)").run("ten"), Error, "cannot store");
      }));

    it("returns a row from a statement that writes", () =>
      withDatabase((database) => {
        database.exec("create table t(id integer primary key autoincrement, a text) strict; begin immediate");
        const insert = database.prepare("insert into t(a) values(?) returning id");
        assertEquals([insert.get("a")?.["id"], insert.get("b")?.["id"]], [1, 2]);
        assertEquals(database.prepare("delete from t where a = ? returning 1 as gone").get("a")?.["gone"], 1);
        assertEquals(
          database.prepare("delete from t where a = ? returning 1 as gone").get("a") ?? undefined,
          undefined,
        );
        database.exec("commit");
        assertEquals(database.prepare("select a from t").all().map((row) => row["a"]), ["b"]);
      }));

    it("reads the pragmas that say whose a database is", () =>
      withDatabase((database) => {
        database.exec("pragma application_id = 1465453899; pragma user_version = 7");
        const row = database.prepare(
          "select (select application_id from pragma_application_id) as a, (select user_version from pragma_user_version) as v",
        ).get();
        assertEquals({ ...row }, { a: 1465453899, v: 7 });
      }));

    it("rolls a transaction back whole", () =>
      withDatabase((database) => {
        database.exec("create table t(a text); begin immediate");
        database.prepare("insert into t values('x')").run();
        database.exec("rollback");
        assertEquals(database.prepare("select count(*) as n from t").get()?.["n"], 0);
      }));

    it("uses a prepared statement over and over, after an error too", () =>
      withDatabase((database) => {
        database.exec("create table t(a text unique not null) strict");
        const insert = database.prepare("insert into t values(?)");
        insert.run("x");
        assertThrows(() => insert.run("x"), Error, "constraint failed");
        insert.run("y");
        assertEquals(database.prepare("select count(*) as n from t").get()?.["n"], 2);
      }));

    it("says in words that another connection has the write lock", () =>
      withDatabase((database, file, driver) => {
        database.exec("pragma journal_mode = wal; create table t(a text); begin immediate");
        const other = driver.open(file);
        try {
          assertEquals(other.prepare("select count(*) as n from t").get()?.["n"], 0); // readers are not kept out
          const error = assertThrows(() => other.exec("begin immediate"), Error);
          assertMatch(error.message, /database is locked/);
        } finally {
          other.close();
        }
      }));

    it("waits as long as busy_timeout says", () =>
      withDatabase((database, file, driver) => {
        database.exec("pragma journal_mode = wal; begin immediate");
        const other = driver.open(file);
        try {
          other.exec("pragma busy_timeout = 120");
          const start = performance.now();
          assertThrows(() => other.exec("begin immediate"), Error, "locked");
          assert(performance.now() - start > 60, "it did not wait");
        } finally {
          other.close();
        }
      }));

    it("says in words that a file is not a database, or that a table is not there", () =>
      withDatabase((database, file, driver) => {
        assertThrows(() => database.prepare("select * from missing"), Error, "no such table");
        writeFileSync(`${file}.txt`, "not a database, but long enough to have a header ".repeat(40));
        const other = driver.open(`${file}.txt`);
        try {
          assertThrows(() => other.prepare("select * from sqlite_master").all(), Error, "file is not a database");
        } finally {
          other.close();
        }
      }));

    it("keeps what was committed for the next to open the file, and leaves nothing beside it", () =>
      withDatabase((database, file, driver) => {
        database.exec("pragma journal_mode = wal; create table t(a text)");
        database.prepare("insert into t values(?)").run("kept");
        database.close();
        database.close(); // a second time does nothing
        if (closesAtOnce) assertEquals(readdirSync(dirname(file)), ["a.db"]);
        for (let round = 0; round < 3; round++) {
          const again = driver.open(file);
          assertEquals(again.prepare("select a from t").get()?.["a"], "kept");
          again.close();
        }
      }));

    it("opens a file by address for reading alone; the oldest supported ones refuse, and make no file of that name", () =>
      withDatabase((database, file, driver) => {
        database.exec("pragma journal_mode = wal; create table t(a text); insert into t values('x')");
        database.close();
        let still: SqliteDatabase;
        try {
          still = driver.open(`file:${file}?immutable=1`);
        } catch (error) {
          assertMatch((error as Error).message, /unable to open database file/);
          assertEquals(existsSync("file:"), false);
          return;
        }
        try {
          assertEquals(still.prepare("select a from t").get()?.["a"], "x");
          assertThrows(() => still.exec("insert into t values('y')"), Error, "readonly");
        } finally {
          still.close();
        }
      }));

    it("throws in words when the folder is not there", async () => {
      const driver = await load();
      await inFolder((folder) => {
        const error = assertThrows(() => driver.open(`${folder}/none/a.db`).exec("select 1"), Error);
        assertMatch(error.message, /unable to open database file|14/);
      });
    });
  });
}
