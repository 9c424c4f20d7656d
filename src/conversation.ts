/**
 * A conversation's record of what its tool results really hold, tied to the turn and the call that gave it.
 *
 * Promised: nothing that was evicted, or that the host's messages do not hold, is ever called resident; bounded, whatever
 * happens. Absent: the decision what to do about a read (that is the re-read guard's), and any look at a file's content.
 *
 * @module
 */

import { disk, realOr } from "./files.ts";
import type { Asked, ShortenedCall, Version } from "./guard_types.ts";
import { mergeSpans } from "./lines.ts";
import { toDiskPath } from "./paths.ts";
import { toolResults } from "./residency.ts";
import type { Coverage, Given, LineSpan, Referred, Session, SessionOptions, SessionState } from "./session_types.ts";
import type { ReadCall } from "./types.ts";

/** Most files known, the one shown longest ago goes first, and most things kept of one. */
const MAX_FILES = 512, MAX_GIVEN = 64;
/** Most text kept, in UTF-16 code units: more than any context window holds. */
const MAX_TEXT = 8 << 20;
/** Most references, of which a repeat is insistence; and most reads, for an equal one of their turn. */
const MAX_REFERRED = 512, MAX_ASKED = 4096;

/** The one kind of session. What is beyond {@linkcode Session} is for the guards. */
export class Conversation implements Session {
  readonly id: string | undefined;
  readonly untracked: boolean;
  #turn: number;
  /** Another one whenever anything may have left: what was on its way may never come into the conversation. */
  era = 0;
  #size = 0;
  /** By file; the one shown to last is last. */
  readonly #given = new Map<string, Given[]>();
  readonly #referred = new Map<string, Referred>();
  readonly #asked = new Map<string, Asked>();
  readonly #numberOf = new WeakMap<Given, number>();
  #numbers = 0;

  constructor(state: Omit<SessionState, "version" | "id"> & { readonly id: string | undefined }) {
    this.id = state.id;
    this.untracked = state.untracked;
    this.#turn = state.turn;
    for (const given of state.given) this.#add(given);
    for (const referred of state.referred) this.#referred.set(referred.read, referred);
  }

  get turn(): number {
    return this.#turn;
  }

  nextTurn(): number {
    this.#turn++;
    this.#asked.clear();
    for (const [key, { turn }] of this.#referred) if (turn < this.#turn - 1) this.#referred.delete(key);
    return this.#turn;
  }

  evict(callIds: Iterable<string>): void {
    const gone = new Set(typeof callIds === "string" ? [callIds] : callIds);
    if (gone.size) this.#keep(({ callId }) => callId !== undefined && !gone.has(callId));
  }

  evictBefore(turn: number): void {
    this.#keep((given) => given.turn >= turn);
  }

  reset(): void {
    this.#keep(() => false);
    this.#referred.clear();
    this.#asked.clear();
  }

  reconcile(messages: readonly unknown[]): void {
    const results = toolResults(messages);
    this.#keep((given) => results.holds(given));
  }

  fork({ id }: Pick<SessionOptions, "id"> = {}): Session {
    return new Conversation({ ...this.toJSON(), id });
  }

  coverage(path: string): Coverage | undefined {
    const file = toDiskPath(path, disk().cwd()) ?? path, known = this.#given.get(file) ?? this.#given.get(realOr(file));
    const last = known?.findLast(({ kind }) => kind === "lines");
    if (!last) return undefined;
    const seen = mergeSpans(known!.filter(({ kind, hash }) => kind === "lines" && hash === last.hash)), [first] = seen;
    return { hash: last.hash, lines: last.lines, seen, whole: first!.start === 1 && first!.end === last.lines };
  }

  toJSON(): SessionState {
    const { id, untracked } = this;
    const given = [...this.#given.values()].flat(), referred = [...this.#referred.values()];
    return { version: 1, ...(id === undefined ? {} : { id }), turn: this.#turn, untracked, given, referred };
  }

  /** A read goes to the tool, or is answered. Equal ones at once, or in one turn, know of each other then. */
  ask(call: ShortenedCall, key: string = this.#keyOf(call)): Asked {
    const equal = this.#asked.get(key), asked = equal ?? { isVoid: false, running: 0 };
    if (equal) equal.takeBack?.(), equal.isVoid = true;
    asked.running++;
    this.#asked.set(key, asked);
    if (this.#asked.size > MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value!);
    if (call.shortened) call.shortened.asked = asked;
    return asked;
  }

  /** The result goes nowhere: the read is made again, and is then no equal one, unless it has one already. */
  withdraw(call: ReadCall, asked: Asked): void {
    asked.takeBack?.();
    const key = this.#keyOf(call);
    if (asked.isVoid) this.#asked.set(key, asked);
    else if (this.#asked.get(key) === asked) this.#asked.delete(key);
  }

  /** Notes what else a read's result gave, unless nothing is recorded of it; how to take that back. */
  recordBeside(asked: Asked | undefined, given: Parameters<Conversation["record"]>[0]): (() => void) | undefined {
    const before = asked?.takeBack;
    if (asked?.isVoid) return undefined;
    const takeBack = this.record(given);
    if (asked) asked.takeBack = () => (before?.(), takeBack());
    return takeBack;
  }

  /** The read came back. Where turns are never counted, what comes later is no part of its batch. */
  answered(call: ReadCall, asked: Asked): void {
    const key = this.#keyOf(call);
    if (--asked.running === 0 && this.#turn === 0 && this.#asked.get(key) === asked) this.#asked.delete(key);
  }

  /** Notes what a result gave in this turn; how to take that back where the result goes nowhere. */
  record({ file, callId, ...result }: Omit<Given, "turn" | "callId"> & { callId: string | undefined }): () => void {
    const given = { file, ...result, turn: this.#turn, ...(callId === undefined ? {} : { callId }) };
    this.#add(given);
    const number = this.#numbers++; // what has made room is not kept for this
    this.#numberOf.set(given, number);
    return () => this.#keep((other) => this.#numberOf.get(other) !== number, file);
  }

  #add(given: Given): void {
    const { file } = given, all = this.#given.get(file) ?? [];
    this.#given.delete(file);
    this.#given.set(file, all);
    all.push(given);
    this.#size += given.text.length;
    if (all.length > MAX_GIVEN) this.#size -= all.shift()!.text.length;
    while (this.#given.size > MAX_FILES || (this.#size > MAX_TEXT && this.#given.size > 0)) {
      this.#keep(() => false, this.#given.keys().next().value!); // the oldest
    }
  }

  /**
   * The results that hold these lines and that the model can read now: the latest with all of them, else those that have them
   * together, in order. `undefined` where a line is missing.
   */
  resident({ file, hash, start, end }: Version): readonly Given[] | undefined {
    const all = this.#given.get(file) ?? [];
    const isThere = (given: Given): boolean =>
      given.kind === "lines" && given.hash === hash && given.start <= end && given.end >= start && this.#isRead(given);
    const holdsAll = (span: LineSpan): boolean => span.start <= start && span.end >= end;
    const one = all.findLast((given) => holdsAll(given) && isThere(given)), held = one ? [one] : all.filter(isThere);
    return one || mergeSpans(held).some(holdsAll) ? held : undefined;
  }

  /** Of a file of which something is held: whether one result holds a range of it, at a hash. */
  holder({ start, count = Infinity }: Pick<ReadCall, "start" | "count">) {
    const holds = (file: string, hash: string): boolean => {
      const end = Math.min(this.linesOf(file, hash) ?? 0, start + count - 1);
      return end >= start && this.resident({ file, hash, start, end })?.length === 1;
    };
    return (file: string) => this.#given.has(file) ? (hash: string) => holds(file, hash) : undefined;
  }

  /** How many lines a file has at a hash, where lines of it are held. */
  linesOf(file: string, hash: string): number | undefined {
    return this.#given.get(file)?.find((given) => given.kind === "lines" && given.hash === hash)?.lines;
  }

  /** Other versions of a file of which lines are held, the latest first. */
  olderVersions({ file, hash }: Pick<Version, "file" | "hash">): { hash: string; lines: number }[] {
    const versions = new Map<string, number>();
    for (const { kind, hash: own, lines } of (this.#given.get(file) ?? []).toReversed()) {
      if (kind === "lines" && own !== hash && !versions.has(own)) versions.set(own, lines);
    }
    return [...versions].map(([hash, lines]) => ({ hash, lines }));
  }

  /**
   * The map of this content, given in an earlier turn and still there; none for a read that repeats one of this turn, nor
   * where nobody says what leaves: to read again brings no map back.
   */
  mapOf(file: string, hash: string, call?: ReadCall): Given | undefined {
    if (this.untracked) return undefined;
    if (call && this.#asked.has(this.#keyOf(call))) return undefined;
    return this.#given.get(file)?.findLast((it) => it.kind === "map" && it.hash === hash && this.#isRead(it));
  }

  /** A read was answered by a reference. */
  refer(call: ShortenedCall, { file, start, end }: Omit<Version, "hash">): void {
    const read = this.#keyOf(call);
    this.#referred.delete(read);
    this.#referred.set(read, { read, file, start, end, turn: this.#turn });
    if (this.#referred.size > MAX_REFERRED) this.#referred.delete(this.#referred.keys().next().value!);
    // Of it and an equal one in this turn the host may keep either result.
    if (this.#turn && !call.shortened?.asked) this.ask(call, read);
  }

  /** Whether a read repeats, in the same or the next turn, one that a reference answered. Asked once. */
  insists(call: ReadCall): boolean {
    return this.#referred.size > 0 && this.#referred.delete(this.#keyOf(call));
  }

  /** Whether a read asks for lines that a reference just answered, and others with them. */
  isNudged({ file, start, end }: Omit<Version, "hash">): boolean {
    const isWithin = (other: Referred): boolean => other.file === file && start <= other.start && other.end <= end;
    return [...this.#referred.values()].some(isWithin);
  }

  /** What this very turn gave the model has not read yet. Where nobody counts turns it is taken to have. */
  #isRead({ turn }: Given): boolean {
    return this.#turn === 0 || turn < this.#turn;
  }

  /** What a read asks for; of a shortened one, what was asked for: to repeat that is to repeat it. */
  #keyOf(call: ShortenedCall): string {
    const { path, cwd = "", start, count = "" } = call.shortened?.whole ?? call;
    return `${cwd}\0${path}\0${start}\0${count}`;
  }

  #keep(isThere: (given: Given) => boolean, only?: string): void {
    if (only === undefined) this.era++;
    for (const [file, all] of only === undefined ? [...this.#given] : [[only, this.#given.get(only) ?? []] as const]) {
      const kept = all.filter(isThere);
      if (kept.length === all.length) continue;
      this.#size -= sizeOf(all) - sizeOf(kept);
      if (kept.length) this.#given.set(file, kept);
      else this.#given.delete(file);
      // Who reads again what is gone does not insist.
      const versions = this.olderVersions({ file, hash: "" });
      for (const [read, referred] of this.#referred) {
        if (referred.file !== file || versions.some(({ hash }) => this.resident({ ...referred, hash }))) continue;
        this.#referred.delete(read);
      }
    }
  }
}

function sizeOf(all: readonly Given[]): number {
  return all.reduce((size, { text }) => size + text.length, 0);
}
