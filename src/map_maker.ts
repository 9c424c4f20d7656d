/**
 * Makes one map: the summarizer run on a file's bytes, within its turn and its budget, and checked. Every request to a model
 * for a map goes through here.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import type { WaymarkEvent } from "./events.ts";
import { isRegion, rank } from "./file_map.ts";
import { countLines } from "./lines.ts";
import type { LoadedFile, MapsOptions } from "./map_types.ts";
import type { Clock, Completion, FileMap, SourceFile, Summary } from "./types.ts";
import { withSignal } from "./waiting.ts";

/** Makes the map of a file; rejects with what the summarizer or the signal rejects with. */
export type MapMaker = (file: LoadedFile, signal: AbortSignal) => Promise<FileMap>;

/** Most requests to a model for one map, whoever makes them: the first and two repairs. */
const MOST_REQUESTS = 3;

/** Makes the map-maker of one instance: its budget. */
export function createMapMaker(
  options: MapsOptions & { clock: Pick<Clock, "now">; onEvent: (event: WaymarkEvent) => void },
): MapMaker {
  const { summarizer, audit, clock, onEvent: emit } = options;
  const { maxModelCalls = Infinity } = options.limits ?? {};
  const byModel = rank(summarizer.maker) === rank("model:");
  let calls = 0;

  return async (file, signal) => {
    const { path } = file, { maker } = summarizer;
    let attempt = 0, told = false;
    const spend = (problems?: readonly string[]): void => {
      signal.throwIfAborted();
      const refuse = (why: string): never => {
        throw new WaymarkError("budget", `Cannot summarize ${path}: ${why}`);
      };
      if (attempt >= MOST_REQUESTS) refuse(`one map may cost ${MOST_REQUESTS} model calls at most`);
      if (calls >= maxModelCalls) refuse(`the limit of ${maxModelCalls} model calls is used up`);
      calls++;
      emit({ type: "call", path, maker, attempt: ++attempt });
      if (problems) emit({ type: "repair", path, attempt, problems });
    };
    const used = ({ input, output, cacheRead, cacheWrite }: Completion["usage"]): void => {
      told = true;
      emit({ type: "tokens", path, maker, input, output, cacheRead, cacheWrite });
    };

    const { bytes, hash } = await file.content(), { length: size } = bytes; // hashed, counted and numbered from one buffer
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const source: SourceFile = { path, text, lines: countLines(bytes), hash, size };
    const started = clock.now();
    const made = await withSignal(Promise.resolve(summarizer.summarize(source, { signal, spend, used })), signal);
    if (!made) {
      throw new WaymarkError("no-declarations", `Cannot map ${path}: no declarations were found in it`);
    }
    let summary = checked(made, source);
    if (!told) used(summary.usage);
    if (byModel && audit && summary.regions.length) {
      try {
        const found = await withSignal(Promise.resolve(audit.audit(source, summary.regions)), signal);
        if (found) summary = checked({ ...summary, ...found }, source);
      } catch { /* what was paid for is kept, unverified */ }
    }
    const map: FileMap = {
      ...summary,
      hash,
      size,
      lines: source.lines,
      maker: summary.maker ?? maker,
      promptVersion: summarizer.version,
      createdAt: started,
    };
    const found = map.audit ? { audit: map.audit } : {};
    emit({ type: "summary", path, maker: map.maker, usage: map.usage, regions: map.regions.length, ...found });
    return map;
  };
}

/** A summary of which everything can be shown and kept, whoever made it: rows outside the file are dropped and counted. */
function checked(summary: Summary, { path, lines }: SourceFile): Summary {
  const { prose, regions: rows, dropped = 0, usage } = summary;
  if (typeof prose !== "string" || !Array.isArray(rows) || !usage) {
    throw new WaymarkError("bad-answer", `Cannot summarize ${path}: the summarizer gave no prose, regions and usage`);
  }
  const regions = rows.filter((row) => isRegion(row, lines)), unusable = rows.length - regions.length;
  return unusable ? { ...summary, regions, dropped: dropped + unusable } : summary;
}
