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
import { WaymarkError } from "../errors.ts";
import type { Region, SourceFile } from "../types.ts";
import { collect, type Declaration, LONG_FUNCTION } from "./collect.ts";
import { grammarFor } from "./grammar_for.ts";
import type { Grammar } from "./grammars.ts";
import { type GrammarSource, isHazard, languageFrom, loadEngine, loadLanguage } from "./load.ts";
import { hasScripts, scriptsOnly } from "./scripts.ts";

/** Larger files are left to the scanner, in UTF-16 code units. */
const MAX_SIZE = 2_000_000;
/** So are files with a longer line: minified or generated. */
const MAX_LINE = 20_000;
/** And files that take longer to parse, in milliseconds. */
const MAX_PARSE_MS = 500;
/** The first parse of a language also compiles its grammar, which is no fault of the file. */
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

/** What {@linkcode createParse} works with. */
export interface ParseOptions {
  /** Grammars of the host's. Default: those of the package alone. */
  readonly source?: GrammarSource | undefined;
  /** Longest time to parse a file, in milliseconds. Default 500, and 2,000 for the first file of a language. */
  readonly maxParseMs?: number;
  /** Grammars better not loaded here. Default: {@linkcode isHazard}. */
  readonly avoid?: (grammar: string) => boolean;
}

/** Languages that were parsed with once in this process. */
const warm = new Set<string>();

/** Makes the parser of one outline. */
export function createParse({ source, maxParseMs, avoid = isHazard }: ParseOptions = {}): Parse {
  const own = new Map<string, Promise<Language | undefined>>();
  const slow = new Set<string>();

  const load = async (grammar: string): Promise<Language | undefined> => {
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
    if (!grammar || slow.has(hash) || !isParsable(text) || avoid(grammar.grammar)) return undefined;
    const language = await load(grammar.grammar);
    if (!language) return undefined;
    const code = hasScripts(extension) ? scriptsOnly(text, extension) : text;
    const budget = maxParseMs ?? (warm.has(grammar.grammar) ? MAX_PARSE_MS : MAX_FIRST_PARSE_MS);
    const tree = await parseWithin(language, { code, budget, path: file.path, signal });
    warm.add(grammar.grammar);
    if (!tree) {
      if (slow.size >= MAX_SLOW) slow.clear();
      slow.add(hash);
      return undefined;
    }
    try {
      return { ...read(tree, { file, extension, code, grammar }), damaged: tree.rootNode.hasError };
    } finally {
      tree.delete();
    }
  };
}

/** The declarations of a tree, and where it cannot tell them what the scanner says. */
function read(
  tree: Tree,
  { file, extension, code, grammar }: { file: SourceFile; extension: string; code: string; grammar: Grammar },
): Pick<Parsed, "declarations"> {
  const declarations = collect(tree.rootNode, grammar, code, { isHeader: /^h/.test(extension) });
  const damaged = tree.rootNode.hasError, isMixed = hasScripts(extension);
  const scanned = damaged || isMixed ? scan(file.text, extension) : [];
  const wanted = scanned.filter(({ kind }) => damaged || (isMixed && kind === "other"));
  return { declarations: within([...declarations, ...missing(wanted, declarations)], file.lines) };
}

/** Whether a text is one to parse: not huge, not minified, and with lines that end in LF. */
function isParsable(text: string): boolean {
  if (text.length > MAX_SIZE || !text.includes("\n")) return false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    if ((end < 0 ? text.length : end) - at > MAX_LINE) return false;
    if (end < 0) break;
    at = end + 1;
  }
  return true;
}

/** The tree; `undefined` where it takes too long. Between two slices other work has its turn. */
async function parseWithin(
  language: Language,
  { code, budget, path, signal }: { code: string; budget: number; path: string; signal: AbortSignal | undefined },
): Promise<Tree | undefined> {
  const parser = new (await loadEngine())!.Parser();
  try {
    parser.setLanguage(language);
    for (let spent = 0; spent < budget;) {
      if (signal?.aborted) {
        throw new WaymarkError("aborted", `Cannot outline ${path}: the caller gave up`, { cause: signal.reason });
      }
      const start = performance.now(), slice = Math.min(SLICE_MS, budget - spent);
      const tree = parser.parse(code, null, { progressCallback: () => performance.now() - start > slice });
      if (tree) return tree;
      spent += performance.now() - start;
      await new Promise((resolve) => setTimeout(resolve));
    }
    return undefined;
  } finally {
    parser.delete();
  }
}

/** What the scanner found and the tree has not: by name, across nothing's edge, and not inside a function that is short. */
function missing(found: readonly Region[], declarations: readonly Declaration[]): Declaration[] {
  const names = new Set(declarations.map(({ name }) => name)), starts = new Set(declarations.map(({ line }) => line));
  return found.filter((region) =>
    !names.has(region.name) && !starts.has(region.start) && declarations.every(({ start, end, kind }) => {
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
