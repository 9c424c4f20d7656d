/**
 * Claude Code's hooks as Waymark meets them: whose call an event is about, the file text in an answer of `Read`, and notes in a
 * form that Claude Code hands to the model whole.
 *
 * What is said here of Claude Code was seen by driving it; `tests/hosts/claude_host.ts` sees it again. Pure.
 *
 * @module
 */

import type { ClaudeHookInput } from "./claude_types.ts";
import { clean } from "./file_map.ts";
import type { Codec } from "./types.ts";

/** The name of a conversation: a sub-agent has its own. */
export function conversationId({ session_id, agent_id }: ClaudeHookInput): string {
  return isName(agent_id) ? `${String(session_id)}/${agent_id}` : String(session_id);
}

/** Whether a value is a text with something in it. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/**
 * The answers of `Read`. Only `{type: "text", file: {content}}` is text of a file; images, notebooks, PDFs and the words by which
 * Claude Code says that a file has not changed are none. It carries annotations beside the answer, so none is ever put in it.
 */
export const claudeCodec: Codec = {
  text(response) {
    const { type, file } = (response ?? {}) as { type?: unknown; file?: { content?: unknown } };
    const content = type === "text" ? file?.content : undefined;
    return typeof content === "string" && !isStub(content) ? content : undefined;
  },
  annotate: (response) => response,
};

/** What Claude Code itself says in place of lines that it has given already. A file may begin with these words, but goes on. */
const STUB =
  /^(?:File unchanged since last read\.|Wasted call — file unchanged|<system-reminder>This file is already in)/;
const MOST_STUB_LINES = 4;

function isStub(content: string): boolean {
  return STUB.test(content) && content.split("\n", MOST_STUB_LINES + 1).length <= MOST_STUB_LINES;
}

/**
 * Whether an answer of `Read` is known to hold none of a file's lines. One of a form that nobody knows yet may hold some, and
 * then the model must be told that they are not all.
 */
export function hasNoLines(response: unknown): boolean {
  const { type, file } = (response ?? {}) as { type?: unknown; file?: { content?: unknown } };
  return OTHERS.has(type) || (typeof file?.content === "string" && isStub(file.content));
}

const OTHERS: ReadonlySet<unknown> = new Set(["image", "notebook", "pdf", "parts", "file_unchanged"]);

/**
 * An answer of `Read` without a line in it. A text of none would be told as an empty file, and a text of ours be numbered like
 * lines of the file's; a notebook without cells is told as a read without output, and the reference stands beside it.
 */
export function emptyAnswer(response: unknown): unknown {
  const filePath = (response as { file?: { filePath?: unknown } } | undefined)?.file?.filePath;
  return typeof filePath === "string" ? { type: "notebook", file: { filePath, cells: [] } } : undefined;
}

/** Most UTF-16 code units of one hook's words: what is longer Claude Code keeps in a file, of which the model sees the beginning. */
export const MOST_CONTEXT = 10_000;

/** Tags Claude Code puts around words of hooks. */
const TAGS = /<(?=\s*\/?\s*(?:system-reminder|persisted-output)\b)/gi;

/**
 * A note with the name of its file. The words of all hooks after one turn may stand in one message, behind all results, so each
 * says which read it is about.
 */
export function noteOf(path: string, text: string): string {
  return withoutTags(`About the Read of ${clean(path)}:\n${text}`);
}

/** A text that cannot leave Claude Code's frame. */
export function withoutTags(text: string): string {
  return text.replace(TAGS, "(");
}

/**
 * A note in as many parts, of whole lines, as Claude Code hands on whole: at most so many. Where they do not suffice the last
 * one is too long, and Claude Code says where it keeps it. No part is empty; each but the first says what it goes on with.
 */
export function inParts(note: string, most: number): string[] {
  const parts: string[] = [], lines = note.split("\n"), heading = lines[0]!.replace(/:$/, "");
  let part = "";
  for (const [at, line] of lines.entries()) {
    const isFull = part !== "" && part.length + line.length + 1 > MOST_CONTEXT - GOES_ON.length - 1;
    if (isFull && parts.length < most - 1 && note.length > MOST_CONTEXT) {
      parts.push(`${part}\n${GOES_ON}`);
      part = `${heading}, part ${parts.length + 1}:\n${line}`;
    } else part = at === 0 ? line : `${part}\n${line}`;
  }
  return [...parts, part];
}

/** Ends a part that is not the last. */
const GOES_ON = "(goes on in the next part)";
