/**
 * Reads what the runners wrote. `count.mjs junit FILE CODE` prints passed, failed and skipped tests: leaves only, so that a
 * `describe` counts on no runtime. `count.mjs lcov FILE` prints the share of covered lines in per cent and the files below 90.
 *
 * @module
 */

import { existsSync, readFileSync } from "node:fs";

const [mode, file, code = "0"] = process.argv.slice(2);
const text = existsSync(file) ? readFileSync(file, "utf8") : "";

function junit() {
  const cases = [...text.matchAll(/<testcase\s([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)].map((
    [, head, , body = ""],
  ) => ({
    name: /\bname="([^"]*)"/.exec(head)?.[1] ?? "",
    // Deno lists a `describe` as a test of its file and its members as `describe > name`.
    nested: /classname="(ext:deno_node|\.\/)/.test(head),
    failed: /<(failure|error)\b/.test(body),
    skipped: /<skipped\b/.test(body),
  }));
  const groups = new Map();
  for (const { name, nested, failed } of cases) {
    const parts = name.split(" &gt; ");
    for (let depth = 1; nested && depth < parts.length; depth++) {
      const group = parts.slice(0, depth).join(" &gt; ");
      groups.set(group, (groups.get(group) ?? false) || failed);
    }
  }
  let passed = 0, failed = 0, skipped = 0;
  for (const one of cases) {
    const group = one.nested && groups.has(one.name);
    if (one.failed) failed += group && groups.get(one.name) ? 0 : 1;
    else if (group) continue;
    else if (one.skipped) skipped++;
    else passed++;
  }
  // A runner that fails with no failed test broke down; one that ran nothing proves nothing.
  if (failed === 0 && (code !== "0" || passed === 0)) failed = 1;
  return `${passed} ${failed} ${skipped}`;
}

function lcov() {
  let found = 0, hit = 0;
  const low = [];
  for (const record of text.split("end_of_record")) {
    const name = /SF:(.*)/.exec(record)?.[1];
    const lines = Number(/LF:(\d+)/.exec(record)?.[1] ?? 0);
    const covered = Number(/LH:(\d+)/.exec(record)?.[1] ?? 0);
    found += lines;
    hit += covered;
    if (name && lines > 0 && covered / lines < 0.9) {
      low.push(`${name.replace(/.*\/src\//, "src/")} ${covered}/${lines}`);
    }
  }
  return `${found ? (100 * hit / found).toFixed(2) : "0.00"} ${low.join(", ")}`;
}

console.log(mode === "junit" ? junit() : lcov());
