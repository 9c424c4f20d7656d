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

const root = `${import.meta.dirname}/..`;

interface Checkout {
  readonly folder: string;
  readonly name?: string;
}

// deno-lint-ignore no-explicit-any -- configuration files as they are
function readConfig(folder: string): any {
  return JSON.parse(Deno.readTextFileSync(`${folder}/deno.json`));
}

function isCheckout(argument: string): boolean {
  try {
    return Deno.statSync(`${argument}/deno.json`).isFile;
  } catch {
    return false;
  }
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory, isFile } of Deno.readDirSync(from)) {
    if (isDirectory && !/^(\.git|node_modules|sqlite|bench|test)$/.test(name)) {
      copyFolder(`${from}/${name}`, `${to}/${name}`);
    } else if (isFile) Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

/** `@db/sqlite` asks for an `@std/path` older than ours: a link serves one version only, so a copy asks for any. */
function patched(folder: string, into: string): string {
  copyFolder(folder, into);
  const dependencies = `${into}/deps.ts`;
  Deno.writeTextFileSync(
    dependencies,
    Deno.readTextFileSync(dependencies).replace("jsr:@std/path@1.0", "jsr:@std/path@1"),
  );
  return into;
}

const checkouts: Checkout[] = Deno.args.filter(isCheckout).map((argument) => {
  const folder = Deno.realPathSync(argument);
  return { folder, name: readConfig(folder).name };
});
const rest = Deno.args.filter((argument) => !isCheckout(argument));
if (checkouts.length !== 3) {
  console.error("Cannot run on real sources: name the checkouts of std, sqlite3 and plug");
  Deno.exit(2);
}

const temporary = Deno.makeTempDirSync({ prefix: "waymark-" });
const config = `${root}/deno.real.json`;
try {
  const links = checkouts.map(({ folder, name }) =>
    name === "@db/sqlite" ? patched(folder, `${temporary}/sqlite3`) : folder
  );
  const offline = JSON.parse(Deno.readTextFileSync(`${root}/deno.offline.json`));
  Deno.writeTextFileSync(config, JSON.stringify({ ...offline, links }));
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--config", config, ...rest],
    cwd: root,
    env: { WAYMARK_CONFIG: "deno.real.json" },
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  Deno.removeSync(config);
  Deno.removeSync(temporary, { recursive: true });
}
