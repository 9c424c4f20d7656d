/**
 * Makes coding agents' file reads cheap without ever breaking one.
 *
 * Wrap your read tool: a read of more than 200 lines returns 200 lines and the file's whole map, kept in `.summaries/` and
 * valid by content hash alone. Where no map can be made the read runs exactly as asked, and says why.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const lines = Array.from({ length: 300 }, (_, index) => `export function f${index + 1}() {}`);
 * const text = lines.join("\n");
 * // Your own read tool, whatever it is.
 * const readFile = ({ offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }) =>
 *   lines.slice(offset - 1, offset - 1 + limit).join("\n");
 *
 * const waymark = createWaymark({ cache: false, source: { read: () => new TextEncoder().encode(text) } });
 * const read = waymark.wrap(readFile);
 * const result = await read({ path: "functions.ts" });
 * assertStringIncludes(result, "PARTIAL, lines 1-200 of 300");
 * assertStringIncludes(result, "300-300  function  f300");
 * await waymark.close();
 * ```
 *
 * @module
 */

export { compose, split } from "./src/compose.ts";
export type { Begun, Halves, SplitOptions } from "./src/compose_types.ts";
export { wrap } from "./src/wrap.ts";
export { wrapTools } from "./src/wrap_tools.ts";
export type {
  ToolFunction,
  ToolWatcher,
  WatchedTool,
  WrapOptions,
  Wrapped,
  WrapToolsOptions,
} from "./src/wrap_types.ts";
export { dialects, headOnly, offsetLimit, startEnd, viewRange } from "./src/dialects.ts";
export type {
  DialectOptions,
  HeadOnlyOptions,
  OffsetLimitOptions,
  StartEndOptions,
  ViewRangeOptions,
  ZeroLine,
} from "./src/dialect_types.ts";
export { autoCodec, fieldsCodec } from "./src/codecs.ts";
export { readGuard } from "./src/read_guard.ts";
export type { ReadGuardOptions, RereadGuardOptions, RereadRules } from "./src/guard_types.ts";
export { createSession, rereadGuard } from "./src/session.ts";
export type {
  Coverage,
  Given,
  LineSpan,
  Referred,
  Session,
  SessionOptions,
  SessionState,
} from "./src/session_types.ts";
export { createWaymark } from "./src/waymark.ts";
export type { Notice, Waymark, WaymarkOptions } from "./src/options.ts";
export type { MapLimits } from "./src/map_types.ts";
export { readGuideline } from "./src/summarize_file.ts";
export type {
  FileSummaries,
  Lookup,
  SummarizeFileArguments,
  SummarizeFileInfo,
  SummarizeFileTool,
  SummarizeOptions,
  ToolWords,
} from "./src/summarize_file_types.ts";
export { isAnnotationText, renderMap, stripAnnotations } from "./src/file_map.ts";
export { INSTRUCTION_FILES, SECRET_FILES, UNGUARDED } from "./src/probe.ts";
export { WaymarkError } from "./src/errors.ts";
export type { WaymarkEvent, WaymarkStats } from "./src/events.ts";
export type * from "./src/types.ts";
