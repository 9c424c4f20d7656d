/**
 * Has a cheap model make a digest of every large tool result, beside the run. When a result has to leave the conversation its
 * digest stands in for it, in this process or in a later one that reads the session's ledger. The model here is scripted; for
 * Claude give `anthropic({ model: "claude-haiku-5-5" })` of `./providers/anthropic`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { scriptedModel } from "@waymark/waymark/testing";
import { loadSummaries, substituteSummaries, toolUseSummary, upgradePlaceholders } from "@waymark/waymark/tool-use";

const project = await mkdtemp(join(tmpdir(), "waymark-example-")), session = "session-1";
const model = scriptedModel([
  "3 of 500 tests failed, the first in tests/a.ts line 12.",
  "240 files, 12 of them tests.",
]);

/** The agent's own tools. What stands beside the arguments is the host's: here the id of the tool call. */
const bash = (_: { command: string }, __: { toolCallId: string }) =>
  Promise.resolve("FAIL tests/a.ts:12: expected 4, got 5\n".repeat(500));

// `topLevel: true`: these are the main agent's results. Unknown would mean a sub-agent's, of which no digests are made.
const digests = toolUseSummary({ model, session, root: project, topLevel: true });
const watched = digests.wrap(bash, { name: "bash" });

// The result comes at once and is the very same; the model is asked later.
const result = await watched({ command: "npm test" }, { toolCallId: "call_1" });
assertEquals([result.length, model.calls.length], [19_000, 0]);

// Hosts with hooks say what was accepted. Small results, and those of files with secrets, get no digest.
digests.accept({ callId: "call_2", tool: "glob", result: { files: Array(240).fill("src/one_of_the_files.ts") } });
digests.accept({ callId: "call_3", tool: "bash", result: "done" });
digests.accept({ callId: "call_4", tool: "read", result: "KEY=1\n".repeat(1_000), args: { path: ".env" } });
await digests.settled();
const { made, skipped } = digests.stats();
assertEquals({ made, skipped }, { made: 2, skipped: { small: 1, secret: 1 } });

// Later the host has cleared two results away. The one with a digest says what was there, the other stays as it is.
const cleared = "[Old tool result content cleared]";
const messages = ["call_1", "call_3"].map((tool_call_id) => ({ role: "tool", tool_call_id, content: cleared }));
const upgraded = digests.upgrade(messages);
console.log(upgraded[0]!.content);
assertStringIncludes(upgraded[0]!.content, "the first in tests/a.ts line 12.");
assert(upgraded[1] === messages[1]);
assert(digests.upgrade(upgraded) === upgraded); // a second pass changes nothing
await digests.close();

// Another process, when the session is over: the ledger has the digests. A compaction takes them in place of the output.
const kept = await loadSummaries(project, session);
const input = substituteSummaries([{ role: "tool", tool_call_id: "call_1", content: result }], kept);
assertEquals(input[0]!.content, upgraded[0]!.content);
assert(upgradePlaceholders(messages, new Map()) === messages); // without digests: the very same messages
console.log(`${kept.size} digests kept; ${result.length} characters became ${input[0]!.content.length}`);

// `when: "pressure"`: nothing is spent before the window fills up, and then only on what is still in the conversation.
const late = toolUseSummary({ model: scriptedModel(["A digest."]), session: "2", topLevel: true, when: "pressure" });
for (const callId of ["old", "new"]) late.accept({ callId, tool: "bash", result });
await late.settled();
assertEquals([late.relieve({ share: 0.4 }), late.relieve({ share: 0.7, inContext: ["new"] })], [0, 1]);
await late.settled();
assertEquals([...late.summaries().keys()], ["new"]);
console.log(`under pressure: ${late.stats().modelCalls} call for 2 results`);
await late.close();
await rm(project, { recursive: true });
