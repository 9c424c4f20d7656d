/** The whole guard on any file and any range: what must hold whatever comes. */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { describe, it } from "node:test";
import { put } from "../support.ts";
import { contentOf, guarding, LONG, rowsOf } from "./field.ts";
import { type Args, follow, HOSTS, textOf, toolOf } from "./hosts.ts";

/** One line of any kind, as bytes in Latin-1. */
const line = fc.oneof(
  { weight: 6, arbitrary: fc.nat(9999).map((number) => `export function f${number}(a) { return a; }`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      " ",
      "}",
      "  // x",
      "12: x",
      "13|y",
      "[end of waymark map]",
      "... more lines",
      "<file>",
      "# h",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary", maxLength: 40 }).map((text) =>
      Buffer.from(text.replaceAll("\0", "0")).toString("latin1")
    ),
  },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 30 }).map((bytes) =>
      Buffer.from(bytes.filter((byte) => byte !== 0)).toString("latin1")
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "\r",
      "a\rb",
      "\f",
      "\xef\xbb\xbf",
      "\xe2\x80\xa8",
      "\xed\xa0\xbd",
      "x".repeat(3000),
    ),
  },
);
/** A file of any bytes, most often one of more than 200 lines. */
const file = fc.record({
  lines: fc.oneof(fc.array(line, { maxLength: 30 }), fc.array(line, { minLength: 195, maxLength: 420, size: "max" })),
  ending: fc.constantFrom("\n", "\n", "\n", "\r\n"),
  last: fc.constantFrom("", "\n", "\n\n"),
  mark: fc.constantFrom("", "", "", "\xef\xbb\xbf"),
  more: fc.oneof({ weight: 15, arbitrary: fc.constant("") }, { weight: 1, arbitrary: fc.constant("\0") }),
}).map(({ lines, ending, last, mark, more }) => Buffer.from(mark + more + lines.join(ending) + last, "latin1"));
/** A number as a model may give it. */
const given = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 420 }) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: 1e9 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 420 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom(null, 1.5, "1e3", NaN, "x", true) },
);

/** The file's lines as everybody counts them: by LF alone. */
const linesOf = (text: string): string[] => text === "" ? [] : text.split(/(?<=\n)/);

describe("any file, read by any range", () => {
  for (const host of HOSTS) {
    it(
      `is the tool's own answer, or its first 200 lines and a true map, on a host that ${host.name}`,
      LONG,
      () =>
        guarding(async (guarded) => {
          await fc.assert(
            fc.asyncProperty(file, given, given, async (bytes, first, second) => {
              put(guarded.folder, "a.ts", bytes);
              const text = textOf(join(guarded.folder, "a.ts")), all = linesOf(text);
              const keys = Object.keys(follow(host.dialect.describe(1, 1))), args: Args = { path: "a.ts" };
              if (keys[0] === "view_range") {
                if (first !== undefined || second !== undefined) args["view_range"] = [first ?? 1, second ?? -1];
              } else {
                for (const [index, value] of [first, second].entries()) {
                  if (value !== undefined) args[keys[index]!] = value;
                }
              }
              const before = JSON.stringify(args), asked = host.lines(args, all).join("");
              const { read, seen } = toolOf(host, guarded), result = await read(args);
              assertEquals(JSON.stringify(args), before);
              assert(seen.length >= 1 && seen.length <= 2);

              const content = contentOf(result), rows = rowsOf(result);
              for (const { start, end } of rows) {
                assert(1 <= start && start <= end && end <= all.length, `${start}-${end} of ${all.length}`);
              }
              if (!result.includes("\n[waymark map: ", content.length)) {
                assertEquals(result.startsWith(asked), true); // all of it, with a notice perhaps
                return;
              }
              const [, from, to, total] = /^\[waymark map: PARTIAL, lines (\d+)-(\d+) of (\d+) are shown/m.exec(
                result.slice(content.length),
              )!;
              assertEquals(Number(total), all.length);
              assertEquals(content, all.slice(Number(from) - 1, Number(to)).join(""));
              assertEquals([Number(to) - Number(from) + 1, linesOf(asked).length > 200, asked.startsWith(content)], [
                200,
                true,
                true,
              ]);
              assert(rows.length > 0);
              assertEquals(seen.length, 1);
            }),
            { numRuns: 200 },
          );
          // What the tool read is the file: its lines are never taken for others.
          const withheld = guarded.events.filter((event) => event.type === "failure" && event.reason === "changed");
          assertEquals(withheld, []);
          const { caps, hits } = guarded.waymark.stats();
          assert(caps > 5 && hits < caps, `${caps} were shortened`);
        }),
    );
  }
});
