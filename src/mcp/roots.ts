/**
 * The folders that may be read at this moment: those the server was started for, and those the client names.
 *
 * Promised: `--root` is the outer bound. A client that names folders narrows it to them, and may do so anew at any time; where
 * none was given at the start, the client's are all there are. A client that names none, or does not answer, narrows nothing
 * further.
 *
 * @module
 */

import { commonFolders, type Folder, toFolder } from "./folders.ts";

/** The client's side: its folders, as `file:` URLs. */
export type ListRoots = () => Promise<{ readonly roots: readonly { readonly uri: string }[] }>;

/** The folders of a server. */
export interface Roots {
  /** The client has folders, or others now: they are asked for. */
  refresh(list: ListRoots): void;
  /** The folders, once all that was asked for is known. */
  current(): Promise<readonly Folder[]>;
}

/** Keeps the folders. What cannot be used is told, and left out. */
export function createRoots(own: readonly Folder[], tell: (problem: unknown) => void): Roots {
  let named: readonly Folder[] | undefined, asked: Promise<void> | undefined, serial = 0;
  const usable = (uri: string): readonly Folder[] => {
    try {
      return [toFolder(uri)];
    } catch (error) {
      tell(error);
      return [];
    }
  };
  const ask = async (list: ListRoots, mine: number): Promise<void> => {
    try {
      const { roots } = await list();
      if (mine === serial) named = roots.length ? roots.flatMap(({ uri }) => usable(uri)) : undefined;
    } catch (error) {
      tell(new Error(`Cannot have the client's folders: ${error instanceof Error ? error.message : error}`));
    }
    if (mine === serial) asked = undefined;
  };
  return {
    refresh: (list) => void (asked = ask(list, ++serial)),
    async current() {
      while (asked) await asked;
      return commonFolders(own, named);
    },
  };
}
