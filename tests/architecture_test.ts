/**
 * The rules of the layout, held by reading the source: which file may import which, what the root entry may weigh, what
 * pure files may not name.
 *
 * @module
 */

import { describe, it } from "node:test";
import { assert, assertEquals } from "@std/assert";
import { codeOnly, type Edge, edgesOf, exists, graphOf, listFiles, namesIn, readText, target } from "./modules.ts";

/** Layers from the bottom up. A file imports from its own layer and from those below. The first pattern that fits counts. */
const layers: readonly (readonly [name: string, files: RegExp])[] = [
  [
    "vocabulary",
    /^src\/(types|compose_types|dialect_types|file_map_types|line_types|session_types|wrap_types|claude_types|summarize_file_types|errors|events|(cache|tool_use|compaction)\/types|compaction\/(compactor|shape)_types)\.ts$/,
  ],
  [
    "pure",
    /^src\/(lines|probe|verify|file_map|arguments|dialects|codecs|residency|edited_by_api|claude_code|cache\/schema)\.ts$/,
  ],
  ["pure", /^src\/summary\/(prompt|parse|json|text|normalize|failure|scan|.*_rules)\.ts$/],
  [
    "pure",
    /^src\/tool_use\/(decide|result_text|excerpt|named_paths|tally|text|rows|frame|placeholders|results)\.ts$/,
  ],
  [
    "pure",
    /^src\/compaction\/(binary|bonds|own_text|pieces|shapes|shapes\/.*|span|ladder|meter|guard|reattach|clearing|unread)\.ts$/,
  ],
  ["pure", /^src\/testing\/prompt_layout\.ts$/],
  [
    "pure",
    /^src\/compaction\/(prompt|scope|prices|price_table|auto|fork|prefix|answer|estimate|recorder|call_mode|call_record)\.ts$/,
  ],
  [
    "stores",
    /^src\/(files|disk_types|hash_file|paths|project|project_types|waiting|pauses|runs|map_maker|map_types|maps|guard_types|conversation)\.ts$/,
  ],
  ["middleware", /^src\/tool_use\/watch\.ts$/],
  ["stores", /^src\/(cache|summary|drivers|outline|tool_use|compaction)\/.*\.ts$/],
  [
    "middleware",
    /^src\/(compose|streams|wrap|wrap_tools|session|session_pool|hooked|replay|read_guard|read_tools|reread_guard|reread_diff|summarize_file)\.ts$/,
  ],
  ["facade", /^src\/(options|waymark)\.ts$/],
  ["edges", /^src\/(outline|tool_use|compaction|providers\/.*|adapters\/.*)\.ts$/],
  [
    "entries",
    /^(mod|src\/(testing|testing\/.*|cli|cli\/.*|conformance|conformance\/.*|mcp|mcp\/.*|hook|hook\/.*))\.ts$/,
  ],
];

/** Families whose members never import each other, and which nothing below them imports but by `import()`. */
const families = ["drivers", "providers", "adapters"];

/** Files over 250 lines, and why they may be. */
const longFiles: Readonly<Record<string, string>> = {
  "src/types.ts": "the whole vocabulary in one place, most of it doc comments",
};

/** What importing the root entry may weigh: what is run at the start, and what is only fetched then (behind a literal `import()`). */
const rootLimits = { run: { files: 22, bytes: 157_500 }, fetched: { files: 44, bytes: 284_500 } };

/** What pure code may not name: it neither waits nor looks at the clock, the dice or the machine. */
const impure =
  /\bawait\b|\bDate\b|\bMath\.random\b|\bperformance\b|\bfetch\b|\bDeno\b|\bBun\b|\bprocess\b|\bglobalThis\b|\bset(Timeout|Interval|Immediate)\b|\bcrypto\b|\bconsole\b|["']node:/;

const sources = [...(exists("mod.ts") ? ["mod.ts"] : []), ...listFiles("src")];

function layerOf(file: string): number {
  return layers.findIndex(([, files]) => files.test(file));
}

function rankOf(file: string): number {
  const name = layers[layerOf(file)]?.[0];
  return layers.findIndex(([other]) => other === name);
}

const entriesRank = layers.findIndex(([name]) => name === "entries");

function family(file: string): string | undefined {
  return families.find((name) => file.startsWith(`src/${name}/`));
}

/** The member of a family that a file is, or is a part of: `adapters/ai.ts` and `adapters/ai/` are one. */
function member(file: string): string {
  return file.replace(/\.ts$/, "").split("/").slice(0, 3).join("/");
}

function localEdges(file: string): { kind: Edge["kind"]; to: string }[] {
  return edgesOf(readText(file)).flatMap(({ kind, specifier }) => {
    const to = target(file, specifier);
    return to === undefined ? [] : [{ kind, to }];
  });
}

describe("the reader of the source", () => {
  it("tells value, type and dynamic imports apart and skips comments", () => {
    const source = [
      'import { a, type B } from "./a.ts";',
      'import type { C } from "./c.ts";',
      "import {",
      "  d,",
      '} from "./d.ts";',
      'import "./e.ts";',
      'export { f } from "./f.ts";',
      'export type { G } from "./g.ts";',
      'import * as h from "./h.ts";',
      ' * import { no } from "./no.ts";',
      '// import { no } from "./no.ts";',
      '/* import("./no.ts") */ const later = () => import("./later.ts");',
      'const name: string = "jsr:@x/y"; import(name);',
    ].join("\n");
    assertEquals(edgesOf(source).map(({ kind, specifier }) => `${kind} ${specifier}`), [
      "value ./a.ts",
      "type ./c.ts",
      "value ./d.ts",
      "value ./e.ts",
      "value ./f.ts",
      "type ./g.ts",
      "value ./h.ts",
      "dynamic ./later.ts",
    ]);
  });

  it("keeps code and lines when it drops comments and strings", () => {
    const source = 'const a = "Date"; // Date\nconst b = /["\']\\/\\//; /* Date\n */ const c = `x${Date}`;';
    assertEquals(codeOnly(source, { strings: false }).replaceAll(/ +/g, " ").split("\n"), [
      'const a = " "; ',
      "const b = / /; ",
      " const c = `x${Date}`;",
    ]);
  });

  it("finds exported names of every form", () => {
    const source = [
      'export { one, two as three, type Four } from "./x.ts";',
      'export type { Five } from "./x.ts";',
      "export const six = 1;",
      "export async function seven() {}",
      "export class Eight {}",
      "export interface Nine {}",
      "// export const no = 1;",
    ].join("\n");
    assertEquals(namesIn(source), ["Eight", "Five", "Four", "Nine", "one", "seven", "six", "three"]);
  });
});

describe("the layers", () => {
  it("have a place for every file", () => {
    assertEquals(sources.filter((file) => layerOf(file) < 0), []);
  });

  it("import downwards only", () => {
    const wrong = sources.flatMap((file) =>
      localEdges(file)
        .filter(({ to, kind }) => rankOf(to) > rankOf(file) && !(kind === "dynamic" && family(to) === "drivers"))
        .map(({ to }) => `${file} (${layers[layerOf(file)]?.[0]}) imports ${to} (${layers[layerOf(to)]?.[0]})`)
    );
    assertEquals(wrong, []);
  });

  it("lead to files that exist", () => {
    const missing = sources.flatMap((file) =>
      localEdges(file).filter(({ to }) => !exists(to)).map(({ to }) => `${file} imports ${to}`)
    );
    assertEquals(missing, []);
  });

  it("have no cycle among value imports", () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
      if (done.has(file) || trail.includes(file) || !exists(file)) return;
      for (const { kind, to } of localEdges(file)) if (kind === "value") visit(to, [...trail, file]);
      done.add(file);
    };
    for (const file of sources) visit(file, []);
    assertEquals(cycles, []);
  });

  it("keep drivers, providers and adapters away from each other", () => {
    const wrong = sources.flatMap((file) =>
      localEdges(file).filter(({ to, kind }) => {
        const own = family(file);
        const other = family(to);
        if (other === undefined || kind === "type" || member(file) === member(to)) return false;
        return own !== undefined || (kind === "value" && rankOf(file) < entriesRank);
      }).map(({ to }) => `${file} imports ${to}`)
    );
    assertEquals(wrong, []);
  });

  it("have no barrels inside src and no default exports", () => {
    assertEquals(sources.filter((file) => /^src\/(.*\/)?(mod|index)\.ts$/.test(file)), []);
    assertEquals(sources.filter((file) => /^export\s+(default|\*)/m.test(codeOnly(readText(file)))), []);
  });

  it("have pure files that name nothing impure", () => {
    const wrong = sources.filter((file) => /^(vocabulary|pure)$/.test(layers[layerOf(file)]?.[0] ?? "")).flatMap((
      file,
    ) =>
      codeOnly(readText(file), { strings: false }).split("\n").flatMap((line, at) =>
        impure.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : []
      )
    );
    assertEquals(wrong, []);
  });

  it("have no values in the vocabulary's type files", () => {
    for (
      const file of [
        "src/types.ts",
        "src/dialect_types.ts",
        "src/session_types.ts",
        "src/wrap_types.ts",
        "src/summarize_file_types.ts",
        "src/guard_types.ts",
        "src/events.ts",
        "src/cache/types.ts",
        "src/tool_use/types.ts",
      ]
    ) {
      assertEquals(codeOnly(readText(file)).match(/^(export\s+)?(const|let|function|class|enum)\b.*/gm), null, file);
    }
  });

  it("have no file over 250 lines but those with a reason", () => {
    const long = sources.filter((file) => readText(file).split("\n").length - 1 > 250);
    assertEquals(long.filter((file) => !(file in longFiles)), []);
    assertEquals(
      Object.keys(longFiles).filter((file) => !long.includes(file)),
      [],
      "a reason that is no longer needed",
    );
  });
});

describe("the root entry", { skip: sources[0] === "mod.ts" ? false : "there is no mod.ts yet" }, () => {
  const graph = sources[0] === "mod.ts" ? graphOf("mod.ts") : undefined;

  it("runs and reaches few files and few bytes", () => {
    for (const [what, kinds] of [["run", ["value"]], ["fetched", ["value", "dynamic"]]] as const) {
      const files = [...graphOf("mod.ts", kinds).files];
      const bytes = files.reduce((sum, file) => sum + new TextEncoder().encode(readText(file)).length, 0);
      const limits = rootLimits[what];
      assert(
        files.length <= limits.files && bytes <= limits.bytes,
        `${files.length} files with ${bytes} bytes are ${what} at the start: ${files.join(" ")}`,
      );
    }
  });

  it("reaches no SDK, no native driver, no grammar and no npm package", () => {
    const allowed = /^@std\/path\/posix\/[a-z-]+$|^node:/;
    assertEquals([...graph?.packages.keys() ?? []].filter((name) => !allowed.test(name)), []);
  });

  it("imports no node: module before it is needed", () => {
    const eager = [...graph?.packages ?? []].filter(([name, kind]) => kind === "value" && name.startsWith("node:"));
    assertEquals(eager, []);
  });

  it("reaches no provider, no outline, no model summarizer, no digests, no testing and no command line", () => {
    const apart =
      /^src\/(providers|adapters|outline|tool_use|compaction|conformance|mcp|hook)\/|^src\/(outline|tool_use|compaction|testing|cli|conformance|mcp|hook|hooked|session_pool)\.ts$|^src\/summary\/(prompt|parse|normalize|repair|secrets|model)/;
    assertEquals([...graph?.files ?? []].filter((file) => apart.test(file)), []);
  });

  it("touches globalThis.process only after globalThis.Deno was asked", () => {
    const wrong = [...graph?.files ?? []].filter((file) => {
      const code = codeOnly(readText(file));
      const process = code.search(/\bprocess\b/);
      return process >= 0 && !(code.search(/\bDeno\b/) >= 0 && code.search(/\bDeno\b/) < process);
    });
    assertEquals(wrong, []);
  });
});
