/**
 * What makes a conversation fit without a model: tool results are cleared, then the oldest turns are left out. Pure.
 *
 * Promised: it ends at the target, or with nothing left that may go; a tool call and all its results go together; what is
 * nearer to the end goes later. Never touched: system messages, calls that wait for their result, and, but for results of
 * tools that stand beside them, the words that a person wrote last and the newest unit.
 *
 * @module
 */

import { bondsOf, lastHumans, type LineItem, tailStart } from "./bonds.ts";

/** What the ladder is told. */
export interface LadderRules<Item extends LineItem> {
  /** Tokens the line may have. */
  readonly budget: number;
  /** Tokens it is brought down to, where what must stay leaves room for more than that. */
  readonly target: number;
  /** Share of the line's tokens, the newest, that is touched only where the rest does not suffice. */
  readonly protectedRecent: number;
  /** The message with its tool results cleared; `undefined` where that frees nothing. */
  readonly clear: (item: Item) => Item | undefined;
  /** Tokens of the note that says that messages are left out, if there is none yet. */
  readonly noteTokens: number;
}

/** What the ladder did. */
export interface Descent<Item extends LineItem> {
  /** Messages with cleared results, by their number. */
  readonly cleared: ReadonlyMap<number, Item>;
  /** Numbers of the messages left out. */
  readonly dropped: ReadonlySet<number>;
  /** Tokens that remain. */
  readonly tokens: number;
}

/** Of what is left beside that which must stay, this share at least is left of the older messages. */
const LEFT = 0.25;

/** Less room than this share of the budget would soon be used up. */
const ROOM = 0.1;

/** Goes down as many rungs as it takes. */
export function descend<Item extends LineItem>(line: readonly Item[], rules: LadderRules<Item>): Descent<Item> {
  const { budget, protectedRecent, clear, noteTokens } = rules;
  let { target } = rules;
  const { unit, isOpen } = bondsOf(line), kept = lastHumans(line);
  const cleared = new Map<number, Item>(), dropped = new Set<number>();
  let tokens = line.reduce((sum, item) => sum + item.tokens, 0);

  const units = new Map<number, number[]>(), newest = unit.at(-1);
  unit.forEach((root, index) => units.has(root) ? units.get(root)!.push(index) : units.set(root, [index]));
  const isFixed = (index: number): boolean =>
    isOpen[index]! || kept.has(index) || line[index]!.kind === "note" || line[index]!.facts.role === "system";
  const isNewest = (index: number): boolean => unit[index] === newest;
  const all = line.map((_, index) => index);
  const staying = new Set(all.filter((index) => isNewest(index) || isFixed(index)).map((index) => unit[index]!));
  const stays = (root: number): boolean => staying.has(root);
  const isLast = (index: number): boolean => isNewest(index) || kept.has(index);
  const rest = all.filter((index) => !isLast(index));

  const fixed = (): number => all.reduce((sum, index) => sum + (stays(unit[index]!) ? sizeOf(line[index]!) : 0), 0);
  const sizeOf = (item: Item): number => cleared.get(item.sequence)?.tokens ?? item.tokens;

  const clearAmong = (indexes: readonly number[], goal: number): void => {
    for (const index of indexes) {
      const item = line[index]!;
      if (tokens <= goal || cleared.has(item.sequence) || dropped.has(item.sequence)) continue;
      const other = clear(item);
      if (!other) continue;
      tokens += other.tokens - item.tokens;
      cleared.set(item.sequence, other);
    }
  };
  const drop = (root: number): void => {
    if (dropped.size === 0) tokens += noteTokens;
    for (const index of units.get(root)!) {
      tokens -= sizeOf(line[index]!);
      cleared.delete(line[index]!.sequence);
      dropped.add(line[index]!.sequence);
    }
  };
  /** Leaves out units that end before a place, oldest first; what a person asked for goes after what was done about it. */
  const dropBefore = (end: number): void => {
    let asked: number | undefined;
    for (const [root, members] of units) {
      const mayGo = members.at(-1)! < end && !stays(root) && !dropped.has(line[root]!.sequence);
      if (line[root]!.kind === "summary") continue;
      if (members.some((index) => line[index]!.facts.isHuman)) {
        if (asked !== undefined && tokens > target) drop(asked);
        asked = mayGo ? root : undefined;
      } else if (mayGo && tokens > target) drop(root);
      else if (members.at(-1)! >= end) asked = undefined; // of its turn something stays
    }
    if (asked !== undefined && tokens > target) drop(asked); // words beside a result that an older unit ends behind
  };
  const dropSummaries = (roots: readonly number[]): void => {
    for (const root of roots) if (tokens > target) drop(root);
  };
  const tail = tailStart(line, protectedRecent), summaries = all.filter((index) => line[index]!.kind === "summary");

  // What is too large even alone would in the end be cleared anyway, when all else is gone.
  let over = fixed() - budget;
  for (const index of all.filter(isLast).sort((a, b) => line[b]!.tokens - line[a]!.tokens)) {
    if (over <= 0) break;
    const before = tokens;
    clearAmong([index], budget);
    over += tokens - before;
  }
  const rungs: readonly (() => void)[] = [
    () => clearAmong(rest.filter((index) => index < tail), target),
    () => dropBefore(tail),
    () => dropSummaries(summaries.slice(0, -1)),
    () => clearAmong(rest, target),
    () => dropBefore(line.length),
    () => dropSummaries(summaries.slice(-1)),
    () => clearAmong(all, budget),
  ];
  rungs.forEach((rung, step) => {
    // Where what must stay is large, the target is out of reach: not everything else has to go for that.
    const must = fixed();
    target = Math.max(rules.target, must + LEFT * Math.max(0, budget - must));
    // Messages are left out for the target only where clearing leaves so little room that the ladder would soon be back.
    const half = (target + budget) / 2, enough = budget - half < ROOM * budget ? target : half;
    const most = step === 0 ? target : step === 1 ? enough : budget;
    if (tokens > most) rung();
  });
  return { cleared, dropped, tokens };
}

/**
 * Numbers of the oldest summaries beyond what summaries may take together: so many that they do not grow beyond it again soon.
 * The newest one stays.
 */
export function oldSummaries(line: readonly LineItem[], most: number): ReadonlySet<number> {
  const summaries = line.filter(({ kind }) => kind === "summary"), old = new Set<number>();
  let tokens = sizeOfSummaries(line);
  if (tokens <= most) return old;
  for (const { sequence, tokens: size } of summaries.slice(0, -1)) {
    if (tokens <= most / 2) break;
    tokens -= size;
    old.add(sequence);
  }
  return old;
}

/** Tokens of all summaries. */
export function sizeOfSummaries(line: readonly LineItem[]): number {
  return line.reduce((sum, { kind, tokens }) => kind === "summary" ? sum + tokens : sum, 0);
}
