import { describe, it } from "node:test";
import { assertEquals, assertFalse } from "@std/assert";
import { autoCodec } from "../src/codecs.ts";
import { dialects } from "../src/dialects.ts";
import { watchReadTools } from "../src/read_tools.ts";
import { createWaymark } from "../src/waymark.ts";
import { code } from "./support.ts";

/** A watch for `read_file` or other names, and what is said. */
function watching(names: readonly string[] = ["read_file"]) {
  const said: string[] = [];
  const waymark = createWaymark({
    cache: false,
    onNotice: ({ reason, message }) => said.push(`${reason}: ${message}`),
  });
  return { watch: watchReadTools(waymark, { names, dialect: dialects.plain, codec: autoCodec }), said };
}

const MISSING = "invalid-option: Cannot find a read tool to wrap: none of the tools is called read_file; give names";

describe("a watch for read tools", () => {
  it("says once that there is none, in the words of wrapTools", () => {
    const { watch, said } = watching();
    assertEquals([watch.meet("open_file"), watch.settled, said], [false, false, []]);
    watch.close();
    watch.close();
    watch.look({ path: "a.ts" }, code(300));
    assertEquals([watch.settled, said], [true, [MISSING]]);
  });

  it("takes no other tool for one that reads, however long a file's text it gives", () => {
    for (const rest of [{ edits: [] }, { content: "x" }, { pattern: "a" }, { recursive: true }]) {
      const { watch, said } = watching();
      watch.look({ path: "a.ts", ...rest }, code(300));
      assertEquals([watch.settled, said], [false, []]);
    }
    const { watch, said } = watching();
    watch.look({ path: "a.ts", offset: 1, limit: undefined }, code(300));
    assertEquals([watch.settled, said], [true, [MISSING]]);
  });

  it("says nothing once a read tool was met, nor where it looks for none", () => {
    for (const names of [["read_file"], []]) {
      const { watch, said } = watching(names);
      assertEquals(watch.meet("read_file"), names.length > 0);
      watch.close();
      watch.look({ path: "a.ts" }, code(300));
      assertEquals([watch.settled, said], [true, []]);
    }
  });

  it("says it of another tool that has read a long file, and of nothing that only looks like it", () => {
    const others: readonly (readonly [args: unknown, result: unknown])[] = [
      [{ path: "a.ts" }, code(200)],
      [{ path: "src" }, code(300)],
      [{ path: "/" }, code(300)],
      [{ path: "../.." }, code(300)],
      [{ path: ".github" }, code(300)],
      [{ command: "cat a.ts" }, code(300)],
      [{ path: "a.ts" }, { isError: true, content: [{ type: "text", text: code(300) }] }],
      [{ path: "a.ts" }, undefined],
      [undefined, code(300)],
      [{ path: 7 }, code(300)],
    ];
    for (const [args, result] of others) {
      const { watch, said } = watching();
      watch.look(args, result);
      assertEquals([said, watch.settled], [[], false], JSON.stringify(args));
    }
    for (const path of ["a.ts", "/repo/src/a.ts", "C:\\repo\\a.ts", "./a.test.ts"]) {
      const { watch, said } = watching();
      watch.look({ path }, code(201));
      assertEquals(said, [MISSING], path);
    }
  });

  it("throws nothing, whatever the dialect, the codec or a Waymark throws", () => {
    const fail = (): never => {
      throw new Error("boom");
    };
    const sought = { names: ["read_file"], dialect: { ...dialects.plain, parse: fail }, codec: autoCodec };
    const watch = watchReadTools({ wrapTools: fail }, sought);
    watch.look({ path: "a.ts" }, code(300));
    const codec = { ...autoCodec, text: fail };
    const other = watchReadTools({ wrapTools: fail }, { ...sought, dialect: dialects.plain, codec });
    other.look({ path: "a.ts" }, code(300));
    assertFalse(watch.settled || other.settled);
    watch.close();
    assertEquals(watch.settled, true);
  });
});
