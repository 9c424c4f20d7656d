import { describe, it } from "node:test";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createStore } from "../../src/tool_use/store.ts";
import { row, summariesOf } from "./rows.ts";

const run = () => ({ controller: new AbortController() });
const ids = (store: ReturnType<typeof createStore>): string[] => [...store.summaries().keys()];

describe("the store", () => {
  it("holds digests alone: a skipped or failed row takes no place and moves nothing", () => {
    const store = createStore(2);
    store.keep(row({ callId: "a" }));
    store.keep(row({ callId: "b" }));
    for (const status of ["skipped", "failed"] as const) {
      store.keep(row({ callId: "a", status }));
      store.keep(row({ callId: "c", status }));
    }
    assertEquals(ids(store), ["a", "b"]);
    assertEquals(store.summaries().get("a")?.status, "ok");
    assertEquals(store.isKnown("c"), false);
  });

  it("drops the digest unused for longest when one more comes in, and no other", () => {
    const store = createStore(2);
    for (const callId of ["a", "b"]) store.keep(row({ callId }));
    store.touch("a");
    store.touch("nobody");
    store.keep(row({ callId: "c" }));
    assertEquals(ids(store), ["a", "c"]);
    store.keep(row({ callId: "a", summary: "newer" }));
    assertEquals([ids(store), store.summaries().get("a")?.summary], [["c", "a"], "newer"]);
  });

  it("knows a call that had a digest, also after it had to make room", () => {
    const store = createStore(1);
    for (const callId of ["a", "b"]) store.keep(row({ callId }));
    assertEquals(ids(store), ["b"]);
    assertEquals([store.isKnown("a"), store.isDone("a"), store.isKnown("b")], [true, true, true]);
  });

  it("forgets the digest of a result that went nowhere, and then knows the call no more", () => {
    const store = createStore(2);
    for (const callId of ["a", "b"]) store.keep(row({ callId }));
    store.forget("a");
    assertEquals([ids(store), store.isKnown("a"), store.isDone("a")], [["b"], false, false]);
  });

  it("gives a copy that later digests do not change", () => {
    const store = createStore(2);
    store.keep(row({ callId: "a" }));
    const before = store.summaries();
    store.keep(row({ callId: "b" }));
    assertEquals([...before.keys()], ["a"]);
  });

  it("counts a call from its beginning on, and gives back what was not spent", () => {
    const store = createStore(2), first = run();
    const end = store.begin("a", first);
    assertEquals([store.calls, store.isKnown("a"), store.isDone("a")], [1, true, false]);
    assertEquals(store.underWay("a"), first);
    end(false);
    assertEquals([store.calls, store.isKnown("a")], [0, false]);
    store.begin("a", run())(true);
    assertEquals([store.calls, [...store.runs].length], [1, 0]);
  });

  it("keeps the newer of two runs of a call when the older one ends", () => {
    const store = createStore(2), newer = run();
    const end = store.begin("a", run());
    store.begin("a", newer);
    end(true);
    assertEquals(store.underWay("a"), newer);
  });

  it("takes over what other processes made, as spent, and never twice", () => {
    const store = createStore(2), rows = summariesOf(row({ callId: "a" }), row({ callId: "b" }), row({ callId: "c" }));
    store.adopt(rows);
    store.adopt(rows);
    assertEquals([ids(store), store.calls, store.isKnown("a")], [["b", "c"], 3, true]);
  });

  it("is what a plain list would be, after any sequence", () => {
    const step = fc.tuple(fc.constantFrom("keep", "fail", "touch"), fc.constantFrom("a", "b", "c", "d", "e"));
    fc.assert(fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const store = createStore(most);
      let model: string[] = [];
      for (const [what, callId] of steps) {
        if (what === "fail") store.keep(row({ callId, status: "failed" }));
        else if (what === "touch") store.touch(callId);
        else store.keep(row({ callId }));
        if (what === "keep" || (what === "touch" && model.includes(callId))) {
          model = [...model.filter((id) => id !== callId), callId].slice(-most);
        }
        assertEquals(ids(store), model);
      }
    }));
  });
});
