/**
 * One recorded session through one arm: real files in a fresh folder, real calls of wrapped tools in the order and in the
 * parallel batches of the recording, every result judged.
 *
 * The recording is frozen: whatever an arm withholds, nobody asks for it again. Reads of one turn run at once, as long as
 * nothing changes on disk between them. Where a sub-agent ran, one is made up that begins with nothing and reads the three
 * files read last; what it reads is judged, and counted nowhere else, because the recording does not hold it.
 *
 * @module
 */

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { inFolder } from "../support.ts";
import type { Arm, CallInfo } from "./replay_arms.ts";
import { cost, createLines, type ReadEvent, type Recorded, World } from "./replay_data.ts";
import { argumentsOf, HOSTS, PLAIN, readTool, takeApart } from "./replay_hosts.ts";
import { type Asked, Delivered, type Falsehood, FALSEHOODS, type Moment } from "./replay_judge.ts";
import { contractReferences, isSeen, type Population } from "./replay_rules.ts";

/** What came of one session, or of several. */
export interface Figures {
  sessions: number;
  /** Reads that the arm got to see. */
  reads: number;
  /** Reads that came back with a map or a line that points back to one. */
  capped: number;
  /** Reads answered by lines shown before. */
  references: number;
  /** References that the data's own contract arm gives. */
  contract: number;
  diffs: number;
  mapReferences: number;
  notices: number;
  /** Tokens of all tool results, as recorded. */
  raw: number;
  /** The same, of the reads that the arm got to see. */
  rawReads: number;
  /** Tokens of all tool results with the arm: what is left of them, and what it inserts. */
  tokens: number;
  /** Tokens of maps, references, differences and notices. */
  inserted: number;
  /** What a sub-agent was told about lines shown before. */
  toSubAgents: number;
  /** False statements, by what is false. */
  wrong: Record<Falsehood, number>;
}

/** Nothing yet. */
export function noFigures(): Figures {
  return {
    sessions: 0,
    reads: 0,
    capped: 0,
    references: 0,
    contract: 0,
    diffs: 0,
    mapReferences: 0,
    notices: 0,
    raw: 0,
    rawReads: 0,
    tokens: 0,
    inserted: 0,
    toSubAgents: 0,
    wrong: Object.fromEntries(FALSEHOODS.map((falsehood) => [falsehood, 0])) as Figures["wrong"],
  };
}

/** Several sessions as one. */
export function sumOf(all: readonly Figures[]): Figures {
  const sum = noFigures();
  for (const figures of all) {
    for (const key of Object.keys(figures) as (keyof Figures)[]) {
      if (key === "wrong") { for (const falsehood of FALSEHOODS) sum.wrong[falsehood] += figures.wrong[falsehood]; }
      else sum[key] += figures[key];
    }
  }
  return sum;
}

/** How many false statements there are. */
export function falsehoods({ wrong }: Figures): number {
  return FALSEHOODS.reduce((sum, falsehood) => sum + wrong[falsehood], 0);
}

/** Replays one session through one arm. */
export function replay(session: Recorded, arm: Arm, population: Population): Promise<Figures> {
  return inFolder(async (root) => {
    const lines = createLines(session, countTokens), world = new World(root, lines), record = new Delivered();
    const cuts = new Map<string, number>(), host = HOSTS[session.host] ?? PLAIN;
    const tools = {
      tool: { read: readTool(host, cuts), dialect: host.dialect },
      shell: { read: readTool(PLAIN, cuts), dialect: PLAIN.dialect },
    };
    const figures = { ...noFigures(), sessions: 1, raw: session.toolTokens };
    figures.contract = contractReferences(session, population, arm.name !== "reread");
    const main = arm.open({ root, tools });
    let batch: Promise<() => void>[] = [], now: Moment = { ctx: "", epoch: 0, turn: 0 }, spawned = 0;
    const recent: string[] = [];

    /** Ends the batch: results are looked at in the order in which the calls were made. */
    const settle = async (): Promise<void> => {
      const done = await Promise.all(batch);
      batch = [];
      for (const look of done) look();
    };

    const judge = (asked: Asked, result: unknown, via: "tool" | "shell", moment: Moment) => {
      const { shown, annotation } = takeApart(result, asked.first, via === "tool" ? host : PLAIN);
      const verdict = record.judge(asked, shown, annotation, moment);
      if (verdict.falsehood) figures.wrong[verdict.falsehood]++;
      return { ...verdict, shown, annotation };
    };

    const read = async (event: ReadEvent, key: string): Promise<() => void> => {
      const { path, via, returned: [first, count], tokens } = event, all = world.returned(event), moment = now;
      const asked: Asked = { path, first, count, disk: world.textsOf(path) };
      if (event.cut) cuts.set(key, count);
      const isOurs = isSeen(event, population), args = argumentsOf(event, via === "tool" ? host : PLAIN);
      const info: CallInfo = { callId: key, cwd: root };
      const result = await (isOurs ? main.read(via, args, info) : tools[via].read(args, info));
      return () => {
        const { shown, annotation, references, diffs, maps, mapReferences, notices } = judge(
          asked,
          result,
          via,
          moment,
        );
        const some = shown.map(({ text }) => lines.id(text)!);
        const left = shown.length ? cost(session, event, all, some) : 0;
        const inserted = annotation === "" ? 0 : countTokens(shown.length ? `\n\n${annotation}` : annotation);
        figures.tokens += left + inserted;
        if (!isOurs) return;
        figures.reads++;
        figures.rawReads += tokens;
        figures.inserted += inserted;
        figures.capped += maps || mapReferences ? 1 : 0;
        figures.references += references;
        figures.diffs += diffs;
        figures.mapReferences += mapReferences;
        figures.notices += notices;
        if (recent.includes(path)) recent.splice(recent.indexOf(path), 1);
        recent.push(path);
      };
    };

    /** A sub-agent that reads what the agent read last. */
    const subAgent = async (): Promise<void> => {
      const sub = main.spawn(), ctx = `sub${++spawned}`;
      for (const [index, path] of recent.filter((path) => world.files.has(path)).slice(-3).entries()) {
        const moment = { ctx, epoch: 0, turn: index + 1 },
          disk = world.textsOf(path),
          count = Math.min(100, disk.length);
        sub.turn(moment.turn);
        const info = { callId: `${ctx}-${index}`, cwd: root };
        const result = await sub.read("tool", argumentsOf({ path, limit: 100 }, host), info);
        figures.toSubAgents += judge({ path, first: 1, count, disk }, result, "tool", moment).references;
      }
    };

    for (const [index, event] of session.events.entries()) {
      if ("turn" in event) {
        if (event.turn !== now.turn) {
          await settle();
          main.turn(event.turn);
        }
        now = { ctx: event.ctx, epoch: event.epoch, turn: event.turn };
      }
      if (event.type === "read") {
        batch.push(read(event, `call-${event.call}-${index}`));
        continue;
      }
      await settle();
      world.apply(event);
      if (event.type === "compaction") main.compact();
      if (event.type === "edit") { for (const { path } of event.files) main.edit(path); }
      if (event.type === "edit" || event.type === "result") figures.tokens += event.tokens;
      if (event.type === "result" && event.tool === "subagent") await subAgent();
    }
    await settle();
    await main.close();
    return figures;
  });
}
