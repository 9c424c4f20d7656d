/**
 * Maps without a model: a structural outline by tree-sitter, with exact lines, and the check of a model's map against it.
 *
 * ```ts
 * import { createWaymark } from "@waymark/waymark";
 * import { outline } from "@waymark/waymark/outline";
 *
 * const waymark = createWaymark({ outline: outline() });
 * await waymark.close();
 * ```
 *
 * Promised: no call, no network, no key; importing this loads neither engine nor grammar; a file it has no grammar for, that
 * is too large or too slow to parse, or whose grammar cannot be read goes to the built-in line scanner, and the map says so.
 * On Deno it needs to read its own packages (`--allow-read` for `node_modules` or Deno's npm cache) and never asks.
 *
 * @module
 */

import { auditRegions } from "./outline/audit.ts";
import { createParse } from "./outline/parser.ts";
import { contentsOf, extensionOf, limitOutline, MAX_NAME, MAX_NOTE, outlineProse } from "./summary/outline_rules.ts";
import { scan } from "./summary/scan.ts";
import { secrets } from "./summary/secrets.ts";
import { cleanText, cutText } from "./summary/text.ts";
import type { OutlineParser, Region, Summary } from "./types.ts";
import { inTurns } from "./waiting.ts";

/** Version of the rules. */
const VERSION = 1;
/** No name or note that is longer is looked at beyond this. */
const LONGEST = 1000;

/** Options of {@linkcode outline}. */
export interface OutlineOptions {
  /**
   * The bytes of a grammar built for tree-sitter's WebAssembly, for hosts that keep their own; asked once for each language, by the name
   * of its grammar (`typescript`, `c_sharp`). `undefined` means the one that comes with the package. Default: always that one.
   */
  readonly grammar?: (language: string) => Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/**
 * The outline parser, to be handed to `createWaymark`.
 *
 * @example
 * ```ts
 * import { outline } from "@waymark/waymark/outline";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "/** Says hello. *\/\nexport function hello() {\n  return 1;\n}\n";
 * const summary = await outline().summarize(
 *   { path: "hello.ts", text, lines: 4, hash: "", size: text.length },
 *   { signal: new AbortController().signal, spend: () => {} },
 * );
 * assertEquals(summary?.regions, [{ start: 2, end: 4, kind: "function", name: "hello", note: "Says hello." }]);
 * ```
 */
export function outline(options: OutlineOptions = {}): OutlineParser {
  const parse = createParse({ source: options.grammar });
  return {
    maker: "outline",
    version: VERSION,
    async summarize(file, { signal }) {
      const started = performance.now();
      const parsed = await parse(file, signal), extension = extensionOf(file.path, file.text);
      const { declarations, damaged = false } = parsed ??
        { declarations: await inTurns(scan(file.text, extension), signal) };
      if (declarations.every(({ kind }) => kind === "import" || kind === "comment")) return undefined;
      const { regions, omitted } = limitOutline(declarations), maker = parsed ? "outline" : "scanner";
      const { counts, names, more } = contentsOf(declarations), clean = await withoutSecrets(regions, names);
      const facts = { extension, lines: file.lines, maker, damaged } as const;
      const ms = Math.round(performance.now() - started);
      return {
        prose: outlineProse({ counts, names: clean.names, more }, facts),
        regions: clean.regions,
        usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms },
        ...(omitted ? { omitted } : {}),
        ...(parsed ? {} : { maker }),
      } satisfies Summary;
    },
    async audit(file, regions) {
      try {
        const parsed = await parse(file);
        const { text, lines } = file;
        return parsed && await inTurns(auditRegions(regions, { declarations: parsed.declarations, text, lines }));
      } catch {
        return undefined;
      }
    },
  };
}

/** All words free of what looks like a secret, and cleaned; without notes where that cannot be told. */
async function withoutSecrets(
  regions: readonly Region[],
  names: readonly string[],
): Promise<{ regions: Region[]; names: readonly string[] }> {
  const words = [...regions.flatMap(({ name, note }) => [name, note]), ...names], notes = regions.length * 2;
  const texts = words.map((text) => text.slice(0, LONGEST));
  const masked = await secrets.mask(texts).then((masked) => secrets.mask(masked.map(cleanText))) // as they are told, too
    .catch(() => texts.map((text, at) => at < notes && at % 2 ? "" : cleanText(text)));
  return {
    names: masked.slice(notes),
    regions: regions.map(({ start, end, kind }, index) => ({
      start,
      end,
      kind,
      name: cutText(masked[index * 2]!, MAX_NAME) || "(unnamed)",
      note: cutText(masked[index * 2 + 1]!, MAX_NOTE),
    })),
  };
}
