/**
 * The facade: the pieces put together with defaults, around one project and its cache.
 *
 * @module
 */

import { quiet } from "./errors.ts";
import type { WaymarkEvent, WaymarkStats } from "./events.ts";
import { disk } from "./files.ts";
import { createMaps, type MapLimits } from "./maps.ts";
import { toDiskPath } from "./paths.ts";
import type { NameRules } from "./probe.ts";
import { createProject, type ProjectOptions } from "./project.ts";
import { readGuard } from "./read_guard.ts";
import { type SummarizeFileTool, summarizeFileTool } from "./summarize_file.ts";
import { scanner } from "./summary/scanner.ts";
import type { FileMap, Middleware, Model, OutlineParser, Region, Summarizer } from "./types.ts";
import { type ToolFunction, wrap, type WrapOptions, type Wrapped, wrapTools, type WrapToolsOptions } from "./wrap.ts";

/** Something a person should know: a map that could not be made, a cache that could not be used. */
export interface Notice {
  /** A stable code. */
  readonly reason: string;
  /** One line: what could not be done, why, what next. */
  readonly message: string;
  /** The file it is about, as the caller gave it. */
  readonly path?: string;
}

/** Options of {@linkcode createWaymark}. */
export interface WaymarkOptions extends NameRules, Omit<ProjectOptions, "onEvent"> {
  /** Writes the maps. Default: none, a parser makes them. */
  readonly model?: Model | undefined;
  /** The tree-sitter outline of `./outline`: makes the maps without a model, and checks what a model made. Default: the built-in line scanner, and no check. */
  readonly outline?: OutlineParser | undefined;
  /** Makes the maps in place of `model` and `outline`. */
  readonly summarizer?: Summarizer | undefined;
  /** What a read gets where a configured model fails: as asked, or shortened with a parser's map. Default "none". */
  readonly fallback?: "none" | "outline" | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** Limits on what maps may cost. */
  readonly limits?: MapLimits | undefined;
  /** Told what a person should know, once for each distinct reason. Default: one line on stderr. */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

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
  /** The innermost region at the line. */
  | { readonly status: "found"; readonly region: Region }
  /** The map is there and has no region at the line. */
  | { readonly status: "between" }
  /** A map is kept, but of other bytes. */
  | { readonly status: "stale" }
  /** No map is kept. */
  | { readonly status: "absent" };

/** One project's read guard, maps and cache. */
export interface Waymark extends AsyncDisposable {
  /** Wraps a read tool: the same function, annotated. */
  wrap<Tool extends ToolFunction>(tool: Tool, options?: WrapOptions): Wrapped<Tool>;
  /** Wraps the read tools of a registry; every other tool is the very same object. */
  wrapTools<Registry extends object>(registry: Registry, options?: WrapToolsOptions): Registry;
  /** The onion itself, for adapters. */
  readonly middleware: Middleware;
  /** The map of a file, kept or made: 0 to 3 requests to a model. Rejects with a {@linkcode WaymarkError} that says what to do instead. */
  summarize(path: string, options?: SummarizeOptions): Promise<FileMap>;
  /** What is at a line: never spends a request, never makes a map. Rejects where the file cannot be read. */
  lookup(path: string, line: number, options?: Pick<SummarizeOptions, "cwd" | "signal">): Promise<Lookup>;
  /** The `summarize_file` tool, to offer to the model. */
  summarizeFileTool(): SummarizeFileTool;
  /** Drops every kept version of a file's map; how many. */
  forget(path: string): Promise<number>;
  /** Drops the maps of files that are gone; how many files. */
  prune(): Promise<number>;
  /** Sums of everything that happened. */
  stats(): WaymarkStats;
  /** Closes the cache. Reads go on, without it. */
  close(): Promise<void>;
}

/**
 * Puts the pieces together. Opens nothing until the first read.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const waymark = createWaymark({ cache: false });
 * const read = waymark.wrap(({ path, limit }: { path: string; limit?: number }) => `${path} ${limit}`);
 * assertEquals(await read({ path: "short.ts", limit: 50 }), "short.ts 50");
 * await waymark.close();
 * ```
 */
export function createWaymark(options: WaymarkOptions = {}): Waymark {
  const { model, outline, fallback = "none", maxLines = 200, limits, include, exclude, ...projectOptions } = options;
  const summarizer = options.summarizer ?? model?.summarizer ?? outline ?? scanner();
  const tally = createTally();
  const tell = createTeller(quiet(options.onNotice ?? (({ message }) => console.error(`waymark: ${message}`))));
  const pass = quiet(options.onEvent);
  const emit = (event: WaymarkEvent): void => {
    tally.add(event);
    tell(event);
    pass(event);
  };
  const project = createProject({ ...projectOptions, onEvent: emit });
  const maps = createMaps({ summarizer, audit: outline, limits, clock: options.clock, onEvent: emit });
  const parsed = fallback === "outline" ? createMaps({ summarizer: outline ?? scanner(), onEvent: emit }) : undefined;
  const middleware = readGuard({
    project,
    maps,
    fallback: parsed,
    maxLines,
    names: { include, exclude },
    onEvent: emit,
  });

  const waymark: Waymark = {
    middleware,
    wrap: (tool, wrapOptions) => wrap(tool, middleware, wrapOptions),
    wrapTools: (registry, wrapOptions) => wrapTools(registry, middleware, wrapOptions),
    async summarize(path, { refresh = false, cwd, signal } = {}) {
      const place = project.locate(path, cwd);
      const file = await project.identify(place, await project.read(place, signal));
      return (await maps.get(file, { refresh, signal, insist: true })).map;
    },
    async lookup(path, line, { cwd, signal } = {}) {
      const place = project.locate(path, cwd);
      const { key, cache } = await project.keep(place);
      const sizes = cache.sizes(key);
      if (sizes.length && place.size !== undefined && !sizes.includes(place.size)) return { status: "stale" };
      const { hash } = await project.identify(place, await project.read(place, signal));
      if (!cache.get(key, hash)) return { status: sizes.length ? "stale" : "absent" };
      const region = cache.at(key, hash, line);
      return region ? { status: "found", region } : { status: "between" };
    },
    summarizeFileTool: () => summarizeFileTool(waymark, { maxLines }),
    async forget(path) {
      const real = placeOf(path);
      if (real === undefined) return 0;
      const { key, cache } = await project.keep({ path, real });
      return cache.forget(key);
    },
    async prune() {
      const cache = await project.cache(), root = project.root();
      if (root === undefined || options.source) return 0;
      return cache.prune((key) => disk().exists(`${root}/${key}`));
    },
    stats: () => tally.sums(),
    close: () => project.close(),
    [Symbol.asyncDispose]: () => project.close(),
  };
  return waymark;

  /** Where a file is or was: a map is forgotten also when its file is gone. */
  function placeOf(path: string): string | undefined {
    try {
      return project.locate(path).real;
    } catch {
      return toDiskPath(path, disk().cwd());
    }
  }
}

function createTally(): { add(event: WaymarkEvent): void; sums(): WaymarkStats } {
  const sums = {
    hits: 0,
    misses: 0,
    modelCalls: 0,
    repairs: 0,
    summaries: 0,
    caps: 0,
    failures: 0,
    writesSkipped: 0,
    tokensSpent: 0,
    tokensSaved: 0,
  };
  return {
    sums: () => ({ ...sums }),
    add(event) {
      if (event.type === "hit") sums.hits++;
      else if (event.type === "miss") sums.misses++;
      else if (event.type === "call") sums.modelCalls++;
      else if (event.type === "repair") sums.repairs++;
      else if (event.type === "failure") sums.failures++;
      else if (event.type === "summary") {
        const { input, output, cacheRead, cacheWrite } = event.usage;
        sums.summaries++;
        sums.tokensSpent += input + output + cacheRead + cacheWrite;
      } else if (event.type === "cap") {
        sums.caps++;
        sums.tokensSaved += event.tokensSaved;
      } else if (event.what === "write-skipped") sums.writesSkipped++;
    },
  };
}

/** Tells a person each distinct reason once. A pause after a failure is no new reason. */
function createTeller(onNotice: (notice: Notice) => void): (event: WaymarkEvent) => void {
  const told = new Set<string>();
  return (event) => {
    let notice: Notice;
    if (event.type === "failure" && event.reason !== "backing-off") {
      notice = { reason: event.reason, message: event.message, path: event.path };
    } else if (event.type === "cache" && (event.what === "memory" || event.what === "set-aside")) {
      notice = { reason: event.what, message: event.message };
    } else return;
    const key = `${notice.reason} ${
      notice.path === undefined ? notice.message : notice.message.replaceAll(notice.path, "")
    }`;
    if (told.has(key)) return;
    told.add(key);
    onNotice(notice);
  };
}
