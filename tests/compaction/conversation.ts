/** A conversation of an agent with tools, as its host keeps it and as it is sent, and what stands around a summary of it. */

import { createSummarizing, type Summarizing } from "../../src/compaction/summarize.ts";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import type {
  CompactionEvent,
  CompactorOptions,
  HostMessage,
  Notice,
  RequestSender,
  SentAnswer,
  SentRequest,
  SummaryCall,
} from "../../src/compaction/types.ts";
import { fakeClock, scriptedModel } from "../../src/testing.ts";

/** A long result of a tool, about 5,000 tokens. */
export const LONG: string = Array.from({ length: 400 }, (_, index) => `line ${index}: const flag${index} = "--dry";`)
  .join("\n");

/** The history: two parallel calls, their results, words of a person between, a third call. */
export const HISTORY: readonly HostMessage[] = [
  { role: "user", content: "Rename --dry to --dry-run in src/cli.ts" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look at both." },
      { type: "tool_use", id: "toolu_1", name: "read", input: { path: "src/cli.ts" } },
      { type: "tool_use", id: "toolu_2", name: "grep", input: { pattern: "--dry" } },
    ],
  },
  {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "toolu_1", content: LONG },
      { type: "tool_result", tool_use_id: "toolu_2", content: [{ type: "text", text: "src/cli.ts:12" }] },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "It stands in line 12 alone." }] },
  { role: "user", content: "Good. The tests too." },
  {
    role: "assistant",
    content: [{ type: "tool_use", id: "toolu_3", name: "read", input: { path: "tests/cli_test.ts" } }],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_3", content: "import { main } from x;" }] },
];

/** The messages that are summarized: all before the person's second words. */
export const SPAN: readonly HostMessage[] = HISTORY.slice(0, 4);

/** The history as it is sent: the last block is marked for the cache. */
export function asSent(messages: readonly HostMessage[]): HostMessage[] {
  const last = messages.at(-1)!, blocks = last["content"] as HostMessage[];
  const marked = { ...blocks.at(-1), cache_control: { type: "ephemeral" } };
  return [...messages.slice(0, -1), { ...last, content: [...blocks.slice(0, -1), marked] }];
}

/** The last request, with everything that is in the key of the provider's cache. */
export const REQUEST: SentRequest = {
  model: "claude-opus-5",
  max_tokens: 4096,
  system: [{ type: "text", text: "You are a careful engineer.", cache_control: { type: "ephemeral" } }],
  tools: [
    {
      name: "read",
      description: "Reads a file.",
      input_schema: { type: "object", properties: { path: { type: "string" } } },
    },
    {
      name: "grep",
      description: "Searches.",
      input_schema: { type: "object", properties: { pattern: { type: "string" } } },
    },
  ],
  tool_choice: { type: "auto" },
  thinking: { type: "adaptive" },
  output_config: { effort: "high" },
  metadata: { user_id: "u1" },
  messages: asSent(HISTORY),
};

/** An answer to a fork that read its whole prefix from the cache. */
export const FORKED: SentAnswer = {
  text: "## Requests and decisions\nRename --dry (forked).",
  stopReason: "end",
  usage: { input: 400, output: 60, cacheRead: 6000, cacheWrite: 0 },
};

/** What a standalone call answers. */
export const STANDALONE = "## Requests and decisions\nRename --dry (standalone).";

/** What a scripted sender answers. */
export type ScriptedSend = Partial<SentAnswer> | Error | (() => Promise<SentAnswer>);

/** A sender that remembers what it was given. */
export function scriptedSender(
  ...answers: readonly ScriptedSend[]
): RequestSender & { readonly sent: { request: SentRequest; previousId: string | undefined }[] } {
  const sent: { request: SentRequest; previousId: string | undefined }[] = [];
  return {
    sent,
    async send(request, { previousId }) {
      const answer = answers[Math.min(sent.push({ request, previousId }), answers.length) - 1] ?? FORKED;
      if (answer instanceof Error) throw answer;
      return typeof answer === "function" ? await answer() : answer as SentAnswer;
    },
  };
}

/** A set-up, and everything it told. */
export interface SetUp {
  readonly summarizing: Summarizing;
  readonly model: ReturnType<typeof scriptedModel>;
  readonly sender: ReturnType<typeof scriptedSender>;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly notices: Notice[];
  readonly events: CompactionEvent[];
  readonly hooks: string[];
  /** Summarizes a span with what is known now. */
  summarize(span?: readonly HostMessage[], spanTokens?: number): Promise<{ text: string; call: SummaryCall }>;
}

/** What makes summaries, with a scripted model and sender, in the mode `fork` unless said otherwise. */
export function setUp(
  options: Partial<CompactorOptions> & { sender?: ReturnType<typeof scriptedSender> | undefined } = {},
): SetUp {
  const sender = options.sender ?? scriptedSender();
  const model = scriptedModel(() => STANDALONE, { name: "claude-opus-5" });
  const clock = fakeClock();
  const notices: Notice[] = [], events: CompactionEvent[] = [], hooks: string[] = [];
  const summarizing = createSummarizing({
    budget: 100_000,
    callMode: "fork",
    model,
    sender,
    clock,
    onNotice: (notice) => notices.push(notice),
    onEvent: (event) => events.push(event),
    onBeforeSummarize: ({ messages, mode }) => hooks.push(`before ${mode} of ${messages}`),
    onAfterSummarize: ({ length, mode }) => hooks.push(`after ${mode}: ${length}`),
    ...options,
  }, typeof options.shape === "object" ? options.shape : anthropicShape);
  return {
    summarizing,
    model,
    sender,
    clock,
    notices,
    events,
    hooks,
    summarize: async (span = SPAN, spanTokens = 5_200) => {
      const snapshot = summarizing.snapshot(HISTORY);
      return await summarizing.summarize({
        messages: span,
        spanTokens,
        snapshot,
        signal: new AbortController().signal,
      });
    },
  };
}
