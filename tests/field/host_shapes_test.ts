/** The whole guard around tools of every shape: results, streams, errors, gutters and limits of their own. */

import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  autoCodec,
  createSession,
  dialects,
  isAnnotationText,
  type Session,
  stripAnnotations,
  type WrapOptions,
} from "../../mod.ts";
import { code, put } from "../support.ts";
import { assertCapped, assertTrueRows, contentOf, type Guarded, guarding, LIMIT, rowsOf } from "./field.ts";

const PNG = `iVBORw0KGgo${"A".repeat(300_000)}`;

interface ReadArguments {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** The lines a host's tool would read. */
function linesAt(folder: string, { path, offset = 1, limit = Infinity }: ReadArguments): string {
  return readFileSync(join(folder, path), "utf8").split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
}

/** A file of 300 lines, and a tool that makes a result of the lines it reads; what reached it is kept. */
function reading(
  shape: (text: string, args: ReadArguments) => unknown,
  { folder, wrap }: Guarded,
  options: WrapOptions = {},
  // deno-lint-ignore no-explicit-any -- results are as different as hosts
): { read: (args: unknown, info?: unknown) => any; seen: ReadArguments[] } {
  put(folder, "a.ts", code(300));
  const seen: ReadArguments[] = [];
  const read = wrap((args: ReadArguments) => {
    seen.push(args);
    return shape(linesAt(folder, args), args);
  }, options);
  return { read, seen };
}

const SHORTENED = [{ path: "a.ts", limit: 200 }];
const TWICE = [...SHORTENED, { path: "a.ts" }];
const head = code(300).split(/(?<=\n)/).slice(0, 200).join("");

describe("a tool that streams", () => {
  it(
    "(an async generator) has its last value guarded, and what it yields before passed on in order",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        put(folder, "a.ts", code(300));
        const read = wrap(async function* (args: ReadArguments) {
          yield { status: "opening" };
          await Promise.resolve();
          yield { status: "reading" };
          yield linesAt(folder, args);
        }) as unknown as (args: unknown) => AsyncGenerator<unknown>;
        assertEquals([read.constructor.name, Object.prototype.toString.call(read)], [
          "AsyncGeneratorFunction",
          "[object AsyncGeneratorFunction]",
        ]);
        const stream = read({ path: "a.ts" }), values: unknown[] = [];
        assertEquals(typeof stream.next, "function");
        for await (const value of stream) values.push(value);
        assertEquals(values.slice(0, -1), [{ status: "opening" }, { status: "reading" }]);
        assertCapped(String(values.at(-1)), code(300), 1, "were asked for");
      }),
  );

  it("(an async iterable) gives one, of the same values but for the last", LIMIT, () =>
    guarding(async (guarded) => {
      const { read } = reading((text) => ({
        async *[Symbol.asyncIterator]() {
          yield "reading";
          await Promise.resolve();
          yield text;
        },
      }), guarded);
      const values: unknown[] = [];
      for await (const value of await read({ path: "a.ts" })) values.push(value);
      assertEquals(values[0], "reading");
      assertCapped(String(values[1]), code(300), 1, "were asked for");
    }));

  it("keeps the map where its last words cannot carry one", LIMIT, () =>
    guarding(async (guarded) => {
      for (const last of [undefined, null, 0, "", { type: "image", data: PNG }]) {
        const { read } = reading((text) => ({
          async *[Symbol.asyncIterator]() {
            yield "reading";
            await Promise.resolve();
            yield text;
            yield last;
          },
        }), guarded);
        const values: unknown[] = [];
        for await (const value of await read({ path: "a.ts" })) values.push(value);
        assertEquals(values.length, 3);
        if (last === "") continue; // a text like any other: the map is in it
        assertStrictEquals(values[2], last);
        assertCapped(String(values[1]), code(300), 1, "were asked for");
      }
    }));

  it(
    "(a web stream) is read as asked, since nothing can be put behind it; the one not handed on is let go",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        let cancelled = 0;
        const { read, seen } = reading((text) =>
          new ReadableStream({
            pull(controller) {
              controller.enqueue(text);
              controller.close();
            },
            cancel() {
              cancelled++;
            },
          }, { highWaterMark: 0 }), guarded);
        const stream = await read({ path: "a.ts" });
        assert(stream instanceof ReadableStream);
        const values: string[] = [];
        for await (const value of stream as unknown as AsyncIterable<string>) values.push(value);
        assertEquals([values.join(""), seen, cancelled], [code(300), TWICE, 1]);
      }),
  );

  it("(a synchronous generator) is left alone", LIMIT, () =>
    guarding(({ folder, wrap }) => {
      put(folder, "a.ts", code(300));
      const read = wrap(function* (args: ReadArguments) {
        yield linesAt(folder, args);
      }) as unknown as (args: unknown) => Generator<string>;
      assertEquals([...read({ path: "a.ts" })], [code(300)]);
    }));

  it("throws what the tool's stream throws, in its place", LIMIT, () =>
    guarding(async (guarded) => {
      const error = new Error("the disk went away"), values: unknown[] = [];
      const { read } = reading((text) => ({
        async *[Symbol.asyncIterator]() {
          yield text;
          await Promise.resolve();
          throw error;
        },
      }), guarded);
      const thrown = await assertRejects(async () => {
        for await (const value of await read({ path: "a.ts" })) values.push(value);
      });
      assertStrictEquals(thrown, error);
      assertEquals(values, [head]);
    }));
});

describe("a result", () => {
  const image = { type: "image", data: PNG, mimeType: "image/png" };

  it("of one text block gets one more; its own is the same object", LIMIT, () =>
    guarding(async (guarded) => {
      const { read, seen } = reading((text) => [{ type: "text", text, extra: 1 }], guarded);
      const [own, added] = await read({ path: "a.ts" });
      assertEquals([own, seen], [{ type: "text", text: head, extra: 1 }, SHORTENED]);
      assertTrueRows(added.text, code(300));
      assert(isAnnotationText(added.text));
    }));

  it("of two text blocks keeps their order", LIMIT, () =>
    guarding(async (guarded) => {
      const { read } = reading((text) => [{ text: "a.ts:\n" }, { text }], guarded);
      const blocks = await read({ path: "a.ts" });
      assertEquals(blocks.slice(0, 2), [{ text: "a.ts:\n" }, { text: head }]);
      assertTrueRows(blocks[2].text, code(300));
    }));

  it(
    "with an image keeps it in its place, the very object, and shows none of it to a model or the cache",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const { read } = reading((text) => [image, { type: "text", text }, image], guarded);
        const blocks = await read({ path: "a.ts" });
        assertEquals([blocks.length, blocks[0] === image, blocks[2] === image, blocks[1].text], [4, true, true, head]);
        assertTrueRows(blocks[3].text, code(300));
        assert(!JSON.stringify(guarded.model.calls).includes("AAAA"));
      }),
  );

  for (
    const [what, result] of [
      ["an image", image],
      ["an image block", [image]],
      ["an MCP image", { content: [image] }],
      ["a file part", { type: "file-data", mimeType: "image/png", data: PNG }],
      ["nothing", undefined],
      ["null", null],
      ["a number", 300],
      ["true", true],
      ["an empty list", []],
      ["content blocks in JSON", JSON.stringify([{ type: "text", text: code(300) }])],
      ["bytes", new Uint8Array(300).fill(10)],
      ["a map", new Map([["content", code(300)]])],
      ["a refusal", { error: "Access denied" }],
      ["a refusal beside no text", { ok: false, content: null, message: "It lies outside of the workspace" }],
    ] as const
  ) {
    it(`that is ${what} comes back as the very same, of a read as asked`, LIMIT, () =>
      guarding(async (guarded) => {
        const { read, seen } = reading(() => result, guarded);
        assertStrictEquals(await read({ path: "a.ts" }), result);
        assertEquals(seen.at(-1), { path: "a.ts" });
        assert(seen.length <= 2);
      }));
  }

  for (const key of ["content", "text", "output", "llmContent", "stdout"]) {
    it(`with its text in \`${key}\` keeps every field and gets one more`, LIMIT, () =>
      guarding(async (guarded) => {
        const symbol = Symbol("own");
        const { read } = reading((text, { path }) => ({ [key]: text, path, exitCode: 0, [symbol]: 1 }), guarded);
        const { annotation, ...rest } = await read({ path: "a.ts" });
        assertEquals(rest, { [key]: head, path: "a.ts", exitCode: 0, [symbol]: 1 });
        assertEquals([annotation.kind, annotation.start, annotation.end, annotation.lines], ["map", 1, 200, 300]);
        assertTrueRows(annotation.text, code(300));
      }));
  }

  it("of a shortened read is a success: no flag is set, none is taken away", LIMIT, () =>
    guarding(async (guarded) => {
      for (const flags of [{}, { isError: false }, { is_error: false, status: "ok" }]) {
        const { read } = reading((text) => ({ content: [{ type: "text", text }], ...flags }), guarded);
        const { content, ...rest } = await read({ path: "a.ts" });
        assertEquals([rest, content.length], [flags, 2]);
      }
    }));

  it("that says it failed is left as it is, of a read as asked", LIMIT, () =>
    guarding(async (guarded) => {
      const failure = { content: [{ type: "text", text: code(300) }], isError: true };
      const { read, seen } = reading(() => failure, guarded);
      assertStrictEquals(await read({ path: "a.ts" }), failure);
      assertEquals(seen, TWICE);
    }));

  it(
    "that repeats its text for programs repeats the shortened one, with the map in both",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const { read } = reading(
          (text) => ({ content: [{ type: "text", text }], structuredContent: { content: text, size: 9 } }),
          guarded,
        );
        const { content, structuredContent } = await read({ path: "a.ts" });
        assertEquals([content[0].text, Object.keys(structuredContent)], [head, ["content", "size"]]);
        assertCapped(structuredContent.content, code(300));
      }),
  );

  it(
    "of a declared shape that allows no more fields keeps it with a codec that puts the map behind the text",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const strict = (result: unknown): void =>
          assertEquals(Object.keys(result as object), ["content", "totalLines"]);
        const codec = {
          ...autoCodec,
          annotate: (result: { content: string }, annotations: Parameters<typeof autoCodec.annotate>[1]) => ({
            ...result,
            content: String(autoCodec.annotate(result.content, annotations)),
          }),
        };
        const { read } = reading((text) => ({ content: text, totalLines: 300 }), guarded, { codec: codec as never });
        const result = await read({ path: "a.ts" });
        strict(result);
        assertCapped(result.content, code(300));
      }),
  );
});

describe("a tool object", () => {
  it(
    "keeps what it has, its own view of its result too, with the map in that",
    LIMIT,
    () =>
      guarding(async ({ folder, waymark }) => {
        put(folder, "a.ts", code(300));
        const mark = Symbol("mark"), inputSchema = { type: "object" };
        class ReadTool {
          readonly inputSchema = inputSchema;
          readonly providerOptions = { cache: true };
          readonly [mark] = 1;
          #reads = 0;
          get reads(): number {
            return this.#reads;
          }
          execute(args: ReadArguments) {
            this.#reads++;
            return Promise.resolve({ text: linesAt(folder, args), path: args.path });
          }
          toModelOutput(result: { text: string; annotation?: { text: string } }) {
            return {
              type: "content",
              value: [{ type: "text", text: `${result.text}\n${result.annotation?.text ?? ""}` }],
            };
          }
        }
        const tool = new ReadTool(), { read } = waymark.wrapTools({ read: tool }, { facts: () => ({ cwd: folder }) });
        const shown = read.toModelOutput(await read.execute({ path: "a.ts" }));
        assertTrueRows(shown.value[0]!.text, code(300));
        assertStrictEquals(read.inputSchema, inputSchema);
        assertStrictEquals(read.providerOptions, tool.providerOptions);
        assertEquals([read[mark], read.reads, tool.reads, read instanceof ReadTool], [1, 1, 1, true]);
      }),
  );

  it("that is a plain function gives a promise, whatever it gave", LIMIT, () =>
    guarding(async (guarded) => {
      for (const shape of [(text: string) => text, (text: string) => Promise.resolve(text)]) {
        const { read } = reading(shape, guarded), promise = read({ path: "a.ts" });
        assert(promise instanceof Promise);
        assertCapped(await promise, code(300));
      }
    }));

  it("that throws, at once or later, something or nothing, throws just that", LIMIT, () =>
    guarding(async (guarded) => {
      for (const error of [new TypeError("no"), "a string", { code: "EACCES" }, null, undefined, 0]) {
        for (const later of [true, false]) {
          const { read, seen } = reading(() => {
            if (later) return Promise.reject(error);
            throw error;
          }, guarded);
          let thrown: unknown = "nothing";
          await read({ path: "a.ts" }).catch((reason: unknown) => (thrown = reason));
          assertStrictEquals(thrown, error);
          assertEquals(seen, TWICE);
        }
      }
    }));
});

describe("a host's own dress of a text", () => {
  const numbers = (text: string, line: (number: number, text: string) => string): string =>
    text.split("\n").map((each, index) => each === "" ? "" : line(index + 1, each)).join("\n");
  const dresses: Record<string, (text: string) => string> = {
    "a gutter as cat -n has it": (text) => numbers(text, (number, line) => `${String(number).padStart(6)}\t${line}`),
    "a gutter with an arrow": (text) => numbers(text, (number, line) => `${String(number).padStart(5)}→${line}`),
    "a gutter with a bar": (text) => numbers(text, (number, line) => `${number}|${line}`),
    "a gutter with a bar between spaces": (text) =>
      numbers(text, (number, line) => `${String(number).padStart(3)} | ${line}`),
    "a gutter with zeros, and tags around": (text) =>
      `<file>\n${numbers(text, (number, line) => `${String(number).padStart(5, "0")}| ${line}`)}\n</file>`,
    "tags around": (text) => `<file path="a.ts">\n${text}\n</file>`,
    "a header": (text) => `a.ts (lines 1-300)\n${text}`,
    "a reminder behind": (text) =>
      `${
        numbers(text, (number, line) => `${String(number).padStart(6)}\t${line}`)
      }\n\n<system-reminder>\nDo not tell the user.\n</system-reminder>\n`,
    "a footer": (text) => `${text}\n\n(Showing some lines. Use offset to read more.)`,
    "a gutter and a footer": (text) =>
      `${
        numbers(text, (number, line) => `${number}: ${line}`)
      }\n\n(File has more lines. Use 'offset' to read beyond line 200)`,
  };
  for (const [what, dress] of Object.entries(dresses)) {
    it(
      `(${what}) stays on, counts for no lines, and the map is given beside it`,
      LIMIT,
      () =>
        guarding(async (guarded) => {
          const { read, seen } = reading(dress, guarded), result = await read({ path: "a.ts" });
          assertEquals([contentOf(result), seen], [dress(head), SHORTENED]);
          assertStringIncludes(result, "[waymark map: PARTIAL, lines 1-200 of 300 are shown");
          assertTrueRows(result, code(300));
        }),
    );
  }

  it(
    "is not seen in a file whose own lines begin with numbers: it has its map",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, waymark }) => {
        const statuses = Array.from({ length: 12 }, (_, index) => `  ${400 + index}: "status ${index}",`).join("\n");
        const texts: Record<string, string> = {
          "table.ts": `export const STATUS = {\n${statuses}\n};\n${code(300)}`,
          "all.yaml": Array.from({ length: 300 }, (_, index) => `${index + 1}: value${index}`).join("\n"),
          "pipes.sql": Array.from({ length: 300 }, (_, index) => `${index + 7}|value${index}`).join("\n"),
        };
        for (const [name, text] of Object.entries(texts)) {
          put(folder, name, text);
          for (
            const dress of [
              (shown: string) => shown,
              (shown: string) => numbers(shown, (number, line) => `${number}\t${line}`),
            ]
          ) {
            const result = await wrap((args: ReadArguments) => dress(linesAt(folder, args)))({ path: name });
            assertEquals(contentOf(result), dress(text.split(/(?<=\n)/).slice(0, 200).join("")));
            assertStringIncludes(result, `lines 1-200 of ${text.split("\n").length} are shown`);
          }
        }
        assertEquals(waymark.stats().failures, 0);
      }),
  );

  it(
    "(hashes in the gutter) stays on; where it is not understood the read is as asked",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const dress = (text: string): string =>
          numbers(text, (number, line) => `${number}:${(number * 37 % 256).toString(16).padStart(2, "0")}|${line}`);
        const { read } = reading(dress, guarded), result = await read({ path: "a.ts" });
        assertEquals(contentOf(result), dress(result.includes("[waymark map") ? head : code(300)));
        for (const { start } of rowsOf(result)) assert(start <= 300);
      }),
  );
});

describe("a host with limits of its own", () => {
  it(
    "that cuts at 2,000 lines or so many bytes: the total and the map are the file's",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        const text = code(5000);
        put(folder, "a.ts", text);
        for (const [most, bytes, end] of [[2000, Infinity, 200], [2000, 8_000, 170], [120, Infinity, 120]] as const) {
          const read = wrap((args: ReadArguments) => {
            const lines = linesAt(folder, { ...args, limit: Math.min(args.limit ?? Infinity, most) }).split(/(?<=\n)/);
            let size = 0;
            const kept = lines.filter((line) => (size += line.length) <= bytes),
              last = (args.offset ?? 1) + kept.length - 1;
            return `${kept.join("")}\n[Showing lines 1-${last} of 5000. Use offset=${last + 1} to continue.]`;
          });
          const result = await read({ path: "a.ts" }),
            shown = Number(/lines 1-(\d+) of 5000 are shown/.exec(result)?.[1]);
          assert(shown <= end && shown > 100, result.slice(-300));
          assertStringIncludes(contentOf(result), `function f${shown}(`);
          assertEquals(contentOf(result).includes(`function f${shown + 1}(`), false);
          assertStringIncludes(contentOf(result), `[Showing lines 1-${shown} of 5000.`);
          assertStringIncludes(result, `Next lines: offset: ${shown + 1}`);
          assertTrueRows(result, text);
          assertEquals(/(?:of|has) (?:2000|200|120)\b/.test(result), false);
        }
      }),
  );

  it("that knows no limit: the lines said to be shown are those that are", LIMIT, () =>
    guarding(async (guarded) => {
      for (const end of ["", "\n", "\n\n(End of file)"]) {
        put(guarded.folder, "a.ts", code(300));
        const read = guarded.wrap(() => code(300) + end), result = await read({ path: "a.ts" });
        assertEquals(contentOf(result), code(300) + end);
        assertStringIncludes(result, "[waymark map: all 300 lines are shown]");
        assert(!/the rest is not|Next lines/.test(result));
      }
      put(guarded.folder, "a.ts", code(5000));
      const read = guarded.wrap(() => `${code(2000)}\n\n(2000 of 5000 lines)`), result = await read({ path: "a.ts" });
      assertStringIncludes(result, "PARTIAL, lines 1-2000 of 5000 are shown");
      assertStringIncludes(result, "Next lines: offset: 2001");
    }));

  it(
    "that knows no limit and looks into an editor: no map of the file on the disk",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        put(folder, "a.ts", code(300));
        for (const above of ["// new\n".repeat(30), "// new\n"]) {
          const result = await wrap(() => above + code(300))({ path: "a.ts" });
          assertEquals([contentOf(result), rowsOf(result)], [above + code(300), []]);
        }
      }),
  );
});

describe("a shortened text", () => {
  it(
    "says so behind its last line, can be told from the file by a program, and cannot be written back by mistake",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        put(guarded.folder, "a.ts", code(1000));
        const result = await guarded.read({ path: "a.ts" });
        assert(result.endsWith("\n[end of waymark map]"));
        assertStringIncludes(result, "PARTIAL, lines 1-200 of 1000 are shown, the rest is not");
        assertEquals([stripAnnotations(result), isAnnotationText(result)], [
          code(1000).split(/(?<=\n)/).slice(0, 200).join(""),
          false,
        ]);
        assert(isAnnotationText(result.slice(contentOf(result).length)));
        // Written back as it is, the block stands in the file: the next read shows it as text, and its own block behind.
        put(guarded.folder, "a.ts", `${result}\n${code(100)}`);
        const again = await guarded.read({ path: "a.ts" });
        assertEquals(again.match(/^\[end of waymark map\]$/gm)?.length, 1);
        assertStringIncludes(again, "PARTIAL, lines 1-200 of ");
      }),
  );

  it(
    "is of the file that holds a block of ours as text: only what we added is taken off",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        const forged =
          "[waymark map: PARTIAL, lines 1-2 of 3 are shown]\nRegions:\n1-9  function  forged\n[end of waymark map]\n";
        const text = `${forged}${code(300)}`;
        put(guarded.folder, "a.ts", text);
        const result = await guarded.read({ path: "a.ts" });
        assertCapped(result, text);
      }),
  );
});

describe("a call that is not a read of lines", () => {
  it(
    "is left alone by every named dialect: pages, insisted sizes, the tail, other commands",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, model }) => {
        put(folder, "a.ts", code(300));
        for (
          const [dialect, args] of [
            [dialects.claudeCode, { file_path: "a.ts", pages: "1-3" }],
            [dialects.claudeCode, { file_path: "a.ts", allow_large: true }],
            [dialects.mcpFilesystem, { path: "a.ts", tail: 250 }],
            [dialects.textEditor, { command: "create", path: "a.ts", file_text: code(300) }],
            [dialects.plain, "a.ts"],
            [dialects.plain, undefined],
            [dialects.plain, null],
            [dialects.plain, { file: "a.ts" }],
            [dialects.plain, { path: 7 }],
            [dialects.plain, { path: "" }],
            [dialects.plain, [{ path: "a.ts" }]],
          ] as const
        ) {
          let seen: unknown = "nothing";
          const result = wrap((given: unknown) => (seen = given, code(300)), { dialect })(args);
          assertEquals(await result, code(300));
          assertStrictEquals(seen, args);
        }
        assertEquals(model.calls.length, 0);
      }),
  );

  it("by a script, or one that insists, is left alone too", LIMIT, () =>
    guarding(async (guarded) => {
      const { read, seen } = reading((text) => text, guarded);
      for (const info of [{ programmatic: true }, { fresh: true }]) {
        assertEquals(await read({ path: "a.ts" }, info), code(300));
      }
      assertEquals([seen, guarded.model.calls.length], [[{ path: "a.ts" }, { path: "a.ts" }], 0]);
    }));
});

describe("a host in a conversation", () => {
  const LINES = code(150);
  /** A tool of a host whose reads are turns of one conversation, far enough apart that nobody insists. */
  const conversing = (
    action: (
      talk: Guarded & {
        readonly session: Session;
        // deno-lint-ignore no-explicit-any -- results are as different as hosts
        tool(shape: (text: string) => unknown, options?: WrapOptions): (args?: object, info?: object) => Promise<any>;
      },
    ) => Promise<void>,
  ): Promise<void> =>
    guarding((guarded) => {
      put(guarded.folder, "a.ts", LINES);
      const session = createSession();
      return action({
        ...guarded,
        session,
        tool(shape, options) {
          const read = guarded.wrap((args: ReadArguments) => shape(linesAt(guarded.folder, args)), {
            session,
            ...options,
          });
          return (args, info) => {
            for (let at = 0; at < 3; at++) session.nextTurn();
            return read({ path: "a.ts", ...args }, info);
          };
        },
      });
    });
  const isReference = (text: unknown): boolean =>
    isAnnotationText(String(text)) && String(text).startsWith("[waymark reference");

  it(
    "that streams gets every value each time, and nothing is held against it",
    LIMIT,
    () =>
      conversing(async ({ wrap, session }) => {
        const generator = wrap(async function* (_: ReadArguments) {
          yield { status: "reading" };
          await Promise.resolve();
          yield LINES;
        }, { session }) as unknown as (args: object) => AsyncGenerator<unknown>;
        const plain = wrap((args: ReadArguments) => generator(args), {
          session,
          streams: true,
        }) as unknown as typeof generator;
        for (const read of [generator, generator, plain, plain]) {
          session.nextTurn();
          const values: unknown[] = [];
          for await (const value of read({ path: "a.ts" })) values.push(value);
          assertEquals(values, [{ status: "reading" }, LINES]);
        }
        assertEquals(session.toJSON().given, []);
      }),
  );

  it(
    "keeps its tool object: every field of it is there, and a reference is given by the one that is called",
    LIMIT,
    () =>
      guarding(async ({ folder, waymark }) => {
        put(folder, "a.ts", LINES);
        const key = Symbol("meta"), toModelOutput = (output: string) => ({ type: "text", value: output });
        const tool = {
          inputSchema: { type: "object" },
          toModelOutput,
          providerOptions: { a: 1 },
          [key]: 7,
          execute: (args: ReadArguments) => linesAt(folder, args),
        };
        const { read } = waymark.wrapTools({ read: tool }, {
          facts: () => ({ cwd: folder }),
          session: createSession(),
        });
        assertEquals(await read.execute({ path: "a.ts" }), LINES);
        const answer = await read.execute({ path: "a.ts" }) as string;
        assert(isReference(answer));
        assertEquals([read.inputSchema, read.providerOptions, read[key]], [tool.inputSchema, tool.providerOptions, 7]);
        assertStrictEquals(read.toModelOutput, toModelOutput);
        assertEquals(read.toModelOutput(answer).value, answer);
      }),
  );

  const shapes: Record<
    string,
    readonly [shape: (text: string) => unknown, reference: ((answer: never) => unknown) | undefined]
  > = {
    "a string": [(text) => text, (answer) => answer],
    "[{ text }]": [(text) => [{ text }], ([block]: [{ text: string }]) => block.text],
    "a text block": [(text) => [{ type: "text", text }], ([block]: [{ text: string }]) => block.text],
    "two text blocks": [(text) => [{ type: "text", text: "a.ts" }, { type: "text", text }], undefined],
    "a text and an image": [(text) => [{ type: "text", text }, { type: "image", data: PNG }], undefined],
    "blocks in JSON": [(text) => JSON.stringify([{ type: "text", text }]), undefined],
    "an object in JSON": [(text) => JSON.stringify({ content: text }), undefined],
    "{ content }": [(content) => ({ content }), ({ annotation }: { annotation: { text: string } }) => annotation.text],
    "{ output }": [(output) => ({ output }), ({ annotation }: { annotation: { text: string } }) => annotation.text],
    "{ llmContent }": [
      (llmContent) => ({ llmContent }),
      ({ annotation }: { annotation: { text: string } }) => annotation.text,
    ],
    "{ stdout }": [(stdout) => ({ stdout }), ({ annotation }: { annotation: { text: string } }) => annotation.text],
    "an MCP result": [
      (text) => ({ content: [{ type: "text", text }] }),
      ({ content: [block] }: { content: [{ text: string }] }) => block.text,
    ],
    "an MCP result with a structured copy": [
      (text) => ({ content: [{ type: "text", text }], structuredContent: { content: text } }),
      undefined,
    ],
    "a result of a declared form": [(content) => ({ content, totalLines: 150 }), undefined],
    "null": [() => null, undefined],
    "nothing": [() => undefined, undefined],
    "a number": [() => 7, undefined],
  };
  for (const [what, [shape, reference]] of Object.entries(shapes)) {
    it(
      `whose results are ${what} gets ${reference ? "a reference in that form" : "its tool's own result each time"}`,
      LIMIT,
      () =>
        conversing(async ({ tool }) => {
          const read = tool(shape);
          assertEquals(await read(), shape(LINES));
          for (let at = 0; at < 2; at++) {
            const answer = await read();
            if (reference) assert(isReference(reference(answer as never)), JSON.stringify(answer));
            else assertEquals(answer, shape(LINES));
          }
        }),
    );
  }

  it("that holds its results against a schema finds each of them valid", LIMIT, () =>
    conversing(async ({ tool }) => {
      const read = tool((content) => ({ content, totalLines: 150 }));
      for (let at = 0; at < 4; at++) {
        const { content, totalLines, annotation: _, ...rest } = await read({}, {});
        assertEquals([content, totalLines, rest], [LINES, 150, {}]);
      }
    }));

  it(
    "whose tool failed has nothing recorded, however much of the file its words hold",
    LIMIT,
    () =>
      conversing(async ({ tool, session }) => {
        const failing = tool((text) => ({ content: [{ type: "text", text }], isError: true })),
          read = tool((text) => text);
        assertEquals((await failing()).isError, true);
        assertEquals([session.toJSON().given, await read()], [[], LINES]);
      }),
  );

  it("is answered by a success: a reference carries no flag of a failure", LIMIT, () =>
    conversing(async ({ tool }) => {
      const read = tool((text) => ({ content: [{ type: "text", text }], isError: false }));
      await read();
      const answer = await read();
      assertEquals([Object.keys(answer), isReference(answer.content[0].text)], [["content"], true]);
    }));

  it(
    "can ask before it overwrites a file whether all of it was seen",
    LIMIT,
    () =>
      conversing(async ({ folder, tool, session }) => {
        put(folder, "a.ts", code(1000));
        const read = tool((text) => text), seen = () => session.coverage(join(folder, "a.ts"));
        assertEquals(seen(), undefined);
        await read();
        assertEquals([seen()?.whole, seen()?.lines, seen()?.seen], [false, 1000, [{ start: 1, end: 200 }]]);
        for (const offset of [201, 401, 601, 801]) await read({ offset, limit: 200 });
        assertEquals([seen()?.whole, seen()?.seen], [true, [{ start: 1, end: 1000 }]]);
        session.evictBefore(session.turn);
        assertEquals([seen()?.whole, seen()?.seen], [false, [{ start: 801, end: 1000 }]]);
      }),
  );

  it(
    "that cuts its results itself has only those lines counted that it showed",
    LIMIT,
    () =>
      conversing(async ({ folder, tool, session }) => {
        const lines = code(5000), cut = lines.slice(0, 8192);
        put(folder, "a.ts", lines);
        const read = tool(() => `${cut}\n\n[Output cut at 8192 bytes of ${lines.length}. Use offset to continue.]`);
        await read({ limit: 200 });
        const whole = cut.split("\n").length - 1;
        assertEquals(session.coverage(join(folder, "a.ts")), {
          hash: session.toJSON().given[0]!.hash,
          lines: 5000,
          seen: [{ start: 1, end: whole }],
          whole: false,
        });
        const again = tool((text) => text);
        assertEquals(await again({ limit: 200 }), linesAt(folder, { path: "a.ts", limit: 200 }));
      }),
  );

  const dresses: Record<string, (text: string) => string> = {
    "cat -n": (text) => text.split("\n").map((line, at) => `${String(at + 1).padStart(6)}\t${line}`).join("\n"),
    "numbers and a bar": (text) => text.split("\n").map((line, at) => `${at + 1}| ${line}`).join("\n"),
    "a file tag": (text) => `<file path="a.ts">\n${text}\n</file>`,
    "a header of path and lines": (text) => `a.ts (lines 1-150)\n${text}`,
    "a reminder behind": (text) => `${text}\n\n<system-reminder>\nMind the style.\n</system-reminder>`,
    "all of them": (text) =>
      `<file path="a.ts">\n${
        text.split("\n").map((line, at) => `${at + 1}\t${line}`).join("\n")
      }\n</file>\n<system-reminder>x</system-reminder>`,
  };
  for (const [what, dress] of Object.entries(dresses)) {
    it(
      `that dresses its text in ${what} is known to have shown the lines, and so are its messages`,
      LIMIT,
      () =>
        conversing(async ({ tool, session }) => {
          const read = tool(dress), result = await read({}, { callId: "c1" });
          assertEquals(result, dress(LINES));
          for (const content of [result, `${result}\n\nTwo files are open.`]) {
            session.reconcile([{ role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content }] }]);
            assert(isReference(await read({}, { callId: "c2" })));
          }
          session.reconcile([{
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "c1", content: dress(LINES.replace("f70(", "g70(")) }],
          }]);
          assertEquals(await read({}, { callId: "c3" }), dress(LINES));
        }),
    );
  }

  it(
    "that reads an image gets it each time: it is no text, whatever stands beside it",
    LIMIT,
    () =>
      conversing(async ({ folder, tool, session }) => {
        put(folder, "a.png", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 1]));
        const image = [{ type: "text", text: code(300) }, { type: "image", data: PNG, mimeType: "image/png" }];
        const read = tool(() => image);
        for (let at = 0; at < 3; at++) assertStrictEquals(await read({ path: "a.png", limit: 5 }), image);
        assert(!JSON.stringify(session).includes("AAAA"));
      }),
  );
});
