/**
 * Every example runs by itself: its own process, no key, no set-up, and it leaves nothing behind.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { trueMap } from "../src/testing.ts";
import type { CompletionRequest } from "../src/types.ts";
import { message, startMessagesApi } from "./messages_api.ts";
import { readText, root } from "./modules.ts";
import { programCommand } from "./programs.ts";
import { type Ran, run } from "./publishing.ts";
import { code, inFolder, put } from "./support.ts";

const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts")).sort();
/** What each one must show. */
const shows: Readonly<Record<string, readonly string[]>> = {
  "01_guard_a_read.ts": ["PARTIAL, lines 1-200 of 2", "Command", "0 model calls", "[waymark notice", "503"],
  "02_offer_summarize_file.ts": ["summarize_file {", "read_file {", "function step30"],
  "03_wrap_a_registry.ts": ["PARTIAL, lines 1-200 of 400"],
  "04_plug_in_a_model.ts": ["house-model", "repairs: 1", "anthropic() asks claude-"],
  "05_a_failing_model.ts": ["503", "next try is in", 'fallback "outline"'],
  "06_read_again.ts": [
    "lines 1-81 of 81 are unchanged since turn 1",
    "+  1| export const rate = 21;",
    "2 references, 1 change",
  ],
  "07_compact_a_conversation.ts": ["0 by a fork; the first read 0 tokens", "6 summaries, 6 by a fork", "(simulated)"],
  "08_digest_tool_results.ts": ["digest of bash result, 19000 bytes", "2 digests kept", "1 call for 2 results"],
  "09_ai_sdk.ts": ["PARTIAL, lines 1-200 of 400", "route349()", "lines 350-354 of 400 are unchanged since turn 2"],
  "10_anthropic_runner.ts": ["PARTIAL, lines 1-200 of 400", "unchanged since turn 2", "function  route394"],
};

/** Runs one with a home and a folder for temporary files of its own, which must be empty afterwards. */
async function runExample(
  name: string,
  folder: string,
  args: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<Ran> {
  const temporary = join(folder, "temporary");
  mkdirSync(temporary, { recursive: true });
  const [program, ...start] = programCommand(`examples/${name}`);
  const env = { ANTHROPIC_API_KEY: "", TMPDIR: temporary, INIT_CWD: folder, ...environment };
  const ran = await run(program, [...start, ...args], { cwd: folder, env });
  assertEquals(readdirSync(temporary), []);
  return ran;
}

describe("the examples", () => {
  it("are numbered, described and each 20 to 90 lines", () => {
    assertEquals(examples, Object.keys(shows));
    const described = readText("examples/README.md");
    for (const name of examples) {
      const text = readText(`examples/${name}`), lines = text.split("\n").length - 1;
      assert(lines >= 20 && lines <= 90, `${name} has ${lines} lines`);
      assertMatch(text, /^\/\*\*\n \* .+/);
      assertStringIncludes(described, name);
    }
  });

  it("import this package by its name, and from npm only what is read as a sample or is the host of an adapter", () => {
    for (const name of examples) {
      const specifiers = [...readText(`examples/${name}`).matchAll(/^import .*?"([^"]+)";/gms)].map(([, from]) =>
        from!
      );
      const wrong = specifiers.filter((from) =>
        !/^(@waymark\/waymark|@std\/assert$|node:|commander$|ai$|ai\/test$|@anthropic-ai\/sdk(\/|$))/.test(from)
      );
      assertEquals(wrong, [], name);
    }
  });

  for (const name of examples) {
    it(`${name} shows what it promises`, async () => {
      await inFolder(async (folder) => {
        const { code, stdout, stderr } = await runExample(name, folder);
        assertEquals([code, stderr], [0, ""]);
        for (const words of shows[name] ?? []) assertStringIncludes(stdout, words);
        assert(stdout.split("\n").length > 1);
      });
    });
  }
});

describe("the demo", () => {
  const demo = "01_guard_a_read.ts";

  it("prints a capped read, one from the cache, an untouched range, a read after an edit and a failure, in this order", async () => {
    await inFolder(async (folder) => {
      const { stdout } = await runExample(demo, folder);
      const titles = [...stdout.matchAll(/^=== (\d)\. (.*) ===$/gm)].map(([, number, title]) => `${number} ${title}`);
      const words = [/200 come back/, /from the cache/, /not touched/, /new map/, /model that fails/];
      assertEquals(
        titles.map((title, index) => title.startsWith(`${index + 1}`) && words[index]?.test(title)),
        words.map(() => true),
      );
    });
  });

  it("takes a file of one's own, and leaves it as it is", async () => {
    await inFolder(async (folder) => {
      const path = put(folder, "own.ts", code(300));
      const { code: exit, stdout } = await runExample(demo, folder, ["own.ts"]);
      assertEquals(exit, 0);
      assertStringIncludes(stdout, "PARTIAL, lines 1-200 of 300");
      assertStringIncludes(stdout, "of 310 are shown");
      assertEquals(readFileSync(path, "utf8"), code(300));
    });
  });

  it("has a model make the maps where the environment has a key", async () => {
    const api = await startMessagesApi({
      replies: ({ body }) =>
        message(trueMap({ ...body, signal: new AbortController().signal } as unknown as CompletionRequest)),
    });
    try {
      await inFolder(async (folder) => {
        put(folder, "own.ts", code(300));
        const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
        const { code: exit, stdout, stderr } = await runExample(demo, folder, ["own.ts"], env);
        assertEquals([exit, stderr, api.requests.length], [0, "", 2]); // one for each content
        assertMatch(stdout, /Made by model claude-\S+; a parser verified 300 regions/);
        assertMatch(stdout, /^the first time: \d+ ms to make the map, 1 model calls$/m);
      });
      const wrong = await startMessagesApi({ key: "another", replies: [] });
      await inFolder(async (folder) => {
        const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: wrong.url };
        const { stdout } = await runExample(demo, folder, [], env);
        assertMatch(stdout, /^\[waymark notice: [^]*401/);
      });
      await wrong.close();
    } finally {
      await api.close();
    }
  });

  it("says why a file is of no use for it", async () => {
    await inFolder(async (folder) => {
      put(folder, "short.ts", code(20));
      const short = await runExample(demo, folder, ["short.ts"]);
      assertEquals(short.code, 0);
      assertStringIncludes(short.stdout, "is left alone");
      const missing = await runExample(demo, folder, ["missing.ts"]);
      assertEquals([missing.code, missing.stdout], [1, ""]);
      assertMatch(missing.stderr, /^Cannot use .*missing\.ts: .*\n$/);
    });
  });
});
