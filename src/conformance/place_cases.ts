/**
 * Paths: what is no plain file of the project, and names that could be taken for others.
 *
 * @module
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { link, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Case } from "./cases.ts";
import { code, linesOf, notesOf, span } from "./world.ts";

const run = promisify(execFile);

/** Cases on paths. */
export const placeCases: readonly Case[] = [
  {
    name: "a listing of a folder is not taken for a file",
    needsTool: true,
    async run(world) {
      await mkdir(join(world.root, "lib.ts"));
      const tool = () => Array.from({ length: 300 }, (_, at) => `entry${at}.ts`).join("\n");
      const { guarded, bare } = await world.both(world.args(join(world.root, "lib.ts")), { tool });
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a folder is the tool's own error",
    async run(world) {
      await mkdir(join(world.root, "lib.ts"));
      const { guarded, bare } = await world.both(world.args(join(world.root, "lib.ts")));
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a pipe that nobody writes to is never opened",
    needsTool: true,
    async run(world) {
      const pipe = join(world.root, "pipe.ts");
      if (!await run("mkfifo", [pipe]).then(() => true, () => false)) return; // this system has none
      const { guarded, bare } = await world.both(world.args(pipe), { tool: () => code(300) });
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "links that lead nowhere or in a circle are the tool's own error",
    async run(world) {
      await symlink("nowhere.ts", join(world.root, "dangling.ts"));
      await symlink("b.ts", join(world.root, "a.ts"));
      await symlink("a.ts", join(world.root, "b.ts"));
      for (const name of ["dangling.ts", "a.ts"]) {
        const { guarded, bare } = await world.both(world.args(join(world.root, name)));
        assert.deepEqual(guarded, bare, name);
      }
    },
  },
  {
    name: "a link to a file outside is read as the tool reads it, and nothing of that file is kept in the project",
    needsTool: true,
    async run(world) {
      const outside = await mkdtemp(join(tmpdir(), "waymark-outside-"));
      try {
        await writeFile(join(outside, "secret_plan.ts"), code(300).replaceAll("f", "secret_plan_f"));
        await symlink(join(outside, "secret_plan.ts"), join(world.root, "link.ts"));
        const { failed } = await world.one(world.args(join(world.root, "link.ts")));
        assert.equal(failed, false);
        const kept = await readdir(join(world.root, ".summaries")).catch(() => []);
        for (const name of kept) {
          const { readFile } = await import("node:fs/promises");
          assert.ok(!(await readFile(join(world.root, ".summaries", name), "latin1")).includes("secret_plan"), name);
        }
      } finally {
        await rm(outside, { recursive: true });
      }
    },
  },
  {
    name: "names with a tilde, a percent sign, blanks of other kinds and addresses are answered as without the guards",
    async run(world) {
      await world.write("a b.ts", code(100));
      await world.write("snap\u202f9.ts", code(100));
      for (
        const path of [
          "~/x.ts",
          "~",
          join(world.root, "a%20b.ts"),
          join(world.root, "snap 9.ts"),
          "\\\\host\\share\\a.ts",
        ]
      ) {
        const { guarded, bare } = await world.both(world.args(path));
        assert.deepEqual(guarded, bare, path);
      }
    },
  },
  {
    name: "a percent sign in the name of a real file is itself",
    async run(world) {
      const { text } = await world.one(world.args(await world.write("a%20b.ts", code(300))));
      assert.deepEqual(linesOf(text), span(1, 200));
      assert.match(notesOf(text), /PARTIAL, lines 1-200 of 300/);
    },
  },
  {
    name: "two names of one file are read as what it is now",
    async run(world) {
      const one = await world.write("one.ts", code(300)), two = join(world.root, "two.ts");
      await link(one, two);
      await world.one(world.args(one));
      await rm(two);
      await writeFile(two, code(500));
      assert.match(notesOf((await world.one(world.args(two))).text), /PARTIAL, lines 1-200 of 500/);
    },
  },
  {
    name: "a file that holds secrets is shown as it is, and never mapped",
    async run(world) {
      const lines = Array.from({ length: 250 }, (_, at) => `DUMMY_${at}=value_${at}\n`).join("");
      const { guarded, bare } = await world.both(world.args(await world.write(".env.production", lines)));
      assert.deepEqual(guarded, bare);
    },
  },
  {
    name: "a changed file is mapped anew",
    async run(world) {
      const path = await world.write("long.ts", code(300));
      await world.one(world.args(path));
      await world.write("long.ts", `${code(300)}export function added(a) { return a; }\n`);
      const note = notesOf((await world.one(world.args(path))).text);
      assert.match(note, /PARTIAL, lines 1-200 of 301/);
      assert.match(note, /301-301 {2}function {2}added/);
    },
  },
];
