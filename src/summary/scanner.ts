/**
 * The line scanner as a summarizer, loaded at its first file.
 *
 * @module
 */

import type { Summarizer } from "../types.ts";

/** Version of the rules; stored with every map. */
const VERSION = 1;

/** The line scanner. Costs no call; where it finds nothing there is no map. */
export function scanner(): Summarizer {
  return {
    maker: "scanner",
    version: VERSION,
    async summarize(file, { signal }) {
      const { summarizeLines } = await import("./scan.ts"), { inTurns } = await import("../waiting.ts");
      return await inTurns(summarizeLines(file), signal);
    },
  };
}
