/**
 * What stands at the top level of a file and declares no function or type, but is worth a row: constants, tests, long
 * statements. Goes by the start of its text. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import { NAME_CHARACTERS } from "../summary/code_rules.ts";
import { endRow, type Entry, toEntry } from "./entries.ts";

/** So many lines must a constant have, and a statement. */
const LONG_CONSTANT = 3, LONG_STATEMENT = 5;

const CALL = new RegExp(`^\\s*[${NAME_CHARACTERS}.]+\\s*(?:\\(|do\\b)`, "u");
const CALLEE = new RegExp(
  `^\\s*([${NAME_CHARACTERS}.]+)[\\s(]*(?:(["'\`])(.{1,160}?)\\2|([${NAME_CHARACTERS}:.]+))?`,
  "u",
);
const MACRO = new RegExp(`^[${NAME_CHARACTERS}:]+!`, "u");
const LAST_NAME = new RegExp(`([${NAME_CHARACTERS}]+(?:\\.[${NAME_CHARACTERS}]+)*)[^${NAME_CHARACTERS}]*$`, "u");

const TESTS =
  /^(?:(?:test|it|describe|context|suite|specify|Deno\.test|bench|feature|scenario)(?:\.\w+)*|\w+\.(?:test|describe|context))$/;

/** A block at the top level that declares no function or type: a constant, a test, a long statement. */
export function readBlock(node: Node, source: string): Entry | undefined {
  const length = endRow(node) - node.startPosition.row + 1;
  const text = source.slice(node.startIndex, Math.min(node.endIndex, node.startIndex + 400));
  const isExport = /^export (?:const|let|var)\b/.test(text);
  if (/^(?:const|let|var)\s[^=]*=\s*require\(/.test(text)) return toEntry(node, "import", "imports");
  if (length < LONG_CONSTANT && !isExport) return undefined;
  if (/^["'`#]/.test(text)) return undefined;
  if (node.type === "macro_invocation") {
    return length >= LONG_STATEMENT ? toEntry(node, "other", MACRO.exec(text)?.[0] ?? "") : undefined;
  }
  if (node.type === "if_statement") return /^if\s+__name__/.test(text) ? toEntry(node, "other", "__main__") : undefined;
  const call = node.type === "call" || CALL.test(text) ? node : undefined;
  if (call) {
    const [, callee = "", , title = "", rest = ""] = CALLEE.exec(text) ?? [];
    if (TESTS.test(callee)) {
      const first = title || rest || /^[^\n]*?(["'`])(.{1,160}?)\1/.exec(text)?.[2];
      return toEntry(node, "test", first ?? callee, { hasMembers: false });
    }
    const name = title && /^[\w\s./:@-]+$/.test(title) ? `${callee} ${title}` : callee;
    return length >= LONG_STATEMENT ? toEntry(node, "other", name) : undefined;
  }
  if (node.type === "declaration" && !/^[^(]*=\s*[{[(]/.test(text)) return undefined;
  const name = constantName(text);
  return name ? toEntry(node, "constant", name, { atLeast: isExport ? 1 : LONG_CONSTANT }) : undefined;
}

/** What a constant is called: the last name before its type or its value. */
function constantName(text: string): string | undefined {
  if (/^export\s+default\b/.test(text)) return "default";
  if (/^(?:module\.)?exports\s*=/.test(text)) return "module.exports";
  const head = /^[^=]*/.exec(text)![0], pattern = /^(?:export\s+)?(?:const|let|var)\s*([{[][^=]*)/.exec(head)?.[1];
  if (pattern) return pattern.replace(/\s+/g, " ").trim();
  const before = head.split(/(?<!:):(?!:)/)[0]!;
  return LAST_NAME.exec(before.replace(/\[[^\]]*\]\s*$/, ""))?.[1];
}
