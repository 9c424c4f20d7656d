/**
 * A process that leaves while a digest is under way, for the test that nothing holds it. Prints what became of it as JSON.
 *
 * @module
 */

import { existsSync } from "node:fs";
import process from "node:process";
import { anthropic } from "../../src/providers/anthropic.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import { output } from "../tool_use/support.ts";

/** What the process is to do. */
export interface Job {
  readonly url: string;
  readonly key: string;
  readonly root: string;
}

const job: Job = JSON.parse(process.argv.at(-1)!);
const digests = toolUseSummary({
  model: anthropic({ apiKey: job.key, baseURL: job.url }),
  session: "leaving",
  root: job.root,
  topLevel: true,
  timeoutMs: 3_600_000,
});
digests.accept({ callId: "c1", tool: "bash", result: output() });
digests.accept({ callId: "c2", tool: "bash", result: "small" });
// The test says when the request is there.
while (!existsSync(`${job.root}/asked`)) await new Promise((resolve) => setTimeout(resolve, 5));
await digests.close();
console.log(JSON.stringify({ rows: digests.summaries().size, underWay: digests.stats().underWay }));
