/**
 * The shapes of messages compaction knows by name, and how one is chosen.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { aiSdkShape } from "./shapes/ai_sdk.ts";
import { anthropicShape } from "./shapes/anthropic.ts";
import { openaiShape } from "./shapes/openai.ts";
import type { CompactorOptions, MessageShape } from "./types.ts";

export { aiSdkShape, anthropicShape, openaiShape };

/** All of them. */
export const SHAPES: readonly MessageShape[] = [anthropicShape, openaiShape, aiSdkShape];

/**
 * The shape of a name; one of the host's own is taken as it is.
 *
 * @throws {WaymarkError} with code `invalid-option` for a name nobody knows.
 */
export function chooseShape(shape: CompactorOptions["shape"] = "anthropic"): MessageShape {
  const found = typeof shape === "object" ? shape : SHAPES.find(({ name }) => name === shape);
  if (found) return found;
  const names = SHAPES.map(({ name }) => name).join(", ");
  throw new WaymarkError(
    "invalid-option",
    `Cannot use ${shape} as a shape of messages: give one of ${names}, or your own`,
  );
}
