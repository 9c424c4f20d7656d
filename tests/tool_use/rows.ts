/** Rows of a ledger for tests. */

import type { DigestRow } from "../../src/tool_use/types.ts";

/** A row with a digest, or with whatever is given. */
export function row(fields: Partial<DigestRow> = {}): DigestRow {
  return {
    callId: "call-1",
    tool: "bash",
    resultBytes: 52_114,
    status: "ok",
    summary: "src/a.ts:12 fails with E1234, 3 of 40 tests.",
    durationMs: 900,
    at: 1_700_000_000_000,
    ...fields,
  };
}

/** Digests by call id. */
export function summariesOf(...rows: readonly DigestRow[]): Map<string, DigestRow> {
  return new Map(rows.map((row) => [row.callId, row]));
}
