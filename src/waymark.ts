/**
 * The facade: the pieces put together with defaults, around one project and its cache.
 *
 * @module
 */

import { compose } from "./compose.ts";
import { oneLine, quiet, WaymarkError } from "./errors.ts";
import type { WaymarkEvent, WaymarkStats } from "./events.ts";
import { disk, diskFault, realOr } from "./files.ts";
import { createMaps } from "./maps.ts";
import type { Notice, Waymark, WaymarkOptions } from "./options.ts";
import { toDiskPath } from "./paths.ts";
import { createProject } from "./project.ts";
import { guardReads } from "./read_guard.ts";
import type { Conversation } from "./conversation.ts";
import { conversationOf, rereads } from "./session.ts";
import { summarizeFileTool } from "./summarize_file.ts";
import { scanner } from "./summary/scanner.ts";
import type { Middleware, ReadCall } from "./types.ts";
import { wrap } from "./wrap.ts";
import { wrapTools } from "./wrap_tools.ts";
import type { ToolWatcher } from "./wrap_types.ts";

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
  const { model, outline, fallback = "none", maxLines = 200, limits, include, exclude, session, ...rest } = options;
  const { rereadGuard, toolUse, ...projectOptions } = rest;
  if (!["none", "outline"].includes(fallback)) {
    throw new WaymarkError("invalid-option", `Cannot use ${fallback} as fallback: give none or outline`);
  }
  const summarizer = options.summarizer ?? (model ? model.summarizer : outline ?? scanner());
  const by = options.summarizer ? "summarizer" : model ? `model ${model.name ?? "(unnamed)"}` : "outline";
  const tally = createTally();
  const tell = createTeller(quiet(options.onNotice ?? (({ message }) => console.error(`waymark: ${message}`))));
  const pass = quiet(options.onEvent);
  const emit = (event: WaymarkEvent): void => {
    tally.add(event);
    tell(event);
    pass(event);
  };
  const project = createProject({ ...projectOptions, timeoutMs: limits?.timeoutMs, onEvent: emit });
  const maps = createMaps({ summarizer, audit: outline, limits, clock: options.clock, onEvent: emit }, by);
  const parser = { summarizer: outline ?? scanner(), onEvent: emit };
  const parsed = fallback === "outline" ? createMaps(parser, "outline") : undefined;
  /** The conversation of a call, where what leaves it is known, or nobody minds. */
  const conversation = (call: ReadCall): Conversation | undefined => {
    const known = conversationOf(call, session);
    if (!known?.untracked || rereadGuard) return known;
    if (rereadGuard === undefined) tell({ reason: "untracked", message: UNTRACKED });
    return undefined;
  };
  const guard = guardReads({
    project,
    maps,
    fallback: parsed,
    maxLines,
    names: { include, exclude },
    conversationOf: conversation,
    onEvent: emit,
  });
  const digest: Middleware = (call, next) => {
    try {
      if (rest.roots) project.locate(call.path, call.cwd);
    } catch (error) {
      if ((error as WaymarkError).code !== "too-large") return next(call); // it may lie outside
    }
    return toolUse!.middleware(call, next);
  };
  const rules = typeof rereadGuard === "object" ? rereadGuard : {};
  const middleware = compose(
    guard,
    ...rereadGuard === false ? [] : [rereads({ ...rules, project, conversationOf: conversation, onEvent: emit })],
    ...toolUse ? [digest] : [],
  );

  const digests = toolUse?.wrap && toolUse as ToolWatcher;
  const waymark: Waymark = {
    middleware,
    source: options.source,
    wrap: (tool, wrapOptions) => wrap(tool, middleware, { onError: tell, ...wrapOptions }),
    wrapTools: (registry, wrapOptions) => wrapTools(registry, middleware, { onError: tell, digests, ...wrapOptions }),
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
      const map = cache.get(key, hash), region = map && cache.at(key, hash, line);
      if (!map && sizes.length) return { status: "stale" };
      if (!map) return { status: "absent", kept: options.cache === false ? "nowhere" : cache.kind };
      const { lines, omitted = 0 } = map;
      if (!map.regions.length) return { status: "prose-only", lines };
      return region ? { status: "found", region, omitted } : { status: "between", lines, omitted };
    },
    summarizeFileTool: () => summarizeFileTool(waymark, { maxLines }),
    async forget(path) {
      const real = placeOf(path);
      if (real === undefined) return 0;
      const { key, cache } = await project.keep({ real });
      return cache.forget(key);
    },
    async prune() {
      const cache = await project.cache(), root = project.root();
      if (root === undefined || options.source) return 0;
      return cache.prune((key) => !isGone(`${root}/${key}`));
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
      const named = toDiskPath(path, disk().cwd());
      return named && realOr(named);
    }
  }
}

/** Whether a file is certainly gone: one that may not be looked at is not. */
function isGone(path: string): boolean {
  try {
    disk().lstat(path);
    return false;
  } catch (error) {
    return diskFault(error) === "absent";
  }
}

const UNTRACKED =
  "The re-read guard is off: nothing tells this session what leaves its conversation. Give it messages or evictions, or rereadGuard: true";

/** Events that are counted as they are. */
const COUNTED = {
  hit: "hits",
  miss: "misses",
  call: "modelCalls",
  repair: "repairs",
  failure: "failures",
  summary: "summaries",
  cap: "caps",
  reference: "references",
  diff: "diffs",
} as const;

function createTally(): { add(event: WaymarkEvent): void; sums(): WaymarkStats } {
  const sums = {
    hits: 0,
    misses: 0,
    modelCalls: 0,
    repairs: 0,
    summaries: 0,
    caps: 0,
    references: 0,
    diffs: 0,
    failures: 0,
    writesSkipped: 0,
    tokensSpent: 0,
    tokensSaved: 0,
  };
  return {
    sums: () => ({ ...sums }),
    add(event) {
      const counted = COUNTED[event.type as keyof typeof COUNTED];
      if (counted) sums[counted]++;
      if (event.type !== "digest" && "tokensSaved" in event) sums.tokensSaved += event.tokensSaved;
      else if (event.type === "tokens") {
        sums.tokensSpent += event.input + event.output + event.cacheRead + event.cacheWrite;
      } else if (event.type === "cache" && event.what === "write-skipped") sums.writesSkipped++;
    },
  };
}

/** Reasons that are remembered. */
const MAX_TOLD = 1000;

/** Tells a person each distinct reason once. Neither an id nor a count makes another one, nor a pause after a failure. */
export function createTeller(onNotice: (notice: Notice) => void): (problem: unknown) => void {
  const told = new Set<string>();
  return (problem) => {
    const event = Object(problem) as WaymarkEvent | Notice;
    let notice: Notice;
    if (problem instanceof Error || !("type" in event || "reason" in event)) {
      notice = { reason: problem instanceof WaymarkError ? problem.code : "internal", message: oneLine(problem) };
    } else if (!("type" in event)) {
      notice = event;
    } else if (event.type === "failure" && event.reason !== "backing-off") {
      notice = { reason: event.reason, message: event.message, path: event.path };
    } else if (event.type === "cache" && (event.what === "memory" || event.what === "set-aside")) {
      notice = { reason: event.what, message: event.message };
    } else return;
    const { reason, message, path } = notice, said = path ? message.replaceAll(path, "") : message;
    // Words with digits are ids, times and counts, but for names of files and a status.
    const key = `${reason} ` + said.replace(
      /[^\s"'{}()[\],;:=]+/g,
      (word) => /\d/.test(word) && !/[\\/]|^[45]\d\d\W*$/.test(word) ? "" : word,
    );
    if (told.has(key) || told.has(reason) && told.size >= MAX_TOLD) return;
    told.add(key).add(reason);
    onNotice({ ...notice, message: oneLine(notice) });
  };
}
