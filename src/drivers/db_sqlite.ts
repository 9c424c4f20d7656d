/**
 * SQLite through `@db/sqlite`, Deno's FFI binding. Deno only.
 *
 * Promised: it never prompts; without the permissions it needs it rejects and says which. Its module is loaded when asked
 * for. The native library is the one `DENO_SQLITE_PATH` names, else the package fetches its own at the first load.
 *
 * @example
 * ```ts
 * import { dbSqlite } from "@waymark/waymark/drivers/db-sqlite";
 * import { assertEquals } from "@std/assert";
 *
 * const driver = await dbSqlite(); // createWaymark({ sqlite: driver })
 * const database = driver.open(":memory:");
 * assertEquals(database.prepare("select ? as big").get(2 ** 41)?.big, 2 ** 41);
 * database.close();
 * ```
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import { disk, sha256 } from "../files.ts";
import type { SqliteDatabase, SqliteDriver } from "../types.ts";

/** How {@linkcode dbSqlite} loads. */
export interface DbSqliteOptions {
  /** How long loading may take, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
}

/** As much of it as is used: a type import would put the package into everybody's module graph. */
interface Package {
  Database: new (path: string, options: { int64: boolean; parseJson: boolean; flags?: number }) => SqliteDatabase;
}

const host = globalThis as unknown as { Deno?: typeof Deno };
/** SQLITE_OPEN_READONLY | SQLITE_OPEN_URI. */
const READ_URI = 0x41;

/**
 * Loads the driver. Rejects with a {@linkcode WaymarkError} of code `cache` outside Deno, without its permissions, and where
 * the package or its library cannot be had in time.
 */
export async function dbSqlite({ timeoutMs = 10_000 }: DbSqliteOptions = {}): Promise<SqliteDriver> {
  const missing = missingPermission();
  if (missing) throw new WaymarkError("cache", `Cannot load @db/sqlite: ${missing}`);
  // No literal, which would be fetched at every start; the whole name, since no import map applies.
  const specifier: string = "jsr:@db/sqlite@^0.13";
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not loaded within ${timeoutMs} ms`)), timeoutMs);
  const loading: Promise<Package> = import(specifier);
  try {
    const { Database } = await Promise.race([loading, late.promise]);
    return {
      name: "@db/sqlite",
      open: (path) =>
        new Database(path, { int64: true, parseJson: false, ...(path.startsWith("file:") ? { flags: READ_URI } : {}) }),
    };
  } catch (cause) {
    loading.catch(() => {});
    throw new WaymarkError("cache", `Cannot load @db/sqlite: ${(cause as Error).message}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Whether {@linkcode dbSqlite} would load with no prompt and no download: all it needs is there. */
export async function isDbSqliteAtHand(): Promise<boolean> {
  const library = missingPermission() === undefined && host.Deno?.env.get("DENO_SQLITE_PATH");
  if (!library || !disk().exists(library)) return false;
  const folder = cacheFolder();
  if (folder === undefined) return false;
  // Deno keeps what it downloaded under the hash of the address's path.
  const name = await sha256(new TextEncoder().encode("/@db/sqlite/meta.json"));
  return disk().exists(`${folder}/remote/https/jsr.io/${name}`);
}

/** What would raise a prompt. */
function missingPermission(): string | undefined {
  const deno = host.Deno;
  if (!deno?.permissions) return "it runs on Deno only";
  const granted = (permission: Deno.PermissionDescriptor): boolean =>
    deno.permissions.querySync(permission).state === "granted";
  // The package asks for both names, whether they are set or not.
  for (const variable of ["DENO_SQLITE_PATH", "DENO_SQLITE_LOCAL"]) {
    if (!granted({ name: "env", variable })) return `it needs --allow-env=${variable}`;
  }
  const path = deno.env.get("DENO_SQLITE_PATH");
  // Pointers need leave for all of FFI, whatever library they lead into.
  if (!granted({ name: "ffi" }) || path && !granted({ name: "ffi", path })) return "it needs --allow-ffi";
  if (path) return undefined;
  const download = (["read", "write", "net"] as const).every((name) => granted({ name }));
  return download
    ? undefined
    : "it needs DENO_SQLITE_PATH, or leave to read, write and use the net to fetch its library";
}

function cacheFolder(): string | undefined {
  const deno = host.Deno!;
  const variable = (name: string): string | undefined =>
    deno.permissions.querySync({ name: "env", variable: name }).state === "granted" ? deno.env.get(name) : undefined;
  const own = variable("DENO_DIR");
  if (own) return own;
  if (deno.build.os === "windows") return under(variable("LOCALAPPDATA"), "deno");
  if (deno.build.os === "darwin") return under(variable("HOME"), "Library/Caches/deno");
  return under(variable("XDG_CACHE_HOME"), "deno") ?? under(variable("HOME"), ".cache/deno");
}

function under(folder: string | undefined, name: string): string | undefined {
  return folder && `${folder}/${name}`;
}
