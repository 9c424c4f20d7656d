/**
 * Replays recorded agent sessions through the guards: what is kept out of the conversation, and whether anything is said that
 * is false.
 *
 * `deno task bench replay`, or this file itself with each runtime. `--sessions d01,d02` takes some sessions, `--arms all,naive`
 * some arms, `--population tool` the reads of the read tool alone (`shell`: those of shell commands too). It ends with an error
 * where an arm of ours says something false, or finds under 80 % of the references that the data's own contract arm finds,
 * or where the raw arm is not what was recorded to the token; and, where all of it is replayed, where the README shows other
 * figures.
 *
 * The sessions and what else is known of them: `tests/testdata/sessions/README.md`. How lines stand for their numbers:
 * `replay_data.ts`. The recording is frozen, so every figure is a ceiling: nobody asks again for what was withheld.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { runtime } from "./measure.ts";
import { type Arm, armsOf } from "./replay_arms.ts";
import { recordedSessions } from "./replay_data.ts";
import { FALSEHOODS } from "./replay_judge.ts";
import type { Population } from "./replay_rules.ts";
import { falsehoods, type Figures, replay, sumOf } from "./replay_session.ts";

/** The share of the contract arm's references that an arm of ours has to find: one that never speaks is safe, and no use. */
const ENOUGH = 0.8;

const POPULATIONS: Readonly<Record<Population, string>> = {
  tool: "the read tool; reads by shell commands pass",
  shell: "the read tool, and shell commands that only read",
};

/** A table in Markdown; the first column to the left, the others to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows];
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => at ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = widths.map((width, at) => at ? `${"-".repeat(width - 1)}:` : "-".repeat(width));
  return [line(cells[0]!), line(rule), ...cells.slice(1).map(line)].join("\n");
}

function thousands(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

function percent(part: number, whole: number): string {
  return whole ? `${(100 * part / whole).toFixed(1)} %` : "";
}

/** What came of an arm, by session. */
interface Outcome {
  readonly arm: Arm;
  readonly all: readonly { readonly host: string; readonly figures: Figures }[];
}

/** What an arm did, or one host in it. */
function deeds(
  { reads, capped, references, diffs, mapReferences, raw, rawReads, tokens, inserted }: Figures,
): string[] {
  const saved = raw - tokens, all = [reads, capped, references, diffs, mapReferences, tokens, inserted].map(thousands);
  return [...all, percent(saved, raw), percent(saved, rawReads)];
}

const DEEDS = [
  "reads",
  "capped",
  "references",
  "diffs",
  "map references",
  "tokens left",
  "inserted",
  "saved",
  "of these reads",
];

/** Prints a population; what is wrong with it. */
function print(population: Population, outcomes: readonly Outcome[]): { problems: string[]; tables: string[] } {
  const sums = outcomes.map(({ arm, all }) => ({ arm, sum: sumOf(all.map(({ figures }) => figures)) }));
  const hosts = [...new Set(outcomes[0]!.all.map(({ host }) => host))];
  const of = ({ all }: Outcome, name: string) =>
    sumOf(all.filter(({ host }) => host === name).map((one) => one.figures));

  console.log(`\n## What an agent reads by ${POPULATIONS[population]}\n`);
  const kinds = (sum: Figures): string[] => FALSEHOODS.map((kind) => thousands(sum.wrong[kind]));
  const speaking = sums.filter(({ arm }) => arm.name !== "raw");
  const cell = ({ tokens, raw }: Figures): string =>
    tokens === raw ? thousands(tokens) : `${thousands(tokens)} (${percent(raw - tokens, raw)})`;
  const byArm = outcomes.map((one) => [one.arm.title, ...hosts.map((host) => cell(of(one, host)))]);
  const tables = [
    table(["arm", ...DEEDS], sums.map(({ arm, sum }) => [arm.title, ...deeds(sum)])),
    table(["arm", ...FALSEHOODS], speaking.map(({ arm, sum }) => [arm.title, ...kinds(sum)])),
    table(["arm", ...hosts.map((host) => `${host} (${of(outcomes[0]!, host).sessions})`)], byArm),
  ];
  console.log(tables[0]);
  console.log(`\nFalse statements, by what is false:\n\n${tables[1]}`);
  console.log(`\nTokens of all tool results that are left, and how much of them is saved:\n\n${tables[2]}`);
  for (const one of outcomes.filter(({ arm }) => arm.name !== "raw")) {
    console.log(`\n${one.arm.title}, by host:\n`);
    const byHost = hosts.map((host) => [host, ...deeds(of(one, host)), ...kinds(of(one, host))]);
    console.log(table(["host", ...DEEDS, ...FALSEHOODS], byHost));
  }
  console.log("");
  const problems = outcomes.flatMap(({ arm, all }, index) => {
    const { sum } = sums[index]!, { references, contract, toSubAgents } = sum, problems: string[] = [];
    if (arm.refers) {
      const share = arm.isOurs ? `; the contract arm of the data finds ${contract}` : "";
      console.log(
        `${arm.title}: ${references} references${share}; ${toSubAgents} to sub-agents that have read nothing`,
      );
    }
    if (arm.isOurs && falsehoods(sum)) problems.push(`${arm.title}: ${falsehoods(sum)} false`);
    if (arm.isOurs && arm.refers && references < ENOUGH * contract) {
      problems.push(`${arm.title}: ${references} references are under ${ENOUGH * 100} % of ${contract}`);
    }
    const differs = arm.name === "raw" && all.some(({ figures: { raw, tokens } }) => Math.abs(raw - tokens) > 0.001);
    return differs ? [...problems, "raw: not what was recorded"] : problems;
  });
  return { problems, tables };
}

const { values } = parseArgs({
  options: { sessions: { type: "string" }, arms: { type: "string" }, population: { type: "string" } },
});
const arms = armsOf(values.arms?.split(",")), sessions = recordedSessions(values.sessions?.split(","));
const populations = values.population === undefined ? ["tool", "shell"] : [values.population];
const unknown = populations.find((name) => !(name in POPULATIONS));
if (unknown !== undefined) throw new Error(`Cannot replay the population ${unknown}: there are tool and shell`);

console.log(`${runtime()}, ${sessions.length} sessions`);
for (const population of populations as Population[]) {
  const outcomes: Outcome[] = [];
  for (const arm of arms) {
    const all: { host: string; figures: Figures }[] = [];
    for (const session of sessions) all.push({ host: session.host, figures: await replay(session, arm, population) });
    outcomes.push({ arm, all });
  }
  const { problems, tables } = print(population, outcomes);
  if (population === "tool" && values.sessions === undefined && values.arms === undefined) {
    const readme = readFileSync(`${import.meta.dirname}/../../README.md`, "utf8");
    if (!tables.every((table) => readme.includes(table))) problems.push("README.md: it shows other figures");
  }
  for (const problem of problems) {
    console.error(`WRONG ${problem}`);
    process.exitCode = 1;
  }
}
