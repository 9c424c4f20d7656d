import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { capture, textOf } from "../../src/tool_use/result_text.ts";

const read = (result: unknown): string => textOf(capture(result)).text;
const image = { type: "image", data: "iVBORw0KGgo".repeat(3000), mimeType: "image/png" };

class Message {
  content = "the text of a class";
  readonly lc_kwargs = { content: "the text of a class" };
  get boom(): string {
    throw new Error("read a getter");
  }
}

/** Results of many hosts, and the text they hold. */
const SHAPES: readonly (readonly [what: string, result: unknown, text: string])[] = [
  ["a string", "one\ntwo", "one\ntwo"],
  ["a block without a type", [{ text: "one" }], "one"],
  ...["text", "input_text", "output_text", "error_text", "error-text", "content", "thinking"].map((type) =>
    [`a block of the type ${type}`, [{ type, text: "one" }], "one"] as const
  ),
  ...["image", "audio", "video", "media", "pdf", "document", "binary", "blob", "file"].map((type) =>
    [
      `a text beside a block of the type ${type}`,
      [{ type: "text", text: "one" }, { type, data: "AAAA" }],
      "one",
    ] as const
  ),
  ...["data", "source", "blob", "image", "image_url", "url", "uri", "base64", "file", "file_data"].map((name) =>
    [
      `a text beside an image in ${name}`,
      [{ type: "text", text: "one" }, { type: "image", [name]: "AAAA" }],
      "one",
    ] as const
  ),
  ["two text blocks", [{ type: "text", text: "one" }, { type: "text", text: "two" }], "one\ntwo"],
  ["a text and an image", [{ type: "text", text: "one" }, image], "one"],
  ["an MCP result", { content: [{ type: "text", text: "one" }, image], isError: true }, "one"],
  [
    "an MCP result that says it twice",
    { content: [{ type: "text", text: "one" }], structuredContent: { a: "one" } },
    "one",
  ],
  ["an MCP resource", { content: [{ type: "resource", resource: { uri: "a", text: "one" } }] }, "one"],
  ["a tool_result block", [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "one" }] }], "one"],
  ["blocks as JSON text", JSON.stringify([{ type: "text", text: "one" }, image]), "one"],
  ["content", { content: "one", path: "a.ts", totalLines: 3 }, "one"],
  ["output", { title: "a.ts", output: "one", metadata: { preview: "on" } }, "one"],
  ["llmContent", { llmContent: "one", returnDisplay: "Read" }, "one"],
  ["stdout and stderr in their order", { stdout: "one", stderr: "two", exitCode: 1 }, "one\ntwo"],
  ["a file of its own", { type: "text", file: { filePath: "/a.ts", content: "one", numLines: 1 } }, "one"],
  ["an AI SDK text output", { type: "text", value: "one" }, "one"],
  ["an AI SDK content output", { type: "content", value: [{ type: "text", text: "one" }, image] }, "one"],
  ["an instance of a class", new Message(), "the text of a class"],
  ["an object without a prototype", Object.assign(Object.create(null), { text: "one" }), "one"],
  ["an image alone", { content: [image] }, ""],
  ["an image of another host", { type: "image", file: { base64: image.data, type: "image/png" } }, ""],
  ["an image as JSON text", JSON.stringify([image]), ""],
  ["null", null, ""],
  ["undefined", undefined, ""],
  ["a number", 7, "7"],
  ["bytes", new Uint8Array(9000), ""],
  ["a function", () => "one", ""],
  ["a web stream", new ReadableStream(), ""],
  ["a generator", (function* () {})(), ""],
  ["an async generator", (async function* () {})(), ""],
  ["an iterator with no symbol", { next: () => ({ done: true }) }, ""],
  ["a promise", Promise.resolve("one"), ""],
  ["a Map", new Map([["a", "one"]]), ""],
  ["an empty object", {}, ""],
];

describe("the text of a result", () => {
  for (const [what, result, text] of SHAPES) {
    it(`is found in ${what}`, () => assertEquals(read(result), text));
  }

  it("is JSON whose line breaks, colours and other controls are themselves, and whose quotes are not", () => {
    const log = 'one\n\u001b[31mtwo\u001b[0m\t"three\\n"\r\n\b\f\u0001 é';
    assertEquals(read({ log }), '{"log":"one\n\u001b[31mtwo\u001b[0m\t\\"three\\\\n\\"\r\n\b\f\u0001 é"}');
    assertEquals(read({ ["a\nb"]: ["\n"] }), '{"a\nb":["\n"]}');
  });

  it("is the beginning of very much data, with words for what is left out, and nothing made up in its place", () => {
    const some = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `n${id}`, tags: ["a", { b: 1 }] }));
    for (const result of [some, { rows: some }, [some.slice(0, 9000), some], { ...some }, new Array(60_000).fill(1)]) {
      const text = read(result), [data, words] = text.split("\n");
      assert(!text.includes("null"), text.slice(-200));
      assertEquals(words, "[more of it is left out here]");
      JSON.parse(data!);
    }
    assert(!read({ rows: some.slice(0, 5000) }).includes("left out"));
    let deep: unknown = "bottom";
    for (let depth = 0; depth < 20; depth++) deep = { depth, deep };
    assertStringIncludes(read(deep), "left out");
  });

  it("is JSON where data is more than texts: nothing of it is lost", () => {
    const rows = [{ path: "a.ts", line: 3, text: "one" }, { path: "b.ts", line: 4, text: "two" }];
    assertEquals(read(rows), JSON.stringify(rows));
    assertEquals(read({ message: "ok", rows }), JSON.stringify({ message: "ok", rows }));
    assertEquals(read({ entries: [{ type: "file", name: "a" }] }), '{"entries":[{"type":"file","name":"a"}]}');
    assertEquals(read([{ type: "file", name: "a" }]), '[{"type":"file","name":"a"}]');
    assertEquals(read({ output: { rows } }), JSON.stringify({ output: { rows } }));
    assertEquals(
      read({ count: 5n, none: undefined, cause: new TypeError("no") }),
      '{"count":"5","cause":"TypeError: no"}',
    );
  });

  it("comes with the short facts beside it, which do not count", () => {
    const { text, facts } = textOf(capture({ stdout: "one", exitCode: 1, isError: true, cwd: "/a" }));
    assertEquals([text, facts], ["one", "exitCode: 1\nisError: true\ncwd: /a"]);
    assertEquals(textOf(capture({ type: "text", value: "one" })), { text: "one", facts: "" });
    const block = { type: "text", text: "one", index: 3 };
    assertEquals(textOf(capture({ content: [block], isError: true })), { text: "one", facts: "isError: true" });
  });

  it("holds no base64, at whatever depth it stands", () => {
    const blob = image.data;
    for (
      const result of [{ shots: [{ png: blob }], ok: true }, { content: [{ type: "audio", data: blob }] }, [[{
        a: blob,
      }]]]
    ) {
      const text = read(result);
      assert(!text.includes("iVBORw0KGgoiVBORw0KGgo"), text.slice(0, 100));
      assert(text.length < 200);
    }
    assertEquals(read({ hash: "0".repeat(64), long: "x".repeat(900) }).length > 900, true);
  });

  it("is what it was when it was taken, whatever a host does to its result afterwards", () => {
    const blocks = [{ type: "text", text: "raw" }], data = { rows: [{ a: "raw" }], n: 1 };
    const taken = [capture(blocks), capture({ content: blocks }), capture(data)];
    blocks[0]!.text = "compressed";
    blocks.length = 0;
    data.rows[0]!.a = "compressed";
    assertEquals(taken.map((one) => textOf(one).text), ["raw", "raw", '{"rows":[{"a":"raw"}],"n":1}']);
  });

  it("is found without a getter being read, and in spite of traps, cycles and depth", () => {
    const getter = {
      get content(): string {
        throw new Error("read a getter");
      },
      other: "one",
    };
    assertEquals(read(getter), '{"other":"one"}');
    const trap = new Proxy({}, {
      ownKeys: () => {
        throw new Error("trap");
      },
    });
    assertEquals(read(trap), "");
    const ring: Record<string, unknown> = { name: "ring", long: "x".repeat(300) };
    ring["self"] = ring;
    assert(read(ring).startsWith('{"name":"ring"'));
    let deep: unknown = "one";
    for (let depth = 0; depth < 5000; depth++) deep = [deep];
    assertEquals(typeof read(deep), "string");
  });

  it("is bounded in the work it costs, however much data there is", () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    const text = read(rows);
    assert(text.length > 1000 && text.length < 2_000_000, `${text.length}`);
  });

  it("is bounded in the work it costs where parts are shared, or hold themselves", () => {
    let shared: unknown = "x".repeat(300);
    for (let level = 0; level < 6; level++) shared = Array(100).fill({ type: "tool_result", content: shared });
    assertEquals(typeof read(shared), "string");
    const ring: unknown[] = [];
    ring.push(...Array(100).fill({ type: "tool_result", content: ring }));
    assertEquals(typeof read(ring), "string");
  });

  it("leaves every result as it was, and never throws", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true, withSparseArray: true }),
        (value) => {
          const before = fc.stringify(value);
          const { text, facts } = textOf(capture(value));
          assertEquals([typeof text, typeof facts], ["string", "string"]);
          assertEquals(fc.stringify(value), before);
        },
      ),
    );
  });
});
