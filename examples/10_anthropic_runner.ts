/**
 * The Anthropic SDK's own tool runner and its own read tool, guarded. The model is a script here, so that it runs without a
 * key; everything else is the real thing: the runner reads the file, and what is printed is what the model would be sent.
 */

import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { betaReadTool } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession, createWaymark } from "@waymark/waymark";
import { anthropicSummarizeFile, anthropicTools, followRunner } from "@waymark/waymark/adapters/anthropic";

const workdir = await realpath(await mkdtemp(join(tmpdir(), "waymark-example-")));
const routes = Array.from({ length: 400 }, (_, index) => `export function route${index}() { return "/${index}"; }\n`);
await writeFile(join(workdir, "routes.ts"), routes.join(""));

// In your own program these lines are all there is to it.
const session = createSession(), waymark = createWaymark({ root: workdir, roots: [workdir], session });
const tools = anthropicTools([betaReadTool({ workdir }), anthropicSummarizeFile(waymark, { workdir })], waymark, {
  workdir,
});
const runner = scriptedClient().beta.messages.toolRunner({
  model: "claude-opus-5-5",
  max_tokens: 1024,
  messages: [{ role: "user", content: "What are the last routes?" }],
  tools,
  thread: false, // so that each request is seen whole below; a message thread of the server's works as well
});
const reply = await followRunner(runner, { session });

// A read of the whole file became 200 lines and the map of all 400.
const read = shown("toolu_1");
assertStringIncludes(read, 'route199() { return "/199"; }\n\n[waymark map: PARTIAL, lines 1-200 of 400 are shown');
assertStringIncludes(read, "Next lines: view_range: [201, 400]");
console.log("a long read:", read.split("\n").find((line) => line.startsWith("[waymark")));

// A range is given as it is. Asked for again, it is in the conversation already, and one line says so.
assertEquals(shown("toolu_2"), routes.slice(389).join("").trimEnd());
assertMatch(shown("toolu_3"), /^\[waymark reference: routes\.ts lines 390-400 of 400 .* turn 2, shown then\]$/);
console.log("a repeated one:", shown("toolu_3"));

// The tool for the model: here from the map that the first read made.
assertStringIncludes(shown("toolu_4"), "line 395 is in 395-395");
console.log("summarize_file:", shown("toolu_4"));

// What the tool refuses, it refuses in its own words.
assertEquals(shown("toolu_5"), 'path "../elsewhere.ts" is outside the session\'s working directory');
assertEquals([session.turn, reply.stop_reason, waymark.stats().references], [4, "end_turn", 1]);
await waymark.close();
await rm(workdir, { recursive: true });

/** A client whose model makes these calls, one reply after the other, and then is done. */
function scriptedClient(): Anthropic {
  const call = (id: string, name: string, input: object) => ({ type: "tool_use", id, name, input });
  const range = { file_path: "routes.ts", view_range: [390, 400] };
  const replies = [
    [call("toolu_1", "read", { file_path: "routes.ts" })],
    [call("toolu_2", "read", range)],
    [
      call("toolu_3", "read", range),
      call("toolu_4", "summarize_file", { path: "routes.ts", action: "lookup", line: 395 }),
      call("toolu_5", "read", { file_path: "../elsewhere.ts" }),
    ],
  ];
  let asked = 0;
  const answer = () => {
    const content = replies[asked++] ?? [{ type: "text", text: "They go up to /399." }];
    const stop_reason = asked > replies.length ? "end_turn" : "tool_use", usage = { input_tokens: 9, output_tokens: 9 };
    return {
      id: `msg_${asked}`,
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content,
      stop_reason,
      usage,
    };
  };
  return new Anthropic({ apiKey: "none", fetch: () => Promise.resolve(Response.json(answer())) });
}

/** What the model is shown of a call. */
function shown(id: string): string {
  const blocks = runner.params.messages.flatMap(({ content }) => Array.isArray(content) ? content : []);
  const result = blocks.find((block) => block?.type === "tool_result" && block.tool_use_id === id);
  return result?.type === "tool_result" ? String(result.content) : "";
}
