/**
 * Stand-in for `@std/path/posix/resolve`.
 *
 * @module
 */

import { normalize } from "./normalize.ts";

interface Host {
  Deno?: { cwd(): string };
  process?: { cwd(): string };
}

function workingDirectory(): string {
  const host = globalThis as Host;
  return host.Deno?.cwd() ?? host.process?.cwd() ?? "/";
}

/** The segments as one absolute path, from the working directory where none of them is absolute. */
export function resolve(...segments: string[]): string {
  let path = "";
  for (const segment of segments) {
    if (segment === "") continue;
    path = segment.startsWith("/") || path === "" ? segment : `${path}/${segment}`;
  }
  if (!path.startsWith("/")) path = `${workingDirectory()}/${path}`;
  const normal = normalize(path);
  return normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
}
