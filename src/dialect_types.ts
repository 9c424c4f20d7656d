/**
 * What the constructors of dialects take. Types only.
 *
 * @module
 */

/** What all constructors take. */
export interface DialectOptions {
  /** The host's names for its read tool. Default: none. */
  readonly tools?: readonly string[];
  /** The argument with the path, a string or a URL. Default `path`. */
  readonly path?: string;
  /** Calls that are no read of a range of text lines: they are passed on. Default: none. */
  readonly skip?: (args: Record<string, unknown>) => boolean;
}

/** What line 0 means to a host that counts from 1: the first line; the same, but numbered wrongly; or an error. */
export type ZeroLine = "first" | "rewrite" | "refuse";

/** Options of {@linkcode offsetLimit}. */
export interface OffsetLimitOptions extends DialectOptions {
  /** The argument with the first line. Default `offset`. */
  readonly offset?: string;
  /** The argument with the number of lines. Default `limit`. */
  readonly limit?: string;
  /** The number of the first line. With 0 the argument is a count of lines to skip. Default 1. */
  readonly base?: 0 | 1;
  /** How many lines the host gives where no limit is given. Default: all. */
  readonly defaultCount?: number;
  /** What 0 means where the base is 1. Default `first`. */
  readonly zero?: ZeroLine;
}

/** Options of {@linkcode startEnd}. */
export interface StartEndOptions extends DialectOptions {
  /** The argument with the first line, 1-based. Default `start_line`. */
  readonly start?: string;
  /** The argument with the last line, inclusive. Default `end_line`. */
  readonly end?: string;
  /** How many lines the host gives where no end is given. Default: all. */
  readonly defaultCount?: number;
  /** What line 0 means. Default `first`. */
  readonly zero?: ZeroLine;
}

/** Options of {@linkcode viewRange}. */
export interface ViewRangeOptions extends DialectOptions {
  /** The argument with `[first, last]`. Default `view_range`. */
  readonly range?: string;
  /** The `command` of a tool that does more than view. Default: the tool only views. */
  readonly command?: string;
  /** Any last line below 1 means the end of the file, and a first line 0 the first. Default: only a last line of -1 does. */
  readonly lenient?: boolean;
}

/** Options of {@linkcode headOnly}. */
export interface HeadOnlyOptions extends DialectOptions {
  /** The argument with the number of lines from the top. Default `head`. */
  readonly head?: string;
  /** The argument with the number of lines from the end; a call that has it is passed on. Default `tail`. */
  readonly tail?: string;
}
