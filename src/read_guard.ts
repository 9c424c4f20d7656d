/**
 * The read guard: a read of more than 200 lines returns 200 lines and the file's whole map.
 *
 * It never blocks and never raises. Whatever it cannot find out means "leave the read alone"; where no map can be made the
 * read runs exactly as asked and a notice says why.
 *
 * @module
 */

import { withoutGutter } from "./codecs.ts";
import { checkNumbers, quiet, WaymarkError } from "./errors.ts";
import type { WaymarkEvent } from "./events.ts";
import { estimateTokens, renderMap, renderNotice, type RenderNoticeOptions, stripAnnotations } from "./file_map.ts";
import { countLines, lineRange, spanLines } from "./lines.ts";
import type { LoadedFile } from "./map_maker.ts";
import { createMaps, failureReason, type Maps } from "./maps.ts";
import { checkNames, guardsName, type NameRules } from "./probe.ts";
import { createProject, type Project } from "./project.ts";
import { scanner } from "./summary/scanner.ts";
import type { Annotation, FileMap, FileSource, Middleware, Next, ReadCall, ReadOutcome, Summarizer } from "./types.ts";

/** Options of {@linkcode readGuard}. */
export interface ReadGuardOptions extends NameRules {
  /** Makes the maps. Default: the built-in line scanner. */
  readonly summarizer?: Summarizer | undefined;
  /** Where bytes come from, for tools that read somewhere else. Default: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** What a guard works with. */
export interface GuardParts {
  /** Finds and reads files. */
  readonly project: Pick<Project, "locate" | "window" | "read" | "identify">;
  /** Gets and makes maps. */
  readonly maps: Pick<Maps, "get">;
  /** Makes the map where `maps` fails, so that the read is shortened all the same. Absent: it runs as asked. */
  readonly fallback?: Pick<Maps, "get"> | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** Which names are guarded, beyond the built-in lists. */
  readonly names?: NameRules | undefined;
  /** Told of every cap and failure. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** A read that would return too many lines. */
interface Shortened {
  readonly file: LoadedFile;
  /** The bytes of the lines to show. */
  readonly window: Uint8Array;
  /** Bytes that follow them: so many lines at least, where there are as many. */
  readonly rest: (lines: number) => Uint8Array;
}

/** Files up to this size are read at once; larger ones are looked at in chunks, and read whole only where a map is made. */
const SMALL = 1 << 20;

/**
 * The read guard alone: a middleware for any read tool. It keeps nothing: one run of the summarizer for each long read.
 *
 * @example
 * ```ts
 * import { readGuard, wrap } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const lines = Array.from({ length: 300 }, (_, index) => `export const value${index} = ${index};`);
 * const source = { read: () => new TextEncoder().encode(lines.join("\n")) };
 * const read = ({ offset = 1, limit = 300 }: { path: string; offset?: number; limit?: number }) =>
 *   lines.slice(offset - 1, offset - 1 + limit).join("\n");
 *
 * const guarded = wrap(read, readGuard({ source }));
 * assertEquals((await guarded({ path: "values.ts" })).split("\n")[200], "");
 * ```
 */
export function readGuard(options: ReadGuardOptions = {}): Middleware {
  const { summarizer = scanner(), source, maxLines, include, exclude, onEvent } = options;
  const project = createProject({ cache: false, source }), maps = createMaps({ summarizer, onEvent });
  return guardReads({ project, maps, maxLines, names: { include, exclude }, onEvent });
}

/** The read guard over a project and its maps. */
export function guardReads(parts: GuardParts): Middleware {
  const { project, maps, fallback, maxLines = 200, names = {} } = parts;
  const emit = quiet(parts.onEvent);
  checkNumbers({ maxLines }, 1);
  checkNames(names);

  /** The file and the lines to show, if this read would return too many of it. */
  const probe = async (call: ReadCall): Promise<Shortened | undefined> => {
    if (!guardsName(call.path, names)) return undefined;
    const place = project.locate(call.path, call.cwd), { size } = place;
    const wanted = call.start + maxLines; // a line that must be there for the read to be too long
    if (size !== undefined && size < wanted) return undefined; // fewer bytes than lines
    if (size !== undefined && size > SMALL) {
      const { bytes, lines, more, cut } = project.window(place, call.start, maxLines);
      if (!cut && (lines < maxLines || !more)) return undefined;
      const rest = (lines: number): Uint8Array => project.window(place, wanted, lines).bytes;
      if (!cut) return { file: await project.identify(place, undefined, call.signal), window: bytes, rest };
    }
    const bytes = await project.read(place, call.signal);
    const { from, to, lines } = lineRange(bytes, call.start, maxLines);
    if (lines < maxLines || to === bytes.length) return undefined;
    const file = await project.identify(place, bytes);
    return { file, window: bytes.subarray(from, to), rest: () => bytes.subarray(to) };
  };

  /** The shortened read with the map beside it; marked to be made again where the map cannot be vouched for. */
  const cap = async (call: ReadCall, { window, rest }: Shortened, map: FileMap, next: Next): Promise<ReadOutcome> => {
    const { start, path, describe } = call;
    const outcome = await next({ ...call, count: maxLines });
    if (outcome.failed) return call.signal?.aborted ? outcome : { ...outcome, again: true };
    try {
      const expected = decode(window), more = (lines: number): string => decode(rest(lines)), { text: given } = outcome;
      const shown = given === undefined
        ? maxLines
        : verifiedLines(given, expected, more) || numberedLines(given, expected) ||
          verifiedLines(stripAnnotations(given), expected); // a guard within this one had its say
      if (shown === 0) {
        throw new WaymarkError(
          "changed",
          `Cannot give the map of ${path}: the lines returned are not those of the file it describes`,
        );
      }
      const end = start + shown - 1, { lines, maker } = map;
      const text = renderMap(map, { start, end, describe, unchecked: given === undefined });
      const asked = spanLines(lines, start, call.count);
      const left = estimateTokens(map.size * (asked - shown) / lines);
      emit({ type: "cap", path, asked, shown, tokensSaved: left - estimateTokens(text.length) });
      return annotated(outcome, { kind: "map", text, path, start, end, lines, maker });
    } catch (error) {
      return { ...annotated(outcome, failed(path, error)), again: true };
    }
  };

  /** Tells of a map that could not be made, or not vouched for; with the prose there is instead, perhaps. */
  const failed = (path: string, error: unknown, instead: Partial<FileMap> & RenderNoticeOptions = {}): Annotation => {
    const reason = failureReason(error), { prose, maker, lines, shortened } = instead;
    const message = error instanceof Error ? error.message : String(error);
    emit({ type: "failure", path, reason, message });
    const known = maker === undefined || lines === undefined ? {} : { maker, lines };
    return { kind: "notice", text: renderNotice(message, { prose, maker, shortened }), path, reason, ...known };
  };

  return async function readGuard(call, next) {
    const { start, count, programmatic, fresh, path, signal } = call;
    if ((count !== undefined && count <= maxLines) || start < 1 || programmatic || fresh) return await next(call);

    const long = await probe(call).catch(() => undefined);
    if (!long) return await next(call);

    let map: FileMap | undefined, error: unknown;
    try {
      ({ map } = await maps.get(long.file, { signal }));
      error = new WaymarkError("prose-only", `Cannot map ${path}: only a description could be made of it`);
    } catch (cause) {
      error = cause;
    }
    if (map?.regions.length) return await cap(call, long, map, next);
    if (signal?.aborted) return await next(call);
    const parsed = await fallback?.get(long.file, { signal }).catch(() => undefined);
    const shortened = parsed && parsed.map.regions.length > 0;
    const outcome = shortened ? await cap(call, long, parsed.map, next) : await next(call);
    return annotated(outcome, failed(path, error, { ...map, shortened: shortened && !outcome.again }));
  };
}

function annotated(outcome: ReadOutcome, annotation: Annotation): ReadOutcome {
  return { ...outcome, annotations: [...outcome.annotations, annotation] };
}

/** Long lines may be cut by the host: so many characters alike are enough. */
const ALIKE = 500;

/** Stands for bytes that are no UTF-8: a host that knows the encoding shows something else there. */
const UNDECODED = "\ufffd";

/** A host's own last words: in brackets or after dots, and about being cut. */
const FOOTER = /^\s*(?=[[(<]|\.\.\.).*\b(?:more|lines?|truncated|limit|offset|showing|continue|cut|bytes|end)\b/i;

/** Most lines a host's own banner has. */
const BANNER = 5;

/**
 * How many lines of the file a result shows, from the first expected one; 0 where one of them differs.
 *
 * A host may return fewer (its own limit in bytes): then its last line may be cut, and its own words in brackets may follow.
 * It may return more: a banner before, a footer behind, or, where it knows no limit, lines of `rest`, what follows in the
 * file; those count, unless something stands before: that may be lines the file does not have, and all numbers would be off.
 * Line endings and a byte order mark do not count, and of a line with bytes that are no UTF-8 only what comes before them.
 */
export function verifiedLines(text: string, window: string, rest: (lines: number) => string = () => ""): number {
  const expected = linesOf(window), whole = window.replace(/\n$/, ""), at = `\n${text}\n`.indexOf(`\n${whole}\n`);
  if (at >= 0) {
    const before = countLines(text.slice(0, at)), behind = text.slice(at + whole.length);
    const more = behind.length > 1 ? continued(linesOf(behind.slice(1)), rest) : 0;
    if (before === 0) return expected.length + more;
    return before > BANNER || more > 1 ? 0 : expected.length;
  }
  const lines = linesOf(text), same = alikeLines(lines, expected);
  if (same === expected.length) return same + continued(lines.slice(same), rest);
  if (same === lines.length) return same;
  const left = lines.slice(same).map(plain), cutLine = plain(expected[same]!).startsWith(left[0]!) ? 1 : 0;
  const footer = left.slice(cutLine).filter((line) => line.trim() !== "");
  return footer.length <= 2 && footer.every((line) => FOOTER.test(line)) && (footer.length || cutLine) ? same : 0;
}

/** The same for lines that all begin with rising numbers of their own, which were taken for the host's gutter. */
function numberedLines(text: string, window: string): number {
  const bare = withoutGutter(window);
  return bare !== window && countLines(bare) === countLines(window) ? verifiedLines(text, bare) : 0;
}

/** How many lines of the file go on behind those expected. */
function continued(shown: readonly string[], rest: (lines: number) => string): number {
  return shown.length ? alikeLines(shown, linesOf(rest(shown.length))) : 0;
}

/** How many lines two texts have alike from their starts. */
function alikeLines(shown: readonly string[], lines: readonly string[]): number {
  const most = Math.min(shown.length, lines.length);
  let same = 0;
  while (same < most && alike(shown[same]!, lines[same]!)) same++;
  return same;
}

/** The lines of a text; a final newline does not make one more. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function alike(shown: string, line: string): boolean {
  const is = plain(shown), want = plain(line), bad = want.indexOf(UNDECODED);
  if (is === want) return true;
  return bad >= 0 ? is.startsWith(want.slice(0, bad)) : want.length > ALIKE && is.startsWith(want.slice(0, ALIKE));
}

function plain(line: string): string {
  return line.replace(/^\ufeff/, "").replace(/\r$/, "");
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
