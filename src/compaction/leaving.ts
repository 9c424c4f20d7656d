/**
 * What the re-read guard is told when messages leave a conversation, or no longer are what they were.
 *
 * Promised: afterwards the session counts on nothing but results that are known to stand in the line as they came. What was
 * given to a call that no message of the line is known to answer may have left with any of them: with one of no known shape,
 * with a result that was told in words, or under another id.
 *
 * @module
 */

import { attempting } from "../errors.ts";
import type { Given, Session } from "../session_types.ts";
import type { LineItem } from "./bonds.ts";

/** Tells a session what it can no longer count on, where these messages left the line, or their results were cleared. */
export function evictLeft(session: Session, line: readonly LineItem[], left: readonly LineItem[]): void {
  if (!left.length) return;
  const there = new Set(line.flatMap(({ facts }) => facts.answers));
  const isLost = ({ callId }: Given): boolean => callId === undefined || !there.has(callId);
  const given = attempting()(() => session.toJSON().given) ?? []; // one of the host's own making may keep no record
  // What has no id goes with any eviction.
  const lost = given.filter(isLost).map(({ callId = "" }) => callId);
  const ids = [...left.flatMap(({ facts }) => facts.answers), ...lost];
  if (ids.length) session.evict(ids);
}
