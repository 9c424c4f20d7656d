/**
 * What is loaded, when, and what is better not.
 *
 * @module
 */

import { describe, it } from "node:test";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/posix/join";
import { isHazard, languageFrom, loadEngine, loadLanguage } from "../../src/outline/load.ts";
import { graphOf, root } from "../modules.ts";
import { programCommand } from "../programs.ts";
import { inFolder, put } from "../support.ts";

describe("importing the outline", () => {
  it("runs no engine, no grammar, no secret patterns and no node module", () => {
    assertEquals([...graphOf("src/outline.ts", ["value"]).packages.keys()], []);
  });

  it("keeps the engine and the grammars in the module graph of its own entry alone", () => {
    const { packages } = graphOf("src/outline.ts");
    assertEquals(packages.get("web-tree-sitter"), "dynamic");
    assertEquals(packages.get("@cursorless/tree-sitter-wasms/package.json"), "dynamic");
    const core = [...graphOf("mod.ts").packages.keys()];
    assertEquals(core.filter((name) => /tree-sitter/.test(name)), []);
  });
});

describe("the engine", () => {
  it("is started once per process, and a language loaded once", async () => {
    const [first, second] = await Promise.all([loadEngine(), loadEngine()]);
    assert(first && first === second);
    const [one, two] = await Promise.all([loadLanguage("css"), loadLanguage("css")]);
    assert(one && one === two);
    assertEquals(await loadLanguage("css"), one);
  });

  it("has no language of a name nobody knows", async () => {
    assertEquals(await loadLanguage("klingon"), undefined);
    assertEquals(await loadLanguage("../../../package.json"), undefined);
  });

  it("takes a grammar of the host's, or none", async () => {
    const path = createRequire(join(root, "x.js")).resolve("@cursorless/tree-sitter-wasms/out/tree-sitter-css.wasm");
    const bytes = new Uint8Array(readFileSync(path)), asked: string[] = [];
    const language = await languageFrom((name) => {
      asked.push(name);
      return bytes;
    }, "css");
    assert(language!.idForNodeType("rule_set", true));
    assertEquals(asked, ["css"]);
    assertEquals(await languageFrom(() => undefined, "css"), undefined);
  });
});

describe("a grammar that is a hazard", () => {
  it("is Swift's or bash's, on V8 after 12.4 and before 14.6", () => {
    const versions = [
      "11.3.244.8-node.30",
      "12.4.254.21-node.33",
      "12.9.202",
      "13.6.233.10-node.28",
      "14.1.146",
      "14.6.202",
      "15.0.1",
    ];
    for (const grammar of ["swift", "bash"]) {
      assertEquals(versions.map((version) => isHazard(grammar, version)), [
        false,
        false,
        true,
        true,
        true,
        false,
        false,
      ]);
    }
    assertEquals(versions.filter((version) => isHazard("typescript", version)), []);
    assertEquals(isHazard("swift", ""), false);
  });

  it("is none where another engine runs", { skip: "Bun" in globalThis ? false : "not on Bun" }, () => {
    assertEquals(isHazard("swift"), false);
  });
});

const deno = "Deno" in globalThis;

describe("on Deno, without the permission to read", { skip: deno ? false : "not on Deno" }, () => {
  const program = `
    const { outline } = await import(${JSON.stringify(join(root, "src/outline.ts"))});
    const text = "export function ring() {\\n  return 1;\\n}\\n";
    const file = { path: "bell.ts", text, lines: 3, hash: "", size: text.length };
    const summary = await outline().summarize(file, { signal: new AbortController().signal, spend() {} });
    console.log(summary.maker ?? "outline", summary.regions.length);
  `;

  async function run(...permissions: string[]): Promise<{ out: string; error: string }> {
    return await inFolder((folder) => {
      const [command, ...rest] = programCommand("mod.ts"), config = rest[rest.indexOf("--config") + 1]!;
      const args = [
        "run",
        "--no-check",
        "--no-lock",
        "--config",
        config,
        ...permissions,
        put(folder, "program.ts", program),
      ];
      // Not through node:child_process, which on Deno adds -A to a Deno it starts.
      const { stdout, stderr } = new Deno.Command(command, { args }).outputSync();
      return { out: new TextDecoder().decode(stdout).trim(), error: new TextDecoder().decode(stderr).trim() };
    });
  }

  it("the scanner makes the map, with no prompt and no word on stderr", async () => {
    assertEquals(await run(), { out: "scanner 1", error: "" });
    assertEquals(await run(`--allow-read=${join(root, "src")}`), { out: "scanner 1", error: "" });
  });

  it("reading the packages is enough for the outline", async () => {
    assertEquals(await run(`--allow-read=${join(root, "node_modules")}`), { out: "outline 1", error: "" });
  });
});
