/**
 * Line windows and bounded counts in files of 5 MB and 100 MB: what they cost at the top, in the middle and at the end, and
 * how much memory they take at the most. Every measurement is a process of its own, in turns, several rounds.
 *
 *     deno run -A tests/bench/lines_bench.ts        bun tests/bench/lines_bench.ts        node tests/bench/lines_bench.ts
 *
 * Bars: at line 1,000 the large file costs at most twice the small one; nothing takes more than 16 MB over an idle process.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { disk } from "../../src/files.ts";
import { countUpTo, lineWindow } from "../../src/lines.ts";
import { median } from "./measure.ts";

const MIB = 1 << 20;
const LINE = "const value = compute(a, b);\n"; // 29 bytes
const bars = { growth: 2, memory: 16 };

/** What is measured: the file, and the work on it. */
const cases: Record<string, [file: "small" | "large" | "one line", work: (path: string) => number]> = {
  "idle": ["small", () => 0],
  "count to 201, 5 MB": ["small", (path) => count(path, 201)],
  "count to 201, 100 MB": ["large", (path) => count(path, 201)],
  "count to 1,200, 5 MB": ["small", (path) => count(path, 1_200)],
  "count to 1,200, 100 MB": ["large", (path) => count(path, 1_200)],
  "count all, 100 MB": ["large", (path) => count(path, Infinity)],
  "window at 1,000, 5 MB": ["small", (path) => window(path, 1_000)],
  "window at 1,000, 100 MB": ["large", (path) => window(path, 1_000)],
  "window at 1,700,000, 100 MB": ["large", (path) => window(path, 1_700_000)],
  "window past the end, 100 MB": ["large", (path) => window(path, 5_000_000)],
  "window at 1, one line of 100 MB": ["one line", (path) => window(path, 1)],
  "window at 2, one line of 100 MB": ["one line", (path) => window(path, 2)],
};

function count(path: string, limit: number): number {
  const file = disk().open(path);
  try {
    return countUpTo(file, limit);
  } finally {
    file.close();
  }
}

function window(path: string, start: number): number {
  const file = disk().open(path);
  try {
    return lineWindow(file, start, 200).lines;
  } finally {
    file.close();
  }
}

/** The most memory this process has held, in kilobytes (Linux). */
function peak(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

function measure(name: string, path: string): void {
  const [, work] = cases[name]!, warm: number[] = [];
  const once = (): number => {
    const started = performance.now();
    work(path);
    return performance.now() - started;
  };
  const first = once(), most = peak();
  for (let round = 0; round < 4; round++) warm.push(once());
  console.log(JSON.stringify({ first, warm: median(warm), peak: most }));
}

function run(rounds: number): void {
  const folder = mkdtempSync(join(tmpdir(), "waymark-bench-"));
  const paths = { "small": join(folder, "small"), "large": join(folder, "large"), "one line": join(folder, "line") };
  try {
    writeFileSync(paths.small, LINE.repeat(Math.ceil(5 * MIB / LINE.length)));
    writeFileSync(paths.large, LINE.repeat(Math.ceil(100 * MIB / LINE.length)));
    writeFileSync(paths["one line"], "x".repeat(100 * MIB));
    const results: Record<string, { first: number[]; warm: number[]; peak: number[] }> = {};
    const flags = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
    for (let round = 0; round < rounds; round++) {
      for (const [name, [file]] of Object.entries(cases)) {
        const out = execFileSync(process.execPath, [...flags, fileURLToPath(import.meta.url), name, paths[file]], {
          encoding: "utf8",
        });
        const said = JSON.parse(out), known = results[name] ??= { first: [], warm: [], peak: [] };
        for (const key of ["first", "warm", "peak"] as const) known[key].push(said[key]);
      }
    }
    const idle = median(results["idle"]!.peak);
    const table = Object.entries(results).map(([name, { first, warm, peak }]) =>
      [name, { first: median(first), warm: median(warm), memory: (median(peak) - idle) / 1024 }] as const
    );
    for (const [name, { first, warm, memory }] of table) {
      console.log(
        `${name.padEnd(34)} first ${first.toFixed(2).padStart(8)} ms  warm ${warm.toFixed(2).padStart(8)} ms  +${
          memory.toFixed(1)
        } MB`,
      );
    }
    const of = Object.fromEntries(table);
    const growth = ["count to 201", "count to 1,200", "window at 1,000"]
      .map((name) => of[`${name}, 100 MB`]!.first / of[`${name}, 5 MB`]!.first);
    const most = Math.max(...table.map(([, { memory }]) => memory));
    console.log(`100 MB over 5 MB: ${growth.map((ratio) => ratio.toFixed(2)).join(", ")} (bar ${bars.growth})`);
    console.log(`most memory: +${most.toFixed(1)} MB (bar ${bars.memory})`);
    process.exitCode = most > bars.memory || growth.some((ratio) => ratio > bars.growth) ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [name, path] = process.argv.slice(2);
if (name !== undefined && path !== undefined) measure(name, path);
else run(7);
