/**
 * What lines are read from, and some lines of a file. Types only.
 *
 * @module
 */

/** Fills buffers from where it stands: how many bytes it gave, 0 at the end. */
export interface ByteReader {
  read(buffer: Uint8Array): number;
}

/** Some lines of a file that was not read whole. */
export interface LineWindow {
  /** The lines, with their own endings. */
  readonly bytes: Uint8Array;
  /** How many lines, the last one possibly cut. */
  readonly lines: number;
  /** There were more bytes in these lines than `maxBytes`. */
  readonly cut: boolean;
  /** Something follows these bytes. */
  readonly more: boolean;
  /** Lines of the whole file, known only where the end was reached. */
  readonly total?: number;
}

/** How much of a window is kept. */
export interface LineWindowOptions {
  /** Most bytes kept. Default 1 MiB. */
  readonly maxBytes?: number;
}
