/**
 * Wraps the tools of a host's registry, whatever kind of collection it is and whatever its tools look like: its read tools in
 * a middleware, the others for digests where there are any.
 *
 * Promised: without digests every other tool is the very same object, with them its results are; a wrapped tool keeps its
 * properties, getters, symbols, prototype and private fields; neither the registry nor a tool is changed.
 *
 * @module
 */

import { dialects } from "./dialects.ts";
import { quiet, WaymarkError } from "./errors.ts";
import type { Middleware } from "./types.ts";
import { wrapCalled } from "./wrap.ts";
import type { ToolFunction, WrapToolsOptions } from "./wrap_types.ts";

/**
 * Wraps the read tools of a registry (an array, a record or a Map of functions or tool objects) and returns a registry of
 * the same kind. No schema changes. Every other tool is the very same object; with `digests` it is wrapped too, and gives the
 * very results it gave, seen as they pass.
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
  const { digests, facts, method } = options, report = quiet(options.onError);
  const names = new Set(options.names ?? (options.dialect ?? dialects.plain).tools);
  let found = 0;
  const one = (key: unknown, tool: unknown): unknown => {
    const name = typeof key === "string" ? key : undefined;
    if (name !== undefined && names.has(name)) {
      const read = wrapTool(tool, method, (run, owner) => wrapCalled(run, middleware, { name, ...options, owner }));
      if (read !== tool) found++;
      return read;
    }
    try {
      return digests
        ? wrapTool(tool, method, (run, owner) => watched(run, digests.wrap(run, { name, facts }), owner))
        : tool;
    } catch (error) {
      report(error); // a tool that may not be looked at
      return tool;
    }
  };
  const all = wrapAll(registry, names, one);
  if (!found && names.size) {
    const reason = `none of the tools is called ${[...names].join(", ")}; give names`;
    report(new WaymarkError("invalid-option", `Cannot find a read tool to wrap: ${reason}`));
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
    const { get, ...rest } = properties[key]!;
    if (!names.has(key) && get) { // what makes another tool when it is asked for is not asked before
      properties[key] = {
        ...rest,
        get: function () {
          return one(key, Reflect.apply(get, this, []));
        },
      };
      continue;
    }
    const tool = (registry as Record<string, unknown>)[key], value = one(key, tool);
    if (value !== tool) properties[key] = { value, enumerable: true, configurable: true, writable: true };
  }
  return Object.create(Object.getPrototypeOf(registry), properties);
}

const METHODS = ["execute", "run", "invoke", "handler", "call", "func"];

/** What the tool gets as `this`, for what the host called it on. */
type Owner = (self: unknown) => unknown;

/** The watched function, for an owner of its own; what is not watched stays the same. */
function watched(run: ToolFunction, seen: ToolFunction, owner: Owner): ToolFunction {
  if (seen === run) return run;
  return new Proxy(seen, { apply: (_, self, given) => Reflect.apply(seen, owner(self), given) });
}

/** A tool with its function wrapped: every other property, getter, symbol and prototype is the tool's own. */
function wrapTool(
  tool: unknown,
  given: string | undefined,
  around: (run: ToolFunction, owner: Owner) => ToolFunction,
): unknown {
  if (typeof tool === "function") return around(tool as ToolFunction, (self) => self);
  if (typeof tool !== "object" || tool === null) return tool;
  const owner = tool as Record<string, unknown>;
  const method = given ?? METHODS.find((key) => typeof owner[key] === "function");
  if (method === undefined || typeof owner[method] !== "function") return tool;
  // Private fields live on the tool, not on its wrapping.
  const bound = around(owner[method] as ToolFunction, (self) => self === wrapped ? tool : self);
  if (bound === owner[method]) return tool;
  // What the host defines on the wrapping, or freezes, is the shadow's own; for all else the tool answers. Empty at first: a
  // frozen tool cannot forbid the one property that differs.
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
