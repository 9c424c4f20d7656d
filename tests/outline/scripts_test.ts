/**
 * Code in files that are mostly something else.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { hasScripts, scriptsOnly } from "../../src/outline/scripts.ts";

function kept(text: string, extension: string): string {
  return scriptsOnly(text, extension).replace(/[ \n]+/g, " ").trim();
}

describe("the scripts of a file", () => {
  it("are looked for in Vue, Svelte, HTML and Astro alone", () => {
    assertEquals(["vue", "svelte", "html", "htm", "astro"].map(hasScripts), [true, true, true, true, true]);
    assertEquals(["ts", "tsx", "php", "md", ""].map(hasScripts), [false, false, false, false, false]);
  });

  it("keep their lines and columns, and nothing else is left", () => {
    const text = '<p>a</p>\r\n<SCRIPT lang="ts">\n  b();\n</SCRIPT>\n<style>c</style>\n<script>d()</script>\n';
    const code = scriptsOnly(text, "vue");
    assertEquals(code.length, text.length);
    assertEquals(code.split("\n").map((line) => line.trimEnd()), ["", "", "  b();", "", "", "        d()", ""]);
  });

  it("end where the file does not close them", () => {
    assertEquals(kept("<script>a()</script><script>b()", "html"), "a()");
    assertEquals(kept("<script", "html"), "");
  });

  it("are Astro's front matter, too", () => {
    assertEquals(kept("---\na();\n---\n<p/>\n<script>b()</script>\n", "astro"), "a(); b()");
    assertEquals(kept("\ufeff---\r\na();\r\n---\r\n", "astro").trim(), "a();");
    assertEquals(kept("---\na();\n---\n", "vue"), "");
    assertEquals(kept("---\na();\n", "astro"), "");
  });

  it("never change the length or the line breaks of any text", () => {
    const piece = fc.constantFrom(
      "<script>",
      "</script>",
      "<script a='b'>",
      "---\n",
      "\n",
      "x",
      "😀",
      "\ud800",
      "\r\n",
      "<",
    );
    const text = fc.array(piece, { maxLength: 40, size: "max" }).map((pieces) => pieces.join(""));
    fc.assert(fc.property(text, fc.constantFrom("vue", "astro"), (file, extension) => {
      const code = scriptsOnly(file, extension);
      assertEquals(code.length, file.length);
      assertEquals(code.replace(/[^\n]/g, ""), file.replace(/[^\n]/g, ""));
      for (let at = 0; at < code.length; at++) assert(code[at] === " " || code[at] === file[at]);
    }));
  });
});
