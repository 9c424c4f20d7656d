/**
 * LangChain's tool messages: told, made and copied by the host's own class, and a codec for them made of one for their content.
 *
 * @module
 */

import type { Codec } from "../../types.ts";
import type { ToolMessageClass } from "./types.ts";

/** A tool message, as far as it is used. */
export interface MessageLike {
  readonly content: unknown;
  readonly tool_call_id?: string | undefined;
  readonly status?: string | undefined;
  readonly artifact?: unknown;
}

/** Content in place of a result: the id of its call is put to it by whoever knows that. */
export class Answer {
  readonly content: unknown;

  constructor(content: unknown) {
    this.content = content;
  }
}

/** What can be done with messages of a class. */
export interface Messages {
  /** What a result shows the model: of a command, in its messages for this call. */
  contentOf(result: unknown, callId: string | undefined): unknown;
  /** A message of these fields. */
  make(fields: Readonly<Record<string, unknown>>): unknown;
  /** The codec of the messages, for one of their content. */
  codecOf(content: Codec): Codec;
}

/** Names of a message that its constructor is given. */
const FIELDS = [
  "tool_call_id",
  "name",
  "id",
  "status",
  "artifact",
  "metadata",
  "additional_kwargs",
  "response_metadata",
] as const;

/** Messages of a class. */
export function messagesOf(ToolMessage: ToolMessageClass): Messages {
  const isOne = (value: unknown): value is MessageLike => ToolMessage.isInstance(value);
  const make = (fields: Readonly<Record<string, unknown>>): unknown => new ToolMessage({ ...fields });
  /** The message with other content; whatever else it has is its own. */
  const withContent = (message: MessageLike, content: unknown): unknown => {
    const own = message as unknown as Record<string, unknown>;
    const fields = Object.fromEntries(FIELDS.flatMap((name) => own[name] === undefined ? [] : [[name, own[name]]]));
    return make({ ...fields, content });
  };
  return {
    contentOf(result, callId) {
      if (isOne(result)) return result.content;
      const given = (result as { update?: { messages?: unknown } } | undefined)?.update?.messages;
      const own = (Array.isArray(given) ? given : []).filter((one) => isOne(one) && one.tool_call_id === callId);
      return own.flatMap(({ content }) => content);
    },
    make,
    codecOf: (codec) => ({
      text: (result) => isOne(result) ? codec.text(result.content) : undefined,
      failed: (result) => isOne(result) && (result.status === "error" || codec.failed?.(result.content) === true),
      annotate(result, annotations) {
        if (!isOne(result)) return result;
        const content = codec.annotate(result.content, annotations);
        return content === result.content ? result : withContent(result, content);
      },
      answer(annotation, like) {
        if (like !== undefined && !isOne(like)) return undefined;
        // What a program reads beside the content cannot be made up.
        if (like?.artifact !== undefined && JSON.stringify(like.artifact) !== "[]") return undefined;
        const content = codec.answer?.(annotation, like?.content);
        return content === undefined ? undefined : new Answer(content);
      },
    }),
  };
}
