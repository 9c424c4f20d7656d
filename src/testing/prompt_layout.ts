/**
 * A request of the Messages API as the provider's cache sees it: one line of blocks, tools before system before messages, and
 * what of it is marked. Pure.
 *
 * Modelled on what Anthropic publishes of prompt caching (the page is named in the table of prices); absent: what a model
 * adds of its own, server-side tools, and documents and images as anything but the bytes they are sent as.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";

/** The parts of a prompt, in the order in which they are cached. */
export type PromptSection = "tools" | "system" | "messages";

/** One block of a prompt. */
export interface PromptBlock {
  readonly section: PromptSection;
  /** Equal for equal blocks in equal company: what in the rest of the request decides about its section is in the first one's. */
  readonly key: string;
  /** The block without its mark, for an estimate. */
  readonly value: unknown;
  /** Where it stands when the cache looks back: a run of calls, or of results, is one position. */
  readonly position: number;
  /** It is marked, to be kept for so long. */
  readonly mark?: "5m" | "1h";
}

/** A request as blocks. */
export interface PromptLayout {
  readonly model: string;
  readonly blocks: readonly PromptBlock[];
  /** What in the request besides its blocks decides about each section. */
  readonly settings: Readonly<Record<PromptSection, string>>;
}

/** What is known of the model the request goes to. */
export interface LayoutRules {
  /** Words of a person strip the reasoning before them. */
  readonly stripsThinking: boolean;
  /** The beta features of the request's header. Default none. */
  readonly betas?: string | undefined;
}

/** Most marks a request may have. */
const MOST_MARKS = 4;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Lays a request out.
 *
 * @throws {WaymarkError} with code `provider-error` and status 400 for marks that the API refuses.
 */
export function layOut(body: Fields, { stripsThinking, betas = "" }: LayoutRules): PromptLayout {
  const model = String(body["model"]), messages = asList(body["messages"]).map(fieldsOf);
  const raw: { section: PromptSection; value: Fields; message: number; role: string }[] = [];
  for (const tool of asList(body["tools"])) {
    raw.push({ section: "tools", value: fieldsOf(tool), message: -1, role: "" });
  }
  for (const value of blocksOf(body["system"])) raw.push({ section: "system", value, message: -1, role: "" });
  const lastHuman = messages.findLastIndex((message) =>
    message["role"] === "user" && blocksOf(message["content"]).some(isSaid)
  );
  messages.forEach(({ role, content }, message) => {
    for (const value of blocksOf(content)) {
      if (stripsThinking && isThinking(value) && message < lastHuman) continue;
      raw.push({ section: "messages", value, message, role: String(role) });
    }
  });

  const settings = settingsOf(body, betas, raw.some(({ value }) => hasImage(value)));
  const marks = raw.map(({ value }) => markOf(value));
  if (body["cache_control"]) markLast(raw.map(({ value }) => value), marks, markOf(body)!);
  checkMarks(raw.map(({ value }) => value), marks);

  let position = -1, run = "", section = "";
  const blocks = raw.map(({ section: own, value, message, role }, index): PromptBlock => {
    const type = String(value["type"]), isRun = type === "tool_use" || type === "tool_result";
    const now = isRun ? `${message} ${type}` : "";
    if (!now || now !== run) position++;
    run = now;
    const head = own === section
      ? ""
      : SECTIONS.slice(0, SECTIONS.indexOf(own) + 1).map((name) => settings[name]).join("\n");
    section = own;
    const { cache_control: _mark, ...plain } = value, mark = marks[index];
    return {
      section: own,
      key: `${head}${own} ${role} ${canonical(plain)}`,
      value: plain,
      position,
      ...(mark ? { mark } : {}),
    };
  });
  return { model, blocks, settings };
}

const SECTIONS: readonly PromptSection[] = ["tools", "system", "messages"];

/** What decides about a section besides its blocks; what the API takes for granted is the same as nothing. */
function settingsOf(body: Fields, betas: string, hasImages: boolean): Record<PromptSection, string> {
  const { tool_choice: choice, thinking, output_config: output } = body;
  const asked = fieldsOf(choice)["type"] === "auto" && Object.keys(fieldsOf(choice)).length === 1 ? undefined : choice;
  const thought = fieldsOf(thinking)["type"] === "disabled" ? undefined : thinking;
  return {
    tools: canonical([body["model"], betas]),
    system: canonical([body["speed"]]),
    messages: canonical([asked, thought, output, hasImages]),
  };
}

function markOf(value: Fields): "5m" | "1h" | undefined {
  const mark = value["cache_control"];
  if (!mark) return undefined;
  return fieldsOf(mark)["ttl"] === "1h" ? "1h" : "5m";
}

/** Marks the last block that can be, as a mark on the whole request does. */
function markLast(values: readonly Fields[], marks: ("5m" | "1h" | undefined)[], mark: "5m" | "1h"): void {
  const last = values.findLastIndex((value) => !isThinking(value));
  if (last < 0) return;
  if (marks[last] && marks[last] !== mark) throw refused("cache_control: the last block has a mark of another ttl");
  marks[last] = mark;
}

function checkMarks(values: readonly Fields[], marks: readonly ("5m" | "1h" | undefined)[]): void {
  const given = marks.filter((mark) => mark !== undefined);
  if (given.length > MOST_MARKS) {
    throw refused(`A maximum of ${MOST_MARKS} blocks with cache_control may be provided. Found ${given.length}`);
  }
  if (given.lastIndexOf("1h") > given.indexOf("5m") && given.includes("5m")) {
    throw refused("cache_control.ttl: a ttl of 1h must not come after one of 5m");
  }
  if (values.some((value, index) => marks[index] && isThinking(value))) {
    throw refused("cache_control cannot be set on thinking blocks");
  }
}

function refused(words: string): WaymarkError {
  return new WaymarkError("provider-error", words, { status: 400 });
}

/** A mark says nothing about what a block is, nor does the order of its own fields; what is inside its input is as it is sent. */
function canonical(value: unknown, isInput = false): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, isInput)).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).filter((name) => name !== "cache_control" && (value as Fields)[name] !== undefined);
  const texts = (isInput ? names : names.sort()).map((name) => {
    const inner = (value as Fields)[name];
    const whole = name === "content" ? blocksOf(inner) : inner;
    return `${JSON.stringify(name)}:${canonical(whole, isInput || name === "input" || name === "input_schema")}`;
  });
  return `{${texts.join()}}`;
}

/** Content as blocks: a string is one block of text. */
function blocksOf(content: unknown): Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return asList(content).map(fieldsOf);
}

function isThinking(value: Fields): boolean {
  return value["type"] === "thinking" || value["type"] === "redacted_thinking";
}

/** Whether a block of a user's message is anything but a tool's result. */
function isSaid(value: Fields): boolean {
  return value["type"] !== "tool_result";
}

function hasImage(value: Fields): boolean {
  return value["type"] === "image" || asList(value["content"]).some((block) => fieldsOf(block)["type"] === "image");
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

/** Why a request could not be read from the cache as the one before it, in the API's own names. */
export type MissReason =
  | "model_changed"
  | "tools_changed"
  | "system_changed"
  | "messages_changed"
  | "unavailable";

/** The first thing that keeps a request from being the one before it and more; `undefined` where it is. */
export function compareLayouts(before: PromptLayout, after: PromptLayout): MissReason | undefined {
  if (before.settings.system !== after.settings.system || before.model !== after.model) return "model_changed";
  const keysOf = ({ blocks }: PromptLayout, section: PromptSection): string[] =>
    blocks.filter((block) => block.section === section).map(({ value }) => canonical(value));
  const [tools, system] = (["tools", "system"] as const).map((section) =>
    keysOf(before, section).join() === keysOf(after, section).join()
  );
  if (!tools) return "tools_changed";
  if (!system) return "system_changed";
  const now = keysOf(after, "messages");
  if (keysOf(before, "messages").some((key, index) => key !== now[index])) return "messages_changed";
  const isSame = SECTIONS.every((section) => before.settings[section] === after.settings[section]);
  return isSame ? undefined : "unavailable";
}
