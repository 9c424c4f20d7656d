/**
 * Conversations kept apart by their hosts' ids, for adapters that serve many at once.
 *
 * Promised: one session for one id, made when it is first asked for, and a bounded number of them; the one unused for longest
 * makes room. What is forgotten is only ever shown again.
 *
 * @module
 */

import { checkNumbers } from "./errors.ts";
import { createSession } from "./session.ts";
import type { Session, SessionOptions } from "./session_types.ts";

/** Options of {@linkcode sessionPool}. */
export interface SessionPoolOptions extends Pick<SessionOptions, "untracked"> {
  /** Most conversations at once. Default 64. */
  readonly max?: number | undefined;
}

/** Conversations by their ids. */
export interface SessionPool {
  /** The conversation of an id. */
  get(id: string): Session;
  /** The conversation of an id begins with all that is in another one; anew where nothing is known of that. */
  fork(from: string, id: string): Session;
  /** Forgets a conversation that ended. */
  delete(id: string): void;
  /** How many there are. */
  readonly size: number;
}

/**
 * Makes a pool of conversations.
 *
 * @throws {WaymarkError} with code `invalid-option` where `max` is no number of conversations.
 */
export function sessionPool(options: SessionPoolOptions = {}): SessionPool {
  const { max = 64, untracked } = options;
  checkNumbers({ max }, 1);
  const sessions = new Map<string, Session>();
  const put = (id: string, session: Session): Session => {
    sessions.delete(id);
    sessions.set(id, session); // the last of a Map is the one used last
    if (sessions.size > max) sessions.delete(sessions.keys().next().value!);
    return session;
  };
  return {
    get: (id) => put(id, sessions.get(id) ?? createSession({ id, untracked })),
    fork: (from, id) => put(id, sessions.get(from)?.fork({ id }) ?? createSession({ id, untracked })),
    delete: (id) => void sessions.delete(id),
    get size() {
      return sessions.size;
    },
  };
}
