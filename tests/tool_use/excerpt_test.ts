import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { byteLength, excerpt, MARGIN, MAX_SENT, shownText } from "../../src/tool_use/excerpt.ts";

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
    assertEquals(parts.map(shownText), [`beforered [${png.length + 2} characters of base64]\nafter\ttab \ufffd end`]);
    assertEquals(excerpt("x".repeat(900)).parts, ["x".repeat(900)]);
    const hex = "0123456789abcdef".repeat(4);
    assertStringIncludes(excerpt(`sha256 ${hex}`).parts[0]!, hex);
  });

  it("holds nothing of what only steers a terminal", () => {
    for (
      const code of [
        "[31m",
        "[?25l",
        "(B",
        "%G",
        "]0;a title\u0007",
        "]8;;https://a.example\u001b\\",
        "P1$r0m\u001b\\",
        "_x\u009c",
      ]
    ) {
      assertEquals(excerpt(`one\u001b${code}two é\u001b${code}é`).parts.map(shownText), ["onetwo éé"], code);
    }
    assertEquals(excerpt("one\u001b]0;no end\ntwo\u0007three").parts.map(shownText), ["one ]0;no end\ntwo three"]);
  });

  it("keeps one character of what shows nothing between plain ones, for whoever masks, and no more of it is shown", () => {
    const [part = ""] = excerpt("a\0\u200b\u0085b\u00ad\u200bc\t\u0001\nd é\u0001\b\u0085é 👨‍👩‍👧\0").parts;
    assertEquals(part, "a\0b\u200bc\t\0\nd é é 👨‍👩‍👧\0");
    assertEquals(shownText(part), "a bc\t \nd é é 👨‍👩‍👧 ");
  });

  it("shows no control and nothing hidden between plain characters, whatever it is made of", () => {
    const unit = fc.constantFrom(
      ..."a|B|é|👨| |\t|\n|\r|\0|\b|\f|\u001b|[|]|m|\u0007|\u007f|\u0085|\u009b|\u200b|\u200d|\u034f|\ud83d".split("|"),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 20 }), (units) => {
        const [shown = ""] = excerpt(units.join("")).parts.map(shownText);
        assert(!/(?![\t\n\r])\p{Cc}|(?<=\p{ASCII})[\p{DI}\p{Cf}]+(?=\p{ASCII})/u.test(shown), JSON.stringify(shown));
        assertEquals(shownText(shown), shown);
      }),
      { numRuns: 2000 },
    );
  });

  it("is found in a time that grows with the text alone", () => {
    const started = performance.now();
    excerpt("a1B".repeat(130).slice(0, 399).concat(" ").repeat(5000));
    excerpt("A1b".repeat(1_500_000));
    for (const units of ["\u001b]", "\u001b[1;", "\u001b ", "\0", "\u200b", "é\u200b", "\u001b]x\n"]) {
      shownText(excerpt(units.repeat(700_000)).parts[0]!);
    }
    assert(performance.now() - started < 20_000);
  });
});
