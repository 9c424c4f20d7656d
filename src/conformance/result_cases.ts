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
import { code, linesOf, notesOf, slice, span, type World } from "./world.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

async function asWithout(world: World, path: string, result: ToolResult): Promise<void> {
  const { guarded, bare } = await world.both(world.args(path), { tool: () => result });
  assert.deepEqual(guarded, bare);
}

/** Cases on results. */
export const resultCases: readonly Case[] = [
  {
    name: "what the tool throws is shown in its own words, as a failure",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(1000));
      const tool = (): never => {
        throw Object.assign(new Error("EISDIR: illegal operation on a directory, read"), { code: "EISDIR" });
      };
      const { guarded, bare } = await world.both(world.args(path), { tool });
      assert.equal(guarded.failed, bare.failed);
      assert.equal(stripAnnotations(guarded.text), bare.text);
    },
  },
  {
    name: "a missing file is the tool's own error",
    async run(world) {
      const { guarded, bare } = await world.both(world.args(`${world.root}/missing.ts`));
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
      const path = await world.write("long.ts", code(300)),
        image = { type: "image", mimeType: "image/png", data: PIXEL } as const;
      await asWithout(world, path, [image]);
      const { guarded, bare } = await world.both(world.args(path), {
        tool: () => [{ type: "text", text: code(300) }, image],
      });
      assert.deepEqual(guarded.images, bare.images);
      assert.deepEqual(linesOf(guarded.text), linesOf(bare.text));
    },
  },
  {
    name: "text in several blocks keeps its order and every block",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(300));
      const tool = (): ToolResult => [{ type: "text", text: code(150) }, { type: "text", text: code(150, 151) }];
      const { guarded, bare } = await world.both(world.args(path), { tool });
      assert.ok(guarded.text.startsWith(bare.text));
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
