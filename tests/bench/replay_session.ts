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

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type Dialect, dialects } from "../../mod.ts";
import { inFolder } from "../support.ts";
import type { Arm, CallInfo, Read } from "./replay_arms.ts";
import { cost, createLines, type ReadEvent, type Recorded, World } from "./replay_data.ts";
import { type Asked, Delivered, type Falsehood, FALSEHOODS, type Moment, type Shown } from "./replay_judge.ts";
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

/** How a host says a read and shows its lines. */
interface Host {
  readonly dialect: Dialect;
  readonly before?: string;
  readonly gutter?: (number: number) => string;
  readonly after?: string;
  /** Content blocks instead of a text. */
  readonly blocks?: true;
}

const PLAIN: Host = { dialect: dialects.plain };
const HOSTS: Readonly<Record<string, Host>> = {
  "claude-code": { dialect: dialects.claudeCode, gutter: (number) => `${`${number}`.padStart(6)}→` },
  opencode: {
    dialect: dialects.opencode,
    before: "<content>\n",
    gutter: (number) => `${number}: `,
    after: "\n</content>",
  },
  openhands: {
    dialect: dialects.textEditor,
    before: "Here's the result of running `cat -n`:\n",
    gutter: (number) => `${`${number}`.padStart(6)}\t`,
  },
  pi: { dialect: dialects.pi, blocks: true },
};
const GUTTER = /^ *(\d+)(?:→|: |\t)/;

/** Arguments that a host's dialect reads as this read. */
function argumentsOf(
  { path, offset, limit }: Pick<ReadEvent, "path" | "offset" | "limit">,
  { dialect }: Host,
): Record<string, unknown> {
  if (dialect.describe(1, 1).startsWith("view_range")) {
    const from = offset ?? 1, range = [from, limit === undefined ? -1 : from + limit - 1];
    return { command: "view", path, ...(offset === undefined && limit === undefined ? {} : { view_range: range }) };
  }
  const name = dialect.parse({ path }) ? "path" : dialect.parse({ file_path: path }) ? "file_path" : "filePath";
  return { [name]: path, ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }) };
}

/** The host's own tool: reads the disk, and stops where the recorded one stopped. */
function readTool(
  { dialect, before = "", gutter = () => "", after = "", blocks }: Host,
  cuts: ReadonlyMap<string, number>,
): Read {
  return async (args, { callId, cwd }) => {
    const { path, start, count = Infinity } = dialect.parse(args)!;
    const all = (await readFile(join(cwd, path), "utf8")).split("\n").slice(0, -1);
    const lines = all.slice(start - 1, start - 1 + Math.min(count, cuts.get(callId) ?? Infinity));
    const text = before + lines.map((line, index) => gutter(start + index) + line).join("\n") + after;
    return blocks ? [{ type: "text", text }] : text;
  };
}

/** The lines in a result, and what stands behind them. */
function takeApart(
  result: unknown,
  first: number,
  { before = "", gutter, after = "" }: Host,
): { shown: Shown[]; annotation: string } {
  const text = typeof result === "string"
    ? result
    : (result as { text: string }[]).map((block) => block.text).join("\n\n");
  const at = /^\[waymark /m.exec(text)?.index ?? text.length, annotation = text.slice(at);
  const body = text.slice(0, at).replace(/\n\n$/, "");
  if (body === "") return { shown: [], annotation };
  if (!body.startsWith(before) || !body.endsWith(after)) throw new Error("Cannot read a result: its frame is damaged");
  const lines = body.slice(before.length, body.length - after.length).split("\n");
  const shown = lines.map((line, index) =>
    gutter
      ? { number: Number(GUTTER.exec(line)?.[1]), text: line.replace(GUTTER, "") }
      : { number: first + index, text: line }
  );
  return { shown, annotation };
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
