/**
 * What the adapter gives, assigned to the types of the real MCP SDKs, 1 and 2: checked, never run.
 *
 * @module
 */

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { fromJsonSchema, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { z } from "zod";
import { createSession, createWaymark, dialects } from "@waymark/waymark";
import { mcpClient, mcpHandler, mcpRanges, mcpServer, mcpSummarizeFile } from "@waymark/waymark/adapters/mcp";
import { serveMcp } from "@waymark/waymark/mcp";

const waymark = createWaymark(), who = { name: "types", version: "1.0.0" };
const shape = { path: z.string(), offset: z.number().optional(), limit: z.number().optional() };
const summarize = mcpSummarizeFile(waymark);

export async function one(): Promise<void> {
  const server: McpServer1 = mcpServer(new McpServer1(who), waymark, { dialect: dialects.plain });
  const client: Client1 = mcpClient(new Client1(who), waymark, { dialect: dialects.mcpFilesystem });
  server.registerTool("read_file", { inputSchema: shape }, ({ path, limit }, { signal }) => ({
    content: [{ type: "text", text: `${path}${limit}${signal.aborted}` }],
  }));
  // Arguments and extra are known where a handler is wrapped by itself.
  server.registerTool(
    "read",
    { inputSchema: shape },
    mcpHandler(
      ({ path }, { requestId }) => ({ content: [{ type: "text" as const, text: `${path}${requestId}` }] }),
      waymark,
      {
        session: createSession(),
      },
    ),
  );
  const foreign = async (args: { path: string; head?: number }, { signal }: { signal: AbortSignal }) =>
    await client.callTool({ name: "read_text_file", arguments: args }, undefined, { signal }) as CallToolResult;
  server.registerTool("read_lines", { inputSchema: shape }, mcpHandler(mcpRanges(foreign), waymark));
  const { name, config, handler } = summarize;
  const inputSchema = {
    path: z.string(),
    action: z.enum(["summarize", "lookup", "refresh"]).optional(),
    line: z.number().optional(),
  };
  server.registerTool(name, { ...config, inputSchema }, handler);
  await serveMcp(new StdioServerTransport(), { roots: ["."] });
}

export async function two(): Promise<void> {
  const server: McpServer2 = mcpServer(new McpServer2(who), waymark, { dialect: dialects.plain });
  const client: Client2 = mcpClient(new Client2(who), waymark, { dialect: dialects.mcpFilesystem });
  server.registerTool("read_file", { inputSchema: z.object(shape) }, ({ path, limit }, { mcpReq }) => ({
    content: [{ type: "text", text: `${path}${limit}${mcpReq.signal.aborted}` }],
  }));
  server.registerTool(
    "read",
    { inputSchema: z.object(shape) },
    mcpHandler(
      ({ path }, { mcpReq }) => ({ content: [{ type: "text" as const, text: `${path}${mcpReq.id}` }] }),
      waymark,
    ),
  );
  const foreign = (
    args: { path: string; head?: number },
    { mcpReq: { signal } }: { mcpReq: { signal: AbortSignal } },
  ) => client.callTool({ name: "read_text_file", arguments: args }, { signal });
  server.registerTool("read_lines", { inputSchema: z.object(shape) }, mcpHandler(mcpRanges(foreign), waymark));
  const { name, config, parameters, handler } = summarize;
  server.registerTool(name, { ...config, inputSchema: fromJsonSchema<{ path: string }>(parameters) }, handler);
  await client.close();
}
