/** Places for the calls of a session. */

import { describe, it } from "node:test";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type AppendFile, openAppend } from "../../src/tool_use/append_line.ts";
import { takePlace } from "../../src/tool_use/call_places.ts";
import { inFolder } from "../support.ts";

describe("a place for a call", () => {
  it("is the first in a file that is made for it, this user's alone, and then the next", () =>
    inFolder(async (root) => {
      const file = join(root, "s.calls");
      for (const place of [1, 2, 3]) assertEquals(await takePlace(file), place);
      assertEquals(readFileSync(file, "utf8").match(/^[0-9a-f]{16}\n/gm)?.length, 3);
      if (process.platform !== "win32") assertEquals(statSync(file).mode & 0o777, 0o600);
    }));

  it("is nobody else's, however many are taken at once", () =>
    inFolder(async (root) => {
      const places = await Promise.all(Array.from({ length: 100 }, () => takePlace(join(root, "s.calls"))));
      assertEquals(places.toSorted((a, b) => a - b), Array.from({ length: 100 }, (_, at) => at + 1));
    }));

  it("counts a torn one before it as one", () =>
    inFolder(async (root) => {
      const file = join(root, "s.calls");
      await takePlace(file);
      appendFileSync(file, "0123");
      assertEquals([await takePlace(file), await takePlace(file)], [3, 4]);
    }));

  it("is the last one where its own is not to be seen, so that no call is made too many", () =>
    inFolder(async (root) => {
      const blind = async (path: string): Promise<AppendFile> => ({
        ...await openAppend(path),
        read: () => Promise.resolve(0),
      });
      const file = join(root, "s.calls"), others = Promise.all([takePlace(file), takePlace(file)]);
      assert(await takePlace(file, blind) >= 1);
      await others;
      assertEquals(await takePlace(file, blind), 4);
    }));

  it("is not had where the disk takes a part of it", () =>
    inFolder(async (root) => {
      const half = async (path: string): Promise<AppendFile> => {
        const file = await openAppend(path);
        return { ...file, write: (bytes) => file.write(bytes.subarray(0, 8)) };
      };
      const file = join(root, "s.calls");
      await assertRejects(() => takePlace(file, half), Error, "took 8 of 17 bytes");
      assertEquals(await takePlace(file), 2);
    }));
});
