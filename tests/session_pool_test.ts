import { assertEquals, assertNotStrictEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { describe, it } from "node:test";
import { WaymarkError } from "../src/errors.ts";
import { sessionPool } from "../src/session_pool.ts";

describe("sessionPool()", () => {
  it("has one conversation for one id, made when it is first asked for", () => {
    const pool = sessionPool();
    assertEquals(pool.size, 0);
    const one = pool.get("one");
    assertEquals([one.id, one.turn, one.untracked], ["one", 0, false]);
    assertStrictEquals(pool.get("one"), one);
    assertNotStrictEquals(pool.get("two"), one);
    assertEquals(pool.size, 2);
  });

  it("makes conversations as it is told to", () => {
    assertEquals(sessionPool({ untracked: true }).get("one").untracked, true);
  });

  it("lets the one unused for longest make room", () => {
    const pool = sessionPool({ max: 2 }), one = pool.get("one"), two = pool.get("two");
    assertStrictEquals(pool.get("one"), one);
    pool.get("three");
    assertEquals(pool.size, 2);
    assertStrictEquals(pool.get("one"), one);
    assertNotStrictEquals(pool.get("two"), two);
  });

  it("has 64 conversations at most where nobody says how many", () => {
    const pool = sessionPool(), first = pool.get("0");
    for (let id = 1; id < 64; id++) pool.get(`${id}`);
    assertStrictEquals(pool.get("0"), first);
    pool.get("64");
    assertEquals(pool.size, 64);
  });

  it("forgets a conversation that ended", () => {
    const pool = sessionPool(), one = pool.get("one");
    pool.delete("one");
    pool.delete("nobody");
    assertEquals(pool.size, 0);
    assertNotStrictEquals(pool.get("one"), one);
  });

  it("begins a conversation with all that is in another one, apart from it", () => {
    const pool = sessionPool(), one = pool.get("one");
    one.nextTurn();
    const two = pool.fork("one", "two");
    assertEquals([two.id, two.turn], ["two", 1]);
    assertStrictEquals(pool.get("two"), two);
    two.nextTurn();
    assertEquals(one.turn, 1);
  });

  it("begins one anew where nothing is known of the other", () => {
    const pool = sessionPool({ untracked: true }), two = pool.fork("nobody", "two");
    assertEquals([two.id, two.turn, two.untracked, pool.size], ["two", 0, true, 1]);
  });

  it("refuses a number of conversations that means nothing", () => {
    for (const max of [0, -1, 1.5, NaN]) assertThrows(() => sessionPool({ max }), WaymarkError, "as max");
  });

  it("is bounded, and keeps those used last, whatever it is asked", () => {
    const asked = fc.record({ act: fc.constantFrom("get", "fork", "delete"), id: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (all, max) => {
        const pool = sessionPool({ max }), used: string[] = [];
        for (const { act, id } of all) {
          const name = `${id}`, at = used.indexOf(name);
          if (at >= 0) used.splice(at, 1);
          if (act === "delete") pool.delete(name);
          else used.push((act === "get" ? pool.get(name) : pool.fork("0", name)).id!);
          if (used.length > max) used.shift();
          assertEquals(pool.size, used.length);
        }
      }),
    );
  });
});
