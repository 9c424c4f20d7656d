import { assert, assertEquals, assertNotStrictEquals } from "@std/assert";
import fc from "fast-check";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { Conversation } from "../src/conversation.ts";
import type { Given } from "../src/session_types.ts";
import type { ReadCall } from "../src/types.ts";
import { inFolder, put } from "./support.ts";

type Gift = Omit<Given, "turn" | "callId"> & { callId: string | undefined };

const HASH = "a".repeat(64), OTHER = "b".repeat(64);

function begin(state: Partial<ConstructorParameters<typeof Conversation>[0]> = {}): Conversation {
  return new Conversation({ id: undefined, untracked: false, turn: 0, given: [], referred: [], ...state });
}

/** Lines of a file as they are given in a result. */
function gift(start: number, end: number, rest: Partial<Gift> = {}): Gift {
  const text = Array.from({ length: end - start + 1 }, (_, at) => `line ${start + at}\n`).join("");
  return {
    kind: "lines",
    file: "/a.ts",
    path: "a.ts",
    hash: HASH,
    lines: 100,
    start,
    end,
    text,
    callId: undefined,
    ...rest,
  };
}

function mapOf(rest: Partial<Gift> = {}): Gift {
  return gift(1, 0, { kind: "map", start: 0, end: 0, text: "[waymark map: x]\n[end of waymark map]", ...rest });
}

const call = (rest: Partial<ReadCall> = {}): ReadCall => ({ path: "a.ts", start: 1, ...rest });
const spans = (given: readonly Given[] | undefined) => given?.map(({ start, end }) => [start, end]);
const asks = (start: number, end: number, hash = HASH, file = "/a.ts") => ({ file, hash, start, end });

describe("what a conversation keeps", () => {
  it("is the file, the hash, the lines, the turn and the call of everything given", () => {
    const conversation = begin();
    conversation.nextTurn();
    conversation.record(gift(1, 20, { callId: "c1" }));
    conversation.nextTurn();
    conversation.record(gift(5, 9));
    conversation.record(mapOf({ callId: "c2" }));
    const rows = conversation.toJSON().given.map(({ kind, file, path, hash, lines, start, end, turn, callId }) => [
      ...[kind, file, path, hash === HASH, lines, start, end, turn, callId],
    ]);
    assertEquals(rows, [
      ["lines", "/a.ts", "a.ts", true, 100, 1, 20, 1, "c1"],
      ["lines", "/a.ts", "a.ts", true, 100, 5, 9, 2, undefined],
      ["map", "/a.ts", "a.ts", true, 100, 0, 0, 2, "c2"],
    ]);
  });

  it("is apart by file and by hash", () => {
    const conversation = begin();
    conversation.record(gift(1, 10));
    conversation.record(gift(11, 20, { hash: OTHER }));
    conversation.record(gift(21, 30, { file: "/b.ts" }));
    assert(conversation.resident(asks(1, 10)) && conversation.resident(asks(11, 20, OTHER)));
    for (const other of [asks(11, 20), asks(1, 10, OTHER), asks(21, 30), asks(1, 10, HASH, "/b.ts")]) {
      assertEquals(conversation.resident(other), undefined);
    }
  });

  it("can be taken back, each thing by itself", () => {
    const conversation = begin();
    const [first, second] = [conversation.record(gift(1, 10)), conversation.record(gift(1, 10))];
    first();
    assert(conversation.resident(asks(1, 10)));
    second();
    second();
    assertEquals(conversation.toJSON().given, []);
  });
});

describe("lines that stand in a conversation", () => {
  it("are those of the results that hold all of a range, or hold it together; none where one line is missing", () => {
    const conversation = begin();
    for (const [start, end] of [[1, 10], [11, 20], [15, 30], [40, 50]]) conversation.record(gift(start!, end!));
    assertEquals(spans(conversation.resident(asks(3, 8))), [[1, 10]]);
    assertEquals(spans(conversation.resident(asks(8, 12))), [[1, 10], [11, 20]]);
    assertEquals(spans(conversation.resident(asks(1, 30))), [[1, 10], [11, 20], [15, 30]]);
    assertEquals(spans(conversation.resident(asks(16, 18))), [[15, 30]], "the latest that holds them all");
    for (const [start, end] of [[1, 31], [30, 31], [31, 31], [30, 40], [39, 40], [50, 51], [35, 36]]) {
      assertEquals(conversation.resident(asks(start!, end!)), undefined, `${start}-${end}`);
    }
  });

  it("are exactly those that some result holds, whatever was recorded and evicted", () => {
    const span = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 9 })).map(([a, b]) => [a, a + b]);
    const step = fc.record({
      span,
      call: fc.nat(5),
      hash: fc.constantFrom(HASH, OTHER),
      evicts: fc.nat(9),
      turns: fc.boolean(),
    });
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), span, (steps, [start, end]) => {
      const conversation = begin();
      let model: { start: number; end: number; hash: string; call: number; turn: number }[] = [];
      for (const { span: [start, end], call, hash, evicts, turns } of steps) {
        if (turns) conversation.nextTurn();
        conversation.record(gift(start!, end!, { callId: `c${call}`, hash }));
        model.push({ start: start!, end: end!, hash, call, turn: conversation.turn });
        if (evicts < 6) {
          conversation.evict([`c${evicts}`]);
          model = model.filter((row) => row.call !== evicts);
        }
      }
      const read = model.filter((row) =>
        row.hash === HASH && (conversation.turn === 0 || row.turn < conversation.turn)
      );
      const held = Array.from(
        { length: end! - start! + 1 },
        (_, at) => read.some((row) => row.start <= start! + at && row.end >= start! + at),
      );
      assertEquals(conversation.resident(asks(start!, end!)) !== undefined, held.every(Boolean));
    }));
  });

  it("are not yet read in the turn that gave them; where nobody counts turns they are", () => {
    const conversation = begin();
    conversation.record(gift(1, 10));
    assert(conversation.resident(asks(1, 10)));
    assertEquals(conversation.nextTurn(), 1);
    assert(conversation.resident(asks(1, 10)), "what came before the first turn is read in it");
    conversation.record(gift(11, 20));
    assertEquals(conversation.resident(asks(11, 20)), undefined);
    conversation.nextTurn();
    assert(conversation.resident(asks(1, 20)));
  });

  it("are no map's: a map gives no lines", () => {
    const conversation = begin();
    conversation.record(mapOf());
    conversation.record(mapOf({ start: 1, end: 100 }));
    assertEquals(conversation.resident(asks(1, 1)), undefined);
    assertEquals(conversation.coverage("/a.ts"), undefined);
  });
});

describe("what leaves a conversation", () => {
  const filled = (): Conversation => {
    const conversation = begin();
    for (const [at, callId] of ["c1", "c2", "c3"].entries()) {
      conversation.nextTurn();
      conversation.record(gift(at * 10 + 1, at * 10 + 10, { callId }));
      conversation.record(mapOf({ callId, hash: `${at}` }));
    }
    conversation.nextTurn();
    return conversation;
  };
  const left = (conversation: Conversation) =>
    conversation.toJSON().given.map(({ callId, kind }) => `${callId} ${kind}`);

  it("is what certain calls gave, by their ids, lines and maps", () => {
    for (const ids of [["c1", "c3"], new Set(["c1", "c3", "c9"]), ["c1", "c3"].values()]) {
      const conversation = filled();
      conversation.evict(ids);
      assertEquals(left(conversation), ["c2 lines", "c2 map"]);
      assertEquals([conversation.resident(asks(1, 10)), conversation.mapOf("/a.ts", "0")], [undefined, undefined]);
      assert(conversation.mapOf("/a.ts", "1"));
    }
  });

  it("is one call's where its id is given bare, and nobody's where no id is known", () => {
    const conversation = filled();
    conversation.evict("c1");
    assertEquals(left(conversation).length, 4);
    conversation.evict([]);
    conversation.evict(["c"]);
    assertEquals(left(conversation).length, 4);
  });

  it("is also what calls without an id gave, where anything is evicted by id: it may be among them", () => {
    const conversation = filled();
    conversation.record(gift(50, 60));
    conversation.evict([]);
    assertEquals(left(conversation).length, 7);
    conversation.evict(["some"]);
    assertEquals(left(conversation).length, 6);
  });

  it("is all that was given before a turn", () => {
    const conversation = filled();
    conversation.evictBefore(1);
    assertEquals(left(conversation).length, 6);
    conversation.evictBefore(3);
    assertEquals(left(conversation), ["c3 lines", "c3 map"]);
    conversation.evictBefore(99);
    assertEquals(left(conversation), []);
  });

  it("is everything, when it is reset; its turns go on", () => {
    const conversation = filled();
    conversation.reset();
    assertEquals([left(conversation), conversation.turn, conversation.nextTurn()], [[], 4, 5]);
    assertEquals(conversation.coverage("/a.ts"), undefined);
  });

  it("is all that the messages of the next request do not hold", () => {
    const conversation = filled(), text = gift(11, 20).text;
    conversation.reconcile([
      { role: "tool", tool_call_id: "c1", content: "[cleared]" },
      { role: "tool", tool_call_id: "c2", content: `${text}\n\n${mapOf().text}\n\nmore words` },
      { role: "tool", tool_call_id: "c3", content: gift(21, 30).text.replace("line 27", "line 28") },
    ]);
    assertEquals(left(conversation), ["c2 lines", "c2 map"]);
    conversation.reconcile([]);
    assertEquals(left(conversation), []);
  });

  it("leaves all that they do hold, however often they are looked at", () => {
    const conversation = filled(), texts = [gift(1, 10).text, gift(11, 20).text, gift(21, 30).text];
    const messages = texts.map((text, at) => ({
      tool_use_id: `c${at + 1}`,
      content: [{ text }, { text: mapOf().text }],
    }));
    for (let at = 0; at < 3; at++) conversation.reconcile(messages);
    assertEquals(left(conversation).length, 6);
  });
});

describe("a conversation's coverage of a file", () => {
  it("is the lines seen of its latest version, apart from each other, and whether that is all of it", () => {
    const conversation = begin();
    conversation.record(gift(1, 50, { hash: OTHER, lines: 50 }));
    assertEquals(conversation.coverage("/a.ts"), {
      hash: OTHER,
      lines: 50,
      seen: [{ start: 1, end: 50 }],
      whole: true,
    });
    for (const [start, end] of [[40, 60], [1, 10], [11, 20], [55, 70]]) conversation.record(gift(start!, end!));
    const seen = [{ start: 1, end: 20 }, { start: 40, end: 70 }];
    assertEquals(conversation.coverage("/a.ts"), { hash: HASH, lines: 100, seen, whole: false });
    conversation.record(gift(21, 39));
    assertEquals(conversation.coverage("/a.ts")?.whole, false);
    conversation.record(gift(71, 100));
    assertEquals(conversation.coverage("/a.ts"), {
      hash: HASH,
      lines: 100,
      seen: [{ start: 1, end: 100 }],
      whole: true,
    });
  });

  it("counts what this turn gave, and goes with what is evicted", () => {
    const conversation = begin();
    conversation.nextTurn();
    conversation.record(gift(1, 10, { callId: "c1" }));
    assertEquals(conversation.coverage("/a.ts")?.seen, [{ start: 1, end: 10 }]);
    conversation.evict(["c1"]);
    assertEquals(conversation.coverage("/a.ts"), undefined);
  });

  it("is found by any name of the file: relative to the working directory, by a link, or where it was", () =>
    inFolder((folder) => {
      const file = put(folder, "a.ts", "one\n"), conversation = begin();
      symlinkSync(file, join(folder, "link.ts"));
      conversation.record(gift(1, 1, { file }));
      conversation.record(gift(1, 1, { file: "vscode-remote://host/a.ts" }));
      conversation.record(gift(1, 1, { file: join(process.cwd(), "no_such_file.ts") }));
      for (
        const name of [
          file,
          join(folder, "link.ts"),
          `${folder}/./a.ts`,
          "vscode-remote://host/a.ts",
          "no_such_file.ts",
        ]
      ) {
        assert(conversation.coverage(name), name);
      }
      for (const name of [join(folder, "b.ts"), "a.ts", "", "\0"]) assertEquals(conversation.coverage(name), undefined);
    }));
});

describe("the results that hold a range together", () => {
  it("are those with lines of it, and none beside it", () => {
    const conversation = begin();
    for (const start of [1, 11, 21, 31]) {
      conversation.nextTurn();
      conversation.record(gift(start, start + 9));
    }
    conversation.nextTurn();
    assertEquals(spans(conversation.resident(asks(11, 30))), [[11, 20], [21, 30]]);
    assertEquals(spans(conversation.resident(asks(10, 11))), [[1, 10], [11, 20]]);
  });
});

describe("other versions of a file", () => {
  it("are those of which lines are held, the latest first", () => {
    const conversation = begin();
    for (const [hash, lines] of [["1", 10], ["2", 20], ["1", 10], ["3", 30]] as const) {
      conversation.record(gift(1, 5, { hash, lines }));
    }
    conversation.record(mapOf({ hash: "4" }));
    assertEquals(conversation.olderVersions({ file: "/a.ts", hash: "3" }), [{ hash: "1", lines: 10 }, {
      hash: "2",
      lines: 20,
    }]);
    assertEquals(conversation.olderVersions({ file: "/a.ts", hash: "1" }).map(({ hash }) => hash), ["3", "2"]);
    assertEquals(conversation.olderVersions({ file: "/b.ts", hash: "1" }), []);
  });
});

describe("a map in a conversation", () => {
  it("is the latest of its content that was given in an earlier turn, and no other content's or file's", () => {
    const conversation = begin();
    assertEquals(conversation.mapOf("/a.ts", HASH), undefined);
    conversation.record(mapOf({ callId: "c1" }));
    conversation.nextTurn();
    conversation.record(mapOf({ callId: "c2" }));
    conversation.record(gift(1, 5));
    assertEquals(conversation.mapOf("/a.ts", HASH)?.callId, "c1"); // the other has not been read yet
    conversation.nextTurn();
    assertEquals(conversation.mapOf("/a.ts", HASH)?.callId, "c2");
    assertEquals([conversation.mapOf("/a.ts", OTHER), conversation.mapOf("/b.ts", HASH)], [undefined, undefined]);
  });

  it("is none for a read that repeats one of this turn, nor is one of equal reads kept", () => {
    const conversation = begin(), kinds = () => conversation.toJSON().given.map(({ kind }) => kind);
    conversation.record(mapOf());
    conversation.nextTurn();
    assert(conversation.mapOf("/a.ts", HASH, call()));
    const asked = conversation.ask(call());
    assertEquals(conversation.mapOf("/a.ts", HASH, call()), undefined);
    assert(conversation.mapOf("/a.ts", HASH, call({ start: 2 })));
    asked.takeBack = conversation.record(gift(1, 10));
    conversation.recordBeside(asked, mapOf({ callId: "c1" }));
    assertEquals(kinds(), ["map", "lines", "map"]);
    conversation.ask(call());
    assertEquals(conversation.recordBeside(asked, mapOf({ callId: "c2" })), undefined);
    assertEquals(kinds(), ["map"]);
  });
});

describe("a reference that was given", () => {
  const referred = (): Conversation => {
    const conversation = begin();
    conversation.record(gift(1, 50, { callId: "c1" }));
    conversation.nextTurn();
    conversation.refer(call(), asks(1, 50));
    return conversation;
  };

  it("makes the identical read of that turn and the next one insistence, once", () => {
    for (const turns of [0, 1, 2]) {
      const conversation = referred();
      for (let at = 0; at < turns; at++) conversation.nextTurn();
      assertEquals([conversation.insists(call()), conversation.insists(call())], [turns < 2, false]);
    }
  });

  it("makes no other read insistence: another path, range or folder", () => {
    const conversation = referred();
    for (const rest of [{ path: "./a.ts" }, { start: 2 }, { count: 50 }, { cwd: "/x" }]) {
      assert(!conversation.insists(call(rest)), JSON.stringify(rest));
    }
    assert(conversation.insists(call({ callId: "other", tool: "other" })));
  });

  it("stays one when results of other files leave", () => {
    const conversation = referred();
    conversation.record(gift(1, 9, { file: "/b.ts", path: "b.ts", hash: OTHER, callId: "c2" }));
    conversation.record(gift(10, 20, { file: "/b.ts", path: "b.ts", hash: OTHER, callId: "c3" }));
    conversation.evict(["c2"]);
    assert(conversation.insists(call()));
  });

  it("is remembered for the read that was shortened to the one it answered", () => {
    const conversation = begin(), whole = call();
    conversation.record(gift(1, 100));
    conversation.refer({ ...call({ count: 200 }), shortened: { whole } }, asks(1, 100));
    assert(!conversation.insists(call({ count: 200 })));
    assert(conversation.insists(whole) && !conversation.insists(whole));
  });

  it("makes a read nudging that asks for its lines and others, or for the same", () => {
    const conversation = referred();
    conversation.reset();
    conversation.record(gift(1, 100));
    conversation.nextTurn();
    conversation.refer(call({ start: 10 }), asks(10, 20));
    for (
      const [start, end, isNudged] of [
        [10, 20, true],
        [9, 20, true],
        [10, 21, true],
        [11, 20, false],
        [10, 19, false],
        [21, 30, false],
      ] as const
    ) {
      assertEquals(conversation.isNudged({ file: "/a.ts", start, end }), isNudged, `${start}-${end}`);
    }
    assert(!conversation.isNudged({ file: "/b.ts", start: 1, end: 99 }));
    conversation.nextTurn();
    assert(conversation.isNudged({ file: "/a.ts", start: 1, end: 99 }));
    conversation.nextTurn();
    assert(!conversation.isNudged({ file: "/a.ts", start: 1, end: 99 }));
  });

  it("is forgotten with what it pointed to", () => {
    for (
      const remove of [
        (conversation: Conversation) => conversation.evict(["c1"]),
        (conversation: Conversation) => conversation.evictBefore(1),
        (conversation: Conversation) => conversation.reconcile([]),
        (conversation: Conversation) => conversation.reset(),
      ]
    ) {
      const conversation = referred();
      remove(conversation);
      assertEquals([conversation.insists(call()), conversation.toJSON().referred], [false, []]);
    }
  });

  it("is one of at most 512 remembered, the latest ones", () => {
    const conversation = begin();
    conversation.record(gift(1, 50));
    for (let start = 1; start <= 600; start++) conversation.refer(call({ start }), asks(1, 1));
    assertEquals(conversation.toJSON().referred.length, 512);
    conversation.refer(call({ start: 90 }), asks(1, 1));
    for (let start = 601; start <= 603; start++) conversation.refer(call({ start }), asks(1, 1));
    const insisted = [91, 93, 90].map((start) => conversation.insists(call({ start })));
    assertEquals(insisted, [false, true, true], "the one given longest ago goes first");
  });
});

describe("equal reads", () => {
  it("know of each other though one of before a reset comes back in between", () => {
    const conversation = begin(), before = conversation.ask(call());
    conversation.reset();
    const one = conversation.ask(call());
    assert(one !== before && !one.isVoid, "the first one after a reset is the first");
    conversation.answered(call(), before);
    assert(conversation.ask(call()) === one && one.isVoid);
  });

  it("in one turn make each other void, and take back what was recorded", () => {
    const conversation = begin();
    conversation.nextTurn();
    const asked = conversation.ask(call());
    assertEquals(asked.isVoid, false);
    asked.takeBack = conversation.record(gift(1, 10));
    conversation.answered(call(), asked);
    assert(conversation.ask(call()) === asked && asked.isVoid);
    assertEquals(conversation.toJSON().given, []);
  });

  it("of other turns, ranges or paths do not", () => {
    const conversation = begin();
    conversation.nextTurn();
    const all = [call(), call({ start: 2 }), call({ count: 5 }), call({ path: "b.ts" }), call({ cwd: "/x" })];
    const asked = all.map((one) => conversation.ask(one));
    conversation.nextTurn();
    assertNotStrictEquals(conversation.ask(call()), asked[0]);
    assert(asked.every(({ isVoid }) => !isVoid));
  });

  it("do so only while they are under way where turns are not counted", () => {
    const conversation = begin(), one = conversation.ask(call()), other = conversation.ask(call());
    assert(one === other && one.isVoid);
    conversation.answered(call(), one);
    assert(conversation.ask(call()) === one);
    conversation.answered(call(), one);
    conversation.answered(call(), one);
    assertEquals(conversation.ask(call()).isVoid, false);
  });
});

describe("a conversation's bounds", () => {
  it("are 512 files, of which the one shown longest ago goes first", () => {
    const conversation = begin();
    for (let at = 0; at < 512; at++) conversation.record(gift(1, 1, { file: `/${at}` }));
    conversation.record(gift(2, 2, { file: "/0" })); // shown again
    for (let at = 512; at < 520; at++) conversation.record(gift(1, 1, { file: `/${at}` }));
    const files = new Set(conversation.toJSON().given.map(({ file }) => file));
    assertEquals([files.size, files.has("/0"), files.has("/8"), files.has("/9"), files.has("/519")], [
      512,
      true,
      false,
      true,
      true,
    ]);
    assert(conversation.resident(asks(1, 2, HASH, "/0")));
    assertEquals(conversation.resident(asks(1, 1, HASH, "/8")), undefined);
  });

  it("are 64 things of one file, the latest", () => {
    const conversation = begin();
    for (let at = 1; at <= 100; at++) conversation.record(gift(at, at));
    assertEquals(conversation.toJSON().given.length, 64);
    assertEquals([conversation.resident(asks(36, 36)), spans(conversation.resident(asks(37, 37)))], [undefined, [[
      37,
      37,
    ]]]);
  });

  it("are 8 Mi characters of text, however few files they are of", () => {
    const conversation = begin(), text = "x".repeat(1 << 20);
    for (let at = 0; at < 20; at++) {
      conversation.record(gift(1, 1, { file: `/${at}`, text }));
      const size = conversation.toJSON().given.reduce((sum, given) => sum + given.text.length, 0);
      assert(size <= 8 << 20);
    }
    assertEquals(conversation.toJSON().given.length, 8);
    conversation.record(gift(1, 1, { file: "/huge", text: "x".repeat((8 << 20) + 1) }));
    assertEquals(conversation.toJSON().given, [], "one that is larger alone is not kept either");
    conversation.record(gift(1, 1));
    assert(conversation.resident(asks(1, 1)), "and the next one is");
  });

  it("hold for a state that was restored", () => {
    const given = Array.from({ length: 600 }, (_, at) => ({ ...gift(1, 1, { file: `/${at}` }), turn: 0, callId: "c" }));
    assertEquals(begin({ given }).toJSON().given.length, 512);
  });

  it("leave nothing behind, however long it goes on", () => {
    const conversation = begin();
    for (let at = 0; at < 20_000; at++) {
      if (at % 3 === 0) conversation.nextTurn();
      const one = call({ path: `/${at % 700}`, start: at % 11 + 1 }), asked = conversation.ask(one);
      conversation.answered(one, asked);
      conversation.record(gift(1, 1, { file: `/${at % 700}`, callId: `c${at}` }));
      conversation.refer(one, asks(1, 1, HASH, `/${at % 700}`));
    }
    const { given, referred } = conversation.toJSON();
    assert(given.length <= 512 * 64 && new Set(given.map(({ file }) => file)).size <= 512 && referred.length <= 512);
    conversation.evict(given.map(({ callId }) => callId!));
    assertEquals(conversation.toJSON().given, []);
  });
});

describe("a fork of a conversation", () => {
  it("holds all that its parent held, in the same turn, under an id of its own", () => {
    const parent = begin({ id: "main", untracked: true });
    parent.nextTurn();
    parent.record(gift(1, 10, { callId: "c1" }));
    parent.refer(call(), asks(1, 10));
    parent.record(mapOf());
    const fork = parent.fork({ id: "sub" });
    const { id: _, ...state } = parent.toJSON();
    assertEquals(fork.toJSON(), { ...state, id: "sub" });
    assertEquals([fork.turn, fork.untracked, fork.id, parent.fork().id], [1, true, "sub", undefined]);
  });

  it("shares nothing that happens afterwards", () => {
    const parent = begin();
    parent.record(gift(1, 10, { callId: "c1" }));
    const fork = parent.fork() as Conversation;
    fork.record(gift(11, 20));
    parent.record(gift(21, 30));
    fork.nextTurn();
    assertEquals([parent.resident(asks(11, 20)), fork.resident(asks(21, 30)), parent.turn], [undefined, undefined, 0]);
    parent.reset();
    assert(fork.resident(asks(1, 20)));
    fork.evict(["c1"]);
    assertEquals(parent.toJSON().given, []);
  });
});
