/**
 * A session kept in a file, so that reads of separate processes are one conversation: each process is one turn of it.
 *
 * Promised: private to its owner; what cannot be read is begun anew, and told; a process that dies leaves the file as it was.
 * Two processes at once: the last to end is remembered, which costs a reference and tells nothing false.
 *
 * @module
 */

import { disk, diskFault } from "../files.ts";
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
  const file = toDiskPath(path, disk().cwd()) ?? path, session = restore(file, path, tell);
  session.nextTurn();
  return {
    session,
    save() {
      const fresh = `${file}.${crypto.randomUUID()}.tmp`;
      try {
        disk().writeText(fresh, JSON.stringify(session), 0o600);
        disk().rename(fresh, file);
      } catch (error) {
        tell(`Cannot keep the session in ${path}: ${(error as Error).message}`);
        if (disk().exists(fresh)) disk().remove(fresh);
      }
    },
  };
}

function restore(file: string, path: string, tell: (problem: unknown) => void): Session {
  try {
    return createSession({ state: JSON.parse(new TextDecoder().decode(disk().readBytes(file))) });
  } catch (error) {
    if (diskFault(error) !== "absent") {
      tell(`Cannot take up the session in ${path}: ${(error as Error).message}. It begins anew`);
    }
    return createSession();
  }
}
