/**
 * Whether a host that tells of its tools bit by bit has a read tool at all, for adapters that are not given them at once.
 *
 * Promised: it is said once that there is none, where {@linkcode wrapTools} says it and in its words, and never once a read
 * tool was met; nothing here throws.
 *
 * @module
 */

import { attempting } from "./errors.ts";
import { countLines } from "./lines.ts";
import type { Codec, Dialect } from "./types.ts";
import type { WrapToolsOptions } from "./wrap_types.ts";

/** The read tools of a host, as they are met. */
export interface ReadToolWatch {
  /** Nothing is left to be said. */
  readonly settled: boolean;
  /** A tool is there: whether it is a read tool. */
  meet(name: unknown): boolean;
  /** All tools were met: says so where none of them is a read tool. */
  close(): void;
  /** Another tool was called: says so where it has read a long file, and no read tool was met. */
  look(args: unknown, result: unknown): void;
}

/** The read tools that are looked for. */
export interface SoughtTools {
  /** Their names; with none, there is nothing to say. */
  readonly names: Iterable<string>;
  /** How their arguments say a read. */
  // deno-lint-ignore no-explicit-any -- a dialect is generic in the host's arguments
  readonly dialect: Dialect<any>;
  /** How their results carry text and failure. */
  // deno-lint-ignore no-explicit-any -- a codec is generic in the host's result
  readonly codec: Codec<any>;
}

/** More lines than a folder's listing or a search by a file's name gives by chance. */
const MANY_LINES = 200;

/** A file's name, not a folder's. */
const FILE = /[^./\\]\.\w+$/;

/** Watches for the read tools of a host. */
export function watchReadTools(
  waymark: { wrapTools(registry: object, options: WrapToolsOptions): unknown },
  { names, dialect, codec }: SoughtTools,
): ReadToolWatch {
  const sought = new Set<unknown>(names), attempt = attempting();
  let settled = !sought.size;
  const close = (): void => {
    if (settled) return;
    settled = true;
    // Asked of no tools, so that it is said where everything else is said.
    attempt(() => waymark.wrapTools([], { names: [...sought] as string[] }));
  };
  return {
    get settled() {
      return settled;
    },
    meet(name) {
      const isSought = sought.has(name);
      settled ||= isSought;
      return isSought;
    },
    close,
    look(args, result) {
      if (settled) return;
      const isLong = attempt(() => {
        // A path and numbers: with a pattern, or a text to write, it is another tool.
        const words = Object.values(Object(args)).filter((value) => value != null && typeof value !== "number");
        if (words.length !== 1 || !FILE.test(dialect.parse(args)?.path ?? "") || codec.failed?.(result)) return false;
        return countLines(codec.text(result) ?? "") > MANY_LINES;
      });
      if (isLong) close();
    },
  };
}
