/** The whole guard on text in odd encodings, with odd line endings and of odd shapes. */

import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { anthropic } from "../../src/providers/anthropic.ts";
import { scriptedModel } from "../../src/testing.ts";
import { message, startMessagesApi } from "../messages_api.ts";
import { code, put } from "../support.ts";
import { assertCapped, assertTrueRows, contentOf, guarding, LIMIT, linesOf, rowsOf } from "./field.ts";
import { textOf } from "./hosts.ts";

const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
const utf16 = (text: string, big = false): Uint8Array => {
  const bytes = Buffer.from(text, "utf16le");
  return big ? bytes.swap16() : bytes;
};
/** Function declarations in Python, one a line. */
const python = (lines: number): string => code(lines).replaceAll("export function ", "def ");

describe("a file in UTF-16", () => {
  const files: readonly (readonly [string, Uint8Array])[] = [
    ["little endian with a mark and CRLF", utf16(`\ufeff${crlf(code(300))}`)],
    ["big endian with a mark", utf16(`\ufeff${code(300)}`, true)],
    ["little endian without a mark", utf16(code(300))],
    ["big endian without a mark", utf16(code(300), true)],
    ["Chinese without a mark", utf16(code(300).replace(/return a/g, "返回"))],
  ];
  for (const [what, bytes] of files) {
    it(
      `is left to the host's tool, whatever that makes of it: ${what}`,
      LIMIT,
      () =>
        guarding(async ({ folder, read, wrap, model, waymark }) => {
          for (const name of ["run.ps1", "a.ts"]) {
            put(folder, name, bytes);
            assertEquals(await read({ path: name }), readFileSync(join(folder, name), "utf8"));
            const decoded = wrap(() => code(300)); // a host that knows the encoding
            assertEquals(await decoded({ path: name }), code(300));
          }
          assertEquals([model.calls.length, waymark.stats().caps], [0, 0]);
        }),
    );
  }
});

describe("a file in UTF-8", () => {
  const boundaries = [512, 1000, 1024, 4096, 8000, 8192];
  for (const shift of [0, 1, 2]) {
    it(
      `of Chinese is text wherever a cut would fall in a character (${shift})`,
      LIMIT,
      () =>
        guarding(async ({ folder, read }) => {
          const lines = python(400).split("\n").map((line, index) =>
            index % 3 ? `${line} # ${"漢字".repeat(6)}` : line
          );
          const text = `# ${"x".repeat(shift)}${"字".repeat(3000)}\n${lines.join("\n")}\n`;
          const bytes = new TextEncoder().encode(text);
          assert(boundaries.some((at) => bytes[at]! >> 6 === 2), "a boundary lies inside a character");
          put(folder, "a.py", bytes);
          const twin = text.replace(/[^\n -~]/g, "c");
          put(folder, "twin.py", twin);
          const result = await read({ path: "a.py" });
          assertCapped(result, text);
          const rows = (from: string) => rowsOf(from).map(({ start, end, name }) => [start, end, name]);
          assertEquals(rows(result), rows(await read({ path: "twin.py" })));
        }),
    );
  }

  it(
    "with a byte order mark keeps it, counts its lines alike, and is another file than the one without",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, model }) => {
        const read = wrap(({ path, limit }) => textOf(join(folder, path)).split(/(?<=\n)/).slice(0, limit).join(""));
        const marked = `\ufeff${code(250)}`;
        put(folder, "a.ts", marked);
        const result = await read({ path: "a.ts" });
        assertCapped(result, marked);
        assertEquals(rowsOf(result)[0]!.start, 1);
        assertEquals(rowsOf(result)[0]!.name, "f1");
        const stripping = wrap(({ limit }) => code(250).split("\n").slice(0, limit).join("\n")); // the host drops the mark
        assertStringIncludes(await stripping({ path: "a.ts" }), "lines 1-200 of 250");
        assertEquals(model.calls.length, 1);
        for (const [text, calls] of [[code(250), 2], [marked, 2], [code(250), 2]] as const) {
          put(folder, "a.ts", text);
          assertCapped(await read({ path: "a.ts" }), text);
          assertEquals(model.calls.length, calls);
        }
      }),
  );

  it(
    "with U+2028, U+2029, U+0085 and vertical tabs has no more lines for them",
    LIMIT,
    () =>
      guarding(async ({ folder, read }) => {
        const odd = (text: string) => text.replaceAll("return", "/* \u2028 \u2029 \u0085 \v */ return");
        put(folder, "short.ts", odd(code(200)));
        assertEquals(await read({ path: "short.ts" }), odd(code(200)));
        put(folder, "long.ts", odd(code(210)));
        assertCapped(await read({ path: "long.ts" }), odd(code(210)));
      }),
  );

  it(
    "with a NUL late in it is kept and shown whole, one early makes it a binary",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const late = `${code(300)}\nexport function nul\0name() {}\n`;
        put(folder, "late.ts", late);
        for (let times = 0; times < 2; times++) {
          const result = await read({ path: "late.ts" });
          assertCapped(result, late);
          assert(!result.slice(contentOf(result).length).includes("\0"));
        }
        assertEquals(model.calls.length, 1);
        put(folder, "early.ts", `\0${code(300)}`);
        assertEquals(await read({ path: "early.ts" }), `\0${code(300)}`);
        assertEquals(model.calls.length, 1);
      }),
  );
});

describe("a file in another encoding", () => {
  const php = (byte: number): Uint8Array => {
    const text = Buffer.from(
      code(300).replaceAll("export function", "function").replaceAll("return", "/* \xe9 */ return"),
      "latin1",
    );
    const at = text.indexOf("function f250(");
    text[text.indexOf(0xe9, at)] = byte;
    return text;
  };

  it(
    "is told from its twin by its bytes, though both decode to the same text",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model, waymark }) => {
        put(folder, "a.php", php(0xe9));
        const first = await read({ path: "a.php" });
        put(folder, "a.php", php(0xe8));
        const second = await read({ path: "a.php" });
        assertEquals(contentOf(first), contentOf(second));
        assertEquals([model.calls.length, waymark.stats().misses], [2, 2]);
        assertCapped(first, new TextDecoder().decode(php(0xe9)));
        assertEquals(new Uint8Array(readFileSync(join(folder, "a.php"))), new Uint8Array(php(0xe8)));
      }),
  );

  const decodings: readonly (readonly [string, Uint8Array])[] = [
    ["latin1", php(0xe9)],
    [
      "gbk",
      Buffer.from(code(300).replaceAll("return", "/* ?? */ return"), "latin1").map((byte, index, all) =>
        byte === 0x3f ? all[index - 1] === 0x3f ? 0x40 : 0x81 : byte
      ),
    ],
  ];
  for (const [encoding, bytes] of decodings) {
    it(
      `has a map also for a host that decodes it properly (${encoding})`,
      LIMIT,
      () =>
        guarding(async ({ folder, wrap, model }) => {
          put(folder, "a.php", bytes);
          const text = new TextDecoder(encoding).decode(bytes), seen: unknown[] = [];
          assertEquals([linesOf(text), text.includes("\ufffd")], [300, false]);
          const read = wrap((args: { limit?: number }) => {
            seen.push(args);
            return text.split(/(?<=\n)/).slice(0, args.limit).join("");
          });
          assertCapped(await read({ path: "a.php" }), text);
          assertEquals([seen.length, model.calls.length], [1, 1]);
          put(folder, "a.php", Buffer.from(Buffer.from(bytes).toString("latin1").replace("f100", "g100"), "latin1"));
          assertStrictEquals(contentOf(await read({ path: "a.php" })), text); // but an edit is still seen
        }),
    );
  }
});

describe("line endings", () => {
  it(
    "lone CRs make no lines: 150 lines of three CR parts are not capped, 300 are, at line 200",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const progress = (lines: number) =>
          Array.from({ length: lines }, (_, index) => `const p${index} = 1;\r 50%\r100%`).join("\n");
        put(folder, "short.ts", progress(150));
        assertEquals(await read({ path: "short.ts" }), progress(150));
        assertEquals(model.calls.length, 0);
        put(folder, "long.ts", progress(300));
        assertCapped(await read({ path: "long.ts" }), progress(300));
      }),
  );

  it(
    "a host that breaks lines at lone CRs gets no map whose numbers would not fit its own",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        const text = Array.from({ length: 300 }, (_, index) => `const p${index} = 1;\r 50%\r100%`).join("\n");
        put(folder, "a.ts", text);
        const universal = text.replaceAll("\r", "\n");
        const read = wrap(({ limit }) => universal.split(/(?<=\n)/).slice(0, limit).join(""));
        const result = await read({ path: "a.ts" });
        assertEquals(contentOf(result), universal);
        assert(!result.includes("[waymark map"));
      }),
  );

  it(
    "form feeds make no lines: every row of the map leads to what it names",
    LIMIT,
    () =>
      guarding(async ({ folder, read }) => {
        const lines = python(260).split("\n");
        for (const at of [40, 120, 199, 201]) lines[at - 1] = "\f";
        const text = lines.join("\n") + "\n";
        put(folder, "a.py", text);
        const result = await read({ path: "a.py" });
        assertCapped(result, text);
        for (const { start, name } of rowsOf(result)) {
          assertStringIncludes(await read({ path: "a.py", offset: start, limit: 1 }), `def ${name}(`);
        }
      }),
  );

  it(
    "a final newline is no line: 200 pass, 201 do not, and the total is what a person counts",
    LIMIT,
    () =>
      guarding(async ({ folder, read, waymark }) => {
        for (const text of [code(200), `${code(200)}\n`, `${code(199)}\n\n`, `${code(197)}\n\n\n\n`]) {
          put(folder, "a.ts", text);
          assertEquals(await read({ path: "a.ts" }), text);
        }
        assertEquals(waymark.stats().caps, 0);
        for (const text of [code(201), `${code(201)}\n`, `${code(199)}\n\n\n\n`, `${crlf(code(201))}\r\n`]) {
          put(folder, "a.ts", text);
          assertCapped(await read({ path: "a.ts" }), text);
        }
        assertEquals(waymark.stats().caps, 4);
      }),
  );

  it(
    "CR alone makes no lines: such a file is one line, returned as it is and never sent to a model",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model, waymark }) => {
        const text = Array.from({ length: 500 }, (_, index) => `record ${index};${"x".repeat(48)}`).join("\r");
        for (const name of ["a.csv", "a.c"]) {
          put(folder, name, text);
          assertEquals(await read({ path: name }), text);
        }
        assertEquals([model.calls.length, waymark.stats().misses], [0, 0]);
      }),
  );

  it(
    "stay as they are, one by one, and none gets into a name",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const lf = code(300), one = lf.split("\n").map((line, index) => index === 149 ? `${line}\r` : line).join("\n");
        const but = crlf(lf).replace("f150(a: number) { return a + 150; }\r", "f150(a: number) { return a + 150; }");
        const texts = [lf, one, crlf(lf), but];
        for (const [index, text] of texts.entries()) {
          put(folder, "a.ts", text);
          const result = await read({ path: "a.ts" });
          assertCapped(result, text);
          assert(!result.slice(contentOf(result).length).includes("\r"));
          assertEquals(model.calls.length, index + 1); // four files by their bytes
        }
      }),
  );
});

describe("the shape of a text", () => {
  it(
    "an empty file, and one of newlines alone, are the tool's own answer",
    LIMIT,
    () =>
      guarding(async ({ folder, read, notices, model }) => {
        for (const text of ["", "\n", "\n".repeat(200)]) {
          put(folder, "a.ts", text);
          assertEquals(await read({ path: "a.ts" }), text);
        }
        put(folder, "blank.ts", "\n".repeat(300));
        assertEquals(contentOf(await read({ path: "blank.ts" })), "\n".repeat(300)); // nothing in it to map
        assertEquals([notices.length, model.calls.length <= 3], [1, true]);
      }),
  );

  it(
    "one line of 1.5 MB is passed on in one call, and no model sees it",
    LIMIT,
    () =>
      guarding(async ({ folder, read, calls, model }) => {
        const line = "var a=1;".repeat(187_500);
        for (const text of [line, `${line}\n`]) {
          put(folder, "bundle.js", text);
          assertEquals((await read({ path: "bundle.js" })).length, text.length);
        }
        assertEquals([calls.length, model.calls.length], [2, 0]);
      }),
  );

  it(
    "190 lines of 20 KB are passed on; of 210 the first 200 are shown and said to be",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const text = (lines: number) =>
          Array.from({ length: lines }, (_, index) => `"k${index}": "${"v".repeat(20_000)}",`).join("\n");
        put(folder, "short.json", text(190));
        assertEquals((await read({ path: "short.json" })).length, text(190).length);
        assertEquals(model.calls.length, 0);
        put(folder, "long.json", text(210));
        assertCapped(await read({ path: "long.json" }), text(210));
      }),
  );

  for (const lines of [38_000, 100_000]) {
    it(
      `${lines} lines are 200 lines and a map that says what it leaves out`,
      LIMIT,
      () =>
        guarding(async ({ folder, read }) => {
          const text = code(lines);
          put(folder, "a.ts", text);
          const result = await read({ path: "a.ts" });
          assertCapped(result, text);
          assertEquals(rowsOf(result).length, 400);
          assertStringIncludes(result, `Summary: TypeScript, ${lines} lines: ${lines} functions.`); // all, not those listed
          assertStringIncludes(result, `f24 and ${lines - 24} more`);
          assertStringIncludes(
            result,
            `${lines - 400} entries are left out, the most deeply nested first, of one depth the`,
          );
        }, { model: undefined }),
    );
  }

  it(
    "a file too long for the model is asked for once, read as asked, and the reason is the provider's",
    LIMIT,
    async () => {
      const api = await startMessagesApi({ replies: [message("never")] });
      try {
        const model = anthropic({ apiKey: api.key, baseURL: api.url });
        await guarding(async ({ folder, read }) => {
          const text = code(38_000);
          put(folder, "a.ts", text);
          for (let times = 0; times < 5; times++) {
            const result = await read({ path: "a.ts" });
            assertEquals(contentOf(result).length, text.length);
            assertStringIncludes(result, "prompt is too long");
          }
          assertEquals(api.requests.length, 1);
        }, { model });
        await guarding(async ({ folder, read }) => {
          const text = code(38_000);
          put(folder, "a.ts", text);
          const result = await read({ path: "a.ts" });
          assertStringIncludes(result, "lines 1-200 of 38000");
          assertTrueRows(result, text);
          assertStringIncludes(result, "prompt is too long");
        }, { model, fallback: "outline" });
      } finally {
        await api.close();
      }
    },
  );
});

describe("text that is not well-formed", () => {
  it("of the tool's is passed on as it is; what is sent, kept and said beside it is well-formed", LIMIT, async () => {
    const api = await startMessagesApi({
      replies: ({ body }) =>
        message(JSON.stringify(scriptedAnswer(String(body?.messages && JSON.stringify(body.messages))))),
    });
    try {
      await guarding(async ({ folder, wrap }) => {
        const lines = code(300).split("\n");
        lines[99] = `${lines[99]} // \ud83d alone`;
        put(folder, "a.ts", lines.join("\n").replace("\ud83d", "\ufffd"));
        const read = wrap(({ limit }) => lines.slice(0, limit).join("\n"));
        const result = await read({ path: "a.ts" }) as string;
        assertStringIncludes(contentOf(result), "// \ud83d alone");
        assertEquals(api.requests.length, 1);
        assert(result.slice(contentOf(result).length).isWellFormed());
        assert(!result.replace("\ud83d alone", "").includes("\ud83d"));
      }, { model: anthropic({ apiKey: api.key, baseURL: api.url }) });
    } finally {
      await api.close();
    }
  });

  it("never comes of cutting: emoji at every likely cut, families, flags and rare characters", LIMIT, async () => {
    const cuts = [80, 120, 160, 200, 500, 2000, 2400].flatMap((at) => [at - 2, at - 1, at, at + 1, at + 2]);
    const odd = ["😀", "👨‍👩‍👧‍👦", "🇩🇪", "𠮷", "\ud83d"];
    const texts = cuts.flatMap((at) => odd.map((character) => "w".repeat(at) + character + "w".repeat(3000)));
    const model = scriptedModel((_, index) => {
      const some = texts.slice(index * 25, index * 25 + 25);
      const regions = some.map((text, row) => ({
        start: row + 1,
        end: row + 1,
        kind: "function",
        name: text,
        note: text,
      }));
      return JSON.stringify({ prose: texts[index * 5]!, regions });
    });
    await guarding(async ({ folder, read, waymark }) => {
      for (let index = 0; index < texts.length / 25; index++) {
        put(folder, `a${index}.ts`, `${code(300)}\n// ${index}`);
        for (let times = 0; times < 2; times++) assert((await read({ path: `a${index}.ts` })).isWellFormed());
        const { prose, regions } = await waymark.summarize(join(folder, `a${index}.ts`));
        for (const text of [prose, ...regions.flatMap(({ name, note }) => [name, note])]) assert(text.isWellFormed());
        assert(prose.length <= 2400 && regions.every(({ name, note }) => name.length <= 120 && note.length <= 200));
      }
    }, { model });
  });

  it("never comes of the line scanner either", LIMIT, () =>
    guarding(async ({ folder, read }) => {
      const lines = [...Array(80).keys()].flatMap((
        at,
      ) => [`describe("${"w".repeat(50 + at)}😀${"𠮷".repeat(15)}", () => {`, "  run();", "});"]);
      put(folder, "a_test.ts", lines.join("\n"));
      const result = await read({ path: "a_test.ts" });
      assertStringIncludes(result, "[waymark map");
      assert(result.isWellFormed());
    }, { model: undefined }));
});

/** One true region for the numbered file in a request. */
function scriptedAnswer(request: string): unknown {
  const line = /(\d+)\\t[^\\]*function (f250)/.exec(request);
  return {
    prose: "Adds.",
    regions: [{ start: Number(line?.[1]), end: Number(line?.[1]), kind: "function", name: line?.[2], note: "" }],
  };
}
