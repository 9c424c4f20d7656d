/** The whole guard with Claude over real HTTP, and answers as models really give them. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { outline } from "../../src/outline.ts";
import { scriptedModel } from "../../src/testing.ts";
import { apiError, type Content, message, type Reply } from "../messages_api.ts";
import { code, inFolder, put } from "../support.ts";
import {
  asking,
  askingIn,
  assertCapped,
  contentOf,
  entriesIn,
  type Guarded,
  guarding,
  LIMIT,
  rowsOf,
} from "./field.ts";

interface Given {
  [key: string]: unknown;
}
const region = (start: unknown, end: unknown, name: string, more: Given = {}): Given => ({
  start,
  end,
  kind: "function",
  name,
  note: "adds",
  ...more,
});
const TRUE = [region(1, 99, "f1"), region(100, 249, "f100"), region(250, 300, "f250")];
const answer = (regions: unknown = TRUE, more: Given = {}): string =>
  JSON.stringify({ prose: "Adds numbers.", regions, ...more });
const rows = (text: string): unknown[] => rowsOf(text).map(({ start, end, name }) => [start, end, name]);
const TRUE_ROWS = [[1, 99, "f1"], [100, 249, "f100"], [250, 300, "f250"]];

/** A file of 300 lines is read twice with these answers: both results, how many requests, and how many regions are kept. */
async function readTwice(
  replies: readonly Reply[],
  options: Parameters<typeof asking>[2] = {},
): Promise<
  {
    first: string;
    second: string;
    requests: number;
    kept: number[];
    notices: Guarded["notices"];
    stats: ReturnType<Guarded["waymark"]["stats"]>;
  }
> {
  return await inFolder(async (folder) => {
    put(folder, "a.ts", code(300));
    const seen = await askingIn(folder, replies, async ({ read, api, notices, waymark }) => {
      const first = await read({ path: "a.ts" }), second = await read({ path: "a.ts" });
      return { first, second, requests: api.requests.length, notices, stats: waymark.stats() };
    }, options);
    return { ...seen, kept: entriesIn(folder).map((entry) => entry.regions) };
  });
}

describe("an answer in wrappings", () => {
  const draft = '{"prose": "no", "regions": [{"start": 1, "end": 300, "name": "all"}';
  const wrapped: Record<string, string | Content> = {
    "a fence": "```json\n" + answer() + "\n```",
    "a bare fence": "```\n" + answer() + "\n```",
    "a fence and words after it": "```json\n" + answer() + "\n```\nThe map above covers all {important} parts.",
    "words before it": `Here is the map, as {asked}:\n\n${answer()}`,
    "a fence never closed": "```json\n" + answer(),
    "reasoning with a draft": `<think>maybe ${draft}]} hmm</think>${answer()}`,
    "reasoning with half a draft": `<think>maybe ${draft} hmm</think>\n${answer()}`,
    "reasoning of which only the end is there": `maybe ${draft} hmm</think>${answer()}`,
    "reasoning in capitals": `<THINKING>${draft}</THINKING>${answer()}`,
    "a thinking block": [{ type: "thinking", thinking: draft, signature: "s" }, { type: "text", text: answer() }],
    "two blocks": [{ type: "text", text: answer().slice(0, 50) }, { type: "text", text: answer().slice(50) }],
    "a wrapper object": JSON.stringify({ result: { prose: "Adds numbers.", regions: TRUE } }),
    "a byte order mark": `\ufeff${answer()}`,
    "a trailing comma": answer().replaceAll("}", ",}"),
    "comments": answer().replace('"regions"', '/* the map */ "regions"').replaceAll("},{", "}, // next\n{"),
    "single quotes": answer().replaceAll('"', "'"),
    "bare keys": answer().replace(/"(\w+)":/g, "$1:"),
    "NaN for a note": answer([{ ...TRUE[0], note: null }, ...TRUE.slice(1)]).replace('"note":null', '"note":NaN'),
    "line breaks in strings": answer([{ ...TRUE[0], note: "one\ntwo" }, ...TRUE.slice(1)]).replace("\\n", "\n"),
  };
  for (const [what, text] of Object.entries(wrapped)) {
    it(`(${what}) is the map, in one request`, LIMIT, async () => {
      const { first, second, requests, kept } = await readTwice([message(text)]);
      assertCapped(first, code(300));
      assertEquals([rows(first), second === first, requests, kept], [TRUE_ROWS, true, 1, [3]]);
    });
  }
});

describe("numbers as models write them", () => {
  const shapes: Record<string, { regions: unknown; rows?: unknown; dropped?: number }> = {
    "as text": { regions: TRUE.map(({ start, end, ...more }) => ({ start: `${start}`, end: `${end}`, ...more })) },
    "as L12": { regions: TRUE.map(({ start, end, ...more }) => ({ start: `L${start}`, end: `L${end}`, ...more })) },
    "as a range in one text": {
      regions: TRUE.map(({ start, end, ...more }) => ({ lines: `${start}-${end}`, ...more })),
    },
    "as a range in the start": {
      regions: TRUE.map(({ start, end, ...more }) => ({ start: `${start}-${end}`, ...more })),
    },
    "as a list": { regions: TRUE.map(({ start, end, ...more }) => ({ range: [start, end], ...more })) },
    "as a pair in words": { regions: TRUE.map(({ start, end, ...more }) => ({ lines: `${start}, ${end}`, ...more })) },
    "as fractions": {
      regions: TRUE.map(({ start, end, ...more }) => ({ start: Number(start) + 0.9, end: Number(end) + 0.2, ...more })),
    },
    "under other names": {
      regions: TRUE.map(({ start, end, name, kind, note }) => ({
        startLine: start,
        "End Line": end,
        symbol: name,
        type: kind,
        description: note,
      })),
    },
    "counted from 0 at the start": { regions: [region(0, 99, "f1"), ...TRUE.slice(1)] },
    "past the end": { regions: [...TRUE.slice(0, 2), region(250, 301, "f250"), region(700, 800, "gone")], dropped: 1 },
    "far past the end": {
      regions: [...TRUE.slice(0, 2), region(250, 800, "f250"), region(301, 301, "gone")],
      dropped: 1,
    },
    "beyond all numbers": {
      regions: [...TRUE.slice(0, 2), region(250, 1e300, "f250"), region(-1e300, -5, "gone")],
      dropped: 1,
    },
    "the same three times": { regions: [TRUE[0], ...TRUE, TRUE[0]] },
    "unsorted": { regions: [...TRUE].reverse() },
    "none at all": {
      regions: [...TRUE, region(undefined, undefined, "nowhere"), region(null, "?", "nowhere"), {}, null, 7, "f"],
      dropped: 6,
    },
    "reversed": {
      regions: [TRUE[0], region(100, 12, "f100"), TRUE[2]],
      rows: [[1, 99, "f1"], [100, 100, "f100"], [250, 300, "f250"]],
    },
    "overlapping": {
      regions: [region(1, 150, "f1"), region(100, 280, "f100"), TRUE[2]],
      rows: TRUE_ROWS,
    },
    "nested": {
      regions: [region(1, 300, "f1"), region(100, 120, "f100"), region(250, 260, "f250")],
      rows: [[1, 99, "f1"], [100, 120, "f100"], [250, 260, "f250"]],
    },
    "a list in a text": { regions: JSON.stringify(TRUE) },
    "one object for a list": { regions: TRUE[2], rows: [[250, 300, "f250"]] },
  };
  for (const [what, { regions, rows: expected = TRUE_ROWS, dropped }] of Object.entries(shapes)) {
    it(`(${what}) are mended at no cost, and every row lies in the file`, LIMIT, async () => {
      const { first, requests, notices } = await readTwice([message(answer(regions))]);
      assertCapped(first, code(300));
      assertEquals([rows(first), requests, notices], [expected, 1, []]);
      assertEquals(/(\d+) unusable rows/.exec(first)?.[1], dropped?.toString());
      assert(!/NaN|undefined|null/.test(first.slice(contentOf(first).length)));
    });
  }

  for (const shift of [-1, 3]) {
    it(
      `all shifted by ${shift} are said to be unverified, and put right where an outline is at hand`,
      LIMIT,
      async () => {
        const shifted = TRUE.slice(1).map(({ start, end, name }) =>
          region(Number(start) + shift, Number(end) + shift, String(name))
        );
        const alone = await readTwice([message(answer(shifted))]);
        assertEquals(rows(alone.first), [[100 + shift, 249 + shift, "f100"], [
          250 + shift,
          Math.min(300, 300 + shift),
          "f250",
        ]]);
        assertStringIncludes(alone.first, "its line numbers are not verified");
        const audited = await readTwice([message(answer([...shifted, region(270, 280, "dreamt_up")]))], {
          outline: outline(),
        });
        assertCapped(audited.first, code(300));
        assertMatch(audited.first, /a parser verified 0 regions, moved 2 and dropped 1/);
        assertEquals([audited.requests, audited.stats.modelCalls], [1, 1]);
      },
    );
  }
});

describe("an answer that was cut off", () => {
  const long = code(2000), part = answer([region(1, 200, "f1"), region(201, 400, "f201")]);
  const cut: Record<string, string> = {
    "in the middle of a string": answer().slice(0, -40),
    "though it parses, and covers the first 400 lines of 2000": part,
    "before any region": answer([]),
    "before anything": "",
  };
  for (const [what, text] of Object.entries(cut)) {
    it(
      `(${what}) is never the map: it is asked for again`,
      LIMIT,
      () =>
        asking(
          [message(text, "max_tokens"), message(answer([region(1, 999, "f1"), region(1000, 2000, "f1000")]))],
          async ({ folder, read, api, waymark }) => {
            put(folder, "a.ts", long);
            const result = await read({ path: "a.ts" });
            assertCapped(result, long);
            assertEquals([rows(result), api.requests.length, waymark.stats().repairs], [
              [[1, 999, "f1"], [1000, 2000, "f1000"]],
              2,
              1,
            ]);
          },
        ),
    );

    it(
      `(${what}) every time leaves the read as it is, and no part of a map is shown or kept`,
      LIMIT,
      () =>
        inFolder(async (folder) => {
          await askingIn(folder, [message(text, "max_tokens")], async ({ folder, read, api }) => {
            put(folder, "a.ts", long);
            for (let times = 0; times < 5; times++) {
              const result = await read({ path: "a.ts" });
              assertEquals([contentOf(result) === long, rowsOf(result)], [true, []]);
              assertStringIncludes(result, "[waymark notice: no map, the read was not shortened]");
            }
            assertEquals(api.requests.length, text ? 3 : 2);
          });
          assertEquals(entriesIn(folder).every(({ regions }) => regions === 0), true);
        }),
    );
  }
});

describe("no answer in an answer", () => {
  const usage = {
    input_tokens: 900,
    output_tokens: 16_000,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
  const nothing: Record<string, { reply: Reply; says: string; requests?: number }> = {
    "no blocks": { reply: message([]), says: "the answer is empty" },
    "an empty text": { reply: message(" \n\t "), says: "the answer is empty" },
    "thinking alone": {
      reply: message([{ type: "thinking", thinking: answer(), signature: "s" }], "end_turn", { usage }),
      says: "the answer is empty",
    },
    "reasoning alone, in the text": { reply: message(`<think>${answer()}</think>`), says: "the answer is empty" },
    "reasoning that ate the budget": {
      reply: message([{ type: "thinking", thinking: "...", signature: "s" }], "max_tokens", { usage }),
      says: "cut off by the token limit",
      requests: 2,
    },
    "no content": { reply: message([], "end_turn", { content: null }), says: "not a message" },
    "a call of a tool": {
      reply: message([{ type: "tool_use", id: "t", name: "read", input: {} }], "tool_use"),
      says: "it called a tool",
    },
    "a refusal": { reply: message([], "refusal"), says: "refused" },
    "a refusal in words": {
      reply: message("I can't help with this file.", "refusal"),
      says: "I can't help with this file",
    },
    "a refusal beside a fine answer": { reply: message(answer(), "refusal"), says: "refused" },
    "a polite no": {
      reply: message("I'm sorry, but I can't map this file."),
      says: "it is not a JSON object",
      requests: 3,
    },
    "an error as an answer": {
      reply: message('{"error": "content policy"}'),
      says: 'neither "prose" nor "regions"',
      requests: 3,
    },
    "an empty object": { reply: message("{}"), says: 'neither "prose" nor "regions"', requests: 3 },
    "a list of words": { reply: message('["f1", "f2"]'), says: "not a JSON object", requests: 3 },
    "a safety error": {
      reply: apiError(403, "permission_error", "Blocked by content policy"),
      says: "403 Blocked by content policy",
    },
  };
  for (const [what, { reply, says, requests = 1 }] of Object.entries(nothing)) {
    it(`(${what}) is a failure that says so: the read is as it was, and nothing is kept`, LIMIT, async () => {
      const seen = await readTwice([reply]);
      for (const result of [seen.first, seen.second]) {
        assertEquals([contentOf(result), rowsOf(result)], [code(300), []]);
        assertStringIncludes(result, says);
      }
      assertEquals([seen.requests, seen.kept, seen.notices.length], [requests, [], 1]);
    });
  }

  it(
    "for every file is told of once, and each file is asked for once a minute",
    LIMIT,
    () =>
      asking(
        [message([{ type: "thinking", thinking: "...", signature: "s" }], "max_tokens", { usage })],
        async ({ folder, read, api, notices }) => {
          for (let index = 0; index < 6; index++) put(folder, `f${index}.ts`, code(300 + index));
          for (let times = 0; times < 3; times++) {
            for (let index = 0; index < 6; index++) {
              assertEquals(contentOf(await read({ path: `f${index}.ts` })), code(300 + index));
            }
          }
          assertEquals([api.requests.length, notices.length], [12, 1]);
        },
      ),
  );
});

describe("an answer that is too much", () => {
  it(
    "of 900 regions with long notes is sent back to be made coarser, and its rows are never shown",
    LIMIT,
    () =>
      asking([
        message(
          answer(Array.from({ length: 900 }, (_, index) =>
            region(index % 210 + 1, index % 210 + 1, `r${index}`, { note: "n".repeat(900) }))),
        ),
        message(answer([region(1, 99, "f1"), region(100, 210, "f100")])),
      ], async ({ folder, read, api }) => {
        put(folder, "a.ts", code(210));
        const result = await read({ path: "a.ts" });
        assertCapped(result, code(210));
        assertEquals([rows(result), api.requests.length], [[[1, 99, "f1"], [100, 210, "f100"]], 2]);
        assertStringIncludes(JSON.stringify(api.requests[1]!.body), "it has 900 regions, at most 400 are allowed");
      }),
  );

  it("of 50,000 regions or 5 MB every time is a description at most: the read is as it was", LIMIT, async () => {
    const many = answer(Array.from({ length: 50_000 }, (_, index) => region(index, index, `r${index}`)));
    for (const text of [many, answer(TRUE, { prose: "p".repeat(5_000_000) })]) {
      const { first, requests, kept } = await readTwice([message(text)]);
      assertEquals([contentOf(first), rowsOf(first), requests, kept.filter(Boolean)], [code(300), [], 3, []]);
      assert(first.length < code(300).length + 4_000);
    }
  });

  it(
    "within the bounds is shown whole, and what it costs more than it saves is counted as such",
    LIMIT,
    () =>
      asking([
        message(answer(Array.from({ length: 210 }, (_, index) =>
          region(index + 1, index + 1, `f${index + 1}`, { note: "n ".repeat(99) })))),
      ], async ({ folder, read, waymark }) => {
        put(folder, "a.ts", code(210));
        const result = await read({ path: "a.ts" });
        assertCapped(result, code(210));
        assertEquals(rowsOf(result).length, 210);
        const { tokensSaved, tokensSpent } = waymark.stats();
        assert(tokensSaved < -5_000, `${tokensSaved} saved`);
        assertEquals(tokensSpent, 1540);
      }),
  );
});

describe("what a map costs and saves", () => {
  it(
    "is nothing for short files, and a loss is shown as one, the model's tokens beside it",
    LIMIT,
    () =>
      guarding(async ({ folder, read, waymark, model }) => {
        put(folder, "short.ts", code(30));
        for (let times = 0; times < 30; times++) assertEquals(await read({ path: "short.ts" }), code(30));
        assertEquals(Object.values(waymark.stats()).every((sum) => sum === 0), true);
        put(folder, "a.ts", code(210));
        await read({ path: "a.ts" });
        const { tokensSaved, tokensSpent, modelCalls } = waymark.stats();
        assertEquals([modelCalls, model.calls.length], [1, 1]);
        assert(tokensSaved < 0, `${tokensSaved} saved`);
        assert(tokensSpent > code(210).length / 4, `${tokensSpent} spent`);
      }),
  );

  it("counts the tokens of answers that could not be used, too", LIMIT, async () => {
    const { stats } = await readTwice([message("nothing of use")]);
    assertEquals([stats.modelCalls, stats.tokensSpent, stats.failures], [3, 3 * 1540, 2]);
  });
});

describe("an answer about another file", () => {
  it("is kept for these bytes alone: an edit asks anew", LIMIT, () => {
    const model = scriptedModel([answer([region(5, 6, "invented")]), answer()]);
    return guarding(async ({ folder, read }) => {
      put(folder, "a.ts", code(300));
      for (let times = 0; times < 2; times++) assertStringIncludes(await read({ path: "a.ts" }), "invented");
      assertEquals(model.calls.length, 1);
      put(folder, "a.ts", `${code(300)}\n`);
      const result = await read({ path: "a.ts" });
      assertCapped(result, `${code(300)}\n`);
      assertEquals([model.calls.length, result.includes("invented")], [2, false]);
    }, { model });
  });
});
