/** What is said of lines that leave with a summary, where call ids are the conversation's own and where a host uses them again. */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { createCompactor } from "../../src/compaction.ts";
import type { Compactor } from "../../src/compaction/compactor_types.ts";
import { createLeaving, part } from "../../src/compaction/leaving.ts";
import { History } from "../../src/compaction/history.ts";
import { renderReattached } from "../../src/compaction/reattach.ts";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import type { HostMessage } from "../../src/compaction/types.ts";
import type { Conversation } from "../../src/conversation.ts";
import { createSession } from "../../src/session.ts";
import type { Session } from "../../src/session_types.ts";
import { createWaymark } from "../../src/waymark.ts";
import { memoryFiles, scriptedModel } from "../../src/testing.ts";
import { type Host, HOSTS, type Plain } from "./histories.ts";

const FILES = ["a", "b", "c"], LENGTHS = [260, 120, 420];
/** A line of a file: no map has it as it is. */
const lineOf = (file: string, line: number): string => `export function ${file}${line}(): number { return ${line}; }`;
const contentOf = (file: string, lines: number): string =>
  Array.from({ length: lines }, (_, index) => lineOf(file, index + 1)).join("\n") + "\n";

/** A read of a part of a file, or of all of it. */
interface Read {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** A conversation over real guards: `read` gives what the tool gave, `view` is the next request's. */
interface Talk {
  readonly session: Session;
  readonly compactor: Compactor;
  read(id: string, args: Read): Promise<string>;
  close(): Promise<void>;
}

function talk({ shape }: Host, budget: number): Talk {
  const source = memoryFiles(
    Object.fromEntries(FILES.map((file, at) => [`/${file}.ts`, contentOf(file, LENGTHS[at]!)])),
  );
  const session = createSession(), waymark = createWaymark({ cache: false, source, session, onNotice: () => {} });
  const read = waymark.wrap((args: Read, _info?: unknown) => {
    const { path, offset = 1, limit = 999 } = args, file = FILES.indexOf(path[1]!);
    return contentOf(path[1]!, LENGTHS[file]!).split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
  });
  const model = scriptedModel(() => "What was done, in short.");
  const reattachMaps = { tokens: 4_000 }, cooldownTurns = 1;
  const compactor = createCompactor({ budget, shape, session, model, reattachMaps, cooldownTurns, onNotice: () => {} });
  return {
    session,
    compactor,
    read: async (toolCallId, args) => await read(args, { toolCallId }),
    async close() {
      await compactor[Symbol.asyncDispose]();
      await waymark.close();
    },
  };
}

const textOf = (message: HostMessage): string => JSON.stringify(message).replaceAll("\\n", "\n");
const isMaps = (message: HostMessage): boolean => textOf(message).includes("[waymark maps: ");

/** The lines, and the maps, that a message says have left. */
function claimsOf(message: HostMessage): string[] {
  const claims: string[] = [];
  for (
    const [, file, ranges] of textOf(message).matchAll(/^\/(\w)\.ts, \d+ lines, of which ([\d, -]+) were read:$/gm)
  ) {
    for (const range of ranges!.split(", ")) {
      const [start, end = start] = range.split("-").map(Number);
      for (let line = start!; line <= end!; line++) claims.push(lineOf(file!, line));
    }
  }
  return [...claims, ...textOf(message).match(/^\d+(?:-\d+)? {2}function {2}.*$/gm) ?? []];
}

/** What is said to have left, and stands in a result of the view all the same. */
function wrongIn(view: readonly HostMessage[], { shape }: Host, known: ReadonlySet<HostMessage>): string[] {
  const results = view.filter((message) => shape.facts(message).answers.length > 0).map(textOf).join("\n");
  const held = new Set(results.split(/[\n"]/));
  return view.filter((message) => isMaps(message) && !known.has(message)).flatMap(claimsOf)
    .filter((claim) => held.has(claim));
}

describe("what is put back of the files in play", () => {
  const [host] = HOSTS as [Host];
  /** Three reads under the ids given, talk between them, and a summary that takes the first of them. */
  const threeReads = async (ids: readonly string[], reads: readonly Read[]): Promise<string[]> => {
    const { session, compactor, read, close } = talk(host, 8_000);
    compactor.append(...host.say({ role: "user", words: "go" }));
    for (const [at, id] of ids.entries()) {
      session.nextTurn();
      const text = await read(id, reads[at]!);
      compactor.append(
        ...host.say({ role: "assistant", calls: [id] }),
        ...host.say({ role: "user", results: [[id, text]] }),
        ...host.say({ role: "assistant", words: "word ".repeat(1_200) }),
      );
      compactor.view();
      await compactor.settled();
    }
    const view = compactor.view();
    assertEquals([compactor.stats().swapped > 0, compactor.stats().ladders], [true, 0]);
    await close();
    return view.filter(isMaps).flatMap((message) => textOf(message).match(/^\/.*:$/gm) ?? []);
  };
  const more: Read = { path: "/a.ts", offset: 1, limit: 60 }, some: Read = { path: "/a.ts", offset: 11, limit: 20 };
  const other: Read = { path: "/b.ts", offset: 5, limit: 9 };

  it("lists no lines as gone that a result of another call with the same id holds", async () => {
    const now = await threeReads(["call_0", "call_0", "call_0"], [other, some, more]);
    assertEquals(now, ["/b.ts, 120 lines, of which 5-13 were read:"]);
  });
});

const TEXTS = Array.from({ length: 60 }, (_, at) => lineOf("a", at + 1));

/** A line of calls with their results, and what keeps a session true to it. */
function keep() {
  const session = createSession(), leaving = createLeaving(session, { recalls: true });
  const history = new History({ shape: anthropicShape, estimate: () => 1 }), [host] = HOSTS as [Host];
  const say = (plain: Plain): void => history.append(host.say(plain));
  /** What a read gave, recorded as the guards record it. */
  const given = (callId: string, start: number, end: number, hash = "h"): string => {
    const text = TEXTS.slice(start - 1, end).join("\n"), file = { file: "/a.ts", path: "/a.ts", hash, lines: 260 };
    (session as Conversation).record({ kind: "lines", ...file, start, end, text, callId });
    return text;
  };
  const read = (id: string, start: number, end: number, hash?: string): void => {
    session.nextTurn();
    const text = given(id, start, end, hash);
    say({ role: "assistant", calls: [id] });
    say({ role: "user", results: [[id, text]] });
  };
  /** Takes so many messages out of the line, from its start: what is said of it. */
  const take = (count: number): string | undefined => {
    const parting = part(history.line, (_, index) => index < count), { given, leaves } = leaving.taken(parting);
    const text = renderReattached(given, { leaves, tokens: 9_000, measure: () => 1 });
    history.replace({ from: 0, to: count, sequence: [], tokens: 0 }, []);
    leaving.evict(parting);
    return text?.split("\n")[1];
  };
  return { session, leaving, history, say, given, read, take };
}

const said = (lines: string): string => `/a.ts, 260 lines, of which ${lines} were read:`;

describe("lines that leave with a call whose id another has too", () => {
  it("are listed where no result holds them any more, each once", () => {
    const { read, take, session } = keep();
    read("call_0", 1, 20);
    read("call_0", 11, 30);
    read("call_0", 41, 50);
    assertEquals([take(2), take(2), take(2)], [said("1-10"), said("11-30"), said("41-50")]);
    assertEquals(session.toJSON().given, []);
  });

  it("are not listed where a result holds them that the session had to forget when the other left", () => {
    const { read, take, session } = keep();
    read("call_0", 51, 60);
    read("call_1", 11, 30);
    read("call_0", 1, 20);
    assertEquals(take(2), said("51-60"));
    assertEquals(session.toJSON().given.map(({ callId }) => callId), ["call_1"]);
    assertEquals(take(2), said("21-30"));
    assertEquals(take(2), said("1-20"));
  });

  it("are not listed where a result holds them that came when its call had waited over a summary", () => {
    const { say, given, read, take } = keep();
    read("c1", 51, 60);
    read("c2", 11, 30);
    const text = given("late", 1, 20);
    say({ role: "assistant", calls: ["late"] });
    assertEquals(take(2), said("51-60"));
    say({ role: "user", results: [["late", text]] });
    assertEquals(take(2), said("21-30"));
  });

  it("are not listed where a result holds them whose id was told in words elsewhere", () => {
    const { read, take, leaving, session } = keep();
    read("call_1", 11, 30);
    read("call_0", 1, 20);
    leaving.retold(["call_0"]);
    assertEquals(session.toJSON().given.map(({ callId }) => callId), ["call_1"]);
    assertEquals(take(2), said("21-30"));
  });

  it("are not listed where they were told in words, and another with the id leaves", () => {
    const { read, take, leaving, given } = keep();
    given("call_0", 41, 50);
    leaving.retold(["call_0"]);
    read("call_0", 1, 20);
    assertEquals(take(2), said("1-20"));
  });

  it("are not listed where a result holds them that came after that of a later call", () => {
    const { say, given, read, take } = keep();
    read("call_0", 51, 60);
    read("call_1", 11, 30);
    const text = given("call_0", 1, 20);
    say({ role: "assistant", calls: ["call_0"] });
    read("call_0", 41, 50);
    assertEquals(take(2), said("51-60"));
    say({ role: "user", results: [["call_0", text]] });
    assertEquals(take(2), said("21-30"));
  });

  it("are of the version that was read last, though the session had to forget that", () => {
    const { read, take } = keep();
    read("call_0", 51, 60);
    read("call_1", 1, 9, "old");
    read("call_0", 21, 30, "new");
    assertEquals([take(2), take(4)], [said("51-60"), said("21-30")]);
  });

  it("are remembered once, however often they are read", () => {
    const { read, take, leaving, history } = keep();
    for (let turn = 0; turn < 20; turn++) {
      read("call_0", 1, 20);
      if (turn) take(2);
    }
    assertEquals(leaving.taken(part(history.line, () => true)).given.length, 1);
  });

  it("are not listed where a history that was handed in holds them; a new conversation knows of none", () => {
    for (const isNew of [false, true]) {
      const { read, take, leaving, history } = keep();
      read("call_0", 51, 60);
      read("call_0", 1, 20);
      take(2);
      leaving.begin(isNew ? undefined : history.messages());
      read("call_1", 11, 30);
      const { given: known, leaves } = leaving.taken(part(history.line, ({ facts }) => facts.answers[0] === "call_1"));
      const text = renderReattached(known, { leaves, tokens: 9_000, measure: () => 1 });
      assertEquals([known.length, text?.split("\n")[1]], isNew ? [1, said("11-30")] : [2, said("21-30")]);
    }
  });
});

describe("any conversation with a session and maps that are put back", { timeout: 240_000 }, () => {
  const read = fc.record({
    file: fc.nat(2),
    whole: fc.boolean(),
    offset: fc.integer({ min: 1, max: 60 }),
    limit: fc.integer({ min: 5, max: 80 }),
  });
  const turn = fc.record({
    read,
    calls: fc.integer({ min: 1, max: 2 }),
    says: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
    waits: fc.boolean(),
    /** After so many turns the results come. */
    delay: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
  });
  type Turn = typeof turn extends fc.Arbitrary<infer One> ? One : never;
  const turns = fc.array(turn, { minLength: 20, maxLength: 36, size: "max" });

  for (const again of [false, true]) {
    for (const host of HOSTS) {
      it(`is never told that lines or a map have left which a result holds (${host.name}, ids ${again ? "used again" : "of one call each"})`, async () => {
        const did = { claims: 0, swapped: 0, ladders: 0 };
        const run = async (all: readonly Turn[], budget: number): Promise<void> => {
          const { session, compactor, read, close } = talk(host, budget), known = new Set<HostMessage>();
          const due: { at: number; results: (readonly [string, string])[] }[] = [];
          const say = (plain: Plain): void => compactor.append(...host.say(plain));
          say({ role: "user", words: "go" });
          for (const [at, { read: { file, whole, offset, limit }, calls, says, waits, delay }] of all.entries()) {
            session.nextTurn();
            const view = compactor.view();
            assertEquals(wrongIn(view, host, known), []);
            for (const message of view.filter(isMaps)) {
              if (!known.has(message)) did.claims += claimsOf(message).length;
              known.add(message);
            }
            const results: (readonly [string, string])[] = [];
            for (let call = 0; call < calls; call++) {
              const id = again ? `call_${call}` : `call_${at}_${call}`, path = `/${FILES[(file + call) % 3]}.ts`;
              results.push([id, await read(id, whole ? { path } : { path, offset, limit })]);
            }
            say({ role: "assistant", calls: results.map(([id]) => id) });
            // A call that was given up, whose id another has by then, nobody can tell from that one.
            due.push({ at: at + Math.min(delay, again ? 1 : 3), results });
            for (const one of due.filter((one) => one.at <= at)) {
              due.splice(due.indexOf(one), 1);
              say({ role: "user", results: one.results });
            }
            if (says) say({ role: "user", words: `go on ${at}` });
            if (waits) await compactor.settled();
          }
          const { swapped, ladders } = compactor.stats();
          did.swapped += swapped;
          did.ladders += ladders;
          await close();
        };
        await fc.assert(fc.asyncProperty(turns, fc.constantFrom(9_000, 16_000), run), { numRuns: 10 });
        assert(did.claims > 0 && did.swapped > 3 && did.ladders > 3, JSON.stringify(did));
      });
    }
  }
});
