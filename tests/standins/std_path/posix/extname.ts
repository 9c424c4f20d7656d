/**
 * Stand-in for `@std/path/posix/extname`.
 *
 * @module
 */

import { basename } from "./basename.ts";

/** The last dot of the last segment and what follows it; empty for a name that only begins with a dot. */
export function extname(path: string): string {
  const name = basename(path);
  const dot = name.lastIndexOf(".");
  return dot <= 0 || name === ".." ? "" : name.slice(dot);
}
