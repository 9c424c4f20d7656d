/**
 * The one error class callers meet. `code` is stable, `message` is for a person: what could not be done, why, what next.
 *
 * @module
 */

import type { WaymarkErrorCode, WaymarkErrorOptions } from "./types.ts";

/**
 * Everything Waymark throws or reports.
 *
 * @example Telling a failed map from other errors
 * ```ts
 * import { WaymarkError } from "@waymark/waymark";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new WaymarkError("timeout", "Cannot summarize src/a.ts: no answer within 60 s");
 * assertEquals(error.code, "timeout");
 * ```
 */
export class WaymarkError extends Error {
  /** Always `WaymarkError`. */
  override readonly name = "WaymarkError";
  /** What went wrong, for programs. */
  readonly code: WaymarkErrorCode;
  /** The HTTP status the provider gave, where there was one. */
  readonly status?: number;

  /** Makes an error with a stable code and a message for a person. */
  constructor(code: WaymarkErrorCode, message: string, options: WaymarkErrorOptions = {}) {
    super(message, options);
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
  }
}

/** A host's hook that cannot hurt us: what it throws, at once or later, is its own affair. */
export function quiet<Value>(hook: ((value: Value) => unknown) | undefined): (value: Value) => void {
  return (value) => {
    try {
      const later = hook?.(value);
      if (later instanceof Promise) later.catch(() => {});
    } catch { /* the hook's own fault */ }
  };
}

/** Runs what may throw: `undefined` where it threw. */
export function attempting(
  report: (error: unknown) => void = () => {},
): <Value>(action: () => Value) => Value | undefined {
  return (action) => {
    try {
      return action();
    } catch (error) {
      report(error);
      return undefined;
    }
  };
}

/** A problem, or words, in one line: a name may break lines, or steer a terminal. */
export function oneLine(problem: unknown): string {
  return String((problem as Error)?.message ?? problem).trim().replace(/\s*[\p{Cc}\p{Zl}\p{Zp}]+\s*/gu, " ");
}

/**
 * Refuses numbers that mean nothing: a limit that is no number would quietly be none. Throws a {@linkcode WaymarkError} of
 * code `invalid-option`. An option left out is fine, and so is `Infinity`.
 */
export function checkNumbers(options: Readonly<Record<string, unknown>>, least: number): void {
  for (const [name, value] of Object.entries(options)) {
    const isFine = typeof value === "number" && value >= least && (Number.isInteger(value) || value === Infinity);
    if (value === undefined || isFine) continue;
    throw new WaymarkError(
      "invalid-option",
      `Cannot use ${String(value)} as ${name}: give a whole number from ${least}`,
    );
  }
}
