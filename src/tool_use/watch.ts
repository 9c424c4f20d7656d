/**
 * Looks at what a tool returns, and leaves it alone.
 *
 * Promised: the host gets the very value, promise or error that the tool gave; `this`, properties and the prototype are the
 * tool's own. A stream, a generator and a promise with ways of its own are handed on unseen.
 *
 * @module
 */

import { usualIds } from "../arguments.ts";
import type { ToolFunction } from "../wrap_types.ts";
import type { AcceptedResult } from "./types.ts";

/** Facts of a call from what the host passes beside the arguments. */
export type CallFacts = Partial<Pick<AcceptedResult, "callId" | "topLevel" | "path">> & {
  /** A script makes the call, not the main agent's model: its result is none of its own. Default false. */
  readonly programmatic?: boolean;
};

/** How a tool is watched. */
export interface WatchOptions {
  /** The host's name for it. Default: the tool's own `name`; `"tool"` where it has none, as a function made in place has. */
  readonly name?: string | undefined;
  /**
   * Facts of the call from what the host passes beside the arguments. Default: the usual names (`toolCallId`, `callId`,
   * `toolUseId`, `toolUse.id`, `toolCall.id` and the like; `topLevel`; an agent's id means a sub-agent, `programmatic` a script).
   */
  readonly facts?: ((...rest: unknown[]) => CallFacts) | undefined;
}

/** The tool, whose results are told to `accept`. */
export function watch<Tool extends ToolFunction>(
  tool: Tool,
  accept: (result: AcceptedResult) => void,
  { name = tool.name || "tool", facts = (...rest) => usualIds(rest) }: WatchOptions = {},
): Tool {
  const tag: unknown = Reflect.get(tool, Symbol.toStringTag);
  if (tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction") return tool;
  const tell = ([args, ...rest]: readonly unknown[], result: unknown): void => {
    try {
      const { callId, topLevel, path, programmatic } = facts(...rest);
      accept({ callId, topLevel: programmatic ? false : topLevel, path, tool: name, result, args });
    } catch { /* facts of the host's own that throw */ }
  };
  return new Proxy(tool, {
    apply(target, self, given: unknown[]) {
      const result: unknown = Reflect.apply(target, self, given);
      try {
        if (!(result instanceof Promise)) tell(given, result);
        // A promise that is more than one may begin its work when it is asked.
        else if (result.then === Promise.prototype.then) result.then((value) => tell(given, value), () => {});
      } catch { /* a result that may not even be asked what it is, such as a proxy that was revoked */ }
      return result;
    },
  });
}
