/**
 * The server and the official SDK's own client, connected in one process over real files.
 *
 * @module
 */

import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { assertEquals, assertMatch } from "@std/assert";
import { type McpServerOptions, serveMcp } from "../../src/mcp.ts";
import { code, inFolder, put } from "../support.ts";

/** A tool's result. */
export interface Result {
  readonly content: { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
}

/** A server and its client. */
export interface Served {
  readonly client: Client;
  readonly folder: string;
  readonly notices: string[];
  /** Calls a tool: its blocks' texts. */
  readonly call: (name: string, args: object, options?: { signal?: AbortSignal; meta?: object }) => Promise<string[]>;
  /** Reads a file: one text for every block. */
  readonly read: (path: string, args?: object, meta?: object) => Promise<string[]>;
  /** Why a read fails. */
  readonly refused: (path: string, args?: object) => Promise<string>;
  /** Names other folders, and says so. */
  readonly name: (...folders: string[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** What the client can do, and what it names at the start. */
export interface Setting extends McpServerOptions {
  readonly named?: readonly string[];
  readonly list?: () => Promise<unknown> | unknown;
}

/** Does something with a server over a folder, and closes it. */
export function serve(setting: Setting | ((folder: string) => Setting), action: (served: Served) => Promise<void>) {
  return inFolder(async (folder) => {
    put(folder, "long.ts", code(380));
    put(folder, "short.ts", code(50));
    const { named, list, ...options } = typeof setting === "function" ? setting(folder) : setting;
    const notices: string[] = [], [left, right] = InMemoryTransport.createLinkedPair();
    const serving = await serveMcp(left, { roots: [folder], onNotice: (line) => void notices.push(line), ...options });
    let folders = named ?? [];
    const capabilities = named || list ? { roots: { listChanged: true } } : {};
    const client = new Client({ name: "tests", version: "1.0.0" }, { capabilities });
    if (named || list) {
      const roots = () => ({ roots: folders.map((path) => ({ uri: pathToFileURL(path).href })) });
      // deno-lint-ignore no-explicit-any -- whatever a test makes of it
      client.setRequestHandler(ListRootsRequestSchema, (list ?? roots) as any);
    }
    await client.connect(right);
    const result = (name: string, args: object, { signal, meta }: { signal?: AbortSignal; meta?: object } = {}) =>
      client.callTool({ name, arguments: { ...args }, ...meta && { _meta: { ...meta } } }, undefined, {
        ...signal && { signal },
      }) as Promise<Result>;
    const call: Served["call"] = async (name, args, options) => {
      const { content, isError, ...rest } = await result(name, args, options);
      assertEquals([isError, rest], [undefined, {}], content[0]?.text);
      return content.map(({ type, text }) => (assertEquals(type, "text"), text));
    };
    try {
      await action({
        client,
        folder,
        notices,
        call,
        read: (path, args, meta) => call("read_file", { path, ...args }, { ...meta && { meta } }),
        async refused(path, args) {
          const { content, isError, ...rest } = await result("read_file", { path, ...args });
          assertEquals([isError, content.length, rest], [true, 1, {}]);
          assertMatch(content[0]!.text, /^Cannot [^\n]+$/);
          return content[0]!.text;
        },
        async name(...others) {
          folders = others;
          await client.sendRootsListChanged();
        },
        close: () => serving.close(),
      });
    } finally {
      await client.close();
      await serving.closed;
    }
  });
}
