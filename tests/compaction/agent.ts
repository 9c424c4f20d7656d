/**
 * An agent at work over a Messages API on loopback, by the real SDK: what it is asked and what its tools give is written down
 * beforehand, every request is the compactor's view of it, and the API runs a simulated prompt cache.
 *
 * @module
 */

import { Anthropic } from "@anthropic-ai/sdk";
import { createCompactor } from "../../src/compaction.ts";
import type { Compactor } from "../../src/compaction/compactor_types.ts";
import type {
  CompactionEvent,
  CompactorOptions,
  HostMessage,
  Notice,
  RequestSender,
} from "../../src/compaction/types.ts";
import { anthropic, anthropicSender } from "../../src/providers/anthropic.ts";
import { type FakeClock, fakeClock, promptCache } from "../../src/testing.ts";
import { message, type MessagesApi, type ReceivedRequest, type Reply, startMessagesApi } from "../messages_api.ts";

/** A model whose figures are all published. */
export const MODEL = "claude-opus-4-8";

/** What the agent is asked, in order; the first call of each task reads so many tokens. */
export interface Task {
  readonly words: string;
  readonly reads: readonly number[];
}

/** So many tasks of three reads each, about 2,600 tokens each. */
export function tasks(count: number, reads: readonly number[] = [800, 800, 800]): Task[] {
  return Array.from({ length: count }, (_, index) => ({ words: `Task ${index + 1}: look at it, please.`, reads }));
}

/** Everything that came of a run. */
export interface Run {
  readonly api: MessagesApi;
  readonly compactor: Compactor;
  readonly clock: FakeClock;
  /** The agent's own requests, as they arrived. */
  readonly requests: readonly ReceivedRequest[];
  /** Forks and standalone calls, as they arrived. */
  readonly forks: readonly ReceivedRequest[];
  readonly standalone: readonly ReceivedRequest[];
  /** What the API reported of the agent's own requests, in their order. */
  readonly usages: readonly Anthropic.Usage[];
  readonly events: readonly CompactionEvent[];
  readonly notices: readonly Notice[];
}

/** How a run differs from the usual one. */
export interface RunOptions {
  readonly compaction?: Omit<Partial<CompactorOptions>, "sender"> & {
    /** What sends forks, given where to. Default: the provider's own; null: nothing does. */
    readonly sender?: ((access: { apiKey: string; baseURL: string }) => RequestSender) | null;
  };
  readonly tasks?: readonly Task[];
  /** Fields of every request of the agent's. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Whether the last block of each request is marked for the cache. Default true. */
  readonly marks?: boolean;
  /** What is told the compactor. Default: requests, and usage with the ids of answers. */
  readonly notes?: { readonly requests?: boolean; readonly usage?: boolean; readonly ids?: boolean };
  /** What the API answers a fork. Default: a summary. */
  readonly fork?: () => Reply;
  /** What the API answers a standalone call. Default: a summary. */
  readonly alone?: () => Reply;
  /** Seen before a request goes out. */
  readonly before?: (run: Pick<Run, "compactor" | "clock">, index: number) => void;
}

/** The tools of every request. */
export const TOOLS = [{
  name: "read",
  description: `Reads a file. ${"It gives its lines. ".repeat(40)}`,
  input_schema: { type: "object" as const, properties: { path: { type: "string" } } },
}];

const SYSTEM = `You are a careful engineer. ${"You read before you write. ".repeat(40)}`;
const MARK = { cache_control: { type: "ephemeral" } } as const;

/** The view as it is sent: a mark on its last block. */
export function marked(view: readonly HostMessage[]): HostMessage[] {
  const last = view.at(-1)!, { content } = last;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content as HostMessage[];
  return [...view.slice(0, -1), { ...last, content: [...blocks.slice(0, -1), { ...blocks.at(-1), ...MARK }] }];
}

/** Whether a request is a fork, or a standalone call, or the agent's own. */
export function kindOf({ body }: ReceivedRequest): "fork" | "standalone" | "own" {
  const last = JSON.stringify((body?.messages as HostMessage[] | undefined)?.at(-1) ?? "");
  if (last.includes("Interrupt the task here")) return "fork";
  return last.includes("The part to be summarized has") ? "standalone" : "own";
}

/** Sends a request of the agent's, from where its fields say. */
async function send(sdk: Anthropic, request: Readonly<Record<string, unknown>>): Promise<Anthropic.Message> {
  const { messages } = (request["betas"] ? sdk.beta : sdk) as Pick<Anthropic, "messages">;
  const body = request as unknown as Anthropic.MessageCreateParamsNonStreaming;
  return await (request["stream"] ? messages.stream(body).finalMessage() : messages.create(body));
}

/** Runs all tasks, one request after the other, and closes everything. */
export async function runAgent(options: RunOptions = {}): Promise<Run> {
  const {
    compaction: { sender = anthropicSender, ...compaction } = {},
    fields = {},
    notes = {},
    before,
    marks = true,
  } = options;
  const { requests: notesRequests = true, usage: notesUsage = true, ids = true } = notes;
  const clock = fakeClock(), summary = "## Requests and decisions\nLook at all of it.";
  const script: Reply[] = [];
  const api = await startMessagesApi({
    models: { [MODEL]: { context: 200_000, output: 32_000 }, "claude-haiku-4-5": { context: 200_000, output: 64_000 } },
    cache: promptCache({ clock }),
    replies: (request) => {
      const kind = kindOf(request);
      if (kind === "own") return script.shift() ?? message("Done.");
      return (kind === "fork" ? options.fork : options.alone)?.() ?? message(`${summary} (${kind})`);
    },
  });
  const events: CompactionEvent[] = [], notices: Notice[] = [], usages: Anthropic.Usage[] = [];
  const access = { apiKey: api.key, baseURL: api.url };
  const compactor = createCompactor({
    budget: 20_000,
    model: anthropic({ ...access, model: MODEL }),
    sender: sender?.(access),
    clock,
    onEvent: (event) => events.push(event),
    onNotice: (notice) => notices.push(notice),
    ...compaction,
  });
  const sdk = new Anthropic({ ...access, maxRetries: 0, webhookKey: null });

  /** One request of the agent's: its answer is a message of the conversation. */
  const ask = async (answer: Reply): Promise<void> => {
    before?.({ compactor, clock }, usages.length);
    clock.advance(5_000);
    const request = {
      model: MODEL,
      max_tokens: 4_096,
      system: [{ type: "text", text: SYSTEM, ...MARK }],
      tools: TOOLS,
      ...fields,
      messages: marks ? marked(compactor.view()) : compactor.view(),
    };
    script.push(answer);
    const reply = await send(sdk, request);
    const { usage, id, content, role } = reply;
    if (notesRequests) compactor.noteRequestSent(request);
    if (notesUsage) {
      compactor.noteUsage({
        input: usage.input_tokens,
        cacheRead: usage.cache_read_input_tokens ?? 0,
        cacheWrite: usage.cache_creation_input_tokens ?? 0,
        ...(ids ? { id } : {}),
      });
    }
    usages.push(usage);
    compactor.append({ role, content });
    await compactor.settled();
  };

  try {
    let calls = 0;
    for (const { words, reads } of options.tasks ?? tasks(12)) {
      compactor.append({ role: "user", content: words });
      for (const tokens of reads) {
        const id = `toolu_${++calls}`;
        await ask(
          message([{ type: "tool_use", id, name: "read", input: { path: `src/file${calls}.ts` } }], "tool_use"),
        );
        const content = `line of file ${calls}\n${"text ".repeat(Math.ceil(tokens * 0.8))}`;
        compactor.append({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] });
      }
      await ask(message(`That was ${words}`));
    }
  } finally {
    compactor.close();
    await api.close();
  }
  const of = (kind: string): ReceivedRequest[] => api.requests.filter((request) => kindOf(request) === kind);
  const kinds = { requests: of("own"), forks: of("fork"), standalone: of("standalone") };
  return { api, compactor, clock, ...kinds, usages, events, notices };
}
