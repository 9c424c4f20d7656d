/**
 * What the cases of the suite stand on: a project in a temporary folder, calls in a host's own arguments, a plain read tool,
 * and a host that is asked with the guards, and as it is without the adapter.
 *
 * @module
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripAnnotations } from "../file_map.ts";
import type { WaymarkOptions } from "../options.ts";
import type { Session } from "../session_types.ts";
import type { ReadSpan } from "../types.ts";
import { createWaymark } from "../waymark.ts";
import type { ConformanceHost, HostCall, ReadTool, Shown } from "./types.ts";

/** How a host is asked. */
export interface Asking {
  /** The read tool. Default: one that reads the disk. */
  readonly tool?: ReadTool | undefined;
  /** Options of the guards. */
  readonly options?: WaymarkOptions | undefined;
  /** The conversation. Default: none is kept. */
  readonly session?: Session | undefined;
  /** The caller's abort. */
  readonly signal?: AbortSignal | undefined;
  /** The host as it is, without the adapter. Default false. */
  readonly isBare?: boolean | undefined;
}

/** A case at work. */
export interface World {
  /** The host. */
  readonly host: ConformanceHost;
  /** The project's folder, links resolved. */
  readonly root: string;
  /** Writes a file of the project: its absolute path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  /** Arguments for a read of a path: all of it, or a range. */
  args(path: string, span?: Pick<ReadSpan, "start" | "count">): Record<string, unknown>;
  /** One turn of a fresh conversation: what the model is shown of each call. The ids are `call_1`, `call_2` in a fresh world. */
  ask(calls: readonly Record<string, unknown>[], asking?: Asking): Promise<readonly Shown[]>;
  /** One call in a conversation of its own: what the model is shown. */
  one(args: Record<string, unknown>, asking?: Asking): Promise<Shown>;
  /** The same call with the guards, and in the host without the adapter. */
  both(args: Record<string, unknown>, asking?: Asking): Promise<{ readonly guarded: Shown; readonly bare: Shown }>;
  /** Several turns of one conversation: what the model is shown of each. */
  talk(turns: readonly (readonly Record<string, unknown>[])[], asking?: Asking): Promise<readonly (readonly Shown[])[]>;
}

/** Runs a case in a world of its own. */
export async function inWorld(host: ConformanceHost, run: (world: World) => Promise<void>): Promise<void> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "waymark-")));
  let serial = 0;
  const toCalls = (all: readonly Record<string, unknown>[]): HostCall[] =>
    all.map((args) => ({ args, callId: `call_${++serial}` }));
  const talk: World["talk"] = async (turns, { tool = diskTool(host), options, session, signal, isBare } = {}) => {
    const waymark = isBare ? undefined : createWaymark({ root, onNotice: () => {}, session, ...options });
    const open = await host.open({ waymark, root, tool, session: waymark && session });
    const shown: (readonly Shown[])[] = [];
    try {
      for (const turn of turns) {
        const calls = toCalls(turn), results = await open.turn(calls, { signal });
        assert.equal(results.length, calls.length, "the host shows one result for every call");
        shown.push(results.map((one) => ({ ...one, images: one.images ?? [] })));
      }
    } finally {
      await open.close();
      await waymark?.close();
    }
    return shown;
  };
  const ask: World["ask"] = async (calls, asking) => (await talk([calls], asking))[0]!;
  const one: World["one"] = async (args, asking) => (await ask([args], asking))[0]!;
  try {
    await writeFile(join(root, "package.json"), "{}");
    await run({
      host,
      root,
      async write(name, content) {
        await writeFile(join(root, name), content);
        return join(root, name);
      },
      args: (path, span) => argsFor(host, path, span),
      ask,
      one,
      async both(args, asking = {}) {
        return { bare: await one(args, { ...asking, isBare: true }), guarded: await one(args, asking) };
      },
      talk,
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** More lines than any file of the suite has, for hosts that give few where no number is given. */
const ALL = 100_000;

/** Arguments in the host's own names. */
function argsFor(
  host: ConformanceHost,
  path: string,
  span?: Pick<ReadSpan, "start" | "count">,
): Record<string, unknown> {
  const { dialect } = host;
  const key = ["path", "file_path", "filePath", "file"].find((key) => parsed(host, { [key]: path }) === path);
  assert.ok(key, `a path has a name that the suite knows in the dialect of ${host.name}`);
  const whole = { [key]: path, ...dialect.parse({ [key]: path }) ? {} : { command: "view" } };
  if (span) return dialect.apply(whole, { path, ...span });
  const { count = ALL } = dialect.parse(whole)!;
  return count < 1000 ? dialect.apply(whole, { path, start: 1, count: ALL }) : whole;
}

/** Whether its reads can begin at any line. Where that cannot be told, the case itself says why. */
export function hasOffset(host: ConformanceHost): boolean {
  try {
    return host.dialect.parse(argsFor(host, "/a.ts", { start: 301, count: 500 }))?.start === 301;
  } catch {
    return true;
  }
}

function parsed(host: ConformanceHost, args: Record<string, unknown>): string | undefined {
  return (host.dialect.parse(args) ?? host.dialect.parse({ ...args, command: "view" }))?.path;
}

/** A read tool over the disk, which gives the lines asked for as they are and fails as the disk does. */
export function diskTool(host: ConformanceHost): ReadTool {
  return async (args) => {
    const span = host.dialect.parse(args),
      path = span?.path ?? Object.values(args).find((value) => typeof value === "string");
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await readFile(path as string));
    return slice(text, span); // decoded here: Deno 2.3 drops a mark when it reads text
  };
}

/** The lines of a text that a call asks for; all of it where it asks for none that can be told. */
export function slice(text: string, span: Pick<ReadSpan, "start" | "count"> | undefined): string {
  if (!span) return text;
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return lines.slice(span.start - 1, span.count === undefined ? undefined : span.start - 1 + span.count).join("");
}

/** So many lines of code; the function in each bears the line's number. */
export function code(lines: number, from = 1): string {
  return Array.from({ length: lines }, (_, at) => `export function f${from + at}(a) { return a + ${from + at}; }\n`)
    .join("");
}

/** The numbers of the lines of {@linkcode code} that stand in a result, beside what Waymark adds to it. */
export function linesOf(text: string): number[] {
  return [...stripAnnotations(text).matchAll(/export function f(\d+)\(a\) \{ return a \+ \1; \}/g)].map(([, line]) =>
    Number(line)
  );
}

/** The numbers from one to another. */
export function span(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** What Waymark has added to a result: the text of its annotations. */
export function notesOf(text: string): string {
  return text.slice(text.search(/\[waymark (?:map|notice|reference|diff): /) >>> 0);
}
