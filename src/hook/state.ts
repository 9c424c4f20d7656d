/**
 * What the processes of a hook leave for each other: small files in `.summaries/hook/`.
 *
 * Promised: private to the user (0700 and 0600); nothing is written where `.summaries` or the folder is a link, somebody else's
 * or not to be written; a file is there whole or not at all; of two processes that take one, one has it; bounded, the oldest
 * goes first. Names are hashes of ids, so that no id can be a path. What cannot be read is not there.
 *
 * @module
 */

import { prepareFolder } from "../cache/folder.ts";
import { disk, sha256 } from "../files.ts";
import { list, modifiedAt } from "../tool_use/sweep.ts";

/** The folder, in the folder of the caches. */
const FOLDER = ".summaries/hook";
/** Most files; the oldest make room. Many calls at once, each with a map too long for one note, stay below. */
const MOST_FILES = 512;
/** Larger files are not ours. */
const MOST_BYTES = 1 << 20;
/** What nobody came for goes after a week: a call may wait for a person's leave over a weekend. */
const KEPT_MS = 7 * 24 * 3600_000;

/** State of ours, or words for the model to read. */
export type Ending = "json" | "txt";

/** The files of one conversation. */
export interface HookState {
  /** Keeps a text under a name: whether it is kept. */
  put(name: string, text: string, ending?: Ending): Promise<boolean>;
  /** Where a text is kept, or would be. */
  path(name: string, ending?: Ending): Promise<string>;
  /** Takes a text away. Of several that try, one has it. */
  take(name: string): Promise<string | undefined>;
  /** How far from now it was put, in milliseconds; `undefined` where there is none. */
  age(name: string): Promise<number | undefined>;
  /**
   * Removes the state of this conversation, or what is too old of any. Words for the model outlive their conversation: it is told
   * to read them, and may be resumed.
   */
  sweep(which: "own" | "old"): Promise<void>;
}

/** The state of a conversation in a project. Nothing is made before something is put. */
export function openState(root: string, conversation: string): HookState {
  const folder = `${root.replace(/[\\/]+$/, "")}/${FOLDER}`;
  const hash = async (text: string): Promise<string> => (await sha256(new TextEncoder().encode(text))).slice(0, 24);
  let prefix: Promise<string> | undefined; // most often there is no folder, and then no name is needed
  const prefixOf = (): Promise<string> => prefix ??= hash(conversation);
  const pathOf = async (name: string, ending: Ending = "json"): Promise<string> =>
    `${folder}/${await prefixOf()}-${await hash(name)}.${ending}`;

  /** Whether the folder is there, and plainly our own. Throws where it may not be looked at. */
  const isOwn = (): boolean => {
    for (const path of [folder.slice(0, folder.lastIndexOf("/")), folder]) {
      const { isDirectory, isSymlink, uid } = disk().lstat(path), user = disk().userId();
      if (!isDirectory || isSymlink || (user !== undefined && uid !== user)) return false;
    }
    return true;
  };
  const remove = (path: string): void => {
    try {
      disk().remove(path);
    } catch { /* another process was faster, or it is not ours to remove */ }
  };
  const sweep = async (which: "own" | "old" | "most"): Promise<void> => {
    try {
      if (!isOwn()) return;
      const prefix = await prefixOf(), names = (await list(folder)).filter((name) => NAME.test(name)), now = Date.now();
      if (which === "own") {
        const own = names.filter((name) => name.startsWith(prefix) && !name.endsWith(".txt"));
        return own.forEach((name) => remove(`${folder}/${name}`));
      }
      const ages = names.map((name) => ({
        path: `${folder}/${name}`,
        age: now - (modifiedAt(`${folder}/${name}`) ?? now),
      }));
      const isTooMany = which === "most" ? ages.length - MOST_FILES : 0;
      for (const { path, age } of ages) if (age > KEPT_MS) remove(path);
      if (isTooMany > 0) {
        ages.sort((one, other) => other.age - one.age).slice(0, isTooMany).forEach(({ path }) => remove(path));
      }
    } catch { /* there is no folder, or it may not be had */ }
  };

  return {
    async put(name, text, ending) {
      const path = await pathOf(name, ending), fresh = `${path}.${crypto.randomUUID()}.tmp`;
      try {
        prepareFolder(root);
        if (!disk().exists(folder)) disk().mkdir(folder, 0o700);
        if (!isOwn()) return false;
        disk().writeText(fresh, text, 0o600);
        disk().rename(fresh, path);
        await sweep("most");
        return true;
      } catch {
        remove(fresh);
        return false;
      }
    },
    async take(name) {
      try {
        if (!isOwn()) return undefined;
        const path = await pathOf(name), mine = `${path}.${crypto.randomUUID()}.tmp`;
        const { isFile, size } = disk().lstat(path);
        if (!isFile || size > MOST_BYTES) return undefined;
        disk().rename(path, mine);
        try {
          return new TextDecoder().decode(disk().readBytes(mine));
        } finally {
          remove(mine);
        }
      } catch {
        return undefined;
      }
    },
    async age(name) {
      try {
        const at = isOwn() ? modifiedAt(await pathOf(name)) : undefined;
        return at === undefined ? undefined : Math.abs(Date.now() - at);
      } catch {
        return undefined;
      }
    },
    path: pathOf,
    sweep,
  };
}

/** Names that are made here. */
const NAME = /^[0-9a-f]{24}-[0-9a-f]{24}\.(?:json|txt)(?:\.[0-9a-f-]{36}\.tmp)?$/;
