/**
 * The pinned corpus: real files out of npm packages at exact versions, fetched by npm into `node_modules/.cache` and checked
 * by their SHA-256. Nothing of them is part of this repository.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { dirname } from "@std/path/posix/dirname";
import { join } from "@std/path/posix/join";

/** By package at its version, by path in it: the SHA-256 of the file. */
export type CorpusList = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What `tests/testdata/corpus.json` says. */
export interface CorpusLists {
  /** Files the rules were written and improved on. */
  readonly files: CorpusList;
  /** Files that were not looked at while that was done. */
  readonly heldOut: CorpusList;
  /** The TypeScript compiler. */
  readonly tools: CorpusList;
}

/** One file of the corpus. */
export interface CorpusFile {
  /** The package and version it comes from. */
  readonly source: string;
  /** Its path in the package. */
  readonly path: string;
  /** Where it lies on this machine. */
  readonly file: string;
  /** Its text. */
  readonly text: string;
}

const lists = new URL("../testdata/corpus.json", import.meta.url);
const cache = fileURLToPath(new URL("../../node_modules/.cache/waymark-corpus/", import.meta.url));

/** The pinned lists. */
export function corpusLists(): CorpusLists {
  return JSON.parse(readFileSync(lists, "utf8"));
}

/** The files of a list, fetched where they are not there yet; a sentence saying why not where they cannot be had. */
export function loadCorpus(list: CorpusList): readonly CorpusFile[] | string {
  const files: CorpusFile[] = [];
  for (const [source, hashes] of Object.entries(list)) {
    const folder = join(cache, source.replaceAll("/", "+"));
    const missing = Object.keys(hashes).filter((path) => !isThere(join(folder, path), hashes[path]!));
    const failure = missing.length ? fetchPackage(source, { folder, paths: missing }) : undefined;
    if (failure) return failure;
    for (const [path, hash] of Object.entries(hashes)) {
      const file = join(folder, path);
      if (!isThere(file, hash)) return `${path} of ${source} is not the pinned file`;
      files.push({ source, path, file, text: readFileSync(file, "utf8") });
    }
  }
  return files;
}

function isThere(file: string, hash: string): boolean {
  return existsSync(file) && sha256(readFileSync(file)) === hash;
}

/** SHA-256 in lower-case hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Fetches a package with npm and keeps some of its files. Gives what went wrong. */
function fetchPackage(
  source: string,
  { folder, paths }: { folder: string; paths: readonly string[] },
): string | undefined {
  mkdirSync(cache, { recursive: true });
  const target = mkdtempSync(join(cache, "fetch-"));
  try {
    const run = spawnSync("npm", [
      "pack",
      source,
      "--ignore-scripts",
      "--silent",
      "--fetch-retries=1",
      "--pack-destination",
      target,
    ], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 300_000,
    });
    const archive = readdirSync(target).find((name) => name.endsWith(".tgz"));
    if (!archive) {
      return `npm could not fetch ${source}: ${run.error?.message ?? String(run.stderr).trim().split("\n").at(-1)}`;
    }
    const entries = untar(gunzipSync(readFileSync(join(target, archive))));
    for (const path of paths) {
      const bytes = entries.get(path);
      if (!bytes) return `${source} has no ${path}`;
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    return undefined;
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** The regular files of a tar archive, by their path below its first folder. */
export function untar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (from: number, length: number): string => {
    const bytes = archive.subarray(from, from + length), end = bytes.indexOf(0);
    return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
  };
  let longName = "";
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = parseInt(text(at + 124, 12).trim() || "0", 8), type = text(at + 156, 1), body = at + 512;
    if (type === "x") longName = /(?:^|\n)\d+ path=([^\n]*)/.exec(text(body, size))?.[1] ?? "";
    else if (type === "L") longName = text(body, size);
    else {
      const prefix = text(at + 345, 155), name = longName || (prefix && `${prefix}/`) + text(at, 100);
      if (type === "" || type === "0") files.set(name.slice(name.indexOf("/") + 1), archive.slice(body, body + size));
      longName = "";
    }
    at = body + Math.ceil(size / 512) * 512;
  }
  return files;
}
