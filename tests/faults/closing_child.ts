/**
 * A process that closes while maps are made and a source is read, for the test that nothing holds it. Prints the notices of
 * its reads as JSON.
 *
 * @module
 */

import { existsSync } from "node:fs";
import process from "node:process";
import { createWaymark } from "../../mod.ts";
import { anthropic } from "../../src/providers/anthropic.ts";
import { plainTool } from "../support.ts";
import type { Job } from "./leaving_child.ts";

const { url, key, root }: Job = JSON.parse(process.argv.at(-1)!);
const shared = { root, onNotice: () => {}, limits: { timeoutMs: 3_600_000 } };
const asking = createWaymark({ ...shared, model: anthropic({ apiKey: key, baseURL: url }) });
const reading = createWaymark({ ...shared, cache: false, source: { read: () => new Promise(() => {}) } });
const path = `${root}/long.ts`, { read } = plainTool(root);
const reads = [asking.wrap(read)({ path }), reading.wrap(read)({ path })];
const refreshed = asking.summarize(path, { refresh: true }).catch(({ code, message }) => `${code}: ${message}`);
// The test says when both requests are there.
while (!existsSync(`${root}/asked`)) await new Promise((resolve) => setTimeout(resolve, 5));
await Promise.all([asking.close(), reading.close()]);
const notices = (await Promise.all(reads)).map((text) => text.split("\n").find((line) => line.startsWith("Reason: ")));
console.log(JSON.stringify([...notices, await refreshed]));
