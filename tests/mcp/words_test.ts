/**
 * What is said of what comes in and cannot be used: to the client, to the model and to a person.
 *
 * @module
 */

import { describe, it } from "node:test";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { oneLine } from "../../src/errors.ts";
import { serveMcp } from "../../src/mcp.ts";
import { faultOf, inPlainWords, shortened } from "../../src/mcp/words.ts";
import { code, inFolder, put } from "../support.ts";
import { type Result, serve } from "./served.ts";

/** Breaks lines for some readers, and steers terminals. */
const STEERING = "a\u2028b\u2029c\u0085d\r\ne\x1b[31mf\x9bg";

describe("what somebody else sent", () => {
  it("is shown in one line, and of more than so many characters the beginning", () => {
    assertEquals(shortened("a\n\x1b[31mb"), "a [31mb");
    assertEquals(shortened("x".repeat(200)), "x".repeat(200));
    assertEquals(shortened("x".repeat(201)), `${"x".repeat(200)}…`);
    assertEquals(shortened("abc", 2), "ab…");
    assert(oneLine(shortened(STEERING.repeat(99))) === shortened(STEERING.repeat(99)));
  });

  it("is told to a person as what it is, in one line of ours", () => {
    const json = JSON.stringify({ id: 7, result: { text: `${STEERING}${"x".repeat(9000)}` } });
    const told: [error: Error, words: RegExp][] = [
      [
        new SyntaxError(`Unexpected token ${STEERING}`),
        /^Cannot understand a line of the client: it is no JSON; every message is/,
      ],
      [
        Object.assign(new Error("[\n{}\n]"), { issues: [] }),
        /^Cannot understand a message of the client: it is none of the protocol$/,
      ],
      [
        new Error("ReadBuffer exceeded maximum size of 12 bytes"),
        /^Cannot take a message of the client: it is over the limit of 12 bytes; the server ends$/,
      ],
      [
        new Error(`Received a response for an unknown message ID: ${json}`),
        /^Cannot use an answer of the client: nothing was asked under its id, or it was given up$/,
      ],
      [
        new Error(`Received a progress notification for an unknown token: ${json}`),
        /^Cannot serve the client: Received a progress .*…$/,
      ],
    ];
    for (const [error, words] of told) {
      const line = faultOf(error);
      assertMatch(line, words);
      assertEquals([oneLine(line), line.length < 250], [line, true]);
    }
  });
});

describe("a transport in plain words", () => {
  it("sends what it is given, but for the words of errors", async () => {
    const [left, right] = InMemoryTransport.createLinkedPair(), sent: JSONRPCMessage[] = [];
    right.onmessage = (message: JSONRPCMessage) => void sent.push(message);
    await right.start();
    const plain = inPlainWords(left);
    await plain.start();
    const result = { jsonrpc: "2.0", id: 1, result: { content: ["a\nb"] } }, code = -32602;
    await plain.send(result);
    await plain.send({ jsonrpc: "2.0", id: 2, error: { code, message: `no ${STEERING}${"x".repeat(999)}`, data: 7 } });
    await plain.send({ jsonrpc: "2.0", id: 3, error: { code, message: "see [1]" } });
    assertEquals(sent[0], result as JSONRPCMessage);
    const [, second, third] = sent as { error?: { message: string; data?: unknown } }[];
    assertEquals([second!.error!.data, second!.error!.message.length < 210], [7, true]);
    assertEquals(oneLine(second!.error!.message), second!.error!.message);
    assertEquals(third!.error!.message, "see [1]");
    let isClosed = false;
    plain.onclose = () => void (isClosed = true);
    await plain.close();
    assert(isClosed);
  });

  it("says what is wrong with a request in one line", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", "a\n");
      const [left, right] = InMemoryTransport.createLinkedPair(), answers = new Map<unknown, string>();
      const serving = await serveMcp(left, { roots: [folder] }), all = Promise.withResolvers<void>();
      const params: unknown[] = [{ name: 7 }, {}, { name: "read_file", arguments: "x" }, {
        name: "read_file",
        arguments: [],
      }];
      right.onmessage = (message: JSONRPCMessage) => {
        const { id, error } = message as unknown as { id: unknown; error?: { message: string } };
        answers.set(id, error?.message ?? "");
        if (answers.size === params.length + 2) all.resolve();
      };
      await right.start();
      const send = (id: number, method: string, params?: unknown) =>
        right.send({ jsonrpc: "2.0", id, method, params } as unknown as JSONRPCMessage);
      for (const [at, given] of params.entries()) void send(at, "tools/call", given);
      void send(98, "initialize", { protocolVersion: 7 });
      void send(99, "no/such/method");
      await all.promise;
      for (let at = 0; at < params.length; at++) {
        assertMatch(
          answers.get(at)!,
          /^Cannot understand the request: params\.(?:name|arguments) is not as the protocol has it: [^\n]+$/,
        );
      }
      assertMatch(answers.get(98)!, /^Cannot understand the request: params\.protocolVersion is not as [^\n]+$/);
      assertEquals(answers.get(99), "Method not found");
      await serving.close();
    }));
});

describe("the words of a failed call", () => {
  const result = async (
    client: { callTool: (params: { name: string; arguments: Record<string, unknown> }) => unknown },
    name: string,
    args: object,
  ) => await client.callTool({ name, arguments: { ...args } }) as Result;

  it("do not follow the length of what was asked", () =>
    serve({}, async ({ client, folder }) => {
      put(folder, "long.ts", code(300));
      const huge = "x\n".repeat(1 << 20);
      const calls: [name: string, args: object][] = [
        ["read_file", { path: huge }],
        ["read_file", { path: huge, offset: "huge" }],
        ["read_file", { path: "long.ts", offset: huge }],
        ["read_file", { path: "long.ts", limit: huge }],
        ["read_file", { path: [huge] }],
        ["summarize_file", { path: huge }],
        ["summarize_file", { path: huge, action: huge }],
        ["summarize_file", { path: "long.ts", action: huge }],
        ["summarize_file", { path: "long.ts", action: [huge] }],
        ["summarize_file", { path: "long.ts", action: "lookup", line: huge }],
      ];
      for (const [name, args] of calls) {
        const { content, isError } = await result(client, name, args);
        assertEquals(
          [isError, content.length, content[0]!.text.length < 600],
          [true, 1, true],
          content[0]!.text.slice(0, 200),
        );
        assertEquals(oneLine(content[0]!.text), content[0]!.text);
      }
      const error = await client.callTool({ name: huge }).then(() => undefined, (error: Error) => error);
      assertStringIncludes(error!.message, "There is no tool x x x");
      assert(error!.message.length < 300 && oneLine(error) === error!.message);
    }));

  it("are one line that steers nothing, whatever the names hold", () =>
    serve({}, async ({ client, folder }) => {
      put(folder, `${STEERING}.png`, new Uint8Array([137, 80, 0]));
      put(folder, `${STEERING}.md`, "prose\n");
      const calls: [name: string, args: object][] = [
        ["read_file", { path: `${STEERING}.absent` }],
        ["read_file", { path: `${STEERING}.png` }],
        ["read_file", { path: `${STEERING}.md`, offset: 99 }],
        ["summarize_file", { path: `${STEERING}.absent` }],
        ["summarize_file", { path: `${STEERING}.png` }],
        ["summarize_file", { path: `${STEERING}.md`, action: STEERING }],
        ["summarize_file", { path: `${STEERING}.md`, action: "lookup", line: STEERING }],
      ];
      for (const [name, args] of calls) {
        const { content, isError } = await result(client, name, args);
        assertEquals([isError, content.length], [true, 1], content[0]!.text);
        assertMatch(content[0]!.text, /^Cannot [^\p{Cc}\p{Zl}\p{Zp}]+$/u);
      }
    }));
});
