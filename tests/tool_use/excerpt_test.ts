import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { byteLength, excerpt, MARGIN, MAX_SENT } from "../../src/tool_use/excerpt.ts";

describe("byteLength()", () => {
  it("is the length of the text as UTF-8, wherever its steps fall and whatever is in it", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.nat(3),
        fc.constantFrom(1, 150, 700),
        (text, shift, times) => {
          const long = "a".repeat(shift) + text.repeat(times);
          assertEquals(byteLength(long), new TextEncoder().encode(long).length);
        },
      ),
      { numRuns: 60 },
    );
    for (let shift = 0; shift < 4; shift++) {
      const long = "a".repeat(shift) + "😀é漢".repeat(20_000);
      assertEquals(byteLength(long), shift + 9 * 20_000);
    }
  });
});

describe("what is sent of a text", () => {
  it("is all of it where it is not long", () => {
    const text = "é".repeat(MAX_SENT);
    assertEquals(excerpt(text), { parts: [text], omitted: 0 });
  });

  it("is its two ends where it is long, each with a margin for what a cut could go through", () => {
    const text = `FIRST${"m".repeat(3 * MAX_SENT)}LAST`, { parts, omitted } = excerpt(text);
    assertEquals(parts.length, 2);
    assert(parts[0]!.startsWith("FIRST") && parts[1]!.endsWith("LAST"));
    assertEquals(parts[0]!.length + parts[1]!.length, MAX_SENT + 2 * MARGIN);
    assertEquals(omitted, text.length - MAX_SENT);
  });

  it("is as little of a result of 30 MB", () => {
    const { parts } = excerpt("some words\n".repeat(3_000_000));
    assertEquals(parts.join("").length, MAX_SENT + 2 * MARGIN);
  });

  it("holds no base64, colours or control characters, and is well-formed", () => {
    const png = "iVBORw0KGgo/9+".repeat(40_000);
    const { parts } = excerpt(`before\u001b[31mred\u001b[0m\0${png}==\nafter\ttab \ud83d end`);
    assertEquals(parts, [`beforered [${png.length + 2} characters of base64]\nafter\ttab \ufffd end`]);
    assertEquals(excerpt("x".repeat(900)).parts, ["x".repeat(900)]);
    const hex = "0123456789abcdef".repeat(4);
    assertStringIncludes(excerpt(`sha256 ${hex}`).parts[0]!, hex);
  });

  it("is found in a time that grows with the text alone", () => {
    const started = performance.now();
    excerpt("a1B".repeat(130).slice(0, 399).concat(" ").repeat(5000));
    excerpt("A1b".repeat(1_500_000));
    assert(performance.now() - started < 20_000);
  });
});
