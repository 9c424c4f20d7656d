/**
 * Random histories of conversations, each beside an oracle that knows nothing but the messages and the disk. The long run is
 * `long_run.ts`.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { describe, it } from "node:test";
import process from "node:process";
import { rereadGuard } from "../../mod.ts";
import { createSession } from "../../src/session.ts";
import { Conversation } from "../../src/conversation.ts";
import { wrap } from "../../src/wrap.ts";
import { runMany } from "./report.ts";

const seed = Number(process.env["WAYMARK_SEED"] ?? Date.now() % 1_000_000_000);

/** One run at a time: some are against a conversation of another make, and not every runner waits for one test to end. */
let last: Promise<unknown> = Promise.resolve();
function alone<Value>(action: () => Promise<Value>): Promise<Value> {
  const next = last.then(action, action);
  last = next.catch(() => {});
  return next;
}

describe("random histories of conversations", () => {
  it("hold no false reference, and none is missing that was due", async () => {
    console.log(`histories: seed ${seed}`);
    const { tally, failure } = await alone(() => runMany({ seed, runs: 250 }));
    assertEquals(failure, undefined, failure);
    const often = [
      "reference",
      "map reference",
      "must",
      "insisted",
      "nudged",
      "told by evict",
      "fork",
      "resume",
      "compact",
    ];
    assertEquals(often.filter((name) => !tally[name]), []);
  });

  it("show a false reference where the host says nothing of what leaves the conversation", async () => {
    const { failure } = await alone(() => runMany({ seed: 7, runs: 300, host: { isSilent: true }, shrinks: false }));
    assertMatch(failure ?? "", /FALSE REFERENCE/);
  });
});

/** Runs histories against a conversation with one method of another make. */
function broken<Name extends keyof Conversation>(
  name: Name,
  make: (real: Conversation[Name]) => Conversation[Name],
): Promise<string> {
  return alone(async () => {
    const real = Conversation.prototype[name];
    try {
      Object.assign(Conversation.prototype, { [name]: make(real) });
      return (await runMany({ seed: 7, runs: 400, shrinks: false })).failure ?? "nothing was found";
    } finally {
      Object.assign(Conversation.prototype, { [name]: real });
    }
  });
}

describe("the oracle finds a session", () => {
  it("that never refers to anything", async () =>
    assertMatch(await broken("resident", () => () => undefined), /SILENT/));

  it("that takes the lines of any bytes for those of the present ones", async () =>
    assertMatch(
      await broken("resident", (real) =>
        function (this: Conversation, asked) {
          const [older] = this.olderVersions({ file: asked.file, hash: "" });
          return real.call(this, older ? { ...asked, hash: older.hash } : asked);
        }),
      /FALSE REFERENCE|the reference counts other lines/,
    ));

  it("that takes a part of the lines for all of them", async () =>
    assertMatch(
      await broken("resident", (real) =>
        function (this: Conversation, asked) {
          return real.call(this, { ...asked, end: asked.start });
        }),
      /FALSE REFERENCE/,
    ));

  it("that forgets nothing when calls are evicted", async () =>
    assertMatch(await broken("evict", () => () => {}), /FALSE REFERENCE|knows of|covers other/));

  it("that looks at no messages", async () =>
    assertMatch(await broken("reconcile", () => () => {}), /FALSE REFERENCE|knows of|covers other/));

  it("that does not know who insists", async () =>
    assertMatch(await broken("insists", () => () => false), /^Violation: /m));

  it("that counts on each of two equal reads of one turn", async () =>
    assertMatch(
      await broken("ask", (real) =>
        function (this: Conversation, call) {
          return Object.assign(real.call(this, call), { isVoid: false });
        }),
      /FALSE REFERENCE|knows of|covers other/,
    ));

  it("that refers to a map of other bytes", async () =>
    assertMatch(
      await broken("mapOf", () =>
        function (this: Conversation, file) {
          return this.toJSON().given.findLast((given) => given.kind === "map" && given.file === file);
        }),
      /FALSE REFERENCE: no map/,
    ));
});

describe("a session", () => {
  it("is bounded in files and in text, whatever is read, and covers what was read last", async () => {
    const session = createSession(), MOST_TEXT = 8 << 20;
    const textOf = (path: string): string => `${path}\n`.repeat(Number(path.slice(2)) % 20 ? 20 : 80_000);
    const source = { read: (path: string) => new TextEncoder().encode(textOf(path)) };
    const read = wrap(({ path }: { path: string }) => textOf(path), rereadGuard({ session, source }));
    for (let index = 0, at = seed % 5000; index < 1500; index++, at = (at * 21 + 7) % 5000) {
      session.nextTurn();
      await read({ path: `/f${at}` });
      assertEquals(session.coverage(`/f${at}`)?.whole, true);
    }
    const { given } = session.toJSON(), files = new Set(given.map(({ file }) => file));
    assert(files.size <= 512 && files.size > 50, `${files.size} files`);
    assert(given.reduce((size, { text }) => size + text.length, 0) <= MOST_TEXT);
  });

  it("is bounded in memory where a host never counts another turn too", async () => {
    const session = createSession(), textOf = (path: string): string => `${path}\n`.repeat(100_000);
    const source = { read: (path: string) => new TextEncoder().encode(textOf(path)) };
    const read = wrap(({ path }: { path: string }) => textOf(path), rereadGuard({ session, source }));
    session.nextTurn();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 500; index++) await read({ path: `/f${index}` }); // 300 MB in all
    const isMost = (): boolean => process.memoryUsage().heapUsed - before > 1 << 27;
    for (let round = 0; isMost() && round < 1_000; round++) await read({ path: `/g${round}` }); // garbage goes
    assert(!isMost(), "less than half of it is in memory");
  });
});
