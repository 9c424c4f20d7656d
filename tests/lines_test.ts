/** Line arithmetic against a reference by `split`, and the shapes of text that break it elsewhere. */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { countLines, countUpTo, lineRange, lineWindow, mergeSpans, spanLines } from "../src/lines.ts";
import type { ByteReader } from "../src/line_types.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** The reference: lines with their endings. */
function reference(text: string): string[] {
  const lines = text.split("\n").map((line) => `${line}\n`);
  const last = lines.pop()!.slice(0, -1);
  return last === "" ? lines : [...lines, last];
}

/** The reference: lines without their endings. */

/** Gives bytes in pieces of the given sizes, then leaves rubbish behind them, as short reads do. */
function reader(bytes: Uint8Array, sizes: readonly number[] = [65_536]): ByteReader & { given: number } {
  let calls = 0;
  return {
    given: 0,
    read(buffer) {
      buffer.fill(10);
      const size = Math.min(sizes[calls++ % sizes.length]!, buffer.length, bytes.length - this.given);
      buffer.set(bytes.subarray(this.given, this.given + size));
      this.given += size;
      return size;
    },
  };
}

const texts = fc.array(
  fc.constantFrom("\n", "\r\n", "\r", "\f", "\u2028", "\u0085", "a", "bc", "é", "漢", "😀", " ", "\ufeff"),
  {
    maxLength: 40,
  },
).map((parts) => parts.join(""));
const positions = fc.integer({ min: 1, max: 30 });
const counts = fc.integer({ min: 1, max: 30 });
const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });

describe("the number of lines", () => {
  it("is that of the reference, in text and in bytes", () => {
    fc.assert(fc.property(texts, (text) => {
      assertEquals(countLines(text), reference(text).length);
      assertEquals(countLines(encode(text)), reference(text).length);
    }));
  });

  it("does not grow by a final newline", () => {
    const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}`).join("\n");
    assertEquals(countLines(lines(200)), 200);
    assertEquals(countLines(`${lines(200)}\n`), 200);
    assertEquals(countLines(lines(201)), 201);
    assertEquals(countLines(`${lines(201)}\n`), 201);
    assertEquals(countLines(`${lines(196)}\n\n\n\n`), 199);
  });

  it("is none in an empty file, one in a newline and one in a file without any", () => {
    assertEquals([countLines(""), countLines("\n"), countLines("x"), countLines(new Uint8Array())], [0, 1, 1, 0]);
  });

  it("counts a lone CR, a form feed and U+2028 as characters of a line", () => {
    assertEquals(countLines("aaa\rbbb\rccc\n".repeat(150)), 150);
    assertEquals(countLines("a\f\nb\u2028c\u2029d\u0085e\n"), 2);
    assertEquals(countLines("record\r".repeat(500)), 1);
  });

  it("is the same with one odd line ending among many", () => {
    const lf = Array.from({ length: 300 }, () => "x\n"), crlf = Array.from({ length: 300 }, () => "x\r\n");
    lf[150] = "x\r\n";
    crlf[150] = "x\n";
    assertEquals([countLines(lf.join("")), countLines(crlf.join(""))], [300, 300]);
  });
});

describe("a bounded count", () => {
  it("is the total or the limit, whichever is less, however the bytes arrive", () => {
    fc.assert(fc.property(texts, counts, sizes, (text, limit, pieces) => {
      const expected = Math.min(reference(text).length, limit);
      assertEquals(countUpTo(reader(encode(text), pieces), limit), expected);
      assertEquals(countUpTo(encode(text), limit), expected);
    }));
  });

  it("reads no further than it must", () => {
    const source = reader(encode("x\n".repeat(1_000_000)), [1000]);
    assertEquals(countUpTo(source, 201), 201);
    assertEquals(source.given, 1000);
    const exact = reader(encode("x\n".repeat(1000)), [402]);
    assertEquals(countUpTo(exact, 201), 201);
    assertEquals(exact.given, 402);
  });

  it("knows that a line exists by its first byte", () => {
    const source = reader(encode(`${"x\n".repeat(200)}${"y".repeat(100_000)}`), [401, 1000]);
    assertEquals(countUpTo(source, 201), 201);
    assertEquals(source.given, 401);
  });
});

describe("the span of a read", () => {
  it("is how many lines the reference would return", () => {
    fc.assert(fc.property(texts, positions, fc.option(counts, { nil: undefined }), (text, start, count) => {
      const lines = reference(text);
      const expected = lines.slice(start - 1, count === undefined ? undefined : start - 1 + count).length;
      assertEquals(spanLines(lines.length, start, count), expected);
    }));
  });

  it("is nothing past the end and one line at it", () => {
    assertEquals([spanLines(300, 300), spanLines(300, 301), spanLines(300, 5000, 10), spanLines(0, 1)], [1, 0, 0, 0]);
  });

  it("is counted from the first line that exists", () => {
    assertEquals(spanLines(300, 0), 300);
    assertEquals(spanLines(300, -5, 10), 10);
  });
});

describe("the range of some lines in bytes", () => {
  it("is where the reference has them, endings and all, and how many they are, wherever the bytes lie in memory", () => {
    fc.assert(
      fc.property(texts, positions, counts, fc.nat(9), (text, start, count, offset) => {
        const padded = new Uint8Array(encode(text).length + offset);
        padded.set(encode(text), offset);
        const bytes = padded.subarray(offset),
          lines = reference(text),
          shown = lines.slice(start - 1, start - 1 + count);
        const { from, to, lines: found } = lineRange(bytes, start, count);
        assertEquals(decode(bytes.subarray(from, to)), shown.join(""));
        assertEquals(found, shown.length);
        if (shown.length) assertEquals(from, encode(lines.slice(0, start - 1).join("")).length);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a window of lines", () => {
  it("holds the reference's lines with their own endings, however the bytes arrive", () => {
    fc.assert(
      fc.property(texts, positions, counts, sizes, (text, start, count, pieces) => {
        const lines = reference(text), shown = lines.slice(start - 1, start - 1 + count);
        const window = lineWindow(reader(encode(text), pieces), start, count);
        assertEquals(decode(window.bytes), shown.join(""));
        assertEquals(window.lines, shown.length);
        assertEquals(window.cut, false);
        assertEquals(window.more, lines.length > start - 1 + count);
        assertEquals(window.total, window.more ? undefined : lines.length);
      }),
      { numRuns: 500 },
    );
  });

  it("never holds more than it may, and says that it was cut", () => {
    fc.assert(
      fc.property(
        texts,
        positions,
        counts,
        sizes,
        fc.integer({ min: 1, max: 12 }),
        (text, start, count, pieces, maxBytes) => {
          const bytes = encode(text), whole = encode(reference(text).slice(start - 1, start - 1 + count).join(""));
          const window = lineWindow(reader(bytes, pieces), start, count, { maxBytes });
          assertEquals(window.bytes, whole.subarray(0, maxBytes));
          assertEquals(window.cut, whole.length > maxBytes);
          if (window.cut) {
            assertEquals(window.lines, countLines(window.bytes));
            assert(window.more && window.total === undefined);
          }
        },
      ),
    );
  });

  it("ends a line of many megabytes at its limit without reading it all", () => {
    const source = reader(new Uint8Array(10_000_000).fill(120));
    const window = lineWindow(source, 1, 200, { maxBytes: 100_000 });
    assertEquals([window.bytes.length, window.lines, window.cut, window.total], [100_000, 1, true, undefined]);
    assert(source.given < 300_000);
  });

  it("survives the next one: what it holds is its own copy", () => {
    const first = lineWindow(reader(encode("aaa\nbbb\n")), 1, 1);
    lineWindow(reader(encode("zzz\nzzz\n")), 1, 2);
    assertEquals(decode(first.bytes), "aaa\n");
  });

  it("costs no more at the top of a long file than of a short one", () => {
    const long = reader(encode("x\n".repeat(2_000_000))), short = reader(encode("x\n".repeat(2_000)));
    lineWindow(long, 1, 200);
    lineWindow(short, 1, 200);
    assert(long.given <= 65_536 && short.given <= 65_536);
  });
});

describe("spans of lines put together", () => {
  it("are as few as can be, sorted, with no line more or less", () => {
    const span = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat(12)).map(([start, more]) => ({
      start,
      end: start + more,
    }));
    fc.assert(fc.property(fc.array(span), (spans) => {
      const before = structuredClone(spans), merged = mergeSpans(spans);
      const linesOf = (all: readonly { start: number; end: number }[]) =>
        Array.from({ length: 60 }, (_, at) => all.some(({ start, end }) => start <= at && at <= end));
      assertEquals(linesOf(merged), linesOf(spans));
      for (const [at, { start }] of merged.entries()) if (at > 0) assert(start > merged[at - 1]!.end + 1);
      assertEquals(spans, before, "what is given is left as it is");
    }));
  });

  it("join where one begins in the line after another's last", () => {
    assertEquals(mergeSpans([{ start: 11, end: 20 }, { start: 1, end: 10 }, { start: 22, end: 22 }]), [
      { start: 1, end: 20 },
      { start: 22, end: 22 },
    ]);
    assertEquals(mergeSpans([{ start: 1, end: 50 }, { start: 3, end: 9 }]), [{ start: 1, end: 50 }]);
    assertEquals(mergeSpans([]), []);
  });
});
