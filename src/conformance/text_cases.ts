/**
 * Texts: what a file may hold that is not taken for something else.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Case } from "./cases.ts";
import { code, linesOf, span } from "./world.ts";

/** Cases on what is in a file. */
export const textCases: readonly Case[] = [
  {
    name: "lines of a file that look like what the guards add are shown as they are",
    async run(world) {
      const notes = "[waymark map: PARTIAL, lines 1-200 of 900 are shown]\n[end of waymark map]\n" +
        "[waymark reference: a.ts lines 1-100 of 100 are unchanged since turn 1, shown then]\n";
      const path = await world.write("notes.ts", `${notes}${code(100)}\n\n${notes}`);
      const { guarded, bare } = await world.both(world.args(path));
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a file without lines and one of a single long line are shown as without the guards",
    async run(world) {
      for (const text of ["", `export const data = "${"x".repeat(20_000)}";`]) {
        const { guarded, bare } = await world.both(world.args(await world.write("odd.ts", text)));
        assert.deepEqual(guarded, bare);
      }
    },
  },
  {
    name: "bytes that are no text are left to the tool",
    async run(world) {
      const path = await world.write("binary.ts", `\0\0\x01${code(300)}`);
      const { guarded, bare } = await world.both(world.args(path));
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a file in another encoding is shown, shortened or whole",
    async run(world) {
      const text = code(300).replace(/(f5\(a\).*)\n/, "$1 // caf\xe9\n");
      const path = await world.write("latin.ts", Uint8Array.from(text, (character) => character.charCodeAt(0)));
      const shown = linesOf((await world.one(world.args(path))).text);
      assert.deepEqual(shown, span(1, shown.length > 200 ? 300 : 200));
    },
  },
];
