/**
 * What a conversation may be told, worked out from its messages as plain data and from the disk, without the product.
 *
 * Two sides. What must never be said: a reference to a line that does not stand, with this number and this text, in a result
 * the model can read. And what must be said, so that nothing is safe by never speaking: see {@linkcode mustRefer}.
 */

import { createHash } from "node:crypto";
import type { Session } from "../../src/session_types.ts";
import { type Entry, type GivenMap, holdsMap, standingLines, textsOf } from "./messages.ts";
import { FILES, linesIn } from "./world.ts";

/** A violation of the contract, or a fault of the oracle. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Throws a {@linkcode Violation} where something does not hold. */
export function hold(isTrue: unknown, words: string, facts: unknown = ""): asserts isTrue {
  if (!isTrue) throw new Violation(`${words} ${typeof facts === "string" ? facts : JSON.stringify(facts)}`);
}

/** Lines the host has been given and the session knows of. `maybe`: it may know of them. */
export interface Row {
  readonly file: string;
  readonly hash: string;
  readonly total: number;
  readonly start: number;
  readonly end: number;
  readonly turn: number;
  readonly id: string;
  maybe: boolean;
}

/** A reference or a difference that was given: an identical read insists. */
export interface Referred {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly turn: number;
  maybe: boolean;
}

/** One conversation: what its host holds, and what its session should know. */
export interface Talk {
  readonly name: string;
  /** Reads of a stranger carry an id that is not the session's; of an untracked one nobody says what leaves it. */
  readonly kind: "known" | "stranger" | "untracked";
  session: Session;
  readonly sessionId: string | undefined;
  entries: Entry[];
  turn: number;
  rows: Row[];
  /** Maps, with what was asked for in this turn: an equal read makes it void. */
  maps: (GivenMap & { readonly id: string; readonly asked: string | undefined; readonly turn: number })[];
  readonly referred: Map<string, Referred>;
  /** Reads of this turn that went to the tool, by what they asked for; with the row they left. */
  readonly asked: Map<string, Row | undefined>;
}

/** A read as the oracle sees it before it is made. */
export interface Expected {
  /** The range is one that can be read. */
  readonly readable: boolean;
  /** The session may know of it: no script's, not exempt, not secret, text. */
  readonly eligible: boolean;
  readonly file: string | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly start: number;
  readonly end: number;
  /** The read guard shortens it. */
  readonly capped: boolean;
  /** It repeats a read that was just answered by a reference. */
  readonly insists: boolean | "maybe";
  /** It asks for lines just referred to, and more. */
  readonly nudged: boolean | "maybe";
  readonly must: boolean;
  readonly mustPointToMap: boolean;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What insists or nudges is remembered for the same and the next turn; where turns are not counted, until it is used. */
export function isLive({ turn }: Referred, talk: Talk, counted: boolean): boolean {
  return !counted || turn >= talk.turn - 1;
}

/** Whether every line is in what a session knows for certain, from an earlier turn where turns are counted. */
export function isCovered(talk: Talk, { file, hash, start, end }: Expected, counted: boolean): boolean {
  const known = talk.rows.filter((row) =>
    !row.maybe && row.file === file && row.hash === hash && (!counted || row.turn < talk.turn)
  );
  for (let line = start; line <= end; line++) {
    if (!known.some((row) => row.start <= line && line <= row.end)) return false;
  }
  return end >= start;
}

/** A reference as it was worded. */
export interface Reference {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly total: number;
  readonly turn: number | undefined;
  /** Some of the lines were shown before that turn. */
  readonly isBy: boolean;
  readonly shownAs: string | undefined;
}

const WORDS =
  /^\[waymark reference: (.*) (?:line (\d+) of (\d+) is|lines (\d+)-(\d+) of (\d+) are) unchanged (?:since turn (\d+), shown (by )?then|and shown earlier)(?: as (.*))?\]$/;
const MAP_WORDS =
  /^\[waymark reference: PARTIAL, lines (\d+)-(\d+) of (\d+); the whole map was given (?:in turn (\d+)|earlier), unchanged(?:\. Next lines: .*)?\]$/;

export function parseReference(text: string): Reference | undefined {
  const found = WORDS.exec(text);
  if (!found) return undefined;
  const [, path, line, totalOfOne, start, end, total, turn, by, shownAs] = found;
  return {
    path: path!,
    start: Number(line ?? start),
    end: Number(line ?? end),
    total: Number(totalOfOne ?? total),
    turn: turn ? Number(turn) : undefined,
    isBy: by !== undefined,
    shownAs,
  };
}

export function isMapReference(text: string): boolean {
  return MAP_WORDS.test(text);
}

/** A reference is true: every line stands in a result the model can read, numbered so, as the disk has it now. */
export function checkReference(
  reference: Reference,
  { expected, visible, path, counted, ids }: {
    expected: Expected;
    visible: readonly Entry[];
    path: string;
    counted: boolean;
    ids: boolean;
  },
): void {
  const { start, end, total, turn, isBy, shownAs } = reference, { file, lines } = expected;
  hold(reference.path === path, "the reference names another path", { reference, path });
  hold(total === lines.length, "the reference counts other lines", { reference, lines: lines.length });
  hold(start === expected.start && end === expected.end, "the reference is to other lines than asked for", {
    reference,
    start: expected.start,
    end: expected.end,
  });
  const seen = new Map<number, { turn: number; path: string }[]>();
  for (const entry of visible) {
    if (!entry.shown || entry.shown.file !== file) continue;
    for (let index = 0, count = standingLines(entry); index < count; index++) {
      const line = entry.shown.start + index;
      if (entry.shown.lines[index] !== lines[line - 1]) continue;
      seen.set(line, [...seen.get(line) ?? [], { turn: entry.turn, path: entry.shown.path }]);
    }
  }
  // Where calls have no ids, a session cannot tell results apart that hold the same text: it must stand, in any of them.
  if (!ids && [...lines.keys()].slice(start - 1, end).some((index) => !seen.has(index + 1))) {
    const standing = visible.flatMap((entry) => linesIn(entry.kind, textsOf(entry)[0] ?? ""));
    for (const text of lines.slice(start - 1, end)) {
      hold(standing.includes(text), "FALSE REFERENCE: a line stands in no result", { reference, text });
    }
    return;
  }
  const all: { turn: number; path: string }[] = [];
  for (let line = start; line <= end; line++) {
    hold(seen.has(line), `FALSE REFERENCE: line ${line} does not stand in the conversation`, { reference, file });
    all.push(...seen.get(line)!);
    if (!ids || !counted) continue;
    const isShown = seen.get(line)!.some((given) => isBy ? given.turn <= turn! : given.turn === turn);
    hold(isShown, `FALSE REFERENCE: line ${line} was not shown in that turn`, { reference, file });
  }
  if (!ids) return;
  if (counted) {
    hold(all.some((given) => given.turn === turn), "the reference names a turn that showed none of it", reference);
  } else hold(turn === undefined, "the reference names a turn where none are counted", reference);
  hold(all.some((given) => given.path === (shownAs ?? path)), "the lines were never shown under that name", reference);
}

/** A reference to a map is true: a map of the present bytes stands whole. Without ids, one that reads the same may. */
export function checkMapReference(
  text: string,
  { expected: { file, hash }, visible, ids }: { expected: Expected; visible: readonly Entry[]; ids: boolean },
): void {
  const stands = visible.some((entry) =>
    entry.maps.some((map) => (!ids || (map.file === file && map.hash === hash)) && holdsMap(entry, map.text))
  );
  hold(stands, "FALSE REFERENCE: no map of these bytes stands in the conversation", { text, file });
}

interface Hunk {
  readonly at: number;
  readonly was: number;
  readonly rows: readonly { sign: string; number: number | undefined; text: string }[];
}

/** A difference as it was worded. */
export function parseDiff(
  text: string,
): { start: number; end: number; total: number; turn: number | undefined; hunks: Hunk[] } {
  const [head = "", ...body] = text.split("\n");
  const found =
    /^\[waymark diff: .* lines (\d+)-(\d+) of (\d+) (?:have changed; what is not listed is|are) as shown (?:(?:in|by) turn (\d+)|earlier)/
      .exec(head);
  hold(found && body.pop() === "[end of waymark diff]", "the difference is not framed", text);
  const hunks: { at: number; was: number; rows: Hunk["rows"][number][] }[] = [];
  for (const line of body) {
    const begins = /^At line (\d+), which was (\d+):$/.exec(line), row = /^([ +-]) ( *\d*)\| (.*)$/s.exec(line);
    if (begins) hunks.push({ at: Number(begins[1]), was: Number(begins[2]), rows: [] });
    else {
      hold(row && hunks.length, "the difference has a line that is none", line);
      const [, sign, number, content] = row;
      hunks.at(-1)!.rows.push({
        sign: sign!,
        number: number!.trim() ? Number(number) : undefined,
        text: content!.replace(/^\ufeff|\r$/g, ""),
      });
    }
  }
  const [, start, end, total, turn] = found;
  return { start: Number(start), end: Number(end), total: Number(total), turn: turn ? Number(turn) : undefined, hunks };
}

/** A difference is true: applied to lines that stand in the conversation it gives what the disk has. */
export function checkDiff(
  text: string,
  { expected, visible, counted, ids }: {
    expected: Expected;
    visible: readonly Entry[];
    counted: boolean;
    ids: boolean;
  },
): void {
  const { start, end, total, turn, hunks } = parseDiff(text), now = expected.lines;
  hold(
    start === expected.start && end === expected.end && total === now.length,
    "the difference is of other lines",
    text,
  );
  const versions = new Map<string, { lines: (string | undefined)[]; turns: Set<number> }>();
  const add = (key: string, { shown, turn }: Entry, count: number): void => {
    const version = versions.get(key) ?? { lines: [], turns: new Set() };
    versions.set(key, version);
    version.turns.add(turn);
    for (let index = 0; index < count; index++) version.lines[shown!.start + index] = shown!.lines[index];
  };
  for (const entry of visible) {
    if (!entry.shown || (ids && entry.shown.file !== expected.file)) continue;
    const standing = standingLines(entry);
    add(entry.shown.hash, entry, Math.min(entry.shown.verified, standing));
    // Where calls have no ids, lines of another result that are the same count as those that were noted.
    if (!ids) add(entry.id, entry, standing);
  }
  const fits = [...versions.values()].some(({ lines, turns }) => {
    if (counted && ids && !turns.has(turn!)) return false;
    const made: (string | undefined)[] = [];
    let at = start;
    for (const hunk of hunks) {
      while (at < hunk.was) made.push(lines[at++]);
      if (hunk.at !== start + made.length) return false;
      for (const { sign, number, text } of hunk.rows) {
        if (sign !== "-" && number !== start + made.length) return false;
        if (sign !== "+" && lines[at++] !== text) return false;
        if (sign !== "-") made.push(text);
      }
    }
    while (made.length < end - start + 1) made.push(lines[at++]);
    return made.length === end - start + 1 && made.every((line, index) => line === now[start - 1 + index]);
  });
  hold(fits, "FALSE DIFFERENCE: applied to what stands it does not give what is on disk", text);
}

/** The session says of every file what the oracle holds. */
export function checkCoverage(talk: Talk, pathOf: (name: string) => string): void {
  if (talk.kind !== "known") return;
  for (const name of FILES) {
    const file = pathOf(name), rows = talk.rows.filter((row) => row.file === file), last = rows.at(-1);
    if (rows.some(({ maybe }) => maybe) || rows.length >= 60) continue;
    const coverage = talk.session.coverage(file);
    if (!last) {
      hold(coverage === undefined, `${talk.name} knows of ${name}, of which it holds nothing`, coverage);
      continue;
    }
    hold(coverage, `${talk.name} knows nothing of ${name}`, last);
    const seen = new Set<number>(), told = new Set<number>();
    for (const { start, end, hash } of rows) {
      if (hash === last.hash) { for (let line = start; line <= end; line++) seen.add(line); }
    }
    for (const { start, end } of coverage.seen) for (let line = start; line <= end; line++) told.add(line);
    const isSame = seen.size === told.size && [...seen].every((line) => told.has(line));
    hold(coverage.hash === last.hash && isSame, `${talk.name} covers other lines of ${name}`, { coverage, rows });
    hold(
      coverage.lines === last.total && coverage.whole === (seen.size === last.total),
      "coverage miscounts",
      coverage,
    );
  }
}
