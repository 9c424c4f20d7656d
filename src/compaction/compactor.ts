/**
 * The compactor: a history, the view a request gets of it, and when a summary is begun, swapped in or done without.
 *
 * Promised: a view never waits; one summary is on its way at a time; whatever fails leaves the conversation as it was, and
 * the ladder keeps it within its budget. Absent: how a summary is asked for.
 *
 * @module
 */

import { attempting } from "../errors.ts";
import { createClearing, digestsOf } from "./clearing.ts";
import type { Compactor, CompactorStats } from "./compactor_types.ts";
import { createFlights, type Ready } from "./flight.ts";
import { checkOptions, compactorRules, StormGuard } from "./guard.ts";
import { History, type ShownItem } from "./history.ts";
import { descend, oldSummaries, sizeOfSummaries } from "./ladder.ts";
import { createLeaving, part, type Parting } from "./leaving.ts";
import { createMeter, TOO_MUCH } from "./meter.ts";
import { renderSummary } from "./own_text.ts";
import { renderReattached } from "./reattach.ts";
import { placeSpan, selectSpan } from "./span.ts";
import type { Summarizing } from "./summarize.ts";
import { createTelling, unknownMessage } from "./telling.ts";
import type { CompactionEvent, CompactorOptions, HostMessage, MessageShape } from "./types.ts";
import type { SentRequest, SummaryCall } from "./types.ts";

/** A compactor over what makes its summaries; without that it is the ladder alone. */
export function createCompactorOver(
  options: CompactorOptions,
  shape: MessageShape,
  summarizing: Summarizing | undefined,
): Compactor {
  checkOptions(options);
  const { budget, session, reattachMaps = false, foldSummaries = false } = options;
  const rules = compactorRules(options), { summaryTrigger, target, protectedRecent, minSpan, summaryShare } = rules;
  const history = new History({
    shape,
    estimate: options.estimate,
    onUnknown: () => notice("unknown-message", unknownMessage(shape.name)),
    onRevised: () => guard.changed(1), // at the next view, which shows something new
    onRetold: (ids) => leaving?.retold(ids),
  });
  const summaries = () => digestsOf(options, history.shared);
  const leaving = session && createLeaving(session, { recalls: reattachMaps !== false });
  const meter = createMeter(budget);
  const guard = new StormGuard(rules);
  const { notice, event } = createTelling(options);
  const sums = { begun: 0, swapped: 0, failed: 0, refused: 0, ladders: 0, cleared: 0, dropped: 0, floors: 0 };
  let lastCall: SummaryCall | undefined, isClosed = false;
  /** What must stay is over the budget: the ladder comes only for what is worth it. */
  let isFloor = false;
  /** How long the history was at the last view, and what that view came to. */
  let viewed = -1, viewTokens = 0;

  const used = (): number => meter.used(history.tokens);
  /** What one estimated token comes to. */
  const each = (): number => meter.used(1) - meter.used(0);
  const tell = (about: Omit<CompactionEvent, "type">): void => event({ type: "compaction", ...about });
  const foundFloor = (which: string, message: string): void => {
    if (!guard.foundFloor(which)) return;
    sums.floors++;
    tell({ what: "floor", reason: which });
    notice(`floor-${which}`, message);
  };

  const refuse = ({ call }: Ready, reason: "stale" | "not-smaller"): void => {
    sums.refused++;
    lastCall = { ...call, reason };
    tell({ what: "refused", reason, call: lastCall });
  };
  const stopped = (reason: string, why: string): void => {
    tell({ what: "stopped", reason });
    notice("stopped", `No more summaries are made: ${rules.strikes} in a row came to nothing. The last one: ${why}`);
  };

  /** What is put after a summary of the files whose lines leave with the span. */
  const mapsOf = (parting: Parting, room: number): HostMessage | undefined => {
    if (!reattachMaps || !leaving) return undefined;
    const measure = (text: string): number => history.estimate(shape.user(text));
    const { given, leaves } = leaving.taken(parting), tokens = Math.min(reattachMaps.tokens, room);
    // A session of the host's own making may keep a record of another kind.
    const text = attempting()(() => renderReattached(given, { leaves, tokens, measure }));
    return text === undefined ? undefined : shape.user(text);
  };

  /** Puts a finished summary in the place of its span. */
  const swap = (made: Ready): void => {
    const span = placeSpan(history.line, made.span);
    if (!span) return refuse(made, "stale");
    const message = shape.user(renderSummary(made.text, { messages: span.sequence.length }));
    const tokens = history.estimate(message);
    const isEmpty = made.text.trim() === "";
    if (isEmpty || !(tokens < span.tokens)) {
      // Where the ladder was there first, the model did nothing wrong.
      const isLast = (isEmpty || !(tokens < made.span.tokens)) && guard.failed();
      refuse(made, "not-smaller");
      if (isLast) stopped("not-smaller", "it was not smaller than what it replaces");
      return;
    }
    const parting = part(history.line, (_, index) => index >= span.from && index < span.to);
    const maps = mapsOf(parting, span.tokens - tokens - 1);
    const messages = [
      { message, kind: "summary" as const },
      ...(maps ? [{ message: maps, kind: "message" as const }] : []),
    ];
    history.replace(span, messages);
    leaving?.evict(parting);
    const dropped = foldSummaries ? new Set<number>() : oldSummaries(history.line, summaryShare * budget / each());
    if (dropped.size) history.descend({ cleared: new Map(), dropped });
    sums.dropped += dropped.size;
    sums.swapped++;
    guard.swapped(used() / budget);
    tell({ what: "swapped", call: made.call });
  };

  /** Ends a summary of messages that are left out by now. */
  const abandon = (): void => {
    const span = flights?.span;
    if (!span || placeSpan(history.line, span)) return;
    flights?.stop();
    guard.rest();
    sums.refused++;
    tell({ what: "refused", reason: "stale" });
  };

  /** Makes the conversation fit without a model, where it does not. */
  const fit = (): void => {
    if (used() <= budget) {
      isFloor = false;
      return guard.leftFloor("budget");
    }
    const before = history.line, room = meter.room(budget);
    const done = descend(before, {
      budget: room,
      target: meter.room(target * budget),
      protectedRecent,
      clear: createClearing(shape, summaries(), (item: ShownItem, message) => history.changed(item, message)),
      noteTokens: history.noteTokens(),
    });
    const { cleared, dropped, tokens } = done;
    if (isFloor && tokens > room && history.tokens - tokens < minSpan * budget / each()) return;
    if (cleared.size + dropped.size > 0) {
      history.descend(done);
      guard.changed();
      leaving?.evict(part(before, ({ sequence }) => cleared.has(sequence) || dropped.has(sequence)));
      sums.ladders++;
      sums.cleared += cleared.size;
      sums.dropped += dropped.size;
      tell({ what: "ladder", reason: `${cleared.size} messages cleared, ${dropped.size} left out` });
      abandon();
    }
    isFloor = used() > budget;
    if (!isFloor) return guard.leftFloor("budget");
    const size = Math.round(used());
    foundFloor(
      "budget",
      `The conversation cannot be brought below about ${size} of ${budget} tokens: the rest must stay`,
    );
  };

  const flights = summarizing && createFlights(summarizing, {
    onMade({ call }) {
      lastCall = call;
      tell({ what: "made", call });
    },
    onFailed(reason, { call, why }) {
      lastCall = call;
      sums.failed++;
      const isLast = guard.failed(); // before anything is told: a hook may ask for a view
      tell({ what: "refused", reason, ...(call ? { call } : {}) });
      if (isLast) stopped(reason, why);
    },
  });

  /** Begins a summary, where one is due. */
  const begin = (view: readonly HostMessage[]): void => {
    if (!flights || isClosed || flights.isBusy || isFloor) return;
    const share = used() / budget;
    if (share < summaryTrigger) guard.leftFloor("trigger");
    if (guard.restraint(share) !== undefined || guard.waits()) return;
    const excess = Math.max(history.tokens - meter.room(target * budget), minSpan * budget / each());
    const folds = foldSummaries && sizeOfSummaries(history.line) > summaryShare * budget / each();
    const span = selectSpan(history.line, { excess, protectedRecent, folds });
    if (!span || !guard.isWorth(span.tokens * each() / budget)) {
      return foundFloor("trigger", "The conversation is large, and what of it may be summarized now is too little");
    }
    sums.begun++;
    const messages = history.line.slice(span.from, span.to).map(({ message }) => message);
    flights.begin({ span, messages, view, summaries });
    tell({ what: "begun" }); // only now: a hook may ask for a view
  };

  const reset = (): void => {
    flights?.stop();
    history.clear();
    guard.reset();
    meter.reset();
    summarizing?.reset();
    [viewed, viewTokens, isFloor, lastCall] = [-1, 0, false, undefined];
  };
  return {
    append: (...messages) => history.append(messages as readonly HostMessage[]),
    setMessages(messages) {
      reset();
      history.append(messages as readonly HostMessage[]);
      leaving?.begin(messages);
    },
    clear() {
      reset();
      leaving?.begin();
    },
    history: () => history.given(),
    view<Message extends object>() {
      if (history.next !== viewed) guard.turn(used() / budget);
      const made = flights?.take();
      if (made) swap(made);
      fit();
      const view = history.messages();
      begin(view);
      viewed = history.next;
      viewTokens = history.tokens;
      return view as readonly object[] as Message[];
    },
    noteRequestSent: (request) => summarizing?.noteRequestSent(request as SentRequest),
    noteUsage(usage) {
      summarizing?.noteUsage(usage);
      if (meter.report(viewTokens, usage)) notice("budget", TOO_MUCH);
    },
    get lastCall() {
      return lastCall;
    },
    stats(): CompactorStats {
      const none = { forks: 0, fallbacks: 0, declines: 0, standalone: 0, missed: 0 };
      return { ...sums, ...(summarizing?.stats() ?? none), viewTokens: used() };
    },
    settled: async () => await flights?.settled(),
    close() {
      isClosed = true;
      flights?.stop();
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await flights?.stop();
    },
  };
}
