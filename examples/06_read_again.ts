/**
 * Keeps a conversation's session, so that lines it holds already, unchanged, are not paid for again. The session is told by
 * the very messages of each request what is still there, which is the strongest way: whatever the host removes, on purpose
 * or not, is read in full the next time.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSession, createWaymark } from "@waymark/waymark";

const project = await mkdtemp(join(tmpdir(), "waymark-example-")), path = join(project, "prices.ts");
const write = (rate: number) =>
  writeFile(path, `export const rate = ${rate};\n${"export const other = 1;\n".repeat(80)}`);
await write(19);

// The agent's own read tool. What stands beside the arguments is the host's: here the id of the tool call.
async function read(
  { path, offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number },
  _: Call,
) {
  return (await readFile(path, "utf8")).split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
}
interface Call {
  toolCallId: string;
}
interface Message {
  role: "user" | "assistant";
  content: Record<string, unknown>[];
}

const session = createSession();
const waymark = createWaymark({ root: project, session, rereadGuard: { onChange: "diff" } });
const guarded = waymark.wrap(read);

/** One turn of an agent's loop, its model left out: the request is about to be sent, and the answer calls the tool. */
let messages: Message[] = [], calls = 0;
async function turn(input: { path: string; offset?: number; limit?: number }): Promise<string> {
  session.nextTurn();
  session.reconcile(messages); // the very messages that go out now
  const id = `call_${++calls}`, result = await guarded(input, { toolCallId: id });
  messages.push(
    { role: "assistant", content: [{ type: "tool_use", id, name: "read", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
  );
  return result;
}

const first = await turn({ path });
assertStringIncludes(first, "export const rate = 19;");

// Again, and a part of it: one line each. The tool is not even called.
const again = await turn({ path });
assertMatch(again, /^\[waymark reference: .* lines 1-81 of 81 are unchanged since turn 1, shown then\]$/);
console.log(again);
assertMatch(await turn({ path, offset: 40, limit: 10 }), /lines 40-49 of 81 are unchanged since turn 1/);

// A model that asks once more means it: it gets the lines.
assertEquals(await turn({ path, offset: 40, limit: 10 }), first.split("\n").slice(39, 49).join("\n"));

// The file changes: what changed, with the numbers the lines have now. Without `onChange`, the lines.
await write(21);
const changed = await turn({ path });
assertStringIncludes(changed, "+  1| export const rate = 21;");
console.log(changed);

// The host clears old results away. Nothing refers to them any more: the lines come in full.
messages = messages.map(({ role, content }) => ({
  role,
  content: content.map((block) => "content" in block ? { ...block, content: "[old result cleared]" } : block),
}));
await turn({ path, offset: 1, limit: 1 });
const cleared = await turn({ path });
assertStringIncludes(cleared, "export const rate = 21;");
assert(!cleared.includes("[waymark"));

// What this conversation has seen of the file, for hosts that ask before they let a file be overwritten.
assertEquals(session.coverage(path)?.whole, true);

const { references, diffs, tokensSaved } = waymark.stats();
assertEquals({ references, diffs }, { references: 2, diffs: 1 });
console.log(`${references} references, ${diffs} change: about ${tokensSaved} tokens kept out of the conversation`);
await waymark.close();
await rm(project, { recursive: true });
