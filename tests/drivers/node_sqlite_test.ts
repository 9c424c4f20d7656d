import { describe, it } from "node:test";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { nodeSqlite } from "../../src/drivers/node_sqlite.ts";
import { testSqliteDriver } from "../contracts/sqlite.ts";
import type { Report } from "../faults/cache_child.ts";
import { runProgram, runtimes } from "../faults/processes.ts";
import { inFolder } from "../support.ts";

testSqliteDriver("node:sqlite", nodeSqlite);

describe("a runtime without node:sqlite", () => {
  const node = runtimes.find(({ name }) => name === "node");

  it(
    "keeps maps in memory, and is told what it needs",
    { skip: node ? false : "there is no Node here to play it" },
    () =>
      inFolder(async (root) => {
        const old = { ...node!, args: ["--no-experimental-sqlite", ...node!.args] };
        const report = await runProgram<Report>(old, "tests/faults/cache_child.ts", { action: "put", root, count: 2 });
        assertEquals([report.kind, report.events, report.stored], ["memory", ["memory"], 2]);
        assertStringIncludes(report.messages[0]!, "Cannot load node:sqlite: it needs Deno 2.3, Bun 1.4 or Node 22.13");
      }),
  );
});
