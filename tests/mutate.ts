/**
 * The mutation tier: one line of the source is broken on purpose, and the test that a guarantee names must notice.
 * `deno task mutate [words]` runs the mutations of `mutations.ts`, or those whose guarantee holds one of the words; the
 * last line is `N caught, N survived`, and the exit code is 1 where one survived.
 *
 * It works on a copy of the project, two at a time. A test that fails without any mutation proves nothing: that is tried
 * first and counts as survived. With `--report FILE`, a JUnit report of the suite in which nothing failed, its files are not
 * tried again.
 *
 * @module
 */

import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { join } from "@std/path/posix/join";
import { exists, root } from "./modules.ts";
import { type Mutation, mutations } from "./mutations.ts";
import { run } from "./publishing.ts";

const { values: { report: suiteReport }, positionals: words } = parseArgs({
  options: { report: { type: "string" } },
  allowPositionals: true,
});
const chosen = mutations.filter(({ guarantee }) =>
  words.length === 0 || words.some((word) => guarantee.includes(word))
);
const config = process.env["WAYMARK_CONFIG"] ?? "deno.offline.json";

function copyProject(): string {
  const folder = mkdtempSync(`${tmpdir()}/waymark-`);
  const parts = [
    "deno.json",
    "deno.offline.json",
    "deno.real.json",
    "tsconfig.json",
    "mod.ts",
    "src",
    "tests",
    "examples",
  ];
  const filter = (path: string): boolean => !path.endsWith("/node_modules"); // those of the hosts are large
  for (const part of parts) if (exists(part)) cpSync(join(root, part), join(folder, part), { recursive: true, filter });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** What became of the tests of one file: those that failed by name, or how the run broke down. */
interface Verdict {
  readonly names: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
  readonly broken?: string;
}

function plainText(xml: string): string {
  return xml.replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}

/** Whether a test of this name is among them; the outer subjects may be left out. */
function holds(names: ReadonlySet<string>, named: string): boolean {
  return [...names].some((name) => name === named || name.endsWith(` > ${named}`));
}

async function runTests(folder: string, test: string): Promise<Verdict> {
  const report = join(folder, "report.xml");
  rmSync(report, { force: true });
  const args = ["test", "-A", "--no-check", "--config", config, "--junit-path", report, `tests/${test}`];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd: folder, timeoutMs: 60_000 });
  const { names, failed } = readReport(existsSync(report) ? readFileSync(report, "utf8") : "");
  if (code === 0 || failed.size > 0) return { names, failed };
  const why = (stderr || stdout).trim().split("\n").find((line) => /error/i.test(line)) ?? "";
  return { names, failed, broken: code === -1 ? "it hung" : `exit code ${code} ${why}` };
}

/** The tests of a JUnit report, and those that failed. */
function readReport(xml: string): Pick<Verdict, "names" | "failed"> {
  const names = new Set<string>(), failed = new Set<string>();
  for (const [, name = "", body = ""] of xml.matchAll(/<testcase name="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g)) {
    const plain = plainText(name);
    names.add(plain);
    if (/<(failure|error)\b/.test(body)) failed.add(plain);
  }
  return { names, failed };
}

/** The test files of a report in which nothing failed, and its tests: those in a `describe` are not told by file there. */
function passedIn(xml: string): Map<string, ReadonlySet<string>> {
  const { names, failed } = readReport(xml);
  const files = failed.size ? [] : [...xml.matchAll(/<testsuite name="\.\/tests\/([^"]*)"/g)];
  return new Map(files.map(([, file = ""]) => [file, names]));
}

async function attempt(folder: string, mutation: Mutation): Promise<boolean> {
  const { guarantee, file, from, to } = mutation;
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  const places = source.split(from).length - 1;
  const title = `${guarantee}: ${file}: ${from.trim()} -> ${to.trim() || "(nothing)"}`;
  if (places !== 1) {
    console.log(`SURVIVED  ${title}\n          the line is there ${places} times, not once`);
    return false;
  }
  writeFileSync(path, source.replace(from, () => to));
  const { failed, broken } = await runTests(folder, mutation.test);
  writeFileSync(path, source);
  const found = broken !== undefined || holds(failed, mutation.named);
  const others = [...failed].slice(0, 3).join("; ") || "nothing fails";
  const how = broken ?? (found ? `"${mutation.named}"` : `not by "${mutation.named}" but: ${others}`);
  console.log(`${found ? "caught   " : "SURVIVED "} ${title}\n          ${how}`);
  if (!found) problems.push(`SURVIVED  ${title}\n          ${how}`);
  return found;
}

const folders = [copyProject(), copyProject()];
let caught = 0;
let survived = 0;
/** Told again at the end, where a long output is looked at. */
const problems: string[] = [];
try {
  const healthy = passedIn(suiteReport ? readFileSync(suiteReport, "utf8") : "");
  const tests = [...new Set(chosen.map(({ test }) => test))].filter((test) => !healthy.has(test));
  await Promise.all(folders.map(async (folder) => {
    for (let test = tests.shift(); test !== undefined; test = tests.shift()) {
      const { names, failed, broken } = await runTests(folder, test);
      if (broken === undefined && failed.size === 0) healthy.set(test, names);
      else problems.push(`tests/${test} fails without any mutation: ${broken ?? [...failed].join("; ")}`);
    }
  }));
  const todo = [...chosen];
  await Promise.all(folders.map(async (folder) => {
    for (let mutation = todo.shift(); mutation !== undefined; mutation = todo.shift()) {
      const names = healthy.get(mutation.test);
      if (names && !holds(names, mutation.named)) {
        problems.push(`tests/${mutation.test} has no test "${mutation.named}"`);
      }
      if (names && holds(names, mutation.named) && await attempt(folder, mutation)) caught++;
      else survived++;
    }
  }));
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true });
}
for (const problem of problems) console.log(problem);
console.log(`${caught} caught, ${survived} survived`);
process.exitCode = survived > 0 || caught === 0 ? 1 : 0;
