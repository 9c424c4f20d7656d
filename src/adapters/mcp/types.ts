/**
 * What the SDKs give and take, of both versions. Types only.
 *
 * @module
 */

/** What a handler of a server is given beside the arguments: `extra` of version 1, `ctx` of version 2. */
export interface McpExtra {
  /** Version 1: the JSON-RPC id of the request. */
  readonly requestId?: string | number | undefined;
  /** Version 1: the client's abort. */
  readonly signal?: AbortSignal | undefined;
  /** Version 1: what the client says of the request. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  /** The transport's session, where it has one. */
  readonly sessionId?: string | undefined;
  /** Version 2: the request. */
  readonly mcpReq?: {
    /** The JSON-RPC id. */
    readonly id?: string | number | undefined;
    /** The client's abort. */
    readonly signal?: AbortSignal | undefined;
    /** What the client says of it. */
    readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  } | undefined;
}

/** Text as a tool's result. */
export interface McpText {
  /** One text block. */
  content: { type: "text"; text: string }[];
  /** It did not fail. */
  isError?: never;
  /** Results of the SDKs are open. */
  // deno-lint-ignore no-explicit-any -- results of the SDKs are open
  [key: string]: any;
}

/** A failure as a tool's result. */
export interface McpFailure {
  /** One text block: what could not be done, why, what next. */
  content: { type: "text"; text: string }[];
  /** It failed. */
  isError: true;
  /** Results of the SDKs are open. */
  // deno-lint-ignore no-explicit-any -- results of the SDKs are open
  [key: string]: any;
}
