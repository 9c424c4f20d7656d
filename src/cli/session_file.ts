/**
 * A session kept in a file, so that reads of separate processes are one conversation: each process is one turn of it.
 *
 * Promised: private to its owner; what cannot be read is begun anew, and told; a process that dies leaves the file as it was;
 * a file that is no session is set aside, never written over; what is no file is neither read nor replaced.
 * Two processes at once: the last to end is remembered, which costs a reference and tells nothing false.
 *
 * @module
 */

import { disk, diskFault, realOr } from "../files.ts";
import { toDiskPath } from "../paths.ts";
import { createSession } from "../session.ts";
import type { Session } from "../session_types.ts";

/** A session and where it goes. */
export interface SessionFile {
  readonly session: Session;
  /** Writes the session to its file. Where that cannot be done, it is told. */
  save(): void;
}

/** Takes up the session in a file, or begins one that will be kept there. */
export function openSession(path: string, tell: (problem: unknown) => void): SessionFile {
  const file = realOr(toDiskPath(path, disk().cwd()) ?? path), { session, aside } = restore(file, path, tell);
  session.nextTurn();
  return {
    session,
    save() {
      if (aside === null) return;
      const fresh = `${file}.${crypto.randomUUID()}.tmp`;
      try {
        disk().writeText(fresh, JSON.stringify(session), 0o600);
        if (aside && disk().exists(file)) disk().rename(file, aside);
        disk().rename(fresh, file);
      } catch (error) {
        tell(`Cannot keep the session in ${path}: ${(error as Error).message}`);
        if (disk().exists(fresh)) disk().remove(fresh);
      }
    },
  };
}

/**
 * The session in a file. Where that holds something else, a new one and the name what is there is to go by; `null` where it is
 * no file at all, but a pipe, a device or a folder.
 */
function restore(
  file: string,
  path: string,
  tell: (problem: unknown) => void,
): { session: Session; aside?: string | null } {
  let size: number | undefined;
  try {
    const facts = disk().stat(file);
    if (!facts.isFile) {
      tell(`Cannot keep the session in ${path}: it is not a regular file`);
      return { session: createSession(), aside: null };
    }
    size = facts.size;
    return { session: createSession({ state: JSON.parse(new TextDecoder().decode(disk().readBytes(file))) }) };
  } catch (error) {
    const session = createSession(), { message } = error as Error;
    if (diskFault(error) === "absent") return { session };
    const aside = size === 0 ? undefined : `${file}.${crypto.randomUUID()}.old`;
    const kept = aside === undefined ? "" : `. What is there is kept as ${aside}`;
    tell(`Cannot take up the session in ${path}: ${message}${kept}. It begins anew`);
    return { session, ...aside && { aside } };
  }
}
