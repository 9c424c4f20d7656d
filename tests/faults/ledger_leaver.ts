/**
 * A process that gives rows to a ledger and is done at once.
 *
 * @module
 */

import process from "node:process";
import { openLedger } from "../../src/tool_use/ledger.ts";
import { taggedRow } from "./ledger_child.ts";

const { root, session } = JSON.parse(process.argv[2]!) as { root: string; session: string };
const ledger = openLedger({ root, session, retentionDays: 7 });
for (let index = 0; index < 20; index++) ledger.append(taggedRow("x", index));
console.log(JSON.stringify("done"));
