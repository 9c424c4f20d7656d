/**
 * One more line at the end of a file that other processes append to as well.
 *
 * Promised: a line goes out in one write with append semantics, so that no other can fall into it; where the file ends in a
 * torn line, the new one begins on a line of its own; one that came out welded to a torn line all the same is written again.
 * Absent: truncating, since what somebody else appended meanwhile would be lost; and the runtimes' own `appendFile`, which on
 * Node, and on Deno through `node:fs`, makes several writes of 512 KiB.
 *
 * @module
 */

import type * as NodeFs from "node:fs";
import { WaymarkError } from "../errors.ts";

/** An open file whose writes go to its end, wherever that is by then. */
export interface AppendFile {
  size(): Promise<number>;
  /** Fills as much of the buffer as one call gives, from a place in the file; how many bytes. */
  read(buffer: Uint8Array, at: number): Promise<number>;
  /** One write; how many bytes went out. */
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

const LF = 10;
/** So often a line is written that comes out welded to a torn one. */
const ATTEMPTS = 3;
/** What was written since is looked through up to here. */
const MAX_LOOK: number = 64 << 20;

/** The runtime's own globals, of which nothing may be touched before Deno was asked for. */
const host = globalThis as unknown as { Deno?: typeof Deno; process: typeof import("node:process") };

/**
 * Appends a line, its end included, to a file that is made with mode 0600 where there is none. Rejects where the line could
 * not be kept whole. The caller has seen that it may, and that what is there is a file of its own.
 */
export async function appendLine(path: string, line: Uint8Array, open = openAppend): Promise<void> {
  const file = await open(path);
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { before, isTorn } = await lookAtEnd(file);
      if (isTorn) outliveSizeLimit();
      const bytes = isTorn ? onOwnLine(line) : line, written = await file.write(bytes);
      if (written < bytes.length) {
        throw new WaymarkError("cache", `Cannot append to ${path}: the disk took ${written} of ${bytes.length} bytes`);
      }
      // Where nobody else wrote meanwhile, the line stands right behind what was there before.
      if (await file.size() === before + bytes.length || await standsAlone(file, before, line)) return;
    }
  } finally {
    file.close();
  }
  throw new WaymarkError("cache", `Cannot append to ${path}: others leave torn lines in it`);
}

/** So often, and so many milliseconds apart, an end is looked at that is no end of a line: a long one may be on its way. */
const LOOKS = 3, PAUSE_MS = 5;

/** How long a file is, and whether it ends in a line that will never be whole. */
async function lookAtEnd(file: AppendFile): Promise<{ before: number; isTorn: boolean }> {
  for (let look = 1;; look++) {
    const before = await file.size();
    if (before === 0 || await endsLine(file, before)) return { before, isTorn: false };
    if (look === LOOKS) return { before, isTorn: true };
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Whether a file of that size ends in the end of a line. */
async function endsLine(file: AppendFile, size: number): Promise<boolean> {
  const last = new Uint8Array(1);
  return await file.read(last, size - 1) === 0 || last[0] === LF;
}

function onOwnLine(line: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(line.length + 1);
  bytes[0] = LF;
  bytes.set(line, 1);
  return bytes;
}

/** Whether a line is to be found whole, on a line of its own, behind a place in the file. */
async function standsAlone(file: AppendFile, from: number, line: Uint8Array): Promise<boolean> {
  const start = Math.max(0, from - 1), length = await file.size() - start;
  if (length > MAX_LOOK) return true;
  const bytes = new Uint8Array(Math.max(0, length));
  for (let at = 0, read; at < bytes.length; at += read) {
    if ((read = await file.read(bytes.subarray(at), start + at)) === 0) break;
  }
  // Byte for byte as text: it is only compared.
  const decoder = new TextDecoder("latin1"), text = (from === 0 ? "\n" : "") + decoder.decode(bytes);
  return text.includes(`\n${decoder.decode(line)}`);
}

let outlives = false, signals = 0;

/**
 * A torn line may come of a limit on the size of files (`ulimit -f`), and the next write beyond it would end the process by a
 * signal. Node and Bun ignore that one; Deno has to be told.
 */
export function outliveSizeLimit(): void {
  if (outlives) return;
  outlives = true;
  try {
    host.Deno?.addSignalListener?.("SIGXFSZ", () => void signals++);
  } catch { /* no such signal here */ }
}

/** So often, {@linkcode PAUSE_MS} apart, the signal of a write beyond the limit is waited for. */
const WAITS = 40;

/** One that arrives when the process ends, and nobody listens any more, would still end it. */
async function hearSignal(before: number): Promise<void> {
  for (let wait = 0; outlives && signals === before && wait < WAITS; wait++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Opens a file for appending. */
export async function openAppend(path: string): Promise<AppendFile> {
  return host.Deno?.version?.deno
    ? await denoFile(host.Deno, path)
    : await nodeFile(host.process.getBuiltinModule("node:fs"), path);
}

async function denoFile(deno: typeof Deno, path: string): Promise<AppendFile> {
  const file = await deno.open(path, { read: true, append: true, create: true, mode: 0o600 });
  return {
    size: async () => (await file.stat()).size,
    async read(buffer, at) {
      await file.seek(at, deno.SeekMode.Start);
      return await file.read(buffer) ?? 0;
    },
    async write(bytes) {
      const before = signals;
      try {
        return await file.write(bytes);
      } catch (error) {
        if (/\bos error 27\b/.test(String(error))) await hearSignal(before); // EFBIG
        throw error;
      }
    },
    close: () => file.close(),
  };
}

async function nodeFile(fs: typeof NodeFs, path: string): Promise<AppendFile> {
  const file = await settle<number>((done) => fs.open(path, "a+", 0o600, done));
  return {
    size: async () => (await settle<NodeFs.Stats>((done) => fs.fstat(file, done))).size,
    read: (buffer, at) => settle((done) => fs.read(file, buffer, 0, buffer.length, at, done)),
    write: (bytes) => settle((done) => fs.write(file, bytes, 0, bytes.length, null, done)),
    close: () => fs.closeSync(file),
  };
}

function settle<Value>(action: (done: (error: unknown, value: Value) => void) => void): Promise<Value> {
  return new Promise((resolve, reject) => action((error, value) => error ? reject(error) : resolve(value)));
}
