/**
 * What keeps compaction from running again and again. Pure.
 *
 * Promised: between two summaries lie `cooldownTurns` turns, and usage that was well below the trigger or has grown well above
 * where the last one left it; a span is never smaller than `minSpan`; after `strikes` failures in a row there are no more; a
 * floor is told once. So in n turns there are at most 1 + n / (`cooldownTurns` + 1) summaries, and at most one for
 * every `hysteresis` of the budget that a conversation grows by, and one more.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { CompactorOptions } from "./types.ts";

/** The rules, none left out. */
export type GuardRules = Readonly<
  Record<"summaryTrigger" | "cooldownTurns" | "minSpan" | "hysteresis" | "strikes", number>
>;

/** All rules of a compactor. */
export type CompactorRules =
  & GuardRules
  & Readonly<Record<"target" | "protectedRecent" | "summaryShare", number>>;

/** The rules of a compactor and their defaults. */
export function compactorRules(options: Omit<CompactorOptions, "budget">): CompactorRules {
  const { summaryTrigger = 0.6, target = 0.5, protectedRecent = 0.3, summaryShare = 0.2 } = options;
  const { cooldownTurns = 5, minSpan = 0.1, hysteresis = 0.05, strikes = 3 } = options;
  return { summaryTrigger, target, protectedRecent, summaryShare, cooldownTurns, minSpan, hysteresis, strikes };
}

/** Why no summary is begun now. */
export type Restraint = "below" | "cooldown" | "hysteresis" | "stopped";

/** So many turns in a row a summary waits for the ladder to leave the view alone. */
const MOST_WAITS = 5;

/** Holds summaries back. Shares are of the budget. */
export class StormGuard {
  readonly #rules: GuardRules;
  #turn = 0;
  /** The turn up to which nothing is begun. */
  #restUntil = -1;
  /** The last turn in which what is shown was changed, by the ladder or for a call that was given up. */
  #changedAt = -1;
  /** The last turn in which a summary that was due waited for that, and how many in a row it has waited. */
  #waitedAt = -1;
  #waited = 0;
  /** Usage right after the last swap, until it has been well below the trigger or grown well above that. */
  #after: number | undefined;
  #strikes = 0;
  readonly #floors = new Set<string>();

  constructor(rules: GuardRules) {
    this.#rules = rules;
  }

  /** A view that shows something new, at this usage. */
  turn(share: number): void {
    const { summaryTrigger, hysteresis } = this.#rules;
    this.#turn++;
    if (this.#after === undefined) return;
    if (share < summaryTrigger - hysteresis || share >= this.#after + hysteresis) this.#after = undefined;
  }

  /** Why nothing is begun at this usage; `undefined` where something may be. */
  restraint(share: number): Restraint | undefined {
    if (this.#strikes >= this.#rules.strikes) return "stopped";
    if (share < this.#rules.summaryTrigger) return "below";
    if (this.#turn <= this.#restUntil) return "cooldown";
    return this.#after === undefined ? undefined : "hysteresis";
  }

  /** What is shown is changed by other means than a swap, in this turn or so many later. */
  changed(later = 0): void {
    this.#changedAt = this.#turn + later;
  }

  /**
   * Whether a summary that is due waits for the next turn: in this one what is shown was changed, and no request that was
   * sent holds that yet. At most {@linkcode MOST_WAITS} in a row, or a ladder that runs in every turn would leave none.
   */
  waits(): boolean {
    if (this.#changedAt !== this.#turn) return false;
    if (this.#waitedAt === this.#turn) return true;
    if (this.#waitedAt < this.#turn - 1) this.#waited = 0;
    if (this.#waited === MOST_WAITS) return false;
    this.#waited++;
    this.#waitedAt = this.#turn;
    return true;
  }

  /** Whether a span is worth a call. */
  isWorth(share: number): boolean {
    return share > 0 && share >= this.#rules.minSpan;
  }

  /** A summary took its span's place, and this is what is used now. */
  swapped(share: number): void {
    this.#strikes = 0;
    this.rest();
    this.#after = share;
  }

  /** Nothing is begun for `cooldownTurns` turns. */
  rest(): void {
    this.#restUntil = this.#turn + this.#rules.cooldownTurns;
  }

  /** A summary could not be made, or was none: whether that was the last one tried. */
  failed(): boolean {
    this.rest();
    return ++this.#strikes === this.#rules.strikes;
  }

  /** What cannot be made smaller was found: whether for the first time. */
  foundFloor(which: string): boolean {
    const isNew = !this.#floors.has(which);
    this.#floors.add(which);
    return isNew;
  }

  /** It became smaller after all. */
  leftFloor(which: string): void {
    this.#floors.delete(which);
  }

  /** Another conversation begins. */
  reset(): void {
    this.#restUntil = this.#changedAt = this.#waitedAt = -1;
    this.#after = undefined;
    this.#strikes = 0;
    this.#floors.clear();
  }
}

/** Throws a {@linkcode WaymarkError} of code `invalid-option` where a number means nothing. */
export function checkOptions(options: CompactorOptions): void {
  const rules = compactorRules(options), { summaryTrigger, target, cooldownTurns, strikes } = rules;
  const { protectedRecent, minSpan, hysteresis, summaryShare } = rules;
  const { budget, strategy, timeoutMs = 1, reattachMaps } = options;
  const refuse = (name: string, value: unknown, wanted: string): never => {
    throw new WaymarkError("invalid-option", `Cannot use ${value} as ${name}: give ${wanted}`);
  };
  const check = (values: Record<string, number>, isFine: (value: number) => boolean, wanted: string): void => {
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== "number" || !isFine(value)) refuse(name, value, wanted);
    }
  };
  if (!["summary", "prune", undefined].includes(strategy)) refuse("strategy", strategy, "summary or prune");
  check({ budget }, (value) => Number.isFinite(value) && value > 0, "a number of tokens above 0");
  check({ summaryTrigger, target }, (value) => value > 0 && value <= 1, "a share of the budget, above 0 and up to 1");
  check(
    { protectedRecent, minSpan, hysteresis, summaryShare },
    (value) => value >= 0 && value <= 1,
    "a share from 0 to 1",
  );
  const isWhole = (value: number, least: number): boolean =>
    value >= least && (Number.isInteger(value) || value === Infinity);
  check({ cooldownTurns }, (value) => isWhole(value, 0), "a whole number from 0");
  check({ strikes }, (value) => isWhole(value, 1), "a whole number from 1");
  check({ timeoutMs }, (value) => value > 0, "a number of milliseconds above 0");
  if (target > summaryTrigger) refuse("target", target, `at most the summaryTrigger, ${summaryTrigger}`);
  if (reattachMaps) {
    check({ "reattachMaps.tokens": reattachMaps.tokens }, (value) => value > 0, "a number of tokens above 0");
  }
}
