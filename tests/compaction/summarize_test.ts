import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import { createSummarizing } from "../../src/compaction/summarize.ts";
import type {
  CompactorOptions,
  ForkRefusal,
  HostMessage,
  MessageShape,
  SentAnswer,
  SentRequest,
} from "../../src/compaction/types.ts";
import { WaymarkError } from "../../src/errors.ts";
import { scriptedModel } from "../../src/testing.ts";
import {
  asSent,
  FORKED,
  HISTORY,
  REQUEST,
  type ScriptedSend,
  scriptedSender,
  type SetUp,
  setUp,
  SPAN,
  STANDALONE,
} from "./conversation.ts";

const MINUTE = 60_000;
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Ends on two calls, one of which is answered. */
const UNANSWERED: SentRequest = {
  ...REQUEST,
  messages: [
    ...asSent(HISTORY),
    { role: "assistant", content: ["x", "y"].map((id) => ({ type: "tool_use", id, name: "read", input: {} })) },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "out" }] },
  ],
};

/** Holds the span's messages, but not in one run. */
const SCATTERED: SentRequest = {
  ...REQUEST,
  messages: asSent([...SPAN.slice(0, 3), { role: "user", content: "between" }, ...HISTORY.slice(3)]),
};

/** A shape that cannot make a message of the user's. */
const unbuildable: MessageShape = {
  ...anthropicShape,
  user: () => {
    throw new Error("no words");
  },
};

const other = (): ReturnType<typeof scriptedModel> => scriptedModel(() => STANDALONE, { name: "claude-haiku-4-5" });

/** Waits until nothing is left to do at once. */
async function settle(): Promise<void> {
  for (let index = 0; index < 50; index++) await Promise.resolve();
}

/** One way to be refused a fork. */
interface Refusal {
  readonly what: string;
  readonly options?: Partial<CompactorOptions> & { sender?: ReturnType<typeof scriptedSender> | undefined };
  readonly arrange?: (set: SetUp) => void;
  readonly span?: readonly HostMessage[];
}

const noting = (...requests: readonly SentRequest[]) => ({ summarizing }: SetUp): void =>
  requests.forEach(summarizing.noteRequestSent);
const answering = (...answers: readonly ScriptedSend[]): { sender: ReturnType<typeof scriptedSender> } => ({
  sender: scriptedSender(...answers),
});

const refusals: readonly (readonly [ForkRefusal, readonly Refusal[]])[] = [
  ["never-noted", [
    { what: "no request was ever noted" },
    {
      what: "everything was dropped since",
      arrange: ({ summarizing }) => {
        summarizing.noteRequestSent(REQUEST);
        summarizing.reset();
      },
    },
  ]],
  ["tools-not-given", [
    { what: "requests are noted without their tools", arrange: noting({ model: "m", messages: asSent(HISTORY) }) },
    { what: "the latest one was", arrange: noting(REQUEST, { model: "m", messages: asSent(HISTORY) }) },
    { what: "the tools are undefined", arrange: noting({ ...REQUEST, tools: undefined }) },
  ]],
  ["different-model", [
    { what: "another model is to summarize", options: { summarizationModel: other() }, arrange: noting(REQUEST) },
  ]],
  ["nothing-recorded", [
    { what: "no request was noted with its messages", arrange: noting({ model: "claude-opus-5", tools: null }) },
    {
      what: "its messages are no list",
      arrange: noting({ ...REQUEST, messages: "all" as unknown as HostMessage[] }),
    },
  ]],
  ["later-request", [
    {
      what: "a later request was noted without its messages",
      arrange: noting(REQUEST, { model: "claude-opus-5", tools: [] }),
    },
  ]],
  ["unanswered-calls", [{ what: "the request ends on a call without its result", arrange: noting(UNANSWERED) }]],
  ["span-not-in-prefix", [
    { what: "the request holds the span in pieces", arrange: noting(SCATTERED) },
    {
      what: "a message of the span reads otherwise",
      arrange: noting(REQUEST),
      span: [...SPAN.slice(0, 3), { role: "assistant", content: "?" }],
    },
    { what: "the span goes beyond the request", arrange: noting({ ...REQUEST, messages: asSent(SPAN.slice(0, 3)) }) },
  ]],
  ["cache-cold", [
    {
      what: "the last request is older than the cache keeps it",
      arrange: ({ summarizing, clock }) => {
        summarizing.noteRequestSent(REQUEST);
        clock.advance(5 * MINUTE + 1);
      },
    },
    {
      what: "the prefix is below what is cached at all",
      options: { prices: { minimumTokens: 100_000 } },
      arrange: noting(REQUEST),
    },
    {
      what: "the provider counted less than that",
      options: { prices: { minimumTokens: 3_000 } },
      arrange: ({ summarizing }) => {
        summarizing.noteRequestSent(REQUEST);
        summarizing.noteUsage({ input: 2_999, cacheRead: 0, cacheWrite: 0 });
      },
    },
    { what: "no message was marked for the cache", arrange: noting({ ...REQUEST, messages: HISTORY }) },
    ...[
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "redacted_thinking", data: "c2ln" },
      { type: "reasoning", text: "hm" },
    ].map((thought): Refusal => ({
      what: `the model drops its ${thought.type} when a user's message follows`,
      arrange: noting({
        ...REQUEST,
        model: "claude-haiku-4-5",
        messages: asSent([
          ...HISTORY.slice(0, 5),
          { role: "assistant", content: [thought, ...HISTORY[5]!["content"] as HostMessage[]] },
          ...HISTORY.slice(6),
        ]),
      }),
    })),
  ]],
  ["build-failed", [
    { what: "the message cannot be built", options: { shape: unbuildable }, arrange: noting(REQUEST) },
    { what: "there is nothing to send it with", options: { sender: undefined }, arrange: noting(REQUEST) },
    {
      what: "the last request asks for a fixed structure",
      arrange: noting({ ...REQUEST, output_config: { format: { type: "json_schema", schema: {} } } }),
    },
    ...[
      { type: "any" },
      { type: "tool", name: "read" },
      "required",
      "any",
      "read",
      { type: "function", function: { name: "read" } },
      { type: "custom", name: "apply_patch" },
      { type: "file_search" },
      { type: "allowed_tools", mode: "required", tools: [] },
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } },
    ].map((tool_choice): Refusal => ({
      what: `the last request forces a tool call: ${JSON.stringify(tool_choice)}`,
      arrange: noting({ ...REQUEST, tool_choice }),
    })),
  ]],
  ["bad-answer", [
    {
      what: "it calls a tool",
      options: answering({ ...FORKED, text: "", stopReason: "tool" }),
      arrange: noting(REQUEST),
    },
    {
      what: "it calls a tool beside a text",
      options: answering({ ...FORKED, stopReason: "tool" }),
      arrange: noting(REQUEST),
    },
    {
      what: "it is empty, or reasoning alone",
      options: answering({ ...FORKED, text: " \n" }),
      arrange: noting(REQUEST),
    },
    { what: "it is a refusal", options: answering({ ...FORKED, stopReason: "refusal" }), arrange: noting(REQUEST) },
    {
      what: "it declines in prose",
      options: answering({ ...FORKED, text: "I'm sorry, but I can't help with that." }),
      arrange: noting(REQUEST),
    },
    {
      what: "it is an error as text",
      options: answering({ ...FORKED, text: '{"error":{"type":"overloaded"}}' }),
      arrange: noting(REQUEST),
    },
    {
      what: "it paused for a tool of the provider's own",
      options: answering({ ...FORKED, text: "Let me look that up first.", stopReason: "other" }),
      arrange: noting(REQUEST),
    },
    {
      what: "it paused, in the provider's own words",
      options: answering({ ...FORKED, text: "Let me look that up first.", stopReason: "pause_turn" as "other" }),
      arrange: noting(REQUEST),
    },
    { what: "it was cut off", options: answering({ ...FORKED, stopReason: "max_tokens" }), arrange: noting(REQUEST) },
    {
      what: "the request fails",
      options: answering(new WaymarkError("provider-error", "Cannot ask x: 529")),
      arrange: noting(REQUEST),
    },
    {
      what: "nothing comes back",
      options: answering(() => Promise.resolve(undefined as unknown as SentAnswer)),
      arrange: noting(REQUEST),
    },
  ]],
];

for (const [reason, ways] of refusals) {
  describe(`a fork is refused as ${reason}, and the summary is made standalone,`, () => {
    for (const { what, options, arrange, span } of ways) {
      it(`where ${what}: told once, counted every time`, async () => {
        const set = setUp({ ...options });
        arrange?.(set);
        const { summarizing, notices, events, hooks } = set;
        for (let index = 0; index < 2; index++) {
          const { text, call } = await set.summarize(span);
          assertEquals([text, call.modeRequested, call.modeUsed, call.reason], [
            STANDALONE,
            "fork",
            "standalone",
            reason,
          ]);
          assertEquals([call.prefixMessages, call.prefixTokens, call.prefixSource], [0, 0, undefined]);
        }
        assertEquals(notices.map(({ reason }) => reason).filter((told) => told !== "fork-missed"), [`fork-${reason}`]);
        assertEquals(events.map(({ what, reason }) => [what, reason]), Array(2).fill(["fallback", reason]));
        const { fallbacks, standalone, forks, declines } = summarizing.stats();
        assertEquals([fallbacks, standalone, forks, declines], [2, 2, 0, 0]);
        assertEquals(summarizing.lastCall?.reason, reason);
        const count = (span ?? SPAN).length, asked = reason === "bad-answer" ? [`before fork of ${count}`] : [];
        const once = [...asked, `before standalone of ${count}`, `after standalone: ${STANDALONE.length}`];
        assertEquals(hooks, [...once, ...once]);
        assertEquals(set.sender.sent.length, reason === "bad-answer" ? 2 : 0);
      });
    }
  });
}

describe("the refusals of a fork", () => {
  it("come in their order: of several that apply the first is the reason", async () => {
    const summarizationModel = other(), cold = ({ clock }: SetUp): void => clock.advance(MINUTE * 60);
    const everything = { summarizationModel, sender: undefined, shape: unbuildable };
    const same = { sender: scriptedSender(new Error("no")), shape: unbuildable };
    const short = { ...UNANSWERED, messages: UNANSWERED.messages!.slice(5) };
    const steps: readonly (readonly [ForkRefusal, Refusal["options"] & object, readonly SentRequest[]])[] = [
      ["never-noted", everything, []],
      ["tools-not-given", everything, [{ model: "claude-opus-5" }]],
      ["different-model", everything, [{ model: "claude-opus-5", tools: [] }]],
      ["nothing-recorded", same, [{ model: "claude-opus-5", tools: [] }]],
      ["later-request", same, [short, { model: "claude-opus-5", tools: [] }]],
      ["unanswered-calls", same, [short]],
      ["span-not-in-prefix", same, [{ ...SCATTERED }]],
      ["cache-cold", same, [REQUEST]],
    ];
    for (const [reason, options, requests] of steps) {
      const set = setUp(options);
      noting(...requests)(set);
      cold(set);
      assertEquals((await set.summarize()).call.reason, reason);
    }
    for (const [reason, shape] of [["build-failed", unbuildable], ["bad-answer", anthropicShape]] as const) {
      const set = setUp({ sender: scriptedSender(new Error("no")), shape });
      noting(REQUEST)(set);
      assertEquals((await set.summarize()).call.reason, reason);
    }
  });

  it("are told apart: each reason once, with what to do or what was found", async () => {
    const set = setUp({ sender: scriptedSender(new Error("socket hang up")) });
    await set.summarize();
    noting({ ...REQUEST, tools: undefined })(set);
    await set.summarize();
    noting(REQUEST)(set);
    await set.summarize();
    set.clock.advance(MINUTE * 6);
    await set.summarize();
    const told = set.notices.map(({ message }) => message);
    assertEquals(told.length, 4);
    assertMatch(told[0]!, /noteRequestSent/);
    assertMatch(told[1]!, /even as null or \[\]/);
    assertMatch(told[2]!, /socket hang up/);
    assertMatch(told[3]!, /360 s ago.*kept for 300 s/);
  });
});

describe("a fork is made", () => {
  it("of what a sender of the host's own gave that says nothing of why it ended", async () => {
    const { stopReason: _, ...unsaid } = FORKED;
    const set = setUp(answering(unsaid as SentAnswer));
    noting(REQUEST)(set);
    assertEquals((await set.summarize()).call.modeUsed, "fork");
  });

  it("of what ended in the words of any provider", async () => {
    for (const word of ["end_turn", "stop", "STOP", "stop_sequence", "completed", "finished", "done", "eos_token"]) {
      const set = setUp(answering({ ...FORKED, stopReason: word as "end" }));
      noting(REQUEST)(set);
      assertEquals((await set.summarize()).call.modeUsed, "fork", word);
    }
  });

  it("where the model may choose whether it calls a tool, however that is said", async () => {
    const disabled = { type: "auto", disable_parallel_tool_use: true }, tools: unknown[] = [];
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "auto", tools } };
    for (
      const choice of [null, "auto", "none", disabled, { type: "none" }, allowed, {
        type: "allowed_tools",
        mode: "auto",
      }]
    ) {
      for (const name of ["tool_choice", "toolChoice"]) {
        const set = setUp();
        noting({ ...REQUEST, [name]: choice })(set);
        assertEquals((await set.summarize()).call.modeUsed, "fork", JSON.stringify(choice));
      }
    }
  });

  it("with tools that are none: null and [] are known tools", async () => {
    for (const tools of [null, []]) {
      const set = setUp();
      noting({ ...REQUEST, tools })(set);
      assertEquals((await set.summarize()).call.modeUsed, "fork");
    }
  });

  it("where the summarization model is the main one", async () => {
    const summarizationModel = scriptedModel(() => STANDALONE, { name: "claude-opus-5" });
    const set = setUp({ summarizationModel });
    noting(REQUEST)(set);
    assertEquals((await set.summarize()).call.modeUsed, "fork");
  });

  it("as long as the cache may be warm: to the last moment, an hour where the request asks for it, always where it is not known", async () => {
    const hour = { ...REQUEST, messages: HISTORY, cache_control: { type: "ephemeral", ttl: "1h" } };
    const unknown = { ...REQUEST, model: "house-model", messages: HISTORY };
    for (const [request, minutes] of [[REQUEST, 5], [hour, 60], [unknown, 6_000]] as const) {
      const set = setUp();
      noting(request)(set);
      set.clock.advance(minutes * MINUTE);
      assertEquals((await set.summarize()).call.modeUsed, "fork");
    }
  });

  it("on reasoning that stands before the last words of a person, or in a model that keeps it", async () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "s" };
    const early = [
      HISTORY[0]!,
      { role: "assistant", content: [thinking, ...HISTORY[1]!["content"] as HostMessage[]] },
      ...HISTORY.slice(2),
    ];
    const working = [
      ...early,
      { role: "assistant", content: [{ type: "text", text: "On it." }] },
    ];
    for (const model of ["claude-haiku-4-5", "claude-opus-5"]) {
      for (const messages of [early, working]) {
        const set = setUp({ model: scriptedModel(() => STANDALONE) });
        noting({ ...REQUEST, model, messages: asSent(messages) })(set);
        assertEquals((await set.summarize(early.slice(0, 4))).call.modeUsed, "fork", model);
      }
    }
  });

  it("and leaves no time to be waited for, nor does one that fell back", async () => {
    for (const options of [{}, answering(new Error("socket hang up"))]) {
      const waits = new Set<AbortSignal>();
      const sleep = (_: number, signal?: AbortSignal) =>
        new Promise<void>((_, reject) => {
          waits.add(signal!);
          signal!.addEventListener("abort", () => (waits.delete(signal!), reject(signal!.reason)));
        });
      const set = setUp({ ...options, clock: { now: () => 0, sleep } });
      noting(REQUEST)(set);
      await set.summarize();
      assertEquals(waits.size, 0);
    }
  });

  it("and said what it was: prefix, usage, mode", async () => {
    const set = setUp();
    noting(REQUEST)(set);
    const { text, call } = await set.summarize();
    assertEquals(text, FORKED.text);
    const { prefixTokens, ...rest } = call;
    assertEquals(rest, {
      modeRequested: "fork",
      modeUsed: "fork",
      prefixMessages: 7,
      prefixSource: "wire-record",
      spanTokens: 5_200,
      usage: { calls: 1, ...FORKED.usage, ms: 0 },
    });
    assert(prefixTokens > 4_000 && prefixTokens < 6_000, String(prefixTokens));
    assertEquals(set.summarizing.lastCall, call);
    assertEquals(set.summarizing.stats(), { forks: 1, fallbacks: 0, declines: 0, missed: 0, standalone: 0 });
    assertEquals([set.notices, set.events, set.model.calls], [[], [], []]);
    assertEquals(set.hooks, ["before fork of 4", `after fork: ${FORKED.text.length}`]);
  });
});

describe("whether a fork read the cache", () => {
  const made = async (
    read: number,
    { parent, total = 6_400, ...options }: {
      parent?: number;
      total?: number;
      estimate?: CompactorOptions["estimate"];
    } = {},
  ) => {
    const usage = { input: total - read, output: 50, cacheRead: read, cacheWrite: 0 };
    const set = setUp({ ...options, sender: scriptedSender({ ...FORKED, usage, cacheMiss: "messages_changed" }) });
    noting(REQUEST)(set);
    if (parent !== undefined) set.summarizing.noteUsage({ input: 0, cacheRead: 0, cacheWrite: parent, id: "msg_1" });
    return { call: (await set.summarize()).call, set };
  };

  it("is told by the provider's figures: under 90 % of the parent's it missed", async () => {
    for (const [read, missed] of [[5_399, true], [5_400, undefined]] as const) {
      const { call, set } = await made(read, { parent: 6_000 });
      assertEquals([call.missed, set.summarizing.stats().missed], [missed, missed ? 1 : 0]);
      assertEquals([call.modeUsed, set.summarizing.stats().forks], ["fork", 1]);
    }
  });

  it("is told without the parent's figures too, by its own without what was appended", async () => {
    assertEquals([(await made(0)).call.missed, (await made(5_300)).call.missed], [true, undefined]);
  });

  it("is told where the host's estimate fails or is no number too, and nothing else changes by that", async () => {
    const { call: usual } = await made(0);
    const fails = (): never => {
      throw new Error("no tokenizer");
    };
    for (
      const estimate of [fails, () => NaN, () => -5, () => Infinity, () => "7", () => Promise.resolve(7), () => {}]
    ) {
      const { call, set } = await made(0, { estimate: estimate as never });
      assertEquals([call, set.summarizing.stats().missed], [usual, 1]);
    }
  });

  it("is not claimed either way where the provider reports nothing", async () => {
    for (const about of [{ total: 0 }, { total: 0, parent: 6_000 }]) {
      assertEquals((await made(0, about)).call.missed, undefined);
    }
  });

  it("comes with the reason the provider states, asked for by the id of the answer before", async () => {
    const { call, set } = await made(0, { parent: 6_000 });
    assertEquals([call.cacheMiss, set.sender.sent[0]!.previousId], ["messages_changed", "msg_1"]);
    assertMatch(set.notices[0]!.message, /less than 90 %.*messages_changed/);
    assertEquals((await made(6_000)).set.sender.sent[0]!.previousId, undefined);
  });

  it("is learnt from reports with gaps", async () => {
    const set = setUp();
    noting(REQUEST)(set);
    set.summarizing.noteUsage({ input: 6_000, cacheRead: null, cacheWrite: undefined, id: 7 } as never);
    const { call } = await set.summarize();
    assertEquals([call.modeUsed, set.sender.sent[0]!.previousId], ["fork", undefined]);
  });
});

describe("one summary", () => {
  const { signal } = new AbortController();
  const input = { messages: SPAN, spanTokens: 5_200, signal };

  it("costs at most two requests, and what both cost is added up", async () => {
    const set = setUp({ sender: scriptedSender({ ...FORKED, text: "", stopReason: "tool" }) });
    noting(REQUEST)(set);
    const { call } = await set.summarize();
    const [asked] = set.model.calls;
    const size = asked!.system.length + asked!.messages[0]!.content.length;
    assertEquals(call.usage, {
      calls: 2,
      input: 400 + Math.ceil(size / 4),
      output: 60 + Math.ceil(STANDALONE.length / 4),
      cacheRead: 6_000,
      cacheWrite: 0,
      ms: 0,
    });
  });

  it("has one deadline: a fork that hangs gives way at half of it, a standalone call ends with it", async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const set = setUp({ sender: scriptedSender(never) });
    noting(REQUEST)(set);
    const first = set.summarize();
    await settle();
    set.clock.advance(14_999);
    await settle();
    assertEquals(set.model.calls.length, 0);
    set.clock.advance(1);
    await settle();
    assertEquals(set.model.calls.length, 1);
    const { call, text } = await first;
    assertEquals([text, call.reason, call.usage.ms], [STANDALONE, "bad-answer", 15_000]);

    const hanging = setUp({ sender: scriptedSender(never), model: scriptedModel(never) });
    noting(REQUEST)(hanging);
    const second = assertRejects(() => hanging.summarize(), WaymarkError, "no answer within the time limit");
    await settle();
    hanging.clock.advance(15_000);
    await settle();
    hanging.clock.advance(15_000);
    assertEquals((await second).code, "timeout");
    const { modeUsed, reason, usage } = hanging.summarizing.lastCall!;
    assertEquals([modeUsed, reason, usage], ["none", "timeout", { calls: 2, ...NOTHING, ms: 30_000 }]);
  });

  it("ends at the machine's own deadline where no clock is given", async () => {
    const model = scriptedModel(() => new Promise<never>(() => {}));
    const summarizing = createSummarizing({ budget: 1, model, timeoutMs: 20 }, anthropicShape);
    const alive = setInterval(() => {}, 1_000); // a deadline keeps no process alive
    try {
      const { code } = await assertRejects(
        () => summarizing.summarize({ ...input, snapshot: undefined }),
        WaymarkError,
      );
      assertEquals([code, summarizing.lastCall?.reason], ["timeout", "timeout"]);
    } finally {
      clearInterval(alive);
    }
  });

  it("is given up at once where the conversation moved on: an abort during a fork asks nobody else", async () => {
    const set = setUp({ sender: scriptedSender(() => new Promise<never>(() => {})) });
    noting(REQUEST)(set);
    const controller = new AbortController();
    const snapshot = set.summarizing.snapshot(HISTORY);
    const made = assertRejects(
      () => set.summarizing.summarize({ ...input, snapshot, signal: controller.signal }),
      WaymarkError,
    );
    await settle();
    controller.abort();
    assertEquals((await made).code, "aborted");
    assertEquals([set.model.calls.length, set.summarizing.lastCall?.reason], [0, "stale"]);
    assertEquals(set.summarizing.stats().fallbacks, 0);
    await assertRejects(
      () => set.summarizing.summarize({ ...input, snapshot, signal: controller.signal }),
      WaymarkError,
    );
    assertEquals(set.sender.sent.length, 1);
  });

  for (
    const [what, answer, code] of [
      ["is empty", { text: " " }, "empty-answer"],
      ["is reasoning alone", { text: "<think>What was asked? Hm." }, "empty-answer"],
      ["is a refusal", { text: "No.", stopReason: "refusal" }, "refused"],
      ["declines in prose", { text: "I can't assist with that request." }, "refused"],
      ["calls a tool", { text: "Let me look.", stopReason: "tool" }, "bad-answer"],
      ["is an error as text", { text: '{"error": "quota"}' }, "bad-answer"],
      ["is an error", new Error("529 overloaded"), "provider-error"],
    ] as const
  ) {
    it(`fails where the standalone answer ${what}, with the reason, and nothing is asked again`, async () => {
      const model = scriptedModel(() => answer);
      const summarizing = createSummarizing({ budget: 1, model }, anthropicShape);
      const error = await assertRejects(() => summarizing.summarize({ ...input, snapshot: undefined }), WaymarkError);
      assertEquals([error.code, model.calls.length], [code, 1]);
      const { modeUsed, reason } = summarizing.lastCall!;
      assertEquals([modeUsed, reason, summarizing.stats().standalone], ["none", "failed", 0]);
    });
  }

  it("is kept where its limit cut it off, and says so at its end", async () => {
    const model = scriptedModel(() => ({ text: "## Files\nsrc/a.ts and", stopReason: "max_tokens" }));
    const { text } = await createSummarizing({ budget: 1, model }, anthropicShape)
      .summarize({ ...input, snapshot: undefined });
    assertEquals(text, "## Files\nsrc/a.ts and\n\n(The summary was cut off here by its length limit.)");
  });

  it("is made without digests where the host's list of them fails", async () => {
    const set = setUp({
      callMode: "standalone",
      summaries: () => {
        throw new Error("no list");
      },
    });
    assertEquals((await set.summarize()).text, STANDALONE);
  });

  it("fails by name where there is no model to ask", async () => {
    const summarizing = createSummarizing({ budget: 1 }, anthropicShape);
    const { code } = await assertRejects(
      () => summarizing.summarize({ ...input, snapshot: undefined }),
      WaymarkError,
      "no model",
    );
    assertEquals([code, summarizing.lastCall?.reason], ["invalid-option", "failed"]);
  });

  it("fails as ours where the host's shape throws", async () => {
    const shape: MessageShape = {
      ...anthropicShape,
      transcript: () => {
        throw new TypeError("no text");
      },
    };
    const set = setUp({ callMode: "standalone", shape });
    const error = await assertRejects(() => set.summarize(), WaymarkError, "no text");
    assertEquals(error.code, "internal");
  });
});

describe("what the host is told", () => {
  it("is that a mode does not exist, once; summaries are made standalone", async () => {
    const set = setUp({ callMode: "sideways" as never });
    noting(REQUEST)(set);
    for (let index = 0; index < 2; index++) {
      const { call } = await set.summarize();
      assertEquals([call.modeRequested, call.modeUsed], ["standalone", "standalone"]);
    }
    assertEquals(set.notices.map(({ reason }) => reason), ["unknown-call-mode"]);
    assertStringIncludes(set.notices[0]!.message, '"sideways"');
    assertEquals(set.summarizing.stats(), { forks: 0, fallbacks: 0, declines: 0, missed: 0, standalone: 2 });
  });

  it("keeps the name inline where it was given", async () => {
    const set = setUp({ callMode: "inline" });
    assertEquals((await set.summarize()).call.modeRequested, "inline");
    assertEquals(set.notices, []);
  });

  it("cannot hurt: hooks that throw or reject are told once and ignored", async () => {
    const set = setUp({
      onBeforeSummarize: () => {
        throw new Error("before");
      },
      onAfterSummarize: () => Promise.reject(new Error("after")),
    });
    noting(REQUEST)(set);
    assertEquals((await set.summarize()).text, FORKED.text);
    assertEquals((await set.summarize()).text, FORKED.text);
    await settle();
    assertEquals(set.notices.map(({ reason }) => reason), ["hook-failed"]);
    const loud = setUp({
      onNotice: () => {
        throw new Error("notice");
      },
      onEvent: () => {
        throw new Error("event");
      },
    });
    assertEquals((await loud.summarize()).text, STANDALONE);
  });

  it("costs nothing where a noted request cannot be copied: nobody is thrown at", async () => {
    const set = setUp();
    const cyclic: Record<string, unknown> = { ...REQUEST };
    cyclic["self"] = cyclic;
    noting(cyclic as SentRequest)(set);
    set.summarizing.noteRequestSent({
      get tools(): unknown {
        throw new Error("a getter");
      },
    });
    const { call, text } = await set.summarize();
    assertEquals([text, call.reason], [STANDALONE, "later-request"]);
    for (const nothing of [undefined, null, "all"]) {
      set.summarizing.noteRequestSent(nothing as never);
      set.summarizing.noteUsage(nothing as never);
    }
    assertEquals((await set.summarize()).call.reason, "later-request");
  });
});
