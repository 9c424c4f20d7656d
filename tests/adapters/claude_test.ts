import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createWaymark, type Middleware, type Waymark, WaymarkError, type WaymarkOptions } from "@waymark/waymark";
import {
  type ClaudeHookInput,
  type ClaudeHookOutput,
  claudeHooks,
  type ClaudeHooksOptions,
  claudeSummarizeFile,
} from "@waymark/waymark/adapters/claude";
import type { AcceptedResult } from "@waymark/waymark/tool-use";
import { code, inFolder, put } from "../support.ts";

type Hooks = ReturnType<typeof claudeHooks>;
type Input = Record<string, unknown>;

/** Hooks over a project, and a host that calls them as the SDK does. */
async function inHost(
  run: (host: ReturnType<typeof hostOf> & { root: string; waymark: Waymark }) => Promise<void>,
  options: WaymarkOptions = {},
  hookOptions: ClaudeHooksOptions = {},
): Promise<void> {
  await inFolder(async (root) => {
    const waymark = createWaymark({ root, onNotice: () => {}, ...options });
    try {
      await run({ ...hostOf(claudeHooks(waymark, hookOptions), root), root, waymark });
    } finally {
      await waymark.close();
    }
  });
}

/** What the SDK does with hooks: all of an event at once, on one input; their words one after the other. */
function hostOf(hooks: Hooks, cwd: string) {
  let serial = 0;
  const fire = async (
    event: keyof Hooks,
    input: Input,
    signal = new AbortController().signal,
  ): Promise<ClaudeHookOutput[]> => {
    const all = hooks[event].flatMap(({ hooks }) => hooks),
      given = { hook_event_name: event, session_id: "s", cwd, ...input };
    return await Promise.all(all.map((hook) => hook(given, undefined, { signal })));
  };
  /** A read of a text file that a host has: what it was called with, and what the model is shown. */
  const read = async (args: Input, rest: Input = {}, response?: (args: Input) => unknown) => {
    const { readFileSync } = await import("node:fs"), { resolve } = await import("node:path");
    const call = { tool_name: "Read", tool_use_id: `toolu_${++serial}`, ...rest };
    const [begun] = await fire("PreToolUse", { ...call, tool_input: args });
    const output = begun!.hookSpecificOutput,
      made = output?.hookEventName === "PreToolUse" ? output.updatedInput : args;
    const slice = () => {
      const path = resolve(cwd, String(args["file_path"])),
        { offset = 1, limit = Infinity } = made as { offset?: number; limit?: number };
      const content = readFileSync(path, "utf8").split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
      return { type: "text", file: { filePath: path, content, numLines: 1, startLine: offset, totalLines: 1 } };
    };
    const after = { ...call, tool_input: made, tool_response: response ? response(made) : slice() };
    const outputs = (await fire("PostToolUse", after)).map(({ hookSpecificOutput }) => hookSpecificOutput).filter((
      one,
    ) => one?.hookEventName === "PostToolUse");
    const notes = outputs.map(({ additionalContext }) => additionalContext),
      [instead] = outputs.flatMap((one) => one.updatedToolOutput ?? []);
    return { made, notes, text: notes.join("\n"), instead };
  };
  const endTurn = (rest: Input = {}): Promise<unknown> => fire("PostToolBatch", { tool_calls: [], ...rest });
  return { hooks, fire, read, endTurn };
}

describe("a Read between hooks", () => {
  it("is shortened, and no hook decides about a permission", async () => {
    await inHost(async ({ root, fire }) => {
      const path = put(root, "a.ts", code(300)),
        input = { tool_name: "Read", tool_use_id: "t", tool_input: { file_path: path } };
      assertEquals(await fire("PreToolUse", input), [{
        hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: { file_path: path, limit: 200 } },
      }]);
    });
  });

  it("has its map in as many parts as Claude Code hands on whole, in order, and each once", async () => {
    await inHost(async ({ root, read }) => {
      const { notes, text, instead } = await read({ file_path: put(root, "a.ts", code(390)) });
      assert(notes.length > 1);
      assertEquals(instead, undefined, "beside the lines, not in their place");
      for (const note of notes) assert(note.length <= 10_000);
      const rows = [...text.matchAll(/^(\d+)-\d+ {2}function/gm)].map(([, line]) => Number(line));
      assertEquals(rows, Array.from({ length: 390 }, (_, at) => at + 1));
    });
  });

  it("has all of it in one where one hook is to say it", async () => {
    await inHost(
      async ({ root, read, hooks }) => {
        assertEquals(hooks.PostToolUse[0].hooks.length, 1);
        const { notes } = await read({ file_path: put(root, "a.ts", code(390)) });
        assertEquals(notes.length, 1);
        assertStringIncludes(notes[0]!, "[end of waymark map]");
      },
      {},
      { parts: 1 },
    );
  });

  it("that is short, of another tool or not to be read is handed on with its very arguments", async () => {
    await inHost(async ({ root, fire }) => {
      const path = put(root, "a.ts", code(300)),
        call = { tool_name: "Read", tool_use_id: "t", tool_input: { file_path: path } };
      const inputs: Input[] = [
        { ...call, tool_input: { file_path: path, limit: 200 } },
        { ...call, tool_input: { file_path: path, pages: "1-3" } },
        { ...call, tool_input: { file_path: path, allow_large: true } },
        { ...call, tool_input: { file_path: join(root, "missing.ts") } },
        { ...call, tool_input: "a.ts" },
        { ...call, tool_input: null },
        { ...call, tool_name: "Write" },
        { ...call, tool_name: undefined },
        { ...call, tool_use_id: undefined },
        { ...call, tool_use_id: "" },
      ];
      for (const input of inputs) {
        assertEquals(await fire("PreToolUse", input), [{}], JSON.stringify(input));
        for (const output of await fire("PostToolUse", { ...input, tool_response: "text" })) assertEquals(output, {});
        assertEquals(await fire("PostToolUseFailure", input), [{}]);
      }
    });
  });

  it("with a relative path is one of the event's folder", async () => {
    await inHost(async ({ root, read }) => {
      put(root, "deep/a.ts", code(300));
      const { made, text } = await read({ file_path: "deep/a.ts" });
      assertEquals(made, { file_path: "deep/a.ts", limit: 200 });
      assertStringIncludes(text, "About the Read of deep/a.ts:\n[waymark map: PARTIAL, lines 1-200 of 300 are shown");
    });
  });

  it("never begins at line 0, which Claude Code would number wrongly", async () => {
    await inHost(async ({ root, read }) => {
      assertEquals((await read({ file_path: put(root, "a.ts", code(300)), offset: 0 })).made["offset"], 1);
    });
  });

  it("whose answer is no text of the file's has nothing said of it", async () => {
    await inHost(async ({ root, read }) => {
      const path = put(root, "a.ts", code(300));
      const stub = "File unchanged since last read. The content from the earlier Read tool_result is still current.";
      const answers = [
        { type: "file_unchanged", file: { filePath: path } },
        { type: "text", file: { filePath: path, content: stub } },
        { type: "image", file: { base64: "" } },
      ];
      for (const answer of answers) {
        assertEquals((await read({ file_path: path }, {}, () => answer)).notes, [], JSON.stringify(answer));
      }
    });
  });

  it("whose answer has a form that nobody knows is told of as cut", async () => {
    await inHost(async ({ root, read }) => {
      const path = put(root, "a.ts", code(300));
      for (const answer of [{ type: "lines", lines: ["a"] }, "1\ta", null]) {
        const { text } = await read({ file_path: path }, {}, () => answer);
        assertStringIncludes(text, "PARTIAL, lines 1-200 of 300 were asked for, what came back was not checked");
        assertEquals((await read({ file_path: path, limit: 100 }, {}, () => answer)).notes, []);
      }
    });
  });

  it("of a file that begins with Claude Code's own words for an unchanged one is told of as cut", async () => {
    await inHost(async ({ root, read }) => {
      const path = put(root, "a.ts", `File unchanged since last read.\n${code(300)}`);
      assertStringIncludes((await read({ file_path: path })).text, "PARTIAL, lines 1-200 of 301 are shown");
    });
  });

  it("that a person stopped has nothing said of it", async () => {
    await inHost(async ({ root, fire }) => {
      const path = put(root, "a.ts", code(300));
      const call = { tool_name: "Read", tool_use_id: "t1", tool_input: { file_path: path } };
      await fire("PreToolUse", call);
      assertEquals(await fire("PostToolUseFailure", { ...call, error: "stopped", is_interrupt: true }), [{}]);
    });
  });

  it("that failed when shortened says so, and goes on as asked the next time", async () => {
    await inHost(async ({ root, fire, read }) => {
      const path = put(root, "a.ts", code(300)),
        call = { tool_name: "Read", tool_use_id: "t1", tool_input: { file_path: path } };
      await fire("PreToolUse", call);
      const [failed] = await fire("PostToolUseFailure", { ...call, error: "too large" });
      const { hookEventName, additionalContext } = failed!.hookSpecificOutput as {
        hookEventName: string;
        additionalContext: string;
      };
      assertEquals(hookEventName, "PostToolUseFailure");
      assertStringIncludes(additionalContext, `About the Read of ${path}:\n[waymark notice: `);
      assertEquals((await read({ file_path: path })).made, { file_path: path });
    });
  });

  it("of text that is not the file's has its map withheld", async () => {
    await inHost(async ({ root, read }) => {
      const path = put(root, "a.ts", code(300));
      const { text } = await read(
        { file_path: path },
        {},
        () => ({ type: "text", file: { filePath: path, content: "other\n".repeat(200) } }),
      );
      assertStringIncludes(text, "its map is withheld");
      assertEquals(text.includes("[waymark map"), false);
    });
  });

  it("goes on as asked where everything of ours fails", async () => {
    const errors: unknown[] = [];
    const broken = hostOf(
      claudeHooks({ middleware: () => Promise.reject(new Error("a fault")) }, {
        onError: (error) => void errors.push(error),
      }),
      "/",
    );
    const call = { tool_name: "Read", tool_use_id: "t", tool_input: { file_path: "/a.ts" } };
    assertEquals(await broken.fire("PreToolUse", call), [{}]);
    for (
      const output of await broken.fire("PostToolUse", {
        ...call,
        tool_response: { type: "text", file: { content: "a" } },
      })
    ) assertEquals(output, {});
    const traps = new Proxy({}, {
      get: () => {
        throw new Error("a trap");
      },
    }) as ClaudeHookInput;
    for (const [{ hooks }] of Object.values(broken.hooks)) {
      for (const hook of hooks) {
        assertEquals(await hook(traps, undefined, { signal: new AbortController().signal }), {});
      }
    }
    assert(errors.length >= 8);
  });

  it("is let go when the SDK gives up on its hook", async () => {
    const abort = new AbortController();
    const { fire } = hostOf(claudeHooks({ middleware: () => new Promise(() => {}) }), "/");
    const begun = fire(
      "PreToolUse",
      { tool_name: "Read", tool_use_id: "t", tool_input: { file_path: "/a.ts" } },
      abort.signal,
    );
    abort.abort();
    assertEquals(await begun, [{}]);
  });

  it("that a person did not allow is forgotten with its turn, and many at once keep apart", async () => {
    await inHost(async ({ root, fire, read, endTurn }) => {
      const path = put(root, "a.ts", code(300)),
        call = { tool_name: "Read", tool_use_id: "denied", tool_input: { file_path: path } };
      await fire("PreToolUse", call);
      await endTurn({ tool_calls: [{ tool_name: "Read", tool_use_id: "denied", tool_input: {} }, { tool_use_id: 3 }] });
      const response = { type: "text", file: { filePath: path, content: code(300).split("\n", 200).join("\n") } };
      for (const output of await fire("PostToolUse", { ...call, tool_response: response })) assertEquals(output, {});
      const lengths = Array.from({ length: 20 }, (_, at) => 210 + at);
      const all = await Promise.all(
        lengths.map((lines) => read({ file_path: put(root, `f${lines}.ts`, code(lines)) })),
      );
      for (const [at, { text }] of all.entries()) assertStringIncludes(text, `lines 1-200 of ${lengths[at]} are shown`);
    });
  });
});

describe("lines shown before", () => {
  const asked: WaymarkOptions = { rereadGuard: true };

  it("are forgotten with their conversation, where so many are to be remembered and no more", async () => {
    for (const [max, isHeld] of [[1, false], [2, true]] as const) {
      await inHost(
        async ({ root, read, endTurn }) => {
          const path = put(root, "a.ts", code(100));
          for (const session_id of ["one", "two"]) {
            await read({ file_path: path }, { session_id });
            await endTurn({ session_id });
          }
          const { text } = await read({ file_path: path }, { session_id: "one" });
          assertEquals(text.includes("[waymark reference"), isHeld);
        },
        asked,
        { max },
      );
    }
  });

  it("are waited for as long as the options say, 90 seconds by default", () => {
    for (const [options, seconds] of [[{}, 90], [{ timeout: 7 }, 7]] as const) {
      const { PreToolUse, PostToolUse } = claudeHooks({ middleware: (call, next) => next(call) }, options);
      assertEquals([PreToolUse[0].timeout, PostToolUse[0].timeout], [seconds, seconds]);
    }
  });

  it("are shown again by default, and that is said once", async () => {
    const notices: string[] = [];
    await inHost(async ({ root, read, endTurn }) => {
      const path = put(root, "a.ts", code(100));
      for (let turn = 0; turn < 3; turn++) {
        assertEquals((await read({ file_path: path })).instead, undefined);
        await endTurn();
      }
      assertEquals(notices, ["untracked"]);
    }, { onNotice: ({ reason }) => void notices.push(reason) });
  });

  it("are referred to where that is asked for, with an answer that has no line in it", async () => {
    await inHost(async ({ root, read, endTurn }) => {
      const path = put(root, "a.ts", code(100));
      assertEquals((await read({ file_path: path })).notes, []);
      await endTurn();
      const { notes, text, instead } = await read({ file_path: path });
      assertEquals(notes.length, 1);
      assertStringIncludes(
        text,
        `About the Read of ${path}:\n[waymark reference: ${path} lines 1-100 of 100 are unchanged`,
      );
      assertEquals(instead, { type: "notebook", file: { filePath: path, cells: [] } });
      assertEquals((await read({ file_path: path })).instead, undefined); // who insists gets them
    }, asked);
  });

  it("of the same turn are no lines the model has read", async () => {
    await inHost(async ({ root, read, endTurn }) => {
      const path = put(root, "a.ts", code(100));
      await read({ file_path: path, limit: 90 });
      assertEquals((await read({ file_path: path, limit: 80 })).instead, undefined);
      await endTurn();
      assert((await read({ file_path: path, limit: 70 })).instead !== undefined);
    }, asked);
  });

  it("belong to one conversation: other sessions and sub-agents are apart", async () => {
    await inHost(async ({ root, read, endTurn }) => {
      const path = put(root, "a.ts", code(100)),
        who: Input[] = [{}, { session_id: "other" }, { agent_id: "a1" }, { agent_id: "a2" }];
      for (const rest of who) {
        assertEquals((await read({ file_path: path }, rest)).instead, undefined, JSON.stringify(rest));
        await endTurn(rest);
      }
      for (const rest of who) {
        assert((await read({ file_path: path }, rest)).instead !== undefined, JSON.stringify(rest));
      }
    }, asked);
  });

  it("are forgotten when their conversation is compacted, begun again or ended, and those of others are not", async () => {
    for (const event of ["PreCompact", "PostCompact", "SessionStart", "SessionEnd"] as const) {
      await inHost(async ({ root, fire, read, endTurn }) => {
        const path = put(root, "a.ts", code(100)), sub = { agent_id: "a1" };
        for (const rest of [{}, sub]) await read({ file_path: path }, rest), await endTurn(rest);
        await fire(event, { source: "compact", trigger: "auto" });
        assertEquals((await read({ file_path: path })).instead, undefined, event);
        assert((await read({ file_path: path }, sub)).instead !== undefined, event);
      }, asked);
    }
  });

  it("and changed since are shown", async () => {
    await inHost(async ({ root, read, endTurn }) => {
      const path = put(root, "a.ts", code(100));
      await read({ file_path: path });
      await endTurn();
      writeFileSync(path, code(101));
      assertEquals((await read({ file_path: path })).instead, undefined);
    }, asked);
  });
});

describe("digests of the Waymark's own", () => {
  it("are told whose a read is", async () => {
    const levels: unknown[] = [];
    const middleware: Middleware = (call, next) => (levels.push(call.topLevel), next(call));
    await inHost(async ({ root, read }) => {
      const path = put(root, "a.ts", code(10));
      await read({ file_path: path });
      await read({ file_path: path }, { agent_id: "a1" });
    }, { toolUse: { middleware } });
    assertEquals(levels, [true, false]);
  });
});

describe("results of all tools", () => {
  it("are taken for digests after each turn, once, by their ids", async () => {
    const taken: AcceptedResult[] = [];
    await inHost(
      async ({ endTurn }) => {
        const tool_calls = [{
          tool_name: "Bash",
          tool_use_id: "t1",
          tool_input: { command: "ls" },
          tool_response: "a\nb",
        }, { tool_name: "Bash" }];
        await endTurn({ tool_calls });
        await endTurn({ tool_calls: [{ tool_name: "Grep", tool_use_id: "t2", tool_response: "c" }], agent_id: "a1" });
        await endTurn({ tool_calls: "none" });
      },
      {},
      { digests: { accept: (result) => void taken.push(result) } },
    );
    assertEquals(taken, [
      { callId: "t1", tool: "Bash", args: { command: "ls" }, result: "a\nb", topLevel: true },
      { callId: "t2", tool: "Grep", args: undefined, result: "c", topLevel: false },
    ]);
  });
});

describe("the end of a turn", () => {
  it("is one whatever its calls are said to be", async () => {
    const taken: AcceptedResult[] = [];
    await inHost(
      async ({ root, read, endTurn }) => {
        const path = put(root, "a.ts", code(100));
        await read({ file_path: path });
        await endTurn({ tool_calls: [null, 3, { tool_use_id: "t1" }, { tool_use_id: "t2", tool_name: "Bash" }] });
        assert((await read({ file_path: path })).instead !== undefined);
        assertEquals(taken.map(({ callId }) => callId), ["t2"]);
      },
      { rereadGuard: true },
      { digests: { accept: (result) => void taken.push(result) } },
    );
  });

  it("is one also where its results are not taken", async () => {
    const digests = {
      accept(): void {
        throw new Error("a fault");
      },
    };
    await inHost(
      async ({ root, read, endTurn }) => {
        const path = put(root, "a.ts", code(100));
        await read({ file_path: path });
        await endTurn({ tool_calls: [{ tool_use_id: "t1", tool_name: "Bash" }] });
        assert((await read({ file_path: path })).instead !== undefined);
      },
      { rereadGuard: true },
      { digests },
    );
  });
});

describe("options that mean nothing", () => {
  it("are refused by name", () => {
    const waymark = { middleware: () => Promise.reject(new Error("never")) };
    for (const options of [{ parts: 0 }, { parts: 1.5 }, { timeout: NaN }, { timeout: -1 }]) {
      assertThrows(() => claudeHooks(waymark, options), WaymarkError);
    }
  });
});

describe("the tool for the model", () => {
  it("gives a map, and says what to do where it cannot", async () => {
    await inFolder(async (root) => {
      put(root, "a.ts", code(300));
      const waymark = createWaymark({ root, cache: false }),
        { name, description, run } = claudeSummarizeFile(waymark, { cwd: root });
      assertEquals([name, description.includes("Gives the map")], ["summarize_file", true]);
      const { content, isError } = await run({ path: "a.ts" });
      assertEquals([content.length, content[0]!.type, isError], [1, "text", undefined]);
      assertStringIncludes(content[0]!.text, "[waymark map: 300 lines");
      const failed = await run({ path: "b.ts" }, { signal: new AbortController().signal });
      assertEquals(failed.isError, true);
      assertStringIncludes(failed.content[0]!.text, "Cannot read b.ts");
      assertEquals((await run({ path: "a.ts" }, { signal: AbortSignal.abort() })).isError, true);
      await waymark.close();
    });
  });
});
