import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { describe, it } from "node:test";
import process from "node:process";
import { WaymarkError } from "../../src/errors.ts";
import { anthropic, type AnthropicOptions, DEFAULT_MODEL } from "../../src/providers/anthropic.ts";
import type { Completion, Model } from "../../src/types.ts";
import { type ContractReply, type ContractRequest, testModel } from "../contracts/model.ts";
import {
  apiError,
  message,
  type MessagesApi,
  type MessagesApiOptions,
  type ReceivedRequest,
  type Reply,
  startMessagesApi,
} from "../messages_api.ts";
import { codeFile, GOOD, sourceFile, spyContext } from "../summary/files.ts";
import { until } from "../support.ts";

const STOP = {
  end: "end_turn",
  max_tokens: "max_tokens",
  refusal: "refusal",
  tool: "tool_use",
  other: "pause_turn",
} as const;
const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** A contract's reply as the API would give it. */
function asReply(reply: ContractReply): Reply {
  if (reply === "hang") return { kind: "hang" };
  if ("status" in reply) return apiError(reply.status, "some_error", reply.words);
  const { text, stopReason = "end", usage = NOTHING } = reply;
  return message(text ? text : [{ type: "thinking", thinking: "hm", signature: "x" }], STOP[stopReason], {
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_input_tokens: usage.cacheRead,
      cache_creation_input_tokens: usage.cacheWrite,
    },
  });
}

/** A received request as the contract sees it. */
function asRequest({ body }: ReceivedRequest): ContractRequest {
  const sent = body as { system?: string; messages: ContractRequest["messages"]; max_tokens: number; model: string };
  const { system, messages, max_tokens: maxTokens, model: _model, ...rest } = sent;
  return { system, messages, maxTokens, tools: Object.keys(rest).length > 0 };
}

testModel(DEFAULT_MODEL, async (replies) => {
  const api = await startMessagesApi({ replies: replies.map(asReply) });
  const model = anthropic({ apiKey: api.key, baseURL: api.url });
  return { model, requests: () => api.requests.map(asRequest), close: () => api.close() };
});

/** Runs a test against a server and a model of it, and stops the server. */
async function withApi(
  replies: MessagesApiOptions["replies"],
  test: (model: Model, api: MessagesApi) => Promise<void>,
  options: AnthropicOptions & { server?: Partial<MessagesApiOptions> } = {},
): Promise<void> {
  const { server, ...rest } = options;
  const api = await startMessagesApi({ replies, ...server });
  try {
    await test(anthropic({ apiKey: api.key, baseURL: api.url, ...rest }), api);
  } finally {
    await api.close();
  }
}

const ask = (model: Model, signal = new AbortController().signal): Promise<Completion> =>
  model.complete({ system: "Be brief.", messages: [{ role: "user", content: "?" }], maxTokens: 64, signal });

/** What a request failed with. */
async function failure(model: Model, signal?: AbortSignal): Promise<WaymarkError> {
  return await assertRejects(() => ask(model, signal), WaymarkError);
}

describe("a map by Claude, over the real SDK and real HTTP", () => {
  it("is one request whose bytes hold every line of the file, numbered, and nothing but a plain question", async () => {
    await withApi([message(GOOD)], async (model, api) => {
      const file = codeFile(1400, "src/deep/renamed_later.ts");
      const summary = await model.summarizer.summarize(file, spyContext());
      assertEquals(summary?.regions.length, 2);
      assertEquals(api.requests.length, 1);
      const [request] = api.requests as [ReceivedRequest];
      const sent = new TextDecoder("utf-8", { fatal: true }).decode(request.raw);
      for (const [index, line] of file.text.trimEnd().split("\n").entries()) {
        assertStringIncludes(sent, JSON.stringify(`\n${index + 1}\t${line}\n`).slice(1, -1));
      }
      assert(!sent.includes("renamed_later"));
      assertEquals(Object.keys(request.body!).sort(), ["max_tokens", "messages", "model", "system"]);
      assertEquals(request.body?.model, DEFAULT_MODEL);
      assertEquals(request.body?.max_tokens, 4096 + 4 * 1400);
      assertEquals([request.method, request.path], ["POST", "/v1/messages"]);
      assertEquals(request.headers["x-stainless-retry-count"], "0");
    });
  });

  it("carries a file with every kind of character whole", async () => {
    await withApi([message(GOOD)], async (model, api) => {
      const text = 'é "quoted" \\ \u0001 \u2028 \u{1f600} \ud83d <\/script>\r\n'.repeat(250);
      await model.summarizer.summarize(sourceFile(text), spyContext());
      const content = String((api.requests[0]!.body!.messages as { content: string }[])[0]!.content);
      assertStringIncludes(content, '\n250\té "quoted" \\ \u0001 \u2028 \u{1f600} \ufffd <\/script>\n</file-');
    });
  });

  it("is accepted in a fence, in several blocks, and after thinking", async () => {
    const fenced = "```json\n" + GOOD + "\n```";
    for (
      const reply of [
        message(fenced),
        message([{ type: "thinking", thinking: '{"prose": "draft"', signature: "s" }, { type: "text", text: GOOD }]),
        message([{ type: "text", text: fenced.slice(0, 40) }, { type: "text", text: fenced.slice(40) }]),
      ]
    ) {
      await withApi([reply], async (model, api) => {
        assertEquals((await model.summarizer.summarize(codeFile(220), spyContext()))?.regions.length, 2);
        assertEquals(api.requests.length, 1);
      });
    }
  });

  it("is mended after torn JSON, with the answer and its faults sent back", async () => {
    await withApi([message(GOOD.slice(0, -30)), message(GOOD)], async (model, api) => {
      const summary = await model.summarizer.summarize(codeFile(220), spyContext());
      assertEquals([summary?.regions.length, summary?.usage.calls], [2, 2]);
      assertEquals([summary?.usage.input, summary?.usage.output], [2400, 680]);
      const [, assistant, user] = api.requests[1]!.body!.messages as { role: string; content: string }[];
      assertEquals([assistant?.role, assistant?.content], ["assistant", GOOD.slice(0, -30)]);
      assertStringIncludes(user!.content, "the JSON ends before it is complete");
    });
  });

  it("is not made from what max_tokens cut off, and the next request has twice the room", async () => {
    await withApi([message(GOOD, "max_tokens"), message(GOOD)], async (model, api) => {
      assertEquals((await model.summarizer.summarize(codeFile(250), spyContext()))?.regions.length, 2);
      assertEquals(api.requests.map(({ body }) => body?.max_tokens), [5096, 10_192]);
    });
  });

  it("is not made where thinking ate the whole budget, twice", async () => {
    const thinking = message([{ type: "thinking", thinking: "hm", signature: "s" }], "max_tokens");
    await withApi([thinking], async (model, api) => {
      const error = await assertRejects(() => model.summarizer.summarize(codeFile(250), spyContext()), WaymarkError);
      assertEquals([error.code, api.requests.length], ["bad-answer", 2]);
    });
  });

  for (
    const [what, reply, code] of [
      ["refused", message("I cannot help with that.", "refusal"), "refused"],
      ["empty", message([]), "empty-answer"],
      ["blank", message("  \n"), "empty-answer"],
      ["only thinking", message([{ type: "thinking", thinking: "hm", signature: "s" }]), "empty-answer"],
      ["a tool call", message([{ type: "tool_use", id: "t", name: "read", input: {} }], "tool_use"), "bad-answer"],
    ] as const
  ) {
    it(`fails at once where the answer is ${what}`, async () => {
      await withApi([reply], async (model, api) => {
        const error = await assertRejects(() => model.summarizer.summarize(codeFile(220), spyContext()), WaymarkError);
        assertEquals([error.code, api.requests.length], [code, 1]);
      });
    });
  }

  it("is refused in the API's own explanation where there is one", async () => {
    const details = {
      stop_details: { type: "refusal", category: "cyber", explanation: "The request looks like malware." },
    };
    await withApi([message([], "refusal", details)], async (model) => {
      const error = await assertRejects(() => model.summarizer.summarize(codeFile(220), spyContext()), WaymarkError);
      assertStringIncludes(error.message, "it refused: The request looks like malware");
    });
  });

  it("never has more than three requests, nor a retry by the SDK among them", async () => {
    await withApi([message("no"), message("no"), message("no"), message(GOOD)], async (model, api) => {
      await assertRejects(
        () => model.summarizer.summarize(codeFile(220), spyContext()),
        WaymarkError,
        "none of 3 answers",
      );
      assertEquals(api.requests.length, 3);
    });
  });
});

describe("what Claude's provider is told", () => {
  it("is the model and the limit, if any", async () => {
    await withApi([message(GOOD)], async (model, api) => {
      await model.summarizer.summarize(codeFile(900), spyContext());
      assertEquals([api.requests[0]?.body?.model, api.requests[0]?.body?.max_tokens], ["claude-opus-5-5", 2000]);
      assertEquals(model.name, "claude-opus-5-5");
    }, { model: "claude-opus-5-5", maxTokens: 2000 });
  });

  it("is the key, which goes out as the SDK sends it", async () => {
    await withApi([message("Hi.")], async (model, api) => {
      await ask(model);
      const { authorization, "x-api-key": header } = api.requests[0]!.headers;
      assertEquals(header ?? authorization, "Bearer key-of-mine");
    }, { apiKey: "  key-of-mine\n", server: { key: "key-of-mine" } });
  });

  it("is a base URL with or without a slash, or with a path", async () => {
    await withApi([message("Hi.")], async (_model, api) => {
      assertEquals((await ask(anthropic({ apiKey: api.key, baseURL: `${api.url}/` }))).text, "Hi.");
      const error = await failure(anthropic({ apiKey: api.key, baseURL: `${api.url}/proxy` }));
      assertStringIncludes(error.message, "POST /proxy/v1/messages");
    });
    assertThrows(() => anthropic({ apiKey: "k", baseURL: "not a url" }), WaymarkError, '"not a url" is not a URL');
  });

  it("can be in the environment, which is read when the model is made and not before", async () => {
    const before = { key: process.env.ANTHROPIC_API_KEY, url: process.env.ANTHROPIC_BASE_URL };
    const api = await startMessagesApi({ replies: [message("Hi.")], key: "from-the-environment" });
    try {
      process.env.ANTHROPIC_API_KEY = "from-the-environment";
      process.env.ANTHROPIC_BASE_URL = api.url;
      const model = anthropic();
      process.env.ANTHROPIC_API_KEY = "another";
      process.env.ANTHROPIC_BASE_URL = "http://127.0.0.1:9";
      assertEquals((await ask(model)).text, "Hi.");
      process.env.ANTHROPIC_API_KEY = " ";
      assertThrows(() => anthropic(), WaymarkError, "ANTHROPIC_API_KEY");
    } finally {
      restore("ANTHROPIC_API_KEY", before.key);
      restore("ANTHROPIC_BASE_URL", before.url);
      await api.close();
    }
  });

  it("lacks a key: that is found at once, before anything is sent, with what to do", () => {
    const before = process.env.ANTHROPIC_API_KEY;
    delete process.env.ANTHROPIC_API_KEY;
    try {
      for (const options of [undefined, {}, { apiKey: "" }, { apiKey: " \n" }]) {
        const error = assertThrows(() => anthropic(options), WaymarkError);
        assertEquals(error.code, "no-key");
        assertMatch(
          error.message,
          /^Cannot use claude-haiku-5-5: there is no API key; set ANTHROPIC_API_KEY.* or pass apiKey$/,
        );
      }
    } finally {
      restore("ANTHROPIC_API_KEY", before);
    }
  });
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

describe("a request to Claude that fails", () => {
  it("with a prompt that is too long says so in the API's own words, after one request", async () => {
    await withApi([message(GOOD)], async (model, api) => {
      const error = await assertRejects(() => model.summarizer.summarize(codeFile(3000), spyContext()), WaymarkError);
      assertEquals([error.code, error.status, api.requests.length], ["provider-error", 400, 1]);
      assertMatch(
        error.message,
        /^Cannot summarize src\/shapes\.ts: cannot ask claude-haiku-5-5: 400 prompt is too long: \d+ tokens > 9000 maximum$/,
      );
    }, { server: { models: { [DEFAULT_MODEL]: { context: 9000, output: 64_000 } } } });
  });

  it("for a bad key says to check it, and holds no part of it, though the API echoes it", async () => {
    const apiKey = "sk-wrong-0123456789";
    await withApi([message("Hi.")], async (model) => {
      const error = await failure(model);
      assertEquals([error.code, error.status], ["provider-error", 401]);
      assertStringIncludes(error.message, "401 invalid x-api-key: [key]; check the API key");
      assert(!everything(error).includes(apiKey));
    }, { apiKey });
  });

  it("for a key that cannot even be sent holds no part of it either", async () => {
    const apiKey = "sk-with\nbreak-0123456789";
    await withApi([message("Hi.")], async (model, api) => {
      const error = await failure(model);
      assertEquals([error.code, api.requests.length], ["provider-error", 0]);
      assert(!everything(error).includes("0123456789"), everything(error));
    }, { apiKey });
  });

  it("for an unknown model says to check its name", async () => {
    await withApi([message("Hi.")], async (model) => {
      const error = await failure(model);
      assertEquals([error.code, error.status], ["provider-error", 404]);
      assertStringIncludes(error.message, "404 model: claude-haiku-9; check the model's name");
    }, { model: "claude-haiku-9" });
  });

  it("for a limit above the model's says so", async () => {
    await withApi([message("Hi.")], async (model) => {
      const error = await assertRejects(
        () =>
          model.complete({
            system: "",
            messages: [{ role: "user", content: "?" }],
            maxTokens: 99_999,
            signal: new AbortController().signal,
          }),
        WaymarkError,
      );
      assertStringIncludes(error.message, "max_tokens: 99999 > 64000");
    });
  });

  for (
    const [status, type, words] of [
      [403, "permission_error", "Your key may not use this model"],
      [413, "request_too_large", "Request exceeds the maximum size"],
      [500, "api_error", "Internal server error"],
      [503, "api_error", "Service unavailable"],
      [529, "overloaded_error", "Overloaded"],
    ] as const
  ) {
    it(`with ${status} fails with its words, without a retry`, async () => {
      await withApi([apiError(status, type, words), message("Hi.")], async (model, api) => {
        const error = await failure(model);
        assertEquals([error.code, error.status, api.requests.length], ["provider-error", status, 1]);
        assertStringIncludes(error.message, `${status} ${words}`);
      });
    });
  }

  it("with 429 does not wait as long as it is told to, but says how long that is", async () => {
    await withApi([
      apiError(429, "rate_limit_error", "Too many tokens a minute", { "retry-after": "3600" }),
      message("Hi."),
    ], async (model, api) => {
      const error = await failure(model);
      assertEquals([error.status, api.requests.length], [429, 1]);
      assertStringIncludes(error.message, "429 Too many tokens a minute; it asks to wait 3600 s");
    });
  });

  it("even where the API asks the SDK to retry", async () => {
    await withApi(
      [apiError(500, "api_error", "Try me again", { "x-should-retry": "true" }), message("Hi.")],
      async (model, api) => {
        assertEquals((await failure(model)).status, 500);
        assertEquals(api.requests.length, 1);
      },
    );
  });

  it("with a proxy's page says what came back, with a status of success and without", async () => {
    const html = "<html><body>Sign in\nto the proxy</body></html>";
    await withApi([{ kind: "page", status: 200, html }, { kind: "page", status: 502, html }], async (model) => {
      const page = await failure(model);
      assertEquals([page.code, page.status], ["provider-error", undefined]);
      assertStringIncludes(page.message, "is not a message of the Messages API: <html><body>Sign in to the proxy");
      const gateway = await failure(model);
      assertEquals(gateway.status, 502);
      assertStringIncludes(gateway.message, "502 <html>");
    });
  });

  it("with JSON that is no message says so", async () => {
    for (const body of [{ type: "error" }, null, [], "text", { content: "text" }]) {
      await withApi([{ kind: "error", status: 200, body }], async (model) => {
        assertStringIncludes((await failure(model)).message, "is not a message of the Messages API");
      });
    }
  });

  it("because nobody listens names the host and the cause", async () => {
    const api = await startMessagesApi({ replies: [] });
    await api.close();
    const error = await failure(anthropic({ apiKey: "secret-key-123", baseURL: api.url }));
    assertEquals([error.code, error.status], ["provider-error", undefined]);
    assertStringIncludes(error.message, `no whole answer from ${new URL(api.url).host}: Connection error: `);
    assertMatch(error.message, /refused|ECONNREFUSED|Unable to connect/i);
  });

  it("because the connection broke off in the middle of the answer", async () => {
    await withApi([{ kind: "drop" }, message("Hi.")], async (model, api) => {
      const error = await failure(model);
      assertEquals([error.code, error.status, api.requests.length], ["provider-error", undefined, 1]);
      assertStringIncludes(error.message, `no whole answer from ${new URL(api.url).host}: `);
    });
  });
});

/** All an error says, its causes and fields included. */
function everything(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  const own = Object.getOwnPropertyNames(error).filter((name) => name !== "cause")
    .map((name) => String((error as unknown as Record<string, unknown>)[name]));
  return [error.message, error.stack, ...own, everything(error.cause)].join("\n");
}

describe("a request to Claude that is stopped", () => {
  for (
    const [what, reply] of [["never answered", { kind: "hang" }], ["answered a byte at a time", {
      kind: "drip",
      everyMs: 10,
    }]] as const
  ) {
    it(`while it is ${what} ends, and so does the HTTP request`, async () => {
      await withApi([reply], async (model, api) => {
        const controller = new AbortController();
        const asked = failure(model, controller.signal);
        await until(() => api.requests.length > 0);
        await new Promise((resolve) => setTimeout(resolve, 40));
        controller.abort();
        assertEquals((await asked).code, "aborted");
        assertEquals(await api.requests[0]!.cutShort, true);
      });
    });

    it(`by its deadline while it is ${what} ends with that reason, and so does the HTTP request`, async () => {
      await withApi([reply], async (model, api) => {
        const error = await assertRejects(
          () => model.summarizer.summarize(codeFile(220), spyContext(AbortSignal.timeout(1_000))),
          WaymarkError,
        );
        assertEquals(error.code, "timeout");
        assertStringIncludes(error.message, "no answer within the time limit");
        assertEquals(await api.requests[0]!.cutShort, true);
      });
    });
  }

  it("before it is sent is not sent", async () => {
    await withApi([message("Hi.")], async (model, api) => {
      assertEquals((await failure(model, AbortSignal.abort())).code, "aborted");
      assertEquals(api.requests.length, 0);
    });
  });

  it("after the answer is no failure", async () => {
    await withApi([message("Hi.")], async (model) => {
      const controller = new AbortController();
      assertEquals((await ask(model, controller.signal)).text, "Hi.");
      controller.abort();
    });
  });
});
