/**
 * What every {@linkcode Model} must do, whoever answers it: one suite, run by each provider's test.
 *
 * @module
 */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import type { Completion, CompletionMessage, Model } from "../../src/types.ts";
import { codeFile, GOOD, spyContext } from "../summary/files.ts";
import { until } from "../support.ts";

/** What the other side is to do with one request. */
export type ContractReply =
  | { readonly text: string; readonly stopReason?: Completion["stopReason"]; readonly usage?: Completion["usage"] }
  | { readonly status: number; readonly words: string }
  | "hang";

/** A request as it arrived at the other side. */
export interface ContractRequest {
  readonly system: string | undefined;
  readonly messages: readonly CompletionMessage[];
  readonly maxTokens: number;
  /** Whether it brought tools of any kind. */
  readonly tools: boolean;
}

/** A model under test and the other side of it. */
export interface ModelUnderTest {
  readonly model: Model;
  /** What arrived so far. */
  requests(): readonly ContractRequest[];
  close?(): Promise<void>;
}

/** Makes the model of a test, whose other side replies in the order given. */
type Start = (...replies: ContractReply[]) => Promise<ModelUnderTest>;

const QUESTION = {
  system: "Be brief.",
  messages: [
    { role: "user", content: "One?" },
    { role: "assistant", content: "Two." },
    { role: "user", content: "Three? \u{1f600}" },
  ],
  maxTokens: 321,
} as const;

const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** What a model cannot do. */
export interface ModelLimits {
  /** Its other side does not tell how many tokens were written to a cache. Default false. */
  readonly hidesCacheWrites?: boolean;
}

/** Runs the suite. `open` makes a model named `name` whose other side replies in the order given. */
export function testModel(
  name: string,
  open: (replies: readonly ContractReply[]) => Promise<ModelUnderTest>,
  { hidesCacheWrites = false }: ModelLimits = {},
): void {
  describe(`a model: ${name}`, () => {
    const ask = ({ model }: ModelUnderTest, signal = new AbortController().signal): Promise<Completion> =>
      model.complete({ ...QUESTION, signal });

    /** A test with models of its own, closed afterwards. */
    const test = (title: string, body: (start: Start) => Promise<void>): void =>
      void it(title, async () => {
        const opened: ModelUnderTest[] = [];
        const awake = setInterval(() => {}, 1000); // a deadline alone keeps no process alive, a real request does
        try {
          await body(async (...replies) => {
            const tested = await open(replies);
            opened.push(tested);
            return tested;
          });
        } finally {
          clearInterval(awake);
          for (const { close } of opened) await close?.();
        }
      });

    test("has its name, and a summarizer of that name", async (start) => {
      const { model } = await start();
      assertEquals(model.name, name);
      assertEquals(model.summarizer.maker, `model:${name}`);
    });

    test("sends the system prompt, the turns in order and the limit, and no tools", async (start) => {
      const tested = await start({ text: "Four." });
      await ask(tested);
      assertEquals(tested.requests(), [{ ...QUESTION, tools: false }]);
    });

    test("gives back the text, why it stopped and what it cost", async (start) => {
      const usage = { input: 100, output: 20, cacheRead: 30, cacheWrite: hidesCacheWrites ? 0 : 4 };
      assertEquals(await ask(await start({ text: "Four. \u{1f600}\n", usage })), {
        text: "Four. \u{1f600}\n",
        stopReason: "end",
        usage,
      });
    });

    for (const stopReason of ["end", "max_tokens", "refusal", "tool", "other"] as const) {
      test(`tells why an answer ended: ${stopReason}`, async (start) => {
        assertEquals((await ask(await start({ text: "Some.", stopReason, usage: NO_USAGE }))).stopReason, stopReason);
      });
    }

    test("gives back an empty text for an answer without one", async (start) => {
      assertEquals((await ask(await start({ text: "", usage: NO_USAGE }))).text, "");
    });

    for (
      const [status, words] of [[400, "prompt is too long"], [401, "invalid key"], [429, "slow down"], [500, "oops"], [
        529,
        "Overloaded",
      ]] as const
    ) {
      test(`asks once and fails in the provider's words: ${status}`, async (start) => {
        const tested = await start({ status, words }, { text: "A retry would get this." });
        const error = await assertRejects(() => ask(tested), WaymarkError);
        assertEquals([error.code, error.status], ["provider-error", status]);
        assertStringIncludes(error.message, words);
        assertStringIncludes(error.message, String(status));
        assert(error.message.startsWith(`Cannot ask ${name}: `), error.message);
        assertEquals(tested.requests().length, 1);
      });
    }

    test("sends nothing where it was stopped before", async (start) => {
      const tested = await start({ text: "Four." });
      const error = await assertRejects(() => ask(tested, AbortSignal.abort()), WaymarkError);
      assertEquals([error.code, tested.requests().length], ["aborted", 0]);
    });

    test("ends when it is stopped in the middle", async (start) => {
      const tested = await start("hang");
      const controller = new AbortController();
      const asked = ask(tested, controller.signal);
      await until(() => tested.requests().length > 0);
      controller.abort();
      assertEquals((await assertRejects(() => asked, WaymarkError)).code, "aborted");
    });

    test("ends at its deadline and says so", async (start) => {
      const error = await assertRejects(async () => ask(await start("hang"), AbortSignal.timeout(60)), WaymarkError);
      assertEquals(error.code, "timeout");
    });

    test("passes on the error a signal was stopped with", async (start) => {
      const reason = new WaymarkError("timeout", "Cannot wait: it is late");
      const tested = await start("hang");
      const controller = new AbortController();
      const asked = ask(tested, controller.signal);
      setTimeout(() => controller.abort(reason), 5);
      assertEquals(await assertRejects(() => asked), reason);
    });

    test("makes a map with one request, every line of the file in it", async (start) => {
      const tested = await start({ text: GOOD, usage: { ...NO_USAGE, input: 9 } });
      const file = codeFile(320), context = spyContext();
      const summary = await tested.model.summarizer.summarize(file, context);
      assertEquals(summary?.regions.length, 2);
      assertEquals({ ...summary!.usage, ms: 0 }, { ...NO_USAGE, input: 9, calls: 1, ms: 0 });
      assertEquals(context.spent.length, 1);
      const [request] = tested.requests();
      assert(request && !request.tools);
      for (const [index, line] of file.text.trimEnd().split("\n").entries()) {
        assertStringIncludes(request.messages[0]!.content, `\n${index + 1}\t${line}\n`);
      }
    });

    test("mends a bad answer with the answer itself and what is wrong with it", async (start) => {
      const tested = await start({ text: "no JSON" }, { text: GOOD });
      assertEquals((await tested.model.summarizer.summarize(codeFile(220), spyContext()))?.regions.length, 2);
      const [first, second] = tested.requests();
      assertEquals(second?.messages.map(({ role }) => role), ["user", "assistant", "user"]);
      assertEquals(second?.messages[0], first?.messages[0]);
      assertEquals(second?.messages[1]?.content, "no JSON");
      assertStringIncludes(second!.messages[2]!.content, "not a JSON object");
    });

    test("makes at most three requests for one map", async (start) => {
      const bad = { text: "no JSON" };
      const tested = await start(bad, bad, bad, { text: GOOD });
      const error = await assertRejects(
        () => tested.model.summarizer.summarize(codeFile(220), spyContext()),
        WaymarkError,
      );
      assertEquals([error.code, tested.requests().length], ["bad-answer", 3]);
    });
  });
}
