/** Loads the driver in a process of its own and prints what came of it. */

import process from "node:process";
import { dbSqlite } from "../../src/drivers/db_sqlite.ts";

const start = performance.now();
const message = await dbSqlite(JSON.parse(process.argv[2]!)).then(({ name }) => name, (error: Error) => error.message);
console.log(JSON.stringify({ message, ms: performance.now() - start }));
