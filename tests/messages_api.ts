/**
 * A Messages API on loopback, so that the real SDK can be driven over real HTTP without a key.
 *
 * It refuses what the real one refuses (see {@linkcode findFault}), remembers every request byte for byte, and answers from
 * a script: whole messages, errors, and the ways a connection can go wrong. Absent: streaming, tools, prompt caching.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

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
      usage: { input_tokens: 1200, output_tokens: 340, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
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
  const { key = "test-key", models = MODELS, replies } = options;
  const requests: ReceivedRequest[] = [];
  const responses: ServerResponse[] = [];
  let answered = 0;
  const server = createServer(async (incoming, response) => {
    responses.push(response);
    const request = await receive(incoming, response);
    requests.push(request);
    const fault = findFault(request, { key, models });
    const index = fault ? answered : answered++;
    const scripted = (): Reply =>
      typeof replies === "function" ? replies(request, index) : replies[Math.min(index, replies.length - 1)]!;
    const reply = fault ?? scripted();
    send(response, reply, String(request.body?.model ?? ""));
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

function send(response: ServerResponse, reply: Reply, model: string): void {
  if (reply.kind === "hang") return;
  if (reply.kind === "page") {
    response.writeHead(reply.status, { "content-type": "text/html; charset=utf-8" }).end(reply.html);
    return;
  }
  const [status, body, extra] = reply.kind === "error"
    ? [reply.status, reply.body, reply.headers]
    : [200, whole(reply, model), {}];
  const bytes = new TextEncoder().encode(JSON.stringify(body));
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

const FIELDS = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "cache_control",
  "container",
  "diagnostics",
  "inference_geo",
  "metadata",
  "output_config",
  "service_tier",
  "speed",
  "stop_sequences",
  "stream",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
]);

/** What the real API would refuse a request for; `undefined` where it would take it. */
export function findFault(
  { method, path, headers, raw, body }: ReceivedRequest,
  { key, models }: { key: string; models: Readonly<Record<string, ModelLimits>> },
): Reply | undefined {
  const invalid = (words: string): Reply => apiError(400, "invalid_request_error", words);
  if (method !== "POST" || path !== "/v1/messages") {
    return apiError(404, "not_found_error", `Not found: ${method} ${path}`);
  }
  const given = headers["x-api-key"] ?? headers["authorization"]?.replace(/^Bearer /, "");
  if (!given) return apiError(401, "authentication_error", "x-api-key header is required");
  if (given !== key) return apiError(401, "authentication_error", `invalid x-api-key: ${given}`);
  if (!headers["anthropic-version"]) return invalid("anthropic-version: header is required");
  if (!headers["content-type"]?.startsWith("application/json")) {
    return invalid("content-type: must be application/json");
  }
  if (typeof body !== "object" || body === null) return invalid("The request body is not valid JSON");
  const extra = Object.keys(body).find((field) => !FIELDS.has(field));
  if (extra) return invalid(`${extra}: Extra inputs are not permitted`);
  if (typeof body.model !== "string") return invalid("model: Field required");
  const limits = models[body.model];
  if (!limits) return apiError(404, "not_found_error", `model: ${body.model}`);
  const most = body.max_tokens;
  if (most === undefined) return invalid("max_tokens: Field required");
  if (typeof most !== "number" || !Number.isInteger(most) || most < 1) {
    return invalid("max_tokens: must be a positive integer");
  }
  if (most > limits.output) {
    return invalid(`max_tokens: ${most} > ${limits.output}, which is the maximum for ${body.model}`);
  }
  const fault = findTextFault(body.system, "system") ?? findTurnFault(body.messages);
  if (fault) return invalid(fault);
  const tokens = Math.ceil(raw.length / 4);
  return tokens > limits.context
    ? invalid(`prompt is too long: ${tokens} tokens > ${limits.context} maximum`)
    : undefined;
}

/** What is wrong with the turns. Two turns of one role in a row are merged by the real API, so they are let through. */
function findTurnFault(turns: unknown): string | undefined {
  if (!Array.isArray(turns)) return "messages: Field required";
  if (!turns.length) return "messages: at least one message is required";
  if (turns[0]?.role !== "user") return 'messages: first message must use the "user" role';
  for (const [index, turn] of turns.entries()) {
    const place = `messages.${index}`;
    if (turn.role !== "user" && turn.role !== "assistant") return `${place}.role: must be "user" or "assistant"`;
    const extra = Object.keys(turn).find((field) => field !== "role" && field !== "content");
    if (extra) return `${place}.${extra}: Extra inputs are not permitted`;
    if (turn.content === undefined) return `${place}.content: Field required`;
    const fault = findTextFault(turn.content, place);
    if (fault) return fault;
  }
  const last = turns.at(-1);
  return last.role === "assistant" && /\s$/.test(String(last.content))
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
}

function findTextFault(content: unknown, place: string): string | undefined {
  if (content === undefined) return undefined;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks) || !blocks.length) return `${place}: all messages must have non-empty content`;
  const blank = blocks.some((block) => block?.type === "text" && !String(block.text ?? "").trim());
  if (blank) return `${place}: text content blocks must contain non-whitespace text`;
  return blocks.some((block) => !String(block?.text ?? "").isWellFormed())
    ? `${place}: text is not valid Unicode`
    : undefined;
}
