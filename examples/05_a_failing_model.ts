/**
 * A model that fails costs the agent nothing: the read runs as asked, with a notice, and the model is left alone for a while.
 */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createWaymark, stripAnnotations, WaymarkError } from "@waymark/waymark";
import { outline } from "@waymark/waymark/outline";
import { completionModel } from "@waymark/waymark/providers/custom";

const lines = Array.from(
  { length: 60 },
  (_, index) => [`export function f${index + 1}() {`, ...Array<string>(8).fill("  work();"), "}"],
).flat();
const whole = lines.join("\n"), source = { read: () => new TextEncoder().encode(whole) };
const tool = ({ offset = 1, limit = Infinity }: { path: string; offset?: number; limit?: number }) =>
  Promise.resolve(lines.slice(offset - 1, offset - 1 + limit).join("\n"));

let requests = 0;
const model = completionModel({
  name: "overloaded",
  complete: () => {
    requests++;
    return Promise.reject(Object.assign(new Error("503 the service is overloaded"), { status: 503 }));
  },
});

const told: string[] = [];
const waymark = createWaymark({ model, source, cache: false, onNotice: ({ message }) => told.push(message) });
const read = waymark.wrap(tool);

const first = await read({ path: "big.ts" });
assertEquals(stripAnnotations(first), whole); // every line that was asked for
assertStringIncludes(first, "[waymark notice");
console.log(first.slice(whole.length).trim());

const second = await read({ path: "big.ts" });
assertEquals(stripAnnotations(second), whole);
assertEquals(requests, 1); // not asked again at once
console.log(`\nthe same read again, requests so far: ${requests}\n${second.slice(whole.length).trim()}`);

assertEquals(told.length, 1); // a person is told each reason once
console.log(`\ntold to the user: ${told[0]}`);

// Asking for the map by name is always tried, and says what is wrong.
const error = await assertRejects(() => waymark.summarize("big.ts"), WaymarkError);
assertEquals([error.code, error.status, requests], ["provider-error", 503, 2]);
await waymark.close();

// Or let a parser stand in: shortened all the same, and the notice with it.
const careful = createWaymark({ model, outline: outline(), fallback: "outline", source, cache: false, onNotice() {} });
const third = await careful.wrap(tool)({ path: "big.ts" });
assertStringIncludes(third, "591-600  function  f60");
assert(third.length < whole.length);
console.log(`\nwith fallback "outline": ${third.length} characters in place of ${whole.length}`);
await careful.close();
