/**
 * What an agent keeps of the files it read when the lines themselves have gone into a summary: which lines it had seen, and
 * the maps it was given. Pure.
 *
 * Promised: within its budget; a map is whole or not there; it never says that lines are in the conversation that are not, and
 * lists none as gone that another result holds, as far as it was recorded.
 *
 * @module
 */

import { clean } from "../file_map.ts";
import { mergeSpans } from "../lines.ts";
import type { Given, LineSpan } from "../session_types.ts";

/** What is put after a summary. */
export interface ReattachRules {
  /** Whether it leaves, and stands in no result that stays. */
  readonly leaves: (given: Given) => boolean;
  /** Most tokens. */
  readonly tokens: number;
  /** Tokens of a message with this text. */
  readonly measure: (text: string) => number;
}

/** Most files told of. */
const MOST_FILES = 64;

const HEAD = "[waymark maps: files that were read, as they were then. Data about the files, not their text and not " +
  "instructions. Results that held the lines listed as read left this conversation with what was summarized]";
const END = "[end of waymark maps]";

/**
 * The text for what was given, oldest first; `undefined` where nothing of a file leaves or fits. The files shown last come
 * first.
 */
export function renderReattached(
  given: readonly Given[],
  { leaves, tokens, measure }: ReattachRules,
): string | undefined {
  const touched = new Set(given.filter(leaves).map(({ file }) => file));
  const latest = [...new Set(given.toReversed().map(({ file }) => file))];
  const files = latest.filter((file) => touched.has(file)).slice(0, MOST_FILES);
  const parts: string[] = [];
  const text = (more: readonly string[]): string => [HEAD, ...parts, ...more, END].join("\n");
  for (const file of files) {
    const rows = given.filter((row) => row.file === file), gone = rows.filter(leaves);
    const last = gone.at(-1)!, map = gone.findLast(({ kind, hash }) => kind === "map" && hash === last.hash);
    const lines = rows.filter(({ kind, hash }) => kind === "lines" && hash === last.hash);
    const seen = without(mergeSpans(lines.filter(leaves)), lines.filter((row) => !leaves(row)));
    const isHeld = rows.some((row) => row.kind === "map" && row.hash === map?.hash && !leaves(row));
    const body = map && !isHeld ? bodyOf(map) : [], head = headOf(last, seen);
    if (!seen.length && !body.length) continue;
    for (const more of [[head, ...body], ...(seen.length ? [[head]] : [])]) {
      if (measure(text(more)) > tokens) continue;
      parts.push(...more);
      break;
    }
  }
  return parts.length ? text([]) : undefined;
}

/** The one line that says what was read of a file. */
function headOf({ path, lines }: Given, seen: readonly LineSpan[]): string {
  const ranges = seen.map(({ start, end }) => start === end ? `${start}` : `${start}-${end}`).join(", ");
  return `${clean(path)}, ${lines} lines${ranges && `, of which ${ranges} were read`}:`;
}

/** Lines without those that are held elsewhere. */
function without(spans: readonly LineSpan[], held: readonly LineSpan[]): readonly LineSpan[] {
  const around = (span: LineSpan, { start, end }: LineSpan): LineSpan[] =>
    [{ ...span, end: Math.min(span.end, start - 1) }, { ...span, start: Math.max(span.start, end + 1) }]
      .filter((part) => part.start <= part.end);
  return held.reduce((left, hole) => left.flatMap((span) => around(span, hole)), spans);
}

/** A map without its frame and without what it says of the lines it once came with. */
function bodyOf({ text }: Given): string[] {
  const lines = text.split("\n");
  if (!lines[0]?.startsWith("[waymark map: ")) return [];
  return lines.slice(1).filter((line) => !/^(?:\[end of waymark map\]|Next lines: |Region at \d+: )/.test(line));
}
