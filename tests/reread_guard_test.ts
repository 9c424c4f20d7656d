import { assert, assertEquals, assertMatch, assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createHash } from "node:crypto";
import { linkSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { autoCodec, fieldsCodec } from "../src/codecs.ts";
import { compose, split } from "../src/compose.ts";
import { dialects } from "../src/dialects.ts";
import { WaymarkError } from "../src/errors.ts";
import type { WaymarkEvent } from "../src/events.ts";
import { isAnnotationText, stripAnnotations } from "../src/file_map.ts";
import { INSTRUCTION_FILES } from "../src/probe.ts";
import { readGuard } from "../src/read_guard.ts";
import type { RereadGuardOptions } from "../src/guard_types.ts";
import { rereadGuard } from "../src/session.ts";
import { guardRereads, heldText } from "../src/reread_guard.ts";
import { createSession } from "../src/session.ts";
import type { Given, Session, SessionOptions } from "../src/session_types.ts";
import type { Middleware, ReadCall } from "../src/types.ts";
import { createWaymark } from "../src/waymark.ts";
import { wrap } from "../src/wrap.ts";
import type { ToolFunction, WrapOptions } from "../src/wrap_types.ts";
import { code, inFolder, type PlainArguments, plainTool, put, until } from "./support.ts";

/** A conversation over the files of a folder, and a plain tool in it. */
interface Talk {
  readonly folder: string;
  readonly session: Session;
  readonly read: (args: PlainArguments, info?: object) => Promise<string>;
  /** What reached the tool. */
  readonly calls: PlainArguments[];
  readonly events: WaymarkEvent[];
  /** Wraps another tool with the same guard. */
  // deno-lint-ignore no-explicit-any -- results are as different as hosts
  wrap(tool: ToolFunction, options?: WrapOptions): (args: PlainArguments, info?: object) => Promise<any>;
}

interface TalkOptions extends Omit<RereadGuardOptions, "session"> {
  readonly session?: SessionOptions;
}

function talking(action: (talk: Talk) => Promise<void>, options: TalkOptions = {}): Promise<void> {
  return inFolder((folder) => {
    const { session: sessionOptions, ...rest } = options;
    const session = createSession(sessionOptions), events: WaymarkEvent[] = [], tool = plainTool(folder);
    const guard = rereadGuard({ session, onEvent: (event) => events.push(event), ...rest });
    const wrapped: Talk["wrap"] = (other, wrapOptions) =>
      wrap(other, guard, { facts: (info) => ({ cwd: folder, ...info as object }), ...wrapOptions }) as never;
    return action({ folder, session, calls: tool.calls, events, read: wrapped(tool.read) as never, wrap: wrapped });
  });
}

function isReference(result: string): boolean {
  return isAnnotationText(result) && /^\[waymark reference: [^\n]*\]$/.test(result);
}

function linesOf(text: string, start: number, end: number): string {
  return text.split(/(?<=\n)/).slice(start - 1, end).join("");
}

const TEXT = `${code(60)}\n`;

describe("a read whose lines were all shown, unchanged", () => {
  it("gets one line in their place, with the path, the lines, the total and the turn", () =>
    talking(async ({ folder, session, read, calls }) => {
      put(folder, "src/a.ts", TEXT);
      session.nextTurn();
      session.nextTurn();
      assertEquals(await read({ path: "src/a.ts" }), TEXT);
      session.nextTurn();
      assertEquals(
        await read({ path: "src/a.ts" }),
        "[waymark reference: src/a.ts lines 1-60 of 60 are unchanged since turn 2, shown then]",
      );
      assertEquals(calls.length, 1, "and the tool is not called");
    }));

  it("gets no turn where the host never counts them", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts", offset: 7, limit: 1 });
      assertEquals(
        await read({ path: "a.ts", offset: 7, limit: 1 }),
        "[waymark reference: a.ts line 7 of 60 is unchanged and shown earlier]",
      );
    }));

  it("may be any part of what was shown, and be shown by several reads together", () =>
    talking(async ({ folder, session, read, calls }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts", offset: 1, limit: 20 });
      session.nextTurn();
      await read({ path: "a.ts", offset: 15, limit: 20 });
      await read({ path: "a.ts", offset: 41, limit: 20 });
      session.nextTurn();
      assertStringIncludes(
        await read({ path: "a.ts", offset: 3, limit: 5 }),
        "lines 3-7 of 60 are unchanged since turn 1",
      );
      assertStringIncludes(await read({ path: "a.ts", offset: 10, limit: 25 }), "lines 10-34 of 60");
      assertStringIncludes(await read({ path: "a.ts", offset: 45 }), "lines 45-60 of 60 are unchanged since turn 2");
      assertEquals(calls.length, 3);
      assertEquals(await read({ path: "a.ts", offset: 36, limit: 2 }), linesOf(TEXT, 36, 37));
    }));

  it("names the latest turn in which any of them was shown, and says so where others were before", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      for (const offset of [1, 21]) {
        session.nextTurn();
        await read({ path: "a.ts", offset, limit: 20 });
      }
      session.nextTurn();
      assertStringIncludes(
        await read({ path: "a.ts", limit: 40 }),
        "lines 1-40 of 60 are unchanged since turn 2, shown by then]",
      );
      assertStringIncludes(
        await read({ path: "a.ts", offset: 25, limit: 3 }),
        "lines 25-27 of 60 are unchanged since turn 2, shown then]",
      );
    }));

  it("is known by the file's own path, however the call names it, and tells the name it was shown under", () =>
    talking(async ({ folder, read, calls }) => {
      const path = put(folder, "src/a.ts", TEXT);
      symlinkSync(path, join(folder, "link.ts"));
      symlinkSync(join(folder, "src"), join(folder, "folder"));
      await read({ path: "src/a.ts" });
      const names = [path, "./src/a.ts", "src/../src/a.ts", "link.ts", "folder/a.ts"];
      for (const [at, name] of names.entries()) {
        const result = await read({ path: name, offset: at + 2, limit: 1 });
        assertEquals(
          result,
          `[waymark reference: ${name} line ${at + 2} of 60 is unchanged and shown earlier as src/a.ts]`,
        );
        assert(encode(result.replace(name, "").replace("src/a.ts", "")).length <= 40);
      }
      assertEquals(calls.length, 1);
    }));

  it("is not another file with the same text: neither a copy nor a hard link", () =>
    talking(async ({ folder, read }) => {
      const path = put(folder, "a.ts", TEXT);
      put(folder, "copy.ts", TEXT);
      linkSync(path, join(folder, "hard.ts"));
      await read({ path: "a.ts" });
      for (const name of ["copy.ts", "hard.ts"]) assertEquals(await read({ path: name }), TEXT);
    }));

  it("takes at most 40 tokens beside its path, whatever the numbers", async () => {
    const file = "/p/q.ts", sizes = new Map<string, number>();
    for (const total of [1, 7, 60, 200, 999, 12_345, 111_111, 987_654]) {
      const text = "x\n".repeat(total), bytes = new TextEncoder().encode(text), source = { read: () => bytes };
      const hash = createHash("sha256").update(bytes).digest("hex");
      const given = { kind: "lines", file, path: file, hash, lines: total, start: 1, end: total, text };
      const turns = [0, 1, 9, 42, 100, 777, 1234, 98_765];
      for (const [turn, untracked] of turns.flatMap((turn) => [[turn, false], [turn, true]] as [number, boolean][])) {
        const state = { version: 1, turn, untracked, referred: [], given: [{ ...given, turn }] };
        for (const start of new Set([1, Math.ceil(total / 3), total])) {
          for (const limit of [1, 13, 200, 54_321]) {
            const session = createSession({ state });
            if (turn) session.nextTurn();
            const guard = rereadGuard({ session, source });
            const result = await wrap((_: PlainArguments) => "", guard, { codec: autoCodec })({
              path: file,
              offset: start,
              limit,
            });
            assert(isReference(result), result);
            for (const text of [result, result.replace("shown then", "shown by then")]) {
              sizes.set(text, encode(text.replace(file, "")).length);
            }
          }
        }
      }
    }
    assert(sizes.size > 300, `${sizes.size} references`);
    assert(
      [...sizes.keys()].some((text) => text.includes("make the same call again")),
      "those that nobody vouches for too",
    );
    const [longest, most] = [...sizes].reduce((a, b) => b[1] > a[1] ? b : a);
    assert(most <= 40, `${most} tokens: ${longest}`);
  });

  it("says a hostile name as one line of plain text", () =>
    talking(async ({ folder, read }) => {
      const name = "a\n[end of waymark reference]\u202e\u0007.ts";
      put(folder, name, TEXT);
      await read({ path: name });
      const result = await read({ path: name });
      assert(isReference(result), JSON.stringify(result));
      assertEquals(result.match(/\[/g)?.length, 1);
      symlinkSync(join(folder, name), join(folder, "link.ts"));
      const other = await read({ path: "link.ts", limit: 9 });
      assert(isReference(other) && other.includes(" shown earlier as a "), JSON.stringify(other));
      assertEquals(other.match(/\[/g)?.length, 1);
    }));

  it("is told of as an event, with what it keeps out of the conversation", () =>
    talking(async ({ folder, read, events }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      assertEquals(events, []);
      const result = await read({ path: "a.ts", offset: 11 });
      const saved = Math.ceil(linesOf(TEXT, 11, 60).length / 4) - Math.ceil(result.length / 4);
      assertEquals(events, [{ type: "reference", path: "a.ts", start: 11, end: 60, tokensSaved: saved }]);
    }));
});

describe("a file that changed, or only seems to have", () => {
  const changes: Record<string, (path: string) => void> = {
    "one character, with the same size and time": (path) => {
      const { atime, mtime } = statSync(path);
      writeFileSync(path, TEXT.replace("f33(", "g33("));
      utimesSync(path, atime, mtime);
      assertEquals(statSync(path).size, TEXT.length);
    },
    "a line more": (path) => writeFileSync(path, `${TEXT}// more\n`),
    "far from the lines asked for": (path) => writeFileSync(path, TEXT.replace("f60(", "g60(")),
    "only its line endings": (path) => writeFileSync(path, TEXT.replaceAll("\n", "\r\n")),
    "only its last newline": (path) => writeFileSync(path, TEXT.trimEnd()),
    "only by a byte order mark": (path) => writeFileSync(path, `\ufeff${TEXT}`),
    "for another file moved there": (path) => {
      writeFileSync(`${path}.new`, TEXT.replace("f1(", "g1("));
      renameSync(`${path}.new`, path);
    },
    "and is made anew": (path) => {
      rmSync(path);
      writeFileSync(path, TEXT.replace("f1(", "g1("));
    },
  };
  for (const [how, change] of Object.entries(changes)) {
    it(`is served where it changed: ${how}`, () =>
      talking(async ({ folder, session, read, calls }) => {
        const path = put(folder, "a.ts", TEXT);
        session.nextTurn();
        await read({ path: "a.ts" });
        session.nextTurn();
        change(path);
        const result = await read({ path: "a.ts", offset: 5, limit: 10 });
        assertEquals([isReference(result), calls.length], [false, 2]);
        session.nextTurn();
        assert(isReference(await read({ path: "a.ts", offset: 5, limit: 10 })), "and from then on it is the one shown");
      }));
  }

  it("is known by its raw bytes: two that read the same once decoded are two", () =>
    talking(async ({ folder, read, calls }) => {
      const bytes = new TextEncoder().encode(TEXT);
      bytes[10] = 0xe9;
      put(folder, "a.php", bytes);
      const before = await read({ path: "a.php" });
      bytes[10] = 0xe8;
      put(folder, "a.php", bytes);
      assertEquals([await read({ path: "a.php" }), calls.length], [before, 2]);
      assert(isReference(await read({ path: "a.php" })));
    }));

  it("is told of with the lines it has now, not with those it had", () =>
    talking(async ({ folder, session, read }) => {
      for (const lines of [60, 80, 40]) {
        const text = `${code(lines)}\n`;
        put(folder, "a.ts", text);
        session.nextTurn();
        assertEquals(await read({ path: "a.ts" }), text);
        session.nextTurn();
        assertStringIncludes(await read({ path: "a.ts" }), ` lines 1-${lines} of ${lines} are unchanged`);
      }
    }));

  it("is as it was where only its time changed, forwards, backwards or to 1970", () =>
    talking(async ({ folder, read, calls }) => {
      const path = put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      for (const [at, time] of [0, 1, 1_000_000_000, 4_070_908_800].entries()) {
        utimesSync(path, time, time);
        assert(isReference(await read({ path: "a.ts", offset: at + 1, limit: 1 })));
      }
      assertEquals(calls.length, 1);
    }));

  it("is as it was where the same bytes come back: undone, written anew, or by way of another file", () =>
    talking(async ({ folder, read, calls }) => {
      const path = put(folder, "a.ts", TEXT);
      await read({ path: "a.ts", limit: 30 });
      writeFileSync(path, "gone");
      writeFileSync(path, TEXT);
      assert(isReference(await read({ path: "a.ts", limit: 30 })));
      renameSync(path, `${path}.old`);
      writeFileSync(path, TEXT);
      assert(isReference(await read({ path: "a.ts", offset: 2, limit: 3 })));
      assertEquals(calls.length, 1);
    }));

  it("is served with the lines of each version, and each of them is remembered", () =>
    talking(async ({ folder, session, read }) => {
      const other = TEXT.replace("f1(", "g1(");
      const results: string[] = [];
      for (const text of [TEXT, other, TEXT, other]) {
        put(folder, "a.ts", text);
        session.nextTurn();
        results.push(await read({ path: "a.ts" }));
      }
      assertEquals(results.slice(0, 2), [TEXT, other]);
      assertMatch(results[2]!, /since turn 1,/);
      assertEquals(results[3], other, "asked for in the turn after a reference, it is insisted on");
    }));
});

describe("a read whose lines were shown in part", () => {
  it("is served as asked, with the very same arguments", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "a.ts", TEXT);
      const seen: unknown[] = [], { read: plain } = plainTool(folder);
      const read = wrap((args: PlainArguments) => (seen.push(args), plain(args)));
      session.nextTurn();
      await read({ path: "a.ts", offset: 10, limit: 20 });
      session.nextTurn();
      const asked = [[9, 20], [10, 21], [1, 10], [29, 2], [1, 60], [30, 1], [9, 1]];
      for (const [offset, limit] of asked) {
        const args = Object.freeze({ path: "a.ts", offset: offset!, limit: limit!, more: {} });
        assertEquals(await read(args), linesOf(TEXT, offset!, offset! + limit! - 1));
        assertStrictEquals(seen.at(-1), args);
      }
      assertEquals(seen.length, 1 + asked.length);
    }));

  it("is served where a line is missing between two that were shown", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts", limit: 20 });
      await read({ path: "a.ts", offset: 22 });
      assertEquals(await read({ path: "a.ts" }), TEXT);
    }));

  it("is served where the file went on after what was shown of it", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts", limit: 60 });
      assert(isReference(await read({ path: "a.ts", limit: 900 })), "no file has lines after its last");
      assertEquals(await read({ path: "a.ts", offset: 61, limit: 5 }), "", "and of none, none were shown");
    }));
});

describe("what was removed from the conversation", () => {
  const removals: Record<string, (session: Session) => void> = {
    "by the id of its call": (session) => session.evict(["c1"]),
    "by its turn": (session) => session.evictBefore(2),
    "with all the rest": (session) => session.reset(),
    "by messages without it": (session) => session.reconcile([{ role: "user", content: "A summary." }]),
    "by messages that hold a placeholder in its place": (session) =>
      session.reconcile([{ role: "tool", tool_call_id: "c1", content: "[cleared]" }]),
    "by messages that hold a part of it": (session) =>
      session.reconcile([{ role: "tool", tool_call_id: "c1", content: `${TEXT.slice(0, 900)}…` }]),
  };
  for (const [how, remove] of Object.entries(removals)) {
    it(`is shown in full at the first read after it went ${how}, then referred to again`, () =>
      talking(async ({ folder, session, read, calls }) => {
        put(folder, "a.ts", TEXT);
        session.nextTurn();
        await read({ path: "a.ts" }, { callId: "c1" });
        session.nextTurn();
        remove(session);
        assertEquals(await read({ path: "a.ts" }, { callId: "c2" }), TEXT);
        session.nextTurn();
        assert(isReference(await read({ path: "a.ts" }, { callId: "c3" })));
        assertEquals(calls.length, 2);
      }));
  }

  it("is not what the host's messages still hold, with whatever it put behind it", () =>
    talking(async ({ folder, session, read, calls }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      const result = await read({ path: "a.ts" }, { callId: "c1" });
      session.nextTurn();
      session.reconcile([
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c1", content: `${result}\n<system-reminder>x` }],
        },
      ]);
      assert(isReference(await read({ path: "a.ts" })));
      assertEquals(calls.length, 1);
    }));

  it("takes what was referred to along: the next identical read is a first one, no insistence", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const session = createSession(), fresh: unknown[] = [];
      const spy: Middleware = (call, next) => (fresh.push(call.fresh), next(call));
      const read = wrap(plainTool(folder).read, compose(rereadGuard({ session }), spy), {
        facts: (info) => ({ cwd: folder, ...info as object }),
      });
      session.nextTurn();
      await read({ path: "a.ts" }, { callId: "c1" });
      session.nextTurn();
      assert(isReference(await read({ path: "a.ts" })));
      session.evict(["c1"]);
      await read({ path: "a.ts" }, { callId: "c2" });
      assertEquals(fresh, [undefined, undefined]);
    }));

  it("leaves a reference what it was where the lines stand in another result still: to repeat it is to insist", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      for (const callId of ["c1", "c2"]) {
        session.nextTurn();
        await read({ path: "a.ts", limit: callId === "c1" ? 30 : 40 }, { callId });
      }
      session.nextTurn();
      assert(isReference(await read({ path: "a.ts", limit: 20 })));
      await Promise.all([read({ path: "a.ts", offset: 5 }), read({ path: "a.ts", offset: 5 })]); // recorded, and taken back
      session.nextTurn();
      session.evict(["c2"]);
      assertEquals(await read({ path: "a.ts", limit: 20 }), linesOf(TEXT, 1, 20));
    }));

  it("does not come back where the read was under way when all was reset, insisted on or not", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "a.ts", TEXT);
      for (const fresh of [false, true]) {
        const { promise, resolve } = Promise.withResolvers<string>();
        const slow = wrap(() => promise), after = wrap(plainTool(folder).read);
        session.nextTurn();
        const pending = slow({ path: "a.ts" }, { fresh });
        session.nextTurn();
        session.reset();
        resolve(TEXT);
        assertEquals(await pending, TEXT);
        session.nextTurn();
        assertEquals(session.coverage(join(folder, "a.ts")), undefined);
        assertEquals(await after({ path: "a.ts" }), TEXT);
        session.reset();
      }
    }));

  const leaves: Record<string, (session: Session) => void> = {
    "its call was evicted": (session) => session.evict(["c1"]),
    "what its turn gave was evicted": (session) => session.evictBefore(session.nextTurn()),
    "a request went out without its result": (session) => session.reconcile([]),
  };
  for (const [what, leave] of Object.entries(leaves)) {
    it(`does not come back where the read was under way when ${what}: its host may have given up on it`, () =>
      talking(async ({ folder, session, wrap }) => {
        put(folder, "a.ts", TEXT);
        for (const isCounted of [false, true]) {
          const { promise, resolve } = Promise.withResolvers<string>(), { read: plain } = plainTool(folder);
          let isSlow = true, isAsked = false;
          const read = wrap((args: PlainArguments) => (isAsked = true, isSlow ? promise : plain(args)));
          if (isCounted) session.nextTurn();
          const pending = read({ path: "a.ts" }, { callId: "c1" });
          await until(() => isAsked);
          leave(session);
          isSlow = false;
          resolve(TEXT);
          assertEquals(await pending, TEXT);
          if (isCounted) session.nextTurn();
          assertEquals(await read({ path: "a.ts" }, { callId: "c2" }), TEXT);
          session.reset();
        }
      }));
  }

  it("was never there where the read was aborted before it came back", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "a.ts", TEXT);
      const { read: plain } = plainTool(folder), stop = new AbortController();
      const read = wrap((args: PlainArguments) => (stop.abort(), plain(args)));
      session.nextTurn();
      assertEquals(await read({ path: "a.ts" }, { callId: "c1", signal: stop.signal }), TEXT);
      session.nextTurn();
      assertEquals(session.coverage(join(folder, "a.ts")), undefined);
      assertEquals(await read({ path: "a.ts" }, { callId: "c2" }), TEXT);
    }));
});

describe("a reader who insists", () => {
  it("gets a reference first, the lines at the next identical read, then references again", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      const got: string[] = [];
      for (let turn = 1; turn <= 9; turn++) {
        session.nextTurn();
        const result = await read({ path: "a.ts" });
        got.push(isReference(result) ? "reference" : result === TEXT ? "lines" : result);
      }
      assertEquals(got, [
        "lines",
        ...["reference", "lines", "reference", "lines", "reference", "lines", "reference", "lines"],
      ]);
    }));

  it("gets the lines in the same turn too", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      session.nextTurn();
      const results = [await read({ path: "a.ts" }), await read({ path: "a.ts" }), await read({ path: "a.ts" })];
      assertEquals(results.map(isReference), [true, false, true]);
    }));

  it("does not insist two turns later: that is a reference again", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      for (let round = 0; round < 3; round++) {
        session.nextTurn();
        session.nextTurn();
        assert(isReference(await read({ path: "a.ts" })));
      }
    }));

  it("insists once after each reference where turns are not counted", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      const results: string[] = [];
      for (let at = 0; at < 6; at++) results.push(await read({ path: "a.ts" }));
      assertEquals(results.map(isReference), [false, true, false, true, false, true]);
    }));

  it("may say so: a call marked fresh is served at once, each time, and what it shows counts", () =>
    talking(async ({ folder, session, read, calls }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      for (let at = 0; at < 3; at++) {
        session.nextTurn();
        assertEquals(await read({ path: "a.ts" }, { fresh: true }), TEXT);
      }
      session.nextTurn();
      assertStringIncludes(await read({ path: "a.ts" }), "since turn 4");
      assertEquals(calls.length, 4);
    }));

  it("who asks for the referred lines and others, or for them in other words, is served", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      for (const args of [{ offset: 9, limit: 22 }, { offset: 10, limit: 21 }, { offset: 9, limit: 21 }, {}]) {
        session.reset();
        session.nextTurn();
        await read({ path: "a.ts" });
        session.nextTurn();
        assert(isReference(await read({ path: "a.ts", offset: 10, limit: 20 })));
        session.nextTurn();
        assert(!isReference(await read({ path: "a.ts", ...args })), JSON.stringify(args));
      }
      session.nextTurn();
      assert(isReference(await read({ path: "./a.ts", offset: 10, limit: 20 })));
      assertEquals(await read({ path: join(folder, "a.ts"), offset: 10, limit: 20 }), linesOf(TEXT, 10, 29));
    }));

  it("who asks for fewer of them, or others, gets a reference of its own", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      session.nextTurn();
      for (const [offset, limit] of [[10, 20], [11, 19], [10, 19], [12, 3], [40, 5], [20, 15]]) {
        assert(isReference(await read({ path: "a.ts", offset: offset!, limit: limit! })), `${offset}, ${limit}`);
      }
    }));

  it("passes both guards untouched, also where the read is one that is shortened", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const session = createSession(), { read: plain } = plainTool(folder), seen: unknown[] = [];
      const tool = (args: PlainArguments) => (seen.push(args), plain(args));
      const read = wrap(tool, compose(readGuard({ session }), rereadGuard({ session })), {
        facts: () => ({ cwd: folder }),
      });
      const args = { path: "a.ts" }, results: string[] = [];
      for (let turn = 1; turn <= 5; turn++) {
        session.nextTurn();
        results.push(await read(args));
      }
      assertEquals(results.map((result) => stripAnnotations(result).split("\n").length), [201, 1, 300, 1, 300]);
      assertEquals([results[2], results[4]], [code(300), code(300)]);
      assertStrictEquals(seen[1], args);
      assertStrictEquals(seen[2], args);
    }));

  it("is never blocked: of ten identical reads at once or in a row all have an answer, and the lines come again", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      for (let round = 0; round < 3; round++) {
        session.nextTurn();
        const results = await Promise.all(Array.from({ length: 10 }, () => read({ path: "a.ts" })));
        assert(results.every((result) => result === TEXT || isReference(result)));
        assert(results.includes(TEXT) && results.some(isReference));
      }
    }));
});

describe("a reference in a host's result", () => {
  const text = linesOf(TEXT, 1, 60);
  const facts = { kind: "reference", path: "a.ts", start: 1, end: 60, lines: 60 };
  const carried: Record<string, readonly [shape: (text: string) => unknown, answer: (text: string) => unknown]> = {
    "a string": [(text) => text, (line) => line],
    "text blocks": [(text) => [{ type: "text", text }], (line) => [{ type: "text", text: line }]],
    "blocks without a type": [(text) => [{ text }], (line) => [{ text: line }]],
    "an MCP result": [
      (text) => ({ content: [{ type: "text", text }], isError: false, _meta: { a: 1 } }),
      (line) => ({ content: [{ type: "text", text: line }] }),
    ],
    "an object with content": [
      (text) => ({ content: text }),
      (line) => ({ content: "", annotation: { ...facts, text: line } }),
    ],
    "an object with text": [(text) => ({ text }), (line) => ({ text: "", annotation: { ...facts, text: line } })],
    "an object with output": [
      (text) => ({ output: text }),
      (line) => ({ output: "", annotation: { ...facts, text: line } }),
    ],
    "an object with stdout": [
      (text) => ({ stdout: text }),
      (line) => ({ stdout: "", annotation: { ...facts, text: line } }),
    ],
  };
  for (const [name, [shape, answer]] of Object.entries(carried)) {
    it(`takes the shape of the tool's own results: ${name}`, () =>
      talking(async ({ folder, wrap }) => {
        put(folder, "a.ts", text);
        let calls = 0;
        const read = wrap(() => (calls++, shape(text)));
        assertEquals(await read({ path: "a.ts" }), shape(text));
        const line = "[waymark reference: a.ts lines 1-60 of 60 are unchanged and shown earlier]";
        assertEquals([await read({ path: "a.ts" }), calls], [answer(line), 1]);
      }));
  }

  it("stands beside an empty content with the codec that makes fields of strings", () =>
    talking(async ({ folder, wrap }) => {
      put(folder, "a.ts", text);
      const read = wrap(() => text, { codec: fieldsCodec });
      assertEquals(await read({ path: "a.ts" }), text);
      const { content, annotation } = await read({ path: "a.ts" });
      assertEquals([content, annotation.kind, annotation.start, annotation.end], ["", "reference", 1, 60]);
    }));

  it("is file content nowhere: no field that holds text holds it where there are fields", () =>
    talking(async ({ folder, wrap }) => {
      put(folder, "a.ts", text);
      for (const key of ["content", "text", "output", "llmContent", "stdout"]) {
        const read = wrap(() => ({ [key]: text }));
        await read({ path: "a.ts" }, { fresh: true });
        const { annotation, ...rest } = await read({ path: "a.ts" });
        assertEquals([rest, annotation.kind], [{ [key]: "" }, "reference"]);
        await read({ path: "a.ts" }); // insistence, so that the next host gets a reference again
      }
    }));

  class Result {
    readonly content: string;

    constructor(content: string) {
      this.content = content;
    }
  }
  const unanswerable: Record<string, (text: string) => unknown> = {
    "more fields than it can fill": (text) => ({ content: text, totalLines: 60 }),
    "a file in a field": (text) => ({ type: "text", file: { content: text } }),
    "a structured copy": (text) => ({ content: [{ type: "text", text }], structuredContent: { content: text } }),
    "an image beside the text": (text) => [{ type: "text", text }, { type: "image", data: "AA==" }],
    "a class of its own": (content) => new Result(content),
  };
  for (const [name, shape] of Object.entries(unanswerable)) {
    it(`is not given where the results have ${name}: the tool is called`, () =>
      talking(async ({ folder, wrap }) => {
        put(folder, "a.ts", text);
        const result = shape(text);
        let calls = 0;
        const read = wrap(() => (calls++, result));
        for (let at = 0; at < 3; at++) assertStrictEquals(await read({ path: "a.ts" }), result);
        assertEquals(calls, 3);
      }));
  }

  it("is not given before the tool has given any text, for its shape is not known then", () =>
    talking(async ({ folder, session, read, wrap, calls }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      const restored = createSession({ state: JSON.parse(JSON.stringify(session)) });
      const { read: plain, calls: others } = plainTool(folder), again = wrap(plain, { session: restored });
      assertEquals([await again({ path: "a.ts" }), others.length], [TEXT, 1]);
      assert(isReference(await again({ path: "a.ts", limit: 5 })));
      const told = wrap(plain, {
        session: createSession({ state: JSON.parse(JSON.stringify(session)) }),
        codec: autoCodec,
      });
      assert(isReference(await told({ path: "a.ts", offset: 2 })), "a codec of the host's choice knows it");
      assertEquals([calls.length, others.length], [1, 1]);
    }));

  it("is not given by a tool that streams", () =>
    talking(async ({ folder, wrap }) => {
      put(folder, "a.ts", TEXT);
      const read = wrap(async function* () {
        await Promise.resolve();
        yield TEXT;
      }) as unknown as (args: PlainArguments) => AsyncGenerator<string>;
      for (let at = 0; at < 3; at++) {
        const values: string[] = [];
        for await (const value of read({ path: "a.ts" })) values.push(value);
        assertEquals(values, [TEXT]);
      }
    }));

  it("can be told from every file: it is recognised as an annotation, and leaves nothing when it is taken off", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      const result = await read({ path: "a.ts" });
      assertEquals([isAnnotationText(result), stripAnnotations(result)], [true, ""]);
    }));
});

describe("what is never recorded", () => {
  /** Reads, each in a turn of its own, that must leave the conversation as it was; then the same lines are served. */
  const unrecorded = (action: (talk: Talk & { readonly text: string }) => Promise<unknown>): Promise<void> =>
    talking(async (talk) => {
      put(talk.folder, "a.ts", TEXT);
      const inTurns = (read: Talk["read"]): Talk["read"] => (args, info) => {
        talk.session.nextTurn();
        return read(args, info);
      };
      const wrapped: Talk["wrap"] = (tool, options) => inTurns(talk.wrap(tool, options));
      await action({ ...talk, text: TEXT, read: inTurns(talk.read), wrap: wrapped });
      assertEquals(talk.session.toJSON().given, []);
      talk.session.nextTurn();
      assertEquals(await talk.read({ path: "a.ts" }), TEXT);
    });

  it("an error, thrown or told", () =>
    unrecorded(async ({ wrap, text }) => {
      const throwing = wrap(() => {
        throw new Error(text);
      });
      assertEquals(await throwing({ path: "a.ts" }).catch(({ message }) => message), text);
      await wrap(() => ({ content: [{ type: "text", text }], isError: true }))({ path: "a.ts" });
    }));

  it("lines that the tool did not give: other text, a changed line, another range", () =>
    unrecorded(async ({ wrap, text }) => {
      for (const given of ["File does not exist.", text.replace("f1(", "g1("), linesOf(text, 2, 60), "", ` ${text}`]) {
        await wrap(() => given)({ path: "a.ts" });
      }
    }));

  it("images, blocks that are no text, and text of several blocks", () =>
    unrecorded(async ({ wrap, text }) => {
      const image = { type: "image", source: { type: "base64", data: "AAAA" } };
      for (
        const given of [[image], { type: "image", file: { base64: "AA" } }, [{ type: "text", text }, {
          type: "text",
          text,
        }]]
      ) {
        await wrap(() => given)({ path: "a.ts" });
      }
      for (const given of [null, undefined, 7, true, new Uint8Array(9)]) await wrap(() => given)({ path: "a.ts" });
    }));

  it("binaries and UTF-16", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.bin", "text\0and more\n");
      put(folder, "b.ts", new Uint8Array([0xff, 0xfe, 0x61, 0, 0x0a, 0]));
      for (const path of ["a.bin", "b.ts", "a.bin", "b.ts"]) await read({ path });
      assertEquals(session.toJSON().given, []);
    }));

  it("reads by scripts, and they are always served", () =>
    unrecorded(async ({ read, calls, text }) => {
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "a.ts" }, { programmatic: true }), text);
      assertEquals(calls.length, 3);
    }));

  it("an equal read beside one that a reference answered, in one parallel batch: the host may keep either result", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" }, { callId: "c1" });
      session.nextTurn();
      const [one, other] = await Promise.all(["c2", "c3"].map((callId) => read({ path: "a.ts" }, { callId })));
      assert(isReference(one!) && other === TEXT);
      assertEquals(session.toJSON().given.map(({ callId }) => callId), ["c1"]);
    }));

  it("reads by scripts, which get what was shown before as any other text", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      for (let at = 0; at < 3; at++) {
        session.nextTurn();
        assertEquals(await read({ path: "a.ts" }, { programmatic: true }), TEXT);
      }
      assertStringIncludes(await read({ path: "a.ts" }), "since turn 1,");
    }));

  it("reads from before the first line, as where a host counts from the end, and they are always served", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "a.ts", TEXT);
      const last = (_: PlainArguments) => linesOf(TEXT, 1, 60);
      const dialect = { ...dialects.plain, parse: () => ({ path: "a.ts", start: -4, count: 65 }) };
      const read = wrap(last, { dialect });
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "a.ts" }), TEXT);
      assertEquals(session.toJSON().given, []);
    }));

  it("secret files", () =>
    talking(async ({ folder, session, read, calls }) => {
      const names = [".env", "server.pem", "id_rsa", ".aws/config", "credentials.json"];
      for (const path of names) {
        put(folder, path, "KEY=DUMMY_0001\n");
        for (let at = 0; at < 2; at++) assertEquals(await read({ path }), "KEY=DUMMY_0001\n");
      }
      assertEquals([session.toJSON().given, calls.length], [[], names.length * 2]);
    }));

  it("two equal reads in one parallel batch", () =>
    talking(async ({ folder, session, read, calls }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      assertEquals(await Promise.all([read({ path: "a.ts" }), read({ path: "a.ts" })]), [TEXT, TEXT]);
      assertEquals([calls.length, session.toJSON().given], [2, []]);
      session.nextTurn();
      assertEquals(await read({ path: "a.ts" }), TEXT);
    }));

  it("two equal reads in one turn, one after the other, insisted on or not", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      for (const fresh of [false, true]) {
        session.nextTurn();
        await read({ path: "a.ts" });
        assertEquals(session.toJSON().given.length, 1);
        assertEquals(await read({ path: "a.ts" }, { fresh }), TEXT);
        assertEquals(session.toJSON().given, []);
      }
    }));

  it("but the read that is made again, where the first result did not stand, is no equal one", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const session = createSession(), { read: plain, calls } = plainTool(folder);
      const tool = (args: PlainArguments) => calls.length ? plain(args) : (plain(args), "something else");
      const read = wrap(tool, compose(readGuard({ session }), rereadGuard({ session })), {
        facts: () => ({ cwd: folder }),
      });
      session.nextTurn();
      assertStringIncludes(await read({ path: "a.ts" }), code(300));
      assertEquals([calls.length, session.coverage(join(folder, "a.ts"))?.whole], [2, true]);
    }));

  it("two equal reads at once where turns are not counted", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      await Promise.all([read({ path: "a.ts" }), read({ path: "a.ts" }), read({ path: "a.ts" })]);
      assertEquals(session.toJSON().given, []);
      await read({ path: "a.ts" });
      assertEquals(session.toJSON().given.length, 1);
    }));

  it("files that are too large, missing, or no files", () =>
    talking(async ({ folder, session, wrap }) => {
      mkdirSync(join(folder, "folder.ts"));
      put(folder, "large.ts", "x\n".repeat(17 << 20));
      const read = wrap(() => TEXT);
      for (const path of ["missing.ts", "folder.ts", "large.ts", "https://example.com/a.ts", "\\\\host\\share\\a.ts"]) {
        for (let at = 0; at < 2; at++) assertEquals(await read({ path }), TEXT);
      }
      assertEquals(session.toJSON().given, []);
    }));

  it("a range the vocabulary cannot say, or one behind the end", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      for (const args of [{ offset: -5 }, { offset: 61 }, { offset: 999, limit: 5 }]) {
        await read({ path: "a.ts", ...args });
        await read({ path: "a.ts", ...args });
      }
      assertEquals(session.toJSON().given, []);
    }));

  it("more than was really returned, where the host cut its result: the verified part is", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "a.ts", TEXT);
      const { read: plain } = plainTool(folder);
      const cutting = wrap((args: PlainArguments) => `${linesOf(plain(args), 1, 25)}(25 of 60 lines shown)`);
      session.nextTurn();
      await cutting({ path: "a.ts" });
      const [given] = session.toJSON().given;
      assertEquals([given?.start, given?.end, given?.lines, given?.text], [1, 25, 60, linesOf(TEXT, 1, 25)]);
      session.nextTurn();
      const read = wrap((args: PlainArguments) => plain(args), { codec: autoCodec });
      assertEquals(await read({ path: "a.ts" }), TEXT);
      assert(isReference(await read({ path: "a.ts", limit: 25 })));
      assertEquals(await read({ path: "a.ts", limit: 26 }), linesOf(TEXT, 1, 26));
    }));

  it("other lines than the host's own before them: the name of the file is one, in whatever folder it is", () =>
    talking(async ({ folder, session, wrap }) => {
      put(folder, "src/a.ts", TEXT);
      const path = "src/a.ts", { read: plain } = plainTool(folder);
      await wrap((args: PlainArguments) => `import "./b.ts";\n${plain(args)}`)({ path, limit: 9 });
      assertEquals(session.toJSON().given, []);
      await wrap((args: PlainArguments) => `File: a.ts\n${plain(args)}`)({ path, limit: 9 });
      assertEquals(session.coverage(join(folder, path))?.seen, [{ start: 1, end: 9 }]);
    }));

  it("a line of which only a part came back", () =>
    talking(async ({ folder, session, wrap }) => {
      const long = `one\n${"x".repeat(3000)}\nthree\n`;
      put(folder, "a.ts", long);
      await wrap(() => `one\n${"x".repeat(2000)}... [line cut]\nthree\n`)({ path: "a.ts" });
      assertEquals(session.coverage(join(folder, "a.ts"))?.seen, [{ start: 1, end: 1 }]);
    }));
});

describe("two reads at once", () => {
  it("of different ranges are both recorded", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await Promise.all([read({ path: "a.ts", limit: 30 }), read({ path: "a.ts", offset: 31 })]);
      session.nextTurn();
      assert(isReference(await read({ path: "a.ts" })));
    }));

  it("do not refer to each other: what a turn gave is not yet read in it", () =>
    talking(async ({ folder, session, read }) => {
      put(folder, "a.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      assertEquals(await read({ path: "a.ts", offset: 10, limit: 5 }), linesOf(TEXT, 10, 14));
      session.nextTurn();
      assert(isReference(await read({ path: "a.ts", offset: 20, limit: 5 })));
    }));
});

describe("conversations", () => {
  it("know nothing of each other", () =>
    talking(async ({ folder, wrap }) => {
      put(folder, "a.ts", TEXT);
      const { read: plain } = plainTool(folder), one = createSession(), other = createSession();
      const read = wrap(plain);
      for (const session of [one, other]) assertEquals(await read({ path: "a.ts" }, { session }), TEXT);
      for (const session of [one, other]) assert(isReference(await read({ path: "a.ts" }, { session })));
    }));

  it("with an id take no part in the reads of another id", () =>
    talking(async ({ folder, read, calls }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" }, { sessionId: "main" });
      for (let at = 0; at < 2; at++) assertEquals(await read({ path: "a.ts" }, { sessionId: "sub-agent" }), TEXT);
      assert(isReference(await read({ path: "a.ts" }, { sessionId: "main" })));
      assertEquals(calls.length, 3);
    }, { session: { id: "main" } }));

  it("that begin from nothing are served, though their parent was shown it all", () =>
    talking(async ({ folder, read, wrap }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      const child = wrap(plainTool(folder).read, { session: createSession() });
      assertEquals(await child({ path: "a.ts" }), TEXT);
    }));

  it("that inherit one begin with all it holds, and part from there", () =>
    talking(async ({ folder, session, read, wrap }) => {
      put(folder, "a.ts", TEXT);
      put(folder, "b.ts", TEXT);
      put(folder, "c.ts", TEXT);
      session.nextTurn();
      await read({ path: "a.ts" });
      session.nextTurn();
      const fork = session.fork(), child = wrap(plainTool(folder).read, { session: fork, codec: autoCodec });
      assertStringIncludes(await child({ path: "a.ts" }), "since turn 1");
      await child({ path: "b.ts" });
      await read({ path: "c.ts" });
      session.nextTurn();
      fork.nextTurn();
      assertEquals(await read({ path: "b.ts" }), TEXT, "what the child was shown the parent was not");
      assertEquals(await child({ path: "c.ts" }), TEXT, "nor the other way round");
      fork.reset();
      assert(isReference(await read({ path: "a.ts" })));
    }));

  it("are none where none is given: every read goes on as asked", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const { read: plain, calls } = plainTool(folder),
        read = wrap(plain, rereadGuard(), { facts: () => ({ cwd: folder }) });
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "a.ts" }), TEXT);
      assertEquals(calls.length, 3);
    }));

  it("of another make are none: those of the tool's own kind are looked at alone", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const foreign = { ...createSession(), id: undefined } as Session, facts = () => ({ cwd: folder });
      const read = wrap(plainTool(folder).read, rereadGuard(), { session: foreign, facts });
      for (let at = 0; at < 3; at++) assertEquals(await read({ path: "a.ts" }), TEXT);
      const own = wrap(plainTool(folder).read, rereadGuard({ session: createSession() }), { session: foreign, facts });
      await own({ path: "a.ts" });
      assert(isReference(await own({ path: "a.ts" })));
    }));
});

describe("files that instruct an agent", () => {
  const names = [
    "AGENTS.md",
    "agents.md",
    "docs/CLAUDE.md",
    "Claude.local.md",
    "GEMINI.md",
    "skills/pdf/SKILL.md",
    ".cursorrules",
    ".cursor/rules/style.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/Tests.instructions.md",
  ];
  it("are shown again however often they are asked for, in whatever case they are written", () =>
    talking(async ({ folder, session, read, calls }) => {
      for (const path of names) {
        put(folder, path, TEXT);
        for (let at = 0; at < 3; at++) {
          session.nextTurn();
          assertEquals(await read({ path }), TEXT, path);
        }
      }
      assertEquals([calls.length, session.toJSON().given], [names.length * 3, []]);
      assert(INSTRUCTION_FILES.includes("agents.md"));
    }));

  it("are exempt by their own name and by that of a link to them, however it is given", () =>
    talking(async ({ folder, read }) => {
      symlinkSync(put(folder, "AGENTS.md", TEXT), join(folder, "notes.md"));
      symlinkSync(put(folder, "rules.txt", TEXT), join(folder, "CLAUDE.md"));
      for (const name of ["AGENTS.md", "notes.md", "CLAUDE.md"]) {
        for (const path of [name, join(folder, name)]) {
          for (let at = 0; at < 3; at++) assertEquals(await read({ path }), TEXT, path);
        }
      }
    }));

  it("are those of the host's own list where it gives one", () =>
    talking(async ({ folder, read }) => {
      for (const path of ["Rules.txt", "guides/a.md", "AGENTS.md"]) {
        put(folder, path, TEXT);
        await read({ path });
        assertEquals(isReference(await read({ path })), path === "AGENTS.md", path);
      }
    }, { exempt: ["rules.txt", "guides/**"] }));

  it("are none with an empty list", () =>
    talking(async ({ folder, read }) => {
      put(folder, "AGENTS.md", TEXT);
      await read({ path: "AGENTS.md" });
      assert(isReference(await read({ path: "AGENTS.md" })));
    }, { exempt: [] }));

  it("are not named by a glob that is none: that is refused at once", () => {
    const error = assertThrows(() => rereadGuard({ exempt: ["a[z-a].md"] }), WaymarkError);
    assertEquals(error.code, "invalid-option");
  });
});

describe("a check that fails", () => {
  const faults: Record<string, Parameters<typeof guardRereads>[0]["project"]> = {
    "the file cannot be found or read": { snapshot: () => Promise.reject(new Error("disk")) },
    "reading it throws": {
      snapshot: () => {
        throw new Error("disk");
      },
    },
    "what is read makes no sense": { snapshot: () => Promise.resolve(undefined as never) },
  };
  for (const [what, broken] of Object.entries(faults)) {
    it(`means that the file is served: ${what}`, async () => {
      const session = createSession(), args = { path: "/a.ts" }, seen: unknown[] = [];
      const guard = guardRereads({ project: broken, conversationOf: () => session as never });
      const read = wrap((given: PlainArguments) => (seen.push(given), TEXT), guard);
      for (let at = 0; at < 2; at++) assertEquals(await read(args), TEXT);
      assert(seen.length === 2 && seen.every((given) => given === args));
    });
  }

  it("at the second read only, means that the second read is served", () => {
    let works = true;
    const source = {
      read: () => {
        if (works) return new TextEncoder().encode(TEXT);
        throw new Error("gone");
      },
    };
    return talking(async ({ read, folder, calls }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      assert(isReference(await read({ path: "a.ts" })));
      await read({ path: "a.ts" });
      works = false;
      for (let at = 0; at < 2; at++) assertEquals(await read({ path: "a.ts" }), TEXT);
      assertEquals(calls.length, 4);
    }, { source });
  });

  it("in a hook of the host's is its own", () =>
    talking(async ({ folder, read }) => {
      put(folder, "a.ts", TEXT);
      await read({ path: "a.ts" });
      assert(isReference(await read({ path: "a.ts" })));
    }, {
      onEvent: () => {
        throw new Error("hook");
      },
    }));

  it("of a file that goes between the look and the read leaves the tool's own error", () =>
    talking(async ({ folder, session, wrap }) => {
      const path = put(folder, "a.ts", TEXT), error = new Error("ENOENT");
      const read = wrap(() => {
        rmSync(path);
        throw error;
      });
      assertStrictEquals(await read({ path: "a.ts" }).catch((thrown) => thrown), error);
      assertEquals(session.toJSON().given, []);
    }));

  it("of a file edited between the look and the read records no line that was not shown", () =>
    talking(async ({ folder, session, wrap }) => {
      const path = put(folder, "a.ts", TEXT),
        { read: plain } = plainTool(folder),
        edited = TEXT.replace("f20(", "g20(");
      const read = wrap((args: PlainArguments) => {
        writeFileSync(path, edited);
        return plain(args);
      });
      session.nextTurn();
      assertEquals(await read({ path: "a.ts" }), edited);
      session.nextTurn();
      assertEquals(await read({ path: "a.ts", limit: 10 }), linesOf(edited, 1, 10), "the bytes are others now");
      writeFileSync(path, TEXT);
      const back = wrap(plain, { codec: autoCodec });
      assert(isReference(await back({ path: "a.ts", offset: 2, limit: 9 })), "the first lines were those of both");
      assertEquals(await back({ path: "a.ts", offset: 20, limit: 1 }), linesOf(TEXT, 20, 20));
    }));
});

describe("the re-read guard in the onion", () => {
  it("reads a file once, also where the read guard had to look how long it is", async () => {
    const bytes = new TextEncoder().encode(TEXT), session = createSession();
    let reads = 0;
    const source = { read: () => (reads++, bytes) }, waymark = createWaymark({ cache: false, source, session });
    const read = waymark.wrap((_: PlainArguments) => TEXT);
    for (const [turn, expected] of [[1, TEXT], [2, ""], [3, TEXT]] as const) {
      session.nextTurn();
      assertEquals(stripAnnotations(await read({ path: "/a.ts" })), expected);
      assertEquals(reads, turn);
    }
    await waymark.close();
  });

  it("reads the file once for each read, recorded or referred to", async () => {
    let reads = 0;
    const session = createSession(), source = { read: () => (reads++, new TextEncoder().encode(TEXT)) };
    const read = wrap((_: PlainArguments) => TEXT, rereadGuard({ session, source }));
    for (let at = 1; at <= 4; at++) {
      await read({ path: "/a.ts", limit: 60 });
      assertEquals(reads, at);
    }
  });

  it("hands the call on as it is, fresh where it is insisted on", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const session = createSession(), seen: (boolean | undefined)[] = [];
      const spy: Middleware = (call: ReadCall, next) => (seen.push(call.fresh), next(call));
      const read = wrap(plainTool(folder).read, compose(rereadGuard({ session }), spy), {
        facts: () => ({ cwd: folder }),
      });
      for (let at = 0; at < 3; at++) await read({ path: "a.ts" });
      assertEquals(seen, [undefined, true]);
    }));

  it("takes back what it noted of a result that its host throws away", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const session = createSession(),
        thrower: Middleware = async (call, next) => {
          const outcome = await next(call);
          return call.fresh ? { ...outcome, failed: true, error: new Error("no") } : { ...outcome, again: true };
        };
      const read = wrap(plainTool(folder).read, compose(thrower, rereadGuard({ session })), {
        facts: () => ({ cwd: folder }),
      });
      await read({ path: "a.ts" }).catch(() => {});
      assertEquals(session.toJSON().given.length, 1, "of two results the second was handed out by the guard");
      session.reset();
      const guard = rereadGuard({ session });
      let kept: (() => void) | undefined;
      const outcome = await guard(
        { path: join(folder, "a.ts"), start: 1 },
        () => Promise.resolve({ result: TEXT, text: TEXT, annotations: [], discard: () => void (kept = () => {}) }),
      );
      assertEquals(session.toJSON().given.length, 1);
      outcome.discard?.();
      assertEquals([session.toJSON().given, typeof kept], [[], "function"]);
    }));

  it("answers only a call that says its host can be answered", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", TEXT), session = createSession(), guard = rereadGuard({ session });
      const next = () => Promise.resolve({ result: TEXT, text: TEXT, annotations: [] });
      for (let at = 0; at < 3; at++) assertEquals((await guard({ path, start: 1 }, next)).result, TEXT);
      const answer = await guard({ path, start: 1, answerable: true }, next);
      assertEquals(["result" in answer, answer.annotations.map(({ kind }) => kind)], [false, ["reference"]]);
    }));

  it("works in halves, for hosts that have hooks alone: an answer before the tool, or what it gave after it", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", TEXT), session = createSession();
      const halves = split(rereadGuard({ session }));
      const call: ReadCall = { path, start: 1, answerable: true, callId: "c1" };
      const dropped = await halves.begin(call);
      halves.drop(dropped.id);
      const begun = await halves.begin(call);
      assertEquals([begun.call, begun.answer], [call, undefined]);
      await halves.finish(begun.id, { result: TEXT, text: TEXT, annotations: [] });
      assertEquals(session.toJSON().given.map(({ start, end, callId }) => [start, end, callId]), [[1, 60, "c1"]]);
      const { answer } = await halves.begin({ ...call, callId: "c2" });
      assertEquals(answer?.annotations.map(({ text }) => isReference(text)), [true]);
      const unanswerable = await halves.begin({ ...call, callId: "c3", start: 2, answerable: false });
      assertEquals(unanswerable.answer, undefined);
    }));

  it("hands on a layer's rejection", async () => {
    const session = createSession(), source = { read: () => new TextEncoder().encode(TEXT) };
    const guard = rereadGuard({ session, source }), error = new Error("inner");
    const caught = await guard({ path: "/a.ts", start: 1 }, () => Promise.reject(error)).catch((thrown) => thrown);
    assertStrictEquals(caught, error);
    assertEquals(session.toJSON().given, []);
  });
});

describe("the lines of a range that results hold together", () => {
  const lines = ["\ufeffone\r\n", "two\n", "\n", "four\r\n", "five\n", "six"]; // the last has no ending
  const given = (start: number, end: number): Given => {
    const text = lines.slice(start - 1, end).join("");
    return { kind: "lines", file: "/a.ts", path: "a.ts", hash: "", lines: 6, start, end, text, turn: 1 };
  };

  it("are those of the file, of one result and of several in any order, where they overlap and where they meet", () => {
    const results = [[given(1, 6)], [given(3, 6), given(1, 2)], [given(1, 4), given(2, 3), given(4, 6)], [
      given(2, 6),
      given(1, 6),
    ], [given(1, 1), given(2, 2), given(3, 3), given(4, 5), given(6, 6)]];
    for (let start = 1; start <= 6; start++) {
      for (let end = start; end <= 6; end++) {
        for (const held of results) {
          const among = held.filter((one) => one.start <= end && one.end >= start);
          assertEquals(heldText(among, { start, end }), lines.slice(start - 1, end).join(""), `${start}-${end}`);
        }
      }
    }
  });
});
