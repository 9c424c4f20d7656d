/**
 * What a grammar reads in place of names that are not of ASCII.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { loadEngine, loadLanguage } from "../../src/outline/load.ts";
import { plainNames } from "../../src/outline/plain_names.ts";

describe("a text for a grammar", () => {
  it("has a letter and digits where a name has others, a capital one where it has one", () => {
    assertEquals(plainNames("größe été Été 名前 a𝒳 𝒳y x\u0301 caf\ufffd"), "gr00e qt0 Qt0 q0 a00 Q0y x0 caf0");
  });

  it("is as long, and has the same lines and the same of everything that is no name", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.array(fc.constantFrom(..."a|é|\n|\r\n|名|😀|'|?|“|→|\u2028|\ufffd|\u00a0| |\u200d|\ud800|9|_".split("|"))).map(
        (all) => all.join(""),
      ),
    );
    fc.assert(fc.property(text, (content) => {
      const plain = plainNames(content);
      assertEquals(plain.length, content.length);
      for (let at = 0; at < content.length; at++) {
        if (plain[at] !== content[at]) {
          assert(/[Qq0]/.test(plain[at]!) && content[at]! > "\x7f", JSON.stringify(content));
        }
      }
      assertEquals(plainNames(plain), plain);
    }));
  });

  it("is the same where it is of ASCII, and where a name is spelled with signs that make none", () => {
    for (const text of ["const a = 1;\n", "a → b ≠ “c” – d\u00a0…", ""]) assertEquals(plainNames(text), text);
  });

  it("has no word that means something and meant nothing before", () => {
    for (const text of ["éxport", "eñtends", "ïf", "clåss", "ünless", "dëf"]) {
      assert(!/^(?:export|extends|if|class|unless|def)$/.test(plainNames(text)), text);
    }
  });

  it("keeps a character that is a literal: two units are two characters to a grammar", () => {
    assertEquals(plainNames("let a = '😀'; b = 'é'; ?😀"), "let a = '😀'; b = 'q'; ?😀");
  });
});

describe("a tree of such a text", () => {
  it("has the text of the file in its nodes once that is what its reader gives", async () => {
    const code = "function größe() {\n  return '名前';\n}\n", language = await loadLanguage("javascript");
    const parser = new (await loadEngine())!.Parser();
    try {
      parser.setLanguage(language!);
      let text = plainNames(code);
      const tree = parser.parse((index) => text.slice(index))!;
      text = code;
      const [node] = tree.rootNode.descendantsOfType("function_declaration");
      assertEquals(node!.childForFieldName("name")!.text, "größe");
      assertEquals(node!.text, code.trimEnd());
      tree.delete();
    } finally {
      parser.delete();
    }
  });
});
