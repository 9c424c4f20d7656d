/**
 * A process in which a read waits for a model that never answers, and nothing else goes on, for the test that the read is
 * served. Prints its last line as JSON.
 *
 * @module
 */

import process from "node:process";
import { createWaymark } from "../../mod.ts";
import { completionModel } from "../../src/providers/custom.ts";
import { plainTool } from "../support.ts";

const root: string = JSON.parse(process.argv.at(-1)!).root;
const model = completionModel({ name: "hung", complete: () => new Promise(() => {}) });
const waymark = createWaymark({ model, root, cache: false, onNotice: () => {}, limits: { timeoutMs: 1_000 } });
const text = await waymark.wrap(plainTool(root).read)({ path: `${root}/long.ts` });
console.log(JSON.stringify(text.trimEnd().split("\n").slice(-2)[0]));
