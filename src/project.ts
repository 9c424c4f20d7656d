/**
 * Where a path leads: the file's bytes, the key its map is kept under, and the cache it is kept in.
 *
 * Every file that may not be summarized is refused here, with an error that says why; the read guard then leaves
 * the read alone, the `summarize_file` tool shows it.
 *
 * @module
 */

import type { SummaryCache } from "./cache/types.ts";
import { checkNumbers, oneLine, WaymarkError } from "./errors.ts";
import type { FileFacts } from "./disk_types.ts";
import { disk, readSource, realOr, sha256, wayTo } from "./files.ts";
import { lineWindow } from "./lines.ts";
import { findRoot, pathKey, toDiskPath } from "./paths.ts";
import { isSecretPath, looksBinary } from "./probe.ts";
import type { Place, Project, ProjectOptions, Snapshot } from "./project_types.ts";
import type { FileSource, ReadCall } from "./types.ts";

/** Most paths remembered as real ones. */
const MAX_REALS = 512;

let lookAt: typeof import("./hash_file.ts").lookAt | undefined;

/** Makes a project. Opens nothing yet. */
export function createProject(options: ProjectOptions): Project {
  const { root: given, roots, source, timeoutMs = 60_000, maxFileBytes = 32 << 20, ...others } = options;
  const { cache: keeps = true, ...cacheOptions } = others;
  checkNumbers({ maxFileBytes }, 0);
  if (roots !== undefined && !(Array.isArray(roots) && roots.every((folder) => folder && typeof folder === "string"))) {
    throw new WaymarkError("invalid-option", `Cannot use ${roots} as roots: give a list of folders`);
  }
  const inMemory = async (): Promise<SummaryCache> =>
    // loaded late: most files are in the project, whose cache is on disk
    (await import("./cache/memory.ts")).memoryCache({ maxPaths: keeps ? 512 : 0 });
  let besides: Promise<SummaryCache> | undefined; // of files outside the root, or of all where nothing is kept
  const outside = (): Promise<SummaryCache> => besides ??= inMemory();
  const reals = new Map<string, { ino: number; dev: number }>(), shared = new WeakMap<ReadCall, Snapshot>();
  let opened: Promise<SummaryCache> | undefined, closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  let root: string | undefined, rooted = false, fences: readonly string[] | undefined;

  const findOwnRoot = (): string | undefined => {
    if (!rooted) {
      const wanted = given === undefined ? findRoot(disk().cwd(), disk()) : toDiskPath(given, disk().cwd());
      root = wanted === undefined ? undefined : realOr(wanted);
      rooted = true;
    }
    return root;
  };
  const openOnce = async (): Promise<SummaryCache> => {
    if (!keeps) return await outside();
    const { openCache } = await import("./cache/cache.ts"); // short reads need none of it
    return await openCache({ ...cacheOptions, root: findOwnRoot() });
  };
  const cache = (): Promise<SummaryCache> => opened ??= openOnce();
  const hold = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const held = work(), forget = (): void => void underWay.delete(held);
    underWay.add(held);
    held.then(forget, forget);
    return held;
  };

  /**
   * The real path, asked anew when another file stands at this one, and always where there are fences. Never remembered
   * where there is a link on the way: it may lead elsewhere by then.
   */
  const realPathOf = (absolute: string, { ino, dev }: FileFacts): string => {
    const known = reals.get(absolute);
    if (!roots && known && ino && known.ino === ino && known.dev === dev) return absolute;
    const real = disk().realPath(absolute);
    if (real.includes("\ufffd") && disk().stat(real).ino !== ino) throw new Error("its name is not UTF-8");
    if (reals.size >= MAX_REALS) reals.clear();
    if (real === absolute) reals.set(absolute, { ino, dev });
    return real;
  };

  const refuseSecret = (path: string, real: string): void => {
    if (isSecretPath(real)) {
      throw new WaymarkError("not-allowed", `Cannot summarize ${path}: it is a file that holds secrets`);
    }
  };
  /** By the real path, also of what is not there: the words tell nothing of what lies outside. */
  const refuseOutside = (path: string, real: string | undefined): void => {
    fences ??= (roots ?? []).flatMap((folder) => {
      const named = toDiskPath(folder, disk().cwd()) ?? (source && folder); // a source's names and links are its own
      return named === undefined ? [] : source ? named : realOr(named);
    });
    if (roots && !fences.some((folder) => real !== undefined && pathKey(real, folder) !== undefined)) {
      throw new WaymarkError(
        "not-allowed",
        `Cannot summarize ${path}: it does not lie in the folders this host allows`,
      );
    }
  };
  const refuseSize = (path: string, size: number): void => {
    if (size > maxFileBytes) {
      const why = `${size} bytes is over the limit of ${maxFileBytes}`;
      throw new WaymarkError("too-large", `Cannot summarize ${path}: ${why}`);
    }
  };

  const readAny = async ({ path, real, facts, closed }: Place, signal?: AbortSignal): Promise<Uint8Array> => {
    const reading = source
      ? hold(() => readFrom(source, real, { signal, closed, timeoutMs }))
      : readSource(real, { maxBytes: maxFileBytes, signal, facts }).then((read) => read?.bytes);
    const bytes = await reading.catch((cause) => {
      throw unread(path, cause, signal);
    });
    if (!bytes) throw unread(path);
    refuseSize(path, bytes.length);
    return bytes;
  };

  const project: Project = {
    root: findOwnRoot,
    cache,
    locate(path, cwd) {
      const absolute = toDiskPath(path, cwd ?? disk().cwd()) ?? (source && path); // a source has names of its own
      if (absolute === undefined) throw unread(path, "it is not a path on this machine");
      if (!reals.has(absolute)) refuseSecret(path, absolute); // what is remembered was not refused
      const closed = closing.signal;
      if (source) return refuseOutside(path, absolute), { path, real: absolute, closed };
      let facts: FileFacts, real: string;
      try {
        facts = disk().stat(absolute);
        real = realPathOf(absolute, facts);
      } catch (cause) {
        if (roots) refuseOutside(path, wayTo(absolute));
        throw unread(path, cause);
      }
      refuseOutside(path, real); // first: of what lies outside nothing is told
      if (real !== absolute) refuseSecret(path, real);
      if (!facts.isFile) throw unread(path);
      refuseSize(path, facts.size);
      return { path, real, size: facts.size, facts, closed };
    },
    window({ path, real }, start, count) {
      const file = disk().open(real);
      let first = true;
      const read = (buffer: Uint8Array): number => {
        const length = file.read(buffer);
        if (first) refuseBinary(path, buffer.subarray(0, length));
        first = false;
        return length;
      };
      try {
        return lineWindow({ read }, start, count);
      } finally {
        file.close();
      }
    },
    async keep({ real }) {
      const base = findOwnRoot(), key = pathKey(real, base);
      // Without a root it is in memory too, and says so.
      return key === undefined && base !== undefined
        ? { key: real, cache: await outside() }
        : { key: key ?? real, cache: await cache() };
    },
    async read(place, signal) {
      const bytes = await readAny(place, signal);
      refuseBinary(place.path, bytes);
      return bytes;
    },
    async snapshot(call, known) {
      const lent = shared.get(call);
      if (lent) return shared.delete(call), lent;
      const place = project.locate(call.path, call.cwd), { real, facts, closed } = place;
      const suffices = facts && known?.(real);
      if (suffices) lookAt ??= (await import("./hash_file.ts")).lookAt; // a first read needs none of it
      const look = suffices && lookAt!(real, facts);
      if (look && suffices(look.hash)) return { real, closed, ...look };
      const bytes = look?.bytes() ?? await readAny(place, call.signal), hash = look?.hash ?? await sha256(bytes);
      refuseSize(place.path, bytes.length);
      refuseBinary(place.path, bytes);
      return { real, closed, hash, size: bytes.length, bytes: () => bytes };
    },
    share: (call, snapshot) => void shared.set(call, snapshot),
    async identify(place, read, signal) {
      const { bytes, hash: known } = read instanceof Uint8Array ? { bytes: read } : read ?? {};
      const { path, real, closed } = place;
      const hashed = known ?? (bytes ? sha256(bytes) : hashLarge(place, signal));
      const [hash, kept] = await Promise.all([hashed, project.keep(place)]);
      const content = async (): Promise<{ bytes: Uint8Array; hash: string }> => {
        if (bytes) return { bytes, hash };
        const now = await project.read({ path, real, closed }); // another moment: asked anew
        return { bytes: now, hash: await sha256(now) };
      };
      return { path, hash, content, hold: (work) => hold(() => work(closed)), ...kept };
    },
    async close() {
      const open = [besides, opened];
      closing.abort();
      closing = new AbortController(); // a later read is another's, and kept in memory
      [besides, opened] = [undefined, inMemory()];
      await Promise.allSettled(underWay);
      for (const cache of open) (await cache)?.close();
    },
  };
  return project;
}

/** A copy of what a source gives, which may use its buffer again; the wait for it ends with the read, or in time. */
async function readFrom(
  source: FileSource,
  path: string,
  { signal, closed, timeoutMs }: { signal: AbortSignal | undefined; closed: AbortSignal; timeoutMs: number },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const copy = (bytes: Uint8Array | undefined) =>
    bytes && Uint8Array.prototype.slice.call(bytes) as Uint8Array<ArrayBuffer>;
  const given = source.read(path, signal);
  if (!(given instanceof Promise)) return copy(given);
  const copied = given.then(copy);
  copied.catch(() => {}); // nobody waits for it yet
  const { createDeadline, withSignal } = await import("./waiting.ts");
  const deadline = createDeadline(timeoutMs, { signals: [signal, closed] });
  return await withSignal(copied, deadline.signal).finally(deadline.end);
}

function refuseBinary(path: string, bytes: Uint8Array): void {
  if (looksBinary(bytes)) throw new WaymarkError("not-text", `Cannot summarize ${path}: it is not a text file`);
}

async function hashLarge({ path, real }: Place, signal: AbortSignal | undefined): Promise<string> {
  const { hashFile } = await import("./hash_file.ts");
  const hashed = await hashFile(real, { signal });
  if (!hashed) throw unread(path);
  return hashed.hash;
}

/** Why a file is not read, as an error of ours. */
function unread(path: string, cause: unknown = "it is not a regular file", signal?: AbortSignal): WaymarkError {
  if (cause instanceof WaymarkError) return cause;
  const name = signal?.aborted ? "AbortError" : (cause as Error)?.name;
  const code = name === "AbortError" ? "aborted" : name === "TimeoutError" ? "timeout" : "not-found";
  return new WaymarkError(code, `Cannot read ${path}: ${oneLine(cause)}`, { cause });
}
