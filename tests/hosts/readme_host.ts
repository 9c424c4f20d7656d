/**
 * The README's snippets for hosts, each run as it stands in its host: what the model is shown of a long file.
 *
 * @module
 */

import { describe, it } from "node:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { assert, assertEquals, assertMatch } from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { jsonSchema, tool as aiTool } from "ai";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { HumanMessage, tool as langchainTool } from "langchain";
import { DEFAULT_MODEL } from "@waymark/waymark/providers/anthropic";
import { z } from "zod";
import { calling, script, shownOf, startThreads } from "../message_threads.ts";
import { code, inFolder, put } from "../support.ts";
import { call as claudeCall, inTurn, resultsOf, skip as noClaude, startApi } from "./claude_driver.ts";
import { scripted as scriptedAi, shownIn } from "./ai_loop.ts";
import { it as outsideIt, results, scripted, textOf } from "./langchain_agents.ts";
import { openPi, shown } from "./pi_loop.ts";

const [, section = ""] = /^## In the hosts people use$([^]*?)^## /m.exec(
  readFileSync(new URL("../../README.md", import.meta.url), "utf8"),
) ?? [];

/** The code under a heading of the section. */
function snippet(title: string): string {
  const [, text = ""] = new RegExp(`^### ${title}$[^]*?^\`\`\`ts ignore\\n([^]*?)^\`\`\``, "m").exec(section) ?? [];
  assert(text, `the README has code for ${title}`);
  return text;
}

/** Values a snippet leaves to its reader. */
const GIVEN = Symbol.for("waymark readme");
let serial = 0;

/** Runs a snippet in a folder as its working directory, with what it leaves to its reader: what it made, by name. */
async function runSnippet(
  title: string,
  folder: string,
  given: Record<string, unknown>,
  names: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const file = new URL(`.readme_${process.pid}_${++serial}.ts`, import.meta.url), before = process.cwd();
  const exported = names.length ? `\nexport { ${names.join(", ")} };\n` : "";
  const parts = `const { ${Object.keys(given).join(", ")} } = globalThis[Symbol.for("waymark readme")];\n`;
  writeFileSync(file, parts + snippet(title) + exported);
  Object.assign(globalThis, { [GIVEN]: given });
  process.chdir(folder);
  try {
    return await import(file.href);
  } finally {
    process.chdir(before);
    rmSync(file);
  }
}

/** A project with a long file: its folder, links resolved, and the file's path. */
function inProject(run: (folder: string, file: string) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "package.json", "{}");
    await run(folder, put(folder, "long.ts", code(390)));
  });
}

const GUARDED = /^export function f1\(.*\n\[waymark map: PARTIAL, lines 1-200 of 390 are shown/s;

function readFile({ path, offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }): string {
  return readFileSync(path, "utf8").split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
}

describe("the README's snippet", () => {
  it("for the AI SDK shows the model 200 lines and the map, and offers the map", () =>
    inProject(async (folder, path) => {
      const { model, requests } = scriptedAi({ specification: "v4" }, [[{
        tool: "read_file",
        input: { path },
        id: "1",
      }]]);
      const inputSchema = jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } });
      const read_file = aiTool({ inputSchema, execute: readFile }), bash = aiTool({ inputSchema, execute: () => "" });
      await runSnippet("AI SDK", folder, { model, read_file, bash });
      assertMatch(shownIn(requests[1]!).get("1")!.text, GUARDED);
      assertEquals(requests[0]!.tools!.map(({ name }) => name), ["read_file", "bash", "summarize_file"]);
    }));

  it("for the Anthropic SDK shows the model 200 lines and the map", () =>
    inProject(async (workdir) => {
      const api = await startThreads({ reply: script(calling(["read", "toolu_1", { file_path: "long.ts" }])) });
      try {
        const client = new Anthropic(api.client);
        const messages = [{ role: "user", content: "What is in it?" }];
        await runSnippet("Anthropic SDK", workdir, { client, model: DEFAULT_MODEL, messages, workdir });
        assertMatch(shownOf(api.requests[1], "toolu_1").text, GUARDED);
      } finally {
        await api.close();
      }
    }));

  outsideIt("for LangChain shows the model 200 lines and the map", () =>
    inProject(async (folder, path) => {
      const model = scripted([{ id: "1", name: "read_file", args: { path } }]);
      const schema = z.object({ path: z.string(), offset: z.number().optional(), limit: z.number().optional() });
      const read_file = langchainTool(readFile, { name: "read_file", description: "Reads a file", schema });
      // deno-lint-ignore no-explicit-any -- an agent of the host's own
      const { agent } = await runSnippet("LangChain", folder, { model, read_file }, ["agent"]) as any;
      await agent.invoke({ messages: [new HumanMessage("go")] });
      assertMatch(textOf(results(model).get("1")), GUARDED);
    }));

  outsideIt("for deepagents shows the model 200 lines and the map", () =>
    inProject(async (root) => {
      const model = scripted([{ id: "1", name: "read_file", args: { file_path: "/long.ts", limit: 1000 } }]);
      // deno-lint-ignore no-explicit-any -- an agent of the host's own
      const { agent } = await runSnippet("deepagents", root, { model, root }, ["agent"]) as any;
      await agent.invoke({ messages: [new HumanMessage("go")] });
      assertMatch(textOf(results(model).get("1")), /f200\(.*\[waymark map: PARTIAL, lines 1-200 of 390 are shown/s);
    }));

  it("for pi is an extension that shows the model 200 lines and the map", () =>
    inProject(async (folder) => {
      // deno-lint-ignore no-explicit-any -- an extension as the host takes it
      const { default: extension } = await runSnippet("pi", folder, {}) as any;
      const loop = await openPi({ cwd: folder, extensions: [extension] });
      try {
        const [result] = await loop.turn([{ args: { path: "long.ts" }, callId: "1" }]);
        assertMatch(shown(result).text, GUARDED);
      } finally {
        await loop.close();
      }
    }));

  it(
    "for the Claude Agent SDK shows the model 200 lines and the map",
    { skip: noClaude },
    () =>
      inProject(async (cwd, file_path) => {
        const api = await startApi(inTurn([claudeCall("Read", { file_path }, "toolu_1")]));
        try {
          const env = api.environment(`${cwd}/home`), allowedTools = ["Read"], stderr = (): void => {};
          const options = { cwd, env, allowedTools, stderr, model: "claude-haiku-4-5", settingSources: [] };
          await runSnippet("Claude Agent SDK", cwd, { options, prompt: "go", onMessage: () => {} });
          const { text } = resultsOf(api.requests.at(-1)!).get("toolu_1")!;
          assertMatch(text, /200\texport function f200\(.*\[waymark map: PARTIAL, lines 1-200 of 390 are shown/s);
        } finally {
          await api.close();
        }
      }),
  );

  it("for MCP is a server whose client is shown 200 lines and the map", () =>
    inProject(async (folder, path) => {
      const inputSchema = { path: z.string(), offset: z.number().optional(), limit: z.number().optional() };
      const read_file = (args: { path: string }) => ({ content: [{ type: "text", text: readFile(args) }] });
      // deno-lint-ignore no-explicit-any -- a server of the host's own
      const { server } = await runSnippet("MCP", folder, { inputSchema, read_file }, ["server"]) as any;
      const [here, there] = InMemoryTransport.createLinkedPair(), client = new Client({ name: "c", version: "1.0.0" });
      await Promise.all([server.connect(there), client.connect(here)]);
      const { content } = await client.callTool({ name: "read_file", arguments: { path } });
      assertMatch((content as { text: string }[]).map(({ text }) => text).join("\n"), GUARDED);
      await client.close();
    }));
});
