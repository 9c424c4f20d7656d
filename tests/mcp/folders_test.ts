import { describe, it } from "node:test";
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { platform } from "node:os";
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path/posix/join";
import { WaymarkError } from "../../mod.ts";
import { commonFolders, findInside, type Folder, toFolder } from "../../src/mcp/folders.ts";
import { type OpenFile, withInside } from "../../src/mcp/open_file.ts";
import { programCommand } from "../programs.ts";
import { run } from "../publishing.ts";
import { put } from "../support.ts";
import { inProject, whileSwapped } from "./swapping.ts";

/** What a file that is opened holds. */
async function read(path: string, folders: readonly Folder[]): Promise<string> {
  return await withInside(path, folders, textOf);
}

/** The first bytes of an open file. */
async function textOf(file: OpenFile): Promise<string> {
  const buffer = new Uint8Array(64), { bytesRead } = await file.read(buffer, 0, buffer.length, null);
  return new TextDecoder().decode(buffer.subarray(0, bytesRead));
}

/** Why a path is refused. */
async function refusal(path: string, folders: readonly Folder[]): Promise<string> {
  const error = await assertRejects(() => read(path, folders), WaymarkError);
  assert(!error.message.includes("\n"));
  assertStringIncludes(error.message, `Cannot read ${path}: `);
  return error.message.replace(`Cannot read ${path}: `, "");
}

describe("a file of a folder", () => {
  it("is opened by every name that leads to it", () =>
    inProject(async ({ folder, inside, outside }) => {
      symlinkSync("src", join(inside, "link"));
      symlinkSync(join(inside, "src/a.ts"), join(inside, "a-link.ts"));
      symlinkSync(inside, join(outside, "way-in"));
      put(inside, "50%.ts", "percent\n");
      put(inside, "~/b.ts", "tilde\n");
      const names = [
        "src/a.ts",
        "./src/a.ts",
        "src/../src/a.ts",
        "link/a.ts",
        "a-link.ts",
        join(inside, "src/a.ts"),
        `${inside}//src/./a.ts`,
        pathToFileURL(join(inside, "src/a.ts")).href,
        pathToFileURL(join(inside, "src/a.ts")).href.replace("a.ts", "%61.ts"),
        join(outside, "way-in/src/a.ts"),
      ];
      for (const name of names) assertEquals(await read(name, [folder]), "inside\n", name);
      assertEquals(await read("50%.ts", [folder]), "percent\n");
      assertEquals(await read("~/b.ts", [folder]), "tilde\n");
    }));

  it("is opened where the folder itself is named by a link", () =>
    inProject(async ({ inside, outside }) => {
      symlinkSync(inside, join(outside, "alias"));
      const folder = toFolder(join(outside, "alias"));
      assertEquals(folder, { path: join(outside, "alias"), real: inside });
      for (const name of ["src/a.ts", join(outside, "alias/src/a.ts"), join(inside, "src/a.ts")]) {
        assertEquals(await read(name, [folder]), "inside\n", name);
      }
    }));

  it("is of the innermost folder, and a relative path starts at the first", () =>
    inProject(async ({ folder, inside }) => {
      const inner = toFolder(join(inside, "src"));
      assertEquals(findInside("src/a.ts", [folder, inner]).folder, inner);
      assertEquals(findInside("a.ts", [inner, folder]).folder, inner);
      put(inside, "top.ts", "");
      assertEquals(findInside(join(inside, "top.ts"), [inner, folder]).folder, folder);
      assertStringIncludes(await refusal("top.ts", [inner, folder]), `a relative path starts at ${inner.path}`);
    }));

  it("is a hard link too, which is a file of the folder like any other", () =>
    inProject(async ({ folder, inside, outside }) => {
      linkSync(join(outside, "secret.ts"), join(inside, "hard.ts"));
      assertEquals(await read("hard.ts", [folder]), "outside\n");
    }));
});

describe("a file outside of the folders", () => {
  it("is refused by whatever name, and what is there is not told", () =>
    inProject(async ({ folder, inside, outside }) => {
      symlinkSync(outside, join(inside, "out"));
      symlinkSync(join(outside, "secret.ts"), join(inside, "secret.ts"));
      symlinkSync("../outside/secret.ts", join(inside, "relative.ts"));
      symlinkSync("secret.ts", join(inside, "chain.ts"));
      mkdirSync(`${inside}-not`);
      writeFileSync(`${inside}-not/a.ts`, "a folder whose name begins alike\n");
      const secret = join(outside, "secret.ts");
      const names = [
        secret,
        pathToFileURL(secret).href,
        pathToFileURL(inside).href + "/%2e%2e/outside/secret.ts",
        "../outside/secret.ts",
        "src/../../outside/secret.ts",
        "out/secret.ts",
        "out",
        "secret.ts",
        "relative.ts",
        "chain.ts",
        "out/../secret.ts", // what the file system makes of it
        `${inside}-not/a.ts`,
        "..",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/stdin",
      ];
      for (const name of names) {
        const told = await refusal(name, [folder]);
        assertStringIncludes(told, `it lies outside of ${inside}, where files may be read`, name);
        if (name.startsWith("out/..")) continue; // Bun 1.4.0 takes ".." off before it looks: what is absent is absent inside
        if (/[/]\w+[.]ts$/.test(name)) assertEquals(await refusal(`${name}.absent`, [folder]), told, name);
      }
    }));

  it("is refused also where the folder itself is asked for, or something in it that is no file", () =>
    inProject(async ({ folder, inside }) => {
      execFileSync("mkfifo", [join(inside, "pipe.ts")]);
      for (const name of [".", inside, "src", "src/"]) {
        assertEquals(await refusal(name, [folder]), "it is a folder; name a file in it", name);
      }
      assertEquals(await refusal("pipe.ts", [folder]), "it is not a regular file");
      for (const name of ["absent.ts", "src/a.ts/b.ts", "no/such/folder/a.ts"]) {
        const told = `there is no such file; a relative path starts at ${inside}`;
        assertEquals(await refusal(name, [folder]), told, name);
      }
    }));

  it("is refused in the same words whether it is there or not, wherever a link in a folder leads", () =>
    inProject(async ({ folder, inside, outside }) => {
      const names: string[] = [];
      const link = (name: string, target: string, ...asked: readonly string[]) => {
        symlinkSync(target, join(inside, name));
        names.push(name, ...asked);
      };
      link("to-file.ts", join(outside, "x/file.ts"), "to-file.ts/", "to-file.ts/b.ts");
      link("relative.ts", "../outside/x/file.ts");
      link("to-folder", join(outside, "x"), "to-folder/", "to-folder/file.ts", "to-folder/no/file.ts");
      link("to-below.ts", join(outside, "x/file.ts/below.ts"));
      link("to-above.ts", join(outside, "x/../secret.ts"));
      link("to-circle.ts", join(outside, "x/circle"));
      link("chain.ts", "to-file.ts");
      link("dangling.ts", "nowhere.ts");
      link("circle.ts", "circle.ts", "circle.ts/a.ts");
      const told = async () => {
        const all = [];
        for (const name of names) all.push(`${name}: ${await refusal(name, [folder])}`);
        return all;
      };
      const absent = await told();
      put(outside, "x/file.ts", "outside\n");
      symlinkSync("circle", join(outside, "x/circle"));
      assertEquals(await told(), absent);
      rmSync(join(outside, "x"), { recursive: true });
      put(outside, "x", "a file\n");
      assertEquals(await told(), absent);
      for (const line of absent) {
        assertStringIncludes(line, `it lies outside of ${inside}, where files may be read, or behind a link that`);
        assert(!line.includes(outside), line);
      }
    }));

  it("is none of those whose names are not UTF-8: one that is named as they are shown is never read for them", {
    skip: platform() === "linux" ? false : "other systems take no such names",
  }, () =>
    inProject(async ({ folder, inside }) => {
      const names = ["bad=$(printf '\\377\\376')", 'echo raw > "$bad.ts"', 'ln -s "$bad.ts" link.ts', 'mkdir "$bad"'];
      const rest = ['echo raw > "$bad/a.ts"', 'ln -s "$bad" way', 'ln -s "$bad/none.ts" none.ts'];
      execFileSync("sh", ["-c", [...names, ...rest].join("\n")], { cwd: inside });
      put(inside, "\ufffd\ufffd.ts", "neighbour\n");
      for (const at of ["before", "after"]) {
        for (const name of ["link.ts", "way/a.ts", "none.ts"]) {
          const told = await refusal(name, [folder]);
          assertStringIncludes(told, "not UTF-8", `${name} ${at}`);
        }
        assertMatch(assertThrows(() => toFolder(join(inside, "way")), WaymarkError).message, /not(?: valid)? UTF-8/);
        put(inside, "\ufffd\ufffd/a.ts", "neighbour\n");
        put(inside, "\ufffd\ufffd/none.ts", "neighbour\n");
      }
      assertEquals(await read("\ufffd\ufffd.ts", [folder]), "neighbour\n");
      assertEquals(await read("\ufffd\ufffd/a.ts", [folder]), "neighbour\n");
      assertEquals(toFolder(join(inside, "\ufffd\ufffd")).real, join(inside, "\ufffd\ufffd"));
    }));

  it(
    "is any that is longer than a path can be, which is not looked for name by name",
    { timeout: 30_000 },
    () =>
      inProject(async ({ folder, inside }) => {
        for (const name of ["a/".repeat(1 << 20), `${inside}/${"x".repeat(1 << 22)}`]) {
          const { message } = await assertRejects(() => read(name, [folder]), WaymarkError);
          assertEquals(message, `Cannot read ${name.slice(0, 80)}…: the path is longer than any may be`);
        }
        await refusal("x".repeat(300), [folder]); // what the system itself refuses
      }),
  );

  it("is what Waymark keeps in a folder too: to open a database's file takes its locks from it", () =>
    inProject(async ({ folder, inside }) => {
      put(inside, ".summaries/summaries.db", "maps\n");
      put(inside, ".summaries/tool-use/s.jsonl", "digests\n");
      put(inside, "src/.summaries/summaries.db", "another folder's\n");
      put(inside, ".summaries.ts", "of the project\n");
      symlinkSync(".summaries", join(inside, "maps"));
      const names = [".summaries/summaries.db", ".summaries/tool-use/s.jsonl", "src/.summaries/summaries.db"];
      for (const name of [...names, ".summaries", "maps/summaries.db"]) {
        assertStringIncludes(await refusal(name, [folder]), "it is Waymark's own", name);
      }
      assertEquals(await read(".summaries.ts", [folder]), "of the project\n");
    }));

  it("is not one of a folder that is gone itself: there is no such file", () =>
    inProject(async ({ folder, inside, outside }) => {
      rmSync(inside, { recursive: true });
      const told = `there is no such file; a relative path starts at ${inside}`;
      for (const name of ["src/a.ts", join(inside, "a.ts")]) assertEquals(await refusal(name, [folder]), told);
      assertStringIncludes(await refusal(join(outside, "absent.ts"), [folder]), "it lies outside of");
      put(inside, "src/a.ts", "again\n");
      assertEquals(await read("src/a.ts", [folder]), "again\n");
      rmSync(inside, { recursive: true });
      symlinkSync(outside, inside);
      assertStringIncludes(await refusal("secret.ts", [folder]), "it lies outside of");
    }));

  it("is none on this machine: such a name is refused before the disk is asked", () =>
    inProject(async ({ folder }) => {
      for (
        const name of [
          "\\\\host\\share\\a.ts",
          "//host/share/a.ts",
          "file://host/a.ts",
          "vscode-remote://x/a.ts",
          "a\0.ts",
        ]
      ) {
        assertEquals(await refusal(name, [folder]), "it is no path on this machine; give one in the folder", name);
      }
    }));

  it("is every file where no folder may be read", () =>
    inProject(async ({ inside }) => {
      assertStringIncludes(
        await refusal(join(inside, "src/a.ts"), []),
        "no folder may be read; start the server with --root DIR",
      );
    }));

  it(
    "is never read in place of one inside, however fast somebody swaps the two",
    { timeout: 120_000 },
    () =>
      whileSwapped(async ({ folder }) => {
        let met = 0, refused = 0;
        for (let at = 0; at < 4000 || met === 0 || refused === 0; at++) { // until both happened
          const text = await read("swapped/secret.ts", [folder]).catch((error) => {
            assert(error instanceof WaymarkError, String(error));
            return undefined;
          });
          if (text === undefined) refused++;
          else assertEquals(text, "inside\n"), met++;
        }
      }),
  );

  it("is not read so on Deno with leave for the folder only, where the system cannot be asked", {
    skip: "Deno" in globalThis ? false : "Deno's alone",
    timeout: 120_000,
  }, () =>
    whileSwapped(async ({ inside, outside }) => {
      const [deno, , , , ...rest] = programCommand("src/mcp/open_file.ts"), module = rest.pop()!;
      const script = put(outside, "read.ts", reader(module, inside));
      const leave = `--allow-read=${inside}`;
      const { stdout, stderr } = await run(deno, ["run", "--no-prompt", "--no-check", leave, ...rest, script], {
        cwd: inside,
      });
      assertEquals(stderr, "");
      const counted = JSON.parse(stdout);
      assert(counted["inside\n"] > 0, stdout);
      assertEquals(counted["outside\n"], undefined);
    }));
});

/** Reads the file that is swapped many times, and prints what came of it. */
const reader = (module: string, inside: string) => `
import { withInside } from ${JSON.stringify(module)};
import { toFolder } from ${JSON.stringify(module.replace("open_file", "folders"))};
const folders = [toFolder(${JSON.stringify(inside)})], counted = {};
for (let at = 0; at < 12000; at++) {
  const text = await withInside("swapped/secret.ts", folders, ${textOf}).catch(() => "refused");
  counted[text] = (counted[text] ?? 0) + 1;
}
console.log(JSON.stringify(counted));
`;

describe("folders", () => {
  it("are folders by path or address, and anything else is refused by name", () =>
    inProject(({ folder, inside }) => {
      assertEquals(toFolder(pathToFileURL(inside).href), folder);
      for (const name of [`${inside}/.`, `${inside}/src/..`, `${inside}/./src/../`]) {
        assertEquals(toFolder(name), { path: inside, real: inside }, name); // told as what it is
      }
      const told = (named: string) => assertThrows(() => toFolder(named), WaymarkError).message;
      assertEquals(told(join(inside, "src/a.ts")), `Cannot read in ${inside}/src/a.ts: it is not a folder`);
      assertEquals(told(join(inside, "absent")), `Cannot read in ${inside}/absent: there is no such folder`);
      assertEquals(told(""), 'Cannot read in "": it names no folder; give its path');
      assertEquals(told("https://example.com/"), "Cannot read in https://example.com/: it is no path on this machine");
      return Promise.resolve();
    }));

  it("are those that both sides allow", () =>
    inProject(async ({ inside, outside }) => {
      const all = await Promise.resolve(["src", "src/deep", "other"].map((name) => {
        mkdirSync(join(inside, name), { recursive: true });
        return toFolder(join(inside, name));
      }));
      const [src, deep, other] = all as [Folder, Folder, Folder], project = toFolder(inside), away = toFolder(outside);
      const common = (own: readonly Folder[], named?: readonly Folder[]) =>
        commonFolders(own, named).map(({ real }) => real);
      const paths = (...folders: Folder[]) => folders.map(({ real }) => real);
      assertEquals(common([src, other]), paths(src, other)); // the client names none
      assertEquals(common([], [src, away]), paths(src, away)); // only the client does
      assertEquals(common([]), []);
      assertEquals(common([project], [src]), paths(src)); // narrowed
      assertEquals(common([src], [project]), paths(src)); // not widened
      assertEquals(common([src, other], [project]), paths(src, other));
      assertEquals(common([project], [other, deep]), paths(other, deep)); // in the client's order
      assertEquals(common([src], [away]), []); // nothing in common is nothing
      assertEquals(common([src], []), []); // none that can be used is not the same as none named
      assertEquals(common([project], [src, toFolder(join(inside, "src"))]), paths(src)); // once
    }));
});
