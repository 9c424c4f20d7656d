import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import {
  asSchema,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  tool,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import * as sdk from "ai";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { aiPrepareStep, aiRequests, aiSummarizeFile, aiTool, aiTools } from "../../src/adapters/ai.ts";
import { codecOf, lastOf, modelOutput, noted, noteIn } from "../../src/adapters/ai/output.ts";
import { createCompactor } from "../../src/compaction.ts";
import { dialects } from "../../src/dialects.ts";
import type { Notice, Waymark, WaymarkOptions } from "../../src/options.ts";
import { createSession } from "../../src/session.ts";
import type { Annotation } from "../../src/types.ts";
import { createWaymark } from "../../src/waymark.ts";
import { converse, scripted, shownIn } from "../hosts/ai_loop.ts";
import { unhandledRejections } from "../rejections.ts";
import { code, inFolder, put } from "../support.ts";

interface Guarding {
  readonly folder: string;
  readonly waymark: Waymark;
  readonly notices: Notice[];
  /** A file of 300 lines. */
  readonly path: string;
}

function guarding(action: (given: Guarding) => Promise<void> | void, options: WaymarkOptions = {}): Promise<void> {
  return inFolder(async (folder) => {
    const notices: Notice[] = [], path = put(folder, "long.ts", code(300));
    const waymark = createWaymark({ root: folder, onNotice: (notice) => notices.push(notice), ...options });
    try {
      await action({ folder, waymark, notices, path });
    } finally {
      await waymark.close();
    }
  });
}

const plain = { dialect: dialects.plain } as const;
const MAP = /\[waymark map: [^\n]*PARTIAL, lines 1-200 of 300/;
const NOTE = "[waymark notice: no map]\nReason: none.\n[end of waymark notice]";

interface Input {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

const linesOf = ({ path, offset = 1, limit = Infinity }: Input): string =>
  readFileSync(path, "utf8").split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
const info = (toolCallId: string, more: object = {}): never => ({ toolCallId, messages: [], ...more }) as never;

describe("a tool that is wrapped", () => {
  const MARK: unique symbol = Symbol("mark");
  class ReadTool {
    readonly #root = "of the tool";
    readonly [MARK] = 7;
    calls = 0;
    description = "Reads a file.";
    inputSchema = jsonSchema<Input>({ type: "object" });
    get root(): string {
      return this.#root;
    }
    execute(input: Input): { content: string } {
      this.calls++;
      return { content: `${linesOf(input)}// ${this.#root}\n`.slice(0, -`// ${this.#root}\n`.length) };
    }
    toModelOutput({ output }: { output: { content: string } }): { type: "text"; value: string } {
      return { type: "text", value: output.content + (this.#root ? "" : "") };
    }
  }

  it("keeps its getters, symbols, prototype and private fields, and is not changed itself", () =>
    guarding(async ({ waymark, path }) => {
      const given = new ReadTool(),
        before = Object.getOwnPropertyDescriptors(given),
        read = aiTool(given, waymark, plain);
      assert(read instanceof ReadTool);
      assertEquals([read.root, read.description, read[MARK]], [
        "of the tool",
        "Reads a file.",
        7,
      ]);
      assertStrictEquals(read.inputSchema, given.inputSchema);
      const output = await read.execute({ path });
      assertMatch(JSON.stringify(output), MAP);
      assertMatch(JSON.stringify(await read.toModelOutput({ output })), MAP);
      assertEquals(given.calls, 1);
      assertEquals(Object.getOwnPropertyDescriptors(given), { ...before, calls: { ...before["calls"]!, value: 1 } });
    }));

  it("may be frozen before, and spread or frozen after", () =>
    guarding(async ({ waymark, path }) => {
      const given = Object.freeze({
        execute: (input: Input) => ({ content: linesOf(input) }),
        toModelOutput: ({ output }: { output: { content: string } }) => ({ type: "text", value: output.content }),
      });
      const read = aiTool(given, waymark, plain);
      for (const one of [read, { ...read }, Object.freeze(aiTool(given, waymark, plain))]) {
        const output = await one.execute({ path });
        assertMatch(JSON.stringify(await one.toModelOutput({ output })), MAP);
        assertEquals(Object.keys(one), ["execute", "toModelOutput"]);
      }
    }));

  it("is the very same object where there is nothing to call", () =>
    guarding(({ waymark }) => {
      for (const given of [{ type: "provider", id: "x.search" }, { execute: undefined }, null, undefined]) {
        assertStrictEquals(aiTool(given as object, waymark, plain), given);
      }
    }));

  it("is named to the guards as the model calls it", async () => {
    const names: unknown[] = [];
    const waymark: Pick<Waymark, "wrapTools"> = {
      wrapTools: (tools, options) => (names.push(Object.keys(tools), options?.names), tools),
    };
    const given = { execute: () => "" };
    assertStrictEquals(aiTool(given, waymark, plain), given);
    aiTool(given, waymark, { ...plain, name: "open" });
    assertEquals(names, [["read"], ["read"], ["open"], ["open"]]);
    assertEquals(await given.execute(), "");
  });

  it("gives the last value of whatever stream it returns, once the read is one", async () => {
    await guarding(async ({ waymark, path }) => {
      const read = aiTool({ execute: (input: Input): unknown => new Blob([linesOf(input)]).stream() }, waymark, plain);
      const chunk = await read.execute({ path }); // a web stream cannot carry a map: it is read as asked
      assertEquals(new TextDecoder().decode(chunk as Uint8Array).includes("return a + 300"), true);
    });
    assertEquals(await lastOf("text"), "text");
    assertEquals(await lastOf(null), null);
    assertEquals(await lastOf((async function* () {})()), undefined);
  });

  it("gives what an async function promises as it is, though one could go through it, as a list of pages", () =>
    guarding(async ({ waymark }) => {
      const pages = Object.assign((async function* () {})(), { content: "all" });
      const list = aiTool({ execute: async (_: Input): Promise<unknown> => await pages }, waymark, plain);
      assertStrictEquals(await list.execute({ path: "short.md" }), pages);
    }));

  it("throws what it threw, from execute and from toModelOutput", () =>
    guarding(async ({ waymark, path }) => {
      class Refused extends Error {}
      const error = new Refused("no");
      const read = aiTool(
        {
          execute: (_: Input) => Promise.reject(error),
          toModelOutput: (_: { output: unknown }): unknown => {
            throw error;
          },
        },
        waymark,
        plain,
      );
      assertStrictEquals(await assertRejects(() => read.execute({ path })), error);
      let thrown: unknown;
      try {
        read.toModelOutput({ output: "text" });
      } catch (caught) {
        thrown = caught;
      }
      assertStrictEquals(thrown, error);
    }));

  it("gives the model's output as it was made where there is nothing to add, promise or not", () =>
    guarding(({ waymark }) => {
      const made = { type: "text", value: "a" };
      const read = aiTool({ execute: () => "a", toModelOutput: (_: { output: unknown }) => made }, waymark, plain);
      assertStrictEquals(read.toModelOutput({ output: "a" }), made);
      assertStrictEquals(read.toModelOutput({ output: { annotation: "the tool's own" } }), made);
    }));
});

describe("calls of one step at once", () => {
  it("are all held against its messages once: none takes the others for gone", () =>
    guarding(async ({ waymark, path }) => {
      const session = createSession(), messages = [{ role: "user", content: "Go." }];
      const waiting = Promise.withResolvers<void>();
      const execute = async (input: Input, _: unknown) => (await waiting.promise, linesOf(input));
      const read = aiTool({ execute }, waymark, { ...plain, session });
      session.nextTurn();
      const both = [1, 101].map((offset, at) =>
        read.execute({ path, offset, limit: 100 }, info(`c${at}`, { messages }))
      );
      waiting.resolve();
      await Promise.all(both);
      assertEquals(session.coverage(path)?.seen, [{ start: 1, end: 200 }]);
    }));
});

describe("a tool set that is wrapped", () => {
  it("is a record of the same kind, in which the read tools alone are others", () =>
    guarding(async ({ waymark, path, notices }) => {
      const given = {
        read: tool({ inputSchema: jsonSchema<Input>({ type: "object" }), execute: linesOf }),
        write: tool({ inputSchema: jsonSchema<Input>({ type: "object" }), execute: () => "written" }),
      };
      const tools = aiTools(given, waymark, plain), set: ToolSet = tools;
      assertEquals(Object.keys(set), ["read", "write"]);
      assertStrictEquals(tools.write, given.write);
      assertMatch(await tools.read.execute!({ path }, info("c1")) as string, MAP);
      assertEquals(await given.read.execute!({ path }, info("c1")), code(300));
      assertEquals(notices, []);
    }));

  it("may be frozen, whatever its tools are", () =>
    guarding(async ({ waymark, path }) => {
      const open = { execute: linesOf }, read = Object.freeze({ type: "provider", id: "some.read" });
      const tools = aiTools(Object.freeze({ open, read }), waymark, { ...plain, names: ["open", "read"] });
      assertStrictEquals(tools.read, read);
      assertMatch(await tools.open.execute({ path }), MAP);
    }));

  it("has other read tools by name, and says where there is none", () =>
    guarding(async ({ waymark, path, notices }) => {
      const given = { open: { execute: linesOf }, read: { execute: linesOf } };
      const tools = aiTools(given, waymark, { ...plain, names: ["open"] });
      assertStrictEquals(tools.read, given.read);
      assertMatch(await tools.open.execute({ path }), MAP);
      assertEquals(notices, []);
      const none = aiTools({ write: given.read }, waymark, plain);
      assertStrictEquals(none.write, given.read);
      assertStringIncludes(notices[0]!.message, "none of the tools is called read");
    }));

  it("takes facts of the host's own, and a conversation for each set", () =>
    guarding(async ({ waymark, folder }) => {
      put(folder, "a.ts", code(60));
      const execute = (_: Input) => code(60), facts = () => ({ cwd: folder, callId: "mine" }), read = { execute };
      const [one, other] = [createSession(), createSession()];
      const tools = [one, other].map((session) => aiTools({ read }, waymark, { ...plain, session, facts }));
      await tools[0]!.read.execute({ path: "a.ts" });
      assertEquals(one.toJSON().given.map(({ callId, path }) => [callId, path]), [["mine", "a.ts"]]);
      assertEquals(other.toJSON().given, []);
      assertEquals(await tools[1]!.read.execute({ path: "a.ts" }), code(60));
      assertMatch(await tools[0]!.read.execute({ path: "a.ts" }), /^\[waymark reference: /);
    }));

  it("refers to nothing that the messages of a call do not hold, whether or not requests are told of", () =>
    guarding(async ({ waymark, folder }) => {
      const path = put(folder, "a.ts", code(60)), session = createSession();
      const tools = aiTools({ read: { execute: linesOf as (input: Input, info: never) => string } }, waymark, {
        ...plain,
        session,
      });
      const result = (toolCallId: string) => ({
        role: "tool",
        content: [{ type: "tool-result", toolCallId, toolName: "read", output: { type: "text", value: code(60) } }],
      });
      const ask = (id: string, ...messages: object[]) => tools.read.execute({ path }, info(id, { messages }));
      assertEquals(await ask("c1"), code(60));
      assertMatch(await ask("c2", result("c1")), /^\[waymark reference: /);
      assertEquals(await ask("c3"), code(60)); // the first one was left out
      assertEquals(await ask("c4", result("c1")), code(60)); // another call of that id
      assertMatch(await ask("c5", result("c4")), /^\[waymark reference: /);
      const broken = Object.assign(Object.create(session), {
        reconcile() {
          throw new Error("broken");
        },
      });
      const others = aiTools({ read: { execute: linesOf as (input: Input, info: never) => string } }, waymark, {
        ...plain,
        session: broken,
      });
      assertEquals(await others.read.execute({ path }, info("c6")), code(60));
    }));

  it("takes a codec of the host's own", () =>
    guarding(async ({ waymark, path }) => {
      const execute = (input: Input): { rows: string } => ({ rows: linesOf(input) });
      const codec = {
        text: ({ rows }: { rows: string }) => rows,
        annotate: (result: { rows: string }, annotations: readonly Annotation[]) => ({
          ...result,
          map: annotations[0]!.text,
        }),
      };
      const tools = aiTools({ read: { execute } }, waymark, { ...plain, codec });
      assertMatch((await tools.read.execute({ path }) as { rows: string; map: string }).map, MAP);
    }));
});

describe("the note in an output", () => {
  it("is found in text, in blocks, in an MCP result and in a field", () => {
    for (
      const output of [
        `code\n\n${NOTE}`,
        [{ type: "text", text: "code" }, { type: "text", text: NOTE }],
        { content: [{ type: "text", text: "code" }, { type: "text", text: NOTE }] },
        { content: "code", annotation: { kind: "notice", text: NOTE } },
      ]
    ) assertEquals(noteIn(JSON.parse(JSON.stringify(output))), NOTE);
  });

  it("is none of a tool's own, and nothing is looked for where nothing can be", () => {
    const none = ["", "code", null, undefined, 7, {}, [], [null], { annotation: null }, {
      annotation: { text: "mine" },
    }, {
      content: [{ type: "image", data: NOTE }],
    }, { annotation: { text: { [NOTE]: 1 } } }];
    for (const output of none) assertEquals(noteIn(output), undefined);
  });

  it("is not looked for in what may not be looked at", () => {
    const output = {
      get content(): never {
        throw new Error("closed");
      },
    };
    assertEquals(noteIn(output), undefined);
    assertEquals(modelOutput({ output }, () => "made"), "made");
  });

  it("stands in what the model is shown exactly once, beside all that was there", () => {
    const values = fc.oneof(
      fc.string(),
      fc.jsonValue(),
      fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })),
    );
    const types = fc.constantFrom("text", "json", "content", "error-text", "error-json");
    fc.assert(fc.property(types, values, (type, value) => {
      if (type === "content" && !Array.isArray(value)) return;
      if (type.endsWith("text") && typeof value !== "string") return;
      const made = Object.freeze({ type, value }), shown = noted(made, NOTE) as { type: string; value: unknown };
      const parts = typeof shown.value === "string" ? [{ text: shown.value }] : shown.value as { text?: unknown }[];
      const texts = parts.map((part) => part?.text).filter((text) => typeof text === "string");
      assertEquals(texts.filter((text) => text.includes(NOTE)).length, 1);
      assertEquals(shown.type.startsWith("error"), type.startsWith("error"));
      const rest = texts.join("\n\n").replace(NOTE, "");
      const wanted = typeof value === "string" ? value : type === "content" ? "" : JSON.stringify(value);
      assertStringIncludes(rest, wanted);
      assertStrictEquals(noted(shown, NOTE), shown);
    }));
  });

  it("is left out of what is no output of a known form", () => {
    for (
      const made of [undefined, null, "text", { type: "execution-denied", reason: "no" }, { type: "new", value: 7 }]
    ) {
      assertStrictEquals(noted(made, NOTE), made);
    }
    const bytes = { type: "content", value: [{ type: "file", data: { type: "data", data: new Uint8Array(9) } }] };
    assertEquals((noted(bytes, NOTE) as typeof bytes).value.length, 2);
  });
});

describe("a toModelOutput that cannot read its output with a note in it", () => {
  const made = (output: unknown, read: (output: unknown) => unknown) =>
    Promise.resolve(modelOutput({ output }, ({ output }) => ({ type: "json", value: read(output) })));
  const isBare = (bare: unknown) => (output: unknown): unknown => {
    assertEquals(output, bare);
    return bare;
  };
  const annotation = { kind: "notice", text: NOTE };

  it("is asked about the output without, and the note stands behind what it makes", async () => {
    const shown = (value: unknown) => ({
      type: "content",
      value: [{ type: "text", text: JSON.stringify(value) }, { type: "text", text: NOTE }],
    });
    assertEquals(await made(`{"rows":[1]}\n\n${NOTE}`, (text) => JSON.parse(text as string)), shown({ rows: [1] }));
    assertEquals(await made({ content: "a", annotation }, isBare({ content: "a" })), shown({ content: "a" }));
    const blocks = [{ type: "text", text: "a" }];
    assertEquals(await made([...blocks, { type: "text", text: NOTE }], isBare(blocks)), shown(blocks));
    const content = { isError: false, content: blocks };
    const noted = { ...content, content: [...blocks, { type: "text", text: NOTE }] };
    assertEquals(await made(noted, isBare(content)), shown(content));
  });

  it("is not asked about a reference alone, which is text", async () => {
    const reference = "[waymark reference: a.ts lines 1-5 of 9 are unchanged since turn 1, shown then]";
    const text = { type: "text", value: reference }, fails = () => JSON.parse("{");
    assertEquals(await made(reference, fails), text);
    assertEquals(await made({ content: "", annotation: { kind: "reference", text: reference } }, fails), text);
    assertEquals(await made([{ type: "text", text: reference }], fails), text);
    assertEquals(await made({ content: [{ type: "text", text: reference }] }, fails), text);
  });

  it("throws its own error where it cannot read that either", async () => {
    const error = new Error("no"),
      fails = () => {
        throw error;
      };
    assertStrictEquals(await assertRejects(() => made(`a\n\n${NOTE}`, fails)), error);
  });
});

describe("a tool's own schema of its outputs", () => {
  const annotation: Annotation = { kind: "notice", text: NOTE }, output = { content: "code" };
  const strict = (value: unknown): boolean => Object.keys(value as object).join() === "content";
  const schemas: Record<string, unknown> = {
    "a Standard Schema": {
      "~standard": { validate: (value: unknown) => strict(value) ? { value } : { issues: [{ message: "no" }] } },
    },
    "a schema of the SDK's": jsonSchema({}, {
      validate: (value) => strict(value) ? { success: true, value } : { success: false, error: new Error("no") },
    }),
    "one that is made when it is asked for": () =>
      jsonSchema({}, {
        validate: (value) => strict(value) ? { success: true, value } : { success: false, error: new Error("no") },
      }),
  };
  for (const [what, outputSchema] of Object.entries(schemas)) {
    it(`is kept to: ${what}`, () => {
      const codec = codecOf({ outputSchema });
      assertStrictEquals(codec.annotate(output, [annotation]), output);
      assertEquals(codec.answer!(annotation, output), undefined);
      assertEquals(codec.annotate("code", [annotation]), "code"); // neither is text allowed
    });
  }

  it("lets through what it takes, and what it does not say at once", () => {
    for (
      const outputSchema of [
        undefined,
        jsonSchema({}),
        { "~standard": { validate: (value: unknown) => ({ value }) } },
        {
          validate: () => Promise.reject(new Error("later")),
        },
      ]
    ) {
      const codec = codecOf({ outputSchema });
      assertEquals(codec.annotate(output, [annotation]), { content: "code", annotation });
      assertEquals(codec.answer!(annotation, output), { content: "", annotation });
    }
  });

  it("harms nobody where it says later that it fails", async () => {
    const codec = codecOf({ outputSchema: { validate: () => Promise.reject(new Error("later")) } });
    const rejections = await unhandledRejections(() => Promise.resolve(codec.annotate(output, [annotation])));
    assertEquals(rejections, []);
  });

  it("is not asked of a shape that nobody knows: without a result of the tool there is no answer", () => {
    const tool = {}, codec = codecOf(tool);
    assertEquals(codec.answer!(annotation), undefined);
    assertEquals(codec.text({ isError: true, content: [{ type: "text", text: "no" }] }), "no");
    assertEquals(codec.answer!(annotation), undefined);
    assertEquals(codec.text(output), "code");
    assertEquals(codecOf(tool).answer!(annotation), { content: "", annotation });
    assertEquals(codecOf({}).answer!(annotation), undefined);
  });
});

describe("requests that are told of", () => {
  const prompt = (...texts: string[]) => texts.map((text) => ({ role: "user", content: [{ type: "text", text }] }));
  const model = { modelId: "m-1" };

  it("go out as they are, and are noted whole, without the tools that there are not", async () => {
    const noted: unknown[] = [],
      middleware = aiRequests({ compactor: { noteRequestSent: (request) => noted.push(request) } });
    const params = { prompt: prompt("Go."), temperature: 0, tools: undefined };
    assertStrictEquals(await middleware.transformParams({ params, model }), params);
    const tools = [{ type: "function", name: "read" }];
    await middleware.transformParams({ params: { ...params, tools }, model });
    assertEquals(noted, [{ ...params, tools: null, model: "m-1" }, { ...params, tools, model: "m-1" }]);
  });

  it("are one turn each, and the same one again is none", async () => {
    const session = createSession(), middleware = aiRequests({ session }), turns: number[] = [];
    const image = (byte: number) => ({ role: "user", content: [{ type: "file", data: new Uint8Array([1, byte]) }] });
    const link = (address: string) => ({ role: "user", content: [{ type: "file", data: new URL(address) }] });
    for (
      const sent of [
        prompt("a"),
        prompt("a"),
        prompt("a", "b"),
        prompt("a", "c"),
        [image(1)],
        [image(1)],
        [image(2)],
        [link("https://a.example/1")],
        [link("https://a.example/1")],
        [link("https://a.example/2")],
        [{ role: "user", content: [] }],
        [{ role: "user", content: {} }],
        [{ role: "user", content: {}, providerOptions: undefined }],
        [{ role: "user", content: null }],
      ]
    ) {
      await middleware.transformParams({ params: { prompt: sent }, model });
      turns.push(session.turn);
    }
    assertEquals(turns, [1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 9, 10]);
  });

  it("refer to nothing where the provider is told to take results out by itself", async () => {
    const clears = { contextManagement: { edits: [{ type: "clear_tool_uses_20250919" }] } };
    for (
      const [providerOptions, kept] of [
        [{ anthropic: clears }, 0],
        [{ openai: { truncation: "auto" } }, 0],
        [{ openai: { truncation: "disabled" }, anthropic: { thinking: { type: "adaptive" } } }, 1],
        [undefined, 1],
      ] as const
    ) {
      await guarding(async ({ waymark, folder }) => {
        const path = put(folder, "a.ts", code(60)), session = createSession(), middleware = aiRequests({ session });
        await aiTools({ read: { execute: linesOf as (input: Input, info: never) => string } }, waymark, {
          ...plain,
          session,
        }).read.execute({ path }, info("c1"));
        const output = { type: "text", value: code(60) };
        const sent = [{ role: "tool", content: [{ type: "tool-result", toolCallId: "c1", output }] }];
        await middleware.transformParams({ params: { prompt: sent, providerOptions }, model });
        assertEquals(session.toJSON().given.length, kept);
      });
    }
  });

  it("are told of whatever is in them: circles, getters that throw, objects without a prototype", async () => {
    const told: unknown[] = [],
      session = { ...createSession(), nextTurn: () => 1, reconcile: (sent: unknown) => told.push(sent) };
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    const odd = [
      circle,
      {
        get text() {
          throw new Error("no");
        },
      },
      Object.assign(Object.create(null), { text: "a" }),
    ];
    const errors: unknown[] = [];
    const middleware = aiRequests({ session: session as never, onError: (error) => errors.push(error) });
    for (const part of odd) {
      for (const _time of [1, 2]) {
        const copy = Object.create(Object.getPrototypeOf(part), Object.getOwnPropertyDescriptors(part));
        await middleware.transformParams({ params: { prompt: [{ role: "user", content: [copy] }] }, model });
      }
    }
    assertEquals([told.length, errors], [6, []]);
  });

  it("go out where a session or a compactor throws, and that is told", async () => {
    const errors: unknown[] = [],
      broken = (): never => {
        throw new Error("broken");
      };
    const told: unknown[] = [], reconcile = (messages: unknown): void => void told.push(messages);
    const session = Object.assign(Object.create(createSession()), { nextTurn: broken, reconcile });
    for (const onError of [(error: unknown) => void errors.push(error), broken, undefined]) {
      const middleware = aiRequests({ session, compactor: { noteRequestSent: broken }, ...onError && { onError } });
      const params = { prompt: prompt("Go.") };
      assertStrictEquals(await middleware.transformParams({ params, model }), params);
      assertStrictEquals(told.pop(), params.prompt); // whatever else fails, what left is known
    }
    assertEquals(errors.length, 2);
  });
});

describe("steps within a budget", () => {
  const user = (content: string) => ({ role: "user" as const, content }), words = "word ".repeat(400);
  const made = () => createCompactor({ budget: 4_000, shape: "ai-sdk", strategy: "prune", onNotice: () => {} });

  it("give the compactor what is new, where all messages come each time and where its own view does", () => {
    for (const carries of [false, true]) {
      const compactor = made(), prepareStep = aiPrepareStep(compactor);
      let all = [user("0")], step = all;
      for (let at = 1; at < 20; at++) {
        const { messages } = prepareStep({ messages: step, steps: [] });
        assertEquals(compactor.history(), all);
        const answer = [{ role: "assistant" as const, content: words }, user(String(at))];
        all = [...all, ...answer] as typeof all;
        step = (carries ? [...messages, ...answer] : all) as typeof all;
      }
      assert(compactor.stats().dropped > 0, "views are shorter than what was given");
    }
  });

  it("know messages by what they say: a later call of the host has copies of them", () => {
    const compactor = made(), prepareStep = aiPrepareStep(compactor), all = [user("a"), user("b")];
    prepareStep({ messages: all, steps: [] });
    prepareStep({ messages: structuredClone([...all, user("c")]), steps: [] });
    assertEquals(compactor.history(), [user("a"), user("b"), user("c")]);
    prepareStep({ messages: [user("x")], steps: [] });
    assertEquals(compactor.history(), [user("x")]);
  });

  it("begin anew where anything that was given before is not there as it was", () => {
    for (const change of [0, 1]) {
      const prepareStep = aiPrepareStep(made()), all = ["a", "b", "go on"].map(user);
      prepareStep({ messages: all, steps: [] });
      const edited = [...all.map((message, at) => at === change ? user("edited") : message), user("c")];
      assertEquals(prepareStep({ messages: edited, steps: [] }).messages, edited);
    }
    const bytes = (...values: number[]) => ({
      role: "user" as const,
      content: [{ type: "file", data: new Uint8Array(values).buffer }],
    });
    const compactor = made(), prepareStep = aiPrepareStep(compactor);
    prepareStep({ messages: [bytes(1)], steps: [] });
    prepareStep({ messages: [bytes(1), bytes(2)], steps: [] });
    assertEquals(compactor.history().length, 2);
    assertEquals(prepareStep({ messages: [bytes(3), bytes(2)], steps: [] }).messages, [bytes(3), bytes(2)]);
    prepareStep({ messages: [bytes(3), bytes(2, 9)], steps: [] });
    assertEquals(compactor.history(), [bytes(3), bytes(2, 9)]);
  });

  it("go on where another prepareStep of the same compactor left off", () => {
    const compactor = made(), all = ["a", "b", "c"].map(user);
    for (const count of [2, 3]) {
      const messages = all.slice(0, count);
      assertEquals(aiPrepareStep(compactor)({ messages, steps: [] }).messages, messages);
    }
    assertEquals(compactor.history(), all);
  });

  it("go out as they are where the compactor fails at them", () => {
    const messages = [user("a")],
      failing = (): never => {
        throw new Error("no");
      };
    for (const name of ["noteUsage", "history", "append", "view"] as const) {
      const prepareStep = aiPrepareStep({ ...made(), [name]: failing });
      assertStrictEquals(
        prepareStep({ messages, steps: [{ usage: { inputTokens: 9, outputTokens: 1 } }] }).messages,
        messages,
      );
    }
  });

  it("report what the last step took, as far as the SDK knows it", () => {
    const usages: unknown[] = [], compactor = made();
    const prepareStep = aiPrepareStep({ ...compactor, noteUsage: (usage) => usages.push(usage) });
    const outputTokens = 5, details = { cacheReadTokens: 70, cacheWriteTokens: 10 };
    for (
      const usage of [
        { inputTokens: 100, inputTokenDetails: details, outputTokens },
        { inputTokens: 100, outputTokens: undefined },
        { inputTokens: 100, inputTokenDetails: { cacheReadTokens: undefined, cacheWriteTokens: 200 }, outputTokens },
        { inputTokens: undefined, outputTokens },
      ]
    ) prepareStep({ messages: [user("a")], steps: [{ usage }] });
    assertEquals(usages, [
      { input: 20, cacheRead: 70, cacheWrite: 10, output: 5 },
      { input: 100, cacheRead: 0, cacheWrite: 0, output: 0 },
      { input: 0, cacheRead: 0, cacheWrite: 200, output: 5 },
    ]);
  });
});

describe("summarize_file for the SDK", () => {
  it("has a schema that the SDK may write into without harm, and validates nothing itself", () =>
    guarding(async ({ waymark, path }) => {
      const { description, inputSchema, execute } = aiSummarizeFile(waymark), made = waymark.summarizeFileTool();
      const schema = await asSchema(inputSchema).jsonSchema as { properties: object };
      assertEquals(schema as unknown, made.parameters);
      Object.assign(schema.properties, { more: {} });
      assertEquals(await asSchema(inputSchema).jsonSchema as unknown, made.parameters);
      assertEquals(inputSchema["~standard"].jsonSchema.output(), made.parameters);
      assertEquals(
        await asSchema(inputSchema).validate!({ anything: 1 }),
        { success: true, value: { anything: 1 } } as never,
      );
      assertEquals(description, made.description);
      assertStringIncludes(await execute({ path }), "300-300  function  f300");
    }));

  it("ends with the caller's abort", () =>
    guarding(async ({ waymark, path }) => {
      const { execute } = aiSummarizeFile(waymark), abortSignal = AbortSignal.abort(new Error("enough"));
      await assertRejects(() => execute({ path }, { abortSignal }));
    }));
});

describe("the whole of it, in the SDK's own loop", () => {
  it("shows a long file as 200 lines and a map, then the rest, then refers back", () =>
    guarding(async ({ waymark, path }) => {
      const session = createSession(), ai = { name: "ai", sdk, specification: "v4", loop: "generateText" } as const;
      const calls = [{ path }, { path, offset: 201, limit: 100 }, { path, offset: 201, limit: 100 }];
      const { model: inner, requests } = scripted(ai, calls.map((input, at) => [{ id: `c${at}`, input }]));
      const model = wrapLanguageModel({ model: inner as never, middleware: aiRequests({ session }) });
      const read = tool({ inputSchema: jsonSchema<Input>({ type: "object" }), execute: linesOf });
      const tools = aiTools({ read }, waymark, { ...plain, session });
      await converse(ai, { model, tools, prompt: "Go." });
      const shown = shownIn(requests.at(-1)!);
      assertMatch(shown.get("c0")!.text, MAP);
      assertStringIncludes(shown.get("c1")!.text, "return a + 300");
      assertMatch(shown.get("c2")!.text, /^\[waymark reference: [^\n]*lines 201-300 of 300 are unchanged since turn 2/);
    }));

  it("is taken by the SDK's types as it is", () =>
    guarding(async ({ waymark }) => {
      const compactor = createCompactor({ budget: 10_000, shape: "ai-sdk", strategy: "prune" });
      const { model: inner } = scripted({ specification: "v4" }, []);
      const model: LanguageModel = wrapLanguageModel({ model: inner as never, middleware: aiRequests({ compactor }) });
      const read = tool({ inputSchema: jsonSchema<Input>({ type: "object" }), execute: linesOf });
      const tools = { ...aiTools({ read }, waymark, plain), summarize_file: aiSummarizeFile(waymark) };
      const prepareStep = aiPrepareStep(compactor);
      const { text } = await generateText({ model, tools, prepareStep, stopWhen: isStepCount(3), prompt: "Go." });
      assertEquals([text, compactor.history().length], ["Done.", 1]);
    }));
});
