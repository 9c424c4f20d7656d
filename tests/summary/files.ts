/**
 * Source files for the tests of the model path, and a context that counts what is spent.
 *
 * @module
 */

import type { SourceFile, SummarizerContext } from "../../src/types.ts";

/** A file as the library would hand it to a summarizer. */
export function sourceFile(text: string, path = "src/shapes.ts"): SourceFile {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return { path, text, lines, hash: "0".repeat(64), size: new TextEncoder().encode(text).length };
}

/** So many lines of TypeScript; every tenth, from the first, declares a function. */
export function codeFile(lines: number, path?: string): SourceFile {
  const text = Array.from(
    { length: lines },
    (_, index) => index % 10 === 0 ? `export function shape${index / 10}(a: number): number {` : `  a += ${index};`,
  );
  return sourceFile(text.join("\n") + "\n", path);
}

/** A context, and what was asked of it. */
export interface SpyContext extends SummarizerContext {
  /** For each request, the problems it was to mend; undefined for the first. */
  readonly spent: (readonly string[] | undefined)[];
}

/** A context that lets everything through and remembers it. */
export function spyContext(signal: AbortSignal = new AbortController().signal): SpyContext {
  const spent: (readonly string[] | undefined)[] = [];
  return { signal, spent, spend: (problems) => void spent.push(problems) };
}

/** An answer with two regions. */
export const GOOD = JSON.stringify({
  prose: "Computes shapes.",
  regions: [
    { start: 1, end: 10, kind: "function", name: "shape0", note: "called first" },
    { start: 11, end: 20, kind: "function", name: "shape1", note: "called by shape0" },
  ],
});
