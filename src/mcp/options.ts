/**
 * What the server takes and gives.
 *
 * @module
 */

import type { Model } from "../types.ts";

/** Options of {@linkcode serveMcp}. */
export interface McpServerOptions {
  /**
   * Folders whose files may be read, paths or `file:` URLs. A client that names folders narrows them. Default: none, only what
   * the client names.
   */
  readonly roots?: readonly string[] | undefined;
  /** Writes the maps. Default: none, a parser makes them. */
  readonly model?: Model | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /**
   * Whether lines that a conversation was given, unchanged, come back as one line that says so, and how to have them. The
   * conversation is the one whose id the client sends, else the connection. Default false: no client says what has left its
   * conversation, or that several share the connection, so that such a line may speak of what is not there.
   */
  readonly references?: boolean | undefined;
  /** Told what a person should know, once for each distinct reason, in one line. Default: nobody. */
  readonly onNotice?: ((line: string) => void) | undefined;
}

/** A transport of the SDK: where messages come from and go to. */
export interface McpTransport {
  /** Begins to take messages. */
  start(): Promise<void>;
  /** Sends one. */
  // deno-lint-ignore no-explicit-any -- a message is the protocol's
  send(message: any): Promise<void>;
  /** Ends. */
  close(): Promise<void>;
  /** Set by the server. */
  onclose?: (() => void) | undefined;
  /** Set by the server. */
  onerror?: ((error: Error) => void) | undefined;
  /** Set by the server. */
  // deno-lint-ignore no-explicit-any -- a message is the protocol's
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

/** A server that serves. */
export interface McpServing {
  /** Resolves when the connection has ended and all is closed. */
  readonly closed: Promise<void>;
  /** Ends it: calls on their way are given up. */
  close(): Promise<void>;
}
