/**
 * Checkouts of the real JSR packages, made ready to be linked: `denoland/std`, `denodrivers/sqlite3` and `denosaurs/plug`,
 * in any order, outside this project. Deno only.
 *
 * @module
 */

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

/** The three checkouts among the arguments as a configuration's `links`, and the other arguments; a copy goes into a folder. */
export function linkCheckouts(args: readonly string[], temporary: string): { links: string[]; rest: string[] } {
  const links = args.filter(isCheckout).map((argument) => Deno.realPathSync(argument)).map((folder) =>
    readConfig(folder).name === "@db/sqlite" ? patched(folder, `${temporary}/sqlite3`) : folder
  );
  return { links, rest: args.filter((argument) => !isCheckout(argument)) };
}
