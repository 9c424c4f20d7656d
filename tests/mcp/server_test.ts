/**
 * The server with the official SDK's own client, in one process, over real files.
 *
 * @module
 */

import { describe, it } from "node:test";
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import process from "node:process";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { readGuideline, stripAnnotations } from "../../mod.ts";
import { scriptedModel } from "../../src/testing.ts";
import { code, inFolder, put } from "../support.ts";
import { type Result, serve } from "./served.ts";

describe("the server", () => {
  it("says what it is, what it offers, and how to read", () =>
    serve({}, async ({ client }) => {
      assertEquals(client.getInstructions(), readGuideline());
      const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));
      assertEquals(client.getServerVersion(), { name: "waymark", title: "Waymark", version });
      const { tools } = await client.listTools();
      assertEquals(tools.map(({ name }) => name), ["read_file", "summarize_file"]);
      for (const { annotations, outputSchema, description, _meta } of tools) {
        assertEquals(_meta, { "anthropic/alwaysLoad": true });
        assertEquals(annotations, {
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false,
        });
        assertEquals(outputSchema, undefined);
        assert(description);
      }
      assertEquals(Object.keys(tools[0]!.inputSchema.properties!), ["path", "offset", "limit", "fresh"]);
      assertEquals(tools.map(({ inputSchema }) => inputSchema.required), [["path"], ["path"]]);
    }));

  it("says of its tools that files leave the machine where a model makes the maps", () =>
    serve({ model: scriptedModel([]) }, async ({ client }) => {
      const { tools } = await client.listTools();
      assertEquals(tools.map(({ annotations }) => annotations?.openWorldHint), [true, true]);
      assertEquals(tools.map(({ annotations }) => annotations?.readOnlyHint), [true, true]);
    }));

  it("names the limit it was given in all its words", () =>
    serve({ maxLines: 70 }, async ({ client, read }) => {
      const { tools } = await client.listTools();
      assertStringIncludes(tools[0]!.description!, "more than 70 lines");
      assertStringIncludes(tools[1]!.description!, "A 490-line file");
      assertStringIncludes(client.getInstructions()!, "70 lines");
      assertStringIncludes((await read("long.ts"))[1]!, "PARTIAL, lines 1-70 of 380");
    }));

  it("refuses a tool that it has not, as the protocol does", () =>
    serve({}, async ({ client }) => {
      for (const name of ["write_file", "toString", "constructor"]) {
        await assertRejects(() => client.callTool({ name, arguments: {} }), Error, `There is no tool ${name}`);
      }
    }));
});

describe("read_file", () => {
  it("gives a short file as it is, in one block", () =>
    serve({}, async ({ read, folder }) => {
      assertEquals(await read("short.ts"), [code(50)]);
      assertEquals(await read(join(folder, "short.ts")), [code(50)]);
      assertEquals(await read("short.ts", { offset: 10, limit: 2 }), [
        `${code(50).split("\n").slice(9, 11).join("\n")}\n`,
      ]);
      assertEquals(await read("short.ts", { offset: "50", limit: "9" }), [code(50).split("\n")[49]!]);
      assertEquals(await read("short.ts", { offset: null, limit: null }), [code(50)]);
      assertEquals(await read("short.ts", { offset: 0, limit: 1 }), [`${code(1)}\n`]);
    }));

  it("gives 200 lines of a long file and the map of all of it, in a block of its own, and the map leads on", () =>
    serve({}, async ({ read, folder }) => {
      const [lines, map, ...rest] = await read("long.ts");
      assertEquals([lines, rest], [`${code(200)}\n`, []]);
      assertMatch(map!, /^\[waymark map: PARTIAL, lines 1-200 of 380 are shown, the rest is not\]\n/);
      assertMatch(map!, /\n380-380 {2}function {2}f380 .*\n/);
      assertMatch(map!, /Next lines: offset: 201, limit: 180\./);
      const following = code(380).split("\n").slice(200).join("\n");
      assertEquals(await read("long.ts", { offset: 201, limit: 180 }), [following]);
      assert(existsSync(join(folder, ".summaries/summaries.db")));
    }));

  it("gives all lines of a long file to who insists, and no map", () =>
    serve({}, async ({ read }) => {
      assertEquals(await read("long.ts", { fresh: true }), [code(380)]);
      assertEquals(await read("long.ts", { fresh: "true" }), [code(380)]); // as some models write it
      assertMatch((await read("long.ts", { fresh: false }))[1]!, /^\[waymark map: /);
      assertEquals((await read("long.ts", { offset: 100, fresh: true }))[0]!.split("\n").length, 281);
    }));

  it("gives bytes as they are: endings, marks, tabs, and numbers that look like a gutter", () =>
    serve({}, async ({ read, folder }) => {
      const files = {
        "windows.ts": code(60).replaceAll("\n", "\r\n"),
        "mark.ts": `\ufeff${code(3)}\n`,
        "newline.ts": `${code(3)}\n\n`,
        "numbered.txt": "1\tone\n2\ttwo\n3\tthree\n",
        "separators.ts": "a\u2028b\u0085c\rd\fe\n",
        "blocks.json": '[{"type":"text","text":"1"}]',
      };
      for (const [name, text] of Object.entries(files)) {
        put(folder, name, text);
        assertEquals(await read(name), [text], name);
      }
      const numbered = Array.from({ length: 300 }, (_, at) => `${at + 1}\texport function f${at + 1}() {}`).join("\n");
      put(folder, "numbered.ts", numbered);
      const [lines] = await read("numbered.ts");
      assertEquals(numbered.startsWith(lines!), true);
    }));

  it("shortens a file of Windows too, its lines as they are", () =>
    serve({}, async ({ read, folder }) => {
      put(folder, "windows.ts", code(300).replaceAll("\n", "\r\n"));
      const [lines, map] = await read("windows.ts");
      assertEquals(lines, `${code(200).replaceAll("\n", "\r\n")}\r\n`);
      assertStringIncludes(map!, "PARTIAL, lines 1-200 of 300");
    }));

  it("says what an empty file and the end of a file are, and is no failure", () =>
    serve({}, async ({ read, refused, folder }) => {
      put(folder, "empty.ts", "");
      put(folder, "three.ts", "a\nb\nc\n");
      const notice = (head: string) => [`[waymark notice: ${head}]\n[end of waymark notice]`];
      assertEquals(await read("empty.ts"), notice("the file is empty"));
      for (const offset of [1, 2, 5]) {
        assertEquals(await read("empty.ts", { offset, limit: 5 }), notice("the file is empty"));
      }
      put(folder, "one.ts", "a\n");
      assertEquals(await read("one.ts", { offset: 2 }), notice("there is nothing from line 2 on, the file has 1 line"));
      assertEquals(
        await refused("one.ts", { offset: 3 }),
        "Cannot read one.ts from line 3: it has 1 line; the last is offset: 1",
      );
      assertEquals(
        await read("three.ts", { offset: 4 }),
        notice("there is nothing from line 4 on, the file has 3 lines"),
      );
      assertEquals(
        await refused("three.ts", { offset: 500, limit: 10 }),
        "Cannot read three.ts from line 500: it has 3 lines; the last is offset: 3",
      );
      assertEquals(
        await refused("long.ts", { offset: 5000 }),
        "Cannot read long.ts from line 5000: it has 380 lines; the last is offset: 380",
      );
    }));

  it("gives so many bytes at most, in whole lines, and says how to go on", () =>
    serve({}, async ({ read, folder }) => {
      const lines = Array.from({ length: 3000 }, (_, at) => `${at + 1} ${"é".repeat(40)}`);
      put(folder, "notes.md", lines.join("\n"));
      const [text, note, ...rest] = await read("notes.md");
      const shown = text!.split("\n").length - 1;
      assertEquals([text, rest], [`${lines.slice(0, shown).join("\n")}\n`, []]);
      assert(new TextEncoder().encode(text).length <= 65_536);
      assertMatch(
        note!,
        new RegExp(`^\\[waymark notice: PARTIAL, lines 1-${shown} are shown, the file goes on\\]\\nOne read gives`),
      );
      const [, offset, limit] = /offset: (\d+), limit: (\d+)/.exec(note!)!;
      assertEquals(
        (await read("notes.md", { offset: Number(offset), limit: Number(limit) }))[0]!.split(" ")[0],
        `${shown + 1}`,
      );
    }));

  it("says so where its own limit cuts what the guard asked for, and the map fits what is shown", () =>
    serve({}, async ({ read, folder }) => {
      put(folder, "wide.ts", code(400).replaceAll("{ return", `{ /* ${"x".repeat(900)} */ return`));
      const [text, ...notes] = await read("wide.ts"), shown = text!.split("\n").length - 1;
      assert(shown < 100);
      assertStringIncludes(
        notes.join("\n"),
        `[waymark map: PARTIAL, lines 1-${shown} of 400 are shown, the rest is not]`,
      );
      assertStringIncludes(notes.join("\n"), `Next lines: offset: ${shown + 1}`);
    }));

  it("gives the beginning of a line that is longer than all it may give", () =>
    serve({}, async ({ read, folder }) => {
      put(folder, "bundle.min.js", `first\n${"é".repeat(500_000)}\nlast\n`);
      const [text, note] = await read("bundle.min.js", { offset: 2 });
      assertEquals(text, "é".repeat(32_768));
      assertStringIncludes(note!, "PARTIAL, of line 2 only the first 64 KiB are shown");
      assertStringIncludes(note!, "and none the rest of this line. Lines after it, if any: offset: 3, limit: 1.");
      assertEquals(await read("bundle.min.js", { offset: 3 }), ["last\n"]);
    }));

  it("reads the end of a file that would not fit into memory as a text", () =>
    serve({}, async ({ read, folder }) => {
      const line = `${"0123456789".repeat(10)}\n`, path = put(folder, "huge.log", "");
      for (let at = 0; at < 60; at++) writeFileSync(path, line.repeat(10_000), { flag: "a" });
      assertEquals(await read("huge.log", { offset: 599_999, limit: 5 }), [line.repeat(2)]);
    }));

  it("says of bytes that are no UTF-8 that they are shown as something else", () =>
    serve({}, async ({ read, folder }) => {
      put(folder, "latin.ts", new Uint8Array([...new TextEncoder().encode("// caf"), 0xe9, 10]));
      put(folder, "sign.ts", "// \ufffd is a character\n");
      assertEquals(await read("latin.ts"), [
        "// caf\ufffd\n",
        "[waymark notice: bytes that are no UTF-8 are shown as \ufffd]\n[end of waymark notice]",
      ]);
      assertEquals(await read("sign.ts"), ["// \ufffd is a character\n"]);
    }));

  it("refuses what is no text, and what is no file, by name and with the next step", () =>
    serve({}, async ({ refused, folder }) => {
      put(folder, "image.png", new Uint8Array([137, 80, 78, 71, 0, 0, 0, 13]));
      put(folder, "utf16.txt", new Uint8Array([0xff, 0xfe, 97, 0, 98, 0]));
      put(folder, "sub/a.ts", "");
      for (const name of ["image.png", "utf16.txt"]) {
        assertEquals(await refused(name), `Cannot read ${name}: it is no text; this tool reads text only`);
      }
      assertEquals(await refused("sub"), "Cannot read sub: it is a folder; name a file in it");
      assertEquals(
        await refused("absent.ts"),
        `Cannot read absent.ts: there is no such file; a relative path starts at ${folder}`,
      );
      assertEquals(
        await refused("a\nb"),
        `Cannot read a b: there is no such file; a relative path starts at ${folder}`,
      );
    }));

  it("refuses what it cannot understand, and says what to give", () =>
    serve({}, async ({ refused, client }) => {
      const numbers = 'Cannot read short.ts: "offset" and "limit" are whole numbers from 1';
      for (const odd of [-1, 1.5, "x", {}, [3]]) {
        assertEquals(await refused("short.ts", { offset: odd }), numbers);
        assertEquals(await refused("short.ts", { limit: odd }), numbers);
      }
      assertEquals(await refused("short.ts", { limit: 0 }), numbers);
      for (const args of [{}, { path: "" }, { path: 7 }, { file_path: "short.ts" }, undefined]) {
        const { content, isError } = await client.callTool({ name: "read_file", arguments: args! }) as Result;
        assertEquals([content[0]!.text, isError], ['Cannot read a file: give its "path" as text', true]);
      }
    }));

  it("reads secrets in its folders, as it was asked to, and never maps them", () =>
    serve({ model: scriptedModel([]) }, async ({ read, call, folder, client }) => {
      const text = Array.from({ length: 300 }, (_, at) => `KEY_${at}=value`).join("\n");
      put(folder, ".env", text);
      put(folder, "service-account.json", text);
      symlinkSync(".env", join(folder, "link.ts"));
      for (const name of [".env", "service-account.json", "link.ts"]) {
        assertEquals(await read(name), [text], name);
        const { content, isError } = await client.callTool({
          name: "summarize_file",
          arguments: { path: name },
        }) as Result;
        assertEquals(isError, true);
        assertStringIncludes(content[0]!.text, "it is a file that holds secrets");
      }
      void call;
    }));

  it("gives back what was added for who writes the text back", () =>
    serve({}, async ({ read }) => {
      const blocks = await read("long.ts");
      assertEquals(stripAnnotations(blocks.join("\n\n")).trimEnd(), code(200));
    }));
});

describe("summarize_file", () => {
  it("maps a file, says what is at a line, and maps it anew", () =>
    serve({}, async ({ call }) => {
      const [map] = await call("summarize_file", { path: "long.ts" });
      assertMatch(map!, /^\[waymark map: 380 lines, none are shown here\]\n/);
      assertEquals(await call("summarize_file", { path: "long.ts", action: "lookup", line: 7 }), [
        "line 7 is in 7-7  function  f7  function f7(a: number)",
      ]);
      assertMatch(
        (await call("summarize_file", { path: "long.ts", action: "refresh" }))[0]!,
        /^\[waymark map: 380 lines/,
      );
      assertMatch((await call("summarize_file", { path: "long.ts", action: null }))[0]!, /^\[waymark map: 380 lines/);
    }));

  it("maps what a model makes of it where there is one, and keeps the map for the reads", () => {
    const answer = { prose: "Adds.", regions: [{ start: 1, end: 380, kind: "function", name: "f1", note: "adds" }] };
    const model = scriptedModel([JSON.stringify(answer)]);
    return serve({ model }, async ({ call, read }) => {
      assertStringIncludes((await call("summarize_file", { path: "long.ts" }))[0]!, "Summary: Adds.");
      assertStringIncludes((await read("long.ts"))[1]!, "Summary: Adds.");
      assertEquals(model.calls.length, 1);
    });
  });

  it("fails in one line that says what to do instead, outside of the folders without telling what is there", () =>
    serve({}, async ({ client, folder }) => {
      put(folder, "image.png", new Uint8Array([137, 80, 0]));
      const refusals: Record<string, RegExp> = {
        "absent.ts": /^Cannot read absent\.ts: there is no such file; a relative path starts at [^;]+$/,
        "../elsewhere.ts":
          /^Cannot read \.\.\/elsewhere\.ts: it lies outside of [^;]+; a relative path starts at [^;]+$/,
        "/etc/passwd": /^Cannot read \/etc\/passwd: it lies outside of [^;]+; a relative path starts at [^;]+$/,
        ".": /^Cannot read \.: it is a folder; name a file in it$/,
        "image.png": /^Cannot summarize image\.png: it is not a text file; it has no lines to map$/,
        "": /^Cannot map a file: "path" is missing$/,
      };
      for (const [path, expected] of Object.entries(refusals)) {
        for (const action of ["summarize", "lookup"]) {
          if (action === "lookup" && path === "image.png") continue;
          const args = { path, action, line: 1 };
          const { content, isError } = await client.callTool({ name: "summarize_file", arguments: args }) as Result;
          assertEquals(isError, true);
          assertMatch(content[0]!.text, expected);
        }
      }
    }));

  it("says of a file that may not be read what a read says", {
    skip: process.getuid?.() === 0 ? "root may read everything" : false,
  }, () =>
    serve({}, async ({ client, refused, folder }) => {
      chmodSync(put(folder, "locked.ts", code(300)), 0);
      const { content } = await client.callTool({ name: "summarize_file", arguments: { path: "locked.ts" } }) as Result;
      assertEquals(content[0]!.text, "Cannot read locked.ts: permission denied");
      assertEquals(await refused("locked.ts"), content[0]!.text);
    }));

  it("gives no map of bytes that are not those of the file in the folder", () =>
    inFolder(async (outside) => {
      const secret = put(outside, "plan.ts", code(300).replaceAll("f1", "secret"));
      let swap = () => {};
      const answer = JSON.stringify({
        prose: "Plans.",
        regions: [{ start: 1, end: 9, kind: "function", name: "x", note: "" }],
      });
      const model = scriptedModel(() => (swap(), answer));
      await serve({ model }, async ({ client, folder }) => {
        swap = () => put(folder, "long.ts", readFileSync(secret));
        const { content, isError } = await client.callTool({
          name: "summarize_file",
          arguments: { path: "long.ts" },
        }) as Result;
        assertEquals([isError, content[0]!.text], [
          true,
          "Cannot summarize long.ts: it changed while its map was made; ask again; read it 200 lines at a time instead",
        ]);
      });
    }));
});
