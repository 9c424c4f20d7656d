/** One more line at the end of a file: torn lines, short writes and other writers in between. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type AppendFile, appendLine, openAppend } from "../../src/tool_use/append_line.ts";
import { inFolder } from "../support.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (path: string): string => readFileSync(path, "utf8");

/** Opens as usual, with parts of the file replaced; counts what happens. */
function faulty(change: (file: AppendFile, path: string) => Partial<AppendFile>) {
  const counts = { opened: 0, closed: 0, writes: 0 };
  const open = async (path: string): Promise<AppendFile> => {
    const file = await openAppend(path), changed = { ...file, ...change(file, path) };
    counts.opened++;
    return {
      ...changed,
      write: (bytes) => (counts.writes++, changed.write(bytes)),
      close: () => (counts.closed++, changed.close()),
    };
  };
  return { open, counts };
}

describe("appendLine()", () => {
  it("makes the file, private, and adds line after line", () =>
    inFolder(async (folder) => {
      const path = `${folder}/a`;
      for (const line of ["one\n", "zwölf\n", "\n"]) await appendLine(path, bytes(line));
      assertEquals(read(path), "one\nzwölf\n\n");
      assertEquals(statSync(path).mode & 0o777, 0o600);
    }));

  it("is one write, however long the line is, and looks at nothing again where nobody else writes", () =>
    inFolder(async (folder) => {
      const reads: number[] = [];
      const { open, counts } = faulty((file) => ({
        read: (buffer, at) => (reads.push(buffer.length), file.read(buffer, at)),
      }));
      for (let time = 0; time < 3; time++) await appendLine(`${folder}/a`, bytes(`${"x".repeat(3_000_000)}\n`), open);
      assertEquals(counts, { opened: 3, closed: 3, writes: 3 });
      assertEquals(statSync(`${folder}/a`).size, 9_000_003);
      assertEquals(reads, [1, 1]);
    }));

  for (
    const [what, tail] of Object.entries({
      "half a line": bytes('{"a":'),
      "a whole line without its end": bytes('{"a":1}'),
      "half a character": bytes("é").subarray(0, 1),
      "zeros": new Uint8Array(5_000),
    })
  ) {
    it(`begins on a line of its own behind ${what}, and lets that stand`, () =>
      inFolder(async (folder) => {
        writeFileSync(`${folder}/a`, tail);
        await appendLine(`${folder}/a`, bytes("new\n"));
        await appendLine(`${folder}/a`, bytes("newer\n"));
        assertEquals(new Uint8Array(readFileSync(`${folder}/a`)), Uint8Array.of(...tail, ...bytes("\nnew\nnewer\n")));
      }));
  }

  it("rejects where the disk takes a part of it, and the next one is whole", () =>
    inFolder(async (folder) => {
      const { open, counts } = faulty((file) => ({ write: (bytes) => file.write(bytes.subarray(0, 3)) }));
      await appendLine(`${folder}/a`, bytes("first\n"));
      await assertRejects(() => appendLine(`${folder}/a`, bytes("second\n"), open), Error, "3 of 7 bytes");
      await appendLine(`${folder}/a`, bytes("third\n"));
      assertEquals([read(`${folder}/a`), counts.closed], ["first\nsec\nthird\n", 1]);
    }));

  it("is written again where a line was torn right before it", () =>
    inFolder(async (folder) => {
      let torn = 0;
      const { open } = faulty((file, path) => ({
        write(bytes) {
          if (torn++ === 0) appendFileSync(path, "torn");
          return file.write(bytes);
        },
      }));
      await appendLine(`${folder}/a`, bytes("first\n"));
      await appendLine(`${folder}/a`, bytes("second\n"), open);
      assertEquals(read(`${folder}/a`), "first\ntornsecond\nsecond\n");
    }));

  it("is not written again where others wrote whole lines right before and right after it", () =>
    inFolder(async (folder) => {
      for (const [start, before] of [["", "before\n"], ["first\n", "before\n"], ["", ""], ["first\n", ""]] as const) {
        writeFileSync(`${folder}/a`, start);
        const { open, counts } = faulty((file, path) => ({
          async write(bytes) {
            appendFileSync(path, before);
            const written = await file.write(bytes);
            appendFileSync(path, "behind, tor");
            return written;
          },
        }));
        await appendLine(`${folder}/a`, bytes("second\n"), open);
        assertEquals([read(`${folder}/a`), counts.writes], [`${start}${before}second\nbehind, tor`, 1]);
      }
    }));

  it("is known by its bytes, whatever they are", () =>
    inFolder(async (folder) => {
      const line = Uint8Array.of(...Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10), 10);
      const { open, counts } = faulty((file, path) => ({
        write: (bytes) => (appendFileSync(path, "é…\n"), file.write(bytes)),
      }));
      for (let time = 0; time < 2; time++) await appendLine(`${folder}/a`, line, open);
      assertEquals(counts.writes, 2);
    }));

  it("is written again where the file was emptied meanwhile", () =>
    inFolder(async (folder) => {
      let emptied = false;
      const { open } = faulty((file, path) => ({
        async write(bytes) {
          const written = await file.write(bytes);
          if (!emptied) truncateSync(path, 0);
          emptied = true;
          return written;
        },
      }));
      await appendLine(`${folder}/a`, bytes("first\n"), open);
      assertEquals(read(`${folder}/a`), "first\n");
    }));

  it("gives up where others leave torn lines every time, and holds nothing open", () =>
    inFolder(async (folder) => {
      const { open, counts } = faulty((file, path) => ({
        write: (bytes) => (appendFileSync(path, "torn"), file.write(bytes)),
      }));
      await assertRejects(() => appendLine(`${folder}/a`, bytes("mine\n"), open), Error, "torn lines");
      assertEquals(counts, { opened: 1, closed: 1, writes: 3 });
    }));

  it("closes the file whatever fails", () =>
    inFolder(async (folder) => {
      const fail = (): never => {
        throw new Error("input/output error");
      };
      writeFileSync(`${folder}/a`, "x\n");
      for (const part of ["size", "read", "write"] as const) {
        const { open, counts } = faulty(() => ({ [part]: () => Promise.resolve().then(fail) }));
        await assertRejects(() => appendLine(`${folder}/a`, bytes("y\n"), open), Error, "input/output");
        assertEquals(counts.closed, 1);
      }
      await assertRejects(() => appendLine(`${folder}/none/a`, bytes("y\n")));
      assert(read(`${folder}/a`) === "x\n");
    }));
});
