/**
 * The Model Context Protocol, in its own SDKs: a server wrapped, a client wrapped, somebody else's server behind a proxy, and
 * the ready server as a process, each in version 1 and 2.
 *
 * @module
 */

import { describe, it, test } from "node:test";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport as Pair1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { type CallToolResult, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { InMemoryTransport as Pair2, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { createWaymark, dialects } from "@waymark/waymark";
import { mcpClient, mcpFacts, mcpHandler, mcpRanges, mcpServer, mcpSummarizeFile } from "@waymark/waymark/adapters/mcp";
import {
  conformance,
  type ConformanceHost,
  type HostCall,
  type HostSetup,
  type OpenHost,
  type Shown,
  type ToolResult,
} from "@waymark/waymark/conformance";
import { programCommand } from "../programs.ts";
import { code, inFolder, put } from "../support.ts";
import {
  ask,
  type Block,
  call as modelCall,
  inTurn,
  type Request,
  resultsOf,
  type Script,
  skip,
} from "./claude_driver.ts";

const who = { name: "waymark-tests", version: "1.0.0" };
const anything = { path: z.any(), offset: z.any().optional(), limit: z.any().optional() };

/** What the model is shown of a result: its blocks. */
// deno-lint-ignore no-explicit-any -- a result of either version
function shown(result: any): Shown {
  const blocks: { type: string; text: string; data: string }[] = result.content;
  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => text);
  const images = blocks.filter(({ type }) => type === "image").map(({ data }) => data);
  return { text: texts.join("\n"), failed: result.isError === true, images };
}

function toResult(result: ToolResult) {
  return { content: typeof result === "string" ? [{ type: "text" as const, text: result }] : [...result] };
}

/** A turn: all calls at once, each with the id that Claude Code sends. */
// deno-lint-ignore no-explicit-any -- a client of either version
function turns(call: (params: any, signal: AbortSignal | undefined) => Promise<unknown>, { session }: HostSetup) {
  const one = async ({ args, callId }: HostCall, signal: AbortSignal | undefined): Promise<Shown> => {
    const params = { name: "read_file", arguments: args, _meta: { "claudecode/toolUseId": callId } };
    return shown(await call(params, signal));
  };
  return (calls: readonly HostCall[], options?: { readonly signal?: AbortSignal | undefined }) => {
    session?.nextTurn();
    return Promise.all(calls.map((call) => one(call, options?.signal)));
  };
}

interface Wrapping {
  readonly server?: boolean;
  readonly client?: boolean;
}

/** A server and a client of version 1, one of them wrapped. */
async function open1(setup: HostSetup, wrapping: Wrapping): Promise<OpenHost> {
  const { waymark, tool, session } = setup, options = { dialect: dialects.plain, session };
  const bare = new McpServer1(who), server = waymark && wrapping.server ? mcpServer(bare, waymark, options) : bare;
  server.registerTool(
    "read_file",
    { inputSchema: anything, annotations: { readOnlyHint: true } },
    async (args, { signal }) => toResult(await tool(args, { signal })),
  );
  const plain = new Client1(who), client = waymark && wrapping.client ? mcpClient(plain, waymark, options) : plain;
  const [left, right] = Pair1.createLinkedPair();
  await Promise.all([server.connect(left), client.connect(right)]);
  return {
    turn: turns((params, signal) => client.callTool(params, undefined, { signal }), setup),
    close: async () => (await client.close(), await server.close()),
  };
}

/** The same of version 2. */
async function open2(setup: HostSetup, wrapping: Wrapping): Promise<OpenHost> {
  const { waymark, tool, session } = setup, options = { dialect: dialects.plain, session };
  const bare = new McpServer2(who), server = waymark && wrapping.server ? mcpServer(bare, waymark, options) : bare;
  server.registerTool(
    "read_file",
    { inputSchema: z.object(anything), annotations: { readOnlyHint: true } },
    async (args, { mcpReq: { signal } }) => toResult(await tool(args, { signal })),
  );
  const plain = new Client2(who), client = waymark && wrapping.client ? mcpClient(plain, waymark, options) : plain;
  const [left, right] = Pair2.createLinkedPair();
  await Promise.all([server.connect(left), client.connect(right)]);
  return {
    turn: turns((params, signal) => client.callTool(params, { ...signal && { signal } }), setup),
    close: async () => (await client.close(), await server.close()),
  };
}

const dialect = dialects.plain;
const hosts: readonly ConformanceHost[] = [
  { name: "MCP 1.32.2, a server", dialect, open: (setup) => open1(setup, { server: true }) },
  { name: "MCP 1.32.2, a client", dialect, open: (setup) => open1(setup, { client: true }) },
  { name: "MCP 2.4.0, a server", dialect, open: (setup) => open2(setup, { server: true }) },
  { name: "MCP 2.4.0, a client", dialect, open: (setup) => open2(setup, { client: true }) },
];
for (const host of hosts) conformance(test, host);

describe("a server of MCP without a read tool", () => {
  const missing = (dialect: { readonly tools: readonly string[] }) =>
    `Cannot find a read tool to wrap: none of the tools is called ${dialect.tools.join(", ")}; give names`;
  const versions = {
    "1.32.2": { Server: McpServer1, Client: Client1, pair: () => Pair1.createLinkedPair() },
    "2.4.0": { Server: McpServer2, Client: Client2, pair: () => Pair2.createLinkedPair() },
  };
  // deno-lint-ignore no-explicit-any -- servers and clients of either version
  type Wrap = (of: any, waymark: ReturnType<typeof createWaymark>) => any;
  const asIs: Wrap = (of) => of;

  for (const [version, { Server, Client, pair }] of Object.entries(versions)) {
    /** A server of these tools, each of which gives 390 lines, its client, and what is said. */
    const open = async (names: readonly string[], wraps: { readonly server?: Wrap; readonly client?: Wrap }) => {
      const { server: ofServer = asIs, client: ofClient = asIs } = wraps;
      const said: string[] = [], onNotice = ({ message }: { message: string }) => void said.push(message);
      const waymark = createWaymark({ cache: false, onNotice }), server = ofServer(new Server(who), waymark);
      for (const name of names) {
        const answer = () => ({ content: [{ type: "text" as const, text: code(390) }] });
        server.registerTool(name, { inputSchema: z.object(anything) }, answer);
      }
      const client = ofClient(new Client(who), waymark), [left, right] = pair();
      await Promise.all([server.connect(left), client.connect(right)]);
      const call = async (name: string) =>
        shown(await client.callTool({ name, arguments: { path: "/absent/long.ts" } })).text;
      return { said, client, call, close: () => client.close() };
    };
    const server: Wrap = (of, waymark) => mcpServer(of, waymark);
    const client: Wrap = (of, waymark) => mcpClient(of, waymark, { dialect: dialects.mcpFilesystem });

    it(`of ${version} says so once, behind its first call, and nothing where it has one`, async () => {
      const { said, client, call, close } = await open(["open_file", "shell"], { server });
      await client.listTools();
      for (const name of ["open_file", "shell", "open_file"]) assertEquals(await call(name), code(390));
      assertEquals(said, [missing(dialects.plain)]);
      await close();
      const other = await open(["shell", "read_file"], { server });
      assertEquals([await other.call("shell"), other.said], [code(390), []]);
      await other.close();
    });

    it(`is told of by a client of ${version}, listed or called, once, and nothing where there is one`, async () => {
      for (const isListed of [true, false]) {
        const { said, client: guarded, call, close } = await open(["open_file", "shell"], { client });
        if (isListed) {
          const { tools } = await guarded.listTools();
          assertEquals(tools.map(({ name }: { name: string }) => name), ["open_file", "shell"]);
          assertEquals(said, [missing(dialects.mcpFilesystem)]);
        }
        for (let at = 0; at < 2; at++) assertEquals(await call("open_file"), code(390));
        assertEquals(said, [missing(dialects.mcpFilesystem)]);
        await close();
      }
      const { said, client: guarded, call, close } = await open(["open_file", "read_text_file"], { client });
      await guarded.listTools();
      assertEquals([await call("open_file"), said], [code(390), []]);
      await close();
    });
  }
});

/** How to start the filesystem server on the runtime the tests run on. */
function filesystemServer(folder: string): { command: string; args: string[]; stderr: "ignore" } {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const file = path("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
  const start = "Deno" in globalThis ? ["run", "-A", "--no-check", "--config", path("deno.json")] : [];
  return { command: process.execPath, args: [...start, file, folder], stderr: "ignore" };
}

/** The real filesystem server, a client of it, and the guards over its folder. */
function withFilesystem(
  action: (world: { client: Client1; folder: string; waymark: ReturnType<typeof createWaymark> }) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    put(folder, "long.ts", `${code(300)}\n`);
    const client = new Client1(who), waymark = createWaymark({ root: folder, onNotice: () => {} });
    await client.connect(new Stdio1(filesystemServer(folder)));
    await client.listTools(); // from now on the client checks every result against the schema the server declares
    try {
      await action({ client, folder, waymark });
    } finally {
      await client.close();
      await waymark.close();
    }
  });
}

describe("the filesystem server 2026.8.31 behind a client of ours", () => {
  const filesystem = { dialect: dialects.mcpFilesystem };
  // deno-lint-ignore no-explicit-any -- a result of somebody else's
  const structured = (result: any): string => result.structuredContent.content;

  it("has its long reads shortened, and the map in both forms of the result", () =>
    withFilesystem(async ({ client, waymark, folder }) => {
      const guarded = mcpClient(client, waymark, filesystem), path = `${folder}/long.ts`;
      for (const name of ["read_text_file", "read_file"]) {
        const result = await guarded.callTool({ name, arguments: { path } }) as CallToolResult;
        const { text, failed } = shown(result);
        assert(text.startsWith(code(200)) && !failed);
        assertMatch(
          text,
          /\[waymark map: PARTIAL, lines 1-200 of 300[^]*Next lines: head: 300, which begins at line 1 again/,
        );
        assertEquals(Object.keys(result.structuredContent!), ["content"]);
        assert(structured(result).startsWith(`${code(200)}\n\n[waymark map: PARTIAL, lines 1-200 of 300`));
      }
    }));

  it("has all other calls as they are: a head that was asked for, a tail, failures, other tools", () =>
    withFilesystem(async ({ client, waymark, folder }) => {
      const guarded = mcpClient(client, waymark, filesystem), path = `${folder}/long.ts`;
      const same = async (name: string, args: Record<string, unknown>) =>
        assertEquals(
          await guarded.callTool({ name, arguments: args }),
          await client.callTool({ name, arguments: args }),
        );
      await same("read_text_file", { path, head: 300 });
      await same("read_text_file", { path, tail: 250 });
      await same("read_text_file", { path, head: 1, tail: 1 });
      await same("read_text_file", { path: `${folder}/absent.ts` });
      await same("read_text_file", { path: "/etc/passwd" });
      await same("read_text_file", { path: folder });
      await same("read_multiple_files", { paths: [path] });
      await same("list_directory", { path: folder });
    }));

  it("is told through a proxy in the same schema, which a client checks", () =>
    withFilesystem(async ({ client, waymark, folder }) => {
      const guarded = mcpClient(client, waymark, filesystem), proxy = new McpServer1(who), outer = new Client1(who);
      const inputSchema = { path: z.string(), head: z.number().optional(), tail: z.number().optional() };
      proxy.registerTool(
        "read_text_file",
        { inputSchema, outputSchema: { content: z.string() } },
        async (args) => await guarded.callTool({ name: "read_text_file", arguments: args }) as CallToolResult,
      );
      const [left, right] = Pair1.createLinkedPair();
      await Promise.all([proxy.connect(left), outer.connect(right)]);
      await outer.listTools();
      const result = await outer.callTool({ name: "read_text_file", arguments: { path: `${folder}/long.ts` } });
      assertStringIncludes(structured(result), "[waymark map: PARTIAL, lines 1-200 of 300");
      const failed = await outer.callTool({ name: "read_text_file", arguments: { path: `${folder}/absent.ts` } });
      assertEquals([failed.isError, failed.structuredContent], [true, undefined]);
      await outer.close();
    }));

  it("gives any range through a proxy, though it reads from the top only, and the map says how to go on", () =>
    withFilesystem(async ({ client, waymark, folder }) => {
      const proxy = new McpServer1(who),
        outer = new Client1(who),
        { name, config, handler } = mcpSummarizeFile(waymark);
      const read = mcpRanges(async (args, { signal }: { signal: AbortSignal }) =>
        await client.callTool({ name: "read_text_file", arguments: args }, undefined, { signal }) as CallToolResult
      );
      const inputSchema = { path: z.string(), offset: z.number().optional(), limit: z.number().optional() };
      proxy.registerTool("read_file", { inputSchema }, mcpHandler(read, waymark));
      proxy.registerTool(name, { ...config, inputSchema: { path: z.string() } }, handler);
      const [left, right] = Pair1.createLinkedPair();
      await Promise.all([proxy.connect(left), outer.connect(right)]);
      const ask = async (args: object) =>
        shown(await outer.callTool({ name: "read_file", arguments: { path: `${folder}/long.ts`, ...args } }));

      const first = await ask({}), [, offset, limit] = /Next lines: offset: (\d+), limit: (\d+)/.exec(first.text)!;
      assert(first.text.startsWith(code(200)));
      const next = await ask({ offset: Number(offset), limit: Number(limit) });
      assertEquals(next.text, code(300).split("\n").slice(200).join("\n"));
      assertStringIncludes((await ask({ offset: 20 })).text, "PARTIAL, lines 20-219 of 300");
      assertEquals((await ask({ offset: 5000, limit: 3 })).failed, true);
      const map = await outer.callTool({ name, arguments: { path: `${folder}/long.ts` } });
      assertMatch(shown(map).text, /^\[waymark map: 300 lines, none are shown here\]/);
      await outer.close();
    }));
});

const [program, ...start] = programCommand("src/mcp.ts");

/** Clients of both versions, each with the folders it names, if it names any. */
const clients = {
  "1.32.2": async (args: string[], named?: () => string[]) => {
    const client = new Client1(who, { capabilities: named ? { roots: { listChanged: true } } : {} });
    if (named) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: named().map(toRoot) }));
    const transport = new Stdio1({ command: program, args: [...start, ...args], stderr: "ignore" });
    await client.connect(transport);
    const read = (args: Record<string, unknown>, signal?: AbortSignal) =>
      client.callTool({ name: "read_file", arguments: args }, undefined, { signal }).then(shown);
    return { client, read, transport };
  },
  "2.4.0": async (args: string[], named?: () => string[]) => {
    const client = new Client2(who, { capabilities: named ? { roots: { listChanged: true } } : {} });
    if (named) client.setRequestHandler("roots/list", () => ({ roots: named().map(toRoot) }));
    const transport = new Stdio2({ command: program, args: [...start, ...args], stderr: "ignore" });
    await client.connect(transport);
    const read = (args: Record<string, unknown>, signal?: AbortSignal) =>
      client.callTool({ name: "read_file", arguments: args }, { ...signal && { signal } }).then(shown);
    return { client, read, transport };
  },
};

function toRoot(path: string): { uri: string } {
  return { uri: pathToFileURL(path).href };
}

for (const [version, connect] of Object.entries(clients)) {
  describe(`the ready server with a client of ${version}`, () => {
    it("lists its tools, reads, maps and refuses", () =>
      inFolder(async (folder) => {
        put(folder, "long.ts", code(300));
        const { client, read } = await connect(["--root", folder]);
        const { tools } = await client.listTools();
        assertEquals(tools.map(({ name }) => name), ["read_file", "summarize_file"]);
        for (const { annotations, outputSchema } of tools) {
          assertEquals([annotations?.readOnlyHint, annotations?.openWorldHint, outputSchema], [true, false, undefined]);
        }
        assertStringIncludes(client.getInstructions()!, "call summarize_file");
        const { text, failed } = await read({ path: "long.ts" });
        assert(text.startsWith(`${code(200)}\n`) && !failed);
        assertMatch(text, /\[waymark map: PARTIAL, lines 1-200 of 300/);
        const map = shown(await client.callTool({ name: "summarize_file", arguments: { path: "long.ts" } }));
        assertMatch(map.text, /^\[waymark map: 300 lines/);
        for (const path of ["../x.ts", "/etc/passwd", "absent.ts", "."]) {
          assertEquals((await read({ path })).failed, true);
        }
        await client.close();
      }));

    it("honours its folders, and others it names", () =>
      inFolder(async (folder) => {
        put(folder, "one/a.ts", "one\n");
        put(folder, "two/a.ts", "two\n");
        let named = [`${folder}/one`];
        const { client, read } = await connect(["--root", folder], () => named);
        assertEquals(await read({ path: "a.ts" }), { text: "one\n", failed: false, images: [] });
        assertEquals((await read({ path: `${folder}/two/a.ts` })).failed, true);
        named = [`${folder}/two`];
        await client.sendRootsListChanged();
        assertEquals((await read({ path: "a.ts" })).text, "two\n");
        named = ["/"];
        await client.sendRootsListChanged();
        assertEquals((await read({ path: "/etc/passwd" })).failed, true);
        assertEquals((await read({ path: "one/a.ts" })).text, "one\n");
        await client.close();
      }));

    it("answers forty calls at once, gives up what is given up, and goes when its client does", () =>
      inFolder(async (folder) => {
        for (let at = 0; at < 40; at++) put(folder, `f${at}.ts`, code(201 + at));
        const { client, read, transport } = await connect(["--root", folder]), pid = transport.pid!;
        const given = new AbortController(), late = read({ path: "f0.ts" }, given.signal);
        given.abort();
        await assertRejects(() => late);
        const all = await Promise.all(Array.from({ length: 40 }, (_, at) => read({ path: `f${at}.ts` })));
        for (const [at, { text }] of all.entries()) assertStringIncludes(text, `of ${201 + at} are shown`);
        await client.close();
        for (let waited = 0; isRunning(pid) && waited < 200; waited++) {
          await new Promise((done) => setTimeout(done, 25));
        }
        assert(!isRunning(pid));
      }));

    it("is told when it is killed", () =>
      inFolder(async (folder) => {
        put(folder, "a.ts", "a\n");
        const { client, read, transport } = await connect(["--root", folder]);
        await read({ path: "a.ts" });
        const closed = new Promise<void>((done) => client.onclose = done);
        process.kill(transport.pid!, "SIGKILL");
        await closed;
        await assertRejects(() => read({ path: "a.ts" }));
      }));
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("the ready server in Claude Code", { skip }, () => {
  const read = "mcp__waymark__read_file", summarize = "mcp__waymark__summarize_file";

  /** Has Claude Code run in a project with the server added; what the model was asked. */
  function inClaude(
    script: Script | readonly Block[],
    action: (requests: readonly Request[], root: string) => Promise<void> | void,
    args: readonly string[] = [],
  ): Promise<void> {
    return inFolder(async (root) => {
      put(root, "package.json", "{}");
      put(root, "long.ts", code(300));
      put(root, "short.ts", code(20));
      const { HOME = "/", PATH = "" } = process.env; // its own are those of the conversation
      const requests = await ask({
        root,
        script: typeof script === "function" ? script : inTurn(script),
        options: {
          allowedTools: [read, summarize, "Agent"],
          mcpServers: {
            waymark: {
              type: "stdio",
              command: program,
              args: [...start, "--root", root, ...args],
              env: { HOME, PATH },
            },
          },
        },
      });
      await action(requests, root);
    });
  }

  it("shows the model its tools and words, the lines and the map of a long file, and a refusal as an error", () =>
    inClaude([
      modelCall(read, { path: "long.ts" }, "toolu_read"),
      modelCall(summarize, { path: "long.ts" }, "toolu_map"),
      modelCall(read, { path: "short.ts", offset: 3, limit: 2 }, "toolu_range"),
      modelCall(read, { path: "/etc/passwd" }, "toolu_out"),
    ], (requests) => {
      const names = requests[0]!.tools!.map(({ name }) => name);
      assert(names.includes(read) && names.includes(summarize), names.join());
      assertStringIncludes(
        JSON.stringify(requests[0]!.messages),
        "Before reading a source file you have not seen, call summarize_file",
      );
      const results = resultsOf(requests.at(-1)!), of = (id: string) => results.get(id)!;
      assert(of("toolu_read").text.startsWith(`${code(200)}\n`));
      assertMatch(
        of("toolu_read").text,
        /\n\[waymark map: PARTIAL, lines 1-200 of 300[^]*Next lines: offset: 201, limit: 100/,
      );
      assertMatch(
        of("toolu_map").text,
        /^\[waymark map: 300 lines, none are shown here\][^]*\n300-300 {2}function {2}f300/,
      );
      assertEquals(of("toolu_range").text, `${code(20).split("\n").slice(2, 4).join("\n")}\n`);
      assertMatch(of("toolu_out").text, /Cannot read \/etc\/passwd: it lies outside of /);
      assertEquals(["read", "map", "range", "out"].map((id) => of(`toolu_${id}`).isError), [false, false, false, true]);
    }));

  it("reads Claude Code's folders by itself, with no folder given: its working directory", () =>
    inFolder(async (root) => {
      put(root, "short.ts", code(20));
      const { HOME = "/", PATH = "" } = process.env;
      const requests = await ask({
        root,
        script: inTurn([
          modelCall(read, { path: "short.ts" }, "toolu_1"),
          modelCall(read, { path: "/etc/passwd" }, "toolu_2"),
        ]),
        options: {
          allowedTools: [read],
          mcpServers: { waymark: { type: "stdio", command: program, args: [...start], env: { HOME, PATH } } },
        },
      });
      const results = resultsOf(requests.at(-1)!);
      assertEquals(results.get("toolu_1"), { text: code(20), isError: false, images: [] });
      assertEquals(results.get("toolu_2")!.isError, true);
    }));

  it("gives a sub-agent, which shares the connection, all lines that the main agent was given", () => {
    const isSub = ({ messages }: Request) => JSON.stringify(messages[0]).includes("SUBTASK");
    const main = inTurn(
      [modelCall(read, { path: "short.ts" }, "toolu_main")],
      [modelCall(
        "Agent",
        { description: "read it", prompt: "SUBTASK", subagent_type: "general-purpose" },
        "toolu_agent",
      )],
    );
    const sub = inTurn([modelCall(read, { path: "short.ts" }, "toolu_sub")]);
    return inClaude((request) => isSub(request) ? sub(request) : main(request), (requests) => {
      const ofSub = requests.filter(isSub).at(-1);
      assert(ofSub, "the sub-agent ran");
      assertEquals(resultsOf(ofSub).get("toolu_sub"), { text: code(20), isError: false, images: [] });
    });
  });

  it("sends the ids of the model's calls with them, by which a wrapped server of one's own knows them", () =>
    inFolder(async (root) => {
      put(root, "long.ts", code(300));
      const facts: unknown[] = [], waymark = createWaymark({ root, cache: false });
      const handler = mcpHandler(
        async ({ limit }: { path: string; limit?: number | undefined }, extra: unknown) => {
          facts.push(mcpFacts(extra));
          return await Promise.resolve({ content: [{ type: "text" as const, text: code(limit ?? 300) }] });
        },
        waymark,
        { cwd: root },
      );
      const read_file = tool("read_file", "Reads a file.", { path: z.string(), limit: z.number().optional() }, handler);
      const requests = await ask({
        root,
        script: inTurn([
          modelCall("mcp__own__read_file", { path: "long.ts" }, "toolu_1"),
          modelCall("mcp__own__read_file", { path: "long.ts", limit: 5 }, "toolu_2"),
        ]),
        options: {
          allowedTools: ["mcp__own__read_file"],
          mcpServers: { own: createSdkMcpServer({ name: "own", tools: [read_file], alwaysLoad: true }) },
        },
      });
      const results = resultsOf(requests.at(-1)!), ids = facts.map((fact) => (fact as { callId?: string }).callId);
      assertEquals(ids.toSorted(), ["toolu_1", "toolu_2"]);
      for (const fact of facts) assert((fact as { signal?: unknown }).signal instanceof AbortSignal);
      assertMatch(results.get("toolu_1")!.text, /\[waymark map: PARTIAL, lines 1-200 of 300/);
      assertEquals(results.get("toolu_2")!.text, code(5));
      await waymark.close();
    }));
});
