/**
 * What a session costs: a reference and a recorded read, over reading and hashing the file; looking through the messages of a
 * conversation; and what a session keeps after a hundred thousand reads.
 *
 * Run it with each runtime: `deno task bench session`, or this file itself.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createSession, createWaymark } from "../../mod.ts";
import type { Session } from "../../src/session_types.ts";
import type { ReadCall, ReadOutcome } from "../../src/types.ts";
import { code, inFolder, put } from "../support.ts";
import { line, measure, runtime } from "./measure.ts";

console.log(`# ${runtime()}`);
await inFolder(async (folder) => {
  await reads(folder);
  await reconciling(folder);
  await hundredThousand(folder);
});

/** A reference, and a read that is recorded, on a file of 50 KB. */
async function reads(folder: string): Promise<void> {
  const text = code(1100).slice(0, 50_000), path = put(folder, "a.ts", text), lines = text.split(/(?<=\n)/);
  const waymark = createWaymark({ root: folder, onNotice() {} });
  try {
    /** A read as a wrapped tool makes it; the tool's own time is none. */
    const reader = (session: Session, { start, count }: { start: number; count?: number }) => {
      const call: ReadCall = { path, start, cwd: folder, session, answerable: true, ...count ? { count } : {} };
      return (): Promise<ReadOutcome> =>
        waymark.middleware({ ...call }, (asked) => {
          const given = lines.slice(start - 1, start - 1 + asked.count!).join("");
          return Promise.resolve({ result: given, text: given, annotations: [] });
        });
    };
    const referred = async (range: { start: number; count?: number }): Promise<() => Promise<ReadOutcome>> => {
      const session = createSession(), read = reader(session, range);
      const next = (): Promise<ReadOutcome> => {
        session.nextTurn();
        session.nextTurn(); // who asks again at once insists
        return read();
      };
      await next();
      await next();
      const { annotations, ...rest } = await next();
      if ("result" in rest || annotations[0]?.kind !== "reference") throw new Error("no reference");
      return next;
    };
    const session = createSession(), short = reader(session, { start: 301, count: 100 });
    const recorded = (): Promise<ReadOutcome> => {
      session.reset();
      return short();
    };
    const timings = await measure([
      { name: "read + SHA-256", run: () => createHash("sha256").update(readFileSync(path)).digest("hex") },
      { name: "reference to lines 301-400", run: await referred({ start: 301, count: 100 }) },
      { name: "reference in place of a whole read", run: await referred({ start: 1 }) },
      { name: "recorded read of lines 301-400", run: recorded },
    ], { rounds: 61, repeats: 50, warmUp: 15 });
    console.log(`\nA reference on ${text.length} bytes (bar: <= 1.2x read + SHA-256)`);
    for (const timing of timings) console.log(line(timing));
  } finally {
    await waymark.close();
  }
}

/** A conversation of 1 MB: 250 results of 4 KB, each of which the session knows. */
async function reconciling(folder: string): Promise<void> {
  const waymark = createWaymark({ root: folder, onNotice() {} }), session = createSession();
  const texts = Array.from({ length: 250 }, (_, index) => code(90).replaceAll("f", `f${index}_`).slice(0, 4096));
  for (const [index, text] of texts.entries()) {
    const path = put(folder, `r/${index}.ts`, text),
      call: ReadCall = { path, start: 1, session, callId: `call_${index}` };
    await waymark.middleware(call, () => Promise.resolve({ result: text, text, annotations: [] }));
  }
  await waymark.close();
  const known = session.toJSON().given.length;
  const messages = (content: (text: string) => unknown) =>
    texts.map((text, index) => ({ role: "tool", tool_call_id: `call_${index}`, content: content(text) }));
  const gutter = (text: string): string =>
    text.split("\n").map((line, index) => `${String(index + 1).padStart(6)}\t${line}`).join("\n");
  const shapes = {
    "strings": messages((text) => text),
    "blocks": messages((text) => [{ type: "text", text }]),
    "strings with a reminder behind them": messages((text) => `${text}\n\n<system-reminder>Mind.</system-reminder>`),
    "JSON": messages((text) => JSON.stringify({ content: text })),
    "strings with a gutter": messages(gutter),
  };
  const timings = await measure(
    Object.entries(shapes).map(([name, all]) => ({ name, run: () => session.reconcile(all) })),
    { rounds: 21, repeats: 3 },
  );
  if (session.toJSON().given.length !== known || known !== 250) throw new Error(`${known} results are not all found`);
  console.log(`\nreconcile() on a conversation of 250 results, 1 MB`);
  for (const timing of timings) console.log(line(timing));
}

/** A hundred thousand reads over five thousand files. */
async function hundredThousand(folder: string): Promise<void> {
  const waymark = createWaymark({ root: folder, onNotice() {} }), session = createSession(), text = code(80);
  const paths = Array.from({ length: 5000 }, (_, index) => put(folder, `m/${index}.ts`, `// ${index}\n${text}\n`));
  const heap = (): number => {
    (globalThis as { gc?: () => void }).gc?.();
    return process.memoryUsage().heapUsed / (1 << 20);
  };
  console.log(`\n100,000 reads over 5,000 files of ${text.length} bytes (bar: bounded, 512 files)`);
  const started = performance.now();
  for (let read = 0, at = 0; read <= 100_000; read++, at = (at * 21 + 7) % 5000) {
    if (read % 25_000 === 0) {
      const { given } = session.toJSON(), files = new Set(given.map(({ file }) => file)).size;
      const kept = given.reduce((size, { text }) => size + text.length, 0) / (1 << 20);
      console.log(
        `${String(read).padStart(7)} reads: ${given.length} things of ${files} files, ${
          kept.toFixed(2)
        } MB of text; heap ${heap().toFixed(1)} MB`,
      );
    }
    session.nextTurn();
    const start = 1 + read % 3 * 20, call: ReadCall = { path: paths[at]!, start, count: 20, session, answerable: true };
    await waymark.middleware(call, () => {
      const given = readFileSync(paths[at]!, "utf8").split("\n").slice(start - 1, start + 19).join("\n");
      return Promise.resolve({ result: given, text: given, annotations: [] });
    });
  }
  console.log(`${((performance.now() - started) / 100).toFixed(1)} us a read`);
  await waymark.close();
}
