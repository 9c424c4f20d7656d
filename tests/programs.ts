/**
 * How to start a program of this repository as its own process, on the runtime the tests run on.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { join } from "@std/path/posix/join";
import { root } from "./modules.ts";

/** The configuration for a Deno of some version, an absolute path. */
export function denoConfig(version: string): string {
  const floor = join(root, "deno.floor.json"); // written by the launcher for a Deno that needs it
  return olderThan(version, 2, 3, 6) && existsSync(floor)
    ? floor
    : join(root, process.env["WAYMARK_CONFIG"] ?? "deno.offline.json");
}

/** The command that runs a file of the repository. */
export function programCommand(file: string): [program: string, ...args: string[]] {
  const path = join(root, file);
  if ("Deno" in globalThis) {
    return [process.execPath, "run", "-A", "--no-check", "--config", denoConfig(Deno.version.deno), path];
  }
  if ("Bun" in globalThis) return [process.execPath, path];
  const types = olderThan(process.versions.node, 23, 6, 0)
    ? ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"]
    : [];
  return [process.execPath, ...types, "--import", join(root, "tests/node_hooks.mjs"), path];
}

function olderThan(version: string, ...wanted: readonly number[]): boolean {
  const parts = version.split(".").map(Number), at = wanted.findIndex((number, index) => number !== parts[index]);
  return at >= 0 && parts[at]! < wanted[at]!;
}
