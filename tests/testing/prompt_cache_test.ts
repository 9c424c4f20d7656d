import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import { fakeClock, promptCache, type PromptCacheOptions, type SimulatedUsage } from "../../src/testing.ts";

type Block = Record<string, unknown>;
interface Message {
  role: string;
  content: string | Block[];
}
type Body = Record<string, unknown>;

const MARK = { cache_control: { type: "ephemeral" } };
const LONG = { cache_control: { type: "ephemeral", ttl: "1h" } };

/** So many tokens of text, in whole blocks of JSON: what the default estimate makes of them does not matter here. */
const words = (name: string, tokens = 1_000): string => `${name} ${"word".repeat(tokens - 1)}`;
const text = (name: string, tokens?: number, more: Block = {}): Block => ({
  type: "text",
  text: words(name, tokens),
  ...more,
});
const user = (name: string, more: Block = {}): Message => ({ role: "user", content: [text(name, 1_000, more)] });
const assistant = (name: string): Message => ({ role: "assistant", content: [text(name)] });
const call = (id: string): Block => ({ type: "tool_use", id, name: "read", input: { path: id } });
const result = (id: string, more: Block = {}): Block => ({
  type: "tool_result",
  tool_use_id: id,
  content: words(id, 300),
  ...more,
});

/** The messages with a mark on the last block of the last one. */
function marked(messages: readonly Message[], mark: Block = MARK): Message[] {
  const last = messages.at(-1)!, blocks = last.content as Block[];
  return [...messages.slice(0, -1), { ...last, content: [...blocks.slice(0, -1), { ...blocks.at(-1), ...mark }] }];
}

const TOOLS = [
  { name: "read", description: words("read"), input_schema: { type: "object" } },
  { name: "grep", description: words("grep"), input_schema: { type: "object" }, ...MARK },
];
const SYSTEM = [text("system", 1_000, MARK)];
const TALK = [user("one"), assistant("two"), user("three")];

function body(messages: readonly Message[], more: Body = {}): Body {
  return {
    model: "claude-opus-4-8",
    max_tokens: 100,
    tools: TOOLS,
    system: SYSTEM,
    messages: marked(messages),
    ...more,
  };
}

/** Read, written and plain, in thousands of tokens. */
function shares({ cache_read_input_tokens, cache_creation_input_tokens, input_tokens }: SimulatedUsage): number[] {
  return [cache_read_input_tokens, cache_creation_input_tokens, input_tokens].map((tokens) =>
    Math.round(tokens / 1_000)
  );
}

/** What a second request reads, writes and sends plain after a first one. */
function after(first: Body, second: Body, options?: PromptCacheOptions): number[] {
  const cache = promptCache(options);
  cache.send(first);
  return shares(cache.send(second));
}

describe("a simulated prompt cache", () => {
  it("is written by the first request and read by the same one again", () => {
    const cache = promptCache();
    assertEquals(shares(cache.send(body(TALK))), [0, 6, 0]);
    assertEquals(shares(cache.send(body(TALK))), [6, 0, 0]);
  });

  it("is read by a request that only goes on, which writes no more than what is new", () => {
    assertEquals(after(body(TALK), body([...TALK, assistant("four"), user("five")])), [6, 2, 0]);
  });

  for (
    const [what, change, left] of [
      ["a conversation without its beginning", body(TALK.slice(2)), 3],
      ["one with a message dropped from its middle", body([TALK[0]!, TALK[2]!]), 3],
      ["one cut at its end, where nothing was marked", body(TALK.slice(0, 1)), 3],
      ["one with a changed message", body([user("one"), assistant("2"), user("three")]), 3],
      ["one with a message in another role", body([user("one"), user("two"), user("three")]), 3],
      ["another system prompt", body(TALK, { system: [text("other", 1_000, MARK)] }), 2],
      ["a summary in the system prompt", body(TALK, { system: [text("system"), text("summary", 200, MARK)] }), 3],
      ["no system prompt", body(TALK, { system: undefined }), 2],
      ["one tool more", body(TALK, { tools: [...TOOLS, { name: "edit", input_schema: {} }] }), 2],
      ["one tool before the others", body(TALK, { tools: [{ name: "edit", input_schema: {} }, ...TOOLS] }), 0],
      ["tools in another order", body(TALK, { tools: TOOLS.toReversed() }), 0],
      [
        "another description of the first tool",
        body(TALK, { tools: [{ ...TOOLS[0], description: "x" }, TOOLS[1]] }),
        0,
      ],
      ["another model", body(TALK, { model: "claude-opus-4-1" }), 0],
      ["another choice of tools", body(TALK, { tool_choice: { type: "none" } }), 3],
      [
        "a choice of tools without parallel calls",
        body(TALK, { tool_choice: { type: "auto", disable_parallel_tool_use: true } }),
        3,
      ],
      ["thinking switched on", body(TALK, { thinking: { type: "adaptive" } }), 3],
      ["another effort", body(TALK, { output_config: { effort: "low" } }), 3],
      ["a schema for the answer", body(TALK, { output_config: { format: { type: "json_schema", schema: {} } } }), 3],
      ["another speed", body(TALK, { speed: "fast" }), 2],
      ["an image", body([...TALK, assistant("4"), { role: "user", content: [{ type: "image", source: {} }] }]), 3],
    ] as const
  ) {
    it(`reads no more than ${left} of 6 parts for ${what}`, () => assertEquals(after(body(TALK), change)[0], left));
  }

  it("takes no notice of what is in no prompt, of marks, of the order of fields, or of text as a block", () => {
    const plain = body([{ role: "user", content: [{ type: "text", text: words("one", 3_000) }] }]);
    const block = { text: words("one", 3_000), ...MARK, type: "text" };
    const other = {
      messages: [{ content: [block], role: "user" }],
      system: SYSTEM,
      tools: TOOLS,
      model: plain["model"],
      max_tokens: 5,
      temperature: 1,
      metadata: { user_id: "u" },
      stop_sequences: ["x"],
      stream: true,
      tool_choice: { type: "auto" },
      thinking: { type: "disabled" },
    };
    assertEquals(after(plain, other), [6, 0, 0]);
    const asString = { ...plain, messages: [{ role: "user", content: words("one", 3_000) }] };
    assertEquals(after(plain, { ...asString, ...MARK }), [6, 0, 0]);
  });

  it("reads nothing where the input of a call has its fields in another order", () => {
    const talk = (input: Block): Message[] => [
      user("one"),
      { role: "assistant", content: [{ type: "tool_use", id: "1", name: "read", input }] },
      { role: "user", content: [result("1")] },
    ];
    assertEquals(after(body(talk({ a: 1, b: 2 })), body(talk({ b: 2, a: 1 })))[0], 3);
    assertEquals(after(body(talk({ a: 1, b: 2 })), body(talk({ a: 1, b: 2 })))[0], 4);
  });

  it("keeps the beta features of the header apart", () => {
    const cache = promptCache();
    cache.receive(body(TALK), { betas: "one" }).answer();
    assertEquals(cache.receive(body(TALK), { betas: "one" }).usage.cache_creation_input_tokens, 0);
    assertEquals(cache.receive(body(TALK), { betas: "two" }).usage.cache_read_input_tokens, 0);
  });

  it("keeps nothing that no mark asks for", () => {
    const plain = body(TALK, { tools: [TOOLS[0]], system: words("system"), messages: TALK });
    assertEquals(after(plain, plain), [0, 0, 5]);
  });
});

describe("a fork, in the simulated cache", () => {
  const parent = body(TALK), [, cached] = shares(promptCache().send(parent));
  const fork = (words: Message): Body => ({ ...parent, messages: [...parent["messages"] as Message[], words] });

  it("reads the parent's whole cached prefix and writes nothing", () => {
    assertEquals(after(parent, fork(user("summarize"))), [cached, 0, 1]);
  });

  it("writes what it appends where the mark moves to it", () => {
    assertEquals(after(parent, fork(user("summarize", MARK))), [cached, 1, 0]);
  });

  it("reads all of its parent and writes what it appends, where the mark is on the whole request: the mark moves", () => {
    const whole = body(TALK, { messages: TALK, ...MARK });
    assertEquals(after(whole, { ...whole, messages: [...TALK, user("summarize")] }), [cached, 1, 0]);
  });

  it("leaves the parent's next request as cheap as it would have been", () => {
    const cache = promptCache(), next = body([...TALK, assistant("four"), user("five")]);
    cache.send(parent);
    cache.send(fork(user("summarize")));
    assertEquals(shares(cache.send(next)), [cached, 2, 0]);
  });

  it("reads only tools and system prompt where it appends to something that was never sent", () => {
    const unsent = [...TALK.slice(0, 2), user("never sent"), user("summarize")];
    assertEquals(after(parent, body(unsent))[0], 3);
  });

  it("reads no messages where a person's words strip the reasoning before them", () => {
    const messages: Message[] = [
      user("one"),
      { role: "assistant", content: [{ type: "thinking", thinking: words("hm"), signature: "s" }, call("1")] },
      { role: "user", content: [result("1")] },
    ];
    const read = (model: string, last: Message): number =>
      after(body(messages, { model }), body(messages, { model, messages: [...marked(messages), last] }))[0]!;
    assertEquals([read("claude-opus-4-8", user("summarize")), read("claude-opus-4-1", user("summarize"))], [5, 3]);
    assertEquals(read("claude-opus-4-1", { role: "user", content: [result("1")] }), 5);
  });
});

describe("the marks of a simulated cache", () => {
  /** A turn of so many blocks of text. */
  const turn = (blocks: number): Message => ({
    role: "user",
    content: Array.from({ length: blocks }, (_, index) => text(`block ${index}`, 100)),
  });
  /** What is read where the mark has moved on by so many positions. */
  const readAfter = (...more: Message[]): number => after(body(TALK), body([...TALK, ...more]))[0]!;

  it("look back over 20 positions, their own included", () => {
    assertEquals([readAfter(turn(19)), readAfter(turn(20))], [6, 3]);
  });

  it("count a run of calls, and a run of results, as one position", () => {
    const ids = Array.from({ length: 30 }, (_, index) => `${index}`);
    const calls = { role: "assistant", content: ids.map(call) };
    const results = { role: "user", content: ids.map((id) => result(id)) };
    assertEquals(readAfter(calls, results), 6);
    const single = ids.flatMap((id) => [
      { role: "assistant", content: [call(id)] },
      { role: "user", content: [result(id)] },
    ]);
    assertEquals(readAfter(...single), 3);
  });

  it("find what another mark wrote, with one of them at the old place", () => {
    const both = { messages: [...marked(TALK), ...marked([turn(40)])] };
    assertEquals(after(body(TALK), body(TALK, both))[0], 6);
  });

  it("may stand on the whole request: the last block is meant", () => {
    const whole = body(TALK, { messages: TALK, ...MARK });
    assertEquals(after(whole, whole), [6, 0, 0]);
    assertEquals(after(whole, { ...whole, messages: [...TALK, assistant("four"), user("five")] }), [6, 2, 0]);
  });

  for (
    const [what, wrong, says] of [
      ["five of them", body([user("1", MARK), user("2", MARK), user("3")]), "maximum of 4"],
      [
        "a fifth on the whole request",
        body([user("1", MARK), user("2")], { messages: [user("1", MARK), user("2", MARK), user("3")], ...MARK }),
        "maximum of 4",
      ],
      ["a long one after a short one", body(TALK, { messages: marked(TALK, LONG) }), "must not come after"],
      [
        "two times on the last block",
        body(TALK, { tools: [], system: "s", messages: marked(TALK, LONG), ...MARK }),
        "another ttl",
      ],
      [
        "one on reasoning",
        body([user("1"), { role: "assistant", content: [{ type: "thinking", thinking: "hm" }] }]),
        "thinking blocks",
      ],
    ] as const
  ) {
    it(`are refused as the API does: ${what}`, () => {
      const error = assertThrows(() => promptCache().receive(wrong), WaymarkError);
      assertEquals([error.code, error.status], ["provider-error", 400]);
      assertStringIncludes(error.message, says);
    });
  }
});

describe("what a simulated cache keeps", () => {
  const alone = (tokens: number, model: string, mark = MARK): Body => ({
    model,
    messages: [{ role: "user", content: [text("x", tokens, mark)] }],
  });

  it("is nothing under the minimum of the model, without a word", () => {
    for (
      const [model, minimum] of [["claude-opus-5", 512], ["claude-opus-4-8", 1_024], [
        "claude-opus-4-5",
        4_096,
      ]] as const
    ) {
      const below = alone(minimum - 50, model), above = alone(minimum + 50, model);
      assertEquals(promptCache().send(below).cache_creation_input_tokens, 0);
      const cache = promptCache();
      cache.send(below);
      assertEquals(cache.send(below).cache_read_input_tokens, 0);
      assert(promptCache().send(above).cache_creation_input_tokens > minimum);
    }
  });

  it("stays five minutes from when a request begins, and five more from each time it is read", () => {
    const clock = fakeClock(), cache = promptCache({ clock });
    const read = (ms: number): number => {
      clock.advance(ms);
      return shares(cache.send(body(TALK)))[0]!;
    };
    assertEquals([read(0), read(299_000), read(299_000), read(300_000), read(10)], [0, 6, 6, 0, 6]);
    const slow = promptCache({ clock }), begun = slow.receive(body(TALK));
    clock.advance(200_000);
    begun.answer();
    clock.advance(100_000);
    assertEquals(shares(slow.send(body(TALK)))[0], 0);
  });

  it("stays an hour where the mark asks for it, at its own price", () => {
    const clock = fakeClock(), cache = promptCache({ clock });
    const long = body(TALK, { tools: [TOOLS[0], { ...TOOLS[1], ...LONG }], system: [text("system", 1_000, LONG)] });
    const { usage, cost } = cache.receive(long);
    const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: hour } = usage.cache_creation;
    assertEquals([short, hour].map((tokens) => Math.round(tokens / 1_000)), [3, 3]);
    assertEquals(cost, usage.input_tokens + 1.25 * short + 2 * hour);
    cache.send(long);
    clock.advance(400_000);
    assertEquals(shares(cache.send(long)), [3, 3, 0]);
    clock.advance(3_600_000);
    assertEquals(shares(cache.send(long)), [0, 6, 0]);
  });

  it("can be read from when an answer begins, not by requests sent at the same time", () => {
    const cache = promptCache(), first = cache.receive(body(TALK)), second = cache.receive(body(TALK));
    assertEquals([first, second].map(({ usage }) => shares(usage)[0]), [0, 0]);
    first.answer();
    assertEquals(shares(cache.send(body(TALK)))[0], 6);
  });

  it("costs what the table says, or what is given", () => {
    const cost = (options: PromptCacheOptions, model: string): number => {
      const cache = promptCache(options), request = body(TALK, { model });
      cache.send(request);
      const { usage, cost } = cache.receive(request);
      return Math.round(1_000 * cost / usage.cache_read_input_tokens) / 1_000;
    };
    assertEquals([cost({}, "claude-opus-4-8"), cost({}, "claude-fable-5-1")], [0.1, 0.025]);
    assertEquals(cost({ prices: { read: 0.5 } }, "claude-opus-4-8"), 0.5);
  });

  it("is never made up for a model whose figures are not known", () => {
    const unknown = alone(5_000, "house-model");
    const error = assertThrows(() => promptCache().send(unknown), WaymarkError, "give prices.read");
    assertEquals(error.code, "invalid-option");
    const prices = { read: 0.1, write: 1.25, minimumTokens: 1_024, ttlMs: 300_000 };
    assert(promptCache({ prices }).send(unknown).cache_creation_input_tokens > 4_900);
  });

  it("is measured by an estimate of one's own", () => {
    const request = body(TALK),
      { cache_creation_input_tokens: tokens } = promptCache({ estimate: () => 700 }).send(request);
    assertEquals(tokens, 6 * 700);
  });
});

describe("the diagnostics of a simulated cache", () => {
  for (
    const [reason, second] of [
      [undefined, body(TALK)],
      [undefined, body([...TALK, assistant("four"), user("five")])],
      ["model_changed", body(TALK, { model: "claude-opus-4-1" })],
      ["model_changed", body(TALK, { speed: "fast" })],
      ["tools_changed", body(TALK, { tools: TOOLS.toReversed(), system: "other" })],
      ["system_changed", body(TALK.slice(1), { system: "other" })],
      ["messages_changed", body(TALK.slice(1))],
      ["messages_changed", body(TALK.slice(0, 2))],
      ["unavailable", body(TALK, { tool_choice: { type: "none" } })],
      ["unavailable", body(TALK, { thinking: { type: "adaptive" } })],
    ] as const
  ) {
    it(`say ${reason ?? "nothing"} for ${JSON.stringify(second).length} characters of a second request`, () => {
      const cache = promptCache(), id = cache.receive(body(TALK)).answer();
      assertEquals(cache.receive(second).missReason(id), reason);
    });
  }

  it("say where they know nothing of the answer before", () => {
    assertEquals(promptCache().receive(body(TALK)).missReason("msg_other"), "previous_message_not_found");
  });
});

describe("a simulated cache, under any conversation", () => {
  /** A step: messages added, the first ones dropped, or one changed. */
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ drop: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ change: fc.nat({ max: 20 }) }),
  );

  it("bills every token once, and reads only what an earlier request began with, letter for letter", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const cache = promptCache({ estimate: (block) => JSON.stringify(block).length });
        const earlier: string[][] = [];
        let talk = [user("first")], made = 0;
        for (const { add = 0, drop = 0, change } of steps as { add?: number; drop?: number; change?: number }[]) {
          for (let more = 0; more < add; more++) talk = [...talk, user(`message ${++made}`)];
          talk = talk.length > drop ? talk.slice(drop) : talk;
          if (change !== undefined) talk = talk.with(change % talk.length, user(`changed ${++made}`));
          const { usage } = cache.receive(body(talk)), parts = partsOf(body(talk));
          const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens } = usage;
          assertEquals(input_tokens + read + cache_creation_input_tokens, parts.join("").length);
          const common = Math.max(0, ...earlier.map((other) => commonLength(other, parts)));
          assert(read <= common, `${read} of ${common}`);
          cache.send(body(talk));
          earlier.push(parts);
        }
      }),
      { numRuns: 60 },
    );
  });

  /** The blocks of a request as text, without marks. */
  function partsOf({ tools, system, messages }: Body): string[] {
    const blocks = [
      ...tools as Block[],
      ...system as Block[],
      ...(messages as Message[]).flatMap(({ content }) => content as Block[]),
    ];
    return blocks.map(({ cache_control: _mark, ...block }) => JSON.stringify(block));
  }

  function commonLength(one: readonly string[], other: readonly string[]): number {
    const end = other.findIndex((part, index) => part !== one[index]);
    return other.slice(0, end < 0 ? other.length : end).join("").length;
  }
});
