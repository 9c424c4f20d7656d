/**
 * The mutations of what stands between Waymark and its hosts.
 *
 * @module
 */

import type { Mutation } from "./mutations.ts";

/** All of them. */
export const hostMutations: readonly Mutation[] = [
  {
    guarantee: "a read that could not be vouched for runs as asked the next time",
    file: "src/hooked.ts",
    from: "    if (isShort && (outcome.again || silent)) owe(key);\n",
    to: "",
    test: "hooked_test.ts",
    named: "says which lines were asked for and why, and makes the same read as asked the next time",
  },
  {
    guarantee: "a shortened read that failed is told",
    file: "src/hooked.ts",
    from: "outcome.again && isShort ? [remainder(read, outcome, attempt)] : outcome.annotations",
    to: "outcome.annotations",
    test: "hooked_test.ts",
    named: "tells of a shortened read that failed",
  },
  {
    guarantee: "halves leave nothing pending",
    file: "src/hooked.ts",
    from: "    between.delete(callId);\n    const failed",
    to: "    const failed",
    test: "hooked_test.ts",
    named: "says what belongs beside a result, once",
  },
  {
    guarantee: "conversations are apart",
    file: "src/session_pool.ts",
    from: "get: (id) => put(id, sessions.get(id) ??",
    to: 'get: (id) => put("", sessions.get("") ??',
    test: "adapters/claude_test.ts",
    named: "belong to one conversation: other sessions and sub-agents are apart",
  },
  {
    guarantee: "nothing refers back where the API takes results out",
    file: "src/edited_by_api.ts",
    from: "  return (Array.isArray(edits) ? edits.some(isEdit) : Boolean(edits)) ||\n",
    to: "  return false ||\n",
    test: "adapters/ai_test.ts",
    named: "refer to nothing where the provider is told to take results out by itself",
  },
  {
    guarantee: "the hooks for Claude decide about no permission",
    file: "src/adapters/claude.ts",
    from: '    return { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput:',
    to: '    return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput:',
    test: "adapters/claude_test.ts",
    named: "is shortened, and no hook decides about a permission",
  },
  {
    guarantee: "the hooks for Claude put nothing in the place of lines that are only annotated",
    file: "src/adapters/claude.ts",
    from: "replaces && index === 0 ?",
    to: "index === 0 ?",
    test: "adapters/claude_test.ts",
    named: "has its map in as many parts as Claude Code hands on whole, in order, and each once",
  },
  {
    guarantee: "two runs that pass for one conversation do not take what the other was shown for theirs",
    file: "src/adapters/langchain.ts",
    from: "    if (last && !last.endsLike(before)) return undefined;\n",
    to: "",
    test: "adapters/langchain_test.ts",
    named: "is not taken from it by a later call of one message either, nor by one that stands in no message",
  },
  {
    guarantee: "a read whose call cannot be kept is not shortened",
    file: "src/hook/answer.ts",
    from: "    if (!await state.put(callName(input, callId), JSON.stringify({ version: 1, args }))) continue;\n",
    to: "    await state.put(callName(input, callId), JSON.stringify({ version: 1, args }));\n",
    test: "hook_test.ts",
    named: "shortens nothing where it cannot keep what was asked: a link, a file, or a folder in the way",
  },
  {
    guarantee: "a client narrows the server's folders and never widens them",
    file: "src/mcp/roots.ts",
    from: "return commonFolders(own, named);",
    to: "return named ?? own;",
    test: "mcp/roots_test.ts",
    named: "are narrowed by what the client names, and never widened",
  },
  {
    guarantee: "the server reads nothing outside of its folders",
    file: "src/mcp/folders.ts",
    from: "  if (!folder) refuse(path, outside);\n",
    to: "",
    test: "mcp/folders_test.ts",
    named: "is refused by whatever name, and what is there is not told",
  },
  {
    guarantee: "a link swapped in leads nowhere",
    file: "src/mcp/open_file.ts",
    from: "facts.isFile() && isStillThere(fd, real, facts)",
    to: "facts.isFile()",
    test: "mcp/folders_test.ts",
    named: "is not read so on Deno with leave for the folder only, where the system cannot be asked",
  },
  {
    guarantee: "a link tells nothing of what is outside",
    file: "src/files.ts",
    from: "      if (there.isSymlink) return undefined;\n",
    to: "",
    test: "mcp/folders_test.ts",
    named: "is refused in the same words whether it is there or not, wherever a link in a folder leads",
  },
  {
    guarantee: "repeated reads are given again where no host says what has left",
    file: "src/mcp/projects.ts",
    from: "references = false }",
    to: "references = true }",
    test: "mcp/calls_test.ts",
    named: "is given again, whatever ids the client sends: nobody says what has left its conversation",
  },
  {
    guarantee: "a case that was left out is not passed",
    file: "src/conformance.ts",
    from: "    if (reason === undefined) test(",
    to: '    if (reason !== "") test(',
    test: "conformance_test.ts",
    named: "passes no case that a host says it cannot meet: it is skipped, with the reason",
  },
  {
    guarantee: "where no root of the client's can be used nothing is read",
    file: "src/mcp/roots.ts",
    from: "if (mine === serial && isGarbled) learn(mine, () => []);",
    to: "",
    test: "mcp/roots_test.ts",
    named: "that cannot be understood is no answer that narrows nothing",
  },
];
