import { describe, it, test } from "node:test";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  autoCodec,
  createSession,
  createWaymark,
  type Dialect,
  dialects,
  stripAnnotations,
  type Waymark,
} from "@waymark/waymark";
import {
  conformance,
  conformanceCases,
  type ConformanceHost,
  type HostCall,
  type OpenHost,
  type Shown,
  type ToolResult,
} from "@waymark/waymark/conformance";
import { hookReads } from "../src/hooked.ts";

/** A tool of a host: arguments in, a result out. */
type Tool = (args: Record<string, unknown>, info: { toolCallId: string; signal: AbortSignal | undefined }) => unknown;

/** What a loop does wrong. */
interface Fault {
  /** What is done to the tool that the host calls. */
  readonly tool?: (tool: Tool) => Tool;
  /** What is done to what the model is shown. */
  readonly shows?: (shown: Shown) => Shown;
  /** What is done to all that it is shown in a turn. */
  readonly turn?: (all: readonly Shown[]) => readonly Shown[];
}

interface LoopOptions extends Fault {
  /** The fault is the adapter's alone: the host without it has none. Default false. */
  readonly isAdapters?: boolean;
}

type Wrap = (tool: Tool, waymark: Waymark) => Tool;

/** A loop with nothing of its own: every call of a turn at once, strings and blocks shown as they are. */
function loop(name: string, dialect: Dialect, wrap: Wrap, options: LoopOptions = {}): ConformanceHost {
  return {
    name,
    dialect,
    open({ waymark, tool, session }): Promise<OpenHost> {
      const { isAdapters = false, ...given } = options, fault = isAdapters && !waymark ? {} : given;
      const { tool: change = (same) => same, shows = (same) => same, turn: turns = (same) => same } = fault;
      const own: Tool = (args, { signal }) => tool(args, { signal });
      const wrapped = change(waymark ? wrap(own, waymark) : own);
      const call = async ({ args, callId }: HostCall, signal: AbortSignal | undefined): Promise<Shown> => {
        try {
          const result = await wrapped(args, { toolCallId: callId, signal }) as ToolResult;
          if (typeof result === "string") return shows({ text: result, failed: false });
          const texts = result.flatMap((block) => block.type === "text" ? [block.text] : []);
          const images = result.flatMap((block) => block.type === "image" ? [block.data] : []);
          return shows({ text: texts.join("\n"), failed: false, images });
        } catch (error) {
          return shows({ text: String(error), failed: true });
        }
      };
      return Promise.resolve({
        async turn(calls, { signal } = {}) {
          session?.nextTurn();
          return turns(await Promise.all(calls.map((one) => call(one, signal))));
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
        if (verdict) (error as Error).message += `\n\n${verdict.text}`;
        throw error;
      }
    };
  });
}

const spoken = ["plain", "anthropicRead", "textEditor", "geminiCli", "deepagents", "mcpFilesystem"] as const;

for (const name of spoken) {
  conformance(test, onion(name, dialects[name]));
  conformance(test, hooks(name, dialects[name]));
}

/** Those of some cases that a host fails. */
async function failures(host: ConformanceHost, names: readonly string[]): Promise<string[]> {
  const runs = new Map<string, () => Promise<void>>();
  conformance((name, run) => runs.set(name.slice(host.name.length + 2), run), host);
  const failed = await Promise.all(names.map((name) => runs.get(name)!().then(() => [], () => [name])));
  return failed.flat();
}

const LONG = "a long read is shown as 200 lines and the map of the whole file, and is no failure",
  RANGE = "a long range is shortened from its own first line, and told in the file's own numbers",
  NOTHING = "a short read is the tool's text, and nothing besides",
  THROWN = "what the tool throws is shown in its own words, as a failure",
  MISSING = "a missing file is the tool's own error",
  IMAGES = "an image is shown as it is, alone or beside long text",
  BLOCKS = "text in several blocks keeps its order and every block",
  MARK = "a byte order mark: shown as they are, in a short read and in a long one",
  LINE_ENDS = "line ends of CRLF, and some that are mixed: shown as they are, in a short read and in a long one",
  BLANKS = "blanks and empty lines at the ends: shown as they are, in a short read and in a long one",
  UNSEEN = "characters that are no line ends, or nothing to see: shown as they are, in a short read and in a long one",
  LETTERS = "the letters of a text are those that are shown without the guards, and the map stands behind all of them",
  WHOLE = "without the guards a long read is shown whole, and nothing is added to it",
  ARGUMENTS = "a read that is not shortened asks the tool once, with the arguments it is asked without the guards",
  SHORTENED = "a read that is shortened asks the tool once, for 200 lines of the same file from the same line",
  TOLD = "the guards are told of every call by its own id, path and range",
  ORDER = "calls of one turn get each its own result, in whatever order they end, and whichever of them fails",
  EACH = "calls of one turn get each its own file and its own map",
  AT_ONCE = "calls of one turn do not wait for each other",
  AGAIN = "where no conversation is kept, a repeated read is shown again",
  ABORT = "the abort of a turn reaches the tool, which is not asked again",
  DEAF = "a turn that is aborted does not wait longer for a tool that goes on than it does without the guards";

/** The annotation in a text, and what stands before it. */
function parts(text: string): readonly [text: string, note: string] {
  const bare = stripAnnotations(text);
  return [bare, text.slice(bare.length).trim()];
}

/** The text of a result, changed. */
function texts(change: (text: string) => string): Fault {
  return { shows: (shown) => ({ ...shown, text: change(shown.text) }) };
}

/** The arguments and facts of a call, changed. */
function given(
  change: (args: Record<string, unknown>, info: Parameters<Tool>[1]) => readonly [object, Partial<Parameters<Tool>[1]>],
): Fault {
  return {
    tool: (tool) => (args, info) => tool(...change(args, info) as [Record<string, unknown>, Parameters<Tool>[1]]),
  };
}

describe("the conformance suite", () => {
  const plain = onion("plain", dialects.plain);
  const wrapPlain: Wrap = (tool, waymark) => waymark.wrap(tool);

  /** What is wrong with every call: each is tried as a fault of the host itself, with the guards and without, and as the adapter's alone. */
  const faults: readonly [fault: string, how: Fault, found: readonly string[]][] = [
    [
      "loses the failed flag",
      { shows: (shown) => ({ ...shown, failed: false }) },
      [THROWN, MISSING, ORDER],
    ],
    ["says of everything that it failed", { shows: (shown) => ({ ...shown, failed: true }) }, [LONG, NOTHING, ORDER]],
    ["makes other words of errors", {
      tool: (tool) => async (args, info) => {
        try {
          return await tool(args, info);
        } catch {
          throw new Error("something went wrong");
        }
      },
    }, [THROWN]],
    ["drops all images", { shows: (shown) => ({ ...shown, images: [] }) }, [IMAGES]],
    ["drops all images but one", { shows: (shown) => ({ ...shown, images: shown.images?.slice(0, 1) }) }, [IMAGES]],
    ["turns images around", { shows: (shown) => ({ ...shown, images: shown.images?.toReversed() }) }, [IMAGES]],
    ["drops images beside text", {
      shows: (shown) => shown.text ? { ...shown, images: [] } : shown,
    }, [IMAGES]],
    ["trims the text", texts((text) => text.trim()), [BLANKS, NOTHING]],
    ["trims the end of every line", texts((text) => text.replace(/[ \t]+$/gm, "")), [BLANKS]],
    ["turns CRLF into LF", texts((text) => text.replaceAll("\r\n", "\n")), [LINE_ENDS]],
    ["turns every line end into CRLF", texts((text) => text.replace(/\r?\n/g, "\r\n")), [LINE_ENDS, NOTHING]],
    ["drops the byte order mark", texts((text) => text.replace("\ufeff", "")), [MARK]],
    ["composes letters", texts((text) => text.normalize("NFC")), [UNSEEN]],
    // deno-lint-ignore no-control-regex -- what terminals obey
    ["drops what cannot be seen", texts((text) => text.replace(/[\u001b\u200b\u202e]/g, "")), [UNSEEN]],
    ["escapes for HTML", texts((text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")), [UNSEEN]],
    ["adds a line of its own", texts((text) => `${text}\n(end of file)`), [NOTHING]],
    ["gives the text twice", texts((text) => text + text), [NOTHING, BLOCKS]],
    ["gives the first block alone", {
      tool: (tool) => async (args, info) => {
        const result = await tool(args, info);
        return Array.isArray(result) ? result.slice(0, 1) : result;
      },
    }, [BLOCKS, IMAGES]],
    ["never passes the abort on", given((args, { toolCallId }) => [args, { toolCallId }]), [ABORT]],
    [
      "passes on an abort that never comes",
      given((args, info) => [args, { ...info, signal: new AbortController().signal }]),
      [ABORT],
    ],
    ["asks again where a call was aborted", {
      tool: (tool) => async (args, info) => {
        try {
          return await tool(args, info);
        } catch (error) {
          if (!info.signal?.aborted) throw error;
          return await tool(args, info);
        }
      },
    }, [ABORT]],
    ["asks the tool twice", {
      tool: (tool) => async (args, info) => {
        await Promise.resolve(tool(args, info)).catch(() => {});
        return await tool(args, info);
      },
    }, [ARGUMENTS, SHORTENED, TOLD]],
    ["leaves the range out", given(({ path }, info) => [{ path }, info]), [RANGE, ARGUMENTS, TOLD]],
    ["changes the names of arguments", given(({ path, ...args }, info) => [{ file: path, ...args }, info]), [
      LONG,
      ARGUMENTS,
      TOLD,
    ]],
    ["turns the results of a turn around", { turn: (all) => all.toReversed() }, [ORDER, EACH]],
    ["gives each call of a turn the result of the first", { turn: (all) => all.map(() => all[0]!) }, [ORDER, EACH]],
    ["makes one call after the other", {
      tool: (tool) => {
        let before: Promise<unknown> = Promise.resolve();
        return (args, info) => before = before.catch(() => {}).then(() => Promise.race([tool(args, info), soon()]));
      },
    }, [AT_ONCE]],
  ];
  for (const [fault, how, found] of faults) {
    it(`finds a host that ${fault}`, async () => {
      const hosts = [false, true].map((isAdapters) => loop(fault, dialects.plain, wrapPlain, { ...how, isAdapters }));
      const failed = await Promise.all(hosts.map((host) => failures(host, found)));
      assertEquals(failed, [found, found]);
    });
  }

  /** What is wrong with the adapter. */
  const adapters: readonly [fault: string, wrap: Wrap, found: readonly string[]][] = [
    ["guards nothing", (tool) => tool, [LONG, TOLD]],
    [
      "shortens and does not say so",
      (tool, waymark) => waymark.wrap(tool, { codec: { ...autoCodec, annotate: (result) => again(result) } }),
      [LONG, LETTERS],
    ],
    ["loses what is added", changing((text) => stripAnnotations(text)), [LONG, RANGE]],
    ["puts it before the text", changing((text) => parts(text).toReversed().filter(Boolean).join("\n\n")), [LETTERS]],
    ["puts it in twice", changing((text) => [...parts(text), parts(text)[1]].filter(Boolean).join("\n\n")), [LETTERS]],
    ["counts from the slice", changing((text) => text.replace(/PARTIAL, lines \d+-\d+/, "PARTIAL, lines 1-200")), [
      RANGE,
    ]],
    [
      "loses the class of an error",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        return async (args, info) => {
          try {
            return await wrapped(args, info);
          } catch (error) {
            throw new Error((error as Error).message, { cause: error });
          }
        };
      },
      [THROWN],
    ],
    [
      "gives all calls one id",
      (tool, waymark) => waymark.wrap(tool, { facts: () => ({ callId: "call" }) }),
      [TOLD],
    ],
    ["tells the guards no id", (tool, waymark) => waymark.wrap(tool, { facts: () => ({}) }), [TOLD]],
    [
      "keeps a conversation where there is none",
      (tool, waymark) => {
        const session = createSession();
        return waymark.wrap(tool, { session, facts: () => ({ callId: `${session.nextTurn()}` }) });
      },
      [AGAIN],
    ],
    [
      "reads the file before the tool does",
      (tool, waymark) => {
        const wrapped = waymark.wrap(tool);
        return async (args, info) => {
          await Promise.resolve(tool(args, info)).catch(() => {});
          return await wrapped(args, info);
        };
      },
      [ARGUMENTS, SHORTENED, ABORT],
    ],
    [
      "asks for a number of lines where none was given",
      (tool, waymark) => waymark.wrap((args, info) => tool({ limit: 2000, ...args }, info)),
      [ARGUMENTS],
    ],
  ];
  for (const [fault, wrap, found] of adapters) {
    it(`finds an adapter that ${fault}`, async () => {
      assertEquals(await failures(loop(fault, dialects.plain, wrap), found), found);
    });
  }

  it("finds an adapter that waits for a tool where its host does not", async () => {
    const host = (isWaiting: boolean): ConformanceHost => ({
      ...plain,
      async open(setup) {
        const open = await plain.open(setup);
        return {
          ...open,
          turn(calls, { signal } = {}) {
            const turn = open.turn(calls, { signal });
            if (isWaiting && setup.waymark) return turn;
            const gone = new Promise<never>((_, reject) => {
              signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
            });
            return Promise.race([turn, gone]);
          },
        };
      },
    });
    assertEquals(await failures(host(true), [DEAF]), [DEAF]);
    assertEquals(await failures(host(false), [DEAF, ABORT]), []);
  });

  it("finds a host that is guarded where it should be as it is", async () => {
    const host: ConformanceHost = {
      ...plain,
      open: ({ waymark, ...setup }) => {
        const own = waymark ?? createWaymark({ root: setup.root, onNotice: () => {} });
        return plain.open({ ...setup, waymark: own });
      },
    };
    assertEquals(await failures(host, [WHOLE]), [WHOLE]);
  });

  it("fails a host that cannot be opened without the guards", async () => {
    const host = loop("wrapped", dialects.plain, wrapPlain);
    const careless: ConformanceHost = {
      ...host,
      // @ts-expect-error: nor does it compile
      open: (setup) => setup.waymark.wrap(() => "") && host.open(setup),
    };
    assertEquals(await failures(careless, [WHOLE, NOTHING, MISSING]), [WHOLE, NOTHING, MISSING]);
  });

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
    assert(skipped.some((title) => title.includes("a repeated read of a file that has changed is shown (")));
  });

  it("skips what begins further down on a host whose reads begin at line 1, and on no other", () => {
    const skipped = spoken.flatMap((name) => {
      const titles: string[] = [];
      conformance(
        Object.assign(() => {}, { skip: (title: string) => titles.push(title) }),
        onion(name, dialects[name]),
      );
      return titles;
    });
    assertEquals(skipped, [`an onion of mcpFilesystem: ${RANGE} (its reads begin at line 1)`]);
  });

  it("refuses to leave out a case that there is not", () => {
    assertThrows(() => conformance(test, { ...plain, cannot: { "no such case": "" } }), TypeError, "no such case");
  });
});

/** A wrapped tool whose texts are changed. */
function changing(change: (text: string) => string): Wrap {
  return (tool, waymark) => {
    const wrapped = waymark.wrap(tool);
    return async (args, info) => {
      const result = await wrapped(args, info);
      return typeof result === "string" ? change(result) : result;
    };
  };
}

/** The same result as another value: what carries an annotation, and does not. */
function again(result: unknown): unknown {
  return Array.isArray(result) ? [...result] : `${result}`;
}

function soon(): Promise<never> {
  return new Promise((_, reject) => setTimeout(reject, 300, new Error("too slow")));
}
