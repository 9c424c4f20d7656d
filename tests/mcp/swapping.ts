/**
 * A folder that may be read, in which a folder or a file and a link to another outside change places without end.
 *
 * @module
 */

import { spawn } from "node:child_process";
import process from "node:process";
import { join } from "@std/path/posix/join";
import { type Folder, toFolder } from "../../src/mcp/folders.ts";
import { inFolder, put } from "../support.ts";

/** A folder that may be read, with a file in it, beside one that may not. */
export interface Fenced {
  readonly folder: Folder;
  readonly inside: string;
  readonly outside: string;
}

/** Does something in two folders: `src/a.ts` lies in the one that may be read, `secret.ts` in the other. */
export function inProject(
  action: (project: Fenced) => Promise<void>,
  [inner, outer]: readonly [inner: string, outer: string] = ["inside\n", "outside\n"],
): Promise<void> {
  return inFolder(async (base) => {
    const inside = join(base, "project"), outside = join(base, "outside");
    put(inside, "src/a.ts", inner);
    put(outside, "secret.ts", outer);
    await action({ folder: toFolder(inside), inside, outside });
  });
}

/** What {@linkcode whileSwapped} swaps. */
export interface Swapping {
  /** The folder `swapped`, which is gone for moments, or the file `swapped/secret.ts`, which never is. Default `"folder"`. */
  readonly what?: "folder" | "file";
  /** What the files hold, inside and outside. */
  readonly texts?: readonly [inner: string, outer: string];
}

/** Does something while `swapped/secret.ts` is one inside and one outside by turns, without end, by links to the latter. */
export function whileSwapped(
  action: (project: Fenced) => Promise<void>,
  { what = "folder", texts = ["inside\n", "outside\n"] }: Swapping = {},
): Promise<void> {
  return inProject(async (project) => {
    const { inside, outside } = project;
    put(inside, "swapped/secret.ts", texts[0]);
    const start = "Deno" in globalThis ? ["run", "-A", "--no-config"] : [];
    const script = put(outside, "swap.mjs", SWAPPER);
    const swapper = spawn(process.execPath, [...start, script, inside, outside, what], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await new Promise((begun) => swapper.stdout.once("data", begun));
      await action(project);
    } finally {
      const gone = new Promise((done) => swapper.once("exit", done));
      swapper.kill("SIGKILL");
      await gone;
    }
  }, texts);
}

/** Puts a link to the folder or file outside in place of the one inside and back, without end. */
const SWAPPER = `
import { linkSync, renameSync, symlinkSync } from "node:fs";
const [inside, outside, what] = process.argv.slice(2);
const pause = (ms) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};
const file = inside + "/swapped/secret.ts", next = inside + "/next";
if (what === "file") linkSync(file, inside + "/kept");
else symlinkSync(outside, inside + "/link");
console.log("begun");
while (what === "file") {
  symlinkSync(outside + "/secret.ts", next);
  renameSync(next, file);
  pause(Math.random() / 10);
  linkSync(inside + "/kept", next);
  renameSync(next, file);
  pause(Math.random() / 2);
}
for (;;) {
  renameSync(inside + "/swapped", inside + "/kept");
  renameSync(inside + "/link", inside + "/swapped");
  renameSync(inside + "/swapped", inside + "/link");
  renameSync(inside + "/kept", inside + "/swapped");
  pause(Math.random() < 0.02 ? 1 : 0); // there for a moment at times
}
`;
