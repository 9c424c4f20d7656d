/** The ledger of a session: what it keeps, where, and what it leaves alone. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import type { WaymarkError } from "../../src/errors.ts";
import { type LedgerOptions, openLedger } from "../../src/tool_use/ledger.ts";
import { ledgerPath } from "../../src/tool_use/ledger_path.ts";
import { MAX_LINE_BYTES } from "../../src/tool_use/rows.ts";
import type { DigestRow, Ledger } from "../../src/tool_use/types.ts";
import { inFolder, put } from "../support.ts";
import { row } from "./rows.ts";

const DAY = 86_400_000;
const settings = { session: "s", retentionDays: 7 } as const;
const fileOf = (root: string, session = "s"): string => `${root}/.summaries/tool-use/${session}.jsonl`;
const linesOf = (root: string): unknown[] =>
  readFileSync(fileOf(root), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** A ledger that got rows and is done with them, and what it said. */
async function kept(
  options: Partial<LedgerOptions>,
  rows: readonly DigestRow[] = [row()],
): Promise<{ ledger: Ledger; errors: number; said: string[] }> {
  const said: string[] = [];
  const ledger = openLedger({ root: undefined, ...settings, onError: (error) => said.push(error.message), ...options });
  for (const row of rows) ledger.append(row);
  await ledger.settled();
  return { ledger, errors: ledger.errors, said };
}

describe("ledgerPath()", () => {
  it("is the session's id where that is a safe name", async () => {
    for (const session of ["s", "3f2a8c1e-0b7d-4f6a-9c2e-1d4b5a6f7e8d", "run_7.a"]) {
      assertEquals(await ledgerPath("/p", session), `/p/.summaries/tool-use/${session}.jsonl`);
    }
    assertEquals(await ledgerPath("/p/", "s"), await ledgerPath("/p", "s"));
  });

  it("is a safe name for any other id, with words of it to be known by", async () => {
    for (
      const session of [
        "",
        ".",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "con",
        "COM1.x",
        "nul.log",
        ...["prn", "aux", "nul", "com1", "lpt9"],
        "A",
        "é",
        "x.",
        "-x",
      ]
    ) {
      assertMatch(basename(await ledgerPath("/p", session)), /^[a-z0-9_-][a-z0-9._-]*-[0-9a-f]{32}\.jsonl$/, session);
    }
    assertMatch(await ledgerPath("/p", "Session 12/b"), /\/session_12_b-[0-9a-f]{32}\.jsonl$/);
    assertEquals(basename(await ledgerPath("/p", "x".repeat(10_000))).length, 60 + 1 + 32 + 6);
  });

  it("is never the same for two ids, not even where a file system ignores case", async () => {
    const pairs: [string, string][] = [["a", "A"], ["a b", "a_b"], ["a/b", "a\\b"], ["é", "e\u0301"], [
      "\ud800",
      "\ud801",
    ]];
    for (const id of ["a b", "A", ""]) pairs.push([id, basename(await ledgerPath("/p", id), ".jsonl")]);
    for (const [one, other] of pairs) {
      assert(
        (await ledgerPath("/p", one)).toLowerCase() !== (await ledgerPath("/p", other)).toLowerCase(),
        `${one} ${other}`,
      );
    }
    const ids = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[a-zA-Z.\/ _-]{0,8}$/));
    await fc.assert(
      fc.asyncProperty(ids, ids, async (one, other) => {
        const [first, second] = [await ledgerPath("/p", one), await ledgerPath("/p", other)];
        assertEquals(first.toLowerCase() === second.toLowerCase(), one === other);
        assertMatch(first, /^\/p\/\.summaries\/tool-use\/[a-z0-9_-][a-z0-9._-]{0,106}\.jsonl$/);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a ledger", () => {
  it("makes nothing before its first row", () =>
    inFolder(async (root) => {
      await kept({ root }, []);
      assertEquals(readdirSync(root), []);
    }));

  it("is one line a row, in order, in a private file in a private folder that ignores itself", () =>
    inFolder(async (root) => {
      const rows = Array.from(
        { length: 50 },
        (_, index) =>
          row({
            callId: `call-${index}`,
            summary: `${"ö\u2028\n".repeat(index)}x`,
            status: index % 2 ? "ok" : "failed",
          }),
      );
      const { errors, said } = await kept({ root }, rows);
      assertEquals([errors, said], [0, []]);
      assertEquals(linesOf(root), rows);
      assert(readFileSync(fileOf(root), "utf8").endsWith("}\n"));
      assertEquals([modeOf(`${root}/.summaries`), modeOf(`${root}/.summaries/tool-use`), modeOf(fileOf(root))], [
        0o700,
        0o700,
        0o600,
      ]);
      assertEquals(readFileSync(`${root}/.summaries/.gitignore`, "utf8"), "*\n");
    }));

  it("goes on where an earlier one ended", () =>
    inFolder(async (root) => {
      for (let time = 0; time < 3; time++) await kept({ root }, [row({ at: time })]);
      assertEquals(linesOf(root).map((line) => (line as DigestRow).at), [0, 1, 2]);
    }));

  it("keeps a row as it was when it was given", () =>
    inFolder(async (root) => {
      const ledger = openLedger({ root, ...settings }), changing = { ...row() } as { summary: string };
      ledger.append(changing as DigestRow);
      changing.summary = "changed";
      await ledger.settled();
      assertEquals(linesOf(root), [row()]);
    }));

  it("holds half a character as an escape, never as bytes that are none", () =>
    inFolder(async (root) => {
      await kept({ root }, [row({ summary: "a\ud83d b\udc00" })]);
      const bytes = readFileSync(fileOf(root));
      new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      assertStringIncludes(bytes.toString("utf8"), "\\ud83d b\\udc00");
    }));

  for (
    const [what, tail] of Object.entries({
      "half a JSON": '{"callId":"torn","to',
      "half a character": new TextEncoder().encode('{"callId":"torn","summary":"é').subarray(0, -1),
      "a whole record without its end": JSON.stringify(row({ callId: "whole" })),
    })
  ) {
    it(`begins on a line of its own where the file ends in ${what}`, () =>
      inFolder(async (root) => {
        put(root, ".summaries/tool-use/s.jsonl", tail);
        await kept({ root }, [row({ callId: "new" })]);
        const lines = readFileSync(fileOf(root)).toString("latin1").split("\n");
        assertEquals(lines.length, 3);
        assertEquals(JSON.parse(lines[1]!).callId, "new");
      }));
  }

  it("is shared by many in one process without a row lost or welded", () =>
    inFolder(async (root) => {
      const ledgers = Array.from({ length: 8 }, () => openLedger({ root, ...settings }));
      for (let at = 0; at < 40; at++) {
        ledgers.forEach((ledger, index) =>
          ledger.append(row({ callId: `${index}-${at}`, summary: "x".repeat(at * 2_000) }))
        );
      }
      await Promise.all(ledgers.map((ledger) => ledger.settled()));
      const ids = readFileSync(fileOf(root), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line).callId);
      assertEquals([ids.length, new Set(ids).size, ledgers.map(({ errors }) => errors)], [320, 320, Array(8).fill(0)]);
      for (let index = 0; index < 8; index++) { // each one's rows are in its order
        const own = ids.filter((id) => id.startsWith(`${index}-`));
        assertEquals(own, Array.from({ length: 40 }, (_, at) => `${index}-${at}`));
      }
    }));

  it("keeps nothing without a project, or where nothing is to be kept", () =>
    inFolder(async (root) => {
      for (
        const options of [{ root: undefined }, { root: "" }, { root, retentionDays: 0 }, { root, retentionDays: -1 }]
      ) {
        assertEquals((await kept(options)).errors, 0);
      }
      assertEquals(readdirSync(root), []);
    }));
});

describe("a ledger that cannot be kept", () => {
  it("counts a row that is no JSON, or longer than what is read, and keeps the others", () =>
    inFolder(async (root) => {
      const cyclic: Record<string, unknown> = {};
      cyclic["self"] = cyclic;
      const { errors, said } = await kept({ root }, [
        row({ callId: "a" }),
        row({ resultBytes: 1n as unknown as number }),
        cyclic as unknown as DigestRow,
        row({ summary: "x".repeat(MAX_LINE_BYTES) }),
        row({ callId: "b" }),
      ]);
      assertEquals([errors, said.length], [3, 3]);
      assertEquals(linesOf(root).map((line) => (line as DigestRow).callId), ["a", "b"]);
    }));

  it("says each reason once, and counts every row", () =>
    inFolder(async (root) => {
      put(root, ".summaries", "a file");
      const { errors, said } = await kept({ root }, Array.from({ length: 30 }, () => row()));
      assertEquals([errors, said.length], [30, 1]);
      assertMatch(said[0]!, /^Cannot keep digests in the ledger: .*\.summaries is not a folder$/);
    }));

  it("is not hurt by a hook that throws", () =>
    inFolder(async (root) => {
      put(root, ".summaries", "a file");
      const hooks: ((error: WaymarkError) => void)[] = [
        () => {
          throw new Error("the host's own");
        },
        () => Promise.reject(new Error("the host's own")) as unknown as void,
      ];
      for (const onError of hooks) assertEquals((await kept({ root, onError }, [row(), row()])).errors, 2);
    }));

  const refused: Record<string, (root: string) => void> = {
    "the folder of caches is a link": (root) => symlinkSync(`${root}/other`, `${root}/.summaries`),
    "the folder of ledgers is a link": (root) => {
      mkdirSync(`${root}/.summaries`);
      symlinkSync(`${root}/other`, `${root}/.summaries/tool-use`);
    },
    "the folder of ledgers is a file": (root) => void put(root, ".summaries/tool-use", ""),
    "the ledger is a link": (root) => {
      put(root, "other/x", "");
      mkdirSync(`${root}/.summaries/tool-use`, { recursive: true });
      symlinkSync(`${root}/other/x`, fileOf(root));
    },
    "the ledger is a folder": (root) => void mkdirSync(fileOf(root), { recursive: true }),
    "the ledger is a pipe": (root) => {
      mkdirSync(`${root}/.summaries/tool-use`, { recursive: true });
      execFileSync("mkfifo", [fileOf(root)]);
    },
  };
  for (const [what, prepare] of Object.entries(refused)) {
    it(`writes nowhere where ${what}`, { timeout: 20_000 }, () =>
      inFolder(async (root) => {
        mkdirSync(`${root}/other`);
        prepare(root);
        const { errors, said } = await kept({ root });
        assertEquals([errors, said.length], [1, 1]);
        assertEquals(
          readdirSync(`${root}/other`).map((name) => readFileSync(`${root}/other/${name}`, "utf8")).join(""),
          "",
        );
      }));
  }

  const swaps: Record<string, (path: string, root: string) => void> = {
    "a link": (path, root) => symlinkSync(`${root}/other/made`, path),
    "a pipe": (path) => void execFileSync("mkfifo", [path]),
    "a folder": (path) => mkdirSync(path),
  };
  for (const [what, place] of Object.entries(swaps)) {
    it(
      `writes nowhere once its file was swapped for ${what}, and goes on when that is gone`,
      { timeout: 20_000 },
      () =>
        inFolder(async (root) => {
          mkdirSync(`${root}/other`);
          const { ledger } = await kept({ root });
          rmSync(fileOf(root));
          place(fileOf(root), root);
          ledger.append(row());
          await ledger.settled();
          assertEquals([ledger.errors, readdirSync(`${root}/other`)], [1, []]);
          what === "a folder" ? rmdirSync(fileOf(root)) : unlinkSync(fileOf(root));
          ledger.append(row({ callId: "after" }));
          await ledger.settled();
          assertEquals([ledger.errors, linesOf(root)], [1, [row({ callId: "after" })]]);
        }),
    );
  }

  it("has no place for a call either where it may not be written, and tells why", () =>
    inFolder(async (root) => {
      const outside = put(root, "outside", "theirs"), said: string[] = [];
      mkdirSync(`${root}/.summaries/tool-use`, { recursive: true });
      symlinkSync(outside, `${root}/.summaries/tool-use/s.calls`);
      const ledger = openLedger({ root, session: "s", retentionDays: 7, onError: ({ message }) => said.push(message) });
      for (let time = 0; time < 2; time++) assertEquals(await ledger.take(), undefined);
      assertEquals([readFileSync(outside, "utf8"), ledger.errors, said.length], ["theirs", 0, 1]);
      for (const options of [{ root: undefined, retentionDays: 7 }, { root, retentionDays: 0 }]) {
        assertEquals(await openLedger({ session: "t", ...options }).take(), undefined);
      }
    }));

  it("has places for calls in a private file, which go on when the folder was removed", () =>
    inFolder(async (root) => {
      const folder = `${root}/.summaries/tool-use`, ledger = openLedger({ root, session: "s", retentionDays: 7 });
      assertEquals([await ledger.take(), await ledger.take()], [1, 2]);
      assertEquals(readdirSync(folder), ["s.calls"]);
      if (process.platform !== "win32") {
        assertEquals([statSync(folder).mode & 0o777, statSync(`${folder}/s.calls`).mode & 0o777], [0o700, 0o600]);
      }
      rmSync(`${root}/.summaries`, { recursive: true });
      assertEquals(await ledger.take(), 1);
    }));

  it("makes nothing in the home directory itself, nor at the root of the disk", () =>
    inFolder(async (root) => {
      const { HOME } = process.env;
      process.env["HOME"] = root;
      try {
        const { errors, said } = await kept({ root });
        assertEquals([errors, readdirSync(root)], [1, []]);
        assertStringIncludes(said[0]!, "home directory");
      } finally {
        if (HOME === undefined) delete process.env["HOME"];
        else process.env["HOME"] = HOME;
      }
      assertEquals((await kept({ root: "/" })).errors, 1);
      assertEquals(existsSync("/.summaries"), false);
    }));

  it("takes everybody else's access to what is there", () =>
    inFolder(async (root) => {
      put(root, ".summaries/tool-use/s.jsonl", "");
      for (const path of ["", "/tool-use"]) chmodSync(`${root}/.summaries${path}`, 0o777);
      chmodSync(fileOf(root), 0o666);
      await kept({ root });
      assertEquals([modeOf(`${root}/.summaries`), modeOf(`${root}/.summaries/tool-use`), modeOf(fileOf(root))], [
        0o700,
        0o700,
        0o600,
      ]);
    }));
});

describe("a folder that vanishes", () => {
  it("is made anew for the next row", () =>
    inFolder(async (root) => {
      const { ledger } = await kept({ root }, [row({ callId: "a" })]);
      for (const gone of [fileOf(root), `${root}/.summaries/tool-use`, `${root}/.summaries`]) {
        rmSync(gone, { recursive: true });
        ledger.append(row({ callId: gone }));
        await ledger.settled();
        assertEquals(linesOf(root), [row({ callId: gone })]);
        assertEquals([modeOf(`${root}/.summaries/tool-use`), modeOf(fileOf(root))], [0o700, 0o600]);
      }
      assertEquals(ledger.errors, 0);
    }));

  it("is not made anew with the whole project", () =>
    inFolder(async (folder) => {
      const root = `${folder}/project`;
      mkdirSync(root);
      const { ledger } = await kept({ root });
      renameSync(root, `${folder}/moved`);
      ledger.append(row());
      await ledger.settled();
      assertEquals([ledger.errors, readdirSync(folder)], [1, ["moved"]]);
      renameSync(`${folder}/moved`, root);
      ledger.append(row());
      await ledger.settled();
      assertEquals([ledger.errors, linesOf(root).length], [1, 2]);
    }));
});

describe("ledgers of other sessions", () => {
  const now = 1_900_000_000_000;

  /** Files by name, so many days old. */
  const aged = (root: string, days: Record<string, number>): void => {
    for (const [name, age] of Object.entries(days)) {
      const path = put(root, `.summaries/tool-use/${name}`, "{}\n"), at = (now - age * DAY) / 1_000;
      utimesSync(path, at, at);
    }
  };
  const left = (root: string): string[] => readdirSync(`${root}/.summaries/tool-use`).sort();

  it("are removed at the start when nobody wrote to them for so many days; nothing else is", () =>
    inFolder(async (root) => {
      aged(root, {
        "old.jsonl": 8,
        "new.jsonl": 6.9,
        "s.jsonl": 100,
        "old.txt": 100,
        "future.jsonl": -30,
        "just.jsonl": 7.01,
      });
      mkdirSync(`${root}/.summaries/tool-use/folder.jsonl`);
      put(root, "outside.jsonl", "{}\n");
      utimesSync(put(root, "outside.jsonl", "{}\n"), 1, 1);
      symlinkSync(`${root}/outside.jsonl`, `${root}/.summaries/tool-use/link.jsonl`);
      const { errors } = await kept({ root, now: () => now }, []);
      assertEquals(errors, 0);
      assertEquals(left(root), ["folder.jsonl", "future.jsonl", "link.jsonl", "new.jsonl", "old.txt", "s.jsonl"]);
      assert(existsSync(`${root}/outside.jsonl`));
    }));

  it("go with the places of their calls, and stay as long as these are young: the one says what the other costs", () =>
    inFolder(async (root) => {
      aged(root, {
        "both.jsonl": 8,
        "both.calls": 9,
        "row.jsonl": 1,
        "row.calls": 9,
        "call.jsonl": 9,
        "call.calls": 1,
        "alone.calls": 9,
        "s.calls": 100,
        ".calls": 100,
      });
      await kept({ root, now: () => now }, []);
      assertEquals(left(root), [".calls", "call.calls", "call.jsonl", "row.calls", "row.jsonl", "s.calls"]);
    }));

  it("stay as long as is said", () =>
    inFolder(async (root) => {
      const ages = { "a.jsonl": 2, "b.jsonl": 29, "c.jsonl": 31 };
      for (const [retentionDays, expected] of [[Infinity, 3], [30, 2], [0, 2], [0.5, 0]] as const) {
        if (retentionDays !== 0) aged(root, ages);
        await kept({ root, retentionDays, now: () => now }, []);
        assertEquals(left(root).length, expected, `${retentionDays}`);
      }
    }));

  it("stay where a host's clock tells no time", () =>
    inFolder(async (root) => {
      aged(root, { "a.jsonl": 2, "b.jsonl": 900, "b.calls": 900 });
      await kept({ root, now: () => NaN }, []);
      assertEquals(left(root), ["a.jsonl", "b.calls", "b.jsonl"]);
    }));

  it("stay where the folder is a link to somewhere else", () =>
    inFolder(async (root) => {
      aged(`${root}/other`, { "old.jsonl": 100 });
      symlinkSync(`${root}/other/.summaries`, `${root}/.summaries`);
      await kept({ root, now: () => now }, []);
      assertEquals(left(`${root}/other`), ["old.jsonl"]);
    }));

  it("go though there are thousands of them", () =>
    inFolder(async (root) => {
      aged(root, Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}.jsonl`, 8])));
      await kept({ root, now: () => now });
      assertEquals(left(root), ["s.jsonl"]);
    }));
});
