/**
 * What is deepagents' own about its `read_file`: how its results carry a file, and where its files are.
 *
 * @module
 */

import { stringOrBlocks, withoutGutter } from "../../codecs.ts";
import { dialects } from "../../dialects.ts";
import { WaymarkError } from "../../errors.ts";
import type { SummarizeFileTool } from "../../summarize_file_types.ts";
import type { Codec, Dialect, FileSource } from "../../types.ts";

/** A backend of deepagents, as far as it is used: files of the state, of a store, of a folder or of a sandbox. */
export interface DeepagentsBackend {
  /** One file as it is kept. */
  // deno-lint-ignore no-explicit-any -- the host's own answers
  readRaw?(path: string): any;
  /** The bytes of files, asked for where there is no `readRaw`. */
  // deno-lint-ignore no-explicit-any -- the host's own answers
  downloadFiles?(paths: string[]): any;
}

/** Bytes, text, or the lines of a text, as deepagents keeps files. */
type Kept = Uint8Array | string | readonly string[] | null | undefined;

/**
 * Where the agent's files are, for `createWaymark({ source })`: its own `read_file` looks there too. A backend of the state,
 * `new StateBackend()`, knows its files only while the agent runs.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { backendSource } from "@waymark/waymark/adapters/langchain";
 * import { assertEquals } from "@std/assert";
 *
 * // In your program: import { FilesystemBackend } from "deepagents"
 * const backend = { readRaw: (_path: string) => ({ data: { content: "one\ntwo\n" } }) };
 * const waymark = createWaymark({ cache: false, source: backendSource(backend) });
 * assertEquals((await waymark.summarize("/notes.ts").catch(({ code }) => code)), "no-declarations");
 * ```
 */
export function backendSource(backend: DeepagentsBackend): FileSource {
  return {
    async read(path) {
      if (backend.readRaw) { // like the tool, it opens neither pipes nor links
        const raw = await backend.readRaw(path) as { data?: { content?: Kept }; content?: Kept } | undefined;
        return bytesOf((raw?.data ?? raw)?.content);
      }
      const [file] = (await backend.downloadFiles?.([path]) ?? []) as { content?: Kept; error?: unknown }[];
      return file?.error ? undefined : bytesOf(file?.content);
    },
  };
}

function bytesOf(content: Kept): Uint8Array | undefined {
  if (content === null || content === undefined || content instanceof Uint8Array) return content ?? undefined;
  return new TextEncoder().encode(typeof content === "string" ? content : content.join("\n"));
}

/** Where other paths lead, only the backend knows; `read_file` asks for these. */
const isAbsolute = (path: unknown): boolean => /^(?:[a-z]:[\\/]|\/)/i.test(String(path));

/** The arguments of its `read_file`. A read of a path that is not absolute is left alone. */
export function readFileDialect(): Dialect {
  const { parse, ...rest } = dialects.deepagents;
  return { ...rest, parse: (args) => isAbsolute((args as Named | undefined)?.file_path) ? parse(args) : undefined };
}

interface Named {
  readonly file_path?: unknown;
}

/** The tool `summarize_file` for the files of a backend. */
export function summarizeAbsolute(tool: SummarizeFileTool): SummarizeFileTool {
  return {
    ...tool,
    execute(args, info) {
      if (!args.path || isAbsolute(args.path)) return tool.execute(args, info);
      const message = `Cannot map ${args.path}: the path is not absolute; give it as to read_file`;
      return Promise.reject(new WaymarkError("not-found", message));
    },
  };
}

/** What stands before the lines of a file: notices in brackets, and where the lines are. */
const HEADER = /^(?:\[[^\n]*\]\n)*@@ [^\n]*@@(?:\n|$)/;

/** The content of a message of `read_file`: what has no header is a failure, or about a file and not of it. */
export const readFileCodec: Codec = {
  text(content) {
    const text = onlyText(content), header = text === undefined ? undefined : HEADER.exec(text)?.[0];
    return header === undefined ? undefined : withoutGutter(text!.slice(header.length));
  },
  failed: (content) => /^Error:/.test(onlyText(content) ?? ""),
  annotate: (content, annotations) => stringOrBlocks.annotate(content, annotations),
  answer: (annotation, like = [{ type: "text", text: "" }]) => stringOrBlocks.answer!(annotation, like),
};

/** The text of content that is nothing else. */
function onlyText(content: unknown): string | undefined {
  if (typeof content === "string" || !Array.isArray(content)) return content as string | undefined;
  const [block] = content as ({ text?: unknown } | null)[];
  return content.length === 1 && typeof block?.text === "string" ? block.text : undefined;
}
