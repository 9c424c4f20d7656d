/**
 * Stand-in for `@std/path/posix/normalize`.
 *
 * @module
 */

/** The path without `.`, `..` and doubled slashes; a trailing slash stays. */
export function normalize(path: string): string {
  if (path === "") return ".";
  const absolute = path.startsWith("/");
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.length > 0 && kept[kept.length - 1] !== "..") kept.pop();
    else if (!absolute) kept.push("..");
  }
  const body = kept.join("/");
  if (body === "") return absolute ? "/" : path.endsWith("/") ? "./" : ".";
  return (absolute ? "/" : "") + body + (path.endsWith("/") ? "/" : "");
}
