/**
 * Hosts that say a range of lines in different ways, for the field tests.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Dialect, dialects, offsetLimit, startEnd, viewRange } from "../../mod.ts";
import type { Guarded } from "./field.ts";

/** A host's arguments. */
export type Args = Record<string, unknown>;

/** A host: its dialect, its tool, and a name. */
export interface Host {
  readonly name: string;
  readonly dialect: Dialect;
  /** The lines its tool gives for these arguments. */
  readonly lines: (args: Args, all: readonly string[]) => readonly string[];
}

const number = (value: unknown, otherwise: number): number =>
  value === undefined || value === null ? otherwise : Number(value);

/** Hosts that count lines in different ways. */
export const HOSTS: readonly Host[] = [
  {
    name: "counts from 1",
    dialect: dialects.plain,
    lines: ({ offset, limit }, all) => all.slice(Math.max(number(offset, 1), 1) - 1).slice(0, number(limit, Infinity)),
  },
  {
    name: "counts from 0",
    dialect: offsetLimit({ base: 0 }),
    lines: ({ offset, limit }, all) => all.slice(Math.max(number(offset, 0), 0)).slice(0, number(limit, Infinity)),
  },
  {
    name: "takes lines to skip",
    dialect: offsetLimit({ base: 0, offset: "skip", limit: "take" }),
    lines: ({ skip, take }, all) => all.slice(number(skip, 0)).slice(0, number(take, Infinity)),
  },
  {
    name: "takes a first and a last line",
    dialect: startEnd(),
    lines: ({ start_line, end_line }, all) =>
      all.slice(Math.max(number(start_line, 1), 1) - 1, number(end_line, Infinity)),
  },
  {
    name: "takes a view range",
    dialect: viewRange(),
    lines: ({ view_range }, all) => {
      const [start, end] = view_range as [number, number] ?? [1, -1];
      return all.slice(start - 1, Number(end) === -1 ? undefined : Number(end));
    },
  },
];

/** The text of a file, byte order mark and all: not every runtime's own reading keeps it. */
export function textOf(path: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(readFileSync(path));
}

/** A wrapped tool of a host over the files of a folder, and the arguments that reached it. */
export function toolOf(
  { dialect, lines }: Host,
  { folder, wrap }: Guarded,
): { read: (args: Args) => Promise<string>; seen: Args[] } {
  const seen: Args[] = [];
  const read = wrap((args: Args) => {
    seen.push(args);
    const text = textOf(join(folder, String(args["path"])));
    return lines(args, text.split(/(?<=\n)/)).join("");
  }, { dialect });
  return { read, seen };
}

/** The arguments in a hint, copied to the letter. */
export function follow(hint: string): Args {
  return Object.fromEntries(
    [...hint.matchAll(/(\w+): (\[[^\]]*\]|\d+)/g)].map(([, key, value]) => [key, JSON.parse(value!)]),
  );
}
