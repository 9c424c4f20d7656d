import { describe, it } from "node:test";
import { dbSqlite } from "../../src/drivers/db_sqlite.ts";
import { testSqliteDriver } from "../contracts/sqlite.ts";

if ("Deno" in globalThis) testSqliteDriver("@db/sqlite", dbSqlite);
