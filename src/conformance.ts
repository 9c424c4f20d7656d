/**
 * Hostile reads, for a host with its adapter: what a model must be shown of them, whatever the host.
 *
 * ```ts
 * import { conformance, type HostCall, type ToolResult } from "@waymark/waymark/conformance";
 * import { dialects } from "@waymark/waymark";
 *
 * const cases: Promise<void>[] = [];
 * // Give it the `test` of node:test or bun:test, or Deno.test, in place of this one.
 * conformance((_name, run) => cases.push(run()), {
 *   name: "a loop of our own",
 *   dialect: dialects.plain,
 *   async open({ waymark, tool, session }) {
 *     const bare = (args: Record<string, unknown>, info: { toolCallId: string; signal: AbortSignal | undefined }) => tool(args, info);
 *     const read = waymark ? waymark.wrap(bare) : bare; // without: the loop as it is, to hold the guarded one against
 *     const call = async ({ args, callId }: HostCall, signal: AbortSignal | undefined) => {
 *       try {
 *         const result: ToolResult = await read(args, { toolCallId: callId, signal });
 *         const blocks = typeof result === "string" ? [{ type: "text", text: result } as const] : result;
 *         const images = blocks.flatMap((block) => block.type === "image" ? [block.data] : []);
 *         const texts = blocks.flatMap((block) => block.type === "text" ? [block.text] : []);
 *         return { text: texts.join("\n"), failed: false, images };
 *       } catch (error) {
 *         return { text: String(error), failed: true };
 *       }
 *     };
 *     return {
 *       async turn(calls, options) {
 *         session?.nextTurn();
 *         return await Promise.all(calls.map((one) => call(one, options?.signal)));
 *       },
 *       async close() {},
 *     };
 *   },
 * });
 * await Promise.all(cases);
 * ```
 *
 * Promised: every case works in a temporary folder of its own, removed afterwards; a case a host cannot meet is skipped with the
 * reason, never passed. What a guarded host shows is held against the same host opened without the adapter, and, where the suite
 * brings the tool, against what that tool gave: its text to the letter, its images, its failure, one call with the model's own
 * arguments, and the turn's abort. So what an adapter always does wrong is found as well as what it does to long reads only.
 * Absent: any host; each brings its own loop. What no model is shown is not seen here: the class of an error whose name the host
 * keeps to itself.
 *
 * @module
 */

import { abortCases } from "./conformance/abort_cases.ts";
import { callCases } from "./conformance/call_cases.ts";
import type { Case } from "./conformance/cases.ts";
import { letterCases } from "./conformance/letter_cases.ts";
import { placeCases } from "./conformance/place_cases.ts";
import { rangeCases } from "./conformance/range_cases.ts";
import { resultCases } from "./conformance/result_cases.ts";
import { textCases } from "./conformance/text_cases.ts";
import { turnCases } from "./conformance/turn_cases.ts";
import type { ConformanceHost, TestFunction } from "./conformance/types.ts";
import { hasOffset, inWorld } from "./conformance/world.ts";

const cases: readonly Case[] = [
  ...rangeCases,
  ...resultCases,
  ...textCases,
  ...letterCases,
  ...placeCases,
  ...callCases,
  ...turnCases,
  ...abortCases,
];

/** The names of all cases, for {@linkcode ConformanceHost.cannot}. */
export const conformanceCases: readonly string[] = cases.map(({ name }) => name);

/**
 * Registers every case with a test runner.
 *
 * @throws {TypeError} where `cannot` names a case that there is none of.
 */
export function conformance(test: TestFunction, host: ConformanceHost): void {
  const cannot = new Map(Object.entries(host.cannot ?? {}));
  const unknown = [...cannot.keys()].filter((name) => !conformanceCases.includes(name));
  if (unknown.length) throw new TypeError(`Cannot test ${host.name}: no case is called ${unknown.join(", ")}`);
  const own = host.ownTool && "the host reads with its own tool", top = !hasOffset(host) && "its reads begin at line 1";
  for (const { name, needsTool, needsOffset, run } of cases) {
    const reason = cannot.get(name) ?? ((needsTool && own) || (needsOffset && top) || undefined);
    if (reason === undefined) test(`${host.name}: ${name}`, () => inWorld(host, run));
    else (test.skip ?? test.ignore)?.(`${host.name}: ${name} (${reason})`, () => {});
  }
}

export type {
  ConformanceHost,
  HostCall,
  HostSetup,
  OpenHost,
  ReadTool,
  Shown,
  TestFunction,
  ToolBlock,
  ToolResult,
} from "./conformance/types.ts";
