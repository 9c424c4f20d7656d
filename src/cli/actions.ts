/**
 * What each command does: from its arguments to what is printed.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { renderMap } from "../file_map.ts";
import { disk } from "../files.ts";
import { toDiskPath } from "../paths.ts";
import { createProject } from "../project.ts";
import type { Waymark, WaymarkOptions } from "../options.ts";
import { sayLookup } from "../summarize_file.ts";
import type { Lookup } from "../summarize_file_types.ts";
import { readLedger } from "../tool_use/load.ts";
import type { DigestRow } from "../tool_use/types.ts";
import { linesCodec, readLines } from "./plain_reader.ts";

/** Options of all commands. */
export interface Options {
  readonly root?: string;
  readonly model?: string | boolean;
  readonly maxLines?: number;
  readonly offset?: number;
  readonly limit?: number;
  readonly session?: string;
  readonly refresh?: true;
  readonly json?: true;
}

/** What a command works with. */
export interface Call {
  readonly options: Options;
  readonly path: string;
  readonly line: number;
  readonly waymark: Waymark;
  /** Tells a person something, in one line. */
  readonly tell: (problem: unknown) => void;
  /** Whether the map came from the cache. */
  readonly isHit: () => boolean;
}

/** What it prints. */
export type Output = readonly (string | Uint8Array)[];

/** A guarded read. */
export async function read({ options, path, waymark }: Call): Promise<Output> {
  const { offset, limit, json } = options;
  const { content, bytes, annotation } = await waymark.wrap(readLines, { codec: linesCodec })({
    path,
    offset,
    limit,
  });
  if (json) return [toJson({ content, annotation: annotation ?? null })];
  if (!annotation) return [bytes];
  const gap = content === "" ? "" : content.endsWith("\n") ? "\n" : "\n\n";
  return [bytes, gap, annotation.text, "\n"];
}

/** The map of a file, kept or made. */
export async function map({ options, path, waymark, isHit }: Call): Promise<Output> {
  const { refresh = false, json } = options;
  const found = await waymark.summarize(path, { refresh }), hit = isHit();
  if (json) return [toJson({ path, hit, ...found })];
  const { calls, input, output, cacheRead, cacheWrite, ms } = found.usage;
  const tokens = calls ? `, ${input + cacheRead + cacheWrite} tokens in, ${output} out` : "";
  const cost = hit
    ? "from the cache: 0 model calls"
    : `made in ${Math.round(ms)} ms: ${counted(calls, "model call")}${tokens}`;
  return [`${renderMap(found)}\n\n(${cost})\n`];
}

/** What is at a line. */
export async function at({ options, path, line, waymark }: Call): Promise<Output> {
  const found = await waymark.lookup(path, line);
  if (options.json) return [toJson(found)];
  return [`${sayLookup(line, found)}${nextOf(line, found)}\n`];
}

/** What to do where little is known of a line. */
function nextOf(line: number, found: Lookup): string {
  if (found.status === "prose-only" && line <= found.lines) return "; the command map prints it";
  if (found.status !== "stale" && found.status !== "absent") return "";
  const isLost = found.status === "absent" && found.kept !== "disk"; // with the process that made it
  return isLost
    ? ", nor can one be in .summaries/: the command map makes one and prints it"
    : "; make one with the command map";
}

/** What the cache holds, which is what is left of a process that has ended. */
export async function stats({ options, tell }: Call): Promise<Output> {
  const onEvent: WaymarkOptions["onEvent"] = (event) => {
    if (event.type === "cache" && event.what !== "opened") tell(event);
  };
  const project = createProject({ ...locateRoot(options), onEvent });
  try {
    const cache = await project.cache(), { kind, file = null, driver = null } = cache;
    const sizes = ["", "-wal", "-shm"].map((side) =>
      file && disk().exists(file + side) ? disk().stat(file + side).size : 0
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0), entries = cache.count(), makers = cache.makers();
    if (options.json) return [toJson({ kind, entries, makers, file, bytes, driver })];
    if (!file) return ["no maps: there is no cache on disk\n"];
    const by = Object.entries(makers).map(([maker, number]) => `${number} by ${maker}`).join(", ");
    return [
      `maps    ${entries}${by && ` (${by})`}\nfile    ${file}, ${Math.ceil(bytes / 1024)} KiB\ndriver  ${driver}\n`,
    ];
  } finally {
    await project.close();
  }
}

/** What the ledger of a session holds: the digests of its tool results, and what became of the others. */
export async function digests({ options, path: session, tell }: Call): Promise<Output> {
  const { root } = createProject({ ...locateRoot(options), cache: false }), rows: DigestRow[] = [];
  let unread = 0;
  for await (const row of readLedger(root(), session)) row ? rows.push(row) : unread++;
  if (unread) tell(`${counted(unread, "line")} of the ledger cannot be read`);
  if (options.json) return [toJson({ session, rows, unread })];
  if (!rows.length) return [`no digests of ${session} are kept\n`];
  return rows.map(({ callId, tool, resultBytes, status, skipReason, reason, summary }) =>
    `${callId}  ${tool}  ${resultBytes} bytes  ${
      summary ?? [status, skipReason ?? reason].filter(Boolean).join(": ")
    }\n`
  );
}

/** Drops the maps of a file. */
export async function forget({ path, waymark }: Call): Promise<Output> {
  return [`dropped ${counted(await waymark.forget(path), "map")} of ${path}\n`];
}

/** Drops the maps of files that are gone. */
export async function prune({ waymark }: Call): Promise<Output> {
  return [`dropped the maps of ${counted(await waymark.prune(), "file")} that are gone\n`];
}

/** The project's root where one is given, which must be a folder: a misspelt one would quietly cache nothing. */
export function locateRoot({ root }: Options): Pick<WaymarkOptions, "root"> {
  if (root === undefined) return {};
  const path = toDiskPath(root, disk().cwd());
  let isDirectory = false;
  try {
    if (path !== undefined) ({ isDirectory } = disk().stat(path));
  } catch (error) {
    if (error instanceof WaymarkError) throw error;
  }
  if (!isDirectory) throw new WaymarkError("invalid-option", `Cannot use --root ${root}: it is not a folder`);
  return { root };
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** One line for every reader of lines, those that break at U+2028 among them. */
function toJson(value: unknown): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, escaped)}\n`;
}
