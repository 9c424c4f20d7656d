/**
 * The folders that may be read at this moment: those the server was started for, and those the client names.
 *
 * Promised: `--root` is the outer bound. A client that names folders narrows it to them, and may do so anew at any time; where
 * none was given at the start, the client's are all there are. A client that names none, or does not answer, narrows nothing
 * further, and an answer that comes late counts from then on. Of an answer only what cannot be used is left out, and told; where that is all of it, nothing may be read.
 *
 * @module
 */

import { commonFolders, type Folder, toFolder } from "./folders.ts";
import { shortened } from "./words.ts";

/** The client's side: its answer to `roots/list`, whatever that is. */
export type ListRoots = () => Promise<unknown>;

/** The folders of a server. */
export interface Roots {
  /** The client has folders, or others now: they are asked for. */
  refresh(list: ListRoots): void;
  /** Something came that cannot be understood: where no answer comes, it was that. */
  garbled(): void;
  /** The folders, once all that was asked for is known, or has been waited for long enough. */
  current(): Promise<readonly Folder[]>;
}

/** So many of what cannot be used are told one by one. */
const MAX_TOLD = 20;

/** More than the URL of any folder takes: each byte of its path may be an escape of three. */
const MAX_URI = 3 * 4096 + 16;

/** How {@linkcode createRoots} waits. */
export interface RootsOptions {
  /** How long reads wait for the client to name its folders, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
}

/** Keeps the folders. What cannot be used is told, and left out. */
export function createRoots(
  own: readonly Folder[],
  tell: (problem: unknown) => void,
  { patienceMs = 10_000 }: RootsOptions = {},
): Roots {
  let named: readonly Folder[] | undefined, asked: Promise<void> | undefined, isGarbled = false;
  let serial = 0, known = 0; // the last question, and the last one of which anything is known
  const cannot = (reason: string): void => tell(new Error(`Cannot have the client's folders: ${reason}`));
  /** The folders of an answer; `undefined` where it names none. */
  const usable = (answer: unknown): readonly Folder[] | undefined => {
    const { roots } = Object(answer) as { roots?: unknown };
    if (Array.isArray(roots) && !roots.length) return undefined;
    if (!Array.isArray(roots)) cannot("its answer holds no list of them; no folder may be read");
    const folders: Folder[] = [], problems = new Map<string, unknown>();
    for (const root of new Set((Array.isArray(roots) ? roots : []).map((root) => Object(root).uri))) {
      try {
        folders.push(toRoot(root));
      } catch (error) {
        problems.set(String(error), error);
      }
    }
    for (const problem of [...problems.values()].slice(0, MAX_TOLD)) tell(problem);
    if (problems.size > MAX_TOLD) cannot(`${problems.size - MAX_TOLD} more of them cannot be used`);
    if (problems.size && !folders.length) cannot("none of those it names can be used; no folder may be read");
    else if (folders.length && !commonFolders(own, folders).length) {
      cannot("all it names lie outside of --root; no folder may be read");
    }
    return folders;
  };
  const learn = (mine: number, folders: () => readonly Folder[] | undefined): void => {
    if (mine < known) return; // a later answer came first
    known = mine;
    named = folders();
  };
  /** Nothing is known of the client's folders, at least for now. */
  const miss = (reason: string, mine: number): void => {
    cannot(`${shortened(reason)}${isGarbled ? "; no folder may be read" : ""}`);
    if (mine === serial && isGarbled) learn(mine, () => []);
  };
  const ask = async (list: ListRoots, mine: number): Promise<void> => {
    let isLate = false;
    const answered = list().then((answer) => learn(mine, () => usable(answer))).catch((error) => {
      if (!isLate) miss(error instanceof Error ? error.message : String(error), mine);
    });
    const patience = Promise.withResolvers<void>(),
      timer = setTimeout(() => {
        isLate = true;
        miss(`no answer came in ${patienceMs / 1000} seconds, and reads no longer wait for it`, mine);
        patience.resolve();
      }, patienceMs);
    await Promise.race([answered, patience.promise]);
    clearTimeout(timer);
    if (mine === serial) asked = undefined;
  };
  return {
    refresh(list) {
      isGarbled = false;
      asked = ask(list, ++serial);
    },
    garbled: () => void (isGarbled = true),
    async current() {
      while (asked) await asked;
      return commonFolders(own, named);
    },
  };
}

/** A folder by the URL that the protocol asks for. Throws what says why it is none. */
function toRoot(uri: unknown): Folder {
  if (typeof uri !== "string") throw new Error("Cannot read in a folder that the client names: its uri is no text");
  const shown = shortened(uri) || '""';
  if (!/^file:\/\//i.test(uri)) throw new Error(`Cannot read in ${shown}: it is no file:// URL`);
  // A folder's own "?" or "#" is escaped in its URL: as it stands, the path would end there, at a folder further up.
  if (/[?#]/.test(uri)) {
    throw new Error(`Cannot read in ${shown}: a "?" or "#" of a folder's name is escaped in its URL`);
  }
  if (uri.length > MAX_URI) throw new Error(`Cannot read in ${shown}: it is longer than any may be`);
  return toFolder(uri);
}
