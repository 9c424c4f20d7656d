/**
 * The tools of LangChain's agents, as their requests tell of them.
 *
 * @module
 */

import type { ReadToolWatch } from "../../read_tools.ts";

/** What is learnt of an agent's tools. */
export interface ToolSights {
  /** A tool is called. */
  called(name: string): void;
  /** The model is asked, and offered these. */
  offered(tools: unknown): void;
}

/**
 * Looks for read tools in the requests. An agent hands the same list to every request, and other middleware may leave some of
 * it out, in a list of its own making: only what comes again, after a tool was called, is all there is.
 */
export function sightTools(watch: ReadToolWatch): ToolSights {
  const sights = new WeakMap<object, number>(); // lists, and how many calls there had been
  let calls = 0;
  return {
    called(name) {
      calls++;
      watch.meet(name);
    },
    offered(tools) {
      if (watch.settled || !Array.isArray(tools) || !tools.length) return;
      if (tools.some((tool) => watch.meet(nameOf(tool)))) return;
      const before = sights.get(tools);
      if (before === undefined) sights.set(tools, calls);
      else if (before < calls) watch.close();
    },
  };
}

/** What the model calls a tool: one of LangChain's, or one in the words of a provider. */
function nameOf(tool: unknown): unknown {
  const { name, function: described } = Object(tool) as { name?: unknown; function?: unknown };
  return name ?? (Object(described) as { name?: unknown }).name;
}
