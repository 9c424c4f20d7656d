/**
 * What both parsers share: languages by extension, the limit on entries, the paragraph.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  contentsOf,
  cutName,
  depthsOf,
  extensionOf,
  languageName,
  limitOutline,
  MAX_REGIONS,
  outlineProse,
} from "../../src/summary/outline_rules.ts";
import type { Region, RegionKind } from "../../src/types.ts";

function region(start: number, end: number, kind: RegionKind = "function", name = `f${start}`): Region {
  return { start, end, kind, name, note: "" };
}

describe("the extension of a file", () => {
  it("is what stands after the last dot of its name, in lower case", () => {
    assertEquals(extensionOf("src/a.b/maps.test.TS", ""), "ts");
    assertEquals(extensionOf("C:\\work.d\\a.Py", ""), "py");
    assertEquals(extensionOf("a.", ""), "");
  });

  it("is told by the first line where the name has none", () => {
    assertEquals(extensionOf("bin/run", "#!/usr/bin/env bash\n"), "bash");
    assertEquals(extensionOf("bin.d/run", "#!/usr/bin/python3.11 -u\n"), "py");
    assertEquals(extensionOf("run", "#!/usr/bin/env -S node --test\n"), "js");
    assertEquals(extensionOf("run", "#!/usr/bin/env -S deno run -A\n"), "ts");
    assertEquals(extensionOf("run", "\n#!/bin/sh\n"), "");
    assertEquals(extensionOf("Makefile", "all:\n"), "");
  });

  it("stands for a language a person knows, or for none", () => {
    assertEquals(["ts", "mjs", "h", "kt", "yml"].map(languageName), [
      "TypeScript",
      "JavaScript",
      "C or C++ header",
      "Kotlin",
      "YAML",
    ]);
    assertEquals(languageName("constructor"), "");
  });
});

describe("the limit on entries", () => {
  it("leaves an outline of as many entries as allowed alone but for its order", () => {
    const regions = Array.from({ length: MAX_REGIONS }, (_, index) => region(MAX_REGIONS - index, MAX_REGIONS - index));
    const { regions: kept, omitted } = limitOutline(regions);
    assertEquals([kept.length, omitted], [MAX_REGIONS, 0]);
    assertEquals(kept.map(({ start }) => start), [...kept.keys()].map((index) => index + 1));
  });

  it("leaves out the deepest level first, and of one level the shortest", () => {
    const regions = [
      region(1, 100, "class", "Outer"),
      region(2, 50, "method", "long"),
      region(10, 20, "function", "inner"),
      region(60, 61, "method", "short"),
      region(101, 101, "function", "last"),
    ];
    assertEquals(limitOutline(regions, 4).regions.map(({ name }) => name), ["Outer", "long", "short", "last"]);
    assertEquals(limitOutline(regions, 3), { regions: [regions[0]!, regions[1]!, regions[4]!], omitted: 2 });
    assertEquals(limitOutline(regions, 1).regions.map(({ name }) => name), ["Outer"]);
  });

  it("keeps equals from all over the file, not from its start alone", () => {
    const regions = Array.from({ length: 4000 }, (_, index) => region(index + 1, index + 1));
    const { regions: kept, omitted } = limitOutline(regions);
    assertEquals([kept.length, omitted], [400, 3600]);
    for (let tenth = 0; tenth < 10; tenth++) {
      const here = kept.filter(({ start }) => Math.floor((start - 1) / 400) === tenth).length;
      assert(here >= 20, `${here} of 400 in tenth ${tenth}`);
    }
  });

  it("never loses count, for any outline", () => {
    const one = fc.record({ start: fc.integer({ min: 1, max: 50 }), length: fc.integer({ min: 0, max: 50 }) });
    fc.assert(fc.property(fc.array(one, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (list, max) => {
      const regions = list.map(({ start, length }) => region(start, start + length));
      const { regions: kept, omitted } = limitOutline(regions, max);
      assertEquals(kept.length + omitted, regions.length);
      assert(kept.length <= max);
      kept.forEach((each, index) => assert(index === 0 || kept[index - 1]!.start <= each.start));
      assert(kept.every((each) => regions.includes(each)));
    }));
  });
});

describe("the depth of entries", () => {
  it("counts what each one lies in", () => {
    const sorted = [region(1, 30), region(2, 10), region(3, 4), region(11, 20), region(31, 31)];
    assertEquals(depthsOf(sorted), [0, 1, 2, 1, 0]);
  });
});

describe("the paragraph", () => {
  const regions = [
    region(1, 3, "import", "imports"),
    region(5, 50, "class", "Bell"),
    region(6, 9, "method", "ring"),
    region(10, 12, "method", "toll"),
    region(60, 70, "function", "build"),
    region(80, 90, "other", "app.get /"),
  ];

  it("says the language, the size, what was found at the top level, and that no model wrote it", () => {
    assertEquals(
      outlineProse(contentsOf(regions), { extension: "ts", lines: 1413, maker: "outline" }),
      "TypeScript, 1413 lines: 2 methods, 1 class, 1 function, 1 other block. At the top level: Bell, build. " +
        "Found by a parser; no model read the file or wrote this.",
    );
  });

  it("says that a scanner can miss declarations", () => {
    const prose = outlineProse(contentsOf(regions), { extension: "xyz", lines: 90, maker: "scanner" });
    assertStringIncludes(prose, "Text, 90 lines");
    assertStringIncludes(prose, "can miss declarations; no model read the file");
  });

  it("says where the parser could not follow", () => {
    assertStringIncludes(
      outlineProse(contentsOf(regions), { extension: "c", lines: 90, maker: "outline", damaged: true }),
      "could not be parsed",
    );
  });

  it("takes what a namespace holds for the top level", () => {
    const inside = [
      region(1, 90, "other", "namespace a"),
      region(2, 50, "class", "Bell"),
      region(3, 4, "class", "Inner"),
    ];
    assertStringIncludes(
      outlineProse(contentsOf(inside), { extension: "cpp", lines: 90, maker: "outline" }),
      "top level: Bell. ",
    );
  });

  it("stays within what a map may hold, whatever the names", () => {
    const many = Array.from(
      { length: 400 },
      (_, index) => region(index + 1, index + 1, "function", `${index}${"n".repeat(110)}`),
    );
    const prose = outlineProse(contentsOf(many), { extension: "ts", lines: 400, maker: "scanner" });
    assert(prose.length <= 2400, String(prose.length));
    assertStringIncludes(prose, "and 376 more");
  });

  it("tells of the whole outline, also of what a map has no room for, in whatever order it comes", () => {
    const many = Array.from({ length: 900 }, (_, index) => region(index + 1, index + 1, "function", `f${index + 1}`));
    const prose = outlineProse(contentsOf(many.toReversed()), { extension: "ts", lines: 900, maker: "outline" });
    assertStringIncludes(prose, "900 lines: 900 functions. At the top level: f1, f2, f3, ");
    assertStringIncludes(prose, "f24 and 876 more.");
  });
});

describe("a name", () => {
  it("hides no split: nothing that is not seen stands between plain letters, whatever it is made of", () => {
    for (
      const unseen of ["\u034f", "\ufff9", "\u034f\ufff9\u034f", "\u200b\u3164", "\u034f\u0085\u034f", "\u00ad\u034f"]
    ) {
      assertEquals(cutName(`a${unseen}b`).replace(" ", ""), "ab", JSON.stringify(unseen));
    }
    assertEquals([cutName("a \u034f b"), cutName("\u034fa\u034f"), cutName("क\u034fख")], ["a b", "a", "क\u034fख"]);
  });

  it("is empty where nothing of it shows", () => {
    for (const unseen of ["\u3164", "\u034f\ufff9", " \u200d ", "\u115f\u1160\ufe0f", "\u0001\u2028"]) {
      assertEquals(cutName(unseen), "", JSON.stringify(unseen));
    }
    const named = [region(1, 2, "function", "\u3164"), region(3, 4, "function", "f")];
    assertStringIncludes(
      outlineProse(contentsOf(named), { extension: "ts", lines: 4, maker: "scanner" }),
      "At the top level: (unnamed), f.",
    );
  });

  it("stays as it is when it is cut again, and hides nothing then", () => {
    const piece = fc.constantFrom(
      ..."a|B| |é|\u034f|\ufff9|\u200d|\u3164|\u0085|\u2028|\u00ad|\ufe0f|\u0000|😀|\ud83d|\u0301".split("|"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), fc.integer({ min: 1, max: 20 }), (pieces, max) => {
        const name = cutName(pieces.join(""), max), told = JSON.stringify(name);
        assertEquals(cutName(name, max), name);
        assert(!/(?<=[ -~])[\p{DI}\p{Cf}]+(?=[ -~])|^[\p{DI}\p{Cf}]+$|\s\s/u.test(name), told);
      }),
      { numRuns: 3000 },
    );
  });

  it("is one clean line within its cap, never cut inside a character", () => {
    assertEquals(cutName(" a\n\tb\u202e\u0000c "), "ab c".replace("ab", "a b"));
    assertEquals(cutName("😀".repeat(80), 120).length <= 120, true);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 150 }), (text, max) => {
        const name = cutName(text, max);
        assert(name.length <= max && name.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(name), JSON.stringify(name));
      }),
    );
  });
});
