/**
 * A model's regions held against the declarations of the same file. Pure.
 *
 * Promised: a declaration the model put elsewhere stands where it is; one whose name is nowhere in the text is gone and
 * counted; everything else stays as it was, unverified; the result is flat. Never throws. Absent: any view on what the
 * model wrote about a region.
 *
 * @module
 */

import { arrange } from "../summary/normalize.ts";
import type { Audit, Region, RegionKind } from "../types.ts";

/** What the audit is done against. */
export interface AuditSource {
  /** What the outline found, in any order. */
  readonly declarations: readonly Region[];
  /** The file's text. */
  readonly text: string;
  /** The file's number of lines. */
  readonly lines: number;
}

/** What {@linkcode auditRegions} gives. */
export interface Audited {
  /** Sorted and flat. */
  readonly regions: Region[];
  /** What was found. */
  readonly audit: Audit;
}

/** A region is moved by at most so many lines. */
const NEAR = 40;

/** So many words of a name are looked for in the text. */
const MAX_WORDS = 8;

/** Kinds that stand for a declaration: only they are looked up. */
const DECLARED: ReadonlySet<RegionKind> = new Set<RegionKind>(["class", "interface", "type", "function", "method"]);

/** Words a model puts beside a name. */
const NOISE = new Set(
  ("abstract async class const constructor def default enum export exported fn func function get impl interface internal local " +
    "method methods mod module namespace override private protected protocol pub public readonly set static struct trait type " +
    "functions class classes types interfaces helper helpers the and of for in to").split(" "),
);

/** The regions, checked. Between two of them other work may have its turn: a model may make up thousands of names. */
export function* auditRegions(regions: readonly Region[], source: AuditSource): Generator<void, Audited> {
  const byName = new Map<string, Region[]>();
  for (const declaration of source.declarations) {
    if (!DECLARED.has(declaration.kind)) continue;
    const key = fold(lastComponent(declaration.name));
    const same = byName.get(key);
    if (same) same.push(declaration);
    else if (key) byName.set(key, [declaration]);
  }
  for (const same of byName.values()) same.sort((a, b) => a.start - b.start);
  const text = fold(source.text), known = new Map<string, boolean>();
  const occurs = (word: string): boolean => {
    const found = known.get(word) ?? text.includes(word);
    known.set(word, found);
    return found;
  };
  const claims: Claim[] = [], kept: Region[] = [];
  for (const region of regions) {
    yield;
    const declaration = DECLARED.has(region.kind)
      ? match(region, byName.get(fold(lastComponent(region.name))))
      : undefined;
    if (declaration) claims.push({ region, declaration });
    if (declaration || !DECLARED.has(region.kind) || isNamed(region.name, occurs)) kept.push(region);
  }
  const moves = settle(claims);
  const placed = [...moves].map(([region, { start, end }]) => ({ ...region, start, end }));
  // Of two regions with one start the later wins: what is verified comes last.
  const { regions: flat } = arrange([...kept.filter((region) => !moves.has(region)), ...placed], source.lines);
  return { regions: flat, audit: { ...tally(moves, flat), dropped: regions.length - flat.length } };
}

/** A region and the declaration it stands for. */
interface Claim {
  readonly region: Region;
  readonly declaration: Region;
}

/** The one declaration a region stands for, out of those with its name by their start: the one where it stands, else the only one near. */
function match({ start }: Region, candidates: readonly Region[] = []): Region | undefined {
  return only(candidates, start, start) ?? only(candidates, start - NEAR, start + NEAR);
}

/** The one that begins between two lines; none where there are more. */
function only(sorted: readonly Region[], from: number, to: number): Region | undefined {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.start < from) low = middle + 1;
    else high = middle;
  }
  const found = sorted[low], next = sorted[low + 1];
  return found && found.start <= to && !(next && next.start <= to) ? found : undefined;
}

/** Each declaration to the nearest of the regions that claim it; a function told in two parts stays in two parts. */
function settle(claims: readonly Claim[]): Map<Region, Region> {
  const nearest = new Map<Region, Claim>();
  for (const claim of claims) {
    const other = nearest.get(claim.declaration);
    if (!other || distance(claim) < distance(other)) nearest.set(claim.declaration, claim);
  }
  return new Map([...nearest.values()].map(({ region, declaration }) => [region, declaration]));
}

/** Where it starts counts before where it ends. */
function distance({ region, declaration }: Claim): number {
  return Math.abs(region.start - declaration.start) * 1e7 + Math.abs(region.end - declaration.end);
}

/** How many of the matched regions stood where the outline has them, and how many were moved there. */
function tally(moves: ReadonlyMap<Region, Region>, flat: readonly Region[]): { verified: number; moved: number } {
  const byStart = new Map(flat.map((region) => [region.start, region]));
  let verified = 0, moved = 0;
  for (const [region, { start, end }] of moves) {
    const now = byStart.get(start);
    if (!now || now.name !== region.name) continue; // two declarations on one line: the other one is shown
    if (region.start === start && (region.end === end || region.end === now.end)) verified++;
    else moved++;
  }
  return { verified, moved };
}

/** Whether any of the first words of a name is in the text. A name without a word in it cannot be looked for. */
function isNamed(name: string, occurs: (word: string) => boolean): boolean {
  const words = name.replace(/\([^)]*\)?|<[^>]*>?/g, " ").split(/[\s,;|&+/]+/).map((word) => fold(lastComponent(word)))
    .filter(Boolean);
  const telling = words.filter((word) => !NOISE.has(word)).slice(0, MAX_WORDS);
  const sought = telling.length ? telling : words.slice(0, MAX_WORDS);
  return sought.length === 0 || sought.some(occurs);
}

/** The last part of a qualified name, without parameters: `Foo.bar(x)` is `bar`. */
function lastComponent(name: string): string {
  const bare = name.replace(/[(<[{][^]*$/, "").trim();
  const words = bare.split(/\s+/).filter((word) => !NOISE.has(word.toLowerCase()));
  return (words.at(-1) ?? bare).split(/\.|::|#|->|\//).filter(Boolean).at(-1) ?? "";
}

/** Case and punctuation set aside, so that `parse_config` is `parseConfig`. */
function fold(text: string): string {
  return text.toLowerCase().replace(/[_$\-?!`'"*&~]/g, "");
}
