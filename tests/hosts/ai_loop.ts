/**
 * The AI SDK's own loops with a scripted model object, of either version of the specification: what each request held, and what
 * the model is shown of each call. The SDK itself is handed in, so that one file serves both versions.
 *
 * @module
 */

/** As much of the SDK as is used. */
// deno-lint-ignore no-explicit-any -- two versions of one package, whose types differ
export type Sdk = any;

/** A version of the SDK, and one of its two loops. */
export interface Ai {
  readonly name: string;
  readonly sdk: Sdk;
  /** The version of the specification that its models have. */
  readonly specification: "v3" | "v4";
  readonly loop: "generateText" | "streamText";
}

/** A call that the scripted model makes. */
export interface Call {
  readonly tool?: string;
  readonly input: Record<string, unknown>;
  readonly id: string;
}

/** A request as the model got it. */
export interface Request {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly name: string; readonly description?: string; readonly inputSchema?: unknown }[];
  readonly abortSignal?: AbortSignal;
}

/** What the model is shown of a call. */
export interface ShownCall {
  readonly type: string;
  readonly text: string;
  readonly failed: boolean;
  readonly images: readonly string[];
  /** The output as it stands in the prompt. */
  readonly output: unknown;
}

/** A model that makes the calls of one turn after the other, then says "Done.". `answer` may throw in place of an answer. */
export function scripted(
  { specification }: Pick<Ai, "specification">,
  turns: readonly (readonly Call[])[],
  answer: (request: Request, at: number) => void = () => {},
): { model: unknown; requests: Request[] } {
  const requests: Request[] = [];
  let at = 0;
  const next = (request: Request) => {
    requests.push(request);
    answer(request, requests.length - 1);
    const calls = turns[at++] ?? [];
    const content: Record<string, unknown>[] = calls.length
      ? calls.map(({ tool = "read", input, id }) => ({
        type: "tool-call",
        toolCallId: id,
        toolName: tool,
        input: JSON.stringify(input),
      }))
      : [{ type: "text", text: "Done." }];
    const finishReason = calls.length
      ? { unified: "tool-calls", raw: "tool_use" }
      : { unified: "stop", raw: "end_turn" };
    const total = Math.ceil(JSON.stringify(request.prompt).length / 4), cacheRead = Math.floor(total / 2);
    const usage = {
      inputTokens: { total, noCache: total - cacheRead - 10, cacheRead, cacheWrite: 10 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    };
    return { content, finishReason, usage, warnings: [] };
  };
  const model = {
    specificationVersion: specification,
    provider: "scripted",
    modelId: "scripted-1",
    supportedUrls: {},
    doGenerate: (request: Request) => Promise.resolve().then(() => next(request)),
    async doStream(request: Request) {
      const { content, finishReason, usage } = await Promise.resolve().then(() => next(request));
      const parts = content.flatMap((part) =>
        part["type"] === "text"
          ? [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: part["text"] },
            { type: "text-end", id: "t" },
          ]
          : [part]
      );
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          for (const part of parts) controller.enqueue(part);
          controller.enqueue({ type: "finish", usage, finishReason });
          controller.close();
        },
      });
      return { stream };
    },
  };
  return { model, requests };
}

/** Runs the loop to its end: the messages that came of it, and the parts of a stream. */
export async function converse(
  { sdk, loop }: Ai,
  options: Record<string, unknown>,
): Promise<{ messages: object[]; parts: { type: string; [key: string]: unknown }[] }> {
  const stopWhen = (sdk.isStepCount ?? sdk.stepCountIs)(50), parts: { type: string }[] = [];
  let failure: unknown;
  const onError = ({ error }: { error: unknown }): void => void (failure ??= error);
  const result = await sdk[loop]({ stopWhen, maxRetries: 2, ...options, ...loop === "streamText" && { onError } });
  if (loop === "streamText") {
    for await (const part of result.fullStream) parts.push(part);
    if (failure || parts.some(({ type }) => type === "abort")) {
      throw failure ?? new DOMException("aborted", "AbortError");
    }
  }
  const { messages } = await result.response;
  return { messages: result.responseMessages ? await result.responseMessages : messages, parts };
}

/** What a request shows of the results in it, by the ids of their calls. */
export function shownIn({ prompt }: Request): Map<string, ShownCall> {
  const shown = new Map<string, ShownCall>();
  for (const { role, content } of prompt) {
    if (role !== "tool") continue;
    for (
      const { toolCallId, output } of content as { toolCallId: string; output: { type: string; value: unknown } }[]
    ) {
      const { type, value } = output, parts = type === "content" ? value as Record<string, unknown>[] : [];
      const texts = type === "content"
        ? parts.flatMap(({ text }) => typeof text === "string" ? [text] : [])
        : [typeof value === "string" ? value : JSON.stringify(value)];
      const images = parts.flatMap(({ type, data }) =>
        type === "image-data" ? [data as string] : type === "file" ? [(data as { data: string }).data] : []
      );
      shown.set(toolCallId, { type, text: texts.join("\n"), failed: type.startsWith("error"), images, output });
    }
  }
  return shown;
}
