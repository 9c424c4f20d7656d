/**
 * Results: their shapes, failures, images, and tools whose text is not the disk's.
 *
 * @module
 */

import assert from "node:assert/strict";
import { stripAnnotations } from "../file_map.ts";
import { scriptedModel } from "../testing.ts";
import type { Case } from "./cases.ts";
import type { ToolResult } from "./types.ts";
import { code, linesOf, notesOf, slice, span } from "./world.ts";

/** Two pictures of one pixel each. */
const PIXELS = [
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC",
] as const;

/** A failure of a class of its own. Hosts may say its name. */
class ReadFault extends Error {
  override readonly name = "ReadFault";
  readonly code = "EISDIR";
}

/** Cases on results. */
export const resultCases: readonly Case[] = [
  {
    name: "what the tool throws is shown in its own words, as a failure",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(1000));
      const message = "EISDIR: illegal operation on a directory, read";
      const tool = (): never => {
        throw new ReadFault(message);
      };
      const { guarded, bare } = await world.both(world.args(path), { tool });
      for (const { text, failed } of [bare, guarded]) {
        assert.equal(failed, true);
        assert.ok(text.includes(message), text);
      }
      assert.equal(stripAnnotations(guarded.text), bare.text);
    },
  },
  {
    name: "a missing file is the tool's own error",
    async run(world) {
      const { guarded, bare } = await world.both(world.args(`${world.root}/missing.ts`));
      assert.equal(guarded.failed, true);
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a tool that fails on a shortened read only is asked again as the model asked, or says so",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(400)), whole = world.args(path);
      const tool = (args: Record<string, unknown>): string => {
        if (world.host.dialect.parse(args)?.count === 200) throw new Error("no ranges here");
        return code(400);
      };
      const { text, failed } = await world.one(whole, { tool });
      if (failed) assert.match(notesOf(text), /once more reads all it asks for/);
      else assert.deepEqual(linesOf(text), span(1, 400));
    },
  },
  {
    name: "an image is shown as it is, alone or beside long text",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(300)), args = world.args(path);
      const images = PIXELS.map((data) => ({ type: "image", mimeType: "image/png", data }) as const);
      const alone = await world.both(args, { tool: () => images.slice(0, 1) });
      assert.deepEqual(alone.guarded, alone.bare);
      const beside = await world.both(args, {
        tool: () => [images[0]!, { type: "text", text: code(300) }, images[1]!],
      });
      assert.deepEqual(linesOf(beside.guarded.text), linesOf(beside.bare.text));
      for (const { images, failed } of [alone.bare, alone.guarded]) {
        assert.deepEqual([images, failed], [PIXELS.slice(0, 1), false]);
      }
      for (const { images, failed } of [beside.bare, beside.guarded]) {
        assert.deepEqual([images, failed], [PIXELS, false]);
      }
    },
  },
  {
    name: "text in several blocks keeps its order and every block",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(300));
      const texts = [code(150), "", code(75, 151), code(75, 226)];
      const tool = (): ToolResult => texts.map((text) => ({ type: "text", text }));
      const { guarded, bare } = await world.both(world.args(path), { tool });
      assert.equal(bare.text, texts.join("\n"));
      assert.ok(guarded.text.startsWith(bare.text));
      assert.equal(stripAnnotations(guarded.text.slice(bare.text.length)).trim(), "");
    },
  },
  {
    name: "text that is not the disk's is shown whole, without a map of what is on the disk",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(1000));
      const text = Array.from({ length: 400 }, (_, at) => `const other${at} = ${at};\n`).join("");
      const shown = await world.one(world.args(path), { tool: (args) => slice(text, world.host.dialect.parse(args)) });
      assert.doesNotMatch(notesOf(shown.text), /^\[waymark map/);
      assert.doesNotMatch(notesOf(shown.text), /function {2}f\d/);
      const notice = /once more reads all it asks for/.test(notesOf(shown.text));
      assert.ok(notice || shown.text.includes("const other399 = 399;"), "all of it is shown, or how to get it is");
    },
  },
  {
    name: "a file that is not on the disk is read all the same",
    needsTool: true,
    async run(world) {
      const { guarded, bare } = await world.both(world.args(`${world.root}/buffer.ts`), { tool: () => code(300) });
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a tool that has cut its text before is told of as cut there, of the file's real length",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(5000));
      const tool = (args: Record<string, unknown>): string => {
        const text = slice(code(5000), world.host.dialect.parse(args));
        return text.length > 4096 ? `${text.slice(0, 4096)}\n[output truncated at 4096 bytes]` : text;
      };
      const { text } = await world.one(world.args(path), { tool });
      const [, end, total] = /PARTIAL, lines 1-(\d+) of (\d+)/.exec(notesOf(text)) ?? [];
      if (end === undefined) return; // no claim was made
      assert.equal(total, "5000");
      assert.deepEqual(linesOf(text), span(1, Number(end)));
    },
  },
  {
    name: "line numbers of the tool's own stay, and the map fits them",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(400));
      const tool = (args: Record<string, unknown>): string => {
        const asked = world.host.dialect.parse(args), lines = slice(code(400), asked).trimEnd().split("\n");
        return lines.map((line, at) => `${String((asked?.start ?? 1) + at).padStart(6)}\t${line}`).join("\n");
      };
      const { text } = await world.one(world.args(path), { tool });
      assert.deepEqual(linesOf(text), span(1, 200));
      assert.match(text, /^ {4}17\texport function f17\(a\)/m);
      assert.match(notesOf(text), /PARTIAL, lines 1-200 of 400/);
    },
  },
  {
    name: "what was added can be taken off again, for who writes the text back",
    async run(world) {
      const path = await world.write("long.ts", code(1000)), { text } = await world.one(world.args(path));
      const bare = await world.one(world.args(path, { start: 1, count: 200 }));
      assert.deepEqual(linesOf(stripAnnotations(text)), linesOf(bare.text));
      assert.doesNotMatch(stripAnnotations(text), /\[waymark map/);
    },
  },
  {
    name: "where the model that maps fails, the read runs as asked and the model is told why",
    async run(world) {
      const path = await world.write("long.ts", code(300));
      const options = { model: scriptedModel([new Error("overloaded, come back")]) };
      const shown = await world.one(world.args(path), { options });
      assert.deepEqual(linesOf(shown.text), span(1, 300));
      assert.equal(shown.failed, false);
      assert.match(notesOf(shown.text), /overloaded, come back/);
    },
  },
  {
    name: "guards that are broken themselves break no read",
    async run(world) {
      const path = await world.write("long.ts", code(300));
      const broken = (): never => {
        throw new TypeError("a fault of ours");
      };
      const shown = await world.one(world.args(path), { options: { cache: false, source: { read: broken } } });
      assert.deepEqual(linesOf(shown.text), span(1, 300));
      assert.equal(shown.failed, false);
    },
  },
];
