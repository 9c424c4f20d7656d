/**
 * The folders a server may read in, and where a path in them leads.
 *
 * Promised: a file is read only where it really lies in one of the folders, links resolved; of a path outside nothing is
 * told, not even whether there is a file, wherever a link in a folder leads. A name that is not UTF-8 is never taken for another.
 * On Deno nothing prompts. A hard link is a file of the folder it is in: who may put one there may put anything there. None of
 * Waymark's own files is read: to close a database's file takes its locks from SQLite.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { disk, diskFault, wayTo } from "../files.ts";
import { pathKey, toDiskPath } from "../paths.ts";
import { shortened } from "./words.ts";

/** A folder that may be read. */
export interface Folder {
  /** Its path as it was named, absolute. */
  readonly path: string;
  /** Its path, links resolved. */
  readonly real: string;
}

/** A file that lies in one of the folders. */
export interface Inside {
  /** Its path as it was named, absolute. */
  readonly absolute: string;
  /** Its path, links resolved. */
  readonly real: string;
  /** The innermost of the folders it lies in. */
  readonly folder: Folder;
}

/** Names that are told as what they lead to. */
const DOTS = /(?:^|[\\/])\.{1,2}(?:[\\/]|$)/;
/** So many folders are named where a file lies in none of them. */
const MAX_NAMED = 20;
/** More than any system takes: what is longer is not looked for, name by name. */
const MAX_PATH = 4096;
/** Why a file is refused whose bytes of a name stand for nothing. */
const NO_UTF8 = "a name in its path is not UTF-8; rename it";
/** Waymark's own folder, wherever it is. */
const OWN = /[\\/]\.summaries(?:[\\/]|$)/;

/** A folder by its path or `file:` URL. Throws a {@linkcode WaymarkError} that says why it is none. */
export function toFolder(named: string): Folder {
  const path = toDiskPath(named, disk().cwd());
  const refuse = (reason: string, options?: ErrorOptions): never => {
    throw new WaymarkError("invalid-option", `Cannot read in ${named || '""'}: ${reason}`, options);
  };
  if (path === undefined) return refuse(named ? "it is no path on this machine" : "it names no folder; give its path");
  try {
    const real = disk().realPath(path);
    if (!isSame(path, real)) return refuse(NO_UTF8);
    if (disk().stat(real).isDirectory) return { path: DOTS.test(path) ? real : path, real };
  } catch (error) {
    if (error instanceof WaymarkError) throw error; // such as that Deno was started without the permission
    return refuse(reasonOf(error, "folder"), { cause: error });
  }
  return refuse("it is not a folder");
}

/**
 * The folders that both sides allow: what the client names, where it lies in what the server was started for, and the other
 * way round. Where the server was started for none, the client's; where the client names none, the server's.
 */
export function commonFolders(own: readonly Folder[], named: readonly Folder[] | undefined): readonly Folder[] {
  const common = named?.flatMap((folder) =>
    !own.length || own.some(({ real }) => isWithin(folder.real, real))
      ? [folder]
      : own.filter(({ real }) => isWithin(real, folder.real))
  );
  const seen = new Set<string>();
  return (common ?? own).filter(({ real }) => !seen.has(real) && seen.add(real));
}

/** Where the path of a regular file leads. A relative one starts at the first folder. Throws a {@linkcode WaymarkError} that says what to do instead. */
export function findInside(path: string, folders: readonly Folder[]): Inside {
  const [first] = folders;
  if (!first) {
    refuse(
      path,
      "no folder may be read; start the server with --root DIR, a folder that the client names too if it names any",
    );
  }
  if (path.length > MAX_PATH) refuse(shortened(path, 80), "the path is longer than any may be");
  const absolute = toDiskPath(path, first.real);
  if (absolute === undefined) refuse(path, "it is no path on this machine; give one in the folder");
  const names = folders.slice(0, MAX_NAMED).map((folder) => folder.path).join(", ") +
    (folders.length > MAX_NAMED ? ` and ${folders.length - MAX_NAMED} more` : "");
  const start = `a relative path starts at ${first.path}`;
  const isNamed = folders.some((folder) => isWithin(absolute, folder.path) || isWithin(absolute, folder.real));
  const link = isNamed ? ", or behind a link that leads nowhere or to a name that is not UTF-8" : "";
  const outside = `it lies outside of ${names}, where files may be read${link}; ${start}`;
  let real: string;
  try {
    real = disk().realPath(absolute);
  } catch (error) {
    if (!isNamed || !leadsInside(absolute, folders)) refuse(path, outside);
    refuse(path, `${reasonOf(error)}; ${start}`, error);
  }
  const [folder] = folders.filter((folder) => isWithin(real, folder.real)).sort((a, b) =>
    b.real.length - a.real.length
  );
  if (!folder) refuse(path, outside);
  if (!isSame(absolute, real)) refuse(path, NO_UTF8);
  if (OWN.test(real)) refuse(path, "it is Waymark's own, where the maps are kept; summarize_file gives them");
  try {
    const { isFile, isDirectory } = disk().stat(real);
    if (isFile) return { absolute, real, folder };
    refuse(path, isDirectory ? "it is a folder; name a file in it" : "it is not a regular file");
  } catch (error) {
    if (error instanceof WaymarkError) throw error;
    refuse(path, reasonOf(error), error);
  }
}

/** Whether a path that is named in one of the folders and leads to no file would lie in one of them, or the folder is gone. */
function leadsInside(absolute: string, folders: readonly Folder[]): boolean {
  const named = folders.filter(({ path, real }) => isWithin(absolute, path) || isWithin(absolute, real));
  if (named.some(({ real }) => !disk().exists(real))) return true;
  const way = wayTo(absolute);
  return way !== undefined && folders.some(({ real }) => isWithin(way, real));
}

/**
 * Whether the real path of something is a name of it. Node and Bun decode what is not UTF-8 all the same, and what they make
 * of it may be the name of another file.
 */
function isSame(named: string, real: string): boolean {
  if (!real.includes("\ufffd")) return true;
  try {
    const one = disk().stat(named), other = disk().stat(real);
    return one.ino === other.ino && one.dev === other.dev;
  } catch {
    return false;
  }
}

/** Whether a path is a folder or lies in it. */
function isWithin(path: string, folder: string): boolean {
  return pathKey(`${path}/x`, folder) !== undefined;
}

/** Why the disk would not, in words. */
export function reasonOf(error: unknown, what = "file"): string {
  const fault = diskFault(error);
  if (fault === "other") return error instanceof Error ? error.message : String(error);
  if (fault === "absent") return `there is no such ${what}`;
  return error instanceof WaymarkError ? error.message.replace(/^.*?: /, "") : "permission denied";
}

/** Throws what says that a file is not read, and why. */
export function refuse(path: string, reason: string, cause?: unknown): never {
  const code = diskFault(cause) === "absent" ? "not-found" : "not-allowed";
  throw new WaymarkError(code, `Cannot read ${path}: ${reason}`, cause === undefined ? {} : { cause });
}
