/**
 * How the line scanner tells the lines of each kind of file: comments, text over several lines, and what begins a region
 * where that is no code. Pure.
 *
 * @module
 */

import type { RegionKind } from "../types.ts";
import { codeReader, type Found, named, type ReadLine, type Scope } from "./code_rules.ts";

/** What tells the lines of one kind of file. */
export interface Style {
  /** Lines that are comments. */
  readonly comment: RegExp;
  /** Lines no further in that go on with a region. */
  readonly goesOn: RegExp;
  /** Labels: lines that stand further out than they belong. */
  readonly label: RegExp;
  /** How far a line is indented. */
  indent(raw: string, line: string): number;
  /** What ends the text over lines that begins here, and whether it is a string. */
  opens(line: string, isComment: boolean): [until: string, string: boolean];
  /** Reads one trimmed line. */
  readonly read: ReadLine;
  /** Whether what begins on this line ends on it. */
  closes(line: string, found: Found): boolean;
  /** Regions of one name in a row are one. */
  readonly merges: boolean;
  /** Lines that begin with the name of a region are part of it. */
  readonly clauses: boolean;
}

/** The name is what the groups caught; {@linkcode named}. */
type Pattern = readonly [pattern: RegExp, kind: RegionKind];

const PATTERNS = new Map<string, readonly Pattern[]>(Object.entries({
  sh: [[/^(?:function\s+)?([\w:.-]+)\s*\(\s*\)/, "function"], [/^function\s+([^\s(){};]+)/, "function"]],
  css: [[/^(@[\w-]+[^{;]*?)\s*\{/, "other"], [/^([^{}@;"']+?)\s*\{(?:[^{}]*\})?$/, "other"]],
  json: [[/^"([^"\\]{1,100})"\s*:/, "config"]],
  yaml: [[/^["']?([\w./$ -]{1,100}?)["']?:(?: |$)/, "config"]],
  toml: [[/^\[\[?([^\]"=]{1,100})\]/, "config"]],
  hcl: [[/^([\w-]+)(?: "([\w.-]*)")?(?: "([\w.-]*)")? ?\{/, "config"]],
  md: [[/^#{1,6}\s+(.{1,120})/, "other"]],
  html: [[
    /^<(script|style|template|head|body|main|header|footer|nav|section|article|aside|form|table)\b(?: id="([\w-]+)")?/,
    "other",
  ]],
  hs: [
    [/^(?:data|newtype|type)(?: family| instance)? (?:\(.*?\) => )?([\w']+)/, "type"],
    [/^class (?:.*=> )?([\w']+)/, "interface"],
    [/^(instance .{1,80}?)(?: where|$)/, "other"],
    [/^((?![A-Z\d])[\w']+|\([^)]+\))\s*::/, "function"],
  ],
  clj: [[/^\((?:def[\w-]*|ns)\s+(?:\^\S+\s+)?([^\s()[\]"]+)/, "function"]],
  sql: [
    [
      /^create\s+(?:[\w]+\s+){0,4}?(?:function|procedure|trigger)\s+(?:if\s+not\s+exists\s+)?([\w."`[\]]+)/i,
      "function",
    ],
    [
      /^create\s+(?:[\w]+\s+){0,4}?(?:table|view|index|type|schema)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?([\w."`[\]]+)/i,
      "type",
    ],
  ],
}));

const HASH = /^#/, DASH = /^--/, NEVER = /^\b$/;
const SLASH = /^(?:\/\/|\/\*|\*(?:\s|\/|$))/, SLASH_HASH = /^(?:\/\/|\/\*|\*(?:\s|\/|$)|#)/;

const CODE_GOES_ON =
  /^(?:[\])}>{:.|?]|&&|[-=]>|(?:end|fi|esac|done|else|elsif|elif|catch|finally|rescue|ensure|except|where|throws|implements|extends|with)\b)/;
const GOES_ON = new Map([["css", /^[})]/], ["json", /^[\]}]/], ["yaml", /^-\s/], ["md", NEVER], ["toml", NEVER], [
  "sql",
  /^[)]/,
]]);

const FAMILIES = wordMap({
  sh: "bash zsh ksh",
  css: "scss less sass",
  yaml: "yml",
  toml: "ini cfg",
  hcl: "tf",
  md: "markdown mdx",
  html: "htm vue svelte astro",
  hs: "lhs",
  clj: "cljs lisp",
  json: "jsonc json5",
});
const COMMENTS = new Map<string, RegExp>([["md", NEVER], ["html", /^<!--/], ["clj", /^;/], ["toml", /^[#;]/]]);
for (const extension of "py pyi rb sh yaml ex exs pl pm r jl hcl nim ps1 graphql".split(" ")) {
  COMMENTS.set(extension, HASH);
}
for (const extension of "lua sql hs elm".split(" ")) COMMENTS.set(extension, DASH);
for (const extension of "ts mts cts tsx js mjs cjs jsx css json".split(" ")) COMMENTS.set(extension, SLASH);

/** Text in which words declare nothing. */
const PROSE = new Set(["", "txt", "text", "log", "rst", "adoc", "org", "tex", "csv", "tsv"]);
const TRIPLE = /^(?:pyi?|exs?|kts?|scala|sc|java|swift|groovy|gradle|jl|toml)$/;
const TEMPLATE = /^(?:[mc]?[jt]sx?|vue|svelte|astro|go)$/;
const HEREDOCS = new Map([
  ["sh", /<<-?\s*\\?(["']?)([A-Za-z_]\w*)\1/],
  ["rb", /<<[-~]?(["'`]?)([A-Z_]\w*)\1/],
  ["php", /<<<\s*(["']?)([A-Za-z_]\w*)\1/],
]);
const STRINGS = /"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$)/g;
/** Starts of SQL statements that end the one before. */
const STATEMENT = /^(?:create|alter|drop|grant|revoke|comment\s+on|commit|rollback|delimiter|go)\b/i;

const styles = new Map<string, Style>();

/** The rules for an extension; unknown ones are code. */
export function styleOf(extension: string): Style {
  const known = styles.get(extension), style = known ?? makeStyle(extension);
  if (!known) styles.set(extension, style);
  return style;
}

function makeStyle(extension: string): Style {
  const family = FAMILIES.get(extension) ?? extension, comment = COMMENTS.get(family) ?? SLASH_HASH;
  const patterns = PATTERNS.get(family)?.map(([pattern, kind]) => [named(pattern), kind] as const),
    isCode = family === "html" || !(patterns || PROSE.has(extension));
  const code = isCode ? codeReader(extension) : undefined;
  const maxDepth = family === "json" || family === "yaml" ? 2 : Infinity;
  return {
    comment,
    goesOn: GOES_ON.get(family) ?? CODE_GOES_ON,
    label: comment === SLASH_HASH ? /^(?:\w+|public \w+|case .*)\s*:$/ : NEVER,
    indent: (raw, line) => {
      if (family === "md") return /^#{1,6}\s/.test(line) ? line.indexOf(" ") : 9;
      if (family === "sql") return STATEMENT.test(line) ? 0 : 1;
      if (family === "toml") return line.startsWith("[") ? 0 : 1;
      return widthOf(raw);
    },
    opens: (line, isComment) => opens(line, { extension, family, comment, isComment }),
    read: (line, scope) => {
      const found = patterns && scope.depth < maxDepth ? readPatterns(line, patterns, scope) : undefined;
      if (found && family === "html" && !line.includes(`</${found.name.split(" ")[0]}`)) {
        return { ...found, closer: `</${found.name.split(" ")[0]}` };
      }
      return found && family === "css" ? { ...found, offset: firstSelector(scope) } : found ?? code?.(line, scope);
    },
    closes: (line, { kind }) => family === "sql" && kind === "type" && line.endsWith(";"),
    clauses: family === "hs",
    merges: TEMPLATE.test(extension) || /^(?:exs?|hs)$/.test(family),
  };
}

function readPatterns(line: string, patterns: readonly Pattern[], { depth }: Scope): Found | undefined {
  for (const [pattern, kind] of patterns) {
    const name = pattern.exec(line)?.slice(1).filter(Boolean).join(" ");
    if (name) return { kind, name, atLeast: depth && kind === "config" ? 3 : 1 };
  }
  return undefined;
}

/** Where the selectors of a rule begin. */
function firstSelector({ peek }: Scope): number {
  let offset = 0;
  while (offset > -20 && peek(offset - 1).endsWith(",")) offset--;
  return offset;
}

function widthOf(raw: string): number {
  let width = 0;
  for (let at = 0; at < raw.length; at++) {
    if (raw[at] === "\t") width += 4;
    else if (raw[at] === " ") width++;
    else if (raw[at] !== "\ufeff") break;
  }
  return width;
}

/** What ends the text that begins on this line and goes on. */
function opens(
  line: string,
  { extension, family, comment, isComment }: { extension: string; family: string; comment: RegExp; isComment: boolean },
): [until: string, string: boolean] {
  const isOdd = (mark: string): boolean => line.includes(mark) && line.split(mark).length % 2 === 0;
  if (family === "md") return [/^(?:```|~~~)/.exec(line)?.[0] ?? "", false];
  if (TRIPLE.test(extension)) {
    for (const mark of ['"""', "'''"]) if (isOdd(mark)) return [mark, true];
  }
  const hasBlocks = comment === SLASH || comment === SLASH_HASH || family === "sql" || family === "html";
  if (hasBlocks && line.includes("/*") && !line.startsWith("//")) {
    const code = isComment ? line : line.replace(STRINGS, "").replace(/\/\/.*/, "");
    if (isOpen(code, "/*", "*/")) return ["*/", false];
  }
  if (family === "html" && isOpen(line, "<!--", "-->")) return ["-->", false];
  if (family === "lua" && isOpen(line, "[[", "]]")) return ["]]", !isComment];
  if (family === "hs" && isOpen(line, "{-", "-}")) return ["-}", false];
  if (isComment) return ["", false];
  if (TEMPLATE.test(extension) && line.includes("`")) {
    return [line.replace(STRINGS, "").replaceAll("\\`", "").split("`").length % 2 ? "" : "`", true];
  }
  if (family === "sql" && isOdd("$$")) return ["$$", true];
  if (family === "rb" && line === "=begin") return ["=end", false];
  return [HEREDOCS.get(family)?.exec(line)?.[2] ?? "", true];
}

function isOpen(text: string, open: string, end: string): boolean {
  const at = text.lastIndexOf(open);
  return at >= 0 && text.indexOf(end, at + open.length) < 0;
}

/** Whether a line ends such text: a word at its start, others anywhere. */
export function ends(line: string, until: string): boolean {
  return /^[A-Za-z_]/.test(until) ? line.startsWith(until) : line.includes(until);
}

function wordMap(lists: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(lists).flatMap(([value, words]) => words.split(" ").map((word) => [word, value] as const)),
  );
}
