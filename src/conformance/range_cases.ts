/**
 * Ranges: what is asked for, what is shown, and how to go on, in the host's own numbers.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Case } from "./cases.ts";
import { code, linesOf, notesOf, span, type World } from "./world.ts";

/** The arguments that a map gives for the lines that follow. */
function following(note: string, args: Record<string, unknown>): Record<string, unknown> | undefined {
  const words = /Next lines: ([^.\n]*?)(?:, which begins at line 1 again)?\./.exec(note)?.[1];
  if (words === undefined) return undefined;
  return { ...args, ...JSON.parse(`{${words.replace(/(\w+): /g, '"$1": ')}}`) };
}

async function asWithout(world: World, path: string, odd: Record<string, unknown>): Promise<void> {
  const { guarded, bare } = await world.both({ ...world.args(path), ...odd });
  assert.equal(guarded.failed, bare.failed);
  assert.equal(guarded.text, bare.text);
}

/** The names of the arguments with a range, as the host has them. */
function rangeKeys(world: World): string[] {
  const path = `${world.root}/a.ts`, whole = world.args(path);
  return Object.keys(world.args(path, { start: 7, count: 3 })).filter((key) => !(key in whole));
}

/** Cases on ranges. */
export const rangeCases: readonly Case[] = [
  {
    name: "without the guards a long read is shown whole, and nothing is added to it",
    async run(world) {
      const path = await world.write("long.ts", code(390)), asking = { isBare: true };
      const { text, failed } = await world.one(world.args(path), asking);
      assert.deepEqual([linesOf(text), failed], [span(1, 390), false]);
      assert.doesNotMatch(text, /\[waymark /);
    },
  },
  {
    name: "a long read is shown as 200 lines and the map of the whole file, and is no failure",
    async run(world) {
      const path = await world.write("long.ts", code(390)), shown = await world.one(world.args(path));
      assert.equal(shown.failed, false);
      assert.deepEqual(linesOf(shown.text), span(1, 200));
      const note = notesOf(shown.text);
      assert.match(note, /PARTIAL, lines 1-200 of 390/);
      assert.match(note, /\b300-300 {2}function {2}f300\b/);
    },
  },
  {
    name: "a read of 200 lines is shown as it is",
    async run(world) {
      const path = await world.write("short.ts", code(200)), { guarded, bare } = await world.both(world.args(path));
      assert.equal(guarded.text, bare.text);
      assert.deepEqual(linesOf(guarded.text), span(1, 200));
    },
  },
  {
    name: "a long range is shortened from its own first line, and told in the file's own numbers",
    needsOffset: true,
    async run(world) {
      const path = await world.write("long.ts", code(1000)), args = world.args(path, { start: 301, count: 500 });
      const { text } = await world.one(args);
      assert.deepEqual(linesOf(text), span(301, 500));
      assert.match(notesOf(text), /PARTIAL, lines 301-500 of 1000/);
    },
  },
  {
    name: "what the map gives to go on with, followed to the letter, shows the next lines",
    async run(world) {
      const path = await world.write("long.ts", code(350)), args = world.args(path);
      const next = following(notesOf((await world.one(args)).text), args);
      assert.ok(next, "the map says how to go on");
      const lines = linesOf((await world.one(next)).text);
      assert.deepEqual(lines.slice(-150), span(201, 350));
    },
  },
  {
    name: "numbers as strings, fractions, words, nothing and less than nothing are answered as without the guards",
    async run(world) {
      const path = await world.write("long.ts", code(300));
      for (const key of rangeKeys(world)) {
        for (const odd of [1.5, "1e3", "", null, -1, 0, {}, [], [10], [5, 1], ["a", "b"]]) {
          const args = { ...world.args(path), [key]: odd }, read = world.host.dialect.parse(args);
          if (read && (read.count ?? 300) > 200) continue; // the dialect knows what it means: a long read
          await asWithout(world, path, { [key]: odd });
        }
      }
    },
  },
  {
    name: "a range in digits is the range",
    async run(world) {
      const path = await world.write("long.ts", code(600)), asked = world.args(path, { start: 1, count: 90 });
      const digits = Object.fromEntries(
        Object.entries(asked).map((
          [key, value],
        ) => [key, Array.isArray(value) ? value.map(String) : typeof value === "number" ? String(value) : value]),
      );
      await asWithout(world, path, digits);
    },
  },
  {
    name: "a read behind the end of the file keeps the tool's own words",
    async run(world) {
      const path = await world.write("short.ts", code(300)), args = world.args(path, { start: 5000, count: 100 });
      const { guarded, bare } = await world.both(args);
      assert.deepEqual([guarded.text, guarded.failed], [bare.text, bare.failed]);
      const edge = await world.both(world.args(path, { start: 301, count: 400 }));
      assert.deepEqual([edge.guarded.text, edge.guarded.failed], [edge.bare.text, edge.bare.failed]);
    },
  },
  {
    name: "a file of 201 lines is a long one, with or without a newline at its end",
    async run(world) {
      for (const text of [code(201), code(201).trimEnd()]) {
        const { text: shown } = await world.one(world.args(await world.write("edge.ts", text)));
        assert.deepEqual(linesOf(shown), span(1, 200));
        assert.match(notesOf(shown), /PARTIAL, lines 1-200 of 201/);
      }
    },
  },
  {
    name: "lines that end in CRLF are counted once",
    async run(world) {
      const { text } = await world.one(world.args(await world.write("crlf.ts", code(300).replaceAll("\n", "\r\n"))));
      assert.deepEqual(linesOf(text), span(1, 200));
      assert.match(notesOf(text), /PARTIAL, lines 1-200 of 300/);
    },
  },
];
