/**
 * Claude Code's hooks, as far as Waymark takes part in them. Types only.
 *
 * @module
 */

/** The part of a hook's JSON that is looked at. Every field may be anything: others write it. */
export interface ClaudeHookInput {
  /** The event. */
  readonly hook_event_name?: unknown;
  /** The conversation. */
  readonly session_id?: unknown;
  /** The sub-agent, in its own events; absent in the main agent's. */
  readonly agent_id?: unknown;
  /** The folder relative paths start from. */
  readonly cwd?: unknown;
  /** The tool, in events of one. */
  readonly tool_name?: unknown;
  /** Its arguments. */
  readonly tool_input?: unknown;
  /** The id of the call. */
  readonly tool_use_id?: unknown;
  /** What the tool gave, as an object; in `PostToolBatch` as text. */
  readonly tool_response?: unknown;
  /** The calls of one turn, in `PostToolBatch`. */
  readonly tool_calls?: unknown;
  /** The text of a failure. */
  readonly error?: unknown;
  /** A person stopped the call. */
  readonly is_interrupt?: unknown;
}

/** What a hook answers. */
export interface ClaudeHookOutput {
  /** What goes to Claude Code; absent where there is nothing to say. */
  hookSpecificOutput?:
    | { hookEventName: "PreToolUse"; updatedInput: Record<string, unknown> }
    | { hookEventName: "PostToolUse"; additionalContext: string; updatedToolOutput?: unknown }
    | { hookEventName: "PostToolUseFailure"; additionalContext: string };
}

/** A hook as the SDK calls it. */
export type ClaudeHook = (
  input: ClaudeHookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<ClaudeHookOutput>;

/** Hooks for one kind of tool, as the SDK takes them. */
export interface ClaudeHookMatcher {
  /** The tools, by an expression over their names. Absent: all. */
  matcher?: string;
  /** The hooks. */
  hooks: [ClaudeHook, ...ClaudeHook[]];
  /** Seconds the SDK waits for them. */
  timeout?: number;
}

/** The events Waymark takes part in. */
export type ClaudeHookEvent =
  | "PreToolUse"
  | "PostToolUse"
  | "PostToolUseFailure"
  | "PostToolBatch"
  | "PreCompact"
  | "PostCompact"
  | "SessionStart"
  | "SessionEnd";

/** Hooks by event, assignable to the SDK's option. */
export type ClaudeHooks = Record<ClaudeHookEvent, [ClaudeHookMatcher]>;

/** What Waymark's tool for the model is to the SDK's `tool(name, description, shape, run)`. */
export interface ClaudeTool {
  /** `summarize_file`. */
  readonly name: string;
  /** What the model reads when it decides. */
  readonly description: string;
  /** Runs it. Never rejects: a failure says what to do instead. */
  run(
    args: { path: string; action?: "summarize" | "lookup" | "refresh" | undefined; line?: number | undefined },
    extra?: unknown,
  ): Promise<{ content: { type: "text"; text: string }[]; isError?: boolean }>;
}
