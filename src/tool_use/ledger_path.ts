/**
 * Where the ledger of a session lies.
 *
 * @module
 */

import { sha256 } from "../files.ts";

/** The folder of all ledgers, in the folder of the caches. */
export const LEDGERS = "tool-use";
/** What every ledger's name ends in. */
export const LEDGER_END = ".jsonl";
/** What the name of the file ends in that stands beside a ledger and has a place for every call. */
export const PLACES_END = ".calls";

/** Names that stand for themselves on every file system: those without a difference of case are kept apart everywhere. */
const PLAIN = /^[a-z0-9][a-z0-9._-]{0,99}$/;
/** Names that are devices on Windows, whatever follows a dot, and names that look like the ones made here. */
const TAKEN = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)|\.$|-[0-9a-f]{32}$/;

/**
 * The file of a session's ledger, `.summaries/tool-use/<session>.jsonl` under a root. An id that is no safe file name is made
 * one, and ends in a part of its hash: two ids never share a file, not even where case does not count.
 */
export async function ledgerPath(root: string, session: string): Promise<string> {
  return `${root.replace(/[\\/]+$/, "")}/.summaries/${LEDGERS}/${await nameOf(session)}${LEDGER_END}`;
}

async function nameOf(session: string): Promise<string> {
  if (PLAIN.test(session) && !TAKEN.test(session)) return session;
  // As JSON, so that halves of a character that has lost the other one are told apart.
  const hash = await sha256(new TextEncoder().encode(JSON.stringify(session)));
  const words = session.slice(0, 200).toLowerCase().replace(/[^a-z0-9._-]+/g, "_").replace(/^[._-]+/, "").slice(0, 60);
  return `${words || "session"}-${hash.slice(0, 32)}`;
}

/** The file with a place for every call, beside a ledger. */
export function placesPath(ledger: string): string {
  return ledger.slice(0, -LEDGER_END.length) + PLACES_END;
}
