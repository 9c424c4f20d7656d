/**
 * What the suite relies on of the five JSR packages. Runs against the stand-ins and, where JSR or checkouts are at hand,
 * against the real ones: both must pass.
 *
 * @module
 */

import { describe, it } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import posix from "node:path/posix";
import {
  assert,
  assertAlmostEquals,
  assertArrayIncludes,
  assertEquals,
  AssertionError,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
  fail,
} from "@std/assert";
import { crypto as stdCrypto } from "@std/crypto/crypto";
import { basename } from "@std/path/posix/basename";
import { dirname } from "@std/path/posix/dirname";
import { extname } from "@std/path/posix/extname";
import { globToRegExp } from "@std/path/posix/glob-to-regexp";
import { isAbsolute } from "@std/path/posix/is-absolute";
import { join } from "@std/path/posix/join";
import { normalize } from "@std/path/posix/normalize";
import { relative } from "@std/path/posix/relative";
import { resolve } from "@std/path/posix/resolve";
import { toBytes } from "@std/streams/to-bytes";
import { toText } from "@std/streams/to-text";
import { TextLineStream } from "@std/streams/text-line-stream";
import fc from "fast-check";

const path = fc.array(fc.constantFrom("/", ".", "..", "a", "b.ts", "c d", ".hidden", "x.tar.gz"), { maxLength: 8 })
  // Doubled slashes are read differently by each of them: not compared.
  .map((parts) => parts.join("").replace(/\/+/g, "/"));

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

describe("assertions", () => {
  const equal: [unknown, unknown][] = [
    [{ a: [1, { b: "c" }] }, { a: [1, { b: "c" }] }],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    [NaN, NaN],
    [0, -0],
    [new Map([[{ k: 1 }, new Set([1, 2])]]), new Map([[{ k: 1 }, new Set([2, 1])]])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
    [new Date(5), new Date(5)],
    [/a/g, /a/g],
  ];
  const unequal: [unknown, unknown][] = [
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: undefined }, {}],
    [[1, 2], [2, 1]],
    [[1], [1, undefined]],
    [new Map([["a", 1]]), new Map([["a", 2]])],
    [new Set([1]), new Set([2])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    [new Date(5), new Date(6)],
    [/a/g, /a/i],
    [new Error("one"), new Error("other")],
    ["1", 1],
    [null, undefined],
  ];

  it("calls equal what is deeply equal", () => {
    for (const [left, right] of equal) {
      assertEquals(left, right);
      assertThrows(() => assertNotEquals(left, right), AssertionError);
    }
  });

  it("calls unequal what differs anywhere", () => {
    for (const [left, right] of unequal) {
      assertNotEquals(left, right);
      assertThrows(() => assertEquals(left, right), AssertionError);
    }
  });

  it("matches an object by the parts that are named", () => {
    assertObjectMatch({ a: 1, b: { c: [{ d: 1, e: 2 }] } }, { b: { c: [{ d: 1 }] } });
    assertThrows(() => assertObjectMatch({ a: 1 }, { a: 2 }), AssertionError);
    assertThrows(() => assertObjectMatch({ a: 1 }, { b: 1 }), AssertionError);
    assertThrows(() => assertObjectMatch({ list: [1] }, { list: [1, 2] }), AssertionError);
  });

  it("tells the error that was thrown from another", async () => {
    assertEquals(assertThrows(() => fail("here"), AssertionError, "here").message.includes("here"), true);
    assertThrows(() => assertThrows(() => {}), AssertionError);
    assertThrows(() => assertThrows(() => fail("here"), TypeError), AssertionError);
    assertThrows(() => assertThrows(() => fail("here"), AssertionError, "there"), AssertionError);
    const refused = await assertRejects(() => Promise.reject(new TypeError("no")), TypeError, "no");
    assertEquals(refused.message, "no");
    await assertRejects(() => assertRejects(() => Promise.resolve(1)), AssertionError);
    await assertRejects(() => assertRejects(() => Promise.reject(new Error("no")), TypeError), AssertionError);
  });

  it("compares numbers, identity and membership", () => {
    assertAlmostEquals(0.1 + 0.2, 0.3);
    assertThrows(() => assertAlmostEquals(1, 1.1, 0.01), AssertionError);
    assertThrows(() => assertStrictEquals({}, {}), AssertionError);
    assertThrows(() => assertStrictEquals<unknown>(0, -0), AssertionError);
    assertArrayIncludes([{ a: 1 }, { b: 2 }], [{ b: 2 }]);
    assertThrows(() => assertArrayIncludes([1], [2]), AssertionError);
  });
});

describe("posix paths", () => {
  it("agree with node:path for any path", () => {
    fc.assert(fc.property(path, path, (one, other) => {
      assertEquals(normalize(one), posix.normalize(one));
      assertEquals(join(one, other), posix.join(one, other));
      assertEquals(resolve("/root", one, other), posix.resolve("/root", one, other));
      assertEquals(relative(`/r/${one}`, `/r/${other}`), posix.relative(`/r/${one}`, `/r/${other}`));
      assertEquals(dirname(one), posix.dirname(one));
      assertEquals(isAbsolute(one), posix.isAbsolute(one));
      if (one !== "/") assertEquals(basename(one), posix.basename(one));
      assertEquals(extname(one), posix.extname(one));
    }));
  });

  it("match globs over whole paths", () => {
    const cases: [string, string, boolean][] = [
      ["**/*.ts", "a.ts", true],
      ["**/*.ts", "src/deep/a.ts", true],
      ["src/**", "src/a/b.ts", true],
      ["src/**/b.ts", "src/b.ts", true],
      ["*.ts", "src/a.ts", false],
      ["src/*.{ts,js}", "src/a.js", true],
      ["src/*.{ts,js}", "src/a.css", false],
      ["file?.md", "file1.md", true],
      ["[a-c].ts", "b.ts", true],
      ["[!a-c].ts", "b.ts", false],
      ["a.b", "axb", false],
      ["a\\*b", "a*b", true],
      ["a\\*b", "axb", false],
      ["", "", false],
    ];
    for (const [glob, name, matches] of cases) {
      assertEquals(globToRegExp(glob).test(name), matches, `${glob} on ${name}`);
    }
    assert(globToRegExp("*.TS", { caseInsensitive: true }).test("a.ts"));
  });
});

describe("digests", () => {
  it("of chunks equal the digest of the whole", async () => {
    const whole = new TextEncoder().encode("one two three");
    const sum = hex(await crypto.subtle.digest("SHA-256", whole));
    assertEquals(hex(await stdCrypto.subtle.digest("SHA-256", whole)), sum);
    async function* chunks() {
      for (let at = 0; at < whole.length; at += 5) yield await Promise.resolve(whole.slice(at, at + 5));
    }
    assertEquals(hex(await stdCrypto.subtle.digest("SHA-256", chunks())), sum);
    assertEquals(stdCrypto.randomUUID().length, 36);
  });
});

describe("streams", () => {
  it("split text into lines across chunks", async () => {
    const lines = async (chunks: string[], allowCR = false) => {
      const found: string[] = [];
      const stream = ReadableStream.from(chunks).pipeThrough(new TextLineStream({ allowCR }));
      for await (const line of stream) found.push(line);
      return found;
    };
    assertEquals(await lines(["a\nb", "c\r", "\nd\n"]), ["a", "bc", "d"]);
    assertEquals(await lines(["a\rb\n\nc"]), ["a\rb", "", "c"]);
    assertEquals(await lines(["a\rb\r", "\nc"], true), ["a", "b", "c"]);
  });

  it("gather text and bytes", async () => {
    const bytes = new TextEncoder().encode("né");
    assertEquals(await toText(ReadableStream.from([bytes.slice(0, 2), bytes.slice(2)])), "né");
    assertEquals(await toBytes(ReadableStream.from([bytes.slice(0, 2), bytes.slice(2)])), bytes);
  });
});

describe("@db/sqlite", { skip: "Deno" in globalThis ? false : "runs on Deno only" }, () => {
  it("has the traps a driver must avoid", async () => {
    const { Database } = await import("@db/sqlite");
    const folder = mkdtempSync(`${tmpdir()}/waymark-`);
    try {
      const create = "create table t(n integer, j text, s text)";
      const plain = new Database(`${folder}/plain.db`);
      plain.exec(create);
      plain.prepare("insert into t values(?, json_object('a', 1), ?)").run(1_700_000_000_123, "");
      assertEquals(plain.prepare("select n, json(j) j, s from t").get(), { n: -807_049_093, j: { a: 1 }, s: "" });
      assertEquals(plain.prepare("select n from t where n = ?").get(0), undefined);
      assertEquals(plain.prepare("select n from t").all().length, 1);
      assertEquals(plain.prepare("update t set s = 'x'").run(), 1);
      plain.close();
      plain.close();

      const right = new Database(`${folder}/plain.db`, { int64: true, parseJson: false });
      assertEquals(right.prepare("select n, json(j) j from t").get(), { n: 1_700_000_000_123, j: '{"a":1}' });
      const statement = right.prepare("select 1 as one");
      assertEquals(statement.get(), { one: 1 });
      statement.finalize();
      assertThrows(() => right.exec("select from"), Error, "syntax error");
      right.close();
      assertThrows(() => new Database(`${folder}/missing.db`, { create: false }));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
