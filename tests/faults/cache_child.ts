/**
 * A process that uses the cache, for tests in which several do. Prints lines, the last of them its result as JSON.
 *
 * @module
 */

import { appendFileSync } from "node:fs";
import process from "node:process";
import { openCache } from "../../src/cache/cache.ts";
import type { WaymarkEvent } from "../../src/events.ts";
import type { FileMap } from "../../src/types.ts";
import { hashOf, regionsOf, sampleMap } from "../cache/samples.ts";

/** What the process is to do. */
export interface Job {
  readonly action: "put" | "loop" | "once" | "read";
  readonly root: string;
  readonly sqlite?: "node:sqlite" | "@db/sqlite" | "auto";
  /** Start at this moment, milliseconds since the epoch. */
  readonly at?: number;
  /** A name for what it stores. */
  readonly name?: string;
  /** How many maps it stores. */
  readonly count?: number;
  /** How long a run takes, in milliseconds. */
  readonly takes?: number;
  /** Where a run writes one line. */
  readonly log?: string;
  /** Become this user first. */
  readonly user?: number;
}

/** What it says in the end. */
export interface Report {
  readonly kind: string;
  readonly driver?: string | undefined;
  readonly stored: number;
  readonly found: number;
  readonly mine?: boolean;
  readonly prose?: string;
  readonly events: string[];
  readonly messages: string[];
  /** Longest time one store took, in milliseconds. */
  readonly slowest: number;
}

/** The map a process stores: every region says whose it is, so that a torn one shows. */
export function taggedMap(tag: string, hash: string, regions = 25): FileMap {
  return sampleMap({ hash, prose: tag, lines: 1_000, regions: regionsOf(regions, `${tag} `) });
}

/** Whether all of a map was written by one process in one go. */
export function isWhole(map: FileMap): boolean {
  return map.regions.every((region) => region.name.startsWith(`${map.prose} `));
}

async function main(job: Job): Promise<void> {
  const { action, root, at = 0, name = "x", count = 1, takes = 0, log, user, sqlite = "node:sqlite" } = job;
  if (user !== undefined) {
    process.setgid!(user);
    process.setuid!(user);
  }
  const events: WaymarkEvent[] = [];
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  if (at > Date.now()) await wait(at - Date.now());
  const cache = await openCache({ root, sqlite, onEvent: (event) => events.push(event) });
  let stored = 0, found = 0, slowest = 0, mine: boolean | undefined, prose: string | undefined;
  if (action === "put") {
    for (let file = 0; file < count; file++) {
      const start = performance.now();
      if (cache.put(`${name}/${file}.ts`, taggedMap(`${name}-${file}`, hashOf(`${name}-${file}`)))) stored++;
      slowest = Math.max(slowest, performance.now() - start);
    }
  } else if (action === "loop") {
    for (let round = 0;; round++) {
      if (round === 1) console.log("ready");
      for (let file = 0; file < count; file++) {
        cache.put(`${file}.ts`, taggedMap(`${name}-${round}`, hashOf(file), 5 + round % 40));
      }
      await wait(0);
    }
  } else if (action === "once") {
    const result = await cache.once(
      { path: "a.ts", hash: hashOf(1), wanted: 2, signal: AbortSignal.timeout(60_000) },
      async () => {
        if (log) appendFileSync(log, `${name}\n`);
        console.log("running");
        await wait(takes);
        return taggedMap(name, hashOf(1));
      },
    );
    mine = result.mine;
    prose = result.map.prose;
  } else {
    for (let file = 0; file < count; file++) {
      const map = cache.get(`${name}/${file}.ts`, hashOf(`${name}-${file}`));
      if (map && isWhole(map)) found++;
    }
  }
  const { kind, driver } = cache;
  cache.close();
  const said = events.flatMap((event) => event.type === "cache" ? [event] : []);
  const report: Report = {
    kind,
    driver,
    stored,
    found,
    ...(mine === undefined ? {} : { mine }),
    ...(prose === undefined ? {} : { prose }),
    events: said.map((event) => event.what),
    messages: said.map((event) => event.message),
    slowest,
  };
  console.log(JSON.stringify(report));
}

if (/cache_child\.ts$/.test(process.argv[1] ?? "")) await main(JSON.parse(process.argv[2]!));
