/**
 * What a conversation has been shown. Types only.
 *
 * @module
 */

/** Options of `createSession`. */
export interface SessionOptions {
  /**
   * The host's id of the conversation. Reads that name another one are no part of it and go on as asked. Default: none, every
   * read belongs to it.
   */
  readonly id?: string | undefined;
  /** What `JSON.stringify(session)` gave, parsed, of a conversation that goes on. Default: nothing was shown yet. */
  readonly state?: unknown;
  /**
   * The host can neither give its messages nor say what it removes from them. Nothing then refers back, unless
   * `rereadGuard: true` asks for it by name. Default false.
   */
  readonly untracked?: boolean | undefined;
}

/** Lines, 1-based and inclusive. */
export interface LineSpan {
  /** First line. */
  readonly start: number;
  /** Last line, inclusive. */
  readonly end: number;
}

/** What a conversation has seen of one file. */
export interface Coverage {
  /** SHA-256 of the raw bytes these lines were seen of, lower-case hex: the latest version of which a line is in context. */
  readonly hash: string;
  /** How many lines that version has. */
  readonly lines: number;
  /** The lines seen of it, sorted, apart from each other. */
  readonly seen: readonly LineSpan[];
  /** Every line of it was seen. */
  readonly whole: boolean;
}

/**
 * One conversation: which lines of which bytes its tool results hold. What the host removes or rewrites it must say, by
 * `reconcile` or by one of the `evict` calls; what is no longer there is never referred to.
 */
export interface Session {
  /** The host's id of the conversation, where it gave one. */
  readonly id: string | undefined;
  /** The present turn: 0 until `nextTurn` is first called. */
  readonly turn: number;
  /** Nobody says what leaves the conversation. */
  readonly untracked: boolean;
  /** A new request to the model begins: its number. */
  nextTurn(): number;
  /**
   * Results that are no longer in the conversation, or no longer whole, by the ids of their tool calls. What a call without an
   * id gave may be among them, and is gone too.
   */
  evict(callIds: Iterable<string>): void;
  /** Everything shown before a turn is gone from the conversation. */
  evictBefore(turn: number): void;
  /** Nothing is left of the conversation: it was cleared, rewound to its start, or is another one now. */
  reset(): void;
  /**
   * The very messages of the next request, in the shapes of Anthropic, OpenAI, the AI SDK, LangChain, Gemini or Genkit. Only
   * what stands in a tool result of them, whole and unaltered, is still counted as shown. Text after it may have been added.
   * What stands before a compaction of the API's own the model is not shown.
   */
  reconcile(messages: readonly unknown[]): void;
  /**
   * Another conversation that begins with all that is in this one. What happens in one does not touch the other. Where a
   * sub-agent begins before the results of its turn are in, fork before the tools run, or reconcile the fork with the
   * sub-agent's own messages.
   */
  fork(options?: Pick<SessionOptions, "id">): Session;
  /**
   * Which lines of a file this conversation has seen; `undefined` where it has seen none.
   *
   * @param path Absolute, or relative to the working directory.
   */
  coverage(path: string): Coverage | undefined;
  /** The state as plain JSON, for `createSession({ state })`. It holds the text of the lines shown. */
  toJSON(): SessionState;
}

/** A session as plain JSON. */
export interface SessionState {
  /** The version of this form. */
  readonly version: 1;
  /** The host's id of the conversation. */
  readonly id?: string;
  /** The present turn. */
  readonly turn: number;
  /** Nobody says what leaves the conversation. */
  readonly untracked: boolean;
  /** What was given, in the order it was given. */
  readonly given: readonly Given[];
  /** References a repeat of which is insistence. */
  readonly referred: readonly Referred[];
}

/** A reference that was given in place of lines. */
export interface Referred extends LineSpan {
  /** The read, as it was asked for. */
  readonly read: string;
  /** The file, absolute, links resolved. */
  readonly file: string;
  /** The turn in which it was given. */
  readonly turn: number;
}

/** One thing that one tool result gave: lines of a file, or the map of one. */
export interface Given {
  /** What it is. */
  readonly kind: "lines" | "map";
  /** The file, absolute, links resolved. */
  readonly file: string;
  /** The file, as the call named it. */
  readonly path: string;
  /** SHA-256 of the file's raw bytes then, lower-case hex. */
  readonly hash: string;
  /** How many lines the file had. */
  readonly lines: number;
  /** First line given, 1-based; of a map 0. */
  readonly start: number;
  /** Last line given, inclusive; of a map 0. */
  readonly end: number;
  /** What must stand in the result: the lines themselves, or the map as it was rendered. */
  readonly text: string;
  /** The turn in which it was given. */
  readonly turn: number;
  /** The host's id of the tool call. */
  readonly callId?: string;
}

/** The tool results of a list of messages. */
export interface ToolResults {
  /** Whether the result of a call holds what was given in it, to the letter; without an id, any whose call named the file. */
  holds(given: Pick<Given, "kind" | "text" | "path" | "callId">): boolean;
}
