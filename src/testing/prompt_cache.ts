/**
 * A simulator of Anthropic's prompt cache, for tests and benchmarks: what a request would read from it, write to it and cost.
 *
 * **It is a simulator.** It follows the rules and figures that the provider publishes; it knows nothing of the provider's
 * machines. Tokens are estimates. No figure of it is a measurement, and none may be quoted without the word.
 *
 * Promised: blocks in the order tools, system, messages; what is written, is written at marks; a mark finds what was written up
 * to 20 positions before it; nothing under the model's minimum is kept, and nothing for longer than its time. Absent: several
 * workspaces, eviction before the time is over, batches, and other providers' caches.
 *
 * @module
 */

import { estimateTokens } from "../compaction/estimate.ts";
import { type CacheFacts, cacheFacts } from "../compaction/prices.ts";
import type { CachePrices } from "../compaction/types.ts";
import { WaymarkError } from "../errors.ts";
import type { Clock } from "../types.ts";
import { compareLayouts, layOut, type MissReason, type PromptLayout } from "./prompt_layout.ts";

/** Positions that a mark looks back over, its own included. */
const LOOK_BACK = 20;

/** Options of {@linkcode promptCache}. */
export interface PromptCacheOptions {
  /** Time. Default: the machine's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** Figures of the models, over those of the table: `read`, `write`, `minimumTokens` and `ttlMs` count. */
  readonly prices?: Partial<CachePrices> | undefined;
  /** Estimates the tokens of one block. Default: one for every four bytes of its JSON. */
  readonly estimate?: ((block: unknown) => number) | undefined;
}

/** The fields of usage that a cache decides about, named as the Messages API names them. */
export interface SimulatedUsage {
  /** Tokens after the last mark, and all of them where nothing is cached. */
  readonly input_tokens: number;
  /** Tokens read from the cache. */
  readonly cache_read_input_tokens: number;
  /** Tokens written to it, up to the last mark. */
  readonly cache_creation_input_tokens: number;
  /** The same, by how long they are kept. */
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
}

/** A request that was received. */
export interface SimulatedRequest {
  /** What its answer reports. */
  readonly usage: SimulatedUsage;
  /** What its input costs, in plain input tokens of its model. */
  readonly cost: number;
  /**
   * The answer begins: only now can others read what this request writes. Returns the id under which
   * {@linkcode PromptCacheSimulator.missReason} knows the request.
   */
  answer(): string;
  /** Why it is not the request of an earlier answer and more, as the API's diagnostics say it; `undefined` where it is. */
  missReason(previousId: string): MissReason | "previous_message_not_found" | undefined;
}

/** A simulated prompt cache. */
export interface PromptCacheSimulator {
  /**
   * Receives the body of a request.
   *
   * @throws {WaymarkError} `provider-error` with status 400 for marks that the API refuses, `invalid-option` where a figure of
   * its model is not known.
   */
  receive(body: Readonly<Record<string, unknown>>, options?: { readonly betas?: string | undefined }): SimulatedRequest;
  /** The usage of a request that is received and answered at once. */
  send(body: Readonly<Record<string, unknown>>): SimulatedUsage;
}

/** A place in the tree of all prompts: where a prompt is after one more block. */
interface Place {
  readonly next: Map<string, Place>;
  /** Until when a prefix that ends here can be read, where one was written. */
  expires: number;
  ttlMs: number;
}

/**
 * A simulated prompt cache, empty.
 *
 * @example
 * ```ts
 * import { promptCache } from "@waymark/waymark/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const cache = promptCache();
 * const text = "Every word of it. ".repeat(1_000), cache_control = { type: "ephemeral" };
 * const request = { model: "claude-sonnet-5", messages: [{ role: "user", content: [{ type: "text", text, cache_control }] }] };
 * const first = cache.send(request), again = cache.send(request);
 * assertEquals([first.cache_read_input_tokens, again.cache_creation_input_tokens], [0, 0]);
 * assertEquals(again.cache_read_input_tokens, first.cache_creation_input_tokens);
 * ```
 */
export function promptCache(options: PromptCacheOptions = {}): PromptCacheSimulator {
  const { clock, prices, estimate = estimateTokens } = options;
  const now = (): number => clock?.now() ?? Date.now();
  const root = place();
  const answered = new Map<string, PromptLayout>();
  /** Blocks measured before: a conversation sends the same ones again and again. */
  const measured = new Map<string, number>();

  const sizeOf = ({ key, value }: PromptLayout["blocks"][number]): number => {
    let tokens = measured.get(key);
    if (tokens === undefined) measured.set(key, tokens = estimate(value));
    return tokens;
  };

  const receive: PromptCacheSimulator["receive"] = (body, { betas } = {}) => {
    const model = String(body["model"]), at = now();
    const facts = { "5m": figuresOf(model, prices, false), "1h": figuresOf(model, prices, true) };
    const { minimumTokens } = facts["5m"];
    const layout = layOut(body, { stripsThinking: facts["5m"].stripsThinking, betas }), { blocks } = layout;

    /** Tokens up to and with each block, and the places that are known. */
    const sums: number[] = [], path: (Place | undefined)[] = [];
    let total = 0, here: Place | undefined = root;
    for (const block of blocks) {
      sums.push(total += sizeOf(block));
      path.push(here = here?.next.get(block.key));
    }

    const marks = blocks.flatMap(({ mark }, index) => mark && sums[index]! >= minimumTokens ? [{ index, mark }] : []);
    const found = marks.map(({ index }) => {
      for (let back = index; back >= 0 && blocks[back]!.position > blocks[index]!.position - LOOK_BACK; back--) {
        if ((path[back]?.expires ?? 0) > at) return back;
      }
      return -1;
    });
    const hit = Math.max(-1, ...found), read = hit < 0 ? 0 : sums[hit]!;
    for (const index of found) if (index >= 0) path[index]!.expires = at + path[index]!.ttlMs;

    const written = marks.filter(({ index }) => index > hit);
    const upTo = (list: typeof marks): number => list.length ? sums[list.at(-1)!.index]! : read;
    const long = upTo(written.filter(({ mark }) => mark === "1h")) - read,
      all = upTo(written) - read,
      short = all - long;
    const input = total - read - all;
    return {
      usage: {
        input_tokens: input,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: all,
        cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
      },
      cost: input + read * facts["5m"].read + short * facts["5m"].write + long * facts["1h"].write,
      answer() {
        let end = root, from = 0;
        for (const { index, mark } of written) {
          for (; from <= index; from++) {
            const { key } = blocks[from]!, known = end.next.get(key);
            if (known) end = known;
            else end.next.set(key, end = place());
          }
          end.ttlMs = facts[mark].ttlMs;
          end.expires = at + end.ttlMs; // counted from when the request was received
        }
        const id = `msg_simulated_${answered.size + 1}`;
        answered.set(id, layout);
        return id;
      },
      missReason(previousId) {
        const previous = answered.get(previousId);
        return previous ? compareLayouts(previous, layout) : "previous_message_not_found";
      },
    };
  };
  return {
    receive,
    send(body) {
      const request = receive(body);
      request.answer();
      return request.usage;
    },
  };
}

function place(): Place {
  return { next: new Map(), expires: 0, ttlMs: 0 };
}

/** What a model's cache does and costs, nothing of it unknown. */
function figuresOf(model: string, prices: Partial<CachePrices> | undefined, isLong: boolean): Required<CacheFacts> {
  const facts = cacheFacts(model, { prices, isLong });
  for (const name of ["read", "write", "minimumTokens", "ttlMs"] as const) {
    if (facts[name] !== undefined) continue;
    throw new WaymarkError(
      "invalid-option",
      `Cannot simulate the cache of ${model}: give prices.${name}, it is not known`,
    );
  }
  return facts as Required<CacheFacts>;
}
