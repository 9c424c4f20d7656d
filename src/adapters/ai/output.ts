/**
 * Outputs of the AI SDK's tools: how they carry annotations, and how those reach the model where a tool has a
 * `toModelOutput` of its own.
 *
 * Promised: an annotation is found in the output alone, so that what was stored is shown again as it was; an output that
 * the tool's own schema would refuse is left as it is.
 *
 * @module
 */

import { autoCodec } from "../../codecs.ts";
import { isAnnotationText, stripAnnotations } from "../../file_map.ts";
import type { Codec } from "../../types.ts";

/** Outputs by the tools that gave them: a tool set that is wrapped anew for each request knows the shape of its results. */
const outputs = new WeakMap<object, unknown>();

/** The usual codec, for a tool whose schema of outputs, if it has one, is kept to. */
export function codecOf(tool: { readonly outputSchema?: unknown }): Codec {
  return {
    ...autoCodec,
    text(result) {
      const text = autoCodec.text(result);
      if (text !== undefined && !autoCodec.failed!(result)) outputs.set(tool, result);
      return text;
    },
    annotate(result, annotations) {
      const made = autoCodec.annotate(result, annotations);
      return isAllowed(tool.outputSchema, made) ? made : result;
    },
    answer(annotation, like = outputs.get(tool)) {
      const made = like === undefined ? undefined : autoCodec.answer!(annotation, like);
      return isAllowed(tool.outputSchema, made) ? made : undefined;
    },
  };
}

/** Whether a schema takes a value, as far as that can be told at once. A stored history is checked by it. */
function isAllowed(schema: unknown, value: unknown): boolean {
  // deno-lint-ignore no-explicit-any -- a Standard Schema, a schema of the SDK's, or a function that gives one
  const given: any = typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
  const checked = (given?.["~standard"] ?? given)?.validate?.(value);
  if (checked instanceof Promise) checked.catch(() => {});
  return !checked?.issues && checked?.success !== false;
}

/** The last value of an async iterable, which the SDK takes for the output; anything else itself. A promise of one is none to it. */
export async function lastOf(value: unknown): Promise<unknown> {
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const part of value as AsyncIterable<unknown>) last = part;
  return last;
}

/** As much as is looked at of what a `toModelOutput` is given. */
interface Output {
  readonly output: unknown;
}

/**
 * What a tool makes of its output for the model, with the annotation of the output in it. A tool that cannot read its output
 * with an annotation, such as one that parses it, is asked about the output without.
 */
export function modelOutput(given: Output, make: (given: Output) => unknown): unknown {
  const note = noteIn(given.output);
  if (note === undefined) return make(given);
  const makeBare = (error: unknown): unknown => {
    const output = bareOf(given.output);
    // A reference stands for all of the output: there is nothing else that the tool could make anything of.
    if (isEmpty(output)) return { type: "text", value: note };
    try {
      return make({ ...given, output });
    } catch {
      throw error;
    }
  };
  return new Promise((resolve) => resolve(make(given))).catch(makeBare).then((made) => noted(made, note));
}

/** An output without the annotation it carries. */
function bareOf(output: unknown): unknown {
  if (typeof output === "string") return stripAnnotations(output);
  if (Array.isArray(output)) return output.slice(0, -1);
  const { annotation, ...rest } = output as { readonly annotation?: unknown; readonly content?: unknown };
  return annotation === undefined && Array.isArray(rest.content)
    ? { ...rest, content: rest.content.slice(0, -1) }
    : rest;
}

function isEmpty(output: unknown): boolean {
  if (typeof output === "string") return output === "";
  return Object.values(output as object).every((value) => value === "" || (Array.isArray(value) && !value.length));
}

/** The annotation that an output carries, as {@linkcode autoCodec} put it there; none where it may not be looked at. */
export function noteIn(output: unknown): string | undefined {
  try {
    return findNote(output);
  } catch {
    return undefined; // a getter or a proxy of the tool's that throws
  }
}

function findNote(output: unknown): string | undefined {
  if (typeof output === "string") return output.slice(stripAnnotations(output).length).trim() || undefined;
  const { annotation, content } = (output ?? {}) as { annotation?: { text?: unknown }; content?: unknown };
  const blocks = Array.isArray(output) ? output : Array.isArray(content) ? content : [];
  const text: unknown = annotation?.text ?? blocks.at(-1)?.text;
  return typeof text === "string" && isAnnotationText(text) ? text : undefined;
}

/** What a tool makes of its output for the model, with the annotation of the output in it. */
export function noted(made: unknown, note: string): unknown {
  const { type, value } = (made ?? {}) as { readonly type?: unknown; readonly value?: unknown };
  if (holds(value, note)) return made;
  const part = { type: "text", text: note };
  if (typeof value === "string") return { ...made as object, value: `${value}\n\n${note}` };
  if (type === "content" && Array.isArray(value)) return { ...made as object, value: [...value, part] };
  if (type === "json") return { type: "content", value: [{ type: "text", text: JSON.stringify(value) }, part] };
  return type === "error-json" ? { type: "error-text", value: `${JSON.stringify(value)}\n\n${note}` } : made;
}

/** Whether a text stands anywhere in a value, plain or in JSON. */
function holds(value: unknown, text: string): boolean {
  if (typeof value === "string") return value.includes(text) || value.includes(JSON.stringify(text).slice(1, -1));
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Object.values(value).some((inner) => holds(inner, text));
}
