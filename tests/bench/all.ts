/**
 * Runs the benchmarks one after the other: `deno task bench` for all of them, `deno task bench import …` for those whose
 * file name begins with the word; what follows is handed on.
 *
 * @module
 */

const [word = "", ...rest] = Deno.args;
const config = `${import.meta.dirname}/../../${Deno.env.get("WAYMARK_CONFIG") ?? "deno.offline.json"}`;
const files = [...Deno.readDirSync(import.meta.dirname ?? ".")].map(({ name }) => name)
  .filter((name) => /(_bench|^replay|^compaction)\.ts$/.test(name) && name.startsWith(word)).sort();
for (const file of files) {
  console.log(`\n# ${file}`);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", config, `${import.meta.dirname}/${file}`, ...rest],
  }).spawn().status;
  if (code !== 0) Deno.exitCode = code;
}
