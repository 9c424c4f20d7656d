/**
 * Lines out of a file, read in pieces: memory follows the lines, not the file, and other work goes on between the pieces.
 *
 * @module
 */

const LF = 10, PIECE = 1 << 18;

/** A file that is open. */
export interface OpenSource {
  /** Fills a buffer from where it stands. */
  read(buffer: Uint8Array, offset: number, length: number, position: null): Promise<{ readonly bytesRead: number }>;
}

/** What a window is bounded by. */
export interface WindowBounds {
  /** The first line, from 1. */
  readonly start: number;
  /** Most lines. */
  readonly count: number;
  /** Most bytes; the last lines are left out where there are more, and of a single line its end. */
  readonly maxBytes: number;
  /** Whether a file that begins so is not wanted: nothing more is read of it then, and there are no lines. */
  readonly refuses?: (head: Uint8Array) => boolean;
  /** Ends it; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Lines of a file. */
export interface Window {
  /** The lines, with their endings. */
  readonly bytes: Uint8Array;
  /** How many. */
  readonly lines: number;
  /** Why there are fewer than asked for: `maxBytes` leaves lines out, or the end of the only one. */
  readonly cut?: "lines" | "line";
  /** Lines of the whole file, where its end was reached. */
  readonly total?: number;
  /** The file's first bytes. */
  readonly head: Uint8Array;
}

/** Reads lines, no further than needed. */
export async function readWindow(source: OpenSource, bounds: WindowBounds): Promise<Window> {
  const { start, count, maxBytes, signal } = bounds, end = start + count, buffer = new Uint8Array(PIECE);
  const parts: Uint8Array[] = [];
  let head: Uint8Array | undefined, line = 1, size = 0, open = false; // open: the present line has bytes
  while (line < end && size <= maxBytes) {
    signal?.throwIfAborted();
    const { bytesRead } = await source.read(buffer, 0, PIECE, null);
    if (bytesRead === 0) {
      const total = open ? line : line - 1, kept = joined(parts, size);
      return { bytes: kept, lines: Math.max(0, total - start + 1), total, head: head ?? kept };
    }
    const piece = buffer.subarray(0, bytesRead);
    if (!head) {
      head = piece.slice(0, 8000);
      if (bounds.refuses?.(head)) return { bytes: joined([], 0), lines: 0, head };
    }
    let at = 0, from = line >= start ? 0 : -1;
    while (at < bytesRead && line < end) {
      const next = piece.indexOf(LF, at) + 1;
      open = next === 0;
      if (open) break;
      at = next;
      if (++line === start) from = at;
    }
    const to = line < end ? bytesRead : at;
    if (from >= 0 && to > from) {
      parts.push(piece.slice(from, to));
      size += to - from;
    }
  }
  const bytes = joined(parts, size);
  return size <= maxBytes ? { bytes, lines: count, head: head! } : { ...shortened(bytes, maxBytes), head: head! };
}

/** The whole lines that there is room for; of a first one that is too long, its beginning. */
function shortened(bytes: Uint8Array, maxBytes: number): Pick<Window, "bytes" | "lines" | "cut"> {
  const last = bytes.lastIndexOf(LF, maxBytes - 1) + 1;
  if (last === 0) {
    let to = maxBytes;
    while (to > maxBytes - 4 && (bytes[to]! & 0xc0) === 0x80) to--; // not within a character
    return { bytes: bytes.subarray(0, to), lines: 1, cut: "line" };
  }
  let lines = 0;
  for (let at = 0; at < last; at = bytes.indexOf(LF, at) + 1) lines++;
  return { bytes: bytes.subarray(0, last), lines, cut: "lines" };
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}
