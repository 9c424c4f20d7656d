/**
 * Which call makes a summary for less, over what it depends on: arithmetic on published multipliers, no measurement.
 *
 * @module
 */

import { breakEven, callCosts, type CallRates } from "../../src/compaction/auto.ts";
import { estimateTokens } from "../../src/compaction/estimate.ts";
import { forkWords, standaloneWords } from "../../src/compaction/prompt.ts";

/** Tokens of the words of each call, the span apart: by the very words that are sent. */
export const WORDS = {
  fork: estimateTokens({ role: "user", content: forkWords(scope(), "0123456789abcdef") }),
  standalone: estimateTokens(standaloneWords("", { token: "0123456789abcdef", messages: 40 })),
};

function scope(): Parameters<typeof forkWords>[0] {
  const end = {
    role: "tool",
    calls: [],
    answers: ["toolu_0123456789"],
    isHuman: false,
    text: "x".repeat(300),
  } as const;
  return { first: end, last: end, from: 1, count: 40, total: 90 };
}

/** What both calls cost with their words, in plain input tokens of the main model; their answers are the same and left out. */
export function costsOf(sizes: { spanTokens: number; prefixTokens: number }, rates: CallRates) {
  const { fork, standalone } = callCosts(sizes, rates);
  return { fork: fork + WORDS.fork, standalone: standalone + WORDS.standalone / rates.priceRatio };
}

/** The cheaper call, and how much less it costs. */
function verdict(sizes: { spanTokens: number; prefixTokens: number }, rates: CallRates): string {
  const { fork, standalone } = costsOf(sizes, rates),
    less = 1 - Math.min(fork, standalone) / Math.max(fork, standalone);
  return `${fork <= standalone ? "fork" : "own"} -${Math.round(100 * less)} %`;
}

/** Columns: the share of the prefix that the span is. */
const SHARES = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7];

/** A table over read price, hit share and price ratio, for one size of prefix. */
export function sweepTable(prefixTokens: number): { head: string[]; rows: string[][] } {
  const rows: string[][] = [];
  for (const priceRatio of [1, 2.5, 5]) {
    for (const [read, hitShare] of [[0.1, 0.5], [0.1, 0.857], [0.1, 0.99], [0.05, 0.99], [0.025, 0.99]] as const) {
      const rates = { hitShare, read, priceRatio };
      rows.push([
        `ratio ${priceRatio}, read ${read}, hits ${hitShare}`,
        breakEven(rates).toFixed(3),
        ...SHARES.map((share) => verdict({ prefixTokens, spanTokens: share * prefixTokens }, rates)),
      ]);
    }
  }
  return { head: [`prefix ${prefixTokens}`, "break-even", ...SHARES.map((share) => `span ${share}`)], rows };
}

/** A table over sizes of prefix, for one set of rates: where the words of the calls matter. */
export function sizeTable(rates: CallRates): { head: string[]; rows: string[][] } {
  const rows = [5_000, 20_000, 50_000, 150_000].map((prefixTokens) => [
    String(prefixTokens),
    ...SHARES.map((share) => verdict({ prefixTokens, spanTokens: share * prefixTokens }, rates)),
  ]);
  const { priceRatio, read, hitShare } = rates;
  return {
    head: [`ratio ${priceRatio}, read ${read}, hits ${hitShare}`, ...SHARES.map((share) => `span ${share}`)],
    rows,
  };
}
