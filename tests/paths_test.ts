/** Paths as a plain reader takes them, one key for one file, and where a project begins. */

import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { disk } from "../src/files.ts";
import { findRoot, pathKey, toDiskPath } from "../src/paths.ts";
import { inFolder, put } from "./support.ts";

describe("a path", () => {
  it("is taken from the working directory where it is relative, and as it is where it is not", () => {
    assertEquals(toDiskPath("src/a.ts", "/p"), "/p/src/a.ts");
    assertEquals(toDiskPath("src/a.ts", "/p/"), "/p/src/a.ts");
    assertEquals(toDiskPath("src/a.ts", "/"), "/src/a.ts");
    assertEquals(toDiskPath("/q/a.ts", "/p"), "/q/a.ts");
    assertEquals(toDiskPath("/q/a.ts"), "/q/a.ts");
    assertEquals(toDiskPath("a.ts"), undefined);
    assertEquals(toDiskPath("C:\\p\\a.ts", "C:\\q"), "C:\\p\\a.ts");
    assertEquals(toDiskPath("src/a.ts", "C:\\p"), "C:\\p\\src/a.ts");
    assertEquals(toDiskPath("\\a.ts", "C:\\p"), "\\a.ts");
    assertEquals(toDiskPath("C:/p/a.ts"), "C:/p/a.ts");
  });

  it("is not tidied: dots and links are the file system's to resolve, as they are for the reader", () =>
    inFolder((folder) => {
      put(folder, "real/deep/a.ts", "inner");
      put(folder, "real/b.ts", "reached through the link");
      put(folder, "b.ts", "beside the link");
      symlinkSync(join(folder, "real/deep"), join(folder, "link"));
      assertEquals(readFileSync(toDiskPath("link/../b.ts", folder)!, "utf8"), "reached through the link");
    }));

  it("may have percent signs, hashes, spaces and a tilde in its names", () =>
    inFolder((folder) => {
      for (
        const name of ["a%20b.ts", "a#b.ts", "a b.ts", "~/x.ts", "100%.ts", "a?b.ts", "snap 9.41\u202fPM.ts", "c:a.ts"]
      ) {
        put(folder, name, name);
        assertEquals(readFileSync(toDiskPath(name, folder)!, "utf8"), name);
      }
      assertEquals(toDiskPath("~", folder), `${folder}/~`);
      assertEquals(toDiskPath("~other/x.ts", folder), `${folder}/~other/x.ts`);
    }));

  it("may be a file URL, decoded once, as text or as an object", () => {
    assertEquals(toDiskPath("file:///proj/a%20b.ts", "/p"), "/proj/a b.ts");
    assertEquals(toDiskPath("file:///proj/a%2520b.ts", "/p"), "/proj/a%20b.ts");
    assertEquals(toDiskPath("FILE://localhost/proj/a.ts"), "/proj/a.ts");
    assertEquals(toDiskPath(new URL("file:///proj/a%20b%23.ts")), "/proj/a b#.ts");
    assertEquals(toDiskPath("file:///C%3A/a.ts", "C:\\p"), "C:/a.ts");
    assertEquals(toDiskPath("file:///C:/a.ts"), "C:/a.ts");
  });

  it("that no reader of this machine could open is none", () => {
    const none: unknown[] = [
      "",
      "\0",
      "a\0b.ts",
      null,
      undefined,
      5,
      {},
      ["a.ts"],
      "https://example.org/a.ts",
      new URL("https://example.org/a.ts"),
      "git+ssh://h/a",
    ];
    none.push(
      "file://host/share/a.ts",
      "file:////host/share/a.ts",
      "file:///a%2Fb.ts",
      "file:///a%5Cb.ts",
      "file:///a%ZZ.ts",
      "file:///a%00.ts",
      "file://[",
    );
    for (const path of none) assertEquals(toDiskPath(path, "/p"), undefined, String(path));
  });

  it("on another machine is none, on Linux as on Windows, and nothing on the disk is touched for it", () => {
    const remote = [
      "\\\\host\\share\\a.ts",
      "\\\\?\\UNC\\h\\s\\a.ts",
      "\\\\?\\C:\\a.ts",
      "\\\\.\\pipe\\x",
      "\\??\\UNC\\h\\s\\a",
      "//host/share/a.ts",
      "/\\host\\a.ts",
      "\\/host/a.ts",
    ];
    for (const path of remote) {
      for (const cwd of ["/p", "C:\\p", undefined]) assertEquals(toDiskPath(path, cwd), undefined, path);
    }
  });

  it("is always absolute and never another machine's, whatever it was", () => {
    fc.assert(fc.property(fc.string(), fc.constantFrom("/p", "/p/", "/"), (path, cwd) => {
      const absolute = toDiskPath(path, cwd);
      assert(absolute === undefined || (/^\/(?!\/)/.test(absolute) && !absolute.includes("\0")), absolute);
    }));
  });
});

describe("the key of a path", () => {
  it("is relative to the root with slashes", () => {
    assertEquals(pathKey("/p/src/a.ts", "/p"), "src/a.ts");
    assertEquals(pathKey("/p/src/a.ts", "/p/"), "src/a.ts");
    assertEquals(pathKey("/p/src/a.ts", "/"), "p/src/a.ts");
    assertEquals(pathKey("/p/src/./x/../a.ts", "/p"), "src/a.ts");
  });

  it("is none outside the root, for the root itself and without a root", () => {
    for (const path of ["/q/a.ts", "/p", "/p/", "/pp/a.ts", "/p/../q/a.ts", "/p/../../p2"]) {
      assertEquals(pathKey(path, "/p"), undefined, path);
    }
    assertEquals(pathKey("/p/a.ts", undefined), undefined);
  });

  it("is one for all spellings of a file on Windows", () => {
    const spellings = ["c:\\a\\B.ts", "C:/a/b.ts", "C:\\a\\.\\b.ts", "\\\\?\\C:\\a\\b.ts", "C:\\A\\x\\..\\b.TS"];
    for (const path of spellings) {
      for (const root of ["C:\\", "c:/", "\\\\?\\C:\\"]) assertEquals(pathKey(path, root), "a/b.ts", path);
    }
    assertEquals(pathKey("C:\\P\\Src\\a.ts", "c:\\p"), "src/a.ts");
    assertEquals(pathKey("D:\\p\\a.ts", "C:\\p"), undefined);
    assertEquals(pathKey("/P/Src\\A.ts", "/p", { windows: true }), "src/a.ts");
  });

  it("tells B.ts from b.ts and takes a backslash for a letter on Linux", () => {
    assert(pathKey("/p/B.ts", "/p") !== pathKey("/p/b.ts", "/p"));
    assertEquals(pathKey("/p/a\\b.ts", "/p"), "a\\b.ts");
    assertEquals(pathKey("/p/New.ts", "/p", { windows: false }), "New.ts");
  });

  it("put back on the root is the path", () => {
    const names = fc.array(fc.stringMatching(/^[a-zA-Z0-9 ~%_-]{1,8}$/), { minLength: 1, maxLength: 4 });
    fc.assert(fc.property(names, names, (root, rest) => {
      assertEquals(pathKey(`/${[...root, ...rest].join("/")}`, `/${root.join("/")}`), rest.join("/"));
    }));
  });
});

describe("the root of a project", () => {
  /** A disk of names, for places a test may not write to. */
  const names = (home: string | undefined, ...there: string[]) => ({
    exists: (path: string) => there.includes(path),
    home: () => home,
    realPath: (path: string) => path,
  });

  it("is the nearest folder above with .git, whether that is a folder or a worktree's file", () =>
    inFolder((folder) => {
      mkdirSync(join(folder, "p/.git"), { recursive: true });
      put(folder, "p/package.json", "{}");
      put(folder, "p/packages/x/package.json", "{}");
      put(folder, "p/packages/x/src/a.ts", "");
      assertEquals(findRoot(join(folder, "p/packages/x/src"), disk()), join(folder, "p"));
      put(folder, "p/packages/tree/.git", "gitdir: elsewhere");
      assertEquals(findRoot(join(folder, "p/packages/tree"), disk()), join(folder, "p/packages/tree"));
      assertEquals(findRoot(`${join(folder, "p")}/`, disk()), join(folder, "p"));
    }));

  it("is the nearest folder with deno.json or package.json where there is no .git", () => {
    assertEquals(findRoot("/w/p/src", names("/home/u", "/w/package.json", "/w/p/deno.json")), "/w/p");
    assertEquals(findRoot("/w/p/src", names("/home/u", "/w/package.json")), "/w");
  });

  it("is none where nothing marks one, nor where there is no working directory", () => {
    assertEquals([
      findRoot("/w/p", names("/home/u")),
      findRoot(undefined, names("/home/u")),
      findRoot("/", names(undefined, "//.git", "/.git")),
    ], [
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("is never the home directory itself, but may lie below it", () => {
    assertEquals(findRoot("/home/u/notes", names("/home/u", "/home/u/.git")), undefined);
    assertEquals(findRoot("/home/u", names("/home/u/", "/home/u/.git", "/home/u/package.json")), undefined);
    assertEquals(findRoot("/home/u/p/src", names("/home/u", "/home/u/.git", "/home/u/p/package.json")), "/home/u/p");
  });

  it("is never the home directory under another name", () =>
    inFolder((folder) => {
      mkdirSync(join(folder, "users/u/.git"), { recursive: true });
      symlinkSync(join(folder, "users/u"), join(folder, "home"));
      const there = { exists: disk().exists, realPath: disk().realPath, home: () => join(folder, "home") };
      assertEquals(findRoot(join(folder, "users/u"), there), undefined);
    }));

  it("is nothing that looks like a home directory where that may not be known", () => {
    for (const home of ["/root", "/home/u", "/Users/u", "C:\\Users\\u"]) {
      assertEquals(findRoot(home, names(undefined, `${home}/.git`)), undefined);
      assertEquals(findRoot(`${home}/p`, names(undefined, `${home}/.git`, `${home}/p/.git`)), `${home}/p`);
    }
  });

  it("may be a folder in /home where the home directory is another", () => {
    assertEquals(findRoot("/home/app", names("/root", "/home/app/.git")), "/home/app");
  });

  it("is no drive", () => {
    assertEquals(findRoot("C:\\", names(undefined, "C:/.git")), undefined);
    assertEquals(findRoot("C:\\p\\src", names(undefined, "C:\\p/.git")), "C:\\p");
  });

  it("is looked for without failing where links cannot be resolved", () => {
    const failing = {
      ...names("/home/u", "/w/.git"),
      realPath: () => {
        throw new Error("not allowed");
      },
    };
    assertEquals(findRoot("/w/src", failing), "/w");
    assertEquals(findRoot("/home/u", { ...failing, exists: (path: string) => path === "/home/u/.git" }), undefined);
  });
});
