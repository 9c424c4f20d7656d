import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { type Answer, type Malformed, MAX_ANSWER, parseAnswer } from "../../src/summary/parse.ts";
import { MAX_REGIONS } from "../../src/summary/prompt.ts";

const ROW = { start: 1, end: 9, kind: "class", name: "Shape", note: "drawn by Canvas" };
const GOOD = JSON.stringify({ prose: "Draws shapes.", regions: [ROW, { ...ROW, start: 10, end: 12 }] });

/** The answer in a text; fails where it is malformed. */
function answer(text: string): Answer {
  const parsed = parseAnswer(text);
  assert("rows" in parsed, `malformed: ${JSON.stringify(parsed)}\n${text.slice(0, 300)}`);
  return JSON.parse(JSON.stringify(parsed));
}

/** What is wrong with a text; fails where nothing is. */
function fault(text: string): Malformed {
  const parsed = parseAnswer(text);
  assert("problems" in parsed, `accepted: ${text.slice(0, 300)}`);
  return parsed;
}

const expected = JSON.parse(GOOD);

describe("an answer with something around it", () => {
  const fence = "```";
  for (
    const [what, text] of Object.entries({
      "nothing": GOOD,
      "blank lines": `\n\n  ${GOOD}\n\n`,
      "a fence marked json": `${fence}json\n${GOOD}\n${fence}`,
      "a bare fence": `${fence}\n${GOOD}\n${fence}`,
      "a fence that is never closed": `${fence}json\n${GOOD}`,
      "a fence and words after it": `${fence}json\n${GOOD}\n${fence}\nI hope that helps!`,
      "words before a fence": `Here is the map you asked for:\n\n${fence}JSON\n${GOOD}\n${fence}`,
      "words on both sides": `Sure. ${GOOD} Let me know if { you } need more.`,
      "an open brace in the words after it": `${GOOD}\nNote: a block starts with {`,
      "two braces in the words before it": `A set {a, b} and a block { like this }. ${GOOD}`,
      "a wrapper": `{"result": ${GOOD}}`,
      "two wrappers": `{"answer": {"map": ${GOOD}}}`,
      "a list around it": `[${GOOD}]`,
      "a byte order mark": `\ufeff${GOOD}`,
    })
  ) {
    it(`is accepted: ${what}`, () => {
      assertEquals(answer(text), { prose: expected.prose, rows: expected.regions });
    });
  }

  it("is the last one where there are several", () => {
    const draft = JSON.stringify({ prose: "A draft.", regions: [] });
    assertEquals(answer(`${draft}\nNo, better:\n${GOOD}`).prose, "Draws shapes.");
  });

  it("stays the answer where another object follows it", () => {
    assertEquals(answer(`${GOOD}\n{"confidence": 0.9}`).prose, "Draws shapes.");
  });
});

describe("reasoning before the answer", () => {
  const draft = '{"prose": "half a draft", "regions": [{"start": 1, "end": ';
  for (
    const [what, text] of Object.entries({
      "half an object in a block": `<think>I start with ${draft}\nand so on.</think>\n${GOOD}`,
      "half an object up to the very tag": `<think>${draft}</think>${GOOD}`,
      "only the closing tag": `Let me see, ${draft} hm\n</think>\n${GOOD}`,
      "tags in upper case": `<THINK>\n${draft}\n</THINK>\n${GOOD}`,
      "another tag": `<reasoning mode="slow">{"prose": "x", "regions": []}</reasoning>${GOOD}`,
      "a whole draft": `<thinking>{"prose": "A draft.", "regions": []}</thinking>${GOOD}`,
      "a draft that is open when the answer starts": `<think>${'{"prose": "x", "regions": ['}</think>${GOOD}`,
      "an apostrophe in it": `<think>it's {'a': 'b} </think>${GOOD}`,
    })
  ) {
    it(`does not stand in its way: ${what}`, () => {
      assertEquals(answer(text), { prose: expected.prose, rows: expected.regions });
    });
  }

  it("is no answer itself: a whole draft in it and then only words", () => {
    assertStringIncludes(
      fault(`<think>{"prose": "A draft.", "regions": []}</think>I would rather not.`).problems[0]!,
      "not a JSON object",
    );
  });

  it("is nothing to mend where nothing follows it", () => {
    for (
      const text of [
        "<think>Hm. {braces}</think>",
        "<think>still thinking",
        "thinking\n</think>\n\n",
        "<Thinking>a</Thinking> ",
      ]
    ) {
      assert(fault(text).empty, text);
    }
  });

  it("is not seen in a closing tag that the answer speaks of", () => {
    const text = JSON.stringify({ prose: "Strips </think> tags.", regions: [{ ...ROW, name: "</think>" }] });
    assertEquals(answer(text).prose, "Strips </think> tags.");
  });
});

describe("JSON that is nearly JSON", () => {
  it("is accepted with trailing commas, comments, single quotes and NaN", () => {
    const text = `{
      // a map
      'prose': 'Draws shapes.',
      "regions": [ {"start": 1, "end": NaN, "kind": 'class', "name": "Shape", "note": "x",}, /* that is all */ ],
    }`;
    assertEquals(answer(text).rows.length, 1);
  });

  it("is accepted with a line break inside a string", () => {
    assertEquals(answer('{"prose": "one\ntwo", "regions": []}').prose, "one\ntwo");
  });
});

describe("another way to say the same", () => {
  for (
    const key of [
      "regions",
      "sections",
      "map",
      "outline",
      "symbols",
      "entries",
      "items",
      "ranges",
      "Regions",
      "REGIONS",
    ]
  ) {
    it(`is understood: the list under "${key}"`, () => {
      assertEquals(answer(JSON.stringify({ prose: "p", [key]: [ROW] })).rows, [ROW]);
    });
  }

  for (const key of ["prose", "overview", "summary", "description", "purpose", "about", "Prose"]) {
    it(`is understood: the prose under "${key}"`, () => {
      assertEquals(answer(JSON.stringify({ [key]: "p", regions: [] })).prose, "p");
    });
  }

  it("is understood: the list as a JSON string", () => {
    assertEquals(answer(JSON.stringify({ prose: "p", regions: JSON.stringify([ROW]) })).rows, [ROW]);
    assertEquals(answer(JSON.stringify({ prose: "p", regions: "```json\n" + JSON.stringify([ROW]) + "\n```" })).rows, [
      ROW,
    ]);
  });

  it("is understood: one region alone in place of a list", () => {
    assertEquals(answer(JSON.stringify({ prose: "p", regions: ROW })).rows, [ROW]);
  });

  it("is understood beside other keys, even those of a row", () => {
    assertEquals(answer(JSON.stringify({ lines: 300, language: "ts", prose: "p", regions: [ROW] })).rows, [ROW]);
  });
});

describe("a malformed answer", () => {
  const problem = (text: string): string => fault(text).problems.join("\n");

  it("is one that is not JSON", () => {
    assertStringIncludes(problem("I'm sorry, I can't help with that."), "not a JSON object");
    assertStringIncludes(problem("[1, 2, 3]"), "not a JSON object");
    assertStringIncludes(problem('"prose"'), "not a JSON object");
  });

  it("is one without a prose string", () => {
    assertStringIncludes(problem(JSON.stringify({ regions: [ROW] })), '"prose" is missing or not a string');
    assertStringIncludes(
      problem(JSON.stringify({ prose: null, regions: [ROW] })),
      '"prose" is missing or not a string',
    );
    assertStringIncludes(problem(JSON.stringify({ prose: ["a"], regions: [] })), '"prose" is missing or not a string');
  });

  it("is one whose regions are not a list", () => {
    for (const regions of [undefined, null, 3, true, "none", "{", "[1", {}, { a: 1 }]) {
      assertStringIncludes(problem(JSON.stringify({ prose: "p", regions })), '"regions" is missing or not a list');
    }
  });

  it("is an error object, or any other one", () => {
    assertStringIncludes(problem('{"error": "overloaded"}'), 'neither "prose" nor "regions"');
    assertStringIncludes(problem(JSON.stringify([ROW, ROW])), 'neither "prose" nor "regions"');
  });

  it("is one that ends too early, wherever it was cut", () => {
    for (let end = GOOD.indexOf(",") + 1; end < GOOD.length; end++) {
      const { problems, prose } = fault(GOOD.slice(0, end));
      assertStringIncludes(problems[0]!, "ends before it is complete");
      assertEquals(prose, "Draws shapes.");
    }
  });

  it("is one that ends too early after a whole draft", () => {
    assertStringIncludes(
      problem(`{"prose": "A draft.", "regions": []} Now in full: ${GOOD.slice(0, -20)}`),
      "ends before",
    );
  });

  it("is one with more than 400 regions, and not one with exactly 400", () => {
    const rows = (count: number): string =>
      JSON.stringify({ prose: "p", regions: Array.from({ length: count }, () => ROW) });
    assertEquals(MAX_REGIONS, 400);
    assertEquals(answer(rows(400)).rows.length, 400);
    assertStringIncludes(problem(rows(401)), "401 regions, at most 400 are allowed: use coarser ones");
  });

  it("is one that is too long to look into", () => {
    const huge = JSON.stringify({ prose: "p", regions: [], padding: "x".repeat(MAX_ANSWER) });
    assertStringIncludes(problem(huge), "far too long");
  });

  it("is one with neither prose nor regions in its right places", () => {
    assertStringIncludes(problem('{"prose": "  ", "regions": []}'), "empty");
  });

  it("keeps the prose it has for later, and no blank one", () => {
    assertEquals(fault('{"prose": "Draws.", "regions": 4}').prose, "Draws.");
    assertEquals(fault(JSON.stringify({ prose: "p", regions: Array(401).fill(ROW) })).prose, "p");
    assert(!("prose" in fault('{"prose": " ", "regions": 4}')));
    assert(!("prose" in fault('{"prose": "Dra')));
  });

  it("has no prose in the words of a row", () => {
    assert(!("prose" in fault(`{"regions": [{"start": 1, "end": 2, "summary": "of a row"}`)));
    assert(!("prose" in fault(`[{"start": 1, "end": 2, "summary": "of a row"}]`)));
  });

  it("is never empty, and an empty one is never sent back", () => {
    for (const text of ["", " \n\t", "\ufeff"]) assert(fault(text).empty, JSON.stringify(text));
    for (const text of ["x", "{", "[]", "null"]) assert(!fault(text).empty, text);
  });
});

describe("any text at all", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      GOOD,
      "```json\n",
      "```",
      "<think>",
      "</think>",
      "{",
      "}",
      "[",
      "]",
      '"',
      ",",
      ":",
      '"prose"',
      '"regions"',
      "1",
      "null",
      "\\",
    ),
    fc.string({ maxLength: 6 }),
  );

  it("is parsed without a throw, into an answer or problems, not both", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const parsed = parseAnswer(pieces.join(""));
        if ("rows" in parsed) {
          assert(typeof parsed.prose === "string" && Array.isArray(parsed.rows) && parsed.rows.length <= MAX_REGIONS);
        } else assert(parsed.problems.length > 0 && parsed.problems.every((problem) => problem.length > 0));
      }),
      { numRuns: 300 },
    );
  });

  it("is searched in reasonable time, a hostile one too", () => {
    const late = Date.now() + 20_000;
    for (
      const text of [
        "{".repeat(900_000),
        '{"a":['.repeat(150_000),
        "<think>".repeat(120_000),
        "<think ".repeat(140_000),
        "{/*".repeat(20_000),
        '{"a":"'.repeat(150_000),
      ]
    ) {
      parseAnswer(text);
    }
    assert(Date.now() < late, "it takes minutes");
  });
});
