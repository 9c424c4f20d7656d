/**
 * The AI SDK (`ai` 6 and 7): its tools guarded, its requests noted, its steps kept within a budget.
 *
 * ```ts ignore
 * const tools = aiTools({ read, bash }, waymark, { dialect: dialects.plain, session });
 * const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5"), middleware: aiRequests({ session }) });
 * await generateText({ model, tools: { ...tools, summarize_file: aiSummarizeFile(waymark) }, prompt, stopWhen });
 * ```
 *
 * Promised: a tool keeps everything but `execute` and `toModelOutput`; one without `execute` is the very same object. What is
 * added to a result stands in the output itself, so that a history that was stored is shown to a model as it was. Nothing of
 * the SDK is imported. Absent: tools that a provider executes, and models named by a string, which cannot be wrapped; calls
 * that a script makes, which the SDK does not tell apart: give those a tool that is not wrapped.
 *
 * @module
 */

import type { Waymark } from "../options.ts";
import type { Session } from "../session_types.ts";
import type { SummarizeFileArguments, SummarizeFileInfo } from "../summarize_file_types.ts";
import type { Codec, Dialect } from "../types.ts";
import type { ToolFunction, WrapToolsOptions } from "../wrap_types.ts";
import { codecOf, lastOf, modelOutput } from "./ai/output.ts";
import { tellMessages } from "./ai/requests.ts";

export {
  aiPrepareStep,
  type AiRequest,
  type AiRequests,
  aiRequests,
  type AiRequestsOptions,
  type AiStep,
  type AiUsage,
} from "./ai/requests.ts";

/** How one read tool is wrapped. */
export interface AiToolOptions extends Pick<WrapToolsOptions, "facts" | "streams"> {
  /** How its input says a read: of `dialects`, or made with `offsetLimit` and the like. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect: Dialect<any>;
  /** What the model calls it. Default: the first name the dialect knows. */
  readonly name?: string | undefined;
  /**
   * The conversation its results go to, which {@linkcode aiRequests} is to tell what is in each request. What the messages that
   * come with a call do not hold is never referred to either. Default: that of the `Waymark`, if it has one.
   */
  readonly session?: Session | undefined;
  /** How its output carries text and annotations. Default: strings, content parts, MCP results, and objects with text. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the host's result
  readonly codec?: Codec<any> | undefined;
}

/** How a tool set is wrapped. */
export interface AiToolsOptions extends Omit<AiToolOptions, "name"> {
  /** Names of the read tools. Default: the names the dialect knows. */
  readonly names?: readonly string[] | undefined;
}

/**
 * Wraps a whole tool set: its read tools in the guards, and every other tool for digests where the `Waymark` has `toolUse`.
 * It is for one conversation: a server makes it for each request, from the same tools.
 *
 * A tool that streams is never answered by a reference. Where its `execute` is a plain function that returns an async iterable
 * its last value alone is given; with `streams`, all.
 *
 * @example
 * ```ts
 * import { createSession, createWaymark, dialects } from "@waymark/waymark";
 * import { aiTools } from "@waymark/waymark/adapters/ai";
 * import { jsonSchema, tool } from "ai";
 * import { assertEquals } from "@std/assert";
 *
 * const read = tool({
 *   inputSchema: jsonSchema<{ path: string; limit?: number }>({ type: "object", properties: { path: { type: "string" } } }),
 *   execute: ({ path }) => `the text of ${path}`,
 * });
 * const waymark = createWaymark({ cache: false });
 * const tools = aiTools({ read }, waymark, { dialect: dialects.plain, session: createSession() });
 * assertEquals(await tools.read.execute({ path: "a.md" }, { toolCallId: "1", messages: [] } as never), "the text of a.md");
 * ```
 */
export function aiTools<Tools extends object>(
  tools: Tools,
  waymark: Pick<Waymark, "wrapTools">,
  options: AiToolsOptions,
): Tools {
  const { names = options.dialect.tools } = options;
  const all = waymark.wrapTools(tools, { ...sharedOf(options), names });
  for (const name of names) {
    if (!Object.hasOwn(tools, name)) continue;
    const tool = (tools as Record<string, object>)[name]!, value = aiTool(tool, waymark, { ...options, name });
    if (value !== tool) {
      Object.defineProperty(all, name, { value, enumerable: true, configurable: true, writable: true });
    }
  }
  return all;
}

/**
 * Wraps one read tool, the provider's own `textEditor` tools among them.
 *
 * @example
 * ```ts
 * import { createWaymark, dialects } from "@waymark/waymark";
 * import { aiTool } from "@waymark/waymark/adapters/ai";
 * import { assertEquals, assertStrictEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false });
 * const read = { description: "Reads a file.", execute: async ({ path }: { path: string }) => `the text of ${path}` };
 * assertEquals(await aiTool(read, waymark, { dialect: dialects.plain }).execute({ path: "a.md" }), "the text of a.md");
 * const search = { type: "provider", id: "openai.web_search" };
 * assertStrictEquals(aiTool(search, waymark, { dialect: dialects.plain }), search);
 * ```
 */
export function aiTool<Tool extends object>(
  tool: Tool,
  waymark: Pick<Waymark, "wrapTools">,
  options: AiToolOptions,
): Tool {
  const { name = options.dialect.tools[0] ?? "read", streams = false } = options;
  const { execute, toModelOutput } = (tool ?? {}) as AnyTool;
  if (typeof execute !== "function") return tool;
  const codec = options.codec ?? codecOf(tool);
  const wrapped = waymark.wrapTools({ [name]: tool }, { ...sharedOf(options), names: [name], codec })[name]!;
  if (wrapped === tool) return tool;
  const define = (key: keyof AnyTool, value: ToolFunction): void => {
    Object.defineProperty(wrapped, key, { value, enumerable: true, configurable: true, writable: true });
  };
  // To the SDK only what a plain function returns may be a stream, never what it promises.
  const isPlain = !streams && !/^Async/.test(String(Reflect.get(execute, Symbol.toStringTag)));
  define(
    "execute",
    new Proxy((wrapped as AnyTool).execute!, {
      apply(run, self, given) {
        tellMessages(options.session, given[1]);
        const result: unknown = Reflect.apply(run, self, given);
        return isPlain && result instanceof Promise ? result.then(lastOf) : result;
      },
    }),
  );
  if (typeof toModelOutput === "function") {
    define("toModelOutput", (given) => modelOutput(given, (asked) => Reflect.apply(toModelOutput, tool, [asked])));
  }
  return wrapped;
}

/** As much of a tool as is looked at. */
interface AnyTool {
  readonly execute?: ToolFunction;
  readonly toModelOutput?: ToolFunction;
}

function sharedOf({ dialect, session, facts, streams }: AiToolOptions): WrapToolsOptions {
  return {
    dialect,
    method: "execute",
    ...session && { session },
    ...facts && { facts },
    ...streams && { streams },
  };
}

/** The `summarize_file` tool, as the AI SDK takes tools. */
export interface AiSummarizeFile {
  /** What the model reads when it decides. */
  readonly description: string;
  /** What it takes, as a Standard Schema with its JSON schema. */
  readonly inputSchema: AiInputSchema;
  /** Runs it: 0 to 3 requests to a model; "lookup" never one. Rejects with an error that says what to do instead. */
  execute(args: SummarizeFileArguments, options?: SummarizeFileInfo): Promise<string>;
}

/** A Standard Schema of {@linkcode SummarizeFileArguments}. */
export interface AiInputSchema {
  /** As that standard has it. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: SummarizeFileArguments; readonly output: SummarizeFileArguments };
    readonly validate: (value: unknown) => { readonly value: SummarizeFileArguments };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

/**
 * The tool that gives a file's map, to be offered to the model as `summarize_file`.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { aiSummarizeFile } from "@waymark/waymark/adapters/ai";
 * import { asSchema, type ToolSet } from "ai";
 * import { assertEquals } from "@std/assert";
 *
 * const tools: ToolSet = { summarize_file: aiSummarizeFile(createWaymark({ cache: false })) };
 * const { required } = await asSchema(tools.summarize_file!.inputSchema).jsonSchema;
 * assertEquals(required, ["path"]);
 * ```
 */
export function aiSummarizeFile(waymark: Pick<Waymark, "summarizeFileTool">): AiSummarizeFile {
  const { description, parameters, execute } = waymark.summarizeFileTool();
  const schema = (): Record<string, unknown> => structuredClone(parameters); // the SDK writes into it
  return {
    description,
    inputSchema: {
      "~standard": {
        version: 1,
        vendor: "waymark",
        validate: (value) => ({ value: value as SummarizeFileArguments }), // the tool says what is wrong in better words
        jsonSchema: { input: schema, output: schema },
      },
    },
    execute: (args, options) => execute(args, options),
  };
}
