/**
 * What maps are made of and within: the limits, the file, and how its map is asked for.
 *
 * @module
 */

import type { SummaryCache } from "./cache/types.ts";
import type { WaymarkEvent } from "./events.ts";
import type { Clock, FileMap, OutlineParser, Summarizer } from "./types.ts";

/** Limits on what maps may cost. */
export interface MapLimits {
  /**
   * Deadline of a whole run, repairs and waiting included, in milliseconds; half of it at most is waited for a turn.
   * Default 60,000.
   */
  readonly timeoutMs?: number;
  /** Most requests to a model in the life of the instance. Default: no limit. */
  readonly maxModelCalls?: number;
  /** Most model runs at once. Default 4. */
  readonly maxConcurrentCalls?: number;
  /** How long a failed file is left alone, in milliseconds. Default 60,000. */
  readonly retryAfterMs?: number;
}

/** What {@linkcode createMaps} works with. */
export interface MapsOptions {
  /** Makes the maps. */
  readonly summarizer: Summarizer;
  /** Checks what a model made. */
  readonly audit?: OutlineParser | undefined;
  /** Limits on cost. */
  readonly limits?: MapLimits | undefined;
  /** Time. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** A file whose content is known by its hash, and the place where its map is kept. */
export interface LoadedFile {
  /** The path as the caller gave it. */
  readonly path: string;
  /** SHA-256 of the bytes, lower-case hex. */
  readonly hash: string;
  /** The hashed bytes themselves; of a large file, the bytes there are now, with their own hash. */
  readonly content: () => Promise<{ bytes: Uint8Array; hash: string }>;
  /** The key it is kept under. */
  readonly key: string;
  /** Where it is kept. */
  readonly cache: SummaryCache;
  /** Does work that ends, when its signal fires, before the place is closed. */
  readonly hold: <Value>(work: (closed: AbortSignal) => Promise<Value>) => Promise<Value>;
}

/** How a map is asked for. */
export interface MapRequest {
  /** The caller's abort. */
  readonly signal?: AbortSignal | undefined;
  /** Make a new one whatever the cache holds. Neither joins another run nor is joined. Default false. */
  readonly refresh?: boolean;
  /** Try even where a failure is recent. Default false. */
  readonly insist?: boolean;
}

/** Gets and makes maps. */
export interface Maps {
  /** The kept map of this content, if its maker is as good as the one at hand. A pure cache read. */
  find(file: LoadedFile): FileMap | undefined;
  /** The map, kept or made. Rejects with a `WaymarkError` whose code is a `FailureReason`. */
  get(file: LoadedFile, request?: MapRequest): Promise<{ map: FileMap; hit: boolean }>;
}
