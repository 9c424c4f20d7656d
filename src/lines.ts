/**
 * Line arithmetic. A line ends at LF and nowhere else: the CR of a CRLF belongs to its ending, a lone CR, a form feed or
 * U+2028 is a character like any other. A final newline does not make one more line; an empty file has none.
 *
 * Pure: bytes come from a reader that is handed in, and whoever opened it closes it.
 *
 * @module
 */

import type { ByteReader, LineWindow, LineWindowOptions } from "./line_types.ts";
import type { LineSpan } from "./session_types.ts";

const LF = 10;

/** How many lines there are. */
export function countLines(source: string | Uint8Array): number {
  if (typeof source !== "string") return countUpTo(source, Infinity);
  let lines = 0, at = 0;
  for (let end; (end = source.indexOf("\n", at)) >= 0; at = end + 1) lines++;
  return at < source.length ? lines + 1 : lines;
}

/** Where so many lines from a place on end, or the text where there are fewer. */
export function behindLines(text: string, count: number, at = 0): number {
  for (; count > 0 && at < text.length; count--) at = text.indexOf("\n", at) + 1 || text.length;
  return at;
}

/** How many lines a read returns: from `start`, at most `count` (absent: to the end) of `total`. */
export function spanLines(total: number, start: number, count: number = Infinity): number {
  return Math.max(0, Math.min(count, total - Math.max(1, start) + 1));
}

/**
 * How many lines there are, but no more than `limit` are looked for: that means at least so many. Memory does not grow with
 * them.
 */
export function countUpTo(source: ByteReader | Uint8Array, limit: number): number {
  let lines = 0, open = false; // open: bytes of a line that has not ended
  for (const chunk of source instanceof Uint8Array ? [source] : chunks(source)) {
    for (let at = 0; at < chunk.length; at++) {
      if (chunk[at] === LF && ++lines >= limit) return limit;
    }
    if (chunk.length) open = chunk[chunk.length - 1] !== LF;
    if (open && lines + 1 >= limit) return limit;
  }
  return open ? lines + 1 : lines;
}

/**
 * Where at most `count` lines from `start` lie, the last one's ending included, and how many they are.
 */
export function lineRange(
  bytes: Uint8Array,
  start: number,
  count: number,
): { from: number; to: number; lines: number } {
  const head = skipLines(bytes, 0, start - 1), from = head.at;
  if (head.lines < start - 1 || from === bytes.length) return { from: bytes.length, to: bytes.length, lines: 0 };
  const { at: to, lines } = skipLines(bytes, from, count);
  return { from, to, lines: lines + (bytes[to - 1] === LF ? 0 : 1) };
}

interface Place {
  at: number;
  lines: number;
}

let skipped = 0;

/**
 * Goes on behind `count` line endings, or to the end: where that is, and how many there were. A search begins at no cost; a
 * loop is faster on short lines once it is compiled.
 */
function skipLines(bytes: Uint8Array, at: number, count: number): Place {
  return ++skipped > 8 ? skipByWords(bytes, at, count) : skipBySearch(bytes, at, count);
}

function skipBySearch(bytes: Uint8Array, at: number, count: number): Place {
  for (let lines = 0;; lines++) {
    const end = lines < count ? bytes.indexOf(LF, at) : -1;
    if (end < 0) return { at: lines < count ? bytes.length : at, lines };
    at = end + 1;
  }
}

/** Four bytes at a time where none of them is LF. */
function skipByWords(bytes: Uint8Array, at: number, count: number): Place {
  const { buffer, byteOffset, length } = bytes, aligned = byteOffset % 4 === 0;
  const words = aligned ? new Uint32Array(buffer, byteOffset, length >> 2) : new Uint32Array(0);
  let lines = 0;
  while (lines < count && at < length) {
    while (at % 4 === 0 && at >> 2 < words.length) {
      const word = words[at >> 2]! ^ 0x0a0a0a0a;
      if ((word - 0x01010101) & ~word & 0x80808080) break;
      at += 4;
    }
    if (at < length && bytes[at++] === LF) lines++;
  }
  return { at, lines };
}

/** Ranges as few as can be, sorted. */
export function mergeSpans(spans: readonly LineSpan[]): LineSpan[] {
  const sorted = spans.toSorted((a, b) => a.start - b.start), all: { start: number; end: number }[] = [];
  for (const { start, end } of sorted) {
    const last = all.at(-1);
    if (last && start <= last.end + 1) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** `count` lines from `start`, read in chunks no further than needed: memory follows the window. */
export function lineWindow(
  reader: ByteReader,
  start: number,
  count: number,
  { maxBytes = 1 << 20 }: LineWindowOptions = {},
): LineWindow {
  start = Math.max(1, start);
  const kept: Uint8Array[] = [], end = start + count;
  let line = 1, size = 0, cut = false, open = false; // open: the current line has bytes
  const keep = (chunk: Uint8Array, from: number, to: number): void => {
    if (from < 0 || from >= to) return;
    const room = Math.min(to, from + maxBytes - size);
    cut ||= room < to;
    size += room - from;
    kept.push(chunk.slice(from, room)); // a copy: the buffer is used again
  };
  const window = (more: boolean): LineWindow => {
    const bytes = new Uint8Array(size), seen = open ? line : line - 1;
    kept.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    const lines = cut ? countLines(bytes) : Math.max(0, Math.min(seen, end - 1) - start + 1);
    return { bytes, lines, cut, more, ...(more ? {} : { total: seen }) };
  };
  for (const chunk of chunks(reader)) {
    let at = 0, from = line >= start ? 0 : -1;
    while (at < chunk.length) {
      if (line === end) {
        keep(chunk, from, at);
        return window(true);
      }
      const next = chunk.indexOf(LF, at) + 1;
      open = next === 0;
      if (open) break;
      at = next;
      if (++line === start) from = at;
    }
    keep(chunk, from, open ? chunk.length : at);
    if (cut) return window(true);
  }
  return window(false);
}

let shared: Uint8Array | undefined;

/** What a reader gives, in views of one buffer: scanning is synchronous, never entered twice. */
function* chunks(reader: ByteReader): Generator<Uint8Array> {
  const buffer = shared ??= new Uint8Array(65_536);
  for (let size; (size = reader.read(buffer)) > 0;) yield buffer.subarray(0, size);
}
