/**
 * What `createWaymark` takes and gives. Types only.
 *
 * @module
 */

import type { WaymarkEvent, WaymarkStats } from "./events.ts";
import type { MapLimits } from "./map_types.ts";
import type { RereadRules } from "./guard_types.ts";
import type { Session } from "./session_types.ts";
import type { FileSummaries, SummarizeFileTool } from "./summarize_file_types.ts";
import type {
  Clock,
  FileSource,
  Middleware,
  Model,
  NameRules,
  OutlineParser,
  SqliteDriver,
  Summarizer,
} from "./types.ts";
import type { ToolFunction, ToolWatcher, WrapOptions, Wrapped, WrapToolsOptions } from "./wrap_types.ts";

/** Something a person should know: a map that could not be made, a cache that could not be used. */
export interface Notice {
  /** A stable code. */
  readonly reason: string;
  /** One line: what could not be done, why, what next. */
  readonly message: string;
  /** The file it is about, as the caller gave it. */
  readonly path?: string;
}

/** Options of `createWaymark`. */
export interface WaymarkOptions extends NameRules {
  /**
   * The project's root, where `.summaries/` is kept. Default: the nearest folder above the working directory with `.git`,
   * failing that with `deno.json` or `package.json`; where there is none, maps are kept in memory only.
   */
  readonly root?: string | undefined;
  /** Writes the maps. Default: none, a parser makes them. */
  readonly model?: Model | undefined;
  /**
   * The tree-sitter outline of `./outline`: makes the maps where there is no model, and checks what a model made. Default:
   * the built-in line scanner, and no check.
   */
  readonly outline?: OutlineParser | undefined;
  /** Makes the maps in place of `model` and `outline`. */
  readonly summarizer?: Summarizer | undefined;
  /** What a read gets where a configured model fails: as asked, or shortened with a parser's map. Default `"none"`. */
  readonly fallback?: "none" | "outline" | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** Larger files are left alone, in bytes. Default 32 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** Folders whose files may be summarized. Default: everywhere. */
  readonly roots?: readonly string[] | undefined;
  /** Where bytes come from, for tools that read somewhere else. Default: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** Whether maps are kept, on disk or in memory. Default true. */
  readonly cache?: boolean | undefined;
  /**
   * The SQLite driver. `"auto"` takes `@db/sqlite` where it loads with no prompt and no download, else `node:sqlite`.
   * Default `"auto"`.
   */
  readonly sqlite?: "auto" | "@db/sqlite" | "node:sqlite" | SqliteDriver | undefined;
  /** Use a database that came by clone or copy: its words are somebody else's. Default false. */
  readonly trustForeignCache?: boolean | undefined;
  /**
   * The conversation that reads go into: what it holds already is not given again. Default: that of each call; without one
   * every read stands alone.
   */
  readonly session?: Session | undefined;
  /**
   * Whether lines that the conversation holds, unchanged, come back as one line, and the rules for that. Default: wherever
   * there is a session that is not `untracked`.
   */
  readonly rereadGuard?: boolean | RereadRules | undefined;
  /** Digests of large results of the tools that are wrapped, made beside the run: what `toolUseSummary` of `./tool-use` gives. */
  readonly toolUse?: { readonly middleware: Middleware } & Partial<ToolWatcher> | undefined;
  /** Limits on what maps may cost. */
  readonly limits?: MapLimits | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /**
   * Told what a person should know, once for each distinct reason: the file, an id or a number in the words makes no other
   * reason, the status of a response does. After 1000 reasons, once for each new code. Default: one line on stderr.
   */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** One project's read guard, maps and cache. */
export interface Waymark extends AsyncDisposable, FileSummaries {
  /** Wraps a read tool: the same function, annotated. */
  wrap<Tool extends ToolFunction>(tool: Tool, options?: WrapOptions): Wrapped<Tool>;
  /** Wraps the read tools of a registry, and with `toolUse` every other tool for its digests; else those are the very same objects. */
  wrapTools<Registry extends object>(registry: Registry, options?: WrapToolsOptions): Registry;
  /** The onion itself, for adapters. */
  readonly middleware: Middleware;
  /** Where bytes come from, as it was given. Absent: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** The `summarize_file` tool, to offer to the model. */
  summarizeFileTool(): SummarizeFileTool;
  /** Drops every kept version of a file's map; how many. */
  forget(path: string): Promise<number>;
  /** Drops the maps of files that are gone; how many files. */
  prune(): Promise<number>;
  /** Sums of everything that happened. */
  stats(): WaymarkStats;
  /** Closes the cache, and ends what is under way: maps that are made, and their requests. Reads go on, without it. */
  close(): Promise<void>;
}
