/**
 * The line scanner: what it finds in every language, and what holds for any text.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { outline } from "../../src/outline.ts";
import { scanner } from "../../src/summary/scanner.ts";
import { extensionOf } from "../../src/summary/outline_rules.ts";
import type { Region, Summary } from "../../src/types.ts";
import { golden, samples, scan, sourceOf, written } from "../outline/golden.ts";

const context = { signal: new AbortController().signal, spend: () => {} };

function summarize(path: string, text: string): Promise<Summary | undefined> {
  return scanner().summarize(sourceOf(path, text), context);
}

function names(regions: readonly Region[]): string[] {
  return regions.map(({ start, end, name }) => `${start}-${end} ${name}`);
}

describe("the line scanner", () => {
  for (const { name, text } of samples()) {
    it(`finds what is written down for ${name}`, () => {
      assertEquals(written(scan(text, extensionOf(name, text))), golden(name, "scanner"));
    });
  }

  it("reads a file whose extension is a word that every object knows like any other", () => {
    for (const extension of ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty"]) {
      assertEquals(names(scan("function ring() {\n  return 1;\n}\n", extension)), ["1-3 ring"], extension);
    }
  });

  it("is a summarizer that costs nothing and says who it is", async () => {
    const parser = scanner();
    assertEquals(parser.maker, "scanner");
    const summary = await summarize("src/bell.ts", "export function ring() {\n  return 1;\n}\n");
    assertEquals(summary?.usage, { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 });
    assertEquals(names(summary!.regions), ["1-3 ring"]);
    assertStringIncludes(summary!.prose, "line scanner");
  });

  it("gives no map, not an empty one, where it finds nothing", async () => {
    for (const text of ["", "\n\n", "just some words\n".repeat(300), "a,b,c\n1,2,3\n".repeat(200)]) {
      assertEquals(await summarize("notes.xyz", text), undefined);
    }
  });

  it("does not take prose for code", async () => {
    const prose = "class of 2026\n\ntype conversions are explained below\nfunction follows form\n".repeat(100);
    for (const path of ["notes.txt", "a.log", "a.rst", "LICENSE"]) {
      assertEquals(await summarize(path, prose), undefined);
    }
  });

  it("never names the file in its paragraph", async () => {
    const summary = await summarize("src/secret_plan.ts", "export function ring() {\n}\n");
    assert(!summary!.prose.includes("secret_plan"));
  });

  it("leaves out the deepest entries of a file with more than 400 and says how many", async () => {
    const methods = Array.from({ length: 450 }, (_, index) => `  method${index}() {\n    return 1;\n  }\n`).join("");
    const summary = await summarize("big.ts", `class Big {\n${methods}}\nfunction last() {\n}\n`);
    assertEquals([summary!.regions.length, summary!.omitted], [400, 52]);
    assertEquals([summary!.regions[0]!.name, summary!.regions.at(-1)!.name], ["Big", "last"]);
  });
});

describe("lines, to the scanner", () => {
  const text = "function a() {\n  x();\n}\n\nfunction b() {\n  y();\n}\n";

  it("end at LF alone: CRLF, a byte order mark, form feeds and U+2028 move nothing", () => {
    const expected = ["1-3 a", "5-7 b"];
    assertEquals(names(scan(text, "ts")), expected);
    assertEquals(names(scan(text.replaceAll("\n", "\r\n"), "ts")), expected);
    assertEquals(names(scan(`\ufeff${text}`, "ts")), expected);
    assertEquals(names(scan(text.replace("x();", "x();\f"), "ts")), expected);
    assertEquals(names(scan(text.replace("x();", "'\u2028\u2029\u0085';"), "ts")), expected);
  });

  it("do not end at a lone CR", () => {
    assertEquals(scan(text.replaceAll("\n", "\r"), "c").every(({ end }) => end === 1), true);
    assertEquals(names(scan("def a():\n  x\r\r\n\ndef b():\n  y\n", "py")), ["1-2 a", "4-5 b"]);
  });

  it("reach to the last one with or without a newline after it", () => {
    assertEquals(names(scan("def a():\n  x", "py")), ["1-2 a"]);
    assertEquals(names(scan("def a():\n  x\n", "py")), ["1-2 a"]);
    assertEquals(names(scan("def a():\n  x\n\n\n", "py")), ["1-2 a"]);
  });

  it("that are very long are data, not declarations, and the rest is still read", () => {
    const long = `var data = "${"x".repeat(5000)}"; function hidden() {}`;
    assertEquals(names(scan(`function a() {\n  return 1;\n}\n${long}\nfunction b() {\n}\n`, "js")), ["1-3 a", "5-6 b"]);
    assertEquals(scan("function a(){}".repeat(110_000), "js"), []);
  });
});

describe("text over several lines", () => {
  it("does not end a declaration it stands in", () => {
    assertEquals(names(scan("def a():\n  x = '''\nnot code\nclass B:\n'''\n  return x\n\ndef c():\n  pass\n", "py")), [
      "1-6 a",
      "8-9 c",
    ]);
    assertEquals(names(scan("function a() {\n  return `\nnot code\n`;\n}\nfunction b() {\n}\n", "ts")), [
      "1-5 a",
      "6-7 b",
    ]);
    assertEquals(names(scan("a() {\n  cat <<-'EOF'\nb() {\n}\n\tEOF\n}\nc() {\n  :\n}\n", "sh")), ["1-6 a", "7-9 c"]);
  });

  it("declares nothing where it is a comment", () => {
    assertEquals(names(scan("/*\nfunction a() {\n}\n*/\nfunction b() {\n}\n", "ts")), ["5-6 b"]);
    assertEquals(names(scan("<!--\n<script>\n-->\n<main>\n  x\n</main>\n", "html")), ["4-6 main"]);
    assertEquals(names(scan("--[[\nfunction a()\nend\n]]\nfunction b()\nend\n", "lua")), ["5-6 b"]);
  });

  it("is not begun by a pattern of files or by a comment", () => {
    const text = 'const files = glob("src/**/*.ts");\n// all of src/*\nfunction a() {\n}\n';
    assertEquals(names(scan(text, "ts")), ["3-4 a"]);
  });

  it("that was never ended is over where only code can stand", () => {
    assertEquals(names(scan("const tick = /`/;\nlet x = 1;\nexport function a() {\n}\n", "ts")), ["3-4 a"]);
  });
});

describe("names and notes of the scanner", () => {
  const secret = "sk-ant-api03-never";

  it("hold no value of the file", () => {
    const texts: Record<string, string> = {
      ts: `export const a = {\n  key: "${secret}",\n};\nfunction b(key = "${secret}", n: number = 4711) {\n}\n` +
        `class C {\n  static d(key = '${secret}') {\n  }\n}\n`,
      py: `KEYS = {\n  "a": "${secret}",\n}\ndef b(key="${secret}"):  # ${secret}\n  pass\n`,
      sh: `TOKEN=${secret}\na() { # ${secret}\n  :\n}\n`,
      yaml: `a: ${secret}\nb:\n  - ${secret}\n  - x\n`,
      json: `{\n  "a": {\n    "b": "${secret}",\n    "c": 1\n  }\n}\n`,
      sql: `create table a (\n  b text default '${secret}'\n);\n`,
      toml: `[a]\nb = "${secret}"\n`,
      hcl: `variable "a" {\n  default = "${secret}"\n}\n`,
      rb: `def a(key = "${secret}")\n  1\nend\n`,
      go: `func a(k string) { // ${secret}\n}\n`,
      ex: `def a(key), do: ${secret}\n`,
    };
    for (const [extension, text] of Object.entries(texts)) {
      const regions = scan(text, extension);
      assert(regions.length > 0, extension);
      const told = JSON.stringify(regions);
      assert(!/never|4711/.test(told), `${extension}: ${told}`);
    }
  });

  it("hold no key that stands where a name is looked for", () => {
    const key = `ghp${"a1B2c3D4e5F6".repeat(3)}`;
    assertEquals(names(scan(`{\n  "${key}": {\n    "a": 1\n  }\n}\n`, "json")), ["2-4 …"]);
    assertEquals(names(scan(`it("signs in with ${key}", () => {\n  a();\n});\n`, "js")), ["1-3 signs in with …"]);
    assertEquals(names(scan(`# About ${key}\n\nWords.\n`, "md")), ["1-3 About …"]);
    assertEquals(names(scan("# Release notes of 2026-11-29 for windows_and_linux_and_more\n", "md")).length, 1);
    assertEquals(names(scan("internationalization_of_all_the_words:\n  a: 1\n", "yaml")), [
      "1-2 internationalization_of_all_the_words",
    ]);
  });

  /** Made-up values in the shapes of real keys. */
  const keys: Readonly<Record<string, string>> = {
    github: ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].join(""),
    amazon: ["AKIA", "IOSFODNN7EXAMPLF"].join(""),
    "amazon without a digit": ["AKIA", "QWERTYUIOPASDFGH"].join(""),
    slack: ["xoxb", "123456789012", "1234567890123", "abcdefghijklmnopqrstuvwx"].join("-"),
    anthropic: ["sk-ant-api03-", "Ab3dEf9hIjKlMn0pQ-StUvWxYz12".repeat(3), "_AA"].join(""),
    openai: ["sk-proj-", "a1B2c3D4e5F6g7H8i9J0".repeat(3)].join(""),
    npm: ["npm_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join(""),
    "hugging face, which has letters alone": ["hf_", "abcdefghijKLMNOPQRSTuvwxyzABCDEFGH"].join(""),
  };

  it("hold no key of any service, in names of every kind and in what is said beside them", () => {
    for (const [service, key] of Object.entries(keys)) {
      const texts: Readonly<Record<string, string>> = {
        js: `test("uses ${key}", () => {\n  a;\n  b;\n});\n`,
        yaml: `a: 1\n"${key}": 1\n`,
        json: `{\n"${key}": {\n "a": 1\n}\n}\n`,
        toml: `["${key}"]\na=1\n[x.${key}]\nb=2\n`,
        md: `# Key ${key}\n\ntext\n`,
        css: `.x${key} {\n}\n`,
        html: `<section id="${key}">\n<p>\n</section>\n`,
        hcl: `resource "a" "${key}" {\n}\n`,
        ts: `namespace ${key} {\n a;\n}\nclass A extends ${key} {\n a() {\n }\n}\nexport function f(a: ${key}) {\n}\n`,
        sh: `${key}() {\n a\n}\n`,
        sql: `create table "${key}" (\n a int\n);\n`,
        rb: `describe "${key}" do\n  it "works ${key}" do\n  end\nend\n`,
        hs: `instance Foo "${key}" where\n  a = b\n`,
      };
      for (const [extension, text] of Object.entries(texts)) {
        const told = JSON.stringify(scan(text, extension));
        assert(!told.includes(key.slice(4, 16)) && !told.includes(key.slice(-12)), `${service} ${extension}: ${told}`);
      }
    }
  });

  it("keep functions apart whose names are not told", () => {
    const [one, two] = ["a", "b"].map((end) => `f${"a1B2c3D4e5F6".repeat(3)}${end}`);
    const text = `function ${one}() {\n  a;\n}\nfunction ${two}() {\n  b;\n}\nfunction ${two}(c) {\n  d;\n}\n`;
    assertEquals(names(scan(text, "ts")), ["1-3 …", "4-9 …"]);
  });

  it("hold no key that a control or what shows nothing splits", () => {
    for (const gap of ["\u0001", "\b", "\u007f", "\u0080", "\u0085", "\u009f", "\u200b", "\u034f"]) {
      for (const key of Object.values(keys)) {
        const split = key.slice(0, 9) + gap + key.slice(9);
        assertEquals(names(scan(`# A ${split}\n\ntext\n`, "md")), ["1-3 A …"], `${JSON.stringify(gap)} ${key}`);
      }
    }
    assertEquals(names(scan("# One\u0085two \u0001 three\tfour\n\ntext\n", "md")), ["1-3 Onetwo three four"]);
  });

  it("hold no password of an address", () => {
    for (const password of ["hunter2", "correct.horse.battery.staple", "a-very-long-password-made-of-words"]) {
      const address = ["https://bob:", password, "@db.example.org/x"].join("");
      assertEquals(names(scan(`# At ${address} now\n\ntext\n`, "md")), ["1-3 At https://bob:…@db.example.org/x now"]);
    }
    const hook = ["https://hooks.slack.com/services", "T0000", "B0000", "XXXXabcd"].join("/");
    assertEquals(names(scan(`# At ${hook} now\n\ntext\n`, "md")), ["1-3 At https://hooks.slack.com/services/… now"]);
  });

  it("keep long words that are words: identifiers, headings, versions, paths", () => {
    const identifiers = [
      "convertIPv4MappedIPv6ToIPv4",
      "convertV4FileDataToV3",
      "convertBase64ToUint8ArrayInPlace",
      "test_utf8_to_utf16_with_bom_and_4_bytes",
      "internationalizationOfEverything2",
      "CRYPTO_AES256_GCM_SIV_NONCE_LENGTH_12",
    ];
    for (const name of identifiers) {
      assertEquals(names(scan(`function ${name}(a) {\n  b;\n}\n`, "js")), [`1-3 ${name}`]);
    }
    const headings = [
      "release-notes-for-the-second-beta-of-2026",
      "1.24.0-beta.3.20261129",
      "2026-11-29T10-00-00.000000-release",
      "packages/ai/src/generate-object/stream.test",
      "0190163d-8694-739b-aea5-966c26f8ad91",
      "someVeryLongCamelCaseNameWith2Digits3",
      "https://example.org:8080/@scope/a",
    ];
    for (const name of headings) assertEquals(names(scan(`## ${name}\n\nx\n`, "md")), [`1-3 ${name}`]);
  });

  it("take no mark for the name that a closing line has", () => {
    for (const mark of ["；", " — note;", " “x”", "、", "…"]) {
      assertEquals(scan(`typedef struct {\n  int a;\n}${mark}\n`, "c"), [], mark);
    }
    for (const name of ["größe", "名前", "a\u0301b", "$x_1"]) {
      assertEquals(names(scan(`typedef struct {\n  int a;\n} ${name};\n`, "c")), [`1-3 ${name}`]);
    }
  });

  it("are never empty: what has nothing to be told by is no region", () => {
    for (const key of ["' :", "   :", "'\u200b' :", "\u200b:", ". :"]) {
      for (const { name } of scan(`${key}\n  a: 1\n`, "yaml")) assert(name !== "", key);
    }
    assertEquals(scan("# \u200b\n\nWords.\n", "md"), []);
    assertEquals(names(scan("' :\n  a: 1\nb: 2\n", "yaml")).at(-1), "3-3 b");
  });

  it("are one line each and within their caps", () => {
    const name = "n".repeat(150);
    const [region] = scan(`function ${name}(${"a, ".repeat(200)}) {\n}\n`, "ts");
    assert(region!.name.length <= 120 && region!.note.length <= 200);
    assert(region!.name.endsWith("…"));
  });
});

describe("for any text, the scanner", () => {
  const extensions = "ts py c h cs go rb sh css json yaml toml sql md html vue hs lua ex clj kt swift php xyz".split(
    " ",
  );

  function check(text: string, extension: string): void {
    const regions = scan(text, extension),
      lines = text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
    regions.forEach(({ start, end, name, note }, index) => {
      const told = `${extension} ${start}-${end} of ${lines} ${text.length < 2000 ? JSON.stringify(text) : ""}`;
      assert(Number.isInteger(start) && start >= 1 && start <= end && end <= lines, told);
      assert(index === 0 || regions[index - 1]!.start <= start, told);
      assert(name !== "" && name.length <= 120 && note.length <= 200, told);
      assert(name.isWellFormed() && note.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(name + note), told);
    });
  }

  it("gives regions that lie in the file, in order, with clean strings", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400, size: "max" }), fc.constantFrom(...extensions), check),
      { numRuns: 300 },
    );
  });

  it("does so for text that looks like code, too", () => {
    const piece = fc.constantFrom(
      ...'function|class|def|export|const|=|=>|{|}|(|)|`|"|\'|"""|/*|*/|//|#|--|<script>|</script>|<<EOF|EOF|\n|\n|\n|  |\t| | |a|B|é|\ud800|:|;|,|struct|end|do|if|else|create table|$$|[a]|---|```|public|static|<|>|\r|\u2028'
        .split("|"),
    );
    const code = fc.array(piece, { maxLength: 150, size: "max" }).map((pieces) => pieces.join(""));
    fc.assert(fc.property(code, fc.constantFrom(...extensions), check), { numRuns: 1500 });
  });

  it("leaves others their turn, also as the outline's stand-in, and stops where the caller gives up", async () => {
    const text = "function a() {\n}\n".repeat(500_000);
    for (const parser of [scanner(), outline()]) {
      const controller = new AbortController(), { signal } = controller;
      let isOver = false;
      const made = Promise.resolve(parser.summarize(sourceOf("a.xyz", text), { signal, spend: () => {} }));
      const ended = made.then(() => "made", (error) => String(error)).finally(() => isOver = true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert(!isOver, "nobody else had a turn");
      controller.abort(new Error("enough"));
      assertEquals(await ended, "Error: enough");
    }
  });

  it("ends soon, whatever is in it", () => {
    const hard: Record<string, string> = {
      "one line of 1.5 MB": 'a "\\`('.repeat(250_000),
      "100,000 declarations": "function a() {\n".repeat(100_000),
      "deep nesting": Array.from({ length: 1200 }, (_, depth) => `${" ".repeat(depth)}function f${depth}() {`).join(
        "\n",
      ),
      "open brackets": `${"(".repeat(230)}\n`.repeat(6000),
      "open generics": `class A${"<".repeat(230)}\n`.repeat(6000),
      "words and no end": `${"static ".repeat(34)}\n`.repeat(6000),
      "names and dots": `exports.${"a.".repeat(115)}\n`.repeat(6000),
      "quotes": `x /* ${'"'.repeat(400)}\n`.repeat(3000),
      "functions that never begin": "int foo(int a,\n".repeat(100_000),
    };
    const started = Date.now();
    for (const text of Object.values(hard)) {
      for (const extension of ["ts", "c", "html", "sql"]) check(text, extension);
    }
    assert(Date.now() - started < 120_000, "an anti-hang limit");
  });
});
