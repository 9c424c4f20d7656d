/** Timing that survives a noisy machine: cases interleaved in one process, medians of many rounds, ratios inside a round. */

/** One thing to time. */
export interface Case {
  name: string;
  run: () => unknown;
}

/** Median times in microseconds, and the median over the rounds of each case's time over the first one's. */
export interface Timing {
  name: string;
  micros: number;
  ratio: number;
}

/** Times the cases side by side: so many rounds, so many repeats of each case in a round. */
export async function measure(
  cases: readonly Case[],
  { rounds = 41, repeats = 20, warmUp = 5 } = {},
): Promise<Timing[]> {
  const times = cases.map((): number[] => []);
  for (let round = -warmUp; round < rounds; round++) {
    for (const [index, { run }] of cases.entries()) {
      const start = performance.now();
      for (let repeat = 0; repeat < repeats; repeat++) await run();
      if (round >= 0) times[index]!.push((performance.now() - start) * 1000 / repeats);
    }
  }
  return cases.map(({ name }, index) => ({
    name,
    micros: median(times[index]!),
    ratio: median(times[index]!.map((time, round) => time / times[0]![round]!)),
  }));
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

/** One line for a case. */
export function line({ name, micros, ratio }: Timing): string {
  return `${name.padEnd(44)} ${micros.toFixed(1).padStart(10)} us  ${ratio.toFixed(2).padStart(6)}x`;
}

/** The runtime at hand, for the heading of a benchmark. */
export function runtime(): string {
  const host = globalThis as unknown as {
    Deno?: { version: { deno: string } };
    Bun?: { version: string };
    process?: { version: string };
  };
  return host.Deno
    ? `Deno ${host.Deno.version.deno}`
    : host.Bun
    ? `Bun ${host.Bun.version}`
    : `Node ${host.process?.version}`;
}
