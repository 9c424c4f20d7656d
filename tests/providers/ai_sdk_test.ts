import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import { aiSdk, type AiSdkCall, type AiSdkLanguageModel, type AiSdkResult } from "../../src/providers/ai_sdk.ts";
import type { Completion } from "../../src/types.ts";
import { type ContractReply, type ContractRequest, testModel } from "../contracts/model.ts";

type MockV3 = NonNullable<ConstructorParameters<typeof MockLanguageModelV3>[0]>;
type MockV4 = NonNullable<ConstructorParameters<typeof MockLanguageModelV4>[0]>;
type ResultV3 = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;
type ResultV4 = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;

const FINISH = {
  end: "stop",
  max_tokens: "length",
  refusal: "content-filter",
  tool: "tool-calls",
  other: "other",
} as const;
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** As the SDK's own provider packages reject: an error with `statusCode`. */
function callError(status: number, words: string): Error {
  return Object.assign(new Error(words), { name: "AI_APICallError", statusCode: status, responseBody: "{}" });
}

/** A call as the contract sees it. */
function asRequest({ prompt, maxOutputTokens, ...rest }: AiSdkCall): ContractRequest {
  const system = prompt.find((turn) => turn.role === "system")?.content;
  const messages = prompt.flatMap((turn) =>
    turn.role === "system" ? [] : [{ role: turn.role, content: turn.content.map(({ text }) => text).join("") }]
  );
  return { system, messages, maxTokens: maxOutputTokens!, tools: "tools" in rest || "toolChoice" in rest };
}

/** Usage as versions 3 and 4 have it. */
function asUsage({ input, output, cacheRead, cacheWrite }: Completion["usage"]): ResultV4["usage"] {
  return {
    inputTokens: { total: input + cacheRead + cacheWrite, noCache: input, cacheRead, cacheWrite },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

/** Plays the replies, whatever a result looks like in this version of the specification. */
function play<Result>(
  replies: readonly ContractReply[],
  calls: AiSdkCall[],
  shape: (reply: Exclude<ContractReply, "hang" | { status: number }>) => Result,
) {
  return (options: { abortSignal?: AbortSignal | undefined }): Promise<Result> => {
    const reply = replies[calls.push(options as AiSdkCall) - 1]!;
    if (reply === "hang") {
      const { promise, reject } = Promise.withResolvers<Result>();
      options.abortSignal?.addEventListener("abort", () => reject(options.abortSignal?.reason));
      return promise;
    }
    return "status" in reply ? Promise.reject(callError(reply.status, reply.words)) : Promise.resolve(shape(reply));
  };
}

testModel("mock-v4", (replies) => {
  const calls: AiSdkCall[] = [];
  const doGenerate: MockV4["doGenerate"] = play<ResultV4>(
    replies,
    calls,
    ({ text, stopReason = "end", usage = NOTHING }) => ({
      content: [{ type: "reasoning", text: "hm" }, { type: "text", text }],
      finishReason: { unified: FINISH[stopReason], raw: undefined },
      usage: asUsage(usage),
      warnings: [],
    }),
  );
  const model = aiSdk(new MockLanguageModelV4({ modelId: "mock-v4", doGenerate }));
  return Promise.resolve({ model, requests: () => calls.map(asRequest) });
});

testModel("mock-v3", (replies) => {
  const calls: AiSdkCall[] = [];
  const doGenerate: MockV3["doGenerate"] = play<ResultV3>(
    replies,
    calls,
    ({ text, stopReason = "end", usage = NOTHING }) => ({
      content: text ? [{ type: "text", text: text.slice(0, 3) }, { type: "text", text: text.slice(3) }] : [],
      finishReason: { unified: FINISH[stopReason], raw: "whatever" },
      usage: asUsage(usage),
      warnings: [],
    }),
  );
  const model = aiSdk(new MockLanguageModelV3({ modelId: "mock-v3", doGenerate }));
  return Promise.resolve({ model, requests: () => calls.map(asRequest) });
});

testModel("renamed", (replies) => {
  const calls: AiSdkCall[] = [];
  const v2 = {
    specificationVersion: "v2",
    modelId: "plain-v2",
    doGenerate: play(replies, calls, ({ text, stopReason = "end", usage = NOTHING }): AiSdkResult => ({
      content: [{ type: "text", text } as { type: "text" }],
      finishReason: FINISH[stopReason],
      usage: {
        inputTokens: usage.input + usage.cacheRead,
        outputTokens: usage.output,
        cachedInputTokens: usage.cacheRead,
      },
    })),
  };
  return Promise.resolve({ model: aiSdk(v2, { name: "renamed" }), requests: () => calls.map(asRequest) });
}, { hidesCacheWrites: true });

describe("a language model of the AI SDK", () => {
  const ask = (result: AiSdkResult): Promise<Completion> =>
    aiSdk({ modelId: "m", doGenerate: () => Promise.resolve(result) }).complete({
      system: "",
      messages: [{ role: "user", content: "?" }],
      maxTokens: 5,
      signal: new AbortController().signal,
    });
  const text = [{ type: "text", text: "draft" }];

  it("is named by its id unless it is given a name, and may be given a limit", async () => {
    const limits: (number | undefined)[] = [];
    const languageModel: AiSdkLanguageModel = {
      modelId: "their-name",
      doGenerate: ({ maxOutputTokens }) => {
        limits.push(maxOutputTokens);
        return Promise.resolve({ content: text, finishReason: "stop", usage: {} });
      },
    };
    assertEquals(aiSdk(languageModel).name, "their-name");
    assertEquals(aiSdk(languageModel, { name: "ours" }).summarizer.maker, "model:ours");
    const file = { path: "a.ts", text: "x\n".repeat(300), lines: 300, hash: "", size: 600 };
    const context = { signal: new AbortController().signal, spend() {} };
    await assertRejects(() => aiSdk(languageModel, { maxOutputTokens: 700 }).summarizer.summarize(file, context));
    assertEquals(limits, [700, 700, 700]);
  });

  it("is an object: a name alone only the SDK's own gateway could resolve", () => {
    assertThrows(
      () => aiSdk("openai/gpt-5" as never),
      WaymarkError,
      'Cannot use "openai/gpt-5" as a model of the AI SDK: give a model object',
    );
    assertThrows(() => aiSdk(undefined as never), WaymarkError, "undefined");
    assertThrows(() => aiSdk({ modelId: "m" } as never), WaymarkError, "object");
  });

  it("has its chosen text read where it chose one, an empty one too", async () => {
    assertEquals(
      (await ask({ content: text, structuredOutputText: "final", finishReason: "stop", usage: {} })).text,
      "final",
    );
    assertEquals((await ask({ content: text, structuredOutputText: "", finishReason: "stop", usage: {} })).text, "");
    assertEquals((await ask({ content: text, finishReason: "stop", usage: {} })).text, "draft");
  });

  it("is given the very signal, and no system prompt where there is none", async () => {
    let prompt: AiSdkCall["prompt"] = [], given: AbortSignal | undefined;
    const { signal } = new AbortController();
    await aiSdk({
      modelId: "m",
      doGenerate: (call) => {
        prompt = call.prompt;
        given = call.abortSignal;
        return Promise.resolve({ content: text, finishReason: "stop", usage: {} });
      },
    }).complete({
      system: "",
      messages: [{ role: "user", content: "?" }],
      maxTokens: 5,
      signal,
    });
    assertEquals(prompt.map(({ role }) => role), ["user"]);
    assertEquals(given, signal);
  });

  for (const unified of ["error", "interrupted"]) {
    it(`fails where the answer ended with "${unified}": it may not be whole`, async () => {
      const error = await assertRejects(
        () => ask({ content: text, finishReason: { unified }, usage: {} }),
        WaymarkError,
      );
      assertEquals(error.code, "provider-error");
      assertStringIncludes(error.message, unified);
    });
  }

  it("may leave out what it does not know", async () => {
    const bare = await ask({ content: undefined, finishReason: undefined, usage: undefined } as never);
    assertEquals(bare, { text: "", stopReason: "other", usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } });
    const undefinedCounts = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
    const partial = await ask({
      content: text,
      finishReason: "stop",
      usage: { inputTokens: { ...undefinedCounts, total: 9, cacheRead: 4 }, outputTokens: 2 },
    });
    assertEquals(partial.usage, { input: 5, output: 2, cacheRead: 4, cacheWrite: 0 });
    const odd = await ask({
      content: text,
      finishReason: "stop",
      usage: { inputTokens: 3, cachedInputTokens: 8, outputTokens: "2" },
    });
    assertEquals(odd.usage, { input: 0, output: 0, cacheRead: 8, cacheWrite: 0 });
  });
});
