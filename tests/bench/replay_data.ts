/**
 * Recorded agent sessions without text (`tests/testdata/sessions/`): read, and put on a real disk.
 *
 * A line is an id there and a number of tokens. What stands for it is a line of code in the language of its file: equal ids
 * of one file are equal lines, others are not, and it is about as many tokens long as the real one was. One in
 * {@linkcode DECLARES} of the lines that are long enough declares a function, because `line 12` gives no parser a map, and
 * without a map the read guard rightly shortens nothing. Every line is whole by itself, so that lines parse in any order.
 *
 * @module
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Lists of ids: first, count, first, count, … */
export type Runs = readonly number[];

/** Lines taken out at a line, and others put there. */
export type Splice = readonly [at: number, remove: number, insert: Runs];

/** A file as it lay there before the session first saw it. */
export interface FileEvent {
  readonly type: "file";
  readonly path: string;
  readonly lines: Runs;
}

/** A change that no edit of the session explains. */
export interface ChangeEvent {
  readonly type: "change";
  readonly path: string;
  readonly ops: readonly Splice[];
}

/** What every call of a tool has. */
interface Called {
  readonly call: number;
  readonly ctx: string;
  readonly epoch: number;
  readonly turn: number;
  readonly tokens: number;
  readonly callsAfter: number;
}

/** An edit by a tool of the session. */
export interface EditEvent extends Called {
  readonly type: "edit";
  readonly tool: string;
  readonly files: readonly { readonly path: string; readonly ops?: readonly Splice[]; readonly delete?: true }[];
}

/** A read of a file. */
export interface ReadEvent extends Called {
  readonly type: "read";
  readonly path: string;
  readonly via: "tool" | "shell";
  readonly offset?: number;
  readonly limit?: number;
  /** First line and number of lines that the host returned. */
  readonly returned: readonly [first: number, count: number];
  /** The host stopped before the end of what was asked. */
  readonly cut?: true;
  /** Tokens outside the lines. */
  readonly frame: number;
}

/** The result of any other tool. */
export interface ResultEvent extends Called {
  readonly type: "result";
  readonly tool: string;
}

/** The conversation was summarised. */
export interface CompactionEvent {
  readonly type: "compaction";
  readonly ctx: string;
  readonly epoch: number;
}

/** One thing that happened in a session. */
export type SessionEvent = FileEvent | ChangeEvent | EditEvent | ReadEvent | ResultEvent | CompactionEvent;

/** One recorded session. */
export interface Recorded {
  readonly id: string;
  readonly host: string;
  readonly calls: number;
  readonly toolTokens: number;
  readonly reads: number;
  readonly compactions: number;
  /** Tokens of each line, by id; ids past the end stand for lines nobody saw. */
  readonly lineTokens: readonly number[];
  readonly events: readonly SessionEvent[];
}

/** Where the sessions are. */
const FILE = join(import.meta.dirname!, "../testdata/sessions/dev.jsonl.gz");

/** All sessions, or those of these ids. */
export function recordedSessions(only?: readonly string[]): Recorded[] {
  const all: (Recorded & { events: SessionEvent[] })[] = [];
  for (const line of gunzipSync(readFileSync(FILE)).toString("utf8").split("\n")) {
    if (!line) continue;
    const { type, ...rest } = JSON.parse(line);
    if (type === "session") all.push({ ...rest, events: [] });
    else all.at(-1)!.events.push({ type, ...rest });
  }
  for (const id of only ?? []) {
    if (!all.some((session) => session.id === id)) throw new Error(`Cannot replay ${id}: there is no such session`);
  }
  return only ? all.filter(({ id }) => only.includes(id)) : all;
}

/** The ids that runs stand for. */
export function idsOf(runs: Runs): number[] {
  const ids: number[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let more = 0; more < runs[at + 1]!; more++) ids.push(runs[at]! + more);
  }
  return ids;
}

/** Tokens of some of the lines a read returned, as the host showed them: of all of them, just what was recorded. */
export function cost(session: Recorded, read: ReadEvent, all: readonly number[], some: readonly number[]): number {
  const sum = (ids: readonly number[]): number => ids.reduce((total, id) => total + session.lineTokens[id]!, 0);
  return read.frame + sum(some) + some.length * (read.tokens - read.frame - sum(all)) / all.length;
}

/** One in so many of the longer lines declares something: maps are then a little shorter than those of real code. */
export const DECLARES = 10;
/** A shorter line is a bracket or blank as a rule. */
const SHORTEST = 8;

/** How a language says that something is declared, and anything else: a name or number, and words that make up the length. */
type Words = (id: number, words: string) => string;

const LANGUAGES: readonly [extensions: string, declaration: Words, other: Words][] = [
  [
    "ts tsx js mjs cjs jsx",
    (id, w) => `export function f${id}(a) {} // ${w}`,
    (id, w) => w ? `p(${id}, "${w}");` : `${id};`,
  ],
  ["go", (id, w) => `func f${id}(a int) {} // ${w}`, (id, w) => `var _ = ${w ? `"${id} ${w}"` : id}`],
  ["c h", (id, w) => `int f${id}(int a) {} // ${w}`, (id, w) => `#pragma p${id} ${w}`],
  ["rs", (id, w) => `fn f${id}(a: u8) {} // ${w}`, (id, w) => `p!(${id}, "${w}");`],
  ["py", (id, w) => `def f${id}(a): pass  # ${w}`, (id, w) => `p(${id}, "${w}")`],
  ["yml yaml", (id, w) => `f${id}: "${w}"`, (id, w) => `  - p${id} ${w}`],
  ["pony", (id, w) => `fun f${id}(a: U8) => None // ${w}`, (id, w) => `  p(${id}, "${w}")`],
];
const TEXT: Words = (id, words) => `p${id} ${words}`;

/** The lines that stand for the ids of a session, and back. */
export interface Lines {
  /** The line, without its end. */
  text(id: number, path: string): string;
  /** The id of a line; `undefined` of one that stands for none. */
  id(text: string): number | undefined;
}

/** The lines of a session. `tokens` counts those of a text. */
export function createLines({ lineTokens }: Recorded, tokens: (text: string) => number): Lines {
  const byText = new Map<string, number>(), known = new Map<string, string>();
  const seen = lineTokens.reduce((sum, count) => sum + count, 0) / Math.max(1, lineTokens.length);
  return {
    id: (text) => byText.get(text),
    text(id, path) {
      const extension = path.slice(path.lastIndexOf(".") + 1), key = `${extension} ${id}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const [, declaration, other] = LANGUAGES.find(([all]) => all.split(" ").includes(extension)) ?? ["", TEXT, TEXT];
      const length = lineTokens[id] ?? Math.max(SHORTEST, Math.round(seen));
      const declares = length >= SHORTEST && spread(id) % DECLARES === 0;
      const say = declares ? declaration : other, words = Math.max(0, length - tokens(`${say(id, "word")}\n`) + 1);
      const text = say(id, Array(words).fill("word").join(" ")).trimEnd();
      known.set(key, text);
      byText.set(text, id);
      return text;
    },
  };
}

/** A number that follows from another, and looks as if it did not. */
function spread(id: number): number {
  return (Math.imul(id + 1, 0x9e3779b1) >>> 0) >> 7;
}

/** The working directory as it was before each event. */
export class World {
  readonly files = new Map<string, number[]>();
  readonly #root: string;
  readonly #lines: Lines;

  constructor(root: string, lines: Lines) {
    this.#root = root;
    this.#lines = lines;
    mkdirSync(join(root, ".git"), { recursive: true });
  }

  /** Makes an event happen on the disk. */
  apply(event: SessionEvent): void {
    if (event.type === "file") this.#save(event.path, idsOf(event.lines));
    else if (event.type === "change") this.#splice(event.path, event.ops);
    else if (event.type === "edit") {
      for (const { path, ops, delete: gone } of event.files) {
        if (gone) this.#remove(path);
        else if (ops?.length) this.#splice(path, ops);
      }
    }
  }

  /** The ids of the lines that a read returned when it was recorded. */
  returned({ path, returned: [first, count] }: ReadEvent): number[] {
    return this.files.get(path)!.slice(first - 1, first - 1 + count);
  }

  /** The text of a file's lines. */
  textsOf(path: string): string[] {
    return (this.files.get(path) ?? []).map((id) => this.#lines.text(id, path));
  }

  #splice(path: string, ops: readonly Splice[]): void {
    const ids = [...this.files.get(path) ?? []];
    for (const [at, remove, insert] of ops.toReversed()) ids.splice(at - 1, remove, ...idsOf(insert));
    this.#save(path, ids);
  }

  #save(path: string, ids: number[]): void {
    const file = join(this.#root, path);
    this.files.set(path, ids);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, this.textsOf(path).map((text) => `${text}\n`).join(""));
  }

  #remove(path: string): void {
    this.files.delete(path);
    rmSync(join(this.#root, path), { force: true });
  }
}
