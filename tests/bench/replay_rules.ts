/**
 * The contract arm of the data's own README, on ids alone: which reads an honest rule would answer by a reference. Nothing of
 * the product is in it, so what the product finds can be held against it, session by session.
 *
 * @module
 */

import { idsOf, type ReadEvent, type Recorded } from "./replay_data.ts";

/** Which reads the product gets to see. */
export type Population = "tool" | "shell";

/** Whether a read is one of a population: a shell adapter sees those of the read tool too. */
export function isSeen({ via }: ReadEvent, population: Population): boolean {
  return population === "shell" || via === "tool";
}

const EXEMPT = /(^|\/)(AGENTS\.md|CLAUDE(\.local)?\.md|GEMINI\.md|SKILL\.md|\.cursorrules|copilot-instructions\.md)$/;
const PROSE = /\.(md|mdx|markdown|rst|adoc|txt|org|tex)$/;
/** A read of more lines than this is shortened to as many, where the file is of a guarded kind. */
const MOST = 200;

/** How many lines a guard would leave of a read. */
function keptOf({ path, returned: [, count] }: ReadEvent, guarded: boolean): number {
  const isGuarded = guarded && /[^/]\.[^./]+$/.test(path) && !PROSE.test(path);
  return isGuarded ? Math.min(count, MOST) : count;
}

/**
 * How many reads the contract arm answers by a reference: every line it would return was returned before, in this context and
 * epoch, in an earlier turn, while the file had the bytes it has now.
 */
export function contractReferences(session: Recorded, population: Population, guarded: boolean): number {
  const files = new Map<string, number[]>(), shown = new Map<string, { bytes: string; turns: Map<number, number> }>();
  let references = 0;
  for (const event of session.events) {
    if (event.type === "compaction") shown.clear();
    else if (event.type === "file") files.set(event.path, idsOf(event.lines));
    else if (event.type === "change" || event.type === "edit") {
      for (const { path, ops = [], ...rest } of event.type === "edit" ? event.files : [event]) {
        const ids = [...files.get(path) ?? []];
        for (const [at, remove, insert] of ops.toReversed()) ids.splice(at - 1, remove, ...idsOf(insert));
        if ("delete" in rest) files.delete(path);
        else if (ops.length) files.set(path, ids);
      }
    } else if (event.type === "read" && isSeen(event, population) && !EXEMPT.test(event.path)) {
      const { path, turn, returned: [first] } = event, bytes = files.get(path)!.join();
      let known = shown.get(path);
      if (known?.bytes !== bytes) shown.set(path, known = { bytes, turns: new Map() });
      const { turns } = known, lines = Array.from({ length: keptOf(event, guarded) }, (_, index) => first + index);
      if (lines.every((line) => (turns.get(line) ?? turn) < turn)) references++;
      else if (!event.cut) { for (const line of lines) turns.set(line, Math.min(turns.get(line) ?? turn, turn)); }
    }
  }
  return references;
}
