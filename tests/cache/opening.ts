/** What tests of opening a cache share. */

import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openCache } from "../../src/cache/cache.ts";
import type { OpenCacheOptions } from "../../src/cache/types.ts";
import type { SummaryCache } from "../../src/cache/types.ts";
import type { WaymarkEvent } from "../../src/events.ts";
import { inFolder } from "../support.ts";

/** Something that happened to the cache. */
export type CacheEvent = Extract<WaymarkEvent, { type: "cache" }>;

/** Opens a cache, hands it over with what it has said so far and will say, and closes it. */
export async function withCache<Result>(
  options: OpenCacheOptions | string,
  action: (cache: SummaryCache, events: CacheEvent[]) => Promise<Result> | Result,
): Promise<Result> {
  const events: CacheEvent[] = [];
  const cache = await openCache({
    sqlite: "node:sqlite",
    onEvent: (event) => void (event.type === "cache" && events.push(event)),
    ...(typeof options === "string" ? { root: options } : options),
  });
  try {
    return await action(cache, events);
  } finally {
    cache.close();
  }
}

/** What was said, by kind. */
export function kindsOf(events: readonly CacheEvent[]): string[] {
  return events.map((event) => event.what);
}

/** Whether closing a database closes its files there and then. In Deno 2.3 its statements keep them open for a while. */
export const closesAtOnce: boolean = await inFolder((folder) => {
  const database = new DatabaseSync(`${folder}/a.db`);
  database.exec("pragma journal_mode = wal; create table t(a)");
  database.prepare("select a from t").all();
  database.close();
  return !existsSync(`${folder}/a.db-wal`);
});

/** The names in the cache's folder, but for the ignore file, the lock, and what a runtime has yet to close. */
export function filesIn(root: string): string[] {
  return readdirSync(`${root}/.summaries`)
    .filter((name) => name !== ".gitignore" && name !== "summaries.lock" && (closesAtOnce || !/-(wal|shm)$/.test(name)))
    .sort();
}

/** The database of a root. */
export function databaseOf(root: string): string {
  return `${root}/.summaries/summaries.db`;
}

/** Whether this test can play another user: only root can. */
export const isRoot: boolean = (await import("node:process")).getuid?.() === 0;

/** Overwrites all of a file from an offset on. */
export function scribble(file: string, from: number): void {
  const handle = openSync(file, "r+"), { size } = statSync(file);
  const noise = new Uint8Array(size - from);
  for (let at = 0; at < noise.length; at += 65_536) crypto.getRandomValues(noise.subarray(at, at + 65_536));
  writeSync(handle, noise, 0, noise.length, from);
  closeSync(handle);
}
