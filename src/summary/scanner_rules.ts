/**
 * How the line scanner tells the lines of each kind of file. Pure.
 *
 * @module
 */

import type { RegionKind } from "../types.ts";

/** Lines longer than this are data: never looked at. */
export const LONGEST = 2000;

/** A line that begins a region. */
export interface Found {
  readonly kind: RegionKind;
  /** Empty where only the closing line has it. */
  readonly name: string;
  /** Listed only where it has so many lines. */
  readonly atLeast?: number;
  /** Where it begins, counted from this line. */
  readonly offset?: number;
}

/** What a line is read with. */
export interface Scope {
  /** How far it is indented. */
  readonly indent: number;
  /** How many regions are open. */
  readonly depth: number;
  /** The innermost of them. */
  readonly parent: Found | undefined;
  /** The trimmed line so many lines away. */
  readonly peek: (distance: number) => string;
}

/** What tells the lines of one kind of file. Lines are trimmed but for `raw`. */
export interface Style {
  readonly comment: RegExp;
  /** Lines that stand as far out as what they are in: labels, access specifiers. */
  readonly label: RegExp;
  indent(raw: string, line: string): number;
  /** What ends the text over several lines that begins here, and whether it is a string; empty: none does. */
  opens(line: string, isComment: boolean): [until: string, string: boolean];
  ends(line: string, until: string): boolean;
  /** Whether a line can only be code, whatever seemed to be open. */
  resumes(raw: string): boolean;
  read(line: string, scope: Scope): Found | undefined;
  /** Whether what begins on this line ends on it. */
  closes(line: string, found: Found): boolean;
}

const KEYWORDS: Record<string, RegionKind> = {};
for (
  const [kind, words] of [
    ["class", "class struct record object actor union mixin contract library message module defmodule"],
    ["interface", "interface trait protocol service @interface @protocol defprotocol"],
    ["type", "enum type typealias newtype"],
    ["function", "function func fn fun def defp defmacro defmacrop sub proc macro rpc macro_rules!"],
    ["other", "namespace impl extension mod defimpl @implementation"],
  ] as const
) for (const word of words.split(" ")) KEYWORDS[word] = kind;

const NAME = "[\\w$\\u0080-\\uffff]+";
const MODIFIER = "(?:export|default|declare|public|private|protected|internal|fileprivate|open|final|abstract|static|" +
  'sealed|data|inline|value|override|async|unsafe|pub(?:\\([\\w :]+\\))?|extern(?: "C")?|constexpr|virtual|partial|' +
  "readonly|implicit|lazy|local|indirect|case|suspend|operator|infix|tailrec|companion|annotation|inner|expect|actual|" +
  "mutating|nonisolated|const|typedef|template ?<[^<>]*>|@[\\w.]+(?:\\([^()]*\\))?)\\s+";
const DECLARATION = new RegExp(
  `^((?:${MODIFIER}){0,8})(${
    Object.keys(KEYWORDS).join("|")
  })(?![\\w.:(])\\s*(?:(?:class|struct|interface)\\b\\s*)?\\*?\\s*` +
    `(?:\\(\\s*(?:${NAME}\\s+)?\\*?(${NAME})[^()]*\\)\\s*)?(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>\\s*)?` +
    `((?:${NAME}(?:<[^<>]*>)?\\??(?:\\.|::|:(?=\\w+\\s*\\()))*~?${NAME}(?:[?!]|=(?=\\())?)?(.*)`,
);
const ASSIGNED = new RegExp(
  `^(?:export\\s+)?(?:(?:const|let|var|local)\\s+|(?:module\\.)?exports\\.|)(${NAME}(?:\\.${NAME})*)(?:\\s*:[^=]*)?` +
    `\\s*(?:=|<-|:)\\s*(?:async\\s*)?(?:function\\b|(?:\\([^()]*\\)|${NAME})\\s*(?::[^=]*)?=>|\\($)`,
);
const CONSTANT = new RegExp(
  `^(export |pub |public |static |final |private |val |let |var |const |local )*(?:${NAME}[ *&]+){0,4}(${NAME})(?:\\[\\w*\\])*` +
    `\\s*(?::[^=]{0,80})?=(?:.{0,200}[[({\`,=|]$)?`,
);
const TEST =
  /^(?:describe|context|suite|it|test|specify|Deno\.test|feature|scenario)(?:\.\w+)*[ (]\(?\s*(["'`])(.{1,160}?)\1/;
const CONTROL =
  /^(?:if|else|for|foreach|while|switch|return|catch|do|throw|new|delete|case|await|yield|using|lock|assert|in|not|and|or|typeof|sizeof|goto)\b/;
const TYPES = /^[\w\s:<>,~*&[\]?.@$#]*$/;

const C_LIKE = "c h cc cpp cxx hpp hh hxx m mm java cs dart glsl groovy";
const WITH_MEMBERS = "ts mts cts tsx js mjs cjs jsx vue svelte astro html htm swift kt";

/** Reads a line of most languages. */
function readCode(extension: string): Style["read"] {
  const isC = C_LIKE.split(" ").includes(extension), isHeader = /^h/.test(extension);
  const hasMembers = isC || WITH_MEMBERS.split(" ").includes(extension);
  return (line, scope) => {
    const { parent, indent } = scope;
    const inClass = parent !== undefined &&
      (parent.kind === "class" || parent.kind === "interface" || /^(?:impl|extension) /.test(parent.name));
    const inFunction = parent?.kind === "function" || parent?.kind === "method";
    const [, modifiers = "", keyword = "", receiver, name, rest = ""] = DECLARATION.exec(line) ?? [];
    let kind = KEYWORDS[keyword];
    if (kind && (!isC || !/^(?:class|struct|union|enum)$/.test(keyword) || /^[^;=()]*(?:\{.*)?$/.test(rest))) {
      if (kind === "other") return { kind, name: /^(?:::|[^{=;"':])*/.exec(line.slice(modifiers.length))![0].trim() };
      if (kind === "function" && !name) return modifiers.includes("default") ? { kind, name: "default" } : undefined;
      if (kind === "type") {
        kind = /^\s+struct\b/.test(rest) ? "class" : /^\s+interface\b/.test(rest) ? "interface" : kind;
      }
      if (/^typedef/.test(modifiers)) return { kind, name: "" };
      if (name && receiver) return { kind: "method", name: `${receiver}.${name}` };
      if (name) return { kind: inClass && kind === "function" ? "method" : kind, name };
      return keyword === "object" ? { kind, name: "companion object" } : undefined;
    }
    const title = TEST.exec(line)?.[2];
    if (title) return { kind: "test", name: title };
    const assigned = ASSIGNED.exec(line)?.[1];
    if (assigned && !CONTROL.test(line)) {
      return { kind: inClass ? "method" : "function", name: assigned, atLeast: indent ? 3 : 1 };
    }
    if (hasMembers && !inFunction) {
      const callable = readCallable(line, scope, { isC, isHeader, inClass });
      if (callable) return callable;
    }
    const constant = indent === 0 && !CONTROL.test(line) && CONSTANT.exec(line);
    if (constant) return { kind: "constant", name: constant[2]!, atLeast: constant[1] === "export " ? 1 : 3 };
    const container = new RegExp(
      `^(?:pub )?(?:const )?(${NAME})(?: =| )(?: extern| packed)? ?(struct|enum|union|interface)\\b.*\\{$`,
    ).exec(line);
    return container ? { kind: container[2] === "interface" ? "interface" : "class", name: container[1]! } : undefined;
  };
}

/** Reads a function without a keyword: a type, a name and parameters, or in a class a name and parameters. */
function readCallable(
  line: string,
  { parent, indent, peek }: Scope,
  { isC, isHeader, inClass }: { isC: boolean; isHeader: boolean; inClass: boolean },
): Found | undefined {
  const head = line.slice(0, Math.max(0, line.indexOf("("))).replace(/<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*$/, "").trimEnd();
  let from = head.length;
  while (from > 0 && /[\w~$:.#\u0080-\uffff]/.test(head[from - 1]!)) from--;
  const name = head.slice(from), before = head.slice(0, from).trimEnd();
  if (!name || CONTROL.test(line) || CONTROL.test(name) || !TYPES.test(before)) return undefined;
  let offset = 0;
  if (!before) {
    const previous = peek(-1);
    const isConstructor = inClass && (!isC || name === parent!.name || name === `~${parent!.name}`);
    const isSplit = isC && !inClass && indent === 0 && /^[\w\s*&:<>,]*[\w*&>]$/.test(previous) &&
      !CONTROL.test(previous);
    if (isC && !inClass && /^[A-Z][A-Z\d_]+$/.test(name) && (line.endsWith("{") || peek(1) === "{")) {
      return { kind: /^TEST/.test(name) ? "test" : "function", name: line.replace(/\s*\{$/, "") };
    }
    if (!isConstructor && !isSplit) return undefined;
    if (isSplit) offset = -1;
  } else if (
    !isC &&
    !/^(?:(?:public|private|protected|static|async|get|set|override|readonly|abstract|required|convenience|\*|@\w+)\s*)+$/
      .test(before)
  ) {
    return undefined;
  }
  for (let distance = 0; distance < 16; distance++) {
    const here = peek(distance), brace = here.search(/\{|=>/);
    if (brace >= 0 && !/;\s*$/.test(here.slice(0, brace))) break;
    const isPrototype = here.endsWith(";") || !here;
    if (isPrototype && !(inClass || isHeader)) return undefined;
    if (isPrototype) break;
    if (distance === 15 || (distance > 0 && here.startsWith("}"))) return undefined;
  }
  return { kind: inClass || /::/.test(name) ? "method" : "function", name, offset };
}

/** Rules of files that are not code: a pattern whose first group is the name, and the kind it makes. */
type Pattern = readonly [pattern: RegExp, kind: RegionKind, atLeast?: number];

function readPatterns(patterns: readonly Pattern[], maxDepth = Infinity): Style["read"] {
  return (line, { depth, indent }) => {
    if (depth >= maxDepth) return undefined;
    for (const [pattern, kind, atLeast = 1] of patterns) {
      const match = pattern.exec(line);
      if (match) {
        return {
          kind,
          name: match.slice(1).filter(Boolean).join(" ") || line,
          atLeast: indent ? Math.max(3, atLeast) : atLeast,
        };
      }
    }
    return undefined;
  };
}

const PATTERNS: Readonly<Record<string, readonly Pattern[]>> = {
  sh: [[/^(?:function\s+)?([\w:.-]+)\s*\(\s*\)/, "function"], [/^function\s+([\w:.-]+)/, "function"]],
  css: [[/^(@[\w-]+[^{;]*?)\s*\{/, "other"], [/^([^{}@;"']+?)\s*\{/, "other"], [/^([.#][\w-]+,)$/, "other"]],
  json: [[/^"([^"\\]{1,100})"\s*:/, "config"]],
  yaml: [[/^["']?([\w./$ -]{1,100}?)["']?:(?: |$)/, "config"]],
  toml: [[/^\[\[?([^\]"=]{1,100})\]/, "config"]],
  hcl: [[/^([\w-]+)(?: "([\w.-]*)")?(?: "([\w.-]*)")? ?\{/, "config"]],
  md: [[/^#{1,6}\s+(.{1,120})/, "other"]],
  html: [[
    /^<((?:script|style|template|head|body|main|header|footer|nav|section|article|aside|form|table)\b(?: id="[\w-]+")?)/,
    "other",
    2,
  ]],
  hs: [
    [/^(?:data|newtype|type)(?: family| instance)? (?:\(.*?\) => )?(\w+)/, "type"],
    [/^class (?:.*=> )?(\w+)/, "interface"],
    [/^instance (.{1,80}?)(?: where|$)/, "other"],
    [/^([a-z_][\w']*|\([^)]+\))\s*::/, "function"],
  ],
  clj: [[/^\((?:def[\w-]*|ns)\s+(?:\^\S+\s+)?([^\s()\[\]"]+)/, "function"]],
  sql: [
    [
      /^create\s+(?:or\s+replace\s+)?(?:definer\s*=\s*\S+\s+)?(?:aggregate\s+)?(?:function|procedure|trigger|package(?:\s+body)?)\s+(?:if\s+not\s+exists\s+)?["`[]?([\w$."`[\]]+)/i,
      "function",
    ],
    [
      /^create\s+(?:or\s+replace\s+)?(?:\w+\s+){0,3}?(?:table|view|index|type|schema|sequence|domain)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?["`[]?([\w$."`[\]]+)/i,
      "type",
    ],
  ],
};

const FAMILIES: Readonly<Record<string, string>> = {
  bash: "sh",
  zsh: "sh",
  ksh: "sh",
  scss: "css",
  less: "css",
  sass: "css",
  yml: "yaml",
  ini: "toml",
  cfg: "toml",
  tf: "hcl",
  markdown: "md",
  mdx: "md",
  htm: "html",
  vue: "html",
  svelte: "html",
  astro: "html",
  lhs: "hs",
  cljs: "clj",
  lisp: "clj",
  jsonc: "json",
  json5: "json",
};

const NEVER = /^\b$/;
const SLASH = /^(?:\/\/|\/\*|\*(?:\s|\/|$))/, SLASH_HASH = /^(?:\/\/|\/\*|\*(?:\s|\/|$)|#)/, HASH = /^#/, DASH = /^--/;
const COMMENTS: Readonly<Record<string, RegExp>> = { md: NEVER, html: /^<!--/, clj: /^;/, toml: /^[#;]/ };
for (const extension of "py pyi rb sh yaml ex exs pl pm r jl hcl nim ps1 graphql".split(" ")) {
  (COMMENTS as Record<string, RegExp>)[extension] = HASH;
}
for (const extension of "lua sql hs elm ads adb".split(" ")) (COMMENTS as Record<string, RegExp>)[extension] = DASH;
for (const extension of "ts mts cts tsx js mjs cjs jsx css json".split(" ")) {
  (COMMENTS as Record<string, RegExp>)[extension] = SLASH;
}

const TRIPLE = /^(?:pyi?|exs?|kt|kts|scala|sc|java|swift|groovy|gradle|jl|toml)$/;
const HEREDOCS: Readonly<Record<string, RegExp>> = {
  sh: /<<-?\s*\\?(["']?)([A-Za-z_]\w*)\1/,
  rb: /<<[-~]?(["'`]?)([A-Z_]\w*)\1/,
  php: /<<<\s*(["']?)([A-Za-z_]\w*)\1/,
};
const CODE_START = /^(?:export|import|function|class|interface|type|const|async|describe|func|pub|fn)\b/;
const STRINGS = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g;
/** Starts of SQL statements that end the one before. */
const STATEMENT = /^(?:create|alter|drop|grant|revoke|comment\s+on|commit|rollback|delimiter|go)\b/i;

const styles = new Map<string, Style>();

/** The rules for an extension; those of code in general where it is unknown. */
export function styleOf(extension: string): Style {
  const known = styles.get(extension);
  if (known) return known;
  const family = FAMILIES[extension] ?? extension;
  const comment = COMMENTS[family] ?? SLASH_HASH;
  const patterns = PATTERNS[family], code = readCode(extension);
  const ofPatterns = patterns && readPatterns(patterns, family === "json" || family === "yaml" ? 2 : Infinity);
  const isDash = comment === DASH,
    isSlash = comment === SLASH || comment === SLASH_HASH || family === "sql" || family === "html";
  const style: Style = {
    comment,
    label: comment === SLASH_HASH ? /^(?:\w+|public \w+|case .*|default)\s*:$/ : NEVER,
    indent: (raw, line) => {
      if (family === "md") return /^#{1,6}\s/.test(line) ? line.indexOf(" ") : 9;
      if (family === "sql") return STATEMENT.test(line) ? 0 : 1;
      let width = 0;
      for (const character of raw) {
        if (character === "\t") width += 4;
        else if (character === " ") width++;
        else if (character !== "\ufeff") break;
      }
      return width;
    },
    opens: (line, isComment) => {
      const opener = (open: string, end: string, text = line): string => {
        const at = text.lastIndexOf(open);
        return at >= 0 && text.indexOf(end, at + open.length) < 0 ? end : "";
      };
      const odd = (mark: string): boolean => line.includes(mark) && line.split(mark).length % 2 === 0;
      if (TRIPLE.test(extension)) {
        for (const mark of ['"""', "'''"]) if (odd(mark)) return [mark, true];
      }
      if (family === "md") return [/^(?:```|~~~)/.exec(line)?.[0] ?? "", false];
      if (isSlash && line.includes("/*")) {
        const end = opener(
          "/*",
          "*/",
          isComment ? line.replace(/^\/\/.*/, "") : line.replace(STRINGS, "").replace(/\/\/.*/, ""),
        );
        if (end) return [end, false];
      }
      if (line.includes("<!--") && family === "html") return [opener("<!--", "-->"), false];
      if (isDash && family === "lua") return [opener("[[", "]]"), !isComment];
      if (isDash && family === "hs") return [opener("{-", "-}"), false];
      if (isComment) return ["", false];
      if (/^(?:[mc]?[jt]sx?|vue|svelte|astro|go)$/.test(extension) && line.includes("`")) {
        return [line.replace(STRINGS, "").replaceAll("\\`", "").split("`").length % 2 ? "" : "`", true];
      }
      const heredoc = HEREDOCS[family]?.exec(line)?.[2];
      return [
        heredoc || (family === "sql" && odd("$$") ? "$$" : extension === "rb" && line === "=begin" ? "=end" : ""),
        Boolean(heredoc),
      ];
    },
    ends: (line, until) => /^[A-Za-z_]/.test(until) ? line.startsWith(until) : line.includes(until),
    resumes: (raw) => CODE_START.test(raw),
    read: ofPatterns
      ? (line, scope) => ofPatterns(line, scope) ?? (family === "html" ? code(line, scope) : undefined)
      : code,
    closes: (line, { kind }) => (family === "sql" && kind === "type" && line.endsWith(";")),
  };
  styles.set(extension, style);
  return style;
}
