/**
 * What a host is to the conformance suite. Types only.
 *
 * @module
 */

import type { Session } from "../session_types.ts";
import type { Dialect } from "../types.ts";
import type { Waymark } from "../options.ts";

/** One content block of a tool's result, in a form every host can be given: text, or an image. */
export type ToolBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly data: string };

/** What a tool of the suite returns: text, or content blocks. To fail it throws. */
export type ToolResult = string | readonly ToolBlock[];

/**
 * A read tool for the host to be given, in its own terms. The arguments are those of the host's dialect, the signal that of the
 * call. What it returns or throws is what the host is to carry.
 */
export type ReadTool = (args: Record<string, unknown>, info: { readonly signal?: AbortSignal | undefined }) =>
  | ToolResult
  | Promise<ToolResult>;

/** A call the model makes. */
export interface HostCall {
  /** The arguments, in the host's dialect. */
  readonly args: Record<string, unknown>;
  /** The id of the call. Unique within a conversation. The guards are to be told of the call by it. */
  readonly callId: string;
}

/** What the model is shown of one call, in the request that follows. */
export interface Shown {
  /** All text of the call's result as the model gets it, to the letter; of several blocks, joined by one line break each. */
  readonly text: string;
  /** The host says that the call failed, by a flag or by its own words. */
  readonly failed: boolean;
  /** Images in the result, as base64, in their order. Default: none. */
  readonly images?: readonly string[] | undefined;
}

/** What a host is set up with. */
export interface HostSetup {
  /**
   * The guards, over the project's folder. `undefined`: the host as it is, its read tool unwrapped and no hook of the adapter's
   * in it. What that one shows is what the host with the guards is held against.
   */
  readonly waymark: Waymark | undefined;
  /** The project's folder, absolute. Paths in calls are in it, relative or absolute as the host wants them. */
  readonly root: string;
  /** The read tool. A host whose own tool cannot be replaced ignores it and says so by {@linkcode ConformanceHost.ownTool}. */
  readonly tool: ReadTool;
  /** The conversation. Absent: none is kept, and every read shows its lines. Never there without `waymark`. */
  readonly session?: Session | undefined;
}

/** A host that runs. */
export interface OpenHost {
  /**
   * One turn of the host's own loop: the model makes these calls at once, and what it is shown of each in the next request, in
   * the order of the calls. A further turn goes on with the same conversation. `signal` is the caller's abort of the turn.
   */
  turn(calls: readonly HostCall[], options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly Shown[]>;
  /** Ends it. */
  close(): Promise<void>;
}

/** A host with its adapter, as the suite sees them. */
export interface ConformanceHost {
  /** Its name and version, as in `ai 7.0.173`. */
  readonly name: string;
  /** How its arguments say a read. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect: Dialect<any>;
  /** The host reads files with a tool of its own that cannot be replaced: cases that need a tool of theirs are skipped. Default false. */
  readonly ownTool?: boolean | undefined;
  /**
   * What the host cannot do, with or without the guards, by the name of the case, each with the reason: those cases are skipped
   * with it. A host that makes text of its own of what a tool gives names the cases on texts to the letter; it is still held
   * against itself without the guards.
   */
  readonly cannot?: Readonly<Record<string, string>> | undefined;
  /** Starts it. */
  open(setup: HostSetup): Promise<OpenHost>;
}

/** A test runner's `test`: `node:test`, `bun:test` and `Deno.test` have this shape. */
export interface TestFunction {
  /** Registers a test. */
  (name: string, run: () => Promise<void>): unknown;
  /** Registers one that is skipped. */
  readonly skip?: (name: string, run: () => void) => unknown;
  /** The same, under another name. */
  readonly ignore?: (name: string, run: () => void) => unknown;
}
