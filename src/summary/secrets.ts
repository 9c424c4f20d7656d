/**
 * Masks what looks like a secret, by the patterns secretlint maintains; no list of our own.
 *
 * Promised: the patterns are loaded at the first use, once; where they cannot be loaded the text is not returned unmasked,
 * the call rejects; a secret is found whether what shows nothing splits it or divides it from a word beside it, also where that,
 * a line break or the like is written as an escape. Absent: secretlint's engine (it reads the environment, which Deno would ask
 * about), and its comments that switch a rule off: the text is not the user's own.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";

/** What stands where a secret stood. */
export const MASK = "[masked]";

/** Masks secrets in texts. */
export interface Masker {
  /** Loads the patterns. Rejects with a {@linkcode WaymarkError} with code `internal` where they cannot be had. */
  load(): Promise<void>;
  /** The texts, in order, with every secret replaced by {@linkcode MASK}. Loads the patterns where that has not been done. */
  mask(texts: readonly string[]): Promise<string[]>;
}

/** As much of one of secretlint's rules as is used. */
interface Rule {
  readonly meta: { readonly id: string };
  create(context: unknown, options: unknown): { file?(source: unknown): unknown };
}

type Range = readonly [number, number];

const SWITCHES = "@secretlint/secretlint-rule-filter-comments";

/** Makes a masker over whatever loads the module of patterns. */
export function createMasker(load: () => Promise<unknown>): Masker {
  let loading: Promise<readonly Rule[]> | undefined;

  const rules = async (): Promise<readonly Rule[]> => {
    try {
      const module = await load() as { rules: readonly Rule[] };
      return module.rules.filter((rule) => rule.meta.id !== SWITCHES);
    } catch (cause) {
      loading = undefined;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new WaymarkError("internal", `Cannot mask secrets: the patterns could not be loaded (${reason})`, {
        cause,
      });
    }
  };

  return {
    load: async () => void await (loading ??= rules()),
    async mask(texts) {
      const found = await findUnseen(await (loading ??= rules()), texts.join("\n"));
      let offset = 0;
      return texts.map((text) => {
        const masked = cover(text, found.map(([start, end]) => [start - offset, end - offset] as const));
        offset += text.length + 1;
        return masked;
      });
    },
  };
}

/** The masker the library uses. */
export const secrets: Masker = createMasker(() => import("@secretlint/secretlint-rule-preset-recommend"));

/**
 * The text with every secret replaced by `[masked]`.
 *
 * @throws {WaymarkError} with code `internal` where the patterns cannot be loaded.
 */
export async function maskSecrets(text: string): Promise<string> {
  return (await secrets.mask([text]))[0]!;
}

/** Controls, but tabs and what breaks a line; what else shows nothing; both. */
const CONTROL = /(?![\t\n\r])\p{Cc}/gu, HIDDEN = /[\p{DI}\p{Cf}]/gu, UNSEEN = /(?![\t\n\r])[\p{Cc}\p{DI}\p{Cf}]/gu;
/** A character as JSON, program text and addresses write it, or the rest of a colour: its last letter is no part of a word. */
const ESCAPE = /%[\da-f]{2}|\\(?:[0-3][0-7]{2}|[abefnrtv]|x[\da-f]{2}|u[\da-f]{4})|\[[\d;]*m/gi;

/** Where secrets stand, in order, also those that are only seen without what shows nothing or is an escape. */
async function findUnseen(rules: readonly Rule[], content: string): Promise<Range[]> {
  const spaced = content.replace(CONTROL, " "), unescaped = spaced.replace(ESCAPE, (run) => " ".repeat(run.length));
  const hides = content.search(HIDDEN) >= 0, found: Range[] = [];
  for (const text of new Set([spaced, unescaped])) {
    found.push(...await findSecrets(rules, text));
    if (hides) found.push(...await findWithout(HIDDEN, text, rules));
  }
  if (spaced !== content) found.push(...await findWithout(CONTROL, content, rules));
  if (hides && spaced !== content) found.push(...await findWithout(UNSEEN, content, rules));
  return found.sort((a, b) => a[0] - b[0]);
}

/** Where secrets stand in a text as it is read without what a pattern matches. */
async function findWithout(pattern: RegExp, content: string, rules: readonly Rule[]): Promise<Range[]> {
  const places: number[] = [], parts: string[] = [];
  let start = 0;
  const keep = (end: number): void => {
    parts.push(content.slice(start, end));
    while (start < end) places.push(start++);
  };
  for (const { 0: gap, index } of content.matchAll(pattern)) {
    keep(index);
    start = index + gap.length;
  }
  keep(content.length);
  const found = await findSecrets(rules, parts.join(""));
  return found.map(([from, to]) => [places[from] ?? start, (places[to - 1] ?? start) + 1]);
}

/** Where secrets stand. */
async function findSecrets(rules: readonly Rule[], content: string): Promise<Range[]> {
  const found: Range[] = [];
  const context = {
    sharedOptions: {},
    createTranslator: () => (_id: string, facts: Record<string, unknown> = {}) => Object.values(facts),
    report: (report: { message: readonly unknown[]; range: Range }) => void found.push(widen(report, content)),
    ignore: () => {},
  };
  const source = { content, contentType: "text", filePath: "text.txt", ext: ".txt", hasBOM: false };
  for (const rule of rules) await rule.create(context, { enableIDScanRule: true }).file?.(source);
  return found;
}

/** The range of a report, to the end of what it names: one of the rules counts the secret from the start of its label. */
function widen(
  { message, range: [start, end] }: { message: readonly unknown[]; range: Range },
  content: string,
): Range {
  for (const value of message) {
    const at = typeof value === "string" && value ? content.indexOf(value, start) : -1;
    if (at >= 0 && at <= end) end = Math.max(end, at + String(value).length);
  }
  return [start, end];
}

/** The text with the given ranges masked, as far as they lie in it; ranges that touch become one mask. */
function cover(text: string, ranges: readonly Range[]): string {
  let covered = "", at = 0;
  for (const [start, end] of ranges) {
    if (end <= at || start >= text.length) continue;
    if (start > at || at === 0) covered += text.slice(at, Math.max(start, at)) + MASK;
    at = Math.min(end, text.length);
  }
  return covered + text.slice(at);
}
