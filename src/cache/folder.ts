/**
 * The folder `.summaries/` and whether what lies in it may be trusted.
 *
 * Promised: a folder or file that is not plainly this user's own is refused; a database is moved aside, never deleted, never
 * overwritten. Files of the database are only ever looked at from outside: opening one by hand drops SQLite's locks.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type { FileFacts } from "../disk_types.ts";
import { disk, diskFault, realOr } from "../files.ts";

const FOLDER = ".summaries", FILE = "summaries.db";
/** What SQLite keeps beside a database. */
const SIDES = ["-wal", "-shm"];
/** Databases of one kind that are moved aside before somebody must clear up. */
const MOST_ASIDE = 9;
/** A larger git index is not searched. */
const MAX_INDEX_BYTES = 64 << 20;

function refuse(reason: string): never {
  throw new WaymarkError("cache", `Cannot keep maps on disk: ${reason}`);
}

/** The database's path under a root, its folder made and private. Throws a {@linkcode WaymarkError} that says why not. */
export function prepareFolder(root: string): string {
  const real = disk().realPath(root), home = disk().home();
  if (/^(\/|[A-Za-z]:[\\/]?)$/.test(real)) refuse("the root of the disk is no project");
  // Where the environment may not be asked, what looks like a home is taken for one.
  const isHome = home === undefined ? /^(\/root|\/(home|Users)\/[^/]+)$/.test(real) : real === realOr(home);
  if (isHome) refuse(`${real} is the home directory, not a project`);
  const folder = `${real}/${FOLDER}`, file = `${folder}/${FILE}`;
  for (const path of [folder, file]) {
    if (!disk().mayRead(path) || !disk().mayWrite(path)) {
      refuse(`Deno was started without --allow-read and --allow-write for ${folder}`);
    }
  }
  if (!disk().exists(folder)) disk().mkdir(folder, 0o700);
  const facts = disk().lstat(folder), user = disk().userId();
  if (facts.isSymlink) refuse(`${folder} is a link`);
  if (!facts.isDirectory) refuse(`${folder} is not a folder`);
  if (user !== undefined && facts.uid !== user) refuse(`${folder} belongs to another user`);
  makePrivate(folder, facts, 0o700);
  if (!disk().exists(`${folder}/.gitignore`)) {
    try {
      disk().writeText(`${folder}/.gitignore`, "*\n", 0o600);
    } catch { /* a folder that cannot be written may still be read */ }
  }
  if (factsOf(file)?.isFile === false) refuse(`${file} is not a regular file`);
  return file;
}

/** Takes others' access to a database and the files beside it. */
export function makeFilesPrivate(file: string): void {
  for (const path of [file, ...SIDES.map((side) => file + side)]) {
    const facts = factsOf(path);
    if (facts) makePrivate(path, facts, 0o600);
  }
}

function makePrivate(path: string, facts: FileFacts, mode: number): void {
  if (!(facts.mode & 0o077)) return;
  try {
    disk().chmod(path, facts.mode & mode); // what the user may not do stays so
  } catch (error) {
    if (diskFault(error) === "denied") refuse(`${path} belongs to another user`);
    // gone, on a read-only disk, or on one without modes
  }
}

/** Whether files can be made beside a database: makes an empty one, its lock. */
export function isWritable(file: string): boolean {
  try {
    disk().writeText(lockOf(file), "", 0o600);
    return true;
  } catch {
    return false;
  }
}

/** Whether there is no database yet, or an empty one. */
export function isVoid(file: string): boolean {
  return !factsOf(file)?.size;
}

/** The file whose lock lets one process at a time move a database aside. */
export function lockOf(file: string): string {
  return file.replace(/db$/, "lock");
}

function factsOf(path: string): FileFacts | undefined {
  try {
    return disk().lstat(path);
  } catch {
    return undefined;
  }
}

/**
 * What tells a file from every copy of it: inode and birth time, which survive writes, renames and remounts. The device is
 * for where there is no birth time. `undefined`: there is no file.
 */
export function identityOf(file: string): string | undefined {
  const facts = factsOf(file);
  return facts && (facts.born > 0 ? `${facts.ino}:${facts.born}` : `${facts.ino}@${facts.dev}`);
}

/**
 * Moves a database and the files beside it out of the way, if it still is the one of that identity: another process may
 * have done it. The new name; `undefined` where there was nothing to do. The database is closed, and the lock is had.
 */
export function setAside(
  file: string,
  { label, identity }: { label: "corrupt" | "foreign" | "other"; identity: string },
): string | undefined {
  if (identityOf(file) !== identity) return undefined;
  let number = 1;
  while (disk().exists(`${file}.${label}-${number}`)) number++;
  const target = `${file}.${label}-${number}`;
  if (number > MOST_ASIDE) refuse(`${MOST_ASIDE} databases were moved to ${file}.${label}-*; see why and remove them`);
  const sides = SIDES.map((side) => ({ side, was: identityOf(file + side) }));
  disk().rename(file, target);
  for (const { side, was } of sides) {
    if (was === undefined || identityOf(file + side) !== was) continue; // it belongs to a new database already
    try {
      disk().rename(file + side, target + side);
    } catch { /* the last process that had it open removed it */ }
  }
  return target;
}

/** Whether the git repository around a root tracks its database: then others wrote it. `false` where that cannot be told. */
export function gitTracks(root: string): boolean {
  try {
    let folder = disk().realPath(root).replaceAll("\\", "/"), path = `${FOLDER}/${FILE}`;
    for (;;) {
      const git = gitFolder(folder);
      if (git !== undefined) return indexHolds(`${git}/index`, path);
      const cut = folder.lastIndexOf("/");
      if (cut < 0) return false;
      path = `${folder.slice(cut + 1)}/${path}`;
      folder = folder.slice(0, cut);
    }
  } catch {
    return false;
  }
}

/** Where a folder's git data lies; a worktree or submodule has a file that says where. */
function gitFolder(folder: string): string | undefined {
  const git = `${folder}/.git`;
  if (!disk().exists(git)) return undefined;
  const { isDirectory, isFile, size } = disk().stat(git);
  if (isDirectory) return git;
  const target = isFile && size < 4096 && /^gitdir: (.+)/.exec(new TextDecoder().decode(disk().readBytes(git)))?.[1];
  if (!target) return undefined;
  return /^(\/|[A-Za-z]:)/.test(target) ? target : `${folder}/${target}`;
}

function indexHolds(index: string, path: string): boolean {
  const { isFile, size } = disk().stat(index);
  if (!isFile || size > MAX_INDEX_BYTES) return false;
  const bytes = disk().readBytes(index), decoder = new TextDecoder("latin1"), text = decoder.decode(bytes);
  // Version 4 stores of each path only what differs from the one before.
  if (bytes[7] === 4) return text.includes(`${FILE}\0`);
  const name = decoder.decode(new TextEncoder().encode(path));
  for (let at = 0; (at = text.indexOf(`${name}\0`, at)) >= 0; at++) {
    // A path is preceded by two bytes that end in its length: so this is the whole path, and not the end of a longer one.
    if (bytes[at - 1] === (name.length & 0xff) || bytes[at - 1] === 0) return true;
  }
  return false;
}
