/**
 * The real opencode: its server in a process of its own, with a model on loopback that does what it is told.
 *
 * Its plugin hands every hook on to this process and what comes back to opencode, so that the adapter runs here, on each runtime.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { HostCall, HostSetup, OpenHost, ReadTool, Shown } from "@waymark/waymark/conformance";
import type { OpencodeHooks } from "@waymark/waymark/adapters/hooks";

// deno-lint-ignore no-explicit-any -- requests and answers of opencode and of a provider
type Json = any;

const binary = fileURLToPath(new URL("node_modules/opencode-linux-x64/bin/opencode", import.meta.url));

/** Why opencode cannot run here; `false` where it can. */
export const isMissing: string | false = existsSync(binary) && process.platform === "linux" && process.arch === "x64"
  ? false
  : "there is no opencode for this platform";

/** A call of any tool. */
export interface OpencodeCall extends Omit<HostCall, "args"> {
  readonly args: object;
  /** Default: `read`. */
  readonly name?: string;
}

/** What the model does in a turn, and the request that came then. */
interface Turn {
  readonly calls: readonly OpencodeCall[];
  asked: boolean;
  next?: Json;
}

/** A project of opencode's. */
interface Project {
  /** Default: none. */
  readonly hooks?: OpencodeHooks | undefined;
  readonly tool?: ReadTool | undefined;
}

/** How a conversation begins. */
interface OpenOptions extends Project {
  /** The project's folder. */
  readonly root: string;
  /** It takes place there. Default false. */
  readonly isOwn?: boolean | undefined;
}

/** A server that runs. */
export type Opencode = Awaited<ReturnType<typeof startOpencode>>;

/** Starts opencode's server, with a home of its own and no network but loopback. */
export async function startOpencode() {
  const home = await realpath(await mkdtemp(join(tmpdir(), "waymark-opencode-")));
  const turns = new Map<string, Turn>(), projects = new Map<string, Project>(), requests: Json[] = [];
  let serial = 0;

  const api = await listen(async (request, body, signal) => {
    if (request.url === "/bridge") return JSON.stringify(await bridged(projects, body, signal) ?? null);
    requests.push(body);
    return answer(body, turns);
  });
  await writeFiles(home, {
    "config/opencode/opencode.json": JSON.stringify(settingsFor(api.url)),
    "config/opencode/plugin/bridge.js": bridge(api.url),
    ...installed("config/opencode"),
    ...RIPGREP,
  });
  const child = spawn(binary, ["serve", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: home,
    env: environment(home),
  });
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: unknown): void => {
      output += chunk;
      const found = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`opencode ended with ${code}: ${output}`)));
    child.on("error", reject);
  });
  const call = async (method: string, path: string, directory: string, body?: object): Promise<Json> => {
    const response = await fetch(`${url}${path}?directory=${encodeURIComponent(directory)}`, {
      method,
      headers: { "content-type": "application/json" },
      ...body && { body: JSON.stringify(body) },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`opencode answered ${response.status}: ${text}`);
    return text && JSON.parse(text);
  };

  return {
    url,
    requests,
    call,
    /** What the model does where it is next asked for `name`: in a conversation that opencode begins by itself. */
    script(calls: readonly OpencodeCall[]) {
      const name = `turn-${++serial}`, turn: Turn = { calls, asked: false };
      turns.set(name, turn);
      return { name, shown: () => Promise.resolve(calls.map(({ callId }) => shownOf(callId, turn.next, []))) };
    },
    /** A conversation: in its project's own folder, or, as opencode takes long to get to know one, in one that it knows. */
    async open({ root, hooks, tool, isOwn = false }: OpenOptions) {
      const folder = isOwn ? root : join(home, tool ? "given" : "built-in"), project = { hooks, tool };
      await mkdir(folder, { recursive: true });
      projects.set(folder, project);
      const session: string = (await call("POST", "/session", folder, { title: "Turns" })).id;
      projects.set(session, project);
      const turn = async (calls: readonly OpencodeCall[], signal?: AbortSignal): Promise<Shown[]> => {
        const name = `turn-${++serial}`, turn: Turn = { calls, asked: false };
        turns.set(name, turn);
        const abort = (): void => void call("POST", `/session/${session}/abort`, folder, {});
        signal?.addEventListener("abort", abort, { once: true });
        await call("POST", `/session/${session}/message`, folder, {
          model: { providerID: "scripted", modelID: "m" },
          parts: [{ type: "text", text: name }],
        });
        signal?.removeEventListener("abort", abort);
        const parts = (await call("GET", `/session/${session}/message`, folder)).flatMap(({ parts }: Json) => parts);
        return calls.map(({ callId }) => shownOf(callId, turn.next, parts));
      };
      return { session, folder, turn };
    },
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
      api.server.closeAllConnections();
      await new Promise((resolve) => api.server.close(resolve));
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Runs opencode once, as from a shell, with a project's own plugin: the requests that the model got, and what was printed. */
export async function runOpencode(
  root: string,
  calls: readonly (readonly OpencodeCall[])[],
): Promise<{ requests: Json[]; output: string }> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "waymark-opencode-"))), requests: Json[] = [];
  const left = [...calls];
  const api = await listen((_request, body) => {
    if (!body.tools?.length) return events([{ type: "text", text: "A title" }]);
    requests.push(body);
    const next = left.shift();
    return Promise.resolve(events(next ? next.map(toolUse) : [{ type: "text", text: "done" }]));
  });
  try {
    await writeFiles(home, {
      "config/opencode/opencode.json": JSON.stringify(settingsFor(api.url)),
      ...installed("config/opencode"),
      ...RIPGREP,
    });
    await writeFiles(root, installed(".opencode"));
    const child = spawn(binary, ["run", "--model", "scripted/m", "go"], {
      cwd: root,
      env: environment(home),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => output += chunk);
    child.stderr.on("data", (chunk) => output += chunk);
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`opencode ended with ${code}: ${output}`);
    return { requests, output };
  } finally {
    api.server.closeAllConnections();
    await new Promise((resolve) => api.server.close(resolve));
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** opencode as the conformance suite has it. */
export async function openConformance(
  opencode: Opencode,
  { root, tool }: HostSetup,
  hooks: OpencodeHooks | undefined,
): Promise<OpenHost> {
  const { turn } = await opencode.open({ root, tool, hooks });
  return { turn: (calls, options) => turn(calls, options?.signal), close: () => Promise.resolve() };
}

/** Tools that no test calls: opencode describes each of its tools anew for every request. */
const UNUSED = ["bash", "glob", "grep", "skill", "todowrite", "webfetch", "write"];

function settingsFor(api: string): object {
  return {
    autoupdate: false,
    share: "disabled",
    snapshot: false,
    lsp: false,
    formatter: false,
    model: "scripted/m",
    small_model: "scripted/m",
    permission: { "*": "allow", external_directory: "allow" },
    tools: Object.fromEntries(UNUSED.map((name) => [name, false])),
    provider: {
      scripted: {
        npm: "@ai-sdk/anthropic",
        name: "Scripted",
        options: { baseURL: `${api}/v1`, apiKey: "none" },
        models: {
          m: {
            name: "m",
            limit: { context: 1_000_000, output: 8_000 },
            attachment: true,
            modalities: { input: ["text", "image"], output: ["text"] },
          },
        },
      },
    },
  };
}

function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_CACHE_HOME: join(home, "cache"),
    XDG_STATE_HOME: join(home, "state"),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_FFF: "1",
    OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER: "1",
  };
}

/** What opencode looks for in a folder of its own before it installs packages there, which it would from a registry. */
function installed(folder: string): Record<string, string> {
  const dependencies = { "@opencode-ai/plugin": "1.18.33" };
  return {
    [`${folder}/package.json`]: JSON.stringify({ dependencies }),
    [`${folder}/package-lock.json`]: JSON.stringify({ packages: { "": { dependencies } } }),
    [`${folder}/node_modules/.keep`]: "",
  };
}

/** opencode looks for ripgrep, and would download it: one that finds nothing. */
const RIPGREP = { "bin/rg": "#!/bin/sh\nexit 1\n" };

async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), content, { mode: 0o755 });
  }
}

/** A server on loopback. The signal is that of a client which has gone before it was answered. */
async function listen(
  handle: (request: IncomingMessage, body: Json, signal: AbortSignal) => string | Promise<string>,
) {
  const server: Server = createServer((request, response) => {
    const gone = new AbortController();
    response.on("close", () => !response.writableEnded && gone.abort());
    let text = "";
    request.setEncoding("utf8").on("data", (chunk) => text += chunk).on("end", async () => {
      const body = await handle(request, JSON.parse(text), gone.signal);
      const isStream = body.startsWith("event: ");
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** What the model says: the calls of the turn that was asked for last, or that it is done. */
function answer({ tools, messages }: Json, turns: ReadonlyMap<string, Turn>): string {
  if (!tools?.length) return events([{ type: "text", text: "A title" }]);
  const names = JSON.stringify(messages).match(/turn-\d+/g), turn = turns.get(names?.at(-1) ?? "");
  if (turn && !turn.asked) {
    turn.asked = true;
    return events(turn.calls.map(toolUse));
  }
  if (turn) turn.next ??= messages;
  return events([{ type: "text", text: "done" }]);
}

function toolUse({ args, callId: id, name = "read" }: OpencodeCall): Json {
  return { type: "tool_use", id, name, input: args };
}

/** An answer as a provider streams it. */
function events(content: readonly Json[]): string {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
  const stop = content[0].type === "text" ? "end_turn" : "tool_use";
  const all: Json[] = [{ type: "message_start", message }];
  for (const [index, { input, text, ...block }] of content.entries()) {
    const empty = block.type === "text" ? { ...block, text: "" } : { ...block, input: {} };
    const delta = block.type === "text"
      ? { type: "text_delta", text }
      : { type: "input_json_delta", partial_json: JSON.stringify(input) };
    all.push(
      { type: "content_block_start", index, content_block: empty },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    );
  }
  all.push({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage }, {
    type: "message_stop",
  });
  return all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** What the model is shown of a call: in the request that followed, or, where none did, in what opencode kept. */
function shownOf(callId: string, messages: Json, parts: readonly Json[]): Shown {
  const kept = parts.find((part) => part.callID === callId)?.state, failed = kept?.status === "error";
  const result = messages?.flatMap(({ content }: Json) => Array.isArray(content) ? content : [])
    .find((block: Json) => block.tool_use_id === callId);
  if (!result) return { text: kept?.output ?? kept?.error ?? "", failed };
  const blocks = typeof result.content === "string" ? [{ type: "text", text: result.content }] : result.content;
  const texts = blocks.flatMap(({ type, text }: Json) => type === "text" ? [text] : []);
  const images = blocks.flatMap(({ type, source }: Json) => type === "image" ? [source.data] : []);
  return { text: texts.join("\n"), failed: failed || result.is_error === true, images };
}

/** A hook, or a read, that opencode's process asks of this one. */
async function bridged(
  projects: ReadonlyMap<string, Project>,
  { directory, name, input, output }: Json,
  signal: AbortSignal,
): Promise<Json> {
  const session = input?.sessionID ?? output?.messages?.at(-1)?.info.sessionID ?? input?.event?.properties?.sessionID;
  const project = projects.get(session) ?? projects.get(directory);
  if (name === "init") return { hasTool: project?.tool !== undefined };
  if (project && name === "read") {
    try {
      return { result: await project.tool!(output, { signal }) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }
  if (!project?.hooks) return undefined;
  await project.hooks[name as "tool.execute.before"](input, output);
  return { output };
}

/** The plugin. */
function bridge(api: string): string {
  const zod = new URL("node_modules/@opencode-ai/plugin/dist/tool.js", import.meta.url).href;
  return `import { tool } from ${JSON.stringify(zod)};
const z = tool.schema;
const ask = async (body, signal) => (await fetch(${
    JSON.stringify(`${api}/bridge`)
  }, { method: "POST", body: JSON.stringify(body), signal })).json();
export const Bridge = async ({ directory }) => {
  const hook = (name) => async (input, output) => {
    const answer = await ask({ directory, name, input, output });
    if (answer && output.args) Object.assign(output.args, answer.output.args);
    else if (answer && output.messages) output.messages.splice(0, output.messages.length, ...answer.output.messages);
    else if (answer) Object.assign(output, answer.output);
  };
  const { hasTool } = await ask({ directory, name: "init" });
  const read = tool({
    description: "Reads a file",
    args: { filePath: z.any(), offset: z.any().optional(), limit: z.any().optional() },
    async execute(output, { abort, sessionID }) {
      const { result, error } = await ask({ directory, name: "read", input: { sessionID }, output }, abort);
      if (error !== undefined) throw new Error(error);
      if (typeof result === "string") return result;
      const attachments = result.flatMap(({ type, mimeType: mime, data }) => type === "image" ? [{ type: "file", mime, url: "data:" + mime + ";base64," + data }] : []);
      return { output: result.flatMap(({ text }) => text ?? []).join("\\n"), attachments };
    },
  });
  return {
    "tool.execute.before": hook("tool.execute.before"),
    "tool.execute.after": hook("tool.execute.after"),
    "experimental.chat.messages.transform": hook("experimental.chat.messages.transform"),
    event: async (input) => input.event.type.startsWith("session.") && await hook("event")(input, {}),
    ...hasTool && { tool: { read } },
  };
};
`;
}
