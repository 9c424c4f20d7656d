import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bondsOf, type LineItem } from "../../src/compaction/bonds.ts";
import { History } from "../../src/compaction/history.ts";
import { placeSpan, selectSpan } from "../../src/compaction/span.ts";
import { HOSTS, play, steps } from "./histories.ts";
import { historyOf, lineOf, sumOf, type Word } from "./lines.ts";

/** The span of a line of ten-token words, as the places of its first and its last message. */
function spanOf(what: readonly string[], excess: number, protectedRecent = 0.2): [number, number] | undefined {
  const span = selectSpan(lineOf(what.map((word): Word => [word, 10])), { excess, protectedRecent });
  return span && [span.from, span.to - 1];
}

describe("a span", () => {
  it("is the oldest run that covers the excess", () => {
    const talk = ["human 1", "answer 1", "human 2", "answer 2", "human 3", "answer 3", "human 4", "answer 4"];
    assertEquals(spanOf(talk, 5), [0, 0]);
    assertEquals(spanOf(talk, 30), [0, 2]);
    assertEquals(spanOf(talk, 31), [0, 3]);
  });

  it("is the largest there is where none covers the excess", () => {
    const talk = ["human 1", "answer 1", "human 2", "answer 2", "human 3", "answer 3"];
    assertEquals(spanOf(talk, 1_000, 0.3), [0, 2]);
  });

  it("never reaches into the newest messages, by tokens and not by number", () => {
    const line = lineOf([["human 1", 10], ["answer 1", 10], ["human 2", 1], ["answer 2", 60], ["human 3", 1], [
      "answer 3",
      1,
    ]]);
    assertEquals(selectSpan(line, { excess: 1_000, protectedRecent: 0.3 })?.to, 3);
    assertEquals(selectSpan(line, { excess: 1_000, protectedRecent: 0.8 })?.to, 1);
    assertEquals(selectSpan(line, { excess: 1_000, protectedRecent: 1 }), undefined);
  });

  it("is not kept from what is done by the size of what was asked", () => {
    const line = lineOf([["human", 650], ["call a", 10], ["result a", 90], ["call b", 10], ["result b", 90]]);
    assertEquals(selectSpan(line, { excess: 100, protectedRecent: 0.3 })?.sequence, [1, 2]);
  });

  it("nor by the size of a system prompt or of a summary, which stay anyway", () => {
    const rounds: Word[] = [["call a", 10], ["result a", 90], ["call b", 10], ["result b", 90], ["human", 1]];
    for (const what of ["system", "summary"]) {
      const line = lineOf([[what, 650], ...rounds]);
      assertEquals(selectSpan(line, { excess: 100, protectedRecent: 0.3 })?.sequence, [1, 2], what);
    }
  });

  it("leaves what a person wrote last, and takes closed rounds after it", () => {
    const rounds = ["human", "call a", "result a", "call b", "result b", "call c", "result c", "call d", "result d"];
    assertEquals(spanOf(rounds, 30), [1, 4]);
    assertEquals(spanOf(rounds, 1_000), [1, 6]);
    assertEquals(spanOf(["human 1", "answer 1", ...rounds], 20), [0, 1]);
    assertEquals(spanOf(["human 1", "answer 1", ...rounds], 30), [3, 6]);
  });

  it("leaves the last words of a person that stand beside a result, with their call", () => {
    const begun = ["human", "call a", "result a", "call b", "mixed b", "call c", "result c"];
    const rounds = [...begun, "call d", "result d", "call e", "result e"];
    assertEquals(spanOf(rounds, 10, 0.18), [1, 2]);
    assertEquals(spanOf(rounds, 30, 0.18), [5, 8]);
    assertEquals(spanOf(["human", "call b", "mixed b", "call c", "result c", "answer", "answer"], 10), [3, 4]);
  });

  it("takes a call and all its results or neither, found by their ids", () => {
    assertEquals(spanOf(["human 1", "call a,b", "result a", "result b", "answer", "human 2", "answer"], 20), [0, 3]);
    assertEquals(spanOf(["human 1", "call a", "human 2", "result a", "answer", "human 3", "answer 3"], 20), [0, 3]);
  });

  it("is ended before a call whose result is in the newest messages, and before one whose call is there, to a fixed point", () => {
    const chain = [
      "human 0",
      "answer 0",
      "human 1",
      "call a",
      "human 2",
      "call b",
      "result a",
      "human 3",
      "call c",
      "result b",
    ];
    assertEquals(spanOf([...chain, "human 4", "result c"], 1_000, 0.1), [0, 2]);
    assertEquals(spanOf(["call a", "human 1", "human 2", "result a"], 1_000, 0.1), undefined);
  });

  it("never holds a call that waits for its result, nor anything behind one", () => {
    assertEquals(spanOf(["human 1", "answer", "human 2", "call a", "answer", "answer", "answer"], 1_000, 0.1), [0, 1]);
    assertEquals(spanOf(["human 1", "call a,b", "result a", "human 2", "answer"], 1_000, 0.1), [0, 0]);
    assertEquals(spanOf(["human 1", "call a", "human 2", "call b", "result b", "answer"], 20, 0.1), [0, 0]);
  });

  it("counts a call as given up when a person went on twice without its result", () => {
    assertEquals(spanOf(["human 1", "call a", "human 2", "answer", "human 3", "answer"], 1_000, 0.1), [0, 3]);
  });

  it("never splits one answer of a model: reasoning, words and calls of the same turn", () => {
    const answers = ["human 1", "answer 1", "answer 2", "call a", "result a", "human 2", "answer"];
    assertEquals(spanOf(answers, 20, 0.1), [0, 4]);
  });

  it("leaves system messages and summaries, and is in one piece", () => {
    assertEquals(spanOf(["system", "human 1", "answer", "human 2", "answer", "answer"], 20), [1, 2]);
    const folded = ["summary", "human 1", "summary", "human 2", "answer", "human 3", "answer"];
    assertEquals(spanOf(folded, 10), [1, 1]);
    assertEquals(spanOf(folded, 20), [3, 4]);
  });

  it("takes summaries too where they are to be folded, oldest first", () => {
    const line = lineOf([["summary", 10], ["human 1", 10], ["human 2", 10], ["answer", 10]]);
    assertEquals(selectSpan(line, { excess: 20, protectedRecent: 0, folds: true })?.sequence, [0, 1]);
    assertEquals(selectSpan(line, { excess: 20, protectedRecent: 0 })?.sequence, [1]);
  });

  it("pairs ids that are used again with the latest call", () => {
    const again = ["human 1", "call a", "result a", "human 2", "call a", "result a", "human 3", "answer"];
    assertEquals(spanOf(again, 20, 0.1), [0, 2]);
    assertEquals(bondsOf(lineOf(again.map((word): Word => [word, 1]))).unit, [0, 1, 1, 3, 4, 4, 6, 7]);
  });

  it("keeps calls together that wait under one id", () => {
    const twice = ["human 1", "call a", "human 2", "call a", "result a", "human 3", "answer"];
    assertEquals(bondsOf(lineOf(twice.map((word): Word => [word, 1]))).unit, [0, 1, 2, 1, 1, 5, 6]);
    assertEquals(spanOf(twice, 20, 0.1), [0, 4]);
  });

  it("is none where nothing may go", () => {
    for (const line of [[], ["human"], ["system", "summary"], ["call a"], ["human", "call a", "result a"]]) {
      assertEquals(spanOf(line, 1, 0.2), undefined, line.join());
    }
  });

  it("costs no more than the line is long", () => {
    const words = Array.from({ length: 20_000 }, (_, at): Word => at % 2 ? [`result ${at - 1}`, 1] : [`call ${at}`, 1]);
    const span = selectSpan(lineOf([["human", 1], ...words]), { excess: 9_000, protectedRecent: 0.3 });
    assertEquals([span?.from, span?.to], [1, 9_001]);
  });
});

describe("a span that was chosen", () => {
  const words: Word[] = [["human 1", 5], ["answer 1", 5], ["human 2", 5], ["call a", 5], ["result a", 5], [
    "human 3",
    5,
  ]];

  it("is found again after more has come", () => {
    const history = historyOf(words), span = selectSpan(history.line, { excess: 10, protectedRecent: 0.2 })!;
    history.append([{ role: "assistant", content: "more" }]);
    assertEquals(placeSpan(history.line, span), span);
  });

  it("is stale once a message of it has gone, or one that belongs to it has come", () => {
    const history = historyOf(words), span = selectSpan(history.line, { excess: 20, protectedRecent: 0 })!;
    assertEquals([span.from, span.to], [0, 5]);
    history.append([{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "again" }] }]);
    assertEquals(placeSpan(history.line, span), undefined);
    const other = historyOf(words), first = selectSpan(other.line, { excess: 20, protectedRecent: 0 })!;
    other.descend({ cleared: new Map(), dropped: new Set([1]) });
    assertEquals(placeSpan(other.line, first), undefined);
    assertEquals(placeSpan([], first), undefined);
  });
});

/** Whether a run may be summarized, found out message by message. */
function isAllowed(line: readonly LineItem[], from: number, to: number, protectedRecent: number): boolean {
  const humans = line.filter(({ facts }) => facts.isHuman);
  const pure = humans.filter(({ facts }) => !facts.answers.length).at(-1), last = humans.at(-1);
  const counted = line.filter((item) =>
    item.kind !== "summary" && item.facts.role !== "system" && item !== pure && item !== last
  );
  const tail = line.slice(to).filter((item) => counted.includes(item));
  if (sumOf(tail) < protectedRecent * sumOf(counted)) return false;
  const span = line.slice(from, to);
  if (span.some((item) => item === pure || item === last || item.kind === "summary")) return false;
  if (span.some(({ facts }) => facts.role === "system")) return false;
  const sides = (ids: (item: LineItem) => readonly string[], id: string): Set<string> =>
    new Set(
      line.flatMap((item, at) => ids(item).includes(id) ? [at < from ? "before" : at < to ? "in" : "behind"] : []),
    );
  for (const id of new Set(line.flatMap(({ facts }) => facts.calls))) {
    const answers = sides(({ facts }) => facts.answers, id), calls = sides(({ facts }) => facts.calls, id);
    const at = line.findIndex(({ facts }) => facts.calls.includes(id));
    const isOpen = answers.size === 0 && line.slice(at + 1).filter(({ facts }) => facts.isHuman).length < 2;
    if (isOpen && at < to) return false;
    if (new Set([...answers, ...calls]).size > 1) return false;
  }
  const isTorn = (at: number): boolean =>
    [line[at - 1], line[at]].every((item) => item?.facts.role === "assistant" && item.kind === "message");
  const mayGoOn = to === line.length && line.at(-1)?.facts.role === "assistant";
  return !isTorn(from) && !isTorn(to) && !mayGoOn;
}

describe("any span of any conversation", () => {
  for (const { name, shape, say } of HOSTS) {
    it(`is allowed, and no other would be older or shorter: ${name}`, () => {
      const rules = fc.record({
        excess: fc.integer({ min: 1, max: 2_000 }),
        protectedRecent: fc.double({ min: 0, max: 1, noNaN: true }),
      });
      fc.assert(
        fc.property(steps(14), rules, (all, { excess, protectedRecent }) => {
          const history = new History({ shape, estimate: (message) => JSON.stringify(message).length >> 2 });
          history.append(play(all).flat().flatMap(say));
          const { line } = history, span = selectSpan(line, { excess, protectedRecent });
          let covers: { from: number; to: number } | undefined, most = 0;
          for (let from = 0; from < line.length && !covers; from++) {
            for (let to = from + 1; to <= line.length; to++) {
              if (!isAllowed(line, from, to, protectedRecent)) continue;
              const tokens = sumOf(line.slice(from, to));
              most = Math.max(most, tokens);
              if (tokens >= excess) covers ??= { from, to };
            }
          }
          if (!span) return assertEquals(most, 0);
          const { from, to, tokens, sequence } = span;
          assert(isAllowed(line, from, to, protectedRecent), `${from}-${to} is not allowed`);
          assertEquals(tokens, sumOf(line.slice(from, to)));
          assertEquals(sequence, line.slice(from, to).map((item) => item.sequence));
          if (covers) assertEquals({ from, to }, covers);
          else assertEquals(tokens, most);
        }),
        { numRuns: 150 },
      );
    });
  }
});
