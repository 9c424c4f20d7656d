import { describe, it } from "node:test";
import { assertEquals } from "@std/assert";
import { isSecretPath } from "../../src/probe.ts";
import { pathsIn } from "../../src/tool_use/named_paths.ts";

const isSecret = (args: unknown): boolean => [...pathsIn(args).paths].some(isSecretPath);

describe("the paths of a tool call", () => {
  it("are found under the names hosts give them, one or several", () => {
    for (
      const name of [
        "path",
        "file_path",
        "filePath",
        "absolute_path",
        "target_file",
        "filename",
        "file",
        "paths",
        "uri",
        "relative_workspace_path",
        "input_file",
        "file_name",
        "url",
        ...["target", "source", "src", "location", "resource", "include", "glob"].flatMap((name) => [name, `${name}s`]),
      ]
    ) {
      assertEquals(isSecret({ [name]: "/home/me/project/.env.local" }), true, name);
      assertEquals(isSecret({ [name]: ["README.md", "certs/server.pem"] }), true, name);
      assertEquals(isSecret({ [name]: "src/environment.ts" }), false, name);
    }
    assertEquals(isSecret("config/.env"), true);
    assertEquals(isSecret(["config/.env", 10]), true);
  });

  it("are found in a command", () => {
    for (
      const command of [
        "cat .env",
        "cat ./config/.env|head",
        "cat '.env.production'",
        "head -5 <~/.ssh/id_rsa",
        "x=$(cat .npmrc)",
      ]
    ) {
      assertEquals(isSecret({ command }), true, command);
    }
    assertEquals(isSecret({ cmd: ["bash", "-lc", "cat .env"] }), true);
    const names = ["command", "commands", "shell_command", "shellCommand", "command_line", "commandLine", "cmd"];
    for (const name of [...names, "bash", "script", "code", "args", "argv"]) {
      assertEquals(isSecret({ [name]: "cat .env" }), true, name);
    }
  });

  it("are found wherever they stand in the arguments, in lists and in what a gateway wraps around them", () => {
    for (
      const args of [
        { files: [{ path: "src/a.ts" }, { path: ".env" }] },
        { requests: [{ file_path: "certs/server.pem" }] },
        { arguments: { file_path: "/home/me/.ssh/id_rsa" } },
        { action: { type: "exec", command: ["cat", ".env"] } },
        { args: { path: ".env" } },
        { code: "print(open('.env').read())" },
        { source: ".env" },
      ]
    ) assertEquals(isSecret(args), true, JSON.stringify(args));
    assertEquals(isSecret({ edits: [{ path: "a.ts", new_text: ".env" }] }), false);
    const ring: Record<string, unknown> = { path: "a.ts" };
    ring["args"] = [ring, ring];
    assertEquals(isSecret(ring), false);
  });

  it("are not taken from expressions, prose and content", () => {
    for (const word of ["process.env", "import.meta.env", "Deno.env", "deno.env", "Bun.env", "bun.env", "os.environ"]) {
      assertEquals([...pathsIn({ command: `grep -rn ${word} src` }).paths], ["grep", "-rn", "src"], word);
    }
    for (const command of ["grep -rn process.env src", "grep import.meta.env.MODE .", "npm test", "echo environment"]) {
      assertEquals(isSecret({ command }), false, command);
    }
    assertEquals(isSecret({ content: ".env", old_string: "id_rsa", query: ".npmrc" }), false);
  });

  it("are none where the arguments are none", () => {
    for (const args of [undefined, null, 7, [], {}, { path: 7 }]) assertEquals(pathsIn(args).paths.size, 0);
    const trap = new Proxy({}, {
      ownKeys: () => {
        throw new Error("trap");
      },
    });
    assertEquals(pathsIn(trap).paths.size, 0);
  });
});
