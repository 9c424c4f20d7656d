/**
 * One row of the ledger as a line of JSON and back. Pure.
 *
 * Promised: a row that is read is checked, cut and made harmless like one that is made, since a ledger may have come with a
 * clone: its text would be somebody else's words in the model's context.
 *
 * @module
 */

import { clampText, type DigestText, digestText, MAX_DIGEST, neutralLine } from "./text.ts";
import type { DigestRow, SkipReason } from "./types.ts";

/** A longer line is never written, and skipped when it is read. */
export const MAX_LINE_BYTES: number = 1 << 20;

/** Most UTF-16 code units of the id of a call: a longer one is no id. Gateways put signatures of several thousand into theirs. */
const MAX_ID = 16_384;
/** Most code points of a tool's name and of a reason. */
const MAX_NAME = 120, MAX_REASON = 300;
/** As many UTF-16 code units of a digest are looked at: white space and what is hidden may fill most of them. */
const MAX_READ: number = MAX_DIGEST * 8;

const SKIPS: ReadonlySet<unknown> = new Set<SkipReason>(
  ["disabled", "not-top-level", "small", "excluded", "secret", "duplicate", "no-model", "budget"],
);

/** The line that keeps a row, its end included. Throws where the row is no JSON. */
export function lineOf(row: DigestRow): string {
  return `${JSON.stringify(row)}\n`;
}

/** The row in a line; `undefined` where there is none that can be used. Never throws. */
export function parseRow(line: string): DigestRow | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const given = value as Readonly<Record<string, unknown>>, { callId, tool, status, skipReason, reason } = given;
  if (typeof callId !== "string" || typeof tool !== "string" || !isId(callId)) return undefined;
  if (status !== "ok" && status !== "failed" && status !== "skipped") return undefined;
  const { text, isCut } = status === "ok" ? cleanDigest(given) : { text: "", isCut: false };
  if (status === "ok" && text === "") return undefined;
  return {
    callId,
    tool: cleanName(tool),
    resultBytes: amount(given["resultBytes"]),
    status,
    ...(status === "skipped" && SKIPS.has(skipReason) ? { skipReason: skipReason as SkipReason } : {}),
    ...(typeof reason === "string" ? { reason: shortLine(reason, MAX_REASON) } : {}),
    ...(status === "ok" ? { summary: text } : {}),
    ...(isCut ? { cut: true } : {}),
    ...(given["inheritedRoute"] === true ? { inheritedRoute: true } : {}),
    durationMs: amount(given["durationMs"]),
    at: amount(given["at"]),
  };
}

/** Whether something may be the id of a call: printable, and not endless. */
function isId(text: string): boolean {
  return text !== "" && text.length <= MAX_ID && !/\p{Cc}/u.test(text);
}

/** The digest of a row as it may be shown, whoever made the row. */
export function cleanDigest({ summary, cut }: { readonly summary?: unknown; readonly cut?: unknown }): DigestText {
  if (typeof summary !== "string") return { text: "", isCut: false };
  return digestText(summary.slice(0, MAX_READ), { isCut: cut === true || summary.length > MAX_READ });
}

/** The name of a tool as it may be shown: one short line without brackets. */
export function cleanName(name: string): string {
  return shortLine(name.slice(0, MAX_NAME * 8).replace(/[<>[\]]/g, " "), MAX_NAME) || "tool";
}

function shortLine(text: string, max: number): string {
  return clampText(neutralLine(text), max).text;
}

/** A whole number that is not negative; 0 for anything that is none. */
function amount(value: unknown): number {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : 0;
}
