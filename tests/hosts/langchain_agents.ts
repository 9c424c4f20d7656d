/** What the tests of LangChain's hosts share: a scripted chat model in the host's own class, and what it was shown. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { AIMessage } from "langchain";
import { it as nodeIt, test as nodeTest } from "node:test";

/** As of `node:test`, but no test is part of another's run: on Deno one begins in what LangChain made of the one before. */
export const it = (name: string, run: () => Promise<void>): void => void nodeIt(name, () => outside(run));

/** The same for `test`. */
export const test = Object.assign(
  (name: string, run: () => Promise<void>): void => void nodeTest(name, () => outside(run)),
  {
    skip: (name: string, run: () => void): void => void nodeTest.skip(name, run),
  },
);

function outside(run: () => Promise<void>): Promise<void> {
  return AsyncLocalStorageProviderSingleton.getInstance().run(undefined, run);
}

/** A call a scripted model makes. */
export interface ScriptedCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly id: string;
}

/** A message as the model was shown it. */
export interface ShownMessage {
  readonly type: string;
  readonly content: unknown;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly tool_call_id?: string | undefined;
}

/** What a model answers: words, calls, or an error it throws. */
export type Reply = string | readonly ScriptedCall[] | Error;

/** A chat model that answers from a script, and keeps every request it got. */
export class ScriptedModel extends BaseChatModel {
  /** The requests, oldest first. Those of all models made of this one by binding tools. */
  readonly requests: ShownMessage[][];
  readonly #reply: (messages: readonly ShownMessage[]) => Reply;

  constructor(reply: (messages: readonly ShownMessage[]) => Reply, requests: ShownMessage[][] = []) {
    super({});
    this.#reply = reply;
    this.requests = requests;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): ScriptedModel {
    return new ScriptedModel(this.#reply, this.requests);
  }

  // deno-lint-ignore no-explicit-any -- messages of the host's own
  override _generate(messages: any[]): Promise<any> {
    const shown = messages.map(({ type, content, id, name, status, tool_call_id }) => ({
      type,
      content,
      id,
      name,
      status,
      tool_call_id,
    }));
    this.requests.push(shown);
    const reply = this.#reply(shown);
    if (reply instanceof Error) return Promise.reject(reply);
    const message = typeof reply === "string"
      ? new AIMessage(reply)
      : new AIMessage({ content: "", tool_calls: reply.map((call) => ({ ...call, type: "tool_call" as const })) });
    return Promise.resolve({ generations: [{ text: typeof reply === "string" ? reply : "", message }], llmOutput: {} });
  }
}

/** A model that makes these calls, one list a request, and then says that it is done. */
export function scripted(...turns: readonly (readonly ScriptedCall[])[]): ScriptedModel {
  const left = [...turns];
  return new ScriptedModel(() => left.shift() ?? "done");
}

/** The results of the calls in the last request of a model, by the ids of the calls. */
export function results({ requests }: ScriptedModel): Map<string, ShownMessage> {
  const tools = (requests.at(-1) ?? []).filter(({ type }) => type === "tool");
  return new Map(tools.map((message) => [message.tool_call_id ?? "", message]));
}

/** All text of a message, blocks joined by line breaks. */
export function textOf(message: ShownMessage | undefined): string {
  const { content } = message ?? {};
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content as { text?: unknown }[] : [];
  return blocks.flatMap(({ text }) => typeof text === "string" ? [text] : []).join("\n");
}
