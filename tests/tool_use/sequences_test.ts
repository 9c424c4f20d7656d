/**
 * Random sequences of everything that can become of results, against a plain model of the rules.
 *
 * `WAYMARK_SEQUENCES` sets how many, for a longer run.
 *
 * @module
 */

import { describe, it } from "node:test";
import process from "node:process";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { WaymarkError } from "../../src/errors.ts";
import { createMasker } from "../../src/summary/secrets.ts";
import { fakeClock } from "../../src/testing.ts";
import { createDigester, type DigestSettings } from "../../src/tool_use/digester.ts";
import { createTally } from "../../src/tool_use/tally.ts";
import type { DigestRow } from "../../src/tool_use/types.ts";
import type { Completion, CompletionModel } from "../../src/types.ts";
import { output, refuseUnseenRejections, sent } from "./support.ts";

refuseUnseenRejections();

const RUNS = Number(process.env["WAYMARK_SEQUENCES"] ?? 10_000);
/** What becomes of the result of one step. */
const KINDS = ["fine", "small", "excluded", "failing", "slow", "cut", "refused", "hidden"] as const;
type Kind = typeof KINDS[number];

interface Step {
  readonly do: "accept" | "settle" | "late" | "relieve" | "close";
  readonly callId: string;
  readonly kind: Kind;
}

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 12, arbitrary: fc.constant("accept" as const) },
    { weight: 4, arbitrary: fc.constant("settle" as const) },
    { weight: 2, arbitrary: fc.constant("late" as const) },
    { weight: 2, arbitrary: fc.constant("relieve" as const) },
    { weight: 1, arbitrary: fc.constant("close" as const) },
  ),
  callId: fc.constantFrom("a", "b", "c", "d", "e", "f"),
  kind: fc.constantFrom(...KINDS),
});

interface Plan {
  readonly steps: readonly Step[];
  /** Most digests held, most calls, and most of them at once. */
  readonly most: number;
  readonly budget: number;
  readonly atOnce: number;
  readonly when: "always" | "pressure";
}

const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  most: fc.integer({ min: 1, max: 3 }),
  budget: fc.integer({ min: 0, max: 8 }),
  atOnce: fc.integer({ min: 1, max: 3 }),
  when: fc.constantFrom("always" as const, "pressure" as const),
});

const large = output(4200), noSecrets = createMasker(() => Promise.resolve({ rules: [] }));
const tick = (): Promise<void> => new Promise((resolve) => queueMicrotask(resolve));

/** A model that answers as the tool's name says. */
function modelOf(calls: string[]): CompletionModel {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  const answers: Readonly<Record<string, Completion | undefined>> = {
    fine: { text: "A digest.", stopReason: "end", usage },
    cut: { text: "Half a", stopReason: "max_tokens", usage },
    refused: { text: "No.", stopReason: "refusal", usage },
    hidden: { text: "\u200b", stopReason: "end", usage },
  };
  return {
    name: "scripted",
    complete(request) {
      const [, kind = "", callId = ""] = /tool: (\w+)\n(\w+)\n/.exec(sent(request)) ?? [];
      calls.push(callId);
      if (kind === "slow") return new Promise(() => {});
      const answer = answers[kind];
      return answer ? Promise.resolve(answer) : Promise.reject(new WaymarkError("provider-error", "Cannot ask: 500"));
    },
  };
}

describe("any sequence of results", () => {
  it("never displaces a digest by another row, never asks twice for one, and keeps within its bounds", async () => {
    await fc.assert(fc.asyncProperty(plan, runPlan), { numRuns: RUNS });
  });
});

async function runPlan({ steps, most, budget, atOnce, when }: Plan): Promise<void> {
  const calls: string[] = [], rows: DigestRow[] = [], tally = createTally(), clock = fakeClock();
  const settings: DigestSettings = {
    enabled: true,
    topLevelOnly: true,
    topLevel: true,
    minResultBytes: 4096,
    excludeTools: ["excluded"],
    maxSummariesPerSession: most,
    maxCallsPerSession: budget,
    maxConcurrentCalls: atOnce,
    maxTokens: 256,
    timeoutMs: 5000,
    when,
    pressure: 0.6,
    model: modelOf(calls),
    isInherited: false,
  };
  let places = 0;
  const ledger = {
    append: (row: DigestRow) => void rows.push(row),
    take: () => Promise.resolve(++places),
    errors: 0,
    settled: () => Promise.resolve(),
  };
  const digester = createDigester(settings, {
    open: () => Promise.resolve({ ledger, rows: new Map() }),
    emit: tally.add,
    clock,
    masker: noSecrets,
    later: queueMicrotask,
  });

  const done = new Map<string, string>(); // every digest ever made, by call
  let accepted = 0, isClosed = false, rowsAtClose = 0;
  /** Lets everything come to rest but what hangs; then, where it is wanted, its time is up. */
  const rest = async (isLate: boolean): Promise<void> => {
    for (let turn = 0; turn < 60; turn++) await tick();
    if (!isLate) return;
    while (digester.underWay > 0) {
      clock.advance(5000);
      for (let turn = 0; turn < 60; turn++) await tick();
    }
    await digester.settled();
  };
  const check = (): void => {
    for (const { callId, status, summary } of rows) {
      if (status !== "ok") continue;
      assert(!done.has(callId) || done.get(callId) === summary, `${callId} was digested twice`);
      done.set(callId, summary!);
    }
    const kept = digester.store.summaries();
    assert(kept.size <= most);
    for (const row of kept.values()) assertEquals([row.status, row.summary], ["ok", done.get(row.callId)]);
    assertEquals([...kept.keys()], [...done.keys()].slice(-most), "what was made last is what is held");
    assert(calls.length <= budget, `${calls.length} calls`);
    for (const callId of new Set(calls)) {
      const own = rows.filter((row) => row.callId === callId && row.status !== "skipped");
      assert(own.filter(({ status }) => status === "ok").length <= 1);
    }
  };

  for (const { do: what, callId, kind } of steps) {
    if (what === "accept") {
      digester.accept({ callId, tool: kind, result: kind === "small" ? "x" : `${callId}\n${large}` });
      if (!isClosed) accepted++;
    } else if (what === "settle") await rest(false);
    else if (what === "late") await rest(true);
    else if (what === "relieve") digester.relieve({ share: 0.7 });
    else if (!isClosed) {
      await digester.close();
      [isClosed, rowsAtClose] = [true, rows.length];
    }
    check();
  }
  await rest(true);
  check();
  if (isClosed) assertEquals(rows.length, rowsAtClose, "a row after the disposal");
  else assertEquals(rows.length + digester.held, accepted, "every result has its row, or is held");
  const { made, failed, skipped, modelCalls } = tally.sums();
  const count = (status: DigestRow["status"]): number => rows.filter((row) => row.status === status).length;
  const allSkipped = Object.values(skipped).reduce((sum, number) => sum + number, 0);
  assertEquals([made, failed, allSkipped], [count("ok"), count("failed"), count("skipped")]);
  assert(isClosed || modelCalls === calls.length);
  await digester.close();
}
