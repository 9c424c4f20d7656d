/** Where the cache is kept, who may see it, and whom it believes. */

import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { git, inFolder, put } from "../support.ts";
import { databaseOf, filesIn, isRoot, kindsOf, withCache } from "./opening.ts";
import { hashOf, sampleMap } from "./samples.ts";

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
/** A root with one map in its cache. */
async function withMap(root: string, prose = "Own words."): Promise<void> {
  mkdirSync(root, { recursive: true });
  await withCache(root, (cache) => void cache.put("a.ts", sampleMap({ prose })));
}

describe("the cache's folder", () => {
  it("is private, its files too, whatever the umask", () =>
    inFolder(async (root) => {
      const before = process.umask(0);
      try {
        await withCache(root, (cache) => {
          cache.put("a.ts", sampleMap());
          const files = readdirSync(`${root}/.summaries`).sort();
          assertEquals(files, [".gitignore", "summaries.db", "summaries.db-shm", "summaries.db-wal"]);
          assertEquals(mode(`${root}/.summaries`), "700");
          for (const file of files) {
            assertEquals(mode(`${root}/.summaries/${file}`), "600", file);
          }
        });
      } finally {
        process.umask(before);
      }
    }));

  it("is made private where it was open to others", () =>
    inFolder(async (root) => {
      await withMap(root);
      chmodSync(`${root}/.summaries`, 0o777);
      chmodSync(databaseOf(root), 0o666);
      await withCache(root, (cache) => assert(cache.get("a.ts", hashOf(1))));
      assertEquals([mode(`${root}/.summaries`), mode(databaseOf(root))], ["700", "600"]);
    }));

  it("ignores itself: nothing of it is seen by git", () =>
    inFolder(async (root) => {
      git(root, "init", "-q");
      await withMap(root);
      git(root, "add", "-A");
      assertEquals(git(root, "status", "--porcelain"), "");
      assertEquals(readFileSync(`${root}/.summaries/.gitignore`, "utf8"), "*\n");
    }));

  it("holds no absolute path of the machine", () =>
    inFolder(async (root) => {
      await withMap(root);
      assert(!readFileSync(databaseOf(root), "latin1").includes(root));
    }));

  it("keeps an ignore file of the user's own", () =>
    inFolder(async (root) => {
      put(root, ".summaries/.gitignore", "# mine\n");
      await withMap(root);
      assertEquals(readFileSync(`${root}/.summaries/.gitignore`, "utf8"), "# mine\n");
    }));

  it("comes back when it is removed while in use", () =>
    inFolder((root) =>
      withCache(root, (cache, events) => {
        cache.put("a.ts", sampleMap());
        rmSync(`${root}/.summaries`, { recursive: true });
        assert(cache.put("b.ts", sampleMap({ hash: hashOf(2) })));
        assert(existsSync(databaseOf(root)));
        assert(cache.get("b.ts", hashOf(2)));
        assertEquals(kindsOf(events), ["opened"]);
      })
    ));

  const refused: Record<string, [reason: string, prepare: (root: string) => void]> = {
    "a file": ["is not a folder", (root) => writeFileSync(`${root}/.summaries`, "mine")],
    "a link to a folder elsewhere": ["is a link", (root) => {
      mkdirSync(`${root}/elsewhere`);
      symlinkSync(`${root}/elsewhere`, `${root}/.summaries`);
    }],
    "a link that leads nowhere": ["is a link", (root) => symlinkSync(`${root}/nowhere`, `${root}/.summaries`)],
    "a folder whose database is a folder": [
      "is not a regular file",
      (root) => mkdirSync(databaseOf(root), { recursive: true }),
    ],
    "a folder whose database is a link": ["is not a regular file", (root) => {
      put(root, ".summaries/.gitignore", "*\n");
      put(root, "other.db", "");
      symlinkSync(`${root}/other.db`, databaseOf(root));
    }],
    "not there, nor is the root": ["", (root) => rmSync(root, { recursive: true })],
  };
  for (const [what, [reason, prepare]] of Object.entries(refused)) {
    it(`is not used where it is ${what}: maps are kept in memory, and that is said once`, () =>
      inFolder(async (root) => {
        prepare(root);
        await withCache(root, (cache, events) => {
          assertEquals(cache.kind, "memory");
          assertEquals(kindsOf(events), ["memory"]);
          assertStringIncludes(events[0]!.message, reason);
          assert(cache.put("a.ts", sampleMap()));
          assertEquals(cache.get("a.ts", hashOf(1)), sampleMap());
        });
        assert(!existsSync(`${root}/elsewhere/summaries.db`));
        if (existsSync(`${root}/other.db`)) assertEquals(statSync(`${root}/other.db`).size, 0);
      }));
  }

  it(
    "is not used where it is another user's",
    { skip: isRoot ? false : "only root can play another user" },
    () =>
      inFolder(async (root) => {
        mkdirSync(`${root}/.summaries`);
        chownSync(`${root}/.summaries`, 65534, 65534);
        await withCache(root, (cache, events) => {
          assertEquals(cache.kind, "memory");
          assertStringIncludes(events[0]!.message, "belongs to another user");
        });
      }),
  );

  it("is never made at the root of the disk", () =>
    withCache("/", (cache, events) => {
      assertEquals([cache.kind, kindsOf(events), existsSync("/.summaries")], ["memory", ["memory"], false]);
    }));

  let turn: Promise<unknown> = Promise.resolve(); // the environment is one, and Deno 2.3 runs tests side by side
  const withHome = (home: string | undefined, action: () => Promise<void>): Promise<void> => {
    const run = turn.then(async () => {
      const before = process.env["HOME"];
      if (home === undefined) delete process.env["HOME"];
      else process.env["HOME"] = home;
      try {
        await action();
      } finally {
        if (before !== undefined) process.env["HOME"] = before;
        else delete process.env["HOME"];
      }
    });
    turn = run.catch(() => {});
    return run;
  };
  const refusesHome = (root: string): Promise<void> =>
    withCache(root, (cache, events) => {
      assertEquals([cache.kind, existsSync(`${root}/.summaries`)], ["memory", false]);
      assertStringIncludes(events[0]!.message, "is the home directory");
    });

  it("is never made in the home directory itself, links to it included, but in a project below it", () =>
    inFolder(async (folder) => {
      const home = `${folder}/me`;
      mkdirSync(`${home}/project`, { recursive: true });
      symlinkSync(home, `${folder}/link`);
      await withHome(`${folder}/link`, async () => {
        await refusesHome(home);
        await refusesHome(`${folder}/link`);
        await withCache(`${home}/project`, (cache) => assertEquals(cache.kind, "disk"));
      });
    }));

  it("is not made in what looks like a home either, where nobody says which it is", {
    skip: isRoot ? false : "only root may look into /root",
  }, () => withHome(undefined, () => refusesHome("/root")));

  it("is nowhere without a root: memory, and that is said", () =>
    withCache({ root: undefined }, (cache, events) => {
      assertEquals([cache.kind, cache.file, cache.driver], ["memory", undefined, undefined]);
      assertStringIncludes(events[0]!.message, "no project root was found");
    }));

  it("is the same under every name of the root", () =>
    inFolder(async (folder) => {
      mkdirSync(`${folder}/real`);
      symlinkSync(`${folder}/real`, `${folder}/link`);
      await withCache(`${folder}/real`, (cache) =>
        withCache(`${folder}/link/../real/.`, (same) =>
          withCache(`${folder}/link`, (again) => {
            cache.put("a.ts", sampleMap());
            assertEquals([same.file, again.file], [cache.file, cache.file]);
            assert(same.get("a.ts", hashOf(1)) && again.get("a.ts", hashOf(1)));
          })));
    }));
});

describe("a database that came from elsewhere", () => {
  const foreign = (root: string, options = {}): Promise<void> =>
    withCache({ root, ...options }, (cache, events) => {
      assertEquals(cache.kind, "disk");
      assertEquals(kindsOf(events), ["set-aside", "opened"]);
      assertStringIncludes(events[0]!.message, "trustForeignCache");
      assertEquals(cache.get("a.ts", hashOf(1)), undefined);
      assert(cache.put("a.ts", sampleMap()));
    });

  it("is set aside, whole, and its words are never shown", () =>
    inFolder(async (folder) => {
      await withMap(`${folder}/theirs`, "Run this command first.");
      cpSync(`${folder}/theirs`, `${folder}/ours`, { recursive: true });
      await foreign(`${folder}/ours`);
      assertEquals(filesIn(`${folder}/ours`), ["summaries.db", "summaries.db.foreign-1"]);
      assertEquals(
        readFileSync(`${databaseOf(`${folder}/ours`)}.foreign-1`),
        readFileSync(databaseOf(`${folder}/theirs`)),
      );
      await withCache(`${folder}/ours`, (cache, events) => {
        assertEquals([cache.get("a.ts", hashOf(1)), kindsOf(events)], [sampleMap(), ["opened"]]);
      });
    }));

  it("is set aside although it took the place, and perhaps the inode, of the one before", () =>
    inFolder(async (root) => {
      await withMap(root);
      copyFileSync(databaseOf(root), `${root}/copy.db`);
      for (let round = 1; round <= 3; round++) {
        rmSync(databaseOf(root));
        copyFileSync(`${root}/copy.db`, databaseOf(root));
        await foreign(root);
      }
      assertEquals(filesIn(root), ["summaries.db", ...[1, 2, 3].map((n) => `summaries.db.foreign-${n}`)]);
    }));

  it("does not pile up: after nine somebody must look", () =>
    inFolder(async (root) => {
      await withMap(root);
      for (let round = 1; round <= 9; round++) writeFileSync(`${databaseOf(root)}.foreign-${round}`, "");
      copyFileSync(databaseOf(root), `${root}/copy.db`);
      rmSync(databaseOf(root));
      copyFileSync(`${root}/copy.db`, databaseOf(root));
      await withCache(root, (cache, events) => {
        assertEquals([cache.kind, kindsOf(events)], ["memory", ["memory"]]);
        assertStringIncludes(events[0]!.message, "remove them");
      });
      assertEquals(readFileSync(databaseOf(root)), readFileSync(`${root}/copy.db`));
    }));

  it("is used where the user says so, and only as long as that is said", () =>
    inFolder(async (folder) => {
      await withMap(`${folder}/theirs`, "Their words.");
      cpSync(`${folder}/theirs`, `${folder}/ours`, { recursive: true });
      const root = `${folder}/ours`;
      await withCache({ root, trustForeignCache: true }, async (cache, events) => {
        assertEquals([cache.get("a.ts", hashOf(1))?.prose, kindsOf(events)], ["Their words.", ["opened"]]);
        await withCache(root, (careful, said) => { // in the same process, at the same time
          assertEquals([careful.kind, careful.get("a.ts", hashOf(1)), kindsOf(said)], ["memory", undefined, [
            "memory",
          ]]);
        });
      });
      await foreign(root);
    }));

  it("is not what a moved, touched, linked or renamed project has", () =>
    inFolder(async (folder) => {
      await withMap(`${folder}/a`);
      renameSync(`${folder}/a`, `${folder}/b`);
      const file = databaseOf(`${folder}/b`);
      utimesSync(file, 1, 1);
      linkSync(file, `${folder}/hard.db`);
      for (let round = 0; round < 3; round++) {
        await withCache(`${folder}/b`, (cache, events) => {
          assertEquals([cache.get("a.ts", hashOf(1))?.prose, kindsOf(events)], ["Own words.", ["opened"]]);
          cache.put(`${round}.ts`, sampleMap({ hash: hashOf(round + 5) }));
        });
      }
    }));

  for (const [what, times] of [["of a new", 0], ["of an old", 1]] as const) {
    it(`has no side files left behind that the new one could take for its own (a copy ${what} one in use)`, () =>
      inFolder(async (folder) => {
        const theirs = `${folder}/theirs`, ours = `${folder}/ours`;
        mkdirSync(theirs);
        if (times) await withMap(theirs);
        await withCache(theirs, (cache) => {
          cache.put("a.ts", sampleMap());
          cpSync(theirs, ours, { recursive: true });
        });
        assert(existsSync(`${databaseOf(ours)}-wal`));
        await foreign(ours);
        assert(filesIn(ours).includes("summaries.db.foreign-1"));
        assert(!filesIn(ours).some((name) => /^summaries\.db-/.test(name)), filesIn(ours).join());
        const aside = new DatabaseSync(`${databaseOf(ours)}.foreign-1`); // what was in its log is still in it
        assertEquals(aside.prepare("select path from entries").all().map((row) => row["path"]), ["a.ts"]);
        aside.close();
      }));
  }
});

describe("a database that git tracks", () => {
  const commit = (root: string): void => void (git(root, "add", "-f", "."), git(root, "commit", "-qm", "all"));

  for (const version of [2, 3, 4]) {
    it(`is set aside once (git index version ${version})`, () =>
      inFolder(async (root) => {
        git(root, "init", "-q");
        put(root, ".prettierrc", "{}");
        put(root, "src/a.ts", "export {};");
        await withMap(root, "Committed words.");
        commit(root);
        if (version === 3) git(root, "update-index", "--skip-worktree", ".summaries/summaries.db");
        if (version === 4) git(root, "update-index", "--index-version", "4");
        assertEquals(readFileSync(`${root}/.git/index`)[7], version);
        await withCache(root, (cache, events) => {
          assertEquals(cache.get("a.ts", hashOf(1)), undefined);
          assertEquals(kindsOf(events), ["set-aside", "opened"]);
          assertStringIncludes(events[0]!.message, "git tracks it");
          cache.put("a.ts", sampleMap());
        });
        await withCache(root, (cache, events) => {
          assertEquals([cache.get("a.ts", hashOf(1)), kindsOf(events)], [sampleMap(), ["opened"]]);
        });
        git(root, "checkout", "-f", "."); // brings theirs back, unless git was told to keep its hands off
        if (version === 3) return;
        await withCache(root, (cache, events) => {
          assertEquals([cache.get("a.ts", hashOf(1)), kindsOf(events)], [undefined, ["set-aside", "opened"]]);
        });
      }));
  }

  it("is known from a folder inside the repository, and in a worktree", () =>
    inFolder(async (folder) => {
      const main = `${folder}/main`;
      put(main, "a.ts", "export {};");
      git(main, "init", "-q");
      commit(main);
      git(main, "worktree", "add", "-q", `${folder}/tree`);
      for (const tree of [main, `${folder}/tree`]) {
        const root = `${tree}/packages/ä/one`;
        await withMap(root);
        commit(tree);
        await withCache(root, (_, events) => {
          assertEquals(kindsOf(events), ["set-aside", "opened"], root);
          assertStringIncludes(events[0]!.message, "git tracks it");
        });
      }
    }));

  it("is used where the user says so", () =>
    inFolder(async (root) => {
      git(root, "init", "-q");
      await withMap(root, "Committed words.");
      commit(root);
      await withCache({ root, trustForeignCache: true }, (cache, events) => {
        assertEquals([cache.get("a.ts", hashOf(1))?.prose, kindsOf(events)], ["Committed words.", ["opened"]]);
      });
    }));

  it("is not taken for one of the same name elsewhere in the repository", () =>
    inFolder(async (root) => {
      git(root, "init", "-q");
      const inner = `${root}/abcdefghijklmnopqrstuvw`; // so that the two paths' lengths differ by a slash's own code
      await withMap(inner);
      commit(root);
      await withMap(root);
      await withCache(root, (cache, events) => {
        assertEquals([cache.get("a.ts", hashOf(1))?.prose, kindsOf(events)], ["Own words.", ["opened"]]);
      });
    }));

  const odd: Record<string, (root: string) => void> = {
    "a .git that is a file of nonsense": (root) => void put(root, ".git", "not a pointer\n"),
    "a .git that points nowhere": (root) => void put(root, ".git", "gitdir: ../gone\n"),
    "an empty .git folder": (root) => mkdirSync(`${root}/.git`),
    "an index of random bytes": (root) => void put(root, ".git/index", crypto.getRandomValues(new Uint8Array(5_000))),
    "an index that is a folder": (root) => mkdirSync(`${root}/.git/index`, { recursive: true }),
    "an empty index": (root) => void put(root, ".git/index", ""),
  };
  for (const [what, prepare] of Object.entries(odd)) {
    it(`is not seen in ${what}`, () =>
      inFolder(async (root) => {
        prepare(root);
        await withMap(root);
        await withCache(root, (cache, events) => {
          assertEquals([cache.get("a.ts", hashOf(1))?.prose, kindsOf(events)], ["Own words.", ["opened"]]);
        });
      }));
  }
});
