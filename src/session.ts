/**
 * How a session begins, anew or where a conversation left off; which calls belong to it; the guard that asks it.
 *
 * @module
 */

import { Conversation } from "./conversation.ts";
import { WaymarkError } from "./errors.ts";
import { isCount } from "./file_map.ts";
import { countLines } from "./lines.ts";
import type { Session, SessionOptions, SessionState } from "./session_types.ts";
import type { RereadGuardOptions, RereadParts } from "./guard_types.ts";
import { checkNames } from "./probe.ts";
import { createProject } from "./project.ts";
import type { Middleware, ReadCall } from "./types.ts";

/**
 * Begins the record of a conversation, or takes up that of one that goes on.
 *
 * @example
 * ```ts
 * import { createSession, createWaymark } from "@waymark/waymark";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const session = createSession(), source = { read: () => new TextEncoder().encode("one\ntwo\n") };
 * const waymark = createWaymark({ cache: false, source, session });
 * const read = waymark.wrap((_: { path: string }) => "one\ntwo\n");
 * for (const _request of [1, 2]) {
 *   session.nextTurn();
 *   const result = await read({ path: "/a.txt" });
 *   if (session.turn === 2) assertStringIncludes(result, "lines 1-2 of 2 are unchanged since turn 1");
 * }
 * ```
 */
export function createSession(options: SessionOptions = {}): Session {
  const { id, state, untracked } = options;
  const restored = state === undefined ? undefined : checkState(state);
  return new Conversation({
    id: id ?? restored?.id,
    untracked: untracked ?? restored?.untracked ?? false,
    turn: restored?.turn ?? 0,
    given: restored?.given ?? [],
    referred: restored?.referred ?? [],
  });
}

/** The conversation of a call: its own session's, else the one given; none where the call names another. */
export function conversationOf(call: ReadCall, session: Session | undefined): Conversation | undefined {
  const { sessionId } = call, own = call.session instanceof Conversation ? call.session : session;
  if (!(own instanceof Conversation)) return undefined;
  return own.id === undefined || sessionId === undefined || sessionId === own.id ? own : undefined;
}

/**
 * The re-read guard alone, for any read tool whose host can be given an answer without a call.
 *
 * @example
 * ```ts
 * import { createSession, rereadGuard, wrap } from "@waymark/waymark";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const session = createSession(), source = { read: () => new TextEncoder().encode("one\ntwo\n") };
 * const read = wrap((_: { path: string }) => "one\ntwo\n", rereadGuard({ session, source }));
 * await read({ path: "/a.txt" });
 * assertStringIncludes(await read({ path: "/a.txt" }), "[waymark reference: ");
 * ```
 */
export function rereadGuard(options: RereadGuardOptions = {}): Middleware {
  const { session, source, ...rest } = options;
  const project = createProject({ cache: false, source });
  return rereads({ ...rest, project, conversationOf: (call) => conversationOf(call, session) });
}

/** The re-read guard over a project and its conversations, loaded when a read first belongs to one. */
export function rereads(parts: RereadParts): Middleware {
  checkNames({ exempt: parts.exempt });
  const load = () => import("./reread_guard.ts").then(({ guardRereads }) => guardRereads(parts));
  let loading: ReturnType<typeof load> | undefined, guard: Awaited<ReturnType<typeof load>> | undefined;
  return (call, next) => {
    if (guard) return guard(call, next);
    const era = parts.conversationOf(call)?.era; // as it is now, not when all is loaded
    if (era === undefined) return next(call);
    return (loading ??= load()).then((loaded) => (guard = loaded)(call, next, era));
  };
}

/** A state as it was saved. Throws a {@linkcode WaymarkError} of code `invalid-option` for anything else. */
function checkState(state: unknown): SessionState {
  const { version, id, turn, untracked, given, referred } = (state ?? {}) as Record<keyof SessionState, unknown>;
  const isFine = version === 1 && ["string", "undefined"].includes(typeof id) && isCount(turn) &&
    typeof untracked === "boolean" && isList(given, isGiven) && isList(referred, isReferred);
  if (isFine) return state as SessionState;
  throw new WaymarkError("invalid-option", "Cannot restore the session: its state is not one that a session gave");
}

function isList(value: unknown, isItem: (item: Record<string, unknown>) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null && isItem(item));
}

function isGiven(
  { kind, file, path, hash, text, callId = "", start, end, lines, turn }: Record<string, unknown>,
): boolean {
  const isFine = [file, path, hash, text, callId].every(isText) && [start, end, lines, turn].every(isCount);
  return isFine &&
    (kind === "map" || (kind === "lines" && countLines(text as string) === Number(end) - Number(start) + 1));
}

function isReferred({ read, file, start, end, turn }: Record<string, unknown>): boolean {
  return isText(read) && isText(file) && [start, end, turn].every(isCount);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
