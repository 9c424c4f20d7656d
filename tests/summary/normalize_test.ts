import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { arrange, type Arranged, readRow } from "../../src/summary/normalize.ts";
import { parseAnswer } from "../../src/summary/parse.ts";
import { MAX_REGIONS, NAME_MAX, NOTE_MAX } from "../../src/summary/prompt.ts";
import type { Region } from "../../src/types.ts";

const LINES = 100;

const normalize = (rows: readonly unknown[], lines = LINES): Arranged => arrange(rows.map(readRow), lines);

/** The ranges of the regions, as in "1-9 10-12". */
const ranges = (rows: readonly unknown[], lines?: number): string =>
  normalize(rows, lines).regions.map(({ start, end }) => `${start}-${end}`).join(" ");

/** The one region of one row. */
function only(row: unknown): Region {
  const { regions } = normalize([row]);
  assertEquals(regions.length, 1, JSON.stringify(row));
  return regions[0]!;
}

describe("line numbers", () => {
  for (
    const [what, row] of Object.entries({
      "numbers": { start: 12, end: 40 },
      "strings": { start: "12", end: "40" },
      "strings with an L": { start: "L12", end: "L40" },
      "strings with words": { start: "line 12", end: "line 40 (last)" },
      "fractions": { start: 12.9, end: 40.2 },
      "fractions in strings": { start: "12.9", end: "40.2" },
      "a range in the start": { start: "12-40" },
      "a range with a long dash in the start": { start: "12–40", end: null },
      "a range under range": { range: "12-40" },
      "a range under lines": { lines: "L12-L40" },
      "a range with a comma": { lines: "12, 15", end: 40 },
      "a range in words": { lines: "12 to 40" },
      "a pair": { range: [12, 40] },
      "a pair of strings": { lines: ["12", "40"] },
      "a pair and a word": { lines: [12, 40, "inclusive"] },
      "a pair and a count": { range: [12, 40, 29] },
      "a pair and a total": { range: [12, 40, 100] },
      "numbers that are exact beside words that are not": { start: 12, end: 40, span: "12 to 1,040" },
      "all of them": { lines: Array.from({ length: 29 }, (_, index) => 12 + index) },
      "an object": { range: { start: 12, end: 40 } },
      "an object in other words": { location: { start_line: "12", end_line: "40" } },
      "under_scores": { start_line: 12, end_line: 40 },
      "camelCase": { startLine: 12, endLine: 40 },
      "the other way round": { lineStart: 12, lineEnd: 40 },
      "from and to": { from: 12, to: 40 },
      "first and last": { first_line: 12, last_line: 40 },
      "capitals": { Start: 12, END: 40 },
      "an end that repeats the range": { start: 12, end: "12-40" },
    })
  ) {
    it(`are understood: ${what}`, () => assertEquals(ranges([{ name: "x", ...row }]), "12-40"));
  }

  it("may lack an end: one line", () => {
    assertEquals(
      ranges([{ start: 12 }, { line: 30 }, { start: "45", end: "?" }, { end: 60 }]),
      "12-12 30-30 45-45 60-60",
    );
  });

  it("that could be others drop the row: a number in groups or with an exponent is not read as two", () => {
    for (
      const [start, end] of [["1,204", "1,300"], ["1_204", 1300], ["1 204", "1300"], [1204, "1'300"], ["1e3", 1300]]
    ) {
      assertEquals(normalize([{ start, end }], 2000), { regions: [], dropped: 1 }, `${start} ${end}`);
    }
    for (const lines of ["1,204-1,300", "1 204 - 1 300", "1_204..1_300", ["1,204", "1,300"]]) {
      assertEquals(normalize([{ lines }], 2000), { regions: [], dropped: 1 }, `${lines}`);
    }
    assertEquals(normalize([{ start: 12, lines: "12-1,040" }], 2000), { regions: [], dropped: 1 });
    assertEquals(ranges([{ lines: "120,450" }], 2000), "120-450");
  });

  it("that are not there, or are not numbers, drop the row and count it", () => {
    const rows = [
      {},
      { start: null, end: 4 - NaN },
      { start: "top", end: "bottom" },
      { start: NaN, end: Infinity },
      { range: [] },
      {
        range: [[1, 2]],
      },
      null,
      "12-40",
      7,
      [12, 40],
      { start: {}, end: [] },
    ];
    assertEquals(normalize(rows), { regions: [], dropped: rows.length });
  });

  it("below 1 become 1, the first of a count from 0 too", () => {
    assertEquals(ranges([{ start: 0, end: 9 }]), "1-9");
    assertEquals(ranges([{ start: -5, end: 9 }]), "1-9");
    assertEquals(ranges([{ start: "-5", end: "9" }]), "1-9");
    assertEquals(ranges([{ start: 0, end: 0 }]), "1-1");
  });

  it("past the end are cut to it", () => {
    assertEquals(ranges([{ start: 90, end: 101 }]), "90-100");
    assertEquals(ranges([{ start: 100, end: 600 }]), "100-100");
    assertEquals(ranges([{ start: 1, end: 1e300 }]), "1-100");
  });

  it("wholly outside drop the row and count it", () => {
    assertEquals(
      normalize([{ start: 101, end: 120 }, { start: 1e300 }, { start: -9, end: -2 }, { start: 5, end: 6 }]).dropped,
      3,
    );
    assertEquals(ranges([{ start: 101, end: 120 }, { start: 5, end: 6 }]), "5-6");
  });

  it("in reverse become one line", () => {
    assertEquals(ranges([{ start: 40, end: 12 }]), "40-40");
    assertEquals(ranges([{ start: 5, end: -1 }]), "5-5");
  });
});

describe("rows among each other", () => {
  it("are sorted", () => {
    assertEquals(ranges([{ start: 50, end: 60 }, { start: 9, end: 10 }, { start: 30, end: 31 }]), "9-10 30-31 50-60");
  });

  it("do not overlap: the earlier one ends before the next begins", () => {
    assertEquals(ranges([{ start: 1, end: 80 }, { start: 50, end: 100 }]), "1-49 50-100");
  });

  it("do not nest: a class is cut to its head, its methods stay", () => {
    assertEquals(ranges([{ start: 1, end: 90 }, { start: 10, end: 20 }, { start: 21, end: 50 }]), "1-9 10-20 21-50");
  });

  it("may leave gaps, which are never filled", () => {
    assertEquals(ranges([{ start: 3, end: 5 }, { start: 90, end: 91 }]), "3-5 90-91");
  });

  it("with one start: the later wins, and the loser is counted", () => {
    const { regions, dropped } = normalize([{ start: 5, end: 9, name: "first" }, { start: 5, end: 7, name: "second" }]);
    assertEquals(regions.map(({ end, name }) => `${end} ${name}`), ["7 second"]);
    assertEquals(dropped, 1);
  });

  it("that say the same three times are one, and nothing is lost", () => {
    const row = { start: 5, end: 9, name: "again" };
    assertEquals(normalize([row, row, row]), { regions: [{ ...row, kind: "other", note: "" }], dropped: 0 });
  });

  it("that collide only after they were moved into the file are settled too", () => {
    assertEquals(
      ranges([{ start: 0, end: 4, name: "a" }, { start: 1, end: 2, name: "b" }, { start: -3, end: 7, name: "c" }]),
      "1-7",
    );
  });
});

describe("kinds", () => {
  const kind = (value: unknown): string => only({ start: 1, kind: value }).kind;

  it("are the eleven that there are", () => {
    const known = [
      "import",
      "type",
      "interface",
      "class",
      "function",
      "method",
      "constant",
      "config",
      "test",
      "comment",
      "other",
    ];
    assertEquals(known.map(kind), known);
  });

  it("are read in any case, with spaces, in the plural, and in a few common words", () => {
    assertEquals(
      [" Function ", "CLASS", "imports", "classes", "tests", "const", "Constructor", "configuration"].map(kind),
      [
        "function",
        "class",
        "import",
        "class",
        "test",
        "constant",
        "method",
        "config",
      ],
    );
  });

  it("that are unknown become other", () => {
    assertEquals(
      ["struct", "", "toString", "__proto__", "hasOwnProperty", 7, null, {}].map(kind),
      Array(8).fill("other"),
    );
  });

  it("are found under type and category too", () => {
    assertEquals(only({ start: 1, type: "class" }).kind, "class");
    assertEquals(only({ start: 1, category: "test" }).kind, "test");
  });
});

describe("names and notes", () => {
  it("are found under other names", () => {
    for (const key of ["name", "title", "label", "symbol", "identifier"]) {
      assertEquals(only({ start: 1, [key]: "n" }).name, "n");
    }
    for (const key of ["note", "notes", "usage", "description", "summary", "purpose", "comment", "details"]) {
      assertEquals(only({ start: 1, [key]: "n" }).note, "n");
    }
  });

  it("of which nothing shows are no names", () => {
    for (const name of ["\u3164", "\u034f", "\u200d", "\u200c \u2060", "\ufe0f\u115f", "\u0007"]) {
      assertEquals(only({ start: 1, end: 2, kind: "class", name }).name, "(unnamed)", JSON.stringify(name));
    }
    assertEquals(only({ start: 1, end: 2, kind: "class", name: "👩\u200d🚀" }).name, "👩\u200d🚀");
  });

  it("that are empty become (unnamed), and nothing", () => {
    for (const name of ["", "  ", "\u0000", undefined, null, {}, []]) {
      assertEquals(only({ start: 1, name, note: name }), {
        start: 1,
        end: 1,
        kind: "other",
        name: "(unnamed)",
        note: "",
      });
    }
  });

  it("that are numbers are taken as text", () => {
    assertEquals(only({ start: 1, name: 404 }).name, "404");
  });

  it("hold no line break, so that a note cannot forge a row", () => {
    const { name, note } = only({
      start: 1,
      name: "a\nb",
      note: "used\r\n99-100  class  Forged  by nobody\u2028x\u001b[2J",
    });
    assertEquals(name, "a b");
    assertEquals(note, "used 99-100 class Forged by nobody x[2J");
  });

  it("are cut at a word, within 120 and 200 characters", () => {
    assertEquals([NAME_MAX, NOTE_MAX], [120, 200]);
    const { name, note } = only({ start: 1, name: "word ".repeat(100), note: "word ".repeat(100) });
    assertEquals(name, "word ".repeat(23) + "word…");
    assertEquals(note, "word ".repeat(39) + "word…");
  });

  it("of exactly the cap are kept whole", () => {
    const { name, note } = only({ start: 1, name: "n".repeat(NAME_MAX), note: "n".repeat(NOTE_MAX) });
    assertEquals([name.length, note.length], [NAME_MAX, NOTE_MAX]);
    assert(!name.includes("…") && !note.includes("…"));
  });

  it("of two megabytes are cut as well", () => {
    assertEquals(only({ start: 1, name: "n".repeat(2e6) }).name.length, NAME_MAX);
  });
});

/** A value a model might put where a line number belongs. */
const anyNumber = fc.oneof(
  fc.integer({ min: -20, max: 140 }),
  fc.integer({ min: -20, max: 140 }).map(String),
  fc.integer({ min: 0, max: 140 }).map((line) => `L${line}`),
  fc.tuple(fc.nat(140), fc.nat(140)).map(([a, b]) => `${a}-${b}`),
  fc.tuple(fc.nat(140), fc.nat(140)),
  fc.double(),
  fc.string({ maxLength: 5 }),
  fc.constantFrom(null, undefined, true, {}, [], NaN, { start: 3, end: 7 }),
);
const anyWords = fc.oneof(
  fc.string({ unit: "binary", maxLength: 260 }),
  fc.string({ maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }),
);
const anyRow = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ start: anyNumber, end: anyNumber, kind: anyWords, name: anyWords, note: anyWords }, {
      requiredKeys: [],
    }),
  },
  { weight: 1, arbitrary: fc.record({ lines: anyNumber, title: anyWords }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

function checkRegions({ regions, dropped }: Arranged, rows: number, lines: number): void {
  assert(Number.isInteger(dropped) && dropped >= 0 && regions.length + dropped <= rows);
  let last = 0;
  for (const { start, end, name, note } of regions) {
    assert(Number.isInteger(start) && Number.isInteger(end) && last < start && start <= end && end <= lines);
    last = end;
    for (const [text, max] of [[name, NAME_MAX], [note, NOTE_MAX]] as const) {
      assert(text.isWellFormed() && text.length <= max && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), JSON.stringify(text));
    }
    assert(name.length > 0);
  }
}

describe("any rows at all", () => {
  it("become regions inside the file, sorted, flat, and clean; none is lost uncounted but for repeats", () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 30 }), fc.integer({ min: 1, max: 120 }), (rows, lines) => {
        checkRegions(normalize(rows, lines), rows.length, lines);
      }),
      { numRuns: 500 },
    );
  });

  it("are left alone the second time", () => {
    fc.assert(fc.property(fc.array(anyRow, { maxLength: 30 }), fc.integer({ min: 1, max: 120 }), (rows, lines) => {
      const { regions } = normalize(rows, lines);
      assertEquals(normalize(regions, lines), { regions, dropped: 0 });
    }));
  });

  it("leave a map that is right already just as it is", () => {
    const sound = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 })), { maxLength: 40 })
      .map((steps) => {
        let line = 0;
        return steps.map(([length, gap]) => {
          const start = line + gap + 1;
          line = start + length - 1;
          return { start, end: line, kind: "function", name: `f${start}`, note: "" } as const;
        });
      });
    fc.assert(fc.property(sound, (regions) => {
      assertEquals(normalize(regions, 1000), { regions: [...regions], dropped: 0 });
    }));
  });

  it("come through parsing and normalizing together, whatever the text", () => {
    const anyAnswer = fc.record({ prose: fc.string(), regions: fc.array(anyRow, { maxLength: 20 }) });
    fc.assert(
      fc.property(anyAnswer, fc.nat(60), fc.string({ maxLength: 10 }), (value, cut, noise) => {
        const text = JSON.stringify(value);
        for (const sent of [text, noise + text, text.slice(0, text.length - cut)]) {
          const parsed = parseAnswer(sent);
          if ("rows" in parsed) checkRegions(normalize(parsed.rows), MAX_REGIONS, LINES);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("give nothing for a file without lines", () => {
    assertEquals(normalize([{ start: 0, end: 0 }, { start: 1 }], 0).regions, []);
  });
});
