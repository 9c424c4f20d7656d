/**
 * Compaction on the wire: an agent at work over real HTTP, by the real SDK, against a simulated prompt cache. All figures are
 * the simulator's.
 */

import { assert, assertEquals, assertGreater, assertRejects, assertStringIncludes } from "@std/assert";
import { Anthropic } from "@anthropic-ai/sdk";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { createCompactor } from "../../src/compaction.ts";
import type { HostMessage } from "../../src/compaction/types.ts";
import { anthropicSender } from "../../src/providers/anthropic.ts";
import { message, type ReceivedRequest, type Reply, startMessagesApi } from "../messages_api.ts";
import { type Run, runAgent, tasks } from "./agent.ts";

const hash = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const textOf = ({ raw }: ReceivedRequest): string => new TextDecoder().decode(raw);
const HOUR = {
  type: "text",
  text: `You are a careful engineer. ${"You read before you write. ".repeat(200)}`,
  cache_control: { type: "ephemeral", ttl: "1h" },
};
const LIMIT = { timeout: 60_000 };

/** The body of a fork without its last message and without what asks for diagnostics, as JSON. */
function withoutLast(request: ReceivedRequest): { text: string; last: HostMessage } {
  const { diagnostics: _asked, ...body } = JSON.parse(textOf(request)) as {
    messages: HostMessage[];
    diagnostics?: unknown;
  };
  const last = body.messages.pop()!;
  return { text: JSON.stringify(body), last };
}

/** The request that was the agent's last before a fork. */
function parentOf(run: Run, fork: ReceivedRequest): ReceivedRequest {
  const { text } = withoutLast(fork), parent = run.requests.find((request) => hash(request.raw) === hash(text));
  assert(parent, "the fork begins with the bytes of a request that was sent");
  return parent;
}

/** Messages as a text in which a string and the one block of text that it means are the same. */
const canonical = (messages: unknown): string =>
  JSON.stringify((messages as HostMessage[]).map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  })));

const cached = ({ cache_read_input_tokens: read, cache_creation_input_tokens: write }: Run["usages"][number]): number =>
  (read ?? 0) + (write ?? 0);
const total = (usage: Run["usages"][number]): number => usage.input_tokens + cached(usage);

describe("a fork on the wire", LIMIT, () => {
  it("is a request that was sent and one message more, byte for byte", async () => {
    const run = await runAgent({ compaction: { callMode: "fork" }, notes: { ids: false } });
    assertGreater(run.forks.length, 1);
    for (const fork of run.forks) {
      parentOf(run, fork);
      const { text, last } = withoutLast(fork), raw = textOf(fork);
      assertEquals(raw.length, text.length + JSON.stringify(last).length + 1, "nothing else was added");
      assertEquals(last["role"], "user");
    }
  });

  it("asks for diagnostics besides, where the id of the answer before is known, and is told that nothing was missed", async () => {
    const run = await runAgent({ compaction: { callMode: "fork" } });
    const { length } = run.forks;
    assertGreater(length, 1);
    for (const fork of run.forks) {
      parentOf(run, fork);
      assertEquals(Object.keys(fork.body!["diagnostics"] as object), ["previous_message_id"]);
    }
    const { forks, missed, fallbacks } = run.compactor.stats();
    assertEquals({ forks, missed, fallbacks }, { forks: length, missed: 0, fallbacks: 0 });
    assertEquals(run.notices, []);
  });

  it("reads the whole cached prefix of its parent and writes nothing, in the simulated cache", async () => {
    const run = await runAgent({ compaction: { callMode: "fork" } });
    const calls = run.events.flatMap(({ what, call }) => what === "made" && call ? [call] : []);
    assertEquals(calls.length, run.forks.length);
    for (const [index, { usage, modeUsed, prefixMessages, prefixSource }] of calls.entries()) {
      const parent = parentOf(run, run.forks[index]!), sent = run.usages[run.requests.indexOf(parent)]!;
      assertEquals([usage.cacheRead, usage.cacheWrite, usage.calls], [cached(sent), 0, 1]);
      assertEquals(cached(sent), total(sent), "the parent's last block is marked");
      assert(usage.input < 1_500, `${usage.input} tokens are new: the instructions`);
      assertEquals([modeUsed, prefixSource], ["fork", "wire-record"]);
      assertEquals(prefixMessages, (parent.body!.messages as unknown[]).length);
    }
  });

  it("keeps what else is in the cache's key: system, tools, choice, thinking, effort", async () => {
    const fields = {
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      thinking: { type: "adaptive" },
      output_config: { effort: "low" },
      metadata: { user_id: "u1" },
    };
    const run = await runAgent({ compaction: { callMode: "fork" }, fields });
    assertGreater(run.forks.length, 0);
    for (const { body } of run.forks) {
      const { messages: _messages, diagnostics: _asked, ...rest } = body!,
        { messages: _own, ...own } = run.requests[0]!.body!;
      assertEquals(JSON.stringify(rest), JSON.stringify(own));
    }
    assertEquals(run.compactor.stats().missed, 0);
  });

  for (
    const [what, fields] of [
      ["streams where its parent did", { stream: true }],
      ["has the beta features of its parent, from the same endpoint", { betas: ["context-1m-2025-08-07"] }],
      ["is kept for an hour where its parent was", { system: [HOUR] }],
    ] as const
  ) {
    it(what, async () => {
      const run = await runAgent({ compaction: { callMode: "fork" }, fields });
      assertGreater(run.forks.length, 1);
      for (const fork of run.forks) {
        const parent = parentOf(run, fork);
        assertEquals([fork.path, fork.headers["anthropic-beta"]], [parent.path, parent.headers["anthropic-beta"]]);
      }
      assertEquals([run.compactor.stats().missed, run.compactor.stats().fallbacks], [0, 0]);
    });
  }

  for (
    const [what, ttl, system] of [
      ["five minutes", {}, undefined],
      ["an hour", { ttl: "1h" }, [HOUR]],
    ] as const
  ) {
    it(`of a request that is marked as a whole reads all of it and writes nothing: the mark stays on its last block (${what})`, async () => {
      const cache_control = { type: "ephemeral", ...ttl }, fields = { cache_control, ...(system ? { system } : {}) };
      const run = await runAgent({ compaction: { callMode: "fork" }, fields, marks: false });
      assertGreater(run.forks.length, 1);
      const calls = run.events.flatMap(({ what, call }) => what === "made" && call ? [call] : []);
      for (const [index, { usage }] of calls.entries()) {
        const { messages, cache_control: whole, diagnostics: _asked, ...rest } = run.forks[index]!.body!;
        const begun = (messages as HostMessage[]).slice(0, -1), last = begun.at(-1)!["content"] as HostMessage[];
        assertEquals([whole, last.at(-1)!["cache_control"]], [undefined, cache_control]);
        // But for that mark it is a request that was sent, and no other stands anywhere else in its messages.
        const bare = (list: unknown): string => JSON.stringify(list).replace(/,"cache_control":\{[^}]*\}/g, "");
        assertEquals(JSON.stringify(messages).split('"cache_control"').length, 2);
        const at = run.requests.findIndex(({ body }) =>
          canonical(body!.messages) === canonical(JSON.parse(bare(begun)))
        );
        const { messages: _messages, cache_control: _whole, ...parent } = run.requests[at]!.body!;
        assertEquals(JSON.stringify(rest), JSON.stringify(parent));
        assertEquals([usage.cacheRead, usage.cacheWrite], [total(run.usages[at]!), 0]);
        assert(usage.input < 1_500, `${usage.input}`);
      }
      assertEquals([run.compactor.stats().missed, run.compactor.stats().fallbacks, run.notices], [0, 0, []]);
    });
  }

  it("that misses is counted and said, with the reason the API states", async () => {
    const run = await runAgent({
      compaction: {
        callMode: "fork",
        // A host whose sender sends other tools than its agent.
        sender: (access) => {
          const sender = anthropicSender(access);
          return { send: (request, options) => sender.send({ ...request, tools: [] }, options) };
        },
      },
    });
    const { forks, missed } = run.compactor.stats();
    assertGreater(forks, 1);
    assertEquals(missed, forks);
    assertEquals(run.notices.map(({ reason }) => reason), ["fork-missed"]);
    assertStringIncludes(run.notices[0]!.message, "tools_changed");
    const calls = run.events.flatMap(({ what, call }) => what === "made" && call ? [call] : []);
    assert(calls.every(({ missed, cacheMiss }) => missed && cacheMiss === "tools_changed"));
  });
});

describe("the default on the wire", LIMIT, () => {
  /** All requests of a run, the random code of a standalone call taken out. */
  const sent = ({ api }: Run): string[] =>
    api.requests.map((request) => textOf(request).replaceAll(/conversation-[0-9a-f]{16}/g, "conversation"));

  it("sends the same bytes whether requests are noted, a sender is given, or neither", async () => {
    const armed = await runAgent(), notes = { requests: false, ids: false };
    const plain = await runAgent({ compaction: { sender: null }, notes });
    assertGreater(armed.standalone.length, 1);
    assertEquals(sent(armed).map(hash), sent(plain).map(hash));
    assertEquals(armed.compactor.stats(), plain.compactor.stats());
    assertEquals([armed.forks.length, armed.notices], [0, []]);
  });

  it("is two things, words for the system and one message of the user's, and no tools", async () => {
    const { standalone } = await runAgent();
    for (const { body } of standalone) {
      assertEquals(Object.keys(body!).sort(), ["max_tokens", "messages", "model", "system"]);
      assertEquals((body!.messages as HostMessage[]).map(({ role }) => role), ["user"]);
    }
  });

  it("serves the agent the views that forks would have served it", async () => {
    const reply = (): Reply => message("## Files\nall of them");
    const runs = await Promise.all(
      (["standalone", "fork", "auto"] as const).map((callMode) =>
        runAgent({ compaction: { callMode }, fork: reply, alone: reply })
      ),
    );
    const [standalone, fork, auto] = runs.map(({ requests }) => requests.map(({ raw }) => hash(raw)));
    assertEquals(fork, standalone);
    assertEquals(auto, standalone);
    assertGreater(runs[1]!.forks.length, 0);
  });
});

describe("the agent's own requests", LIMIT, () => {
  for (const callMode of ["standalone", "fork"] as const) {
    it(`only go on between compactions, so that all that was cached is read again (${callMode})`, async () => {
      const { usages, compactor, requests } = await runAgent({ compaction: { callMode } });
      const { swapped, ladders } = compactor.stats();
      const breaks = usages.filter((usage, index) => {
        const before = usages[index - 1];
        return before && (usage.cache_read_input_tokens ?? 0) < cached(before);
      });
      assertEquals([breaks.length, ladders], [swapped, 0]);
      assertGreater(swapped, 1);
      assertEquals(requests.length, usages.length, "the API took every one of them");
    });
  }

  it("stay within the budget by the provider's own count, and hold one summary for each swap", async () => {
    const { usages, requests, compactor } = await runAgent({ tasks: tasks(20) });
    assert(usages.every((usage) => total(usage) <= 20_000), `${Math.max(...usages.map(total))}`);
    const { swapped, begun } = compactor.stats(), last = textOf(requests.at(-1)!);
    assertGreater(swapped, 2);
    assertEquals(begun, swapped);
    assertEquals(last.split("[waymark summary of ").length - 1, swapped);
    assertStringIncludes(last, "That was Task 19");
    assertStringIncludes(last, "Task 20: look at it");
  });

  it("are taken where a person went on twice without the result of a call, which the history's are not", async () => {
    const api = await startMessagesApi({ replies: [message("Fine.")] });
    try {
      const sdk = new Anthropic({ apiKey: api.key, baseURL: api.url, maxRetries: 0, webhookKey: null });
      const send = (messages: readonly HostMessage[]): Promise<Anthropic.Message> =>
        sdk.messages.create(
          {
            model: "claude-haiku-5-5",
            max_tokens: 100,
            messages,
          } as unknown as Anthropic.MessageCreateParamsNonStreaming,
        );
      const call = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
      const result = { type: "tool_result", tool_use_id: "a", content: "text" };
      const compactor = createCompactor({ budget: 10_000 });
      compactor.append(
        { role: "user", content: "go" },
        { role: "assistant", content: [{ type: "text", text: "I look." }, call("a"), call("b")] },
        { role: "user", content: [result, { type: "text", text: "stop" }] },
        { role: "user", content: "do something else" },
      );
      await assertRejects(() => send(compactor.history()), Error, "400");
      assertEquals((await send(compactor.view())).content.length, 1);
      compactor.append({ role: "assistant", content: "What?" }, {
        role: "user",
        content: [{ ...result, tool_use_id: "b" }, { type: "text", text: "that" }],
      });
      assertEquals((await send(compactor.view())).content.length, 1, "and so where the result comes after all");
    } finally {
      await api.close();
    }
  });
});
