import { describe, it } from "node:test";
import { assert, assertEquals, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { Anthropic } from "@anthropic-ai/sdk";
import type { ModelMessage } from "ai";
import fc from "fast-check";
import { createCompactor } from "../../src/compaction.ts";
import { createCompactorOver } from "../../src/compaction/compactor.ts";
import type { Compactor } from "../../src/compaction/compactor_types.ts";
import { CLEARED } from "../../src/compaction/clearing.ts";
import { estimateTokens } from "../../src/compaction/estimate.ts";
import { isSummaryText, LEFT_OUT } from "../../src/compaction/own_text.ts";
import { renderReattached } from "../../src/compaction/reattach.ts";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import type { Summarizing, SummaryInput } from "../../src/compaction/summarize.ts";
import type {
  CompactionEvent,
  CompactorOptions,
  HostMessage,
  Notice,
  SummaryCall,
} from "../../src/compaction/types.ts";
import { WaymarkError } from "../../src/errors.ts";
import { createSession } from "../../src/session.ts";
import { createWaymark } from "../../src/waymark.ts";
import { scriptedModel } from "../../src/testing.ts";
import type { Given, Session } from "../../src/session_types.ts";
import type { DigestRow } from "../../src/tool_use/types.ts";
import { faults, HOSTS, play, steps } from "./histories.ts";

/** What makes summaries by hand: each waits until it is told how it ends. */
interface Hand extends Summarizing {
  readonly asked: (SummaryInput & { readonly aborted: () => boolean })[];
  readonly noted: unknown[];
  readonly views: (readonly HostMessage[])[];
  resets: number;
  /** Ends the oldest one that waits. */
  end(how: string | Error): void;
}

const CALL: SummaryCall = {
  modeRequested: "standalone",
  modeUsed: "standalone",
  prefixMessages: 0,
  spanTokens: 0,
  prefixTokens: 0,
  usage: { calls: 1, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
};

function byHand(): Hand {
  const waiting: PromiseWithResolvers<{ text: string; call: SummaryCall }>[] = [];
  const hand: Hand = {
    asked: [],
    noted: [],
    views: [],
    resets: 0,
    end(how) {
      const first = waiting.shift()!;
      if (typeof how === "string") first.resolve({ text: how, call: CALL });
      else first.reject(how);
    },
    noteRequestSent: (request) => void hand.noted.push(request),
    noteUsage: (usage) => void hand.noted.push(usage),
    snapshot(view) {
      hand.views.push(view);
      return `snapshot ${hand.views.length}`;
    },
    summarize(input) {
      hand.asked.push({ ...input, aborted: () => input.signal.aborted });
      const promise = Promise.withResolvers<{ text: string; call: SummaryCall }>();
      waiting.push(promise);
      return promise.promise;
    },
    reset: () => void hand.resets++,
    lastCall: undefined,
    stats: () => ({ forks: 1, fallbacks: 2, declines: 3, standalone: 4, missed: 5 }),
  };
  return hand;
}

/** A conversation of a budget of 1,000 tokens in which every message has a hundred. */
function talk(options: Partial<CompactorOptions> = {}) {
  const hand = byHand(), events: CompactionEvent[] = [], notices: Notice[] = [];
  const sizes = new WeakMap<HostMessage, number>();
  const compactor = createCompactorOver(
    {
      budget: 1_000,
      estimate: (message) => sizes.get(message) ?? (isOurs(message) ? 20 : message["content"] === LEFT_OUT ? 5 : 10),
      onEvent: (event) => events.push(event),
      onNotice: (notice) => notices.push(notice),
      ...options,
    },
    anthropicShape,
    hand,
  );
  let count = 0;
  const add = (message: HostMessage, size = 100): HostMessage => {
    sizes.set(message, size);
    compactor.append(message);
    return message;
  };
  const human = (size?: number): HostMessage => add({ role: "user", content: `request ${++count}` }, size);
  const answer = (size?: number): HostMessage => add({ role: "assistant", content: `answer ${++count}` }, size);
  const round = (size = 100): HostMessage[] => {
    const id = `call_${++count}`;
    return [
      add({ role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] }, 10),
      add({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `text of ${id}` }] }, size),
    ];
  };
  /** So many messages, a person's and an answer in turn. */
  const chat = (messages: number): HostMessage[] =>
    Array.from({ length: messages }, (_, at) => at % 2 ? answer() : human());
  return {
    compactor,
    hand,
    events,
    notices,
    add,
    human,
    answer,
    round,
    chat,
    what: () => events.map(({ what }) => what),
  };
}

function isOurs({ content }: HostMessage): boolean {
  return typeof content === "string" && isSummaryText(content);
}

/** Lets everything happen that waits for nothing. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Brings a conversation to a swapped summary. */
async function swapped(talking: ReturnType<typeof talk>): Promise<HostMessage[]> {
  talking.compactor.view();
  await settle();
  talking.hand.end("what was done");
  await talking.compactor.settled();
  return talking.compactor.view();
}

describe("a view", () => {
  it("is all there is as long as nothing is due", async () => {
    const { compactor, chat, hand } = talk(), given = chat(5);
    assertEquals(compactor.view(), given);
    await settle();
    assertEquals([hand.asked.length, hand.views.length], [0, 0]);
  });

  it("begins a summary at 60 % of the budget, waits for nothing, and has it at the next view", async () => {
    const { compactor, chat, hand, what } = talk(), given = chat(6);
    assertStrictEquals(compactor.view().length, 6);
    assertEquals(what(), ["begun"]);
    await settle();
    assertEquals(hand.asked[0]!.messages, given.slice(0, 1));
    assertEquals(hand.asked[0]!.spanTokens, 100);
    assertEquals(compactor.view(), given);
    hand.end("what was done");
    await settle();
    const [first, ...rest] = compactor.view();
    assertEquals(what(), ["begun", "made", "swapped"]);
    assertStringIncludes(String(first!["content"]), "what was done");
    assertEquals(first!["role"], "user");
    assertEquals(rest, given.slice(1));
    assertEquals(compactor.history(), given);
    assertEquals(compactor.stats().viewTokens, 520);
  });

  it("asks for one summary at a time, with the state of the moment it is begun", async () => {
    const { compactor, chat, hand } = talk();
    chat(6);
    const view = compactor.view();
    compactor.noteRequestSent({ messages: view, tools: [] });
    for (let more = 0; more < 3; more++) {
      chat(1);
      compactor.view();
      await settle();
    }
    assertEquals([hand.asked.length, hand.views.length], [1, 1]);
    assertEquals(hand.views[0], view);
    assertEquals(hand.asked[0]!.snapshot, "snapshot 1");
    assertEquals(hand.noted, [{ messages: view, tools: [] }]);
  });

  it("that a hook asks for begins no other summary", () => {
    const compactors: Compactor[] = [];
    const { compactor, chat, hand, notices } = talk({ onEvent: () => compactors[0]?.view() });
    compactors.push(compactor);
    chat(6);
    compactor.view();
    assertEquals([hand.views.length, compactor.stats().begun, notices], [1, 1, []]);
  });

  it("only grows at its end between a swap and the next one", async () => {
    const talking = talk(), { compactor, chat } = talking;
    chat(6);
    let before = await swapped(talking);
    for (let turn = 0; turn < 3; turn++) {
      chat(1);
      const view = compactor.view();
      before.forEach((message, index) => assertStrictEquals(view[index], message));
      before = view;
    }
  });

  it("never absorbs a summary again: the next one stands behind it", async () => {
    const talking = talk({ cooldownTurns: 0 }), { compactor, chat, hand } = talking;
    chat(6);
    await swapped(talking);
    chat(2);
    compactor.view();
    await settle();
    assert(hand.asked[1]!.messages.every((message) => !isOurs(message)));
    hand.end("more was done");
    await compactor.settled();
    const view = compactor.view();
    assertEquals(view.map(isOurs).slice(0, 3), [true, true, false]);
    assertStringIncludes(String(view[1]!["content"]), "more was done");
  });

  it("keeps the last words of a person, and takes the rounds after them", async () => {
    const talking = talk(), { compactor, human, round, hand } = talking, first = human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    const view = await swapped(talking);
    assertStrictEquals(view[0], first);
    assert(isOurs(view[1]!));
    assertEquals(hand.asked[0]!.messages.length, 4);
    assertEquals(faults(view, compactor.history()), []);
  });

  it("is within the budget at once where no summary is ready: results are cleared, oldest first", () => {
    const { compactor, human, round, hand, what } = talk();
    human();
    const [, result] = round(280);
    for (let rounds = 0; rounds < 3; rounds++) round(280);
    const view = compactor.view();
    assert(compactor.stats().viewTokens <= 1_000);
    assertEquals(anthropicShape.facts(view[2]!).results, [CLEARED]);
    assertEquals(anthropicShape.facts(result!).results, ["text of call_2"]);
    assertStrictEquals(compactor.history()[2], result);
    assertEquals([what(), hand.asked.length], [["ladder"], 0]);
    assertEquals([compactor.stats().ladders, compactor.stats().cleared, compactor.stats().dropped], [1, 2, 0]);
  });

  it("that the ladder changed begins no summary: the next one does, when a request that was sent holds what it shows", async () => {
    const modes = ["standalone", "fork", "auto"] as const;
    const told = await Promise.all(modes.map(async (callMode) => {
      const events: string[] = [], text = "what was done";
      const usage = { input: 1, output: 1, cacheRead: 900, cacheWrite: 0 };
      const compactor = createCompactor({
        budget: 1_000,
        callMode,
        prices: { read: 0.001, minimumTokens: 1, ttlMs: 1e9, priceRatio: 1 },
        model: scriptedModel(() => text, { name: "m" }),
        sender: { send: () => Promise.resolve({ text, stopReason: "end", usage }) },
        onNotice: ({ reason }) => events.push(reason),
        onEvent: ({ what }) => events.push(what),
      });
      let calls = 0;
      const turn = async (rounds: number, size: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const id = `call_${++calls}`, content = "x".repeat(size * 4);
          compactor.append({ role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] });
          compactor.append({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] });
        }
        const messages = compactor.view();
        compactor.view(); // a host may ask twice
        events.push("sent");
        compactor.noteRequestSent({ model: "m", tools: [], messages });
        await compactor.settled();
      };
      compactor.append({ role: "user", content: "do it" });
      await turn(1, 250);
      await turn(3, 250);
      await turn(1, 1);
      await turn(1, 1);
      const { forks, fallbacks, declines } = compactor.stats();
      compactor.close();
      return { events, counts: [forks, fallbacks, declines] };
    }));
    assertEquals(told.map(({ counts }) => counts), [[0, 0, 0], [1, 0, 0], [1, 0, 0]]);
    for (const { events } of told) {
      assertEquals(events, ["sent", "ladder", "sent", "begun", "sent", "made", "swapped", "sent"]);
    }
  });

  it("puts the digests of cleared results in their place", () => {
    const row: DigestRow = {
      callId: "call_2",
      tool: "read",
      resultBytes: 5_000,
      status: "ok",
      summary: "all fine",
      durationMs: 1,
      at: 0,
    };
    const { compactor, human, round } = talk({ summaries: () => new Map([["call_2", row]]) });
    human();
    for (let rounds = 0; rounds < 4; rounds++) round(280);
    assertStringIncludes(anthropicShape.facts(compactor.view()[2]!).results![0]!, "all fine");
  });

  it("is within its budget where the result that is too large stands beside a person's words, which stay", () => {
    const { compactor, human, add } = talk();
    human();
    add({ role: "assistant", content: [{ type: "tool_use", id: "a", name: "read", input: {} }] });
    const result = { type: "tool_result", tool_use_id: "a", content: "very long" };
    const words = { type: "text", text: "be quick" };
    add({ role: "user", content: [result, words] }, 5_000);
    assertEquals(compactor.view().at(-1)!["content"], [{ ...result, content: CLEARED }, words]);
    assert(compactor.stats().viewTokens <= 1_000);
  });

  it("has messages of another shape told of once: no call is seen in them", () => {
    const { compactor, notices, human } = talk();
    human();
    assertEquals(notices, []);
    for (const id of ["a", "b"]) compactor.append({ role: "tool", tool_call_id: id, content: "text" });
    assertEquals(notices.map(({ reason }) => reason), ["unknown-message"]);
    assertStringIncludes(notices[0]!.message, "none of the shape anthropic");
  });

  it("is made without digests where the host's list of them fails", () => {
    const { compactor, human, round } = talk({
      summaries: () => {
        throw new Error("the host's own");
      },
    });
    human();
    for (let rounds = 0; rounds < 4; rounds++) round(280);
    assertEquals(anthropicShape.facts(compactor.view()[2]!).results, [CLEARED]);
  });

  it("goes down to the target, so that the ladder is not needed again at once", () => {
    const { compactor, chat, events } = talk({ strategy: "prune" });
    for (let turn = 0; turn < 100; turn++) {
      chat(1);
      compactor.view();
      assert(compactor.stats().viewTokens <= 1_000);
    }
    const ladders = events.filter(({ what }) => what === "ladder").length;
    assert(ladders >= 10 && ladders <= 20, `${ladders} ladders`);
  });
});

describe("a summary", () => {
  it("that is not smaller than its span is refused, and the conversation stays as it was", async () => {
    const { compactor, chat, hand, what } = talk({ estimate: () => 100 }), given = chat(6);
    compactor.view();
    await settle();
    hand.end("just as long");
    await compactor.settled();
    assertEquals(compactor.view(), given);
    assertEquals(what(), ["begun", "made", "refused"]);
    assertEquals([compactor.lastCall?.reason, compactor.stats().refused], ["not-smaller", 1]);
  });

  it("that is empty is refused", async () => {
    const { compactor, chat, hand } = talk(), given = chat(6);
    compactor.view();
    await settle();
    hand.end(" \n");
    await compactor.settled();
    assertEquals(compactor.view(), given);
    assertEquals(compactor.stats().swapped, 0);
  });

  it("of messages that have gone since is ended, without a strike", async () => {
    const { compactor, chat, hand, notices, events } = talk({ strikes: 1 });
    chat(6);
    compactor.view();
    await settle();
    chat(10);
    const view = compactor.view();
    assert(hand.asked[0]!.aborted());
    hand.end("too late");
    await settle();
    assertEquals(compactor.view(), view);
    assertEquals(events.map(({ what, reason }) => what === "refused" ? reason : what), ["begun", "ladder", "stale"]);
    assertEquals([compactor.stats().refused, notices], [1, []]);
  });

  it("of messages to which another has come since is refused when it is there, without a strike", async () => {
    const { compactor, human, round, add, hand, notices } = talk({ strikes: 1 });
    human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    compactor.view();
    await settle();
    add({ role: "user", content: [{ type: "tool_result", tool_use_id: "call_2", content: "once more" }] });
    hand.end("what was done");
    await compactor.settled();
    const view = compactor.view();
    assertEquals(view, compactor.history());
    assertEquals([compactor.lastCall?.reason, compactor.stats().refused], ["stale", 1]);
    assert(!notices.some(({ reason }) => reason === "stopped"));
  });

  it("that fails leaves the conversation as it was, and no other is begun for five turns", async () => {
    const { compactor, chat, answer, hand, events } = talk(), given = chat(6);
    compactor.view();
    await settle();
    hand.end(new WaymarkError("provider-error", "Cannot ask m: 529"));
    await compactor.settled();
    assertEquals(events.map(({ what, reason }) => [what, reason]), [["begun", undefined], [
      "refused",
      "provider-error",
    ]]);
    assertEquals(compactor.view(), given);
    for (let turn = 0; turn < 6; turn++) {
      assertEquals(hand.views.length, 1);
      answer(1);
      compactor.view();
    }
    assertEquals([hand.views.length, compactor.stats().failed], [2, 1]);
  });

  it("is tried no more after three failures in a row, said once; the ladder goes on", async () => {
    const { compactor, chat, hand, what, notices } = talk({ cooldownTurns: 0 });
    chat(6);
    for (let failure = 0; failure < 3; failure++) {
      chat(1);
      compactor.view();
      await settle();
      hand.end(new WaymarkError("provider-error", "Cannot ask the model: no"));
      await compactor.settled();
    }
    assertEquals(what().at(-1), "stopped");
    for (let turn = 0; turn < 30; turn++) {
      chat(1);
      compactor.view();
      assert(compactor.stats().viewTokens <= 1_000);
    }
    assertEquals([hand.views.length, compactor.stats().failed], [3, 3]);
    assertEquals(notices.map(({ reason }) => reason), ["stopped"]);
    assertStringIncludes(notices[0]!.message, "3 in a row came to nothing. The last one: Cannot ask the model: no");
    compactor.clear();
    chat(6);
    compactor.view();
    assertEquals(hand.views.length, 4);
  });

  it("is not begun again at once by what it left: a swap is followed by quiet", async () => {
    const talking = talk(), { compactor, answer, chat, hand } = talking;
    chat(6);
    await swapped(talking);
    for (let turn = 0; turn < 5; turn++) {
      answer(60);
      compactor.view();
      compactor.view(); // nothing new: no turn
    }
    assertEquals(hand.views.length, 1);
    answer(60);
    compactor.view();
    assertEquals(hand.views.length, 2);
  });

  it("is never begun for a span too small, and a floor is told once", () => {
    const { compactor, human, answer, hand, what, notices } = talk();
    human(650);
    for (let turn = 0; turn < 20; turn++) {
      answer(1);
      compactor.view();
    }
    assertEquals([hand.views.length, compactor.stats().floors], [0, 1]);
    assertEquals(what(), ["floor"]);
    assertEquals(notices.map(({ reason }) => reason), ["floor-trigger"]);
  });

  it("is not begun where what must stay alone is over the budget, and the ladder rests then", () => {
    const { compactor, human, round, notices } = talk();
    human(2_000);
    for (let turn = 0; turn < 200; turn++) {
      round(10);
      compactor.view();
      assert(compactor.stats().viewTokens <= 2_000 + 120, `${compactor.stats().viewTokens}`);
    }
    const { ladders, floors } = compactor.stats();
    assert(ladders <= 200 * 20 / 100 + 1, `${ladders} ladders`);
    assertEquals([floors, notices.map(({ reason }) => reason)], [1, ["floor-budget"]]);
    assertStringIncludes(notices[0]!.message, "cannot be brought below about 20");
  });
});

describe("summaries", () => {
  /** A talk of so many swaps, in which every summary has sixty tokens. */
  const often = async (swaps: number, options: Partial<CompactorOptions> = {}) => {
    const talking = talk({ cooldownTurns: 0, hysteresis: 0, ...options }),
      { compactor, human, answer, hand, add } = talking;
    add({ role: "system", content: "rules" }, 1);
    for (let views = 0; compactor.stats().swapped < swaps; views++) {
      assert(views < 500);
      if (views % 2) answer(60);
      else human(60);
      compactor.view();
      await settle();
      if (hand.asked.length > compactor.stats().swapped) hand.end(`summary ${hand.asked.length}`);
      await settle();
    }
    return { ...talking, view: compactor.view() };
  };
  const large = (message: HostMessage): number => message["content"] === LEFT_OUT ? 5 : 60;

  it("take a fifth of the budget together: at a swap the oldest are left out, and that is said", async () => {
    const { view, compactor } = await often(4, { estimate: large, summaryShare: 0.2 });
    const texts = view.map(({ content }) => String(content).split("\n"));
    assertEquals(view.filter(isOurs).length, 1);
    assertEquals([texts[0]![0], texts[1]![0], texts[2]![1]], ["rules", LEFT_OUT, "summary 4"]);
    assertEquals([compactor.stats().dropped, compactor.stats().ladders], [3, 0]);
  });

  it("stay where there is room for them", async () => {
    const { view, compactor } = await often(4, { estimate: large, summaryShare: 0.25 });
    assertEquals([view.filter(isOurs).length, compactor.stats().dropped], [4, 0]);
  });

  it("are summarized with the next span where that is asked for, and only when they take too much", async () => {
    const { view, hand, compactor } = await often(5, { estimate: large, foldSummaries: true });
    const folded = hand.asked.map(({ messages }) => messages.filter(isOurs).map(({ content }) => String(content)));
    assertEquals(folded.map((summaries) => summaries.length > 0), [false, false, false, false, true]);
    assertStringIncludes(folded[4]![0]!, "summary 1");
    assertEquals(compactor.stats().dropped, 0);
    assert(view.filter(isOurs).length < 5);
  });
});

describe("a floor", () => {
  it("is left as soon as what must stay has become small enough", () => {
    const { compactor, human, answer } = talk();
    human(2_000);
    answer(10);
    compactor.view();
    human(20);
    compactor.view();
    assert(compactor.stats().viewTokens <= 1_000);
    human(2_000);
    compactor.view();
    assertEquals(compactor.stats().floors, 2);
  });
});

describe("clear() and setMessages()", () => {
  it("forget all that was, a summary on its way too", async () => {
    for (const forget of ["clear", "setMessages"] as const) {
      const { compactor, chat, hand, what } = talk();
      chat(6);
      compactor.view();
      await settle();
      const other = [{ role: "user", content: "anew" }];
      if (forget === "clear") compactor.clear();
      else compactor.setMessages(other);
      assertEquals([hand.asked[0]!.aborted(), hand.resets], [true, 1], forget);
      hand.end("of another conversation");
      await settle();
      const now = forget === "clear" ? [] : other;
      assertEquals([compactor.view(), compactor.history()], [now, now]);
      assertEquals([what(), compactor.lastCall], [["begun"], undefined]);
    }
  });

  it("drop a summary that waits for the next view", async () => {
    const { compactor, chat, hand } = talk();
    chat(6);
    compactor.view();
    await settle();
    hand.end("of another conversation");
    await compactor.settled();
    compactor.setMessages([{ role: "user", content: "anew" }]);
    assertEquals(compactor.view(), [{ role: "user", content: "anew" }]);
  });

  it("tell the session", () => {
    const session = createSession(), { compactor } = talk({ session });
    const seen = (): number => session.toJSON().given.length;
    record(session, "a.ts", "c1", "one\ntwo");
    record(session, "b.ts", "c2", "three\nfour");
    compactor.setMessages([
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "one\ntwo" }] },
    ]);
    assertEquals(session.toJSON().given.map(({ callId }) => callId), ["c1"]);
    compactor.clear();
    assertEquals(seen(), 0);
  });
});

/** Notes in a session that a call gave lines, or a map. */
function record(
  session: ReturnType<typeof createSession>,
  path: string,
  callId: string,
  text: string,
  more: { start?: number; end?: number; hash?: string } = {},
): void {
  const isMap = text.startsWith("[waymark map");
  const span = isMap ? { start: 0, end: 0 } : { start: 1, end: text.split("\n").length };
  (session as unknown as { record(given: unknown): void }).record({
    kind: isMap ? "map" : "lines",
    file: `/p/${path}`,
    path,
    hash: "h",
    lines: 300,
    ...span,
    text,
    callId,
    ...more,
  });
}

const MAP = [
  "[waymark map: PARTIAL, lines 1-2 of 300 are shown, the rest is not]",
  "Data about the file, not its text and not instructions. Made by a parser, not by a model.",
  "Regions:",
  "10-20  function  parse",
  "Next lines: lines 3-4. Region at 10: lines 10-11.",
  "[end of waymark map]",
].join("\n");

describe("the session of the re-read guard", () => {
  it("is told what a swap took, and nothing else", async () => {
    const session = createSession(), talking = talk({ session }), { compactor, human, round } = talking;
    human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    for (const call of [2, 3, 4, 5, 6]) record(session, `${call}.ts`, `call_${call}`, "one\ntwo");
    const view = await swapped(talking);
    const held = view.flatMap((message) => anthropicShape.facts(message).answers);
    assertEquals(session.toJSON().given.map(({ callId }) => callId), held);
    assertEquals([held.length, compactor.stats().swapped], [3, 1]);
  });

  it("is told what the ladder cleared and left out", () => {
    const session = createSession(), { compactor, human, round } = talk({ session });
    human();
    for (let rounds = 0; rounds < 8; rounds++) round(150);
    for (let call = 2; call <= 9; call++) record(session, `${call}.ts`, `call_${call}`, "one\ntwo");
    const held = compactor.view().flatMap((message) => {
      const { answers, results } = anthropicShape.facts(message);
      return results![0] === CLEARED ? [] : answers;
    });
    assert(held.length > 0 && held.length < 8);
    assertEquals(session.toJSON().given.map(({ callId }) => callId), held);
  });
});

describe("a read after a compaction", () => {
  it("of lines that left with it is whole, and what is still there is referred to", async () => {
    const session = createSession(), talking = talk({ session }), { compactor, human, add } = talking;
    const text = "one\ntwo\n", source = { read: () => new TextEncoder().encode(text) };
    const read = createWaymark({ cache: false, source, session }).wrap((_: { path: string }, _info?: unknown) => text);
    human();
    for (let call = 1; call <= 6; call++) {
      session.nextTurn();
      const id = `call_${call}`, content = await read({ path: `/f${call}.ts` }, { callId: id });
      assertEquals(content, text);
      add({ role: "assistant", content: [{ type: "tool_use", id, name: "read", input: {} }] }, 10);
      add({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] });
    }
    const held = (await swapped(talking)).flatMap((message) => anthropicShape.facts(message).answers);
    assert(held.length > 0 && held.length < 6, held.join());
    session.nextTurn();
    for (let call = 1; call <= 6; call++) {
      const again = await read({ path: `/f${call}.ts` }, { callId: `again_${call}` });
      assertEquals(again === text, !held.includes(`call_${call}`), `call_${call}`);
    }
    assertEquals(compactor.stats().swapped, 1);
  });
});

const LINES = Array.from({ length: 80 }, (_, line) => `export const v${line} = ${line};`).join("\n");

/** One read that the compactor cannot know for one: the shape it was told, and the messages it gets. */
const MISFITS: readonly (readonly [what: string, shape: "anthropic" | "openai" | "ai-sdk", read: HostMessage[]])[] = [
  ["an OpenAI chat", "anthropic", [
    { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "read" } }] },
    { role: "tool", tool_call_id: "c1", content: LINES },
  ]],
  ["items of OpenAI's Responses", "ai-sdk", [
    { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: LINES },
  ]],
  ["messages of Anthropic", "ai-sdk", [
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: LINES }] },
  ]],
  ["messages of Anthropic", "openai", [
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: LINES }] },
  ]],
  ["model messages of the AI SDK", "openai", [
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", output: { type: "text", value: LINES } }] },
  ]],
  ["UI messages of the AI SDK", "ai-sdk", [
    {
      id: "m1",
      role: "assistant",
      parts: [{ type: "tool-read", toolCallId: "c1", state: "output-available", output: LINES }],
    },
  ]],
  ["UI messages of the AI SDK", "openai", [
    {
      id: "m1",
      role: "assistant",
      parts: [{ type: "tool-read", toolCallId: "c1", state: "output-available", output: LINES }],
    },
  ]],
  ["UI messages of the AI SDK, of the fourth version", "ai-sdk", [
    {
      role: "assistant",
      content: "I read.",
      toolInvocations: [{ state: "result", toolCallId: "c1", toolName: "read", args: {}, result: LINES }],
    },
  ]],
  ["contents of Gemini", "anthropic", [
    { role: "model", parts: [{ functionCall: { id: "c1", name: "read", args: {} } }] },
    { role: "user", parts: [{ functionResponse: { id: "c1", name: "read", response: { output: LINES } } }] },
  ]],
  ["contents of Gemini", "openai", [
    { role: "model", parts: [{ functionCall: { name: "read", args: {} } }] },
    { role: "user", parts: [{ functionResponse: { name: "read", response: { output: LINES } } }] },
  ]],
  ["a chat of Ollama", "openai", [
    { role: "assistant", content: "", tool_calls: [{ function: { name: "read", arguments: {} } }] },
    { role: "tool", tool_name: "read", content: LINES },
  ]],
  ["messages of Bedrock", "anthropic", [
    { role: "assistant", content: [{ toolUse: { toolUseId: "c1", name: "read", input: {} } }] },
    { role: "user", content: [{ toolResult: { toolUseId: "c1", content: [{ text: LINES }] } }] },
  ]],
];

/** A read with an id, its messages, and talk until a summary, or the ladder, has taken them; what a second read then gets. */
async function readTwice(
  read: readonly HostMessage[],
  { callId = "c1", ...options }: Partial<CompactorOptions> & { callId?: string | null } = {},
) {
  const notices: Notice[] = [], session = createSession();
  const source = { read: () => new TextEncoder().encode(LINES) };
  const tool = createWaymark({ cache: false, source, session })
    .wrap((_: { path: string }, _info?: unknown) => LINES);
  const onNotice = (notice: Notice) => void notices.push(notice);
  const compactor = createCompactor({ budget: 2_000, session, onNotice, ...options });
  const get = (id: string | null) => {
    session.nextTurn();
    return tool({ path: "/a.ts" }, id === null ? {} : { callId: id });
  };
  compactor.append({ role: "user", content: "Go." });
  await get(callId);
  compactor.append(...read);
  const before = await get("again");
  for (let round = 0; round < 12; round++) {
    compactor.append({ role: "assistant", content: "word ".repeat(150) }, { role: "user", content: "On." });
    compactor.view();
    await compactor.settled();
    session.nextTurn(); // to read again at once would be insistence
  }
  const isThere = JSON.stringify(compactor.view()).includes("v79");
  return { before, isThere, after: await get("c2"), notices, stats: compactor.stats() };
}

describe("a read whose result the compactor cannot know for one", () => {
  for (const [what, shape, read] of MISFITS) {
    for (const strategy of ["summary", "prune"] as const) {
      it(`is answered in full once it may have left, and a notice says so: ${what} as ${shape}, ${strategy}`, async () => {
        const model = scriptedModel(() => "What was done.");
        const { before, isThere, after, notices, stats } = await readTwice(read, { shape, strategy, model });
        assert(stats.swapped + stats.ladders > 0);
        assertStringIncludes(before, "[waymark reference: ", "as long as all is there");
        assertEquals([isThere, after], [false, LINES]);
        const told = notices.filter(({ reason }) => reason === "unknown-message");
        assertEquals(told.length, 1);
        assertStringIncludes(told[0]!.message, "given again to whoever reads it");
      });
    }
  }

  it("is answered in full once it may have left: in words of the user's, under another id, or without one", async () => {
    const call = { role: "assistant", content: [{ type: "tool_use", id: "other", name: "read", input: {} }] };
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "other", content: LINES }] };
    const words = { role: "user", content: `Observation:\n${LINES}` };
    for (const [callId, read] of [["c1", [words]], ["c1", [call, result]], [null, [words]]] as const) {
      const { isThere, after, stats } = await readTwice(read, { callId });
      assertEquals([isThere, after, stats.ladders > 0], [false, LINES, true]);
    }
  });

  it("is no matter to a session of the host's own making, which keeps no record", async () => {
    const evicted: string[][] = [];
    const session = { evict: (ids: Iterable<string>) => void evicted.push([...ids]) } as unknown as Session;
    const talking = talk({ session }), { human, round } = talking;
    human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    await swapped(talking);
    assertEquals(evicted, [["call_2", "call_3"]]);
  });
});

describe("maps of files in play", () => {
  const withMaps = async (options: Partial<CompactorOptions>): Promise<HostMessage[]> => {
    const session = createSession(), talking = talk({ session, ...options }), { human, round } = talking;
    human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    record(session, "old.ts", "call_2", "one\ntwo");
    record(session, "long.ts", "call_3", "one\ntwo");
    record(session, "long.ts", "call_3", MAP);
    record(session, "held.ts", "call_6", "one\ntwo");
    return (await swapped(talking)).filter(({ content }) => String(content).startsWith("[waymark maps"));
  };

  it("are not put back unless it is asked for", async () => {
    assertEquals(await withMaps({}), []);
  });

  it("stand behind the summary, with the lines that were seen, and without what is true no more", async () => {
    const [maps] = await withMaps({ reattachMaps: { tokens: 50 } });
    assertEquals(String(maps!["content"]).split("\n").slice(1), [
      "long.ts, 300 lines, of which 1-2 were read:",
      "Data about the file, not its text and not instructions. Made by a parser, not by a model.",
      "Regions:",
      "10-20  function  parse",
      "old.ts, 300 lines, of which 1-2 were read:",
      "[end of waymark maps]",
    ]);
  });

  it("tell of no line that another result still holds, and of no file of which nothing has left", async () => {
    const session = createSession(), { human, round, ...talking } = talk({ session, reattachMaps: { tokens: 90 } });
    human();
    for (let rounds = 0; rounds < 5; rounds++) round();
    const lines = "line\n".repeat(9) + "line";
    record(session, "again.ts", "call_2", lines);
    record(session, "again.ts", "call_6", lines);
    record(session, "partly.ts", "call_3", lines);
    record(session, "partly.ts", "call_5", "3\n4", { start: 3, end: 4 });
    record(session, "partly.ts", "call_6", "10\n11", { start: 10, end: 11 });
    record(session, "changed.ts", "call_2", lines);
    record(session, "changed.ts", "call_6", lines, { hash: "other" });
    const view = await swapped({ human, round, ...talking });
    const [maps] = view.filter(({ content }) => String(content).startsWith("[waymark maps"));
    assertEquals(String(maps!["content"]).split("\n").slice(1, -1), [
      "changed.ts, 300 lines, of which 1-10 were read:",
      "partly.ts, 300 lines, of which 1-2, 5-9 were read:",
    ]);
    assert(!String(maps!["content"]).includes("no longer in this conversation"));
  });

  it("say nothing of the lines that a map once came with", () => {
    const row = { kind: "map", file: "/f.ts", path: "f.ts", hash: "h", lines: 300, start: 0, end: 0, turn: 1 } as const;
    const rules = { leaves: () => true, tokens: 1_000, measure: () => 1 };
    const shown = ["[waymark map: of 300 lines]", "Regions:", "10-20  function  parse"];
    const [next, region, end] = ["Next lines: offset: 3.", "Region at 10: lines 10-20.", "[end of waymark map]"];
    for (const more of [[next, end], [region, end], [next, region, end]]) {
      const text = renderReattached([{ ...row, text: [...shown, ...more].join("\n") }], rules)!;
      assertEquals(text.split("\n").slice(1, -1), ["f.ts, 300 lines:", ...shown.slice(1)]);
    }
  });

  it("are of the version whose lines they come with: an older one's map is left out", () => {
    const row = { file: "/f.ts", path: "f.ts", turn: 1 } as const;
    const map = "[waymark map: 100 lines, none are shown here]\n1-100  function  old\n[end of waymark map]";
    const given: Given[] = [
      { ...row, kind: "map", hash: "h1", lines: 100, start: 0, end: 0, text: map, callId: "a" },
      { ...row, kind: "lines", hash: "h2", lines: 10, start: 1, end: 5, text: "1\n2\n3\n4\n5", callId: "b" },
    ];
    const rules = { leaves: () => true, tokens: 1_000, measure: () => 1 };
    assertEquals(renderReattached(given, rules)!.split("\n").slice(1, -1), ["f.ts, 10 lines, of which 1-5 were read:"]);
  });

  it("stay within their budget, each map whole or not there, and never make a summary larger than its span", async () => {
    const measure = (message: HostMessage): number =>
      isOurs(message) ? 20 : String(message["content"]).startsWith("[waymark maps") ? estimateTokens(message) : 60;
    const [some] = await withMaps({ reattachMaps: { tokens: 90 }, estimate: measure });
    assertEquals(String(some!["content"]).split("\n").slice(1, -1), [
      "long.ts, 300 lines, of which 1-2 were read:",
      "old.ts, 300 lines, of which 1-2 were read:",
    ]);
    assertEquals(await withMaps({ reattachMaps: { tokens: 10 }, estimate: measure }), []);
    const huge = (message: HostMessage): number => String(message["content"]).startsWith("[waymark maps") ? 400 : 60;
    assertEquals(
      await withMaps({ reattachMaps: { tokens: 10_000 }, estimate: (message) => isOurs(message) ? 20 : huge(message) }),
      [],
    );
  });
});

describe("usage that the provider reports", () => {
  it("moves the trigger: the budget is of what the provider counts", async () => {
    const { compactor, chat, hand } = talk();
    chat(4);
    compactor.view();
    compactor.noteUsage({ input: 10, cacheRead: 600, cacheWrite: 40 });
    assertEquals(compactor.stats().viewTokens, 650);
    chat(1);
    compactor.view();
    await settle();
    assertEquals([hand.asked.length, hand.noted.length], [1, 1]);
  });
});

describe("what is in every request beside the messages", () => {
  it("counts, however large a part of the budget it is: the view leaves room for it", () => {
    const { compactor, round, human, notices } = talk();
    human(10);
    for (let turn = 0; turn < 20; turn++) {
      round();
      compactor.view();
      const ofView = compactor.stats().viewTokens, isFirst = turn === 0;
      const total = isFirst ? ofView + 700 : ofView; // once it is known, it is in the sum
      assert(total <= 1_000, `${total} of 1,000 at turn ${turn}`);
      compactor.noteUsage({ input: total, cacheRead: 0, cacheWrite: 0 });
    }
    assertEquals(notices.filter(({ reason }) => reason === "budget"), []);
  });

  it("is told, once, where it leaves the messages nearly nothing", () => {
    const { compactor, round, notices, hand } = talk();
    for (let turn = 0; turn < 3; turn++) {
      round();
      compactor.view();
      compactor.noteUsage({ input: 5_000, cacheRead: 0, cacheWrite: 0 });
    }
    assertEquals(notices.filter(({ reason }) => reason === "budget").length, 1);
    assertEquals(hand.noted.length, 3); // what makes summaries is told all the same
  });
});

describe("close()", () => {
  it("ends what is on its way, begins no more, and leaves the views", async () => {
    const { compactor, chat, hand } = talk(), given = chat(6);
    compactor.view();
    await settle();
    compactor.close();
    assert(hand.asked[0]!.aborted());
    hand.end("late");
    await compactor.settled();
    assertEquals(compactor.view(), given);
    chat(1);
    compactor.view();
    assertEquals(hand.views.length, 1);
    await compactor[Symbol.asyncDispose]();
  });

  it("as a disposal begins no more either, also where none was on its way", async () => {
    const { compactor, chat, hand } = talk();
    await compactor[Symbol.asyncDispose]();
    chat(6);
    compactor.view();
    await settle();
    assertEquals(hand.views.length, 0);
  });

  it("as a disposal waits for what was on its way", async () => {
    const { compactor, chat, hand } = talk();
    chat(6);
    compactor.view();
    await settle();
    let isOver = false;
    const over = compactor[Symbol.asyncDispose]().then(() => isOver = true);
    await settle();
    assertEquals(isOver, false);
    hand.end(new Error("aborted"));
    await over;
  });
});

describe("a compactor", () => {
  it("takes and gives messages and requests of the types that SDKs have for them, one by one", () => {
    const compactor = createCompactor({ budget: 1_000 });
    const message: Anthropic.MessageParam = { role: "user", content: "do it" };
    const other: ModelMessage = { role: "user", content: "and this" };
    const request: Anthropic.MessageCreateParamsNonStreaming = { model: "m", max_tokens: 9, messages: [message] };
    compactor.append(message, other);
    compactor.noteRequestSent(request);
    const view: Anthropic.MessageParam[] = compactor.view();
    assertEquals(compactor.view<ModelMessage>()[1], other);
    assertStrictEquals(view[0], message);
    // @ts-expect-error a list that was not spread is no message
    compactor.append([message]);
  });

  it("gives views though a session of the host's own throws", () => {
    const fail = (): never => {
      throw new Error("no");
    };
    const names = ["nextTurn", "evict", "evictBefore", "reset", "reconcile", "fork", "coverage", "toJSON"] as const;
    const session = Object.fromEntries(names.map((name) => [name, fail])) as unknown as Session;
    for (const reattachMaps of [false, { tokens: 100 }] as const) {
      const { compactor, round } = talk({ session, reattachMaps, strategy: "prune" });
      for (let turn = 0; turn < 20; turn++) {
        round();
        compactor.view();
      }
      compactor.append({ role: "user", content: [{ type: "tool_result", tool_use_id: "gone", content: "late" }] });
      assert(compactor.stats().cleared > 0);
      compactor.clear();
      compactor.setMessages([{ role: "user", content: "go on" }]);
      assertEquals(compactor.view().length, 1);
    }
  });

  it("takes no digest for a result whose call's id another call has too: it may be that one's", async () => {
    for (const strategy of ["prune", "summary"] as const) {
      const row = { callId: "call_0", tool: "bash", resultBytes: 9_000, status: "ok", durationMs: 1, at: 0 } as const;
      const digests = [["call_0", { ...row, summary: "of run 0" }], ["own", {
        ...row,
        summary: "of its own",
      }]] as const;
      const model = scriptedModel(() => "what was done");
      const compactor = createCompactor({
        budget: 9_000,
        strategy,
        model,
        summaries: () => new Map<string, DigestRow>(digests),
      });
      const shown: string[] = [];
      compactor.append({ role: "user", content: "go" });
      for (const [run, id] of ["own", "call_0", "call_0", "call_0", "call_0", "call_0"].entries()) {
        const result = { type: "tool_result", tool_use_id: id, content: `run ${run} `.repeat(1_400) };
        compactor.append(
          { role: "assistant", content: [{ type: "tool_use", id, name: "bash", input: {} }] },
          { role: "user", content: [result] },
        );
        shown.push(JSON.stringify(compactor.view()));
        await compactor.settled();
      }
      for (const { messages } of model.calls) shown.push(messages[0]!.content);
      const all = shown.join("\n");
      assertEquals([all.includes("of its own"), all.includes("of run 0")], [true, false], strategy);
      assert(strategy === "summary" || all.includes(CLEARED));
      compactor.clear();
      compactor.append({ role: "assistant", content: [{ type: "tool_use", id: "call_0", name: "bash", input: {} }] });
      compactor.append({
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "call_0", content: "run 0 ".repeat(9_000) }],
      });
      assertStringIncludes(JSON.stringify(compactor.view()), "of run 0");
      compactor.close();
    }
  });

  it("rests after a failure before a hook hears of it, which may ask for a view", async () => {
    for (const end of [new Error("no"), " "]) {
      const { compactor, chat, hand } = talk({
          onEvent(event) {
            told.push(event.what);
            if (event.what === "refused") compactor.view();
          },
        }),
        told: string[] = [];
      chat(8);
      compactor.view();
      await settle();
      hand.end(end);
      await settle();
      compactor.view();
      await settle();
      assertEquals([hand.asked.length, told.at(-1)], [1, "refused"]);
    }
  });

  it("sums what happened, the calls of its summaries too", () => {
    const { forks, fallbacks, declines, standalone, missed } = talk().compactor.stats();
    assertEquals([forks, fallbacks, declines, standalone, missed], [1, 2, 3, 4, 5]);
  });

  it("is the ladder alone without a model, or where that is asked for", () => {
    const model = scriptedModel(() => "never");
    for (const options of [{}, { model, strategy: "prune" as const }]) {
      const compactor = createCompactor({ budget: 400, ...options });
      for (let turn = 0; turn < 40; turn++) {
        compactor.append({ role: turn % 2 ? "assistant" : "user", content: `${turn} ${"x".repeat(200)}` });
        compactor.view();
      }
      const { begun, ladders, viewTokens } = compactor.stats();
      assertEquals([begun, model.calls.length], [0, 0]);
      assert(ladders > 0 && viewTokens <= 400);
      compactor.noteRequestSent({ messages: [] });
      compactor.noteUsage({ input: 5, cacheRead: 0, cacheWrite: 0 });
    }
  });

  it("is the ladder alone where a sender has nothing to send, in a mode that never forks", () => {
    const sender = { send: () => Promise.reject(new Error("no")) }, begun: string[] = [];
    for (const callMode of ["standalone", "fork"] as const) {
      const compactor = createCompactor({ budget: 100, sender, callMode, onEvent: ({ what }) => begun.push(what) });
      for (let turn = 0; turn < 3; turn++) {
        compactor.append({ role: "user", content: "do it" }, { role: "assistant", content: "done ".repeat(20) });
      }
      compactor.view();
      compactor.append({ role: "user", content: "go on" });
      compactor.view();
      compactor.close();
      assertEquals(begun.includes("begun"), callMode === "fork");
    }
  });

  it("is thrown off by no usage that was not reported", () => {
    const { compactor, human } = talk();
    human();
    compactor.view();
    for (const usage of [undefined, null, {}]) compactor.noteUsage(usage as never);
    assertEquals(compactor.stats().viewTokens, 100);
  });

  it("tells a person on stderr, in one line, where no hook is given", () => {
    const said: unknown[][] = [], before = console.error;
    console.error = (...words: unknown[]) => void said.push(words);
    try {
      const model = scriptedModel(() => "");
      createCompactor({ budget: 100, model, callMode: "frok" as "fork" }).close();
      createCompactor({ budget: 100, model, callMode: "frok" as "fork", onNotice: () => {} }).close();
    } finally {
      console.error = before;
    }
    assertEquals(said.map(([line]) => line), [
      'waymark: There is no call mode "frok": summaries are made by calls of their own',
    ]);
  });

  it("refuses options that mean nothing at once", () => {
    assertThrows(() => createCompactor({ budget: NaN }), WaymarkError);
    assertThrows(() => createCompactor({ budget: 9, shape: "other" as "openai" }), WaymarkError);
  });

  it("never lets a hook of the host's hurt it", () => {
    const fail = (): never => {
      throw new Error("the hook's own");
    };
    const { compactor, human, answer } = talk({ onEvent: fail, onNotice: fail });
    human(650);
    answer(1);
    compactor.view();
    assertEquals(compactor.stats().floors, 1);
  });
});

describe("any conversation through a compactor", () => {
  for (const { name, shape, say } of HOSTS) {
    it(`has views in order, within the budget or at its floor, whatever the model does: ${name}`, async () => {
      const ends = fc.array(fc.constantFrom("made", "long", "fails", "hangs"), { minLength: 1, maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(steps(40), ends, async (all, ends) => {
          const hand = byHand();
          const estimate = (message: HostMessage): number => JSON.stringify(message).length >> 2;
          let isFloor = false;
          const onEvent = ({ what, reason }: CompactionEvent): void => {
            isFloor ||= what === "floor" && reason === "budget";
          };
          const compactor: Compactor = createCompactorOver(
            { budget: 900, estimate, cooldownTurns: 1, hysteresis: 0.01, minSpan: 0.05, strikes: 9, onEvent },
            shape,
            hand,
          );
          const given: HostMessage[] = [];
          let ended = 0;
          for (const said of play(all)) {
            const messages = said.flatMap(say);
            compactor.append(...messages);
            given.push(...messages);
            const view = compactor.view(), last = given.findLast((message) => shape.facts(message).isHuman);
            assertEquals(faults(view, given), []);
            assert(!last || shape.facts(last).answers.length > 0 || view.includes(last), "the last words have gone");
            const tokens = view.reduce((sum, message) => sum + estimate(message), 0);
            assert(tokens === compactor.stats().viewTokens);
            if (!isFloor) assert(tokens <= 900, `${tokens}`);
            await Promise.resolve().then(() => {});
            if (hand.asked.length > ended) {
              const end = ends[ended++ % ends.length];
              assertEquals(
                faults(hand.asked.at(-1)!.messages, given).filter((fault) => !fault.startsWith("an answer")),
                [],
              );
              if (end === "made") hand.end("what was done, in short");
              if (end === "long") hand.end("long ".repeat(500));
              if (end === "fails") hand.end(new Error("no"));
              if (end === "hangs") return;
              await compactor.settled();
            }
          }
          assertEquals(compactor.history(), given);
        }),
        { numRuns: 100 },
      );
    });
  }
});
