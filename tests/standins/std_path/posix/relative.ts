/**
 * Stand-in for `@std/path/posix/relative`.
 *
 * @module
 */

import { resolve } from "./resolve.ts";

/** How to get from one path to the other; empty where they are the same. */
export function relative(from: string, to: string): string {
  const start = resolve(from).split("/").filter(Boolean);
  const end = resolve(to).split("/").filter(Boolean);
  let shared = 0;
  while (shared < start.length && shared < end.length && start[shared] === end[shared]) shared++;
  return [...start.slice(shared).map(() => ".."), ...end.slice(shared)].join("/");
}
