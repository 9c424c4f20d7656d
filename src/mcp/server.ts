/**
 * The server: two tools over the folders of the moment, on the official SDK, whatever the transport.
 *
 * Promised: nothing is sent to a client but the protocol; a call that fails is a result that says so in one line; calls run at
 * once, so many that files to open do not run out, and one that the client gives up ends. Each folder is a project of its own, with its own maps. What is given of a file
 * is of one that lay in a folder when it was open: its lines, and a map only of the very bytes that were read so.
 *
 * @module
 */

import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="npm:@modelcontextprotocol/sdk@^1.32.2/types"
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  ResultSchema,
  RootsListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { type McpExtra, mcpSummarizeFile } from "../adapters/mcp.ts";
import { VERSION } from "../cli/program.ts";
import { oneLine, quiet, WaymarkError } from "../errors.ts";
import { sha256 } from "../files.ts";
import { readGuideline, summarizeFileTool } from "../summarize_file.ts";
import type { FileSummaries } from "../summarize_file_types.ts";
import { createTurns } from "../waiting.ts";
import { createTeller } from "../waymark.ts";
import { findInside, toFolder } from "./folders.ts";
import { openInside } from "./open_file.ts";
import type { McpServerOptions, McpServing, McpTransport } from "./options.ts";
import { type Args, createProjects, mapName } from "./projects.ts";
import { readFileWords, readOf, type ReadResult } from "./read_file.ts";
import { createRoots } from "./roots.ts";
import { faultOf, inPlainWords, shortened } from "./words.ts";

/** Claude Code hides tools behind a search that do not ask to be shown, and leaves out what the server says of them. */
const SHOWN = { "anthropic/alwaysLoad": true };

/** Calls that run at once; others wait. Each has a file or two open, and some systems let a process have 256. */
const MAX_CALLS = 32;

/** As long as a request may take, in milliseconds: a client may ask a person first. How long reads wait is another matter. */
const ROOTS_MS = 2 ** 31 - 1;

/**
 * Serves the tools `read_file` and `summarize_file` on a transport.
 *
 * @throws {WaymarkError} with code `invalid-option` where a root is not a folder, `not-allowed` where it may not be read.
 *
 * @example
 * ```ts
 * import { serveMcp } from "@waymark/waymark/mcp";
 * import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
 * import { Client } from "@modelcontextprotocol/sdk/client";
 * import { assertEquals } from "@std/assert";
 *
 * const [left, right] = InMemoryTransport.createLinkedPair();
 * const serving = await serveMcp(left, { roots: ["."] });
 * const client = new Client({ name: "example", version: "1.0.0" });
 * await client.connect(right);
 * assertEquals((await client.listTools()).tools.map(({ name }) => name), ["read_file", "summarize_file"]);
 * await client.close();
 * await serving.closed;
 * ```
 */
export async function serveMcp(transport: McpTransport, options: McpServerOptions = {}): Promise<McpServing> {
  const { maxLines = 200 } = options, tell = createTeller(quiet(({ message }) => options.onNotice?.(message)));
  const roots = createRoots((options.roots ?? []).map(toFolder), tell), projects = createProjects(options, tell);

  const files: FileSummaries = {
    async summarize(path, { refresh = false, signal } = {}) {
      const folders = await roots.current(), inside = findInside(path, folders), cwd = folders[0]!.real;
      const { waymark, source } = projects.of(inside.folder, folders);
      const map = await waymark.summarize(mapName(path, inside), { refresh, signal, cwd });
      const bytes = await source.read(inside.real, signal);
      if (bytes && await sha256(bytes) === map.hash) return map;
      throw new WaymarkError("changed", `Cannot summarize ${path}: it changed while its map was made; ask again`);
    },
    async lookup(path, line, { signal } = {}) {
      const folders = await roots.current(), inside = findInside(path, folders), cwd = folders[0]!.real;
      return await projects.of(inside.folder, folders).waymark.lookup(mapName(path, inside), line, { signal, cwd });
    },
  };
  const summarize = mcpSummarizeFile({ summarizeFileTool: () => summarizeFileTool(files, { maxLines }) }, {
    openWorld: options.model !== undefined,
  });
  const tools: Record<string, (args: Args, extra: McpExtra) => Promise<ReadResult>> = {
    async read_file(args, extra) {
      const folders = await roots.current(), { path: named } = readOf(args), inside = findInside(named, folders);
      const path = mapName(named, inside);
      return await projects.of(inside.folder, folders).read({ ...args, path }, { ...extra, folders, named });
    },
    async summarize_file(args, extra) {
      const { path } = args;
      // What may not be read is refused as a read of it is: the words say what to do already.
      if (typeof path === "string" && path) openInside(path, await roots.current()).close();
      return await summarize.handler(args as never, extra);
    },
  };

  const turns = createTurns(MAX_CALLS);
  const server = new Server({ name: "waymark", title: "Waymark", version: VERSION }, {
    capabilities: { tools: {} },
    instructions: readGuideline({ maxLines }),
  });
  let hasAsked = false;
  const refresh = (): void => {
    if (!server.getClientCapabilities()?.roots) return;
    hasAsked = true;
    // The SDK's own schema refuses the whole list for one root that is no file.
    roots.refresh(() => server.request({ method: "roots/list" }, ResultSchema, { timeout: ROOTS_MS }));
  };
  server.oninitialized = refresh;
  server.setNotificationHandler(RootsListChangedNotificationSchema, refresh);
  const { name, config, parameters } = summarize;
  const listed = [
    { name: "read_file", ...readFileWords(maxLines), annotations: config.annotations, _meta: SHOWN },
    { name, ...config, inputSchema: parameters, _meta: SHOWN },
  ];
  // deno-lint-ignore no-explicit-any -- the SDK's types are mutable
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed as any }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = Object.hasOwn(tools, params.name) ? tools[params.name]! : undefined;
    if (!tool) {
      throw new McpError(
        ErrorCode.InvalidParams,
        `There is no tool ${shortened(params.name, 80)}; there are read_file and summarize_file`,
      );
    }
    if (!hasAsked) refresh(); // a client that says all at once says that it is ready before it is known what it can
    const { requestId, sessionId, _meta, signal } = extra;
    const leave = await turns.take(signal);
    try {
      return { ...await tool(params.arguments ?? {}, { requestId, sessionId, _meta, signal }) };
    } catch (error) {
      return { content: [{ type: "text", text: oneLine(error) }], isError: true };
    } finally {
      leave();
    }
  });

  const ended = Promise.withResolvers<void>();
  server.onclose = () => void projects.close().finally(ended.resolve);
  server.onerror = (error) => {
    roots.garbled();
    tell(new Error(faultOf(error)));
  };
  await server.connect(inPlainWords(transport) as Parameters<Server["connect"]>[0]);
  return {
    closed: ended.promise,
    async close() {
      await server.close();
      await ended.promise;
    },
  };
}
