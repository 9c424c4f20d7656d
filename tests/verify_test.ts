import { assertEquals } from "@std/assert";
import { describe, it } from "node:test";
import { shownLines, verifiedLines } from "../src/verify.ts";

describe("verifiedLines()", () => {
  const window = "one\ntwo\nthree\nfour\n";
  it("counts the expected lines a text holds from its start", () => {
    for (
      const [text, count] of [
        ["one\ntwo\nthree\nfour", 4],
        ["one\ntwo\nthree\nfour\n", 4],
        ["one\r\ntwo\r\nthree\r\nfour\r\n", 4],
        ["\ufeffone\ntwo\nthree\nfour", 4],
        ["one\ntwo\nthree\nfour\n[more lines]\n", 4],
        ["[lines 1-4 of 9]\none\ntwo\nthree\nfour\n", 4],
        ["one\ntwo", 2],
        ["one\ntwo\nthr", 2],
        ["one\ntwo\n\n[2 more lines]", 2],
        ["one\ntwo\n(truncated)", 2],
        ["one\ntwo\nthr\n... [cut]", 2],
        ["", 0],
        ["uno\ntwo\nthree\nfour", 0],
        ["one\ntwo\nthree\nfive", 0],
        ["one\ntwo\nother", 0],
        ["one\ntwo\n[1, 2, 3]", 0],
        ["one\nother\nthree", 0],
        ["two\nthree", 0],
        ["one\ntwo\na\nb\nc\nd", 0],
      ] as const
    ) assertEquals(verifiedLines(text, window), count, JSON.stringify(text));
  });

  it("counts empty lines at the end, however the host ends its text", () => {
    for (const blank of ["one\n\n\n", "\n\n\n", "one\n \n\n"]) {
      for (const text of [blank, blank.slice(0, -1), blank.replaceAll("\n", "\r\n")]) {
        assertEquals(verifiedLines(text, blank), 3, JSON.stringify(text));
      }
      assertEquals(verifiedLines(`${blank}two\n\nthree\n`, blank, () => "two\n\nthree\n"), 6);
    }
    assertEquals(verifiedLines("one\n\ntwo\n\n\n", "one\n\n", () => "two\n\n\n"), 5);
    assertEquals(verifiedLines("one\r\ntwo\r\n\n", "one\ntwo\n", () => "\n"), 3);
  });

  it("counts the lines that go on behind those expected, up to the first that differs, whatever they end in", () => {
    const rest = (lines: number): string => ["five\n", "six\n", "seven\n"].slice(0, lines).join("");
    for (
      const [behind, count] of [
        ["five\nsix\nseven\n", 7],
        ["five\nsix\nseven", 7],
        ["five\r\nsix\r\nseven\r\n", 7],
        ["five\n", 5],
        ["five\nsieben\nseven\n", 5],
        ["cinque\nsix\n", 4],
      ] as const
    ) assertEquals(verifiedLines(window + behind, window, rest), count, JSON.stringify(behind));
  });

  it("takes no newline for a line the host did not give", () => {
    assertEquals(verifiedLines(`x${"\n".repeat(5)}`, "\n".repeat(5)), 0);
  });

  it("takes a long line that a host has cut for the same line", () => {
    const long = "x".repeat(3000);
    assertEquals(verifiedLines(`${long.slice(0, 2000)}... (line truncated)\ntwo`, `${long}\ntwo\n`), 2);
    assertEquals(verifiedLines(`${"y".repeat(2000)}\ntwo`, `${long}\ntwo\n`), 0);
  });
});

describe("shownLines()", () => {
  const block = "\n\n[waymark notice: no map]\nReason: none.\n[end of waymark notice]";
  const window = "one\ntwo\nthree\n", rest = (lines: number): string => ["four\n", "five\n"].slice(0, lines).join("");

  it("knows the block of a guard within this one from the file's lines", () => {
    assertEquals(shownLines(`one\ntwo${block}`, window, rest), 2);
    assertEquals(shownLines(`one\ntwo\nthree\nfour\n${block}`, window, rest), 4);
  });

  it("is none where a line stands above and as much goes on behind as in the file, changed or not", () => {
    const above = "new\none\ntwo\nthree\n", lines = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);
    for (const count of [1, 2, 30]) {
      const left = lines.slice(0, count), rest = (many: number): string => left.slice(0, many).join("");
      const changed = left.map((line) => `changed ${line}`).join("");
      for (const behind of [left.join(""), changed, changed.slice(changed.indexOf("\n") + 1) + lines.at(-1)]) {
        assertEquals(shownLines(above + behind, window, rest), 0, `${count} ${behind}`);
      }
      assertEquals(shownLines(above, window, rest), 3);
    }
  });

  it("is the window where a host's banner and footer stand around it, however few lines the file has more", () => {
    const file = '<file path="a.ts">\none\ntwo\nthree\n';
    for (
      const footer of ["[27 more lines]\n", "</file>\n", "\n(showing lines 1-3)\n</file>\n", "... 1 line is cut\n"]
    ) {
      for (const count of [1, 2, 30]) {
        const rest = (many: number): string => "line\n".repeat(Math.min(many, count));
        assertEquals(shownLines(file + footer, window, rest), 3, `${footer}, ${count} more`);
      }
    }
    for (const end of ["</html>\n", "</div>\n"]) {
      const html = (many: number): string => end.repeat(Math.min(many, 1));
      assertEquals(shownLines("new\none\ntwo\nthree\n</html>\n", window, html), 0, "the file's own end");
    }
  });

  it("is none where lines of markup stand above, whatever changed behind: only the end of a tag that stands there is a host's", () => {
    for (const above of ["</div>\n", "<p>x</p>\n", "const s = <b>x</b>;\n", "<divider/>\n"]) {
      for (const behind of ["vier\n", "</div>\n", "vier\n</div>\n"]) {
        const lines = behind.split("\n").length - 1;
        const rest = (many: number): string => "line\n".repeat(Math.min(many, lines));
        assertEquals(shownLines(`${above}one\ntwo\nthree\n${behind}`, window, rest), 0, `${above}${behind}`);
      }
    }
  });

  it("is none where a line stands above and more of the file goes on behind, with or without a block", () => {
    for (const end of ["", block]) {
      assertEquals(shownLines(`new\none\ntwo\nthree\nfour\nfive\n${end}`, window, rest), 0);
    }
  });
});
