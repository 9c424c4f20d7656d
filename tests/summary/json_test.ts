import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { readJson } from "../../src/summary/json.ts";

/** What was read as plain values, or "none". */
function read(text: string): unknown {
  const found = readJson(text, 0);
  return found ? { value: structuredClone(plain(found.value)), torn: found.torn, end: found.end } : "none";
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

const whole = (text: string): unknown => (read(text) as { value: unknown }).value;

describe("reading JSON", () => {
  it("reads all that is JSON just as JSON.parse does", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
      const object = { value };
      const text = JSON.stringify(object, undefined, indent);
      const found = readJson(`${text} and more`, 0);
      assert(found && !found.torn);
      assertEquals(found.end, text.length);
      assertEquals(JSON.stringify(found.value), JSON.stringify(JSON.parse(text)));
    }));
  });

  it("stops where the value ends", () => {
    assertEquals(read('{"a":1}{"b":2}'), { value: { a: 1 }, torn: false, end: 7 });
  });

  it("forgives trailing commas", () => {
    assertEquals(whole('{"a":[1,2,],"b":{"c":3,},}'), { a: [1, 2], b: { c: 3 } });
  });

  it("forgives comments", () => {
    assertEquals(whole('{ // the first\n"a": /* one */ 1, /* and\nthe rest */ "b": 2 }'), { a: 1, b: 2 });
  });

  it("forgives single quotes and bare keys", () => {
    assertEquals(whole(`{'a': 'it is "so"', b: 'x', $c_d: 1}`), { a: 'it is "so"', b: "x", $c_d: 1 });
  });

  it("forgives NaN and infinities, and the literals of Python", () => {
    assertEquals(
      whole(
        '{"a":NaN,"b":-Infinity,"c":None,"d":True,"e":False,"f":null,"g":true,"h":false,"i":Infinity,"j":undefined}',
      ),
      {
        a: NaN,
        b: NaN,
        c: null,
        d: true,
        e: false,
        f: null,
        g: true,
        h: false,
        i: NaN,
        j: null,
      },
    );
  });

  it("reads numbers in every form", () => {
    assertEquals(whole('{"a":[1,-2,3.5,.5,+7,1e3,-1.5E-2,12.]}'), { a: [1, -2, 3.5, .5, 7, 1000, -.015, 12] });
  });

  it("reads bare line numbers and ranges as words", () => {
    assertEquals(whole('{"a":12-40,"b":L7}'), { a: "12-40", b: "L7" });
  });

  it("forgives line breaks and needless escapes inside strings", () => {
    assertEquals(whole('{"a":"one\ntwo\\d\\\'\\/\\"\\\\","b":"\\n\\t\\r\\b\\f"}'), {
      a: "one\ntwod'/\"\\",
      b: "\n\t\r\b\f",
    });
  });

  it("reads Unicode escapes, and keeps a broken one as text", () => {
    assertEquals(whole('{"a":"\\u0041\\ud83d\\ude00","b":"\\u12"}'), { a: "A😀", b: "u12" });
  });

  it("gives what there is of a value the text ends in, without the part that was cut", () => {
    for (
      const [text, value] of [
        ['{"a":1,"b":"hal', { a: 1 }],
        ['{"a":1,"b":12', { a: 1 }],
        ['{"a":1,"b":', { a: 1 }],
        ['{"a":1,"b', { a: 1 }],
        ['{"a":1,"b"', { a: 1 }],
        ['{"a":1,', { a: 1 }],
        ['{"a":1', {}],
        ['{"a":{"b":[1,2', { a: { b: [1] } }],
        ['{"a":{"b":[1,2,', { a: { b: [1, 2] } }],
        ['{"a":[{"b":1}', { a: [{ b: 1 }] }],
        ['{"a":"x\\', {}],
        ["{", {}],
      ] as const
    ) {
      const found = readJson(text, 0);
      assert(found?.torn, text);
      assertEquals(plain(found.value), value, text);
    }
  });

  it("reads nothing where there is no value", () => {
    for (
      const text of [
        "{a}",
        "{1 2}",
        '{"a" "b"}',
        "{braces in a sentence}",
        "{'a': it's}",
        '{"a":[1 2]}',
        '{"a":@}',
        "{,}",
        '{"a":bare}',
      ]
    ) {
      assertEquals(read(text), "none", text);
    }
  });

  it("goes no deeper than 32 levels, however deep the text", () => {
    assertEquals(read("[".repeat(100_000)), "none");
    assertEquals(read('{"a":'.repeat(100_000)), "none");
    assert(readJson("[".repeat(30) + "]".repeat(30), 0));
  });

  it("keeps a key named __proto__ a key", () => {
    const found = readJson('{"__proto__":{"polluted":1},"constructor":2}', 0);
    assertEquals(Object.keys(found?.value as object), ["__proto__", "constructor"]);
    assertEquals(({} as Record<string, unknown>).polluted, undefined);
  });

  it("ends at the end of a text that ends in a backslash", () => {
    assertEquals(read('{"a":"x\\'), { value: {}, torn: true, end: 8 });
    assertEquals(read('{"a\\'), { value: {}, torn: true, end: 4 });
  });

  it("never throws, and never ends outside the text", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      '"',
      "'",
      ",",
      ":",
      "\\",
      "\\u",
      "//",
      "/*",
      "*/",
      "1",
      "-",
      "a",
      "\n",
      " ",
      "null",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = "{" + pieces.join("");
        const found = readJson(text, 0);
        assert(!found || (found.end > 0 && found.end <= text.length));
      }),
      { numRuns: 1000 },
    );
  });
});
