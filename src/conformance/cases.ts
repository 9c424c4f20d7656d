/**
 * What a case of the suite is. Types only.
 *
 * @module
 */

import type { World } from "./world.ts";

/** One hostile read, and what the model must be shown of it. */
export interface Case {
  /** The behaviour, in a sentence. */
  readonly name: string;
  /** The host must take a read tool of the suite's own. Default false. */
  readonly needsTool?: boolean;
  /** The host's reads must be able to begin at any line. Default false. */
  readonly needsOffset?: boolean;
  /** Rejects where the host fails it. */
  run(world: World): Promise<void>;
}
