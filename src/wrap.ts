/**
 * Puts a middleware around a host's own tool: arguments in through a dialect, the result out through a codec.
 *
 * The tool stays what it is: its name, properties, `this`, thrown values and streaming survive, and arguments the dialect
 * cannot read go straight to it. A fault of a layer never becomes a fault of the tool.
 *
 * @module
 */

import { isSameRange, usualIds } from "./arguments.ts";
import { autoCodec, merged } from "./codecs.ts";
import { compose } from "./compose.ts";
import { dialects } from "./dialects.ts";
import { attempting, quiet } from "./errors.ts";
import type { Session } from "./session_types.ts";
import type { Annotation, Middleware, ReadCall, ReadOutcome } from "./types.ts";
import type { CalledOptions, ToolFunction, WrapOptions, Wrapped } from "./wrap_types.ts";

/**
 * Wraps one read tool: a function in, the same function annotated out. It returns a promise, or an async generator where
 * the tool is one.
 *
 * @example
 * ```ts
 * import { wrap } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const read = (args: { path: string; limit?: number }) => `${args.path}: ${args.limit ?? "all"} lines`;
 * const short = wrap(read, (call, next) => next({ ...call, count: 200 }));
 * assertEquals(await short({ path: "a.ts" }), "a.ts: 200 lines");
 * ```
 */
export function wrap<Tool extends ToolFunction>(
  tool: Tool,
  middleware: Middleware,
  options: WrapOptions = {},
): Wrapped<Tool> {
  return wrapCalled(tool, middleware, { ...options, owner: (self) => self });
}

/** As {@linkcode wrap}, for a method. */
export function wrapCalled<Tool extends ToolFunction>(
  tool: Tool,
  middleware: Middleware,
  options: CalledOptions,
): Wrapped<Tool> {
  const { dialect = dialects.plain, codec = autoCodec, name = tool.name, facts = usualFacts } = options;
  const onion = compose(middleware);
  const report = quiet(options.onError);
  let like: unknown; // the latest result with text: answers without a call take its shape
  const attempt = attempting(report);

  /** One pass through the onion. Never rejects. */
  const pass = async (call: ReadCall, args: unknown, invoke: (args: unknown) => unknown): Promise<ReadOutcome> => {
    let made: ReadOutcome | undefined; // what the tool gave for the call exactly as asked
    const last = async (inner: ReadCall): Promise<ReadOutcome> => {
      const unchanged = inner.path === call.path && isSameRange(inner, call);
      const innerArgs = unchanged ? args : attempt(() => dialect.apply(args, inner)) ?? args;
      try {
        const result = await invoke(innerArgs);
        const text = attempt(() => codec.text(result)), failed = attempt(() => codec.failed?.(result)) ?? false;
        const outcome = { result, failed, annotations: [], ...(text === undefined ? {} : { text }) };
        if (unchanged) made = outcome;
        if (text !== undefined && !failed) like = result;
        return outcome;
      } catch (error) {
        const outcome = { failed: true, error, annotations: [] };
        if (unchanged) made = outcome;
        return outcome;
      }
    };
    try {
      return await onion(call, last);
    } catch (error) {
      report(error);
      return made ?? await last(call);
    }
  };

  /** The whole read: a result that may not stand, or cannot carry what belongs to it, is read again as asked. */
  const read = async (call: ReadCall, args: unknown, invoke: (args: unknown) => unknown): Promise<ReadOutcome> => {
    let outcome = await pass(call, args, invoke);
    if (isAnswer(outcome)) {
      const { annotations } = outcome, result = answerOf(annotations);
      return result === undefined
        ? await again({ ...outcome, annotations: [] }, call, args, invoke)
        : { result, annotations: [] };
    }
    if (!threw(outcome) && outcome.annotations.some(({ kind }) => kind === "map" || kind === "reference")) {
      const { result, annotations } = outcome, note = noteOf(annotations);
      const carrier = await (isStream(result)
        ? (await loadStreams()).beginStream(result, note)
        : !Object.is(note(result), result) && { result });
      outcome = carrier ? { ...outcome, ...carrier } : { ...outcome, annotations: [], again: true };
    }
    return outcome.again ? await again(outcome, call, args, invoke) : outcome;
  };

  /** The read as asked, in place of a result that goes nowhere. */
  const again = async (
    outcome: ReadOutcome,
    call: ReadCall,
    args: unknown,
    invoke: (args: unknown) => unknown,
  ): Promise<ReadOutcome> => {
    attempt(() => letGo(outcome.result));
    attempt(() => outcome.discard?.());
    const full = await pass({ ...call, fresh: true }, args, invoke);
    return full.failed ? full : { ...full, annotations: [...outcome.annotations, ...full.annotations] };
  };

  const answerOf = (annotations: readonly Annotation[]): unknown =>
    annotations.length ? attempt(() => codec.answer?.(merged(annotations), like)) : undefined;
  const noteOf = (annotations: readonly Annotation[]) => (value: unknown): unknown =>
    annotations.length ? attempt(() => codec.annotate(value, annotations)) ?? value : value;
  const settle = async ({ result, annotations }: ReadOutcome): Promise<unknown> => {
    const note = noteOf(annotations);
    return annotations.length && isStream(result) ? (await loadStreams()).annotateStream(result, note) : note(result);
  };

  const wrapped: ToolFunction = new Proxy(tool, {
    apply(target, self, [args, ...rest]: [unknown, ...unknown[]]) {
      const invoke = (innerArgs: unknown): unknown => Reflect.apply(target, options.owner(self), [innerArgs, ...rest]);
      const span = kindOf(target) === "generator" ? undefined : attempt(() => dialect.parse(args));
      if (!span) return invoke(args);
      const isStreaming = options.streams || kindOf(target) === "async generator";
      const { signal, ...told }: Partial<ReadCall> = attempt(() => facts(...rest)) ?? {};
      const isTold = attempt(() => isSession(told.session));
      const call: ReadCall = {
        ...told,
        ...signal instanceof AbortSignal && { signal },
        ...options.session && !isTold && { session: options.session },
        ...span,
        tool: name,
        describe: dialect.describe,
        answerable: !isStreaming && (like ?? options.codec) !== undefined && answerOf([SAMPLE]) !== undefined,
      };
      if (isStreaming) {
        return (async function* () {
          const outcome = await read(call, args, invoke);
          if (threw(outcome)) throw outcome.error;
          const settled = await settle(outcome) as AsyncIterable<unknown> | undefined;
          if (typeof settled?.[Symbol.asyncIterator] === "function") return yield* settled;
          yield settled; // no stream this time: it is not taken apart
        })();
      }
      return read(call, args, invoke).then((outcome) => {
        if (threw(outcome)) throw outcome.error;
        return settle(outcome);
      });
    },
  });
  return wrapped as Wrapped<Tool>;
}

/** Stands for an answer, to find out whether one could be given. */
const SAMPLE: Annotation = { kind: "reference", text: "" };

/** Whether a layer answered in place of the tool. */
function isAnswer(outcome: ReadOutcome): boolean {
  return !outcome.failed && !outcome.again && !("result" in outcome);
}

/** Whether the tool threw, as against a result that says it failed. */
function threw(outcome: ReadOutcome): boolean {
  return outcome.failed === true && !("result" in outcome);
}

/** An async iterable, but no web stream: handed on it is still one, and cannot carry an annotation. */
function isStream(result: unknown): result is AsyncIterable<unknown> {
  return attempting()(() => typeof Object(result)[Symbol.asyncIterator] === "function" && !Object(result).getReader) ??
    false;
}

/** Loaded where there is a stream: most tools have none. */
const loadStreams = () => import("./streams.ts");

/** Cancels a web stream that nobody will read: what it reads from would stay open. */
function letGo(result: unknown): void {
  if (result instanceof ReadableStream) result.cancel().catch(() => {});
}

/** Hosts have other things they call a session. */
function isSession(value: Session | undefined): boolean {
  return typeof value?.reconcile === "function";
}

function kindOf(tool: ToolFunction): "generator" | "async generator" | "function" {
  const tag = (tool as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
  return tag === "AsyncGeneratorFunction" ? "async generator" : tag === "GeneratorFunction" ? "generator" : "function";
}

/** Host facts under usual names. */
function usualFacts(...rest: unknown[]): Partial<ReadCall> {
  const given: Record<string, unknown> = Object(rest.find((info) => typeof info === "object" && info));
  return {
    ...usualIds(rest),
    signal: (given["abortSignal"] ?? given["signal"]) as AbortSignal,
    ...typeof given["sessionId"] === "string" && { sessionId: given["sessionId"] },
    ...typeof given["session"] === "object" && given["session"] && { session: given["session"] as Session },
    ...typeof given["cwd"] === "string" && { cwd: given["cwd"] },
    ...given["programmatic"] === true && { programmatic: true },
    ...given["fresh"] === true && { fresh: true },
  };
}
