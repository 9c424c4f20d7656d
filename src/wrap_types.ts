/**
 * A host's tools, wrapped and not, and how they are wrapped. Types only.
 *
 * @module
 */

import type { Session } from "./session_types.ts";
import type { Codec, Dialect, ReadCall } from "./types.ts";

/** A tool as hosts have them: a function of arguments and whatever else the host passes. */
// deno-lint-ignore no-explicit-any -- a host's argument and result types are its own
export type ToolFunction = (this: any, args: any, ...rest: any[]) => any;

/** A wrapped tool: the same, but for a plain result, which comes as a promise. */
export type Wrapped<Tool extends ToolFunction> = 0 extends 1 & ReturnType<Tool> ? Tool // a result of type any
  : ReturnType<Tool> extends Promise<unknown> | AsyncGenerator | Generator ? Tool
  : Pick<Tool, keyof Tool> & ((...args: Parameters<Tool>) => Promise<Awaited<ReturnType<Tool>>>);

/** How a tool is wrapped. */
export interface WrapOptions {
  /** How its arguments say a read. Default `{path, offset?, limit?}`, 1-based. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect?: Dialect<any>;
  /** How its result carries text and annotations. Default: strings, text blocks, MCP results and objects. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the host's result
  readonly codec?: Codec<any>;
  /** The host's name for it. Default: the tool's own `name`. */
  readonly name?: string;
  /**
   * Facts of the call from what the host passes beside the arguments. Default: the usual names (`toolCallId`, `tool_use_id`,
   * `callId`, `toolUse.id`, `toolCall.id` and the like, `topLevel`, an agent's id, which means a sub-agent, in any of it; and
   * `abortSignal`, `signal`, `sessionId`, `session`, `cwd`, `programmatic`, `fresh` in the first object).
   */
  readonly facts?: (...rest: unknown[]) => Partial<ReadCall>;
  /** The tool is a plain function that returns an async iterable: the wrapped one does too, at once. Default false. */
  readonly streams?: boolean;
  /** The conversation its results go to. Default: of a `Waymark`, its own; else none. */
  readonly session?: Session;
  /** Told what a layer or codec threw, and that no tool to wrap was found. Default: nobody; of a `Waymark`, `onNotice`. */
  readonly onError?: (error: unknown) => void;
}

/** A tool that is a method: it may be called on its wrapping. */
export interface CalledOptions extends WrapOptions {
  /** The `this` the tool gets for the `this` the host called with. */
  readonly owner: (self: unknown) => unknown;
}

/** How the tools of a registry are found and wrapped. */
export interface WrapToolsOptions extends WrapOptions {
  /** Names of the read tools. Default: the names the dialect knows. */
  readonly names?: readonly string[];
  /** The property of a tool object that is called. Default: the first there of execute, run, invoke, handler, call, func. */
  readonly method?: string;
  /**
   * Sees what every other tool returns: what `toolUseSummary` of `./tool-use` gives. The results of read tools are for the
   * middleware to see. Default: of a `Waymark` with `toolUse`, that; else none, and every other tool is the very same object.
   */
  readonly digests?: ToolWatcher | undefined;
}

/** Sees what tools return, and leaves it alone. */
export interface ToolWatcher {
  /** The same function with the same results. What it cannot see, it gives back as it is. */
  wrap<Tool extends ToolFunction>(tool: Tool, options?: WatchedTool): Tool;
}

/** What is known of a tool that is watched. */
export interface WatchedTool {
  /** The host's name for it. Default: the tool's own `name`. */
  readonly name?: string | undefined;
  /** Facts of a call from what the host passes beside the arguments, as in {@linkcode WrapOptions}. */
  readonly facts?: ((...rest: unknown[]) => Partial<ReadCall>) | undefined;
}
