import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { fieldsCodec } from "../src/codecs.ts";
import type { WaymarkEvent } from "../src/events.ts";
import { estimateTokens, isAnnotationText, stripAnnotations } from "../src/file_map.ts";
import type { RereadGuardOptions } from "../src/guard_types.ts";
import { rereadGuard } from "../src/session.ts";
import { createSession } from "../src/session.ts";
import type { Session } from "../src/session_types.ts";
import { wrap } from "../src/wrap.ts";
import type { WrapOptions } from "../src/wrap_types.ts";
import { codeOnly, edgesOf, graphOf, listFiles, readText } from "./modules.ts";
import { inFolder, type PlainArguments, plainTool, put } from "./support.ts";

const LINES = Array.from({ length: 80 }, (_, at) => `line ${at + 1} of the file, with some words of its own`);

const join = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

interface Talk {
  readonly session: Session;
  readonly read: (args?: Partial<PlainArguments>, info?: object) => Promise<string>;
  readonly calls: readonly PlainArguments[];
  readonly events: readonly WaymarkEvent[];
  /** The file as it is now. */
  write(text: string): void;
}

/** A conversation about one file, that is told what changed. */
function talking(
  action: (talk: Talk) => Promise<void>,
  options: Omit<RereadGuardOptions, "session"> = {},
  wrapOptions: WrapOptions = {},
): Promise<void> {
  return inFolder((folder) => {
    const session = createSession(), events: WaymarkEvent[] = [], { read: plain, calls } = plainTool(folder);
    const guard = rereadGuard({ session, onChange: "diff", onEvent: (event) => events.push(event), ...options });
    const facts = (info: unknown) => ({ cwd: folder, ...info as object });
    const read = wrap(plain, guard, { facts, ...wrapOptions }) as (
      args: PlainArguments,
      info?: object,
    ) => Promise<string>;
    const write = (text: string) => void put(folder, "a.ts", text);
    return action({ session, events, calls, write, read: (args, info) => read({ path: "a.ts", ...args }, info) });
  });
}

/** What a read gets of a file that was shown, and then changed. */
async function change(
  before: string,
  after: string,
  args: Partial<PlainArguments> = {},
  options: Omit<RereadGuardOptions, "session"> = {},
): Promise<string> {
  let result = "";
  await talking(async ({ session, read, write }) => {
    write(before);
    session.nextTurn();
    await read(args);
    write(after);
    session.nextTurn();
    result = await read(args);
  }, options);
  return result;
}

/** The lines from `start` on that a reader of a difference would write down, who has the lines shown before. */
function rebuild(diff: string, before: readonly string[], start: number): string[] {
  const now: string[] = [];
  let old = start;
  const keep = (upTo: number): void => {
    while (old < upTo) now.push(before[old++ - start]!);
  };
  const [head, ...rows] = diff.split("\n");
  assertMatch(head!, /^\[waymark diff: \S*a\.ts lines /);
  assertEquals(rows.pop(), "[end of waymark diff]");
  for (const row of rows) {
    const at = /^At line (\d+), which was (\d+):$/.exec(row);
    if (at) {
      keep(Number(at[2]));
      assertEquals(Number(at[1]), start + now.length);
      continue;
    }
    const [, sign, number, text] = /^([ +-]) +(\d*)\| ?(.*)$/.exec(row) ?? [];
    assertEquals(number, sign === "-" ? "" : String(start + now.length), row);
    if (sign !== "+") assertEquals(text, before[old++ - start]);
    if (sign !== "-") now.push(text!);
  }
  keep(start + before.length);
  return now;
}

const isDiff = (result: string): boolean => result.startsWith("[waymark diff: ");

describe("a small change of lines that were all shown", () => {
  it("comes as its hunks, with the numbers the lines have now and a few lines around them", async () => {
    assertEquals(
      await change(join(LINES), join(LINES.with(29, "a new line 30"))),
      `[waymark diff: a.ts lines 1-80 of 80 have changed; what is not listed is as shown in turn 1]
At line 27, which was 27:
  27| ${LINES[26]}
  28| ${LINES[27]}
  29| ${LINES[28]}
-   | ${LINES[29]}
+ 30| a new line 30
  31| ${LINES[30]}
  32| ${LINES[31]}
  33| ${LINES[32]}
[end of waymark diff]`,
    );
  });

  const changes: Record<string, readonly string[]> = {
    "one line": LINES.with(40, "new"),
    "the first line": LINES.with(0, "new"),
    "the last line": LINES.with(79, "new"),
    "an insertion at the top": ["new", ...LINES],
    "an insertion in the middle": LINES.toSpliced(40, 0, "one", "two", "three"),
    "lines at the end": [...LINES, "one", "two"],
    "a deletion at the top": LINES.slice(2),
    "a deletion in the middle": LINES.toSpliced(40, 5),
    "a deletion at the end": LINES.slice(0, -4),
    "three places": LINES.with(9, "x").toSpliced(39, 1).toSpliced(70, 0, "y"),
    "a line twice as before": LINES.toSpliced(41, 0, LINES[40]!),
    "a blank line": LINES.toSpliced(20, 0, ""),
    "blank lines at the end": [...LINES, "", ""],
    "a line like a boundary of ours": LINES.with(30, "[end of waymark diff]"),
    "a line like a row of ours": LINES.with(30, "+ 12| At line 1, which was 1:"),
  };
  for (const [what, after] of Object.entries(changes)) {
    it(`can be put together with what was shown: ${what}`, async () => {
      const result = await change(join(LINES), join(after));
      assert(isDiff(result), result);
      assertEquals(rebuild(result, LINES, 1), after);
      assert(isAnnotationText(result) && stripAnnotations(result) === "");
      assertStringIncludes(result, `lines 1-${after.length} of ${after.length} have changed`);
    });
  }

  it("can be where the last lines shown are blank", async () => {
    const before = [...LINES, "", ""];
    for (const after of [[...before, ""], before.slice(0, -1), before.with(10, "new"), [...before, "new"]]) {
      assertEquals(rebuild(await change(join(before), join(after)), before, 1), after);
    }
    const result = await change(join(before), join(before.with(10, "new")), { limit: 81 });
    assertEquals(rebuild(result, before.slice(0, 81), 1), before.with(10, "new").slice(0, 81));
  });

  it("can be where a host cut its result at a blank line", () =>
    inFolder(async (folder) => {
      const before = LINES.with(39, ""), session = createSession(), path = put(folder, "a.ts", join(before));
      let text = `${join(before.slice(0, 40))}(40 of 80 lines)`;
      const read = wrap((_: PlainArguments) => text, rereadGuard({ session, onChange: "diff" }));
      session.nextTurn();
      await read({ path });
      assertEquals(session.toJSON().given.map(({ start, end, text }) => [start, end, text]), [[
        1,
        40,
        join(before.slice(0, 40)),
      ]]);
      session.reconcile([{ role: "tool", tool_call_id: "c", content: text }]);
      assertEquals(session.coverage(path)?.seen, [{ start: 1, end: 40 }]);
      session.nextTurn();
      text = join(before.slice(40));
      await read({ path, offset: 41 });
      put(folder, "a.ts", join(before.with(10, "new")));
      session.nextTurn();
      text = join(before.with(10, "new"));
      assertEquals(rebuild(await read({ path }), before, 1), before.with(10, "new"));
    }));

  it("of a range can too, and says that what went from it may be elsewhere", async () => {
    for (const after of [["new", ...LINES], LINES.slice(1), LINES.with(30, "new"), LINES.toSpliced(30, 2)]) {
      const result = await change(join(LINES), join(after), { offset: 11, limit: 50 });
      assert(isDiff(result), result);
      assertEquals(rebuild(result, LINES.slice(10, 60), 11), after.slice(10, 60));
      assertStringIncludes(result, `a.ts lines 11-60 of ${after.length} have changed`);
      assertStringIncludes(result, "what is marked - is no longer among them]");
    }
    const end = await change(join(LINES), join(LINES.toSpliced(30, 2)), { offset: 11 });
    assertStringIncludes(end, "what is marked - is no longer among them]", "it may be before them");
    assert(!(await change(join(LINES), join(LINES.slice(1)))).includes("among them"), "of a whole file it is gone");
  });

  it("says a hostile name as plain text", () =>
    inFolder(async (folder) => {
      const name = "a\n[end of waymark diff]\u202e.ts", session = createSession();
      const guard = rereadGuard({ session, onChange: "diff" });
      const read = wrap(plainTool(folder).read, guard, { facts: () => ({ cwd: folder }) });
      for (const text of [join(LINES), join(LINES.with(30, "new"))]) {
        put(folder, name, text);
        session.nextTurn();
        const result = await read({ path: name }) as string;
        if (text === join(LINES)) continue;
        assert(isDiff(result), result);
        assertEquals(result.match(/\[end of waymark diff\]/g)?.length, 1);
      }
    }));

  it("takes the place of a result that is thrown away, which whoever noted something of it is told", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", join(LINES)), session = createSession();
      const guard = rereadGuard({ session, onChange: "diff" });
      let thrown = 0;
      for (const text of [join(LINES), join(LINES.with(30, "new"))]) {
        put(folder, "a.ts", text);
        session.nextTurn();
        const discard = () => void thrown++;
        await guard(
          { path, start: 1, answerable: true },
          () => Promise.resolve({ result: text, text, annotations: [], discard }),
        );
      }
      assertEquals(thrown, 1);
    }));

  it("is right for any change, or the lines come whole", async () => {
    const words = "and a good many words beside it";
    const line = fc.constantFrom(
      "",
      `  } // ${words}`,
      `  return a; // ${words}`,
      `  return b; // ${words}`,
      `if (a) { // ${words}`,
    );
    const file = fc.array(line, { minLength: 60, maxLength: 120 });
    const edit = fc.record({ at: fc.nat(90), remove: fc.nat(3), add: fc.array(line, { maxLength: 3 }) });
    const window = fc.record({ offset: fc.integer({ min: 1, max: 20 }), limit: fc.integer({ min: 40, max: 90 }) });
    let diffs = 0;
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        fc.option(window),
        async (lines, edits, part) => {
          const after = edits.reduce(
            (now, { at, remove, add }) => now.toSpliced(at % now.length, remove, ...add),
            lines,
          );
          const { offset = 1, limit = Infinity } = part ?? {}, shown = after.slice(offset - 1, offset - 1 + limit);
          const result = await change(join(lines), join(after), part ?? {});
          if (!isDiff(result)) return assert(result === join(shown) || result.startsWith("[waymark reference: "));
          diffs++;
          const before = lines.slice(offset - 1, offset - 1 + limit);
          assertEquals(rebuild(result, before, offset), shown);
          assert(estimateTokens(result) < 0.4 * estimateTokens(join(shown)));
        },
      ),
      { numRuns: 60 },
    );
    assert(diffs > 5, `${diffs} differences`);
  });
});

describe("a change that is not told as one", () => {
  it("is one of 40 % or more of the lines' own tokens: they come whole", async () => {
    let least = Infinity, most = 0;
    for (let changed = 1; changed <= 40; changed++) {
      const after = join(LINES.map((line, at) => at % 2 === 0 && at / 2 < changed ? line.toUpperCase() : line));
      const result = await change(join(LINES), after);
      if (isDiff(result)) most = Math.max(most, estimateTokens(result) / estimateTokens(after));
      else least = Math.min(least, changed);
      assert(isDiff(result) || result === after);
    }
    assert(most < 0.4 && most > 0.3 && least > 1 && least < 20, `up to ${most}, then whole from ${least} lines on`);
  });

  it("is one to lines that were not all shown: they come whole", () =>
    talking(async ({ session, read, write }) => {
      write(join(LINES));
      session.nextTurn();
      await read({ limit: 79 });
      write(join(LINES.with(10, "new")));
      session.nextTurn();
      assertEquals(await read(), join(LINES.with(10, "new")));
    }));

  it("is one to lines that are no longer in the conversation: they come whole", () =>
    talking(async ({ session, read, write }) => {
      write(join(LINES));
      session.nextTurn();
      await read({}, { callId: "c1" });
      write(join(LINES.with(10, "new")));
      session.nextTurn();
      session.evict(["c1"]);
      assertEquals(await read(), join(LINES.with(10, "new")));
    }));

  it("is one the host does not ask for: off by default", async () => {
    const after = join(LINES.with(10, "new"));
    for (const onChange of [undefined, "full"] as const) {
      assertEquals(await change(join(LINES), after, {}, { onChange }), after);
    }
  });

  it("is one that the tool does not show: what it gives instead comes as it is", () =>
    inFolder(async (folder) => {
      const session = createSession(), path = put(folder, "a.ts", join(LINES));
      let given = join(LINES);
      const read = wrap((_: PlainArguments) => given, rereadGuard({ session, onChange: "diff" }));
      session.nextTurn();
      await read({ path });
      put(folder, "a.ts", join(LINES.with(10, "new")));
      for (const other of [join(LINES), "File is locked.", join(LINES.with(10, "new")).slice(0, -1000)]) {
        session.nextTurn();
        given = other;
        assertEquals(await read({ path }), other);
      }
    }));

  it("is one of line endings, which changes all lines: they come whole", async () => {
    const after = join(LINES).replaceAll("\n", "\r\n");
    assertEquals(await change(join(LINES), after), after);
    assertEquals(await change(after, join(LINES)), join(LINES));
  });

  it("is one so large that nobody looks for it to the end", async () => {
    const before = join(Array.from({ length: 3000 }, (_, at) => `a${at}`)), after = before.replaceAll("a", "b");
    assertEquals(await change(before, after), after);
  });
});

describe("a change elsewhere in the file", () => {
  it("is told in one block, without a line of it", async () => {
    for (const after of [LINES.with(70, "new"), LINES.slice(0, 60), [...LINES, "more"]]) {
      assertEquals(
        await change(join(LINES), join(after), { offset: 5, limit: 30 }),
        `[waymark diff: a.ts lines 5-34 of ${after.length} are as shown in turn 1; the file has changed elsewhere]\n[end of waymark diff]`,
      );
    }
  });

  it("is one of the last newline alone too: no line is another one by it", async () => {
    for (const [before, after] of [[join(LINES), join(LINES).slice(0, -1)], [join(LINES).slice(0, -1), join(LINES)]]) {
      assertStringIncludes(await change(before!, after!), "lines 1-80 of 80 are as shown in turn 1;");
    }
  });

  it("keeps its numbers where only a line with CRLF endings changed", async () => {
    const crlf = (lines: readonly string[]) => join(lines).replaceAll("\n", "\r\n"),
      after = LINES.toSpliced(40, 1, "x", "y");
    const result = (await change(crlf(LINES), crlf(after))).replaceAll("\r", "");
    assertEquals(rebuild(result, LINES, 1), after);
  });
});

describe("who is told of a change", () => {
  it("gets the lines by asking again, and the change once more after that only if it is not insisted on", () =>
    talking(async ({ session, read, write, calls }) => {
      const after = join(LINES.with(10, "new"));
      write(join(LINES));
      session.nextTurn();
      await read();
      write(after);
      const kinds: string[] = [];
      for (let turn = 2; turn <= 5; turn++) {
        session.nextTurn();
        const result = await read();
        kinds.push(isDiff(result) ? "diff" : result === after ? "lines" : result.slice(0, 18));
      }
      assertEquals(kinds, ["diff", "lines", "[waymark reference", "lines"]);
      assertEquals(calls.length, 4, "the tool is called for a change: its lines must be those of the file");
    }));

  it("is recorded as shown no line by it", () =>
    talking(async ({ session, read, write }) => {
      write(join(LINES));
      session.nextTurn();
      await read();
      const before = session.toJSON().given;
      write(join(LINES.with(10, "new")));
      session.nextTurn();
      assert(isDiff(await read()));
      assertEquals(session.toJSON().given, before);
      session.nextTurn();
      session.nextTurn();
      assert(isDiff(await read()), "two turns later it is the same change to the same lines");
    }));

  it("is recorded as shown nothing by who asks again in the same turn: of equal reads the host may keep either result", () =>
    talking(async ({ session, read, write }) => {
      const after = join(LINES.with(10, "new"));
      write(join(LINES));
      session.nextTurn();
      await read();
      const before = session.toJSON().given;
      write(after);
      session.nextTurn();
      assertEquals([isDiff(await read()), await read()], [true, after]);
      assertEquals(session.toJSON().given, before);
    }));

  it("who marks a read fresh, or asks for these lines and others, gets lines", () =>
    talking(async ({ session, read, write }) => {
      const after = join(LINES.with(10, "new"));
      write(join(LINES));
      session.nextTurn();
      await read();
      write(after);
      session.nextTurn();
      assert(isDiff(await read({ limit: 60 })));
      assertEquals(await read({ limit: 70 }), join(LINES.with(10, "new").slice(0, 70)));
      session.nextTurn();
      assertEquals(await read({}, { fresh: true }), after);
    }));

  it("gets it against the latest version of which all these lines were shown", () =>
    talking(async ({ session, read, write }) => {
      const second = LINES.with(10, "second"), third = second.with(50, "third");
      write(join(LINES));
      session.nextTurn();
      await read();
      write(join(second));
      session.nextTurn();
      await read({ limit: 20 }, { fresh: true });
      write(join(third));
      session.nextTurn();
      const result = await read();
      assertStringIncludes(result, "as shown in turn 1");
      assertEquals(rebuild(result, LINES, 1), third);
      const part = await read({ limit: 19 });
      assertStringIncludes(part, "lines 1-19 of 80 are as shown in turn 2; the file has changed elsewhere");
    }));

  it("is told by which turn all was shown, where that was not in one", () =>
    talking(async ({ session, read, write }) => {
      write(join(LINES));
      for (const [offset, limit] of [[1, 40], [41, 40]]) {
        session.nextTurn();
        await read({ offset: offset!, limit: limit! });
      }
      write(join(LINES.with(10, "second")));
      session.nextTurn();
      assertStringIncludes(await read(), "what is not listed is as shown by turn 2]");
    }));

  it("gets it from lines that several results hold together", () =>
    talking(async ({ session, read, write }) => {
      write(join(LINES));
      session.nextTurn();
      for (const [offset, limit] of [[41, 40], [1, 30], [25, 20]]) await read({ offset: offset!, limit: limit! });
      write(join(LINES.with(10, "new").toSpliced(50, 1)));
      session.nextTurn();
      const result = await read();
      assertEquals(rebuild(result, LINES, 1), LINES.with(10, "new").toSpliced(50, 1));
    }));

  it("gets it beside the content where there are fields, and is counted", () =>
    talking(
      async ({ session, read, write, events }) => {
        write(join(LINES));
        session.nextTurn();
        await read();
        write(join(LINES.with(10, "new")));
        session.nextTurn();
        const { content, annotation } = await read() as unknown as {
          content: string;
          annotation: Record<string, unknown>;
        };
        const { text, ...facts } = annotation;
        assertEquals([content, facts], ["", { kind: "diff", path: "a.ts", start: 1, end: 80, lines: 80 }]);
        const tokensSaved = estimateTokens(join(LINES.with(10, "new"))) - estimateTokens(text as string);
        assertEquals(events, [{ type: "diff", path: "a.ts", start: 1, end: 80, tokensSaved }]);
      },
      {},
      { codec: fieldsCodec },
    ));

  it("gets no turn where the host never counts them", () =>
    talking(async ({ read, write }) => {
      write(join(LINES));
      await read();
      write(join(LINES.with(10, "new")));
      const result = await read();
      assertStringIncludes(result, "have changed; what is not listed is as shown earlier]");
      assertEquals(rebuild(result, LINES, 1), LINES.with(10, "new"));
    }));
});

describe("the npm package that finds the changes", () => {
  it("is reached by nothing the root entry reaches, but by the one file that is loaded at the first change", () => {
    const { files, packages } = graphOf("mod.ts");
    assertEquals([files.has("src/reread_diff.ts"), packages.has("diff")], [false, false]);
    const users = listFiles("src").filter((file) =>
      edgesOf(readText(file)).some(({ specifier }) => specifier === "diff")
    );
    assertEquals(users, ["src/reread_diff.ts"]);
    assert(!/import\(\s*["'][^"']*reread_diff/.test(codeOnly(readText("src/reread_guard.ts"))));
  });
});
