import { assert, assertEquals, assertMatch, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { compose } from "../src/compose.ts";
import { dialects } from "../src/dialects.ts";
import { hookReads } from "../src/hooked.ts";
import { createSession } from "../src/session.ts";
import type { Codec, Dialect, Middleware, ReadCall } from "../src/types.ts";
import { createWaymark } from "../src/waymark.ts";
import { unhandledRejections } from "./rejections.ts";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Arguments as hosts have them. */
type Args = Record<string, unknown>;

const pass: Middleware = (call, next) => next(call);
const cap: Middleware = async (call, next) => {
  const outcome = await next({ ...call, count: 200 });
  return { ...outcome, annotations: [...outcome.annotations, { kind: "map", text: "the map" }] };
};

/** A layer that shortens, and vouches for nothing that came back. */
function doubting(seen: ReadCall[] = [], discarded: unknown[] = []): Middleware {
  return async (call, next) => {
    seen.push(call);
    if (call.fresh) return await next(call);
    const outcome = await next({ ...call, count: 200 }), discard = (): void => void discarded.push(call.callId);
    return { ...outcome, again: true, discard, annotations: [{ kind: "notice", text: "doubt", reason: "timeout" }] };
  };
}

function code(lines: number, from = 1): string {
  return Array.from({ length: lines }, (_, at) => `export function f${from + at}() {}\n`).join("");
}

/** Guards over files that are nowhere but here. */
function guarded(files: Record<string, string>): Middleware {
  const read = (path: string): Uint8Array | undefined =>
    files[path] === undefined ? undefined : new TextEncoder().encode(files[path]);
  return createWaymark({ cache: false, source: { read }, onNotice: () => {} }).middleware;
}

describe("hookReads()", () => {
  it("gives the very arguments where no layer changes the read, and changed ones where one does", async () => {
    const args: Args = { path: "a.ts" }, reads = hookReads(compose(cap, pass), { dialect: dialects.plain });
    assertEquals(await reads.begin(args, { callId: "1" }), { path: "a.ts", limit: 200 });
    assertEquals(args, { path: "a.ts" });
    const short = { path: "a.ts", limit: "200" };
    assertStrictEquals(await hookReads(cap, { dialect: dialects.plain }).begin(short, { callId: "1" }), short);
    assertStrictEquals(await hookReads(pass, { dialect: dialects.plain }).begin(args, { callId: "1" }), args);
  });

  it("begins nothing of arguments that are no read", async () => {
    const reads = hookReads(cap, { dialect: dialects.plain });
    for (const args of [{}, { path: "" }, { path: "a.ts", offset: "x" }, null, undefined, "a.ts", 5]) {
      assertStrictEquals(await reads.begin(args, { callId: "1" }), args);
    }
    assertEquals(reads.pending, 0);
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
  });

  it("tells layers what the host knows of a call", async () => {
    const seen: ReadCall[] = [], { signal } = new AbortController(), session = createSession();
    const reads = hookReads((call, next) => (seen.push(call), next(call)), { dialect: dialects.deepagents });
    await reads.begin({ file_path: "a.ts", offset: 200 }, {
      callId: "1",
      tool: "read_file",
      sessionId: "s",
      session,
      signal,
      cwd: "/project",
    });
    const { describe, ...call } = seen[0]!,
      facts = { tool: "read_file", sessionId: "s", session, signal, cwd: "/project" };
    assertEquals(call, { path: "a.ts", start: 201, count: 100, callId: "1", answerable: false, ...facts });
    assertEquals(describe!(201, 100), "offset: 200, limit: 100");
  });

  it("says what belongs beside a result, once", async () => {
    const reads = hookReads(cap, { dialect: dialects.plain });
    await reads.begin({ path: "a.ts" }, { callId: "1" });
    assertEquals(reads.pending, 1);
    const verdict = await reads.finish("1", { result: "text" });
    assertEquals(verdict, { annotations: [{ kind: "map", text: "the map" }], text: "the map", replaces: false });
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
    assertEquals(reads.pending, 0);
  });

  it("says nothing where there is nothing to say, or the call is not known", async () => {
    const reads = hookReads(pass, { dialect: dialects.plain });
    await reads.begin({ path: "a.ts" }, { callId: "1" });
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
    assertEquals(await reads.finish("nobody", { result: "text" }), undefined);
  });

  it("joins the texts of several annotations", async () => {
    const reads = hookReads(compose(cap, cap), { dialect: dialects.plain });
    await reads.begin({ path: "a.ts" }, { callId: "1" });
    assertEquals((await reads.finish("1", { result: "text" }))?.text, "the map\n\nthe map");
  });

  it("shortens a long read of a real file, checks what came back and gives its map", async () => {
    const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain });
    assertEquals(await reads.begin<Args>({ path: "/a.ts" }, { callId: "1" }), { path: "/a.ts", limit: 200 });
    const verdict = await reads.finish("1", { result: code(200) });
    assertMatch(verdict!.text, /^\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
    assertEquals(verdict!.replaces, false);
  });

  it("takes the file's text from the host where the codec cannot find it", async () => {
    const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain });
    await reads.begin({ path: "/a.ts" }, { callId: "1" });
    const verdict = await reads.finish("1", { result: { strange: code(200) }, text: code(200) });
    assertMatch(verdict!.text, /lines 1-200 of 300 are shown/);
  });

  describe("in a conversation", () => {
    const files = { "/a.ts": code(120) };

    /** Two turns with the same read: what is said of the second. */
    async function repeated(answerable: boolean, facts: { answerable?: boolean } = {}) {
      const reads = hookReads(guarded(files), { dialect: dialects.plain, answerable }), session = createSession();
      const read = async (callId: string) => {
        session.nextTurn();
        const args = { path: "/a.ts" };
        assertStrictEquals(await reads.begin(args, { callId, session, ...facts }), args);
        return await reads.finish(callId, { result: code(120) });
      };
      assertEquals(await read("1"), undefined);
      return await read("2");
    }

    it("puts a reference in place of lines that stand there, where the host can", async () => {
      const verdict = await repeated(true);
      assertEquals([verdict?.replaces, verdict?.annotations.length], [true, 1]);
      assertMatch(verdict!.text, /^\[waymark reference: \/a\.ts lines 1-120 of 120 are unchanged since turn 1/);
    });

    it("gives none where the host cannot, or cannot for this call", async () => {
      assertEquals(await repeated(false), undefined);
      assertEquals(await repeated(true, { answerable: false }), undefined);
      assertEquals((await repeated(false, { answerable: true }))?.replaces, true);
    });

    it("puts nothing in place of a failure that a layer has not heard of", async () => {
      const deaf: Middleware = (call, next) => {
        void next(call);
        return Promise.resolve({ annotations: [{ kind: "reference", text: "shown before" }] });
      };
      const reads = hookReads(deaf, { dialect: dialects.plain, answerable: true });
      await reads.begin({ path: "/a.ts" }, { callId: "1" });
      assertEquals(await reads.finish("1", { error: new Error("tool") }), undefined);
    });

    it("puts nothing in place of a failure", async () => {
      const reads = hookReads(guarded(files), { dialect: dialects.plain, answerable: true }), session = createSession();
      session.nextTurn();
      await reads.begin({ path: "/a.ts" }, { callId: "1", session });
      await reads.finish("1", { result: code(120) });
      session.nextTurn();
      await reads.begin({ path: "/a.ts" }, { callId: "2", session });
      assertEquals(await reads.finish("2", { error: new Error("gone") }), undefined);
    });

    it("puts nothing in place of what is not the lines that stand there any more", async () => {
      const whole = { path: "/a.ts" }, part = { ...whole, offset: 11, limit: 20 };
      const read = async (args: Args, result: unknown) => {
        const reads = hookReads(guarded(files), { dialect: dialects.plain, answerable: true });
        const session = createSession();
        const one = async (callId: string, args: Args, result: unknown) => {
          session.nextTurn();
          await reads.begin(args, { callId, session });
          return await reads.finish(callId, { result });
        };
        await one("1", whole, code(120));
        return await one("2", args, result);
      };
      assertEquals((await read(whole, code(120)))?.replaces, true);
      assertEquals((await read(whole, code(120).trimEnd().replaceAll("\n", "\r\n")))?.replaces, true);
      assertEquals((await read(part, code(20, 11)))?.replaces, true);
      // Changed, longer and shorter since; not to be told; and of a tool that gives no ranges.
      for (const given of [code(120).replace("f77", "g77"), code(121), code(119), code(1), "", null, { odd: 1 }]) {
        assertEquals(await read(whole, given), undefined);
      }
      for (const given of [code(20, 12), code(19, 11), code(120)]) assertEquals(await read(part, given), undefined);
    });

    it("nor in place of a long file that has changed behind the lines that stand there", async () => {
      const second = async (given: string) => {
        const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain, answerable: true });
        const session = createSession();
        const one = async (callId: string, result: string) => {
          session.nextTurn();
          await reads.begin({ path: "/a.ts" }, { callId, session });
          return await reads.finish(callId, { result });
        };
        assertEquals((await one("1", code(200)))?.replaces, false);
        return await one("2", given);
      };
      for (const given of [code(300), code(250), code(200)]) assertEquals((await second(given))?.replaces, true);
      for (const given of [code(300).replace("f250", "g250"), code(301)]) assertEquals(await second(given), undefined);
    });

    it("leaves alone what another Waymark has answered", async () => {
      const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain, answerable: true });
      const answers = ["[waymark reference: /a.ts lines 1-200 of 300 are unchanged since turn 1, shown then]"];
      answers.push(
        `${answers[0]}\n\n[waymark reference: PARTIAL, lines 1-200 of 300; the whole map was given earlier]`,
      );
      for (const result of answers) {
        await reads.begin({ path: "/a.ts" }, { callId: "1" });
        assertEquals([await reads.finish("1", { result }), reads.pending], [undefined, 0]);
      }
    });

    it("tells of a shortened read of a file that is made of such words itself", async () => {
      const block = "[waymark notice: x]\n[end of waymark notice]\n", open = "[waymark map: x]\n";
      for (
        const text of [
          `${open}${code(198, 2)}[end of waymark map]\n${code(100, 201)}`,
          `${block.repeat(90)}${open}${code(18, 182)}[end of waymark map]\n${code(100, 201)}`,
        ]
      ) {
        const reads = hookReads(guarded({ "/a.ts": text }), { dialect: dialects.plain }),
          args: Args = { path: "/a.ts" };
        assertEquals(await reads.begin(args, { callId: "1" }), { path: "/a.ts", limit: 200 });
        const verdict = await reads.finish("1", { result: text.split("\n").slice(0, 200).join("\n") });
        assertMatch(verdict?.text ?? "", /^\[waymark map: PARTIAL, lines 1-200 of 300 are shown, the rest is not\]\n/);
      }
    });

    it("notes nothing of equal reads at once", async () => {
      const reads = hookReads(guarded(files), { dialect: dialects.plain, answerable: true }), session = createSession();
      session.nextTurn();
      await Promise.all(["1", "2", "3"].map((callId) => reads.begin({ path: "/a.ts" }, { callId, session })));
      for (const callId of ["3", "1", "2"]) assertEquals(await reads.finish(callId, { result: code(120) }), undefined);
      assertEquals(session.coverage("/a.ts"), undefined);
    });
  });

  describe("where a result cannot be vouched for", () => {
    it("says which lines were asked for and why, and makes the same read as asked the next time", async () => {
      const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.pi, answerable: true });
      const args = { path: "/a.ts" };
      await reads.begin(args, { callId: "1" });
      const { annotations: [{ kind, reason } = {}], text, replaces } =
        (await reads.finish("1", { result: code(200, 7) }))!;
      assertEquals([kind, reason, replaces], ["notice", "changed", false]);
      assertMatch(text, /^\[waymark notice: no map, at most lines 1-200 were read, the file may go on\]\n/);
      assertMatch(text, /are not those of the file as it was mapped, so its map is withheld; the same call /);
      assertMatch(text, /the same call \(offset: 1, limit: 2000\) once more reads all it asks for\.\n/);
      assertStrictEquals(await reads.begin(args, { callId: "2" }), args);
      assertEquals(await reads.finish("2", { result: code(300) }), undefined);
      assertNotStrictEquals(await reads.begin(args, { callId: "3" }), args);
    });

    it("names no range where the call named none", async () => {
      const reads = hookReads(doubting(), { dialect: dialects.plain });
      await reads.begin({ path: "a.ts" }, { callId: "1" });
      assertMatch(
        (await reads.finish("1", { result: "text" }))!.text,
        /; the same call once more reads all it asks for\.\n/,
      );
    });

    it("keeps the reason, and takes back what was noted", async () => {
      const discarded: unknown[] = [], reads = hookReads(doubting([], discarded), { dialect: dialects.plain });
      await reads.begin({ path: "a.ts", offset: 11 }, { callId: "1" });
      const { annotations: [{ reason } = {}], text } = (await reads.finish("1", { result: "text" }))!;
      assertEquals([reason, discarded], ["timeout", ["1"]]);
      assertMatch(text, /at most lines 11-210 were read/);
    });

    it("tells of a shortened read that failed", async () => {
      const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain }), args = { path: "/a.ts" };
      for (
        const [callId, failure] of [["1", { error: new Error("no") }], ["3", { result: "no", failed: true }]] as const
      ) {
        await reads.begin(args, { callId });
        const { text } = (await reads.finish(callId, failure))!;
        assertMatch(text, /Reason: the read was shortened to lines 1-200 and failed; the same call once more/);
        assertStrictEquals(await reads.begin(args, { callId: "2" }), args);
        await reads.finish("2", failure);
      }
    });

    it("asks the codec whether a result is a failure", async () => {
      const reads = hookReads(guarded({ "/a.ts": code(300) }), { dialect: dialects.plain });
      await reads.begin({ path: "/a.ts" }, { callId: "1" });
      const verdict = await reads.finish("1", { result: { isError: true, content: [{ type: "text", text: "no" }] } });
      assertMatch(verdict!.text, /was shortened to lines 1-200 and failed/);
    });

    it("owes only the read that was asked for, in its own conversation and folder", async () => {
      const seen: ReadCall[] = [], reads = hookReads(doubting(seen), { dialect: dialects.plain });
      const facts = { sessionId: "s", cwd: "/one" };
      await reads.begin({ path: "a.ts" }, { callId: "1", ...facts });
      await reads.finish("1", { result: "text" });
      await reads.begin({ path: "a.ts" }, { callId: "2", ...facts, sessionId: "t" });
      await reads.begin({ path: "a.ts" }, { callId: "3", ...facts, cwd: "/two" });
      await reads.begin({ path: "a.ts", offset: 2 }, { callId: "4", ...facts });
      await reads.begin({ path: "b.ts" }, { callId: "5", ...facts });
      await reads.begin({ path: "a.ts" }, { callId: "6", ...facts });
      assertEquals(seen.filter(({ fresh }) => fresh).map(({ callId }) => callId), ["6"]);
    });

    it("still owes a read that was blocked when it should have run", async () => {
      const seen: ReadCall[] = [], reads = hookReads(doubting(seen), { dialect: dialects.plain });
      await reads.begin({ path: "a.ts" }, { callId: "1" });
      await reads.finish("1", { result: "text" });
      for (const callId of ["2", "3"]) {
        await reads.begin({ path: "a.ts" }, { callId });
        reads.drop(callId);
      }
      await reads.begin({ path: "a.ts" }, { callId: "4" });
      await reads.finish("4", { result: "text" });
      await reads.begin({ path: "a.ts" }, { callId: "5" });
      assertEquals(seen.map(({ fresh = false }) => fresh), [false, true, true, true, false]);
    });

    it("remembers so many owed reads and no more", async () => {
      const seen: ReadCall[] = [], reads = hookReads(doubting(seen), { dialect: dialects.plain, max: 2 });
      for (const path of ["a", "b", "c"]) {
        await reads.begin({ path }, { callId: path });
        await reads.finish(path, { result: "text" });
      }
      for (const path of ["a", "b", "c"]) await reads.begin({ path }, { callId: path });
      assertEquals(seen.slice(3).map(({ fresh = false }) => fresh), [false, true, true]);
    });

    it("says what a layer says where the read was made as asked", async () => {
      const again: Middleware = async (call, next) => ({
        ...await next(call),
        again: true,
        annotations: [{ kind: "notice", text: "as it is" }],
      });
      const reads = hookReads(again, { dialect: dialects.plain });
      await reads.begin({ path: "a.ts" }, { callId: "1" });
      assertEquals((await reads.finish("1", { result: "text" }))?.text, "as it is");
    });
  });

  it("says nothing beside a result that nothing can stand beside, and owes the read", async () => {
    const discarded: unknown[] = [], seen: ReadCall[] = [];
    const shortening: Middleware = async (call, next) => {
      seen.push(call);
      return { ...await cap(call, next), discard: () => void discarded.push(call.callId) };
    };
    const reads = hookReads(shortening, { dialect: dialects.plain });
    await reads.begin({ path: "a.ts" }, { callId: "1" });
    assertEquals(await reads.finish("1", { result: [{ type: "image", data: "" }], silent: true }), undefined);
    await reads.begin({ path: "a.ts" }, { callId: "2" });
    assertEquals([discarded, seen[1]!.fresh], [["1"], true]);
  });

  describe("whatever is broken", () => {
    const broken = (): never => {
      throw new Error("broken");
    };

    it("hands the read on as asked, and tells who wants to know", async () => {
      const errors: unknown[] = [],
        onError = (error: unknown): void => void errors.push(error),
        args = { path: "a.ts" };
      const { plain } = dialects, dialect = (part: Partial<Dialect>): Dialect => ({ ...plain, ...part });
      const parts: readonly [Middleware, Dialect][] = [
        [broken, plain],
        [() => Promise.reject(new Error("broken")), plain],
        [cap, dialect({ parse: broken })],
        [cap, dialect({ apply: broken })],
      ];
      for (const [layer, dialect] of parts) {
        const reads = hookReads(layer, { dialect, onError });
        assertStrictEquals(await reads.begin(args, { callId: "1" }), args);
        await reads.finish("1", { result: "text" });
      }
      assertEquals(errors.length, parts.length);
    });

    it("says nothing of a read whose layer broke after the tool", async () => {
      const reads = hookReads(async (call, next) => (await next(call), broken()), { dialect: dialects.plain });
      await reads.begin({ path: "a.ts" }, { callId: "1" });
      assertEquals(await reads.finish("1", { result: "text" }), undefined);
    });

    it("goes on without a codec's text, a codec's failure and a dialect's words", async () => {
      const codec: Codec = { text: broken, failed: broken, annotate: broken };
      const dialect = { ...dialects.pi, describe: broken };
      const reads = hookReads(doubting(), { dialect, codec });
      await reads.begin({ path: "a.ts" }, { callId: "1" });
      assertMatch((await reads.finish("1", { result: "text" }))!.text, /the same call once more reads all it asks for/);
    });

    it("neither throws nor rejects where facts, results and listeners are of no use", async () => {
      const facts = {
        callId: "1",
        get cwd() {
          return broken();
        },
      };
      const reads = hookReads(cap, { dialect: dialects.plain, onError: broken }), args = { path: "a.ts" };
      assertStrictEquals(await reads.begin(args, facts), args);
      assertStrictEquals(await reads.begin(args, undefined!), args);
      await reads.begin(args, { callId: "2" });
      assertEquals(await reads.finish("2", undefined!), undefined);
      reads.drop("nobody");
    });
  });

  it("takes nothing for the caller's abort that is no signal", async () => {
    const seen: unknown[] = [], args = { path: "a.ts" };
    const reads = hookReads((call, next) => (seen.push(call.signal), next(call)), { dialect: dialects.plain });
    for (const alike of [{ aborted: true }, null, "aborted"]) {
      await reads.begin(args, { callId: "1", signal: alike as unknown as AbortSignal });
      reads.drop("1");
    }
    assertEquals(seen, [undefined, undefined, undefined]);
  });

  it("lets go of the host at once when the call is aborted while a layer thinks", async () => {
    const abort = new AbortController(), args = { path: "a.ts" };
    const reads = hookReads(() => new Promise(() => {}), { dialect: dialects.plain });
    const begun = reads.begin(args, { callId: "1", signal: abort.signal });
    abort.abort();
    assertStrictEquals(await begun, args);
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
    assertEquals(reads.pending, 0);
  });

  it("goes on as asked with a read that is dropped while a layer thinks", async () => {
    const gate = Promise.withResolvers<void>(), args = { path: "a.ts" };
    const reads = hookReads(async (call, next) => (await gate.promise, await cap(call, next)), {
      dialect: dialects.plain,
    });
    const begun = reads.begin(args, { callId: "1" });
    reads.drop("1");
    assertStrictEquals(await begun, args);
    gate.resolve();
    assertEquals(reads.pending, 0);
  });

  it("takes a second call under the same id in place of the first", async () => {
    const gate = Promise.withResolvers<void>(), first = { path: "a.ts" };
    const slow: Middleware = async (call, next) => (call.path === "a.ts" && await gate.promise, await cap(call, next));
    const reads = hookReads(slow, { dialect: dialects.plain });
    const begun = reads.begin(first, { callId: "1" });
    assertEquals(await reads.begin<Args>({ path: "b.ts" }, { callId: "1" }), { path: "b.ts", limit: 200 });
    gate.resolve();
    assertStrictEquals(await begun, first);
    assertEquals(reads.pending, 1);
    assertEquals((await reads.finish("1", { result: "text" }))?.text, "the map");
  });

  it("drops the oldest read for a new one", async () => {
    const reads = hookReads(cap, { dialect: dialects.plain, max: 2 });
    for (const callId of ["1", "2", "3"]) await reads.begin({ path: "a.ts" }, { callId });
    assertEquals(reads.pending, 2);
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
    assertEquals((await reads.finish("2", { result: "text" }))?.text, "the map");
  });

  it("begins nothing once disposed, and ends what is under way", async () => {
    const args = { path: "a.ts" }, reads = hookReads(cap, { dialect: dialects.plain });
    await reads.begin(args, { callId: "1" });
    const thinking = hookReads(() => new Promise(() => {}), { dialect: dialects.plain });
    const begun = thinking.begin(args, { callId: "1" });
    for (const each of [reads, thinking]) each[Symbol.dispose]();
    assertStrictEquals(await begun, args);
    assertEquals([reads.pending, thinking.pending], [0, 0]);
    assertEquals(await reads.finish("1", { result: "text" }), undefined);
    assertStrictEquals(await reads.begin(args, { callId: "2" }), args);
    assertEquals(reads.pending, 0);
  });

  it("never rejects, keeps arguments it does not change, and leaves nothing pending, whatever layers and hosts do", async () => {
    const layers: Record<string, Middleware> = {
      pass,
      cap,
      doubting: doubting(),
      guarded: guarded({ "/a.ts": code(300) }),
      answer: () => Promise.resolve({ annotations: [{ kind: "reference", text: "above" }] }),
      invented: () => Promise.resolve({ result: "mine", annotations: [] }),
      before: () => {
        throw new Error("before");
      },
      behind: async (call, next) => {
        await next(call);
        throw new Error("behind");
      },
      slow: async (call, next) => (await sleep(1), await next(call)),
      drop: (call, next) => (void next(call), Promise.resolve({ annotations: [] })),
      twice: async (call, next) => (await next(call), await next(call)),
      elsewhere: (call, next) => next({ ...call, path: "/b.ts", start: 5 }),
    };
    const acts = ["finish", "fail", "text", "silent", "drop", "abort", "leave", "dispose", "same id"] as const;
    const rejections = await unhandledRejections(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...Object.keys(layers)), { maxLength: 3 }),
          fc.array(fc.constantFrom(...acts), { minLength: 1, maxLength: 12 }),
          fc.boolean(),
          fc.constantFrom(1, 3, 8),
          async (names, acts, answerable, max) => {
            const layer = compose(...names.map((name) => layers[name]!));
            const reads = hookReads(layer, { dialect: dialects.plain, answerable, max }), session = createSession();
            await Promise.all(acts.map(async (act, index) => {
              const abort = new AbortController(), args = { path: "/a.ts", index }, { signal } = abort;
              const callId = act === "same id" ? "call-0" : `call-${index}`;
              const begin = reads.begin(args, { callId, signal, session });
              if (act === "abort") abort.abort();
              if (act === "dispose") reads[Symbol.dispose]();
              const made: Record<string, unknown> = await begin;
              assertEquals([args, made["index"]], [{ path: "/a.ts", index }, index]);
              assert(made === args || "limit" in made || "offset" in made);
              assert(reads.pending <= max);
              if (act === "drop") reads.drop(callId);
              if (act === "leave" || act === "drop") return;
              const verdict = await reads.finish(callId, {
                result: act === "fail" ? undefined : code(made === args ? 300 : 200),
                ...act === "fail" && { error: new Error("tool") },
                ...act === "text" && { text: "other" },
                silent: act === "silent",
              });
              if (!verdict) return;
              assert(act !== "silent" && verdict.annotations.length > 0);
              assert(!verdict.replaces || (answerable && act !== "fail"));
            }));
            reads[Symbol.dispose]();
            assertEquals(reads.pending, 0);
          },
        ),
        { numRuns: 150 },
      )
    );
    assertEquals(rejections, []);
  });
});
