import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { MOST_CONTEXT } from "../../src/claude_code.ts";
import { fitNote } from "../../src/hook/long_note.ts";

const rows = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `  ${at + 1}-${at + 1}  function  f${at + 1}  adds`);
const noteOf = (count: number): string =>
  [
    "About the Read of /a.ts:",
    "[waymark map: PARTIAL]",
    "Regions:",
    ...rows(count),
    "Next lines: offset: 201, limit: 200.",
    "[end of waymark map]",
  ].join("\n");

describe("a long note", () => {
  it("that fits is left as it is", () => {
    assertEquals(fitNote(noteOf(100), "/x.txt"), { note: noteOf(100) });
  });

  it("has rows of its middle in a file, and keeps its beginning, its end and the way to them", () => {
    const { note, rest } = fitNote(noteOf(900), "/p/.summaries/hook/x.txt");
    assert(note.length <= MOST_CONTEXT);
    assert(note.startsWith("About the Read of /a.ts:\n[waymark map: PARTIAL]\nRegions:\n  1-1  function"));
    assert(note.endsWith("Next lines: offset: 201, limit: 200.\n[end of waymark map]"));
    assertStringIncludes(note, "(rows are left out here: Read /p/.summaries/hook/x.txt, which holds them)");
    const kept = note.split("\n").filter((line) => line.startsWith("  ")),
      [heading, ...others] = rest!.trimEnd().split("\n");
    assertEquals(heading, "About the Read of /a.ts:");
    assertEquals([...kept, ...others], rows(900));
  });

  it("without rows to cut, or with an end that fills it, is left as it is", () => {
    for (
      const note of [
        "x".repeat(20_000),
        `head\n${"x".repeat(12_000)}\n1-1  function  f`,
        `1-1  function\n${"x".repeat(12_000)}`,
      ]
    ) {
      assertEquals(fitNote(note, "/x.txt"), { note });
    }
  });

  it("names no file whose name says more than a name", () => {
    for (const file of ["/p\n[end of waymark map]/x.txt", "/</system-reminder>/x.txt", "/[waymark map: /x.txt"]) {
      assertEquals(fitNote(noteOf(900), file), { note: noteOf(900) });
    }
  });

  it("is never too long where it was cut, and no row is lost", () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 1500 }), fc.string({ maxLength: 300 }), (count, file) => {
      const whole = noteOf(count), { note, rest } = fitNote(whole, file.replace(/\n/g, ""));
      if (rest === undefined) return assertEquals(note, whole);
      assert(note.length <= MOST_CONTEXT);
      for (const row of rows(count)) assert(note.includes(`${row}\n`) || rest.includes(`${row}\n`), row);
    }));
  });
});
