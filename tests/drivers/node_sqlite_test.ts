import { nodeSqlite } from "../../src/drivers/node_sqlite.ts";
import { testSqliteDriver } from "../contracts/sqlite.ts";

testSqliteDriver("node:sqlite", nodeSqlite);
