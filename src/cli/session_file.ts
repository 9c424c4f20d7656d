/**
 * A session kept in a file, so that reads of separate processes are one conversation: each process is one turn of it.
 *
 * Promised: private to its owner; what cannot be read is begun anew, and told; a process that dies leaves the file as it was;
 * a file that is no session is set aside, never written over.
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
  const file = toDiskPath(path, disk().cwd()) ?? path, { session, foreign } = restore(file, path, tell);
  session.nextTurn();
  return {
    session,
    save() {
      const fresh = `${file}.${crypto.randomUUID()}.tmp`;
      try {
        disk().writeText(fresh, JSON.stringify(session), 0o600);
        if (foreign && disk().exists(file)) disk().rename(file, foreign);
        disk().rename(fresh, file);
      } catch (error) {
        tell(`Cannot keep the session in ${path}: ${(error as Error).message}`);
        if (disk().exists(fresh)) disk().remove(fresh);
      }
    },
  };
}

/** The session in a file; where that holds something else, a new one and the name what is there is to go by. */
function restore(file: string, path: string, tell: (problem: unknown) => void): { session: Session; foreign?: string } {
  let bytes: Uint8Array | undefined;
  try {
    bytes = disk().readBytes(file);
    return { session: createSession({ state: JSON.parse(new TextDecoder().decode(bytes)) }) };
  } catch (error) {
    const session = createSession(), { message } = error as Error;
    if (diskFault(error) === "absent") return { session };
    const foreign = bytes?.length ? `${file}.${crypto.randomUUID()}.old` : undefined;
    const kept = foreign === undefined ? "" : `. What is there is kept as ${foreign}`;
    tell(`Cannot take up the session in ${path}: ${message}${kept}. It begins anew`);
    return { session, ...foreign && { foreign } };
  }
}
