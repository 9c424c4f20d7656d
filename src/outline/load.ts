/**
 * The engine and its grammars: web-tree-sitter once per process, each language at its first use.
 *
 * Promised: nothing is loaded before it is asked for; on Deno nothing prompts; what cannot be loaded is `undefined`, not an
 * error. Absent: downloads. The packages come with whoever imports this, or the grammars from a function of theirs.
 *
 * @module
 */

import type { Language, Parser } from "web-tree-sitter";
import { disk } from "../files.ts";

/** The engine, and where it lies. */
export interface Engine {
  readonly Parser: typeof Parser;
  readonly Language: typeof Language;
  /** Folder of the engine, with its separator. */
  readonly folder: string;
}

/** Gives a grammar's bytes, or nothing where it has none. */
export type GrammarSource = (language: string) => Uint8Array | undefined | Promise<Uint8Array | undefined>;

const PACKAGE = "@cursorless/tree-sitter-wasms";

/** What of the runtime tells which JavaScript engine it is. */
const host = globalThis as {
  Deno?: { version?: { v8?: string } };
  Bun?: unknown;
  process?: { versions?: { v8?: string } };
};

let engine: Promise<Engine | undefined> | undefined, isBroken = false;
const languages = new Map<string, Promise<Language | undefined>>();

/** Notes that the engine failed in the middle of its work: its memory cannot be trusted any more, in this process. */
export function distrustEngine(): void {
  isBroken = true;
}

/** The engine; `undefined` where it cannot be had. A later call tries again. */
export async function loadEngine(): Promise<Engine | undefined> {
  if (isBroken) return undefined;
  const found = await (engine ??= startEngine());
  if (!found) engine = undefined;
  return found;
}

async function startEngine(): Promise<Engine | undefined> {
  try {
    // A literal specifier, so that the grammars are in Deno's graph and on the disk; what it gives is of no use.
    if (host.Deno) await import("@cursorless/tree-sitter-wasms/package.json", { with: { type: "json" } });
    const { Parser, Language } = await import("web-tree-sitter");
    let folder = "";
    await Parser.init({
      locateFile(name: string, directory: string) {
        const path = toPath(directory);
        if (!disk().mayRead(path + name)) throw new Error("no permission to read the engine");
        folder = path;
        return directory + name;
      },
    });
    return { Parser, Language, folder };
  } catch {
    return undefined;
  }
}

/** A language of the package, loaded once per process; `undefined` where it cannot be had. */
export async function loadLanguage(grammar: string): Promise<Language | undefined> {
  const known = languages.get(grammar);
  if (known) return await known;
  const loading = findLanguage(grammar);
  languages.set(grammar, loading);
  const found = await loading;
  if (!found) languages.delete(grammar);
  return found;
}

async function findLanguage(grammar: string): Promise<Language | undefined> {
  const started = await loadEngine();
  if (!started) return undefined;
  const name = `${PACKAGE}/out/tree-sitter-${grammar}.wasm`;
  const { createRequire } = await import("node:module");
  const places = [
    () => createRequire(`${started.folder}x.js`).resolve(name), // beside the engine: every layout but npm's linked one
    () => toPath(import.meta.resolve(name)),
  ];
  for (const place of places) {
    try {
      return await started.Language.load(disk().readBytes(place()));
    } catch {
      // the next place
    }
  }
  return undefined;
}

/** A language from bytes of the host's. */
export async function languageFrom(source: GrammarSource, grammar: string): Promise<Language | undefined> {
  const bytes = await source(grammar), started = bytes && await loadEngine();
  return started && bytes && await started.Language.load(bytes);
}

function toPath(place: string): string {
  if (!place.startsWith("file:")) return place;
  const path = decodeURIComponent(new URL(place).pathname);
  return /^\/[A-Za-z]:/.test(path) ? path.slice(1) : path;
}

/** Grammars that made V8 take gigabytes, or abort, in the versions between these two (Node 23 to 25). */
const HAZARDS: ReadonlySet<string> = new Set(["swift", "bash"]);
const HAZARD_AFTER = [12, 4], HAZARD_BEFORE = [14, 6];

/** Whether a grammar is better not loaded on this runtime. */
export function isHazard(grammar: string, v8: string | undefined = v8Version()): boolean {
  const [major = 0, minor = 0] = (v8 ?? "").split(".").map(Number);
  const version = major * 1000 + minor,
    [after, before] = [HAZARD_AFTER, HAZARD_BEFORE].map(([a = 0, b = 0]) => a * 1000 + b);
  return v8 !== undefined && HAZARDS.has(grammar) && version > after! && version < before!;
}

/** The version of V8; `undefined` where another engine runs. Bun names one and has none. */
function v8Version(): string | undefined {
  if (host.Deno) return host.Deno.version?.v8;
  return host.Bun ? undefined : host.process?.versions?.v8;
}
