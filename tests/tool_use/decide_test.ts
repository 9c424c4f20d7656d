import { describe, it } from "node:test";
import { assertEquals } from "@std/assert";
import { decide, type DigestFacts } from "../../src/tool_use/decide.ts";

const OPEN: DigestFacts = {
  enabled: true,
  topLevelOnly: true,
  topLevel: true,
  bytes: 4096,
  minResultBytes: 4096,
  isExcluded: false,
  isSecret: false,
  isKnown: false,
  hasModel: true,
  calls: 199,
  maxCalls: 200,
};

/** The gates in the order of the contract, each with what shuts it. */
const GATES = [
  ["disabled", { enabled: false }],
  ["not-top-level", { topLevel: false }],
  ["small", { bytes: 4095 }],
  ["excluded", { isExcluded: true }],
  ["secret", { isSecret: true }],
  ["duplicate", { isKnown: true }],
  ["no-model", { hasModel: false }],
  ["budget", { calls: 200 }],
] as const;

describe("decide()", () => {
  it("names the first gate that is shut, for every combination of all of them", () => {
    for (let mask = 0; mask < 1 << GATES.length; mask++) {
      const shut = GATES.filter((_, index) => mask & 1 << index);
      const facts = Object.assign({}, OPEN, ...shut.map(([, facts]) => facts)) as DigestFacts;
      assertEquals(decide(facts), shut[0]?.[0], `shut: ${shut.map(([reason]) => reason)}`);
    }
  });

  it("takes an unknown level for a sub-agent's, and asks for no level where all are wanted", () => {
    assertEquals(decide({ ...OPEN, topLevel: undefined }), "not-top-level");
    for (const topLevel of [undefined, false, true]) {
      assertEquals(decide({ ...OPEN, topLevel, topLevelOnly: false }), undefined);
    }
  });

  it("takes a result of exactly the least size, and of one call less than the budget", () => {
    assertEquals(decide(OPEN), undefined);
    assertEquals(decide({ ...OPEN, bytes: 4095 }), "small");
    assertEquals(decide({ ...OPEN, calls: 200 }), "budget");
    assertEquals(decide({ ...OPEN, maxCalls: 0, calls: 0 }), "budget");
    assertEquals(decide({ ...OPEN, maxCalls: Infinity, calls: 1e9 }), undefined);
  });

  it("never takes a result without text, whatever the least size is", () => {
    assertEquals(decide({ ...OPEN, bytes: 0, minResultBytes: 0 }), "small");
    assertEquals(decide({ ...OPEN, bytes: 1, minResultBytes: 0 }), undefined);
  });
});
