/**
 * A note that is too long for Claude Code to hand on: its middle is kept in a file, which the note names. Pure.
 *
 * @module
 */

import { MOST_CONTEXT, withoutTags } from "../claude_code.ts";
import { clean } from "../file_map.ts";

/** The rows of a map. */
const ROW = /^\s*\d+-\d+ {2}/;

/** A note and what of it goes into a file. */
export interface LongNote {
  /** What goes to the model. */
  readonly note: string;
  /** The rows that are left out of it, for the file; absent where none are. */
  readonly rest?: string;
}

/**
 * Cuts rows out of the middle of a map, so that the note is as long as Claude Code hands on whole, with its beginning, its end and
 * a line that says where the rows are. A note that fits, one without rows to cut, and any where the file's own name could be
 * taken for more than a name, is left as it is.
 */
export function fitNote(note: string, file: string): LongNote {
  if (note.length <= MOST_CONTEXT || withoutTags(clean(file)) !== file) return { note };
  const lines = note.split("\n"), last = lines.findLastIndex((line) => ROW.test(line));
  const said = `(rows are left out here: Read ${file}, which holds them)`;
  let room = MOST_CONTEXT - said.length - lines.slice(last + 1).join("\n").length - 2, first = 0;
  while (first <= last && (room -= lines[first]!.length + 1) >= 0) first++;
  if (first < 2 || first > last || !ROW.test(lines[first]!)) return { note };
  const kept = [...lines.slice(0, first), said, ...lines.slice(last + 1)];
  return { note: kept.join("\n"), rest: `${lines[0]}\n${lines.slice(first, last + 1).join("\n")}\n` };
}
