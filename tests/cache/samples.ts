/** Maps to keep, for tests of the cache. */

import type { FileMap, Region } from "../../src/types.ts";

/** A content hash that a number stands for. */
export function hashOf(seed: number | string): string {
  const hex = [...String(seed)].map((letter) => letter.charCodeAt(0).toString(16)).join("");
  return hex.padEnd(64, "0");
}

/** So many regions of ten lines each. */
export function regionsOf(count: number, name = "f"): Region[] {
  return Array.from({ length: count }, (_, index) => ({
    start: index * 10 + 1,
    end: index * 10 + 10,
    kind: "function" as const,
    name: `${name}${index}`,
    note: `used by ${name}`,
  }));
}

/** A map by a model, with three regions. */
export function sampleMap(overrides: Partial<FileMap> = {}): FileMap {
  return {
    hash: hashOf(1),
    size: 9_000,
    lines: 300,
    prose: "Parses dates and prints them.",
    regions: [
      { start: 1, end: 8, kind: "import", name: "imports", note: "" },
      { start: 10, end: 120, kind: "class", name: "Parser", note: "made once, used by the reader" },
      { start: 200, end: 290, kind: "function", name: "print", note: "called with what Parser gives" },
    ],
    usage: { calls: 1, input: 9_000, output: 400, cacheRead: 0, cacheWrite: 0, ms: 2_100 },
    maker: "model:test",
    promptVersion: 1,
    createdAt: 1_790_000_000_123,
    ...overrides,
  };
}

/** What every test of a wait ends with, so that a hang is a failure. */
export function soon(ms = 20_000): AbortSignal {
  return AbortSignal.timeout(ms);
}
