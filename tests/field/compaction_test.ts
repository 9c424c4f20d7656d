/**
 * What compaction met elsewhere, over real HTTP by the real SDK: forks that are answered by tool calls, forks that share
 * nothing with what was sent, cuts between a call and its result, and summaries that are none.
 */

import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { createCompactor } from "../../src/compaction.ts";
import type { HostMessage } from "../../src/compaction/types.ts";
import { anthropicSender } from "../../src/providers/anthropic.ts";
import { scriptedModel } from "../../src/testing.ts";
import { MODEL, type Run, runAgent, type RunOptions, tasks, TOOLS } from "../compaction/agent.ts";
import { faults } from "../compaction/histories.ts";
import { apiError, message, type ReceivedRequest, type Reply, startMessagesApi } from "../messages_api.ts";
import { LIMIT } from "./field.ts";

const textOf = ({ raw }: ReceivedRequest): string => new TextDecoder().decode(raw);
const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
const messagesOf = ({ body }: ReceivedRequest): HostMessage[] => body!.messages as HostMessage[];

const call = { type: "tool_use", id: "toolu_fork", name: "read", input: { path: "src/deploy.sh" } };
const thinking = { type: "thinking", thinking: "I should look first.", signature: "c2ln" };
const text = (text: string) => ({ type: "text", text, citations: null });

/** Answers that are no summary, whoever asked. */
const NO_SUMMARY: readonly (readonly [what: string, reply: () => Reply])[] = [
  ["empty content", () => message([])],
  ["an empty text", () => message("")],
  ["white space", () => message(" \n\t ")],
  ["reasoning alone", () => message([thinking])],
  ["reasoning that ate the budget", () => message([thinking], "max_tokens")],
  ["null", () => message("", "end_turn", { content: null })],
  ["no content at all", () => message("", "end_turn", { content: undefined })],
  ["a text of hidden characters", () => message("\u200b\u2060\ufeff")],
  ["reasoning in tags, never closed", () => message("<think>First I")],
  ["an error as text", () => message('{"error": "overloaded"}')],
  ["a polite refusal", () => message("I'm sorry, but I can't help with summarizing this.")],
  ["a stop for refusal", () => message("No.", "refusal")],
  ["a page of a proxy", () => ({ kind: "page", status: 200, html: "<html>Please log in</html>" })],
  ["half an answer", () => ({ kind: "drop" })],
  ["too many requests", () => apiError(429, "rate_limit_error", "slow down", { "retry-after": "30" })],
  ["a request that is too long", () => apiError(400, "invalid_request_error", "prompt is too long")],
];

/** Answers of a fork that go on with the work. */
const TOOL_CALLS: readonly (readonly [what: string, reply: () => Reply])[] = [
  ["a tool call alone", () => message([call], "tool_use")],
  ["a text and a tool call", () => message([text("## Files\nI look once more."), call], "tool_use")],
  ["a tool call with another stop reason", () => message([call], "end_turn")],
  ["reasoning alone", () => message([thinking])],
];

/** What every run must keep, whatever became of its summaries. */
function assertWhole({ requests, compactor, usages }: Run): void {
  assertEquals(requests.length, usages.length, "the API took every request");
  for (const request of requests) {
    const history = compactor.history().slice(0, -1), view = messagesOf(request);
    assertEquals(faults(view, history), []);
  }
}

describe("a fork that is answered by something else (F01)", LIMIT, () => {
  for (const [what, fork] of TOOL_CALLS) {
    it(`is not executed, and the summary is made standalone: ${what}`, async () => {
      const run = await runAgent({ compaction: { callMode: "fork" }, fork });
      const { forks, fallbacks, standalone, swapped, failed } = run.compactor.stats();
      assertGreater(run.forks.length, 1);
      assertEquals([forks, fallbacks, standalone, failed], [0, run.forks.length, run.standalone.length, 0]);
      assertGreater(swapped, 1);
      assertEquals(run.notices.map(({ reason }) => reason), ["fork-bad-answer"]);
      const { modeUsed, reason, usage } = run.compactor.lastCall!;
      assertEquals([modeUsed, reason, usage.calls], ["standalone", "bad-answer", 2]);
      assert(!run.requests.some((request) => textOf(request).includes("toolu_fork")), "nobody has run it");
      assertWhole(run);
    });

    it(`leaves the conversation as it was, where the standalone call fails too: ${what}`, async () => {
      const alone = (): Reply => apiError(529, "overloaded_error", "Overloaded");
      const run = await runAgent({ compaction: { callMode: "fork" }, fork, alone, tasks: tasks(5) });
      assertEquals([run.compactor.stats().swapped, run.compactor.stats().forks], [0, 0]);
      assertGreater(run.compactor.stats().failed, 0);
      assertEquals(run.compactor.lastCall!.modeUsed, "none");
      assert(!textOf(run.requests.at(-1)!).includes("[waymark summary"));
      assertWhole(run);
    });
  }
});

describe("the request of a fork (F03)", LIMIT, () => {
  /** Fields in an order that no one would guess, tools in theirs. */
  const fields = {
    metadata: { user_id: "u" },
    tools: [{ name: "z", input_schema: { type: "object", properties: { b: {}, a: {} } } }, ...TOOLS],
    stop_sequences: ["END"],
    system: 'S\u00e9 \u{1f98a} "quoted" \\u0041 \u2028',
    tool_choice: { disable_parallel_tool_use: true, type: "auto" },
  };

  it("begins with the very bytes of one that was sent: order of keys and of tools, and the system's text", async () => {
    const run = await runAgent({ compaction: { callMode: "fork" }, fields, notes: { ids: false } });
    assertGreater(run.forks.length, 1);
    const sent = new Set(run.requests.map((request) => hash(textOf(request))));
    for (const fork of run.forks) {
      const body = JSON.parse(textOf(fork)), { messages } = body as { messages: HostMessage[] };
      assert(sent.has(hash(JSON.stringify({ ...body, messages: messages.slice(0, -1) }))));
    }
    assertEquals(run.compactor.stats().missed, 0);
  });

  const changed: readonly (readonly [what: string, reason: string, options: RunOptions])[] = [
    ["requests are not noted", "never-noted", { notes: { requests: false } }],
    ["the summarizer is another model", "different-model", {
      compaction: { summarizationModel: scriptedModel(() => "## Files\nall", { name: "claude-haiku-4-5" }) },
    }],
    ["the cache has gone cold", "cache-cold", { before: ({ clock }) => clock.advance(400_000) }],
    ["an answer must follow a schema", "build-failed", {
      fields: { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
    }],
    ["there is nothing to send it by", "build-failed", { compaction: { sender: null } }],
  ];
  for (const [what, reason, options] of changed) {
    it(`is not sent where ${what}: the summary is made standalone, told once and counted`, async () => {
      const run = await runAgent({ ...options, compaction: { callMode: "fork", ...options.compaction } });
      const { fallbacks, forks, swapped } = run.compactor.stats();
      assertEquals([run.forks.length, forks], [0, 0]);
      assertGreater(swapped, 1);
      assertEquals(fallbacks, swapped);
      assertEquals(run.notices.map(({ reason }) => reason), [`fork-${reason}`]);
      assertEquals([run.compactor.lastCall!.modeUsed, run.compactor.lastCall!.reason], ["standalone", reason]);
      assertWhole(run);
    });
  }

  it("that shares nothing with what was really sent is found out by what the API reports", async () => {
    const run = await runAgent({
      compaction: {
        callMode: "fork",
        sender: (access) => {
          const sender = anthropicSender(access);
          return { send: (request, options) => sender.send({ ...request, system: "Another one." }, options) };
        },
      },
      notes: { ids: false },
    });
    const { forks, missed } = run.compactor.stats();
    assertGreater(missed, 1);
    assertEquals(missed, forks);
    assertEquals(run.notices.map(({ reason }) => reason), ["fork-missed"]);
  });
});

describe("a conversation that is cut (F05)", LIMIT, () => {
  /** One that an API takes: single and parallel calls, results in two messages, words beside a result, a call at its end. */
  const conversation = (): HostMessage[] => {
    const user = (...content: unknown[]): HostMessage => ({ role: "user", content });
    const assistant = (...content: unknown[]): HostMessage => ({ role: "assistant", content });
    const use = (id: string) => ({ type: "tool_use", id, name: "read", input: { path: `${id}.ts` } });
    const result = (id: string, words = 250) => ({
      type: "tool_result",
      tool_use_id: id,
      content: `${id} `.repeat(words),
    });
    return [
      user(text(`first ${"w ".repeat(300)}`)),
      assistant(text("I look at all three."), use("a"), use("b"), use("c")),
      user(result("a"), result("b"), result("c")),
      assistant(thinking, use("d")),
      user(result("d"), text("and mind the tests")),
      assistant(text("Now two at once."), use("e"), use("f")),
      user(result("e")),
      user(result("f")),
      assistant(use("g")),
      user(result("g", 900)),
      assistant(text("Found it.")),
      user(text(`second ${"w ".repeat(200)}`)),
      assistant(use("h")),
      user(result("h")),
      assistant(use("i"), use("j")),
      user(result("i", 20), result("j", 700)),
    ];
  };

  /** Sends a view as a host would, to an API that refuses orphans. */
  async function accepts(view: readonly HostMessage[], url: string): Promise<string> {
    const response = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2026-10-21", "x-api-key": "test-key" },
      body: JSON.stringify({ model: MODEL, max_tokens: 10, messages: view }),
    });
    const { error } = await response.json();
    return error?.message ?? "";
  }

  it("keeps every call with its results wherever the budget cuts it, in summaries, by the ladder, and after both", async () => {
    const models = { [MODEL]: { context: 200_000, output: 32_000 } };
    const api = await startMessagesApi({ models, replies: [message("Fine.")] });
    try {
      const said = conversation(), seen = new Set<string>();
      for (let budget = 500; budget <= 6_000; budget += 25) {
        for (const [fails, step] of [[false, 1], [true, 1], [false, 3]] as const) {
          const model = scriptedModel(() => fails ? new Error("529") : "## Files\na.ts to j.ts");
          const compactor = createCompactor({ budget, model, cooldownTurns: 0, minSpan: 0.05 });
          for (let at = 0; at < said.length; at += step) {
            compactor.append(...said.slice(at, at + step));
            const now = said.slice(0, at + step), view = compactor.view();
            assertEquals(faults(view, now), [], `budget ${budget}, message ${at}`);
            await compactor.settled();
          }
          const view = compactor.view();
          const { swapped, ladders } = compactor.stats();
          seen.add(swapped && ladders ? "both" : swapped ? "summary" : ladders ? "ladder" : "whole");
          assertEquals(await accepts(view, api.url), "", `budget ${budget}`);
          assertEquals(compactor.history(), conversation());
        }
      }
      assertEquals([...seen].sort(), ["both", "ladder", "summary", "whole"]);
    } finally {
      await api.close();
    }
  });

  it("waits with calls of which only one is answered: none of them goes, nor does the one result", async () => {
    const said = conversation().slice(0, 7), model = scriptedModel(() => "Short.");
    const compactor = createCompactor({ budget: 1_700, model, cooldownTurns: 0 });
    compactor.append(...said);
    for (let turn = 0; turn < 3; turn++) {
      compactor.view();
      await compactor.settled();
    }
    const view = compactor.view();
    assertGreater(compactor.stats().swapped + compactor.stats().ladders, 0);
    assertEquals(view.slice(-2).map(({ role }) => role), ["assistant", "user"]);
    assertStringIncludes(JSON.stringify(view.at(-2)), '"id":"f"');
    compactor.append(...conversation().slice(7, 8));
    assertEquals(faults(compactor.view(), compactor.history()), []);
  });
});

describe("a summary that is none (F06)", LIMIT, () => {
  for (const callMode of ["standalone", "fork"] as const) {
    for (const [what, reply] of NO_SUMMARY) {
      it(`is never put in the place of anything: ${what} (${callMode})`, async () => {
        const run = await runAgent({
          compaction: { callMode, budget: 14_000 },
          tasks: tasks(4),
          fork: reply,
          alone: reply,
        });
        const { swapped, begun, failed, forks, standalone } = run.compactor.stats();
        assertEquals([swapped, forks, standalone], [0, 0, 0]);
        assertGreater(begun, 0);
        assertEquals(failed, begun);
        for (const request of run.requests) assert(!textOf(request).includes("[waymark summary"));
        const unmarked = JSON.stringify(messagesOf(run.requests.at(-1)!)).replaceAll(
          ',"cache_control":{"type":"ephemeral"}',
          "",
        );
        assertEquals(run.compactor.stats().ladders, 0);
        assertEquals(unmarked, JSON.stringify(run.compactor.history().slice(0, -1)), "the conversation is whole");
        assertWhole(run);
      });
    }
  }

  it("costs at most two requests each time, and three times in all", async () => {
    const reply = (): Reply => message("");
    const run = await runAgent({ compaction: { callMode: "fork" }, fork: reply, alone: reply, tasks: tasks(30) });
    assertEquals([run.forks.length, run.standalone.length], [3, 3]);
    assertEquals(run.notices.map(({ reason }) => reason).sort(), ["fork-bad-answer", "stopped"]);
    assertWhole(run);
  });
});
