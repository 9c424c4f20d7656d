/**
 * The outline and the scanner over the whole corpus, against every reference that is there.
 *
 * @module
 */

import { createParse } from "../../src/outline/parser.ts";
import { countLines } from "../../src/lines.ts";
import { extensionOf, languageName } from "../../src/summary/outline_rules.ts";
import type { CorpusFile } from "./corpus.ts";
import { addTo, emptyScore, type Score } from "./quality.ts";
import type { Known, Reference } from "./references.ts";
import { scan } from "./golden.ts";

/** What was measured. */
export interface Measured {
  /** By language. */
  readonly outline: Map<string, Score>;
  readonly scanner: Map<string, Score>;
  /** What was missed, in words. */
  readonly missed: string[];
  /** Files the outline left to the scanner, and why they are not counted for it. */
  readonly fallenBack: string[];
  /** Languages no reference knows. */
  readonly unknown: string[];
}

/** Runs both over every file that a reference knows. */
export async function measure(files: readonly CorpusFile[], references: readonly Reference[]): Promise<Measured> {
  const parse = createParse();
  const measured: Measured = { outline: new Map(), scanner: new Map(), missed: [], fallenBack: [], unknown: [] };
  for (const file of files) {
    const { path, text } = file, lines = countLines(text), extension = extensionOf(path, text);
    const language = languageName(extension) || extension;
    let known: Known[] | undefined;
    for (const reference of references) known ??= reference.find(file);
    if (!known) {
      measured.unknown.push(path);
      continue;
    }
    const parsed = await parse({ path, text, lines, hash: path, size: text.length });
    const note = (who: string, missing: readonly Known[]) => {
      for (const { name, line, top } of missing) {
        measured.missed.push(`${who} ${language} ${path}:${line} ${name}${top ? " (top)" : ""}`);
      }
    };
    if (parsed) {
      note("outline", addTo(score(measured.outline, language), { regions: parsed.declarations, known, lines }));
    } else measured.fallenBack.push(path);
    note("scanner", addTo(score(measured.scanner, language), { regions: scan(text, extension), known, lines }));
  }
  return measured;
}

function score(scores: Map<string, Score>, language: string): Score {
  const known = scores.get(language) ?? emptyScore();
  scores.set(language, known);
  return known;
}

/** All languages in one. */
export function total(scores: ReadonlyMap<string, Score>): Score {
  const sum = emptyScore();
  for (const one of scores.values()) {
    for (const key of Object.keys(sum) as (keyof Score)[]) sum[key] += one[key];
  }
  return sum;
}
