/**
 * The languages the outline knows: for each, its grammar and which of the grammar's node types are declarations. Pure data.
 *
 * Node types rather than queries, because a type a grammar no longer has is merely never met, while a query that names it
 * fails as a whole. `tests/outline/grammars_test.ts` holds every name against its grammar.
 *
 * @module
 */

import type { RegionKind } from "../types.ts";

/** What the outline knows of one language. */
export interface Grammar {
  /** The grammar's name: `tree-sitter-<grammar>.wasm`. */
  readonly grammar: string;
  /** Node types that declare something, separated by spaces, by the kind of region they make. */
  readonly nodes: Partial<Record<RegionKind, string>>;
  /** Node types of values that get their name, and what they are, from where they stand. */
  readonly values?: string;
  /** Node types that are listed where they stand at the top level and have several lines. */
  readonly blocks?: string;
  /** What begins a line comment. */
  readonly comment: string;
  /** Definitions of one name that follow each other are one. */
  readonly clauses?: boolean;
}

const JAVASCRIPT: Grammar = {
  grammar: "javascript",
  nodes: {
    function: "function_declaration generator_function_declaration",
    class: "class_declaration",
    method: "method_definition",
    import: "import_statement",
  },
  values: "arrow_function function_expression generator_function class",
  blocks: "lexical_declaration variable_declaration export_statement expression_statement",
  comment: "//",
};

const TYPESCRIPT: Grammar = {
  ...JAVASCRIPT,
  grammar: "typescript",
  nodes: {
    function: "function_declaration generator_function_declaration function_signature",
    class: "class_declaration abstract_class_declaration",
    interface: "interface_declaration",
    type: "type_alias_declaration enum_declaration",
    method: "method_definition abstract_method_signature method_signature",
    import: "import_statement import_alias",
    other: "internal_module module",
  },
  blocks: `${JAVASCRIPT.blocks} ambient_declaration`,
};

const C: Grammar = {
  grammar: "c",
  nodes: {
    function: "function_definition preproc_function_def declaration",
    class: "struct_specifier union_specifier",
    type: "enum_specifier type_definition",
    import: "preproc_include",
  },
  blocks: "declaration",
  comment: "//",
};

/** Every language, by the name its grammar goes by. */
export const GRAMMARS: Readonly<Record<string, Grammar>> = Object.fromEntries([
  JAVASCRIPT,
  TYPESCRIPT,
  { ...TYPESCRIPT, grammar: "tsx" },
  C,
  {
    ...C,
    grammar: "cpp",
    nodes: {
      function: "function_definition preproc_function_def declaration field_declaration",
      class: "class_specifier struct_specifier union_specifier",
      type: "enum_specifier type_definition alias_declaration concept_definition",
      import: "preproc_include using_declaration",
      other: "namespace_definition",
    },
  },
  {
    grammar: "python",
    nodes: {
      class: "class_definition",
      function: "function_definition",
      type: "type_alias_statement",
      import: "import_statement import_from_statement future_import_statement",
    },
    blocks: "expression_statement if_statement",
    comment: "#",
  },
  {
    grammar: "go",
    nodes: {
      function: "function_declaration",
      method: "method_declaration",
      type: "type_spec type_alias",
      import: "import_declaration",
    },
    blocks: "const_declaration var_declaration",
    comment: "//",
  },
  {
    grammar: "rust",
    nodes: {
      function: "function_item function_signature_item macro_definition",
      class: "struct_item union_item",
      interface: "trait_item",
      type: "enum_item type_item",
      import: "use_declaration extern_crate_declaration",
      other: "impl_item mod_item foreign_mod_item",
    },
    blocks: "const_item static_item macro_invocation",
    comment: "//",
  },
  {
    grammar: "java",
    nodes: {
      class: "class_declaration record_declaration",
      interface: "interface_declaration annotation_type_declaration",
      type: "enum_declaration",
      method: "method_declaration constructor_declaration compact_constructor_declaration",
      import: "import_declaration",
    },
    comment: "//",
  },
  {
    grammar: "kotlin",
    nodes: {
      class: "class_declaration object_declaration companion_object",
      function: "function_declaration secondary_constructor",
      type: "type_alias",
      import: "import_header",
    },
    blocks: "property_declaration",
    comment: "//",
  },
  {
    grammar: "c_sharp",
    nodes: {
      class: "class_declaration struct_declaration record_declaration",
      interface: "interface_declaration",
      type: "enum_declaration delegate_declaration",
      method:
        "method_declaration constructor_declaration destructor_declaration operator_declaration conversion_operator_declaration indexer_declaration",
      function: "local_function_statement",
      import: "using_directive",
      other: "namespace_declaration",
    },
    comment: "//",
  },
  {
    grammar: "ruby",
    nodes: { class: "class module", function: "method singleton_method" },
    blocks: "assignment call",
    comment: "#",
  },
  {
    grammar: "php",
    nodes: {
      class: "class_declaration trait_declaration",
      interface: "interface_declaration",
      type: "enum_declaration",
      function: "function_definition",
      method: "method_declaration",
      import: "namespace_use_declaration",
      other: "namespace_definition",
    },
    blocks: "const_declaration expression_statement",
    comment: "//",
  },
  {
    grammar: "swift",
    nodes: {
      class: "class_declaration",
      interface: "protocol_declaration",
      type: "typealias_declaration",
      function: "function_declaration subscript_declaration deinit_declaration",
      method: "protocol_function_declaration",
      import: "import_declaration",
    },
    blocks: "property_declaration",
    comment: "//",
  },
  {
    grammar: "scala",
    nodes: {
      class: "class_definition object_definition package_object",
      interface: "trait_definition",
      type: "enum_definition type_definition",
      function: "function_definition function_declaration",
      import: "import_declaration",
      other: "extension_definition given_definition",
    },
    blocks: "val_definition var_definition",
    comment: "//",
  },
  { grammar: "bash", nodes: { function: "function_definition" }, comment: "#" },
  {
    grammar: "lua",
    nodes: { function: "function_declaration" },
    values: "function_definition",
    blocks: "variable_declaration assignment_statement",
    comment: "--",
  },
  { grammar: "elixir", nodes: { function: "call" }, comment: "#", clauses: true },
  {
    grammar: "haskell",
    nodes: {
      function: "function bind signature",
      type: "data_type newtype type_synomym type_family data_family",
      interface: "class",
      import: "import",
      other: "instance",
    },
    comment: "--",
    clauses: true,
  },
  {
    grammar: "zig",
    nodes: { function: "function_declaration", test: "test_declaration" },
    values: "struct_declaration enum_declaration union_declaration opaque_declaration",
    blocks: "variable_declaration",
    comment: "//",
  },
  {
    grammar: "dart",
    nodes: {
      class: "class_definition mixin_declaration",
      type: "enum_declaration type_alias",
      function: "function_signature getter_signature setter_signature",
      method: "method_signature constructor_signature constant_constructor_signature factory_constructor_signature",
      import: "import_or_export",
      other: "extension_declaration",
    },
    comment: "//",
  },
  { grammar: "hcl", nodes: { config: "block" }, comment: "#" },
  {
    grammar: "css",
    nodes: { other: "rule_set media_statement keyframes_statement supports_statement at_rule" },
    comment: "/*",
  },
].map((grammar) => [grammar.grammar, grammar]));
