/**
 * What `adapters/hooks` gives is what pi and opencode take, by their own types.
 *
 * @module
 */

import type { ExtensionFactory } from "@earendil-works/pi-coding-agent";
import { type Hooks, type Plugin, tool } from "@opencode-ai/plugin";
import { createWaymark } from "@waymark/waymark";
import { opencodeHooks, piExtension } from "@waymark/waymark/adapters/hooks";
import { createCompactor } from "@waymark/waymark/compaction";
import { toolUseSummary } from "@waymark/waymark/tool-use";

const waymark = createWaymark({ cache: false });
const digests = toolUseSummary({ session: "s-1" }), compactor = createCompactor({ budget: 100_000 });

/** pi's extension, with every option. */
export const extension: ExtensionFactory = piExtension(waymark, { digests, compactor, summarizeFile: false });
/** The same with none. */
export const plain: ExtensionFactory = piExtension(waymark);

/** opencode's hooks. */
export const hooks: Hooks = opencodeHooks(waymark, { schema: tool.schema, digests: () => digests });
/** A plugin of them. */
export const plugin: Plugin = ({ directory }) => Promise.resolve(opencodeHooks(waymark, { directory }));
