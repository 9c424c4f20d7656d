/**
 * `opencodeHooks` in the real opencode: what the model is shown in the request after its calls.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assert, assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { createSession, createWaymark, dialects, type Summarizer, type WaymarkOptions } from "@waymark/waymark";
import { opencodeHooks, type OpencodeOptions } from "@waymark/waymark/adapters/hooks";
import { conformance } from "@waymark/waymark/conformance";
import { scriptedModel } from "@waymark/waymark/testing";
import { toolUseSummary } from "@waymark/waymark/tool-use";
import { isMissing, type Opencode, openConformance, runOpencode, startOpencode } from "./opencode_loop.ts";

let started: Promise<Opencode> | undefined;
const shared = (): Promise<Opencode> => started ??= startOpencode();
after(async () => await (await started)?.close());

if (isMissing) test.skip(`opencode 1.18.33 (${isMissing})`, () => {});
else {
  conformance(test, {
    name: "opencode 1.18.33",
    dialect: dialects.opencode,
    async open(setup) {
      const { waymark, session = false, root: directory } = setup;
      const hooks = waymark && opencodeHooks(waymark, { session, directory });
      return await openConformance(await shared(), setup, hooks);
    },
  });
}

/** A project with a conversation in it, in which opencode reads with its own tool. */
interface World {
  readonly root: string;
  readonly opencode: Opencode;
  readonly session: string;
  /** Where the conversation takes place. */
  readonly folder: string;
  /** The id the next call gets. */
  readonly nextId: () => string;
  readonly turn: Awaited<ReturnType<Opencode["open"]>>["turn"];
  /** What the model is shown of one call in a turn of its own. */
  text(args: object, name?: string): Promise<string>;
}

interface WorldSetup {
  readonly options?: OpencodeOptions;
  readonly waymark?: WaymarkOptions;
  /** The conversation takes place in the project's own folder. Default false. */
  readonly isOwn?: boolean;
  /** The project's own configuration of opencode. */
  readonly config?: (root: string) => object;
}

async function inProject(run: (root: string) => Promise<void>): Promise<void> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "waymark-")));
  await writeFile(join(root, "package.json"), "{}");
  await writeFile(join(root, "long.ts"), code(1000));
  await writeFile(join(root, "short.ts"), code(120));
  await run(root).finally(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
}

function inWorld(setup: WorldSetup, run: (world: World) => Promise<void>): Promise<void> {
  return inProject(async (root) => {
    const waymark = createWaymark({ root, onNotice: () => {}, ...setup.waymark });
    const hooks = opencodeHooks(waymark, { directory: root, ...setup.options });
    const opencode = await shared();
    if (setup.config) await writeFile(join(root, "opencode.json"), JSON.stringify(setup.config(root)));
    try {
      const { session, folder, turn } = await opencode.open({ root, hooks, isOwn: setup.isOwn });
      let serial = 0;
      const nextId = (): string => `toolu_${session}_${++serial}`;
      const text: World["text"] = async (args, name = "read") =>
        (await turn([{ args, name, callId: nextId() }]))[0]!.text;
      await run({ root, opencode, session, folder, turn, nextId, text });
    } finally {
      await waymark.close();
    }
  });
}

function code(lines: number, width = 0): string {
  const end = " ".repeat(width);
  return Array.from({ length: lines }, (_, at) => `export function f${at + 1}(a) { return a + ${at + 1}; }${end}\n`)
    .join("");
}

/** Lines as opencode shows them. */
function framed(path: string, lines: number, last: string): string {
  const numbered = code(lines).trimEnd().split("\n").map((line, at) => `${at + 1}: ${line}`).join("\n");
  return `<path>${path}</path>\n<type>file</type>\n<content>\n${numbered}\n\n${last}\n</content>`;
}

describe("opencode", { skip: isMissing }, () => {
  it("shows 200 lines of a long read in opencode's own frame, and the map behind it", () =>
    inWorld({}, async ({ root, text }) => {
      const path = join(root, "long.ts"), shown = await text({ filePath: path });
      const frame = framed(path, 200, "(Showing lines 1-200 of 1000. Use offset=201 to continue.)");
      assert(shown.startsWith(`${frame}\n\n[waymark map: PARTIAL, lines 1-200 of 1000 are shown, the rest is not]\n`));
      assertStringIncludes(shown, "\nNext lines: offset: 201, limit: 200.");
    }));

  it("finds relative paths where opencode does, and shows short reads as they are", () =>
    inWorld({ isOwn: true }, async ({ root, text }) => {
      assertMatch(await text({ filePath: "long.ts" }), /\n\[waymark map: PARTIAL, lines 1-200 of 1000/);
      const whole = framed(join(root, "short.ts"), 120, "(End of file - total 120 lines)");
      assertEquals(await text({ filePath: "short.ts" }), whole);
    }));

  it("claims only the lines that opencode's limits have left whole", () => {
    const session = createSession();
    return inWorld({ options: { session } }, async ({ root, text }) => {
      await writeFile(join(root, "wide.ts"), code(1000, 400));
      const wide = await text({ filePath: join(root, "wide.ts") });
      const [, last] = /\(Output capped at 50 KB\. Showing lines 1-(\d+)\. Use offset/.exec(wide)!;
      assertMatch(wide, new RegExp(`\\[waymark map: PARTIAL, lines 1-${last} of 1000 are shown`));
      assertEquals(session.coverage(join(root, "wide.ts"))?.seen, [{ start: 1, end: Number(last) }]);

      const lines = code(300).split("\n");
      lines[99] += ` // ${"x".repeat(3000)}`;
      await writeFile(join(root, "one.ts"), lines.join("\n"));
      const one = await text({ filePath: join(root, "one.ts") });
      assertStringIncludes(one, "x... (line truncated to 2000 chars)\n101: ");
      assertMatch(one, /\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
      assertEquals(session.coverage(join(root, "one.ts"))?.seen, [{ start: 1, end: 99 }]);
    });
  });

  it("knows opencode's own words behind the file for what they are", () => {
    const session = createSession();
    return inWorld({ isOwn: true, options: { session } }, async ({ root, text }) => {
      await mkdir(join(root, "sub"));
      await writeFile(join(root, "sub", "AGENTS.md"), `Always be kind.\n${"1: a rule\n".repeat(400)}`);
      await writeFile(join(root, "sub", "long.ts"), code(300));
      const shown = await text({ filePath: join(root, "sub", "long.ts") });
      assertMatch(shown, /<system-reminder>\nInstructions from: [^\n]*AGENTS\.md\nAlways be kind\.\n/);
      assertMatch(shown, /<\/system-reminder>\n\n\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
      assertEquals(session.coverage(join(root, "sub", "long.ts"))?.seen, [{ start: 1, end: 200 }]);
    });
  });

  it("leaves opencode's own errors and listings as they are", () =>
    inWorld({}, async ({ root, turn, nextId }) => {
      const [missing, folder, beyond] = await turn([
        { args: { filePath: join(root, "gone.ts") }, callId: nextId() },
        { args: { filePath: root }, callId: nextId() },
        { args: { filePath: join(root, "long.ts"), offset: 5000 }, callId: nextId() },
      ]);
      assertEquals(missing, { text: `File not found: ${join(root, "gone.ts")}`, failed: true, images: [] });
      assertMatch(folder!.text, /^<path>[^\n]*<\/path>\n<type>directory<\/type>/);
      assertEquals(beyond!.text, "Offset 5000 is out of range for this file (1000 lines)");
      assertNotMatch(folder!.text, /\[waymark/);
    }));

  it("refers to lines that stand in the request, and shows them again after a compaction", () =>
    inWorld({}, async ({ root, text, opencode, session, folder }) => {
      const filePath = join(root, "short.ts"), whole = framed(filePath, 120, "(End of file - total 120 lines)");
      assertEquals(await text({ filePath }), whole);
      assertMatch(
        await text({ filePath }),
        /^\[waymark reference: \S+ lines 1-120 of 120 are unchanged since turn 1, shown then\]$/,
      );
      await opencode.call("POST", `/session/${session}/summarize`, folder, { providerID: "scripted", modelID: "m" });
      assertEquals(await text({ filePath }), whole);
    }));

  it("keeps a sub-agent's conversation apart, and its results from the digests of the main one", async () => {
    const model = scriptedModel(() => "It is long."), digests = toolUseSummary({ model, session: "s-1" });
    await inWorld({ options: { digests } }, async ({ root, opencode, turn, text, nextId }) => {
      const filePath = join(root, "short.ts"), whole = framed(filePath, 120, "(End of file - total 120 lines)");
      assertEquals(await text({ filePath }), whole);
      const inner = opencode.script([{ args: { filePath }, callId: nextId() }]);
      const args = { description: "read", prompt: inner.name, subagent_type: "general" };
      await turn([{ args, name: "task", callId: nextId() }]);
      assertEquals((await inner.shown())[0]!.text, whole);
      assertMatch(await text({ filePath }), /^\[waymark reference/);
      await digests.settled();
    });
    const { made, skipped } = digests.stats();
    assertEquals([made, model.calls.length, skipped], [1, 1, { "not-top-level": 1, small: 1 }]);
    await digests.close();
  });

  it("guards a read tool that comes by MCP", () => {
    const server = fileURLToPath(
      new URL("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
    );
    const command = [process.execPath, ...("Deno" in globalThis ? ["run", "-A"] : []), server];
    const options = { dialect: dialects.mcpFilesystem, tools: ["files_read_text_file"] };
    const config = (root: string): object => ({ mcp: { files: { type: "local", command: [...command, root] } } });
    return inWorld({ isOwn: true, options, config }, async ({ root, text }) => {
      const path = join(root, "long.ts"), shown = await text({ path }, "files_read_text_file");
      assert(shown.startsWith(`${code(200).trimEnd()}\n`), shown.slice(0, 200));
      assertMatch(shown, /\n\[waymark map: PARTIAL, lines 1-200 of 1000 are shown/);
      assertEquals((await text({ path, head: 3 }, "files_read_text_file")).trimEnd(), code(3).trimEnd());
    });
  });

  it("ends the making of a map when its turn is aborted", () => {
    const abort = new AbortController(), ended = Promise.withResolvers<void>();
    const hung: Summarizer = {
      maker: "model:hung",
      version: 1,
      summarize: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => (ended.resolve(), reject(signal.reason)), { once: true });
          setTimeout(() => abort.abort(), 20);
        }),
    };
    return inWorld({ waymark: { summarizer: hung } }, async ({ root, turn, nextId }) => {
      await turn([{ args: { filePath: join(root, "long.ts") }, callId: nextId() }], abort.signal);
      await ended.promise;
    });
  });

  it("runs with a plugin of the project's own, as one would write it", () =>
    inProject(async (root) => {
      const sources = new URL("../../", import.meta.url),
        tool = new URL("node_modules/@opencode-ai/plugin/dist/index.js", import.meta.url);
      await mkdir(join(root, ".opencode", "plugin"), { recursive: true });
      await writeFile(
        join(root, ".opencode", "plugin", "waymark.ts"),
        PLUGIN.replace("@waymark/waymark/adapters/hooks", new URL("src/adapters/hooks.ts", sources).href)
          .replace("@waymark/waymark", new URL("mod.ts", sources).href)
          .replace("@opencode-ai/plugin", tool.href),
      );
      const filePath = join(root, "long.ts"), short = join(root, "short.ts"), pruned = join(root, "pruned.ts");
      await writeFile(join(root, ".opencode", "plugin", "zz_pruner.ts"), PRUNER);
      await writeFile(pruned, code(110));
      const { requests } = await runOpencode(root, [
        [{ args: { filePath }, callId: "toolu_1" }, {
          args: { path: "long.ts" },
          name: "summarize_file",
          callId: "toolu_2",
        }],
        [{ args: { filePath: short }, callId: "toolu_3" }],
        [{ args: { filePath: short }, callId: "toolu_4" }],
        [{ args: { filePath: pruned }, callId: "toolu_pruned" }],
        [{ args: { filePath: pruned }, callId: "toolu_5" }],
      ]);
      const results = requests.at(-1).messages.flatMap(({ content }: { content: unknown }) => content)
        .filter(({ type }: { type: string }) => type === "tool_result")
        .map(({ content }: { content: string | { text: string }[] }) =>
          typeof content === "string" ? content : content[0]!.text
        );
      assertMatch(
        results[0],
        /^<path>.*\n200: export function f200\(a\).*\n\[waymark map: PARTIAL, lines 1-200 of 1000/s,
      );
      assertMatch(results[1], /^\[waymark map: 1000 lines, none are shown here\]/);
      assertMatch(results[3], /^\[waymark reference: \S+ lines 1-120 of 120 are unchanged/);
      assertEquals(results[4], "[pruned]");
      assertEquals(results[5], framed(pruned, 110, "(End of file - total 110 lines)"));
      const offered = requests[0].tools.find(({ name }: { name: string }) => name === "summarize_file");
      assertStringIncludes(offered.description, "seven reads");
      assertStringIncludes(offered.input_schema.properties.path.description, "as you would give it to the read tool");
      assertEquals(offered.input_schema.required, ["path"]);
    }));
});

/** The plugin as the README has it. */
const [, PLUGIN = ""] = /^### opencode$[^]*?^```ts ignore\n([^]*?)^```/m.exec(
  readFileSync(new URL("../../README.md", import.meta.url), "utf8"),
) ?? [];

/** A plugin loaded later, which takes a result out of every request. */
const PRUNER = `
export const Pruner = async () => ({
  "experimental.chat.messages.transform": async (_, { messages }) => {
    for (const part of messages.flatMap(({ parts }) => parts)) {
      if (part.callID === "toolu_pruned" && part.state.output) part.state.output = "[pruned]";
    }
  },
});
`;
