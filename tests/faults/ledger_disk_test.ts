/** Disks that are full, limited, read-only or gone, for real. What needs root, or leave to mount, is skipped without. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { describe, it } from "node:test";
import { openLedger } from "../../src/tool_use/ledger.ts";
import { loadSummaries, readLedger } from "../../src/tool_use/load.ts";
import { inFolder, put } from "../support.ts";
import { row } from "../tool_use/rows.ts";
import { isWholeRow, type LedgerJob, type LedgerReport, taggedRow } from "./ledger_child.ts";
import { runProgram, type Runtime, runtimes } from "./processes.ts";

const child = "tests/faults/ledger_child.ts", NAME = ".summaries/tool-use/s.jsonl";
const PLACES = ".summaries/tool-use/s.calls";
const isRoot = process.getuid?.() === 0;
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Runs an action in a file system of its own, of that many KiB. */
async function onSmallDisk<Result>(size: number, action: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(`${tmpdir()}/waymark-`);
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${size}k`, "tmpfs", folder);
    try {
      return await action(folder);
    } finally {
      run("umount", folder);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const skip = isRoot && await onSmallDisk(64, () => Promise.resolve(true)).catch(() => false)
  ? false
  : "only root can mount, and not everywhere";

/** A ledger, what it said, and a row that it is done with. */
function opened(root: string) {
  const said: string[] = [];
  const ledger = openLedger({ root, session: "s", retentionDays: 7, onError: ({ message }) => said.push(message) });
  const keep = async (at: number, name = "x"): Promise<boolean> => {
    const before = ledger.errors;
    ledger.append(taggedRow(name, at));
    await ledger.settled();
    return ledger.errors === before;
  };
  return { ledger, said, keep };
}

/** The ids of the rows of a ledger, each of them whole; how many other lines there are. */
function linesOf(root: string): { ids: string[]; bad: number } {
  const ids: string[] = [];
  let bad = 0;
  for (const line of readFileSync(`${root}/${NAME}`, "utf8").split("\n").filter(Boolean)) {
    try {
      const row = JSON.parse(line);
      assert(isWholeRow(row), row.callId);
      ids.push(row.callId);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      bad++;
    }
  }
  return { ids, bad };
}

/** Runs the child under a shell. Deno gives all of its own permissions to a Deno it starts, wherever it sees its own path. */
const inShell = (script: string, { name, command, args }: Runtime, job: LedgerJob): Promise<LedgerReport> =>
  runProgram(
    { name, command: "bash", args: ["-c", `${script} && exec "$RUNTIME" "$@"`, "bash", ...args] },
    child,
    job,
    { env: { RUNTIME: command } },
  );

describe("a ledger on a full disk", { skip, timeout: 60_000 }, () => {
  it("loses the rows there is no room for, no other, and goes on when there is room again", () =>
    onSmallDisk(1_000, async (root) => {
      const { ledger, said, keep } = opened(root), kept: string[] = [];
      const ballast = put(root, "ballast", new Uint8Array(300_000));
      let at = 0;
      for (let round = 0; round < 3; round++) {
        for (let failed = 0; failed < 4; at++) { // the first to fail is torn, as a rule
          if (await keep(at)) kept.push(`x-${at}`);
          else failed++;
        }
        const before = linesOf(root);
        assertEquals(before.ids, kept);
        assertEquals([...(await loadSummaries(root, "s")).keys()], kept);
        truncateSync(ballast, statSync(ballast).size - 100_000);
        for (let more = 0; more < 3; more++, at++) { // short ones
          const id = 1_000 + round * 10 + more;
          assert(await keep(id, "y"), said.join());
          kept.push(`y-${id}`);
        }
        assertEquals(linesOf(root).ids, kept);
      }
      assertEquals(ledger.errors, 12);
      assert(linesOf(root).bad <= 12);
      assert(
        said.length >= 1 && said.every((message) => message.startsWith("Cannot keep digests in the ledger: ")),
        said.join(),
      );
      const read = await Array.fromAsync(readLedger(root, "s"));
      assertEquals(read.flatMap((row) => row?.callId ?? []), kept);
    }));

  it("is shared by processes that fill it together: each row that one had kept is there", () =>
    onSmallDisk(3_000, async (root) => {
      const reports = await Promise.all(
        runtimes.map((runtime, index) =>
          runProgram<LedgerReport>(runtime, child, { root, session: "s", name: `p${index}`, count: 150 })
        ),
      );
      const errors = reports.reduce((sum, report) => sum + report.errors, 0), { ids } = linesOf(root);
      assert(errors > 0);
      assertEquals([ids.length, new Set(ids).size], [150 * runtimes.length - errors, ids.length]);
    }));

  it("has no folder where there is no room for one, and nothing comes of it", () =>
    onSmallDisk(64, async (root) => {
      let files = 0;
      try {
        for (;; files++) writeFileSync(`${root}/${files}`, "x".repeat(4_096));
      } catch { /* full */ }
      const { ledger, keep } = opened(root);
      for (let at = 0; at < 5; at++) await keep(at);
      assert(ledger.errors <= 5);
      assertEquals((await loadSummaries(root, "s")).size, 5 - ledger.errors);
    }));
});

describe("a ledger under a limit on the size of files", { timeout: 60_000 }, () => {
  const LIMIT = 200_000 * 1_024; // so large that the runtimes' own files stay under it

  for (const runtime of runtimes) {
    it(`loses what is beyond it, ends no process, and goes on without the limit (${runtime.name})`, () =>
      inFolder(async (root) => {
        const path = put(root, NAME, "");
        truncateSync(path, LIMIT - 200_000); // zeros that take no room on the disk
        appendFileSync(path, "\n");
        const count = 12, job = { root, session: "s", name: "x", count };
        const { errors, said } = await inShell("ulimit -f 200000", runtime, job);
        assert(errors > 0 && errors < count, `${errors}`);
        assertMatch(said[0]!, /the disk took \d+ of \d+ bytes/);
        assert(statSync(path).size <= LIMIT);
        const kept = await loadSummaries(root, "s");
        assertEquals(kept.size, count - errors);
        assertEquals(await runProgram(runtime, child, { ...job, name: "y" }), { errors: 0, said: [] });
        assertEquals([...(await loadSummaries(root, "s")).keys()].length, kept.size + count);
      }));

    it(`has places for calls up to it, and ends no process that asks for one more (${runtime.name})`, () =>
      inFolder(async (root) => {
        const path = put(root, PLACES, "");
        truncateSync(path, LIMIT - 40);
        const job = { root, session: "s", name: "x", count: 6, takes: true };
        const { taken, said } = await inShell("ulimit -f 200000", runtime, job);
        assertEquals([taken, statSync(path).size], [2, LIMIT]);
        assertMatch(said[0]!, /the disk took 6 of 17 bytes/);
        assertEquals((await inShell("ulimit -f 200000", runtime, job)).taken, 0);
        assertEquals(await runProgram(runtime, child, job), { errors: 0, said: [], taken: 6 });
      }));
  }
});

describe("a ledger in a folder that cannot be written", { timeout: 60_000 }, () => {
  /** Makes a folder read-only for everybody during an action, root too. */
  async function readOnly(folder: string, action: () => Promise<void>): Promise<void> {
    if (isRoot) run("mount", "--bind", folder, folder);
    try {
      if (isRoot) run("mount", "-o", "remount,ro,bind", folder);
      else run("chmod", "-R", "a-w", folder);
      await action();
    } finally {
      if (isRoot) run("umount", folder);
      else run("chmod", "-R", "u+w", folder);
    }
  }
  const unable = isRoot ? skip : false;

  it(
    "is still read, keeps nothing new, says so once, and removes nothing",
    { skip: unable },
    () =>
      inFolder(async (root) => {
        const first = opened(root);
        await first.keep(1);
        writeFileSync(`${root}/.summaries/tool-use/old.jsonl`, "{}\n");
        run("touch", "-d", "2001-01-01", `${root}/.summaries/tool-use/old.jsonl`);
        const before = readFileSync(`${root}/${NAME}`);
        await readOnly(root, async () => {
          const { ledger, said, keep } = opened(root);
          for (let at = 0; at < 3; at++) assertEquals(await keep(at), false);
          assertEquals([ledger.errors, said.length], [3, 1]);
          assertEquals([...(await loadSummaries(root, "s")).keys()], ["x-1"]);
          assertEquals(readdirSync(`${root}/.summaries/tool-use`).sort(), ["old.jsonl", "s.jsonl"]);
        });
        assertEquals(readFileSync(`${root}/${NAME}`), before);
      }),
  );

  it("is not begun where there is none", { skip: unable }, () =>
    inFolder(async (root) => {
      await readOnly(root, async () => {
        const { ledger, said, keep } = opened(root);
        for (let at = 0; at < 3; at++) assertEquals(await keep(at), false);
        assertEquals([ledger.errors, said.length, readdirSync(root)], [3, 1, []]);
      });
    }));

  it("is not kept, and nobody is asked, where Deno may not write", {
    skip: runtimes.every(({ name }) => name !== "deno"),
  }, () =>
    inFolder(async (root) => {
      const deno = runtimes.find(({ name }) => name === "deno")!;
      const under = async (...permissions: string[]): Promise<LedgerReport> => {
        const args = ["run", ...permissions, ...deno.args.filter((arg) => arg !== "run" && arg !== "-A")];
        return await inShell("true", { ...deno, args }, { root, session: "s", name: "x", count: 5 });
      };
      mkdirSync(`${root}/.summaries`, { mode: 0o700 });
      for (const permissions of [[], [`--allow-read=${root}`], [`--allow-write=${root}`]]) {
        const { errors, said } = await under(...permissions);
        assertEquals([errors, said.length], [5, 1], permissions.join());
        assertStringIncludes(said[0]!, "Deno was started without --allow-");
        assertEquals(readdirSync(`${root}/.summaries`), []);
      }
      const enough = [`--allow-read=${root}`, `--allow-write=${root}/.summaries`];
      assertEquals(await under(...enough), { errors: 0, said: [] });
      assertEquals((await loadSummaries(root, "s")).size, 5);
    }));
});

describe("a folder that vanishes again and again while many write", { timeout: 60_000 }, () => {
  it("costs rows that were in it, and nothing else: no error reaches anybody, and the last rows are kept", () =>
    inFolder(async (root) => {
      const ledgers = Array.from({ length: 4 }, () => opened(root));
      for (let round = 0; round < 100; round++) {
        for (const { ledger } of ledgers) ledger.append(row({ callId: `${round}` }));
        await new Promise((resolve) => setTimeout(resolve, round % 3));
        const gone = [NAME, ".summaries/tool-use", ".summaries"][round % 3]!;
        // Away at once: what is removed file by file gets new ones meanwhile.
        if (existsSync(`${root}/${gone}`)) renameSync(`${root}/${gone}`, `${root}/gone-${round}`);
      }
      await Promise.all(ledgers.map(({ ledger }) => ledger.settled()));
      for (const { keep } of ledgers) await keep(1);
      assertEquals((await loadSummaries(root, "s")).has("x-1"), true);
      const modes = [".summaries", ".summaries/tool-use", NAME].map((name) => statSync(`${root}/${name}`).mode & 0o777);
      assertEquals(modes, [0o700, 0o700, 0o600]);
      chmodSync(root, 0o700);
    }));
});
