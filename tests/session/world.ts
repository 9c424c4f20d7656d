/** The disk and the read tools of a history: files of known bytes, what may happen to them, and tools of many shapes. */

import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The files of every history. `sub/a.ts` begins as a copy of `a.ts`. */
export const FILES = [
  "a.ts",
  "long.ts",
  "sub/a.ts",
  "notes.md",
  "crlf.ts",
  "nums.ts",
  "AGENTS.md",
  ".env",
  "blob.ts",
  "empty.ts",
] as const;
/** A link, to `a.ts` at first. */
export const LINK = "link.ts";

/** What happens to a file from outside. */
export const EDITS = [
  "same size",
  "replace",
  "insert",
  "remove",
  "touch",
  "move",
  "delete",
  "write",
  "undo",
  "link",
] as const;
export type Edit = { readonly what: typeof EDITS[number]; readonly file: number; readonly line: number };

const lineOf = (index: number, version = 0): string =>
  index % 9 === 8 ? "}" : index % 13 === 12 ? "" : `export function f${index}(a: number) { return a + ${version}; }`;

function begin(name: string): string {
  const lines = (count: number): string => Array.from({ length: count }, (_, index) => `${lineOf(index)}\n`).join("");
  if (name === "long.ts") return lines(430);
  if (name === "notes.md") return lines(230);
  if (name === "crlf.ts") return `\ufeff${lines(20).replaceAll("\n", "\r\n").slice(0, -2)}`;
  if (name === "nums.ts") return Array.from({ length: 20 }, (_, index) => `${index + 1}: value ${index}\n`).join("");
  if (name === ".env") return "KEY=dummy\nOTHER=dummy\n";
  if (name === "blob.ts") return "a\0b\nc\nd\n";
  return name === "empty.ts" ? "" : lines(30);
}

/** The files of one history, on the real disk. */
export interface World {
  readonly folder: string;
  /** The real path; `undefined` where nothing is. */
  real(path: string): string | undefined;
  /** What stands at a real path now. */
  bytes(real: string | undefined): Uint8Array | undefined;
  /** Makes something happen. To a file of its own, or to the one named. */
  edit(edit: Edit, path?: string): void;
  /** What a file held before its last change; what it holds where nothing changed. */
  before(real: string): string | undefined;
}

export function createWorld(folder: string): World {
  const past = new Map<string, string[]>();
  const pathOf = (file: number): string => join(folder, FILES[file % FILES.length]!);
  const write = (path: string, text: string): void => {
    writeFileSync(path, text);
    past.set(path, [...past.get(path) ?? [], text]);
  };
  const read = (path: string): string | undefined => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  };
  mkdirSync(join(folder, "sub"), { recursive: true });
  for (const name of FILES) write(join(folder, name), begin(name));
  symlinkSync(join(folder, "a.ts"), join(folder, LINK));

  return {
    folder,
    real(path) {
      try {
        return realpathSync(path);
      } catch {
        return undefined;
      }
    },
    bytes(real) {
      try {
        return real === undefined ? undefined : new Uint8Array(readFileSync(real));
      } catch {
        return undefined;
      }
    },
    before: (real) => past.get(real)?.at(-2) ?? read(real),
    edit({ what, file, line }, path = pathOf(file)) {
      const text = read(path);
      if (what === "link") {
        rmSync(join(folder, LINK), { force: true });
        return symlinkSync(pathOf(line), join(folder, LINK));
      }
      if (what === "write") return write(path, begin(path.slice(folder.length + 1))); // also where it is gone: made again
      if (what === "undo") {
        const versions = past.get(path) ?? [];
        if (!versions.length) return;
        return write(path, versions[line % versions.length]!);
      }
      if (text === undefined) return;
      const lines = text.split("\n"), at = line % Math.max(1, lines.length - 1);
      if (what === "delete") return rmSync(path);
      if (what === "touch") return utimesSync(path, new Date(), new Date(Date.now() + 1000 * line));
      if (what === "move") {
        const to = pathOf(line);
        if (to !== path) renameSync(path, to);
        return void past.set(to, [...past.get(to) ?? [], text]);
      }
      if (what === "insert") lines.splice(at, 0, `// inserted ${line}`);
      if (what === "remove") lines.splice(at, 1);
      if (what === "replace") lines[at] = `export const replaced${line} = ${line};${text.includes("\r") ? "\r" : ""}`;
      if (what !== "same size") return write(path, lines.join("\n"));
      const found = lines.findIndex((content, index) => index >= at && /\d/.test(content));
      const changed = found < 0 ? at : found;
      lines[changed] = lines[changed]!.replace(/\d(?=\D*$)/, (digit) => `${(Number(digit) + 1) % 10}`);
      const { atime, mtime } = statSync(path);
      write(path, lines.join("\n"));
      utimesSync(path, atime, mtime);
    },
  };
}

/** The kinds of read tool: how they give a file's text, and where that begins in it. */
export const TOOLS = ["string", "blocks", "object", "mcp", "gutter", "banner", "cut"] as const;
export type ToolKind = typeof TOOLS[number];

/** What goes wrong in a tool: it throws, says so in its result, says so in plain text, the file changes as it begins, it gives old lines. */
export const FAULTS = ["throws", "fails", "says", "rewrites", "stale", "throws once"] as const;
export type Fault = typeof FAULTS[number];

export interface ToolArguments {
  path: string;
  offset?: number;
  limit?: number;
}

/** One run of a tool. */
export interface Invocation {
  readonly args: ToolArguments;
  /** What stood on the disk as it began. */
  readonly bytes: Uint8Array | undefined;
  result?: unknown;
  error?: unknown;
  /** It gave lines of a file: from here. */
  start?: number;
}

/** What the machine hands to a tool, beside the facts of the call. */
export interface Trace {
  readonly kind: ToolKind;
  readonly fault: Fault | undefined;
  readonly edit: Edit;
  readonly slow: boolean;
  readonly invocations: Invocation[];
}

/** Most lines the tool that cuts gives. */
const CUT = 25;

/** A read tool of one kind, as a host has it. */
export function makeTool(world: World, kind: ToolKind) {
  return async (args: ToolArguments, { trace, cwd }: { trace: Trace; cwd?: string }): Promise<unknown> => {
    const path = resolve(cwd ?? world.folder, args.path), { fault } = trace;
    const invocation: Invocation = { args, bytes: world.bytes(world.real(path)) };
    const isFirst = trace.invocations.push(invocation) === 1;
    if (trace.slow) await new Promise((resolve) => setTimeout(resolve, 0));
    try {
      if (fault === "throws" || (fault === "throws once" && isFirst)) throw new Error(`busy ${path}`);
      if (fault === "says") return invocation.result = shaped(kind, "Error: the file is busy");
      if (fault === "fails") {
        if (kind !== "mcp") throw new Error(`busy ${path}`);
        return invocation.result = { content: [{ type: "text", text: "The file is busy" }], isError: true };
      }
      if (fault === "rewrites" && isFirst) {
        world.edit({ ...trace.edit, what: quietly(trace.edit.what) }, world.real(path));
      }
      const text = fault === "stale"
        ? world.before(world.real(path) ?? path) ?? readFileSync(path, "utf8")
        : readFileSync(path, "utf8");
      const { offset = 1, limit = Infinity } = args, start = Math.max(1, offset);
      invocation.start = start;
      const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [], wanted = lines.slice(start - 1, start - 1 + limit);
      return invocation.result = shaped(kind, frame(kind, { wanted, start, path, total: lines.length }));
    } catch (error) {
      invocation.error = error;
      throw error;
    }
  };
}

/** What a formatter may do: the file stays where it is. */
function quietly(what: Edit["what"]): Edit["what"] {
  return what === "link" || what === "move" || what === "delete" ? "insert" : what;
}

function frame(
  kind: ToolKind,
  { wanted, start, path, total }: { wanted: string[]; start: number; path: string; total: number },
): string {
  if (kind === "gutter") return wanted.map((line, index) => `${String(start + index).padStart(6)}\t${line}`).join("");
  if (kind === "banner") return `File: ${path}\n${wanted.join("")}`;
  if (kind !== "cut" || wanted.length <= CUT) return wanted.join("");
  const end = start + CUT - 1;
  return `${wanted.slice(0, CUT).join("")}\n[Showing lines ${start}-${end} of ${total}. Use offset=${
    end + 1
  } to continue.]`;
}

function shaped(kind: ToolKind, text: string): unknown {
  if (kind === "blocks") return [{ type: "text", text }];
  if (kind === "object") return { content: text };
  return kind === "mcp" ? { content: [{ type: "text", text }] } : text;
}

/** The lines in a tool's text, without what its kind puts around them; a byte order mark before a line is none of it. */
export function linesIn(kind: ToolKind, text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const own = kind === "banner" ? lines.slice(1) : lines;
  return own.map((line) => (kind === "gutter" ? line.replace(/^ *\d+\t/, "") : line).replace(/^\ufeff|\r$/g, ""));
}

/** The lines of a file, without their endings and a byte order mark. */
export function fileLines(bytes: Uint8Array): string[] {
  return linesIn("string", new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}
