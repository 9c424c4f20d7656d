/**
 * Which grammar reads a file. Pure.
 *
 * @module
 */

import { type Grammar, GRAMMARS } from "./grammars.ts";

const EXTENSIONS =
  "ts mts cts=typescript;tsx vue svelte astro html htm=tsx;js mjs cjs jsx=javascript;py pyi=python;go=go;" +
  "rs=rust;c=c;h cc cpp cxx hh hpp hxx=cpp;java=java;kt kts=kotlin;cs=c_sharp;rb rake gemspec=ruby;php=php;swift=swift;" +
  "scala sc=scala;sh bash=bash;lua=lua;ex exs=elixir;hs=haskell;zig=zig;dart=dart;tf hcl=hcl;css=css";

const BY_EXTENSION: ReadonlyMap<string, string> = new Map(
  EXTENSIONS.split(";").flatMap((entry) => {
    const [extensions = "", grammar = ""] = entry.split("=");
    return extensions.split(" ").map((extension) => [extension, grammar] as const);
  }),
);

const CPP_ONLY = /^[ \t]*(?:class|namespace|template|public:|private:|using)\b/m;

/** The grammar for a file, by its extension and, for headers, its text. */
export function grammarFor(extension: string, text: string): Grammar | undefined {
  const name = BY_EXTENSION.get(extension);
  if (!name) return undefined;
  return GRAMMARS[extension === "h" && !CPP_ONLY.test(text) ? "c" : name];
}
