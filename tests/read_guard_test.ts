import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sha256 } from "../src/files.ts";
import { compose } from "../src/compose.ts";
import { WaymarkError } from "../src/errors.ts";
import type { WaymarkEvent } from "../src/events.ts";
import { stripAnnotations } from "../src/file_map.ts";
import { fieldsCodec } from "../src/codecs.ts";
import type { Annotation, FileSource, ReadCall, Region, Summarizer, Summary } from "../src/types.ts";
import { createMaps } from "../src/maps.ts";
import { createProject } from "../src/project.ts";
import type { GuardParts } from "../src/guard_types.ts";
import { guardReads, readGuard } from "../src/read_guard.ts";
import { rereadGuard } from "../src/session.ts";
import { guardRereads } from "../src/reread_guard.ts";
import { conversationOf, createSession } from "../src/session.ts";
import type { Session } from "../src/session_types.ts";
import { wrap } from "../src/wrap.ts";
import type { WrapOptions } from "../src/wrap_types.ts";
import { code, hashingAtOnce, inFolder, type PlainArguments, plainTool, put } from "./support.ts";

const usage = { calls: 1, input: 10, output: 5, cacheRead: 0, cacheWrite: 0, ms: 1 };
const region = (start: number, end: number, name: string): Region => ({
  start,
  end,
  kind: "function",
  name,
  note: "does it",
});
const summary: Summary = { prose: "Adds numbers.", regions: [region(1, 1, "f1"), region(250, 260, "f250")], usage };

function model(summarize: Summarizer["summarize"] = () => Promise.resolve(summary)): Summarizer & { runs: number } {
  const made: Summarizer & { runs: number } = {
    maker: "model:test",
    version: 1,
    runs: 0,
    summarize: (file, context) => (made.runs++, summarize(file, context)),
  };
  return made;
}

/** A guarded plain tool over the files of a folder. */
function guarded(
  folder: string,
  options: Partial<GuardParts> & { summarizer?: Summarizer; source?: FileSource } = {},
  wrapOptions: WrapOptions = {},
) {
  const summarizer = model(), events: WaymarkEvent[] = [];
  const tool = plainTool(folder), onEvent = (event: WaymarkEvent) => events.push(event);
  const guard = guardReads({
    project: createProject({ cache: false, source: options.source }),
    maps: createMaps({ summarizer: options.summarizer ?? summarizer, onEvent }),
    onEvent,
    ...options,
  });
  const read = wrap(tool.read, guard, { facts: () => ({ cwd: folder }), ...wrapOptions }) as (
    args: unknown,
  ) => Promise<string>;
  return { read, calls: tool.calls, summarizer, events };
}

describe("readGuard(): the test is span", () => {
  it("shortens 201 lines and passes 200, with and without a final newline", () =>
    inFolder(async (folder) => {
      for (
        const [lines, end, capped] of [[200, "", false], [200, "\n", false], [201, "", true], [201, "\n", true], [
          199,
          "\n\n\n",
          true,
        ], [199, "\n\n", false]] as const
      ) {
        put(folder, "a.ts", code(lines) + end);
        const { read, calls } = guarded(folder);
        const text = await read({ path: "a.ts" });
        assertEquals(text.includes("[waymark map"), capped, `${lines} lines and ${JSON.stringify(end)}`);
        assertEquals(calls, [capped ? { path: "a.ts", limit: 200 } : { path: "a.ts" }]);
        if (!capped) assertEquals(text, code(lines) + end);
      }
    }));

  it("measures from the offset: what is left may be few enough", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(500) + "\n");
      for (
        const [offset, capped] of [[300, true], [301, false], [302, false], [500, false], [501, false], [
          5000,
          false,
        ]] as const
      ) {
        const { read, calls } = guarded(folder);
        const text = await read({ path: "a.ts", offset });
        assertEquals([text.includes("[waymark map"), calls.length], [capped, 1], `offset ${offset}`);
        assertEquals(calls[0], capped ? { path: "a.ts", offset, limit: 200 } : { path: "a.ts", offset });
      }
    }));

  it("measures by the limit: 200 or fewer pass, more are shortened where there are more", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (const [limit, capped] of [[1, false], [200, false], [201, true], [100000, true]] as const) {
        const { read, calls } = guarded(folder);
        await read({ path: "a.ts", limit });
        assertEquals(calls, [{ path: "a.ts", limit: capped ? 200 : limit }]);
      }
      const { read, calls } = guarded(folder);
      await read({ path: "a.ts", offset: 150, limit: 1000 });
      assertEquals(calls, [{ path: "a.ts", offset: 150, limit: 1000 }]);
    }));

  it("takes another limit, and every number follows it", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(51));
      const { read, calls } = guarded(folder, { maxLines: 50 });
      assertStringIncludes(await read({ path: "a.ts" }), "PARTIAL, lines 1-50 of 51");
      assertEquals(calls[0]?.limit, 50);
    }));

  it("passes a call for 200 lines or fewer on at once: no disk, no hash, the same argument object", async () => {
    let touched = 0; // counted, since the guard lives with whatever its parts throw
    const fail = (): never => assert(++touched === 0, "a short read touches nothing") as never;
    const project = { locate: fail, window: fail, read: fail, identify: fail, share: fail, snapshot: fail };
    const args = { path: "a.ts", limit: 200 };
    const read = wrap((given: unknown) => given, guardReads({ project, maps: { get: fail } }));
    assertStrictEquals(await read(args), args);
    assertEquals(touched, 0);
  });
});

describe("readGuard(): what comes back", () => {
  it("is the tool's own 200 lines and the file's whole map after them", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const { read } = guarded(folder);
      const text = await read({ path: "a.ts" });
      assertEquals(stripAnnotations(text).trimEnd(), code(200));
      assertMatch(text, /\n\n\[waymark map: PARTIAL, lines 1-200 of 300 are shown/);
      assertStringIncludes(text, "Adds numbers.");
      assertStringIncludes(text, "250-260  function  f250  does it");
      assertStringIncludes(text, "offset: 201, limit: 100");
      assert(text.endsWith("[end of waymark map]"));
    }));

  it("is a field where the result is an object, with the facts for programs", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const tool = plainTool(folder);
      const read = wrap(
        (args: { path: string }) => ({ content: tool.read(args), path: args.path }),
        readGuard({ summarizer: model() }),
        { facts: () => ({ cwd: folder }) },
      );
      const result = await read({ path: "a.ts" }) as unknown as {
        content: string;
        annotation: Record<string, unknown>;
      };
      assertEquals(result.content.trimEnd(), code(200));
      const { kind, path, start, end, lines, maker } = result.annotation;
      assertEquals([kind, path, start, end, lines, maker], ["map", "a.ts", 1, 200, 300, "model:test"]);
    }));

  it("is {content, annotation} with the codec made for it", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const { read } = guarded(folder, {}, { codec: fieldsCodec });
      const { content, annotation } = await read({ path: "a.ts" }) as unknown as {
        content: string;
        annotation: { kind: string };
      };
      assertEquals([content.trimEnd(), annotation.kind], [code(200), "map"]);
    }));

  it("is the map whole, however many regions it has", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(900));
      const regions = Array.from({ length: 400 }, (_, index) => region(2 * index + 1, 2 * index + 2, `part${index}`));
      const { read } = guarded(folder, { summarizer: model(() => Promise.resolve({ ...summary, regions })) });
      const text = await read({ path: "a.ts" });
      for (const { start, end, name } of regions) {
        assertStringIncludes(text, `\n${start}-${end}  function  ${name}  does it`);
      }
    }));

  it("says how to go on in file numbering, from the range that was asked for", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(1000));
      const { read, calls } = guarded(folder);
      const text = await read({ path: "a.ts", offset: 300, limit: 401 });
      assertEquals(calls, [{ path: "a.ts", offset: 300, limit: 200 }]);
      assert(text.startsWith("export function f300("));
      assertStringIncludes(text, "PARTIAL, lines 300-499 of 1000");
      assertStringIncludes(text, "offset: 500, limit: 200");
    }));

  it("keeps the lines' own endings byte for byte", () =>
    inFolder(async (folder) => {
      const lines = Array.from({ length: 300 }, (_, index) => `line ${index + 1}${index === 149 ? "\r" : ""}`).join(
        "\n",
      );
      put(folder, "a.ts", lines);
      const { read } = guarded(folder);
      assertEquals(
        (await read({ path: "a.ts" })).slice(0, lines.indexOf("line 201")),
        lines.slice(0, lines.indexOf("line 201")),
      );
    }));
});

describe("readGuard(): where no map can be made", () => {
  it("reads exactly as asked and says why in the result", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const failing = model(() =>
        Promise.reject(new WaymarkError("provider-error", "Cannot summarize a.ts: overloaded (529)"))
      );
      const { read, calls, events } = guarded(folder, { summarizer: failing });
      const text = await read({ path: "a.ts" });
      assertEquals(stripAnnotations(text), code(300));
      assertMatch(text, /\[waymark notice: no map, the read was not shortened\]/);
      assertStringIncludes(text, "overloaded (529)");
      assertEquals(calls, [{ path: "a.ts" }]);
      assertEquals(events.filter((event) => event.type === "failure").map((event) => event.reason), ["provider-error"]);
    }));

  it("gives the prose and the words that there is no map where only prose could be made", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const { read, calls } = guarded(folder, {
        summarizer: model(() => Promise.resolve({ ...summary, regions: [] })),
      });
      const text = await read({ path: "a.ts" });
      assertEquals([stripAnnotations(text), calls], [code(300), [{ path: "a.ts" }]]);
      assertStringIncludes(text, "Adds numbers.");
      assertStringIncludes(text, "no map");
    }));

  it("tells nothing of the file to who was refused it, in words or by a flag", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const failing = model(() => Promise.reject(new WaymarkError("refused", "Cannot summarize a.ts: refused")));
      const prose = model(() => Promise.resolve({ ...summary, prose: "Adds numbers.", regions: [] }));
      const map = { ...summary, hash: "", size: 1, lines: 300, maker: "outline", promptVersion: 1, createdAt: 0 };
      for (const fallback of [undefined, { get: () => Promise.resolve({ map, hit: false }) }]) {
        for (const summarizer of [failing, prose, model()]) {
          const guard = guardReads({
            project: createProject({ cache: false }),
            maps: createMaps({ summarizer }),
            fallback,
          });
          const answer = (result: unknown) =>
            wrap((_: PlainArguments) => Promise.resolve(result), guard, { facts: () => ({ cwd: folder }) })({
              path: "a.ts",
            });
          const failure = { content: [{ type: "text", text: "Access denied" }], isError: true };
          assertStrictEquals(await answer(failure), failure);
          const refusals = ["Access denied", { content: "Access denied" }, [{ type: "text", text: "Access denied" }]];
          for (const refusal of refusals) {
            const told = JSON.stringify(await answer(refusal));
            assertStringIncludes(told, "Access denied");
            assert(!/Adds numbers|f250|waymark map/.test(told), told);
          }
        }
      }
    }));

  it("does not take a parser's map for a failed model's, unless asked to, and then gives both", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const failing = (): Summarizer =>
        model(() => Promise.reject(new WaymarkError("refused", "Cannot summarize a.ts: refused")));
      assertEquals(
        stripAnnotations(await guarded(folder, { summarizer: failing() }).read({ path: "a.ts" })),
        code(300),
      );
      const map = { ...summary, hash: "", size: 1, lines: 300, maker: "outline", promptVersion: 1, createdAt: 0 };
      const { read } = guarded(folder, {
        summarizer: failing(),
        fallback: { get: () => Promise.resolve({ map, hit: false }) },
      });
      const text = await read({ path: "a.ts" });
      assertEquals(stripAnnotations(text).trimEnd(), code(200));
      assertMatch(text, /\[waymark map: PARTIAL[^]*\[waymark notice: [^]*refused/);
      const prose = (): Summarizer => model(() => Promise.resolve({ ...summary, prose: "Prose alone.", regions: [] }));
      const both = await guarded(folder, {
        summarizer: prose(),
        fallback: { get: () => Promise.resolve({ map, hit: false }) },
      })
        .read({ path: "a.ts" });
      assertEquals(stripAnnotations(both).trimEnd(), code(200));
      assertMatch(both, /\[waymark map: PARTIAL[^]*\[waymark notice: [^]*Prose alone\./);
      const broken = guarded(folder, {
        summarizer: failing(),
        fallback: { get: () => Promise.reject(new Error("no parser")) },
      });
      assertEquals(stripAnnotations(await broken.read({ path: "a.ts" })), code(300));
    }));

  it("leaves an aborted read to the tool, without a notice", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const controller = new AbortController();
      const hanging = model((_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      );
      const { read } = guarded(folder, { summarizer: hanging }, {
        facts: () => ({ cwd: folder, signal: controller.signal }),
      });
      const reading = read({ path: "a.ts" });
      setTimeout(() => controller.abort(), 5);
      assertEquals(await reading, code(300));
    }));

  it("survives an event hook of the host's that throws", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const { read } = guarded(folder, {
        onEvent: () => {
          throw new Error("hook");
        },
      });
      assertEquals(stripAnnotations(await read({ path: "a.ts" })).trimEnd().slice(0, 40), code(300).slice(0, 40));
    }));
});

describe("readGuard(): what it leaves alone", () => {
  it("leaves prose, data, generated and lock files, extensionless names and dotfiles alone, and guards the rest", () =>
    inFolder(async (folder) => {
      const alone = [
        "a.md",
        "a.txt",
        "a.csv",
        "a.log",
        "a.jsonl",
        "a.ipynb",
        "a.svg",
        "a.map",
        "package-lock.json",
        "yarn.lock",
        "a.min.js",
        "Makefile",
        "LICENSE",
        ".gitignore",
        ".env",
        ".env.local",
        "id_rsa",
        "server.pem",
      ];
      const taken = ["a.ts", "a.json", "a.yaml", "a.css", "a.sql", "a.html", ".eslintrc.json", "a.unknown", "A.PY"];
      for (const [names, capped] of [[alone, false], [taken, true]] as const) {
        for (const name of names) {
          put(folder, name, code(300));
          const { read, summarizer } = guarded(folder);
          const text = await read({ path: name });
          assertEquals([text.includes("[waymark"), summarizer.runs], [capped, capped ? 1 : 0], name);
        }
      }
    }));

  it("follows include and exclude globs", () =>
    inFolder(async (folder) => {
      const names = { include: ["docs/**/*.md"], exclude: ["**/generated/**"] };
      for (
        const [name, capped] of [["docs/x/a.md", true], ["a.md", false], ["src/generated/a.ts", false], [
          "src/a.ts",
          true,
        ]] as const
      ) {
        put(folder, name, code(300));
        assertEquals((await guarded(folder, { names }).read({ path: name })).includes("[waymark map"), capped, name);
      }
    }));

  it("leaves alone what is excluded by whatever link or relative path it is named, in a conversation too", () =>
    inFolder(async (folder) => {
      const root = realpathSync(folder);
      for (const name of ["private/a.ts", "src/b.ts"]) put(folder, name, code(300));
      symlinkSync("../private/a.ts", join(folder, "src", "link.ts"));
      for (const exclude of [["private/**"], ["./private/**"], [`${root}/private/**`]]) {
        for (const session of [undefined, createSession()]) {
          const options = { names: { exclude }, project: createProject({ cache: false, root: folder }) };
          const conversation = session && { conversationOf: (call: ReadCall) => conversationOf(call, session) };
          for (
            const [path, cwd, capped] of [
              ["private/a.ts", root, false],
              ["a.ts", `${root}/private`, false],
              ["../private/a.ts", `${root}/src`, false],
              ["link.ts", `${root}/src`, false],
              ["b.ts", `${root}/src`, true],
            ] as const
          ) {
            const { read, summarizer } = guarded(cwd, { ...options, ...conversation });
            const text = await read({ path });
            assertEquals(
              [text.includes("[waymark map"), summarizer.runs],
              [capped, capped ? 1 : 0],
              `${exclude} ${path}`,
            );
          }
        }
      }
    }));

  it("leaves binaries, also under a name of text, and UTF-16 alone", () =>
    inFolder(async (folder) => {
      const utf16 = new Uint8Array(
        new Uint16Array([...`\ufeff${code(300)}`].map((character) => character.charCodeAt(0))).buffer,
      );
      for (const bytes of [new Uint8Array(5000).fill(10).fill(0, 2000, 2001), utf16]) {
        put(folder, "a.ts", bytes);
        const { read, summarizer, calls } = guarded(folder);
        assert(!(await read({ path: "a.ts" })).includes("[waymark"));
        assertEquals([summarizer.runs, calls], [0, [{ path: "a.ts" }]]);
      }
    }));

  it("leaves scripts' reads and insistent reads alone", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (const facts of [{ programmatic: true }, { fresh: true }]) {
        const { read, summarizer } = guarded(folder, {}, { facts: () => ({ cwd: folder, ...facts }) });
        assertEquals([await read({ path: "a.ts" }), summarizer.runs], [code(300), 0]);
      }
    }));

  it("leaves files over the size limit alone, unopened", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(2000));
      const { read, summarizer } = guarded(folder, { project: createProject({ cache: false, maxFileBytes: 1000 }) });
      assertEquals([(await read({ path: "a.ts" })).length, summarizer.runs], [code(2000).length, 0]);
    }));

  it("leaves missing files and folders to the tool's own error", () =>
    inFolder(async (folder) => {
      put(folder, "lib.ts/inner.ts", code(300));
      const { read } = guarded(folder);
      await assertRejects(() => read({ path: "missing.ts" }), Error, "ENOENT");
      await assertRejects(() => read({ path: "lib.ts" }), Error, "EISDIR");
    }));

  it("leaves arguments it cannot read alone", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (
        const extra of [{ limit: 0 }, { limit: -1 }, { offset: 1.5 }, { offset: -3 }, { offset: "1e3" }, { limit: NaN }]
      ) {
        const { read, calls, summarizer } = guarded(folder);
        await Promise.resolve(read({ path: "a.ts", ...extra })).catch(() => {});
        assertEquals([calls, summarizer.runs], [[{ path: "a.ts", ...extra }], 0] as never);
      }
    }));

  it("looks at a large file in chunks, and reads it whole only where a map is made", () =>
    inFolder(async (folder) => {
      const padding = `// ${"x".repeat(997)}\n`.repeat(1100);
      put(folder, "short.ts", "x".repeat(1 << 20) + "\n" + code(150));
      put(folder, "long.ts", padding + code(250));
      put(folder, "wide.ts", `${"x".repeat(20_000)}\n`.repeat(210));
      put(folder, "binary.ts", new Uint8Array(1 << 21));
      const disk = createProject({ root: folder });
      let whole = 0;
      const identify: typeof disk.identify = async (...given) => {
        const file = await disk.identify(...given);
        return { ...file, content: () => (whole++, file.content()) };
      };
      const project = { ...disk, identify };
      const maps = createMaps({ summarizer: { ...model(), maker: "scanner" } });
      try {
        const { read } = guarded(folder, { project, maps });
        for (const name of ["short.ts", "binary.ts"]) assert(!(await read({ path: name })).includes("[waymark"));
        assertEquals(whole, 0);
        for (const offset of [1, 1050]) assertStringIncludes(await read({ path: "long.ts", offset }), "[waymark map");
        assertStringIncludes(await read({ path: "long.ts" }), "PARTIAL, lines 1-200 of 1350");
        assertEquals(whole, 1);
        assertStringIncludes(await read({ path: "wide.ts" }), "PARTIAL, lines 1-200 of 210");
      } finally {
        await disk.close();
      }
    }));

  it("leaves alone what a fence no longer holds, also where a folder on the way has been replaced by a link", () =>
    inFolder((outside) =>
      inFolder(async (folder) => {
        const path = put(folder, "dir/a.ts", code(300)), project = createProject({ root: folder, roots: [folder] });
        const summarizer = model(), { read } = guarded(folder, { project, maps: createMaps({ summarizer }) });
        try {
          assertStringIncludes(await read({ path }), "[waymark map");
          renameSync(`${folder}/dir`, `${outside}/dir`);
          symlinkSync(`${outside}/dir`, `${folder}/dir`);
          put(outside, "dir/a.ts", code(301)); // the same file, with another content
          assertEquals([await read({ path }), summarizer.runs], [code(301), 1]);
        } finally {
          await project.close();
        }
      })
    ));

  it("never takes a file whose name is not UTF-8 for one whose name looks alike", () =>
    inFolder(async (folder) => {
      put(folder, "\ufffd.ts", code(301));
      put(folder, "a.ts", code(300));
      execFileSync("sh", ["-c", 'mv a.ts "$(printf "\\377").ts"; ln -s "$(printf "\\377").ts" link.ts'], {
        cwd: folder,
      });
      const summarizer = model(), { read } = guarded(folder, { maps: createMaps({ summarizer }) });
      assertEquals([await read({ path: "link.ts" }), summarizer.runs], [code(300), 0]);
    }));

  it("stores a large file's map under the hash of the bytes it was made from, also where the file changes meanwhile", () =>
    inFolder(async (folder) => {
      const padding = `// ${"x".repeat(997)}\n`.repeat(1100), path = put(folder, "a.ts", padding + code(250));
      const disk = createProject({ root: folder });
      const identify: typeof disk.identify = async (...given) => {
        const file = await disk.identify(...given);
        return { ...file, content: () => (put(folder, "a.ts", padding + code(251)), file.content()) };
      };
      const project = { ...disk, identify };
      let hash = "";
      const summarizer = model((file) => (hash = file.hash, Promise.resolve(summary)));
      try {
        const { read } = guarded(folder, { project, maps: createMaps({ summarizer }) });
        assertStringIncludes(await read({ path: "a.ts" }), "of 1351");
        assertEquals(hash, await sha256(readFileSync(path)));
        const { cache, key } = await disk.identify(disk.locate(path));
        assertEquals(cache.get(key, hash)?.lines, 1351);
      } finally {
        await disk.close();
      }
    }));
});

describe("readGuard(): the map is that of what was returned, or withheld", () => {
  const source = (text: string): FileSource => ({ read: () => new TextEncoder().encode(text) });

  it("withholds the map and reads as asked where the tool's lines are not the hashed ones", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300).replace("f100", "edited"));
      const { read, calls, events } = guarded(folder, { source: source(code(300)) });
      const text = await read({ path: "a.ts" });
      assertEquals(stripAnnotations(text), code(300).replace("f100", "edited"));
      assert(!text.includes("[waymark map"));
      assertEquals(calls, [{ path: "a.ts", limit: 200 }, { path: "a.ts" }]);
      assertEquals(events.filter((event) => event.type === "failure").map((event) => event.reason), ["changed"]);
    }));

  it("maps what a source elsewhere gives, with no file on this disk", async () => {
    const remote = code(300);
    const read = wrap(
      ({ limit = Infinity }: { path: string; limit?: number }) => remote.split("\n").slice(0, limit).join("\n"),
      readGuard({ source: source(remote), summarizer: model() }),
    );
    assertStringIncludes(await read({ path: "/container/only.ts" }), "PARTIAL, lines 1-200 of 300");
  });

  it("maps the bytes a source gave, also where it uses its buffer again", async () => {
    const files: Record<string, string> = { "/far/a.ts": code(300), "/far/b.ts": code(300).replaceAll(" f", " g") };
    const shared = new Uint8Array(1 << 16);
    const read = (path: string) => shared.subarray(0, new TextEncoder().encodeInto(files[path]!, shared).written);
    const project = createProject({ source: { read }, cache: false });
    await Promise.all(
      Object.keys(files).map(async (path) => {
        const place = project.locate(path);
        const file = await project.identify(place, await project.read(place));
        const { bytes } = await file.content();
        assertEquals(new TextDecoder().decode(bytes), files[path]);
        assertEquals(file.hash, await sha256(bytes));
      }),
    );
  });

  it("tells the truth of lines that a guard within this one has shortened further", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(500)), { read } = plainTool(folder);
      for (const [outer, inner, shown] of [[300, 200, 200], [200, 300, 200], [200, 200, 200]] as const) {
        const within = wrap(read, readGuard({ maxLines: inner }));
        const text = await wrap(within, readGuard({ maxLines: outer }))({ path });
        assertEquals(stripAnnotations(text), code(500).split(/(?<=\n)/).slice(0, shown).join(""));
        assertEquals(
          new Set(text.match(/\[waymark .*/g)),
          new Set([text.match(/\[waymark map: PARTIAL, lines 1-200 .*/)![0]]),
        );
      }
    }));

  it("says of lines it cannot compare that they were asked for, not that they are shown", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", code(300));
      const blocks = (args: { path: string; limit?: number }) => [
        { type: "text", text: `so many lines: ${args.limit}` },
        { type: "text", text: code(300) },
      ];
      const [, , block] = await wrap(blocks, readGuard())({ path });
      assertStringIncludes(
        block!.text,
        "[waymark map: PARTIAL, lines 1-200 of 300 were asked for, what came back was not",
      );
      assertEquals(block!.text.includes("shown"), false);
    }));

  it("asks a source for an absolute path, or for an address of its own as it is", async () => {
    const asked: string[] = [], remote = code(300);
    const source: FileSource = { read: (path) => (asked.push(path), new TextEncoder().encode(remote)) };
    const guarded = wrap(
      ({ limit = Infinity }: { path: string; limit?: number }) => remote.split("\n").slice(0, limit).join("\n"),
      readGuard({ source }),
      { facts: () => ({ cwd: "/far" }) },
    );
    const paths = ["a.ts", "/b.ts", "vscode-remote://ssh-remote+box/c.ts"];
    for (const path of paths) assertStringIncludes(await guarded({ path }), "PARTIAL, lines 1-200 of 300");
    assertEquals(asked, ["/far/a.ts", ...paths.slice(1)]);
    await guarded({ path: "vscode-remote://ssh-remote+box/.env.ts" });
    assertEquals(asked.length, 3);
  });

  it("goes on without a source that hangs when the read is aborted", async () => {
    const stop = new AbortController(), source = { read: () => new Promise<undefined>(() => {}) };
    const guarded = wrap((_: { path: string }) => "all", readGuard({ source }), {
      facts: () => ({ signal: stop.signal }),
    });
    const result = guarded({ path: "a.ts" });
    stop.abort();
    assertEquals(await result, "all");
  });

  it("reads as asked where the shortened call fails, and gives that call's own error where it fails too", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const calls: unknown[] = [];
      const picky = (args: { path: string; limit?: number }) => {
        calls.push(args);
        if (args.limit) throw new TypeError("limit is not supported");
        return code(300);
      };
      const read = wrap(picky, readGuard({ summarizer: model() }), { facts: () => ({ cwd: folder }) });
      assertEquals([await read({ path: "a.ts" }), calls.length], [code(300), 2]);
      const broken = wrap(
        (_: { path: string }) => {
          throw new RangeError("always");
        },
        readGuard({ summarizer: model() }),
        { facts: () => ({ cwd: folder }) },
      );
      await assertRejects(() => Promise.resolve(broken({ path: "a.ts" })), RangeError, "always");
    }));

  it("tells only of the lines a host really returned where the host cut its own result", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(3000));
      const short = (_: { path: string }) => `${code(120)}\n\n[2880 more lines in file. Use offset=121 to continue.]`;
      const read = wrap(short, readGuard({ summarizer: model() }), { facts: () => ({ cwd: folder }) });
      const text = await read({ path: "a.ts" });
      assertStringIncludes(text, "PARTIAL, lines 1-120 of 3000");
      assertStringIncludes(text, "offset: 121");
    }));
});

describe("readGuard(): the map in a conversation", () => {
  /** A guarded plain tool in a conversation; its results by the turn. */
  const conversing = (
    action: (
      talk: {
        folder: string;
        session: Session;
        /** A read in a turn of its own. */
        read: (args?: Partial<PlainArguments>, info?: object) => Promise<string>;
      },
    ) => Promise<void>,
    lines = 900,
    shape: (text: string) => unknown = (text) => text,
  ): Promise<void> =>
    inFolder((folder) => {
      put(folder, "a.ts", code(lines));
      const session = createSession(), { read: plain } = plainTool(folder);
      const read = wrap((args: PlainArguments) => shape(plain(args)), readGuard({ session, summarizer: model() }), {
        facts: (info) => ({ cwd: folder, ...info as object }),
      }) as (args: PlainArguments, info?: object) => Promise<string>;
      return action({
        folder,
        session,
        read: (args, info) => (session.nextTurn(), read({ path: "a.ts", ...args }, info)),
      });
    });
  const hasMap = (result: string): boolean => result.includes("[waymark map: ");

  it("is given whole once, then pointed back to in one line with the facts of the read", () =>
    conversing(async ({ read }) => {
      assert(hasMap(await read()));
      const second = await read({ offset: 201 }), third = await read({ offset: 701 });
      assertEquals(
        second,
        `${code(900).split(/(?<=\n)/).slice(200, 400).join("")}\n\n` +
          "[waymark reference: PARTIAL, lines 201-400 of 900; the whole map was given in turn 1, unchanged. Next lines: offset: 401, limit: 200]",
      );
      assert(!hasMap(third) && third.startsWith("export function f701("), "200 lines are not shortened");
    }));

  it("is pointed back to in the annotation where the result is an object", () =>
    conversing(
      async ({ read }) => {
        await read();
        const { content, annotation } = await read({ offset: 201 }) as unknown as {
          content: string;
          annotation: Annotation;
        };
        assertEquals(content, code(900).split(/(?<=\n)/).slice(200, 400).join(""));
        const { text: _, ...facts } = annotation;
        assertEquals(facts, { kind: "reference", path: "a.ts", start: 201, end: 400, lines: 900 });
      },
      900,
      (content) => ({ content }),
    ));

  it("is pointed back to without a turn where the host counts none", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(900));
      const read = wrap(plainTool(folder).read, readGuard({ session: createSession() }), {
        facts: () => ({ cwd: folder }),
      });
      await read({ path: "a.ts" });
      assertStringIncludes(
        await read({ path: "a.ts", offset: 201 }),
        "the whole map was given earlier, unchanged. Next",
      );
    }));

  it("is given again once its result has left, by whatever way that is told", () =>
    conversing(async ({ session, read }) => {
      const ways = [
        () => session.evict(["c"]),
        () => session.evictBefore(session.turn + 1),
        () => session.reset(),
        () => session.reconcile([]),
        () => session.reconcile([{ role: "tool", tool_call_id: "c", content: "[cleared]" }]),
      ];
      for (const leave of ways) {
        assert(hasMap(await read({}, { callId: "c" })));
        assert(!hasMap(await read({ offset: 201 }, { callId: "d" })));
        leave();
      }
      assert(hasMap(await read()));
    }));

  it("is not given again while the host's messages hold it, in a string, with a gutter, in blocks or in fields", async () => {
    const gutter = (text: string) => text.split("\n").map((line, at) => `${at + 1}\t${line}`).join("\n");
    const shapes: ((text: string) => unknown)[] = [
      (text) => text,
      gutter,
      (text) => [{ type: "text", text }],
      (text) => ({ content: [{ type: "text", text: gutter(text) }] }),
      (text) => ({ content: text }),
    ];
    for (const shape of shapes) {
      await conversing(
        async ({ session, read }) => {
          const result: unknown = await read({}, { callId: "c" });
          assertStringIncludes(JSON.stringify(result), "[waymark map: ");
          for (const content of [result, JSON.stringify(result)]) {
            session.reconcile([{ role: "tool", tool_call_id: "c", content }]);
            const next = JSON.stringify(await read({ offset: 201 }));
            assertStringIncludes(next, "the whole map was given in turn 1");
          }
        },
        900,
        shape,
      );
    }
  });

  it("is given again for other bytes, and pointed back to once the old ones are back", () =>
    conversing(async ({ folder, read }) => {
      assert(hasMap(await read()));
      put(folder, "a.ts", code(900).replace("f850(", "g850("));
      assert(hasMap(await read({ offset: 201 })));
      put(folder, "a.ts", code(900));
      assertStringIncludes(await read({ offset: 401 }), "the whole map was given in turn 1");
    }));

  it("is not counted as given where it was withheld, or its result could not carry it", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(900));
      const session = createSession(), guard = readGuard({ session }), { read: plain } = plainTool(folder);
      const facts = () => ({ cwd: folder });
      assertEquals(
        stripAnnotations(await wrap((_: PlainArguments) => "something else", guard, { facts })({ path: "a.ts" })),
        "something else",
      );
      assertEquals(await wrap((_: PlainArguments) => 42, guard, { facts })({ path: "a.ts" }), 42);
      const failing = wrap(
        (args: PlainArguments) => {
          if (args.limit) throw new Error("no limits here");
          return plain(args);
        },
        guard,
        { facts },
      );
      assertEquals(await failing({ path: "a.ts" }), code(900));
      assertEquals(session.toJSON().given, []);
      const blocks = wrap(
        (args: PlainArguments) => [{ type: "text", text: "two" }, { type: "text", text: plain(args) }],
        guard,
        { facts },
      );
      for (let at = 0; at < 2; at++) {
        assertStringIncludes((await blocks({ path: "a.ts" })).at(-1)!.text, "[waymark map: ");
      }
      assertEquals(session.toJSON().given, [], "nor where nobody could compare what came with it");
    }));

  it("is not counted as given where all was reset while its read was under way", () =>
    conversing(async ({ session, read }) => {
      const pending = read();
      session.reset();
      assert(hasMap(await pending));
      assertEquals(session.toJSON().given, []);
      assert(hasMap(await read()));
    }));

  it("is no part of what scripts and insistent reads get, nor counted by them", () =>
    conversing(async ({ session, read }) => {
      assertEquals(await read({}, { programmatic: true }), code(900));
      assertEquals(await read({}, { fresh: true }), code(900));
      assertEquals(session.toJSON().given, []);
    }));

  it("is each conversation's own; one that inherits has its parent's", () =>
    conversing(async ({ session, read }) => {
      await read();
      assert(hasMap(await read({ offset: 201 }, { session: createSession() })));
      const fork = session.fork();
      fork.nextTurn();
      assertStringIncludes(await read({ offset: 201 }, { session: fork }), "the whole map was given in turn 1");
    }));

  it("is given with the words that the lines stand above, where those were shown before and it was not", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const session = createSession(), other = createSession(), maps = createMaps({ summarizer: model() });
      const project = createProject({}), conversation = (call: ReadCall) => conversationOf(call, session);
      const guard = compose(
        guardReads({ project, maps, conversationOf: conversation }),
        guardRereads({ project, conversationOf: conversation }),
      );
      const { read: plain, calls } = plainTool(folder);
      const read = wrap(plain, guard, { facts: (info) => ({ cwd: folder, ...info as object }) }) as (
        args: PlainArguments,
        info?: object,
      ) => Promise<string>;
      await read({ path: "a.ts" }, { session: other }); // the map is kept from then on
      await read({ path: "a.ts", limit: 200 });
      const result = await read({ path: "a.ts" });
      assertEquals([stripAnnotations(result), calls.length], ["", 2]);
      assertMatch(
        result,
        /^\[waymark reference: a\.ts lines 1-200 of 300 are unchanged and shown earlier\]\n\n\[waymark map: PARTIAL, lines 1-200 of 300 are those above, the rest is not\]/,
      );
      await project.close();
    }));
});

describe("readGuard(): what a conversation costs", () => {
  it("is no look at the disk for a call for 200 lines or fewer: the same argument object", async () => {
    let touched = 0;
    const fail = (): never => assert(++touched === 0, "a short read touches nothing") as never;
    const project = { locate: fail, window: fail, read: fail, identify: fail, share: fail, snapshot: fail };
    const session = createSession(), args = { path: "a.ts", limit: 200 };
    const guard = guardReads({ project, maps: { get: fail }, conversationOf: (call) => conversationOf(call, session) });
    const read = wrap((given: unknown) => given, guard);
    assertStrictEquals(await read(args), args);
    assertEquals(touched, 0);
  });

  it("is one read of the file where the guard within asks for what this one has read", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      let reads = 0;
      const session = createSession(), { read: plain } = plainTool(folder);
      const source = { read: (path: string) => (reads++, readFileSync(path)) };
      const project = createProject({ source, root: folder }), maps = createMaps({ summarizer: model() });
      const conversation = (call: ReadCall) => conversationOf(call, session);
      const guard = compose(
        guardReads({ project, maps, conversationOf: conversation }),
        guardRereads({ project, conversationOf: conversation }),
      );
      const read = wrap(plain, guard, { facts: () => ({ cwd: folder }) });
      await read({ path: "a.ts" });
      for (let turn = 0; turn < 3; turn++) {
        session.nextTurn();
        session.nextTurn();
        reads = 0;
        await read({ path: "a.ts" });
        assertEquals(reads, 1);
      }
      await project.close();
    }));

  it("is a whole read of a large file too, so that its map can be told and its lines be known", () =>
    inFolder(async (folder) => {
      const long = code(30_000);
      put(folder, "a.ts", long);
      assert(long.length > 1 << 20);
      const session = createSession(), { read: plain } = plainTool(folder);
      const guard = compose(readGuard({ session, summarizer: model() }), rereadGuard({ session }));
      const read = wrap(plain, guard, { facts: () => ({ cwd: folder }) });
      assertStringIncludes(await read({ path: "a.ts" }), "[waymark map: PARTIAL, lines 1-200 of 30000 are shown");
      assertEquals(
        session.coverage(`${folder}/a.ts`)?.seen,
        [{ start: 1, end: 200 }],
        "and what is shown is what is recorded",
      );
    }));
});

describe("a project's snapshot of a file", () => {
  it("is read and hashed anew for each call, but for one that an outer layer shared of that very call", () =>
    inFolder(async (folder) => {
      const path = put(folder, "a.ts", "one\n"), project = createProject({ cache: false });
      const call: ReadCall = { path, start: 1 };
      const first = await project.snapshot(call);
      assertEquals([first.real, new TextDecoder().decode(first.bytes()), first.hash, first.size], [
        path,
        "one\n",
        await sha256(first.bytes()),
        4,
      ]);
      put(folder, "a.ts", "two\n");
      assertEquals(new TextDecoder().decode((await project.snapshot(call)).bytes()), "two\n");
      project.share(call, first);
      assertStrictEquals(await project.snapshot(call), first);
      assertEquals((await project.snapshot(call)).hash === first.hash, false, "and it is taken once");
      project.share(call, first);
      assertEquals(
        (await project.snapshot({ ...call })).hash === first.hash,
        false,
        "a copy of the call is another",
      );
      const other = put(folder, "b.ts", "three\n");
      assertEquals((await project.snapshot({ ...call, path: other })).real, other, "and so is that for another file");
    }));

  it("keeps no bytes where the hash is enough, and still has those that were hashed, or none", () =>
    inFolder(async (folder) => {
      await hashingAtOnce();
      const path = put(folder, "a.ts", "one\n"), other = put(folder, "b.ts", "three\n");
      const project = createProject({ cache: false }), call: ReadCall = { path, start: 1 };
      const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes), asked: string[] = [];
      const isEnough = (real: string) => (hash: string) => (asked.push(real, hash), true);
      const hash = await sha256(new TextEncoder().encode("one\n"));

      const kept = await project.snapshot(call, isEnough);
      assertEquals([kept.hash, kept.size, ...asked], [hash, 4, path, hash]);
      put(folder, "a.ts", "two\n");
      assertEquals(text(kept.bytes()), "one\n", "at hand still, whatever the file holds now");

      put(folder, "a.ts", "one\n");
      const again = await project.snapshot(call, isEnough), changed = await project.snapshot(call, isEnough);
      await project.snapshot({ ...call, path: other }, isEnough);
      assertEquals([text(again.bytes()), text(again.bytes()), text(kept.bytes())], ["one\n", "one\n", "one\n"]);
      put(folder, "a.ts", "two\n");
      assertEquals(assertThrows(() => changed.bytes(), WaymarkError).code, "changed", "never other bytes");

      const wanted = await project.snapshot(call, () => () => false);
      await project.snapshot({ ...call, path: other }, isEnough);
      put(folder, "a.ts", "four\n");
      assertEquals(text(wanted.bytes()), "two\n", "kept where more than the hash is wanted");
    }));

  it("is refused as a read is: binaries, secrets and files that are not there", () =>
    inFolder(async (folder) => {
      const project = createProject({ cache: false }), path = put(folder, "a.ts", "a\0b");
      const error = await assertRejects(() => project.snapshot({ path, start: 1 }), WaymarkError);
      assertEquals(error.code, "not-text");
    }));
});
