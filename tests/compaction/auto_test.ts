import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { breakEven, callCosts, createHitShare, isForkWorthIt } from "../../src/compaction/auto.ts";
import type { CachePrices } from "../../src/compaction/types.ts";
import { scriptedModel } from "../../src/testing.ts";
import { REQUEST, scriptedSender, setUp, SPAN, STANDALONE } from "./conversation.ts";

describe("the break-even of a fork", () => {
  it("is the published 0.22 to 0.23 at a hit share of 0.857 and a read price of 0.1", () => {
    const share = breakEven({ hitShare: 0.857, read: 0.1, priceRatio: 1 });
    assert(share > 0.22 && share < 0.23, String(share));
    assertAlmostEquals(share, 0.2287, 1e-9);
  });

  it("is 0.109 at a hit share of 0.99, and 0.035 where reading costs 0.025", () => {
    assertAlmostEquals(breakEven({ hitShare: 0.99, read: 0.1, priceRatio: 1 }), 0.109, 1e-9);
    assertAlmostEquals(breakEven({ hitShare: 0.99, read: 0.025, priceRatio: 1 }), 0.03475, 1e-9);
  });

  it("is five times as high where the summarizer costs a fifth", () => {
    const rates = { hitShare: 0.857, read: 0.1 };
    assertAlmostEquals(breakEven({ ...rates, priceRatio: 5 }), 5 * breakEven({ ...rates, priceRatio: 1 }), 1e-9);
  });

  it("is the whole prefix where nothing is read from the cache", () => {
    assertEquals(breakEven({ hitShare: 0, read: 0.1, priceRatio: 1 }), 1);
  });

  it("agrees with what the calls cost, for any sizes and rates", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true }), tokens = fc.integer({ min: 1, max: 1_000_000 });
    const ratio = fc.double({ min: 0.01, max: 100, noNaN: true });
    fc.assert(
      fc.property(share, share, ratio, tokens, tokens, (hitShare, read, priceRatio, prefixTokens, spanTokens) => {
        const rates = { hitShare, read, priceRatio }, sizes = { prefixTokens, spanTokens };
        const { fork, standalone } = callCosts(sizes, rates);
        if (Math.abs(fork - standalone) < 1e-6 * (fork + standalone)) return; // rounding decides
        assertEquals(isForkWorthIt(sizes, rates), fork <= standalone);
      }),
      { numRuns: 300 },
    );
  });

  it("belongs to the fork: at the very share both cost the same, and a fork is made", () => {
    const rates = { hitShare: 0.5, read: 0.5, priceRatio: 1 }; // 0.75, exactly
    assertEquals([749, 750].map((spanTokens) => isForkWorthIt({ spanTokens, prefixTokens: 1000 }, rates)), [
      false,
      true,
    ]);
  });
});

describe("the observed hit share", () => {
  it("is not known before anything was reported, nor after a reset", () => {
    const share = createHitShare();
    assertEquals(share.value(), undefined);
    share.note({ input: 0, cacheRead: 0, cacheWrite: 0 });
    assertEquals(share.value(), undefined);
    share.note({ input: 100, cacheRead: 800, cacheWrite: 100 });
    assertEquals(share.value(), 0.8);
    share.reset();
    assertEquals(share.value(), undefined);
  });

  it("counts all input: read, written and plain, weighed by tokens, over the latest eight requests", () => {
    const share = createHitShare();
    share.note({ input: 1000, cacheRead: 0, cacheWrite: 9000 });
    for (let index = 0; index < 7; index++) share.note({ input: 0, cacheRead: 1000, cacheWrite: 0 });
    assertAlmostEquals(share.value()!, 7 / 17, 1e-9);
    share.note({ input: 0, cacheRead: 1000, cacheWrite: 0 });
    assertEquals(share.value(), 1);
  });

  it("is not led astray by figures that are none", () => {
    const share = createHitShare();
    for (const bad of [NaN, -5, Infinity]) share.note({ input: 10, cacheRead: bad, cacheWrite: 0 });
    assertEquals(share.value(), undefined);
  });
});

describe("the mode auto", () => {
  const PRICES: Partial<CachePrices> = { read: 0.1, priceRatio: 1 };

  /** Estimated tokens of the prefix, as a fork of the fixture has them. */
  async function prefixTokens(): Promise<number> {
    const { summarizing, summarize } = setUp();
    summarizing.noteRequestSent(REQUEST);
    return (await summarize()).call.prefixTokens;
  }

  it("makes a fork at the break-even and a standalone call just below it", async () => {
    const share = breakEven({ hitShare: 0.857, read: 0.1, priceRatio: 1 });
    const edge = Math.ceil(await prefixTokens() * share);
    for (const [spanTokens, used] of [[edge, "fork"], [edge - 1, "standalone"]] as const) {
      const { summarizing, summarize } = setUp({ callMode: "auto", prices: PRICES });
      summarizing.noteRequestSent(REQUEST);
      const { call } = await summarize(SPAN, spanTokens);
      assertEquals([call.modeRequested, call.modeUsed], ["auto", used]);
    }
  });

  it("counts what is not worth it as a decline, never as a fallback, and tells nobody of it but the event hook", async () => {
    const { summarizing, summarize, sender, notices, events, hooks } = setUp({ callMode: "auto", prices: PRICES });
    summarizing.noteRequestSent(REQUEST);
    for (let index = 0; index < 3; index++) {
      const { text, call } = await summarize(SPAN, 10);
      assertEquals([text, call.modeUsed, call.reason], [STANDALONE, "standalone", "not-worth-it"]);
    }
    assertEquals(summarizing.stats(), { forks: 0, fallbacks: 0, declines: 3, missed: 0, standalone: 3 });
    assertEquals([sender.sent.length, notices.length], [0, 0]);
    assertEquals(events.map(({ what, reason }) => [what, reason]), Array(3).fill(["declined", "not-worth-it"]));
    assertEquals(hooks.filter((hook) => hook.includes("fork")), []);
  });

  it("asks for the price after every refusal: what could not be made is a fallback, worth it or not", async () => {
    const { summarizing, summarize } = setUp({ callMode: "auto", prices: PRICES });
    assertEquals((await summarize(SPAN, 10)).call.reason, "never-noted");
    assertEquals(summarizing.stats(), { forks: 0, fallbacks: 1, declines: 0, missed: 0, standalone: 1 });
  });

  it("prices another summarization model instead of refusing it", async () => {
    for (const [name, used] of [["claude-opus-4-1", "fork"], ["claude-haiku-4-5", "standalone"]] as const) {
      const summarizationModel = scriptedModel(() => STANDALONE, { name });
      const { summarizing, summarize } = setUp({ callMode: "auto", summarizationModel });
      summarizing.noteRequestSent(REQUEST);
      const { call } = await summarize(SPAN, 3_000);
      assertEquals([call.modeUsed, summarizing.stats().fallbacks], [used, 0], name);
    }
  });

  it("takes the share of hits from what the provider reports", async () => {
    const used = async (cacheRead: number): Promise<string> => {
      const { summarizing, summarize } = setUp({ callMode: "auto", prices: PRICES });
      summarizing.noteRequestSent(REQUEST);
      summarizing.noteUsage({ input: 6_000 - cacheRead, cacheRead, cacheWrite: 0 });
      return (await summarize(SPAN, 3_000)).call.modeUsed;
    };
    assertEquals([await used(5_900), await used(600)], ["fork", "standalone"]);
  });

  it("knows nothing of the share of a conversation that was dropped", async () => {
    const { summarizing, summarize } = setUp({ callMode: "auto", prices: PRICES });
    summarizing.noteRequestSent(REQUEST);
    summarizing.noteUsage({ input: 5_400, cacheRead: 600, cacheWrite: 0 });
    summarizing.reset();
    summarizing.noteRequestSent(REQUEST);
    assertEquals((await summarize(SPAN, 3_000)).call.modeUsed, "fork");
  });

  it("learns from forks that missed: the next one is declined", async () => {
    const missed = {
      text: "Notes.",
      stopReason: "end",
      usage: { input: 6_000, output: 9, cacheRead: 0, cacheWrite: 0 },
    } as const;
    const { summarizing, summarize } = setUp({ callMode: "auto", prices: PRICES, sender: scriptedSender(missed) });
    summarizing.noteRequestSent(REQUEST);
    const calls = [await summarize(SPAN, 3_000), await summarize(SPAN, 3_000)].map(({ call }) => call.modeUsed);
    assertEquals(calls, ["fork", "standalone"]);
    const { forks, declines, missed: count } = summarizing.stats();
    assertEquals([forks, declines, count], [1, 1, 1]);
  });

  it("makes no fork where a price is not known, and says once which to give", async () => {
    const { summarizing, summarize, notices, sender } = setUp({ callMode: "auto" });
    summarizing.noteRequestSent({ ...REQUEST, model: "house-model" });
    for (let index = 0; index < 2; index++) await summarize(SPAN, 5_000);
    assertEquals(sender.sent.length, 0);
    assertEquals(summarizing.stats().declines, 2);
    assertEquals(notices.map(({ reason }) => reason), ["prices-unknown"]);
    assert(notices[0]!.message.includes("house-model"), notices[0]!.message);
  });
});
