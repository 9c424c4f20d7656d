/**
 * What compaction costs, by how the summary is asked for: a sweep over sizes and prices, and recorded sessions against the
 * simulator of the prompt cache.
 *
 * `deno task bench compaction`, or this file itself with each runtime. `--sessions d01,d02` takes some sessions, `--budget 30000`
 * another budget. Nothing here is a measurement of a provider: the sweep is arithmetic on published multipliers, the replay is
 * simulator output. That the summaries of a fork keep as much as those of a standalone call is not measured.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { breakEven } from "../../src/compaction/auto.ts";
import { type CompactionArm, type CompactionFigures, noCompaction, replayCompaction } from "./compaction_replay.ts";
import { sizeTable, sweepTable, WORDS } from "./compaction_sweep.ts";
import { runtime } from "./measure.ts";
import { recordedSessions } from "./replay_data.ts";

const { values } = parseArgs({
  options: { sessions: { type: "string" }, budget: { type: "string", default: "30000" } },
});
const budget = Number(values.budget);

/** Prints a table in Markdown; the first column to the left, the others to the right. */
function print(
  { head, rows }: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] },
): void {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => at ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = widths.map((width, at) => at ? `${"-".repeat(width - 1)}:` : "-".repeat(width));
  console.log(`\n${[line(head), line(rule), ...rows.map(line)].join("\n")}`);
}

const thousands = (value: number): string => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (part: number, whole: number): string => whole ? `${(100 * part / whole).toFixed(1)} %` : "";

console.log(`# ${runtime()}\n\n## Sweep: arithmetic, not measured\n`);
console.log(
  `A fork's words are ${WORDS.fork} tokens, a standalone call's ${WORDS.standalone}. "own" is a standalone call.`,
);
for (const [hitShare, read, published] of [[0.857, 0.1, "0.22 to 0.23"], [0.99, 0.1, "0.109"]] as const) {
  const share = breakEven({ hitShare, read, priceRatio: 1 });
  console.log(`Break-even at hits ${hitShare}, read ${read}: ${share.toFixed(4)} (published: ${published})`);
}
print(sweepTable(50_000));
print(sizeTable({ hitShare: 0.99, read: 0.1, priceRatio: 1 }));

const arms: readonly CompactionArm[] = [
  { title: "the ladder alone", strategy: "prune" },
  { title: "standalone", callMode: "standalone" },
  { title: "fork", callMode: "fork" },
  { title: "auto", callMode: "auto" },
  { title: "standalone, a model at a fifth", callMode: "standalone", isCheap: true },
  { title: "auto, a model at a fifth", callMode: "auto", isCheap: true },
  { title: "fork, maps put back (1,500 tokens)", callMode: "fork", maps: 1_500 },
];

const sessions = recordedSessions(values.sessions?.split(","));
const sums: (CompactionFigures & { readonly arm: CompactionArm })[] = [];
for (const arm of arms) {
  const sum = noCompaction();
  for (const session of sessions) {
    const figures = await replayCompaction(session, arm, budget);
    for (const key of Object.keys(sum) as (keyof CompactionFigures)[]) sum[key] += figures[key];
  }
  sums.push({ arm, ...sum });
}

const base = sums.find(({ arm }) => arm.title === "standalone")!;
console.log(`\n## Replay: simulator output, not measured\n`);
console.log(
  `${sessions.length} recorded sessions, ${thousands(base.requests)} requests, a budget of ${thousands(budget)}`,
);
console.log("tokens. Costs are input alone, in thousands of plain input tokens of the main model.");
print({
  head: [
    "",
    "boundaries",
    "ladder",
    "forks",
    "declined",
    "refused",
    "missed",
    "requests",
    "summaries",
    "sum",
    "over standalone",
  ],
  rows: sums.map(({ arm, boundaries, ladders, forks, declines, fallbacks, missed, main, summaries }) => [
    arm.title,
    ...[boundaries, ladders, forks, declines, fallbacks, missed, main / 1000, summaries / 1000].map(thousands),
    thousands((main + summaries) / 1000),
    percent(main + summaries - base.main - base.summaries, base.main + base.summaries),
  ]),
});
const sumOf = ({ main, summaries }: CompactionFigures): number => main + summaries;
const sorted = sums.toSorted((a, b) => sumOf(a) - sumOf(b)), summarizing = sorted.find(({ arm }) => arm.callMode)!;
console.log(
  `\nCheapest of all: ${sorted[0]!.arm.title}; of those that summarize: ${summarizing.arm.title}, ` +
    `${percent(sumOf(base) - sumOf(summarizing), sumOf(base))} under standalone.`,
);

// The mode may not decide what is summarized, and in the simulator a fork reads what it begins with.
for (const { arm, main, missed, fallbacks } of sums) {
  const isOther = arm.maps !== undefined || arm.strategy !== undefined;
  if (!missed && !fallbacks && (isOther || Math.abs(main - base.main) < 1)) continue;
  console.log(`${arm.title}: ${missed} forks missed, ${fallbacks} refused, requests cost ${main}, not ${base.main}`);
  process.exitCode = 1;
}

console.log(
  "\nMaps and seen ranges put after summaries. The recording is frozen: nobody reads less for having them, so what is",
);
console.log("read again is the most that they could spare.");
print({
  head: ["", "tokens put back", "read again: tokens", "of files told of", "requests and summaries"],
  rows: sums.filter(({ arm }) => arm.callMode === "fork").map((
    { arm, attached, reread, rereadAttached, main, summaries },
  ) => [
    arm.title,
    ...[attached, reread, rereadAttached, main + summaries].map(thousands),
  ]),
});
