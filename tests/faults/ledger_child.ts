/**
 * A process that writes to a ledger, for tests in which several do. Prints lines, the last of them its result as JSON.
 *
 * @module
 */

import process from "node:process";
import { appendLine } from "../../src/tool_use/append_line.ts";
import { openLedger } from "../../src/tool_use/ledger.ts";
import { ledgerPath } from "../../src/tool_use/ledger_path.ts";
import type { DigestRow } from "../../src/tool_use/types.ts";

/** What the process is to do. */
export interface LedgerJob {
  readonly root: string;
  readonly session: string;
  /** A name for its rows. */
  readonly name: string;
  /** How many rows it writes; without end where that is not said. */
  readonly count?: number;
  /** Start at this moment, milliseconds since the epoch. */
  readonly at?: number;
  /** Prints the number of every row that was kept. */
  readonly tells?: boolean;
  /** Rests so many milliseconds after each row. */
  readonly rests?: number;
  /** Takes places for calls instead. */
  readonly takes?: boolean;
  /** Is in the middle of one write all the time: a line of 32 MB, at once. */
  readonly writes?: boolean;
}

/** What it says in the end. */
export interface LedgerReport {
  readonly errors: number;
  readonly said: readonly string[];
  /** Places it took. */
  readonly taken?: number;
}

/** The row a process writes: all of its text follows from its id, so that a torn or mixed one shows. */
export function taggedRow(name: string, at: number): DigestRow {
  const length = at % 10 === 3 ? 300_000 : 20 + (at * 37) % 3_000;
  return {
    callId: `${name}-${at}`,
    tool: "bash",
    resultBytes: length,
    status: "ok",
    summary: `${name}-${at}ö `.repeat(Math.ceil(length / (name.length + 6))).slice(0, length),
    durationMs: at,
    at,
  };
}

/** Whether a row is whole: just as its process wrote it. */
export function isWholeRow(row: DigestRow): boolean {
  const [, name = "", at = ""] = /^(.*)-(\d+)$/.exec(row.callId) ?? [];
  return JSON.stringify(row) === JSON.stringify(taggedRow(name, Number(at)));
}

/** Appends a line that takes a while. */
async function write({ root, session }: LedgerJob): Promise<void> {
  const path = await ledgerPath(root, session), line = new Uint8Array(32 << 20).fill(120);
  line[line.length - 1] = 10;
  console.log("writing");
  await appendLine(path, line);
  console.log("written");
  await new Promise((resolve) => setTimeout(resolve, 60_000)); // to be killed at the latest now
}

async function main(job: LedgerJob): Promise<void> {
  const { root, session, name, count = Infinity, at = 0, tells = false, rests = 0, takes = false } = job;
  const said: string[] = [];
  if (job.writes) return await write(job);
  const ledger = openLedger({ root, session, retentionDays: 7, onError: ({ message }) => said.push(message) });
  if (at > Date.now()) await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
  let taken = 0;
  for (let index = 0; takes && index < count; index++) if (await ledger.take() !== undefined) taken++;
  for (let index = 0; !takes && index < count; index++) {
    ledger.append(taggedRow(name, index));
    if (!tells && index % 5) continue; // a few at a time, so that the processes take turns
    await ledger.settled();
    if (tells) console.log(index);
    if (rests) await new Promise((resolve) => setTimeout(resolve, rests));
  }
  await ledger.settled();
  const report: LedgerReport = { errors: ledger.errors, said, ...takes && { taken } };
  console.log(JSON.stringify(report));
}

if (/ledger_child\.ts$/.test(process.argv[1] ?? "")) await main(JSON.parse(process.argv[2]!));
