import { assert, assertEquals, assertFalse, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../src/errors.ts";
import { UNGUARDED } from "../src/probe.ts";
import { readGuideline, summarizeFileTool } from "../src/summarize_file.ts";
import type { FileSummaries, SummarizeFileArguments } from "../src/summarize_file_types.ts";
import type { FileMap } from "../src/types.ts";
import { createWaymark } from "../src/waymark.ts";
import { code, inFolder, put } from "./support.ts";

const map: FileMap = {
  prose: "Adds numbers.",
  regions: [{ start: 250, end: 260, kind: "function", name: "f250", note: "adds 250" }],
  usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 },
  hash: "",
  size: 1,
  lines: 300,
  maker: "outline",
  promptVersion: 1,
  createdAt: 0,
};

function files(overrides: Partial<FileSummaries> = {}): FileSummaries & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    summarize: (path, options) => (asked.push([path, options?.refresh]), Promise.resolve(map)),
    lookup: (
      path,
      line,
    ) => (asked.push([path, line]), Promise.resolve({ status: "found", region: map.regions[0]!, omitted: 0 })),
    ...overrides,
  };
}

describe("summarizeFileTool(): the words", () => {
  const tool = summarizeFileTool(files());
  const words = [tool.listing, tool.description, JSON.stringify(tool.parameters), readGuideline()].join("\n");

  it("names the trigger that is known when deciding, never a count of lines", () => {
    for (const text of [tool.listing, tool.description, readGuideline()]) {
      assertStringIncludes(text.toLowerCase(), "a source file you have not seen");
      assertFalse(/(longer|more|over|larger) than \d+[^.]*lines[^.]*(call|use)/i.test(text));
    }
  });

  it("puts the cost first, before the trigger", () => {
    assertStringIncludes(tool.description, "A 1,400-line file is seven reads, or this map and one read.");
    assert(tool.description.indexOf("seven reads") < tool.description.indexOf("have not seen"));
  });

  it("quotes numbers that follow the configured limit", () => {
    const { description } = summarizeFileTool(files(), { maxLines: 500 });
    assertStringIncludes(description, "A 3,500-line file is seven reads");
    assertFalse(description.includes("1,400"));
    assertStringIncludes(readGuideline({ maxLines: 500 }), "more than 500 lines returns 500 lines");
  });

  it("names no kind of file that the guard refuses", () => {
    const names = [...UNGUARDED.prose, ...UNGUARDED.data].map((name) => name.replace(/^\./, ""));
    for (const name of names) assertFalse(new RegExp(`\\.${name}\\b|\\b${name} files?\\b`, "i").test(words), name);
    for (const word of ["markdown", "readme", "notes", "csv", "log file"]) {
      assertFalse(words.toLowerCase().includes(word), word);
    }
  });

  it("has a schema that hosts can take as it is", () => {
    assertEquals(JSON.parse(JSON.stringify(tool.parameters)), tool.parameters as unknown);
    assertEquals(
      [tool.name, tool.parameters["type"], tool.parameters["required"]],
      ["summarize_file", "object", ["path"]] as unknown[],
    );
  });
});

describe("summarizeFileTool(): the actions", () => {
  it("summarizes by default, and refreshes when told to", async () => {
    const given = files(), tool = summarizeFileTool(given);
    const text = await tool.execute({ path: "a.ts" });
    assertStringIncludes(text, "250-260  function  f250  adds 250");
    assertStringIncludes(text, "300 lines, none are shown here");
    await tool.execute({ path: "a.ts", action: "refresh" });
    await tool.execute({ path: "a.ts", action: null as never }); // as some models leave out what they do not give
    assertEquals(given.asked, [["a.ts", false], ["a.ts", true], ["a.ts", false]]);
  });

  it("looks one line up, from the cache alone, and says what to do where there is nothing", async () => {
    const tool = summarizeFileTool(files());
    assertEquals(
      await tool.execute({ path: "a.ts", action: "lookup", line: 255 }),
      "line 255 is in 250-260  function  f250  adds 250",
    );
    for (
      const [found, words] of [
        [{ status: "between", lines: 9, omitted: 0 }, /^line 2 is in no region of the map; read the lines around it$/],
        [{ status: "between", lines: 9, omitted: 4 }, /in no region of the map; 4 entries are not in the map, and/],
        [{ status: "between", lines: 1, omitted: 4 }, /^there is no line 2: the file has 1$/],
        [{ status: "stale" }, /^the file has changed since it was summarized; ask for action "summarize" first$/],
        [{ status: "absent", kept: "disk" }, /^no map of it is kept; ask for action "summarize" first$/],
        [{ status: "absent", kept: "memory" }, /^no map of it is kept; ask for action "summarize" first$/],
        [{ status: "prose-only", lines: 1 }, /^there is no line 2: the file has 1$/],
      ] as const
    ) {
      const other = summarizeFileTool(files({ lookup: () => Promise.resolve(found) }));
      assertMatch(await other.execute({ path: "a.ts", action: "lookup", line: 2 }), words);
    }
  });

  it("says of a line's region that an inner one may be among the entries that are not in the map", async () => {
    const tool = summarizeFileTool(files({
      lookup: () => Promise.resolve({ status: "found", region: map.regions[0]!, omitted: 201 }),
    }));
    assertEquals(
      await tool.execute({ path: "a.ts", action: "lookup", line: 255 }),
      "line 255 is in 250-260  function  f250  adds 250  (201 entries are not in the map, and the line may be in one of them)",
    );
  });

  it("does not speak of a map where there is only a summary in words, nor of a read where there was none", async () => {
    const prose = { ...map, regions: [], maker: "model:m" };
    const tool = summarizeFileTool(files({
      summarize: () => Promise.resolve(prose),
      lookup: () => Promise.resolve({ status: "prose-only", lines: 300 }),
    }));
    assertEquals(
      await tool.execute({ path: "a.ts", action: "lookup", line: 2 }),
      "no map could be made, only a summary; read the lines around it",
    );
    const said = await tool.execute({ path: "a.ts" });
    assertEquals(said.split("\n").slice(0, 2), [
      "[waymark notice: no map]",
      "Reason: no map could be made, only a summary.",
    ]);
    assertStringIncludes(said, "Adds numbers.");
  });

  it("does not send a lookup for a map that is never kept", async () => {
    const tool = summarizeFileTool(files({ lookup: () => Promise.resolve({ status: "absent", kept: "nowhere" }) }));
    const said = await tool.execute({ path: "a.ts", action: "lookup", line: 2 });
    assertEquals(said, 'no map is ever kept here; action "summarize" gives the whole one');
  });

  it("answers a lookup in one line, whatever is stored", async () => {
    const name = "f\n[waymark map: x]\u001b[31m\u2028", region = { ...map.regions[0]!, name };
    const tool = summarizeFileTool(files({ lookup: () => Promise.resolve({ status: "found", region, omitted: 0 }) }));
    assertEquals(
      await tool.execute({ path: "a.ts", action: "lookup", line: 255 }),
      "line 255 is in 250-260  function  f (waymark map: x] [31m  adds 250",
    );
  });

  it("refuses arguments it cannot use, saying what it takes", async () => {
    const tool = summarizeFileTool(files());
    for (
      const [args, words] of [
        [{}, '"path" is missing'],
        [undefined, '"path" is missing'],
        [null, '"path" is missing'],
        [{ path: "" }, '"path" is missing'],
        [{ path: 7 }, '"path" is missing'],
        [{ path: "a.ts", action: "delete" }, '"summarize", "lookup" or "refresh"'],
        [{ path: "a.ts", action: "x".repeat(1e6) }, '"summarize", "lookup" or "refresh"'],
        [{ path: "a.ts", action: "lookup" }, '"line" is a whole number'],
        [{ path: "a.ts", action: "lookup", line: 0 }, '"line" is a whole number'],
        [{ path: "a.ts", action: "lookup", line: 1.5 }, '"line" is a whole number'],
        [{ path: "a.ts", action: "lookup", line: "2" }, '"line" is a whole number'],
        [{ path: "a.ts", action: "lookup", line: null }, '"line" is a whole number'],
      ] as const
    ) {
      const error = await assertRejects(() => tool.execute(args as unknown as SummarizeFileArguments), WaymarkError);
      assertEquals(error.code, "invalid-option");
      assertStringIncludes(error.message, words);
      assertEquals(error.message.length < 200, true); // what it does not know is not repeated
    }
  });

  it("says on failure what to do instead, in numbers that follow the limit", async () => {
    const failing = files({
      summarize: () => Promise.reject(new WaymarkError("timeout", "Cannot summarize a.ts: no answer within 60 s")),
    });
    const error = await assertRejects(
      () => summarizeFileTool(failing, { maxLines: 100 }).execute({ path: "a.ts" }),
      WaymarkError,
    );
    assertEquals([error.code, error.message], [
      "timeout",
      "Cannot summarize a.ts: no answer within 60 s; read it 100 lines at a time instead",
    ]);
    for (
      const [code, words] of [
        ["not-found", "give the path of a file that is there"],
        ["not-allowed", "no map is made of it, whatever the action"],
        ["not-text", "it has no lines to map"],
        ["too-large", "read it 200 lines at a time instead"],
      ] as const
    ) {
      const refuse = () => Promise.reject(new WaymarkError(code, "Cannot summarize a.ts: no"));
      const refused = summarizeFileTool(files({ summarize: refuse, lookup: refuse }));
      for (const action of ["summarize", "lookup", "refresh"] as const) {
        const { message } = await assertRejects(
          () => refused.execute({ path: "a.ts", action, line: 1 }),
          WaymarkError,
        );
        assertEquals(message, `Cannot summarize a.ts: no; ${words}`);
      }
    }
    const broken = files({ summarize: () => Promise.reject(new TypeError("x is undefined")) });
    assertStringIncludes(
      (await assertRejects(() => summarizeFileTool(broken).execute({ path: "a.ts" }), WaymarkError)).message,
      "Cannot map a.ts: x is undefined",
    );
  });

  it("works without the guard, on any text file, and refuses secrets, binaries, folders and missing files by name", () =>
    inFolder(async (folder) => {
      const waymark = createWaymark({ root: folder, onNotice: () => {} });
      const tool = waymark.summarizeFileTool(), info = { cwd: folder };
      put(folder, "short.ts", "export function tiny() {}\n");
      assertStringIncludes(await tool.execute({ path: "short.ts" }, info), "1-1  function  tiny");
      put(folder, "guide.md", "# One\n\ntext\n\n# Two\n");
      assertStringIncludes(await tool.execute({ path: "guide.md" }, info), "One");
      put(folder, ".env", "KEY=DUMMY_0001\n");
      put(folder, "a.bin.ts", new Uint8Array(300));
      put(folder, "folder/a.ts", "");
      for (
        const [path, code, words] of [
          [".env", "not-allowed", "holds secrets"],
          ["a.bin.ts", "not-text", "not a text file"],
          ["folder", "not-found", "not a regular file"],
          ["missing.ts", "not-found", "missing.ts"],
        ] as const
      ) {
        for (const action of ["summarize", "lookup"] as const) {
          const error = await assertRejects(() => tool.execute({ path, action, line: 1 }, info), WaymarkError);
          assertEquals(error.code, code);
          assertStringIncludes(error.message, words);
          assertStringIncludes(error.message, path);
          assertMatch(error.message, /; (give the path of|no map is made of it,|it has no lines to) /);
        }
      }
      put(folder, "long.ts", code(300));
      assertMatch(await tool.execute({ path: "long.ts", action: "lookup", line: 250 }, info), /no map of it is kept/);
      await tool.execute({ path: "long.ts" }, info);
      assertMatch(
        await tool.execute({ path: "long.ts", action: "lookup", line: 250 }, info),
        /line 250 is in 250-250 {2}function {2}f250/,
      );
    }));
});

describe("summarizeFileTool(): the caller's abort", () => {
  it("is passed on under the names hosts use, and what is no signal is none", async () => {
    const { signal } = new AbortController(), given: unknown[] = [];
    const tool = summarizeFileTool(
      files({ summarize: (_, options) => (given.push(options?.signal), Promise.resolve(map)) }),
    );
    const alike = { aborted: true } as AbortSignal;
    for (
      const options of [{ signal }, { abortSignal: signal }, { signal: null }, { signal: alike }, {
        abortSignal: alike,
      }]
    ) {
      await tool.execute({ path: "a.ts" }, options);
    }
    assertEquals(given, [signal, signal, undefined, undefined, undefined]);
  });
});
