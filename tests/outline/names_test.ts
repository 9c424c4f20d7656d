/**
 * Names of any script in every language that is outlined or scanned: whole in the map, as in the source, never a part of one.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { grammarFor } from "../../src/outline/grammar_for.ts";
import { GRAMMARS } from "../../src/outline/grammars.ts";
import { isHazard } from "../../src/outline/load.ts";
import { createParse } from "../../src/outline/parser.ts";
import { cleanText } from "../../src/summary/text.ts";
import type { Region } from "../../src/types.ts";
import { scan, sourceOf } from "./golden.ts";

/** A text with a name in every place a name is taken from, by extension. A language that wants capitals has one before it. */
const TEXTS: Readonly<Record<string, (n: string) => string>> = {
  ts: (n) =>
    `export function ${n}() {\n  return 1;\n}\nclass ${n} {\n  ${n}() {\n  return 1; }\n  f${n} = () => {\n  return 1; };\n}\n` +
    `export const ${n} = 1;\nexports.${n} = function () {\n  return 1; };\nA.prototype.${n} = function () {\n  return 1;\n};\n` +
    `const ${n} = class ${n} {\n  a() {}\n}\nexport const k = {\n  ${n}: () => {\n  a;\n  b;\n},\n};\ntype ${n} = {\n  a: string }\n` +
    `namespace ${n} {\n  const x = 1;\n}\n${n}.b("hi", () => {\n  a;\n  b;\n  c;\n  d;\n});\n@${n}()\nclass X extends ${n} {\n}\n`,
  tsx: (n) =>
    `export function ${n}() {\n  return <p>${n}</p>;\n}\nconst f${n} = async (a: ${n}) => {\n  return a;\n};\n`,
  js: (n) =>
    `export default class ${n} extends A {\n  #${n}() {\n  }\n  static async ${n}x() {\n  }\n}\nlet ${n} = {\n  a: 1,\n  b: 2,\n};\n` +
    `exports["${n}"] = function () {\n};\n${n}[0] = function () {\n};\n`,
  vue: (n) => `<template>\n  <p>${n}</p>\n</template>\n<script>\nexport function ${n}() {\n  return 1;\n}\n</script>\n`,
  py: (n) =>
    `@${n}\ndef ${n}():\n    return 1\nclass ${n}(A):\n    def ${n}(self):\n        return 1\n${n} = {\n    1: 2,\n    3: 4}\n`,
  go: (n) =>
    `package a\n\nfunc (r *${n}) Go${n}(a int) int {\n\treturn 1\n}\n\ntype ${n} struct {\n\tA int\n}\nfunc ${n}(a int) {\n\tx\n}\n` +
    `func (l ${n}[T]) X() {\n}\nfunc (${n}) Y() {\n}\nvar ${n} = map[string]int{\n\t"a": 1,\n\t"b": 2,\n}\n`,
  rs: (n) =>
    `impl ${n} {\n    fn ${n}() {\n    }\n}\npub fn ${n}<'a>(c: char) -> bool {\n    c == 'ä' || c == '😀'\n}\nmacro_rules! ${n} {\n    () => {};\n}\n` +
    `pub struct ${n} {\n    a: u8,\n}\nmod ${n} {\n    fn a() {}\n}\n${n}! {\n    a\n    b\n    c\n}\n`,
  c: (n) =>
    `static int ${n}(void) {\n  return 1;\n}\ntypedef struct {\n  int a;\n} ${n};\nstruct ${n} {\n  int a;\n};\n#define ${n}(x) \\\n  x \\\n  y\n`,
  h: (n) => `int ${n}(int a);\nenum ${n} {\n  A,\n};\n`,
  cpp: (n) =>
    `class ${n} {\n public:\n  void ${n}m(int a) {\n  }\n  ~${n}();\n};\nvoid ${n}::m${n}(int a) {\n  return;\n}\nint f${n}(int x) {\n  return 1;\n}\n` +
    `namespace ${n} {\nint q;\n}\ntemplate <class T>\nclass T${n} {\n};\n`,
  java: (n) => `@${n}\npublic class ${n} {\n  void ${n}(int a) {\n  }\n  ${n}(int a) {\n  }\n}\ninterface I${n} {\n}\n`,
  kt: (n) =>
    `fun String.${n}(): Int {\n  return 1 }\nclass ${n} {\n  fun ${n}() {\n  }\n}\nobject ${n} {\n}\nenum class ${n} {\n  A\n}\n`,
  cs: (n) => `class ${n} {\n  void ${n}(int a) {\n  }\n}\nnamespace ${n} {\n  class A {\n  }\n}\n`,
  rb: (n) =>
    `class K${n}\n  def ${n}?(a)\n  end\n  def self.${n}\n  end\nend\nRSpec.describe K${n} do\n  a\n  b\nend\n`,
  php: (n) => `<?php\nfunction ${n}() {\n  return 1; }\nclass ${n} {\n  public function ${n}() {\n  return 1; }\n}\n`,
  swift: (n) => `extension ${n} {\n  func ${n}() {\n  }\n}\nfunc ${n}() {\n}\nprotocol ${n} {\n}\nenum ${n} {\n}\n`,
  scala: (n) => `object ${n} {\n  def ${n}(a: Int) = {\n    1\n  }\n}\ntrait ${n} {\n}\n`,
  sh: (n) => `f${n}() {\n  echo\n}\nfunction ${n} {\n  echo\n}\n${n}() {\n  echo\n}\n`,
  lua: (n) =>
    `function a.${n}(x)\n  return 1\nend\nfunction a:${n}(x)\n  return 1\nend\nlocal function ${n}()\nend\nlocal ${n} = function()\n  return 1\nend\n`,
  ex: (n) =>
    `defmodule K${n} do\n  def m${n}(a) do\n    1\n  end\n  defp ${n}(a), do: a\n  def ${n}x(a) when a > 1 do\n    1\n  end\nend\n` +
    `defimpl P, for: K${n} do\nend\n`,
  hs: (n) =>
    `module M where\n\ndata D${n} = A | B\n\nf${n} :: Int -> Int\nf${n} x = x\n\nclass C${n} a where\n  q :: a\n\ninstance C${n} Int where\n  q = 1\n`,
  zig: (n) =>
    `fn ${n}() void {\n    return;\n}\nconst ${n} = struct {\n    a: u8,\n};\ntest "${n} rings" {\n    a();\n}\n`,
  dart: (n) =>
    `class ${n} {\n  ${n}(this.a);\n  ${n}.x${n}(this.a);\n  void ${n}m() {\n  }\n}\nvoid ${n}() {\n}\nextension ${n} on A {\n}\n`,
  tf: (n) => `resource "a" "b${n}" {\n  a = 1\n}\nlocals {\n  a = 1\n}\n`,
  css: (n) => `.${n} {\n  a: b;\n}\n@media ${n} {\n  a {\n    b: c;\n  }\n}\n`,
  sql: (n) =>
    `create table t${n} (\n  a int\n);\ncreate or replace function ${n}(a int)\n  as x;\ncreate index ${n} on a;\n`,
  yaml: (n) => `k${n}:\n  a: 1\n${n}: 3\n`,
  json: (n) => `{\n  "${n}": {\n    "a": 1\n  }\n}\n`,
  toml: (n) => `[${n}]\na = 1\n[[x.${n}]]\nb = 2\n`,
  md: (n) => `# About ${n}\n\nWords.\n`,
  html: (n) => `<section id="${n}">\n  <p>\n</section>\n<script>\nfunction ${n}() {\n}\n</script>\n`,
  clj: (n) => `(defn ${n} [a]\n  a)\n(ns a.${n})\n`,
  proto: (n) => `message ${n} {\n  int32 a = 1;\n}\nservice ${n} {\n  rpc ${n} (A) returns (B);\n}\n`,
  m: (n) => `@interface ${n}\n@end\n@implementation ${n}\nvoid ${n}(int a) {\n}\n@end\n`,
  groovy: (n) => `class ${n} {\n  void ${n}(int a) {\n  }\n}\n`,
  zzz: (n) =>
    `class ${n} {\n}\nfunction ${n}() {\n}\nconst ${n} = () => {\n};\nconst ${n} = class ${n} {\n};\nlet ${n}[${n}] = [\n  1,\n  2,\n];\n`,
};

const NAMES: Readonly<Record<string, readonly string[]>> = {
  "letters with marks at the start, inside and at the end": ["été", "Ünï", "größe", "naïve", "Größ", "caf\u00e9"],
  "other scripts": ["名前", "имя", "ไทย", "नाम", "col·lecció", "a名b"],
  "letters beyond the first plane": ["𝒳y", "a𝒳", "𠮷野"],
  "combining marks": ["a\u0301b", "xe\u0308", "e\u0308x"],
  "pictures, some of several characters": ["😀x", "a👍🏽b", "👩\u200d🚀"],
  "joiners": ["نام\u200cها", "ab\u200dcd"],
  "bytes that could not be decoded": ["\ufffdx\ufffdz", "caf\ufffd", "\ufffd", "a\ufffd\ufffdb"],
};

const parse = createParse({ maxParseMs: 60_000 });

/** How names in the map are compared: as a map has them. */
function told({ start, end, kind, name }: Region): string {
  return `${start}-${end} ${kind} ${cleanText(name).replace(/[\u200c\u200d]/g, "")}`;
}

type Read = (text: string, extension: string) => Promise<readonly Region[]> | readonly Region[];

const READERS: Readonly<Record<string, Read>> = {
  outline: async (text, extension) => {
    const { declarations } = (await parse({ ...sourceOf(`a.${extension}`, text), hash: text }))!;
    return declarations;
  },
  scanner: scan,
};

/** Whether a reader knows the extension here. */
function reads(reader: string, extension: string): boolean {
  const grammar = grammarFor(extension, TEXTS[extension]!("a"));
  return reader === "scanner" || (grammar !== undefined && !isHazard(grammar.grammar));
}

/** Holds what is found with a name against what is found with one of ASCII in its place. */
async function hold(reader: string, extension: string, name: string): Promise<number> {
  const plain = /^\p{Lu}/u.test(name) ? "Zabc" : "zabc", text = TEXTS[extension]!;
  const expected = await READERS[reader]!(text(plain), extension),
    found = await READERS[reader]!(text(name), extension);
  assertEquals(
    found.map(told),
    expected.map((region) => told({ ...region, name: region.name.replaceAll(plain, name) })),
    `${reader} ${extension} ${JSON.stringify(name)}`,
  );
  return expected.filter((region) => region.name.includes(plain)).length;
}

describe("a name in the map", () => {
  it("is looked for in every language there is a grammar for", () => {
    const covered = new Set(
      Object.entries(TEXTS).map(([extension, text]) => grammarFor(extension, text("a"))?.grammar),
    );
    assertEquals(Object.keys(GRAMMARS).filter((grammar) => !covered.has(grammar)), []);
  });

  for (const reader of Object.keys(READERS)) {
    for (const [script, names] of Object.entries(NAMES)) {
      it(`is whole where it has ${script}, to the ${reader}`, async () => {
        let count = 0;
        for (const extension of Object.keys(TEXTS).filter((each) => reads(reader, each))) {
          for (const name of names) {
            const here = await hold(reader, extension, name);
            assert(here > 0, `nothing is found in ${extension}`);
            count += here;
          }
        }
        assert(count > names.length * 40, `${count} names`);
      });
    }

    it(`is whole whatever it is made of, to the ${reader}`, async () => {
      const character = fc.constantFrom(..."a|Z|7|_|é|ß|Ü|名|я|न|ा|𝒳|\u0301|\ufffd|😀|🏽|·|x".split("|"));
      const name = fc.array(character, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""))
        .filter((text) => !/^[\d·]/.test(text) && /\P{ASCII}/u.test(text));
      const extensions = Object.keys(TEXTS).filter((extension) => reads(reader, extension));
      await fc.assert(
        fc.asyncProperty(name, fc.constantFrom(...extensions), async (text, extension) => {
          await hold(reader, extension, text);
        }),
        { numRuns: 400 },
      );
    });
  }

  it("is not part of the word before it or behind it that is none", async () => {
    const text =
      "/* é */function\u00a0f\u00a0(a) {\n  return 1;\n}\nx≠y;\nfunction g（）{\n}\nfunction h(a) {\n  “é”;\n}\n";
    const found = await READERS.outline!(text, "js");
    assertEquals(found.map(({ name }) => name).filter((name) => /[^\w]/.test(name)), []);
    for (const { name } of scan(text, "js")) assert(!/\P{ASCII}/u.test(name), name);
  });

  it("is compared whole with its neighbour's: clauses of two names with one beginning stay two", async () => {
    const haskell = "module M where\n\nf名前 x = 1\nf名札 x = 2\ngö 1 = 1\ngö 2 = 2\n";
    assertEquals((await READERS.outline!(haskell, "hs")).map(({ start, end, name }) => `${start}-${end} ${name}`), [
      "3-3 f名前",
      "4-4 f名札",
      "5-6 gö",
    ]);
    const elixir =
      "defmodule A do\n  def f\ufffda(x), do: 1\n  def f\ufffdb(x), do: 2\n  def f\ufffdb(y), do: 3\nend\n";
    assertEquals((await READERS.outline!(elixir, "ex")).map(({ start, end, name }) => `${start}-${end} ${name}`), [
      "1-5 A",
      "2-2 f\ufffda",
      "3-4 f\ufffdb",
    ]);
  });

  it("may begin like a word that declares something, or be one with a mark", async () => {
    for (const reader of Object.values(READERS)) {
      const found = await reader("function ifé() {\n}\nfunction classé() {\n}\nclassé = 1;\n", "js");
      assertEquals(found.map(({ name }) => name), ["ifé", "classé"]);
    }
    assertEquals(scan("funcé(\n", "zzz"), []);
  });
});
