/** The whole guard over a database that is shared, damaged, foreign, full, locked or not to be had: the read is the same. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { nodeSqlite } from "../../src/drivers/node_sqlite.ts";
import type { SqliteDatabase, SqliteDriver } from "../../mod.ts";
import { code, inFolder, put } from "../support.ts";
import {
  answerOf,
  assertCapped,
  command,
  entriesIn,
  type Guarded,
  type GuardedOptions,
  guardingIn,
  keepsOpen,
  LIMIT,
  LONG,
  noOtherUser,
  onDeno,
  prelude,
  readsByAddress,
  run,
  runAsNobody,
} from "./field.ts";

const databaseOf = (folder: string): string => join(folder, ".summaries/summaries.db");
const filesIn = (folder: string): string[] =>
  readdirSync(join(folder, ".summaries")).filter((name) => name !== ".gitignore").sort();
/** Whether file systems can be mounted here, and why not. */
const noMounts: string | false = (() => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can mount a file system";
  const { status } = spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "ignore" });
  return status === 0 ? false : "no file system can be mounted here";
})();

/** What a read gives without any cache. */
const bare = (folder: string): Promise<string> =>
  guardingIn(folder, ({ read }) => read({ path: "a.ts" }), { cache: false });

/** Ten reads of one file: each is what it is without a cache, and at most one costs a call. */
async function assertUnharmed(
  folder: string,
  options: GuardedOptions = {},
  more?: (guarded: Guarded) => unknown,
): Promise<void> {
  if (!existsSync(join(folder, "a.ts"))) put(folder, "a.ts", code(300));
  const expected = await bare(folder);
  await guardingIn(folder, async (guarded) => {
    for (let times = 0; times < 10; times++) assertEquals(await guarded.read({ path: "a.ts" }), expected);
    assert(guarded.model.calls.length <= 1, `${guarded.model.calls.length} calls for one content`);
    await more?.(guarded);
  }, options);
}

/** Says that everything in a database is whole. */
function assertSound(folder: string): void {
  const database = new DatabaseSync(databaseOf(folder));
  try {
    assertEquals(database.prepare("pragma integrity_check").get(), { integrity_check: "ok" });
    const torn =
      "select count(*) as n from entries e where regions != (select count(*) from regions r where r.entry_id = e.id)";
    assertEquals(database.prepare(torn).get()?.["n"], 0);
  } finally {
    database.close();
  }
}

/** A database with one map in it, made in a folder of its own. */
async function withMap(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  put(folder, "a.ts", code(300));
  await guardingIn(folder, ({ read }) => read({ path: "a.ts" }));
}

describe("many processes on one database", () => {
  it(
    "all read on, eight of them two hundred files each, and none is told of a lock",
    LONG,
    () =>
      inFolder(async (folder) => {
        for (let index = 0; index < 1600; index++) put(folder, `src/f${index}.ts`, `${code(201)}\n// ${index}`);
        const script = put(
          folder,
          "script.mjs",
          `${prelude("model: undefined")}
        let capped = 0;
        for (let index = Number(args[0]); index < 1600; index += 8) {
          if ((await read({ path: "src/f" + index + ".ts" })).includes("lines 1-200 of 202")) capped++;
        }
        const skipped = events.filter((event) => event.what === "write-skipped").length;
        await waymark.close();
        tell({ capped, skipped, notices, faults });`,
        );
        const ended = await Promise.all(
          [0, 1, 2, 3, 4, 5, 6, 7].map((index) => run(script, { args: [folder, String(index)], killAfterMs: 150_000 })),
        );
        const answers = ended.map((each) => answerOf<{ capped: number; skipped: number }>(each));
        for (const answer of answers) {
          assertEquals(answer, { capped: 200, skipped: answer.skipped, notices: [], faults: [] } as never);
        }
        assertSound(folder);
        assertEquals(
          entriesIn(folder).length,
          1600 - answers.reduce((sum, { skipped }) => sum + skipped, 0),
        );
      }),
  );

  it("all get on where sixteen begin at once with nothing there, twenty times", LONG, () =>
    inFolder(async (folder) => {
      for (let round = 0; round < 20; round++) put(folder, `r${round}/a.ts`, code(300));
      const script = put(
        folder,
        "script.mjs",
        `${prelude("cache: false")}
        import { existsSync, writeFileSync } from "node:fs";
        const until = async (file) => { while (!existsSync(folder + "/" + file)) await new Promise((resolve) => setTimeout(resolve, 2)); };
        let capped = 0;
        for (let round = 0; round < 20; round++) {
          writeFileSync(folder + "/ready" + round + "-" + args[0], "");
          await until("go" + round);
          const root = folder + "/r" + round;
          const own = createWaymark({ root, sqlite: "node:sqlite", onNotice: (notice) => notices.push(notice), onEvent: () => {} });
          if ((await own.wrap(plain)({ path: root + "/a.ts" })).includes("lines 1-200 of 300")) capped++;
          await own.close();
        }
        tell({ capped, notices, faults });`,
      );
      const running = Array.from({ length: 16 }, (_, index) =>
        run(script, { args: [folder, String(index)], killAfterMs: 150_000 }));
      const failed = Promise.race([
        ...running.map((each) =>
          each.then(({ code }) => code !== 0)
        ),
        new Promise<boolean>(() => {}),
      ]);
      for (let round = 0; round < 20; round++) {
        for (;;) {
          const ready = readdirSync(folder).filter((name) => name.startsWith(`ready${round}-`)).length;
          if (ready === 16 || await Promise.race([failed, new Promise((resolve) => setTimeout(resolve, 5))])) break;
        }
        writeFileSync(join(folder, `go${round}`), "");
      }
      for (const each of running) assertEquals(answerOf(await each), { capped: 20, notices: [], faults: [] });
      for (let round = 0; round < 20; round++) {
        assertSound(join(folder, `r${round}`));
        if (!keepsOpen) assertEquals(filesIn(join(folder, `r${round}`)), ["summaries.db"]);
      }
    }));

  it(
    "do not wait for one that holds it: the read goes on, and the map is kept when it can be",
    LONG,
    () =>
      inFolder(async (folder) => {
        await withMap(folder);
        put(folder, "b.ts", code(301));
        const holder = put(
          folder,
          "holder.mjs",
          `
        import { DatabaseSync } from "node:sqlite";
        import { existsSync } from "node:fs";
        const database = new DatabaseSync(".summaries/summaries.db");
        database.exec("begin immediate; update meta set value = value");
        console.log("held");
        while (!existsSync("release")) await new Promise((resolve) => setTimeout(resolve, 10));
        database.exec("rollback");
        database.close();
        console.log("true");`,
        );
        const held = Promise.withResolvers<void>();
        const holding = run(holder, { cwd: folder, onOutput: (text) => text.includes("held") && held.resolve() });
        await Promise.race([held.promise, holding]);
        await guardingIn(folder, async ({ read, notices, waymark, model }) => {
          assertCapped(await read({ path: "a.ts" }), code(300)); // kept before
          for (let times = 0; times < 3; times++) assertCapped(await read({ path: "b.ts" }), code(301));
          assertEquals([notices, model.calls.length], [[], 1]);
          assert(waymark.stats().writesSkipped > 0);
          put(folder, "release", "");
          assertEquals(answerOf(await holding), true);
          put(folder, "c.ts", code(302));
          assertCapped(await read({ path: "c.ts" }), code(302));
        });
        assert(entriesIn(folder).some(({ path }) => path === "c.ts"));
      }),
  );
});

describe("a database that is not what it should be", { skip: keepsOpen }, () => {
  const sql = (folder: string, text: string): void => {
    const database = new DatabaseSync(databaseOf(folder));
    database.exec(text);
    database.close();
  };
  const states: Record<string, { spoil: (folder: string) => void; aside?: RegExp; notices?: number }> = {
    "random bytes": {
      spoil: (folder) => writeFileSync(databaseOf(folder), crypto.getRandomValues(new Uint8Array(20_000))),
      aside: /\.corrupt-1$/,
    },
    "a good header before damaged pages": {
      spoil: (folder) => {
        const content = readFileSync(databaseOf(folder));
        content.fill(0xa5, 4096);
        writeFileSync(databaseOf(folder), content);
      },
      aside: /\.corrupt-1$/,
    },
    "half of itself": {
      spoil: (folder) => truncateSync(databaseOf(folder), statSync(databaseOf(folder)).size >> 1),
      aside: /\.corrupt-1$/,
    },
    "empty": { spoil: (folder) => truncateSync(databaseOf(folder), 0), notices: 0 },
    "another application's": {
      spoil: (folder) => {
        rmSync(databaseOf(folder));
        sql(folder, "create table their_notes(text); insert into their_notes values('theirs')");
      },
      aside: /\.other-1$/,
    },
    "a newer release's": { spoil: (folder) => sql(folder, "pragma user_version = 99"), notices: 1 },
    "without a column": {
      spoil: (folder) => sql(folder, "alter table entries drop column facts"),
      aside: /\.corrupt-1$/,
    },
    "without a table": { spoil: (folder) => sql(folder, "drop table regions"), aside: /\.corrupt-1$/ },
    "an older release's, unmarked": {
      spoil: (folder) => sql(folder, "pragma user_version = 0; pragma application_id = 0"),
      aside: /\.other-1$/,
    },
    "of a release that says it is older": {
      spoil: (folder) => sql(folder, "pragma user_version = 0"),
      aside: /\.corrupt-1$/,
    },
    "a copy from another checkout": {
      spoil: (folder) => {
        copyFileSync(databaseOf(folder), join(folder, "copy.db"));
        rmSync(databaseOf(folder));
        put(folder, "takes the inode", "");
        copyFileSync(join(folder, "copy.db"), databaseOf(folder));
      },
      aside: /\.foreign-1$/,
    },
    "a folder": {
      spoil: (folder) => (rmSync(databaseOf(folder)), mkdirSync(databaseOf(folder))),
      notices: 1,
    },
    "a link elsewhere": {
      spoil: (
        folder,
      ) => (cpSync(databaseOf(folder), join(folder, "else.db")),
        rmSync(databaseOf(folder)),
        symlinkSync(join(folder, "else.db"), databaseOf(folder))),
      notices: 1,
    },
  };
  for (const [what, { spoil, aside, notices = 1 }] of Object.entries(states)) {
    it(
      `(${what}) changes no read, costs one call at most, and is said ${notices ? "once" : "nowhere"}`,
      LIMIT,
      () =>
        inFolder(async (folder) => {
          await withMap(folder);
          spoil(folder);
          const was = statSync(databaseOf(folder)).isFile() ? readFileSync(databaseOf(folder)) : undefined;
          await assertUnharmed(
            folder,
            {},
            (guarded) => assertEquals(guarded.notices.length, notices, JSON.stringify(guarded.notices)),
          );
          const moved = filesIn(folder).filter((name) => aside?.test(name));
          assertEquals(moved.length, aside ? 1 : 0, filesIn(folder).join());
          if (aside?.source.includes("other")) {
            assertEquals(readFileSync(join(folder, ".summaries", moved[0]!)), was); // nobody's data is thrown away
          }
          if (what === "a newer release's") assertEquals(readFileSync(databaseOf(folder)), was);
          // What was begun anew is good: the next process finds the map there.
          if (aside) {
            await guardingIn(folder, async ({ read, model }) => {
              assertCapped(await read({ path: "a.ts" }), code(300));
              assertEquals(model.calls.length, 0);
            });
          }
        }),
    );
  }

  const places: Record<string, (folder: string) => void> = {
    "a file": (folder) => put(folder, ".summaries", "mine"),
    "a link to a folder elsewhere": (
      folder,
    ) => (mkdirSync(join(folder, "else")), symlinkSync("else", join(folder, ".summaries"))),
    "a link to nowhere": (folder) => symlinkSync("nowhere", join(folder, ".summaries")),
    "a FIFO": (folder) => execFileSync("mkfifo", [join(folder, ".summaries")]),
  };
  for (const [what, prepare] of Object.entries(places)) {
    it(
      `in a place that is ${what} is none: maps are kept in memory, and that is said once`,
      LIMIT,
      () =>
        inFolder(async (folder) => {
          prepare(folder);
          await assertUnharmed(folder, {}, ({ notices }) =>
            assertEquals(
              notices.map(({ reason }) => reason),
              ["memory"],
            ));
          if (existsSync(join(folder, "else"))) {
            assertEquals(readdirSync(join(folder, "else")), []);
          }
          assertEquals(existsSync(join(folder, "nowhere")), false);
        }),
    );
  }
});

describe("a driver that fails", () => {
  const errors: readonly (readonly [number, string])[] = [
    [5, "database is locked"],
    [6, "database table is locked"],
    [8, "attempt to write a readonly database"],
    [10, "disk I/O error"],
    [11, "database disk image is malformed"],
    [13, "database or disk is full"],
    [14, "unable to open database file"],
    [15, "locking protocol"],
    [26, "file is not a database"],
  ];
  const points = ["open", "pragma", "select", "insert", "commit", "close"] as const;

  /** The runtime's own driver, which fails at one point. */
  async function failing(
    point: typeof points[number],
    [errcode, words]: readonly [number, string],
    from: number,
  ): Promise<SqliteDriver> {
    const driver = await nodeSqlite();
    let times = 0;
    const check = (here: boolean): void => {
      if (here && ++times > from) throw Object.assign(new Error(words), { code: "ERR_SQLITE_ERROR", errcode });
    };
    return {
      name: "failing",
      open(path): SqliteDatabase {
        check(point === "open");
        const database = driver.open(path);
        return {
          exec(sql) {
            check(point === "pragma" && /pragma/i.test(sql));
            return database.exec(sql);
          },
          prepare(sql) {
            const statement = database.prepare(sql), word = /^\s*(\w+)/.exec(sql)![1]!.toLowerCase();
            const guard = <Value>(action: () => Value): Value => (check(point === word), action());
            return {
              run: (...values) => guard(() => statement.run(...values)),
              get: (...values) => guard(() => statement.get(...values)),
              all: (...values) => guard(() => statement.all(...values)),
            };
          },
          close() {
            database.close();
            check(point === "close");
          },
        };
      },
    };
  }

  for (const error of errors) {
    it(`with "${error[1]}", wherever and from whenever, harms no read`, LONG, () =>
      inFolder(async (folder) => {
        let number = 0;
        for (const point of points) {
          if (error[0] === 6 && point !== "insert" && point !== "commit") continue; // as 5, which takes its time
          for (const from of error[0] === 5 ? [0] : [0, 1, 4]) {
            const root = join(folder, `${point}${++number}`);
            mkdirSync(root);
            await assertUnharmed(root, { sqlite: await failing(point, error, from) }, (guarded) => {
              const told = guarded.notices.map(({ reason }) => reason).filter((reason) => reason !== "set-aside");
              assert(told.length <= 1, `${point} from ${from}: ${JSON.stringify(guarded.notices)}`);
            });
          }
        }
      }));
  }

  it(
    "in seconds, as translated file systems do, is tried once in the life of the process",
    LONG,
    () =>
      inFolder(async (folder) => {
        const driver = await nodeSqlite();
        let opened = 0;
        const slow: SqliteDriver = {
          name: "slow",
          open(path) {
            opened++;
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
            return driver.open(path);
          },
        };
        for (let instance = 0; instance < 3; instance++) {
          await assertUnharmed(folder, { sqlite: slow }, ({ notices }) =>
            assertEquals(
              notices.map(({ reason }) => reason),
              ["memory"],
            ));
        }
        assertEquals(opened, 1);
      }),
  );
});

describe("a disk that is full or read-only", () => {
  it(
    "that fills up while maps are kept harms no read; what is kept stays whole",
    { ...LONG, skip: noMounts },
    () =>
      inFolder(async (folder) => {
        const place = join(folder, ".summaries");
        mkdirSync(place);
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=400k,mode=0700", "tmpfs", place]);
        try {
          for (let index = 0; index < 40; index++) put(folder, `f${index}.ts`, `${code(400)}\n// ${index}`);
          await guardingIn(folder, async ({ read, notices, model }) => {
            for (let times = 0; times < 2; times++) {
              for (let index = 0; index < 40; index++) {
                assertCapped(await read({ path: `f${index}.ts` }), `${code(400)}\n// ${index}`);
              }
            }
            assertEquals([
              notices.map(({ reason }) => reason),
              model.calls.length,
            ], [["memory"], 40]);
            assertStringIncludes(notices[0]!.message, "full");
          });
          assertSound(folder);
          const kept = entriesIn(folder).length;
          assert(kept > 0 && kept < 40, `${kept} are kept`);
          await guardingIn(folder, async ({ read, model }) => { // still full: what is there is used
            for (let index = 0; index < 40; index++) {
              assertCapped(await read({ path: `f${index}.ts` }), `${code(400)}\n// ${index}`);
            }
            assert(model.calls.length <= 40 - kept + 1, `${model.calls.length} calls`);
          });
        } finally {
          execFileSync("umount", ["-l", place]);
        }
      }),
  );

  it("without room for temporary files harms no read", { ...LIMIT, skip: noMounts }, () =>
    inFolder(async (folder) => {
      const full = join(folder, "tmp");
      mkdirSync(full);
      put(folder, "a.ts", code(300));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "tmpfs", full]);
      try {
        spawnSync("dd", ["if=/dev/zero", `of=${full}/fill`, "bs=4k", "count=2"], { stdio: "ignore" });
        const script = put(
          folder,
          "script.mjs",
          `${prelude("model: undefined")}
          const first = await read({ path: "a.ts" }), second = await read({ path: "a.ts" });
          await waymark.close();
          tell({ same: first === second && first.includes("lines 1-200 of 300"), notices, faults });`,
        );
        const ended = await run(script, { args: [folder], env: { TMPDIR: full, SQLITE_TMPDIR: full } });
        assertEquals(answerOf(ended), { same: true, notices: [], faults: [] });
      } finally {
        execFileSync("umount", ["-l", full]);
      }
    }));

  for (const existing of [true, false]) {
    it(`that is read-only, ${existing ? "with maps on it: they are used" : "with none"}, and that is said once`, {
      ...LIMIT,
      skip: noMounts,
    }, () =>
      inFolder(async (folder) => {
        const root = join(folder, "project");
        mkdirSync(root);
        put(root, "a.ts", code(300));
        put(root, "b.ts", code(301));
        if (existing) await withMap(root);
        const before = readdirSync(root, { recursive: true }).map(String).sort();
        execFileSync("mount", ["--bind", root, root]);
        execFileSync("mount", ["-o", "remount,ro,bind", root]);
        try {
          await guardingIn(root, async ({ read, notices, model }) => {
            for (let times = 0; times < 3; times++) {
              assertCapped(await read({ path: "a.ts" }), code(300));
              assertCapped(await read({ path: "b.ts" }), code(301));
            }
            assertEquals(notices.map(({ reason }) => reason), ["memory"]);
            assertEquals(model.calls.length, existing && readsByAddress ? 1 : 2);
          });
          assertEquals(readdirSync(root, { recursive: true }).map(String).sort(), before);
        } finally {
          execFileSync("umount", ["-l", root]);
        }
      }));
  }

  it("in a folder of one's own that may not be written harms no read and uses what is there", {
    ...LIMIT,
    skip: noOtherUser || keepsOpen,
  }, () =>
    inFolder(async (folder) => {
      const script = put(
        folder,
        "script.mjs",
        `${prelude("model: undefined")}
        const same = [];
        for (const path of args) same.push((await read({ path })).includes("[waymark map"));
        const { hits } = waymark.stats();
        await waymark.close();
        tell({ same, hits, notices: notices.length, faults });`,
      );
      put(folder, "a.ts", code(300));
      put(folder, "b.ts", code(301));
      const again = () => runAsNobody(script, folder, { args: [folder, "a.ts", "b.ts", "b.ts"] });
      const first = answerOf(await runAsNobody(script, folder, { args: [folder, "a.ts"] }));
      assertEquals(first, { same: [true], hits: 0, notices: 0, faults: [] });
      chmodSync(join(folder, ".summaries"), 0o555);
      assertEquals(answerOf(await again()), {
        same: [true, true, true],
        hits: readsByAddress ? 2 : 1,
        notices: 1,
        faults: [],
      });
    }));
});

describe("opening and closing", () => {
  it(
    "leaves nothing locked: another connection may drop and vacuum at once, forty times",
    { ...LONG, skip: keepsOpen },
    () =>
      inFolder(async (folder) => {
        for (let round = 0; round < 40; round++) {
          await withMap(folder);
          const database = new DatabaseSync(databaseOf(folder));
          database.exec("pragma busy_timeout = 0; drop table regions; vacuum");
          database.close();
          rmSync(join(folder, ".summaries"), { recursive: true });
        }
      }),
  );

  it("is not needed for the process to end, nor is closing", LIMIT, () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const script = put(
        folder,
        "script.mjs",
        `${prelude()}
        tell({ capped: (await read({ path: "a.ts" })).includes("[waymark map") });`,
      );
      assertEquals(answerOf(await run(script, { args: [folder], killAfterMs: 30_000 })), { capped: true });
      await guardingIn(folder, async ({ read, model }) => {
        assertCapped(await read({ path: "a.ts" }), code(300));
        assertEquals(model.calls.length, 0);
      });
    }));
});

describe("a runtime without what the database needs", () => {
  const script = `${prelude('model: undefined, sqlite: "auto"')}
    const text = Array.from({ length: 300 }, (_, index) => "function f" + index + "() {}").join("\\n");
    const stub = waymark.wrap(({ limit }) => text.split("\\n").slice(0, limit).join("\\n"), { facts: () => ({ cwd: folder }) });
    const results = [await stub({ path: "a.ts" }), await stub({ path: "a.ts" })];
    await waymark.close();
    tell({ capped: results.map((result) => result.includes("lines 1-200 of 300")), whole: results.every((result) => result.startsWith(text) || result.includes("[waymark map")),
      notices: notices.length, kept: events.some((event) => event.what === "opened"), faults });`;
  const text = Array.from({ length: 300 }, (_, index) => `function f${index}() {}`).join("\n");

  const rights: Record<string, { allow: (folder: string) => string[]; capped: boolean; kept: boolean }> = {
    "all but FFI": {
      allow: () => ["--allow-read", "--allow-write", "--allow-env", "--allow-sys"],
      capped: true,
      kept: true,
    },
    "no environment": { allow: () => ["--allow-read", "--allow-write"], capped: true, kept: true },
    "nothing to write": { allow: () => ["--allow-read", "--allow-env"], capped: true, kept: false },
    "writing elsewhere alone": { allow: () => ["--allow-read", "--allow-write=/nowhere"], capped: true, kept: false },
    "reading the project alone": { allow: (folder) => [`--allow-read=${folder}`], capped: true, kept: false },
    "reading elsewhere alone": { allow: () => ["--allow-read=/nowhere"], capped: false, kept: false },
    "nothing at all": { allow: () => [], capped: false, kept: false },
  };
  for (const [what, { allow, capped, kept }] of Object.entries(rights)) {
    it(`(${what}) reads on, on a terminal too, and nobody is asked`, {
      ...LIMIT,
      skip: !onDeno
        ? "permissions are Deno's"
        : existsSync("/usr/bin/script")
        ? false
        : "no terminal can be had without script(1)",
    }, () =>
      inFolder((folder) => {
        put(folder, "a.ts", text);
        const file = put(folder, "script.mjs", script);
        const words = command(file, { permissions: allow(folder), bare: true });
        const quoted = [...words, folder].map((word) => `'${word}'`).join(" ");
        const { stdout, signal } = spawnSync("script", ["-qec", quoted, "/dev/null"], {
          encoding: "utf8",
          timeout: 30_000,
          input: "",
          env: { ...process.env, NO_COLOR: "1" },
        });
        assertEquals([signal, /requests .* access|Allow\?/.test(stdout)], [null, false], stdout);
        const answer = JSON.parse(stdout.trim().split("\n").at(-1)!);
        assertEquals(answer, {
          capped: [capped, capped],
          whole: true,
          notices: capped && !kept ? 1 : 0,
          kept,
          faults: [],
        });
        assertEquals(existsSync(databaseOf(folder)), kept);
      }));
  }

  it("(no SQLite in it) reads on with maps in memory, said once", {
    ...LIMIT,
    skip: onDeno || "Bun" in globalThis ? "SQLite cannot be taken out of this runtime" : false,
  }, () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", text);
      const file = put(folder, "script.mjs", script), [node, ...rest] = command(file) as [string, ...string[]];
      const { stdout, stderr } = spawnSync(node, ["--no-experimental-sqlite", ...rest, folder], {
        encoding: "utf8",
        timeout: 30_000,
      });
      const answer = JSON.parse(stdout.trim().split("\n").at(-1) || JSON.stringify(stderr));
      assertEquals(answer, { capped: [true, true], whole: true, notices: 1, kept: false, faults: [] });
      await Promise.resolve();
    }));
});

describe("a cache of very many files", () => {
  it("stays bounded, its log too, with another process at it all the while", LONG, () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const script = put(
        folder,
        "script.mjs",
        `${prelude("model: undefined")}
        import { existsSync } from "node:fs";
        console.log("open");
        while (!existsSync(folder + "/stop")) {
          await read({ path: "a.ts" });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        await waymark.close();
        tell({ notices, faults });`,
      );
      const open = Promise.withResolvers<void>();
      const reading = run(script, {
        args: [folder],
        killAfterMs: 150_000,
        onOutput: (text) => text.includes("open") && open.resolve(),
      });
      await Promise.race([open.promise, reading]);
      let largest = 0;
      try {
        const bounds = { maxEntries: 200 } as object; // not an option of the public kind: the real bound is 50,000
        await guardingIn(folder, async ({ read, notices }) => {
          for (let index = 0; index < 600; index++) {
            put(folder, "b.ts", `${code(210)}\n// ${index}`);
            put(folder, `f${index % 300}.ts`, `${code(205)}\n// ${index}`);
            await read({ path: "b.ts" });
            await read({ path: `f${index % 300}.ts` });
            if (index % 50 === 0) largest = Math.max(largest, statSync(`${databaseOf(folder)}-wal`).size);
          }
          assertEquals(notices, []);
        }, { model: undefined, ...bounds });
      } finally {
        put(folder, "stop", "");
      }
      assertEquals(answerOf(await reading), { notices: [], faults: [] });
      const entries = entriesIn(folder);
      assert(entries.length <= 200 + 256, `${entries.length} entries`);
      assert(entries.filter(({ path }) => path === "b.ts").length <= 4);
      assert(largest < 16 << 20, `the log grew to ${largest} bytes`);
      assertSound(folder);
    }));
});
