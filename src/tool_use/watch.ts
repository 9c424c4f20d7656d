/**
 * Looks at what a tool returns, and leaves it alone.
 *
 * Promised: the host gets the very value, promise or error that the tool gave; `this`, properties and the prototype are the
 * tool's own. A stream, a generator and a promise with ways of its own are handed on unseen.
 *
 * @module
 */

import type { ToolFunction } from "../wrap.ts";
import type { AcceptedResult } from "./types.ts";

/** Facts of a call from what the host passes beside the arguments. */
export type CallFacts = Partial<Pick<AcceptedResult, "callId" | "topLevel" | "path">>;

/** How a tool is watched. */
export interface WatchOptions {
  /** The host's name for it. Default: the tool's own `name`. */
  readonly name?: string | undefined;
  /**
   * Facts of the call from what the host passes beside the arguments. Default: the usual names (`toolCallId`, `callId`,
   * `toolUseId`, `toolUse.id`, `toolCall.id` and the like; `topLevel`; an agent's id means a sub-agent).
   */
  readonly facts?: ((...rest: unknown[]) => CallFacts) | undefined;
}

/** The tool, whose results are told to `accept`. */
export function watch<Tool extends ToolFunction>(
  tool: Tool,
  accept: (result: AcceptedResult) => void,
  { name = tool.name, facts = usualFacts }: WatchOptions = {},
): Tool {
  const tag: unknown = Reflect.get(tool, Symbol.toStringTag);
  if (tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction") return tool;
  const tell = ([args, ...rest]: readonly unknown[], result: unknown): void => {
    try {
      accept({ callId: undefined, ...facts(...rest), tool: name, result, args });
    } catch { /* facts of the host's own that throw */ }
  };
  return new Proxy(tool, {
    apply(target, self, given: unknown[]) {
      const result: unknown = Reflect.apply(target, self, given);
      if (!(result instanceof Promise)) tell(given, result);
      // A promise that is more than one may begin its work when it is asked.
      else if (result.then === Promise.prototype.then) result.then((value) => tell(given, value), () => {});
      return result;
    },
  });
}

type Fields = Readonly<Record<string, unknown>>;

const IDS = "toolCallId tool_call_id toolUseId toolUseID tool_use_id callId call_id".split(" ");
const CALLS: readonly string[] = ["toolUse", "toolCall", "call"];
const AGENTS = ["agentId", "agent_id", "parentToolUseId", "parent_tool_use_id"];

/** Call id and level under the names most hosts use. */
function usualFacts(...rest: unknown[]): CallFacts {
  let callId: string | undefined, topLevel: boolean | undefined;
  for (const info of rest) {
    const given = fields(info);
    if (!given) continue;
    const calls = CALLS.map((name) => fields(given[name]));
    const ids = [...IDS.map((name) => given[name]), ...calls.flatMap((call) => [call?.["id"], call?.["callId"]])];
    callId ??= ids.find((id): id is string => typeof id === "string");
    if (typeof given["topLevel"] === "boolean") topLevel ??= given["topLevel"];
    if (AGENTS.some((name) => typeof given[name] === "string")) topLevel = false;
  }
  return { ...callId !== undefined && { callId }, ...topLevel !== undefined && { topLevel } };
}

function fields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null ? value as Fields : undefined;
}
