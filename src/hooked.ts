/**
 * An onion for hosts that have a hook before a tool and one after it, in their own arguments and results.
 *
 * Promised: nothing here throws or rejects; a call that is no read, or one a layer failed on, keeps its very arguments; halves
 * that are never finished are bounded. Such a host calls its tool once, so a read that could not be vouched for is not made
 * again here: the model is told which lines it has not been given, and the same read runs as asked the next time.
 *
 * @module
 */

import { isSameRange } from "./arguments.ts";
import { autoCodec } from "./codecs.ts";
import { split } from "./compose.ts";
import { attempting, quiet } from "./errors.ts";
import { isAnnotationText, renderNotice } from "./file_map.ts";
import type { Annotation, Codec, Dialect, Middleware, ReadCall, ReadOutcome } from "./types.ts";

/** Options of {@linkcode hookReads}. */
export interface HookOptions {
  /** How the host's arguments say a read. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect: Dialect<any>;
  /** How its results carry text and failure. Default: strings, text blocks, MCP results and objects. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the host's result
  readonly codec?: Codec<any> | undefined;
  /** The host can put an annotation in place of a result, so that a reference can be given. A call's facts may say otherwise. Default false. */
  readonly answerable?: boolean | undefined;
  /** Most reads begun and not finished; the oldest is dropped for a new one. Default 256. */
  readonly max?: number | undefined;
  /** Told what a layer, dialect or codec threw. Default: nobody. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Facts of a call that are not in its arguments. */
export type HookFacts = Partial<Omit<ReadCall, "path" | "start" | "count" | "callId">> & {
  /** The host's id of the call, which joins its halves. */
  readonly callId: string;
};

/** What the host's tool gave. */
export interface HookResult {
  /** Its result, where it did not throw. */
  readonly result?: unknown;
  /** The file text of the result, where the codec could not find it. */
  readonly text?: string | undefined;
  /** What it threw, or the text of its failure. */
  readonly error?: unknown;
  /** It failed. Default: the codec says. */
  readonly failed?: boolean | undefined;
  /** Nothing can stand beside it: an image alone. Default false. */
  readonly silent?: boolean | undefined;
}

/** What goes to the model of a read that was finished. */
export interface HookVerdict {
  /** What belongs beside the result. */
  readonly annotations: readonly Annotation[];
  /** All of their texts; `""` where there is nothing to say. */
  readonly text: string;
  /** The annotations stand in place of the result, whose lines the model has. Never without `answerable`. */
  readonly replaces: boolean;
}

/** Reads of one host, cut in two by its hooks. */
export interface HookedReads extends Disposable {
  /** The arguments to call with: the very object given where nothing changes. */
  begin<Args>(args: Args, facts: HookFacts): Promise<Args>;
  /** What to tell the model; `undefined` where there is nothing. */
  finish(callId: string, made: HookResult): Promise<HookVerdict | undefined>;
  /** The host did not make the call: it was blocked or cancelled. */
  drop(callId: string): void;
  /** How many reads have begun and not finished. */
  readonly pending: number;
}

/** A read between its hooks. */
interface Between {
  readonly key: string;
  readonly asked: ReadCall;
  /** It is the one that was promised to run as asked. */
  readonly isOwed: boolean;
  made: ReadCall;
}

/** Puts a middleware around the reads of a host with hooks. */
export function hookReads(middleware: Middleware, options: HookOptions): HookedReads {
  const { dialect, codec = autoCodec, answerable = false, max = 256 } = options;
  const report = quiet(options.onError);
  const halves = split(middleware, { max, onError: report });
  const between = new Map<string, Between>(), owed = new Set<string>(); // owed: reads that run as asked the next time
  let closed = false;
  const attempt = attempting(report);
  const owe = (key: string): void => {
    owed.delete(key);
    if (owed.size >= max) owed.delete(owed.keys().next().value!);
    owed.add(key);
  };
  const drop = (callId: string): void => {
    const read = between.get(callId);
    if (read?.isOwed && !closed) owe(read.key);
    between.delete(callId);
    halves.drop(callId);
  };

  const begin = async <Args>(args: Args, facts: HookFacts): Promise<Args> => {
    const span = closed ? undefined : attempt(() => dialect.parse(args));
    if (!span) return args;
    const { signal, ...told } = facts, { callId } = told;
    drop(callId); // another call under its id
    if (between.size >= max) drop(between.keys().next().value!);
    const key = JSON.stringify([facts.sessionId, facts.cwd, span.path, span.start, span.count]);
    const isOwed = owed.delete(key), fresh = isOwed || facts.fresh === true || span.fresh === true;
    const asked: ReadCall = {
      answerable,
      ...told,
      ...signal instanceof AbortSignal && { signal },
      ...span,
      describe: dialect.describe,
      ...fresh && { fresh },
    };
    const read: Between = { key, asked, isOwed, made: asked };
    between.set(callId, read);
    const { call: made } = await halves.begin(asked);
    if (between.get(callId) !== read) return args; // it was dropped while a layer thought
    if (made.path === asked.path && isSameRange(made, asked)) return args;
    const changed = attempt(() => dialect.apply(args as Record<string, unknown>, made) as Args) ?? args;
    if (changed !== args) read.made = made;
    return changed;
  };

  const finish = async (callId: string, { result, error, ...told }: HookResult): Promise<HookVerdict | undefined> => {
    const read = between.get(callId);
    if (!read) return void halves.drop(callId);
    const text = told.text ?? (result === undefined ? undefined : attempt(() => codec.text(result)));
    const { asked, made, key } = read, isShort = made !== asked, { silent = false } = told;
    // Another Waymark has answered, unless the file's own lines are such text.
    const isTaken = text !== undefined && isAnnotationText(text);
    if (isTaken && !isShort) return void drop(callId);
    between.delete(callId);
    const failed = told.failed ?? (error !== undefined || (attempt(() => codec.failed?.(result)) ?? false));
    const given: ReadOutcome = failed && result === undefined ? { failed, error, annotations: [] } : {
      result,
      failed,
      annotations: [],
      ...(error === undefined ? {} : { error }),
      ...(text === undefined ? {} : { text }),
    };
    const outcome = await halves.finish(callId, given);
    if (isTaken && outcome.again) return void attempt(() => outcome.discard?.());
    const isAnswer = !outcome.failed && !outcome.again && !("result" in outcome);
    if (isAnswer && failed) return undefined; // a tool that failed beats a layer's answer
    const replaces = isAnswer && asked.answerable === true;
    // The file may have changed since, and what came back is in hand.
    if (replaces && outcome.stands && !(text !== undefined && attempt(() => outcome.stands!(text)))) return undefined;
    const annotations = outcome.again && isShort ? [remainder(read, outcome, attempt)] : outcome.annotations;
    if (isShort && (outcome.again || silent)) owe(key);
    if (outcome.again && isShort || silent) attempt(() => outcome.discard?.());
    if (!annotations.length || silent) return undefined;
    return { annotations, text: annotations.map(({ text }) => text).join("\n\n"), replaces };
  };

  return {
    begin: (args, facts) => begin(args, facts).catch((error) => (report(error), args)),
    finish: (callId, made) => finish(callId, made).catch((error) => void report(error)),
    drop,
    get pending() {
      return between.size;
    },
    [Symbol.dispose]() {
      closed = true;
      between.clear();
      owed.clear();
      halves[Symbol.dispose]();
    },
  };
}

/**
 * Says which lines of a shortened read were not asked of the tool, and why there is no map of them. The range is in words: where
 * a host shows the model the arguments as they were changed, the same call would be the shortened one.
 */
function remainder(
  { asked, made }: Between,
  outcome: ReadOutcome,
  attempt: <Value>(action: () => Value) => Value | undefined,
): Annotation {
  const { path } = asked, { start, count = 0 } = made, last = start + count - 1;
  const why = outcome.annotations.find(({ kind }) => kind === "notice");
  const reason = outcome.failed
    ? `the read was shortened to lines ${start}-${last} and failed`
    : "the lines that came back are not those of the file as it was mapped, so its map is withheld";
  const range = asked.count === undefined ? undefined : attempt(() => asked.describe?.(asked.start, asked.count!));
  return { ...cutNotice(path, { start, last, reason, range }), ...why?.reason && { reason: why.reason } };
}

/** Tells of a read that was cut and has no map: why, and that the same call reads the rest. */
export function cutNotice(
  path: string,
  { start, last, reason, range }: {
    readonly start: number;
    readonly last: number;
    readonly reason: string;
    readonly range?: string | undefined;
  },
): Annotation {
  const heading = `no map, at most lines ${start}-${last} were read, the file may go on`;
  const same = range === undefined ? "the same call" : `the same call (${range})`;
  const text = renderNotice(`${reason}; ${same} once more reads all it asks for`, { heading });
  return { kind: "notice", text, path, reason: "changed" };
}
