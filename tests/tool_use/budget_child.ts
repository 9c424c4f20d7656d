/**
 * A process that digests results of a session that other processes digest too. Prints "ready", then its sums as JSON.
 *
 * @module
 */

import { existsSync } from "node:fs";
import process from "node:process";
import { anthropic } from "../../src/providers/anthropic.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import { output } from "./support.ts";

/** What the process is to do. */
export interface BudgetJob {
  readonly root: string;
  readonly apiKey: string;
  readonly baseURL: string;
  /** A name for its calls. */
  readonly name: string;
  /** How many results it gives. */
  readonly results: number;
  readonly budget: number;
  /** How long a call may take. Default 30,000. */
  readonly timeoutMs?: number;
  /** Start when this file is there. Default: at once. */
  readonly go?: string;
}

/** What it says in the end. */
export interface BudgetReport {
  readonly made: number;
  readonly failed: number;
  readonly modelCalls: number;
  readonly budget: number;
  readonly ledgerErrors: number;
}

async function main(job: BudgetJob): Promise<void> {
  const { root, apiKey, baseURL, name, results, budget, timeoutMs = 30_000, go } = job;
  const digests = toolUseSummary({
    model: anthropic({ apiKey, baseURL }),
    session: "s",
    root,
    topLevel: true,
    timeoutMs,
    maxCallsPerSession: budget,
  });
  digests.accept({ callId: `${name}-small`, tool: "bash", result: "opens the ledger" });
  await digests.settled();
  console.log("ready");
  while (go !== undefined && !existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 2));
  for (let index = 0; index < results; index++) {
    digests.accept({ callId: `${name}-${index}`, tool: "bash", result: output() });
  }
  await digests.settled();
  const { made, failed, modelCalls, skipped, ledgerErrors } = digests.stats();
  await digests.close();
  const report: BudgetReport = { made, failed, modelCalls, budget: skipped.budget ?? 0, ledgerErrors };
  console.log(JSON.stringify(report));
}

if (/budget_child\.ts$/.test(process.argv[1] ?? "")) await main(JSON.parse(process.argv[2]!));
