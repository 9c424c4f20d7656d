/**
 * The one connection a process has to a database, shared by all caches on it and counted.
 *
 * Promised: one driver per database per process (two SQLite libraries on one file lose each other's locks); a damaged or
 * foreign database is moved aside and a new one begun; a place where SQLite does not work is told at once.
 *
 * @module
 */

import { attempting, WaymarkError } from "../errors.ts";
import type { WaymarkEvent } from "../events.ts";
import { disk } from "../files.ts";
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from "../types.ts";
import {
  gitTracks,
  identityOf,
  isVoid,
  isWritable,
  lockOf,
  makeFilesPrivate,
  prepareFolder,
  setAside,
} from "./folder.ts";
import { faultOf, migrate, schemaState } from "./schema.ts";
import { closeQuietly, distrust, glance, judge, type Label, openReadable, recall, type Verdict } from "./trust.ts";

/** How a database is opened. */
export interface ConnectionOptions {
  readonly root: string;
  readonly driver: SqliteDriver;
  readonly trustForeignCache: boolean;
  readonly busyTimeoutMs: number;
}

/** An open database. Data only: two copies of this module in one process may share it. */
export interface Connection extends ConnectionOptions {
  readonly file: string;
  /** Absent after it broke for good. */
  database?: SqliteDatabase | undefined;
  readonly statements: Map<string, SqliteStatement>;
  identity: string;
  /** On a disk that cannot be written. */
  readOnly: boolean;
  /** How long a write waits for its turn, in ms: half as long after each that had none, so all together no longer than two. */
  patience: number;
  /** Transactions so far, by all caches of this process, and reopenings. */
  writes: number;
  /** Times a damaged database was replaced. */
  repairs: number;
  users: number;
}

type Emit = (event: WaymarkEvent) => void;
/** Longest an opening goes on before maps stay in memory. One call into SQLite cannot be cut short. */
const OPEN_WITHIN_MS = 2000;
/** 16 MiB of pages: a hot set costs the same in a small and a large database. WAL is cut back to 4 MiB. */
const SETTINGS =
  "pragma synchronous = normal; pragma cache_size = -16384; pragma trusted_schema = off; pragma journal_size_limit = 4194304";

const attempt = attempting();
const shared = globalThis as unknown as Record<symbol, { open: Map<string, Connection>; slow: Map<string, string> }>;
const registry = () => shared[Symbol.for("waymark.cache.1")] ??= { open: new Map(), slow: new Map() };

/** Joins the connection to a root's database, or opens it. Throws what says why it cannot be had. */
export function connect(options: ConnectionOptions, emit: Emit): Connection {
  const { open, slow } = registry(),
    file = prepareFolder(options.root),
    known = open.get(file),
    reason = slow.get(file);
  if (reason) throw new WaymarkError("cache", reason);
  if (known) {
    if (!known.database) begin(known, emit);
    const why = options.trustForeignCache ? undefined : distrust(known, known.database!);
    if (why) throw new WaymarkError("cache", `Cannot use ${file}: ${why}`);
    known.users++;
    return known;
  }
  const fresh = { identity: "", readOnly: false, patience: 0, writes: 0, repairs: 0, users: 1 };
  const connection: Connection = { ...options, ...fresh, file, statements: new Map() };
  begin(connection, emit);
  open.set(file, connection);
  return connection;
}

/** Gives the connection back; the last one closes the database. */
export function release(connection: Connection): void {
  if (--connection.users > 0) return;
  const { open } = registry();
  if (open.get(connection.file) === connection) open.delete(connection.file);
  // Fails where another process is at it, or the disk is gone or read-only.
  attempt(() => connection.database?.exec("pragma busy_timeout = 0; pragma wal_checkpoint(truncate)"));
  end(connection);
}

/** The statement, prepared once. */
export function ask(connection: Connection, sql: string): SqliteStatement {
  let statement = connection.statements.get(sql);
  if (!statement) {
    if (!connection.database) throw new WaymarkError("cache", "Cannot use the database: it is closed");
    connection.statements.set(sql, statement = connection.database.prepare(sql));
  }
  return statement;
}

/** Runs work that writes, in one transaction that has the write lock from its first moment. */
export function transact<Result>(connection: Connection, work: () => Result): Result {
  const { patience, busyTimeoutMs } = connection;
  connection.writes++;
  try {
    ask(connection, "begin immediate").run();
  } catch (error) {
    if (faultOf(error) === "busy") setPatience(connection, patience / 2);
    throw error;
  }
  if (patience < busyTimeoutMs) setPatience(connection, busyTimeoutMs);
  try {
    const result = work();
    ask(connection, "commit").run();
    return result;
  } catch (error) {
    attempt(() => ask(connection, "rollback").run()); // the engine may have done so by itself
    throw error;
  }
}

function setPatience(connection: Connection, ms: number): void {
  connection.patience = ms;
  connection.database!.exec(`pragma busy_timeout = ${Math.trunc(ms)}`);
}

/** Joins the file that took this one's place: another process moved it aside, or somebody removed the folder. */
export function followFile(connection: Connection, emit: Emit): void {
  if (connection.readOnly || identityOf(connection.file) === connection.identity) return;
  end(connection);
  prepareFolder(connection.root);
  begin(connection, emit);
}

/** Replaces a database found to be damaged. Throws where that was tried before, or cannot be done. */
export function replaceDamaged(connection: Connection, reason: string, emit: Emit): void {
  end(connection);
  if (connection.readOnly || ++connection.repairs > 2) {
    throw new WaymarkError("cache", `Cannot use ${connection.file}: ${reason}`);
  }
  moveAside(connection, "corrupt", reason, emit);
  begin(connection, emit);
}

function end(connection: Connection): void {
  const { database, statements } = connection;
  connection.database = undefined;
  connection.writes++;
  for (const statement of statements.values()) attempt(() => (statement as { finalize?(): void }).finalize?.());
  statements.clear();
  closeQuietly(database);
}

function moveAside(connection: Connection, label: Label, reason: string, emit: Emit): void {
  const { file, identity } = connection;
  const target = locked(connection, () => setAside(file, { label, identity }));
  if (target) emit({ type: "cache", what: "set-aside", message: `Moved ${file} to ${target}: ${reason}` });
}

function locked<Result>({ file, driver }: Connection, work: () => Result): Result {
  const lock = driver.open(lockOf(file));
  try {
    lock.exec(`pragma busy_timeout = ${OPEN_WITHIN_MS / 2}`);
    lock.exec("begin exclusive");
    makeFilesPrivate(lockOf(file));
    return work();
  } finally {
    closeQuietly(lock);
  }
}

function begin(connection: Connection, emit: Emit): void {
  const { file } = connection, until = Date.now() + OPEN_WITHIN_MS;
  for (let moved = 0, refused = 0;;) {
    let verdict: Verdict, reason = "it is replaced over and over";
    try {
      // Where one may be moved aside, a new one waits until the files beside the old one are gone too.
      const waits = isVoid(file) && disk().exists(lockOf(file));
      verdict = waits ? locked(connection, () => open(connection)) : open(connection);
    } catch (error) {
      end(connection);
      const fault = faultOf(error);
      reason = (error as Error).message;
      if (error instanceof WaymarkError) throw error;
      const readable = fault === "refused" && !isWritable(file) ? openReadable(connection) : undefined;
      if (readable) {
        connection.database = readable;
        connection.readOnly = true;
        return;
      }
      if (fault === "refused" && ++refused > 2) throw error; // once may be a file that was moved at that moment
      verdict = fault === "damaged" ? ["corrupt", reason] : "again";
    }
    if (verdict === "fine") return;
    end(connection);
    if (verdict === "again" ? Date.now() > until : ++moved > 3) {
      throw new WaymarkError("cache", `Cannot use ${file}: ${reason}`);
    }
    if (verdict !== "again") moveAside(connection, ...verdict, emit);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
}

/** One try. */
function open(connection: Connection): Verdict {
  const { file, driver, root, busyTimeoutMs } = connection, before = identityOf(file), start = Date.now();
  const check = (): void => {
    if (Date.now() < start + OPEN_WITHIN_MS) return;
    const reason = `Cannot use ${file}: it takes over ${OPEN_WITHIN_MS / 1000} s to open`;
    registry().slow.set(file, reason); // not to be paid for again in this process
    throw new WaymarkError("cache", reason);
  };
  connection.identity = before ?? "";
  // Looked at first in a way that leaves no files beside it: a new one in its place would take them for its own.
  const seen = before === undefined ? "again" : glance(connection);
  if (typeof seen !== "string") return seen;
  check();
  const database = connection.database = driver.open(file);
  check();
  connection.identity = identityOf(file) ?? "";
  if (before !== undefined && before !== connection.identity) return "again"; // another process has put a new one there
  setPatience(connection, busyTimeoutMs); // before all else: the switch to WAL can be busy
  const behind = seen !== "fine" && schemaState(database) === "behind";
  if (!behind && seen !== "fine") {
    const verdict = judge(connection, database);
    if (verdict !== "fine") return verdict;
  }
  check();
  database.exec("pragma journal_mode = wal");
  database.exec(SETTINGS);
  check();
  if (behind) {
    transact(connection, () => {
      if (schemaState(database) !== "behind") return; // another process was first
      migrate(database);
      const note = database.prepare("insert or ignore into meta values(?, ?)");
      if (!recall(database, "identity")) note.run("tracked", String(gitTracks(root)));
      note.run("identity", connection.identity);
    });
  }
  makeFilesPrivate(file);
  return behind ? judge(connection, database) : "fine";
}
