/**
 * The vocabulary every file shares: the read call and its outcome, the map of a file, and the ports.
 *
 * Types only, no values: importing this file costs nothing at run time.
 *
 * @module
 */

import type { Session } from "./session_types.ts";

/** One read of a file, the same for every host. Lines are 1-based. */
export interface ReadCall {
  /** The path as the host was given it; never resolved or rewritten. */
  readonly path: string;
  /** First line asked for. Below 1 means the host was asked for something this vocabulary cannot say. */
  readonly start: number;
  /** How many lines at most. Absent: to the end of the file. */
  readonly count?: number;
  /** The host's name for its read tool. */
  readonly tool?: string;
  /** The host's id of this tool call. */
  readonly callId?: string;
  /** The host's id of this conversation. */
  readonly sessionId?: string;
  /** What this conversation has been shown. */
  readonly session?: Session;
  /** The caller's abort. */
  readonly signal?: AbortSignal;
  /** The folder relative paths start from. Default: the process's working directory. */
  readonly cwd?: string;
  /** Whether the main agent's own model calls, not a sub-agent's: for digests. Absent: unknown. */
  readonly topLevel?: boolean;
  /** A script reads, not a model: nothing may be shortened or replaced. */
  readonly programmatic?: boolean;
  /** The caller insists on the full read: nothing may be shortened or replaced. */
  readonly fresh?: boolean;
  /** The host can be given an answer that is no result of its tool, an annotation alone. Default false. */
  readonly answerable?: boolean;
  /** Says a range in the host's own argument names, as in `offset: 201, limit: 200`. */
  readonly describe?: (start: number, count: number) => string;
}

/**
 * What came back from a read. A failure of the tool is a value here, never a rejection. Neither a result nor a failure: a layer
 * answered without the tool, by its annotations.
 */
export interface ReadOutcome {
  /** The host's result, untouched. */
  readonly result?: unknown;
  /** The file text in the result, free of the host's own gutters and banners; absent where it is not text or unknown. */
  readonly text?: string;
  /** The tool failed: it threw, or its result says so. */
  readonly failed?: boolean;
  /** What the tool threw. */
  readonly error?: unknown;
  /** What the layers have to say to the model beside the result. */
  readonly annotations: readonly Annotation[];
  /**
   * The result must not stand: a layer changed the call and cannot vouch for what came back. Whoever runs the onion makes
   * the call once more as it was asked, marked `fresh`.
   */
  readonly again?: boolean;
  /** Takes back what layers noted of this result. Whoever does not hand it to the model calls it. */
  readonly discard?: () => void;
  /** Of an answer without the tool: whether a file text that the tool gave all the same is what the answer speaks of. */
  readonly stands?: (text: string) => boolean;
}

/** Goes on with a read: towards the tool. */
export type Next = (call: ReadCall) => Promise<ReadOutcome>;

/** One layer of the onion. Calling `next` twice is an error. */
export type Middleware = (call: ReadCall, next: Next) => Promise<ReadOutcome>;

/** What an annotation is: a file's map, a failure notice, a re-read reference, or a change since the last read. */
export type AnnotationKind = "map" | "notice" | "reference" | "diff";

/** What Waymark adds to a result. Never part of the file. */
export interface Annotation {
  /** What it is. */
  readonly kind: AnnotationKind;
  /** What the model reads. */
  readonly text: string;
  /** The file, as the call named it. */
  readonly path?: string;
  /** First line shown, 1-based. */
  readonly start?: number;
  /** Last line shown, inclusive. */
  readonly end?: number;
  /** How many lines the file has, where known. */
  readonly lines?: number;
  /** Who made the map: `model:<name>`, `outline` or `scanner`. */
  readonly maker?: string;
  /** Why a notice was given: a stable code, see {@linkcode FailureReason}. */
  readonly reason?: FailureReason;
}

/** Why there is no usable map. */
export type FailureReason =
  | "prose-only"
  | "no-declarations"
  | "no-key"
  | "refused"
  | "empty-answer"
  | "bad-answer"
  | "provider-error"
  | "timeout"
  | "aborted"
  | "budget"
  | "backing-off"
  | "changed"
  | "internal";

/** How a host's arguments say a read. */
export interface Dialect<Args = Record<string, unknown>> {
  /** The host's names for tools that speak this dialect. */
  readonly tools: readonly string[];
  /** The read in these arguments; `undefined` where they cannot be read, or ask for something that is not a range of lines. */
  parse(args: unknown): ReadSpan | undefined;
  /** The arguments for another range. The same object where the range is the one they already ask for. */
  apply(args: Args, span: ReadSpan): Args;
  /** The range in the host's own argument names, for the model to copy. */
  describe(start: number, count: number): string;
}

/** A path and a range of lines. */
export interface ReadSpan {
  /** The path as given. */
  readonly path: string;
  /** First line, 1-based. */
  readonly start: number;
  /** How many lines at most; absent: to the end. */
  readonly count?: number;
  /** The arguments themselves insist on this range (see {@linkcode ReadCall.fresh}). */
  readonly fresh?: boolean;
}

/** How a host's result carries file text, failure and annotations. */
export interface Codec<Result = unknown> {
  /** The file text in the result, free of the host's own gutters and banners; `undefined` where it holds none or cannot be told. */
  text(result: Result): string | undefined;
  /** Whether the result is the tool's own report of a failure. Default: never. */
  failed?(result: Result): boolean;
  /** The result with annotations beside the content. Must return `result` itself where it cannot carry them. */
  annotate(result: Result, annotations: readonly Annotation[]): Result;
  /**
   * A result made of an annotation alone, for a layer that answers without the tool: in the shape of `like`, the latest result
   * with text that the tool gave, if it gave one. `undefined` where no such result can be made.
   */
  answer?(annotation: Annotation, like?: Result): Result | undefined;
}

/** What a region of a file is. */
export type RegionKind =
  | "import"
  | "type"
  | "interface"
  | "class"
  | "function"
  | "method"
  | "constant"
  | "config"
  | "test"
  | "comment"
  | "other";

/** A run of lines worth a name. Lines are 1-based and inclusive. */
export interface Region {
  /** First line. */
  readonly start: number;
  /** Last line, inclusive. */
  readonly end: number;
  /** What it is. */
  readonly kind: RegionKind;
  /** Its name, one line, at most 120 characters. */
  readonly name: string;
  /** How it is used, one line, at most 200 characters; may be empty. */
  readonly note: string;
}

/** Tokens and time one summary took. */
export interface Usage {
  /** Requests that reached a model, whatever they answered. */
  readonly calls: number;
  /** Input tokens outside the provider's cache. */
  readonly input: number;
  /** Output tokens. */
  readonly output: number;
  /** Input tokens read from the provider's cache. */
  readonly cacheRead: number;
  /** Input tokens written to the provider's cache. */
  readonly cacheWrite: number;
  /** Wall time in milliseconds. */
  readonly ms: number;
}

/** What a summarizer makes of a file. */
export interface Summary {
  /** What the file does, at most 2,400 characters. Never names the file. */
  readonly prose: string;
  /** The regions, sorted by start. Empty: prose only, no map could be made. */
  readonly regions: readonly Region[];
  /** What it cost. */
  readonly usage: Usage;
  /** Who really made it, where that is not the summarizer itself: an outline that fell back to the scanner. */
  readonly maker?: string;
  /** Rows of the answer that could not be used. */
  readonly dropped?: number;
  /** Entries left out because there were more than 400: the most deeply nested first, of one depth the shortest. */
  readonly omitted?: number;
  /** What the audit of a model's regions found. */
  readonly audit?: Audit;
}

/** What checking a model's regions against an outline found. */
export interface Audit {
  /** Regions that stand where the outline has them. */
  readonly verified: number;
  /** Regions moved to where the outline has them. */
  readonly moved: number;
  /** Regions dropped: their name occurs nowhere in the file, or a declaration moved to their first line took their place. */
  readonly dropped: number;
}

/** A file's map, as stored. The rendered text is made from it on every read. */
export interface FileMap extends Summary {
  /** SHA-256 of the raw bytes, lower-case hex. */
  readonly hash: string;
  /** Size in bytes. */
  readonly size: number;
  /** Number of lines; a final newline does not make one more. */
  readonly lines: number;
  /** Who made it: `model:<name>`, `outline` or `scanner`. */
  readonly maker: string;
  /** Version of the words or rules it was made with. */
  readonly promptVersion: number;
  /** When it was made, milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Facts of the read a map goes with. Without `start` and `end` no line of the file stands beside the map. */
export interface RenderMapOptions {
  /** First line shown, 1-based. */
  readonly start?: number | undefined;
  /** Last line shown, inclusive. */
  readonly end?: number | undefined;
  /** The lines are no part of this result: it refers to where they stand in the conversation. Default false. */
  readonly referred?: boolean | undefined;
  /** What came back could not be compared with the file: the lines were asked for, no more is known. Default false. */
  readonly unchecked?: boolean | undefined;
  /** Says a range in the host's own argument names. Default: `lines 201-400`. */
  readonly describe?: ((start: number, count: number) => string) | undefined;
  /** One more line for the model, before the summary. */
  readonly note?: string | undefined;
}

/** A file's bytes, read once: hashed, counted and numbered from the same buffer. */
export interface SourceFile {
  /** The path as the caller gave it. */
  readonly path: string;
  /** Decoded as UTF-8; a byte order mark stays, bad bytes become U+FFFD. */
  readonly text: string;
  /** Number of lines; a final newline does not make one more. */
  readonly lines: number;
  /** SHA-256 of the raw bytes, lower-case hex. */
  readonly hash: string;
  /** Size in bytes. */
  readonly size: number;
}

/** What a summarizer is given beside the file. */
export interface SummarizerContext {
  /** The run's deadline and the caller's abort, in one. */
  readonly signal: AbortSignal;
  /**
   * Asked before every request to a model; throws a {@linkcode WaymarkError} with code `budget` when there may be no
   * more. A repair says which problems it is for.
   */
  readonly spend: (problems?: readonly string[]) => void;
  /** Told what each answered request cost, so that a run that fails is counted too. */
  readonly used?: (usage: Completion["usage"]) => void;
}

/** Port: makes a summary of a file. */
export interface Summarizer {
  /** Who it is: `model:<name>`, `outline` or `scanner`. Decides which map is better (scanner < outline < model). */
  readonly maker: string;
  /** Version of its words or rules; stored with every entry. */
  readonly version: number;
  /**
   * One file in, one summary out. Throws a {@linkcode WaymarkError} when there can be none. `undefined` where there is
   * nothing to say: a parser that found no declaration gives no map, not an empty one.
   */
  summarize(file: SourceFile, context: SummarizerContext): Promise<Summary | undefined>;
}

/** Port: a structural outline with exact lines, made without a model. `outline()` of `./outline` is one. */
export interface OutlineParser extends Summarizer {
  /**
   * Checks a model's regions against the outline of the same file: moves what stands elsewhere, drops what occurs
   * nowhere, keeps the rest. Never throws; `undefined` where it has no grammar for the file or could not parse it.
   */
  audit(file: SourceFile, regions: readonly Region[]): Promise<{ regions: Region[]; audit: Audit } | undefined>;
}

/** One message of a completion. */
export interface CompletionMessage {
  /** Who says it. The first is always the user. */
  readonly role: "user" | "assistant";
  /** Plain text. */
  readonly content: string;
}

/** What a model is asked. No tools, ever. */
export interface CompletionRequest {
  /** The system prompt. */
  readonly system: string;
  /** The turns, the user's first. */
  readonly messages: readonly CompletionMessage[];
  /** Most tokens the answer may have. */
  readonly maxTokens: number;
  /** Reaches the HTTP request. */
  readonly signal: AbortSignal;
}

/** What a model answered. */
export interface Completion {
  /** The text of the answer; empty where there was none. */
  readonly text: string;
  /** Why it stopped. `tool` is an answer that called a tool although none was given. */
  readonly stopReason: "end" | "max_tokens" | "refusal" | "tool" | "other";
  /** What it cost; a provider that reports none gives zeros. */
  readonly usage: Omit<Usage, "calls" | "ms">;
}

/** Port: one plain completion. Exactly one request a call: no retries of its own. */
export interface CompletionModel {
  /** The model's name, as stored with every map it makes. */
  readonly name: string;
  /** Asks once. Rejects with a {@linkcode WaymarkError}, the provider's own message and status in it. */
  complete(request: CompletionRequest): Promise<Completion>;
}

/** What `createWaymark({ model })` takes and every provider entry returns: a completion model that also makes maps. */
export interface Model extends CompletionModel {
  /** The map-maker over `complete`: prompt, validation and repair, at most three requests a file. */
  readonly summarizer: Summarizer;
}

/** Port: the few calls the cache needs of a SQLite driver. Synchronous. */
export interface SqliteDatabase {
  /** Runs statements that return nothing. */
  exec(sql: string): unknown;
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
  /** Closes the database; a second call does nothing. */
  close(): void;
}

/** A prepared statement. Bind only text, numbers and null. */
export interface SqliteStatement {
  /** Runs it; the return value is the driver's own and not to be relied on. */
  run(...values: SqliteValue[]): unknown;
  /** The first row, or null or undefined where there is none. */
  get(...values: SqliteValue[]): Record<string, unknown> | null | undefined;
  /** All rows. */
  all(...values: SqliteValue[]): Record<string, unknown>[];
}

/** A value a statement takes. */
export type SqliteValue = string | number | null;

/** Port: opens a SQLite database file. */
export interface SqliteDriver {
  /** `@db/sqlite` or `node:sqlite`. */
  readonly name: string;
  /** Opens or creates the file. Sets no pragma. Throws what the engine throws. */
  open(path: string): SqliteDatabase;
}

/** Where the bytes of a file come from, for hosts whose read tool looks somewhere else than this machine's disk. */
export interface FileSource {
  /**
   * The bytes the host's tool would read now; `undefined` where there is no such regular file. A relative path comes joined
   * to the call's `cwd`, or to the working directory; an address like `vscode-remote://…` as it is. What is returned is
   * copied. A wait for it ends when the read is aborted, and not before: give up on your own where it may hang.
   */
  read(path: string, signal?: AbortSignal): Promise<Uint8Array | undefined> | Uint8Array | undefined;
}

/** Port: time, so that tests can own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason. Never keeps the process alive by itself. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Globs that adjust what is guarded. `exclude` wins over `include`, and both over the lists. */
export interface NameRules {
  /** Guarded although the lists say otherwise. Default: none. */
  readonly include?: readonly string[] | undefined;
  /** Never guarded. Default: none. */
  readonly exclude?: readonly string[] | undefined;
}

/** What went wrong, for programs. */
export type WaymarkErrorCode =
  | FailureReason
  | "invalid-option"
  | "not-found"
  | "not-allowed"
  | "not-text"
  | "too-large"
  | "cache"
  | "next-twice";

/** More about a {@linkcode WaymarkError}. */
export interface WaymarkErrorOptions extends ErrorOptions {
  /** The HTTP status the provider gave, where there was one. */
  readonly status?: number;
}
