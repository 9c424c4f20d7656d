/**
 * Stand-in for `@std/path/posix/dirname`.
 *
 * @module
 */

/** The path without its last segment. */
export function dirname(path: string): string {
  const end = path.replace(/\/+$/, "");
  if (end === "") return path.startsWith("/") ? "/" : ".";
  const slash = end.lastIndexOf("/");
  if (slash < 0) return ".";
  return end.slice(0, slash).replace(/\/+$/, "") || "/";
}
