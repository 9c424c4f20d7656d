/**
 * Where tool results stand in messages, and how one gets another text. Pure.
 *
 * Promised: whatever is not changed comes back as the very same object, the array of messages too; beside the text of a
 * result nothing changes. Images and other blocks stay where they are. Known are the shapes of Anthropic, of OpenAI (chat,
 * Responses and its agents) and of the AI SDK (model and UI messages); anything else is left alone.
 *
 * @module
 */

/**
 * Says what a result is to read instead: `undefined` leaves it. `text` is what it reads now, `undefined` where it is no text;
 * `isWhole`: it holds nothing but that text.
 */
export type Rewrite = (callId: string, text: string | undefined, isWhole: boolean) => string | undefined;

type Fields = Readonly<Record<string, unknown>>;

/** Names of a list of messages in a request. */
const LISTS = ["messages", "input", "prompt"];
/** Names of a list of blocks or parts in a message. */
const BLOCKS = ["content", "parts"];

/** What comes out: messages, a request that holds them, or one message, with its results rewritten. */
export function rewriteResults<Input>(input: Input, rewrite: Rewrite): Input {
  if (Array.isArray(input)) return each(input, (message) => rewriteMessage(message, rewrite)) as Input;
  const request = fields(input), list = LISTS.find((name) => Array.isArray(request?.[name]));
  if (!request || list === undefined) return rewriteMessage(input, rewrite) as Input;
  return withField(request, list, each(request[list] as unknown[], (item) => rewriteMessage(item, rewrite))) as Input;
}

function rewriteMessage(value: unknown, rewrite: Rewrite): unknown {
  const message = fields(value);
  if (!message) return value;
  const own = rewriteResult(message, rewrite);
  if (own !== undefined) return own;
  let result = message;
  for (const name of BLOCKS) {
    const blocks = message[name];
    if (!Array.isArray(blocks)) continue;
    const rewritten = each(blocks, (block) => {
      const given = fields(block);
      return given ? rewriteResult(given, rewrite) ?? block : block;
    });
    result = withField(result, name, rewritten);
  }
  return result;
}

/** A tool result with another text; `undefined` where the object is none. */
function rewriteResult(object: Fields, rewrite: Rewrite): Fields | undefined {
  const place = placeOf(object);
  if (!place) return undefined;
  const [callId, name] = place;
  return withField(object, name, rewriteValue(object[name], (text, isWhole) => rewrite(callId, text, isWhole)));
}

/** The id of the call that an object is the result of, and the name of what holds the result. */
function placeOf(object: Fields): readonly [callId: string, field: string] | undefined {
  const { type, role, tool_use_id, tool_call_id, call_id, callId, toolCallId } = object;
  const place = (id: unknown, field: string) =>
    typeof id === "string" && field in object ? [id, field] as const : undefined;
  if (type === "tool_result" || type === "mcp_tool_result") return place(tool_use_id, "content");
  if (role === "tool" && tool_call_id !== undefined) return place(tool_call_id, "content");
  if (role === "toolResult") return place(toolCallId, "content");
  if (typeof type !== "string") return undefined;
  if (type.endsWith("_call_output")) return place(call_id, "output");
  if (type === "function_call_result") return place(callId, "output");
  if (type === "tool-result") return place(toolCallId, "output") ?? place(toolCallId, "result");
  if (type === "dynamic-tool" || type.startsWith("tool-")) return place(toolCallId, "output");
  return undefined;
}

type RewriteText = (text: string | undefined, isWhole: boolean) => string | undefined;

/** What holds a result, with another text: a string, blocks or one block, the AI SDK's typed output, an object with `content`. */
function rewriteValue(value: unknown, rewrite: RewriteText): unknown {
  if (typeof value === "string") return rewrite(value, true) ?? value;
  if (Array.isArray(value)) return rewriteBlocks(value, rewrite);
  const object = fields(value);
  if (!object) return value;
  if (isText(object)) return withField(object, "text", rewrite(object.text, true) ?? object.text);
  const { type, value: inner, content } = object;
  if (typeof type === "string" && "value" in object) {
    if (/^(?:error-)?json$/.test(type) && typeof inner !== "string") {
      const text = rewrite(undefined, false);
      return text === undefined ? value : { ...object, type: type.replace("json", "text"), value: text };
    }
    const isKnown = /^(?:error-)?(?:text|json)$/.test(type) || (type === "content" && Array.isArray(inner));
    return isKnown ? withField(object, "value", rewriteValue(inner, rewrite)) : value;
  }
  if (typeof content !== "string" && !Array.isArray(content)) return value;
  return withField(object, "content", rewriteValue(content, rewrite));
}

/** Blocks in which one text block stands for all: in the place of the first. */
function rewriteBlocks(blocks: readonly unknown[], rewrite: RewriteText): readonly unknown[] {
  const texts = blocks.filter(isText), [first] = texts;
  if (!first) return blocks;
  const text = rewrite(texts.map(({ text }) => text).join("\n"), texts.length === blocks.length);
  if (text === undefined || (texts.length === 1 && text === first.text)) return blocks;
  return blocks.filter((block) => block === first || !isText(block)).map((block) =>
    block === first ? { ...first, text } : block
  );
}

function isText(block: unknown): block is Fields & { readonly text: string } {
  const object = fields(block), type = object?.["type"];
  return typeof object?.["text"] === "string" && (type === undefined || /^(?:(?:in|out)put_)?text$/.test(String(type)));
}

/** A plain object: an instance of a class may keep what a copy would lose. */
function fields(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null ? value as Fields : undefined;
}

/** The object with one field set; itself where the field is that already. */
function withField(object: Fields, name: string, value: unknown): Fields {
  return object[name] === value ? object : { ...object, [name]: value };
}

/** The array with every item put through; itself where none changed. */
function each(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  let changed = false;
  const result = items.map((item) => {
    const other = change(item);
    changed ||= other !== item;
    return other;
  });
  return changed ? result : items;
}
