/** The whole guard on ranges as models and hosts really give them. */

import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { code, put } from "../support.ts";
import { assertCapped, contentOf, guarding, LIMIT, linesOf, rowsOf } from "./field.ts";
import { type Args, follow, HOSTS, toolOf } from "./hosts.ts";

describe("a hint, followed to the letter", () => {
  for (const host of HOSTS) {
    it(
      `shows the region it names first, and the lines after those shown, on a host that ${host.name}`,
      LIMIT,
      () =>
        guarding(async (guarded) => {
          const text = code(1000), { read } = toolOf(host, guarded);
          put(guarded.folder, "a.ts", text);
          let result = await read({ path: "a.ts" }), shown = 200;
          assertCapped(result, text);
          const [, line, hint] = /Region at (\d+): (.+)\.$/m.exec(result)!;
          const region = rowsOf(result).find(({ start }) => start === Number(line))!;
          const there = contentOf(await read({ path: "a.ts", ...follow(hint!) }));
          assertStringIncludes(there.split("\n")[0]!, region.name);
          assertEquals(linesOf(there), Math.min(200, region.end - region.start + 1));
          for (;;) { // reads on to the end, by the hints alone
            const next = /Next lines: (.+?)\.(?: Region|$)/m.exec(result)?.[1];
            if (!next) break;
            result = await read({ path: "a.ts", ...follow(next) });
            assertStringIncludes(result.split("\n")[0]!, `function f${shown + 1}(`);
            shown += linesOf(contentOf(result));
            if (!result.includes("[waymark map")) result += `\nNext lines: ${host.dialect.describe(shown + 1, 200)}.`;
            if (shown >= 1000) break;
          }
          assertEquals(shown, 1000);
        }),
    );

    it(
      `is in the numbers of the file after a ranged read, whose first line is the one asked for, on a host that ${host.name}`,
      LIMIT,
      () =>
        guarding(async (guarded) => {
          const text = code(1000), { read, seen } = toolOf(host, guarded);
          put(guarded.folder, "a.ts", text);
          const result = await read({ path: "a.ts", ...follow(host.dialect.describe(300, 401)) });
          assertCapped(result, text, 300);
          assertStringIncludes(result, `Next lines: ${host.dialect.describe(500, 200)}`);
          assertEquals(seen, [{ path: "a.ts", ...follow(host.dialect.describe(300, 200)) }]);
          assertEquals(rowsOf(result)[0]!.start, 1);
        }),
    );
  }
});

describe("numbers as text", () => {
  it(
    "are a range like any other: a short one goes on untouched, a long one is shortened in its own style",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const { read, seen } = toolOf(HOSTS[0]!, guarded), short = { path: "a.ts", offset: "400", limit: "90" };
        put(guarded.folder, "a.ts", code(1000));
        assertEquals(await read(short), code(1000).split(/(?<=\n)/).slice(399, 489).join(""));
        assertStrictEquals(seen[0], short);
        assertCapped(await read({ path: "a.ts", offset: "400", limit: "900" }), code(1000), 400);
        assertEquals(seen[1], { path: "a.ts", offset: "400", limit: "200" });
      }),
  );

  it(
    "are a strict host's own error, word for word, short or long",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, model }) => {
        put(folder, "a.ts", code(1000));
        const error = new TypeError("offset: Expected number, received string"), seen: unknown[] = [];
        const strict = wrap((args: Args) => {
          seen.push(args);
          throw error;
        });
        for (const args of [{ path: "a.ts", offset: "400", limit: "90" }, { path: "a.ts", offset: "1" }]) {
          assertStrictEquals(await assertRejects(() => strict(args)), error);
          assertStrictEquals(seen.at(-1), args);
        }
        assert(model.calls.length <= 1);
      }),
  );
});

describe("numbers that cannot be read", () => {
  const values = [
    1.5,
    "1.5",
    "1e3",
    "1_000",
    " 5",
    "",
    NaN,
    Infinity,
    -Infinity,
    10n,
    true,
    {},
    [],
    "all",
    Symbol("5"),
  ];
  for (const host of HOSTS) {
    const keys = Object.keys(follow(host.dialect.describe(1, 1)));
    it(
      `go to the tool as they are: the same object, no look at the file, on a host that ${host.name}`,
      LIMIT,
      () =>
        guarding(async ({ folder, wrap, model, waymark }) => {
          put(folder, "a.ts", code(300));
          const seen: unknown[] = [];
          const read = wrap((args: unknown) => (seen.push(args), code(300)), { dialect: host.dialect });
          for (const value of values) {
            for (const key of keys) {
              const args = { path: "a.ts", [key]: key === "view_range" ? [1, value] : value };
              assertEquals(await read(args), code(300));
              assertStrictEquals(seen.at(-1), args);
            }
          }
          assertEquals([seen.length, model.calls.length, waymark.stats().misses], [values.length * keys.length, 0, 0]);
        }),
    );
  }
});

describe("offsets around the first line", () => {
  it("mean what they mean to the host, and line 0 is never spoken of", LIMIT, () =>
    guarding(async (guarded) => {
      put(guarded.folder, "a.ts", code(300));
      const [one, zero] = [toolOf(HOSTS[0]!, guarded), toolOf(HOSTS[1]!, guarded)];
      for (
        const [tool, offset, start] of [[one, 0, 1], [one, -0, 1], [one, 1, 1], [zero, 0, 1], [zero, -0, 1], [
          zero,
          1,
          2,
        ]] as const
      ) {
        const result = await tool.read({ path: "a.ts", offset });
        assertCapped(result, code(300), start);
        assert(!/\blines? 0\b|\b0-\d/.test(result.slice(contentOf(result).length)));
      }
      for (const tool of [one, zero]) {
        const args = { path: "a.ts", offset: -1 };
        assertEquals(await tool.read(args), code(300));
        assertStrictEquals(tool.seen.at(-1), args);
      }
    }));
});

describe("a limit of nothing", () => {
  for (const limit of [0, -1]) {
    it(
      `(${limit}) is the host's to answer: everything, nothing or an error`,
      LIMIT,
      () =>
        guarding(async ({ folder, wrap, model }) => {
          put(folder, "a.ts", code(300));
          const error = new RangeError("limit must be positive");
          assertEquals(await wrap(() => code(300))({ path: "a.ts", limit }), code(300));
          assertEquals(await wrap(() => "")({ path: "a.ts", limit }), "");
          const failing = wrap(() => Promise.reject(error));
          assertStrictEquals(await assertRejects(() => failing({ path: "a.ts", limit })), error);
          assertEquals(model.calls.length, 0);
        }),
    );
  }

  it("that is null is none: the read is a whole one", LIMIT, () =>
    guarding(async (guarded) => {
      put(guarded.folder, "a.ts", code(300));
      const { read, seen } = toolOf(HOSTS[0]!, guarded);
      assertCapped(await read({ path: "a.ts", offset: null, limit: null }), code(300));
      assertEquals(seen, [{ path: "a.ts", offset: null, limit: 200 }]);
    }));
});

describe("an offset at or past the end", () => {
  it(
    "is answered by the host, in its own words, and nothing says that the file is empty",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, waymark }) => {
        put(folder, "a.ts", code(300));
        const words = "Offset 5000 is beyond the end of the file (300 lines)";
        assertEquals(await wrap(() => words)({ path: "a.ts", offset: 5000 }), words);
        assertEquals(await wrap(() => "")({ path: "a.ts", offset: 5000 }), "");
        const shortened = wrap(() => {
          put(folder, "a.ts", code(10)); // while it is read
          return "";
        });
        assertEquals(await shortened({ path: "a.ts", offset: 250 }), "");
        assertEquals([waymark.stats().caps, waymark.stats().failures], [0, 0]);
      }),
  );

  it("is no error where it is the last line or the one after", LIMIT, () =>
    guarding(async (guarded) => {
      for (const end of ["", "\n"]) {
        put(guarded.folder, "a.ts", code(300) + end);
        for (const host of HOSTS.slice(0, 2)) {
          const { read } = toolOf(host, guarded);
          for (const [start, last] of [[300, `${code(300).split("\n")[299]}${end}`], [301, ""], [302, ""]] as const) {
            const { offset } = follow(host.dialect.describe(start, 1));
            assertEquals(await read({ path: "a.ts", offset }), last);
          }
        }
      }
    }));

  it(
    "that was fine before the file got shorter gets what the tool gives now",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const { read } = toolOf(HOSTS[0]!, guarded);
        put(guarded.folder, "a.ts", code(900));
        assertCapped(await read({ path: "a.ts", offset: 600 }), code(900), 600);
        put(guarded.folder, "a.ts", code(300));
        assertEquals(await read({ path: "a.ts", offset: 600 }), "");
      }),
  );
});

describe("view ranges", () => {
  const host = HOSTS[4]!;

  it(
    "to the end of the file are shortened where that is far, whatever they begin with",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        put(guarded.folder, "a.ts", code(900));
        const { read, seen } = toolOf(host, guarded);
        assertCapped(await read({ path: "a.ts", view_range: [1, -1] }), code(900));
        assertCapped(await read({ path: "a.ts", view_range: [250, -1] }), code(900), 250);
        assertCapped(await read({ path: "a.ts", view_range: [386, 7000] }), code(900), 386);
        assertCapped(await read({ path: "a.ts", view_range: ["50", "400"] }), code(900), 50);
        assertEquals(seen.map(({ view_range }) => view_range), [[1, 200], [250, 449], [386, 585], ["50", "249"]]);
        assertEquals(linesOf(await read({ path: "a.ts", view_range: [800, -1] })), 101);
        assertStrictEquals((seen.at(-1)!["view_range"] as number[])[1], -1);
      }),
  );

  it("that are none go to the host as they are", LIMIT, () =>
    guarding(async ({ folder, wrap, model }) => {
      put(folder, "a.ts", code(900));
      const seen: unknown[] = [],
        read = wrap((args: Args) => (seen.push(args), "the host's answer"), { dialect: host.dialect });
      for (const view_range of [[10], [], [5, 1], [0, 300], [1, -2], [1, 2, 3], "1-300", 7, [1, null], [NaN, -1]]) {
        const args = { path: "a.ts", view_range };
        assertEquals(await read(args), "the host's answer");
        assertStrictEquals(seen.at(-1), args);
      }
      assertEquals(model.calls.length, 0);
    }));

  it(
    "with an end past the last line are the host's own error where it makes one of that",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        put(folder, "a.ts", code(600));
        const strict = wrap(({ view_range: [start, end] }: { view_range: [number, number] }) => {
          if (end > 600) throw new RangeError(`${end} should be smaller than the number of lines: 600`);
          return code(600).split(/(?<=\n)/).slice(start - 1, end).join("");
        }, { dialect: host.dialect });
        await assertRejects(() => strict({ path: "a.ts", view_range: [450, 700] }), RangeError, "700 should be");
        assertCapped(await strict({ path: "a.ts", view_range: [386, 700] }), code(600), 386);
      }),
  );
});
