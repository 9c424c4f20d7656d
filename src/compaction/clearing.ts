/**
 * What stands in place of a tool result that is cleared: its digest, framed, where there is one, else a plain placeholder.
 *
 * @module
 */

import { isLocatorStub, isPlaceholder, PLACEHOLDERS, renderDigest } from "../tool_use/frame.ts";
import type { Summaries } from "../tool_use/types.ts";
import type { CompactorOptions, HostMessage, MessageFacts, MessageShape } from "./types.ts";

/** What stands in place of a result without a digest. */
export const CLEARED: string = PLACEHOLDERS[0]!;

/**
 * The message with its tool results cleared; the very same object where none is. What is cleared already, and a compressor's
 * stub, which says where the original is, stay.
 */
export function clearResults(
  shape: Pick<MessageShape, "withResults">,
  { message, facts }: { readonly message: HostMessage; readonly facts: MessageFacts },
  summaries: Summaries | undefined,
): HostMessage {
  const { answers, results } = facts;
  const texts = new Map(answers.flatMap((id, index) => {
    const text = results?.[index] ?? "";
    if (isPlaceholder(text) || isLocatorStub(text)) return [];
    const row = summaries?.get(id);
    return [[id, row?.status === "ok" && row.summary ? renderDigest(row) : CLEARED] as const];
  }));
  return texts.size ? shape.withResults(message, texts) : message;
}

/** The digests there are now, but for ids that several calls have; none where the host's own function throws. */
export function digestsOf(
  { summaries }: Pick<CompactorOptions, "summaries">,
  shared: ReadonlySet<string> = new Set(),
): Summaries {
  try {
    const rows: Summaries = summaries?.() ?? new Map();
    return shared.size ? new Map([...rows].filter(([id]) => !shared.has(id))) : rows;
  } catch {
    return new Map();
  }
}

/** What clears one message of a line; `undefined` where that frees nothing. */
export function createClearing<Item extends { message: HostMessage; facts: MessageFacts; tokens: number }>(
  shape: Pick<MessageShape, "withResults">,
  summaries: Summaries,
  changed: (item: Item, message: HostMessage) => Item,
): (item: Item) => Item | undefined {
  return (item) => {
    const message = item.facts.answers.length ? clearResults(shape, item, summaries) : item.message;
    const other = message === item.message ? item : changed(item, message);
    return other.tokens < item.tokens ? other : undefined;
  };
}
