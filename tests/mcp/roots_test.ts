/**
 * The folders a server may read: those of the start, those the client names, and those it names later.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path/posix/join";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { WaymarkError } from "../../mod.ts";
import { serveMcp } from "../../src/mcp.ts";
import { findInside, type Folder, toFolder } from "../../src/mcp/folders.ts";
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

describe("an answer that is late", () => {
  it("holds reads no longer than that, and counts from when it comes", () =>
    inFolder(async (folder) => {
      for (const name of ["a", "b"]) mkdirSync(join(folder, name));
      const own = [toFolder(folder)], told: string[] = [], late = Promise.withResolvers<unknown>();
      const roots = createRoots(own, (problem) => void told.push((problem as Error).message), { patienceMs: 20 });
      const real = async () => (await roots.current()).map(({ real }) => real);
      roots.refresh(() => late.promise);
      assertEquals(await real(), [folder]);
      const words = "Cannot have the client's folders: no answer came in 0.02 seconds, and reads no longer wait for it";
      assertEquals(told, [words]);
      late.resolve(uris(join(folder, "a")));
      await late.promise;
      assertEquals(await real(), [join(folder, "a")]);
      const never = Promise.withResolvers<unknown>();
      roots.refresh(() => never.promise);
      assertEquals(await real(), [join(folder, "a")]); // what was named still counts
      roots.refresh(() => Promise.resolve(uris(join(folder, "b"))));
      assertEquals(await real(), [join(folder, "b")]);
      never.resolve(uris(join(folder, "a"))); // of a question that was asked anew
      await never.promise;
      assertEquals(await real(), [join(folder, "b")]);
      assertEquals(told, [words, words]);
    }));

  it("counts also of a question that was asked anew, where that one has no answer, and not where it has", () =>
    inFolder(async (folder) => {
      for (const name of ["a", "b"]) mkdirSync(join(folder, name));
      const second = async (later: (isGarbled: () => void) => Promise<unknown>): Promise<string[]> => {
        const roots = createRoots([toFolder(folder)], () => {}, { patienceMs: 20 });
        const first = Promise.withResolvers<unknown>();
        roots.refresh(() => first.promise);
        roots.refresh(() => later(roots.garbled));
        await roots.current();
        first.resolve(uris(join(folder, "a")));
        await first.promise;
        return (await roots.current()).map(({ real }) => real);
      };
      assertEquals(await second(() => Promise.reject(new Error("one at a time"))), [join(folder, "a")]);
      assertEquals(await second(() => new Promise(() => {})), [join(folder, "a")]);
      assertEquals(await second(() => Promise.resolve(uris())), [folder]);
      assertEquals(await second((garbled) => (garbled(), Promise.reject(new Error("gone")))), []);
    }));

  it("leaves nothing to read meanwhile where something came that cannot be understood", () =>
    inFolder(async (folder) => {
      const told: string[] = [], late = Promise.withResolvers<unknown>();
      const tell = (problem: unknown) => void told.push((problem as Error).message);
      const roots = createRoots([toFolder(folder)], tell, { patienceMs: 20 });
      const real = async () => (await roots.current()).map(({ real }) => real);
      roots.refresh(() => late.promise);
      roots.garbled();
      assertEquals(await real(), []);
      assertMatch(told[0]!, /no longer wait for it; no folder may be read$/);
      late.resolve({ roots: [] });
      await late.promise;
      assertEquals(await real(), [folder]);
      assertEquals(told.length, 1);
    }));

  it("is no news where it is none after all", () =>
    inFolder(async (folder) => {
      const told: string[] = [], late = Promise.withResolvers<unknown>();
      const roots = createRoots([toFolder(folder)], (problem) => void told.push(String(problem)), { patienceMs: 5 });
      roots.refresh(() => late.promise);
      await roots.current();
      late.reject(new Error("closed"));
      await late.promise.catch(() => {});
      assertEquals((await roots.current()).map(({ real }) => real), [folder]);
      assertEquals(told.length, 1);
    }));
});

describe("a client's answer", () => {
  /** The folders that may be read after an answer, and what was told. */
  async function after(answer: unknown, own: readonly Folder[] = []) {
    const told: string[] = [], roots = createRoots(own, (problem) => void told.push((problem as Error).message));
    roots.refresh(() => Promise.resolve(answer));
    const folders = await roots.current();
    return { real: folders.map(({ real }) => real), told };
  }

  it("is left out only where it cannot be used, whatever the shape, and each is told once", () =>
    inFolder(async (folder) => {
      const good = put(folder, "good/a.ts", "").slice(0, -5), { roots } = uris(good, join(folder, "absent"));
      const uri = "vscode-vfs://github/x";
      const wrong = [null, 7, "file:///", [], {}, { uri: 7 }, { uri: null }, { uri }, { uri, name: "again" }, {
        uri: "",
      }];
      const { real, told } = await after({ roots: [...wrong, ...roots, { uri: good }, { uri: "file://elsewhere/x" }] });
      assertEquals(real, [good]);
      assertEquals(told, [
        "Cannot read in a folder that the client names: its uri is no text",
        `Cannot read in ${uri}: it is no file:// URL`,
        'Cannot read in "": it is no file:// URL',
        `Cannot read in ${pathToFileURL(join(folder, "absent")).href}: there is no such folder`,
        `Cannot read in ${good}: it is no file:// URL`,
        "Cannot read in file://elsewhere/x: it is no path on this machine",
      ]);
    }));

  it("of which none can be used leaves nothing to read, which an empty list does not", () =>
    inFolder(async (folder) => {
      const own = [toFolder(folder)];
      assertEquals(await after({ roots: [] }, own), { real: [folder], told: [] });
      const unusable = "Cannot have the client's folders: none of those it names can be used; no folder may be read";
      for (const roots of [[{ uri: "https://example.com/" }], [{}], [null], [{ uri: `${folder}/absent` }]]) {
        const { real, told } = await after({ roots }, own);
        assertEquals([real, told.length, told[1]], [[], 2, unusable]);
      }
      const none = "Cannot have the client's folders: its answer holds no list of them; no folder may be read";
      for (const answer of [{}, null, undefined, "file:///", 7, [], { roots: null }, { roots: {} }, { roots: "x" }]) {
        assertEquals(await after(answer, own), { real: [], told: [none] });
      }
    }));

  it("that names nothing within the server's own folders leaves nothing to read, and a person is told", () =>
    inFolder(async (folder) => {
      for (const name of ["one", "two"]) mkdirSync(join(folder, name));
      const own = [toFolder(join(folder, "one"))], roots = [{ uri: pathToFileURL(join(folder, "two")).href }];
      const told = ["Cannot have the client's folders: all it names lie outside of --root; no folder may be read"];
      assertEquals(await after({ roots }, own), { real: [], told });
    }));

  it("is taken by what its URLs say: escapes are of the name, and no name ends at a sign that is not escaped", () =>
    inFolder(async (folder) => {
      for (const name of ["a b", "c#", "d%20e", "f?"]) mkdirSync(join(folder, name, "deep"), { recursive: true });
      const paths = ["a b", "c#/deep", "d%20e", "f?/deep"].map((name) => join(folder, name));
      assertEquals(await after(uris(...paths)), { real: paths, told: [] });
      const { href } = pathToFileURL(folder);
      const roots = ["c#/deep", "?/deep", "%zz", "a%2f..", "a%00"].map((name) => ({ uri: `${href}/${name}` }));
      const { real, told } = await after({ roots });
      assertEquals([real, told.length], [[], 6]);
      for (const line of told.slice(0, 2)) assertStringIncludes(line, "is escaped in its URL");
      assertEquals((await after({ roots: [{ uri: `${href}/a b` }] })).real, [join(folder, "a b")]); // clients that escape little
    }));

  it("may name a folder again, by whatever name: it is one", () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, "a"));
      symlinkSync(join(folder, "a"), join(folder, "link"));
      const { href } = pathToFileURL(join(folder, "a")),
        again = [href, `${href}/`, href, href.replace("file:", "FILE:")];
      const answer = { roots: [...again.map((uri) => ({ uri })), ...uris(join(folder, "link")).roots] };
      for (const own of [[], [toFolder(folder)]]) {
        assertEquals(await after(answer, own), { real: [join(folder, "a")], told: [] });
      }
    }));

  it("may be of thousands: all that can be used are, and few of the others are told", () =>
    inFolder(async (folder) => {
      const paths = Array.from({ length: 3000 }, (_, at) => join(folder, `f${at}`));
      for (const path of paths) mkdirSync(path);
      const absent = Array.from({ length: 3000 }, (_, at) => join(folder, `absent${at}`));
      const { real, told } = await after(uris(...absent, ...paths), [toFolder(folder)]);
      assertEquals([real, told.length], [paths, 21]);
      assertEquals(told.at(-1), "Cannot have the client's folders: 2980 more of them cannot be used");
      const error = assertThrows(() => findInside("/etc/passwd", paths.map(toFolder)), WaymarkError);
      assertMatch(error.message, /f0, .*f19 and 2980 more, where files may be read; /);
      const long = await after({ roots: [{ uri: `file:///${"x".repeat(1e6)}` }, { uri: "y".repeat(1e6) }] });
      assertEquals([long.real, long.told.length], [[], 3]);
      for (const line of long.told) assert(line.length < 300);
    }));

  it("that cannot be understood is no answer that narrows nothing", () =>
    inFolder(async (folder) => {
      const told: string[] = [], roots = createRoots([toFolder(folder)], (problem) => void told.push(String(problem)));
      const real = async () => (await roots.current()).map(({ real }) => real), late = new Error("too late");
      roots.refresh(() => Promise.reject(late));
      assertEquals(await real(), [folder]);
      roots.refresh(async () => (await Promise.resolve(), roots.garbled(), Promise.reject(late)));
      assertEquals(await real(), []);
      assertMatch(told[1]!, /too late; no folder may be read$/);
      roots.refresh(async () => (await Promise.resolve(), roots.garbled(), uris())); // it was something else
      assertEquals(await real(), [folder]);
    }));
});

describe("a client that says something nobody understands, and then names no folders", () => {
  for (const isGarbled of [false, true]) {
    it(
      isGarbled ? "may read nothing: it may have been its folders" : "may, where all was understood, read as before",
      () => {
        const asked = Promise.withResolvers<void>(), ready = Promise.withResolvers<void>();
        const list = () => (asked.resolve(), ready.promise.then(() => Promise.reject(new Error("gone"))));
        return serve({ list }, async ({ client, read, refused }) => {
          await asked.promise;
          // deno-lint-ignore no-explicit-any -- no message of the protocol
          if (isGarbled) await client.transport!.send({ jsonrpc: "2.0", id: 99, said: "folders" } as any);
          ready.resolve();
          if (isGarbled) assertStringIncludes(await refused("short.ts"), "no folder may be read");
          else assertEquals((await read("short.ts")).length, 1);
        });
      },
    );
  }
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

  it("are narrowed by one that can be used among others that cannot, at the start and later", () => {
    let roots: { uri: string }[] = [];
    const other = { uri: "vscode-vfs://github/x" }, list = () => ({ roots });
    return serve((folder) => {
      prepare(folder);
      roots = [...uris(join(folder, "one")).roots, other];
      return { list };
    }, async ({ folder, read, refused, client, notices }) => {
      assertEquals(await read("a.ts"), ["one\n"]);
      await refused(join(folder, "two/a.ts"));
      roots = [other, ...uris(join(folder, "two")).roots];
      await client.sendRootsListChanged();
      assertEquals(await read("a.ts"), ["two\n"]);
      await refused(join(folder, "one/a.ts"));
      roots = [other];
      await client.sendRootsListChanged();
      assertStringIncludes(await refused(join(folder, "two/a.ts")), "no folder may be read");
      assertEquals(notices, [
        "Cannot read in vscode-vfs://github/x: it is no file:// URL",
        "Cannot have the client's folders: none of those it names can be used; no folder may be read",
      ]);
    });
  });

  it("are those that can be used where none was given at the start, after an empty list too", () => {
    let roots: { uri: string }[] = [];
    return serve((folder) => (prepare(folder), { roots: [], list: () => ({ roots }) }), async (served) => {
      const { folder, read, refused, client } = served;
      await refused("a.ts");
      roots = [{ uri: "untitled:x" }, ...uris(join(folder, "one")).roots];
      await client.sendRootsListChanged();
      assertEquals(await read("a.ts"), ["one\n"]);
    });
  });

  it("are asked for before the first read, of a client too that says all at once", () =>
    inFolder(async (folder) => {
      prepare(folder);
      const [left, right] = InMemoryTransport.createLinkedPair(), serving = await serveMcp(left, { roots: [folder] });
      const answered = Promise.withResolvers<JSONRPCMessage>();
      right.onmessage = (message: JSONRPCMessage) => {
        if ("method" in message && "id" in message) {
          void right.send({ jsonrpc: "2.0", id: message.id, result: uris(join(folder, "one")) });
        } else if ("id" in message && message.id === 2) answered.resolve(message);
      };
      await right.start();
      const clientInfo = { name: "tests", version: "1.0.0" }, capabilities = { roots: {} };
      const params = { protocolVersion: "2025-06-18", capabilities, clientInfo };
      const call = { name: "read_file", arguments: { path: join(folder, "two/a.ts") } };
      void right.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      void right.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      void right.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: call });
      assertStringIncludes(JSON.stringify(await answered.promise), "it lies outside of");
      await serving.close();
    }));

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
