/**
 * What the adapter needs of LangChain, and what it takes. Types only.
 *
 * @module
 */

import type { Waymark } from "../../options.ts";
import type { Session } from "../../session_types.ts";
import type { Codec, Dialect } from "../../types.ts";
import type { ToolWatcher } from "../../wrap_types.ts";

/** LangChain's own constructors, as the package `langchain` exports them. */
export interface LangchainHost<Middleware> {
  /** `createMiddleware`. */
  readonly createMiddleware: (config: LangchainHooks) => Middleware;
  /** `ToolMessage`. */
  readonly ToolMessage: ToolMessageClass;
  /**
   * `tool`. Where it is given, the agent gets the tool `summarize_file`. That looks where the Waymark looks: rules of the host
   * about who may read what (`permissions` of deepagents) are to be in its `roots` or `source` too.
   */
  // deno-lint-ignore no-explicit-any -- overloads of the host's own
  readonly tool?: ((run: any, fields: any) => any) | undefined;
}

/** LangChain's class `ToolMessage`. */
export interface ToolMessageClass {
  /** Makes one. */
  // deno-lint-ignore no-explicit-any -- the host's own fields and messages
  new (fields: any): any;
  /** Whether a value is one, of whatever copy of the package. */
  isInstance(value: unknown): boolean;
}

/** What `createMiddleware` is given. */
export interface LangchainHooks {
  /** `waymark`. */
  readonly name: string;
  /** The tools it brings. */
  // deno-lint-ignore no-explicit-any -- tools of the host's own making
  readonly tools?: any;
  /** Around a call of a tool. */
  // deno-lint-ignore no-explicit-any -- the host's own results
  wrapToolCall(request: LangchainToolRequest, next: (request: any) => any): Promise<any>;
  /** Around a request to the model. */
  // deno-lint-ignore no-explicit-any -- the host's own results
  wrapModelCall(request: LangchainModelRequest, next: (request: any) => any): Promise<any>;
}

/** What LangChain tells of a run beside a call or a request, as far as it is used. */
export interface LangchainRun {
  /** The run. */
  readonly runtime?: {
    readonly signal?: AbortSignal | undefined;
    readonly configurable?: { readonly [name: string]: unknown } | undefined;
  } | undefined;
  /** The state of the agent. */
  readonly state?: { readonly messages?: readonly unknown[] | undefined } | undefined;
}

/** A call of a tool, as far as it is used. */
export interface LangchainToolRequest extends LangchainRun {
  /** The call. */
  readonly toolCall: {
    readonly id?: string | undefined;
    readonly name: string;
    readonly args: Record<string, unknown>;
  };
}

/** A request to the model, as far as it is used. */
export interface LangchainModelRequest extends LangchainRun {
  /** The messages. */
  readonly messages: readonly unknown[];
  /** The tools. */
  readonly tools?: unknown;
  /** The model. */
  readonly model?: unknown;
  /** What it is told beside them. */
  readonly modelSettings?: unknown;
  /** The system message. */
  readonly systemMessage?: unknown;
}

/** What both middlewares take. */
export interface LangchainRules {
  /**
   * The conversation of the agent itself, where it has only one; `false`: none is kept, and nothing refers back. Default: one
   * for each `thread_id`, else for each first message. Sub-agents have their own in any case.
   */
  readonly session?: Session | false | undefined;
  /** Told of every request of the agent itself: a compactor of `./compaction`, or what has its method. */
  readonly compactor?: { noteRequestSent(request: Record<string, unknown>): void } | undefined;
  /** Sees what every other tool returns. Default: the Waymark's `toolUse`, if it has one. */
  readonly digests?: ToolWatcher | undefined;
  /**
   * What becomes of a tool that throws: a message for the model, as it does without any middleware, or `"throw"`, where other
   * middleware around this one handles it (`toolRetryMiddleware`, `toolErrorMiddleware`). Default `"message"`.
   */
  readonly toolErrors?: "message" | "throw" | undefined;
}

/** Options of `langchainMiddleware`. */
export interface LangchainOptions extends LangchainRules {
  /** How the arguments of the read tools say a read. Default `{path, offset?, limit?}`, 1-based. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect?: Dialect<any> | undefined;
  /** Names of the read tools; none of them, where there is none. Default: the names the dialect knows. */
  readonly names?: readonly string[] | undefined;
  /** How the content of a read tool's message carries text. Default: strings and content blocks. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the content
  readonly codec?: Codec<any> | undefined;
  /** The folder relative paths start from, as the read tools take them. Default: the process's working directory. */
  readonly cwd?: string | undefined;
}

/** Options of `deepagentsMiddleware`. */
export interface DeepagentsOptions extends LangchainRules {
  /**
   * `"disk"`: the agent's files are those of this machine under the same paths, as with a `LocalShellBackend`, or a
   * `FilesystemBackend` without `virtualMode`. Default: where the Waymark's `source` says, which must then be given.
   */
  readonly files?: "disk" | undefined;
  /** Names of the read tools, if they are others that take and give the same; none, where there is none. Default `read_file`. */
  readonly names?: readonly string[] | undefined;
}

/** The part of a `Waymark` the adapter needs. */
export type LangchainWaymark = Pick<Waymark, "wrap" | "wrapTools" | "summarizeFileTool" | "source">;
