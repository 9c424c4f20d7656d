/**
 * Stand-in for `@std/path/posix/is-absolute`.
 *
 * @module
 */

/** Whether the path starts at the root. */
export function isAbsolute(path: string): boolean {
  return path.startsWith("/");
}
