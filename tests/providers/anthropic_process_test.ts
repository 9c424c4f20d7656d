import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { root } from "../modules.ts";
import { message, type MessagesApi, startMessagesApi } from "../messages_api.ts";
import { programCommand } from "../programs.ts";
import { inFolder } from "../support.ts";
import { GOOD } from "../summary/files.ts";

const onDeno = "Deno" in globalThis;
const [program, ...start] = programCommand("tests/providers/ask_claude.ts");

/** Runs the program: what it printed. Nothing it could read answers would keep it waiting, so a prompt would end the test. */
async function run(
  command: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code?: string; message?: string; regions?: number }> {
  const { ANTHROPIC_API_KEY: _key, ANTHROPIC_BASE_URL: _url, ANTHROPIC_CUSTOM_HEADERS: _headers, ...rest } =
    process.env;
  const { stdout } = await promisify(execFile)(program, [...command], {
    env: { ...rest, ...environment },
    timeout: 60_000,
  });
  return JSON.parse(stdout);
}

async function withApi(test: (api: MessagesApi) => Promise<void>): Promise<void> {
  const api = await startMessagesApi({ replies: [message(GOOD)] });
  await test(api).finally(() => api.close());
}

describe("Claude's provider in a process of its own", () => {
  it("makes a map and leaves nothing that keeps the process alive", async () => {
    await withApi(async (api) => {
      assertEquals(await run([...start, api.url, api.key]), { regions: 2 });
      assertEquals(api.requests.length, 1);
    });
  });

  it("takes key, base URL and further headers from the environment", async () => {
    await withApi(async (api) => {
      const environment = {
        ANTHROPIC_API_KEY: api.key,
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_CUSTOM_HEADERS: "x-team: maps",
      };
      assertEquals(await run([...start, "-", "-"], environment), { regions: 2 });
      assertEquals(api.requests[0]?.headers["x-team"], "maps");
    });
  });

  it("fails by name, before anything is sent, where there is no key", async () => {
    const { code, message } = await run([...start, "-", "-"]);
    assertEquals(code, "no-key");
    assertStringIncludes(message!, "set ANTHROPIC_API_KEY");
  });
});

describe("Claude's provider on Deno", { skip: onDeno ? false : "only Deno has permissions" }, () => {
  /** The program with these permissions. At least one: a Deno that is started by Deno without any is given all. */
  const allowed = (...flags: string[]): string[] => ["run", ...flags, ...start.slice(2)];
  const sdk = "--allow-env=ANTHROPIC_CUSTOM_HEADERS";

  it("works with exactly the permissions that its documentation lists", async () => {
    await withApi(async (api) => {
      const host = new URL(api.url).host;
      const environment = { ANTHROPIC_API_KEY: api.key, ANTHROPIC_BASE_URL: api.url };
      const flags = [
        `--allow-net=${host}`,
        "--allow-env=ANTHROPIC_API_KEY,ANTHROPIC_BASE_URL,ANTHROPIC_CUSTOM_HEADERS",
      ];
      assertEquals(await run([...allowed("--no-prompt", ...flags), "-", "-"], environment), { regions: 2 });
      assertEquals(await run([...allowed("--no-prompt", `--allow-net=${host}`, sdk), api.url, api.key]), {
        regions: 2,
      });
    });
  });

  it("says which permission is missing, prompts for none and sends nothing", async () => {
    await withApi(async (api) => {
      const host = new URL(api.url).host;
      for (
        const [flags, advice] of [
          [["--allow-env=HOME"], `${sdk} --allow-net=${host}`],
          [[sdk], `--allow-net=${host}`],
          [[`--allow-net=${host}`], sdk],
          [[sdk, "--allow-net=example.org"], `--allow-net=${host}`],
        ] as const
      ) {
        const { code, message } = await run([...allowed(...flags), api.url, api.key]);
        assertEquals(code, "provider-error");
        assertEquals(
          message,
          `Cannot summarize a.ts: cannot ask claude-haiku-5-5: Deno does not allow it, run with ${advice}`,
        );
      }
      assertEquals(api.requests.length, 0);
    });
  });

  it("takes a key it may not read for none, and says how to allow it", async () => {
    const { code, message } = await run([...allowed("--allow-env=HOME"), "-", "-"], { ANTHROPIC_API_KEY: "there" });
    assertEquals(code, "no-key");
    assertMatch(message!, /set ANTHROPIC_API_KEY, allow it with --allow-env or pass apiKey/);
  });
});

describe("Claude's provider without the packages it loads", () => {
  /** Runs the program on a copy of the source in a folder where no package can be found. */
  async function runCopy(api: MessagesApi, change: (folder: string) => void = () => {}) {
    return await inFolder(async (folder) => {
      cpSync(join(root, "src"), join(folder, "src"), { recursive: true });
      cpSync(join(root, "tests/providers/ask_claude.ts"), join(folder, "ask_claude.ts"));
      change(folder);
      const path = join(folder, "ask_claude.ts"), rest = [api.url, api.key, `${pathToFileURL(folder).href}/src/`];
      const types = start.filter((argument) => /^--(experimental-strip|disable-warning)/.test(argument));
      if (onDeno) return await run(["run", "-A", "--no-check", "--no-config", "--no-npm", path, ...rest]);
      return await run("Bun" in globalThis ? ["--no-install", path, ...rest] : [...types, path, ...rest]);
    });
  }

  it("makes no map that could not be masked, and sends nothing", async () => {
    await withApi(async (api) => {
      const { code, message } = await runCopy(api);
      assertEquals(code, "internal");
      assertStringIncludes(message!, "Cannot summarize a.ts: cannot mask secrets: the patterns could not be loaded (");
      assertEquals(api.requests.length, 0);
    });
  });

  // On Deno a bare name is found only through a configuration, so that there both packages would be missing.
  it("says which package is missing", { skip: onDeno }, async () => {
    await withApi(async (api) => {
      const { code, message } = await runCopy(api, (folder) => {
        const name = "node_modules/@secretlint/secretlint-rule-preset-recommend";
        cpSync(join(root, name), join(folder, name), { recursive: true, dereference: true });
      });
      assertEquals(code, "provider-error");
      assertStringIncludes(message!, "the package @anthropic-ai/sdk cannot be loaded, install it (");
    });
  });
});
