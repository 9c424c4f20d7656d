/**
 * Wraps the read tools of a host's registry, whatever kind of collection it is and whatever its tools look like.
 *
 * Promised: every other tool is the very same object; a wrapped tool keeps its properties, getters, symbols, prototype and
 * private fields; neither the registry nor a tool is changed.
 *
 * @module
 */

import { dialects } from "./dialects.ts";
import { quiet, WaymarkError } from "./errors.ts";
import type { Middleware } from "./types.ts";
import { wrap, wrapCalled } from "./wrap.ts";
import type { ToolFunction, WrapOptions } from "./wrap_types.ts";

/** How the read tools of a registry are found and wrapped. */
export interface WrapToolsOptions extends WrapOptions {
  /** Names of the read tools. Default: the names the dialect knows. */
  readonly names?: readonly string[];
  /** The property of a tool object that is called. Default: the first there of execute, run, invoke, handler, call, func. */
  readonly method?: string;
}

/**
 * Wraps the read tools of a registry (an array, a record or a Map of functions or tool objects) and returns a registry of
 * the same kind. Every other tool is the very same object, and no schema changes.
 *
 * @example
 * ```ts
 * import { wrapTools } from "@waymark/waymark";
 * import { assertEquals, assertStrictEquals } from "@std/assert";
 *
 * const tools = {
 *   read: { description: "Reads a file", execute: (args: { path: string; limit?: number }) => `${args.limit} lines` },
 *   shell: { description: "Runs a command", execute: () => "done" },
 * };
 * const wrapped = wrapTools(tools, (call, next) => next({ ...call, count: 200 }), { names: ["read"] });
 * assertEquals(await wrapped.read.execute({ path: "a.ts" }), "200 lines");
 * assertStrictEquals(wrapped.shell, tools.shell);
 * ```
 */
export function wrapTools<Registry extends object>(
  registry: Registry,
  middleware: Middleware,
  options: WrapToolsOptions = {},
): Registry {
  const names = new Set(options.names ?? (options.dialect ?? dialects.plain).tools);
  let found = 0;
  const one = (key: unknown, tool: unknown): unknown => {
    const wrapped = typeof key === "string" && names.has(key)
      ? wrapTool(tool, middleware, { name: key, ...options })
      : tool;
    if (wrapped !== tool) found++;
    return wrapped;
  };
  const all = wrapAll(registry, names, one);
  if (!found) {
    const reason = `none of the tools is called ${[...names].join(", ")}; give names`;
    quiet(options.onError)(new WaymarkError("invalid-option", `Cannot find a read tool to wrap: ${reason}`));
  }
  return all;
}

function wrapAll<Registry extends object>(
  registry: Registry,
  names: ReadonlySet<string>,
  one: (key: unknown, tool: unknown) => unknown,
): Registry {
  if (Array.isArray(registry)) return registry.map((tool) => one(tool?.name, tool)) as Registry;
  if (registry instanceof Map) {
    return new Map([...registry].map(([key, tool]) => [key, one(key, tool)])) as unknown as Registry;
  }
  const properties = Object.getOwnPropertyDescriptors(registry) as Record<string, PropertyDescriptor>;
  for (const key of Object.keys(registry)) {
    if (!names.has(key)) continue; // what makes another tool when it is asked for is not asked
    const tool = (registry as Record<string, unknown>)[key], value = one(key, tool);
    if (value !== tool) properties[key] = { value, enumerable: true, configurable: true, writable: true };
  }
  return Object.create(Object.getPrototypeOf(registry), properties);
}

const METHODS = ["execute", "run", "invoke", "handler", "call", "func"];

/** A tool object with its method wrapped: every other property, getter, symbol and prototype is the tool's own. */
function wrapTool(tool: unknown, middleware: Middleware, options: WrapToolsOptions): unknown {
  if (typeof tool === "function") return wrap(tool as ToolFunction, middleware, options);
  if (typeof tool !== "object" || tool === null) return tool;
  const owner = tool as Record<string, unknown>;
  const method = options.method ?? METHODS.find((key) => typeof owner[key] === "function");
  if (method === undefined || typeof owner[method] !== "function") return tool;
  const bound = wrapCalled(owner[method] as ToolFunction, middleware, {
    ...options,
    owner: (self) => self === wrapped ? tool : self, // private fields live on the tool, not on its wrapping
  });
  // What the host defines on the wrapping, or freezes, is the shadow's own; for everything else the tool answers. Empty at
  // first, so that a frozen tool cannot forbid the one property that differs.
  const shadow: object = Object.create(Object.getPrototypeOf(tool));
  const describe = (key: PropertyKey): PropertyDescriptor | undefined => {
    const descriptor = Reflect.getOwnPropertyDescriptor(tool, key);
    if (!descriptor) return undefined;
    return key === method
      ? { value: bound, enumerable: descriptor.enumerable ?? true, configurable: true, writable: true }
      : { ...descriptor, configurable: true };
  };
  const wrapped: object = new Proxy(shadow, {
    get(_, key) {
      if (Object.hasOwn(shadow, key)) return Reflect.get(shadow, key, tool);
      if (key === method) return bound;
      const value = Reflect.get(tool, key, tool);
      return typeof value === "function" && !Object.hasOwn(tool, key) ? value.bind(tool) : value;
    },
    set: (_, key, value) =>
      key === method || Object.hasOwn(shadow, key)
        ? Reflect.defineProperty(shadow, key, { enumerable: true, configurable: true, writable: true, value })
        : Reflect.set(tool, key, value, tool),
    has: (_, key) => Reflect.has(shadow, key) || Reflect.has(tool, key),
    ownKeys: () => [
      ...new Set([...Reflect.ownKeys(shadow), ...Object.isExtensible(shadow) ? Reflect.ownKeys(tool) : []]),
    ],
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(shadow, key);
      return own ?? (Object.isExtensible(shadow) ? describe(key) : undefined);
    },
    preventExtensions() {
      for (const key of Reflect.ownKeys(tool)) {
        if (!Object.hasOwn(shadow, key)) Object.defineProperty(shadow, key, describe(key)!);
      }
      return Reflect.preventExtensions(shadow);
    },
  });
  return wrapped;
}
