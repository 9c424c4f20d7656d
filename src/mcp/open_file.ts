/**
 * A file opened in one of the folders, and its bytes.
 *
 * Promised: it is the open file that is checked, not its name: what is read lay in a folder when it was open, however fast
 * folders and links are swapped meanwhile. No pipe is waited for, and on Deno nothing prompts.
 *
 * @module
 */

import { closeSync, constants, fstatSync, lstatSync, openSync, read, readlinkSync, readSync, statSync } from "node:fs";
import { WaymarkError } from "../errors.ts";
import { disk } from "../files.ts";
import { looksBinary } from "../probe.ts";
import type { FileSource } from "../types.ts";
import { findInside, type Folder, type Inside, reasonOf, refuse } from "./folders.ts";
import type { OpenSource } from "./window.ts";

/** A file that is open. */
export interface OpenFile extends Inside, OpenSource {
  /** Its bytes, as it was opened. */
  readonly size: number;
  /** Closes it. */
  close(): void;
}

/** What a file is known by, whatever its name. */
interface FileId {
  readonly ino: bigint;
  readonly dev: bigint;
}

/** Why a file is refused that is not the one which was looked for. */
const SWAPPED = "another file was put in its place just now; read it again";

/** Does something with a file while it is open. Throws as {@linkcode openInside} does. */
export async function withInside<Value>(
  path: string,
  folders: readonly Folder[],
  action: (file: OpenFile) => Promise<Value> | Value,
): Promise<Value> {
  const file = openInside(path, folders);
  try {
    return await action(file);
  } finally {
    file.close();
  }
}

/** Opens a regular file that lies in one of the folders; whoever asked closes it. Throws as {@linkcode findInside} does. */
export function openInside(path: string, folders: readonly Folder[]): OpenFile {
  const inside = findInside(path, folders), { real } = inside;
  let fd: number;
  try {
    fd = openSync(real, READ);
  } catch (error) {
    refuse(path, reasonOf(error), error);
  }
  try {
    const facts = fstatSync(fd, { bigint: true });
    if (facts.isFile() && isStillThere(fd, real, facts)) {
      return { ...inside, size: Number(facts.size), read: reader(fd), close: () => closeSync(fd) };
    }
  } catch { /* it is gone */ }
  closeSync(fd);
  refuse(path, SWAPPED);
}

/** Up to here a file is read without leaving the event loop; beyond, between other work. */
const AT_ONCE = 1 << 20;

function reader(fd: number): OpenSource["read"] {
  let asked = 0;
  return async (buffer, offset, length) => {
    if ((asked += length) <= AT_ONCE) return { bytesRead: readSync(fd, buffer, offset, length, null) };
    return await new Promise((resolve, reject) =>
      read(fd, buffer, offset, length, null, (error, bytesRead) => error ? reject(error) : resolve({ bytesRead }))
    );
  };
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
function isStillThere(fd: number, real: string, { ino, dev }: FileId): boolean {
  const opened = openedPath(fd, { ino, dev });
  if (opened !== undefined) return opened === real;
  for (let look = 0; look < LOOKS; look++) {
    if (disk().realPath(real) !== real) return false;
    const now = lstatSync(real, { bigint: true });
    if (!now.isFile() || now.ino !== ino || now.dev !== dev) return false;
  }
  return true;
}

/**
 * Where the system says an open file is; `undefined` where it does not, or may not be asked: Deno would prompt. The number of an
 * open file is the system's own only where that file is the same: Deno 2.3 counts them itself.
 */
function openedPath(fd: number, file: FileId): string | undefined {
  const link = `/proc/self/fd/${fd}`;
  try {
    if (!disk().mayRead(link)) return undefined;
    const { ino, dev } = statSync(link, { bigint: true });
    return ino === file.ino && dev === file.dev ? readlinkSync(link) : undefined;
  } catch {
    return undefined;
  }
}

/** How {@linkcode sourceIn} reads. */
export interface SourceBounds {
  /** Larger files are refused, in bytes. */
  readonly maxBytes: number;
}

/**
 * The bytes of files in one folder, out of a file that is open and lies there. A path is a real one: where there is a link on
 * the way, it was put there since.
 */
export function sourceIn(folder: Folder, { maxBytes }: SourceBounds): FileSource {
  return {
    read: (path, signal) =>
      withInside(path, [folder], (file) => {
        const { real, size } = file;
        if (real !== path) refuse(path, SWAPPED);
        if (size <= maxBytes) return readAll(file, path, signal);
        throw new WaymarkError(
          "too-large",
          `Cannot summarize ${path}: ${size} bytes is over the limit of ${maxBytes}`,
        );
      }),
  };
}

/** Most bytes read at a time. */
const PIECE = AT_ONCE / 2;

/** All bytes of an open file; of one that is no text, its beginning, by which that is seen. Throws where it grows meanwhile. */
async function readAll(file: OpenFile, path: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const { size } = file;
  const bytes = new Uint8Array(size && size + 1); // room to see that there is more; kernel files that never end all say 0
  for (let at = 0, isWhole = size === 0;;) {
    if (isWhole) return bytes.subarray(0, at);
    signal?.throwIfAborted();
    const asked = Math.min(bytes.length - at, PIECE), { bytesRead } = await file.read(bytes, at, asked, null);
    const isBinary = at === 0 && looksBinary(bytes.subarray(0, bytesRead));
    at += bytesRead;
    if (at > size) throw new WaymarkError("changed", `Cannot read ${path}: it grew meanwhile; ask again`);
    isWhole = isBinary || bytesRead === 0 || (at === size && bytesRead < asked);
  }
}
