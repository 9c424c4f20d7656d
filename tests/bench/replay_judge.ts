/**
 * What was really delivered into a conversation, and whether what a result says about it is true.
 *
 * Nothing of the product is used here: lines are noted as they came back to the host, and references, maps and differences
 * are taken from the text that the model would read. A statement is false where a single line of it is.
 *
 * @module
 */

/** Why a statement about earlier results is false. */
export type Falsehood = "never shown" | "changed" | "other context" | "before a compaction" | "misstated";

/** All of them, in the order in which they name a statement that is false in several ways. */
export const FALSEHOODS: readonly Falsehood[] = [
  "before a compaction",
  "changed",
  "never shown",
  "other context",
  "misstated",
];

/** Where in a conversation something happens. */
export interface Moment {
  readonly ctx: string;
  readonly epoch: number;
  readonly turn: number;
}

/** A numbered line as the host got it. */
export interface Shown {
  readonly number: number;
  readonly text: string;
}

/** A read, and what is on disk at that moment. */
export interface Asked {
  readonly path: string;
  /** First line that the read as it was asked returns. */
  readonly first: number;
  /** How many lines it returns. */
  readonly count: number;
  /** All lines of the file. */
  readonly disk: readonly string[];
}

/** What the result of a read says beside its lines, and what of it is false. */
export interface Verdict {
  references: number;
  diffs: number;
  maps: number;
  mapReferences: number;
  notices: number;
  falsehood?: Falsehood;
}

interface Delivery extends Moment {
  readonly text: string;
}

/** The harness's own record of one session. */
export class Delivered {
  readonly #lines = new Map<string, Delivery[]>();
  readonly #maps = new Map<string, Delivery[]>();

  /** Notes lines that a result delivered. */
  deliver(path: string, shown: readonly Shown[], { ctx, epoch, turn }: Moment): void {
    for (const { number, text } of shown) push(this.#lines, `${path}\0${number}`, { text, ctx, epoch, turn });
  }

  /** Judges a whole result, and notes what it delivered. */
  judge(asked: Asked, shown: readonly Shown[], annotation: string, now: Moment): Verdict {
    const { path, first, count, disk } = asked, last = first + count - 1;
    const said = { "reference": 0, "diff": 0, "map": 0, "map reference": 0, "notice": 0 };
    const wrong: (Falsehood | undefined)[] = [];
    const delivered = [...shown];
    let told = first + shown.length - 1, partial: number | undefined; // up to which line it is said what there is
    if (shown.some(({ number, text }, at) => number !== first + at || text !== disk[number - 1])) {
      wrong.push("misstated");
    }

    for (const statement of annotation.split(/(?=^\[waymark )/m).filter(Boolean).map(statementOf)) {
      const { kind, from = first, to = last, of = disk.length, block } = statement;
      const inPlace = kind === "reference" || kind === "diff";
      if (kind) said[kind]++;
      if (kind !== "notice" && (from !== first || of !== disk.length)) wrong.push("misstated");
      if (inPlace && (statement.path !== path || shown.length)) wrong.push("misstated");
      if (inPlace) told = to;
      else if (kind !== "notice") partial = to;

      if (kind === "reference") wrong.push(this.#standing(asked, to, now, statement));
      else if (kind === "map reference") wrong.push(this.#map(asked, now, statement));
      else if (kind === "map") wrong.push(hasRegions(block, disk) ? undefined : "misstated");
      else if (kind === "diff") {
        const { falsehood, rows } = this.#diff(asked, to, now, statement);
        wrong.push(falsehood);
        delivered.push(...rows);
      } else if (kind === undefined) wrong.push("misstated");
    }

    // Whatever is not there must be said not to be there.
    if (partial === undefined ? told < last : partial !== told) wrong.push("misstated");
    this.deliver(path, delivered, now);
    if (said.map) push(this.#maps, path, { ...now, text: disk.join("\n") });
    const falsehood = worst(wrong);
    return {
      references: said.reference,
      diffs: said.diff,
      maps: said.map,
      mapReferences: said["map reference"],
      notices: said.notice,
      ...falsehood ? { falsehood } : {},
    };
  }

  /** Whether each line up to `end` was delivered, as it is now, in an earlier turn of this context and epoch. */
  #standing({ path, first, disk }: Asked, end: number, now: Moment, { turn }: Statement): Falsehood | undefined {
    const wrong: (Falsehood | undefined)[] = [], turns: number[] = [];
    for (let number = first; number <= end; number++) {
      const known = this.#lines.get(`${path}\0${number}`) ?? [], text = disk[number - 1]!;
      wrong.push(fault(known, text, now));
      turns.push(...known.filter((given) => isHere(given, now) && given.text === text).map((given) => given.turn));
    }
    const falsehood = worst(wrong);
    return falsehood ?? (turn === undefined || turns.includes(turn) ? undefined : "misstated");
  }

  /** Whether the map of this content was given in this context and epoch. */
  #map({ path, disk }: Asked, now: Moment, { turn }: Statement): Falsehood | undefined {
    const known = this.#maps.get(path) ?? [], text = disk.join("\n"), falsehood = fault(known, text, now);
    const isSo = known.some((given) => isHere(given, now) && given.text === text && given.turn === turn);
    return falsehood ?? (turn === undefined || isSo ? undefined : "misstated");
  }

  /** Whether a difference, applied to what was delivered last by the turn it names, gives what is on disk. */
  #diff(
    { path, first, disk }: Asked,
    end: number,
    now: Moment,
    { block, turn: by = now.turn - 1 }: Statement,
  ): { falsehood: Falsehood | undefined; rows: Shown[] } {
    const rows: Shown[] = [], after: (string | undefined)[] = [];
    const old = (number: number): string | undefined =>
      this.#lines.get(`${path}\0${number}`)?.findLast((given) => isHere(given, now) && given.turn <= by)?.text;
    let next = first, before = first, isSound = true;
    const keep = (): unknown => (after.push(old(before)), before++, next++);
    for (const row of block.split("\n").slice(1, -1)) {
      const at = /^At line (\d+), which was (\d+):$/.exec(row), line = /^([ +-]) ( *\d*)\| (.*)$/s.exec(row);
      if (at) {
        while (next < Number(at[1])) keep();
        isSound &&= before === Number(at[2]);
      } else if (line) {
        const [, sign, number, text] = line;
        if (sign !== "+" && old(before) !== text) isSound = false;
        if (sign !== "-") {
          if (Number(number) !== next) isSound = false;
          rows.push({ number: next, text: text! });
        }
        if (sign === " ") keep();
        else if (sign === "-") before++;
        else after.push(text), next++;
      } else isSound = false;
    }
    while (next <= end) keep();
    const want = disk.slice(first - 1, end), falsehood = after.includes(undefined) ? "never shown" : "changed";
    const isRight = isSound && after.length === want.length && want.every((text, index) => text === after[index]);
    return { falsehood: isRight ? undefined : falsehood, rows };
  }
}

/** One block of an annotation, as a model reads it. */
interface Statement {
  /** `undefined`: it says something that nobody knows how to judge. */
  readonly kind: "reference" | "diff" | "map" | "map reference" | "notice" | undefined;
  readonly block: string;
  readonly path?: string;
  readonly from?: number;
  readonly to?: number;
  readonly of?: number;
  readonly turn?: number;
}

const FORMS: readonly [kind: Statement["kind"], form: RegExp][] = [
  ["reference", /^\[waymark reference: (?<path>.+) is unchanged, shown above\]$/],
  [
    "reference",
    /^\[waymark reference: (?<path>.+) lines? (?<from>\d+)(?:-(?<to>\d+))? of (?<of>\d+) (?:is|are) unchanged (?:since turn (?<turn>\d+), shown (?:by )?then|and shown earlier)\]$/,
  ],
  [
    "map reference",
    /^\[waymark reference: PARTIAL, lines (?<from>\d+)-(?<to>\d+) of (?<of>\d+); the whole map was given (?:in turn (?<turn>\d+)|earlier), unchanged(?:\. Next lines: .+)?\]$/,
  ],
  [
    "map",
    /^\[waymark map: PARTIAL, lines (?<from>\d+)-(?<to>\d+) of (?<of>\d+) are (?:shown|those above), the rest is not\]\n/,
  ],
  [
    "diff",
    /^\[waymark diff: (?<path>.+) lines (?<from>\d+)-(?<to>\d+) of (?<of>\d+) (?:have changed; what is not listed is|are) as shown (?:(?:in|by) turn (?<turn>\d+)|earlier)(?:; the file has changed elsewhere|; what is marked - is no longer among them)?\]\n/,
  ],
  ["notice", /^\[waymark notice: /],
];

function statementOf(text: string): Statement {
  const block = text.trim();
  const [kind, form] = FORMS.find(([, form]) => form.test(block)) ?? [undefined, /^/];
  const { path, from, to = from, of, turn } = form.exec(block)?.groups ?? {};
  const numbers = Object.entries({ from, to, of, turn }).filter(([, value]) => value !== undefined);
  return {
    kind,
    block,
    ...path === undefined ? {} : { path },
    ...Object.fromEntries(numbers.map(([name, value]) => [name, Number(value)])),
  };
}

/** Whether each row of a map names what stands at its first line. */
function hasRegions(block: string, disk: readonly string[]): boolean {
  const rows = [...block.matchAll(/^ *(\d+)-\d+ {2}\w+ {2}(\S+)/gm)];
  return rows.length > 0 && rows.every(([, start, name]) => disk[Number(start) - 1]?.includes(name!));
}

/** Whether a model that answers now has read it. */
function isHere({ ctx, epoch, turn }: Moment, now: Moment): boolean {
  return ctx === now.ctx && epoch === now.epoch && turn < now.turn;
}

/** What is false about saying that a text stands in the conversation. */
function fault(known: readonly Delivery[], text: string, now: Moment): Falsehood | undefined {
  const here = known.filter((given) => isHere(given, now)), inOther = known.filter(({ ctx }) => ctx !== now.ctx);
  const earlier = known.filter(({ ctx, epoch }) => ctx === now.ctx && epoch < now.epoch);
  const has = (given: readonly Delivery[]): boolean => given.some((one) => one.text === text);
  if (has(here)) return undefined;
  if (has(earlier)) return "before a compaction";
  if (here.length) return "changed";
  return inOther.length ? "other context" : "never shown";
}

function worst(all: readonly (Falsehood | undefined)[]): Falsehood | undefined {
  return FALSEHOODS.find((falsehood) => all.includes(falsehood));
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const all = map.get(key);
  if (all) all.push(value);
  else map.set(key, [value]);
}
