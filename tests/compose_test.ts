import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { compose, split } from "../src/compose.ts";
import { WaymarkError } from "../src/errors.ts";
import type { Middleware, Next, ReadCall, ReadOutcome } from "../src/types.ts";
import { unhandledRejections } from "./rejections.ts";

const call: ReadCall = { path: "a.ts", start: 1 };
const done: ReadOutcome = { result: "text", annotations: [] };
const last: Next = () => Promise.resolve(done);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("compose()", () => {
  it("runs the first layer outermost", async () => {
    const order: string[] = [];
    const layer = (name: string): Middleware => async (inner, next) => {
      order.push(`${name} in`);
      const outcome = await next(inner);
      order.push(`${name} out`);
      return outcome;
    };
    await compose(layer("a"), layer("b"))(call, last);
    assertEquals(order, ["a in", "b in", "b out", "a out"]);
  });

  it("is the tool itself without layers", async () => {
    assertStrictEquals(await compose()(call, last), done);
  });

  it("hands a layer's changed call to the next layer and to the tool", async () => {
    const seen: (number | undefined)[] = [];
    const onion = compose(
      (inner, next) => next({ ...inner, count: 5 }),
      (inner, next) => (seen.push(inner.count), next(inner)),
    );
    await onion(call, (inner) => (seen.push(inner.count), last(inner)));
    assertEquals(seen, [5, 5]);
  });

  it("hands the very same call on where no layer changed it", async () => {
    await compose((inner, next) => next(inner))(call, (inner) => {
      assertStrictEquals(inner, call);
      return last(inner);
    });
  });

  it("rejects a second next() from one layer", async () => {
    const twice: Middleware = async (inner, next) => {
      await next(inner);
      return await next(inner);
    };
    const error = await assertRejects(() => compose(twice)(call, last), WaymarkError);
    assertEquals(error.code, "next-twice");
  });

  it("calls the tool once even where a layer calls next() twice without awaiting", async () => {
    let calls = 0;
    const twice: Middleware = (inner, next) => {
      next(inner);
      return next(inner);
    };
    await assertRejects(() => compose(twice)(call, (inner) => (calls++, last(inner))), WaymarkError);
    assertEquals(calls, 1);
  });

  it("can be run many times, also at once", async () => {
    const onion = compose((inner, next) => next(inner));
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => onion(call, last)));
    assertEquals(outcomes.length, 50);
  });

  it("composes with itself", async () => {
    const add = (name: string): Middleware => async (inner, next) => {
      const outcome = await next(inner);
      return { ...outcome, result: `${outcome.result}${name}` };
    };
    const outcome = await compose(compose(add("a"), add("b")), add("c"))(call, last);
    assertEquals(outcome.result, "textcba");
  });

  it("rejects with what a layer throws, also where it throws before it returns a promise", async () => {
    const error = new Error("broken layer");
    await assertRejects(
      () =>
        compose(() => {
          throw error;
        })(call, last),
      Error,
      "broken layer",
    );
  });

  it("lets a layer drop next()'s promise without an unhandled rejection", async () => {
    const rejections = await unhandledRejections(async () => {
      const dropping: Middleware = (inner, next) => {
        void next(inner);
        return Promise.resolve(done);
      };
      await compose(dropping, () => Promise.reject(new Error("inner layer")))(call, last);
      const late: Middleware = async (inner, next) => {
        const promise = next(inner);
        await sleep(2);
        return await promise.catch(() => done);
      };
      await compose(late, () => Promise.reject(new Error("inner layer")))(call, last);
    });
    assertEquals(rejections, []);
  });
});

describe("split()", () => {
  const cap: Middleware = async (inner, next) => {
    const outcome = await next({ ...inner, count: 200 });
    return { ...outcome, annotations: [{ kind: "map", text: "map" }] };
  };

  it("gives the changed call before the tool and the annotated outcome after it", async () => {
    const halves = split(cap);
    const begun = await halves.begin({ ...call, callId: "one" });
    assertEquals([begun.id, begun.call.count, begun.answer], ["one", 200, undefined]);
    const outcome = await halves.finish("one", done);
    assertEquals([outcome.result, outcome.annotations.length], ["text", 1]);
    assertEquals(halves.pending, 0);
  });

  it("gives back the very call where no layer changed it", async () => {
    const halves = split((inner, next) => next(inner));
    const begun = await halves.begin(call);
    assertStrictEquals(begun.call, call);
    assertStrictEquals((await halves.finish(begun.id, done)).result, "text");
  });

  it("makes up an id where the host has none, one for each call", async () => {
    const halves = split(cap);
    const [one, two] = await Promise.all([halves.begin(call), halves.begin(call)]);
    assert(one.id !== two.id);
    assertEquals(halves.pending, 2);
    halves[Symbol.dispose]();
  });

  it("hands out a layer's own answer, before and after", async () => {
    const answer: ReadOutcome = { result: "reference", annotations: [] };
    const halves = split(() => Promise.resolve(answer));
    const begun = await halves.begin({ ...call, callId: "one" });
    assertStrictEquals(begun.answer, answer);
    assertStrictEquals(await halves.finish("one", done), answer);
  });

  it("lets the tool's failure beat a layer's answer", async () => {
    const halves = split(() => Promise.resolve({ result: "reference", annotations: [] }));
    await halves.begin({ ...call, callId: "one" });
    const failed: ReadOutcome = { failed: true, error: new Error("gone"), annotations: [] };
    assertStrictEquals(await halves.finish("one", failed), failed);
    assertEquals(halves.pending, 0);
  });

  it("tells the layers of a tool's failure as a value", async () => {
    let seen: ReadOutcome | undefined;
    const halves = split(async (inner, next) => seen = await next(inner));
    await halves.begin({ ...call, callId: "one" });
    const failed: ReadOutcome = { failed: true, error: new Error("gone"), annotations: [] };
    await halves.finish("one", failed);
    assertStrictEquals(seen, failed);
  });

  it("leaves the read as asked where a layer throws before the tool", async () => {
    const errors: unknown[] = [];
    const halves = split(() => Promise.reject(new Error("broken")), { onError: (error) => errors.push(error) });
    const begun = await halves.begin({ ...call, callId: "one" });
    assertStrictEquals(begun.call.path, "a.ts");
    assertEquals(begun.answer, undefined);
    assertStrictEquals(await halves.finish("one", done), done);
    assertEquals([errors.length, halves.pending], [1, 0]);
  });

  it("hands on the tool's outcome where a layer throws after the tool", async () => {
    const halves = split(async (inner, next) => {
      await next(inner);
      throw new Error("broken");
    });
    await halves.begin({ ...call, callId: "one" });
    assertStrictEquals(await halves.finish("one", done), done);
  });

  it("hands on the outcome of an id it does not know", async () => {
    assertStrictEquals(await split(cap).finish("nobody", done), done);
  });

  it("survives an onError that throws", async () => {
    const halves = split(() => Promise.reject(new Error("broken")), {
      onError: () => {
        throw new Error("worse");
      },
    });
    assertEquals((await halves.begin({ ...call, callId: "one" })).call.path, "a.ts");
  });

  it("lets go of the host at once when the call is aborted while a layer thinks", async () => {
    const controller = new AbortController();
    const halves = split(async (inner, next) => {
      await new Promise(() => {});
      return await next(inner);
    });
    const given = { ...call, callId: "one", signal: controller.signal };
    const begun = halves.begin(given);
    controller.abort();
    assertStrictEquals((await begun).call, given);
    assertEquals(halves.pending, 0);
  });

  it("does not begin a call that is aborted already", async () => {
    let ran = false;
    const halves = split((inner, next) => (ran = true, next(inner)));
    await halves.begin({ ...call, signal: AbortSignal.abort() });
    assertEquals([ran, halves.pending], [false, 0]);
  });

  it("drops the oldest call for a new one, and tells its layers a failure so that their cleanup runs", async () => {
    const cleaned: string[] = [];
    const halves = split(async (inner, next) => {
      try {
        return await next(inner);
      } finally {
        cleaned.push(inner.callId!);
      }
    }, { max: 2 });
    for (const callId of ["one", "two", "three"]) await halves.begin({ ...call, callId });
    await sleep(0);
    assertEquals([halves.pending, cleaned], [2, ["one"]]);
    assertStrictEquals(await halves.finish("one", done), done);
    halves[Symbol.dispose]();
    await sleep(0);
    assertEquals([halves.pending, cleaned.length], [0, 3]);
  });

  it("begins nothing once disposed", async () => {
    const halves = split(cap);
    halves[Symbol.dispose]();
    assertEquals((await halves.begin(call)).call, call);
    assertEquals(halves.pending, 0);
  });

  it("takes a second call under the same id in place of the first", async () => {
    const halves = split(cap);
    await halves.begin({ ...call, callId: "one" });
    await halves.begin({ ...call, callId: "one", start: 5 });
    assertEquals(halves.pending, 1);
    assertEquals((await halves.finish("one", done)).annotations.length, 1);
  });

  it("never rejects and never leaves anything pending, whatever the layers and the host do", async () => {
    const layers: Record<string, Middleware> = {
      pass: (inner, next) => next(inner),
      cap,
      answer: () => Promise.resolve(done),
      throwBefore: () => {
        throw new Error("before");
      },
      throwAfter: async (inner, next) => {
        await next(inner);
        throw new Error("after");
      },
      throwLate: async (inner, next) => {
        await sleep(1);
        await next(inner);
        throw new Error("late");
      },
      drop: (inner, next) => (void next(inner), Promise.resolve(done)),
      twice: async (inner, next) => (await next(inner), await next(inner)),
      slow: async (inner, next) => (await sleep(1), await next(inner)),
    };
    const rejections = await unhandledRejections(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...Object.keys(layers)), { maxLength: 4 }),
          fc.array(fc.constantFrom("finish", "fail", "drop", "abort", "leave", "dispose"), {
            minLength: 1,
            maxLength: 12,
          }),
          async (names, acts) => {
            const halves = split(compose(...names.map((name) => layers[name]!)), { max: 8 });
            await Promise.all(acts.map(async (act, index) => {
              const controller = new AbortController();
              const begin = halves.begin({ ...call, callId: `call-${index}`, signal: controller.signal });
              if (act === "abort") controller.abort();
              if (act === "dispose") halves[Symbol.dispose]();
              const { id } = await begin;
              if (act === "drop") halves.drop(id);
              if (act === "finish") assert("result" in await halves.finish(id, done));
              if (act === "fail") await halves.finish(id, { failed: true, error: new Error("tool"), annotations: [] });
            }));
            halves[Symbol.dispose]();
            assertEquals(halves.pending, 0);
          },
        ),
        { numRuns: 60 },
      )
    );
    assertEquals(rejections, []);
  });
});
