/**
 * The server on standard input and output, and how it ends there.
 *
 * Promised: what came in before the input ended is answered, unless no answer comes for some seconds; a signal, or an output
 * that nobody reads, ends it at once. Nothing is left running behind.
 *
 * @module
 */

import process from "node:process";
import { Writable } from "node:stream";
// @ts-types="npm:@modelcontextprotocol/sdk@^1.32.2/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { isBrokenPipe } from "../cli/command_io.ts";
import type { McpServerOptions, McpTransport } from "./options.ts";
import { serveMcp } from "./server.ts";

/** Once the input has ended: how long no answer may come, and how long the client may leave one unread, in seconds. */
const GRACE_S = 3, UNREAD_S = 60;
const STEPS_A_SECOND = 10;

/** A message of the protocol: a request has both, an answer an id alone. */
interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly requestId?: unknown };
}

/** Standard input and output, as a transport that knows what is under way. */
interface Stdio extends McpTransport {
  /** Requests of the client that have no answer yet. */
  readonly open: readonly unknown[];
  /** Whether something waits for the client to read. */
  isWriting(): boolean;
  /** Nothing comes in any more: resolves when every request is answered. */
  answered(): Promise<void>;
  /** Whether it ended by itself, with what it could not go on from. */
  hasFailed(): boolean;
}

/**
 * Serves until the input ends and what came in is answered, the output breaks or a signal comes: whether that was all. False
 * where it could not go on, which `onNotice` was told.
 *
 * @throws {WaymarkError} as {@linkcode serveMcp} does.
 */
export async function serveStdio(options: McpServerOptions, onStart: () => void): Promise<boolean> {
  const stop = Promise.withResolvers<void>(), ended = Promise.withResolvers<void>(), end = (): void => stop.resolve();
  const { stdin } = process, output = createOutput();
  const tell = (words: string): void => options.onNotice?.(words);
  let fault: unknown, late: string | undefined;
  stdin.once("end", ended.resolve).once("close", ended.resolve);
  output.on("error", (error) => (fault = error, end())).setMaxListeners(0); // the SDK adds one for every answer that waits
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, end);
  const stdio = createStdio(output), serving = await serveMcp(stdio, options);
  onStart();
  const answered = ended.promise.then(async () => {
    const leave = watchAnswers(stdio, (words) => (late = words, end()));
    await Promise.race([stop.promise, serving.closed, stdio.answered()]).finally(leave);
    await new Promise<void>((written) => output.write("", () => written()));
  });
  await Promise.race([stop.promise, serving.closed, answered]);
  const isLost = fault !== undefined && !isBrokenPipe(fault), { length } = stdio.open;
  if (isLost) tell(`Cannot write to standard output: ${(fault as Error).message}`);
  else if (late && length) tell(`Cannot answer ${length} of the calls: the input has ended, and ${late}`);
  await serving.close();
  return !isLost && !stdio.hasFailed();
}

/** Standard output. Deno's stream of that name waits within a write for the client to read, deaf to signals meanwhile. */
function createOutput(): Writable {
  const { Deno: deno } = globalThis as { Deno?: { stdout: { write(bytes: Uint8Array): Promise<number> } } };
  if (!deno) return process.stdout;
  const write = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length;) at += await deno.stdout.write(bytes.subarray(at));
  };
  return new Writable({ write: (bytes: Uint8Array, _, done) => void write(bytes).then(() => done(), done) });
}

/**
 * Tells, until it is left, when no answer has come for {@linkcode GRACE_S}, or none has been read for {@linkcode UNREAD_S}.
 * It goes by steps, so that time in which the process or the machine was stopped is not counted.
 */
function watchAnswers(stdio: Stdio, onLate: (words: string) => void): () => void {
  let steps = 0, before = Infinity;
  const timer = setInterval(() => {
    const { length } = stdio.open, isWriting = stdio.isWriting(), seconds = isWriting ? UNREAD_S : GRACE_S;
    steps = length < before ? 0 : steps + 1;
    before = length;
    if (steps >= seconds * STEPS_A_SECOND) {
      onLate(`no answer ${isWriting ? "was read" : "came"} for ${seconds} seconds`);
    }
  }, 1000 / STEPS_A_SECOND);
  return () => clearInterval(timer);
}

function createStdio(output: Writable): Stdio {
  const inner = new StdioServerTransport(process.stdin, output), open: unknown[] = [], asked = new Set<number>();
  const answered = Promise.withResolvers<void>();
  let hasEnded = false, isClosed = false, hasFailed = false, writing = 0;
  const settle = (): void => {
    if (hasEnded && !open.length) answered.resolve();
  };
  const drop = (id: unknown): void => {
    const at = open.indexOf(id);
    if (at >= 0) open.splice(at, 1);
    settle();
  };
  /** Nobody is left to answer what the server asks. */
  const refuse = (id: number): void => {
    if (!asked.delete(id)) return;
    stdio.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32000, message: "the input has ended" } });
  };
  const stdio: Stdio = {
    open,
    isWriting: () => writing > 0,
    start: () => inner.start(),
    async send(message) {
      const { id, method, params } = message as Message, isRequest = method !== undefined && id !== undefined;
      if (isRequest) asked.add(Number(id));
      else if (method === "notifications/cancelled") asked.delete(Number(params?.requestId));
      writing++;
      await inner.send(message).finally(() => writing--);
      if (method === undefined) drop(id);
      else if (isRequest && hasEnded) refuse(Number(id));
    },
    async close() {
      isClosed = true;
      await inner.close();
    },
    answered() {
      hasEnded = true;
      for (const id of asked) refuse(id);
      settle();
      return answered.promise;
    },
    hasFailed: () => hasFailed,
  };
  inner.onmessage = (message) => {
    const { id, method, params } = message as Message;
    if (method === undefined) asked.delete(Number(id));
    else if (id !== undefined) open.push(id);
    else if (method === "notifications/cancelled") drop(params?.requestId); // it gets no answer
    stdio.onmessage?.(message);
  };
  inner.onerror = (error) => stdio.onerror?.(error);
  inner.onclose = () => {
    hasFailed = !isClosed;
    stdio.onclose?.();
  };
  return stdio;
}
