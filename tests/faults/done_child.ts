/**
 * A process that has had one of everything that waits for a model or a source, and closes nothing, for the test that what is
 * over holds no process, whatever clients leave behind. Prints what it got as JSON.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { type CallMode, createCompactor, type RequestSender } from "../../src/compaction.ts";
import { anthropic, anthropicSender } from "../../src/providers/anthropic.ts";
import { completionModel } from "../../src/providers/custom.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import { createWaymark } from "../../mod.ts";
import { plainTool } from "../support.ts";
import { output } from "../tool_use/support.ts";

/** What the process is to do. */
export interface Job {
  readonly url: string;
  readonly key: string;
  readonly root: string;
}

/** Far beyond the patience of whoever started this process. */
const timeoutMs = 3_600_000;

const { url, key, root }: Job = JSON.parse(process.argv.at(-1)!);

const access = { apiKey: key, baseURL: url }, claude = anthropic(access), claudeSender = anthropicSender(access);

/** As some clients do: what they add to a signal stays there. */
function listening<Asked extends { readonly signal: AbortSignal }>(asked: Asked): Asked {
  asked.signal.addEventListener("abort", () => {});
  return asked;
}
const model = completionModel({ name: claude.name, complete: (request) => claude.complete(listening(request)) });
const sender: RequestSender = { send: (request, options) => claudeSender.send(request, listening(options)) };

const source = { read: (path: string) => readFile(path) };
const waymark = createWaymark({ model, root, source, cache: false, limits: { timeoutMs } });
const text = await waymark.wrap(plainTool(root).read)({ path: `${root}/long.ts` });

const digests = toolUseSummary({ model, session: "done", root, topLevel: true, timeoutMs });
digests.accept({ callId: "c1", tool: "bash", result: output() });
await digests.settled();

async function compact(callMode: CallMode): Promise<number> {
  const compactor = createCompactor({ budget: 20_000, callMode, model, sender, timeoutMs });
  for (let turn = 1; turn <= 20; turn++) {
    compactor.append({ role: "user", content: `Do step ${turn}. ${"word ".repeat(1_500)}` });
    const messages = compactor.view(), cache_control = { type: "ephemeral" };
    compactor.noteRequestSent({
      model: model.name,
      max_tokens: 4_096,
      tools: [],
      system: "Be careful.",
      cache_control,
      messages,
    });
    compactor.append({ role: "assistant", content: "Done." });
    await compactor.settled();
  }
  const { forks, standalone } = compactor.stats();
  return callMode === "fork" ? forks : standalone;
}

console.log(JSON.stringify({
  mapped: text.includes("Summary: Adds small numbers."),
  digests: digests.summaries().size,
  compacted: [await compact("standalone") > 0, await compact("fork") > 0],
}));
