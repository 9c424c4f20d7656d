/**
 * The tool `summarize_file`, for a server of your own.
 *
 * @module
 */

import { oneLine } from "../../errors.ts";
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
  /** Whether files leave this machine, to a model. */
  openWorldHint: boolean;
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

/** Options of {@linkcode mcpSummarizeFile}. */
export interface McpSummarizeFileOptions {
  /** Whether a model makes the maps: files leave this machine then, and clients are told. Default false. */
  readonly openWorld?: boolean | undefined;
}

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
export function mcpSummarizeFile(
  waymark: Pick<Waymark, "summarizeFileTool">,
  { openWorld = false }: McpSummarizeFileOptions = {},
): McpSummarizeFile {
  const { name, description, parameters, execute } = waymark.summarizeFileTool();
  const annotations = {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: openWorld,
  } as const;
  return {
    name,
    config: { title: "Map a file", description, annotations },
    parameters: { ...parameters },
    async handler(args, { signal, mcpReq }) {
      try {
        return { content: [{ type: "text", text: await execute(args, { signal: mcpReq?.signal ?? signal }) }] };
      } catch (error) {
        return { content: [{ type: "text", text: oneLine(error) }], isError: true };
      }
    },
  };
}
