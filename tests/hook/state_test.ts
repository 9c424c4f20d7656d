import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { openState } from "../../src/hook/state.ts";
import { inFolder } from "../support.ts";

const namesIn = (root: string): string[] => readdirSync(join(root, ".summaries/hook"));

describe("what a hook leaves", () => {
  it("is taken once, by whoever comes first", async () => {
    await inFolder(async (root) => {
      const state = openState(root, "s");
      assert(await state.put("call", "text"));
      const taken = await Promise.all([1, 2, 3, 4].map(() => openState(root, "s").take("call")));
      assertEquals(taken.filter((text) => text !== undefined), ["text"]);
      assertEquals(namesIn(root), []);
    });
  });

  it("is the last that was put under a name, of one conversation and no other", async () => {
    await inFolder(async (root) => {
      const one = openState(root, "one"), other = openState(`${root}/`, "other");
      for (const text of ["a", "b"]) assert(await one.put("call", text));
      assert(await other.put("call", "c"));
      assertEquals([await one.take("call"), await one.take("call"), await other.take("call")], ["b", undefined, "c"]);
    });
  });

  it("is private, and its name tells nothing and leads nowhere", async () => {
    await inFolder(async (root) => {
      const state = openState(root, "../../etc");
      assert(await state.put("../../../passwd\0\n", "text"));
      const [name] = namesIn(root);
      assert(/^[0-9a-f]{24}-[0-9a-f]{24}\.json$/.test(name!));
      assertEquals(statSync(join(root, ".summaries/hook", name!)).mode & 0o777, 0o600);
      assertEquals(statSync(join(root, ".summaries/hook")).mode & 0o777, 0o700);
      assertEquals(statSync(join(root, ".summaries")).mode & 0o777, 0o700);
      assertEquals(await state.path("../../../passwd\0\n"), join(root, ".summaries/hook", name!));
    });
  });

  it("tells its age, and none where it is not there", async () => {
    await inFolder(async (root) => {
      const state = openState(root, "s");
      assertEquals(await state.age("call"), undefined);
      await state.put("call", "text");
      utimesSync(await state.path("call"), Date.now() / 1000 - 100, Date.now() / 1000 - 100);
      const age = (await state.age("call"))!;
      assert(age >= 99_000 && age < 1e6);
      utimesSync(await state.path("call"), Date.now() / 1000 + 100, Date.now() / 1000 + 100);
      assert((await state.age("call"))! >= 99_000); // written when the clock was wrong
    });
  });

  it("is not kept where the folder is a link or a file, and nothing is taken from there", async () => {
    await inFolder(async (root) => {
      await inFolder(async (elsewhere) => {
        mkdirSync(join(root, ".summaries"), { mode: 0o700 });
        symlinkSync(elsewhere, join(root, ".summaries/hook"));
        const state = openState(root, "s");
        assertEquals(await state.put("call", "text"), false);
        writeFileSync(await state.path("call"), "forged");
        assertEquals(await state.take("call"), undefined);
        await state.sweep("own");
        assertEquals(readdirSync(elsewhere).length, 1);
      });
    });
    await inFolder(async (root) => {
      writeFileSync(join(root, ".summaries"), "");
      assertEquals(await openState(root, "s").put("call", "text"), false);
      assertEquals(await openState(root, "s").take("call"), undefined);
    });
  });

  it("is made nowhere by looking for it or sweeping it", async () => {
    await inFolder(async (root) => {
      const state = openState(root, "s");
      await state.take("call");
      await state.age("call");
      await state.sweep("own");
      await state.sweep("old");
      assertEquals(existsSync(join(root, ".summaries")), false);
    });
  });

  it("of one session goes with it, but for words; what is a week old goes with any, and files of others stay", async () => {
    await inFolder(async (root) => {
      const one = openState(root, "one"), other = openState(root, "other");
      await one.put("a", "text");
      await one.put("b", "text", "txt");
      await other.put("a", "text");
      const stranger = join(root, ".summaries/hook/notes.json");
      writeFileSync(stranger, "");
      utimesSync(stranger, 1, 1);
      await one.sweep("own");
      assertEquals(namesIn(root).length, 3);
      await one.sweep("old");
      assertEquals(namesIn(root).length, 3);
      for (const path of [await other.path("a"), await one.path("b", "txt")]) utimesSync(path, 1, 1);
      await one.sweep("old");
      assertEquals(namesIn(root), ["notes.json"]);
    });
  });

  it("that was private becomes so again", async () => {
    await inFolder(async (root) => {
      mkdirSync(join(root, ".summaries"));
      chmodSync(join(root, ".summaries"), 0o755);
      assert(await openState(root, "s").put("call", "text"));
      assertEquals(statSync(join(root, ".summaries")).mode & 0o777, 0o700);
    });
  });
});
