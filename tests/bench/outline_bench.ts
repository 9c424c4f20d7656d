/**
 * The outline: how much it finds of what others find, by language, and how long it takes, on each runtime, beside
 * universal-ctags on the same file. `deno task bench outline`.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { corpusLists, loadCorpus } from "../outline/corpus.ts";
import { measure, type Measured, total } from "../outline/measure.ts";
import { percent, type Score } from "../outline/quality.ts";
import { references } from "../outline/references.ts";
import { median } from "./measure.ts";

const lists = corpusLists(), known = references();
console.log(`references: ${known.map(({ name, version }) => `${name} ${version}`).join(", ")}`);

function row(name: string, score: Score): string {
  const { files, lines, regions, outside, top, topFound, all, allFound, ends, endsRight } = score;
  const cells = [
    files,
    lines,
    regions,
    outside,
    top,
    percent(topFound, top),
    all,
    percent(allFound, all),
    percent(endsRight, ends),
  ];
  return [name.padEnd(12), ...cells.map((cell) => String(cell).padStart(8))].join(" ");
}

function print(measured: Measured): void {
  for (const [who, scores] of [["outline", measured.outline], ["scanner", measured.scanner]] as const) {
    console.log(
      `\n${who.padEnd(12)}    files    lines  regions  outside      top    found      all    found ends right`,
    );
    for (const [language, score] of scores) console.log(row(language, score));
    console.log(row("all", total(scores)));
  }
  if (measured.fallenBack.length) console.log(`left to the scanner: ${measured.fallenBack.join(" ")}`);
  if (measured.unknown.length) console.log(`known to no reference: ${measured.unknown.join(" ")}`);
}

for (const [words, list] of [["files it was written with", lists.files], ["held-out files", lists.heldOut]] as const) {
  const corpus = loadCorpus(list);
  console.log(`\n## ${words}`);
  if (typeof corpus === "string") console.log(corpus);
  else print(await measure(corpus, known));
}

const package_ = "zod@4.6.7", path = "src/v4/core/util.ts";
const sample = loadCorpus({ [package_]: { [path]: lists.files[package_]![path]! } });
if (typeof sample !== "string") {
  const file = sample[0]!.file, child = new URL("outline_child.ts", import.meta.url).pathname;
  const config = `${import.meta.dirname}/../../deno.offline.json`;
  console.log(`\n## ${path} of ${package_}: first in a process (loading included) and warm, ms`);
  const runtimes: [name: string, command: string, ...args: string[]][] = [
    ["Deno", Deno.execPath(), "run", "-A", "--no-check", "--config", config],
    ["Bun", "npx", "-y", "bun@1.4.5"],
    ["Node 24", "npx", "-y", "node@24.21.0"],
  ];
  for (const [name, command, ...args] of runtimes) {
    const runs: { outline: Timing; scanner: Timing; lines: number }[] = [];
    for (let round = 0; round < 5; round++) {
      const { stdout } = spawnSync(command, [...args, child, file], { encoding: "utf8" });
      if (stdout) runs.push(JSON.parse(stdout.trim().split("\n").at(-1)!));
    }
    if (!runs.length) console.log(`${name}: not to be had`);
    else {
      for (const who of ["outline", "scanner"] as const) {
        const [first, warm] = (["first", "warm"] as const).map((which) =>
          median(runs.map((run) => run[who][which])).toFixed(1)
        );
        console.log(
          `${name.padEnd(8)} ${who.padEnd(8)} first ${first!.padStart(7)}  warm ${warm!.padStart(6)}  (${
            runs[0]!.lines
          } lines)`,
        );
      }
    }
  }
  if (known.some(({ name }) => name === "universal-ctags")) {
    const times: number[] = [];
    for (let round = 0; round < 15; round++) {
      const start = performance.now();
      spawnSync("ctags", ["--output-format=json", "--fields=+neK", "-f", "-", file]);
      times.push(performance.now() - start);
    }
    console.log(`universal-ctags, a process each time: ${median(times).toFixed(1)}`);
  }
}

/** Milliseconds. */
interface Timing {
  readonly first: number;
  readonly warm: number;
}
