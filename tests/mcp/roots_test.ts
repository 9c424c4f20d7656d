/**
 * The folders a server may read: those of the start, those the client names, and those it names later.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdirSync, rmSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { WaymarkError } from "../../mod.ts";
import { serveMcp } from "../../src/mcp.ts";
import { createRoots } from "../../src/mcp/roots.ts";
import { code, inFolder, put } from "../support.ts";
import { serve } from "./served.ts";

const uris = (...paths: string[]) => ({ roots: paths.map((path) => ({ uri: pathToFileURL(path).href })) });

describe("createRoots()", () => {
  it("holds a read until the client has named its folders, and the last word counts, whatever order answers come in", () =>
    inFolder(async (folder) => {
      for (const name of ["a", "b"]) mkdirSync(join(folder, name));
      const roots = createRoots([], () => {}), slow = Promise.withResolvers<ReturnType<typeof uris>>();
      roots.refresh(() => slow.promise);
      roots.refresh(() => Promise.resolve(uris(join(folder, "b"))));
      const current = roots.current();
      await new Promise((done) => setTimeout(done, 5));
      slow.resolve(uris(join(folder, "a")));
      assertEquals((await current).map(({ real }) => real), [join(folder, "b")]);
      assertEquals((await roots.current()).map(({ real }) => real), [join(folder, "b")]);
    }));

  it("keeps what was named where the client does not answer, tells what cannot be used, and leaves it out", () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, "a"));
      const told: string[] = [], roots = createRoots([], (problem) => void told.push(String(problem)));
      const real = async () => (await roots.current()).map(({ real }) => real);
      roots.refresh(() => Promise.resolve(uris(join(folder, "a"), join(folder, "absent"))));
      assertEquals(await real(), [join(folder, "a")]);
      roots.refresh(() => Promise.reject(new Error("no answer")));
      assertEquals(await real(), [join(folder, "a")]);
      assertStringIncludes(told[0]!, "there is no such folder");
      assertStringIncludes(told[1]!, "Cannot have the client's folders: no answer");
      roots.refresh(() => Promise.resolve({ roots: [{ uri: "https://example.com/" }] }));
      assertEquals(await real(), []); // named, and none that can be used
      roots.refresh(() => Promise.resolve(uris()));
      assertEquals(await real(), []);
    }));
});

describe("the folders of a server", () => {
  /** Two projects in one folder, each with a file. */
  const prepare = (folder: string) => {
    put(folder, "one/a.ts", "one\n");
    put(folder, "two/a.ts", "two\n");
    put(folder, "two/deep/b.ts", "deep\n");
  };

  it("are those it was started for, the first of them for relative paths", () =>
    serve((folder) => (prepare(folder), { roots: [join(folder, "two"), join(folder, "one")] }), async (served) => {
      const { folder, read, refused } = served;
      assertEquals(await read("a.ts"), ["two\n"]);
      assertEquals(await read(join(folder, "one/a.ts")), ["one\n"]);
      assertEquals(
        await refused(join(folder, "short.ts")),
        `Cannot read ${folder}/short.ts: it lies outside of ${folder}/two, ${folder}/one, where files may be read; ` +
          `a relative path starts at ${folder}/two`,
      );
    }));

  it("are narrowed by what the client names, and never widened", () =>
    serve(
      (folder) => (prepare(folder), { named: [join(folder, "one"), "/"] }),
      async ({ folder, read, refused, name }) => {
        assertEquals(await read("a.ts"), ["one\n"]);
        assertEquals(await read(join(folder, "two/a.ts")), ["two\n"]); // "/" holds all of the folder of the start
        assertStringIncludes(await refused("/etc/passwd"), "it lies outside of");
        await name(join(folder, "two"));
        assertEquals(await read("a.ts"), ["two\n"]);
        await refused(join(folder, "one/a.ts"));
        await name(join(folder, "two/deep"), join(folder, "one"));
        assertEquals(await read("b.ts"), ["deep\n"]);
        assertEquals(await read(join(folder, "one/a.ts")), ["one\n"]);
        await refused(join(folder, "two/a.ts"));
        await name("/etc");
        assertStringIncludes(await refused("/etc/passwd"), "no folder may be read");
        assertStringIncludes(await refused("a.ts"), "no folder may be read; start the server with --root DIR");
        await name();
        assertEquals(await read("one/a.ts"), ["one\n"]); // it names none: those of the start
      },
    ));

  it("are the client's alone where none was given at the start", () =>
    serve(
      (folder) => (prepare(folder), { roots: [], named: [join(folder, "one")] }),
      async ({ read, refused, folder, name }) => {
        assertEquals(await read("a.ts"), ["one\n"]);
        await refused(join(folder, "two/a.ts"));
        await name();
        assertMatch(
          await refused("a.ts"),
          /^Cannot read a\.ts: no folder may be read; start the server with --root DIR/,
        );
      },
    ));

  it("are none where neither side names one", () =>
    serve({ roots: [] }, async ({ refused, folder, client }) => {
      assertStringIncludes(await refused(join(folder, "short.ts")), "no folder may be read");
      const args = { path: join(folder, "short.ts") };
      assertEquals((await client.callTool({ name: "summarize_file", arguments: args })).isError, true);
    }));

  it("stay those of the start where a client that has folders does not say them, and that is told once", () =>
    serve({ list: () => Promise.reject(new Error("not now")) }, async ({ read, notices, client }) => {
      assertEquals(await read("short.ts"), [code(50)]);
      await client.sendRootsListChanged();
      assertEquals(await read("short.ts"), [code(50)]);
      assertEquals(notices.length, 1);
      assertMatch(notices[0]!, /^Cannot have the client's folders: .*not now$/);
    }));

  it("are projects of their own, each with its maps", () =>
    serve((folder) => {
      put(folder, "one/long.ts", code(300));
      put(folder, "two/long.ts", code(250));
      return { roots: [join(folder, "one"), join(folder, "two")] };
    }, async ({ folder, read, name: _ }) => {
      assertStringIncludes((await read("long.ts"))[1]!, "of 300");
      assertStringIncludes((await read(join(folder, "two/long.ts")))[1]!, "of 250");
      const { existsSync } = await import("node:fs");
      for (const project of ["one", "two"]) {
        assert(existsSync(join(folder, project, ".summaries/summaries.db")), project);
      }
      assert(!existsSync(join(folder, ".summaries")));
    }));

  it("may go and come back while it serves", () =>
    serve((folder) => (put(folder, "one/long.ts", code(300)), { named: [join(folder, "one")] }), async (served) => {
      const { folder, read, refused, name } = served;
      assertStringIncludes((await read("long.ts"))[1]!, "of 300");
      await name(folder);
      assertStringIncludes((await read("one/long.ts"))[1]!, "of 300");
      rmSync(join(folder, "one"), { recursive: true });
      assertStringIncludes(await refused("one/long.ts"), "there is no such file");
      put(folder, "one/long.ts", code(290));
      await name(join(folder, "one"));
      assertStringIncludes((await read("long.ts"))[1]!, "of 290");
    }));

  it("are refused at the start where they are none", async () => {
    for (const root of ["/no/such/folder", import.meta.url, "https://example.com/"]) {
      const [transport] = InMemoryTransport.createLinkedPair();
      await assertRejects(() => serveMcp(transport, { roots: [root] }), WaymarkError, `Cannot read in ${root}: `);
    }
  });
});
