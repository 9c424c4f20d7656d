/**
 * `opencodeHooks` in the real opencode: what the model is shown in the request after its calls.
 *
 * @module
 */

import { after, test } from "node:test";
import { dialects } from "@waymark/waymark";
import { opencodeHooks } from "@waymark/waymark/adapters/hooks";
import { conformance } from "@waymark/waymark/conformance";
import { isMissing, type Opencode, openConformance, startOpencode } from "./opencode_loop.ts";

let started: Promise<Opencode> | undefined;
const opencode = (): Promise<Opencode> => started ??= startOpencode();
after(async () => await (await started)?.close());

if (!isMissing) {
  conformance(test, {
    name: "opencode 1.18.33",
    dialect: dialects.opencode,
    async open(setup) {
      const hooks = opencodeHooks(setup.waymark, { session: setup.session ?? false, directory: setup.root });
      return await openConformance(await opencode(), setup, hooks);
    },
  });
}
