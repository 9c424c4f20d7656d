/**
 * A file's declarations by tree-sitter, within bounds of size and time; between two slices of parsing other work goes on.
 *
 * Promised: the whole file is parsed, never a window of it; trees and parsers are freed whatever happens; reading a tree is
 * sliced, too. `undefined` means "not by this parser": the caller has the line scanner for that.
 *
 * @module
 */

import type { Language, Tree } from "web-tree-sitter";
import { scan } from "../summary/scan.ts";
import { extensionOf } from "../summary/outline_rules.ts";
import { WaymarkError } from "../errors.ts";
import type { SourceFile } from "../types.ts";
import { inTurns } from "../waiting.ts";
import { collect, type Declaration } from "./collect.ts";
import { grammarFor } from "./grammar_for.ts";
import type { Grammar } from "./grammars.ts";
import { distrustEngine, type GrammarSource, isHazard, languageFrom, loadEngine, loadLanguage } from "./load.ts";
import { missing } from "./missing.ts";
import { plainNames } from "./plain_names.ts";
import { hasScripts, scriptsOnly } from "./scripts.ts";

/** Larger files are left to the scanner, in UTF-16 code units. */
const MAX_SIZE = 2_000_000;
/** So are files with a longer line: minified or generated. */
const MAX_LINE = 20_000;
/** And files with more brackets open at once: the engine's stack has no room for them, or its memory, and it does not notice. */
const MAX_OPEN = 1000;
/** And files that take longer to parse, in milliseconds. */
const MAX_PARSE_MS = 500;
/** The first parse of a language also compiles its grammar, which is no fault of the file. */
const MAX_FIRST_PARSE_MS = 2000;
/** And files whose tree takes longer to read: to look up what a node lies in takes the longer, the deeper it lies. */
const MAX_READ_MS = 4000;
/** So long is parsed or read before other work has its turn. */
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
    if (!await loadEngine()) return undefined;
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
    try {
      const tree = await parseWithin(language, { code, budget, path: file.path, signal });
      warm.add(grammar.grammar);
      try {
        const parsed = tree && await read(tree, { file, extension, code, grammar, signal });
        if (parsed) return parsed;
      } finally {
        tree?.delete();
      }
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
      distrustEngine();
    }
    if (slow.size >= MAX_SLOW) slow.clear();
    slow.add(hash);
    return undefined;
  };
}

/** What a tree is read with. */
interface Reading {
  readonly file: SourceFile;
  readonly extension: string;
  readonly code: string;
  readonly grammar: Grammar;
  readonly signal: AbortSignal | undefined;
}

/** The declarations of a tree, and where it cannot tell them what the scanner says; `undefined` where it takes too long. */
async function read(tree: Tree, { file, extension, code, grammar, signal }: Reading): Promise<Parsed | undefined> {
  const work = collect(tree.rootNode, grammar, code, { isHeader: /^h/.test(extension) });
  const declarations = await inSlices((isOver) => {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      if (isOver()) return undefined;
    }
  }, { budget: MAX_READ_MS, path: file.path, signal });
  if (!declarations) return undefined;
  const damaged = tree.rootNode.hasError, isMixed = hasScripts(extension);
  const scanned = damaged || isMixed ? await inTurns(scan(file.text, extension), signal) : [];
  const wanted = scanned.filter(({ kind }) => damaged || (isMixed && kind === "other"));
  return { declarations: within([...declarations, ...missing(wanted, declarations)], file.lines), damaged };
}

/** Whether a text is one to parse: not huge, not minified, not too deep, and with lines that end in LF. */
function isParsable(text: string): boolean {
  if (text.length > MAX_SIZE || !text.includes("\n") || isDeep(text)) return false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    if ((end < 0 ? text.length : end) - at > MAX_LINE) return false;
    if (end < 0) break;
    at = end + 1;
  }
  return true;
}

/** Whether too much is open at once, type arguments of one statement among it. */
function isDeep(text: string): boolean {
  let open = 0, angles = 0;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at]!;
    if (";={}".includes(mark)) angles = 0;
    if ("([{".includes(mark)) open++;
    else if (")]}".includes(mark)) open = Math.max(0, open - 1);
    else if (mark === "<") angles += text[at + 1] === mark || text[at - 1] === mark ? 0 : 1; // a shift opens nothing
    else if (mark === ">") angles = Math.max(0, angles - 1);
    if (open + angles > MAX_OPEN) return true;
  }
  return false;
}

/** The tree; `undefined` where it takes too long. */
async function parseWithin(
  language: Language,
  { code, ...limits }: { code: string; budget: number; path: string; signal: AbortSignal | undefined },
): Promise<Tree | undefined> {
  const engine = await loadEngine();
  if (!engine) return undefined; // another file broke it meanwhile
  const parser = new engine.Parser();
  try {
    parser.setLanguage(language);
    let text = plainNames(code), until = Infinity, isLate = false;
    // A grammar may go over the rest of a text for each of its words, and nobody is asked meanwhile whether to go on: it is told
    // then that the text ends.
    const give = (index: number): string => {
      isLate ||= performance.now() > until;
      return isLate ? "" : text.slice(index);
    };
    const tree = await inSlices((progressCallback) => {
      until = performance.now() + limits.budget;
      return parser.parse(give, null, { progressCallback }) ?? undefined;
    }, limits);
    text = code; // from now on the nodes have the text of the file
    until = Infinity;
    if (!isLate) return tree;
    tree?.delete();
    return undefined;
  } finally {
    parser.delete();
  }
}

/** What some work gives that goes on, slice after slice, until it gives something; between two other work has its turn. */
async function inSlices<T>(
  work: (isOver: () => boolean) => T | undefined,
  { budget, path, signal }: { budget: number; path: string; signal: AbortSignal | undefined },
): Promise<T | undefined> {
  for (let spent = 0; spent < budget;) {
    if (signal?.aborted) {
      throw new WaymarkError("aborted", `Cannot outline ${path}: the caller gave up`, { cause: signal.reason });
    }
    const start = performance.now(), slice = Math.min(SLICE_MS, budget - spent);
    const found = work(() => performance.now() - start > slice);
    if (found) return found;
    spent += performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve));
  }
  return undefined;
}

/** Only what lies in the file. */
function within(declarations: readonly Declaration[], lines: number): Declaration[] {
  return declarations.filter(({ start }) => start <= lines).map((declaration) => ({
    ...declaration,
    end: Math.min(declaration.end, lines),
  }));
}
