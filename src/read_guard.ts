/**
 * The read guard: a read of more than 200 lines returns 200 lines and the file's whole map.
 *
 * It never blocks and never raises. Whatever it cannot find out means "leave the read alone"; where no map can be made the
 * read runs exactly as asked and a notice says why.
 *
 * @module
 */

import { checkNumbers, quiet, WaymarkError } from "./errors.ts";
import { estimateTokens, renderMap, renderMapReference, renderNotice } from "./file_map.ts";
import type { RenderNoticeOptions } from "./file_map_types.ts";
import type { GuardParts, ReadGuardOptions, Shortened, ShortenedCall, Told } from "./guard_types.ts";
import { countLines, lineRange, spanLines } from "./lines.ts";
import { createMaps, failureReason } from "./maps.ts";
import { checkNames, guardsName, matches } from "./probe.ts";
import { createProject } from "./project.ts";
import { exactLines } from "./residency.ts";
import type { Conversation } from "./conversation.ts";
import { conversationOf } from "./session.ts";
import { scanner } from "./summary/scanner.ts";
import type { Annotation, FileMap, Middleware, Next, ReadCall, ReadOutcome } from "./types.ts";

/** Loaded with the first long read: most reads are short. */
let verifying: Promise<typeof import("./verify.ts")> | undefined;

/** Larger files are looked at in chunks, and read whole only where a map is made. */
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
  const { summarizer = scanner(), source, maxLines, include, exclude, session, onEvent } = options;
  const project = createProject({ cache: false, source }), maps = createMaps({ summarizer, onEvent });
  const conversation = (call: ReadCall) => conversationOf(call, session);
  return guardReads({ project, maps, maxLines, names: { include, exclude }, conversationOf: conversation, onEvent });
}

/** The read guard over a project and its maps. */
export function guardReads(parts: GuardParts): Middleware {
  const { project, maps, fallback, maxLines = 200, names = {}, conversationOf = () => undefined } = parts;
  const emit = quiet(parts.onEvent);
  checkNumbers({ maxLines }, 1);
  checkNames(names);
  const { exclude = [] } = names, anchored = exclude.filter((glob) => glob.startsWith("/"));

  /** The file and the lines to show, if this read would return too many. */
  const probe = async (call: ReadCall): Promise<Shortened | undefined> => {
    const place = project.locate(call.path, call.cwd), { size, real } = place;
    const wanted = call.start + maxLines; // a line that must be there for the read to be too long
    if (size !== undefined && size < wanted) return undefined; // fewer bytes than lines
    if (size !== undefined && size > SMALL) {
      const { bytes, lines, more, cut } = project.window(place, call.start, maxLines);
      if (!cut && (lines < maxLines || !more)) return undefined;
      const rest = (lines: number): Uint8Array => project.window(place, wanted, lines).bytes;
      if (!cut) {
        return { file: await project.identify(place, undefined, call.signal), real, size, window: () => bytes, rest };
      }
    }
    const bytes = await project.read(place, call.signal), { from, to, lines } = lineRange(bytes, call.start, maxLines);
    if (lines < maxLines || to === bytes.length) return undefined;
    const file = await project.identify(place, bytes), rest = (): Uint8Array => bytes.subarray(to);
    return { file, real, size: bytes.length, window: () => bytes.subarray(from, to), rest };
  };

  /** The same in a conversation: the file is read and hashed anyway, and its map may have been given. */
  const probeFor = async (call: ReadCall, conversation: Conversation): Promise<Shortened | undefined> => {
    const { path, start } = call, read = await project.snapshot(call, conversation.holder({ start, count: maxLines }));
    const { real, hash, size, bytes, closed } = read, given = conversation.mapOf(real, hash, call);
    let range: ReturnType<typeof lineRange> | undefined;
    const find = () => range ??= lineRange(bytes(), start, maxLines);
    const isLong = given ? spanLines(given.lines, start) > maxLines : find().lines === maxLines && find().to < size;
    if (!isLong) return void project.share(call, read);
    const file = given ? undefined : await project.identify({ path, real, closed }, { bytes: bytes(), hash });
    const window = (): Uint8Array => bytes().subarray(find().from, find().to);
    return { file, real, given, read, size, window, rest: () => bytes().subarray(find().to) };
  };

  const shownOf = async ({ text = "", result }: ReadOutcome, { window, rest }: Shortened): Promise<number> => {
    const { shownLines } = await (verifying ??= import("./verify.ts"));
    const look = (text: string) => shownLines(text, decode(window()), (lines) => decode(rest(lines)));
    return look(text) || (typeof result === "string" ? look(result) : 0); // numbers may be the file's own
  };

  /** The shortened read with the map beside it; to be made again where that cannot be vouched for. */
  const cap = async (call: ReadCall, long: Shortened, map: Told, next: Next): Promise<ReadOutcome> => {
    const { start, path, describe, signal } = call, { window, rest, size } = long, { kind, lines, maker, isNow } = map;
    // A layer within may answer only from the bytes the map is of.
    const answerable = Boolean(call.answerable && isNow && long.read);
    const inner: ShortenedCall = {
      ...call,
      count: maxLines,
      answerable,
      ...long.read && { shortened: { whole: call } },
    };
    if (isNow && long.read) project.share(inner, long.read);
    const outcome = await next(inner), referred = !("result" in outcome);
    if (outcome.failed) return signal?.aborted ? outcome : { ...outcome, again: true };
    try {
      const isTold = outcome.text !== undefined;
      const shown = isTold ? await shownOf(outcome, long) : spanLines(lines, start, maxLines);
      if (shown === 0) {
        throw new WaymarkError(
          "changed",
          `Cannot give the map of ${path}: the lines returned are not those of the file it describes`,
        );
      }
      const end = start + shown - 1, unchecked = !isTold && !referred;
      const text = map.render({ start, end, describe, unchecked, referred });
      const asked = spanLines(lines, start, call.count), left = estimateTokens(size * (asked - shown) / lines);
      emit({ type: "cap", path, asked, shown, tokensSaved: left - estimateTokens(text.length) });
      const { stands } = outcome;
      const isSame = (text: string): boolean =>
        exactLines(text, decode(window()) + decode(rest(Infinity)), "") >= countLines(text);
      const told = annotated({ ...outcome, ...stands && { stands: (text) => stands(text) && isSame(text) } }, {
        kind,
        text,
        path,
        start,
        end,
        lines,
        ...maker !== undefined && { maker },
      });
      return unchecked ? told : noted(told, map.note?.(text, inner.shortened?.asked));
    } catch (error) {
      return { ...annotated(outcome, failed(path, error)), again: true };
    }
  };

  /** Tells of a map that could not be made or vouched for, perhaps with the prose there is. */
  const failed = (path: string, error: unknown, instead: Partial<FileMap> & RenderNoticeOptions = {}): Annotation => {
    const reason = failureReason(error), { prose, maker, lines, shortened } = instead;
    const message = error instanceof Error ? error.message : String(error);
    emit({ type: "failure", path, reason, message });
    const known = maker === undefined || lines === undefined ? {} : { maker, lines };
    return { kind: "notice", text: renderNotice(message, { prose, maker, shortened }), path, reason, ...known };
  };

  return async function readGuard(call, next) {
    const { start, count, programmatic, path, signal } = call;
    if (start < 1 || programmatic) return await next(call);
    const conversation = conversationOf(call), era = conversation?.era;
    if (call.fresh || conversation?.insists(call)) return await next(call.fresh ? call : { ...call, fresh: true });
    if (count !== undefined && count <= maxLines) return await next(call);

    if (!guardsName(path, names)) return await next(call);
    let long: Shortened | undefined;
    try {
      long = await (conversation ? probeFor(call, conversation) : probe(call));
    } catch {
      // A file that is none, or may not be read.
    }
    if (!long) return await next(call);

    const { file, real, given, read } = long;
    // By any link or relative path, too.
    if (file && (matches(file.key, exclude) || matches(real, anchored))) return await next(call);
    if (given) {
      const render: Told["render"] = (options) => renderMapReference(given, conversation!.turn > 0, options);
      return await cap(call, long, { kind: "reference", lines: given.lines, isNow: true, render }, next);
    }
    const whole = (map: FileMap, isNow: boolean): Told => ({
      kind: "map",
      lines: map.lines,
      maker: map.maker,
      isNow,
      render: (options) => renderMap(map, options),
      note(text, asked) {
        if (!read || era !== conversation?.era || signal?.aborted) return undefined; // its result may be nowhere
        const { lines } = map, { callId } = call, { real, hash } = read;
        const given = { kind: "map", file: real, path, hash, lines, start: 0, end: 0, text, callId } as const;
        return conversation?.recordBeside(asked, given);
      },
    });
    let map: FileMap | undefined, hit = false, error: unknown;
    try {
      ({ map, hit } = await maps.get(file!, { signal }));
      error = new WaymarkError("prose-only", `Cannot map ${path}: only a description could be made of it`);
    } catch (cause) {
      error = cause;
    }
    if (map?.regions.length) return await cap(call, long, whole(map, hit), next);
    if (signal?.aborted) return await next(call);
    const parsed = await fallback?.get(file!, { signal }).catch(() => undefined);
    const shortened = parsed && parsed.map.regions.length > 0;
    const outcome = shortened ? await cap(call, long, whole(parsed.map, false), next) : await next(call);
    const { text, again } = outcome,
      isRead = !map || !again && (text === undefined || await shownOf(outcome, long).catch(() => 0) > 0);
    const notice = failed(path, error, { ...isRead && map, shortened: shortened && !again }); // a refusal gets no prose
    return outcome.failed && !again ? outcome : annotated(outcome, notice);
  };
}

function annotated(outcome: ReadOutcome, annotation: Annotation): ReadOutcome {
  return { ...outcome, annotations: [...outcome.annotations, annotation] };
}

/** An outcome that can be taken back. */
function noted(outcome: ReadOutcome, takeBack: (() => void) | undefined): ReadOutcome {
  return takeBack ? { ...outcome, discard: () => (takeBack(), outcome.discard?.()) } : outcome;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
