/**
 * The command line, as its own process on the runtime the tests run on; and its rarer ways in this process.
 *
 * @module
 */

import { describe, it } from "node:test";
import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import process from "node:process";
import { assert, assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { main } from "../src/cli.ts";
import { scriptedModel } from "../src/testing.ts";
import { toolUseSummary } from "../src/tool_use.ts";
import type { Summary } from "../src/types.ts";
import { createWaymark } from "../src/waymark.ts";
import { message, startMessagesApi } from "./messages_api.ts";
import { readText } from "./modules.ts";
import { programCommand } from "./programs.ts";
import { type Ran, run } from "./publishing.ts";
import { code, inFolder, put } from "./support.ts";

const [program, ...start] = programCommand("src/cli.ts");

/** Runs the command line in a folder. No key, unless one is given. */
function waymark(folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return run(program, [...start, ...args], { cwd: folder, env: { ANTHROPIC_API_KEY: "", ...env } });
}

/** Runs it in this process: what it printed, as bytes and as text. */
async function inProcess(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number; bytes: Uint8Array; stdout: string; stderr: string }> {
  const parts: Uint8Array[] = [], lines: string[] = [];
  const exit = await main(args, {
    write: (output) => void parts.push(typeof output === "string" ? new TextEncoder().encode(output) : output),
    complain: (line) => void lines.push(line),
    environment: (name) => environment[name],
  });
  const bytes = new Uint8Array(parts.flatMap((part) => [...part]));
  return { code: exit, bytes, stdout: new TextDecoder().decode(bytes), stderr: lines.join("\n") };
}

/** A folder that is a project, with a file of 300 functions in it. */
function inProject<Value>(action: (folder: string, path: string) => Promise<Value>): Promise<Value> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    return await action(folder, put(folder, "src/functions.ts", code(300)));
  });
}

const block =
  /\n\n\[waymark map: PARTIAL, lines 1-200 of 300 .*\n[^]*\n300-300 {2}function {2}f300.*\n[^]*\[end of waymark map\]\n$/;

describe("waymark read", () => {
  it("prints 200 lines, then the map of the whole file", async () => {
    await inProject(async (folder) => {
      const { code: exit, stdout, stderr } = await waymark(folder, ["read", "src/functions.ts"]);
      assertEquals([exit, stderr], [0, ""]);
      assertMatch(stdout, block);
      assertEquals(stdout.replace(block, ""), code(200));
      assertStringIncludes(stdout, "offset: 201, limit: 100");
    });
  });

  it("prints content and annotation on one line as JSON, the annotation null where there is none", async () => {
    await inProject(async (folder) => {
      put(folder, "separators.ts", "const a = '\u2028\u0085';\n");
      const long = await waymark(folder, ["read", "src/functions.ts", "--json"]);
      assertMatch(long.stdout, /^[^\r\n\u0085\u2028\u2029]+\n$/);
      const { content, annotation, ...rest } = JSON.parse(long.stdout);
      assertEquals(rest, {});
      assertEquals(content.trimEnd(), code(200));
      const { text, ...facts } = annotation;
      assertStringIncludes(text, "300-300  function  f300");
      assertEquals(facts, { kind: "map", path: "src/functions.ts", start: 1, end: 200, lines: 300, maker: "outline" });

      const short = await waymark(folder, ["read", "separators.ts", "--json"]);
      assertMatch(short.stdout, /^[^\r\n\u0085\u2028\u2029]+\n$/);
      assertEquals(JSON.parse(short.stdout), { content: "const a = '\u2028\u0085';\n", annotation: null });
    });
  });

  it("prints what is not to be shortened byte for byte", async () => {
    await inFolder(async (folder) => {
      const files: Record<string, string | Uint8Array> = {
        "short.ts": code(199) + "\n",
        "exact.ts": code(200),
        "exact_newline.ts": code(200) + "\n",
        "notes.md": "# Notes\n".repeat(500),
        "windows.ts": code(150).replaceAll("\n", "\r\n"),
        "mark.ts": `\ufeff${code(10)}`,
        "latin.ts": new Uint8Array([47, 47, 32, 233, 10]),
        "binary.ts": new Uint8Array(3000).map((_, index) => index % 7 ? index % 256 : 10),
        "empty.ts": "",
        "one_line.ts": "x".repeat(1_500_000),
      };
      for (const [name, content] of Object.entries(files)) {
        const path = put(folder, name, content);
        const { code: exit, bytes, stderr } = await inProcess(["read", path, "--root", folder]);
        assertEquals([exit, stderr], [0, ""], name);
        assertEquals(bytes.length, readFileSync(path).length, name);
        assert(readFileSync(path).every((byte, index) => byte === bytes[index]), name);
      }
    });
  });

  it("prints the range that is asked for, and shortens one that is too long", async () => {
    await inProject(async (folder) => {
      const read = async (...args: string[]) => (await waymark(folder, ["read", "src/functions.ts", ...args])).stdout;
      const lines = code(300).split("\n");
      assertEquals(await read("--offset", "100", "--limit", "2"), `${lines[99]}\n${lines[100]}\n`);
      assertEquals(await read("--offset=300", "--limit=500"), lines[299]);
      const long = await read("--offset", "50", "--limit", "240");
      assertStringIncludes(long, "PARTIAL, lines 50-249 of 300");
      assertEquals(long.split("\n\n")[0], lines.slice(49, 249).join("\n"));
      assertStringIncludes(await read("--max-lines", "20"), "PARTIAL, lines 1-20 of 300");
      assertStringIncludes(await read("--limit", "9".repeat(30)), "PARTIAL, lines 1-200 of 300");
    });
  });

  it("keeps a session in a file: what was printed and is unchanged is one line, and printed for who asks again", async () => {
    await inProject(async (folder, path) => {
      const kept = join(folder, "session.json");
      const read = (...args: string[]) => waymark(folder, ["read", "src/functions.ts", "--session", kept, ...args]);
      const lines = (await read("--limit", "3")).stdout;
      assertEquals(lines, `${code(300).split("\n").slice(0, 3).join("\n")}\n`);
      assertEquals(statSync(kept).mode & 0o777, 0o600);

      const again = await read("--limit", "3");
      assertEquals([again.code, again.stderr], [0, ""]);
      assertEquals(
        again.stdout,
        "[waymark reference: src/functions.ts lines 1-3 of 300 are unchanged since turn 1, shown then]\n",
      );
      assertEquals((await read("--limit", "3")).stdout, lines);
      const { content, annotation } = JSON.parse((await read("--limit", "2", "--json")).stdout);
      assertEquals([content, annotation.kind, annotation.start, annotation.end], ["", "reference", 1, 2]);

      assertMatch((await read()).stdout, block);
      assertMatch(
        (await read()).stdout,
        /^\[waymark reference: .* lines 1-200 of 300 .*\]\n\n\[waymark reference: PARTIAL/,
      );

      writeFileSync(path, `// new\n${code(299)}`);
      assertEquals((await read("--limit", "1")).stdout, "// new\n");
    });
  });

  it("begins a session anew where its file holds none, says so, and prints the lines", async () => {
    await inProject(async (folder) => {
      for (
        const text of [
          "",
          "no JSON",
          "null",
          "{}",
          '{"version":2}',
          '{"version":1,"turn":-1,"untracked":false,"given":[]}',
        ]
      ) {
        const kept = put(folder, "session.json", text);
        const { code: exit, stdout, stderr } = await inProcess([
          "read",
          join(folder, "src/functions.ts"),
          "--limit=1",
          "--root",
          folder,
          "--session",
          kept,
        ]);
        assertEquals([exit, stdout], [0, `${code(1)}\n`], text);
        assertMatch(stderr, /^waymark: Cannot take up the session in .*: .* It begins anew$/, text);
        assertEquals(JSON.parse(readFileSync(kept, "utf8")).turn, 1);
      }
      assertEquals(readdirSync(folder).filter((name) => name.includes(".tmp")), []);
    });
  });

  it("never writes over a file that is no session: it is set aside under a name that is told", async () => {
    await inProject(async (folder, path) => {
      for (const text of ["export const precious = 1;\n", '{"name":"a-package"}', readFileSync(path, "utf8")]) {
        const kept = text.length > 99 ? path : put(folder, "precious.ts", text);
        const call = ["read", path, "--limit=1", "--root", folder, "--session", kept];
        const { code: exit, stdout, stderr } = await inProcess(call);
        assertEquals([exit, stdout], [0, `${code(1)}\n`]);
        const old = /What is there is kept as (.*)\. It begins anew$/.exec(stderr)?.[1] ?? "";
        assertEquals(readFileSync(old, "utf8"), text);
        assertEquals(JSON.parse(readFileSync(kept, "utf8")).turn, 1);
      }
      const missing = put(folder, "precious.ts", "precious");
      await inProcess(["read", join(folder, "missing.ts"), "--root", folder, "--session", missing]);
      assertEquals(readFileSync(missing, "utf8"), "precious", "a read that fails keeps nothing");
    });
  });

  it("neither waits for nor replaces what is no file, and follows a link to one", async () => {
    await inProject(async (folder) => {
      const call = ["read", "src/functions.ts", "--limit=1", "--session"];
      await run("mkfifo", ["pipe"], { cwd: folder });
      mkdirSync(join(folder, "folder"));
      for (const name of ["pipe", "folder"]) {
        const before = statSync(join(folder, name)).ino;
        assertEquals(await waymark(folder, [...call, name]), {
          code: 0,
          stdout: `${code(1)}\n`,
          stderr: `waymark: Cannot keep the session in ${name}: it is not a regular file\n`,
        });
        assertEquals(statSync(join(folder, name)).ino, before);
      }
      put(folder, "kept.json", "");
      symlinkSync("kept.json", join(folder, "link.json"));
      await waymark(folder, [...call, "link.json"]);
      assertEquals(JSON.parse(readFileSync(join(folder, "kept.json"), "utf8")).turn, 1);
      assertEquals(readdirSync(folder).toSorted(), ["folder", "kept.json", "link.json", "package.json", "pipe", "src"]);
    });
  });

  it("prints the lines, says so and leaves nothing behind where a session cannot be kept", async () => {
    await inProject(async (folder) => {
      const kept = join(folder, "no such folder", "session.json");
      const path = join(folder, "src/functions.ts");
      const { code: exit, stdout, stderr } = await inProcess([
        "read",
        path,
        "--limit=1",
        "--root",
        folder,
        "--session",
        kept,
      ]);
      assertEquals([exit, stdout], [0, `${code(1)}\n`]);
      assertMatch(stderr, /^waymark: Cannot keep the session in .*no such folder.*$/);
    });
  });

  it("says in one line what it cannot read", async () => {
    await inProject(async (folder) => {
      mkdirSync(join(folder, "folder.ts"));
      symlinkSync("circle.ts", join(folder, "circle.ts"));
      symlinkSync("nowhere.ts", join(folder, "dangling.ts"));
      const wrong: [args: string[], reason: RegExp][] = [
        [["missing.ts"], /there is no such file$/],
        [["src/functions.ts/inside.ts"], /there is no such file$/],
        [["dangling.ts"], /there is no such file$/],
        [["circle.ts"], /./],
        [["folder.ts"], /it is a folder; name a file in it$/],
        [["/dev/null"], /it is not a regular file$/],
        [["https://example.com/a.ts"], /it is not a path on this machine$/],
        [["src/functions.ts", "--offset", "301"], /there is no line 301, the file has 300$/],
      ];
      for (const [args, reason] of wrong) {
        const { code: exit, stdout, stderr } = await waymark(folder, ["read", ...args]);
        assertEquals([exit, stdout], [1, ""], args[0]);
        assertMatch(stderr, /^waymark: Cannot read .*\n$/);
        assertStringIncludes(stderr, args[0]!);
        assertMatch(stderr.trim(), reason);
      }
    });
  });

  const byRoot = process.getuid?.() === 0 ? "root may read everything" : false;
  it("says that it may not read a file", { skip: byRoot }, async () => {
    await inProject(async (folder, path) => {
      chmodSync(path, 0o000);
      const { code: exit, stderr } = await waymark(folder, ["read", "src/functions.ts"]);
      assertEquals([exit, stderr], [1, "waymark: Cannot read src/functions.ts: permission denied\n"]);
    });
  });

  it("never holds more than it may, and says how to ask for less", async () => {
    await inFolder(async (folder) => {
      put(folder, "huge.log", `${"y".repeat(99)}\n`.repeat(360_000)); // 36 MB
      const whole = await waymark(folder, ["read", "huge.log"]);
      assertEquals([whole.code, whole.stdout], [1, ""]);
      assertEquals(
        whole.stderr,
        "waymark: Cannot read huge.log: these lines hold over 32 MiB; ask for fewer with --limit\n",
      );
      const part = await waymark(folder, ["read", "huge.log", "--offset", "350000", "--limit", "3"]);
      assertEquals([part.code, part.stdout.length], [0, 300]);
    });
  });

  it("gives a file of which no map can be made as it is, says so, and is still exit code 0", async () => {
    await inProject(async (folder) => {
      const text = "plain words and nothing else\n".repeat(250);
      put(folder, "words.ts", text);
      const { code: exit, stdout, stderr } = await waymark(folder, ["read", "words.ts"]);
      assertEquals(exit, 0);
      assert(stdout.startsWith(text));
      assertMatch(
        stdout.slice(text.length),
        /^\n\[waymark notice: [^]*no declarations[^]*\[end of waymark notice\]\n$/,
      );
      assertMatch(stderr, /^waymark: .*words\.ts.*no declarations.*\n$/);
    });
  });

  it("finds the map it made before, and makes a new one of a file that has changed", async () => {
    await inProject(async (folder, path) => {
      const first = await waymark(folder, ["map", "src/functions.ts", "--json"]);
      const { hit, usage } = JSON.parse(first.stdout);
      assertEquals([hit, usage.calls], [false, 0]);
      const second = JSON.parse((await waymark(folder, ["map", "src/functions.ts", "--json"])).stdout);
      assertEquals(second, { ...JSON.parse(first.stdout), hit: true });

      writeFileSync(path, `\n\n${code(300)}`);
      assertStringIncludes((await waymark(folder, ["read", "src/functions.ts"])).stdout, "302-302  function  f300");
      assertEquals(JSON.parse((await waymark(folder, ["stats", "--json"])).stdout).entries, 2);
    });
  });

  it("ends quietly when nobody reads on", async () => {
    await inFolder(async (folder) => {
      put(folder, "long.log", "0123456789abcde\n".repeat(500_000)); // 8 MB, more than any pipe holds
      const child = spawn(program, [...start, "read", "long.log"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
      child.stdout.once("data", () => child.stdout.destroy());
      const exit = await new Promise((done) => child.on("close", done));
      assertEquals([exit, stderr], [0, ""]);
    });
  });
});

describe("waymark map", () => {
  it("prints the map and what it cost", async () => {
    await inProject(async (folder) => {
      const made = await waymark(folder, ["map", "src/functions.ts"]);
      assertEquals([made.code, made.stderr], [0, ""]);
      assertMatch(made.stdout, /^\[waymark map: 300 lines, none are shown here\]\n/);
      assertMatch(made.stdout, /\[end of waymark map\]\n\n\(made in \d+ ms: 0 model calls\)\n$/);
      const kept = await waymark(folder, ["map", "src/functions.ts"]);
      assertEquals(kept.stdout, made.stdout.replace(/\(made.*/, "(from the cache: 0 model calls)"));
      const again = await waymark(folder, ["map", "src/functions.ts", "--refresh"]);
      assertMatch(again.stdout, /\(made in /);
    });
  });

  it("prints rows and facts on one line as JSON", async () => {
    await inProject(async (folder) => {
      const { stdout } = await waymark(folder, ["map", "src/functions.ts", "--json"]);
      assertEquals(stdout.trimEnd().split("\n").length, 1);
      const { path, hit, maker, lines, size, hash, regions, prose, usage, createdAt, promptVersion } = JSON.parse(
        stdout,
      );
      assertEquals([path, hit, maker, lines, size], ["src/functions.ts", false, "outline", 300, code(300).length]);
      assertMatch(hash, /^[\da-f]{64}$/);
      assertEquals(regions.length, 300);
      assertEquals([regions[299].start, regions[299].kind, regions[299].name], [300, "function", "f300"]);
      assertEquals([typeof prose, usage.calls, typeof createdAt, typeof promptVersion], [
        "string",
        0,
        "number",
        "number",
      ]);
    });
  });

  it("says in one line why there is none", async () => {
    await inProject(async (folder) => {
      put(folder, ".env", "TOKEN=1\n");
      put(folder, "binary.ts", new Uint8Array(500));
      put(folder, "words.ts", "plain words\n".repeat(10));
      for (
        const [name, reason] of [
          [".env", /secret/],
          ["binary.ts", /not a text file/],
          ["words.ts", /no declarations/],
          [
            "missing.ts",
            /Cannot read missing\.ts/,
          ],
        ] as const
      ) {
        const { code: exit, stdout, stderr } = await waymark(folder, ["map", name]);
        assertEquals([exit, stdout], [1, ""], name);
        assertMatch(stderr, /^waymark: Cannot [^\n]*\n$/);
        assertMatch(stderr, reason);
      }
    });
  });
});

describe("waymark at", () => {
  it("says what is at a line, and that a map is stale or not there, without making one", async () => {
    await inProject(async (folder, path) => {
      put(folder, "src/spaced.ts", `${"\n".repeat(50)}export function alone() {\n  return 1;\n}\n${"\n".repeat(250)}`);
      const at = async (...args: string[]) => {
        const { code: exit, stdout, stderr } = await waymark(folder, ["at", ...args]);
        assertEquals([exit, stderr], [0, ""]);
        return stdout;
      };
      assertMatch(await at("src/functions.ts", "7"), /^no map of it is kept/);
      assertEquals(JSON.parse(await at("src/functions.ts", "7", "--json")), { status: "absent", kept: "disk" });
      assertEquals(JSON.parse((await waymark(folder, ["stats", "--json"])).stdout).entries, 0);

      await waymark(folder, ["map", "src/functions.ts"]);
      await waymark(folder, ["map", "src/spaced.ts"]);
      assertMatch(await at("src/functions.ts", "7"), /^7-7 {2}function {2}f7( {2}.*)?\n$/);
      const { status, region, omitted } = JSON.parse(await at("src/functions.ts", "7", "--json"));
      assertEquals(omitted, 0);
      assertEquals([status, region.start, region.end, region.kind, region.name], ["found", 7, 7, "function", "f7"]);
      assertEquals(await at("src/spaced.ts", "200"), "line 200 is in no region of the map\n");
      assertEquals(JSON.parse(await at("src/spaced.ts", "200", "--json")), {
        status: "between",
        lines: 303,
        omitted: 0,
      });

      writeFileSync(path, code(301));
      assertEquals(
        await at("src/functions.ts", "7"),
        "the file has changed since it was summarized; make one with the command map\n",
      );
      assertEquals(JSON.parse(await at("src/functions.ts", "7", "--json")), { status: "stale" });
    });
  });
});

describe("waymark at, without a map", () => {
  it("says that there is only a summary where a model gave no region, and what an outer region leaves out", async () => {
    await inProject(async (folder, path) => {
      const keep = async (path: string, summary: Partial<Summary>): Promise<void> => {
        const usage = { calls: 1, input: 1, output: 1, cacheRead: 0, cacheWrite: 0, ms: 1 };
        const summarize = () => Promise.resolve({ prose: "Adds.", regions: [], usage, ...summary });
        const kept = createWaymark({ root: folder, summarizer: { maker: "model:test", version: 1, summarize } });
        await kept.summarize(path);
        await kept.close();
      };
      await keep(path, {});
      const methods = Array.from({ length: 600 }, (_, index) => `  method${index}() {\n    return ${index};\n  }\n`);
      const big = put(folder, "src/big.ts", `export class Big {\n${methods.join("")}}\n`);
      const at = async (...args: string[]) => {
        const { code: exit, stdout, stderr } = await inProcess(["at", ...args, "--root", folder]);
        assertEquals([exit, stderr], [0, ""]);
        return stdout;
      };
      assertEquals(await at(path, "7"), "no map could be made, only a summary; the command map prints it\n");
      assertEquals(await at(path, "700"), "there is no line 700: the file has 300\n");
      assertEquals(JSON.parse(await at(path, "7", "--json")), { status: "prose-only", lines: 300 });
      const name = "Big\u001b[2J", region = { start: 1, end: 1802, kind: "class", name, note: "" } as const;
      await keep(big, { regions: [region], omitted: 9 });
      assertEquals(
        await at(big, "3"),
        "1-1802  class  Big [2J  (9 entries are not in the map, and the line may be in one of them)\n",
      );
    });
  });

  it("does not send anybody to make one where none can be kept for the next process", async () => {
    await inFolder((outside) =>
      inProject(async (folder) => {
        const path = put(outside, "a.ts", code(300));
        const { code: exit, stdout } = await inProcess(["at", path, "7", "--root", folder]);
        assertEquals([exit, stdout], [
          0,
          "no map of it is kept, nor can one be in .summaries/: the command map makes one and prints it\n",
        ]);
      })
    );
  });
});

describe("waymark digests", () => {
  it("prints what the ledger of a session holds, and tells of lines that cannot be read", async () => {
    await inProject(async (folder) => {
      const digests = toolUseSummary({
        model: scriptedModel(["3 of 120 tests failed, the first in tests/a.ts line 12."]),
        session: "s-1",
        root: folder,
        topLevel: true,
      });
      digests.accept({ callId: "call_1", tool: "bash", result: "FAIL tests/a.ts\n".repeat(500) });
      digests.accept({ callId: "call_2", tool: "bash", result: "ok" });
      await digests.settled();
      await digests.close();
      const ledger = readdirSync(join(folder, ".summaries/tool-use")).find((name) => name.endsWith(".jsonl"));
      appendFileSync(join(folder, ".summaries/tool-use", ledger!), "torn\n");

      const { code: exit, stdout, stderr } = await waymark(folder, ["digests", "s-1"]);
      assertEquals([exit, stderr.trim()], [0, "waymark: 1 line of the ledger cannot be read"]);
      assertEquals(stdout.split("\n").sort(), [
        "",
        "call_1  bash  8000 bytes  3 of 120 tests failed, the first in tests/a.ts line 12.",
        "call_2  bash  2 bytes  skipped: small",
      ]);
      const json = JSON.parse((await inProcess(["digests", "s-1", "--root", folder, "--json"])).stdout);
      assertEquals([json.session, json.rows.length, json.unread], ["s-1", 2, 1]);
      assertEquals((await inProcess(["digests", "s-2", "--root", folder])).stdout, "no digests of s-2 are kept\n");
    });
  });
});

describe("waymark stats, forget and prune", () => {
  it("say what the cache holds and drop from it", async () => {
    await inProject(async (folder, path) => {
      put(folder, "src/other.ts", code(20));
      put(folder, "src/gone.ts", code(30));
      for (const name of ["functions", "other", "gone"]) await waymark(folder, ["map", `src/${name}.ts`]);

      const { stdout } = await waymark(folder, ["stats", "--json"]);
      assertEquals(stdout.trimEnd().split("\n").length, 1);
      const { bytes, ...rest } = JSON.parse(stdout);
      const file = join(folder, ".summaries/summaries.db"), makers = { outline: 3 };
      assertEquals(rest, { kind: "disk", entries: 3, makers, file, driver: "node:sqlite" });
      assert(bytes >= 4096);
      assertMatch(
        (await waymark(folder, ["stats"])).stdout,
        /^maps {4}3 \(3 by outline\)\nfile {4}\S+summaries\.db, \d+ KiB\ndriver {2}node:sqlite\n$/,
      );

      assertEquals((await waymark(folder, ["forget", "src/other.ts"])).stdout, "dropped 1 map of src/other.ts\n");
      assertEquals((await waymark(folder, ["forget", "src/other.ts"])).stdout, "dropped 0 maps of src/other.ts\n");
      rmSync(join(folder, "src/gone.ts"));
      assertEquals((await waymark(folder, ["prune"])).stdout, "dropped the maps of 1 file that are gone\n");
      assertEquals((await inProcess(["stats", "--json", "--root", folder])).stdout.includes('"entries":1'), true);
      assertEquals((await inProcess(["forget", path, "--root", folder])).code, 0);
      const empty = JSON.parse((await inProcess(["stats", "--json", "--root", folder])).stdout);
      assertEquals([empty.entries, empty.makers], [0, {}]);
    });
  });

  it("say so where there is no cache on disk", async () => {
    await inFolder(async (folder) => {
      put(folder, ".summaries", "in the way");
      const { code: exit, stdout, stderr } = await inProcess(["stats", "--root", folder]);
      assertEquals([exit, stdout], [0, "no maps: there is no cache on disk\n"]);
      assertMatch(stderr, /^waymark: Cannot keep maps on disk: .*is not a folder/);
      const json = JSON.parse((await inProcess(["stats", "--root", folder, "--json"])).stdout);
      assertEquals(json, { kind: "memory", entries: 0, makers: {}, file: null, bytes: 0, driver: null });
    });
  });
});

describe("a model on the command line", () => {
  const answer = JSON.stringify({
    prose: "Adds small numbers.",
    regions: [{ start: 1, end: 300, kind: "function", name: "f1", note: "and its like" }],
  });

  it("is used where the environment has a key, unless --no-model says otherwise", async () => {
    const api = await startMessagesApi({ replies: [message(answer)] });
    try {
      await inProject(async (folder) => {
        const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
        const parsed = await waymark(folder, ["map", "src/functions.ts", "--json", "--no-model"], env);
        assertEquals([JSON.parse(parsed.stdout).maker, api.requests.length], ["outline", 0]);

        const first = await waymark(folder, ["read", "src/functions.ts"], env);
        assertEquals([first.code, first.stderr, api.requests.length], [0, "", 1]);
        assertStringIncludes(first.stdout, "Summary: Adds small numbers.");
        const second = await waymark(folder, ["map", "src/functions.ts"], env);
        assertStringIncludes(second.stdout, "(from the cache: 0 model calls)");
        assertEquals(api.requests.length, 1);

        const named = await waymark(
          folder,
          ["map", "src/functions.ts", "--refresh", "--model", "claude-sonnet-5"],
          env,
        );
        assertEquals(named.code === 0, /^\[waymark map/.test(named.stdout));
        assertEquals([api.requests.length, api.requests[1]?.body?.model], [2, "claude-sonnet-5"]);
        if (named.code === 0) assertMatch(named.stdout, /: 1 model call, \d+ tokens in, \d+ out\)\n$/);
      });
    } finally {
      await api.close();
    }
  });

  it("that is named and has no key fails by name: a map is exit code 1, a read goes on as asked", async () => {
    await inProject(async (folder, path) => {
      const map = await waymark(folder, ["map", "src/functions.ts", "--model", "some-model"]);
      assertEquals([map.code, map.stdout], [1, ""]);
      assertMatch(map.stderr, /^waymark: Cannot use some-model: .*ANTHROPIC_API_KEY.*\n$/);

      const read = await waymark(folder, ["read", "src/functions.ts", "--model", "some-model"]);
      assertEquals(read.code, 0);
      assert(read.stdout.startsWith(readFileSync(path, "utf8")));
      assertStringIncludes(read.stdout, "[waymark notice");
      assertMatch(read.stderr, /^waymark: .*some-model.*\n$/);

      const json = await waymark(folder, ["read", "src/functions.ts", "--model", "some-model", "--json"]);
      const { content, annotation } = JSON.parse(json.stdout);
      assertEquals([content === code(300), annotation.kind, annotation.reason], [true, "notice", "no-key"]);
    });
  });

  it("is never asked for what the cache alone answers", async () => {
    await inProject(async (folder, path) => {
      const environment = { ANTHROPIC_API_KEY: "a key that would not do" };
      for (const args of [["at", path, "1"], ["stats"], ["forget", path], ["prune"]]) {
        const { code: exit, stderr } = await inProcess([...args, "--root", folder], environment);
        assertEquals([exit, stderr], [0, ""]);
      }
    });
  });
});

describe("the command line", () => {
  it("answers a call it does not understand with exit code 2 and no output", async () => {
    const wrong: readonly (readonly string[])[] = [
      [],
      ["write", "a.ts"],
      ["read"],
      ["read", "a.ts", "b.ts"],
      ["read", "a.ts", "--ofset", "3"],
      ["read", "a.ts", "--offset"],
      ["read", "a.ts", "--offset", "0"],
      ["read", "a.ts", "--limit", "-5"],
      ["read", "a.ts", "--limit", "1.5"],
      ["read", "a.ts", "--max-lines", "many"],
      ["at", "a.ts"],
      ["at", "a.ts", "seven"],
      ["at", "a.ts", "1e3"],
      ["stats", "a.ts"],
      ["forget"],
      ["prune", "--refresh"],
    ];
    for (const args of wrong) {
      const { code: exit, stdout, stderr } = await inProcess(args);
      assertEquals([exit, stdout], [2, ""], args.join(" "));
      assert(stderr.length > 0);
      assertNotMatch(stderr, /^\s+at .*:\d+/m);
    }
    const { code: exit, stdout, stderr } = await waymark(".", ["read", "a.ts", "--offset", "x"]);
    assertEquals([exit, stdout], [2, ""]);
    assertMatch(stderr, /^error: option '--offset <line>' argument 'x' is invalid\..*\n$/);
  });

  it("prints help and version on demand, with exit code 0", async () => {
    const { version } = JSON.parse(readText("deno.json"));
    assertEquals(await inProcess(["--version"]).then(({ code: exit, stdout }) => [exit, stdout]), [0, `${version}\n`]);
    const help = await waymark(".", ["--help"]);
    assertEquals([help.code, help.stderr], [0, ""]);
    for (
      const words of [
        "read",
        "map",
        "at",
        "stats",
        "digests",
        "forget",
        "prune",
        "ANTHROPIC_API_KEY",
        "--no-model",
        "Exit codes",
      ]
    ) {
      assertStringIncludes(help.stdout, words);
    }
    const read = await inProcess(["read", "--help"]);
    for (const words of ["--offset", "--limit", "--session", "--json", "--root", "--model", "--max-lines"]) {
      assertStringIncludes(read.stdout, words);
    }
  });

  it("refuses a root that is no folder", async () => {
    await inProject(async (folder, path) => {
      for (const root of [path, join(folder, "nowhere"), "https://example.com"]) {
        const { code: exit, stderr } = await inProcess(["read", path, "--root", root]);
        assertEquals([exit, stderr], [1, `waymark: Cannot use --root ${root}: it is not a folder`]);
      }
    });
  });

  it("takes its common options before and after the command", async () => {
    await inProject(async (folder, path) => {
      for (const args of [["--max-lines", "20", "read", path], ["read", path, "--max-lines", "20"]]) {
        const { stdout } = await inProcess([...args, "--root", folder]);
        assertStringIncludes(stdout, "PARTIAL, lines 1-20 of 300");
      }
    });
  });

  it("says an unforeseen failure in one line too", async () => {
    const lines: string[] = [];
    const io = (error: Error) => ({
      write: () => Promise.reject(error),
      complain: (line: string) => void lines.push(line),
      environment: () => undefined,
    });
    assertEquals(await main(["--help"], io(new Error("the disk\nis full"))), 1);
    assertEquals(lines, ["waymark: the disk is full"]);
    assertEquals(await main(["--help"], io(Object.assign(new Error("gone"), { name: "BrokenPipe" }))), 0);
    assertEquals(lines.length, 1);
  });
});
