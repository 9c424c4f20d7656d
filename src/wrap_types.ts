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
   * Facts of the call from what the host passes beside the arguments. Default: the usual names (`toolCallId`, `callId`,
   * `toolUse.id`, `abortSignal`, `signal`, `sessionId`, `session`, `cwd`, `programmatic`, `fresh`).
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
