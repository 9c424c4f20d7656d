/**
 * Stand-in for `@db/sqlite` over `node:sqlite`, with the traps of the real one: without `int64` an integer is cut to 32
 * bits, with `parseJson` (the default) JSON text comes back parsed, `run` and `exec` return the number of changes, a missing
 * row is `undefined`, text ends at its first NUL. It needs no FFI and no native library of its own.
 *
 * @module
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** How a database is opened. */
export interface DatabaseOpenOptions {
  /** Read only. Default: false. */
  readonly?: boolean;
  /** Create a missing file. Default: true. */
  create?: boolean;
  /** Keep it in memory. Default: false. */
  memory?: boolean;
  /** Whole 64-bit integers. Default: false. */
  int64?: boolean;
  /** Parse JSON text. Default: true. */
  parseJson?: boolean;
}

/** A value to bind. */
export type BindValue = number | string | bigint | boolean | null | undefined | Date | Uint8Array;

/** An open database. */
export class Database {
  /** Whole 64-bit integers. */
  int64: boolean;
  /** Parse JSON text. */
  parseJson: boolean;
  /** The file. */
  readonly path: string;
  #inner: DatabaseSync;
  #open = true;
  #statements = new Set<Statement>();

  /** Opens or creates the file. */
  constructor(path: string | URL, options: DatabaseOpenOptions = {}) {
    this.path = String(path);
    this.int64 = options.int64 ?? false;
    this.parseJson = options.parseJson ?? true;
    if (options.create === false && !options.memory) new DatabaseSync(path, { readOnly: true }).close();
    this.#inner = new DatabaseSync(options.memory ? ":memory:" : path, { readOnly: options.readonly ?? false });
    // `node:sqlite` switches foreign keys on by itself; the engine has them off.
    if (!options.readonly) this.#inner.exec("pragma foreign_keys = off");
  }

  /** Whether it is open. */
  get open(): boolean {
    return this.#open;
  }

  /** Rows changed by the last statement. */
  get changes(): number {
    return Number(this.#inner.prepare("select changes() as n").get()?.n ?? 0);
  }

  /** Runs statements; returns the number of changes of the last. */
  exec(sql: string, ...values: BindValue[]): number {
    if (values.length > 0) return this.prepare(sql).run(...values);
    this.#inner.exec(sql);
    return this.changes;
  }

  /** Prepares one statement. */
  // deno-lint-ignore no-explicit-any -- the real signature
  prepare<T extends object = Record<string, any>>(sql: string): Statement<T> {
    const statement = new Statement<T>(this, this.#inner.prepare(sql));
    this.#statements.add(statement as unknown as Statement);
    return statement;
  }

  /** Closes it; a second call does nothing. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const statement of this.#statements) statement.finalize();
    this.#inner.close();
  }
}

/** A prepared statement. */
// deno-lint-ignore no-explicit-any -- the real signature
export class Statement<T extends object = Record<string, any>> {
  /** The database it belongs to. */
  readonly db: Database;
  #inner: StatementSync | undefined;

  /** Not to be called: `Database.prepare` does. */
  constructor(db: Database, inner: StatementSync) {
    this.db = db;
    this.#inner = inner;
    inner.setReadBigInts(true);
  }

  /** Runs it; returns the number of changes. */
  run(...values: BindValue[]): number {
    return Number(this.#live().run(...values.map(bind)).changes);
  }

  /** The first row, `undefined` where there is none. */
  get<R extends object = T>(...values: BindValue[]): R | undefined {
    const row = this.#live().get(...values.map(bind));
    return row ? this.#row(row) as R : undefined;
  }

  /** All rows. */
  all<R extends object = T>(...values: BindValue[]): R[] {
    return this.#live().all(...values.map(bind)).map((row) => this.#row(row) as R);
  }

  /** All rows as arrays. */
  // deno-lint-ignore no-explicit-any -- the real signature
  values<R extends unknown[] = any[]>(...values: BindValue[]): R[] {
    return this.all(...values).map((row) => Object.values(row) as R);
  }

  /** The first row as an array. */
  value<R extends unknown[]>(...values: BindValue[]): R | undefined {
    return this.values<R>(...values)[0];
  }

  /** Frees it. */
  finalize(): void {
    this.#inner = undefined;
  }

  #live(): StatementSync {
    if (!this.#inner) throw new Error("21: SQLite3 API misuse");
    return this.#inner;
  }

  #row(row: Record<string, unknown>): object {
    return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, this.#column(value)]));
  }

  #column(value: unknown): unknown {
    if (typeof value === "bigint") {
      if (!this.db.int64) return Number(BigInt.asIntN(32, value));
      return value >= -BigInt(Number.MAX_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(value)
        : value;
    }
    if (typeof value !== "string") return value;
    const text = value.split("\0", 1)[0] ?? "";
    // The real one knows JSON by its subtype; `node:sqlite` does not tell, so whatever looks like an object or a list counts.
    if (!this.db.parseJson || !/^\s*[[{]/.test(text)) return text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}

function bind(value: BindValue): string | number | bigint | null | Uint8Array {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof Date) return value.toISOString();
  return value;
}
