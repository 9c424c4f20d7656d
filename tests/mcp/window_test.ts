import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { readWindow, type WindowBounds } from "../../src/mcp/window.ts";

/** A file in memory that is read in pieces of at most so many bytes. */
function source(text: string | Uint8Array, most = Infinity) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  let at = 0;
  return {
    get at() {
      return at;
    },
    read(buffer: Uint8Array, offset: number, length: number) {
      const piece = bytes.subarray(at, at + Math.min(length, most));
      buffer.set(piece, offset);
      at += piece.length;
      return Promise.resolve({ bytesRead: piece.length });
    },
  };
}

const all: WindowBounds = { start: 1, count: Infinity, maxBytes: 1 << 20 };

async function textOf(text: string | Uint8Array, bounds: Partial<WindowBounds> = {}, most?: number) {
  const { bytes, head: _, ...facts } = await readWindow(source(text, most), { ...all, ...bounds });
  return { text: new TextDecoder().decode(bytes), ...facts };
}

/** Lines with their endings, split the plain way. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

describe("readWindow()", () => {
  it("gives the lines that splitting the whole text gives, in whatever pieces it comes", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom("a", "é", "\n", "\r", "\u2028", "🙂"), maxLength: 12 }), {
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 12 }),
        fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(Infinity)),
        fc.integer({ min: 1, max: 9 }),
        async (parts, start, count, most) => {
          const text = parts.join(""), lines = linesOf(text), wanted = lines.slice(start - 1, start - 1 + count);
          const found = await textOf(text, { start, count }, most);
          assertEquals(found.text, wanted.join(""));
          assertEquals(found.lines, wanted.length);
          assertEquals(found.cut, undefined);
          if (found.total !== undefined) assertEquals(found.total, lines.length);
          else assert(start - 1 + count <= lines.length); // only where the end was not needed
        },
      ),
    ));

  it("gives whole lines up to so many bytes, and of a first line that is longer its beginning, in whole characters", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom("a", "é", "🙂"), maxLength: 9 }), { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 4, max: 30 }),
        fc.integer({ min: 1, max: 7 }),
        async (parts, maxBytes, most) => {
          const text = parts.join("\n"), found = await textOf(text, { maxBytes }, most);
          assert(new TextEncoder().encode(found.text).length <= maxBytes);
          assert(text.startsWith(found.text));
          assertEquals(found.lines, linesOf(found.text).length);
          if (found.cut === undefined) assertEquals(found.text, text);
          else if (found.cut === "lines") assert(found.text.endsWith("\n"));
          else assert(found.text.length > 0 && !found.text.includes("\n"));
          const next = linesOf(text)[found.cut === "lines" ? found.lines : 0] ?? "";
          if (found.cut) assert(new TextEncoder().encode(found.text + next).length > maxBytes); // no more would have fitted
        },
      ),
    ));

  it("knows how many lines there are only where it saw the end", async () => {
    assertEquals(await textOf(""), { text: "", lines: 0, total: 0 });
    assertEquals(await textOf("\n"), { text: "\n", lines: 1, total: 1 });
    assertEquals(await textOf("a\nb", { start: 2 }), { text: "b", lines: 1, total: 2 });
    assertEquals(await textOf("a\nb\n", { start: 2, count: 1 }), { text: "b\n", lines: 1 });
    assertEquals(await textOf("a\nb\n", { start: 3 }), { text: "", lines: 0, total: 2 });
    assertEquals(await textOf("a\nb\n", { start: 9, count: 2 }), { text: "", lines: 0, total: 2 });
  });

  it("reads no further than it must", async () => {
    const file = source("line\n".repeat(1_000_000), 5000);
    await readWindow(file, { ...all, start: 10, count: 5 });
    assertEquals(file.at, 5000);
    const long = source("x".repeat(5_000_000), 5000);
    assertEquals((await readWindow(long, { ...all, maxBytes: 10_000 })).cut, "line");
    assertEquals(long.at, 15_000);
  });

  it("shows the file's first bytes, wherever the lines are", async () => {
    const { head } = await readWindow(source(`\0${"a\n".repeat(9000)}`), { ...all, start: 5000, count: 1 });
    assertEquals([head.length, head[0]], [8000, 0]);
  });

  it("reads nothing more of a file that by its first bytes is not wanted", async () => {
    const file = source("\0".repeat(100_000), 5000), heads: number[] = [];
    const refuses = (head: Uint8Array) => (heads.push(head.length), head[0] === 0);
    const { bytes, lines, head } = await readWindow(file, { ...all, start: 2, refuses });
    assertEquals([bytes.length, lines, head.length, file.at, heads], [0, 0, 5000, 5000, [5000]]);
    assertEquals((await readWindow(source("a\nb"), { ...all, refuses })).lines, 2);
  });

  it("ends when it is given up", async () => {
    const abort = new AbortController();
    let reads = 0;
    const endless = {
      read(buffer: Uint8Array) {
        if (++reads === 3) abort.abort(new Error("enough"));
        buffer.fill(97);
        return Promise.resolve({ bytesRead: buffer.length });
      },
    };
    await assertRejects(() => readWindow(endless, { ...all, start: 2, signal: abort.signal }), Error, "enough");
    assertEquals(reads, 3);
  });
});
