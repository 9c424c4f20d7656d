import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { isProgram, processIo } from "../../src/hook/process.ts";
import { inFolder } from "../support.ts";

/** Node's streams, as a process of Node has them. */
const streams = (stdin: PassThrough, stdout: Writable) =>
  ({ process: { stdin, stdout } }) as unknown as Parameters<typeof processIo>[0];

describe("Node's streams", () => {
  it("are read to their end, however the bytes of a character are divided", async () => {
    const stdin = new PassThrough(), text = "ä🙂 of a file", bytes = new TextEncoder().encode(text);
    for (const byte of bytes) stdin.write(Uint8Array.of(byte));
    stdin.end();
    assertEquals(await processIo(streams(stdin, new PassThrough())).read(), text);
  });

  it("are written whole, and say where they are closed", async () => {
    const stdout = new PassThrough(), text = "x".repeat(1 << 20);
    const all = (async () => {
      let seen = "";
      for await (const chunk of stdout) seen += chunk;
      return seen;
    })();
    await processIo(streams(new PassThrough(), stdout)).write(text);
    stdout.end();
    assertEquals(await all, text);
    const closed = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    await assertRejects(async () => await processIo(streams(new PassThrough(), closed)).write("x"), Error, "EPIPE");
  });
});

describe("the program", () => {
  it("is what the runtime says it is", () => {
    assert(isProgram({ main: true, url: "file:///no/such/file.ts" }));
    assert(!isProgram({ main: false, url: "file:///no/such/file.ts" }));
  });

  const skip = "Deno" in globalThis && "it is Node that does not say, and an old Deno's arguments cannot be set";
  it("is found by its file where an old Node does not say, also behind a link", { skip }, async () => {
    await inFolder((folder) => {
      const [, script] = process.argv, file = join(folder, "hook.js"), link = join(folder, "link.js");
      writeFileSync(file, "");
      symlinkSync(file, link);
      try {
        process.argv.splice(1, 1, link);
        assert(isProgram({ filename: file, url: "" }));
        assert(isProgram({ url: `file://${file}` }));
        assert(!isProgram({ filename: join(folder, "other.js"), url: "file:///other.js" }));
        process.argv.splice(1, 1, join(folder, "none.js"));
        assert(!isProgram({ filename: file, url: "" }));
      } finally {
        process.argv.splice(1, 1, script!);
      }
    });
  });
});
