/**
 * A program of its own: an engine that fails in the middle of a file, as one does whose memory is damaged, and what is made of
 * that file and the next ones then. One line of JSON.
 *
 * @module
 */

import { Parser } from "web-tree-sitter";
import { outline } from "../../src/outline.ts";
import { sourceOf } from "./golden.ts";

const text = "/** Rings. */\nexport function ring() {\n  return 1;\n}\n", parser = outline();
const context = { signal: new AbortController().signal, spend: () => {} };
const makerOf = async (name: string): Promise<string | undefined> => {
  const summary = await parser.summarize(sourceOf(name, text), context);
  return summary && `${summary.maker ?? "outline"} ${summary.regions.length}`;
};

const makers = [await makerOf("a.ts")], parse = Parser.prototype.parse;
Parser.prototype.parse = () => {
  throw new WebAssembly.RuntimeError("memory access out of bounds");
};
makers.push(...await Promise.all([makerOf("b.ts"), makerOf("b.js")])); // the grammar of the second is still being loaded
Parser.prototype.parse = parse;
makers.push(await makerOf("c.ts"), await makerOf("d.js"));
const declarations = [{ start: 9, end: 9, kind: "function", name: "ring", note: "" }] as const;
console.log(JSON.stringify([makers, await parser.audit(sourceOf("a.ts", text), declarations) ?? "no audit"]));
