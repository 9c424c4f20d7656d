/**
 * The read guard: a read of more than 200 lines returns 200 lines and the file's whole map.
 *
 * It never blocks and never raises. Whatever it cannot find out means "leave the read alone"; where no map can be made the
 * read runs exactly as asked and a notice says why.
 *
 * @module
 */

import { checkNumbers, quiet, WaymarkError } from "./errors.ts";
import type { WaymarkEvent } from "./events.ts";
import { estimateTokens, renderMap, renderNotice, type RenderNoticeOptions } from "./file_map.ts";
import { lineRange, spanLines } from "./lines.ts";
import type { LoadedFile } from "./map_maker.ts";
import { createMaps, failureReason, type Maps } from "./maps.ts";
import { checkNames, guardsName, type NameRules } from "./probe.ts";
import { createProject, type Project } from "./project.ts";
import { scanner } from "./summary/scanner.ts";
import type { Annotation, FileMap, FileSource, Middleware, Next, ReadCall, ReadOutcome, Summarizer } from "./types.ts";
import { shownLines } from "./verify.ts";

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
 * const lines = Array.from({ length: 300 }, (_, index) => `export function f${index}() {}`);
 * const source = { read: () => new TextEncoder().encode(lines.join("\n")) };
 * const read = ({ offset = 1, limit = 300 }: { path: string; offset?: number; limit?: number }) =>
 *   lines.slice(offset - 1, offset - 1 + limit).join("\n");
 *
 * const guarded = wrap(read, readGuard({ source }));
 * assertEquals((await guarded({ path: "functions.ts" })).split("\n")[200], "");
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
      const { text: given } = outcome, more = (lines: number): string => decode(rest(lines));
      const shown = given === undefined ? maxLines : shownLines(given, decode(window), more);
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

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
