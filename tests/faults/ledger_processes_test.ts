/** Many processes on one ledger, some of which are killed. */

import { assert, assertEquals } from "@std/assert";
import { readFileSync, statSync } from "node:fs";
import { describe, it } from "node:test";
import { loadSummaries, readLedger } from "../../src/tool_use/load.ts";
import type { DigestRow } from "../../src/tool_use/types.ts";
import { inFolder } from "../support.ts";
import { isWholeRow, type LedgerJob, type LedgerReport } from "./ledger_child.ts";
import { type Program, type Runtime, runtimeAt, runtimes, start } from "./processes.ts";

const child = "tests/faults/ledger_child.ts";
const fileOf = (root: string): string => `${root}/.summaries/tool-use/s.jsonl`;
const begin = (runtime: Runtime, job: Partial<LedgerJob> & Pick<LedgerJob, "root" | "name">) =>
  start(runtime, child, { session: "s", ...job });

/** What stands in a ledger: the rows that are whole, and how many lines are none. */
function contentOf(root: string): { rows: DigestRow[]; bad: string[] } {
  const bytes = readFileSync(fileOf(root)), rows: DigestRow[] = [], bad: string[] = [];
  for (let at = 0, end; at < bytes.length; at = end + 1) { // they may be more than one string has room for
    end = bytes.indexOf(10, at);
    if (end < 0) end = bytes.length;
    const line = bytes.toString("utf8", at, end);
    if (line === "") continue;
    try {
      const row = JSON.parse(line) as DigestRow;
      assert(isWholeRow(row), `${row.callId} is as it was written`);
      rows.push(row);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      bad.push(line);
    }
  }
  return { rows, bad };
}

/** The lines of a program that has ended, which nobody has read yet. */
async function told(program: Program): Promise<string[]> {
  const lines: string[] = [];
  try {
    for (;;) lines.push(await program.line());
  } catch {
    return lines;
  }
}

const duplicates = (rows: readonly DigestRow[]): number => rows.length - new Set(rows.map(({ callId }) => callId)).size;

describe("eight processes that write 500 rows each to one ledger", { timeout: 180_000 }, () => {
  it("lose none and weld none, rows of 300 KB among them", () =>
    inFolder(async (root) => {
      const at = Date.now() + 1_500;
      const programs = Array.from(
        { length: 8 },
        (_, index) => begin(runtimeAt(index), { root, name: `p${index}`, count: 500, at }),
      );
      for (const report of await Promise.all(programs.map((program) => program.result<LedgerReport>()))) {
        assertEquals(report, { errors: 0, said: [] });
      }
      const { rows, bad } = contentOf(root);
      assertEquals([bad.length, rows.length, duplicates(rows)], [0, 4_000, 0]);
      for (let index = 0; index < 8; index++) { // and each one's are in its order
        const own = rows.filter(({ callId }) => callId.startsWith(`p${index}-`)).map(({ at }) => at);
        assertEquals(own, Array.from({ length: 500 }, (_, at) => at));
      }
      assertEquals(statSync(fileOf(root)).mode & 0o777, 0o600);
      const loaded = await loadSummaries(root, "s");
      assertEquals(loaded.size, 4_000);
      for (const { summary } of loaded.values()) assert([...summary!].length <= 800);
    }));
});

describe("a process killed while it appends", { timeout: 180_000 }, () => {
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  for (const runtime of runtimes) {
    it(`leaves every row it had kept, and one torn line at most (${runtime.name}, beside a writer that goes on)`, () =>
      inFolder(async (root) => {
        const kept: string[] = [];
        const other = begin(runtimeAt(1), { root, name: "other", tells: true, rests: 3 });
        await other.line();
        for (let round = 0; round < 10; round++) {
          const name = `r${round}`, program = begin(runtime, { root, name, tells: true });
          kept.push(`${name}-${await program.line()}`);
          await pause((round * 7) % 17);
          program.signal("SIGKILL");
          await program.ended;
          kept.push(...(await told(program)).map((at) => `${name}-${at}`));
        }
        for (let round = 0; round < 3; round++) { // and in the middle of one long write
          const program = begin(runtime, { root, name: "long", writes: true });
          await program.line();
          await pause(round * 3);
          program.signal("SIGKILL");
          await program.ended;
        }
        other.signal("SIGKILL");
        await other.ended;
        kept.push(...(await told(other)).map((at) => `other-${at}`));
        const last = await begin(runtime, { root, name: "last", count: 20 }).result<LedgerReport>();
        assertEquals(last, { errors: 0, said: [] });

        const { rows, bad } = contentOf(root), ids = new Set(rows.map(({ callId }) => callId));
        assertEquals(kept.filter((id) => !ids.has(id)), []);
        assert(bad.length <= 14, `${bad.length} bad lines after fourteen kills`);
        for (const name of ["other", "last", ...Array.from({ length: 10 }, (_, round) => `r${round}`)]) { // no gap in any one's
          const own = rows.filter(({ callId }) => callId.startsWith(`${name}-`)).map(({ at }) => at);
          assertEquals(own, Array.from({ length: own.length }, (_, at) => at), name);
        }
        const read = await Array.fromAsync(readLedger(root, "s"));
        assertEquals(read.filter((row) => row !== undefined).length, rows.length);
        assertEquals(read.length - rows.length, bad.length);
      }));
  }
});

describe("a process that is done", () => {
  it("ends by itself, with its rows kept, though it never waited for them", () =>
    inFolder(async (root) => {
      for (const runtime of runtimes) {
        const program = start(runtime, "tests/faults/ledger_leaver.ts", { root, session: runtime.name });
        await program.result();
        assertEquals((await loadSummaries(root, runtime.name)).size, 20, runtime.name);
      }
    }));
});
