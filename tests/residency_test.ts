import { assert, assertEquals } from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  pruneMessages,
  readUIMessageStream,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, it } from "node:test";
import { renderMap } from "../src/file_map.ts";
import { autoCodec } from "../src/codecs.ts";
import { exactLines, toolResults } from "../src/residency.ts";
import { code } from "./support.ts";

const LINES = code(12), ID = "call-1";
const MAP = renderMap({
  prose: "Adds.",
  regions: [{ start: 1, end: 1, kind: "function", name: "f1", note: "" }],
  usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 1 },
  hash: "",
  size: 1,
  lines: 300,
  maker: "scanner",
  promptVersion: 1,
  createdAt: 0,
}, { start: 1, end: 200 });

function holdsLines(messages: readonly unknown[], text = LINES, callId = ID): boolean {
  return toolResults(messages).holds({ kind: "lines", path: "a.ts", text, callId });
}

/** Messages of a host whose conversation holds one result. */
type Shape = (callId: string, text: string) => readonly unknown[];

const user = { role: "user", content: "Read a.ts." } as const;

/** Message shapes as providers and frameworks document them. */
const SHAPES: Record<string, Shape> = {
  "Anthropic with a string": (id, text) =>
    [
      user,
      { role: "assistant", content: [{ type: "tool_use", id, name: "Read", input: { file_path: "a.ts" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] },
    ] satisfies Anthropic.MessageParam[],
  "Anthropic with text blocks": (id, text) =>
    [
      user,
      { role: "assistant", content: [{ type: "tool_use", id, name: "Read", input: { file_path: "a.ts" } }] },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: id,
          content: [{ type: "text", text }, { type: "text", text: MAP, cache_control: { type: "ephemeral" } }],
        }],
      },
    ] satisfies Anthropic.MessageParam[],
  "Anthropic with several results and words in one message": (id, text) =>
    [
      user,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Two files.", signature: "s" },
          { type: "tool_use", id: "other", name: "Bash", input: {} },
          { type: "tool_use", id, name: "Read", input: { file_path: "a.ts" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "other", content: "denied", is_error: true },
          { type: "tool_result", tool_use_id: id, content: text, is_error: false },
          { type: "text", text: "Go on." },
        ],
      },
    ] satisfies Anthropic.MessageParam[],
  "OpenAI chat": (id, text) => [
    user,
    { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "read" } }] },
    { role: "tool", tool_call_id: id, content: text },
  ],
  "OpenAI chat with parts": (id, text) => [
    user,
    { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "read" } }] },
    { role: "tool", tool_call_id: id, content: [{ type: "text", text }] },
  ],
  "OpenAI Responses": (id, text) => [
    { role: "user", content: [{ type: "input_text", text: "Read a.ts." }] },
    { type: "reasoning", id: "r", summary: [] },
    { type: "function_call", call_id: id, name: "read", arguments: '{"path":"a.ts"}' },
    { type: "function_call_output", call_id: id, output: text },
  ],
  "OpenAI Responses with parts": (id, text) => [
    { type: "function_call", call_id: id, name: "read", arguments: "{}" },
    { type: "function_call_output", call_id: id, output: [{ type: "input_text", text }] },
  ],
  "AI SDK 5 to 7 with text": (id, text) =>
    [
      { role: "user", content: "Read a.ts." },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: { path: "a.ts" } }],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: text } }],
      },
    ] satisfies ModelMessage[],
  "AI SDK 4": (id, text) => [
    { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "read", args: { path: "a.ts" } }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: "read", result: text }] },
  ],
  "AI SDK 5 to 7 with JSON": (id, text) =>
    [
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: { path: "a.ts" } }],
      },
      {
        role: "tool",
        content: [{
          type: "tool-result",
          toolCallId: id,
          toolName: "read",
          output: { type: "json", value: { content: text, annotation: { kind: "map", path: "a.ts", text: MAP } } },
        }],
      },
    ] satisfies ModelMessage[],
  "AI SDK 5 to 7 with content": (id, text) =>
    [
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: { path: "a.ts" } }],
      },
      {
        role: "tool",
        content: [{
          type: "tool-result",
          toolCallId: id,
          toolName: "read",
          output: { type: "content", value: [{ type: "text", text }] },
        }],
      },
    ] satisfies ModelMessage[],
  "AI SDK UI messages": (id, text) =>
    [
      { id: "m1", role: "user", parts: [{ type: "text", text: "Read a.ts." }] },
      {
        id: "m2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "tool-read", toolCallId: id, state: "output-available", input: { path: "a.ts" }, output: text },
        ],
      },
    ] satisfies UIMessage[],
  "AI SDK UI messages of dynamic tools, with an object": (id, text) =>
    [
      {
        id: "m2",
        role: "assistant",
        parts: [{
          type: "dynamic-tool",
          toolName: "read",
          toolCallId: id,
          state: "output-available",
          input: {},
          output: { content: [{ type: "text", text }] },
        }],
      },
    ] satisfies UIMessage[],
  "an MCP result as JSON": (id, text) => [
    { role: "tool", tool_call_id: id, content: JSON.stringify({ content: [{ type: "text", text }], isError: false }) },
  ],
  "a string as JSON": (id, text) => [{ role: "tool", tool_call_id: id, content: JSON.stringify(text) }],
  "Gemini": (id, text) => [
    { role: "user", parts: [{ text: "Read a.ts." }] },
    {
      role: "model",
      parts: [
        { functionCall: { id: "other", name: "bash", args: {} } },
        { functionCall: { id, name: "read", args: { path: "a.ts" } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "other", name: "bash", response: { result: "done" } } },
        { functionResponse: { id, name: "read", response: { result: text } } },
      ],
    },
  ],
  "Genkit": (id, text) => [
    { role: "user", content: [{ text: "Read a.ts." }] },
    { role: "model", content: [{ toolRequest: { ref: id, name: "read", input: { path: "a.ts" } } }] },
    { role: "tool", content: [{ toolResponse: { ref: id, name: "read", output: text } }] },
  ],
  "LangChain": (id, text) => [
    { type: "human", id: "m1", content: "Read a.ts." },
    {
      type: "ai",
      id: "m2",
      content: "",
      tool_calls: [{ type: "tool_call", id, name: "read", args: { path: "a.ts" } }],
    },
    { type: "tool", id: "m3", tool_call_id: id, name: "read", status: "success", content: [{ type: "text", text }] },
  ],
  "OpenAI Agents": (id, text) => [
    { type: "message", role: "user", content: "Read a.ts." },
    { type: "function_call", callId: id, name: "read", status: "completed", arguments: '{"path":"a.ts"}' },
    {
      type: "function_call_result",
      callId: id,
      name: "read",
      status: "completed",
      output: { type: "text", text },
    },
  ],
  "an object as JSON, in a block": (id, text) => [
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: id,
        content: [{ type: "text", text: JSON.stringify({ content: text, annotation: { text: MAP } }, null, 2) }],
      }],
    },
  ],
};

function gutter(text: string, from = 1, tab = "\t"): string {
  return text.split("\n").map((line, index) => `${String(from + index).padStart(6)}${tab}${line}`).join("\n");
}

const REMINDER = `\n\n<system-reminder>\n${"Mind the rules.\n".repeat(60)}</system-reminder>`;

/** What a host may have made of a result that still holds every line. */
const KEPT: Record<string, (text: string) => string> = {
  "as it was given": (text) => text,
  "with a final newline more": (text) => `${text}\n`,
  "with a long reminder behind it": (text) => text + REMINDER,
  "with a footer": (text) => `${text}\n\n(12 of 300 lines)`,
  "with the map behind it": (text) => `${text}\n\n${MAP}`,
  "with a header": (text) => `File: a.ts\nLines 1-12 of 300\n\n${text}`,
  "in tags": (text) => `<file path="a.ts">\n${text}\n</file>`,
  "with other line endings": (text) => text.replaceAll("\n", "\r\n"),
  "with a byte order mark": (text) => `\ufeff${text}`,
  "with a gutter": (text) => gutter(text),
  "with a gutter that does not begin at 1": (text) => gutter(text, 4711, "→"),
  "with a gutter and a long reminder": (text) => gutter(text) + REMINDER,
  "with a gutter, tags, the map and a reminder": (text) => `<file>\n${gutter(text)}\n</file>\n\n${MAP}${REMINDER}`,
};

/** What a host may have made of a result that holds them no longer. */
const LOST: Record<string, (text: string) => string> = {
  "blanked": () => "",
  "cleared to a placeholder": () => "[Old tool result content cleared]",
  "cut at the end": (text) => text.slice(0, -1),
  "cut in the middle": (text) => `${text.slice(0, 200)}\n[… 9 lines omitted …]\n${text.slice(-200)}`,
  "without its first line": (text) => text.slice(text.indexOf("\n") + 1),
  "with a line left out": (text) => text.split("\n").toSpliced(5, 1).join("\n"),
  "with a line put in between": (text) => text.split("\n").toSpliced(5, 0, "// new").join("\n"),
  "with one character changed": (text) => text.replace("f7", "f8"),
  "with its indentation changed": (text) => text.replaceAll("export", "  export"),
  "summarised": () => "A file with twelve functions f1 to f12 that add a number each.",
  "quoted in one line": (text) => text.replaceAll("\n", " "),
  "behind a whole page of other text": (text) => `${"another line\n".repeat(30)}${text}`,
  "cut behind a gutter": (text) => gutter(text.split("\n").slice(0, 9).join("\n")),
};

describe("the tool results of a conversation", () => {
  for (const [shape, messages] of Object.entries(SHAPES)) {
    describe(`in messages of the shape ${shape}`, () => {
      it("hold lines that stand there whole, whatever stands around them", () => {
        const lost = Object.entries(KEPT).filter(([, make]) => !holdsLines(messages(ID, make(LINES))));
        assertEquals(lost.map(([how]) => how), []);
      });

      it("hold none that were taken away, cut or reworded", () => {
        const held = Object.entries(LOST).filter(([, make]) => holdsLines(messages(ID, make(LINES))));
        assertEquals(held.map(([how]) => how), []);
      });

      it("hold them in the result of their own call only", () => {
        assert(!holdsLines(messages("call-2", LINES)));
        assert(!holdsLines([...messages(ID, "cleared"), ...messages("call-2", LINES)]));
        assert(holdsLines([...messages("call-2", "cleared"), ...messages(ID, LINES)]));
      });
    });
  }

  it("are found in any order and among any other messages", () => {
    const shapes = Object.values(SHAPES).flatMap((messages, at) => messages(`call-${at}`, `${LINES}\nof ${at}`));
    for (const messages of [shapes, shapes.toReversed()]) {
      const { holds } = toolResults(["words", null, 7, [], {}, ...messages]);
      Object.keys(SHAPES).forEach((name, at) => {
        assert(holds({ kind: "lines", path: "a.ts", text: `${LINES}\nof ${at}`, callId: `call-${at}` }), name);
        assert(!holds({ kind: "lines", path: "a.ts", text: `${LINES}\nof ${at + 1}`, callId: `call-${at}` }), name);
      });
    }
  });

  it("hold what was given without an id in any result", () => {
    const chat = SHAPES["OpenAI chat"]!, { holds } = toolResults([...chat("a", "x"), ...chat("b", LINES)]);
    assert(holds({ kind: "lines", path: "a.ts", text: LINES }));
    assert(!holds({ kind: "lines", path: "a.ts", text: `${LINES}\nmore` }));
  });

  it("hold without an id only what the call of a result may have asked for: another file with the same lines is another", () => {
    const text = "one\ntwo\n", given = { kind: "lines", text, path: "src/a.ts" } as const;
    const result = (content = text) => ({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "c1", content }],
    });
    const of = (path: string, name = "c1"): unknown[][] => [
      [{ role: "assistant", content: [{ type: "tool_use", id: name, name: "read", input: { path } }] }, result()],
      [
        {
          role: "assistant",
          tool_calls: [{ id: name, function: { name: "read", arguments: JSON.stringify({ path }) } }],
        },
        { role: "tool", tool_call_id: "c1", content: text },
      ],
      [
        { type: "function_call", call_id: name, name: "read", arguments: JSON.stringify({ path }) },
        { type: "function_call_output", call_id: "c1", output: text },
      ],
      [
        { role: "assistant", content: [{ type: "tool-call", toolCallId: name, toolName: "read", input: { path } }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", output: { type: "text", value: text } }] },
      ],
      [
        { type: "ai", content: "", tool_calls: [{ id: name, name: "read", args: { path } }] },
        { type: "tool", tool_call_id: "c1", content: text },
      ],
      [
        { role: "model", parts: [{ functionCall: { id: name, name: "read", args: { path } } }] },
        { role: "user", parts: [{ functionResponse: { id: "c1", name: "read", response: { result: text } } }] },
      ],
      [
        { role: "model", content: [{ toolRequest: { ref: name, name: "read", input: { path } } }] },
        { role: "tool", content: [{ toolResponse: { ref: "c1", name: "read", output: text } }] },
      ],
      [
        { type: "function_call", call_id: name, name: "read", input: null, arguments: JSON.stringify({ path }) },
        { type: "function_call_output", call_id: "c1", output: text },
      ],
    ];
    for (const messages of of("src/a.ts")) assert(toolResults(messages).holds(given), JSON.stringify(messages));
    for (const messages of of("src/b.ts")) assert(!toolResults(messages).holds(given), JSON.stringify(messages));
    const silent = { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: { line: 1 } }] };
    assert(toolResults([silent, result()]).holds(given), "whose call names nothing");
    for (const messages of of("src/b.ts", "c2")) assert(toolResults(messages).holds(given), "whose call is not there");
    for (const messages of of("src/b.ts")) assert(toolResults(messages).holds({ ...given, callId: "c1" }), "by its id");
    assert(!toolResults([result("[cleared]")]).holds(given));
  });

  it("hold without an id none behind lines that may be the file's own: there they have other numbers", () => {
    const given = { kind: "lines", text: "two\nthree\n", path: "src/a.ts" } as const;
    const result = (content: string) => toolResults([{ role: "tool", tool_call_id: "c1", content }]);
    for (const before of ["one\n", "\n", "// one\n", '<file path="src/a.ts">\none\n']) {
      assert(!result(`${before}two\nthree\n`).holds(given), before);
      assert(result(`${before}two\nthree\n`).holds({ ...given, callId: "c1" }), before);
    }
    for (const before of ["", '<file path="src/a.ts">\n', "src/a.ts\n---\n"]) {
      assert(result(`${before}two\nthree\n`).holds(given), before);
    }
    const map = { ...given, kind: "map" } as const;
    assert(result("one\ntwo\nthree\n").holds(map));
  });

  it("hold without an id, among many results, just what one of them holds by itself", () => {
    const pieces = ["", " ", "a", "b", "// a.ts", "1\ta", "2\tb", "7| a", '["a\\nb"]', "\ufeffa", "b\r"];
    const texts = (from: number, most: number) =>
      Array.from({ length: 60 }, (_, at) => {
        const count = 1 + (at * 7 + from) % most,
          piece = (line: number) => pieces[(at * 31 + line * line * 5 + from) % 11]!;
        return Array.from({ length: count }, (_, line) => piece(line)).join("\n");
      });
    const results = texts(0, 9).map((content, at) => ({ role: "tool", tool_call_id: `c${at}`, content }));
    const all = toolResults(results), alone = results.map((result) => toolResults([result]));
    const sought = [...texts(0, 9), ...texts(3, 4), ...texts(5, 2).map((text) => `${text}\n`), "none of them"];
    let held = 0;
    for (const kind of ["lines", "map"] as const) {
      for (const text of sought) {
        const expected = alone.some((result, at) => result.holds({ kind, path: "a.ts", text, callId: `c${at}` }));
        assertEquals(all.holds({ kind, path: "a.ts", text }), expected, JSON.stringify({ kind, text }));
        held += Number(expected);
      }
    }
    assert(held > 60 && held < 2 * sought.length, String(held));
  });

  it("are none where messages tell no ids: nothing is counted as shown", () => {
    const messages = [
      { role: "tool", tool_name: "read", content: LINES },
      { role: "user", content: LINES },
      { role: "user", parts: [{ functionResponse: { name: "read", response: { result: LINES } } }] },
      { role: "tool", content: [{ toolResponse: { name: "read", output: LINES } }, { toolResponse: "none" }] },
    ];
    assertEquals([holdsLines(messages), toolResults(messages).holds({ kind: "lines", path: "a.ts", text: LINES })], [
      false,
      false,
    ]);
  });

  it("are not what a call was given, what the model said, or what a person wrote", () => {
    const spoken: readonly (readonly unknown[])[] = [
      [{ role: "assistant", content: [{ type: "tool_use", id: ID, name: "Write", input: { content: LINES } }] }],
      [{
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: ID, toolName: "write", input: { text: LINES } }],
      }],
      [{ role: "assistant", content: null, tool_calls: [{ id: ID, function: { arguments: LINES } }] }],
      [{ type: "function_call", call_id: ID, arguments: LINES }],
      [{ role: "assistant", parts: [{ type: "tool-write", toolCallId: ID, input: LINES, state: "input-available" }] }],
      [{ role: "assistant", parts: [{ type: "tool-x", toolCallId: ID, errorText: LINES, state: "output-error" }] }],
      [{ role: "assistant", content: LINES }, { role: "user", content: [{ type: "text", text: LINES }] }],
    ];
    for (const messages of spoken) assert(!holdsLines(messages), JSON.stringify(messages).slice(0, 80));
  });

  it("of a host that uses an id twice are looked through, all of them", () => {
    const chat = SHAPES["OpenAI chat"]!, messages = [...chat("call_0", LINES), ...chat("call_0", "other\nlines")];
    assert(holdsLines(messages, LINES, "call_0") && holdsLines(messages, "other\nlines", "call_0"));
    assert(!holdsLines(messages, `${LINES}\nother\nlines`, "call_0"), "nothing is pieced together");
  });

  it("are none that stand before a compaction of the API's own: it shows the model nothing of what was before", () => {
    const compactions: readonly (readonly [string, unknown])[] = [
      ["Anthropic with a string", { role: "assistant", content: [{ type: "compaction", content: "It was read." }] }],
      ["OpenAI Responses", { type: "compaction", encrypted_content: "x" }],
      ["OpenAI Responses", { type: "compaction_summary", encrypted_content: "x" }],
      ["AI SDK 5 to 7 with text", {
        role: "assistant",
        content: [{ type: "custom", kind: "openai.compaction", providerOptions: {} }],
      }],
      ["AI SDK 5 to 7 with text", {
        role: "assistant",
        content: [{ type: "text", text: "It was read.", providerOptions: { anthropic: { type: "compaction" } } }],
      }],
    ];
    for (const [shape, compaction] of compactions) {
      const read = SHAPES[shape]!(ID, LINES);
      assert(!holdsLines([...read, compaction, { role: "user", content: "go on" }]), shape);
      assert(!toolResults([...read, compaction]).holds({ kind: "lines", path: "a.ts", text: LINES }), shape);
      assert(holdsLines([compaction, ...read]), shape);
    }
    const other = { role: "tool", tool_call_id: "c2", content: [{ type: "compaction", kind: "compaction" }] };
    assert(holdsLines([...SHAPES["OpenAI chat"]!(ID, LINES), other]), "what a tool gave is no compaction");
    const failed = { role: "assistant", content: [{ type: "compaction", content: null }] };
    assert(holdsLines([...SHAPES["Anthropic with a string"]!(ID, LINES), failed]), "one that failed leaves all there");
  });

  it("hold a map wherever it stands whole, alone or behind the lines it came with", () => {
    const whole = { kind: "map", path: "a.ts", text: MAP, callId: ID } as const, long = code(200);
    for (const [name, messages] of Object.entries(SHAPES)) {
      for (const text of [MAP, `${long}\n\n${MAP}`, `${gutter(long)}\n\n${MAP}${REMINDER}`]) {
        assert(toolResults(messages(ID, text)).holds(whole), name);
      }
      const without = JSON.parse(
        JSON.stringify(messages(ID, `${long}\n\n${MAP.slice(0, -1)}`)).replaceAll("Adds.", ""),
      );
      assert(!toolResults(without).holds(whole), name);
    }
    const { holds } = toolResults(SHAPES["OpenAI chat"]!(ID, `${long}\n\n${MAP}`));
    assert(!holds({ ...whole, text: MAP.replace("f1", "f2") }));
  });

  it("hold what stands in JSON, also where a host appended a reminder to that", () => {
    const chat = SHAPES["OpenAI chat"]!,
      json = JSON.stringify({ content: `${LINES}\n"}\\`, annotation: { text: MAP } });
    for (const behind of [REMINDER, "\n\n{not json}", " ]}"]) assert(holdsLines(chat(ID, json + behind)), behind);
    const text = JSON.stringify(`${LINES}\n"}\\`);
    for (const behind of ["", REMINDER]) assert(holdsLines(chat(ID, text + behind)), `a text, and ${behind}`);
    assert(!holdsLines(chat(ID, `${json.slice(0, -40)}${REMINDER}`)));
    assert(!holdsLines(chat(ID, `${json.replace("f7", "f8")}${REMINDER}`)));
  });

  it("hold lines of a file with CRLF, the last of them too, whose ending a host took off with a gutter", () => {
    const chat = SHAPES["OpenAI chat"]!, windows = `${LINES}\n`.replaceAll("\n", "\r\n");
    const given = gutter(windows.slice(0, -1));
    assert(holdsLines(chat(ID, given), windows));
    assertEquals(exactLines(windows.slice(0, -1), windows, "a.ts"), 12);
  });

  it("hold nothing of lines that are all empty but in a result of the same", () => {
    const chat = SHAPES["OpenAI chat"]!;
    assert(holdsLines(chat(ID, "\n\n"), "\n\n"));
    assert(!holdsLines(chat(ID, ""), "\n\n") && !holdsLines(chat(ID, "a\n\n\nb"), "\n\n"));
  });

  it("hold nothing in bytes, which are not looked through one by one", () => {
    const data = Object.assign(new Uint8Array(8), { note: LINES });
    const output = { type: "content", value: [{ type: "file", mediaType: "image/png", data: { type: "data", data } }] };
    const messages = [{ role: "tool", content: [{ type: "tool-result", toolCallId: ID, toolName: "read", output }] }];
    assert(!holdsLines(messages));
    assert(holdsLines([...messages, ...SHAPES["Anthropic with a string"]!(ID, LINES)]));
  });

  it("are read without a fault from whatever the host calls messages", () => {
    const round: unknown[] = [{ role: "tool" }];
    round.push(round);
    const odd = [
      undefined,
      null,
      7,
      "x",
      { role: "x", content: { content: { content: { content: 1 } } } },
      round,
      {
        tool_use_id: 7,
        content: LINES,
      },
      { tool_call_id: ID, content: null },
      { tool_call_id: ID, content: '{"broken": ' },
      { call_id: ID, output: 5 },
    ];
    assert(!holdsLines(odd));
    for (const messages of [undefined, null, "x", {}, 7]) assert(!holdsLines(messages as never));
  });

  it("are read without a fault, and to an end, where looking at them throws or leads in circles", () => {
    const throws = () => {
      throw new Error("not yours");
    };
    const gone = Proxy.revocable([], {}), round: unknown[] = [], knot: Record<string, unknown> = {};
    gone.revoke();
    for (let at = 0; at < 30; at++) round.push(round), knot[at] = knot;
    const odd = [
      gone.proxy,
      Object.defineProperty({}, "tool_call_id", { get: throws }),
      Object.defineProperty({ tool_call_id: ID }, "content", { get: throws }),
      { tool_call_id: ID, content: new Proxy({}, { ownKeys: throws }) },
      round,
      { tool_call_id: ID, content: knot },
    ];
    assert(!holdsLines(odd));
    assert(holdsLines([...odd, ...SHAPES["OpenAI chat"]!(ID, LINES), ...odd]), "what stands beside them is held");
  });
});

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as const;

type StreamPart = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part>
  ? Part
  : never;

/** A model of the AI SDK that calls the tool `read` twice at once, then says that it is done. */
function callingModel(): MockLanguageModelV4 {
  const content = [ID, "call-2"].map((toolCallId) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName: "read",
    input: JSON.stringify({ path: toolCallId }),
  }));
  const turns = [
    { content, finishReason: { unified: "tool-calls" as const, raw: undefined } },
    { content: [{ type: "text" as const, text: "Done." }], finishReason: { unified: "stop" as const, raw: undefined } },
  ];
  let turn = 0;
  return new MockLanguageModelV4({
    doGenerate: () => Promise.resolve({ ...turns[turn++]!, usage: USAGE, warnings: [] }),
    doStream: () => {
      const { content, finishReason } = turns[turn++]!, parts: StreamPart[] = [{ type: "stream-start", warnings: [] }];
      for (const part of content) {
        if (part.type === "tool-call") parts.push(part);
        else parts.push({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: part.text });
        if (part.type === "text") parts.push({ type: "text-end", id: "t" });
      }
      parts.push({ type: "finish", finishReason, usage: USAGE });
      const stream = new ReadableStream<StreamPart>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      });
      return Promise.resolve({ stream });
    },
  });
}

/** A tool whose first call gives a result and whose second one another. */
function readTool(first: unknown, second: unknown = "other") {
  return tool({
    description: "Reads a file.",
    inputSchema: jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } }),
    execute: ({ path }) => path === ID ? first : second,
  });
}

describe("messages that the AI SDK itself makes", () => {
  const results: Record<string, unknown> = {
    "a string": `${LINES}\n\n${MAP}`,
    "an object": { content: LINES, annotation: { kind: "map", path: "a.ts", text: MAP } },
    "blocks": [{ type: "text", text: LINES }, { type: "text", text: MAP }],
    "an MCP result": { content: [{ type: "text", text: gutter(LINES) }], isError: false },
  };
  for (const [name, result] of Object.entries(results)) {
    it(`hold the lines of a tool that gives ${name}, as responses, as the next prompt and as UI messages`, async () => {
      const model = callingModel(), tools = { read: readTool(result) }, stopWhen = isStepCount(2);
      const { responseMessages } = await generateText({ model, prompt: "Go.", stopWhen, tools });
      for (const messages of [responseMessages, model.doGenerateCalls[1]!.prompt]) {
        assert(holdsLines(messages));
        assert(!holdsLines(messages, LINES, "call-2") && !holdsLines(messages, `${LINES}\nmore`));
      }
      const streamed = streamText({ model: callingModel(), prompt: "Go.", stopWhen, tools });
      let last: UIMessage | undefined;
      for await (const message of readUIMessageStream({ stream: toUIMessageStream({ stream: streamed.stream }) })) {
        last = message;
      }
      assert(last && holdsLines([last]) && !holdsLines([last], LINES, "call-2"));
      assert(holdsLines(await convertToModelMessages([last])));
    });
  }

  it("hold them no longer once the SDK has pruned its tool calls", async () => {
    const { responseMessages } = await generateText({
      model: callingModel(),
      prompt: "Go.",
      stopWhen: isStepCount(2),
      tools: { read: readTool(LINES) },
    });
    assert(holdsLines(responseMessages));
    assert(!holdsLines(pruneMessages({ messages: responseMessages, toolCalls: "all" })));
  });
});

describe("messages that the Anthropic SDK itself makes", () => {
  for (
    const [name, result] of [["a string", `${LINES}\n\n${MAP}`], ["blocks", [{ type: "text", text: LINES }, {
      type: "text",
      text: MAP,
    }]]] as const
  ) {
    it(`hold the lines of a tool that gives ${name}`, async () => {
      const bodies: { messages: unknown[] }[] = [], seen: unknown[] = [];
      const content = [[
        { type: "tool_use", id: ID, name: "read", input: { path: "a.ts" } },
        { type: "tool_use", id: "call-2", name: "read", input: { path: "b.ts" } },
      ], [{ type: "text", text: "Done." }]];
      const client = new Anthropic({
        apiKey: "none",
        fetch: (_url: unknown, init?: { body?: unknown }) => {
          const at = bodies.push(JSON.parse(String(init?.body))) - 1;
          return Promise.resolve(Response.json({
            id: `m${at}`,
            type: "message",
            role: "assistant",
            model: "none",
            content: content[at],
            stop_reason: at === 0 ? "tool_use" : "end_turn",
            usage: { input_tokens: 1, output_tokens: 1 },
          }));
        },
      });
      const read = betaTool({
        name: "read",
        description: "Reads a file.",
        inputSchema: { type: "object", properties: { path: { type: "string" } } } as const,
        run: ({ path }, context) => {
          seen.push(context?.toolUse?.id);
          return path === "a.ts" ? result as string : "other";
        },
      });
      const runner = client.beta.messages.toolRunner({
        model: "none",
        max_tokens: 9,
        messages: [{ role: "user", content: "Go." }],
        tools: [read],
      });
      await runner.runUntilDone();
      for (const messages of [bodies[1]!.messages, runner.params.messages]) {
        assert(holdsLines(messages));
        assert(!holdsLines(messages, LINES, "call-2") && !holdsLines(messages, `${LINES}\nmore`));
        assert(toolResults(messages).holds({ kind: "map", path: "a.ts", text: MAP, callId: ID }));
      }
      assertEquals(seen, [ID, "call-2"]); // where the usual facts find it
    });
  }
});

describe("how many lines a text holds exactly", () => {
  const window = "one\ntwo\n\nfour\n";
  const cases: readonly (readonly [string, string, number])[] = [
    ["all of them", window, 4],
    ["all, without the last newline", "one\ntwo\n\nfour", 4],
    ["all, with other endings", "one\r\ntwo\r\n\r\nfour\r\n", 4],
    ["all, behind a byte order mark", `\ufeff${window}`, 4],
    ["all, behind a banner", `a.ts\n-----\n${window}`, 4],
    ["all, behind a tag for a file", `<file_content>\n${window}</file_content>`, 4],
    ...["file", "path", "type", "source", "document", "content"].map((tag) =>
      [`all, behind <${tag}>`, `<${tag} index="1">\n${window}`, 4] as const
    ),
    ["all behind a tag of the file's own", `<template>\n${window}`, 0],
    ["all behind a line that may be another version's first", `import "./b.ts";\n${window}`, 0],
    ["the first ones, the last one with more behind it", "one\ntwo\n\nfour!", 3],
    ...["//", "/*", " *", "#", ";", "%", "--", "<!--"].map((mark) =>
      [`all behind ${mark} and the file's name`, `${mark} a.ts\n${window}`, 0] as const
    ),
    ["all behind a comment that names the file", `// a.ts adds.\n${window}`, 0],
    ["all, behind the name and the range", `[a.ts]\nLines 1-4 of 9\n===\n${window}`, 4],
    ["all behind a banner and a line that may be another version's first", `File: a.ts\nzero\n${window}`, 0],
    ["all behind a banner and an empty line", `File: a.ts\n\n${window}`, 0],
    ["all behind an empty line", `\n${window}`, 0],
    ["all, and a footer", `${window}\n(4 of 9 lines)`, 4],
    ["the first ones, then the host's words", "one\ntwo\n(2 of 4 lines)", 2],
    ["the first ones and a blank one", "one\ntwo\n\n", 3],
    ["the first one, the next one cut", "one\ntw", 1],
    ["a cut first line", "on", 0],
    ["a banner and then fewer", "a.ts\none\ntwo", 0],
    ["others", "uno\ndos", 0],
    ["none", "", 0],
    ["all behind a page of something else", `${"x\n".repeat(6)}${window}`, 0],
  ];
  for (const [what, text, lines] of cases) {
    it(`is ${lines} where it shows ${what}`, () => assertEquals(exactLines(text, window, "a.ts"), lines));
  }

  it("is all of them behind a gutter too, an empty last line among them", () => {
    for (const ending of ["", "\n", "\n\n(3 of 9 lines)"]) {
      for (const lines of ["one\ntwo\n", "one\r\ntwo\r\n\r"]) {
        const given = autoCodec.text(`     1\tone\n     2\ttwo\n     3\t${ending}`)!;
        assertEquals(exactLines(given, `${lines}\n`, "a.ts"), 3, ending);
      }
    }
  });

  it("is no last line that goes on, where the file ends without a newline", () => {
    assertEquals(["one\ntwo", "one\ntwo\n", "one\ntwo!"].map((text) => exactLines(text, "one\ntwo", "a.ts")), [
      2,
      2,
      1,
    ]);
  });

  it("is 0 behind another line where one of the lines themselves names the file", () => {
    assertEquals(exactLines("zero\none\na.ts\n", "one\na.ts\n", "a.ts"), 0);
  });

  it("is all or nothing of lines that are all blank", () => {
    assertEquals(["\n\n", "\n", ""].map((text) => exactLines(text, "\n\n", "a.ts")), [2, 1, 0]);
  });

  it("is told in time whatever stands before them", () => {
    const size = 300_000, began = performance.now();
    for (const part of ["_", "=", " ", "<file-", "<file a", "line 1 ", "```", "\u2028 "]) {
      for (const line of [`${part.repeat(size)}!`, `<file>${part.repeat(size)}\u2028!`]) {
        exactLines(`${line}\n${window}`, window, "a.ts");
      }
    }
    assert(performance.now() - began < 20_000);
  });

  it("is none where a line holds white space the file does not have", () => {
    assertEquals(exactLines("one \ntwo\n", "one\ntwo\n", "a.ts"), 0);
    assertEquals(exactLines("one\n two\n", "one\ntwo\n", "a.ts"), 1);
  });
});
