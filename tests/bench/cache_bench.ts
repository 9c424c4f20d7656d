/**
 * What the cache costs: a look-up of an entry and its 25 regions among 1,000 and among 100,000 files, a write, an opening;
 * and how large a database gets.
 *
 * The two databases are asked side by side in one process. `deno task bench cache`, or this file itself with each runtime;
 * an argument is the size of the larger one.
 */

import { readdirSync, statSync } from "node:fs";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { openCache } from "../../src/cache/cache.ts";
import type { SummaryCache } from "../../src/cache/types.ts";
import { regionsOf, sampleMap } from "../cache/samples.ts";
import { inFolder } from "../support.ts";
import { line, measure, runtime } from "./measure.ts";

const SMALL = 1_000, LARGE = Number(process.argv[2] ?? 100_000), HOT = 200;

const hash = (file: number): string => file.toString(16).padStart(64, "7");
const path = (file: number): string => `src/folder${file % 97}/file${file}.ts`;
const map = (file: number) =>
  sampleMap({
    hash: hash(file),
    prose: "Reads what it is given, sorts it by the second key and hands it on to whoever asked. ".repeat(4),
    regions: regionsOf(25, `name${file}x`).map((region) => ({
      ...region,
      note: "called by the reader after each line",
    })),
  });

/** A cache with so many files, made in large transactions. */
async function filled(root: string, files: number): Promise<SummaryCache> {
  const cache = await openCache({ root, sqlite: "node:sqlite", maxEntries: Infinity });
  cache.put(path(0), map(0));
  const database = new DatabaseSync(cache.file!),
    columns = "extension, hash, size, lines, prose, regions, maker, rank, prompt_version, facts, created_at";
  database.exec("begin immediate");
  const entry = database.prepare(
    `insert into entries(path, ${columns}) values(?, '.ts', ?, 9000, 300, ?, 25, 'model:test', 2, 1, '{"usage":{}}', 1)`,
  );
  const region = database.prepare("insert into regions values(?, ?, ?, ?, ?, ?, ?)");
  for (let file = 1; file < files; file++) {
    const { prose, regions } = map(file), id = entry.run(path(file), hash(file), prose).lastInsertRowid;
    regions.forEach(({ start, end, kind, name, note }, ordinal) =>
      region.run(id, ordinal, start, end, kind, name, note)
    );
  }
  database.exec("commit");
  database.close();
  cache.close();
  return await openCache({ root, sqlite: "node:sqlite", maxEntries: Infinity });
}

const megabytes = (root: string): string => {
  const bytes = readdirSync(`${root}/.summaries`).reduce(
    (sum, name) => sum + statSync(`${root}/.summaries/${name}`).size,
    0,
  );
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
};

console.log(`# ${runtime()}`);
await inFolder((small) =>
  inFolder(async (large) => {
    const few = await filled(small, SMALL), many = await filled(large, LARGE);
    console.log(`${SMALL} files: ${megabytes(small)}; ${LARGE} files: ${megabytes(large)}`);
    let turn = 0;
    /** A hot set spread over the whole database, asked for over and over; more maps than a cache keeps as they were read. */
    const hot = (cache: SummaryCache, files: number) => (): void => {
      const file = turn++ % HOT * Math.trunc(files / HOT);
      if (cache.get(path(file), hash(file))?.regions.length !== 25) throw new Error(`${file} is not there`);
    };
    const anywhere = (cache: SummaryCache, files: number) => (): void => {
      const file = Math.trunc(Math.random() * files);
      if (cache.get(path(file), hash(file))?.regions.length !== 25) throw new Error(`${file} is not there`);
    };
    const report = async (title: string, cases: Parameters<typeof measure>[0], repeats = HOT) => {
      console.log(title);
      for (const timing of await measure(cases, { repeats })) console.log(line(timing));
    };
    await report("a look-up, hot set of 200 (bar: 1.3x)", [
      { name: `${SMALL} files`, run: hot(few, SMALL) },
      { name: `${LARGE} files`, run: hot(many, LARGE) },
    ]);
    await report("a look-up, anywhere", [
      { name: `${SMALL} files`, run: anywhere(few, SMALL) },
      { name: `${LARGE} files`, run: anywhere(many, LARGE) },
    ]);
    await report("the same map again", [
      { name: `${LARGE} files`, run: () => many.get(path(77), hash(77)) },
      { name: "what is at a line", run: () => many.at(path(77), hash(77), 120) },
      { name: "sizes of a path", run: () => many.sizes(path(77)) },
      { name: "a map that is not there", run: () => many.get("src/none.ts", hash(77)) },
    ]);
    await report("a write: entry and 25 regions replaced", [
      { name: `${SMALL} files`, run: () => few.put(path(++turn % HOT), map(turn % HOT)) },
      { name: `${LARGE} files`, run: () => many.put(path(++turn % HOT), map(turn % HOT)) },
    ], 20);
    few.close();
    many.close();
    await report(
      "an opening, first look-up and closing",
      [[small, SMALL] as const, [large, LARGE] as const].map(([root, files]) => ({
        name: `${files} files`,
        async run() {
          const cache = await openCache({ root, sqlite: "node:sqlite" });
          if (!cache.get(path(0), hash(0))) throw new Error("it is not there");
          cache.close();
        },
      })),
      5,
    );
  })
);
