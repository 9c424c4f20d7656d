/**
 * Turns that are given up: the tool hears of it, and nothing goes on for the guards' sake.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Case } from "./cases.ts";
import type { ReadTool, Shown } from "./types.ts";
import { code, type World } from "./world.ts";

/** How long is waited for what never comes, in milliseconds. */
const PATIENCE = 3_000;

/** Whether it ends within a time, in whatever way. */
async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(resolve, milliseconds, false));
  try {
    return await Promise.race([work.then(() => true, () => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A turn that is aborted when its tool has begun. */
function aborted(world: World, args: Record<string, unknown>, tool: ReadTool, isBare = false): Promise<Shown> {
  const abort = new AbortController();
  const watched: ReadTool = (given, info) => {
    setTimeout(() => abort.abort(), 20);
    return tool(given, info);
  };
  return world.one(args, { tool: watched, signal: abort.signal, isBare });
}

/** Cases on turns that are given up. */
export const abortCases: readonly Case[] = [
  {
    name: "the abort of a turn reaches the tool, which is not asked again",
    needsTool: true,
    async run(world) {
      for (const path of [await world.write("long.ts", code(300)), await world.write("short.ts", code(100))]) {
        for (const isBare of [true, false]) {
          let asked = 0, isTold = false;
          const tool: ReadTool = (_, { signal }) =>
            new Promise((_resolve, reject) => {
              asked++;
              if (!signal) return reject(new Error("the tool was given no signal"));
              const late = setTimeout(reject, PATIENCE, new Error("the tool was not told"));
              const stop = (): void => {
                isTold = true;
                clearTimeout(late);
                reject(signal.reason);
              };
              if (signal.aborted) stop();
              else signal.addEventListener("abort", stop, { once: true });
            });
          // Hosts reject an aborted turn, or show what there is: either ends it.
          const hasEnded = await endsWithin(3 * PATIENCE, aborted(world, world.args(path), tool, isBare));
          assert.deepEqual({ hasEnded, isTold, asked }, { hasEnded: true, isTold: true, asked: 1 }, `bare: ${isBare}`);
        }
      }
    },
  },
  {
    name: "a turn that is aborted does not wait longer for a tool that goes on than it does without the guards",
    needsTool: true,
    async run(world) {
      const args = world.args(await world.write("long.ts", code(300)));
      /** Whether the turn ends while its tool goes on. */
      const endsFirst = async (isBare: boolean, patience: number): Promise<boolean> => {
        const end = Promise.withResolvers<string>();
        const turn = aborted(world, args, () => end.promise, isBare), isFirst = await endsWithin(patience, turn);
        end.resolve(code(200));
        assert.ok(await endsWithin(PATIENCE, turn), "the turn ends when its tool does");
        return isFirst;
      };
      if (await endsFirst(true, 500)) assert.ok(await endsFirst(false, PATIENCE), "the guards wait for the tool");
    },
  },
];
