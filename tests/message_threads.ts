/**
 * The Messages API on loopback with message threads: the server holds a conversation, and a client sends only what is new.
 *
 * Every request is written out in full and put before the strict server of `messages_api.ts`, so what that refuses is refused.
 * Kept are both: the body as it came, and the whole request the model would see. A compaction is answered here. Absent:
 * threads that are lost or forked.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import { message, type MessagesBody, type Reply, startMessagesApi } from "./messages_api.ts";
import { asEvents, type StreamedMessage } from "./messages_stream.ts";

/** A block of a message. */
export type Block = Readonly<Record<string, unknown>>;

/** One turn of a conversation. */
export interface Turn {
  readonly role: string;
  readonly content: string | readonly Block[];
}

/** A whole request, as the model sees it. */
export interface WholeRequest extends MessagesBody {
  readonly messages: readonly Turn[];
}

/** How the server is set up. */
export interface ThreadsOptions {
  /** What is answered to a whole request; requests for a compaction are not asked about. */
  readonly reply: (request: WholeRequest, index: number) => Reply;
  /** Whether the server holds threads. Default true; without them a request with one is refused, as some platforms do. */
  readonly threads?: boolean;
  /** What a stream waits for before its last events. Default: nothing. */
  readonly pause?: (index: number) => Promise<unknown>;
}

/** A running server. */
export interface Threads {
  /** Options of the SDK's client. */
  readonly client: { readonly baseURL: string; readonly apiKey: string; readonly maxRetries: number };
  /** Every request that was answered, whole. */
  readonly requests: readonly WholeRequest[];
  /** The bodies of the same requests as they came. */
  readonly wire: readonly MessagesBody[];
  /** Stops. */
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function startThreads({ reply, threads = true, pause }: ThreadsOptions): Promise<Threads> {
  const requests: WholeRequest[] = [], wire: MessagesBody[] = [], held = new Map<string, WholeRequest>();
  const strict = await startMessagesApi({ replies: ({ body }) => reply(body as WholeRequest, replies++) });
  let serial = 0, replies = 0;
  const answer = async (body: MessagesBody, headers: Record<string, string>): Promise<Response | Answer> => {
    const { thread, compaction, stream: _, ...own } = body as WholeRequest & { thread?: ThreadField };
    if (thread && !threads) return new Response(JSON.stringify(UNSUPPORTED), { status: 400 });
    const before = thread?.type === "continue" ? held.get(thread.previous_message_id!) : undefined;
    if (thread?.type === "continue" && (!before || own.tools || own.system)) {
      return new Response(JSON.stringify({ type: "error", error: { type: "invalid_request_error" } }), { status: 400 });
    }
    const whole = { ...before, ...own, messages: [...before?.messages ?? [], ...own.messages] };
    const made = compaction ? COMPACTED : await strictly(whole, headers);
    if (made instanceof Response) return made;
    requests.push(whole), wire.push(body);
    const id = `msg_${++serial}`, full = { ...made, model: whole.model, id } as unknown as StreamedMessage;
    held.set(id, { ...whole, messages: [...whole.messages, { role: "assistant", content: full.content }] });
    return { full, index: requests.length - 1 };
  };
  const strictly = async (whole: WholeRequest, headers: Record<string, string>): Promise<Response | Block> => {
    const [first, ...rest] = whole.messages; // what a compaction gave is sent back as it came, first
    const messages = first?.role === "assistant"
      ? [{ role: "user", content: "The summary." }, ...rest]
      : whole.messages;
    const response = await fetch(`${strict.url}/v1/messages`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...whole, messages }),
    });
    return response.ok ? await response.json() : response;
  };
  const server = createServer(async (incoming, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const sent = Object.entries(incoming.headers).filter(([name]) =>
      /^(x-api-key|authorization|anthropic-version|content-type)$/.test(name)
    );
    const headers = Object.fromEntries(sent.map(([name, value]) => [name, String(value)]));
    const answered = await answer(body, headers);
    if (answered instanceof Response) {
      response.writeHead(answered.status, { "content-type": "application/json" }).end(await answered.text());
    } else if (body.stream === true) {
      const events = asEvents(answered.full), last = events.indexOf("event: message_delta");
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(events.slice(0, last));
      await pause?.(answered.index);
      response.end(events.slice(last));
    } else {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answered.full));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    client: { baseURL: `http://127.0.0.1:${port}`, apiKey: strict.key, maxRetries: 0 },
    requests,
    wire,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await Promise.all([closed, strict.close()]);
    },
  };
}

interface ThreadField {
  readonly type: "create" | "continue";
  readonly previous_message_id?: string;
}

interface Answer {
  readonly full: StreamedMessage;
  readonly index: number;
}

const UNSUPPORTED = {
  type: "error",
  error: {
    type: "invalid_request_error",
    message: "thread: not supported here",
    details: { error_code: "thread_unsupported_request", unsupported: ["platform"] },
  },
};

/** The answer to a request for a compaction. */
const COMPACTED =
  (message([{ type: "compaction", content: "All so far." }], "compaction") as { message: Block }).message;

/** An answer that makes calls: the tool's name, the id and the arguments of each. */
export function calling(...calls: readonly (readonly [name: string, id: string, input: unknown])[]): Reply {
  return message(calls.map(([name, id, input]) => ({ type: "tool_use", id, name, input })), "tool_use");
}

/** Answers in order; after the last one "Done.". */
export function script(...replies: readonly Reply[]): ThreadsOptions["reply"] {
  return (_, index) => replies[index] ?? message("Done.");
}

/** What the model is shown of a call. */
export interface ShownResult {
  readonly text: string;
  readonly failed: boolean;
  readonly content: unknown;
}

/** What a request shows the model of a call; an error where it holds no result of it. */
export function shownOf(request: WholeRequest | undefined, callId: string): ShownResult {
  const results = request?.messages.flatMap(({ content }) => typeof content === "string" ? [] : content) ?? [];
  const result = results.findLast((block) => block["type"] === "tool_result" && block["tool_use_id"] === callId);
  if (!result) throw new Error(`No result of ${callId} is in the request`);
  const { content = "" } = result as { content?: string | Block[] };
  const text = typeof content === "string" ? content : content.map(({ text = "" }) => text).join("\n");
  return { text, content, failed: result["is_error"] === true };
}
