/**
 * What the README says is so: what it quotes is printed, what it lists is there. Its code runs under `deno test --doc`.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { exists, listFiles, readText, root } from "./modules.ts";
import { programCommand } from "./programs.ts";
import { run } from "./publishing.ts";
import { inFolder } from "./support.ts";

const readme = readText("README.md");
const config = JSON.parse(readText("deno.json"));
/** Code in the text: names, options, flags. */
const quoted = new Set(
  [...readme.replaceAll(/^```[^]*?^```/gm, "").matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code),
);

const source = listFiles("src").map(readText).join("\n");

/** An interface of the source. */
function interfaceOf(name: string): string {
  return new RegExp(`export interface ${name}\\b[^]*?\n}`).exec(source)?.[0] ?? "";
}

/** Its fields. */
function fieldsOf(name: string): string[] {
  return [...interfaceOf(name).matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field = ""]) => field);
}

describe("the README", () => {
  it("begins with one sentence, the two commands and code before line 25", () => {
    const lines = readme.split("\n");
    assertMatch(lines[2]!, /^[A-Z].*\.$/);
    assertMatch(lines[5]!, /^npx -y deno@2\.9\.6 task demo\b/);
    assertMatch(lines[6]!, /^npx -y deno@2\.9\.6 task test\b/);
    assert(lines.indexOf("```ts") >= 0 && lines.indexOf("```ts") < 25);
  });

  it("quotes what its command prints", async () => {
    await inFolder(async (folder) => {
      const [, file = ""] = /task cli read (\S+)`/.exec(readme) ?? [];
      const [program, ...start] = programCommand("src/cli.ts");
      const args = [...start, "read", `${root}${file}`, "--root", folder];
      const { stdout, stderr } = await run(program, args, { cwd: folder, env: { ANTHROPIC_API_KEY: "" } });
      const [, shown = ""] = /^```text\n([^]*?)```/m.exec(readme) ?? [];
      assertEquals(stdout.slice(stdout.lastIndexOf("[waymark map")), shown, stderr);
    });
  });

  it("lists every option with the default it has", () => {
    const options = [...fieldsOf("WaymarkOptions"), ...fieldsOf("NameRules")].filter((name) => name !== "limits");
    const limits = fieldsOf("MapLimits").map((name) => `limits.${name}`);
    assertEquals([options.length > 15, limits.length], [true, 4]);
    assertEquals([...options, ...limits].filter((name) => !quoted.has(name)), []);
    const said = interfaceOf("WaymarkOptions") + interfaceOf("MapLimits");
    const rows = readme.slice(readme.indexOf("## Options"));
    for (const name of ["maxLines", "timeoutMs", "maxConcurrentCalls", "retryAfterMs", "fallback", "cache", "sqlite"]) {
      const [, value = ""] = new RegExp(`Default ([^.\\n]*)\\.\\s*\\*/\\s*readonly ${name}\\?`).exec(said) ?? [];
      assert(value, name);
      assertMatch(
        rows,
        new RegExp(`^\\| \`(limits\\.)?${name}\`[^|]*\\| *\`?${value.replaceAll("`", "")}\`? *\\|`, "m"),
      );
    }
  });

  it("names every event and every entry", () => {
    const events = [...readText("src/events.ts").matchAll(/readonly type: "(\w+)"/g)].map(([, type = ""]) => type);
    assert(events.length > 5);
    assertEquals(events.filter((type) => !quoted.has(type)), []);
    const entries = Object.keys(config.exports).map((subpath) => subpath.slice(2)).filter((name) =>
      name && name !== "cli"
    );
    assertEquals(entries.filter((name) => !readme.includes(name)), []);
  });

  it("names the tasks, files and dialects that are there, and no others", () => {
    for (const [, task = ""] of readme.matchAll(/deno@[\d.]+ task (\w+)/g)) assert(task in config.tasks, task);
    for (const [, file = ""] of readme.matchAll(/\]\((?!#|https?:)([^)]+)\)/g)) {
      if (file !== "ARCHITECTURE.md") assert(exists(file), file);
    }
    const anchors = [...readme.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
      title.toLowerCase().replaceAll(" ", "-")
    );
    for (const [, anchor = ""] of readme.matchAll(/\]\(#([^)]+)\)/g)) assert(anchors.includes(anchor), anchor);
  });

  it("has the exit codes and commands that --help has", async () => {
    const [program, ...start] = programCommand("src/cli.ts");
    const { stdout } = await run(program, [...start, "--help"], { cwd: root });
    const commands = [...stdout.slice(stdout.indexOf("Commands:")).matchAll(/^ {2}(\w+) /gm)].map(([, name = ""]) =>
      name
    );
    assertEquals(commands, ["read", "map", "at", "stats", "digests", "forget", "prune", "help"]);
    const section = readme.slice(readme.indexOf("## On the command line"));
    for (const name of commands.slice(0, -1)) assertMatch(section, new RegExp(`\`${name}\\b`));
    for (const option of ["--root", "--model NAME", "--no-model", "--max-lines"]) assertStringIncludes(section, option);
  });
});
