/**
 * One syntax node read as an entry of the outline: what it is, what it is called, where it begins and ends. Pure.
 *
 * @module
 */

import type { Node } from "web-tree-sitter";
import type { RegionKind } from "../types.ts";

/** An entry as the tree has it. Rows count from 0. */
export interface Entry {
  readonly kind: RegionKind;
  readonly name: string;
  readonly start: number;
  end: number;
  /** Row of the name. */
  readonly line: number;
  /** Where the text of the declaration begins and where its body does, in UTF-16 code units. */
  readonly from: number;
  readonly body: number;
  /** A declaration without a body: it belongs to the definition of the same name that follows. */
  readonly isBare: boolean;
  /** Listed only where it has so many lines. */
  readonly atLeast: number;
  /** Functions inside are methods. */
  readonly hasMembers: boolean;
}

/** Nodes that are part of the declaration they hold. */
const WRAPPERS: ReadonlySet<string> = new Set([
  "export_statement",
  "ambient_declaration",
  "decorated_definition",
  "template_declaration",
]);
/** Nodes that are so where they hold nothing else. */
const SINGLE_WRAPPERS: ReadonlySet<string> = new Set([
  "lexical_declaration",
  "variable_declaration",
  "type_declaration",
  "expression_statement",
  "assignment_statement",
]);
/** So many nodes around or before one are looked at: each is looked up from the root of the tree. */
const MAX_AROUND = 30;

const IDENTIFIER = /identifier$|^(?:constant|word|name|scope_resolution|variable)$/;
const BODY = /body$|^(?:block|do_block|compound_statement|statement_block|declaration_list|class_body|template_body)$/;

/** What {@linkcode toEntry} may be told beside the node. */
interface EntryOptions {
  readonly span?: Node | undefined;
  readonly atLeast?: number;
  readonly hasMembers?: boolean;
  readonly isBare?: boolean;
  readonly end?: Node | undefined;
}

/** An entry for a node, from the first of the nodes around it that belong to it. */
export function toEntry(
  node: Node,
  kind: RegionKind,
  name: string | Node,
  options: EntryOptions = {},
): Entry | undefined {
  const label = (typeof name === "string" ? name : name.text).trim();
  if (!label) return undefined;
  const span = options.span ?? wrapperOf(node);
  const last = options.end ?? (span.endIndex >= node.endIndex ? span : node);
  const body = node.childForFieldName("body") ?? node.namedChildren.find((child) => child && BODY.test(child.type));
  return {
    kind,
    name: label,
    start: startRow(span),
    end: endRow(last),
    line: typeof name === "string" ? node.startPosition.row : name.startPosition.row,
    from: node.startIndex,
    body: body && body.startIndex > node.startIndex ? body.startIndex : node.endIndex,
    isBare: options.isBare ?? false,
    atLeast: options.atLeast ?? 1,
    hasMembers: options.hasMembers ?? (kind === "class" || kind === "interface"),
  };
}

/** The outermost node that is nothing but this declaration. */
export function wrapperOf(node: Node): Node {
  let at = node;
  for (let outer = at.parent, steps = 0; outer && steps < MAX_AROUND; outer = at.parent, steps++) {
    const isWrapper = WRAPPERS.has(outer.type) || (SINGLE_WRAPPERS.has(outer.type) && outer.namedChildCount === 1);
    if (!isWrapper) return at;
    at = outer;
  }
  return at;
}

/** The first row of a node; attributes right before it belong to it. */
function startRow(node: Node): number {
  let first = node;
  for (
    let before = node.previousNamedSibling, steps = 0;
    before?.type === "attribute_item" && steps < MAX_AROUND;
    before = before.previousNamedSibling, steps++
  ) {
    first = before;
  }
  return first.startPosition.row;
}

/** The last row of a node. A line end that is part of it does not make one more. */
export function endRow({ startPosition, endPosition }: Node): number {
  return endPosition.column === 0 && endPosition.row > startPosition.row ? endPosition.row - 1 : endPosition.row;
}

/** The node that names a declaration. */
export function nameOf(node: Node): Node | undefined {
  const named = node.childForFieldName("name");
  if (named) return named;
  let at = node.childForFieldName("declarator");
  if (at) {
    for (let inner: Node | null = at; inner; inner = at.childForFieldName("declarator") ?? parenthesized(at)) {
      at = inner;
    }
    return at;
  }
  return node.namedChildren.find((child) => child !== null && IDENTIFIER.test(child.type)) ?? undefined;
}

function parenthesized(node: Node): Node | null {
  return /^(?:parenthesized|reference|attributed)_declarator$/.test(node.type)
    ? node.namedChild(node.namedChildCount - 1)
    : null;
}

/** The text of a node up to its body, its value or the end of its first line. */
export function headOf(node: Node): string {
  return /^[^{=\n;]*/.exec(node.text.slice(0, 240))![0].trim();
}

/** Makes an entry of a node of one type, or none. */
export type Reader = (node: Node, kind: RegionKind) => Entry | undefined;

/** A node that names itself. */
export const plain: Reader = (node, kind) => {
  const name = nameOf(node);
  return name && toEntry(node, kind, name);
};

/** Without the quotes around it. */
export function unquote(text: string): string {
  return /^\s*(["'`])([^]*)\1\s*$/.exec(text)?.[2] ?? text;
}
