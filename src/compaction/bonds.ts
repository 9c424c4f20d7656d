/**
 * What in a conversation belongs together: a tool call and all its results, found by their ids wherever they stand, and the
 * messages of one answer of a model, its thinking among them. Pure.
 *
 * Promised: whoever takes whole units leaves no call without its result and no result without its call, and whoever cuts at a
 * clean cut only puts nothing between them.
 *
 * @module
 */

import type { MessageFacts } from "./types.ts";

/** A message in a conversation's line. */
export interface LineItem {
  /** Its permanent number. */
  readonly sequence: number;
  /** Estimated tokens, as it is shown. */
  readonly tokens: number;
  /** What is known of it. */
  readonly facts: MessageFacts;
  /** The host's, a summary of ours, or another message that compaction put in. */
  readonly kind: "message" | "summary" | "note";
}

/** What belongs together in a line. */
export interface Bonds {
  /** For each message the index of the first one of its unit. */
  readonly unit: readonly number[];
  /** For each place, from before the first message to behind the last one: no unit stands on both sides of it. */
  readonly isClean: readonly boolean[];
  /** Whether a message makes a call whose result is still to come. */
  readonly isOpen: readonly boolean[];
}

/** After so many messages of people an unanswered call is given up: nobody waits for its result any more. */
export const GIVEN_UP = 2;

/** Finds what belongs together. */
export function bondsOf(line: readonly LineItem[]): Bonds {
  const unit = line.map((_, index) => index);
  const first = (index: number): number => {
    while (unit[index] !== index) index = unit[index] = unit[unit[index]!]!;
    return index;
  };
  const join = (a: number, b: number): void => {
    const [low, high] = [first(a), first(b)].sort((a, b) => a - b) as [number, number];
    unit[high] = low;
  };

  const calls = new Map<string, { readonly index: number; isAnswered: boolean }>();
  line.forEach(({ facts, kind }, index) => {
    const isAnswer = facts.role === "assistant", before = line[index - 1];
    if (isAnswer && kind === "message" && before?.facts.role === "assistant" && before.kind === "message") {
      join(index - 1, index);
    }
    const own = new Set(facts.calls);
    for (const id of facts.answers) {
      const call = calls.get(id);
      // A provider's own tool has call and result in one message; a call may have several results.
      if (own.delete(id)) calls.set(id, { index, isAnswered: true });
      else if (call) {
        call.isAnswered = true;
        join(call.index, index);
      }
    }
    for (const id of own) calls.set(id, openCall(calls.get(id), index, join));
  });

  const isOpen = line.map(() => false);
  const humans = line.map(() => 0);
  for (let index = line.length - 2; index >= 0; index--) {
    humans[index] = humans[index + 1]! + (line[index + 1]!.facts.isHuman ? 1 : 0);
  }
  for (const { index, isAnswered } of calls.values()) {
    if (!isAnswered && humans[index]! < GIVEN_UP) isOpen[index] = true;
  }

  const roots = line.map((_, index) => first(index)), isClean = cleanCuts(roots, isOpen);
  if (line.at(-1)?.facts.role === "assistant") isClean[line.length] = false; // the answer may go on
  return { unit: roots, isClean, isOpen };
}

/** A call that uses an id again while the one before waits: whichever is answered, they go together. */
function openCall(
  before: { readonly index: number; isAnswered: boolean } | undefined,
  index: number,
  join: (a: number, b: number) => void,
): { index: number; isAnswered: boolean } {
  if (before && !before.isAnswered) join(before.index, index);
  return { index, isAnswered: false };
}

function cleanCuts(unit: readonly number[], isOpen: readonly boolean[]): boolean[] {
  const last = new Map<number, number>();
  unit.forEach((root, index) => last.set(root, index));
  const isClean = [true];
  let reach = -1; // the last message of any unit begun so far
  unit.forEach((root, index) => {
    reach = Math.max(reach, isOpen[index] ? Infinity : last.get(root)!);
    isClean.push(reach <= index);
  });
  return isClean;
}

/**
 * Where the newest messages begin that hold at least this share of all tokens, but for those of system messages, summaries and
 * {@linkcode lastHumans}: those stay anyway.
 */
export function tailStart(line: readonly LineItem[], share: number): number {
  const kept = lastHumans(line);
  const counted = line.map(({ tokens, facts, kind }, index) =>
    kind === "summary" || facts.role === "system" || kept.has(index) ? 0 : tokens
  );
  const wanted = share * counted.reduce((sum, tokens) => sum + tokens, 0);
  let index = line.length;
  for (let sum = 0; index > 0 && sum < wanted;) sum += counted[--index]!;
  return index;
}

/** The messages of people that always stay as they are: the last one, and the last one beside a tool's result if it is later. */
export function lastHumans(line: readonly LineItem[]): ReadonlySet<number> {
  const pure = line.findLastIndex(({ facts }) => facts.isHuman && facts.answers.length === 0);
  const mixed = line.findLastIndex(({ facts }) => facts.isHuman && facts.answers.length > 0);
  return new Set([pure, ...(mixed > pure ? [mixed] : [])].filter((index) => index >= 0));
}
