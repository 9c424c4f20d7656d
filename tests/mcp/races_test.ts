/**
 * Files that change places while calls run, and what maps are made of: nothing that lies outside of the folders is mapped, kept
 * or sent to a model.
 *
 * @module
 */

import { describe, it } from "node:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync } from "node:fs";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { createWaymark, WaymarkError } from "../../mod.ts";
import { toFolder } from "../../src/mcp/folders.ts";
import { sourceIn } from "../../src/mcp/open_file.ts";
import { anthropic } from "../../src/providers/anthropic.ts";
import { scriptedModel } from "../../src/testing.ts";
import { message, startMessagesApi } from "../messages_api.ts";
import { code, inFolder, put } from "../support.ts";
import { type Result, serve } from "./served.ts";
import { whileSwapped } from "./swapping.ts";

const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** A file that may be read, and one that may not, whose names tell them apart. */
const texts = [
  code(300).replaceAll("function f", "function within"),
  code(300).replaceAll("function f", "function secret"),
] as const;

describe("a file outside of the folders, put in the place of one inside while calls run,", () => {
  /** Calls the tools until so many calls and other things have come to pass; what is kept on disk, and what was answered. */
  async function called(inside: string, model: ReturnType<typeof anthropic> | undefined, isEnough: () => boolean) {
    let answers = "", met = 0, refused = 0;
    await serve({ roots: [inside], model }, async ({ client }) => {
      for (let at = 0; at < 1000 || met < 20 || refused < 20 || !isEnough(); at++) {
        const path = "swapped/secret.ts",
          calls = [["read_file", {}], ["summarize_file", {}], ["summarize_file", {
            action: "refresh",
          }]] as const;
        const results = await Promise.all(
          calls.map(([name, args]) => client.callTool({ name, arguments: { path, ...args } })),
        ) as unknown as Result[];
        for (const { content, isError } of results) {
          isError ? refused++ : met++;
          answers += content.map(({ text }) => text).join("\n").replaceAll("secret.ts", "");
        }
      }
    });
    const kept = ["", "-wal"].map((end) => join(inside, `.summaries/summaries.db${end}`)).filter((path) =>
      existsSync(path)
    );
    return { answers, kept: kept.map((path) => readFileSync(path, "latin1").replaceAll("secret.ts", "")).join("") };
  }

  for (const what of ["folder", "file"] as const) {
    it(
      `is never mapped nor kept, where a ${what} is swapped`,
      { timeout: 240_000 },
      () =>
        whileSwapped(async ({ inside }) => {
          const { answers, kept } = await called(inside, undefined, () => true);
          for (const text of [answers, kept]) {
            assertEquals([text.includes("within7"), text.includes("secret")], [true, false]);
          }
        }, { what, texts }),
    );

    it(`is never sent to a model, where a ${what} is swapped`, { timeout: 240_000 }, async () => {
      const regions = [{ start: 1, end: 9, kind: "function", name: "within1", note: "" }];
      const api = await startMessagesApi({ replies: [message(JSON.stringify({ prose: "Adds.", regions }))] });
      const model = anthropic({ apiKey: api.key, baseURL: api.url, model: "claude-haiku-5-5" });
      try {
        await whileSwapped(async ({ inside }) => {
          const { answers, kept } = await called(inside, model, () => api.requests.length >= 60);
          for (const text of [answers, kept]) {
            assertEquals([text.includes("within1"), text.includes("secret")], [true, false]);
          }
          for (const { raw } of api.requests) {
            const text = decode(raw).replaceAll("secret.ts", "");
            assertEquals([text.includes("within7"), text.includes("secret")], [true, false]);
          }
        }, { what, texts });
      } finally {
        await api.close();
      }
    });
  }
});

describe("maps of the server", () => {
  const answer = JSON.stringify({
    prose: "Adds.",
    regions: [{ start: 1, end: 9, kind: "function", name: "f1", note: "" }],
  });

  it("are kept for whoever asks next, by whatever door, and whatever name leads to the file", () =>
    inFolder(async (base) => {
      const folder = join(base, "project"), alias = join(base, "alias"), model = scriptedModel([answer]);
      put(folder, "src/long.ts", code(300));
      symlinkSync(folder, alias);
      symlinkSync("src/long.ts", join(folder, "link.ts"));
      for (const roots of [[folder], [alias]]) {
        await serve({ roots, model }, async ({ read, call }) => {
          for (const name of ["src/long.ts", "link.ts", "src/../src/long.ts", join(alias, "src/long.ts")]) {
            assertStringIncludes((await read(name))[1]!, "Summary: Adds.", name);
            assertStringIncludes((await call("summarize_file", { path: name }))[0]!, "Summary: Adds.", name);
            const lookup = { path: name, action: "lookup", line: 1 };
            assertStringIncludes((await call("summarize_file", lookup))[0]!, "line 1 is in 1-", name);
          }
        });
      }
      assertEquals(model.calls.length, 1);
      const waymark = createWaymark({ root: folder, onNotice() {} });
      assertEquals((await waymark.lookup("link.ts", 1, { cwd: folder })).status, "found");
      await waymark.close();
    }));

  it("are made of no secret, whether the name says so or what it leads to", () =>
    serve({ model: scriptedModel([]) }, async ({ client, read, folder }) => {
      put(folder, ".env.production", code(300));
      mkdirSync(join(folder, "sub"));
      symlinkSync("../.env.production", join(folder, "sub/plain.ts"));
      symlinkSync("long.ts", join(folder, ".env"));
      for (const path of [".env.production", "sub/plain.ts", "sub/../.env.production", ".env", "sub/../.env"]) {
        assertEquals((await read(path)).length, 1, path);
        const { content, isError } = await client.callTool({ name: "summarize_file", arguments: { path } }) as Result;
        assertEquals(isError, true, path);
        assertStringIncludes(content[0]!.text, "it is a file that holds secrets", path);
      }
    }));

  it("are made of no file that is too large, nor of what is no text", () =>
    serve({ model: scriptedModel([]) }, async ({ client, folder }) => {
      truncateSync(put(folder, "large.ts", ""), (32 << 20) + 1);
      truncateSync(put(folder, "holes.ts", ""), 32 << 20);
      const told = async (path: string) => {
        const result = await client.callTool({ name: "summarize_file", arguments: { path } });
        return (result as unknown as Result).content[0]!.text;
      };
      assertEquals(
        await told("large.ts"),
        `Cannot summarize ${folder}/large.ts: 33554433 bytes is over the limit of 33554432; read it 200 lines at a time instead`,
      );
      assertEquals(await told("holes.ts"), "Cannot summarize holes.ts: it is not a text file; it has no lines to map");
    }));
});

describe("the bytes of a file in a folder", () => {
  const source = (folder: string) => sourceIn(toFolder(folder), { maxBytes: 3 << 20 });

  it("are all of it, of whatever size", () =>
    inFolder(async (folder) => {
      for (const size of [0, 1, 1000, (1 << 19) - 1, 1 << 19, (1 << 20) + 7, 3 << 20]) {
        const text = "0123456789abcdef".repeat(size / 16 + 1).slice(0, size), path = put(folder, "a.ts", text);
        assert(decode(await source(folder).read(path)) === text, String(size));
      }
    }));

  it("are the beginning of one that is no text", () =>
    inFolder(async (folder) => {
      const bytes = new Uint8Array(2 << 20), path = put(folder, "a.ts", bytes);
      assert((await source(folder).read(path))!.length < bytes.length);
    }));

  it("are refused where a link is on the way, the file lies outside, is larger, or none", () =>
    inFolder(async (base) => {
      const folder = join(base, "project"), path = put(folder, "src/a.ts", "a\n"), outside = put(base, "b.ts", "b\n");
      symlinkSync("src", join(folder, "link"));
      symlinkSync("src/a.ts", join(folder, "link.ts"));
      const large = put(folder, "large.ts", "x".repeat((3 << 20) + 1));
      const read = (path: string) => Promise.resolve().then(() => source(folder).read(path));
      assertEquals(decode(await read(path)), "a\n");
      for (const name of ["link/a.ts", "link.ts"]) {
        await assertRejects(() => read(join(folder, name)), WaymarkError, "another file was put in its place");
      }
      await assertRejects(() => read(outside), WaymarkError, "it lies outside of");
      await assertRejects(() => read(folder), WaymarkError, "it is a folder");
      await assertRejects(() => read(join(folder, "absent.ts")), WaymarkError, "there is no such file");
      await assertRejects(() => read(large), WaymarkError, "3145729 bytes is over the limit of 3145728");
    }));

  it("are given up when the read is, and are not those of a file that grows meanwhile", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", "x".repeat(2 << 20));
      await assertRejects(
        async () => await source(folder).read(path, AbortSignal.abort(new Error("given up"))),
        Error,
        "given up",
      );
      const reading = Promise.resolve(source(folder).read(path)); // the first piece is read at once
      appendFileSync(path, "y");
      await assertRejects(() => reading, WaymarkError, "it grew meanwhile");
    }));
});
