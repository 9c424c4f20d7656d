/**
 * Random histories of conversations: what is generated, and the machine that runs one against the real product, on real files,
 * with the oracle beside it.
 */

import { deepStrictEqual } from "node:assert";
import { resolve } from "node:path";
import fc from "fast-check";
import { createSession, createWaymark } from "../../mod.ts";
import { isSecretPath } from "../../src/probe.ts";
import type { ReadCall } from "../../src/types.ts";
import { inFolder } from "../support.ts";
import {
  type Change,
  changed,
  CHANGES,
  type Entry,
  type GivenMap,
  holdsMap,
  messagesOf,
  payloadOf,
  type Shape,
  SHAPES,
  standingLines,
} from "./messages.ts";
import {
  checkCoverage,
  checkDiff,
  checkMapReference,
  checkReference,
  type Expected,
  hold,
  isCovered,
  isLive,
  isMapReference,
  parseReference,
  type Row,
  sha256,
  type Talk,
} from "./oracle.ts";
import {
  createWorld,
  type Edit,
  EDITS,
  type Fault,
  FAULTS,
  fileLines,
  FILES,
  linesIn,
  LINK,
  makeTool,
  type ToolArguments,
  type ToolKind,
  TOOLS,
  type Trace,
} from "./world.ts";

/** A read of a history. */
export interface Read {
  readonly file: number;
  readonly by: "absolute" | "relative" | "dotted" | "link";
  readonly tool: ToolKind;
  readonly offset: number | undefined;
  readonly limit: number | undefined;
  readonly how: "plain" | "programmatic" | "fresh";
  readonly fault: Fault | undefined;
  readonly slow: boolean;
  readonly edit: Edit;
  /** Like an earlier read of the conversation: so many reads ago, and changed so. */
  readonly like: { readonly ago: number; readonly by: "same" | "within" | "more" | "tool" | "name" } | undefined;
}

/** A step of a history. */
export type Step =
  | {
    readonly do: "read";
    readonly who: number;
    readonly reads: readonly Read[];
    readonly together: boolean;
    readonly keep: Keep;
  }
  | { readonly do: "edit"; readonly edit: Edit; readonly isOfLast: boolean }
  | { readonly do: "change"; readonly who: number; readonly at: number; readonly how: Change }
  | { readonly do: "compact" | "rewind"; readonly who: number; readonly at: number; readonly tell: number }
  | { readonly do: "begin"; readonly who: number; readonly how: "fork" | "own" | "stranger" | "untracked" }
  | { readonly do: "resume"; readonly who: number; readonly lose: number }
  | { readonly do: "wait"; readonly who: number };
/** Which of equal results of one batch the host keeps. */
type Keep = "all" | "first" | "last";

export interface History {
  /** The host counts turns. */
  readonly counted: boolean;
  readonly shape: Shape;
  /** How the session learns what left: by calls, by the messages, or both. */
  readonly tells: "calls" | "messages" | "both";
  /** The tools are told the ids of their calls. */
  readonly ids: boolean;
  readonly onChange: "full" | "diff";
  readonly steps: readonly Step[];
}

const small = fc.nat(99);
const edit: fc.Arbitrary<Edit> = fc.record({
  what: fc.constantFrom(...EDITS, "same size", "replace", "replace", "insert", "remove"),
  file: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, fc.nat(FILES.length - 1)),
  line: small,
});
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>, weight: number): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const read: fc.Arbitrary<Read> = fc.record({
  file: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, { weight: 2, arbitrary: fc.nat(FILES.length - 1) }),
  by: fc.constantFrom("absolute", "absolute", "absolute", "relative", "dotted", "link"),
  tool: fc.constantFrom(...TOOLS),
  offset: fc.constantFrom(undefined, undefined, undefined, 1, 3, 9, 26, 150, 201, 240, 9999, 0, -1),
  limit: fc.constantFrom(undefined, undefined, undefined, 1, 2, 10, 10, 40, 200, 201, 300, 0),
  how: fc.oneof({ weight: 9, arbitrary: fc.constant("plain" as const) }, fc.constantFrom("programmatic", "fresh")),
  fault: rarely(fc.constantFrom(...FAULTS), 7),
  slow: fc.nat(9).map((number) => number === 9),
  edit,
  like: fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    {
      weight: 2,
      arbitrary: fc.record({
        ago: fc.nat(3),
        by: fc.constantFrom("same", "same", "same", "within", "more", "tool", "name"),
      }),
    },
  ),
});
const who = fc.nat(4);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("read"),
      who,
      reads: fc.oneof(
        { weight: 3, arbitrary: fc.array(read, { minLength: 1, maxLength: 1 }) },
        fc.array(read, { minLength: 2, maxLength: 4 }),
      ),
      together: fc.boolean(),
      keep: fc.constantFrom("all", "all", "first", "last"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("edit"), edit, isOfLast: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("change"), who, at: small, how: fc.constantFrom(...CHANGES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("compact", "rewind"), who, at: small, tell: fc.nat(2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("begin"),
      who,
      how: fc.constantFrom("fork", "fork", "own", "stranger", "untracked"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("resume"), who, lose: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait"), who }) },
);

/** Any history of so many steps at most. */
export function histories(maxSteps = 30): fc.Arbitrary<History> {
  return fc.record({
    counted: fc.constantFrom(true, true, false),
    shape: fc.constantFrom(...SHAPES),
    tells: fc.constantFrom("calls", "messages", "both"),
    ids: fc.constantFrom(true, true, true, false),
    onChange: fc.constantFrom("full", "diff"),
    steps: fc.array(step, { minLength: 1, maxLength: maxSteps, size: "max" }),
  });
}

/** What came of histories: how often each thing was seen, so that a check that checks nothing is found out. */
export type Tally = Record<string, number>;

/** How the host behaves. */
export interface HostOptions {
  /** It says nothing of what leaves the conversation: the oracle must find that out. Default false. */
  readonly isSilent?: boolean;
}

/** What must have been seen in a run of many: each of these happened at least once, or the run checked less than it says. */
export const SEEN = [
  ...[
    "reference",
    "reference in place of a shortened read",
    "map reference",
    "difference",
    "must",
    "insisted",
    "nudged",
  ],
  ...["served", "thrown", "fresh", "programmatic", "batch", "kept one of equal results", "map"],
  ...["blank", "head", "middle", "append", "compact", "rewind", "resume", "fork", "own", "stranger", "untracked"],
  ...["told by evict", "told by evictBefore", "told by reset"],
];

/** Runs a history against the product. Throws a `Violation` where the two do not agree. */
export async function runHistory(history: History, tally: Tally = {}, host: HostOptions = {}): Promise<void> {
  await inFolder((folder) => new Machine(folder, history, tally, host).run());
}

/** A read as it is made. */
interface Asked {
  readonly path: string;
  readonly cwd: string | undefined;
  readonly offset: number | undefined;
  readonly limit: number | undefined;
  readonly tool: ToolKind;
}

/** A read that came back. */
interface Made {
  readonly asked: Asked;
  readonly how: Read["how"];
  readonly expected: Expected;
  readonly trace: Trace;
  readonly args: ToolArguments;
  readonly id: string;
  readonly result?: unknown;
  readonly error?: unknown;
}

class Machine {
  readonly #history: History;
  readonly #tally: Tally;
  readonly #host: HostOptions;
  readonly #world;
  readonly #waymark;
  readonly #tools = new Map<ToolKind, (args: ToolArguments, info: unknown) => Promise<unknown>>();
  /** Tools that gave a result with text: the shape of an answer is known. */
  readonly #answerable = new Set<ToolKind>();
  /** The bytes of the map last made of a file: it is kept. */
  readonly #mapped = new Map<string, string>();
  readonly #talks: Talk[] = [];
  readonly #past = new Map<string, Asked[]>();
  /** The file read last. */
  #lastRead: string | undefined;
  #serial = 0;

  constructor(folder: string, history: History, tally: Tally, host: HostOptions) {
    this.#history = history;
    this.#tally = tally;
    this.#host = host;
    this.#world = createWorld(folder);
    // The files lie outside the root: their maps are kept in memory.
    this.#waymark = createWaymark({
      root: resolve(folder, "root"),
      rereadGuard: history.onChange === "diff" ? { onChange: "diff" } : undefined,
      onNotice() {},
    });
    const facts = (info: unknown): Partial<ReadCall> => info as Partial<ReadCall>;
    for (const kind of TOOLS) {
      // deno-lint-ignore no-explicit-any -- the tool's second argument is the machine's own
      this.#tools.set(kind, this.#waymark.wrap(makeTool(this.#world, kind) as any, { facts }) as any);
    }
    this.#talks.push(this.#talk("main", "known", createSession({ id: "main" })));
  }

  async run(): Promise<void> {
    try {
      for (const step of this.#history.steps) {
        await this.#take(step);
        for (const talk of this.#talks) checkCoverage(talk, (name) => resolve(this.#world.folder, name));
      }
    } finally {
      await this.#waymark.close();
    }
  }

  #count(...names: string[]): void {
    for (const name of names) this.#tally[name] = (this.#tally[name] ?? 0) + 1;
  }

  #talk(name: string, kind: Talk["kind"], session: Talk["session"], from?: Talk): Talk {
    const { entries = [], turn = 0, rows = [], maps = [], referred = new Map() } = from ?? {};
    return {
      name,
      kind,
      session,
      sessionId: kind === "stranger" ? name : undefined,
      entries: [...entries],
      turn,
      rows: rows.map((row) => ({ ...row })),
      maps: [...maps],
      referred: new Map([...referred].map(([key, value]) => [key, { ...value }])),
      asked: new Map(),
    };
  }

  async #take(step: Step): Promise<void> {
    if (step.do === "edit") return this.#world.edit(step.edit, step.isOfLast ? this.#lastRead : undefined);
    const talk = this.#talks[step.who % this.#talks.length]!, { session } = talk;
    if (step.do === "read") return await this.#reads(talk, step);
    if (step.do === "wait") return this.#nextTurn(talk);
    if (step.do === "change") return this.#change(talk, step);
    if (step.do !== "begin" && step.do !== "resume") return this.#cut(talk, step);
    if (step.do === "begin") {
      if (this.#talks.length >= 5) return;
      const name = `talk${this.#talks.length}`, { how } = step;
      this.#count(how);
      if (how === "fork") {
        if (talk.kind !== "stranger") this.#talks.push(this.#talk(name, talk.kind, session.fork({ id: name }), talk));
      } else if (how === "stranger") this.#talks.push(this.#talk(name, "stranger", session));
      else if (how === "own") this.#talks.push(this.#talk(name, "known", createSession({ id: name })));
      else if (this.#history.onChange === "full") {
        this.#talks.push(this.#talk(name, "untracked", createSession({ id: name, untracked: true })));
      }
      return;
    }
    if (talk.kind === "stranger") return;
    this.#count("resume");
    const state = JSON.parse(JSON.stringify(session));
    const again = createSession({ state });
    deepStrictEqual(JSON.parse(JSON.stringify(again)), state, "a session is not what it was saved as");
    for (const other of this.#talks) if (other !== talk && other.session === session) other.session = again;
    talk.session = again;
    talk.asked.clear();
    if (step.lose) talk.entries = step.lose === 1 ? talk.entries.slice(1) : talk.entries.slice(0, -1);
    this.#reconcile(talk);
  }

  /** A new request begins. */
  #nextTurn(talk: Talk): void {
    const { counted, tells } = this.#history;
    talk.turn++;
    talk.asked.clear();
    talk.maps = talk.maps.map((map) => ({ ...map, asked: undefined }));
    if (counted && talk.kind !== "stranger") talk.session.nextTurn();
    if (counted && talk.kind === "stranger") talk.turn = talk.session.turn;
    for (const [key, referred] of talk.referred) if (!isLive(referred, talk, counted)) talk.referred.delete(key);
    if (tells !== "calls") this.#reconcile(talk);
  }

  #reconcile(talk: Talk): void {
    if (talk.kind === "stranger" || this.#host.isSilent) return;
    talk.session.reconcile(messagesOf(this.#history.shape, talk.entries));
    const entries = new Map(talk.entries.map((entry) => [entry.id, entry]));
    const stands = (row: Row): boolean => {
      const entry = entries.get(row.id);
      return entry !== undefined && standingLines(entry) >= row.end - row.start + 1;
    };
    // Without ids any result may have held the same text.
    if (this.#history.ids) keepRows(talk, stands);
    else {
      const gone = talk.rows.filter((row) => !stands(row));
      for (const row of gone) row.maybe = true;
      for (const referred of talk.referred.values()) referred.maybe ||= gone.some(({ file }) => file === referred.file);
    }
    talk.maps = talk.maps.filter(({ id, text }) => entries.has(id) && holdsMap(entries.get(id)!, text));
  }

  /** The host tells by a call that these results are gone or no longer whole. */
  #tell(talk: Talk, gone: readonly Entry[], { before, tell }: { before?: number; tell: number }): void {
    if (this.#history.tells === "messages" || talk.kind === "stranger" || this.#host.isSilent) return;
    const { session } = talk, ids = new Set(gone.map(({ id }) => id));
    if (before !== undefined && this.#history.counted && tell === 0) {
      this.#count("told by evictBefore");
      session.evictBefore(before);
      keepRows(talk, ({ turn }) => turn >= before);
      talk.maps = talk.maps.filter(({ id }) => !ids.has(id));
    } else if (this.#history.ids && tell !== 2) {
      this.#count("told by evict");
      session.evict(ids);
      keepRows(talk, ({ id }) => !ids.has(id));
      talk.maps = talk.maps.filter(({ id }) => !ids.has(id));
    } else {
      this.#count("told by reset");
      session.reset();
      talk.rows = [];
      talk.maps = [];
      talk.referred.clear();
      talk.asked.clear();
    }
  }

  #change(talk: Talk, { at, how }: { at: number; how: Change }): void {
    const { entries } = talk, index = Math.floor(at * entries.length / 100), entry = entries[index];
    if (!entry) return;
    this.#count(how);
    const now = changed(entry, how, (at % 10) / 10);
    entries[index] = now;
    if (how !== "append") this.#tell(talk, [now], { tell: 1 });
  }

  /** What was before a point becomes one summary, or what came after it never happened. */
  #cut(talk: Talk, step: Step & { do: "compact" | "rewind" }): void {
    const index = Math.floor(step.at * (talk.entries.length + 1) / 100),
      before = talk.entries[index]?.turn ?? talk.turn + 1;
    if (!talk.entries.length) return;
    this.#count(step.do);
    if (step.do === "rewind") {
      this.#tell(talk, talk.entries.slice(index), step);
      talk.entries = talk.entries.slice(0, index);
      return;
    }
    const gone = talk.entries.filter(({ turn }) => turn < before);
    talk.entries = talk.entries.filter(({ turn }) => turn >= before);
    this.#tell(talk, gone, { before, tell: step.tell });
  }

  /** One turn: reads one after another, or at once. */
  async #reads(talk: Talk, { reads, together, keep }: Step & { do: "read" }): Promise<void> {
    this.#nextTurn(talk);
    const all: Made[] = [], parallel = together && reads.length > 1;
    if (!parallel) {
      for (const read of reads) {
        const asked = this.#ask(talk, read), expected = this.#expect(talk, asked, read.how);
        const made = await this.#make(talk, { read, asked, expected });
        this.#settle(talk, [made]);
        all.push(made);
      }
    } else {
      this.#count("batch");
      const plans = reads.map((read) => {
        const asked = this.#ask(talk, read);
        return { read: { ...read, fault: read.fault === "rewrites" ? undefined : read.fault }, asked };
      });
      const expected = plans.map(({ asked, read }) => this.#expect(talk, asked, read.how));
      const made = await Promise.all(
        plans.map((plan, index) => {
          const own = expected[index]!;
          // What a read at the same time is answered may come first.
          const isRacing = expected.some((other, at) => at !== index && other.file === own.file);
          const fair = isRacing ? this.#expect(talk, plan.asked, plan.read.how, true) : own;
          return this.#make(talk, { ...plan, expected: { ...fair, mustPointToMap: false } });
        }),
      );
      this.#settle(talk, made);
      all.push(...made);
    }
    if (keep === "all") return;
    const results = all.filter(({ how }) => how !== "programmatic");
    if (parallel || (this.#history.counted && results.every(({ trace }) => trace.invocations.length > 0))) {
      this.#keepOne(talk, results, keep);
    }
  }

  /** Of equal calls in one batch the host keeps one, and need not say so. */
  #keepOne(talk: Talk, made: readonly Made[], keep: Keep): void {
    const kept = new Map<string, string>();
    for (const { id, asked, how } of made) {
      // Where turns are not counted, a fresh read may be through before an equal one at the same time has begun.
      const key = JSON.stringify([asked, this.#history.counted || how]);
      if (keep === "last" || !kept.has(key)) kept.set(key, id);
    }
    const gone = new Set(made.map(({ id }) => id).filter((id) => ![...kept.values()].includes(id)));
    if (!gone.size) return;
    this.#count("kept one of equal results");
    talk.entries = talk.entries.filter(({ id }) => !gone.has(id));
    talk.maps = talk.maps.filter(({ id }) => !gone.has(id));
    for (const row of talk.rows) row.maybe ||= gone.has(row.id);
  }

  /** What a read of the history is, in this conversation. */
  #ask(talk: Talk, read: Read): Asked {
    const past = this.#past.get(talk.name) ?? [], earlier = read.like && past.at(-1 - read.like.ago);
    const fresh = this.#name(read);
    let asked: Asked = { ...fresh, offset: read.offset, limit: read.limit, tool: read.tool };
    if (earlier) {
      const { offset = 1, limit } = earlier, { by } = read.like!;
      if (by === "same") asked = earlier;
      else if (by === "tool") asked = { ...earlier, tool: read.tool };
      else if (by === "within") {
        asked = { ...earlier, offset: offset + 1, limit: limit === undefined ? 5 : Math.max(1, limit - 2) };
      } else if (by === "more") asked = { ...earlier, offset: Math.max(1, offset - 1), limit: limit && limit + 2 };
      else {
        const same = FILES.find((name) =>
          earlier.path.endsWith(`/${name}`) && (name !== "a.ts" || !earlier.path.endsWith("sub/a.ts"))
        );
        asked = { ...earlier, ...same ? this.#name({ ...read, file: FILES.indexOf(same) }) : {} };
      }
    }
    this.#past.set(talk.name, [...past, asked].slice(-8));
    return asked;
  }

  #name({ file, by }: Pick<Read, "file" | "by">): { path: string; cwd: string | undefined } {
    const { folder } = this.#world, name = FILES[file % FILES.length]!;
    if (by === "absolute") return { path: resolve(folder, name), cwd: undefined };
    if (by === "link") return { path: resolve(folder, LINK), cwd: undefined };
    if (by === "dotted") return { path: `./${name}`, cwd: folder };
    return name === "sub/a.ts" ? { path: "a.ts", cwd: resolve(folder, "sub") } : { path: name, cwd: folder };
  }

  /**
   * What must come of a read. A reference must be given where
   * - the conversation is the session's own, what leaves it is told, and the read is a model's: neither `programmatic` nor `fresh`;
   * - the file is text, no secret, not exempt, and the range has lines;
   * - every line of it (of the lines left of it, where the read guard shortens it) was given in an earlier turn (earlier,
   *   where turns are not counted), at the bytes the file has now, and the host has said of none of those results that it is
   *   gone or changed;
   * - the tool gave a result with text before, so that the shape of an answer is known;
   * - it does not repeat a read that was answered by a reference in this turn or the last one, nor include such a one;
   * - where the read guard shortens it, the file's map is kept or stands in the conversation;
   * - no read at the same time may have been answered first.
   */
  #expect(talk: Talk, asked: Asked, how: Read["how"], isRacing = false): Expected {
    const { path, cwd, offset = 1, limit } = asked, { counted } = this.#history;
    const absolute = resolve(cwd ?? this.#world.folder, path), file = this.#world.real(absolute);
    const bytes = this.#world.bytes(file), start = offset === 0 ? 1 : offset;
    const readable = start >= 1 && (limit === undefined || limit >= 1);
    const isText = bytes !== undefined && !bytes.includes(0) && !isSecretPath(absolute) && !isSecretPath(file!);
    const isExempt = /AGENTS\.md$/.test(absolute) || /AGENTS\.md$/.test(file ?? "");
    const isOwn = talk.kind === "known" && how !== "programmatic" && readable;
    const lines = bytes ? fileLines(bytes) : [], hash = bytes ? sha256(bytes) : "";
    const referred = isOwn && how !== "fresh" ? talk.referred.get(keyOf(asked)) : undefined;
    const insists: Expected["insists"] = referred ? (referred.maybe || isRacing ? "maybe" : true) : false;
    const capped = readable && isText && path.endsWith(".ts") && (limit === undefined || limit > 200) &&
      lines.length - start + 1 > 200 && how === "plain" && insists !== true;
    const end = Math.min(lines.length, start + (capped ? 200 : limit ?? Infinity) - 1);
    const nudges = [...talk.referred.values()].filter((other) =>
      other.file === file && start <= other.start && other.end <= end
    );
    const nudged: Expected["nudged"] = isRacing
      ? "maybe"
      : nudges.some(({ maybe }) => !maybe)
      ? true
      : nudges.length
      ? "maybe"
      : false;
    const eligible = isOwn && isText && !isExempt && end >= start;
    const expected: Expected = {
      readable,
      eligible,
      file,
      hash,
      lines,
      start,
      end,
      capped,
      insists,
      nudged,
      must: false,
      mustPointToMap: false,
    };
    const isMapGiven = talk.kind === "known" &&
      talk.maps.some((map) => map.file === file && map.hash === hash && (!counted || map.turn < talk.turn));
    const isRepeated = talk.asked.has(keyOf(asked));
    const must = eligible && how === "plain" && !insists && !nudged && this.#answerable.has(asked.tool) &&
      (!capped || isMapGiven || this.#mapped.get(file!) === hash) && isCovered(talk, expected, counted);
    return { ...expected, must, mustPointToMap: capped && isOwn && isMapGiven && insists === false && !isRepeated };
  }

  async #make(
    talk: Talk,
    { read, asked, expected }: { read: Read; asked: Asked; expected: Expected },
  ): Promise<Made> {
    const { path, cwd, offset, limit, tool } = asked, { how, fault, slow, edit } = read;
    const trace: Trace = { kind: tool, fault, slow, edit, invocations: [] }, id = `call_${++this.#serial}`;
    const args: ToolArguments = {
      path,
      ...offset === undefined ? {} : { offset },
      ...limit === undefined ? {} : { limit },
    };
    const info = {
      trace,
      session: talk.session,
      ...cwd === undefined ? {} : { cwd },
      ...talk.sessionId === undefined ? {} : { sessionId: talk.sessionId },
      ...this.#history.ids ? { callId: id } : {},
      ...how === "plain" ? {} : { [how]: true },
    };
    const made = { asked, how, expected, trace, args, id };
    this.#lastRead = expected.file ?? this.#lastRead;
    try {
      return { ...made, result: await this.#tools.get(tool)!(args, info) };
    } catch (error) {
      return { ...made, error };
    }
  }

  /** Checks what came back, one read or all of a batch, and takes it into the conversation. */
  #settle(talk: Talk, batch: readonly Made[]): void {
    const { counted } = this.#history, parsed = batch.map((made) => this.#parse(made));
    const entries = batch.map((made, index) => this.#entry(talk, made, parsed[index]!));
    const isThere = (entry: Entry | undefined): entry is Entry => entry !== undefined;
    const before = counted ? talk.entries.filter(({ turn }) => turn < talk.turn) : talk.entries;
    for (const [index, made] of batch.entries()) {
      // What reads at the same time gave stands in the next request; where turns are counted, nothing of it is referred to.
      const beside = entries.filter((entry, at) => at !== index && isThere(entry)) as Entry[];
      const visible = counted ? before : [...before, ...beside];
      this.#check(talk, made, parsed[index]!, visible);
    }
    if (!counted) talk.asked.clear();
    for (const [index, made] of batch.entries()) {
      // Reads at once that are not alike may miss each other where turns are not counted.
      const isSure = counted ||
        batch.every(({ how, args, expected }) =>
          how === made.how && args.limit === made.args.limit && !expected.insists
        );
      this.#note(talk, made, { ...parsed[index]!, entry: entries[index], isSure });
    }
    // Of equal reads at once one may have been taken to insist, or not.
    const keys = batch.map(({ asked }) => keyOf(asked));
    for (const [index, { asked, expected: { file, start, end } }] of batch.entries()) {
      const key = keyOf(asked), isTwice = keys.filter((other) => other === key).length > 1;
      if (isTwice && parsed[index]!.answered) {
        talk.referred.set(key, { file: file!, start, end, turn: talk.turn, maybe: true });
      }
    }
    talk.entries.push(...entries.filter(isThere));
  }

  /** Takes a result apart: what the tool gave, and what stands beside it. */
  #parse({ result, error, trace, asked }: Made): Parsed {
    const last = trace.invocations.at(-1);
    if (error !== undefined) {
      hold(
        last && last.error === error,
        "what was thrown is not what the tool threw",
        `${error} ${(error as Error)?.stack}`,
      );
      return { notes: [], answered: false, threw: true };
    }
    const given = last?.result, text = textIn(result);
    if (last && result === given) return { notes: [], answered: false, threw: false };
    if (asked.tool === "object") {
      const { content, annotation, ...rest } = result as { content: string; annotation?: { text: string } };
      hold(Object.keys(rest).length === 0, "an object has fields of its own", result);
      const answered = content === "" && content !== textIn(given);
      hold(answered || content === textIn(given), "the content is not what the tool gave", { content, given });
      return { notes: notesOf(annotation?.text ?? ""), answered, threw: false };
    }
    if (typeof result === "string") {
      const made = given as string | undefined,
        isBeside = made !== undefined && result.startsWith(`${made}\n\n[waymark `);
      const notes = notesOf(isBeside ? result.slice(made.length + 2) : result);
      return { notes, answered: !isBeside, threw: false };
    }
    const blocks = blocksOf(result), own = blocksOf(given);
    const isBeside = own.length > 0 && text === textIn(given) && blocks.length === own.length + 1;
    hold(isBeside || blocks.length === 1, "the blocks are not what the tool gave", { result, given });
    return { notes: notesOf(blocks.at(-1)!.text), answered: !isBeside, threw: false };
  }

  /** What the host keeps of it. */
  #entry(talk: Talk, made: Made, { answered, notes, threw }: Parsed): Entry | undefined {
    const { trace, asked, id, result, error, expected, how } = made;
    if (how === "programmatic") return undefined; // a script's, not the model's
    const last = trace.invocations.at(-1),
      maps = notes.filter(isMap).map((text): GivenMap => ({
        file: expected.file!,
        hash: expected.hash,
        text,
      }));
    const kind = asked.tool, base = { id, turn: talk.turn, kind, maps };
    if (threw) return { ...base, payload: String(error) };
    const payload = payloadOf(this.#history.shape, result);
    if (answered || last?.start === undefined || last.result === undefined) return { ...base, payload };
    const file = this.#world.real(resolve(asked.cwd ?? this.#world.folder, asked.path)) ?? "";
    const now = last.bytes ?? new Uint8Array(), lines = linesIn(kind, textIn(last.result)!);
    const limit = last.args.limit ?? Infinity, window = fileLines(now).slice(last.start - 1, last.start - 1 + limit);
    let verified = 0;
    while (verified < window.length && lines[verified] === window[verified]) verified++;
    if (kind === "banner" && verified < window.length) verified = 0;
    const { path } = asked;
    return { ...base, payload, shown: { file, path, start: last.start, lines, hash: sha256(now), verified } };
  }

  #check(
    talk: Talk,
    { expected, how, trace, args, asked }: Made,
    { notes, answered, threw }: Parsed,
    visible: readonly Entry[],
  ): void {
    const { invocations } = trace, { counted } = this.#history, { path } = asked;
    const references = notes.map(parseReference).filter((reference) => reference !== undefined);
    const diffs = notes.filter((note) => note.startsWith("[waymark diff:"));
    const facts = {
      asked,
      expected: { ...expected, lines: expected.lines.length },
      notes: notes.map((note) => note.slice(0, 150)),
    };
    this.#count("read", how, threw ? "thrown" : answered ? "answered" : "served");

    for (const reference of references) {
      hold(answered && invocations.length === 0, "a reference stands beside what the tool gave", facts);
      hold(talk.kind === "known" && expected.eligible && how === "plain", "a reference where there may be none", facts);
      checkReference(reference, { expected, visible, path, counted, ids: this.#history.ids });
      this.#count("reference", ...expected.capped ? ["reference in place of a shortened read"] : []);
    }
    for (const diff of diffs) {
      hold(answered && this.#history.onChange === "diff", "a difference where there may be none", facts);
      hold(
        talk.kind === "known" && expected.eligible && how === "plain",
        "a difference where there may be none",
        facts,
      );
      checkDiff(diff, { expected, visible, counted, ids: this.#history.ids });
      this.#count("difference");
    }
    for (const note of notes.filter(isMapReference)) {
      hold(talk.kind === "known" && expected.capped, "a map is pointed to where there may be none", facts);
      checkMapReference(note, { expected, visible, ids: this.#history.ids });
      this.#count("map reference");
    }
    if (notes.some(isMap)) this.#count("map");
    hold(!answered || references.length + diffs.length === 1, "an answer without the tool that is no reference", facts);
    if (expected.insists === true || expected.nudged === true) hold(!answered, "who insists gets no lines", facts);
    if (expected.insists === true) this.#count("insisted");
    if (expected.nudged === true) this.#count("nudged");
    if (expected.insists === true || how !== "plain" || !expected.readable) {
      const isUntouched = invocations.length === 1 && invocations[0]!.args === args && notes.length === 0;
      hold(isUntouched, "a read that passes untouched was touched", {
        ...facts,
        ran: invocations.map(({ args }) => args),
      });
    }
    if (!answered && !threw && notes.length === 0) {
      deepStrictEqual(invocations.at(-1)!.args, args, "a read was changed and nothing says so");
    }
    if (expected.must) {
      this.#count("must");
      hold(references.length === 1, "SILENT: a reference was due", facts);
    }
    if (expected.mustPointToMap && !threw) {
      hold(!notes.some(isMap), "SILENT: a map was given again", facts);
    }
  }

  /** What the session should know from now on. */
  #note(
    talk: Talk,
    made: Made,
    { notes, answered, threw, entry, isSure }: Parsed & { entry: Entry | undefined; isSure: boolean },
  ): void {
    const { expected, asked, how, trace, id } = made, { file, hash, start, end, eligible } = expected;
    const { invocations } = trace, { counted } = this.#history, key = keyOf(asked), maps = notes.filter(isMap);
    for (const { result } of invocations) {
      const isFailed = (result as { isError?: boolean } | undefined)?.isError === true;
      if (result !== undefined && !isFailed && expected.readable) this.#answerable.add(asked.tool);
    }
    if (maps.length) this.#mapped.set(file!, hash);
    if (talk.kind !== "known" || how === "programmatic" || !expected.readable) return;
    if (answered) talk.referred.set(key, { file: file!, start, end, turn: talk.turn, maybe: false });
    else if (how !== "fresh") talk.referred.delete(key);

    // Equal reads of one turn, or at once where turns are not counted: nothing of them is known.
    const isAsked = eligible && (counted || invocations.length > 0), isVoid = isAsked && talk.asked.has(key);
    if (isVoid) {
      const other = talk.asked.get(key);
      if (isSure) talk.rows = talk.rows.filter((row) => row !== other);
      else if (other) other.maybe = true;
      talk.maps = talk.maps.filter((map) => map.asked !== key);
    }
    if (isAsked) talk.asked.set(key, undefined);
    if (!isVoid) talk.maps.push(...maps.map((text) => ({ file: file!, hash, text, id, asked: key, turn: talk.turn })));
    const shown = entry?.shown;
    if (answered || threw || !shown?.verified || !eligible) return;
    if (asked.tool === "gutter" && shown.lines.length < 2) return; // one number alone may be the file's own
    const text = shown.lines.slice(0, shown.verified);
    if (isVoid && isSure) return;
    const bytes = invocations.at(-1)!.bytes!;
    const row: Row = {
      file: shown.file,
      hash: shown.hash,
      total: fileLines(bytes).length,
      start: shown.start,
      end: shown.start + shown.verified - 1,
      turn: talk.turn,
      id,
      // Numbers of the file's own look like a gutter, a mark after a banner is no part of a line, blank lines are no proof.
      maybe: isVoid || text.some((line) => /^\d+:/.test(line)) || (asked.tool === "banner" && startsWithMark(bytes)) ||
        text.every((line) => line.trim() === ""),
    };
    talk.rows.push(row);
    if (isAsked) talk.asked.set(key, row);
  }
}

/** Rows go. Whoever asks again for what is gone need not be taken to insist. */
function keepRows(talk: Talk, isThere: (row: Row) => boolean): void {
  const gone = new Set(talk.rows.filter((row) => !isThere(row)).map(({ file }) => file));
  talk.rows = talk.rows.filter(isThere);
  for (const referred of talk.referred.values()) referred.maybe ||= gone.has(referred.file);
}

/** A result taken apart. */
interface Parsed {
  readonly notes: readonly string[];
  readonly answered: boolean;
  readonly threw: boolean;
}

function keyOf({ path, cwd, offset, limit }: Omit<Asked, "tool">): string {
  return JSON.stringify([cwd, path, offset || 1, limit]);
}

function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb;
}

function isMap(note: string): boolean {
  return note.startsWith("[waymark map:");
}

function blocksOf(result: unknown): { text: string }[] {
  const content = Array.isArray(result) ? result : (result as { content?: unknown } | undefined)?.content;
  return Array.isArray(content) ? content : [];
}

/** The text of a result, as its tool made it. */
function textIn(result: unknown): string | undefined {
  if (typeof result === "string" || result === undefined) return result;
  const { content } = result as { content?: unknown };
  return typeof content === "string" ? content : blocksOf(result)[0]?.text;
}

/** What Waymark said, one by one. */
function notesOf(text: string): string[] {
  const notes: string[] = [];
  for (let rest = text; rest;) {
    const [, kind] = /^\[waymark (map|notice|diff|reference): /.exec(rest) ?? [];
    hold(kind, "something else stands where only annotations may", rest.slice(0, 200));
    const last = `\n[end of waymark ${kind}]`,
      at = kind === "reference" ? rest.indexOf("\n") : rest.indexOf(last) + last.length;
    const end = at < 0 ? rest.length : at;
    notes.push(rest.slice(0, end));
    rest = rest.slice(end).replace(/^\n\n/, "");
  }
  return notes;
}
