/**
 * The tool `summarize_file`, for a server of your own.
 *
 * @module
 */

import type { Waymark } from "../../options.ts";
import type { SummarizeFileArguments } from "../../summarize_file_types.ts";
import type { McpExtra, McpFailure, McpText } from "./types.ts";

/** What a client may know of a tool before it is called. */
export interface McpHints {
  /** It changes nothing of the client's. */
  readOnlyHint: true;
  /** It destroys nothing. */
  destructiveHint: false;
  /** A second call does no more than one. */
  idempotentHint: true;
  /** It looks at files of this machine only. */
  openWorldHint: false;
}

/** The parts of a tool that `registerTool` takes. */
export interface McpSummarizeFile {
  /** `summarize_file`. */
  name: "summarize_file";
  /** What stands in the tool's configuration, but for its input schema. */
  config: { title: string; description: string; annotations: McpHints };
  /** The input schema as JSON Schema: `fromJsonSchema` of version 2 takes it, of version 1 the same goes in zod. */
  parameters: Record<string, unknown>;
  /** Runs it. What fails is a result that says what to do instead. */
  handler: (args: SummarizeFileArguments, extra: McpExtra) => Promise<McpText | McpFailure>;
}

/** The hints of tools that read. */
export const READS: McpHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/**
 * The `summarize_file` tool of a Waymark, in the parts that `registerTool` takes.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { mcpSummarizeFile } from "@waymark/waymark/adapters/mcp";
 * import { assertEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false, source: { read: () => new TextEncoder().encode("class A {}\n") } });
 * const { name, config, parameters, handler } = mcpSummarizeFile(waymark);
 * // server.registerTool(name, { ...config, inputSchema: fromJsonSchema(parameters) }, handler);
 * assertEquals([name, config.title, parameters["type"]], ["summarize_file", "Map a file", "object"]);
 * assertEquals((await handler({ path: "/a.ts" }, { requestId: 1 })).isError, undefined);
 * ```
 */
export function mcpSummarizeFile(waymark: Pick<Waymark, "summarizeFileTool">): McpSummarizeFile {
  const { name, description, parameters, execute } = waymark.summarizeFileTool();
  return {
    name,
    config: { title: "Map a file", description, annotations: READS },
    parameters: { ...parameters },
    async handler(args, { signal, mcpReq }) {
      try {
        return { content: [{ type: "text", text: await execute(args, { signal: mcpReq?.signal ?? signal }) }] };
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        return { content: [{ type: "text", text: text.replaceAll(/\s*[\r\n]+\s*/g, " ") }], isError: true };
      }
    },
  };
}
