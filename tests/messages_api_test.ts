import { Anthropic } from "@anthropic-ai/sdk";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { promptCache } from "../src/testing.ts";
import { apiError, message, type MessagesApi, startMessagesApi } from "./messages_api.ts";

const HEADERS = {
  "content-type": "application/json",
  "anthropic-version": "2026-10-21",
  authorization: "Bearer test-key",
};
const BODY = { model: "claude-haiku-5-5", max_tokens: 10, messages: [{ role: "user", content: "?" }] };

/** What the server says to a request with these changes; undefined takes a field or header away. */
async function say(
  { headers = {}, body = {}, raw, path = "/v1/messages", method = "POST" }: {
    headers?: Record<string, string | undefined>;
    body?: Record<string, unknown>;
    raw?: string;
    path?: string;
    method?: string;
  },
): Promise<{ status: number; type: string; words: string; api: MessagesApi }> {
  const api = await startMessagesApi({ replies: [message("Hi.")] });
  try {
    const sent = Object.entries({ ...HEADERS, ...headers }).filter((entry): entry is [string, string] =>
      entry[1] !== undefined
    );
    const response = await fetch(api.url + path, {
      method,
      headers: sent,
      ...(method === "POST" ? { body: raw ?? JSON.stringify({ ...BODY, ...body }) } : {}),
    });
    const { error = {} } = await response.json();
    return { status: response.status, type: error.type ?? "", words: error.message ?? "", api };
  } finally {
    await api.close();
  }
}

describe("the Messages API on loopback", () => {
  it("takes a request that is in order, with either header for the key", async () => {
    assertEquals((await say({})).status, 200);
    assertEquals((await say({ headers: { authorization: undefined, "x-api-key": "test-key" } })).status, 200);
  });

  for (
    const [what, change, status, words] of [
      ["another path", { path: "/v1/complete" }, 404, "Not found: POST /v1/complete"],
      ["another method", { method: "GET" }, 404, "Not found: GET"],
      ["no key", { headers: { authorization: undefined } }, 401, "x-api-key header is required"],
      ["a wrong key", { headers: { authorization: "Bearer no" } }, 401, "invalid x-api-key"],
      ["no version", { headers: { "anthropic-version": undefined } }, 400, "anthropic-version: header is required"],
      ["a body that is not JSON", { raw: "{" }, 400, "not valid JSON"],
      ["a body of another type", { headers: { "content-type": "text/plain" } }, 400, "content-type"],
      ["an unknown field", { body: { max_token: 5 } }, 400, "max_token: Extra inputs are not permitted"],
      ["no model", { body: { model: undefined } }, 400, "model: Field required"],
      ["an unknown model", { body: { model: "claude-9" } }, 404, "model: claude-9"],
      ["no max_tokens", { body: { max_tokens: undefined } }, 400, "max_tokens: Field required"],
      ["max_tokens of 0", { body: { max_tokens: 0 } }, 400, "positive integer"],
      ["a fraction of max_tokens", { body: { max_tokens: 1.5 } }, 400, "positive integer"],
      ["max_tokens above the model's", { body: { max_tokens: 70_000 } }, 400, "70000 > 64000"],
      ["no messages", { body: { messages: undefined } }, 400, "messages: Field required"],
      ["an empty list of messages", { body: { messages: [] } }, 400, "at least one message"],
      [
        "an assistant first",
        { body: { messages: [{ role: "assistant", content: "?" }] } },
        400,
        'must use the "user" role',
      ],
      [
        "an unknown role",
        { body: { messages: [BODY.messages[0], { role: "tool", content: "?" }] } },
        400,
        "messages.1.role",
      ],
      [
        "an unknown field of a message",
        { body: { messages: [{ role: "user", content: "?", name: "x" }] } },
        400,
        "messages.0.name",
      ],
      ["no content", { body: { messages: [{ role: "user" }] } }, 400, "messages.0.content: Field required"],
      ["empty content", { body: { messages: [{ role: "user", content: "" }] } }, 400, "non-whitespace"],
      [
        "blank text in a block",
        { body: { messages: [{ role: "user", content: [{ type: "text", text: " " }] }] } },
        400,
        "non-whitespace",
      ],
      ["no blocks", { body: { messages: [{ role: "user", content: [] }] } }, 400, "non-empty content"],
      ["a blank system prompt", { body: { system: " " } }, 400, "system: text content blocks"],
      ["a lone surrogate", { body: { messages: [{ role: "user", content: "\ud83d" }] } }, 400, "not valid Unicode"],
      [
        "an assistant last that ends in a space",
        { body: { messages: [BODY.messages[0], { role: "assistant", content: "Hm " }] } },
        400,
        "trailing whitespace",
      ],
      ["a prompt that is too long", { body: { system: "x".repeat(900_000) } }, 400, "prompt is too long"],
    ] as const
  ) {
    it(`refuses ${what}`, async () => {
      const refused = await say(change);
      assertEquals(refused.status, status);
      assertStringIncludes(refused.words, words);
      assertEquals(
        refused.type,
        { 400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error" }[status],
      );
      assertEquals(refused.api.requests.length, 1);
    });
  }

  const call = { type: "tool_use", id: "toolu_1", name: "read", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "out" };
  const said = { type: "text", text: "?" };
  for (
    const [what, blocks, words] of [
      ["a call without a result", [[said], [call], [said]], "messages.1: `tool_use` ids were found without"],
      ["a call at the end", [[said], [call]], "messages.1: `tool_use` ids were found without"],
      ["a result two messages after its call", [[said], [call], [said], [said], [result]], "messages.1: `tool_use`"],
      ["a result without a call", [[said], [said], [result]], "messages.2: unexpected `tool_use_id`"],
      ["a result at the beginning", [[result]], "messages.0: unexpected `tool_use_id`"],
      ["words before a result", [[said], [call], [said, result]], "messages.2: `tool_result` blocks must come first"],
    ] as const
  ) {
    it(`refuses ${what}`, async () => {
      const messages = blocks.map((content, index) => ({ role: index % 2 ? "assistant" : "user", content }));
      const refused = await say({ body: { messages } });
      assertEquals(refused.status, 400);
      assertStringIncludes(refused.words, words);
    });
  }

  it("takes a call with its result, words after it, and results in two turns of one role", async () => {
    const other = { ...call, id: "toolu_2" }, second = { ...result, tool_use_id: "toolu_2" };
    const messages = [
      { role: "user", content: "?" },
      { role: "assistant", content: [call, other] },
      { role: "user", content: [result] },
      { role: "user", content: [second, said] },
    ];
    assertEquals((await say({ body: { messages } })).status, 200);
  });

  it("takes two turns of one role in a row", async () => {
    assertEquals((await say({ body: { messages: [BODY.messages[0], BODY.messages[0]] } })).status, 200);
  });

  it("answers in order, the last answer over and over, and spends none on what it refuses", async () => {
    const api = await startMessagesApi({ replies: [message("one"), apiError(529, "overloaded_error", "two")] });
    const post = (body: unknown): Promise<Response> =>
      fetch(`${api.url}/v1/messages`, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
    const statuses: number[] = [];
    for (const body of [{}, BODY, {}, BODY, BODY]) {
      const response = await post(body);
      statuses.push(response.status);
      await response.body?.cancel();
    }
    await api.close();
    assertEquals(statuses, [400, 200, 400, 529, 529]);
  });

  it("answers with a function of the request, and remembers the bytes", async () => {
    const api = await startMessagesApi({ replies: ({ body }, index) => message(`${index}: ${body?.max_tokens}`) });
    const raw = JSON.stringify(BODY);
    const response = await fetch(`${api.url}/v1/messages`, { method: "POST", headers: HEADERS, body: raw });
    const { content, model, stop_reason: reason, usage } = await response.json();
    await api.close();
    assertEquals([content[0].text, model, reason], ["0: 10", BODY.model, "end_turn"]);
    assert(usage.input_tokens > 0);
    assertEquals(new TextDecoder().decode(api.requests[0]?.raw), raw);
    assertEquals(await api.requests[0]?.cutShort, false);
  });
});

describe("the real SDK over the Messages API on loopback", () => {
  const text = "word ".repeat(3_000), cache_control = { type: "ephemeral" } as const;
  const body = {
    model: "claude-sonnet-5",
    max_tokens: 100,
    messages: [{ role: "user", content: [{ type: "text", text, cache_control }] }],
  } satisfies Anthropic.MessageCreateParamsNonStreaming;

  async function asking(action: (sdk: Anthropic) => Promise<void>): Promise<void> {
    const models = { "claude-sonnet-5": { context: 200_000, output: 64_000 } };
    const called = [{ type: "text", text: "One, two." }, {
      type: "tool_use",
      id: "t",
      name: "read",
      input: { a: [1] },
    }];
    const api = await startMessagesApi({ models, cache: promptCache(), replies: [message(called, "tool_use")] });
    try {
      await action(new Anthropic({ apiKey: api.key, baseURL: api.url, maxRetries: 0, webhookKey: null }));
    } finally {
      await api.close();
    }
  }

  it("is told what the simulated cache says: usage, an id of its own, and why it was missed", () =>
    asking(async (sdk) => {
      const first = await sdk.messages.create(body), again = await sdk.messages.create(body);
      assertEquals(first.usage.cache_read_input_tokens, 0);
      assertEquals(again.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens);
      assert(first.id !== again.id && first.usage.output_tokens > 0);
      const other = { ...body, system: "S", diagnostics: { previous_message_id: again.id } };
      const missed = await sdk.messages.create(other);
      assertEquals(missed.diagnostics?.cache_miss_reason?.type, "system_changed");
      const aligned = await sdk.messages.create({ ...other, diagnostics: { previous_message_id: missed.id } });
      assertEquals(aligned.diagnostics, null);
    }));

  it("gets the same message streamed, and from the endpoint for what is in beta", () =>
    asking(async (sdk) => {
      const whole = await sdk.messages.create(body), streamed = await sdk.messages.stream(body).finalMessage();
      assertEquals(streamed.content, whole.content);
      assertEquals([streamed.stop_reason, streamed.usage.cache_creation_input_tokens], ["tool_use", 0]);
      const beta = await sdk.beta.messages.create({ ...body, betas: ["context-1m-2025-08-07"] });
      assertEquals([beta.stop_reason, beta.usage.cache_read_input_tokens], ["tool_use", 0]);
    }));

  it("is refused marks the API refuses", () =>
    asking(async (sdk) => {
      const blocks = Array.from({ length: 5 }, () => ({ type: "text", text: "?", cache_control }) as const);
      const five = { ...body, messages: [{ role: "user", content: blocks }] } as const;
      const error = await assertRejects(() => sdk.messages.create({ ...five, messages: [...five.messages] }));
      assertStringIncludes(String(error), "maximum of 4 blocks");
      assertStringIncludes(String(error), "400");
    }));
});
