/**
 * What the Messages API on loopback refuses, in the words of the real one as far as they matter.
 *
 * @module
 */

import type { ModelLimits, ReceivedRequest } from "./messages_api.ts";

const FIELDS = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "cache_control",
  "container",
  "diagnostics",
  "inference_geo",
  "metadata",
  "output_config",
  "service_tier",
  "speed",
  "stop_sequences",
  "stream",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
]);

/** Why a request is refused. */
export interface Fault {
  readonly status: number;
  readonly type: string;
  readonly words: string;
}

/** Where requests go: the plain endpoint, and the one for what is in beta. */
const PATHS: ReadonlySet<string> = new Set(["/v1/messages", "/v1/messages?beta=true"]);

/** What the real API would refuse a request for; `undefined` where it would take it. */
export function findFault(
  { method, path, headers, raw, body }: ReceivedRequest,
  { key, models }: { key: string; models: Readonly<Record<string, ModelLimits>> },
): Fault | undefined {
  const fault = (status: number, type: string, words: string): Fault => ({ status, type, words });
  const invalid = (words: string): Fault => fault(400, "invalid_request_error", words);
  if (method !== "POST" || !PATHS.has(path)) return fault(404, "not_found_error", `Not found: ${method} ${path}`);
  const given = headers["x-api-key"] ?? headers["authorization"]?.replace(/^Bearer /, "");
  if (!given) return fault(401, "authentication_error", "x-api-key header is required");
  if (given !== key) return fault(401, "authentication_error", `invalid x-api-key: ${given}`);
  if (!headers["anthropic-version"]) return invalid("anthropic-version: header is required");
  if (!headers["content-type"]?.startsWith("application/json")) {
    return invalid("content-type: must be application/json");
  }
  if (typeof body !== "object" || body === null) return invalid("The request body is not valid JSON");
  const extra = Object.keys(body).find((field) => !FIELDS.has(field));
  if (extra) return invalid(`${extra}: Extra inputs are not permitted`);
  if (typeof body.model !== "string") return invalid("model: Field required");
  const limits = models[body.model];
  if (!limits) return fault(404, "not_found_error", `model: ${body.model}`);
  const most = body.max_tokens;
  if (most === undefined) return invalid("max_tokens: Field required");
  if (typeof most !== "number" || !Number.isInteger(most) || most < 1) {
    return invalid("max_tokens: must be a positive integer");
  }
  if (most > limits.output) {
    return invalid(`max_tokens: ${most} > ${limits.output}, which is the maximum for ${body.model}`);
  }
  const words = findTextFault(body.system, "system") ?? findTurnFault(body.messages);
  if (words) return invalid(words);
  const tokens = Math.ceil(raw.length / 4);
  return tokens > limits.context
    ? invalid(`prompt is too long: ${tokens} tokens > ${limits.context} maximum`)
    : undefined;
}

/** What is wrong with the turns. Two turns of one role in a row are merged by the real API, so they are let through. */
function findTurnFault(turns: unknown): string | undefined {
  if (!Array.isArray(turns)) return "messages: Field required";
  if (!turns.length) return "messages: at least one message is required";
  if (turns[0]?.role !== "user") return 'messages: first message must use the "user" role';
  for (const [index, turn] of turns.entries()) {
    const place = `messages.${index}`;
    if (turn.role !== "user" && turn.role !== "assistant") return `${place}.role: must be "user" or "assistant"`;
    const extra = Object.keys(turn).find((field) => field !== "role" && field !== "content");
    if (extra) return `${place}.${extra}: Extra inputs are not permitted`;
    if (turn.content === undefined) return `${place}.content: Field required`;
    const fault = findTextFault(turn.content, place);
    if (fault) return fault;
  }
  const orphan = findOrphan(turns);
  if (orphan) return orphan;
  const last = turns.at(-1);
  return last.role === "assistant" && /\s$/.test(String(last.content))
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
}

/** A block of a message, as far as it is looked into. */
interface Block {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly tool_use_id?: unknown;
}

/** Calls that the next message does not answer, and results of calls that the message before does not make. */
function findOrphan(turns: readonly { readonly role: string; readonly content: unknown }[]): string | undefined {
  const merged: { role: string; blocks: Block[]; place: string }[] = [];
  for (const [index, { role, content }] of turns.entries()) {
    const blocks: Block[] = Array.isArray(content) ? content : [{ type: "text" }], before = merged.at(-1);
    if (before?.role === role) before.blocks = [...before.blocks, ...blocks];
    else merged.push({ role, blocks, place: `messages.${index}` });
  }
  const ids = (at: number, type: "tool_use" | "tool_result"): unknown[] =>
    (merged[at]?.blocks ?? []).flatMap((block) =>
      block?.type === type ? [type === "tool_use" ? block.id : block.tool_use_id] : []
    );
  for (const [at, { blocks, place }] of merged.entries()) {
    const answers = new Set(ids(at + 1, "tool_result")), calls = new Set(ids(at - 1, "tool_use"));
    const open = ids(at, "tool_use").filter((id) => !answers.has(id));
    if (open.length) {
      return `${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${
        open.join(", ")
      }`;
    }
    const lost = ids(at, "tool_result").filter((id) => !calls.has(id));
    if (lost.length) return `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${lost.join(", ")}`;
    const lastResult = blocks.findLastIndex((block) => block?.type === "tool_result");
    if (blocks.slice(0, Math.max(0, lastResult)).some((block) => block?.type !== "tool_result")) {
      return `${place}: \`tool_result\` blocks must come first`;
    }
  }
  return undefined;
}

function findTextFault(content: unknown, place: string): string | undefined {
  if (content === undefined) return undefined;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks) || !blocks.length) return `${place}: all messages must have non-empty content`;
  const blank = blocks.some((block) => block?.type === "text" && !String(block.text ?? "").trim());
  if (blank) return `${place}: text content blocks must contain non-whitespace text`;
  return blocks.some((block) => !String(block?.text ?? "").isWellFormed())
    ? `${place}: text is not valid Unicode`
    : undefined;
}
