/**
 * Whether a tool result is worth a digest: the gates, in order. Pure.
 *
 * @module
 */

import type { SkipReason } from "./types.ts";

/** What is asked of a result, and of the session it belongs to. */
export interface DigestFacts {
  /** Digests are wanted at all. */
  readonly enabled: boolean;
  /** Only the main agent's own results are wanted. */
  readonly topLevelOnly: boolean;
  /** The result is the main agent's own. Unknown means not. */
  readonly topLevel: boolean | undefined;
  /** Bytes of the result's text, as UTF-8. */
  readonly bytes: number;
  /** Fewer bytes are not worth a digest; none at all never are. */
  readonly minResultBytes: number;
  /** The tool is one whose results are left alone. */
  readonly isExcluded: boolean;
  /** The result comes from a file that holds secrets. */
  readonly isSecret: boolean;
  /** The result of this call has a digest, or is about to have one. */
  readonly isKnown: boolean;
  /** There is a model to ask. */
  readonly hasModel: boolean;
  /** Calls made so far, and those that are certain to be made. */
  readonly calls: number;
  /** Most calls there may be. */
  readonly maxCalls: number;
}

/** Why no digest is made: the first gate that is shut. `undefined`: one is made. */
export function decide(facts: DigestFacts): SkipReason | undefined {
  if (!facts.enabled) return "disabled";
  if (facts.topLevelOnly && facts.topLevel !== true) return "not-top-level";
  if (facts.bytes < facts.minResultBytes || facts.bytes === 0) return "small";
  if (facts.isExcluded) return "excluded";
  if (facts.isSecret) return "secret";
  if (facts.isKnown) return "duplicate";
  if (!facts.hasModel) return "no-model";
  return facts.calls >= facts.maxCalls ? "budget" : undefined;
}
