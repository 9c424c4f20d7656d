import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { cleanLine, cleanText, cutText, withoutUnseen } from "../../src/summary/text.ts";

/** Any string at all, with more than its share of what breaks cutting and cleaning. */
const anyText = fc.array(
  fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "😀",
      "\ud83d",
      "\ude00",
      "👨‍👩‍👧",
      "𠀀",
      "\u202e",
      "\u200d",
      "\ufeff",
      "\r\n",
      "\u2028",
      "\u0007",
      "a ",
      "word ",
    ),
  ),
  { maxLength: 60 },
).map((parts) => parts.join(""));

/** Controls that show nothing. */
const controls = Array.from({ length: 0xa0 }, (_, point) => String.fromCharCode(point))
  .filter((one) => /(?![\t\n\r])\p{Cc}/u.test(one));

/** A few letters among whatever shows nothing, reorders, joins or breaks a line. */
const hiddenText = fc.array(
  fc.constantFrom(
    ..."a|B|1|é|م|👨|️| |\u00a0|\t|\r\n|\u2028|\u0000|\b|\f|\u001b|\u007f|\u0080|\u0085|\u009f|\u200b|\u200c|\u200d|\u034f|\u3164|\u180e|\u00ad|\ufff9|\ufeff|\u0600|\ud83d|\u{e0041}"
      .split("|"),
  ),
  { maxLength: 14 },
).map((parts) => parts.join(""));

describe("cleaning a text", () => {
  it("makes one line of many", () => {
    assertEquals(
      cleanText("  one\r\n\ttwo\u2028three\u2029four \ffive\v\nsix\u00a0seven  "),
      "one two three four five six seven",
    );
  });

  it("takes out control characters, ends of colour codes left harmless", () => {
    assertEquals(cleanText("a\u0000b\u001b[31mc\u007f"), "ab[31mc");
    assertEquals(cleanText("é\u0000è \u0007\u0085à"), "é è à");
  });

  it("takes out every control between plain letters but those that break a line or set a tab", () => {
    for (const control of controls) assertEquals(cleanText(`gh${control}p`), "ghp", JSON.stringify(control));
    for (const shown of ["\t", "\n", "\r"]) assertEquals(cleanText(`gh${shown}p`), "gh p");
  });

  it("leaves nothing hidden between plain letters and spaces, and does nothing the second time", () => {
    assertEquals(cleanText("a\u200c\u0085a"), "aa");
    assertEquals(cleanText("a\u0085\u3164a"), "aa");
    assertEquals(cleanText("é\u0085\u3164a\u2028\u200c\u2028b"), "é a b");
    fc.assert(
      fc.property(hiddenText, (text) => {
        const line = cleanText(text);
        assertEquals(cleanText(line), line);
        assertEquals(withoutUnseen(line), line);
        assert(!/\p{Cc}|\p{Zl}|\p{Zp}|\s\s|^\s|\s$|(?<=\p{ASCII})[\p{DI}\p{Cf}]+(?=\p{ASCII})/u.test(line), line);
      }),
      { numRuns: 5000 },
    );
  });

  it("takes out characters that hide or reorder text, and keeps the joiners of emoji and scripts", () => {
    assertEquals(cleanText("a\u202eb\u2066c\u200bd\ufeffe\u{e0041}f\u00adg"), "abcdefg");
    assertEquals(cleanText("👨‍👩‍👧 می‌خواهم"), "👨‍👩‍👧 می‌خواهم");
  });

  it("replaces lone surrogates", () => {
    assertEquals(cleanText("x\ud83dy\ude00z"), "x\ufffdy\ufffdz");
  });
});

describe("cutting a text", () => {
  it("leaves alone what fits", () => {
    assertEquals(cutText("exactly ten", 11), "exactly ten");
    assertEquals(cutText("", 0), "");
  });

  it("cuts at a word and says so with an ellipsis", () => {
    assertEquals(cutText("one two three four", 13), "one two…");
    assertEquals(cutText("one two three four", 14), "one two three…");
  });

  it("cuts inside a word where there is no space near", () => {
    assertEquals(cutText("a" + "b".repeat(50), 10), "abbbbbbbb…");
    assertEquals(cutText("a " + "b".repeat(50), 10), "a bbbbbbb…");
  });

  it("gives nothing where there is room for nothing", () => {
    assertEquals(cutText("abc", 0), "");
    assertEquals(cutText("abc", 1), "…");
  });

  it("never splits an emoji, wherever the cut falls", () => {
    for (const max of [78, 80, 118, 120, 158, 160, 198, 199, 200, 201, 500, 2400]) {
      for (let at = max - 4; at <= max + 2; at++) {
        for (const emoji of ["😀", "👨‍👩‍👧‍👦", "🇩🇪", "𠀀"]) {
          const cut = cutText("x".repeat(at) + emoji + "y".repeat(50), max);
          assert(cut.isWellFormed() && cut.length <= max && cut.endsWith("…"), JSON.stringify({ max, at, cut }));
          assert(!cut.endsWith("\u200d…"));
        }
      }
    }
  });
});

describe("a line that is cleaned and cut", () => {
  it("is well-formed, one line and within its cap, whatever came in, and is left alone the second time", () => {
    fc.assert(fc.property(anyText, fc.integer({ min: 0, max: 80 }), (text, max) => {
      const line = cleanLine(text, max);
      assert(line.isWellFormed());
      assert(line.length <= max);
      assert(!/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line));
      assertEquals(line, line.trim());
      assertEquals(cleanLine(line, max), line);
    }));
  });

  it("keeps every word that fits", () => {
    fc.assert(fc.property(fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 30 }), (words) => {
      const line = cleanLine(words.join(" "), 40);
      const kept = line.replace(/…$/, "");
      assert(words.join(" ").startsWith(kept));
      assert(line === kept || kept.length > 20 - 10);
    }));
  });
});
