/**
 * What a hook answers to an event of Claude Code: one process before a `Read`, another one after it.
 *
 * Promised: a read is only ever shortened where what was asked is kept for the process after it, so that the model is told; a
 * read that is short, or not to be guarded, costs a look at the file's size and 200 lines, and writes nothing; no model is asked
 * before the read, which Claude Code, or a person, may yet refuse.
 *
 * @module
 */

import { isSameRange } from "../arguments.ts";
import { claudeCodec, conversationId, hasNoLines, isName, noteOf } from "../claude_code.ts";
import type { ClaudeHookInput, ClaudeHookOutput } from "../claude_types.ts";
import { dialects } from "../dialects.ts";
import { disk, realOr } from "../files.ts";
import type { HookResult } from "../hooked.ts";
import { lineWindow } from "../lines.ts";
import { findRoot, pathKey, toDiskPath } from "../paths.ts";
import { guardsName } from "../probe.ts";
import type { ReadSpan } from "../types.ts";
import type { GuardSetup } from "./guards.ts";
import { type HookState, openState } from "./state.ts";

/** How a hook answers. */
export interface HookSetup extends Omit<GuardSetup, "root" | "onFailure"> {
  /** The project's root. Default: the nearest one above the folder Claude Code is in. */
  readonly root?: string | undefined;
  /** Ends the making of maps. What was cut is told of all the same. */
  readonly signal: AbortSignal;
}

/** Larger files are left alone. */
const MOST_BYTES = 32 << 20;
/** A model that failed is left alone for so long. */
const PAUSE_MS = 60_000;

const dialect = dialects.claudeCode;

/** The answer to an event; `undefined` where there is nothing to say. */
export async function answer(input: ClaudeHookInput, setup: HookSetup): Promise<ClaudeHookOutput | undefined> {
  const { hook_event_name: event, tool_use_id: callId, tool_name } = input;
  const isRead = isName(callId) && isName(tool_name) && dialect.tools.includes(tool_name);
  if (event === "PreToolUse") return isRead ? await before(input, callId, setup) : undefined;
  if (event === "PostToolUse" || event === "PostToolUseFailure") {
    return isRead ? await after(input, callId, setup) : undefined;
  }
  for (const root of rootsOf(input, setup)) {
    const state = stateOf(root, input);
    if (event === "SessionEnd") await state.sweep("own");
    if (isName(event)) await state.sweep("old");
  }
  return undefined;
}

/** Where state may lie: the root given, then the one found. The first that can be used is used by both processes. */
function rootsOf({ cwd }: ClaudeHookInput, { root }: Pick<HookSetup, "root">): string[] {
  const here = isName(cwd) ? cwd : disk().cwd(), given = root === undefined ? undefined : toDiskPath(root, here);
  return [...new Set([given, findRoot(here, disk())].filter((path) => path !== undefined))];
}

async function before(input: ClaudeHookInput, callId: string, setup: HookSetup): Promise<ClaudeHookOutput | undefined> {
  const { tool_input: args } = input, span = dialect.parse(args);
  if (!span || !isLong(span, input, setup)) return undefined;
  for (const root of rootsOf(input, setup)) {
    const state = stateOf(root, input);
    if (await state.age(owedName(span, input)) !== undefined) return undefined; // promised: this time as asked
    const [{ openGuards }, { foresee }] = await Promise.all([import("./guards.ts"), import("../replay.ts")]);
    const waymark = await openGuards({ ...setup, root, model: undefined });
    const made = await foresee(waymark.middleware, { args, facts: factsOf(input, callId, setup) }, {
      dialect,
      codec: claudeCodec,
    });
    await waymark.close();
    if (made === args) return undefined;
    if (!await state.put(callName(input, callId), JSON.stringify({ version: 1, args }))) continue;
    return { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: made as Record<string, unknown> } };
  }
  return undefined;
}

async function after(input: ClaudeHookInput, callId: string, setup: HookSetup): Promise<ClaudeHookOutput | undefined> {
  const made = dialect.parse(input.tool_input), isFailure = input.hook_event_name === "PostToolUseFailure";
  const isNothing = input.is_interrupt === true || (!isFailure && hasNoLines(input.tool_response));
  for (const root of rootsOf(input, setup)) {
    const state = stateOf(root, input), name = callName(input, callId), kept = parse(await state.take(name));
    if (!kept) {
      if (!isNothing && made && isTooLong(made, setup)) await state.take(owedName(made, input)); // read as was promised
      continue;
    }
    if (isNothing) return undefined;
    const result: HookResult = isFailure ? { error: input.error ?? "", failed: true } : { result: input.tool_response };
    const asked = dialect.parse(kept.args);
    if (!asked || !made || isSameRange(asked, made)) return undefined; // another hook had the last word
    const { text, owed } = await sayOf(kept.args, { input, callId, setup, root, result, asked, made });
    if (owed) await state.put(owedName(asked, input), "{}");
    if (text === undefined) return undefined;
    const { fitNote } = await import("./long_note.ts"), file = await state.path(name, "txt");
    const full = noteOf(asked.path, text), { note, rest } = fitNote(full, file);
    const isKept = rest === undefined || await state.put(name, rest, "txt");
    const additionalContext = isKept ? note : full;
    return {
      hookSpecificOutput: { hookEventName: isFailure ? "PostToolUseFailure" : "PostToolUse", additionalContext },
    };
  }
  return undefined;
}

/** A read that was made. */
interface Made {
  readonly input: ClaudeHookInput;
  readonly callId: string;
  readonly setup: HookSetup;
  readonly root: string;
  readonly result: HookResult;
  readonly asked: ReadSpan;
  readonly made: ReadSpan;
}

/** What to say of a read, and whether the same one is to go on as asked. */
async function sayOf(args: unknown, read: Made): Promise<{ text: string | undefined; owed: boolean }> {
  const { input, callId, setup, root, result, asked, made } = read;
  const { cutVerdict, replay } = await import("../replay.ts");
  try {
    const { openGuards } = await import("./guards.ts"), general = openState(root, ""), pauses: Promise<unknown>[] = [];
    const model = await mayAsk(read, general) ? setup.model : undefined;
    const onFailure = (): void => void pauses.push(general.put("pause", "{}"));
    const waymark = await openGuards({ ...setup, root, model, onFailure });
    const call = { args, made: input.tool_input, facts: factsOf(input, callId, setup), result };
    const { verdict, owed } = await replay(waymark.middleware, call, { dialect, codec: claudeCodec });
    await Promise.all([waymark.close(), ...pauses]);
    return { text: verdict?.text, owed };
  } catch (error) {
    setup.tell((error as Error).message);
    return { text: cutVerdict(asked, made).text, owed: true };
  }
}

/** Whether a model may make the map: of a file of the project that was read, and where none has just failed. */
async function mayAsk({ asked, input: { cwd }, result, root, setup }: Made, general: HookState): Promise<boolean> {
  if (setup.model === undefined || result.failed) return false;
  const file = toDiskPath(asked.path, isName(cwd) ? cwd : undefined);
  if (file === undefined || pathKey(realOr(file), realOr(root)) === undefined) return false;
  return (await general.age("pause") ?? Infinity) >= PAUSE_MS;
}

/** Whether more lines are asked for than a read may return, if there are as many. */
function isTooLong({ count = Infinity }: ReadSpan, { maxLines = 200 }: HookSetup): boolean {
  return count > maxLines;
}

/** Whether a read would return more lines than it may, as far as a look at them says. */
function isLong(span: ReadSpan, { cwd }: ClaudeHookInput, setup: HookSetup): boolean {
  const { path, start } = span,
    { maxLines = 200 } = setup,
    file = isTooLong(span, setup) && guardsName(path) && toDiskPath(path, isName(cwd) ? cwd : undefined);
  if (!file) return false;
  try {
    const { isFile, size } = disk().stat(file);
    if (!isFile || size < start + maxLines || size > MOST_BYTES) return false;
    const open = disk().open(file);
    try {
      const { lines, more, cut } = lineWindow(open, start, maxLines);
      return cut || (more && lines === maxLines);
    } finally {
      open.close();
    }
  } catch {
    return false;
  }
}

function factsOf(input: ClaudeHookInput, callId: string, { signal }: Pick<HookSetup, "signal">) {
  const { cwd, tool_name } = input;
  return { callId, tool: String(tool_name), sessionId: conversationId(input), signal, ...isName(cwd) && { cwd } };
}

/** What is kept of a session, that of its sub-agents too: all of it goes when it ends. */
function stateOf(root: string, { session_id }: ClaudeHookInput): HookState {
  return openState(root, String(session_id));
}

/** The name of a call. */
function callName({ agent_id }: ClaudeHookInput, callId: string): string {
  return JSON.stringify(["call", agent_id, callId]);
}

/**
 * The name of a promise that a read goes on as asked. It stands until the read was made: of several hooks for one call the first
 * must not take it from the others.
 */
function owedName({ path, start, count }: ReadSpan, { agent_id, cwd }: ClaudeHookInput): string {
  return JSON.stringify(["owed", agent_id, toDiskPath(path, isName(cwd) ? cwd : undefined), start, count]);
}

/** What the process before the read kept; nothing where it is not to be understood. */
function parse(text: string | undefined): { readonly args: unknown } | undefined {
  try {
    const kept = JSON.parse(text ?? "null") as { version?: unknown; args?: unknown } | null;
    return kept?.version === 1 ? { args: kept.args } : undefined;
  } catch {
    return undefined;
  }
}
