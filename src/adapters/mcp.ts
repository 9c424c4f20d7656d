/**
 * The Model Context Protocol: read tools of a server of your own, and of somebody else's.
 *
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { mcpServer } from "@waymark/waymark/adapters/mcp";
 *
 * const waymark = createWaymark();
 * // The SDK's McpServer, version 1 or 2, in place of this one.
 * const server = mcpServer({ registerTool(_name: string, _config: object, _handler: unknown) {} }, waymark);
 * server.registerTool("read_file", {}, ({ path }: { path: string }) => ({ content: [{ type: "text", text: path }] }));
 * await waymark.close();
 * ```
 *
 * Promised: a result keeps its blocks, keys and flags, so that one with a declared output schema is valid still; what is said
 * goes into `content` and, where there is one, into the text of `structuredContent` too, which is all that some hosts show the
 * model; a result that failed carries no `structuredContent` of ours. Call ids and conversations are those that clients send
 * in `_meta`, the abort is the protocol's own.
 *
 * A server is not told what leaves a conversation, and over one connection may come several: a client's sub-agents, or all of
 * its windows. So a call without the id of a conversation belongs to none, and the conversations are `untracked`: nothing
 * refers back in them unless `createWaymark({ rereadGuard: true })` asks for it. Absent: transports, and any import of an SDK.
 *
 * @module
 */

import { mcpCodec } from "../codecs.ts";
import { dialects } from "../dialects.ts";
import type { Waymark } from "../options.ts";
import { watchReadTools } from "../read_tools.ts";
import { sessionPool } from "../session_pool.ts";
import type { Session } from "../session_types.ts";
import type { Codec, Dialect, ReadCall } from "../types.ts";
import type { ToolFunction } from "../wrap_types.ts";
import { behind, readListing } from "./mcp/tools.ts";
import type { McpExtra } from "./mcp/types.ts";

/** How MCP tools are wrapped. */
export interface McpOptions {
  /** How the tools' arguments say a read. Default `{path, offset?, limit?}`, 1-based; `dialects.mcpFilesystem` is the other one met. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect?: Dialect<any> | undefined;
  /** How their results carry text and annotations. Default: in text blocks, and in `structuredContent` that repeats the text. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the host's result
  readonly codec?: Codec<any> | undefined;
  /**
   * Names of the read tools; none, where there is none. Default: those the dialect knows. Other tools are seen for digests, where
   * there are any.
   */
  readonly names?: readonly string[] | undefined;
  /**
   * The conversation of the calls: one, or by the id that the client sends (`undefined`: none). Default: an untracked one for
   * each id, none without.
   */
  readonly session?: Session | ((id: string | undefined) => Session | undefined) | undefined;
  /** The folder relative paths start from, as the tool takes them. Default: the process's working directory. */
  readonly cwd?: string | undefined;
}

/** What the adapter needs of a `Waymark`. */
export type McpWaymark = Pick<Waymark, "wrapTools">;

/**
 * Facts of a call to a server, version 1 or 2: the model's own call id where the client sends it (Claude Code, Codex), else
 * the request's.
 *
 * @example
 * ```ts
 * import { mcpFacts } from "@waymark/waymark/adapters/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(mcpFacts({ requestId: 7, _meta: { callId: "call_1", threadId: "t" } }), { callId: "call_1", sessionId: "t" });
 * assertEquals(mcpFacts({ mcpReq: { id: 7 }, sessionId: "s" }), { callId: "7", sessionId: "s" });
 * ```
 */
export function mcpFacts(extra: unknown): Pick<ReadCall, "callId" | "sessionId" | "signal"> {
  const { requestId, _meta, sessionId, signal, mcpReq } = (extra ?? {}) as McpExtra;
  const { id = requestId, _meta: meta = _meta, signal: abort = signal } = mcpReq ?? {};
  const call = textOf(meta?.["claudecode/toolUseId"]) ?? textOf(meta?.["callId"]) ?? textOf(id);
  const conversation = textOf(meta?.["threadId"]) ?? textOf(meta?.["sessionId"]) ?? textOf(sessionId);
  return {
    ...call !== undefined && { callId: call },
    ...conversation !== undefined && { sessionId: conversation },
    ...abort instanceof AbortSignal && { signal: abort },
  };
}

/**
 * Wraps the handler of one read tool, for `registerTool` of version 1 and 2: the same handler, its results annotated.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { mcpHandler } from "@waymark/waymark/adapters/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false });
 * const handler = ({ path }: { path: string }, _extra: object) => ({ content: [{ type: "text", text: path }] });
 * const read = mcpHandler(handler, waymark);
 * assertEquals(await read({ path: "short.ts" }, { requestId: 1 }), { content: [{ type: "text", text: "short.ts" }] });
 * ```
 *
 * @param options `names` tells how the tool is called; default `read_file`.
 */
export function mcpHandler<Args, Extra, Result>(
  handler: (args: Args, extra: Extra) => Result | Promise<Result>,
  waymark: McpWaymark,
  options: McpOptions = {},
): (args: Args, extra: Extra) => Promise<Result> {
  const [name = "read_file"] = options.names ?? [];
  return wrapper(waymark, { ...options, names: [name] }, mcpFacts)(name, handler) as (
    args: Args,
    extra: Extra,
  ) => Promise<Result>;
}

/**
 * A server whose tools are wrapped as they are registered: everything else of it is the server's own. Register on what comes
 * back, and connect either. That no read tool was registered is said once (`onNotice`), behind the first call of another.
 */
// deno-lint-ignore no-explicit-any -- an SDK's own overloads
export function mcpServer<Server extends { registerTool: (...given: any[]) => unknown }>(
  server: Server,
  waymark: McpWaymark,
  options: McpOptions = {},
): Server {
  const wrap = wrapper(waymark, options, mcpFacts), watch = watchReadTools(waymark, soughtBy(options));
  /** Before a read tool was registered, the first call tells that registering is over: what it registers itself counts still. */
  const counted = (tool: ToolFunction): ToolFunction =>
    watch.settled ? tool : new Proxy(tool, {
      apply: (run, self, args) => behind(Reflect.apply(run, self, args), watch.close),
    });
  const register = (key: string) => (name: string, ...given: unknown[]): unknown => {
    watch.meet(name);
    const last = given.at(-1), handler = typeof last === "function" ? counted(wrap(name, last as ToolFunction)) : last;
    return (server as unknown as Record<string, ToolFunction>)[key]!(name, ...given.slice(0, -1), handler);
  };
  return withMethods(server, { registerTool: register("registerTool"), tool: register("tool") });
}

/**
 * A client whose `callTool` wraps the tools of the server it is connected to: somebody else's, that cannot be changed. Version
 * 1 and 2. Which tools read, and in what words, is for the caller to say: servers call different tools by one name. That the
 * server has none of them is said once (`onNotice`), when its tools are listed through what comes back, or another has read a
 * long file.
 *
 * @example
 * ```ts
 * import { createWaymark, dialects } from "@waymark/waymark";
 * import { mcpClient } from "@waymark/waymark/adapters/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * const client = { callTool: (_: { name: string; arguments?: object }) => Promise.resolve({ content: [] }) };
 * const waymark = createWaymark({ cache: false });
 * const guarded = mcpClient(client, waymark, { dialect: dialects.mcpFilesystem });
 * assertEquals(await guarded.callTool({ name: "read_text_file", arguments: { path: "short.ts" } }), { content: [] });
 * ```
 */
// deno-lint-ignore no-explicit-any -- an SDK's own overloads
export function mcpClient<Client extends { callTool: (...given: any[]) => Promise<unknown> }>(
  client: Client,
  waymark: McpWaymark,
  options: McpOptions & Required<Pick<McpOptions, "dialect">>,
): Client {
  const wrap = wrapper(waymark, options, (params, ...rest) => {
    const signal = rest.map((value) => (value as McpExtra | undefined)?.signal).find((value) => value);
    return mcpFacts({ _meta: (params as McpExtra)._meta, signal });
  });
  const watch = watchReadTools(waymark, soughtBy(options));
  const tools = new Map<string, ToolFunction>();
  const toolOf = (name: string): ToolFunction => {
    const call = (args: unknown, params: { arguments?: unknown }, ...rest: unknown[]): unknown =>
      client.callTool(args === params.arguments ? params : { ...params, arguments: args }, ...rest);
    const tool = tools.get(name) ?? wrap(name, call);
    tools.set(name, tool);
    return tool;
  };
  const callTool = (params: { name: string; arguments?: unknown }, ...rest: unknown[]): unknown => {
    const result: unknown = toolOf(params.name)(params.arguments, params, ...rest);
    if (watch.meet(params.name) || watch.settled) return result;
    return behind(result, (given) => watch.look(params.arguments, given));
  };
  const listed = readListing(watch);
  const listTools = (...given: unknown[]): unknown =>
    behind((client as unknown as ListingClient).listTools(...given), (page) => listed(given[0], page));
  return withMethods(client, { callTool, listTools });
}

interface ListingClient {
  listTools(...given: unknown[]): unknown;
}

/** What the options say of the read tools. */
function soughtBy({ dialect = dialects.plain, codec = mcpCodec, names = dialect.tools }: McpOptions) {
  return { dialect, codec, names };
}

/** Wraps tools by their names. */
function wrapper(
  waymark: McpWaymark,
  options: McpOptions,
  factsOf: (...rest: unknown[]) => Partial<ReadCall>,
): (name: string, tool: ToolFunction) => ToolFunction {
  const { session, cwd } = options, { dialect, codec, names } = soughtBy(options);
  const pool = sessionPool({ untracked: true });
  const facts = (...rest: unknown[]): Partial<ReadCall> => {
    const known = factsOf(...rest), id = known.sessionId;
    const own = session === undefined
      ? id === undefined ? undefined : pool.get(id)
      : typeof session === "function"
      ? session(id)
      : session;
    return { ...known, ...own && { session: own }, ...cwd !== undefined && { cwd } };
  };
  return (name, tool) => {
    const read = names.includes(name) ? [name] : [];
    return waymark.wrapTools({ [name]: tool }, { names: read, dialect, codec, facts })[name]!;
  };
}

/** An object some of whose methods are others; the rest is its own, called on it. */
function withMethods<Owner extends object>(owner: Owner, methods: Record<string, unknown>): Owner {
  return new Proxy(owner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return typeof key === "string" && Object.hasOwn(methods, key) ? methods[key] : value.bind(target);
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

export { mcpRanges, type RangeArguments } from "./mcp/ranges.ts";
export {
  type McpHints,
  type McpSummarizeFile,
  mcpSummarizeFile,
  type McpSummarizeFileOptions,
} from "./mcp/summarize_file.ts";
export type { McpExtra, McpFailure, McpText } from "./mcp/types.ts";
