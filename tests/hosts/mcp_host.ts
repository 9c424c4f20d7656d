/**
 * The Model Context Protocol, in its own SDKs: a server wrapped, a client wrapped, somebody else's server behind a proxy, and
 * the ready server as a process, each in version 1 and 2.
 *
 * @module
 */

import { test } from "node:test";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as Pair1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { InMemoryTransport as Pair2, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { z } from "zod";
import { dialects } from "@waymark/waymark";
import { mcpClient, mcpServer } from "@waymark/waymark/adapters/mcp";
import {
  conformance,
  type ConformanceHost,
  type HostCall,
  type HostSetup,
  type OpenHost,
  type Shown,
  type ToolResult,
} from "@waymark/waymark/conformance";

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
  const bare = new McpServer1(who), server = wrapping.server ? mcpServer(bare, waymark, options) : bare;
  server.registerTool(
    "read_file",
    { inputSchema: anything, annotations: { readOnlyHint: true } },
    async (args, { signal }) => toResult(await tool(args, { signal })),
  );
  const plain = new Client1(who), client = wrapping.client ? mcpClient(plain, waymark, options) : plain;
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
  const bare = new McpServer2(who), server = wrapping.server ? mcpServer(bare, waymark, options) : bare;
  server.registerTool(
    "read_file",
    { inputSchema: z.object(anything), annotations: { readOnlyHint: true } },
    async (args, { mcpReq: { signal } }) => toResult(await tool(args, { signal })),
  );
  const plain = new Client2(who), client = wrapping.client ? mcpClient(plain, waymark, options) : plain;
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
