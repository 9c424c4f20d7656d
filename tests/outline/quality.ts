/**
 * How good an outline is, measured against what others find in the same files.
 *
 * @module
 */

import type { Region } from "../../src/types.ts";
import type { Known } from "./references.ts";

/** Counts for one language, or for all. */
export interface Score {
  files: number;
  lines: number;
  regions: number;
  /** Regions that do not lie in the file. */
  outside: number;
  /** Declarations at the top level the reference has, and how many of them were found. */
  top: number;
  topFound: number;
  /** The same for all declarations. */
  all: number;
  allFound: number;
  /** Of those found, where the reference tells the end: how many, and how many end on that line. */
  ends: number;
  endsRight: number;
}

/** A score of nothing. */
export function emptyScore(): Score {
  return {
    files: 0,
    lines: 0,
    regions: 0,
    outside: 0,
    top: 0,
    topFound: 0,
    all: 0,
    allFound: 0,
    ends: 0,
    endsRight: 0,
  };
}

/** Most lines between the line of a name and the start of the region that counts as it. */
const NEAR = 10;

/** Adds a file to a score; gives what was missed. */
export function addTo(
  score: Score,
  { regions, known, lines }: { regions: readonly Region[]; known: readonly Known[]; lines: number },
): Known[] {
  score.files++;
  score.lines += lines;
  score.regions += regions.length;
  score.outside += regions.filter(({ start, end }) => start < 1 || end < start || end > lines).length;
  const byName = new Map<string, Region[]>();
  for (const region of regions) {
    for (const name of new Set([region.name, region.name.replace(/\(.*$/, ""), lastPart(region.name)])) {
      byName.set(name, [...byName.get(name) ?? [], region]);
    }
  }
  return known.filter((one) => {
    const away = ({ start }: Region): number => Math.abs(start - one.line);
    const region = (byName.get(one.name) ?? byName.get(lastPart(one.name)) ?? []).filter(({ start, end }) =>
      (start <= one.line && one.line <= end) || Math.abs(start - one.line) <= NEAR
    ).sort((a, b) =>
      away(a) - away(b)
    )[0];
    score.all++;
    if (one.top) score.top++;
    if (!region) return true;
    score.allFound++;
    if (one.top) score.topFound++;
    if (one.end !== undefined) {
      score.ends++;
      if (one.end === region.end) score.endsRight++;
    }
    return false;
  });
}

function lastPart(name: string): string {
  return name.replace(/^(?:extension|impl|namespace|defimpl)\s+/, "").replace(/<[^<>]*>|,.*$/g, "").split(
    /\.|::|:|#|\s/,
  ).at(
    -1,
  ) || name;
}

/** A share in percent. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? "-" : `${(100 * part / whole).toFixed(1)} %`;
}
