/**
 * A Messages API on loopback, so that the real SDK can be driven over real HTTP without a key.
 *
 * It refuses what the real one refuses (see {@linkcode findFault}), remembers every request byte for byte, and answers from
 * a script: whole messages, streamed where that is asked for, errors, and the ways a connection can go wrong. With a simulated
 * prompt cache it reports usage and diagnostics as that has them. Absent: tools of its own.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { WaymarkError } from "../src/errors.ts";
import { estimateTokens } from "../src/compaction/estimate.ts";
import type { PromptCacheSimulator, SimulatedRequest } from "../src/testing/prompt_cache.ts";
import { findFault } from "./messages_faults.ts";
import { asEvents, type StreamedMessage } from "./messages_stream.ts";

/** One request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body's bytes. */
  readonly raw: Uint8Array;
  /** The body as JSON; `undefined` where it is none. */
  readonly body: MessagesBody | undefined;
  /** Settles when the exchange is over: whether the client went away before it had the whole answer. */
  readonly cutShort: Promise<boolean>;
}

/** The body of a request, as far as it is looked into. Every field may be anything until {@linkcode findFault} has passed it. */
export interface MessagesBody {
  readonly model?: unknown;
  readonly max_tokens?: unknown;
  readonly messages?: unknown;
  readonly system?: unknown;
  readonly [field: string]: unknown;
}

/** What the server does with a request that is in order. */
export type Reply =
  | { readonly kind: "message"; readonly message: Readonly<Record<string, unknown>> }
  | {
    readonly kind: "error";
    readonly status: number;
    readonly body: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  }
  /** A page where a message should be, as a proxy sends it. */
  | { readonly kind: "page"; readonly status: number; readonly html: string }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" }
  /** Sends the headers, then one byte of the answer every so many milliseconds. */
  | { readonly kind: "drip"; readonly everyMs: number }
  /** Sends the headers and half of the answer, then drops the connection. */
  | { readonly kind: "drop" };

/** Content of a message: text, or blocks. */
export type Content = string | readonly Readonly<Record<string, unknown>>[];

/** The usage of a message that says nothing of it, where there is no simulated cache. */
const USAGE = { input_tokens: 1200, output_tokens: 340, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

/** A whole message. The rest of its fields are as the real one sends them, unless `extra` says otherwise. */
export function message(
  content: Content,
  stopReason = "end_turn",
  extra: Readonly<Record<string, unknown>> = {},
): Reply {
  const blocks = typeof content === "string" ? [{ type: "text", text: content, citations: null }] : content;
  return {
    kind: "message",
    message: {
      id: "msg_01Loopback",
      type: "message",
      role: "assistant",
      content: blocks,
      stop_reason: stopReason,
      stop_sequence: null,
      stop_details: null,
      usage: USAGE,
      ...extra,
    },
  };
}

/** An error in the API's own form. */
export function apiError(
  status: number,
  type: string,
  words: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    kind: "error",
    status,
    headers,
    body: { type: "error", error: { type, message: words }, request_id: "req_01Loopback" },
  };
}

/** Limits of a model. */
export interface ModelLimits {
  /** Most tokens of input and output together. */
  readonly context: number;
  /** Most tokens of output. */
  readonly output: number;
}

/** How {@linkcode startMessagesApi} is set up. */
export interface MessagesApiOptions {
  /** The one key that is let in. Default `test-key`. */
  readonly key?: string;
  /** The models it knows. Default: three current ones. */
  readonly models?: Readonly<Record<string, ModelLimits>>;
  /** What it answers: a list, in which the last one serves for all further requests, or a function. */
  readonly replies: readonly Reply[] | ((request: ReceivedRequest, index: number) => Reply);
  /** A simulated prompt cache: what it says of a request is the usage of its answer. Default: none. */
  readonly cache?: PromptCacheSimulator;
}

/** A running server. */
export interface MessagesApi {
  /** Its base URL, without a slash at the end. */
  readonly url: string;
  /** The key it lets in. */
  readonly key: string;
  /** Every request so far, refused ones included. */
  readonly requests: readonly ReceivedRequest[];
  /** Drops all connections and stops. */
  close(): Promise<void>;
}

const MODELS: Readonly<Record<string, ModelLimits>> = {
  "claude-haiku-5-5": { context: 200_000, output: 64_000 },
  "claude-sonnet-5-5": { context: 200_000, output: 64_000 },
  "claude-opus-5-5": { context: 200_000, output: 32_000 },
};

/** Starts a server on a free port of this machine. */
export async function startMessagesApi(options: MessagesApiOptions): Promise<MessagesApi> {
  const { key = "test-key", models = MODELS, replies, cache } = options;
  const requests: ReceivedRequest[] = [];
  const responses: ServerResponse[] = [];
  let answered = 0;
  const answer = (request: ReceivedRequest): Reply => {
    let cached: SimulatedRequest | undefined;
    try {
      cached = cache?.receive(request.body!, { betas: request.headers["anthropic-beta"] });
    } catch (error) {
      return apiError((error as WaymarkError).status ?? 500, "invalid_request_error", (error as WaymarkError).message);
    }
    const index = answered++;
    const reply = typeof replies === "function"
      ? replies(request, index)
      : replies[Math.min(index, replies.length - 1)]!;
    return cached && reply.kind === "message" ? measured(reply, request, cached) : reply;
  };
  const server = createServer(async (incoming, response) => {
    responses.push(response);
    const request = await receive(incoming, response);
    requests.push(request);
    const fault = findFault(request, { key, models });
    send(response, fault ? apiError(fault.status, fault.type, fault.words) : answer(request), request.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    key,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        for (const response of responses) response.end(); // an older Deno waits for each of them, even where the client has gone
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<ReceivedRequest> {
  const chunks: Uint8Array[] = [];
  const cutShort = new Promise<boolean>((resolve) => response.on("close", () => resolve(!response.writableFinished)));
  if (incoming.method !== "GET") { for await (const chunk of incoming) chunks.push(chunk); }
  const raw = new Uint8Array(Buffer.concat(chunks));
  let body: MessagesBody | undefined;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
  } catch {
    body = undefined;
  }
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  return { method: incoming.method ?? "", path: incoming.url ?? "", headers, raw, body, cutShort };
}

/** A message with the usage, the id and the diagnostics that the simulated cache has for it. */
function measured(reply: Reply & { kind: "message" }, { body }: ReceivedRequest, cached: SimulatedRequest): Reply {
  const { message } = reply,
    { previous_message_id: previous } = (body?.["diagnostics"] ?? {}) as Record<string, unknown>;
  const type = typeof previous === "string" ? cached.missReason(previous) : undefined;
  const output_tokens = estimateTokens(message["content"]), id = cached.answer();
  const usage = message["usage"] === USAGE ? { ...cached.usage, output_tokens } : message["usage"];
  return {
    kind: "message",
    message: { ...message, id, usage, diagnostics: type ? { cache_miss_reason: { type } } : null },
  };
}

function send(response: ServerResponse, reply: Reply, body: MessagesBody | undefined): void {
  if (reply.kind === "hang") return;
  if (reply.kind === "page") {
    response.writeHead(reply.status, { "content-type": "text/html; charset=utf-8" }).end(reply.html);
    return;
  }
  const [status, answer, extra] = reply.kind === "error"
    ? [reply.status, reply.body, reply.headers]
    : [200, whole(reply, String(body?.model ?? "")), {}];
  if (reply.kind === "message" && body?.["stream"] === true) {
    response.writeHead(200, { "content-type": "text/event-stream", "request-id": "req_01Loopback" });
    response.end(asEvents(answer as StreamedMessage));
    return;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(answer));
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": String(bytes.length),
    "request-id": "req_01Loopback",
    ...extra,
  });
  if (reply.kind === "drip") {
    let at = 0;
    const timer = setInterval(() => response.write(bytes.subarray(at, ++at)), reply.everyMs);
    response.on("close", () => clearInterval(timer));
  } else if (reply.kind === "drop") {
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy(new Error("dropped")));
  } else {
    response.end(bytes);
  }
}

/** The message to send; where the connection is to fail on the way, any. */
function whole(reply: Reply, model: string): unknown {
  const sent = reply.kind === "message" ? reply : message("An answer that is never whole.");
  return sent.kind === "message" ? { model, ...sent.message } : undefined;
}
