/**
 * What stands in opencode's messages, as they are about to be sent. Pure.
 *
 * @module
 */

/** A message and its parts, as far as they are looked at. */
export interface OpencodeMessage {
  /** The message. */
  info: object;
  /** Its parts. */
  parts: readonly object[];
}

/** What stands in a message: the calls and results that the model is sent, in a form that is known. */
export function resultsIn({ info, parts }: OpencodeMessage): unknown[] {
  const { error } = info as { error?: { name?: string } };
  if (error && error.name !== "MessageAbortedError") return []; // it is left out of requests
  return (parts as readonly ToolPart[]).flatMap(({ type, callID, state }) => {
    if (type !== "tool" || state?.status !== "completed" || state.time?.compacted) return [];
    return [{ id: callID, input: state.input }, { toolCallId: callID, content: state.output }];
  });
}

/** A part of a message, where it is a tool's. */
interface ToolPart {
  readonly type?: string;
  readonly callID?: string;
  readonly state?: {
    readonly status?: string;
    readonly input?: unknown;
    readonly output?: unknown;
    readonly time?: { readonly compacted?: number };
  };
}

/** The calls of a message that failed, as they are about to be sent. */
export function failuresIn({ parts }: OpencodeMessage): { callID: string; state: { error: string } }[] {
  return (parts as readonly ToolPart[]).flatMap(({ type, callID, state }) =>
    type === "tool" && callID !== undefined && state?.status === "error"
      ? [{ callID, state: state as { error: string } }]
      : []
  );
}
