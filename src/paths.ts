/**
 * Where a path leads, and the key a file's map is kept under.
 *
 * Promised: a path is taken as a plain reader takes it, or not at all; a name of another machine is refused before anything
 * touches the disk; one file has one key. Pure: the disk that {@linkcode findRoot} asks is handed in.
 *
 * @module
 */

import type { Disk, PathKeyOptions } from "./disk_types.ts";

/** Names of another machine or of a device: `\\host\share`, `//host/share`, `\\?\`, `\\.\`, `\??\`. */
const REMOTE = /^(?:[\\/]{2}|\\\?\?\\)/;
/** The same as a URL, which parsers may tidy into a local one. */
const REMOTE_URL = /^file:[\\/]{4}/i;
const DRIVE = /^[a-z]:[\\/]/i;

/**
 * The absolute path a plain reader would open: relative to `cwd`, file URLs decoded once, `~` a name like any other, nothing
 * tidied (`..` is the file system's to resolve). `undefined` for what is no path on this machine.
 */
export function toDiskPath(path: unknown, cwd?: string): string | undefined {
  const named = path instanceof URL ? path.href : path;
  if (typeof named !== "string" || REMOTE_URL.test(named)) return undefined;
  const file = /^file:/i.test(named) ? fromFileUrl(named) : named;
  if (!file || file.includes("\0") || REMOTE.test(file) || /^[a-z][a-z\d+.-]+:\/\//i.test(file)) return undefined;
  const windows = DRIVE.test(cwd ?? file);
  if (windows ? DRIVE.test(file) || /^[\\/]/.test(file) : file.startsWith("/")) return file;
  return cwd && (windows ? `${cwd.replace(/[\\/]$/, "")}\\${file}` : `${cwd.replace(/\/$/, "")}/${file}`);
}

function fromFileUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.hostname !== "" && url.hostname !== "localhost") || /%2f|%5c/i.test(url.pathname)) return undefined;
  try {
    return decodeURIComponent(url.pathname).replace(/^\/(?=[a-z]:\/)/i, "");
  } catch {
    return undefined; // a percent sign that begins no escape
  }
}

/** The path relative to the root, with `/` between segments. `undefined` for the root itself and for everything outside it. */
export function pathKey(realPath: string, root: string | undefined, options: PathKeyOptions = {}): string | undefined {
  if (root === undefined) return undefined;
  const { windows = /^(?:\\\\\?\\)?[a-z]:/i.test(root) } = options;
  const file = segments(realPath, windows), base = segments(root, windows);
  return file.length > base.length && base.every((name, index) => name === file[index])
    ? file.slice(base.length).join("/")
    : undefined;
}

function segments(path: string, windows: boolean): string[] {
  const plain = windows ? path.replace(/^\\\\\?\\/, "").replaceAll("\\", "/").toLowerCase() : path;
  const names: string[] = [];
  for (const name of plain.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names;
}

/** What marks a project's root: the first list wins wherever it stands. */
const MARKERS = [[".git"], ["deno.json", "package.json"]];

/**
 * The project's root: the nearest ancestor of `cwd` (or itself) with `.git`, failing that with `deno.json` or
 * `package.json`. Never `/`, a drive or the home directory itself; `undefined` where there is none or none may be looked for.
 */
export function findRoot(
  cwd: string | undefined,
  disk: Pick<Disk, "exists" | "home" | "realPath">,
): string | undefined {
  const home = disk.home(), realHome = home && real(home, disk).replace(/[\\/]+$/, ""), folders: string[] = [];
  for (let folder = cwd?.replace(/[\\/]+$/, ""); folder && !/^[a-z]:$/i.test(folder); folder = parentOf(folder)) {
    // Where the home directory may not be known, whatever looks like one is taken for it.
    const isHome = home ? real(folder, disk) === realHome : HOME.test(folder);
    if (!isHome) folders.push(folder);
  }
  for (const names of MARKERS) {
    const root = folders.find((folder) => names.some((name) => disk.exists(`${folder}/${name}`)));
    if (root) return root;
  }
  return undefined;
}

const HOME = /^(?:\/root|(?:[a-z]:)?[\\/](?:home|users)[\\/][^\\/]+)$/i;

/** A path without its last name. */
export function parentOf(path: string): string {
  const at = path.startsWith("/") ? path.lastIndexOf("/") : path.search(/[\\/][^\\/]*$/);
  return path.slice(0, Math.max(0, at));
}

function real(path: string, disk: Pick<Disk, "realPath">): string {
  try {
    return disk.realPath(path);
  } catch {
    return path;
  }
}
