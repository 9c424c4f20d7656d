/**
 * How the line scanner reads a line of code: by its keyword, by what is assigned, and in languages that declare functions
 * without one by a name before parentheses. Pure.
 *
 * Patterns are tried on the start of one line only: none can take long.
 *
 * @module
 */

import type { RegionKind } from "../types.ts";

/** A line that begins a region. */
export interface Found {
  readonly kind: RegionKind;
  /** Empty where only the closing line has it. */
  readonly name: string;
  /** Listed only where it has so many lines. */
  readonly atLeast?: number;
  /** Where it begins, from this line. */
  readonly offset?: number;
  /** What the line starts with that ends it. */
  readonly closer?: string;
}

/** What a line is read with. */
export interface Scope {
  /** How far it is indented. */
  readonly indent: number;
  /** How many regions are open. */
  readonly depth: number;
  /** The innermost of them. */
  readonly parent: Found | undefined;
  /** The line is indented like its first. */
  readonly isMember: boolean;
  /** The trimmed line so many lines away. */
  readonly peek: (distance: number) => string;
}

/** Reads one trimmed line. */
export type ReadLine = (line: string, scope: Scope) => Found | undefined;

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

/** Characters of names, undecodable ones among them: the inside of a class, with the flag `u`. */
export const NAME_CHARACTERS = "\\p{IDC}\\p{N}\\p{M}\\p{So}\\p{EMod}$\\u200c\\u200d";

/** A pattern in whose classes `\w` stands for them. */
export function named({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replaceAll("\\w", NAME_CHARACTERS), `${flags}u`);
}

const NAME = "[\\w]+";
const MODIFIERS =
  "export|default|declare|public|private|protected|internal|fileprivate|open|final|abstract|static|sealed|" +
  "data|inline|value|override|async|unsafe|constexpr|virtual|partial|readonly|implicit|lazy|local|indirect|case|suspend|" +
  "operator|infix|tailrec|companion|annotation|inner|expect|actual|mutating|nonisolated|const|typedef|required|convenience|" +
  'pub(?:\\([\\w :]+\\))?|extern(?: "C")?|template ?<[^<>]*>|@[\\w.]+(?:\\([^()]*\\))?';
/** Modifiers, keyword, receiver, name, and what comes after. */
const DECLARATION = named(RegExp(
  `^((?:(?:${MODIFIERS})\\s+){0,8})(${
    Object.keys(KEYWORDS).join("|")
  })(?![\\w.:(])\\s*(?:(?:class|struct|interface)(?![\\w])\\s*)?` +
    `\\*?\\s*(?:\\(\\s*(?:${NAME}\\s+)?\\*?(${NAME})[^()]*\\)\\s*)?(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>\\s*)?` +
    `((?:${NAME}(?:<[^<>]*>)?\\??(?:\\.|::|:(?=${NAME}\\s*\\()))*~?${NAME}(?:[?!]|=(?=\\())?)?(.*)`,
));
const ASSIGNED = named(RegExp(
  `^(?:export\\s+)?((?:const|let|var|local)\\s+|(?:module\\.)?exports\\.|)(${NAME}(?:\\.${NAME})*)(?:\\s*:[^=]*)?` +
    `\\s*(?:=|<-|:)\\s*(?:async\\s*)?(?:function\\b|(?:\\([^()]*\\)|${NAME})\\s*(?::[^=]*)?=>|(\\()$)`,
));
const CONSTANT = named(RegExp(
  `^(export |pub |public |static |final |private |val |let |var |const |local )*(?:${NAME}[ *&]+){0,4}(${NAME}(?:\\.${NAME})*)(?:\\[[\\w]*\\])*` +
    `\\s*(?::[^=]{0,80})?=`,
));
const CONTAINER = named(RegExp(
  `^(?:pub )?(?:const )?(${NAME})(?: =| )(?: extern| packed)? ?(struct|enum|union|interface)\\b.*\\{$`,
));
const TEST =
  /^(?:RSpec\.)?(?:describe|context|suite|it|test|specify|Deno\.test|feature|scenario)(?:\.\w+)*(?:\([^()]*\))?[ (]\(?\s*(["'`])(.{1,160}?)\1/;
const CONTROL =
  /^(?:if|else|for|foreach|while|switch|return|catch|do|throw|new|delete|case|await|yield|using|lock|assert|in|not|and|or|typeof|sizeof|goto)\b/;
const TYPES = named(/^[\w\s:<>,~*&[\]?.#]*$/), TYPE = named(/^[\w\s*&:<>,]*[\w*&>]$/);
/** What stands before parentheses. */
const CALLED = named(/[\w~:.#]*(?:\[[\w.]+\])?$/);
const CLASS = named(/\bclass(?![\w])\s*(?!extends\b)([\w]*)[^{]*\{$/);
const MEMBER = named(RegExp(`^(?:(?:${MODIFIERS}|get|set|\\*)\\s*)+$`));
const RESERVED = named(RegExp(`^(?:${MODIFIERS})$`));

const C_LIKE = new Set("c h cc cpp cxx hpp hh hxx m mm java cs dart glsl groovy".split(" "));
const WITH_MEMBERS = new Set("ts mts cts tsx js mjs cjs jsx vue svelte astro html htm swift kt".split(" "));

/** How code is read in files with this extension. */
export function codeReader(extension: string): ReadLine {
  const isC = C_LIKE.has(extension), hasMembers = isC || WITH_MEMBERS.has(extension);
  const hasObjects = /^(?:kts?|scala|sc)$/.test(extension), isOldC = /^(?:[ch](?:c|pp|xx|h)?|mm?)$/.test(extension);
  return (line, scope) => {
    const { parent, indent } = scope, inClass = isClassLike(parent);
    const [, modifiers = "", keyword = "", receiver, name, rest = ""] = DECLARATION.exec(line) ?? [];
    const kind = keyword === "object" && !hasObjects ? undefined : KEYWORDS[keyword];
    const isMere = isOldC && /^(?:class|struct|union|enum)$/.test(keyword) && !/^[^;=()]*(?:\{.*)?$/.test(rest);
    if (kind && !isMere) {
      if (kind === "other") {
        const head = keyword === "impl" ? /^(?:::|[^{;":])*/ : /^(?:::|[^{=;"':])*/;
        const name = head.exec(line.slice(modifiers.length))![0].trim();
        return { kind, name, ...(isOldC && keyword === "namespace" ? { closer: "}" } : {}) };
      }
      if (/^typedef/.test(modifiers)) return { kind, name: "" };
      if (name && receiver) return { kind: "method", name: `${receiver}.${name}` };
      if (name) return { kind: refine(kind, { rest, inClass }), name };
      if (keyword === "object") return { kind, name: "companion object" };
      return modifiers.includes("default") ? { kind, name: "default" } : undefined;
    }
    const title = TEST.exec(line)?.[2];
    if (title) return { kind: "test", name: title };
    if (CONTROL.test(line)) return undefined;
    const [, declares, assigned, isOpen] = ASSIGNED.exec(line) ?? [];
    const [isClass, className] = (assigned && CLASS.exec(line)) || [];
    if (isClass) return { kind: "class", name: className || assigned! };
    if (assigned && (declares || !isOpen)) {
      return { kind: inClass ? "method" : "function", name: assigned, atLeast: indent ? 3 : 1 };
    }
    const mayCall = hasMembers && !isFunction(parent) && (!parent || scope.isMember);
    const callable = mayCall && readCallable(line, scope, { isC, isHeader: /^h/.test(extension) });
    if (callable) return callable;
    const container = CONTAINER.exec(line);
    if (container) return { kind: container[2] === "interface" ? "interface" : "class", name: container[1]! };
    const constant = indent === 0 && CONSTANT.exec(line);
    return constant ? { kind: "constant", name: constant[2]!, atLeast: constant[1] === "export " ? 1 : 3 } : undefined;
  };
}

/** Whether functions in it are methods. */
function isClassLike(parent: Found | undefined): boolean {
  return parent !== undefined &&
    (parent.kind === "class" || parent.kind === "interface" || /^(?:impl|extension)\b/.test(parent.name));
}

/** Whether it is a function. */
export function isFunction(parent: Found | undefined): boolean {
  return parent?.kind === "function" || parent?.kind === "method";
}

function refine(kind: RegionKind, { rest, inClass }: { rest: string; inClass: boolean }): RegionKind {
  if (kind === "function" && inClass) return "method";
  const word = kind === "type" && /^\s+(struct|interface)\b/.exec(rest)?.[1];
  return word === "struct" ? "class" : word ? "interface" : kind;
}

/** Reads a function without a keyword: a name and parameters, outside classes behind a type. */
function readCallable(
  line: string,
  { parent, indent, peek }: Scope,
  { isC, isHeader }: { isC: boolean; isHeader: boolean },
): Found | undefined {
  const head = line.slice(0, Math.max(0, line.indexOf("("))).replace(/<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*(?=::|$)/g, "")
    .trimEnd();
  const from = head.search(CALLED), name = head.slice(from), before = head.slice(0, from).trimEnd();
  const inClass = isClassLike(parent);
  if (!/[^:]$/.test(name) || CONTROL.test(name) || RESERVED.test(name) || (isC && !TYPES.test(before))) {
    return undefined;
  }
  if (!isC && ((!inClass && parent?.kind !== "constant") || parent?.kind === "interface")) return undefined;
  if (!isC && before && !MEMBER.test(before)) return undefined;
  let offset = 0;
  if (!before && isC) {
    const previous = peek(-1);
    if (!inClass && /^[A-Z][A-Z\d_]+$/.test(name) && (line.endsWith("{") || peek(1) === "{")) { // made by a macro
      return { kind: /^TEST/.test(name) ? "test" : "function", name: line.replace(/\s*\{$/, "") };
    }
    const isConstructor = inClass && (name === parent!.name || name === `~${parent!.name}`);
    const isSplit = !inClass && indent === 0 && TYPE.test(previous) && !CONTROL.test(previous);
    const isQualified = indent === 0 && name.includes("::");
    if (!isConstructor && !isSplit && !isQualified) return undefined;
    if (isSplit && !isQualified) offset = -1;
  }
  return hasBody(peek, inClass || isHeader)
    ? { kind: inClass || /::/.test(name) ? "method" : "function", name, offset }
    : undefined;
}

/** Whether a body follows the parameters, or may. */
function hasBody(peek: Scope["peek"], allowsPrototypes: boolean): boolean {
  for (let distance = 0; distance < 30; distance++) {
    const here = peek(distance), brace = here.search(/\{|=>/);
    if (brace >= 0 && !/;\s*$/.test(here.slice(0, brace))) return true;
    if (here.endsWith(";") || !here) return allowsPrototypes;
    if (distance > 0 && here.startsWith("}")) return false;
  }
  return false;
}
