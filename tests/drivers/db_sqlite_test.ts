import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dbSqlite, isDbSqliteAtHand } from "../../src/drivers/db_sqlite.ts";
import { WaymarkError } from "../../src/errors.ts";
import { closesAtOnce } from "../cache/opening.ts";
import { testSqliteDriver } from "../contracts/sqlite.ts";
import { runtimes, start } from "../faults/processes.ts";
import { inFolder } from "../support.ts";

const isDeno = "Deno" in globalThis;

// The stand-in is made of `node:sqlite`, and in Deno 2.3 has its faults.
if (isDeno && closesAtOnce) testSqliteDriver("@db/sqlite", dbSqlite);

describe("loading @db/sqlite", () => {
  it("is refused in words outside Deno", { skip: isDeno ? "this is Deno" : false }, async () => {
    const error = await assertRejects(() => dbSqlite(), WaymarkError, "it runs on Deno only");
    assertEquals([error.code, await isDbSqliteAtHand()], ["cache", false]);
  });

  it(
    "ends in time where the registry never answers, and says so",
    { skip: isDeno ? false : "the driver is Deno's" },
    () =>
      inFolder(async (folder) => {
        const server = createServer(() => {}).listen(0, "127.0.0.1");
        await new Promise((resolve) => server.on("listening", resolve));
        try {
          const { command } = runtimes.find(({ name }) => name === "deno")!;
          const program = start(
            { name: "deno", command, args: ["run", "-A", "--no-check", "--no-config"] },
            "tests/drivers/load_db_sqlite.ts",
            {
              timeoutMs: 300,
            },
            {
              env: {
                JSR_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
                DENO_DIR: folder,
                DENO_SQLITE_PATH: "",
              },
            },
          );
          const { message, ms } = JSON.parse(await program.line());
          assertStringIncludes(message, "Cannot load @db/sqlite: not loaded within 300 ms");
          assert(ms < 20_000);
          program.signal("SIGKILL");
          await program.ended;
        } finally {
          server.closeAllConnections();
          server.close();
        }
      }),
  );

  it(
    "ends at once where there is no registry, and says so",
    { skip: isDeno ? false : "the driver is Deno's" },
    () =>
      inFolder(async (folder) => {
        const { command } = runtimes.find(({ name }) => name === "deno")!;
        const args = ["run", "-A", "--no-check", "--no-config"],
          env = { JSR_URL: "http://127.0.0.1:1/", DENO_DIR: folder };
        const program = start({ name: "deno", command, args }, "tests/drivers/load_db_sqlite.ts", {}, { env });
        assertStringIncludes((await program.result<{ message: string }>()).message, "Cannot load @db/sqlite: ");
      }),
  );
});
