/**
 * Functions and classes that are values and get their names from where they stand: JavaScript, TypeScript, Lua and Zig. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import { NAME_CHARACTERS } from "../summary/code_rules.ts";
import type { RegionKind } from "../types.ts";
import { nameOf, type Reader, toEntry, wrapperOf } from "./entries.ts";

/** A function that is a value in an object or inside a function is listed from so many lines on. */
const LONG_VALUE = 3;

/** The word at the end; tried where a word begins alone. */
const LAST_WORD = new RegExp(`(?<![${NAME_CHARACTERS}#])[${NAME_CHARACTERS}#]+$`, "u");

/** Members of interfaces are part of them; an overload's signature belongs to the function that follows. */
export const readSignature: Reader = (node, kind) => {
  if (/^(?:interface_body|object_type)$/.test(node.parent?.type ?? "")) return undefined;
  const name = nameOf(node);
  return name && toEntry(node, kind, name, { isBare: true });
};

/** A function or class that gets its name from where it stands. */
export const readValue: Reader = (node) => {
  const outer = node.parent;
  const kind: RegionKind = /class|struct|enum|union|opaque/.test(node.type) ? "class" : "function";
  switch (outer?.type) {
    case "variable_declarator":
    case "variable_declaration": {
      const name = nameOf(outer);
      return name && toEntry(node, kind, name, { span: wrapperOf(outer), atLeast: isInner(outer) ? LONG_VALUE : 1 });
    }
    case "pair":
      return toEntry(node, "method", outer.childForFieldName("key") ?? "", { span: outer, atLeast: LONG_VALUE });
    case "assignment_expression":
      return toEntry(node, kind, lastName(outer.childForFieldName("left")), { span: wrapperOf(outer) });
    case "public_field_definition":
    case "field_definition":
      return toEntry(node, "method", outer.childForFieldName("name") ?? outer.childForFieldName("property") ?? "", {
        span: outer,
      });
    case "export_statement":
      return toEntry(node, kind, nameOf(node) ?? "default", { span: outer });
    case "field":
      return toEntry(node, "method", outer.childForFieldName("name") ?? "", { span: outer, atLeast: LONG_VALUE });
    case "expression_list": {
      const statement = outer.parent!, first = statement.namedChild(0)?.namedChild(0);
      if (statement.type !== "assignment_statement" || !first) return undefined;
      return toEntry(node, kind, first, { span: wrapperOf(statement) });
    }
  }
  return undefined;
};

function isInner(node: Node): boolean {
  return !/^(?:program|export_statement|source_file|chunk)$/.test(wrapperOf(node).parent?.type ?? "program");
}

/** `exports.a`, `A.prototype.b`: the last of the names, or all of them where the last says nothing. */
function lastName(left: Node | null): string {
  const text = left?.text ?? "";
  return text === "module.exports" ? text : LAST_WORD.exec(text)?.[0] ?? text;
}
