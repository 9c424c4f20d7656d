/**
 * Calls: what the tool is asked, how often, and what the guards are told of a call.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ReadCall, ReadSpan } from "../types.ts";
import type { Asking } from "./world.ts";
import type { Case } from "./cases.ts";
import type { ReadTool } from "./types.ts";
import { code, diskTool, linesOf, span, type World } from "./world.ts";

type Arguments = Record<string, unknown>;

/** What the tool is asked for a call. */
async function askedFor(world: World, args: Arguments, asking: Asking = {}): Promise<readonly Arguments[]> {
  const asked: Arguments[] = [];
  const tool: ReadTool = (given, info) => {
    asked.push(structuredClone(given));
    return diskTool(world.host)(given, info);
  };
  await world.one(args, { ...asking, tool });
  return asked;
}

/** Cases on calls. */
export const callCases: readonly Case[] = [
  {
    name: "a read that is not shortened asks the tool once, with the arguments it is asked without the guards",
    needsTool: true,
    async run(world) {
      const short = await world.write("short.ts", code(120)), long = await world.write("long.ts", code(300));
      const { parse } = world.host.dialect;
      for (
        const args of [
          world.args(short),
          world.args(long, { start: 3, count: 5 }),
          { ...world.args(short), reason: "asked for" },
          world.args(`${world.root}/missing.ts`),
        ]
      ) {
        const bare = await askedFor(world, args, { isBare: true }), guarded = await askedFor(world, args);
        assert.deepEqual(guarded, bare);
        if (!("reason" in args)) assert.deepEqual(bare.map((one) => parse(one)), [parse(args)]);
      }
    },
  },
  {
    name: "a read that is shortened asks the tool once, for 200 lines of the same file from the same line",
    needsTool: true,
    async run(world) {
      const path = await world.write("long.ts", code(1000)), { dialect } = world.host;
      for (const args of [world.args(path), world.args(path, { start: 301, count: 500 })]) {
        const whole = dialect.parse(args)!;
        if (whole.fresh) continue; // who says a number of lines in this dialect insists on them
        const asked = await askedFor(world, args);
        const expected = dialect.parse(dialect.apply(args, { path, start: whole.start, count: 200 }));
        assert.deepEqual(asked.map((one) => dialect.parse(one)), [expected]);
      }
    },
  },
  {
    name: "the guards are told of every call by its own id, path and range",
    async run(world) {
      const told: ReadCall[] = [],
        paths = await Promise.all([110, 120, 130].map((lines) => world.write(`f${lines}.ts`, code(lines))));
      const calls = paths.map((path, at) => world.args(path, { start: 1, count: 50 + at }));
      const toolUse: NonNullable<Asking["options"]>["toolUse"] = {
        middleware: (call, next) => {
          told.push(call);
          return next(call);
        },
      };
      const shown = await world.ask(calls, { options: { toolUse } });
      assert.deepEqual(shown.map(({ text }) => linesOf(text)), [span(1, 50), span(1, 51), span(1, 52)]);
      const said = ({ path, start, count }: ReadSpan) => ({ path, start, count });
      const expected = calls.map((args, at) => [`call_${at + 1}`, said(world.host.dialect.parse(args)!)]);
      const seen = told.map((call) => [call.callId, said(call)]);
      assert.deepEqual(seen.sort(([a], [b]) => `${a}` < `${b}` ? -1 : 1), expected);
    },
  },
];
