/**
 * What the rest asks of a project: where a path leads, and what may be known of it. Types only: importing them costs nothing.
 *
 * @module
 */

import type { OpenCacheOptions, SummaryCache } from "./cache/types.ts";
import type { FileFacts } from "./disk_types.ts";
import type { LineWindow } from "./line_types.ts";
import type { LoadedFile } from "./map_types.ts";
import type { FileSource, ReadCall } from "./types.ts";

/** What a project is made of. */
export interface ProjectOptions extends Omit<OpenCacheOptions, "root"> {
  /** The project's root. Default: found from the working directory; none found means memory only. */
  readonly root?: string | undefined;
  /** Folders whose files may be summarized. Default: everywhere. */
  readonly roots?: readonly string[] | undefined;
  /** Where bytes come from, for tools that read somewhere else. Default: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** How long a source may take for the bytes of a file, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Whether maps are kept, on disk or in memory. Default true. */
  readonly cache?: boolean | undefined;
  /** Larger files are left alone, in bytes. Default 32 MiB. */
  readonly maxFileBytes?: number | undefined;
}

/** A file that may be summarized, not yet read. */
export interface Place {
  /** The path as the caller gave it. */
  readonly path: string;
  /** Absolute, links resolved. */
  readonly real: string;
  /** Bytes; unknown where a `source` gives them. */
  readonly size?: number;
  /** What the disk says of it. */
  readonly facts?: FileFacts;
  /** Fires when the instance is closed that found it. */
  readonly closed: AbortSignal;
}

/** A file's bytes at one moment. */
export interface Snapshot extends Pick<Place, "closed"> {
  /** Absolute, links resolved. */
  readonly real: string;
  /** How many bytes. */
  readonly size: number;
  /** SHA-256 of the bytes, lower-case hex. */
  readonly hash: string;
  /** The bytes. Throws a {@linkcode WaymarkError} of code `changed` where they were not kept and the file has others now. */
  readonly bytes: () => Uint8Array;
}

/** Files and their maps' whereabouts. */
export interface Project {
  /** Finds a file without reading it. Throws a {@linkcode WaymarkError}: `not-found`, `not-allowed` or `too-large`. */
  locate(path: string, cwd?: string): Place;
  /** Some lines of a file, without reading more of it than that. Throws as `read` does. */
  window(place: Place, start: number, count: number): LineWindow;
  /** Reads it. Rejects with a {@linkcode WaymarkError}: as `locate`, or `not-text`. */
  read(place: Place, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * Finds, reads and hashes the file of a call; what an outer layer shared of this very call is not read again. Rejects as
   * `locate` and `read` do.
   *
   * @param known Of a file that is known: whether at this hash nothing else is wanted, as a rule. The bytes are not kept then.
   */
  snapshot(call: ReadCall, known?: (real: string) => ((hash: string) => boolean) | undefined): Promise<Snapshot>;
  /** Lends what was read to the layers within, for as long as the call goes on. */
  share(call: ReadCall, snapshot: Snapshot): void;
  /**
   * Finds out what was read: its hash, and the place where its map is kept. Without anything read the file is hashed in
   * chunks.
   */
  identify(
    place: Pick<Place, "path" | "real" | "closed">,
    read?: Uint8Array | { readonly bytes: Uint8Array; readonly hash: string },
    signal?: AbortSignal,
  ): Promise<LoadedFile>;
  /** Where maps of this file are kept, and under which key. */
  keep(place: Pick<Place, "real">): Promise<{ key: string; cache: SummaryCache }>;
  /** The project's cache, opened at the first call. */
  cache(): Promise<SummaryCache>;
  /** The project's root; `undefined` where there is none. */
  root(): string | undefined;
  /** Closes what was opened. */
  close(): Promise<void>;
}
