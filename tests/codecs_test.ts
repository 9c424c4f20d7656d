/** Shapes of results that hosts have, and what becomes of them. */

import { describe, it } from "node:test";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { autoCodec, fieldsCodec, mcpCodec, stringOrBlocks } from "../src/codecs.ts";
import { frame, stripAnnotations } from "../src/file_map.ts";
import type { Annotation, Codec } from "../src/types.ts";

const map: Annotation = {
  kind: "map",
  text: frame("map", "a map", ["1-2  class  A"]),
  path: "a.ts",
  start: 1,
  end: 200,
  lines: 900,
  maker: "outline",
};
const notice: Annotation = {
  kind: "notice",
  text: frame("notice", "a notice", ["Reason: none."]),
  path: "a.ts",
  reason: "timeout",
};
const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "aGVsbG8=", mimeType: "image/png" };

/** Freezes a value through and through: a codec that writes to the host's result throws. */
function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

describe("a string", () => {
  it("gets the block after a blank line, and is its own text", () => {
    assertEquals(autoCodec.text("a\nb"), "a\nb");
    assertEquals(autoCodec.annotate("a\nb", [map]), `a\nb\n\n${map.text}`);
    assertEquals(stringOrBlocks.annotate("a\n", [map]), `a\n\n\n${map.text}`);
  });

  it("comes back byte for byte when the block is taken off, whatever it ends in", () => {
    const texts = fc.array(
      fc.constantFrom("a", "\n", "\r\n", "\t", " ", "[waymark map: x]", "[end of waymark map] ", "😀", "\ud83d"),
    )
      .map((parts) => parts.join("")).filter((value) => stripAnnotations(value) === value);
    fc.assert(fc.property(texts, (value) => {
      assertEquals(stripAnnotations(autoCodec.annotate(value, [map, notice]) as string), value);
    }));
  });

  it("that is content blocks in JSON is left alone: a block behind it would break it", () => {
    for (const value of [JSON.stringify([text("a")]), JSON.stringify([text("a")], null, 2), '[{"text": "a"}]']) {
      assertEquals(autoCodec.text(value), undefined);
      assertStrictEquals(autoCodec.annotate(value, [map]), value);
    }
  });

  it("becomes content and annotation with the codec made for it, and only where there is something to say", () => {
    assertEquals(fieldsCodec.annotate("a", [map]), { content: "a", annotation: map });
    assertEquals(fieldsCodec.text("a"), "a");
    assertEquals(fieldsCodec.annotate({ content: "a" }, [map]), { content: "a", annotation: map });
    assertEquals(fieldsCodec.answer!(notice), { content: "", annotation: notice });
  });
});

describe("content blocks", () => {
  it("get one more text block at the end; order, images and extra keys stay", () => {
    const blocks = frozen([image, { ...text("a\nb"), cache_control: { type: "ephemeral" } }, image]);
    const annotated = autoCodec.annotate(blocks, [map]) as unknown[];
    assertEquals(annotated, [...blocks, text(map.text)]);
    blocks.forEach((block, index) => assertStrictEquals(annotated[index], block));
    assertEquals(autoCodec.text(blocks), "a\nb");
  });

  it("get a block of their own kind", () => {
    const annotate = (blocks: unknown) => (autoCodec.annotate(frozen(blocks), [map]) as unknown[]).at(-1);
    assertEquals(annotate([{ type: "input_text", text: "a" }]), { type: "input_text", text: map.text });
    assertEquals(annotate([{ text: "a" }]), { text: map.text });
  });

  it("of two texts have no text of which it is known to be the file's", () => {
    assertEquals(autoCodec.text([text("status"), text("a")]), undefined);
    assertEquals((autoCodec.annotate([text("status"), text("a")], [map]) as unknown[]).length, 3);
  });

  it("that are images alone, or nothing, are left alone", () => {
    for (const blocks of [[image], [], [null, 1, "a"], [[text("a")]]]) {
      assertEquals(autoCodec.text(blocks), undefined);
      assertStrictEquals(autoCodec.annotate(blocks, [map]), blocks);
    }
  });
});

describe("an MCP result", () => {
  it("carries the annotation as one more block", () => {
    const result = frozen({ content: [text("a")], _meta: { id: 1 } });
    assertEquals([mcpCodec.text(result), autoCodec.text(result)], ["a", "a"]);
    assertEquals(autoCodec.annotate(result, [map]), { content: [text("a"), text(map.text)], _meta: { id: 1 } });
  });

  it("carries it in the structured form too where that repeats the text, since hosts show that alone", () => {
    const result = frozen({ content: [text("a")], structuredContent: { path: "a.ts", body: "a" } });
    assertEquals(autoCodec.annotate(result, [map]), {
      content: [text("a"), text(map.text)],
      structuredContent: { path: "a.ts", body: `a\n\n${map.text}` },
    });
    const other = autoCodec.annotate({ content: [text("summary")], structuredContent: { content: "in full" } }, [
      map,
    ]) as Record<string, unknown>;
    assertEquals(other["structuredContent"], { content: `in full\n\n${map.text}` });
  });

  it("whose structured form has no place for it is left alone", () => {
    const result = { content: [text("a")], structuredContent: { lines: ["a"] } };
    assertStrictEquals(autoCodec.annotate(result, [map]), result);
  });

  it("whose structured form has a word where its text might be keeps that word: a schema may allow no other", () => {
    const result = { content: [text("lines of a file, and ok")], structuredContent: { content: "ok", state: "file" } };
    for (const codec of [mcpCodec, autoCodec]) assertStrictEquals(codec.annotate(result, [map]), result);
  });

  it("of which the structured form has the most, without a head of its own, gets it there too", () => {
    const structuredContent = { kind: "file", body: "one\ntwo\nthree" };
    const given = mcpCodec.annotate({ content: [text("a.ts:\none\ntwo\nthree")], structuredContent }, [map]);
    assertEquals((given as Record<string, unknown>)["structuredContent"], {
      kind: "file",
      body: `one\ntwo\nthree\n\n${map.text}`,
    });
  });

  it("gets no new key in its structured form: a declared schema would forbid it", () => {
    const { structuredContent } = mcpCodec.annotate({ content: [text("a")], structuredContent: { content: "a" } }, [
      map,
    ]) as {
      structuredContent: object;
    };
    assertEquals(Object.keys(structuredContent), ["content"]);
  });

  it("that reports an error is a failure, and keeps its flag", () => {
    const result = frozen({ isError: true, content: [text("no such file")] });
    assertEquals([
      autoCodec.failed!(result),
      autoCodec.failed!({ content: [] }),
      autoCodec.failed!("text"),
      autoCodec.failed!(null),
    ], [true, false, false, false]);
    assertEquals(autoCodec.annotate(result, [notice]), {
      isError: true,
      content: [text("no such file"), text(notice.text)],
    });
  });

  it("with images alone is left alone", () => {
    const result = { content: [image] };
    assertStrictEquals(autoCodec.annotate(result, [map]), result);
    assertStrictEquals(mcpCodec.annotate("text", [map]), "text");
    assertEquals(mcpCodec.text("text"), undefined);
  });

  it("is what a layer answers with where it answers without the tool", () => {
    assertEquals(mcpCodec.answer!(notice), { content: [text(notice.text)] });
    assertEquals([autoCodec.answer!(notice), stringOrBlocks.answer!(notice)], [notice.text, notice.text]);
  });
});

describe("any other object", () => {
  it("gets a field with the annotation's text and facts", () => {
    for (const key of ["content", "text", "output", "llmContent", "stdout"]) {
      const result = frozen({ [key]: "a\nb", extra: 1 });
      assertEquals(autoCodec.text(result), "a\nb");
      assertEquals(autoCodec.annotate(result, [map]), { [key]: "a\nb", extra: 1, annotation: map });
    }
    assertEquals(autoCodec.text({ type: "text", file: { content: "a" } }), "a");
    assertEquals(autoCodec.text({ ok: true }), undefined);
  });

  it("keeps getters, symbols and a prototype of null", () => {
    const mark = Symbol("mark");
    let reads = 0;
    const result = Object.create(null, {
      content: { get: () => (reads++, "a"), enumerable: true },
      [mark]: { value: 1 },
    });
    const annotated = autoCodec.annotate(result, [map]) as Record<string | symbol, unknown>;
    assertEquals([reads, Object.getPrototypeOf(annotated)], [1, null]); // read once, to see that it is no list of blocks
    assertEquals([annotated["content"], annotated[mark], annotated["annotation"]], ["a", 1, map]);
  });

  it("that is an instance of a class is left alone: a copy could lose what it keeps", () => {
    class Result {
      #text = "a";
      get content() {
        return this.#text;
      }
    }
    for (
      const result of [new Result(), new Map(), new Date(0), new Uint8Array(2), new Error("x"), new ReadableStream()]
    ) {
      assertStrictEquals(autoCodec.annotate(result, [map]), result);
    }
    assertEquals(autoCodec.text(new Result()), "a");
  });

  it("that is an image or a notebook is left alone", () => {
    for (const result of [image, { type: "notebook", cells: [] }, { mimeType: "application/pdf", data: "" }]) {
      assertStrictEquals(autoCodec.annotate(result, [map]), result);
    }
  });

  it("that holds no text is left alone: it may be a tool's own word that it refused", () => {
    const refusals = [{ error: "denied" }, { ok: false, message: "denied" }, { content: null, error: "denied" }, {}];
    for (const result of refusals) {
      assertStrictEquals(autoCodec.annotate(result, [map]), result);
      assertStrictEquals(fieldsCodec.annotate(result, [map]), result);
    }
    const lines = "a\nb\n";
    for (
      const result of [{ type: "text", file: { content: "a" } }, { lines: ["a"] }, { value: lines }, {
        data: { lines },
      }]
    ) {
      assertEquals(autoCodec.annotate(result, [map]), { ...result, annotation: map });
    }
    assertEquals(autoCodec.text({ result: "ok", data: "x", file: { content: "a" } }), "a");
    assertEquals(autoCodec.text({ result: "ok", lines: ["a"] }), undefined);
  });

  it("with an annotation of the host's own is left alone, one of ours is continued", () => {
    const theirs = { content: "a", annotation: "theirs" };
    assertStrictEquals(autoCodec.annotate(theirs, [map]), theirs);
    const twice = autoCodec.annotate(autoCodec.annotate({ content: "a" }, [map]), [notice]) as {
      annotation: Annotation;
    };
    assertEquals(twice.annotation, { ...map, text: `${map.text}\n\n${notice.text}` });
  });
});

describe("nothing, a number and the like", () => {
  it("are left alone by every codec", () => {
    for (const codec of [autoCodec, fieldsCodec, stringOrBlocks, mcpCodec] as Codec[]) {
      for (const result of [null, undefined, 0, 5, true, 10n, Symbol.for("x")]) {
        assertEquals(codec.text(result), undefined);
        assertStrictEquals(codec.annotate(result, [map]), result);
        assert(!codec.failed?.(result));
      }
    }
    assertStrictEquals(stringOrBlocks.annotate(image, [map]), image);
  });
});

describe("several annotations on one result", () => {
  it("are joined by a blank line, with the facts of the first", () => {
    const both = `${map.text}\n\n${notice.text}`;
    assertEquals(autoCodec.annotate("a", [map, notice]), `a\n\n${both}`);
    assertEquals(autoCodec.annotate([text("a")], [map, notice]), [text("a"), text(both)]);
    assertEquals(autoCodec.annotate({ content: "a" }, [map, notice]), {
      content: "a",
      annotation: { ...map, text: both },
    });
  });
});

describe("gutters of line numbers", () => {
  const lines = ["export class A {", "  1: not a number", "", "\tindented", "}", "12\tdata"];
  const start = 198;
  const cases: Record<string, string> = {
    "number and tab": lines.map((line, index) => `${start + index}\t${line}`).join("\n"),
    "right-aligned number and tab": lines.map((line, index) => `${String(start + index).padStart(6)}\t${line}`).join(
      "\n",
    ),
    "number and colon in tags": `<path>a.ts</path>\n<type>file</type>\n<content>\n${
      lines.map((line, index) => `${start + index}: ${line}`).join("\n")
    }\n\n(Showing lines 198-203 of 900. Use offset=204 to continue.)\n</content>`,
    "right-aligned number and arrow under a header": `a.ts (lines 198-203 of 900, 20000 bytes)\n${
      lines.map((line, index) => `${String(start + index).padStart(6)}→${line}`).join("\n")
    }`,
    "L, number and colon": lines.map((line, index) => `L${start + index}: ${line}`).join("\n"),
    "number and bar": lines.map((line, index) => `${start + index}| ${line}`).join("\n"),
    "number and bar between spaces": lines.map((line, index) => `${start + index} | ${line}`).join("\n"),
    "number and drawn bar": lines.map((line, index) => `${String(start + index).padStart(6)}   │ ${line}`).join("\n"),
  };
  for (const [name, given] of Object.entries(cases)) {
    it(`${name}: the text is the file's own`, () => {
      assertEquals(autoCodec.text(given), lines.join("\n"));
      assertEquals(autoCodec.text([text(given)]), lines.join("\n"));
      assertEquals((autoCodec.annotate(given, [map]) as string).startsWith(given), true);
    });
  }

  it("keep CR at the end of a line", () => {
    assertEquals(autoCodec.text("1\ta\r\n2\tb\r\n"), "a\r\nb\r");
  });

  it("are not seen in text whose lines merely begin with numbers", () => {
    for (const value of ["12 apples\n15 pears", "1\tonly one line", "const a = 1;\n2: x", "5: a\n9: b\n"]) {
      assertEquals(autoCodec.text(value), value);
    }
  });
});

describe("an answer without a result", () => {
  const reference: Annotation = {
    kind: "reference",
    text: "[waymark reference: a.ts lines 1-9 of 9 are unchanged since turn 1, shown then]",
    path: "a.ts",
    start: 1,
    end: 9,
    lines: 9,
  };
  const line = text(reference.text);
  const answers: readonly (readonly [what: string, codec: Codec, like: unknown, answer: unknown])[] = [
    ["a string", autoCodec, "export class A {}", reference.text],
    ["an empty string", autoCodec, "", reference.text],
    ["a text block", autoCodec, [text("a")], [line]],
    ["several text blocks", autoCodec, [text("a"), text("b")], [line]],
    ["a block with annotations of its own", autoCodec, [{ ...text("a"), annotations: { priority: 1 } }], [line]],
    ["a block without a type", autoCodec, [{ text: "a" }], [{ text: reference.text }]],
    ["a block of another type", autoCodec, [{ type: "input_text", text: "a" }], [{
      type: "input_text",
      text: reference.text,
    }]],
    ["an MCP result", autoCodec, { content: [text("a")] }, { content: [line] }],
    ["an MCP result that did not fail", mcpCodec, { content: [text("a")], isError: false, _meta: { a: 1 } }, {
      content: [line],
    }],
    ...["content", "text", "output", "llmContent", "stdout"].map((key) =>
      [`an object with ${key}`, autoCodec, { [key]: "a" }, { [key]: "", annotation: reference }] as const
    ),
    ["an object with a note already", autoCodec, { content: "a", annotation: map }, {
      content: "",
      annotation: reference,
    }],
    ["a string, with the codec of fields", fieldsCodec, "a", { content: "", annotation: reference }],
    ["an object, with the codec of fields", fieldsCodec, { text: "a" }, { text: "", annotation: reference }],
    ["blocks, with the codec of fields", fieldsCodec, [text("a")], [line]],
  ];
  for (const [what, codec, like, answer] of answers) {
    it(`takes the shape of ${what}`, () => assertEquals(codec.answer!(reference, frozen(like)), answer));
  }

  const none: readonly (readonly [what: string, codec: Codec, like: unknown])[] = [
    ["blocks in JSON", autoCodec, JSON.stringify([text("a")])],
    ["no blocks", autoCodec, []],
    ["an image beside the text", autoCodec, [text("a"), image]],
    ["a block with fields of the host's", autoCodec, [{ ...text("a"), id: 7 }]],
    ["an array of something else", autoCodec, ["a"]],
    ["an MCP result with a structured copy", autoCodec, { content: [text("a")], structuredContent: { content: "a" } }],
    ["an MCP result with an image", mcpCodec, { content: [text("a"), image] }],
    ["an MCP result with fields of the host's", mcpCodec, { content: [text("a")], total: 9 }],
    ["an object with fields of the host's", autoCodec, { content: "a", totalLines: 9 }],
    ["an object with two texts", autoCodec, { content: "a", text: "a" }],
    ["an object with a symbol", autoCodec, { content: "a", [Symbol("x")]: 1 }],
    ["an object without a text", autoCodec, { lines: ["a"] }],
    ["a class of the host's", autoCodec, new (class Result {})()],
    ["an object with a file", fieldsCodec, { file: { content: "a" } }],
    ["nothing", autoCodec, null],
    ["a number", stringOrBlocks, 7],
    ["an object, where strings and blocks are known alone", stringOrBlocks, { content: "a" }],
    ["a string, where MCP results are known alone", mcpCodec, "a"],
  ];
  for (const [what, codec, like] of none) {
    it(`cannot be made in the shape of ${what}`, () => assertEquals(codec.answer!(reference, frozen(like)), undefined));
  }

  it("can be read back as no text of a file's", () => {
    for (const [what, codec, , answer] of answers) {
      const read = codec.text(answer as never) ?? "";
      assertEquals(stripAnnotations(read), "", what);
      assertEquals(codec.failed?.(answer as never) ?? false, false, what);
    }
  });
});
