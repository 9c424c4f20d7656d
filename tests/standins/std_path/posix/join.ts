/**
 * Stand-in for `@std/path/posix/join`.
 *
 * @module
 */

import { normalize } from "./normalize.ts";

/** The segments as one normalized path. */
export function join(path?: string, ...paths: string[]): string {
  const joined = [path ?? "", ...paths].filter((segment) => segment !== "").join("/");
  return joined === "" ? "." : normalize(joined);
}
