/**
 * The guarantees that ARCHITECTURE.md ends with: each names a test that exists, and every mutation belongs to one of them.
 *
 * The form: under a heading `## Guarantees`, a numbered list; each item names its proofs as
 * `` `tests/read_guard_test.ts`: "the subject > the test's name" ``; the subject may be left out.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { edgesOf, exists, readText, target } from "./modules.ts";
import { mutations } from "./mutations.ts";

/** A test by its file, its subject and its name. */
interface Proof {
  readonly file: string;
  readonly name: string;
}

/** One numbered promise. */
interface Guarantee {
  readonly number: number;
  readonly text: string;
  readonly proofs: readonly Proof[];
}

function readGuarantees(text: string): Guarantee[] {
  const section = text.split(/^## Guarantees$/m)[1] ?? "";
  return section.split(/^(?=\d+\. )/m).slice(1).map((item) => {
    const flat = item.replace(/\s+/g, " ");
    const proofs = [...flat.matchAll(/`(tests\/[\w/]+\.ts)`: "([^"]+)"/g)]
      .map(([, file = "", name = ""]) => ({ file, name }));
    return { number: Number.parseInt(item), text: flat.trim(), proofs };
  });
}

/** Every text that names a test or a subject in a test file or in the contract suites it runs. */
function namesOf(file: string): Set<string> {
  const source = readText(file);
  const suites = edgesOf(source).map(({ specifier }) => target(file, specifier))
    .filter((path) => path?.includes("/contracts/") || path?.includes("/faults/"));
  const texts = [source, ...suites.map((path) => readText(path ?? ""))];
  const calls = texts.flatMap((
    text,
  ) => [...text.matchAll(/\b(?:it|test|describe)\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g)]);
  return new Set(calls.map(([, , name = ""]) => name.replace(/\\(.)/g, "$1")));
}

/** Whether a name is one of those that a name with values in it (`${…}`) stands for. */
function isOf(template: string, name: string): boolean {
  const fixed = template.split(/\$\{[^}]*\}/);
  if (fixed.length === 1) return template === name;
  const pattern = fixed.map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
  return new RegExp(`^${pattern}$`).test(name);
}

/** Whether a test exists. A name with a value in it (`${…}`) is matched by its fixed parts. */
function isNamed({ file, name }: Proof): boolean {
  if (!exists(file)) return false;
  const names = [...namesOf(file)];
  return name.split(" > ").every((part) => names.some((known) => isOf(known, part)));
}

describe("the reader of guarantees", () => {
  it("finds numbers and proofs in wrapped text", () => {
    const text = '# A\n\n1. no\n\n## Guarantees\n\n1. One\n   thing (`tests/a_test.ts`: "x >\n   y").\n2. Two.\n';
    assertEquals(readGuarantees(text).map(({ number, proofs }) => ({ number, proofs })), [
      { number: 1, proofs: [{ file: "tests/a_test.ts", name: "x > y" }] },
      { number: 2, proofs: [] },
    ]);
  });

  it("knows a test that exists from one that does not", () => {
    const file = "tests/guarantees_test.ts";
    assert(isNamed({ file, name: "the reader of guarantees > knows a test that exists from one that does not" }));
    assert(!isNamed({ file, name: "the reader of guarantees > knows everything" }));
    assert(!isNamed({ file: "tests/no_such_test.ts", name: "anything" }));
  });
});

describe("every guarantee", () => {
  const guarantees = exists("ARCHITECTURE.md") ? readGuarantees(readText("ARCHITECTURE.md")) : [];

  it("has a number of its own, in order", () => {
    assert(guarantees.length >= 10, `${guarantees.length} guarantees in ARCHITECTURE.md`);
    assertEquals(guarantees.map(({ number }) => number), guarantees.map((_, at) => at + 1));
  });

  it("names a test that exists", () => {
    assertEquals(guarantees.filter(({ proofs }) => proofs.length === 0).map(({ text }) => text), []);
    const missing = guarantees.flatMap(({ number, proofs }) =>
      proofs.filter((proof) => !isNamed(proof)).map(({ file, name }) => `${number}. ${file}: ${name}`)
    );
    assertEquals(missing, []);
  });
});

describe("every mutation", () => {
  it("breaks what a guarantee promises: its test is one of the proofs", () => {
    const proofs = readGuarantees(exists("ARCHITECTURE.md") ? readText("ARCHITECTURE.md") : "").flatMap(({ proofs }) =>
      proofs
    );
    const last = (name: string): string => name.split(" > ").pop() ?? name;
    const known = new Set(proofs.map(({ file, name }) => `${file}: ${last(name)}`));
    const loose = mutations.map(({ test, named }) => `tests/${test}: ${last(named)}`).filter((proof) =>
      !known.has(proof) && ![...known].some((template) => isOf(template, proof))
    );
    assertEquals(loose, []);
  });

  it("is one of at least twenty, each of its own", () => {
    assert(mutations.length >= 20, `${mutations.length} mutations`);
    const keys = mutations.map(({ file, from, to }) => `${file}\n${from}\n${to}`);
    assertEquals(new Set(keys).size, keys.length);
  });

  it("changes a text that is there exactly once", () => {
    const wrong = mutations.filter(({ file, from }) => !exists(file) || readText(file).split(from).length !== 2);
    assertEquals(wrong.map(({ file, from }) => `${file}: ${from}`), []);
  });

  it("names a test that exists", () => {
    const missing = mutations.filter(({ test, named }) => !isNamed({ file: `tests/${test}`, name: named }));
    assertEquals(missing.map(({ test, named }) => `tests/${test}: ${named}`), []);
  });
});
