/**
 * The launcher: it finds out once whether JSR answers, and is otherwise not there.
 *
 * @module
 */

import { describe, it } from "node:test";
import { spawn } from "node:child_process";
import { createServer, type Server } from "node:net";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/posix/join";
import { root } from "./modules.ts";
import { run } from "./publishing.ts";
import { startRegistry } from "./registry.ts";

const skip = "Deno" in globalThis ? false : "the launcher starts Deno";
const launcher = ["run", "-A", "--no-config", join(root, "tests/launch.ts")];
const say = "console.log(Deno.env.get('WAYMARK_CONFIG')); Deno.exit(7);";

function launch(env: Record<string, string>, ...args: string[]) {
  return run(process.execPath, [...launcher, ...args], { cwd: root, env: { WAYMARK_CONFIG: "", ...env } });
}

function listen(server: Server): Promise<string> {
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      done(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`);
    });
  });
}

describe("the launcher", { skip }, () => {
  it("takes the stand-ins where JSR refuses, says so, and passes the exit code on", async () => {
    const server = createServer();
    const url = await listen(server);
    await new Promise((done) => server.close(done));
    const { code, stdout, stderr } = await launch({ JSR_URL: url }, "eval", say);
    assertEquals([code, stdout.trim()], [7, "deno.offline.json"]);
    assertStringIncludes(stderr, "JSR does not answer");
  });

  it("takes the stand-ins where JSR swallows what it is sent, after two seconds", async () => {
    const server = createServer(() => {});
    const url = await listen(server);
    const { stdout } = await launch({ JSR_URL: url }, "eval", say);
    server.close();
    assertEquals(stdout.trim(), "deno.offline.json");
  });

  it("takes the real packages where JSR answers", async () => {
    const registry = await startRegistry([join(root, "tests/standins/std_path")]);
    const { code, stdout, stderr } = await launch({ JSR_URL: registry.url }, "eval", say);
    await registry.close();
    assertEquals([code, stdout.trim()], [7, "deno.json"]);
    assertStringIncludes(stderr, "JSR answers");
  });

  it("asks nobody where the configuration is given, and hands every entry on for @exports", async () => {
    const { stdout, stderr } = await launch(
      { WAYMARK_CONFIG: "deno.offline.json" },
      "eval",
      "console.log(Deno.args)",
      "@exports",
    );
    assertEquals(stderr, "");
    assertStringIncludes(stdout, "./mod.ts");
    assertStringIncludes(stdout, "./src/cli.ts");
  });

  it("passes signals on", async () => {
    const script = "Deno.addSignalListener('SIGTERM', () => { console.log('told'); Deno.exit(9); });" +
      "setInterval(() => {}, 1000); setTimeout(() => console.log('up'), 200);";
    const child = spawn(process.execPath, [...launcher, "eval", script], {
      cwd: root,
      env: { ...process.env, WAYMARK_CONFIG: "deno.offline.json" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let said = "";
    for await (const data of child.stdout) {
      if (said === "") child.kill("SIGTERM");
      said += data;
    }
    assertEquals(said, "up\ntold\n");
  });
});
