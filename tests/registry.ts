/**
 * A JSR registry on loopback, for tests: serves packages from folders as JSR would, so that a program with
 * `JSR_URL` set to it resolves real `jsr:` specifiers, this package among them, without the network.
 *
 * It answers `meta.json`, `<version>_meta.json` and files; import-map names in the sources are replaced by what they stand
 * for, as publishing does. It has no module graph in its metadata, so start times over it are a little pessimistic.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "@std/path/posix/join";
import { globToRegExp } from "@std/path/posix/glob-to-regexp";

/** What the registry reads of a package's `deno.json`. */
export interface PackageConfig {
  /** Scope and name. */
  readonly name: string;
  /** Its only version. */
  readonly version: string;
  /** Entries by subpath, or the one. */
  readonly exports: string | Record<string, string>;
  /** The import map. */
  readonly imports?: Record<string, string>;
  /** What is published. */
  readonly publish?: { readonly include?: readonly string[] };
}

/** A running registry. */
export interface Registry {
  /** For `JSR_URL`; ends with a slash. */
  readonly url: string;
  /** Paths asked for so far, in order. */
  readonly requests: string[];
  /** Stops it. */
  close(): Promise<void>;
}

const skipped = new Set([
  "node_modules",
  ".git",
  "sqlite",
  "bench",
  "test",
  "tests",
  "testdata",
  "scripts",
  "examples",
]);
const served = /\.(ts|js|mjs|json|wasm)$/;
const code = /\.(ts|js|mjs)$/;

/** The config of the package in a folder. */
export function packageConfig(folder: string): PackageConfig {
  return JSON.parse(readFileSync(join(folder, "deno.json"), "utf8"));
}

/** The files a package publishes, as `/path`. */
export function publishedFiles(folder: string): string[] {
  const include = packageConfig(folder).publish?.include?.map((glob) => globToRegExp(`/${glob}`));
  const found: string[] = [];
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const file = `${path}/${entry.name}`;
      if (entry.isDirectory() && !skipped.has(entry.name)) walk(file);
      if (!entry.isFile() || /_test\.ts$/.test(entry.name)) continue;
      if (include ? include.some((glob) => glob.test(file)) : served.test(entry.name)) found.push(file);
    }
  };
  walk("");
  return found.sort();
}

/** A published file: names of the import map in it stand for themselves no more. */
export function publishedFile(folder: string, file: string, imports: Record<string, string>): Uint8Array {
  const bytes = readFileSync(join(folder, file));
  if (!code.test(file)) return bytes;
  return new TextEncoder().encode(unfurl(bytes.toString("utf8"), imports));
}

/** The source with the names of an import map replaced by what they stand for, in imports and exports only. */
export function unfurl(source: string, imports: Record<string, string>): string {
  const specifiers = /^(import\s*|(?:import|export)\s[^;"'`=]*?\bfrom\s*|.*?\bimport\(\s*)(["'])([^"'\n]+)\2/gm;
  return source.replace(specifiers, (all, before: string, quote: string, specifier: string) => {
    const key = Object.keys(imports).filter((name) => specifier === name || specifier.startsWith(`${name}/`))
      .sort((one, other) => other.length - one.length)[0];
    const mapped = key === undefined ? undefined : imports[key];
    return mapped === undefined ? all : `${before}${quote}${mapped}${specifier.slice(key?.length)}${quote}`;
  });
}

/** Serves the packages in these folders. Checkouts of a workspace name each other without a map: they are told too. */
export async function startRegistry(folders: readonly string[]): Promise<Registry> {
  const packages = new Map(folders.map((folder) => [packageConfig(folder).name, folder]));
  const workspace = Object.fromEntries(
    [...packages].filter(([name]) => name.startsWith("@std/"))
      .map(([name, folder]) => [name, `jsr:${name}@^${packageConfig(folder).version}`]),
  );
  const requests: string[] = [];

  const answer = (path: string): [type: string, body: string | Uint8Array] | undefined => {
    const [, name = "", rest = ""] = /^\/(@[^/]+\/[^/]+)\/(.+)$/.exec(path) ?? [];
    const folder = packages.get(name);
    if (folder === undefined) return undefined;
    const { version, exports, imports } = packageConfig(folder);
    const map = name.startsWith("@std/") ? { ...workspace, ...imports } : imports ?? {};
    if (rest === "meta.json") {
      const [scope = "", short = ""] = name.slice(1).split("/");
      return ["application/json", JSON.stringify({ scope, name: short, latest: version, versions: { [version]: {} } })];
    }
    if (rest === `${version}_meta.json`) {
      const manifest = Object.fromEntries(
        publishedFiles(folder).map((file) => {
          const bytes = publishedFile(folder, file, map);
          const checksum = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
          return [file, { size: bytes.length, checksum }];
        }),
      );
      const entries = typeof exports === "string" ? { ".": exports } : exports;
      return ["application/json", JSON.stringify({ manifest, exports: entries })];
    }
    const file = rest.slice(version.length);
    if (!rest.startsWith(`${version}/`) || !publishedFiles(folder).includes(file)) return undefined;
    const type = file.endsWith(".ts")
      ? "text/typescript"
      : file.endsWith(".json")
      ? "application/json"
      : "text/javascript";
    return [type, publishedFile(folder, file, map)];
  };

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "");
    requests.push(path);
    const found = answer(path);
    response.statusCode = found ? 200 : 404;
    if (found) response.setHeader("content-type", found[0]);
    response.end(found?.[1]);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
