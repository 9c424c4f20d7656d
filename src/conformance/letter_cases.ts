/**
 * Texts to the letter: what is easily lost on the way from a tool to a model.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Case } from "./cases.ts";
import { code, notesOf, slice } from "./world.ts";

/** So many lines, the first and the 200th of them with something at either end. */
function odd(lines: number, before: string, behind: string): string {
  const all = code(lines).split("\n").slice(0, -1);
  return all.map((line, at) => at === 0 || at === 199 ? `${before}${line}${behind}` : line).join("\n") + "\n";
}

/** Texts of so many lines that hosts are known to change, by what is in them. */
const TEXTS: readonly (readonly [what: string, make: (lines: number) => string, isLastEndOpen?: false])[] = [
  ["a byte order mark", (lines) => `\ufeff${code(lines)}`],
  ["line ends of CRLF, and some that are mixed", (lines) => code(lines).replaceAll(/([^5]\(a\).*)\n/g, "$1\r\n")],
  ["blanks and empty lines at the ends", (lines) => `\n \n\t\n${odd(lines - 6, "  \t", " \t ")}\n \n\n`, false],
  [
    "characters that are no line ends, or nothing to see",
    (lines) =>
      odd(
        lines,
        "/* \u2028\u2029\u0085\v\f\u00a0\u200b\u202e\u001b[1m */ ",
        " // e\u0301 \u{1f600}\u200d &lt; \\n %s $&",
      ),
  ],
];

/** Cases on texts to the letter. */
export const letterCases: readonly Case[] = [
  {
    name: "a short read is the tool's text, and nothing besides",
    needsTool: true,
    async run(world) {
      const text = code(120), args = world.args(await world.write("short.ts", text));
      const { guarded, bare } = await world.both(args);
      assert.deepEqual([bare.text, bare.failed, bare.images], [text, false, []]);
      assert.deepEqual(guarded, bare);
    },
  },
  ...TEXTS.map(([what, make, isLastEndOpen = true]): Case => ({
    name: `${what}: shown as they are, in a short read and in a long one`,
    needsTool: true,
    async run(world) {
      /** What must be in a result. Whether the last line has an end is another question. */
      const needed = (text: string): string => isLastEndOpen ? text.replace(/\r?\n$/, "") : text;
      for (const lines of [120, 300]) {
        const text = make(lines), { guarded, bare } = await world.both(world.args(await world.write("odd.ts", text)));
        assert.ok(bare.text.includes(needed(text)), `${lines} lines without the guards`);
        assert.ok(guarded.text.includes(needed(slice(text, { start: 1, count: 200 }))), `${lines} lines`);
      }
    },
  })),
  {
    name: "the letters of a text are those that are shown without the guards, and the map stands behind all of them",
    async run(world) {
      for (const lines of [120, 300]) {
        const path = await world.write("odd.ts", `\ufeff${TEXTS.slice(1).map(([, make]) => make(lines / 3)).join("")}`);
        const bare = await world.one(world.args(path, { start: 1, count: 200 }), { isBare: true });
        const { text, failed } = await world.one(world.args(path)), rest = text.slice(bare.text.length);
        assert.equal(failed, false);
        assert.ok(text.startsWith(bare.text), `${lines} lines`);
        if (lines === 300) assert.match(rest, /^\s*\[waymark map: (?![^]*\[waymark )/);
        assert.equal(notesOf(text), rest.trimStart());
      }
    },
  },
];
