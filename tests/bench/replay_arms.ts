/**
 * The arms of the replay: what stands between an agent and its read tools.
 *
 * @module
 */

import {
  autoCodec,
  createSession,
  createWaymark,
  type Dialect,
  type Middleware,
  rereadGuard,
  type RereadRules,
  type Session,
  wrap,
  type WrapOptions,
} from "../../mod.ts";
import { outline } from "../../src/outline.ts";
import type { OutlineParser } from "../../src/types.ts";

/** What a host hands its tools beside the arguments. */
export interface CallInfo {
  readonly callId: string;
  readonly cwd: string;
  /** The conversation that the result goes to. */
  readonly session?: Session;
}

/** Runs a read tool. */
export type Read = (args: Record<string, unknown>, info: CallInfo) => Promise<unknown>;

/** What a session is replayed on. */
export interface Setting {
  readonly root: string;
  /** The read tool, and the one that runs shell commands that only read. */
  readonly tools: Readonly<Record<"tool" | "shell", { readonly read: Read; readonly dialect: Dialect }>>;
}

/** One conversation, seen from the host. */
export interface Conversation {
  /** Calls one of the tools. */
  read(via: "tool" | "shell", args: Record<string, unknown>, info: CallInfo): Promise<unknown>;
  /** A request to the model begins. */
  turn(number: number): void;
  /** All results so far have left the conversation. */
  compact(): void;
  /** A tool of the host edited a file. */
  edit(path: string): void;
  /** A sub-agent that begins with nothing. */
  spawn(): Conversation;
  /** The host ends. */
  close(): Promise<void>;
}

/** One way to stand between. */
export interface Arm {
  readonly name: string;
  /** What it is, for a table. */
  readonly title: string;
  /** What it says is the product's: nothing of it may be false. */
  readonly isOurs: boolean;
  /** It answers by references where it can. */
  readonly refers: boolean;
  /** A session begins. */
  open(setting: Setting): Conversation;
}

/** How the host tells what left the conversation: `"never"` is a host that breaks its word. Without it there is no session. */
type Telling = "reset" | "reconcile" | "never" | undefined;

/** The call's facts as this host has them: one tool serves every conversation. */
const facts = (info: unknown): CallInfo => info as CallInfo;

/** A conversation over tools that are wrapped already. */
function converse(reads: Record<"tool" | "shell", Read>, telling: Telling): Conversation {
  const session = telling && createSession();
  let messages: unknown[] = [];
  return {
    async read(via, args, info) {
      const result = await reads[via](args, session ? { ...info, session } : info);
      if (telling === "reconcile") messages.push(toolMessage(info.callId, result));
      return result;
    },
    turn(number) {
      if (telling === "reconcile") session?.reconcile(messages);
      while (session && session.turn < number) session.nextTurn();
    },
    compact() {
      if (telling === "reset") session?.reset();
      messages = [{ role: "user", content: "Summary: some files were read." }];
    },
    edit: () => {},
    spawn: () => converse(reads, telling),
    close: () => Promise.resolve(),
  };
}

/** A result as a message of Anthropic's API, with what hosts append to it. */
function toolMessage(id: string, result: unknown): unknown {
  const text = "<system-reminder>\nThe list of things to do is empty.\n</system-reminder>";
  const content = typeof result === "string"
    ? `${result}\n\n${text}`
    : [...result as unknown[], { type: "text", text }];
  return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] };
}

/** Both tools, wrapped in the same way. */
function wrapBoth({ tools }: Setting, put: (read: Read, options: WrapOptions) => Read): Record<"tool" | "shell", Read> {
  const { tool, shell } = tools;
  return {
    tool: put(tool.read, { dialect: tool.dialect, facts }),
    shell: put(shell.read, { dialect: shell.dialect, facts, codec: autoCodec }),
  };
}

/** Times a file is parsed anew that took too long: a busy machine makes no other figures. */
const TRIES = 20;

let latest = outline();

/** One for the whole run: its grammars are loaded once. */
const parser: OutlineParser = {
  ...latest,
  async summarize(file, options) {
    for (let tries = 1;; tries++) {
      const made = await latest.summarize(file, options);
      if (made?.maker !== "scanner" || tries === TRIES) return made;
      latest = outline(); // the one before knows that the file is slow
    }
  },
};

/** The facade, as a host uses it. */
function facade(name: string, title: string, telling: Telling, rules: boolean | RereadRules = true): Arm {
  return {
    name,
    title,
    isOurs: true,
    refers: Boolean(telling && rules),
    open(setting) {
      const { root } = setting;
      const waymark = createWaymark({ root, outline: parser, rereadGuard: rules, onNotice: () => {} });
      const whole = converse(wrapBoth(setting, waymark.wrap), telling);
      return { ...whole, close: () => waymark.close() };
    },
  };
}

/** The re-read guard with no read guard around it. */
const rereadOnly: Arm = {
  name: "reread",
  title: "re-read guard only",
  isOurs: true,
  refers: true,
  open: (setting) => converse(wrapBoth(setting, (read, options) => wrap(read, rereadGuard(), options)), "reset"),
};

/** The rule of several public tools: a path that was read and that no edit named since is said to be unchanged. */
const naive: Arm = {
  name: "naive",
  title: "naive: same path, no edit seen",
  isOurs: false,
  refers: true,
  open(setting) {
    const known = new Set<string>();
    const middleware: Middleware = async (call, next) => {
      const text = `[waymark reference: ${call.path} is unchanged, shown above]`;
      if (call.answerable && known.has(call.path)) return { annotations: [{ kind: "reference", text }] };
      known.add(call.path);
      return await next(call);
    };
    const whole = converse(wrapBoth(setting, (read, options) => wrap(read, middleware, options)), undefined);
    return { ...whole, edit: (path) => void known.delete(path) };
  },
};

/** All arms, in the order of the tables. */
export const ARMS: readonly Arm[] = [
  {
    name: "raw",
    title: "raw",
    isOurs: false,
    refers: false,
    open: ({ tools: { tool, shell } }) => converse({ tool: tool.read, shell: shell.read }, undefined),
  },
  facade("cap", "cap only: a map at every capped read", undefined),
  rereadOnly,
  facade("map", "guard with map, once a conversation", "reset", false),
  facade("all", "all", "reset"),
  facade("messages", "all, told by the messages", "reconcile"),
  facade("diff", 'all, with `onChange: "diff"`', "reset", { onChange: "diff" }),
  naive,
];

/** A host that never tells of a compaction: what that costs, and whether it is found out. */
export const UNTOLD: Arm = { ...facade("untold", "all, compactions untold", "never"), isOurs: false };

/** The arms of these names; all of them without. */
export function armsOf(names?: readonly string[]): readonly Arm[] {
  const unknown = names?.find((name) => !ARMS.some((arm) => arm.name === name));
  if (unknown !== undefined) {
    throw new Error(`Cannot replay through ${unknown}: the arms are ${ARMS.map(({ name }) => name).join(", ")}`);
  }
  return names ? ARMS.filter(({ name }) => names.includes(name)) : ARMS;
}
