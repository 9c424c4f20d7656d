/**
 * The disk, as the rest sees it. Types only: importing them costs nothing.
 *
 * @module
 */

/** What is known of a path without opening it. What a platform does not tell is 0. */
export interface FileFacts {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  /** Only ever true from `lstat`. */
  readonly isSymlink: boolean;
  /** Bytes. */
  readonly size: number;
  readonly ino: number;
  readonly dev: number;
  /** Birth time, whole milliseconds since the epoch. */
  readonly born: number;
  readonly uid: number;
  /** Permission bits, with the file type's above them. */
  readonly mode: number;
}

/** An open file, read from its start. */
export interface OpenFile {
  /** Fills as much of the buffer as one call gives: how many bytes; 0 at the end. */
  read(buffer: Uint8Array): number;
  /** The same without blocking the event loop. */
  readSoon(buffer: Uint8Array): Promise<number>;
  close(): void;
}

/** The disk. Synchronous; every method that takes a path throws what the runtime throws, or `not-allowed` on Deno. */
export interface Disk {
  stat(path: string): FileFacts;
  /** As `stat`, but of a link itself. */
  lstat(path: string): FileFacts;
  /** Absolute, all links resolved. */
  realPath(path: string): string;
  /** The whole file, whatever it is: only for files of our own. */
  readBytes(path: string): Uint8Array<ArrayBuffer>;
  open(path: string): OpenFile;
  /** Creates the folder and its parents; one that is there already is fine. */
  mkdir(path: string, mode: number): void;
  /** Creates or overwrites; the mode counts for a new file. */
  writeText(path: string, text: string, mode: number): void;
  rename(from: string, to: string): void;
  chmod(path: string, mode: number): void;
  /** Removes one file. */
  remove(path: string): void;
  /** Whether something is there, even a dangling link. Never throws. */
  exists(path: string): boolean;
  /** The working directory; `undefined` where the runtime finds none. */
  cwd(): string | undefined;
  /** The user's home directory; `undefined` where it may not be known. */
  home(): string | undefined;
  /** The user's number; `undefined` where there is none or it may not be known. */
  userId(): number | undefined;
  /** Whether reading there would neither prompt nor be refused by the runtime. Always true outside Deno. */
  mayRead(path: string): boolean;
  /** As `mayRead`, for writing. */
  mayWrite(path: string): boolean;
}

/** Bounds of a read. */
export interface ReadSourceOptions {
  /** Files over this many bytes are not read. */
  readonly maxBytes: number;
  /** Ends a long read; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** What is known of the file, as of this moment. Default: asked of the disk. */
  readonly facts?: FileFacts | undefined;
}

/** How `pathKey` compares. */
export interface PathKeyOptions {
  /** Windows rules: both slashes, and case does not count. Default: whether the root has a drive letter. */
  readonly windows?: boolean;
}
