/**
 * The folders a server may read in, and a file opened in one of them.
 *
 * Promised: a file is read only where it really lies in one of the folders, links resolved, and it is the open file that is
 * checked, not its name; of a path outside nothing is told, not even whether there is a file. On Deno nothing prompts. A hard
 * link is a file of the folder it is in: who may put one there may put anything there. None of Waymark's own files is opened: to
 * close a database's file takes its locks from SQLite.
 *
 * @module
 */

import { constants, lstatSync, readlinkSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { WaymarkError } from "../errors.ts";
import { disk, diskFault } from "../files.ts";
import { pathKey, toDiskPath } from "../paths.ts";

/** A folder that may be read. */
export interface Folder {
  /** Its path as it was named, absolute. */
  readonly path: string;
  /** Its path, links resolved. */
  readonly real: string;
}

/** A file that lies in one of the folders. */
export interface Inside {
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
/** Waymark's own folder, wherever it is. */
const OWN = /[\\/]\.summaries(?:[\\/]|$)/;

/** A folder by its path or `file:` URL. Throws a {@linkcode WaymarkError} that says why it is none. */
export function toFolder(named: string): Folder {
  const path = toDiskPath(named, disk().cwd());
  if (path === undefined) {
    throw new WaymarkError("invalid-option", `Cannot read in ${named}: it is no path on this machine`);
  }
  try {
    const real = disk().realPath(path);
    if (disk().stat(real).isDirectory) return { path: DOTS.test(path) ? real : path, real };
  } catch (error) {
    if (error instanceof WaymarkError) throw error; // Deno was started without the permission
    throw new WaymarkError("invalid-option", `Cannot read in ${named}: ${reasonOf(error, "folder")}`, { cause: error });
  }
  throw new WaymarkError("invalid-option", `Cannot read in ${named}: it is not a folder`);
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
  if (path.length > MAX_PATH) refuse(`${path.slice(0, 80)}…`, "the path is longer than any may be");
  const absolute = toDiskPath(path, first.real);
  if (absolute === undefined) refuse(path, "it is no path on this machine; give one in the folder");
  const names = folders.slice(0, MAX_NAMED).map((folder) => folder.path).join(", ") +
    (folders.length > MAX_NAMED ? ` and ${folders.length - MAX_NAMED} more` : "");
  const outside = `it lies outside of ${names}, where files may be read; a relative path starts at ${first.path}`;
  let real: string;
  try {
    real = disk().realPath(absolute);
  } catch (error) {
    if (!isNamedInside(absolute, folders)) refuse(path, outside);
    refuse(path, `${reasonOf(error)}; a relative path starts at ${first.path}`, error);
  }
  const [folder] = folders.filter((folder) => isWithin(real, folder.real)).sort((a, b) =>
    b.real.length - a.real.length
  );
  if (!folder) refuse(path, outside);
  if (OWN.test(real)) refuse(path, "it is Waymark's own, where the maps are kept; summarize_file gives them");
  try {
    const { isFile, isDirectory } = disk().stat(real);
    if (isFile) return { real, folder };
    refuse(path, isDirectory ? "it is a folder; name a file in it" : "it is not a regular file");
  } catch (error) {
    if (error instanceof WaymarkError) throw error;
    refuse(path, reasonOf(error), error);
  }
}

/** Does something with a file while it is open. Throws as {@linkcode openInside} does. */
export async function withInside<Value>(
  path: string,
  folders: readonly Folder[],
  action: (handle: FileHandle) => Promise<Value>,
): Promise<Value> {
  const { handle } = await openInside(path, folders);
  try {
    return await action(handle);
  } finally {
    await handle.close();
  }
}

/** Opens a regular file that lies in one of the folders; whoever asked closes it. Throws as {@linkcode findInside} does. */
export async function openInside(path: string, folders: readonly Folder[]): Promise<Inside & { handle: FileHandle }> {
  const inside = findInside(path, folders), { real } = inside;
  let handle: FileHandle;
  try {
    handle = await open(real, READ);
  } catch (error) {
    refuse(path, reasonOf(error), error);
  }
  try {
    if (await isStillThere(handle, real)) return { ...inside, handle };
  } catch { /* it is gone */ }
  await handle.close();
  refuse(path, "another file was put in its place just now; read it again");
}

/** No link at the end of the path is followed, and no pipe waited for: what was a file may be something else by now. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** How often it is looked whether a path still leads to the open file. */
const LOOKS = 16;

/**
 * Whether the file that is open is the one at this path, with no link on the way. Linux says where an open file is; elsewhere,
 * and on Deno without all permissions, two looks at the path must agree: that a folder and a link to another are swapped
 * between just those two, so many times, is as good as impossible.
 */
async function isStillThere(handle: FileHandle, real: string): Promise<boolean> {
  const { ino, dev } = await handle.stat({ bigint: true }), opened = openedPath(handle, { ino, dev });
  if (opened !== undefined) return opened === real;
  for (let look = 0; look < LOOKS; look++) {
    if (disk().realPath(real) !== real) return false;
    const now = lstatSync(real, { bigint: true });
    if (!now.isFile() || now.ino !== ino || now.dev !== dev) return false;
  }
  return true;
}

/**
 * Where the system says an open file is; `undefined` where it does not, or may not be asked: Deno would prompt. The number of a
 * handle is the system's own only where that file is the same: Deno 2.3 counts its handles itself.
 */
function openedPath({ fd }: FileHandle, file: { readonly ino: bigint; readonly dev: bigint }): string | undefined {
  const link = `/proc/self/fd/${fd}`;
  try {
    if (!disk().mayRead(link)) return undefined;
    const { ino, dev } = statSync(link, { bigint: true });
    return ino === file.ino && dev === file.dev ? readlinkSync(link) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a path at which nothing is found would be in one of the folders: what is there of it on the way is, or the folder is gone. */
function isNamedInside(absolute: string, folders: readonly Folder[]): boolean {
  const named = folders.filter(({ path, real }) => isWithin(absolute, path) || isWithin(absolute, real));
  if (!named.length || named.some(({ real }) => !disk().exists(real))) return named.length > 0; // the folder itself is gone
  for (let at = absolute.length; at > 0;) {
    at = Math.max(absolute.lastIndexOf("/", at - 1), absolute.lastIndexOf("\\", at - 1));
    try {
      const real = disk().realPath(absolute.slice(0, at) || "/");
      return folders.some((folder) => isWithin(real, folder.real));
    } catch { /* nothing there either */ }
  }
  return false;
}

function isWithin(path: string, folder: string): boolean {
  const key = pathKey(path, folder);
  return key !== undefined || pathKey(`${path}/x`, folder) === "x";
}

function reasonOf(error: unknown, what = "file"): string {
  const fault = diskFault(error);
  if (fault === "other") return error instanceof Error ? error.message : String(error);
  if (fault === "absent") return `there is no such ${what}`;
  return error instanceof WaymarkError ? error.message.replace(/^.*?: /, "") : "permission denied";
}

function refuse(path: string, reason: string, cause?: unknown): never {
  const code = diskFault(cause) === "absent" ? "not-found" : "not-allowed";
  throw new WaymarkError(code, `Cannot read ${path}: ${reason}`, cause === undefined ? {} : { cause });
}
