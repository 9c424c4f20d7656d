/**
 * Streams that carry annotations: async iterables, whatever tool made them.
 *
 * Promised: values keep their order, what a stream returns or throws survives, and a stream closed early closes the tool's.
 * Absent: web streams, which cannot carry an annotation.
 *
 * @module
 */

/** A value with the annotations; the value itself where it cannot carry them. Never throws. */
export type Annotate = (value: unknown) => unknown;

/**
 * Reads a stream up to a value that can carry annotations, and gives it again from its beginning. `undefined` where it
 * throws before, or ends without one: nobody has seen anything of it yet, so the read can be made again.
 */
export async function beginStream(
  stream: AsyncIterable<unknown>,
  annotate: Annotate,
): Promise<{ result: AsyncIterable<unknown> } | undefined> {
  const values = forward(stream), begun: IteratorResult<unknown>[] = [];
  try {
    for (;;) {
      const step = await values.next();
      begun.push(step);
      if (!Object.is(annotate(step.value), step.value)) return { result: resume(begun, values) };
      if (step.done) return undefined;
    }
  } catch {
    return undefined;
  }
}

/** The stream with the annotations on what it returns, else on the last of its values that can carry them. */
export async function* annotateStream(stream: AsyncIterable<unknown>, annotate: Annotate): AsyncGenerator<unknown> {
  let held: unknown[] = [], returned: unknown; // held: from the last value on that can carry them
  try {
    for await (const value of forward(stream, (value) => returned = value)) {
      if (!Object.is(annotate(value), value)) {
        yield* held;
        held = [value];
      } else if (held.length) held.push(value);
      else yield value;
    }
  } catch (error) {
    yield* held;
    throw error;
  }
  const last = annotate(returned);
  if (held.length && last === returned) yield annotate(held.shift());
  yield* held;
  return last;
}

/** A stream's values and what it returns, which is told too: a loop over them does not see it. */
async function* forward(
  stream: AsyncIterable<unknown>,
  onReturn: (value: unknown) => void = () => {},
): AsyncGenerator<unknown> {
  const returned: unknown = yield* stream;
  onReturn(returned);
  return returned;
}

/** A stream that was begun, from its beginning. */
async function* resume(
  begun: readonly IteratorResult<unknown>[],
  rest: AsyncGenerator<unknown>,
): AsyncGenerator<unknown> {
  try {
    for (const step of begun) {
      if (step.done) return step.value;
      yield step.value;
    }
    return yield* rest;
  } finally {
    await rest.return(undefined);
  }
}
