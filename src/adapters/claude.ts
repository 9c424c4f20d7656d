/**
 * Waymark in the Claude Agent SDK: hooks around its own `Read`.
 *
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { claudeHooks } from "@waymark/waymark/adapters/claude";
 *
 * const waymark = createWaymark();
 * const hooks = claudeHooks(waymark); // query({ prompt, options: { hooks } })
 * console.log(Object.keys(hooks).includes("PreToolUse"));
 * await waymark.close();
 * ```
 *
 * The tool itself is not replaced: a `Read` that was shortened still is one, so that `Edit` takes the file for read. No hook
 * decides about permissions, none throws, and none is waited for after the SDK has given up on it. Hooks run before the SDK asks
 * a person for leave: what Waymark must not look at, nor send to its own `model` if it has one, belongs into `exclude` or out of
 * `roots`; `summarize_file` is bound by `roots` alone, and `digests` by neither.
 *
 * Claude Code does not say when it clears old results, so its conversations are `untracked`: by default nothing refers back.
 * With `createWaymark({ rereadGuard: true })` lines that were shown are referred to until a conversation is compacted, cleared
 * or resumed.
 *
 * To offer `summarize_file`, `z` being that of `zod`:
 *
 * ```ts ignore
 * const { name, description, run } = claudeSummarizeFile(waymark, { cwd });
 * const action = z.enum(["summarize", "lookup", "refresh"]).optional();
 * const shape = { path: z.string(), action, line: z.number().int().optional() };
 * const tools = [tool(name, description, shape, run, { annotations: { readOnlyHint: true } })];
 * const mcpServers = { waymark: createSdkMcpServer({ name: "waymark", alwaysLoad: true, tools }) };
 * ```
 *
 * @module
 */

import { claudeCodec, conversationId, emptyAnswer, hasNoLines, inParts, isName, noteOf } from "../claude_code.ts";
import type { ClaudeHook, ClaudeHookInput, ClaudeHookOutput, ClaudeHooks, ClaudeTool } from "../claude_types.ts";
import { dialects } from "../dialects.ts";
import { checkNumbers, quiet } from "../errors.ts";
import { hookReads, type HookVerdict } from "../hooked.ts";
import type { Waymark } from "../options.ts";
import { sessionPool } from "../session_pool.ts";
import type { Session } from "../session_types.ts";
import type { AcceptedResult } from "../tool_use/types.ts";

export type {
  ClaudeHook,
  ClaudeHookEvent,
  ClaudeHookInput,
  ClaudeHookMatcher,
  ClaudeHookOutput,
  ClaudeHooks,
  ClaudeTool,
} from "../claude_types.ts";

/** Options of {@linkcode claudeHooks}. */
export interface ClaudeHooksOptions {
  /** Takes the results of all tools for digests: what `toolUseSummary` of `./tool-use` gives. Default: nobody does. */
  readonly digests?: { accept(result: AcceptedResult): void } | undefined;
  /**
   * Hooks that share one note: Claude Code hands on 10,000 characters of each, and a long map takes several. Default 4. What is
   * longer still Claude Code keeps in a file, and tells the model which.
   */
  readonly parts?: number | undefined;
  /** Most conversations remembered at once, those of sub-agents among them. Default 64. */
  readonly max?: number | undefined;
  /** Seconds the SDK waits for a map. Default 90. */
  readonly timeout?: number | undefined;
  /** Told what went wrong inside. Default: nobody. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What one call gave to say, in as many parts as there are hooks to say them. */
interface Note {
  readonly made: Promise<{ readonly parts: readonly string[]; readonly replaces: boolean }>;
  taken: number;
}

/** Most notes that wait for hooks to take their parts. */
const MOST_NOTES = 256;

/**
 * Hooks for `query({ options: { hooks } })`. One set serves any number of queries; conversations are kept apart by the SDK's
 * own ids, and those of sub-agents too. Hooks of your own stand beside them, in the same lists.
 *
 * @throws {WaymarkError} with code `invalid-option` where a number means nothing.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { claudeHooks } from "@waymark/waymark/adapters/claude";
 * import { assertEquals } from "@std/assert";
 *
 * const lines = Array.from({ length: 900 }, (_, at) => `export function f${at}() {}`);
 * const source = { read: () => new TextEncoder().encode(lines.join("\n")) };
 * const [{ hooks: [before] }] = claudeHooks(createWaymark({ cache: false, source })).PreToolUse;
 * const input = { tool_name: "Read", tool_input: { file_path: "/a.ts" }, tool_use_id: "toolu_1", session_id: "s" };
 * assertEquals(await before(input, "toolu_1", { signal: new AbortController().signal }), {
 *   hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: { file_path: "/a.ts", limit: 200 } },
 * });
 * ```
 */
export function claudeHooks(waymark: Pick<Waymark, "middleware">, options: ClaudeHooksOptions = {}): ClaudeHooks {
  const { digests, parts = 4, timeout = 90, max, onError } = options;
  checkNumbers({ parts, timeout }, 1);
  const report = quiet(onError), dialect = dialects.claudeCode, matcher = dialect.tools.join("|");
  const reads = hookReads(waymark.middleware, { dialect, codec: claudeCodec, answerable: true, onError });
  const sessions = sessionPool({ untracked: true, max });
  const notes = new Map<string, Note>();

  /** The conversation of an event. Turns are counted from 1: what was given in the present one the model has not read. */
  const sessionOf = (input: ClaudeHookInput): Session => {
    const session = sessions.get(conversationId(input));
    if (session.turn === 0) session.nextTurn();
    return session;
  };
  type Act = (input: ClaudeHookInput, signal: AbortSignal) => Promise<ClaudeHookOutput> | ClaudeHookOutput;
  const hook = (act: Act): ClaudeHook => async (input, _id, { signal }) => {
    try {
      return await act(input, signal);
    } catch (error) {
      report(error);
      return {};
    }
  };

  const before = hook(async (input, signal) => {
    const { tool_input, tool_name, tool_use_id: callId, cwd, agent_id } = input;
    if (!isName(callId) || !isName(tool_name) || !dialect.tools.includes(tool_name)) return {};
    const sessionId = conversationId(input), session = sessionOf(input);
    const told = { callId, tool: tool_name, topLevel: !isName(agent_id), ...isName(cwd) && { cwd } };
    const facts = { ...told, session, sessionId, signal };
    const made = await reads.begin(tool_input, facts);
    if (made === tool_input) return {};
    return { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput: made as Record<string, unknown> } };
  });

  /** What to say of a call that was made; nothing where a person stopped it or its answer has no lines, as an image has none. */
  const finish = async (input: ClaudeHookInput, callId: string): Promise<HookVerdict | undefined> => {
    const { tool_response: result, error, is_interrupt } = input;
    if (is_interrupt === true || (error === undefined && hasNoLines(result))) return void reads.drop(callId);
    return await reads.finish(callId, error === undefined ? { result } : { error, failed: true });
  };
  const noteFor = ({ tool_input }: ClaudeHookInput, { annotations, text }: HookVerdict): string =>
    noteOf(annotations[0]?.path ?? dialect.parse(tool_input)?.path ?? "", text);

  /** The note of a call, made for whichever of its hooks is called first, and forgotten after the last. */
  const noteOfCall = (input: ClaudeHookInput, callId: string): Note["made"] => {
    let note = notes.get(callId);
    if (!note) {
      const made = finish(input, callId).then((verdict) => ({
        parts: verdict ? inParts(noteFor(input, verdict), parts) : [],
        replaces: verdict?.replaces ?? false,
      }));
      note = { made, taken: 0 };
      if (notes.size >= MOST_NOTES) notes.delete(notes.keys().next().value!);
      notes.set(callId, note);
    }
    if (++note.taken === parts) notes.delete(callId);
    return note.made;
  };
  const afterwards = Array.from({ length: parts }, (_, index) =>
    hook(async (input) => {
      const { tool_use_id: callId, tool_response } = input;
      if (!isName(callId)) return {};
      const { parts, replaces } = await noteOfCall(input, callId), additionalContext = parts[index];
      if (additionalContext === undefined) return {};
      const instead = replaces && index === 0 ? emptyAnswer(tool_response) : undefined;
      const updated = instead === undefined ? {} : { updatedToolOutput: instead };
      return { hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext, ...updated } };
    })) as [ClaudeHook, ...ClaudeHook[]];

  const afterFailure = hook(async (input) => {
    const { tool_use_id: callId, error = "" } = input;
    const verdict = isName(callId) ? await finish({ ...input, error }, callId) : undefined;
    if (!verdict) return {};
    return { hookSpecificOutput: { hookEventName: "PostToolUseFailure", additionalContext: noteFor(input, verdict) } };
  });

  /** All calls of a turn are over: what was not made is forgotten, and what was given is read with the next request. */
  const afterBatch = hook((input) => {
    sessionOf(input).nextTurn();
    const topLevel = !isName(input.agent_id);
    for (const call of Array.isArray(input.tool_calls) ? input.tool_calls : []) {
      const { tool_use_id: callId, tool_name: tool, tool_input: args, tool_response: result } = (call ??
        {}) as ClaudeHookInput;
      if (!isName(callId)) continue;
      reads.drop(callId);
      if (isName(tool)) digests?.accept({ callId, tool, args, result, topLevel });
    }
    return {};
  });
  const forget = hook((input) => (sessionOf(input).reset(), {}));
  const end = hook((input) => (sessions.delete(conversationId(input)), {}));

  return {
    PreToolUse: [{ matcher, hooks: [before], timeout }],
    PostToolUse: [{ matcher, hooks: afterwards, timeout }],
    PostToolUseFailure: [{ matcher, hooks: [afterFailure] }],
    PostToolBatch: [{ hooks: [afterBatch] }],
    PreCompact: [{ hooks: [forget] }],
    PostCompact: [{ hooks: [forget] }],
    SessionStart: [{ hooks: [forget] }],
    SessionEnd: [{ hooks: [end] }],
  };
}

/**
 * The `summarize_file` tool in the SDK's terms. Give its server `alwaysLoad: true`: the model does not see the tool otherwise.
 *
 * @example
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { claudeSummarizeFile } from "@waymark/waymark/adapters/claude";
 * import { assertEquals } from "@std/assert";
 *
 * const { run } = claudeSummarizeFile(createWaymark({ cache: false }));
 * assertEquals((await run({ path: "/no/such/file.ts" })).isError, true);
 * ```
 */
export function claudeSummarizeFile(
  waymark: Pick<Waymark, "summarizeFileTool">,
  options: {
    /** The folder relative paths start from. Default: the working directory. */
    readonly cwd?: string | undefined;
  } = {},
): ClaudeTool {
  const { name, description, execute } = waymark.summarizeFileTool();
  return {
    name,
    description,
    async run(args, extra) {
      const { signal } = (extra ?? {}) as { signal?: unknown };
      try {
        const info = { cwd: options.cwd, signal: signal instanceof AbortSignal ? signal : undefined };
        return { content: [{ type: "text", text: await execute(args, info) }] };
      } catch (error) {
        return { content: [{ type: "text", text: (error as Error).message }], isError: true };
      }
    },
  };
}
