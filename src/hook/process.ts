/**
 * What a hook touches of its process: its arguments, two streams and its end. Nothing of Node's layer on Deno: to touch that
 * costs more than all else a hook does.
 *
 * @module
 */

/** What a hook reads from and writes to. */
export interface HookIo {
  /** All of standard input, as text. */
  read(): Promise<string>;
  /** Writes to standard output; resolves when it is written. */
  write(text: string): Promise<void> | void;
  /** Writes one line to standard error. */
  complain(line: string): void;
}

/** As much of Bun as is used: its own streams start in half the time. */
interface Bun {
  readonly stdin: { text(): Promise<string> };
  readonly stdout: unknown;
  write(target: unknown, text: string): Promise<number>;
}

/** The runtime's own globals, of which nothing may be touched before Deno was asked for. */
const host = globalThis as unknown as { Deno?: typeof Deno; Bun?: Bun; process: typeof import("node:process") };

/** The arguments of the program. */
export function programArguments(): readonly string[] {
  return host.Deno?.version?.deno ? host.Deno.args : host.process.argv.slice(2);
}

/** Ends the process, whatever still goes on in it. */
export function exit(): void {
  if (host.Deno?.version?.deno) host.Deno.exit(0);
  else host.process.exit(0);
}

/** Ends the process well where something fails that nobody waits for. */
export function exitOnFault(): void {
  const end = (event?: { preventDefault?(): void }): void => {
    event?.preventDefault?.();
    exit();
  };
  if (host.Deno?.version?.deno) {
    for (const name of ["error", "unhandledrejection"]) globalThis.addEventListener(name, end);
    return;
  }
  for (const name of ["uncaughtException", "unhandledRejection"] as const) {
    host.process.on(name as "exit", () => end());
  }
}

/** Keeps Node's warnings, as of a module that is an experiment, off standard error. */
export function keepQuiet(): void {
  if (!host.Deno?.version?.deno) host.process.removeAllListeners("warning");
}

/** Whether a file is the program. Node before 24.2 has no `import.meta.main`. */
export function isProgram({ main, filename, url }: { main?: boolean; filename?: string; url: string }): boolean {
  if (main !== undefined) return main;
  try {
    const script = host.process.getBuiltinModule("node:fs").realpathSync(host.process.argv[1] ?? "");
    return script === filename || new URL(`file://${script}`).href === url;
  } catch {
    return false;
  }
}

/** The process's own streams; those of other globals for the tests, which read and write Node's on Deno too. */
export function processIo({ Deno: deno, Bun: bun, process }: Partial<typeof host> = host): HookIo {
  const complain = (line: string): void => console.error(line);
  if (deno?.version?.deno) return { complain, read: () => readDeno(deno), write: (text) => writeDeno(deno, text) };
  if (bun) {
    return {
      complain,
      read: () => bun.stdin.text(),
      write: async (text) => void await bun.write(bun.stdout, text),
    };
  }
  return { complain, read: () => readNode(process!), write: (text) => writeNode(process!, text) };
}

async function readDeno(deno: typeof Deno): Promise<string> {
  const decoder = new TextDecoder(), buffer = new Uint8Array(1 << 16);
  let text = "";
  for (let size; (size = await deno.stdin.read(buffer)) !== null;) {
    text += decoder.decode(buffer.subarray(0, size), { stream: true });
  }
  return text + decoder.decode();
}

async function readNode({ stdin }: Pick<typeof import("node:process"), "stdin">): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stdin) text += decoder.decode(chunk as Uint8Array, { stream: true });
  return text + decoder.decode();
}

function writeDeno(deno: typeof Deno, text: string): void {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length) bytes = bytes.subarray(deno.stdout.writeSync(bytes));
}

function writeNode({ stdout }: Pick<typeof import("node:process"), "stdout">, text: string): Promise<void> {
  stdout.on("error", () => {}); // the write says for itself that it failed
  return new Promise((resolve, reject) => stdout.write(text, (error) => error ? reject(error) : resolve()));
}
