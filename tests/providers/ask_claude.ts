/**
 * A program for the tests of Claude's provider: makes a map with it and prints what came of it as one line of JSON. The
 * arguments: the base URL, the key (`-` for the environment's), and where another copy of the source is.
 *
 * @module
 */

import process from "node:process";

const [, , baseURL, apiKey, source] = process.argv;
const { anthropic } =
  await (source ? import(`${source}providers/anthropic.ts`) : import("../../src/providers/anthropic.ts"));

const text = "export const a = 1;\n".repeat(300);
const file = { path: "a.ts", text, lines: 300, hash: "", size: text.length };
let outcome: unknown;
try {
  const model = anthropic({ ...(baseURL === "-" ? {} : { baseURL }), ...(apiKey === "-" ? {} : { apiKey }) });
  const summary = await model.summarizer.summarize(file, { signal: AbortSignal.timeout(20_000), spend() {} });
  outcome = { regions: summary.regions.length };
} catch (error) {
  outcome = error instanceof Error
    ? { code: (error as { code?: string }).code, message: error.message }
    : String(error);
}
console.log(JSON.stringify(outcome));
