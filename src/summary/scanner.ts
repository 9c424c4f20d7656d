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
    summarize: (file) => import("./scan.ts").then(({ summarizeLines }) => summarizeLines(file)),
  };
}
