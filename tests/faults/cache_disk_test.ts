/** Disks that are read-only or full, for real. Needs root, and leave to mount; where that is not given the tests are skipped. */

import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { databaseOf, isRoot, kindsOf, withCache } from "../cache/opening.ts";
import { hashOf, regionsOf, sampleMap, soon } from "../cache/samples.ts";
import { inFolder } from "../support.ts";
import type { Report } from "./cache_child.ts";
import { runProgram, runtimes, start } from "./processes.ts";

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

function mayMount(): boolean {
  if (!isRoot) return false;
  const folder = mkdtempSync(`${tmpdir()}/waymark-`);
  try {
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder);
    run("umount", folder);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const skip = mayMount() ? false : "only root can mount, and not everywhere";

/** Makes a folder read-only for everybody, root too, during an action. */
async function readOnly<Result>(folder: string, action: () => Promise<Result>): Promise<Result> {
  run("mount", "--bind", folder, folder);
  try {
    run("mount", "-o", "remount,ro,bind", folder);
    return await action();
  } finally {
    run("umount", folder);
  }
}

describe("a cache on a read-only disk", { skip }, () => {
  const used = (root: string) =>
    withCache(root, async (cache, events) => {
      for (let time = 0; time < 3; time++) {
        assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
        assertEquals(cache.at("a.ts", hashOf(1), 50)?.name, "Parser");
        assertEquals(cache.sizes("a.ts"), [9_000]);
        const request = { path: "b.ts", hash: hashOf(2), wanted: 2, signal: soon() };
        const made = await cache.once(request, () => Promise.resolve(sampleMap({ hash: hashOf(2) })));
        assertEquals(made.mine, time === 0);
        assertEquals(cache.get("b.ts", hashOf(2)), sampleMap({ hash: hashOf(2) }));
        assert(cache.put("c.ts", sampleMap({ hash: hashOf(3) })));
      }
      assertEquals(kindsOf(events), ["opened", "memory"]);
      assertStringIncludes(events[1]!.message, "read-only");
    });

  it("uses the maps that are there, keeps new ones in memory, and says so once", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => void cache.put("a.ts", sampleMap()));
      const before = readFileSync(databaseOf(root));
      await readOnly(root, () => used(root));
      assertEquals(readFileSync(databaseOf(root)), before);
    }));

  it("uses what a killed process left in its log, too", () =>
    inFolder(async (root) => {
      const program = start(runtimes[0]!, "tests/faults/cache_child.ts", { action: "loop", root, name: "x", count: 2 });
      await program.line();
      program.signal("SIGKILL");
      await program.ended;
      assert(existsSync(`${databaseOf(root)}-wal`));
      await readOnly(root, () =>
        withCache(root, (cache, events) => {
          assert(cache.get("0.ts", hashOf(0)), JSON.stringify(events));
          for (let file = 5; file < 8; file++) {
            assert(cache.put(`${file}.ts`, sampleMap({ hash: hashOf(file) })));
            assert(cache.get(`${file}.ts`, hashOf(file)));
          }
          assertEquals(kindsOf(events), ["opened", "memory"]);
        }));
    }));

  it("keeps maps in memory where there are none yet", () =>
    inFolder(async (root) => {
      await readOnly(root, () =>
        withCache(root, (cache, events) => {
          assertEquals([cache.kind, kindsOf(events)], ["memory", ["memory"]]);
          assert(cache.put("a.ts", sampleMap()));
          assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
        }));
      assert(!existsSync(`${root}/.summaries`));
    }));

  it("does not believe a foreign database there either", () =>
    inFolder(async (folder) => {
      mkdirSync(`${folder}/theirs`);
      await withCache(`${folder}/theirs`, (cache) => void cache.put("a.ts", sampleMap()));
      run("cp", "-r", `${folder}/theirs`, `${folder}/ours`);
      const root = `${folder}/ours`;
      await readOnly(root, () =>
        withCache(root, (cache, events) => {
          assertEquals([cache.kind, cache.get("a.ts", hashOf(1)), kindsOf(events)], ["memory", undefined, ["memory"]]);
        }));
    }));

  it("that becomes read-only in use goes on reading, and tries no write twice", () =>
    inFolder(async (root) => {
      await withCache(root, (cache) => void cache.put("a.ts", sampleMap()));
      await withCache(root, async (cache, events) => {
        assert(cache.get("a.ts", hashOf(1)));
        await readOnly(root, () => {
          assert(cache.get("a.ts", hashOf(1)));
          cache.put("b.ts", sampleMap({ hash: hashOf(2) }));
          assert(cache.get("b.ts", hashOf(2)));
          return Promise.resolve();
        });
        assert(kindsOf(events).filter((kind) => kind === "memory").length <= 1);
      });
    }));
});

describe("a cache on a full disk", { skip }, () => {
  /** A root whose cache folder is a disk of so many KiB. */
  const small = (kibibytes: number, action: (root: string) => Promise<void>): Promise<void> =>
    inFolder(async (root) => {
      mkdirSync(`${root}/.summaries`, { mode: 0o700 });
      run("mount", "-t", "tmpfs", "-o", `size=${kibibytes}k,mode=700`, "tmpfs", `${root}/.summaries`);
      try {
        await action(root);
      } finally {
        run("umount", `${root}/.summaries`);
      }
    });
  const big = (file: number) =>
    sampleMap({ hash: hashOf(file), lines: 4_000, regions: regionsOf(300, "x".repeat(90)) });

  it("keeps what went in, goes on in memory, and says so once", () =>
    small(1_024, async (root) => {
      let kept = 0;
      await withCache(root, (cache, events) => {
        for (let file = 0; file < 60; file++) {
          assert(cache.put(`${file}.ts`, big(file)));
          assertEquals(cache.get(`${file}.ts`, hashOf(file)), big(file));
          if (!kindsOf(events).includes("memory")) kept = file + 1;
        }
        assertEquals(kindsOf(events), ["opened", "memory"]);
        assertStringIncludes(events[1]!.message, "full");
        assert(kept > 3, `${kept}`);
      });
      const database = new DatabaseSync(databaseOf(root));
      assertEquals({ ...database.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
      database.close();
      await withCache(root, (cache) => {
        for (let file = 0; file < kept; file++) assertEquals(cache.get(`${file}.ts`, hashOf(file)), big(file));
      });
    }));

  it("is used from memory where not even a table fits", () =>
    small(24, async (root) => {
      await withCache(root, (cache, events) => {
        assert(cache.put("a.ts", big(1)));
        assertEquals(cache.get("a.ts", hashOf(1)), big(1));
        assertEquals(kindsOf(events).filter((kind) => kind === "memory").length, 1);
      });
    }));

  it("with nothing left when it is opened still gives the maps in it, or none, without an error", () =>
    small(400, async (root) => {
      await withCache(root, (cache) => void cache.put("a.ts", sampleMap()));
      try {
        writeFileSync(`${root}/.summaries/ballast`, "x".repeat(1 << 20));
      } catch { /* full: as wanted */ }
      await withCache(root, (cache, events) => {
        const map = cache.get("a.ts", hashOf(1));
        if (map) assertEquals(map, sampleMap());
        assert(cache.put("b.ts", big(2)));
        assertEquals(cache.get("b.ts", hashOf(2)), big(2));
        assertEquals(kindsOf(events).filter((kind) => kind === "memory").length, 1, JSON.stringify(events));
      });
    }));
});

describe("a cache for a user without rights", { skip: isRoot ? false : "only root can become another user" }, () => {
  const user = 65534, child = "tests/faults/cache_child.ts";
  const asUser = (root: string, action: "put" | "read"): Promise<Report> =>
    runProgram<Report>(runtimes[0]!, child, { action, root, user, name: "x", count: 3 });

  it("who may only read the folder has the maps in it, and new ones in memory", () =>
    inFolder(async (folder) => {
      const root = `${folder}/mine`;
      chmodSync(folder, 0o755);
      mkdirSync(root);
      chownSync(root, user, user);
      assertEquals((await asUser(root, "put")).stored, 3);
      chmodSync(`${root}/.summaries`, 0o555);
      const report = await asUser(root, "read");
      assertEquals([report.kind, report.found, report.events], ["disk", 3, ["opened", "memory"]]);
    }));

  for (const [what, mode] of [["cannot write into", 0o555], ["cannot even enter", 0o700]] as const) {
    it(`who ${what} the project works in memory`, () =>
      inFolder(async (folder) => {
        const root = `${folder}/theirs`;
        chmodSync(folder, 0o755);
        mkdirSync(root, { mode });
        chmodSync(root, mode);
        const report = await asUser(root, "put");
        assertEquals([report.kind, report.events, report.stored], ["memory", ["memory"], 3]);
      }));
  }

  it("who meets another user's folder does not use it, whatever its mode", () =>
    inFolder(async (folder) => {
      chmodSync(folder, 0o755);
      await withCache(folder, (cache) => void cache.put("a.ts", sampleMap()));
      chmodSync(`${folder}/.summaries`, 0o777);
      chmodSync(databaseOf(folder), 0o666);
      const report = await asUser(folder, "put");
      assertEquals([report.kind, report.events], ["memory", ["memory"]]);
      assertStringIncludes(report.messages[0]!, "belongs to another user");
    }));
});
