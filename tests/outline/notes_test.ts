/**
 * The note of an entry: the first sentence of its documentation, else its signature without values.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { commentAbove, docString, firstSentence, signature as signatureOf } from "../../src/outline/notes.ts";

function signature(head: string, isFunction: boolean, hasLifetimes = false): string {
  return signatureOf(head, { isFunction, hasLifetimes });
}

function above(text: string, marker = "//"): string {
  const lines = text.split("\n");
  return commentAbove(lines, lines.length - 1, marker);
}

describe("the comment above a declaration", () => {
  it("is its first sentence, however the comment is written", () => {
    assertEquals(above("/** Rings. Then rests. */\nx"), "Rings.");
    assertEquals(
      above("/**\n * Rings so many\n * times, loudly.\n *\n * @param a\n */\nx"),
      "Rings so many times, loudly.",
    );
    assertEquals(above("/// Rings\n/// once\nx"), "Rings once");
    assertEquals(above("  //! Rings.\n  x"), "Rings.");
    assertEquals(above("# Rings.\n# Rests.\nx", "#"), "Rings.");
    assertEquals(above("--- Rings.\nx", "--"), "Rings.");
    assertEquals(above("-- | Rings.\nx", "--"), "Rings.");
    assertEquals(above("/* ------ */\nx"), "");
  });

  it("stands right above, with attributes between at most", () => {
    assertEquals(above("// Rings.\n\nx"), "");
    assertEquals(above("/// Rings.\n#[derive(Debug)]\n#[serde]\nx"), "Rings.");
    assertEquals(above("/** Rings. */\n@Deprecated\n@Foo(a = 1)\nx"), "Rings.");
    assertEquals(above("// Rings.\ny();\nx"), "");
    assertEquals(above("x"), "");
  });

  it("is not the end of one that is about something else, and not above a line that is a comment itself", () => {
    assertEquals(above("/** Rings. */\nfoo */\nx"), "");
    assertEquals(above("/* One. */ .a {}\n/* Two. */ .b {}", "/*"), "");
    assertEquals(above("// Rings.\n// */ f() {}"), "");
    assertEquals(above(`/**\n${"\n".repeat(300)}Rings.\n*/\nx`), "");
    assertEquals(above(`/**\n${"\n".repeat(100)}Rings.\n*/\nx`), "Rings.");
  });

  it("is looked for in a few lines, however many declarations there are", () => {
    let looks = 0;
    const lines = new Proxy(Array(20_000).fill("int f(){}*/") as string[], {
      get: (target, key, receiver) => {
        if (typeof key === "string" && /^\d+$/.test(key)) looks++;
        return Reflect.get(target, key, receiver);
      },
    });
    for (let row = 0; row < lines.length; row++) commentAbove(lines, row, "//");
    assert(looks < lines.length * 12, `${looks} looks`);
  });

  it("is not a directive, a marker or a preprocessor line", () => {
    assertEquals(above("// eslint-disable-next-line\nx"), "");
    assertEquals(above("// @ts-expect-error\nx"), "");
    assertEquals(above("// eslint-disable-next-line\n// Rings.\nx"), "Rings.");
    assertEquals(above("#include <a>\nx", "#"), "");
    assertEquals(above("// =========\n// Bells\n// =========\nx"), "Bells");
  });

  it("stops before the parameters and keeps no markup", () => {
    assertEquals(firstSentence(["Rings a bell", "- Parameter times: how often"]), "Rings a bell");
    assertEquals(firstSentence(["Rings a bell", "Args:", "  times"]), "Rings a bell");
    assertEquals(firstSentence(["<summary>Rings a <b>bell</b>.</summary>"]), "Rings a bell.");
    assertEquals(firstSentence(["Rings {@link Bell} e.g. once. Done."]), "Rings Bell e.g. once.");
    assertEquals(firstSentence([]), "");
  });
});

describe("a documentation string", () => {
  it("is read where a body begins with one", () => {
    assertEquals(docString(["", '    """Rings.', "", '    More."""'], 1), "Rings.");
    assertEquals(docString(["    r'''Rings", "    once.'''"], 0), "Rings once.");
    assertEquals(docString(['@doc "Rings."'], 0), "Rings.");
    assertEquals(docString(['  @doc """', "  Rings.", '  """'], 0), "Rings.");
    assertEquals(docString(["    return 'x'"], 0), "");
  });
});

describe("a signature", () => {
  it("is the head of the declaration on one line", () => {
    assertEquals(
      signature("function ring(\n  a: number,\n  b: string,\n): void {", true),
      "function ring( a: number, b: string, ): void",
    );
    assertEquals(signature("def ring(self, times) -> None:", true), "def ring(self, times) -> None");
    assertEquals(signature("fn ring<'a>(x: &'a str) -> u32 {", true, true), "fn ring<'a>(x: &'a str) -> u32");
    assertEquals(signature("class A<T> extends B<T> {", false), "class A<T> extends B<T>");
    assertEquals(signature('@Foo("x") @Bar public void ring()', true), "public void ring()");
  });

  it("holds no value: a default is left out, a quote ends it", () => {
    assertEquals(signature('f(a = "s", b: number = 4711, c)', true), "f(a=…, b: number=…, c)");
    assertEquals(signature("f({ a = 'x', b } = {}, c = [1, ')'])", true), "f({ a=…, b }=…, c=…)");
    assertEquals(signature('const a = "s"', false), "const a");
    assertEquals(signature("@property({ type: 's3cret' }) a", false).includes("s3cret"), false);
    assertEquals(signature('f("s3cret", a)', true), "f( …");
    assertEquals(signature("f(a: Literal['my s3cret'])", true), "f(a: Literal[ …");
    assertEquals(signature("def loud?(bell), do: bell.loud", true), "def loud?(bell)");
    assertEquals(signature("int this[int i] => 4711", true), "int this[int i]");
    assertEquals(signature("f(a /* 4711 */, b) // 4711", true), "f(a , b)");
    assertEquals(signature("def f(a):  # 4711", true), "def f(a)");
  });

  it("goes on past what a function is assigned with", () => {
    assertEquals(signature("const f = async (a, b) => {", true), "const f = async (a, b)");
    assertEquals(signature("const f = 4711", true), "const f");
  });

  it("never holds what stands in quotes, in any text", () => {
    const piece = fc.constantFrom(
      "a",
      "f",
      "(",
      ")",
      "{",
      "}",
      "[",
      "]",
      ",",
      "=",
      ":",
      " ",
      '"s3cret"',
      "'s3cret'",
      "`s3cret`",
      "\n",
      "<",
      ">",
      "=>",
      ";",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40, size: "max" }), fc.boolean(), (pieces, isFunction) => {
        const text = signature(pieces.join(""), isFunction);
        assert(!text.includes("s3cret") && !text.includes("\n") && text.length <= 400, text);
      }),
      { numRuns: 1000 },
    );
  });
});
