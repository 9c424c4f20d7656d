/**
 * Waymark in hosts that have a hook before a tool and one after it: pi and opencode.
 *
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { opencodeHooks, piExtension } from "@waymark/waymark/adapters/hooks";
 *
 * const waymark = createWaymark({ cache: false });
 * const extension = piExtension(waymark); // pi: export it as default from a file of .pi/extensions/
 * const plugin = () => Promise.resolve(opencodeHooks(waymark)); // opencode: export it from a file of .opencode/plugin/
 * console.log(typeof extension, typeof plugin);
 * ```
 *
 * Promised: nothing of a host is imported; nothing of ours is ever thrown into it. Absent: what a host's hooks cannot carry.
 * Neither makes a call twice, so a read that could not be vouched for is told as such, and runs as asked the next time.
 * Both draw on the terminal that `createWaymark` gives its notices to by default: its `onNotice` puts them elsewhere.
 *
 * @module
 */

export type { DigestTaker, HookWaymark, HostOptions } from "./hooks/host_reads.ts";
export type { OpencodeHooks, OpencodeOptions } from "./hooks/opencode.ts";
export { opencodeHooks } from "./hooks/opencode.ts";
export type { OpencodeMessage } from "./hooks/opencode_messages.ts";
export type { OpencodeField, OpencodeSchema, OpencodeTool } from "./hooks/opencode_tool.ts";
export type {
  PiApi,
  PiBlock,
  PiContext,
  PiOptions,
  PiRequest,
  PiTool,
  PiToolCall,
  PiToolResult,
  PiToolResultChange,
} from "./hooks/pi.ts";
export { piExtension } from "./hooks/pi.ts";
