/** How a failed run is told: the seed to repeat it with, the shortest history, and what was wrong. */

import fc from "fast-check";
import { histories, type History, type HostOptions, runHistory, type Tally } from "./history.ts";

/** Runs so many histories from a seed; what was seen in them, and the failure as text, if there is one. */
export async function runMany(
  { seed, runs, maxSteps, host, shrinks = true }: {
    seed: number;
    runs: number;
    maxSteps?: number;
    host?: HostOptions;
    /** Look for the shortest history that fails. Default true. */
    shrinks?: boolean;
  },
): Promise<{ tally: Tally; failure: string | undefined }> {
  const tally: Tally = {};
  const property = fc.asyncProperty(histories(maxSteps), (history) => runHistory(history, tally, host));
  const details = await fc.check(property, { seed, numRuns: runs, endOnFailure: !shrinks });
  if (!details.failed) return { tally, failure: undefined };
  const [history] = details.counterexample!, error = details.errorInstance as Error;
  return {
    tally,
    failure: `seed ${seed}, run ${details.numRuns}\n${
      wordsOf(history)
    }\n${error.name}: ${error.message}\n${error.stack}`,
  };
}

/** A history, one step a line, without what is as it is most often. */
function wordsOf({ steps, ...rest }: History): string {
  const usual = /"edit":\{"what":"same size","file":0,"line":0\},?|"slow":false,?|"how":"plain",?/g;
  return [rest, ...steps].map((part) => JSON.stringify(part).replaceAll(usual, "")).join("\n");
}
