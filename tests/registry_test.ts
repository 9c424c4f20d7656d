/**
 * The loopback registry: what it serves is what publishing would make of a folder.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { assertEquals } from "@std/assert";
import { publishedFiles, startRegistry, unfurl } from "./registry.ts";

describe("unfurl", () => {
  const imports = { "@std/path": "jsr:@std/path@^1.1.6", "@std/path-extra": "jsr:@x/y@^1", fast: "npm:fast@^2" };

  it("replaces names of the import map in imports and exports of every form", () => {
    const cases: [string, string][] = [
      ['import { join } from "@std/path/posix/join";', 'import { join } from "jsr:@std/path@^1.1.6/posix/join";'],
      ['import {\n  join,\n} from "@std/path";', 'import {\n  join,\n} from "jsr:@std/path@^1.1.6";'],
      ["import 'fast';", "import 'npm:fast@^2';"],
      ['export { a } from "@std/path-extra";', 'export { a } from "jsr:@x/y@^1";'],
      ['import type { F } from "fast/types";', 'import type { F } from "npm:fast@^2/types";'],
      ['  const f = await import("fast");', '  const f = await import("npm:fast@^2");'],
    ];
    for (const [source, expected] of cases) assertEquals(unfurl(source, imports), expected);
  });

  it("leaves strings, comments and other names alone", () => {
    for (
      const source of [
        'export const name = { driver: "fast" };',
        ' * import { x } from "fast";',
        'import { a } from "./fast";',
        'import { a } from "faster";',
        'const label = "import fast from elsewhere";',
      ]
    ) assertEquals(unfurl(source, imports), source);
  });
});

describe("the registry", () => {
  it("serves what the package publishes, and nothing else", async () => {
    const folder = mkdtempSync(`${tmpdir()}/waymark-`);
    const write = (path: string, text: string) => writeFileSync(`${folder}/${path}`, text);
    for (const name of ["src", "tests"]) mkdirSync(`${folder}/${name}`);
    const config = {
      name: "@a/b",
      version: "1.2.3",
      exports: { ".": "./mod.ts" },
      imports: { fast: "npm:fast@^2" },
      publish: { include: ["mod.ts", "src/**/*.ts"] },
    };
    write("deno.json", JSON.stringify(config));
    write("mod.ts", 'export * from "fast";\nexport * from "./src/a.ts";\n');
    write("src/a.ts", "export const a = 1;\n");
    write("tests/a_test.ts", "");
    write("notes.txt", "");
    const registry = await startRegistry([folder]);
    try {
      assertEquals(publishedFiles(folder), ["/mod.ts", "/src/a.ts"]);
      const get = (path: string) => fetch(`${registry.url}${path}`);
      assertEquals(await (await get("@a/b/meta.json")).json(), {
        scope: "a",
        name: "b",
        latest: "1.2.3",
        versions: { "1.2.3": {} },
      });
      const meta = await (await get("@a/b/1.2.3_meta.json")).json();
      assertEquals(meta.exports, { ".": "./mod.ts" });
      const text = await (await get("@a/b/1.2.3/mod.ts")).text();
      assertEquals(text.split("\n")[0], 'export * from "npm:fast@^2";');
      assertEquals(meta.manifest["/mod.ts"].size, text.length);
      for (
        const path of ["@a/b/1.2.3/tests/a_test.ts", "@a/b/1.2.3/notes.txt", "@a/c/meta.json", "@a/b/1.2.4/mod.ts"]
      ) {
        const answer = await get(path);
        await answer.body?.cancel();
        assertEquals(answer.status, 404, path);
      }
      assertEquals(registry.requests.length, 7);
    } finally {
      await registry.close();
      rmSync(folder, { recursive: true });
    }
  });
});
