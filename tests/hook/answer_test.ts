import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { answer, type HookSetup } from "../../src/hook/answer.ts";
import { programCommand } from "../programs.ts";
import { code, inFolder, put } from "../support.ts";

const setup = (): HookSetup => ({ signal: new AbortController().signal, timeoutMs: 5000, tell: () => {} });

describe("an answer before a read", () => {
  it("is none for what is no regular file, a folder or a pipe, which is never waited for", async () => {
    await inFolder(async (root) => {
      put(root, "package.json", "{}");
      mkdirSync(join(root, "folder.ts"));
      if (process.platform !== "win32") execFileSync("mkfifo", [join(root, "pipe.ts")]);
      for (const name of ["folder.ts", "pipe.ts", "missing.ts"]) {
        const event = { session_id: "s", cwd: root, tool_name: "Read", tool_use_id: name };
        const input = { ...event, hook_event_name: "PreToolUse", tool_input: { file_path: join(root, name) } };
        assertEquals(await answer(input, setup()), undefined, name);
      }
      assertEquals(readdirSync(root).sort().filter((name) => name.startsWith(".")), []);
    });
  });
});

describe("an answer after a read", () => {
  it("tells of a read that was cut also where nothing else of it can be found out", async () => {
    await inFolder(async (root) => {
      put(root, "package.json", "{}");
      const file_path = put(root, "a.ts", code(300));
      const event = { session_id: "s", cwd: root, tool_name: "Read", tool_use_id: "t", tool_input: { file_path } };
      const before = await answer({ ...event, hook_event_name: "PreToolUse" }, setup());
      assertEquals(before?.hookSpecificOutput, {
        hookEventName: "PreToolUse",
        updatedInput: { file_path, limit: 200 },
      });
      const told: string[] = [],
        broken: HookSetup = {
          ...setup(),
          tell: (words) => void told.push(words),
          get signal(): AbortSignal {
            throw new Error("a fault of ours");
          },
        };
      const tool_response = { type: "text", file: { filePath: file_path, content: "a" } };
      const after = { ...event, hook_event_name: "PostToolUse", tool_input: { file_path, limit: 200 }, tool_response };
      const { hookSpecificOutput } = (await answer(after, broken))!;
      assertStringIncludes(
        (hookSpecificOutput as { additionalContext: string }).additionalContext,
        "at most lines 1-200 were read",
      );
      assertEquals(told, ["a fault of ours"]);
      assertEquals(await answer({ ...event, hook_event_name: "PreToolUse", tool_use_id: "t2" }, setup()), undefined); // as promised
    });
  });
});

describe("a fault that nobody waits for", { timeout: 60_000 }, () => {
  for (const how of ["throw", "reject"]) {
    it(`ends the hook well: ${how}`, async () => {
      const [program, ...args] = programCommand("tests/hook/fault_child.ts");
      const failed = await new Promise((resolve) => execFile(program, [...args, how], (error) => resolve(error)));
      assertEquals(failed, null);
    });
  }
});
