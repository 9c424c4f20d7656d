/**
 * Drives the real Claude Code through its SDK: a Messages API on loopback plays the model, the home directory is a temporary
 * one, and nothing goes out.
 *
 * @module
 */

import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Options, query, type SDKMessage, type SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import { asEvents } from "../messages_stream.ts";

/** The binary the SDK starts on this machine; `undefined` where its package is not installed. */
export const binary: string | undefined = [
  `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude${
    process.platform === "win32" ? ".exe" : ""
  }`,
].map((path) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url))).find((path) => existsSync(path));

/** Why no test of this host can run here; `false` where it can. */
export const skip: string | false = binary ? false : "the binary of Claude Code is not installed for this machine";

/** A block of a model's answer. */
export type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: unknown };

/** A message of a request. */
export interface Message {
  readonly role: string;
  readonly content: string | readonly Record<string, unknown>[];
}

/** A request that reached the model. */
export interface Request {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly name: string }[];
}

/** The model: what it answers a request. */
export type Script = (request: Request) => readonly Block[];

let serial = 0;

/** A call the model makes. */
export function call(name: string, input: unknown, id = `toolu_${++serial}`): Block {
  return { type: "tool_use", id, name, input };
}

/** Answers one after the other, the last one being words. */
export function inTurn(...answers: readonly (readonly Block[])[]): Script {
  let next = 0;
  return () => answers[next++] ?? [{ type: "text", text: "done" }];
}

/** What a conversation is begun with. */
export interface ClaudeSetup {
  readonly root: string;
  readonly script: Script;
  readonly options?: Options;
  /** A home directory that stays. Default: one of its own. */
  readonly home?: string;
}

/** A running conversation. */
export interface Claude {
  /** All requests so far. */
  readonly requests: readonly Request[];
  /** A person's words: resolves when the model has had its say. */
  say(text: string): Promise<void>;
  /** A person stops what is going on. */
  interrupt(): Promise<unknown>;
  /** Everything the SDK told. */
  readonly messages: readonly SDKMessage[];
  close(): Promise<void>;
}

/** The model, on loopback. */
export interface ScriptedApi {
  /** All requests so far. */
  readonly requests: readonly Request[];
  /** What a Claude Code needs in its environment to ask this model and nobody else, with a home directory. */
  environment(home: string): Record<string, string>;
  close(): Promise<void>;
}

/** Starts the model. */
export async function startApi(script: Script): Promise<ScriptedApi> {
  const requests: Request[] = [];
  const api = createServer(async (incoming, response) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const url = incoming.url ?? "", isCount = url.includes("count_tokens");
    if (isCount || !url.startsWith("/v1/messages")) {
      response.writeHead(isCount ? 200 : 404, { "content-type": "application/json" });
      return response.end(isCount ? JSON.stringify({ input_tokens: Math.ceil(text.length / 4) }) : "{}");
    }
    const request = JSON.parse(text) as Request & { stream?: boolean }, content = script(request);
    requests.push(request);
    const message = {
      id: `msg_${++serial}`,
      type: "message",
      role: "assistant",
      model: request.model,
      content: content as unknown as Record<string, unknown>[],
      stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    };
    response.writeHead(200, { "content-type": request.stream ? "text/event-stream" : "application/json" });
    response.end(request.stream ? asEvents(message) : JSON.stringify(message));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  const { port } = api.address() as { port: number };
  return {
    requests,
    environment: (home) => ({
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      ANTHROPIC_API_KEY: "sk-ant-no-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
    close: () =>
      new Promise<void>((resolve) => {
        api.close(() => resolve());
        api.closeAllConnections();
      }),
  };
}

/** Starts Claude Code in a folder. */
export async function startClaude({ root, script, options, home: given }: ClaudeSetup): Promise<Claude> {
  const home = given ?? realpathSync(mkdtempSync(join(tmpdir(), "waymark-home-")));
  const api = await startApi(script), { requests } = api, messages: SDKMessage[] = [];

  const said: string[] = [];
  let wake = (): void => {}, isOver = false;
  async function* prompts(): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      while (said.length) {
        const content = said.shift()!;
        yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null } as SDKUserMessage;
      }
      if (isOver) return;
      await new Promise<void>((resolve) => wake = resolve);
    }
  }
  const running = query({
    prompt: prompts(),
    options: {
      cwd: root,
      model: "claude-haiku-4-5",
      permissionMode: "dontAsk",
      allowedTools: ["Read", "Edit", "Agent"],
      settingSources: [],
      stderr: () => {},
      ...options,
      env: { ...api.environment(home), ...options?.env },
    },
  });
  let answered = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const message of running) {
      messages.push(message);
      if (message.type === "result") answered.resolve();
    }
  })();
  reading.then(
    () => answered.reject(new Error("Claude Code has ended")),
    (error) => answered.reject(error),
  );
  return {
    requests,
    messages,
    async say(text) {
      answered = Promise.withResolvers<void>();
      answered.promise.catch(() => {});
      said.push(text);
      wake();
      await answered.promise;
    },
    interrupt: () => running.interrupt(),
    async close() {
      isOver = true;
      answered.promise.catch(() => {});
      wake();
      await reading.catch(() => {});
      await api.close();
      if (given === undefined) rmSync(home, { recursive: true, force: true });
    },
  };
}

/** One question in a conversation of its own: all that the model was asked. */
export async function ask(setup: ClaudeSetup): Promise<readonly Request[]> {
  const claude = await startClaude(setup);
  try {
    await claude.say("go");
    return claude.requests;
  } finally {
    await claude.close();
  }
}

/** What the model is shown of one call: the result, with the words of hooks where this model is shown them. */
export interface Result {
  readonly text: string;
  readonly isError: boolean;
  readonly images: readonly string[];
}

/** Words of Claude Code's own that are no part of a result. */
const OWN_WORDS = /\n*<system-reminder>\n(?!Post).*?\n<\/system-reminder>/gs;

/** The results in a request, by the ids of their calls; for models that are shown the words of hooks inside of them. */
export function resultsOf({ messages }: Request): Map<string, Result> {
  const found = new Map<string, Result>();
  for (const { content } of messages) {
    for (const block of typeof content === "string" ? [] : content) {
      if (block["type"] !== "tool_result") continue;
      const given = block["content"], blocks = typeof given === "string" ? [{ type: "text", text: given }] : given;
      const parts = blocks as { type: string; text?: string; source?: { data: string } }[];
      const text = parts.flatMap((part) => part.type === "text" ? [part.text!] : []).join("\n").replace(OWN_WORDS, "");
      const images = parts.flatMap((part) => part.type === "image" ? [part.source!.data] : []);
      found.set(String(block["tool_use_id"]), { text, isError: block["is_error"] === true, images });
    }
  }
  return found;
}

/** Words of hooks in messages of their own, for models that are shown them so. */
export function hookWords({ messages }: Request): string[] {
  const texts = messages.filter(({ role }) => role === "system").map(({ content }) =>
    typeof content === "string" ? content : content.map(({ text }) => text).join("\n\n")
  );
  return texts.flatMap((text) => text.split(/\n*(?=^PostToolUse(?:Failure)?:\w+ hook additional context: )/m)).filter((
    text,
  ) => text.startsWith("PostToolUse"));
}
