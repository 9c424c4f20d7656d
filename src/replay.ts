/**
 * An onion for hosts that start one process for each hook: the first learns what to ask of the tool, the second runs the same
 * onion again around what the tool gave.
 *
 * It stands on the third rule of `compose`: what a layer does before `next` is free the second time. Promised: nothing throws
 * or rejects; where the second process comes to another call than the one that was made, the model is told what it was not
 * given. Absent: memory between the two; what is to be remembered is handed out, and handed in again.
 *
 * @module
 */

import { isSameRange } from "./arguments.ts";
import { cutNotice, type HookFacts, type HookOptions, hookReads, type HookResult, type HookVerdict } from "./hooked.ts";
import type { Dialect, Middleware, ReadSpan } from "./types.ts";

/** What the second process has to say. */
export interface Replayed {
  /** What to tell the model; absent where there is nothing. */
  readonly verdict?: HookVerdict | undefined;
  /** The model was promised that the same call reads all it asks for: the next one goes on as asked, once. */
  readonly owed: boolean;
}

/** The first process: the arguments to call with; the very object given where nothing changes. */
export async function foresee<Args>(
  middleware: Middleware,
  call: { readonly args: Args; readonly facts: HookFacts },
  options: HookOptions,
): Promise<Args> {
  const reads = hookReads(middleware, options);
  const args = await reads.begin(call.args, call.facts);
  reads[Symbol.dispose]();
  return args;
}

/** A call between its two processes. */
export interface ReplayedCall {
  /** The arguments as the model gave them. */
  readonly args: unknown;
  /** Those the tool was called with. */
  readonly made: unknown;
  /** The same as in the first process. */
  readonly facts: HookFacts;
  /** What the tool gave. */
  readonly result: HookResult;
}

/** The second process. */
export async function replay(middleware: Middleware, call: ReplayedCall, options: HookOptions): Promise<Replayed> {
  const { args, facts, result } = call, { dialect } = options;
  const asked = spanOf(dialect, args), made = spanOf(dialect, call.made);
  if (!asked || !made || isSameRange(asked, made)) return { owed: false }; // somebody else had the last word
  const reads = hookReads(middleware, options);
  try {
    const again = await reads.begin(args, facts);
    if (!isSameRange(spanOf(dialect, again), made)) return { verdict: cutVerdict(asked, made), owed: true };
    const verdict = await reads.finish(facts.callId, result);
    const isNotice = verdict?.annotations.every(({ kind }) => kind === "notice") ?? false;
    const owed = isNotice && await reads.begin(args, { ...facts, callId: `${facts.callId} again` }) === args;
    return { verdict, owed };
  } finally {
    reads[Symbol.dispose]();
  }
}

/** Says that a read was shortened of which nothing else can be said any more. */
export function cutVerdict(
  { path }: Pick<ReadSpan, "path">,
  { start, count = 0 }: Omit<ReadSpan, "path">,
): HookVerdict {
  const last = start + count - 1;
  const reason = `the read was shortened to lines ${start}-${last}, and its map could not be had any more`;
  const notice = cutNotice(path, { start, last, reason });
  return { annotations: [notice], text: notice.text, replaces: false };
}

/** The read in these arguments; nothing where they have traps. */
function spanOf(dialect: Pick<Dialect, "parse">, args: unknown): ReadSpan | undefined {
  try {
    return dialect.parse(args);
  } catch {
    return undefined;
  }
}
