/** The whole guard on paths and files of every kind. */

import { assert, assertEquals, assertRejects, assertStrictEquals, assertStringIncludes } from "@std/assert";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { WaymarkError } from "../../src/errors.ts";
import { pathKey, toDiskPath } from "../../src/paths.ts";
import { code, inFolder, put } from "../support.ts";
import {
  answerOf,
  assertCapped,
  contentOf,
  entriesIn,
  guarding,
  guardingIn,
  LIMIT,
  noOtherUser,
  onDeno,
  prelude,
  rowsOf,
  run,
  runAsNobody,
} from "./field.ts";

/** A tool that returns a text by lines, whatever the path. */
const tool =
  (text: string, seen: unknown[] = []) => (args: { path: string; offset?: number; limit?: number }): string => {
    seen.push(args);
    const { offset = 1, limit = Infinity } = args;
    return text.split(/(?<=\n)/).slice(offset - 1, offset - 1 + limit).join("");
  };

/** Every path the disk is asked about while an action runs. */
async function spying(action: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const object = (onDeno ?? process.getBuiltinModule("node:fs")) as unknown as Record<string, unknown>;
  const names = [
    ...["statSync", "lstatSync", "openSync", "readFileSync", "writeFileSync", "mkdirSync", "readFile", "readTextFile"],
    ...["realPathSync", "realpathSync", "existsSync", "accessSync", "open", "stat", "lstat"],
  ];
  const before = names.flatMap((name) => typeof object[name] === "function" ? [[name, object[name]] as const] : []);
  for (const [name, method] of before) {
    const spy = (...args: unknown[]): unknown => {
      seen.push(String(args[0]));
      return (method as (...given: unknown[]) => unknown)(...args);
    };
    object[name] = Object.assign(spy, method); // realpathSync has a method of its own
    const native = (method as { native?: (...given: unknown[]) => unknown }).native;
    if (native) {
      (spy as unknown as Record<string, unknown>)["native"] = (
        ...args: unknown[]
      ) => (seen.push(String(args[0])), native(...args));
    }
  }
  try {
    await action();
  } finally {
    for (const [name, method] of before) object[name] = method;
  }
  return seen;
}

describe("one file under many names", () => {
  it("has one key on a system where case and slashes do not count, two where they do", LIMIT, () => {
    const names = ["c:\\a\\B.ts", "C:/a/b.ts", "C:\\a\\.\\b.ts", "\\\\?\\C:\\a\\b.ts"];
    assertEquals(new Set(names.map((name) => pathKey(name, "C:\\a"))), new Set(["b.ts"]));
    assertEquals(names.map((name) => toDiskPath(name, "C:\\a")).slice(0, 3), names.slice(0, 3));
    assertEquals(pathKey("/a/B.ts", "/a") === pathKey("/a/b.ts", "/a"), false);
  });

  it("costs one run, is kept once, and is told from one that differs in case", LIMIT, () =>
    inFolder(async (folder) => {
      await guardingIn(folder, async ({ read, model }) => {
        put(folder, "src/b.ts", code(300));
        for (const name of ["src/b.ts", "./src/b.ts", "src//b.ts", "src/../src/b.ts", join(folder, "src/b.ts")]) {
          assertCapped(await read({ path: name }), code(300));
        }
        assertEquals(model.calls.length, 1);
        if (existsSync(join(folder, "SRC"))) return; // this file system does not tell case apart
        put(folder, "src/B.ts", code(301));
        assertCapped(await read({ path: "src/B.ts" }), code(301));
        assertCapped(await read({ path: "src/b.ts" }), code(300));
        assertEquals(model.calls.length, 2);
      });
      assertEquals(entriesIn(folder).map(({ path }) => path), ["src/b.ts", "src/B.ts"]);
    }));

  it("leaves nothing behind that was asked for before it was there", LIMIT, () =>
    inFolder(async (folder) => {
      await guardingIn(folder, async ({ read, waymark }) => {
        for (const path of ["Src/New.ts", "src/new.ts"]) {
          await assertRejects(() => read({ path }), Error, "ENOENT");
          await assertRejects(() => waymark.lookup(join(folder, path), 1), WaymarkError);
          assertEquals(await waymark.forget(join(folder, path)), 0);
        }
        put(folder, "src/new.ts", code(300));
        assertCapped(await read({ path: "src/new.ts" }), code(300));
        assertEquals((await waymark.lookup(join(folder, "src/new.ts"), 250)).status, "found");
      });
      assertEquals(entriesIn(folder).map(({ path }) => path), ["src/new.ts"]);
    }));

  it(
    "is its content: a hard link replaced or a file made anew at the same inode is another",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const a = put(folder, "a.ts", code(300));
        linkSync(a, join(folder, "b.ts"));
        for (const path of ["a.ts", "b.ts"]) assertCapped(await read({ path }), code(300));
        assertEquals(model.calls.length, 1);
        put(folder, "new.ts", code(301));
        renameSync(join(folder, "new.ts"), join(folder, "b.ts"));
        assertCapped(await read({ path: "b.ts" }), code(301));
        assertCapped(await read({ path: "a.ts" }), code(300));
        writeFileSync(a, code(300).replaceAll("f2", "g2")); // in place, the same inode and size
        assertCapped(await read({ path: "a.ts" }), code(300).replaceAll("f2", "g2"));
        for (let round = 0, inode = 0, repeats = 0; round < 50 && repeats < 3; round++) {
          rmSync(join(folder, "b.ts"));
          const text = code(300 + round).replaceAll("f2", `h${round}_2`);
          put(folder, "b.ts", text);
          const { ino } = statSync(join(folder, "b.ts"));
          if (ino === inode) repeats++;
          inode = ino;
          assertCapped(await read({ path: "b.ts" }), text);
        }
      }),
  );
});

describe("a tilde, a URL and odd spaces in a path", () => {
  it(
    "a tilde is a name like any other: no other file's map is given for it",
    LIMIT,
    () =>
      guarding(async ({ folder, read, wrap, model }) => {
        for (const path of ["~/x.ts", "~", "~other/x.ts"]) await assertRejects(() => read({ path }), Error, "ENOENT");
        const home = code(300).replaceAll("f2", "home2"), expanding = wrap(tool(home)); // a host that expands it
        assertEquals(await expanding({ path: "~/x.ts" }), home);
        assertEquals(model.calls.length, 0);
        put(folder, "~/x.ts", code(300));
        assertCapped(await read({ path: "~/x.ts" }), code(300));
        const result = await expanding({ path: "~/x.ts" });
        assertEquals([contentOf(result), result.includes("[waymark map")], [home, false]);
      }),
  );

  it(
    "a file URL leads to its file, as text or as an object; a percent sign or a hash in a name is itself",
    LIMIT,
    () =>
      guarding(async ({ folder, read, wrap, model }) => {
        const url = pathToFileURL(put(folder, "a b.ts", code(300)));
        const opening = wrap(({ path, limit }: { path: string | URL; limit?: number }) =>
          tool(readFileSync(new URL(path), "utf8"))({ path: "", ...(limit ? { limit } : {}) })
        );
        assertStringIncludes(url.href, "a%20b.ts");
        for (const path of [url, url.href]) assertCapped(await opening({ path }), code(300));
        for (const name of ["a%20b.ts", "a#b.ts", "a?b.ts", "100%.ts"]) {
          put(folder, name, code(300) + `\n// ${name}`);
          assertCapped(await read({ path: name }), code(300) + `\n// ${name}`);
        }
        assertCapped(await opening({ path: pathToFileURL(join(folder, "a#b.ts")) }), code(300) + "\n// a#b.ts");
        assertEquals(model.calls.length, 5);
      }),
  );

  it(
    "a URL that leads to no file of this machine is left to the host",
    LIMIT,
    () =>
      guarding(async ({ wrap, model }) => {
        const stub = wrap(tool(code(300)));
        for (
          const path of [
            "file:///C%3A/a.ts",
            "file:///a%2fb.ts",
            "file://host/a.ts",
            "file:///a%zz.ts",
            "https://x.test/a.ts",
            "vscode-remote://x/a.ts",
            "a\0.ts",
          ]
        ) {
          assertEquals(await stub({ path }), code(300), path);
        }
        assertEquals(model.calls.length, 0);
      }),
  );

  it(
    "a name with other spaces than were asked for is the host's own error, word for word",
    LIMIT,
    () =>
      guarding(async ({ folder, read, wrap, model }) => {
        for (const space of ["\u00a0", "\u202f"]) {
          const name = `snap 9.41${space}PM.ts`;
          put(folder, name, code(300));
          const error = Object.assign(new Error("ENOENT: no such file, did you mean ...?"), { code: "ENOENT" });
          const failing = wrap(() => {
            throw error;
          });
          assertStrictEquals(await assertRejects(() => failing({ path: name.replace(space, " ") })), error);
          await assertRejects(() => read({ path: name.replace(space, " ") }), Error, "ENOENT");
          assertEquals(model.calls.length, 0);
        }
        assertCapped(await read({ path: "snap 9.41\u202fPM.ts" }), code(300));
      }),
  );
});

describe("links", () => {
  it(
    "that dangle, circle or go on too long are the host's own error",
    LIMIT,
    () =>
      guarding(async ({ folder, read, wrap, model, notices }) => {
        symlinkSync("nowhere.ts", join(folder, "dangling.ts"));
        symlinkSync("two.ts", join(folder, "one.ts"));
        symlinkSync("one.ts", join(folder, "two.ts"));
        put(folder, "end.ts", code(300));
        for (let length = 1; length <= 50; length++) {
          symlinkSync(length === 1 ? "end.ts" : `chain${length - 1}.ts`, join(folder, `chain${length}.ts`));
        }
        const stub = wrap(tool(code(300)));
        for (
          const [path, reason] of [["dangling.ts", "ENOENT"], ["one.ts", "ELOOP"], ["chain50.ts", "ELOOP"]] as const
        ) {
          await assertRejects(() => read({ path }), Error, reason);
          assertEquals(await stub({ path }), code(300)); // a host that reads it elsewhere
        }
        assertEquals([model.calls.length, notices.length], [0, 0]);
        assertCapped(await read({ path: "chain20.ts" }), code(300));
      }),
  );

  it(
    "follow their target: another file behind the same name is another map",
    LIMIT,
    () =>
      guarding(async ({ folder, read, model }) => {
        const relink = (target: string): void => {
          rmSync(join(folder, "link.ts"), { force: true });
          symlinkSync(target, join(folder, "link.ts"));
        };
        for (const [name, text] of [["a.ts", code(300)], ["b.ts", code(301)]] as const) put(folder, name, text);
        for (const [target, text] of [["a.ts", code(300)], ["b.ts", code(301)], ["a.ts", code(300)]] as const) {
          relink(target);
          assertCapped(await read({ path: "link.ts" }), text);
        }
        assertEquals(model.calls.length, 2);
      }),
  );

  it(
    "follow a target that was moved and linked anew, though its inode is the same",
    LIMIT,
    () =>
      guarding(async ({ folder, read }) => {
        const first = code(300), second = code(300).replaceAll("f2", "g2").replaceAll("g2", "f2") + "\n" + code(200);
        put(folder, "release1/a.ts", first);
        symlinkSync("release1", join(folder, "current"));
        assertCapped(await read({ path: "current/a.ts" }), first);
        renameSync(join(folder, "release1"), join(folder, "release0")); // the same inodes under another name
        put(folder, "release1/a.ts", second); // whose first 200 lines are the same
        unlinkSync(join(folder, "current"));
        symlinkSync("release0", join(folder, "current"));
        assertCapped(await read({ path: "current/a.ts" }), first);
        assertCapped(await read({ path: "release1/a.ts" }), second);
      }),
  );

  it(
    "out of the root give a map that the project does not keep; out of the allowed folders, or to secrets, none",
    LIMIT,
    () =>
      inFolder((outside) =>
        inFolder(async (folder) => {
          const path = put(outside, "outside_name.ts", code(300)), hidden = put(outside, ".env", `KEY=1\n${code(300)}`);
          put(folder, "own.ts", code(301));
          symlinkSync(path, join(folder, "link.ts"));
          symlinkSync(hidden, join(folder, "innocent.ts"));
          await guardingIn(folder, async ({ read, model }) => {
            for (let times = 0; times < 3; times++) assertCapped(await read({ path: "link.ts" }), code(300));
            assertCapped(await read({ path: "own.ts" }), code(301));
            assertEquals(await read({ path: "innocent.ts" }), `KEY=1\n${code(300)}`);
            assertEquals(model.calls.length, 2);
          });
          assertEquals(entriesIn(folder).map((entry) => entry.path), ["own.ts"]);
          await guardingIn(folder, async ({ read, model }) => {
            assertEquals(await read({ path: "link.ts" }), code(300));
            assertEquals(model.calls.length, 0);
          }, { roots: [folder] });
        })
      ),
  );
});

describe("what is no regular file", () => {
  it(
    "a FIFO, a socket and a device are never opened, under their own name or a link's",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        execFileSync("mkfifo", [join(folder, "pipe.ts")]);
        symlinkSync("pipe.ts", join(folder, "to_pipe.ts"));
        for (
          const [name, target] of [["zero.ts", "/dev/zero"], ["terminal.ts", "/dev/tty"], ["input.ts", "/dev/stdin"], [
            "kernel.ts",
            "/proc/kmsg",
          ]] as const
        ) {
          symlinkSync(target, join(folder, name));
        }
        const server = createServer().listen(join(folder, "socket.ts"));
        await new Promise((resolve) => server.once("listening", resolve));
        const script = put(
          folder,
          "script.mjs",
          `${prelude()}
        const text = "export const line = 1;\\n".repeat(300), stub = waymark.wrap(() => text, { facts: () => ({ cwd: folder }) });
        const names = args, whole = [], refused = [];
        for (const path of names) whole.push(await stub({ path }) === text);
        for (const path of names.slice(0, -1)) refused.push(await waymark.summarize(folder + "/" + path).then(() => "", (error) => error.code));
        await waymark.close();
        tell({ whole, refused, calls: model.calls.length, notices, faults });`,
        );
        const names = ["pipe.ts", "to_pipe.ts", "zero.ts", "terminal.ts", "input.ts", "socket.ts", "kernel.ts"];
        try {
          const answer = answerOf<Record<string, unknown>>(
            await run(script, { args: [folder, ...names], cwd: folder, killAfterMs: 20_000 }),
          );
          assertEquals(answer["whole"], names.map(() => true));
          assertEquals(answer["refused"], names.slice(0, 6).map(() => "not-found"));
          assertEquals([answer["calls"], answer["notices"], answer["faults"]], [0, [], []]);
        } finally {
          server.close();
        }
      }),
  );

  it(
    "a folder is the host's own error, or its own listing, untouched",
    LIMIT,
    () =>
      guarding(async ({ folder, read, wrap, model, waymark }) => {
        for (let index = 0; index < 300; index++) put(folder, `lib.ts/entry${index}.ts`, "");
        await assertRejects(() => read({ path: "lib.ts" }), Error, "EISDIR");
        const listing = wrap(({ path }) => readdirSync(join(folder, path)).join("\n"));
        const text = await listing({ path: "lib.ts" });
        assertEquals([text, text.split("\n").length], [readdirSync(join(folder, "lib.ts")).join("\n"), 300]);
        assertEquals([model.calls.length, waymark.stats().misses, existsSync(join(folder, ".summaries"))], [
          0,
          0,
          false,
        ]);
      }),
  );

  it(
    "a name on another machine is not looked at, and makes nothing here",
    LIMIT,
    () =>
      guarding(async ({ folder, wrap, model }) => {
        const before = process.cwd(), stub = wrap(tool(code(300)), { facts: () => ({}) });
        const names = [
          "\\\\host\\share\\a.ts",
          "\\\\?\\UNC\\h\\s\\a.ts",
          "\\??\\UNC\\h\\s\\a.ts",
          "//host/share/a.ts",
          "\\\\.\\pipe\\a.ts",
          "file://host/share/a.ts",
          "file:////host/share/a.ts",
        ];
        put(folder, "package.json", "{}");
        process.chdir(folder);
        try {
          const seen = await spying(async () => {
            for (const path of names) assertEquals(await stub({ path }), code(300), path);
          });
          assertEquals(seen.filter((path) => /share|UNC|pipe|\\/.test(path)), []);
          assertEquals(readdirSync(folder), ["package.json"]);
          assert((await spying(() => stub({ path: "package.json" }))).length > 0, "the spy sees what is looked at");
        } finally {
          process.chdir(before);
        }
        assertEquals(model.calls.length, 0);
      }),
  );

  it("a file that may not be read here, or lies in a folder that may not be entered, is left to the host", {
    ...LIMIT,
    skip: noOtherUser,
  }, () =>
    inFolder(async (folder) => {
      chmodSync(put(folder, "closed.ts", code(300)), 0);
      put(folder, "locked/a.ts", code(300));
      chmodSync(join(folder, "locked"), 0o666);
      const script = put(
        folder,
        "script.mjs",
        `${prelude("model: undefined")}
        const text = "export const line = 1;\\n".repeat(300), stub = waymark.wrap(() => text, { facts: () => ({ cwd: folder }) });
        const names = ["closed.ts", "locked/a.ts"], whole = [], errors = [];
        for (const path of names) whole.push(await stub({ path }) === text);
        for (const path of names) errors.push(await read({ path }).then(() => "", (error) => error.code));
        await waymark.close();
        tell({ whole, errors, notices, faults });`,
      );
      assertEquals(answerOf(await runAsNobody(script, folder, { args: [folder], cwd: folder })), {
        whole: [true, true],
        errors: ["EACCES", "EACCES"],
        notices: [],
        faults: [],
      });
    }));
});

describe("a tool that looks somewhere else", () => {
  const local = code(300).replaceAll("f", "local");
  const cases: readonly (readonly [what: string, there: string, here: string])[] = [
    ["in a container, where another file has the name", code(300), local],
    ["in a container, and the file here is short", code(300), code(20)],
    ["in a container, and the file there is short", code(20), local],
    ["into an editor, where 30 lines were put in above", `${"// new\n".repeat(30)}${code(300)}`, code(300)],
    ["into an editor that has not seen the 30 lines put in above", code(300), `${"// new\n".repeat(30)}${code(300)}`],
  ];
  for (const [what, there, here] of cases) {
    it(
      `gets its own text and no map of the file here: ${what}`,
      LIMIT,
      () =>
        guarding(async ({ folder, wrap, events }) => {
          put(folder, "app/x.ts", here);
          const seen: unknown[] = [], stub = wrap(tool(there, seen));
          for (let times = 0; times < 2; times++) {
            const result = await stub({ path: "app/x.ts" });
            assertEquals(contentOf(result), there);
            assertEquals(rowsOf(result), []);
          }
          assert(events.every((event) => event.type !== "cap"));
          assert(seen.length <= 4);
        }),
    );
  }

  it(
    "gets its own text where there is nothing here, and no error of ours",
    LIMIT,
    () =>
      guarding(async ({ wrap, notices, events }) => {
        assertEquals(await wrap(tool(code(300)))({ path: "unsaved.ts" }), code(300));
        assertEquals([notices, events], [[], []]);
      }),
  );

  it("gets the map of its own text where the host gives the bytes", LIMIT, () =>
    guarding(async ({ folder, wrap }) => {
      put(folder, "app/x.ts", local);
      assertCapped(await wrap(tool(code(300)))({ path: "app/x.ts" }), code(300));
      assertCapped(await wrap(tool(code(300)))({ path: "/only/there.ts" }), code(300));
    }, { source: { read: () => new TextEncoder().encode(code(300)) } }));
});

describe("where maps are kept", () => {
  const script = `${prelude("root: undefined, model: undefined")}
    for (const path of args) if (!(await read({ path })).includes("[waymark map")) throw new Error("no map of " + path);
    const stats = waymark.stats();
    await waymark.close();
    tell({ hits: stats.hits, notices: notices.length, faults });`;

  it(
    "is one place, found from where the process runs, and nowhere where no project is",
    LIMIT,
    () =>
      inFolder(async (folder) => {
        const program = put(folder, "script.mjs", script), home = join(folder, "home/me");
        const files = ["one", "two", "three"].map((name, index) =>
          put(folder, `elsewhere/${name}/a.ts`, code(300 + index))
        );
        for (const place of ["loose/a", "loose/b", "home/me/.ssh", "repo/src/deep"]) {
          mkdirSync(join(folder, place), { recursive: true });
        }
        put(folder, "repo/.git/HEAD", "ref: refs/heads/main\n");
        put(folder, "home/me/package.json", "{}"); // a home directory is no project, whatever lies in it
        const own = put(folder, "repo/src/deep/own.ts", code(310));
        const places = ["loose/a", "loose/b", "home/me", "home/me/.ssh", "/"].map((place) =>
          place === "/" ? place : join(folder, place)
        );
        for (const cwd of places) {
          const answer = answerOf(
            await run(program, { cwd, args: [folder, ...files], env: { HOME: home }, bare: true }),
          );
          assertEquals(answer, { hits: 0, notices: 1, faults: [] }, cwd); // said once: a new process pays again
        }
        const summaries = (): string[] =>
          (readdirSync(folder, { recursive: true }) as string[]).filter((name) => name.endsWith(".summaries"));
        assertEquals([summaries(), existsSync("/.summaries")], [[], false]);
        for (const hits of [0, 1]) {
          const answer = answerOf(
            await run(program, {
              cwd: join(folder, "repo/src/deep"),
              args: [folder, own, ...files],
              env: { HOME: home },
              bare: true,
            }),
          );
          assertEquals(answer, { hits, notices: 0, faults: [] });
        }
        assertEquals(summaries(), ["repo/.summaries"]);
        assertEquals(entriesIn(join(folder, "repo")).map(({ path }) => path), ["src/deep/own.ts"]);
      }),
  );

  it(
    "is memory in a project whose folder may not be written",
    { ...LIMIT, skip: noOtherUser },
    () =>
      inFolder(async (folder) => {
        const program = put(folder, "script.mjs", script), file = put(folder, "project/a.ts", code(300));
        put(folder, "project/package.json", "{}");
        chmodSync(join(folder, "project"), 0o555);
        const answer = answerOf(
          await runAsNobody(program, folder, { cwd: join(folder, "project"), args: [folder, file, file] }),
        );
        assertEquals(answer, { hits: 1, notices: 1, faults: [] });
        assertEquals(readdirSync(join(folder, "project")).sort(), ["a.ts", "package.json"]);
      }),
  );
});
