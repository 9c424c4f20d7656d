/**
 * Which messages are summarized next: the oldest run of them that covers the excess. Pure.
 *
 * Promised: the run stands in the view in one piece; it holds a tool call and all its results or none of them, and never a
 * part of one answer; a summary put in its place stands between no call and its result. Never in it: system messages,
 * summaries unless they are to be folded, the newest messages, what a person wrote last, and calls that wait for their result. How the summary is asked
 * for is not known here, and so cannot matter.
 *
 * @module
 */

import { bondsOf, lastHumans, type LineItem, tailStart } from "./bonds.ts";
import type { Span } from "./types.ts";

/** What a span is chosen by. */
export interface SpanRules {
  /** Tokens to be covered. */
  readonly excess: number;
  /** Share of the line's tokens, the newest, that stays. */
  readonly protectedRecent: number;
  /** Summaries may be summarized too. Default false. */
  readonly folds?: boolean;
}

/** A span, and where it stands in the line. */
export interface PlacedSpan extends Span {
  /** Index of its first message. */
  readonly from: number;
  /** Behind its last message. */
  readonly to: number;
}

/**
 * The oldest run that covers the excess, ended at the first clean cut; where none covers it, the largest. `undefined` where
 * nothing may be summarized.
 */
export function selectSpan(line: readonly LineItem[], rules: SpanRules): PlacedSpan | undefined {
  const { excess, protectedRecent, folds = false } = rules;
  const { isClean, isOpen } = bondsOf(line), kept = lastHumans(line), end = tailStart(line, protectedRecent);
  const stays = (index: number): boolean =>
    (line[index]!.kind === "summary" && !folds) || line[index]!.facts.role === "system" || isOpen[index]! ||
    kept.has(index);

  let largest: PlacedSpan | undefined;
  for (let from = 0; from < end; from++) {
    if (!isClean[from] || stays(from)) continue;
    let tokens = 0, found: PlacedSpan | undefined, next = from;
    for (; next < end && !stays(next); next++) {
      tokens += line[next]!.tokens;
      if (isClean[next + 1]) found = { from, to: next + 1, tokens, sequence: [] };
      if (found && found.tokens >= excess) return numbered(line, found);
    }
    if (found && found.tokens > (largest?.tokens ?? 0)) largest = found;
    from = next; // what stands there stays
  }
  return largest && numbered(line, largest);
}

function numbered(line: readonly LineItem[], span: PlacedSpan): PlacedSpan {
  return { ...span, sequence: line.slice(span.from, span.to).map(({ sequence }) => sequence) };
}

/**
 * Where a span stands in the line as it is now; `undefined` where a message of it has gone, or one that belongs to it has
 * come since.
 */
export function placeSpan(line: readonly LineItem[], { sequence }: Span): PlacedSpan | undefined {
  const from = line.findIndex((item) => item.sequence === sequence[0]), to = from + sequence.length;
  if (from < 0 || sequence.some((number, at) => line[from + at]?.sequence !== number)) return undefined;
  const { isClean } = bondsOf(line);
  if (!isClean[from] || !isClean[to]) return undefined;
  const tokens = line.slice(from, to).reduce((sum, item) => sum + item.tokens, 0);
  return { from, to, sequence, tokens };
}
