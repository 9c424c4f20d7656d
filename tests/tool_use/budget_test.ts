/** Many processes of one session, alive at once, and one budget of calls. */

import { assert, assertEquals } from "@std/assert";
import { describe, it } from "node:test";
import { loadSession, readLedger } from "../../src/tool_use/load.ts";
import { type Program, runtimeAt, start } from "../faults/processes.ts";
import { apiError, message, type MessagesApi, type Reply, startMessagesApi } from "../messages_api.ts";
import { inFolder, put } from "../support.ts";
import type { BudgetJob, BudgetReport } from "./budget_child.ts";

const PROCESSES = 8, BUDGET = 13, RESULTS = 12;

/** Eight processes that have all looked at the ledger before any of them makes a call. */
async function processes(root: string, api: MessagesApi, more: Partial<BudgetJob> = {}): Promise<Program[]> {
  const access = { apiKey: api.key, baseURL: api.url }, go = `${root}/go`;
  const job = { root, ...access, results: RESULTS, budget: BUDGET, go, ...more };
  const programs = Array.from(
    { length: PROCESSES },
    (_, index) =>
      start(runtimeAt(index), "tests/tool_use/budget_child.ts", { ...job, name: `p${index}` } satisfies BudgetJob),
  );
  for (const program of programs) assertEquals(await program.line(), "ready");
  put(root, "go", "");
  return programs;
}

/** Kills a program; whether it was there to be killed: one that had no call to make may have ended. */
function isKilled(program: Program): boolean {
  try {
    program.signal("SIGKILL");
    return true;
  } catch {
    return false;
  }
}

describe("eight processes of one session at once", { timeout: 180_000 }, () => {
  for (
    const [what, replies] of [
      ["all of them answered", () => message("A digest.")],
      [
        "every other one failing",
        (_: unknown, index: number) => index % 2 ? message("A digest.") : apiError(529, "x", "no"),
      ],
    ] as const
  ) {
    it(`make as many requests as the budget of one, not one more and not one less, ${what}`, () =>
      inFolder(async (root) => {
        const api = await startMessagesApi({ replies: replies as (request: unknown, index: number) => Reply });
        try {
          const programs = await processes(root, api);
          const reports = await Promise.all(programs.map((program) => program.result<BudgetReport>()));
          assertEquals(api.requests.length, BUDGET, "what the API saw");
          const sum = (name: keyof BudgetReport): number => reports.reduce((sum, report) => sum + report[name], 0);
          assertEquals([sum("modelCalls"), sum("made") + sum("failed")], [BUDGET, BUDGET]);
          assertEquals([sum("budget"), sum("ledgerErrors")], [PROCESSES * RESULTS - BUDGET, 0]);
          assert(reports.filter(({ modelCalls }) => modelCalls > 0).length > 1, "several of them made some");

          const rows = await Array.fromAsync(readLedger(root, "s"));
          assertEquals(rows.filter((row) => row?.skipReason === "budget").length, sum("budget"));
          assertEquals(rows.includes(undefined), false, "no line of the ledger is anything but a row");
          const { summaries, failed } = await loadSession(root, "s");
          assertEquals(summaries.size + failed, BUDGET);
        } finally {
          await api.close();
        }
      }));
  }

  it("make no more when some of them are killed, and a ninth begun afterwards makes none", () =>
    inFolder(async (root) => {
      const api = await startMessagesApi({ replies: [{ kind: "hang" }] }); // so that nobody is done before it is killed
      try {
        const programs = await processes(root, api, { timeoutMs: 3_000 }), killed: Program[] = [];
        while (api.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 2));
        for (const program of programs) if (killed.length < 2 && isKilled(program)) killed.push(program);
        assertEquals(killed.length, 2);
        await Promise.all(programs.map(({ ended }) => ended));
        const { length } = api.requests;
        assert(
          length <= BUDGET && length > BUDGET - 9,
          `${length} requests: each place that a kill left unused is one less`,
        );
        const job = { root, apiKey: api.key, baseURL: api.url, name: "late", results: 2, budget: BUDGET };
        const late = start(runtimeAt(1), "tests/tool_use/budget_child.ts", job);
        assertEquals((await late.result<BudgetReport>()).modelCalls, 0);
        assertEquals(api.requests.length, length);
      } finally {
        await api.close();
      }
    }));
});
