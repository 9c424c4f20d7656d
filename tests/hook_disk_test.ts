/** The hook on disks that are full or read-only, for real. Needs root, and leave to mount; where that is not given it is skipped. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { after, before, changed, hook, inProject, left, said } from "./hook_processes.ts";

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Runs an action with a folder that is a disk of its own, of that many KiB. */
async function onDisk<Result>(folder: string, size: number, action: () => Promise<Result> | Result): Promise<Result> {
  run("mount", "-t", "tmpfs", "-o", `size=${size}k,mode=700`, "tmpfs", folder);
  try {
    return await action();
  } finally {
    run("umount", folder);
  }
}

async function mayMount(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), "waymark-"));
  return await onDisk(folder, 64, () => true).catch(() => false).finally(() => rmSync(folder, { recursive: true }));
}

const skip = await mayMount() ? false : "only root can mount, and not everywhere";

describe("the hook", { skip, timeout: 120_000 }, () => {
  it("shortens nothing where there is no space to keep what was asked", async () => {
    await inProject(async ({ root, long }) => {
      mkdirSync(join(root, ".summaries"), { mode: 0o700 });
      await onDisk(join(root, ".summaries"), 16, async () => {
        try {
          for (let at = 0;; at++) writeFileSync(join(root, `.summaries/filler${at}`), "x".repeat(4096));
        } catch { /* it is full */ }
        const { code, stdout, stderr } = await hook(before(root, { file_path: long }));
        assertEquals([code, stdout, stderr], [0, "", ""]);
        assertEquals(left(root), []);
      });
    });
  });

  it("gives the map whole where there is no space for the middle of it", async () => {
    await inProject(async ({ root, long }) => {
      mkdirSync(join(root, ".summaries"), { mode: 0o700 });
      await onDisk(join(root, ".summaries"), 512, async () => {
        assertEquals(changed(await hook(before(root, { file_path: long })))?.limit, 200);
        try {
          for (let at = 0;; at++) writeFileSync(join(root, `.summaries/filler${at}`), "x".repeat(4096));
        } catch { /* it is full */ }
        const note = said(await hook(after(root, { file_path: long, limit: 200 })))!;
        assertStringIncludes(note, "PARTIAL, lines 1-200 of 390");
        assertStringIncludes(note, "390-390  function  f390");
        assertEquals(note.includes("rows are left out here"), false);
      });
    });
  });

  it("shortens nothing in a project that is read-only", async () => {
    await inProject(async ({ root, long }) => {
      run("mount", "--bind", root, root);
      try {
        run("mount", "-o", "remount,ro,bind", root);
        const { code, stdout, stderr } = await hook(before(root, { file_path: long }));
        assertEquals([code, stdout, stderr], [0, "", ""]);
      } finally {
        run("umount", root);
      }
      assertEquals(readdirSync(root).includes(".summaries"), false);
    });
  });
});
