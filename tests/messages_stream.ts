/**
 * A message of the Messages API on loopback as a stream of events.
 *
 * @module
 */

/** As much of a message as its events need. */
export interface StreamedMessage extends Readonly<Record<string, unknown>> {
  readonly content: readonly Readonly<Record<string, unknown>>[];
}

/** A message as the text of a stream of events; a block of text comes in two parts. */
export function asEvents(message: StreamedMessage): string {
  return events(message).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

function events(message: StreamedMessage): ({ readonly type: string } & Readonly<Record<string, unknown>>)[] {
  const { content, stop_reason, stop_sequence, stop_details, usage } = message;
  const blocks = content.flatMap((block, index) => {
    const text = String(block["text"] ?? ""), half = text.length >> 1, input = JSON.stringify(block["input"] ?? {});
    const isText = block["type"] === "text", isCall = block["type"] === "tool_use";
    const deltas = isText
      ? [text.slice(0, half), text.slice(half)].map((text) => ({ type: "text_delta", text }))
      : isCall
      ? [{ type: "input_json_delta", partial_json: input }]
      : [];
    return [
      {
        type: "content_block_start",
        index,
        content_block: { ...block, ...(isText ? { text: "" } : isCall ? { input: {} } : {}) },
      },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  return [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage },
    { type: "message_stop" },
  ];
}
