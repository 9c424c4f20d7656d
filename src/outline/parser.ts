/**
 * A file's declarations by tree-sitter, within bounds of size and time; between two slices of parsing other work goes on.
 *
 * Promised: the whole file is parsed, never a window of it; trees and parsers are freed whatever happens. `undefined` means
 * "not by this parser": the caller has the line scanner for that.
 *
 * @module
 */

import type { Language, Tree } from "web-tree-sitter";
import { scan } from "../summary/scan.ts";
import { extensionOf } from "../summary/outline_rules.ts";
import type { Region, SourceFile } from "../types.ts";
import { collect, type Declaration, LONG_FUNCTION } from "./collect.ts";
import { type Grammar, grammarFor } from "./grammars.ts";
import { type GrammarSource, isHazard, languageFrom, loadEngine, loadLanguage } from "./load.ts";
import { hasScripts, scriptsOnly } from "./scripts.ts";

/** Larger files are left to the scanner, in UTF-16 code units. */
const MAX_SIZE = 2_000_000;
/** So are files with a longer line: minified or generated. */
const MAX_LINE = 20_000;
/** And files that take longer to parse, in milliseconds. */
const MAX_PARSE_MS = 500;
/** The first parse of a language also compiles its grammar, which is not the file's fault. */
const MAX_FIRST_PARSE_MS = 2000;
/** So long is parsed before other work has its turn. */
const SLICE_MS = 50;
/** Most files remembered as too slow. */
const MAX_SLOW = 1000;

/** What was found in a file. */
export interface Parsed {
  readonly declarations: Declaration[];
  /** Parts of the text could not be parsed; names the scanner found there are among the declarations. */
  readonly damaged: boolean;
}

/** Parses files. */
export type Parse = (file: SourceFile, signal?: AbortSignal) => Promise<Parsed | undefined>;

/** Languages that were parsed with once in this process. */
const warm = new Set<string>();

/** Makes the parser of one outline. */
export function createParse(source?: GrammarSource): Parse {
  const own = new Map<string, Promise<Language | undefined>>();
  const slow = new Set<string>();

  const language = async (grammar: string): Promise<Language | undefined> => {
    if (source) {
      const loading = own.get(grammar) ?? languageFrom(source, grammar).catch(() => undefined);
      own.set(grammar, loading);
      const found = await loading;
      if (found) return found;
    }
    return await loadLanguage(grammar);
  };

  return async (file, signal) => {
    const { text, hash } = file, extension = extensionOf(file.path, text), grammar = grammarFor(extension, text);
    if (!grammar || slow.has(hash) || !isParsable(text) || isHazard(grammar.grammar)) return undefined;
    const loaded = await language(grammar.grammar);
    const code = hasScripts(extension) ? scriptsOnly(text, extension) : text;
    const tree = loaded && await parseWithin(loaded, { code, grammar, signal });
    if (tree === null) {
      if (slow.size >= MAX_SLOW) slow.clear();
      slow.add(hash);
    }
    if (!tree) return undefined;
    try {
      const declarations = collect(tree.rootNode, grammar, code, { isHeader: /^h/.test(extension) });
      const damaged = tree.rootNode.hasError;
      const more = hasScripts(extension) || damaged ? scan(text, extension) : [];
      const wanted = more.filter((region) => hasScripts(extension) && region.kind === "other" ? true : damaged);
      return { declarations: within([...declarations, ...missing(wanted, declarations)], file.lines), damaged };
    } finally {
      tree.delete();
    }
  };
}

/** Whether a text is one to parse: not huge, not minified, and with lines that end as the parser counts them. */
function isParsable(text: string): boolean {
  if (text.length > MAX_SIZE || /\r(?!\n)/.test(text)) return false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    if ((end < 0 ? text.length : end) - at > MAX_LINE) return false;
    if (end < 0) break;
    at = end + 1;
  }
  return true;
}

interface ParseOptions {
  readonly code: string;
  readonly grammar: Grammar;
  readonly signal: AbortSignal | undefined;
}

/** The tree; `null` where it takes too long, `undefined` where the engine will not have it. */
async function parseWithin(
  language: Language,
  { code, grammar, signal }: ParseOptions,
): Promise<Tree | null | undefined> {
  const engine = await loadEngine();
  if (!engine) return undefined;
  const budget = warm.has(grammar.grammar) ? MAX_PARSE_MS : MAX_FIRST_PARSE_MS;
  const parser = new engine.Parser();
  try {
    parser.setLanguage(language);
    for (let spent = 0; spent < budget;) {
      signal?.throwIfAborted();
      const start = performance.now(), slice = Math.min(SLICE_MS, budget - spent);
      const tree = parser.parse(code, null, { progressCallback: () => performance.now() - start > slice });
      warm.add(grammar.grammar);
      if (tree) return tree;
      spent += performance.now() - start;
      await new Promise((resolve) => setTimeout(resolve));
    }
    return null;
  } finally {
    parser.delete();
  }
}

/** What the scanner found and the tree has not: by name, across nothing's edge, and not inside a function that is short. */
function missing(found: readonly Region[], declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name));
  return found.filter((region) =>
    !names.has(region.name) && declarations.every(({ start, end, kind }) => {
      const isApart = region.end < start || region.start > end;
      const holds = region.start <= start && region.end >= end;
      const isHeld = start <= region.start && end >= region.end;
      const isShort = (kind === "function" || kind === "method") && end - start < LONG_FUNCTION;
      return isApart || holds || (isHeld && !isShort);
    })
  ).map((region) => ({ ...region, line: region.start }));
}

/** Only what lies in the file. */
function within(declarations: readonly Declaration[], lines: number): Declaration[] {
  return declarations.filter(({ start }) => start <= lines).map((declaration) => ({
    ...declaration,
    end: Math.min(declaration.end, lines),
  }));
}
