/**
 * What a test of your own needs in place of the real parts: a model that answers from a script, files in memory, a clock that
 * stands still, and a simulator of a provider's prompt cache.
 *
 * Promised: no network, no disk, no real time, the same answers every time. Absent: any pretence at judgement; the scripted
 * model's own maps come from a plain search for declarations in the prompt it is given.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import { withSummarizer } from "./summary/model.ts";
import type { Clock, Completion, CompletionRequest, FileSource, Model } from "./types.ts";

export {
  promptCache,
  type PromptCacheOptions,
  type PromptCacheSimulator,
  type SimulatedRequest,
  type SimulatedUsage,
} from "./testing/prompt_cache.ts";
export type { MissReason } from "./testing/prompt_layout.ts";

/** One answer of a script: the text alone, a completion as far as it matters, or an error to reject with. */
export type ScriptedAnswer = string | Partial<Completion> | Error;

/** What a {@linkcode ScriptedModel} answers: a list, one answer for each call, or a function called for every request. */
export type Script =
  | readonly ScriptedAnswer[]
  | ((request: CompletionRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** Options of {@linkcode scriptedModel}. */
export interface ScriptedModelOptions {
  /** The model's name. Default `scripted`. */
  readonly name?: string;
  /** Most tokens the model can answer with. Default 16,384. */
  readonly maxOutputTokens?: number;
}

/** A model that answers from a script and remembers what it was asked. */
export interface ScriptedModel extends Model {
  /** Every request so far, in order. */
  readonly calls: readonly CompletionRequest[];
}

/**
 * A model that answers from a script. Without one it makes a true map of whatever numbered file it is sent. A list that has
 * run out is a failure.
 *
 * @example
 * ```ts
 * import { scriptedModel } from "@waymark/waymark/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const model = scriptedModel(['{"prose": "Adds numbers.", "regions": []}']);
 * const file = { path: "add.ts", text: "export const one = 1;\n", lines: 1, hash: "", size: 22 };
 * const summary = await model.summarizer.summarize(file, { signal: new AbortController().signal, spend() {} });
 * assertEquals(summary?.prose, "Adds numbers.");
 * assertEquals(model.calls.length, 1);
 * ```
 */
export function scriptedModel(script: Script = trueMap, options: ScriptedModelOptions = {}): ScriptedModel {
  const { name = "scripted", maxOutputTokens } = options;
  const calls: CompletionRequest[] = [];
  const complete = async (request: CompletionRequest): Promise<Completion> => {
    const index = calls.push(request) - 1;
    const answer = typeof script === "function" ? await script(request, index) : script[index];
    if (answer === undefined) {
      throw new WaymarkError("provider-error", `Cannot ask ${name}: its script has only ${index} answers`);
    }
    if (answer instanceof Error) throw answer;
    const given = typeof answer === "string" ? { text: answer } : answer;
    const text = given.text ?? "";
    const input = [request.system, ...request.messages.map(({ content }) => content)].join("").length;
    const usage = { input: Math.ceil(input / 4), output: Math.ceil(text.length / 4), cacheRead: 0, cacheWrite: 0 };
    return { stopReason: "end", usage, ...given, text };
  };
  const model = withSummarizer({ name, complete }, maxOutputTokens === undefined ? {} : { maxOutputTokens });
  return { ...model, calls };
}

const DECLARATION =
  /^\s{0,4}(?:export\s+|default\s+|async\s+|abstract\s+|pub\s+|public\s+|static\s+)*(function|class|interface|type|const|def|fn|func|struct)\s+([\p{L}_$][\w$]*)/u;
const KINDS: Readonly<Record<string, string>> = {
  const: "constant",
  def: "function",
  fn: "function",
  func: "function",
  struct: "class",
};

/** A map in which the first line of every region holds its name, made from the numbered file in a request. */
export function trueMap(request: CompletionRequest): string {
  const lines = (request.messages[0]?.content ?? "").split("\n").flatMap((line) => {
    const [, number, text] = /^(\d+)\t([^]*)$/.exec(line) ?? []; // not `.`: U+2028 and CR end no line
    return number === undefined ? [] : [{ number: Number(number), text: text! }];
  });
  const last = lines.at(-1)?.number ?? 0;
  let found = lines.flatMap(({ number, text }) => {
    const [, word, name] = DECLARATION.exec(text) ?? [];
    return word && name ? [{ start: number, kind: KINDS[word] ?? word, name }] : [];
  });
  if (!found.length) {
    const blocks = lines.filter(({ number, text }) => number % 50 === 1 && text.trim());
    found = blocks.map(({ number, text }) => ({ start: number, kind: "other", name: text.trim().slice(0, 40) }));
  }
  const step = Math.ceil(found.length / 400) || 1;
  const kept = found.filter((_, index) => index % step === 0);
  const regions = kept.map((region, index) => ({
    ...region,
    end: (kept[index + 1]?.start ?? last + 1) - 1,
    note: `stands ${index + 1}. in the file`,
  }));
  return JSON.stringify({ prose: `A file of ${last} lines with ${found.length} declarations.`, regions });
}

/** Files in memory. */
export interface MemoryFiles extends FileSource {
  /** The paths read so far, in order. */
  readonly reads: readonly string[];
  /** The bytes of a file; `undefined` where there is none. */
  read(path: string): Uint8Array | undefined;
  /** Adds or replaces a file. Text is stored as UTF-8. */
  set(path: string, content: string | Uint8Array): void;
  /** Removes a file; whether there was one. */
  delete(path: string): boolean;
}

/**
 * A file source in memory, for tests of tools that read somewhere else than this machine's disk. A relative name stands for
 * the file in whatever folder it is looked for: a source is asked for absolute paths.
 *
 * @example
 * ```ts
 * import { memoryFiles } from "@waymark/waymark/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const files = memoryFiles({ "a.ts": "export {};\n" });
 * assertEquals(new TextDecoder().decode(files.read("a.ts")), "export {};\n");
 * assertEquals(files.read("b.ts"), undefined);
 * ```
 */
export function memoryFiles(record: Readonly<Record<string, string | Uint8Array>> = {}): MemoryFiles {
  const asBytes = (content: string | Uint8Array): Uint8Array =>
    typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
  const files = new Map(Object.entries(record).map(([path, content]) => [path, asBytes(content)]));
  const reads: string[] = [];
  return {
    reads,
    read(path) {
      reads.push(path);
      const name = files.has(path) ? path : [...files.keys()].find((name) => path.endsWith(`/${name}`));
      return name === undefined ? undefined : files.get(name)!.slice();
    },
    set: (path, content) => void files.set(path, asBytes(content)),
    delete: (path) => files.delete(path),
  };
}

/** A clock that moves when it is told to. */
export interface FakeClock extends Clock {
  /** Moves on by so many milliseconds and wakes, in the order of their times, all sleepers whose time has come. */
  advance(ms: number): void;
}

/**
 * A clock that stands still until {@linkcode FakeClock.advance}.
 *
 * @example
 * ```ts
 * import { fakeClock } from "@waymark/waymark/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const clock = fakeClock(1000);
 * const slept = clock.sleep(500);
 * clock.advance(500);
 * await slept;
 * assertEquals(clock.now(), 1500);
 * ```
 */
export function fakeClock(start = 1_750_000_000_000): FakeClock {
  let now = start;
  let sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  return {
    now: () => now,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (ms <= 0) return Promise.resolve();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const stop = (): void => {
        sleepers = sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper = {
        at: now + ms,
        wake: (): void => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
      };
      signal?.addEventListener("abort", stop, { once: true });
      sleepers.push(sleeper);
      return promise;
    },
    advance(ms) {
      now += ms;
      const due = sleepers.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      sleepers = sleepers.filter(({ at }) => at > now);
      for (const { wake } of due) wake();
    },
  };
}
