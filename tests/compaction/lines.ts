/** Lines of messages for tests of spans and the ladder: of plain messages with sizes of their own. */

import type { LineItem } from "../../src/compaction/bonds.ts";
import { History, type ShownItem } from "../../src/compaction/history.ts";
import { anthropicShape } from "../../src/compaction/shapes.ts";
import { renderSummary } from "../../src/compaction/own_text.ts";
import type { HostMessage, MessageShape } from "../../src/compaction/types.ts";

/** A word of a line: who says what, and how many tokens it has. */
export type Word = readonly [what: string, tokens: number];

const HUMAN = /^human/, ANSWER = /^answer/, CALL = /^call (\S+)$/, RESULT = /^result (\S+)$/, MIXED = /^mixed (\S+)$/;

/** The message of a word: `human`, `answer`, `call a,b`, `result a,b`, `mixed a` (words beside a result), `system`, `summary`. */
export function messageOf(what: string): HostMessage {
  const ids = (pattern: RegExp): string[] => pattern.exec(what)?.[1]?.split(",") ?? [];
  const results = [...ids(RESULT), ...ids(MIXED)].map((id) => ({
    type: "tool_result",
    tool_use_id: id,
    content: what,
  }));
  if (CALL.test(what)) {
    return {
      role: "assistant",
      content: ids(CALL).map((id) => ({ type: "tool_use", id, name: "read", input: {} })),
    };
  }
  if (results.length) {
    return { role: "user", content: MIXED.test(what) ? [...results, { type: "text", text: "!" }] : results };
  }
  if (HUMAN.test(what)) return { role: "user", content: what };
  if (ANSWER.test(what)) return { role: "assistant", content: what };
  return what === "system"
    ? { role: "system", content: what }
    : { role: "user", content: renderSummary("s", { messages: 3 }) };
}

/** A history of words, and the line it shows. A cleared result has one token, a note has two. */
export function historyOf(words: readonly Word[], shape: MessageShape = anthropicShape): History {
  const sizes = new Map(words.map(([what, tokens]) => [messageOf(what), tokens]));
  const history = new History({
    shape,
    estimate: (message) => sizes.get(message) ?? (message["role"] === "user" ? 2 : 1),
  });
  history.append([...sizes.keys()]);
  return history;
}

/** A line of words, as they are: of no history, which would give up calls and tell late results in words. */
export function lineOf(words: readonly Word[]): readonly ShownItem[] {
  return words.map(([what, tokens], sequence) => {
    const message = messageOf(what), facts = anthropicShape.facts(message);
    return { sequence, message, facts, tokens, kind: what === "summary" ? "summary" : "message" };
  });
}

/** The sum of tokens. */
export function sumOf(line: readonly LineItem[]): number {
  return line.reduce((sum, { tokens }) => sum + tokens, 0);
}
