/**
 * What a tool-use summary costs the tool call: a result of 1 MB, over the bare tool. Only the calling path is timed; what
 * happens in later turns of the event loop is done between the rounds.
 *
 * Run it with each runtime: `deno task bench tool_use`, or this file itself.
 */

import { toolUseSummary } from "../../src/tool_use.ts";
import { line, median, runtime, type Timing } from "./measure.ts";

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const model = {
  name: "bench",
  complete: () => Promise.resolve({ text: "A digest.", stopReason: "end" as const, usage }),
};

const text = "src/module.ts:12 passes, and so does the next one\n".repeat(20_000);
const blocks = Array.from(
  { length: 100 },
  (_, index) => ({ type: "text", text: text.slice(index * 10_000, index * 10_000 + 10_000) }),
);
const rows = Array.from(
  { length: 10_000 },
  (_, index) => ({ file: `src/module_${index}.ts`, line: index, text: "a match of the search ".repeat(4) }),
);

const fields = Object.fromEntries(rows.map(({ file, text }) => [file, text]));

/** A bare tool and the same one watched: microseconds of one call, its promise awaited. */
async function compare(name: string, result: unknown): Promise<Timing[]> {
  const digests = toolUseSummary({ model, session: "bench", topLevel: true, maxCallsPerSession: Infinity });
  const bare = (_: unknown, _info: { toolCallId: string }): Promise<unknown> => Promise.resolve(result);
  const watched = digests.wrap(bare);
  const times: [number[], number[]] = [[], []];
  for (let round = -50; round < 400; round++) {
    for (const [index, tool] of [bare, watched].entries()) {
      const info = { toolCallId: `call ${round}` };
      const start = performance.now();
      await tool({}, info);
      const micros = (performance.now() - start) * 1000;
      if (round >= 0) times[index]!.push(micros);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await digests.settled();
  }
  await digests.close();
  const [bareTime, watchedTime] = times.map(median) as [number, number];
  console.log(`\n${name}`);
  const timings = [
    { name: "bare tool", micros: bareTime, ratio: 1 },
    { name: "watched", micros: watchedTime, ratio: watchedTime / bareTime },
  ];
  for (const timing of timings) console.log(line(timing));
  const slowest = [...times[1]].sort((a, b) => a - b)[Math.floor(times[1].length * 0.99)]!;
  console.log(`adds ${(watchedTime - bareTime).toFixed(1)} us; the slowest in a hundred took ${slowest.toFixed(1)} us`);
  return timings;
}

console.log(`# ${runtime()}\n\nA result of 1 MB, over the bare tool (bar: adds <= 50 us)`);
await compare("for comparison, a string of 100 bytes", text.slice(0, 100));
await compare("one string", text);
await compare("100 text blocks", { content: blocks });
await compare("10,000 rows of data", { matches: rows });
await compare("a text, and 10,000 fields beside it", {
  content: [{ type: "text", text }],
  structuredContent: fields,
});
