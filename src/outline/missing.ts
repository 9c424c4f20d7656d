/**
 * What the line scanner has found in a text that could not be parsed whole, and the tree has not. Pure.
 *
 * Promised: time grows with the number of both, not with their product.
 *
 * @module
 */

import type { Region } from "../types.ts";
import { type Declaration, LONG_FUNCTION } from "./collect.ts";

/** The found regions to be added: of a new name, across nothing's edge, and not inside a function that is short. */
export function missing(found: readonly Region[], declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name)), lines = new Set(declarations.map(({ line }) => line));
  const fits = fitting(declarations);
  return found.filter((region) => !names.has(region.name) && !lines.has(region.start) && fits(region))
    .map((region) => ({ ...region, line: region.start }));
}

/** Whether a region lies between declarations, around them, or in what may hold it. */
function fitting(declarations: readonly Declaration[]): (region: Region) => boolean {
  const size = declarations.reduce((last, { end }) => Math.max(last, end), 0) + 1;
  // By line: where the longest that begins there ends, the same of short functions, and where the longest that ends there begins, negative.
  const ends = new Int32Array(size), shortEnds = new Int32Array(size), starts = new Int32Array(size).fill(-size);
  for (const { start, end, kind } of declarations) {
    const isShort = (kind === "function" || kind === "method") && end - start < LONG_FUNCTION;
    ends[start] = Math.max(ends[start]!, end);
    if (isShort) shortEnds[start] = Math.max(shortEnds[start]!, end);
    starts[end] = Math.max(starts[end]!, -start);
  }
  const lastEnd = highest(ends), lastShortEnd = highest(shortEnds), firstStart = highest(starts);
  return ({ start, end }) =>
    lastEnd(start + 1, end) <= end && // none begins in it and ends behind it
    -firstStart(start, end - 1) >= start && // none begins before it and ends in it
    lastShortEnd(0, start - 1) < end && lastShortEnd(start, start) <= end; // no short function holds it
}

/** Makes the function that tells the highest of the values between two places, both inclusive. */
function highest(values: Int32Array): (from: number, to: number) => number {
  const size = values.length, tree = new Int32Array(size * 2);
  tree.set(values, size);
  for (let at = size - 1; at > 0; at--) tree[at] = Math.max(tree[at * 2]!, tree[at * 2 + 1]!);
  return (from, to) => {
    let found = -Infinity;
    for (let left = from + size, right = Math.min(to, size - 1) + size + 1; left < right; left >>= 1, right >>= 1) {
      if (left & 1) found = Math.max(found, tree[left++]!);
      if (right & 1) found = Math.max(found, tree[--right]!);
    }
    return found;
  };
}
