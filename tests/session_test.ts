import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { describe, it } from "node:test";
import { autoCodec } from "../src/codecs.ts";
import { Conversation } from "../src/conversation.ts";
import { WaymarkError } from "../src/errors.ts";
import { rereadGuard } from "../src/session.ts";
import { conversationOf, createSession } from "../src/session.ts";
import type { Session, SessionState } from "../src/session_types.ts";
import type { ReadCall } from "../src/types.ts";
import { wrap } from "../src/wrap.ts";
import { code, inFolder, type PlainArguments, plainTool, put } from "./support.ts";

const TEXT = `${code(30)}\n`;

function toolOver(folder: string, session: Session) {
  const { read, calls } = plainTool(folder);
  const wrapped = wrap(read, rereadGuard({ session }), {
    codec: autoCodec,
    facts: (info) => ({ cwd: folder, ...info as object }),
  });
  return { read: wrapped as (args: PlainArguments, info?: object) => Promise<string>, calls };
}

describe("createSession()", () => {
  it("begins a conversation that was shown nothing, in no turn", () => {
    const session = createSession();
    assertEquals([session.id, session.turn, session.untracked], [undefined, 0, false]);
    assertEquals(session.toJSON(), { version: 1, turn: 0, untracked: false, given: [], referred: [] });
    assertEquals(session.coverage("/a.ts"), undefined);
    assertEquals([session.nextTurn(), session.nextTurn(), session.turn], [1, 2, 2]);
  });

  it("keeps the host's id, and that nobody tracks it", () => {
    const session = createSession({ id: "main", untracked: true });
    assertEquals([session.id, session.untracked, session.toJSON().id], ["main", true, "main"]);
  });

  it("takes up a conversation where it left off: lines, turns, ids and what was just referred to", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const first = createSession({ id: "main" });
      first.nextTurn();
      const { read } = toolOver(folder, first);
      await read({ path: "a.ts" }, { callId: "c1" });
      first.nextTurn();
      assert((await read({ path: "a.ts", limit: 9 })).startsWith("[waymark reference"));

      const session = createSession({ state: JSON.parse(JSON.stringify(first)) });
      assertEquals([session.id, session.turn, session.toJSON()], ["main", 2, first.toJSON()]);
      session.nextTurn();
      const resumed = toolOver(folder, session);
      assertEquals(
        await resumed.read({ path: "a.ts", offset: 2 }),
        "[waymark reference: a.ts lines 2-30 of 30 are unchanged since turn 1, shown then]",
      );
      assertEquals(resumed.calls.length, 0);
      assertEquals(await resumed.read({ path: "a.ts", limit: 9 }), TEXT.split(/(?<=\n)/).slice(0, 9).join(""));
      session.evict(["c1"]);
      assertEquals(await resumed.read({ path: "a.ts", offset: 2 }), TEXT.slice(TEXT.indexOf("\n") + 1));
    }));

  it("resumes with what the messages that go on hold, and no more", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      put(folder, "b.ts", TEXT);
      const first = createSession();
      first.nextTurn();
      const { read } = toolOver(folder, first);
      await read({ path: "a.ts" }, { callId: "c1" });
      await read({ path: "b.ts" }, { callId: "c2" });
      const session = createSession({ state: first.toJSON() }), resumed = toolOver(folder, session);
      session.nextTurn();
      session.reconcile([{ role: "tool", tool_call_id: "c2", content: TEXT }]);
      assertEquals(await resumed.read({ path: "a.ts" }), TEXT);
      assert((await resumed.read({ path: "b.ts" })).startsWith("[waymark reference"));
    }));

  it("takes up the maps that were given", () => {
    const first = createSession() as Conversation, text = "[waymark map: x]\n[end of waymark map]";
    first.record({
      kind: "map",
      file: "/a.ts",
      path: "a.ts",
      hash: "h",
      lines: 900,
      start: 0,
      end: 0,
      text,
      callId: "c1",
    });
    const session = createSession({ state: JSON.parse(JSON.stringify(first)) }) as Conversation;
    assertEquals([session.toJSON(), session.mapOf("/a.ts", "h")?.text], [first.toJSON(), text]);
  });

  it("does not trust a state about the file: what changed since is served", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", TEXT);
      const first = createSession();
      await toolOver(folder, first).read({ path: "a.ts" });
      put(folder, "a.ts", TEXT.replace("f9(", "g9("));
      const { read } = toolOver(folder, createSession({ state: first.toJSON() }));
      assertEquals(await read({ path: "a.ts" }), TEXT.replace("f9(", "g9("));
    }));

  it("is told otherwise what the state says of id and tracking", () => {
    const state = createSession({ id: "main", untracked: true }).toJSON();
    const session = createSession({ state, id: "other", untracked: false });
    assertEquals([session.id, session.untracked], ["other", false]);
    assertEquals(createSession({ state }).untracked, true);
  });

  it("refuses a state that no session gave", () => {
    const given = { kind: "lines", file: "/a", path: "a", hash: "h", lines: 1, start: 1, end: 1, text: "x", turn: 0 };
    const referred = { read: "x", file: "/a", start: 1, end: 1, turn: 0 };
    const state: SessionState = {
      version: 1,
      turn: 1,
      untracked: false,
      given: [given as never],
      referred: [referred],
    };
    createSession({ state });
    const wrong: unknown[] = [
      null,
      7,
      "x",
      [],
      {},
      ...[
        { version: 2 },
        { id: 7 },
        { turn: -1 },
        { turn: 1.5 },
        { turn: "1" },
        { untracked: undefined },
        { given: undefined },
        { given: {} },
        { given: [null] },
        { given: ["x"] },
        { given: [{ ...given, kind: "text" }] },
        { given: [{ ...given, file: undefined }] },
        { given: [{ ...given, path: 7 }] },
        { given: [{ ...given, lines: "1" }] },
        { given: [{ ...given, hash: 7 }] },
        { given: [{ ...given, text: null }] },
        { given: [{ ...given, callId: 7 }] },
        { given: [{ ...given, start: -1 }] },
        { given: [{ ...given, end: "1" }] },
        { given: [{ ...given, turn: NaN }] },
        { given: [{ ...given, text: "" }] },
        { given: [{ ...given, end: 2 }] },
        { given: [{ ...given, start: 2 }] },
        { referred: undefined },
        { referred: [7] },
        { referred: [{ ...referred, read: 7 }] },
        { referred: [{ ...referred, file: 7 }] },
        { referred: [{ ...referred, start: -1 }] },
        { referred: [{ ...referred, end: "1" }] },
        { referred: [{ ...referred, turn: -1 }] },
      ].map((part) => ({ ...state, ...part })),
    ];
    for (const state of wrong) {
      const error = assertThrows(() => createSession({ state }), WaymarkError);
      assertEquals(error.code, "invalid-option");
    }
  });
});

describe("the conversation of a call", () => {
  const call = (rest: Partial<ReadCall>): ReadCall => ({ path: "a.ts", start: 1, ...rest });

  it("is the call's own before the one given", () => {
    const own = createSession(), given = createSession();
    assertStrictEquals(conversationOf(call({ session: own }), given) as Session, own);
    assertStrictEquals(conversationOf(call({}), given) as Session, given);
    assertEquals(conversationOf(call({}), undefined), undefined);
  });

  it("is none where the call names another: an id is only compared where both have one", () => {
    const named = createSession({ id: "main" }), unnamed = createSession();
    assertStrictEquals(conversationOf(call({ sessionId: "main" }), named) as Session, named);
    assertEquals(conversationOf(call({ sessionId: "sub" }), named), undefined);
    assertEquals(conversationOf(call({ sessionId: "sub", session: named }), unnamed), undefined);
    assertStrictEquals(conversationOf(call({}), named) as Session, named);
    assertStrictEquals(conversationOf(call({ sessionId: "sub" }), unnamed) as Session, unnamed);
  });

  it("is none where somebody else made it", () => {
    const { id, turn, untracked } = createSession();
    assertEquals(conversationOf(call({ session: { id, turn, untracked } as Session }), undefined), undefined);
    assert(createSession() instanceof Conversation);
  });
});
