/**
 * One recorded session as a conversation that is compacted, against the simulator of the prompt cache: boundaries, and what its
 * requests and its summaries cost.
 *
 * Reads run for real, through the guards, on files that stand for the recorded ones; other results are filler of the recorded
 * length, and so are the summaries. The recording is frozen: what is read again after a boundary is read again in every arm.
 *
 * @module
 */

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type CallMode, createCompactor, type HostMessage, type RequestSender } from "../../src/compaction.ts";
import { createSession, createWaymark } from "../../mod.ts";
import { fakeClock, promptCache, scriptedModel } from "../../src/testing.ts";
import { inFolder } from "../support.ts";
import type { Read } from "./replay_arms.ts";
import { createLines, type ReadEvent, type Recorded, type SessionEvent, World } from "./replay_data.ts";
import { argumentsOf, PLAIN, readTool } from "./replay_hosts.ts";

/** How a conversation is compacted. */
export interface CompactionArm {
  readonly title: string;
  readonly strategy?: "prune";
  readonly callMode?: CallMode;
  /** Another model summarizes, at a fifth of the price. */
  readonly isCheap?: true;
  /** Tokens of maps and seen ranges that are put after a summary. */
  readonly maps?: number;
}

/** The main model and the cheap one, as the table of prices has them. */
const MAIN = "claude-opus-4-8", CHEAP = "claude-haiku-4-5", PRICE_RATIO = 5;
/** Tokens of a summary. */
const SUMMARY_TOKENS = 600;
/** Time between two requests. */
const TURN_MS = 20_000;

/** What came of it. Costs are in plain input tokens of the main model; answers are left out. */
export interface CompactionFigures {
  requests: number;
  /** Summaries swapped in. */
  boundaries: number;
  /** Times the ladder without a model ran. */
  ladders: number;
  forks: number;
  declines: number;
  fallbacks: number;
  missed: number;
  /** What the conversation's own requests cost. */
  main: number;
  /** What the summaries' requests cost. */
  summaries: number;
  /** Tokens of maps and ranges put after summaries. */
  attached: number;
  /** Tokens of later reads of files that were told of there. */
  rereadAttached: number;
  /** Tokens of later reads of files whose lines had gone. */
  reread: number;
}

/** Nothing yet. */
export function noCompaction(): CompactionFigures {
  return {
    requests: 0,
    boundaries: 0,
    ladders: 0,
    forks: 0,
    declines: 0,
    fallbacks: 0,
    missed: 0,
    main: 0,
    summaries: 0,
    attached: 0,
    rereadAttached: 0,
    reread: 0,
  };
}

const filler = (tokens: number): string => "abc ".repeat(Math.max(1, tokens)).trimEnd();

/** A request as a host sends it that marks the last block of the system prompt and of the conversation. */
function asRequest(view: readonly HostMessage[]): HostMessage {
  const cache_control = { type: "ephemeral" }, { role, content } = view.at(-1)!;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content as HostMessage[];
  return {
    model: MAIN,
    max_tokens: 4_096,
    system: [{ type: "text", text: filler(2_000), cache_control }],
    tools: [{ name: "read", description: filler(500), input_schema: { type: "object" } }],
    messages: [...view.slice(0, -1), { role, content: [...blocks.slice(0, -1), { ...blocks.at(-1), cache_control }] }],
  };
}

/** Replays one session. */
export function replayCompaction(session: Recorded, arm: CompactionArm, budget: number): Promise<CompactionFigures> {
  return inFolder(async (root) => {
    const lines = createLines(session, countTokens), world = new World(root, lines), figures = noCompaction();
    const clock = fakeClock(), cache = promptCache({ clock }), seen = createSession(), cuts = new Map<string, number>();
    const waymark = createWaymark({ root, session: seen, onNotice: () => {} });
    const read = waymark.wrap(readTool(PLAIN, cuts) as Read, {
      dialect: PLAIN.dialect,
      facts: (info) => info as { callId: string; cwd: string },
    });

    /** Sends a request to the simulator; its cost goes to one of the sums. */
    const send = (body: HostMessage, sum: "main" | "summaries") => {
      const { usage, cost, answer } = cache.receive(body);
      figures[sum] += cost;
      return {
        id: answer(),
        input: usage.input_tokens,
        cacheRead: usage.cache_read_input_tokens,
        cacheWrite: usage.cache_creation_input_tokens,
        output: SUMMARY_TOKENS,
      };
    };
    const text = `## Current state\n${filler(SUMMARY_TOKENS)}`;
    const sender: RequestSender = {
      send: (request) => Promise.resolve({ text, stopReason: "end", usage: send(request, "summaries") }),
    };
    const model = scriptedModel(({ system, messages }) => {
      const tokens = (system.length + messages[0]!.content.length) / 4;
      figures.summaries += tokens / (arm.isCheap ? PRICE_RATIO : 1);
      return text;
    }, { name: arm.isCheap ? CHEAP : MAIN });
    const compactor = createCompactor({
      budget,
      clock,
      sender,
      session: seen,
      strategy: arm.strategy,
      callMode: arm.callMode,
      onNotice() {}, // what is refused is counted
      reattachMaps: arm.maps ? { tokens: arm.maps } : false,
      ...(arm.isCheap ? { summarizationModel: model } : { model }),
    });

    /** Files whose lines have gone into summaries, and those of them that were told of after one. */
    const gone = new Set<string>(), told = new Set<string>();
    const givenTo = new Map<string, string>();
    let known = "";

    const request = (): void => {
      const view = compactor.view(), body = asRequest(view);
      const maps = view.filter(({ content }) => typeof content === "string" && content.startsWith("[waymark maps:"));
      for (const { content } of maps) {
        if (known.includes(String(content))) continue;
        known += String(content);
        figures.attached += countTokens(String(content));
        for (const path of givenTo.values()) if (String(content).includes(`\n${path}, `)) told.add(path);
      }
      const held = JSON.stringify(view);
      for (const [id, path] of givenTo) if (!held.includes(`"${id}"`)) gone.add(path);
      const usage = send(body, "main");
      compactor.noteRequestSent(body);
      compactor.noteUsage(usage);
      figures.requests++;
      clock.advance(TURN_MS);
    };

    const resultOf = async (event: Exclude<SessionEvent, { type: "file" | "change" | "compaction" }>, id: string) => {
      if (event.type !== "read") return filler(event.tokens);
      const { path, returned: [, count] } = event as ReadEvent;
      if (gone.has(path)) figures.reread += event.tokens;
      if (told.has(path)) figures.rereadAttached += event.tokens;
      if (event.cut) cuts.set(id, count);
      givenTo.set(id, path);
      const args = argumentsOf(event, PLAIN);
      return String(await read(args, { callId: id, cwd: root }).catch((error: Error) => error.message));
    };

    const main = session.events.find((event) => "turn" in event)?.ctx;
    compactor.append({ role: "user", content: filler(200) });
    let turn: number | undefined, calls: HostMessage[] = [], results: HostMessage[] = [];
    const flush = async (): Promise<void> => {
      if (!calls.length) return;
      compactor.append({ role: "assistant", content: calls }, { role: "user", content: results });
      [calls, results] = [[], []];
      await compactor.settled();
    };
    for (const [index, event] of session.events.entries()) {
      world.apply(event);
      if (!("turn" in event) || event.ctx !== main) continue;
      if (event.turn !== turn) {
        await flush();
        request();
        seen.nextTurn();
        turn = event.turn;
      }
      const id = `call_${index}`, input = event.type === "read" ? { path: event.path } : {};
      calls.push({ type: "tool_use", id, name: event.type, input });
      results.push({ type: "tool_result", tool_use_id: id, content: await resultOf(event, id) || "." });
    }
    await flush();
    const { swapped, ladders, forks, declines, fallbacks, missed } = compactor.stats();
    await waymark.close();
    compactor.close();
    return { ...figures, boundaries: swapped, ladders, forks, declines, fallbacks, missed };
  });
}
