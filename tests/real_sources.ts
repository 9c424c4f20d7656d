/**
 * Runs the suite on the real sources of the JSR packages, where JSR itself is not at hand:
 * `deno run -A --no-config tests/real_sources.ts <std> <sqlite3> <plug> [arguments of deno test]`, the folders being
 * checkouts of `denoland/std`, `denodrivers/sqlite3` and `denosaurs/plug` outside this project, in any order.
 *
 * `DENO_SQLITE_PATH` names the SQLite library that `@db/sqlite` is to load; without it the tests of that driver are left
 * to what it finds. Types are not checked: a linked checkout counts as our own code, and not all of it passes our rules.
 *
 * @module
 */

import { linkCheckouts } from "./real_links.ts";

const root = `${import.meta.dirname}/..`;

const config = `${root}/deno.real.json`;
const temporary = Deno.makeTempDirSync({ prefix: "waymark-" });
try {
  const { links, rest } = linkCheckouts(Deno.args, temporary);
  if (links.length === 3) Deno.exitCode = await runSuite(links, rest);
  else {
    console.error("Cannot run on real sources: name the checkouts of std, sqlite3 and plug");
    Deno.exitCode = 2;
  }
} finally {
  Deno.removeSync(temporary, { recursive: true });
}

async function runSuite(links: readonly string[], rest: readonly string[]): Promise<number> {
  const offline = JSON.parse(Deno.readTextFileSync(`${root}/deno.offline.json`));
  Deno.writeTextFileSync(config, JSON.stringify({ ...offline, links }));
  try {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--no-check", "--config", config, ...rest],
      cwd: root,
      env: { WAYMARK_CONFIG: "deno.real.json" },
    }).spawn().status;
    return code;
  } finally {
    Deno.removeSync(config);
  }
}
