/**
 * Promises that nobody handles, which would end a process.
 *
 * @module
 */

/** Runs an action and says which promises nobody handled. */
export async function unhandledRejections(action: () => Promise<unknown>): Promise<string[]> {
  const { default: process } = await import("node:process");
  const seen: string[] = [];
  const listen = (reason: unknown): void => void seen.push(String(reason));
  process.on("unhandledRejection", listen);
  try {
    await action();
    await new Promise((resolve) => setTimeout(resolve, 20));
  } finally {
    process.off("unhandledRejection", listen);
  }
  return seen;
}
