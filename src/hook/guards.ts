/**
 * What a hook loads when a read is really a long one: the guards, and who makes their maps.
 *
 * @module
 */

import type { Notice, Waymark, WaymarkOptions } from "../options.ts";
import type { OutlineParser } from "../types.ts";
import { createWaymark } from "../waymark.ts";

/** How a hook guards reads. */
export interface GuardSetup {
  /** The project's root. */
  readonly root: string;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** A model of Anthropic makes the maps. Default: none, a parser does. */
  readonly model?: string | undefined;
  /** The tree-sitter outline makes the maps where no model does, and checks what a model made. Default: the line scanner. */
  readonly outline?: boolean | undefined;
  /** How long a map may take, milliseconds. */
  readonly timeoutMs: number;
  /** Told what a person may want to know. */
  readonly tell: (words: string) => void;
  /** Told that the model could not make a map. */
  readonly onFailure?: () => void;
}

/** Opens the guards. With a model, only files of the project are sent to it; where it fails, a parser makes the map. */
export async function openGuards(setup: GuardSetup): Promise<Waymark> {
  const { root, maxLines, model, timeoutMs, tell, onFailure } = setup;
  const failed = (error: unknown): void => tell((error as Error).message);
  const outline = setup.outline ? await loadOutline().catch(failed) ?? undefined : undefined;
  const options: WaymarkOptions = {
    root,
    maxLines,
    outline,
    sqlite: "node:sqlite",
    limits: { timeoutMs },
    onNotice: ({ message }: Notice) => tell(message),
  };
  if (model === undefined) return createWaymark(options);
  try {
    return createWaymark({
      ...options,
      model: (await loadProvider()).anthropic({ model }),
      fallback: "outline",
      roots: [root],
      onEvent: ({ type }) => type === "failure" && onFailure?.(),
    });
  } catch (error) {
    failed(error);
    return createWaymark(options);
  }
}

/**
 * Beside this file. Named like this, neither the outline's grammars nor the SDK are in the graph of a hook that does without
 * them: they are fetched when they are first asked for.
 */
const near = (name: string): string => import.meta.url.replace(/hook\/guards(?=\.\w+$)/, name);

async function loadOutline(): Promise<OutlineParser> {
  const { outline } = await import(near("outline")) as typeof import("../outline.ts");
  return outline();
}

async function loadProvider(): Promise<typeof import("../providers/anthropic.ts")> {
  return await import(near("providers/anthropic"));
}
