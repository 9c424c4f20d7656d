import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { WaymarkError } from "../../src/errors.ts";
import { checkOptions, compactorRules, StormGuard } from "../../src/compaction/guard.ts";
import type { CompactorOptions } from "../../src/compaction/types.ts";

/** A guard after so many turns at a usage. */
function guardAfter(turns: number, share: number, options = {}): StormGuard {
  const guard = new StormGuard(compactorRules(options));
  for (let turn = 0; turn < turns; turn++) guard.turn(share);
  return guard;
}

describe("the guard", () => {
  it("has the documented defaults", () => {
    assertEquals(compactorRules({}), {
      summaryTrigger: 0.6,
      target: 0.5,
      protectedRecent: 0.3,
      summaryShare: 0.2,
      cooldownTurns: 5,
      minSpan: 0.1,
      hysteresis: 0.05,
      strikes: 3,
    });
  });

  it("holds back below the trigger, and not at it", () => {
    const guard = guardAfter(1, 0.6);
    assertEquals([guard.restraint(0.599), guard.restraint(0.6)], ["below", undefined]);
  });

  it("holds back for five turns after a swap, the one of the swap not counted", () => {
    const guard = guardAfter(1, 0.7);
    guard.swapped(0.5);
    const said = [guard.restraint(0.7)];
    for (let turn = 0; turn < 6; turn++) {
      guard.turn(0.7);
      said.push(guard.restraint(0.7));
    }
    assertEquals(said, [...Array(6).fill("cooldown"), undefined]);
  });

  it("holds back after a swap until usage was well below the trigger, or has grown well above where it was left", () => {
    const after = (left: number, ...then: readonly number[]): string | undefined => {
      const guard = guardAfter(1, 0.7, { cooldownTurns: 0 });
      guard.swapped(left);
      for (const share of then) guard.turn(share);
      return guard.restraint(then.at(-1)!);
    };
    assertEquals(after(0.58, 0.62), "hysteresis");
    assertEquals(after(0.58, 0.631), undefined);
    assertEquals(after(0.58, 0.56, 0.6), "hysteresis");
    assertEquals(after(0.58, 0.549, 0.6), undefined);
    assertEquals(after(0.7, 0.72, 0.74), "hysteresis");
    assertEquals(after(0.7, 0.751), undefined);
  });

  it("has a summary wait for the turn after the ladder's, five turns in a row at most, all views of a turn alike", () => {
    const guard = guardAfter(1, 0.7), said: boolean[] = [];
    assertEquals(guard.waits(), false);
    for (const isChanged of [true, false, ...Array<boolean>(8).fill(true), false, true, true]) {
      guard.turn(0.7);
      assertEquals(guard.waits(), false, "before the ladder ran");
      if (isChanged) guard.changed();
      said.push(guard.waits());
      if (said.at(-1)) assertEquals(guard.waits(), true, "another view of the same turn");
    }
    assertEquals(said.map(Number).join(""), "1011111011011");
    guard.reset();
    assertEquals(guard.waits(), false);
  });

  it("finds a span worth a call from a tenth of the budget on", () => {
    const guard = guardAfter(1, 0.7);
    assertEquals([guard.isWorth(0.0999), guard.isWorth(0.1)], [false, true]);
    assertEquals(guardAfter(1, 0.7, { minSpan: 0 }).isWorth(0), false);
  });

  it("stops after three failures in a row, told at the third alone, and rests after each", () => {
    const guard = guardAfter(1, 0.7);
    assertEquals([guard.failed(), guard.restraint(0.7)], [false, "cooldown"]);
    assertEquals([guard.failed(), guard.failed(), guard.failed()], [false, true, false]);
    for (let turn = 0; turn < 50; turn++) guard.turn(0.9);
    assertEquals(guard.restraint(0.9), "stopped");
    guard.reset();
    assertEquals(guard.restraint(0.9), undefined);
  });

  it("forgets failures at the first success", () => {
    const guard = guardAfter(1, 0.7, { cooldownTurns: 0 });
    assertEquals([guard.failed(), guard.failed()], [false, false]);
    guard.swapped(0.4);
    assertEquals([guard.failed(), guard.failed(), guard.failed()], [false, false, true]);
  });

  it("tells of a floor once, until it was left", () => {
    const guard = guardAfter(1, 0.7);
    assertEquals([guard.foundFloor("a"), guard.foundFloor("a"), guard.foundFloor("b")], [true, false, true]);
    guard.leftFloor("a");
    assertEquals([guard.foundFloor("a"), guard.foundFloor("b")], [true, false]);
    guard.reset();
    assertEquals([guard.foundFloor("a"), guard.foundFloor("b")], [true, true], "another conversation has its own");
  });

  it("bounds the number of summaries by turns and by growth, whatever usage does", () => {
    const rules = fc.record({ cooldownTurns: fc.nat(8), hysteresis: fc.double({ min: 0.01, max: 0.3, noNaN: true }) });
    const turns = fc.array(fc.double({ min: -0.2, max: 0.2, noNaN: true }), { maxLength: 300 });
    fc.assert(
      fc.property(rules, turns, fc.double({ min: 0, max: 0.2, noNaN: true }), (options, deltas, shrinks) => {
        const guard = new StormGuard(compactorRules(options));
        let share = 0.5, grown = 0.1, swaps = 0;
        for (const delta of deltas) {
          share = Math.max(0, share + delta);
          grown += Math.max(0, delta);
          guard.turn(share);
          if (guard.restraint(share) !== undefined) continue;
          swaps++;
          share = Math.max(0, share - shrinks);
          guard.swapped(share);
        }
        assert(swaps <= 1 + deltas.length / (options.cooldownTurns + 1), `${swaps} in ${deltas.length} turns`);
        assert(swaps <= 1 + grown / options.hysteresis + 1e-6, `${swaps} while it grew by ${grown}`);
      }),
    );
  });
});

describe("options that mean nothing", () => {
  const wrong: readonly [Partial<CompactorOptions>, string][] = [
    [{ budget: 0 }, "Cannot use 0 as budget: give a number of tokens above 0"],
    [{ budget: Infinity }, "Cannot use Infinity as budget"],
    [{ budget: "9" as unknown as number }, "Cannot use 9 as budget"],
    [{ summaryTrigger: 60 }, "Cannot use 60 as summaryTrigger: give a share of the budget, above 0 and up to 1"],
    [{ target: 0 }, "Cannot use 0 as target"],
    [{ strategy: "sumary" as "summary" }, "Cannot use sumary as strategy: give summary or prune"],
    [{ target: 0.8 }, "Cannot use 0.8 as target: give at most the summaryTrigger, 0.6"],
    [{ protectedRecent: -1 }, "Cannot use -1 as protectedRecent: give a share from 0 to 1"],
    [{ summaryShare: 1.5 }, "Cannot use 1.5 as summaryShare: give a share from 0 to 1"],
    [{ minSpan: NaN }, "Cannot use NaN as minSpan"],
    [{ hysteresis: 2 }, "Cannot use 2 as hysteresis"],
    [{ cooldownTurns: 1.5 }, "Cannot use 1.5 as cooldownTurns: give a whole number from 0"],
    [{ strikes: 0 }, "Cannot use 0 as strikes: give a whole number from 1"],
    [{ timeoutMs: 0 }, "Cannot use 0 as timeoutMs"],
    [{ reattachMaps: { tokens: 0 } }, "Cannot use 0 as reattachMaps.tokens"],
  ];
  for (const [options, message] of wrong) {
    it(`are refused by name: ${Object.keys(options)} ${Object.values(options).map((value) => JSON.stringify(value))}`, () => {
      const error = assertThrows(() => checkOptions({ budget: 1_000, ...options }), WaymarkError);
      assertEquals(error.code, "invalid-option");
      assertStringIncludes(error.message, message);
    });
  }

  it("are all that is refused", () => {
    checkOptions({ budget: 1 });
    checkOptions({ budget: 9, summaryTrigger: 1, target: 1, protectedRecent: 0, minSpan: 0, hysteresis: 0 });
    checkOptions({ budget: 9, cooldownTurns: Infinity, strikes: Infinity, timeoutMs: Infinity, reattachMaps: false });
  });
});
