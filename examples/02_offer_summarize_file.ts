/**
 * Offers the `summarize_file` tool to a model, beside its read tool. The model here is a script; the loop is a real one.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createWaymark, readGuideline } from "@waymark/waymark";
import { outline } from "@waymark/waymark/outline";

const project = await mkdtemp(join(tmpdir(), "waymark-example-")), path = join(project, "orders.ts");
const functions = Array.from(
  { length: 70 },
  (_, index) =>
    `export function step${index}(order) {\n${"  order = check(order);\n".repeat(17)}  return order;\n}\n\n`,
);
await writeFile(path, functions.join("")); // 1,470 lines

const waymark = createWaymark({ root: project, outline: outline() });
const summarizeFile = waymark.summarizeFileTool();
const readFileTool = waymark.wrap(
  async ({ path, offset = 1, limit }: { path: string; offset?: number; limit?: number }) => {
    const lines = (await readFile(path, "utf8")).split("\n");
    return lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit).join("\n");
  },
);

// What a host sends to its model: the guideline in the system prompt, and the tool's own words and schema.
const system = `You are a coding agent. ${readGuideline()}`;
const { name, description, parameters } = summarizeFile;
const offered = [{ name, description, input_schema: parameters }, { name: "read_file" /* and the rest of it */ }];
assertStringIncludes(system, "summarize_file");
assertEquals(offered.length, 2);

// deno-lint-ignore no-explicit-any -- a model's arguments are anything
const tools: Record<string, (args: any) => Promise<string>> = {
  summarize_file: (args) => summarizeFile.execute(args),
  read_file: readFileTool,
};

/** Stands in for the model: it wants to know what `step30` does. */
function nextCall(results: readonly string[]): { tool: string; args: unknown } | undefined {
  if (results.length === 0) return { tool: "summarize_file", args: { path } };
  if (results.length > 1) return undefined;
  const [, start, end] = /(\d+)-(\d+) {2}function {2}step30\b/.exec(results[0]!)!;
  return { tool: "read_file", args: { path, offset: Number(start), limit: Number(end) - Number(start) + 1 } };
}

const results: string[] = [];
for (let call; (call = nextCall(results));) {
  const result = await tools[call.tool]!(call.args);
  results.push(result);
  console.log(`${call.tool} ${JSON.stringify(call.args)}\n  gave ${result.length} characters`);
}
assertEquals(results[1]!.trim(), functions[30]!.trim());
console.log(`\nread in the end:\n${results[1]}\n\nthe whole file has ${functions.join("").length} characters`);

assertStringIncludes(await summarizeFile.execute({ path, action: "lookup", line: 1045 }), "step49");
assertEquals(waymark.stats().modelCalls, 0);
await waymark.close();
await rm(project, { recursive: true });
