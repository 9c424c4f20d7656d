/**
 * The adapter, with the official SDK's server and client of version 1 where their shapes matter, and plain objects of both
 * versions' shapes elsewhere. `tests/hosts/mcp_host.ts` runs both versions' own servers and clients.
 *
 * @module
 */

import { describe, it } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import {
  createSession,
  createWaymark,
  dialects,
  type Session,
  type Waymark,
  type WaymarkOptions,
} from "@waymark/waymark";
import {
  mcpClient,
  mcpFacts,
  mcpHandler,
  type McpOptions,
  mcpRanges,
  mcpServer,
  mcpSummarizeFile,
} from "../../src/adapters/mcp.ts";
import { toolUseSummary } from "../../src/tool_use.ts";
import { scriptedModel } from "../../src/testing.ts";
import { code, inFolder, plainTool, put } from "../support.ts";

interface Read {
  path: string;
  offset?: number;
  limit?: number;
}

interface Result {
  content: { type: string; text?: string; data?: string; mimeType?: string; [key: string]: unknown }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

const text = (text: string): Result => ({ content: [{ type: "text", text }] });

/** A project with a long file and a short one, its guards, and a handler over it that notes what it was called with. */
function within(
  options: WaymarkOptions,
  action: (world: {
    folder: string;
    waymark: Waymark;
    calls: [args: Read, extra: unknown][];
    handler: (args: Read, extra: unknown) => Result;
    notices: string[];
  }) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    put(folder, "long.ts", code(300));
    put(folder, "short.ts", code(50));
    const notices: string[] = [], calls: [Read, unknown][] = [], { read } = plainTool(folder);
    const waymark = createWaymark({ root: folder, onNotice: ({ reason }) => void notices.push(reason), ...options });
    const handler = (args: Read, extra: unknown): Result => {
      calls.push([args, extra]);
      return text(read(args));
    };
    await action({ folder, waymark, calls, handler, notices });
    await waymark.close();
  });
}

describe("mcpFacts()", () => {
  const signal = new AbortController().signal;

  it("takes the model's own call id where the client sends it, else the request's, in both versions", () => {
    assertEquals(mcpFacts({ requestId: 7, signal }), { callId: "7", signal });
    assertEquals(mcpFacts({ requestId: 7, _meta: { "claudecode/toolUseId": "toolu_1" } }), { callId: "toolu_1" });
    assertEquals(mcpFacts({ requestId: 7, _meta: { callId: "call_1" } }), { callId: "call_1" });
    assertEquals(mcpFacts({ mcpReq: { id: "r", signal } }), { callId: "r", signal });
    assertEquals(mcpFacts({ mcpReq: { id: 7, _meta: { callId: "call_1" } } }), { callId: "call_1" });
    assertEquals(mcpFacts({ requestId: 0 }), { callId: "0" });
  });

  it("takes the conversation's id where the client sends one, else the transport's session", () => {
    assertEquals(mcpFacts({ sessionId: "http" }), { sessionId: "http" });
    assertEquals(mcpFacts({ sessionId: "http", _meta: { sessionId: "s" } }), { sessionId: "s" });
    assertEquals(mcpFacts({ _meta: { sessionId: "s", threadId: "t" } }), { sessionId: "t" });
    assertEquals(mcpFacts({ mcpReq: { _meta: { threadId: "t" } }, sessionId: "http" }), { sessionId: "t" });
  });

  it("takes nothing from what is something else", () => {
    for (
      const odd of [undefined, null, 7, "x", {}, { _meta: { callId: {}, threadId: [] }, signal: "no", requestId: {} }]
    ) {
      assertEquals(mcpFacts(odd), {});
    }
  });
});

describe("mcpHandler()", () => {
  it("shortens a long read, hands on the rest of the call, and says so in a block of its own", () =>
    within({}, async ({ waymark, handler, calls, folder }) => {
      const read = mcpHandler(handler, waymark, { cwd: folder }), extra = { requestId: 1, more: Symbol("own") };
      const { content, ...rest } = await read({ path: "long.ts" }, extra);
      assertEquals([content[0], content.length, rest], [{ type: "text", text: `${code(200)}\n` }, 2, {}]);
      assertMatch(content[1]!.text!, /^\[waymark map: PARTIAL, lines 1-200 of 300[^]*offset: 201, limit: 100/);
      assertEquals(calls.length, 1);
      assertEquals(calls[0]![0], { path: "long.ts", limit: 200 });
      assertStrictEquals(calls[0]![1], extra);
    }));

  it("hands on a short read as it is, arguments and result", () =>
    within({}, async ({ waymark, folder }) => {
      const given = { path: "long.ts", limit: 200 }, result = text(code(200));
      let got: unknown;
      const read = mcpHandler((args: Read) => (got = args, result), waymark, { cwd: folder });
      assertStrictEquals(await read(given, {}), result);
      assertStrictEquals(got, given);
    }));

  it("says it in the structured form too, which is all some hosts show, and adds no key", () =>
    within({}, async ({ waymark, folder, handler }) => {
      for (const key of ["content", "body"]) {
        const read = mcpHandler(
          (args: Read, extra: unknown): Result => {
            const result = handler(args, extra);
            return { ...result, structuredContent: { [key]: result.content[0]!.text, kept: 1 }, _meta: { own: true } };
          },
          waymark,
          { cwd: folder },
        );
        const { content, structuredContent, _meta } = await read({ path: "long.ts" }, {});
        assertEquals(Object.keys(structuredContent!), [key, "kept"]);
        assertEquals(structuredContent![key], `${content[0]!.text}\n\n${content[1]!.text}`);
        assertStringIncludes(content[1]!.text!, "[waymark map: ");
        assertEquals(_meta, { own: true });
      }
    }));

  it("reads as asked where the structured form has no text to say it in", () =>
    within({}, async ({ waymark, folder, handler, calls }) => {
      const read = mcpHandler(
        (args: Read, extra: unknown): Result => ({
          ...handler(args, extra),
          structuredContent: { lines: [1, 2] },
        }),
        waymark,
        { cwd: folder },
      );
      const { content, structuredContent } = await read({ path: "long.ts" }, {});
      assertEquals([content.length, content[0]!.text, structuredContent], [1, code(300), { lines: [1, 2] }]);
      assertEquals(calls.map(([{ limit }]) => limit), [200, undefined]);
    }));

  it("keeps failures as they are: flagged, thrown, and without a structured form of ours", () =>
    within({}, async ({ waymark, folder }) => {
      class HostError extends Error {}
      const error = new HostError("EACCES"), failed: Result = { ...text("no such file"), isError: true };
      assertEquals(await mcpHandler(() => failed, waymark, { cwd: folder })({ path: "long.ts" }, {}), failed);
      const thrown = await assertRejects(() =>
        mcpHandler(
          () => {
            throw error;
          },
          waymark,
          { cwd: folder },
        )({ path: "long.ts" }, {})
      );
      assertStrictEquals(thrown, error);
    }));

  it("leaves images, other blocks and calls that are no read alone", () =>
    within({}, async ({ waymark, folder }) => {
      const image: Result = { content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] };
      assertStrictEquals(await mcpHandler(() => image, waymark, { cwd: folder })({ path: "long.ts" }, {}), image);
      const odd = { path: "long.ts", offset: -3 }, result = text(code(300));
      assertStrictEquals(await mcpHandler(() => result, waymark, { cwd: folder })(odd, {}), result);
      const handlerWithoutArguments = mcpHandler((_extra: unknown, _none: unknown) => result, waymark);
      assertStrictEquals(await handlerWithoutArguments({ requestId: 1 }, undefined), result);
    }));

  it("passes the abort on to what the guards do", () => {
    const asked = Promise.withResolvers<void>();
    const model = scriptedModel(({ signal }) => {
      asked.resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    return within({ model }, async ({ waymark, folder, handler }) => {
      const abort = new AbortController(), read = mcpHandler(handler, waymark, { cwd: folder });
      const reading = read({ path: "long.ts" }, { mcpReq: { id: 1, signal: abort.signal } });
      await asked.promise;
      abort.abort();
      assertEquals((await reading).content.length, 1); // nobody waits for more than the lines
    });
  });

  it("speaks the dialect it is given", () =>
    within({}, async ({ waymark, folder }) => {
      const calls: unknown[] = [];
      const read = mcpHandler(
        (args: { path: string; head?: number }) => {
          calls.push(args);
          return text(code(300).split("\n").slice(0, args.head).join("\n"));
        },
        waymark,
        { dialect: dialects.mcpFilesystem, cwd: folder },
      );
      assertStringIncludes(
        (await read({ path: "long.ts" }, {})).content[1]!.text!,
        "Next lines: head: 300, which begins at line 1 again",
      );
      assertEquals((await read({ path: "long.ts", head: 300 }, {})).content.length, 1); // the only way to the later lines
      assertEquals(calls, [{ path: "long.ts", head: 200 }, { path: "long.ts", head: 300 }]);
    }));
});

describe("conversations", () => {
  const short = async (read: (args: Read, extra: unknown) => Promise<Result>, meta?: object) =>
    (await read({ path: "short.ts" }, { requestId: 1, _meta: meta })).content[0]!.text!;

  it("refer to nothing by default, whatever ids there are, and that is told once", () =>
    within({}, async ({ waymark, handler, folder, notices }) => {
      const read = mcpHandler(handler, waymark, { cwd: folder });
      for (let at = 0; at < 3; at++) {
        assertEquals(await short(read), code(50));
        assertEquals(await short(read, { threadId: "t" }), code(50));
        assertStringIncludes(
          (await read({ path: "long.ts" }, { _meta: { threadId: "t" } })).content[1]!.text!,
          "[waymark map: ",
        );
      }
      assertEquals(notices, ["untracked"]);
    }));

  it("are kept apart by their ids where references are asked for, and calls without one belong to none", () =>
    within({ rereadGuard: true }, async ({ waymark, handler, folder }) => {
      const read = mcpHandler(handler, waymark, { cwd: folder });
      for (const meta of [{ threadId: "a" }, { threadId: "b" }, { sessionId: "c" }, {}, {}]) {
        assertEquals(await short(read, meta), code(50));
      }
      for (const meta of [{ threadId: "a" }, { threadId: "b" }, { sessionId: "c" }]) {
        assertMatch(
          await short(read, meta),
          /^\[waymark reference: .* since an earlier read; if you no longer have it, make/,
        );
      }
    }));

  it("are the host's own where it gives one: then references are exact", () =>
    within({}, async ({ waymark, handler, folder, notices }) => {
      const session = createSession(), read = mcpHandler(handler, waymark, { cwd: folder, session });
      session.nextTurn();
      assertEquals(await short(read), code(50));
      session.nextTurn();
      assertMatch(await short(read), /unchanged since turn 1, shown then\]$/);
      session.evictBefore(2);
      assertEquals(await short(read), code(50));
      assertEquals(notices, []);
    }));

  it("are what a function says, by the id that the client sends or none", () =>
    within({ rereadGuard: true }, async ({ waymark, handler, folder }) => {
      const asked: unknown[] = [], sessions = new Map<string | undefined, Session>();
      const session = (id: string | undefined) => {
        asked.push(id);
        if (id === "none") return undefined;
        return sessions.get(id) ?? sessions.set(id, createSession()).get(id);
      };
      const read = mcpHandler(handler, waymark, { cwd: folder, session });
      for (const meta of [undefined, { threadId: "a" }, { threadId: "none" }]) {
        assertEquals(await short(read, meta), code(50));
      }
      assert((await short(read)).startsWith("[waymark reference: "));
      assertEquals(await short(read, { threadId: "none" }), code(50));
      assertEquals(asked, [undefined, "a", "none", undefined, "none"]);
    }));

  it("give no reference in the place of a structured form: what a host makes of that cannot be made up", () =>
    within({}, async ({ waymark, handler, folder }) => {
      const session = createSession();
      const read = mcpHandler(
        (args: Read, extra: unknown): Result => {
          const result = handler(args, extra);
          return { ...result, structuredContent: { content: result.content[0]!.text } };
        },
        waymark,
        { cwd: folder, session },
      );
      for (let at = 0; at < 2; at++) {
        session.nextTurn();
        assertEquals(await short(read), code(50));
      }
    }));
});

/** A server of the SDK with these tools, connected to a client of it. */
async function connect(
  tools: Record<string, (args: never, extra: never) => unknown>,
  outputSchema?: object,
): Promise<Client> {
  const server = new Server({ name: "tests", version: "1.0.0" }, { capabilities: { tools: {} } });
  const listed = Object.keys(tools).map((name) => ({
    name,
    inputSchema: { type: "object" },
    ...outputSchema && { outputSchema },
  }));
  // deno-lint-ignore no-explicit-any -- tools of a test
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed as any }));
  server.setRequestHandler(
    CallToolRequestSchema,
    // deno-lint-ignore no-explicit-any -- a request of the SDK, which has no types on every runtime
    async ({ params }: any, extra: any) => await tools[params.name]!(params.arguments as never, extra as never) as any,
  );
  const [left, right] = InMemoryTransport.createLinkedPair(), client = new Client({ name: "tests", version: "1.0.0" });
  await Promise.all([server.connect(left), client.connect(right)]);
  return client;
}

describe("mcpServer()", () => {
  it("wraps the read tools as they are registered, in whatever way, and leaves the server its own", () =>
    within({}, async ({ waymark, handler, folder }) => {
      class McpServer {
        #tools = new Map<string, (args: Read, extra: unknown) => unknown>();
        registerTool(name: string, _config: object, handler: (args: Read, extra: unknown) => unknown) {
          this.#tools.set(name, handler);
          return { name };
        }
        tool(name: string, _shape: object, handler: (args: Read, extra: unknown) => unknown) {
          return this.registerTool(name, {}, handler);
        }
        registerPrompt = () => "own";
        label = "tests";
        get(name: string) {
          return this.#tools.get(name)!;
        }
      }
      const own = new McpServer(), server = mcpServer(own, waymark, { cwd: folder });
      assertEquals(server.registerTool("read_file", {}, handler), { name: "read_file" });
      server.tool("read", {}, handler);
      const other = () => text("done");
      server.registerTool("shell", {}, other);
      assertStrictEquals(own.get("shell"), other);
      for (const name of ["read_file", "read"]) {
        const { content } = await own.get(name)({ path: "long.ts" }, {}) as Result;
        assertEquals([content.length, content[0]!.text], [2, `${code(200)}\n`], name);
      }
      assertEquals([server.label, server.registerPrompt(), server instanceof McpServer], ["tests", "own", true]);
      server.label = "another";
      assertEquals(own.label, "another");
    }));

  it("has the results of the other tools seen for digests, where there are any", () => {
    const digests = toolUseSummary({ model: scriptedModel(["12 tests failed."]), session: "s", topLevel: true });
    return within({ toolUse: digests }, async ({ waymark, folder }) => {
      const tools: Record<string, (args: never, extra: never) => unknown> = {};
      const server = mcpServer(
        {
          registerTool: (name: string, _config: object, handler: (args: never, extra: never) => unknown) => {
            tools[name] = handler;
          },
        },
        waymark,
        { cwd: folder },
      );
      server.registerTool("shell", {}, () => text("FAIL tests/a.ts\n".repeat(500)));
      const client = await connect(tools);
      await client.callTool({ name: "shell", arguments: {}, _meta: { "claudecode/toolUseId": "toolu_9" } });
      await digests.settled();
      assertEquals(digests.summaries().get("toolu_9")?.summary, "12 tests failed.");
      await client.close();
      await digests.close();
    });
  });
});

describe("mcpClient()", () => {
  it("wraps the tools of somebody else's server, whose output schema the results still meet", () =>
    within({}, async ({ waymark, folder, handler, calls }) => {
      const schema = {
        type: "object",
        properties: { content: { type: "string" } },
        required: ["content"],
        additionalProperties: false,
      };
      const client = await connect({
        read_text_file: ({ path, head }: { path: string; head?: number }) => {
          const result = handler({ path, ...head === undefined ? {} : { limit: head } }, {});
          return { ...result, structuredContent: { content: result.content[0]!.text } };
        },
        list: () => text("a.ts"),
      } as never, schema);
      await client.listTools();
      const guarded = mcpClient(client, waymark, { dialect: dialects.mcpFilesystem, cwd: folder });
      const result = await guarded.callTool({ name: "read_text_file", arguments: { path: "long.ts" } }) as Result;
      assertEquals(calls[0]![0], { path: "long.ts", limit: 200 });
      assertMatch(result.content[1]!.text!, /^\[waymark map: /);
      assertEquals(Object.keys(result.structuredContent!), ["content"]);
      assertStringIncludes(result.structuredContent!["content"] as string, "\n\n[waymark map: ");
      assertEquals(guarded.getServerVersion()?.name, "tests");
      await guarded.close();
    }));

  it("hands on params, schema and options as they are where nothing changes, and other tools always", () =>
    within({}, async ({ waymark, folder }) => {
      const calls: unknown[][] = [], result = text("done");
      const client = { callTool: (...given: unknown[]) => (calls.push(given), Promise.resolve(result)) };
      const guarded = mcpClient(client, waymark, { dialect: dialects.plain, cwd: folder });
      const short = { name: "read_file", arguments: { path: "short.ts" }, _meta: { progressToken: 1 } },
        options = { timeout: 1 };
      for (const params of [short, { name: "shell", arguments: {} }, { name: "read_file" }]) {
        assertStrictEquals(await guarded.callTool(params, undefined, options), result);
        const [given, schema, last] = calls.pop()!;
        assertStrictEquals(given, params);
        assertStrictEquals(last, options);
        assertEquals(schema, undefined);
      }
    }));

  it("takes the caller's abort and the conversation it is given", () =>
    within({}, async ({ waymark, folder, handler }) => {
      const session = createSession(), signals: unknown[] = [];
      const client = {
        callTool: ({ arguments: args }: { name: string; arguments: Read }, options?: { signal?: AbortSignal }) => {
          signals.push(options?.signal);
          return Promise.resolve(handler(args, {}));
        },
      };
      const guarded = mcpClient(client, waymark, { dialect: dialects.plain, cwd: folder, session });
      const abort = new AbortController(), params = { name: "read_file", arguments: { path: "short.ts" } };
      session.nextTurn();
      assertEquals((await guarded.callTool(params, { signal: abort.signal })).content[0]!.text, code(50));
      session.nextTurn();
      assertMatch((await guarded.callTool(params)).content[0]!.text!, /since turn 1, shown then/);
      assertEquals(signals, [abort.signal]);
    }));
});

/** What is said where none of the tools has one of these names. */
const missing = (...names: string[]): string =>
  `Cannot find a read tool to wrap: none of the tools is called ${names.join(", ")}; give names`;
const NO_READ = missing("read", "read_file", "readFile", "Read");

/** Has what is said noted. */
function noting(): { said: string[]; options: WaymarkOptions } {
  const said: string[] = [];
  return { said, options: { onNotice: ({ message }) => void said.push(message) } };
}

describe("a server without a read tool", () => {
  type Handler = (args: never, extra: never) => unknown;

  /** A wrapped server, and its tools as the SDK would call them. */
  function served(waymark: Waymark, options: McpOptions = {}) {
    const tools: Record<string, Handler> = {};
    const registerTool = (name: string, _config: object, handler: Handler) => void (tools[name] = handler);
    const server = mcpServer({ registerTool }, waymark, options);
    const call = (name: string, args: object = { path: "long.ts" }) => tools[name]!(args as never, {} as never);
    return { server, tools, call };
  }

  it("says so once, by which names it looked and what to give, behind the first call of another tool", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark, handler }) => {
      const { server, call } = served(waymark), result = text("done");
      server.registerTool("open_file", {}, handler);
      server.registerTool("later", {}, () => Promise.resolve(result));
      server.registerTool("broken", {}, () => Promise.reject(new Error("boom")));
      await assertRejects(async () => await call("broken"), Error, "boom");
      assertEquals(said, []);
      assertStrictEquals(await call("later"), result);
      assertEquals(said, [NO_READ]);
      assertEquals(await call("open_file"), text(code(300)));
      assertEquals(said, [NO_READ]);
    });
  });

  it("says nothing where there is one: registered before or after, in that very call, or named", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark, handler, folder }) => {
      for (const order of [["read_file", "shell"], ["shell", "read_file"]]) {
        const { server, call } = served(waymark, { cwd: folder });
        for (const name of order) server.registerTool(name, {}, name === "shell" ? () => text("done") : handler);
        await call("shell");
      }
      const late = served(waymark, { cwd: folder });
      late.server.registerTool("enable", {}, async () => {
        await Promise.resolve();
        late.server.registerTool("read_file", {}, handler);
        return text("enabled");
      });
      await late.call("enable");
      const named = served(waymark, { cwd: folder, names: ["open_file"] });
      named.server.registerTool("shell", {}, () => text("done"));
      named.server.registerTool("open_file", {}, handler);
      await named.call("shell");
      assertMatch((await named.call("open_file") as Result).content[1]!.text!, /^\[waymark map: /);
      const none = served(waymark, { names: [] }), shell = () => text("done");
      none.server.registerTool("shell", {}, shell);
      assertStrictEquals(none.tools["shell"], shell);
      await none.call("shell");
      assertEquals(said, []);
    });
  });

  it("gives the results it gave, also where the one who is told throws", () =>
    within({
      onNotice: () => {
        throw new Error("nobody listens");
      },
    }, async ({ waymark }) => {
      const { server, call } = served(waymark), result = text("done");
      server.registerTool("shell", {}, () => result);
      assertStrictEquals(await call("shell"), result);
      assertStrictEquals(await call("shell"), result);
    }));
});

describe("a client of a server without a read tool", () => {
  interface Params {
    name: string;
    arguments?: object;
  }
  type Page = { tools: { name: string }[]; nextCursor?: string };

  /** A client that lists these tools, all of which give 300 lines. */
  function foreign(pages: readonly (readonly string[])[] = []) {
    return {
      callTool: (_: Params): Promise<unknown> => Promise.resolve(text(code(300))),
      listTools: (asked?: { cursor?: string }): Promise<Page> => {
        const at = Number(asked?.cursor ?? 0), tools = (pages[at] ?? []).map((name) => ({ name }));
        return Promise.resolve({ tools, ...at + 1 < pages.length && { nextCursor: String(at + 1) } });
      },
    };
  }
  const dialect = dialects.mcpFilesystem, none = missing("read_text_file", "read_file");

  it("says so once, when all of its tools are listed", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark }) => {
      const guarded = mcpClient(foreign([["open_file"], ["shell"]]), waymark, { dialect });
      assertEquals(await guarded.listTools(), { tools: [{ name: "open_file" }], nextCursor: "1" });
      assertEquals(said, []);
      for (let at = 0; at < 2; at++) await guarded.listTools({ cursor: "1" });
      assertEquals(said, [none]);
      await guarded.callTool({ name: "open_file", arguments: { path: "long.ts" } });
      assertEquals(said, [none]);
    });
  });

  it("says so where nothing was listed and another tool has read a long file, whose result is the same", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark }) => {
      const client = foreign(), guarded = mcpClient(client, waymark, { dialect }), result = text(code(300));
      client.callTool = () => Promise.resolve(result);
      await guarded.callTool({ name: "directory_tree", arguments: { path: "." } });
      await guarded.callTool({ name: "shell", arguments: { command: "cat long.ts" } });
      assertEquals(said, []);
      const call = { name: "open_file", arguments: { path: "long.ts" } };
      for (let at = 0; at < 2; at++) assertStrictEquals(await guarded.callTool(call), result);
      assertEquals(said, [none]);
    });
  });

  it("says nothing where there is one: on any page, called before, or named; nor where nothing is listed", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark, folder }) => {
      const open = { name: "open_file", arguments: { path: "long.ts" } };
      const paged = mcpClient(foreign([["open_file"], ["read_file"], ["shell"]]), waymark, { dialect });
      for (const cursor of [undefined, "1", "2"]) await paged.listTools(cursor === undefined ? {} : { cursor });
      await paged.callTool(open);
      const partly = mcpClient(foreign([["read_file"], ["shell"]]), waymark, { dialect });
      await partly.listTools({ cursor: "1" }); // the first page was not seen
      const called = mcpClient(foreign([["shell"]]), waymark, { dialect, cwd: folder });
      await called.callTool({ name: "read_file", arguments: { path: "short.ts" } });
      await called.callTool(open);
      const named = mcpClient(foreign([["open_file"]]), waymark, { dialect, names: ["open_file"], cwd: folder });
      await named.listTools();
      await named.callTool(open);
      const unread = mcpClient(foreign([["open_file"]]), waymark, { dialect, names: [] });
      await unread.listTools();
      await unread.callTool(open);
      await mcpClient(foreign([]), waymark, { dialect }).listTools();
      assertEquals(said.filter((message) => message.includes("read tool")), []);
    });
  });

  it("is given its own answers and failures, whatever they are", () => {
    const { said, options } = noting();
    return within(options, async ({ waymark }) => {
      for (const answer of [undefined, null, 7, {}, { tools: 7 }, { tools: [null, { name: "read_file" }] }]) {
        const client = { ...foreign(), listTools: () => Promise.resolve(answer) };
        assertStrictEquals(await mcpClient(client, waymark, { dialect }).listTools(), answer);
      }
      const plain = { ...foreign(), listTools: () => ({ tools: [{ name: "read_file" }] }) };
      assertEquals(mcpClient(plain, waymark, { dialect }).listTools(), { tools: [{ name: "read_file" }] });
      const broken = { ...foreign(), listTools: () => Promise.reject(new Error("closed")) };
      await assertRejects(() => mcpClient(broken, waymark, { dialect }).listTools(), Error, "closed");
      assertEquals("listTools" in mcpClient({ callTool: foreign().callTool }, waymark, { dialect }), false);
      assertEquals(said, []);
    });
  });
});

describe("mcpRanges()", () => {
  const lines = code(300).split("\n");

  /** A tool that reads from the top, as the filesystem server's. */
  function topReader(calls: object[], text = code(300), structured = true) {
    return (args: { path: string; head?: number }): Result => {
      calls.push(args);
      const content = args.head === undefined ? text : text.split("\n").slice(0, args.head).join("\n");
      return { content: [{ type: "text", text: content }], ...structured && { structuredContent: { content } } };
    };
  }

  it("asks for the lines to the last one wanted, and gives those wanted, in both forms", async () => {
    const calls: object[] = [], read = mcpRanges(topReader(calls));
    const { content, structuredContent } = await read({ path: "a.ts", offset: 201, limit: 50 }, {}) as Result;
    assertEquals(content, [{ type: "text", text: lines.slice(200, 250).join("\n") }]);
    assertEquals(structuredContent, { content: content[0]!.text });
    assertEquals((await read({ path: "a.ts", offset: 299 }, {})).content[0]!.text, lines.slice(298).join("\n"));
    assertEquals(
      (await read({ path: "a.ts", offset: 290, limit: 500 }, {})).content[0]!.text,
      lines.slice(289).join("\n"),
    );
    assertEquals((await read({ path: "a.ts", limit: 3 }, {})).content[0]!.text, lines.slice(0, 3).join("\n"));
    assertEquals((await read({ path: "a.ts" }, {})).content[0]!.text, code(300));
    const odd = { path: "a.ts", offset: "2", limit: null } as never; // as some models write numbers
    assertEquals((await read(odd, {})).content[0]!.text, lines.slice(1).join("\n"));
    assertEquals(calls, [
      { path: "a.ts", head: 250 },
      { path: "a.ts" },
      { path: "a.ts", head: 789 },
      { path: "a.ts", head: 3 },
      { path: "a.ts" },
      { path: "a.ts" },
    ]);
  });

  it("gives an empty line, though of lines that were cut off the last one's ending is left out", async () => {
    const read = mcpRanges(topReader([], "a\n\n\nb\n"));
    const of = async (offset: number, limit?: number) => {
      const { content, isError } = await read({ path: "a", offset, ...limit !== undefined && { limit } }, {}) as Result;
      return isError ? "failed" : content[0]!.text;
    };
    assertEquals([await of(2, 1), await of(3, 1), await of(2, 2), await of(2, 3)], ["", "", "\n", "\n\nb"]);
    assertEquals([await of(4, 1), await of(9, 1), await of(9)], ["b", "failed", "failed"]);
    const whole = mcpRanges(() => text("a\n\n")); // with all endings
    assertEquals(
      (await whole({ path: "a", offset: 9, limit: 1 }, {})).content[0]!.text,
      "Cannot read a from line 9: it has fewer lines",
    );
    assertEquals(
      (await whole({ path: "a", offset: 9 }, {})).content[0]!.text,
      "Cannot read a from line 9: it has 2 lines",
    );
  });

  it("takes lines out of a text that has more than was asked for, endings and all", async () => {
    const whole = () => text("a\r\n\nb\nc\n"), read = mcpRanges(whole);
    const of = async (offset?: number, limit?: number) =>
      (await read({ path: "a", offset, limit }, {})).content[0]!.text;
    assertEquals([await of(2, 1), await of(3, 1), await of(4, 1), await of(2)], ["\n", "b\n", "c\n", "\nb\nc\n"]);
  });

  it("is the failure of the other tool, as it is", async () => {
    const failed = { ...text("denied"), isError: true };
    assertStrictEquals(await mcpRanges(() => failed)({ path: "a", offset: 9 }, {}), failed);
    await assertRejects(
      () => mcpRanges(() => Promise.reject(new Error("closed")))({ path: "a", offset: 9 }, {}),
      Error,
      "closed",
    );
  });

  it("is a failure where there are no such lines, or they cannot be told", async () => {
    const read = mcpRanges(topReader([]));
    assertEquals(await read({ path: "a.ts", offset: 500, limit: 10 }, {}), {
      ...text("Cannot read a.ts from line 500: it has 300 lines"),
      isError: true,
    });
    for (const odd of [{ offset: 0 }, { offset: 1.5 }, { limit: -1 }, { offset: NaN }]) {
      assertEquals((await read({ path: "a.ts", ...odd }, {})).isError, true);
    }
    const pieces = { content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] };
    assertEquals((await mcpRanges(() => pieces)({ path: "a", offset: 2 }, {}) as Result).isError, true);
    const image = { content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] };
    assertStrictEquals(await mcpRanges(() => image)({ path: "a", offset: 2 }, {}), image);
    assertEquals(await mcpRanges(() => undefined)({ path: "a", offset: 2 }, {}), undefined);
  });

  it("lets a guarded read go on where the map says, though the other tool only reads from the top", () =>
    within({}, async ({ waymark, folder }) => {
      const calls: object[] = [], read = mcpHandler(mcpRanges(topReader(calls)), waymark, { cwd: folder });
      const first = await read({ path: "long.ts" }, {}) as Result;
      assertStringIncludes(first.content[1]!.text!, "Next lines: offset: 201, limit: 100");
      assertStringIncludes(first.structuredContent!["content"] as string, "Next lines: offset: 201, limit: 100");
      const next = await read({ path: "long.ts", offset: 201, limit: 100 }, {});
      assertEquals(next.content, [{ type: "text", text: lines.slice(200).join("\n") }]);
      const long = await read({ path: "long.ts", offset: 50 }, {});
      assertStringIncludes(long.content[1]!.text!, "PARTIAL, lines 50-249 of 300");
      assertEquals(calls, [{ path: "long.ts", head: 200 }, { path: "long.ts", head: 300 }, {
        path: "long.ts",
        head: 249,
      }]);
    }));
});

describe("mcpSummarizeFile()", () => {
  it("is the tool in the parts a server registers, with the hints of one that reads", () =>
    within({ maxLines: 100 }, ({ waymark }) => {
      const { name, config, parameters } = mcpSummarizeFile(waymark);
      assertEquals(name, "summarize_file");
      assertStringIncludes(config.description, "A 700-line file");
      assertEquals(config.annotations, {
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      });
      assertEquals([parameters["type"], parameters["required"]], ["object", ["path"]]);
      assertEquals(mcpSummarizeFile(waymark, { openWorld: true }).config.annotations.openWorldHint, true);
      return Promise.resolve();
    }));

  it("gives the map, and a failure in one line that says what to do instead, flagged", () =>
    within({}, async ({ waymark, folder }) => {
      const { handler } = mcpSummarizeFile(waymark);
      const { content, isError } = await handler({ path: `${folder}/long.ts` }, { requestId: 1 });
      assertEquals(isError, undefined);
      assertMatch(content[0]!.text, /^\[waymark map: 300 lines, none are shown here\]/);
      const name = "a\r\nb\u2028c\x1b[31md.env", steering = /[\p{Cc}\p{Zl}\p{Zp}]/u;
      put(folder, name, "KEY=1");
      for (const action of ["summarize", "lookup", name] as "summarize"[]) {
        const refused = await handler({ path: `${folder}/${name}`, action, line: 1 }, { mcpReq: { id: 1 } });
        const { text } = refused.content[0]!;
        assertEquals([refused.isError, steering.test(text)], [true, false]);
        assertMatch(
          text,
          /^Cannot (?:summarize|map) .*a b c \[31md\.env: (?:it is a file that holds secrets|"action" is)/,
        );
      }
    }));

  it("ends with the client's abort, in both versions", () => {
    const model = scriptedModel(({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    );
    return within({ model }, async ({ waymark, folder }) => {
      const { handler } = mcpSummarizeFile(waymark);
      for (const version of [1, 2]) {
        const abort = new AbortController(),
          extra = version === 1 ? { signal: abort.signal } : { mcpReq: { signal: abort.signal } };
        const given = handler({ path: `${folder}/long.ts`, action: "refresh" }, extra);
        abort.abort();
        assertEquals((await given).isError, true);
      }
    });
  });
});
