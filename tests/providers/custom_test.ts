import { assertEquals, assertThrows } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import { completionModel } from "../../src/providers/custom.ts";
import type { CompletionRequest } from "../../src/types.ts";
import { testModel } from "../contracts/model.ts";
import { codeFile, GOOD, spyContext } from "../summary/files.ts";

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

testModel("house-model", (replies) => {
  const calls: CompletionRequest[] = [];
  const model = completionModel({
    name: "house-model",
    complete: (request) => {
      const reply = replies[calls.push(request) - 1]!;
      if (reply === "hang") return new Promise(() => {});
      if ("status" in reply) return Promise.reject(Object.assign(new Error(reply.words), { status: reply.status }));
      return Promise.resolve({ stopReason: "end", usage, ...reply });
    },
  });
  const requests = () => calls.map(({ signal: _, ...rest }) => ({ ...rest, tools: "tools" in rest }));
  return Promise.resolve({ model, requests });
});

describe("a model of one's own", () => {
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
