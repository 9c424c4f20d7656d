/**
 * Node types that need more than a name field: how each becomes an entry of the outline, or none. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import { NAME_CHARACTERS } from "../summary/code_rules.ts";
import type { RegionKind } from "../types.ts";
import { cReaders } from "./c_readers.ts";
import { type Entry, headOf, nameOf, plain, type Reader, toEntry, unquote } from "./entries.ts";
import type { Grammar } from "./grammars.ts";
import { readSignature, readValue } from "./script_readers.ts";

const none: Reader = () => undefined;

const named = (word: string): Reader => (node, kind) => toEntry(node, kind, word);

/** An extension, implementation or namespace goes by the words of its head. */
const byHead = (hasMembers: boolean): Reader => (node, kind) => {
  const at = node.childForFieldName("body")?.startIndex;
  const head = at === undefined ? headOf(node) : node.text.slice(0, at - node.startIndex).replace(/\{[^]*/, "");
  const name = head.replace(/\s+/g, " ").replace(/^(?:pub(?:\([\w :]+\))? |unsafe )+/, "").replace(/ where\b.*/, "");
  return toEntry(node, kind, name, { hasMembers });
};

/** `mod name;` and `namespace Name;` hold nothing. */
const moduleWithBody: Reader = (node, kind) => node.childForFieldName("body") ? byHead(false)(node, kind) : undefined;

/** A method of Go goes by its receiver's type, too. */
const goMethod: Reader = (node, kind) => {
  const receiver = node.childForFieldName("receiver")?.descendantsOfType("type_identifier")[0];
  const name = node.childForFieldName("name");
  return name ? toEntry(node, kind, receiver ? `${receiver.text}.${name.text}` : name) : undefined;
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

const ELIXIR = /^(?:def(?:module|protocol|impl|p|macro|macrop|guard|guardp|delegate)?|test|describe|property)$/;

/** A definition of Elixir is a call; so is a test. */
const elixirCall: Reader = (node) => {
  const called = node.childForFieldName("target"), target = called?.type === "identifier" ? called.text : "";
  if (!ELIXIR.test(target)) return undefined;
  const first = node.namedChildren[1]?.namedChild(0);
  if (!first) return undefined;
  if (/^(?:defmodule|defprotocol|defimpl)$/.test(target)) {
    const name = target === "defimpl" ? `defimpl ${node.namedChildren[1]!.text}` : first.text;
    return toEntry(node, target === "defmodule" ? "class" : target === "defprotocol" ? "interface" : "other", name);
  }
  if (/^(?:test|describe|property)$/.test(target)) return toEntry(node, "test", unquote(first.text));
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

const CONSTRUCTOR = new RegExp(`^(?:const |factory )*([${NAME_CHARACTERS}.]+)`, "u");

/** The body of a function of Dart is the node after its signature. */
const dartSignature: Reader = (node, kind) => {
  if (kind === "function" && node.parent?.type !== "program") return undefined;
  if (/^(?:constructor|constant|factory)/.test(node.type) && node.parent?.type === "method_signature") return undefined;
  const inner = node.type === "method_signature" ? node.namedChild(0) : node;
  const name = inner &&
    (/constructor|operator/.test(inner.type) ? CONSTRUCTOR.exec(inner.text)?.[1] : nameOf(inner));
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

const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  typescript: { method_signature: readSignature, function_signature: readSignature },
  c: cReaders,
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
  if (values?.split(" ").includes(node.type)) return readValue(node, kind);
  const special = READERS[SAME[grammar] ?? grammar]?.[node.type];
  if (special) return special(node, kind);
  if (kind === "other") return byHead(false)(node, kind);
  return plain(node, kind);
}
