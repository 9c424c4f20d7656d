/**
 * Wraps the read tool in a whole registry of tools. Every other tool stays the very same object, and no schema changes.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { createWaymark, dialects } from "@waymark/waymark";
import { outline } from "@waymark/waymark/outline";

const project = await mkdtemp(join(tmpdir(), "waymark-example-")), path = join(project, "routes.ts");
await writeFile(
  path,
  Array.from({ length: 400 }, (_, index) => `export function route${index}() { return "/${index}"; }\n`).join(""),
);
const waymark = createWaymark({ root: project, outline: outline() });

// A record of tool objects, as the AI SDK and many others have them.
const registry = {
  read_file: {
    description: "Reads a file.",
    inputSchema: { type: "object", properties: { path: {}, offset: {}, limit: {} } },
    async execute({ path, offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }) {
      return (await readFile(path, "utf8")).split("\n").slice(offset - 1, offset - 1 + limit).join("\n");
    },
  },
  write_file: {
    description: "Writes a file.",
    execute: (args: { path: string; text: string }) => writeFile(args.path, args.text),
  },
};
const wrapped = waymark.wrapTools(registry);
assertStrictEquals(wrapped.write_file, registry.write_file);
assertStrictEquals(wrapped.read_file.inputSchema, registry.read_file.inputSchema);
const result = await wrapped.read_file.execute({ path });
assertStringIncludes(result, "399-399  function  route398");
assertStringIncludes(result, "offset: 201, limit: 200");
console.log("a record of tools, plain arguments:", result.split("\n").find((line) => line.startsWith("[waymark")));

// An array of tools with a host's own argument names: the dialect says how a range is written there.
const Read = Object.assign(
  async ({ file_path, offset = 1, limit = 2000 }: { file_path: string; offset?: number; limit?: number }) => {
    const lines = (await readFile(file_path, "utf8")).split("\n").slice(offset - 1, offset - 1 + limit);
    return lines.map((line, index) => `${offset + index}\t${line}`).join("\n");
  },
  { toolName: "Read" },
);
const [read] = waymark.wrapTools([{ name: "Read", run: Read }, { name: "Bash", run: () => "" }], {
  dialect: dialects.claudeCode,
});
const numbered = String(await read!.run({ file_path: path }));
assertStringIncludes(numbered, "200\texport function route199");
assertStringIncludes(numbered, "PARTIAL, lines 1-200 of 400");
console.log(
  "an array of tools, Claude Code's arguments:",
  numbered.split("\n").find((line) => line.startsWith("[waymark")),
);

assertEquals(waymark.stats().hits, 1); // the second tool read the same file: its map was there
await waymark.close();
await rm(project, { recursive: true });
