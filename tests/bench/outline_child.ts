/**
 * One process of `outline_bench.ts`: the outline and the scanner on one file, first and warm. Runs on every runtime and
 * prints JSON.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { countLines } from "../../src/lines.ts";

const path = process.argv[2]!, text = readFileSync(path, "utf8");
const file = { path, text, lines: countLines(text), hash: path, size: text.length };
const context = { signal: new AbortController().signal, spend: () => {} };

async function time(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

async function series(load: () => Promise<{ summarize(given: typeof file, context: object): Promise<unknown> }>) {
  let parser: Awaited<ReturnType<typeof load>> | undefined;
  const first = await time(async () => {
    parser = await load();
    await parser.summarize(file, context);
  });
  const warm: number[] = [];
  for (let round = 0; round < 30; round++) warm.push(await time(() => parser!.summarize(file, context)));
  warm.splice(0, 10);
  return { first, warm: warm.sort((a, b) => a - b)[warm.length >> 1]! };
}

const scanner = await series(async () => (await import("../../src/summary/scanner.ts")).scanner());
const outline = await series(async () => (await import("../../src/outline.ts")).outline() as never);
console.log(JSON.stringify({ lines: file.lines, outline, scanner }));
