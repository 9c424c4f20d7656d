/**
 * The samples in `tests/testdata/languages` and how an outline of them is written down.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "@std/path/posix/join";
import { countLines } from "../../src/lines.ts";
import { scan as scanInSteps } from "../../src/summary/scan.ts";
import type { Region, SourceFile } from "../../src/types.ts";

const folder = fileURLToPath(new URL("../testdata/languages/", import.meta.url));

/** One sample. */
export interface Sample {
  /** Its file name, without the ending that keeps other tools off it. */
  readonly name: string;
  readonly text: string;
}

/** All samples, by name. */
export function samples(): Sample[] {
  return readdirSync(folder).filter((file) => file.endsWith(".txt")).sort().map((file) => ({
    name: file.replace(/\.txt$/, ""),
    text: readFileSync(join(folder, file), "utf8"),
  }));
}

/** What is written down for a sample: `outline` or `scanner` by parser; `undefined` where nothing is. */
export function golden(name: string, parser: "outline" | "scanner"): string | undefined {
  const text = readFileSync(join(folder, `${parser}.golden`), "utf8");
  return text.split(/^== /m).find((part) => part.startsWith(`${name}\n`))?.slice(name.length + 1);
}

/** What work in steps gives, with all of them at once. */
export function atOnce<Value>(steps: Generator<void, Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** What the line scanner finds in a text. */
export function scan(text: string, extension: string): Region[] {
  return atOnce(scanInSteps(text, extension));
}

/** A text as a file that was read. */
export function sourceOf(path: string, text: string): SourceFile {
  return { path, text, lines: countLines(text), hash: `hash of ${path}`, size: text.length };
}

/** Regions as lines: indented by what they are in, then range, kind, name and note. */
export function written(regions: readonly Region[]): string {
  const open: number[] = [];
  return regions.map(({ start, end, kind, name, note }) => {
    while (open.length && open[open.length - 1]! < end) open.pop();
    open.push(end);
    return `${"  ".repeat(open.length - 1)}${start}-${end} ${kind} ${name}${note && ` | ${note}`}\n`;
  }).join("");
}
