/**
 * The server on standard input and output, and how it ends there.
 *
 * Promised: what came in before the input ended is answered, unless no answer comes for some seconds; a signal, or an output
 * that nobody reads, ends it at once. Nothing is left running behind.
 *
 * @module
 */

import process from "node:process";
// @ts-types="npm:@modelcontextprotocol/sdk@^1.32.2/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { McpServerOptions, McpTransport } from "./options.ts";
import { serveMcp } from "./server.ts";

/** How long nothing may be answered once the input has ended, in seconds. */
const GRACE_S = 3;
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
  /** Whether an answer waits for the client to read. */
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
  const { stdin, stdout } = process;
  stdin.once("end", ended.resolve).once("close", ended.resolve);
  stdout.on("error", end).setMaxListeners(0); // the SDK adds one for every answer that waits to be written
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  const stdio = createStdio(), serving = await serveMcp(stdio, options);
  onStart();
  let isLate = false;
  const answered = ended.promise.then(async () => {
    const leave = watchAnswers(stdio, () => (isLate = true, end()));
    await Promise.race([stop.promise, serving.closed, stdio.answered()]).finally(leave);
    await new Promise<void>((written) => stdout.write("", () => written()));
  });
  await Promise.race([stop.promise, serving.closed, answered]);
  const { length } = stdio.open;
  if (isLate && length) {
    options.onNotice?.(
      `Cannot answer ${length} of the calls: the input has ended, and no answer came for ${GRACE_S} seconds`,
    );
  }
  await serving.close();
  return !stdio.hasFailed();
}

/**
 * Tells when no answer has come for {@linkcode GRACE_S}, until it is left. Time in which the client did not read what was
 * written is not counted, nor, as it goes by steps, time in which the process or the machine was stopped.
 */
function watchAnswers(stdio: Stdio, onLate: () => void): () => void {
  let steps = 0, before = Infinity;
  const timer = setInterval(() => {
    const { length } = stdio.open;
    steps = stdio.isWriting() || length < before ? 0 : steps + 1;
    before = length;
    if (steps === GRACE_S * STEPS_A_SECOND) onLate();
  }, 1000 / STEPS_A_SECOND);
  return () => clearInterval(timer);
}

function createStdio(): Stdio {
  const inner = new StdioServerTransport(), open: unknown[] = [], asked = new Set<number>();
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
