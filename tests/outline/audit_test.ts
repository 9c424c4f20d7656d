/**
 * A model's regions held against an outline.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { outline } from "../../src/outline.ts";
import { auditRegions } from "../../src/outline/audit.ts";
import { createParse } from "../../src/outline/parser.ts";
import type { Region, RegionKind } from "../../src/types.ts";
import { atOnce, samples, sourceOf } from "./golden.ts";

function region(start: number, end: number, kind: RegionKind, name: string): Region {
  return { start, end, kind, name, note: `about ${name}` };
}

const text = [
  "class Bell {",
  "  ring() {",
  "  }",
  "  toll() {",
  "  }",
  "}",
  "function build_bell() {",
  "}",
  ...Array(92).fill("// x"),
]
  .join("\n");
const declarations = [
  region(1, 6, "class", "Bell"),
  region(2, 3, "method", "ring"),
  region(4, 5, "method", "toll"),
  region(7, 8, "function", "build_bell"),
];

function audit(regions: readonly Region[], found: readonly Region[] = declarations, content = text, lines = 100) {
  return atOnce(auditRegions(regions, { declarations: found, text: content, lines }));
}

function places(regions: readonly Region[]): string[] {
  return regions.map(({ start, end, name }) => `${start}-${end} ${name}`);
}

describe("the audit", () => {
  it("leaves what stands where the outline has it, and counts it", () => {
    const flat = [
      region(1, 1, "class", "Bell"),
      region(2, 3, "method", "ring"),
      region(7, 8, "function", "build_bell"),
    ];
    const { regions, audit: counts } = audit(flat);
    assertEquals(regions, flat);
    assertEquals(counts, { verified: 3, moved: 0, dropped: 0 });
  });

  it("moves a declaration to where the outline has it, and keeps its kind, name and note", () => {
    const { regions, audit: counts } = audit([region(12, 30, "function", "build_bell")]);
    assertEquals(regions, [{ ...region(7, 8, "function", "build_bell") }]);
    assertEquals(counts, { verified: 0, moved: 1, dropped: 0 });
  });

  it("puts a whole map right that is off by three, or by minus one", () => {
    for (const shift of [3, -1]) {
      const shifted = declarations.map(({ start, end, kind, name }) =>
        region(Math.max(1, start + shift), end + shift, kind, name)
      );
      const { regions, audit: counts } = audit(shifted);
      assertEquals(places(regions), ["1-1 Bell", "2-3 ring", "4-5 toll", "7-8 build_bell"]);
      assertEquals([counts.verified + counts.moved, counts.dropped], [4, 0]);
      assert(counts.moved >= 3);
    }
  });

  it("knows a name by its last part, whatever its case, marks and company", () => {
    for (
      const name of ["Bell#ring", "Bell.ring()", "Bell::Ring", "ring(times)", "method ring", "RING", "async ring<T>"]
    ) {
      assertEquals(places(audit([region(9, 9, "method", name)]).regions), [`2-3 ${name}`]);
    }
    assertEquals(places(audit([region(9, 9, "function", "buildBell")]).regions), ["7-8 buildBell"]);
  });

  it("drops and counts a declaration whose name is nowhere in the text", () => {
    const { regions, audit: counts } = audit([
      region(1, 6, "class", "Carillon"),
      region(7, 8, "function", "build_bell"),
    ]);
    assertEquals(places(regions), ["7-8 build_bell"]);
    assertEquals(counts, { verified: 1, moved: 0, dropped: 1 });
  });

  it("keeps what it cannot look up, unverified: sections, constants, names that are in the text", () => {
    const kept = [
      region(1, 6, "constant", "NOT_THERE"),
      region(7, 8, "other", "Carillon"),
      region(9, 20, "function", "x and what it does"),
      region(21, 30, "function", "(unnamed)"),
      region(31, 40, "test", "Carillon"),
    ];
    const { regions, audit: counts } = audit(kept);
    assertEquals(regions, kept);
    assertEquals(counts, { verified: 0, moved: 0, dropped: 0 });
  });

  it("leaves a name alone that is several declarations nearby, or one far away", () => {
    const twins = [
      region(10, 12, "method", "ring"),
      region(20, 22, "method", "ring"),
      region(90, 95, "function", "toll"),
    ];
    const content = `${text}\nring toll`;
    const { regions, audit: counts } = audit(
      [region(15, 16, "method", "ring"), region(40, 44, "function", "toll")],
      twins,
      content,
    );
    assertEquals(places(regions), ["15-16 ring", "40-44 toll"]);
    assertEquals(counts, { verified: 0, moved: 0, dropped: 0 });
  });

  it("takes the one of several that the region stands on", () => {
    const twins = [region(10, 12, "method", "ring"), region(20, 22, "method", "ring")];
    const { regions, audit: counts } = audit([region(20, 25, "method", "ring")], twins);
    assertEquals(places(regions), ["20-22 ring"]);
    assertEquals(counts, { verified: 0, moved: 1, dropped: 0 });
  });

  it("moves at most 40 lines", () => {
    const far = [region(50, 60, "function", "build_bell")];
    assertEquals(places(audit([region(10, 11, "function", "build_bell")], far).regions), ["50-60 build_bell"]);
    assertEquals(places(audit([region(9, 11, "function", "build_bell")], far).regions), ["9-11 build_bell"]);
  });

  it("leaves a function in two parts that was told in two parts", () => {
    const long = [region(10, 50, "function", "build_bell")];
    const parts = [region(10, 29, "function", "build_bell"), region(30, 50, "function", "build_bell")];
    const { regions, audit: counts } = audit(parts, long);
    assertEquals(places(regions), ["10-29 build_bell", "30-50 build_bell"]);
    assertEquals(counts, { verified: 1, moved: 0, dropped: 0 }); // its end was cut where the second part begins
  });

  it("lets what is verified win over what begins on the same line, and counts what that drops", () => {
    const { regions, audit: counts } = audit([
      region(9, 20, "function", "build_bell"),
      region(7, 30, "other", "helpers"),
    ]);
    assertEquals(places(regions), ["7-8 build_bell"]);
    assertEquals(counts, { verified: 0, moved: 1, dropped: 1 });
  });

  it("does nothing to a map of nothing, and nothing without declarations", () => {
    assertEquals(audit([]), { regions: [], audit: { verified: 0, moved: 0, dropped: 0 } });
    const alone = [region(9, 20, "function", "build_bell")];
    assertEquals(audit(alone, []), { regions: alone, audit: { verified: 0, moved: 0, dropped: 0 } });
  });

  it("gives a flat map inside the file and honest counts, for any regions and declarations", () => {
    const kinds: RegionKind[] = ["class", "function", "method", "type", "interface", "constant", "other", "test"];
    const one = fc.record({
      start: fc.integer({ min: 1, max: 100 }),
      length: fc.integer({ min: 0, max: 60 }),
      kind: fc.constantFrom(...kinds),
      name: fc.oneof(
        fc.constantFrom(
          "Bell",
          "ring",
          "toll",
          "build_bell",
          "Carillon",
          "Bell.ring",
          "",
          "x",
          "class Bell",
          "constructor",
          "__proto__",
        ),
        fc.string({ unit: "binary", maxLength: 12 }),
      ),
    });
    const list = fc.array(one, { maxLength: 25 }).map((items) =>
      items.map(({ start, length, kind, name }) => region(start, Math.min(100, start + length), kind, name))
    );
    fc.assert(
      fc.property(list, list, (regions, found) => {
        const { regions: flat, audit: { verified, moved, dropped } } = audit(regions, found);
        flat.forEach(({ start, end }, index) => {
          assert(1 <= start && start <= end && end <= 100);
          assert(index === 0 || flat[index - 1]!.end < start);
        });
        assert(verified >= 0 && moved >= 0 && verified + moved <= flat.length);
        assert(dropped >= 0 && flat.length + dropped <= regions.length);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the audit of an outline", () => {
  const parser = outline();
  const sample = samples().find(({ name }) => name === "typescript.ts")!;

  it("moves a model's declarations to the lines of the tree", async () => {
    const file = sourceOf(sample.name, sample.text);
    const tree = (await createParse()(file))!.declarations.filter(({ kind }) =>
      /class|interface|type|function|method/.test(kind)
    );
    const map = tree.map(({ start, end, kind, name }) => region(start + 3, Math.min(end + 3, file.lines), kind, name));
    const checked = await parser.audit(file, map);
    assertEquals(
      checked!.regions.map(({ start, name }) => [start, name]),
      tree.map(({ start, name }) => [start, name]),
    );
    assertEquals(checked!.audit, { verified: 0, moved: tree.length, dropped: 0 });
  });

  it("is none for a file without a grammar", async () => {
    assertEquals(await parser.audit(sourceOf("a.yaml", "a:\n  b\n"), [region(1, 2, "class", "Nothing")]), undefined);
  });

  it("is none, not an error, where parsing fails", async () => {
    const broken = outline({
      grammar: () => {
        throw new Error("no grammar");
      },
    });
    const checked = await broken.audit(sourceOf("a.ts", "function a() {\n}\n"), [region(9, 9, "function", "a")]);
    assertEquals(checked?.regions, [{ ...region(1, 2, "function", "a") }]);
    const hostile = {
      ...sourceOf("a.ts", ""),
      get text(): string {
        throw new Error("gone");
      },
    };
    assertEquals(await parser.audit(hostile, []), undefined);
  });
});
