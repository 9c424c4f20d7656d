/**
 * Claude as a model, over the official `@anthropic-ai/sdk`, which is loaded at the first request: for maps and digests, and to
 * send whole requests for forks.
 *
 * Promised: exactly one HTTP request a call (the SDK's own retries are off), the abort and the deadline reach it, no error text
 * ever holds the key, and on Deno nothing prompts. Absent: tools, caching marks, sampling settings, streaming of our own.
 *
 * @module
 */

import type { Anthropic } from "@anthropic-ai/sdk";
import type { RequestSender, SentAnswer } from "../compaction/types.ts";
import { WaymarkError } from "../errors.ts";
import { requestFailure } from "../summary/failure.ts";
import { withSummarizer } from "../summary/model.ts";
import { cleanText } from "../summary/text.ts";
import type { Completion, CompletionRequest, Model } from "../types.ts";

/** The current model of each class, cheapest first: the one place where a model is chosen by name. */
const CLASSES = { haiku: "claude-haiku-5-5", sonnet: "claude-sonnet-5-5", opus: "claude-opus-5-5" };

/** The model that is asked where none is named: small, quick and cheap, and good enough for maps and digests. */
export const DEFAULT_MODEL: string = CLASSES.haiku;

/** Where requests go where no other place is named. */
const DEFAULT_BASE_URL = "https://api.anthropic.com";
/** A last resort, in milliseconds; the deadline of a run comes long before. Having one lets the SDK do without streaming. */
const HTTP_TIMEOUT_MS = 600_000;

/** Options of {@linkcode anthropic}. */
export interface AnthropicOptions {
  /** The API key. Default: the environment's `ANTHROPIC_API_KEY`. */
  readonly apiKey?: string;
  /** Where the Messages API is. Default: the environment's `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com`. */
  readonly baseURL?: string;
  /** The model, or `"haiku"`, `"sonnet"`, `"opus"`: the current one of its class. Default `"haiku"`, {@linkcode DEFAULT_MODEL}. */
  readonly model?: string;
  /** Most tokens a map's answer may have, reasoning included. Default 16,384. */
  readonly maxTokens?: number;
}

/**
 * A model that `createWaymark({ model })` takes.
 *
 * On Deno it needs `--allow-net` for the host, and `--allow-env` for `ANTHROPIC_API_KEY` (where the key is not given),
 * `ANTHROPIC_BASE_URL` and `ANTHROPIC_CUSTOM_HEADERS`, which the SDK reads.
 *
 * @throws {WaymarkError} with code `no-key` where no key is given and the environment has none: at once, so that a missing
 * key is found at the start and not at the first read.
 *
 * @example
 * ```ts
 * import { anthropic } from "@waymark/waymark/providers/anthropic";
 * import { assertEquals } from "@std/assert";
 *
 * const model = anthropic({ apiKey: "a key of yours", model: "haiku" });
 * assertEquals(model.summarizer.maker, "model:claude-haiku-5-5");
 * ```
 */
export function anthropic(options: AnthropicOptions = {}): Model {
  const { model = "haiku", maxTokens } = options, name = new Map(Object.entries(CLASSES)).get(model) ?? model;
  const connection = createConnection(options, name);
  const complete = async ({ system, messages, maxTokens, signal }: CompletionRequest): Promise<Completion> => {
    try {
      const { messages: api } = await connection.client(name);
      const turns = messages.map(({ role, content }) => ({ role, content }));
      const body = { model: name, max_tokens: maxTokens, messages: turns, ...(system ? { system } : {}) };
      return readMessage(name, await api.create(body, { signal }));
    } catch (error) {
      throw connection.failure(name, error);
    }
  };
  return withSummarizer({ name, complete }, maxTokens === undefined ? {} : { maxOutputTokens: maxTokens });
}

/**
 * Sends whole requests of the Messages API as they are, for forks of a compaction: exactly one HTTP request each. What the
 * SDK takes for headers (`betas`) is sent as headers; a request that streams is streamed. Where the id of the answer before
 * is known, it is asked why the cache was missed.
 *
 * @throws {WaymarkError} with code `no-key` where no key is given and the environment has none.
 *
 * @example
 * ```ts
 * import { anthropicSender } from "@waymark/waymark/providers/anthropic";
 * import { assertEquals } from "@std/assert";
 *
 * const sender = anthropicSender({ apiKey: "a key of yours" });
 * assertEquals(typeof sender.send, "function");
 * ```
 */
export function anthropicSender(options: Pick<AnthropicOptions, "apiKey" | "baseURL"> = {}): RequestSender {
  const connection = createConnection(options, "the Messages API");
  return {
    async send(request, { signal, previousId }): Promise<SentAnswer> {
      const name = String(request.model);
      try {
        const sdk = await connection.client(name);
        const { messages: api } = (request["betas"] === undefined ? sdk : sdk.beta) as Pick<Anthropic, "messages">;
        const asked = { ...request["diagnostics"] as object | undefined, previous_message_id: previousId };
        const body = { ...request, ...(previousId === undefined ? {} : { diagnostics: asked }) } as unknown;
        const message = request["stream"] === true
          ? await api.stream(body as Anthropic.MessageStreamParams, { signal }).finalMessage()
          : await api.create(body as Anthropic.MessageCreateParamsNonStreaming, { signal });
        const missed = message?.diagnostics?.cache_miss_reason?.type;
        const answer = readMessage(name, message), { id } = message;
        return { ...answer, ...(id ? { id } : {}), ...(missed ? { cacheMiss: missed } : {}) };
      } catch (error) {
        throw connection.failure(name, error);
      }
    },
  };
}

/** A key, an address, and the SDK's client, made at the first request. */
interface Connection {
  /** The client. Rejects where the SDK cannot be loaded or Deno would have to ask the user. */
  client(name: string): Promise<Anthropic>;
  /** Any error as one of ours, without the key. */
  failure(name: string, error: unknown): WaymarkError;
}

function createConnection(options: Pick<AnthropicOptions, "apiKey" | "baseURL">, user: string): Connection {
  const apiKey = (options.apiKey ?? readEnvironment("ANTHROPIC_API_KEY") ?? "").trim();
  const baseURL = options.baseURL ?? readEnvironment("ANTHROPIC_BASE_URL") ?? DEFAULT_BASE_URL;
  if (!apiKey) {
    throw new WaymarkError(
      "no-key",
      `Cannot use ${user}: there is no API key; set ANTHROPIC_API_KEY${
        host.Deno ? ", allow it with --allow-env" : ""
      } or pass apiKey`,
    );
  }
  if (!URL.canParse(baseURL)) {
    throw new WaymarkError("invalid-option", `Cannot use ${user}: ${JSON.stringify(baseURL)} is not a URL`);
  }
  let client: Anthropic | undefined;
  const connect = async (name: string): Promise<Anthropic> => {
    checkPermissions(name, baseURL);
    const sdk = await import("@anthropic-ai/sdk").catch((cause: unknown) => {
      throw requestFailure(name, `the package @anthropic-ai/sdk cannot be loaded, install it (${cause})`, { cause });
    });
    return new sdk.Anthropic({
      apiKey,
      baseURL,
      maxRetries: 0,
      timeout: HTTP_TIMEOUT_MS,
      logLevel: "off",
      webhookKey: null,
      openTelemetry: false,
    });
  };
  return {
    client: async (name) => client ??= await connect(name),
    failure: (name, error) => error instanceof WaymarkError ? error : readError(error, { name, apiKey, baseURL }),
  };
}

const STOP_REASONS = new Map<string | null, Completion["stopReason"]>([
  ["end_turn", "end"],
  ["stop_sequence", "end"],
  ["max_tokens", "max_tokens"],
  ["model_context_window_exceeded", "max_tokens"],
  ["refusal", "refusal"],
  ["tool_use", "tool"],
]);

/** The answer in a message; what is not a message (a proxy's page, say) is a provider's error. */
function readMessage(name: string, message: Anthropic.Message): Completion {
  if (typeof message !== "object" || message === null || !Array.isArray(message.content)) {
    const start = typeof message === "string" ? `: ${String(message).slice(0, 80)}` : "";
    throw requestFailure(name, `what came back is not a message of the Messages API${start}`);
  }
  const texts = message.content.map((block) => block.type === "text" ? block.text : "");
  const usage: Partial<Anthropic.Usage> = message.usage ?? {};
  return {
    text: message.stop_details?.explanation ?? texts.join(""),
    stopReason: STOP_REASONS.get(message.stop_reason) ?? "other",
    usage: {
      input: usage.input_tokens ?? 0,
      output: usage.output_tokens ?? 0,
      cacheRead: usage.cache_read_input_tokens ?? 0,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
    },
  };
}

/** What to do about it, where that is known. */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [401, "check the API key"],
  [403, "check what the API key may do"],
  [404, "check the model's name and the base URL"],
]);

/** An error of the SDK in the provider's own words, without the key. */
function readError(
  error: unknown,
  { name, apiKey, baseURL }: { name: string; apiKey: string; baseURL: string },
): WaymarkError {
  const { status, apiMessage, headers, message } = error as Partial<InstanceType<typeof Anthropic.APIError>>;
  // A provider may echo the key as it was given, or cleaned.
  const hide = (text: string): string =>
    cleanText(text.replaceAll(apiKey, "[key]")).replaceAll(cleanText(apiKey) || apiKey, "[key]");
  if (typeof status === "number") {
    const said = apiMessage ?? message?.replace(/^\d+ /, "") ?? "";
    const wait = headers?.get("retry-after");
    const advice = wait ? `it asks to wait ${wait} s` : ADVICE.get(status);
    return requestFailure(name, hide(`${status} ${said}${advice ? `; ${advice}` : ""}`), { status });
  }
  const words = [...new Set(chain(error).map((cause) => (cause.message || cause.name).replace(/\.$/, "")))];
  return requestFailure(name, hide(`no whole answer from ${new URL(baseURL).host}: ${words.join(": ")}`));
}

/** An error and its causes. */
function chain(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let next = error; next instanceof Error && causes.length < 5; next = next.cause) causes.push(next);
  return causes;
}

/** Deno's own part of the globals, and Node's, which may not be touched where there is Deno. */
const host = globalThis as unknown as {
  Deno?: {
    env: { get(name: string): string | undefined };
    permissions: { querySync(descriptor: Record<string, string>): { state: string } };
  };
  process?: { env: Record<string, string | undefined> };
};

/** Whether Deno allows something without asking. */
function isGranted(descriptor: Record<string, string>): boolean {
  return host.Deno?.permissions.querySync(descriptor).state === "granted";
}

function readEnvironment(variable: string): string | undefined {
  if (!host.Deno) return host.process?.env[variable] || undefined;
  return isGranted({ name: "env", variable }) ? host.Deno.env.get(variable) || undefined : undefined;
}

/** Throws where Deno would have to ask the user first, which it must not do in the middle of a read. */
function checkPermissions(name: string, baseURL: string): void {
  if (!host.Deno) return;
  const variable = "ANTHROPIC_CUSTOM_HEADERS", { host: address, hostname, port, protocol } = new URL(baseURL);
  const missing: string[] = [];
  if (!isGranted({ name: "env", variable })) missing.push(`--allow-env=${variable}`);
  const full = port ? address : `${hostname}:${protocol === "http:" ? 80 : 443}`;
  if (!isGranted({ name: "net", host: full })) missing.push(`--allow-net=${address}`);
  if (missing.length) throw requestFailure(name, `Deno does not allow it, run with ${missing.join(" ")}`);
}
