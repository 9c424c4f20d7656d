/**
 * Calls to the server: at once, again, given up, and while it closes.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { scriptedModel } from "../../src/testing.ts";
import { code, put } from "../support.ts";
import { serve } from "./served.ts";

describe("calls at once", () => {
  it("are answered each with its own file and map", () =>
    serve({}, async ({ read, folder }) => {
      const lengths = Array.from({ length: 40 }, (_, at) => 201 + at);
      for (const lines of lengths) put(folder, `f${lines}.ts`, code(lines));
      const all = await Promise.all(lengths.map((lines) => read(`f${lines}.ts`)));
      for (const [at, [text, map]] of all.entries()) {
        assertEquals(text, `${code(200)}\n`);
        assertStringIncludes(map!, `PARTIAL, lines 1-200 of ${lengths[at]}`);
      }
    }));

  it("of one file make one map", () => {
    const answer = { prose: "Adds.", regions: [{ start: 1, end: 380, kind: "function", name: "f1", note: "" }] };
    const model = scriptedModel(async () => {
      await new Promise((done) => setTimeout(done, 20));
      return JSON.stringify(answer);
    });
    return serve({ model }, async ({ read }) => {
      const all = await Promise.all(Array.from({ length: 12 }, () => read("long.ts")));
      for (const [, map] of all) assertStringIncludes(map!, "Summary: Adds.");
      assertEquals(model.calls.length, 1);
    });
  });
});

describe("a call that waits for its turn", () => {
  it("ends at once where the client gives it up, and the others go on", () => {
    const asked = Promise.withResolvers<void>(), go = Promise.withResolvers<string>();
    let requests = 0;
    const model = scriptedModel(() => {
      if (++requests === 4) asked.resolve(); // as many as are asked at once
      return go.promise;
    });
    return serve({ model }, async ({ read, call, folder }) => {
      for (let at = 0; at < 32; at++) put(folder, `f${at}.ts`, code(201 + at));
      const all = Array.from({ length: 32 }, (_, at) => read(`f${at}.ts`));
      await asked.promise;
      const abort = new AbortController(), late = call("read_file", { path: "short.ts" }, { signal: abort.signal });
      const later = read("short.ts");
      abort.abort();
      await assertRejects(() => late);
      go.resolve(JSON.stringify({ prose: "Adds.", regions: [] }));
      for (const [text] of await Promise.all(all)) assertStringIncludes(text!, "function f201(");
      assertEquals(await later, [code(50)]);
    });
  });
});

describe("a call that is given up", () => {
  it("ends, the request to the model too, and the server goes on", () => {
    const asked = Promise.withResolvers<void>(), ended = Promise.withResolvers<void>();
    const model = scriptedModel((request, index) => {
      if (index > 0) {
        return JSON.stringify({ prose: "Adds.", regions: [{ start: 1, end: 9, kind: "class", name: "A", note: "" }] });
      }
      asked.resolve();
      return new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => (ended.resolve(), reject(request.signal.reason)))
      );
    });
    return serve({ model }, async ({ read, call }) => {
      const abort = new AbortController();
      const given = call("read_file", { path: "long.ts" }, { signal: abort.signal });
      await asked.promise;
      abort.abort();
      await assertRejects(() => given);
      await ended.promise;
      assertEquals(await read("short.ts"), [code(50)]);
    });
  });

  it("ends with the connection", () => {
    const asked = Promise.withResolvers<void>(), ended = Promise.withResolvers<void>();
    const model = scriptedModel((request) => {
      asked.resolve();
      return new Promise((_, reject) =>
        request.signal.addEventListener("abort", () => (ended.resolve(), reject(request.signal.reason)))
      );
    });
    return serve({ model }, async ({ call, close }) => {
      const given = call("read_file", { path: "long.ts" });
      await asked.promise;
      await Promise.all([assertRejects(() => given), close()]);
      await ended.promise;
    });
  });
});

describe("a model that fails", () => {
  it("leaves the read as it was asked, tells the model why, and the person once", () =>
    serve({ model: scriptedModel(() => new Error("overloaded")) }, async ({ read, notices }) => {
      for (let at = 0; at < 2; at++) {
        const [text, note] = await read("long.ts");
        assertEquals(text, code(380));
        assertMatch(note!, /^\[waymark notice: no map, the read was not shortened\]\nReason: .*overloaded/);
      }
      assertEquals(notices.length, 1);
      assertStringIncludes(notices[0]!, "overloaded");
    }));

  it("is told of once where each failure has an id of its own, in whichever folder it is", () => {
    let asked = 0;
    const model = scriptedModel(() => new Error(`400 broken (request_id: req_01${++asked}AB)`));
    const within = (folder: string) => ({
      model,
      roots: ["one", "two"].map((name) => put(folder, `${name}/long.ts`, code(300)).slice(0, -"/long.ts".length)),
    });
    return serve(within, async ({ read, notices, folder }) => {
      put(folder, "two/long.ts", code(301));
      for (const name of ["one", "two"]) {
        const [, note] = await read(`${folder}/${name}/long.ts`);
        assertMatch(note!, /request_id: req_01/);
      }
      assertEquals([asked, notices.length], [2, 1], notices.join());
    });
  });
});

describe("a repeated read", () => {
  const codex = (threadId: string) => ({ threadId, callId: crypto.randomUUID() });

  it("is given again, whatever ids the client sends: nobody says what has left its conversation", () =>
    serve({}, async ({ read, notices }) => {
      for (let at = 0; at < 3; at++) {
        assertEquals(await read("short.ts", {}, codex("t")), [code(50)]);
        assertMatch((await read("long.ts"))[1]!, /^\[waymark map: PARTIAL/);
      }
      assertEquals(notices, []);
    }));

  it("is one line where that was asked for, which says how to have the lines, and that is true", () =>
    serve({ references: true }, async ({ read, folder }) => {
      const reference =
        "[waymark reference: short.ts lines 1-50 of 50 are unchanged since an earlier read; if you no longer have it, make the same call again]";
      assertEquals(await read("short.ts"), [code(50)]);
      assertEquals(await read("short.ts"), [reference]);
      assertEquals(await read("short.ts"), [code(50)]); // the same call again
      assertEquals(await read("short.ts"), [reference]);
      assertEquals(await read("short.ts", { fresh: true }), [code(50)]); // or this one
      put(folder, "short.ts", code(51));
      assertEquals(await read("short.ts"), [code(51)]); // changed
    }));

  it("of a long file gives its map each time there: no second call would bring it back", () =>
    serve({ references: true }, async ({ read }) => {
      await read("long.ts");
      const again = (await read("long.ts")).join("\n");
      assertStringIncludes(again, "lines 1-200 of 380 are unchanged since an earlier read");
      assertStringIncludes(again, "380-380  function  f380");
      assert(!again.includes("return a + 7;"));
      assertEquals(await read("long.ts"), [code(380)]);
    }));

  it("is of the conversation whose id the client sends, else of the connection", () =>
    serve({ references: true }, async ({ read }) => {
      const isLine = async (meta?: object) => (await read("short.ts", {}, meta))[0]!.startsWith("[waymark reference: ");
      assertEquals([await isLine(codex("a")), await isLine(codex("b")), await isLine()], [false, false, false]);
      assertEquals([await isLine(codex("a")), await isLine(codex("b")), await isLine()], [true, true, true]);
      assertEquals(await isLine({ threadId: "c", "claudecode/toolUseId": "toolu_1" }), false);
    }));
});
