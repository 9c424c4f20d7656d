/**
 * What the source says of itself, for the tests that hold rules: imports, exports and code without comments. Reads text,
 * runs nothing, works on every runtime. Understands the plain forms this project uses and no others.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "@std/path/posix/join";

/** The project's folder. */
export const root: string = fileURLToPath(new URL("../", import.meta.url));

/** One import or re-export. */
export interface Edge {
  /** `value` is followed at run time, `dynamic` is in the graph too, `type` costs nothing. */
  readonly kind: "value" | "dynamic" | "type";
  /** What is imported, as written. */
  readonly specifier: string;
}

/** A file of the project, as text. */
export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Whether a file of the project exists. */
export function exists(path: string): boolean {
  return existsSync(join(root, path));
}

/** All files under a folder with one of these endings, sorted, relative to the project's folder. */
export function listFiles(folder: string, endings: readonly string[] = [".ts"]): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...listFiles(path, endings));
    else if (endings.some((ending) => entry.name.endsWith(ending))) found.push(path);
  }
  return found.sort();
}

/** The source with comments blanked out, and the text of strings too if wanted; line numbers stay. */
export function codeOnly(source: string, { strings = true } = {}): string {
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|(?<=[(,=:[!&|?{};\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
  return source.replace(token, (found) => {
    if (found.startsWith("/*") || found.startsWith("//")) return found.replace(/[^\n]/g, " ");
    if (strings || found.includes("${")) return found;
    return found.charAt(0) + found.slice(1, -1).replace(/[^\n]/g, " ") + found.charAt(found.length - 1);
  });
}

/** Everything a source imports or re-exports. */
export function edgesOf(source: string): Edge[] {
  const code = codeOnly(source);
  const edges: Edge[] = [];
  const statements = /^(?:import|export)\s+(type\s+)?(?:[\w*{][^;"']*?\sfrom\s*)?(["'])([^"'\n]+)\2/gm;
  for (const [, type, , specifier = ""] of code.matchAll(statements)) {
    edges.push({ kind: type ? "type" : "value", specifier });
  }
  for (const [, , specifier = ""] of code.matchAll(/\bimport\(\s*(["'])([^"'\n]+)\1/g)) {
    // `typeof import("x")` and `import("x").Name` in a type are erased; this project writes neither in a value's place.
    edges.push({ kind: "dynamic", specifier });
  }
  return edges;
}

/** Where a relative import of a file leads, relative to the project's folder; `undefined` for any other import. */
export function target(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? join(from, "..", specifier) : undefined;
}

/**
 * What a program reaches that imports a file, over edges of these kinds: files of the project, and names of anything else
 * by the way they are imported.
 */
export function graphOf(
  entry: string,
  kinds: readonly Edge["kind"][] = ["value", "dynamic"],
): { files: Set<string>; packages: Map<string, Edge["kind"]> } {
  const files = new Set<string>();
  const packages = new Map<string, Edge["kind"]>();
  const visit = (file: string): void => {
    if (files.has(file) || !exists(file)) return;
    files.add(file);
    for (const { kind, specifier } of edgesOf(readText(file))) {
      if (!kinds.includes(kind)) continue;
      const next = target(file, specifier);
      if (next !== undefined) visit(next);
      else if (packages.get(specifier) !== "value") packages.set(specifier, kind);
    }
  };
  visit(entry);
  return { files, packages };
}

/** The names a source exports by itself, sorted; star exports are not among them. */
export function namesIn(source: string): string[] {
  const code = codeOnly(source);
  const names = new Set<string>();
  const declarations =
    /^export\s+(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:const|let|function\*?|class|interface|type)\s+([\w$]+)/gm;
  for (const [, name = ""] of code.matchAll(declarations)) names.add(name);
  for (const [, list = ""] of code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)) {
    for (const item of list.split(",")) {
      const name = item.trim().replace(/^type\s+/, "").split(/\s+as\s+/).pop();
      if (name) names.add(name);
    }
  }
  return [...names].sort();
}

/** The names a file of the project exports, sorted, those behind star exports too. */
export function exportedNames(file: string): string[] {
  const source = readText(file);
  const stars = codeOnly(source).matchAll(/^export\s+(?:type\s+)?\*\s+from\s+["']([^"']+)["']/gm);
  const behind = [...stars].flatMap(([, specifier = ""]) => exportedNames(target(file, specifier) ?? specifier));
  return [...new Set([...namesIn(source), ...behind])].sort();
}
