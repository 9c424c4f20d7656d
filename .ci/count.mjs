/**
 * Reads what the runners wrote. `count.mjs junit FILE CODE` prints passed, failed and skipped tests: leaves only, so that a
 * `describe` counts on no runtime; `count.mjs failures FILE` names those that failed, with the first lines of why.
 * `count.mjs lcov FILE` prints the share of covered lines in per cent and the files below 90.
 *
 * @module
 */

import { existsSync, readFileSync } from "node:fs";

const [mode, file, code = "0"] = process.argv.slice(2);
const text = existsSync(file) ? readFileSync(file, "utf8") : "";

/** The tests of a report, without those that only hold others. */
function leaves() {
  const cases = [...text.matchAll(/<testcase\s((?:"[^"]*"|[^">])*?)(\/>|>([\s\S]*?)<\/testcase>)/g)].map((
    [, head, , body = ""],
  ) => ({
    name: /\bname="([^"]*)"/.exec(head)?.[1] ?? "",
    // Deno lists a `describe` as a test of its file and its members as `describe > name`.
    nested: /classname="(ext:deno_node|\.\/)/.test(head),
    failed: /<(failure|error)\b/.test(body),
    why: [/\bmessage="([^"]*)"/, /<(?:failure|error)\b(?:"[^"]*"|[^">])*>([^<]*)/].map((part) => part.exec(body)?.[1])
      .join("\n"),
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
  // A group counts only where itself has failed, and none of its tests.
  return cases.filter(({ nested, name, failed }) => !nested || !groups.has(name) || (failed && !groups.get(name)));
}

function junit() {
  const cases = leaves(), count = (which) => cases.filter(which).length;
  const skipped = count((one) => one.skipped && !one.failed);
  let failed = count((one) => one.failed);
  const passed = cases.length - failed - skipped;
  // A runner that fails with no failed test broke down; one that ran nothing proves nothing.
  if (failed === 0 && (code !== "0" || passed === 0)) failed = 1;
  return `${passed} ${failed} ${skipped}`;
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&#39;": "'", "&#10;": "\n", "&amp;": "&" };
const plain = (text) => text.replace(/&[#\w]+;/g, (entity) => ENTITIES[entity] ?? entity);

function failures() {
  const start = (why) => plain(why).split("\n").filter((line) => line.trim()).slice(0, 12);
  return leaves().filter(({ failed }) => failed).flatMap(({ name, why }) => [
    `failed: ${plain(name)}`,
    ...start(why).map((line) => `    ${line.slice(0, 300)}`),
  ]).join("\n");
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

console.log({ junit, failures, lcov }[mode]());
