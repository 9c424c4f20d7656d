import { assertEquals, assertThrows } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import { completionModel } from "../../src/providers/custom.ts";
import { codeFile, GOOD, spyContext } from "../summary/files.ts";

describe("a model of one's own", () => {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

  it("makes maps with the function it was given", async () => {
    const limits: number[] = [];
    const model = completionModel({
      name: "house",
      maxOutputTokens: 3000,
      complete: ({ maxTokens }) => {
        limits.push(maxTokens);
        return Promise.resolve({ text: GOOD, stopReason: "end", usage });
      },
    });
    assertEquals((await model.summarizer.summarize(codeFile(300), spyContext()))?.regions.length, 2);
    assertEquals(limits, [3000]);
  });

  it("keeps the function's own this", async () => {
    const options = {
      name: "house",
      answer: "from this",
      complete() {
        return Promise.resolve({ text: this.answer, stopReason: "end" as const, usage });
      },
    };
    const request = { system: "", messages: [], maxTokens: 1, signal: new AbortController().signal };
    assertEquals((await completionModel(options).complete(request)).text, "from this");
  });

  it("needs a name and a function", () => {
    assertThrows(() => completionModel({ name: "", complete: () => Promise.reject() }), WaymarkError, "give it a name");
    assertThrows(() => completionModel({ name: "house" } as never), WaymarkError, "complete");
  });
});
