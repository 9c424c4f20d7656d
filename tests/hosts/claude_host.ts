/**
 * The real Claude Code, driven by the SDK's `query`, with Waymark's hooks around its `Read`: what the model is asked next.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it, test } from "node:test";
import { createSdkMcpServer, type Options, tool } from "@anthropic-ai/claude-agent-sdk";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createWaymark, dialects, type WaymarkOptions } from "@waymark/waymark";
import { claudeHooks, type ClaudeHooksOptions, claudeSummarizeFile } from "@waymark/waymark/adapters/claude";
import { conformance, type ConformanceHost, type OpenHost, type Shown } from "@waymark/waymark/conformance";
import type { AcceptedResult } from "@waymark/waymark/tool-use";
import { z } from "zod";
import { programCommand } from "../programs.ts";
import { code, inFolder, put } from "../support.ts";
import {
  ask,
  type Block,
  call,
  hookWords,
  inTurn,
  resultsOf,
  type Script,
  skip,
  startClaude,
} from "./claude_driver.ts";

/** A question in a fresh project with the guards: what the model was asked. */
async function guarded(
  run: (project: { root: string; hooks: ReturnType<typeof claudeHooks> }) => Promise<void>,
  options: WaymarkOptions = {},
  hookOptions: ClaudeHooksOptions = {},
): Promise<void> {
  await inFolder(async (root) => {
    put(root, "package.json", "{}");
    const waymark = createWaymark({ root, onNotice: () => {}, ...options });
    try {
      await run({ root, hooks: claudeHooks(waymark, { onError: (error) => console.error(error), ...hookOptions }) });
    } finally {
      await waymark.close();
    }
  });
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** The numbers from 1 to another. */
function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, at) => at + 1);
}

/** The first lines of the rows of a map. */
function rowsIn(text: string): number[] {
  return [...text.matchAll(/^(\d+)-\d+ {2}function/gm)].map(([, line]) => Number(line));
}

/** The numbers in the gutter of a result. */
function numbersIn(text: string): number[] {
  return [...text.matchAll(/^(\d+)\t/gm)].map(([, number]) => Number(number));
}

describe("a Read of Claude Code", { skip, timeout: 120_000 }, () => {
  it("is shortened, with the whole map behind its lines, each row once, however long it is", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", `${code(350)}\n`);
      const requests = await ask({
        root,
        script: inTurn([call("Read", { file_path: path }, "t1")]),
        options: { hooks },
      });
      const { text, isError } = resultsOf(requests[1]!).get("t1")!;
      assertEquals(numbersIn(text), upTo(200));
      assert(!isError);
      assertStringIncludes(text, `About the Read of ${path}:\n[waymark map: PARTIAL, lines 1-200 of 350 are shown`);
      assertStringIncludes(text, `About the Read of ${path}, part 2:\n`);
      assertStringIncludes(text, "Next lines: offset: 201, limit: 150.");
      assertEquals(text.includes("<persisted-output>"), false);
      assertEquals(rowsIn(text), upTo(350));
    });
  });

  it("says of each of several at once whose map it is, also where the words of all hooks stand in one message", async () => {
    await guarded(async ({ root, hooks }) => {
      const paths = [230, 240, 250].map((lines) => put(root, `f${lines}.ts`, `${code(lines)}\n`));
      const script = inTurn(paths.map((file_path) => call("Read", { file_path })));
      const requests = await ask({ root, script, options: { hooks, model: "claude-sonnet-5-5" } });
      for (const [, { text }] of resultsOf(requests[1]!)) {
        assertEquals([numbersIn(text).length, text.includes("waymark")], [200, false]);
      }
      const words = hookWords(requests[1]!).join("\n");
      for (const path of paths) {
        const lines = /f(\d+)\.ts$/.exec(path)![1];
        assertStringIncludes(
          words,
          `About the Read of ${path}:\n[waymark map: PARTIAL, lines 1-200 of ${lines} are shown`,
        );
      }
    });
  });

  it("begins where it was asked to, and never at line 0", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", `${code(900)}\n`);
      const script = inTurn(
        [call("Read", { file_path: path, offset: 301, limit: 500 }, "t1")],
        [call("Read", { file_path: path, offset: 0 }, "t2")],
        [call("Read", { file_path: path, offset: 301, limit: 30 }, "t3")],
      );
      const results = resultsOf((await ask({ root, script, options: { hooks } })).at(-1)!);
      assertEquals(numbersIn(results.get("t1")!.text), upTo(500).slice(300));
      assertStringIncludes(results.get("t1")!.text, "PARTIAL, lines 301-500 of 900");
      assertEquals(numbersIn(results.get("t2")!.text), upTo(200));
      assertEquals(
        results.get("t3")!.text,
        code(900).split("\n").slice(300, 330).map((line, at) => `${301 + at}\t${line}`).join("\n"),
      );
    });
  });

  it("succeeds where Claude Code itself would refuse the file: over 256 KB, and over 25,000 tokens", async () => {
    await guarded(async ({ root, hooks }) => {
      const large = put(root, "large.ts", `${code(9000)}\n`), wide = put(root, "wide.ts", `${code(2500)}\n`);
      const script = () =>
        inTurn([call("Read", { file_path: large }, "t1")], [
          call("Read", { file_path: wide, offset: 1, limit: 2500 }, "t2"),
        ]);
      const bare = resultsOf((await ask({ root, script: script() })).at(-1)!);
      assertEquals([bare.get("t1")!.isError, bare.get("t2")!.isError], [true, true]);
      const shown = resultsOf((await ask({ root, script: script(), options: { hooks } })).at(-1)!);
      assertStringIncludes(shown.get("t1")!.text, "PARTIAL, lines 1-200 of 9000 are shown");
      assertStringIncludes(shown.get("t2")!.text, "PARTIAL, lines 1-200 of 2500 are shown");
      for (const [, { text, isError }] of shown) assertEquals([numbersIn(text).length, isError], [200, false]);
    });
  });

  it("that fails only when shortened says so, and runs as asked the next time; a missing file is Claude Code's own error", async () => {
    await guarded(async ({ root, hooks }) => {
      const line = `export function f() { return "${"x".repeat(600)}"; }\n`,
        path = put(root, "wide.ts", line.repeat(250));
      const script = inTurn(
        [call("Read", { file_path: path }, "t1")],
        [call("Read", { file_path: path }, "t2")],
        [call("Read", { file_path: join(root, "missing.ts") }, "t3")],
      );
      const results = resultsOf((await ask({ root, script, options: { hooks } })).at(-1)!);
      const [first, second, third] = ["t1", "t2", "t3"].map((id) => results.get(id)!);
      assert(first!.isError);
      assertStringIncludes(first!.text, "exceeds maximum allowed tokens");
      assertStringIncludes(first!.text, "the read was shortened to lines 1-200 and failed; the same call");
      assertEquals(second!.text.includes("[waymark "), false);
      assert(third!.isError);
      assertEquals(/\[waymark |additional context/.test(third!.text), false);
    });
  });

  it("still lets Edit change the file, also behind the lines shown, and after a resume", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", `${code(900)}\n`), home = put(root, "home/.keep", "").replace("/.keep", "");
      const edit = (number: number, id: string) =>
        call("Edit", { file_path: path, old_string: `function f${number}(`, new_string: `function g${number}(` }, id);
      const script = inTurn(
        [call("Read", { file_path: path })],
        [edit(777, "e1")],
        [{ type: "text", text: "so far" }],
        [edit(888, "e2")],
      );
      const first = await startClaude({ root, script, home, options: { hooks } });
      await first.say("go").finally(() => first.close());
      const { session_id } = first.messages.find(({ type }) => type === "result") as { session_id: string };
      const second = await startClaude({ root, script, home, options: { hooks, resume: session_id } });
      await second.say("go on").finally(() => second.close());
      const results = resultsOf(second.requests.at(-1)!);
      assertEquals(["e1", "e2"].map((id) => [results.get(id)?.isError, results.get(id)?.text.includes("updated")]), [[
        false,
        true,
      ], [false, true]]);
      const text = readFileSync(path, "utf8");
      assert(text.includes("function g777(") && text.includes("function g888("));
    });
  });

  it("that is no text of a file's is left alone: images, notebooks, pages, and what says that it wants it all", async () => {
    await guarded(async ({ root, hooks }) => {
      const image = put(root, "dot.png", Buffer.from(PIXEL, "base64")), path = put(root, "a.ts", code(300));
      const cells = Array.from(
        { length: 3 },
        (_, at) => ({
          cell_type: "code",
          id: `c${at}`,
          metadata: {},
          outputs: [],
          source: [`x = ${at}`],
          execution_count: null,
        }),
      );
      const notebook = put(
        root,
        "a.ipynb",
        JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1),
      );
      const script = () =>
        inTurn([
          call("Read", { file_path: image }, "t1"),
          call("Read", { file_path: notebook }, "t2"),
          call("Read", { file_path: path, allow_large: true }, "t3"),
          call("Read", { file_path: path, pages: "1" }, "t4"),
        ]);
      const bare = resultsOf((await ask({ root, script: script() })).at(-1)!);
      const shown = resultsOf((await ask({ root, script: script(), options: { hooks } })).at(-1)!);
      for (const id of ["t1", "t2", "t3", "t4"]) assertEquals(shown.get(id), bare.get(id));
      assertEquals(shown.get("t1")!.images.length, 1);
      assert(numbersIn(shown.get("t3")!.text).length >= 300);
    });
  });

  it("with a relative path is one of the folder Claude Code is in", async () => {
    await guarded(async ({ root, hooks }) => {
      put(root, "sub/a.ts", `${code(300)}\n`);
      const requests = await ask({
        root,
        script: inTurn([call("Read", { file_path: "sub/a.ts" }, "t1")]),
        options: { hooks },
      });
      assertStringIncludes(resultsOf(requests[1]!).get("t1")!.text, "PARTIAL, lines 1-200 of 300 are shown");
    });
  });
});

describe("permissions of Claude Code", { skip, timeout: 120_000 }, () => {
  it("are what they are without the hooks, in every mode: nothing is granted, nothing denied, nothing asked twice", async () => {
    await inFolder((outside) =>
      guarded(async ({ root, hooks }) => {
        const own = put(root, "own.ts", code(300)),
          denied = put(root, "denied.ts", code(300)),
          other = put(outside, "other.ts", code(300));
        for (const permissionMode of ["default", "plan", "dontAsk"] as const) {
          const run = async (given: Options["hooks"]) => {
            const asked: string[] = [];
            const requests = await ask({
              root,
              script: inTurn([own, denied, other].map((file_path, at) => call("Read", { file_path }, `t${at}`))),
              options: {
                hooks: given,
                permissionMode,
                allowedTools: [],
                settings: JSON.stringify({ permissions: { deny: ["Read(./denied.ts)"] } }),
                canUseTool(name, { file_path }) {
                  asked.push(`${name} ${file_path}`);
                  return Promise.resolve({ behavior: "deny", message: "a person says no" });
                },
              } as Options,
            });
            const seen = resultsOf(requests.at(-1)!);
            const results = ["t0", "t1", "t2"].map((id) => {
              const { text, isError } = seen.get(id)!;
              return isError ? text.slice(0, 60) : "given";
            });
            return { asked, results };
          };
          const bare = await run({}), seen = await run(hooks);
          assertEquals(seen, bare, permissionMode);
          assertEquals([bare.results[0], bare.results[1] === "given"], ["given", false]);
        }
      })
    );
  });
});

describe("what was shown before", { skip, timeout: 120_000 }, () => {
  const reads = (path: string, ...ids: string[]) => ids.map((id) => [call("Read", { file_path: path }, id)]);

  it("is shown again by default: Claude Code does not say what it clears", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", code(100)), long = put(root, "long.ts", code(300));
      const script = inTurn(...reads(path, "t1", "t2"), ...reads(long, "t3", "t4"));
      const results = resultsOf((await ask({ root, script, options: { hooks } })).at(-1)!);
      assertEquals(results.get("t2"), results.get("t1"));
      assertEquals(results.get("t4"), results.get("t3"));
    });
  });

  it("is referred to where that is asked for, without a line that could be taken for the file's; who insists gets it", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", code(100));
      const edit = call("Edit", { file_path: path, old_string: "function f99(", new_string: "function g99(" }, "e1");
      const script = inTurn(...reads(path, "t1", "t2", "t3"), [edit], ...reads(path, "t4"));
      const results = resultsOf((await ask({ root, script, options: { hooks } })).at(-1)!);
      const [first, second, third, fourth] = ["t1", "t2", "t3", "t4"].map((id) => results.get(id)!.text);
      assertEquals(numbersIn(first!), upTo(100));
      assertEquals(numbersIn(second!), []);
      assertEquals(second!.split("\n")[0], "(Read completed with no output)");
      assertStringIncludes(
        second!,
        `About the Read of ${path}:\n[waymark reference: ${path} lines 1-100 of 100 are unchanged`,
      );
      assertEquals(third, first);
      assertEquals(results.get("e1")!.isError, false);
      assertEquals(numbersIn(fourth!), upTo(100));
      assertStringIncludes(fourth!, "function g99(");
    }, { rereadGuard: true });
  });

  it("is given once for each conversation: a sub-agent has its own", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", code(100));
      const agent = call("Agent", {
        description: "look",
        prompt: "SUB-AGENT",
        subagent_type: "general-purpose",
        run_in_background: false,
      }, "a1");
      const main = inTurn(...reads(path, "t1"), [agent], ...reads(path, "t2")),
        sub = inTurn(...reads(path, "s1", "s2"));
      const subs: Request[] = [];
      const script: Script = (request) => {
        const isSub = JSON.stringify(request.messages).includes("SUB-AGENT") &&
          !JSON.stringify(request.messages).includes('"a1"');
        if (isSub) subs.push(request);
        return isSub ? sub(request) : main(request);
      };
      const claude = await startClaude({ root, script, options: { hooks } });
      await claude.say("go");
      while (resultsOf(subs.at(-1) ?? { model: "", messages: [] }).size < 2) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const all = claude.requests.map(resultsOf).reduce((seen, results) => new Map([...seen, ...results]), new Map());
      await claude.close();
      const lines = ["t1", "s1", "s2", "t2"].map((id) => numbersIn(all.get(id)!.text).length);
      assertEquals(lines, [100, 100, 0, 0]);
    }, { rereadGuard: true });
  });

  it("is forgotten when the conversation is compacted, cleared or resumed", async () => {
    await guarded(async ({ root, hooks }) => {
      const path = put(root, "a.ts", code(100)), home = put(root, "home/.keep", "").replace("/.keep", "");
      let id = 0;
      const script: Script = ({ messages }) => {
        const last = JSON.stringify(messages.at(-1)),
          isAsked = messages.at(-1)!.role === "user" && last.includes("READ");
        return isAsked && !last.includes("tool_result")
          ? [call("Read", { file_path: path }, `t${++id}`)]
          : [{ type: "text", text: "done" }];
      };
      const claude = await startClaude({ root, script, home, options: { hooks } });
      const shown = async (to = claude): Promise<number> => {
        await to.say("READ");
        return numbersIn(resultsOf(to.requests.at(-1)!).get(`t${id}`)!.text).length;
      };
      assertEquals([await shown(), await shown()], [100, 0]);
      await claude.say("/compact");
      assertEquals([await shown(), await shown()], [100, 0]);
      await claude.say("/clear");
      assertEquals([await shown(), await shown()], [100, 0]);
      await claude.close();
      const { session_id: resume } = claude.messages.findLast(({ type }) => type === "result") as {
        session_id: string;
      };
      const resumed = await startClaude({ root, script, home, options: { hooks, resume } });
      assertEquals([await shown(resumed), await shown(resumed)], [100, 0]);
      await resumed.close();
    }, { rereadGuard: true });
  });
});

describe("beside reads", { skip, timeout: 120_000 }, () => {
  it("results of all tools are taken for digests, by their ids, a sub-agent's as such", async () => {
    const taken: AcceptedResult[] = [];
    await guarded(
      async ({ root, hooks }) => {
        const path = put(root, "a.ts", code(10));
        const script = inTurn([
          call("Read", { file_path: path }, "t1"),
          call("Edit", { file_path: path, old_string: "f1(", new_string: "g1(" }, "t2"),
        ]);
        await ask({ root, script, options: { hooks } });
        assertEquals(taken.map(({ callId, tool, topLevel }) => [callId, tool, topLevel]), [["t1", "Read", true], [
          "t2",
          "Edit",
          true,
        ]]);
        assertStringIncludes(String(taken[0]!.result), "export function f1(");
        assertEquals(taken[0]!.args, { file_path: path });
      },
      {},
      { digests: { accept: (result) => void taken.push(result) } },
    );
  });

  it("the summarize_file tool is offered at once, and answers", async () => {
    await inFolder(async (root) => {
      const waymark = createWaymark({ root, onNotice: () => {} });
      put(root, "a.ts", code(300));
      const { name, description, run } = claudeSummarizeFile(waymark, { cwd: root });
      const shape = {
        path: z.string(),
        action: z.enum(["summarize", "lookup", "refresh"]).optional(),
        line: z.number().optional(),
      };
      const server = createSdkMcpServer({
        name: "waymark",
        alwaysLoad: true,
        tools: [tool(name, description, shape, run)],
      });
      const requests = await ask({
        root,
        script: inTurn([
          call("mcp__waymark__summarize_file", { path: "a.ts" }, "t1"),
          call("mcp__waymark__summarize_file", { path: "b.ts" }, "t2"),
        ]),
        options: { mcpServers: { waymark: server }, allowedTools: ["mcp__waymark__summarize_file"] },
      });
      await waymark.close();
      assert(requests[0]!.tools!.some(({ name }) => name === "mcp__waymark__summarize_file"));
      const results = resultsOf(requests.at(-1)!);
      assertStringIncludes(results.get("t1")!.text, "[waymark map: 300 lines, none are shown here]");
      assert(results.get("t2")!.isError);
      assertStringIncludes(results.get("t2")!.text, "Cannot read b.ts");
    });
  });

  it("a person who stops Claude Code stops the map that a Read waits for", async () => {
    await inFolder(async (root) => {
      const path = put(root, "a.ts", code(300)),
        begun = Promise.withResolvers<void>(),
        stopped = Promise.withResolvers<void>();
      const hooks = claudeHooks({
        middleware(call, next) {
          begun.resolve();
          return new Promise((resolve) =>
            call.signal!.addEventListener("abort", () => (stopped.resolve(), resolve(next(call))))
          );
        },
      });
      const claude = await startClaude({
        root,
        script: inTurn([call("Read", { file_path: path })]),
        options: { hooks },
      });
      const saying = claude.say("go").catch(() => {});
      await begun.promise;
      await claude.interrupt();
      await stopped.promise;
      await saying;
      await claude.close();
    });
  });
});

describe("the command hook in Claude Code's own settings", { skip, timeout: 120_000 }, () => {
  /** A project whose settings run the hook on this runtime. */
  async function inProject(
    run: (root: string) => Promise<void>,
    flags: readonly string[] = [],
    permissions = {},
  ): Promise<void> {
    await inFolder(async (root) => {
      put(root, "package.json", "{}");
      const words = [...programCommand("src/hook.ts"), "--root", "$CLAUDE_PROJECT_DIR", ...flags],
        command = words.map((word) => `"${word}"`).join(" ");
      const hook = [{ type: "command", command, timeout: 60 }];
      const forReads = [{ matcher: "Read", hooks: hook }], forAll = [{ hooks: hook }];
      const hooks = {
        PreToolUse: forReads,
        PostToolUse: forReads,
        PostToolUseFailure: forReads,
        PreCompact: forAll,
        SessionEnd: forAll,
      };
      put(root, ".claude/settings.json", JSON.stringify({ hooks, permissions }));
      await run(root);
    });
  }
  // The home directory is a temporary one, and what Deno has fetched lies in the real one.
  const DENO_DIR = process.env["DENO_DIR"] ?? join(homedir(), ".cache/deno");
  const options: Options = { settingSources: ["project"], env: { DENO_DIR } };
  const leftIn = (root: string): string[] =>
    existsSync(join(root, ".summaries/hook")) ? readdirSync(join(root, ".summaries/hook")) : [];

  it("shortens a long read, gives its map, and leaves a short one alone", async () => {
    await inProject(async (root) => {
      const path = put(root, "a.ts", `${code(350)}\n`), short = put(root, "b.ts", code(150));
      const script = inTurn([call("Read", { file_path: short }, "t0")], [call("Read", { file_path: path }, "t1")]);
      const results = resultsOf((await ask({ root, script, options })).at(-1)!);
      assertEquals(/\[waymark |hook/.test(results.get("t0")!.text), false);
      const { text, isError } = results.get("t1")!;
      assertEquals([isError, numbersIn(text)], [false, upTo(200)]);
      assertStringIncludes(text, `About the Read of ${path}:\n[waymark map: PARTIAL, lines 1-200 of 350 are shown`);
      assertStringIncludes(text, "[end of waymark map]");
      assertEquals(text.includes("<persisted-output>"), false);
      assertEquals(leftIn(root).filter((name) => name.endsWith(".json")), []);
    });
  });

  it("finds the own read of each of several at once, and a sub-agent's", async () => {
    await inProject(async (root) => {
      const paths = [230, 240, 250].map((lines) => put(root, `f${lines}.ts`, `${code(lines)}\n`));
      const sub = inTurn([call("Read", { file_path: paths[0] }, "s1")]), subs: Request[] = [];
      const agent = call("Agent", { description: "look", prompt: "SUB-AGENT", subagent_type: "general-purpose" }, "a1");
      const main = inTurn([...paths.map((file_path, at) => call("Read", { file_path }, `t${at}`)), agent]);
      const script: Script = (request) => {
        const all = JSON.stringify(request.messages), isSub = all.includes("SUB-AGENT") && !all.includes('"a1"');
        if (isSub) subs.push(request);
        return isSub ? sub(request) : main(request);
      };
      const claude = await startClaude({ root, script, options });
      await claude.say("go");
      const subResult = () => subs.map(resultsOf).find((results) => results.has("s1"))?.get("s1");
      while (!subResult()) await new Promise((resolve) => setTimeout(resolve, 50));
      const seen = claude.requests.map(resultsOf).find((results) => results.has("t0"))!;
      await claude.close();
      for (const [at, lines] of [230, 240, 250].entries()) {
        assertStringIncludes(
          seen.get(`t${at}`)!.text,
          `About the Read of ${paths[at]}:\n[waymark map: PARTIAL, lines 1-200 of ${lines} are shown`,
        );
      }
      assertStringIncludes(subResult()!.text, "PARTIAL, lines 1-200 of 230 are shown");
    });
  });

  it("with a model sends it no file that nobody has given leave to read", async () => {
    const flags = ["--model", "claude-haiku-4-5"], permissions = { ask: ["Read(./private/**)"] };
    await inProject(
      async (root) => {
        const paths = ["private/a.ts", "b.ts"].map((name) => put(root, name, `// ${name}\n${code(300)}\n`));
        const map = JSON.stringify({
          prose: "Adds.",
          regions: [{ start: 2, end: 2, kind: "function", name: "f1", note: "" }],
        });
        const turns = inTurn(paths.map((file_path, at) => call("Read", { file_path }, `t${at}`)));
        const sent: string[] = [];
        const script: Script = (request) => {
          if (request.tools?.length) return turns(request);
          sent.push(JSON.stringify(request.messages));
          return [{ type: "text", text: map }];
        };
        const results = resultsOf((await ask({ root, script, options })).at(-1)!);
        assert(results.get("t0")!.isError);
        assertStringIncludes(results.get("t1")!.text, "Adds.");
        assertEquals(sent.map((text) => [text.includes("// private/a.ts"), text.includes("// b.ts")]), [[false, true]]);
      },
      flags,
      permissions,
    );
  });

  it("makes reads succeed that Claude Code would refuse, and lets Edit change what was not shown", async () => {
    await inProject(async (root) => {
      const path = put(root, "large.ts", `${code(9000)}\n`);
      const edit = call(
        "Edit",
        { file_path: path, old_string: "function f8888(", new_string: "function g8888(" },
        "e1",
      );
      const results = resultsOf(
        (await ask({ root, script: inTurn([call("Read", { file_path: path }, "t1")], [edit]), options })).at(-1)!,
      );
      assertEquals([results.get("t1")!.isError, results.get("e1")!.isError], [false, false]);
      assertStringIncludes(results.get("t1")!.text, "PARTIAL, lines 1-200 of 9000 are shown");
      assert(readFileSync(path, "utf8").includes("function g8888("));
    });
  });

  it("tells of a read that failed when shortened, and lets it run as asked; a missing file is Claude Code's own error", async () => {
    await inProject(async (root) => {
      const line = `export function f() { return "${"x".repeat(600)}"; }\n`,
        path = put(root, "wide.ts", line.repeat(250));
      const script = inTurn(
        [call("Read", { file_path: path }, "t1")],
        [call("Read", { file_path: path }, "t2")],
        [call("Read", { file_path: join(root, "missing.ts") }, "t3")],
      );
      const results = resultsOf((await ask({ root, script, options })).at(-1)!);
      assertStringIncludes(results.get("t1")!.text, "the read was shortened to lines 1-200 and failed; the same call");
      assertEquals([/\[waymark /.test(results.get("t2")!.text), /\[waymark /.test(results.get("t3")!.text)], [
        false,
        false,
      ]);
      assert(results.get("t3")!.isError);
    });
  });
});

const host: ConformanceHost = {
  name: "claude agent sdk 0.3.332",
  dialect: dialects.claudeCode,
  ownTool: true,
  cannot: {
    "numbers as strings, fractions, words, nothing and less than nothing are answered as without the guards":
      "Claude Code itself puts some of them right, and its hooks see the read that comes of it",
  },
  async open({ waymark, root }): Promise<OpenHost> {
    let next: readonly Block[] | undefined;
    const script: Script = () => {
      const calls = next ?? [{ type: "text", text: "done" }];
      next = undefined;
      return calls;
    };
    // In the project, as its name is in messages about `~`: a case compares those of two conversations.
    const home = put(root, ".home/.keep", "").replace("/.keep", "");
    const claude = await startClaude({ root, script, home, options: waymark ? { hooks: claudeHooks(waymark) } : {} });
    return {
      async turn(calls) {
        next = calls.map(({ args, callId }) => call("Read", args, callId));
        await claude.say("go");
        const results = resultsOf(claude.requests.at(-1)!);
        return calls.map(({ callId }): Shown => {
          const { text, isError, images } = results.get(callId)!;
          return { text: withoutFrame(text), failed: isError, images };
        });
      },
      close: () => claude.close(),
    };
  },
};

/** A result with what hooks said of it, without Claude Code's frame around their words. */
function withoutFrame(text: string): string {
  return text.replace(/<system-reminder>\nPostToolUse\w*:Read hook additional context: About the Read of .*:\n/g, "")
    .replace(/\n<\/system-reminder>$/, "");
}

if (!skip) conformance(test, host);
