/**
 * Lets Node run the suite: `node --import ./tests/node_hooks.mjs --test …`.
 *
 * Resolves the names in `tsconfig.json`'s `paths` (JSR packages to their stand-ins, this package to its own entries), as
 * Bun does by itself. Packages from npm come from `node_modules`. Node 24 strips the types by itself; Node 22.13 needs
 * `--experimental-strip-types` and the older, asynchronous hooks.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";

const root = new URL("../", import.meta.url);
const config = JSON.parse(readFileSync(new URL("tsconfig.json", root), "utf8"));
const names = new Map(
  Object.entries(config.compilerOptions.paths).map(([name, [path]]) => [name, new URL(path, root).href]),
);

if (nodeModule.registerHooks) {
  nodeModule.registerHooks({
    resolve: (specifier, context, next) => next(names.get(specifier) ?? specifier, context),
  });
} else {
  const hooks = `const names = new Map(${JSON.stringify([...names])});
export const resolve = (specifier, context, next) => next(names.get(specifier) ?? specifier, context);`;
  nodeModule.register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}

// A test that waits for a deadline alone has nothing that keeps the process alive. Node 24 waits for it all the same; with
// Node 22 something else has to, as long as a test runs.
if (Number.parseInt(process.versions.node) < 24 && process.argv[1]?.endsWith("_test.ts")) {
  const { afterEach, beforeEach } = await import("node:test");
  const timer = setInterval(() => {}, 60_000).unref();
  beforeEach(() => void timer.ref());
  afterEach(() => void timer.unref());
}
