/**
 * The whole guard in conversations: short scripts of reads, edits, compactions and prunings. One thing holds everywhere: a
 * reference is only given where the exact lines asked for are still visible to that conversation and the bytes are equal.
 */

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createSession, fieldsCodec, isAnnotationText, type Session, stripAnnotations } from "../../mod.ts";
import { code, inFolder, type PlainArguments, put } from "../support.ts";
import { assertCapped, type Guarded, type GuardedOptions, guarding, guardingIn, LIMIT } from "./field.ts";

/** A message of the scripted host, in the form of OpenAI's chat. */
interface Message {
  role: string;
  tool_call_id?: string;
  content: string;
}

/** A host over one conversation: what the model can still see, and what the tools do. */
interface Host {
  readonly session: Session;
  readonly messages: Message[];
  /** A request to the model begins; the host says what it holds. */
  turn(times?: number): void;
  /** A read by the model: what it got, and what that is. The rule of this file is checked of every one. */
  read(args: PlainArguments, info?: object): Promise<{ text: string; kind: "reference" | "lines" }>;
  /** The messages become one summary. */
  compact(): void;
}

/** How a host tells its session what left the conversation. */
type Tells = "messages" | "turns" | "everything" | "ids";

let calls = 0;

function hostOf({ folder, read }: Guarded, session: Session, tells: Tells = "messages"): Host {
  const messages: Message[] = [];
  return {
    session,
    messages,
    turn(times = 1) {
      for (let at = 0; at < times; at++) session.nextTurn();
      if (tells === "messages") session.reconcile(messages);
    },
    async read(args, info) {
      const callId = `call-${++calls}`, visible = messages.map(({ content }) => content);
      const text = await read(args, { callId, session, ...info });
      messages.push({ role: "tool", tool_call_id: callId, content: text });
      const first = text.split("\n", 1)[0]!,
        reference = /^\[waymark reference: .* lines? (\d+)(?:-(\d+))? of \d+ (?:is|are) unchanged/.exec(first);
      if (!reference) return { text, kind: "lines" };
      const [, start, end = start] = reference, lines = readFileSync(join(folder, args.path), "utf8").split("\n");
      const missing = lines.slice(Number(start) - 1, Number(end)).filter((line) =>
        !visible.some((content) => content.split("\n").includes(line))
      );
      assertEquals(missing, [], "every line it speaks of is visible, as it is now");
      return { text, kind: "reference" };
    },
    compact() {
      const gone = messages.splice(0).flatMap(({ tool_call_id }) => tool_call_id ?? []);
      messages.push({ role: "user", content: "A summary of what happened." });
      if (tells === "turns") session.evictBefore(session.turn + 1);
      else if (tells === "everything") session.reset();
      else if (tells === "ids") session.evict(gone);
    },
  };
}

/** Runs a script with the whole guard and a conversation of its own. */
function hosting(
  action: (host: Host, guarded: Guarded) => Promise<void>,
  { tells, ...options }: GuardedOptions & { tells?: Tells } = {},
): Promise<void> {
  return guarding((guarded) => action(hostOf(guarded, createSession(), tells), guarded), options);
}

const kinds = (results: readonly { kind: string }[]): string[] => results.map(({ kind }) => kind);
const linesOf = (text: string, start: number, end: number): string =>
  text.split(/(?<=\n)/).slice(start - 1, end).join("");

describe("a conversation that is compacted", () => {
  for (const tells of ["messages", "turns", "everything", "ids"] as const) {
    it(
      `shows a file again, shortened, once after each compaction, then refers to it: told by ${tells}`,
      LIMIT,
      () =>
        hosting(async (host, { folder, model }) => {
          put(folder, "long.ts", code(300));
          for (let generation = 0; generation < 4; generation++) {
            host.turn();
            const first = await host.read({ path: "long.ts" });
            assertCapped(first.text, code(300));
            host.turn(3);
            const second = await host.read({ path: "long.ts" });
            assertEquals([second.kind, isAnnotationText(second.text)], ["reference", true]);
            if (generation % 2) host.turn(); // compacted in that turn, or in the next
            host.compact();
          }
          assertEquals(model.calls.length, 1, "the map is kept, it is only given again");
        }, { tells }),
    );
  }

  it(
    "costs one recovery a file and generation, however many files and compactions",
    LIMIT,
    () =>
      hosting(async (host, { folder, waymark, calls }) => {
        const files = ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts"];
        for (const [at, name] of files.entries()) put(folder, name, code(50 + at));
        for (let generation = 0; generation < 6; generation++) {
          const got: Record<string, number> = { lines: 0, reference: 0 };
          for (let round = 0; round < 4; round++) {
            host.turn(3);
            for (const path of files) got[(await host.read({ path })).kind]!++;
          }
          assertEquals(got, { lines: 5, reference: 15 });
          host.compact();
        }
        assertEquals([calls.length, waymark.stats().references], [30, 90]);
      }),
  );

  it(
    "takes the reads by which a model finds its place again for what they are: none is refused",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        for (const name of ["a.ts", "b.ts", "c.ts"]) put(folder, name, code(30));
        for (let generation = 0; generation < 3; generation++) {
          for (const path of ["a.ts", "b.ts", "c.ts", "a.ts", "b.ts", "c.ts"]) {
            host.turn();
            const { text } = await host.read({ path });
            assert(text === code(30) || isAnnotationText(text));
          }
          host.compact();
          host.turn();
          assertEquals(kinds([await host.read({ path: "b.ts" }), await host.read({ path: "c.ts" })]), [
            "lines",
            "lines",
          ]);
        }
      }),
  );
});

describe("a conversation whose old results are cleared", () => {
  it(
    "shows again what is blanked, and refers only to what is still visible",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        for (const name of ["a.ts", "b.ts"]) {
          put(folder, name, code(40).replaceAll("export", `/* ${name} */ export`));
          host.turn();
          await host.read({ path: name });
        }
        host.messages[0]!.content = "[Old tool result content cleared]";
        host.turn();
        assertEquals(kinds([await host.read({ path: "a.ts" }), await host.read({ path: "b.ts" })]), [
          "lines",
          "reference",
        ]);
        host.messages[1]!.content = host.messages[1]!.content.slice(0, 500);
        host.turn(3);
        assertEquals(kinds([await host.read({ path: "a.ts" }), await host.read({ path: "b.ts" })]), [
          "reference",
          "lines",
        ]);
      }),
  );

  it(
    "can say, before it clears a result, which lines of which bytes it held",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        const names = Array.from({ length: 6 }, (_, at) => `file${at}.ts`);
        for (const [at, path] of names.entries()) {
          put(folder, path, code(40 + at));
          host.turn();
          await host.read({ path, offset: 2, limit: 20 });
        }
        const { given } = host.session.toJSON();
        for (const [at, message] of host.messages.entries()) {
          const { path, hash, start, end, lines } = given.find(({ callId }) => callId === message.tool_call_id)!;
          assertEquals([path, start, end, lines, hash.length], [names[at], 2, 21, 40 + at, 64]);
          message.content = `[cleared: ${path} lines ${start}-${end} of ${lines}, sha256 ${hash.slice(0, 12)}]`;
        }
        host.turn();
        for (const path of names) assertEquals((await host.read({ path, offset: 2, limit: 20 })).kind, "lines");
        host.turn(3);
        for (const path of names) assertEquals((await host.read({ path, offset: 2, limit: 20 })).kind, "reference");
      }),
  );
});

describe("several conversations over one wrapped tool", () => {
  it("each get the text at their first read", LIMIT, () =>
    guarding(async (guarded) => {
      put(guarded.folder, "a.ts", code(60));
      const [main, sub] = [
        hostOf(guarded, createSession({ id: "main" })),
        hostOf(guarded, createSession({ id: "sub" })),
      ];
      main.turn();
      await main.read({ path: "a.ts" }, { sessionId: "main" });
      main.turn();
      sub.turn();
      assertEquals((await sub.read({ path: "a.ts" }, { sessionId: "sub" })).text, code(60));
      assertEquals((await main.read({ path: "a.ts" }, { sessionId: "main" })).kind, "reference");
    }));

  it(
    "get it too where they name an id that is not the session's, or none is known",
    LIMIT,
    () =>
      guarding(async ({ folder, read }) => {
        put(folder, "a.ts", code(60));
        await read({ path: "a.ts" }, { sessionId: "main" });
        for (let at = 0; at < 3; at++) assertEquals(await read({ path: "a.ts" }, { sessionId: "sub" }), code(60));
        assert(isAnnotationText(await read({ path: "a.ts" }, { sessionId: "main" })));
      }, { session: createSession({ id: "main" }) }),
  );

  it(
    "go on apart after a fork, and a child that starts from nothing is shown everything",
    LIMIT,
    () =>
      guarding(async (guarded) => {
        put(guarded.folder, "a.ts", code(60));
        const parent = hostOf(guarded, createSession());
        parent.turn();
        await parent.read({ path: "a.ts" });
        const fork = hostOf(guarded, parent.session.fork()), fresh = hostOf(guarded, createSession());
        fork.messages.push(...parent.messages);
        for (const host of [parent, fork, fresh]) host.turn();
        const got = await Promise.all([parent, fork, fresh].map((host) => host.read({ path: "a.ts" })));
        assertEquals(kinds(got), ["reference", "reference", "lines"]);
        fork.compact();
        for (const host of [parent, fork, fresh]) host.turn(3);
        const later = await Promise.all([parent, fork, fresh].map((host) => host.read({ path: "a.ts" })));
        assertEquals(kinds(later), ["reference", "lines", "reference"]);
      }),
  );

  it("resume with what their messages hold", LIMIT, () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(60));
      let state: unknown, kept: Message[] = [];
      await guardingIn(folder, async (guarded) => {
        const host = hostOf(guarded, createSession());
        host.turn();
        await host.read({ path: "a.ts" });
        [state, kept] = [JSON.parse(JSON.stringify(host.session)), host.messages];
      });
      for (const messages of [kept, []]) {
        await guardingIn(folder, async (guarded) => {
          put(folder, "other.ts", "one\n");
          const host = hostOf(guarded, createSession({ state }));
          host.messages.push(...messages);
          host.turn();
          await host.read({ path: "other.ts" }); // the shape of this tool's results is known from then on
          assertEquals((await host.read({ path: "a.ts" })).kind, messages.length ? "reference" : "lines");
        });
      }
    }));
});

describe("a file that is written", () => {
  it(
    "is shown at its first read, whoever wrote it: a write is no read",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        host.turn();
        host.messages.push(
          { role: "assistant", content: `write(new.ts, ${JSON.stringify(code(60))})` },
          { role: "tool", tool_call_id: "w1", content: `Wrote 60 lines:\n${code(60)}` },
        );
        put(folder, "new.ts", code(60));
        host.turn();
        assertEquals(await host.read({ path: "new.ts" }), { text: code(60), kind: "lines" });
      }),
  );

  it(
    "is shown as it is now, within the same second, edited by a tool or by a shell; undone, it is the one shown",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        const path = put(folder, "a.ts", code(60)), edited = code(60).replace("f30(", "g30(");
        host.turn();
        await host.read({ path: "a.ts" });
        writeFileSync(path, edited);
        host.turn();
        assertEquals(await host.read({ path: "a.ts" }), { text: edited, kind: "lines" });
        execFileSync("sed", ["-i", "s/f31(/g31(/", path]);
        host.turn(2);
        assertStringIncludes((await host.read({ path: "a.ts" })).text, "g31(");
        writeFileSync(path, code(60));
        host.turn(2);
        const { text, kind } = await host.read({ path: "a.ts" });
        assertEquals(kind, "reference");
        assertStringIncludes(text, "unchanged since turn 1,");
      }),
  );

  it(
    "is shown once by each version in a long row of edits and reads, and never called unchanged",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        const path = put(folder, "a.ts", code(60));
        for (let version = 0; version < 40; version++) {
          const text = code(60).replace("f1(", `f${version}_(`);
          writeFileSync(`${path}.new`, text);
          renameSync(`${path}.new`, path);
          host.turn();
          assertEquals((await host.read({ path: "a.ts" })).text, text);
          host.turn();
          assertEquals((await host.read({ path: "a.ts", limit: 1 })).kind, "reference");
        }
      }),
  );

  it(
    "is not written with a reference: that is told from text, and has none in its place where there are fields",
    LIMIT,
    () =>
      hosting(async (host, guarded) => {
        const path = put(guarded.folder, "a.ts", code(60));
        /** Writes back what a read returned, as careless hosts do, but for the one question they are told to ask. */
        const writeBack = (text: string): boolean => {
          if (isAnnotationText(text)) return false;
          writeFileSync(path, stripAnnotations(text));
          return true;
        };
        for (let at = 0; at < 4; at++) {
          host.turn();
          const { text, kind } = await host.read({ path: "a.ts" });
          assertEquals(writeBack(text), kind === "lines");
          assertEquals(readFileSync(path, "utf8"), code(60));
        }
        const numbered = (text: string) => text.split("\n").map((line, at) => `${at + 1}\t${line}`).join("\n");
        const session = createSession(), read = guarded.wrap(() => code(60), { session, codec: fieldsCodec });
        await read({ path: "a.ts" });
        const { content, annotation } = await read({ path: "a.ts" });
        assertEquals([content, numbered(content), annotation.kind], ["", "1\t", "reference"]);
      }),
  );
});

describe("a range of a file", () => {
  it(
    "is referred to only where all of its lines were shown, whatever was read before",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        put(folder, "a.ts", code(180));
        const script: [number, number, "lines" | "reference"][] = [
          [1, 100, "lines"],
          [50, 101, "lines"],
          [101, 80, "lines"],
          [1, 180, "reference"],
          [1, 100, "reference"],
          [20, 21, "reference"],
          [180, 1, "reference"],
        ];
        for (const [offset, limit, kind] of script) {
          host.turn(3);
          const got = await host.read({ path: "a.ts", offset, limit });
          assertEquals(got.kind, kind, `${offset}, ${limit}`);
          if (kind === "lines") assertEquals(got.text, linesOf(code(180), offset, offset + limit - 1));
        }
      }),
  );

  it(
    "of a long file is shown where it lies behind the lines that were: a shortened read arms nothing else",
    LIMIT,
    () =>
      hosting(async (host, { folder, calls }) => {
        const text = code(9000).replace("f2318(", "wanted(");
        put(folder, "long.ts", text);
        host.turn();
        const first = await host.read({ path: "long.ts" });
        assertCapped(first.text, text);
        host.turn();
        const second = await host.read({ path: "long.ts" });
        assertEquals(second.kind, "reference");
        assertStringIncludes(second.text, "lines 1-200 of 9000 are unchanged since turn 1");
        assertMatch(
          second.text,
          /the whole map was given in turn 1, unchanged\. Next lines: offset: 201, limit: 200\]$/,
        );
        host.turn();
        const third = await host.read({ path: "long.ts" });
        assertEquals(third.text, text, "who asks a third time gets it all");
        assertEquals(calls.length, 2);
      }),
  );

  it(
    "is found behind the cap after the same call was made again: nothing says that it was seen",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        const text = code(9000).replace("f2318(", "wanted(");
        put(folder, "long.ts", text);
        for (let at = 0; at < 2; at++) {
          host.turn();
          await host.read({ path: "long.ts" });
        }
        host.turn();
        const { text: shown, kind } = await host.read({ path: "long.ts", offset: 2300, limit: 40 });
        assertEquals([kind, shown], ["lines", linesOf(text, 2300, 2339)]);
        assertEquals(host.session.coverage(join(folder, "long.ts"))?.whole, false);
      }),
  );

  it(
    "is shown to who dodges a reference by another offset or a line more, and to who says that it is fresh",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        put(folder, "a.ts", code(80));
        host.turn();
        await host.read({ path: "a.ts" });
        for (const dodge of [{ offset: 10, limit: 21 }, { offset: 9, limit: 21 }, { offset: 1, limit: 30 }, {}]) {
          host.turn(3);
          assertEquals((await host.read({ path: "a.ts", offset: 10, limit: 20 })).kind, "reference");
          host.turn();
          assertEquals((await host.read({ path: "a.ts", ...dodge })).kind, "lines", JSON.stringify(dodge));
        }
        host.turn(3);
        assertEquals((await host.read({ path: "a.ts" }, { fresh: true })).text, code(80));
      }),
  );
});

describe("the map of a file in a conversation", () => {
  it(
    "is given once, then pointed back to in one line while it is there",
    LIMIT,
    () =>
      hosting(async (host, { folder, events }) => {
        put(folder, "long.ts", code(900));
        const results: string[] = [];
        for (const offset of [1, 201, 401, 601]) {
          host.turn();
          results.push((await host.read({ path: "long.ts", offset, limit: 300 })).text);
        }
        assertCapped(results[0]!, code(900));
        for (const [at, text] of results.slice(1).entries()) {
          const start = (at + 1) * 200 + 1, next = Math.min(200, 900 - start - 199);
          assertEquals(
            text.slice(stripAnnotations(text).length).trim(),
            `[waymark reference: PARTIAL, lines ${start}-${
              start + 199
            } of 900; the whole map was given in turn 1, unchanged. ` +
              `Next lines: offset: ${start + 200}, limit: ${next}]`,
          );
          assertEquals(stripAnnotations(text), linesOf(code(900), start, start + 199));
        }
        assertEquals(events.filter(({ type }) => type === "cap").length, 4);
      }),
  );

  it(
    "is given again once its result is cleared, and for other bytes",
    LIMIT,
    () =>
      hosting(async (host, { folder }) => {
        put(folder, "long.ts", code(900));
        const mapAt = async (offset: number): Promise<boolean> => {
          host.turn();
          return (await host.read({ path: "long.ts", offset, limit: 300 })).text.includes("[waymark map: ");
        };
        assertEquals([await mapAt(1), await mapAt(201)], [true, false]);
        host.messages[0]!.content = "[cleared]";
        assertEquals([await mapAt(401), await mapAt(601)], [true, false]);
        put(folder, "long.ts", code(900).replace("f888(", "g888("));
        assertEquals([await mapAt(201), await mapAt(401)], [true, false]);
        host.compact();
        assertEquals([await mapAt(601), await mapAt(1)], [true, false]);
      }),
  );
});

describe("a conversation that a framework holds", () => {
  /** Four requests to read: a file, then it again, then it once more, then others; then an end. */
  const asked = ["a.ts", "a.ts", "a.ts", "b.ts", "b.ts"];
  const expected = ["lines", "reference", "lines", "lines", "reference"];
  const kindOf = (text: string): string => isAnnotationText(text) ? "reference" : text === code(60) ? "lines" : text;

  it(
    "is followed from the AI SDK's own messages, before each of its steps",
    LIMIT,
    () =>
      guarding(async ({ folder, waymark }) => {
        for (const name of ["a.ts", "b.ts"]) put(folder, name, code(60));
        const session = createSession(), got: string[] = [];
        const usage = {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        };
        const prompts: unknown[] = [];
        const model = new MockLanguageModelV4({
          doGenerate: ({ prompt }) => {
            const path = asked[prompts.push(prompt) - 1], toolCallId = `call-${prompts.length}`;
            return Promise.resolve({
              content: path
                ? [{ type: "tool-call" as const, toolCallId, toolName: "read", input: JSON.stringify({ path }) }]
                : [{ type: "text" as const, text: "Done." }],
              finishReason: { unified: path ? "tool-calls" as const : "stop" as const, raw: undefined },
              usage,
              warnings: [],
            });
          },
        });
        const tools = waymark.wrapTools({
          read: tool({
            description: "Reads a file.",
            inputSchema: jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } }),
            execute: ({ path }) => Promise.resolve(readFileSync(join(folder, path), "utf8")),
          }),
        }, { session, facts: (info) => ({ cwd: folder, callId: (info as { toolCallId: string }).toolCallId }) });
        const { steps } = await generateText({
          model,
          prompt: "Go.",
          tools,
          stopWhen: isStepCount(9),
          prepareStep: ({ messages }) => {
            session.nextTurn();
            session.reconcile(messages);
            return {};
          },
        });
        for (const { toolResults } of steps) for (const { output } of toolResults) got.push(kindOf(output as string));
        assertEquals(got, expected);
        assertStringIncludes(
          JSON.stringify(prompts[2]),
          "[waymark reference: a.ts lines 1-60 of 60 are unchanged since turn 1",
        );
        assertEquals(session.toJSON().given.map(({ callId }) => callId), ["call-1", "call-3", "call-4"]);
      }),
  );

  it(
    "is followed from the messages of Anthropic's own tool runner, before its tools run",
    LIMIT,
    () =>
      guarding(async ({ folder, waymark }) => {
        for (const name of ["a.ts", "b.ts"]) put(folder, name, code(60));
        const session = createSession(), bodies: unknown[] = [];
        const client = new Anthropic({
          apiKey: "none",
          fetch: (_url: unknown, init?: { body?: unknown }) => {
            const at = bodies.push(JSON.parse(String(init?.body))) - 1, path = asked[at];
            return Promise.resolve(Response.json({
              id: `m${at}`,
              type: "message",
              role: "assistant",
              model: "none",
              content: path
                ? [{ type: "tool_use", id: `call-${at}`, name: "read", input: { path } }]
                : [{ type: "text", text: "Done." }],
              stop_reason: path ? "tool_use" : "end_turn",
              usage: { input_tokens: 1, output_tokens: 1 },
            }));
          },
        });
        const tools = waymark.wrapTools([betaTool({
          name: "read",
          description: "Reads a file.",
          inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const,
          run: ({ path }) => readFileSync(join(folder, path), "utf8"),
        })], { session, facts: (info) => ({ cwd: folder, callId: (info as { toolUse: { id: string } }).toolUse.id }) });
        const runner = client.beta.messages.toolRunner({
          model: "none",
          max_tokens: 9,
          messages: [{ role: "user", content: "Go." }],
          tools,
        });
        for await (const _ of runner) {
          session.nextTurn();
          session.reconcile(runner.params.messages);
        }
        // A request may hold the new messages alone; the runner holds all of them.
        const results = runner.params.messages.flatMap(({ content }) => Array.isArray(content) ? content : [])
          .filter(({ type }) => type === "tool_result") as { content: string | { text: string }[] }[];
        const texts = results.map(({ content }) => typeof content === "string" ? content : content[0]!.text);
        assertEquals(texts.map(kindOf), expected);
      }),
  );
});
