/**
 * Turns: calls at once, and calls again.
 *
 * @module
 */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { createSession } from "../session.ts";
import type { Case } from "./cases.ts";
import type { ReadTool } from "./types.ts";
import { code, diskTool, linesOf, notesOf, span } from "./world.ts";

/** Cases on turns. */
export const turnCases: readonly Case[] = [
  {
    name: "calls of one turn get each its own file and its own map",
    async run(world) {
      const lengths = [210, 220, 230, 240, 250];
      const paths = await Promise.all(lengths.map((lines) => world.write(`f${lines}.ts`, code(lines))));
      const shown = await world.ask(paths.map((path) => world.args(path)));
      for (const [at, lines] of lengths.entries()) {
        assert.deepEqual(linesOf(shown[at]!.text), span(1, 200));
        assert.match(notesOf(shown[at]!.text), new RegExp(`PARTIAL, lines 1-200 of ${lines}\\b`));
      }
    },
  },
  {
    name: "calls of one turn get each its own result, in whatever order they end, and whichever of them fails",
    needsTool: true,
    async run(world) {
      const path = await world.write("short.ts", code(120)), asked = [1, 2, 3, 4];
      const tool: ReadTool = async (args, info) => {
        const { count = 1 } = world.host.dialect.parse(args)!;
        await new Promise((resolve) => setTimeout(resolve, 40 * (4 - count)));
        if (count === 2) throw new Error("no second read");
        return await diskTool(world.host)(args, info);
      };
      const shown = await world.ask(asked.map((count) => world.args(path, { start: 1, count })), { tool });
      assert.deepEqual(shown.map(({ failed }) => failed), [false, true, false, false]);
      assert.deepEqual(shown.map(({ text }) => linesOf(text).length), [1, 0, 3, 4]);
      assert.deepEqual(shown.map(({ text }) => text.includes("no second read")), [false, true, false, false]);
    },
  },
  {
    name: "of equal calls in one turn no result refers to another",
    async run(world) {
      const args = world.args(await world.write("short.ts", code(120)));
      for (const { text } of await world.ask([args, args], { session: createSession() })) {
        assert.deepEqual(linesOf(text), span(1, 120));
      }
    },
  },
  {
    name: "of equal long calls in one turn each is shown its own lines and its own map",
    async run(world) {
      const args = world.args(await world.write("long.ts", code(300)));
      for (const { text } of await world.ask([args, args], { session: createSession() })) {
        assert.deepEqual(linesOf(text), span(1, 200));
        assert.match(notesOf(text), /^\[waymark map: PARTIAL, lines 1-200 of 300/);
      }
    },
  },
  {
    name: "calls of one turn do not wait for each other",
    needsTool: true,
    async run(world) {
      const path = await world.write("short.ts", code(20)), all = Promise.withResolvers<void>();
      let begun = 0;
      const tool: ReadTool = async (args, info) => {
        if (++begun === 3) all.resolve();
        const late = new Promise<never>((_, reject) => setTimeout(reject, 20_000, new Error("alone")).unref?.());
        await Promise.race([all.promise, late]);
        return await diskTool(world.host)(args, info);
      };
      const shown = await world.ask([1, 2, 3].map((count) => world.args(path, { start: 1, count })), { tool });
      assert.deepEqual(shown.map(({ text }) => linesOf(text).length), [1, 2, 3]);
    },
  },
  {
    name: "a read that is repeated refers back only to lines that were shown, and a new conversation gets them",
    async run(world) {
      const args = world.args(await world.write("short.ts", code(120))), session = createSession();
      const [[first] = [], [second] = []] = await world.talk([[args], [args]], { session });
      assert.deepEqual(linesOf(first!.text), span(1, 120));
      if (/\[waymark reference: /.test(second!.text)) assert.deepEqual(linesOf(second!.text), []);
      else assert.deepEqual(linesOf(second!.text), span(1, 120));
      session.reset();
      assert.deepEqual(linesOf((await world.one(args, { session })).text), span(1, 120));
    },
  },
  {
    name: "where no conversation is kept, a repeated read is shown again",
    async run(world) {
      const short = world.args(await world.write("short.ts", code(120)));
      const long = world.args(await world.write("long.ts", code(300)));
      const turns = await world.talk([[short, long], [short, long]]);
      for (const [first, second] of turns) {
        assert.deepEqual(linesOf(first!.text), span(1, 120));
        assert.deepEqual(linesOf(second!.text), span(1, 200));
      }
    },
  },
  {
    name: "no line is held back that was not shown before",
    async run(world) {
      const path = await world.write("short.ts", code(150)), seen = new Set<number>();
      const ranges = [[1, 60], [41, 60], [30, 60], [81, 20], [70, 81], [1, 150], [1, 60], [20, 21]] as const;
      const calls = ranges.map(([start, count]) => world.args(path, { start, count }));
      const turns = await world.talk(calls.map((args) => [args]), { session: createSession() });
      for (const [at, [shown]] of turns.entries()) {
        const { start, count = 150 } = world.host.dialect.parse(calls[at]!)!, asked = span(start, start + count - 1);
        const lines = linesOf(shown!.text);
        if (lines.length) assert.deepEqual(lines, asked.filter((line) => line <= 150));
        else assert.ok(asked.every((line) => line > 150 || seen.has(line)), `lines ${asked[0]}-${asked.at(-1)}`);
        for (const line of lines) seen.add(line);
      }
    },
  },
  {
    name: "a file that is gone is the tool's own error, whatever was shown of it before",
    needsTool: true,
    async run(world) {
      const path = await world.write("short.ts", code(120)), args = world.args(path), session = createSession();
      const tool: ReadTool = async (given, info) => {
        const result = await diskTool(world.host)(given, info);
        await rm(path);
        return result;
      };
      const [, [second] = []] = await world.talk([[args], [args]], { session, tool });
      const missing = await world.one(args);
      assert.deepEqual([second!.text, second!.failed], [missing.text, missing.failed]);
    },
  },
  {
    name: "a repeated read of a file that has changed is shown",
    needsTool: true,
    async run(world) {
      const path = await world.write("short.ts", code(120)), args = world.args(path), session = createSession();
      let reads = 0;
      const tool: ReadTool = async (given, info) => {
        const result = await diskTool(world.host)(given, info);
        if (++reads === 1) await world.write("short.ts", code(121));
        return result;
      };
      const [, [second] = []] = await world.talk([[args], [args]], { session, tool });
      assert.deepEqual(linesOf(second!.text), span(1, 121));
    },
  },
];
