/**
 * What is said of what comes in and cannot be used: one line, whose length does not follow what came.
 *
 * @module
 */

import { attempting, oneLine } from "../errors.ts";
import type { McpTransport } from "./options.ts";

/** Most characters that are shown of what is somebody else's. */
const MAX_SHOWN = 200;

/** The beginning of what may be of any length, in one line. */
export function shortened(text: string, most = MAX_SHOWN): string {
  const line = oneLine(text.slice(0, most));
  return text.length > most ? `${line}…` : line;
}

/** What a person is told of what the SDK reports of the connection. */
export function faultOf(error: Error): string {
  const { name, message } = error, [, limit] = /exceeded maximum size of (\d+) bytes/.exec(message) ?? [];
  if ("issues" in error) return "Cannot understand a message of the client: it is none of the protocol";
  if (name === "SyntaxError") {
    return "Cannot understand a line of the client: it is no JSON; every message is a line of it";
  }
  if (limit) return `Cannot take a message of the client: it is over the limit of ${limit} bytes; the server ends`;
  if (/response for an unknown message ID/.test(message)) {
    return "Cannot use an answer of the client: nothing was asked under its id, or it was given up";
  }
  return `Cannot serve the client: ${shortened(message)}`;
}

/** A transport on which errors go out in one line, and what the SDK finds in a request that is none of the protocol in ours. */
export function inPlainWords(transport: McpTransport): McpTransport {
  const send: McpTransport["send"] = (message, ...rest: unknown[]) =>
    Reflect.apply(transport.send, transport, [plainly(message), ...rest]);
  return new Proxy(transport, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      return key === "send" ? send : typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}

interface Failure {
  readonly error?: { readonly message?: unknown };
}

function plainly(message: Failure): Failure {
  const { error } = message, words = error?.message;
  return typeof words === "string"
    ? { ...message, error: { ...error, message: issueOf(words) ?? shortened(words) } }
    : message;
}

/** What is wrong with a request, of the list that a check of its shape gives for words. */
function issueOf(words: string): string | undefined {
  return attempting()(() => {
    const [{ path, message }] = JSON.parse(words.slice(words.indexOf("[")));
    if (!Array.isArray(path) || typeof message !== "string") return undefined;
    const where = path.join(".") || "it";
    return shortened(`Cannot understand the request: ${where} is not as the protocol has it: ${message}`);
  });
}
