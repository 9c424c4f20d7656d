/**
 * A conversation as it was given, and the line of messages that a request is shown of it.
 *
 * Promised: what was given is never edited and keeps its number; what was decided about a message stays decided, so that
 * between decisions the line only grows at its end; a tool result whose call has left is told as words, never as a result.
 *
 * @module
 */

import type { LineItem } from "./bonds.ts";
import { estimateTokens } from "./estimate.ts";
import { isSummaryText, LEFT_OUT } from "./own_text.ts";
import type { Descent } from "./ladder.ts";
import type { PlacedSpan } from "./span.ts";
import type { HostMessage, MessageShape } from "./types.ts";

/** One message of the line, as it is shown. */
export interface ShownItem extends LineItem {
  readonly message: HostMessage;
}

/** What a history needs to know of messages. */
export interface HistoryParts {
  readonly shape: Pick<MessageShape, "facts" | "user" | "retell">;
  /** Tokens of a message. */
  readonly estimate: (message: HostMessage) => number;
  /** A message has none of the forms of the shape. */
  readonly onUnknown?: () => void;
}

/** The one kind of history there is. */
export class History {
  readonly #parts: HistoryParts;
  #given: HostMessage[] = [];
  #line: ShownItem[] = [];
  #next = 0;
  #tokens = 0;
  /** Calls that have left the line, or stand before a summary: a result of theirs that comes now comes too late. */
  #passed = new Set<string>();

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /** What a request is shown, in order. */
  get line(): readonly ShownItem[] {
    return this.#line;
  }

  /** Tokens of the line. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The next message's number. */
  get next(): number {
    return this.#next;
  }

  /** Everything given since the last {@linkcode clear}: the very objects. */
  given(): readonly HostMessage[] {
    return [...this.#given];
  }

  /** What a request is shown, as messages. */
  messages(): HostMessage[] {
    return this.#line.map(({ message }) => message);
  }

  append(messages: readonly HostMessage[]): void {
    for (const message of messages) {
      this.#given.push(message);
      this.#show(message);
    }
  }

  /** Begins anew. Numbers go on: none is given twice. */
  clear(): void {
    this.#given = [];
    this.#line = [];
    this.#tokens = 0;
    this.#passed.clear();
  }

  /** Puts messages of ours in the place of a span. */
  replace({ from, to }: PlacedSpan, messages: readonly { message: HostMessage; kind: LineItem["kind"] }[]): void {
    const items = messages.map(({ message, kind }) => this.#item(message, kind));
    this.#pass((_, index) => index < to);
    this.#line.splice(from, to - from, ...items);
    this.#count();
  }

  /** Does what the ladder decided. */
  descend({ cleared, dropped }: Pick<Descent<ShownItem>, "cleared" | "dropped">): void {
    this.#pass(({ sequence }) => dropped.has(sequence));
    const line = this.#line.filter(({ sequence }) => !dropped.has(sequence));
    this.#line = line.map((item) => cleared.get(item.sequence) ?? item);
    if (dropped.size > 0 && !this.#isNoted()) {
      // Before everything but system messages: there it stands between no call and its result.
      const at = this.#line.findIndex(({ facts }) => facts.role !== "system");
      this.#line.splice(at < 0 ? this.#line.length : at, 0, this.note());
    }
    this.#count();
  }

  /** Tokens a note of messages left out would take; 0 where there is one. */
  noteTokens(): number {
    return this.#isNoted() ? 0 : this.estimate(this.#parts.shape.user(LEFT_OUT));
  }

  /** An item shown with another message in its place. */
  changed(item: ShownItem, message: HostMessage): ShownItem {
    return { ...item, message, facts: this.#parts.shape.facts(message), tokens: this.estimate(message) };
  }

  /** A new message that says that others are left out. */
  note(): ShownItem {
    return this.#item(this.#parts.shape.user(LEFT_OUT), "note");
  }

  /** Results of these messages' calls come too late from now on, unless a later call has the id of an earlier one. */
  #pass(isPassed: (item: ShownItem, index: number) => boolean): void {
    const latest = new Map(this.#line.flatMap(({ facts }, index) => facts.calls.map((id) => [id, index] as const)));
    for (const [id, index] of latest) if (isPassed(this.#line[index]!, index)) this.#passed.add(id);
  }

  #isNoted(): boolean {
    return this.#line.some(({ kind }) => kind === "note");
  }

  #show(message: HostMessage): void {
    const { shape, onUnknown } = this.#parts, item = this.#item(message, "message");
    if (item.facts.isUnknown) onUnknown?.();
    const late = item.facts.answers.filter((id) => this.#passed.has(id) && !item.facts.calls.includes(id));
    const told = late.length ? shape.retell(message, new Set(late)) : [];
    const shown = told.length ? told.map((message) => this.#item(message, "message")) : [item];
    for (const id of item.facts.calls) this.#passed.delete(id);
    for (const each of shown) {
      this.#line.push(each);
      this.#tokens += each.tokens;
    }
  }

  #item(message: HostMessage, kind: LineItem["kind"]): ShownItem {
    const facts = this.#parts.shape.facts(message);
    // Ours, in a view that was handed in as a history.
    const isSummary = facts.role === "user" && isSummaryText(facts.text);
    const known = isSummary ? "summary" : facts.text === LEFT_OUT ? "note" : kind;
    return { sequence: this.#next++, message, facts, tokens: this.estimate(message), kind: known };
  }

  /** Tokens of a message. */
  estimate(message: HostMessage): number {
    try {
      const tokens = this.#parts.estimate(message);
      if (Number.isFinite(tokens) && tokens >= 0) return tokens;
    } catch { /* an estimate of the host's that fails is none */ }
    return estimateTokens(message);
  }

  #count(): void {
    this.#tokens = this.#line.reduce((sum, { tokens }) => sum + tokens, 0);
  }
}
