/**
 * The idea: every piece is a middleware around a read, and an onion of them is a middleware again.
 *
 * Three rules make an onion safe to put around somebody else's tool:
 *
 * 1. First in the list is outermost, and a layer calls `next` at most once.
 * 2. A failure of the tool is a value in the outcome (`failed`, `error`), so nothing has to reject on the way out.
 * 3. Nothing a layer does before `next` may be observable, but for what a cache makes free the second time: a host that
 *    runs one process per hook replays the onion, once to learn the call and once to finish it.
 *
 * @module
 */

import type { Halves, SplitOptions } from "./compose_types.ts";
import { quiet, WaymarkError } from "./errors.ts";
import type { Middleware, Next, ReadCall, ReadOutcome } from "./types.ts";

/**
 * Makes one middleware of many; the first is outermost. Without layers it is the tool itself.
 *
 * @example A layer that shortens every read to ten lines
 * ```ts
 * import { compose } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const short = compose((call, next) => next({ ...call, count: Math.min(call.count ?? 10, 10) }));
 * const outcome = await short({ path: "a.ts", start: 1 }, (call) =>
 *   Promise.resolve({ result: `${call.count} lines`, annotations: [] }));
 * assertEquals(outcome.result, "10 lines");
 * ```
 */
export function compose(...layers: readonly Middleware[]): Middleware {
  const enter = async (index: number, call: ReadCall, last: Next): Promise<ReadOutcome> => {
    const layer = layers[index];
    if (!layer) return await last(call);
    let called = false;
    return await layer(call, (inner) => {
      const outcome = called
        ? Promise.reject(
          new WaymarkError("next-twice", `Cannot go on with a read twice: layer ${index} called next again`),
        )
        : enter(index + 1, inner, last);
      called = true;
      outcome.catch(() => {}); // a layer that does not await it must not kill the process; awaiting it still rejects
      return outcome;
    });
  };
  return (call, last) => enter(0, call, last);
}

interface Half {
  asked?: ReadCall;
  answer?: ReadOutcome;
  run: Promise<ReadOutcome | undefined>;
  release: () => void;
  tell: (outcome: ReadOutcome) => void;
}

/**
 * Turns a middleware into a half before the tool and a half after it, joined by the call's id.
 *
 * A layer that throws leaves the read as it was asked. An aborted call, a dropped one and a disposed onion let go of the
 * host at once.
 *
 * @example
 * ```ts
 * import { split } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const halves = split((call, next) => next({ ...call, count: 200 }));
 * const begun = await halves.begin({ path: "a.ts", start: 1, callId: "call_1" });
 * assertEquals(begun.call.count, 200);
 * const outcome = await halves.finish("call_1", { result: "text", annotations: [] });
 * assertEquals(outcome.result, "text");
 * ```
 */
export function split(middleware: Middleware, options: SplitOptions = {}): Halves {
  const { max = 256 } = options;
  const report = quiet(options.onError);
  const onion = compose(middleware);
  const pending = new Map<string, Half>();
  let serial = 0, closed = false;

  const drop = (id: string): void => {
    const half = pending.get(id);
    pending.delete(id);
    half?.tell({
      failed: true,
      error: new WaymarkError("aborted", `Cannot finish read ${id}: it was dropped`),
      annotations: [],
    });
    half?.release();
  };

  return {
    async begin(call) {
      const id = call.callId ?? `read-${++serial}`;
      if (closed || call.signal?.aborted) return { id, call };
      drop(id);
      if (pending.size >= max) drop(pending.keys().next().value!);

      const gate = Promise.withResolvers<void>(), told = Promise.withResolvers<ReadOutcome>();
      const half: Half = { run: Promise.resolve(undefined), release: gate.resolve, tell: told.resolve };
      const giveUp = (): void => pending.get(id) === half ? drop(id) : undefined;
      pending.set(id, half);
      half.run = onion(call, (inner) => {
        half.asked = inner;
        gate.resolve();
        return told.promise;
      }).then((outcome) => half.answer = outcome, (error) => (report(error), undefined));
      half.run.then(() => gate.resolve());

      call.signal?.addEventListener("abort", giveUp, { once: true });
      await gate.promise;
      call.signal?.removeEventListener("abort", giveUp);
      if (!half.asked && !half.answer) giveUp(); // a layer threw: the read goes on as asked
      if (pending.get(id) !== half) return { id, call };
      return half.asked ? { id, call: half.asked } : { id, call, answer: half.answer! };
    },
    async finish(id, outcome) {
      const half = pending.get(id);
      if (!half || (!half.asked && (outcome.failed || !half.answer))) {
        drop(id);
        return outcome;
      }
      pending.delete(id);
      half.tell(outcome);
      return await half.run ?? outcome;
    },
    drop,
    get pending() {
      return pending.size;
    },
    [Symbol.dispose]() {
      closed = true;
      for (const id of [...pending.keys()]) drop(id);
    },
  };
}
