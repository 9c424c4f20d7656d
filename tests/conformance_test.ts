import { describe, it, test } from "node:test";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Annotation, autoCodec, type Dialect, dialects, type Waymark } from "@waymark/waymark";
import {
  conformance,
  conformanceCases,
  type ConformanceHost,
  type HostCall,
  type OpenHost,
  type ToolResult,
} from "@waymark/waymark/conformance";
import { hookReads } from "../src/hooked.ts";

/** A tool of a host: arguments in, a result out. */
type Tool = (args: Record<string, unknown>, info: { toolCallId: string; signal: AbortSignal | undefined }) => unknown;

/** A loop with nothing of its own: every call of a turn at once, strings and blocks shown as they are. */
function loop(name: string, dialect: Dialect, wrap: (tool: Tool, waymark: Waymark) => Tool): ConformanceHost {
  return {
    name,
    dialect,
    open({ waymark, tool, session }): Promise<OpenHost> {
      const wrapped = wrap((args, { signal }) => tool(args, { signal }), waymark);
      const call = async ({ args, callId }: HostCall, signal: AbortSignal | undefined) => {
        try {
          const result = await wrapped(args, { toolCallId: callId, signal }) as ToolResult;
          if (typeof result === "string") return { text: result, failed: false };
          const texts = result.flatMap((block) => block.type === "text" ? [block.text] : []);
          const images = result.flatMap((block) => block.type === "image" ? [block.data] : []);
          return { text: texts.join("\n"), failed: false, images };
        } catch (error) {
          return { text: String(error), failed: true };
        }
      };
      return Promise.resolve({
        turn(calls, { signal } = {}) {
          session?.nextTurn();
          return Promise.all(calls.map((one) => call(one, signal)));
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

function onion(name: string, dialect: Dialect): ConformanceHost {
  return loop(`an onion of ${name}`, dialect, (tool, waymark) => waymark.wrap(tool, { dialect }));
}

/** The same, by a hook before the tool and one after it. */
function hooks(name: string, dialect: Dialect): ConformanceHost {
  return loop(`hooks of ${name}`, dialect, (tool, waymark) => {
    const reads = hookReads(waymark.middleware, { dialect, answerable: true });
    return async (args, info) => {
      const facts = { callId: info.toolCallId, ...info.signal && { signal: info.signal } };
      const begun = await reads.begin(args, facts);
      try {
        const result = await tool(begun, info), verdict = await reads.finish(info.toolCallId, { result });
        if (!verdict) return result;
        return verdict.replaces ? verdict.text : autoCodec.annotate(result, verdict.annotations);
      } catch (error) {
        const verdict = await reads.finish(info.toolCallId, { error });
        throw verdict ? new Error(`${(error as Error).message}\n\n${verdict.text}`, { cause: error }) : error;
      }
    };
  });
}

const spoken = ["plain", "anthropicRead", "textEditor", "geminiCli", "deepagents", "mcpFilesystem"] as const;

for (const name of spoken) {
  conformance(test, onion(name, dialects[name]));
  conformance(test, hooks(name, dialects[name]));
}

/** The cases a host fails. */
async function failures(host: ConformanceHost): Promise<string[]> {
  const runs: [string, () => Promise<void>][] = [], failed: string[] = [];
  conformance((name, run) => runs.push([name.slice(host.name.length + 2), run]), host);
  for (const [name, run] of runs) await run().catch(() => failed.push(name));
  return failed;
}

describe("the conformance suite", () => {
  const plain = onion("plain", dialects.plain);

  const faults: readonly [fault: string, wrap: (tool: Tool, waymark: Waymark) => Tool, found: string][] = [
    [
      "guards nothing",
      (tool) => tool,
      "a long read is shown as 200 lines and the map of the whole file, and is no failure",
    ],
    [
      "shortens and does not say so",
      (tool, waymark) =>
        waymark.wrap(tool, {
          codec: { ...autoCodec, annotate: (result) => Array.isArray(result) ? [...result] : `${result}` },
        }),
      "a long read is shown as 200 lines and the map of the whole file, and is no failure",
    ],
    [
      "makes text of errors",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        return async (args, info) => {
          try {
            return await wrapped(args, info);
          } catch (error) {
            if (!isGuarded(waymark)) throw error;
            return "something went wrong";
          }
        };
      },
      "a missing file is the tool's own error",
    ],
    [
      "loses images",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        return async (args, info) => {
          const result = await wrapped(args, info);
          return isGuarded(waymark) && Array.isArray(result) ? result.filter(({ type }) => type === "text") : result;
        };
      },
      "an image is shown as it is, alone or beside long text",
    ],
    [
      "counts from the slice",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        return async (args, info) => {
          const result = await wrapped(args, info);
          return typeof result === "string" ? result.replace(/PARTIAL, lines \d+-\d+/, "PARTIAL, lines 1-200") : result;
        };
      },
      "a long range is shortened from its own first line, and told in the file's own numbers",
    ],
    [
      "makes one call after the other",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        let before: Promise<unknown> = Promise.resolve();
        return (args, info) => before = before.catch(() => {}).then(() => Promise.race([wrapped(args, info), soon()]));
      },
      "calls of one turn do not wait for each other",
    ],
  ];
  for (const [fault, wrap, found] of faults) {
    it(`finds a host that ${fault}`, async () => {
      assert((await failures(loop(fault, dialects.plain, wrap))).includes(found));
    });
  }

  it("passes no case that a host says it cannot meet: it is skipped, with the reason", () => {
    const run: string[] = [], skipped: string[] = [], name = conformanceCases[0]!;
    const runner = Object.assign((title: string) => run.push(title), { skip: (title: string) => skipped.push(title) });
    conformance(runner, { ...plain, cannot: { [name]: "it has no long reads" } });
    assertEquals(run.length, conformanceCases.length - 1);
    assertEquals(skipped, [`${plain.name}: ${name} (it has no long reads)`]);
  });

  it("skips what needs a tool of its own on a host that reads by itself", () => {
    const run: string[] = [], skipped: string[] = [];
    const runner = Object.assign((title: string) => run.push(title), {
      ignore: (title: string) => skipped.push(title),
    });
    conformance(runner, { ...plain, ownTool: true });
    assertEquals(run.length + skipped.length, conformanceCases.length);
    assert(skipped.length > 5 && run.length > 10);
  });

  it("refuses to leave out a case that there is not", () => {
    assertThrows(() => conformance(test, { ...plain, cannot: { "no such case": "" } }), TypeError, "no such case");
  });
});

/** Whether this Waymark shortens: the suite's comparisons use one that does not. */
function isGuarded(waymark: Waymark): boolean {
  return waymark.summarizeFileTool().description.includes("1,400-line");
}

function soon(): Promise<Annotation> {
  return new Promise((_, reject) => setTimeout(reject, 300, new Error("too slow")));
}
