/**
 * Node types that need more than a name field: how each becomes an entry of the outline, or none. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import type { RegionKind } from "../types.ts";
import { endRow, type Entry, headOf, nameOf, toEntry, wrapperOf } from "./entries.ts";
import type { Grammar } from "./grammars.ts";

type Reader = (node: Node, kind: RegionKind) => Entry | undefined;

/** A function that is a value in an object or inside a function is listed from so many lines on. */
const LONG_VALUE = 3;
/** So long must a bare block at the top level be: a constant, a statement. */
const LONG_CONSTANT = 3, LONG_STATEMENT = 5;

const none: Reader = () => undefined;

function plain(node: Node, kind: RegionKind): Entry | undefined {
  const name = nameOf(node);
  return name && toEntry(node, kind, name);
}

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
  return name && toEntry(node, kind, name, { atLeast: LONG_CONSTANT });
};

const named = (word: string): Reader => (node, kind) => toEntry(node, kind, word);

/** An extension, implementation or namespace goes by the words of its head. */
const byHead = (hasMembers: boolean): Reader => (node, kind) => {
  const at = node.childForFieldName("body")?.startIndex;
  const head = at === undefined ? headOf(node) : node.text.slice(0, at - node.startIndex).replace(/\{.*/s, "");
  return toEntry(
    node,
    kind,
    head.replace(/\s+/g, " ").replace(/^(?:pub(?:\([\w :]+\))? |unsafe )+/, "").replace(/ where\b.*/, ""),
    {
      hasMembers,
    },
  );
};

/** `mod name;` and `namespace Name;` hold nothing. */
const moduleWithBody: Reader = (node, kind) => node.childForFieldName("body") ? byHead(false)(node, kind) : undefined;

/** A method of Go goes by its receiver's type, too. */
const goMethod: Reader = (node, kind) => {
  const receiver = /\*?\s*([\w$]+)\s*(?:\[[^\]]*\])?\s*\)$/.exec(node.childForFieldName("receiver")?.text ?? "")?.[1];
  const name = node.childForFieldName("name");
  return name ? toEntry(node, kind, receiver ? `${receiver}.${name.text}` : name) : undefined;
};

const goType: Reader = (node, kind) => {
  const type = node.childForFieldName("type")?.type;
  return plain(node, type === "struct_type" ? "class" : type === "interface_type" ? "interface" : kind);
};

/** Class, interface, enum and extension are one node type in Kotlin and Swift. */
const manyKinds: Reader = (node) => {
  const name = nameOf(node);
  if (!name) return undefined;
  const head = node.text.slice(0, name.startIndex - node.startIndex);
  if (/\bextension\s*$/.test(head)) return toEntry(node, "other", `extension ${name.text}`, { hasMembers: true });
  const kind = /\binterface\s*$/.test(head) ? "interface" : /\benum(?: class)?\s*$/.test(head) ? "type" : "class";
  return toEntry(node, kind, name, { hasMembers: true });
};

/** A function of Swift; an initializer is one without a name. */
const swiftFunction: Reader = (node, kind) => {
  const body = node.childForFieldName("body")?.startIndex ?? node.endIndex;
  const word = /\b(func|init|deinit|subscript)\b/.exec(node.text.slice(0, body - node.startIndex + 1))?.[1];
  return word === "func" ? plain(node, kind) : toEntry(node, kind, word ?? "init");
};

/** Members of interfaces are part of them; an overload's signature belongs to the function that follows. */
const signatureOnly: Reader = (node, kind) => {
  if (/^(?:interface_body|object_type)$/.test(node.parent?.type ?? "")) return undefined;
  const name = nameOf(node);
  return name && toEntry(node, kind, name, { isBare: true });
};

/** A function or class that gets its name from where it stands. */
const value: Reader = (node) => {
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
  return text === "module.exports" ? text : /[\w$#]+$/.exec(text)?.[0] ?? text.slice(0, 60);
}

/** A definition of Elixir is a call; so is a test. */
const elixirCall: Reader = (node) => {
  const target = node.childForFieldName("target")?.text ?? "", first = node.namedChildren[1]?.namedChild(0);
  if (!first) return undefined;
  if (/^(?:defmodule|defprotocol|defimpl)$/.test(target)) {
    const name = target === "defimpl" ? `defimpl ${node.namedChildren[1]!.text}` : first.text;
    return toEntry(node, target === "defmodule" ? "class" : target === "defprotocol" ? "interface" : "other", name);
  }
  if (/^(?:test|describe|property)$/.test(target)) return toEntry(node, "test", unquote(first.text));
  if (!/^def(?:p|macro|macrop|guard|guardp|delegate)?$/.test(target)) return undefined;
  let head: Node | null = first;
  while (head?.type === "binary_operator") head = head.childForFieldName("left");
  const name = head?.childForFieldName("target") ?? head;
  return name ? toEntry(node, "function", name) : undefined;
};

/** Only what stands at the top of a module; `where` has functions, too. */
const haskellTop: Reader = (node, kind) => {
  const name = nameOf(node);
  if (node.parent?.type !== "declarations" || !name) return undefined;
  return toEntry(node, kind, name, { isBare: node.type === "signature" });
};

/** The body of a function of Dart is the node after its signature. */
const dartSignature: Reader = (node, kind) => {
  if (kind === "function" && node.parent?.type !== "program") return undefined;
  if (/^(?:constructor|constant|factory)/.test(node.type) && node.parent?.type === "method_signature") return undefined;
  const inner = node.type === "method_signature" ? node.namedChild(0) : node;
  const name = inner &&
    (/constructor|operator/.test(inner.type) ? /^(?:const |factory )*([\w.]+)/.exec(inner.text)?.[1] : nameOf(inner));
  const body = node.nextNamedSibling?.type === "function_body" ? node.nextNamedSibling : undefined;
  return name ? toEntry(node, kind, name, { end: body }) : undefined;
};

const hclBlock: Reader = (node, kind) => {
  if (node.parent?.parent?.type !== "config_file") return undefined;
  const words = node.namedChildren.filter((child) => child && /^(?:identifier|string_lit)$/.test(child.type));
  return toEntry(node, kind, words.map((word) => unquote(word!.text)).join(" "));
};

const cssRule: Reader = (node, kind) =>
  toEntry(node, kind, /^[^{;]*/.exec(node.text.slice(0, 240))![0].replace(/\s+/g, " "));

const operatorMethod: Reader = (node, kind) =>
  toEntry(node, kind, /\boperator\s*[^\s(]+|\bthis\b/.exec(headOf(node))?.[0] ?? "operator");

const importBlock: Reader = (node, kind) => toEntry(node, kind, "imports");

/** Without the quotes around it. */
export function unquote(text: string): string {
  return /^\s*(["'`])([^]*)\1\s*$/.exec(text)?.[2] ?? text;
}

const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  javascript: {},
  typescript: { method_signature: signatureOnly, function_signature: signatureOnly },
  c: {
    struct_specifier: withBody,
    union_specifier: withBody,
    enum_specifier: withBody,
    type_definition: typedef,
    function_definition: cFunction,
    preproc_function_def: macro,
    declaration: prototype,
    field_declaration: prototype,
  },
  go: { method_declaration: goMethod, type_spec: goType },
  rust: { impl_item: byHead(true), foreign_mod_item: none, mod_item: moduleWithBody },
  kotlin: {
    class_declaration: manyKinds,
    secondary_constructor: named("constructor"),
    companion_object: (node, kind) => toEntry(node, kind, nameOf(node) ?? "companion object"),
  },
  swift: {
    class_declaration: manyKinds,
    function_declaration: swiftFunction,
    subscript_declaration: swiftFunction,
    deinit_declaration: swiftFunction,
  },
  php: { namespace_definition: moduleWithBody },
  scala: { extension_definition: byHead(true), given_definition: byHead(true) },
  c_sharp: {
    operator_declaration: operatorMethod,
    conversion_operator_declaration: operatorMethod,
    indexer_declaration: operatorMethod,
  },
  elixir: { call: elixirCall },
  haskell: { function: haskellTop, bind: haskellTop, signature: haskellTop, instance: byHead(false) },
  zig: { test_declaration: (node, kind) => toEntry(node, kind, unquote(node.namedChild(0)?.text ?? "")) },
  dart: {
    method_signature: dartSignature,
    function_signature: dartSignature,
    getter_signature: dartSignature,
    setter_signature: dartSignature,
    constructor_signature: dartSignature,
    constant_constructor_signature: dartSignature,
    factory_constructor_signature: dartSignature,
    extension_declaration: byHead(true),
  },
  hcl: { block: hclBlock },
  css: {
    rule_set: cssRule,
    media_statement: cssRule,
    keyframes_statement: cssRule,
    supports_statement: cssRule,
    at_rule: cssRule,
  },
};
const SAME: Readonly<Record<string, string>> = { tsx: "typescript", cpp: "c" };

/** Reads a node of one of the types in the grammar's table. */
export function readNode(node: Node, kind: RegionKind, { grammar, values }: Grammar): Entry | undefined {
  if (kind === "import") return importBlock(node, kind);
  if (values?.split(" ").includes(node.type)) return value(node, kind);
  const special = READERS[SAME[grammar] ?? grammar]?.[node.type];
  if (special) return special(node, kind);
  if (kind === "other") return byHead(false)(node, kind);
  return plain(node, kind);
}

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
    return length >= LONG_STATEMENT ? toEntry(node, "other", /^[\w:]+!/.exec(text)?.[0] ?? "") : undefined;
  }
  if (node.type === "if_statement") return /^if\s+__name__/.test(text) ? toEntry(node, "other", "__main__") : undefined;
  const call = node.type === "call" || /^\s*[\w.$]+\s*(?:\(|do\b)/.test(text) ? node : undefined;
  if (call) {
    const [, callee = "", , title = "", rest = ""] =
      /^\s*([\w.$]+)[\s(]*(?:(["'`])(.{1,160}?)\2|([\w:.]{1,80}))?/.exec(text) ?? [];
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
  return /([\w$]+(?:\.[\w$]+)*)[^\w$]*$/.exec(before.replace(/\[[^\]]*\]\s*$/, ""))?.[1];
}
