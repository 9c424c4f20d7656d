/**
 * Ten thousand turns of the kinds that set compaction off again and again elsewhere: what cannot be made smaller, tails that
 * grow, models that fail. What is bounded is stated, each bound made from the options and the tokens said, not from the code.
 */

import { assert, assertEquals, assertGreater } from "@std/assert";
import { describe, it } from "node:test";
import { createCompactor } from "../../src/compaction.ts";
import type { CompactorStats } from "../../src/compaction/compactor_types.ts";
import { estimateTokens } from "../../src/compaction/estimate.ts";
import type { CompactionEvent, CompactorOptions, HostMessage } from "../../src/compaction/types.ts";
import { type FakeClock, fakeClock, type Script, scriptedModel } from "../../src/testing.ts";

const LIMIT = { timeout: 240_000 };
const TURNS = 10_000, BUDGET = 10_000;
/** The defaults, said again: a change of one is a change of the bounds. */
const COOLDOWN = 5, MIN_SPAN = 0.1, STRIKES = 3, SUMMARY_SHARE = 0.2;

/** A message of so many tokens. */
const user = (tokens: number): HostMessage => ({ role: "user", content: "u ".repeat(tokens * 2 - 15) });

/** One turn: a call and its result, so many tokens together; nothing a person says. */
function round(turn: number, tokens: number): HostMessage[] {
  const id = `toolu_${turn}`, call = { type: "tool_use", id, name: "read", input: { path: "a.ts" } };
  const result = { type: "tool_result", tool_use_id: id, content: "r ".repeat(Math.max(1, tokens * 2 - 90)) };
  return [{ role: "assistant", content: [call] }, { role: "user", content: [result] }];
}

/** What a person asks for, an answer and a round after it. */
function task(turn: number, tokens: number): HostMessage[] {
  if (turn % 4) return round(turn, tokens);
  return [{ role: "assistant", content: `done ${turn}` }, { role: "user", content: `task ${turn}` }];
}

/** What came of a storm. */
interface Storm extends CompactorStats {
  /** Times a view was something else than the one before and more. */
  readonly breaks: number;
  /** Views over the budget. */
  readonly over: number;
  /** Tokens said, all turns together. */
  readonly said: number;
  /** Requests to the model. */
  readonly asked: number;
  readonly events: Readonly<Record<string, number>>;
  /** Reasons of notices, each time one was given. */
  readonly notices: readonly string[];
  /** The last view. */
  readonly last: readonly HostMessage[];
}

interface StormOptions extends Partial<CompactorOptions> {
  readonly first?: readonly HostMessage[];
  readonly turns?: number;
  readonly turn: (turn: number) => readonly HostMessage[];
  readonly script?: Script;
  /** Between a view and the next turn. Default: whatever is on its way comes. */
  readonly between?: (clock: FakeClock) => void;
}

async function storm(options: StormOptions): Promise<Storm> {
  const { first = [], turns = TURNS, turn, script = () => "Short.", between, ...rest } = options;
  const events: Record<string, number> = {}, notices: string[] = [], clock = fakeClock();
  const model = scriptedModel(script);
  const compactor = createCompactor({
    budget: BUDGET,
    model,
    clock,
    onEvent: ({ what }: CompactionEvent) => void (events[what] = (events[what] ?? 0) + 1),
    onNotice: ({ reason }) => notices.push(reason),
    ...rest,
  });
  let last: HostMessage[] = [], breaks = 0, over = 0, said = 0;
  for (let at = 0; at < turns; at++) {
    const messages = at ? turn(at) : [...first, ...turn(at)];
    said += messages.reduce((sum, message) => sum + estimateTokens(message), 0);
    compactor.append(...messages);
    const view = compactor.view();
    if (last.some((message, index) => message !== view[index])) breaks++;
    if (compactor.stats().viewTokens > BUDGET) over++;
    last = view;
    between?.(clock);
    await (between ? Promise.resolve() : compactor.settled());
  }
  compactor.close();
  await compactor.settled();
  return { ...compactor.stats(), breaks, over, said, asked: model.calls.length, events, notices, last };
}

/** What holds of every storm, and the sums that a failing test prints. */
function bounded(storm: Storm, turns = TURNS): Storm {
  const { begun, swapped, refused, failed, ladders, breaks, said, asked, notices, last, ...more } = storm;
  const sums = JSON.stringify({ begun, swapped, refused, failed, ladders, breaks, said, asked, notices, ...more });
  assert(begun <= 1 + turns / (COOLDOWN + 1), `at most one summary for every ${COOLDOWN} turns of rest: ${sums}`);
  assert(swapped <= said / (MIN_SPAN * BUDGET), `no summary of less than a tenth of the budget: ${sums}`);
  assert(asked <= begun, `one request a summary: ${sums}`);
  assert(breaks <= swapped + ladders, `a view changes where something was done, and only there: ${sums}`);
  assertEquals(new Set(notices).size, notices.length, `each notice once: ${sums}`);
  assertEquals(storm.events["ladder"] ?? 0, ladders);
  assert(last.length > 0);
  return storm;
}

describe("ten thousand turns", LIMIT, () => {
  it("of an ordinary conversation: no summary without a tenth of the budget in it, and the ladder is never needed", async () => {
    const { swapped, ladders, over, said, breaks } = bounded(await storm({ turn: (turn) => task(turn, 200) }));
    assertGreater(swapped, said / (2 * BUDGET), "it is compacted, all the same");
    assertEquals(breaks, swapped);
    assertEquals([over, ladders], [0, 0]);
  });

  it("after one request that fills two thirds of the budget: what is left is summarized in pieces worth a call", async () => {
    const { swapped, over, breaks, said } = bounded(
      await storm({ first: [user(BUDGET * 0.65)], turn: (turn) => round(turn, 60) }),
    );
    assertGreater(swapped, 50);
    assert(breaks <= 2 * said / (MIN_SPAN * BUDGET));
    assertEquals(over, 0);
  });

  it("after one request that fills nine tenths of it: the floor is told once, and what is left out goes in one piece", async () => {
    const { over, notices, breaks, said, ladders, begun } = bounded(
      await storm({ first: [user(BUDGET * 0.9)], turn: (turn) => round(turn, 60) }),
    );
    const room = BUDGET * 0.1;
    assertEquals([over, notices], [0, ["floor-trigger"]]);
    assert(breaks <= 2 * said / room, `${breaks} for ${said} tokens`);
    assertGreater(ladders, 100, "the ladder makes room");
    assert(begun < ladders / 10, `${begun} summaries, ${ladders} ladders`);
  });

  it("after one request that is larger than the budget: told once, left alone, and no model is asked", async () => {
    const { begun, asked, over, notices, breaks, said, floors } = bounded(
      await storm({ first: [user(BUDGET * 1.2)], turn: (turn) => round(turn, 60) }),
    );
    assertEquals([begun, asked, over, floors], [0, 0, TURNS, 1]);
    assertEquals(notices, ["floor-budget"]);
    assert(breaks <= 1 + said / (MIN_SPAN * BUDGET), `${breaks} for ${said} tokens`);
  });

  it("under a system message that is larger than the budget, as a sub-agent inherits it: the same", async () => {
    const system = { role: "system", content: "s ".repeat(BUDGET * 3) };
    const { begun, over, notices, breaks, said } = bounded(
      await storm({ first: [system, user(50)], turn: (turn) => task(turn, 60) }),
    );
    assertEquals([begun, over, notices], [0, TURNS, ["floor-budget"]]);
    assert(breaks <= 1 + said / (MIN_SPAN * BUDGET), `${breaks} for ${said} tokens`);
  });

  it("that answer nothing: calls that wait for their results for ever are a floor like any other", async () => {
    const open = (id: string): HostMessage => ({
      role: "assistant",
      content: [{ type: "tool_use", id, name: "read", input: { path: "p ".repeat(BUDGET) } }],
    });
    const { begun, breaks, notices, said } = bounded(
      await storm({ first: ["a", "b", "c", "d"].map(open), turn: (turn) => round(turn, 60) }),
    );
    assert(notices.length <= 2 && begun <= 1, `${begun} ${notices}`);
    assert(breaks <= 1 + said / (MIN_SPAN * BUDGET));
  });

  it("whose rounds grow until one alone is larger than the budget: none is shown over it, and the floor is told once", async () => {
    const { over, notices, ladders, begun } = bounded(
      await storm({ turn: (turn) => round(turn, 50 + Math.floor(turn / 10) ** 2 / 60) }),
    );
    assertEquals([over, notices], [0, ["floor-trigger"]], "a result that does not fit is cleared");
    assert(ladders <= TURNS && begun <= TURNS / 10, `${ladders} ladders, ${begun} summaries`);
  });

  it("whose protected tail grows by itself: what is new is worth more than what is old", async () => {
    const { over, breaks, said, swapped, ladders } = bounded(
      await storm({ turn: (turn) => [...round(turn, 100), ...(turn % 50 ? [] : [user(2_000)])] }),
    );
    assertEquals(over, 0);
    assertEquals(breaks, swapped + ladders);
    assert(breaks <= 2 * said / (MIN_SPAN * BUDGET));
  });

  it("of the ladder alone: it makes room for a quarter of the budget at the least", async () => {
    const { begun, over, ladders, said, breaks } = bounded(
      await storm({ strategy: "prune", turn: (turn) => task(turn, 200) }),
    );
    assertEquals([begun, over], [0, 0]);
    assertEquals(breaks, ladders);
    assert(ladders <= 1 + said / (0.25 * BUDGET), `${ladders} for ${said} tokens`);
  });

  it("with summaries that are as long as they may be: what they are too many of goes, oldest first", async () => {
    const { over, breaks, swapped, ladders, last } = bounded(
      await storm({ turn: (turn) => task(turn, 200), script: () => "summary ".repeat(400) }),
    );
    assertEquals(over, 0);
    assertEquals([ladders, breaks], [0, swapped]);
    const kept = JSON.stringify(last).split("[waymark summary").length - 1;
    assert(kept >= 1 && kept <= 1 + SUMMARY_SHARE * BUDGET / 800, `${kept} summaries of 800 tokens`);
  });
});

describe("ten thousand turns with a model that", LIMIT, () => {
  const turn = (turn: number): HostMessage[] => task(turn, 200);
  /** What the ladder needs where there are no summaries. */
  const LADDERS = (said: number): number => 1 + said / (0.25 * BUDGET);

  for (
    const [what, script] of [
      ["always fails", () => new Error("503")],
      ["answers nothing", () => ""],
      ["calls a tool", () => ({ text: "I look.", stopReason: "tool" })],
      ["refuses", () => ({ text: "I can't help with that.", stopReason: "end" })],
      ["writes more than it was given", () => "more ".repeat(40_000)],
    ] as const satisfies readonly (readonly [string, Script])[]
  ) {
    it(`${what} is asked three times in all, and told of once`, async () => {
      const { begun, asked, swapped, over, notices, ladders, said, events } = bounded(await storm({ turn, script }));
      assertEquals([begun, asked, swapped, over], [STRIKES, STRIKES, 0, 0]);
      assertEquals(notices, ["stopped"]);
      assertEquals([events["stopped"], events["refused"]], [1, STRIKES]);
      assert(ladders <= LADDERS(said), `${ladders} for ${said} tokens`);
    });
  }

  it("never answers is given up at its deadline, three times in all", async () => {
    const { begun, asked, failed, over, ladders, said } = bounded(
      await storm({
        turn,
        script: () => new Promise(() => {}),
        between: (clock) => clock.advance(1_000),
      }),
    );
    assertEquals([begun, asked, failed, over], [STRIKES, STRIKES, STRIKES, 0]);
    assert(ladders <= LADDERS(said));
  });

  it("fails two times of three goes on: a summary after each second failure, and its turns of rest", async () => {
    const script: Script = (_request, index) => index % 3 === 2 ? "Short." : new Error("529");
    const { begun, swapped, failed, over, notices } = bounded(await storm({ turn, script }));
    assertEquals([over, notices], [0, []]);
    assert(Math.abs(failed - 2 * swapped) <= 2, `${failed} of ${begun} failed, ${swapped} swapped`);
    assertGreater(swapped, 50);
  });

  it("answers too late for the span it was given stays within the same bounds", async () => {
    let answer: (() => void)[] = [];
    const script: Script = () => new Promise((resolve) => answer.push(() => resolve("Short.")));
    let turns = 0;
    const { over } = bounded(
      await storm({
        turn,
        script,
        timeoutMs: 1e9,
        between: () => {
          if (++turns % 300) return;
          for (const say of answer) say();
          answer = [];
        },
      }),
    );
    assertEquals(over, 0);
  });
});

describe("a host that asks for a view again and again", LIMIT, () => {
  it("without anything new gets the same, and no summary is begun for it", async () => {
    const model = scriptedModel(() => "Short.");
    const compactor = createCompactor({ budget: BUDGET, model });
    for (let turn = 0; turn < 45; turn++) compactor.append(...task(turn, 200));
    compactor.view();
    await compactor.settled();
    const view = compactor.view();
    for (let again = 0; again < 1_000; again++) {
      assertEquals(compactor.view(), view);
      await compactor.settled();
    }
    assertEquals(model.calls.length, 1);
    await compactor[Symbol.asyncDispose]();
  });

  it("after each swap has a rest of five turns, however much comes in them", async () => {
    const model = scriptedModel(() => "Short."), begun: number[] = [];
    let turn = 0;
    const compactor = createCompactor({
      budget: BUDGET,
      model,
      onEvent: ({ what }) => what === "begun" && begun.push(turn),
    });
    for (; turn < 300; turn++) {
      compactor.append(...round(turn, 900));
      compactor.view();
      await compactor.settled();
    }
    const rests = begun.slice(1).map((at, index) => at - begun[index]!);
    assertGreater(rests.length, 10);
    assert(rests.every((rest) => rest > COOLDOWN), `${rests}`);
    await compactor[Symbol.asyncDispose]();
  });

  it("swings around the trigger is not compacted for it: usage has to grow by a twentieth of the budget", async () => {
    const run = async (step: number): Promise<number> => {
      const compactor = createCompactor({
        budget: BUDGET,
        model: scriptedModel(() => "s ".repeat(1_950)),
        cooldownTurns: 0,
        minSpan: 0.1,
      });
      compactor.append(user(2_000), ...Array.from({ length: 40 }, (_, turn) => round(turn, 100)).flat());
      let turns = 0;
      for (; turns < 400; turns++) {
        compactor.append(...round(1_000 + turns, step));
        compactor.view();
        await compactor.settled();
      }
      const { swapped } = compactor.stats();
      await compactor[Symbol.asyncDispose]();
      return swapped;
    };
    const tokens = 400 * 100;
    assert(await run(100) <= 1 + tokens / (0.05 * BUDGET));
  });
});
