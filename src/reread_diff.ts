/**
 * What changed in lines the model was shown before, with the numbers the lines have now. Pure; loaded when a change is first
 * shown, because it brings the npm package `diff`.
 *
 * @module
 */

import { structuredPatch } from "diff";
import { clean, estimateTokens, frame } from "./file_map.ts";
import type { Wanted } from "./guard_types.ts";
import type { Conversation } from "./conversation.ts";
import type { ReadCall } from "./types.ts";

/** A change is told instead of the lines where it takes less than this share of their tokens. */
const WORTH = 0.4;
/** Unchanged lines around each change. */
const CONTEXT = 3;
/** Most lines added and removed that are looked for: past them, nobody reads a difference. */
const MOST_EDITS = 2000;

/** {@linkcode renderDiff}, for who loads it late. */
export type RenderDiff = typeof renderDiff;

/** The changes as one annotation; `undefined` where the lines were not all shown, or it is no shorter than them by enough. */
export function renderDiff(call: ReadCall, wanted: Wanted, conversation: Conversation): string | undefined {
  const shown = shownBefore(call, wanted, conversation);
  if (!shown) return undefined;
  const { before, turns } = shown, turn = Math.max(...turns), { start, end } = wanted, now = wanted.text();
  const patch = structuredPatch("", "", before, whole(now), "", "", {
    context: CONTEXT,
    maxEditLength: MOST_EDITS,
  });
  if (!patch) return undefined;
  const range = `${clean(call.path)} lines ${start}-${end} of ${wanted.total()}`;
  const since = turns.length ? `as shown ${Math.min(...turns) < turn ? "by" : "in"} turn ${turn}` : "as shown earlier";
  // Of a part of the file lines may only have moved out of sight.
  const gone = start > 1 || end < wanted.total() ? "; what is marked - is no longer among them" : "";
  const head = patch.hunks.length
    ? `${range} have changed; what is not listed is ${since}${gone}`
    : `${range} are ${since}; the file has changed elsewhere`;
  const text = frame("diff", head, patch.hunks.flatMap(rowsOf));
  return estimateTokens(text) < WORTH * estimateTokens(now) ? text : undefined;

  /** Each line with the number it has now; one that is gone has none. */
  function rowsOf(hunk: { oldStart: number; newStart: number; newLines: number; lines: string[] }): string[] {
    let number = start + hunk.newStart - (hunk.newLines ? 1 : 0);
    const width = String(end).length;
    const rows = hunk.lines.map((line) => {
      const sign = line[0]!, isThere = sign !== "-";
      return `${sign} ${(isThere ? String(number++) : "").padStart(width)}| ${line.slice(1)}`;
    });
    return [`At line ${start + hunk.newStart - 1}, which was ${start + hunk.oldStart - 1}:`, ...rows];
  }
}

/** The lines asked for as an older version had them, where all of them stand in the conversation. */
function shownBefore(
  { count = Infinity }: ReadCall,
  { file, hash, start }: Wanted,
  conversation: Conversation,
): { before: string; turns: number[] } | undefined {
  for (const older of conversation.olderVersions({ file, hash })) {
    const end = Math.min(start + count - 1, older.lines);
    const held = end >= start ? conversation.resident({ file, hash: older.hash, start, end }) : undefined;
    if (!held) continue;
    const lines: string[] = [];
    for (const given of held) {
      given.text.replace(/\n$/, "").split("\n").forEach((line, index) => lines[given.start + index - start] = line);
    }
    const before = lines.slice(0, end - start + 1).map((line) => `${line}\n`).join("");
    return { before, turns: conversation.turn ? held.map(({ turn }) => turn) : [] };
  }
  return undefined;
}

/** A last line without a newline is a line like any other. */
function whole(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
