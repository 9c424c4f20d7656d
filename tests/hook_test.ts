/**
 * The hook as Claude Code runs it: a process before a read, another one after it, JSON on standard input.
 *
 * @module
 */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { main } from "@waymark/waymark/hook";
import { apiError, message, startMessagesApi } from "./messages_api.ts";
import {
  after,
  before,
  changed,
  event,
  hook,
  inProject,
  left,
  read,
  type ReadArguments,
  said,
} from "./hook_processes.ts";
import { programCommand } from "./programs.ts";
import { code, inFolder, put } from "./support.ts";

describe("a long read", { timeout: 120_000 }, () => {
  it("is shortened by the process before it, and its map given by the one after it", async () => {
    await inProject(async ({ root, long }) => {
      const first = await hook(before(root, { file_path: long }));
      assertEquals(first, {
        code: 0,
        stderr: "",
        stdout: first.stdout,
        answer: { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: { file_path: long, limit: 200 } } },
      });
      assertEquals(left(root).length, 1);
      const second = await hook(after(root, { file_path: long, limit: 200 }));
      assertEquals([second.code, second.stderr, second.answer!.hookSpecificOutput["hookEventName"]], [
        0,
        "",
        "PostToolUse",
      ]);
      assertStringIncludes(
        said(second)!,
        `About the Read of ${long}:\n[waymark map: PARTIAL, lines 1-200 of 390 are shown`,
      );
      assertStringIncludes(said(second)!, "Next lines: offset: 201, limit: 190.");
      assertEquals(left(root).filter((name) => name.endsWith(".json")), []);
    });
  });

  it("begins where it was asked to", async () => {
    await inProject(async ({ root, long }) => {
      const [first, second] = await read(root, { file_path: long, offset: 101, limit: 280 });
      assertEquals(changed(first), { file_path: long, offset: 101, limit: 200 });
      assertStringIncludes(said(second)!, "PARTIAL, lines 101-300 of 390 are shown");
    });
  });

  it("with a map longer than Claude Code hands on keeps the middle of it in a file, and says which", async () => {
    await inProject(async ({ root, long }) => {
      const [, second] = await read(root, { file_path: long }), note = said(second)!;
      assert(note.length <= 10_000);
      const [, file] = /\(rows are left out here: Read (\S+), which holds them\)/.exec(note)!;
      const rest = readFileSync(file!, "utf8"), rows = [...`${note}\n${rest}`.matchAll(/^(\d+)-\d+ {2}function/gm)];
      assertEquals(
        rows.map(([, line]) => Number(line)).sort((a, b) => a - b),
        Array.from({ length: 390 }, (_, at) => at + 1),
      );
      assertStringIncludes(note, "[end of waymark map]");
      assertStringIncludes(rest, `About the Read of ${long}:\n`);
      assertEquals(statSync(file!).mode & 0o777, 0o600);
    });
  });

  it("of a sub-agent is its own, whatever ids the main agent's calls have", async () => {
    await inProject(async ({ root, long, short }) => {
      const first = await hook(
        before(root, { file_path: long }, { agent_id: "a898a8", agent_type: "general-purpose" }),
      );
      assertEquals(changed(first)?.limit, 200);
      assertEquals(said(await hook(after(root, { file_path: short }))), undefined);
      const own = await hook(after(root, { file_path: long, limit: 200 }, { agent_id: "a898a8" }));
      assertStringIncludes(said(own)!, "PARTIAL, lines 1-200 of 390");
    });
  });

  it("that another hook has made whole again is nobody's business", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      assertEquals(said(await hook(after(root, { file_path: long }))), undefined);
    });
  });

  it("is shortened to as many lines as was said, in the folder that was said", async () => {
    await inProject(async ({ root, short }) => {
      await inFolder(async (elsewhere) => {
        const flags = ["--max-lines", "100", "--root", elsewhere];
        const [first, second] = await read(root, { file_path: short }, {}, flags);
        assertEquals(changed(first), { file_path: short, limit: 100 });
        assertStringIncludes(said(second)!, "PARTIAL, lines 1-100 of 150");
        assertEquals([existsSync(join(root, ".summaries")), existsSync(join(elsewhere, ".summaries"))], [false, true]);
      });
    });
  });

  it("from a folder within the project leaves its state at the project's root", async () => {
    await inProject(async ({ root }) => {
      const path = put(root, "deep/er/a.ts", code(300)), deep = join(root, "deep/er");
      const first = await hook(before(deep, { file_path: "a.ts" }));
      assertEquals(changed(first), { file_path: "a.ts", limit: 200 });
      assertEquals([left(root).length, existsSync(join(deep, ".summaries"))], [1, false]);
      assertStringIncludes(
        said(await hook(after(deep, { file_path: path, limit: 200 })))!,
        "PARTIAL, lines 1-200 of 300",
      );
    });
  });

  it("with the tree-sitter outline has its map from there", async () => {
    await inProject(async ({ root, long }) => {
      const [, second] = await read(root, { file_path: long }, {}, ["--outline"]);
      assertStringIncludes(said(second)!, "Made by a parser, not by a model.");
    });
  });
});

describe("a read that is not touched", { timeout: 120_000 }, () => {
  it("starts nothing and writes nothing, before or after", async () => {
    await inProject(async ({ root, long, short }) => {
      const prose = put(root, "notes.md", "line\n".repeat(900)), flat = put(root, "flat.ts", "x".repeat(50_000));
      const calls: [string, ReadArguments][] = [
        ["a short file", { file_path: short }],
        ["a short range", { file_path: long, offset: 3, limit: 200 }],
        ["the end of a long file", { file_path: long, offset: 300 }],
        ["prose", { file_path: prose }],
        ["one long line", { file_path: flat }],
        ["pages", { file_path: long, pages: "1" } as ReadArguments],
        ["all, by name", { file_path: long, allow_large: true } as ReadArguments],
        ["no range", { file_path: long, limit: -3 }],
      ];
      for (const [what, args] of calls) {
        const [first, second] = [await hook(before(root, args)), await hook(after(root, args))];
        assertEquals([first.code, first.stdout, first.stderr], [0, "", ""], what);
        assertEquals([second.code, second.stdout, second.stderr], [0, "", ""], what);
      }
      for (
        const args of [{ file_path: join(root, "missing.ts") }, { file_path: root }, { file_path: "/dev/zero" }, {}]
      ) {
        assertEquals((await hook(before(root, args as ReadArguments))).stdout, "");
      }
      assertEquals(existsSync(join(root, ".summaries")), false);
    });
  });

  it("of another tool is none of ours", async () => {
    await inProject(async ({ root, long }) => {
      assertEquals((await hook(before(root, { file_path: long }, { tool_name: "Write" }))).stdout, "");
    });
  });
});

describe("a read that failed", { timeout: 120_000 }, () => {
  it("when shortened says so, and goes on as asked the next time, once", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const tool_input = { file_path: long, limit: 200 },
        error = "File content (46343 tokens) exceeds maximum allowed tokens (25000).";
      const failed = await hook(event("PostToolUseFailure", root, { tool_input, error, is_interrupt: false }));
      assertEquals(failed.answer!.hookSpecificOutput["hookEventName"], "PostToolUseFailure");
      assertStringIncludes(said(failed)!, "shortened to lines 1-200 and failed; the same call");
      const again = { tool_use_id: "toolu_2" };
      // As where the hook stands in two settings: no process takes the promise from the other.
      for (const _ of [1, 2]) assertEquals(changed(await hook(before(root, { file_path: long }, again))), undefined);
      assertEquals((await hook(after(root, { file_path: long }, again))).stdout, "");
      assertEquals(left(root), []);
      assertEquals(changed(await hook(before(root, { file_path: long }, { tool_use_id: "toolu_3" })))?.limit, 200);
    });
  });

  it("goes on as asked also where its path was relative, and no more than once", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: "long.ts" }));
      const failure = { tool_input: { file_path: long, limit: 200 }, error: "too large" };
      assertStringIncludes(said(await hook(event("PostToolUseFailure", root, failure)))!, "the same call");
      assertEquals(changed(await hook(before(root, { file_path: "long.ts" }, { tool_use_id: "toolu_2" }))), undefined);
      await hook(
        event("PostToolUseFailure", root, { ...failure, tool_input: { file_path: long }, tool_use_id: "toolu_2" }),
      );
      assertEquals(changed(await hook(before(root, { file_path: long }, { tool_use_id: "toolu_3" })))?.limit, 200);
    });
  });

  it("is still to go on as asked where a person stopped it before it did", async () => {
    await inProject(async ({ root, long }) => {
      const failure = { tool_input: { file_path: long, limit: 200 }, error: "too large" };
      await hook(before(root, { file_path: long }));
      assertStringIncludes(said(await hook(event("PostToolUseFailure", root, failure)))!, "the same call");
      for (const tool_use_id of ["toolu_2", "toolu_3"]) {
        assertEquals(changed(await hook(before(root, { file_path: long }, { tool_use_id }))), undefined);
        const stopped = { ...failure, tool_input: { file_path: long }, tool_use_id, is_interrupt: true };
        assertEquals(said(await hook(event("PostToolUseFailure", root, stopped))), undefined);
      }
    });
  });

  it("because a person stopped it has nothing more said of it", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const stopped = event("PostToolUseFailure", root, {
        tool_input: { file_path: long, limit: 200 },
        error: "stopped",
        is_interrupt: true,
      });
      assertEquals((await hook(stopped)).stdout, "");
    });
  });
});

describe("a file that changes between the two processes", { timeout: 120_000 }, () => {
  it("has no map told of its old lines: what was not given is said, and had by the same call", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const old = after(root, { file_path: long, limit: 200 });
      writeFileSync(long, `// new\n${code(390)}\n`);
      const note = said(await hook(old))!;
      assertEquals(note.includes("[waymark map"), false);
      assertStringIncludes(note, "at most lines 1-200 were read, the file may go on");
      assertEquals(changed(await hook(before(root, { file_path: long }, { tool_use_id: "toolu_2" }))), undefined);
    });
  });

  it("and is short by then is told of as cut all the same", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const old = after(root, { file_path: long, limit: 200 });
      writeFileSync(long, code(20));
      assertStringIncludes(said(await hook(old))!, "the same call once more reads all it asks for");
    });
  });

  it("and is gone by then too", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const old = after(root, { file_path: long, limit: 200 });
      rmSync(long);
      assertStringIncludes(said(await hook(old))!, "at most lines 1-200 were read, the file may go on");
    });
  });
});

describe("an answer that is no text of the file's", { timeout: 120_000 }, () => {
  it("has nothing said of lines that it does not show", async () => {
    await inProject(async ({ root, long }) => {
      const tool_input = { file_path: long, limit: 200 };
      const unchanged =
        "File unchanged since last read. The content from the earlier Read tool_result is still current.";
      const answers = [
        { type: "file_unchanged", file: { filePath: long } },
        { type: "text", file: { filePath: long, content: unchanged, numLines: 1, startLine: 1, totalLines: 1 } },
        { type: "image", file: { base64: "", type: "image/png", originalSize: 3 } },
        { type: "notebook", file: { filePath: long, cells: [] } },
      ];
      for (const tool_response of answers) {
        await hook(before(root, { file_path: long }));
        assertEquals(
          (await hook(event("PostToolUse", root, { tool_input, tool_response }))).stdout,
          "",
          JSON.stringify(tool_response),
        );
      }
    });
  });
});

describe("an answer of a form that nobody knows", { timeout: 120_000 }, () => {
  it("is told of as cut", async () => {
    await inProject(async ({ root, long }) => {
      const tool_input = { file_path: long, limit: 200 };
      for (const tool_response of [{ type: "lines", lines: ["a"] }, "1\ta", undefined]) {
        await hook(before(root, { file_path: long }));
        assertStringIncludes(
          said(await hook(event("PostToolUse", root, { tool_input, tool_response })))!,
          "PARTIAL, lines 1-200 of 390 were asked for, what came back was not checked",
        );
      }
    });
  });

  it("is none where the file itself begins with Claude Code's own words", async () => {
    await inProject(async ({ root }) => {
      const path = put(root, "a.ts", `File unchanged since last read.\n${code(300)}`);
      assertStringIncludes(said((await read(root, { file_path: path }))[1])!, "PARTIAL, lines 1-200 of 301 are shown");
    });
  });
});

describe("processes at once", { timeout: 120_000 }, () => {
  it("for reads of one turn each find their own", async () => {
    await inProject(async ({ root }) => {
      const lengths = [210, 220, 230, 240, 250, 260];
      const paths = lengths.map((lines) => put(root, `f${lines}.ts`, code(lines)));
      const id = (at: number) => ({ tool_use_id: `toolu_${at}` });
      const firsts = await Promise.all(paths.map((file_path, at) => hook(before(root, { file_path }, id(at)))));
      assertEquals(firsts.map((ran) => changed(ran)?.limit), lengths.map(() => 200));
      const seconds = await Promise.all(
        paths.map((file_path, at) => hook(after(root, { file_path, limit: 200 }, id(at)))),
      );
      for (const [at, lines] of lengths.entries()) {
        assertStringIncludes(said(seconds[at]!)!, `lines 1-200 of ${lines} are shown`);
      }
      assertEquals(left(root).filter((name) => name.endsWith(".json")), []);
    });
  });

  it("for one call, as where the hook stands in two settings, say it once", async () => {
    await inProject(async ({ root, long }) => {
      const firsts = await Promise.all([1, 2, 3].map(() => hook(before(root, { file_path: long }))));
      assertEquals(firsts.map((ran) => changed(ran)?.limit), [200, 200, 200]);
      const seconds = await Promise.all([1, 2, 3].map(() => hook(after(root, { file_path: long, limit: 200 }))));
      assertEquals(seconds.map(({ code, stderr }) => [code, stderr]), [[0, ""], [0, ""], [0, ""]]);
      assertEquals(seconds.filter((ran) => said(ran) !== undefined).length, 1);
    });
  });
});

describe("whatever happens, the hook", { timeout: 120_000 }, () => {
  const isRoot = process.getuid?.() === 0;

  it("ends well and says nothing", async () => {
    await inProject(async ({ root, long }) => {
      const inputs: [string, unknown][] = [
        ["no input", ""],
        ["no JSON", "{"],
        ["no object", "[1, 2"],
        ["a word", '"PreToolUse"'],
        ["null", "null"],
        ["no event", {}],
        ["an event of another kind", event("UserPromptSubmit", root, { prompt: "go" })],
        ["no id", before(root, { file_path: long }, { tool_use_id: undefined })],
        ["an id that is none", before(root, { file_path: long }, { tool_use_id: 7 })],
        ["no arguments", event("PreToolUse", root, {})],
        ["arguments of another kind", event("PreToolUse", root, { tool_input: "long.ts" })],
        ["no folder", before(root, { file_path: "long.ts" }, { cwd: 5 })],
        ["a folder that is none", before("/no/such/folder", { file_path: "long.ts" })],
      ];
      for (const [what, input] of inputs) {
        const { code, stdout, stderr } = await hook(input);
        assertEquals([code, stdout, stderr], [0, "", ""], what);
      }
    });
  });

  it("says what went wrong where that is asked for", async () => {
    const { code, stdout, stderr } = await hook("{", ["--verbose"]);
    assertEquals([code, stdout], [0, ""]);
    assert(/^waymark: .*JSON/.test(stderr), stderr);
  });

  it(
    "says no word of Node's own",
    { skip: ("Deno" in globalThis || "Bun" in globalThis) && "the warnings are Node's" },
    async () => {
      const [program, ...args] = programCommand("src/hook.ts");
      const warned = async (when: string, ...flags: string[]): Promise<boolean> => {
        const noise = `data:text/javascript,setInterval(() => ${when} && process.emitWarning('noise'), 1).unref()`;
        const command = [program, "--import", noise, ...args];
        return (await hook(null, ["--timeout", "1", ...flags], { command })).stderr.includes("noise");
      };
      // Not before the hook has begun: what Node says of its own start is its own.
      assert(!await warned("!process.listenerCount('warning')"));
      assert(await warned("true", "--verbose"));
    },
  );

  it("ends in time where its input does not", async () => {
    const { code, stdout, stderr } = await hook(null, ["--timeout", "1"]);
    assertEquals([code, stdout, stderr], [0, "", ""]);
  });

  it("that is late still says that a read was cut", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      const input = JSON.stringify(after(root, { file_path: long, limit: 200 }));
      let output = "";
      const io = {
        read() {
          for (const from = Date.now(); Date.now() - from < 1100;); // a machine with other things to do
          return Promise.resolve(input);
        },
        write: (text: string) => void (output += text),
        complain() {},
      };
      assertEquals(await main(["--root", root, "--timeout", "1"], io), 0);
      // Whether its time is over before the map is there depends on the clock of the runtime.
      assertMatch(output, /at most lines 1-200 were read, the file may go on|PARTIAL, lines 1-200 of /);
    });
  });

  it("shortens nothing where it cannot keep what was asked: a link, a file, or a folder in the way", async () => {
    await inProject(async ({ root, long }) => {
      await inFolder(async (elsewhere) => {
        const ways: [string, () => void][] = [
          [".summaries is a link", () => symlinkSync(elsewhere, join(root, ".summaries"))],
          [".summaries is a file", () => writeFileSync(join(root, ".summaries"), "")],
          ["its own folder is a link", () => {
            mkdirSync(join(root, ".summaries"), { mode: 0o700 });
            symlinkSync(elsewhere, join(root, ".summaries/hook"));
          }],
          ["its own folder is a file", () => {
            mkdirSync(join(root, ".summaries"), { mode: 0o700 });
            writeFileSync(join(root, ".summaries/hook"), "");
          }],
        ];
        for (const [what, make] of ways) {
          make();
          const { code, stdout, stderr } = await hook(before(root, { file_path: long }));
          assertEquals([code, stdout, stderr], [0, "", ""], what);
          assertEquals(readdirSync(elsewhere), [], what);
          rmSync(join(root, ".summaries"), { recursive: true });
        }
      });
    });
  });

  it(
    "shortens nothing in a project that cannot be written to",
    { skip: isRoot && "root may write everywhere" },
    async () => {
      await inProject(async ({ root, long }) => {
        chmodSync(root, 0o500);
        try {
          const { code, stdout, stderr } = await hook(before(root, { file_path: long }));
          assertEquals([code, stdout, stderr], [0, "", ""]);
        } finally {
          chmodSync(root, 0o700);
        }
      });
    },
  );

  it("shortens nothing where there is no project, nor at the root of the disk", async () => {
    await inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300));
      for (const flags of [[], ["--root", "/"], ["--root", "/no/such/folder"]]) {
        assertEquals((await hook(before(folder, { file_path: path }), flags)).stdout, "", flags.join(" "));
      }
      assertEquals(existsSync(join(folder, ".summaries")), false);
    });
  });

  it("takes nothing for its own that is torn, too large or a link", async () => {
    await inProject(async ({ root, long, short }) => {
      const tool_input = { file_path: long, limit: 200 };
      const spoil: [string, (file: string) => void][] = [
        ["torn", (file) => writeFileSync(file, '{"version":1,"args"')],
        ["of another version", (file) => writeFileSync(file, '{"version":2,"args":{}}')],
        ["empty", (file) => writeFileSync(file, "")],
        ["too large", (file) => writeFileSync(file, " ".repeat(2 << 20))],
        ["a link", (file) => (rmSync(file), symlinkSync(short, file))],
      ];
      for (const [what, change] of spoil) {
        await hook(before(root, { file_path: long }));
        change(join(root, ".summaries/hook", left(root).find((name) => name.endsWith(".json"))!));
        const { code, stdout, stderr } = await hook(after(root, tool_input));
        assertEquals([code, stdout, stderr], [0, "", ""], what);
        rmSync(join(root, ".summaries/hook"), { recursive: true });
      }
      assertEquals(readFileSync(short, "utf8"), `${code(150)}\n`);
    });
  });

  it("keeps the middle of a long note for a session that is resumed", async () => {
    await inProject(async ({ root, long }) => {
      await read(root, { file_path: long });
      const [note] = left(root);
      await hook(before(root, { file_path: long }, { tool_use_id: "toolu_2" }));
      await hook(event("SessionEnd", root, { reason: "other" }));
      assertEquals([left(root), note!.endsWith(".txt")], [[note], true]);
      utimesSync(join(root, ".summaries/hook", note!), 1, 1);
      await hook(event("SessionEnd", root, { reason: "other" }));
      assertEquals(left(root), []);
    });
  });

  it("forgets what nobody comes for: at the end of a session its own, after a week all", async () => {
    await inProject(async ({ root, long }) => {
      const other = { session_id: "another", tool_use_id: "toolu_9" },
        sub = { agent_id: "sub", tool_use_id: "toolu_8" };
      for (const rest of [{}, sub, other]) await hook(before(root, { file_path: long }, rest));
      assertEquals(left(root).length, 3);
      await hook(event("SessionEnd", root, { reason: "other" }));
      assertEquals(left(root).length, 1);
      const [kept] = left(root), stranger = put(root, ".summaries/hook/stranger.json", "{}");
      for (const file of [join(root, ".summaries/hook", kept!), stranger]) utimesSync(file, 1, 1);
      for (const name of ["PreCompact", "SessionStart"]) {
        await hook(event(name, root, { trigger: "auto", source: "compact" }));
      }
      assertEquals(left(root), ["stranger.json"]);
    });
  });

  it("keeps no more than a bounded number of files, the newest", async () => {
    await inProject(async ({ root, long }) => {
      await hook(before(root, { file_path: long }));
      for (let at = 0; at < 600; at++) {
        const name = `${"0".repeat(24)}-${String(at).padStart(24, "0")}.json`,
          file = put(root, `.summaries/hook/${name}`, "{}");
        utimesSync(file, Date.now() / 1000 - 1000 + at, Date.now() / 1000 - 1000 + at);
      }
      await hook(before(root, { file_path: long }, { tool_use_id: "toolu_2" }));
      assert(left(root).length <= 512 && left(root).length >= 500);
      assertStringIncludes(said(await hook(after(root, { file_path: long, limit: 200 })))!, "PARTIAL");
    });
  });
});

describe("with a model the hook", { timeout: 120_000 }, () => {
  const summary = JSON.stringify({
    prose: "Adds numbers to numbers.",
    regions: [{ start: 1, end: 390, kind: "function", name: "f1", note: "adds" }],
  });

  it("has one map made by it, after the read and never before it, and none of a file outside the project", async () => {
    await inProject(async ({ root, long }) => {
      const api = await startMessagesApi({ replies: [message(summary)] });
      const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url }, flags = ["--model", "claude-haiku-5-5"];
      const first = await hook(before(root, { file_path: long }), flags, { env });
      assertEquals([changed(first)?.limit, api.requests.length], [200, 0]);
      const second = await hook(after(root, { file_path: long, limit: 200 }), flags, { env });
      assertStringIncludes(said(second)!, "Adds numbers to numbers.");
      assertEquals(api.requests.length, 1);
      const again = { tool_use_id: "toolu_2" };
      await hook(before(root, { file_path: long }, again), flags, { env });
      assertStringIncludes(
        said(await hook(after(root, { file_path: long, limit: 200 }, again), flags, { env }))!,
        "Adds numbers to numbers.",
      );
      await inFolder(async (elsewhere) => {
        const path = put(elsewhere, "a.ts", code(300));
        assertEquals(changed(await hook(before(root, { file_path: path }), flags, { env }))?.limit, 200);
        const outside = await hook(after(root, { file_path: path, limit: 200 }), flags, { env });
        assertStringIncludes(said(outside)!, "Made by a line scanner");
      });
      assertEquals(api.requests.length, 1);
      await api.close();
    });
  });

  it("asks nothing of it for a read that failed", async () => {
    await inProject(async ({ root, long }) => {
      const api = await startMessagesApi({ replies: [message(summary)] });
      const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url }, flags = ["--model", "claude-haiku-5-5"];
      await hook(before(root, { file_path: long }), flags, { env });
      const failed = { tool_input: { file_path: long, limit: 200 }, error: "too large" };
      assertStringIncludes(
        said(await hook(event("PostToolUseFailure", root, failed), flags, { env }))!,
        "shortened to lines 1-200 and failed",
      );
      assertEquals(api.requests.length, 0);
      await api.close();
    });
  });

  it("that never answers is not waited for longer than was said, and the read is told of", async () => {
    await inProject(async ({ root, long }) => {
      const api = await startMessagesApi({ replies: [{ kind: "hang" }] });
      const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
      const flags = ["--model", "claude-haiku-5-5", "--timeout", "2"];
      await hook(before(root, { file_path: long }), flags, { env });
      const second = await hook(after(root, { file_path: long, limit: 200 }), flags, { env });
      assert(/lines 1-200 (?:of 390 are shown|were read)/.test(said(second)!));
      await api.close();
    });
  });

  it("that fails leaves it to a parser, and leaves the model alone for a while", async () => {
    await inProject(async ({ root, long }) => {
      const api = await startMessagesApi({ replies: [apiError(529, "overloaded_error", "overloaded")] });
      const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url }, flags = ["--model", "claude-haiku-5-5"];
      for (const tool_use_id of ["toolu_1", "toolu_2"]) {
        const first = await hook(before(root, { file_path: long }, { tool_use_id }), flags, { env });
        assertEquals([changed(first)?.limit, first.stderr], [200, ""]);
        const second = await hook(after(root, { file_path: long, limit: 200 }, { tool_use_id }), flags, { env });
        assertStringIncludes(said(second)!, "Made by a line scanner");
      }
      assertEquals(api.requests.length, 1);
      await api.close();
    });
  });

  it("and no key does without it", async () => {
    await inProject(async ({ root, long }) => {
      const flags = ["--model", "claude-haiku-5-5"], env = { ANTHROPIC_API_KEY: "" };
      assertEquals(changed(await hook(before(root, { file_path: long }), flags, { env }))?.limit, 200);
      const second = await hook(after(root, { file_path: long, limit: 200 }), flags, { env });
      assertStringIncludes(said(second)!, "Made by a line scanner");
    });
  });
});

describe("the settings", { timeout: 120_000 }, () => {
  interface Settings {
    hooks: Record<string, { matcher?: string; hooks: { type: string; command: string; timeout: number }[] }[]>;
  }
  const print = async (...args: string[]): Promise<Settings> => {
    let output = "";
    const io = {
      read: () => Promise.reject(new Error("nobody asks")),
      write: (text: string) => void (output += text),
      complain() {},
    };
    assertEquals(await main(["settings", ...args], io), 0);
    return JSON.parse(output);
  };

  it("name the events, the tool, and longer than the hook itself takes", async () => {
    const { hooks } = await print();
    assertEquals(Object.keys(hooks), ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PreCompact", "SessionEnd"]);
    assertEquals(hooks["PreToolUse"]![0]!.matcher, "Read");
    assertEquals(hooks["PreCompact"]![0]!.matcher, undefined);
    assertEquals([
      hooks["PreToolUse"]![0]!.hooks[0]!.timeout,
      (await print("--timeout", "30")).hooks["SessionEnd"]![0]!.hooks[0]!.timeout,
    ], [20, 40]);
  });

  it("for Deno grant what is needed and no more", async () => {
    const command = async (...args: string[]) =>
      (await print("--for", "deno", ...args)).hooks["PreToolUse"]![0]!.hooks[0]!.command;
    const plain = await command();
    assertEquals([...plain.matchAll(/--(?:allow|no|quiet)\S*/g)].map(([flag]) => flag), [
      "--quiet",
      "--no-prompt",
      "--no-config",
      "--allow-read",
      '--allow-write="$CLAUDE_PROJECT_DIR/.summaries"',
      "--allow-env=HOME",
      "--allow-sys=uid",
    ]);
    assert(/\/hook(?:\.ts)?"? --root "\$CLAUDE_PROJECT_DIR"$/.test(plain), plain);
    assertStringIncludes(await command("--model", "claude-haiku-5-5"), "--allow-net=api.anthropic.com");
    assertStringIncludes(await command("--max-lines", "100"), '--root "$CLAUDE_PROJECT_DIR" --max-lines 100');
  });

  it("run as they are printed, by a shell, on this runtime, and nothing of the project's with them", async () => {
    await inProject(async ({ root, long }) => {
      const [program, ...args] = programCommand("src/hook.ts");
      const { hooks } = JSON.parse(
        execFileSync(program, [...args, "settings"], { cwd: root, encoding: "utf8" }),
      ) as Settings;
      put(root, "bunfig.toml", 'preload = ["./noise.ts"]');
      put(root, "noise.ts", 'console.log("noise");');
      put(root, "deno.json", "no configuration");
      const programs = join(root, "programs"),
        name = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";
      mkdirSync(programs);
      symlinkSync(process.execPath, join(programs, name)); // the program itself may have another name
      const env = { CLAUDE_PROJECT_DIR: root, PATH: `${programs}:${process.env["PATH"]}` };
      const run = (event: string, input: unknown) =>
        hook(input, [], { env, command: ["sh", "-c", `cd "${root}" && ${hooks[event]![0]!.hooks[0]!.command}`] });
      const first = await run("PreToolUse", before(root, { file_path: long }));
      assertEquals([first.code, first.stderr, changed(first)?.limit], [0, "", 200]);
      assertStringIncludes(said(await run("PostToolUse", after(root, { file_path: long, limit: 200 })))!, "PARTIAL");
    });
  });

  it("come with help", async () => {
    let stdout = "";
    const io = { read: () => Promise.resolve(""), write: (text: string) => void (stdout += text), complain() {} };
    const code = await main(["--help"], io);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "Usage: hook");
  });
});

describe("on Deno the hook", { skip: !("Deno" in globalThis) && "permissions are Deno's", timeout: 120_000 }, () => {
  it("without leave to do anything ends well and does nothing", async () => {
    await inProject(async ({ root, long }) => {
      const command = programCommand("src/hook.ts").flatMap((word) =>
        // Without any leave named, a Deno started by a Deno is given all.
        word === "-A" ? ["--no-prompt", "--allow-read=/nowhere"] : [word]
      );
      const { code, stdout, stderr } = await hook(before(root, { file_path: long }), [], { command });
      assertEquals([code, stdout, stderr], [0, "", ""]);
    });
  });

  it("without leave to write shortens nothing", async () => {
    await inProject(async ({ root, long }) => {
      const command = programCommand("src/hook.ts").flatMap((word) =>
        word === "-A" ? ["--no-prompt", "--allow-read"] : [word]
      );
      assertEquals((await hook(before(root, { file_path: long }), [], { command })).stdout, "");
    });
  });
});
