import { assert, assertEquals, assertMatch } from "@std/assert";
import { describe, it } from "node:test";
import { type Figure, PRICE_TABLE } from "../../src/compaction/price_table.ts";
import { cacheFacts, DEFAULT_HIT_SHARE, findPrices, priceRatio } from "../../src/compaction/prices.ts";

/** All figures of the table, by where they stand. */
function figures(): [string, Figure][] {
  const found: [string, Figure][] = [];
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("source" in value) return void found.push([place, value as Figure]);
    for (const [name, inner] of Object.entries(value)) if (name !== "models") walk(inner, `${place} ${name}`);
  };
  for (const row of PRICE_TABLE) walk(row, row.models.join("/"));
  return found;
}

describe("the table of prices", () => {
  it("has a date and a source for every figure", () => {
    assert(figures().length > 100);
    for (const [place, { value, date, source }] of figures()) {
      assert(value > 0, place);
      assertMatch(date, /^2026-\d\d-\d\d$/, place);
      assertMatch(source, /^(Anthropic|OpenAI|Google)\b.+: [a-z.]+\.[a-z]+/, place);
    }
  });

  it("names every model once", () => {
    const names = PRICE_TABLE.flatMap(({ models }) => models);
    assertEquals(names.length, new Set(names).size);
  });

  it("has the fewest tokens that are cached as Anthropic states them", () => {
    const stated = {
      512: ["opus-5", "fable-5", "fable-5-1", "mythos-5", "mythos-5-1"],
      1024: ["opus-4-8", "sonnet-5", "sonnet-4-6", "sonnet-4-5", "sonnet-4", "opus-4-1", "opus-4"],
      2048: ["opus-4-7", "mythos-preview", "haiku-3-5"],
      4096: ["opus-4-6", "opus-4-5", "haiku-4-5"],
    };
    for (const [tokens, models] of Object.entries(stated)) {
      for (const model of models) assertEquals(cacheFacts(`claude-${model}`).minimumTokens, Number(tokens), model);
    }
    for (const model of ["opus-5-5", "sonnet-5-5", "haiku-5-5"]) {
      assertEquals(cacheFacts(`claude-${model}`).minimumTokens, undefined, "no page states it");
    }
  });

  it("reads at a tenth, and lower where a model does", () => {
    const reads = ["claude-opus-5", "claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5", "gpt-5.5"];
    assertEquals(reads.map((model) => cacheFacts(model).read), [0.1, 0.025, 0.025, 0.05, 0.1]);
  });
});

describe("what is known of a model", () => {
  it("is found whoever sells it, and whatever its date", () => {
    for (
      const name of [
        "claude-opus-4-5",
        "claude-opus-4-5-20251101",
        "claude-opus-4-5@20251101",
        "anthropic/claude-opus-4.5",
        "eu.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic.claude-opus-4-5",
        "claude-opus-4-5-latest",
        "Claude-Opus-4-5",
        "anthropic/claude-opus-4.5:thinking",
      ]
    ) assertEquals(findPrices(name)?.models, ["claude-opus-4-6", "claude-opus-4-5"], name);
    assertEquals(findPrices("claude-3-5-haiku-20241022")?.models[0], "claude-haiku-3-5");
    assertEquals(findPrices("gpt-5.4-mini-2026-03-05")?.models, ["gpt-5.4-mini"]);
    assertEquals(findPrices("gemini-3.1-pro-preview")?.models.at(-1), "gemini-3.1-pro");
    assertEquals(findPrices("claude-mythos-preview")?.minimum?.value, 2048);
  });

  it("is nothing for a model that is not in the table, however alike its name", () => {
    for (const name of [undefined, "", "claude", "claude-opus-4-9", "claude-opus-50", "gpt-5.4-pro", "llama-4"]) {
      assertEquals(findPrices(name), undefined, name);
    }
    const { read, minimumTokens, ttlMs, needsMarks } = cacheFacts("llama-4");
    assertEquals([read, minimumTokens, ttlMs, needsMarks], [undefined, undefined, undefined, false]);
  });

  it("is what the host says where it says something", () => {
    const prices = { read: 0.5, minimumTokens: 7, ttlMs: 9, write: 3, hitShare: 0.5, needsSuperset: false };
    const { needsMarks, stripsThinking, ...facts } = cacheFacts("claude-opus-5", { prices });
    assertEquals(facts, prices);
    assertEquals([needsMarks, stripsThinking], [true, false]);
    assertEquals(cacheFacts("claude-opus-5", { prices: { read: 0.5 } }).ttlMs, 300_000);
    assertEquals(cacheFacts("claude-opus-5").hitShare, DEFAULT_HIT_SHARE);
  });

  it("is another time and another price of writing where the request asks for the long time", () => {
    const facts = [false, true].map((isLong) => cacheFacts("claude-opus-5", { isLong }));
    assertEquals(facts.map(({ ttlMs }) => ttlMs), [300_000, 3_600_000]);
    assertEquals(facts.map(({ write }) => write), [1.25, 2]);
  });
});

describe("the ratio of two prices", () => {
  const pair = { main: "claude-opus-5", prefixTokens: 50_000, summarizer: "claude-haiku-4-5", spanTokens: 20_000 };

  it("is the main model's input price over the summarizer's", () => assertEquals(priceRatio(pair), 5));

  it("is 1 for one model, known or not", () => {
    assertEquals(priceRatio({ ...pair, summarizer: undefined }), 1);
    assertEquals(priceRatio({ ...pair, main: "llama-4", summarizer: "llama-4" }), 1);
    assertEquals(priceRatio({ ...pair, main: undefined, summarizer: undefined }), 1);
  });

  it("is not known where either price is not", () => {
    assertEquals(priceRatio({ ...pair, summarizer: "llama-4" }), undefined);
    assertEquals(priceRatio({ ...pair, main: "llama-4" }), undefined);
    assertEquals(priceRatio({ ...pair, main: undefined }), undefined);
  });

  it("is the host's where it gives one", () => assertEquals(priceRatio(pair, { priceRatio: 3 }), 3));

  it("follows the price of a long prompt", () => {
    const haiku = { ...pair, summarizer: "claude-haiku-5-5" };
    assertEquals(priceRatio({ ...haiku, spanTokens: 100_000 }), 50);
    assertEquals(priceRatio({ ...haiku, spanTokens: 100_001 }), 10);
    const own = { ...pair, main: "claude-haiku-5-5", summarizer: undefined };
    assertEquals(priceRatio({ ...own, prefixTokens: 150_000, spanTokens: 40_000 }), 5);
  });
});
