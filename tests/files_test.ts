/** The disk on the runtime at hand: real files, links, pipes and permissions. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs, {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Disk } from "../src/disk_types.ts";
import { disk, diskFault, nodeDisk, readSource, sha256, wayTo } from "../src/files.ts";
import { hashFile, lookAt } from "../src/hash_file.ts";
import { hashingAtOnce, inFolder, put } from "./support.ts";

const MIB = 1 << 20;
const hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const noise = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, index) => (index * 7919) >> 3);
const onDeno = "Deno" in globalThis;
/** Not by way of node:child_process, which gives every Deno it starts all permissions. */
const runDeno = (...args: string[]): string =>
  new TextDecoder().decode(
    new Deno.Command(process.execPath, { args: ["run", "--no-lock", ...args] }).outputSync().stdout,
  ).trim();
const module = new URL("../src/files.ts", import.meta.url).href;

/** Fails instead of hanging. */
async function soon<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it hangs")), 5_000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What holds for the disk of every runtime; on Deno the one on `node:fs` is tried beside its own. */
const disks: Record<string, () => Disk> = {
  "the disk": disk,
  ...(onDeno ? { "the disk on node:fs": () => nodeDisk(fs) } : {}),
};

for (const [name, disk] of Object.entries(disks)) {
  describe(name, () => {
    it("tells files, folders and links apart", () =>
      inFolder((folder) => {
        const file = put(folder, "a.ts", "12345"), link = join(folder, "link.ts");
        symlinkSync(file, link);
        const facts = disk().stat(file), known = statSync(file);
        assertEquals([facts.isFile, facts.isDirectory, facts.isSymlink, facts.size], [true, false, false, 5]);
        assertEquals([facts.ino, facts.dev, facts.uid, facts.mode], [known.ino, known.dev, known.uid, known.mode]);
        assertEquals(facts.born, Math.floor(known.birthtimeMs));
        assertEquals([disk().lstat(link).isSymlink, disk().stat(link).isFile], [true, true]);
        assertEquals([disk().stat(folder).isDirectory, disk().realPath(link)], [true, file]);
      }));

    it("makes private folders and files, moves and removes them", () =>
      inFolder((folder) => {
        const nested = join(folder, "a/b"), file = join(nested, "c.txt"), moved = join(folder, "d.txt");
        disk().mkdir(nested, 0o700);
        disk().mkdir(nested, 0o700);
        disk().writeText(file, "text", 0o600);
        assertEquals([disk().stat(nested).mode & 0o777, disk().stat(file).mode & 0o777], [0o700, 0o600]);
        disk().chmod(file, 0o400);
        assertEquals(disk().stat(file).mode & 0o777, 0o400);
        disk().rename(file, moved);
        assertEquals(new TextDecoder().decode(disk().readBytes(moved)), "text");
        disk().remove(moved);
        assertEquals([disk().exists(moved), disk().exists(nested)], [false, true]);
      }));

    it("reads an open file piece by piece, waiting or not, to its end", () =>
      inFolder(async (folder) => {
        const file = disk().open(put(folder, "a.ts", "abcdef")), buffer = new Uint8Array(4);
        assertEquals([file.read(buffer), String.fromCharCode(...buffer)], [4, "abcd"]);
        assertEquals([await file.readSoon(buffer), String.fromCharCode(...buffer.subarray(0, 2))], [2, "ef"]);
        assertEquals([file.read(buffer), await file.readSoon(buffer)], [0, 0]);
        file.close();
      }));

    it("sees a dangling link, and nothing where there is nothing", () =>
      inFolder((folder) => {
        symlinkSync(join(folder, "gone.ts"), join(folder, "link.ts"));
        assertEquals([disk().exists(join(folder, "link.ts")), disk().exists(join(folder, "gone.ts"))], [true, false]);
      }));

    it("says why it could not: nothing there, or not allowed, or else", () =>
      inFolder((folder) => {
        const fault = (action: () => unknown): string => {
          try {
            action();
          } catch (error) {
            return diskFault(error);
          }
          return "none";
        };
        const file = put(folder, "a.ts", "x");
        symlinkSync(join(folder, "circle.ts"), join(folder, "circle.ts"));
        assertEquals(fault(() => disk().stat(join(folder, "gone.ts"))), "absent");
        assertEquals(fault(() => disk().stat(join(file, "below.ts"))), "absent");
        assertEquals(fault(() => disk().stat(join(folder, "circle.ts"))), "other");
        assertEquals(["EACCES", "EPERM", "not-allowed"].map((code) => diskFault({ code })), [
          "denied",
          "denied",
          "denied",
        ]);
        assertEquals(["PermissionDenied", "NotCapable"].map((name) => diskFault({ name })), ["denied", "denied"]);
        assertEquals([diskFault(undefined), diskFault("text")], ["other", "other"]);
      }));

    it("knows the working directory, the home directory and the user", () => {
      assertEquals(disk().cwd(), process.cwd());
      assertEquals(disk().home(), process.env["HOME"] || process.env["USERPROFILE"] || undefined);
      assertEquals(disk().userId(), process.getuid?.());
      assert(disk().mayRead("/") && disk().mayWrite("/"));
    });
  });
}

describe("the working directory", () => {
  it("that is gone is no failure", () =>
    inFolder((folder) => {
      const script = put(
        folder,
        "script.mjs",
        `import { rmdirSync } from "node:fs"; const { disk } = await import(${JSON.stringify(module)});
        const here = process.cwd(); rmdirSync(here); console.log([here, undefined].includes(disk().cwd()));`,
      );
      mkdirSync(join(folder, "gone"));
      const flags = onDeno ? ["run", "-A", "--no-lock"] : [];
      const out = execFileSync(process.execPath, [...flags, script], { cwd: join(folder, "gone"), encoding: "utf8" });
      assertEquals(out.trim(), "true");
    }));
});

describe("the bytes of a source file", () => {
  it("come as one buffer, at every size around the piece it is read in", () =>
    inFolder(async (folder) => {
      for (const size of [0, 1, 4096, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 17]) {
        const bytes = noise(size), source = await readSource(put(folder, `${size}.ts`, bytes), { maxBytes: Infinity });
        assertEquals(source!.size, size);
        assertEquals(hex(source!.bytes), hex(bytes));
      }
    }));

  it("are not there for a folder, a device, and a file over the limit", () =>
    inFolder(async (folder) => {
      mkdirSync(join(folder, "lib.ts"));
      assertEquals(await readSource(join(folder, "lib.ts"), { maxBytes: 10 }), undefined);
      assertEquals(await readSource("/dev/null", { maxBytes: 10 }), undefined);
      const file = put(folder, "a.ts", "12345");
      assertEquals(await readSource(file, { maxBytes: 4 }), undefined);
      assertEquals((await readSource(file, { maxBytes: 5 }))!.size, 5);
    }));

  it("are never waited for on a named pipe, which is not opened", () =>
    inFolder(async (folder) => {
      const pipe = join(folder, "pipe.ts");
      execFileSync("mkfifo", [pipe]);
      assertEquals(await soon(readSource(pipe, { maxBytes: Infinity })), undefined);
      assertEquals(await soon(hashFile(pipe)), undefined);
    }));

  it("are not looked for behind a file that says it is empty", () =>
    inFolder(async (folder) => {
      assertEquals((await soon(readSource("/proc/self/mounts", { maxBytes: 10 })))!.size, 0);
      assertEquals((await readSource(put(folder, "empty.ts", ""), { maxBytes: 10 }))!.size, 0);
    }));

  it("fail as the disk does where the file is missing or a link dangles or circles", () =>
    inFolder(async (folder) => {
      symlinkSync(join(folder, "gone.ts"), join(folder, "dangling.ts"));
      symlinkSync(join(folder, "two.ts"), join(folder, "one.ts"));
      symlinkSync(join(folder, "one.ts"), join(folder, "two.ts"));
      for (const name of ["gone.ts", "dangling.ts", "one.ts"]) {
        await assertRejects(() => soon(readSource(join(folder, name), { maxBytes: 10 })));
      }
    }));

  it("are one buffer of a file that grows meanwhile", () =>
    inFolder(async (folder) => {
      const first = noise(2 * MIB), file = put(folder, "grows.ts", first);
      const reading = readSource(file, { maxBytes: Infinity });
      appendFileSync(file, noise(3 * MIB));
      const { bytes, size } = (await reading)!;
      assert(bytes.length === size && size >= first.length);
      assertEquals(hex(bytes.subarray(0, first.length)), hex(first));
    }));

  it("are one buffer of a file that shrinks meanwhile", () =>
    inFolder(async (folder) => {
      const first = noise(4 * MIB), file = put(folder, "shrinks.ts", first);
      const reading = readSource(file, { maxBytes: Infinity });
      truncateSync(file, 1000);
      const { bytes, size } = (await reading)!;
      assert(bytes.length === size && size >= MIB && size <= first.length);
      // What was read after the cut is the kernel's to say; what was read before it stands.
      assertEquals(hex(bytes.subarray(0, MIB)), hex(first.subarray(0, MIB)));
    }));

  it("are given up when the file grows over the limit meanwhile", () =>
    inFolder(async (folder) => {
      const file = put(folder, "grows.ts", noise(2 * MIB));
      const reading = readSource(file, { maxBytes: 2 * MIB });
      appendFileSync(file, "more");
      assertEquals(await reading, undefined);
    }));

  it("leave the event loop free while a large file is read", () =>
    inFolder(async (folder) => {
      const file = put(folder, "large.ts", noise(64 * MIB)); // many pieces
      let turns = 0, reading = true;
      const turn = (): void => {
        turns++;
        if (reading) setImmediate(turn);
      };
      setImmediate(turn);
      await readSource(file, { maxBytes: Infinity });
      reading = false;
      assert(turns > 1, `${turns} turns`);
    }));

  it("stop at the caller's abort, with its reason", () =>
    inFolder(async (folder) => {
      const file = put(folder, "large.ts", noise(8 * MIB)), abort = new AbortController(), reason = new Error("enough");
      const reading = readSource(file, { maxBytes: Infinity, signal: abort.signal });
      abort.abort(reason);
      assertEquals(await assertRejects(() => reading), reason);
      assertEquals(await assertRejects(() => hashFile(file, { signal: abort.signal })), reason);
    }));
});

describe("the way to what is not there", () => {
  it("costs little, however many folders the path names, there or not: it is asked on the calling path", () =>
    inFolder((folder) => {
      const deep = `${folder}${"/a".repeat(700)}`;
      mkdirSync(deep, { recursive: true });
      const began = performance.now();
      for (let time = 0; time < 3; time++) {
        assertEquals(wayTo(`${deep}${"/m".repeat(1200)}`), `${deep}${"/m".repeat(1200)}`);
      }
      assert(performance.now() - began < 20_000, "an anti-hang limit");
    }));
});

describe("the hash", () => {
  it("is SHA-256 in lower-case hex before and after the faster one is loaded", async () => {
    for (let round = 0; round < 8; round++) {
      const bytes = noise(round * 1000);
      assertEquals(await sha256(bytes), hex(bytes));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  it("is that of a view's own bytes, in shared memory too", async () => {
    const bytes = noise(100).subarray(10, 90), shared = new Uint8Array(new SharedArrayBuffer(80));
    shared.set(bytes);
    assertEquals([await sha256(bytes), await sha256(shared)], [hex(bytes), hex(bytes)]);
  });

  it("differs for bytes that decode to the same text", async () => {
    const one = new Uint8Array([0x63, 0xe9]), other = new Uint8Array([0x63, 0xe8]);
    assertEquals(new TextDecoder().decode(one), new TextDecoder().decode(other));
    assert(await sha256(one) !== await sha256(other));
  });

  it("of shared memory and views holds for the first hash of a process as well", () =>
    inFolder((folder) => {
      const script = put(
        folder,
        "script.mjs",
        `const { sha256 } = await import(${JSON.stringify(module)});
        const shared = new Uint8Array(new SharedArrayBuffer(3)); shared.set([1, 2, 3]);
        const hashes = [await sha256(shared), await sha256(new Uint8Array([0, 1, 2, 3]).subarray(1))];
        console.log(hashes.join(" "));`,
      );
      const out = execFileSync(process.execPath, [...(onDeno ? ["run", "-A", "--no-lock"] : []), script], {
        encoding: "utf8",
      });
      const expected = hex(new Uint8Array([1, 2, 3]));
      assertEquals(out.trim(), `${expected} ${expected}`);
    }));

  it("of a file is that of its bytes, at every size around the piece it is read in", () =>
    inFolder(async (folder) => {
      for (const size of [0, 1, MIB, MIB + 1, 3 * MIB + 17]) {
        const bytes = noise(size);
        assertEquals(await hashFile(put(folder, `${size}.ts`, bytes)), { hash: hex(bytes), size });
      }
      assertEquals(await hashFile(folder), undefined);
    }));

  it("of a small file is that of its bytes at every size, at once, and those bytes can still be had", () =>
    inFolder(async (folder) => {
      await hashingAtOnce();
      for (const size of [1, 100_000, 7, MIB - 1, MIB, 4096]) {
        const bytes = noise(size), file = put(folder, `${size}.ts`, bytes), look = lookAt(file, disk().stat(file))!;
        assertEquals([look.hash, look.size, hex(look.bytes())], [hex(bytes), size, hex(bytes)]);
      }
      for (const size of [0, MIB + 1]) {
        const file = put(folder, `${size}.ts`, noise(size));
        assertEquals(lookAt(file, disk().stat(file)), undefined);
      }
      assertEquals(lookAt(folder, disk().stat(folder)), undefined);
    }));

  it("of a small file that grew or shrank since the disk was asked is that of what is there, or is not had at once", () =>
    inFolder(async (folder) => {
      await hashingAtOnce();
      const large = put(folder, "large.ts", noise(MIB));
      assertEquals(lookAt(large, disk().stat(large))?.size, MIB); // from now on there is room for what grows
      const file = put(folder, "a.ts", noise(1000)), facts = disk().stat(file);
      for (const size of [0, 1, 999, 1001, 1500, 5000, 3 * MIB]) {
        const bytes = noise(size), look = (writeFileSync(file, bytes), lookAt(file, facts));
        if (size < 3 * MIB) assertEquals([look!.hash, look!.size, hex(look!.bytes())], [hex(bytes), size, hex(bytes)]);
        else assertEquals(look, undefined);
      }
    }));

  it("of a file sees a change of one byte under an old time stamp", () =>
    inFolder(async (folder) => {
      const file = put(folder, "a.ts", "const a = 1;"), before = await hashFile(file);
      execFileSync("touch", ["-r", file, join(folder, "stamp")]);
      writeFileSync(file, "const a = 2;");
      execFileSync("touch", ["-r", join(folder, "stamp"), file]);
      assert((await hashFile(file))!.hash !== before!.hash);
    }));
});

describe("a disk that may not be read", () => {
  const noRights = !onDeno && process.getuid?.() === 0
    ? "root may read everything"
    : onDeno
    ? "Deno's own rules come first"
    : false;

  it(
    "fails as the runtime does, and is told apart from a missing file",
    { skip: noRights },
    () =>
      inFolder((folder) => {
        const file = put(folder, "a.ts", "x");
        chmodSync(file, 0);
        assertEquals(diskFault(assertThrows(() => disk().open(file))), "denied");
      }),
  );

  const script = `
    import { disk, diskFault, readSource } from ${JSON.stringify(module)};
    const [inside, outside] = Deno.args, said = [];
    const fault = (action) => { try { action(); return "done"; } catch (error) { return diskFault(error); } };
    for (const path of [inside, outside, ""]) said.push(disk().mayRead(path), disk().mayWrite(path));
    for (const path of [inside, outside]) {
      for (const name of ["stat", "lstat", "realPath", "readBytes", "open", "remove"]) said.push(fault(() => disk()[name](path)));
      said.push(fault(() => disk().chmod(path, 0o600)), fault(() => disk().mkdir(path + ".d", 0o700)));
      said.push(fault(() => disk().writeText(path, "x", 0o600)), fault(() => disk().rename(path, path + ".x")), disk().exists(path));
      said.push(await readSource(path, { maxBytes: 9 }).then(() => "done", diskFault));
    }
    said.push(disk().home() === undefined, disk().userId() === undefined, typeof disk().cwd());
    console.log(said.join(" "));`;
  const denied = Array(10).fill("denied").join(" ");

  it("without permissions on Deno refuses everything and asks nothing", { skip: !onDeno }, () =>
    inFolder((folder) => {
      const inside = put(folder, "a.ts", "x"), outside = put(folder, "b.ts", "x");
      const file = put(folder, "script.ts", script);
      const out = runDeno("--no-prompt", file, inside, outside);
      const nothing = `${denied} false denied`;
      assertEquals(out, `false false false false false false ${nothing} ${nothing} true true string`);
    }));

  it(
    "on a terminal on Deno refuses instead of prompting",
    { skip: !onDeno || !existsSync("/usr/bin/script") },
    () =>
      inFolder((folder) => {
        const inside = put(folder, "in/a.ts", "x"), outside = put(folder, "b.ts", "x");
        const file = put(folder, "script.ts", script);
        const command = `${process.execPath} run --no-lock --allow-read=${
          join(folder, "in")
        } ${file} ${inside} ${outside}`;
        const run = spawnSync("script", ["-qec", command, "/dev/null"], {
          encoding: "utf8",
          timeout: 20_000,
          input: "",
        });
        assert(!/requests .* access|Allow\?/.test(run.stdout), run.stdout);
        const some = "done done done done done denied denied denied denied denied true done";
        assertEquals(
          run.stdout.trim(),
          `true false false false false false ${some} ${denied} false denied true true string`,
        );
      }),
  );

  it(
    "is asked anew every time, so that a permission taken back is seen",
    { skip: !onDeno },
    () =>
      inFolder((folder) => {
        const file = put(folder, "a.ts", "x");
        const revoke = put(
          folder,
          "revoke.ts",
          `
        import { disk } from ${JSON.stringify(module)};
        const before = disk().mayRead(Deno.args[0]!);
        Deno.permissions.revokeSync({ name: "read" });
        console.log(before, disk().mayRead(Deno.args[0]!));`,
        );
        const out = runDeno("--no-prompt", "--allow-read", revoke, file);
        assertEquals(out, "true false");
      }),
  );
});

describe("a pipe put in a file's place since it was looked at", () => {
  const isOld = onDeno && Deno.version.deno.startsWith("2.3.");

  it(
    "is not waited for by the disk on node:fs",
    { skip: isOld && "Deno 2.3 leaves the flag out" },
    () =>
      inFolder((folder) => {
        const pipe = join(folder, "a.ts");
        execFileSync("mkfifo", [pipe]);
        const script = put(
          folder,
          "script.ts",
          `import fs from "node:fs";
        import { nodeDisk } from ${JSON.stringify(module)};
        try { nodeDisk(fs).open(${JSON.stringify(pipe)}); } catch (error) { console.log(error.message); }`,
        );
        const args = onDeno ? ["run", "-A", "--no-check", "--no-config", script] : [script];
        const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
        assertEquals(stdout, `Cannot read ${pipe}: it is not a regular file\n`);
      }),
  );
});
