/**
 * A few recorded sessions through the real guards: nothing that is said about earlier results is false. All of them are
 * `deno task bench replay`; how it is done is in `tests/bench/replay_session.ts`.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { type Arm, ARMS, armsOf, UNTOLD } from "./bench/replay_arms.ts";
import {
  cost,
  createLines,
  idsOf,
  type ReadEvent,
  type Recorded,
  recordedSessions,
  World,
} from "./bench/replay_data.ts";
import { type Asked, Delivered, type Falsehood, type Moment, type Shown } from "./bench/replay_judge.ts";
import { contractReferences } from "./bench/replay_rules.ts";
import { falsehoods, type Figures, replay, sumOf } from "./bench/replay_session.ts";
import { readText } from "./modules.ts";
import { inFolder } from "./support.ts";

/** Sessions with sub-agents; edits and a compaction; changes from outside; cuts and two compactions; a clipped file. */
const CHOSEN = ["d08", "d13", "d28", "d35", "d38"];

const all = recordedSessions(), chosen = all.filter(({ id }) => CHOSEN.includes(id));
const readme = readText("tests/testdata/sessions/README.md");
const play = (sessions: readonly Recorded[], arm: Arm, population: "tool" | "shell" = "tool") =>
  sessions.reduce<Promise<Figures[]>>(
    async (done, one) => [...await done, await replay(one, arm, population)],
    Promise.resolve([]),
  );

describe("the recorded sessions", () => {
  it("are all there, and add up to what their README says", () => {
    const reads = all.flatMap(({ events }) => events.filter(({ type }) => type === "read"));
    const tokens = all.reduce((sum, { toolTokens }) => sum + toolTokens, 0);
    assertEquals([all.length, reads.length, tokens], [40, 863, 2_713_059]);
    assert(
      readme.includes("40 recorded coding-agent sessions (863 attributed file reads, 2,713,059 tool-result tokens)"),
    );
  });

  it("hold what the chosen ones are chosen for", () => {
    const count = (of: (event: Recorded["events"][number]) => boolean) =>
      chosen.reduce((sum, { events }) => sum + events.filter(of).length, 0);
    assert(count(({ type }) => type === "compaction") >= 3);
    assert(count(({ type }) => type === "change") >= 20);
    assert(count(({ type }) => type === "edit") >= 200);
    assert(count((event) => event.type === "read" && event.cut === true) >= 5);
    assert(count((event) => event.type === "read" && event.returned[1] > 200) >= 30);
    assert(count((event) => event.type === "result" && event.tool === "subagent") >= 3);
  });

  it("have as many references by the contract, on ids alone, as their README says", () => {
    const stubs = [...readme.matchAll(/^\| dedup contract: stubs \|.* (\d+) \|$/gm)].map(([, total]) => Number(total));
    const found = (["shell", "tool"] as const).map((population) =>
      all.reduce((sum, session) => sum + contractReferences(session, population, false), 0)
    );
    assertEquals([stubs, found], [[66, 44], [66, 44]]);
  });

  it("are written with a line for each id: equal where the ids are, and known again", async () => {
    const session = chosen[0]!, lines = createLines(session, (text) => text.split(" ").length);
    const ids = idsOf([0, 40, session.lineTokens.length, 5]), texts = ids.map((id) => lines.text(id, "f1.ts"));
    assertEquals(new Set(texts).size, ids.length);
    assertEquals(texts.map((text) => lines.id(text)), ids);
    assertEquals(lines.text(7, "f2.ts"), texts[7]);
    assert(texts.every((text) => text !== "" && !text.includes("\n")));
    await inFolder((root) => {
      const world = new World(root, lines);
      world.apply({ type: "file", path: "f1.ts", lines: [0, 5] });
      world.apply({ type: "change", path: "f1.ts", ops: [[1, 1, []], [4, 0, [9, 2]]] });
      assertEquals(world.files.get("f1.ts"), [1, 2, 9, 10, 3, 4]);
      assertEquals(world.textsOf("f1.ts").map(lines.id), [1, 2, 9, 10, 3, 4]);
    });
  });

  it("price the lines of a read so that all of them cost what was recorded", () => {
    const session = { ...chosen[0]!, lineTokens: [3, 5, 7] };
    const read = { frame: 4, tokens: 25 } as ReadEvent;
    assertEquals([cost(session, read, [0, 1, 2], [0, 1, 2]), cost(session, read, [0, 1, 2], [1])], [25, 11]);
  });
});

describe("the judge", () => {
  const disk = ["one", "two", "three", "four"], now: Moment = { ctx: "main", epoch: 1, turn: 9 };
  const asked: Asked = { path: "a.ts", first: 1, count: 4, disk };
  const shown = (texts: readonly string[], from = 1): Shown[] => texts.map((text, at) => ({ number: from + at, text }));
  const told = (turn?: number) =>
    `[waymark reference: a.ts lines 1-4 of 4 are unchanged ${
      turn ? `since turn ${turn}, shown then` : "and shown earlier"
    }]`;

  /** What is false about a text, after lines were delivered in some moments. */
  const judge = (
    text: string,
    given: readonly [lines: Shown[], moment: Partial<Moment>][],
    ask = asked,
    lines: Shown[] = [],
  ): Falsehood | undefined => {
    const record = new Delivered();
    for (const [lines, moment] of given) record.deliver("a.ts", lines, { ...now, turn: 3, ...moment });
    return record.judge(ask, lines, text, now).falsehood;
  };

  it("finds a reference true where each line was delivered as it is now, also in parts", () => {
    assertEquals(judge(told(3), [[shown(disk), {}]]), undefined);
    assertEquals(judge(told(5), [[shown(disk.slice(0, 2)), {}], [shown(disk.slice(2), 3), { turn: 5 }]]), undefined);
    assertEquals(judge(told(), [[shown(disk), {}]]), undefined);
  });

  it("tells what is false of one that is not", () => {
    assertEquals(judge(told(3), []), "never shown");
    assertEquals(judge(told(3), [[shown(disk.slice(0, 3)), {}]]), "never shown");
    assertEquals(judge(told(3), [[shown(["one", "two", "3", "four"]), {}]]), "changed");
    assertEquals(judge(told(3), [[shown(disk, 2), {}]]), "changed");
    assertEquals(judge(told(3), [[shown(disk), { epoch: 0 }]]), "before a compaction");
    assertEquals(judge(told(3), [[shown(disk), { ctx: "sub1" }]]), "other context");
    assertEquals(judge(told(3), [[shown(disk), { turn: 9 }]]), "never shown");
    assertEquals(judge(told(4), [[shown(disk), {}]]), "misstated");
    assertEquals(judge(told(3), [[shown(disk), {}]], { ...asked, path: "b.ts" }), "never shown");
    assertEquals(judge(told(3), [[shown(disk), {}]], { ...asked, disk: [...disk, "five"] }), "misstated");
    assertEquals(judge(told(3), [[shown(disk), {}]], { ...asked, first: 2, count: 3 }), "misstated");
    assertEquals(judge(told(3), [[shown(disk), {}]], asked, shown(disk)), "misstated");
    assertEquals(judge("[waymark reference: all is well]", [[shown(disk), {}]], asked, shown(disk)), "misstated");
  });

  it("finds lines false that are not those on disk, and lines kept back without a word", () => {
    assertEquals(judge("", [], asked, shown(disk)), undefined);
    assertEquals(judge("", [], asked, shown(["one", "two", "3", "four"])), "misstated");
    assertEquals(judge("", [], asked, shown(disk.slice(0, 3))), "misstated");
    assertEquals(judge("", [], asked, []), "misstated");
  });

  const head = (range: string) => `[waymark map: PARTIAL, lines ${range} of 4 are shown, the rest is not]`;
  const map = (name: string, range = "1-2") => `${head(range)}\nRegions:\n3-3  function  ${name}\n[end of waymark map]`;
  const again = "[waymark reference: PARTIAL, lines 1-2 of 4; the whole map was given in turn 9, unchanged]";

  it("finds a map false whose rows or whose range are not the file's", () => {
    assertEquals(judge(map("three"), [], asked, shown(disk.slice(0, 2))), undefined);
    assertEquals(judge(map("four"), [], asked, shown(disk.slice(0, 2))), "misstated");
    assertEquals(judge(map("three", "1-3"), [], asked, shown(disk.slice(0, 2))), "misstated");
  });

  it("finds a line that points back to a map false where that map is of other bytes, gone, or somebody else's", () => {
    const given = (disk: readonly string[], moment: Partial<Moment>) => {
      const record = new Delivered(), first = { ...asked, disk }, lines = shown(disk.slice(0, 2));
      record.judge(first, lines, map("three"), now);
      return record.judge(asked, shown(["one", "two"]), again, { ...now, turn: 10, ...moment }).falsehood;
    };
    assertEquals(given(disk, {}), undefined);
    assertEquals(given(["one", "two", "three", "4"], {}), "changed");
    assertEquals(given(disk, { epoch: 2 }), "before a compaction");
    assertEquals(given(disk, { ctx: "sub1" }), "other context");
    assertEquals(given(disk, { turn: 9 }), "never shown");
  });

  const diff = (...rows: string[]) =>
    [
      "[waymark diff: a.ts lines 1-4 of 4 have changed; what is not listed is as shown in turn 3]",
      ...rows,
      "[end of waymark diff]",
    ].join("\n");
  const rows = ["At line 2, which was 2:", "- ", "+ "].map((row, at) =>
    at === 1 ? "-  | 2" : at === 2 ? "+ 2| two" : row
  );

  it("applies a difference to what was delivered, and compares that with the disk", () => {
    const old = shown(["one", "2", "three", "four"]);
    assertEquals(judge(diff(...rows), [[old, {}]]), undefined);
    assertEquals(judge(diff(...rows), [[shown(disk), {}]]), "changed");
    assertEquals(judge(diff(...rows), [[old, {}], [shown(["ONE"]), {}]]), "changed");
    assertEquals(judge(diff(...rows), [[old.slice(0, 3), {}]]), "never shown");
    assertEquals(judge(diff(...rows), [[old, { epoch: 0 }]]), "never shown");
    assertEquals(judge(diff(rows[0]!, "+ 2| two"), [[old, {}]]), "changed");
    assertEquals(judge(diff("At line 3, which was 2:", ...rows.slice(1)), [[old, {}]]), "changed");
  });
});

describe("the recorded sessions, replayed,", () => {
  let played: Promise<Map<string, Figures[]>> | undefined;
  /** All arms, played once by whichever test comes first. */
  const figuresOf = (): Promise<Map<string, Figures[]>> =>
    played ??= (async () => {
      const figures = new Map<string, Figures[]>();
      for (const arm of [...ARMS, UNTOLD]) figures.set(arm.name, await play(chosen, arm));
      return figures;
    })();
  const sums = async (): Promise<(name: string) => Figures> => {
    const figures = await figuresOf();
    return (name) => sumOf(figures.get(name)!);
  };

  it("are what was recorded, to the token, where nothing stands between", async () => {
    const figures = await figuresOf();
    for (const { tokens, raw } of figures.get("raw")!) assertAlmostEquals(tokens, raw, 0.001);
  });

  for (const { name, title } of ARMS.filter(({ isOurs }) => isOurs)) {
    it(`hold no false statement: ${title}`, async () => {
      const sum = await sums();
      assertEquals(sum(name).wrong, {
        "before a compaction": 0,
        "changed": 0,
        "never shown": 0,
        "other context": 0,
        "misstated": 0,
      });
      assertEquals(sum(name).notices, 0);
    });
  }

  it("hold false ones of every kind by the naive rule: the judge has something to find", async () => {
    const sum = await sums();
    const { wrong } = sum("naive");
    for (const kind of ["before a compaction", "changed", "never shown", "other context"] as const) {
      assert(wrong[kind] > 0, kind);
    }
  });

  it("hold false ones of ours too where the host never tells of a compaction", async () => {
    const sum = await sums();
    assert(sum("untold").wrong["before a compaction"] > 0);
  });

  it("hold at least 80 % of the references that the contract arm of the data finds, and none to a new sub-agent", async () => {
    const sum = await sums();
    for (const { name, isOurs, refers } of ARMS) {
      if (!isOurs || !refers) continue;
      const { references, contract, toSubAgents } = sum(name);
      assert(contract >= 10 && references >= 0.8 * contract, `${name}: ${references} of ${contract}`);
      assertEquals(toSubAgents, 0);
    }
  });

  it("are shortened where they should be, and the map is given once a conversation", async () => {
    const sum = await sums();
    const { capped, references, mapReferences, inserted } = sum("map"), cap = sum("cap"), all = sum("all");
    assertEquals([capped, references, cap.mapReferences], [cap.capped, 0, 0]);
    assert(capped > 20 && mapReferences > 0 && inserted < cap.inserted);
    assertEquals([all.capped, all.mapReferences], [capped, mapReferences]);
    assert(all.tokens < sum("map").tokens && all.tokens < sum("reread").tokens && all.tokens < all.raw);
  });

  it("come out the same whether the host resets or gives its messages", async () => {
    const figures = await figuresOf();
    assertEquals(figures.get("messages"), figures.get("all"));
  });

  it("are given changes as differences that are right", async () => {
    const sum = await sums();
    const { diffs, tokens } = sum("diff");
    assert(diffs > 5 && tokens < sum("all").tokens);
  });
});

describe("shell reads, replayed with those of the tool,", () => {
  it("give the naive rule just the references, and the false ones, that the data's README has for each session", async () => {
    const [arm] = armsOf(["naive"]);
    for (const session of chosen) {
      const found = await replay(session, arm!, "shell"), ofSubAgents = found.wrong["other context"];
      const row = readme.split("\n").find((line) => line.startsWith(`| ${session.id} |`))!;
      assertEquals(
        `${found.references} / ${falsehoods(found) - ofSubAgents}`,
        row.split("|").at(-2)!.trim(),
        session.id,
      );
    }
  });

  it("are as true, and no fewer", async () => {
    const [arm] = armsOf(["all"]), found = sumOf(await play(chosen, arm!, "shell"));
    assertEquals(falsehoods(found), 0);
    assert(found.references >= 0.8 * found.contract);
  });
});

describe("the README", () => {
  const section = /^## Replayed\b[^]*?(?=^## )/m.exec(readText("README.md"))?.[0] ?? "";
  const cells = (title: string) =>
    section.split("\n").filter((line) => line.startsWith(`| ${title} `)).map((line) =>
      line.split("|").slice(2, -1).map((cell) => cell.trim())
    );

  it("shows each arm, says how to print the tables, and shows no false statement of ours", () => {
    assert(section.includes("deno task bench replay") || section.includes("task bench replay"));
    for (const { title, name, isOurs } of ARMS) {
      const rows = cells(title);
      assert(rows.length >= 2, title);
      if (isOurs) assertEquals(rows[1], Array(5).fill("0"), name);
      if (name === "naive") assert(rows[1]!.some((cell) => cell !== "0"));
    }
  });
});
