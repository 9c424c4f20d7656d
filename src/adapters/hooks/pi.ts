/**
 * Waymark in pi (`@earendil-works/pi-coding-agent` 1.x), as an extension by its events.
 *
 * Promised: no handler throws, as that would block the call; a result keeps its blocks, images, structured content and error
 * flag. Calls of scripts (codemode) are left alone: a map would corrupt their work.
 *
 * @module
 */

import { autoCodec } from "../../codecs.ts";
import { dialects } from "../../dialects.ts";
import type { SummarizeFileArguments } from "../../summarize_file_types.ts";
import type { Codec } from "../../types.ts";
import { type HookWaymark, type HostOptions, type HostReads, hostReads, rewrite } from "./host_reads.ts";

/** Options of {@linkcode piExtension}. */
export interface PiOptions extends HostOptions {
  /** Offer `summarize_file` to the model. Default true. */
  readonly summarizeFile?: boolean | undefined;
  /** Told of every request as the provider gets it. `createCompactor()` gives one. Default: nobody. */
  readonly compactor?: { noteRequestSent(request: PiRequest): void } | undefined;
}

/** A request as pi hands it to a provider: its own fields, as they go over the wire. */
export interface PiRequest {
  /** The tools, in the provider's words; absent where the request has none. */
  readonly tools?: unknown;
  /** The model's name. */
  readonly model?: unknown;
  /** The system prompt, where the provider has it apart from the messages. */
  readonly system?: unknown;
  /** The messages. */
  readonly messages?: unknown;
}

/** A block of a tool's result in pi. */
export type PiBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string };

/** The part of pi's context that is used. */
export interface PiContext {
  /** The folder relative paths start from. */
  cwd: string;
  /** The caller's abort. */
  signal: AbortSignal | undefined;
  /** Which conversation it is. */
  sessionManager: { getSessionId(): string };
}

/** A call that is about to be made. */
export interface PiToolCall {
  /** The tool. */
  toolName: string;
  /** The call. */
  toolCallId: string;
  /** The call that made it, where a tool did. */
  parentToolCallId?: string | undefined;
  /** Its arguments; what is changed in them is what the tool gets. */
  input: object;
}

/** A result that came back. */
export interface PiToolResult extends PiToolCall {
  /** What the model sees of it. */
  content: PiBlock[];
  /** What scripts see of it. */
  structuredContent?: unknown;
  /** The tool failed. */
  isError: boolean;
}

/** What becomes of a result. */
export interface PiToolResultChange {
  /** What the model sees of it. */
  content: PiBlock[];
  /** What scripts see of it. */
  // deno-lint-ignore no-explicit-any -- any JSON, in the host's own type for it
  structuredContent?: any;
}

/** A tool as pi registers it. */
export interface PiTool {
  /** Its name. */
  name: string;
  /** Its name for people. */
  label: string;
  /** What the model reads when it decides. */
  description: string;
  /** One line for the system prompt. */
  promptSnippet: string;
  /** JSON schema of the arguments. */
  // deno-lint-ignore no-explicit-any -- a schema of the host's own kind, of which a JSON schema is one
  parameters: any;
  /** It changes nothing. */
  annotations: { readOnlyHint: boolean };
  /** Runs it. */
  execute(
    toolCallId: string,
    // deno-lint-ignore no-explicit-any -- what the schema says
    args: any,
    signal: AbortSignal | undefined,
    onUpdate: unknown,
    context: { cwd: string },
  ): Promise<{ content: { type: "text"; text: string }[]; details: undefined }>;
}

/** The part of pi's extension API that is used. */
export interface PiApi {
  /** Before a call. */
  on(event: "tool_call", handler: (event: PiToolCall, context: PiContext) => Promise<void>): unknown;
  /** After a call. */
  on(
    event: "tool_result",
    handler: (event: PiToolResult, context: PiContext) => Promise<PiToolResultChange | undefined>,
  ): unknown;
  /** When all of a call is over. */
  on(event: "tool_execution_end", handler: (event: { toolCallId: string }) => void): unknown;
  /** Before a request, with all that is in it. */
  on(
    event: "context_with_system",
    handler: (event: { messages: readonly object[] }, context: PiContext) => Promise<void>,
  ): unknown;
  /** Before a request, as the provider gets it. */
  on(event: "before_provider_request", handler: (event: { payload: unknown }) => Promise<void>): unknown;
  /** Before a conversation goes on in another one. */
  on(event: "session_before_fork", handler: (event: unknown, context: PiContext) => Promise<void>): unknown;
  /** When a conversation begins. */
  on(event: "session_start", handler: (event: { reason: string }, context: PiContext) => Promise<void>): unknown;
  /** Offers a tool to the model. */
  registerTool(tool: PiTool): void;
}

/** pi's own last words under a text that goes on, which are no line of the file. */
const FOOTER =
  /\n\n\[(?:\d+ more lines in file|Showing lines \d+-\d+ of \d+(?: \([^)\n]*\))?)\. Use offset=\d+ to continue\.\]$/;
/** pi's words in place of a line that is too long. */
const INSTEAD = /^\[Line \d+ is [^\n]*\]$/;

/** Blocks of which one is the file's text, without pi's own words. */
const piCodec: Codec = {
  ...autoCodec,
  text(result) {
    const text = autoCodec.text(result);
    return text === undefined || INSTEAD.test(text) ? undefined : text.replace(FOOTER, "");
  },
};

/**
 * Waymark as an extension for pi: `export default piExtension(waymark)` in a file of `.pi/extensions/`, or in the
 * `extensionFactories` of a `DefaultResourceLoader`.
 *
 * Every request of pi's is seen, so lines are referred to only while they stand in it: compaction, forks and the tree need no
 * word of their own. Where an extension loaded later puts another list of messages in place of the request's, that is not seen.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { piExtension } from "@waymark/waymark/adapters/hooks";
 *
 * const waymark = createWaymark({ cache: false });
 * const extension = piExtension(waymark);
 * const names: string[] = [];
 * extension({ on: (event: string) => names.push(event), registerTool: ({ name }) => names.push(name) });
 * console.log(names.join(" "));
 * ```
 */
export function piExtension(waymark: HookWaymark, options: PiOptions = {}): (pi: PiApi) => void {
  const host = hostReads(waymark, { dialect: dialects.pi, codec: piCodec }, options);
  let forkedFrom: string | undefined;
  return (pi) => {
    watchReads(pi, host);
    pi.on(
      "context_with_system",
      ({ messages }, context) => host.guard(() => host.request(idOf(context), () => messages)),
    );
    pi.on("session_before_fork", (_, context) => host.guard(() => void (forkedFrom = idOf(context))));
    pi.on("session_start", ({ reason }, context) =>
      host.guard(() => {
        if (reason === "fork" && forkedFrom !== undefined) host.fork(forkedFrom, idOf(context));
        forkedFrom = undefined;
      }));
    const { compactor, summarizeFile = true } = options;
    if (compactor) {
      pi.on(
        "before_provider_request",
        ({ payload }) => host.guard(() => compactor.noteRequestSent(payload as PiRequest)),
      );
    }
    const tool = summarizeFile ? waymark.summarizeFileTool?.() : undefined;
    if (!tool) return;
    const { name, description, listing, parameters } = tool;
    pi.registerTool({
      name,
      label: name,
      description,
      promptSnippet: listing,
      parameters,
      annotations: { readOnlyHint: true },
      async execute(_id, args: SummarizeFileArguments, signal, _update, { cwd }) {
        return { content: [{ type: "text", text: await tool.execute(args, { signal, cwd }) }], details: undefined };
      },
    });
  };
}

/** The events of a call. */
function watchReads(pi: PiApi, host: HostReads): void {
  const { reads } = host;
  pi.on("tool_call", ({ toolName, toolCallId: callId, parentToolCallId, input }, context) =>
    host.guard(async () => {
      if (parentToolCallId !== undefined || !host.isRead(toolName)) return;
      const { cwd, signal } = context, told = { callId, tool: toolName, cwd, topLevel: true };
      const facts = { ...host.factsOf(idOf(context)), ...told };
      rewrite(input, await reads.begin(input, signal ? { ...facts, signal } : facts));
    }));
  pi.on("tool_result", (event, context) =>
    host.guard(async () => {
      const { toolName: tool, toolCallId: callId, parentToolCallId, input: args, content, isError } = event;
      if (parentToolCallId !== undefined) return undefined;
      const silent = !content.some(({ type }) => type === "text"); // an image stays alone
      const verdict = await reads.finish(callId, { result: content, failed: isError, silent });
      if (!verdict?.replaces) host.accept(idOf(context), { callId, tool, result: content, args, topLevel: true });
      if (!verdict) return undefined;
      const block: PiBlock = { type: "text", text: verdict.text }, { structuredContent } = event;
      return { content: verdict.replaces ? [block] : [...content, block], structuredContent };
    }));
  // A call that was blocked, or aborted before it ran, has no result.
  pi.on("tool_execution_end", ({ toolCallId }) => reads.drop(toolCallId));
}

function idOf({ sessionManager }: PiContext): string {
  return sessionManager.getSessionId();
}
