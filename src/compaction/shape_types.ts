/**
 * The vocabulary of compaction, the part about single messages: what must be known of one, and the port for a host's shape.
 * Types only.
 *
 * @module
 */

/** A message of the host's, in the host's own shape. Never changed. */
export type HostMessage = Readonly<Record<string, unknown>>;

/** What compaction must know of a message, whatever its shape. */
export interface MessageFacts {
  /** Whose it is. Tool results are `tool`, whatever role the host's shape gives them. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** Ids of the tool calls it makes. */
  readonly calls: readonly string[];
  /** Ids of the tool calls it answers. */
  readonly answers: readonly string[];
  /** Texts of these answers, in the same order. Absent: unknown; such results are cleared whatever they read. */
  readonly results?: readonly string[];
  /** It was written by a person: it holds words of a user that answer no tool call. */
  readonly isHuman: boolean;
  /** Its text, for estimates, excerpts and transcripts: words, arguments of calls, texts of results; nothing binary. */
  readonly text: string;
  /** It has none of the forms of its shape, and is taken for a user's message of its JSON; or a tool's result in it has none. */
  readonly isUnknown?: true;
}

/** Port: one host's message shape. */
export interface MessageShape {
  /** `anthropic`, `openai`, `ai-sdk`, or the host's own name. */
  readonly name: string;
  /** What a message is. Never throws: what it does not know is a user's message of its JSON. */
  facts(message: HostMessage): MessageFacts;
  /** A message of the user's with these words. */
  user(text: string): HostMessage;
  /** The message with the results of these calls replaced by these texts; the very same object where nothing is replaced. */
  withResults(message: HostMessage, texts: ReadonlyMap<string, string>): HostMessage;
  /**
   * What stands in a message's place where the results of these calls are told as words of the user's: for results that come
   * after their call has left the conversation. The very same object alone where it holds none of them.
   */
  retell(message: HostMessage, calls: ReadonlySet<string>): readonly HostMessage[];
  /**
   * Messages with results for these calls of a message, which nobody answers any more: each says that no result came.
   * `undefined` where one of them must be something else than words: the answer is left out then. Default: so it is always.
   */
  giveUp?(message: HostMessage, calls: ReadonlySet<string>): readonly HostMessage[] | undefined;
  /** One message as lines of a transcript: `[user]: …`, `[tool_call read call_1]: {…}`, `[tool_result call_1]: …`. */
  transcript(message: HostMessage): string;
}
