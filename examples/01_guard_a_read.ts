/**
 * Guards a read tool on a real source file: `deno task demo [FILE]`.
 *
 * Works on a copy in a fresh folder. With ANTHROPIC_API_KEY in the environment Claude makes the maps, else a parser does.
 */

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "@std/assert";
import "commander"; // its source is the file that is read
import { createWaymark } from "@waymark/waymark";
import { outline } from "@waymark/waymark/outline";
import { anthropic } from "@waymark/waymark/providers/anthropic";
import { completionModel } from "@waymark/waymark/providers/custom";

// The read tool of some agent. Nothing in it knows of Waymark.
type Args = { path: string; offset?: number; limit?: number };
type Result = { content: string; annotation?: { kind: string; text: string } };
async function readLines({ path, offset = 1, limit = Infinity }: Args): Promise<Result> {
  const lines = (await readFile(path, "utf8")).split(/(?<=\n)/);
  return { content: lines.slice(offset - 1, offset - 1 + limit).join("") };
}

async function demo(given: string, path: string): Promise<void> {
  await copyFile(given, path);
  const read = waymark.wrap(readLines), text = await readFile(path, "utf8");

  const first = await read({ path });
  if (first.annotation?.kind !== "map") {
    return console.log(
      first.annotation?.text ?? `${given} is left alone: it is short, or of a kind that is not guarded`,
    );
  }
  const all = text.split(/(?<=\n)/), shown = first.content.trimEnd().split("\n");
  assertEquals(first.content, all.slice(0, 200).join(""));
  say(`1. All ${all.length} lines of ${basename(given)} are asked for: 200 come back, and the map of the whole file`);
  console.log([...shown.slice(0, 4), "   ...", ...shown.slice(-4), "", first.annotation.text].join("\n"));

  const before = waymark.stats(), second = await read({ path }), after = waymark.stats();
  assertEquals(second, first);
  assertEquals([after.hits - before.hits, after.modelCalls - before.modelCalls], [1, 0]);
  const { regions, usage } = await waymark.summarize(path);
  say("2. The same again: the same result, from the cache");
  console.log(`the first time: ${Math.round(usage.ms)} ms to make the map, ${usage.calls} model calls`);
  console.log(`this time:      nothing made, 0 model calls; about ${after.tokensSaved} tokens kept out so far`);

  const range = { path, offset: 101, limit: 4 };
  assertEquals(await read(range), await readLines(range));
  say("3. A range of up to 200 lines is not touched");
  console.log((await read(range)).content.trimEnd());

  const last = regions.findLast(({ start }) => start > 200) ?? regions.at(-1)!;
  await writeFile(path, all.toSpliced(last.start - 1, 0, ...Array<string>(10).fill("\n")).join(""));
  const third = await read({ path }), now = (await waymark.summarize(path)).regions;
  const moved = now.find(({ name, start }) => name === last.name && start === last.start + 10);
  assert(moved || model, "a parser finds what has moved");
  say(`4. Ten lines are put in before line ${last.start}: the next read has a new map`);
  console.log(third.annotation?.text.split("\n")[0]);
  console.log(`before  ${last.start}-${last.end}  ${last.kind}  ${last.name}`);
  console.log(moved ? `now     ${moved.start}-${moved.end}  ${moved.kind}  ${moved.name}` : "now     see its rows");

  const broken = completionModel({ name: "broken", complete: () => Promise.reject(new Error("503 overloaded")) });
  const failing = createWaymark({ cache: false, model: broken, onNotice() {} });
  const fourth = await failing.wrap(readLines)({ path });
  assertEquals(fourth.content, await readFile(path, "utf8"));
  say(`5. A model that fails: all ${all.length + 10} lines, as asked, and a notice`);
  console.log(fourth.annotation?.text);
}

const say = (title: string): void => console.log(`\n=== ${title} ===\n`);
const sample = new URL("lib/command.js", import.meta.resolve("commander"));
const given = process.argv[2] ? resolve(process.env["INIT_CWD"] ?? "", process.argv[2]) : fileURLToPath(sample);
const project = await mkdtemp(join(tmpdir(), "waymark-demo-")), path = join(project, basename(given));
const model = process.env["ANTHROPIC_API_KEY"] ? anthropic() : undefined;
const waymark = createWaymark({ root: project, model, outline: outline() });
try {
  await demo(given, path);
} catch (error) {
  if (!(error instanceof Error && "code" in error)) throw error;
  console.error(`Cannot use ${given}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await waymark.close();
  await rm(project, { recursive: true });
}
