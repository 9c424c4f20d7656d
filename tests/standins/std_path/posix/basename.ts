/**
 * Stand-in for `@std/path/posix/basename`.
 *
 * @module
 */

/** The last segment of the path, without the suffix where it ends with it. */
export function basename(path: string, suffix = ""): string {
  const end = path.replace(/\/+$/, "");
  if (end === "") return path === "" ? "" : "/";
  const name = end.slice(end.lastIndexOf("/") + 1);
  return suffix !== "" && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}
