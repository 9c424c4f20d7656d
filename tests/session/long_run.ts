/**
 * The long run: `deno run -A tests/session/long_run.ts 10000`, and a seed behind that to repeat a run. Ends with 1 where the
 * product and the oracle do not agree, or something was never seen.
 */

import process from "node:process";
import { SEEN, type Tally } from "./history.ts";
import { runMany } from "./report.ts";

const [count = "10000", given] = process.argv.slice(2), all = Number(count), PART = 500;
const first = given === undefined ? Date.now() % 1_000_000_000 : Number(given), started = performance.now();
console.log(`${all} histories, seed ${first}`);

const tally: Tally = {};
for (let done = 0, seed = first; done < all && !process.exitCode; done += PART, seed++) {
  const { tally: seen, failure } = await runMany({ seed, runs: Math.min(PART, all - done) });
  for (const [name, times] of Object.entries(seen)) tally[name] = (tally[name] ?? 0) + times;
  if (failure !== undefined) {
    console.error(`${failure}\nOnce more: deno run -A tests/session/long_run.ts ${PART} ${seed}`);
    process.exitCode = 1;
  }
}
for (const [name, times] of Object.entries(tally).sort()) console.log(`${String(times).padStart(9)}  ${name}`);
const missing = SEEN.filter((name) => !tally[name]);
if (missing.length && all >= 1000) {
  console.error(`never seen: ${missing.join(", ")}`);
  process.exitCode = 1;
}
console.log(`${((performance.now() - started) / 1000).toFixed(0)} s`);
