import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import type { RequestSender, SentRequest } from "../../src/compaction/types.ts";
import { WaymarkError } from "../../src/errors.ts";
import { anthropicSender } from "../../src/providers/anthropic.ts";
import { apiError, message, type MessagesApi, type Reply, startMessagesApi } from "../messages_api.ts";
import { until } from "../support.ts";

const REQUEST: SentRequest = {
  max_tokens: 64, // before the model, as no SDK of ours would put it
  model: "claude-sonnet-5-5",
  tools: [{ name: "read", input_schema: { type: "object" } }],
  tool_choice: { type: "auto" },
  thinking: { type: "adaptive" },
  messages: [{
    role: "user",
    content: [{ type: "text", text: "Notes, please.", cache_control: { type: "ephemeral" } }],
  }],
};

/** Runs a test against a server that answers so. */
async function withSender(
  replies: readonly Reply[],
  test: (sender: RequestSender, api: MessagesApi) => Promise<void>,
): Promise<void> {
  const api = await startMessagesApi({ replies });
  try {
    await test(anthropicSender({ apiKey: api.key, baseURL: api.url }), api);
  } finally {
    await api.close();
  }
}

const { signal } = new AbortController();

/** A server that keeps what it is sent and answers as it is told: for what the other one refuses, streams and betas. */
async function withPlainServer(
  answer: { readonly type: string; readonly body: string },
  test: (sender: RequestSender, seen: { path: string; beta: string | undefined; body: string }[]) => Promise<void>,
): Promise<void> {
  const seen: { path: string; beta: string | undefined; body: string }[] = [];
  const server = createServer(async (incoming, response) => {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    seen.push({ path: incoming.url ?? "", beta: incoming.headers["anthropic-beta"] as string | undefined, body });
    response.writeHead(200, { "content-type": answer.type }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  try {
    await test(anthropicSender({ apiKey: "k", baseURL: `http://127.0.0.1:${port}` }), seen);
  } finally {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}

const MESSAGE = {
  id: "msg_7",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-5-5",
  content: [{ type: "text", text: "Notes." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 70, cache_creation_input_tokens: null },
};

describe("a whole request sent to Claude, over the real SDK", () => {
  it("is the very bytes of the request, once, and its answer with id and usage", async () => {
    const usage = { input_tokens: 30, output_tokens: 5, cache_read_input_tokens: 900, cache_creation_input_tokens: 0 };
    await withSender([message("Notes.", "end_turn", { id: "msg_1", usage })], async (sender, api) => {
      assertEquals(await sender.send(REQUEST, { signal }), {
        text: "Notes.",
        stopReason: "end",
        usage: { input: 30, output: 5, cacheRead: 900, cacheWrite: 0 },
        id: "msg_1",
      });
      assertEquals(api.requests.map(({ raw }) => new TextDecoder().decode(raw)), [JSON.stringify(REQUEST)]);
    });
  });

  it("asks why the cache was missed where the answer before is known, and says what the provider says", async () => {
    const diagnostics = { cache_miss_reason: { type: "tools_changed", cache_missed_input_tokens: 900 } };
    await withSender([message("Notes.", "end_turn", { diagnostics })], async (sender, api) => {
      const { cacheMiss } = await sender.send(REQUEST, { signal, previousId: "msg_0" });
      assertEquals(cacheMiss, "tools_changed");
      const asked = { ...REQUEST, diagnostics: { previous_message_id: "msg_0" } };
      assertEquals(new TextDecoder().decode(api.requests[0]!.raw), JSON.stringify(asked));
      await sender.send({ ...REQUEST, diagnostics: { previous_message_id: "older" } }, { signal, previousId: "msg_0" });
      assertEquals(api.requests[1]!.body!["diagnostics"], { previous_message_id: "msg_0" });
    });
  });

  it("leaves the request of the host as it is", async () => {
    await withSender([message("Notes.")], async (sender) => {
      const before = JSON.stringify(REQUEST);
      await sender.send(Object.freeze({ ...REQUEST }), { signal, previousId: "msg_0" });
      assertEquals(JSON.stringify(REQUEST), before);
    });
  });

  for (
    const [what, content, stop, expected] of [
      ["a tool call alone", [{ type: "tool_use", id: "t", name: "read", input: {} }], "tool_use", ["", "tool"]],
      [
        "a text and a tool call",
        [{ type: "text", text: "Let me see." }, { type: "tool_use", id: "t", name: "read", input: {} }],
        "tool_use",
        ["Let me see.", "tool"],
      ],
      ["reasoning alone", [{ type: "thinking", thinking: "hm", signature: "s" }], "end_turn", ["", "end"]],
      ["a refusal", "No.", "refusal", ["No.", "refusal"]],
      ["an answer cut off", "Notes and", "max_tokens", ["Notes and", "max_tokens"]],
    ] as const
  ) {
    it(`gives ${what} as what it is`, async () => {
      await withSender([message(content, stop)], async (sender) => {
        const { text, stopReason } = await sender.send(REQUEST, { signal });
        assertEquals<unknown>([text, stopReason], expected);
      });
    });
  }

  it("fails with the provider's own words and status, once, and without the key", async () => {
    await withSender([apiError(529, "overloaded_error", "Overloaded")], async (sender, api) => {
      const error = await assertRejects(() => sender.send(REQUEST, { signal }), WaymarkError, "Overloaded");
      assertEquals([error.code, error.status, api.requests.length], ["provider-error", 529, 1]);
      assertStringIncludes(error.message, "claude-sonnet-5-5");
    });
    await withSender([message("unused")], async (_sender, api) => {
      const wrong = anthropicSender({ apiKey: "sk-secret-key", baseURL: api.url });
      const error = await assertRejects(() => wrong.send(REQUEST, { signal }), WaymarkError, "check the API key");
      assert(!error.message.includes("sk-secret-key"));
    });
  });

  it("ends with its signal, and so does the HTTP request", async () => {
    await withSender([{ kind: "hang" }], async (sender, api) => {
      const controller = new AbortController();
      const sent = assertRejects(() => sender.send(REQUEST, { signal: controller.signal }), WaymarkError);
      await until(() => api.requests.length > 0);
      controller.abort();
      await sent;
      assertEquals(await api.requests[0]!.cutShort, true);
    });
  });

  it("fails where what comes back is no message", async () => {
    await withSender([{ kind: "page", status: 200, html: "<html>proxy</html>" }], async (sender) => {
      const error = await assertRejects(() => sender.send(REQUEST, { signal }), WaymarkError);
      assertEquals(error.code, "provider-error");
    });
  });

  it("streams what the host streams, with the same bytes", async () => {
    const events = [
      { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Notes" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "." } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ];
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    await withPlainServer({ type: "text/event-stream", body }, async (sender, seen) => {
      const request = { ...REQUEST, stream: true, metadata: { user_id: "u" } };
      const answer = await sender.send(request, { signal });
      assertEquals([answer.text, answer.stopReason, answer.id, answer.usage.cacheRead], ["Notes.", "end", "msg_7", 70]);
      assertEquals(seen.map(({ body }) => body), [JSON.stringify(request)]);
    });
  });

  it("sends betas where the SDK sends them: in a header, the rest as it is", async () => {
    await withPlainServer({ type: "application/json", body: JSON.stringify(MESSAGE) }, async (sender, seen) => {
      const { text, usage } = await sender.send({ ...REQUEST, betas: ["context-1", "other-2"] }, { signal });
      assertEquals([text, usage.cacheRead, usage.cacheWrite], ["Notes.", 70, 0]);
      assertEquals(seen, [{
        path: "/v1/messages",
        beta: "context-1,other-2",
        body: JSON.stringify(REQUEST),
      }]);
    });
  });

  it("lacks a key, or has an address that is none: that is found at once", () => {
    const noKey = assertThrows(() => anthropicSender({ apiKey: " " }), WaymarkError);
    assertEquals(noKey.code, "no-key");
    assertThrows(() => anthropicSender({ apiKey: "k", baseURL: "nowhere" }), WaymarkError, "is not a URL");
  });
});
