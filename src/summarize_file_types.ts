/**
 * What maps are asked with, by a host or by the model's own tool, and what comes back.
 *
 * @module
 */

import type { FileMap, Region } from "./types.ts";

/** How a summary is asked for. */
export interface SummarizeOptions {
  /** Make a new map whatever is kept. Default false. */
  readonly refresh?: boolean | undefined;
  /** The folder a relative path starts from. Default: the working directory. */
  readonly cwd?: string | undefined;
  /** The caller's abort. */
  readonly signal?: AbortSignal | undefined;
}

/** What is known of a line, from the cache alone. */
export type Lookup =
  /** The innermost region of the map at the line. `omitted` entries are not in the map: one of them may lie within. */
  | { readonly status: "found"; readonly region: Region; readonly omitted: number }
  /** The map is there and has no region at the line, or its file has fewer lines. `omitted` entries are not in the map. */
  | { readonly status: "between"; readonly lines: number; readonly omitted: number }
  /** No map could be made of these bytes, only a summary in words: nothing is known of any line. */
  | { readonly status: "prose-only"; readonly lines: number }
  /** A map or summary is kept, but of other bytes. */
  | { readonly status: "stale" }
  /**
   * Nothing is kept. One that is made would be on disk; in memory, for as long as this process runs; or nowhere, with
   * `cache: false`, so that a lookup never finds one.
   */
  | { readonly status: "absent"; readonly kept: "disk" | "memory" | "nowhere" };

/** What the tool takes. */
export interface SummarizeFileArguments {
  /** The file. */
  readonly path: string;
  /** What to do. Default "summarize". */
  readonly action?: "summarize" | "lookup" | "refresh" | undefined;
  /** The line, for "lookup". */
  readonly line?: number | undefined;
}

/** Options of `summarizeFileTool` and `readGuideline`. */
export interface ToolWords {
  /** The read guard's limit, which the words quote. Default 200. */
  readonly maxLines?: number;
}

/** A tool as most hosts take them; `parameters` is a JSON schema. */
export interface SummarizeFileTool {
  /** `summarize_file`. */
  readonly name: "summarize_file";
  /** One line for a list of tools. */
  readonly listing: string;
  /** What the model reads when it decides. */
  readonly description: string;
  /** JSON schema of {@linkcode SummarizeFileArguments}. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Runs it: 0 to 3 requests to a model; "lookup" never one. Rejects with a {@linkcode WaymarkError} that says what to do instead. */
  execute(args: SummarizeFileArguments, info?: SummarizeFileInfo): Promise<string>;
}

/** What a host may pass beside the arguments, under the names most hosts use. */
export interface SummarizeFileInfo {
  /** The caller's abort. */
  readonly signal?: AbortSignal | null | undefined;
  /** The same, under another name. */
  readonly abortSignal?: AbortSignal | undefined;
  /** The folder a relative path starts from. Default: the working directory. */
  readonly cwd?: string | undefined;
}

/** The part of a `Waymark` the tool needs. */
export interface FileSummaries {
  /** The map of a file, kept or made: 0 to 3 requests to a model. Rejects with a `WaymarkError` that says what to do instead. */
  summarize(path: string, options?: SummarizeOptions): Promise<FileMap>;
  /** What is at a line: never spends a request, never makes a map. Rejects where the file cannot be read. */
  lookup(path: string, line: number, options?: Pick<SummarizeOptions, "cwd" | "signal">): Promise<Lookup>;
}
