/**
 * What the command line touches of its process: two streams and the environment.
 *
 * @module
 */

import process from "node:process";

/** Where the command line writes, and what it may know of the environment. */
export interface CommandIo {
  /** Writes to standard output; resolves when it is written. */
  write(output: string | Uint8Array): Promise<void> | void;
  /** Writes one line to standard error. */
  complain(line: string): void;
  /** A variable of the environment; `undefined` where there is none or it may not be known. */
  environment(name: string): string | undefined;
}

const host = globalThis as unknown as {
  Deno?: { permissions: { querySync(descriptor: Record<string, string>): { state: string } } };
};

/** The process's own. On Deno the environment is never asked for: what is not allowed is not there. */
export function processIo(): CommandIo {
  process.stdout.on("error", () => {}); // every write says for itself that it failed
  return {
    write: (output) =>
      new Promise((resolve, reject) => {
        process.stdout.write(output, (error) => error ? reject(error) : resolve());
      }),
    complain: (line) => console.error(line),
    environment(variable) {
      const granted = host.Deno?.permissions.querySync({ name: "env", variable }).state ?? "granted";
      return granted === "granted" ? process.env[variable] || undefined : undefined;
    },
  };
}

/** Whether a write failed because nobody reads any more. */
export function isBrokenPipe(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return code === "EPIPE" || name === "BrokenPipe";
}
