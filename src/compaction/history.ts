/**
 * A conversation as it was given, and the line of messages that a request is shown of it.
 *
 * Promised: what was given is never edited and keeps its number; what was decided about a message stays decided, so that
 * between decisions the line only grows at its end; a tool result whose call is not there, or has left, is told as words,
 * never as a result; a call that nobody answers any more is given up: right behind it stands a result that says so.
 *
 * @module
 */

import { bondsOf, GIVEN_UP, type LineItem } from "./bonds.ts";
import { estimateBy } from "./estimate.ts";
import { isSummaryText, LEFT_OUT, NO_RESULT, renderLateResult } from "./own_text.ts";
import type { Descent } from "./ladder.ts";
import type { PlacedSpan } from "./span.ts";
import type { HostMessage, MessageShape } from "./types.ts";

/** One message of the line, as it is shown. */
export interface ShownItem extends LineItem {
  readonly message: HostMessage;
}

/** What a history needs to know of messages. */
export interface HistoryParts {
  readonly shape: Pick<MessageShape, "facts" | "user" | "retell" | "transcript" | "giveUp">;
  /** Tokens of a message. Default: ours, also where this one fails. */
  readonly estimate?: ((message: HostMessage) => number) | undefined;
  /** A message has none of the forms of the shape. */
  readonly onUnknown?: () => void;
  /** A call was given up: what is shown has changed elsewhere than at its end. */
  readonly onRevised?: () => void;
  /** Results of these calls are told in words. */
  readonly onRetold?: (ids: readonly string[]) => void;
}

/** The one kind of history there is. */
export class History {
  readonly #parts: HistoryParts;
  /** Tokens of a message. */
  readonly estimate: (message: HostMessage) => number;
  /** Ids that more than one call has: what is known by such an id may be of another call. */
  readonly shared: Set<string> = new Set();
  #ids = new Set<string>();
  #given: HostMessage[] = [];
  #line: ShownItem[] = [];
  #next = 0;
  #tokens = 0;
  /** Calls in the line whose result may still come: any other result comes too late, or for no call. */
  #calls = new Set<string>();
  /** Those of them that no result has come for, and how many messages of people had come before. */
  #waiting = new Map<string, number>();
  #humans = 0;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.estimate = estimateBy(parts.estimate);
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
    this.#ids.clear();
    this.shared.clear();
    this.#calls.clear();
    this.#waiting.clear();
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
    if (dropped.size > 0) this.#noteLeftOut();
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
    for (const [id, index] of latest) if (isPassed(this.#line[index]!, index)) this.#end(id);
  }

  #end(id: string): void {
    this.#calls.delete(id);
    this.#waiting.delete(id);
  }

  #isNoted(): boolean {
    return this.#line.some(({ kind }) => kind === "note");
  }

  /** Before everything but system messages: there it stands between no call and its result. */
  #noteLeftOut(): void {
    if (this.#isNoted()) return;
    const at = this.#line.findIndex(({ facts }) => facts.role !== "system");
    this.#line.splice(at < 0 ? this.#line.length : at, 0, this.note());
  }

  #show(message: HostMessage): void {
    const facts = this.#parts.shape.facts(message), { calls, answers } = facts;
    if (facts.isUnknown) this.#parts.onUnknown?.();
    for (const id of calls) (this.#ids.has(id) ? this.shared : this.#ids).add(id);
    const first = answers.filter((id) => this.#waiting.delete(id));
    const isOver = (id: string): boolean => this.#humans - this.#waiting.get(id)! >= GIVEN_UP;
    if (facts.isHuman && ++this.#humans) this.#giveUp([...this.#waiting.keys()].filter(isOver));
    const late = answers.filter((id) => !this.#calls.has(id) && !calls.includes(id));
    const told = late.length ? this.#tell(message, new Set(late)) : [];
    for (const id of calls) this.#end(id); // it may be said in other words, without them
    for (const item of told.length ? told : [this.#item(message, "message", facts)]) this.#push(item);
    // In a view that was handed in as a history: that call was given up.
    answers.forEach((id, at) => facts.results?.[at]?.endsWith(NO_RESULT) && this.#end(id));
    // Others of a message that could only be told in words as a whole.
    const isLost = (id: string) => this.#calls.has(id) && !told.some(({ facts }) => facts.answers.includes(id));
    const lost = told.length ? first.filter(isLost) : [];
    if (lost.length) this.#parts.onRetold?.(lost), this.#giveUp(lost);
  }

  #push(item: ShownItem): void {
    for (const id of item.facts.calls) {
      this.#calls.add(id);
      if (!item.facts.answers.includes(id)) this.#waiting.set(id, this.#humans);
    }
    this.#line.push(item);
    this.#tokens += item.tokens;
  }

  /** Nobody waits for these calls any more: each has its result now, or is shown no more. */
  #giveUp(ids: readonly string[]): void {
    const given = new Map<ShownItem, string[]>();
    for (const id of ids) {
      const call = this.#line.findLast(({ facts }) => facts.calls.includes(id));
      if (call) given.set(call, [...given.get(call) ?? [], id]);
    }
    const { shape, onRevised } = this.#parts,
      all = [...given].map(([call, ids]) => ({ call, results: shape.giveUp?.(call.message, new Set(ids)) }));
    for (const id of ids) this.#end(id);
    // First what is left out: a call that goes with it needs no result.
    for (const { call, results } of all) if (!results) this.#leaveOut(call);
    for (const { call, results } of all) if (results && this.#line.includes(call)) this.#answer(call, results);
    if (all.length) onRevised?.();
  }

  /** Puts results right behind the answer a call stands in: nowhere else does every provider take them. */
  #answer(call: ShownItem, results: readonly HostMessage[]): void {
    let at = this.#line.indexOf(call) + 1;
    // In an OpenAI chat a message with calls ends an answer, elsewhere more of it may follow.
    const isChat = results.some(({ role, content }) => role !== "user" && typeof content === "string");
    while (!isChat && this.#line[at]?.facts.role === "assistant") at++;
    this.#line.splice(at, 0, ...results.map((result) => this.#item(result, "message")));
    this.#count();
  }

  /** Leaves out the answer a call stands in; results of other calls of it are told in words. */
  #leaveOut(call: ShownItem): void {
    const { unit } = bondsOf(this.#line), root = unit[this.#line.indexOf(call)];
    const members = new Set(this.#line.filter((_, index) => unit[index] === root));
    const ids = new Set([...members].flatMap(({ facts }) => facts.calls));
    this.#pass((item) => members.has(item));
    this.#line = this.#line.flatMap((item) => {
      if (!members.has(item)) return [item];
      return item.facts.role === "assistant" ? [] : this.#tell(item.message, ids);
    });
    this.#noteLeftOut();
    this.#count();
  }

  /** What stands in a message's place where its results of these calls are told in words. */
  #tell(message: HostMessage, ids: ReadonlySet<string>): ShownItem[] {
    const { shape, onRetold } = this.#parts;
    onRetold?.([...ids]);
    return shape.retell(message, ids).map((one) => {
      const item = this.#item(one, "message"), { answers, calls } = item.facts;
      const left = answers.filter((id) => ids.has(id) && !calls.includes(id));
      // What the shape has no such words for.
      const words = () => shape.user(renderLateResult(left.join(" "), shape.transcript(one)));
      return left.length ? this.#item(words(), "message") : item;
    });
  }

  #item(message: HostMessage, kind: LineItem["kind"], facts = this.#parts.shape.facts(message)): ShownItem {
    // Ours, in a view that was handed in as a history.
    const isSummary = facts.role === "user" && isSummaryText(facts.text);
    const known = isSummary ? "summary" : facts.text === LEFT_OUT ? "note" : kind;
    return { sequence: this.#next++, message, facts, tokens: this.estimate(message), kind: known };
  }

  #count(): void {
    this.#tokens = this.#line.reduce((sum, { tokens }) => sum + tokens, 0);
  }
}
