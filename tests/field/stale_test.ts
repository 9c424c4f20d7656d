/** The whole guard on files that change: nothing but the bytes decides. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  linkSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { scriptedModel, trueMap } from "../../src/testing.ts";
import { createSession, fieldsCodec, type Session } from "../../mod.ts";
import { code, inFolder, put } from "../support.ts";
import {
  answerOf,
  assertCapped,
  contentOf,
  entriesIn,
  type Guarded,
  guarding,
  guardingIn,
  LIMIT,
  rowsOf,
  run,
} from "./field.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("bytes that changed where size and times did not", () => {
  it(
    "are seen at the next read, however fast they follow each other",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model, waymark }) => {
        const path = put(folder, "a.ts", code(300)), { atime, mtime } = statSync(path);
        for (let round = 0; round < 30; round++) {
          const text = code(300).replace("f250(", `${String.fromCharCode(97 + round % 26)}250(`);
          writeFileSync(path, text);
          utimesSync(path, atime, mtime);
          assertEquals(statSync(path).size, code(300).length);
          if (round > 0) assertEquals((await waymark.lookup(path, 250)).status, "stale");
          const result = await read({ path: "a.ts" });
          assertCapped(result, text);
          assertStringIncludes(result, `function  ${String.fromCharCode(97 + round % 26)}250`);
        }
        assertEquals(model.calls.length, 30); // 26 texts, of which the newest four are kept
      }),
  );

  const restored: Record<string, (path: string, text: string) => void> = {
    "touch -r": (path, text) => {
      execFileSync("touch", ["-r", path, `${path}.stamp`]);
      writeFileSync(path, text);
      execFileSync("touch", ["-r", `${path}.stamp`, path]);
    },
    "cp -p": (path, text) => {
      writeFileSync(`${path}.new`, text);
      execFileSync("touch", ["-r", path, `${path}.new`]);
      execFileSync("cp", ["-p", `${path}.new`, path]);
    },
    "a rename over it": (path, text) => {
      writeFileSync(`${path}.new`, text);
      execFileSync("touch", ["-r", path, `${path}.new`]);
      renameSync(`${path}.new`, path);
    },
  };
  for (const [how, replace] of Object.entries(restored)) {
    it(`are seen after ${how}, in this process and the next`, LIMIT, () =>
      inFolder(async (folder) => {
        const path = put(folder, "a.ts", code(300)),
          text = code(300).replace("f250(", "g250("),
          { mtimeMs } = statSync(path);
        await guardingIn(folder, async ({ read }) => assertCapped(await read({ path: "a.ts" }), code(300)));
        await guardingIn(folder, async ({ read }) => {
          assertCapped(await read({ path: "a.ts" }), code(300));
          replace(path, text);
          assertEquals(Math.trunc(statSync(path).mtimeMs), Math.trunc(mtimeMs));
          assertCapped(await read({ path: "a.ts" }), text);
          replace(path, code(300));
        });
        await guardingIn(folder, async ({ read, model }) => {
          assertCapped(await read({ path: "a.ts" }), code(300));
          assertEquals(model.calls.length, 0);
        });
      }));
  }

  it(
    "decide alone: times of 1970, of 2099 and ten minutes ahead cost nothing and hide nothing",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const path = put(folder, "a.ts", code(300)), ahead = Date.now() / 1000 + 600;
        for (const time of [0, 4_070_908_800, ahead, 1]) {
          utimesSync(path, time, time);
          assertCapped(await read({ path: "a.ts" }), code(300));
        }
        assertEquals(model.calls.length, 1);
        writeFileSync(path, code(300).replace("f1(", "g1("));
        utimesSync(path, ahead, ahead);
        assertCapped(await read({ path: "a.ts" }), code(300).replace("f1(", "g1("));
        assertEquals(model.calls.length, 2);
      }),
  );

  it("are seen far behind the lines that are shown", LIMIT, () =>
    guarding(async ({ folder, read, model }) => {
      put(folder, "a.ts", code(900));
      const before = await read({ path: "a.ts" });
      put(folder, "a.ts", code(900).replace("f850(", "g850("));
      const after = await read({ path: "a.ts" });
      assertEquals([contentOf(before) === contentOf(after), model.calls.length], [true, 2]);
      assertCapped(after, code(900).replace("f850(", "g850("));
      assertEquals(rowsOf(before).some(({ name }) => name === "g850"), false);
    }));
});

describe("a file edited between the hash and the read", () => {
  const edited = `// a new first line\n${code(320)}`;

  it(
    "gets what the tool read, without the map of what it was; the map kept is that of the bytes hashed",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const model = scriptedModel((request, index) => {
          if (index === 0) put(folder, "a.ts", edited); // while the model is at it
          return trueMap(request);
        });
        await guardingIn(folder, async ({ read, calls, events }) => {
          put(folder, "a.ts", code(300));
          const result = await read({ path: "a.ts" });
          assertEquals(contentOf(result), edited);
          assertEquals([rowsOf(result), result.includes("the lines returned are not those of the file")], [[], true]);
          assertEquals(calls, [{ path: "a.ts", limit: 200 }, { path: "a.ts" }]);
          assertEquals(events.flatMap((event) => event.type === "failure" ? [event.reason] : []), ["changed"]);
          assertCapped(await read({ path: "a.ts" }), edited);
          put(folder, "a.ts", code(300));
          assertCapped(await read({ path: "a.ts" }), code(300));
          assertEquals(model.calls.length, 2);
        }, { model });
        assertEquals(entriesIn(folder).map(({ hash, lines }) => [hash, lines]), [[sha256(code(300)), 300], [
          sha256(edited),
          321,
        ]]);
      }),
  );

  it(
    "is seen to be by its last line shown, grown at its end, and by blank lines that are not all",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        const longer = code(300).replace("return a + 200; }", "return a + 200; } // more");
        const blank = `${"\n".repeat(220)}${code(300)}`, first = `x${blank}`;
        for (const [here, there] of [[code(300), longer], [blank, first], [first, blank]] as const) {
          put(folder, "a.ts", here);
          const result = await wrap(({ limit }: { limit?: number }) => there.split(/(?<=\n)/).slice(0, limit).join(""))(
            { path: "a.ts" },
          );
          assertEquals([contentOf(result), rowsOf(result)], [there, []]);
        }
      }),
  );

  it(
    "gets no map either where the tool still has the text from before",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap }) => {
        put(folder, "a.ts", edited);
        const before = wrap(({ limit }: { limit?: number }) => code(300).split(/(?<=\n)/).slice(0, limit).join(""));
        const result = await before({ path: "a.ts" });
        assertEquals([contentOf(result), rowsOf(result)], [code(300), []]);
      }),
  );

  it(
    "of more than a megabyte, too: what is kept is the map of the bytes the model saw",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const before = code(30_000), after = `// a new first line\n${code(31_000)}`, seen: string[] = [];
        const model = scriptedModel((request, index) => {
          if (index === 0) put(folder, "a.ts", after);
          seen.push(/The file has (\d+) lines/.exec(request.messages[0]!.content)![1]!);
          return trueMap(request);
        });
        await guardingIn(folder, async ({ read }) => {
          put(folder, "a.ts", before);
          const result = await read({ path: "a.ts" });
          assertEquals([contentOf(result) === after, rowsOf(result)], [true, []]);
          assertCapped(await read({ path: "a.ts" }), after);
          put(folder, "a.ts", before);
          assertCapped(await read({ path: "a.ts" }), before);
        }, { model });
        assertEquals(seen, ["30000", "31001"]);
        assertEquals(entriesIn(folder).map(({ hash }) => hash), [sha256(before), sha256(after)]);
      }),
  );

  it(
    "never gets the map of other lines than are shown, however often it is rewritten meanwhile",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const version = (index: number) => code(300).replaceAll("function f", `function v${index}_`);
        put(folder, "a.ts", version(0));
        const writer = put(
          folder,
          "writer.mjs",
          `
        import { existsSync, renameSync, writeFileSync } from "node:fs";
        const text = (index) => ${JSON.stringify(code(300))}.replaceAll("function f", "function v" + index + "_");
        for (let index = 1; !existsSync("stop") && index < 100000; index++) {
          if (index % 2) writeFileSync("a.ts", text(index % 9));
          else writeFileSync("new.ts", text(index % 9)), renameSync("new.ts", "a.ts");
          if (index % 5 === 0) await new Promise((resolve) => setTimeout(resolve, index % 250 ? 3 : 200));
        }`,
        );
        const writing = run(writer, { cwd: folder });
        const seen = new Set<string>();
        try {
          await guardingIn(folder, async ({ read, waymark }) => {
            for (let times = 0; times < 400 || !waymark.stats().caps; times++) {
              const result = await read({ path: "a.ts" }), rows = rowsOf(result);
              const versions = new Set(contentOf(result).match(/(?<=function )v\d_/g));
              for (const { name } of rows) {
                assert([...versions].every((shown) => name.startsWith(shown)), `${name} beside ${[...versions]}`);
              }
              if (rows.length) {
                assertEquals(versions.size, 1);
              }
              for (const shown of versions) seen.add(shown);
            }
          });
        } finally {
          put(folder, "stop", "");
          assertEquals((await writing).code, 0);
        }
        assert(seen.size > 1, "the file did change meanwhile");
      }),
  );
});

describe("a file that a formatter rewrites after an edit", () => {
  it(
    "is shown and mapped as it is at each read",
    LIMIT,
    () =>
      inFolder((folder) =>
        guardingIn(folder, async ({ read, notices }) => {
          const path = put(folder, "a.ts", code(300)),
            edit = code(300).replace("f10(", "g10("),
            formatted = edit.replaceAll("{ return", "{\n  return");
          put(folder, "to_be.ts", formatted);
          const formatter = put(
            folder,
            "formatter.mjs",
            `
          import { copyFileSync, existsSync } from "node:fs";
          while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 5));
          copyFileSync("to_be.ts", "a.ts");
          console.log("true");`,
          );
          assertCapped(await read({ path: "a.ts" }), code(300));
          const formatting = run(formatter, { cwd: folder });
          writeFileSync(path, edit);
          assertCapped(await read({ path: "a.ts" }), edit);
          put(folder, "go", "");
          assertEquals(answerOf(await formatting), true);
          assertCapped(await read({ path: "a.ts" }), formatted);
          assertEquals(readFileSync(path, "utf8"), formatted);
          assertEquals(notices, []);
        })
      ),
  );
});

describe("one content under two names", () => {
  it(
    "of one kind shares a map, of two kinds does not; each result speaks of the file that was asked for",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, waymark }) => {
        for (const name of ["a.ts", "copy.ts", "b.py"]) put(folder, name, `class Shape:\n${code(300)}`);
        const read = wrap(
          ({ path, limit }) => readFileSync(join(folder, path), "utf8").split(/(?<=\n)/).slice(0, limit).join(""),
          { codec: fieldsCodec },
        );
        for (
          const [path, language, misses] of [["a.ts", "TypeScript", 1], ["copy.ts", "TypeScript", 1], [
            "b.py",
            "Python",
            2,
          ], ["a.ts", "TypeScript", 2]] as const
        ) {
          const { annotation } = await read({ path });
          assertEquals(annotation.path, path);
          assertStringIncludes(annotation.text, `${language}, 301 lines`);
          assertEquals(waymark.stats().misses, misses);
          for (const other of ["a.ts", "copy.ts", "b.py"]) assertEquals(annotation.text.includes(other), false);
        }
      }, { model: undefined }),
  );

  it("is another content where only the head is alike", LIMIT, () =>
    guarding(async ({ folder, read, model }) => {
      const license = "// Permission is granted, free of charge.\n".repeat(220);
      for (const name of ["a.ts", "b.ts"]) {
        put(folder, name, `${license}export function only_in_${name[0]}() {}\n${code(20)}`);
      }
      for (const name of ["a.ts", "b.ts"]) {
        const result = await read({ path: name });
        assertEquals(contentOf(result), license.split("\n").slice(0, 200).join("\n") + "\n");
        assertStringIncludes(result, `only_in_${name[0]}`);
        assertEquals(result.includes(`only_in_${name === "a.ts" ? "b" : "a"}`), false);
      }
      assertEquals(model.calls.length, 2);
    }));
});

describe("a file put together while it is read", () => {
  it(
    "is hashed as the one buffer that was read: what it grows by meanwhile is another content",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const grown = `${code(300)}\n// and more\n${code(50)}`;
        const model = scriptedModel((request, index) => {
          if (index === 0) writeFileSync(join(folder, "a.ts"), grown);
          return trueMap(request);
        });
        await guardingIn(folder, async ({ read }) => {
          put(folder, "a.ts", code(300));
          assertStringIncludes(await read({ path: "a.ts" }), "lines 1-200 of 300"); // its first 200 lines are those still
          assertCapped(await read({ path: "a.ts" }), grown);
        }, { model });
        assertEquals(entriesIn(folder).map(({ hash }) => hash), [sha256(code(300)), sha256(grown)]);
      }),
  );
});

describe("a conversation about files that change", () => {
  const isUnchanged = (result: string): boolean => result.startsWith("[waymark reference: ");
  /** Reads in turns of one conversation. */
  const conversing = (
    action: (guarded: Guarded & { readonly session: Session; turn(): void }) => Promise<void>,
  ): Promise<void> => {
    const session = createSession();
    const turn = () => void Array.from({ length: 3 }, () => session.nextTurn()); // so that nobody insists
    return guarding((guarded) => action({ ...guarded, session, turn }), { session });
  };

  it(
    "is never told of one that it is unchanged, where size and times are and bytes are not",
    LIMIT,
    () =>
      conversing(async ({ folder, read, turn }) => {
        const path = put(folder, "a.ts", code(100)), { atime, mtime } = statSync(path);
        for (let round = 0; round < 30; round++) {
          const text = code(100).replace("f50(", `${String.fromCharCode(97 + round % 26)}50(`);
          writeFileSync(path, text);
          utimesSync(path, atime, mtime);
          turn();
          const result = await read({ path: "a.ts" });
          // Round 26 brings back what round 0 showed.
          assertEquals(isUnchanged(result), round >= 26);
          if (round < 26) assertEquals(result, text);
          turn();
          assert(isUnchanged(await read({ path: "a.ts" })));
        }
      }),
  );

  for (
    const [how, replace] of Object.entries({
      "touch -r": (path: string, text: string) => {
        execFileSync("touch", ["-r", path, `${path}.stamp`]);
        writeFileSync(path, text);
        execFileSync("touch", ["-r", `${path}.stamp`, path]);
      },
      "cp -p": (path: string, text: string) => {
        writeFileSync(`${path}.new`, text);
        execFileSync("touch", ["-r", path, `${path}.new`]);
        execFileSync("cp", ["-p", `${path}.new`, path]);
      },
    })
  ) {
    it(`is shown one replaced by ${how}`, LIMIT, () =>
      conversing(async ({ folder, read, turn }) => {
        const path = put(folder, "a.ts", code(100)),
          text = code(100).replace("f50(", "g50("),
          { mtimeMs } = statSync(path);
        turn();
        await read({ path: "a.ts" });
        replace(path, text);
        assertEquals(Math.trunc(statSync(path).mtimeMs), Math.trunc(mtimeMs));
        turn();
        assertEquals(await read({ path: "a.ts", limit: 60 }), text.split(/(?<=\n)/).slice(0, 60).join(""));
      }));
  }

  it(
    "takes no time for a change: of 1970, of 2099, ten minutes ahead",
    LIMIT,
    () =>
      conversing(async ({ folder, read, turn, calls }) => {
        const path = put(folder, "a.ts", code(100));
        turn();
        await read({ path: "a.ts" });
        for (const time of [0, 4_070_908_800, Date.now() / 1000 + 600, 1]) {
          utimesSync(path, time, time);
          turn();
          assert(isUnchanged(await read({ path: "a.ts" })));
        }
        assertEquals(calls.length, 1);
      }),
  );

  it(
    "is told of a change far behind the lines it was shown: they come again, with the new map",
    LIMIT,
    () =>
      conversing(async ({ folder, read, turn }) => {
        put(folder, "a.ts", code(900));
        turn();
        assertCapped(await read({ path: "a.ts" }), code(900));
        const text = code(900).replace("f850(", "g850(");
        put(folder, "a.ts", text);
        turn();
        assertCapped(await read({ path: "a.ts" }), text);
        turn();
        assert(isUnchanged(await read({ path: "a.ts" })));
      }),
  );

  it(
    "is not told that it has what a tool read at another moment than the guard: in either order",
    LIMIT,
    () =>
      conversing(async ({ folder, wrap, session, turn }) => {
        const [one, two] = [code(100), code(100).replace("f50(", "g50(")], path = put(folder, "a.ts", one);
        const early = wrap((_: { path: string }) => two); // the tool is ahead of the disk
        const late = wrap((_: { path: string }) => {
          writeFileSync(path, two);
          return one;
        });
        for (const [read, shown] of [[early, two], [late, one]] as const) {
          session.reset();
          writeFileSync(path, one);
          turn();
          assertEquals(await read({ path: "a.ts" }), shown);
          writeFileSync(path, two);
          turn();
          assertEquals(isUnchanged(await early({ path: "a.ts" })), false);
        }
      }),
  );

  it(
    "gets the formatted text after an edit and a formatter, and one line when it asks again",
    LIMIT,
    () =>
      conversing(async ({ folder, read, turn }) => {
        const edit = code(100).replace("f10(", "g10("), formatted = edit.replaceAll("{ return", "{\n  return");
        const kinds: boolean[] = [];
        for (const text of [code(100), edit, formatted, formatted]) {
          put(folder, "a.ts", text);
          turn();
          const result = await read({ path: "a.ts", limit: 200 });
          kinds.push(isUnchanged(result));
          if (!kinds.at(-1)) assertEquals(result, text.split(/(?<=\n)/).slice(0, 200).join(""));
        }
        assertEquals(kinds, [false, false, false, true]);
      }),
  );

  it(
    "was not shown a file because another of the same bytes was: only a link to it is the same, and is named",
    LIMIT,
    () =>
      conversing(async ({ folder, read, turn }) => {
        const path = put(folder, "a.ts", code(100));
        put(folder, "b.py", code(100));
        linkSync(path, join(folder, "hard.ts"));
        symlinkSync(path, join(folder, "link.ts"));
        turn();
        await read({ path: "a.ts" });
        turn();
        for (const name of ["b.py", "hard.ts"]) assertEquals(await read({ path: name }), code(100));
        assertMatch(
          await read({ path: "link.ts" }),
          /^\[waymark reference: link\.ts lines 1-100 of 100 are unchanged since turn 3, shown then as a\.ts\]$/,
        );
        renameSync(path, join(folder, "c.ts"));
        turn();
        assertEquals(await read({ path: "c.ts" }), code(100), "nor was one that was renamed");
      }),
  );

  it("follows a link to where it leads now", LIMIT, () =>
    conversing(async ({ folder, read, turn }) => {
      const [one, two] = [put(folder, "one.ts", code(100)), put(folder, "two.ts", code(90))],
        link = join(folder, "link.ts");
      symlinkSync(one, link);
      turn();
      await read({ path: "link.ts" });
      unlinkSync(link);
      symlinkSync(two, link);
      turn();
      assertEquals(await read({ path: "link.ts" }), code(90));
      turn();
      assert(isUnchanged(await read({ path: "one.ts" })), "and what was read through it is known for what it was");
    }));
});
