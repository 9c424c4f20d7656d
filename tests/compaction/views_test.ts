/**
 * What a conversation shows does not depend on how its summaries are asked for, over random conversations in every shape: late
 * and missing results, parallel calls, requests noted rightly, wrongly or not at all, summaries that fail.
 */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { createCompactor } from "../../src/compaction.ts";
import type { Compactor } from "../../src/compaction/compactor_types.ts";
import { estimateTokens } from "../../src/compaction/estimate.ts";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import type { CallMode, CompactionEvent, HostMessage, MessageShape, SentRequest } from "../../src/compaction/types.ts";
import { fakeClock, scriptedModel } from "../../src/testing.ts";
import { faults, givenUp, type Host, HOSTS, orphans, play, type Step, steps } from "./histories.ts";
import { messageOf } from "./lines.ts";

/** Tokens of the budget: a few steps fill it. */
const BUDGET = 900;

/** What a step does besides being said. */
interface Deed {
  /** Whether what is on its way may come before the next step. */
  readonly waits: boolean;
  /** How the request is noted: with its messages, without them, without its tools, with one more of the host's, or not at all. */
  readonly noted: "whole" | "bare" | "toolless" | "more" | "no";
  /** A summary begun now: how long it is, or how it fails. */
  readonly answer: number | "error" | "empty" | "tool";
  /** The fork alone fails. */
  readonly forkFails: boolean;
}

const deed: fc.Arbitrary<Deed> = fc.record({
  waits: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  noted: fc.oneof(
    { weight: 8, arbitrary: fc.constant("whole" as const) },
    fc.constantFrom("bare", "toolless", "more", "no" as const),
  ),
  answer: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 900 }) },
    fc.constantFrom("error", "empty", "tool" as const),
  ),
  forkFails: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
});

/** A conversation, step by step. */
function conversations(late: boolean): fc.Arbitrary<{ all: Step[]; deeds: Deed[] }> {
  return fc.record({
    all: steps(40, { late }),
    deeds: fc.array(deed, { minLength: 40, maxLength: 40 }),
  });
}

/** One compactor under a conversation. */
interface Played {
  readonly compactor: Compactor;
  readonly events: CompactionEvent[];
  /** Of every fork that was sent the messages it began with, and how many had been said when these were. */
  readonly forks: { readonly prefix: readonly HostMessage[]; readonly said: number }[];
  /** How many messages had been said when a request was noted. */
  readonly noted: Map<string, number>;
  /** The deed of this moment. */
  now: Deed;
}

function open({ shape }: Host, callMode: CallMode): Played {
  const events: CompactionEvent[] = [], forks: Played["forks"] = [], noted: Played["noted"] = new Map();
  const answer = () => {
    const { answer } = played.now, usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
    if (answer === "error") throw new Error("503");
    const text = typeof answer === "number" ? "s".repeat(answer) : "";
    return { text, stopReason: answer === "tool" ? "tool" : "end", usage } as const;
  };
  const played: Played = {
    events,
    forks,
    noted,
    now: { waits: true, noted: "no", answer: 1, forkFails: false },
    compactor: createCompactor({
      budget: BUDGET,
      shape,
      callMode,
      cooldownTurns: 1,
      clock: fakeClock(),
      onNotice: () => {},
      model: scriptedModel(() => answer(), { name: "house-model" }),
      prices: { read: 0.1, write: 1.25, minimumTokens: 1, ttlMs: 1e9, priceRatio: 2 },
      sender: {
        send(request) {
          const prefix = request.messages!.slice(0, -1);
          forks.push({ prefix, said: noted.get(JSON.stringify(prefix))! });
          if (played.now.forkFails) throw new Error("529");
          return Promise.resolve(answer());
        },
      },
      onEvent: (event) => events.push(event),
    }),
  };
  return played;
}

/** Notes a request as the deed says. */
function note({ compactor, noted, now }: Played, { shape }: Host, view: readonly HostMessage[]): void {
  const messages = now.noted === "more" ? [...view, shape.user(REMINDER)] : view;
  noted.set(JSON.stringify(messages), compactor.history().length);
  const request: SentRequest = { model: "house-model", tools: [], messages }, { tools, ...toolless } = request;
  if (now.noted === "whole" || now.noted === "more") compactor.noteRequestSent(request);
  if (now.noted === "bare") compactor.noteRequestSent({ model: "house-model", tools });
  if (now.noted === "toolless") compactor.noteRequestSent(toolless);
}

/** Words of the host's own at the end of a request. */
const REMINDER = "a reminder of the host's";

const MODES = ["standalone", "fork", "auto"] as const;
/** Tokens of the longest note that says that messages are left out. */
const NOTE = 60;

/**
 * At most so many tokens must stay, where every result comes at once: a person's last words, with the call where they stand
 * beside its result, the latest answer in one piece, and what follows it.
 */
function floorOf(said: readonly HostMessage[], { shape }: Host): number {
  const facts = said.map((message) => shape.facts(message));
  const isAnswer = (index: number): boolean => facts[index]?.role === "assistant";
  const stays = new Set<number>();
  /** A message, and the answer it follows. */
  const keep = (at: number): void => {
    if (at < 0) return;
    stays.add(at);
    if (facts[at]!.role === "tool" || at === said.length - 1) {
      let index = at;
      while (index > 0 && !isAnswer(index)) stays.add(index--);
      while (isAnswer(index)) stays.add(index--);
    }
  };
  keep(facts.findLastIndex(({ isHuman, role }) => isHuman && role === "user"));
  keep(facts.findLastIndex(({ isHuman }) => isHuman));
  keep(said.length - 1);
  return NOTE + sizeOf(said.filter((_, index) => stays.has(index)));
}

const sizeOf = (view: readonly HostMessage[]): number => view.reduce((sum, one) => sum + estimateTokens(one), 0);

/** What all the runs did, so that a property which never met what it is about fails. */
const did = { swapped: 0, forks: 0, fallbacks: 0, declines: 0, failed: 0, ladders: 0, floors: 0 };

async function run(host: Host, { all, deeds }: { all: Step[]; deeds: Deed[] }, late: boolean): Promise<void> {
  const played = MODES.map((mode) => open(host, mode)), said: HostMessage[] = [];
  let before: HostMessage[] = [], changes = 0;
  for (const [index, plain] of play(all).entries()) {
    const messages = plain.flatMap((one) => host.say(one)), now = deeds[index]!;
    said.push(...messages);
    const views = played.map((one) => {
      one.now = now;
      one.compactor.append(...messages);
      return one.compactor.view();
    });
    const [view, ...others] = views as [HostMessage[], ...HostMessage[][]];
    for (const other of others) assertEquals(other, view);

    assertEquals(faults(view, said), []);
    const { swapped, ladders, floors, viewTokens } = played[0]!.compactor.stats();
    assertEquals(viewTokens, sizeOf(view));
    if (viewTokens > BUDGET) assert(floors > 0 && (late || floorOf(said, host) > BUDGET), `${viewTokens} tokens`);
    const isSame = swapped + ladders === changes && givenUp(view) === givenUp(before);
    if (isSame) assertEquals(view.slice(0, before.length), before, "it only goes on");
    [before, changes] = [view, swapped + ladders];

    for (const one of played) note(one, host, view);
    if (now.waits) await Promise.all(played.map(({ compactor }) => compactor.settled()));
  }
  for (const { compactor, forks, events } of played) {
    await compactor.settled();
    const history = compactor.history();
    assert(history.length === said.length && history.every((message, index) => message === said[index]));
    for (const { prefix, said: then } of forks) {
      const view = prefix.filter((message) => !JSON.stringify(message).includes(REMINDER));
      assertEquals(faults(view, said.slice(0, then)), []);
    }
    const stats = compactor.stats();
    for (const name of Object.keys(did) as (keyof typeof did)[]) did[name] += stats[name];
    assertEquals(stats.fallbacks, events.filter(({ what }) => what === "fallback").length);
    await compactor[Symbol.asyncDispose]();
  }
  const [standalone, ...rest] = played.map(({ compactor }) => compactor.stats());
  for (const { begun, swapped, refused, failed } of rest) {
    assertEquals({ begun, swapped, refused, failed }, {
      begun: standalone!.begun,
      swapped: standalone!.swapped,
      refused: standalone!.refused,
      failed: standalone!.failed,
    });
  }
}

describe("a conversation", { timeout: 240_000 }, () => {
  const runs: Promise<void>[] = [];
  for (const host of HOSTS) {
    for (const late of [false, true]) {
      it(`shows the same however its summaries are asked for, nothing orphaned and within its budget (${host.name}${late ? ", late results" : ""})`, async () => {
        const all = fc.assert(fc.asyncProperty(conversations(late), (one) => run(host, one, late)), { numRuns: 125 });
        runs.push(all);
        await all;
      });
    }
  }

  it("was summarized, forked, declined, failed and cut in these runs, all of it often", async () => {
    await Promise.all(runs); // not every runner waits for one test to end
    for (const [what, times] of Object.entries(did)) assert(times > 20, `${what}: ${times}`);
  });
});

describe("whatever is appended", { timeout: 240_000 }, () => {
  const ids = fc.subarray(["a", "b", "c", "d"], { minLength: 1, maxLength: 3 }).map((ids) => ids.join());
  const word = fc.oneof(
    fc.constantFrom("human", "human", "answer", "system"),
    ids.map((ids) => `call ${ids}`),
    ids.map((ids) => `result ${ids}`),
    ids.map((ids) => `mixed ${ids}`),
  );
  const said = fc.array(fc.record({ word, size: fc.nat(60), sees: fc.boolean() }), { maxLength: 60, size: "max" });
  const { giveUp: _giveUp, ...plain } = anthropicShape;
  /** Some results can be said in no words of the shape, as of tools on the provider's side. */
  const mixed: MessageShape = {
    ...anthropicShape,
    giveUp: (message, calls) => calls.has("d") ? undefined : anthropicShape.giveUp!(message, calls),
    retell: (message, calls) => calls.has("d") ? [message] : anthropicShape.retell(message, calls),
  };

  for (
    const [how, shape] of [
      ["in the shape's words", anthropicShape],
      ["left out", plain],
      ["some left out", mixed],
    ] as const
  ) {
    it(`no view has a result without its call, nor a call without its result unless it still waits for it (${how})`, async () => {
      const did = { swapped: 0, ladders: 0 };
      const one = async (all: readonly { word: string; size: number; sees: boolean }[]): Promise<void> => {
        const model = scriptedModel(() => "what was done"), cooldownTurns = 0;
        const estimate = (message: HostMessage): number => JSON.stringify(message).length >> 3;
        const compactor = createCompactor({ budget: 250, shape, model, cooldownTurns, estimate, onNotice: () => {} });
        let before: HostMessage[] = [];
        for (const { word, size, sees } of all) {
          const message = messageOf(word), blocks = message["content"];
          const text = typeof blocks === "string" ? `${blocks} ${"x".repeat(size * 8)}` : blocks;
          compactor.append({ ...message, content: text });
          if (!sees) continue;
          const view = compactor.view();
          assertEquals(orphans(view), [], JSON.stringify(view));
          if (before.length) assertEquals(orphans(before), []);
          before = view;
          await compactor.settled();
        }
        const { swapped, ladders } = compactor.stats();
        did.swapped += swapped;
        did.ladders += ladders;
        compactor.close();
      };
      await fc.assert(fc.asyncProperty(said, one), { numRuns: 400 });
      assert(did.swapped > 50 && did.ladders > 50, JSON.stringify(did));
    });
  }
});
