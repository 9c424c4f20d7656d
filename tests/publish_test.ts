/**
 * The package can be published: no slow types, a licence, and only the files it should hold.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { assertEquals, assertNotMatch } from "@std/assert";
import { copyPackage, run } from "./publishing.ts";
import { publishedFiles } from "./registry.ts";
import { root } from "./modules.ts";

const onDeno = "Deno" in globalThis ? false : "only Deno publishes";

describe("publishing", { skip: onDeno }, () => {
  it("passes the dry run with no slow types and holds what it should and nothing else", async () => {
    const folder = mkdtempSync(`${tmpdir()}/waymark-`);
    try {
      copyPackage(folder);
      const result = await run(process.execPath, ["publish", "--dry-run", "--allow-dirty"], { cwd: folder });
      const said = result.stderr + result.stdout;
      assertEquals(result.code, 0, said);
      assertNotMatch(said, /error\[|warning\[(?!unanalyzable)|missing-license/);
      const files = [...said.matchAll(/^\s+file:\/\/(\S+) \(/gm)].map(([, path = ""]) =>
        decodeURI(path).slice(folder.length)
      );
      assertEquals(files.sort(), publishedFiles(root));
      const others = files.filter((file) => !/^\/src\/testing(\.ts$|\/)/.test(file));
      assertEquals(others.filter((file) => /test|standin|example|\.lock$/.test(file)), []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
