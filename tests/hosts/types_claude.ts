/** What the adapter for Claude gives, assigned to the SDK's own types. Checked, never run. */

import {
  createSdkMcpServer,
  type HookCallback,
  type HookInput,
  type Options,
  tool,
} from "@anthropic-ai/claude-agent-sdk";
import type { Waymark } from "@waymark/waymark";
import { claudeHooks, claudeSummarizeFile } from "@waymark/waymark/adapters/claude";
import { z } from "zod";

declare const waymark: Waymark;
const hooks = claudeHooks(waymark, { onError: (error: unknown) => console.error(error) });

/** All of them at once, and beside hooks of somebody's own. */
export const options: Options = { hooks };
declare const own: HookCallback;
export const both: Options = {
  hooks: { ...hooks, PreToolUse: [...hooks.PreToolUse, { matcher: "Bash", hooks: [own] }] },
};

/** One of them, as a callback of the SDK's. */
export const before: HookCallback = hooks.PreToolUse[0].hooks[0];
declare const input: HookInput;
export const answer = before(input, "toolu_1", { signal: new AbortController().signal });

const { name, description, run } = claudeSummarizeFile(waymark);
const shape = {
  path: z.string(),
  action: z.enum(["summarize", "lookup", "refresh"]).optional(),
  line: z.number().int().optional(),
};
export const server = createSdkMcpServer({
  name: "waymark",
  alwaysLoad: true,
  tools: [tool(name, description, shape, run)],
});
