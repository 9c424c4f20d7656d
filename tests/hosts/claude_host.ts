/**
 * The real Claude Code, driven by the SDK's `query`, with Waymark's hooks around its `Read`: what the model is asked next.
 *
 * @module
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createWaymark, type WaymarkOptions } from "@waymark/waymark";
import { type ClaudeHookInput, claudeHooks, type ClaudeHooksOptions } from "@waymark/waymark/adapters/claude";
import { code, inFolder, put } from "../support.ts";
import { ask, type Block, call, hookWords, inTurn, resultsOf, type Script, skip, startClaude } from "./claude_driver.ts";

/** A question in a fresh project with the guards: what the model was asked. */
async function guarded(
  run: (project: { root: string; hooks: ReturnType<typeof claudeHooks> }) => Promise<void>,
  options: WaymarkOptions = {},
  hookOptions: ClaudeHooksOptions = {},
): Promise<void> {
  await inFolder(async (root) => {
    put(root, "package.json", "{}");
    const waymark = createWaymark({ root, onNotice: () => {}, ...options });
    try {
      await run({ root, hooks: claudeHooks(waymark, { onError: (error) => console.error(error), ...hookOptions }) });
    } finally {
      await waymark.close();
    }
  });
}

/** The numbers in the gutter of a result. */
function numbersIn(text: string): number[] {
  return [...text.matchAll(/^(\d+)\t/gm)].map(([, number]) => Number(number));
}

describe("a Read of Claude Code", { skip, timeout: 120_000 }, () => {
  it("is shortened, with the map behind its lines, which says whose map it is", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", `${code(900)}\n`);
      const requests = await ask({ root, script: inTurn([call("Read", { file_path: path }, "t1")]), options: { hooks } });
      const { text, isError } = resultsOf(requests[1]!).get("t1")!;
      assertEquals(numbersIn(text), Array.from({ length: 200 }, (_, at) => at + 1));
      assert(!isError);
      assertStringIncludes(text, `About the Read of ${path}:\n[waymark map: PARTIAL, lines 1-200 of 900 are shown`);
      assertStringIncludes(text, "Next lines: offset: 201, limit: 200.");
    });
  });
});
