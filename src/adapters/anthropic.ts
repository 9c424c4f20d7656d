/**
 * The Anthropic SDK's tool runner: its read tools guarded, its other tools seen for digests, its requests told to a session and
 * a compactor, and `summarize_file` as one of its tools.
 *
 * ```ts
 * import { createSession, createWaymark } from "@waymark/waymark";
 * import { anthropicSummarizeFile, anthropicTools, followRunner } from "@waymark/waymark/adapters/anthropic";
 * import Anthropic from "@anthropic-ai/sdk";
 * import { betaReadTool } from "@anthropic-ai/sdk/tools/agent-toolset/node";
 *
 * const client = new Anthropic({ apiKey: "a key of yours" }), workdir = "."; // give workdir as an absolute path
 * const session = createSession(), waymark = createWaymark({ session, roots: [workdir] });
 * const tools = anthropicTools([betaReadTool({ workdir }), anthropicSummarizeFile(waymark)], waymark, { workdir });
 * const runner = client.beta.messages.toolRunner({
 *   model: "claude-opus-5-5",
 *   max_tokens: 4096,
 *   messages: [{ role: "user", content: "What is in src/parser.ts?" }],
 *   tools,
 * });
 * followRunner(runner, { session }); // then `await runner`, or `for await` over it
 * ```
 *
 * Promised: a tool keeps everything but what it returns of a long or a repeated read; its errors are its own; a call that is no
 * read of a file, such as `view` of a folder, goes on as asked, and so does one that a script makes. Nothing here throws into a
 * run. Absent: the session runner of
 * managed agents as a place for references, as nobody there tells what leaves the conversation; toolsets, which read no files.
 *
 * @module
 */

import { dialects } from "../dialects.ts";
import type { Waymark } from "../options.ts";
import type { Session } from "../session_types.ts";
import type { SummarizeFileArguments } from "../summarize_file_types.ts";
import type { Dialect, ReadCall } from "../types.ts";
import type { ToolFunction, WrapToolsOptions } from "../wrap_types.ts";

/** A tool that the runner runs, as far as it matters here. */
export interface AnthropicTool {
  /** The name the model calls it by. */
  readonly name: string;
  /** What the runner calls with parsed arguments. */
  readonly run: ToolFunction;
}

/** How tools are guarded. */
export interface AnthropicToolOptions {
  /**
   * How the arguments of a read tool of your own say a read. Default: the SDK's own tools are known, which are `betaReadTool`,
   * the text editor's `view` and, with `memory`, the memory tool's.
   */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect?: Dialect<any> | undefined;
  /** The names of the tools that speak `dialect`. Default: those the dialect knows. */
  readonly names?: readonly string[] | undefined;
  /**
   * The folder a relative path starts from, as `betaReadTool` is given it. Default: the working directory. Have it among the
   * `roots` of the Waymark: a long file elsewhere would be mapped before the tool refuses it.
   */
  readonly workdir?: string | undefined;
  /**
   * The folder that the memory tool keeps its `memories` folder in, as `BetaLocalFilesystemMemoryTool` is given it. Default:
   * none, and the memory tool's reads are left alone: where `/memories` is, only its handlers know.
   */
  readonly memory?: string | undefined;
  /** The conversation the results go to. Default: that of the Waymark. */
  readonly session?: Session | undefined;
}

/**
 * Guards one read tool: the same tool, annotated. One that is not known and has no `dialect` is taken to be called with
 * `{path, offset?, limit?}`.
 *
 * @example
 * ```ts
 * import { createWaymark, dialects } from "@waymark/waymark";
 * import { anthropicTool } from "@waymark/waymark/adapters/anthropic";
 * import { assertEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false });
 * const open = { name: "open", run: (args: { file_path: string }) => `the text of ${args.file_path}` };
 * const guarded = anthropicTool(open, waymark, { dialect: dialects.anthropicRead });
 * assertEquals(await guarded.run({ file_path: "a.ts" }), "the text of a.ts");
 * await waymark.close();
 * ```
 */
export function anthropicTool<Tool extends AnthropicTool>(
  tool: Tool,
  waymark: Pick<Waymark, "wrapTools">,
  options: AnthropicToolOptions = {},
): Tool {
  const speaks = options.dialect ?? known(tool, options) ?? (isMemory(tool) ? undefined : dialects.plain);
  return guarded(tool, waymark, { ...options, speaks });
}

/**
 * Guards the read tools among the tools of a request. The others are the very same objects; of a Waymark with `toolUse` they
 * are seen for digests.
 *
 * @example
 * ```ts
 * import { createWaymark, dialects } from "@waymark/waymark";
 * import { anthropicTools } from "@waymark/waymark/adapters/anthropic";
 * import { assertStrictEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false });
 * const open = { name: "open", run: (args: { file_path: string }) => `the text of ${args.file_path}` };
 * const search = { type: "web_search_20250305", name: "web_search" };
 * const tools = anthropicTools([open, search], waymark, { dialect: dialects.anthropicRead, names: ["open"] });
 * assertStrictEquals(tools[1], search);
 * await waymark.close();
 * ```
 */
export function anthropicTools<Tools extends readonly object[]>(
  tools: Tools,
  waymark: Pick<Waymark, "wrapTools">,
  options: AnthropicToolOptions = {},
): Tools {
  const names = options.names ?? options.dialect?.tools ?? [];
  let found = 0;
  const wrapped = tools.map((tool) => {
    if (!isRunnable(tool)) return tool; // run by the API, or a toolset
    const speaks = names.includes(tool.name) ? options.dialect ?? dialects.plain : known(tool, options);
    if (speaks) found++;
    return guarded(tool, waymark, { ...options, speaks });
  });
  // Asked of no tools, so that it is said where everything else is said.
  if (!found && !options.names) waymark.wrapTools([], { names: [...names, ...OWN_TOOLS] });
  return wrapped as unknown as Tools;
}

/** The SDK's own read tools. */
const OWN_TOOLS = ["read", "str_replace_based_edit_tool"];

/** One tool, wrapped for the guards where it is known how it is spoken to, else for digests alone. */
function guarded<Tool extends AnthropicTool>(
  tool: Tool,
  waymark: Pick<Waymark, "wrapTools">,
  { speaks, workdir, memory, session }: AnthropicToolOptions & { readonly speaks: Dialect | undefined },
): Tool {
  const cwd = isMemory(tool) ? memory : workdir;
  const facts = (context?: unknown): Partial<ReadCall> => {
    const { toolUse, signal } = (context ?? {}) as AnthropicContext, caller = toolUse?.caller?.type ?? "direct";
    return {
      ...typeof toolUse?.id === "string" && { callId: toolUse.id },
      ...caller !== "direct" && { programmatic: true }, // a script gets what it asks for
      ...signal instanceof AbortSignal && { signal },
      ...cwd !== undefined && { cwd },
    };
  };
  const options: WrapToolsOptions = {
    names: speaks ? [tool.name] : [],
    method: "run",
    facts,
    ...speaks && { dialect: speaks },
    ...session && { session },
  };
  return waymark.wrapTools([tool], options)[0]!;
}

/** What the runner passes beside the arguments, as far as it is looked at. */
interface AnthropicContext {
  readonly toolUse?: { readonly id?: unknown; readonly caller?: { readonly type?: unknown } | null };
  readonly signal?: unknown;
}

function isRunnable(tool: object): tool is AnthropicTool {
  const { name, run } = tool as Partial<AnthropicTool>;
  return typeof name === "string" && typeof run === "function";
}

function isMemory(tool: object): boolean {
  return /^memory_\d/.test(String((tool as { type?: unknown }).type));
}

/** How a tool of the SDK's own is spoken to. Its name alone does not tell: others have a tool called `read`. */
function known(tool: AnthropicTool, { memory }: AnthropicToolOptions): Dialect | undefined {
  const { type, input_schema } = tool as { type?: unknown; input_schema?: { properties?: unknown } };
  if (isMemory(tool)) return memory === undefined ? undefined : memories;
  if (/^text_editor_\d/.test(String(type))) return dialects.textEditor;
  const properties = Object(input_schema?.properties);
  const isRead = dialects.anthropicRead.tools.includes(tool.name);
  return isRead && "file_path" in properties && "view_range" in properties ? dialects.anthropicRead : undefined;
}

/** The memory tool: `/memories/notes.md` is no path of this machine, but `memories/notes.md` in the folder of the memory. */
const memories: Dialect = {
  tools: ["memory"],
  parse(args) {
    const span = dialects.textEditor.parse(args);
    const isInside = span && /^\/memories\/./.test(span.path) && !span.path.split(/[/\\]/).includes("..");
    return isInside ? { ...span, path: span.path.slice(1) } : undefined;
  },
  apply: (args, span) => dialects.textEditor.apply(args, span),
  describe: (start, count) => dialects.textEditor.describe(start, count),
};

/** `summarize_file` as a tool of the runner. */
export interface AnthropicSummarizeFile {
  /** A tool of the caller's own. */
  readonly type: "custom";
  /** `summarize_file`. */
  readonly name: "summarize_file";
  /** What the model reads when it decides. */
  readonly description: string;
  /** JSON schema of its arguments. */
  readonly input_schema: { type: "object"; [keyword: string]: unknown };
  /** Leaves the arguments as they are: the tool checks them itself. */
  parse(args: unknown): SummarizeFileArguments;
  /** Gives the map of a file. Rejects with an error that says what to do instead, which the runner shows to the model. */
  run(args: SummarizeFileArguments, context?: { readonly signal?: AbortSignal | null | undefined }): Promise<string>;
}

/**
 * Makes the `summarize_file` tool for the runner.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { anthropicSummarizeFile } from "@waymark/waymark/adapters/anthropic";
 * import { assertEquals } from "@std/assert";
 *
 * const tool = anthropicSummarizeFile(createWaymark({ cache: false }));
 * assertEquals([tool.name, tool.input_schema.type], ["summarize_file", "object"]);
 * ```
 */
export function anthropicSummarizeFile(
  waymark: Pick<Waymark, "summarizeFileTool">,
  options: Pick<AnthropicToolOptions, "workdir"> = {},
): AnthropicSummarizeFile {
  const { name, description, parameters, execute } = waymark.summarizeFileTool();
  return {
    type: "custom",
    name,
    description,
    input_schema: { ...parameters, type: "object" },
    parse: (args) => args as SummarizeFileArguments,
    run: (args, context) => execute(args, { signal: context?.signal, cwd: options.workdir }),
  };
}

export { followRunner, noteRequest } from "./anthropic/requests.ts";
export type { AnthropicRequest, AnthropicRequestOptions, AnthropicRunner } from "./anthropic/requests.ts";
