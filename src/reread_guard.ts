/**
 * The re-read guard: lines that stand in this conversation already, unchanged, come back as one line.
 *
 * Promised: a reference is given only for lines that a result of this conversation holds, at the bytes the file has now; who
 * asks again gets them. Whatever it cannot find out means that the read goes on as asked.
 *
 * @module
 */

import { quiet } from "./errors.ts";
import { clean, estimateTokens } from "./file_map.ts";
import { disk } from "./files.ts";
import type { ReferenceFacts, RereadParts, Wanted } from "./guard_types.ts";
import { behindLines, countLines, lineRange } from "./lines.ts";
import { toDiskPath } from "./paths.ts";
import { INSTRUCTION_FILES, isExempt } from "./probe.ts";
import type { Snapshot } from "./project_types.ts";
import { exactLines } from "./residency.ts";
import type { Conversation } from "./conversation.ts";
import type { RenderDiff } from "./reread_diff.ts";
import type { Given, LineSpan } from "./session_types.ts";
import type { Next, ReadCall, ReadOutcome } from "./types.ts";

/** The re-read guard over a project and its conversations. It may be told the era in which a read began. */
export function guardRereads(parts: RereadParts): (call: ReadCall, next: Next, era?: number) => Promise<ReadOutcome> {
  const { project, conversationOf, onChange = "full", exempt = INSTRUCTION_FILES } = parts;
  const emit = quiet(parts.onEvent);

  /** An answer in place of lines that the conversation holds. */
  const answer = (
    { path }: ReadCall,
    kind: "reference" | "diff",
    { text, lines, wanted, instead }: { text: string; lines: number; wanted: Wanted; instead: string },
  ): ReadOutcome => {
    const { start, end } = wanted;
    emit({ type: kind, path, start, end, tokensSaved: estimateTokens(instead.length) - estimateTokens(text.length) });
    return { annotations: [{ kind, text, path, start, end, lines }] };
  };

  /** The one line in place of the lines, where each of them stands in the conversation. */
  const refer = (call: ReadCall, wanted: Wanted, conversation: Conversation): ReadOutcome | undefined => {
    const held = conversation.resident(wanted);
    if (!held || conversation.isNudged(wanted)) return undefined;
    conversation.refer(call, wanted);
    const names = held.map((given) => given.path), { path } = call, { lines } = held[0]!;
    const text = renderReference({
      path,
      start: wanted.start,
      end: wanted.end,
      lines,
      turns: conversation.turn ? held.map((given) => given.turn) : [],
      isGuess: conversation.untracked,
      shownAs: names.includes(path) ? undefined : names.at(-1),
    });
    const outcome = answer(call, "reference", { text, lines, wanted, instead: heldText(held, wanted) });
    return { ...outcome, stands: (given) => isAll(given, call, wanted) };
  };

  /** What changed, in place of lines that came back, where all were shown and the change is small. */
  const differ = async (
    call: ReadCall,
    wanted: Wanted,
    conversation: Conversation,
  ): Promise<ReadOutcome | undefined> => {
    if (conversation.untracked) return undefined; // what did not change may be gone
    if (!conversation.olderVersions(wanted).length || conversation.isNudged(wanted)) return undefined;
    const file = toDiskPath(CHANGES); // where it is one: Deno would ask for leave to read it
    if (file !== undefined && !disk().mayRead(file)) return undefined;
    const { renderDiff } = await import(CHANGES) as { renderDiff: RenderDiff };
    const text = renderDiff(call, wanted, conversation);
    if (text === undefined) return undefined;
    conversation.refer(call, wanted);
    return answer(call, "diff", { text, lines: wanted.total(), wanted, instead: wanted.text() });
  };

  /** Notes what a result really gave; how to take that back. */
  const record = (call: ReadCall, wanted: Wanted, given: ReadOutcome, conversation: Conversation) => {
    const { file, hash, start } = wanted, text = wanted.text();
    const look = (given: unknown) => typeof given === "string" ? exactLines(given, text, nameOf(call)) : 0;
    const shown = look(given.text) || look(given.result);
    if (shown === 0) return undefined;
    const { path, callId } = call, end = start + shown - 1;
    return conversation.record({
      kind: "lines",
      file,
      path,
      hash,
      lines: wanted.total(),
      start,
      end,
      text: end === wanted.end ? text : `${text.split("\n", shown).join("\n")}\n`,
      callId,
    });
  };

  return async function rereadGuard(call, next, begun) {
    const conversation = call.programmatic || call.start < 1 ? undefined : conversationOf(call);
    if (!conversation) return await next(call);
    const era = begun ?? conversation.era;
    const isFresh = call.fresh || conversation.insists(call);
    let wanted: Wanted | undefined;
    try {
      const snapshot = !isExempt(call.path, exempt) && await project.snapshot(call, conversation.holder(call));
      wanted = snapshot ? wantedOf(call, snapshot, conversation) : undefined;
    } catch {
      // The read goes on as asked.
    }
    if (!wanted || (wanted.file !== call.path && isExempt(wanted.file, exempt))) return await next(call);
    const canAnswer = call.answerable && !isFresh;
    const reference = canAnswer ? refer(call, wanted, conversation) : undefined;
    if (reference) return reference;

    const asked = conversation.ask(call);
    let made: ReadOutcome;
    try {
      made = await next(isFresh ? { ...call, fresh: true } : call);
    } finally {
      conversation.answered(call, asked);
    }
    const outcome = { ...made, discard: () => (conversation.withdraw(call, asked), made.discard?.()) };
    const { failed, text } = outcome, isPart = !call.signal?.aborted && !asked.isVoid && era === conversation.era;
    if (failed || text === undefined || !isPart) return outcome;
    try {
      const isWhole = () => exactLines(text, wanted.text(), nameOf(call)) > wanted.end - wanted.start;
      const diff = canAnswer && onChange === "diff" && isWhole()
        ? await differ(call, wanted, conversation).catch(() => undefined)
        : undefined;
      if (diff) return made.discard?.(), diff; // an equal read of this turn is one still
      asked.takeBack = record(call, wanted, outcome, conversation);
    } catch {
      // What it held cannot be told now: nothing is noted.
    }
    return outcome;
  };
}

/** Whether a text holds all the lines of a read, and, where it asks for the rest of the file, no more. */
function isAll(given: string, call: ReadCall, wanted: Wanted): boolean {
  const { start, end } = wanted, lines = end - start + 1;
  if (exactLines(given, wanted.text(), nameOf(call)) < lines) return false;
  return lines === call.count || countLines(given) <= lines;
}

/** The file's name, without the folders. */
function nameOf({ path }: ReadCall): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

function renderReference({ path, start, end, lines, turns, isGuess, shownAs }: ReferenceFacts): string {
  const turn = Math.max(...turns), by = Math.min(...turns) < turn ? "by " : "";
  const range = start === end ? `line ${start} of ${lines} is` : `lines ${start}-${end} of ${lines} are`;
  const since = isGuess
    ? "since an earlier read"
    : turns.length
    ? `since turn ${turn}, shown ${by}then`
    : "and shown earlier";
  const name = shownAs === undefined ? "" : ` as ${clean(shownAs)}`;
  const wayOut = isGuess ? "; if you no longer have it, make the same call again" : "";
  return `[waymark reference: ${clean(path)} ${range} unchanged ${since}${name}${wayOut}]`;
}

/** Beside this file. Named like this, its npm package `diff` is fetched only when a change is first shown. */
const CHANGES: string = import.meta.url.replace(/reread_guard(?=\.\w+$)/, "reread_diff");

/** The lines a read asks for; `undefined` where there are none. Where their number is known, none are counted. */
function wantedOf(call: ReadCall, { real, hash, bytes }: Snapshot, conversation: Conversation): Wanted | undefined {
  const { start, count = Infinity } = call, known = conversation.linesOf(real, hash);
  let found: ReturnType<typeof lineRange> | undefined;
  const range = () => found ??= lineRange(bytes(), start, count);
  const decode = (from: number, to?: number): string =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes().subarray(from, to));
  const end = known === undefined ? start + range().lines - 1 : Math.min(known, start + count - 1);
  return end < start ? undefined : {
    file: real,
    hash,
    start,
    end,
    text: () => decode(range().from, range().to),
    total: () => known ?? end + countLines(decode(range().to)), // a search in a string is faster than a loop over bytes
  };
}

/** The lines of a range in results that hold them. */
export function heldText(held: readonly Given[], { start, end }: LineSpan): string {
  let text = "", next = start;
  for (const given of held.toSorted((one, other) => one.start - other.start)) {
    if (given.end < next) continue;
    const last = Math.min(given.end, end), from = behindLines(given.text, next - given.start, 0);
    text += given.text.slice(from, last === given.end ? undefined : behindLines(given.text, last - next + 1, from));
    next = last + 1;
  }
  return text;
}
