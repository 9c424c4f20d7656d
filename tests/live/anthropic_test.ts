/**
 * One map by the real API, for real money: only where `ANTHROPIC_API_KEY` is set, else skipped and counted as skipped.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { anthropic } from "../../src/providers/anthropic.ts";
import { root } from "../modules.ts";
import { sourceFile, spyContext } from "../summary/files.ts";

const skip = process.env.ANTHROPIC_API_KEY ? false : "needs ANTHROPIC_API_KEY";

describe("the real Messages API", () => {
  it("makes a map of this project's vocabulary that names its main types where they stand", { skip }, async () => {
    const text = readFileSync(join(root, "src/types.ts"), "utf8"), lines = text.split("\n");
    const context = spyContext(AbortSignal.timeout(120_000));
    const summary = await anthropic().summarizer.summarize(sourceFile(text, "src/types.ts"), context);
    assert(summary && summary.prose.length > 40 && summary.regions.length >= 5, JSON.stringify(summary));
    assert(summary.usage.calls <= 3 && summary.usage.input > 1000 && summary.usage.output > 100);
    assertEquals(context.spent.length, summary.usage.calls);
    const near = summary.regions.filter(({ start, name }) =>
      lines.slice(Math.max(0, start - 6), start + 6).join("\n").includes(name.replace(/\W.*/, ""))
    );
    assert(near.length >= summary.regions.length * 0.7, JSON.stringify(summary.regions));
  });
});
