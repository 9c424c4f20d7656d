/** Every dialect there and back, and the arguments models really send. */

import { describe, it } from "node:test";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { dialects, headOnly, offsetLimit, startEnd, viewRange } from "../src/dialects.ts";
import type { Dialect } from "../src/types.ts";

type Args = Record<string, unknown>;

/** The argument with the path in each dialect, and what else a call needs to be a read. */
const frames: Record<keyof typeof dialects, Args> = {
  plain: { path: "src/a.ts" },
  claudeCode: { file_path: "/p/src/a.ts" },
  anthropicRead: { file_path: "src/a.ts" },
  textEditor: { command: "view", path: "src/a.ts" },
  pi: { path: "src/a.ts" },
  opencode: { filePath: "/p/src/a.ts" },
  mcpFilesystem: { path: "src/a.ts" },
  geminiCli: { file_path: "src/a.ts" },
  qwenCode: { file_path: "src/a.ts" },
  deepagents: { file_path: "/src/a.ts" },
  mastra: { path: "src/a.ts" },
  vscodeCopilot: { filePath: "/p/src/a.ts" },
  codex: { file_path: "/p/src/a.ts" },
};
const names = Object.keys(frames) as (keyof typeof dialects)[];

/** Line 201 and 200 lines, in each dialect's arguments. */
const second: Record<keyof typeof dialects, Args> = {
  plain: { offset: 201, limit: 200 },
  claudeCode: { offset: 201, limit: 200 },
  anthropicRead: { view_range: [201, 400] },
  textEditor: { view_range: [201, 400] },
  pi: { offset: 201, limit: 200 },
  opencode: { offset: 201, limit: 200 },
  mcpFilesystem: { head: 400 },
  geminiCli: { start_line: 201, end_line: 400 },
  qwenCode: { offset: 200, limit: 200 },
  deepagents: { offset: 200, limit: 200 },
  mastra: { offset: 201, limit: 200 },
  vscodeCopilot: { offset: 201, limit: 200 },
  codex: { offset: 201, limit: 200 },
};

/** What each host gives when no range is asked for. */
const wholeCount: Partial<Record<keyof typeof dialects, number>> = {
  pi: 2000,
  opencode: 2000,
  geminiCli: 2000,
  deepagents: 100,
  vscodeCopilot: 2000,
  codex: 2000,
};

const span = (dialect: Dialect, args: unknown): [number, number | undefined] | undefined => {
  const parsed = dialect.parse(args);
  return parsed && [parsed.start, parsed.count];
};

describe("every named dialect", () => {
  it("is listed, and the very same object whenever it is asked for", () => {
    assertEquals(Object.keys(dialects), Object.keys(frames));
    for (const [name, dialect] of Object.entries(dialects)) {
      assertStrictEquals(dialect, dialects[name as keyof typeof dialects]);
    }
  });

  for (const name of names) {
    const dialect = dialects[name], frame = frames[name];
    const starts = name === "mcpFilesystem" ? fc.constant(1) : fc.integer({ min: 1, max: 100_000 });
    const counts = fc.integer({ min: 1, max: 10_000 });

    it(`${name}: a range put in is the range read out, and nothing else changes`, () => {
      fc.assert(fc.property(starts, counts, (start, count) => {
        const args = { ...frame, other: "kept" }, changed = dialect.apply(args, { path: "src/a.ts", start, count });
        const parsed = dialect.parse(changed)!;
        assertEquals([parsed.start, parsed.count], [start, count]);
        assertEquals(parsed.path, dialect.parse(args)!.path);
        assertEquals(changed["other"], "kept");
        assertEquals(args, { ...frame, other: "kept" });
      }));
    });

    it(`${name}: arguments whose range does not change are the very same object`, () => {
      fc.assert(fc.property(starts, counts, (start, count) => {
        const args = dialect.apply({ ...frame }, { path: "", start, count });
        assertStrictEquals(dialect.apply(args, dialect.parse(args)!), args);
      }));
      const whole = { ...frame };
      assertStrictEquals(dialect.apply(whole, dialect.parse(whole)!), whole);
    });

    it(`${name}: a range is changed into any other and back`, () => {
      fc.assert(fc.property(starts, counts, starts, counts, (start, count, otherStart, otherCount) => {
        const first = dialect.apply({ ...frame }, { path: "", start, count });
        const other = dialect.apply(first, { path: "", start: otherStart, count: otherCount });
        assertEquals(span(dialect, other), [otherStart, otherCount]);
        assertEquals(span(dialect, dialect.apply(other, { path: "", start, count })), [start, count]);
      }));
    });

    it(`${name}: a call without a range reads as the host would`, () => {
      assertEquals(span(dialect, frame), [1, wholeCount[name]]);
    });

    it(`${name}: the second 200 lines are named in the host's own arguments`, () => {
      const words = dialect.describe(201, 200);
      assertEquals(JSON.parse(`{${words.replace(/, which.*/, "").replace(/(\w+):/g, '"$1":')}}`), second[name]);
      const parsed = dialect.parse({ ...frame, ...second[name] })!;
      assertEquals([parsed.start, parsed.count], name === "mcpFilesystem" ? [1, 400] : [201, 200]);
    });

    it(`${name}: what is no read of a path is passed on`, () => {
      const key = Object.keys(frame).at(-1)!;
      for (const path of [undefined, null, 12, "", {}, ["src/a.ts"]]) {
        assertEquals(dialect.parse({ ...frame, [key]: path }), undefined);
      }
      for (const args of [undefined, null, "src/a.ts", 5, [], () => {}]) assertEquals(dialect.parse(args), undefined);
      assertEquals(dialect.parse({ ...frame, [key]: new URL("file:///p/a%20b.ts") })!.path, "file:///p/a%20b.ts");
    });
  }
});

describe("numbers in arguments", () => {
  const { plain, qwenCode, claudeCode, codex, mastra } = dialects;
  const read = (dialect: Dialect, range: Args) => span(dialect, { path: "a.ts", file_path: "a.ts", ...range });

  it("are read from digits in strings, which stay strings", () => {
    const args = { path: "a.ts", offset: "400", limit: "900" };
    assertEquals(span(plain, args), [400, 900]);
    assertEquals(plain.apply(args, { path: "a.ts", start: 400, count: 200 }), {
      path: "a.ts",
      offset: "400",
      limit: "200",
    });
    assertEquals(plain.apply({ path: "a.ts", offset: "400" }, { path: "a.ts", start: 400, count: 200 }), {
      path: "a.ts",
      offset: "400",
      limit: "200",
    });
  });

  it("that are unclear are not guessed at: the call is passed on", () => {
    for (
      const value of [
        1.5,
        NaN,
        Infinity,
        -1,
        -200,
        10n,
        "1e3",
        "1_000",
        "1.5",
        "-5",
        "",
        " 5",
        "ten",
        true,
        {},
        [5],
        2 ** 60,
      ]
    ) {
      assertEquals(read(plain, { offset: value }), undefined, `offset ${String(value)}`);
      assertEquals(read(plain, { limit: value }), undefined, `limit ${String(value)}`);
      assertEquals(read(qwenCode, { offset: value }), undefined, `offset ${String(value)} from 0`);
      assertEquals(read(dialects.geminiCli, { start_line: value }), undefined, `start ${String(value)}`);
      assertEquals(read(dialects.geminiCli, { start_line: 1, end_line: value }), undefined, `end ${String(value)}`);
      assertEquals(read(dialects.mcpFilesystem, { head: value }), undefined, `head ${String(value)}`);
    }
  });

  it("that are null are absent", () => {
    assertEquals(read(plain, { offset: null, limit: null }), [1, undefined]);
    assertEquals(read(dialects.geminiCli, { start_line: null, end_line: null }), [1, 2000]);
    assertEquals(read(dialects.anthropicRead, { view_range: null }), [1, undefined]);
    assertEquals(read(dialects.mcpFilesystem, { head: null, tail: null }), [1, undefined]);
  });

  it("a limit of nothing or less is left to the host", () => {
    for (const limit of [0, -0, -1, "0"]) assertEquals(read(plain, { limit }), undefined);
    assertEquals(read(dialects.mcpFilesystem, { head: 0 }), undefined);
  });

  it("line 0 is the first line to a host that counts from 1 and says so, and the first to one that counts from 0", () => {
    assertEquals(
      [read(plain, { offset: 0 }), read(plain, { offset: -0 }), read(plain, { offset: 1 })],
      Array(3).fill([1, undefined]),
    );
    assertEquals([read(qwenCode, { offset: 0 }), read(qwenCode, { offset: 1 })], [[1, undefined], [2, undefined]]);
    assertEquals([read(codex, { offset: 0 }), read(mastra, { offset: 0 })], [undefined, undefined]);
    assertEquals(read(dialects.anthropicRead, { view_range: [0, 50] }), [1, 50]);
    assertEquals(read(dialects.textEditor, { command: "view", view_range: [0, 50] }), undefined);
  });

  it("line 0 stays as it was written, but where the host would number its lines wrongly", () => {
    const cap = (dialect: Dialect, args: Args) => dialect.apply(args, { path: "a.ts", start: 1, count: 200 });
    assertEquals(cap(plain, { path: "a.ts", offset: 0 }), { path: "a.ts", offset: 0, limit: 200 });
    assertEquals(cap(claudeCode, { file_path: "a.ts", offset: 0 }), { file_path: "a.ts", offset: 1, limit: 200 });
    assertEquals(cap(claudeCode, { file_path: "a.ts", offset: null }), { file_path: "a.ts", offset: null, limit: 200 });
  });

  it("a first line that was not given is not made up where the host needs none", () => {
    const args = { path: "a.ts" };
    assertEquals(plain.apply(args, { path: "a.ts", start: 1, count: 200 }), { path: "a.ts", limit: 200 });
  });

  it("a range put back to the end of the file loses its limit", () => {
    assertEquals(plain.apply({ path: "a.ts", offset: 5, limit: 9 }, { path: "a.ts", start: 5 }), {
      path: "a.ts",
      offset: 5,
    });
    const copy = dialects.geminiCli.apply({ file_path: "a.ts", start_line: 5, end_line: 9 }, {
      path: "a.ts",
      start: 5,
    });
    assertEquals(copy, { file_path: "a.ts", start_line: 5 });
    assertEquals(dialects.mcpFilesystem.apply({ path: "a.ts", head: 5 }, { path: "a.ts", start: 1 }), { path: "a.ts" });
    const view = dialects.anthropicRead.apply({ file_path: "a.ts", view_range: [5, 9] }, { path: "a.ts", start: 5 });
    assertEquals(view, { file_path: "a.ts", view_range: [5, -1] });
  });
});

describe("a view range", () => {
  const { textEditor, anthropicRead } = dialects;
  const view = (view_range: unknown) => span(textEditor, { command: "view", path: "a.ts", view_range });

  it("reaches to the end of the file with a last line of -1", () => {
    assertEquals([view([1, -1]), view([250, -1]), view([386, 700])], [[1, undefined], [250, undefined], [386, 315]]);
    assertEquals(
      [-1, 0, -7].map((end) => span(anthropicRead, { file_path: "a.ts", view_range: [9, end] })),
      Array(3).fill([9, undefined]),
    );
    assertEquals(view([1, 0]), undefined);
  });

  it("of digits is read, and written in digits again", () => {
    assertEquals(view(["1", "500"]), [1, 500]);
    const args = { command: "view", path: "a.ts", view_range: ["1", "-1"] };
    const copy = textEditor.apply(args, { path: "a.ts", start: 1, count: 200 });
    assertEquals(copy, { command: "view", path: "a.ts", view_range: ["1", "200"] });
  });

  it("that is none is passed on", () => {
    for (const range of [[10], [5, 1], [], [1, 2, 3], "1-50", [null, 5], [1, null], [-1, 5], [1.5, 9], {}]) {
      assertEquals(view(range), undefined, JSON.stringify(range));
    }
  });

  it("belongs to a tool that also edits only where the command is to view", () => {
    for (const command of ["create", "str_replace", "insert", undefined, null]) {
      assertEquals(textEditor.parse({ command, path: "a.ts", view_range: [1, 500] }), undefined);
    }
  });
});

describe("calls that ask for something else than lines", () => {
  it("are passed on: pages, a raised cap, an encoding that is no text, the tail of a file", () => {
    const { claudeCode, mastra, mcpFilesystem } = dialects;
    assertEquals(claudeCode.parse({ file_path: "a.pdf", pages: "1-3" }), undefined);
    assertEquals(claudeCode.parse({ file_path: "a.ts", allow_large: true }), undefined);
    assertEquals(span(claudeCode, { file_path: "a.ts", allow_large: false, pages: null }), [1, undefined]);
    assertEquals(mastra.parse({ path: "a.png", encoding: "base64" }), undefined);
    for (const encoding of ["utf-8", "utf8", null]) {
      assertEquals(span(mastra, { path: "a.ts", encoding }), [1, undefined]);
    }
    assertEquals(mcpFilesystem.parse({ path: "a.ts", tail: 20 }), undefined);
  });

  it("are known to a dialect of one's own by its skip", () => {
    const dialect = offsetLimit({ skip: (args) => args["raw"] === true });
    assertEquals([dialect.parse({ path: "a.ts", raw: true }), span(dialect, { path: "a.ts" })], [undefined, [
      1,
      undefined,
    ]]);
  });
});

describe("a host that only has a head", () => {
  it("is insisted on where a head was asked for, so that later lines stay within reach", () => {
    const { mcpFilesystem } = dialects;
    assertEquals(mcpFilesystem.parse({ path: "a.ts", head: 400 }), { path: "a.ts", start: 1, count: 400, fresh: true });
    assertEquals(mcpFilesystem.parse({ path: "a.ts" }), { path: "a.ts", start: 1 });
    assertEquals(mcpFilesystem.describe(1, 200), "head: 200");
    assertEquals(mcpFilesystem.describe(201, 200), "head: 400, which begins at line 1 again");
  });
});

describe("two versions of one tool", () => {
  it("are told apart by their arguments and changed in their own", () => {
    const { vscodeCopilot } = dialects;
    const old = { filePath: "a.ts", startLine: 11, endLine: 900 };
    assertEquals(span(vscodeCopilot, old), [11, 890]);
    const copy = vscodeCopilot.apply(old, { path: "a.ts", start: 11, count: 200 });
    assertEquals(copy, { filePath: "a.ts", startLine: 11, endLine: 210 });
    assertEquals(span(vscodeCopilot, { filePath: "a.ts", offset: 11, limit: 890 }), [11, 890]);
  });

  it("are both told how to go on: words cannot know which of them is called", () => {
    const words = "offset: 201, limit: 200, which older tools call startLine: 201, endLine: 400";
    assertEquals(dialects.vscodeCopilot.describe(201, 200), words);
  });
});

describe("a dialect of one's own", () => {
  it("takes any names", () => {
    const dialect = startEnd({ tools: ["open"], path: "file", start: "from", end: "to" });
    assertEquals([dialect.tools, span(dialect, { file: "a.ts", from: 5, to: 9 })], [["open"], [5, 5]]);
    assertEquals(viewRange({ range: "lines" }).describe(5, 5), "lines: [5, 9]");
    assertEquals(span(headOnly({ head: "first", tail: "last" }), { path: "a.ts", first: 7 }), [1, 7]);
    assertEquals(offsetLimit({ offset: "skip", limit: "take", base: 0 }).describe(201, 200), "skip: 200, take: 200");
  });

  it("keeps the prototype and symbols of the arguments", () => {
    class Arguments {
      path = "a.ts";
    }
    const mark = Symbol("mark"), args = Object.assign(new Arguments(), { [mark]: 1 }) as unknown as Args;
    const copy = dialects.plain.apply(args, { path: "a.ts", start: 1, count: 200 });
    assert(copy instanceof Arguments);
    assertEquals((copy as unknown as Record<symbol, unknown>)[mark], 1);
    assertEquals(args["limit"], undefined);
  });

  it("writes a whole range where the arguments cannot be read", () => {
    assertEquals(dialects.plain.apply({ path: "a.ts", offset: NaN }, { path: "a.ts", start: 3, count: 4 }), {
      path: "a.ts",
      offset: 3,
      limit: 4,
    });
  });
});

describe("a hint followed to the letter", () => {
  const lines = Array.from({ length: 600 }, (_, index) => `line ${index + 1}`);
  const follow = (words: string): Args => JSON.parse(`{${words.replace(/(\w+):/g, '"$1":')}}`);

  it("shows line 120 first and line 180 last, from a host that counts from 0 and from one that counts from 1", () => {
    const zero = follow(dialects.qwenCode.describe(120, 61)) as { offset: number; limit: number };
    const one = follow(dialects.plain.describe(120, 61)) as { offset: number; limit: number };
    const fromZero = lines.slice(zero.offset, zero.offset + zero.limit);
    const fromOne = lines.slice(one.offset - 1, one.offset - 1 + one.limit);
    for (const shown of [fromZero, fromOne]) assertEquals([shown[0], shown.at(-1)], ["line 120", "line 180"]);
  });

  it("shows the same from a host with a last line", () => {
    const range = follow(dialects.geminiCli.describe(120, 61)) as { start_line: number; end_line: number };
    const shown = lines.slice(range.start_line - 1, range.end_line);
    assertEquals([shown[0], shown.at(-1)], ["line 120", "line 180"]);
  });
});
