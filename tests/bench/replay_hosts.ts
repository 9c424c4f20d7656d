/**
 * The hosts of the replay: how each of them says a read, shows the lines, and how they are taken out of a result again.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Dialect, dialects } from "../../mod.ts";
import type { Read } from "./replay_arms.ts";
import type { ReadEvent } from "./replay_data.ts";
import type { Shown } from "./replay_judge.ts";

/** How a host says a read and shows its lines. */
export interface Host {
  readonly dialect: Dialect;
  readonly before?: string;
  readonly gutter?: (number: number) => string;
  readonly after?: string;
  /** Content blocks instead of a text. */
  readonly blocks?: true;
}

/** Plain text, as shell commands give it. */
export const PLAIN: Host = { dialect: dialects.plain };
/** By name; the others are plain. */
export const HOSTS: Readonly<Record<string, Host>> = {
  "claude-code": { dialect: dialects.claudeCode, gutter: (number) => `${`${number}`.padStart(6)}→` },
  opencode: {
    dialect: dialects.opencode,
    before: "<content>\n",
    gutter: (number) => `${number}: `,
    after: "\n</content>",
  },
  openhands: {
    dialect: dialects.textEditor,
    before: "Here's the result of running `cat -n`:\n",
    gutter: (number) => `${`${number}`.padStart(6)}\t`,
  },
  pi: { dialect: dialects.pi, blocks: true },
};
const GUTTER = /^ *(\d+)(?:→|: |\t)/;

/** Arguments that a host's dialect reads as this read. */
export function argumentsOf(
  { path, offset, limit }: Pick<ReadEvent, "path" | "offset" | "limit">,
  { dialect }: Host,
): Record<string, unknown> {
  if (dialect.describe(1, 1).startsWith("view_range")) {
    const from = offset ?? 1, range = [from, limit === undefined ? -1 : from + limit - 1];
    return { command: "view", path, ...(offset === undefined && limit === undefined ? {} : { view_range: range }) };
  }
  const name = dialect.parse({ path }) ? "path" : dialect.parse({ file_path: path }) ? "file_path" : "filePath";
  return { [name]: path, ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }) };
}

/** The host's own tool: reads the disk, and stops where the recorded one stopped. */
export function readTool(
  { dialect, before = "", gutter = () => "", after = "", blocks }: Host,
  cuts: ReadonlyMap<string, number>,
): Read {
  return async (args, { callId, cwd }) => {
    const { path, start, count = Infinity } = dialect.parse(args)!;
    const all = (await readFile(join(cwd, path), "utf8")).split("\n").slice(0, -1);
    const lines = all.slice(start - 1, start - 1 + Math.min(count, cuts.get(callId) ?? Infinity));
    const text = before + lines.map((line, index) => gutter(start + index) + line).join("\n") + after;
    return blocks ? [{ type: "text", text }] : text;
  };
}

/** The lines in a result, and what stands behind them. */
export function takeApart(
  result: unknown,
  first: number,
  { before = "", gutter, after = "" }: Host,
): { shown: Shown[]; annotation: string } {
  const text = typeof result === "string"
    ? result
    : (result as { text: string }[]).map((block) => block.text).join("\n\n");
  const at = /^\[waymark /m.exec(text)?.index ?? text.length, annotation = text.slice(at);
  const body = text.slice(0, at).replace(/\n\n$/, "");
  if (body === "") return { shown: [], annotation };
  if (!body.startsWith(before) || !body.endsWith(after)) throw new Error("Cannot read a result: its frame is damaged");
  const lines = body.slice(before.length, body.length - after.length).split("\n");
  const shown = lines.map((line, index) =>
    gutter
      ? { number: Number(GUTTER.exec(line)?.[1]), text: line.replace(GUTTER, "") }
      : { number: first + index, text: line }
  );
  return { shown, annotation };
}
