/**
 * Node types of C and C++ that need more than a name field. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import { nameOf, plain, type Reader, toEntry } from "./entries.ts";

/** A macro is listed from so many lines on. */
const LONG_MACRO = 3;

/** A struct, class or enum of C: only where it has a body. */
const withBody: Reader = (node, kind) => {
  if (!node.childForFieldName("body")) return undefined;
  const outer = node.parent;
  if (outer?.type === "type_definition") return undefined; // the typedef is the entry
  return plain(node, kind);
};

/** `typedef struct { … } Name;` is what it defines; other typedefs are types. */
const typedef: Reader = (node, kind) => {
  const type = node.childForFieldName("type");
  const hasBody = type?.childForFieldName("body");
  const name = nameOf(node);
  return name && toEntry(node, hasBody && /^(?:struct|union|class)_/.test(type!.type) ? "class" : kind, name);
};

/** A function of C or C++, or what a macro makes look like one. */
const cFunction: Reader = (node, kind) => {
  const name = nameOf(node);
  if (!name) return undefined;
  if (/^[A-Z][A-Z\d_]+$/.test(name.text) && !node.childForFieldName("type")) {
    const parameters = name.parent?.childForFieldName("parameters")?.text ?? "";
    return toEntry(
      node,
      /^TEST/.test(name.text) ? "test" : kind,
      `${name.text}${parameters.replace(/\s+/g, " ").slice(0, 60)}`,
    );
  }
  return toEntry(node, /::/.test(name.text) ? "method" : kind, operatorName(name));
};

/** A prototype: in a class, or at the top level of a header. */
const prototype: Reader = (node) => {
  let at = node.childForFieldName("declarator");
  while (at && /^(?:pointer|reference|parenthesized)_declarator$/.test(at.type)) {
    at = at.childForFieldName("declarator") ?? at.namedChild(at.namedChildCount - 1);
  }
  if (at?.type !== "function_declarator" && at?.type !== "operator_cast") return undefined;
  const holder = node.parent?.type === "template_declaration" ? node.parent.parent : node.parent;
  if (holder?.type === "compound_statement") return undefined;
  const name = nameOf(node);
  return name && toEntry(node, "function", operatorName(name), { isBare: holder?.type !== "field_declaration_list" });
};

function operatorName(name: Node): string | Node {
  return name.type === "operator_cast" ? /^[^(]*/.exec(name.text)![0] : name;
}

const macro: Reader = (node, kind) => {
  const name = nameOf(node);
  return name && toEntry(node, kind, name, { atLeast: LONG_MACRO });
};

/** How they become entries. */
export const cReaders: Readonly<Record<string, Reader>> = {
  struct_specifier: withBody,
  union_specifier: withBody,
  enum_specifier: withBody,
  type_definition: typedef,
  function_definition: cFunction,
  preproc_function_def: macro,
  declaration: prototype,
  field_declaration: prototype,
};
