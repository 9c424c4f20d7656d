/**
 * The disk, as nearly all of `src` sees it: the few calls it needs, on `Deno.*` or `node:fs`, whichever is there.
 *
 * Promised: nothing happens before the first call; on Deno nothing ever prompts (without permission a call throws
 * `not-allowed` instead); only regular files are opened for reading, and no pipe put in the place of one is waited for, but
 * on Deno, which can only wait. Absent: locking, watching, globbing.
 *
 * @module
 */

import type * as NodeFs from "node:fs";
import type { Disk, FileFacts, ReadSourceOptions } from "./disk_types.ts";
import { attempting, WaymarkError } from "./errors.ts";
import { parentOf } from "./paths.ts";

/** The runtime's own globals, of which nothing may be touched before Deno was asked for. */
const host = globalThis as unknown as { Deno?: typeof Deno; process: typeof import("node:process") };
let chosen: Disk | undefined;

/** The disk of the runtime at hand, chosen at the first call. */
export function disk(): Disk {
  return chosen ??= host.Deno?.version?.deno ? denoDisk(host.Deno) : nodeDisk(host.process.getBuiltinModule("node:fs"));
}

/** The longest path there is. */
const LONGEST = 4096;

/** The real path of what there is of a path, with the names behind it; `undefined` behind a link that leads nowhere. */
export function wayTo(path: string): string | undefined {
  for (
    let way = path.length > LONGEST ? parentOf(path.slice(0, LONGEST)) : path;
    way && !/^[a-z]:$/i.test(way);
    way = parentOf(way)
  ) {
    const there = attempt(() => disk().lstat(way)); // cheap where nothing is
    if (!there) continue;
    try {
      return disk().realPath(way) + path.slice(way.length);
    } catch {
      if (there.isSymlink) return undefined;
    }
  }
  return path;
}

/** The real path where it can be had, also of what is not there yet; else the path as it was named. */
export function realOr(path: string): string {
  return wayTo(path) ?? path;
}

function denoDisk(deno: typeof Deno): Disk {
  const granted = (permission: Deno.PermissionDescriptor): boolean => {
    try {
      return deno.permissions.querySync(permission).state === "granted";
    } catch {
      return false; // a path no permission can be asked for: the empty one
    }
  };
  // A status is live: it says at once when leave is taken back.
  const everything = (name: "read" | "write") => {
    const status = deno.permissions.querySync({ name });
    return () => status.state === "granted" && !status.partial;
  };
  const readsAll = everything("read"), writesAll = everything("write");
  const mayRead = (path: string) => readsAll() || granted({ name: "read", path });
  const mayWrite = (path: string) => writesAll() || granted({ name: "write", path });
  const may = (allowed: boolean, action: "read" | "write", path: string): string => {
    if (allowed) return path;
    throw new WaymarkError(
      "not-allowed",
      `Cannot ${action} ${path}: Deno was started without --allow-${action} for it`,
    );
  };
  const read = (path: string) => may(mayRead(path), "read", path);
  const write = (path: string) => may(mayWrite(path), "write", path);
  const facts = (stat: Deno.FileInfo): FileFacts => ({
    isFile: stat.isFile,
    isDirectory: stat.isDirectory,
    isSymlink: stat.isSymlink,
    size: stat.size,
    ino: stat.ino ?? 0,
    dev: stat.dev,
    born: Math.floor(stat.birthtime?.getTime() ?? 0),
    uid: stat.uid ?? 0,
    mode: stat.mode ?? 0,
  });
  const variable = (name: string) => granted({ name: "env", variable: name }) ? deno.env.get(name) : undefined;
  return {
    stat: (path) => facts(deno.statSync(read(path))),
    lstat: (path) => facts(deno.lstatSync(read(path))),
    realPath: (path) => deno.realPathSync(read(path)),
    readBytes: (path) => deno.readFileSync(read(path)),
    open(path) {
      const file = deno.openSync(read(path));
      return {
        read: (buffer) => file.readSync(buffer) ?? 0,
        readSoon: async (buffer) => await file.read(buffer) ?? 0,
        close: () => file.close(),
      };
    },
    mkdir: (path, mode) => deno.mkdirSync(write(path), { recursive: true, mode }),
    writeText: (path, text, mode) => deno.writeTextFileSync(write(path), text, { mode }),
    rename: (from, to) => deno.renameSync(read(write(from)), write(to)),
    chmod: (path, mode) => deno.chmodSync(write(path), mode),
    remove: (path) => deno.removeSync(write(path)),
    exists: (path) => attempt(() => deno.lstatSync(read(path))) !== undefined,
    cwd: () => attempt(() => deno.cwd()),
    home: () => variable("HOME") || variable("USERPROFILE") || undefined,
    userId: () => granted({ name: "sys", kind: "uid" }) ? deno.uid() ?? undefined : undefined,
    mayRead,
    mayWrite,
  };
}

/** The disk on `node:fs`. Use {@linkcode disk}: this is exported for the tests, which run it on Deno too. */
export function nodeDisk(fs: typeof NodeFs): Disk {
  const facts = (stat: NodeFs.Stats): FileFacts => ({
    isFile: stat.isFile(),
    isDirectory: stat.isDirectory(),
    isSymlink: stat.isSymbolicLink(),
    size: stat.size,
    ino: stat.ino,
    dev: stat.dev,
    born: Math.floor(stat.birthtimeMs),
    uid: stat.uid,
    mode: stat.mode,
  });
  return {
    stat: (path) => facts(fs.statSync(path)),
    lstat: (path) => facts(fs.lstatSync(path)),
    realPath: (path) => fs.realpathSync.native(path),
    readBytes: (path) => fs.readFileSync(path),
    open(path) {
      const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants, file = fs.openSync(path, O_RDONLY | O_NONBLOCK);
      if (!fs.fstatSync(file).isFile()) {
        fs.closeSync(file);
        throw new WaymarkError("not-found", `Cannot read ${path}: it is not a regular file`);
      }
      return {
        read: (buffer) => fs.readSync(file, buffer, 0, buffer.length, null),
        readSoon: (buffer) =>
          new Promise((resolve, reject) => {
            fs.read(file, buffer, 0, buffer.length, null, (error, size) => error ? reject(error) : resolve(size));
          }),
        close: () => fs.closeSync(file),
      };
    },
    mkdir: (path, mode) => void fs.mkdirSync(path, { recursive: true, mode }),
    writeText: (path, text, mode) => fs.writeFileSync(path, text, { mode }),
    rename: (from, to) => fs.renameSync(from, to),
    chmod: (path, mode) => fs.chmodSync(path, mode),
    remove: (path) => fs.unlinkSync(path),
    exists: (path) => attempt(() => fs.lstatSync(path)) !== undefined,
    cwd: () => attempt(() => host.process.cwd()),
    home: () => host.process.env["HOME"] || host.process.env["USERPROFILE"] || undefined,
    userId: () => host.process.getuid?.(),
    mayRead: () => true,
    mayWrite: () => true,
  };
}

const attempt = attempting();

/** Why a disk call failed: nothing is there, it may not be had, or something else. */
export function diskFault(error: unknown): "absent" | "denied" | "other" {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (code === "ENOENT" || code === "ENOTDIR" || name === "NotFound" || name === "NotADirectory") return "absent";
  const denied = code === "EACCES" || code === "EPERM" || code === "not-allowed" || name === "PermissionDenied";
  return denied || name === "NotCapable" ? "denied" : "other";
}

/** SHA-256 in lower-case hex at once, as soon as {@linkcode sha256} has fetched what does it. */
export let hashNow: ((bytes: Uint8Array) => string) | undefined;
let hashed = 0;

/**
 * SHA-256 in lower-case hex. The first few go through WebCrypto, which loads nothing; `node:crypto`, faster but 37 ms to
 * load on Deno, is fetched beside the fourth.
 */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (hashNow) return hashNow(bytes);
  if (++hashed === 4) {
    import("node:crypto").then(({ createHash }) => {
      hashNow = (bytes) => createHash("sha256").update(bytes).digest("hex");
    }, () => {});
  }
  // WebCrypto refuses shared memory; a slice is a copy outside it.
  const own = (bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice()) as Uint8Array<ArrayBuffer>;
  let hex = "";
  for (const byte of new Uint8Array(await crypto.subtle.digest("SHA-256", own))) {
    hex += (byte < 16 ? "0" : "") + byte.toString(16);
  }
  return hex;
}

/** Up to here a file is read at once; beyond, in such pieces between other work. */
const CHUNK = 1 << 20;

/**
 * The bytes of a regular file as one buffer, whatever happens to the file meanwhile. `undefined` for anything but a regular
 * file (never opened: a FIFO would block) and for one over `maxBytes`. Throws what the disk throws.
 */
export async function readSource(
  path: string,
  { maxBytes, signal, facts = disk().stat(path) }: ReadSourceOptions,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; size: number } | undefined> {
  if (!facts.isFile || facts.size > maxBytes) return undefined;
  let bytes = new Uint8Array(facts.size && facts.size + 1), size = 0;
  if (facts.size === 0) return { bytes, size }; // nothing to open; kernel files that block all say 0
  const file = disk().open(path);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const room = bytes.subarray(size, size + CHUNK);
      const read = size < CHUNK ? file.read(room) : await file.readSoon(room);
      if (read === 0) return { bytes: bytes.subarray(0, size), size };
      if ((size += read) > maxBytes) return undefined;
      if (size === bytes.length) { // it grew
        const more = new Uint8Array(size * 2);
        more.set(bytes);
        bytes = more;
      }
    }
  } finally {
    file.close();
  }
}
