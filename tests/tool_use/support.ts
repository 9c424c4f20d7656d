/** What the tests of tool-use summaries share. */

import { after } from "node:test";
import process from "node:process";
import { assertEquals } from "@std/assert";
import { type ToolUseOptions, type ToolUseSummary, toolUseSummary } from "../../src/tool_use.ts";
import type { DigestEvent } from "../../src/events.ts";
import type { CompletionModel, CompletionRequest } from "../../src/types.ts";
import { scriptedModel } from "../../src/testing.ts";

/** Fails a test file in which any promise was rejected and nobody saw it. */
export function refuseUnseenRejections(): void {
  const unseen: string[] = [];
  process.on("unhandledRejection", (error) => unseen.push(String(error)));
  after(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    assertEquals(unseen, [], "rejections that nobody saw");
  });
}

/** The output of a tool: at least so many bytes, of lines that differ. */
export function output(bytes = 6000, word = "line"): string {
  let text = "";
  for (let at = 1; text.length < bytes; at++) text += `${word} ${at}: src/module_${at % 7}.ts passes\n`;
  return text;
}

/** What one test works with. */
export interface Setup {
  readonly digests: ToolUseSummary;
  readonly model: ReturnType<typeof scriptedModel>;
  readonly events: DigestEvent[];
}

/** Runs a test with a scripted model, and closes what it made. */
export async function withDigests(
  script: Parameters<typeof scriptedModel>[0],
  options: Partial<ToolUseOptions>,
  test: (setup: Setup) => unknown,
): Promise<void> {
  const model = scriptedModel(script), events: DigestEvent[] = [];
  const digests = toolUseSummary({
    model,
    session: "session-1",
    topLevel: true,
    onEvent: (event) => events.push(event),
    ...options,
  });
  try {
    await test({ digests, model, events });
  } finally {
    await digests.close();
  }
}

/** A model that answers when it is told to, and never listens to the signal. */
export function slowModel(): CompletionModel & { calls: CompletionRequest[]; answer(text?: string): void } {
  const waiting: ((text: string) => void)[] = [], calls: CompletionRequest[] = [];
  return {
    name: "slow",
    calls,
    answer: (text = "A digest.") => waiting.splice(0).forEach((resolve) => resolve(text)),
    async complete(request) {
      calls.push(request);
      const text = await new Promise<string>((resolve) => waiting.push(resolve));
      return { text, stopReason: "end", usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 } };
    },
  };
}

/** What a model was sent. */
export function sent(request: CompletionRequest | undefined): string {
  return request?.messages[0]?.content ?? "";
}
