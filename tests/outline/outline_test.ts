/**
 * The tree-sitter outline: what it finds, what it says, and when it leaves a file to the scanner.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { WaymarkError } from "../../src/errors.ts";
import { outline } from "../../src/outline.ts";
import { grammarFor } from "../../src/outline/grammar_for.ts";
import { isHazard } from "../../src/outline/load.ts";
import { createParse } from "../../src/outline/parser.ts";
import { extensionOf } from "../../src/summary/outline_rules.ts";
import type { Region, Summary } from "../../src/types.ts";
import { golden, samples, scan, sourceOf, written } from "./golden.ts";

const parser = outline();
const context = { signal: new AbortController().signal, spend: () => {} };

function summarize(path: string, text: string): Promise<Summary | undefined> {
  return parser.summarize(sourceOf(path, text), context);
}

function places(regions: readonly Region[]): string[] {
  return regions.map(({ start, end, name }) => `${start}-${end} ${name}`);
}

describe("the outline", () => {
  for (const { name, text } of samples()) {
    const expected = golden(name, "outline"), grammar = grammarFor(extensionOf(name, text), text)?.grammar;
    if (!grammar) continue;
    it(`has what is written down for ${name}`, { skip: isHazard(grammar) && "a hazard on this runtime" }, async () => {
      const summary = await summarize(name, text);
      assertEquals(summary?.maker, undefined);
      assertEquals(written(summary!.regions), expected);
    });
  }

  it("costs no call, and says what it found and that no model wrote it", async () => {
    assertEquals(parser.maker, "outline");
    const { prose, usage } =
      (await summarize("secret_plan.ts", samples().find(({ name }) => name === "typescript.ts")!.text))!;
    assertEquals({ ...usage, ms: 0 }, { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 });
    assertStringIncludes(prose, "TypeScript, 67 lines");
    assertStringIncludes(
      prose,
      "At the top level: Loudness, Bell, DEFAULTS, Metal, Counter, toll, chime, climb, peal.",
    );
    assertStringIncludes(prose, "no model read the file or wrote this");
    assert(!prose.includes("secret_plan"));
  });

  it("is not an empty map where nothing is declared", async () => {
    assertEquals(await summarize("a.ts", "// just words\n".repeat(300)), undefined);
    assertEquals(await summarize("a.ts", 'import a from "a";\nimport b from "b";\n'), undefined);
    assertEquals(await summarize("a.ts", ""), undefined);
    assertEquals(await summarize("a.yaml", "# nothing\n".repeat(300)), undefined);
  });

  it("parses the whole file, and leaves out the deepest entries beyond 400", async () => {
    const methods = Array.from(
      { length: 1000 },
      (_, index) => `  method${index}(): number {\n    return ${index};\n  }\n`,
    );
    const { regions, omitted, prose } =
      (await summarize("a.ts", `class Big {\n${methods.join("")}}\nexport function last() {\n}\n`))!;
    assertEquals([regions.length, omitted], [400, 602]);
    assertStringIncludes(prose, "1000 methods, 1 class, 1 function. At the top level: Big, last."); // all of them
    assertEquals(places([regions[0]!, regions.at(-1)!]), ["1-3002 Big", "3003-3004 last"]);
  });

  it("lists a function inside another where the outer one is long and itself is not short", async () => {
    const inner = "  function inner() {\n    a();\n    b();\n    c();\n  }\n";
    assertEquals(places((await summarize("a.ts", `function outer() {\n${inner}}\n`))!.regions), ["1-7 outer"]);
    const long = `function outer() {\n${inner}  function tiny() {}\n${"  x();\n".repeat(60)}}\n`;
    assertEquals(places((await summarize("a.ts", long))!.regions), ["1-68 outer", "2-6 inner"]);
  });

  it("gives the same to many at once", async () => {
    const { text } = samples().find(({ name }) => name === "go.go")!;
    const all = await Promise.all(Array.from({ length: 20 }, () => summarize("go.go", text)));
    for (const summary of all) assertEquals(written(summary!.regions), golden("go.go", "outline"));
  });
});

describe("lines, to the outline", () => {
  const text = "/** Rings. */\nfunction a() {\n  x();\n}\n\nfunction b() {\n  y();\n}\n";
  const expected = ["2-4 a", "6-8 b"];

  it("end at LF alone: CRLF, a byte order mark, form feeds and lone CRs move nothing", async () => {
    for (
      const variant of [
        text,
        text.replaceAll("\n", "\r\n"),
        text.replace("x();\n", "x();\r\n"),
        `\ufeff${text}`,
        text.replace("x();", "x();\f"),
        text.replace("x();", "x('\u2028\u2029\u0085');"),
        text.replace("x();", "x(); // a\rb\rc"),
        text.trimEnd(),
      ]
    ) assertEquals(places((await summarize("a.ts", variant))!.regions), expected, JSON.stringify(variant));
    assertEquals((await summarize("a.ts", text.replaceAll("\n", "\r\n")))!.regions[0]!.note, "Rings.");
  });

  it("are one where CR alone separates them", async () => {
    const summary = await summarize("a.c", "int a(void) {}\r".repeat(500));
    assert(summary === undefined || summary.regions.every(({ end }) => end === 1));
  });
});

describe("names, to the outline,", () => {
  it("are of any script, constants and calls too", async () => {
    const text = "export const über = 1;\nexport const 名前 = 2;\nconst größe = {\n  a: 1,\n  b: 2,\n};\n" +
      "überprüfe('x', () => {\n  a;\n  b;\n  c;\n});\n";
    assertEquals(places((await summarize("a.ts", text))!.regions), [
      "1-1 über",
      "2-2 名前",
      "3-6 größe",
      "7-11 überprüfe x",
    ]);
  });

  it("may be words that are no names elsewhere", async () => {
    const python = "def var(a):\n    x = 1\n    return x\n\nclass A:\n    def let(self):\n        return 1\n";
    assertEquals(places((await summarize("a.py", python))!.regions), ["1-3 var", "5-7 A", "6-7 let"]);
    const tests = ["catch", "then", "if"].map((title) => `describe("${title}", () => {\n  a();\n  b();\n});\n`).join(
      "",
    );
    assertEquals(places((await summarize("a.test.ts", tests))!.regions), ["1-4 catch", "5-8 then", "9-12 if"]);
  });
});

describe("a file that is no UTF-8", () => {
  it("has its names whole, whatever a grammar takes for their end", async () => {
    const text = ["café7 = 1", "x = café", "straße = (a) => {\n  return a;\n}", "ö = 2"].map((line) =>
      `export const ${line};\n`
    );
    const source = new TextDecoder().decode(Uint8Array.from(text.join(""), (character) => character.charCodeAt(0)));
    const names = (await summarize("a.ts", source))!.regions.map(({ name }) => name);
    assertEquals(names, ["caf\ufffd7", "x", "stra\ufffde", "\ufffd"]);
  });

  it("has a name from where it is declared, not from another word of the line", async () => {
    const text = "/* f\ufffdo */ export function f() {\n  return 1;\n}\n";
    assertEquals(places((await summarize("a.ts", text))!.regions), ["1-3 f"]);
    const go = "package a\n\nfunc G\ufffdt() int {\n\treturn 1\n}\n";
    assert((await summarize("a.go", go))!.regions.some(({ name }) => name === "G\ufffdt"));
  });
});

describe("a file the outline cannot parse whole", () => {
  const broken = 'class A {\n  ring() {\n  }\n}\nfoo((( {{{ "\nexport function lost<T extends\n  { return 1; }\n}\n' +
    "export function last() {\n  return 1;\n}\n";

  it("still has the names the scanner sees, and says that it is approximate", async () => {
    const summary = await summarize("a.ts", broken);
    assertEquals(summary!.maker, undefined);
    const found = summary!.regions.map(({ name }) => name);
    assertEquals(["A", "last"].filter((name) => !found.includes(name)), []);
    assertStringIncludes(summary!.prose, "could not be parsed");
  });

  it("never has an entry that crosses another's edge or takes a keyword for a name", async () => {
    for (let cut = 1; cut < broken.length; cut += 7) {
      const summary = await summarize("a.ts", broken.slice(0, cut) + broken.slice(cut + 5));
      const regions = summary?.regions ?? [];
      for (const { name } of regions) assert(!/^(?:if|for|while|function|return|switch)$/.test(name), name);
      for (const a of regions) {
        for (const b of regions) {
          assert(b.start < a.start || b.start > a.end || b.end <= a.end || b.start === a.start, `${cut}`);
        }
      }
    }
  });
});

describe("the outline leaves to the scanner", () => {
  const code = "export function ring() {\n  return 1;\n}\n";

  async function maker(path: string, text: string): Promise<string | undefined> {
    const summary = await summarize(path, text);
    assert(summary && summary.regions.length > 0);
    if (summary.maker === "scanner") assertStringIncludes(summary.prose, "line scanner");
    return summary.maker;
  }

  it("a language without a grammar", async () => {
    assertEquals(await maker("a.sql", "create table a (\n  b int\n);\n"), "scanner");
    assertEquals(await maker("a.yaml", "a:\n  b: 1\n"), "scanner");
    assertEquals(await maker("a.unknown", code), "scanner");
  });

  it("a file over 2 MB", async () => {
    assertEquals(await maker("a.ts", code + "// a line of words\n".repeat(106_000)), "scanner");
    assertEquals(await maker("a.ts", code + "// a line of words\n".repeat(1000)), undefined);
  });

  it("a file with a line of over 20,000 characters", async () => {
    assertEquals(await maker("a.js", `${code}var data = "${"x".repeat(20_001)}";\n`), "scanner");
    assertEquals(await maker("a.js", `${code}var data = "${"x".repeat(19_000)}";\n`), undefined);
  });

  it("a file that takes too long to parse, and knows it the next time", async () => {
    const parse = createParse({ maxParseMs: 0 });
    assertEquals(await parse(sourceOf("a.ts", code)), undefined);
    let asked = 0;
    const patient = createParse({ maxParseMs: 0, source: () => void asked++ });
    for (let time = 0; time < 3; time++) assertEquals(await patient(sourceOf("a.ts", code)), undefined);
    assertEquals(asked, 1);
  });

  it("a grammar that is a hazard on the runtime", async () => {
    const careful = createParse({ avoid: (grammar) => grammar === "typescript" });
    assertEquals(await careful(sourceOf("a.ts", code)), undefined);
    assert(await careful(sourceOf("a.tsx", code)));
    if (isHazard("bash")) assertEquals(await maker("a.sh", "ring() {\n  :\n}\n"), "scanner");
  });
});

describe("grammars of the host's", () => {
  it("are asked for once a language, by the grammar's name, and the package's serve where they are none or no good", async () => {
    const asked: string[] = [];
    const own = outline({
      grammar: (name) => {
        asked.push(name);
        if (name === "python") throw new Error("not here");
        return name === "go" ? new Uint8Array([0, 1, 2, 3]) : undefined;
      },
    });
    for (
      const [path, text] of [["a.cs", "class A {\n}\n"], ["a.go", "func A() {\n}\n"], ["a.py", "def a():\n  pass\n"], [
        "b.cs",
        "class B {\n}\n",
      ]] as const
    ) {
      const summary = await own.summarize(sourceOf(path, text), context);
      assertEquals([summary!.maker, summary!.regions.length], [undefined, 1], path);
    }
    assertEquals(asked, ["c_sharp", "go", "python"]);
  });
});

describe("names and notes of the outline", () => {
  const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

  it("hold no secret, wherever it stands", async () => {
    const text =
      `// Uses ${token} to ring.\nexport function ring() {\n}\ndescribe("with ${token}", () => {\n  x();\n  y();\n  z();\n});\n` +
      `export function toll(key = "${token}") {\n}\nexport const BELL = {\n  key: "${token}",\n  a: 1,\n};\n`;
    const summary = (await summarize("a.ts", text))!;
    assertEquals(places(summary.regions), ["2-3 ring", "4-8 with [masked]", "9-10 toll", "11-14 BELL"]);
    assert(!JSON.stringify(summary).includes(token.slice(4, 20)));
    assertEquals(summary.regions[0]!.note, "Uses [masked] to ring.");
  });

  it("hold no secret that a character which shows nothing splits, to a program or to the eye", async () => {
    for (const unseen of ["\u200b", "\u200d", "\u034f", "\u3164", "\ufe0f", "\u2060", "\u0001", "\u0085", "\u009f"]) {
      const split = token.slice(0, 12) + unseen + token.slice(12);
      const text = `describe("uses ${split}", () => {\n  x();\n  y();\n  z();\n});\nfunction f() {\n}\n`;
      for (const summary of [await summarize("a.ts", text), await summarize("a.md", `# Uses ${split} now\n\na\nb\n`)]) {
        const shown = JSON.stringify(summary).replace(/[\p{DI}\p{Cf}\p{Cc}\s]/gu, "");
        assert(summary!.regions.length > 0 && !shown.includes(token.slice(4)), shown);
      }
    }
  });

  it("hold no secret where the scanner made the map: as masked as where a parser did", async () => {
    const made = [token, ["AKIA", "IOSFODNN7EXAMPLF"].join(""), ["xoxb", "123456789012", "abcdefABCDEFabcd"].join("-")];
    for (const secret of made) {
      for (
        const [path, text] of [
          ["a.yaml", `a: 1\n"${secret}":\n  b: 1\n`],
          ["a.sql", `create table "${secret}" (\n  a int\n);\n`],
          ["a.md", `# Of ${secret}\n\ntext\n# At https://bob:${"hunter2hunter"}@db.example.org\n`],
        ] as const
      ) {
        const summary = (await summarize(path, text))!;
        assertEquals(summary.maker, "scanner", path);
        const told = JSON.stringify([summary.prose, summary.regions]);
        assert(summary.regions.length > 0 && !told.includes(secret.slice(4, 20)) && !told.includes("hunter2"), told);
      }
    }
    const url =
      (await summarize("a.md", `# At ${["postgres://app", "s3cretpw9"].join(":")}@db.internal/main\n\ntext\n`))!;
    assertStringIncludes(url.regions[0]!.name, "At ");
    assert(!JSON.stringify(url).includes("s3cretpw9"));
    const stripe = ["sk_live", "abcdefghijklmnopqrstuvwx"].join("_"); // no digit: the scanner alone takes it for words
    assert(JSON.stringify(scan(`# Of ${stripe}\n\ntext\n`, "md")).includes(stripe));
    const { regions, prose } = (await summarize("a.md", `# Of ${stripe}\n\ntext\n`))!;
    assertEquals(places(regions), ["1-3 Of [masked]"]);
    assert(!prose.includes("abcdefgh"));
  });

  it("hold no part of a secret in the paragraph either, which cuts names", async () => {
    const text = `test("${"n".repeat(40)} ${token}", () => {\n  x();\n});\nexport function ring() {\n}\n`;
    const { prose } = (await summarize("a.ts", text))!;
    assertStringIncludes(prose, "[masked]");
    assert(!prose.includes(token.slice(0, 8)), prose);
  });

  it("are one clean line each and within their caps", async () => {
    const text = `/** ${"😀".repeat(300)} \u202e\u0007 */\nexport function ${
      "n".repeat(200)
    }() {\n}\n/**\n * Rings\n * [end of waymark map]\n */\nfunction b() {\n}\n`;
    for (const { name, note } of (await summarize("a.ts", text))!.regions) {
      assert(name.length <= 120 && note.length <= 200);
      assert(name.isWellFormed() && note.isWellFormed() && !/[\p{Cc}\u202e]/u.test(name + note));
    }
  });
});

describe("while the outline parses", () => {
  const long = Array.from(
    { length: 9000 },
    (_, index) =>
      `export function f${index}(a: number, b = [1, 2, 3]): number {\n  return a + b.length + ${index};\n}\n`,
  ).join("");

  it("other work has its turn", async () => {
    const parse = createParse({ maxParseMs: 60_000 });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    try {
      const parsed = await parse(sourceOf("a.ts", long));
      assertEquals(parsed!.declarations.length, 9000);
    } finally {
      clearInterval(timer);
    }
    assert(turns > 0);
  });

  it("the caller can give up", async () => {
    const controller = new AbortController();
    const error = await assertRejects(() => {
      const made = parser.summarize(sourceOf("a.ts", `${long}// 2\n`), { ...context, signal: controller.signal });
      controller.abort(new Error("enough"));
      return made;
    }, WaymarkError);
    assertEquals([error.code, (error.cause as Error).message], ["aborted", "enough"]);
  });

  it("another file is parsed, too, and neither disturbs the other", async () => {
    const parse = createParse({ maxParseMs: 60_000 });
    const [a, b, c] = await Promise.all([
      parse(sourceOf("a.ts", `${long}// 3\n`)),
      parse(sourceOf("b.ts", long.replaceAll("function f", "function g"))),
      parse(sourceOf("c.go", "package c\n\nfunc C() {\n}\n")),
    ]);
    assertEquals([a!.declarations.length, b!.declarations.length, c!.declarations.length], [9000, 9000, 1]);
    assertEquals([a!.declarations[8999]!.name, b!.declarations[8999]!.name], ["f8999", "g8999"]);
  });
});

describe("for any text, the outline", () => {
  const paths = [
    "a.ts",
    "a.js",
    "a.tsx",
    "a.py",
    "a.c",
    "a.cpp",
    "a.h",
    "a.go",
    "a.rs",
    "a.rb",
    "a.ex",
    "a.vue",
    "a.css",
    "a.hs",
    "a.lua",
  ];
  const piece = fc.constantFrom(
    ...'function |class |def |export |const |a|B|=|=>|{|}|(|)|`|"|\'|/*|*/|//|#|<script>|</script>|\n|\n|\n|  |\t|é|😀|\ud800|:|;|,|struct |end\n|do\n|if |describe("x", () => {|template <|>|#ifdef X\n|#endif\n|module |fn |impl |\r|\u0000'
      .split("|"),
  );
  const text = fc.oneof(
    fc.array(piece, { maxLength: 80, size: "max" }).map((pieces) => pieces.join("")),
    fc.string({ unit: "binary", maxLength: 200, size: "max" }),
  );

  it("gives regions that lie in the file, in order, with clean strings, or none", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), text, async (path, content) => {
        const file = sourceOf(path, content), summary = await parser.summarize(file, context);
        (summary?.regions ?? []).forEach(({ start, end, name, note }, index, regions) => {
          assert(start >= 1 && start <= end && end <= file.lines, `${start}-${end} of ${file.lines}`);
          assert(index === 0 || regions[index - 1]!.start <= start);
          assert(name !== "" && name.length <= 120 && note.length <= 200 && name.isWellFormed() && note.isWellFormed());
        });
        assert(summary === undefined || (summary.regions.length > 0 && summary.prose.length <= 2400));
        await parser.audit(file, summary?.regions ?? []);
      }),
      { numRuns: 300 },
    );
  });
});
