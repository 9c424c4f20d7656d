/**
 * The server as its own process, on the runtime the tests run on, with the official SDK's client over standard input and
 * output; and what it says on the command line.
 *
 * @module
 */

import { describe, it } from "node:test";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { assert, assertEquals, assertMatch, assertNotMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { main } from "../src/mcp.ts";
import { message, startMessagesApi } from "./messages_api.ts";
import { readText, root } from "./modules.ts";
import { programCommand } from "./programs.ts";
import { type Ran, run } from "./publishing.ts";
import { code, inFolder, put } from "./support.ts";

const [program, ...start] = programCommand("src/mcp.ts");
const noFull = !existsSync("/dev/full") && "there is no device that is full";

interface Result {
  readonly content: { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
}

/** A server that runs, and its client. */
interface Running {
  readonly client: Client;
  readonly folder: string;
  readonly pid: number;
  readonly read: (args: Record<string, unknown>, signal?: AbortSignal) => Promise<Result>;
  /** What it has said on standard error so far. */
  readonly said: () => string;
}

/** Runs the server for a client over a folder with a file of 300 functions. */
function serve(
  options: { args?: readonly string[]; named?: (folder: string) => string[]; env?: Record<string, string> },
  action: (running: Running) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    put(folder, "long.ts", code(300));
    put(folder, "src/short.ts", code(20));
    const transport = new StdioClientTransport({
      command: program,
      args: [...start, ...options.args ?? ["--root", folder]],
      cwd: folder,
      env: { PATH: process.env["PATH"]!, HOME: process.env["HOME"] ?? "/", ...options.env },
      stderr: "pipe",
    });
    let said = "";
    transport.stderr.on("data", (chunk: Uint8Array) => said += new TextDecoder().decode(chunk));
    const client = new Client({ name: "tests", version: "1.0.0" }, {
      capabilities: options.named ? { roots: { listChanged: true } } : {},
    });
    if (options.named) {
      client.setRequestHandler(ListRootsRequestSchema, () => ({
        roots: options.named!(folder).map((path) => ({
          uri: path.includes("://") ? path : pathToFileURL(path).href,
        })),
      }));
    }
    await client.connect(transport);
    try {
      await action({
        client,
        folder,
        pid: transport.pid,
        read: (args, signal) =>
          client.callTool({ name: "read_file", arguments: args }, undefined, { ...signal && { signal } }) as Promise<
            Result
          >,
        said: () => said,
      });
    } finally {
      await client.close();
    }
    for (let waited = 0; isRunning(transport.pid) && waited < 100; waited++) await later(50);
    assert(!isRunning(transport.pid), "it ends with its client");
  });
}

function isRunning(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function later(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Talks to a server line by line, with no SDK between. */
function talk(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; command?: readonly [string, ...string[]] },
) {
  const [command, ...first] = options.command ?? [program, ...start];
  const child: ChildProcessWithoutNullStreams = spawn(command, [...first, ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  });
  let stdout = "", stderr = "", rest = "";
  const answers = new Map<unknown, Record<string, unknown>>();
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line);
      answers.set(message.id, message);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
  child.stdin.on("error", () => {});
  const ended = new Promise<{ code: number | null; signal: string | null }>((done) =>
    child.on("close", (code, signal) => done({ code, signal }))
  );
  return {
    child,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    send: (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    /** The answer to a request. */
    async answer(id: number): Promise<Record<string, unknown>> {
      for (let waited = 0; waited < 2400; waited++) {
        const found = answers.get(id);
        if (found) return found;
        await later(25);
      }
      throw new Error(`No answer to ${id}: ${stdout}${stderr}`);
    },
  };
}

const hello = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tests", version: "1.0.0" } },
};

/** A read, as a request. */
function readOf(path: string) {
  return { id: 2, method: "tools/call", params: { name: "read_file", arguments: { path } } };
}

describe("the server as a process", () => {
  it("reads, maps and refuses for a client, and ends with it", () =>
    serve({}, async ({ client, read, folder, said }) => {
      assertEquals((await client.listTools()).tools.map(({ name }) => name), ["read_file", "summarize_file"]);
      const { content, ...rest } = await read({ path: "long.ts" });
      assertEquals([content[0]!.text, content.length, rest], [`${code(200)}\n`, 2, {}]);
      assertMatch(content[1]!.text, /^\[waymark map: PARTIAL, lines 1-200 of 300[^]*\n300-300 {2}function {2}f300/);
      const absolute = await read({ path: join(folder, "src/short.ts"), offset: 19 });
      assertEquals(absolute.content[0]!.text, code(20).split("\n").slice(18).join("\n"));
      const refused = await read({ path: "../../../../../etc/passwd" });
      assertEquals(refused.isError, true);
      assertMatch(refused.content[0]!.text, /^Cannot read \.\.\/.*: it lies outside of /);
      assert(existsSync(join(folder, ".summaries/summaries.db")));
      assertEquals(said(), `waymark: reading files in ${folder}; repeated reads are given again\n`);
    }));

  it("honours the client's folders, and others it names while it runs", () => {
    let named = (folder: string) => ["vscode-vfs://github/x", join(folder, "src")];
    return serve({ named: (folder) => named(folder) }, async ({ client, read, folder }) => {
      assertEquals((await read({ path: "short.ts" })).content[0]!.text, code(20));
      assertEquals((await read({ path: join(folder, "long.ts") })).isError, true);
      named = (folder) => [folder];
      await client.sendRootsListChanged();
      assertEquals((await read({ path: "src/short.ts" })).content[0]!.text, code(20));
      assertEquals((await read({ path: join(folder, "long.ts") })).isError, undefined);
    });
  });

  it("reads only what the client names where it was started for no folder", () =>
    serve({ args: [], named: (folder) => [join(folder, "src")] }, async ({ read, folder, said }) => {
      assertEquals((await read({ path: "short.ts" })).content[0]!.text, code(20));
      assertEquals((await read({ path: join(folder, "long.ts") })).isError, true);
      assertMatch(said(), /^waymark: reading files in the folders that the client names; /);
    }));

  it("answers forty calls at once, each what it asked for", () =>
    serve({}, async ({ read, folder }) => {
      for (let at = 0; at < 40; at++) put(folder, `f${at}.ts`, code(201 + at));
      const all = await Promise.all(Array.from({ length: 40 }, (_, at) => read({ path: `f${at}.ts` })));
      for (const [at, { content }] of all.entries()) {
        assertEquals(content[0]!.text, `${code(200)}\n`);
        assertStringIncludes(content[1]!.text, `of ${201 + at} are shown`);
      }
    }));

  it("gives up what the client gives up, and goes on", () =>
    serve({}, async ({ read, folder }) => {
      const line = `${"0123456789".repeat(100)}\n`, path = put(folder, "huge.log", line.repeat(50_000));
      const abort = new AbortController(), given = read({ path, offset: 50_000 }, abort.signal);
      abort.abort();
      await assertRejects(() => given);
      assertEquals((await read({ path: "src/short.ts" })).content[0]!.text, code(20));
    }));

  it("makes repeated reads one line where it was asked to", () =>
    inFolder((folder) =>
      serve(
        { args: ["--root", put(folder, "a.ts", code(9)).replace(/\/a\.ts$/, ""), "--references"] },
        async (running) => {
          await running.read({ path: "a.ts" });
          assertMatch(
            (await running.read({ path: "a.ts" })).content[0]!.text,
            /^\[waymark reference: .* since an earlier read; /,
          );
          assertStringIncludes(running.said(), "repeated reads may be answered by one line");
        },
      )
    ));

  it("has a model of Anthropic make the maps where one is named, and says at the start what is missing", async () => {
    const answer = { prose: "Adds things.", regions: [{ start: 1, end: 9, kind: "function", name: "f1", note: "" }] };
    const api = await startMessagesApi({ replies: [message(JSON.stringify(answer))] });
    try {
      await inFolder(async (base) => {
        put(base, "a.ts", code(300));
        const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
        await serve({ args: ["--root", base, "--model", "claude-haiku-5-5"], env }, async ({ read }) => {
          assertStringIncludes((await read({ path: "a.ts" })).content[1]!.text, "Summary: Adds things.");
        });
        const { code: exit, stderr, stdout } = await inProcess(["--root", base, "--model", "claude-haiku-5-5"], {});
        assertEquals([exit, stdout], [1, ""]);
        assertMatch(stderr, /^waymark: Cannot [^\n]*ANTHROPIC_API_KEY[^\n]*\n$/);
      });
    } finally {
      await api.close();
    }
  });
});

describe("standard input and output", () => {
  it("carry the protocol and nothing else, whatever comes in", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const { child, ended, send, answer, stdout, stderr } = talk(["--root", folder], { cwd: folder });
      child.stdin.write("this is no protocol\n{\n[]\n\n");
      child.stdin.write(`{"jsonrpc":"2.0","id":9,"method":"no/such/method"}\n`);
      send(hello);
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/call", params: { name: "read_file", arguments: { path: "a.ts" } } });
      send({ id: 3, method: "tools/call", params: { name: "read_file" } });
      send({ id: 4, method: "tools/call", params: { name: "nothing", arguments: {} } });
      send({ id: 5, method: "ping" });
      for (const id of [1, 2, 3, 4, 5, 9]) await answer(id);
      child.stdin.end();
      assertEquals(await ended, { code: 0, signal: null });
      for (const line of stdout().trimEnd().split("\n")) assertEquals(JSON.parse(line).jsonrpc, "2.0");
      assertEquals(((await answer(3)) as { result: Result }).result.isError, true);
      assertEquals(((await answer(4)) as { error: { code: number } }).error.code, -32602);
      assertEquals(((await answer(9)) as { error: { code: number } }).error.code, -32601);
      for (const line of stderr().trimEnd().split("\n")) assertMatch(line, /^waymark: /);
    }));

  it("carry an answer to each of more calls at once than files may be open", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(250).replaceAll("{ return", `{ /* ${"x".repeat(6000)} */ return`)); // read in pieces
      // Not fewer: Node opens more than a hundred files at once when it starts.
      const limited = ["-c", 'ulimit -n 256; exec "$@"', "sh", program, ...start, "--root", folder];
      const { child, ended, send, answer, stdout, stderr } = talk(limited, { cwd: folder, command: ["sh"] });
      send(hello);
      for (let id = 101; id < 401; id++) {
        send({ id, method: "tools/call", params: { name: "read_file", arguments: { path: "a.ts" } } });
      }
      for (let id = 101; id < 401; id++) {
        const { result } = await answer(id) as { result: Result };
        assertStringIncludes(result.content[0]!.text, "function f1(", String(id));
      }
      child.stdin.end();
      assertEquals(await ended, { code: 0, signal: null });
      assert(!stdout().includes('"isError"'));
      assertEquals(stderr(), `waymark: reading files in ${folder}; repeated reads are given again\n`);
    }));

  it("end it by themselves: at the end of its input, or by a signal", () =>
    inFolder(async (folder) => {
      for (const how of ["end", "SIGTERM", "SIGINT", "SIGHUP"] as const) {
        const { child, ended, send, answer, stderr } = talk(["--root", folder], { cwd: folder });
        send(hello);
        await answer(1);
        if (how === "end") child.stdin.end();
        else process.kill(child.pid!, how);
        assertEquals(await ended, { code: 0, signal: null }, how);
        assertNotMatch(stderr(), /\n\s+at /, how);
      }
    }));

  it("end it when nobody reads any more", () =>
    inFolder(async (folder) => {
      const shell = '{ "$@"; echo "it ended with $?" >&2; } | head -n 1';
      const command = ["sh", "-c", shell, "sh", program, ...start] as const;
      const { ended, send, answer, stderr } = talk(["--root", folder], { cwd: folder, command });
      send(hello);
      await answer(1);
      for (let at = 0; at < 50; at++) send({ id: 100 + at, method: "ping" });
      assertEquals(await ended, { code: 0, signal: null });
      assertMatch(stderr(), /it ended with 0\n$/);
      assertNotMatch(stderr(), /\n\s+at /);
    }));

  it("end it by a signal also where somebody holds its output and reads no more", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      for (const how of ["SIGTERM", "SIGINT"] as const) {
        const shell = 'mkfifo "$1"; exec 3<> "$1" > "$1"; shift; exec "$@"'; // it holds the other end itself
        const command = ["sh", "-c", shell, "sh", join(folder, `${how}.pipe`), program, ...start] as const;
        const { child, ended, send, stderr } = talk(["--root", folder], { cwd: folder, command });
        send(hello);
        for (let id = 2; id < 60; id++) send({ ...readOf("a.ts"), id });
        while (!stderr().includes("reading files")) await later(25);
        await later(2000);
        process.kill(child.pid!, how);
        const isOver = await Promise.race([ended.then(() => true), later(20_000)]);
        if (!isOver) process.kill(child.pid!, "SIGKILL");
        assertEquals([isOver, await ended], [true, { code: 0, signal: null }]);
      }
    }));

  it(
    "end it with word that it failed where its output takes no more",
    { skip: noFull },
    () =>
      inFolder(async (folder) => {
        const command = ["sh", "-c", 'exec "$@" > /dev/full', "sh", program, ...start] as const;
        const { ended, send, stderr } = talk(["--root", folder], { cwd: folder, command });
        send(hello);
        assertEquals(await ended, { code: 1, signal: null });
        assertMatch(stderr(), /\nwaymark: Cannot write to standard output: [^\n]*no space left[^\n]*\n$/i);
      }),
  );

  it("may end right behind the calls: all that came in is answered, however slowly it is read", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const ids = Array.from({ length: 100 }, (_, at) => at + 1);
      for (const [reader, capabilities] of [["cat", { roots: {} }], ["{ sleep 5; cat; }", {}]] as const) {
        const first = [{ ...hello, params: { ...hello.params, capabilities } }, {
          method: "notifications/initialized",
        }];
        const lines = [...first, ...ids.slice(1).map((id) => ({ ...readOf("a.ts"), id }))];
        const text = lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join("");
        const requests = put(folder, "requests.txt", `${text}{"jsonrpc":"2.0","id":1000,"met`);
        const shell = `from=$1; shift; { "$@" < "$from"; echo "it ended with $?" >&2; } | ${reader}`;
        const command = ["sh", "-c", shell, "sh", requests, program, ...start] as const;
        const { ended, stdout, stderr } = talk(["--root", folder], { cwd: folder, command });
        assertEquals(await ended, { code: 0, signal: null });
        const answers = stdout().trimEnd().split("\n").map((line) => JSON.parse(line)).filter(({ result }) => result);
        assertEquals(answers.map(({ id }) => id).sort((a, b) => a - b), ids);
        for (const { id, result } of answers) if (id > 1) assertEquals(result.content[0].text, `${code(200)}\n`);
        assertMatch(stderr(), /it ended with 0\n$/);
        assertEquals(/the input has ended\n/.test(stderr()), "roots" in capabilities, stderr()); // it cannot be told where
      }
    }));

  it("end it with word that it failed where what comes in is more than it takes", () =>
    inFolder(async (folder) => {
      const { child, ended, send, answer, stdout, stderr } = talk(["--root", folder], { cwd: folder });
      send(hello);
      await answer(1);
      child.stdin.write("x".repeat(11 << 20));
      assertEquals(await ended, { code: 1, signal: null });
      assertMatch(
        stderr().split("\n").slice(1).join("\n"),
        /^waymark: Cannot take [^\n]* over the limit of 10485760 bytes[^\n]*\n$/,
      );
      assertEquals(stdout().trimEnd().split("\n").length, 1);
    }));

  it("leave no read to a client whose answer to where it may read is none of the protocol", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", "a\n");
      for (const result of [null, [], "x", 7]) {
        const { child, ended, send, answer, stderr } = talk(["--root", folder], { cwd: folder });
        send({ ...hello, params: { ...hello.params, capabilities: { roots: {} } } });
        await answer(1);
        send({ method: "notifications/initialized" });
        await answer(0);
        send({ id: 0, result });
        send(readOf("a.ts"));
        child.stdin.end(); // else it would wait for another answer
        assertEquals(await ended, { code: 0, signal: null });
        assertStringIncludes(JSON.stringify(await answer(2)), "no folder may be read");
        assertMatch(
          stderr(),
          /\nwaymark: Cannot understand a message of the client: [^\n]*\nwaymark: Cannot have the [^\n]*\n$/,
        );
      }
    }));

  describe("while a model is asked", () => {
    /** Does something while a server waits for a model that never answers; its standard error after that. */
    async function whileAsked(
      action: (running: ReturnType<typeof talk>) => Promise<void> | void,
      command: readonly [string, ...string[]] = [program, ...start],
    ): Promise<string> {
      const asked = Promise.withResolvers<void>();
      const api = await startMessagesApi({ replies: () => (asked.resolve(), { kind: "hang" }) });
      try {
        return await inFolder(async (folder) => {
          put(folder, "a.ts", code(300));
          const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
          const running = talk(["--root", folder, "--model", "claude-haiku-5-5"], { cwd: folder, env, command });
          running.send(hello);
          await running.answer(1);
          running.send(readOf("a.ts"));
          await asked.promise;
          await action(running);
          await running.ended;
          return running.stderr();
        });
      } finally {
        await api.close();
      }
    }

    const givenUp = /\nwaymark: Cannot answer 1 of the calls: the input has ended, and no answer came for 3 seconds\n$/;

    it("ends, when its input does, after some seconds, and says what was not answered", async () => {
      const told = await whileAsked(async ({ child, ended, stdout }) => {
        child.stdin.end();
        assertEquals(await ended, { code: 0, signal: null });
        assertEquals(stdout().trimEnd().split("\n").length, 1);
      });
      assertMatch(told, givenUp);
    });

    it("answers after its input has ended, however long the machine stood still meanwhile", async () => {
      const map = { prose: "Adds things.", regions: [{ start: 1, end: 9, kind: "function", name: "f1", note: "" }] };
      let pid = 0;
      const api = await startMessagesApi({
        replies: () => { // the server has it when it goes on
          process.kill(pid, "SIGSTOP");
          setTimeout(() => process.kill(pid, "SIGCONT"), 4000);
          return message(JSON.stringify(map));
        },
      });
      try {
        await inFolder(async (folder) => {
          put(folder, "a.ts", code(300));
          const env = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
          const running = talk(["--root", folder, "--model", "claude-haiku-5-5"], { cwd: folder, env });
          pid = running.child.pid!;
          running.send(hello);
          running.send(readOf("a.ts"));
          running.child.stdin.end();
          assertEquals(await running.ended, { code: 0, signal: null });
          assertStringIncludes(running.stdout(), "Summary: Adds things.", running.stderr());
        });
      } finally {
        await api.close();
      }
    });

    it("ends at once by a signal, before its input ends and after", async () => {
      for (const how of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
        for (const isEnded of [false, true]) {
          const told = await whileAsked(async ({ child, ended, send, answer }) => {
            send({ id: 3, method: "ping" });
            if (isEnded) child.stdin.end();
            await answer(3);
            process.kill(child.pid!, how);
            assertEquals(await ended, { code: 0, signal: null });
          });
          assertNotMatch(told, givenUp);
        }
      }
    });

    it("waits for no call that the client gave up before", async () => {
      const told = await whileAsked(async ({ child, ended, send }) => {
        send({ method: "notifications/cancelled", params: { requestId: 2 } });
        child.stdin.end();
        assertEquals(await ended, { code: 0, signal: null });
      });
      assertNotMatch(told, givenUp);
    });

    it("leaves no process behind when its parent is killed", async () => {
      // The shell becomes the one who holds the input's other end; the outputs stay the test's, which end with the server.
      const parent = ["-c", 'mkfifo in; "$@" < in & exec 3> in; exec cat >&3', "sh", program, ...start];
      const told = await whileAsked(async ({ child, ended }) => {
        child.kill("SIGKILL");
        await ended;
      }, ["sh", ...parent]);
      assertMatch(told, givenUp);
    });
  });

  it("leave whole maps behind when it is killed", () =>
    inFolder(async (folder) => {
      put(folder, "a.ts", code(300));
      const request = readOf("a.ts");
      for (let at = 0; at < 3; at++) {
        const { child, ended, send, answer } = talk(["--root", folder], { cwd: folder });
        send(hello);
        send(request);
        const { result } = await answer(2) as { result: Result };
        assertStringIncludes(result.content[1]!.text, "300-300  function  f300");
        child.kill("SIGKILL");
        assertEquals((await ended).signal, "SIGKILL");
      }
    }));
});

/** Runs it in this process: what it printed. */
async function inProcess(args: readonly string[], environment: Record<string, string>): Promise<Ran> {
  let stdout = "", stderr = "";
  const code = await main(args, {
    write: (output) => void (stdout += output),
    complain: (line) => void (stderr += `${line}\n`),
    environment: (name) => environment[name],
  });
  return { code, stdout, stderr };
}

describe("the command line of the server", () => {
  it("says how it is used, and which release it is", async () => {
    const help = await inProcess(["--help"], {});
    assertEquals([help.code, help.stderr], [0, ""]);
    for (const word of ["--root <dir>", "--model <name>", "--max-lines <count>", "--references", "Exit codes"]) {
      assertStringIncludes(help.stdout, word);
    }
    assert(!help.stdout.includes("[]"), help.stdout);
    assertMatch(help.stdout.replaceAll(/\s+/g, " "), /off by default because no client says when such lines have left/);
    const { version } = JSON.parse(readText("deno.json"));
    assertEquals(await inProcess(["--version"], {}), { code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("refuses what it does not understand, and folders that are none, in one line each", () =>
    inFolder(async (folder) => {
      const calls: [args: string[], exit: number, told: RegExp][] = [
        [["--no-such"], 2, /unknown option '--no-such'/],
        [["somewhere"], 2, /too many arguments/],
        [["--max-lines", "none"], 2, /It is not a whole number from 1/],
        [["--root"], 2, /argument missing/],
        [["--root", ""], 1, /^waymark: Cannot read in "": it names no folder; give its path\n$/],
        [["--root", join(folder, "absent")], 1, /^waymark: Cannot read in .*\/absent: there is no such folder\n$/],
        [["--root", put(folder, "file.ts", "")], 1, /^waymark: Cannot read in .*\/file\.ts: it is not a folder\n$/],
      ];
      for (const [args, exit, told] of calls) {
        const { code, stdout, stderr } = await inProcess(args, {});
        assertEquals([code, stdout], [exit, ""], args.join(" "));
        assertMatch(stderr, told);
      }
    }));

  it("has the types of the SDK from the very package it imports, in words that need no import map", () => {
    const wanted = JSON.parse(readText("deno.json")).imports["@modelcontextprotocol/sdk"];
    for (const file of ["src/mcp/stdio.ts", "src/mcp/server.ts"]) {
      const [, types] = /^\/\/ @ts-types="([^"]+)"$/m.exec(readText(file))!;
      assert(types!.startsWith(`${wanted}/`), `${file}: ${types}`);
    }
  });

  it("starts nothing when it is imported", () =>
    inFolder(async (folder) => {
      const script = put(
        folder,
        "import.mjs",
        `await import(${JSON.stringify(pathToFileURL(join(root, "src/mcp.ts")).href)});`,
      );
      const args = [...start.slice(0, -1), script];
      assertEquals(await run(program, args, { cwd: folder, timeoutMs: 60_000 }), { code: 0, stdout: "", stderr: "" });
    }));
});

describe("permissions of the server on Deno", { skip: "Deno" in globalThis ? false : "Deno's alone" }, () => {
  const packages = realpathSync(join(root, "node_modules"));

  /** Reads the long file under these permissions: the texts of its blocks, and what was said. */
  async function read(flags: (folder: string) => string[], path = "long.ts") {
    return await inFolder(async (base) => {
      const folder = join(base, "project");
      put(folder, "long.ts", code(300));
      const config = start.slice(start.indexOf("--config"), -1), file = start.at(-1)!;
      const args = ["run", "--no-prompt", "--no-check", ...config, ...flags(folder), file, "--root", folder];
      const child = spawn(program, args, { cwd: folder });
      let stdout = "", stderr = "";
      child.stdout.setEncoding("utf8").on("data", (text) => stdout += text);
      child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
      const ended = new Promise((done) => child.on("close", done));
      child.stdin.on("error", () => {});
      for (
        const request of [hello, { id: 2, method: "tools/call", params: { name: "read_file", arguments: { path } } }]
      ) {
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`);
      }
      for (let waited = 0; waited < 1200 && child.exitCode === null && !stdout.includes('"id":2'); waited++) {
        await later(25);
      }
      child.stdin.end();
      const exit = await ended, found = stdout.split("\n").find((line) => line.includes('"id":2'));
      const { content = [] } = (found ? JSON.parse(found).result : {}) as Partial<Result>;
      const kept = existsSync(join(folder, ".summaries/summaries.db"));
      return { exit, texts: content.map(({ text }) => text), stderr: stderr.replaceAll(folder, "FOLDER"), kept };
    });
  }

  const started = "waymark: reading files in FOLDER; repeated reads are given again\n";

  it("are to read the folder and the packages, and to write its .summaries", async () => {
    const flags = (
      folder: string,
    ) => [`--allow-read=${folder},${root},${packages}`, `--allow-write=${folder}/.summaries`];
    const { exit, texts, stderr, kept } = await read(flags);
    assertEquals([exit, texts[0], stderr, kept], [0, `${code(200)}\n`, started, true]);
    assertStringIncludes(texts[1]!, "Made by a parser");
    assertNotMatch(texts[1]!, /can miss/);
  });

  it("without leave to write keep the maps in memory, said once", async () => {
    const { texts, stderr, kept } = await read((folder) => [`--allow-read=${folder},${root},${packages}`]);
    assertEquals([texts[0], kept], [`${code(200)}\n`, false]);
    assertMatch(
      stderr.replace(started, ""),
      /^waymark: [^\n]*--allow-write for FOLDER\/\.summaries\. Maps are kept in memory\n$/,
    );
  });

  it("without leave to read the packages have the line scanner make the maps", async () => {
    const { texts } = await read((folder) => [`--allow-read=${folder}`, `--allow-write=${folder}/.summaries`]);
    assertEquals(texts[0], `${code(200)}\n`);
    assertStringIncludes(texts[1]!, "it can miss");
  });

  it("without leave to read the folder end at once, and name it", async () => {
    const { exit, texts, stderr } = await read(() => [`--allow-read=${packages}`]);
    assertEquals([exit, texts], [1, []]);
    assertMatch(stderr, /^waymark: Cannot read FOLDER: Deno was started without --allow-read for it\n$/);
  });
});
