/** Deno's permissions, one taken away after the other: each costs one thing, said once, and none raises a prompt. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { root as project } from "../modules.ts";
import { inFolder } from "../support.ts";
import type { Report } from "./cache_child.ts";

const hasTerminal = existsSync("/usr/bin/script");
const skip = !("Deno" in globalThis)
  ? "permissions are Deno's"
  : hasTerminal
  ? false
  : "there is no script(1) to play a terminal";
const library = ["/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/lib/aarch64-linux-gnu/libsqlite3.so.0"].find(
  existsSync,
);

/** Runs a process on a terminal, where Deno would ask; what it reports. Fails if it asked. */
function onTerminal(root: string, flags: readonly string[], { sqlite = "auto", env = {} }: {
  sqlite?: string;
  env?: Record<string, string>;
} = {}): Report {
  const config = `${project}${process.env["WAYMARK_CONFIG"] ?? "deno.offline.json"}`;
  const job = JSON.stringify({ action: "put", root, sqlite, name: "x", count: 2 });
  const words = [
    process.execPath,
    "run",
    "--no-check",
    "--config",
    config,
    ...flags,
    `${project}tests/faults/cache_child.ts`,
    job,
  ];
  const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  let said: string;
  try {
    said = execFileSync("/usr/bin/script", ["-qec", line, "/dev/null"], {
      encoding: "utf8",
      timeout: 30_000,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", DENO_SQLITE_PATH: "", ...env },
    });
  } catch (error) {
    throw new Error(`it waited or failed: ${(error as { stdout?: string }).stdout}`);
  }
  assert(!/permission|requests|Allow\?/i.test(said.replace(/\{.*\}/s, "")), said);
  return JSON.parse(said.trim().split("\n").at(-1)!);
}

describe("on Deno, with permissions taken away, the cache", { skip }, () => {
  const works = ["opened"], memory = ["memory"];
  const table: [what: string, flags: (root: string) => string[], kind: string, events: string[]][] = [
    ["with all", () => ["-A"], "disk", works],
    ["with none", () => [], "memory", memory],
    ["with reading alone", () => ["--allow-read"], "memory", memory],
    ["with writing alone", () => ["--allow-write"], "memory", memory],
    ["with reading and writing", () => ["--allow-read", "--allow-write"], "disk", works],
    [
      "with reading, and writing in its own folder",
      (root) => [`--allow-read`, `--allow-write=${root}/.summaries`],
      "disk",
      works,
    ],
    [
      "with both in the project alone",
      (root) => [`--allow-read=${root}`, `--allow-write=${root}/.summaries`],
      "disk",
      works,
    ],
    [
      "with both, but not for its own folder",
      (root) => ["--allow-read", "--allow-write", `--deny-write=${root}/.summaries`],
      "memory",
      memory,
    ],
    [
      "with both, but not for reading its own folder",
      (root) => ["--allow-read", "--allow-write", `--deny-read=${root}/.summaries`],
      "memory",
      memory,
    ],
    ["with writing elsewhere", (root) => ["--allow-read", `--allow-write=${root}/src`], "memory", memory],
  ];
  for (const [what, flags, kind, events] of table) {
    it(`${what} ${kind === "disk" ? "is on disk" : "is in memory, and says so once"}`, () =>
      inFolder((folder) => {
        const root = `${folder}/project`;
        mkdirSync(`${root}/.git`, { recursive: true });
        for (let time = 0; time < 2; time++) { // the second finds a folder and a database
          const report = onTerminal(root, flags(root), { sqlite: "node:sqlite" });
          assertEquals([report.kind, report.events, report.stored], [kind, events, 2], JSON.stringify(report));
        }
        assertEquals(existsSync(`${root}/.summaries`), kind === "disk");
      }));
  }

  it("does without @db/sqlite asked for by name, says so once, and opens the database all the same", () =>
    inFolder((root) => {
      for (const flags of [[], ["--allow-ffi"], ["--allow-ffi", "--allow-env=DENO_SQLITE_PATH"], ["--allow-env"]]) {
        const report = onTerminal(root, ["--allow-read", "--allow-write", ...flags], { sqlite: "@db/sqlite" });
        assertEquals([report.driver, report.events, report.stored], ["node:sqlite", ["driver", "opened"], 2]);
        assertStringIncludes(report.messages[0]!, "Cannot load @db/sqlite: it needs");
      }
    }));

  it("loads @db/sqlite asked for by name where it may", {
    skip: library ? false : "there is no SQLite library to name",
  }, () =>
    inFolder((root) => {
      const env = { DENO_SQLITE_PATH: library! };
      const flags = ["--allow-read", "--allow-write", "--allow-env=DENO_SQLITE_PATH,DENO_SQLITE_LOCAL"];
      assertEquals(onTerminal(root, [...flags, "--allow-ffi"], { sqlite: "@db/sqlite", env }).driver, "@db/sqlite");
      const scoped = onTerminal(root, [...flags, `--allow-ffi=${library}`], { sqlite: "@db/sqlite", env });
      assertEquals([scoped.driver, scoped.events], ["node:sqlite", ["driver", "opened"]]); // pointers need all of it
      assertEquals(onTerminal(root, ["-A"], { sqlite: "@db/sqlite", env }).driver, "@db/sqlite");
    }));

  describe("takes @db/sqlite by itself", { skip: library ? false : "there is no SQLite library to name" }, () => {
    /** A download folder in which the package is, as Deno keeps it. */
    const downloaded = async (folder: string): Promise<string> => {
      const bytes = new Uint8Array(
        await crypto.subtle.digest("SHA-256", new TextEncoder().encode("/@db/sqlite/meta.json")),
      );
      const name = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      mkdirSync(`${folder}/deno/remote/https/jsr.io`, { recursive: true });
      writeFileSync(`${folder}/deno/remote/https/jsr.io/${name}`, "{}");
      return `${folder}/deno`;
    };

    it("where package and library are there and it may", () =>
      inFolder(async (folder) => {
        const env = { DENO_SQLITE_PATH: library!, DENO_DIR: await downloaded(folder) };
        assertEquals(onTerminal(`${folder}`, ["-A"], { env }).driver, "@db/sqlite");
        const report = onTerminal(folder, ["-A"], { env: { ...env, DENO_SQLITE_PATH: `${folder}/none.so` } });
        assertEquals([report.driver, report.events], ["node:sqlite", ["opened"]]);
      }));

    it("not where the library is not named, the package would be downloaded, or it may not", () =>
      inFolder(async (folder) => {
        const DENO_DIR = await downloaded(folder), DENO_SQLITE_PATH = library!;
        const both = ["--allow-read", "--allow-write"];
        for (
          const [flags, env] of [
            [["-A"], { DENO_DIR }],
            [["-A"], { DENO_SQLITE_PATH, DENO_DIR: `${folder}/empty` }],
            [[...both, "--allow-ffi"], { DENO_SQLITE_PATH, DENO_DIR }],
            [[...both, "--allow-env"], { DENO_SQLITE_PATH, DENO_DIR }],
            [[...both, "--allow-env", "--allow-ffi", `--deny-ffi=${library}`], { DENO_SQLITE_PATH, DENO_DIR }],
            [[...both, "--allow-env=DENO_SQLITE_PATH,DENO_SQLITE_LOCAL", "--allow-ffi"], {
              DENO_SQLITE_PATH,
              DENO_DIR,
            }],
          ] as [string[], Record<string, string>][]
        ) {
          const report = onTerminal(folder, flags, { env });
          assertEquals(
            [report.driver, report.events],
            ["node:sqlite", ["opened"]],
            `${flags} ${JSON.stringify(env)} ${JSON.stringify(report)}`,
          );
        }
      }));
  });
});
