/**
 * How hosts' read tools say a range of lines: four constructors, and the dialects of the hosts known, by name.
 *
 * Promised: numbers a dialect cannot read are never guessed at, so such a call is passed on untouched; a call whose range
 * does not change keeps its very argument object; a range put into words shows exactly those lines when followed to the
 * letter. Several hosts call different tools by one name, so none is picked by the tool's name alone. Pure.
 *
 * @module
 */

import { type Args, dialect, first, put, range, whole } from "./arguments.ts";
import type { HeadOnlyOptions, OffsetLimitOptions, StartEndOptions, ViewRangeOptions } from "./dialect_types.ts";
import type { Dialect } from "./types.ts";

/**
 * `{path, offset?, limit?}`: a first line (or lines to skip) and a number of lines.
 *
 * @example
 * ```ts
 * import { offsetLimit } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const dialect = offsetLimit({ path: "file", offset: "skip", limit: "take", base: 0 });
 * const args = { file: "a.ts", skip: 200 };
 * assertEquals(dialect.parse(args), { path: "a.ts", start: 201 });
 * assertEquals(dialect.apply(args, { path: "a.ts", start: 201, count: 200 }), { file: "a.ts", skip: 200, take: 200 });
 * ```
 */
export function offsetLimit(options: OffsetLimitOptions = {}): Dialect {
  const { offset = "offset", limit = "limit", base = 1, defaultCount, zero = "first" } = options;
  return dialect(options, {
    read: (args) => range(first(args[offset], base, zero), whole(args[limit]) ?? defaultCount),
    write(copy, span, asked) {
      const misnumbered = base === 1 && zero === "rewrite" && whole(copy[offset]) === 0;
      if (span.start !== asked?.start || misnumbered) put(copy, span.start - 1 + base, offset, limit);
      if (span.count === undefined) delete copy[limit];
      else if (span.count !== asked?.count) put(copy, span.count, limit, offset);
    },
    describe: (start, count) => `${offset}: ${start - 1 + base}, ${limit}: ${count}`,
  });
}

/**
 * `{path, start_line?, end_line?}`: a first and a last line.
 *
 * @example
 * ```ts
 * import { startEnd } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const dialect = startEnd({ start: "from", end: "to" });
 * assertEquals(dialect.parse({ path: "a.ts", from: 201, to: 400 }), { path: "a.ts", start: 201, count: 200 });
 * assertEquals(dialect.describe(201, 200), "from: 201, to: 400");
 * ```
 */
export function startEnd(options: StartEndOptions = {}): Dialect {
  const { start = "start_line", end = "end_line", defaultCount, zero = "first" } = options;
  return dialect(options, {
    read(args) {
      const from = first(args[start], 1, zero), to = whole(args[end]);
      return range(from, to === undefined ? defaultCount : to - from + 1);
    },
    write(copy, span) {
      put(copy, span.start, start, end);
      if (span.count === undefined) delete copy[end];
      else put(copy, span.start + span.count - 1, end, start);
    },
    describe: (from, count) => `${start}: ${from}, ${end}: ${from + count - 1}`,
  });
}

/**
 * `{path, view_range?: [first, last]}`: both inclusive, 1-based, a last line of -1 for the end of the file.
 *
 * @example
 * ```ts
 * import { viewRange } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const dialect = viewRange({ command: "view" });
 * assertEquals(dialect.parse({ command: "view", path: "a.ts", view_range: [9, -1] }), { path: "a.ts", start: 9 });
 * assertEquals(dialect.parse({ command: "create", path: "a.ts" }), undefined);
 * ```
 */
export function viewRange(options: ViewRangeOptions = {}): Dialect {
  const { range: key = "view_range", command, lenient = false } = options;
  return dialect(options, {
    read(args) {
      if (command !== undefined && args["command"] !== command) return undefined;
      const given = args[key] ?? [1, -1];
      if (!Array.isArray(given) || given.length !== 2) return undefined;
      const from = first(given[0] ?? NaN, 1, lenient ? "first" : "refuse"), to = whole(given[1]) ?? NaN;
      return range(from, to === -1 || (lenient && to < 1) ? undefined : to - from + 1);
    },
    write(copy, { start, count }) {
      const given = copy[key], written = [start, count === undefined ? -1 : start + count - 1];
      copy[key] = Array.isArray(given) && typeof given[0] === "string" ? written.map(String) : written;
    },
    describe: (start, count) => `${key}: [${start}, ${start + count - 1}]`,
  });
}

/**
 * `{path, head?}`: so many lines from the top, and no way to begin elsewhere. A larger `head` is the only way to a later
 * line: one that was asked for is insistence, marked `fresh`, so that nothing shortens it.
 *
 * @example
 * ```ts
 * import { headOnly } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(headOnly().parse({ path: "a.ts" }), { path: "a.ts", start: 1 });
 * assertEquals(headOnly().describe(1, 200), "head: 200");
 * ```
 */
export function headOnly(options: HeadOnlyOptions = {}): Dialect {
  const { head = "head", tail = "tail" } = options;
  return dialect(options, {
    read(args) {
      if (args[tail] !== undefined && args[tail] !== null) return undefined;
      const count = whole(args[head]), span = range(1, count);
      return span && count !== undefined ? { ...span, fresh: true } : span;
    },
    write(copy, span) {
      if (span.count === undefined) delete copy[head];
      else put(copy, span.start + span.count - 1, head, head);
    },
    describe: (start, count) => `${head}: ${start + count - 1}${start > 1 ? ", which begins at line 1 again" : ""}`,
  });
}

/**
 * The dialects of known hosts, and `plain`, the default: `{path, offset?, limit?}`, counted from 1.
 *
 * @example
 * ```ts
 * import { dialects } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(dialects.claudeCode.describe(201, 200), "offset: 201, limit: 200");
 * assertEquals(dialects.deepagents.describe(201, 200), "offset: 200, limit: 200");
 * ```
 */
export const dialects: Readonly<
  Record<
    | "plain"
    | "claudeCode"
    | "anthropicRead"
    | "textEditor"
    | "pi"
    | "opencode"
    | "mcpFilesystem"
    | "geminiCli"
    | "qwenCode"
    | "deepagents"
    | "mastra"
    | "vscodeCopilot"
    | "codex",
    Dialect
  >
> = whenAsked({
  plain: () => offsetLimit({ tools: ["read", "read_file", "readFile", "Read"] }),
  claudeCode: () =>
    offsetLimit({
      tools: ["Read"],
      path: "file_path",
      zero: "rewrite",
      skip: (args) => args["allow_large"] === true || (args["pages"] ?? null) !== null,
    }),
  anthropicRead: () => viewRange({ tools: ["read"], path: "file_path", lenient: true }),
  textEditor: () =>
    viewRange({ tools: ["str_replace_based_edit_tool", "str_replace_editor", "memory"], command: "view" }),
  pi: () => offsetLimit({ tools: ["read"], defaultCount: 2000 }),
  opencode: () => offsetLimit({ tools: ["read"], path: "filePath", defaultCount: 2000 }),
  mcpFilesystem: () => headOnly({ tools: ["read_text_file", "read_file"] }),
  geminiCli: () => startEnd({ tools: ["read_file"], path: "file_path", defaultCount: 2000, zero: "refuse" }),
  qwenCode: () => offsetLimit({ tools: ["read_file"], path: "file_path", base: 0 }),
  deepagents: () => offsetLimit({ tools: ["read_file"], path: "file_path", base: 0, defaultCount: 100 }),
  mastra: () =>
    offsetLimit({
      tools: ["mastra_workspace_read_file"],
      zero: "refuse",
      skip: ({ encoding }) => (encoding ?? null) !== null && !/^(utf-?8|text)$/i.test(String(encoding)),
    }),
  vscodeCopilot: () =>
    either(
      startEnd({ tools: ["read_file"], path: "filePath", start: "startLine", end: "endLine" }),
      (args) => "startLine" in args || "endLine" in args,
      offsetLimit({ tools: ["read_file"], path: "filePath", defaultCount: 2000 }),
    ),
  codex: () => offsetLimit({ tools: ["read_file"], path: "file_path", defaultCount: 2000, zero: "refuse" }),
});

/** Two versions of one tool, told apart by the arguments; words name both. */
function either(old: Dialect, isOld: (args: Args) => boolean, current: Dialect): Dialect {
  const of = (args: unknown) => typeof args === "object" && args !== null && isOld(args as Args) ? old : current;
  return {
    ...current,
    parse: (args) => of(args).parse(args),
    apply: (args, span) => of(args).apply(args, span),
    describe: (...at) => `${current.describe(...at)}, which older tools call ${old.describe(...at)}`,
  };
}

/** Makes each dialect when it is first asked for: nobody pays for hosts not met. */
function whenAsked<Name extends string>(makers: Record<Name, () => Dialect>): Readonly<Record<Name, Dialect>> {
  const all = {} as Record<Name, Dialect>, made: Record<string, Dialect> = {};
  for (const [name, make] of Object.entries<() => Dialect>(makers)) {
    Object.defineProperty(all, name, { enumerable: true, get: () => made[name] ??= make() });
  }
  return all;
}
