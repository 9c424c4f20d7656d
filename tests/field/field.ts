/**
 * What the field tests share: the whole guard around a real read tool on real files, what it said taken apart, and programs
 * run in processes of their own.
 *
 * @module
 */

import { assert, assertStringIncludes } from "@std/assert";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import {
  createWaymark,
  type Notice,
  stripAnnotations,
  type ToolFunction,
  type Waymark,
  type WaymarkEvent,
  type WaymarkOptions,
  type WrapOptions,
} from "../../mod.ts";
import { anthropic } from "../../src/providers/anthropic.ts";
import { type ScriptedModel, scriptedModel } from "../../src/testing.ts";
import { type MessagesApi, type MessagesApiOptions, startMessagesApi } from "../messages_api.ts";
import { inFolder, type PlainArguments, plainTool } from "../support.ts";

/** The longest any of these tests may take: a hang is a failure. */
export const LIMIT = { timeout: 60_000 } as const;
/** The same for tests that start many processes. */
export const LONG = { timeout: 180_000 } as const;

/** An instance over a folder and a plain read tool in it, and everything they said. */
export interface Guarded {
  readonly folder: string;
  readonly waymark: Waymark;
  /** The wrapped plain tool. */
  readonly read: (args: unknown, info?: unknown) => Promise<string>;
  /** What reached the plain tool. */
  readonly calls: readonly PlainArguments[];
  /** The scripted model, with its calls. */
  readonly model: ScriptedModel;
  readonly events: readonly WaymarkEvent[];
  readonly notices: readonly Notice[];
  /** Wraps another tool over the same folder. */
  // deno-lint-ignore no-explicit-any -- results are as different as hosts
  wrap(tool: ToolFunction, options?: WrapOptions): (...args: any[]) => Promise<any>;
}

/** How {@linkcode guarding} is set up: options of the instance, and the model behind the maps. */
export interface GuardedOptions extends Omit<WaymarkOptions, "model"> {
  /** Default: one that makes true maps. `undefined` given: none, a parser makes them. */
  readonly model?: WaymarkOptions["model"];
}

/** Runs an action with the whole guard over a fresh folder, closed and removed afterwards. */
export function guarding<Value>(
  action: (guarded: Guarded) => Promise<Value> | Value,
  options: GuardedOptions = {},
): Promise<Value> {
  return inFolder((folder) => guardingIn(folder, action, options));
}

/** The same over a folder that is there. */
export async function guardingIn<Value>(
  folder: string,
  action: (guarded: Guarded) => Promise<Value> | Value,
  options: GuardedOptions = {},
): Promise<Value> {
  const model = scriptedModel(), events: WaymarkEvent[] = [], notices: Notice[] = [];
  const waymark = createWaymark({
    root: folder,
    model,
    sqlite: "node:sqlite",
    onEvent: (event) => events.push(event),
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  const tool = plainTool(folder), alive = setInterval(() => {}, 1_000); // what waits for a mute model keeps no process alive
  const wrap: Guarded["wrap"] = (other, wrapOptions = {}) =>
    waymark.wrap(other, { facts: (info?: unknown) => ({ cwd: folder, ...(info as object) }), ...wrapOptions }) as never;
  try {
    return await action({ folder, waymark, read: wrap(tool.read), calls: tool.calls, model, events, notices, wrap });
  } finally {
    clearInterval(alive);
    await waymark.close();
  }
}

/** The same with Claude as the model, over a Messages API on this machine that answers from a script. */
export function asking<Value>(
  replies: MessagesApiOptions["replies"],
  action: (guarded: Guarded & { readonly api: MessagesApi }) => Promise<Value> | Value,
  options: Omit<GuardedOptions, "model"> = {},
): Promise<Value> {
  return inFolder((folder) => askingIn(folder, replies, action, options));
}

/** The same over a folder that is there. */
export async function askingIn<Value>(
  folder: string,
  replies: MessagesApiOptions["replies"],
  action: (guarded: Guarded & { readonly api: MessagesApi }) => Promise<Value> | Value,
  options: Omit<GuardedOptions, "model"> = {},
): Promise<Value> {
  const api = await startMessagesApi({ replies });
  try {
    const model = anthropic({ apiKey: api.key, baseURL: api.url });
    return await guardingIn(folder, (guarded) => action({ ...guarded, api }), { ...options, model });
  } finally {
    await api.close();
  }
}

/** One row of a map as the model reads it. */
export interface MapRow {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
  readonly name: string;
  readonly note: string;
}

/** The rows of the map in a result. */
export function rowsOf(text: string): MapRow[] {
  return text.slice(stripAnnotations(text).length).split("\n").flatMap((line) => {
    const [, start, end, rest = ""] = /^ *(\d+)-(\d+) {2}(.*)$/.exec(line) ?? [];
    const [kind = "", name = "", ...note] = rest.split("  ");
    return start === undefined ? [] : [{ start: Number(start), end: Number(end), kind, name, note: note.join("  ") }];
  });
}

/** The content of a result, without what Waymark added. */
export function contentOf(text: string): string {
  return stripAnnotations(text);
}

/** How many lines a person counts. */
export function linesOf(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/**
 * That a result is the first lines of a file and its true map: the very characters of lines `start` to `start + 199`, the
 * right total, every row inside the file, and every name in the line that its row begins with.
 */
export function assertCapped(result: string, file: string, start = 1, words = "are shown"): void {
  const lines = file.split(/(?<=\n)/), total = linesOf(file);
  const content = contentOf(result), expected = lines.slice(start - 1, start + 199).join("");
  assert(content === expected, `the content is that of lines ${start}-${start + 199}, character by character`);
  assertStringIncludes(result, `[waymark map: PARTIAL, lines ${start}-${start + 199} of ${total} ${words}`);
  assertTrueRows(result, file);
}

/** That every row of the map in a result lies in the file and begins in the line that holds its name. */
export function assertTrueRows(result: string, file: string): void {
  const lines = file.split("\n"), total = linesOf(file), rows = rowsOf(result);
  assert(rows.length > 0, "the map has rows");
  for (const { start, end, name } of rows) {
    assert(1 <= start && start <= end && end <= total, `${start}-${end} lies within 1-${total}`);
    assert(lines[start - 1]!.includes(name.replace(/…$/, "")), `line ${start} holds ${name}`);
  }
}

/** What the database of a folder holds; whoever used it has closed it. */
export function entriesIn(folder: string): { path: string; hash: string; lines: number; regions: number }[] {
  const database = new DatabaseSync(join(folder, ".summaries/summaries.db"), { readOnly: true });
  try {
    return database.prepare("select path, hash, lines, regions from entries order by id").all() as never;
  } finally {
    database.close();
  }
}

/** Tries something with a database of its own. */
function trying(action: (file: string) => boolean): boolean {
  const folder = mkdtempSync(join(tmpdir(), "waymark-")), file = join(folder, "a.db");
  try {
    return action(file);
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why closing a database is no end to it here; false where it is. Old runtimes wait for the garbage collector. */
export const keepsOpen: string | false = trying((file) => {
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; create table t(x)");
  database.prepare("select x from t").all();
  database.close();
  return existsSync(`${file}-wal`);
}) && "this runtime's node:sqlite keeps a closed database open until its statements are collected";

/** Whether a WAL database on a disk that cannot be written can be read here. */
export const readsByAddress: boolean = trying((file) => {
  const database = new DatabaseSync(file);
  database.exec("create table t(x)");
  database.close();
  const still = new DatabaseSync(`file:${file}?immutable=1`);
  const { n } = still.prepare("select count(*) as n from sqlite_master").get() as { n: number };
  still.close();
  return n === 1;
});

/** How a program ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program is run. */
export interface RunOptions {
  readonly cwd?: string | undefined;
  readonly env?: Record<string, string | undefined> | undefined;
  /** What the script finds in `process.argv.slice(2)`. */
  readonly args?: readonly string[];
  /** Runs it under another program: `["setpriv", …]`. */
  readonly under?: readonly string[];
  /** Deno's permissions. Default: all. */
  readonly permissions?: readonly string[];
  /** Without this checkout's packages from npm, which another user may not be able to reach. */
  readonly bare?: boolean;
  /** It is killed after so many milliseconds, and that is a failure of whoever waits. Default 50,000. */
  readonly killAfterMs?: number;
  /** Given the means to end it. */
  readonly onStart?: (kill: () => void) => void;
  /** Told what it writes, and may end it. */
  readonly onOutput?: (text: string, kill: () => void) => void;
}

/** This checkout. */
export const ROOT: string = join(import.meta.dirname!, "../..");
/** Deno's own part of the globals; absent elsewhere. */
export const onDeno: { version: { deno: string } } | undefined =
  (globalThis as { Deno?: { version: { deno: string } } }).Deno;

/** The command that runs a script, wherever it lies, with this runtime and as the suite itself is run. */
export function command(script: string, { permissions = ["-A"], bare = false }: RunOptions = {}): string[] {
  if (onDeno && bare) return [process.execPath, "run", ...permissions, "--no-check", "--no-config", script];
  if (onDeno) {
    const floor = join(ROOT, "deno.floor.json"); // written by the launcher for a Deno that needs it
    const config = olderThan(onDeno.version.deno, 2, 3, 6) && existsSync(floor)
      ? floor
      : join(ROOT, process.env["WAYMARK_CONFIG"] ?? "deno.offline.json");
    return [process.execPath, "run", ...permissions, "--no-check", "--no-lock", "--config", config, script];
  }
  if ("Bun" in globalThis) return [process.execPath, `--tsconfig-override=${join(ROOT, "tsconfig.json")}`, script];
  const types = olderThan(process.versions.node, 23, 6, 0)
    ? ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"]
    : [];
  return [process.execPath, ...types, "--import", join(ROOT, "tests/node_hooks.mjs"), script];
}

function olderThan(version: string, ...wanted: readonly number[]): boolean {
  const parts = version.split(".").map(Number), at = wanted.findIndex((number, index) => number !== parts[index]);
  return at >= 0 && parts[at]! < wanted[at]!;
}

/** Runs a script in a process of its own. Rejects where it had to be killed. */
export function run(script: string, options: RunOptions = {}): Promise<Ended> {
  const { cwd, env, args = [], under = [], killAfterMs = 50_000, onStart, onOutput } = options;
  const [program, ...rest] = [...under, ...command(script, options), ...args] as [string, ...string[]];
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    const kill = (): void => void child.kill("SIGKILL");
    onStart?.(kill);
    const late = setTimeout(() => {
      kill();
      reject(new Error(`it hung: killed after ${killAfterMs} ms\n${output.stdout}\n${output.stderr}`));
    }, killAfterMs);
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
        onOutput?.(output.stdout, kill);
      });
    }
    child.on("error", (error) => (clearTimeout(late), reject(error)));
    child.on("close", (code, signal) => {
      clearTimeout(late);
      resolve({ code, signal, ...output });
    });
  });
}

/** Runs a program as a user without rights, in a folder that is opened to all for it. */
export function runAsNobody(script: string, folder: string, options: RunOptions = {}): Promise<Ended> {
  const under = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  const home = join(folder, "home-of-nobody");
  mkdirSync(home, { recursive: true });
  for (const path of [folder, home]) chmodSync(path, 0o777);
  return run(script, { under, bare: true, ...options, env: { HOME: home, DENO_DIR: home, ...options.env } });
}

/** Why no other user can be played here; false where one can. */
export const noOtherUser: string | false = (() => {
  if (process.getuid?.() !== 0) return "only root can play another user";
  const under = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, "--version"];
  const { status } = spawnSync("setpriv", under, { stdio: "ignore" });
  const reads = spawnSync("setpriv", [...under.slice(0, 3), "cat", join(ROOT, "mod.ts")], { stdio: "ignore" });
  return status === 0 && reads.status === 0 ? false : "another user cannot run this runtime or read this checkout";
})();

/** The last line a program wrote, as JSON; throws with all it wrote where it failed. */
export function answerOf<Value>({ code, stdout, stderr }: Ended): Value {
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  if (code !== 0) throw new Error(`it ended with ${code}\n${stdout}\n${stderr}`);
  return JSON.parse(last) as Value;
}

/**
 * The beginning of a script that guards a plain tool, in a process of its own: `waymark`, `read`, `model`, `events`,
 * `notices` over the folder in its first argument.
 */
export function prelude(options = "", root = ROOT): string {
  return `
    import { readFileSync } from "node:fs";
    import { resolve } from "node:path";
    import process from "node:process";
    import { createWaymark } from ${JSON.stringify(`${root}/mod.ts`)};
    import { scriptedModel } from ${JSON.stringify(`${root}/src/testing.ts`)};
    const folder = process.argv[2], args = process.argv.slice(3);
    const events = [], notices = [], calls = [], model = scriptedModel();
    const faults = [];
    process.on("unhandledRejection", (error) => faults.push(String(error)));
    const waymark = createWaymark({
      root: folder, model, sqlite: "node:sqlite",
      onEvent: (event) => events.push(event), onNotice: (notice) => notices.push(notice), ${options}
    });
    const plain = (given) => {
      calls.push(given);
      const text = readFileSync(resolve(folder, given.path), "utf8");
      const { offset = 1, limit = Infinity } = given;
      return text.split(/(?<=\\n)/).slice(offset - 1, offset - 1 + limit).join("");
    };
    const read = waymark.wrap(plain, { facts: () => ({ cwd: folder }) });
    const tell = (value) => console.log(JSON.stringify(value));
  `;
}
