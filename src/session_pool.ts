/**
 * Conversations kept apart by their hosts' ids, for adapters that serve many at once.
 *
 * Promised: one session for one id, made when it is first asked for, and a bounded number of them; the one unused for longest
 * makes room. What is forgotten is only ever shown again.
 *
 * @module
 */

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
  /** Forgets a conversation that ended. */
  delete(id: string): void;
  /** How many there are. */
  readonly size: number;
}

/** Makes a pool of conversations. */
export function sessionPool(options: SessionPoolOptions = {}): SessionPool {
  const { max = 64, untracked } = options;
  const sessions = new Map<string, Session>();
  return {
    get(id) {
      const session = sessions.get(id) ?? createSession({ id, untracked });
      sessions.delete(id);
      sessions.set(id, session); // the last of a Map is the one used last
      if (sessions.size > max) sessions.delete(sessions.keys().next().value!);
      return session;
    },
    delete: (id) => void sessions.delete(id),
    get size() {
      return sessions.size;
    },
  };
}
