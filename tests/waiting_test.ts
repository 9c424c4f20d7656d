import { describe, it } from "node:test";
import { execFileSync } from "node:child_process";
import process from "node:process";
import { assertEquals, assertRejects } from "@std/assert";
import { createDeadline, withSignal } from "../src/waiting.ts";
import { inFolder, put } from "./support.ts";

const source = new URL("../src/", import.meta.url).href;

/** Waits that nothing but a deadline ends, while the collector of garbage runs: how many it has ended. */
const WAITS = `
import { createDeadline, withSignal } from "${source}waiting.ts";

let ended = 0;
const kept = [];
const never = () => new Promise(() => {});
for (let at = 0; at < 100; at++) {
  const late = AbortSignal.timeout(200), joined = AbortSignal.any([new AbortController().signal, late]);
  kept.push(late); // a host that gives a joined signal has its parts
  withSignal(never(), joined).catch(() => ended++);
  const { signal } = createDeadline(200, { signals: [AbortSignal.any([new AbortController().signal])] });
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))).catch(() => ended++);
}
for (const from = Date.now(); ended < 200 && Date.now() - from < 20_000;) {
  globalThis.gc ? globalThis.gc() : globalThis.Bun.gc(true);
  await new Promise((done) => setTimeout(done, 20));
}
console.log(ended);
`;

describe("a wait that nothing but its deadline ends", () => {
  it(
    "ends with it, though nobody else holds the deadline and the collector runs",
    { timeout: 60_000 },
    () =>
      inFolder((folder) => {
        const script = put(folder, "waits.ts", WAITS);
        const flags = "Deno" in globalThis
          ? ["run", "-A", "--no-check", "--no-config", "--v8-flags=--expose-gc"]
          : "Bun" in globalThis
          ? []
          : ["--expose-gc"];
        assertEquals(execFileSync(process.execPath, [...flags, script], { encoding: "utf8" }).trim(), "200");
        return Promise.resolve();
      }),
  );
});

describe("createDeadline()", () => {
  it("fires with whichever of its signals is first, before it and after, and with none once it has ended", () => {
    for (const isBefore of [true, false]) {
      const [one, two] = [new AbortController(), new AbortController()];
      if (isBefore) two.abort("two");
      const { signal } = createDeadline(60_000, { signals: [one.signal, undefined, two.signal] });
      two.abort("two");
      one.abort("one");
      assertEquals([signal.aborted, signal.reason], [true, "two"]);
    }
    const late = new AbortController(), { signal, end } = createDeadline(60_000, { signals: [late.signal] });
    end();
    late.abort();
    assertEquals(signal.aborted, false);
  });

  it("takes what only looks like a signal for none, and so does a wait", async () => {
    const alike = [{ aborted: false }, { aborted: true, addEventListener() {} }, null, 7, {
      addEventListener: () => {
        throw new Error("no signal");
      },
    }] as unknown as AbortSignal[];
    const { signal } = createDeadline(1, { signals: alike });
    await assertRejects(() => withSignal(new Promise(() => {}), signal), DOMException, "The time is over");
    for (const one of alike) assertEquals(await withSignal(Promise.resolve(1), one), 1);
  });
});
