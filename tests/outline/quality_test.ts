/**
 * How much of what others find the outline and the scanner find, on the pinned corpus. `deno task bench outline` prints the
 * figures by language.
 *
 * @module
 */

import { before, describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { isHazard } from "../../src/outline/load.ts";
import { extensionOf } from "../../src/summary/outline_rules.ts";
import { type CorpusFile, type CorpusList, corpusLists, loadCorpus } from "./corpus.ts";
import { measure, type Measured, total } from "./measure.ts";
import { addTo, emptyScore, type Score } from "./quality.ts";
import { references } from "./references.ts";

/** Shares of the top-level declarations that must be found. */
const WITH_GRAMMAR = 0.95, BY_SCANNER = 0.8;

function shareOf({ top, topFound }: Score): number {
  return topFound / top;
}

describe("the pinned corpus", () => {
  const { files, heldOut, tools } = corpusLists();

  it("has at least 40 files in at least 15 languages, each by its SHA-256, from packages at exact versions", () => {
    const paths = Object.values(files).flatMap((hashes) => Object.keys(hashes));
    assert(paths.length >= 40, `${paths.length} files`);
    const languages = new Set(paths.map((path) => extensionOf(path, "#!/bin/bash").replace(/^(?:cc|hpp)$/, "cpp")));
    assert(languages.size >= 15, [...languages].join(" "));
    for (const list of [files, heldOut, tools]) {
      for (const [source, hashes] of Object.entries(list)) {
        assert(/^(?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/.test(source), source);
        for (const hash of Object.values(hashes)) assert(/^[0-9a-f]{64}$/.test(hash));
      }
    }
  });

  it("holds no file back that it also shows", () => {
    const shown = new Set(
      Object.entries(files).flatMap(([source, hashes]) => Object.keys(hashes).map((path) => `${source} ${path}`)),
    );
    for (const [source, hashes] of Object.entries(heldOut)) {
      for (const path of Object.keys(hashes)) assert(!shown.has(`${source} ${path}`), path);
    }
  });
});

describe("a score", () => {
  const known = [
    { name: "a", line: 1, end: 3, top: true },
    { name: "b", line: 2, end: 2, top: false },
    { name: "lost", line: 9, top: true },
  ];

  it("counts what was found by name and near its line, and what lies outside the file", () => {
    const score = emptyScore();
    const missed = addTo(score, {
      regions: [
        { start: 1, end: 3, kind: "class", name: "a", note: "" },
        { start: 2, end: 4, kind: "method", name: "A.b", note: "" },
        { start: 30, end: 31, kind: "function", name: "lost", note: "" },
      ],
      known,
      lines: 30,
    });
    assertEquals(missed.map(({ name }) => name), ["lost"]);
    assertEquals(score, {
      files: 1,
      lines: 30,
      regions: 3,
      outside: 1,
      top: 2,
      topFound: 1,
      all: 3,
      allFound: 2,
      ends: 2,
      endsRight: 1,
    });
    assertEquals(shareOf(score), 0.5);
  });
});

for (
  const [words, list] of [
    ["on the files it was written with", corpusLists().files],
    ["on files that were held out", corpusLists().heldOut],
  ] as const satisfies readonly (readonly [string, CorpusList])[]
) {
  describe(`the quality of the outline, ${words}`, () => {
    const corpus: readonly CorpusFile[] | string = loadCorpus(list);
    const skip = typeof corpus === "string" && corpus;
    let measured: Measured;

    before(async () => {
      if (typeof corpus !== "string") measured = await measure(corpus, references());
    });

    it("is known to references that are there", { skip }, () => {
      const { top } = total(measured.scanner);
      assert(top > 0, "neither ctags nor Python is there");
    });

    it("finds at least 95 % of the declarations at the top level with a grammar", { skip }, () => {
      const all = total(measured.outline);
      assert(shareOf(all) >= WITH_GRAMMAR, `${all.topFound} of ${all.top}`);
      for (const [language, score] of measured.outline) {
        assert(score.top < 20 || shareOf(score) >= 0.8, `${language}: ${score.topFound} of ${score.top}`);
      }
    });

    it("finds at least 80 % of them with the scanner", { skip }, () => {
      const all = total(measured.scanner);
      assert(shareOf(all) >= BY_SCANNER, `${all.topFound} of ${all.top}`);
    });

    it("has no region outside the file, by neither", { skip }, () => {
      assertEquals([total(measured.outline).outside, total(measured.scanner).outside], [0, 0]);
    });

    it("ends at least nine of ten declarations on the right line, by either", { skip }, () => {
      for (const scores of [measured.outline, measured.scanner]) {
        const { ends, endsRight } = total(scores);
        assert(ends === 0 || endsRight / ends >= 0.9, `${endsRight} of ${ends}`);
      }
    });

    it("leaves no file of the corpus to the scanner but where the grammar is a hazard", { skip }, () => {
      const hazards = /\.(?:swift|sh|bash)$|^bin\/n$|bats-/;
      assertEquals(measured.fallenBack.filter((path) => !(isHazard("swift") && hazards.test(path))), []);
    });
  });
}
