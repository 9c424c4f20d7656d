/**
 * Starts Deno with the configuration that works here: `deno run -A --no-config tests/launch.ts <subcommand> <arguments>`.
 *
 * JSR cannot be reached from every machine, npm can. So it asks JSR once, for two seconds at most: if it answers,
 * `deno.json` is used (the real packages), else `deno.offline.json` (the same, with `tests/standins` in their place). It
 * says which. `WAYMARK_CONFIG` (`deno.json` or `deno.offline.json`) answers the question beforehand. Exit code and
 * signals are passed on. An argument `@exports` stands for all files in `exports` that exist.
 *
 * @module
 */

const root = `${import.meta.dirname}/..`;

async function jsrAnswers(): Promise<boolean> {
  const registry = Deno.env.get("JSR_URL") ?? "https://jsr.io/";
  try {
    const answer = await fetch(new URL("@std/path/meta.json", registry), { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

async function chooseConfig(): Promise<string> {
  const given = Deno.env.get("WAYMARK_CONFIG");
  if (given) return given;
  const online = await jsrAnswers();
  console.error(
    online
      ? "waymark: JSR answers, using deno.json"
      : "waymark: JSR does not answer, using deno.offline.json and the stand-ins in tests/standins",
  );
  return online ? "deno.json" : "deno.offline.json";
}

/** Deno before 2.3.6 knows `links` as `patch`; the file it gets is beside the original and not tracked. */
async function forThisDeno(config: string): Promise<string> {
  const [major = 0, minor = 0, patch = 0] = Deno.version.deno.split(".").map(Number);
  if (major > 2 || minor > 3 || patch >= 6) return config;
  const { links, ...rest } = JSON.parse(await Deno.readTextFile(`${root}/${config}`));
  await Deno.writeTextFile(`${root}/deno.floor.json`, JSON.stringify({ ...rest, patch: links }));
  return "deno.floor.json";
}

function exportedFiles(): string[] {
  const { exports } = JSON.parse(Deno.readTextFileSync(`${root}/deno.json`));
  return Object.values<string>(exports).filter((file) => {
    try {
      return Deno.statSync(`${root}/${file}`).isFile;
    } catch {
      return false;
    }
  });
}

const [subcommand = "help", ...given] = Deno.args;
const config = await chooseConfig();
const args = given.flatMap((argument) => argument === "@exports" ? exportedFiles() : [argument]);
const child = new Deno.Command(Deno.execPath(), {
  args: [subcommand, "--config", `${root}/${await forThisDeno(config)}`, ...args],
  env: { WAYMARK_CONFIG: config },
  stdin: "inherit",
  stdout: "inherit",
  stderr: "inherit",
}).spawn();
const signals = Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
for (const signal of signals) {
  Deno.addSignalListener(signal, () => {
    try {
      child.kill(signal);
    } catch { /* it has ended */ }
  });
}
const { code } = await child.status;
Deno.exit(code);
