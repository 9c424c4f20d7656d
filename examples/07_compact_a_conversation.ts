/**
 * Keeps a long conversation within a budget: when it nears that, the oldest messages become one summary. The summary is asked
 * for in both ways, by a call of its own and by a fork: the last request once more with one message after it, so that the
 * provider reads its prompt cache instead of being sent the old messages again. The cache here is a simulator: its figures
 * follow the published rules and prices, and are no measurement.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type CallMode, type CompactionEvent, createCompactor, type HostMessage } from "@waymark/waymark/compaction";
import { promptCache, scriptedModel } from "@waymark/waymark/testing";

const model = "claude-sonnet-5",
  SUMMARY = "## Requests and decisions\nThe user has the steps done one by one; all so far are.";

/** A request as this host sends it: the last block of the last message is marked, so that the cache grows with it. */
function asRequest(view: HostMessage[]) {
  const { role, content } = view.at(-1)!;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content as HostMessage[];
  const marked = { ...blocks.at(-1), cache_control: { type: "ephemeral" } };
  return {
    model,
    max_tokens: 4_096,
    system: "You are a careful engineer.",
    tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
    messages: [...view.slice(0, -1), { role, content: [...blocks.slice(0, -1), marked] }],
  };
}

/** Sixty turns of an agent, its model left out. What is compacted, and what the summaries cost. */
async function converse(callMode: CallMode) {
  const cache = promptCache(), events: CompactionEvent[] = [], views: string[] = [];
  const usageOf = (body: HostMessage) => {
    const { input_tokens: input, cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite } = cache
      .send(body);
    return { input, cacheRead, cacheWrite, output: 40 };
  };
  const compactor = createCompactor({
    budget: 20_000,
    callMode,
    model: scriptedModel(() => SUMMARY, { name: model }),
    // Sends forks. `anthropicSender()` of `./providers/anthropic` does it for real.
    sender: { send: (request) => Promise.resolve({ text: SUMMARY, stopReason: "end", usage: usageOf(request) }) },
    onEvent: (event) => events.push(event),
  });
  for (let turn = 1; turn <= 60; turn++) {
    const id = `call_${turn}`, content = `export const step${turn} = true;\n`.repeat(60);
    compactor.append(
      { role: "user", content: `Do step ${turn}.` },
      { role: "assistant", content: [{ type: "tool_use", id, name: "read", input: { path: `src/step${turn}.ts` } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
    );
    const view = compactor.view(), request = asRequest(view);
    const usage = usageOf(request); // here the host sends it
    compactor.noteRequestSent(request); // only forks need it
    compactor.noteUsage(usage);
    views.push(JSON.stringify(view));
    compactor.append({ role: "assistant", content: [{ type: "text", text: `Step ${turn} is done.` }] });
    await compactor.settled(); // never needed: a view takes a summary that is ready, and does without one that is not
  }
  assertEquals(compactor.history().length, 240); // nothing of the history is ever edited
  const calls = events.flatMap(({ what, call }) => what === "made" && call ? [call] : []);
  return { calls, views, stats: compactor.stats() };
}

const [standalone, fork, auto] = [await converse("standalone"), await converse("fork"), await converse("auto")];

// Every compaction made the same views, whatever the call: the mode never decides what is summarized.
assert(standalone.calls.length >= 2);
assertEquals(fork.views, standalone.views);
assertEquals([standalone.stats.standalone, fork.stats.forks], [standalone.calls.length, fork.calls.length]);
assertStringIncludes(fork.views.at(-1)!, "all so far are");

// `auto` takes the cheaper one each time: here, with one model for both, that is the fork.
assertEquals(auto.stats.forks, auto.calls.length);

// A fork read all that was cached of the request before it, and wrote nothing.
for (const { usage, missed } of fork.calls) assertEquals([missed, usage.cacheWrite], [undefined, 0]);

// What the summaries' input cost, in plain input tokens, at a tenth for what is read from the cache.
for (const [name, { calls, stats }] of Object.entries({ standalone, fork, auto })) {
  const cost = calls.reduce((sum, { usage }) => sum + usage.input + 0.1 * usage.cacheRead, 0);
  const [first] = calls, read = first!.usage.cacheRead, plain = first!.usage.input;
  console.log(
    `${name}: ${calls.length} summaries, ${stats.forks} by a fork; the first read ${read} tokens from the cache`,
  );
  console.log(`  and ${plain} plain; all cost as much as ${Math.round(cost)} plain input tokens (simulated)`);
}
