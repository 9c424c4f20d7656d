import { describe, it } from "node:test";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { commandOf, programOf, settingsOf } from "../../src/hook/settings.ts";

const plain = { options: [], deadlineMs: 10_000 } as const;

describe("the program of the hook", () => {
  it("is where it is now: a file, or an address with its version", () => {
    const here = { runtime: "deno", isOther: false, folder: "/p" } as const;
    assertEquals(programOf("file:///p/src/a%20hook.ts", here), "/p/src/a hook.ts");
    assertEquals(
      programOf("https://jsr.io/@waymark/waymark/0.1.0/src/hook.ts", here),
      "jsr:@waymark/waymark@0.1.0/hook",
    );
    assertEquals(programOf("https://example.org/hook.ts", here), "jsr:@waymark/waymark/hook");
    assertEquals(programOf("file:///C:/p/src/hook.ts", here), "C:/p/src/hook.ts");
  });

  it("is where another runtime finds it", () => {
    const there = { isOther: true, folder: "/p" } as const, url = "file:///p/src/hook.ts";
    assertEquals(programOf(url, { ...there, runtime: "deno" }), "jsr:@waymark/waymark/hook");
    assertEquals(programOf(url, { ...there, runtime: "bun" }), "/p/node_modules/@waymark/waymark/src/hook.js");
    assertEquals(
      programOf(url, { runtime: "node", isOther: true, folder: undefined }),
      "./node_modules/@waymark/waymark/src/hook.js",
    );
  });
});

describe("the settings", () => {
  it("run it at every event it takes part in, of Read alone where there is a tool, and wait longer than it takes", () => {
    const facts = { options: [], program: "/hook.js", runtime: "node", deadlineMs: 10_500 } as const;
    const { hooks } = JSON.parse(settingsOf(facts)), hook = { type: "command", command: commandOf(facts), timeout: 21 };
    const reads = [{ matcher: "Read", hooks: [hook] }], all = [{ hooks: [hook] }];
    assertEquals(hooks, {
      PreToolUse: reads,
      PostToolUse: reads,
      PostToolUseFailure: reads,
      PreCompact: all,
      SessionEnd: all,
    });
  });
});

describe("the command of the hook", () => {
  it("names the project as Claude Code does where the program is in it", () => {
    const program = "/my project/node_modules/@waymark/waymark/src/hook.js";
    assertEquals(
      commandOf({ ...plain, program, runtime: "node", folder: "/my project" }),
      'node "$CLAUDE_PROJECT_DIR/node_modules/@waymark/waymark/src/hook.js" --root "$CLAUDE_PROJECT_DIR"',
    );
    assertEquals(
      commandOf({ ...plain, program: "/my projects/hook.js", runtime: "bun", folder: "/my project" }),
      'bun --no-env-file --config=/dev/null "/my projects/hook.js" --root "$CLAUDE_PROJECT_DIR"',
    );
  });

  it("does so on a drive too", () => {
    const drive = { ...plain, program: "C:/p/node_modules/hook.js", runtime: "node", folder: "C:\\p" } as const;
    assertEquals(
      commandOf(drive),
      'node "$CLAUDE_PROJECT_DIR/node_modules/hook.js" --root "$CLAUDE_PROJECT_DIR"',
    );
  });

  it("gives a shell nothing to run but itself", () => {
    const command = commandOf({
      ...plain,
      program: '/a"; rm -rf $HOME `x` \\',
      runtime: "node",
      options: ["--model", "$(x)"],
    });
    assertEquals(command, 'node "/a\\"; rm -rf \\$HOME \\`x\\` \\\\" --root "$CLAUDE_PROJECT_DIR" --model "\\$(x)"');
  });

  it("on Deno may reach the model's host only where there is one", () => {
    const deno = { ...plain, program: "jsr:@waymark/waymark@0.1.0/hook", runtime: "deno" } as const;
    assertEquals(/--allow-net|ANTHROPIC/.test(commandOf(deno)), false);
    assertStringIncludes(
      commandOf({ ...deno, model: "m" }),
      "--allow-env=HOME,ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL,ANTHROPIC_CUSTOM_HEADERS --allow-sys=uid --allow-net=",
    );
    assertStringIncludes(commandOf({ ...deno, model: "m" }), "--allow-net=api.anthropic.com");
  });
});
