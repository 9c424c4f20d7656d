/**
 * pi's own agent session, with a model that does what it is told: its scripted provider.
 *
 * @module
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConformanceHost, HostCall, HostSetup, ReadTool, Shown } from "@waymark/waymark/conformance";
import type { ExtensionAPI, ExtensionFactory, InlineExtension, ToolDefinition } from "@earendil-works/pi-coding-agent";

const pi = await import("@earendil-works/pi-coding-agent");
const { fauxAssistantMessage, fauxProvider, fauxToolCall } = await import("@earendil-works/pi-ai");

/** A message of a request, as the model gets it. */
// deno-lint-ignore no-explicit-any -- pi's own union of many messages
export type Message = any;

/** A call of any tool. */
export interface PiCall extends Omit<HostCall, "args"> {
  readonly args: object;
  /** Default: `read`. */
  readonly name?: string;
}

/** How a session is set up. */
export interface PiSetup {
  readonly cwd: string;
  readonly extensions: readonly (ExtensionFactory | InlineExtension)[];
  /** In place of pi's own read tool. */
  readonly tool?: ReadTool | undefined;
  /** More tools. */
  readonly tools?: readonly ToolDefinition[];
  /** Told the fields of each request, as a provider tells of what it sends. */
  readonly payload?: object;
}

/** A session that runs. */
export type PiLoop = Awaited<ReturnType<typeof openPi>>;

/** Starts a session. */
export async function openPi(setup: PiSetup) {
  const { cwd } = setup, agentDir = await mkdtemp(join(tmpdir(), "waymark-pi-"));
  const faux = fauxProvider({ models: [{ id: "scripted", contextWindow: 1_000_000 }] });
  const { streamSimple } = faux.provider;
  faux.provider.streamSimple = (model, context, options) => {
    if (setup.payload) void options?.onPayload?.({ ...setup.payload, messages: context.messages }, model);
    return streamSimple.call(faux.provider, model, context, options);
  };
  const requests: Message[][] = [];
  const modelRuntime = await pi.ModelRuntime.create({
    authPath: join(agentDir, "auth.json"),
    modelsPath: join(agentDir, "models.json"),
  });
  const extensionFactories = [(api: ExtensionAPI) => api.registerProvider(faux.provider), ...setup.extensions];
  const { tool } = setup, customTools = [...tool ? [replaced(cwd, tool)] : [], ...setup.tools ?? []];
  const settingsManager = pi.SettingsManager.inMemory({
    retry: { enabled: false },
    compaction: { enabled: false, keepRecentTokens: 1 },
  });
  const runtime = await pi.createAgentSessionRuntime(async ({ cwd, sessionManager, sessionStartEvent }) => {
    const services = await pi.createAgentSessionServices({
      cwd,
      agentDir,
      modelRuntime,
      settingsManager,
      resourceLoaderOptions: { extensionFactories },
    });
    const made = await pi.createAgentSessionFromServices({
      services,
      sessionManager,
      customTools,
      model: faux.getModel(),
      ...sessionStartEvent && { sessionStartEvent },
    });
    return { ...made, services, diagnostics: services.diagnostics };
  }, { cwd, agentDir, sessionManager: pi.SessionManager.inMemory(cwd) });
  const errors: unknown[] = [];
  const bind = () => runtime.session.bindExtensions({ onError: (error) => void errors.push(error) });
  await bind();

  /** One turn: the model makes these calls at once. What it is shown of each, as pi has it. */
  const turn = async (calls: readonly PiCall[], signal?: AbortSignal): Promise<Message[]> => {
    const made = calls.map(({ args, callId, name = "read" }) => fauxToolCall(name, { ...args }, { id: callId }));
    let next: Message[] | undefined;
    faux.setResponses([
      (
        { messages },
      ) => (requests.push(structuredClone(messages)), fauxAssistantMessage(made, { stopReason: "toolUse" })),
      ({ messages }) => (requests.push(next = structuredClone(messages)), fauxAssistantMessage("done")),
    ]);
    const { session } = runtime, abort = (): void => void session.abort();
    signal?.addEventListener("abort", abort, { once: true });
    await session.prompt("go on");
    signal?.removeEventListener("abort", abort);
    const messages: Message[] = next ?? session.messages;
    return calls.map(({ callId }) => messages.findLast((message) => message.toolCallId === callId));
  };
  return {
    get session() {
      return runtime.session;
    },
    /** The conversation so far goes on in another session. */
    async fork() {
      await runtime.fork(runtime.session.sessionManager.getLeafId()!, { position: "at" });
      await bind();
    },
    /** Another conversation. */
    async renew() {
      await runtime.newSession();
      await bind();
    },
    faux,
    requests,
    errors,
    turn,
    /** The same, as the conformance suite has it. */
    ask: async (calls: readonly PiCall[], signal?: AbortSignal): Promise<Shown[]> =>
      (await turn(calls, signal)).map(shown),
    async close() {
      await runtime.dispose();
      await rm(agentDir, { recursive: true, force: true });
    },
  };
}

/** What the model says. */
export function says(text: string): Message {
  return fauxAssistantMessage(text);
}

/** A result as the model is shown it. */
export function shown({ content, isError }: Message): Shown {
  const texts: string[] = [], images: string[] = [];
  for (const block of content) {
    if (block.type === "text") texts.push(block.text);
    else images.push(block.data);
  }
  return { text: texts.join("\n"), failed: isError, images };
}

/** pi's read tool, with another inside. */
function replaced(cwd: string, tool: ReadTool): ToolDefinition {
  const own = pi.createReadToolDefinition(cwd);
  return {
    ...own,
    async execute(_id: string, args: unknown, signal: AbortSignal | undefined) {
      const result = await tool(args as Record<string, unknown>, { signal });
      const content = typeof result === "string"
        ? [{ type: "text" as const, text: result }]
        : result.map((block) => ({ ...block }));
      return { content, details: undefined };
    },
  } as unknown as ToolDefinition;
}

/** pi as the conformance suite has it. */
export function piConformance(
  dialect: ConformanceHost["dialect"],
  extensions: (setup: HostSetup) => readonly ExtensionFactory[],
): ConformanceHost {
  return {
    name: "pi 1.6.0",
    dialect,
    async open(setup) {
      const loop = await openPi({ cwd: setup.root, extensions: extensions(setup), tool: setup.tool });
      return { turn: (calls, options) => loop.ask(calls, options?.signal), close: loop.close };
    },
  };
}
