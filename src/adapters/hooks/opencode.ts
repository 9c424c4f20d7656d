/**
 * Waymark in opencode (`@opencode-ai/plugin` 1.18), as a plugin by its hooks.
 *
 * Promised: no hook throws, as that would fail the call. opencode calls no hook after a tool that failed: what there is to say of
 * it goes into the next request. Where arguments are changed at once, the model sees them as they were changed.
 *
 * @module
 */

import { autoCodec, mcpCodec } from "../../codecs.ts";
import { dialects } from "../../dialects.ts";
import type { HookVerdict } from "../../hooked.ts";
import type { Codec } from "../../types.ts";
import { type HookWaymark, type HostOptions, type HostReads, hostReads, keep, rewrite } from "./host_reads.ts";
import { failuresIn, type OpencodeMessage, resultsIn } from "./opencode_messages.ts";
import { type OpencodeSchema, type OpencodeTool, summarizeTool } from "./opencode_tool.ts";

/** Options of {@linkcode opencodeHooks}. */
export interface OpencodeOptions extends HostOptions {
  /** The folder relative paths start from: the `directory` a plugin is given. Default: the process's working directory. */
  readonly directory?: string | undefined;
  /** `tool.schema` of `@opencode-ai/plugin`: `summarize_file` is offered to the model. Default: it is not. */
  readonly schema?: OpencodeSchema | undefined;
}

/** The hooks, for a plugin to return. */
export interface OpencodeHooks {
  /** Before a call: its arguments are changed in place. */
  "tool.execute.before"(
    input: { tool: string; sessionID: string; callID: string },
    // deno-lint-ignore no-explicit-any -- the arguments of any tool
    output: { args: any },
  ): Promise<void>;
  /** After a call that did not fail: its output is changed in place. */
  "tool.execute.after"(
    // deno-lint-ignore no-explicit-any -- the arguments of any tool
    input: { tool: string; sessionID: string; callID: string; args: any },
    // deno-lint-ignore no-explicit-any -- an MCP tool's result comes here too
    output: { title: string; output: string; metadata: any },
  ): Promise<void>;
  /** Before a request: what is in it is looked at. */
  "experimental.chat.messages.transform"(input: object, output: { messages: OpencodeMessage[] }): Promise<void>;
  /** What happens elsewhere: which conversations there are. */
  event(input: { event: { type: string; properties?: unknown } }): Promise<void>;
  /** `summarize_file`, where a schema was given. */
  tool?: { [name: string]: OpencodeTool };
}

/** opencode's frame around a file, up to its first line. */
const HEAD = /^<path>[^\n]*<\/path>\n<type>file<\/type>\n<content>\n/;

/** The lines of a file in opencode's frame, without their numbers; other texts as they are. */
function fileText(output: string): string | undefined {
  const head = HEAD.exec(output)?.[0];
  if (head === undefined) return autoCodec.text(output);
  const lines = output.slice(head.length).split("\n"), from = Number.parseInt(lines[0]!);
  const bare: string[] = [];
  for (const [at, line] of lines.entries()) {
    const gutter = `${from + at}: `;
    if (!line.startsWith(gutter)) break; // a blank line, then opencode's own words
    bare.push(line.slice(gutter.length));
  }
  return bare.length ? `${bare.join("\n")}\n` : undefined;
}

/** What a call gave: opencode's own tools and a plugin's give `output`, MCP tools `content`. */
interface Output {
  output?: unknown;
  content?: unknown;
  attachments?: unknown;
}

/** Whether any block of an MCP tool's result is text. */
function hasText(content: unknown): boolean {
  return Array.isArray(content) && content.some((block) => block?.type === "text");
}

function hasAny(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** opencode's own results, and those of MCP tools, which come as they are. */
const opencodeCodec: Codec = {
  text(result) {
    const { output, content } = result as Output;
    if (typeof output === "string") return fileText(output);
    return Array.isArray(content) ? mcpCodec.text(result) : undefined;
  },
  failed: (result) => mcpCodec.failed!(result),
  annotate: (result) => result,
};

/**
 * Waymark as the hooks of an opencode plugin, in a file of `.opencode/plugin/`:
 * `export const Waymark = async ({ directory }) => opencodeHooks(waymark, { directory, schema: tool.schema })`.
 *
 * Every request of opencode's is seen, so lines are referred to only while they stand in it, whatever other plugins take out.
 * Sub-agents have conversations of their own. opencode 1.18 brings a Bun without `node:sqlite`: maps are kept in memory.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { opencodeHooks } from "@waymark/waymark/adapters/hooks";
 * import { assertEquals } from "@std/assert";
 *
 * const hooks = opencodeHooks(createWaymark({ cache: false }));
 * const output = { args: { filePath: "short.ts", limit: 50 } };
 * await hooks["tool.execute.before"]({ tool: "read", sessionID: "ses_1", callID: "call_1" }, output);
 * assertEquals(output.args.limit, 50);
 * ```
 */
export function opencodeHooks(waymark: HookWaymark, options: OpencodeOptions = {}): OpencodeHooks {
  const { directory, schema } = options;
  const host = hostReads(waymark, { dialect: dialects.opencode, codec: opencodeCodec }, options);
  const begun = new Map<string, Begun>(); // calls that have no result yet
  const notices = new Map<string, string>(); // what there is to say of calls that failed
  const topLevel = new Map<string, boolean>(); // which conversations are no sub-agent's
  const tool = schema && waymark.summarizeFileTool?.();
  return {
    "tool.execute.before": (call, output) =>
      host.guard(async () => {
        const { tool, sessionID, callID: callId } = call, { args } = output;
        if (!host.isRead(tool) || isNested(callId)) return;
        const abort = new AbortController(), { signal } = abort, cwd = directory;
        keep(begun, [callId, { sessionID, abort }]);
        const level = topLevel.get(sessionID), told = { callId, tool, ...level !== undefined && { topLevel: level } };
        const facts = { ...host.factsOf(sessionID), ...told, signal, ...cwd !== undefined && { cwd } };
        rewrite(args, await host.reads.begin(args, facts));
      }),
    "tool.execute.after": (call, output) =>
      host.guard(async () => {
        const { tool, sessionID, callID: callId, args } = call;
        if (isNested(callId)) return;
        begun.delete(callId);
        const { output: text, content, attachments } = output as Output, result = text ?? content;
        const silent = text === undefined ? !hasText(content) : text === "" && hasAny(attachments);
        const verdict = await host.reads.finish(callId, { result: output, silent });
        if (verdict) put(verdict, output);
        if (!verdict?.replaces) {
          host.accept(sessionID, { callId, tool, result, args, topLevel: topLevel.get(sessionID) });
        }
      }),
    "experimental.chat.messages.transform": (_, output) =>
      host.guard(async () => {
        const { messages } = output;
        const { sessionID } = (messages.at(-1)?.info ?? {}) as { sessionID?: unknown };
        if (typeof sessionID !== "string") return;
        host.request(sessionID, () => messages.flatMap(resultsIn));
        const failed = messages.flatMap(failuresIn);
        for (const [callId, call] of begun) {
          if (call.sessionID !== sessionID) continue;
          begun.delete(callId);
          const verdict = await failedRead(host, callId, failed.find(({ callID }) => callID === callId)?.state.error);
          if (verdict) keep(notices, [callId, verdict.text]);
        }
        for (const { callID, state } of failed) {
          const notice = notices.get(callID);
          if (notice !== undefined && !state.error.endsWith(notice)) state.error = `${state.error}\n\n${notice}`;
        }
      }),
    event: (input) =>
      host.guard(() => {
        const { type, properties } = input.event, { info, sessionID } = (properties ?? {}) as Happening;
        if (type === "session.idle") {
          for (const call of begun.values()) if (call.sessionID === sessionID) call.abort.abort();
        }
        if (!type.startsWith("session.") || typeof info?.id !== "string") return;
        if (type !== "session.deleted") return keep(topLevel, [info.id, info.parentID === undefined]);
        topLevel.delete(info.id);
        host.forget(info.id);
      }),
    ...tool && { tool: { [tool.name]: summarizeTool(tool, schema) } },
  };
}

/** A call that has no result yet. */
interface Begun {
  readonly sessionID: string;
  /** For its signal: opencode gives its hooks none, and says only when a conversation rests. */
  readonly abort: AbortController;
}

/** What an event tells of a conversation. */
interface Happening {
  readonly info?: { readonly id?: string; readonly parentID?: string };
  readonly sessionID?: string;
}

/** The words of a call that was not made: there is nothing to make again. */
const UNDONE = /\b(?:permission|rejected|prevents|aborted|cancelled|interrupted)\b/i;

/** A read that no hook was called for after it: opencode calls none where a tool fails. */
async function failedRead(
  host: HostReads,
  callId: string,
  error: string | undefined,
): Promise<HookVerdict | undefined> {
  if (error === undefined || UNDONE.test(error)) return void host.reads.drop(callId);
  return await host.reads.finish(callId, { failed: true, error });
}

/** A call that a script of opencode's code mode makes: its id is that of the script's own call, with a number. */
function isNested(callId: string): boolean {
  return /\/\d+$/.test(callId);
}

/** Puts what there is to say into an output, or in its place. */
function put({ text, annotations, replaces }: HookVerdict, output: Output): void {
  if (typeof output.output === "string") output.output = replaces ? text : `${output.output}\n\n${text}`;
  else if (replaces) output.content = [{ type: "text", text }];
  else Object.assign(output, mcpCodec.annotate(output, annotations));
}
