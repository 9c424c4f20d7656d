/**
 * The table of languages against the grammars it is about.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { grammarFor } from "../../src/outline/grammar_for.ts";
import { GRAMMARS } from "../../src/outline/grammars.ts";
import { isHazard, loadLanguage } from "../../src/outline/load.ts";

/** Every node type the table names for a grammar. */
function typesOf(name: string): string[] {
  const { nodes, values = "", blocks = "" } = GRAMMARS[name]!;
  return [...Object.values(nodes), values, blocks].flatMap((types) => types.split(" ")).filter(Boolean);
}

describe("the table of grammars", () => {
  for (const name of Object.keys(GRAMMARS)) {
    it(`names only node types that ${name} has`, { skip: isHazard(name) && "a hazard on this runtime" }, async () => {
      const language = await loadLanguage(name);
      assert(language, `${name} could not be loaded`);
      const types = typesOf(name);
      assert(types.length > 0);
      assertEquals(types.filter((type) => !language.idForNodeType(type, true)), []);
    });
  }

  it("names no node type twice for one grammar as two kinds", () => {
    for (const [name, { nodes }] of Object.entries(GRAMMARS)) {
      const types = Object.values(nodes).flatMap((list) => list.split(" "));
      assertEquals(types.length, new Set(types).size, name);
    }
  });
});

describe("the grammar for a file", () => {
  it("goes by the extension", () => {
    const names = ["ts", "tsx", "jsx", "vue", "py", "kts", "cs", "ex", "tf", "css"].map((extension) =>
      grammarFor(extension, "")?.grammar
    );
    assertEquals(names, [
      "typescript",
      "tsx",
      "javascript",
      "tsx",
      "python",
      "kotlin",
      "c_sharp",
      "elixir",
      "hcl",
      "css",
    ]);
  });

  it("is none for data, prose and what nobody knows", () => {
    for (const extension of ["json", "yaml", "toml", "sql", "md", "", "constructor", "__proto__"]) {
      assertEquals(grammarFor(extension, "class A {}"), undefined, extension);
    }
  });

  it("goes by the text where a header may be C or C++", () => {
    assertEquals(grammarFor("h", "struct a { int b; };\n")?.grammar, "c");
    assertEquals(grammarFor("h", "#pragma once\nnamespace a {\n}\n")?.grammar, "cpp");
    assertEquals(grammarFor("h", "#ifdef X\n  template <class T>\n#endif\n")?.grammar, "cpp");
    assertEquals(grammarFor("hpp", "int a;\n")?.grammar, "cpp");
  });
});
