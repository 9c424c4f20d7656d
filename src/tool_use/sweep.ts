/**
 * Removes ledgers of sessions that are long over, and what stands beside them.
 *
 * @module
 */

import type * as NodeFs from "node:fs";
import { attempting } from "../errors.ts";
import { disk } from "../files.ts";
import { LEDGER_END, ledgerPath, LEDGERS, PLACES_END, placesPath } from "./ledger_path.ts";

/** The runtime's own globals, of which nothing may be touched before Deno was asked for. */
const host = globalThis as unknown as { Deno?: typeof Deno; process: typeof import("node:process") };

/** What the sweep looks at: names without their ends are those of sessions. */
const ENDS = new RegExp(`^(.+)(?:${[LEDGER_END, PLACES_END].join("|").replaceAll(".", "\\.")})$`, "s");

/** So many files are looked at before other work has its turn. */
const AT_ONCE = 100;

/** What {@linkcode sweepLedgers} is to remove. */
export interface SweepOptions {
  /** The project. */
  readonly root: string;
  /** The present session: its ledger stays, however old it is. */
  readonly session: string;
  /** A ledger whose last row is older than this goes, milliseconds since the epoch. */
  readonly before: number;
}

/**
 * Removes the ledgers that nobody wrote to since a moment, in a while. What else lies in the folder stays, and so does
 * everything where the folder is a link. Never rejects; what cannot be removed stays.
 */
export async function sweepLedgers({ root, session, before }: SweepOptions): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  try {
    const own = await ledgerPath(root, session), folder = own.slice(0, own.lastIndexOf("/"));
    if (!disk().mayRead(folder) || !disk().mayWrite(folder)) return;
    for (const path of [folder, folder.slice(0, -LEDGERS.length - 1)]) {
      const { isDirectory, isSymlink } = disk().lstat(path);
      if (!isDirectory || isSymlink) return;
    }
    let looked = 0;
    for (const name of await list(folder)) {
      const [, stem] = ENDS.exec(name) ?? [], ledger = `${folder}/${stem}${LEDGER_END}`;
      if (stem === undefined || ledger === own) continue;
      if (++looked % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 0));
      sweep(ledger, before);
    }
  } catch { /* there is no folder, or it may not be had */ }
}

/** Removes a ledger and the places of its calls where neither was written to for so long: the one says what the other costs. */
function sweep(ledger: string, before: number): void {
  const files = [ledger, placesPath(ledger)].map((file) => ({ file, modified: attempt(() => modifiedAt(file)) }));
  if (files.some(({ modified }) => modified !== undefined && !(modified < before))) return; // or no time is known
  for (const { file, modified } of files) if (modified !== undefined) attempt(() => disk().remove(file));
}

/** What it gives; `undefined` where the file is gone, or not ours. */
const attempt = attempting();

/** The names in a folder. Rejects with what the disk throws. */
export async function list(folder: string): Promise<string[]> {
  if (!host.Deno?.version?.deno) return await host.process.getBuiltinModule("node:fs").promises.readdir(folder);
  const names: string[] = [];
  for await (const { name } of host.Deno.readDir(folder)) names.push(name);
  return names;
}

/** When a regular file was last written to; `undefined` where that is not known, and for anything else. */
export function modifiedAt(path: string): number | undefined {
  if (host.Deno?.version?.deno) {
    const { isFile, mtime } = host.Deno.lstatSync(path);
    return isFile ? mtime?.getTime() : undefined;
  }
  const facts: NodeFs.Stats = host.process.getBuiltinModule("node:fs").lstatSync(path);
  return facts.isFile() ? facts.mtimeMs : undefined;
}
