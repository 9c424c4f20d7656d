/**
 * What the hosts with hooks have in common: their reads, their conversations, and what becomes of their other results.
 *
 * Promised: nothing here throws or rejects. Absent: any host.
 *
 * @module
 */

import { quiet } from "../../errors.ts";
import { type HookedReads, hookReads } from "../../hooked.ts";
import type { Waymark } from "../../options.ts";
import { sessionPool } from "../../session_pool.ts";
import type { Session } from "../../session_types.ts";
import type { AcceptedResult } from "../../tool_use/types.ts";
import type { Codec, Dialect } from "../../types.ts";

/** The part of a `Waymark` that a host with hooks needs. */
export type HookWaymark = Pick<Waymark, "middleware"> & Partial<Pick<Waymark, "summarizeFileTool">>;

/** What takes tool results for digests: a `ToolUseSummary` is one. */
export interface DigestTaker {
  /** Takes a result. */
  accept(result: AcceptedResult): void;
}

/** Options that all hosts with hooks have. */
export interface HostOptions {
  /** How the arguments of its read tools say a read. Default: the host's own. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect?: Dialect<any> | undefined;
  /** The names of its read tools. Default: those the dialect knows. */
  readonly tools?: readonly string[] | undefined;
  /**
   * The conversation that all reads belong to; `false`: none is kept. Default: one for each of the host's own, kept apart by their
   * ids.
   */
  readonly session?: Session | false | undefined;
  /** Most conversations known at once. Default 64. */
  readonly maxSessions?: number | undefined;
  /**
   * Takes every result that the model sees, for digests; or gives what does, by the host's id of the conversation. Not needed
   * for reads where the `Waymark` has digests of its own, which alone know its `roots`. Default: nobody.
   */
  readonly digests?: DigestTaker | ((sessionId: string) => DigestTaker | undefined) | undefined;
  /** Told what a layer or a hook of ours threw. Default: nobody. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The reads and conversations of one host. */
export interface HostReads {
  /** The two halves of a read. */
  readonly reads: HookedReads;
  /** Whether a tool is a read tool. */
  isRead(tool: string): boolean;
  /** The conversation of an id, where one is kept. */
  sessionOf(sessionId: string): Session | undefined;
  /**
   * The facts of a call's conversation, as its latest request was sent. Until the host has shown a request of it, none is kept:
   * what leaves it is not known.
   */
  factsOf(sessionId: string): { sessionId: string; session?: Session; answerable: boolean };
  /** A request is about to be sent. What results are in it is asked when the next read begins: others may change it till then. */
  request(sessionId: string, results: () => readonly unknown[]): void;
  /** A conversation begins with all that is in another one. */
  fork(from: string, sessionId: string): void;
  /** A conversation is gone. */
  forget(sessionId: string): void;
  /** A result that the model sees. */
  accept(sessionId: string, result: AcceptedResult): void;
  /** Runs a hook of ours: what it throws is told, and never the host's. */
  guard<Value>(hook: () => Value | Promise<Value>): Promise<Value | undefined>;
}

/** What a host brings along. */
interface HostParts {
  readonly dialect: Dialect;
  readonly codec: Codec;
}

/** Puts the onion of a `Waymark` around the reads of a host. */
export function hostReads(waymark: HookWaymark, parts: HostParts, options: HostOptions): HostReads {
  const { dialect = parts.dialect, session, maxSessions, digests, onError } = options;
  const report = quiet(onError), tools = new Set(options.tools ?? dialect.tools);
  const pool = sessionPool({ max: maxSessions });
  const reads = hookReads(waymark.middleware, { dialect, codec: parts.codec, onError });
  const sent = new Map<string, () => readonly unknown[]>(); // requests after which nothing was read
  const sessionOf = (id: string): Session | undefined => session === false ? undefined : session ?? pool.get(id);
  return {
    reads,
    isRead: (tool) => tools.has(tool),
    sessionOf,
    factsOf(sessionId) {
      const session = sessionOf(sessionId), results = sent.get(sessionId);
      sent.delete(sessionId);
      try {
        if (results) session?.reconcile(results());
      } catch (error) {
        report(error);
        session?.reconcile([]);
      }
      return session && session.turn > 0 ? { sessionId, session, answerable: true } : { sessionId, answerable: false };
    },
    request(sessionId, results) {
      if (sessionOf(sessionId)?.nextTurn()) keep(sent, [sessionId, results], maxSessions ?? 64);
    },
    fork: (from, id) => void pool.fork(from, id),
    forget(id) {
      sent.delete(id);
      pool.delete(id);
    },
    accept(sessionId, result) {
      try {
        const taker = typeof digests === "function" ? digests(sessionId) : digests;
        taker?.accept(result);
      } catch (error) {
        report(error);
      }
    },
    async guard(hook) {
      try {
        return await hook();
      } catch (error) {
        report(error);
        return undefined;
      }
    },
  };
}

/** Most calls and conversations of which anything is known. */
const MOST = 1024;

/** Puts something into a map as its latest; the oldest makes room. */
export function keep<Value>(map: Map<string, Value>, [key, value]: readonly [string, Value], most = MOST): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value!);
}

/** Makes arguments what they became, in place: hosts hand the very object to the tool. */
export function rewrite(args: object, made: object): void {
  if (made === args) return;
  for (const name of Object.keys(args)) if (!Object.hasOwn(made, name)) Reflect.deleteProperty(args, name);
  Object.assign(args, made);
}
