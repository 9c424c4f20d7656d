/**
 * Lets a model make the maps: any completion function, or Claude. The answers here are a script, so no key is needed.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { createWaymark } from "@waymark/waymark";
import { outline } from "@waymark/waymark/outline";
import { anthropic } from "@waymark/waymark/providers/anthropic";
import { completionModel } from "@waymark/waymark/providers/custom";

const lines = Array.from({ length: 500 }, (_, index) => `export const setting${index + 1} = ${index};`);
const tool = ({ offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }) =>
  Promise.resolve(lines.slice(offset - 1, offset - 1 + limit).join("\n"));

const answers = [
  "Sure! Here is the map.", // not what was asked for: it is told so, once or twice, and the file stays the same
  JSON.stringify({
    prose: "Holds the settings of the shop.",
    regions: [
      { start: 1, end: 300, kind: "config", name: "prices", note: "read at start-up" },
      { start: 301, end: 500, kind: "config", name: "limits", note: "read on every order" },
    ],
  }),
];
const model = completionModel({
  name: "house-model",
  // Your own call: exactly one request, with `signal` handed on, and no retries.
  complete({ system, messages, maxTokens, signal }) {
    assertEquals([typeof system, messages[0]?.role, signal.aborted], ["string", "user", false]);
    console.log(`a request with ${messages.length} message(s), at most ${maxTokens} tokens of answer`);
    return Promise.resolve({
      text: answers.shift()!,
      stopReason: "end",
      usage: { input: 5000, output: 100, cacheRead: 0, cacheWrite: 0 },
    });
  },
});

const waymark = createWaymark({
  model,
  outline: outline(), // checks what the model says against a parser; spends nothing
  cache: false, // only for this example: there is no file on disk
  source: { read: () => new TextEncoder().encode(lines.join("\n")) },
  limits: { maxModelCalls: 50, timeoutMs: 30_000 },
});
const result = await waymark.wrap(tool)({ path: "settings.ts" });
assertStringIncludes(result, "301-500  config  limits  read on every order");
console.log(result.slice(result.indexOf("[waymark")));

const { modelCalls, repairs, tokensSpent } = waymark.stats();
assertEquals({ modelCalls, repairs, tokensSpent }, { modelCalls: 2, repairs: 1, tokensSpent: 10_200 });
console.log({ modelCalls, repairs, tokensSpent });
await waymark.close();

// Claude: the key comes from the option or from ANTHROPIC_API_KEY. Nothing is sent before a map is asked for.
const claude = anthropic({ apiKey: "sk-ant-your-key" });
assertEquals(claude.summarizer.maker, `model:${claude.name}`);
console.log(`anthropic() asks ${claude.name}`);
