/**
 * What the scanner adds to a damaged tree.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Declaration, LONG_FUNCTION } from "../../src/outline/collect.ts";
import { missing } from "../../src/outline/missing.ts";
import type { Region, RegionKind } from "../../src/types.ts";

function region(start: number, end: number, name: string, kind: RegionKind = "function"): Region {
  return { start, end, kind, name, note: "" };
}

function declaration(start: number, end: number, name: string, kind: RegionKind = "function"): Declaration {
  return { ...region(start, end, name, kind), line: start };
}

/** What is asked of each pair, one by one. */
function fits(found: Region, { start, end, kind }: Declaration): boolean {
  const isApart = found.end < start || found.start > end, holds = found.start <= start && found.end >= end;
  const isShort = (kind === "function" || kind === "method") && end - start < LONG_FUNCTION;
  return isApart || holds || (start <= found.start && end >= found.end && !isShort);
}

describe("what the scanner found and the tree has not", () => {
  const tree = [declaration(10, 20, "a"), declaration(30, 130, "long"), declaration(140, 160, "B", "class")];

  it("is added where it lies apart, around a declaration, in a long function or in a class", () => {
    const found = [
      region(1, 2, "before"),
      region(5, 25, "around"),
      region(40, 45, "inLong"),
      region(141, 142, "inClass"),
    ];
    assertEquals(missing(found, tree), found.map((each) => ({ ...each, line: each.start })));
    assertEquals(missing([region(200, 300, "behind")], tree).length, 1);
  });

  it("is not where it lies in a short function or across an edge", () => {
    assertEquals(missing([region(12, 14, "in"), region(5, 15, "over"), region(15, 25, "under")], tree), []);
  });

  it("is not where its name or its line is known", () => {
    assertEquals(missing([region(200, 201, "a"), region(10, 20, "other")], tree), []);
  });

  it("is what asking of every pair gives, for any two lists", () => {
    const span = fc.record({
      start: fc.integer({ min: 1, max: 150 }),
      length: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 140 })),
      kind: fc.constantFrom<RegionKind>("function", "method", "class", "other"),
    });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 30 }), fc.array(span, { maxLength: 30 }), (a, b) => {
        // A line of its own apart from what it spans, so that none is left out for its line.
        const declarations = a.map(({ start, length, kind }, at) => ({
          ...declaration(start, start + length, `a${at}`, kind),
          line: 1000 + at,
        }));
        const found = b.map(({ start, length, kind }, at) => region(start, start + length, `b${at}`, kind));
        assertEquals(
          missing(found, declarations).map(({ name }) => name),
          found.filter((each) => declarations.every((other) => fits(each, other))).map(({ name }) => name),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it("is found by looking at each declaration a few times, not once for each found", () => {
    const count = 20_000;
    let looks = 0;
    const counted = Array.from({ length: count }, (_, at) =>
      new Proxy(declaration(at * 3 + 1, at * 3 + 2, `a${at}`), {
        get: (target, key) => {
          looks++;
          return Reflect.get(target, key);
        },
      }));
    const found = Array.from({ length: count }, (_, at) => region(at * 3 + 3, at * 3 + 3, `b${at}`));
    assertEquals(missing(found, counted).length, count);
    assert(looks <= count * 12, `${looks} looks`);
  });
});
