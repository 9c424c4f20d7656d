/**
 * LangChain.js agents (`createAgent`) and deepagents: Waymark as one of the agent's middleware.
 *
 * ```ts ignore
 * import { createAgent, createMiddleware, tool, ToolMessage } from "langchain";
 * import { createWaymark } from "@waymark/waymark";
 * import { langchainMiddleware } from "@waymark/waymark/adapters/langchain";
 *
 * const guard = langchainMiddleware({ createMiddleware, ToolMessage, tool }, createWaymark());
 * const agent = createAgent({ model, tools: [readFile, bash], middleware: [guard] });
 * ```
 *
 * The read tools are those called `read`, `read_file`, `readFile` or `Read` that take `{ path, offset?, limit? }`, lines from 1,
 * and return the text of the file. `names` and a `dialect` tell of others; `cwd`, where relative paths start. An agent that has
 * none of them is told of once (`onNotice`), when it has called a tool.
 *
 * Promised: a tool that throws stays what it is to LangChain without middleware, a `ToolMessage` of status `error` in
 * LangChain's words; interrupts, aborts and commands pass as they are; a message that gets an annotation keeps its ids, status,
 * artifact and the rest. What was shown is kept for each thread and each sub-agent alone, and held against the messages of
 * every request; where the model's API is asked to take results out by itself, nothing refers back. Nothing of LangChain is
 * imported: its constructors are handed in.
 *
 * @module
 */

import { stringOrBlocks } from "../codecs.ts";
import { dialects } from "../dialects.ts";
import { WaymarkError } from "../errors.ts";
import { watchReadTools } from "../read_tools.ts";
import { sessionPool } from "../session_pool.ts";
import type { Session } from "../session_types.ts";
import type { ReadCall } from "../types.ts";
import type { SummarizeFileArguments } from "../summarize_file_types.ts";
import type { ToolFunction } from "../wrap_types.ts";
import { readFileCodec, readFileDialect, summarizeAbsolute } from "./langchain/deepagents.ts";
import { callerIn, conversationOf, isEdited, isOfHost, isWayOut, remember, type Remembered } from "./langchain/ids.ts";
import { Answer, messagesOf } from "./langchain/messages.ts";
import { sightTools } from "./langchain/tools.ts";
import type {
  DeepagentsOptions,
  LangchainHost,
  LangchainOptions,
  LangchainRun,
  LangchainToolRequest,
  LangchainWaymark,
} from "./langchain/types.ts";

/**
 * Makes the middleware, for `createAgent({ middleware: [it] })`. It stands last in the list: there it sees the requests that
 * are sent, what other middleware made of them included, and what tools really returned.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { langchainMiddleware } from "@waymark/waymark/adapters/langchain";
 * import { assertStringIncludes } from "@std/assert";
 *
 * // In your program: import { createMiddleware, ToolMessage } from "langchain"
 * class ToolMessage {
 *   static isInstance = (value: unknown) => value instanceof ToolMessage;
 *   constructor(fields: object) { Object.assign(this, fields); }
 * }
 * const lines = Array.from({ length: 300 }, (_, at) => `export function f${at}() {}`);
 * const source = { read: () => new TextEncoder().encode(lines.join("\n")) };
 * const waymark = createWaymark({ cache: false, source });
 * const guard = langchainMiddleware({ createMiddleware: (hooks) => hooks, ToolMessage }, waymark);
 *
 * const toolCall = { id: "call_1", name: "read_file", args: { path: "/a.ts" } };
 * const message = await guard.wrapToolCall({ toolCall }, ({ toolCall: { id, args } }) =>
 *   new ToolMessage({ content: lines.slice(0, args.limit).join("\n"), tool_call_id: id }));
 * assertStringIncludes(message.content, "PARTIAL, lines 1-200 of 300");
 * ```
 */
export function langchainMiddleware<Middleware>(
  host: LangchainHost<Middleware>,
  waymark: LangchainWaymark,
  options: LangchainOptions = {},
): Middleware {
  const { dialect = dialects.plain, cwd, compactor, digests, toolErrors = "message" } = options;
  const names = new Set(options.names ?? dialect.tools), { make, contentOf, codecOf } = messagesOf(host.ToolMessage);
  const codec = codecOf(options.codec ?? stringOrBlocks), pool = sessionPool();
  const readers = new Map<string, ToolFunction>(), failed = new WeakSet<Session>();
  const sent = new WeakMap<Session, Remembered>(); // what was in the state when a conversation was last sent
  const watch = watchReadTools(waymark, { names, dialect, codec }), sights = sightTools(watch);
  const callers = new WeakSet<object>(); // messages with calls before which the state was looked at

  const sessionOf = (run: LangchainRun): Session | undefined => {
    if (options.session === false) return undefined;
    const { id, isMain } = conversationOf(run);
    return isMain && options.session ? options.session : id === undefined ? undefined : pool.get(id);
  };
  /** A read tool. Its latest result is remembered, for references take its shape. */
  const readerOf = (name: string): ToolFunction => {
    const known = readers.get(name);
    if (known) return known;
    const run = (args: unknown, _: LangchainToolRequest, call: (args: unknown) => unknown) => call(args);
    const reader = waymark.wrap(run, {
      name,
      dialect,
      codec,
      facts: (request) => facts(request as LangchainToolRequest),
    });
    readers.set(name, reader);
    return reader;
  };
  const facts = (request: LangchainToolRequest): Partial<ReadCall> => {
    const { id: callId } = request.toolCall, signal = request.runtime?.signal, session = readsOf(request);
    const ids = { ...callId !== undefined && { callId }, ...cwd !== undefined && { cwd } };
    const topLevel = conversationOf(request).isMain;
    return { ...ids, topLevel, ...signal && { signal }, ...session && { session } };
  };
  /** The conversation to which a read belongs. What was taken from the state since its last request is not there any more. */
  const readsOf = (request: LangchainToolRequest): Session | undefined => {
    const session = sessionOf(request), { id } = request.toolCall, messages = request.state?.messages;
    if (!session || !messages || id === undefined) return session;
    const at = callerIn(messages, id), caller = messages[at], before = messages.slice(0, at), last = sent.get(session);
    // Two runs at once that pass for one conversation: what the other sent says nothing of what this one holds.
    if (last && !last.endsLike(before)) return undefined;
    if (typeof caller !== "object" || caller === null || callers.has(caller) || last?.are(before)) return session;
    callers.add(caller); // once for all calls of it: later ones would take each other's results for gone
    session.reconcile(messages);
    return session;
  };
  /** Tells what a tool that is none of the read tools gave. */
  const digest = (request: LangchainToolRequest, result: unknown): void => {
    const { id: callId, name, args } = request.toolCall, told = { callId, topLevel: conversationOf(request).isMain };
    const tool = { name, execute: (_: unknown) => contentOf(result, callId) };
    const facts = () => told as Partial<ReadCall>;
    waymark.wrapTools([tool], { names: [], facts, ...digests && { digests } })[0]!.execute(args);
  };

  return host.createMiddleware({
    name: "waymark",
    ...host.tool && { tools: [summarizeFile(host.tool, waymark, cwd)] },
    async wrapToolCall(request, next) {
      const { toolCall } = request, { id = "", name, args } = toolCall;
      sights.called(name);
      let stopped: { readonly error: unknown } | undefined; // what interrupts a run is not met twice
      const call = async (given: unknown): Promise<unknown> => {
        if (stopped) throw stopped.error;
        try {
          return await next(given === args ? request : { ...request, toolCall: { ...toolCall, args: given } });
        } catch (error) {
          if (isWayOut(error) || request.runtime?.signal?.aborted) stopped = { error };
          throw error;
        }
      };
      try {
        if (names.has(name)) {
          const result: unknown = await readerOf(name)(args, request, call);
          const isAnswer = result instanceof Answer;
          return isAnswer ? make({ content: result.content, tool_call_id: id, name, status: "success" }) : result;
        }
        const result = await call(args);
        quietly(() => digest(request, result));
        watch.look(args, result);
        return result;
      } catch (error) {
        if (toolErrors === "throw" || stopped || isOfHost(error)) throw error;
        return make({ content: `${error}\n Please fix your mistakes.`, tool_call_id: id, name, status: "error" });
      }
    },
    async wrapModelCall(request, next) {
      const session = sessionOf(request), { messages, tools, model, systemMessage: system } = request;
      quietly(() => sights.offered(tools));
      if (session && !failed.delete(session)) session.nextTurn(); // one that failed is made again in the same turn
      if (isEdited(request)) session?.reset();
      else session?.reconcile(messages);
      if (session) sent.set(session, remember(request.state?.messages));
      if (conversationOf(request).isMain) {
        quietly(() => compactor?.noteRequestSent({ messages, tools, model, system }));
      }
      try {
        return await next(request);
      } catch (error) {
        if (session) failed.add(session);
        throw error;
      }
    },
  });
}

/**
 * The same for `createDeepAgent`, whose `read_file` looks into a backend: its dialect, its results, its failures. Reads of
 * paths that are not absolute are left alone. A sub-agent has its own list of middleware, in which this one stands only where
 * it is put; one of mode `fork` has its parent's too.
 *
 * @throws {WaymarkError} with code `invalid-option` where the Waymark would look at this machine's disk and `files` does not say
 * that this is where the backend has its files.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { backendSource, deepagentsMiddleware } from "@waymark/waymark/adapters/langchain";
 * import { assertEquals } from "@std/assert";
 *
 * // In your program: import { FilesystemBackend } from "deepagents", import { createMiddleware, ToolMessage } from "langchain"
 * const backend = { readRaw: (_path: string) => ({ data: { content: "one\ntwo\n" } }) };
 * class ToolMessage { static isInstance = (_: unknown) => false; constructor(_: object) {} }
 *
 * const waymark = createWaymark({ source: backendSource(backend) });
 * const guard = deepagentsMiddleware({ createMiddleware: (hooks) => hooks, ToolMessage }, waymark);
 * assertEquals(guard.name, "waymark");
 * ```
 */
export function deepagentsMiddleware<Middleware>(
  host: LangchainHost<Middleware>,
  waymark: LangchainWaymark,
  options: DeepagentsOptions = {},
): Middleware {
  const { files, ...rules } = options;
  if (files !== "disk" && !waymark.source) {
    const next = 'createWaymark({ source: backendSource(backend) }), or files: "disk" where these are the disk\'s';
    const reason = `nothing says where the backend has its files; give ${next}`;
    throw new WaymarkError("invalid-option", `Cannot guard the reads of a deep agent: ${reason}`);
  }
  const own = { ...waymark, summarizeFileTool: () => summarizeAbsolute(waymark.summarizeFileTool()) };
  return langchainMiddleware(host, own, { ...rules, dialect: readFileDialect(), codec: readFileCodec });
}

/** The tool `summarize_file`, made by the host's own constructor. */
function summarizeFile(tool: NonNullable<LangchainHost<unknown>["tool"]>, waymark: LangchainWaymark, cwd?: string) {
  const { name, description, parameters, execute } = waymark.summarizeFileTool();
  const run = (args: SummarizeFileArguments, config?: { readonly signal?: unknown }) => {
    const signal = config?.signal;
    return execute(args, { signal: signal instanceof AbortSignal ? signal : undefined, cwd });
  };
  return tool(run, { name, description, schema: parameters });
}

/** What only looks on cannot fail a run. */
function quietly(action: () => void): void {
  try {
    action();
  } catch { /* a result or a compactor with faults of its own */ }
}

export { backendSource, type DeepagentsBackend } from "./langchain/deepagents.ts";
export type * from "./langchain/types.ts";
