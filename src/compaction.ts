/**
 * Compaction: a conversation whose requests stay within a budget. When it nears that, the oldest messages become one summary;
 * where there is none in time, a ladder without a model takes over.
 *
 * Promised: what was given is never edited; no tool call is ever without its result, nor a result without its call; a summary
 * is a user's message that says that a model wrote it. Absent: requests of the conversation itself, which stay the host's.
 *
 * @module
 */

import type { Compactor } from "./compaction/compactor_types.ts";
import { createCompactorOver } from "./compaction/compactor.ts";
import { chooseShape } from "./compaction/shapes.ts";
import { createSummarizing } from "./compaction/summarize.ts";
import type { CompactorOptions, Notice } from "./compaction/types.ts";
import { oneLine } from "./errors.ts";

export type { Compactor, CompactorStats, GivenMessage, GivenRequest } from "./compaction/compactor_types.ts";
export type {
  CachePrices,
  CallMode,
  CompactionEvent,
  CompactorOptions,
  ForkRefusal,
  HostMessage,
  MessageFacts,
  MessageShape,
  Notice,
  RequestSender,
  SendOptions,
  SentAnswer,
  SentRequest,
  SentUsage,
  Span,
  SummaryCall,
} from "./compaction/types.ts";
export { type Bonds, bondsOf, type LineItem } from "./compaction/bonds.ts";
export { estimateTokens } from "./compaction/estimate.ts";
export { type PlacedSpan, selectSpan, type SpanRules } from "./compaction/span.ts";
export { descend, type Descent, type LadderRules } from "./compaction/ladder.ts";
export { isSummaryText, renderSummary } from "./compaction/own_text.ts";
export { aiSdkShape, anthropicShape, openaiShape } from "./compaction/shapes.ts";
export { type StandaloneInput, type StandaloneRequest, standaloneRequest } from "./compaction/standalone.ts";
export {
  createSummarizing,
  type Summarizing,
  type SummarizingStats,
  type SummaryInput,
} from "./compaction/summarize.ts";

/**
 * A compactor for one conversation.
 *
 * @throws {WaymarkError} with code `invalid-option` where an option means nothing.
 *
 * @example
 * ```ts
 * import { createCompactor } from "@waymark/waymark/compaction";
 * import { scriptedModel } from "@waymark/waymark/testing";
 * import { assertEquals, assertStringIncludes } from "@std/assert";
 *
 * const model = scriptedModel(() => "The user wants the tests of the parser fixed; two of five are.");
 * const compactor = createCompactor({ budget: 1_000, model });
 * for (let turn = 1; turn <= 8; turn++) {
 *   compactor.append({ role: "user", content: `Fix test ${turn}.` }, { role: "assistant", content: "Done. ".repeat(60) });
 *   compactor.view();
 * }
 * await compactor.settled();
 * const [first] = compactor.view();
 * assertStringIncludes(String(first?.content), "two of five are");
 * assertEquals(compactor.history().length, 16);
 * ```
 */
export function createCompactor(options: CompactorOptions): Compactor {
  const shape = chooseShape(options.shape), { model, summarizationModel, sender, callMode } = options;
  const isForking = sender !== undefined && (callMode === "fork" || callMode === "auto");
  const { strategy = model || summarizationModel || isForking ? "summary" : "prune", onNotice = print } = options;
  const whole = { ...options, onNotice };
  return createCompactorOver(whole, shape, strategy === "prune" ? undefined : createSummarizing(whole, shape));
}

/** A notice as one line on stderr. */
function print({ message }: Notice): void {
  console.error(`waymark: ${oneLine(message)}`);
}
