/**
 * `summarize_file` as a tool of an opencode plugin, with the leave that opencode's own read tool asks for.
 *
 * @module
 */

import { pathKey, toDiskPath } from "../../paths.ts";
import type { SummarizeFileArguments, SummarizeFileTool } from "../../summarize_file_types.ts";

/** The part of `tool.schema`, which is zod's, that is used. */
export interface OpencodeSchema {
  /** A text. */
  string(): OpencodeField;
  /** A number. */
  number(): OpencodeField;
  /** One of several texts. */
  enum(values: ["summarize", "lookup", "refresh"]): OpencodeField;
}

/** A field of a schema. */
export interface OpencodeField {
  /** With words for the model. */
  describe(text: string): OpencodeField;
  /** It may be left out. */
  optional(): unknown;
}

/** A tool of a plugin. */
export interface OpencodeTool {
  /** What the model reads when it decides. */
  description: string;
  /** The fields of its arguments. */
  // deno-lint-ignore no-explicit-any -- fields of the host's own zod
  args: any;
  /** Runs it. */
  // deno-lint-ignore no-explicit-any -- what the fields say, and the host's own context
  execute(args: any, context: any): Promise<string>;
}

/** What a tool of a plugin is handed beside its arguments. */
interface ToolContext {
  readonly abort?: AbortSignal;
  readonly directory?: string;
  readonly worktree?: string;
  ask?(asked: { permission: string; patterns: string[]; always: string[]; metadata: object }): Promise<void>;
}

/** `summarize_file`, with the leave that opencode's own read asks for. */
export function summarizeTool(tool: SummarizeFileTool, schema: OpencodeSchema): OpencodeTool {
  const words = tool.parameters["properties"] as Record<keyof SummarizeFileArguments, { description: string }>;
  return {
    description: tool.description,
    args: {
      path: schema.string().describe(words.path.description),
      action: schema.enum(["summarize", "lookup", "refresh"]).describe(words.action.description).optional(),
      line: schema.number().describe(words.line.description).optional(),
    },
    async execute(args: SummarizeFileArguments, context: ToolContext) {
      const { abort: signal, directory: cwd, worktree } = context, file = tidy(toDiskPath(args.path, cwd) ?? args.path);
      const inProject = [cwd, worktree].some((folder) => folder !== "/" && pathKey(file, folder) !== undefined);
      if (!inProject) {
        const patterns = [file.replace(/[^\\/]*$/, "*")], metadata = { filepath: file };
        await context.ask?.({ permission: "external_directory", patterns, always: patterns, metadata });
      }
      const patterns = [pathKey(file, worktree) ?? file];
      await context.ask?.({ permission: "read", patterns, always: ["*"], metadata: {} });
      return await tool.execute(args, { signal, cwd });
    },
  };
}

/** A path without `..`, which no pattern of a permission may be taken in by. */
function tidy(file: string): string {
  return file.startsWith("/") ? `/${pathKey(file, "/") ?? ""}` : file;
}
