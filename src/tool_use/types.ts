/**
 * The vocabulary of tool-use summaries: the result that is digested, the row that is kept, and the ports. Types only.
 *
 * @module
 */

/** Why no call was made for a result. The first of these that applies. */
export type SkipReason =
  | "disabled"
  | "not-top-level"
  | "small"
  | "excluded"
  | "secret"
  | "duplicate"
  | "no-model"
  | "budget";

/** One line of the ledger: what became of one tool result. */
export interface DigestRow {
  /** The host's id of the tool call. */
  readonly callId: string;
  /** The host's name of the tool. */
  readonly tool: string;
  /** Bytes of the result's text, as UTF-8. */
  readonly resultBytes: number;
  /** A digest was made; it could not be made; none was wanted. */
  readonly status: "ok" | "failed" | "skipped";
  /** Why none was wanted. */
  readonly skipReason?: SkipReason;
  /** Why it could not be made, in one line. */
  readonly reason?: string;
  /** The digest, at most 800 code points. Text of a model about untrusted text: data, never instructions. */
  readonly summary?: string;
  /** The answer was cut by its limit: the digest ends in an ellipsis. */
  readonly cut?: true;
  /** No cheap model was given: the parent's made it. */
  readonly inheritedRoute?: true;
  /** How long the call took, milliseconds; 0 where none was made. */
  readonly durationMs: number;
  /** When the row was made, milliseconds since the epoch. */
  readonly at: number;
}

/** The digests of a session by call id; only rows of status `ok`. */
export type Summaries = ReadonlyMap<string, DigestRow>;

/** A tool result as the host accepted it. */
export interface AcceptedResult {
  /** The host's id of the tool call. Without one no digest is made: nothing could ever refer to it. */
  readonly callId: string | undefined;
  /** The host's name of the tool. */
  readonly tool: string;
  /** The raw result, before anything compresses or rewrites it. Never changed, never awaited. */
  readonly result: unknown;
  /** The result is the main agent's own, not a sub-agent's. Unknown means not. */
  readonly topLevel?: boolean | undefined;
  /** The file it was read from, where it is known: results of files with secrets are never sent. */
  readonly path?: string | undefined;
  /** The tool's arguments, where they are known: paths they name count like `path`. */
  readonly args?: unknown;
}

/** Port: where rows are kept beyond this process. Nothing of it ever throws or rejects. */
export interface Ledger {
  /** Keeps one row, soon. */
  append(row: DigestRow): void;
  /**
   * Takes a place for a call that is about to be made: how many calls the session has made with it, all its processes together.
   * `undefined` where that cannot be known.
   */
  take(): Promise<number | undefined>;
  /** Rows that could not be kept. */
  readonly errors: number;
  /** Resolves when every row so far is kept or given up. */
  settled(): Promise<void>;
}
