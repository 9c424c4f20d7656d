/**
 * Reads one JSON value out of a text, forgiving what models get wrong. Pure.
 *
 * Forgiven: trailing commas, comments, single quotes, bare keys, line breaks and bad escapes inside strings, `NaN`, and the
 * literals of Python. Not forgiven: anything that would need a guess. A value the text ends in is given as far as it goes
 * and called torn.
 *
 * @module
 */

/** What was read. */
export interface JsonRead {
  /** The value. Objects have no prototype; a member or element the text ends in is left out. */
  readonly value: unknown;
  /** Where the value ends in the text. */
  readonly end: number;
  /** The text ended before the value did. */
  readonly torn: boolean;
}

/** Deepest nesting that is read; an answer of ours needs three. */
const MAX_DEPTH = 32;

const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const WORD = /[\w$.+-]+/y;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
const PLAIN = /[^"'\\]+/y;
const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const LITERALS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["null", null],
  ["None", null],
  ["undefined", null],
  ["NaN", NaN],
  ["Infinity", NaN],
  ["-Infinity", NaN],
]);

/** The value that starts at `start`; `undefined` where there is none. */
export function readJson(text: string, start: number): JsonRead | undefined {
  const reader = new Reader(text, start);
  const value = reader.readValue(0);
  return reader.failed ? undefined : { value, end: reader.at, torn: reader.torn };
}

/** Stands for a scalar that the text ends in. */
const CUT = Symbol("cut");

class Reader {
  at: number;
  torn = false;
  failed = false;
  readonly #text: string;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  readValue(depth: number): unknown {
    const next = this.#peek();
    if (next === undefined) return CUT;
    if (depth > MAX_DEPTH) return this.#fail();
    if (next === "{") return this.#readObject(depth + 1);
    if (next === "[") return this.#readArray(depth + 1);
    return next === '"' || next === "'" ? this.#readString(next) : this.#readWord();
  }

  #readObject(depth: number): unknown {
    const object: Record<string, unknown> = Object.create(null);
    this.at++;
    while (this.#peek() !== "}") {
      if (this.torn) return object;
      const quote = this.#text[this.at]!;
      const key = quote === '"' || quote === "'" ? this.#readString(quote) : this.#match(WORD);
      if (this.#peek() !== ":") return this.torn ? object : this.#fail();
      this.at++;
      const value = this.readValue(depth);
      if (value !== CUT) object[String(key)] = value;
      if (!this.#isMember("}")) return object;
    }
    this.at++;
    return object;
  }

  #readArray(depth: number): unknown {
    const list: unknown[] = [];
    this.at++;
    while (this.#peek() !== "]") {
      if (this.torn) return list;
      const value = this.readValue(depth);
      if (value !== CUT) list.push(value);
      if (!this.#isMember("]")) return list;
    }
    this.at++;
    return list;
  }

  /** Whether a member has ended well: steps over the comma that follows; before the closing bracket there may be none. */
  #isMember(close: string): boolean {
    if (this.failed || this.torn) return false;
    const next = this.#peek();
    if (next === ",") this.at++;
    else if (next !== close && !this.torn) this.#fail();
    return !this.failed && !this.torn;
  }

  #readString(quote: string): string | typeof CUT {
    let value = "";
    for (this.at++;;) {
      value += this.#match(PLAIN);
      const next = this.#text[this.at];
      if (next === undefined) return this.#tear();
      this.at++;
      if (next === quote) return value;
      value += next === "\\" ? this.#readEscape() : next;
    }
  }

  #readEscape(): string {
    const code = this.#text[this.at] ?? "";
    this.at += code.length;
    if (code !== "u") return ESCAPES[code] ?? code;
    const digits = /^[0-9a-f]{4}/i.exec(this.#text.slice(this.at, this.at + 4))?.[0];
    if (!digits) return code;
    this.at += 4;
    return String.fromCharCode(parseInt(digits, 16));
  }

  #readWord(): unknown {
    const word = this.#match(WORD);
    if (this.at >= this.#text.length) return this.#tear();
    if (NUMBER.test(word)) return Number(word);
    if (LITERALS.has(word)) return LITERALS.get(word);
    return /^L?\d/i.test(word) ? word : this.#fail(); // L12 and 12-40 are what a line number may look like
  }

  /** Steps over white space and comments; the character there, or `undefined` and torn at the end of the text. */
  #peek(): string | undefined {
    this.#match(SPACE);
    const next = this.#text[this.at];
    if (next === undefined) this.torn = true;
    return next;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  #tear(): typeof CUT {
    this.torn = true;
    return CUT;
  }

  #fail(): typeof CUT {
    this.failed = true;
    return CUT;
  }
}
