/**
 * `piExtension` in pi's own agent session: what the model is shown in the request after its calls.
 *
 * @module
 */

import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it, test } from "node:test";
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import {
  createSession,
  createWaymark,
  dialects,
  type Middleware,
  type Summarizer,
  type WaymarkOptions,
} from "@waymark/waymark";
import { piExtension, type PiOptions } from "@waymark/waymark/adapters/hooks";
import { conformance } from "@waymark/waymark/conformance";
import { scriptedModel } from "@waymark/waymark/testing";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import type { ExtensionFactory, InlineExtension, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Message, PiLoop, PiSetup } from "./pi_loop.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isOld = major < 22 || (major === 22 && minor < 19);
const loops = isOld ? undefined : await import("./pi_loop.ts");

if (loops) {
  conformance(test, {
    ...loops.piConformance(
      dialects.pi,
      ({ waymark, session }) => waymark ? [piExtension(waymark, { session: session ?? false })] : [],
    ),
    cannot: {
      "numbers as strings, fractions, words, nothing and less than nothing are answered as without the guards":
        "pi makes numbers of words before any hook is asked, so they are a range like any other",
    },
  });
}

/** A project with a session in it. */
interface World extends PiLoop {
  readonly root: string;
  /** One call of a turn of its own: its result. */
  one(args: object, name?: string): Promise<Message>;
  /** The texts of it. */
  texts(args: object): Promise<string[]>;
}

interface WorldSetup extends Partial<Omit<PiSetup, "extensions">> {
  readonly options?: PiOptions;
  readonly waymark?: WaymarkOptions;
  readonly middleware?: Middleware;
  /** Extensions loaded before ours, and behind it. */
  readonly before?: readonly ExtensionFactory[];
  readonly behind?: readonly (ExtensionFactory | InlineExtension)[];
}

async function inWorld(setup: WorldSetup, run: (world: World) => Promise<void>): Promise<void> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "waymark-")));
  await writeFile(join(root, "package.json"), "{}");
  await writeFile(join(root, "long.ts"), code(1000));
  await writeFile(join(root, "short.ts"), code(120));
  const waymark = createWaymark({ root, onNotice: () => {}, ...setup.waymark });
  const { middleware = waymark.middleware } = setup;
  const extension = piExtension({ middleware, summarizeFileTool: waymark.summarizeFileTool }, setup.options);
  const extensions = [...setup.before ?? [], extension, ...setup.behind ?? []];
  const loop = await loops!.openPi({ cwd: root, ...setup, extensions });
  let serial = 0;
  const one: World["one"] = async (args, name = "read") =>
    (await loop.turn([{ args, name, callId: `call_${++serial}` }]))[0]!;
  try {
    await run(Object.assign(loop, { root, one, texts: async (args: object) => textsOf(await one(args)) }));
    assertEquals(loop.errors, []);
  } finally {
    await loop.close();
    await waymark.close();
    await rm(root, { recursive: true, force: true });
  }
}

function code(lines: number, width = 0): string {
  return Array.from(
    { length: lines },
    (_, at) => `export function f${at + 1}(a) { return a + ${at + 1}; }${" ".repeat(width)}\n`,
  )
    .join("");
}

function textsOf(result: Message): string[] {
  return result.content.map(({ text }: { text?: string }) => text);
}

const LAST = "\n\n[801 more lines in file. Use offset=201 to continue.]";

describe("pi", { skip: isOld ? "pi 1.6 needs Node 22.19" : false }, () => {
  it("shows 200 lines of a long read with pi's own words under them, and the map in a block of its own", () =>
    inWorld({}, async ({ one, requests }) => {
      const result = await one({ path: "long.ts" }), [text, note] = textsOf(result);
      assertEquals(result.content.length, 2);
      assertEquals(result.isError, false);
      assertEquals(text, code(200).trimEnd() + LAST);
      assertMatch(note!, /^\[waymark map: PARTIAL, lines 1-200 of 1000 are shown, the rest is not\]\n/);
      assertStringIncludes(note!, "\nNext lines: offset: 201, limit: 200.");
      assertStringIncludes(note!, "\n997-997  function  f997");
      const asked = requests.at(-1)!.findLast(({ role }) => role === "assistant");
      assertEquals(asked.content[0].arguments, { path: "long.ts" }); // the model sees what it asked for
    }));

  it("goes on where both say", () =>
    inWorld({}, async ({ texts }) => {
      const [text, note] = await texts({ path: "long.ts", offset: 201 });
      assertEquals(text!.split("\n")[0], "export function f201(a) { return a + 201; }");
      assertStringIncludes(text!, "Use offset=401 to continue.]");
      assertStringIncludes(note!, "\nNext lines: offset: 401, limit: 200.");
    }));

  it("keeps what scripts see of a result", () => {
    const seen: unknown[] = [];
    const behind: ExtensionFactory = (pi) => pi.on("tool_result", (event) => void seen.push(event.structuredContent));
    return inWorld({ behind: [behind] }, async ({ texts }) => {
      const [text] = await texts({ path: "long.ts" });
      assertEquals(seen, [text]);
    });
  });

  it("takes no blank line of pi's for one of the file's", () =>
    inWorld({}, async ({ root, texts }) => {
      const lines = code(1000).split("\n");
      lines[200] = "";
      await writeFile(join(root, "gap.ts"), lines.join("\n"));
      assertMatch((await texts({ path: "gap.ts" }))[1]!, /PARTIAL, lines 1-200 of 1000 are shown/);
    }));

  it("claims only the lines that pi's limit in bytes has left", () => {
    const session = createSession();
    return inWorld({ options: { session } }, async ({ root, texts }) => {
      await writeFile(join(root, "wide.ts"), code(1000, 400));
      const [text, note] = await texts({ path: "wide.ts" });
      const [, last] = /\[Showing lines 1-(\d+) of 1001 \(50\.0KB limit\)/.exec(text!)!;
      assertMatch(note!, new RegExp(`PARTIAL, lines 1-${last} of 1000 are shown`));
      assertStringIncludes(note!, `\nNext lines: offset: ${Number(last) + 1}, limit: ${last}.`);
      assertEquals(session.coverage(join(root, "wide.ts"))?.seen, [{ start: 1, end: Number(last) }]);
    });
  });

  it("says what is not known where pi shows no line, as the first is too long for it", () =>
    inWorld({}, async ({ root, texts }) => {
      await writeFile(join(root, "first.ts"), `// ${"x".repeat(60_000)}\n${code(300)}`);
      const [text, note] = await texts({ path: "first.ts" });
      assertMatch(text!, /^\[Line 1 is 58\.6KB, exceeds 50\.0KB limit\. Use bash: /);
      assertMatch(
        note!,
        /^\[waymark map: PARTIAL, lines 1-200 of 301 were asked for, what came back was not checked\]/,
      );
    }));

  it("guards what pi makes of arguments that are no numbers", () =>
    inWorld({}, async ({ texts }) => {
      assertMatch((await texts({ path: "long.ts", limit: "1e3" }))[1]!, /PARTIAL, lines 1-200 of 1000/);
      assertEquals((await texts({ path: "long.ts", limit: "12" })).length, 1);
    }));

  it("leaves pi's own errors and images as they are", () =>
    inWorld({}, async ({ root, one }) => {
      const missing = await one({ path: "missing.ts" }), beyond = await one({ path: "long.ts", offset: 5000 });
      assertEquals([missing.isError, missing.content.length], [true, 1]);
      assertMatch(missing.content[0].text, /^ENOENT: no such file or directory/);
      assertEquals(textsOf(beyond), ["Offset 5000 is beyond end of file (1001 lines total)"]);
      const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
      await writeFile(join(root, "dot.png"), pixel, "base64");
      const image = await one({ path: "dot.png" });
      assertEquals(image.content.map(({ type }: { type: string }) => type), ["text", "image"]);
    }));

  it("refers to lines that stand in the request, and shows them once they do not", () => {
    let isPruned = false;
    const before: ExtensionFactory = (pi) =>
      pi.on(
        "context",
        ({ messages }) => isPruned ? { messages: messages.filter(({ role }) => role === "user") } : undefined,
      );
    return inWorld({ before: [before] }, async ({ texts, turn, requests }) => {
      assertEquals(await texts({ path: "short.ts" }), [code(120)]);
      const [reference, ...rest] = await texts({ path: "short.ts" });
      assertEquals(rest, []);
      assertMatch(
        reference!,
        /^\[waymark reference: short\.ts lines 1-120 of 120 are unchanged since turn 1, shown then\]$/,
      );
      const shown = requests.at(-1)!.filter(({ toolCallId }) => toolCallId === "call_1");
      assertEquals(textsOf(shown[0]), [code(120)]);
      isPruned = true; // another extension takes it out of the requests
      await turn([{ args: { path: "missing.ts" }, callId: "call_x" }]);
      isPruned = false;
      assertEquals(await texts({ path: "short.ts" }), [code(120)]);
    });
  });

  it("refers to nothing that has changed by the time pi reads it", () => {
    let changed: string | undefined; // as an edit in the same turn would have it, but never in the middle of the read
    const behind: ExtensionFactory = (pi) =>
      pi.on("tool_call", async (_event, { cwd }) => {
        if (changed !== undefined) await writeFile(join(cwd, "short.ts"), changed);
      });
    return inWorld({ behind: [behind] }, async ({ texts }) => {
      for (const next of [code(120).replace("f70", "g70"), code(121), code(119)]) {
        await texts({ path: "short.ts" });
        changed = next;
        assertEquals(await texts({ path: "short.ts" }), [next]);
        changed = undefined;
      }
    });
  });

  it("says each thing once where it is loaded twice", async () => {
    const second = createWaymark({ cache: false });
    await inWorld({ behind: [piExtension(second, { summarizeFile: false })] }, async ({ texts }) => {
      const [, map, ...others] = await texts({ path: "long.ts" });
      assertMatch(map!, /^\[waymark map: PARTIAL, lines 1-200 of 1000/);
      const [again, ...more] = await texts({ path: "long.ts" });
      assertMatch(again!, /^\[waymark reference: long\.ts lines 1-200 of 1000 are unchanged/);
      await texts({ path: "short.ts" });
      const [reference, ...rest] = await texts({ path: "short.ts" });
      assertMatch(reference!, /^\[waymark reference: short\.ts lines 1-120 of 120 are unchanged/);
      assertEquals([others, more, rest], [[], [], []]);
    });
    await second.close();
  });

  it("gives the map once while it stands in the request", () =>
    inWorld({}, async ({ texts }) => {
      await texts({ path: "long.ts" });
      const [, note] = await texts({ path: "long.ts", offset: 301 });
      assertMatch(
        note!,
        /^\[waymark reference: PARTIAL, lines 301-500 of 1000; the whole map was given in turn \d+/,
      );
    }));

  it("shows lines again after a compaction and after a step back in the tree", () =>
    inWorld({}, async ({ texts, session, faux }) => {
      await texts({ path: "short.ts" });
      const leaf = session.sessionManager.getLeafId()!;
      await texts({ path: "long.ts" });
      assertMatch((await texts({ path: "short.ts" }))[0]!, /^\[waymark reference/);
      faux.setResponses([...Array(3)].map(() => () => summary()));
      await session.compact();
      assertEquals(await texts({ path: "short.ts" }), [code(120)]);

      await session.navigateTree(leaf); // the first read stands there again, and nothing is known of it
      assertEquals(await texts({ path: "short.ts" }), [code(120)]);
      assertMatch((await texts({ path: "short.ts" }))[0]!, /^\[waymark reference/);
    }));

  it("knows in a fork what its conversation began with, and nothing of it in a new one", () =>
    inWorld({}, async (world) => {
      assertEquals(await world.texts({ path: "short.ts" }), [code(120)]);
      const before = world.session.sessionId;
      await world.fork();
      assertNotEquals(world.session.sessionId, before);
      assertMatch((await world.texts({ path: "short.ts" }))[0]!, /^\[waymark reference/);
      await world.renew();
      assertEquals(await world.texts({ path: "short.ts" }), [code(120)]);
    }));

  it("leaves the reads of scripts alone", () => {
    const results: unknown[] = [];
    const script = {
      name: "script",
      label: "script",
      description: "Reads by itself",
      parameters: { type: "object", properties: {} },
      async execute(_id: string, _args: unknown, _signal: unknown, _update: unknown, context: Message) {
        const { result } = await context.executeTool("read", { path: "long.ts" });
        results.push(result.structuredContent, result.content);
        return { content: [{ type: "text", text: "done" }], details: undefined };
      },
    } as unknown as ToolDefinition;
    return inWorld({ tools: [script] }, async ({ one }) => {
      assertEquals(textsOf(await one({}, "script")), ["done"]);
      assertEquals(results, [code(1000), [{ type: "text", text: code(1000) }]]);
    });
  });

  it("leaves nothing behind of a call that is blocked", () => {
    let open = 0;
    const behind: ExtensionFactory = (pi) => pi.on("tool_call", () => ({ block: true, reason: "not now" }));
    const middleware: Middleware = async (call, next) => {
      open++;
      return await next(call).finally(() => open--);
    };
    return inWorld({ behind: [behind], middleware }, async ({ one }) => {
      const { isError, ...blocked } = await one({ path: "long.ts" });
      assertEquals([textsOf(blocked), isError, open], [["not now"], true, 0]);
    });
  });

  it("ends a turn that is aborted while a map is made", () => {
    const abort = new AbortController();
    let reason: unknown;
    const hung: Summarizer = {
      maker: "model:hung",
      version: 1,
      summarize: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(reason = signal.reason), { once: true });
          setTimeout(() => abort.abort(), 20);
        }),
    };
    return inWorld({ waymark: { summarizer: hung } }, async ({ turn }) => {
      const [aborted] = await turn([{ args: { path: "long.ts" }, callId: "call_a" }], abort.signal);
      assertEquals([textsOf(aborted), aborted.isError], [["Operation aborted"], true]);
      assert(reason instanceof Error);
    });
  });

  it("tells of a read that is not what was asked for, and makes the next one as asked", () => {
    let isChanging = true;
    const behind: ExtensionFactory = (pi) =>
      pi.on("tool_call", ({ input }) => {
        if (isChanging) Object.assign(input, { path: "short.ts" });
      });
    return inWorld({ behind: [behind] }, async ({ root, texts }) => {
      await writeFile(join(root, "short.ts"), code(130).replaceAll("function", "class"));
      const [, note] = await texts({ path: "long.ts" });
      assertMatch(note!, /^\[waymark notice: no map, at most lines 1-200 were read, the file may go on\]/);
      assertMatch(note!, /the same call \(offset: 1, limit: 2000\) once more reads all it asks for\./);
      isChanging = false;
      assertEquals(await texts({ path: "long.ts" }), [code(1000)]);
      assertMatch((await texts({ path: "long.ts" }))[0]!, /^\[waymark reference: long\.ts lines 1-200 of 1000 are/);
    });
  });

  it("keeps the conversations of one extension apart", async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), "waymark-")));
    await writeFile(join(root, "short.ts"), code(120));
    const waymark = createWaymark({ root, cache: false }), extension = piExtension(waymark);
    const [one, two] = await Promise.all([1, 2].map(() => loops!.openPi({ cwd: root, extensions: [extension] })));
    try {
      const read = async (loop: PiLoop, callId: string): Promise<string> =>
        textsOf((await loop.turn([{ args: { path: "short.ts" }, callId }]))[0])[0]!;
      assertEquals(await read(one!, "call_1"), code(120));
      assertEquals(await read(two!, "call_1"), code(120));
      assertMatch(await read(one!, "call_2"), /^\[waymark reference/);
      assertMatch(await read(two!, "call_2"), /^\[waymark reference/);
    } finally {
      await Promise.all([one!.close(), two!.close()]);
      await rm(root, { recursive: true, force: true });
    }
  });

  it("offers summarize_file, and runs it in the session's folder", () =>
    inWorld({}, async ({ one, requests }) => {
      const result = await one({ path: "long.ts" }, "summarize_file");
      assertStringIncludes(result.content[0].text, "[waymark map: 1000 lines, none are shown here]");
      const [system] = requests[0]!;
      assert(system.toolsAdded.some(({ name }: { name: string }) => name === "summarize_file"));
      assertStringIncludes(system.sections.tools, "- summarize_file: Map a source file you have not seen");
      const failed = await one({ path: "missing.ts" }, "summarize_file");
      assertEquals(failed.isError, true);
      assertMatch(failed.content[0].text, /missing\.ts/);
    }));

  it("offers no tool where none is wanted", () =>
    inWorld({ options: { summarizeFile: false } }, async ({ one }) => {
      assertMatch((await one({ path: "long.ts" }, "summarize_file")).content[0].text, /not found/);
    }));

  it("hands every result on for digests, as it came", async () => {
    const model = scriptedModel(() => "It is long."), digests = toolUseSummary({ model, session: "s-1" });
    await inWorld({ options: { digests } }, async ({ root, one }) => {
      await one({ path: "long.ts", limit: 200 });
      await one({ command: `cat ${root}/long.ts` }, "bash");
      await one({ path: "short.ts", limit: 3 });
      await digests.settled();
    });
    assertEquals([...digests.summaries().keys()], ["call_1", "call_2"]);
    assertStringIncludes(JSON.stringify(model.calls[1]!.messages), "export function f1(a)");
    await digests.close();
  });

  it("notes every request as the provider gets it", async () => {
    const noted: Message[] = [], payload = { model: "scripted", tools: [{ name: "read" }], system: "s" };
    const compactor = { noteRequestSent: (request: unknown) => void noted.push(request) };
    await inWorld({ options: { compactor }, payload }, async ({ one }) => void await one({ path: "short.ts" }));
    assertEquals(noted.map(({ model, tools, system }) => ({ model, tools, system })), [payload, payload]);
    assertEquals(noted[1].messages.length, noted[0].messages.length + 2);
  });
});

/** What the model says when it is asked for a summary. */
function summary(): Message {
  return loops!.says("Two files were read.");
}
