/**
 * Files made to keep the outline busy: many of anything, deep in anything. None stops what else there is to do.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { auditRegions } from "../../src/outline/audit.ts";
import { createParse } from "../../src/outline/parser.ts";
import type { Region } from "../../src/types.ts";
import { programCommand } from "../programs.ts";
import { root } from "../modules.ts";
import { run } from "../publishing.ts";
import { atOnce, sourceOf } from "./golden.ts";

/** Many times the same, so many to a line. */
function many(count: number, piece: string, perLine = 1): string {
  const line = `${piece.repeat(perLine)}\n`;
  return line.repeat(Math.ceil(count / perLine));
}

const MANY = 40_000;
/** No test of a machine's speed: each of these kept the outline far too long, and now gives way or ends in a few seconds. */
const ANTI_HANG_MS = 30_000;

const FILES: Readonly<Record<string, readonly [path: string, text: string]>> = {
  "wrappers around one class": ["a.cpp", `${many(30_000, "template<class T> ", 1000)}class X {};\n`],
  "functions inside each other": ["a.js", many(20_000, "function a(){", 500) + many(20_000, "}", 1000)],
  "functions in a sum": ["a.js", `x = ${many(60_000, "(()=>1)+", 1000)}1;\n`],
  "words of tests in a row": ["a.ts", `${many(630_000, "it.", 6500)}f();\nfunction x() {\n}\n`],
  "long receivers": ["a.go", `package a\n${many(40, `func (${"r".repeat(9000)}${" ".repeat(9000)}T x) X() {\n}`)}`],
};

describe("what a hostile file has many of", () => {
  for (const [what, [path, text]] of Object.entries(FILES)) {
    it(`does not keep the outline: ${what}`, async () => {
      const parse = createParse({ maxParseMs: 60_000 }), file = { ...sourceOf(path, text), hash: what };
      const started = Date.now(), parsed = await parse(file);
      assert(Date.now() - started < ANTI_HANG_MS, "an anti-hang limit");
      for (const { start, end } of parsed?.declarations ?? []) assert(start >= 1 && start <= end && end <= file.lines);
    });
  }

  it("does not keep the outline beyond its time where a grammar goes over the rest of a text for each word", async () => {
    const started = Date.now(), text = many(200_000, "not ", 2250), parse = createParse({ maxParseMs: 300 });
    assertEquals(await parse(sourceOf("a.swift", text)), undefined);
    assert(Date.now() - started < ANTI_HANG_MS, "an anti-hang limit");
    const found = await createParse()(sourceOf("b.js", "function ring() {\n  return 1;\n}\n"));
    assertEquals(found?.declarations.map(({ name }) => name), ["ring"]);
  });

  it("leaves others their turn while a deep tree is read, and the caller may give up", async () => {
    const deep = many(450, 'describe("a", () => {') + many(40_000, "it.b();") + many(450, "});");
    const text = deep, parse = createParse({ maxParseMs: 60_000 });
    let turns = 0;
    const timer = setInterval(() => turns++, 1), controller = new AbortController();
    const failed = parse(sourceOf("a.test.ts", text), controller.signal).then(() => undefined, (error) => error.code);
    try {
      while (turns < 5) await new Promise((resolve) => setTimeout(resolve, 1));
    } finally {
      clearInterval(timer);
    }
    controller.abort(new Error("enough"));
    assertEquals(await failed, "aborted");
  });
});

describe("a file in which too much is open at once", () => {
  for (
    const [extension, open] of [["go", "{-"], ["c", "{-"], ["php", "$("], ["java", "List<"], ["cs", "a<\n"]] as const
  ) {
    it(`is left to the scanner, before it takes the engine's memory or damages it: ${open.trim()} in ${extension}`, async () => {
      const parse = createParse(),
        source = (count: number) => ({
          ...sourceOf(`a.${extension}`, `${many(count, open, 500)}\n`),
          hash: `${extension} ${count}`,
        });
      assertEquals(await parse(source(90_000)), undefined);
      assertEquals(await parse(source(1_100)), undefined);
      assert(await parse(source(900)), "not too much");
      const python = await parse(sourceOf("a.py", "def ring():\n    return 1\n"));
      assertEquals(python?.declarations.map(({ name }) => name), ["ring"]);
    });
  }

  it("is not one with many brackets or comparisons, closed or each in its own statement, or with many shifts", async () => {
    const text = many(3000, "function f(a) {\n  return [a < 1, (a)];\n}") + many(3000, "if (a < b) c();");
    const flags = `${many(1200, "#define FLAG (1 << 3)")}int ring(void) { return 1; }\n`;
    for (const [name, code] of [["a.ts", text], ["a.h", flags]] as const) {
      assert((await createParse({ maxParseMs: 60_000 })(sourceOf(name, code)))?.declarations.length, name);
    }
  });
});

describe("an engine that fails in the middle of a file", () => {
  it("is not asked again in this process: the scanner has that file and the next ones, and maps stay unverified", async () => {
    const [program, ...args] = programCommand("tests/outline/broken_engine.ts");
    const { code, stdout, stderr } = await run(program, args, { cwd: root, timeoutMs: 60_000 });
    assertEquals(code, 0, stderr);
    assertEquals(JSON.parse(stdout), [["outline 1", ...Array(4).fill("scanner 1")], "no audit"]);
  });
});

describe("an audit", () => {
  const declarations = (looked: () => void): Region[] =>
    Array.from(
      { length: MANY },
      (_, at) =>
        new Proxy({ start: at + 1, end: at + 1, kind: "function", name: "f", note: "" } as Region, {
          get: (target, key) => {
            looked();
            return Reflect.get(target, key);
          },
        }),
    );

  /** A text in which nothing is found. */
  const textWithout = (searched: () => void): string =>
    Object.assign(Object.create(null), {
      toLowerCase: () => ({ replace: () => ({ includes: () => (searched(), false) }) }),
    });

  it("looks at each of many declarations of one name a few times, however many regions have it", () => {
    let looks = 0;
    const regions = Array.from({ length: 2000 }, (_, at) => ({
      start: at * 20 + 1,
      end: at * 20 + 1,
      kind: "function" as const,
      name: "f",
      note: "",
    }));
    const { audit } = atOnce(
      auditRegions(regions, { declarations: declarations(() => looks++), text: "f", lines: MANY }),
    );
    assertEquals(audit, { verified: 2000, moved: 0, dropped: 0 });
    assert(looks < MANY * 40 + 2000 * 60, `${looks} looks`);
  });

  it("looks for the same word once, and for no more than a few words of a name", () => {
    let searched = 0;
    const text = textWithout(() => searched++);
    const name = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
    const regions = Array.from({ length: 100 }, (_, at) => ({
      start: at + 1,
      end: at + 1,
      kind: "function" as const,
      name,
      note: "",
    }));
    assertEquals(atOnce(auditRegions(regions, { declarations: [], text, lines: 100 })).regions, []);
    assert(searched > 0 && searched <= 8, `${searched} searches`);
  });

  it("can give way to other work between two regions, however many names a model made up", () => {
    let searched = 0, most = 0;
    const text = textWithout(() => searched++);
    const regions = Array.from({ length: 400 }, (_, at) => {
      const name = Array.from({ length: 8 }, (_, word) => `word${at}x${word}`).join(" ");
      return { start: at + 1, end: at + 1, kind: "function" as const, name, note: "" };
    });
    for (const steps = auditRegions(regions, { declarations: [], text, lines: 400 }); !steps.next().done;) {
      most = Math.max(most, searched);
      searched = 0;
    }
    assertEquals(most, 8);
  });
});
