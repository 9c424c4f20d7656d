/**
 * What the host is told: notices once for each reason, events, and its two hooks, none of which can hurt.
 *
 * @module
 */

import { quiet } from "../errors.ts";
import type { CompactionEvent, CompactorOptions } from "./types.ts";

/** What a hook is told, besides the number that is its own. */
export interface HookFacts {
  /** How the call is made. */
  readonly mode: "standalone" | "fork";
}

/** Tells the host. Nothing of it ever throws. */
export interface Telling {
  /** A notice, the first time a reason comes up. */
  notice(reason: string, message: string): void;
  /** An event, every time. */
  event(event: CompactionEvent): void;
  /** A summary is about to be asked for. */
  before(about: HookFacts & { readonly messages: number }): void;
  /** A summary was made. */
  after(about: HookFacts & { readonly length: number }): void;
}

/** Tells one host. */
export function createTelling(
  options: Pick<CompactorOptions, "onNotice" | "onEvent" | "onBeforeSummarize" | "onAfterSummarize">,
): Telling {
  const told = new Set<string>();
  const tell = quiet(options.onNotice), event = quiet(options.onEvent);
  const notice = (reason: string, message: string): void => {
    if (told.has(reason)) return;
    told.add(reason);
    tell({ reason, message });
  };
  const call = <About>(name: string, hook: ((about: About) => unknown) | undefined, about: About): void => {
    const failed = (error: unknown): void => {
      const words = error instanceof Error ? error.message : String(error);
      notice("hook-failed", `The hook ${name} failed, and is ignored: ${words}`);
    };
    try {
      const later = hook?.(about);
      if (later instanceof Promise) later.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
  return {
    notice,
    event,
    before: (about) => call("onBeforeSummarize", options.onBeforeSummarize, about),
    after: (about) => call("onAfterSummarize", options.onAfterSummarize, about),
  };
}

/** What a person is told of a message that is none of the shape. */
export function unknownMessage(shape: string): string {
  return `A message is none of the shape ${shape}, or a result in it is none, so that it is parted from its call: give the ` +
    `shape it has. What such a message holds is given again to whoever reads it, once anything has left the conversation`;
}
