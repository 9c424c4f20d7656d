/**
 * What both parsers share: the language of a file, how many entries an outline may have, and its paragraph. Pure.
 *
 * Promised: the paragraph says what was found and that no model wrote it, and holds no value.
 *
 * @module
 */

import type { Region, RegionKind } from "../types.ts";

/** Most regions a stored map has. */
export const MAX_REGIONS = 400;
/** Longest name of a region, in UTF-16 code units. */
export const MAX_NAME = 120;
/** Longest note of a region, in UTF-16 code units. */
export const MAX_NOTE = 200;
/** Most names the paragraph lists. */
const MAX_LISTED = 24;

const NAMES =
  "ts mts cts=TypeScript;tsx=TypeScript with JSX;js mjs cjs=JavaScript;jsx=JavaScript with JSX;py pyi=Python;" +
  "go=Go;rs=Rust;c=C;h=C or C++ header;cc cpp cxx hh hpp hxx=C++;java=Java;kt kts=Kotlin;cs=C#;rb=Ruby;php=PHP;swift=Swift;" +
  "scala sc=Scala;sh bash zsh=shell;lua=Lua;ex exs=Elixir;hs=Haskell;zig=Zig;dart=Dart;css=CSS;scss=SCSS;less=Less;" +
  "tf hcl=HCL;vue=Vue;svelte=Svelte;astro=Astro;html htm=HTML;json=JSON;yaml yml=YAML;toml=TOML;sql=SQL;" +
  "md markdown mdx=Markdown;m mm=Objective-C;pl pm=Perl;r=R;jl=Julia;erl=Erlang;clj=Clojure;fs=F#;ml=OCaml;" +
  "proto=Protocol Buffers;graphql=GraphQL;sol=Solidity;ps1=PowerShell;groovy gradle=Groovy;xml=XML;ini=INI";

const LANGUAGES: ReadonlyMap<string, string> = new Map(
  NAMES.split(";").flatMap((entry) => {
    const [extensions = "", name = ""] = entry.split("=");
    return extensions.split(" ").map((extension) => [extension, name] as const);
  }),
);

/** The extension of a path, lower case; of a script without one, what its first line says. */
export function extensionOf(path: string, text: string): string {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const dot = name.lastIndexOf(".");
  if (dot >= 0) return name.slice(dot + 1).toLowerCase();
  const script = /^#!.{0,200}?\b(bash|zsh|sh|python|node|deno|bun|ruby|perl|php|lua)/.exec(text.slice(0, 256))?.[1] ??
    "";
  return { python: "py", node: "js", deno: "ts", bun: "ts", ruby: "rb", perl: "pl" }[script] ?? script;
}

/** The language of an extension; empty where it is not known. */
export function languageName(extension: string): string {
  return LANGUAGES.get(extension) ?? "";
}

/** An outline that may be stored, and how many entries were left out. */
export interface LimitedOutline {
  readonly regions: Region[];
  readonly omitted: number;
}

/** A sorted outline within what a map may hold: the deepest go first, of one depth the shortest. */
export function limitOutline(regions: readonly Region[], max: number = MAX_REGIONS): LimitedOutline {
  const sorted = inOrder(regions);
  if (sorted.length <= max) return { regions: sorted, omitted: 0 };
  const depths = depthsOf(sorted);
  // Among equals, spread over the file: the bits of the index reversed make neighbours go to different ends.
  const order = sorted.map((region, index) => ({ depth: depths[index]!, length: region.end - region.start, index }));
  order.sort((a, b) => a.depth - b.depth || b.length - a.length || reverseBits(a.index) - reverseBits(b.index));
  const kept = order.slice(0, max).map(({ index }) => index).sort((a, b) => a - b);
  return { regions: kept.map((index) => sorted[index]!), omitted: sorted.length - max };
}

function inOrder(regions: readonly Region[]): Region[] {
  return [...regions].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** How deep each region of a sorted list lies inside others. */
export function depthsOf(sorted: readonly Region[]): number[] {
  const open: Region[] = [];
  return sorted.map((region) => {
    while (open.length && open[open.length - 1]!.end < region.end) open.pop();
    return open.push(region) - 1;
  });
}

function reverseBits(value: number): number {
  let reversed = 0;
  for (let bit = 0; bit < 24; bit++) reversed = (reversed << 1) | ((value >> bit) & 1);
  return reversed;
}

/** One line of at most `max` UTF-16 code units, no character cut; empty where nothing shows. */
export function cutName(text: string, max: number = MAX_NAME): string {
  const line = text.slice(0, max * 4).toWellFormed().replace(/\p{Cf}/gu, "")
    .replace(/(?<![^ -~\p{Cc}\s])\p{DI}+(?![^ -~\p{Cc}\s])/gu, "").replace(/[\p{Cc}\s]+/gu, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "").trimEnd()}…`;
}

/** What a whole outline holds: how many of each kind, the first names at the top, and how many more. */
export interface OutlineContents {
  readonly counts: ReadonlyMap<RegionKind, number>;
  readonly names: readonly string[];
  readonly more: number;
}

/** What the paragraph tells of the file. */
export interface OutlineFacts {
  readonly extension: string;
  readonly lines: number;
  readonly maker: "outline" | "scanner";
  /** Some text could not be parsed. */
  readonly damaged?: boolean;
}

const PLURALS: Partial<Record<RegionKind, string>> = { class: "classes", other: "other blocks", config: "settings" };
const SINGULARS: Partial<Record<RegionKind, string>> = { other: "other block", config: "setting" };

/** Counts what an outline holds. */
export function contentsOf(regions: readonly Region[]): OutlineContents {
  const counts = new Map<RegionKind, number>(), names = new Set<string>();
  let inside = 0; // up to here the last region goes that others can be inside of; namespaces are no level of their own
  for (const { kind, name, start, end } of inOrder(regions)) {
    if (kind === "import" || kind === "comment") continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (kind === "other") continue;
    if (start > inside && kind !== "method") names.add(name);
    inside = Math.max(inside, end);
  }
  return { counts, names: [...names].slice(0, MAX_LISTED), more: Math.max(0, names.size - MAX_LISTED) };
}

/** The paragraph about an outline. */
export function outlineProse({ counts, names, more }: OutlineContents, facts: OutlineFacts): string {
  const { extension, lines, maker, damaged } = facts, listed = names.map((name) => cutName(name, 60) || "(unnamed)");
  const kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([kind, count]) =>
    `${count} ${count === 1 ? SINGULARS[kind] ?? kind : PLURALS[kind] ?? `${kind}s`}`
  );
  const sentences = [`${languageName(extension) || "Text"}, ${lines} lines: ${kinds.join(", ")}.`];
  if (listed.length) sentences.push(`At the top level: ${listed.join(", ")}${more ? ` and ${more} more` : ""}.`);
  if (damaged) sentences.push("Parts of the file could not be parsed, so entries there are approximate.");
  sentences.push(
    maker === "outline"
      ? "Found by a parser; no model read the file or wrote this."
      : "Found by a line scanner, which can miss declarations; no model read the file or wrote this.",
  );
  return sentences.join(" ");
}
