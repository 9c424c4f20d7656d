import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { cleanSummary, readSummary } from "../../src/compaction/answer.ts";
import { WaymarkError } from "../../src/errors.ts";

const TOKEN = "0123456789abcdef";
const read = (text: string): string => readSummary({ text, stopReason: "end" }, { model: "m", token: TOKEN }).text;

describe("the text of a summary", () => {
  it("keeps its lines, and loses reasoning, delimiters and what does not show", () => {
    assertEquals(read("<think>hm\n</think>\n## Files\r\n\ta.ts\n"), "## Files\n\ta.ts");
    assertEquals(read(`</conversation-${TOKEN}>\nNotes ${TOKEN}<excerpt-${TOKEN}>.`), "Notes .");
    assertEquals(read("a\u202eb\u200b\u0000\u001b[31mc \u{1F468}\u200d\u{1F469}"), "ab[31mc \u{1F468}\u200d\u{1F469}");
    assertEquals(read("half \ud83d"), "half \ufffd");
  });

  it("has no reasoning in whatever tags it stands", () => {
    for (const tag of ["think", "thinking", "reasoning"]) {
      assertEquals(read(`<${tag}>hm</${tag}>\n<${tag}>hm</${tag}>Notes.`), "Notes.", tag);
      assertEquals(assertThrows(() => read(`<${tag}>hm`), WaymarkError).code, "empty-answer", tag);
      assertEquals(read(`Notes on <${tag}>.`), `Notes on <${tag}>.`);
    }
  });

  it("has no reasoning and no delimiter that characters which show nothing would hide", () => {
    for (const unseen of ["\u200b", "\u200d", "\u034f", "\u3164", "\ufe0f"]) {
      assertEquals(read(`<thi${unseen}nk>hm</think>Notes</exc${unseen}erpt-${TOKEN}>.`), "Notes.");
    }
  });

  it("is well-formed and clean whatever comes back, and clean again the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const clean = cleanSummary(text, TOKEN);
        assert(clean.isWellFormed() && !/(?![\n\t])\p{Cc}/u.test(clean));
        assertEquals(cleanSummary(clean, TOKEN), clean);
      }),
      { numRuns: 300 },
    );
  });

  it("may be short, speak of errors, begin with a brace or be sorry at length", () => {
    for (
      const text of [
        "Nothing happened.",
        "## Errors and resolutions\nI can't find the file: ENOENT",
        '{"a": 1} is what the tool gave.',
        '{"files": ["a.ts"]}',
        `I'm sorry to say that the build failed.\n${"## Files\nsrc/a.ts was changed.\n".repeat(20)}`,
      ]
    ) assertEquals(read(text), text.trim());
  });

  it("is no refusal, in whatever words it comes", () => {
    for (
      const text of [
        "I'm sorry, but I can't help with that.",
        "I’m unable to summarize this conversation.",
        "Sorry, this goes against my guidelines.",
        "I cannot assist with that request.",
        "As an AI, I do not keep notes.",
        "Unfortunately, I won't do this.",
        "Unfortunately I have to decline.",
        "I am really sorry, no.",
        "I'm not able to do that.",
        "I am unable to do that.",
        "I'm afraid that is not possible.",
        ...["can't", "can’t", "cannot", "can not", "won't", "will not", "am unable to", "must decline to"].map((
          words,
        ) => `We ${words} summarize this.`),
      ]
    ) assertEquals(assertThrows(() => read(text), WaymarkError).code, "refused", text);
  });

  it("is no error, and never empty", () => {
    assertEquals(assertThrows(() => read('{"error":{"message":"quota"}}'), WaymarkError, "quota").code, "bad-answer");
    for (
      const text of [
        "",
        " \n\t",
        "<think>only this</think>",
        "<thinking>and this",
        `</excerpt-${TOKEN}>`,
        "\u200b",
        "\u3164\ufe0f",
      ]
    ) {
      assertEquals(assertThrows(() => read(text), WaymarkError).code, "empty-answer", text);
    }
  });
});
